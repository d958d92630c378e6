/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of one stage in a run holds the totals and the result of its reduction, and its tables.
 * A CUDA device makes the partial results itself; their totals come here for finish().
 */
#ifndef STAGES_ENGINE_REDUCE_H
#define STAGES_ENGINE_REDUCE_H

#include "stages/engine/stage.h"

struct stage_reduced;

/* Returns the bytes that ts_stage_reduced_create will allocate, which are known at plan time.
 * slab_slices is the largest slab that it will be given. */
size_t ts_stage_reduced_bytes(const struct stage_context *context, int64_t slab_slices);
/* Creates the state, which the context must outlive. If memory is out, that is reported and nothing
 * is left. */
enum ts_status ts_stage_reduced_create(const struct stage_context *context, int64_t slab_slices,
                                       struct stage_reduced **reduced);
void ts_stage_reduced_destroy(struct stage_reduced *reduced);
/* Copies the descriptions of a context that was prepared again with the same parameter memory.
 * Returns TS_RUN_FAILED if a table would have a different size. */
enum ts_status ts_stage_reduced_renew(struct stage_reduced *reduced,
                                      const struct stage_context *context);

/* ---- over the whole volume ------------------------------------------------------------------- */

/* Adds these slices (rising z, each once per round). slab[1 + i] are the same slices of a reference
 * i that streams with the input. */
void ts_stage_reduced_add(struct stage_reduced *reduced, int input, const struct ts_image *slab);
/* Returns the memory of the total of an input in this round, for a total that is made elsewhere (on
 * a CUDA device). Fill it before finish(). */
void *ts_stage_reduced_total(struct stage_reduced *reduced, int input);
/* Ends the round: calls finish(), whose status it returns, and clears the totals for the next
 * round. */
enum ts_status ts_stage_reduced_finish(struct stage_reduced *reduced);

/* ---- over a volume of which other processes reduce a part ------------------------------------ */

/* The first returns the total of an input in this round, which has no pointers, or NULL if no
 * slices were added. The second returns its bytes. */
const void *ts_stage_reduced_sum(const struct stage_reduced *reduced, int input);
size_t ts_stage_reduced_sum_bytes(const struct stage_reduced *reduced, int input);
/* Forgets the slices that were added in this round. */
void ts_stage_reduced_forget(struct stage_reduced *reduced, int input);
/* Merges the total of slices behind those that were added here. The total may be in the memory for
 * a partial that ts_stage_reduced_spare returns, which ts_stage_reduced_add overwrites. */
void ts_stage_reduced_join(struct stage_reduced *reduced, int input, const void *total);
void *ts_stage_reduced_spare(const struct stage_reduced *reduced);

/* ---- slice by slice -------------------------------------------------------------------------- */

/* Runs all rounds over each slice of the slab; afterwards the result is that of this slab. The
 * rounds of whole-volume references must have ended before. */
enum ts_status ts_stage_reduced_slab(struct stage_reduced *reduced, const struct ts_image *slab);
/* Runs one round for the n slices of a slab that starts at slice z_first of the volume, with totals
 * that were made on a device. total_of() writes the total of slice i of the slab; several threads
 * call it at once. */
typedef void stage_total_of(const void *elsewhere, int64_t i, void *total);
enum ts_status ts_stage_reduced_slices(struct stage_reduced *reduced, int round, int64_t z_first,
                                       int64_t n, stage_total_of *total_of, const void *elsewhere);

/* ---- what came of it ------------------------------------------------------------------------- */

/* Returns the final result of the volume, or those of the last slab, for context->result. */
const void *ts_stage_reduced_result(const struct stage_reduced *reduced);
/* Returns the finished result of the whole-volume references, with which a reduction per slice
 * starts. */
const void *ts_stage_reduced_reference_result(const struct stage_reduced *reduced);
/* Points *tables to the tables that the map writes, which are the last of all tables. Returns how
 * many there are. */
int ts_stage_reduced_map_tables(const struct stage_reduced *reduced,
                                const struct stage_table **tables);
/* Points *tables to all tables with their data. Returns how many there are. */
int ts_stage_reduced_tables(const struct stage_reduced *reduced, const struct stage_table **tables);

#endif
