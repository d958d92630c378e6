/* SPDX-License-Identifier: Apache-2.0
 *
 * `tomostage rerun`: verifies a result, runs its chain again, and compares. Without -o the second
 * result is among the temporary files until that is done.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/json.h"
#include "cuda/device/device.h"
#include "io/file/file_commit.h"
#include "io/file/new_folder.h"
#include "io/hdf5/hdf5_verify.h"
#include "pipeline/plan/plan.h"
#include "program/cli/cli.h"
#include "program/cli/cli_progress.h"
#include "program/cli/cli_signals.h"
#include "program/record/inputs.h"
#include "program/record/made.h"
#include "program/record/rerun.h"

static struct arguments {
    const char *inputs[CHAIN_MAX_SOURCES], *sets[CLI_MAX_SETS], *output;
    int n_inputs, n_sets;
    double tolerance;          /* NAN: the tolerance of the stages */
    struct ts_options options; /* device NULL: that of the result */
    int every;
    bool json;
} arguments = {
    .tolerance = (double)NAN, .every = 30, .options = {.size = sizeof(struct ts_options)}};

/* Adds a text to one of the two lists. */
static bool parse_text(const struct command *command, const struct command_option *option,
                       const char *value)
{
    const bool is_input = option->letter == 'i';
    int *n = is_input ? &arguments.n_inputs : &arguments.n_sets;
    const int most = is_input ? CHAIN_MAX_SOURCES : CLI_MAX_SETS;
    if (*n == most) {
        ts_command_wrong(command, "more than %d '--%s'", most, option->name);
        return false;
    }
    (is_input ? arguments.inputs : arguments.sets)[(*n)++] = value;
    return true;
}

static bool parse_device(const struct command *command, const struct command_option *option,
                         const char *value)
{
    const bool fits = ts_cli_parse_device(command, option, value);
    if (fits)
        arguments.options.device = value;
    return fits;
}

static const struct command_option options[] = {
    {"input", 'i', OPTION_PARSED, 0, 0, "PATH",
     "a path for all inputs of the chain, or NAME=PATH for one of them; may be\n"
     "given several times; default: the inputs' names, beside FILE",
     .parse = parse_text},
    {"output", 'o', OPTION_TEXT, OPTION_AT(struct arguments, output), "OUT.h5",
     "keep the second result; default: it is removed"},
    {"tolerance", 0, OPTION_REAL, OPTION_AT(struct arguments, tolerance), "X",
     "the largest difference of two values that passes on another build or\n"
     "device; default: what the chain's stages state"},
    {"set", 0, OPTION_PARSED, 0, 0, "NAME=VALUE",
     "one parameter of the chain, such as a method that this device has", .parse = parse_text},
    {"device", 0, OPTION_PARSED, 0, 0, "DEVICE",
     "auto, cpu, cuda, cuda:N, cuda:N,M or cuda:all;\ndefault: the class that FILE was computed on",
     .parse = parse_device},
    {"threads", 0, OPTION_INTEGER, OPTION_AT(struct arguments, options.threads), "N",
     "threads that compute", 1, 4096},
    {"memory", 0, OPTION_BYTES, OPTION_AT(struct arguments, options.memory_bytes), "SIZE",
     "memory the run may use"},
    {"force", 0, OPTION_FLAG, OPTION_AT(struct arguments, options.force), NULL,
     "replace an existing OUT.h5"},
    {"every", 0, OPTION_INTEGER, OPTION_AT(struct arguments, every), "SECONDS",
     "how often to print a line of progress where standard error is no\nterminal; default: 30, and "
     "0 prints every step",
     0, 86400},
    {"json", 0, OPTION_FLAG, OPTION_AT(struct arguments, json), NULL,
     "everything as JSON objects, one a line"}};

/* ---- the second run -------------------------------------------------------------------------- */

/* The second result. `folder` is the temporary folder if nobody keeps the result, else "". */
struct second {
    char folder[4096], path[4096 + 16];
};

static enum ts_status name_output(struct second *second, struct ts_diag *diag)
{
    if (arguments.output) {
        snprintf(second->path, sizeof second->path, "%s", arguments.output);
        return TS_OK;
    }
    const enum ts_status status =
        ts_private_folder_name("tomostage-rerun", second->folder, sizeof second->folder, diag);
    snprintf(second->path, sizeof second->path, "%s/second.h5", second->folder);
    return status;
}

