/* SPDX-License-Identifier: Apache-2.0
 *
 * The facts that a report states: what the result says about how it was made, and what a profile of
 * its run says about time and memory. All texts come from files and may contain anything. Below are
 * the functions that write the long parts of the record.
 */
#ifndef PROGRAM_REPORT_FACTS_H
#define PROGRAM_REPORT_FACTS_H

#include "core/json.h"
#include "io/hdf5/hdf5_verify.h"
#include "pipeline/run/profile.h"
#include "program/record/made.h"
#include "program/report/report.h"

/* A stage of the chain. */
struct report_stage {
    const struct made_stage *of;
    const char *label; /* such as "box#2" for the second one, or "box[radius=2]", as in messages and
                          `input` */
    /* index of the value of a sweep to which it belongs; -1: it is before the sweep */
    int64_t value;
};

/* These are the values of a sweep. */
struct report_sweep {
    size_t stage;              /* index of the stage that is swept */
    const char *param, *unit;  /* "radius", "pixel" */
    const char *const *values; /* "2" */
    const char *const *names;  /* "radius 2 pixel" */
    int64_t n;                 /* 0: nothing is swept */
};

struct report_facts {
    const char *path;
    int64_t slices; /* so many slices of each image are wanted; INT64_MAX: all */
    struct arena *arena;
    struct made made;
    struct hdf5_proof proof;
    struct report_stage *stages;
    size_t n_stages;
    const char **inputs; /* names of the inputs: `input` first, the others sorted */
    size_t n_inputs;
    const char *chain; /* the text of the chain with all its values */
    struct report_sweep sweep;
    const char **warnings; /* NULL: the program that wrote the result did not keep them */
    size_t n_warnings;
    struct trace *trace; /* NULL: no profile was given */
    struct profile_memory memory;
};

/* Verifies the file and reads everything except images. The caller must close `facts`, even after a
   failure. */
enum ts_status ts_report_facts(const struct report_request *request, struct report_facts *facts,
                               struct ts_diag *diag);
/* Reads what the file says of how it was made, without a proof of it. */
enum ts_status ts_report_facts_made(const char *path, struct report_facts *facts,
                                    struct ts_diag *diag);
void ts_report_facts_close(struct report_facts *facts);
/* Returns the dataset at this path of the file, or NULL. */
const struct hdf5_listed *ts_report_dataset(const struct report_facts *facts, const char *format,
                                            ...) __attribute__((format(printf, 2, 3)));

/* The parts of the record. Failed writes set the stream's error indicator. */

/* Write members of the record: "images" and "geometry" with the images, each of which is read once;
   "residuals" and "tables" of the stages; "run" with time and memory from the profile. Return
   TS_BAD_INPUT if something cannot be read, TS_RUN_FAILED if memory is out. */
enum ts_status ts_report_images(const struct report_facts *facts, struct json *json,
                                struct ts_diag *diag);

/* The program contains page.css and page.js as texts, so that a report needs no other file.
   cmake/embed.cmake makes the file that defines them. */
extern const char ts_report_css[], ts_report_js[];

#endif
