/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/engine/slab.h"

#include <string.h>

#include "stages/engine/border.h"

const struct ts_image *ts_stage_part(const struct ts_image *parts, int n_parts, int64_t z)
{
    for (int i = 0; i < n_parts; i++)
        if (z >= parts[i].z_first && z < parts[i].z_first + parts[i].axes[0].n)
            return &parts[i];
    return NULL;
}

void ts_stage_pad(const struct stage_reach *reach, const struct ts_image *whole, const struct ts_image *parts,
                  int n_parts, int64_t z, int64_t n, void *room, struct ts_image *padded)
{
    const int64_t nz = whole->axes[0].n, first = z - reach->halo, count = n + 2 * reach->halo;
    const struct ts_image *holder = ts_stage_part(parts, n_parts, first);
    *padded = *whole;
    padded->axes[0].n = count;
    padded->z_first = first;
    padded->data = room;
    if (holder && first + count <= holder->z_first + holder->axes[0].n) {
        padded->data = ts_slice_data(holder, first - holder->z_first);
        return;
    }
    const size_t bytes = ts_slice_bytes(whole);
    for (int64_t k = 0; k < count; k++) {
        const int64_t from = ts_border_index(first + k, nz, reach->border);
        const struct ts_image *part = from < 0 ? NULL : ts_stage_part(parts, n_parts, from);
        if (part)
            memcpy(ts_slice_data(padded, k), ts_slice_data(part, from - part->z_first), bytes);
        else
            ts_constant_fill(ts_slice_data(padded, k), whole->dtype, reach->constant, (int64_t)ts_slice_count(whole));
    }
}
