/* SPDX-License-Identifier: Apache-2.0
 *
 * This checks a TIFF page before it is decoded. It must have one gray channel of 8, 16, 32 or 64 bits, rows
 * from the top, a lossless codec of the list, and strips or tiles, and a directory, that lie whole in the file.
 */
#include "io/scan/tiff_check.h"

#include <errno.h>
#include <stdio.h>
#include <tiffio.h>

#include "io/file/file_bytes.h"

/* More than deflate (1032), LZW (about 1300) and PackBits (64) can reach. */
enum { MAX_RATIO = 2048 };

bool ts_tiff_library_refuse(struct tiff_library *library, const char *code, const char *format, ...)
{
    struct tiff_reply *reply = library->reply;
    va_list arguments;
    const bool lacks_memory = errno == ENOMEM && ts_sandbox_lacks_memory();
    reply->number = library->page.number;
    va_start(arguments, format);
    vsnprintf(reply->verdict.text, sizeof reply->verdict.text, format, arguments);
    va_end(arguments);
    ts_worker_refuse(&reply->verdict, lacks_memory ? TS_RUN_FAILED : TS_BAD_INPUT, lacks_memory ? "no-memory" : code,
                     NULL);
    return false;
}

static uint16_t field(TIFF *handle, uint32_t tag, uint16_t otherwise)
{
    uint16_t value;
    return TIFFGetField(handle, tag, &value) ? value : otherwise;
}

