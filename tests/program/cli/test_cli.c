/* SPDX-License-Identifier: Apache-2.0
 *
 * The command line of the built program: what it says, where, and its exit codes.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/program.h"

static struct program_outcome outcome;

static char folder[256];

static void make_folder(void)
{
    ts_test_folder(folder, sizeof folder);
}

static void remove_folder(void)
{
    ts_program_folder_remove(folder);
}

TestSuite(cli, .init = make_folder, .fini = remove_folder);

static const char *const commands[] = {
    "run",     "check", "stages", "schema", "info",  "verify", "doctor",  "phantom", "bench",
    "preview", "plot",  "study",  "diff",   "rerun", "help",   "explain", "tables",  "convert"};

Test(cli, every_command_has_a_page)
{
    ts_program_run(folder, ARGUMENTS("--help"), &outcome);
    cr_assert_eq(outcome.code, 0);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        char expected[64];
        snprintf(expected, sizeof expected, "\n  %-10s ", commands[i]);
        ts_program_run(folder, ARGUMENTS("--help"), &outcome);
        cr_assert(strstr(outcome.out, expected), "--help lacks %s", commands[i]);
        for (int form = 0; form < 2; form++) {
            ts_program_run(folder, ARGUMENTS(commands[i], form ? "-h" : "--help"), &outcome);
            snprintf(expected, sizeof expected, "usage: tomostage %s", commands[i]);
            cr_assert_eq(outcome.code, 0);
            cr_assert_eq(strncmp(outcome.out, expected, strlen(expected)), 0, "%s", outcome.out);
            cr_assert(
                strstr(outcome.out,
                       "exit codes: 0 done, 1 the run failed, 2 the chain or the command line"));
            cr_assert_str_empty(outcome.err);
        }
    }
}

Test(cli, tells_its_version)
{
    ts_program_run(folder, ARGUMENTS("--version"), &outcome);
    cr_assert_eq(outcome.code, 0);
    cr_assert_str_eq(outcome.out, "tomostage 0.2.0\n");
}

static const struct {
    const char *arguments[6];
    const char *message;
} wrong[] = {
    {{"ran"}, "tomostage: unknown command 'ran'; did you mean 'run'?\n"},
    {{"frobnicate"},
     "tomostage: unknown command 'frobnicate'; 'tomostage --help' lists the commands\n"},
    {{"--versoin"},
     "tomostage: unknown command '--versoin'; 'tomostage --help' lists the commands\n"},
    {{"run"}, "tomostage run: a CHAIN is missing: tomostage run CHAIN [options]\n"},
    {{"run", "a.yaml", "b.yaml"},
     "tomostage run: 'b.yaml' is one argument too many: tomostage run CHAIN [options]; a chain on "
     "one line stands in quotes\n"},
    {{"preview", "a.h5", "-o", "a.jpg"},
     "tomostage: error: 'a.jpg' does not end in .png [output-suffix]\n  hint: -o FILE.png\n"},
    {{"plot", "a.h5", "-o", "a.png"},
     "tomostage: error: 'a.png' does not end in .svg [output-suffix]\n  hint: -o FILE.svg\n"},
    {{"run", "a.yaml", "--forse"},
     "tomostage run: unknown option '--forse'; did you mean '--force'?\n"},
    {{"run", "--forse", "a.yaml"},
     "tomostage run: unknown option '--forse'; did you mean '--force'?\n"},
    {{"run", "--memroy=1G", "a.yaml"},
     "tomostage run: unknown option '--memroy'; did you mean '--memory'?\n"},
    {{"run", "-x", "a.yaml"},
     "tomostage run: unknown option '-x'; 'tomostage run --help' lists the options\n"},
    {{"run", "-qx", "a.yaml"},
     "tomostage run: unknown option '-q'; 'tomostage run --help' lists the options\n"},
    {{"run", "a.yaml", "--threads"}, "tomostage run: option '--threads' needs a value\n"},
    {{"run", "a.yaml", "-o"}, "tomostage run: option '--output' needs a value\n"},
    {{"run", "a.yaml", "-o", "r.h5", "-o", "r.nii"},
     "tomostage run: '--output' is given twice, as 'r.h5' and 'r.nii'; a chain has several "
     "outputs: '... | hdf5 r.h5 | nifti r.nii.gz'\n"},
    {{"run", "a.yaml", "-i", "a", "--input=b"},
     "tomostage run: '--input' is given twice, as 'a' and 'b'\n"},
    {{"run", "a.yaml", "--force=1"}, "tomostage run: option '--force' takes no value\n"},
    {{"run", "a.yaml", "--threads", "0"},
     "tomostage run: '--threads 0' is not a whole number from 1 to 4096\n"},
    {{"run", "a.yaml", "--threads", "2x"},
     "tomostage run: '--threads 2x' is not a whole number from 1 to 4096\n"},
    {{"run", "a.yaml", "--gpu-memory", "2GB"},
     "tomostage run: '--gpu-memory 2GB' is not a size such as 512M, 2GiB or 1048576 (bytes)\n"},
    {{"check", "a.yaml", "--device", "gpu"},
     "tomostage check: '--device gpu' is none of auto, cpu, cuda, cuda:N, cuda:N,M, cuda:all\n"},
    {{"run", "a.yaml", "--device", "cuda:-1"},
     "tomostage run: '--device cuda:-1' is none of auto, cpu, cuda, cuda:N, cuda:N,M, cuda:all\n"},
    {{"stages", "bocks"},
     "tomostage stages: unknown stage 'bocks'; 'tomostage stages' lists them\n"},
    {{"stages", "radom"}, "tomostage stages: unknown stage 'radom'; did you mean 'radon'?\n"},
    {{"bench", "radom"}, "tomostage bench: unknown stage 'radom'; did you mean 'radon'?\n"},
    {{"bench", "box", "--threads", "40000"},
     "tomostage bench: '--threads 40000' is not a whole number from 1 to 4096\n"},
    {{"bench", "--reductions"},
     "tomostage bench: '--reductions' is a study: tomostage study fan-in\n"},
    {{"bench", "--parameters", "radius=1"},
     "tomostage bench: --parameters are those of a STAGE, which is missing\n"},
    {{"study", "fan-on"}, "tomostage study: unknown study 'fan-on'; did you mean 'fan-in'?\n"},
    {{"study", "fan-in", "--dtype", "u8"},
     "tomostage study: unknown option '--dtype'; 'tomostage study --help' lists the options\n"},
    {{"info"}, "tomostage info: a PATH is missing: tomostage info PATH [--json] [--names]\n"},
    {{"phantom", "disc"}, "tomostage phantom: the folder is missing: -o PATH\n"},
    {{"phantom", "disc", "-ox", "--views", "9"},
     "tomostage phantom: '--views' is an option of `tomostage phantom scan`\n"},
    {{"phantom", "disc", "-o", "x", "--size", "0"},
     "tomostage phantom: '--size 0' is not a whole number from 1 to 65535 pixels\n"},
    {{"schema", "x"}, "tomostage schema: 'x' is one argument too many: tomostage schema \n"},
};

Test(cli, says_what_is_wrong_in_one_sentence)
{
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ts_program_run(folder, wrong[i].arguments, &outcome);
        cr_assert_eq(outcome.code, 2, "%s %s: exit %d", wrong[i].arguments[0],
                     wrong[i].arguments[1], outcome.code);
        cr_assert_str_eq(outcome.err, wrong[i].message);
        cr_assert_str_empty(outcome.out);
    }
    ts_program_run(folder, (const char *const[]){NULL}, &outcome);
    cr_assert_eq(outcome.code, 2);
    cr_assert_eq(strncmp(outcome.err, "usage: tomostage COMMAND", 24), 0);
}

/* With --json the sentence is on standard output too, wherever the option stands. */
Test(cli, says_what_is_wrong_in_json_too)
{
    static const char *const lines[][5] = {{"run", "--json", "--bogus", "x"},
                                           {"run", "--json"},
                                           {"run", "a.yaml", "--threads", "0", "--json"},
                                           {"check", "--json", "a", "b\n\"\xE4"},
                                           {"info", "--json"},
                                           {"bench", "radom", "--json"},
                                           {"ran", "--json"}};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const char *arguments[6] = {NULL};
        memcpy(arguments, lines[i], sizeof lines[i]);
        ts_program_run(folder, arguments, &outcome);
        const size_t length = strlen(outcome.out);
        cr_assert_eq(outcome.code, 2);
        cr_assert_eq(strncmp(outcome.err, "tomostage", 9), 0, "%s", outcome.err);
        cr_assert(length > 0 && strchr(outcome.out, '\n') == outcome.out + length - 1, "%zu: %s", i,
                  outcome.out);
        cr_assert(ts_test_is_json(outcome.out, length), "%s", outcome.out);
        cr_assert(strstr(outcome.out, "\"event\": \"diagnostic\"") &&
                  strstr(outcome.out, "\"exit_code\": 2"));
    }
    ts_program_run(folder, ARGUMENTS("run", "--", "a", "--json"), &outcome);
    cr_assert_eq(outcome.code, 2);
    cr_assert_str_empty(outcome.out); /* a file of that name, not the option */
}

