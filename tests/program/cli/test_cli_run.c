/* SPDX-License-Identifier: Apache-2.0
 *
 * `run` and `check` from end to end on a phantom: outputs, exit codes, events, progress, signals.
 */
#define H5_USE_110_API
#include <criterion/criterion.h>
#include <fcntl.h>
#include <hdf5.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/chain_text.h"
#include "tests/support/program.h"
#include "tests/support/support.h"

static struct program_outcome outcome;

#define CHAIN "dicom study | box radius=2 | hdf5 out.h5"

static char folder[256];

static void make_study(void)
{
    ts_test_folder(folder, sizeof folder);
    ts_program_run(folder,
                   ARGUMENTS("phantom", "disc", "-o", "study", "--size", "64", "--slices", "9"),
                   &outcome);
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
    cr_assert_str_eq(outcome.out, "wrote study: 9 DICOM files of 64 x 64 pixels\n");
}

static void remove_folder(void)
{
    ts_program_folder_remove(folder);
}

TestSuite(cli_run, .init = make_study, .fini = remove_folder);

static void expect_names(const char *expected)
{
    char names[512];
    ts_program_folder_list(folder, names, sizeof names);
    cr_assert_str_eq(names, expected);
}

/* Bytes of a file of the folder; free() them. */
static char *read_file(const char *name, size_t *length)
{
    char path[512], *bytes = NULL;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb"), *copy = open_memstream(&bytes, length);
    cr_assert(file, "%s is missing", name);
    for (int c = fgetc(file); c != EOF; c = fgetc(file))
        fputc(c, copy);
    fclose(file);
    fclose(copy);
    return bytes;
}

