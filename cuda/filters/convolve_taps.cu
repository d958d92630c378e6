/* SPDX-License-Identifier: Apache-2.0
 *
 * convolve with kernels up to 7 x 7, every tap by itself. convolve_rows.cuh describes what a
 * thread does and why, and the memory traffic; this file puts the weights into place and launches.
 */
#include "cuda/filters/convolve_rows.cuh"

bool ts_cuda_convolve_taps_fit(const struct convolve_job *job, bool exact)
{
    const int side = job->rows > job->columns ? job->rows : job->columns;
    return job->n_kernels == 2 ? side <= 3 && (exact || ts_dtype_bytes(job->dtype) == 4)
                               : side <= 7;
}

template <typename T, typename Sum, int SIDE, int N_KERNELS>
static enum ts_status convolve_taps_launch(const struct stage_context *context,
                                           const struct convolve_job *job,
                                           const struct cuda_call *call)
{
    struct march_weights<Sum, SIDE, N_KERNELS * SIDE> weights {
    };
    bool zeros = false;
    for (int k = 0; k < N_KERNELS; k++)
        for (int j = 0; j < job->rows; j++) {
            const int row = k * SIDE + SIDE / 2 - job->rows / 2 + j;
            march_place_row<Sum, SIDE>(job->kernels[k].weights + j * job->columns, job->columns,
                                       weights.rows[row], &weights.masks[row]);
        }
    for (int row = 0; row < N_KERNELS * SIDE; row++)
        zeros |= weights.masks[row] != (1u << SIDE) - 1;
    if constexpr (std::is_same<T, float>::value)
        if (zeros)
            return rows_launch<T, Sum, SIDE, N_KERNELS, false, true>(context, job, &weights, call);
    return rows_launch<T, Sum, SIDE, N_KERNELS, false, false>(context, job, &weights, call);
}

template <typename T, typename Sum>
static enum ts_status launch_side(const struct stage_context *context,
                                  const struct convolve_job *job, const struct cuda_call *call)
{
    if (job->rows <= 3 && job->columns <= 3)
        return convolve_taps_launch<T, Sum, 3, 1>(context, job, call);
    if (job->rows <= 5 && job->columns <= 5)
        return convolve_taps_launch<T, Sum, 5, 1>(context, job, call);
    return convolve_taps_launch<T, Sum, 7, 1>(context, job, call);
}

enum ts_status ts_cuda_convolve_taps(const struct stage_context *context,
                                     const struct convolve_job *job, bool exact,
                                     const struct cuda_call *call)
{
    enum ts_status status;
    if (job->n_kernels == 1 && exact)
        return ts_dtype_bytes(job->dtype) == 1 ? launch_side<uint8_t, float>(context, job, call)
                                               : launch_side<uint16_t, float>(context, job, call);
#define TWO(T)                                                                                     \
    status =                                                                                       \
        convolve_taps_launch<T, typename std::conditional<sizeof(T) <= 2, float, double>::type, 3, \
                             2>(context, job, call)
#define ONE(T) status = launch_side<T, double>(context, job, call)
    if (job->n_kernels == 2)
        TS_CUDA_BIT_TYPES(job->dtype, TWO)
    else
        TS_CUDA_BIT_TYPES(job->dtype, ONE)
#undef TWO
#undef ONE
    return status;
}
