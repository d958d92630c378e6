/* SPDX-License-Identifier: Apache-2.0
 *
 * The program reports when it is stopped, when its standard streams are closed or full, and when
 * their reader goes away. A shell arranges the streams; $P is the program, and the folder holds a
 * study.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/program.h"
#include "tests/support/support.h"

#define RUN "$P run 'dicom study | invert | hdf5 out.h5' --device cpu --force "

static struct program_outcome outcome;
static char folder[256];

static void make_study(void)
{
    ts_test_folder(folder, sizeof folder);
    ts_program_run(folder,
                   ARGUMENTS("phantom", "disc", "-o", "study", "--size", "32", "--slices", "3"),
                   &outcome);
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
    cr_assert(setenv("P", ts_test_program(), 1) == 0 && chdir(folder) == 0);
}

static void remove_folder(void)
{
    ts_program_folder_remove(folder);
}

TestSuite(cli_errors, .init = make_study, .fini = remove_folder);

/* The exit code of a shell's line; standard error of `command` goes to the file err where it says
 * 2> err. */
static int shell(const char *command)
{
    const int status = system(command);
    cr_assert(WIFEXITED(status), "%s", command);
    return WEXITSTATUS(status);
}

static const char *text_of(const char *name)
{
    static char text[65536];
    FILE *file = fopen(name, "rb");
    text[file ? fread(text, 1, sizeof text - 1, file) : 0] = '\0';
    if (file)
        fclose(file);
    return text;
}

static void expect_whole_output(const char *command)
{
    cr_assert_eq(shell("$P verify out.h5 > verified 2>&1"), 0, "%s: %s", command,
                 text_of("verified"));
    cr_assert(unlink("out.h5") == 0);
}

/* As an unset variable of a shell leaves it: no file has this name. */
Test(cli_errors, an_empty_chain_says_so)
{
    cr_assert_eq(shell("$P run '' 2> err"), 2);
    cr_assert(strstr(text_of("err"), "the chain has no text [chain-empty]"), "%s", text_of("err"));
}

/* Nothing was to be printed: nothing is lost. */
Test(cli_errors, a_quiet_run_needs_no_standard_stream)
{
    static const char *const lines[] = {
        RUN "--quiet > /dev/full 2> err", RUN "--quiet >&- 2> err", RUN "--quiet <&- >&- 2> err",
        RUN "--quiet <&- >&- 2>&-",       RUN "<&- >&- 2>&-",       RUN ">&- 2> err"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        cr_assert_eq(shell(": > err"), 0);
        cr_assert_eq(shell(lines[i]), 0, "%s: %s", lines[i], text_of("err"));
        cr_assert_str_empty(text_of("err"));
        expect_whole_output(lines[i]);
    }
}

/* A descriptor below 3 would be taken by the first file that is opened, and messages would go into
 * the result. */
Test(cli_errors, messages_never_go_into_a_file)
{
    cr_assert_eq(shell("$P phantom disc -o second --size 32 --slices 3 <&- >&- 2>&-"), 0);
    cr_assert_eq(
        shell("for f in study/*; do cmp $f second/${f#study/} || exit 1; done > compared 2>&1"), 0,
        "%s", text_of("compared"));
    cr_assert_eq(shell("$P run 'dicom study | bax | hdf5 out.h5' <&- >&- 2>&-"), 2);
    cr_assert_neq(access("out.h5", F_OK), 0);
}

Test(cli_errors, a_result_whose_summary_is_lost_is_named)
{
    static const char failure[] =
        "tomostage: standard output could not be written: No space left on device; ";
    static const struct {
        const char *line, *made;
    } cases[] = {
        {RUN "> /dev/full 2> err", "out.h5 is written and whole\n"},
        {RUN "--json > /dev/full 2> err", "out.h5 is written and whole\n"},
        {"$P phantom disc -o second --size 8 > /dev/full 2> err", "second is written and whole\n"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char expected[256];
        snprintf(expected, sizeof expected, "%s%s", failure, cases[i].made);
        cr_assert_eq(shell(cases[i].line), 1, "%s", cases[i].line);
        cr_assert_str_eq(text_of("err"), expected);
    }
    expect_whole_output("run");
}

/* `| head -1`: no word on stderr, and no code of a failure. */
Test(cli_errors, a_reader_that_goes_away_ends_the_program_quietly)
{
    static const char *const commands[] = {"info study",
                                           "info study --json",
                                           "info out.h5",
                                           "info out.h5 --json",
                                           "schema",
                                           "stages",
                                           "stages box",
                                           "doctor",
                                           "verify out.h5",
                                           "--help",
                                           "run --help",
                                           "check chain.yaml",
                                           "check chain.yaml --json"};
    cr_assert_eq(shell(RUN "--quiet"), 0);
    cr_assert_eq(
        shell("printf 'tomostage: 2\\ninput: {dicom: ./study}\\nstages: [invert]\\n' > chain.yaml"),
        0);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        char line[256];
        /* The program starts to print once the reader has gone. */
        snprintf(line, sizeof line,
                 "{ { sleep 0.1; exec $P %s 2> err; }; echo $? > code; } | :", commands[i]);
        cr_assert_eq(shell(line), 0);
        cr_assert_str_empty(text_of("err"));
        cr_assert(atoi(text_of("code")) == 128 + SIGPIPE || atoi(text_of("code")) == 0, "%s: %s",
                  commands[i], text_of("code"));
    }
}

