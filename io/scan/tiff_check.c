/* SPDX-License-Identifier: Apache-2.0
 *
 * This checks a TIFF page before it is decoded. It must have one gray channel of 8, 16, 32 or (floats) 64 bits, rows
 * from the top, a lossless codec of the list, and strips or tiles, and a directory, that lie whole in the file.
 * libtiff's messages are kept, never printed.
 */
#include "io/scan/tiff_check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <tiffio.h>
#include <unistd.h>

#include "io/file/file_bytes.h"

/* More than deflate (1032), LZW (about 1300) and PackBits (64) can reach. */
enum { MAX_RATIO = 2048, MAX_LIBRARY_BYTES = 1 << 28 };

__attribute__((format(printf, 4, 0))) static int keep_error(TIFF *handle, void *user, const char *module,
                                                            const char *format, va_list arguments)
{
    struct tiff_pages *pages = user;
    (void)handle;
    (void)module;
    vsnprintf(pages->problem, sizeof pages->problem, format, arguments);
    return 1;
}

__attribute__((format(printf, 4, 0))) static int keep_warning(TIFF *handle, void *user, const char *module,
                                                              const char *format, va_list arguments)
{
    struct tiff_pages *pages = user;
    (void)handle;
    (void)module;
    if (pages->n_warnings++ == 0)
        vsnprintf(pages->warning, sizeof pages->warning, format, arguments);
    return 1;
}

enum ts_status ts_tiff_refuse(const struct tiff_pages *pages, const struct tiff_page *page, const char *code,
                              struct ts_diag *diag, const char *format, ...)
{
    char text[2 * TIFF_TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return ts_diag_error(diag, TS_BAD_INPUT, TIFF_SITE(pages, code), "%s, page %d: %s", pages->files[page->file].path,
                         (int)page->number, text);
}

/* Opens the file without memory mapping, because a file that is cut while it is read must be an error, not a signal. */
static TIFF *open_library(struct tiff_pages *pages, int fd, const char *path)
{
    TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
    if (!options)
        return NULL;
    TIFFOpenOptionsSetMaxSingleMemAlloc(options, MAX_LIBRARY_BYTES);
    TIFFOpenOptionsSetErrorHandlerExtR(options, keep_error, pages);
    TIFFOpenOptionsSetWarningHandlerExtR(options, keep_warning, pages);
    TIFF *handle = TIFFFdOpenExt(fd, path, "rm", options);
    TIFFOpenOptionsFree(options);
    return handle;
}

void ts_tiff_close_file(struct tiff_pages *pages)
{
    if (pages->handle)
        TIFFClose(pages->handle);
    pages->handle = NULL;
}

/* Opens the file through libtiff; `pages` keeps it open. */
static enum ts_status open_descriptor(struct tiff_pages *pages, int64_t i, int fd, struct ts_diag *diag)
{
    errno = 0;
    pages->handle = open_library(pages, fd, pages->files[i].path);
    pages->open = i;
    if (pages->handle)
        return TS_OK;
    const int error = errno;
    close(fd);
    ts_diag_error(diag, TS_BAD_INPUT, TIFF_SITE(pages, "tiff-unreadable"), "%s: not a TIFF file that can be read: %s",
                  pages->files[i].path, error ? ts_errno_text(error) : pages->problem);
    return ts_diag_hint(diag, TIFF_UNREADABLE_HINT);
}

enum ts_status ts_tiff_open(struct tiff_pages *pages, int64_t i, bool known, struct ts_diag *diag)
{
    struct tiff_file *file = &pages->files[i];
    struct stat now;
    if (pages->handle && pages->open == i)
        return TS_OK;
    ts_tiff_close_file(pages);
    pages->problem[0] = 0;
    errno = 0;
    const int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &now) != 0 || !S_ISREG(now.st_mode)) {
        ts_diag_error(diag, TS_BAD_INPUT, TIFF_SITE(pages, "input-unreadable"), "cannot read %s: %s", file->path,
                      errno ? ts_errno_text(errno) : "it is not a file");
        ts_diag_hint(diag, TIFF_UNREADABLE_HINT);
        if (fd >= 0)
            close(fd);
        return TS_BAD_INPUT;
    }
    if (known && (now.st_dev != file->device || now.st_ino != file->inode || now.st_size != file->bytes ||
                  now.st_mtim.tv_sec != file->modified.tv_sec || now.st_mtim.tv_nsec != file->modified.tv_nsec)) {
        close(fd);
        return ts_diag_error(diag, TS_BAD_INPUT, TIFF_SITE(pages, "file-changed"),
                             "%s: the file was changed after it was checked", file->path);
    }
    if (!known) {
        file->device = now.st_dev;
        file->inode = now.st_ino;
        file->bytes = now.st_size;
        file->modified = now.st_mtim;
    }
    return open_descriptor(pages, i, fd, diag);
}

