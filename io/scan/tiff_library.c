/* SPDX-License-Identifier: Apache-2.0
 *
 * The worker's side of reading TIFF files. It keeps one file open from job to job, so that the
 * pages of a long file are found one after the other. libtiff reads only through pread(), because
 * the sandbox allows no other way, and without memory mapping, because a file that is cut while it
 * is read must be an error. Its messages are kept, never printed.
 */
#include "io/scan/tiff_library.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tiffio.h>
#include <unistd.h>

#include "io/file/file_bytes.h"
#include "io/scan/tiff_text.h"

/* ---- checks ---------------------------------------------------------------------------------- */

/* A page is checked before anything of it is decoded. It must have one gray channel of 8, 16, 32 or
 * 64 bits, rows from the top, a lossless codec of the list, and strips or tiles, and a directory,
 * that are whole in the file. */

/* More than deflate (1032), LZW (about 1300) and PackBits (64) can reach. */
enum { MAX_RATIO = 2048 };

/* Refuses, in the reply, the page whose number is in library->page; 0: the file. Returns false. */
static bool refuse_page(struct tiff_library *library, const char *code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static bool refuse_page(struct tiff_library *library, const char *code, const char *format, ...)
{
    struct tiff_reply *reply = library->reply;
    va_list arguments;
    const bool lacks_memory = errno == ENOMEM && ts_sandbox_lacks_memory();
    reply->number = library->page.number;
    va_start(arguments, format);
    vsnprintf(reply->verdict.text, sizeof reply->verdict.text, format, arguments);
    va_end(arguments);
    ts_worker_refuse(&reply->verdict, lacks_memory ? TS_RUN_FAILED : TS_BAD_INPUT,
                     lacks_memory ? "no-memory" : code, NULL);
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
        return refuse_page(library, "tiff-channels", "%d channels, one is read", samples);
    library->page.white_is_zero = photometric == PHOTOMETRIC_MINISWHITE;
    if (photometric != PHOTOMETRIC_MINISBLACK && photometric != PHOTOMETRIC_MINISWHITE)
        return refuse_page(library, "tiff-color", "photometric interpretation %d is not gray",
                           photometric);
    if (orientation != ORIENTATION_TOPLEFT)
        return refuse_page(
            library, "tiff-orientation",
            "orientation %d; only rows from the top, columns from the left (1) are read",
            orientation);
    if (TIFFGetField(handle, TIFFTAG_SUBFILETYPE, &kind) &&
        kind & (FILETYPE_REDUCEDIMAGE | FILETYPE_MASK))
        return refuse_page(library, "tiff-page-kind", "a %s, not an image of its own",
                           kind & FILETYPE_MASK ? "mask" : "reduced copy of another page");
    if (compression != COMPRESSION_NONE && compression != COMPRESSION_LZW &&
        compression != COMPRESSION_PACKBITS && compression != COMPRESSION_DEFLATE &&
        compression != COMPRESSION_ADOBE_DEFLATE)
        return refuse_page(library, "tiff-compression",
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
        return refuse_page(library, "tiff-size", "%u x %u pixels; 1 to %d a side are read", width,
                           height, (int)TIFF_MAX_SIDE);
    if (!find_dtype(library->handle, &dtype, &bits, &format))
        return refuse_page(library, "tiff-type",
                           "%d bits of sample format %d; integers of 8, 16, 32 and 64 bits and "
                           "floats of 16, 32 and 64 are read",
                           bits, format);
    library->page.width = width;
    library->page.height = height;
    library->page.dtype = (uint32_t)dtype;
    library->page.is_signed = format == SAMPLEFORMAT_INT;
    return true;
}

/* libtiff refuses such pages only when it decodes them. */
static bool check_predictor(struct tiff_library *library)
{
    const int predictor = field(library->handle, TIFFTAG_PREDICTOR, PREDICTOR_NONE),
              format = field(library->handle, TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_UINT);
    if (predictor == PREDICTOR_FLOATINGPOINT && format != SAMPLEFORMAT_IEEEFP)
        return refuse_page(library, "tiff-compression",
                           "predictor %d, which is for floats, and its pixels are integers",
                           predictor);
    if (predictor < PREDICTOR_NONE || predictor > PREDICTOR_FLOATINGPOINT)
        return refuse_page(library, "tiff-compression", "predictor %d; 1 to 3 are known",
                           predictor);
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
    if (!TIFFGetField(handle, TIFFTAG_TILEWIDTH, &width) ||
        !TIFFGetField(handle, TIFFTAG_TILELENGTH, &height) || width % 16 || height % 16 ||
        width == 0 || height == 0 || width > TIFF_MAX_SIDE || height > TIFF_MAX_SIDE ||
        (uint64_t)width * height > TIFF_MAX_BLOCK / 4)
        return refuse_page(library, "tiff-tiles", "tiles of %u x %u pixels cannot be read", width,
                           height);
    blocks->rows = height;
    blocks->tile_bytes = (uint64_t)width * height * ts_dtype_bytes((enum ts_dtype)page->dtype);
    blocks->n = (((uint64_t)page->width + width - 1) / width) *
                (((uint64_t)page->height + height - 1) / height);
    return true;
}

/* Returns the decoded bytes of strip or tile i. */
static uint64_t decoded_bytes(const struct tiff_page *page, const struct blocks *blocks, uint32_t i)
{
    const uint64_t left = page->height - (uint64_t)i * blocks->rows;
    return blocks->tiled ? blocks->tile_bytes
                         : (left < blocks->rows ? left : blocks->rows) * page->width *
                               ts_dtype_bytes((enum ts_dtype)page->dtype);
}

static bool check_blocks(struct tiff_library *library)
{
    TIFF *handle = library->handle;
    struct tiff_page *page = &library->page;
    struct blocks blocks;
    if (!find_blocks(library, &blocks))
        return false;
    if ((uint64_t)page->width * blocks.rows * ts_dtype_bytes((enum ts_dtype)page->dtype) >
            TIFF_MAX_TOGETHER &&
        blocks.tiled)
        return refuse_page(library, "tiff-tiles", "a row of tiles has more than %d MiB",
                           (int)(TIFF_MAX_TOGETHER >> 20));
    const uint64_t file_bytes = library->bytes,
                   found = blocks.tiled ? TIFFNumberOfTiles(handle) : TIFFNumberOfStrips(handle);
    if (found != blocks.n)
        return refuse_page(library, "tiff-truncated",
                           "%llu strips or tiles, but its size needs %llu",
                           (unsigned long long)found, (unsigned long long)blocks.n);
    const bool raw = field(handle, TIFFTAG_COMPRESSION, 1) == COMPRESSION_NONE;
    bool plain = raw && !blocks.tiled &&
                 field(handle, TIFFTAG_FILLORDER, FILLORDER_MSB2LSB) == FILLORDER_MSB2LSB;
    uint64_t end = TIFFGetStrileOffset(handle, 0);
    page->pixels = end;
    for (uint32_t i = 0; i < blocks.n; i++) {
        const uint64_t bytes = decoded_bytes(page, &blocks, i), at = TIFFGetStrileOffset(handle, i),
                       count = TIFFGetStrileByteCount(handle, i), need = raw ? bytes : count;
        if (count == 0 || need > file_bytes || at > file_bytes - need || count < need)
            return refuse_page(
                library, "tiff-truncated",
                "strip or tile %u has %llu bytes at %llu of a file of %llu, %llu are needed", i,
                (unsigned long long)count, (unsigned long long)at, (unsigned long long)file_bytes,
                (unsigned long long)need);
        if (bytes / MAX_RATIO > count || bytes > TIFF_MAX_BLOCK)
            return refuse_page(library, "tiff-strip-size",
                               "strip or tile %u claims %llu bytes from %llu, more than is decoded",
                               i, (unsigned long long)bytes, (unsigned long long)count);
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
static bool read_number(const struct tiff_library *library, uint64_t offset, size_t bytes,
                        uint64_t *number)
{
    unsigned char raw[8];
    if (!ts_file_read_at(library->fd, raw, bytes, offset))
        return false;
    *number = 0;
    for (size_t i = 0; i < bytes; i++)
        *number = *number << 8 | raw[TIFFIsBigEndian(library->handle) ? i : bytes - 1 - i];
    return true;
}

/* If libtiff cannot read the bytes of a next-directory pointer, it takes them for zeros, and a zero
   ends the list: a file that is cut there would seem to be shorter. So the pointer is read here
   too. A directory is a count, the entries and that pointer (TIFF 6.0, section 2). */
static bool check_directory(struct tiff_library *library)
{
    const struct tiff_page *page = &library->page;
    const uint64_t file_bytes = library->bytes;
    const bool big = TIFFIsBigTIFF(library->handle);
    const size_t count_bytes = big ? 8 : 2, entry_bytes = big ? 20 : 12,
                 pointer_bytes = big ? 8 : 4;
    uint64_t n = 0;
    errno = 0;
    if (page->directory > file_bytes || !read_number(library, page->directory, count_bytes, &n))
        return refuse_page(library, "tiff-truncated", "its directory at %llu cannot be read: %s",
                           (unsigned long long)page->directory,
                           errno ? ts_errno_text(errno) : "the file ends before it");
    const uint64_t left = file_bytes - page->directory, ends = count_bytes + pointer_bytes;
    if (left < ends || n > (left - ends) / entry_bytes)
        return refuse_page(library, "tiff-truncated",
                           "its directory at %llu of %llu entries and the pointer to the next page "
                           "end past the file's %llu bytes",
                           (unsigned long long)page->directory, (unsigned long long)n,
                           (unsigned long long)file_bytes);
    if (!read_number(library, page->directory + count_bytes + n * entry_bytes, pointer_bytes,
                     &library->next))
        return refuse_page(library, "tiff-truncated",
                           "the pointer to the next page cannot be read: %s",
                           errno ? ts_errno_text(errno) : "the file ends before it");
    return true;
}

/* Checks the page whose directory was read last, whose number is in library->page, and describes it
 * there. False: the reply says why not. */
static bool check_page(struct tiff_library *library)
{
    library->page = (struct tiff_page){.number = library->page.number,
                                       .directory = TIFFCurrentDirOffset(library->handle)};
    return check_directory(library) && check_colors(library) && check_size(library) &&
           check_predictor(library) && check_blocks(library);
}

/* ---- the file, as libtiff sees it ------------------------------------------------------------ */

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
    library->at = offset + (whence == SEEK_CUR   ? library->at
                            : whence == SEEK_END ? library->bytes
                                                 : 0);
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

int ts_tiff_keep_error(TIFF *handle, void *text, const char *module, const char *format,
                       va_list arguments)
{
    (void)handle;
    (void)module;
    vsnprintf(text, TIFF_TEXT_BYTES, format, arguments);
    return 1;
}

__attribute__((format(printf, 4, 0))) static int
keep_warning(TIFF *handle, void *user, const char *module, const char *format, va_list arguments)
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
    free(library->planes);
    library->planes = NULL;
    library->n_planes = 0;
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
        library->handle = TIFFClientOpenExt("the file", "rm", library, read_bytes, write_nothing,
                                            seek, close_nothing, count_bytes, NULL, NULL, options);
        TIFFOpenOptionsFree(options);
    }
    if (library->handle)
        return true;
    refuse_page(library, "tiff-unreadable", "not a TIFF file that can be read: %s",
                reason(library, errno == ENOMEM ? "memory is out" : "it has no page"));
    close(fd);
    return false;
}

/* ---- listing --------------------------------------------------------------------------------- */

static bool go_to(struct tiff_library *library, uint64_t directory)
{
    return TIFFCurrentDirOffset(library->handle) == directory ||
           TIFFSetSubDirectory(library->handle, directory) ||
           refuse_page(library, "tiff-directory", "its directory cannot be read: %s",
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
    return refuse_page(library, "tiff-directory", "the page after page %d cannot be read: %s",
                       number,
                       reason(library, last ? "libtiff could not read the pointer to it"
                                            : "its directory was read before"));
}

static void list_pages(struct tiff_library *library, const struct tiff_job *job,
                       struct tiff_reply *reply)
{
    struct tiff_page *list = (struct tiff_page *)(void *)library->memory;
    int32_t number = job->page.number;
    bool more = true;
    library->page.number = number;
    if (number > 1 && !go_to(library, job->page.directory))
        return;
    for (; more && reply->n_pages < TIFF_LIST_PAGES; number++) {
        library->page.number = number;
        if (!check_page(library))
            return;
        if (number == 1)
            ts_tiff_text_read(library);
        if ((uint32_t)number <= library->n_planes)
            library->page.plane = library->planes[number - 1];
        list[reply->n_pages++] = library->page;
        if (!go_on(library, &more))
            return;
    }
    reply->next = more ? TIFFCurrentDirOffset(library->handle) : 0;
}

/* ---- decoding -------------------------------------------------------------------------------- */

static bool read_strips(struct tiff_library *library, uint32_t row, uint32_t n)
{
    const struct tiff_page *page = &library->page;
    const size_t row_bytes = page->width * ts_dtype_bytes((enum ts_dtype)page->dtype);
    for (uint32_t y = row; y < row + n; y += page->rows) {
        const uint32_t left = row + n - y;
        const tmsize_t bytes = (tmsize_t)((left < page->rows ? left : page->rows) * row_bytes);
        if (TIFFReadEncodedStrip(library->handle, y / page->rows,
                                 library->memory + (y - row) * row_bytes, bytes) != bytes)
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
            if (TIFFReadEncodedTile(library->handle, TIFFComputeTile(library->handle, x, y, 0, 0),
                                    library->tile, bytes) != bytes)
                return false;
            for (uint32_t i = 0; i < rows; i++)
                memcpy(library->memory + (y - row + i) * row_bytes + x * size,
                       library->tile + (size_t)i * width * size, columns * size);
        }
    return true;
}

/* The file may have been written to since its pages were listed, so the checks are repeated. */
static bool find_page(struct tiff_library *library, const struct tiff_job *job)
{
    const struct tiff_page *known = &job->page, *page = &library->page;
    library->page.number = known->number;
    if (library->checked != known->directory) {
        library->checked = 0;
        if (!go_to(library, known->directory) || !check_page(library))
            return false;
        library->checked = known->directory;
    }
    const size_t bytes = (size_t)job->n * page->width * ts_dtype_bytes((enum ts_dtype)page->dtype);
    if (page->width != known->width || page->height != known->height ||
        page->dtype != known->dtype || page->rows != known->rows ||
        page->block_bytes != known->block_bytes || page->pixels != 0 ||
        job->row % page->rows != 0 || job->row >= page->height ||
        job->n > page->height - job->row || bytes > library->memory_bytes)
        return refuse_page(library, "file-changed",
                           "its strips or tiles were changed after the check");
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
    return library->tile ||
           refuse_page(library, "no-memory", "the worker's memory does not hold a tile");
}

static void tiff_library_decode(struct tiff_library *library, const struct tiff_job *job)
{
    if (!find_page(library, job))
        return;
    const bool tiled = TIFFIsTiled(library->handle);
    if (tiled && !make_tile(library))
        return;
    library->problem[0] = 0;
    errno = 0;
    if (!(tiled ? read_tiles : read_strips)(library, job->row, job->n))
        refuse_page(library, "tiff-truncated", "its pixels cannot be decoded whole: %s",
                    reason(library, "data is missing"));
}

void ts_tiff_library_work(struct tiff_library *library, const struct tiff_job *job, int fd,
                          struct tiff_reply *reply)
{
    library->reply = reply;
    library->problem[0] = 0;
    library->page.number = 0;
    errno = 0;
    if (!open_file(library, job->file, fd))
        return;
    if (job->decode)
        tiff_library_decode(library, job);
    else
        list_pages(library, job, reply);
}

/* ---- the worker ------------------------------------------------------------------------------ */

static void *tiff_library_begin(const void *setup, void *memory)
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
    .begin = tiff_library_begin,
    .work = work,
};

_Static_assert(sizeof(struct tiff_job) <= WORKER_JOB_MAX &&
                   sizeof(struct tiff_reply) <= WORKER_REPLY_MAX,
               "the messages of a worker are bounded");