/* From the first instruction of main() on, whatever the program does then: some signals meet the
 * program while it plans, some while it runs. One that arrives while the program is loaded still
 * ends it by the default action; it cannot be caught. On a machine that is so busy that none was
 * caught, some more come later. */
Test(cli_errors, early_signals_have_a_sentence_and_a_code)
{
    static const struct {
        int number;
        const char *sentence;
    } stops[] = {{SIGINT, "tomostage: stopped by SIGINT; nothing was written\n"},
                 {SIGTERM, "tomostage: stopped by SIGTERM; nothing was written\n"},
                 {SIGHUP, "tomostage: stopped by SIGHUP; nothing was written\n"},
                 {SIGQUIT, "tomostage: stopped by SIGQUIT; nothing was written\n"}};
    int caught = 0;
    for (int i = 0; i < 60 || (caught == 0 && i < 66); i++) {
        const long wait_ms = 2L * i << (i < 60 ? 0 : i - 59);
        const struct timespec wait = {wait_ms / 1000, wait_ms % 1000 * 1000000};
        const int number = stops[i % 4].number;
        const pid_t pid = ts_program_start(
            folder,
            ARGUMENTS("run",
                      "dicom study | to_attenuation water=0.02 | radon views=1000000 | hdf5 out.h5",
                      "--threads", "1", "--device", "cpu", i % 8 < 4 ? "--json" : NULL),
            -1);
        nanosleep(&wait, NULL);
        cr_assert_eq(kill(pid, number), 0);
        ts_program_wait(pid, folder, &outcome);
        cr_assert(outcome.code == 128 + number || outcome.code == 256 + number, "%d: %d", i,
                  outcome.code);
        cr_assert_neq(access("out.h5", F_OK), 0);
        if (outcome.code > 256)
            continue;
        caught++;
        cr_assert_str_eq(outcome.err, stops[i % 4].sentence);
        cr_assert(i % 8 >= 4 || strstr(outcome.out, "\"code\": \"stopped\""), "%s", outcome.out);
    }
    cr_assert_gt(caught, 0);
    ts_program_folder_list(folder, outcome.out, sizeof outcome.out);
    cr_assert_str_eq(outcome.out, "study ");
}

/* Nobody reads the sentence: the program ends nevertheless. */
Test(cli_errors, a_stop_waits_for_no_reader)
{
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    char bytes[4096] = {0};
    cr_assert_neq(fcntl(ends[1], F_SETFL, O_NONBLOCK), -1);
    while (write(ends[1], bytes, sizeof bytes) > 0)
        continue;
    cr_assert_neq(fcntl(ends[1], F_SETFL, 0), -1);
    const pid_t pid = ts_program_start(
        folder,
        ARGUMENTS("run", "dicom study | radon views=1000000 | hdf5 out.h5", "--threads", "1"),
        ends[1]);
    ts_program_await_handler(pid, SIGTERM);
    nanosleep(&(struct timespec){0, 400000000L}, NULL);
    cr_assert_eq(kill(pid, SIGTERM), 0);
    ts_program_wait(pid, folder, &outcome);
    cr_assert_eq(outcome.code, 128 + SIGTERM);
    cr_assert_lt(outcome.seconds, 3);
}

/* A file that is given where a chain belongs is named, with what it can be used for; what the hint
 * advises works. */
