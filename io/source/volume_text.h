/* SPDX-License-Identifier: Apache-2.0
 *
 * Describes the grid of a volume, and the axis of a series of volumes, as `info` prints them for
 * any file.
 */
#ifndef IO_SOURCE_VOLUME_TEXT_H
#define IO_SOURCE_VOLUME_TEXT_H

#include "core/image.h"
#include "core/json.h"

/* Writes "axial", "coronal", "sagittal", or, for example, "axial, oblique 12.3 degrees" or "axial,
   sheared 14.0 degrees" for the slices of an image with a place in the patient. */
void ts_volume_orientation(const struct ts_image *image, char *out, size_t size);
/* Writes spacing, place, type, quantity and unit as members of the open object. */
void ts_volume_json(struct json *json, const struct ts_image *image);
/* Writes the member "volumes": how many there are, along which axis, and at which positions. */
void ts_volume_axis_json(struct json *json, const struct ts_axis *axis);

#endif
