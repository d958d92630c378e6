/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/scan/transmission.h"

enum ts_status ts_transmission_shape(const struct stage_context *context, struct ts_image *out)
{
    (void)context;
    out->dtype = TS_F32;
    out->quantity = TS_TRANSMISSION;
    out->unit = "1";
    return TS_OK;
}
