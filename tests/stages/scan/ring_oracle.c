/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/stages/scan/ring_oracle.h"

#include <math.h>
#include <stdlib.h>

#include "stages/scan/ring.h"
#include "stages/scan/wavelets.h"
#include "tests/stages/values/border_oracle.h"

struct place {
    double value;
    int64_t view;
};

static int by_value(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    return (x->view > y->view) - (x->view < y->view);
}

static void sort_slice(int64_t views, int64_t detectors, int64_t size, const double *in,
                       double *out)
{
    struct place *columns = malloc((size_t)(views * detectors) * sizeof *columns);
    struct place *window = malloc((size_t)size * sizeof *window);
    for (int64_t d = 0; d < detectors; d++) {
        for (int64_t view = 0; view < views; view++)
            columns[d * views + view] = (struct place){in[view * detectors + d], view};
        qsort(columns + d * views, (size_t)views, sizeof *columns, by_value);
    }
    for (int64_t d = 0; d < detectors; d++)
        for (int64_t rank = 0; rank < views; rank++) {
            for (int64_t i = 0; i < size; i++)
                window[i] =
                    columns[ts_border_oracle(d - size / 2 + i, detectors, BORDER_REFLECT) * views +
                            rank];
            qsort(window, (size_t)size, sizeof *window, by_value);
            out[columns[d * views + rank].view * detectors + d] = window[size / 2].value;
        }
    free(columns);
    free(window);
}

/* ---- Muench: whole two-dimensional transforms, frequency by frequency ------------------------ */

struct plane {
    int64_t rows, columns;
    double *values;
};

static struct plane new_plane(int64_t rows, int64_t columns)
{
    return (struct plane){rows, columns, calloc((size_t)(rows * columns), sizeof(double))};
}

/* Returns value k of what a filter makes of a line: every second value of the convolution with the
 * reflected line. */
static double down(const double *in, int64_t n, int64_t step, const double *filter, int length,
                   int64_t k)
{
    double sum = 0;
    for (int j = 0; j < length; j++)
        sum += filter[j] * in[ts_border_oracle(2 * k + 1 - j, n, BORDER_REFLECT) * step];
    return sum;
}

static struct plane down_both(const struct plane *in, const double *along_rows,
                              const double *along_columns, int length)
{
    struct plane half = new_plane((in->rows + length - 1) / 2, in->columns);
    struct plane out = new_plane(half.rows, (in->columns + length - 1) / 2);
    for (int64_t row = 0; row < half.rows; row++)
        for (int64_t column = 0; column < half.columns; column++)
            half.values[row * half.columns + column] =
                down(in->values + column, in->rows, in->columns, along_columns, length, row);
    for (int64_t row = 0; row < out.rows; row++)
        for (int64_t column = 0; column < out.columns; column++)
            out.values[row * out.columns + column] =
                down(half.values + row * half.columns, half.columns, 1, along_rows, length, column);
    free(half.values);
    return out;
}

/* Adds the plane made again from one of its four parts: zeros between the values, then the
 * filter. */
static void add_up(const struct plane *part, const double *along_rows, const double *along_columns,
                   int length, struct plane *out)
{
    struct plane wide = new_plane(part->rows, out->columns);
    for (int64_t row = 0; row < part->rows; row++)
        for (int64_t x = 0; x < out->columns; x++)
            for (int64_t k = 0; k < part->columns; k++) {
                const int64_t tap = x + length - 2 - 2 * k;
                if (tap >= 0 && tap < length)
                    wide.values[row * wide.columns + x] +=
                        along_rows[tap] * part->values[row * part->columns + k];
            }
    for (int64_t y = 0; y < out->rows; y++)
        for (int64_t k = 0; k < part->rows; k++) {
            const int64_t tap = y + length - 2 - 2 * k;
            for (int64_t x = 0; tap >= 0 && tap < length && x < out->columns; x++)
                out->values[y * out->columns + x] +=
                    along_columns[tap] * wide.values[k * wide.columns + x];
        }
    free(wide.values);
}

