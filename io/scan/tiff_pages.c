/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the TIFF files of a folder and the pages in them, and reads rows of a page strip by strip or tile by tile. A
 * page is checked when it is found and again before it is decoded, because the file may have been changed in between.
 */
#include "io/scan/tiff_pages.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <tiffio.h>
#include <unistd.h>

#include "io/file/file_bytes.h"

int ts_tiff_compare_names(const char *a, const char *b)
{
    const char *start_a = a, *start_b = b;
    while (*a && *b) {
        if (!isdigit((unsigned char)*a) || !isdigit((unsigned char)*b)) {
            if (*a != *b)
                return (unsigned char)*a - (unsigned char)*b;
            a++;
            b++;
            continue;
        }
        a += strspn(a, "0");
        b += strspn(b, "0");
        const size_t n_a = strspn(a, "0123456789"), n_b = strspn(b, "0123456789");
        const int order = n_a != n_b ? (n_a < n_b ? -1 : 1) : memcmp(a, b, n_a);
        if (order)
            return order;
        a += n_a;
        b += n_b;
    }
    return *a || *b ? (unsigned char)*a - (unsigned char)*b : strcmp(start_a, start_b);
}

static int compare_files(const void *a, const void *b)
{
    return ts_tiff_compare_names(((const struct tiff_file *)a)->path, ((const struct tiff_file *)b)->path);
}

static bool is_tiff_name(const char *name)
{
    const char *ending = strrchr(name, '.');
    return name[0] != '.' && ending && (!strcasecmp(ending, ".tif") || !strcasecmp(ending, ".tiff"));
}

static enum ts_status unreadable(const struct tiff_pages *pages, const char *path, struct ts_diag *diag)
{
    ts_diag_error(diag, TS_BAD_INPUT, TIFF_SITE(pages, "input-unreadable"), "cannot read %s: %s", path,
                  strerror(errno));
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
static enum ts_status visit(struct tiff_pages *pages, int folder, const char *path, const char *name,
                            struct ts_diag *diag)
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
    ts_diag_error(diag, TS_BAD_INPUT, TIFF_SITE(pages, "input-unreadable"), "cannot read %s/%s%s%s: %s", path, name,
                  n > 0 ? ", a link to " : "", target, there ? "it is not a file" : strerror(error));
    return ts_diag_hint(diag, TIFF_UNREADABLE_HINT);
}

/* Any other name. What is called as a TIFF file that is not there and has one more ending, as copies have that are not
 * yet whole, stands for that file. */
static enum ts_status visit_other(struct tiff_pages *pages, int folder, const char *path, const char *name,
                                  struct ts_diag *diag)
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
    ts_diag_error(diag, TS_BAD_INPUT, TIFF_SITE(pages, "tiff-unreadable"), "%s/%s is there, but not %s", path, name,
                  whole);
    return ts_diag_hint(diag, TIFF_UNREADABLE_HINT);
}

static enum ts_status list_folder(struct tiff_pages *pages, const char *path, struct ts_diag *diag)
{
    DIR *folder = opendir(path);
    enum ts_status status = TS_OK;
    if (!folder)
        return unreadable(pages, path, diag);
    errno = 0;
    for (const struct dirent *entry; status == TS_OK && (entry = readdir(folder)) != NULL; errno = 0) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        if (is_tiff_name(entry->d_name))
            status = visit(pages, dirfd(folder), path, entry->d_name, diag);
        else
            status = visit_other(pages, dirfd(folder), path, entry->d_name, diag);
    }
    if (status == TS_OK && errno)
        status = unreadable(pages, path, diag);
    closedir(folder);
    if (pages->n_files > 1)
        qsort(pages->files, (size_t)pages->n_files, sizeof *pages->files, compare_files);
    return status;
}

/* Opens file i. Where files that cannot be opened are skipped, *skipped: this one is, and nothing is reported.
 */