/* If a signal ends the program, the plan removes the folder. */
static enum ts_status make_folder(const struct second *second, struct ts_plan *plan,
                                  struct ts_diag *diag)
{
    if (!*second->folder)
        return TS_OK;
    umask(S_IRWXG | S_IRWXO);
    atomic_store(&plan->state->private_folder, second->folder);
    return ts_private_folder_make(second->folder, diag);
}

/* Runs the chain. The plan is kept until the results are compared: if a signal comes by then, a
   result that nobody keeps is removed like the temporary file of a run. */
static enum ts_status run_chain(struct ts_chain *chain, const struct second *second,
                                struct ts_plan **plan, struct ts_diag *diag)
{
    struct cli_progress progress;
    ts_cli_progress_init(&progress, false, arguments.json, arguments.every);
    arguments.options.on_event = ts_cli_progress_event;
    arguments.options.user = &progress;
    enum ts_status status = ts_chain_set_output(chain, second->path, diag);
    for (int i = 0; i < arguments.n_sets && status == TS_OK; i++)
        status = ts_chain_set(chain, arguments.sets[i], diag);
    if (status == TS_OK && ts_plan_may_use_cuda(chain, arguments.options.device))
        ts_cli_signals_start_cuda();
    if (status == TS_OK)
        status = ts_chain_search(chain, &arguments.options, diag);
    if (status == TS_OK)
        status = ts_plan_create(chain, &arguments.options, plan, diag);
    if (status == TS_OK) {
        progress.plan = *plan;
        ts_cli_signals_plan(*plan);
        status = make_folder(second, *plan, diag);
        if (status == TS_OK)
            status = ts_plan_run(*plan, diag);
    }
    ts_cli_progress_clear(&progress);
    return status;
}

/* ---- the comparison -------------------------------------------------------------------------- */

#define OTHER_INPUTS "other inputs"

static enum ts_status refuse_inputs(const char *path, const char *input, struct ts_diag *diag)
{
    ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "inputs-differ", .stage = input},
                  "this input is not the one that the result was computed from");
    return ts_diag_hint(diag, "`tomostage verify %s --inputs PATH` names what differs", path);
}

/* Prints the event that ends the comparison. proofs[1] is empty if there was no second run. */
static void print_event(const char *verdict, const struct hdf5_proof proofs[2])
{
    struct json json;
    if (!arguments.json)
        return;
    ts_json_init(&json, stdout, false);
    ts_json_open(&json, '{');
    ts_json_member_text(&json, "event", "rerun");
    ts_json_member_text(&json, "verdict", verdict);
    ts_json_member_bool(&json, "same_file_digest", !strcmp(proofs[0].digest, proofs[1].digest));
    ts_json_member_text(&json, "digest", proofs[0].digest);
    ts_json_close(&json, '}');
}

static enum ts_status print_verdict(const struct comparison *comparison,
                                    const struct hdf5_proof proofs[2], struct ts_diag *diag)
{
    static const char *const names[] = {"same", "within tolerance", "beyond tolerance",
                                        "not reproduced"};
    static const char *const sentences[] = {
        "the same: every image and table has the same bytes",
        "within the tolerance: another build or device computed it",
        "different, beyond the tolerance",
        "not reproduced: the build and the device are the same, and the bytes should be"};
    const char *input;
    const enum rerun_verdict verdict = ts_rerun_judge(comparison, &input);
    if (arguments.json) {
        ts_comparison_print_json(comparison, stdout);
        print_event(input ? OTHER_INPUTS : names[verdict], proofs);
    } else {
        ts_comparison_print(comparison, stdout);
        if (!input)
            printf("%s\n", verdict == RERUN_UNEXPLAINED && arguments.n_sets > 0
                               ? "not reproduced: --set changed a parameter, and the result with it"
                               : sentences[verdict]);
    }
    if (input)
        return refuse_inputs(comparison->names[0], input, diag);
    return verdict <= RERUN_WITHIN ? TS_OK : TS_RUN_FAILED;
}

static enum ts_status cli_rerun_compare(const struct recorded *recorded, const char *output,
                                        const struct hdf5_proof proofs[2], struct ts_diag *diag)
{
    const bool own = !isnan(arguments.tolerance);
    const struct comparison_request request = {
        .sides = {{.text = recorded->path}, {.text = output}},
        .tolerance = own ? arguments.tolerance : 0,
        .tolerance_of = own ? NULL : ts_rerun_tolerance,
        .user = recorded->chain,
        .by_digest = true};
    struct comparison comparison;
    enum ts_status status = ts_comparison_make(&request, &comparison, diag);
    comparison.names[1] = arguments.output ? arguments.output : "the second run";
    if (status == TS_OK)
        status = print_verdict(&comparison, proofs, diag);
    ts_comparison_free(&comparison);
    return status;
}