static void write_file(const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    cr_assert(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

Test(cli_run, writes_and_says_so)
{
    ts_program_run(folder, ARGUMENTS("run", CHAIN), &outcome);
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
    cr_assert_eq(strncmp(outcome.out, "wrote out.h5: ", 14), 0, "%s", outcome.out);
    cr_assert_str_empty(outcome.err); /* no progress where nobody watches */
    ts_program_run(folder, ARGUMENTS("verify", "out.h5"), &outcome);
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
    cr_assert(strstr(outcome.out, "out.h5: whole: ") == outcome.out &&
                  strstr(outcome.out, "every byte\n"),
              "%s", outcome.out);
    ts_program_run(folder, ARGUMENTS("run", CHAIN, "-o", "second.h5", "--quiet"), &outcome);
    cr_assert(outcome.code == 0 && !*outcome.out && !*outcome.err);
    ts_program_run(folder, ARGUMENTS("info", "out.h5", "--json"), &outcome);
    cr_assert(outcome.code == 0 && ts_test_is_json(outcome.out, strlen(outcome.out)), "%s",
              outcome.out);
    ts_program_run(folder, ARGUMENTS("info", "study", "--json"), &outcome);
    cr_assert(outcome.code == 0 && ts_test_is_json(outcome.out, strlen(outcome.out)), "%s",
              outcome.out);
    expect_names("out.h5 second.h5 study ");
}

Test(cli_run, keeps_an_existing_output_without_force)
{
    write_file("out.h5", "mine");
    ts_program_run(folder, ARGUMENTS("run", CHAIN), &outcome);
    cr_assert_eq(outcome.code, 1, "%s", outcome.err);
    cr_assert(strstr(outcome.err, "out.h5") && strstr(outcome.err, "--force"), "%s", outcome.err);
    size_t length = 0;
    char *bytes = read_file("out.h5", &length);
    cr_assert(length == 4 && !memcmp(bytes, "mine", 4));
    free(bytes);
    ts_program_run(folder, ARGUMENTS("run", CHAIN, "--force"), &outcome);
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
    ts_program_run(folder, ARGUMENTS("verify", "out.h5"), &outcome);
    cr_assert_eq(outcome.code, 0);
    expect_names("out.h5 study ");
}

/* By its name, by a link or by another name of the same file, forced or not. */
Test(cli_run, an_input_is_never_the_output)
{
    static const char slice[] = "study/IM0001.h5"; /* the suffix says nothing of an input */
    static const struct {
        const char *chain, *output, *named;
    } cases[] = {{CHAIN, slice, "input"},
                 {CHAIN, "symbolic.h5", "input"},
                 {CHAIN, "hard.h5", "input"},
                 {"chain.nxs", "hard.h5", "atlas"},
                 {"chain.nxs", "chain.nxs", "the chain itself"},
                 {"chain.nxs", "./study/../chain.nxs", "the chain itself"}};
    static const char chain[] =
        "tomostage: 2\ninput: {dicom: ./other}\ninputs: {atlas: {dicom: ./study}}\n"
        "stages:\n  - histogram: {reference: atlas}\n  - invert\noutput: {hdf5: out.h5}\n";
    char from[512], to[512];
    size_t length, length_after;
    ts_program_run(folder,
                   ARGUMENTS("phantom", "disc", "-o", "other", "--size", "32", "--slices", "3"),
                   &outcome);
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
    write_file("chain.nxs", chain);
    snprintf(from, sizeof from, "%s/study/IM0001.dcm", folder);
    snprintf(to, sizeof to, "%s/%s", folder, slice);
    cr_assert_eq(rename(from, to), 0);
    snprintf(from, sizeof from, "%s/hard.h5", folder);
    cr_assert_eq(link(to, from), 0);
    snprintf(to, sizeof to, "%s/symbolic.h5", folder);
    cr_assert_eq(symlink(slice, to), 0);
    char *before = read_file(slice, &length);
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        const char *expected = cases[i / 2].named, *force = i % 2 ? "--force" : NULL;
        ts_program_run(folder,
                       ARGUMENTS("run", cases[i / 2].chain, "-o", cases[i / 2].output, force),
                       &outcome);
        cr_assert_eq(outcome.code, 2, "%s: %s", cases[i / 2].output, outcome.err);
        const char *message = strstr(outcome.err, "is a file that the run reads: ");
        cr_assert(message && !strncmp(strchr(message, ':') + 2, expected, strlen(expected)), "%s",
                  outcome.err);
    }
    char *after = read_file(slice, &length_after),
         *chain_after = read_file("chain.nxs", &length_after);
    cr_assert_eq(memcmp(before, after, length), 0);
    cr_assert(length_after == strlen(chain) && !memcmp(chain, chain_after, length_after));
    free(before);
    free(after);
    free(chain_after);
    expect_names("chain.nxs hard.h5 other study symbolic.h5 ");
    /* Any other file may be replaced. */
    write_file("out.h5", "mine");
    ts_program_run(folder, ARGUMENTS("run", "chain.nxs", "--force"), &outcome);
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
}

/* Files that parameters name, and the chain, stay what they are whatever is written: an output, a
 * file beside one, one in the folder of an output, a profile, a picture, and what other commands
 * make of their input. */
Test(cli_run, nothing_that_is_read_is_replaced)
{
    static const char key[] = "0123456789abcdef0123456789abcdef";
    static const char *const names[] = {"key.h5",           "hard.nii",    "beside.json",
                                        "beside_mask.nii",  "profile.svg", "pic.json",
                                        "d/slice_0001.png", "t.tif",       "view.svg"};
    static const struct {
        const char *arguments[8];
    } cases[] = {
        {{"run", "dicom study uid_key_file=key.h5 | box radius=1 | hdf5 key.h5"}},
        {{"run", "dicom study uid_key_file=key.h5 | box radius=1 | hdf5 symbolic.h5"}},
        {{"run", "dicom study uid_key_file=symbolic.h5 | box radius=1 | nifti hard.nii"}},
        {{"run", "dicom study uid_key_file=key.h5 | box radius=1 | nifti beside.nii"}},
        {{"run",
          "dicom study uid_key_file=key.h5 | box radius=1 | nifti beside.nii.gz | hdf5 o.h5"}},
        {{"run", "dicom study uid_key_file=key.h5 | box radius=1 | png d window=0,1"}},
        {{"run", "dicom study uid_key_file=key.h5 | box radius=1 | tiff t.tif"}},
        {{"run", "dicom study uid_key_file=key.h5 | box radius=1 | hdf5 o.h5", "--profile",
          "profile"}},
        {{"run", "dicom study uid_key_file=key.h5 | box radius=1 | hdf5 o.h5", "--profile", "pic"}},
        {{"check", "dicom study uid_key_file=key.h5 | box radius=1 | hdf5 o.h5", "--picture",
          "view.svg"}},
        {{"export", "key.h5", "-o", "hard.nii"}},
        {{"export", "key.h5", "-o", "beside.nii"}},
        {{"export", "key.h5", "-o", "d", "--format", "png"}},
        {{"plot", "key.h5", "-o", "view.svg"}},
    };
    char from[512], to[512];
    snprintf(to, sizeof to, "%s/d", folder);
    cr_assert_eq(mkdir(to, 0777), 0);
    write_file(names[0], key);
    snprintf(from, sizeof from, "%s/%s", folder, names[0]);
    cr_assert_eq(chmod(from, 0600), 0);
    for (size_t i = 1; i < sizeof names / sizeof *names; i++) {
        snprintf(to, sizeof to, "%s/%s", folder, names[i]);
        cr_assert_eq(link(from, to), 0);
    }
    snprintf(to, sizeof to, "%s/symbolic.h5", folder);
    cr_assert_eq(symlink(names[0], to), 0);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const char *arguments[10] = {NULL};
        size_t n = 0;
        for (; n < 8 && cases[c].arguments[n]; n++)
            arguments[n] = cases[c].arguments[n];
        arguments[n] = "--force";
        ts_program_run(folder, arguments, &outcome);
        cr_assert(outcome.code == 2 && strstr(outcome.err, "[output-is-input]"),
                  "case %zu: exit %d, %s", c, outcome.code, outcome.err);
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            size_t length = 0;
            char *bytes = read_file(names[i], &length);
            cr_assert(length == sizeof key - 1 && !memcmp(bytes, key, length), "case %zu: %s", c,
                      names[i]);
            free(bytes);
        }
    }
    /* The hint works, and a file that is not read is replaced. */
    ts_program_run(folder,
                   ARGUMENTS("run", "dicom study uid_key_file=key.h5 | box radius=1 | hdf5 o.h5",
                             "-o", "new.h5", "--profile", "n"),
                   &outcome);
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
    ts_program_run(folder, ARGUMENTS("run", "dicom study | box radius=1 | hdf5 key.h5", "--force"),
                   &outcome);
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
}