static uint16_t field(TIFF *handle, uint32_t tag, uint16_t otherwise)
{
    uint16_t value;
    return TIFFGetField(handle, tag, &value) ? value : otherwise;
}

static enum ts_status check_colors(const struct tiff_pages *pages, const struct tiff_page *page, struct ts_diag *diag)
{
    TIFF *handle = pages->handle;
    const int samples = field(handle, TIFFTAG_SAMPLESPERPIXEL, 1);
    const int photometric = field(handle, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
    const int orientation = field(handle, TIFFTAG_ORIENTATION, ORIENTATION_TOPLEFT);
    const int compression = field(handle, TIFFTAG_COMPRESSION, COMPRESSION_NONE);
    uint32_t kind = 0;
    if (samples != 1)
        return ts_tiff_refuse(pages, page, "tiff-channels", diag, "%d channels, one is read", samples);
    if (photometric == PHOTOMETRIC_MINISWHITE)
        return ts_tiff_refuse(pages, page, "tiff-inverted", diag,
                              "its values say that zero is white; only gray with black at zero is read");
    if (photometric != PHOTOMETRIC_MINISBLACK)
        return ts_tiff_refuse(pages, page, "tiff-color", diag, "photometric interpretation %d is not gray",
                              photometric);
    if (orientation != ORIENTATION_TOPLEFT)
        return ts_tiff_refuse(pages, page, "tiff-orientation", diag,
                              "orientation %d; only rows from the top, columns from the left (1) are read",
                              orientation);
    if (TIFFGetField(handle, TIFFTAG_SUBFILETYPE, &kind) && kind & (FILETYPE_REDUCEDIMAGE | FILETYPE_MASK))
        return ts_tiff_refuse(pages, page, "tiff-page-kind", diag, "a %s, not an image of its own",
                              kind & FILETYPE_MASK ? "mask" : "reduced copy of another page");
    if (compression != COMPRESSION_NONE && compression != COMPRESSION_LZW && compression != COMPRESSION_PACKBITS &&
        compression != COMPRESSION_DEFLATE && compression != COMPRESSION_ADOBE_DEFLATE)
        return ts_tiff_refuse(pages, page, "tiff-compression", diag,
                              "compression %d; none, LZW, deflate and PackBits are read", compression);
    return TS_OK;
}

static bool find_dtype(TIFF *handle, enum ts_dtype *dtype, int *bits, int *format)
{
    *bits = field(handle, TIFFTAG_BITSPERSAMPLE, 1);
    *format = field(handle, TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_UINT);
    const bool is_signed = *format == SAMPLEFORMAT_INT;
    if (*format == SAMPLEFORMAT_IEEEFP && *bits == 32)
        *dtype = TS_F32;
    else if (*format == SAMPLEFORMAT_IEEEFP && *bits == 64)
        *dtype = TS_F64;
    else if (!is_signed && *format != SAMPLEFORMAT_UINT)
        return false;
    else if (*bits == 8)
        *dtype = is_signed ? TS_I8 : TS_U8;
    else if (*bits == 16)
        *dtype = is_signed ? TS_I16 : TS_U16;
    else if (*bits == 32)
        *dtype = is_signed ? TS_I32 : TS_U32;
    else
        return false;
    return true;
}

static enum ts_status check_size(struct tiff_pages *pages, const struct tiff_page *page, struct ts_diag *diag)
{
    uint32_t width = 0, height = 0;
    enum ts_dtype dtype;
    int bits, format;
    if (!TIFFGetField(pages->handle, TIFFTAG_IMAGEWIDTH, &width) ||
        !TIFFGetField(pages->handle, TIFFTAG_IMAGELENGTH, &height) || width < 1 || height < 1 ||
        width > TIFF_MAX_SIDE || height > TIFF_MAX_SIDE)
        return ts_tiff_refuse(pages, page, "tiff-size", diag, "%u x %u pixels; 1 to %d a side are read", width, height,
                              (int)TIFF_MAX_SIDE);
    if (!find_dtype(pages->handle, &dtype, &bits, &format))
        return ts_tiff_refuse(
            pages, page, "tiff-type", diag,
            "%d bits of sample format %d; integers of 8, 16 and 32 bits and floats of 32 and 64 are read", bits,
            format);
    if (pages->width == 0) {
        pages->width = width;
        pages->height = height;
        pages->stored = dtype;
        pages->dtype = dtype == TS_F64 && !pages->doubles ? TS_F32 : dtype;
    }
    if (width != pages->width || height != pages->height || dtype != pages->stored)
        return ts_tiff_refuse(pages, page, "tiff-pages-differ", diag,
                              "%u x %u pixels of %s, but the first page has %lld x %lld of %s", width, height,
                              ts_dtype_name(dtype), (long long)pages->width, (long long)pages->height,
                              ts_dtype_name(pages->stored));
    return TS_OK;
}

/* Returns the decoded bytes of strip or tile i; rows_per_strip is 0 for tiles. */
static uint64_t decoded_bytes(const struct tiff_pages *pages, uint32_t i, uint32_t rows_per_strip, uint64_t tile_bytes)
{
    if (rows_per_strip == 0)
        return tile_bytes;
    const int64_t left = pages->height - (int64_t)i * rows_per_strip;
    return (uint64_t)(left < rows_per_strip ? left : rows_per_strip) * (uint64_t)pages->width *
           ts_dtype_bytes(pages->stored);
}

bool ts_tiff_has_plain_rows(const struct tiff_pages *pages)
{
    return !TIFFIsTiled(pages->handle) && field(pages->handle, TIFFTAG_COMPRESSION, 1) == COMPRESSION_NONE &&
           field(pages->handle, TIFFTAG_FILLORDER, FILLORDER_MSB2LSB) == FILLORDER_MSB2LSB;
}

static enum ts_status check_blocks(struct tiff_pages *pages, const struct tiff_page *page, struct ts_diag *diag)
{
    TIFF *handle = pages->handle;
    const uint64_t file_bytes = (uint64_t)pages->files[page->file].bytes;
    const bool tiled = TIFFIsTiled(handle), raw = field(handle, TIFFTAG_COMPRESSION, 1) == COMPRESSION_NONE;
    uint32_t rows = 0, tile_width = 0, tile_height = 0;
    uint64_t expected, n = 1;
    if (tiled) {
        if (!TIFFGetField(handle, TIFFTAG_TILEWIDTH, &tile_width) ||
            !TIFFGetField(handle, TIFFTAG_TILELENGTH, &tile_height) || tile_width % 16 || tile_height % 16 ||
            tile_width == 0 || tile_height == 0 || tile_width > TIFF_MAX_SIDE || tile_height > TIFF_MAX_SIDE ||
            (uint64_t)tile_width * tile_height > MAX_LIBRARY_BYTES / 4)
            return ts_tiff_refuse(pages, page, "tiff-tiles", diag, "tiles of %u x %u pixels cannot be read", tile_width,
                                  tile_height);
        n = (((uint64_t)pages->width + tile_width - 1) / tile_width) *
            (((uint64_t)pages->height + tile_height - 1) / tile_height);
    } else {
        TIFFGetFieldDefaulted(handle, TIFFTAG_ROWSPERSTRIP, &rows);
        if (rows == 0 || rows > pages->height)
            rows = (uint32_t)pages->height;
        n = ((uint64_t)pages->height + rows - 1) / rows;
    }
    const int64_t together = tiled ? tile_height : ts_tiff_has_plain_rows(pages) ? 1 : rows;
    pages->rows_together = together > pages->rows_together ? together : pages->rows_together;
    expected = tiled ? TIFFNumberOfTiles(handle) : TIFFNumberOfStrips(handle);
    if (expected != n)
        return ts_tiff_refuse(pages, page, "tiff-truncated", diag, "%llu strips or tiles, but its size needs %llu",
                              (unsigned long long)expected, (unsigned long long)n);
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t tile = (uint64_t)tile_width * tile_height * ts_dtype_bytes(pages->stored);
        const uint64_t bytes = decoded_bytes(pages, i, rows, tile), at = TIFFGetStrileOffset(handle, i),
                       count = TIFFGetStrileByteCount(handle, i), need = raw ? bytes : count;
        if (count == 0 || need > file_bytes || at > file_bytes - need || count < need)
            return ts_tiff_refuse(pages, page, "tiff-truncated", diag,
                                  "strip or tile %u has %llu bytes at %llu of a file of %llu, %llu are needed", i,
                                  (unsigned long long)count, (unsigned long long)at, (unsigned long long)file_bytes,
                                  (unsigned long long)need);
        if (bytes / MAX_RATIO > count || bytes > MAX_LIBRARY_BYTES)
            return ts_tiff_refuse(pages, page, "tiff-strip-size", diag,
                                  "strip or tile %u claims %llu bytes from %llu, more than is decoded", i,
                                  (unsigned long long)bytes, (unsigned long long)count);
        pages->block_bytes = bytes > pages->block_bytes ? (size_t)bytes : pages->block_bytes;
        pages->raw_bytes = need > pages->raw_bytes ? (size_t)need : pages->raw_bytes;
    }
    return TS_OK;
}

