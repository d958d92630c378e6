/* SPDX-License-Identifier: Apache-2.0 */
#include "lab/bench/bench.h"

#include <criterion/criterion.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/file/whole_file.h"
#include "tests/files/output_fixture.h"
#include "tests/support/oracles.h"
#include "tests/support/program.h"
#include "tests/support/stage_check.h"

/* One run on one thread over 2 x 9 x 16 values. */
static struct bench_request small_request(const char *stage, const char *parameters, int dtype,
                                          int values)
{
    return (struct bench_request){.stage = stage,
                                  .parameters = parameters,
                                  .dtype = dtype,
                                  .values = values,
                                  .nz = 2,
                                  .ny = 9,
                                  .nx = 16,
                                  .runs = 1,
                                  .threads = 1,
                                  .device = "cpu"};
}

/* Returns what a benchmark that succeeds prints; free() it. */
static char *printed(const struct bench_request *request)
{
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    struct ts_diag *diag = ts_diag_create();
    const enum ts_status status = ts_bench_run(request, stream, diag);
    fclose(stream);
    ts_diag_print(diag, stderr);
    ts_diag_destroy(diag);
    cr_assert_eq(status, TS_OK, "%s", request->stage ? request->stage : "all stages");
    cr_assert(!request->json || ts_test_is_json(text, length), "%s", text);
    return text;
}

/* Every stage that computes has a case, so that a new one cannot go unmeasured. */
Test(bench, every_stage_has_a_case_that_runs)
{
    for (const struct stage *const *stage = ts_stages; *stage; stage++) {
        if (!(*stage)->map && !(*stage)->reduction)
            continue;
        const struct bench_request request = small_request((*stage)->name, NULL, -1, -1);
        char *text = printed(&request);
        cr_assert(strstr(text, "2x9x16"), "%s: %s", (*stage)->name, text);
        free(text);
    }
}

/* Every distribution where values are counted; else one, also where a reduction looks for values
 * that are not finite. */
