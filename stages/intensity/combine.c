/* SPDX-License-Identifier: Apache-2.0
 *
 * combine: y = a op b of two images, pixel by pixel, in double and rounded once.
 *
 * A chunk of both images is loaded as doubles, combined and stored, as in
 * stages/values/point_map.c. If pixels can be invalid or outside a mask, the words of 64 bits say
 * which pixels keep the value of the first image, and which are valid.
 */
#include "stages/intensity/combine.h"

#include <stdio.h>
#include <string.h>

#include "stages/engine/validity.h"

enum { CHUNK = 1024, WORD = 64 };

static const struct choice op_choices[] = {
    {"add", COMBINE_ADD, "image + other"},
    {"subtract", COMBINE_SUBTRACT, "image - other"},
    {"multiply", COMBINE_MULTIPLY, "image * other"},
    {"divide", COMBINE_DIVIDE,
     "image / other; a pixel that is divided by 0 becomes invalid, and the table "
     "`divided_by_zero` counts them"},
    {"mean", COMBINE_AVERAGE, "(image + other) / 2"},
    {"maximum", COMBINE_MAXIMUM, "the larger one; of two masks, what is in either"},
    {"minimum", COMBINE_MINIMUM, "the smaller one; of two masks, what is in both"},
    {NULL, 0, NULL},
};

static const struct param combine_params[] = {
    PARAM(struct combine_params, other, .required = true,
          .doc = "the second image: an input or the output of an earlier stage, on the same grid"),
    PARAM(struct combine_params, op, .required = true, .choices = op_choices,
          .doc = "what is done with each pixel of the image and the other's"),
    PARAM(struct combine_params, mask, .optional = true,
          .doc = "an image of the same shape: where it is 0, the image stays as it is; absent: all "
                 "pixels are combined"),
};

STAGE_PARAMS_OF(combine_params)

/* ---- units and quantities -------------------------------------------------------------------- */

static bool is_one(const char *unit)
{
    return !unit || !*unit || !strcmp(unit, "1");
}

/* A factor only scales what it is multiplied with. */
static bool is_factor(const struct ts_image *image)
{
    return image->quantity == TS_INTENSITY && is_one(image->unit);
}

/* Returns the quantity of this one with a factor. 0 HU is water, so that multiples of HU are no
 * HU. */
static enum ts_quantity scaled(enum ts_quantity quantity)
{
    return quantity == TS_HU ? TS_INTENSITY : quantity;
}

/* Returns the quantity of a sum, difference, mean or extreme; both have the same unit. Two HU add
 * to no HU, and their difference is 0 where they are alike, in air as well. */
static enum ts_quantity joined_quantity(enum combine_op op, enum ts_quantity a, enum ts_quantity b)
{
    const bool sums = op == COMBINE_ADD || op == COMBINE_SUBTRACT;
    if (a == b)
        return sums ? scaled(a) : a;
    if (sums && b == TS_INTENSITY)
        return a;
    return op == COMBINE_ADD && a == TS_INTENSITY ? b : TS_INTENSITY;
}

/* Returns the quantity of a product or ratio. What passes one absorber and then another is the
 * product of both transmissions. */
static enum ts_quantity scaled_quantity(enum combine_op op, const struct ts_image *a,
                                        const struct ts_image *b)
{
    if (is_factor(b))
        return scaled(a->quantity);
    if (op == COMBINE_MULTIPLY && is_factor(a))
        return scaled(b->quantity);
    return a->quantity == TS_TRANSMISSION && b->quantity == TS_TRANSMISSION ? TS_TRANSMISSION
                                                                            : TS_INTENSITY;
}

static bool is_compound(const char *unit)
{
    return strpbrk(unit, "/ ") != NULL;
}

/* Writes the unit of a product or ratio of two that are not 1, or "unknown" if that of either is,
 * or if it is too long. */