/* Reads an unsigned number of 2, 4 or 8 bytes at `offset`, in the file's byte order. */
static bool read_number(const struct tiff_pages *pages, uint64_t offset, size_t bytes, uint64_t *number)
{
    unsigned char raw[8];
    if (offset > INT64_MAX || pread(TIFFFileno(pages->handle), raw, bytes, (off_t)offset) != (ssize_t)bytes)
        return false;
    *number = 0;
    for (size_t i = 0; i < bytes; i++)
        *number = *number << 8 | raw[TIFFIsBigEndian(pages->handle) ? i : bytes - 1 - i];
    return true;
}

/* libtiff takes the bytes of a next-directory pointer that it cannot read for zeros, and a zero is the end of the list:
 * a file cut there would be a shorter one. So the pointer is read here too. A directory is a count, the entries and
 * that pointer (TIFF 6.0, section 2). */
static enum ts_status check_directory(struct tiff_pages *pages, const struct tiff_page *page, struct ts_diag *diag)
{
    const uint64_t file_bytes = (uint64_t)pages->files[page->file].bytes;
    const bool big = TIFFIsBigTIFF(pages->handle);
    const size_t count_bytes = big ? 8 : 2, entry_bytes = big ? 20 : 12, pointer_bytes = big ? 8 : 4;
    uint64_t n = 0;
    errno = 0;
    if (page->directory > file_bytes || !read_number(pages, page->directory, count_bytes, &n))
        return ts_tiff_refuse(pages, page, "tiff-truncated", diag, "its directory at %llu cannot be read: %s",
                              (unsigned long long)page->directory,
                              errno ? ts_errno_text(errno) : "the file ends before it");
    const uint64_t left = file_bytes - page->directory, ends = count_bytes + pointer_bytes;
    if (left < ends || n > (left - ends) / entry_bytes)
        return ts_tiff_refuse(
            pages, page, "tiff-truncated", diag,
            "its directory at %llu of %llu entries and the pointer to the next page end past the file's %llu bytes",
            (unsigned long long)page->directory, (unsigned long long)n, (unsigned long long)file_bytes);
    if (!read_number(pages, page->directory + count_bytes + n * entry_bytes, pointer_bytes, &pages->next_directory))
        return ts_tiff_refuse(pages, page, "tiff-truncated", diag, "the pointer to the next page cannot be read: %s",
                              errno ? ts_errno_text(errno) : "the file ends before it");
    return TS_OK;
}

enum ts_status ts_tiff_check(struct tiff_pages *pages, const struct tiff_page *page, struct ts_diag *diag)
{
    enum ts_status status = check_directory(pages, page, diag);
    if (status == TS_OK)
        status = check_colors(pages, page, diag);
    if (status == TS_OK)
        status = check_size(pages, page, diag);
    return status == TS_OK ? check_blocks(pages, page, diag) : status;
}
