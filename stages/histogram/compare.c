/* SPDX-License-Identifier: Apache-2.0
 *
 * compare: the largest difference, RMS, relative error, PSNR and SSIM (Z. Wang, A. C. Bovik, H. R.
 * Sheikh, E. P. Simoncelli, IEEE Trans. Image Process. 13, 2004; variances of a sample, as
 * skimage.metrics has them) of an image against a reference.
 *
 * A slice is done in strips of STRIP columns. A ring keeps as many rows of a strip as a window has,
 * so that each row is read once: first each column is summed over the window's rows, then
 * neighboring columns are added. Sums are kept in LANES parts, value i in part i % LANES, which are
 * joined in the end, so the order is the same for every width of vectors.
 */
#include "stages/histogram/compare.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "stages/engine/validity.h"

enum { STRIP = 128, LANES = 8, WIDEST = STRIP + COMPARE_GAUSSIAN_TAPS - 1 };

static const struct choice window_choices[] = {
    {"uniform", WINDOW_UNIFORM, "7 x 7 pixels of equal weight"},
    {"gaussian", WINDOW_GAUSSIAN,
     "11 x 11 pixels, weighted by a Gaussian of sigma 1.5 pixels, as in the paper"},
    {NULL, 0, NULL},
};

static const struct param compare_params[] = {
    PARAM(struct compare_params, reference, .required = true,
          .doc = "the image that is taken as the truth, of the same shape, spacing and unit"),
    PARAM(struct compare_params, data_range, .unit = "value", .min = 1e-30, .max = 1e30,
          .required = true,
          .doc = "how far apart values can be, for PSNR and SSIM: 2000 if HU from -1000 to 1000 "
                 "matter, 255 of u8"),
    PARAM(struct compare_params, window, .choices = window_choices, .init.choice = WINDOW_UNIFORM,
          .doc = "the window in which SSIM compares means and variances"),
};

STAGE_PARAMS_OF(compare_params)

static enum ts_status compare_resolve(const struct stage_context *context, void *values)
{
    (void)values;
    if (!context->references[0])
        return ts_param_error(context->set, "reference", "reference-missing", context->diag,
                              "names no image");
    enum ts_status status = ts_stage_same_shape(context, 0);
    if (status == TS_OK)
        status = ts_stage_same_unit(context, 0);
    return status == TS_OK ? ts_stage_same_spacing(context, 0) : status;
}

static bool streams_with_input(const struct stage_context *context, int reference)
{
    (void)context;
    return reference == 0;
}

struct compare_rule ts_compare_rule(const struct compare_params *params)
{
    const bool gaussian = params->window == WINDOW_GAUSSIAN;
    struct compare_rule rule = {.taps = gaussian ? COMPARE_GAUSSIAN_TAPS : COMPARE_UNIFORM_TAPS};
    const double pixels = (double)(rule.taps * rule.taps), sigma = 1.5, k1 = 0.01, k2 = 0.03;
    double sum = 0;
    for (int i = 0; i < rule.taps; i++) {
        const int from_center = i - rule.taps / 2;
        sum += rule.weights[i] =
            gaussian ? exp(-0.5 * from_center * from_center / (sigma * sigma)) : 1;
    }
    for (int i = 0; i < rule.taps; i++)
        rule.weights[i] /= sum;
    rule.covariance = pixels / (pixels - 1);
    rule.c1 = k1 * params->data_range * (k1 * params->data_range);
    rule.c2 = k2 * params->data_range * (k2 * params->data_range);
    return rule;
}

/* ---- sums of a slice ------------------------------------------------------------------------- */

struct strip {
    struct compare_rule rule;
    double a[COMPARE_GAUSSIAN_TAPS][WIDEST],
        b[COMPARE_GAUSSIAN_TAPS][WIDEST]; /* the ring: row y is at y % taps */
    double columns[COMPARE_MEANS][WIDEST], means[COMPARE_MEANS][STRIP];
    double largest, squares[LANES], reference_squares[LANES], similarity[LANES];
    int64_t n, n_windows;
};

