/* SPDX-License-Identifier: Apache-2.0
 *
 * The first round adds to the moments of labels and counts the first digits of their percentiles; later rounds count
 * the digits that follow. No kernel stands here: cuda/counting/label_moments.cu and label_ranks.cu have them.
 */
#include "cuda/histogram/statistics_labels.cuh"

enum ts_status ts_cuda_statistics_labels(const struct stage_context *context, const struct ts_image *slices,
                                         void *partials, const struct cuda_call *call)
{
    const struct statistics_params *params = (const struct statistics_params *)context->params;
    const struct ts_image *labels = &slices[STATISTICS_LABELS];
    enum ts_status status = TS_OK;
    if (context->round == 0)
        status =
            ts_cuda_label_moments(context, slices, labels, params->n_labels, (struct label_moments *)partials, call);
    if (status != TS_OK || ts_statistics_percentiles(context) == 0)
        return status;
    return ts_cuda_label_ranks(context, slices, labels, params->n_labels, context->round,
                               ts_statistics_label_ranks(context, call->result), ts_statistics_label_places(context),
                               (uint64_t *)((char *)partials + ts_statistics_label_moments(context)), call);
}
