/* SPDX-License-Identifier: Apache-2.0
 *
 * A stage from outside as a stage of this program: the table of include/tomostage_stage.h is
 * checked and turned into a struct stage once, so that all else treats it like a built-in one.
 */
#ifndef STAGES_ENGINE_ADDED_H
#define STAGES_ENGINE_ADDED_H

#include "include/tomostage_stage.h"
#include "stages/engine/stage.h"

struct added_stage;

/* Checks the table and copies it. TS_BAD_CHAIN: it is wrong (stage-table). */
enum ts_status ts_added_create(const struct ts_stage *table, const char *sha256,
                               struct added_stage **added, struct ts_diag *diag);
void ts_added_destroy(struct added_stage *added);
const struct stage *ts_added_stage(const struct added_stage *added);

#endif
