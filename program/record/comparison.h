/* SPDX-License-Identifier: Apache-2.0
 *
 * This compares two files or folders: each image that both have and, if both are results, how they were made.
 */
#ifndef PROGRAM_RECORD_COMPARISON_H
#define PROGRAM_RECORD_COMPARISON_H

#include "program/record/difference.h"
#include "program/record/grid.h"
#include "program/record/made.h"

struct comparison_side {
    const char *text;  /* a path, or an input in one line */
    bool one_line;     /* which of them it is */
    const char *image; /* of a result: this one alone; NULL: all, or the last one where the other side is no result */
};

struct comparison_request {
    struct comparison_side sides[2];
    double tolerance; /* the largest |a - b| that passes */
    /* Returns the tolerance of an image by its name and the largest magnitude of its values, in place of `tolerance`;
     * NULL: there is one for all. */
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
    enum comparison_state
        state; /* the worst of all images; tables count where all are compared and the tolerance is 0 */
};

/* Compares. The errors are those of opening and reading the images. ts_comparison_free releases what it made, whether
 * it fails or not. */
enum ts_status ts_comparison_make(const struct comparison_request *request, struct comparison *comparison,
                                  struct ts_diag *diag);
void ts_comparison_free(struct comparison *comparison);
/* Prints it: for people, or as one JSON object. */
void ts_comparison_print(const struct comparison *comparison, FILE *stream);
void ts_comparison_print_json(const struct comparison *comparison, FILE *stream);

#endif
