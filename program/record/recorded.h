/* SPDX-License-Identifier: Apache-2.0
 *
 * A result holds the chain that it was computed with, every parameter as it was resolved, and no path. This opens that
 * chain again and puts the paths of its inputs in.
 */
#ifndef PROGRAM_RECORD_RECORDED_H
#define PROGRAM_RECORD_RECORDED_H

#include "pipeline/chain/chain.h"
#include "program/record/made.h"

struct recorded {
    struct arena *arena;
    const char *path; /* of the result */
    struct made made;
    struct ts_chain *chain;
    bool given[CHAIN_MAX_SOURCES]; /* which inputs have a path that was given */
};

/* Opens the chain of a result. Each of the n inputs is "NAME=PATH" for the input of that name, or a path for all inputs
 * that are not named; those of which nothing is said lie under their own names in the result's folder. Returns
 * TS_BAD_INPUT where the file is no result or holds no chain, TS_BAD_CHAIN where two paths are for one input.
 * ts_recorded_close releases what it made, whether it fails or not. */
enum ts_status ts_recorded_open(const char *path, const char *const *inputs, int n, struct recorded *recorded,
                                struct ts_diag *diag);
/* Refuses an input of which nothing was said and that does not lie beside the result (input-not-given). `option` is how
 * the command takes paths, such as "--inputs". */
enum ts_status ts_recorded_check_inputs(const struct recorded *recorded, const char *option, struct ts_diag *diag);
void ts_recorded_close(struct recorded *recorded);

#endif