Test(cli_run, options_replace_what_the_chain_says)
{
    write_file("chain.yaml", "tomostage: 2\ninput: {dicom: ./none}\nstages:\n  - box: {radius: "
                             "2}\n  - box: {radius: 1}\n"
                             "output: {hdf5: other.h5}\n");
    ts_program_run(folder, ARGUMENTS("run", "chain.yaml"), &outcome);
    cr_assert_eq(outcome.code, 3, "%s", outcome.err);
    ts_program_run(
        folder,
        ARGUMENTS("check", "chain.yaml", "-i", "study", "--set", "box#2.radius=3", "--json"),
        &outcome);
    cr_assert_eq(outcome.code, 0, "%s", outcome.out);
    cr_assert(strstr(outcome.out, "\"radius\": 3") && strstr(outcome.out, "\"radius\": 2"), "%s",
              outcome.out);
    cr_assert(ts_test_is_json(outcome.out, strlen(outcome.out)));
    ts_program_run(folder,
                   ARGUMENTS("run", "chain.yaml", "-i", "study", "--set", "box#2.radius=9000"),
                   &outcome);
    cr_assert_eq(outcome.code, 2, "%s", outcome.err);
    cr_assert(strstr(outcome.err, "9000 is outside [0, 1024] pixel"), "%s", outcome.err);
    ts_program_run(
        folder,
        ARGUMENTS("run", "chain.yaml", "-i", "study", "-o", "out.h5", "--set", "box#2.radius=3"),
        &outcome);
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
    expect_names("chain.yaml out.h5 study ");
}

