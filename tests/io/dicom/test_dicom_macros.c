/* SPDX-License-Identifier: Apache-2.0
 *
 * What functional groups state of frames: for all and again for one, in several units, by indexes
 * of several dimensions.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/files/dicom_bytes.h"
#include "tests/files/dicom_fixture.h"
#include "tests/files/dicom_study.h"
#include "tests/support/support.h"

enum { PLACES = 3, MOST = 12, PIXELS = FIXTURE_ROWS * FIXTURE_COLUMNS };

/* What the frames of a file state. */
struct frames {
    int volumes;
    const char *spacing[2], *slopes[2], *types[2]; /* for all, and of the last volume; NULL: not */
    double echo[2];                                /* 0: not */
    const char *units[4];                          /* of each volume; NULL: no rescale */
    uint32_t indexes[4][2];                        /* of each volume along two dimensions */
    uint32_t temporal[4];                          /* Temporal Position Index; 0: not */
    const char *labels[4];                         /* ASL Context */
    bool no_indexes, philips; /* philips: b-values 0, 1000, 2000 in its private sequence */
    double b_value;           /* of the standard, of all; 0: not stated */
};

static void put_text(struct dicom_bytes *out, uint32_t sequence, uint32_t tag, const char *vr,
                     const char *text)
{
    static struct dicom_bytes group;
    group.n = 0;
    if (text)
        ts_bytes_text(&group, tag, vr, text);
    if (text)
        ts_bytes_group(out, sequence, &group);
}

/* Appends what a file may state for all frames (which 0) or for one (1). */
static void put_common(struct dicom_bytes *out, const struct frames *frames, int which,
                       const char *type)
{
    static struct dicom_bytes group;
    group.n = 0;
    if (frames->echo[which] > 0) {
        ts_bytes_element(&group, 0x00189082, "FD", &frames->echo[which], sizeof(double));
        ts_bytes_group(out, 0x00189114, &group);
    }
    put_text(out, 0x00189226, 0x00089007, "CS", frames->types[which]);
    put_text(out, 0x00289110, 0x00280030, "DS", frames->spacing[which]);
    group.n = 0;
    if (!frames->slopes[which] && !type)
        return;
    ts_bytes_text(&group, 0x00281052, "DS", "0");
    ts_bytes_text(&group, 0x00281053, "DS", frames->slopes[which] ? frames->slopes[which] : "1");
    ts_bytes_text(&group, 0x00281054, "LO", type ? type : "US");
    ts_bytes_group(out, 0x00289145, &group);
}

/* Appends Philips' private sequence of a frame. */
static void put_philips(struct dicom_bytes *out, int v)
{
    static struct dicom_bytes item;
    const float b = 1000.0F * (float)v, gradient[] = {v == 1, v == 2, 0};
    item.n = 0;
    ts_bytes_text(&item, 0x20010010, "LO", "Philips Imaging DD 001");
    ts_bytes_element(&item, 0x20011003, "FL", &b, sizeof b);
    ts_bytes_text(&item, 0x20050010, "LO", "Philips MR Imaging DD 001");
    ts_bytes_text(&item, 0x20050014, "LO", "Philips MR Imaging DD 005");
    for (uint32_t k = 0; k < 3; k++)
        ts_bytes_element(&item, 0x200510B0 + k, "FL", &gradient[k], sizeof *gradient);
    ts_bytes_text(&item, 0x20051429, "CS", v % 2 ? "LABEL" : "CONTROL");
    ts_bytes_text(out, 0x20050014, "LO", "Philips MR Imaging DD 005");
    ts_bytes_group(out, 0x2005140F, &item);
}

