/* SPDX-License-Identifier: Apache-2.0
 *
 * What programs in C give the public functions by mistake is refused with a reason, and a diag may
 * have records of earlier calls.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "include/tomostage_array.h"
#include "include/tomostage_operator.h"
#include "include/tomostage_stage.h"
#include "tests/support/folders.h"

enum { NZ = 4, NY = 5, NX = 6, PIXELS = NZ * NY * NX };

static struct ts_diag *diag;
static float values[PIXELS], results[4 * PIXELS];
static struct ts_chain *chain;
static struct ts_plan *plan;
static struct ts_run *run;

static void begin(void)
{
    diag = ts_diag_create();
}

static void finish(void)
{
    ts_run_destroy(run);
    ts_plan_destroy(plan);
    ts_chain_destroy(chain);
    run = NULL;
    plan = NULL;
    chain = NULL;
}

static void end(void)
{
    finish();
    ts_diag_destroy(diag);
}

TestSuite(arguments, .init = begin, .fini = end);

static void expect_ok(enum ts_status status)
{
    if (status != TS_OK)
        ts_diag_print(diag, stderr);
    cr_assert_eq(status, TS_OK);
}

/* The newest record is an error of this code, whose message and hint contain these parts. */
static void expect(enum ts_status got, enum ts_status status, const char *code, const char *message,
                   const char *hint)
{
    const struct ts_diag_record *record = ts_diag_get(diag, ts_diag_count(diag) - 1);
    cr_assert(record, "no record of %s", code);
    cr_assert_eq(got, status, "%s: %d", code, got);
    cr_assert_eq(record->status, status);
    cr_assert_str_eq(record->code, code, "%s", record->message);
    cr_assert(strstr(record->message, message), "%s", record->message);
    cr_assert(!hint || (record->hint && strstr(record->hint, hint)), "%s", record->hint);
    ts_diag_clear(diag);
}

static struct ts_array array_of(void *data)
{
    return (struct ts_array){.size = sizeof(struct ts_array),
                             .data = data,
                             .dtype = TS_F32,
                             .rank = 3,
                             .n = {NZ, NY, NX},
                             .cuda_device = -1};
}

static struct ts_options options_of(void)
{
    struct ts_options options = TS_OPTIONS_DEFAULT;
    options.device = "cpu";
    options.threads = 2;
    return options;
}

static void make_chain(const char *text, const struct ts_image *about)
{
    const struct ts_array in = array_of(values);
    expect_ok(ts_chain_parse(text, strlen(text), "test", NULL, &chain, diag));
    expect_ok(ts_chain_set_array(chain, "volume", &in, about, diag));
}

static void make_run(const char *text)
{
    const struct ts_options options = options_of();
    make_chain(text, NULL);
    expect_ok(ts_plan_create(chain, &options, &plan, diag));
    expect_ok(ts_run_create(plan, &run, diag));
}

/* ---- records of earlier calls ---------------------------------------------------------------- */

static enum ts_status fail_to_parse(void)
{
    struct ts_chain *none;
    const enum ts_status status = ts_chain_parse("bax", 3, "wrong", NULL, &none, diag);
    cr_assert_null(none);
    return status;
}

Test(arguments, errors_of_earlier_calls_do_not_count)
{
    const struct ts_array out = array_of(results);
    struct ts_image image;
    cr_assert_neq(fail_to_parse(), TS_OK);
    cr_assert_eq(ts_context_load(NULL, "./missing.so", diag), TS_BAD_CHAIN);
    make_run("memory volume | statistics | box radius=1");
    expect_ok(ts_chain_set(chain, "box.radius=2", diag));
    expect_ok(ts_plan_describe(plan, "data", &image, diag));
    expect_ok(ts_run_set_array(run, "data", &out, diag));
    expect_ok(ts_run_execute(run, diag));
    expect_ok(ts_run_table(run, "statistics.mean", &image, diag));
    cr_assert_geq(ts_diag_count(diag), 2, "the records stay");
}

