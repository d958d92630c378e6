/* SPDX-License-Identifier: Apache-2.0
 *
 * Stages from outside: one passes the comparison that built-in stages pass, wrong tables and wrong
 * answers are refused by name, and a context has its stages for itself.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "include/tomostage_array.h"
#include "pipeline/chain/context.h"
#include "stages/engine/registry.h"
#include "tests/support/stage_run.h"
#include "tests/support/support.h"

/* ---- a stage that uses all members ----------------------------------------------------------- */

enum { MAX_RULE = 1 };

struct grown_params {
    int64_t radius;
    double weight;
    const char *note;
    int32_t rule;
    bool negative;
};

static int64_t grown_halo(const struct ts_call *call)
{
    return ((const struct grown_params *)call->params)->radius;
}

static enum ts_status grown_shape(const struct ts_call *call, struct ts_image *out)
{
    const struct grown_params *params = call->params;
    cr_assert_eq(call->n_in, 2);
    cr_assert_null(call->in[0].data);
    out->dtype = TS_F32;
    out->unit = "grown";
    if (params->note && !strcmp(params->note, "refuse"))
        return call->refuse(call, TS_BAD_CHAIN, "grown-note", "the note is refused",
                            "leave it out");
    return TS_OK;
}

/* A row of sums. */
static size_t grown_scratch(const struct ts_call *call, int64_t slices)
{
    cr_assert_gt(slices, 0);
    return (size_t)call->in[0].axes[2].n * sizeof(double);
}

static double rule(const struct grown_params *params, double so_far, double value)
{
    return params->rule == MAX_RULE ? fmax(so_far, value) : so_far + value;
}

static enum ts_status grown_map(const struct ts_call *call, struct ts_image *out)
{
    const struct grown_params *params = call->params;
    const struct ts_image *in = &call->in[0], *mask = &call->in[1];
    const int64_t nx = out->axes[2].n, rows = out->axes[0].n * out->axes[1].n,
                  above = params->radius * out->axes[1].n;
    double *sums = call->scratch;
    float *to = out->data;
    cr_assert_geq(call->threads, 1);
    cr_assert_eq(in->axes[0].n, out->axes[0].n + 2 * params->radius);
    cr_assert_eq((uintptr_t)call->scratch % 64, 0);
    cr_assert(!call->on_cuda && !call->cuda_stream);
    for (int64_t row = 0; row < rows; row++) {
        for (int64_t x = 0; x < nx; x++)
            sums[x] = params->rule == MAX_RULE ? -HUGE_VAL : 0;
        for (int64_t k = -above; k <= above; k += out->axes[1].n)
            for (int64_t x = 0; x < nx; x++) {
                double value;
                const int64_t at = (row + above + k) * nx + x;
                ts_load_f64(&value,
                            (const char *)in->data + at * (int64_t)ts_dtype_bytes(in->dtype),
                            in->dtype, 1);
                sums[x] = rule(params, sums[x], value);
            }
        for (int64_t x = 0; x < nx; x++) {
            const bool outside = mask->data && !((const uint8_t *)mask->data)[row * nx + x];
            const double value = params->weight * sums[x];
            to[row * nx + x] = outside ? 0 : (float)(params->negative ? -value : value);
        }
    }
    return TS_OK;
}

static const char *const rules[] = {"sum", "max", NULL};
static const struct ts_param grown_params[] = {
    {.name = "radius",
     .kind = TS_PARAM_INTEGER,
     .unit = "pixel",
     .doc = "slices to either side",
     .offset = offsetof(struct grown_params, radius),
     .min = 0,
     .max = 8,
     .value = 1},
    {.name = "weight",
     .kind = TS_PARAM_REAL,
     .doc = "a factor",
     .offset = offsetof(struct grown_params, weight),
     .value = 1},
    {.name = "rule",
     .kind = TS_PARAM_CHOICE,
     .doc = "what is made of the slices",
     .offset = offsetof(struct grown_params, rule),
     .choices = rules},
    {.name = "negative",
     .kind = TS_PARAM_BOOL,
     .doc = "whether the sign changes",
     .offset = offsetof(struct grown_params, negative)},
    {.name = "mask", .kind = TS_PARAM_REFERENCE, .doc = "pixels outside become 0"},
    {.name = "note",
     .kind = TS_PARAM_TEXT,
     .doc = "any text",
     .offset = offsetof(struct grown_params, note)},
};

