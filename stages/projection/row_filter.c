/* SPDX-License-Identifier: Apache-2.0
 *
 * The response of each filter is computed in double from the kernel's samples, by the transform in
 * this file, because those of the library have single precision. It is made once a run. On the CPU
 * each row is a task: it is padded, transformed, multiplied and transformed back.
 */
#include "stages/projection/row_filter.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#include "core/memory.h"

const struct choice ts_row_filter_choices[] = {
    {"ramp", ROW_FILTER_RAMP,
     "the band-limited ramp (Ramachandran and Lakshminarayanan, 1971): sharpest, noisiest"},
    {"shepp-logan", ROW_FILTER_SHEPP_LOGAN,
     "ramp times sin(pi u / 2) / (pi u / 2) (Shepp and Logan, 1974)"},
    {"cosine", ROW_FILTER_COSINE, "ramp times cos(pi u / 2)"},
    {"hamming", ROW_FILTER_HAMMING, "ramp times 0.54 + 0.46 cos(pi u)"},
    {"hann", ROW_FILTER_HANN, "ramp times (1 + cos(pi u)) / 2"},
    {"parzen", ROW_FILTER_PARZEN,
     "ramp times 1 - 6 u u (1 - u) up to u = 1/2, 2 (1 - u)^3 beyond: smoothest (Parzen, 1961)"},
    {"none", ROW_FILTER_NONE, "no filter: rows stay as they are, and cutoff plays no part"},
    {"ram-lak", ROW_FILTER_RAMP, "= ramp", .alias = true},
    {"ram_lak", ROW_FILTER_RAMP, "= ramp", .alias = true},
    {"ramlak", ROW_FILTER_RAMP, "= ramp", .alias = true},
    {"ramachandran-lakshminarayanan", ROW_FILTER_RAMP, "= ramp", .alias = true},
    {"shepp", ROW_FILTER_SHEPP_LOGAN, "= shepp-logan", .alias = true},
    {"shepp_logan", ROW_FILTER_SHEPP_LOGAN, "= shepp-logan", .alias = true},
    {"hanning", ROW_FILTER_HANN, "= hann", .alias = true},
    {0},
};

void ts_row_filter_resolve(const struct stage_context *context, int32_t name,
                           char unit[LENGTH_UNIT_BYTES])
{
    const struct ts_image *in = &context->in;
    if (name != ROW_FILTER_NONE) {
        ts_unit_per_length(in->unit, in->axes[2].unit, unit);
        return;
    }
    ts_param_idle(context->set, "cutoff");
    snprintf(unit, LENGTH_UNIT_BYTES, "%s", in->unit ? in->unit : "");
}

/* Returns W(u) of this filter for u in [0, 1]. */
static double window(int32_t name, double u)
{
    const double x = 0.5 * M_PI * u;
    switch (name) {
    case ROW_FILTER_SHEPP_LOGAN:
        return u == 0 ? 1 : sin(x) / x;
    case ROW_FILTER_COSINE:
        return cos(x);
    case ROW_FILTER_HAMMING:
        return 0.54 + 0.46 * cos(2 * x);
    case ROW_FILTER_HANN:
        return 0.5 + 0.5 * cos(2 * x);
    case ROW_FILTER_PARZEN:
        return u <= 0.5 ? 1 - 6 * u * u * (1 - u) : 2 * (1 - u) * (1 - u) * (1 - u);
    default:
        return 1;
    }
}

int64_t ts_row_filter_padded(int64_t n)
{
    int64_t padded = 2;
    while (padded < 2 * n - 1)
        padded *= 2;
    return padded;
}

/* ---- the response ---------------------------------------------------------------------------- */

/* Transforms n pairs (real, imaginary) in place, n a power of two (J. W. Cooley and J. W. Tukey,
 * 1965). */
