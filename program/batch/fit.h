/* SPDX-License-Identifier: Apache-2.0
 *
 * Fits the standard scale of the stage `nyul` to the studies of a batch (`batch --fit`). A first
 * batch computes the percentiles of each study with the stages before nyul, `statistics`, and a
 * crop to one pixel, so that its results are small; like other results they are verified and found
 * again. From them come the landmarks, as TorchIO averages them, and the file that the chain names.
 */
#ifndef PROGRAM_BATCH_FIT_H
#define PROGRAM_BATCH_FIT_H

#include "pipeline/chain/chain.h"
#include "program/batch/batch.h"

struct fit {
    const char *path;  /* file of the landmarks */
    const char *chain; /* of the first batch, on one line */
    int stages;        /* of that chain, up to `statistics` */
};

/* Finds the stage and the file, and writes the chain of the first batch. Returns TS_BAD_CHAIN
 * (fit-chain) if the chain has no such stage, or several, or names no file. */
enum ts_status ts_fit_prepare(const struct ts_chain *chain, struct arena *arena, struct fit *fit,
                              struct ts_diag *diag);
/* Refuses a file that cannot be written, or is there and may not be replaced. Only a file of
 * landmarks is ever replaced. */
enum ts_status ts_fit_check_file(const struct fit *fit, bool resume, bool force,
                                 struct ts_diag *diag);
/* Gives the stage some landmarks in place of the file, so that the whole chain can be planned
 * before there are any. */
void ts_fit_assume(struct ts_chain *chain);
/* Computes the landmarks from the results of the first batch, and writes the file whole or not at
 * all. A file of the same content stays. */
enum ts_status ts_fit_write(const struct fit *fit, const struct batch *batch, bool force,
                            struct ts_diag *diag);

#endif