/* Every tests/chains/plan-*.yaml has exactly the errors of planning that its comments state. */
Test(cli_run, errors_of_planning_are_those_stated)
{
    static const char mark[] = "# expect-plan: ";
    char **names;
    const size_t n = ts_test_names(ts_test_path("chains"), ".yaml", &names);
    int n_plan = 0;
    for (size_t i = 0; i < n; i++) {
        char path[512], expected[512];
        size_t length;
        snprintf(path, sizeof path, "%s/%s", ts_test_path("chains"), names[i]);
        char *text = ts_test_read(path, &length);
        int stated = 0, found = 0;
        if (!strncmp(names[i], "plan-", 5)) {
            write_file("chain.yaml", text);
            ts_program_run(folder, ARGUMENTS("check", "chain.yaml"), &outcome);
            for (const char *at = text; (at = strstr(at, mark)); stated++) {
                at += sizeof mark - 1;
                snprintf(expected, sizeof expected, "chain.yaml:%.*s [", (int)strcspn(at, "\n"),
                         at);
                const char *line = strstr(outcome.err, expected),
                           *end = line ? strstr(line, "]\n") : NULL;
                cr_assert(end && end < strchr(line, '\n'), "%s: no %sCODE] in\n%s", names[i],
                          expected, outcome.err);
            }
            for (const char *at = outcome.err; (at = strstr(at, ": error: ")); at++)
                found++;
            cr_assert_eq(outcome.code, 2);
            cr_assert(stated > 0 && found == stated, "%s: %d errors\n%s", names[i], found,
                      outcome.err);
            n_plan++;
        }
        free(text);
        free(names[i]);
    }
    free(names);
    cr_assert_geq(n_plan, 15);
}

