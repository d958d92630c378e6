/* SPDX-License-Identifier: Apache-2.0
 *
 * Batches share a folder, or end before their time: by a signal, or by SIGKILL, of which no process
 * hears. After each of them every file is whole, and --resume makes the rest.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/program/batch/batch_folder.h"
#include "tests/support/support.h"

enum { STUDIES = 24 };

/* Every third study has the same input, and each has an output of its own. */
static void begin(void)
{
    char text[1024] = "input\toutput\n";
    ts_batch_folder_begin();
    for (int i = 0; i < STUDIES; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "st/p%d\ts%02d\n", i % 3 + 1, i);
    ts_compare_program_write("many.tsv", text);
}

TestSuite(batch_together, .init = begin, .fini = ts_compare_program_end);

static pid_t start(void)
{
    return ts_program_start(ts_compare_program.folder,
                            ARGUMENTS("batch", "chain.yaml", "many.tsv", "-o", "out", "--jobs", "2",
                                      "--threads", "2", "--resume"),
                            -1);
}

static void wait_ms(long milliseconds)
{
    nanosleep(&(const struct timespec){milliseconds / 1000, milliseconds % 1000 * 1000000}, NULL);
}

/* Returns how many results there are, and verifies each where that is asked for. */
static int count_results(bool verify)
{
    char names[4096];
    int n = 0;
    ts_batch_folder_list("out", names, sizeof names);
    for (char *rest = names, *name; (name = strsep(&rest, " "));) {
        char path[300];
        if (*name != 's' || !strstr(name, ".h5"))
            continue;
        n++;
        snprintf(path, sizeof path, "out/%s", name);
        if (verify)
            ts_compare_program_run(ARGUMENTS("verify", path));
    }
    return n;
}

/* Waits for at most a minute until there are so many results. */
static void wait_for_results(int n)
{
    char path[300];
    snprintf(path, sizeof path, "%s/out", ts_compare_program.folder);
    for (int i = 0; i < 6000 && (access(path, F_OK) != 0 || count_results(false) < n); i++)
        wait_ms(10);
}

/* Whoever finishes last has seen all results, and what one batch did not do the other did. Nothing
 * is left beside results and tables. */
Test(batch_together, two_share_a_folder)
{
    char names[512] = "batch-files batch.html batch.numbers.tsv batch.tsv ";
    const pid_t pids[2] = {start(), start()};
    for (int i = 0; i < 2; i++) {
        int ended;
        cr_assert_eq(waitpid(pids[i], &ended, 0), pids[i]);
        cr_assert(WIFEXITED(ended) && WEXITSTATUS(ended) == 0, "%d", ended);
    }
    cr_assert_eq(count_results(true), STUDIES);
    for (int i = 0; i < STUDIES; i++)
        snprintf(names + strlen(names), sizeof names - strlen(names), "s%02d.h5 ", i);
    ts_batch_folder_expect("out", names);
    ts_compare_program_expect(ARGUMENTS("batch", "chain.yaml", "many.tsv", "-o", "out", "--resume"),
                              0, ARGUMENTS("24 studies, 24 found\n"));
}

/* The runs of a killed batch may go on for a moment; the next one waits for them. */
Test(batch_together, a_killed_one_is_resumed)
{
    for (int round = 0; round < 3; round++) {
        int ended;
        const pid_t pid = start();
        wait_for_results(3 * round + 1);
        kill(pid, SIGKILL);
        cr_assert_eq(waitpid(pid, &ended, 0), pid);
        count_results(true);
    }
    ts_compare_program_expect(
        ARGUMENTS("batch", "chain.yaml", "many.tsv", "-o", "out", "--jobs", "2", "--resume"), 0,
        ARGUMENTS("wrote out/batch.tsv: 24 studies, "));
    cr_assert(!strstr(ts_compare_program.outcome.out, "not run") &&
              !strstr(ts_compare_program.outcome.out, "failed"));
    cr_assert_eq(count_results(true), STUDIES);
}