/* A call that fails has the status of its own error, also if the list is full. */
Test(arguments, a_failure_after_others_is_one)
{
    const char *text = "memory volume | box radius=1";
    const struct ts_options options = options_of();
    expect_ok(ts_chain_parse(text, strlen(text), "test", NULL, &chain, diag));
    ts_chain_destroy(chain);
    text = "nifti missing.nii | box radius=1 | hdf5 out.h5";
    expect_ok(ts_chain_parse(text, strlen(text), "test", NULL, &chain, diag));
    for (int i = 0; i < 25; i++) {
        cr_assert_eq(fail_to_parse(), TS_BAD_CHAIN);
        cr_assert_eq(ts_plan_create(chain, &options, &plan, diag), TS_BAD_INPUT, "after %d", i);
        cr_assert_null(plan);
    }
}

/* ---- NULL ------------------------------------------------------------------------------------ */

static enum ts_status take(void *user, const struct ts_image *slab)
{
    (void)user;
    (void)slab;
    return TS_OK;
}

static enum ts_status take_device(void *user, const struct ts_image *slab, void *stream)
{
    (void)stream;
    return take(user, slab);
}

/* Makes the call, whose argument of this name is NULL, with a diag and without. */
#define EXPECT_NULL(name, call, ...)                                                               \
    do {                                                                                           \
        expect(call(__VA_ARGS__, diag), TS_BAD_CHAIN, "argument-null", "'" name "'", NULL);        \
        cr_assert_eq(call(__VA_ARGS__, NULL), TS_BAD_CHAIN, #call);                                \
    } while (0)

Test(arguments, null_is_refused_by_name)
{
    const struct ts_array array = array_of(results);
    const struct ts_image about = {.rank = 3};
    struct ts_image image;
    struct ts_context *context;
    struct ts_operator *op = NULL;
    make_run("memory volume | box radius=1");
    EXPECT_NULL("path", ts_chain_load, NULL, &(struct ts_chain *){0});
    EXPECT_NULL("chain", ts_chain_load, "chain.yaml", NULL);
    EXPECT_NULL("chain", ts_chain_parse, "x", 1, NULL, NULL, NULL);
    EXPECT_NULL("chain", ts_chain_set, NULL, "box.radius=1");
    EXPECT_NULL("assignment", ts_chain_set, chain, NULL);
    EXPECT_NULL("path", ts_chain_set_input, chain, NULL);
    EXPECT_NULL("chain", ts_chain_set_output, NULL, "out.h5");
    EXPECT_NULL("chain", ts_chain_search, NULL, NULL);
    EXPECT_NULL("chain", ts_plan_create, NULL, NULL, &(struct ts_plan *){0});
    EXPECT_NULL("plan", ts_plan_create, chain, NULL, NULL);
    EXPECT_NULL("path", ts_plan_resume, plan, NULL);
    EXPECT_NULL("plan", ts_plan_run, NULL);
    EXPECT_NULL("name", ts_chain_set_array, chain, NULL, &array, NULL);
    EXPECT_NULL("array", ts_chain_set_array, chain, "volume", NULL, NULL);
    EXPECT_NULL("image", ts_plan_describe, plan, "data", NULL);
    EXPECT_NULL("name", ts_plan_describe, plan, NULL, &image);
    EXPECT_NULL("plan", ts_run_create, NULL, &(struct ts_run *){0});
    EXPECT_NULL("run", ts_run_create, plan, NULL);
    EXPECT_NULL("run", ts_run_set_array, NULL, "data", &array);
    EXPECT_NULL("name", ts_run_set_take, run, NULL, take, NULL);
    EXPECT_NULL("run", ts_run_set_take, NULL, "data", NULL, NULL);
    EXPECT_NULL("name", ts_run_set_array, run, NULL, NULL);
    EXPECT_NULL("name", ts_run_set_take_device, run, NULL, NULL, NULL);
    EXPECT_NULL("text", ts_chain_parse, NULL, 1, NULL, NULL, &(struct ts_chain *){0});
    EXPECT_NULL("run", ts_run_set_take_device, NULL, "data", take_device, NULL);
    EXPECT_NULL("run", ts_run_execute, NULL);
    EXPECT_NULL("table", ts_run_table, run, "x", NULL);
    EXPECT_NULL("stage", ts_operator_create, NULL, &about, NULL, &op);
    EXPECT_NULL("in", ts_operator_create, "box radius=1", NULL, NULL, &op);
    EXPECT_NULL("op", ts_operator_create, "box radius=1", &about, NULL, NULL);
    EXPECT_NULL("op", ts_operator_apply, NULL, &array, &array, NULL);
    EXPECT_NULL("op", ts_operator_normal, NULL, &array, &array, NULL);
    EXPECT_NULL("context", ts_context_create, NULL, NULL);
    EXPECT_NULL("chain", ts_context_parse, NULL, "x", 1, NULL, NULL, NULL);
    EXPECT_NULL("path", ts_context_load_chain, NULL, NULL, &(struct ts_chain *){0});
    EXPECT_NULL("stage", ts_context_add_stage, NULL, NULL);
    EXPECT_NULL("path", ts_context_load, NULL, NULL);
    /* Only the diag is NULL. */
    cr_assert_eq(ts_run_set_array(run, "data", &array, NULL), TS_BAD_CHAIN);
    cr_assert_eq(ts_run_execute(run, NULL), TS_BAD_CHAIN);
    cr_assert_eq(ts_context_create(NULL, &context, NULL), TS_BAD_CHAIN);
    cr_assert_null(context);
}

Test(arguments, functions_without_a_status_do_nothing_for_null)
{
    char text[8] = "before";
    struct ts_image image = {.rank = 7};
    ts_diag_destroy(NULL);
    ts_diag_clear(NULL);
    ts_diag_print(NULL, stderr);
    ts_plan_print(NULL, stderr, false);
    ts_plan_print_profile(NULL, stderr);
    ts_plan_stop(NULL);
    ts_plan_pause(NULL);
    ts_plan_abandon(NULL);
    ts_run_stop(NULL);
    ts_operator_describe(NULL, &image, NULL);
    cr_assert_eq(image.rank, 7);
    cr_assert_eq(ts_diag_count(NULL), 0);
    cr_assert_null(ts_diag_get(NULL, 0));
    cr_assert_null(ts_plan_image_name(NULL, 0));
    cr_assert_null(ts_run_table_name(NULL, 0));
    cr_assert_eq(ts_plan_text(NULL, true, text, sizeof text), 0);
    cr_assert_eq(ts_diag_text(NULL, true, text, sizeof text), 0);
    cr_assert_eq(ts_chain_text(NULL, true, text, sizeof text), 0);
    cr_assert_str_eq(text, "");
    cr_assert_eq(ts_diag_text(diag, false, NULL, 8), 0);
}

/* ---- options --------------------------------------------------------------------------------- */

Test(arguments, numbers_below_0_are_refused)
{
    const struct ts_settings settings = {.size = sizeof settings, .threads = -2};
    const struct ts_image about = {.rank = 3};
    struct ts_context *context;
    struct ts_operator *op;
    struct ts_options options[5];
    static const char *const names[] = {"options.threads", "options.memory_bytes",
                                        "options.gpu_memory_bytes", "options.time_limit_s",
                                        "options.time_limit_s"};
    for (int i = 0; i < 5; i++)
        options[i] = options_of();
    options[0].threads = -1;
    options[1].memory_bytes = -1;
    options[2].gpu_memory_bytes = INT64_MIN;
    options[3].time_limit_s = -1e-3;
    options[4].time_limit_s = (double)NAN;
    make_chain("memory volume | box radius=1", NULL);
    for (int i = 0; i < 5; i++) {
        expect(ts_plan_create(chain, &options[i], &plan, diag), TS_BAD_CHAIN, "option-negative",
               names[i], "0 takes the default");
        expect(ts_operator_create("box radius=1", &about, &options[i], &op, diag), TS_BAD_CHAIN,
               "option-negative", names[i], NULL);
    }
    expect(ts_context_create(&settings, &context, diag), TS_BAD_CHAIN, "option-negative",
           "settings.threads is -2", NULL);
    cr_assert_null(context);
}

/* What a result file would need is not counted if there is none. The hint's bytes will do. */
Test(arguments, small_arrays_need_little_memory)
{
    struct ts_options options = options_of();
    const struct ts_array out = array_of(results);
    options.memory_bytes = 1;
    make_chain("memory volume | box radius=1", NULL);
    cr_assert_eq(ts_plan_create(chain, &options, &plan, diag), TS_BAD_CHAIN);
    const struct ts_diag_record *record = ts_diag_get(diag, 0);
    cr_assert_str_eq(record->code, "memory-budget");
    cr_assert_eq(sscanf(record->hint, "options.memory_bytes = %lld would do",
                        (long long *)&options.memory_bytes),
                 1, "%s", record->hint);
    cr_assert_leq(options.memory_bytes, 12 << 20);
    expect_ok(ts_plan_create(chain, &options, &plan, diag));
    expect_ok(ts_run_create(plan, &run, diag));
    expect_ok(ts_run_set_array(run, "data", &out, diag));
    expect_ok(ts_run_execute(run, diag));
}

/* A budget that the options state is wrong; a share of the machine's memory is too little. */
Test(arguments, a_machine_without_memory_is_no_wrong_option)
{
    struct ts_options options = options_of();
    const char *const text = "memory volume | box radius=1";
    struct ts_array huge = array_of(values); /* no plan reads it */
    huge.n[1] = huge.n[2] = 1 << 20;
    expect_ok(ts_chain_parse(text, strlen(text), "test", NULL, &chain, diag));
    expect_ok(ts_chain_set_array(chain, "volume", &huge, NULL, diag));
    expect(ts_plan_create(chain, &options, &plan, diag), TS_RUN_FAILED, "memory-budget",
           "needs at least", NULL);
    options.memory_bytes = 1 << 30;
    expect(ts_plan_create(chain, &options, &plan, diag), TS_BAD_CHAIN, "memory-budget",
           "the budget is 1024.0 MiB", "options.memory_bytes = ");
}

Test(arguments, hints_name_the_options_of_the_library)
{
    struct ts_options options = options_of();
    const struct ts_array out = array_of(results);
    options.device = "cuda:71";
    make_chain("memory volume | box radius=1", NULL);
    cr_assert_neq(ts_plan_create(chain, &options, &plan, diag), TS_OK);
    const char *hint = ts_diag_get(diag, ts_diag_count(diag) - 1)->hint;
    cr_assert(!hint || !strstr(hint, "--device"), "%s", hint);
    finish();
    ts_diag_clear(diag);
    make_chain("memory volume | box radius=1", NULL);
    options.device = "cpu";
    expect_ok(ts_plan_create(chain, &options, &plan, diag));
    expect(ts_plan_run(plan, diag), TS_BAD_CHAIN, "no-output", "no array and no file",
           "ts_run_set_array()");
    expect_ok(ts_run_create(plan, &run, diag));
    expect(ts_run_execute(run, diag), TS_BAD_CHAIN, "no-output", "no array and no file", NULL);
    expect_ok(ts_run_set_array(run, "data", &out, diag));
    expect_ok(ts_run_execute(run, diag));
}

/* ---- arrays ---------------------------------------------------------------------------------- */

Test(arguments, results_do_not_overlap_themselves)
{
    enum { F = sizeof(float) };
    static const struct {
        int64_t stride[3];
        bool right;
    } arrays[] = {
        {{0, NX * F, F}, false},               /* one slice for all */
        {{NY * NX * F, 0, F}, false},          /* one row for all */
        {{NY * NX * F, NX * F - F, F}, false}, /* rows reach into each other */
        {{(NY * NX - 1) * F, NX * F, F}, false},
        {{NX * F, NX * F, F}, false},
        {{NY * NX * F, -(NX - 1) * F, F}, false},
        {{NY * NX * F, NX * F, F}, true},
        {{NX * F, NZ * NX * F, F}, true}, /* rows before slices */
        {{-NY * NX * F, -NX * F, F}, true},
        {{2 * NY * NX * F, 2 * NX * F, F}, true},
    };
    make_run("memory volume | box radius=1");
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        struct ts_array out = array_of(results + 2 * PIXELS);
        memcpy(out.stride, arrays[i].stride, sizeof arrays[i].stride);
        if (arrays[i].right)
            expect_ok(ts_run_set_array(run, "data", &out, diag));
        else
            expect(ts_run_set_array(run, "data", &out, diag), TS_BAD_CHAIN, "memory-array",
                   "overlap each other", "all 0: C order");
    }
}