/* The way out fits what is unused: the input, a further input, a stage. */
Test(cli_run, the_hint_fits_what_is_unused)
{
    static const struct {
        const char *stages, *hint;
    } cases[] = {
        {"[equalize]",
         "  hint: name it as a stage's reference or input, or remove it from inputs\n"},
        {"[{equalize: {input: atlas}}]", "  hint: name it as a stage's reference or input\n"},
        {"[{invert: {input: atlas}}, {equalize: {input: input}}]", "add a save stage after it\n"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        snprintf(
            text, sizeof text,
            "tomostage: 2\ninput: {dicom: study}\ninputs: {atlas: {dicom: study}}\nstages: %s\n"
            "output: {hdf5: out.h5}\n",
            cases[i].stages);
        write_file("chain.yaml", text);
        ts_program_run(folder, ARGUMENTS("check", "chain.yaml"), &outcome);
        cr_assert_eq(outcome.code, 2, "%s", outcome.err);
        cr_assert(strstr(outcome.err, cases[i].hint), "%s", outcome.err);
    }
}

/* A file whose name looks like a chain in one line is a file. */
Test(cli_run, a_file_that_exists_wins)
{
    write_file(
        "dicom x | y",
        "tomostage: 2\ninput: {dicom: ./study}\nstages:\n  - invert\noutput: {hdf5: out.h5}\n");
    ts_program_run(folder, ARGUMENTS("check", "dicom x | y"), &outcome);
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
    cr_assert(strstr(outcome.out, "invert"));
}

Test(cli_run, json_lines_are_json)
{
    for (int bad = 0; bad < 2; bad++) {
        ts_program_run(folder,
                       ARGUMENTS("run",
                                 bad ? "dicom study | bax radius=2 \"\xE4\t | hdf5 out.h5" : CHAIN,
                                 "--json"),
                       &outcome);
        cr_assert_eq(outcome.code, bad ? 2 : 0, "%s", outcome.out);
        cr_assert_str_empty(outcome.err);
        size_t n_lines = 0;
        for (char *line = outcome.out; *line; n_lines++) {
            char *end = strchr(line, '\n');
            cr_assert(end && ts_test_is_json(line, (size_t)(end - line)), "%s", line);
            cr_assert_eq(*line, '{');
            line = end + 1;
        }
        cr_assert_geq(n_lines, bad ? 1 : 2);
        cr_assert(strstr(outcome.out, bad ? "\"severity\": \"error\"" : "\"event\": \"finished\""),
                  "%s", outcome.out);
    }
}

/* A stage, not a source, begins the line: -i gives the input. A bare name of a stage is a chain
 * too. */
Test(cli_run, a_line_can_begin_with_a_stage)
{
    static const char *const lines[] = {"box radius=1", " box radius=1", "invert",
                                        "box radius=1 | invert"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        ts_program_run(folder, ARGUMENTS("run", lines[i], "-i", "study", "-o", "out.h5", "--force"),
                       &outcome);
        cr_assert_eq(outcome.code, 0, "%s: %s", lines[i], outcome.err);
        expect_names("out.h5 study ");
    }
    ts_program_run(folder, ARGUMENTS("check", "box radius=1"), &outcome);
    cr_assert_eq(outcome.code, 2);
    cr_assert(strstr(outcome.err, "input"), "%s", outcome.err);
    ts_program_run(folder, ARGUMENTS("run", "box radius=1", "-i", "study"), &outcome);
    cr_assert_eq(outcome.code, 2);
    cr_assert(strstr(outcome.err, "the chain names no output file"), "%s", outcome.err);
    ts_program_run(folder, ARGUMENTS("check", "bocks radius=1", "-i", "study"), &outcome);
    cr_assert_eq(outcome.code, 2);
    cr_assert(strstr(outcome.err, "unknown stage 'bocks'"), "%s", outcome.err);
    write_file("invert", "tomostage: 2\ninput: {dicom: ./study}\nstages:\n  - box: {radius: 1}\n");
    ts_program_run(folder, ARGUMENTS("check", "invert"), &outcome);
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
    cr_assert(strstr(outcome.out, "box "), "a file that exists wins: %s", outcome.out);
}

/* There is one of each kind of parameter that JSON shows otherwise than as a text. */
Test(cli_run, check_gives_typed_values)
{
    static const char *const expected[] = {"\"radius\": 2",
                                           "\"series\": \"\"",
                                           "\"border\": \"reflect\"",
                                           "\"weights\": [[0, 0.5, 1], [-1, 1e-09, 0], [0, 0, 2]]",
                                           "\"range\": [-100, 200.5]",
                                           "\"reference\": null",
                                           "\"clip\": true",
                                           "\"low_percentile\": 2.5"};
    write_file("chain.yaml",
               "tomostage: 2\ninput: {dicom: ./study}\nstages:\n  - box: {radius: 2}\n"
               "  - convolve: {kernel: custom, weights: [[0, 0.5, 1], [-1, 1e-9, 0], [0, 0, 2]]}\n "
               " - histogram: {range: [-100, 200.5]}\n"
               "  - equalize\n  - rescale: {low_percentile: 2.5}\n  - radon\n");
    ts_program_run(folder, ARGUMENTS("check", "chain.yaml", "--json"), &outcome);
    cr_assert_eq(outcome.code, 0, "%s%s", outcome.out, outcome.err);
    cr_assert(ts_test_is_json(outcome.out, strlen(outcome.out)), "%s", outcome.out);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        cr_assert(strstr(outcome.out, expected[i]), "%s is not in %s", expected[i], outcome.out);
}

Test(cli_run, preview_writes_a_png)
{
    static const unsigned char start[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n', 0,
                                          0,    0,   13,  'I', 'H',  'D',  'R',  0,    0,
                                          0,    132, 0,   0,   0,    64,   8,    0};
    ts_program_run(folder, ARGUMENTS("run", "dicom study | save name=kept | invert | hdf5 out.h5"),
                   &outcome);
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
    ts_program_run(folder, ARGUMENTS("preview", "out.h5", "-o", "out.png", "--plain"), &outcome);
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
    size_t length = 0;
    char *bytes = read_file("out.png", &length);
    cr_assert(length > sizeof start && !memcmp(bytes, start, sizeof start));
    free(bytes);
    ts_program_run(folder, ARGUMENTS("preview", "out.h5", "-o", "out.png"), &outcome);
    cr_assert_eq(outcome.code, 1);
    ts_program_run(folder, ARGUMENTS("preview", "out.h5", "-o", "none/x.png"), &outcome);
    cr_assert_eq(outcome.code, 1);
    ts_program_run(folder,
                   ARGUMENTS("preview", "out.h5", "-o", "x.png", "--dataset", "/entry/none"),
                   &outcome);
    cr_assert_eq(outcome.code, 3);
    expect_names("out.h5 out.png study ");
}

/* A hostile name of a dataset or of a process, whose values are zeros. */
static void make_trap(const char *name)
{
    char path[300];
    const hsize_t n[3] = {2, 3, 4};
    float zeros[24] = {0};
    snprintf(path, sizeof path, "%s/trap.h5", folder);
    const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t space = H5Screate_simple(*name == 'v' ? 3 : 2, n, NULL),
                links = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_create_intermediate_group(links, 1);
    const hid_t dataset =
        H5Dcreate2(file, name, H5T_IEEE_F32LE, space, links, H5P_DEFAULT, H5P_DEFAULT);
    cr_assert(H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, zeros) >= 0);
    H5Dclose(dataset);
    H5Pclose(links);
    H5Sclose(space);
    H5Fclose(file);
}

