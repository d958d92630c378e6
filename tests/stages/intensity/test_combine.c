/* SPDX-License-Identifier: Apache-2.0
 *
 * combine beside its oracle, for every operation, pairs of types, masks and invalid pixels; by
 * hand; and the units, quantities, types and labels of its results.
 */
#include "stages/intensity/combine.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/files/hdf5_data.h"
#include "tests/files/output_fixture.h"
#include "tests/stages/intensity/combine_oracle.h"
#include "tests/support/masked.h"
#include "tests/support/plan_run.h"
#include "tests/support/stage_run.h"
#include "tests/support/support.h"

TestSuite(combine);

static const char *const ops[] = {"add",  "subtract", "multiply", "divide",
                                  "mean", "maximum",  "minimum"};
enum { N_OPS = sizeof ops / sizeof *ops };

/* ---- against the oracle ---------------------------------------------------------------------- */

/* What a row gives the stage, and the first run's results, with which others are compared. */
struct scene {
    struct ts_image inputs[STAGE_INPUTS];
    const char *op;
    void *first;
    uint64_t *first_valid;
};

/* Which inputs of a scene have invalid pixels, and if there is a mask. */
enum scene_parts { IMAGE_MASKED = 1, OTHER_MASKED = 2, WITH_MASK = 4, MASK_MASKED = 8 };

static struct scene make_scene(const int64_t shape[3], enum ts_dtype dtype, enum ts_dtype other,
                               int parts, const char *op)
{
    struct scene scene = {.op = op};
    scene.inputs[0] = ts_test_image(shape[0], shape[1], shape[2], dtype, VALUES_RANDOM, 3);
    scene.inputs[1] = ts_test_image(shape[0], shape[1], shape[2], other, VALUES_RANDOM, 4);
    for (size_t i = 0; i < ts_image_count(&scene.inputs[1]); i += 5)
        ts_test_store(scene.inputs[1].data, other, i, 0);
    if (parts & IMAGE_MASKED)
        ts_test_mask(&scene.inputs[0], MASKED_SOME, 77, 5);
    if (parts & OTHER_MASKED)
        ts_test_mask(&scene.inputs[1], MASKED_SOME, 3, 6);
    if (!(parts & WITH_MASK))
        return scene;
    scene.inputs[2] = ts_test_image(shape[0], shape[1], shape[2], dtype, VALUES_RANDOM, 9);
    for (size_t i = 0; i < ts_image_count(&scene.inputs[2]); i += 3)
        ts_test_store(scene.inputs[2].data, dtype, i, 0);
    if (dtype == TS_F32)
        ((float *)scene.inputs[2].data)[ts_image_count(&scene.inputs[2]) / 2] = NAN;
    if (parts & MASK_MASKED)
        ts_test_mask(&scene.inputs[2], MASKED_SOME, 1, 7);
    return scene;
}

static void clear_scene(struct scene *scene)
{
    for (int i = 0; i < 3; i++) {
        free(scene->inputs[i].data);
        free(scene->inputs[i].valid);
    }
    free(scene->first);
    free(scene->first_valid);
}

static void expect_values(const struct scene *scene, const struct stage_run *run)
{
    const size_t n = ts_image_count(&run->out);
    double *expected = malloc((n + 1) * sizeof *expected), *is = malloc((n + 1) * sizeof *is);
    double divided[8] = {0};
    ts_load_f64(is, run->out.data, run->out.dtype, n);
    ts_combine_oracle_results(&run->context, scene->inputs, expected, NULL);
    for (size_t i = 0; i < n; i++) {
        const bool exact = run->out.dtype != TS_F32;
        const double bound = exact ? 0 : 6e-8 * fabs(expected[i]) + 1e-45;
        cr_assert(fabs(is[i] - expected[i]) <= bound || (isnan(is[i]) && isnan(expected[i])),
                  "%s: pixel %zu is %.9g, not %.9g", scene->op, i, is[i], expected[i]);
        const size_t z = i / ts_slice_count(&run->out);
        divided[z] +=
            ts_combine_oracle_fate(&run->context, scene->inputs, (int64_t)z,
                                   (int64_t)(i % ts_slice_count(&run->out))) == FATE_DIVIDED;
    }
    for (int64_t z = 0; !strcmp(scene->op, "divide") && z < run->out.axes[0].n; z++)
        cr_assert_eq(ts_test_table_at(run, "divided_by_zero", z), divided[z]);
    free(expected);
    free(is);
}

