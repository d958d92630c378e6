/* SPDX-License-Identifier: Apache-2.0
 *
 * statistics on the device. cuda/counting/value_counts.cuh counts the values of 8- and 16-bit
 * integers, and cuda/counting/count_moments.cuh makes the moments of slices from these counts;
 * other types use cuda/counting/moments.cuh for moments and range, and cuda/counting/percentile.cuh
 * for percentiles. The host works out the numbers themselves, as on the CPU. The image is read
 * once, and once or twice more for percentiles.
 *
 * The partial of a volume of 8- and 16-bit integers is its counts. Others have, in the first round,
 * the moments of the slices (all nz of a volume, one of a slice), then the counts of the upper
 * halves of the keys, or the ends of the percentiles of a slice; in the second round, the counts of
 * the lower halves. Behind all of these is the partial of the noise estimate
 * (cuda/counting/noise_estimate.cuh). Labels have partials of their own (statistics_labels.cuh).
 */
#include "cuda/device/launch.cuh"

#include "cuda/counting/count_moments.cuh"
#include "cuda/counting/moments.cuh"
#include "cuda/counting/noise_estimate.cuh"
#include "cuda/counting/percentile.cuh"
#include "cuda/counting/value_counts.cuh"
#include "cuda/histogram/statistics_labels.cuh"

extern "C" {
#include "stages/histogram/statistics.h"
#include "stages/values/scope.h"
}

STAGE_PARAMS_OF(statistics_params)

static bool by_value(const struct stage_context *context)
{
    return ts_value_counts_fit(context->in.dtype);
}

static size_t one_moments_bytes(const struct stage_context *context)
{
    return by_value(context) ? ts_cuda_count_moments_bytes() : ts_cuda_moments_bytes();
}

static size_t moments_bytes(const struct stage_context *context)
{
    return ts_cuda_stride(ts_scope_slices(context) * one_moments_bytes(context));
}

static enum noise_estimate noise_of(const struct stage_context *context)
{
    return (enum noise_estimate)params_of(context)->noise;
}

static bool is_own_round(const struct stage_context *context)
{
    return context->round < ts_statistics_own_rounds(context);
}

static size_t own_partial_bytes(const struct stage_context *context)
{
    const int n_percentiles = ts_statistics_percentiles(context);
    if (!is_own_round(context))
        return 0;
    if (ts_statistics_of_counts(context))
        return ts_cuda_value_counts_bytes(context->in.dtype, false);
    if (context->round == 1)
        return ts_cuda_percentile_bytes(1, n_percentiles);
    size_t percentiles = n_percentiles > 0 ? ts_cuda_percentile_bytes(0, n_percentiles) : 0;
    if (ts_statistics_by_slice(context))
        percentiles = sizeof(struct percentile_ends);
    return moments_bytes(context) + percentiles;
}

/* Returns the bytes of the noise estimate's partial, or 0 in rounds in which it has none. */
static size_t noise_bytes(const struct stage_context *context)
{
    struct stage_context noise;
    return ts_statistics_noise_round(context, &noise)
               ? ts_cuda_noise_bytes(&noise, noise_of(context))
               : 0;
}

static size_t partial_bytes(const struct stage_context *context, int)
{
    if (ts_statistics_by_label(context))
        return ts_statistics_label_partial(context);
    const size_t noise = noise_bytes(context), own = own_partial_bytes(context);
    return noise > 0 ? ts_cuda_stride(own) + noise : own;
}

/* Returns the bytes of the counts of n slices, if values are counted slice by slice. */
static size_t slice_counts_bytes(const struct stage_context *context, int64_t n)
{
    return (size_t)n * ts_cuda_stride(ts_cuda_value_counts_bytes(context->in.dtype, true));
}

