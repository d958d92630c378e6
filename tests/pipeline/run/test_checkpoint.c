/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs that pause at every slab and go on from their checkpoint, on both devices: the output has
 * the bytes of a run without a stop, and nothing is computed twice. Then the folder: whose it is,
 * and what damages it.
 */
#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pipeline/plan/plan.h"
#include "tests/program/record/compare_program.h"
#include "tests/support/plan_run.h"
#include "tests/support/test_device.h"

#define STOPPED_CHAIN                                                                              \
    "dicom study | median radius=2 | statistics | box radius=1 dimensions=3d | hdf5 out.h5"
/* On the device that stop() takes, whatever this machine has. */
#define RUN_STOPPED "run", STOPPED_CHAIN, "--device", "cpu"

static void begin(void)
{
    ts_compare_program_begin_empty();
    ts_compare_program_run(
        ARGUMENTS("phantom", "head", "-o", "study", "--size", "48", "--slices", "6"));
}

TestSuite(checkpoint, .init = begin, .fini = ts_compare_program_end);

static const char *path_of(const char *name)
{
    static char paths[4][512];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof *paths, "%s/%s", ts_compare_program.folder, name);
    return path;
}

/* ---- the same bytes -------------------------------------------------------------------------- */

/* Runs the chain whole, where attempt < 0, else until one slab more is kept, from the checkpoint
 * where attempt > 1. Returns the status. */
static enum ts_status run(const char *text, const char *device, const char *output, int attempt)
{
    struct ts_plan *plan;
    struct ts_options options = {.size = sizeof options,
                                 .device = device,
                                 .threads = 2,
                                 .checkpoint = attempt > 0 ? path_of("cp") : NULL,
                                 .resume = attempt > 1};
    struct ts_diag *diag = ts_diag_create();
    struct ts_chain *chain = NULL;
    cr_assert_eq(
        ts_chain_parse(text, strlen(text), "test", ts_compare_program.folder, &chain, diag), TS_OK);
    cr_assert_eq(ts_chain_set_output(chain, path_of(output), diag), TS_OK);
    cr_assert_eq(ts_plan_create(chain, &options, &plan, diag), TS_OK);
    cr_assert(ts_test_plan_fits(plan, ts_test_plan_least(plan))); /* so that slabs are thin */
    if (attempt > 0)
        ts_plan_pause(plan);
    const enum ts_status status = ts_plan_run(plan, diag);
    if (status != TS_OK && status != TS_PAUSED)
        ts_diag_print(diag, stderr);
    ts_plan_destroy(plan);
    ts_chain_destroy(chain);
    ts_diag_destroy(diag);
    return status;
}

/* Runs the chain whole, and in attempts of which each computes one slab more. */
static void expect_same_on(const char *text, const char *device, const char *output)
{
    char whole[64], paused[64];
    int attempts = 1;
    snprintf(whole, sizeof whole, "whole-%s", output);
    snprintf(paused, sizeof paused, "paused-%s", output);
    cr_assert_eq(run(text, device, whole, -1), TS_OK, "%s", text);
    for (enum ts_status status = TS_PAUSED; status != TS_OK && attempts < 100; attempts++) {
        status = run(text, device, paused, attempts);
        cr_assert(status == TS_OK || status == TS_PAUSED, "attempt %d of '%s' on %s", attempts,
                  text, device);
        cr_assert_eq(access(path_of("cp"), F_OK) == 0, status == TS_PAUSED, "%s", text);
    }
    cr_assert(attempts > 3 && attempts < 100, "%d attempts of '%s'", attempts - 1, text);
    ts_compare_program_expect_same_bytes(whole, paused);
    unlink(path_of(whole));
    unlink(path_of(paused));
}

static void expect_same(const char *text)
{
    expect_same_on(text, ts_test_device ? "cuda" : "cpu", "out.h5");
}

TEST_ON_BOTH(checkpoint, of_halos_and_outputs)
{
    expect_same("dicom study | box radius=1 dimensions=3d border=wrap | save name=smooth | "
                "gaussian sigma=1 dimensions=3d | hdf5 x.h5");
}

TEST_ON_BOTH(checkpoint, of_several_passes)
{
    expect_same("dicom study | nlm patch_distance=2 estimate=wavelet | equalize | invert | "
                "statistics | histogram bins=16 | hdf5 x.h5");
}

