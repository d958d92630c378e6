/* SPDX-License-Identifier: Apache-2.0
 *
 * Contexts: each has its own settings and its own server of sandboxed processes, every input is
 * read through the server of its chain's context, and contexts at work at once do not disturb each
 * other.
 */
#include <criterion/criterion.h>
#include <limits.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <tiffio.h>
#include <unistd.h>

#include "include/tomostage_array.h"
#include "include/tomostage_context.h"
#include "pipeline/plan/plan.h"
#include "tests/files/dicom_fixture.h"
#include "tests/files/scan_file.h"
#include "tests/files/tiff_fixture.h"
#include "tests/support/chain_text.h"
#include "tests/support/support.h"

enum { INPUTS = 8 };

static struct ts_diag *diag;

static void begin(void)
{
    ts_scan_file_begin();
    diag = ts_scan_file.diag;
}

TestSuite(context, .init = begin, .fini = ts_scan_file_end);

static struct ts_context *create(const char *sandbox, int64_t threads)
{
    struct ts_context *context = NULL;
    const struct ts_settings settings = {sizeof settings, .sandbox = sandbox, .threads = threads};
    cr_assert_eq(ts_context_create(&settings, &context, diag), TS_OK);
    return context;
}

/* A hash of all values, in the order in which they come. */
static enum ts_status take(void *user, const struct ts_image *slab)
{
    uint64_t *hash = user;
    const unsigned char *bytes = slab->data;
    for (size_t i = 0; i < ts_image_bytes(slab); i++)
        *hash = (*hash ^ bytes[i]) * UINT64_C(1099511628211);
    return TS_OK;
}

/* Runs a chain of the context, which may be NULL, and hands its last image over. `earlier`: the
 * result that the plan resumes from, or NULL. */
static enum ts_status run(struct ts_context *context, const char *text, const char *earlier,
                          uint64_t *hash, struct ts_diag *own)
{
    struct ts_chain *chain = NULL;
    struct ts_plan *plan = NULL;
    struct ts_run *at_work = NULL;
    struct ts_options options = TS_OPTIONS_DEFAULT;
    options.device = "cpu";
    options.force = true;
    *hash = 0;
    ts_diag_clear(own);
    enum ts_status status =
        ts_context_parse(context, text, strlen(text), "test", ts_scan_file.folder, &chain, own);
    if (status == TS_OK)
        status = ts_plan_create(chain, &options, &plan, own);
    if (status == TS_OK && earlier)
        status = ts_plan_resume(plan, earlier, own);
    if (status == TS_OK)
        status = ts_run_create(plan, &at_work, own);
    if (status == TS_OK)
        status = ts_run_set_take(at_work, "data", take, hash, own);
    if (status == TS_OK)
        status = ts_run_execute(at_work, own);
    ts_run_destroy(at_work);
    ts_plan_destroy(plan);
    ts_chain_destroy(chain);
    return status;
}

static void write_study(const char *folder)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%s", ts_scan_file.folder, folder);
    cr_assert_eq(mkdir(path, 0700), 0);
    for (int z = 0; z < 5; z++) {
        struct dicom_fixture fixture;
        ts_fixture_init(&fixture, z);
        ts_fixture_rle(&fixture);
        ts_fixture_finish(&fixture, path, z);
    }
}

/* Writes a study with a copy of a slice in another encoding: both are decoded when it is planned.
 */
static void write_repeats(void)
{
    struct dicom_fixture fixture;
    char path[400];
    write_study("repeats");
    snprintf(path, sizeof path, "%s/repeats", ts_scan_file.folder);
    ts_fixture_init(&fixture, 0);
    ts_fixture_finish(&fixture, path, 5);
}

/* Writes frames.h5, and virtual.h5 whose frames are those of the other. */
static void write_scans(void)
{
    const double theta[SCAN_FRAMES] = {0, 20, 40, 60, 80, 100, 120};
    const hsize_t n[3] = {SCAN_FRAMES, SCAN_ROWS, SCAN_COLUMNS};
    char path[400];
    H5Fclose(ts_scan_file_exchange(NULL, SCAN_FRAMES, theta));
    snprintf(path, sizeof path, "%s/frames.h5", ts_scan_file.folder);
    cr_assert_eq(rename(ts_scan_file.path, path), 0);
    snprintf(path, sizeof path, "%s/virtual.h5", ts_scan_file.folder);
    const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t space = H5Screate_simple(3, n, NULL), list = H5Pcreate(H5P_DATASET_CREATE);
    cr_assert(H5Pset_virtual(list, space, "frames.h5", "/exchange/data", space) >= 0);
    const hid_t dataset =
        H5Dcreate2(file, "data", H5T_STD_U16LE, space, H5P_DEFAULT, list, H5P_DEFAULT);
    cr_assert_geq(dataset, 0);
    H5Dclose(dataset);
    H5Pclose(list);
    H5Sclose(space);
    H5Fclose(file);
}

