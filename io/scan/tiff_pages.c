/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the TIFF files of a folder, and lets a worker list and check their pages. The worker's
 * answers are checked too, because a file may have taken it over.
 */
#include "io/scan/tiff_pages.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/path.h"
#include "io/scan/tiff_counter.h"
#include "io/scan/tiff_file.h"
#include "io/scan/tiff_names.h"
#include "io/scan/tiff_order.h"
#include "io/scan/tiff_planes.h"

static bool matches(const char *pattern, const char *name)
{
    return !pattern || fnmatch(pattern, name, FNM_PERIOD) == 0;
}

static bool is_tiff_name(const char *name)
{
    const char *ending = strrchr(name, '.');
    return name[0] != '.' && ending &&
           (!strcasecmp(ending, ".tif") || !strcasecmp(ending, ".tiff"));
}

static enum ts_status tiff_pages_unreadable(const struct tiff_pages *pages, const char *path,
                                            struct ts_diag *diag)
{
    ts_diag_error(diag, TS_BAD_INPUT, TIFF_SITE(pages, "input-unreadable"), "cannot read %s: %s",
                  path, strerror(errno));
    return ts_diag_hint(diag, "check the path and its permissions");
}

/* The array grows by doubling; outgrown copies stay in the arena. */
static void *grown(struct arena *arena, void *items, int64_t n, size_t bytes)
{
    if (n & (n - 1) || (n == 0 && items))
        return items;
    void *more = ts_arena_alloc(arena, (size_t)(n ? 2 * n : 1) * bytes);
    if (more && n)
        memcpy(more, items, (size_t)n * bytes);
    return more;
}

static enum ts_status add_file(struct tiff_pages *pages, const char *path, struct ts_diag *diag)
{
    if (pages->n_files == TIFF_MAX_PAGES)
        return ts_diag_error(diag, TS_BAD_INPUT, TIFF_SITE(pages, "too-many-files"),
                             "more than %d TIFF files in the folder", (int)TIFF_MAX_PAGES);
    struct tiff_file *files = grown(pages->arena, pages->files, pages->n_files, sizeof *files);
    if (!path || !files)
        return ts_diag_no_memory(diag, sizeof *files);
    pages->files = files;
    files[pages->n_files++] = (struct tiff_file){.path = path};
    return TS_OK;
}

/* Keeps the first names for the warning. */
static void ignore(struct tiff_pages *pages, const char *name)
{
    const size_t used = strlen(pages->names);
    if (pages->n_ignored++ < 3)
        snprintf(pages->names + used, sizeof pages->names - used, "%s%s", used ? ", " : "", name);
}

/* Visits a name that ends as those of TIFF files do. Links to files are followed. */
static enum ts_status visit(struct tiff_pages *pages, int folder, const char *path,
                            const char *name, struct ts_diag *diag)
{
    struct stat found;
    char target[TIFF_TEXT_BYTES];
    const bool there = fstatat(folder, name, &found, 0) == 0;
    const int error = errno;
    if (there && S_ISREG(found.st_mode))
        return add_file(pages, ts_arena_printf(pages->arena, "%s/%s", path, name), diag);
    if (pages->skip) {
        pages->n_skipped++;
        return TS_OK;
    }
    const ssize_t n = readlinkat(folder, name, target, sizeof target - 1);
    target[n > 0 ? n : 0] = '\0';
    ts_diag_error(diag, TS_BAD_INPUT, TIFF_SITE(pages, "input-unreadable"),
                  "cannot read %s/%s%s%s: %s", path, name, n > 0 ? ", a link to " : "", target,
                  there ? "it is not a file" : strerror(error));
    return ts_diag_hint(diag, TIFF_UNREADABLE_HINT);
}

/* Visits any other name. A name of a missing TIFF file with one more ending, as incomplete copies
   have, counts for that file. */