TEST_ON_BOTH(checkpoint, of_tables_of_slices)
{
    expect_same("dicom study | statistics scope=slice | equalize scope=slice | histogram "
                "scope=slice | box radius=1 | hdf5 x.h5");
}

TEST_ON_BOTH(checkpoint, of_iterations_with_their_tables)
{
    expect_same("dicom study | radon views=12 | sirt iterations=3 | tv weight=20 iterations=3 "
                "dimensions=3d | statistics | hdf5 x.h5");
}

TEST_ON_BOTH(checkpoint, of_invalid_pixels)
{
    expect_same("dicom study | threshold above=0 name=m | save name=mask input=m | apply_mask "
                "input=input mask=m | gaussian sigma=1 | statistics | hdf5 x.h5");
}

TEST_ON_BOTH(checkpoint, of_a_sweep)
{
    expect_same(
        "dicom study | median radius=1 | box radius={sweep 1 2 3} | statistics | hdf5 x.h5");
}

TEST_ON_BOTH(checkpoint, of_axes_that_are_found)
{
    ts_compare_program_run(ARGUMENTS("phantom", "scan", "-o", "scan.nxs", "--size", "64",
                                     "--slices", "4", "--views", "48"));
    expect_same("nexus scan.nxs quantity=line_integral | center | fbp | save name=recon | box "
                "radius=1 | hdf5 x.h5");
}

Test(checkpoint, of_other_formats)
{
    expect_same_on("dicom study | gaussian sigma=1 dimensions=3d | equalize | nifti x.nii.gz",
                   "cpu", "out.nii.gz");
}

/* ---- the folder ------------------------------------------------------------------------------ */

/* Runs a chain until it pauses after its second slab. */
static void stop(void)
{
    cr_assert_eq(run(STOPPED_CHAIN, "cpu", "out.h5", 1), TS_PAUSED);
    cr_assert_eq(run(STOPPED_CHAIN, "cpu", "out.h5", 2), TS_PAUSED);
    ts_compare_program_run(ARGUMENTS(RUN_STOPPED, "-o", "whole.h5", "--quiet"));
}

static void expect_resumed(const char *const *texts)
{
    ts_compare_program_expect(ARGUMENTS(RUN_STOPPED, "--checkpoint", "cp", "--resume"), 0, texts);
    ts_compare_program_expect_same_bytes("whole.h5", "out.h5");
    cr_assert_neq(access(path_of("cp"), F_OK), 0);
}

Test(checkpoint, is_left_alone_without_resume)
{
    stop();
    ts_compare_program_expect(
        ARGUMENTS(RUN_STOPPED, "--checkpoint", "cp"), 1,
        ARGUMENTS("a checkpoint is in 'cp' already", "[checkpoint-exists]", "--resume"));
    expect_resumed(ARGUMENTS(""));
}

/* Memory is taken from the first run. Given another amount the slabs are other ones, and nothing
 * that is kept fits. */
Test(checkpoint, of_another_cut_is_not_used)
{
    stop();
    ts_compare_program_expect(
        ARGUMENTS(RUN_STOPPED, "--checkpoint", "cp", "--resume", "--memory", "500M", "--quiet"), 0,
        ARGUMENTS(""));
    ts_compare_program_expect_same_bytes("whole.h5", "out.h5");
    cr_assert_neq(access(path_of("cp"), F_OK), 0);
}

Test(checkpoint, of_another_chain_is_refused)
{
    stop();
    ts_compare_program_expect(
        ARGUMENTS(RUN_STOPPED, "--set", "median.radius=1", "--checkpoint", "cp", "--resume"), 1,
        ARGUMENTS("is of another run: here stands '  - median: {radius: 1",
                  "[checkpoint-differs]"));
    expect_resumed(ARGUMENTS(""));
}

/* The headers are the same, so that the pixels alone tell. */
Test(checkpoint, of_other_pixels_is_refused)
{
    stop();
    ts_compare_program_run(ARGUMENTS("phantom", "head", "-o", "other", "--size", "48", "--slices",
                                     "6", "--noise", "3"));
    ts_compare_program_expect(
        ARGUMENTS(RUN_STOPPED, "-i", "other", "--checkpoint", "cp", "--resume"), 3,
        ARGUMENTS("the inputs of slices 0 to 0 are not those", "[checkpoint-inputs]"));
    expect_resumed(ARGUMENTS(""));
}

