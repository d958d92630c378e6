/* SPDX-License-Identifier: Apache-2.0
 *
 * Every method of both devices counts what the definition says, over the types, ranges,
 * distributions and shapes at which their tables change.
 */
#include "stages/histogram/histogram.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/stages/histogram/histogram_oracle.h"
#include "tests/support/stage_run.h"
#include "tests/support/support.h"

static const char *const methods[] = {"auto",      "global",      "sub-histogram", "shared",
                                      "occupancy", "warp-tagged", "lane-private",  "sampled"};
enum { METHODS = sizeof methods / sizeof *methods, SLABS = 2 };

/* The number of methods of the device in use: warp-tagged needs the lanes of a warp. */
static size_t n_methods(void)
{
    return ts_test_device ? METHODS : METHODS - 1;
}

static size_t few_slabs(void)
{
    return ts_test_few() ? 1 : SLABS;
}

static bool has_method(const char *method, enum ts_dtype dtype)
{
    return strcmp(method, "sampled") == 0 ? ts_dtype_bytes(dtype) == 2
                                          : ts_test_device || strcmp(method, "warp-tagged") != 0;
}

/* Counts, then below, above and NaN, of one row of the tables. */
struct expected_row {
    uint64_t *counts, outside[3];
};

static void expect_row(const struct stage_run *run, const struct expected_row *row, int64_t z,
                       const char *what)
{
    static const char *const names[] = {"underflow", "overflow", "nan"};
    const int64_t bins = ((const struct histogram_params *)run->set.values)->bins;
    const uint64_t *counts = (const uint64_t *)ts_test_table(run, "counts")->data + z * bins;
    for (int64_t bin = 0; bin < bins; bin++)
        if (counts[bin] != row->counts[bin]) /* Criterion counts what it asserts, which takes longer
                                                than to compare */
            cr_assert_fail("%s: z %lld bin %lld is %llu, expected %llu", what, (long long)z,
                           (long long)bin, (unsigned long long)counts[bin],
                           (unsigned long long)row->counts[bin]);
    for (int i = 0; i < 3; i++)
        cr_assert_eq(((const uint64_t *)ts_test_table(run, names[i])->data)[z], row->outside[i],
                     "%s: z %lld %s", what, (long long)z, names[i]);
}

/* One run against the rows, which are the volume's or the slices'; slabs are shared out over two
 * threads. */
static void check_run(const struct ts_image *in, const char *assignments, int64_t slab,
                      const struct expected_row *rows, int64_t n_rows)
{
    struct stage_run run;
    char what[320];
    snprintf(what, sizeof what, "{%s} %s slab %lld", assignments, ts_dtype_name(in->dtype),
             (long long)slab);
    const enum ts_status status =
        ts_test_run(&run, &histogram_stage, assignments, in, NULL, slab, slab > 0 ? 2 : 1);
    if (status != TS_OK)
        ts_diag_print(run.diag, stderr);
    cr_assert_eq(status, TS_OK, "%s", what);
    cr_assert_eq(ts_image_count(ts_test_table(&run, "underflow")), (size_t)n_rows, "%s", what);
    for (int64_t z = 0; z < n_rows; z++)
        expect_row(&run, &rows[z], z, what);
    ts_test_run_clear(&run);
}

/* All methods over slabs. Returns how many runs. */
static size_t check_methods(const struct ts_image *in, const char *assignments,
                            const struct expected_row *rows, int64_t n_rows)
{
    static const int64_t slabs[SLABS] = {0, 3};
    size_t runs = 0;
    for (int m = 0; m < METHODS; m++)
        for (size_t s = 0; s < few_slabs() && has_method(methods[m], in->dtype); s++) {
            char text[256];
            snprintf(text, sizeof text, "%s method=%s", assignments, methods[m]);
            check_run(in, text, slabs[s], rows, n_rows);
            runs++;
        }
    return runs;
}