static const struct ts_stage grown = {
    .size = sizeof grown,
    .name = "grown",
    .version = "1.2",
    .summary = "a stage of this test",
    .axes = TS_TAKES_VOLUMES | TS_TAKES_SINOGRAMS,
    .dtypes = 0x7F,
    .params = grown_params,
    .n_params = sizeof grown_params / sizeof *grown_params,
    .param_size = sizeof *grown_params,
    .params_bytes = sizeof(struct grown_params),
    .shape = grown_shape,
    .halo = grown_halo,
    .scratch = grown_scratch,
    .map = grown_map,
};

static struct ts_diag *diag;
static struct ts_context *context;

static void begin(void)
{
    diag = ts_diag_create();
    cr_assert_eq(ts_context_create(NULL, &context, diag), TS_OK);
}

static void end(void)
{
    ts_context_destroy(context);
    ts_diag_destroy(diag);
}

TestSuite(added, .init = begin, .fini = end);

static const struct stage *add(const struct ts_stage *table)
{
    const enum ts_status status = ts_context_add_stage(context, table, diag);
    if (status != TS_OK)
        ts_diag_print(diag, stderr);
    cr_assert_eq(status, TS_OK);
    return ts_registry_find(ts_context_stages(context), table->name);
}

/* ---- as a built-in stage --------------------------------------------------------------------- */

static void grown_oracle(const struct stage_context *of, const double *in, double *out)
{
    const struct grown_params *params = of->params;
    const int64_t nz = of->in.axes[0].n, slice = of->in.axes[1].n * of->in.axes[2].n;
    for (int64_t z = 0; z < nz; z++)
        for (int64_t i = 0; i < slice; i++) {
            double sum = params->rule == MAX_RULE ? -HUGE_VAL : 0;
            for (int64_t k = z - params->radius; k <= z + params->radius; k++) {
                const int64_t turned = (k % (2 * nz) + 2 * nz) % (2 * nz);
                sum =
                    rule(params, sum, in[(turned < nz ? turned : 2 * nz - 1 - turned) * slice + i]);
            }
            *out++ = (params->negative ? -1 : 1) * params->weight * sum;
        }
}

Test(added, the_comparison_of_built_in_stages_passes)
{
    /* Their sums need no rounding to f32. */
    enum { exact = TS_DTYPE_BIT(TS_U8) | TS_DTYPE_BIT(TS_I8) | TS_DTYPE_BIT(TS_I16) };
    static const struct stage_case cases[] = {
        {.assignments = "", .dtypes = exact},
        {.assignments = "radius=0 weight=0.5", .dtypes = exact},
        {.assignments = "radius=3 rule=max negative=true",
         .dtypes = exact,
         .values = VALUES_EXTREME},
        {.assignments = "radius=8", .nz = 2, .ny = 3, .nx = 5, .dtypes = exact},
        {.assignments = "", .dtypes = TS_DTYPE_BIT(TS_F32), .absolute = 1e-3}};
    cr_assert_gt(ts_stage_check(add(&grown), grown_oracle, cases, sizeof cases / sizeof *cases), 0);
}