static void put_frame(struct dicom_bytes *out, const struct frames *frames, int k)
{
    static struct dicom_bytes group, frame;
    const int v = k / PLACES, z = k % PLACES;
    const uint32_t indexes[] = {(uint32_t)z + 1, frames->indexes[v][0], frames->indexes[v][1]};
    char text[32];
    frame.n = group.n = 0;
    put_common(&frame, frames, 1, frames->units[v]);
    if (frames->temporal[v] > 0)
        ts_bytes_element(&group, 0x00209128, "UL", &frames->temporal[v], sizeof(uint32_t));
    if (!frames->no_indexes)
        ts_bytes_element(&group, 0x00209157, "UL", indexes, sizeof indexes);
    ts_bytes_group(&frame, 0x00209111, &group);
    snprintf(text, sizeof text, "0\\0\\%d", 2 * z);
    put_text(&frame, 0x00209113, 0x00200032, "DS", text);
    group.n = 0;
    if (frames->b_value > 0) {
        ts_bytes_element(&group, 0x00189087, "FD", &frames->b_value, sizeof(double));
        ts_bytes_group(&frame, 0x00189117, &group);
    }
    put_text(&frame, 0x00189251, 0x00189257, "CS", frames->labels[v]);
    if (frames->philips)
        put_philips(&frame, v);
    ts_bytes_item(out, &frame);
}

static void open_frames(const struct frames *frames, char *folder, size_t size,
                        struct dicom_study *study)
{
    static struct dicom_bytes shared, items, groups;
    static const uint32_t removed[] = {0x00200032, 0x00200037, 0x00280030,
                                       0x00281052, 0x00281053, 0x00281054};
    static uint16_t pixels[MOST * PIXELS];
    struct dicom_fixture f;
    char text[16];
    const int n = frames->volumes * PLACES;
    ts_test_folder_in_memory(folder, size);
    ts_fixture_init(&f, 0);
    for (size_t i = 0; i < sizeof removed / sizeof *removed; i++)
        ts_fixture_remove(&f, removed[i]);
    ts_fixture_text(&f, 0x00080016, "UI", "1.2.840.10008.5.1.4.1.1.4.1");
    ts_fixture_text(&f, 0x00080060, "CS", "MR");
    snprintf(text, sizeof text, "%d", n);
    ts_fixture_text(&f, 0x00280008, "IS", text);
    shared.n = items.n = groups.n = 0;
    for (int i = 0; i < MOST * PIXELS; i++)
        pixels[i] = (uint16_t)i;
    put_common(&groups, frames, 0, NULL);
    put_text(&groups, 0x00209116, 0x00200037, "DS", "1\\0\\0\\0\\1\\0");
    ts_bytes_item(&shared, &groups);
    for (int k = 0; k < n; k++)
        put_frame(&items, frames, k);
    ts_fixture_bytes(&f, 0x52009229, "SQ", shared.at, shared.n);
    ts_fixture_bytes(&f, 0x52009230, "SQ", items.at, items.n);
    ts_fixture_bytes(&f, FIXTURE_PIXELS, "OW", pixels, (size_t)n * PIXELS * sizeof *pixels);
    ts_fixture_finish(&f, folder, 0);
    ts_test_study_open(study, folder, &ts_dicom_default_rules);
}

static const char *find_warning(const struct dicom_series *series, const char *text)
{
    for (size_t i = 0; i < series->n_warnings; i++)
        if (strstr(series->warnings[i], text))
            return series->warnings[i];
    return NULL;
}

static const char contradict[] = "contradict those that all frames share in ";

Test(dicom_macros, of_a_frame_that_contradict_those_of_all_are_warned_of)
{
    static const struct {
        struct frames frames;
        const char *name; /* of what contradicts; NULL: nothing */
    } rows[] = {
        {{.volumes = 1, .spacing = {"2\\1.5", "1\\1"}}, "Pixel Spacing"},
        {{.volumes = 1, .spacing = {"2\\1.5", "2\\1.5"}, .slopes = {"1", "2"}}, "Rescale Slope"},
        {{.volumes = 1, .spacing = {"2\\1.5", NULL}, .echo = {5, 9}}, "Effective Echo Time"},
        {{.volumes = 1,
          .spacing = {"2\\1.5", NULL},
          .types = {"ORIGINAL\\PRIMARY\\M", "ORIGINAL\\PRIMARY\\P"}},
         "Frame Type"},
        {{.volumes = 1,
          .spacing = {"2\\1.5", "2.0\\1.50"},
          .slopes = {"1.5", "1.50"},
          .types = {"ORIGINAL\\PRIMARY\\M", "ORIGINAL\\PRIMARY\\M"},
          .echo = {5, 5}},
         NULL},
        {{.volumes = 1, .spacing = {NULL, "2\\1.5"}, .slopes = {NULL, "2"}}, NULL},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        char folder[256];
        struct dicom_study study;
        open_frames(&rows[r].frames, folder, sizeof folder, &study);
        const struct dicom_series *series = &study.series[0];
        const char *warning = find_warning(series, contradict);
        cr_assert_null(series->refusal, "row %zu: %s", r, series->refusal);
        cr_expect_eq(warning != NULL, rows[r].name != NULL, "row %zu: %s", r, warning);
        cr_expect(!warning || !rows[r].name || strstr(warning, rows[r].name), "row %zu: %s", r,
                  warning);
        ts_test_study_close(&study);
        ts_test_remove_folder(folder);
    }
}