/* Inputs may: one slice stands for all. */
Test(arguments, inputs_may_overlap_themselves)
{
    const struct ts_options options = options_of();
    const char *const text = "memory volume | invert range=[0,9]";
    const struct ts_array out = array_of(results);
    struct ts_array in = array_of(values);
    for (int i = 0; i < NY * NX; i++)
        values[i] = (float)(i % 10);
    in.stride[1] = NX * sizeof(float);
    in.stride[2] = sizeof(float);
    expect_ok(ts_chain_parse(text, strlen(text), "test", NULL, &chain, diag));
    expect_ok(ts_chain_set_array(chain, "volume", &in, NULL, diag));
    expect_ok(ts_plan_create(chain, &options, &plan, diag));
    expect_ok(ts_run_create(plan, &run, diag));
    expect_ok(ts_run_set_array(run, "data", &out, diag));
    expect_ok(ts_run_execute(run, diag));
    for (int i = 0; i < PIXELS; i++)
        cr_assert_eq(results[i], 9 - (float)(i % (NY * NX) % 10));
}

static struct ts_image image_of(int64_t n)
{
    return (struct ts_image){.rank = 3,
                             .dtype = TS_F32,
                             .quantity = TS_INTENSITY,
                             .unit = "1",
                             .axes = {{TS_AXIS_Z, 1, 1, "mm", NULL, 0, NULL},
                                      {TS_AXIS_Y, n, 1, "mm", NULL, 0, NULL},
                                      {TS_AXIS_X, n, 1, "mm", NULL, 0, NULL}}};
}