Test(cli_run, names_of_datasets_reach_no_terminal_unescaped)
{
    make_trap("v\x1B[2J\xC2\x9B");
    ts_program_run(folder, ARGUMENTS("preview", "trap.h5"), &outcome);
    cr_assert(outcome.code == 0 && strstr(outcome.out, "/v\\x1B[2J\\xC2\\x9B slice 0: 4 x 3"),
              "%s%s", outcome.out, outcome.err);
    make_trap("process_\x1B[2J/tables/residual");
    ts_program_run(folder, ARGUMENTS("plot", "trap.h5"), &outcome);
    cr_assert(outcome.code == 0 && strstr(outcome.out, "/process_\\x1B[2J/tables/residual: "),
              "%s%s", outcome.out, outcome.err);
    size_t length = 0;
    char *chart = read_file("trap.h5.svg", &length);
    cr_assert(memmem(chart, length, "process_\\x1B[2J", 14) && !memchr(chart, '\x1B', length));
    free(chart);
}

/* A point a curve and iteration and one for the image, the first at a residual of 1. */
Test(cli_run, plot_draws_the_residuals)
{
    ts_program_run(
        folder,
        ARGUMENTS("run",
                  "dicom study | radon views=12 | save name=b | sirt iterations=7 | hdf5 out.h5"),
        &outcome);
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
    ts_program_run(folder, ARGUMENTS("plot", "out.h5"), &outcome);
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
    size_t length = 0;
    char *svg = read_file("out.h5.svg", &length);
    const char *line = strstr(svg, "points=' 70.0,60.0 ");
    cr_assert(line && strstr(svg, "process_3_sirt, ") && strstr(svg, "</svg>"), "%s", svg);
    int points = 0;
    for (const char *at = line + strlen("points='"); *at != '\''; at++)
        points += *at == ',';
    cr_assert_eq(points, 8);
    free(svg);
    ts_program_run(folder, ARGUMENTS("plot", "out.h5"), &outcome);
    cr_assert_eq(outcome.code, 1);
    ts_program_run(folder, ARGUMENTS("run", "dicom study | invert | hdf5 other.h5"), &outcome);
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
    ts_program_run(folder, ARGUMENTS("plot", "other.h5"), &outcome);
    cr_assert_eq(outcome.code, 3);
    cr_assert(strstr(outcome.err, "holds no table residual") && strstr(outcome.err, "`cgls` leave"),
              "%s", outcome.err);
    ts_program_run(folder, ARGUMENTS("plot", "out.h5", "-o", "none/x.svg"), &outcome);
    cr_assert_eq(outcome.code, 1);
    expect_names("other.h5 out.h5 out.h5.svg study ");
}