static enum ts_status visit_other(struct tiff_pages *pages, int folder, const char *path,
                                  const char *name, struct ts_diag *diag)
{
    char whole[TIFF_TEXT_BYTES];
    snprintf(whole, sizeof whole, "%s", name + strspn(name, "."));
    char *ending = strrchr(whole, '.');
    if (ending)
        *ending = '\0';
    if (strlen(name) >= sizeof whole || !ending || !is_tiff_name(whole) ||
        faccessat(folder, whole, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
        ignore(pages, name);
        return TS_OK;
    }
    if (pages->skip) {
        pages->n_skipped++;
        return TS_OK;
    }
    ts_diag_error(diag, TS_BAD_INPUT, TIFF_SITE(pages, "tiff-unreadable"),
                  "%s/%s is there, but not %s", path, name, whole);
    return ts_diag_hint(diag, TIFF_UNREADABLE_HINT);
}

/* Lists the files of a folder whose names fit the pattern; NULL: all. */
static enum ts_status list_folder(struct tiff_pages *pages, const char *path, const char *pattern,
                                  struct ts_diag *diag)
{
    DIR *folder = opendir(path);
    const int64_t before = pages->n_files;
    enum ts_status status = TS_OK;
    bool counted = false;
    if (!folder)
        return tiff_pages_unreadable(pages, path, diag);
    pages->by_name = true;
    errno = 0;
    for (const struct dirent *entry; status == TS_OK && (entry = readdir(folder)) != NULL;
         errno = 0) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        if (is_tiff_name(entry->d_name) && !matches(pattern, entry->d_name))
            pages->n_unmatched++;
        else if (is_tiff_name(entry->d_name))
            status = visit(pages, dirfd(folder), path, entry->d_name, diag);
        else if (!pattern)
            status = visit_other(pages, dirfd(folder), path, entry->d_name, diag);
    }
    if (status == TS_OK && errno)
        status = tiff_pages_unreadable(pages, path, diag);
    closedir(folder);
    if (status == TS_OK)
        status = ts_tiff_sort(pages, before, path, diag);
    if (status == TS_OK && before == 0)
        status = ts_tiff_check_names(pages, path, pattern, diag);
    if (status == TS_OK)
        status = ts_tiff_sort_counted(pages, before, path, &counted, diag);
    if (status == TS_OK && before == 0 && !counted && !ts_tiff_takes_all(pattern))
        status = ts_tiff_check_running(pages, path, diag);
    return status;
}

/* Opens file i and asks for its first pages. */
static enum ts_status begin_file(struct tiff_pages *pages, int64_t i, struct tiff_reply *reply,
                                 struct ts_diag *diag)
{
    enum ts_status status = ts_tiff_open(pages, i, false, diag);
    if (status == TS_OK)
        status = ts_tiff_ask(pages, &(struct tiff_job){.page.number = 1}, reply, diag);
    return status == TS_OK && reply->verdict.status != TS_OK && reply->number == 0 &&
                   reply->n_pages == 0
               ? ts_tiff_report(pages, reply, diag)
               : status;
}

/* Opens a file. If the chain skips files that cannot be opened and this is one, sets *skipped and
   reports nothing. A failure of the machine skips no file: it occurs again, and is reported. */
static enum ts_status open_file(struct tiff_pages *pages, int64_t i, struct tiff_reply *reply,
                                bool *skipped, struct ts_diag *diag)
{
    if (!pages->skip)
        return begin_file(pages, i, reply, diag);
    struct ts_diag *trial = ts_diag_create();
    if (!trial)
        return ts_diag_no_memory(diag, 0);
    const enum ts_status status = begin_file(pages, i, reply, trial);
    *skipped = status == TS_BAD_INPUT;
    pages->n_skipped += *skipped;
    ts_diag_destroy(trial);
    if (*skipped)
        ts_tiff_end_worker(
            pages); /* which may have opened the file under the number that the next one gets */
    return status == TS_OK || *skipped ? TS_OK : begin_file(pages, i, reply, diag);
}