/* Writes inputs that are read by sandboxed processes of every kind, and their chains. The last one
 * is a chain that can resume from made.h5. */
static void write_inputs(char texts[INPUTS][512])
{
    char path[400];
    struct tiff_writing lzw = ts_tiff_plain;
    uint64_t hash;
    int n = 0;
    write_study("study");
    write_repeats();
    write_scans();
    snprintf(path, sizeof path, "%s/pages.tif", ts_scan_file.folder);
    lzw.compression = COMPRESSION_LZW;
    ts_tiff_write(path, &lzw);
    cr_assert_eq(run(NULL, "dicom study | box radius=1 | hdf5 made.h5", NULL, &hash, diag), TS_OK,
                 "%s", ts_test_errors(diag));
    snprintf(texts[n++], 512, "dicom study | box radius=1");
    snprintf(texts[n++], 512, "dicom repeats | box radius=1");
    snprintf(texts[n++], 512,
             "tiff pages.tif pages=slices pixel_size=1 spacing_z=1 | box radius=1");
    snprintf(texts[n++], 512, "exchange frames.h5 angle_unit=degree | median radius=1");
    snprintf(texts[n++], 512, "hdf5 virtual.h5 path=/data axes=z,y,x | box radius=1");
    snprintf(texts[n++], 512, "hdf5 %s path=/blosc_lz4_be_i4 axes=z,y,x | box radius=1",
             ts_test_path("files/foreign/codecs.nxs"));
    snprintf(texts[n++], 512, "result made.h5 | invert");
    snprintf(texts[n++], 512, "dicom study | box radius=1 | rescale range=[-1000,1000]");
    cr_assert_eq(n, INPUTS);
}

#ifndef TESTS_ARE_STATIC
static int count_children(void)
{
    char path[64], line[4096] = "";
    int n = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *file = fopen(path, "r");
    if (file && fgets(line, sizeof line, file))
        for (const char *at = line; *at; at++)
            n += *at == ' ';
    if (file)
        fclose(file);
    return n;
}
#endif

/* A context whose program is missing can read none of them, one with the right program reads what
 * the process reads, and no process is left behind it. */
Test(context, every_input_is_read_through_its_server)
{
    char texts[INPUTS][512], made[400];
    uint64_t of_process, own;
    write_inputs(texts);
    snprintf(made, sizeof made, "%s/made.h5", ts_scan_file.folder);
    for (int i = 0; i < INPUTS; i++) {
        const char *earlier = i == INPUTS - 1 ? made : NULL;
        cr_assert_eq(run(NULL, texts[i], earlier, &of_process, diag), TS_OK, "%s: %s", texts[i],
                     ts_test_errors(diag));
        ts_sandbox_finish();
#ifndef TESTS_ARE_STATIC
        const int before = count_children();
#endif
        struct ts_context *context = create("/nowhere/sandbox", 0);
        ts_diag_clear(diag);
        cr_assert_eq(run(context, texts[i], earlier, &own, diag),
                     strstr(texts[i], "repeats") ? TS_BAD_INPUT : TS_RUN_FAILED, "%s", texts[i]);
        const struct ts_diag_record *record = ts_test_record(diag, "worker-not-started");
        cr_assert_not_null(record, "%s", texts[i]);
        cr_assert_not_null(strstr(record->message, "/nowhere/sandbox"), "%s", record->message);
        ts_context_destroy(context);
        context = create(NULL, 0);
        cr_assert_eq(run(context, texts[i], earlier, &own, diag), TS_OK, "%s: %s", texts[i],
                     ts_test_errors(diag));
        ts_context_destroy(context);
        cr_assert_eq(own, of_process, "%s", texts[i]);
#ifndef TESTS_ARE_STATIC /* where the context has the server of the process */
        cr_assert_eq(count_children(), before, "%s: a process is left", texts[i]);
#endif
    }
}