Test(added, a_mask_streams_with_the_slabs)
{
    const struct stage *stage = add(&grown);
    struct ts_image in = ts_test_image(7, 3, 4, TS_U16, VALUES_RANDOM, 1),
                    mask = ts_test_image(7, 3, 4, TS_U8, VALUES_RANDOM, 2),
                    narrow = ts_test_image(7, 3, 3, TS_U8, VALUES_RANDOM, 3);
    struct stage_run whole, part, without;
    for (int i = 0; i < 84; i += 3)
        ((uint8_t *)mask.data)[i] = 0;
    cr_assert_eq(ts_test_run(&whole, stage, "mask=x", &in, &mask, 0, 1), TS_OK);
    cr_assert_eq(ts_test_run(&without, stage, "", &in, NULL, 0, 1), TS_OK);
    for (int64_t slab = 1; slab < 4; slab++) {
        cr_assert_eq(ts_test_run(&part, stage, "mask=x", &in, &mask, slab, 2), TS_OK);
        cr_assert_eq(memcmp(whole.out.data, part.out.data, ts_image_bytes(&whole.out)), 0);
        ts_test_run_clear(&part);
    }
    for (int i = 0; i < 84; i++) {
        const float expected = ((uint8_t *)mask.data)[i] ? ((float *)without.out.data)[i] : 0;
        cr_assert_eq(((float *)whole.out.data)[i], expected);
    }
    ts_test_refuses(stage, "mask=x", &in, &narrow, "reference-shape", "7 x 3 x 3");
    ts_test_run_clear(&whole);
    ts_test_run_clear(&without);
    free(in.data);
    free(mask.data);
    free(narrow.data);
}

static enum ts_status copy_map(const struct ts_call *call, struct ts_image *out)
{
    memcpy(out->data, call->in[0].data, ts_image_bytes(out));
    return TS_OK;
}

static const struct ts_stage copies = {.size = sizeof copies,
                                       .name = "copies",
                                       .version = "0",
                                       .summary = "copy the image",
                                       .axes = TS_TAKES_VOLUMES,
                                       .dtypes = 0x7F,
                                       .map = copy_map};

Test(added, masked_pixels_stay_so_where_the_table_says_that)
{
    struct ts_stage keeps = copies;
    struct stage_context prepared;
    struct param_set set;
    struct ts_image in = ts_test_image(2, 3, 4, TS_I16, VALUES_CT, 1);
    in.masked = true;
    keeps.name = "keeps";
    keeps.keeps_valid = true;
    for (int i = 0; i < 2; i++) {
        const struct stage *stage = add(i ? &keeps : &copies);
        ts_test_params(stage, "", &set);
        cr_assert_eq(ts_stage_prepare(stage, &set, &in, NULL, 1, NULL, diag, &prepared), TS_OK);
        cr_assert_eq(prepared.out.masked, i == 1);
        cr_assert_eq(ts_stage_takes_invalid(&prepared), i == 0);
        ts_test_params_clear(&set);
    }
    free(in.data);
}

/* ---- wrong tables ---------------------------------------------------------------------------- */

static void refused(const struct ts_stage *table, const char *code, const char *words)
{
    ts_diag_clear(diag);
    cr_assert_eq(ts_context_add_stage(context, table, diag), TS_BAD_CHAIN, "%s", words);
    const struct ts_diag_record *record = ts_test_record(diag, code);
    cr_assert(record && strstr(record->message, words), "not '%s' but: %s", words,
              record ? record->message : "nothing");
    cr_assert_null(ts_registry_find(ts_context_stages(context), "wrong"));
}

#define WRONG_TABLE(words, ...)                                                                    \
    do {                                                                                           \
        struct ts_stage table = copies;                                                            \
        table.name = "wrong";                                                                      \
        __VA_ARGS__;                                                                               \
        refused(&table, "stage-table", words);                                                     \
    } while (0)

Test(added, wrong_tables_are_refused)
{
    static char long_name[64];
    memset(long_name, 'a', sizeof long_name - 1);
    WRONG_TABLE("size is not", table.size = 8);
    WRONG_TABLE("size is not", table.size = sizeof table - 8);
    WRONG_TABLE("the stage's name", table.name = NULL);
    WRONG_TABLE("the stage's name", table.name = "Wrong");
    WRONG_TABLE("the stage's name", table.name = "wr-ong");
    WRONG_TABLE("the stage's name", table.name = "1wrong");
    WRONG_TABLE("the stage's name", table.name = "");
    WRONG_TABLE("the stage's name", table.name = long_name);
    WRONG_TABLE("version", table.version = NULL);
    WRONG_TABLE("version", table.version = "1\n2");
    WRONG_TABLE("summary", table.summary = "ends in a period.");
    WRONG_TABLE("summary", table.summary = "");
    WRONG_TABLE("axes", table.axes = 0);
    WRONG_TABLE("axes", table.axes = 4);
    WRONG_TABLE("dtypes", table.dtypes = 0);
    WRONG_TABLE("dtypes", table.dtypes = 1u << TS_F64);
    WRONG_TABLE("no map()", table.map = NULL);
    WRONG_TABLE("parameters are NULL", table.n_params = 1);
    WRONG_TABLE("more than 32 parameters", table.n_params = 33; table.params = grown_params);
    WRONG_TABLE("param_size", table.n_params = 1; table.params = grown_params);
    WRONG_TABLE("more than 1048576 bytes", table.params_bytes = 1 << 21);
}

