/* SPDX-License-Identifier: Apache-2.0
 *
 * One side of an operator computes one image, on either device.
 */
#include "pipeline/operator/operator.h"

static enum ts_status map_whole(struct operator_side *side, const float *in, float *out)
{
    struct ts_image slices[STAGE_INPUTS];
    side->from.data = (void *)(uintptr_t)in;
    side->to.data = out;
    slices[0].valid = NULL; /* all that is read of it, because nothing is reduced */
    return ts_driver_slab(side->driver, &side->from, 1, slices, &side->to);
}

enum ts_status ts_operator_side_run(struct ts_operator *op, struct operator_side *side,
                                    const float *in, float *out)
{
    if (side->gather.n_in[0] == 0)
        return map_whole(side, in, out);
    if (!side->driver)
        return op->calls->gather(op, side, in, out);
    enum ts_status status = op->calls->embed(op, side, in);
    if (status == TS_OK)
        status = map_whole(side, side->wide_in, side->wide_out);
    return status == TS_OK ? op->calls->gather(op, side, side->wide_out, out) : status;
}