static void write_unit(bool divides, const char *a, const char *b, char out[COMBINE_UNIT_BYTES])
{
    static const char unknown[] = "unknown";
    const bool known = strcmp(a, unknown) != 0 && strcmp(b, unknown) != 0;
    int n = 0;
    if (divides && !strcmp(a, b))
        n = snprintf(out, COMBINE_UNIT_BYTES, "1");
    else
        n = snprintf(out, COMBINE_UNIT_BYTES, "%s%s%s%s%s%s%s", strchr(a, '/') ? "(" : "", a,
                     strchr(a, '/') ? ")" : "", divides ? "/" : " ", is_compound(b) ? "(" : "", b,
                     is_compound(b) ? ")" : "");
    if (!known || n >= COMBINE_UNIT_BYTES)
        memcpy(out, unknown, sizeof unknown);
}

/* Returns the unit of the result: that of an image, of any length, or what write_unit wrote. */
static const char *unit_of(const struct stage_context *context, const struct combine_params *params)
{
    const char *a = context->in.unit ? context->in.unit : "", *b = context->references[0]->unit;
    const bool multiplies = params->op == COMBINE_MULTIPLY;
    if (!multiplies && params->op != COMBINE_DIVIDE)
        return a;
    if (is_one(b))
        return is_one(a) ? "1" : a;
    return multiplies && is_one(a) ? b : params->unit;
}

/* Refuses images whose values cannot be added or compared. An intensity can be anything. */
static enum ts_status check_alike(const struct stage_context *context)
{
    const enum ts_quantity a = context->in.quantity, b = context->references[0]->quantity;
    const enum ts_status status = ts_stage_same_unit(context, 0);
    if (status != TS_OK || a == b || a == TS_INTENSITY || b == TS_INTENSITY)
        return status;
    return ts_param_error(context->set, "other", "reference-quantity", context->diag,
                          "its values are %s, and those of the image are %s", ts_quantity_name(b),
                          ts_quantity_name(a));
}

static enum ts_status resolve_values(const struct stage_context *context,
                                     struct combine_params *params)
{
    const struct ts_image *in = &context->in, *other = context->references[0];
    const enum combine_op op = (enum combine_op)params->op;
    if (op == COMBINE_MULTIPLY || op == COMBINE_DIVIDE) {
        write_unit(op == COMBINE_DIVIDE, is_one(in->unit) ? "1" : in->unit,
                   is_one(other->unit) ? "1" : other->unit, params->unit);
        params->quantity = scaled_quantity(op, in, other);
        return TS_OK;
    }
    params->quantity = joined_quantity(op, in->quantity, other->quantity);
    return check_alike(context);
}

/* Refuses a mask if the pixels outside would have other units, or mean something else, than those
 * within. */
static enum ts_status check_outside(const struct stage_context *context,
                                    const struct combine_params *params)
{
    const struct ts_image *in = &context->in;
    const char *unit = unit_of(context, params);
    const bool same_unit = is_one(unit) ? is_one(in->unit) : in->unit && !strcmp(unit, in->unit);
    if (!context->references[COMBINE_MASK - 1] || (same_unit && params->quantity == in->quantity))
        return TS_OK;
    ts_param_error(context->set, "mask", "mask-quantity", context->diag,
                   "outside the image would stay %s in '%s', and within the result is %s in '%s'",
                   ts_quantity_name(in->quantity), in->unit ? in->unit : "",
                   ts_quantity_name(params->quantity), unit);
    return ts_diag_hint(context->diag,
                        "leave mask out, and put `apply_mask` with the mask after this stage");
}

/* ---- plan ------------------------------------------------------------------------------------ */

static bool chooses(const struct stage_context *context)
{
    return params_of(context)->op == COMBINE_MAXIMUM || params_of(context)->op == COMBINE_MINIMUM;
}

/* Returns 1 if the result is a mask, 2 if it has labels: both images are masks or have labels, of
 * which one is chosen. */
