/* SPDX-License-Identifier: Apache-2.0
 *
 * cub::DeviceReduce::Reduce and cub::DeviceRadixSort::SortKeys do the jobs of the study reductions:
 * a peer of its tree, no part of it. Values become partial results in an iterator, so that both
 * sides join the same numbers in double.
 */
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cuda_runtime.h>
#include <thrust/iterator/transform_iterator.h>

extern "C" {
#include "lab/cuda/fan_in_study.h"
}

struct value_of {
    __host__ __device__ double operator()(float value) const
    {
        return (double)value;
    }
};

struct factor_of {
    __host__ __device__ double operator()(float value) const
    {
        return FAN_IN_FACTOR(value);
    }
};

struct moments_of {
    __host__ __device__ struct fan_in_moments operator()(float value) const
    {
        const double off = (double)value - FAN_IN_SHIFT;
        return {off, off * off};
    }
};

struct sum {
    __host__ __device__ double operator()(double a, double b) const
    {
        return a + b;
    }
};

struct product {
    __host__ __device__ double operator()(double a, double b) const
    {
        return a * b;
    }
};

struct least {
    __host__ __device__ double operator()(double a, double b) const
    {
        return b < a ? b : a;
    }
};

struct most {
    __host__ __device__ double operator()(double a, double b) const
    {
        return b > a ? b : a;
    }
};

struct both_sums {
    __host__ __device__ struct fan_in_moments operator()(const struct fan_in_moments &a,
                                                         const struct fan_in_moments &b) const
    {
        return {a.sum + b.sum, a.squares + b.squares};
    }
};

/* The memory of one call. */
struct call {
    const float *values;
    void *result, *scratch;
    size_t *bytes;
    int n;
    cudaStream_t stream;
};

template <typename part, typename of, typename join>
static cudaError_t reduce(const struct call &call, of part_of, join joined, part none)
{
    return cub::DeviceReduce::Reduce(call.scratch, *call.bytes,
                                     thrust::make_transform_iterator(call.values, part_of),
                                     (part *)call.result, call.n, joined, none, call.stream);
}

static int run(const struct fan_in_job *job, const float *values, void *result, void *scratch,
               size_t *bytes, struct CUstream_st *stream)
{
    const struct call call = {values, result, scratch, bytes, (int)job->n, stream};
    const double infinity = cuda::std::numeric_limits<double>::infinity();
    switch (job->work) {
    case FAN_IN_SUM:
        return reduce(call, value_of(), sum(), 0.0);
    case FAN_IN_PRODUCT:
        return reduce(call, factor_of(), product(), 1.0);
    case FAN_IN_MIN:
        return reduce(call, value_of(), least(), infinity);
    case FAN_IN_MAX:
        return reduce(call, value_of(), most(), -infinity);
    case FAN_IN_VARIANCE:
        return reduce(call, moments_of(), both_sums(), fan_in_moments());
    case FAN_IN_SORT:
        return cub::DeviceRadixSort::SortKeys(scratch, *bytes, (const uint32_t *)values,
                                              (uint32_t *)result, call.n, 0, 32, stream);
    default:
        return cudaErrorNotSupported;
    }
}

extern "C" const struct fan_in_peer ts_peer_cub_reductions = {"cub", run};