Test(bench, distributions_are_for_what_counts_values)
{
    static const struct {
        const char *stage;
        bool every_distribution;
    } rows[] = {{"histogram", true}, {"equalize", true}, {"statistics", true},
                {"rescale", true},   {"clahe", true},    {"fbp", false},
                {"sirt", false},     {"cgls", false},    {"box", false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct bench_request request = small_request(rows[i].stage, NULL, TS_U16, -1);
        char *text = printed(&request);
        for (int values = 0; values < BENCH_VALUES; values++) {
            char name[32];
            snprintf(name, sizeof name, " %s ", ts_bench_values_names[values]);
            cr_expect_eq(strstr(text, name) != NULL,
                         rows[i].every_distribution || values == BENCH_CT, "%s%s: %s",
                         rows[i].stage, name, text);
        }
        free(text);
    }
}

Test(bench, writes_json_that_counts_its_bytes)
{
    struct bench_request request =
        small_request("radon", "views=5 detectors=7", TS_U16, BENCH_UNIFORM);
    request.json = true;
    char *text = printed(&request);
    cr_assert(
        strstr(text, "\"shape\": [2, 9, 16], \"device\": \"cpu\", \"threads\": 1, \"seconds\": "),
        "%s", text);
    cr_assert(strstr(text, "\"bytes\": 856, \"samples\": 1120,"), "%s",
              text); /* 2 * (144 * 2 + 35 * 4); 2 * 35 * 16 */
    free(text);
}

Test(bench, refuses_what_it_cannot_set)
{
    static const char *const wrong[][3] = {
        {"radon", "vews=5", "unknown-parameter"},       {"radon", "views", "oneline-syntax"},
        {"radon", "views=5x", "not-a-number"},          {"radon", "views=0", "parameter-range"},
        {"radon", "method=siddon", "parameter-choice"}, {"radon", "angles=1,x", "not-a-number"},
        {"equalize", "reference=other", "bad-value"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct bench_case which = {.stage = ts_stage_find(wrong[i][0])};
        struct arena *arena = ts_arena_create();
        struct ts_diag *diag = ts_diag_create();
        struct param_set set;
        snprintf(which.parameters, sizeof which.parameters, "%s", wrong[i][1]);
        cr_assert_eq(ts_bench_load(&set, &which, arena, diag), TS_BAD_CHAIN, "%s", wrong[i][1]);
        cr_assert_str_eq(ts_diag_get(diag, 0)->code, wrong[i][2], "%s", wrong[i][1]);
        ts_diag_destroy(diag);
        ts_arena_destroy(arena);
    }
    struct bench_request request = {.stage = "radn", .dtype = -1, .values = -1};
    struct ts_diag *diag = ts_diag_create();
    cr_assert_eq(ts_bench_run(&request, stdout, diag), TS_BAD_CHAIN);
    request.stage = "box";
    request.device = "cuba";
    cr_assert_eq(ts_bench_run(&request, stdout, diag), TS_BAD_CHAIN);
    cr_assert_str_eq(ts_diag_get(diag, 1)->code, "device");
    request.stage = "save";
    cr_assert_eq(ts_bench_run(&request, stdout, diag), TS_BAD_CHAIN);
    cr_assert_str_eq(ts_diag_get(diag, 2)->code, "no-benchmark");
    ts_diag_destroy(diag);
}

/* A choice without a part would be timed under a name that is not its own. */
Test(bench, refuses_a_method_that_plays_no_part)
{
    struct bench_request request = small_request("statistics", "method=fan-in", TS_U16, BENCH_CT);
    struct ts_diag *diag = ts_diag_create();
    FILE *sink = fopen("/dev/null", "w");
    cr_assert_not_null(sink);
    cr_assert_eq(ts_bench_run(&request, sink, diag), TS_BAD_CHAIN);
    cr_assert_str_eq(ts_diag_get(diag, 0)->code, "no-benchmark");
    request.dtype = TS_F32;
    cr_assert_eq(ts_bench_run(&request, sink, diag), TS_OK);
    fclose(sink);
    ts_diag_destroy(diag);
}

/* A reference makes a case another: the labels of the image, its own histogram to match. */
Test(bench, gives_the_image_as_its_own_reference)
{
    static const char *const cases[][2] = {
        {"histogram", "range=0,4096 labels=itself n_labels=4096"},
        {"histogram", "range=0,4096 reference=itself"},
        {"equalize", "method=skimage reference=itself"}};
    struct ts_diag *diag = ts_diag_create();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bench_case which = {.stage = ts_stage_find(cases[i][0]),
                                   .dtype = TS_U16,
                                   .values = BENCH_CT,
                                   .nz = 2,
                                   .ny = 20,
                                   .nx = 30};
        struct bench_row with, without;
        cr_assert_eq(ts_bench_cpu(&which, 1, 1, 1, diag, &without), TS_OK, "%s", cases[i][0]);
        snprintf(which.parameters, sizeof which.parameters, "%s", cases[i][1]);
        cr_assert_eq(ts_bench_cpu(&which, 1, 1, 1, diag, &with), TS_OK, "%s", cases[i][1]);
        cr_assert_eq(with.bytes - without.bytes, 2.0 * 2 * 20 * 30, "%s: %g and %g bytes",
                     cases[i][1], with.bytes, without.bytes);
        char hinted[BENCH_MAX_CASES][256];
        const int n = ts_bench_parameters(which.stage, hinted);
        bool there = false;
        for (int k = 0; k < n; k++)
            there |= strstr(hinted[k], strchr(cases[i][1], ' ') + 1) != NULL;
        cr_assert(there, "%s is in no case of the benchmark", cases[i][1]);
    }
    ts_diag_destroy(diag);
}

static int ignore_run(char **operands)
{
    (void)operands;
    return 0;
}

/* Reads one option by the table of `bench`, and runs nothing. */
static int read_option(const char *option, const char *value)
{
    struct command command = ts_bench_command;
    char *argv[] = {(char *)"bench", (char *)option, (char *)value, NULL};
    command.run = ignore_run;
    optind = 0;
    return ts_command_run(&command, 3, argv);
}

Test(bench, options_take_their_own_values)
{
    const struct bench_request *request = ts_bench_command.arguments; /* the first member */
    static const struct {
        const char *option, *value;
        bool taken;
    } rows[] = {
        {"--size", "3x20x30", true},    {"--size", "3x20", false},  {"--size", "0x20x30", false},
        {"--size", "3x20x30x4", false}, {"--dtype", "f32", true},   {"--dtype", "float", false},
        {"--values", "ct", true},       {"--values", "", false},    {"--runs", "7", true},
        {"--runs", "-1", false},        {"--threads", "2x", false}, {"--threads", "0", false},
        {"--threads", "4097", false},   {"--threads", "4096", true}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        cr_assert_eq(read_option(rows[i].option, rows[i].value), rows[i].taken ? 0 : COMMAND_WRONG,
                     "row %zu", i);
    cr_assert(request->nz == 3 && request->ny == 20 && request->nx == 30 && request->runs == 7);
    cr_assert(request->threads == 4096 && request->dtype == TS_F32 && request->values == BENCH_CT);
}

/* The command line takes all that the stages' own cases have. */
Test(bench, method_star_is_every_method)
{
    static const struct {
        const char *stage, *cases;
        int n;
        const char *first, *last;
    } rows[] = {
        {"statistics", "method=* ddof=1", 2, "method=fan-in ddof=1", "method=two-level ddof=1"},
        {"box", "radius=1|radius=2", 2, "radius=1", "radius=2"},
        {"invert", "method=*", 1, "method=*", "method=*"},
        {"box", "", 1, "", ""}};
    char parameters[BENCH_MAX_CASES][256], text[512], long_text[300];
    size_t index, bytes;
    char *output;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const int n = ts_bench_split_cases(ts_stage_find(rows[i].stage), rows[i].cases, parameters);
        cr_assert_eq(n, rows[i].n, "{%s}: %d cases", rows[i].cases, n);
        cr_assert_str_eq(parameters[0], rows[i].first);
        cr_assert_str_eq(parameters[n - 1], rows[i].last);
    }
    memset(long_text, 'a', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    cr_assert_eq(ts_bench_split_cases(ts_stage_find("box"), long_text, parameters), 0);

    for (const struct stage *const *stage = ts_stages; *stage; stage++) {
        const struct param *param =
            ts_param_find((*stage)->params, (*stage)->n_params, "method", &index);
        int n_methods = 0;
        for (const struct choice *choice = param && param->kind == PARAM_CHOICE ? param->choices
                                                                                : NULL;
             choice && choice->name; choice++)
            n_methods += strcmp(choice->name, "auto") != 0;
        if (n_methods > 0)
            cr_assert_eq(ts_bench_split_cases(*stage, "method=*", parameters), n_methods, "%s",
                         (*stage)->name);
    }

    struct bench_request request = small_request("statistics", "method=* ddof=1", TS_F32, BENCH_CT);
    output = printed(&request);
    cr_assert(strstr(output, "fan-in") && strstr(output, "two-level"), "%s", output);
    free(output);

    struct ts_diag *diag = ts_diag_create();
    FILE *sink = open_memstream(&output, &bytes);
    request = small_request("box", long_text, TS_U16, BENCH_CT);
    cr_assert_eq(ts_bench_run(&request, sink, diag), TS_BAD_CHAIN);
    cr_assert_str_eq(ts_diag_get(diag, 0)->code, "parameters-too-long");
    request = small_request("invert", "method=*", TS_U16, BENCH_CT);
    cr_assert_eq(ts_bench_run(&request, sink, diag), TS_BAD_CHAIN);
    snprintf(text, sizeof text, "%s", ts_diag_get(diag, 1)->message);
    cr_assert(strstr(text, "unknown parameter 'method'"), "%s", text);
    fclose(sink);
    free(output);
    ts_diag_destroy(diag);
}

/* A method that is not in the benchmark cannot be compared. */
Test(bench, every_method_has_a_case)
{
    for (const struct stage *const *stage = ts_stages; *stage; stage++) {
        char parameters[BENCH_MAX_CASES][256];
        size_t i;
        const struct param *param =
            ts_param_find((*stage)->params, (*stage)->n_params, "method", &i);
        const int n =
            param && param->kind == PARAM_CHOICE ? ts_bench_parameters(*stage, parameters) : 0;
        for (const struct choice *choice = n > 0 ? param->choices : NULL; choice && choice->name;
             choice++) {
            char assignment[64];
            bool there = !strcmp(choice->name, "auto");
            snprintf(assignment, sizeof assignment, "method=%s", choice->name);
            for (int k = 0; k < n; k++) {
                const char *at = strstr(parameters[k], assignment);
                there |= at && strchr(" ", at[strlen(assignment)]);
            }
            cr_assert(there, "%s %s", (*stage)->name, assignment);
        }
    }
}

Test(bench, plots_a_bar_a_row)
{
    char folder[256], path[300], saved[300];
    size_t bytes, bars = 0;
    ts_test_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/plot.svg", folder);
    snprintf(saved, sizeof saved, "%s/rows.json", folder);
    struct bench_request request = small_request("box", "radius=1", TS_U16, BENCH_CT);
    request.save = saved;
    request.plot = path;
    struct ts_diag *diag = ts_diag_create();
    FILE *sink = fopen("/dev/null", "w");
    cr_assert_eq(ts_bench_run(&request, sink, diag), TS_OK);
    unsigned char *file = ts_test_read_file(path, &bytes);
    cr_assert_not_null(file);
    char *text = strndup((const char *)file, bytes);
    free(file);
    cr_assert(!strncmp(text, "<svg ", 5) && !strncmp(text + bytes - 7, "</svg>\n", 7));
    for (const char *at = text; (at = strstr(at, "<rect x=")); at++)
        bars++;
    cr_assert_eq(bars, 1);
    free(text);
    text = (char *)ts_test_read_file(saved, &bytes);
    cr_assert(text && ts_test_is_json(text, bytes));
    free(text);
    fclose(sink);
    ts_diag_destroy(diag);
    ts_test_remove_folder(folder);
}

/* Before anything is timed; and what is there stays until there is something to put in its
 * place. */
Test(bench, files_that_cannot_be_written_are_found_at_once)
{
    char folder[256], missing[300], there[300];
    size_t bytes;
    ts_test_folder(folder, sizeof folder);
    snprintf(missing, sizeof missing, "%s/none/rows", folder);
    snprintf(there, sizeof there, "%s/there", folder);
    FILE *file = fopen(there, "w");
    fputs("kept", file);
    fclose(file);
    for (int plot = 0; plot < 2; plot++) {
        struct bench_request request = small_request("box", "radius=1", TS_U16, BENCH_CT);
        char *text = NULL;
        size_t length = 0;
        FILE *stream = open_memstream(&text, &length);
        struct ts_diag *diag = ts_diag_create();
        request.save = plot ? there : missing;
        request.plot = plot ? missing : there;
        cr_expect_eq(ts_bench_run(&request, stream, diag), TS_RUN_FAILED);
        cr_expect_str_eq(ts_diag_get(diag, 0)->code, "output-folder-missing");
        fclose(stream);
        cr_expect_eq(length, 0, "%s", text);
        free(text);
        ts_diag_destroy(diag);
    }
    char *text = (char *)ts_test_read_file(there, &bytes);
    cr_expect(bytes == 4 && !memcmp(text, "kept", 4));
    free(text);
    struct ts_diag *diag = ts_diag_create();
    snprintf(missing, sizeof missing, "%s/fresh", folder);
    cr_expect_eq(ts_whole_file_check(missing, true, diag), TS_OK);
    cr_expect_neq(access(missing, F_OK), 0);
    ts_diag_destroy(diag);
    ts_test_remove_folder(folder);
}

/* Also where there is no device; in the type, values and size that are asked for. */
Test(bench, times_the_chain_on_the_cpu)
{
    struct bench_request request = small_request("chain", NULL, -1, -1);
    request.nz = 1;
    char *text = printed(&request);
    cr_assert(strstr(text, "\nchain      box radius=2|histogram bins=256|equalize ") &&
                  strstr(text, " u16   ct              1x9x16    1 "),
              "%s", text);
    free(text);
    request.dtype = TS_F32;
    request.values = BENCH_UNIFORM;
    request.json = true;
    text = printed(&request);
    const char *row = strstr(text, "\"dtype\": \"f32\", \"values\": \"uniform\", \"shape\": [1, 9, "
                                   "16], \"device\": \"cpu\", \"threads\": 1, \"seconds\": ");
    cr_assert(row && atof(strstr(row, "\"seconds\": ") + strlen("\"seconds\": ")) > 0, "%s", text);
    free(text);
}

Test(bench, refuses_what_the_chain_does_not_take)
{
    static const struct {
        const char *parameters;
        int64_t nz;
        const char *message;
    } rows[] = {{"radius=1", 0, "--parameters are those of a stage; the chain is 'box "},
                {NULL, 2, "the chain is timed on one slice, not on 2: --size 1x9x16"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bench_request request = small_request("chain", rows[i].parameters, -1, -1);
        struct ts_diag *diag = ts_diag_create();
        request.nz = rows[i].nz;
        cr_expect_eq(ts_bench_run(&request, stdout, diag), TS_BAD_CHAIN);
        cr_assert_eq(ts_diag_count(diag), 1);
        cr_expect_str_eq(ts_diag_get(diag, 0)->code, "benchmark-option");
        cr_expect(strstr(ts_diag_get(diag, 0)->message, rows[i].message), "%s",
                  ts_diag_get(diag, 0)->message);
        ts_diag_destroy(diag);
    }
}

/* Checks that each row of a benchmark as JSON has an error, or is one of those that cannot have one
 * and gives the reason. The error covers all tables, but for rows that name those it does not.
 * Returns how many rows there are. */
static size_t expect_errors(const char *text)
{
    static const char *const without[] = {"{\"stage\": \"center\", \"parameters\": \"method=given ",
                                          "{\"stage\": \"chain\","},
                             center[] = "{\"stage\": \"center\", ",
                             left[] = "\"not_compared\": \"confidence, ";
    size_t rows = 0;
    for (const char *row = text; (row = strstr(row, "{\"stage\": ")); row++, rows++) {
        const char *error = strstr(row, "\"error\": "), *end = strchr(row, '}');
        bool named = false;
        cr_assert(error && end && error < end, "%.200s", row);
        for (size_t i = 0; i < sizeof without / sizeof *without; i++)
            named |= !strncmp(row, without[i], strlen(without[i]));
        const bool missing = !strncmp(error, "\"error\": null", strlen("\"error\": null"));
        const char *why = strstr(error, "\"no_error\": \"");
        cr_assert_eq(missing, named, "%.*s", (int)(end - row), row);
        cr_assert_eq(missing, why && why < end, "%.*s", (int)(end - row), row);
        const char *partly = strstr(error, "\"not_compared\": \"");
        const bool of_center = !strncmp(row, center, strlen(center)) && !missing;
        cr_assert_eq(partly && partly < end, of_center, "%.*s", (int)(end - row), row);
        cr_assert(!of_center || !strncmp(partly, left, strlen(left)), "%.*s", (int)(end - row),
                  row);
    }
    return rows;
}

/* Every stage takes one of the two types. */
Test(bench, every_row_has_an_error, .timeout = 900)
{
    size_t rows = 0;
    for (int dtype = TS_U16; dtype <= TS_F32; dtype += TS_F32 - TS_U16) {
        const struct bench_request request = {.dtype = dtype,
                                              .values = ts_test_few() ? BENCH_CT : -1,
                                              .nz = 4,
                                              .ny = 96,
                                              .nx = 96,
                                              .runs = 1,
                                              .threads = 1,
                                              .device = "cpu",
                                              .json = true,
                                              .compare = ts_oracle_compare};
        char *text = printed(&request);
        rows += expect_errors(text);
        free(text);
    }
    cr_assert_gt(rows, 100);
}

/* A row for each stage with CUDA code that takes this type, and one for the chain on one slice. */
static void time_device(enum ts_dtype dtype)
{
    const struct bench_request request = {.dtype = dtype,
                                          .values = BENCH_CT,
                                          .nz = 3,
                                          .ny = 40,
                                          .nx = 64,
                                          .runs = 3,
                                          .device = "cuda",
                                          .json = true,
                                          .compare = ts_test_few() ? NULL : ts_oracle_compare};
    char *text = printed(&request);
    if (request.compare)
        cr_assert_gt(expect_errors(text), 40);
    for (const struct stage *const *stage = ts_stages; *stage; stage++) {
        char name[64];
        snprintf(name, sizeof name, "{\"stage\": \"%s\"", (*stage)->name);
        cr_assert(!(*stage)->cuda || !((*stage)->dtypes & TS_DTYPE_BIT(dtype)) ||
                      strstr(text, name),
                  "%s has no row of %s", (*stage)->name, ts_dtype_name(dtype));
    }
    cr_assert(!strstr(text, "\"seconds\": null,"), "%s", text);
    free(text);
}

/* Every stage with CUDA code takes one of the two types. */
Test(bench, times_a_device_on_cuda, .timeout = 900)
{
    ts_test_begin_cuda();
    for (const struct stage *const *stage = ts_stages; *stage; stage++)
        cr_assert(!(*stage)->cuda ||
                  ((*stage)->dtypes & (TS_DTYPE_BIT(TS_U16) | TS_DTYPE_BIT(TS_F32))));
    time_device(TS_U16);
    time_device(TS_F32);
    ts_test_end_cuda();
}

/* Four tebibytes. */
Test(bench, what_a_device_has_no_memory_for_is_named_on_cuda)
{
    struct bench_request request = small_request("invert", NULL, TS_U8, BENCH_CT);
    struct ts_diag *diag = ts_diag_create();
    FILE *sink = fopen("/dev/null", "w");
    ts_test_begin_cuda();
    request.nz = 1 << 20;
    request.ny = request.nx = 2048;
    request.device = "cuda";
    cr_assert_eq(ts_bench_run(&request, sink, diag), TS_RUN_FAILED);
    cr_assert_str_eq(ts_diag_get(diag, 0)->code, "benchmark-failed");
    cr_assert(strstr(ts_diag_get(diag, 0)->message, " u8: ") &&
                  strstr(ts_diag_get(diag, 0)->message, "MiB of GPU memory could not be allocated"),
              "%s", ts_diag_get(diag, 0)->message);
    fclose(sink);
    ts_diag_destroy(diag);
}
