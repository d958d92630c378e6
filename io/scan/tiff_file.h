/* SPDX-License-Identifier: Apache-2.0
 *
 * Holds the pages of TIFF files that look alike, opens one of the files at a time, and passes it to
 * a sandboxed worker that knows the format. Threads read through copies of the struct, each of
 * which opens files for itself and has its own worker; the lists are shared.
 */
#ifndef IO_SCAN_TIFF_FILE_H
#define IO_SCAN_TIFF_FILE_H

#include <sys/stat.h>

#include "core/arena.h"
#include "core/rounding.h"
#include "io/scan/tiff_library.h"

enum { TIFF_MAX_PAGES = 65535 };

/* What the order of the files means. */
enum tiff_order {
    TIFF_ORDER_EVEN,   /* a place */
    TIFF_ORDER_RANGE,  /* an even angle of the chain's range */
    TIFF_ORDER_LISTED, /* that of the angles in a list, in which they were taken */
    TIFF_ORDER_NONE    /* nothing */
};

struct tiff_file {
    const char *path;  /* arena */
    struct stat found; /* when its pages were listed */
};

struct tiff_pages {
    struct arena *arena;
    struct ts_span span; /* where the input is in the chain, and its name there, for messages */
    const char *owner;
    struct tiff_file *files;
    struct tiff_page *pages;
    int64_t n_files, n_pages;
    int64_t n_ignored, n_skipped; /* names in the folder that are no TIFF files; TIFF files that
                                     cannot be opened */
    int64_t n_inverted;           /* pages that say that zero is white */
    int64_t n_unmatched; /* TIFF files in the folder whose names the pattern does not fit */
    const char *pattern; /* of the names in a folder, as a shell has it; NULL: all */
    const double *pick;  /* first, step and perhaps count of the pages that are taken; NULL: all */
    int64_t n_pick;
    unsigned along; /* bits of the axes along which the images may follow each other; 0: any */
    int axis;       /* along which they do, as the text of the first file says; TIFF_AXES: it does
                       not say */
    bool by_name;   /* the order of some files is that of their names */
    enum tiff_order order;
    /* TIFF_ORDER_RANGE: first angle and end in degrees; with `endpoint` the last view is at the
       end */
    double range[2];
    bool endpoint;
    bool decimals;               /* a point between digits in the names is a decimal point */
    bool skip;                   /* skip those; else they are refused */
    char names[TIFF_TEXT_BYTES]; /* the first that were ignored */
    int64_t width, height;
    enum ts_dtype stored, dtype; /* in the file, as given: TS_F64 and integers of 64 bits as TS_F32
                                    unless `doubles` */
    bool is_signed;              /* of TS_U64 */
    double pixel_mm[2]; /* distances of rows and columns that the first file states; 0: none */
    double spacing_mm;  /* and of slices */
    bool calibrated;    /* values are line[0] + line[1] * stored */
    double line[2];
    bool doubles;
    struct ts_rounding rounding;   /* of 64-bit floats that were read since a caller cleared it */
    size_t block_bytes, raw_bytes; /* size of the largest strip or tile, decoded and in the file; 0:
                                      all rows are plain */
    size_t piece_bytes;            /* most that one job decodes */
    int64_t rows_together; /* rows that cost as much as one of them: those of the highest strip or
                              tile */
    int fd;                /* of the file `open`; -1 if none is */
    int64_t open;
    struct sandbox *sandbox;       /* the server of the worker, as in ts_sandbox_start() */
    struct worker_pool *worker;    /* a pool of one; NULL before it is needed */
    int job_seconds;               /* limit of one job of the worker; 0: 30 */
    unsigned char *rows;           /* scratch for rows that are turned into others, or NULL */
    char warning[TIFF_TEXT_BYTES]; /* libtiff's first warning */
    int64_t n_warnings;            /* number of its warnings */
    /* The file that has the text of the first file that is BinaryOnly OME-TIFF, `bare`; "": none
       is. */
    char companion[TIFF_NAME_BYTES];
    int64_t bare;
};

/* This is the place in the chain of a message about the pages. */
#define TIFF_SITE(pages, what)                                                                     \
    (&(struct diag_site){.code = (what), .span = (pages)->span, .stage = (pages)->owner})

#define TIFF_UNREADABLE_HINT                                                                       \
    "supply the file anew or remove it; `unreadable: skip` reads what is left of the folder"

#define TIFF_ORDER_HINT                                                                            \
    "tiff: [FILE, FILE, ...] reads files in the order of the list; or rename them, with a "        \
    "running number"

/* Opens file i, which stays open until another is opened. If `known`, it must be the file that was
   checked. */
enum ts_status ts_tiff_open(struct tiff_pages *pages, int64_t i, bool known, struct ts_diag *diag);
/* Returns TS_BAD_INPUT (file-changed) if a file was changed since its pages were listed. */
enum ts_status ts_tiff_check_unchanged(const struct tiff_pages *pages, struct ts_diag *diag);
void ts_tiff_close_file(struct tiff_pages *pages);
/* Lets the worker, which is started if there is none, do a job with the open file. Returns
   TS_BAD_INPUT, and names the file, if the worker dies of it; what the worker refuses is in the
   reply. */
enum ts_status ts_tiff_ask(struct tiff_pages *pages, struct tiff_job *job, struct tiff_reply *reply,
                           struct ts_diag *diag);
/* Returns the memory that the worker shares, of memory_bytes. It may change at any time. */
const void *ts_tiff_answer(const struct tiff_pages *pages);
void ts_tiff_end_worker(struct tiff_pages *pages);
/* Reports an error about page `number` of a file, "FILE, page N: ...", or about the file, for 0. */
enum ts_status ts_tiff_refuse(const struct tiff_pages *pages, int64_t file, int32_t number,
                              const char *code, struct ts_diag *diag, const char *format, ...)
    __attribute__((format(printf, 6, 7)));
/* Reports what the worker refused. */
enum ts_status ts_tiff_report(const struct tiff_pages *pages, const struct tiff_reply *reply,
                              struct ts_diag *diag);

#endif