Test(arguments, results_of_operators_do_not_overlap_each_other)
{
    struct ts_operator *op;
    const struct ts_image image = image_of(4);
    struct ts_array in = array_of(values), out = array_of(results);
    in.rank = out.rank = 4;
    memcpy(in.n, (int64_t[]){3, 1, 4, 4}, sizeof in.n);
    memcpy(out.n, in.n, sizeof in.n);
    memcpy(in.stride, (int64_t[]){0, 64, 16, 4}, sizeof in.stride);
    memcpy(out.stride, (int64_t[]){64, 64, 16, 4}, sizeof in.stride);
    expect_ok(ts_operator_create("box radius=1", &image, NULL, &op, diag));
    expect_ok(ts_operator_apply(op, &in, &out, NULL, diag));
    for (int64_t step = -60; step <= 60; step += 60) {
        out.stride[0] = step;
        expect(ts_operator_apply(op, &in, &out, NULL, diag), TS_BAD_INPUT, "operator-array",
               "'out' has elements that overlap", "all 0: C order");
    }
    ts_operator_destroy(op);
}

/* ---- functions of the caller's --------------------------------------------------------------- */

static enum ts_status answer_of(void *user, const struct ts_image *slab)
{
    const int *answer = user;
    return slab->z_first >= 0 ? (enum ts_status) * answer : TS_OK;
}