/* The one parameter of a table, an integer in a struct of 16 bytes, is changed. */
#define WRONG_PARAM(words, ...)                                                                    \
    do {                                                                                           \
        struct ts_param param = grown_params[0];                                                   \
        __VA_ARGS__;                                                                               \
        WRONG_TABLE(words, table.params = &param; table.n_params = 1;                              \
                    table.param_size = sizeof param; table.params_bytes = 16);                     \
    } while (0)

Test(added, wrong_parameters_are_refused)
{
    static const char *const none[] = {NULL}, *const twice[] = {"a", "a", NULL};
    WRONG_PARAM("the name of parameter 0", param.name = NULL);
    WRONG_PARAM("the name of parameter 0", param.name = "a b");
    WRONG_PARAM("every stage has", param.name = "input");
    WRONG_PARAM("every stage has", param.name = "name");
    WRONG_PARAM("its doc", param.doc = NULL);
    WRONG_PARAM("its doc", param.doc = "ends.");
    WRONG_PARAM("kind is unknown", param.kind = (enum ts_param_kind)17);
    WRONG_PARAM("kind is unknown", param.kind = (enum ts_param_kind) - 1);
    WRONG_PARAM("outside of the struct", param.offset = 16);
    WRONG_PARAM("outside of the struct", param.offset = SIZE_MAX);
    WRONG_PARAM("not aligned", param.offset = 4);
    WRONG_PARAM("default is outside its range", param.value = 9);
    WRONG_PARAM("not a whole number", param.value = 1.5);
    WRONG_PARAM("not a whole number", param.value = 0x1p60; param.max = 0x1p61);
    WRONG_PARAM("range is empty", param.min = 9);
    WRONG_PARAM("range is empty", param.max = HUGE_VAL);
    WRONG_PARAM("range is empty", param.max = (double)NAN);
    WRONG_PARAM("default is infinite", param.kind = TS_PARAM_REAL; param.value = HUGE_VAL);
    WRONG_PARAM("1 to 256 choices", param.kind = TS_PARAM_CHOICE);
    WRONG_PARAM("1 to 256 choices", param.kind = TS_PARAM_CHOICE; param.choices = none);
    WRONG_PARAM("two choices", param.kind = TS_PARAM_CHOICE; param.choices = twice);
    WRONG_PARAM("index of a choice", param.kind = TS_PARAM_CHOICE; param.choices = rules;
                param.value = 2);
    WRONG_PARAM("neither 0 nor 1", param.kind = TS_PARAM_BOOL; param.value = 2);
}

Test(added, parameters_that_do_not_fit_each_other_are_refused)
{
    struct ts_param two[] = {grown_params[0], grown_params[0]}, five[5];
    WRONG_TABLE("two parameters", table.params = two; table.n_params = 2;
                table.param_size = sizeof *two; table.params_bytes = 16);
    two[1].name = "other";
    WRONG_TABLE("overlaps that of 'radius'", table.params = two; table.n_params = 2;
                table.param_size = sizeof *two; table.params_bytes = 16);
    for (int i = 0; i < 5; i++) {
        static const char *const names[] = {"a", "b", "c", "d", "e"};
        five[i] = grown_params[4];
        five[i].name = names[i];
    }
    WRONG_TABLE("more than 4 references", table.params = five; table.n_params = 5;
                table.param_size = sizeof *five);
}

