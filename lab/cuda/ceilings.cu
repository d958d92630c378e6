/* SPDX-License-Identifier: Apache-2.0
 *
 * This measures the ceilings of a device. copy: out[i] = in[i], 16 bytes a thread and step, 2 bytes
 * of traffic a byte. read: the exclusive or of all words, written only where it has a value that
 * the data does not give, 1 byte of traffic a byte. texture: each thread adds 256 bilinear samples
 * along a slanted line of a 512 x 512 float texture, which lies in the caches: the rate of the
 * texture units. Blocks of 256 threads, as many as fill the device 8 times over: each thread has 4
 * independent 16-byte loads under way.
 */
#include "cuda/device/launch.cuh"

extern "C" {
#include "core/timing.h"
#include "lab/cuda/ceilings.h"
}

enum { THREADS = 256, UNROLL = 4, REPEATS = 15, TEXTURE_N = 512, TEXTURE_SAMPLES = 256 };

static __global__ void __launch_bounds__(THREADS) copy_kernel(uint4 *out, const uint4 *in, size_t n)
{
    const size_t step = (size_t)gridDim.x * THREADS * UNROLL;
    for (size_t i = (size_t)blockIdx.x * THREADS * UNROLL + threadIdx.x;
         i + (UNROLL - 1) * THREADS < n; i += step) {
        uint4 value[UNROLL];
#pragma unroll
        for (int k = 0; k < UNROLL; k++)
            value[k] = __ldcs(in + i + k * THREADS);
#pragma unroll
        for (int k = 0; k < UNROLL; k++)
            __stcs(out + i + k * THREADS, value[k]);
    }
}

static __global__ void __launch_bounds__(THREADS) read_kernel(uint4 *out, const uint4 *in, size_t n)
{
    const size_t step = (size_t)gridDim.x * THREADS * UNROLL;
    unsigned seen = 0;
    for (size_t i = (size_t)blockIdx.x * THREADS * UNROLL + threadIdx.x;
         i + (UNROLL - 1) * THREADS < n; i += step) {
        uint4 value[UNROLL];
#pragma unroll
        for (int k = 0; k < UNROLL; k++)
            value[k] = __ldcs(in + i + k * THREADS);
#pragma unroll
        for (int k = 0; k < UNROLL; k++)
            seen ^= value[k].x ^ value[k].y ^ value[k].z ^ value[k].w;
    }
    if (seen == 0x5EEDF00Du)
        out[threadIdx.x].x = seen;
}

static __global__ void __launch_bounds__(THREADS)
    texture_kernel(float *out, cudaTextureObject_t texture)
{
    const float x = 0.37f * (float)threadIdx.x, y = 1.3f * (float)(blockIdx.x % TEXTURE_N);
    float sum = 0;
#pragma unroll 8
    for (int k = 0; k < TEXTURE_SAMPLES; k++)
        sum += tex2D<float>(texture, x + 0.83f * (float)k, y + 0.61f * (float)k);
    out[(size_t)blockIdx.x * THREADS + threadIdx.x] = sum;
}

static __global__ void delay_kernel(long long cycles)
{
    const long long start = clock64();
    while (clock64() - start < cycles)
        continue;
}

enum ts_status ts_cuda_delay(struct cuda_session *session, struct ts_diag *diag)
{
    delay_kernel<<<1, 1, 0, ts_cuda_stream(session, CUDA_COMPUTE)>>>(80000);
    return ts_cuda_fold(diag, NULL, cudaGetLastError(), "a delay");
}

struct measure {
    struct cuda_session *session;
    struct ts_diag *diag;
    struct cuda_event *start, *end;
    uint4 *buffer; /* two halves of `half` bytes each */
    size_t half;
    int blocks;
    cudaTextureObject_t texture;
};

enum work { WORK_COPY, WORK_MEMCPY, WORK_READ, WORK_TEXTURE, WORKS };

static void launch(const struct measure *measure, enum work work)
{
    cudaStream_t stream = ts_cuda_stream(measure->session, CUDA_COMPUTE);
    uint4 *second = measure->buffer + measure->half / sizeof(uint4);
    const size_t n = measure->half / sizeof(uint4);
    switch (work) {
    case WORK_COPY:
        copy_kernel<<<measure->blocks, THREADS, 0, stream>>>(second, measure->buffer, n);
        break;
    case WORK_MEMCPY:
        cudaMemcpyAsync(second, measure->buffer, measure->half, cudaMemcpyDeviceToDevice, stream);
        break;
    case WORK_READ:
        read_kernel<<<measure->blocks, THREADS, 0, stream>>>(second, measure->buffer, n);
        break;
    case WORK_TEXTURE:
        texture_kernel<<<measure->blocks * 4, THREADS, 0, stream>>>((float *)second,
                                                                    measure->texture);
        break;
    default:
        break;
    }
}

