/* SPDX-License-Identifier: Apache-2.0
 *
 * bad_pixels: pixel (z, view, d) becomes (a (r - d) + b (d - l)) / (r - l), where l and r are the
 * nearest good detector pixels of its row and a and b their values; beyond the last good one it
 * becomes a or b. A row that has no good pixel is interpolated in the same way between the nearest
 * views of its slice that have one, and else between the nearest slices. A pixel is bad by its own
 * value, by the mask of the image, or because its detector pixel is dead.
 *
 * A slab is done in two steps. The first looks at all rows of a slice, including slices of the
 * halo, and finds dead detector pixels and rows with a good pixel. The second copies the rows, and
 * fills those that have a bad pixel.
 */
#include "stages/scan/bad_pixels.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#include "core/memory.h"
#include "stages/engine/validity.h"

static const struct choice columns_choices[] = {
    {"find", COLUMNS_FIND,
     "those that have the same value in all views are dead, if they are between others"},
    {"all", COLUMNS_ALL,
     "those that have the same value in all views are dead: at the ends of a row as well, and "
     "where the whole row has"},
    {"keep", COLUMNS_KEEP, "a constant detector pixel is taken as it is"},
    {NULL, 0, NULL},
};

static const struct param bad_pixels_params[] = {
    PARAM(struct bad_pixels_params, highest, .unit = "value", .min = -INFINITY, .max = INFINITY,
          .derived = "the largest value of an integer type, infinity for floats",
          .doc = "values from this one on are saturated"),
    PARAM(struct bad_pixels_params, lowest, .unit = "value", .min = -INFINITY, .max = INFINITY,
          .derived = "0 for counts of a signed integer type, else -infinity",
          .doc = "values below this one are marks, such as the -1 and -2 of some detectors"),
    PARAM(struct bad_pixels_params, columns, .choices = columns_choices,
          .init.choice = COLUMNS_FIND,
          .doc = "what is done about detector pixels that do not change from view to view"),
    PARAM(struct bad_pixels_params, ratio, .unit = "", .min = 1.01, .max = INFINITY,
          .init.r = INFINITY,
          .doc =
              "a detector pixel is hot if its mean over the views is this many times the median of "
              "the 10 beside it, and dead if it is this many times smaller; infinity: none is"),
    PARAM(struct bad_pixels_params, rows, .unit = "", .min = 0, .max = 64, .init.i = 2,
          .doc =
              "how far away the slices may be from which a slice without a good pixel is filled"),
};

STAGE_PARAMS_OF(bad_pixels_params)

static enum ts_status bad_pixels_resolve(const struct stage_context *context, void *values)
{
    struct bad_pixels_params *params = values;
    const enum ts_dtype dtype = context->in.dtype;
    double low, high;
    ts_dtype_range(dtype, &low, &high);
    if (!ts_param_given(context->set, "highest"))
        params->highest = high;
    if (!ts_param_given(context->set, "lowest"))
        params->lowest =
            context->in.quantity == TS_COUNTS && ts_dtype_is_integer(dtype) ? 0 : -INFINITY;
    if (params->lowest < params->highest)
        return TS_OK;
    return ts_param_error(context->set, "highest", "range-order", context->diag,
                          "%g is not above lowest, %g: no pixel would be good", params->highest,
                          params->lowest);
}