Test(added, names_that_are_taken_are_refused)
{
    static const char *const names[] = {"box",  "save",  "npy",    "dicom", "tiff",
                                        "hdf5", "input", "output", "memory"};
    struct ts_stage table = copies;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        table.name = names[i];
        refused(&table, "stage-taken", "");
    }
    (void)add(&copies);
    refused(&copies, "stage-taken", "already");
}

/* ---- wrong answers --------------------------------------------------------------------------- */

static int answer;

static enum ts_status wrong_shape(const struct ts_call *call, struct ts_image *out)
{
    static const double stands[4] = {0, 1, 1, 2};
    (void)call;
    switch (answer) {
    case 0:
        out->axes[0].n++;
        break;
    case 1:
        out->axes[1].n = 0;
        break;
    case 2:
        out->axes[2].kind = TS_AXIS_BIN;
        break;
    case 3:
        out->dtype = TS_F64;
        break;
    case 4:
        out->unit = NULL;
        break;
    case 5:
        out->axes[2].spacing = (double)NAN;
        break;
    case 6:
        out->quantity = (enum ts_quantity)99;
        break;
    case 7:
        out->axes[2].unit = "furlong";
        break;
    case 8:
        out->axes[1].spacing = 0;
        out->axes[1].first = 3;
        break;
    case 9:
        out->axes[2].positions = stands;
        break;
    case 10:
        out->has_geometry = true;
        memset(out->direction, 0, sizeof out->direction);
        break;
    case 11:
        out->beam = (struct ts_beam){TS_BEAM_FAN_FLAT, 60, 90};
        break;
    case 12: /* right, once it is converted */
        out->axes[1].unit = "cm";
        out->axes[2].unit = "um";
        break;
    case 13:
        out->quantity = TS_HU;
        out->unit = "1/mm";
        break;
    case 14: /* of an image with a place */
        out->axes[2].unit = "pixel";
        break;
    case 15:
        out->axes[1].spacing = 0;
        break;
    case 16: /* right: no unit is 1 */
        out->unit = "";
        break;
    default:
        return (enum ts_status)answer;
    }
    return TS_OK;
}

static int64_t wrong_halo(const struct ts_call *call)
{
    (void)call->refuse(call, TS_BAD_CHAIN, "not-heard", "halo() has no errors", NULL);
    return answer;
}

Test(added, wrong_answers_are_refused)
{
    struct ts_image in = ts_test_image(2, 3, 4, TS_I16, VALUES_CT, 1);
    struct ts_stage table = copies;
    static const char *const words[] = {"changed the slices",  "an axis without elements",
                                        "neither (z, y, x)",   "a type that images",
                                        "or no unit",          "is no number",
                                        "an unknown quantity", "'furlong'",
                                        "a spacing of 0",      "neither rise nor fall",
                                        "right angles",        "no fan beam"};
    table.name = "shapes";
    table.shape = wrong_shape;
    const struct stage *stage = add(&table);
    for (answer = 0; answer < 12; answer++)
        ts_test_refuses(stage, "", &in, NULL, "stage-answer", words[answer]);
    struct stage_run converted;
    answer = 12;
    in.axes[1].spacing = 0.3;
    in.axes[2].spacing = 300;
    cr_assert_eq(ts_test_run(&converted, stage, "", &in, NULL, 0, 1), TS_OK);
    cr_assert_eq(converted.context.out.axes[1].spacing, 3);
    cr_assert_eq(converted.context.out.axes[2].spacing, 0.3);
    cr_assert_str_eq(converted.context.out.axes[2].unit, "mm");
    ts_test_run_clear(&converted);
    answer = 13;
    ts_test_refuses(stage, "", &in, NULL, "stage-answer", "a unit that their quantity");
    answer = 16;
    cr_assert_eq(ts_test_run(&converted, stage, "", &in, NULL, 0, 1), TS_OK);
    cr_assert_str_eq(converted.context.out.unit, "1");
    ts_test_run_clear(&converted);
    in.has_geometry = true;
    in.direction[0] = in.direction[4] = in.direction[8] = 1;
    in.step_z_mm[2] = in.axes[0].spacing;
    for (answer = 14; answer < 16; answer++)
        ts_test_refuses(stage, "", &in, NULL, "stage-answer",
                        answer == 14 ? "axis x has no spacing" : "axis y has no spacing");
    for (answer = 17; answer < 19; answer++) {
        struct stage_run run;
        cr_assert_eq(ts_test_run(&run, stage, "", &in, NULL, 0, 1), TS_RUN_FAILED);
        cr_assert(ts_test_record(run.diag, "stage-failed"));
        ts_test_run_clear(&run);
    }
    table.name = "halos";
    table.shape = NULL;
    table.halo = wrong_halo;
    stage = add(&table);
    for (answer = -1; answer < 5000; answer += 4999)
        if (answer != 0)
            ts_test_refuses(stage, "", &in, NULL, "stage-answer", "outside [0, 4096]");
    free(in.data);
}

