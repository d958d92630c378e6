/* SPDX-License-Identifier: Apache-2.0
 *
 * A sandboxed worker reads TIFF files through libtiff, because a damaged file can make the library
 * crash, loop or use all memory. It lists and checks the pages of a file, and decodes those whose
 * rows are not in the file as they are. These are the jobs, the answers and what of them passes
 * through the memory that it shares with the program.
 */
#ifndef IO_SCAN_TIFF_LIBRARY_H
#define IO_SCAN_TIFF_LIBRARY_H

#include <stdarg.h>

#include "core/image.h"
#include "io/sandbox/workers.h"

enum {
    TIFF_MAX_SIDE = 65535,
    TIFF_TEXT_BYTES = 256,
    TIFF_NAME_BYTES = 80,
    TIFF_LIST_PAGES = 64, /* pages of one answer, which a slow disk gives in time, too */
    TIFF_MAX_BLOCK =
        1
        << 28, /* limit of a strip or tile, decoded and in the file, and of libtiff's allocations */
    TIFF_PIECE_BYTES =
        2 << 20 /* rows that are decoded by one job, unless a strip or a row of tiles has more */
};
#define TIFF_MAX_TOGETHER (UINT64_C(1) << 30) /* bytes of rows that are decoded together */

/* The images of a file along one of its axes, and how many images one of them is from the next. */
enum { TIFF_CHANNELS, TIFF_SLICE_AXIS, TIFF_TIMES, TIFF_OTHERS, TIFF_AXES };
struct tiff_plane_axis {
    uint32_t n, step;
};
/* Bits of the axes along which slices and sinograms follow each other. Views may be called slices,
 * as any stack, or times. */
enum {
    TIFF_OF_SLICES = 1 << TIFF_SLICE_AXIS,
    TIFF_OF_VIEWS = 1 << TIFF_SLICE_AXIS | 1 << TIFF_TIMES | 1 << TIFF_OTHERS
};

#define TIFF_NO_PLANE UINT32_MAX

enum { TIFF_FUNCTION_LINE = 0, TIFF_FUNCTION_NONE = 20 }; /* ImageJ's numbers */

struct tiff_page {
    int32_t file, number; /* number counts from 1 within the file */
    uint64_t directory;   /* where its directory begins */
    uint64_t pixels; /* where its rows lie one after the other, as they are but for the byte order;
                        0: they do not */
    uint8_t swapped; /* 0, or such rows are in the other byte order */
    uint32_t width, height;
    uint32_t rows;  /* of the highest strip or of a tile, which are decoded together */
    uint32_t dtype; /* enum ts_dtype, in the file */
    uint64_t block_bytes, raw_bytes; /* of the largest strip or tile, decoded and in the file */
    uint8_t is_signed;               /* of TS_U64: they are int64 */
    uint8_t white_is_zero;
    uint8_t behind;  /* of the first page: images without a page may be behind its pixels */
    uint8_t guessed; /* of the first page: who wrote its text calls any unnamed axis channels */
    uint32_t plane;  /* of which image of the file this is the page, as its text says, from 1 on; 0:
                        it does not say; TIFF_NO_PLANE: it cannot be followed */
    /* Of the first page of a file, as its text says. */
    uint32_t planes; /* images of the file */
    uint32_t images; /* of OME-TIFF: stacks of these, each of which is an Image; 0: it is none */
    uint32_t image_planes[2]; /* and how many the first two have */
    struct tiff_plane_axis axes[TIFF_AXES];
    double pixel_mm[2]; /* from row to row, from column to column */
    double spacing_mm;  /* from slice to slice */
    int32_t function;   /* of ImageJ, which makes values of what is stored; TIFF_FUNCTION_NONE */
    double line[2]; /* its first coefficients: those of TIFF_FUNCTION_LINE are c0 + c1 * stored */
    /* Of the first page, as tags of GDAL say: values are offset + scale * stored, and those of
     * `missing` were not measured; NAN: none. */
    double gdal_offset, gdal_scale, gdal_missing;
};

/* A job lists the pages of a file from .page.number and .page.directory on (page 1 has no need of
 * the latter), to the shared memory. Or it decodes rows [row, row + n) of .page, the first of which
 * begins a strip or a tile, to there. */
struct tiff_job {
    int32_t file; /* its number among those of the source: the worker keeps it open */
    bool decode;
    uint32_t row, n;
    struct tiff_page page;
};

struct tiff_reply {
    struct worker_verdict
        verdict;        /* first; not TS_OK: a page is refused, or memory is out (TS_RUN_FAILED) */
    int32_t number;     /* that page; 0: the file */
    int32_t n_pages;    /* that were listed and are good */
    uint64_t next;      /* directory of the page after them; 0: none */
    int64_t n_warnings; /* of libtiff, since the last answer */
    char warning[TIFF_TEXT_BYTES]; /* and the first of them */
    /* The file that has the text of this one, if it is BinaryOnly OME-TIFF; "": it is not. Only
       with page 1. */
    char companion[TIFF_NAME_BYTES];
};

struct tiff_library {
    struct tiff *handle; /* libtiff's; NULL: no file is open */
    int32_t file;
    int fd;
    uint64_t bytes, at;    /* of the file; where libtiff reads next */
    uint64_t checked;      /* directory of the page that was checked last */
    uint64_t next;         /* what the pointer behind it holds; 0: it is the last one */
    struct tiff_page page; /* and that page */
    uint32_t *planes;      /* of its first n_planes pages, as in struct tiff_page */
    uint32_t n_planes;
    unsigned char *tile; /* scratch for one */
    size_t tile_bytes;
    char problem[TIFF_TEXT_BYTES]; /* libtiff's newest error, "" without one */
    struct tiff_reply *reply;      /* to the job in progress */
    unsigned char *memory;         /* shared with the program */
    size_t memory_bytes;
};

/* The setup of such a worker is the size of the shared memory, a size_t. */
extern const struct worker_kind ts_tiff_worker;

/* This is an error handler for libtiff, which prints nothing. Its user data is a text of
 * TIFF_TEXT_BYTES that keeps the newest error. */
int ts_tiff_keep_error(struct tiff *handle, void *text, const char *module, const char *format,
                       va_list arguments) __attribute__((format(printf, 4, 0)));
/* Carries out one job; owns fd. Fuzzing calls it without a worker. */
void ts_tiff_library_work(struct tiff_library *library, const struct tiff_job *job, int fd,
                          struct tiff_reply *reply);
void ts_tiff_library_close(struct tiff_library *library); /* frees what it holds */

#endif
