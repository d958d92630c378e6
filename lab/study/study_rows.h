/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of the studies that compare methods with each other: the time of a method, on a device, for
 * an image of some size. A study lists its cases; measuring, checking, the table and the chart of
 * such rows are here. Stages are timed by lab/bench; code that no stage has is timed through a
 * function of the study.
 */
#ifndef LAB_STUDY_STUDY_ROWS_H
#define LAB_STUDY_STUDY_ROWS_H

#include "lab/bench/bench.h"
#include "lab/study/study.h"

struct study_row {
    const char *device; /* "CPU" or "CUDA" */
    char subject[48];   /* what the methods work on, such as "ct"; each has a panel of the chart */
    char method[48];    /* each has a line of the chart */
    int64_t x;          /* what the methods are compared against: a size, a radius, ... */
    int64_t threads;    /* on the CPU; -1 on a device */
    double seconds;     /* median */
    double fastest, slowest,
        spread;    /* the 10th and 90th percentile, and their distance as a share of the median */
    double items;  /* pixels, or values, that one run takes */
    double rate;   /* items a second; ts_study_add() works it out */
    double error;  /* largest distance from the oracle, as a share of its largest value; NAN: not
                      compared */
    double number; /* of whatever else a study counts, such as the repetitions of a loop; NAN:
                      nothing */
};

/* Defines the columns of a study's rows, whose x has this key and head. The table is
 * TABLE_OF(struct study_row, name). */
#define STUDY_ROW_AT(member) offsetof(struct study_row, member)
#define STUDY_ROW_COLUMNS(x_key, x_head)                                                           \
    {"device", "device", COLUMN_TEXT, STUDY_ROW_AT(device), -6},                                   \
        {"subject", "subject", COLUMN_CHARS, STUDY_ROW_AT(subject), -12},                          \
        {"method", "method", COLUMN_CHARS, STUDY_ROW_AT(method), -24},                             \
        {(x_key), (x_head), COLUMN_INTEGER, STUDY_ROW_AT(x), 8},                                   \
        {"threads", "threads", COLUMN_INTEGER, STUDY_ROW_AT(threads), 7},                          \
        {"seconds", "microsec.", COLUMN_REAL, STUDY_ROW_AT(seconds), 12, 2, 1e6},                  \
        {"spread", "10-90", COLUMN_REAL, STUDY_ROW_AT(spread), 5, 0, 100, "%"},                    \
        {"rate", "10^9/s", COLUMN_REAL, STUDY_ROW_AT(rate), 9, 3, 1e-9},                           \
    {                                                                                              \
        "error", "error", COLUMN_REAL, STUDY_ROW_AT(error), 8, TABLE_SCIENTIFIC                    \
    }

/* ---- measuring ------------------------------------------------------------------------------- */

/* Lists the sides of the square images to measure, 256, 512, ... up to 8192, whose pixels are
 * within --most; returns how many, at least 1. */
enum { STUDY_SIDES = 6 };
int ts_study_sides(const struct study_run *run, int64_t sides[STUDY_SIDES]);

/* Times a case of a stage and adds a row a device. `row` has subject, method and x; `which` the
 * stage, its parameters, type, values and size. A device or type that refuses the case has no row.
 * TS_RUN_FAILED (study-result): the result is farther from the oracle than the stage's
 * tolerance. */
enum ts_status ts_study_stage(struct study_run *run, const struct study_row *row,
                              const struct bench_case *which);

/* Carries out once what is timed, and measures its seconds. */
typedef enum ts_status study_work(void *data, double *seconds);
/* Times work that no stage does: fills in the times of the row, as the median of --runs runs, or of
 * up to 31 within a third of a second and at least 5, after one that warms up. */
enum ts_status ts_study_time(const struct study_run *run, study_work *work, void *data,
                             struct study_row *row);
/* Works out what follows from the measurements, and adds the row. */
enum ts_status ts_study_add(struct study_run *run, struct study_row *row);

/* ---- findings and charts --------------------------------------------------------------------- */

/* Returns the row of this device, subject, method and x; x -1: the last one with any. NULL: it was
 * not measured. */
const struct study_row *ts_study_find(const struct table_rows *rows, const char *device,
                                      const char *subject, const char *method, int64_t x);
/* Returns how many times as fast as `slow` the method `fast` is; NAN where one was not measured. */
double ts_study_ratio(const struct table_rows *rows, const char *device, const char *subject,
                      const char *slow, const char *fast, int64_t x);

/* Draws rows: a panel a device and subject, a line a method, time (ms) against x, both logarithmic,
 * with error bars from the 10th to the 90th percentile. x_title names x with its unit. */
enum ts_status ts_study_plot(const struct table_rows *rows, const char *title, const char *x_title,
                             const char *path, struct ts_diag *diag);
/* Draws a panel of the rows' numbers, logarithmic and with this title, beside each panel of
 * times. */
enum ts_status ts_study_plot_numbers(const struct table_rows *rows, const char *title,
                                     const char *x_title, const char *number_title,
                                     const char *path, struct ts_diag *diag);

#endif