static unsigned char labels_of(const struct stage_context *context)
{
    const unsigned char a = context->in.labels, b = context->references[0]->labels,
                        most = a > b ? a : b;
    return chooses(context) && a > 0 && b > 0 ? most : 0;
}

static enum ts_status check_labels(const struct stage_context *context)
{
    if ((context->in.labels < 2 && context->references[0]->labels < 2) || labels_of(context) == 2)
        return TS_OK;
    ts_param_error(context->set, "op", "labels-mixed", context->diag,
                   "'%s' mixes values, and those of %s are labels: numbers of regions",
                   ts_choice_name(op_choices, params_of(context)->op),
                   context->in.labels < 2 ? "`other`" : "the image");
    return ts_diag_hint(context->diag,
                        "`threshold` before it makes a mask of 0 and 1 of some labels, as with "
                        "`above: 0`; `segment:` or `roi:` of the input takes one region");
}

static enum ts_status combine_resolve(const struct stage_context *context, void *values)
{
    if (!context->references[0])
        return ts_param_error(context->set, "other", "reference-missing", context->diag,
                              "names no image");
    enum ts_status status = ts_stage_same_shape(context, 0);
    if (status == TS_OK)
        status = ts_stage_same_spacing(context, 0);
    if (status == TS_OK)
        status = ts_stage_check_mask(context);
    if (status == TS_OK)
        status = check_labels(context);
    if (status == TS_OK)
        status = resolve_values(context, values);
    return status == TS_OK ? check_outside(context, values) : status;
}

/* Returns the one of two types that holds every value of both, or floats. */
static enum ts_dtype common_dtype(enum ts_dtype a, enum ts_dtype b)
{
    double low_a, high_a, low_b, high_b;
    ts_dtype_range(a, &low_a, &high_a);
    ts_dtype_range(b, &low_b, &high_b);
    if (low_a <= low_b && high_a >= high_b)
        return a;
    return low_b <= low_a && high_b >= high_a ? b : TS_F32;
}

static enum ts_status combine_shape(const struct stage_context *context, struct ts_image *out)
{
    const struct combine_params *params = params_of(context);
    out->dtype =
        chooses(context) ? common_dtype(context->in.dtype, context->references[0]->dtype) : TS_F32;
    out->labels = labels_of(context);
    out->unit = unit_of(context, params);
    out->quantity = params->quantity;
    return TS_OK;
}

static bool streams_with_input(const struct stage_context *context, int reference)
{
    return reference == 0 || ts_stage_streams_mask(context, reference);
}

static bool combine_masks(const struct stage_context *context)
{
    return params_of(context)->op == COMBINE_DIVIDE || context->references[0]->masked;
}

static int combine_tables(const struct stage_context *context,
                          struct stage_table tables[STAGE_TABLES])
{
    if (params_of(context)->op != COMBINE_DIVIDE)
        return 0;
    tables[0] =
        (struct stage_table){.name = "divided_by_zero",
                             .doc = "pixels of each slice that were divided by 0, and are invalid"};
    tables[0].image = (struct ts_image){.rank = 1,
                                        .axes = {context->in.axes[0]},
                                        .dtype = TS_U64,
                                        .quantity = TS_INTENSITY,
                                        .unit = "1"};
    return 1;
}

/* ---- map ------------------------------------------------------------------------------------- */

/* The same slice of each image; `mask.data` is NULL if there is no mask. */
struct slices {
    struct ts_image image, other, mask, out;
};

/* The operation is chosen before the loop, so that each loop is vectorized. */
TS_VECTORIZED static void combine_values(int32_t op, const double *a, const double *b, double *out,
                                         size_t n)
{
    switch (op) {
#define CASE(constant)                                                                             \
    case constant:                                                                                 \
        for (size_t i = 0; i < n; i++)                                                             \
            out[i] = ts_combine_values(constant, a[i], b[i]);                                      \
        break;
        CASE(COMBINE_ADD)
        CASE(COMBINE_SUBTRACT)
        CASE(COMBINE_MULTIPLY)
        CASE(COMBINE_DIVIDE)
        CASE(COMBINE_AVERAGE)
        CASE(COMBINE_MAXIMUM)
        CASE(COMBINE_MINIMUM)
#undef CASE
    default:
        break;
    }
}

