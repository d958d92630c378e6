/* SPDX-License-Identifier: Apache-2.0
 *
 * Hostile frames straight into DCMTK and OpenJPEG, past the checks that keep them from these: a
 * worker may fail or die, within its memory and time; the program must not notice more than an
 * answer or a loss.
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
#include "io/dicom_frames/dicom_jpeg_2000.h"
#include "io/sandbox/workers.h"
#include "tests/support/support.h"

enum {
    FILES_MAX = 512,
    FRAME_BYTES = 1 << 20,
    FILE_BYTES = 32 << 20,
    ADDRESS_BYTES = 256 << 20,
    DAMAGES = 3
};

struct hostile {
    char path[FILES_MAX][512];
    size_t n;
};

struct answer {
    struct worker_verdict verdict; /* first */
    int32_t failed;
    char text[200];
};

static bool prepare(const void *setup, size_t bytes, char *error, size_t error_bytes)
{
    (void)setup;
    (void)bytes;
    ts_dicom_jpeg_2000_prepare();
    return ts_dicom_decode_init(error, error_bytes) == 0;
}

static void *begin(const void *setup, void *memory)
{
    (void)setup;
    (void)memory;
    return malloc(FILE_BYTES);
}

/* Hands the frame to the decoder of each syntax, with sizes that fit the sets' own images, and
 * others. */
static bool decode_all(const unsigned char *frame, size_t bytes, struct answer *answer)
{
    static unsigned char cells[FRAME_BYTES];
    static const struct {
        int rows, columns, precision;
    } sizes[] = {{512, 512, 16},  {512, 512, 12}, {512, 512, 8},
                 {1024, 256, 12}, {64, 64, 16},   {7, 11, 8}};
    bool decoded = false;
    for (int syntax = DICOM_JPEG_2000; syntax < DICOM_OTHER; syntax++)
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            const int precision = sizes[i].precision, allocated = precision > 8 ? 16 : 8;
            const struct dicom_frame_form form = {(enum dicom_syntax)syntax,
                                                  sizes[i].rows,
                                                  sizes[i].columns,
                                                  1,
                                                  allocated,
                                                  precision};
            struct dicom_codestream stream = {.precision = precision};
            const size_t n = (size_t)form.rows * (size_t)form.columns * (size_t)allocated / 8;
            const bool good =
                syntax == DICOM_JPEG_2000
                    ? ts_dicom_jpeg_2000_decode(&form, &stream, true, frame, bytes, cells,
                                                answer->text, sizeof answer->text)
                    : ts_dicom_decode_frame(&form, precision, frame, bytes, cells, n, answer->text,
                                            sizeof answer->text) == 0;
            decoded = decoded || good;
        }
    return decoded;
}

/* The frame is what follows the last start of a codestream in the file, or the whole file: as it
 * is, and damaged. */
static void work(void *state, const void *job, int fd, void *reply)
{
    struct answer *answer = reply;
    unsigned char *data = state;
    const ssize_t bytes = pread(fd, data, FILE_BYTES, 0);
    close(fd);
    uint64_t seed = 7;
    size_t start = 0, n = bytes > 0 ? (size_t)bytes : 0;
    (void)job;
    for (size_t i = 0; i + 4 <= n; i++)
        if (memcmp(data + i, "\xFF\xD8\xFF", 3) == 0 ||
            memcmp(data + i, "\xFF\x4F\xFF\x51", 4) == 0)
            start = i;
    answer->failed = true;
    snprintf(answer->text, sizeof answer->text, "the file cannot be read");
    for (int damage = 0; n > 0 && damage < DAMAGES; damage++) {
        if (decode_all(data + start, n - start, answer))
            answer->failed = false;
        for (int i = 0; i < 4; i++)
            data[start + ts_random_next(&seed) % (n - start)] =
                (unsigned char)ts_random_next(&seed);
    }
}

static void list_files(struct hostile *hostile, const char *folder)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%s", ts_test_data(), folder);
    DIR *directory = opendir(path);
    cr_assert_not_null(directory, "%s", path);
    for (const struct dirent *entry = readdir(directory); entry != NULL; entry = readdir(directory))
        if (entry->d_name[0] != '.' && hostile->n < FILES_MAX)
            snprintf(hostile->path[hostile->n++], sizeof hostile->path[0], "%s/%.100s", path,
                     entry->d_name);
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

static void check_file(const struct worker_setup *setup, const struct hostile *hostile,
                       struct worker_pool **pool, size_t file, size_t *failed, size_t *lost)
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
    case WORKER_RETURNED:
    case WORKER_KILLED:
    case WORKER_LOST:
        fprintf(stderr, "dicom_hostile: %s: the worker %s\n", strrchr(hostile->path[file], '/'),
                what);
        ts_workers_destroy(*pool);
        *pool = NULL;
        ++*lost;
        break;
    case WORKER_IDLE:
        cr_assert_fail("the answer is missing");
    }
    cr_assert_lt(ts_monotonic_ns() - started, INT64_C(15000000000));
}

Test(dicom_hostile, frames_past_the_checks, .timeout = 900)
{
    cr_assert(ts_sandbox_begin()); /* which knows the kind of this file */
    SKIP_WITHOUT_DATA("dicom_hostile/frames_past_the_checks");
    static struct hostile hostile;
    size_t failed = 0, lost = 0;
    struct worker_pool *pool = NULL;
    struct rusage usage;
    const struct worker_setup setup = {
        .kind = &decoder, .n_workers = 1, .address_bytes = ADDRESS_BYTES, .job_seconds = 10};
    list_files(&hostile, "corrupt/synthetic");
    list_files(&hostile, "syntax/ct_all_syntaxes");
    cr_assert_geq(hostile.n, 120);
    for (size_t i = 0; i < hostile.n; i++)
        check_file(&setup, &hostile, &pool, i, &failed, &lost);
    ts_workers_destroy(pool);
    getrusage(RUSAGE_CHILDREN, &usage);
    fprintf(stderr,
            "dicom_hostile: %zu files: %zu refused by the decoders, %zu workers lost, at most %ld "
            "MiB\n",
            hostile.n, failed, lost, usage.ru_maxrss >> 10);
    cr_assert_gt(failed, 30);
    cr_assert_lt(failed + lost, hostile.n);
#ifndef TS_SANITIZED
    cr_assert_lt(usage.ru_maxrss >> 10, (ADDRESS_BYTES >> 20) + 64);
#endif
}
