/* SPDX-License-Identifier: Apache-2.0
 *
 * A result must not become infinite or NaN without a warning. Every slice of an image of floats is
 * checked when it is read or computed; a run warns (not-finite-result) of each stage that makes
 * such values if its input has none.
 */
#ifndef PIPELINE_RUN_RUN_FINITE_H
#define PIPELINE_RUN_RUN_FINITE_H

#include "pipeline/run/run.h"

/* What a slice holds; LOOK_LOADED: it comes from a checkpoint, and was checked when it was
   computed. */
enum { LOOK_INFINITE = 1, LOOK_NAN = 2, LOOK_LOADED = 4 };

/* Notes in the node's `seen` what slices in host memory hold, and `also`: the back end of the
   CPU. */
enum ts_status ts_run_look_host(struct run *run, int32_t node, const struct ts_image *slices,
                                uint32_t also);
/* Checks slices that a node has read or computed, if it has an image of floats. */
enum ts_status ts_run_look(struct run *run, int32_t node, const struct ts_image *slices,
                           uint32_t also);
/* Sets *found if a stage has made such values in the current slab. */
enum ts_status ts_run_finds_not_finite(struct run *run, bool *found);
/* Notes in the results of the nodes what was found in the current volume on the current device, and
   resets it. */
enum ts_status ts_run_note_not_finite(struct run *run);
/* Warns of what was found in all volumes, on all ranks. */
enum ts_status ts_run_warn_not_finite(struct run *run);

#endif
