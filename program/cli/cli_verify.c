/* SPDX-License-Identifier: Apache-2.0
 *
 * `tomostage verify`: checks every digest of a result and, with --inputs, if images are those from
 * which it was computed; prints what that has proved.
 */
#include "core/number.h"
#include "io/hdf5/hdf5_verify.h"
#include "program/cli/cli.h"
#include "program/record/inputs.h"

static struct arguments {
    const char *inputs[CHAIN_MAX_SOURCES];
    int n_inputs;
} arguments;

static bool parse_input(const struct command *command, const struct command_option *option,
                        const char *value)
{
    if (arguments.n_inputs == CHAIN_MAX_SOURCES) {
        ts_command_wrong(command, "more than %d '--%s'", CHAIN_MAX_SOURCES, option->name);
        return false;
    }
    arguments.inputs[arguments.n_inputs++] = value;
    return true;
}

static const struct command_option options[] = {
    {"inputs", 0, OPTION_PARSED, 0, 0, "PATH",
     "the images that the result was computed from: a path for all inputs of the\n"
     "chain, or NAME=PATH for one of them; may be given several times",
     .parse = parse_input}};

static void print_proof(const char *file, const struct hdf5_proof *proof)
{
    char path[4096], values[32];
    ts_text_escape(path, sizeof path, file);
    ts_bytes_format(values, sizeof values, (double)proof->value_bytes);
    if (proof->version == 1)
        printf("%s: values only: %zu datasets (%s of values); attributes, structure and other "
               "bytes have no digest in files of this version\n",
               path, proof->datasets, values);
    else
        printf(
            "%s: whole: %zu datasets (%s of values), %zu attributes, the structure, every byte\n",
            path, proof->datasets, values, proof->attributes);
    printf("  digest %s\n", proof->digest);
}

static void print_inputs(const struct inputs_found *found, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        const long long n_read = (long long)(found[i].n - found[i].n_unread);
        ts_text_print(stdout, "  input ", found[i].name);
        printf(": the pixels of %lld of %lld slices are those that were used", n_read,
               (long long)found[i].n);
        if (found[i].n_instances == n_read && n_read > 0)
            printf(", of the very same DICOM instances");
        else if (found[i].n_instances >= 0 && n_read > 0)
            printf(", %lld of them of another DICOM instance",
                   n_read - (long long)found[i].n_instances);
        if (found[i].n_unread > 0)
            printf("; the run read no pixel of the others, whose places are the same");
        putchar('\n');
        if (*found[i].headers)
            printf("    what its headers say besides is not what was recorded: %s\n",
                   found[i].headers);
    }
}

static enum ts_status verify_inputs(const char *path, struct ts_diag *diag)
{
    struct inputs_found found[CHAIN_MAX_SOURCES];
    struct recorded recorded;
    enum ts_status status =
        ts_recorded_open(NULL, path, arguments.inputs, arguments.n_inputs, &recorded, diag);
    if (status == TS_OK)
        status = ts_recorded_check_inputs(&recorded, "--inputs", diag);
    if (status == TS_OK)
        status = ts_inputs_check(&recorded, found, diag);
    if (status == TS_OK)
        print_inputs(found, recorded.chain->n_sources);
    ts_recorded_close(&recorded);
    return status;
}

static int verify(char **operands)
{
    struct ts_diag *diag = ts_command_diag();
    struct hdf5_proof proof;
    if (!diag)
        return TS_RUN_FAILED;
    enum ts_status status = ts_hdf5_verify(NULL, operands[0], &proof, diag);
    if (status == TS_OK)
        print_proof(operands[0], &proof);
    ts_command_flush(); /* so that it comes before messages about the inputs */
    if (status == TS_OK && arguments.n_inputs > 0)
        status = verify_inputs(operands[0], diag);
    return ts_command_finish_take(diag, status, false);
}

const struct command ts_cli_verify = {
    .name = "verify",
    .usage = "FILE [--inputs PATH]...",
    .summary = "check every digest of a result, and whether images are those that it came from",
    .help = "Recomputes the SHA-256 of every dataset, of all attributes, links and structure, and "
            "of all bytes, names the\n"
            "first thing that differs (exit code 3), and says what it has proved. With --inputs it "
            "also decodes the images\n"
            "there and compares each slice with the digests that the result recorded; the first "
            "slice that is missing,\n"
            "changed, moved or additional is named (exit code 3).\n",
    COMMAND_ARGUMENTS(options, arguments),
    .operands = {1, 1, "a FILE"},
    .run = verify,
};