/* Only the CPU: a single stage on a CUDA device has no bits (cuda/device/apply.c). */
static void expect_valid(struct scene *scene, struct stage_run *run, int64_t slab,
                         const struct ts_image *const references[STAGE_REFERENCES])
{
    struct ts_image out = run->out;
    const size_t bytes = (size_t)out.axes[0].n * ts_valid_bytes(&out);
    if (ts_test_device || !out.masked)
        return;
    out.valid = malloc(bytes);
    memset(out.valid, 0xAA, bytes);
    cr_assert_eq(ts_stage_apply(&run->context, &scene->inputs[0], &out, references, slab, NULL),
                 TS_OK);
    for (int64_t z = 0; z < out.axes[0].n; z++)
        for (int64_t i = 0; i < (int64_t)ts_slice_count(&out); i++) {
            const enum combine_fate fate =
                ts_combine_oracle_fate(&run->context, scene->inputs, z, i);
            const bool stays =
                !scene->inputs[0].valid || ts_test_is_valid(&scene->inputs[0], z, (size_t)i);
            cr_assert_eq(ts_test_is_valid(&out, z, (size_t)i),
                         fate == FATE_COMBINED || (fate == FATE_STAYS && stays),
                         "%s: slice %lld, pixel %lld", scene->op, (long long)z, (long long)i);
        }
    if (!scene->first_valid) {
        scene->first_valid = out.valid;
        return;
    }
    cr_assert_eq(memcmp(scene->first_valid, out.valid, bytes), 0);
    free(out.valid);
}

/* Runs a scene over slabs of all, 1, 2 and 3 slices, on 1 to 3 threads. */
static void check_scene(struct scene *scene)
{
    char assignments[32];
    snprintf(assignments, sizeof assignments, "op=%s", scene->op);
    const struct ts_image *const references[STAGE_REFERENCES] = {
        &scene->inputs[1], scene->inputs[2].data ? &scene->inputs[2] : NULL};
    for (int64_t slab = 0; slab < 4; slab++) {
        struct stage_run run;
        cr_assert_eq(ts_test_run_references(&run, &combine_stage, assignments, &scene->inputs[0],
                                            references, slab, 1 + (int)(slab + 1) % 3),
                     TS_OK);
        const size_t bytes = ts_image_bytes(&run.out);
        cr_assert_eq(run.out.masked, scene->inputs[0].masked || scene->inputs[1].masked ||
                                         !strcmp(scene->op, "divide"));
        expect_values(scene, &run);
        expect_valid(scene, &run, slab, references);
        if (!scene->first) {
            scene->first = malloc(bytes);
            memcpy(scene->first, run.out.data, bytes);
        }
        cr_assert_eq(memcmp(scene->first, run.out.data, bytes), 0, "%s: slab %lld", scene->op,
                     (long long)slab);
        ts_test_run_clear(&run);
    }
}

/* More pixels than a chunk of the CPU and a block of the device have, and ends within a word. */
TEST_ON_BOTH(combine, agrees_with_the_definition)
{
    static const int64_t shapes[][3] = {
        {1, 1, 1}, {4, 7, 19}, {5, 40, 33}, {4, 8, 16}, {2, 3, 641}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int op = 0; op < N_OPS; op++)
            for (int parts = 0; parts < 16; parts++) {
                if ((parts & MASK_MASKED) && !(parts & WITH_MASK))
                    continue;
                const enum ts_dtype dtype = op % 2 ? TS_I16 : TS_F32;
                struct scene scene = make_scene(shapes[s], dtype, TS_F32, parts, ops[op]);
                check_scene(&scene);
                clear_scene(&scene);
            }
}

