/* SPDX-License-Identifier: Apache-2.0
 *
 * Hostile files straight into DCMTK, past the scan that keeps them from it: a worker may fail or die, within its memory
 * and time; the program must not notice more than an answer or a loss.
 */
#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "io/dicom_frames/dicom_decode.h"
#include "io/sandbox/workers.h"
#include "tests/files/dicom_fixture.h"
#include "tests/support/support.h"

enum { FILES_MAX = 512, FRAME_BYTES = 1 << 20, FILE_BYTES = 32 << 20, ADDRESS_BYTES = 256 << 20 };

struct hostile {
    char path[FILES_MAX][512];
    size_t n;
};

struct answer {
    int32_t failed;
    char text[200];
};

static bool prepare(const void *setup, size_t bytes, char *error, size_t error_bytes)
{
    (void)setup;
    (void)bytes;
    return ts_dicom_decode_init(error, error_bytes) == 0;
}

static void *begin(const void *setup, void *memory)
{
    (void)setup;
    (void)memory;
    return malloc(FILE_BYTES);
}

static void work(void *state, const void *job, int fd, void *reply)
{
    static unsigned char frame[FRAME_BYTES];
    struct answer *answer = reply;
    const ssize_t bytes = pread(fd, state, FILE_BYTES, 0);
    (void)job;
    /* Sizes that fit the sets' own images, one that fits none, and an odd one. */
    const size_t sizes[] = {128 * 128 * 2, 64 * 64 * 2, FRAME_BYTES, 77};
    answer->failed = true;
    snprintf(answer->text, sizeof answer->text, "the file cannot be read");
    for (size_t i = 0; bytes >= 0 && i < 4; i++)
        if (ts_dicom_decode_frame(state, (size_t)bytes, frame, sizes[i], answer->text, sizeof answer->text) == 0)
            answer->failed = false;
}

static void list_files(struct hostile *hostile, const char *folder)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%s", ts_test_data(), folder);
    DIR *directory = opendir(path);
    cr_assert_not_null(directory, "%s", path);
    for (const struct dirent *entry = readdir(directory); entry != NULL; entry = readdir(directory))
        if (entry->d_name[0] != '.' && hostile->n < FILES_MAX)
            snprintf(hostile->path[hostile->n++], sizeof hostile->path[0], "%s/%.100s", path, entry->d_name);
    closedir(directory);
}

static const struct worker_kind decoder = {.name = "tests",
                                           .job_bytes = 1,
                                           .reply_bytes = sizeof(struct answer),
                                           .prepare = prepare,
                                           .begin = begin,
                                           .work = work};

static void submit(struct worker_pool *pool, const struct hostile *hostile, size_t file)
{
    const int fd = open(hostile->path[file], O_RDONLY | O_CLOEXEC);
    cr_assert_geq(fd, 0);
    cr_assert(ts_workers_submit(pool, 0, file, "", fd));
    close(fd);
}

static void check_file(const struct worker_setup *setup, const struct hostile *hostile, struct worker_pool **pool,
                       size_t file, size_t *failed, size_t *lost)
{
    struct answer answer;
    char what[WORKER_TEXT_MAX];
    uint64_t job;
    struct ts_diag *diag = ts_diag_create();
    if (*pool == NULL)
        cr_assert_eq(ts_workers_create(setup, pool, diag), TS_OK);
    ts_diag_destroy(diag);
    submit(*pool, hostile, file);
    const int64_t started = ts_monotonic_ns();
    switch (ts_workers_wait(*pool, &job, &answer, what)) {
    case WORKER_REPLIED:
        cr_assert_eq(job, file);
        *failed += answer.failed != 0;
        cr_assert(!answer.failed || answer.text[0] != '\0');
        break;
    case WORKER_LOST:
        fprintf(stderr, "dicom_hostile: %s: the worker %s\n", strrchr(hostile->path[file], '/'), what);
        ts_workers_destroy(*pool);
        *pool = NULL;
        ++*lost;
        break;
    case WORKER_IDLE:
        cr_assert_fail("the answer is missing");
    }
    cr_assert_lt(ts_monotonic_ns() - started, INT64_C(15000000000));
}