TS_VECTORIZED static void add_differences(struct strip *strip, const double *a, const double *b,
                                          int n)
{
    double squares[STRIP] = {0}, reference[STRIP] = {0}, largest = strip->largest;
    int32_t n_finite = 0;
    for (int i = 0; i < n; i++) {
        const bool finite = (fabs(a[i]) < (double)INFINITY) & (fabs(b[i]) < (double)INFINITY);
        const double difference = finite ? a[i] - b[i] : 0;
        n_finite += finite;
        squares[i] = difference * difference;
        reference[i] = finite ? b[i] * b[i] : 0;
        largest = fabs(difference) > largest ? fabs(difference) : largest;
    }
    for (int i = 0; i < n; i += LANES)
        for (int lane = 0; lane < LANES; lane++) {
            strip->squares[lane] += squares[i + lane];
            strip->reference_squares[lane] += reference[i + lane];
        }
    strip->largest = largest;
    strip->n += n_finite;
}

/* Sums the columns of the window whose last row is at `last` in the ring; rows are added from the
 * first to the last. */
TS_VECTORIZED static void sum_columns(struct strip *strip, int last, int n)
{
    const int taps = strip->rule.taps;
    memset(strip->columns, 0, sizeof strip->columns);
    for (int k = 0; k < taps; k++) {
        const double *a = strip->a[(last + 1 + k) % taps], *b = strip->b[(last + 1 + k) % taps];
        const double weight = strip->rule.weights[k];
        for (int i = 0; i < n; i++) {
            const double wa = weight * a[i], wb = weight * b[i];
            strip->columns[MEAN_A][i] += wa;
            strip->columns[MEAN_B][i] += wb;
            strip->columns[MEAN_AA][i] += wa * a[i];
            strip->columns[MEAN_BB][i] += wb * b[i];
            strip->columns[MEAN_AB][i] += wa * b[i];
        }
    }
}

TS_VECTORIZED static void add_windows(struct strip *strip, int n)
{
    const struct compare_rule *rule = &strip->rule;
    double similarity[STRIP] = {0};
    int32_t n_windows = 0;
    memset(strip->means, 0, sizeof strip->means);
    for (int mean = 0; mean < COMPARE_MEANS; mean++)
        for (int k = 0; k < rule->taps; k++)
            for (int i = 0; i < n; i++)
                strip->means[mean][i] += rule->weights[k] * strip->columns[mean][i + k];
    for (int i = 0; i < n; i++) {
        const double s =
            ts_compare_similarity(strip->means[MEAN_A][i], strip->means[MEAN_B][i],
                                  strip->means[MEAN_AA][i], strip->means[MEAN_BB][i],
                                  strip->means[MEAN_AB][i], rule->covariance, rule->c1, rule->c2);
        n_windows += s == s;
        similarity[i] = s == s ? s : 0;
    }
    for (int i = 0; i < n; i += LANES)
        for (int lane = 0; lane < LANES; lane++)
            strip->similarity[lane] += similarity[i + lane];
    strip->n_windows += n_windows;
}

/* Invalid pixels become NaN, which is not compared. */
static void read_row(double *out, const struct ts_image *image, int64_t z, int64_t y, int64_t x,
                     int n)
{
    const size_t at = (size_t)(y * image->axes[2].n + x);
    ts_load_f64(out, (const char *)ts_slice_data(image, z) + at * ts_dtype_bytes(image->dtype),
                image->dtype, (size_t)n);
    ts_valid_fill_doubles(ts_slice_valid(image, z), at, (size_t)n, (double)NAN, out);
}

static double joined(const double *lanes)
{
    double sum = 0;
    for (int lane = 0; lane < LANES; lane++)
        sum += lanes[lane];
    return sum;
}

static void sum_strip(const struct compare_rule *rule, const struct ts_image *images, int64_t z,
                      int64_t x, struct compare_sums *sums)
{
    const int64_t ny = images->axes[1].n, left = images->axes[2].n - x;
    const int halo = rule->taps - 1, n = (int)(left < STRIP ? left : STRIP);
    const int wide = (int)(left < STRIP + halo ? left : STRIP + halo);
    struct strip strip;
    memset(&strip, 0, sizeof strip);
    strip.rule = *rule;
    for (int64_t y = 0; y < ny; y++) {
        const int row = (int)(y % rule->taps);
        read_row(strip.a[row], &images[0], z, y, x, wide);
        read_row(strip.b[row], &images[1], z, y, x, wide);
        add_differences(&strip, strip.a[row], strip.b[row], n);
        if (y >= halo && wide > halo) {
            sum_columns(&strip, row, wide);
            add_windows(&strip, wide - halo);
        }
    }
    sums->largest = fmax(sums->largest, strip.largest);
    sums->squares += joined(strip.squares);
    sums->reference_squares += joined(strip.reference_squares);
    sums->similarity += joined(strip.similarity);
    sums->n += (uint64_t)strip.n;
    sums->left_out += (uint64_t)(ny * n - strip.n);
    sums->n_windows += (uint64_t)strip.n_windows;
}

