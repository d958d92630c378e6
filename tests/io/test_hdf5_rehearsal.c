/* SPDX-License-Identifier: Apache-2.0
 *
 * Damaged files that libhdf5 crashes on, runs out of memory on or never ends with: the file is refused, and the process
 * that asked lives on.
 */
#include <criterion/criterion.h>
#include <hdf5.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "io/exchange.h"
#include "io/hdf5_error.h"
#include "io/hdf5_read.h"
#include "io/hdf5_rehearsal.h"
#include "tests/support/dicom_open.h"
#include "tests/support/scan_file.h"
#include "tests/support/support.h"

TestSuite(hdf5_rehearsal, .init = ts_scan_file_begin, .fini = ts_scan_file_end);

#ifndef TS_SANITIZED /* which take the signal */
static enum ts_status crash(void *user, FILE *out, struct ts_diag *diag)
{
    (void)user, (void)out, (void)diag;
    raise(SIGSEGV);
    return TS_OK;
}
#endif

static enum ts_status loop(void *user, FILE *out, struct ts_diag *diag)
{
    (void)user, (void)out, (void)diag;
    for (volatile uint64_t i = 0;; i++)
        ;
    return TS_OK;
}

static enum ts_status vanish(void *user, FILE *out, struct ts_diag *diag)
{
    (void)user, (void)out, (void)diag;
    _exit(0);
}

static enum ts_status fail_unseen(void *user, FILE *out, struct ts_diag *diag)
{
    struct hdf5_visit visit;
    (void)user, (void)out, (void)diag;
    ts_hdf5_enter(&visit);
    (void)H5Dget_type(-1);
    ts_hdf5_leave(&visit);
    return TS_OK;
}

static enum ts_status say(void *user, FILE *out, struct ts_diag *diag)
{
    fputs("printed", out);
    ts_diag_note(diag, &(struct diag_site){.code = "one"}, "a note");
    if (!user)
        return TS_OK;
    ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "two", .span = {3, 4, 5}, .stage = "input"}, "wrong");
    ts_diag_hint(diag, "a hint");
    return TS_BAD_INPUT;
}

static void check_lost(enum ts_status (*work)(void *, FILE *, struct ts_diag *), const char *words)
{
    const struct hdf5_rehearsal rehearsal = {.path = "a.h5", .work = work};
    ts_diag_clear(ts_scan_file.diag);
    cr_assert_eq(ts_hdf5_rehearse(&rehearsal, ts_scan_file.diag), TS_BAD_INPUT);
    ts_test_expect(ts_scan_file.diag, "hdf5-damaged", words);
}

Test(hdf5_rehearsal, ways_to_end)
{
#ifndef TS_SANITIZED
    check_lost(crash, "a.h5: the file is damaged: libhdf5 crashed on it (Segmentation fault)");
#endif
    check_lost(loop, "a.h5: the file is damaged: it took longer than 2 s");
    check_lost(vanish, "a.h5: the file is damaged: the process that tried to read it gave no answer");
    check_lost(fail_unseen, "a.h5: a part of the file cannot be read: ");
}

Test(hdf5_rehearsal, records_and_text_come_back)
{
    struct ts_diag *diag = ts_scan_file.diag;
    struct hdf5_rehearsal rehearsal = {.path = "a.h5", .work = say};
    char *text = NULL;
    size_t bytes = 0;
    cr_assert_eq(ts_hdf5_rehearse(&rehearsal, diag), TS_OK);
    cr_assert_eq(ts_diag_count(diag), 0, "what went well is said when it is done");
    rehearsal.user = diag;
    cr_assert_eq(ts_hdf5_rehearse(&rehearsal, diag), TS_BAD_INPUT);
    cr_assert_eq(ts_diag_count(diag), 2);
    const struct ts_diag_record *record = ts_diag_get(diag, 1);
    cr_assert_str_eq(record->code, "two");
    cr_assert_str_eq(record->stage, "input");
    cr_assert_str_eq(record->message, "wrong");
    cr_assert_str_eq(record->hint, "a hint");
    cr_assert(record->span.line == 3 && record->span.column == 4 && record->span.length == 5);
    ts_diag_clear(diag);
    rehearsal.user = NULL;
    FILE *out = open_memstream(&text, &bytes);
    cr_assert_eq(ts_hdf5_delegate(&rehearsal, out, diag), TS_OK);
    fclose(out);
    cr_assert_str_eq(text, "printed");
    cr_assert_eq(ts_diag_count(diag), 1);
    free(text);
}

/* A text in a global heap, as h5py writes every text. */
static void put_variable(hid_t object, const char *name, const char *text)
{
    const hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    cr_assert(H5Tset_size(type, H5T_VARIABLE) >= 0);
    const hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    cr_assert(H5Awrite(attribute, type, &text) >= 0);
    H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(type);
}

