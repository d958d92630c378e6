/* SPDX-License-Identifier: Apache-2.0
 *
 * This reads the images that are said to be the inputs of a result, and holds them against the
 * digests that the result recorded: of the pixels of every slice, of their instances, and of slope,
 * intercept, place, angles and volumes.
 */
#ifndef PROGRAM_RECORD_INPUTS_H
#define PROGRAM_RECORD_INPUTS_H

#include "program/record/made.h"

enum inputs_kind {
    INPUTS_MISSING,    /* a slice was used, and is not there */
    INPUTS_CHANGED,    /* where a slice was, there is one with other pixels */
    INPUTS_MOVED,      /* the pixels of a slice are there, and are those of another slice now */
    INPUTS_ADDITIONAL, /* a slice is there that was not used */
    INPUTS_KINDS
};

struct inputs_found {
    const char *name;  /* of the input */
    int64_t n, n_same; /* slices that were used; those of which the same pixels are there, at their
                          place */
    int64_t n_unread;  /* of those that were used, the ones whose pixels the run did not need;
                          matched by place */
    int64_t n_instances; /* of those, the ones that are of the very same DICOM instance; -1: none
                            were recorded */
    int64_t counts[INPUTS_KINDS];
    char first[INPUTS_KINDS][512]; /* describes the first one of each kind */
    const char *facts; /* recorded facts that are others now, such as "slice_slope"; NULL: none */
    char detail[512];  /* describes the first difference of the facts, or is empty */
    char headers[512]; /* names of recorded facts that no value depends on and that are others now,
                          or empty */
};

/* Sets found->facts where slope, intercept, place, angles, times of volumes and the like of an open
 * input are not those that were recorded; they are inputs of a run as the pixels are. */
enum ts_status ts_inputs_facts(const struct recorded *recorded, const struct source *source,
                               const char *input, struct inputs_found *found, struct ts_diag *diag);
enum inputs_fact { INPUTS_FACT_SAME, INPUTS_FACT_OTHER, INPUTS_FACT_ABSENT };
/* Compares what a source records of itself, such as its tube voltage, with what the result has of
 * it. */
enum inputs_fact ts_inputs_attribute(const struct recorded *recorded, const char *input,
                                     const struct source_attribute *attribute);
/* Returns true for a fact on which the values of a run depend: pixels, slope, intercept, place,
 * angles, volumes. */
bool ts_inputs_is_of_values(const char *name);
/* Returns true for a fact that says what else lay in the folder. */
bool ts_inputs_is_of_folder(const char *name);
/* Checks all inputs of the chain; found[i] is that of input i. Returns TS_OK where every slice is
 * as it was, TS_BAD_INPUT where one is not (inputs-differ) or where an input cannot be read at
 * all. */
enum ts_status ts_inputs_check(struct recorded *recorded,
                               struct inputs_found found[CHAIN_MAX_SOURCES], struct ts_diag *diag);
/* Compares the inputs by their headers and the first slice of each, which takes little time beside
 * a run, unless an input is one compressed stream: *other is the name of the first one that
 * differs, or NULL. Those that cannot be opened are passed over. */
enum ts_status ts_inputs_glance(struct recorded *recorded, const char **other,
                                struct ts_diag *diag);

#endif