/* Otherwise the first result would be compared with itself. */
static enum ts_status check_output(const char *path, struct ts_diag *diag)
{
    if (!ts_file_is_same(arguments.output, path))
        return TS_OK;
    ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "output-is-input"},
                  "the second result would replace '%s', with which it is compared",
                  arguments.output);
    return ts_diag_hint(diag, "give the second result a name of its own, or leave -o out");
}

/* Returns the device on which the result was computed, in the form of --device: "cpu", "cuda", or
   "auto" if the result says that `auto` had chosen the CPU. */
static const char *rerun_device(const struct made *made)
{
    for (size_t i = 0; i < made->n_facts; i++) {
        const char *path = made->facts[i].path, *name = strrchr(path, '/'),
                   *value = made->facts[i].value;
        const bool is_device = !strncmp(path, "process_", 8) && name && !strcmp(name, "/device");
        if (is_device && value && !strncmp(value, "cuda", 4))
            return "cuda";
    }
    return ts_made_find(made, "provenance/device_note") ? "auto" : "cpu";
}

static enum ts_status rerun_result(const char *path, struct ts_diag *diag)
{
    struct recorded recorded = {0};
    struct hdf5_proof proofs[2] = {0};
    struct ts_plan *plan = NULL;
    const char *other = NULL;
    struct second second = {0};
    enum ts_status status = check_output(path, diag);
    if (status == TS_OK)
        status = ts_hdf5_verify(NULL, path, &proofs[0], diag);
    if (status == TS_OK)
        status =
            ts_recorded_open(NULL, path, arguments.inputs, arguments.n_inputs, &recorded, diag);
    if (status == TS_OK)
        status = ts_recorded_check_inputs(&recorded, "-i", diag);
    if (status == TS_OK && !arguments.options.device)
        arguments.options.device = rerun_device(&recorded.made);
    if (status == TS_OK)
        status = name_output(&second, diag);
    if (status == TS_OK && arguments.n_sets == 0) /* --set may say how the inputs are to be read */
        status = ts_inputs_glance(&recorded, &other, diag);
    if (status == TS_OK && other) {
        print_event(OTHER_INPUTS, proofs);
        status = refuse_inputs(path, other, diag);
    }
    if (status == TS_OK)
        status = run_chain(recorded.chain, &second, &plan, diag);
    if (status == TS_OK)
        status = ts_hdf5_verify(NULL, second.path, &proofs[1], diag);
    if (status == TS_OK)
        status = cli_rerun_compare(&recorded, second.path, proofs, diag);
    if (plan && atomic_exchange(&plan->state->private_folder, NULL))
        ts_temporary_folder_remove(second.folder);
    if (plan)
        ts_cli_signals_plan_ended(arguments.output && status == TS_OK);
    ts_plan_destroy(plan);
    ts_recorded_close(&recorded);
    return ts_cli_signals_came() ? TS_STOPPED : status;
}

static int rerun(char **operands)
{
    struct ts_diag *diag = ts_command_diag();
    if (!diag)
        return TS_RUN_FAILED;
    const enum ts_status status = rerun_result(operands[0], diag);
    ts_command_flush(); /* before the messages */
    const bool judged = status == TS_RUN_FAILED &&
                        ts_diag_error_count(diag) == 0; /* the sentence about it was printed */
    const int code = ts_command_finish_take(diag, judged ? TS_OK : status, arguments.json);
    ts_cuda_await_start();
    if (status == TS_STOPPED)
        return ts_cli_signals_stopped();
    return judged ? TS_RUN_FAILED : code;
}

const struct command ts_cli_rerun = {
    .name = "rerun",
    .usage = "FILE [-i PATH]... [-o OUT.h5] [options]",
    .summary = "run the chain that a result holds once more, and compare",
    .help = "FILE is verified first. Its chain then runs with the parameters that the result "
            "recorded, on the same class\n"
            "of device, and the results are compared. The same build and device give the same "
            "bytes; another one is\n"
            "held to the tolerances that the stages state. Exit code 0: the same, or within the "
            "tolerance; 1: not;\n"
            "3: FILE is damaged, or the inputs are not those that were used.\n",
    COMMAND_ARGUMENTS(options, arguments),
    .operands = {1, 1, "a FILE"},
    .run = rerun,
    .stopped = "; nothing was written",
};
