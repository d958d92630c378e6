/* SPDX-License-Identifier: Apache-2.0
 *
 * cub::DeviceReduce::Reduce over all values, or called once for each slice, with minimum, maximum,
 * sum and sum of squares in one pass: a peer of the statistics stage, no part of it. Values become
 * accumulators in an iterator, and not by TransformReduce: that read 16-bit values past their ends
 * with an accumulator of 24 bytes (cub 3.0.1).
 */
#include <cub/device/device_reduce.cuh>
#include <cuda_runtime.h>
#include <thrust/iterator/transform_iterator.h>

#include "lab/peers/peers.h"

/* Sums of integers are exact in 64 bits, of floats in double. */
template <typename T> struct sums_of {
    typedef unsigned long long type;
};
template <> struct sums_of<float> {
    typedef double type;
};

template <typename T> struct accumulator {
    T low, high;
    typename sums_of<T>::type sum, squares;
};

template <typename T> struct accumulator_of_value {
    __host__ __device__ struct accumulator<T> operator()(T value) const {
        const typename sums_of<T>::type wide = (typename sums_of<T>::type)value;
        return {value, value, wide, wide *wide};
    }
};

template <typename T> struct join {
    __host__ __device__ struct accumulator<T> operator()(const struct accumulator<T> &a,
                                                         const struct accumulator<T> &b) const {
        return {b.low < a.low ? b.low : a.low, b.high > a.high ? b.high : a.high, a.sum + b.sum,
                a.squares + b.squares};
    }
};

/* Writes through: what comes out as an accumulator lies as struct peer_moments. */
template <typename T> struct moments_out {
    struct peer_moments *at;
    __device__ void operator=(const struct accumulator<T> &all) const
    {
        *at = {(double)all.low, (double)all.high, (double)all.sum, (double)all.squares};
    }
};

template <typename T> struct moments_iterator {
    typedef struct accumulator<T> value_type;
    typedef struct moments_out<T> reference;
    typedef void *pointer;
    typedef ptrdiff_t difference_type;
    typedef std::random_access_iterator_tag iterator_category;
    struct peer_moments *at;
    __host__ __device__ struct moments_out<T> operator*() const {
        return {at};
    } __host__ __device__ struct moments_out<T> operator[](ptrdiff_t i) const
    {
        return {at + i};
    }
    __host__ __device__ struct moments_iterator operator+(ptrdiff_t i) const
    {
        return {at + i};
    }
};

template <typename T>
static cudaError_t reduce(const struct peer_work *work, int slice, void *scratch, size_t *bytes)
{
    const int n = work->rows / work->slices * work->nx;
    const T *first = (const T *)work->in + (size_t)slice * n;
    struct moments_iterator<T> out = {
        (struct peer_moments *)work->out + slice
    };
    const struct accumulator<T> one = {
    };
    struct accumulator<T> none = one;
    none.low = cuda::std::numeric_limits<T>::max();
    none.high = cuda::std::numeric_limits<T>::lowest();
    return cub::DeviceReduce::Reduce(
        scratch, *bytes, thrust::make_transform_iterator(first, accumulator_of_value<T>()), out, n,
        join<T>(), none, work->stream);
}

static cudaError_t reduce_any(const struct peer_work *work, int slice, void *scratch, size_t *bytes)
{
    return work->dtype == PEER_F32 ? reduce<float>(work, slice, scratch, bytes)
                                   : reduce<uint16_t>(work, slice, scratch, bytes);
}

static int scratch_bytes(const struct peer_work *work, size_t *bytes)
{
    *bytes = 0;
    return reduce_any(work, 0, NULL, bytes);
}

static int run(const struct peer_work *work)
{
    cudaError_t error = cudaSuccess;
    for (int slice = 0; error == cudaSuccess && slice < work->slices; slice++) {
        size_t bytes = work->scratch_bytes;
        error = reduce_any(work, slice, work->scratch, &bytes);
    }
    return error;
}

extern "C" const struct peer ts_peer_cub_statistics = {"cub", scratch_bytes, run};
