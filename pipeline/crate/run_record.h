/* SPDX-License-Identifier: Apache-2.0
 *
 * This reads from a result what its run was made of: inputs, steps and which step used what. The formats that describe
 * runs all want this graph. Texts come from the file and may hold control characters.
 */
#ifndef PIPELINE_CRATE_RUN_RECORD_H
#define PIPELINE_CRATE_RUN_RECORD_H

#include "pipeline/chain/chain.h"
#include "pipeline/result/made.h"

struct record_input {
    const char *name, *format; /* format: "" where it is not recorded */
    const char *digest;        /* of the list of its slices' digests; "" where there is none */
};

/* A step uses inputs and the outputs of earlier steps. */
struct record_use {
    bool is_input;
    int index;
};

struct record_step {
    const char *group; /* "process_1_box" */
    const char *stage, *device;
    struct record_use uses[CHAIN_MAX_SOURCES]; /* its input first, then references */
    int n_uses;
    const char *digest; /* of the image, where the result holds it; "" elsewhere */
    const char *image;  /* the name of that image, or "" */
};

struct run_record {
    struct arena *arena;
    struct made made;
    const char *chain;   /* as text; it ends with a line's end */
    const char *version; /* of this program, as the result has it */
    struct record_input inputs[CHAIN_MAX_SOURCES];
    int n_inputs;
    struct record_step steps[CHAIN_MAX_STAGES];
    int n_steps;
};

/* Reads a result; the arena of the record owns all texts. Returns TS_BAD_INPUT where the file cannot be read, is no
 * result or holds no chain. ts_run_record_clear frees the arena, whether it fails or not. */
enum ts_status ts_run_record_read(const char *path, struct run_record *record, struct ts_diag *diag);
void ts_run_record_clear(struct run_record *record);
/* Returns the value of a fact of a step, such as "unit" or "parameters/radius"; "" where there is none. */
const char *ts_run_record_fact(const struct run_record *record, const struct record_step *step, const char *name);
/* Finds the next parameter of a step from fact *at on, and moves *at behind it. Returns NULL behind the last one, else
 * the fact, whose name without the group is in *name. */
const struct made_fact *ts_run_record_parameter(const struct run_record *record, const struct record_step *step,
                                                size_t *at, const char **name);

#endif