Test(dicom_hostile, corrupt_files_past_the_scan, .timeout = 300)
{
    SKIP_WITHOUT_DATA("dicom_hostile/corrupt_files_past_the_scan");
    static struct hostile hostile;
    size_t failed = 0, lost = 0;
    struct worker_pool *pool = NULL;
    struct rusage usage;
    const struct worker_setup setup = {
        .kind = &decoder, .n_workers = 1, .address_bytes = ADDRESS_BYTES, .job_seconds = 10};
    list_files(&hostile, "corrupt/synthetic");
    cr_assert_geq(hostile.n, 97);
    for (size_t i = 0; i < hostile.n; i++)
        check_file(&setup, &hostile, &pool, i, &failed, &lost);
    ts_workers_destroy(pool);
    getrusage(RUSAGE_CHILDREN, &usage);
    fprintf(stderr, "dicom_hostile: %zu files: %zu refused by DCMTK, %zu workers lost, at most %ld MiB\n", hostile.n,
            failed, lost, usage.ru_maxrss >> 10);
    cr_assert_gt(failed, 30);
    cr_assert_lt(failed + lost, hostile.n);
#ifndef TS_SANITIZED
    cr_assert_lt(usage.ru_maxrss >> 10, (ADDRESS_BYTES >> 20) + 64);
#endif
}

/* Sequences in sequences, 30000 deep, which DCMTK reads by recursion: the worker's stack ends, and only that. */
Test(dicom_hostile, deep_nesting_kills_the_worker_alone, .timeout = 60)
{
    enum { LEVELS = 30000, LEVEL_BYTES = 20 };
    static const unsigned char level[LEVEL_BYTES] = {0x08, 0,    0x40, 0x11, 'S',  'Q',  0,    0,    0xFF, 0xFF,
                                                     0xFF, 0xFF, 0xFE, 0xFF, 0x00, 0xE0, 0xFF, 0xFF, 0xFF, 0xFF};
    static struct hostile hostile;
    struct dicom_fixture fixture;
    struct worker_pool *pool = NULL;
    struct answer answer;
    char folder[256], what[WORKER_TEXT_MAX] = "";
    uint64_t job;
    unsigned char *tail = malloc(LEVELS * LEVEL_BYTES);
    for (size_t i = 0; i < LEVELS; i++)
        memcpy(tail + i * LEVEL_BYTES, level, LEVEL_BYTES);
    ts_fixture_init(&fixture, 0);
    while (fixture.n > 2)
        ts_fixture_remove(&fixture, fixture.elements[fixture.n - 1].tag);
    fixture.tail = tail;
    fixture.tail_bytes = LEVELS * LEVEL_BYTES;
    ts_test_folder_in_memory(folder, sizeof folder);
    snprintf(hostile.path[0], sizeof hostile.path[0], "%s/deep.dcm", folder);
    ts_fixture_write(&fixture, hostile.path[0]);
    const struct worker_setup setup = {
        .kind = &decoder, .n_workers = 1, .address_bytes = ADDRESS_BYTES, .job_seconds = 20};
    struct ts_diag *diag = ts_diag_create();
    cr_assert_eq(ts_workers_create(&setup, &pool, diag), TS_OK);
    submit(pool, &hostile, 0);
    cr_assert_eq(ts_workers_wait(pool, &job, &answer, what), WORKER_LOST);
    cr_assert_eq(job, 0);
#ifndef TS_SANITIZED
    cr_assert_str_eq(what, "was killed by signal 11 (Segmentation fault)");
#endif
    ts_workers_destroy(pool);
    ts_diag_destroy(diag);
    ts_fixture_clear(&fixture);
    free(tail);
    ts_test_remove_folder(folder);
}