static bool check_colors(struct tiff_library *library)
{
    TIFF *handle = library->handle;
    const int samples = field(handle, TIFFTAG_SAMPLESPERPIXEL, 1);
    const int photometric = field(handle, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
    const int orientation = field(handle, TIFFTAG_ORIENTATION, ORIENTATION_TOPLEFT);
    const int compression = field(handle, TIFFTAG_COMPRESSION, COMPRESSION_NONE);
    uint32_t kind = 0;
    if (samples != 1)
        return ts_tiff_library_refuse(library, "tiff-channels", "%d channels, one is read", samples);
    library->page.white_is_zero = photometric == PHOTOMETRIC_MINISWHITE;
    if (photometric != PHOTOMETRIC_MINISBLACK && photometric != PHOTOMETRIC_MINISWHITE)
        return ts_tiff_library_refuse(library, "tiff-color", "photometric interpretation %d is not gray", photometric);
    if (orientation != ORIENTATION_TOPLEFT)
        return ts_tiff_library_refuse(library, "tiff-orientation",
                                      "orientation %d; only rows from the top, columns from the left (1) are read",
                                      orientation);
    if (TIFFGetField(handle, TIFFTAG_SUBFILETYPE, &kind) && kind & (FILETYPE_REDUCEDIMAGE | FILETYPE_MASK))
        return ts_tiff_library_refuse(library, "tiff-page-kind", "a %s, not an image of its own",
                                      kind & FILETYPE_MASK ? "mask" : "reduced copy of another page");
    if (compression != COMPRESSION_NONE && compression != COMPRESSION_LZW && compression != COMPRESSION_PACKBITS &&
        compression != COMPRESSION_DEFLATE && compression != COMPRESSION_ADOBE_DEFLATE)
        return ts_tiff_library_refuse(library, "tiff-compression",
                                      "compression %d; none, LZW, deflate and PackBits are read", compression);
    return true;
}

static bool find_dtype(TIFF *handle, enum ts_dtype *dtype, int *bits, int *format)
{
    *bits = field(handle, TIFFTAG_BITSPERSAMPLE, 1);
    *format = field(handle, TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_UINT);
    const bool is_signed = *format == SAMPLEFORMAT_INT;
    if (*format == SAMPLEFORMAT_IEEEFP && *bits == 16)
        *dtype = TS_F16;
    else if (*format == SAMPLEFORMAT_IEEEFP && *bits == 32)
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
    else if (*bits == 64)
        *dtype = TS_U64;
    else
        return false;
    return true;
}

static bool check_size(struct tiff_library *library)
{
    uint32_t width = 0, height = 0;
    enum ts_dtype dtype;
    int bits, format;
    if (!TIFFGetField(library->handle, TIFFTAG_IMAGEWIDTH, &width) ||
        !TIFFGetField(library->handle, TIFFTAG_IMAGELENGTH, &height) || width < 1 || height < 1 ||
        width > TIFF_MAX_SIDE || height > TIFF_MAX_SIDE)
        return ts_tiff_library_refuse(library, "tiff-size", "%u x %u pixels; 1 to %d a side are read", width, height,
                                      (int)TIFF_MAX_SIDE);
    if (!find_dtype(library->handle, &dtype, &bits, &format))
        return ts_tiff_library_refuse(
            library, "tiff-type",
            "%d bits of sample format %d; integers of 8, 16, 32 and 64 bits and floats of 16, 32 and 64 are read", bits,
            format);
    library->page.width = width;
    library->page.height = height;
    library->page.dtype = (uint32_t)dtype;
    library->page.is_signed = format == SAMPLEFORMAT_INT;
    return true;
}

/* This is the grid of the strips or tiles of a page. */
struct blocks {
    uint64_t n, tile_bytes;
    uint32_t rows;
    bool tiled;
};

static bool find_blocks(struct tiff_library *library, struct blocks *blocks)
{
    TIFF *handle = library->handle;
    const struct tiff_page *page = &library->page;
    uint32_t width = 0, height = 0, rows = 0;
    *blocks = (struct blocks){.tiled = TIFFIsTiled(handle)};
    if (!blocks->tiled) {
        TIFFGetFieldDefaulted(handle, TIFFTAG_ROWSPERSTRIP, &rows);
        blocks->rows = rows == 0 || rows > page->height ? page->height : rows;
        blocks->n = ((uint64_t)page->height + blocks->rows - 1) / blocks->rows;
        return true;
    }
    if (!TIFFGetField(handle, TIFFTAG_TILEWIDTH, &width) || !TIFFGetField(handle, TIFFTAG_TILELENGTH, &height) ||
        width % 16 || height % 16 || width == 0 || height == 0 || width > TIFF_MAX_SIDE || height > TIFF_MAX_SIDE ||
        (uint64_t)width * height > TIFF_MAX_BLOCK / 4)
        return ts_tiff_library_refuse(library, "tiff-tiles", "tiles of %u x %u pixels cannot be read", width, height);
    blocks->rows = height;
    blocks->tile_bytes = (uint64_t)width * height * ts_dtype_bytes((enum ts_dtype)page->dtype);
    blocks->n = (((uint64_t)page->width + width - 1) / width) * (((uint64_t)page->height + height - 1) / height);
    return true;
}

/* Returns the decoded bytes of strip or tile i. */
static uint64_t decoded_bytes(const struct tiff_page *page, const struct blocks *blocks, uint32_t i)
{
    const uint64_t left = page->height - (uint64_t)i * blocks->rows;
    return blocks->tiled
               ? blocks->tile_bytes
               : (left < blocks->rows ? left : blocks->rows) * page->width * ts_dtype_bytes((enum ts_dtype)page->dtype);
}

static bool check_blocks(struct tiff_library *library)
{
    TIFF *handle = library->handle;
    struct tiff_page *page = &library->page;
    struct blocks blocks;
    if (!find_blocks(library, &blocks))
        return false;
    if ((uint64_t)page->width * blocks.rows * ts_dtype_bytes((enum ts_dtype)page->dtype) > TIFF_MAX_TOGETHER &&
        blocks.tiled)
        return ts_tiff_library_refuse(library, "tiff-tiles", "a row of tiles has more than %d MiB",
                                      (int)(TIFF_MAX_TOGETHER >> 20));
    const uint64_t file_bytes = library->bytes,
                   found = blocks.tiled ? TIFFNumberOfTiles(handle) : TIFFNumberOfStrips(handle);
    if (found != blocks.n)
        return ts_tiff_library_refuse(library, "tiff-truncated", "%llu strips or tiles, but its size needs %llu",
                                      (unsigned long long)found, (unsigned long long)blocks.n);
    const bool raw = field(handle, TIFFTAG_COMPRESSION, 1) == COMPRESSION_NONE;
    bool plain = raw && !blocks.tiled && field(handle, TIFFTAG_FILLORDER, FILLORDER_MSB2LSB) == FILLORDER_MSB2LSB;
    uint64_t end = TIFFGetStrileOffset(handle, 0);
    page->pixels = end;
    for (uint32_t i = 0; i < blocks.n; i++) {
        const uint64_t bytes = decoded_bytes(page, &blocks, i), at = TIFFGetStrileOffset(handle, i),
                       count = TIFFGetStrileByteCount(handle, i), need = raw ? bytes : count;
        if (count == 0 || need > file_bytes || at > file_bytes - need || count < need)
            return ts_tiff_library_refuse(library, "tiff-truncated",
                                          "strip or tile %u has %llu bytes at %llu of a file of %llu, %llu are needed",
                                          i, (unsigned long long)count, (unsigned long long)at,
                                          (unsigned long long)file_bytes, (unsigned long long)need);
        if (bytes / MAX_RATIO > count || bytes > TIFF_MAX_BLOCK)
            return ts_tiff_library_refuse(library, "tiff-strip-size",
                                          "strip or tile %u claims %llu bytes from %llu, more than is decoded", i,
                                          (unsigned long long)bytes, (unsigned long long)count);
        page->block_bytes = bytes > page->block_bytes ? bytes : page->block_bytes;
        page->raw_bytes = need > page->raw_bytes ? need : page->raw_bytes;
        plain = plain && at == end;
        end = at + bytes;
    }
    page->rows = plain ? 1 : blocks.rows;
    if (plain)
        page->block_bytes = page->raw_bytes = 0;
    else
        page->pixels = 0;
    page->swapped = TIFFIsByteSwapped(handle);
    return true;
}

/* Reads an unsigned number of 2, 4 or 8 bytes at `offset`, in the file's byte order. */
static bool read_number(const struct tiff_library *library, uint64_t offset, size_t bytes, uint64_t *number)
{
    unsigned char raw[8];
    if (!ts_file_read_at(library->fd, raw, bytes, offset))
        return false;
    *number = 0;
    for (size_t i = 0; i < bytes; i++)
        *number = *number << 8 | raw[TIFFIsBigEndian(library->handle) ? i : bytes - 1 - i];
    return true;
}

/* libtiff takes the bytes of a next-directory pointer that it cannot read for zeros, and a zero is the end of the list:
 * a file cut there would be a shorter one. So the pointer is read here too. A directory is a count, the entries and
 * that pointer (TIFF 6.0, section 2). */
static bool check_directory(struct tiff_library *library)
{
    const struct tiff_page *page = &library->page;
    const uint64_t file_bytes = library->bytes;
    const bool big = TIFFIsBigTIFF(library->handle);
    const size_t count_bytes = big ? 8 : 2, entry_bytes = big ? 20 : 12, pointer_bytes = big ? 8 : 4;
    uint64_t n = 0;
    errno = 0;
    if (page->directory > file_bytes || !read_number(library, page->directory, count_bytes, &n))
        return ts_tiff_library_refuse(library, "tiff-truncated", "its directory at %llu cannot be read: %s",
                                      (unsigned long long)page->directory,
                                      errno ? ts_errno_text(errno) : "the file ends before it");
    const uint64_t left = file_bytes - page->directory, ends = count_bytes + pointer_bytes;
    if (left < ends || n > (left - ends) / entry_bytes)
        return ts_tiff_library_refuse(
            library, "tiff-truncated",
            "its directory at %llu of %llu entries and the pointer to the next page end past the file's %llu bytes",
            (unsigned long long)page->directory, (unsigned long long)n, (unsigned long long)file_bytes);
    if (!read_number(library, page->directory + count_bytes + n * entry_bytes, pointer_bytes, &library->next))
        return ts_tiff_library_refuse(library, "tiff-truncated", "the pointer to the next page cannot be read: %s",
                                      errno ? ts_errno_text(errno) : "the file ends before it");
    return true;
}

bool ts_tiff_check(struct tiff_library *library)
{
    library->page =
        (struct tiff_page){.number = library->page.number, .directory = TIFFCurrentDirOffset(library->handle)};
    return check_directory(library) && check_colors(library) && check_size(library) && check_blocks(library);
}