static void transform(double *pairs, int64_t n)
{
    for (int64_t i = 1, j = 0; i < n; i++) {
        int64_t bit = n / 2;
        for (; j & bit; bit /= 2)
            j ^= bit;
        j ^= bit;
        for (int part = 0; i < j && part < 2; part++) {
            const double kept = pairs[2 * i + part];
            pairs[2 * i + part] = pairs[2 * j + part];
            pairs[2 * j + part] = kept;
        }
    }
    for (int64_t half = 1; half < n; half *= 2)
        for (int64_t k = 0; k < half; k++) {
            const double angle = -M_PI * (double)k / (double)half, c = cos(angle), s = sin(angle);
            for (int64_t i = k; i < n; i += 2 * half) {
                double *a = pairs + 2 * i, *b = a + 2 * half;
                const double re = b[0] * c - b[1] * s, im = b[0] * s + b[1] * c;
                b[0] = a[0] - re, b[1] = a[1] - im;
                a[0] += re, a[1] += im;
            }
        }
}

/* Returns the distance of sample i of the padded kernel from its center, sample 0. Along an arc it
 * is that of the chord, limited to the distance of the first and the last sample of a row. */
static double distance(const struct row_filter *filter, int64_t i, int64_t padded)
{
    const int64_t n = i <= padded / 2 ? i : padded - i, last = filter->n > 1 ? filter->n - 1 : 1;
    return filter->arc ? sin((double)(n < last ? n : last) * filter->spacing) / filter->spacing
                       : (double)n;
}

/* With O the transform of the odd samples of the kernel, d the spacing and w = exp(-2 pi i /
 * padded), H[k] = d h[0] + d w^k O[k], because h[0] is the only even sample that is not 0. H is
 * real, because h is even. */
void ts_row_filter_response(const struct row_filter *filter, double *response)
{
    const int64_t padded = ts_row_filter_padded(filter->n), half = padded / 2;
    const double middle = 0.25 / filter->spacing;
    double *odd = response, nyquist = middle;
    for (int64_t i = 0; i < half; i++) {
        const double n = distance(filter, 2 * i + 1, padded);
        odd[2 * i] = -1 / (M_PI * M_PI * n * n * filter->spacing);
        odd[2 * i + 1] = 0;
        nyquist -= odd[2 * i];
    }
    transform(odd, half);
    for (int64_t k = 0; k < half; k++) { /* index k is written after 2 k was read, so this works in
                                          * place */
        const double angle = -2 * M_PI * (double)k / (double)padded;
        response[k] = middle + odd[2 * k] * cos(angle) - odd[2 * k + 1] * sin(angle);
    }
    response[half] = nyquist;
    for (int64_t k = 0; k <= half; k++) {
        const double u = 2 * (double)k / (double)padded / filter->cutoff;
        response[k] *= u <= 1 ? window(filter->name, u) : 0;
    }
}

/* The first gives samples of the kernel; the second computes the transform: the sum of g[k] exp(-2
 * pi i k (f - 1/4) / m) with g[k] = h[k] - i h[m - k], where h beyond the row is 0. */
void ts_row_filter_quarter_response(const struct row_filter *filter, int64_t m, double *buffer)
{
    const int64_t padded = ts_row_filter_padded(filter->n);
    double *kernel = buffer + 2 * m, *full = kernel + filter->n;
    ts_row_filter_response(filter, full);
    for (int64_t k = padded / 2; k >= 0; k--) {
        full[2 * k] = full[k];
        full[2 * k + 1] = 0;
    }
    for (int64_t k = padded / 2 + 1; k < padded; k++) {
        full[2 * k] = full[2 * (padded - k)];
        full[2 * k + 1] = 0;
    }
    transform(full, padded);
    for (int64_t k = 0; k < filter->n; k++)
        kernel[k] = full[2 * k] / (double)padded;
    for (int64_t k = 0; k < m; k++) {
        const double angle = M_PI * (double)k / (2 * (double)m), c = cos(angle), s = sin(angle),
                     re = k < filter->n ? kernel[k] : 0,
                     im = k > 0 && m - k < filter->n ? -kernel[m - k] : 0;
        buffer[2 * k] = re * c - im * s;
        buffer[2 * k + 1] = re * s + im * c;
    }
    transform(buffer, m);
    for (int64_t f = 0; f < m; f++)
        buffer[f] = buffer[2 * f];
}

