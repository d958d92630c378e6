/* SPDX-License-Identifier: Apache-2.0
 *
 * The beam that the chain gives a scan in a file.
 */
#include <criterion/criterion.h>
#include <hdf5.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/scan/hdf5_source.h"
#include "io/source/source_beam.h"
#include "pipeline/chain/formats.h"
#include "tests/files/dicom_open.h"
#include "tests/files/scan_file.h"
#include "tests/support/chain_run.h"

TestSuite(source_beam, .init = ts_scan_file_begin, .fini = ts_scan_file_end);

/* A scan of 5 columns, 2 mm apart or in pixels, or a volume. */
static enum ts_status open_scan(enum ts_beam_kind kind, double near, double far, bool in_mm,
                                bool volume, struct ts_image *image)
{
    static const char *const axes[2][3] = {{"view", "z", "detector"}, {"z", "y", "x"}};
    static const double spacing[3] = {2, 2, 2};
    struct hdf5_params values;
    struct param_set set = ts_scan_file_hdf5(&values, axes[volume], 360);
    struct source *source;
    H5Fclose(ts_scan_file_exchange(NULL, 0, NULL));
    if (in_mm)
        values.spacing = (struct ts_numbers){1, volume ? 3 : 2, spacing};
    values.beam = kind;
    values.source_axis = near;
    values.source_detector = far;
    if (kind != TS_BEAM_PARALLEL)
        ts_scan_file_give(&set, "beam");
    if (near > 0)
        ts_scan_file_give(&set, "source_axis");
    if (far > 0)
        ts_scan_file_give(&set, "source_detector");
    const enum ts_status status = hdf5_format.open(&set, &source, ts_scan_file.diag);
    if (status == TS_OK) {
        *image = source->image;
        source->ops->close(source);
    }
    return status;
}

Test(source_beam, is_what_the_chain_says)
{
    for (int kind = TS_BEAM_PARALLEL; kind <= TS_BEAM_FAN_FLAT; kind++) {
        struct ts_image image;
        cr_assert_eq(
            open_scan((enum ts_beam_kind)kind, kind ? 40 : 0, kind ? 60 : 0, true, false, &image),
            TS_OK);
        cr_assert_eq(image.beam.kind, kind);
        cr_assert(image.beam.source_axis_mm == (kind ? 40 : 0) &&
                  image.beam.source_detector_mm == (kind ? 60 : 0));
    }
}

Test(source_beam, refuses_with_its_own_words)
{
    static const struct {
        enum ts_beam_kind kind;
        double near, far;
        bool in_mm, volume;
        const char *code, *words;
    } wrong[] = {
        {TS_BEAM_FAN_FLAT, 40, 0, true, false, "source-missing", "a fan-flat beam needs it"},
        {TS_BEAM_FAN_ARC, 0, 60, true, false, "source-missing", "a fan-arc beam needs it"},
        {TS_BEAM_PARALLEL, 40, 0, true, false, "source-parallel", "only a fan has"},
        {TS_BEAM_FAN_FLAT, 40, 30, true, false, "detector-inside", "before the rotation axis"},
        {TS_BEAM_FAN_ARC, 1, 2, true, false, "fan-angle", "expected less than 90"},
        {TS_BEAM_FAN_FLAT, 40, 60, false, false, "source-unit", "is not known"},
        {TS_BEAM_FAN_FLAT, 40, 60, true, true, "beam-volume", "a volume has no views"},
        {TS_BEAM_PARALLEL, 40, 0, true, true, "beam-volume", "a volume has no views"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct ts_image image;
        cr_assert_eq(open_scan(wrong[i].kind, wrong[i].near, wrong[i].far, wrong[i].in_mm,
                               wrong[i].volume, &image),
                     TS_BAD_CHAIN, "%zu", i);
        ts_test_expect(ts_scan_file.diag, wrong[i].code, wrong[i].words);
    }
}

/* Angles turn the other way, and from another start; frames without angles have none to turn. */
Test(source_beam, angles_turn_as_the_chain_says)
{
    static const char *const axes[] = {"view", "z", "detector"};
    for (int sense = ANGLE_SENSE_X_TO_Y; sense <= ANGLE_SENSE_Y_TO_X; sense++)
        for (double offset = -90; offset <= 90; offset += 90) {
            struct hdf5_params values;
            struct param_set set = ts_scan_file_hdf5(&values, axes, 360);
            struct source *source;
            H5Fclose(ts_scan_file_exchange(NULL, 0, NULL));
            values.angle_sense = sense;
            values.angle_offset = offset;
            ts_scan_file_give(&set, "angle_sense");
            ts_scan_file_give(&set, "angle_offset");
            cr_assert_eq(hdf5_format.open(&set, &source, ts_scan_file.diag), TS_OK);
            const struct ts_axis *views = &source->image.axes[1];
            for (int64_t i = 0; i < views->n; i++) {
                const double turned = views->positions ? views->positions[i]
                                                       : views->first + (double)i * views->spacing,
                             angle = 360.0 * (double)i / SCAN_FRAMES;
                cr_assert(fabs(turned - (sense ? offset - angle : offset + angle)) < 1e-9);
            }
            source->ops->close(source);
        }
}

Test(source_beam, frames_without_angles_have_none_to_turn)
{
    static const double theta[SCAN_FRAMES] = {0, 5, 10, 20, 40, 80, 160};
    static const char *const wrong[] = {"angle_sense: y-to-x", "angle_offset: 90"};
    H5Fclose(ts_scan_file_exchange(NULL, SCAN_FRAMES, theta));
    for (int i = 0; i < 2; i++) {
        char chain[300];
        snprintf(chain, sizeof chain,
                 "tomostage: 2\ninput: {exchange: scan.h5}\ninputs:\n  flats: {exchange: scan.h5, "
                 "frames: flats, %s}\n"
                 "stages:\n  - flat_field: {flats: flats}\noutput: {hdf5: out.h5}\n",
                 wrong[i]);
        cr_assert_eq(ts_test_chain(chain, ts_scan_file.folder, ts_scan_file.diag), TS_BAD_CHAIN);
        ts_test_expect(ts_scan_file.diag, "views-without-angles", "have no angles to turn");
    }
}

/* What the projections say of their angles is not taken over by flats that are like them. */
Test(source_beam, frames_like_views_do_not_turn)
{
    static const double theta[SCAN_FRAMES] = {0, 5, 10, 20, 40, 80, 160};
    H5Fclose(ts_scan_file_exchange(NULL, SCAN_FRAMES, theta));
    ts_test_chain_runs(
        "tomostage: 2\ninput: {exchange: scan.h5, angle_sense: y-to-x, angle_offset: 160}\n"
        "inputs:\n  flats: {like: input, frames: flats}\n"
        "stages:\n  - flat_field: {flats: flats}\noutput: {hdf5: out.h5}\n",
        ts_scan_file.folder);
}

/* Every format of projections has the rows. */
Test(source_beam, every_format_of_projections_has_it)
{
    static const char *const formats[] = {"nexus", "exchange", "hdf5", "tiff"};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        const struct source_format *format = ts_source_format_find(formats[i]);
        cr_assert(format && ts_param_find(format->params, format->n_params, "beam", NULL) &&
                      ts_param_find(format->params, format->n_params, "source_axis", NULL) &&
                      ts_param_find(format->params, format->n_params, "source_detector", NULL),
                  "%s", formats[i]);
    }
}
