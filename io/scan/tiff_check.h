/* SPDX-License-Identifier: Apache-2.0
 *
 * This holds the pages of TIFF files that look alike, opens one file of them at a time through libtiff, and checks a
 * page strictly before anything is decoded. Threads read through copies of the struct, each of which opens files for
 * itself and shares the lists.
 */
#ifndef IO_SCAN_TIFF_CHECK_H
#define IO_SCAN_TIFF_CHECK_H

#include <sys/types.h>
#include <time.h>

#include "core/arena.h"
#include "core/diag.h"
#include "core/image.h"
#include "core/rounding.h"

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

struct tiff; /* libtiff's */

struct tiff_pages {
    struct arena *arena;
    struct ts_span span; /* where the input stands in the chain, and its name there, for messages */
    const char *owner;
    struct tiff_file *files;
    struct tiff_page *pages;
    int64_t n_files, n_pages;
    int64_t n_ignored, n_skipped; /* names in the folder that are no TIFF files; TIFF files that cannot be opened */
    bool skip;                    /* leave those out; else they are refused */
    char names[TIFF_TEXT_BYTES];  /* the first that were ignored */
    int64_t width, height;
    enum ts_dtype stored, dtype; /* in the file, as given: TS_F64 is given as TS_F32 unless `doubles` */
    bool doubles;
    struct ts_rounding rounding;   /* of 64-bit floats that were read since a caller cleared it */
    size_t block_bytes, raw_bytes; /* size of the largest strip or tile, decoded and in the file */
    int64_t rows_together;         /* that cost as much as one of them: those of the highest strip or tile */
    unsigned char *block;
    struct tiff *handle; /* handle of the file `open`, or NULL */
    int64_t open;
    uint64_t next_directory;       /* behind the page that was checked last; 0: none */
    char problem[TIFF_TEXT_BYTES]; /* libtiff's newest error, "" without one */
    char warning[TIFF_TEXT_BYTES]; /* and its first warning */
    int64_t n_warnings;
};

/* This is the place in the chain of a message about the pages. */
#define TIFF_SITE(pages, what) (&(struct diag_site){.code = (what), .span = (pages)->span, .stage = (pages)->owner})

#define TIFF_UNREADABLE_HINT "supply the file anew or remove it; `unreadable: skip` reads what is left of the folder"

/* Opens file i, which stays open until another is. Where `known`, it must be the file that was checked. */
enum ts_status ts_tiff_open(struct tiff_pages *pages, int64_t i, bool known, struct ts_diag *diag);
void ts_tiff_close_file(struct tiff_pages *pages);
/* Checks the page whose directory was read last; the first one sets size and type, the others must be like it. */
enum ts_status ts_tiff_check(struct tiff_pages *pages, const struct tiff_page *page, struct ts_diag *diag);
/* Returns true where the rows of the page that was read last lie in its strips as they are, but for the byte order. */
bool ts_tiff_has_plain_rows(const struct tiff_pages *pages);
/* Reports an error about a page: "FILE, page N: ..." */
enum ts_status ts_tiff_refuse(const struct tiff_pages *pages, const struct tiff_page *page, const char *code,
                              struct ts_diag *diag, const char *format, ...) __attribute__((format(printf, 5, 6)));

#endif
