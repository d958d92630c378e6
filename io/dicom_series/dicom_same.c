/* SPDX-License-Identifier: Apache-2.0
 *
 * Comparing bytes is cheap and settles most copies. Values are compared by the digests that the reading of slices makes
 * anyway: the pairs become the slices of a source for this purpose, which decodes them as it would for a run.
 */
#include "io/dicom_series/dicom_same.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/dicom_frames/dicom_source.h"

/* Returns how many bytes store an image's frame, and where they begin. Of a deflated data set, only all of it can be
 * compared without inflating it. */
static int64_t bytes_of(const struct dicom_image *image, int64_t *offset)
{
    const struct dicom_file *file = image->file;
    if (dicom_is_compressed(file->syntax)) {
        *offset = file->streams[image->frame].offset;
        return file->streams[image->frame].bytes;
    }
    const bool deflated = file->syntax == DICOM_DEFLATED_LE;
    *offset = deflated ? file->deflate_offset : ts_dicom_frame_offset(image);
    return deflated ? file->file_bytes - file->deflate_offset : ts_dicom_frame_bytes(file);
}

/* Returns true where the same bytes are the same values. */
static bool same_cells(const struct dicom_file *a, const struct dicom_file *b)
{
    return a->bits_allocated == b->bits_allocated && a->bits_stored == b->bits_stored && a->high_bit == b->high_bit &&
           a->pixel_representation == b->pixel_representation;
}

bool ts_dicom_same_bytes(const struct dicom_image *a, const struct dicom_image *b, int *error)
{
    const struct dicom_image *images[] = {a, b};
    int64_t offsets[2];
    const int64_t n_bytes = bytes_of(a, &offsets[0]);
    bool same = bytes_of(b, &offsets[1]) == n_bytes && !strcmp(a->file->syntax_uid, b->file->syntax_uid) &&
                a->file->words == b->file->words && same_cells(a->file, b->file);
    int fds[2] = {-1, -1};
    char bytes[2][8192];
    *error = 0;
    for (int i = 0; i < 2 && *error == 0; i++) {
        fds[i] = open(images[i]->file->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        *error = fds[i] < 0 ? errno : 0;
    }
    for (int64_t done = 0; same && *error == 0 && done < n_bytes;) {
        int64_t left = n_bytes - done;
        size_t n = left < (int64_t)sizeof bytes[0] ? (size_t)left : sizeof bytes[0];
        for (int i = 0; i < 2 && *error == 0; i++) {
            ssize_t got = pread(fds[i], bytes[i], n, offsets[i] + done);
            *error = got < 0 ? errno : 0;
            same = same && got == (ssize_t)n;
        }
        same = same && *error == 0 && memcmp(bytes[0], bytes[1], n) == 0;
        done += (int64_t)n;
    }
    for (int i = 0; i < 2; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    return same && *error == 0;
}

bool ts_dicom_may_be_same(const struct dicom_image *a, const struct dicom_image *b)
{
    const struct dicom_file *first = a->file, *second = b->file;
    const bool encoded = dicom_is_compressed(first->syntax) || first->syntax == DICOM_DEFLATED_LE;
    return first->bits_allocated == second->bits_allocated && first->float_bits == second->float_bits &&
           first->pixel_representation == second->pixel_representation &&
           (encoded || strcmp(first->syntax_uid, second->syntax_uid) != 0 || first->words != second->words ||
            !same_cells(first, second));
}

/* Reads pair by pair and compares the digests. */
static size_t compare_pairs(struct dicom_source *source, size_t n, void *values)
{
    struct ts_diag *diag = ts_diag_create();
    const bool native = ts_dicom_is_native(source);
    size_t k = 0;
    for (bool same = diag != NULL; same && k < n; k += same) {
        const struct source_slice *slices = &source->base.slices[2 * k];
        const int64_t z = (int64_t)(2 * k);
        const enum ts_status status = native ? ts_dicom_native_read(&source->base, z, 2, values, diag)
                                             : ts_dicom_ring_read(&source->base, z, 2, values, diag);
        same = status == TS_OK && strcmp(slices[0].pixel_sha256, slices[1].pixel_sha256) == 0;
    }
    ts_dicom_ring_end(source);
    ts_dicom_native_end(source);
    ts_diag_destroy(diag);
    return k;
}

size_t ts_dicom_find_different(struct dicom_image *const *pairs, size_t n)
{
    struct source_slice *slices = calloc(2 * n, sizeof *slices);
    struct dicom_frame *frames = calloc(2 * n, sizeof *frames);
    const struct ts_image image = {.rank = 3,
                                   .axes = {{.kind = TS_AXIS_Z, .n = (int64_t)(2 * n)},
                                            {.kind = TS_AXIS_Y, .n = pairs[0]->rows},
                                            {.kind = TS_AXIS_X, .n = pairs[0]->columns}},
                                   .dtype = TS_F32};
    void *values = malloc(2 * ts_slice_bytes(&image));
    size_t found = 0;
    if (slices && frames && values) {
        struct dicom_source source = {
            .base = {.image = image, .n_slices = (int64_t)(2 * n), .n_volumes = 1, .slices = slices}, .frames = frames};
        for (size_t i = 0; i < 2 * n; i++) {
            const size_t bytes = (size_t)ts_dicom_frame_bytes(pairs[i]->file);
            frames[i] = (struct dicom_frame){.image = pairs[i], .cells = ts_dicom_cells(pairs[i]->file), .slope = 1};
            source.cell_bytes = bytes > source.cell_bytes ? bytes : source.cell_bytes;
        }
        found = compare_pairs(&source, n, values);
    }
    free(slices);
    free(frames);
    free(values);
    return found;
}