Test(dicom_macros, units_make_series)
{
    static const struct {
        struct frames frames;
        size_t n;
        const char *labels[3];
        size_t volumes[3];
    } rows[] = {
        {{.volumes = 2, .spacing = {"2\\1.5", NULL}, .units = {"ms", "US"}, .no_indexes = true},
         2,
         {"unit US", "unit ms"},
         {1, 1}},
        {{.volumes = 4,
          .spacing = {"2\\1.5", NULL},
          .units = {"ms", "US", "ms", "US"},
          .no_indexes = true},
         2,
         {"unit US", "unit ms"},
         {2, 2}},
        {{.volumes = 3,
          .spacing = {"2\\1.5", NULL},
          .units = {"Hz", "ms", "US"},
          .indexes = {{1, 1}, {2, 1}, {3, 1}}},
         3,
         {"unit Hz", "unit US", "unit ms"},
         {1, 1, 1}},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        char folder[256];
        struct dicom_study study;
        open_frames(&rows[r].frames, folder, sizeof folder, &study);
        cr_assert_eq(study.n, rows[r].n, "row %zu: %zu series", r, study.n);
        for (size_t i = 0; i < study.n; i++) {
            const struct dicom_series *series = &study.series[i];
            cr_expect_null(series->refusal, "row %zu: %s", r, series->refusal);
            cr_expect(strstr(series->label, rows[r].labels[i]), "row %zu: %s", r, series->label);
            cr_expect_eq(series->n_volumes, rows[r].volumes[i], "row %zu: %zu volumes", r,
                         series->n_volumes);
        }
        ts_test_study_close(&study);
        ts_test_remove_folder(folder);
    }
}

/* Indexes of several dimensions order volumes that none of their attributes orders, if none mixes
 * them. */
Test(dicom_macros, indexes_order_what_several_attributes_tell_apart)
{
    static const struct {
        struct frames frames;
        const char *refusal, *hint; /* NULL: it is read */
    } rows[] = {
        {{.volumes = 4,
          .spacing = {"2\\1.5", NULL},
          .indexes = {{1, 1}, {2, 1}, {1, 2}, {2, 2}},
          .temporal = {1, 2, 1, 2},
          .labels = {"CONTROL", "CONTROL", "LABEL", "LABEL"}},
         NULL,
         NULL},
        {{.volumes = 4,
          .spacing = {"2\\1.5", NULL},
          .indexes = {{1, 1}, {1, 2}, {2, 1}, {2, 2}},
          .temporal = {1, 1, 2, 2}},
         NULL,
         NULL},
        {{.volumes = 2,
          .spacing = {"2\\1.5", NULL},
          .indexes = {{1, 1}, {1, 2}},
          .temporal = {1, 1},
          .labels = {"CONTROL", "LABEL"}},
         NULL,
         NULL},
        {{.volumes = 4, .spacing = {"2\\1.5", NULL}, .no_indexes = true, .temporal = {1, 2, 1, 2}},
         "position-repeated",
         "they differ in Temporal Position Identifier, which"},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        char folder[256];
        struct dicom_study study;
        open_frames(&rows[r].frames, folder, sizeof folder, &study);
        const struct dicom_series *series = &study.series[0];
        cr_assert_eq(series->refusal != NULL, rows[r].refusal != NULL, "row %zu: %s", r,
                     series->refusal);
        if (rows[r].refusal) {
            cr_expect_str_eq(series->refusal_code, rows[r].refusal, "row %zu", r);
            cr_expect(strstr(series->hint, rows[r].hint), "row %zu: %s", r, series->hint);
        } else {
            cr_assert_eq(series->n_volumes, (size_t)rows[r].frames.volumes, "row %zu", r);
            cr_expect(find_warning(series, "stands on Dimension Index Values alone"), "row %zu", r);
            cr_expect(!find_warning(series, "in the wrong order"), "row %zu", r);
            cr_expect_eq(find_warning(series, "volumes are LABEL by ASL Context") != NULL,
                         rows[r].frames.labels[0] != NULL, "row %zu", r);
            for (size_t v = 0; v < series->n_volumes; v++)
                for (size_t z = 0; z < PLACES; z++) {
                    const struct dicom_image *image = series->images[v * PLACES + z];
                    const int from = (int)image->frame / PLACES;
                    const struct dicom_image *first = series->images[v * PLACES];
                    cr_expect_eq(from, (int)first->frame / PLACES, "row %zu", r);
                }
        }
        ts_test_study_close(&study);
        ts_test_remove_folder(folder);
    }
}