/* Returns true if the worker may give such a description of a page of the open file. */
static bool is_possible(const struct tiff_pages *pages, const struct tiff_page *page)
{
    const uint64_t file_bytes = (uint64_t)pages->files[pages->open].found.st_size;
    const bool known = page->dtype == TS_U8 || page->dtype == TS_I8 || page->dtype == TS_U16 ||
                       page->dtype == TS_I16 || page->dtype == TS_U32 || page->dtype == TS_I32 ||
                       page->dtype == TS_U64 || page->dtype == TS_F16 || page->dtype == TS_F32 ||
                       page->dtype == TS_F64;
    if (!known || page->width < 1 || page->width > TIFF_MAX_SIDE || page->height < 1 ||
        page->height > TIFF_MAX_SIDE || page->rows < 1 || page->rows > TIFF_MAX_SIDE ||
        page->block_bytes > TIFF_MAX_BLOCK || page->raw_bytes > file_bytes)
        return false;
    const uint64_t bytes =
        (uint64_t)page->width * page->height * ts_dtype_bytes((enum ts_dtype)page->dtype);
    const uint64_t together =
        (uint64_t)page->width * page->rows * ts_dtype_bytes((enum ts_dtype)page->dtype);
    return page->pixels == 0 ? together <= TIFF_MAX_TOGETHER
                             : bytes <= file_bytes && page->pixels <= file_bytes - bytes;
}

static void take_largest(size_t *largest, uint64_t value)
{
    *largest = value > *largest ? (size_t)value : *largest;
}

/* Returns true if the values of a file are a linear function of what is stored. ImageJ has no such
   function for other types. */
static bool is_calibrated(const struct tiff_page *page)
{
    return page->function == TIFF_FUNCTION_LINE &&
           (page->dtype == TS_U8 || page->dtype == TS_U16) && isfinite(page->line[0]) &&
           isfinite(page->line[1]) && page->line[1] != 0 &&
           fabs(page->line[0]) + 65536 * fabs(page->line[1]) < FLT_MAX &&
           (page->line[0] != 0 || page->line[1] != 1);
}

/* Takes the calibration of the first page of a file, which must be that of the first file. */
static enum ts_status take_calibration(struct tiff_pages *pages, const struct tiff_page *page,
                                       struct ts_diag *diag)
{
    const bool calibrated = is_calibrated(page);
    if (pages->n_pages == 0 && calibrated) {
        pages->calibrated = true;
        memcpy(pages->line, page->line, sizeof pages->line);
        pages->dtype = pages->doubles ? TS_F64 : TS_F32;
    }
    if (calibrated != pages->calibrated ||
        (calibrated && (page->line[0] != pages->line[0] || page->line[1] != pages->line[1])))
        return ts_tiff_refuse(pages, page->file, 0, "tiff-pages-differ", diag,
                              "its text says that values are %.9g + %.9g * what is stored, and "
                              "that of the first file %.9g + %.9g * what is stored",
                              calibrated ? page->line[0] : 0, calibrated ? page->line[1] : 1,
                              pages->calibrated ? pages->line[0] : 0,
                              pages->calibrated ? pages->line[1] : 1);
    return TS_OK;
}

static void tell_calibration(const struct tiff_pages *pages, struct ts_diag *diag)
{
    static const char *const names[] = {"a straight line",
                                        "a polynomial of degree 2",
                                        "a polynomial of degree 3",
                                        "a polynomial of degree 4",
                                        "an exponential",
                                        "a power",
                                        "a logarithm",
                                        "Rodbard",
                                        "a gamma variate",
                                        "y = a + b * ln(x - c)"};
    const struct tiff_page *first = &pages->pages[0];
    const int32_t function = first->function;
    double low = -INFINITY, high = INFINITY;
    if (ts_dtype_is_integer(pages->stored))
        ts_dtype_range(pages->stored, &low, &high);
    if (first->gdal_missing >= low && first->gdal_missing <= high)
        ts_diag_warning(diag, TIFF_SITE(pages, "field-unused"),
                        "%s: the tag GDAL_NODATA says that values of %.9g were not measured, and "
                        "they are taken for measured ones",
                        pages->files[0].path, first->gdal_missing);
    if (first->gdal_offset != 0 || first->gdal_scale != 1)
        ts_diag_warning(diag, TIFF_SITE(pages, "field-unused"),
                        "%s: the tag GDAL_METADATA says that values are %.9g + %.9g * what is "
                        "stored: they are read as they are stored",
                        pages->files[0].path, first->gdal_offset, first->gdal_scale);
    const bool line = function == TIFF_FUNCTION_LINE,
               plain = line && first->line[0] == 0 && first->line[1] == 1;
    if (pages->calibrated)
        ts_diag_note(
            diag, TIFF_SITE(pages, "tiff-calibration"),
            "the values are %.9g + %.9g * what is stored, as the text of ImageJ in %s says",
            pages->line[0], pages->line[1], pages->files[0].path);
    else if (function != TIFF_FUNCTION_NONE && !plain)
        ts_diag_warning(diag, TIFF_SITE(pages, "tiff-calibration"),
                        "the text of ImageJ in %s calibrates values of %s by function %d (%s), "
                        "which is not applied: the values are read as they are stored",
                        pages->files[0].path, ts_dtype_name(pages->stored), (int)function,
                        function >= 0 && function < (int)(sizeof names / sizeof *names)
                            ? names[function]
                            : "another");
}