/* ---- settings -------------------------------------------------------------------------------- */

static int threads_of(struct ts_context *context, int given)
{
    static const char text[] = "memory volume | box radius=1 | save name=x";
    static float values[8];
    const struct ts_array in = {.size = sizeof in,
                                .data = values,
                                .dtype = TS_F32,
                                .rank = 3,
                                .n = {2, 2, 2},
                                .cuda_device = -1};
    struct ts_chain *chain = NULL;
    struct ts_plan *plan = NULL;
    struct ts_options options = TS_OPTIONS_DEFAULT;
    options.device = "cpu";
    options.threads = given;
    cr_assert_eq(ts_context_parse(context, text, sizeof text - 1, NULL, NULL, &chain, diag), TS_OK);
    cr_assert_eq(ts_chain_set_array(chain, "volume", &in, NULL, diag), TS_OK);
    if (ts_plan_create(chain, &options, &plan, diag) != TS_OK) {
        ts_chain_destroy(chain);
        return -1;
    }
    const int threads = plan->threads;
    ts_plan_destroy(plan);
    ts_chain_destroy(chain);
    return threads;
}

Test(context, threads_are_those_of_the_context_unless_a_plan_says)
{
    struct ts_context *three = create(NULL, 3), *none = create(NULL, 0),
                      *many = create(NULL, INT64_MAX);
    const int processors = threads_of(NULL, 0);
    cr_assert_eq(threads_of(three, 0), 3);
    cr_assert_eq(threads_of(three, 2), 2);
    cr_assert_eq(threads_of(none, 0), processors);
    cr_assert_eq(threads_of(NULL, 5), 5);
    cr_assert_eq(threads_of(many, 0), -1);
    cr_assert_not_null(ts_test_record(diag, "threads"));
    ts_context_destroy(many);
    ts_context_destroy(none);
    ts_context_destroy(three);
}

/* A caller that was compiled with fewer settings has the defaults of the others. */
Test(context, settings_that_a_caller_does_not_know_have_their_defaults)
{
    struct ts_context *context = NULL;
    const struct ts_settings settings = {.size = offsetof(struct ts_settings, threads),
                                         .threads = 3};
    cr_assert_eq(ts_context_create(&settings, &context, diag), TS_OK);
    cr_assert_eq(threads_of(context, 0), threads_of(NULL, 0));
    ts_context_destroy(context);
    cr_assert_eq(ts_context_create(NULL, &context, diag), TS_OK);
    cr_assert_eq(threads_of(context, 0), threads_of(NULL, 0));
    ts_context_destroy(context);
    ts_context_destroy(NULL);
}

/* A chain file belongs to the context as a text does: the threads, and the stages that it may name,
 * are those of the context, and paths are relative to the file. */
Test(context, a_chain_is_loaded_from_a_file)
{
    static const char text[] = "tomostage: 2\ninput: {result: kept.h5}\n"
                               "stages: [box: {radius: 1}]\noutput: {hdf5: out.h5}\n";
    struct ts_context *three = create(NULL, 3);
    struct ts_chain *chain = NULL;
    struct ts_plan *plan = NULL;
    struct ts_options options = TS_OPTIONS_DEFAULT;
    options.device = "cpu";
    char path[400];
    uint64_t hash;
    write_study("study");
    cr_assert_eq(run(three, "dicom study | hdf5 kept.h5", NULL, &hash, diag), TS_OK);
    snprintf(path, sizeof path, "%s/chain.yaml", ts_scan_file.folder);
    FILE *file = fopen(path, "w");
    cr_assert(file && fputs(text, file) >= 0 && fclose(file) == 0);
    cr_assert_eq(ts_context_load_chain(three, path, &chain, diag), TS_OK);
    cr_assert_eq(ts_plan_create(chain, &options, &plan, diag), TS_OK);
    cr_assert_eq(plan->threads, 3);
    cr_assert_eq(ts_plan_run(plan, diag), TS_OK);
    ts_plan_destroy(plan);
    ts_chain_destroy(chain);
    snprintf(path, sizeof path, "%s/none.yaml", ts_scan_file.folder);
    cr_assert_eq(ts_context_load_chain(three, path, &chain, diag), TS_BAD_CHAIN);
    cr_assert_null(chain);
    cr_assert_not_null(ts_test_record(diag, "chain-unreadable"));
    ts_context_destroy(three);
}

