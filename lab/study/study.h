/* SPDX-License-Identifier: Apache-2.0
 *
 * Studies: each carries out one published experiment on the CPU and on a CUDA device, checks the
 * results, prints, saves and draws its rows, and says what was found then and what is found now. A
 * study is one table, struct study: its name, its sentence, its columns, a function that measures
 * rows, one that draws them, and one that sums them up. To add one, write that table and list it in
 * ts_studies (study.c); the command line, devices, files and printing are here. Studies that
 * compare methods share their rows, their chart and their measuring: study_rows.h.
 */
#ifndef LAB_STUDY_STUDY_H
#define LAB_STUDY_STUDY_H

#include "lab/bench/bench.h"
#include "lab/bench/table.h"
#include "program/cli/command.h"

struct study_request {
    const char *device; /* as ts_bench_devices_choose() takes it */
    int64_t most;       /* values of one measurement, at the most; 0: as many as the study likes */
    int runs;           /* repetitions of one measurement; 0: as many as are usual */
    int threads;        /* of the CPU, at the most; 0: all */
    bool json;          /* an array of one object a row instead of the table */
    const char *
        folder; /* receives NAME.json and NAME.svg, and index.html of all studies; NULL: no files */
    const char
        *input; /* DICOM file or folder, of whose middle slice images are made; NULL: a phantom */
    bench_compare
        *compare; /* compares a stage's case with its oracle; NULL: stages are not compared */
};

/* A study that is being carried out. */
struct study_run {
    const struct study *study;
    const struct study_request *request;
    struct bench_devices devices;
    int threads;              /* of the CPU */
    struct bench_slice given; /* values NULL: none */
    struct table_rows rows;
    struct ts_diag *diag;
};

struct study {
    const char *name;
    const char *sentence; /* names what it compares, for the list of studies */
    bool own_data;        /* its values are not those of an image, so that it refuses --input */
    const char *heading;  /* stands above the table and explains its columns; lines ending in \n */
    /* Writes a line for each kind of rows that this machine cannot have, and why. NULL: such rows
     * are those of a device that is missing. */
    void (*absences)(struct study_run *run, FILE *stream);
    struct table table;
    /* Measures on the run's devices and hands each row to ts_table_add(). A result that is wrong is
     * an error (code study-result). */
    enum ts_status (*measure)(struct study_run *run);
    /* Draws all rows as SVG into a new file. */
    enum ts_status (*plot)(const struct table_rows *rows, const char *path, struct ts_diag *diag);
    const char *found; /* a sentence on what was found then, with the source */
    /* Writes what these rows show, in one sentence or two without a line's end. Rows of a device
     * that did not take part are missing. */
    void (*finding)(const struct table_rows *rows, FILE *stream);
};

extern const struct study *const ts_studies[]; /* NULL ends them */
extern const struct study ts_fan_in_study, ts_reductions_study, ts_histogram_ladder_study,
    ts_histogram_memory_study, ts_warp_tagged_study, ts_neighborhood_study, ts_box_ladder_study,
    ts_box_grain_study, ts_radon_input_study, ts_inverse_radon_study, ts_display_study;

struct fan_in_peer;
/* From now on the study reductions compares with this library (lab/cuda/fan_in_study.h). */
void ts_study_use_peer(const struct fan_in_peer *library);
struct view_screen;
/* From now on the study display shows its pictures on this screen (program/show/window.h). NULL, as
 * at first: this program has no OpenGL, and the study no rows. */
void ts_study_use_screen(const struct view_screen *screen);

/* Carries the study out (TS_BAD_CHAIN, study-input: it has data of its own and was given others);
 * NULL: every study, and writes index.html into the folder, which must be given. TS_BAD_CHAIN:
 * there is no such device (code device); TS_RUN_FAILED: a file cannot be written (not-written), a
 * device failed, or a result is wrong (study-result). */
enum ts_status ts_study_run(const struct study *study, const struct study_request *request,
                            FILE *stream, struct ts_diag *diag);

/* The command of tomostage-study. */
extern const struct command ts_study_command;

#endif
