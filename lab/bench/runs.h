/* SPDX-License-Identifier: Apache-2.0
 *
 * This times whole runs, from the start of a process to its end and from files to a file, as a user
 * waits for them. The jobs are a table (runs_jobs.c). Inputs are phantoms, which this program
 * makes; each run is a process of the program tomostage beside this one (runs_process.c); beside
 * its time stands that of writing as many bytes as its result has, in the same folder and with the
 * same durability, since no run that writes this file can be faster.
 */
#ifndef LAB_BENCH_RUNS_H
#define LAB_BENCH_RUNS_H

#include "program/cli/command.h"

enum { RUNS_PATH_BYTES = 4096, RUNS_JOBS = 4, RUNS_FORMS = 4 };

struct runs_request {
    bool jobs[RUNS_JOBS]; /* says which of ts_runs_jobs are timed; none: all are */
    const char *device;   /* as ts_bench_devices_choose() takes it */
    const char *folder;   /* receives inputs, chains and lanes, and is absent or empty; NULL: a
                             temporary one */
    const char *save;     /* file for the rows as JSON; NULL: none */
    int64_t smaller;      /* every side of the images and the number of views is divided by it */
    int runs;             /* a row is the median of so many runs */
    bool profile;         /* has the last run of each row write its lanes into the folder */
    bool verify;          /* has `tomostage verify` look at the last results of each row */
    bool json;            /* an array of one object a row instead of the table */
};

/* A form is one way to store the result, as assignments to the chain's output. */
struct runs_form {
    const char *name;
    const char *set[2]; /* NULL ends them */
};

struct runs_job {
    const char *name, *summary;
    bool scans;                         /* reads a scan, else DICOM slices */
    int64_t size, slices, views;        /* are those of the phantom */
    int n_inputs;                       /* are computed one after another, by a process each */
    bool in_memory;                     /* all files lie in a memory file system */
    struct runs_form forms[RUNS_FORMS]; /* have a row each; those after the last have no name */
    /* The goal in seconds, which holds for the whole size alone, is the larger of `goal` and
     * goal_writes times the time of writing the result plus goal_start. All 0: there is none. */
    double goal, goal_writes, goal_start;
};
extern const struct runs_job ts_runs_jobs[RUNS_JOBS];

/* Returns the job with every side divided, and at least 8 pixels, 3 slices and 8 views. */
struct runs_job ts_runs_job_smaller(const struct runs_job *job, int64_t smaller);
/* Writes the path of input i in the folder. */
void ts_runs_input_path(const struct runs_job *job, const char *folder, int i,
                        char path[RUNS_PATH_BYTES]);
/* Makes the inputs and the chain JOB.yaml in the folder. */
enum ts_status ts_runs_make(const struct runs_job *job, const char *folder, struct ts_diag *diag);
/* Returns the bytes that all inputs and the largest results take, without compression. */
int64_t ts_runs_job_bytes(const struct runs_job *job);

/* Times the chosen jobs and prints a row for each form and device. TS_BAD_CHAIN: there is no such
 * device (code device); TS_RUN_FAILED: a run failed (runs-failed, with what it said), or the folder
 * is not usable (folder-not-usable). */
enum ts_status ts_runs_run(const struct runs_request *request, FILE *stream, struct ts_diag *diag);

/* The command `bench runs` is part of both programs. */
extern const struct command ts_runs_command;

#endif