Test(cli_errors, an_image_is_no_chain)
{
    static const struct {
        const char *path, *message, *hint;
    } rows[] = {{"out.h5", "out.h5 is an HDF5 file, not a chain [not-a-chain]\n",
                 "'result out.h5 | STAGE | hdf5 OUT.h5'"},
                {"large.h5", "large.h5 is an HDF5 file, not a chain [not-a-chain]\n",
                 "'result large.h5 | STAGE | hdf5 OUT.h5'"},
                {"study", "study is a folder, not a chain [not-a-chain]\n",
                 "'dicom study | STAGE | hdf5 OUT.h5'"},
                {"study/IM0001.dcm",
                 "study/IM0001.dcm is a DICOM file, not a chain [not-a-chain]\n",
                 "'dicom study/IM0001.dcm | STAGE | hdf5 OUT.h5'"},
                {"a.tif", "a.tif is a TIFF file, not a chain [not-a-chain]\n",
                 "'tiff a.tif | STAGE | hdf5 OUT.h5'"},
                {"b.tif", "b.tif is a TIFF file, not a chain [not-a-chain]\n",
                 "'tiff b.tif | STAGE | hdf5 OUT.h5'"}};
    cr_assert_eq(shell(RUN "--quiet"), 0);
    cr_assert_eq(shell("cp out.h5 large.h5; truncate -s 2M large.h5; printf 'II*\\0rest' > a.tif; "
                       "printf 'MM\\0+rest' > b.tif"),
                 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int json = 0; json < 2; json++) {
            char line[256];
            snprintf(line, sizeof line, "$P %s %s %s > out 2> err", i % 2 ? "run" : "check",
                     rows[i].path, json ? "--json" : "");
            cr_assert_eq(shell(line), 2, "%s", line);
            const char *text = text_of(json ? "out" : "err");
            cr_assert(json ? strstr(text, "\"code\": \"not-a-chain\"")
                           : strstr(text, rows[i].message),
                      "%s", text);
            cr_assert(strstr(text, rows[i].hint), "%s", text);
        }
    cr_assert_eq(shell("$P run 'result out.h5 | invert | hdf5 OUT.h5' --quiet && $P run 'dicom "
                       "study/IM0001.dcm | invert | hdf5 one.h5' --quiet 2> err"),
                 0);
    if (shell("h5dump --version > /dev/null 2>&1") == 0)
        cr_assert_eq(shell("h5dump -d /entry/provenance/chain -b -o chain.yaml out.h5 > h5dumped "
                           "&& $P run chain.yaml -i study -o again.h5 --quiet"),
                     0);
}

/* A soft limit is raised; a hard one ends the program with words, but for whoever may raise that as
 * well. */
Test(cli_errors, a_small_stack_is_raised_or_reported)
{
    cr_assert_eq(shell("ulimit -S -s 64; " RUN "--quiet"), 0);
    expect_whole_output("run");
    cr_assert_eq(shell("rm -f out.h5; ulimit -s 128; $P --version > out 2> err || { [ $? = 1 ] && "
                       "grep -q 'stack is limited to 128 KiB.*\\[stack-limit\\]' err; }"),
                 0, "%s", text_of("err"));
}

/* Each is read by libgomp before main() begins. */
Test(cli_errors, a_small_stack_of_openmp_is_overruled)
{
    static const char *const set[] = {"OMP_STACKSIZE=16K",
                                      "OMP_STACKSIZE=' 20000 B '",
                                      "OMP_STACKSIZE=17",
                                      "GOMP_STACKSIZE=16k",
                                      "OMP_STACKSIZE=16K GOMP_STACKSIZE=16K",
                                      "env -i OMP_STACKSIZE=16K"};
    for (size_t i = 0; i < sizeof set / sizeof *set; i++) {
        char command[512];
        snprintf(command, sizeof command,
                 "rm -f out.h5; %s $P run 'dicom study | median radius=3 | hdf5 out.h5' --device "
                 "cpu --threads 4 --quiet 2> err",
                 set[i]);
        cr_expect_eq(shell(command), 0, "%s: %s", set[i], text_of("err"));
        cr_expect_eq(shell("test -s out.h5"), 0, "%s", set[i]);
    }
}

/* nohup. */
Test(cli_errors, an_ignored_signal_stays_ignored)
{
    cr_assert_eq(
        shell("trap '' HUP; " RUN "--quiet & pid=$!; sleep 0.05; kill -HUP $pid; wait $pid"), 0);
    expect_whole_output("run");
}

/* A FIFO that nobody writes to does not hang the program; a pipe of the shell is read. */
Test(cli_errors, a_chain_from_a_pipe, .timeout = 900)
{
    cr_assert_eq(shell("mkfifo chain.fifo && $P check chain.fifo"), 2);
    cr_assert_eq(
        shell("printf 'tomostage: 2\\ninput: {dicom: '\"$PWD\"'/study}\\nstages: [{invert: {}}]\\n"
              "output: {hdf5: out.h5}\\n' > c.yaml; bash -c \"$P check <(sleep 0.2; cat c.yaml)\""),
        0);
}