void ts_compare_slice(const struct compare_rule *rule, const struct ts_image images[2], int64_t z,
                      struct compare_sums *sums)
{
    for (int64_t x = 0; x < images[0].axes[2].n; x += STRIP)
        sum_strip(rule, images, z, x, sums);
}

void ts_compare_add(struct compare_sums *to, const struct compare_sums *sums)
{
    to->largest = fmax(to->largest, sums->largest);
    to->squares += sums->squares;
    to->reference_squares += sums->reference_squares;
    to->similarity += sums->similarity;
    to->n += sums->n;
    to->left_out += sums->left_out;
    to->n_windows += sums->n_windows;
}

/* ---- reduction ------------------------------------------------------------------------------- */

static size_t partial_bytes(const struct stage_context *context, int input)
{
    return input == 0 ? (size_t)context->in.axes[0].n * sizeof(struct compare_sums) : 0;
}

static void compare_reduce(const struct stage_context *context, int input,
                           const struct ts_image *slices, void *partial)
{
    const struct compare_rule rule = ts_compare_rule(params_of(context));
    memset(partial, 0, partial_bytes(context, input));
    for (int64_t z = 0; z < slices->axes[0].n; z++)
        ts_compare_slice(&rule, slices, z, (struct compare_sums *)partial + slices->z_first + z);
}

static void compare_merge(const struct stage_context *context, int input, void *into,
                          const void *from)
{
    struct compare_sums *to = into;
    const struct compare_sums *sums = from;
    (void)input;
    for (int64_t z = 0; z < context->in.axes[0].n; z++)
        if (sums[z].n + sums[z].left_out > 0)
            to[z] = sums[z];
}

static size_t result_bytes(const struct stage_context *context)
{
    (void)context;
    return sizeof(uint64_t); /* nothing is needed: the image passes through */
}

void ts_compare_measure(const struct compare_sums *sums, double data_range,
                        double out[COMPARE_MEASURES])
{
    const double mean_square = sums->squares / (double)sums->n; /* NaN if nothing was compared */
    out[COMPARE_LARGEST] = sums->n > 0 ? sums->largest : (double)NAN;
    out[COMPARE_RMS] = sqrt(mean_square);
    out[COMPARE_RELATIVE] = sqrt(sums->squares / sums->reference_squares);
    out[COMPARE_PSNR] = 10 * log10(data_range * data_range / mean_square);
    out[COMPARE_SSIM] = sums->similarity / (double)sums->n_windows;
}

static enum ts_status compare_finish(const struct stage_context *context,
                                     const void *const totals[], void *result,
                                     const struct ts_image *tables)
{
    const struct compare_sums *slices = totals[0];
    const double range = params_of(context)->data_range;
    struct compare_sums all = {0};
    double values[COMPARE_MEASURES];
    (void)result;
    for (int64_t z = 0; z < context->in.axes[0].n; z++) {
        ts_compare_measure(&slices[z], range, values);
        for (int i = 0; i < COMPARE_MEASURES; i++)
            ((double *)tables[COMPARE_MEASURES + i].data)[z] = values[i];
        ((uint64_t *)tables[2 * COMPARE_MEASURES].data)[z] = slices[z].left_out;
        ts_compare_add(&all, &slices[z]);
    }
    ts_compare_measure(&all, range, values);
    for (int i = 0; i < COMPARE_MEASURES; i++)
        *(double *)tables[i].data = values[i];
    return TS_OK;
}

