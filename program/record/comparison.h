/* SPDX-License-Identifier: Apache-2.0
 *
 * Compares two files or folders: each image that both have and, if both are results, how they were
 * made.
 */
#ifndef PROGRAM_RECORD_COMPARISON_H
#define PROGRAM_RECORD_COMPARISON_H

#include "io/source/source.h"
#include "program/record/made.h"
#include "program/record/side.h"
#include "stages/histogram/compare.h"

/* ---- what two images are beside their values: shape, spacing, place, unit, type -------------- */

enum { GRID_NOTES = 12, GRID_TEXT = 160 }; /* nine numbers of seven digits take 134 characters */

/* Places agree if the two images place the same pixel at most this share of the smallest spacing
   apart. NIfTI keeps places as 32-bit floats, whose rounding is 1e-7 of their values. */
#define GRID_TOLERANCE 1e-3

/* Something that differs, as the texts of both sides. */
struct grid_note {
    char what[40]; /* "shape", "spacing along z", "origin", ... */
    char sides[2][GRID_TEXT];
    /* the images differ in it. False: formats store it differently, or cannot state it */
    bool counts;
};

struct grid_difference {
    struct grid_note notes[GRID_NOTES];
    int n;
    bool same_shape; /* the values can be compared */
    bool differs;    /* a note counts */
    /* how far apart the same pixel is at most; NAN: an image has no place in a patient */
    double apart_mm;
};

void ts_grid_compare(const struct side sides[2], struct grid_difference *grid);

/* ---- how far their values are apart ---------------------------------------------------------- */

struct difference_request {
    double data_range; /* for PSNR and SSIM; 0: the range of the finite values of the first image */
    int32_t window;    /* enum compare_window, of SSIM */
};

/* Two values are equal if they are the same number, or both NaN. NaN and a number are infinitely
   far apart, and so are an infinity and anything else. */
struct difference {
    int64_t n, n_differ, n_nan[2];
    int64_t n_invalid[2]; /* pixels that each side marks as invalid */
    /* of two masked images: pixels that only one marks; their values are compared */
    int64_t n_invalid_apart;
    /* of two masked images: pixels that both mark; nothing about their values counts */
    int64_t n_invalid_both;
    int64_t n_hidden;  /* number of those whose values nevertheless differ */
    double largest;    /* largest |a - b|; may be INFINITY */
    int64_t at[4];     /* where that is (the first place): volume, z, y, x */
    double values[2];  /* of both sides there */
    double magnitude;  /* largest magnitude of the finite values of both sides */
    double data_range; /* that the measures took */
    /* of b against a, by stages/histogram/compare.h, of finite pixels only */
    double measures[COMPARE_MEASURES];
};

/* Compares b with the reference a. Both have the same shape and number of volumes, and have not
   been started. Gives the same numbers for any number of threads. Returns the errors of reading,
   and TS_RUN_FAILED if memory is out. */
enum ts_status ts_difference(struct source *a, struct source *b,
                             const struct difference_request *request,
                             struct difference *difference, struct ts_diag *diag);

/* ---- all images of two files, and how they were made ----------------------------------------- */

struct comparison_side {
    const char *text; /* a path, or an input in one line */
    bool one_line;    /* which of them it is */
    /* of a result: its only image to compare; NULL: all, or the last one if the other side is no
       result */
    const char *image;
};

struct comparison_request {
    struct comparison_side sides[2];
    double tolerance; /* the largest |a - b| that is accepted */
    /* Returns the tolerance of an image from its name and the largest magnitude of its values, in
       place of `tolerance`; NULL: all have that. */
    double (*tolerance_of)(const void *user, const char *image, double magnitude);
    const void *user;
    /* Both are results whose digests were verified, so images with equal digests are not read. */
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
    const char *name; /* "" if neither side is a result */
    enum comparison_state state;
    int lacked_by;                /* number of the side that lacks the image, if COMPARED_LACKED */
    bool by_digest;               /* digests were compared, the values were not read */
    bool rounded;                 /* the values may be 64-bit integers that double rounds */
    double tolerance;             /* that was applied */
    struct grid_difference grid;  /* empty by_digest */
    struct difference difference; /* if the shapes are the same */
    const char *unit;             /* unit of the values of the first side */
};

struct comparison {
    struct arena *arena;
    const char *names[2]; /* what people call the sides */
    struct compared_image *images;
    size_t n_images;
    struct made made[2]; /* how each was made; empty unless both sides are results */
    bool has_made;
    struct made_difference *differences; /* differences in how they were made, and in tables */
    /* n_tables: how many of the differences are tables of stages */
    size_t n_differences, n_tables;
    double tolerance;
    /* the worst state of all images; tables count if all images are compared and the tolerance is
       0 */
    enum comparison_state state;
};

/* Compares. The errors are those of opening and reading the images. ts_comparison_free must follow,
   even after a failure. */
enum ts_status ts_comparison_make(const struct comparison_request *request,
                                  struct comparison *comparison, struct ts_diag *diag);
void ts_comparison_free(struct comparison *comparison);
/* Prints the comparison for people, or as one JSON object. */
void ts_comparison_print(const struct comparison *comparison, FILE *stream);
void ts_comparison_print_json(const struct comparison *comparison, FILE *stream);

#endif
