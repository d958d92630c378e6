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
 * cycles a turn and k cycles a detector row. The lowest m and k = 0 are left out, and weights exp(-2 pi^2 f^2) stand
 * for smoothing by a Gaussian of one pixel.
 *
 * The phase of column k turns once in n / (2 k) trial centers. k = 1 must take part: without it k = 2, which is strong
 * in every small object, draws the minimum to the center's alias a quarter of the detector away as well.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "stages/geometry/view_angles.h"
#include "stages/scan/center_search.h"

enum { ABREAST = 8, LOWEST_COLUMN = 1, MOST_DROP = 20, FINE = 10 };

/* The confidence that white noise reaches, in units of one over the root of the number of values that take part; and of
 * one over that number, which matters where they are few. */
static const double noise_share = 1.2, noise_share_of_few = 4;

int64_t ts_center_half_turn(const struct ts_axis *views)
{
    const double arc = ts_view_degree(views, views->n - 1) - ts_view_degree(views, 0);
    return llround(180 / fabs(arc / (double)(views->n - 1)));
}

struct fft_shape ts_center_transform(int64_t half_turn, int64_t n_detectors)
{
    return (struct fft_shape){.rank = 2, .n = {2 * half_turn, n_detectors}, .batch = 1};
}

int64_t ts_center_trials(double search, double step)
{
    return 2 * (int64_t)floor(search / step) + 1;
}

/* Returns the lowest |m| of column k that lies outside of the wedge, and above what is left out. */
static int64_t first_row(int64_t half_turn, int64_t k)
{
    const int64_t quarter = half_turn / 4, drop = quarter < MOST_DROP ? quarter : MOST_DROP;
    const int64_t wedge = (int64_t)floor(M_PI * (double)k);
    return (wedge > drop ? wedge : drop) + 1;
}

/* Elements of one column: m = first .. half_turn - 1, and -half_turn .. -first. */
static int64_t column_count(int64_t half_turn, int64_t k)
{
    const int64_t first = first_row(half_turn, k);
    return first > half_turn ? 0 : 2 * (half_turn - first) + 1;
}

/* Elements of all columns, each padded to whole ABREAST. */
static int64_t element_count(int64_t half_turn, int64_t n_detectors)
{
    int64_t count = 0;
    for (int64_t k = LOWEST_COLUMN; k <= n_detectors / 2; k++)
        count += (column_count(half_turn, k) + ABREAST - 1) / ABREAST * ABREAST;
    return count;
}

/* Weighted values of the two halves, column by column. */
struct elements {
    float *a_re, *a_im, *b_re, *b_im;
    double weight, squares; /* sums of the weights and of their squares */
};

/* One search has these buffers. */
struct buffers {
    float *z; /* the image that is transformed, complex */
    void *work;
    struct elements elements;
};

static struct buffers lay_out(int64_t half_turn, int64_t n_detectors, struct memory_layout *layout)
{
    const struct fft_shape shape = ts_center_transform(half_turn, n_detectors);
    const size_t column = (size_t)element_count(half_turn, n_detectors) * sizeof(float);
    struct buffers buffers;
    buffers.z = ts_layout_add(layout, (size_t)ts_fft_count(&shape) * 2 * sizeof *buffers.z);
    buffers.work = ts_layout_add(layout, ts_fft_work_bytes(&shape));
    buffers.elements.a_re = ts_layout_add(layout, column);
    buffers.elements.a_im = ts_layout_add(layout, column);
    buffers.elements.b_re = ts_layout_add(layout, column);
    buffers.elements.b_im = ts_layout_add(layout, column);
    return buffers;
}

size_t ts_center_scratch_bytes(int64_t half_turn, int64_t n_detectors)
{
    struct memory_layout layout = {0};
    lay_out(half_turn, n_detectors, &layout);
    return layout.bytes;
}

/* Fills the image: the first half is the real part of its rows, the mirrored one the imaginary part of the others. */
static void fill(const struct center_search *search, int64_t half_turn, float *z)
{
    const int64_t n = search->n_detectors;
    memset(z, 0, (size_t)(2 * half_turn * n) * 2 * sizeof *z);
    for (int64_t view = 0; view < half_turn; view++)
        for (int64_t d = 0; d < n; d++) {
            z[2 * (view * n + d)] = search->p[view * n + d];
            z[2 * ((half_turn + view) * n + d) + 1] = search->p[view * n + n - 1 - d];
        }
}