/* Takes size and type from the first page, which the others must have. */
static enum ts_status take_shape(struct tiff_pages *pages, const struct tiff_page *page,
                                 struct ts_diag *diag)
{
    const enum ts_dtype dtype = (enum ts_dtype)page->dtype;
    if (pages->width == 0) {
        pages->width = page->width;
        pages->height = page->height;
        pages->stored = dtype;
        pages->is_signed = page->is_signed;
        if (pages->calibrated || dtype == TS_F64 || dtype == TS_U64)
            pages->dtype = pages->doubles ? TS_F64 : TS_F32;
        else
            pages->dtype = dtype == TS_F16 ? TS_F32 : dtype;
    }
    if (page->width == pages->width && page->height == pages->height && dtype == pages->stored &&
        (dtype != TS_U64 || page->is_signed == pages->is_signed))
        return TS_OK;
    ts_tiff_refuse(pages, page->file, page->number, "tiff-pages-differ", diag,
                   "%u x %u pixels of %s, but the first page has %lld x %lld of %s", page->width,
                   page->height, ts_dtype_name(dtype), (long long)pages->width,
                   (long long)pages->height, ts_dtype_name(pages->stored));
    if (pages->n_pick == 0 && page->file == 0 && page->number > 1)
        ts_diag_hint(diag, "pick: [0, 1, %d] takes the pages before it", (int)page->number - 1);
    return TS_BAD_INPUT;
}

/* Adds a page. All must have one size and type, or those that the chain picks. */
static enum ts_status add_page(struct tiff_pages *pages, struct tiff_page page,
                               struct ts_diag *diag)
{
    const enum ts_dtype dtype = (enum ts_dtype)page.dtype;
    struct tiff_page *list = grown(pages->arena, pages->pages, pages->n_pages, sizeof *list);
    if (!list)
        return ts_diag_no_memory(diag, (size_t)pages->n_pages * sizeof *list);
    pages->pages = list;
    if (pages->n_pages == TIFF_MAX_PAGES)
        return ts_diag_error(diag, TS_BAD_INPUT, TIFF_SITE(pages, "too-many-pages"),
                             "%s: more than %d pages in all", pages->files[page.file].path,
                             (int)TIFF_MAX_PAGES);
    if ((pages->width == 0 || pages->n_pick == 0) && take_shape(pages, &page, diag) != TS_OK)
        return TS_BAD_INPUT;
    if (page.number == 1 && take_calibration(pages, &page, diag) != TS_OK)
        return TS_BAD_INPUT;
    pages->n_inverted += page.white_is_zero != 0;
    list[pages->n_pages++] = page;
    take_largest(&pages->block_bytes, page.block_bytes);
    take_largest(&pages->raw_bytes, page.raw_bytes);
    if (page.pixels == 0)
        take_largest(&pages->piece_bytes, (uint64_t)ts_tiff_piece_rows(pages, &page) * page.width *
                                              ts_dtype_bytes(dtype));
    pages->rows_together = page.rows > pages->rows_together ? page.rows : pages->rows_together;
    return TS_OK;
}

