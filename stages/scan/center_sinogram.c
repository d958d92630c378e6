/* SPDX-License-Identifier: Apache-2.0
 *
 * N. T. Vo, M. Drakopoulos, R. C. Atwood, C. Reinhard, "Reliable method for calculating the center of rotation in
 * parallel-beam tomography", Optics Express 22 (2014).
 *
 * The measure is the mean magnitude outside of the double wedge of the transform of a full turn whose second half is
 * the first one, mirrored and moved by 2 c - (n - 1): the transform of a real full turn is almost empty there. It is
 * linear and moving is a phase: with A the transform of the first half and B that of the mirrored one, the measure is
 * the mean of |A + B exp(-2 pi i k shift / n)|. So both are transformed once, as the real and imaginary part of one
 * image, and any center, between pixels too, costs one sum over the elements outside of the wedge: |m| > pi k for m
 * cycles a turn and k cycles a detector row. |m| <= 2 and k = 0 are left out, and weights exp(-2 pi^2 f^2) stand for
 * smoothing by a Gaussian of one pixel. The paper leaves |m| <= 20 out, for stripes, which are removed before
 * (center_clean.c); these rows tell the most under noise.
 *
 * The phase of column k turns once in n / (2 k) trial centers. k = 1 must take part: without it k = 2, which is strong
 * in every small object, draws the minimum to the center's alias a quarter of the detector away as well.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "stages/scan/center_search.h"

enum { ABREAST = 8, MOST_DROP = 2, FINE = 10 };

/* The confidence that white noise reaches, in units of one over the root of the number of values that take part; and of
 * one over that number, which matters where they are few. */
static const double noise_share = 1.2, noise_share_of_few = 4;

struct fft_shape ts_center_transform(int64_t half_turn, int64_t n_detectors)
{
    return (struct fft_shape){.rank = 2, .n = {2 * half_turn, n_detectors}, .batch = 1};
}

int64_t ts_center_trials(double search, double step)
{
    return 2 * (int64_t)floor(search / step) + 1;
}

/* Returns the lowest |m| of column k that lies outside of the wedge, and above what is left out. */
int64_t ts_center_first_row(int64_t half_turn, int64_t k)
{
    const int64_t quarter = half_turn / 4, drop = quarter < MOST_DROP ? quarter : MOST_DROP;
    const int64_t wedge = (int64_t)floor(M_PI * (double)k);
    return (wedge > drop ? wedge : drop) + 1;
}

/* Elements of one column: m = first .. half_turn - 1, and -half_turn .. -first. */
int64_t ts_center_column_count(int64_t half_turn, int64_t k)
{
    const int64_t first = ts_center_first_row(half_turn, k);
    return first > half_turn ? 0 : 2 * (half_turn - first) + 1;
}

int64_t ts_center_padded(int64_t count)
{
    return (count + ABREAST - 1) / ABREAST * ABREAST;
}

static int64_t element_count(int64_t half_turn, int64_t n_detectors)
{
    int64_t count = 0;
    for (int64_t k = CENTER_LOWEST_COLUMN; k <= n_detectors / 2; k++)
        count += ts_center_padded(ts_center_column_count(half_turn, k));
    return count;
}

static struct center_buffers lay_out(int64_t half_turn, int64_t n_detectors, struct memory_layout *layout)
{
    const struct fft_shape shape = ts_center_transform(half_turn, n_detectors);
    const size_t count = (size_t)element_count(half_turn, n_detectors), column = count * sizeof(float);
    struct center_buffers buffers = {0};
    buffers.z = ts_layout_add(layout, (size_t)ts_fft_count(&shape) * 2 * sizeof *buffers.z);
    buffers.work = ts_layout_add(layout, ts_fft_work_bytes(&shape));
    buffers.window = ts_layout_add(layout, (size_t)n_detectors * sizeof *buffers.window);
    buffers.weight = ts_layout_add(layout, (size_t)(2 * half_turn) * sizeof *buffers.weight);
    buffers.slope = ts_layout_add(layout, (size_t)(2 * half_turn) * sizeof *buffers.slope);
    buffers.elements.a_re = ts_layout_add(layout, column);
    buffers.elements.a_im = ts_layout_add(layout, column);
    buffers.elements.b_re = ts_layout_add(layout, column);
    buffers.elements.b_im = ts_layout_add(layout, column);
    buffers.elements.cell = ts_layout_add(layout, count * sizeof *buffers.elements.cell);
    return buffers;
}

size_t ts_center_scratch_bytes(int64_t half_turn, int64_t n_detectors)
{
    struct memory_layout layout = {0};
    lay_out(half_turn, n_detectors, &layout);
    return layout.bytes;
}

struct center_buffers ts_center_buffers(const struct center_half *half, const struct fft *fft, void *scratch)
{
    struct memory_layout layout = {.base = scratch};
    struct center_buffers buffers = lay_out(half->n_views, half->n_detectors, &layout);
    buffers.half = *half;
    buffers.fft = fft;
    for (int64_t m = 0; m < 2 * half->n_views; m++) {
        const double f = (double)(m < half->n_views ? m : m - 2 * half->n_views) / (double)(2 * half->n_views);
        buffers.weight[m] = exp(-2 * M_PI * M_PI * f * f);
        buffers.slope[m] = 1 / tan(M_PI * f);
    }
    return buffers;
}