static void find_elements(const struct center_search *search, int64_t half_turn, const float *z,
                          struct elements *elements)
{
    const int64_t n = search->n_detectors, rows = 2 * half_turn;
    int64_t at = 0;
    elements->weight = elements->squares = 0;
    for (int64_t k = LOWEST_COLUMN; k <= n / 2; k++) {
        const int64_t first = first_row(half_turn, k), count = column_count(half_turn, k);
        for (int64_t i = 0; i < count; i++, at++) {
            const int64_t m = first + i; /* rows above half_turn are the negative ones */
            const double f = (double)(m < half_turn ? m : m - rows) / (double)rows, g = (double)k / (double)n;
            const double weight = exp(-2 * M_PI * M_PI * (f * f + g * g));
            const float *here = &z[2 * (m * n + k)], *there = &z[2 * ((rows - m) % rows * n + (n - k) % n)];
            elements->a_re[at] = (float)(0.5 * weight * ((double)here[0] + (double)there[0]));
            elements->a_im[at] = (float)(0.5 * weight * ((double)here[1] - (double)there[1]));
            elements->b_re[at] = (float)(0.5 * weight * ((double)here[1] + (double)there[1]));
            elements->b_im[at] = (float)(0.5 * weight * ((double)there[0] - (double)here[0]));
            elements->weight += weight;
            elements->squares += weight * weight;
        }
        for (; at % ABREAST; at++)
            elements->a_re[at] = elements->a_im[at] = elements->b_re[at] = elements->b_im[at] = 0;
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

static double measure_of(const struct center_search *search, int64_t half_turn, const struct elements *elements,
                         double center)
{
    const double n = (double)search->n_detectors, shift = 2 * center - (n - 1);
    double sums[ABREAST] = {0}, sum = 0;
    int64_t at = 0;
    for (int64_t k = LOWEST_COLUMN; k <= search->n_detectors / 2; k++) {
        const int64_t count = (column_count(half_turn, k) + ABREAST - 1) / ABREAST * ABREAST;
        const double phase = -2 * M_PI * fmod((double)k * shift / n, 1);
        add_magnitudes(elements->a_re + at, elements->a_im + at, elements->b_re + at, elements->b_im + at, count,
                       (float)cos(phase), (float)sin(phase), sums);
        at += count;
    }
    for (int k = 0; k < ABREAST; k++)
        sum += sums[k];
    return sum / elements->weight;
}

struct center_found ts_center_by_sinogram(const struct center_search *search, const struct fft *fft, void *scratch,
                                          double *measure)
{
    const int64_t half_turn = ts_center_half_turn(search->views);
    struct memory_layout layout = {.base = scratch};
    struct buffers buffers = lay_out(half_turn, search->n_detectors, &layout);
    struct elements *elements = &buffers.elements;
    const int64_t n_trials = ts_center_trials(search->search, 1), half = n_trials / 2;
    const double middle = 0.5 * (double)(search->n_detectors - 1);
    double fine[2 * FINE + 1];
    int64_t best = 0, closest = 0;
    fill(search, half_turn, buffers.z);
    ts_fft_forward(fft, buffers.z, buffers.z, buffers.work);
    find_elements(search, half_turn, buffers.z, elements);
#pragma omp parallel for schedule(static) num_threads(search->threads)
    for (int64_t i = 0; i < n_trials; i++)
        measure[i] = measure_of(search, half_turn, elements, middle + (double)(i - half));
    for (int64_t i = 1; i < n_trials; i++)
        best = measure[i] < measure[best] ? i : best;
    const double near = middle + (double)(best - half);
#pragma omp parallel for schedule(static) num_threads(search->threads)
    for (int64_t i = 0; i <= 2 * FINE; i++)
        fine[i] = measure_of(search, half_turn, elements, near + (double)(i - FINE) / FINE);
    for (int64_t i = 1; i <= 2 * FINE; i++)
        closest = fine[i] < fine[closest] ? i : closest;
    const bool inside = closest > 0 && closest < 2 * FINE;
    const double more = inside ? ts_center_turning_point(fine[closest - 1], fine[closest], fine[closest + 1]) : 0;
    const double of_few = elements->squares / (elements->weight * elements->weight); /* 1 / their number, weighted */
    return (struct center_found){.center = near + ((double)(closest - FINE) + more) / FINE,
                                 .noise = noise_share * sqrt(of_few) + noise_share_of_few * of_few,
                                 .best = best};
}
