/* SPDX-License-Identifier: Apache-2.0
 *
 * The worker's side of reading TIFF files. It keeps one file open from job to job, so that the pages of a long file are
 * found one after the other. libtiff reads through pread() alone, because the sandbox allows no other way, and without
 * memory mapping, because a file that is cut while it is read must be an error. Its messages are kept, never printed.
 */
#include "io/scan/tiff_library.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tiffio.h>
#include <unistd.h>

#include "io/file/file_bytes.h"
#include "io/scan/tiff_check.h"
#include "io/scan/tiff_text.h"

/* ---- the file, as libtiff sees it ---------------------------------------------------------------- */

static tmsize_t read_bytes(thandle_t data, void *out, tmsize_t bytes)
{
    struct tiff_library *library = data;
    const uint64_t left = library->at < library->bytes ? library->bytes - library->at : 0,
                   n = (uint64_t)bytes < left ? (uint64_t)bytes : left;
    if (bytes < 0 || !ts_file_read_at(library->fd, out, n, library->at))
        return -1;
    library->at += n;
    return (tmsize_t)n;
}

static tmsize_t write_nothing(thandle_t data, void *in, tmsize_t bytes)
{
    (void)data, (void)in, (void)bytes;
    return -1;
}

static toff_t seek(thandle_t data, toff_t offset, int whence)
{
    struct tiff_library *library = data;
    library->at = offset + (whence == SEEK_CUR ? library->at : whence == SEEK_END ? library->bytes : 0);
    return library->at;
}

static int close_nothing(thandle_t data)
{
    (void)data;
    return 0;
}

static toff_t count_bytes(thandle_t data)
{
    return ((struct tiff_library *)data)->bytes;
}

int ts_tiff_keep_error(TIFF *handle, void *text, const char *module, const char *format, va_list arguments)
{
    (void)handle;
    (void)module;
    vsnprintf(text, TIFF_TEXT_BYTES, format, arguments);
    return 1;
}

__attribute__((format(printf, 4, 0))) static int keep_warning(TIFF *handle, void *user, const char *module,
                                                              const char *format, va_list arguments)
{
    struct tiff_reply *reply = ((struct tiff_library *)user)->reply;
    (void)handle;
    (void)module;
    if (reply->n_warnings++ == 0)
        vsnprintf(reply->warning, sizeof reply->warning, format, arguments);
    return 1;
}

static void close_file(struct tiff_library *library)
{
    if (!library->handle)
        return;
    TIFFClose(library->handle);
    close(library->fd);
    library->handle = NULL;
}

void ts_tiff_library_close(struct tiff_library *library)
{
    close_file(library);
    free(library->tile);
}

static const char *reason(const struct tiff_library *library, const char *otherwise)
{
    return errno ? ts_errno_text(errno) : library->problem[0] ? library->problem : otherwise;
}

/* Opens the file of the job, unless it is open. libtiff then has read its first directory. */
static bool open_file(struct tiff_library *library, int32_t file, int fd)
{
    TIFFOpenOptions *options;
    if (library->handle && library->file == file) {
        close(fd);
        return true;
    }
    close_file(library);
    library->checked = 0;
    const off_t end = lseek(fd, 0, SEEK_END); /* glibc's fstat() is not allowed */
    if (end >= 0 && (options = TIFFOpenOptionsAlloc()) != NULL) {
        library->file = file;
        library->fd = fd;
        library->bytes = (uint64_t)end;
        library->at = 0;
        TIFFOpenOptionsSetMaxSingleMemAlloc(options, TIFF_MAX_BLOCK);
        TIFFOpenOptionsSetErrorHandlerExtR(options, ts_tiff_keep_error, library->problem);
        TIFFOpenOptionsSetWarningHandlerExtR(options, keep_warning, library);
        library->handle = TIFFClientOpenExt("the file", "rm", library, read_bytes, write_nothing, seek, close_nothing,
                                            count_bytes, NULL, NULL, options);
        TIFFOpenOptionsFree(options);
    }
    if (library->handle)
        return true;
    ts_tiff_library_refuse(library, "tiff-unreadable", "not a TIFF file that can be read: %s",
                           reason(library, "memory is out"));
    close(fd);
    return false;
}

/* ---- listing --------------------------------------------------------------------------------------- */

static bool go_to(struct tiff_library *library, uint64_t directory)
{
    return TIFFCurrentDirOffset(library->handle) == directory || TIFFSetSubDirectory(library->handle, directory) ||
           ts_tiff_library_refuse(library, "tiff-directory", "its directory cannot be read: %s",
                                  reason(library, "libtiff does not say why"));
}

/* Goes to the page after the one that was checked. *more: there is one. */
static bool go_on(struct tiff_library *library, bool *more)
{
    const int32_t number = library->page.number;
    const bool last = TIFFLastDirectory(library->handle);
    library->problem[0] = 0;
    errno = 0;
    *more = !last && TIFFReadDirectory(library->handle);
    if (*more == (library->next != 0))
        return true;
    library->page.number = 0;
    return ts_tiff_library_refuse(
        library, "tiff-directory", "the page after page %d cannot be read: %s", number,
        reason(library, last ? "libtiff could not read the pointer to it" : "its directory was read before"));
}

