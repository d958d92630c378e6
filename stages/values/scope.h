/* SPDX-License-Identifier: Apache-2.0
 *
 * The parameter `scope` of the stages that look at an image as a whole before they map or describe it.
 */
#ifndef STAGES_VALUES_SCOPE_H
#define STAGES_VALUES_SCOPE_H

#include "core/params.h"

enum scope { SCOPE_VOLUME, SCOPE_SLICE };
extern const struct choice ts_scope_choices[];

#endif