Test(arguments, a_function_that_takes_no_slab_is_named)
{
    static const struct {
        int answer;
        enum ts_status status;
    } answers[] = {{TS_RUN_FAILED, TS_RUN_FAILED},
                   {TS_BAD_INPUT, TS_BAD_INPUT},
                   {TS_STOPPED, TS_STOPPED},
                   {17, TS_RUN_FAILED},
                   {-1, TS_RUN_FAILED},
                   {TS_OK, TS_OK}};
    make_run("memory volume | box radius=1");
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        int answer = answers[i].answer;
        expect_ok(ts_run_set_take(run, "data", answer_of, &answer, diag));
        const enum ts_status status = ts_run_execute(run, diag);
        if (answers[i].status == TS_OK)
            expect_ok(status);
        else
            expect(status, answers[i].status, "take-failed", "the image 'data' returned", NULL);
    }
}

static enum ts_status map_to_nan(const struct ts_call *call, struct ts_image *out)
{
    float *to = out->data;
    (void)call;
    for (int64_t i = 0; i < out->axes[0].n * out->axes[1].n * out->axes[2].n; i++)
        to[i] = (float)NAN;
    return TS_OK;
}

Test(arguments, nan_of_a_stage_from_outside_is_its_own)
{
    static const struct ts_stage stage = {.size = sizeof stage,
                                          .name = "to_nan",
                                          .version = "1",
                                          .summary = "make NaN",
                                          .axes = TS_TAKES_VOLUMES,
                                          .dtypes = 1u << TS_F32,
                                          .param_size = sizeof(struct ts_param),
                                          .map = map_to_nan};
    const struct ts_array out = array_of(results);
    const struct ts_diag_record *found = NULL;
    expect_ok(ts_context_add_stage(NULL, &stage, diag));
    make_run("memory volume | to_nan");
    expect_ok(ts_run_set_array(run, "data", &out, diag));
    expect_ok(ts_run_execute(run, diag));
    for (size_t i = 0; i < ts_diag_count(diag); i++)
        if (!strcmp(ts_diag_get(diag, i)->code, "not-finite-result"))
            found = ts_diag_get(diag, i);
    cr_assert(found && !strstr(found->message, "too large"), "%s", found ? found->message : "");
    cr_assert_str_eq(found->stage, "to_nan");
    cr_assert(strstr(found->hint, "map()"), "%s", found->hint);
}

