/* SPDX-License-Identifier: Apache-2.0
 *
 * This applies the filters of filtered backprojection along the rows of a sinogram.
 *
 * The ramp is the band-limited one of Ramachandran and Lakshminarayanan (1971), built from its
 * samples at a distance d (Kak and Slaney, 1988, section 3.3):
 *
 *     h[0] = 1 / (4 d d),   h[n] = 0 for even n,   h[n] = -1 / (pi pi n n d d) for odd n
 *     q[i] = d * sum over j of p[j] h[i - j]
 *
 * which, unlike |f| sampled along the frequencies, has no error in the mean of a row. Rows are
 * padded with zeros to at least 2 n - 1 samples, so that nothing wraps around, and multiplied in
 * the frequencies by the transform of h times a window W(u), u = the frequency as a fraction of
 * cutoff * Nyquist; beyond u = 1 all is 0.
 */
#ifndef STAGES_PROJECTION_ROW_FILTER_H
#define STAGES_PROJECTION_ROW_FILTER_H

#include "stages/engine/stage.h"
#include "stages/values/length_unit.h"

enum row_filter_name {
    ROW_FILTER_RAMP,
    ROW_FILTER_SHEPP_LOGAN,
    ROW_FILTER_COSINE,
    ROW_FILTER_HAMMING,
    ROW_FILTER_HANN,
    ROW_FILTER_PARZEN,
    ROW_FILTER_NONE
};
/* The names that users type. The first name of a filter is recorded; the others mean the same. */
extern const struct choice ts_row_filter_choices[];
/* The rows of `filter` and `cutoff` in the table of a stage. */
#define ROW_FILTER_PARAMS(type)                                                                    \
    PARAM(type, filter, .init.choice = ROW_FILTER_RAMP, .choices = ts_row_filter_choices,          \
          .unit = "", .doc = "the ramp and the window that damps its high frequencies"),           \
        PARAM(type, cutoff, .unit = "1", .init.r = 1, .min = 0.001, .max = 1,                      \
              .doc = "fraction of the Nyquist frequency from which on all is 0; windows reach "    \
                     "their end there")
/* Writes the unit of filtered rows. Without a filter the cutoff is marked idle. */
void ts_row_filter_resolve(const struct stage_context *context, int32_t name,
                           char unit[LENGTH_UNIT_BYTES]);

struct row_filter {
    int32_t name;
    double cutoff;  /* in (0, 1], as a fraction of Nyquist */
    double spacing; /* distance of the samples */
    int64_t n;      /* samples of a row */
    bool arc; /* the spacing is an angle in radian, and h[n] has sin(n * spacing) / spacing in place
               * of n */
};

/* Returns the samples of a padded row: the smallest power of two from 2 n - 1 on. */
int64_t ts_row_filter_padded(int64_t n);
/* Writes the factors of a padded row's spectrum at the frequencies 0 .. padded / 2. `response` has
 * room for padded + 2 numbers; the first padded / 2 + 1 are the result. Not for ROW_FILTER_NONE. */
void ts_row_filter_response(const struct row_filter *filter, double *response);
/* Writes the factors of a spectrum at the frequencies (f - 1/4) / m in cycles per sample, f = 0 ..
 * m - 1, for a power of two m >= n. If a row is transformed at these frequencies without zeros
 * behind it, multiplied and transformed back, its real part is the filtered row. The first m
 * numbers of `buffer` are the result; the other function returns the buffer's bytes. */
void ts_row_filter_quarter_response(const struct row_filter *filter, int64_t m, double *buffer);
size_t ts_row_filter_quarter_bytes(const struct row_filter *filter, int64_t m);

/* Return, for the CPU, the shape of context->transforms[0] and the bytes of scratch. */
struct fft_shape ts_row_filter_shape(const struct row_filter *filter);
size_t ts_row_filter_scratch(const struct row_filter *filter, int threads);
/* Filters every row of the slices into out, f32 in the same order. ROW_FILTER_NONE copies. */
void ts_row_filter_run(const struct stage_context *context, const struct row_filter *filter,
                       const struct ts_image *in, float *out, void *scratch);

#endif