static int bad_pixels_tables(const struct stage_context *context,
                             struct stage_table out[STAGE_TABLES])
{
    static const struct {
        const char *name, *doc;
    } texts[BAD_KINDS] = {
        [BAD_MASKED] = {"masked", "pixels of each slice that the mask of the image marks"},
        [BAD_NONFINITE] = {"nonfinite", "pixels of each slice that are NaN or infinite"},
        [BAD_SATURATED] = {"saturated", "pixels of each slice at `highest` or above"},
        [BAD_LOW] = {"low", "pixels of each slice below `lowest`"},
        [BAD_DEAD] = {"dead", "pixels of each slice on dead or hot detector pixels"},
        [BAD_LEFT] =
            {"left",
             "pixels of each slice that stay as they are, because nothing near them is good"},
    };
    for (int kind = BAD_MASKED; kind < BAD_KINDS; kind++) {
        struct stage_table *table = &out[kind - 1];
        *table = (struct stage_table){.name = texts[kind].name, .doc = texts[kind].doc};
        table->image = (struct ts_image){.rank = 1,
                                         .axes = {context->in.axes[0]},
                                         .dtype = TS_U64,
                                         .quantity = TS_INTENSITY,
                                         .unit = "pixel"};
    }
    out[BAD_LEFT - 1].of = (uint64_t)(context->in.axes[1].n * context->in.axes[2].n);
    return BAD_KINDS - 1;
}

static struct stage_reach bad_pixels_reach(const struct stage_context *context)
{
    return (struct stage_reach){.halo = params_of(context)->rows, .border = BORDER_NEAREST};
}

/* ---- scratch --------------------------------------------------------------------------------- */

struct scratch {
    unsigned char *dead, *good; /* for each slice of the slab with its halo: flags of dead detector
                                 * pixels, and of good rows */
    struct bad_column *columns; /* of each thread, as is the rest: detector pixels */
    double *values, *others;    /* of each thread: rows */
    unsigned char *kinds;       /* of each thread: kinds of pixels of rows */
};

static struct scratch lay_out(const struct stage_context *context, int64_t n,
                              struct memory_layout *layout)
{
    const size_t slices = (size_t)(n + 2 * params_of(context)->rows),
                 threads = (size_t)context->threads, n_views = (size_t)context->in.axes[1].n,
                 row = (size_t)context->in.axes[2].n;
    struct scratch scratch;
    scratch.dead = ts_layout_add(layout, slices * row);
    scratch.good = ts_layout_add(layout, slices * n_views);
    scratch.columns = ts_layout_add(layout, threads * row * sizeof *scratch.columns);
    scratch.values = ts_layout_add(layout, threads * row * sizeof *scratch.values);
    scratch.others = ts_layout_add(layout, threads * row * sizeof *scratch.others);
    scratch.kinds = ts_layout_add(layout, threads * row);
    return scratch;
}