TS_VECTORIZED static int64_t count_zeros(const double *values, size_t n)
{
    int64_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += values[i] == 0;
    return count;
}

static uint64_t zeros_of(const double *values, size_t n)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < n; i++)
        bits |= (uint64_t)(values[i] == 0) << i;
    return bits;
}

/* Gives the pixels of one word that are not combined the values `a` of the first image, writes
 * which are valid, and returns how many were divided by 0. */
static uint64_t settle_word(const struct slices *at, size_t word, size_t n, uint64_t zeros,
                            const double *a, double *out)
{
    const uint64_t valid = ts_valid_word(&at->image, NULL, word, n),
                   both = valid & ts_valid_word(&at->other, NULL, word, n),
                   within =
                       at->mask.data ? ts_valid_word(&at->mask, &at->mask, word, n) : UINT64_MAX,
                   combined = both & within;
    const size_t count = n - word * WORD < WORD ? n - word * WORD : WORD;
    for (uint64_t left = ~combined & UINT64_MAX >> (WORD - count); left; left &= left - 1)
        out[__builtin_ctzll(left)] = a[__builtin_ctzll(left)];
    if (at->out.valid)
        at->out.valid[word] = (combined & ~zeros) | (valid & ~within);
    return (uint64_t)__builtin_popcountll(combined & zeros);
}

static void load(const struct ts_image *slice, size_t first, size_t n, double *values)
{
    ts_load_f64(values, (const char *)slice->data + first * ts_dtype_bytes(slice->dtype),
                slice->dtype, n);
}

/* Combines n pixels from pixel `first` on, a multiple of WORD, of slices with n_pixels; returns how
 * many were divided by 0. */
static uint64_t combine_chunk(const struct slices *at, int32_t op, size_t first, size_t n,
                              size_t n_pixels)
{
    double a[CHUNK], b[CHUNK], values[CHUNK];
    uint64_t zeros = 0;
    load(&at->image, first, n, a);
    load(&at->other, first, n, b);
    combine_values(op, a, b, values, n);
    const bool has_zeros = op == COMBINE_DIVIDE && count_zeros(b, n) > 0;
    if (at->image.valid || at->other.valid || at->mask.data || op == COMBINE_DIVIDE)
        for (size_t i = 0; i < n; i += WORD) {
            const size_t count = n - i < WORD ? n - i : WORD;
            zeros += settle_word(at, (first + i) / WORD, n_pixels,
                                 has_zeros ? zeros_of(b + i, count) : 0, a + i, values + i);
        }
    ts_store_f64(at->out.data, first, values, at->out.dtype, n);
    return zeros;
}

static enum ts_status combine_map(const struct stage_context *context, const struct ts_image *in,
                                  struct ts_image *out, void *scratch)
{
    const int32_t op = params_of(context)->op;
    const bool has_mask = context->references[COMBINE_MASK - 1] != NULL;
    const size_t count = ts_slice_count(out);
    const int64_t nz = out->axes[0].n, chunks = (int64_t)((count + CHUNK - 1) / CHUNK);
    uint64_t *table = op == COMBINE_DIVIDE ? context->tables[0].data : NULL;
    (void)scratch;
    if (table)
        memset(table, 0, (size_t)nz * sizeof *table);
#pragma omp parallel for schedule(static) num_threads(context->threads)
    for (int64_t task = 0; task < nz * chunks; task++) {
        const int64_t z = task / chunks;
        const size_t first = (size_t)(task % chunks) * CHUNK;
        struct slices at = {.image = ts_image_slices(&in[COMBINE_IMAGE], z, 1),
                            .other = ts_image_slices(&in[COMBINE_OTHER], z, 1),
                            .out = ts_image_slices(out, z, 1)};
        if (has_mask)
            at.mask = ts_image_slices(&in[COMBINE_MASK], z, 1);
        if (!combine_masks(context))
            at.out.valid = NULL; /* the framework copies the bits of the image */
        const uint64_t zeros =
            combine_chunk(&at, op, first, count - first < CHUNK ? count - first : CHUNK, count);
        if (table && zeros > 0)
            __atomic_fetch_add(&table[z], zeros, __ATOMIC_RELAXED);
    }
    return TS_OK;
}