static size_t own_scratch_bytes(const struct stage_context *context, int64_t n)
{
    const struct statistics_params *params = params_of(context);
    const int n_percentiles = ts_statistics_percentiles(context);
    if (!is_own_round(context))
        return 0;
    if (by_value(context))
        return ts_cuda_value_counts_scratch_bytes(context, &context->in, ts_scope_is_slice(context),
                                                  n) +
               (ts_scope_is_slice(context) ? slice_counts_bytes(context, n) : 0);
    if (context->round == 1)
        return ts_cuda_percentile_scratch_bytes(context, 1, n);
    const size_t moments = ts_cuda_moments_scratch_bytes((int64_t)ts_slice_count(&context->in),
                                                         (enum reduction_method)params->method, n);
    size_t percentiles = 0;
    if (ts_statistics_by_slice(context))
        percentiles = ts_cuda_percentile_ends_scratch_bytes(
            context, (enum percentile_method)params->percentile_method, n_percentiles, n);
    else if (n_percentiles > 0)
        percentiles = ts_cuda_percentile_scratch_bytes(context, 0, n);
    return moments > percentiles ? moments : percentiles;
}

static size_t scratch_bytes(const struct stage_context *context, int, int64_t n)
{
    if (ts_statistics_by_label(context))
        return 0;
    struct stage_context round;
    const size_t own = own_scratch_bytes(context, n);
    const size_t noise = ts_statistics_noise_round(context, &round)
                             ? ts_cuda_noise_scratch_bytes(&round, noise_of(context), n)
                             : 0;
    return own > noise ? own : noise;
}

/* The constants are the percentiles, then 50 for the noise estimate, then the logarithms of the
 * keys. */
static size_t percents_bytes(const struct stage_context *context)
{
    return ((size_t)ts_statistics_percentiles(context) + 1) * sizeof(double);
}

static size_t constants_bytes(const struct stage_context *context)
{
    const bool of_slice_counts = by_value(context) && ts_scope_is_slice(context);
    return percents_bytes(context) +
           (of_slice_counts ? ts_cuda_count_logs_bytes(context->in.dtype) : 0);
}

static void statistics_constants(const struct stage_context *context, void *host)
{
    if (ts_statistics_percentiles(context) > 0)
        memcpy(host, params_of(context)->percentiles.values,
               percents_bytes(context) - sizeof(double));
    ((double *)host)[ts_statistics_percentiles(context)] = 50;
    if (by_value(context) && ts_scope_is_slice(context))
        ts_cuda_count_logs(context->in.dtype, (double *)((char *)host + percents_bytes(context)));
}

/* The scratch starts with the counts. */
static enum ts_status reduce_slice_counts(const struct stage_context *context,
                                          const struct ts_image *slices, char *partials,
                                          const struct cuda_call *call)
{
    const int n_percentiles = ts_statistics_percentiles(context);
    const size_t stride = ts_cuda_stride(partial_bytes(context, 0));
    const int64_t n = slices->axes[0].n;
    const double *percents = (const double *)call->constants;
    struct cuda_call counting = *call;
    counting.scratch = (char *)call->scratch + slice_counts_bytes(context, n);
    enum ts_status status = ts_cuda_value_counts(context, slices, true, call->scratch, &counting);
    if (status == TS_OK)
        status = ts_cuda_count_moments(context, slices->dtype, call->scratch, n,
                                       percents + n_percentiles + 1, partials, stride, call);
    if (status == TS_OK && n_percentiles > 0)
        status = ts_cuda_count_ends(context, slices->dtype, call->scratch, n, percents,
                                    n_percentiles, partials + moments_bytes(context), stride, call);
    return status;
}

static enum ts_status reduce_first(const struct stage_context *context,
                                   const struct ts_image *slices, char *partials,
                                   const struct cuda_call *call)
{
    const struct statistics_params *params = params_of(context);
    const enum percentile_method method = (enum percentile_method)params->percentile_method;
    const int n_percentiles = ts_statistics_percentiles(context);
    const size_t bytes = ts_cuda_moments_bytes(),
                 stride = ts_cuda_stride(partial_bytes(context, 0));
    char *const moments =
        ts_scope_is_slice(context) ? partials : partials + (size_t)slices->z_first * bytes;
    char *const percentiles = partials + moments_bytes(context);
    const enum ts_status status =
        ts_cuda_moments(context, slices, (enum reduction_method)params->method, moments,
                        ts_scope_is_slice(context) ? stride : bytes, call);
    if (status != TS_OK || n_percentiles == 0)
        return status;
    return ts_statistics_by_slice(context)
               ? ts_cuda_percentile_ends(context, method, slices, (const double *)call->constants,
                                         n_percentiles, percentiles, stride, call)
               : ts_cuda_percentile_add(context, 0, slices, NULL, percentiles, call);
}

