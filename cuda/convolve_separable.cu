/* SPDX-License-Identifier: Apache-2.0
 *
 * convolve with kernels that are a column times a row, in one pass: each row is summed across once and added to all the
 * output rows that it touches. See convolve_march.cuh for what a thread does and why. With the largest kernels a thread
 * takes 2 columns in place of 4, so that the sums of 30 rows fit its registers.
 */
#include "cuda/convolve_march.cuh"

template <typename T, int SIDE, int RUN>
static enum ts_status launch(const struct stage_context *context, const struct convolve_job *job, const double *across,
                             const double *down, const struct cuda_call *call)
{
    struct march_weights<double, SIDE, 2> weights = {
    };
    march_place_row<double, SIDE>(across, job->columns, weights.rows[0], &weights.masks[0]);
    march_place_row<double, SIDE>(down, job->rows, weights.rows[1], &weights.masks[1]);
    return march_launch<T, double, SIDE, RUN, 1, true, true>(context, job, &weights, call);
}

template <typename T>
static enum ts_status launch_side(const struct stage_context *context, const struct convolve_job *job,
                                  const double *across, const double *down, const struct cuda_call *call)
{
    const int side = job->rows > job->columns ? job->rows : job->columns;
    if (side <= 7)
        return launch<T, 7, 4>(context, job, across, down, call);
    if (side <= 15)
        return launch<T, 15, 4>(context, job, across, down, call);
    return launch<T, 31, 2>(context, job, across, down, call);
}

enum ts_status ts_cuda_convolve_separable(const struct stage_context *context, const struct convolve_job *job,
                                          const double *across, const double *down, const struct cuda_call *call)
{
    const size_t bytes = ts_dtype_bytes(job->dtype);
    return bytes == 1             ? launch_side<uint8_t>(context, job, across, down, call)
           : bytes == 2           ? launch_side<uint16_t>(context, job, across, down, call)
           : job->dtype == TS_F32 ? launch_side<float>(context, job, across, down, call)
                                  : launch_side<uint32_t>(context, job, across, down, call);
}