static enum ts_status open_file(struct tiff_pages *pages, int64_t i, bool *skipped, struct ts_diag *diag)
{
    if (!pages->skip)
        return ts_tiff_open(pages, i, false, diag);
    struct ts_diag *trial = ts_diag_create();
    if (!trial)
        return ts_diag_no_memory(diag, 0);
    *skipped = ts_tiff_open(pages, i, false, trial) != TS_OK;
    pages->n_skipped += *skipped;
    ts_diag_destroy(trial);
    return TS_OK;
}

/* Lists the pages of file i, which is open. */
static enum ts_status list_pages(struct tiff_pages *pages, int64_t i, struct ts_diag *diag)
{
    int32_t number = 0;
    for (bool more = true; more;) {
        struct tiff_page *list = grown(pages->arena, pages->pages, pages->n_pages, sizeof *list);
        if (!list)
            return ts_diag_no_memory(diag, (size_t)pages->n_pages * sizeof *list);
        pages->pages = list;
        if (pages->n_pages == TIFF_MAX_PAGES)
            return ts_diag_error(diag, TS_BAD_INPUT, TIFF_SITE(pages, "too-many-pages"),
                                 "%s: more than %d pages in all", pages->files[i].path, (int)TIFF_MAX_PAGES);
        struct tiff_page *page = &list[pages->n_pages];
        *page = (struct tiff_page){(int32_t)i, ++number, TIFFCurrentDirOffset(pages->handle)};
        const enum ts_status status = ts_tiff_check(pages, page, diag);
        if (status != TS_OK)
            return status;
        pages->n_pages++;
        const bool last = TIFFLastDirectory(pages->handle);
        pages->problem[0] = 0;
        errno = 0;
        more = !last && TIFFReadDirectory(pages->handle);
        if (more != (pages->next_directory != 0))
            return ts_diag_error(diag, TS_BAD_INPUT, TIFF_SITE(pages, "tiff-directory"),
                                 "%s: the page after page %d cannot be read: %s", pages->files[i].path, number,
                                 errno               ? ts_errno_text(errno)
                                 : pages->problem[0] ? pages->problem
                                 : last              ? "libtiff could not read the pointer to it"
                                                     : "its directory was read before");
    }
    return TS_OK;
}

/* Lists the pages of all files. Files that are skipped leave the list. */
static enum ts_status list_all(struct tiff_pages *pages, struct ts_diag *diag)
{
    const int64_t n = pages->n_files;
    pages->n_files = 0;
    for (int64_t i = 0; i < n; i++) {
        bool skipped = false;
        pages->files[pages->n_files] = pages->files[i];
        enum ts_status status = open_file(pages, pages->n_files, &skipped, diag);
        if (status == TS_OK && !skipped)
            status = list_pages(pages, pages->n_files++, diag);
        if (status != TS_OK)
            return status;
    }
    return TS_OK;
}

static int compare_inodes(const void *a, const void *b)
{
    const struct tiff_file *first = *(const struct tiff_file *const *)a, *second = *(const struct tiff_file *const *)b;
    if (first->device != second->device)
        return first->device < second->device ? -1 : 1;
    return (first->inode > second->inode) - (first->inode < second->inode);
}

/* Warns of two names of one file, where there may have been two files. */
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
            ts_diag_warning(diag, TIFF_SITE(pages, "same-file"), "%s and %s are two names of one file; both are read",
                            sorted[i - 1]->path, sorted[i]->path);
            break;
        }
    return TS_OK;
}

