/* SPDX-License-Identifier: Apache-2.0
 *
 * Histograms by label: each label's values are counted as the definition says, nothing is dropped,
 * and a plan may hold as many counts as its memory budget allows, up to what a device numbers.
 */
#include "stages/histogram/histogram.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/stages/histogram/histogram_oracle.h"
#include "tests/support/stage_run.h"
#include "tests/support/support.h"

Test(histogram, thousands_of_labels_with_a_bin_for_each_16_bit_value)
{
    static const char *const rows[] = {"bins=65536 n_labels=4096 range=0,65536",
                                       "bins=65536 n_labels=8190", "bins=8000 n_labels=65536"};
    struct ts_image in = ts_test_image(2, 3, 4, TS_U16, VALUES_CONSTANT, 1),
                    labels = ts_test_image(2, 3, 4, TS_I32, VALUES_CONSTANT, 1);
    const struct ts_image *const references[STAGE_REFERENCES] = {NULL, &labels};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ts_diag *diag = ts_diag_create();
        struct param_set set;
        struct stage_context context;
        ts_test_params(&histogram_stage, rows[i], &set);
        cr_assert_eq(
            ts_stage_prepare(&histogram_stage, &set, &in, references, 1, NULL, diag, &context),
            TS_OK, "%s", rows[i]);
        ts_test_params_clear(&set);
        ts_diag_destroy(diag);
    }
    free(in.data);
    free(labels.data);
}

static int64_t label_at(size_t i, size_t columns, int64_t n_labels, uint64_t *state)
{
    const int64_t area = (int64_t)(i / columns / 7 + i % columns / 9 * 3);
    return ts_random_next(state) >> 60 == 0 ? (int64_t)(ts_random_next(state) % 5000) - 40
                                            : area % (n_labels + 1);
}

static struct ts_image make_labels(const struct ts_image *in, enum ts_dtype dtype, int64_t n_labels)
{
    struct ts_image labels = *in;
    uint64_t state = 3;
    labels.dtype = dtype;
    labels.data = malloc(ts_image_bytes(&labels));
    for (size_t i = 0; i < ts_image_count(&labels); i++) {
        const int64_t label = label_at(i, (size_t)labels.axes[2].n, n_labels, &state);
        memcpy((char *)labels.data + i * ts_dtype_bytes(dtype), &label, ts_dtype_bytes(dtype));
    }
    return labels;
}

/* Every label's values, picked out and counted by the definition; then all others'. */
static void expect_labels(const struct stage_run *run, const struct ts_image *in,
                          const struct ts_image *labels, const char *what)
{
    const struct histogram_params *params = run->set.values;
    const size_t n = ts_image_count(in), bins = (size_t)params->bins;
    const double *edges = ts_test_table(run, "edges")->data;
    double *values = malloc(n * sizeof *values), *tags = malloc(n * sizeof *tags),
           *picked = malloc(n * sizeof *picked);
    uint64_t *counts = calloc(bins, sizeof *counts), outside[3], total = 0;
    ts_load_f64(values, in->data, in->dtype, n);
    ts_load_f64(tags, labels->data, labels->dtype, n);
    for (int64_t label = 0; label <= params->n_labels; label++) {
        const bool others = label == params->n_labels;
        size_t n_picked = 0;
        for (size_t i = 0; i < n; i++)
            if (others ? !(tags[i] >= 0 && tags[i] < (double)params->n_labels)
                       : tags[i] == (double)label)
                picked[n_picked++] = values[i];
        ts_histogram_oracle_counts(picked, n_picked, edges[0], edges[bins], params->bins, counts,
                                   &outside[0], &outside[1], &outside[2]);
        const uint64_t *found =
            others
                ? ts_test_table(run, "other_counts")->data
                : (const uint64_t *)ts_test_table(run, "label_counts")->data + (size_t)label * bins;
        cr_assert(!memcmp(found, counts, bins * sizeof *counts), "%s: label %lld", what,
                  (long long)label);
        static const char *const names[] = {"label_underflow", "label_overflow", "label_nan"};
        for (int i = 0; i < 3; i++) {
            const double seen = others ? ts_test_table_at(run, "other_outside", i)
                                       : ts_test_table_at(run, names[i], label);
            cr_assert_eq(seen, (double)outside[i], "%s: label %lld outside %d", what,
                         (long long)label, i);
        }
        total += n_picked;
    }
    cr_assert_eq(total, n);
    ts_histogram_oracle_counts(values, n, edges[0], edges[bins], params->bins, counts, &outside[0],
                               &outside[1], &outside[2]);
    cr_assert(!memcmp(ts_test_table(run, "counts")->data, counts, bins * sizeof *counts), "%s: all",
              what);
    free(values);
    free(tags);
    free(picked);
    free(counts);
}

