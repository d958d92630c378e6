/* SPDX-License-Identifier: Apache-2.0
 *
 * This makes the geometry of an image of the transform that a volume file states.
 */
#ifndef IO_VOLUME_VOLUME_GEOMETRY_H
#define IO_VOLUME_VOLUME_GEOMETRY_H

#include "core/image.h"

/* Sets origin, direction and step of a volume, and its spacing along z where it is sheared, by the transform of voxel
 * (x, y, z, 1) to LPS in mm. *reversed: its axes are left-handed, and the geometry is that of the volume whose rows go
 * from the last to the first. Returns NULL, or what is wrong: a phrase such as "has an origin that is not finite". */
const char *ts_volume_geometry(const double transform[3][4], struct ts_image *image, bool *reversed);

#endif
