/* SPDX-License-Identifier: Apache-2.0
 *
 * Input slabs: parts of a volume put together, with halos filled by the border rules at the ends of the volume.
 */
#ifndef STAGES_ENGINE_SLAB_H
#define STAGES_ENGINE_SLAB_H

#include "stages/engine/stage.h"

/* The input slab for output slices [z, z + n), with the reach's halo, out of parts that together hold the slices needed
 * (rising z_first). Where one part holds all of it, *padded is a view of that part; else the slices are copied to
 * `room` ((n + 2 halo) slices) with the border rule of the volume's ends. `whole` describes the volume. */
void ts_stage_pad(const struct stage_reach *reach, const struct ts_image *whole, const struct ts_image *parts,
                  int n_parts, int64_t z, int64_t n, void *room, struct ts_image *padded);
/* The part that holds slice z, or NULL. */
const struct ts_image *ts_stage_part(const struct ts_image *parts, int n_parts, int64_t z);

#endif