/* Adds the pages of an answer about file i, which begin with page `number`. */
static enum ts_status add_pages(struct tiff_pages *pages, int64_t i, int32_t number,
                                const struct tiff_reply *reply, struct ts_diag *diag)
{
    const volatile struct tiff_page *answer =
        ts_tiff_answer(pages); /* each is fetched once: the worker may change it */
    enum ts_status status = TS_OK;
    bool possible =
        reply->n_pages >= (reply->verdict.status == TS_OK) && reply->n_pages <= TIFF_LIST_PAGES;
    for (int32_t k = 0; possible && status == TS_OK && k < reply->n_pages; k++) {
        struct tiff_page page = answer[k];
        page.file = (int32_t)i;
        page.number = number + k;
        possible = is_possible(pages, &page);
        status = possible ? add_page(pages, page, diag) : status;
    }
    return possible ? status
                    : ts_diag_error(diag, TS_RUN_FAILED, TIFF_SITE(pages, "decoder-confused"),
                                    "%s: the process that read it answered what cannot be",
                                    pages->files[i].path);
}

/* Lists the pages of file i, which is open; `reply` has brought the first. */
static enum ts_status list_pages(struct tiff_pages *pages, int64_t i, struct tiff_reply *reply,
                                 struct ts_diag *diag)
{
    enum ts_status status = TS_OK;
    for (int32_t number = 1; status == TS_OK;) {
        status = add_pages(pages, i, number, reply, diag);
        if (status == TS_OK && reply->verdict.status != TS_OK)
            return ts_tiff_report(pages, reply, diag);
        if (status != TS_OK || reply->next == 0)
            break;
        number += reply->n_pages;
        struct tiff_job job;
        memset(&job, 0, sizeof job); /* its gaps too, which are sent to another process */
        job.page.number = number;
        job.page.directory = reply->next;
        status = ts_tiff_ask(pages, &job, reply, diag);
    }
    return status;
}

/* ---- what the files say of their images ------------------------------------------------------ */

/* Adds the images of a file that has one page and says that more are behind its pixels. */
static enum ts_status add_planes(struct tiff_pages *pages, int64_t of, struct ts_diag *diag)
{
    const struct tiff_page page = pages->pages[of], *first = &page; /* the list may move */
    const uint64_t bytes = (uint64_t)first->width * first->height *
                           ts_dtype_bytes((enum ts_dtype)first->dtype),
                   behind = (uint64_t)pages->files[first->file].found.st_size - first->pixels,
                   room = first->pixels ? behind / bytes : 0;
    const uint32_t planes = first->behind ? first->planes : 1;
    enum ts_status status = TS_OK;
    if (planes > 1 && room > 1 && room < planes)
        return ts_tiff_refuse(pages, first->file, 0, "tiff-planes", diag,
                              "it says that it has %u images in one page, and has room for %llu",
                              planes, (unsigned long long)room);
    for (uint32_t k = 1; room >= planes && k < planes && status == TS_OK; k++) {
        struct tiff_page next = page;
        next.number = (int32_t)k + 1;
        next.pixels += k * bytes;
        status = add_page(pages, next, diag);
    }
    enum { SMALL = 4096 }; /* behind smaller pages there may be a text of such a length */
    if (status == TS_OK && first->planes <= 1 && room > 1 && bytes >= SMALL)
        ts_diag_warning(diag, TIFF_SITE(pages, "tiff-planes"),
                        "%s: behind its only page are bytes for %llu more, which are not read: it "
                        "does not say what they are",
                        pages->files[first->file].path, (unsigned long long)(room - 1));
    return status;
}