static int compare_tables(const struct stage_context *context, struct stage_table out[STAGE_TABLES])
{
    static const struct {
        const char *name, *of_slices, *doc;
    } texts[COMPARE_MEASURES] = {
        [COMPARE_LARGEST] = {"max_difference", "slice_max_difference",
                             "largest absolute difference"},
        [COMPARE_RMS] = {"rms_difference", "slice_rms_difference",
                         "root of the mean squared difference"},
        [COMPARE_RELATIVE] = {"relative_difference", "slice_relative_difference",
                              "Euclidean norm of the differences / that of the reference"},
        [COMPARE_PSNR] = {"psnr", "slice_psnr", "20 log10(data_range / rms_difference)"},
        [COMPARE_SSIM] = {"ssim", "slice_ssim",
                          "mean structural similarity of all windows within slices"},
    };
    const struct ts_axis z = context->in.axes[0];
    for (int i = 0; i < 2 * COMPARE_MEASURES; i++) {
        const int which = i % COMPARE_MEASURES;
        const bool in_values = which == COMPARE_LARGEST || which == COMPARE_RMS,
                   slices = i >= COMPARE_MEASURES;
        const char *unit = which == COMPARE_PSNR ? "dB" : "1";
        out[i] = (struct stage_table){.name = slices ? texts[which].of_slices : texts[which].name,
                                      .doc = texts[which].doc};
        out[i].image =
            (struct ts_image){.rank = slices ? 1 : 0,
                              .axes = {z},
                              .dtype = TS_F64,
                              .quantity = in_values ? context->in.quantity : TS_INTENSITY,
                              .unit = in_values ? context->in.unit : unit};
    }
    out[2 * COMPARE_MEASURES] = (struct stage_table){
        .name = "not_compared",
        .doc = "pixels of each slice where either value is not finite, or invalid"};
    out[2 * COMPARE_MEASURES].image = (struct ts_image){
        .rank = 1, .axes = {z}, .dtype = TS_U64, .quantity = TS_INTENSITY, .unit = "1"};
    return 2 * COMPARE_MEASURES + 1;
}

static const struct stage_reduction reduction = {
    .exact = true, /* sums of slices stay separate until the end */
    .partial_bytes = partial_bytes,
    .reduce = compare_reduce,
    .merge = compare_merge,
    .result_bytes = result_bytes,
    .finish = compare_finish,
    .tables = compare_tables,
};

const struct stage compare_stage = {
    .name = "compare",
    .summary = "largest difference, RMS, PSNR and SSIM against a reference image",
    .doc =
        "Measures the image against another one of the same shape, spacing and unit, and passes it "
        "through unchanged. With a reconstruction as the image and what was projected as the "
        "reference, one chain simulates and measures:\n\n"
        "    stages:\n"
        "      - to_attenuation: {water: 0.0206, name: truth}\n"
        "      - radon: {views: 720}\n"
        "      - noise: {photons: 100000}\n"
        "      - fbp: {rows: 512, columns: 512}\n"
        "      - compare: {reference: truth, data_range: 0.04}\n\n"
        "The tables hold each number for the volume, and with `slice_` before its name for every "
        "slice. `data_range` is `R`, `d` the difference:\n\n"
        "- `max_difference`: `max |d|`; `rms_difference`: `sqrt(mean d^2)`; `relative_difference`: "
        "`sqrt(sum d^2 / sum reference^2)`, skimage's `normalized_root_mse`\n"
        "- `psnr`: `10 log10(R^2 / mean d^2)`, infinite for equal images\n"
        "- `ssim`: `(2 ma mb + C1)(2 cab + C2) / ((ma^2 + mb^2 + C1)(va + vb + C2))` with means m, "
        "variances v and the covariance c of a window, `C1 = (0.01 R)^2`, `C2 = (0.03 R)^2` (Z. "
        "Wang et al., IEEE Trans. Image Process. 13, 2004), averaged over all windows within their "
        "slice. Variances are those of a sample. These are the defaults of "
        "`skimage.metrics.structural_similarity`, and its `gaussian_weights=True` with `window: "
        "gaussian`, slice by slice; the number of the volume is the mean over the windows of all "
        "slices. NaN if slices are smaller than the window\n\n"
        "Pixels that are NaN, infinite or invalid (the padding of a CT) in either image are left "
        "out, and so are windows with such a pixel; `not_compared` counts them. Everything is "
        "computed in double. Neither slabs nor threads change the order of sums.\n\n"
        "Cost: one pass over both images; 7 or 11 rows and columns of each window.",
    STAGE_TAKES_ALL,
    STAGE_PARAMS(compare_params, struct compare_params),
    .resolve = compare_resolve,
    .streams_with_input = streams_with_input,
    .reduction = &reduction,
    .validity = VALIDITY_SAME,
    .cuda = STAGE_CUDA(compare_cuda),
    .bench = "reference=itself data_range=4000|reference=itself data_range=4000 window=gaussian",
    .tolerance = {.relative = 1e-9,
                  .why = "order of sums in double; a variance is a difference of squares, which "
                         "costs 1e-16 (value / (0.03 data_range))^2"},
};
