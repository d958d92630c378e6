/* SPDX-License-Identifier: Apache-2.0
 *
 * This handles images that come twice: copies of one instance, of which one is kept, and different images at one
 * position, with which a series is no volume. Files of one SOP Instance UID should be equal; their pixels are read and
 * compared all the same, because tools that change images do not always change the UID.
 */
#include "io/dicom_series/dicom_repeats.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/path.h"

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

/* Returns true where the frames of both images hold the same bytes, read anew. Where one cannot be read *error is the
 * errno. */
static bool same_pixels(const struct dicom_image *a, const struct dicom_image *b, int *error)
{
    const struct dicom_image *images[] = {a, b};
    int64_t offsets[2];
    const int64_t n_bytes = bytes_of(a, &offsets[0]);
    bool same = bytes_of(b, &offsets[1]) == n_bytes && !strcmp(a->file->syntax_uid, b->file->syntax_uid);
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

static bool same_instance(const struct dicom_image *a, const struct dicom_image *b)
{
    return *a->file->sop_instance && !strcmp(a->file->sop_instance, b->file->sop_instance) && a->frame == b->frame &&
           a->tile == b->tile;
}

void ts_dicom_drop_duplicates(struct dicom_series *series)
{
    size_t kept = 0;
    for (size_t i = 0; i < series->n_images; i++) {
        struct dicom_image *image = series->images[i], *before = kept > 0 ? series->images[kept - 1] : NULL;
        if (before && same_instance(image, before)) {
            int error = 0;
            bool same = !memcmp(image->position_mm, before->position_mm, sizeof image->position_mm) &&
                        image->slope == before->slope && image->intercept == before->intercept &&
                        same_pixels(image, before, &error);
            if (error != 0) {
                ts_dicom_series_refuse(series, "input-unreadable", "check the files and their permissions",
                                       "cannot compare the pixels of %s and %s, of one SOP Instance UID: %s",
                                       ts_base_name(before->file->path), ts_base_name(image->file->path),
                                       strerror(error));
                return;
            }
            if (!same) {
                ts_dicom_series_refuse(series, "duplicate-differs", "remove the one that is wrong",
                                       "%s and %s have one SOP Instance UID but different content",
                                       ts_base_name(before->file->path), ts_base_name(image->file->path));
                return;
            }
            series->n_duplicates++;
            continue;
        }
        series->images[kept++] = image;
    }
    series->n_images = kept;
    if (series->n_duplicates > 0)
        ts_dicom_series_warn(series, "%zu identical %s dropped", series->n_duplicates,
                             series->n_duplicates == 1 ? "copy of a slice was" : "copies of slices were");
}

static bool all_same_pixels(struct dicom_image *const *images, size_t n)
{
    const struct dicom_image *first = images[0];
    int error;
    for (size_t i = 1; i < n; i++) {
        const struct dicom_image *image = images[i];
        if (image->slope != first->slope || image->intercept != first->intercept || !same_pixels(image, first, &error))
            return false;
    }
    return true;
}

/* Names the element in which images at one position differ, for the hint. */
static const char *name_difference(struct dicom_image *const *images, size_t n)
{
    const struct dicom_image *first = images[0];
    const char *difference = "neither time, acquisition, kind nor Instance Number tells them apart";
    const char *by_number = "they differ in Instance Number alone, as time points often do";
    bool named = false;
    for (size_t i = 1; i < n; i++) {
        const struct dicom_image *image = images[i];
        if (image->temporal_position != first->temporal_position && !isnan(image->temporal_position))
            return "they differ in Temporal Position Identifier: a time series";
        if (image->b_value != first->b_value && !isnan(image->b_value))
            return "they differ in the diffusion b-value: a diffusion series";
        if (image->acquisition_number != first->acquisition_number && !isnan(image->acquisition_number)) {
            difference = "they differ in Acquisition Number: several acquisitions, often time points or directions";
            named = true;
        } else if (strcmp(image->file->image_type, first->file->image_type)) {
            difference = "they differ in Image Type: several kinds of images";
            named = true;
        } else if (!named && image->instance_number != first->instance_number && !isnan(image->instance_number)) {
            difference = by_number;
        }
    }
    return difference;
}

/* An image without Instance Number comes after those that have one. */
static bool comes_before(const struct dicom_image *a, const struct dicom_image *b)
{
    const double first = isnan(a->instance_number) ? INFINITY : a->instance_number;
    const double second = isnan(b->instance_number) ? INFINITY : b->instance_number;
    return first < second || (first == second && ts_dicom_compare_images(a, b) < 0);
}

void ts_dicom_keep_first(struct dicom_series *series)
{
    struct dicom_image *const *images = series->images;
    const size_t n = series->n_images;
    bool *left = ts_arena_alloc(series->arena, n * sizeof *left);
    series->no_memory |= !left;
    if (!left)
        return;
    for (size_t first = 0, best = 0, i = 0; i < n; i++) {
        const bool next = i == 0 || images[i]->along_mm - images[first]->along_mm > DICOM_SAME_POSITION_MM;
        left[best] = !next && comes_before(images[i], images[best]);
        first = next ? i : first;
        left[i] = !next && !left[best];
        best = left[i] ? best : i;
    }
    ts_dicom_series_leave_out(series, left);
    if (series->n_images < n)
        ts_dicom_series_warn(series, "of images at one position the first is taken; %zu of %zu images are left out",
                             n - series->n_images, n);
}

void ts_dicom_refuse_repeats(struct dicom_series *series)
{
    struct dicom_image *const *images = series->images;
    size_t n = series->n_images, positions = n > 0, repeated = 0, first = 0;
    for (size_t i = 1; i < n; i++)
        if (images[i]->along_mm - images[i - 1]->along_mm > DICOM_SAME_POSITION_MM)
            positions++;
        else if (repeated++ == 0)
            first = i - 1;
    size_t same = 2;
    while (first + same < n && images[first + same]->along_mm - images[first]->along_mm <= DICOM_SAME_POSITION_MM)
        same++;
    const bool copies = all_same_pixels(images + first, same);
    const char *hint =
        copies ? "remove all but one of the copies"
               : ts_arena_printf(series->arena, "%s; put the files of one of them into a folder of their own",
                                 name_difference(images + first, same));
    if (copies) {
        ts_dicom_series_refuse(
            series, "position-repeated", hint,
            "the same pixels %zu times under different SOP Instance UIDs at %.3f mm along the normal "
            "(%s, %s)",
            same, images[first]->along_mm, ts_base_name(images[first]->file->path),
            ts_base_name(images[first + 1]->file->path));
    } else if (positions == 1) {
        ts_dicom_series_refuse(series, "position-repeated", hint,
                               "all %zu images lie at one position, %.3f mm along the normal: not a volume", n,
                               images[0]->along_mm);
    } else {
        ts_dicom_series_refuse(series, "position-repeated", hint,
                               "%zu different images at %.3f mm along the normal (%s, %s); %zu images at %zu positions",
                               same, images[first]->along_mm, ts_base_name(images[first]->file->path),
                               ts_base_name(images[first + 1]->file->path), n, positions);
    }
}