/* Data Exchange whose units of theta are such a text. */
static void make_exchange(void)
{
    static const double theta[SCAN_FRAMES] = {0, 10, 20, 30, 40, 50, 60};
    const hid_t file = ts_scan_file_exchange(NULL, SCAN_FRAMES, theta);
    const hid_t dataset = H5Dopen2(file, "/exchange/theta", H5P_DEFAULT);
    put_variable(dataset, "units", "degree");
    H5Dclose(dataset);
    cr_assert(H5Fclose(file) >= 0);
}

/* Writes `bytes` at `offset` from the first global heap collection of the file: signature, version, three bytes, size
 * (8 bytes); then objects of index (2), references (2), four bytes, size (8), data. */
static void damage_heap(long offset, const void *bytes, size_t n)
{
    static char content[1 << 20];
    FILE *file = fopen(ts_scan_file.path, "r+b");
    const size_t length = fread(content, 1, sizeof content, file);
    const char *heap = memmem(content, length, "GCOL", 4);
    cr_assert_not_null(heap);
    fseek(file, heap - content + offset, SEEK_SET);
    fwrite(bytes, 1, n, file);
    fclose(file);
}

static enum ts_status open_exchange(void)
{
    struct exchange_params values = {0};
    struct param_set set = {
        .rows = exchange_format.params, .n_rows = exchange_format.n_params, .values = &values, .owner = "input"};
    struct source *source = NULL;
    ts_params_init(&set);
    values.exchange = ts_scan_file.path;
    ts_diag_clear(ts_scan_file.diag);
    const enum ts_status status = exchange_format.open(&set, &source, ts_scan_file.diag);
    if (source)
        source->ops->close(source);
    return status;
}

#ifndef TS_SANITIZED /* under which no limit of addresses holds */
static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static long children_kb(void)
{
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    return usage.ru_maxrss;
}

/* Of an object that claims more than the collection holds the library crashes, takes what it claims or goes in
 * circles, by the number. */
Test(hdf5_rehearsal, heaps_that_lie_are_refused)
{
    static const struct {
        long offset;
        uint64_t value;
        size_t bytes;
    } lies[] = {
        {8, 1, 8},
        {8, UINT64_C(1) << 40, 8},
        {24, UINT64_C(1) << 31, 8},
        {24, UINT64_C(1) << 62, 8},
        {24, UINT64_MAX, 8},
        {24, UINT64_MAX - 15, 8},
        {16, 0xFFFF, 2},
        {40, UINT64_MAX, 8},
    };
    FILE *nothing = fopen("/dev/null", "w");
    make_exchange();
    cr_assert_eq(open_exchange(), TS_OK);
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        make_exchange();
        damage_heap(lies[i].offset, &lies[i].value, lies[i].bytes);
        const double start = now();
        const enum ts_status status = open_exchange();
        cr_assert(status == TS_OK || status == TS_BAD_INPUT, "lie %zu: %d", i, (int)status);
        ts_diag_clear(ts_scan_file.diag);
        (void)ts_hdf5_info(ts_scan_file.path, false, nothing, ts_scan_file.diag);
        (void)ts_hdf5_verify(ts_scan_file.path, ts_scan_file.diag);
        cr_assert_lt(now() - start, 60, "lie %zu took %g s", i, now() - start);
    }
    cr_assert_lt(children_kb(), 400000, "the largest child took %ld kB", children_kb());
    fclose(nothing);
}
#endif

Test(hdf5_rehearsal, text_that_cannot_be_read_is_said_to_be_so)
{
    make_exchange();
    damage_heap(0, "X", 1);
    cr_assert_eq(open_exchange(), TS_BAD_INPUT);
    ts_test_expect(ts_scan_file.diag, "hdf5-text", "the text /exchange/theta@units cannot be read: ");
}

/* ---- with other threads at work ----------------------------------------------------------------- */

static atomic_bool stop;

static void *use_library(void *unused)
{
    struct hdf5_visit visit;
    (void)unused;
    while (!atomic_load(&stop)) {
        ts_hdf5_enter(&visit);
        H5Sclose(H5Screate(H5S_SCALAR));
        free(malloc(1000));
        ts_hdf5_leave(&visit);
    }
    return NULL;
}

Test(hdf5_rehearsal, forks_while_other_threads_are_in_the_library)
{
    pthread_t threads[3];
    make_exchange();
    for (int i = 0; i < 3; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, use_library, NULL), 0);
    for (int i = 0; i < 20; i++)
        cr_assert_eq(open_exchange(), TS_OK);
    atomic_store(&stop, true);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
}