/* Methods that leave tables, each with every way to merge them. */
static size_t check_merges(const struct ts_image *in, const char *assignments,
                           const struct expected_row *rows, int64_t n_rows)
{
    static const char *const tables[] = {"sub-histogram", "shared", "occupancy", "warp-tagged",
                                         "lane-private"};
    static const char *const merges[] = {"atomic", "fan-in", "two-level"};
    size_t runs = 0;
    for (size_t m = 0; m < sizeof tables / sizeof *tables; m++)
        for (size_t i = 0; i < sizeof merges / sizeof *merges; i++) {
            char text[256];
            if (ts_dtype_bytes(in->dtype) == 1 && strcmp(tables[m], "lane-private") == 0)
                continue;
            snprintf(text, sizeof text, "%s method=%s merge=%s", assignments, tables[m], merges[i]);
            check_run(in, text, m % 2 ? 0 : 3, rows, n_rows);
            runs++;
        }
    return runs;
}

typedef size_t (*check_rows)(const struct ts_image *in, const char *assignments,
                             const struct expected_row *rows, int64_t n_rows);

/* By the definition, between edges that are known. */
static size_t check_by(check_rows check, const struct ts_image *in, const char *assignments,
                       double low, double high, int64_t bins)
{
    const bool each = strstr(assignments, "scope=slice") != NULL;
    const int64_t n_rows = each ? in->axes[0].n : 1;
    const size_t n = ts_image_count(in) / (size_t)n_rows;
    struct expected_row *rows = calloc((size_t)n_rows, sizeof *rows);
    double *values = malloc(ts_image_count(in) * sizeof *values);
    ts_load_f64(values, in->data, in->dtype, ts_image_count(in));
    for (int64_t z = 0; z < n_rows; z++) {
        rows[z].counts = calloc((size_t)bins, sizeof *rows[z].counts);
        ts_histogram_oracle_counts(values + (size_t)z * n, n, low, high, bins, rows[z].counts,
                                   &rows[z].outside[0], &rows[z].outside[1], &rows[z].outside[2]);
    }
    const size_t runs = check(in, assignments, rows, n_rows);
    for (int64_t z = 0; z < n_rows; z++)
        free(rows[z].counts);
    free(rows);
    free(values);
    return runs;
}

static size_t check_definition(const struct ts_image *in, const char *assignments, double low,
                               double high, int64_t bins)
{
    return check_by(check_methods, in, assignments, low, high, bins);
}

TEST_ON_BOTH(histogram, every_method_agrees_with_the_definition)
{
    static const struct {
        const char *assignments;
        double low, high;
        int64_t bins;
    } cases[] = {{"bins=64 range=0,64", 0, 64, 64},
                 {"bins=33 range=-100,101.5 scope=slice", -100, 101.5, 33},
                 {"bins=4096 range=-1024,3072", -1024, 3072, 4096},
                 {"bins=1000 range=900,903", 900, 903, 1000},
                 {"bins=700 range=-0.25,900 scope=slice", -0.25, 900, 700}};
    size_t runs = 0;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int dtype = TS_U8; dtype <= TS_F32; dtype++)
            for (int values = VALUES_RANDOM;
                 values <= (ts_test_few() ? VALUES_RANDOM : VALUES_CONSTANT); values++) {
                if (ts_test_few() && dtype != 2 * (int)(c % 4))
                    continue;
                struct ts_image in =
                    ts_test_image(4, 23, 41, (enum ts_dtype)dtype, (enum stage_values)values, 5);
                if (dtype == TS_F32) {
                    float *data = in.data;
                    data[3] = data[2500] = NAN;
                    data[5] = INFINITY;
                    data[6] = -INFINITY;
                }
                runs += check_definition(&in, cases[c].assignments, cases[c].low, cases[c].high,
                                         cases[c].bins);
                free(in.data);
            }
    cr_assert_eq(runs, ts_test_few() ? 5 * n_methods() - 4 : 5 * 3 * 2 * (7 * n_methods() - 5));
}

/* So many pixels that there are many tables, not a power of two of them, and values in all; of a
 * volume, of slices, of more bins than one pass counts, and of rows that 16 strips of 512 columns
 * do not span. A table that is left out, or added twice, is missed. */
