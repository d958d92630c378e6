/* SPDX-License-Identifier: Apache-2.0
 *
 * Chunks that come to the writer encoded: the file has the same bytes as one whose values came, and
 * what does not fit is an error.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "core/image.h"
#include "io/hdf5/hdf5_verify.h"
#include "io/hdf5/hdf5_write.h"
#include "tests/files/output_fixture.h"
#include "tests/support/stage_check.h"

/* The next chunk of an image as another encoder makes it, from the image that the grid cuts. */
static void *encode_chunk(const struct hdf5_writer *writer, int id, const struct ts_image *image,
                          int64_t index, size_t *bytes)
{
    const struct chunk_grid *grid = ts_hdf5_grid(writer, id);
    const struct chunk_filters *filters = ts_hdf5_filters(writer, id);
    struct chunk_coder *coder = ts_chunk_coder_create();
    unsigned char *chunk = calloc(1, grid->chunk_bytes);
    int64_t start[TS_MAX_RANK];
    size_t at = 0;
    for (int64_t i = 0; i < index; i++)
        at += ts_chunk_place(grid, i, start);
    memcpy(chunk, (const unsigned char *)image->data + at, ts_chunk_place(grid, index, start));
    const size_t bound = ts_chunk_bound(filters, grid->chunk_bytes);
    void *encoded = malloc(bound);
    *bytes = ts_chunk_encode(coder, filters, chunk, grid->chunk_bytes, encoded, bound);
    ts_chunk_coder_destroy(coder);
    free(chunk);
    return encoded;
}

/* Writes one image after another; of each, chunk i comes encoded where bit i % 3 of `which` is set,
 * else by its values. */
static enum ts_status write_mixed(const char *path, const struct ts_image *images, int n, int level,
                                  unsigned which, struct ts_diag *diag)
{
    const struct hdf5_options options = {.level = level, .threads = 3, .force = true};
    struct hdf5_writer *writer;
    int id[2];
    cr_assert_eq(ts_hdf5_create(path, &options, &writer, diag), TS_OK);
    for (int k = 0; k < n; k++)
        cr_assert_eq(ts_hdf5_image(writer, k ? "/two" : "/one", &images[k], &id[k]), TS_OK);
    for (int k = 0; k < n; k++) {
        const struct chunk_grid *grid = ts_hdf5_grid(writer, id[k]);
        for (int64_t i = 0; i < grid->n_chunks; i++) {
            const int64_t z = i * grid->chunk[0], left = grid->n[0] - z;
            const struct ts_image slab =
                ts_image_slices(&images[k], z, left < grid->chunk[0] ? left : grid->chunk[0]);
            size_t bytes;
            void *encoded =
                which >> i % 3 & 1 ? encode_chunk(writer, id[k], &images[k], i, &bytes) : NULL;
            cr_assert_eq(encoded ? ts_hdf5_write_chunk_take(writer, id[k], encoded, bytes)
                                 : ts_hdf5_write(writer, id[k], &slab),
                         TS_OK);
        }
    }
    return ts_hdf5_commit(writer);
}

Test(hdf5_chunks, chunks_may_come_encoded, .timeout = 900)
{
    const int64_t n[3] = {24, 500, 512}; /* 3 chunks of the first, 6 of the second */
    struct ts_image images[2] = {ts_test_output_image(3, n, TS_U16, 5),
                                 ts_test_output_image(3, n, TS_F32, 6)};
    struct ts_diag *diag = ts_diag_create();
    char folder[256], path[300];
    ts_test_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/out.h5", folder);
    for (int level = 0; level <= 1; level++) {
        unsigned char *expected = NULL;
        size_t expected_bytes = 0;
        for (unsigned which = 0; which < 8; which += ts_test_few() ? 5 : 1) {
            size_t bytes;
            cr_assert_eq(write_mixed(path, images, 2, level, which, diag), TS_OK);
            cr_assert_eq(ts_hdf5_verify(NULL, path, NULL, diag), TS_OK, "chunks %u", which);
            unsigned char *data = ts_test_read_file(path, &bytes);
            if (expected) /* no chunk of these images has padding, so the bytes are the same */
                cr_assert(bytes == expected_bytes && memcmp(data, expected, bytes) == 0,
                          "chunks %u", which);
            else
                expected = memcpy(malloc(expected_bytes = bytes), data, bytes);
            free(data);
        }
        free(expected);
    }
    free(images[0].data);
    free(images[1].data);
    ts_diag_destroy(diag);
    ts_test_remove_folder(folder);
}

/* A chunk with a wrong bit, one that is too long, one after half a chunk of values, one too
 * many. */
Test(hdf5_chunks, encoded_chunks_that_do_not_fit_are_errors)
{
    const int64_t n[3] = {40, 500, 512};
    struct ts_image image = ts_test_output_image(3, n, TS_U16, 5);
    const struct hdf5_options options = {.level = 1, .threads = 2, .force = true};
    char folder[256], path[300];
    ts_test_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/out.h5", folder);
    for (int fault = 0; fault < 4; fault++) {
        struct ts_diag *diag = ts_diag_create();
        struct hdf5_writer *writer;
        const struct ts_image one = ts_image_slices(&image, 0, 1);
        int id;
        size_t bytes = 0;
        cr_assert_eq(ts_hdf5_create(path, &options, &writer, diag), TS_OK);
        cr_assert_eq(ts_hdf5_image(writer, "/one", &image, &id), TS_OK);
        if (fault >= 2)
            cr_assert_eq(ts_hdf5_write(writer, id, fault == 3 ? &image : &one), TS_OK);
        unsigned char *encoded = encode_chunk(writer, id, &image, 0, &bytes);
        if (fault == 0)
            encoded[bytes / 2] ^= 1;
        (void)ts_hdf5_write_chunk_take(writer, id, encoded, fault == 1 ? SIZE_MAX : bytes);
        cr_assert_eq(ts_hdf5_commit(writer), TS_RUN_FAILED);
        cr_assert(ts_test_has_code(diag, fault == 0 ? "hdf5-damaged" : "output-order"),
                  "fault %d: %s", fault, ts_diag_get(diag, 0)->message);
        cr_assert_eq(ts_diag_error_count(diag), 1);
        cr_assert_eq(ts_test_count_files(folder, NULL), 0);
        ts_diag_destroy(diag);
    }
    free(image.data);
    ts_test_remove_folder(folder);
}