/* Leaves the pages that the chain picks. */
static enum ts_status pick_pages(struct tiff_pages *pages, struct ts_diag *diag)
{
    const double first = pages->n_pick > 0 ? pages->pick[0] : 0,
                 step = pages->n_pick > 1 ? pages->pick[1] : 1;
    if (pages->n_pick == 0)
        return TS_OK;
    const double all = step >= 1 ? floor(((double)pages->n_pages - 1 - first) / step) + 1 : 0;
    const double count = pages->n_pick == 3 ? pages->pick[2] : all;
    if (pages->n_pick == 1 || pages->n_pick > 3 || first != floor(first) || step != floor(step) ||
        step < 1 || count != floor(count) || count < 1 || count > all)
        return ts_diag_error(
            diag, TS_BAD_CHAIN, TIFF_SITE(pages, "pick-range"),
            "pick is no first page from 0 on, step and perhaps count of the %lld pages",
            (long long)pages->n_pages);
    for (int64_t i = 0; i < (int64_t)count; i++)
        pages->pages[i] = pages->pages[(int64_t)first + i * (int64_t)step];
    pages->n_pages = (int64_t)count;
    pages->width = 0;
    enum ts_status status = TS_OK;
    for (int64_t i = 0; i < pages->n_pages && status == TS_OK; i++)
        status = take_shape(pages, &pages->pages[i], diag);
    return status;
}

/* Lists the pages of all files. Files that are skipped leave the list. */
static enum ts_status list_all(struct tiff_pages *pages, struct ts_diag *diag)
{
    const int64_t n = pages->n_files;
    int64_t of_first = 0;
    pages->n_files = 0;
    for (int64_t i = 0; i < n; i++) {
        bool skipped = false;
        struct tiff_reply reply;
        pages->files[pages->n_files] = pages->files[i];
        ts_tiff_close_file(pages);
        enum ts_status status = open_file(pages, pages->n_files, &reply, &skipped, diag);
        const int64_t before = pages->n_pages;
        if (status == TS_OK && !skipped && !*pages->companion) {
            snprintf(pages->companion, sizeof pages->companion, "%.*s",
                     (int)sizeof reply.companion - 1, reply.companion);
            pages->bare = pages->n_files;
        }
        if (status == TS_OK && !skipped)
            status = list_pages(pages, pages->n_files++, &reply, diag);
        if (status == TS_OK && pages->n_pages == before + 1)
            status = add_planes(pages, before, diag);
        of_first = before == 0 ? pages->n_pages : of_first;
        if (status != TS_OK)
            return status;
    }
    if (pages->n_pages == 0)
        return TS_OK;
    memcpy(pages->pixel_mm, pages->pages[0].pixel_mm, sizeof pages->pixel_mm);
    pages->spacing_mm = pages->pages[0].spacing_mm;
    tell_calibration(pages, diag);
    const struct tiff_page first = pages->pages[0]; /* only it has what its text says of the axes */
    enum ts_status status = ts_tiff_order_planes(pages, diag);
    if (status == TS_OK)
        status = ts_tiff_check_images(pages, diag);
    if (status == TS_OK)
        status = ts_tiff_check_axes(pages, &first, of_first, diag);
    return status == TS_OK ? pick_pages(pages, diag) : status;
}

static int compare_inodes(const void *a, const void *b)
{
    const struct tiff_file *first = *(const struct tiff_file *const *)a,
                           *second = *(const struct tiff_file *const *)b;
    if (first->found.st_dev != second->found.st_dev)
        return first->found.st_dev < second->found.st_dev ? -1 : 1;
    return (first->found.st_ino > second->found.st_ino) -
           (first->found.st_ino < second->found.st_ino);
}

/* Warns of two names of one file, since two files may have been meant. */
static enum ts_status warn_of_same(const struct tiff_pages *pages, struct ts_diag *diag)
{
    const size_t n = (size_t)pages->n_files;
    const struct tiff_file **sorted = ts_arena_alloc(pages->arena, n * sizeof *sorted);
    if (!sorted)
        return ts_diag_no_memory(diag, n * sizeof *sorted);
    for (size_t i = 0; i < n; i++)
        sorted[i] = &pages->files[i];
    qsort(sorted, n, sizeof *sorted, compare_inodes);
    for (size_t i = 1; i < n; i++)
        if (compare_inodes(&sorted[i - 1], &sorted[i]) == 0) {
            ts_diag_warning(diag, TIFF_SITE(pages, "same-file"),
                            "%s and %s are two names of one file; both are read",
                            sorted[i - 1]->path, sorted[i]->path);
            break;
        }
    return TS_OK;
}

