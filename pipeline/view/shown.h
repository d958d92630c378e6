/* SPDX-License-Identifier: Apache-2.0
 *
 * This opens what is shown, and holds the image that is shown in host memory, whole. A file is opened as the source of
 * a chain is, with the same checks. A chain is run by a thread into its output file or a temporary one: while it runs,
 * its last image fills up slice by slice, and when it is done the file is shown as any result is.
 */
#ifndef PIPELINE_VIEW_SHOWN_H
#define PIPELINE_VIEW_SHOWN_H

#include <pthread.h>
#include <stdatomic.h>

#include "io/hdf5/hdf5_slice.h"
#include "pipeline/plan/plan.h"

/* The command line states what to open. */
struct shown_request {
    const char *path;        /* of an image; NULL: `chain` is shown */
    const char *const *sets; /* assignments to the source of an image: "input.series=2" */
    int n_sets;
    struct ts_chain *chain; /* the caller keeps it */
    bool reads_input;       /* the chain is not run: its first input is shown */
    bool keeps_output;      /* the chain's result goes to its own file, not to a temporary one */
    const char *image;      /* of a result; NULL: the last one */
    struct ts_options options;
    /* Is called with the plan before it runs, and with NULL when it has ended, for handlers of signals. NULL: no one
     * is.
     */
    void (*running)(struct ts_plan *plan);
};

struct shown {
    const struct shown_request *request;
    struct ts_diag *diag;
    struct arena *arena;
    const char *path;              /* of the file; NULL while a chain runs */
    const char *wanted;            /* image of a result to begin with; NULL: `data`, or else the first */
    const char **images, **tables; /* names of images, and paths of tables, in a result */
    size_t n_images, n_tables, chosen;
    struct ts_chain *file_chain; /* owns the description of `image` */
    struct ts_plan *plan;
    struct ts_image image; /* with data */
    /* These belong to a running chain. */
    pthread_t thread;
    struct ts_diag *run_diag;
    int32_t node;              /* whose image is shown */
    enum ts_status run_status; /* once the thread has ended */
    atomic_bool ended;
    _Atomic int64_t ready; /* slices [0, ready) have values */
    char temporary[4096];  /* folder of the result, which is removed in the end; "": there is none */
};

/* Opens what is asked for; a chain begins to run. On failure nothing is left but records in diag. */
enum ts_status ts_shown_open(struct shown *shown, const struct shown_request *request, struct ts_diag *diag);
void ts_shown_close(struct shown *shown);
/* Looks after a running chain, or waits for it. Where it has ended, opens its result and sets *changed: `image` is then
 * another one. Returns the run's status, or the file's. */
enum ts_status ts_shown_follow(struct shown *shown, bool wait, bool *changed);
/* Waits for a running chain; what it computed is then in its output, and no longer shown. */
enum ts_status ts_shown_finish(struct shown *shown);
/* Reads another image of a result. */
enum ts_status ts_shown_choose(struct shown *shown, size_t i);
/* Reads a table of a result; free() table->values. */
enum ts_status ts_shown_table(const struct shown *shown, size_t i, struct hdf5_slice *table);

#endif