size_t ts_row_filter_quarter_bytes(const struct row_filter *filter, int64_t m)
{
    return (size_t)(2 * m + filter->n + 2 * ts_row_filter_padded(filter->n) + 2) * sizeof(double);
}

/* ---- on the CPU ------------------------------------------------------------------------------ */

struct fft_shape ts_row_filter_shape(const struct row_filter *filter)
{
    return (struct fft_shape){
        .rank = 1, .real = true, .n = {ts_row_filter_padded(filter->n)}, .batch = 1};
}

/* The buffers of one thread. */
struct row {
    float *samples, *spectrum;
    void *work; /* work area of the transform */
};

static struct row lay_out_row(const struct row_filter *filter, struct memory_layout *layout)
{
    const struct fft_shape shape = ts_row_filter_shape(filter);
    struct row row;
    row.samples = ts_layout_add(layout, (size_t)shape.n[0] * sizeof(float));
    row.spectrum = ts_layout_add(layout, (size_t)ts_fft_spectrum_count(&shape) * 2 * sizeof(float));
    row.work = ts_layout_add(layout, ts_fft_work_bytes(&shape));
    return row;
}

static size_t row_bytes(const struct row_filter *filter)
{
    struct memory_layout layout = {0};
    lay_out_row(filter, &layout);
    return layout.bytes;
}

size_t ts_row_filter_scratch(const struct row_filter *filter, int threads)
{
    struct memory_layout layout = {0};
    if (filter->name == ROW_FILTER_NONE)
        return 0;
    ts_layout_add(&layout, ((size_t)ts_row_filter_padded(filter->n) + 2) * sizeof(double));
    ts_layout_add(&layout, (size_t)threads * row_bytes(filter));
    return layout.bytes;
}

static void filter_row(const struct fft *fft, const double *response, int64_t padded,
                       const struct row *row)
{
    const double scale = 1 / (double)padded;
    ts_fft_forward(fft, row->samples, row->spectrum, row->work);
    for (int64_t k = 0; k <= padded / 2; k++) {
        const float factor = (float)(response[k] * scale);
        row->spectrum[2 * k] *= factor;
        row->spectrum[2 * k + 1] *= factor;
    }
    ts_fft_inverse(fft, row->spectrum, row->samples, row->work);
}

void ts_row_filter_run(const struct stage_context *context, const struct row_filter *filter,
                       const struct ts_image *in, float *out, void *scratch)
{
    const int64_t n = filter->n, n_rows = in->axes[0].n * in->axes[1].n,
                  padded = ts_row_filter_padded(n);
    const size_t element = ts_dtype_bytes(in->dtype), one = row_bytes(filter);
    if (filter->name == ROW_FILTER_NONE) {
        ts_load_f32(out, in->data, in->dtype, (size_t)(n_rows * n));
        return;
    }
    struct memory_layout layout = {.base = scratch};
    double *response = ts_layout_add(&layout, (size_t)(padded + 2) * sizeof *response);
    unsigned char *threads = ts_layout_add(&layout, 0);
    ts_row_filter_response(filter, response);
#pragma omp parallel for num_threads(context->threads)
    for (int64_t i = 0; i < n_rows; i++) {
        struct memory_layout own = {.base = threads + (size_t)omp_get_thread_num() * one};
        const struct row row = lay_out_row(filter, &own);
        ts_load_f32(row.samples, (const char *)in->data + (size_t)(i * n) * element, in->dtype,
                    (size_t)n);
        memset(row.samples + n, 0, (size_t)(padded - n) * sizeof *row.samples);
        filter_row(context->transforms[0], response, padded, &row);
        memcpy(out + i * n, row.samples, (size_t)n * sizeof *out);
    }
}