static enum ts_status refuse_no_files(const struct tiff_pages *pages, const char *path,
                                      const char *pattern, struct ts_diag *diag)
{
    if (pages->n_unmatched == 0)
        return ts_diag_error(diag, TS_BAD_INPUT, TIFF_SITE(pages, "no-image"),
                             "no .tif or .tiff file in %s (%lld other names, %lld files skipped)",
                             path, (long long)pages->n_ignored, (long long)pages->n_skipped);
    return ts_diag_error(diag, TS_BAD_INPUT, TIFF_SITE(pages, "no-image"),
                         "none of the %lld .tif and .tiff files in %s has a name of the pattern %s",
                         (long long)pages->n_unmatched, path, pattern);
}

/* Lists the files of a pattern such as scan/proj_*.tif, whose folder is none. */
static enum ts_status list_pattern(struct tiff_pages *pages, const char *path, struct ts_diag *diag)
{
    const char *name = ts_base_name(path);
    const int folder = (int)(name - path);
    const char *in =
        ts_arena_printf(pages->arena, "%.*s", folder > 1 ? folder - 1 : 1, folder > 0 ? path : ".");
    const int64_t before = pages->n_files;
    if (!in)
        return ts_diag_no_memory(diag, (size_t)folder);
    const enum ts_status status = list_folder(pages, in, name, diag);
    return status == TS_OK && pages->n_files == before ? refuse_no_files(pages, in, name, diag)
                                                       : status;
}

/* Lists the files of a path. Those that the chain names itself are not skipped. A path that exists
   is no pattern, whatever its name is. */
static enum ts_status list_path(struct tiff_pages *pages, const char *path, struct ts_diag *diag)
{
    struct stat found;
    if (stat(path, &found) != 0)
        return errno == ENOENT && !pages->pattern && strpbrk(ts_base_name(path), "*?")
                   ? list_pattern(pages, path, diag)
                   : tiff_pages_unreadable(pages, path, diag);
    if (S_ISDIR(found.st_mode))
        return list_folder(pages, path, pages->pattern, diag);
    pages->skip = false;
    return add_file(pages, ts_arena_text(pages->arena, path, strlen(path)), diag);
}

enum ts_status ts_tiff_pages_open(struct tiff_pages *pages, const char *const *paths, int64_t n,
                                  struct ts_diag *diag)
{
    enum ts_status status = TS_OK;
    for (int64_t i = 0; i < n && status == TS_OK; i++)
        status = list_path(pages, paths[i], diag);
    if (status == TS_OK)
        status = list_all(pages, diag);
    ts_tiff_end_worker(pages);
    if (status == TS_OK && pages->n_files == 0)
        return refuse_no_files(pages, paths[0], pages->pattern, diag);
    if (status == TS_OK)
        status = warn_of_same(pages, diag);
    if (status == TS_OK && pages->n_ignored)
        ts_diag_warning(diag, TIFF_SITE(pages, "files-passed-over"),
                        "%lld name%s passed over: not TIFF (%s%s)", (long long)pages->n_ignored,
                        pages->n_ignored == 1 ? "" : "s", pages->names,
                        pages->n_ignored > 3 ? ", ..." : "");
    if (status == TS_OK && pages->n_inverted)
        ts_diag_warning(diag, TIFF_SITE(pages, "tiff-inverted"),
                        "%lld page%s that zero is white; the values are read as they are stored",
                        (long long)pages->n_inverted, pages->n_inverted == 1 ? " says" : "s say");
    if (status == TS_OK && pages->n_skipped)
        ts_diag_warning(diag, TIFF_SITE(pages, "slice-unreadable"),
                        "%lld TIFF file%s skipped: not readable", (long long)pages->n_skipped,
                        pages->n_skipped == 1 ? "" : "s");
    if (status == TS_OK && pages->n_warnings)
        ts_diag_note(diag, &(struct diag_site){.code = "tiff-warnings"},
                     "libtiff warned %lld times, first: %s", (long long)pages->n_warnings,
                     pages->warning);
    return status;
}
