/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/files/mask_open.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "io/source/source_slices.h"
#include "tests/files/dicom_fixture.h"
#include "tests/files/dicom_open.h"
#include "tests/support/chain_text.h"
#include "tests/support/support.h"

static void close_all(struct mask_opened *opened)
{
    if (opened->mask)
        opened->mask->ops->close(opened->mask);
    if (opened->image)
        opened->image->ops->close(opened->image);
    ts_chain_destroy(opened->chain);
    ts_diag_destroy(opened->diag);
    opened->mask = opened->image = NULL;
    opened->chain = NULL;
    opened->diag = NULL;
}

void ts_mask_begin(struct mask_opened *opened, const char *name)
{
    char study[160];
    *opened = (struct mask_opened){.image = NULL};
    ts_test_folder_in_memory(opened->folder, sizeof opened->folder);
    snprintf(study, sizeof study, "%s/study", opened->folder);
    snprintf(opened->path, sizeof opened->path, "%s/%s", opened->folder, name);
    cr_assert_eq(mkdir(study, 0700), 0);
    ts_fixture_series(study, FIXTURE_SLICES, NULL, NULL);
    (void)ts_mask_open(opened, "", ""); /* the file is not there yet */
}

void ts_mask_end(struct mask_opened *opened)
{
    close_all(opened);
    ts_test_remove_folder(opened->folder);
}

enum ts_status ts_mask_open(struct mask_opened *opened, const char *image_more, const char *more)
{
    char text[1024];
    close_all(opened);
    snprintf(text, sizeof text,
             "tomostage: 2\ninput: {dicom: \"%s/study\"%s}\ninputs:\n  regions: {mask: "
             "\"%s\"%s}\nstages: [statistics]\n",
             opened->folder, image_more, opened->path, more);
    cr_assert_eq(ts_test_parse(text, &opened->chain, &opened->diag), TS_OK, "%s: %s", text,
                 ts_test_errors(opened->diag));
    const struct chain_source *sources = opened->chain->sources;
    cr_assert_eq(ts_source_open(sources[0].format, &sources[0].set, &opened->image, opened->diag),
                 TS_OK);
    return ts_source_open_on(sources[1].format, &sources[1].set, opened->image, &opened->mask,
                             opened->diag);
}

void ts_mask_expect(struct mask_opened *opened, const char *image_more, const char *more,
                    const int32_t *expected, enum ts_dtype dtype)
{
    const enum ts_status status = ts_mask_open(opened, image_more, more);
    cr_assert_eq(status, TS_OK, "%s: %s", more, ts_test_errors(opened->diag));
    const struct ts_image *image = &opened->mask->image;
    cr_assert_eq(image->dtype, dtype, "%s: %s", more, ts_dtype_name(image->dtype));
    cr_assert(image->axes[0].n == opened->image->image.axes[0].n && image->has_geometry);
    unsigned char *values = ts_test_read_all(opened->mask, opened->diag);
    for (size_t i = 0; i < ts_image_count(image); i++) {
        double value;
        ts_load_f64(&value, values + i * ts_dtype_bytes(dtype), dtype, 1);
        cr_assert_eq(value, expected[i], "%s: voxel %zu is %g, expected %d", more, i, value,
                     (int)expected[i]);
    }
    free(values);
}

void ts_mask_refused(struct mask_opened *opened, const char *more, const char *code)
{
    enum ts_status status = ts_mask_open(opened, "", more);
    for (int64_t z = 0; status == TS_OK && z < opened->mask->n_slices; z++) {
        void *slice = malloc(ts_slice_bytes(&opened->mask->image));
        status = opened->mask->ops->read(opened->mask, z, 1, slice, opened->diag);
        free(slice);
    }
    cr_assert_neq(status, TS_OK, "%s was not refused", code);
    cr_assert(ts_test_record(opened->diag, code), "expected %s: %s", code,
              ts_test_errors(opened->diag));
}