enum ts_status ts_tiff_pages_open(struct tiff_pages *pages, const char *path, struct ts_diag *diag)
{
    struct stat found;
    if (stat(path, &found) != 0)
        return unreadable(pages, path, diag);
    enum ts_status status = S_ISDIR(found.st_mode)
                                ? list_folder(pages, path, diag)
                                : add_file(pages, ts_arena_text(pages->arena, path, strlen(path)), diag);
    pages->skip = pages->skip && S_ISDIR(found.st_mode);
    if (status == TS_OK)
        status = list_all(pages, diag);
    if (status == TS_OK && pages->n_files == 0)
        return ts_diag_error(diag, TS_BAD_INPUT, TIFF_SITE(pages, "no-image"),
                             "no .tif or .tiff file in %s (%lld other names, %lld files skipped)", path,
                             (long long)pages->n_ignored, (long long)pages->n_skipped);
    if (status == TS_OK)
        status = warn_of_same(pages, diag);
    if (status == TS_OK && pages->n_ignored)
        ts_diag_warning(diag, TIFF_SITE(pages, "files-passed-over"), "%lld name%s passed over: not TIFF (%s%s)",
                        (long long)pages->n_ignored, pages->n_ignored == 1 ? "" : "s", pages->names,
                        pages->n_ignored > 3 ? ", ..." : "");
    if (status == TS_OK && pages->n_skipped)
        ts_diag_warning(diag, TIFF_SITE(pages, "slice-unreadable"), "%lld TIFF file%s skipped: not readable",
                        (long long)pages->n_skipped, pages->n_skipped == 1 ? "" : "s");
    if (status == TS_OK && pages->n_warnings)
        ts_diag_note(diag, &(struct diag_site){.code = "tiff-warnings"}, "libtiff warned %lld times, first: %s",
                     (long long)pages->n_warnings, pages->warning);
    return status;
}

void ts_tiff_pages_close(struct tiff_pages *pages)
{
    ts_tiff_close_file(pages);
    free(pages->block);
    pages->block = NULL;
}

struct tiff_pages ts_tiff_pages_copy(const struct tiff_pages *pages)
{
    struct tiff_pages copy = *pages;
    copy.handle = NULL;
    copy.block = NULL;
    return copy;
}

/* ---- reading ----------------------------------------------------------------------------------- */

struct wanted {
    int64_t row, n;
    unsigned char *out;
    size_t pitch;
    bool past_range; /* found: a value beyond the range of 32-bit floats */
};

static bool narrow_row(float *restrict out, const double *restrict values, int64_t n)
{
    bool past_range = false;
    for (int64_t i = 0; i < n; i++) {
        out[i] = (float)values[i];
        past_range |= isfinite(values[i]) && !isfinite(out[i]);
    }
    return past_range;
}

/* Copies what is wanted of a decoded block of `height` rows at (y, x). */
static void copy_block(struct tiff_pages *pages, struct wanted *wanted, int64_t y, int64_t x, int64_t height,
                       int64_t width)
{
    const size_t bytes = ts_dtype_bytes(pages->dtype), stored = ts_dtype_bytes(pages->stored);
    const int64_t end = y + height < wanted->row + wanted->n ? y + height : wanted->row + wanted->n;
    const int64_t columns = x + width < pages->width ? width : pages->width - x;
    for (int64_t row = y > wanted->row ? y : wanted->row; row < end; row++) {
        void *out = wanted->out + (size_t)(row - wanted->row) * wanted->pitch + (size_t)x * bytes;
        const void *in = pages->block + (size_t)((row - y) * width) * stored;
        if (pages->stored != pages->dtype) {
            wanted->past_range |= narrow_row(out, in, columns);
            ts_rounding_of_doubles(&pages->rounding, in, (size_t)columns);
        } else
            memcpy(out, in, (size_t)columns * bytes);
    }
}

static int64_t rows_per_strip(const struct tiff_pages *pages)
{
    uint32_t rows = 0;
    TIFFGetFieldDefaulted(pages->handle, TIFFTAG_ROWSPERSTRIP, &rows);
    return rows == 0 || rows > pages->height ? pages->height : rows;
}

static bool read_strips(struct tiff_pages *pages, struct wanted *wanted)
{
    const int64_t rows = rows_per_strip(pages);
    for (int64_t y = wanted->row / rows * rows; y < wanted->row + wanted->n; y += rows) {
        const int64_t height = y + rows < pages->height ? rows : pages->height - y;
        const tmsize_t bytes = (tmsize_t)((size_t)(height * pages->width) * ts_dtype_bytes(pages->stored));
        if (TIFFReadEncodedStrip(pages->handle, (uint32_t)(y / rows), pages->block, bytes) != bytes)
            return false;
        copy_block(pages, wanted, y, 0, height, pages->width);
    }
    return true;
}

static void swap_values(void *values, tmsize_t n, size_t bytes)
{
    if (bytes == 2)
        TIFFSwabArrayOfShort(values, n);
    else if (bytes == 4)
        TIFFSwabArrayOfLong(values, n);
    else if (bytes == 8)
        TIFFSwabArrayOfDouble(values, n);
}