/* ---- the rotation axis ----------------------------------------------------------------------- */

static struct ts_image scan_of(double first)
{
    return (struct ts_image){.rank = 3,
                             .dtype = TS_F32,
                             .quantity = TS_LINE_INTEGRAL,
                             .unit = "1",
                             .axes = {{TS_AXIS_Z, NZ, 1, "mm", NULL, 0, NULL},
                                      {TS_AXIS_VIEW, NY, 36, "degree", NULL, 0, NULL},
                                      {TS_AXIS_DETECTOR, NX, 1, "mm", NULL, first, NULL}}};
}

/* What is wrong with a description is said before anything reads it. */
Test(arguments, descriptions_are_checked)
{
    struct ts_image wrong[11];
    static const char *const words[11] = {"neither (z, y, x) nor", "neither (z, y, x) nor",
                                          "neither (z, y, x) nor", "no kind of beam",
                                          "before the rotation",   "not finite",
                                          "not unit vectors",      "not finite",
                                          "labels of no kind",     "no quantity",
                                          "neither \"degree\" nor"};
    const struct ts_array array = array_of(values);
    const char *const text = "memory volume | box radius=1";
    for (int i = 0; i < 11; i++)
        wrong[i] = scan_of(1);
    for (int d = 0; d < 3; d++)
        wrong[0].axes[d].kind = TS_AXIS_Z; /* left at 0 */
    wrong[1].axes[1].kind = TS_AXIS_Y;
    wrong[2].axes[0].kind = (enum ts_axis_kind)77;
    wrong[3].beam.kind = (enum ts_beam_kind)9;
    wrong[4].beam.kind = TS_BEAM_FAN_FLAT;
    wrong[5].beam = (struct ts_beam){TS_BEAM_FAN_ARC, 500, (double)INFINITY};
    wrong[6].has_geometry = wrong[7].has_geometry = true;
    wrong[7].direction[0] = wrong[7].direction[4] = wrong[7].direction[8] = 1;
    wrong[7].origin_mm[2] = (double)NAN;
    wrong[8].labels = 3;
    wrong[9].quantity = (enum ts_quantity)(-1);
    wrong[10].axes[1].unit = "radian";
    expect_ok(ts_chain_parse(text, strlen(text), "test", NULL, &chain, diag));
    for (int i = 0; i < 11; i++)
        expect(ts_chain_set_array(chain, "volume", &array, &wrong[i], diag), TS_BAD_INPUT,
               "memory-about", words[i], NULL);
}

