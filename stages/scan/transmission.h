/* SPDX-License-Identifier: Apache-2.0
 *
 * The stages that turn counts into transmission share the description of their output: floats with
 * unit 1.
 */
#ifndef STAGES_SCAN_TRANSMISSION_H
#define STAGES_SCAN_TRANSMISSION_H

#include "stages/engine/stage.h"

/* This is the shape() of such a stage. */
static inline enum ts_status ts_transmission_shape(const struct stage_context *context,
                                                   struct ts_image *out)
{
    (void)context;
    out->dtype = TS_F32;
    out->quantity = TS_TRANSMISSION;
    out->unit = "1";
    return TS_OK;
}

#endif