/* Reads the rows that are wanted and no others. The check of the page has found its strips whole. */
static bool read_plain_rows(struct tiff_pages *pages, struct wanted *wanted)
{
    const size_t size = ts_dtype_bytes(pages->stored);
    const int64_t rows = rows_per_strip(pages), end = wanted->row + wanted->n;
    for (int64_t row = wanted->row, past; row < end; row = past) {
        const int64_t strip = row / rows, next = (strip + 1) * rows;
        past = next < end ? next : end;
        const int64_t n = (past - row) * pages->width;
        const uint64_t at = TIFFGetStrileOffset(pages->handle, (uint32_t)strip);
        if (!ts_file_read_at(TIFFFileno(pages->handle), pages->block, (size_t)n * size,
                             at + (uint64_t)((row - strip * rows) * pages->width) * size))
            return false;
        if (TIFFIsByteSwapped(pages->handle))
            swap_values(pages->block, (tmsize_t)n, size);
        copy_block(pages, wanted, row, 0, past - row, pages->width);
    }
    return true;
}

static bool read_tiles(struct tiff_pages *pages, struct wanted *wanted)
{
    uint32_t width = 0, height = 0;
    TIFFGetField(pages->handle, TIFFTAG_TILEWIDTH, &width);
    TIFFGetField(pages->handle, TIFFTAG_TILELENGTH, &height);
    const tmsize_t bytes = (tmsize_t)((size_t)width * height * ts_dtype_bytes(pages->stored));
    const int64_t across = (pages->width + width - 1) / width;
    for (int64_t y = wanted->row / height * height; y < wanted->row + wanted->n; y += height)
        for (int64_t i = 0; i < across; i++) {
            const uint32_t tile = (uint32_t)(y / height * across + i);
            if (TIFFReadEncodedTile(pages->handle, tile, pages->block, bytes) != bytes)
                return false;
            copy_block(pages, wanted, y, i * width, height, width);
        }
    return true;
}

enum ts_status ts_tiff_pages_read(struct tiff_pages *pages, int64_t page, int64_t row, int64_t n, void *out,
                                  size_t pitch, struct ts_diag *diag)
{
    const struct tiff_page *at = &pages->pages[page];
    struct wanted wanted = {.row = row, .n = n, .out = out, .pitch = pitch};
    if (!pages->block)
        pages->block = malloc(pages->block_bytes);
    if (!pages->block)
        return ts_diag_no_memory(diag, pages->block_bytes);
    enum ts_status status = ts_tiff_open(pages, at->file, true, diag);
    if (status != TS_OK)
        return status;
    pages->problem[0] = 0;
    errno = 0;
    /* The file may have been written to since: what was checked is checked again, without effect on what is known. */
    if (TIFFCurrentDirOffset(pages->handle) != at->directory && !TIFFSetSubDirectory(pages->handle, at->directory))
        return ts_tiff_refuse(pages, at, "tiff-directory", diag, "its directory cannot be read: %s", pages->problem);
    const size_t known = pages->block_bytes;
    status = ts_tiff_check(pages, at, diag);
    if (status != TS_OK)
        return status;
    if (pages->block_bytes != known) {
        pages->block_bytes = known;
        return ts_tiff_refuse(pages, at, "file-changed", diag, "its strips or tiles were changed after the check");
    }
    if (!(TIFFIsTiled(pages->handle)      ? read_tiles(pages, &wanted)
          : ts_tiff_has_plain_rows(pages) ? read_plain_rows(pages, &wanted)
                                          : read_strips(pages, &wanted)))
        return ts_tiff_refuse(pages, at, "tiff-truncated", diag, "its pixels cannot be decoded whole: %s",
                              errno               ? ts_errno_text(errno)
                              : pages->problem[0] ? pages->problem
                                                  : "data is missing");
    return wanted.past_range
               ? ts_tiff_refuse(pages, at, "tiff-range", diag, "it holds values past the range of 32-bit floats")
               : TS_OK;
}
