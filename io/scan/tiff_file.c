/* SPDX-License-Identifier: Apache-2.0
 *
 * Files are opened here, because a worker can open nothing; the descriptor goes with every job.
 */
#include "io/scan/tiff_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/file/file_bytes.h"
#include "io/file/regular_file.h"

/* JOB_SECONDS is for a piece of a page, or for a strip of the largest size from a slow disk.
   WORKER_BYTES is what libtiff may take beside one strip, mostly for the arrays of the places of
   strips. */
enum { JOB_SECONDS = 30, WORKER_BYTES = 256 << 20 };

enum ts_status ts_tiff_refuse(const struct tiff_pages *pages, int64_t file, int32_t number,
                              const char *code, struct ts_diag *diag, const char *format, ...)
{
    char text[3 * TIFF_TEXT_BYTES], page[32] = "";
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (number > 0)
        snprintf(page, sizeof page, ", page %d", (int)number);
    return ts_diag_error(diag, TS_BAD_INPUT, TIFF_SITE(pages, code), "%s%s: %s",
                         pages->files[file].path, page, text);
}

enum ts_status ts_tiff_report(const struct tiff_pages *pages, const struct tiff_reply *reply,
                              struct ts_diag *diag)
{
    if (reply->verdict.status == TS_RUN_FAILED) {
        ts_diag_error(diag, TS_RUN_FAILED, TIFF_SITE(pages, reply->verdict.code), "%s: %s",
                      pages->files[pages->open].path, reply->verdict.text);
        return ts_diag_hint(diag, CHILD_KILLED_HINT);
    }
    ts_tiff_refuse(pages, pages->open, reply->number, reply->verdict.code, diag, "%s",
                   reply->verdict.text);
    return strcmp(reply->verdict.code, "tiff-unreadable") == 0
               ? ts_diag_hint(diag, TIFF_UNREADABLE_HINT)
               : TS_BAD_INPUT;
}

void ts_tiff_close_file(struct tiff_pages *pages)
{
    if (pages->fd >= 0)
        close(pages->fd);
    pages->fd = -1;
}

static enum ts_status recheck(const struct tiff_pages *pages, const struct tiff_file *file, int fd,
                              struct ts_diag *diag)
{
    const struct diag_site site = {.span = pages->span, .stage = pages->owner};
    return ts_regular_file_recheck(file->path, fd, &file->found, site, diag);
}

enum ts_status ts_tiff_check_unchanged(const struct tiff_pages *pages, struct ts_diag *diag)
{
    for (int64_t i = 0; i < pages->n_files; i++) {
        const enum ts_status status = recheck(pages, &pages->files[i], -1, diag);
        if (status != TS_OK)
            return status;
    }
    return TS_OK;
}

enum ts_status ts_tiff_open(struct tiff_pages *pages, int64_t i, bool known, struct ts_diag *diag)
{
    struct tiff_file *file = &pages->files[i];
    struct stat now;
    if (pages->fd >= 0 && pages->open == i)
        return TS_OK;
    ts_tiff_close_file(pages);
    errno = 0;
    const int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &now) != 0 || !S_ISREG(now.st_mode)) {
        ts_diag_error(diag, TS_BAD_INPUT, TIFF_SITE(pages, "input-unreadable"),
                      "cannot read %s: %s", file->path,
                      errno ? ts_errno_text(errno) : "it is not a file");
        ts_diag_hint(diag, TIFF_UNREADABLE_HINT);
        if (fd >= 0)
            close(fd);
        return TS_BAD_INPUT;
    }
    if (!known)
        file->found = now;
    if (recheck(pages, file, fd, diag) != TS_OK) {
        close(fd);
        return TS_BAD_INPUT;
    }
    pages->fd = fd;
    pages->open = i;
    return TS_OK;
}

/* ---- the worker ------------------------------------------------------------------------------ */

void ts_tiff_end_worker(struct tiff_pages *pages)
{
    ts_workers_destroy(pages->worker);
    pages->worker = NULL;
}

const void *ts_tiff_answer(const struct tiff_pages *pages)
{
    return ts_workers_memory(pages->worker, 0);
}

static enum ts_status start_worker(struct tiff_pages *pages, struct ts_diag *diag)
{
    const size_t list = TIFF_LIST_PAGES * sizeof(struct tiff_page),
                 bytes = list > pages->piece_bytes ? list : pages->piece_bytes;
    const struct worker_setup setup = {
        .kind = &ts_tiff_worker,
        .sandbox = pages->sandbox,
        .n_workers = 1,
        .memory_bytes = bytes,
        .address_bytes = WORKER_BYTES + TIFF_MAX_BLOCK + 2 * pages->block_bytes,
        .job_seconds = pages->job_seconds ? pages->job_seconds : JOB_SECONDS,
        .setup = &bytes,
        .setup_bytes = sizeof bytes};
    return ts_workers_create(&setup, &pages->worker, diag);
}

/* `blamed`: the worker died of the job, so the file is to blame. */
static enum ts_status report_loss(struct tiff_pages *pages, const struct tiff_job *job, bool blamed,
                                  const char *what, struct ts_diag *diag)
{
    ts_tiff_end_worker(pages);
    if (!blamed)
        return ts_diag_error(diag, TS_RUN_FAILED, TIFF_SITE(pages, "decoder-died"),
                             "%s: the process that reads it %s", pages->files[pages->open].path,
                             what);
    ts_tiff_refuse(pages, pages->open, job->decode ? job->page.number : 0, "decoder-died", diag,
                   "the process that read it %s", what);
    return ts_diag_hint(diag, TIFF_UNREADABLE_HINT);
}

static enum ts_status report_kill(struct tiff_pages *pages, const char *what, struct ts_diag *diag)
{
    ts_tiff_end_worker(pages);
    ts_diag_error(diag, TS_RUN_FAILED, TIFF_SITE(pages, "decoder-killed"),
                  "%s: the process that reads it %s, and so was the one in its place",
                  pages->files[pages->open].path, what);
    return ts_diag_hint(diag, CHILD_KILLED_HINT);
}

enum ts_status ts_tiff_ask(struct tiff_pages *pages, struct tiff_job *job, struct tiff_reply *reply,
                           struct ts_diag *diag)
{
    char what[WORKER_TEXT_MAX];
    uint64_t number;
    enum ts_status status = pages->worker ? TS_OK : start_worker(pages, diag);
    if (status != TS_OK)
        return status;
    job->file = (int32_t)pages->open;
    *reply = (struct tiff_reply){0};
    switch (ts_worker_ask(pages->worker, job, pages->fd, &number, reply, what)) {
    case WORKER_LOST:
        return report_loss(pages, job, number != UINT64_MAX, what, diag);
    case WORKER_KILLED:
        return report_kill(pages, what, diag);
    case WORKER_RETURNED:
    case WORKER_IDLE:
        return ts_diag_error(diag, TS_RUN_FAILED, TIFF_SITE(pages, "decoder-confused"),
                             "no process reads the file that is waited for");
    case WORKER_REPLIED:
        break;
    }
    reply->warning[sizeof reply->warning - 1] = '\0';
    if (pages->n_warnings == 0)
        memcpy(pages->warning, reply->warning, sizeof pages->warning);
    pages->n_warnings +=
        reply->n_warnings > 0 && reply->n_warnings < INT32_MAX ? reply->n_warnings : 0;
    return TS_OK;
}
