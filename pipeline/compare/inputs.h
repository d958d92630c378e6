/* SPDX-License-Identifier: Apache-2.0
 *
 * This reads the images that are said to be the inputs of a result, and holds them against the digests that the result
 * recorded: of the pixels of every slice, of their instances, and of slope, intercept, place and angles.
 */
#ifndef PIPELINE_COMPARE_INPUTS_H
#define PIPELINE_COMPARE_INPUTS_H

#include "pipeline/result/recorded.h"

enum inputs_kind {
    INPUTS_MISSING,    /* a slice was used, and is not there */
    INPUTS_CHANGED,    /* where a slice was, there is one with other pixels */
    INPUTS_ADDITIONAL, /* a slice is there that was not used */
    INPUTS_KINDS
};

struct inputs_found {
    const char *name;    /* of the input */
    int64_t n, n_same;   /* slices that were used; those of which the same pixels are there */
    int64_t n_unread;    /* of those that were used, the ones whose pixels the run did not need; matched by place */
    int64_t n_instances; /* of those, the ones that are of the very same DICOM instance; -1: none were recorded */
    int64_t counts[INPUTS_KINDS];
    char first[INPUTS_KINDS][512]; /* describes the first one of each kind */
    const char *facts;             /* recorded numbers that are others now, such as "slice_slope"; NULL: none */
};

/* Sets found->facts where slope, intercept, place or angles of an open input are not those that were recorded; they are
 * inputs of a run as the pixels are. */
enum ts_status ts_inputs_facts(const struct recorded *recorded, const struct source *source, const char *input,
                               struct inputs_found *found, struct ts_diag *diag);
/* Checks all inputs of the chain; found[i] is that of input i. Returns TS_OK where every slice is as it was,
 * TS_BAD_INPUT where one is not (inputs-differ) or where an input cannot be read at all. */
enum ts_status ts_inputs_check(struct recorded *recorded, struct inputs_found found[CHAIN_MAX_SOURCES],
                               struct ts_diag *diag);
/* Compares the inputs by their headers and the first slice of each, which takes little time beside a run, unless an
 * input is one compressed stream: *other is the name of the first one that is another, or NULL. Those that cannot be
 * opened are passed over. */
enum ts_status ts_inputs_glance(struct recorded *recorded, const char **other, struct ts_diag *diag);

#endif