Test(histogram, every_merge_of_tables_on_cuda)
{
    static const int64_t shapes[][3] = {
        {7, 301, 523}, {37, 61, 67}, {3, 19, 9001}, {1, 3, 5}, {9, 13, 37}};
    const size_t n_shapes = sizeof shapes / sizeof *shapes - 1; /* the last for compute-sanitizer */
    static const enum ts_dtype dtypes[] = {TS_F32, TS_U16, TS_U8};
    size_t runs = 0;
    ts_test_begin_cuda();
    for (size_t s = ts_test_few() ? n_shapes : 0; s < n_shapes + (ts_test_few() ? 1 : 0); s++)
        for (size_t t = 0; t < sizeof dtypes / sizeof *dtypes; t++) {
            struct ts_image in = ts_test_image(shapes[s][0], shapes[s][1], shapes[s][2], dtypes[t],
                                               VALUES_RANDOM, 5 + t);
            runs += check_by(check_merges, &in, "bins=33 range=0,200", 0, 200, 33);
            runs += check_by(check_merges, &in, "bins=33 range=0,200 scope=slice", 0, 200, 33);
            if (!ts_test_few() && s == 1 && dtypes[t] == TS_F32)
                runs += check_by(check_merges, &in, "bins=65536 range=0,65536 scope=slice", 0,
                                 65536, 65536);
            free(in.data);
        }
    ts_test_end_cuda();
    cr_assert_eq(runs, ts_test_few() ? 2 * (2 * 15 + 12) : 4 * 2 * (2 * 15 + 12) + 15);
}

/* Bytes in lanes, values counted one by one in a sample's table: no tables are left. */
Test(histogram, refuses_a_merge_of_no_tables_on_cuda)
{
    static const char *const tried[] = {"shared", "auto", "global", "sampled"};
    ts_test_begin_cuda();
    for (size_t m = 0; m < sizeof tried / sizeof *tried; m++) {
        struct ts_image in = ts_test_image(2, 3, 4, TS_U16, VALUES_CONSTANT, 1);
        const enum ts_status expected = m == 0 ? TS_OK : TS_BAD_CHAIN;
        struct stage_run run;
        char text[64];
        snprintf(text, sizeof text, "merge=fan-in method=%s", tried[m]);
        cr_assert_eq(ts_test_run(&run, &histogram_stage, text, &in, NULL, 0, 1), expected, "{%s}",
                     text);
        if (m > 0)
            cr_assert_str_eq(ts_diag_get(run.diag, 0)->code, "merge-without-tables");
        ts_test_run_clear(&run);
        free(in.data);
    }
    ts_test_end_cuda();
}

/* Little enough for compute-sanitizer. */
Test(histogram, every_method_on_few_pixels_on_cuda)
{
    ts_test_begin_cuda();
    for (int dtype = TS_U8; dtype <= TS_F32; dtype++)
        if (dtype == TS_U8 || dtype == TS_I16 || dtype == TS_F32) {
            struct ts_image in = ts_test_image(4, 13, 37, (enum ts_dtype)dtype, VALUES_CT, 5);
            check_definition(&in, "bins=16 range=0,200", 0, 200, 16);
            check_definition(&in, "bins=16 range=0,200 scope=slice", 0, 200, 16);
            free(in.data);
        }
    ts_test_end_cuda();
}

/* There are as many bins as a block's shared memory holds counters, and some fewer: it also holds
 * the bins themselves. */
