/* SPDX-License-Identifier: Apache-2.0
 *
 * See dicom_open.h.
 */
#include "tests/files/dicom_open.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "io/dicom_frames/dicom_cells.h"
#include "io/dicom_header/dicom_scan.h"

enum ts_status ts_test_open_dicom(const char *path, const char *series, int32_t burned_in,
                                  struct source **source, struct ts_diag *diag)
{
    struct dicom_params params = {0};
    struct param_set set = {.params = dicom_format.params,
                            .n_params = dicom_format.n_params,
                            .values = &params,
                            .owner = "input"};
    ts_params_init(&set);
    params.dicom = (struct ts_texts){1, &path};
    if (series != NULL)
        params.series = series;
    params.burned_in = burned_in;
    return dicom_format.open(&set, source, diag);
}

bool ts_test_open_file(const char *path, const char *allowed, struct source **source,
                       const char **code, struct ts_diag *diag)
{
    struct arena *arena = ts_arena_create();
    struct dicom_file *file = ts_arena_alloc(arena, sizeof *file);
    struct dicom_other other;
    *source = NULL;
    *code = "no-image";
    bool usable = ts_dicom_scan_file(path, arena, file, &other);
    if (usable && file->refusal != NULL) {
        *code = file->refusal_code;
        usable = allowed != NULL && strcmp(file->refusal_code, allowed) == 0;
    }
    if (!usable) {
        ts_arena_destroy(arena);
        return false;
    }
    const struct dicom_cells cells = ts_dicom_cells(file);
    file->lut.entries = 0;
    const size_t n = (size_t)file->frames;
    struct dicom_image *frames = ts_arena_alloc(arena, n * sizeof *frames);
    struct dicom_image **images = ts_arena_alloc(arena, n * sizeof *images);
    for (size_t i = 0; i < n; i++) {
        images[i] = &frames[i];
        frames[i] = file->images[0];
        frames[i].frame = (int64_t)i;
        frames[i].rows = file->rows; /* a mosaic as the one image that it is */
        frames[i].columns = file->columns;
        frames[i].tile_row = frames[i].tile_column = 0;
        frames[i].have_slope = frames[i].have_intercept = false;
    }
    struct dicom_series series = {
        .images = images, .n_images = n, .n_files = 1, .n_slices = n, .n_volumes = 1};
    series.image = (struct ts_image){.rank = 3,
                                     .axes = {{.kind = TS_AXIS_Z, .n = file->frames},
                                              {.kind = TS_AXIS_Y, .n = file->rows},
                                              {.kind = TS_AXIS_X, .n = file->columns}},
                                     .dtype = ts_dicom_stored_dtype(&cells),
                                     .unit = "1"};
    return ts_dicom_open_take(&series, arena, source, diag) == TS_OK;
}

void *ts_test_read_all(struct source *source, struct ts_diag *diag)
{
    void *data = malloc(ts_image_bytes(&source->image));
    cr_assert_not_null(data);
    enum ts_status status = source->ops->read(source, 0, source->n_slices, data, diag);
    cr_assert_eq(status, TS_OK, "%s", ts_diag_count(diag) > 0 ? ts_diag_get(diag, 0)->message : "");
    return data;
}

static void expect_newest(const struct ts_diag *diag, enum ts_severity severity, const char *code,
                          const char *text)
{
    for (size_t i = ts_diag_count(diag); i-- > 0;) {
        const struct ts_diag_record *record = ts_diag_get(diag, i);
        if (record->severity != severity)
            continue;
        cr_assert_str_eq(record->code, code, "%s", record->message);
        cr_assert_not_null(strstr(record->message, text), "'%s' is not in '%s'", text,
                           record->message);
        return;
    }
    cr_assert_fail("nothing of this severity was recorded");
}

void ts_test_expect(const struct ts_diag *diag, const char *code, const char *text)
{
    expect_newest(diag, TS_ERROR, code, text);
}

void ts_test_expect_warning(const struct ts_diag *diag, const char *code, const char *text)
{
    expect_newest(diag, TS_WARNING, code, text);
}

void ts_test_expect_rounding(const struct source *source, int64_t n, double most)
{
    struct ts_rounding sum = {0};
    for (int64_t z = 0; z < ts_source_total(source); z++)
        ts_rounding_join(&sum, &source->slices[z].rounding);
    cr_expect_eq(sum.n, n, "%lld values were rounded, not %lld", (long long)sum.n, (long long)n);
    cr_expect_eq(sum.most, most, "by %.17g at most, not %.17g", sum.most, most);
}

struct source *ts_test_open_take(const char *folder, const char *take, struct ts_diag *diag)
{
    struct dicom_params params = {0};
    struct param_set set = {.params = dicom_format.params,
                            .n_params = dicom_format.n_params,
                            .values = &params,
                            .owner = "input"};
    struct source *source = NULL;
    ts_params_init(&set);
    params.dicom = (struct ts_texts){1, &folder};
    params.take = (struct ts_texts){take != NULL, &take};
    return dicom_format.open(&set, &source, diag) == TS_OK ? source : NULL;
}

const char *ts_test_first_message(const struct ts_diag *diag)
{
    return ts_diag_count(diag) > 0 ? ts_diag_get(diag, 0)->message : "";
}

void *ts_test_read_volumes(struct source *source, struct ts_diag *diag)
{
    void *data = malloc((size_t)source->n_volumes * ts_image_bytes(&source->image));
    cr_assert_eq(source->ops->read(source, 0, ts_source_total(source), data, diag), TS_OK, "%s",
                 ts_test_first_message(diag));
    return data;
}

double ts_test_value(const struct source *source, const void *data, size_t i)
{
    double value;
    const enum ts_dtype dtype = source->image.dtype;
    ts_load_f64(&value, (const char *)data + i * ts_dtype_bytes(dtype), dtype, 1);
    return value;
}
