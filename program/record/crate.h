/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes how a result was made as an RO-Crate of the Provenance Run Crate profile, with W3C PROV
 * beside it. Source: RO-Crate 1.1; Workflow Run RO-Crate profiles 0.5 (Leo et al., 2024); PROV-JSON
 * (W3C member submission, 2013).
 */
#ifndef PROGRAM_RECORD_CRATE_H
#define PROGRAM_RECORD_CRATE_H

#include "io/file/file_commit.h"
#include "pipeline/chain/chain.h"
#include "program/record/made.h"

/* What a step uses: an input, or the output of an earlier step. */
struct record_use {
    bool is_input;
    int index;
};

struct record_step {
    const struct made_stage *of;
    struct record_use uses[CHAIN_MAX_SOURCES]; /* first its input, then its references */
    int n_uses;
    const char *digest; /* digest of its image, if the result holds that; else "" */
    const char *image;  /* the name of that image, or "" */
};

struct run_record {
    struct arena *arena;
    struct made made;
    const char *chain;   /* as text that ends with a newline */
    const char *version; /* version of this program, as the result states it */
    struct record_step steps[CHAIN_MAX_STAGES];
    int n_steps;
};

/* Reads a result; the arena of the record owns all texts. Returns TS_BAD_INPUT if the file cannot
   be read, is no result or holds no chain. ts_run_record_clear, which frees the arena, must follow,
   even after a failure. */
enum ts_status ts_run_record_read(const char *path, struct run_record *record,
                                  struct ts_diag *diag);
void ts_run_record_clear(struct run_record *record);

/* Writes chain.yaml, prov.json and ro-crate-metadata.json to the folder, which appears whole or not
   at all. It must be absent or empty, or, with `force`, an earlier crate that holds nothing else.
   `date` is the crate's datePublished in ISO 8601; NULL omits it. Returns TS_RUN_FAILED if the
   folder cannot be used or written. ts_staged_clear of `staged` must follow, even after a failure;
   ts_staged_retract before it takes the crate back. */
enum ts_status ts_crate_write(const struct run_record *record, const char *folder, const char *date,
                              bool force, struct staged *staged, struct ts_diag *diag);

#endif
