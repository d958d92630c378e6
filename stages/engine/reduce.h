/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of one stage in a run: totals and result of its reduction, and its tables. On a CUDA device partial results
 * are made there; their totals come here for finish().
 */
#ifndef STAGES_ENGINE_REDUCE_H
#define STAGES_ENGINE_REDUCE_H

#include "stages/engine/stage.h"

struct stage_reduced;

/* Bytes that ts_stage_reduced_create will allocate, known at plan time; slab_slices is the largest slab handed in. */
size_t ts_stage_reduced_bytes(const struct stage_context *context, int64_t slab_slices);
/* The context must outlive the state. Out of memory: reported, and nothing is left. */
enum ts_status ts_stage_reduced_create(const struct stage_context *context, int64_t slab_slices,
                                       struct stage_reduced **reduced);
void ts_stage_reduced_destroy(struct stage_reduced *reduced);
/* Takes the descriptions of a context that was prepared again, for the same parameter memory. TS_RUN_FAILED where a
 * table would have another size. */
enum ts_status ts_stage_reduced_renew(struct stage_reduced *reduced, const struct stage_context *context);

/* ---- over the whole volume ------------------------------------------------------------------- */

/* Adds these slices (rising z, each once per round). slab[1 + i] are the same slices of a reference i that streams with
 * the input. */
void ts_stage_reduced_add(struct stage_reduced *reduced, int input, const struct ts_image *slab);
/* The same from elsewhere (a CUDA device): memory for the total of an input in this round, to be filled before
 * finish(). */
void *ts_stage_reduced_total(struct stage_reduced *reduced, int input);
/* Ends the round: finish(), whose status it returns, then clears the totals for the next. */
enum ts_status ts_stage_reduced_finish(struct stage_reduced *reduced);

/* ---- slice by slice -------------------------------------------------------------------------- */

/* All rounds over each slice of the slab; afterwards the result stands for this slab. The rounds of whole-volume
 * references must have ended before. */
enum ts_status ts_stage_reduced_slab(struct stage_reduced *reduced, const struct ts_image *slab);
/* One round of it for the n slices of a slab, the first of them z_first of the volume, whose totals were made
 * elsewhere: total_of() writes that of slice i of the slab, from several threads at once. */
typedef void stage_total_of(const void *elsewhere, int64_t i, void *total);
enum ts_status ts_stage_reduced_slices(struct stage_reduced *reduced, int round, int64_t z_first, int64_t n,
                                       stage_total_of *total_of, const void *elsewhere);

/* ---- what came of it ------------------------------------------------------------------------- */

/* For context->result: the final result of the volume, or those of the last slab. */
const void *ts_stage_reduced_result(const struct stage_reduced *reduced);
/* The finished result of the whole-volume references, with which a reduction per slice starts. */
const void *ts_stage_reduced_reference_result(const struct stage_reduced *reduced);
/* The tables that the map writes; they are the last of all. Returns how many. */
int ts_stage_reduced_map_tables(const struct stage_reduced *reduced, const struct stage_table **tables);
/* The tables with their data; returns how many. */
int ts_stage_reduced_tables(const struct stage_reduced *reduced, const struct stage_table **tables);

#endif