TEST_ON_BOTH(combine, agrees_with_the_definition_for_all_pairs_of_types)
{
    static const int64_t shape[3] = {3, 9, 23};
    for (int dtype = TS_U8; dtype <= TS_F32; dtype++)
        for (int other = TS_U8; other <= TS_F32; other++)
            for (int op = 0; op < N_OPS; op++) {
                struct scene scene = make_scene(shape, (enum ts_dtype)dtype, (enum ts_dtype)other,
                                                (dtype + other) % 8, ops[op]);
                check_scene(&scene);
                clear_scene(&scene);
            }
}

/* ---- by hand --------------------------------------------------------------------------------- */

TEST_ON_BOTH(combine, gives_what_is_worked_out_by_hand)
{
    const float a[] = {6, -3, 0, NAN, INFINITY, 5}, b[] = {2, 0, 0, 1, INFINITY, NAN};
    const float expected[N_OPS][6] = {
        {8, -3, 0, NAN, INFINITY, NAN},    {4, -3, 0, NAN, NAN, NAN},
        {12, 0, 0, NAN, INFINITY, NAN},    {3, 0, 0, NAN, NAN, NAN},
        {4, -1.5f, 0, NAN, INFINITY, NAN}, {6, 0, 0, NAN, INFINITY, NAN},
        {2, -3, 0, NAN, INFINITY, NAN}};
    struct ts_image in = ts_test_image(1, 2, 3, TS_F32, VALUES_CONSTANT, 1),
                    other = ts_test_image(1, 2, 3, TS_F32, VALUES_CONSTANT, 1);
    memcpy(in.data, a, sizeof a);
    memcpy(other.data, b, sizeof b);
    for (int op = 0; op < N_OPS; op++) {
        struct stage_run run;
        char assignments[32];
        snprintf(assignments, sizeof assignments, "op=%s", ops[op]);
        cr_assert_eq(ts_test_run(&run, &combine_stage, assignments, &in, &other, 0, 1), TS_OK);
        for (int i = 0; i < 6; i++) {
            const float is = ((const float *)run.out.data)[i], should = expected[op][i];
            cr_expect(is == should || (isnan(is) && isnan(should)), "%s: pixel %d is %g, not %g",
                      ops[op], i, (double)is, (double)should);
        }
        if (!strcmp(ops[op], "divide"))
            cr_expect_eq(ts_test_table_at(&run, "divided_by_zero", 0), 2);
        ts_test_run_clear(&run);
    }
    free(in.data);
    free(other.data);
}

/* ---- units and quantities -------------------------------------------------------------------- */

struct meaning {
    enum ts_quantity quantity;
    const char *unit;
};

static struct ts_image small_image(struct meaning meaning, enum ts_dtype dtype)
{
    struct ts_image image = ts_test_image(2, 3, 4, dtype, VALUES_RANDOM, 1);
    image.quantity = meaning.quantity;
    image.unit = meaning.unit;
    return image;
}

/* Returns true if the stage gives this quantity and unit; with a mask too if it keeps those of the
 * image, which else is refused. */
static void expect_meaning(struct meaning a, struct meaning b, const char *op,
                           struct meaning expected)
{
    struct ts_image in = small_image(a, TS_F32), other = small_image(b, TS_F32);
    char assignments[32];
    snprintf(assignments, sizeof assignments, "op=%s", op);
    struct stage_run run;
    cr_assert_eq(ts_test_run(&run, &combine_stage, assignments, &in, &other, 0, 1), TS_OK, "%s %s",
                 op, b.unit);
    cr_expect_eq(run.out.quantity, expected.quantity, "%s %s %s is %s", a.unit, op, b.unit,
                 ts_quantity_name(run.out.quantity));
    cr_expect_str_eq(run.out.unit, expected.unit);
    ts_test_run_clear(&run);
    const struct ts_image *const references[STAGE_REFERENCES] = {&other, &other};
    const bool same = a.quantity == expected.quantity && !strcmp(a.unit, expected.unit);
    const enum ts_status status =
        ts_test_run_references(&run, &combine_stage, assignments, &in, references, 0, 1);
    cr_expect_eq(status, same ? TS_OK : TS_BAD_CHAIN, "%s %s %s with a mask", a.unit, op, b.unit);
    if (!same)
        cr_expect_str_eq(ts_diag_get(run.diag, 0)->code, "mask-quantity");
    ts_test_run_clear(&run);
    free(in.data);
    free(other.data);
}