/* Calls back for every slab that is kept. */
static int each_slab(void (*damage)(const char *path))
{
    int n = 0;
    DIR *directory = opendir(path_of("cp"));
    cr_assert(directory);
    for (const struct dirent *entry; (entry = readdir(directory));)
        if (strstr(entry->d_name, ".slab")) {
            char name[300];
            snprintf(name, sizeof name, "cp/%s", entry->d_name);
            damage(path_of(name));
            n++;
        }
    closedir(directory);
    return n;
}

static void flip(const char *path)
{
    unsigned char byte;
    struct stat found;
    const int fd = open(path, O_RDWR);
    cr_assert(fd >= 0 && fstat(fd, &found) == 0 && pread(fd, &byte, 1, found.st_size / 2) == 1);
    byte ^= 1;
    cr_assert(pwrite(fd, &byte, 1, found.st_size / 2) == 1 && close(fd) == 0);
}

static void cut(const char *path)
{
    struct stat found;
    cr_assert(stat(path, &found) == 0 && truncate(path, found.st_size - 1) == 0);
}

static void empty(const char *path)
{
    cr_assert_eq(truncate(path, 0), 0);
}

Test(checkpoint, that_is_damaged_is_computed_again)
{
    void (*const damages[])(const char *path) = {flip, cut, empty};
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        stop();
        cr_assert_eq(each_slab(damages[i]), 2);
        expect_resumed(ARGUMENTS("v0-p0-d0-z0.slab' is damaged", "v0-p0-d0-z1.slab' is damaged",
                                 "[checkpoint-damaged]"));
        unlink(path_of("out.h5"));
        unlink(path_of("whole.h5"));
    }
}

Test(checkpoint, that_is_in_use_is_refused)
{
    stop();
    const int lock = open(path_of("cp/run.txt"), O_RDONLY);
    cr_assert(lock >= 0 && flock(lock, LOCK_EX) == 0);
    ts_compare_program_expect(ARGUMENTS(RUN_STOPPED, "--checkpoint", "cp", "--resume"), 1,
                              ARGUMENTS("another process is at work", "[checkpoint-used]"));
    close(lock);
    expect_resumed(ARGUMENTS(""));
}

Test(checkpoint, takes_no_folder_of_others)
{
    ts_compare_program_expect(ARGUMENTS(RUN_STOPPED, "--checkpoint", "study", "--resume"), 1,
                              ARGUMENTS("[folder-not-empty]"));
    ts_compare_program_expect(
        ARGUMENTS(RUN_STOPPED, "--resume"), 0,
        ARGUMENTS("no checkpoint is in 'out.h5.checkpoint'", "[checkpoint-none]"));
}

/* What somebody else has put there stays. */
Test(checkpoint, removes_its_own_files_alone)
{
    stop();
    ts_compare_program_write("cp/notes.txt", "mine");
    ts_compare_program_expect(ARGUMENTS(RUN_STOPPED, "--checkpoint", "cp", "--resume", "--quiet"),
                              0, ARGUMENTS("[checkpoint-left]"));
    char names[1024];
    ts_program_folder_list(path_of("cp"), names, sizeof names);
    cr_assert_str_eq(names, "notes.txt ");
    unlink(path_of("cp/notes.txt"));
    rmdir(path_of("cp"));
}

Test(checkpoint, has_a_place_and_a_size)
{
    ts_compare_program_expect(
        ARGUMENTS("check", STOPPED_CHAIN, "--checkpoint", "cp"), 0,
        ARGUMENTS("checkpoint in cp: up to 0.1 MiB until the run has succeeded"));
    ts_compare_program_expect(ARGUMENTS("check", STOPPED_CHAIN, "--checkpoint", "cp", "--json"), 0,
                              ARGUMENTS("\"checkpoint_bytes\": "));
}