static enum ts_status reduce_own(const struct stage_context *context, const struct ts_image *slices,
                                 void *partials, const struct cuda_call *call)
{
    if (ts_statistics_of_counts(context))
        return ts_cuda_value_counts(context, slices, false, partials, call);
    if (by_value(context))
        return reduce_slice_counts(context, slices, (char *)partials, call);
    if (context->round == 0)
        return reduce_first(context, slices, (char *)partials, call);
    const struct statistics_result *result = (const struct statistics_result *)call->result;
    return ts_cuda_percentile_add(context, 1, slices, &result->search, partials, call);
}

static enum ts_status statistics_reduce(const struct stage_context *context, int,
                                        const struct ts_image *slices, void *partials,
                                        const struct cuda_call *call)
{
    if (ts_statistics_by_label(context))
        return ts_cuda_statistics_labels(context, slices, partials, call);
    const enum ts_status status =
        is_own_round(context) ? reduce_own(context, slices, partials, call) : TS_OK;
    struct stage_context noise;
    if (status != TS_OK || !ts_statistics_noise_round(context, &noise))
        return status;
    const char *result = (const char *)call->result + ts_statistics_noise_in_result(context);
    return ts_cuda_noise_add(&noise, noise_of(context), slices, (const struct noise_result *)result,
                             (const double *)call->constants + ts_statistics_percentiles(context),
                             (char *)partials + ts_cuda_stride(own_partial_bytes(context)),
                             ts_cuda_stride(partial_bytes(context, 0)), call);
}

static void collect_first(const struct stage_context *context, const char *partial, void *total)
{
    const enum ts_dtype dtype = context->in.dtype;
    const int n_percentiles = ts_statistics_percentiles(context);
    struct statistics_partial *first = (struct statistics_partial *)total;
    struct moments *moments = (struct moments *)(first + 1);
    memset(first, 0, sizeof *first);
    for (size_t z = 0; z < ts_scope_slices(context); z++) {
        const void *one = partial + z * one_moments_bytes(context);
        if (by_value(context))
            ts_cuda_count_moments_collect(dtype, one, &moments[z], &first->range);
        else
            ts_cuda_moments_collect(dtype, one, &moments[z], &first->range);
    }
    const void *percentiles = partial + moments_bytes(context);
    void *search = moments + ts_scope_slices(context);
    if (ts_statistics_by_slice(context))
        memcpy(search, percentiles, sizeof(struct percentile_ends));
    else if (n_percentiles > 0)
        ts_cuda_percentile_collect(0, dtype, n_percentiles, percentiles, search);
}

static void collect_own(const struct stage_context *context, const void *partial, void *total)
{
    const enum ts_dtype dtype = context->in.dtype;
    if (ts_statistics_of_counts(context))
        ts_cuda_value_counts_collect(dtype, false, partial, (struct value_counts *)total);
    else if (context->round == 0)
        collect_first(context, (const char *)partial, total);
    else
        ts_cuda_percentile_collect(1, dtype, ts_statistics_percentiles(context), partial, total);
}

static void statistics_collect(const struct stage_context *context, int, const void *partial,
                               void *total)
{
    if (ts_statistics_by_label(context)) {
        memcpy(total, partial, ts_statistics_label_partial(context));
        return;
    }
    if (is_own_round(context))
        collect_own(context, partial, total);
    struct stage_context noise;
    if (ts_statistics_noise_round(context, &noise))
        ts_cuda_noise_collect(&noise, noise_of(context),
                              (const char *)partial + ts_cuda_stride(own_partial_bytes(context)),
                              (char *)total + ts_statistics_noise_in_total(context));
}

static const struct cuda_reduction reduction = {
    .partial_bytes = partial_bytes,
    .scratch_bytes = scratch_bytes,
    .reduce = statistics_reduce,
    .collect = statistics_collect,
};

extern "C" {
const struct stage_cuda statistics_cuda = {
    .constants_bytes = constants_bytes,
    .constants = statistics_constants,
    .reduction = &reduction,
};
}
