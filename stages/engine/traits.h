/* SPDX-License-Identifier: Apache-2.0
 *
 * These functions answer questions about a prepared stage, even if its table has NULL. All are pure
 * and cannot fail.
 */
#ifndef STAGES_ENGINE_TRAITS_H
#define STAGES_ENGINE_TRAITS_H

#include "stages/engine/stage.h"

/* Returns the stage's own input for 0, references[i - 1] for i > 0, and NULL if that is not
 * given. */
const struct ts_image *ts_stage_input(const struct stage_context *context, int input);
/* Returns the tolerance of the method that the resolved parameters name. */
struct stage_tolerance ts_stage_tolerance(const struct stage_context *context);
/* Returns the reach in z, with halo 0 if the stage looks at each slice by itself. */
struct stage_reach ts_stage_reach(const struct stage_context *context);
/* Returns the input slices that the map of output slices [first, end) gets. Slices of the halo may
 * be beyond the ends of the volume. */
struct stage_slices ts_stage_reads(const struct stage_context *context, int64_t first, int64_t end);
/* Returns the number of slices of the input or of the output, whichever has more. */
int64_t ts_stage_most_slices(const struct stage_context *context);
/* Returns the number of rounds of the reduction, 0 if there is none. */
int ts_stage_rounds(const struct stage_context *context);
/* Returns true if reference i is given and streams with the input. */
bool ts_stage_streams(const struct stage_context *context, int reference);
/* Returns true if input 0 is reduced slice by slice. */
bool ts_stage_reduces_slices(const struct stage_context *context);
/* Returns true if this input is reduced over its whole volume. */
bool ts_stage_reduces_volume(const struct stage_context *context, int input);
/* Returns true if any input is reduced over its whole volume. */
bool ts_stage_reduces_volumes(const struct stage_context *context);
/* Returns true if a reduction of this stage finds numbers of its output's axes. */
bool ts_stage_finds_axes(const struct stage_context *context);
/* Writes to `slices` the views of slices [first, first + n), counted within `images`: that of
 * images[0] and, for input 0, those of images[1 + i] for each reference i that streams with the
 * input. */
void ts_stage_slices(const struct stage_context *context, int input, const struct ts_image *images,
                     int64_t first, int64_t n, struct ts_image slices[STAGE_INPUTS]);
/* Returns true if a stage has a state (stages/engine/reduce.h): it reduces, or its map writes
 * tables. */
bool ts_stage_has_state(const struct stage_context *context);
/* Describes all tables, first those of the reduction, then those of the map, and returns how many
 * there are. *n_map (may be NULL) becomes the number of the latter. */
int ts_stage_tables(const struct stage_context *context, struct stage_table tables[STAGE_TABLES],
                    int *n_map);
/* Returns true if the stage makes pixels invalid (stages/engine/stage.h: masks). */
bool ts_stage_masks(const struct stage_context *context);
/* Returns true if a stage treats invalid pixels as measured, in its map or in its reduction. */
bool ts_stage_takes_invalid(const struct stage_context *context);
/* Returns true where the map makes values of several labels (struct ts_image: labels) of its input:
 * unless it only moves, keeps or ends them. */
bool ts_stage_mixes_labels(const struct stage_context *context);

/* This counts the work of a prepared stage, in the unit in which stages of its kind have a steady
 * rate: bytes that it must move, or for projections and reconstructions the samples that it reads
 * along rays or views. The benchmark divides it by the time measured, and predictions divide it by
 * that rate. */

/* Returns true if the stage reduces its input. */
bool ts_stage_reduces(const struct stage_context *context);
/* Returns the bytes that the stage reads and writes at least, where `mapped` is the share of its
 * image that it maps and `reduced` that of its input that it reduces; 1 is all of it. References
 * are read in the same shares. */
double ts_stage_work_bytes(const struct stage_context *context, double mapped, double reduced);
/* Returns the number of values that the rays of a projection meet, or of pixels in views of a
 * reconstruction, in one map of the whole image; NAN for other stages. An iterative reconstruction
 * counts two passes an iteration. */
double ts_stage_work_samples(const struct stage_context *context);

#endif