/* Every frequency of every column by the definition of the discrete Fourier transform. */
static void damp(struct plane *part, double sigma)
{
    const double pi = 3.14159265358979323846;
    const int64_t n = part->rows;
    double *damped = malloc((size_t)n * sizeof *damped);
    for (int64_t column = 0; column < part->columns; column++) {
        for (int64_t i = 0; i < n; i++)
            damped[i] = 0;
        for (int64_t f = 0; f < n; f++) {
            const double k = (double)(2 * f <= n ? f : f - n),
                         factor = 1 - exp(-k * k / (2 * sigma * sigma));
            double real = 0, imaginary = 0;
            for (int64_t i = 0; i < n; i++) {
                const double angle = 2 * pi * (double)(f * i % n) / (double)n;
                real += part->values[i * part->columns + column] * cos(angle);
                imaginary -= part->values[i * part->columns + column] * sin(angle);
            }
            for (int64_t i = 0; i < n; i++) {
                const double angle = 2 * pi * (double)(f * i % n) / (double)n;
                damped[i] += factor * (real * cos(angle) - imaginary * sin(angle)) / (double)n;
            }
        }
        for (int64_t i = 0; i < n; i++)
            part->values[i * part->columns + column] = damped[i];
    }
    free(damped);
}

/* Replaces the plane by itself without its stripes. */
static void remove_stripes(struct plane *image, const struct ring_params *params,
                           const double filters[4][WAVELET_LONGEST], int64_t level)
{
    const int length = ts_wavelets[params->wavelet].length;
    if (level == 0)
        return;
    struct plane parts[4];
    for (int i = 0; i < 4; i++) /* bit 0: high along rows; bit 1: high along columns */
        parts[i] = down_both(image, filters[i & 1], filters[i >> 1], length);
    damp(&parts[1], params->sigma);
    remove_stripes(&parts[0], params, filters, level - 1);
    for (int64_t i = 0; i < image->rows * image->columns; i++)
        image->values[i] = 0;
    for (int i = 0; i < 4; i++) {
        add_up(&parts[i], filters[2 + (i & 1)], filters[2 + (i >> 1)], length, image);
        free(parts[i].values);
    }
}

static void wavelet_slice(int64_t views, int64_t detectors, const struct ring_params *params,
                          const double *in, double *out)
{
    const struct wavelet *wavelet = &ts_wavelets[params->wavelet];
    double filters[4][WAVELET_LONGEST]; /* low and high of the analysis, then of the synthesis */
    struct plane image = new_plane(views, detectors);
    for (int i = 0; i < wavelet->length; i++) {
        filters[2][i] = wavelet->scaling[i];
        filters[0][i] = wavelet->scaling[wavelet->length - 1 - i];
        filters[1][i] = (i % 2 ? 1 : -1) * wavelet->scaling[i];
        filters[3][wavelet->length - 1 - i] = filters[1][i];
    }
    for (int64_t i = 0; i < views * detectors; i++)
        image.values[i] = in[i];
    remove_stripes(&image, params, (const double(*)[WAVELET_LONGEST])filters, params->level);
    for (int64_t i = 0; i < views * detectors; i++)
        out[i] = image.values[i];
    free(image.values);
}

void ts_ring_oracle(const struct stage_context *context, const double *in, double *out)
{
    const struct ring_params *params = context->params;
    const int64_t views = context->in.axes[1].n, detectors = context->in.axes[2].n,
                  slice = views * detectors;
    for (int64_t z = 0; z < context->in.axes[0].n; z++)
        if (params->method == RING_SORTING)
            sort_slice(views, detectors, params->size, in + z * slice, out + z * slice);
        else
            wavelet_slice(views, detectors, params, in + z * slice, out + z * slice);
}