const struct stage combine_stage = {
    .name = "combine",
    .summary = "the sum, difference, product, ratio, mean, maximum or minimum of two images",
    .doc =
        "`y = a op b` for each pixel, with `a` the image and `b` the pixel of `other` at the same "
        "place. `other` is an input, or the output of an earlier stage that has a `name`, on the "
        "same grid; `resample` with `like:` brings it there.\n\n"
        "**Units.** `add`, `subtract`, `mean`, `maximum` and `minimum` need equal units "
        "(`reference-unit`), and quantities that are equal or an intensity "
        "(`reference-quantity`). `multiply` and `divide` write the product or the ratio of the "
        "units: `Bq/ml` divided by `Bq/ml` is `1`, `1/mm` by `Gy` is `(1/mm)/Gy`. If the unit of "
        "either is `unknown`, or a text of both is longer than 63 bytes, it is `unknown`.\n\n"
        "**Quantity.** The result keeps the quantity of the images if it still is one:\n\n"
        "- `mean`, `maximum`, `minimum`: what both are; an intensity if one of them is.\n"
        "- `add`, `subtract`: what both are. An intensity in the same unit may be added to any "
        "quantity and subtracted from it. HU count from water: the difference and the sum of two "
        "images in HU are an intensity in HU, and such a difference added to HU gives HU.\n"
        "- `multiply`, `divide`: with an intensity of unit 1 as the factor or divisor, what the "
        "image is, but of HU an intensity in HU. Two transmissions give a transmission. All else "
        "is an intensity.\n\n"
        "**Masks.** If `mask` is given, pixels where it is 0, NaN or invalid keep the value and "
        "the validity of the image. The result within must then have the unit and quantity of the "
        "image (`mask-quantity`).\n\n"
        "**Invalid pixels.** Where a pixel of either image is invalid, such as the padding of a "
        "CT, that of the result is invalid and keeps the value of the image. A pixel that is "
        "divided by 0 is 0 and invalid; `divided_by_zero` counts them. NaN in either gives NaN, "
        "as in numpy.\n\n"
        "**Types.** The result is f32, which holds integers up to 16,777,216 exactly. "
        "`maximum` and `minimum` give the one of the two types that holds all values of both, "
        "or f32. Of two masks they give a mask. Labels, which are numbers "
        "of regions, take part in nothing else (`labels-mixed`). Values are computed in double "
        "and rounded once; both devices give the same bytes.\n\n"
        "Cost: each image and the mask are read once, and the result is written once.",
    STAGE_TAKES_ALL,
    STAGE_PARAMS(combine_params, struct combine_params),
    .resolve = combine_resolve,
    .shape = combine_shape,
    .streams_with_input = streams_with_input,
    .tables = combine_tables,
    .map = combine_map,
    .traits = TRAIT_ENDS_LABELS,
    .validity = VALIDITY_SAME,
    .masks = combine_masks,
    .cuda = STAGE_CUDA(combine_cuda),
    .bench = "other=itself op=subtract|other=itself op=divide|other=itself op=maximum|"
             "other=itself op=mean mask=itself",
    .tolerance = {.relative = 6e-8, .absolute = 1e-45, .why = "rounding to f32"},
};
