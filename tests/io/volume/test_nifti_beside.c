/* SPDX-License-Identifier: Apache-2.0
 *
 * What the nifti source reads of the files beside an image of three volumes: times, b-values and
 * directions, and what in them does not fit.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/path.h"
#include "io/source/metadata.h"
#include "io/source/source_slices.h"
#include "io/volume/nifti.h"
#include "tests/files/dicom_open.h"
#include "tests/files/volume_fixture.h"
#include "tests/support/chain_text.h"
#include "tests/support/folders.h"
#include "tests/support/support.h"

static char folder[256];

static void begin(void)
{
    ts_test_folder_in_memory(folder, sizeof folder);
}

static void end(void)
{
    ts_test_remove_folder(folder);
}

TestSuite(nifti_beside, .init = begin, .fini = end);

/* Steps of 0: the header states no place. */
static struct nifti_header header_of(double step_x, double step_y)
{
    return (struct nifti_header){.version = 1,
                                 .dim = {4, 5, 4, 1, 3, 1, 1, 1},
                                 .pixdim = {1, 2, 3, 4, 1.5},
                                 .datatype = ts_nifti_datatype(TS_I16),
                                 .bits = 16,
                                 .offset = NIFTI_1_BYTES + 4,
                                 .units = NIFTI_MM + NIFTI_SECONDS,
                                 .sform = step_x != 0 ? 1 : 0,
                                 .rows = {step_x, 0, 0, 0, 0, step_y, 0, 0, 0, 0, 4, 0}};
}

/* Writes an image of three volumes, `name`, and opens it as an input. */
static struct source *open_series(const struct nifti_header *header, const char *name,
                                  struct ts_diag *diag)
{
    unsigned char bytes[NIFTI_2_BYTES + 4] = {0};
    char path[320];
    struct source *source = NULL;
    ts_nifti_encode(header, bytes);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    ts_volume_write(path, bytes, NIFTI_1_BYTES + 4 + 5 * 4 * 3 * 2, ts_ends_in(name, ".gz"));
    cr_assert_eq(ts_volume_chain_open("nifti", path, &source, diag), TS_OK);
    return source;
}

/* Writes a text to a file beside the images, or removes it. */
static void put_beside(const char *name, const char *text)
{
    char beside[320];
    snprintf(beside, sizeof beside, "%s/%s", folder, name);
    unlink(beside);
    if (text)
        ts_volume_write(beside, text, strlen(text), false);
}

/* FSL's rule: directions are along the axes of the file, x with the other sign if the determinant
 * of the transform to RAS is positive. */