/* Labels and controls of perfusion that no index tells apart are series of their own. */
Test(dicom_macros, labels_and_controls_are_told_apart)
{
    static const struct {
        struct frames frames;
        size_t n;
        const char *labels[2];
        size_t volumes;
    } rows[] = {
        {{.volumes = 4,
          .spacing = {"2\\1.5", NULL},
          .no_indexes = true,
          .temporal = {1, 2, 1, 2},
          .labels = {"CONTROL", "CONTROL", "LABEL", "LABEL"}},
         2,
         {"ASL CONTROL", "ASL LABEL"},
         2},
        {{.volumes = 2,
          .spacing = {"2\\1.5", NULL},
          .indexes = {{1, 1}, {1, 1}},
          .labels = {"LABEL", "CONTROL"}},
         2,
         {"ASL CONTROL", "ASL LABEL"},
         1},
        {{.volumes = 2,
          .spacing = {"2\\1.5", NULL},
          .no_indexes = true,
          .philips = true,
          .b_value = 7},
         2,
         {"ASL CONTROL", "ASL LABEL"},
         1},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        char folder[256];
        struct dicom_study study;
        open_frames(&rows[r].frames, folder, sizeof folder, &study);
        cr_assert_eq(study.n, rows[r].n, "row %zu: %zu series", r, study.n);
        for (size_t i = 0; i < study.n; i++) {
            const struct dicom_series *series = &study.series[i];
            cr_expect_null(series->refusal, "row %zu: %s", r, series->refusal);
            cr_expect(strstr(series->label, rows[r].labels[i]), "row %zu: %s", r, series->label);
            cr_expect_eq(series->n_volumes, rows[r].volumes, "row %zu", r);
        }
        ts_test_study_close(&study);
        ts_test_remove_folder(folder);
    }
}

/* Philips' private weightings of a frame count if its functional groups state none. */
Test(dicom_macros, private_weightings_of_frames_count_without_those_of_the_standard)
{
    for (int stated = 0; stated < 2; stated++) {
        const struct frames frames = {.volumes = 3,
                                      .spacing = {"2\\1.5", NULL},
                                      .indexes = {{1, 1}, {2, 1}, {3, 1}},
                                      .philips = true,
                                      .b_value = stated ? 500 : 0};
        char folder[256];
        struct dicom_study study;
        open_frames(&frames, folder, sizeof folder, &study);
        const struct dicom_series *series = &study.series[0];
        cr_assert_null(series->refusal, "%s", series->refusal);
        cr_assert_eq(series->n_volumes, 3);
        cr_assert_eq(series->volume_axis.kind, TS_AXIS_B);
        for (int v = 0; v < 3; v++)
            cr_expect_float_eq(ts_axis_position(&series->volume_axis, v), stated ? 500 : 1000.0 * v,
                               1e-6);
        cr_assert_not_null(series->gradients);
        cr_expect_float_eq(series->gradients[3], 1, 1e-6);
        cr_expect_float_eq(series->gradients[7], 1, 1e-6);
        ts_test_study_close(&study);
        ts_test_remove_folder(folder);
    }
}
