/* SPDX-License-Identifier: Apache-2.0
 *
 * Carries out one stage on slabs: the runner, the tests and the benchmark all call a stage through here.
 */
#ifndef STAGES_EXECUTE_H
#define STAGES_EXECUTE_H

#include "stages/stage.h"

/* Prepares *context for this input: resolve() on set->values, shape(); references by row order. `set`, `in` and the
 * references must outlive it. TS_BAD_CHAIN with records in diag where the stage refuses (axes, dtype, quantity
 * included). device NULL: the CPU; a chosen method that the device cannot run is refused. */
enum ts_status ts_stage_prepare(const struct stage *stage, struct param_set *set, const struct ts_image *in,
                                const struct ts_image *const references[STAGE_REFERENCES], int threads,
                                const struct cuda_device *device, struct ts_diag *diag, struct stage_context *context);

/* Makes context->transforms, before anything of the stage runs; and ends them. Bytes: what they take, known before. */
size_t ts_stage_transforms_bytes(const struct stage_context *context);
enum ts_status ts_stage_transforms_create(struct stage_context *context);
void ts_stage_transforms_destroy(struct stage_context *context);

/* Of the method that the resolved parameters name. */
struct stage_tolerance ts_stage_tolerance(const struct stage_context *context);
struct stage_reach ts_stage_reach(const struct stage_context *context);
int ts_stage_rounds(const struct stage_context *context);

/* Index in [0, n) of sample i under a border rule (any i), or -1 for the constant outside. */
int64_t ts_border_index(int64_t i, int64_t n, enum ts_border border);

/* The input slab for output slices [z, z + n), with the reach's halo, out of parts that together hold the slices needed
 * (rising z_first). Where one part holds all of it, *padded is a view of that part; else the slices are copied to
 * `room`
 * ((n + 2 halo) slices) with the border rule of the volume's ends. `whole` describes the volume. */
void ts_stage_pad(const struct stage_reach *reach, const struct ts_image *whole, const struct ts_image *parts,
                  int n_parts, int64_t z, int64_t n, void *room, struct ts_image *padded);

/* Of which ts_stage_pad is made: the part that holds slice z, or NULL; and a slice full of the border's constant. */
const struct ts_image *ts_stage_part(const struct ts_image *parts, int n_parts, int64_t z);
void ts_stage_fill_slice(void *slice, const struct ts_image *image, double value);

/* True where a reduction of this stage finds numbers of its output's axes. */
bool ts_stage_finds_axes(const struct stage_context *context);
/* Calls shape() again after the last round of a reduction that finds_axes. TS_RUN_FAILED (code found-shape) where more
 * than numbers of axes differs. */
enum ts_status ts_stage_find_axes(struct stage_context *context, const void *result);

/* The state of one stage: totals and result of its reduction, and tables. */
struct stage_reduced;
/* Describes all tables of the stage, those of the map last; returns how many. */
int ts_stage_tables(const struct stage_context *context, struct stage_table tables[STAGE_TABLES]);
/* True where a stage has such a state: it reduces, or its map writes tables. */
bool ts_stage_has_state(const struct stage_context *context);
/* Bytes that ts_stage_reduced_create will allocate, known at plan time; slab_slices is the largest slab handed in. */
size_t ts_stage_reduced_bytes(const struct stage_context *context, int64_t slab_slices);
/* The context must outlive the state. */
enum ts_status ts_stage_reduced_create(const struct stage_context *context, int64_t slab_slices,
                                       struct stage_reduced **reduced);
void ts_stage_reduced_destroy(struct stage_reduced *reduced);
/* True where input i (0: the stage's own, i > 0: references[i - 1]) is reduced over its whole volume. */
bool ts_stage_reduces_volume(const struct stage_context *context, int input);
/* True where reference i is given and travels with the input. */
bool ts_stage_travels(const struct stage_context *context, int reference);
/* True where input 0 is reduced slice by slice. */
bool ts_stage_reduces_slices(const struct stage_context *context);
/* Whole-volume reduction: adds these slices (rising z, each once per round). slab[1 + i] are the same slices of a
 * reference i that travels. */
void ts_stage_reduced_add(struct stage_reduced *reduced, int input, const struct ts_image *slab);
/* The same from elsewhere (a CUDA device): memory for the total of an input in this round, to be filled before
 * finish(). */
void *ts_stage_reduced_total(struct stage_reduced *reduced, int input);
/* Takes the descriptions of a context that was prepared again, for the same parameter memory. TS_RUN_FAILED where a
 * table would have another size. */
enum ts_status ts_stage_reduced_renew(struct stage_reduced *reduced, const struct stage_context *context);
/* Ends the round: finish(), then clears the totals for the next. */
enum ts_status ts_stage_reduced_finish(struct stage_reduced *reduced);
/* Reduction per slice: all rounds over each slice of the slab; afterwards the result stands for this slab.
 * The rounds of whole-volume references must have ended before. */
enum ts_status ts_stage_reduced_slab(struct stage_reduced *reduced, const struct ts_image *slab);
/* One round of it for slice i of the slab, z in the volume, whose total was made elsewhere. */
enum ts_status ts_stage_reduced_slice(struct stage_reduced *reduced, int round, int64_t i, int64_t z,
                                      const void *total);
/* For context->result: the final result of the volume, or those of the last slab. */
const void *ts_stage_reduced_result(const struct stage_reduced *reduced);
/* The finished result of the whole-volume references, with which a reduction per slice starts. */
const void *ts_stage_reduced_reference_result(const struct stage_reduced *reduced);
/* Before cpu(): points context->result at the result, and context->tables at the rows of the slices of `out`, which are
 * described in `rows`. reduced NULL: at nothing. */
void ts_stage_reduced_lend(const struct stage_reduced *reduced, const struct ts_image *out, struct ts_image rows[],
                           struct stage_context *context);
/* The tables that the map writes; they are the last of all. */
int ts_stage_reduced_map_tables(const struct stage_reduced *reduced, const struct stage_table **tables);
/* The tables with their data; returns how many. */
int ts_stage_reduced_tables(const struct stage_reduced *reduced, const struct stage_table **tables);

/* Whole images at once, for tests, benchmark and small callers: prepares nothing, runs every round over slabs of
 * `slab` slices (0: all), then the map into out->data (allocated by the caller; ignored for pass-through stages).
 * out->axes follow where the stage finds them. references[i] have data. *reduced (may be NULL) receives the state with
 * its tables; the caller destroys it. */
enum ts_status ts_stage_apply(struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                              const struct ts_image *const references[STAGE_REFERENCES], int64_t slab,
                              struct stage_reduced **reduced);

#endif
