/* SPDX-License-Identifier: Apache-2.0
 *
 * A result must not become infinite or NaN without a word. Every image of floats is looked at as it
 * is read or computed, slice by slice; a run warns (not-finite-result) of each stage that makes
 * such values where its input has none.
 */
#ifndef PIPELINE_RUN_RUN_FINITE_H
#define PIPELINE_RUN_RUN_FINITE_H

#include "pipeline/run/run.h"

/* What a slice holds; and LOOK_LOADED: a checkpoint has it, so that it was looked at when it was
 * computed. */
enum { LOOK_INFINITE = 1, LOOK_NAN = 2, LOOK_LOADED = 4 };

/* Notes what slices in host memory hold, and `also`, in the `seen` of the node: the back end of the
 * CPU. */
enum ts_status ts_run_look_host(struct run *run, int32_t node, const struct ts_image *slices,
                                uint32_t also);
/* Looks at slices that a node has read or computed, if it has an image of floats. */
enum ts_status ts_run_look(struct run *run, int32_t node, const struct ts_image *slices,
                           uint32_t also);
/* Sets *found where a stage has made such values in the slab at hand. */
enum ts_status ts_run_finds_not_finite(struct run *run, bool *found);
/* Notes in the results of the nodes what was found in the volume at hand, on the device at hand,
 * and forgets it. */
enum ts_status ts_run_note_not_finite(struct run *run);
/* Warns of what was found in all volumes, on all ranks. */
enum ts_status ts_run_warn_not_finite(struct run *run);

#endif