Test(cli, takes_sizes_strictly)
{
    static const char *const bad[] = {"0",
                                      "-1",
                                      "1.5G",
                                      "512 M",
                                      "512m",
                                      "2GB",
                                      "G",
                                      "",
                                      "1e9",
                                      "9223372036854775808",
                                      "9007199254740992K",
                                      " 1G",
                                      "0x10"};
    static const char *const good[] = {"512M",        "2GiB", "1073741824",
                                       "1073741824B", "1T",   "1048576K"};
    char expected[128];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ts_program_run(folder, ARGUMENTS("run", "none.yaml", "--memory", bad[i]), &outcome);
        snprintf(
            expected, sizeof expected,
            "tomostage run: '--memory %s' is not a size such as 512M, 2GiB or 1048576 (bytes)\n",
            bad[i]);
        cr_assert_eq(outcome.code, 2);
        cr_assert_str_eq(outcome.err, expected);
    }
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        ts_program_run(folder, ARGUMENTS("run", "none.yaml", "--memory", good[i]), &outcome);
        cr_assert(strstr(outcome.err, "none.yaml: No such file"), "%s: %s", good[i], outcome.err);
    }
}

Test(cli, escapes_control_bytes)
{
    ts_program_run(folder, ARGUMENTS("\033[31mrun"), &outcome);
    cr_assert_str_eq(
        outcome.err,
        "tomostage: unknown command '\\x1B[31mrun'; 'tomostage --help' lists the commands\n");
    ts_program_run(folder, ARGUMENTS("stages", "a\nb"), &outcome);
    cr_assert_str_eq(outcome.err,
                     "tomostage stages: unknown stage 'a\\x0Ab'; 'tomostage stages' lists them\n");
}

