/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads images that are said to be the inputs of a result, and compares them with the digests that
 * the result recorded: of the pixels of every slice, of their instances, and of slope, intercept,
 * place, angles and volumes.
 */
#ifndef PROGRAM_RECORD_INPUTS_H
#define PROGRAM_RECORD_INPUTS_H

#include "program/record/made.h"

enum inputs_kind {
    INPUTS_MISSING,    /* a slice that was used is not there */
    INPUTS_CHANGED,    /* a slice with other pixels is at the place of a slice that was used */
    INPUTS_MOVED,      /* the pixels of a slice are now those of a slice at another place */
    INPUTS_ADDITIONAL, /* there is a slice that was not used */
    INPUTS_KINDS
};

struct inputs_found {
    const char *name;  /* of the input */
    int64_t n, n_same; /* slices that were used; those whose pixels are still at their place */
    /* used slices whose pixels the run did not need; they are matched by place */
    int64_t n_unread;
    /* unchanged slices that are of the same DICOM instance; -1: no instances were recorded */
    int64_t n_instances;
    int64_t counts[INPUTS_KINDS];
    char first[INPUTS_KINDS][512]; /* describes the first of each kind */
    const char *facts; /* recorded facts that have changed, such as "slice_slope"; NULL: none */
    char detail[512];  /* describes the first difference of the facts; or "" */
    char headers[512]; /* names of changed facts on which no value depends; or "" */
};

/* Sets found->facts if slope, intercept, place, angles, times of volumes and the like of an open
   input have changed; the values of a run depend on them as on the pixels. */
enum ts_status ts_inputs_facts(const struct recorded *recorded, const struct source *source,
                               const char *input, struct inputs_found *found, struct ts_diag *diag);
enum inputs_fact { INPUTS_FACT_SAME, INPUTS_FACT_OTHER, INPUTS_FACT_ABSENT };
/* Compares what a source says of itself, such as its tube voltage, with what the result
   recorded. */
enum inputs_fact ts_inputs_attribute(const struct recorded *recorded, const char *input,
                                     const struct source_attribute *attribute);
/* Returns true for a fact on which the values of a run depend: pixels, slope, intercept, place,
 * angles, volumes. */
bool ts_inputs_is_of_values(const char *name);
/* Returns true for a fact that says what else was in the folder. */
bool ts_inputs_is_of_folder(const char *name);
/* Checks all inputs of the chain; found[i] is about input i. Returns TS_OK if every slice is
   unchanged, TS_BAD_INPUT if one is not (inputs-differ) or an input cannot be read. */
enum ts_status ts_inputs_check(struct recorded *recorded,
                               struct inputs_found found[CHAIN_MAX_SOURCES], struct ts_diag *diag);
/* Compares the inputs by their headers and the first slice of each, which is fast compared with a
   run, unless an input is one compressed stream. *other is the name of the first input that
   differs, or NULL. Skips inputs that cannot be opened. */
enum ts_status ts_inputs_glance(struct recorded *recorded, const char **other,
                                struct ts_diag *diag);

#endif