/* Fills the image: the first half is the real part of its rows, the mirrored one the imaginary part of the others. */
static void fill(const struct center_half *half, const double *window, float *z)
{
    const int64_t n = half->n_detectors;
    memset(z, 0, (size_t)(2 * half->n_views * n) * 2 * sizeof *z);
    for (int64_t view = 0; view < half->n_views; view++)
        for (int64_t d = 0; d < n; d++) {
            const float p = half->p[view * n + d];
            const float value = window ? (float)((double)p * window[d]) : p;
            z[2 * (view * n + d)] = value;
            z[2 * ((half->n_views + view) * n + n - 1 - d) + 1] = value;
        }
}

void ts_center_find_elements(const struct center_buffers *buffers, const double *window, struct center_elements *out)
{
    const int64_t n = buffers->half.n_detectors, half_turn = buffers->half.n_views, rows = 2 * half_turn;
    const float *z = buffers->z;
    int64_t at = 0;
    fill(&buffers->half, window, buffers->z);
    ts_fft_forward(buffers->fft, buffers->z, buffers->z, buffers->work);
    out->weight = out->squares = 0;
    for (int64_t k = CENTER_LOWEST_COLUMN; k <= n / 2; k++) {
        const int64_t first = ts_center_first_row(half_turn, k), count = ts_center_column_count(half_turn, k);
        const double g = (double)k / (double)n, column = exp(-2 * M_PI * M_PI * g * g);
        for (int64_t i = 0; i < count; i++, at++) {
            const int64_t m = first + i; /* rows above half_turn are the negative ones */
            const double weight = column * buffers->weight[m];
            const float *here = &z[2 * (m * n + k)], *there = &z[2 * ((rows - m) % rows * n + (n - k) % n)];
            out->a_re[at] = (float)(0.5 * weight * ((double)here[0] + (double)there[0]));
            out->a_im[at] = (float)(0.5 * weight * ((double)here[1] - (double)there[1]));
            out->b_re[at] = (float)(0.5 * weight * ((double)here[1] + (double)there[1]));
            out->b_im[at] = (float)(0.5 * weight * ((double)there[0] - (double)here[0]));
            out->weight += weight;
            out->squares += weight * weight;
        }
        for (; at % ABREAST; at++)
            out->a_re[at] = out->a_im[at] = out->b_re[at] = out->b_im[at] = 0;
    }
}

TS_VECTORIZED static void add_magnitudes(const float *a_re, const float *a_im, const float *b_re, const float *b_im,
                                         int64_t n, float c, float s, double *sums)
{
    for (int64_t i = 0; i < n; i += ABREAST)
        for (int k = 0; k < ABREAST; k++) {
            const float re = a_re[i + k] + (b_re[i + k] * c - b_im[i + k] * s);
            const float im = a_im[i + k] + (b_re[i + k] * s + b_im[i + k] * c);
            sums[k] += (double)sqrtf(re * re + im * im);
        }
}

static double measure_of(const struct center_buffers *buffers, double center)
{
    const struct center_elements *elements = &buffers->elements;
    const int64_t half_turn = buffers->half.n_views;
    const double n = (double)buffers->half.n_detectors, shift = 2 * center - (n - 1);
    double sums[ABREAST] = {0}, sum = 0;
    int64_t at = 0;
    for (int64_t k = CENTER_LOWEST_COLUMN; k <= buffers->half.n_detectors / 2; k++) {
        const int64_t count = ts_center_padded(ts_center_column_count(half_turn, k));
        const double phase = -2 * M_PI * fmod((double)k * shift / n, 1);
        add_magnitudes(elements->a_re + at, elements->a_im + at, elements->b_re + at, elements->b_im + at, count,
                       (float)cos(phase), (float)sin(phase), sums);
        at += count;
    }
    for (int k = 0; k < ABREAST; k++)
        sum += sums[k];
    return sum / elements->weight;
}

struct center_found ts_center_by_sinogram(const struct center_search *search, struct center_buffers *buffers,
                                          double *measure)
{
    struct center_elements *elements = &buffers->elements;
    const int64_t n_trials = ts_center_trials(search->search, 1), half = n_trials / 2;
    const double middle = 0.5 * (double)(search->n_detectors - 1);
    double fine[2 * FINE + 1];
    int64_t best = 0, closest = 0;
    ts_center_find_elements(buffers, NULL, elements);
#pragma omp parallel for schedule(static) num_threads(search->threads)
    for (int64_t i = 0; i < n_trials; i++)
        measure[i] = measure_of(buffers, middle + (double)(i - half));
    for (int64_t i = 1; i < n_trials; i++)
        best = measure[i] < measure[best] ? i : best;
    const double near = middle + (double)(best - half);
#pragma omp parallel for schedule(static) num_threads(search->threads)
    for (int64_t i = 0; i <= 2 * FINE; i++)
        fine[i] = measure_of(buffers, near + (double)(i - FINE) / FINE);
    for (int64_t i = 1; i <= 2 * FINE; i++)
        closest = fine[i] < fine[closest] ? i : closest;
    const bool inside = closest > 0 && closest < 2 * FINE;
    const double more = inside ? ts_center_turning_point(fine[closest - 1], fine[closest], fine[closest + 1]) : 0;
    const double of_few = elements->squares / (elements->weight * elements->weight); /* 1 / their number, weighted */
    return (struct center_found){.center = near + ((double)(closest - FINE) + more) / FINE,
                                 .noise = noise_share * sqrt(of_few) + noise_share_of_few * of_few,
                                 .best = best};
}