Test(nifti_beside, b_values_and_gradients_beside_it_are_read)
{
    static const struct {
        const char *bval, *bvec;
        double step_x, step_y; /* to RAS, 0: the file states no place */
        bool read, warned;
        double gradient[3]; /* LPS, of the second volume; zeros: there are none */
    } cases[] = {
        {"0 1000 700\n", "0 0.6 0\n0 0.8 1\n0 0 0\n", 2, 3, true, false, {0.6, -0.8, 0}},
        {"0 1000 700", "0 0.6 0\n0 0.8 1\n0 0 0\n", -2, 3, true, false, {0.6, -0.8, 0}},
        {"0\t1e3,7e2\r\n", "0 0.6 0\n0 0.8 1\n0 0 0\n", 2, -3, true, false, {-0.6, 0.8, 0}},
        {"0 1000 700\n", "0 0 0\n0 0.6 0\n0 -0.8 1\n", -2, -3, true, false, {0, 0.6, -0.8}},
        {"0 1000 700\n", NULL, 2, 3, true, false, {0}},
        {"0 1000 700\n", "0 0.6 0\n0 0.8 1\n0 0 0\n", 0, 0, true, true, {0}},
        {"0 1000 700\n", "0 0.6 0\n0 0.8 1\n", 2, 3, true, true, {0}},
        {"0 1000 700\n", "0 600 0\n0 800 1\n0 0 0\n", 2, 3, true, true, {0}},
        {"0 1000\n", NULL, 2, 3, false, true, {0}},
        {"0 1000 700 700\n", NULL, 2, 3, false, true, {0}},
        {"0 -1000 700\n", NULL, 2, 3, false, true, {0}},
        {"0 1000 inf\n", NULL, 2, 3, false, true, {0}},
        {"b 0 1000 700\n", NULL, 2, 3, false, true, {0}},
        {"\n", NULL, 2, 3, false, true, {0}},
        {NULL, "0 0.6 0\n0 0.8 1\n0 0 0\n", 2, 3, false, false, {0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct nifti_header header = header_of(cases[i].step_x, cases[i].step_y);
        put_beside("dwi.bval", cases[i].bval);
        put_beside("dwi.bvec", cases[i].bvec);
        struct ts_diag *diag = ts_diag_create();
        struct source *source = open_series(&header, "dwi.nii", diag);
        const struct ts_axis *axis = &source->volume_axis;
        cr_expect_eq(ts_test_record(diag, "nifti-gradients") != NULL, cases[i].warned, "case %zu",
                     i);
        cr_expect_eq(axis->kind == TS_AXIS_B, cases[i].read, "case %zu", i);
        if (cases[i].read)
            cr_expect(ts_axis_position(axis, 1) == 1000 && ts_axis_position(axis, 2) == 700 &&
                          !strcmp(axis->unit, "s/mm2"),
                      "case %zu", i);
        const double *stated = cases[i].gradient, *found = NULL;
        for (size_t k = 0; k < source->n_attributes; k++)
            if (!strcmp(source->attributes[k].name, "diffusion_gradient_direction"))
                found = source->attributes[k].numbers;
        cr_expect_eq(found != NULL, stated[0] != 0 || stated[1] != 0, "case %zu", i);
        for (int k = 0; k < 3 && found; k++)
            cr_expect(fabs(found[3 + k] - stated[k]) < 1e-9 && found[k] == 0, "case %zu: %g for %d",
                      i, found[3 + k], k);
        source->ops->close(source);
        ts_diag_destroy(diag);
    }
    put_beside("dwi.bval", NULL);
    put_beside("dwi.bvec", NULL);
}

/* Three volumes of three slices: directions belong to volumes, whatever slices are read. */
Test(nifti_beside, directions_follow_the_volumes_that_are_read)
{
    static const struct {
        const char *part;
        int64_t n;
        double first[3]; /* LPS */
    } cases[] = {{"take: 1", 1, {0.6, -0.8, 0}},
                 {"take: 2, slices: 1", 1, {0, -1, 0}},
                 {"slices: [1, 3]", 3, {0, 0, 0}}};
    unsigned char bytes[NIFTI_1_BYTES + 4 + 5 * 4 * 9 * 2 + NIFTI_2_BYTES] = {0};
    struct nifti_header header = header_of(2, 3);
    header.dim[3] = 3;
    ts_nifti_encode(&header, bytes);
    char path[320];
    snprintf(path, sizeof path, "%s/dwi.nii", folder);
    ts_volume_write(path, bytes, NIFTI_1_BYTES + 4 + 5 * 4 * 9 * 2, false);
    put_beside("dwi.bval", "0 1000 700\n");
    put_beside("dwi.bvec", "0 0.6 0\n0 0.8 1\n0 0 0\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        struct ts_chain *chain;
        struct ts_diag *diag;
        struct source *source = NULL;
        snprintf(text, sizeof text, "tomostage: 2\ninput: {nifti: \"%s\", %s}\nstages: [invert]\n",
                 path, cases[i].part);
        cr_assert_eq(ts_test_parse(text, &chain, &diag), TS_OK);
        cr_assert_eq(
            ts_source_open(chain->sources[0].format, &chain->sources[0].set, &source, diag), TS_OK);
        cr_assert_eq(source->n_attributes, 1);
        const struct source_attribute *found = &source->attributes[0];
        cr_expect_eq(found->n, cases[i].n, "case %zu: %lld", i, (long long)found->n);
        ts_metadata_format(found, text, sizeof text);
        cr_expect_str_eq(text, cases[i].n == 1 ? "diffusion gradient direction: 1 vector"
                                               : "diffusion gradient direction: 3 vectors");
        for (int k = 0; k < 3; k++)
            cr_expect(fabs(found->numbers[k] - cases[i].first[k]) < 1e-9, "case %zu", i);
        source->ops->close(source);
        ts_diag_destroy(diag);
        ts_chain_destroy(chain);
    }
}

/* The times that BIDS states beside the image are read; what contradicts them is warned of. */
Test(nifti_beside, times_in_the_file_beside_it_are_read)
{
    static const struct {
        const char *json; /* NULL: there is none */
        bool timed, warned;
        double times[3]; /* expected */
    } cases[] = {
        {"{\"VolumeTiming\": [0, 10, 30]}", true, false, {0, 10, 30}},
        {"{\"VolumeTiming\":[0,1.5,4]}", true, false, {0, 1.5, 4}},
        {"{\n \"VolumeTiming\" : [\n 0,\n 1.5 ]}", true, true, {0, 1.5, 3}}, /* too few */
        {"{\"VolumeTiming\": [0, 2, 4, 7]}", true, true, {0, 1.5, 3}},
        {"{\"VolumeTiming\": [0, 4, 2]}", true, true, {0, 1.5, 3}},
        {"{\"VolumeTiming\": [0, 2, 2]}", true, true, {0, 1.5, 3}},
        {"{\"VolumeTiming\": [0, null, 2]}", true, true, {0, 1.5, 3}},
        {"{\"VolumeTiming\": \"unknown\", \"SliceTiming\": [0, 1, 3]}", true, false, {0, 1.5, 3}},
        {"{\"VolumeTiming\": [0, 2, 4]}", true, true, {0, 2, 4}}, /* the header says 1.5 */
        {"{\"VolumeTiming\": [0, 1, 2]}", false, false, {0, 1, 2}},
        {"{\"VolumeTiming\": [0, 1, 3]}", false, false, {0, 1, 3}},
        {"{\"VolumeTiming\": [\n  0,\n  1.5,\n  3\n]}", true, false, {0, 1.5, 3}},
        {"{\"VolumeTiming\": [7, 8.5, 10]}", true, false, {7, 8.5, 10}},
        {"{\"FrameTimesStart\": [0, 15, 30], \"FrameDuration\": [15, 15, 30]}",
         true,
         true,
         {0, 15, 30}},
        {"{\"FrameTimesStart\": [0, 15, 40], \"FrameDuration\": [15, 25, 30]}",
         true,
         false,
         {0, 15, 40}},
        {"{\"FrameTimesStart\": [0, 15, 40], \"FrameDuration\": [15, 30, 30]}",
         true,
         true,
         {0, 15, 40}},
        {"{\"FrameTimesStart\": [0, 15, 40], \"FrameDuration\": [15]}", true, true, {0, 15, 40}},
        {"{\"FrameTimesStart\": [0, 1.5, 3]}", true, false, {0, 1.5, 3}},
        {"{\"RepetitionTime\": 1.5}", true, false, {0, 1.5, 3}},
        {"{\"RepetitionTime\": 2.0}", true, true, {0, 1.5, 3}},
        {"{\"RepetitionTime\": 2.0}", false, false, {0, 1, 2}}, /* the volumes are numbered */
        {"{\"RepetitionTime\": \"n/a\"}", true, false, {0, 1.5, 3}},
        {"", true, false, {0, 1.5, 3}},
        {NULL, true, false, {0, 1.5, 3}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int gzip = 0; gzip < 2; gzip++) {
            struct nifti_header header = header_of(2, 3);
            header.units = NIFTI_MM + (cases[i].timed ? NIFTI_SECONDS : 0);
            put_beside("a.json", cases[i].json);
            struct ts_diag *diag = ts_diag_create();
            struct source *source = open_series(&header, gzip ? "a.nii.gz" : "a.nii", diag);
            cr_expect_eq(ts_test_record(diag, "nifti-timing") != NULL, cases[i].warned, "case %zu",
                         i);
            for (int v = 0; v < 3; v++)
                cr_expect_eq(ts_axis_position(&source->volume_axis, v), cases[i].times[v],
                             "case %zu: %g", i, ts_axis_position(&source->volume_axis, v));
            source->ops->close(source);
            ts_diag_destroy(diag);
        }
    put_beside("a.json", NULL);
}