static const struct meaning hu = {TS_HU, "HU"}, of_hu = {TS_INTENSITY, "HU"},
                            one = {TS_INTENSITY, "1"}, counts = {TS_COUNTS, "1"},
                            passes = {TS_TRANSMISSION, "1"}, lines = {TS_LINE_INTEGRAL, "1"},
                            mu = {TS_ATTENUATION, "1/mm"}, dose = {TS_DOSE, "Gy"},
                            activity = {TS_INTENSITY, "Bq/ml"}, unknown = {TS_INTENSITY, "unknown"},
                            length = {TS_INTENSITY, "mm"};

Test(combine, sums_and_extremes_keep_what_is_still_true)
{
    expect_meaning(hu, hu, "subtract", of_hu);
    expect_meaning(hu, hu, "add", of_hu);
    expect_meaning(hu, hu, "mean", hu);
    expect_meaning(hu, hu, "maximum", hu);
    expect_meaning(hu, of_hu, "add", hu);
    expect_meaning(of_hu, hu, "add", hu);
    expect_meaning(hu, of_hu, "subtract", hu);
    expect_meaning(of_hu, hu, "subtract", of_hu);
    expect_meaning(hu, of_hu, "mean", of_hu);
    expect_meaning(counts, counts, "subtract", counts);
    expect_meaning(counts, one, "subtract", counts);
    expect_meaning(lines, lines, "add", lines);
    expect_meaning(mu, mu, "mean", mu);
    expect_meaning(dose, dose, "add", dose);
    expect_meaning(activity, activity, "subtract", activity);
    expect_meaning(one, passes, "minimum", one);
}

Test(combine, products_and_ratios_have_units_and_quantities_of_their_own)
{
    const struct meaning ratio = {TS_INTENSITY, "1/(Bq/ml)"}, odd = {TS_INTENSITY, "(1/mm)/Gy"},
                         product = {TS_INTENSITY, "(Bq/ml) mm"},
                         long_unit = {TS_INTENSITY, "an_unit_whose_name_has_very_nearly_as_many_"
                                                    "bytes_as_there_is_room"};
    expect_meaning(activity, activity, "divide", one);
    expect_meaning(activity, one, "divide", activity);
    expect_meaning(one, activity, "divide", ratio);
    expect_meaning(activity, length, "multiply", product);
    expect_meaning(mu, dose, "divide", odd);
    expect_meaning(counts, counts, "divide", one);
    expect_meaning(counts, one, "multiply", counts);
    expect_meaning(one, mu, "multiply", mu);
    expect_meaning(mu, one, "divide", mu);
    expect_meaning(dose, dose, "divide", one);
    expect_meaning(passes, passes, "multiply", passes);
    expect_meaning(passes, passes, "divide", passes);
    expect_meaning(lines, lines, "divide", one);
    expect_meaning(hu, one, "multiply", of_hu);
    expect_meaning(one, hu, "multiply", of_hu);
    expect_meaning(hu, hu, "divide", one);
    expect_meaning(unknown, activity, "divide", unknown);
    expect_meaning(unknown, unknown, "divide", unknown);
    expect_meaning(long_unit, length, "multiply", unknown);
    expect_meaning(long_unit, long_unit, "divide", one);
}

/* A unit that stays as it is may have any length. */
Test(combine, long_units_are_held)
{
    static const struct meaning units[] = {
        {TS_INTENSITY, "a_unit_of_sixty_three_bytes_which_is_the_most_that_a_text_has__"},
        {TS_INTENSITY, "a_unit_of_sixty_four_bytes,_which_is_one_more_than_a_text_holds_"},
        {TS_ATTENUATION, "a_unit_of_very_many_more_bytes_than_anybody_would_think_of_giving_to_a_"
                         "unit_but_which_a_file_may_nevertheless_state_of_its_values"}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        expect_meaning(units[i], units[i], "add", units[i]);
        expect_meaning(units[i], units[i], "mean", units[i]);
        expect_meaning(units[i], units[i], "maximum", units[i]);
        expect_meaning(units[i], one, "multiply", units[i]);
        expect_meaning(units[i], one, "divide", units[i]);
        expect_meaning(one, units[i], "multiply", units[i]);
    }
}

