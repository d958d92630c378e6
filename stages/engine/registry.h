/* SPDX-License-Identifier: Apache-2.0
 *
 * The stages that chains may name: those of stages.def, and behind them those that were added to a
 * context. Lists only grow, so that any thread may read one while another adds to it.
 */
#ifndef STAGES_ENGINE_REGISTRY_H
#define STAGES_ENGINE_REGISTRY_H

#include "include/tomostage_stage.h"
#include "stages/engine/stage.h"

/* NULL in the place of a registry is that of the process, to which only the program adds. */
struct stage_registry;

struct stage_registry *ts_registry_create(void); /* returns NULL if memory is out */
void ts_registry_destroy(struct stage_registry *registry);
/* Returns stage i; NULL past the last one. */
const struct stage *ts_registry_stage(const struct stage_registry *registry, size_t i);
/* Returns the stage of this name, or NULL if there is none. */
const struct stage *ts_registry_find(const struct stage_registry *registry, const char *name);
/* Lists at most `most` names, and returns how many. */
size_t ts_registry_names(const struct stage_registry *registry, const char **names, size_t most);
/* Adds n stages, or none of them, after checking their tables (codes stage-table, stage-taken).
 * `sha256` is the digest of the library that they are from, NULL if there is none. */
enum ts_status ts_registry_add(struct stage_registry *registry,
                               const struct ts_stage *const *stages, size_t n, const char *sha256,
                               struct ts_diag *diag);

#endif