Test(histogram, tables_as_large_as_shared_memory_on_cuda)
{
    static const int tables[] = {1, 8, 32}; /* a block, a warp, a lane */
    static const int fewer[] = {0, 1, 9, 11, 12, 13, 16, 17, 63, 64, 65};
    static const int capabilities[] = {0, 75};
    size_t runs = 0;
    for (size_t device = 0; device < sizeof capabilities / sizeof *capabilities; device++)
        for (size_t table = 0; table < sizeof tables / sizeof *tables; table++)
            for (size_t i = 0; i < (ts_test_few() ? 1 : sizeof fewer / sizeof *fewer); i++)
                for (int dtype = ts_test_few() ? TS_F32 : TS_U32; dtype <= TS_F32; dtype++) {
                    struct ts_image in =
                        ts_test_image(2, 7, 41, (enum ts_dtype)dtype, VALUES_CT, 5);
                    char text[64];
                    ts_test_begin_cuda_like(capabilities[device]);
                    const int64_t counters =
                        ts_test_device->block_shared_bytes / (int)sizeof(uint32_t);
                    const int64_t bins = counters / tables[table] - BINS_EXTRA_SLOTS - fewer[i];
                    snprintf(text, sizeof text, "bins=%lld range=0,300", (long long)bins);
                    runs += check_definition(&in, text, 0, 300, bins);
                    ts_test_end_cuda();
                    free(in.data);
                }
    cr_assert_eq(runs, 2 * 3 * (ts_test_few() ? 1 : 11 * 3 * 2) * (METHODS - 1));
}

/* ---- whole types ----------------------------------------------------------------------------- */

enum pattern {
    UNIFORM,
    NARROW,
    CHECKER,
    ONE_VALUE,
    RARE_OUTLIERS,
    PADDED,
    BRIGHT_PATCH,
    HALF_AND_HALF,
    COMMON_IN_NOISE,
    PATTERNS
};

static uint32_t key_of(enum pattern pattern, size_t i, size_t x, size_t y, size_t z,
                       uint64_t *state)
{
    const uint32_t random = (uint32_t)(ts_random_next(state) >> 32);
    switch (pattern) {
    case UNIFORM:
        return random;
    case NARROW:
        return 31000 + random % 700 + random / 65536 % 700;
    case CHECKER:
        return (x ^ y) & 1 ? 3000 : 100;
    case ONE_VALUE:
        return 51966;
    case RARE_OUTLIERS:
        return random % 5003 == 0 ? random >> 16 : 1000 + (random >> 8) % 50;
    case PADDED:
        return x < 40 + 3 * (z % 7) ? 0 : 40000 + (random & 0xFFF);
    case BRIGHT_PATCH:
        return x / 61 == 1 && y / 50 == z % 3 ? random : 200 + (random & 0x3F);
    case HALF_AND_HALF:
        return i % 65536 < 32768 ? 5 : 32773; /* both halves of a packed word */
    default:
        return random % 8 < 5 ? 7 : random >> 8;
    }
}

/* Fills the image and counts its keys, a row of them for each slice. */
static uint64_t *fill(struct ts_image *in, enum pattern pattern)
{
    const bool bytes = ts_dtype_bytes(in->dtype) == 1,
               is_signed = in->dtype == TS_I8 || in->dtype == TS_I16;
    const size_t n_keys = bytes ? 256 : 65536, columns = (size_t)in->axes[2].n,
                 slice = ts_slice_count(in);
    uint64_t *counts = calloc((size_t)in->axes[0].n * n_keys, sizeof *counts),
             state = 11 + (uint64_t)pattern;
    for (size_t i = 0; i < ts_image_count(in); i++) {
        const size_t z = i / slice;
        const uint32_t key = key_of(pattern, i, i % columns, i % slice / columns, z, &state) &
                             (uint32_t)(n_keys - 1);
        if (bytes)
            ((uint8_t *)in->data)[i] = (uint8_t)(key ^ (is_signed ? 0x80 : 0));
        else
            ((uint16_t *)in->data)[i] = (uint16_t)(key ^ (is_signed ? 0x8000 : 0));
        counts[z * n_keys + key]++;
    }
    return counts;
}

