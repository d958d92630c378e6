/* SPDX-License-Identifier: Apache-2.0
 *
 * A filter runs over a masked image as over any other first, and then the pixels whose window holds
 * an invalid one are computed again here. They lie near the edges of the padding and are few. The
 * columns of the window are looked at row by row: how many of their pixels are invalid changes only
 * where a row that enters differs from the one that leaves. So a row costs a few operations on
 * words of 64 pixels, whatever the radius. An invalid pixel keeps its value.
 */
#ifndef STAGES_FILTERS_MASKED_MEND_H
#define STAGES_FILTERS_MASKED_MEND_H

#include "stages/engine/stage.h"

/* A filter has this window along z, y and x. */
struct masked_window {
    int64_t radius[3];
    const float *weights[3]; /* 2 radius + 1 of each axis; NULL: all are 1 */
    enum ts_border border;
    double constant; /* value of pixels outside with BORDER_CONSTANT, which count as valid */
};

/* This is row y of output slice z. */
struct masked_row {
    int64_t z, y;
    void *out;              /* its pixels */
    const int32_t *missing; /* the invalid pixels in each column of the window around the row,
                               without its border */
};

/* These are the window of a filter and how it computes a pixel of a masked image. */
struct masked_mend {
    int64_t radius[3]; /* of the window, along z, y and x */
    enum ts_border border;
    /* Writes pixels [first, end) of a row, which are valid and have an invalid pixel in their
     * window. `own` is a thread's scratch of own_bytes, which is 0 at the start. */
    void (*pixels)(const void *job, const struct masked_row *row, int64_t first, int64_t end,
                   void *own);
    const void *job;
    size_t own_bytes;
    int64_t gap; /* stretches that are so near are handed over as one; what was written between them
                  * is left, but for invalid pixels, which get their values afterwards */
};

/* Returns the bytes of scratch of ts_masked_mend. */
size_t ts_masked_mend_bytes(const struct stage_context *context, const struct masked_mend *mend);
/* Mends the slices of `out`. `in` has radius[0] more slices at both ends, with its bits. */
void ts_masked_mend(const struct stage_context *context, const struct masked_mend *mend,
                    const struct ts_image *in, struct ts_image *out, void *scratch);

/* A filter that keeps numbers of its own for the row it is at, such as the sums of its windows,
 * mends each row as soon as it is written. This is one thread's way down the rows. */
struct masked_rows {
    const struct masked_mend *mend;
    const struct ts_image *in;
    struct ts_image *out;
    int64_t ny, nx, words; /* words: of a row with its border, and one more */
    int32_t *missing;
    int64_t holes; /* columns of the window that hold an invalid pixel */
    uint64_t *full, *whole, *valid;
    int64_t *outside; /* the columns that stand for the border's, on the left and then on the right;
                         -1: valid */
    void *own;
};

/* Returns the bytes of a thread's scratch of ts_masked_rows_begin. */
size_t ts_masked_rows_bytes(const struct stage_context *context, const struct masked_mend *mend);
/* Begins with the same images as ts_masked_mend. */
struct masked_rows ts_masked_rows_begin(const struct masked_mend *mend, const struct ts_image *in,
                                        struct ts_image *out, void *scratch);
/* Mends row y of output slice z. Unless it is the first, or `first` is set, the row above was the
 * one before. */
void ts_masked_rows_mend(struct masked_rows *rows, int64_t z, int64_t y, bool first);

#endif
