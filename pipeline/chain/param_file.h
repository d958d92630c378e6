/* SPDX-License-Identifier: Apache-2.0
 *
 * A stage may take numbers from a file that is no image, such as the landmarks of a standard scale:
 * its table has NAME_file, the path, NAME, the numbers, and NAME_sha256. The file is a JSON object
 * with `stage`, the stage's name, `version`, which is 1, and the stage's parameters of numbers;
 * what else it holds is for people. A result records the numbers and the digest, so that its chain
 * runs again without the file.
 */
#ifndef PIPELINE_CHAIN_PARAM_FILE_H
#define PIPELINE_CHAIN_PARAM_FILE_H

#include "pipeline/chain/chain.h"

enum { PARAM_FILE_VERSION = 1 };

/* Reads the files that stages of the chain name. *chain becomes a copy in the arena with the
 * numbers and digests, in which NAME_file is idle; it stays as it is if no stage names one. Returns
 * TS_BAD_INPUT if a file cannot be read (input-unreadable), has changed meanwhile (file-changed) or
 * is no such file (parameter-file), TS_BAD_CHAIN if its numbers are given as well
 * (parameter-unused) or it is swept over (parameter-file). */
enum ts_status ts_chain_read_files(const struct ts_chain **chain, struct arena *arena,
                                   struct ts_diag *diag);

#endif