static size_t check_pattern(enum pattern pattern, enum ts_dtype dtype, const int64_t shape[3])
{
    struct ts_image in = ts_test_image(1, 1, 1, dtype, VALUES_CONSTANT, 1);
    const size_t n_keys = ts_dtype_bytes(dtype) == 1 ? 256 : 65536;
    struct expected_row volume = {calloc(n_keys, sizeof(uint64_t)), {0}};
    struct expected_row *rows = calloc((size_t)shape[0], sizeof *rows);
    char text[64];
    free(in.data);
    for (int axis = 0; axis < 3; axis++)
        in.axes[axis].n = shape[axis];
    in.data = malloc(ts_image_bytes(&in));
    uint64_t *counts = fill(&in, pattern);
    for (size_t z = 0; z < (size_t)shape[0]; z++) {
        rows[z].counts = counts + z * n_keys;
        for (size_t key = 0; key < n_keys; key++)
            volume.counts[key] += rows[z].counts[key];
    }
    snprintf(text, sizeof text, "limits=dtype bins=%zu", n_keys);
    size_t runs = check_methods(&in, text, &volume, 1);
    snprintf(text, sizeof text, "limits=dtype scope=slice bins=%zu", n_keys);
    runs += check_methods(&in, text, rows, shape[0]);
    free(volume.counts);
    free(rows);
    free(counts);
    free(in.data);
    return runs;
}

/* Blocks with 64 or 99 KiB of shared memory count 16-bit values in passes over ranges of them,
 * which leave out no pixel that does not fill a vector. */
Test(histogram, whole_types_with_little_shared_memory_on_cuda)
{
    static const int64_t shapes[][3] = {{3, 61, 67}, {1, 1, 1}, {2, 301, 523}};
    static const int capabilities[] = {75, 86};
    size_t runs = 0;
    for (size_t device = 0; device < sizeof capabilities / sizeof *capabilities; device++) {
        ts_test_begin_cuda_like(capabilities[device]);
        for (int pattern = UNIFORM; pattern < (ts_test_few() ? NARROW : PATTERNS); pattern++)
            for (size_t shape = 0; shape < (ts_test_few() ? 1 : sizeof shapes / sizeof *shapes);
                 shape++)
                runs += check_pattern((enum pattern)pattern, pattern % 2 ? TS_I16 : TS_U16,
                                      shapes[shape]);
        struct ts_image in =
            ts_test_image(4, 23, 41, TS_I16, VALUES_RANDOM, 5); /* most outside of the range */
        runs += check_definition(&in, "bins=33 range=-100,101.5 scope=slice", -100, 101.5, 33);
        free(in.data);
        ts_test_end_cuda();
    }
    cr_assert_eq(runs, 2 * ((ts_test_few() ? 1 : PATTERNS * 3) * 2 + 1) * few_slabs() * METHODS);
}

TEST_ON_BOTH(histogram, every_method_counts_whole_types)
{
    static const int64_t shapes[][3] = {{5, 61, 67}, {1, 1, 1}, {3, 1, 7}, {2, 301, 523}};
    size_t runs = 0;
    const int step = ts_test_few() ? 3 : 1;
    for (int pattern = UNIFORM; pattern < PATTERNS; pattern += step)
        for (size_t shape = 0; shape < (ts_test_few() ? 1 : sizeof shapes / sizeof *shapes);
             shape++)
            for (int dtype = ts_test_few() ? TS_U16 : TS_U8;
                 dtype <= (ts_test_few() ? TS_U16 : TS_I16); dtype++)
                runs += check_pattern((enum pattern)pattern, (enum ts_dtype)dtype, shapes[shape]);
    cr_assert_eq(runs, ts_test_few() ? 3 * 2 * n_methods()
                                     : PATTERNS * 4 * 2 * 2 * 2 * (2 * n_methods() - 1));
}

/* Checks the bins of the slices, whose counts are given, and of the volume. */
static void check_bins_of_type(const struct ts_image *in, const uint64_t *counts, size_t n_bins,
                               int pattern)
{
    uint64_t *all = calloc(n_bins, sizeof *all);
    for (size_t z = 0; z < (size_t)in->axes[0].n; z++)
        for (size_t bin = 0; bin < n_bins; bin++)
            all[bin] += counts[z * n_bins + bin];
    for (int each = 0; each < 2; each++) {
        struct stage_run run;
        char text[64];
        snprintf(text, sizeof text, "limits=dtype bins=%zu%s", n_bins, each ? " scope=slice" : "");
        cr_assert_eq(ts_test_run(&run, &histogram_stage, text, in, NULL, 0, 1), TS_OK);
        const size_t n = each ? (size_t)in->axes[0].n * n_bins : n_bins;
        cr_assert(
            !memcmp(ts_test_table(&run, "counts")->data, each ? counts : all, n * sizeof *counts),
            "pattern %d, %lld slices of %s, {%s}", pattern, (long long)in->axes[0].n,
            ts_dtype_name(in->dtype), text);
        ts_test_run_clear(&run);
    }
    free(all);
}

