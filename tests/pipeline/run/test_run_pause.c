/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs that pause at their checkpoints, and go on from there; and runs that a program abandons.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "include/tomostage_array.h"
#include "tests/support/array_run.h"
#include "tests/support/folders.h"
#include "tests/support/plan_run.h"

enum { NZ = 20, NY = 8, NX = 16, PIXELS = NZ * NY * NX };

static struct ts_diag *diag;
static float values[PIXELS];

static void begin(void)
{
    diag = ts_diag_create();
    for (int i = 0; i < PIXELS; i++)
        values[i] = (float)(i * 7919 % 1000) / 1000;
}

static void end(void)
{
    ts_diag_destroy(diag);
}

TestSuite(run_pause, .init = begin, .fini = end);

static struct ts_array array_of(float *data)
{
    return ts_test_array(data, TS_F32, NZ, NY, NX);
}

/* Makes a run of the chain on an array that is called "in". */
static enum ts_status start(struct array_run *trial, const char *text, const struct ts_array *in,
                            const struct ts_options *options)
{
    return ts_array_run_start(trial, text, "in", in, NULL, options, diag);
}

static void ok(enum ts_status status)
{
    if (status != TS_OK)
        ts_diag_print(diag, stderr);
    cr_assert_eq(status, TS_OK);
}

static struct array_run paused;

static void pause_run(void *user, const struct ts_event *event)
{
    (void)user;
    if (event->kind == TS_EVENT_STARTED)
        ts_run_pause(paused.run);
}

/* Starts a run in slabs of one slice. */
static void start_thin(const char *text, const struct ts_array *in,
                       const struct ts_options *options)
{
    ok(start(&paused, text, in, options));
    ts_run_destroy(paused.run);
    cr_assert(ts_test_plan_fits(paused.plan, ts_test_plan_least(paused.plan)));
    ok(ts_run_create(paused.plan, &paused.run, diag));
}

Test(run_pause, a_run_pauses_at_its_checkpoint)
{
    char folder[256], text[512], checkpoint[300];
    const struct ts_array in = array_of(values);
    struct ts_options options = TS_OPTIONS_DEFAULT;
    ts_test_folder(folder, sizeof folder);
    snprintf(text, sizeof text, "memory in | median radius=1 | hdf5 %s/out.h5", folder);
    snprintf(checkpoint, sizeof checkpoint, "%s/checkpoint", folder);
    options.device = "cpu";
    options.checkpoint = checkpoint;
    options.on_event = pause_run;
    start_thin(text, &in, &options);
    cr_assert_eq(ts_run_execute(paused.run, diag), TS_PAUSED);
    ts_array_run_finish(&paused);
    options.on_event = NULL;
    options.resume = true;
    start_thin(text, &in, &options);
    ok(ts_run_execute(paused.run, diag));
    ts_array_run_finish(&paused);
    ts_test_remove_folder(folder);
}

static void pause_twice(void *user, const struct ts_event *event)
{
    int *times = user;
    if (event->kind == TS_EVENT_STARTED && ++*times <= 2)
        ts_run_pause(paused.run);
}

static void pause_plan_twice(void *user, const struct ts_event *event)
{
    int *times = user;
    if (event->kind == TS_EVENT_STARTED && ++*times <= 2)
        ts_plan_pause(paused.plan);
}

/* No option has to change for that, and no message speaks of the command line. */
Test(run_pause, a_paused_run_goes_on_when_it_is_executed_again)
{
    char folder[256], text[512], checkpoint[300];
    static float whole[PIXELS], made[PIXELS];
    const struct ts_array in = array_of(values), out = array_of(whole), again = array_of(made);
    struct ts_options options = TS_OPTIONS_DEFAULT;
    ts_test_folder(folder, sizeof folder);
    snprintf(text, sizeof text, "memory in | median radius=1 | hdf5 %s/out.h5", folder);
    snprintf(checkpoint, sizeof checkpoint, "%s/checkpoint", folder);
    options.device = "cpu";
    options.checkpoint = checkpoint;
    options.force = true;
    start_thin(text, &in, &options);
    ok(ts_run_set_array(paused.run, "data", &out, diag));
    ok(ts_run_execute(paused.run, diag));
    ts_array_run_finish(&paused);
    for (int of_plan = 0; of_plan < 2; of_plan++) {
        int times = 0;
        options.on_event = of_plan ? pause_plan_twice : pause_twice;
        options.user = &times;
        start_thin(text, &in, &options);
        if (!of_plan)
            ok(ts_run_set_array(paused.run, "data", &again, diag));
        for (int k = 0; k < 2; k++) {
            cr_assert_eq(of_plan ? ts_plan_run(paused.plan, diag)
                                 : ts_run_execute(paused.run, diag),
                         TS_PAUSED);
            const struct ts_diag_record *note = ts_diag_get(diag, ts_diag_count(diag) - 1);
            cr_assert_str_eq(note->code, "checkpoint");
            cr_assert(strstr(note->hint, "options.resume") && !strstr(note->hint, "--"), "%s",
                      note->hint);
            cr_assert(!strstr(note->message, "--"), "%s", note->message);
        }
        ok(of_plan ? ts_plan_run(paused.plan, diag) : ts_run_execute(paused.run, diag));
        cr_assert(of_plan || !memcmp(whole, made, sizeof made));
        cr_assert_neq(access(checkpoint, F_OK), 0, "the checkpoint is left");
        ts_array_run_finish(&paused);
    }
    /* A checkpoint of another run is no reason to go on. */
    int times = 0;
    options.on_event = pause_twice;
    options.user = &times;
    start_thin(text, &in, &options);
    cr_assert_eq(ts_run_execute(paused.run, diag), TS_PAUSED);
    ts_array_run_finish(&paused);
    start_thin(text, &in, &options);
    for (int k = 0; k < 2; k++) {
        cr_assert_eq(ts_run_execute(paused.run, diag), TS_RUN_FAILED);
        const struct ts_diag_record *record = ts_diag_get(diag, ts_diag_count(diag) - 1);
        cr_assert_str_eq(record->code, "checkpoint-exists");
        cr_assert(strstr(record->hint, "options.resume"), "%s", record->hint);
    }
    ts_array_run_finish(&paused);
    ts_test_remove_folder(folder);
}

static void abandon_run(void *user, const struct ts_event *event)
{
    (void)user;
    if (event->kind != TS_EVENT_PROGRESS)
        return;
    ts_run_abandon(paused.run);
    _exit(7);
}

Test(run_pause, an_abandoned_run_leaves_no_files)
{
    char folder[256], text[1024], command[300];
    const struct ts_array in = array_of(values);
    struct ts_options options = TS_OPTIONS_DEFAULT;
    int status = 0;
    ts_test_folder(folder, sizeof folder);
    snprintf(text, sizeof text, "memory in | median radius=1 | hdf5 %s/out.h5 | png %s/pictures",
             folder, folder);
    options.device = "cpu";
    options.threads = 1;
    options.on_event = abandon_run;
    const pid_t child = fork();
    if (child == 0) {
        if (start(&paused, text, &in, &options) == TS_OK)
            ts_run_execute(paused.run, diag);
        ts_diag_print(diag, stderr);
        _exit(1);
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 7, "%d", status);
    snprintf(command, sizeof command, "test -z \"$(ls -A %s)\"", folder);
    cr_assert_eq(system(command), 0, "files are left");
    ts_test_remove_folder(folder);
}