/* ---- side by side ---------------------------------------------------------------------------- */

struct worker_thread {
    pthread_t thread;
    struct ts_context *context;
    const char *text;
    uint64_t expected;
    enum ts_status status; /* what each run has to end with */
    int wrong;
};

static void *work(void *data)
{
    struct worker_thread *worker = data;
    for (int round = 0; round < 4; round++) {
        struct ts_diag *own = ts_diag_create();
        uint64_t hash;
        const enum ts_status status = run(worker->context, worker->text, NULL, &hash, own);
        worker->wrong += status != worker->status || (status == TS_OK && hash != worker->expected);
        if (status != worker->status)
            ts_diag_print(own, stderr);
        ts_diag_destroy(own);
    }
    return NULL;
}

/* Two contexts that can read and one that cannot, each with two threads. */
Test(context, several_are_at_work_at_once)
{
    enum { THREADS = 6 };
    char texts[INPUTS][512];
    struct worker_thread workers[THREADS];
    struct ts_context *contexts[] = {create(NULL, 1), create("/nowhere/sandbox", 1),
                                     create(NULL, 2)};
    write_inputs(texts);
    for (int t = 0; t < THREADS; t++) {
        const char *text = texts[t * 5 % (INPUTS - 1)];
        workers[t] = (struct worker_thread){
            .context = contexts[t % 3], .text = text, .status = t % 3 == 1 ? TS_RUN_FAILED : TS_OK};
        cr_assert_eq(run(NULL, text, NULL, &workers[t].expected, diag), TS_OK, "%s", text);
    }
    for (int t = 0; t < THREADS; t++)
        cr_assert_eq(pthread_create(&workers[t].thread, NULL, work, &workers[t]), 0);
    for (int t = 0; t < THREADS; t++) {
        pthread_join(workers[t].thread, NULL);
        cr_assert_eq(workers[t].wrong, 0, "thread %d: %s", t, workers[t].text);
    }
    for (int i = 0; i < 3; i++)
        ts_context_destroy(contexts[i]);
}

/* ---- Ctrl-C ---------------------------------------------------------------------------------- */

static struct ts_run *interrupted;
static volatile sig_atomic_t n_interrupts;

static void on_interrupt(int number)
{
    (void)number;
    ts_run_stop(interrupted);
    n_interrupts++;
}

/* Sends the signal to all processes of this one's group, as a terminal does. */
static void *interrupt(void *after_us)
{
    usleep(*(const useconds_t *)after_us);
    kill(0, SIGINT);
    return NULL;
}

/* A program's handler of the signal stops the run. The sandboxed processes get the signal too, and
 * go on. */
Test(context, ctrl_c_stops_a_run_and_nothing_else)
{
    enum { TRIALS = 12 };
    struct ts_chain *chain = NULL;
    struct ts_plan *plan = NULL;
    struct ts_options options = TS_OPTIONS_DEFAULT;
    uint64_t expected, hash = 0;
    static const char text[] = "dicom study | box radius=1";
    options.device = "cpu";
    write_study("study");
    cr_assert_eq(run(NULL, text, NULL, &expected, diag), TS_OK);
    cr_assert(getpgrp() == getpid() || setpgid(0, 0) == 0);
    signal(SIGINT, on_interrupt);
    struct ts_context *context = create(NULL, 0);
    cr_assert_eq(
        ts_context_parse(context, text, strlen(text), "test", ts_scan_file.folder, &chain, diag),
        TS_OK);
    cr_assert_eq(ts_plan_create(chain, &options, &plan, diag), TS_OK);
    cr_assert_eq(ts_run_create(plan, &interrupted, diag), TS_OK);
    cr_assert_eq(ts_run_set_take(interrupted, "data", take, &hash, diag), TS_OK);
    for (int trial = 0; trial < TRIALS; trial++) {
        useconds_t after_us = (useconds_t)(trial * 1000);
        pthread_t thread;
        cr_assert_eq(pthread_create(&thread, NULL, interrupt, &after_us), 0);
        while (trial == 0 && n_interrupts == 0) /* the first comes before its run */
            usleep(1000);
        const enum ts_status status = ts_run_execute(interrupted, diag);
        pthread_join(thread, NULL);
        cr_assert(status == TS_STOPPED || (trial > 0 && status == TS_OK), "%s",
                  ts_test_errors(diag));
        ts_diag_clear(diag);
    }
    (void)ts_run_execute(interrupted, diag); /* the last signal may have come after its run */
    hash = 0;
    ts_diag_clear(diag);
    cr_assert_eq(ts_run_execute(interrupted, diag), TS_OK, "%s", ts_test_errors(diag));
    cr_assert_eq(hash, expected);
    ts_run_destroy(interrupted);
    ts_plan_destroy(plan);
    ts_chain_destroy(chain);
    ts_context_destroy(context);
    signal(SIGINT, SIG_DFL);
}