Test(combine, refuses_values_that_are_not_alike)
{
    const struct {
        struct meaning a, b;
        const char *op, *code, *words;
    } rows[] = {
        {hu, one, "op=subtract", "reference-unit", "'HU'"},
        {activity, length, "op=mean", "reference-unit", "'mm'"},
        {mu, one, "op=maximum", "reference-unit", "'1/mm'"},
        {one, dose, "op=add", "reference-unit", "'Gy'"},
        {passes, lines, "op=add", "reference-quantity", "transmission"},
        {counts, passes, "op=minimum", "reference-quantity", "counts"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ts_image in = small_image(rows[i].a, TS_F32), other = small_image(rows[i].b, TS_F32);
        ts_test_refuses(&combine_stage, rows[i].op, &in, &other, rows[i].code, rows[i].words);
        free(in.data);
        free(other.data);
    }
}

Test(combine, refuses_another_grid)
{
    struct ts_image in = small_image(one, TS_U8), other = small_image(one, TS_U8),
                    scan = small_image(one, TS_U8), more = ts_test_image(2, 4, 3, TS_U8, 0, 1);
    other.axes[2].spacing *= 1.5;
    ts_test_sinogram(&scan);
    ts_test_refuses(&combine_stage, "op=add", &in, NULL, "reference-missing", "");
    ts_test_refuses(&combine_stage, "op=add", &in, &more, "reference-shape", "2 x 4 x 3");
    ts_test_refuses(&combine_stage, "op=add", &in, &other, "reference-grid", "along x");
    ts_test_refuses(&combine_stage, "op=add", &in, &scan, "reference-grid", "along view");
    free(in.data);
    free(other.data);
    free(scan.data);
    free(more.data);
}

/* ---- types and labels ------------------------------------------------------------------------ */

Test(combine, gives_the_type_that_holds_all_values)
{
    static const struct {
        enum ts_dtype a, b, expected;
    } rows[] = {{TS_U8, TS_U8, TS_U8},    {TS_U8, TS_U16, TS_U16},  {TS_I16, TS_U8, TS_I16},
                {TS_I8, TS_U8, TS_F32},   {TS_I16, TS_U16, TS_F32}, {TS_I32, TS_U16, TS_I32},
                {TS_U32, TS_I32, TS_F32}, {TS_F32, TS_U8, TS_F32},  {TS_U16, TS_F32, TS_F32}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int op = 0; op < N_OPS; op++) {
            struct ts_image in = small_image(one, rows[i].a), other = small_image(one, rows[i].b);
            struct stage_run run;
            char assignments[32];
            snprintf(assignments, sizeof assignments, "op=%s", ops[op]);
            cr_assert_eq(ts_test_run(&run, &combine_stage, assignments, &in, &other, 0, 1), TS_OK);
            cr_expect_eq(run.out.dtype,
                         ops[op][1] == 'a' && ops[op][2] == 'x' ? rows[i].expected
                         : ops[op][2] == 'n'                    ? rows[i].expected
                                                                : TS_F32,
                         "%s of %s and %s", ops[op], ts_dtype_name(rows[i].a),
                         ts_dtype_name(rows[i].b));
            ts_test_run_clear(&run);
            free(in.data);
            free(other.data);
        }
}

Test(combine, masks_stay_masks_and_labels_are_not_mixed)
{
    static const struct {
        unsigned char a, b;
        const char *assignments;
        int expected; /* -1: refused */
    } rows[] = {{1, 1, "op=maximum", 1},  {1, 1, "op=minimum", 1},   {1, 1, "op=add", 0},
                {0, 1, "op=multiply", 0}, {1, 0, "op=maximum", 0},   {2, 2, "op=maximum", 2},
                {2, 1, "op=minimum", 2},  {2, 2, "op=subtract", -1}, {0, 2, "op=multiply", -1},
                {2, 0, "op=maximum", -1}, {1, 2, "op=mean", -1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ts_image in = small_image(one, TS_U8), other = small_image(one, TS_U8);
        struct stage_run run;
        in.labels = rows[i].a;
        other.labels = rows[i].b;
        if (rows[i].expected < 0) {
            ts_test_refuses(&combine_stage, rows[i].assignments, &in, &other, "labels-mixed",
                            rows[i].a < 2 ? "`other`" : "the image");
        } else {
            cr_assert_eq(ts_test_run(&run, &combine_stage, rows[i].assignments, &in, &other, 0, 1),
                         TS_OK);
            cr_expect_eq(run.out.labels, rows[i].expected, "%s", rows[i].assignments);
            ts_test_run_clear(&run);
        }
        free(in.data);
        free(other.data);
    }
}

/* ---- whole runs ------------------------------------------------------------------------------ */

enum { NZ = 7, NY = 13, NX = 17, INVALID = -2000, ABOVE = 20 };

static struct ts_image make_input(uint64_t seed, size_t step)
{
    struct ts_image image = ts_test_image(NZ, NY, NX, TS_I16, VALUES_CONSTANT, seed);
    uint64_t state = seed;
    for (size_t i = 0; i < ts_image_count(&image); i++)
        ((int16_t *)image.data)[i] = (int16_t)(100 * ts_random_unit(&state) - 50);
    for (size_t i = 0; i < ts_image_count(&image); i += step)
        ((int16_t *)image.data)[i] = INVALID;
    image.masked = true;
    return image;
}

/* The file of a run holds the ratio of a branch and an input, and says which pixels are invalid. */
static void expect_file(const char *output, const int16_t *a, const int16_t *b)
{
    size_t n, n_slices;
    double *mask = ts_test_read_hdf5_at(output, "/entry/data/pixel_mask", &n),
           *values = ts_test_read_hdf5_at(output, "/entry/data/data", &n),
           *table = ts_test_read_hdf5_at(output, "/entry/process_2_combine/tables/divided_by_zero",
                                         &n_slices),
           divided[NZ] = {0};
    cr_assert_eq(n, NZ * NY * NX);
    cr_assert_eq(n_slices, NZ);
    for (size_t i = 0; i < n; i++) {
        const bool within = a[i] != INVALID && a[i] > ABOVE, measured = a[i] != INVALID,
                   other = b[i] != INVALID;
        const double expected = !within || !other ? a[i] : b[i] == 0 ? 0 : (double)a[i] / b[i];
        cr_assert_float_eq(values[i], expected, 6e-8 * fabs(expected), "pixel %zu", i);
        cr_assert_eq(mask[i], !(within ? other && b[i] != 0 : measured), "pixel %zu", i);
        divided[i / (NY * NX)] += within && other && b[i] == 0;
    }
    cr_assert_eq(memcmp(divided, table, sizeof divided), 0);
    free(mask);
    free(values);
    free(table);
}

TEST_ON_BOTH(combine, joins_a_branch_and_an_input_in_a_run)
{
    char folder[64], output[96];
    ts_test_folder(folder, sizeof folder);
    snprintf(output, sizeof output, "%s/out.h5", folder);
    struct ts_image image = make_input(5, 7), other = make_input(6, 11);
    struct memory_chain memory;
    unsigned char *first = NULL;
    size_t first_size = 0;
    memory_chain_init(&memory, &image, &other, output);
    memory.invalid = (struct invalid_range){INVALID, INVALID};
    memory_chain_add(&memory, "threshold above=20", "bright");
    memory_chain_add(&memory, "combine other=atlas op=divide mask=bright", NULL);
    memory.stages[1].input_node = 0;
    for (int run = 0; run < 3; run++) {
        const struct ts_options options = {
            .device = ts_test_device ? "cuda" : "cpu", .threads = run == 2 ? 1 : 2, .force = true};
        struct ts_plan *plan = ts_test_plan(&memory, &options);
        if (run == 1)
            cr_assert(ts_test_plan_fits(plan, ts_test_plan_least(plan)));
        ts_test_plan_run(plan);
        if (run != 1 || !ts_test_device)
            ts_test_same_file(output, &first, &first_size, "slabs and threads");
        expect_file(output, image.data, other.data);
        ts_plan_destroy(plan);
    }
    free(first);
    memory_chain_clear(&memory);
    free(image.data);
    free(other.data);
    ts_test_remove_folder(folder);
}