Test(cli, exit_code_tells_chain_from_input)
{
    ts_program_run(folder, ARGUMENTS("run", "none.yaml"), &outcome);
    cr_assert_eq(outcome.code, 2);
    ts_program_run(folder, ARGUMENTS("run", "dicom none | invert | hdf5 out.h5"), &outcome);
    cr_assert_eq(outcome.code, 3, "%s", outcome.err);
    ts_program_run(folder, ARGUMENTS("info", "none"), &outcome);
    cr_assert_eq(outcome.code, 3);
    cr_assert_str_eq(
        outcome.err,
        "tomostage: error: none cannot be read: No such file or directory [input-unreadable]\n");
    ts_program_run(folder, ARGUMENTS("info", "none", "--json"), &outcome);
    cr_assert_eq(outcome.code, 3);
    cr_assert(ts_test_is_json(outcome.out, strlen(outcome.out)), "%s", outcome.out);
    ts_program_run(folder, ARGUMENTS("verify", "none"), &outcome);
    cr_assert_eq(outcome.code, 3);
    ts_program_run(folder, ARGUMENTS("preview", "none"), &outcome);
    cr_assert_eq(outcome.code, 3);
    char names[256];
    ts_program_folder_list(folder, names, sizeof names);
    cr_assert_str_empty(names);
}

Test(cli, lists_stages_and_prints_their_pages)
{
    ts_program_run(folder, ARGUMENTS("stages"), &outcome);
    cr_assert_eq(outcome.code, 0);
    cr_assert(strstr(outcome.out, "\nbox "));
    ts_program_run(folder, ARGUMENTS("stages", "box"), &outcome);
    cr_assert_eq(strncmp(outcome.out, "box: ", 5), 0);
    cr_assert(strstr(outcome.out, "\n  radius: integer, 0 to 1024, unit pixel; "));
    ts_program_run(folder, ARGUMENTS("stages", "--markdown", "."), &outcome);
    cr_assert_eq(outcome.code, 0);
    char path[300];
    snprintf(path, sizeof path, "%s/radon.md", folder);
    cr_assert_eq(access(path, R_OK), 0);
    ts_program_run(folder, ARGUMENTS("stages", "--markdown", "none"), &outcome);
    cr_assert_eq(outcome.code, 1);
}

Test(cli, schema_is_json)
{
    ts_program_run(folder, ARGUMENTS("schema"), &outcome);
    cr_assert_eq(outcome.code, 0);
    cr_assert_lt(strlen(outcome.out), sizeof outcome.out - 1);
    cr_assert(ts_test_is_json(outcome.out, strlen(outcome.out)));
    cr_assert_not(ts_test_is_json(outcome.out, strlen(outcome.out) / 2));
}

Test(cli, doctor_finds_what_is_needed)
{
    static const char *const parts[] = {
        "HDF5", "DCMTK",  "libyaml", "OpenSSL", "libdeflate",
        "FFT",  "OpenMP", "JPEG-LS", "cores",   "locked by      limits"};
    ts_program_run(folder, ARGUMENTS("doctor"), &outcome);
    cr_assert_eq(outcome.code, 0, "%s", outcome.out);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        cr_assert(strstr(outcome.out, parts[i]), "no %s", parts[i]);
    cr_assert(strstr(outcome.out, "\nall that is needed is there\n"));
}
