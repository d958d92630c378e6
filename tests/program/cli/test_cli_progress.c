/* SPDX-License-Identifier: Apache-2.0
 *
 * A long run reports how far it is, and sums up at its end. Every step is printed, since no test
 * may depend on how long one takes.
 */
#include <criterion/criterion.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pipeline/run/run.h"
#include "tests/files/hdf5_data.h"
#include "tests/support/program.h"
#include "tests/support/support.h"

static struct program_outcome outcome;
static char folder[256];

static void make_study(void)
{
    ts_test_folder(folder, sizeof folder);
    ts_program_run(folder,
                   ARGUMENTS("phantom", "disc", "-o", "study", "--size", "16", "--slices", "3"),
                   &outcome);
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
}

static void remove_folder(void)
{
    ts_program_folder_remove(folder);
}

TestSuite(cli_progress, .init = make_study, .fini = remove_folder);

static void run_chain(const char *chain, const char *every, const char *more)
{
    ts_program_run(folder,
                   ARGUMENTS("run", chain, "-o", "out.h5", "--force", "--device", "cpu", "--every",
                             every, more),
                   &outcome);
    cr_assert_eq(outcome.code, 0, "%s: %s", chain, outcome.err);
}

static int count(const char *text, const char *words)
{
    int n = 0;
    for (; (text = strstr(text, words)) != NULL; text += strlen(words))
        n++;
    return n;
}

#define SINOGRAM "dicom study | to_attenuation water=0.02 | radon views=12 | "

Test(cli_progress, iterations_are_lines_where_there_is_no_terminal)
{
    static const struct {
        const char *chain, *words;
        int n;
    } cases[] = {
        {SINOGRAM "sirt iterations=4", ", sirt: iteration 4 of 4, residual 0.", 1},
        {SINOGRAM "sirt iterations=4", "pass 1 of 1: 0 of 3 slices, sirt: iteration ", 5},
        {SINOGRAM "cgls iterations=4", ", cgls: iteration 3 of 4, residual 0.", 1},
        {"dicom study | tv weight=20 iterations=7", ", tv: iteration 7 of 7, residual ", 3},
        {"dicom study | tv weight=20 iterations=7 dimensions=3d", ", tv: iteration ", 7},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        run_chain(cases[i].chain, "0", NULL);
        cr_expect_eq(count(outcome.err, cases[i].words), cases[i].n, "%s: %s", cases[i].chain,
                     outcome.err);
        run_chain(cases[i].chain, "0", "--quiet");
        cr_expect_str_empty(outcome.err);
        cr_expect_str_empty(outcome.out);
        run_chain(cases[i].chain, "86400", NULL);
        cr_expect_str_empty(outcome.err);
    }
}

Test(cli_progress, iterations_are_events)
{
    run_chain(SINOGRAM "sirt iterations=300", "0", "--json");
    cr_expect(
        strstr(outcome.out, "{\"event\": \"iteration\", \"stage\": \"sirt\", \"iteration\": "),
        "%s", outcome.out);
    cr_expect(strstr(outcome.out, "\"iterations\": 300, \"residual\": 0."), "%s", outcome.out);
    const char *end = strstr(outcome.out, "\"event\": \"finished\"");
    cr_assert(end && strstr(end, "\"times\": {\"input\": ") && strstr(end, "\"sirt\": "), "%s",
              outcome.out);
    for (char *line = strtok(outcome.out, "\n"); line; line = strtok(NULL, "\n"))
        cr_expect(ts_test_is_json(line, strlen(line)), "%s", line);
}

/* The box of crop is found by a run of its own, whose end is not that of the run. */
Test(cli_progress, a_search_says_what_it_looks_for)
{
    run_chain("dicom study | invert | crop above=-500", "0", NULL);
    cr_expect(strstr(outcome.err, "looking for the box of crop: pass 1 of 1: 3 of 3 slices"), "%s",
              outcome.err);
    cr_expect_eq(count(outcome.out, "wrote out.h5"), 1, "%s", outcome.out);
    run_chain("dicom study | invert | crop above=-500", "0", "--json");
    cr_expect(strstr(outcome.out, "{\"event\": \"progress\", \"search\": \"crop\", "), "%s",
              outcome.out);
    cr_expect_eq(count(outcome.out, "\"event\": \"started\""), 1, "%s", outcome.out);
    cr_expect_eq(count(outcome.out, "\"event\": \"finished\""), 1, "%s", outcome.out);
}

Test(cli_progress, the_summary_has_the_time_of_each_stage)
{
    run_chain("dicom study | box radius=1 | invert", "30", NULL);
    const char *times = strstr(outcome.out, "\ntimes: input 0.");
    cr_assert(times && strstr(times, " s, box 0.") && strstr(times, " s, invert 0."), "%s",
              outcome.out);
}

/* Lists of one number each are numbers: in the times, and as the axis of the result. */
Test(cli_progress, a_sweep_over_a_list_has_its_numbers)
{
    char path[300];
    size_t n;
    run_chain("dicom study | gaussian sigma={from 1 to 0.4 step -0.3}", "30", NULL);
    cr_expect(strstr(outcome.out, " s, gaussian[sigma=0.7] 0.") != NULL, "%s", outcome.out);
    snprintf(path, sizeof path, "%s/out.h5", folder);
    double *values = ts_test_read_hdf5_at(path, "/entry/data/gaussian_sigma", &n);
    cr_assert_eq(n, 3);
    cr_expect(values[0] == 1 && values[1] == 0.7 && values[2] == 0.4, "%g %g %g", values[0],
              values[1], values[2]);
    free(values);
}

