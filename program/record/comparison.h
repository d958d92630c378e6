/* SPDX-License-Identifier: Apache-2.0
 *
 * This compares two files or folders: each image that both have and, if both are results, how they
 * were made.
 */
#ifndef PROGRAM_RECORD_COMPARISON_H
#define PROGRAM_RECORD_COMPARISON_H

#include "io/source/source.h"
#include "program/record/made.h"
#include "program/record/side.h"
#include "stages/histogram/compare.h"

/* ---- what two images are beside their values: shape, spacing, place, unit, type -------------- */

enum { GRID_NOTES = 12, GRID_TEXT = 160 }; /* nine numbers of seven digits take 134 */

/* Places agree where the same pixel of both images is at most this share of the smallest spacing
 * apart. NIfTI keeps places as 32-bit floats, which is 1e-7 of them. */
#define GRID_TOLERANCE 1e-3

/* Something that differs, as text of both sides. */
struct grid_note {
    char what[40]; /* "shape", "spacing along z", "origin", ... */
    char sides[2][GRID_TEXT];
    bool counts; /* the images differ by it. False: formats store it differently, or cannot state
                  * it */
};

struct grid_difference {
    struct grid_note notes[GRID_NOTES];
    int n;
    bool same_shape; /* the values can be compared */
    bool differs;    /* a note counts */
    double apart_mm; /* how far the same pixel is apart at most; NAN: one of them has no place in a
                        patient */
};

void ts_grid_compare(const struct side sides[2], struct grid_difference *grid);

/* ---- how far their values are apart ---------------------------------------------------------- */

struct difference_request {
    double data_range; /* for PSNR and SSIM; 0: that of the finite values of the first image */
    int32_t window;    /* enum compare_window, of SSIM */
};

/* Two values are equal where they are the same number, or both NaN. NaN against a number, and an
 * infinity against anything else, are infinitely far apart. */
struct difference {
    int64_t n, n_differ, n_nan[2];
    int64_t n_invalid[2];    /* pixels that each side marks as invalid */
    int64_t n_invalid_apart; /* of two masked images: pixels that one alone marks; their values are
                                compared */
    int64_t n_invalid_both;  /* and that both mark: they hold no values to be compared, and no
                                measure takes them */
    int64_t n_hidden;        /* of those, pixels that hold different values all the same */
    double largest;          /* largest |a - b|; INFINITY: see above */
    int64_t at[4];           /* where that is, the first such place: volume, z, y, x */
    double values[2];        /* of both sides there */
    double magnitude;        /* largest finite magnitude of a value of either side */
    double data_range;       /* that the measures took */
    double measures[COMPARE_MEASURES]; /* of b against a, by stages/histogram/compare.h; finite
                                          pixels alone count */
};

/* Compares b with a, the reference. Both have the same shape and number of volumes, and nobody has
 * started them. The same inputs give the same numbers whatever the number of threads. Returns the
 * errors of reading, and TS_RUN_FAILED where memory is out. */
enum ts_status ts_difference(struct source *a, struct source *b,
                             const struct difference_request *request,
                             struct difference *difference, struct ts_diag *diag);

/* ---- all images of two files, and how they were made ----------------------------------------- */

struct comparison_side {
    const char *text;  /* a path, or an input in one line */
    bool one_line;     /* which of them it is */
    const char *image; /* of a result: this one alone; NULL: all, or the last one where the other
                          side is no result */
};

struct comparison_request {
    struct comparison_side sides[2];
    double tolerance; /* the largest |a - b| that passes */
    /* Returns the tolerance of an image by its name and the largest magnitude of its values, in
     * place of `tolerance`; NULL: there is one for all. */
    double (*tolerance_of)(const void *user, const char *image, double magnitude);
    const void *user;
    /* Both are results whose digests were verified: an image with the same digest is not read. */
    bool by_digest;
    struct difference_request difference;
};

enum comparison_state {
    COMPARED_EQUAL,  /* every value */
    COMPARED_WITHIN, /* the tolerance */
    COMPARED_BEYOND, /* it, or on another grid */
    COMPARED_LACKED  /* by one side */
};

struct compared_image {
    const char *name; /* "" where neither side is a result */
    enum comparison_state state;
    int lacked_by;                /* side, of COMPARED_LACKED */
    bool by_digest;               /* the values were not read */
    bool rounded;                 /* they may be 64-bit integers that are no doubles */
    double tolerance;             /* that was applied */
    struct grid_difference grid;  /* empty by_digest */
    struct difference difference; /* where the shapes are the same */
    const char *unit;             /* of the values of the first side */
};

struct comparison {
    struct arena *arena;
    const char *names[2]; /* of the sides, for people */
    struct compared_image *images;
    size_t n_images;
    struct made made[2]; /* empty unless both sides are results */
    bool has_made;
    struct made_difference *differences; /* in how they were made, and in tables */
    size_t n_differences, n_tables;      /* n_tables: differences that are tables of stages */
    double tolerance;
    enum comparison_state state; /* the worst of all images; tables count where all are compared and
                                    the tolerance is 0 */
};

/* Compares. The errors are those of opening and reading the images. ts_comparison_free releases
 * what it made, whether it fails or not. */
enum ts_status ts_comparison_make(const struct comparison_request *request,
                                  struct comparison *comparison, struct ts_diag *diag);
void ts_comparison_free(struct comparison *comparison);
/* Prints it: for people, or as one JSON object. */
void ts_comparison_print(const struct comparison *comparison, FILE *stream);
void ts_comparison_print_json(const struct comparison *comparison, FILE *stream);

#endif