/* Outputs write units, and one that nobody gave is none. */
Test(arguments, units_may_be_null)
{
    const struct ts_options options = options_of();
    struct ts_image about = image_of(1);
    char folder[64], text[256];
    ts_test_folder(folder, sizeof folder);
    about.unit = NULL;
    for (int d = 0; d < 3; d++)
        about.axes[d] =
            (struct ts_axis){.kind = about.axes[d].kind, .n = (int64_t[]){NZ, NY, NX}[d]};
    snprintf(text, sizeof text, "memory volume | nifti %s/o.nii | hdf5 %s/o.h5", folder, folder);
    make_chain(text, &about);
    expect_ok(ts_plan_create(chain, &options, &plan, diag));
    expect_ok(ts_plan_run(plan, diag));
    ts_test_remove_folder(folder);
}

Test(arguments, a_first_position_that_nobody_set_is_refused)
{
    static const struct {
        const char *text;
        double first;
        bool right;
    } scans[] = {
        {"memory volume | fbp", 0, false},
        {"memory volume | gaussian sigma=1 | fbp", 0, false},
        {"memory volume | sirt iterations=1", 0, false},
        {"memory volume | backproject", -0.0, false},
        {"memory volume | fbp", -2.5, true},
        {"memory volume | fbp center=0", 0, true},
        {"memory volume | center center=2.5 | fbp", 0, true},
        {"memory volume | gaussian sigma=1", 0, true}, /* no volume is made */
    };
    const struct ts_options options = options_of();
    const struct ts_image edge = scan_of(0);
    struct ts_operator *op;
    for (size_t i = 0; i < sizeof scans / sizeof *scans; i++) {
        const struct ts_image about = scan_of(scans[i].first);
        make_chain(scans[i].text, &about);
        const enum ts_status status = ts_plan_create(chain, &options, &plan, diag);
        for (size_t k = 0; k < ts_diag_count(diag); k++)
            cr_assert(!strstr(ts_diag_get(diag, k)->message, "pixel -0"));
        if (scans[i].right)
            expect_ok(status);
        else
            expect(status, TS_BAD_INPUT, "memory-about", "`first` of the array's detector is 0",
                   "-(n - 1) / 2 * spacing");
        ts_diag_clear(diag);
        finish();
    }
    expect(ts_operator_create("backproject", &edge, NULL, &op, diag), TS_BAD_INPUT, "memory-about",
           "`first` of the array's detector is 0", "center=0");
    expect_ok(ts_operator_create("backproject center=0", &edge, NULL, &op, diag));
    ts_operator_destroy(op);
    expect_ok(ts_operator_create("filter", &edge, NULL, &op, diag));
    ts_operator_destroy(op);
}