struct storm {
    pthread_t thread, target;
    atomic_bool over;
};

static void *storm(void *data)
{
    struct storm *storm = data;
    while (!atomic_load(&storm->over)) {
        pthread_kill(storm->target, SIGUSR1);
        usleep(50);
    }
    return NULL;
}

static void ignore(int number)
{
    (void)number;
}

/* A program may have timers and the like, whose signals interrupt system calls. */
Test(context, signals_of_the_program_disturb_nothing)
{
    static char texts[INPUTS][512];
    uint64_t expected[INPUTS], hash;
    struct storm at_work = {.target = pthread_self()};
    const struct sigaction interrupts = {.sa_handler = ignore}; /* calls are not restarted */
    write_inputs(texts);
    snprintf(texts[INPUTS - 1], 512,
             "dicom study | box radius=1 | hdf5 again.h5 | nifti again.nii.gz");
    for (int i = 0; i < INPUTS; i++)
        cr_assert_eq(run(NULL, texts[i], NULL, &expected[i], diag), TS_OK, "%s: %s", texts[i],
                     ts_test_errors(diag));
    cr_assert_eq(sigaction(SIGUSR1, &interrupts, NULL), 0);
    cr_assert_eq(pthread_create(&at_work.thread, NULL, storm, &at_work), 0);
    for (int i = 0; i < 3 * INPUTS; i++) {
        struct ts_context *context = create(NULL, 0);
        cr_assert_eq(run(context, texts[i % INPUTS], NULL, &hash, diag), TS_OK, "%s: %s",
                     texts[i % INPUTS], ts_test_errors(diag));
        cr_assert_eq(hash, expected[i % INPUTS], "%s", texts[i % INPUTS]);
        ts_context_destroy(context);
    }
    atomic_store(&at_work.over, true);
    pthread_join(at_work.thread, NULL);
}

/* ---- the process ----------------------------------------------------------------------------- */

struct process {
    struct sigaction actions[NSIG];
    sigset_t mask;
    mode_t file_mode;
    char folder[PATH_MAX], locale[64], environment[1 << 16];
};

static void look_at_process(struct process *now)
{
    size_t used = 0;
    memset(now, 0, sizeof *now);
    for (int i = 1; i < NSIG; i++)
        (void)sigaction(i, NULL, &now->actions[i]);
    pthread_sigmask(SIG_SETMASK, NULL, &now->mask);
    now->file_mode = umask(022);
    umask(now->file_mode);
    cr_assert_not_null(getcwd(now->folder, sizeof now->folder));
    snprintf(now->locale, sizeof now->locale, "%s", setlocale(LC_ALL, NULL));
    for (char **at = environ; *at && used < sizeof now->environment; at++)
        used +=
            (size_t)snprintf(now->environment + used, sizeof now->environment - used, "%s\n", *at);
}

Test(context, the_process_is_left_as_it_was)
{
    static struct process before, after;
    static char texts[INPUTS][512];
    uint64_t hash;
    write_inputs(texts);
    look_at_process(&before);
    struct ts_context *context = create(NULL, 0);
    for (int i = 0; i < INPUTS - 1; i++)
        cr_assert_eq(run(context, texts[i], NULL, &hash, diag), TS_OK);
    ts_context_destroy(context);
    look_at_process(&after);
    cr_assert_str_eq(before.environment, after.environment);
    cr_assert_str_eq(before.locale, after.locale);
    cr_assert_str_eq(before.folder, after.folder);
    cr_assert_eq(before.file_mode, after.file_mode);
    for (int i = 1; i < NSIG; i++) {
        cr_assert_eq(before.actions[i].sa_handler, after.actions[i].sa_handler, "signal %d", i);
        cr_assert_eq(before.actions[i].sa_flags, after.actions[i].sa_flags, "signal %d", i);
        cr_assert_eq(sigismember(&before.mask, i), sigismember(&after.mask, i), "signal %d", i);
    }
}