Test(batch_together, a_signal_ends_it_with_its_table)
{
    const pid_t pid = start();
    wait_for_results(1);
    kill(pid, SIGTERM);
    ts_program_wait(pid, ts_compare_program.folder, &ts_compare_program.outcome);
    cr_assert_eq(ts_compare_program.outcome.code, 128 + SIGTERM, "%d %s",
                 ts_compare_program.outcome.code, ts_compare_program.outcome.err);
    cr_assert(strstr(ts_compare_program.outcome.err,
                     "stopped by SIGTERM; results that are there are whole"),
              "%s", ts_compare_program.outcome.err);
    cr_assert(strstr(ts_compare_program.outcome.out, "wrote out/batch.tsv"), "%s",
              ts_compare_program.outcome.out);
    cr_assert_lt(count_results(true), STUDIES);
    ts_compare_program_expect(ARGUMENTS("batch", "chain.yaml", "many.tsv", "-o", "out", "--resume"),
                              0, ARGUMENTS(" found\n"));
}

/* A study that arrives while a batch watches is run once it is quiet, and the tables follow. */
Test(batch_together, a_watched_folder_gives_its_studies)
{
    char path[300];
    ts_batch_folder_make("in");
    const pid_t pid = ts_program_start(
        ts_compare_program.folder,
        ARGUMENTS("batch", "chain.yaml", "--watch", "in", "-o", "out", "--settle", "1", "--json"),
        -1);
    static struct program_outcome other;
    wait_ms(1500);
    char apart[300];
    snprintf(apart, sizeof apart, "%s/in", ts_compare_program.folder);
    ts_program_run(
        apart, ARGUMENTS("phantom", "head", "-o", "late", "--size", "48", "--slices", "6"), &other);
    cr_assert_eq(other.code, 0, "%s", other.err);
    snprintf(path, sizeof path, "%s/out/batch.tsv", ts_compare_program.folder);
    for (int i = 0; i < 3000 && access(path, F_OK) != 0; i++)
        wait_ms(20);
    cr_assert_eq(access(path, F_OK), 0);
    kill(pid, SIGTERM);
    ts_program_wait(pid, ts_compare_program.folder, &ts_compare_program.outcome);
    cr_expect_eq(ts_compare_program.outcome.code, 128 + SIGTERM);
    ts_batch_folder_expect("out", "batch-files batch.html batch.numbers.tsv batch.tsv late.h5 ");
    const char *events = ts_compare_program.outcome.out;
    cr_expect(strstr(events, "{\"event\": \"progress\", \"ended\": 0, \"studies\": 0, "
                             "\"seconds_left\": null, \"running\": []}"),
              "%s", events);
    cr_expect(strstr(events, "\"state\": \"done\", \"output\": \"out/late.h5\""), "%s", events);
}

/* A list of public images of three kinds makes their results, and finds them the second time. */
Test(batch_together, public_images)
{
    SKIP_WITHOUT_DATA("batch_together/public_images");
    char text[2048];
    const char *data = ts_test_data();
    snprintf(text, sizeof text,
             "input\toutput\tgaussian.sigma\n%s/ct/ibsi_sts001/dicom/CT\tct\t1\n%s/ct/ibsi_sts001/"
             "dicom/MR_T1\tmr\t\n"
             "%s/ct/ibsi_sts001/dicom/PET\tpet\t2\n",
             data, data, data);
    ts_compare_program_write("public.tsv", text);
    const char *const arguments[] = {
        "batch",      "dicom x | gaussian sigma=0.5 | statistics | hdf5 y.h5",
        "public.tsv", "-o",
        "real",       "--jobs",
        "2",          "--resume",
        NULL};
    ts_compare_program_expect(arguments, 0, ARGUMENTS("3 studies, 3 done\n"));
    ts_compare_program_expect(arguments, 0, ARGUMENTS("3 studies, 3 found\n"));
}
