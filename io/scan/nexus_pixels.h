/* SPDX-License-Identifier: Apache-2.0
 *
 * What an NXtomo file says of where the pixels of its detector are: offsets along x and y, and the
 * directions of NXdetector_module. They are not used, and warned of if they contradict how the
 * frames are read.
 */
#ifndef IO_SCAN_NEXUS_PIXELS_H
#define IO_SCAN_NEXUS_PIXELS_H

#include "io/scan/nexus_fields.h"

/* What a detector does that lies the other way, and what helps. */
extern const char ts_nexus_pixels_mirrored[], ts_nexus_pixels_upside_down[],
    ts_nexus_pixels_flip_hint[];

enum ts_status ts_nexus_pixels_warn(const struct nexus_places *places);
/* Hints at the order of the axes in which rows and columns are exchanged. */
void ts_nexus_pixels_hint_exchanged(const struct nexus_places *places);

#endif