/* Measures the median seconds of the work, after three runs to warm up. */
static enum ts_status seconds_of(const struct measure *measure, enum work work, double *seconds)
{
    double times[REPEATS];
    enum ts_status status = TS_OK;
    for (int i = -3; status == TS_OK && i < REPEATS; i++) {
        float ms = 0;
        ts_cuda_delay(measure->session, measure->diag);
        ts_cuda_event_record(measure->session, measure->start, CUDA_COMPUTE);
        launch(measure, work);
        ts_cuda_event_record(measure->session, measure->end, CUDA_COMPUTE);
        status = ts_cuda_fold(measure->diag, NULL, cudaGetLastError(), "a ceiling");
        if (status == TS_OK)
            status = ts_cuda_wait(measure->session, CUDA_COMPUTE);
        if (status == TS_OK)
            status = ts_cuda_elapsed_ms(measure->session, measure->start, measure->end, &ms);
        times[i < 0 ? 0 : i] = 1e-3 * (double)ms;
    }
    *seconds = ts_median(times, REPEATS);
    return status;
}

static enum ts_status create_texture(struct measure *measure, cudaArray_t *array)
{
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    struct cudaResourceDesc resource = {};
    struct cudaTextureDesc reading = {};
    enum ts_status status =
        ts_cuda_fold(measure->diag, NULL, cudaMallocArray(array, &format, TEXTURE_N, TEXTURE_N),
                     "taking a texture");
    if (status != TS_OK)
        return status;
    const size_t row = TEXTURE_N * sizeof(float);
    status = ts_cuda_fold(measure->diag, NULL,
                          cudaMemcpy2DToArray(*array, 0, 0, measure->buffer, row, row, TEXTURE_N,
                                              cudaMemcpyDeviceToDevice),
                          "filling a texture");
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = *array;
    reading.addressMode[0] = reading.addressMode[1] = cudaAddressModeClamp;
    reading.filterMode = cudaFilterModeLinear;
    if (status == TS_OK)
        status = ts_cuda_fold(measure->diag, NULL,
                              cudaCreateTextureObject(&measure->texture, &resource, &reading, NULL),
                              "binding a texture");
    return status;
}

static enum ts_status measure_all(struct measure *measure, struct cuda_ceilings *ceilings)
{
    double seconds[WORKS] = {1, 1, 1, 1};
    cudaArray_t array = NULL;
    enum ts_status status = create_texture(measure, &array);
    for (int work = 0; status == TS_OK && work < WORKS; work++)
        status = seconds_of(measure, (enum work)work, &seconds[work]);
    ceilings->copy = 2 * (double)measure->half / fmin(seconds[WORK_COPY], seconds[WORK_MEMCPY]);
    ceilings->read = (double)measure->half / seconds[WORK_READ];
    ceilings->texture =
        (double)((int64_t)measure->blocks * 4 * THREADS * TEXTURE_SAMPLES) / seconds[WORK_TEXTURE];
    if (measure->texture)
        cudaDestroyTextureObject(measure->texture);
    if (array)
        cudaFreeArray(array);
    return status;
}

enum ts_status ts_cuda_ceilings_measure(struct cuda_session *session, struct ts_diag *diag,
                                        struct cuda_ceilings *ceilings)
{
    const struct device_numbers *device = ts_cuda_session_device(session);
    const size_t gib = (size_t)1 << 30, quarter = device->memory_bytes / 8 / 65536 * 65536;
    struct measure measure = {};
    measure.session = session;
    measure.diag = diag;
    measure.half = quarter < gib ? quarter : gib;
    measure.blocks = device->multiprocessors * (device->threads / THREADS) * 8;
    measure.start = ts_cuda_event_create(session);
    measure.end = ts_cuda_event_create(session);
    measure.buffer = (uint4 *)ts_cuda_allocate(session, 2 * measure.half);
    if (!measure.start || !measure.end || !measure.buffer)
        return TS_RUN_FAILED;
    /* Bytes that are not zero: a plain pattern is enough where nothing is computed from it. */
    const enum ts_status status =
        ts_cuda_fill(session, CUDA_COMPUTE, measure.buffer, 0x3C, 2 * measure.half);
    return status == TS_OK ? measure_all(&measure, ceilings) : status;
}
