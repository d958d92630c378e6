/* SPDX-License-Identifier: Apache-2.0
 *
 * Output files for tests: a scratch folder, images with known values, a small file of everything
 * the writer can write.
 */
#ifndef TESTS_FILES_OUTPUT_FIXTURE_H
#define TESTS_FILES_OUTPUT_FIXTURE_H

#include "io/hdf5/hdf5_write.h"
#include "tests/support/folders.h"

/* Number of entries of a folder whose name contains `part` (NULL: all). */
size_t ts_test_count_files(const char *folder, const char *part);
/* All bytes of a file, or NULL where there is none; free them. */
unsigned char *ts_test_read_file(const char *path, size_t *bytes);

/* An image of this shape with smooth and noisy values, NaN among floats. Data is malloc'ed. */
struct ts_image ts_test_output_image(int rank, const int64_t *n, enum ts_dtype dtype,
                                     uint64_t seed);

/* Two images in an NXentry, texts, tables, written slab by slab. The same content for every slab
 * and options. */
struct output_content {
    struct ts_image first, second;
};
struct output_content ts_test_content(int64_t nz, int64_t ny, int64_t nx);
void ts_test_content_clear(struct output_content *content);
enum ts_status ts_test_write_output(const char *path, const struct hdf5_options *options,
                                    const struct output_content *content, int64_t slab,
                                    struct ts_diag *diag);
/* Return true where any record of the diag has this code, or this text in its message. */
bool ts_test_has_code(const struct ts_diag *diag, const char *code);
bool ts_test_has_text(const struct ts_diag *diag, const char *text);

#endif
