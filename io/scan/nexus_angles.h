/* SPDX-License-Identifier: Apache-2.0
 *
 * What an NXtomo file says of the angles beside those that are taken: other lists, and where the
 * rotation was when an exposure ended.
 */
#ifndef IO_SCAN_NEXUS_ANGLES_H
#define IO_SCAN_NEXUS_ANGLES_H

#include "io/scan/nexus_fields.h"

/* Warns (field-unused) of a list of an NXdata that contradicts the angles, and of NAME_end and
 * NAME_increment_set beside them. */
enum ts_status ts_nexus_angles_warn(const struct nexus_places *places);

#endif