static size_t scratch_bytes(const struct stage_context *context, int64_t n)
{
    struct memory_layout layout = {0};
    lay_out(context, n, &layout);
    return layout.bytes;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* A slab in work, with its halo. */
struct slab {
    const struct stage_context *context;
    const struct ts_image *in;
    struct bad_levels levels;
    int64_t n_views, n; /* n: detector pixels */
    int64_t halo;
    struct scratch scratch;
};

/* Returns true if a value is not a finite number in [lowest, highest). */
TS_VECTORIZED static bool any_bad(const double *values, int64_t n, double lowest, double highest)
{
    int64_t bad = 0;
    for (int64_t i = 0; i < n; i++)
        bad |= !(values[i] >= lowest) | !(values[i] < highest);
    return bad != 0;
}

/* Loads a row. Returns true if it has a pixel that is bad whatever its detector pixel is. */
static bool load_row(const struct slab *slab, int64_t z, int64_t view, double *values)
{
    const struct ts_image *in = slab->in;
    const uint64_t *valid = ts_slice_valid(in, z);
    const char *slice = ts_slice_data(in, z);
    const size_t first = (size_t)(view * slab->n);
    ts_load_f64(values, slice + first * ts_dtype_bytes(in->dtype), in->dtype, (size_t)slab->n);
    return any_bad(values, slab->n, fmax(slab->levels.lowest, -DBL_MAX), slab->levels.highest) ||
           (valid && !ts_valid_all(valid, first, (size_t)slab->n));
}

/* Writes the kinds of a row's pixels, and returns how many are good. `dead` has flags of detector
 * pixels, or is NULL. */
static int64_t find_kinds(const struct slab *slab, int64_t z, int64_t view, const double *values,
                          const unsigned char *dead, unsigned char *kinds)
{
    const uint64_t *valid = ts_slice_valid(slab->in, z);
    int64_t good = 0;
    for (int64_t d = 0; d < slab->n; d++) {
        const bool masked = valid && !ts_valid_at(valid, (size_t)(view * slab->n + d));
        int kind = masked ? BAD_MASKED : ts_bad_kind(values[d], slab->levels);
        if (kind == BAD_NONE && dead && dead[d])
            kind = BAD_DEAD;
        kinds[d] = (unsigned char)kind;
        good += kind == BAD_NONE;
    }
    return good;
}

/* Fills the bad pixels of a row that has good ones. */
static void fill_row(double *values, const unsigned char *kinds, int64_t n)
{
    for (int64_t d = 0, low = -1; d < n; d++) {
        int64_t high = d;
        if (kinds[d] == BAD_NONE) {
            low = d;
            continue;
        }
        while (high < n && kinds[high] != BAD_NONE)
            high++;
        for (const int64_t end = high; d < end; d++)
            values[d] = ts_bad_between(low < 0 ? 0 : values[low], low, end < n ? values[end] : 0,
                                       end < n ? end : -1, d);
        d = high - 1;
    }
}

/* Rounds as the output's type does: to an integer, or to float. */
static double rounded(enum ts_dtype dtype, double value)
{
    return ts_dtype_is_integer(dtype) ? rint(value) : (double)(float)value;
}

/* ---- the first step -------------------------------------------------------------------------- */

/* Marks dead detector pixels, and returns how many there are. A constant one between two that vary
 * is dead. At the ends of the row, air is constant in noiseless data, so that only values of 0 tell
 * that a detector pixel is dead. With columns: all, the user says that the data has noise. */
static int64_t find_dead(const struct slab *slab, const struct bad_column *columns,
                         unsigned char *dead)
{
    const struct bad_pixels_params *params = params_of(slab->context);
    const enum ts_quantity quantity = slab->context->in.quantity;
    const bool zero_is_dead = quantity == TS_COUNTS || quantity == TS_TRANSMISSION;
    const bool all = params->columns == COLUMNS_ALL;
    const int64_t n = slab->n;
    int64_t first = n, last = -1, count = 0;
    for (int64_t d = 0; d < n; d++)
        if (ts_bad_column_varies(&columns[d])) {
            first = d < first ? d : first;
            last = d;
        }
    for (int64_t d = 0; d < n; d++) {
        const bool inside = d > first && d < last,
                   says = inside || (zero_is_dead && columns[d].first == 0);
        const bool looks = all || (params->columns == COLUMNS_FIND && last >= 0 && says);
        dead[d] = looks && ts_bad_column_constant(&columns[d]);
        count += dead[d];
    }
    const bool too_many =
        2 * count > n && !all; /* as in the darks of a detector that counts photons */
    for (int64_t d = 0; d < n && too_many; d++)
        dead[d] = 0;
    count = too_many ? 0 : count;
    for (int64_t d = 0; d < n && params->ratio < INFINITY; d++)
        if (ts_bad_column_stands_out(columns, dead, n, d, params->ratio)) {
            dead[d] = 2;
            count++;
        }
    return count;
}

/* Does what ts_bad_column_add() does, for each pixel of a row without bad ones. */
TS_VECTORIZED static void add_clean_row(const double *values, int64_t n, struct bad_column *columns)
{
    for (int64_t d = 0; d < n; d++) {
        struct bad_column *column = &columns[d];
        column->first = column->n == 0 ? values[d] : column->first;
        column->differs |= values[d] != column->first;
        column->sum += values[d];
        column->n++;
    }
}

static void look_at_slice(const struct slab *slab, int64_t z)
{
    const int64_t n = slab->n, thread = omp_get_thread_num();
    const struct scratch *scratch = &slab->scratch;
    struct bad_column *columns = scratch->columns + thread * n;
    double *values = scratch->values + thread * n;
    unsigned char *kinds = scratch->kinds + thread * n, *dead = scratch->dead + z * n,
                  *good = scratch->good + z * slab->n_views;
    memset(columns, 0, (size_t)n * sizeof *columns);
    for (int64_t view = 0; view < slab->n_views; view++) {
        good[view] = !load_row(slab, z, view, values);
        if (good[view]) {
            add_clean_row(values, n, columns);
            continue;
        }
        find_kinds(slab, z, view, values, NULL, kinds);
        for (int64_t d = 0; d < n; d++)
            if (kinds[d] == BAD_NONE)
                ts_bad_column_add(&columns[d], values[d]);
    }
    const int64_t n_dead = find_dead(slab, columns, dead);
    for (int64_t view = 0; view < slab->n_views; view++) {
        if (good[view] && n_dead < n)
            continue;
        load_row(slab, z, view, values);
        good[view] = find_kinds(slab, z, view, values, dead, kinds) > 0;
    }
}

/* ---- the second step ------------------------------------------------------------------------- */

/* Loads and fills a row that has good pixels, each value rounded to the type of the image. */
static void load_filled(const struct slab *slab, int64_t z, int64_t view, double *values,
                        unsigned char *kinds)
{
    load_row(slab, z, view, values);
    find_kinds(slab, z, view, values, slab->scratch.dead + z * slab->n, kinds);
    fill_row(values, kinds, slab->n);
    for (int64_t d = 0; d < slab->n; d++)
        if (kinds[d] != BAD_NONE)
            values[d] = rounded(slab->in->dtype, values[d]);
}

/* Returns how many steps of `step` rows lead from row *good to the nearest other row with a good
 * pixel, or -1 if there is none within `most` steps. */
static int64_t find_good(const unsigned char *good, int64_t step, int64_t most)
{
    for (int64_t i = 1; i <= most; i++)
        if (good[i * step])
            return i;
    return -1;
}

/* Fills a row without a good pixel from the rows `below` and `above` steps away; one of them may be
 * missing (-1). of_views: these are views, else slices. */
static void fill_from_rows(const struct slab *slab, int64_t z, int64_t view, bool of_views,
                           int64_t below, int64_t above, double *values)
{
    const int64_t n = slab->n, thread = omp_get_thread_num();
    unsigned char *kinds = slab->scratch.kinds + thread * n;
    double *others = slab->scratch.others + thread * n;
    if (below > 0)
        load_filled(slab, of_views ? z : z - below, of_views ? view - below : view, values, kinds);
    if (above > 0)
        load_filled(slab, of_views ? z : z + above, of_views ? view + above : view, others, kinds);
    /* Places are counted from the row below or, without it, from this one. */
    const int64_t here = below > 0 ? below : 0;
    for (int64_t d = 0; d < n; d++)
        values[d] = ts_bad_between(values[d], below > 0 ? 0 : -1, others[d],
                                   above > 0 ? here + above : -1, here);
}

/* Fills a row without a good pixel. Returns false if nothing near it is good. */
static bool fill_blank(const struct slab *slab, int64_t z, int64_t view, double *values)
{
    const unsigned char *good = slab->scratch.good + z * slab->n_views + view;
    int64_t below = find_good(good, -1, view), above = find_good(good, 1, slab->n_views - 1 - view);
    const bool of_views = below > 0 || above > 0;
    if (!of_views) {
        below = find_good(good, -slab->n_views, slab->halo);
        above = find_good(good, slab->n_views, slab->halo);
    }
    if (below < 0 && above < 0)
        return false;
    fill_from_rows(slab, z, view, of_views, below, above, values);
    return true;
}

#define STORE(suffix, type)                                                                        \
    case TS_##suffix:                                                                              \
        ((type *)row)[d] = (type)value;                                                            \
        break;
static void bad_pixels_store(void *row, enum ts_dtype dtype, int64_t d, double value)
{
    switch (dtype) {
        TS_IMAGE_DTYPES(STORE)
    default:
        break; /* images have no other type */
    }
}

static void add_counts(const struct slab *slab, int64_t z, const unsigned char *kinds, bool left)
{
    uint64_t counts[BAD_KINDS] = {0};
    for (int64_t d = 0; d < slab->n; d++)
        counts[kinds[d]]++;
    counts[BAD_LEFT] = left ? (uint64_t)slab->n : 0;
    for (int kind = BAD_MASKED; kind < BAD_KINDS; kind++) {
        uint64_t *to = ts_slice_data(&slab->context->tables[kind - 1], z);
#pragma omp atomic
        *to += counts[kind];
    }
}

/* Maps a row of output slice z; the input begins `halo` slices before the output. */
static void map_row(const struct slab *slab, int64_t z, int64_t view, char *out)
{
    const enum ts_dtype dtype = slab->in->dtype;
    const int64_t n = slab->n, thread = omp_get_thread_num(), from = z + slab->halo;
    const size_t bytes = (size_t)n * ts_dtype_bytes(dtype);
    double *values = slab->scratch.values + thread * n;
    unsigned char *kinds = slab->scratch.kinds + thread * n;
    const unsigned char *dead = slab->scratch.dead + from * n;
    memcpy(out, (const char *)ts_slice_data(slab->in, from) + (size_t)view * bytes, bytes);
    if (!load_row(slab, from, view, values) && !memchr(dead, 1, (size_t)n) &&
        !memchr(dead, 2, (size_t)n))
        return;
    const int64_t good = find_kinds(slab, from, view, values, dead, kinds);
    if (good > 0)
        fill_row(values, kinds, n);
    add_counts(slab, z, kinds, false);
    if (good == 0 && !fill_blank(slab, from, view, values)) {
        memset(kinds, BAD_NONE, (size_t)n);
        add_counts(slab, z, kinds, true);
        return;
    }
    if (good == 0) /* fill_blank() has loaded other rows in their place */
        memset(kinds, BAD_DEAD, (size_t)n);
    for (int64_t d = 0; d < n; d++)
        if (kinds[d] != BAD_NONE)
            bad_pixels_store(out, dtype, d, rounded(dtype, values[d]));
}

static enum ts_status bad_pixels_map(const struct stage_context *context, const struct ts_image *in,
                                     struct ts_image *out, void *buffer)
{
    const struct bad_pixels_params *params = params_of(context);
    const int64_t nz = out->axes[0].n, n_views = out->axes[1].n, n = out->axes[2].n;
    const size_t bytes = (size_t)n * ts_dtype_bytes(out->dtype);
    struct memory_layout layout = {.base = buffer};
    const struct slab slab = {.context = context,
                              .in = in,
                              .levels = {params->lowest, params->highest},
                              .n_views = n_views,
                              .n = n,
                              .halo = params->rows,
                              .scratch = lay_out(context, nz, &layout)};
    for (int table = 0; table < BAD_KINDS - 1; table++)
        memset(context->tables[table].data, 0, (size_t)nz * sizeof(uint64_t));
#pragma omp parallel for schedule(static) num_threads(context->threads)
    for (int64_t z = 0; z < nz + 2 * slab.halo; z++)
        look_at_slice(&slab, z);
#pragma omp parallel for schedule(static) num_threads(context->threads)
    for (int64_t row = 0; row < nz * n_views; row++)
        map_row(&slab, row / n_views, row % n_views, (char *)out->data + (size_t)row * bytes);
    return TS_OK;
}

const struct stage bad_pixels_stage = {
    .name = "bad_pixels",
    .summary = "fill gaps, dead, hot, saturated and NaN pixels of projections from their neighbors",
    .doc = "A bad pixel becomes `(a (r - d) + b (d - l)) / (r - l)`, with l and r the nearest good "
           "detector pixels of its row and a and b their values: linear interpolation along the "
           "detector, over gaps of any width. Beyond the last good one it becomes the value of "
           "that. All else stays as it is, to the bit. Bad are, by the first that fits,\n\n"
           "- `masked`: pixels that the mask of the image marks, such as `pixel_mask` of an NXtomo "
           "file ([padding.md](../padding.md)); the output has no mask,\n"
           "- `nonfinite`: NaN and infinity,\n"
           "- `saturated`: values at `highest` or above. Without it that is the largest value of "
           "an integer type; a detector of 12 bits needs `highest: 4095`, and floats need the "
           "level of the detector,\n"
           "- `low`: values below `lowest`, the -1 and -2 with which some detectors mark gaps,\n"
           "- `dead`: all pixels of a detector pixel whose good values, at least 8, are the same "
           "in all views. At both ends of a row, whose air looks so in noiseless data, only 0 "
           "counts or a transmission of 0 are dead. If more than half of a row would be dead, as "
           "in darks, none is. `columns: all` knows no such exceptions, and finds rows of the "
           "detector that are dead in the projections only. With `ratio`, those as well whose mean "
           "is far from that of their neighbors.\n\n"
           "These are tables (z), which count the pixels of each slice; a run ends with a note of "
           "their sums. A row of one view without a good pixel is interpolated between the nearest "
           "views that have one. If no view of the slice has one, it is interpolated between the "
           "nearest slices, at most `rows` away. What is left then stays as it is and is counted "
           "as `left`; a run fails if all pixels are.\n\n"
           "Detector pixels that are stuck or dead are best filled as transmissions, where the "
           "strength of the beam and of each pixel is out. `dead: nan` leaves to this stage those "
           "that are so in the flats as well:\n\n"
           "    stages:\n"
           "      - flat_field: {flats: flats, darks: darks, dead: nan}\n"
           "      - bad_pixels: {columns: all}\n\n"
           "Gaps and saturated pixels are known by their counts. Flats and darks have the same "
           "ones as the projections, and are filled in the same way:\n\n"
           "    stages:\n"
           "      - bad_pixels: {input: flats, name: good_flats}\n"
           "      - bad_pixels: {input: darks, name: good_darks}\n"
           "      - bad_pixels: {input: input}\n"
           "      - flat_field: {flats: good_flats, darks: good_darks}\n\n"
           "`outliers` replaces pixels that are hot in some views and not saturated.\n\n"
           "Where a dense object lets hardly a photon pass, zero and negative values are "
           "measurements. A run warns (`filled-starved`) if at least 16 pixels and 0.05 % of the "
           "middle slice that are filled are between dark ones, or 4 or more beside each other, "
           "and not on the same detector pixels in nine of ten views, and if these are far more "
           "than elsewhere. An object that is opaque on the same detector pixels in all views is "
           "not told from a gap.\n\n"
           "**Exactness.** Products and sums are exact in double for gaps of less than 2^21 "
           "pixels; an integer is rounded half to even. A pixel that is filled from other rows is "
           "made of their rounded values.\n\n"
           "**Cost.** Each value is read twice and written once, and the slices of the `rows` "
           "beside a slab are looked at again.",
    STAGE_TAKES_SINOGRAMS(TS_ANY_QUANTITY, TS_ANY_BEAM),
    STAGE_PARAMS(bad_pixels_params, struct bad_pixels_params),
    .resolve = bad_pixels_resolve,
    .reach = bad_pixels_reach,
    .tables = bad_pixels_tables,
    .scratch_bytes = scratch_bytes,
    .map = bad_pixels_map,
    .validity = VALIDITY_ENDS,
    .cuda = STAGE_CUDA(bad_pixels_cuda),
    .tolerance = {.why = "products and sums of an interpolation are exact in double, and its "
                         "quotient is rounded once"},
    .bench = "columns=find|columns=find ratio=3|columns=all|rows=0",
};