static enum ts_status failing_map(const struct ts_call *call, struct ts_image *out)
{
    (void)out;
    if (answer >= 0)
        return (enum ts_status)answer;
    /* What is refused fails, even if the map then says that all is well. */
    (void)call->refuse(call, TS_BAD_INPUT, "own-code", "these values", "take others");
    return answer == -1 ? TS_BAD_INPUT : TS_OK;
}

Test(added, a_map_that_fails_ends_the_run_with_a_reason)
{
    static const enum ts_status expected[] = {TS_BAD_INPUT,  TS_BAD_INPUT, TS_OK,
                                              TS_RUN_FAILED, TS_BAD_CHAIN, TS_BAD_INPUT,
                                              TS_RUN_FAILED};
    struct ts_image in = ts_test_image(2, 3, 4, TS_I16, VALUES_CT, 1);
    struct ts_stage table = copies;
    struct stage_run run;
    table.name = "fails";
    table.map = failing_map;
    const struct stage *stage = add(&table);
    for (answer = -2; answer <= TS_STOPPED; answer++) {
        const enum ts_status status = ts_test_run(&run, stage, "", &in, NULL, 0, 1);
        const char *code = answer < 0 ? "own-code" : "stage-failed";
        cr_assert_eq(status, expected[answer + 2], "answer %d: %d", answer, status);
        const struct ts_diag_record *record = ts_test_record(run.diag, code);
        cr_assert_eq(record != NULL, answer != 0);
        if (record)
            cr_assert_str_eq(record->stage, "fails");
        ts_test_run_clear(&run);
    }
    free(in.data);
}

/* ---- contexts -------------------------------------------------------------------------------- */

static enum ts_status parse(struct ts_context *in, const char *text)
{
    struct ts_chain *chain = NULL;
    ts_diag_clear(diag);
    const enum ts_status status =
        ts_context_parse(in, text, strlen(text), "test", NULL, &chain, diag);
    ts_chain_destroy(chain);
    return status;
}

Test(added, chains_check_the_parameters)
{
    static const char *const wrong[][3] = {
        {"memory v | grown radius=9", "parameter-range", "outside [0, 8]"},
        {"memory v | grown radius=1.5", "not-a-number", ""},
        {"memory v | grown rule=mean", "parameter-choice", "'mean'"},
        {"memory v | grown radios=1", "unknown-parameter", "did you mean 'radius'"},
        {"memory v | grown mask=later", "unknown-name", ""},
        {"memory v | growm", "unknown-stage", "did you mean 'grown'"},
        {"memory v | needs", "parameter-missing", "required"},
        {"memory v grown radius=1", "oneline-syntax", "a | is missing"}};
    struct ts_param param = grown_params[0];
    struct ts_stage needs = copies;
    param.value = (double)NAN;
    needs.name = "needs";
    needs.params = &param;
    needs.n_params = 1;
    needs.param_size = sizeof param;
    needs.params_bytes = sizeof(struct grown_params);
    (void)add(&grown);
    (void)add(&needs);
    param.name = "changed"; /* the table was copied */
    cr_assert_eq(parse(context, "memory v | grown radius=2 rule=max note=x | needs radius=1"),
                 TS_OK);
    cr_assert_eq(parse(context, "tomostage: 2\ninput: {memory: v}\nstages: [grown: {radius: 2}]\n"
                                "output: {hdf5: o.h5}\n"),
                 TS_OK);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cr_assert_eq(parse(context, wrong[i][0]), TS_BAD_CHAIN, "%s", wrong[i][0]);
        const struct ts_diag_record *record = ts_test_record(diag, wrong[i][1]);
        if (!record || !strstr(record->message, wrong[i][2]))
            ts_diag_print(diag, stderr);
        cr_assert(record && strstr(record->message, wrong[i][2]), "%s", wrong[i][0]);
    }
}