/* So many slices that each is counted by one block, small and large; and all of them as a volume.
 * Values of the last are more than 65,535 in one bin, and a device counts 32,768 bins or fewer in
 * groups of values. */
Test(histogram, many_slices_on_cuda)
{
    static const int64_t shapes[][3] = {
        {150, 97, 131}, {700, 5, 3}, {290, 64, 64}, {130, 350, 331}};
    ts_test_begin_cuda();
    for (int pattern = UNIFORM; pattern < (ts_test_few() ? NARROW : PATTERNS); pattern++)
        for (size_t shape = ts_test_few() ? 1 : 0; shape < sizeof shapes / sizeof *shapes;
             shape++) {
            const enum ts_dtype dtype = shape == 1 ? TS_I8 : pattern % 2 ? TS_I16 : TS_U16;
            struct ts_image in = ts_test_image(1, 1, 1, dtype, VALUES_CONSTANT, 1);
            const size_t n_keys = ts_dtype_bytes(dtype) == 1 ? 256 : 65536;
            if (shape == 3 && (pattern != COMMON_IN_NOISE || ts_test_few()))
                continue;
            free(in.data);
            for (int axis = 0; axis < 3; axis++)
                in.axes[axis].n = shapes[shape][axis];
            in.data = malloc(ts_image_bytes(&in));
            uint64_t *counts = fill(&in, (enum pattern)pattern);
            check_bins_of_type(&in, counts, n_keys, pattern);
            for (size_t n_bins = n_keys / 2; shape == 3 && n_bins >= n_keys / 8; n_bins /= 2) {
                for (size_t i = 0; i < (size_t)in.axes[0].n * n_bins; i++)
                    counts[i] = counts[2 * i] + counts[2 * i + 1];
                check_bins_of_type(&in, counts, n_bins, pattern);
            }
            free(counts);
            free(in.data);
        }
    ts_test_end_cuda();
}

/* More pixels of one value than the 16 bits of a packed count can hold, in every block. */
Test(histogram, counts_past_16_bits_on_cuda)
{
    struct ts_image in = ts_test_image(1, 1, 1, TS_U8, VALUES_CONSTANT, 1);
    const int64_t n = (INT64_C(1) << (ts_test_few() ? 14 : 27)) + 3 * 4099;
    ts_test_begin_cuda();
    free(in.data);
    in.axes[0].n = 1;
    in.axes[1].n = n / 4099;
    in.axes[2].n = 4099;
    in.data = malloc(ts_image_bytes(&in));
    memset(in.data, 3, ts_image_bytes(&in));
    for (int m = 0; m < METHODS; m++) {
        static const char *const ranges[] = {"bins=2 range=2,4", "bins=256 limits=dtype",
                                             "bins=256 limits=dtype"};
        for (int wide = 0; wide < 3; wide++) {
            struct stage_run run;
            char text[128];
            in.dtype = wide == 2 ? TS_U16 : TS_U8;
            in.axes[2].n = wide == 2 ? 2049 : 4099;
            if (!has_method(methods[m], in.dtype))
                continue;
            snprintf(text, sizeof text, "%s method=%s", ranges[wide], methods[m]);
            cr_assert_eq(ts_test_run(&run, &histogram_stage, text, &in, NULL, 0, 1), TS_OK, "{%s}",
                         text);
            const uint64_t found =
                ((const uint64_t *)ts_test_table(&run, "counts")->data)[wide == 1   ? 3
                                                                        : wide == 2 ? 3
                                                                                    : 1];
            cr_assert_eq(found, ts_image_count(&in), "{%s}: %llu of %zu", text,
                         (unsigned long long)found, ts_image_count(&in));
            ts_test_run_clear(&run);
        }
    }
    free(in.data);
    ts_test_end_cuda();
}