TEST_ON_BOTH(histogram, labels_have_a_histogram_each)
{
    static const struct {
        const char *assignments;
        int64_t n_labels;
    } cases[] = {{"bins=16 n_labels=5", 5},
                 {"bins=100 range=-50,90.5 n_labels=60", 60},
                 {"bins=4 range=0,100 n_labels=4096", 4096}};
    static const int64_t slabs[] = {0, 2};
    size_t runs = 0;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int dtype = TS_U8; dtype <= TS_F32; dtype++)
            for (int tag = TS_U8; tag <= TS_I32; tag++)
                for (size_t s = 0; s < 2; s++) {
                    if (ts_test_few() && (s == 1 || (dtype + 2 * tag + (int)c) % 5 != 0))
                        continue;
                    if (c == 2 &&
                        (dtype + tag) % 4 != 0) /* the definition by label takes its time */
                        continue;
                    struct ts_image in =
                        ts_test_image(3, 23, 31, (enum ts_dtype)dtype, VALUES_RANDOM, 8);
                    struct ts_image labels =
                        make_labels(&in, (enum ts_dtype)tag, cases[c].n_labels);
                    const struct ts_image *const references[STAGE_REFERENCES] = {NULL, &labels};
                    struct stage_run run;
                    char what[200];
                    if (dtype == TS_F32)
                        ((float *)in.data)[7] = NAN;
                    snprintf(what, sizeof what, "{%s} %s by %s slab %lld", cases[c].assignments,
                             ts_dtype_name(in.dtype), ts_dtype_name(labels.dtype),
                             (long long)slabs[s]);
                    const enum ts_status status = ts_test_run_references(
                        &run, &histogram_stage, cases[c].assignments, &in, references, slabs[s], 2);
                    if (status != TS_OK)
                        ts_diag_print(run.diag, stderr);
                    cr_assert_eq(status, TS_OK, "%s", what);
                    expect_labels(&run, &in, &labels, what);
                    ts_test_run_clear(&run);
                    free(in.data);
                    free(labels.data);
                    runs++;
                }
    cr_assert(runs == (2 * 7 * 6 + 10) * 2 || (ts_test_few() && runs > 10), "%zu", runs);
}

/* With a reference as well all tables are there, each with its own name. */
TEST_ON_BOTH(histogram, labels_and_a_reference)
{
    struct ts_image in = ts_test_image(2, 9, 11, TS_U16, VALUES_CT, 8),
                    labels = make_labels(&in, TS_U8, 3);
    const struct ts_image *const references[STAGE_REFERENCES] = {&in, &labels};
    struct stage_run run;
    cr_assert_eq(
        ts_test_run_references(&run, &histogram_stage, "bins=16 n_labels=3", &in, references, 1, 2),
        TS_OK);
    expect_labels(&run, &in, &labels, "with a reference");
    cr_assert_eq(ts_test_table_at(&run, "wasserstein", 0), 0);
    cr_assert(!memcmp(ts_test_table(&run, "counts")->data,
                      ts_test_table(&run, "reference_counts")->data, 16 * sizeof(uint64_t)));
    ts_test_run_clear(&run);
    free(in.data);
    free(labels.data);
}

static void expect_refused(const char *assignments, enum ts_dtype labels_dtype, const char *code)
{
    struct ts_image in = ts_test_image(2, 3, 4, TS_U16, VALUES_CONSTANT, 1);
    struct ts_image labels = ts_test_image(2, 3, 4, labels_dtype, VALUES_CONSTANT, 1);
    const struct ts_image *const references[STAGE_REFERENCES] = {NULL, &labels};
    struct stage_run run;
    cr_assert_eq(ts_test_run_references(&run, &histogram_stage, assignments, &in, references, 0, 1),
                 TS_BAD_CHAIN, "{%s} was not refused", assignments);
    cr_assert_eq(ts_diag_count(run.diag), 1);
    cr_assert_str_eq(ts_diag_get(run.diag, 0)->code, code);
    ts_test_run_clear(&run);
    free(in.data);
    free(labels.data);
}

Test(histogram, refuses_labels_that_cannot_be)
{
    expect_refused("", TS_F32, "labels-of-float");
    expect_refused("scope=slice", TS_U8, "labels-per-slice");
    expect_refused("bins=65536 n_labels=65536", TS_U8, "labels-too-many-counts");
    expect_refused("bins=65536 n_labels=8191", TS_U8, "labels-too-many-counts");
    expect_refused("method=shared", TS_U8, "method-of-labels");
}
