/* SPDX-License-Identifier: Apache-2.0
 *
 * A batch runs one chain over many studies: it plans all, runs each in a process of its own, and
 * writes a table. The processes are the program itself (`tomostage run`), so that a study that
 * crashes, or runs out of memory, ends without the others.
 */
#ifndef PROGRAM_BATCH_BATCH_H
#define PROGRAM_BATCH_BATCH_H

#include "include/tomostage.h"
#include "program/batch/studies.h"
#include "program/batch/watch.h"

enum { BATCH_OUTPUTS = 8 };

/* An output of the chain beside the HDF5 file. */
struct batch_output {
    const char *format; /* "nifti" */
    const char *suffix; /* of a file: ".nii.gz"; "": a folder, whose name ends in the format's */
};

struct batch {
    const char *chain, *folder; /* as on the command line */
    const char *const *sets;    /* parameters of all studies */
    int n_sets;
    struct ts_options
        options; /* for all runs together until the first plan is made, then for each run */
    bool shared, gpu_shared;
    int jobs; /* most runs at once */
    /* this batch has studies shard, shard + shards, ... of the list, counted from 1 */
    int shard, shards;
    bool resume, keep_going, quiet;
    bool fit, force; /* fit the standard scale of `nyul` first; replace the file of an older one */
    bool trying;     /* studies are planned before there are landmarks */
    bool fitting;    /* this is the first batch of a fit, whose results have no pictures */
    bool json;       /* standard output gets events as JSON instead of lines of text */
    /* Loads the chain with the input, output and parameters of a study. */
    enum ts_status (*load)(const struct batch_study *study, struct ts_chain **chain,
                           struct ts_diag *diag);
    bool (*stopped)(void); /* returns true once a signal has come */
    struct batch_output outputs[BATCH_OUTPUTS];
    int n_outputs;
    const char *watch; /* folder whose studies are run as they arrive; NULL: none */
    int settle;        /* seconds without a change after which one of them is complete */
    bool terminal;     /* progress is a line that is drawn again */
    struct watch arrivals;
    struct studies studies;
};

/* Writes the assignment of one of the study's further outputs, "output.nifti=FOLDER/NAME.nii.gz".
   Returns where the path begins. */
const char *ts_batch_output_set(const struct batch *batch, const struct batch_study *study, int i,
                                char *set, size_t size);
/* Writes FOLDER/batch-files/NAME.SUFFIX, the path of a picture (png) or report (html) of a study,
   or, without `whole`, as seen from FOLDER. */
void ts_batch_beside(const struct batch *batch, const struct batch_study *study, bool whole,
                     const char *suffix, char *path, size_t size);

/* Removes the studies of other shards from the list. */
void ts_batch_take_shard(struct batch *batch);
/* Plans every study, sets its state, and prints on stderr all errors of each plan that is refused.
   An output that exists is an error (output-exists); with `resume`, only if it differs from what
   the run would make. Returns false if anything was refused. */
bool ts_batch_plan(struct batch *batch);

/* Runs the planned studies, at most `jobs` at once. A study on which another batch works is tried
   again later. After a failure no further study starts, unless keep_going; after a signal the runs
   are stopped. With `watch` it goes on until then, and writes the tables after each study. */
void ts_batch_run(struct batch *batch);

/* Writes FOLDER/batch.tsv and FOLDER/batch.html (of a shard batch-I-of-N), each whole or not at
 * all, and replaces older ones. Returns TS_RUN_FAILED if they cannot be written. */
enum ts_status ts_batch_write_tables(const struct batch *batch, struct ts_diag *diag);
/* Writes the path of a table; `suffix` is "tsv" or "html". */
void ts_batch_table_path(const struct batch *batch, const char *suffix, char *path, size_t size);
/* Print an event as JSON: the batch starts; a study starts, or has ended as the ended-th; all has
   ended, with the path of the table, or NULL if nothing was run. */
void ts_batch_print_started(const struct batch *batch);
void ts_batch_print_study(const struct batch *batch, const struct batch_study *study, size_t ended);
/* Prints how far the running studies are, and the seconds left (negative: not known). */
void ts_batch_print_progress(const struct batch *batch, size_t ended, double seconds_left);
void ts_batch_print_finished(const struct batch *batch, const char *table);
/* Returns the number of studies in this state. */
size_t ts_batch_count(const struct batch *batch, enum study_state state);
/* Returns the exit code. If studies were refused or failed: TS_BAD_CHAIN before TS_RUN_FAILED
   before TS_BAD_INPUT. TS_RUN_FAILED if some were not run. */
enum ts_status ts_batch_status(const struct batch *batch);
/* Returns the word for a state: "done". */
const char *ts_batch_state_name(enum study_state state);

#endif