static void list_pages(struct tiff_library *library, const struct tiff_job *job, struct tiff_reply *reply)
{
    struct tiff_page *list = (struct tiff_page *)(void *)library->memory;
    int32_t number = job->page.number;
    bool more = true;
    library->page.number = number;
    if (number > 1 && !go_to(library, job->page.directory))
        return;
    for (; more && reply->n_pages < TIFF_LIST_PAGES; number++) {
        library->page.number = number;
        if (!ts_tiff_check(library))
            return;
        if (number == 1)
            ts_tiff_text(library->handle, &library->page);
        list[reply->n_pages++] = library->page;
        if (!go_on(library, &more))
            return;
    }
    reply->next = more ? TIFFCurrentDirOffset(library->handle) : 0;
}

/* ---- decoding -------------------------------------------------------------------------------------- */

static bool read_strips(struct tiff_library *library, uint32_t row, uint32_t n)
{
    const struct tiff_page *page = &library->page;
    const size_t row_bytes = page->width * ts_dtype_bytes((enum ts_dtype)page->dtype);
    for (uint32_t y = row; y < row + n; y += page->rows) {
        const uint32_t left = row + n - y;
        const tmsize_t bytes = (tmsize_t)((left < page->rows ? left : page->rows) * row_bytes);
        if (TIFFReadEncodedStrip(library->handle, y / page->rows, library->memory + (y - row) * row_bytes, bytes) !=
            bytes)
            return false;
    }
    return true;
}

static bool read_tiles(struct tiff_library *library, uint32_t row, uint32_t n)
{
    const struct tiff_page *page = &library->page;
    const size_t size = ts_dtype_bytes((enum ts_dtype)page->dtype), row_bytes = page->width * size;
    const tmsize_t bytes = (tmsize_t)page->block_bytes;
    uint32_t width = 0;
    TIFFGetField(library->handle, TIFFTAG_TILEWIDTH, &width);
    for (uint32_t y = row; y < row + n; y += page->rows)
        for (uint32_t x = 0; x < page->width; x += width) {
            const uint32_t rows = row + n - y < page->rows ? row + n - y : page->rows,
                           columns = page->width - x < width ? page->width - x : width;
            if (TIFFReadEncodedTile(library->handle, TIFFComputeTile(library->handle, x, y, 0, 0), library->tile,
                                    bytes) != bytes)
                return false;
            for (uint32_t i = 0; i < rows; i++)
                memcpy(library->memory + (y - row + i) * row_bytes + x * size, library->tile + (size_t)i * width * size,
                       columns * size);
        }
    return true;
}

/* The file may have been written to since its pages were listed, so what was checked is checked again. */
static bool find_page(struct tiff_library *library, const struct tiff_job *job)
{
    const struct tiff_page *known = &job->page, *page = &library->page;
    library->page.number = known->number;
    if (library->checked != known->directory) {
        library->checked = 0;
        if (!go_to(library, known->directory) || !ts_tiff_check(library))
            return false;
        library->checked = known->directory;
    }
    const size_t bytes = (size_t)job->n * page->width * ts_dtype_bytes((enum ts_dtype)page->dtype);
    if (page->width != known->width || page->height != known->height || page->dtype != known->dtype ||
        page->rows != known->rows || page->block_bytes != known->block_bytes || page->pixels != 0 ||
        job->row % page->rows != 0 || job->row >= page->height || job->n > page->height - job->row ||
        bytes > library->memory_bytes)
        return ts_tiff_library_refuse(library, "file-changed", "its strips or tiles were changed after the check");
    return true;
}

static bool make_tile(struct tiff_library *library)
{
    const size_t bytes = (size_t)library->page.block_bytes;
    if (bytes > library->tile_bytes) {
        free(library->tile);
        library->tile = malloc(bytes);
        library->tile_bytes = library->tile ? bytes : 0;
    }
    return library->tile || ts_tiff_library_refuse(library, "no-memory", "the worker's memory does not hold a tile");
}

static void decode(struct tiff_library *library, const struct tiff_job *job)
{
    if (!find_page(library, job))
        return;
    const bool tiled = TIFFIsTiled(library->handle);
    if (tiled && !make_tile(library))
        return;
    library->problem[0] = 0;
    errno = 0;
    if (!(tiled ? read_tiles : read_strips)(library, job->row, job->n))
        ts_tiff_library_refuse(library, "tiff-truncated", "its pixels cannot be decoded whole: %s",
                               reason(library, "data is missing"));
}

void ts_tiff_library_work(struct tiff_library *library, const struct tiff_job *job, int fd, struct tiff_reply *reply)
{
    library->reply = reply;
    library->problem[0] = 0;
    library->page.number = 0;
    errno = 0;
    if (!open_file(library, job->file, fd))
        return;
    if (job->decode)
        decode(library, job);
    else
        list_pages(library, job, reply);
}

/* ---- the worker ------------------------------------------------------------------------------------ */

static void *begin(const void *setup, void *memory)
{
    static struct tiff_library library;
    memcpy(&library.memory_bytes, setup, sizeof library.memory_bytes);
    library.memory = memory;
    return &library;
}

static void work(void *state, const void *bytes, int fd, void *reply)
{
    struct tiff_job job;
    memcpy(&job, bytes, sizeof job);
    ts_tiff_library_work(state, &job, fd, reply);
}

const struct worker_kind ts_tiff_worker = {
    .name = "TIFF reader",
    .job_bytes = sizeof(struct tiff_job),
    .reply_bytes = sizeof(struct tiff_reply),
    .begin = begin,
    .work = work,
};

_Static_assert(sizeof(struct tiff_job) <= WORKER_JOB_MAX && sizeof(struct tiff_reply) <= WORKER_REPLY_MAX,
               "the messages of a worker are bounded");
