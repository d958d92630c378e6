/* SPDX-License-Identifier: Apache-2.0
 *
 * The pages of TIFF files, all of one size and type: found and checked without decoding a pixel, then read by rows.
 */
#ifndef IO_SCAN_TIFF_PAGES_H
#define IO_SCAN_TIFF_PAGES_H

#include <sys/stat.h>

#include "core/arena.h"
#include "core/diag.h"
#include "core/image.h"

enum { TIFF_MAX_SIDE = 65535, TIFF_MAX_PAGES = 65535, TIFF_TEXT_BYTES = 256 };

struct tiff_file {
    const char *path; /* arena */
    dev_t device;
    ino_t inode;
    off_t bytes;
    struct timespec modified;
};

struct tiff_page {
    int32_t file, number; /* number counts from 1 within the file */
    uint64_t directory;   /* where its directory begins */
};

struct tiff_pages {
    struct arena *arena;
    struct ts_span span; /* of the input in the chain, and its name there, for messages */
    const char *owner;
    struct tiff_file *files;
    struct tiff_page *pages;
    int64_t n_files, n_pages;
    int64_t n_ignored, n_skipped; /* names in the folder that are no TIFF files; TIFF files that cannot be opened */
    bool skip;                    /* leave those out; else they are refused */
    char names[TIFF_TEXT_BYTES];  /* the first that were ignored */
    int64_t width, height;
    enum ts_dtype stored, dtype;   /* in the file, as given: TS_F64 is given as TS_F32 */
    size_t block_bytes, raw_bytes; /* of the largest strip or tile, decoded and in the file */
    unsigned char *block;
    void *handle; /* TIFF * of the file `open`, or NULL */
    int64_t open;
    uint64_t next_directory;       /* behind the page that was checked last; 0: none */
    char problem[TIFF_TEXT_BYTES]; /* libtiff's newest error, "" without one */
    char warning[TIFF_TEXT_BYTES]; /* and its first warning */
    int64_t n_warnings;
};

/* Where a message about them belongs. */
#define TIFF_SITE(pages, what) (&(struct diag_site){.code = (what), .span = (pages)->span, .stage = (pages)->owner})

/* Lists a file, or the .tif and .tiff files of a folder in the natural order of their names (2 before 10), and checks
 * every page of every file. Links to files are followed. `pages` is zeroed but for its arena, span, owner and skip.
 * TS_BAD_INPUT names the file and the page. */
enum ts_status ts_tiff_pages_open(struct tiff_pages *pages, const char *path, struct ts_diag *diag);
void ts_tiff_pages_close(struct tiff_pages *pages); /* what the arena does not hold */
/* Rows [row, row + n) of a page, each `pitch` bytes after the one before it. Nothing partly decoded is a success. */
enum ts_status ts_tiff_pages_read(struct tiff_pages *pages, int64_t page, int64_t row, int64_t n, void *out,
                                  size_t pitch, struct ts_diag *diag);
/* Order of names where runs of digits count as numbers: <0, 0, >0. */
int ts_tiff_compare_names(const char *a, const char *b);

#endif
