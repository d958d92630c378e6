/* SPDX-License-Identifier: Apache-2.0
 *
 * For the stages that make transmissions out of counts.
 */
#ifndef STAGES_SCAN_TRANSMISSION_H
#define STAGES_SCAN_TRANSMISSION_H

#include "stages/engine/stage.h"

/* shape() of such a stage: f32 in unit 1. */
enum ts_status ts_transmission_shape(const struct stage_context *context, struct ts_image *out);

#endif