/* A pass is estimated by itself, others as they took or are predicted; what is not known is not
   guessed. */
Test(cli_progress, the_time_left_of_iterations_is_that_of_their_pass)
{
    static const struct {
        struct run_pace pace;
        double left;
    } rows[] = {
        {{.seconds = 2, .pass_seconds = 1, .pass_done = 0.5, .n_volumes = 1}, 1},
        {{.seconds = 2, .pass_seconds = 1, .pass_done = 0.25, .later = 5, .n_volumes = 1}, 8},
        {{.seconds = 2, .pass_seconds = 1, .pass_done = 0.25, .later = NAN, .n_volumes = 1}, NAN},
        {{.seconds = 2, .pass_seconds = 1, .pass_done = 0, .n_volumes = 1}, NAN},
        {{.seconds = 9,
          .pass_seconds = 1,
          .pass_done = 0.5,
          .later = 2,
          .whole = 4,
          .volumes_left = 3,
          .n_volumes = 5},
         15},
        {{.seconds = 3,
          .pass_seconds = 2,
          .pass_done = 0.125,
          .iterates = true,
          .later = NAN,
          .n_volumes = 1},
         14},
        {{.seconds = 3, .pass_seconds = 2, .pass_done = 0, .iterates = true, .n_volumes = 1}, NAN},
        {{.seconds = 3,
          .pass_seconds = 2,
          .pass_done = 0.5,
          .iterates = true,
          .n_volumes = 1,
          .values_left = 2},
         10},
        {{.seconds = 2,
          .pass_seconds = 2,
          .pass_done = 0.5,
          .iterates = true,
          .volumes_left = 2,
          .n_volumes = 3},
         10},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const double left = ts_run_seconds_left(&rows[i].pace);
        cr_expect(isnan(rows[i].left) ? isnan(left) : fabs(left - rows[i].left) < 1e-9,
                  "row %zu: %g", i, left);
    }
}

/* Nothing tells how long later passes will take, until they run. */
Test(cli_progress, a_time_that_is_not_known_is_no_number)
{
    const char *const chain = "dicom study | gaussian sigma=1 | equalize";
    run_chain(chain, "0", NULL);
    cr_expect(strstr(outcome.err, "pass 1 of 3: 3 of 3 slices, "), "%s", outcome.err);
    cr_expect(strstr(outcome.err, " MB/s, ? left\n"), "%s", outcome.err);
    cr_expect(strstr(outcome.err, "pass 3 of 3: 3 of 3 slices, "), "%s", outcome.err);
    cr_expect(strstr(strstr(outcome.err, "pass 3 of 3: 3 of 3"), ", 0:00 left\n"), "%s",
              outcome.err);
    run_chain(chain, "0", "--json");
    cr_expect(strstr(outcome.out, "\"seconds_left\": null"), "%s", outcome.out);
    const char *end = strstr(outcome.out, "{\"event\": \"finished\"");
    cr_assert_not_null(end, "%s", outcome.out);
    cr_expect(strstr(end, "\"seconds_left\": 0,"), "%s", end);
}

/* One digit too many: the sizes are planned, and nothing is run. */
Test(cli_progress, a_plan_warns_of_sizes_that_nobody_wants)
{
    static const char *const chains[] = {"dicom study | resample spacing=0.005",
                                         "dicom study | resample spacing=0.5"};
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        ts_program_run(folder, ARGUMENTS("check", chains[i], "-o", "out.h5", "--json"), &outcome);
        cr_expect_eq(count(outcome.out, "\"code\": \"size-unusual\""), i == 0, "%s: %s", chains[i],
                     outcome.out);
    }
}

/* The stage goes on for so long that the program ends without waiting for it. */
Test(cli_progress, a_signal_takes_the_place_of_the_line_on_a_terminal)
{
    static const char chain[] = "dicom large | tv weight=50 dimensions=3d iterations=100000 "
                                "| hdf5 out.h5";
    int leader, terminal;
    char shown[65536] = "";
    size_t used = 0;
    ssize_t n;
    bool sent = false;
    ts_program_run(folder,
                   ARGUMENTS("phantom", "disc", "-o", "large", "--size", "256", "--slices", "8"),
                   &outcome);
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
    cr_assert_eq(openpty(&leader, &terminal, NULL, NULL, NULL), 0);
    const pid_t pid = ts_program_start(
        folder, ARGUMENTS("run", chain, "--threads", "1", "--device", "cpu"), terminal);
    close(terminal);
    while (used < sizeof shown - 1 &&
           (n = read(leader, shown + used, sizeof shown - 1 - used)) > 0) {
        shown[used += (size_t)n] = '\0';
        if (!sent && strstr(shown, "tv: iteration"))
            sent = kill(pid, SIGINT) == 0;
    }
    close(leader);
    ts_program_wait(pid, folder, &outcome);
    cr_assert_eq(outcome.code, 128 + SIGINT);
    cr_assert(strstr(shown, "\r\033[Ktomostage: stopped by SIGINT; nothing was written"), "%s",
              shown);
}