Test(checkpoint, takes_times_as_slurm_writes_them)
{
    static const char *const wrong[] = {"soon",     "4:00",    "1-",          "1-00:00",
                                        "-1:00:00", "1:-1:00", "1-2-3:00:00", "4:00:00s"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ts_compare_program_expect(ARGUMENTS(RUN_STOPPED, "--time-limit", (char *)wrong[i]), 2,
                                  ARGUMENTS("is not a time such as 90m"));
    ts_compare_program_expect(ARGUMENTS(RUN_STOPPED, "--time-limit", "1-00:00:00", "--force"), 0,
                              ARGUMENTS("wrote "));
    ts_compare_program_expect(ARGUMENTS(RUN_STOPPED, "--time-limit", "4:00:00", "--force"), 0,
                              ARGUMENTS("wrote "));
}

/* ---- signals --------------------------------------------------------------------------------- */

/* A slab takes long enough for the signal to come before the next one, and no longer where
 * sanitizers slow it down. */
#ifdef TS_SANITIZED
#define DISTANCE "5"
#else
#define DISTANCE "12"
#endif
#define SEVERAL_SLABS                                                                              \
    "dicom study | nlm patch_size=5 patch_distance=" DISTANCE " dimensions=3d | hdf5 out.h5"

/* Starts a run of many slabs, sends it a signal once the first one is kept, and returns the exit
 * code. */
static int run_and_send(int number, const char *chain)
{
    const pid_t pid = ts_program_start(ts_compare_program.folder,
                                       ARGUMENTS("run", chain, "--checkpoint", "cp", "--resume",
                                                 "--memory", "60M", "--threads", "1"),
                                       -1);
    while (access(path_of("cp/v0-p0-d0-z0.slab"), F_OK) != 0 && kill(pid, 0) == 0)
        usleep(1000);
    cr_assert_eq(kill(pid, number), 0);
    ts_program_wait(pid, ts_compare_program.folder, &ts_compare_program.outcome);
    return ts_compare_program.outcome.code;
}

Test(checkpoint, survives_signals)
{
    static const struct {
        int number, code;
        const char *text;
    } cases[] = {
        {SIGUSR1, 75,
         "kept in 'cp' [checkpoint]\n  hint: the same again with --resume goes on from there"},
        {SIGTERM, 143,
         "stopped by SIGTERM; the output was not written, and --resume goes on from the "
         "checkpoint"},
        {SIGKILL, 256 + SIGKILL, ""}};
    const char *chain = SEVERAL_SLABS;
    ts_compare_program_run(ARGUMENTS("run", chain, "-o", "whole.h5", "--quiet"));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_assert_eq(run_and_send(cases[i].number, chain), cases[i].code, "signal %d: %d\n%s",
                     cases[i].number, ts_compare_program.outcome.code,
                     ts_compare_program.outcome.err);
        cr_assert(strstr(ts_compare_program.outcome.err, cases[i].text), "%s",
                  ts_compare_program.outcome.err);
        cr_assert_neq(access(path_of("out.h5"), F_OK), 0);
        ts_compare_program_run(
            ARGUMENTS("run", chain, "--checkpoint", "cp", "--resume", "--quiet"));
        ts_compare_program_expect_same_bytes("whole.h5", "out.h5");
        unlink(path_of("out.h5"));
    }
}

/* The signal comes while the program starts: it waits until the run knows that it has a
 * checkpoint. */
Test(checkpoint, takes_a_signal_of_the_start)
{
    sigset_t pause;
    sigemptyset(&pause);
    sigaddset(&pause, SIGUSR1);
    cr_assert_eq(sigprocmask(SIG_BLOCK, &pause, NULL), 0);
    const pid_t pid = ts_program_start(ts_compare_program.folder,
                                       ARGUMENTS("run", SEVERAL_SLABS, "--checkpoint", "cp",
                                                 "--resume", "--memory", "60M", "--threads", "1"),
                                       -1);
    cr_assert_eq(kill(pid, SIGUSR1), 0);
    cr_assert_eq(sigprocmask(SIG_UNBLOCK, &pause, NULL), 0);
    ts_program_wait(pid, ts_compare_program.folder, &ts_compare_program.outcome);
    cr_assert_eq(ts_compare_program.outcome.code, 75, "%d\n%s", ts_compare_program.outcome.code,
                 ts_compare_program.outcome.err);
    cr_assert_neq(access(path_of("out.h5"), F_OK), 0);
}