Test(added, a_context_has_its_stages_for_itself)
{
    struct ts_context *other = NULL;
    (void)add(&copies);
    cr_assert_eq(ts_context_create(NULL, &other, diag), TS_OK);
    cr_assert_eq(parse(context, "memory v | copies"), TS_OK);
    cr_assert_eq(parse(other, "memory v | copies"), TS_BAD_CHAIN);
    cr_assert_eq(parse(NULL, "memory v | copies"), TS_BAD_CHAIN);
    cr_assert_eq(ts_context_add_stage(NULL, &copies, diag), TS_OK);
    cr_assert_eq(parse(NULL, "memory v | copies"), TS_OK);
    cr_assert_eq(parse(other, "memory v | copies"), TS_BAD_CHAIN);
    ts_context_destroy(other);
}

Test(added, an_array_passes_through)
{
    float in[4 * 3 * 5], out[4 * 3 * 5];
    const char *text = "memory v | grown radius=1 weight=2";
    const struct ts_array array = {sizeof array, in, TS_F32, 3, {4, 3, 5}, .cuda_device = -1};
    struct ts_array result = array;
    struct ts_options options = TS_OPTIONS_DEFAULT;
    struct ts_chain *chain = NULL;
    struct ts_plan *plan = NULL;
    struct ts_run *run = NULL;
    result.data = out;
    options.device = "cpu";
    for (int i = 0; i < 60; i++)
        in[i] = (float)(i * i % 17);
    (void)add(&grown);
    cr_assert_eq(ts_context_parse(context, text, strlen(text), "t", NULL, &chain, diag), TS_OK);
    cr_assert_eq(ts_chain_set_array(chain, "v", &array, NULL, diag), TS_OK);
    cr_assert_eq(ts_plan_create(chain, &options, &plan, diag), TS_OK);
    cr_assert_eq(ts_run_create(plan, &run, diag), TS_OK);
    cr_assert_eq(ts_run_set_array(run, "data", &result, diag), TS_OK);
    cr_assert_eq(ts_run_execute(run, diag), TS_OK);
    for (int z = 0; z < 4; z++)
        for (int i = 0; i < 15; i++)
            cr_assert_eq(out[z * 15 + i], 2 * (in[(z > 0 ? z - 1 : 0) * 15 + i] + in[z * 15 + i] +
                                               in[(z < 3 ? z + 1 : 3) * 15 + i]));
    ts_run_destroy(run);
    ts_plan_destroy(plan);
    ts_chain_destroy(chain);
}

enum { THREADS = 4, EACH = 8 };

static void *add_some(void *number)
{
    struct ts_diag *own = ts_diag_create();
    for (int i = 0; i < EACH; i++) {
        char name[16], text[32];
        struct ts_stage table = copies;
        struct ts_chain *chain = NULL;
        snprintf(name, sizeof name, "s%d_%d", *(int *)number, i);
        snprintf(text, sizeof text, "memory v | %s", name);
        table.name = name;
        cr_assert_eq(ts_context_add_stage(context, &table, own), TS_OK);
        cr_assert_eq(ts_context_parse(context, text, strlen(text), "t", NULL, &chain, own), TS_OK);
        ts_chain_destroy(chain);
    }
    ts_diag_destroy(own);
    return NULL;
}

Test(added, threads_may_add_at_once)
{
    pthread_t threads[THREADS];
    int numbers[THREADS];
    size_t n = 0, built_in = 0;
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        cr_assert_eq(pthread_create(&threads[i], NULL, add_some, &numbers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    while (ts_registry_stage(ts_context_stages(context), n))
        n++;
    while (ts_stages[built_in])
        built_in++;
    cr_assert_eq(n, built_in + THREADS * EACH);
}