Test(cli_run, progress_on_a_terminal_is_cleared)
{
    int leader, terminal;
    char shown[65536];
    size_t used = 0;
    ssize_t n;
    cr_assert_eq(openpty(&leader, &terminal, NULL, NULL, NULL), 0);
    const pid_t pid = ts_program_start(folder, ARGUMENTS("run", CHAIN), terminal);
    close(terminal);
    while (used < sizeof shown - 1 && (n = read(leader, shown + used, sizeof shown - 1 - used)) > 0)
        used += (size_t)n;
    shown[used] = '\0';
    close(leader);
    ts_program_wait(pid, folder, &outcome);
    cr_assert_eq(outcome.code, 0);
    cr_assert(strstr(shown, "\r\033[Kpass 1 of 1: "), "%s", shown);
    cr_assert(strstr(shown, "9 of 9 slices, "), "%s", shown);
    cr_assert(used > 4 && !strcmp(shown + used - 4, "\r\033[K"));
}

static void wait_seconds(double seconds)
{
    nanosleep(
        &(struct timespec){(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)},
        NULL);
}

Test(cli_run, signals_end_it_soon_and_leave_nothing)
{
    static const struct {
        int number, times;
        double after;
    } cases[] = {{SIGINT, 1, 0.3}, {SIGTERM, 1, 0.5}, {SIGHUP, 1, 0.4},
                 {SIGINT, 3, 0.6}, {SIGTERM, 2, 1.0}, {SIGQUIT, 1, 0.4}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const pid_t pid =
            ts_program_start(folder,
                             ARGUMENTS("run", "dicom study | radon views=65536 | hdf5 out.h5",
                                       "--threads", "1", "--device", "cpu"),
                             -1);
        ts_program_await_handler(pid, cases[i].number);
        wait_seconds(cases[i].after);
        for (int k = 0; k < cases[i].times; k++) {
            cr_assert_eq(kill(pid, cases[i].number), 0, "it had ended before the signal");
            wait_seconds(0.01);
        }
        ts_program_wait(pid, folder, &outcome);
        cr_assert_eq(outcome.code, 128 + cases[i].number, "case %zu: %d %s%s", i, outcome.code,
                     outcome.out, outcome.err);
        cr_assert(outcome.seconds < 2.0, "case %zu took %g s", i, outcome.seconds);
        expect_names("study ");
    }
}

Test(cli_run, a_full_disk_behind_standard_output_is_an_error)
{
    char path[300];
    snprintf(path, sizeof path, "%s.out", folder);
    unlink(path);
    cr_assert_eq(symlink("/dev/full", path), 0);
    const pid_t pid = ts_program_start(folder, ARGUMENTS("schema"), -1);
    unlink(path);
    ts_program_wait(pid, folder, &outcome);
    cr_assert_eq(outcome.code, 1);
    cr_assert_str_eq(outcome.err,
                     "tomostage: standard output could not be written: No space left on device\n");
}
