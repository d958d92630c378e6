/* SPDX-License-Identifier: Apache-2.0
 *
 * Carries out a job of the studies of histograms (histogram_study.h): clears the counts, launches
 * the kernel of the job (gray_kernels.cuh) with the grid that belongs to it, and measures. Image,
 * counts and gray image stand side by side in memory of each kind, so that all kernels run on all
 * kinds. Tables of strips and blocks are always the device's.
 *
 * Without the copies the time runs between two events around the clearing and the kernels, which
 * wait for a delay on the device, so that the host has launched all of them before the first
 * begins. With them it is the host's: from the image in ordinary memory to the counts, and the gray
 * image where there is one, in ordinary memory. Managed and mapped memory is then filled and read
 * by the host itself.
 */
#include "lab/cuda/gray_kernels.cuh"

extern "C" {
#include "core/timing.h"
#include "cuda/device/session.h"
#include "lab/cuda/ceilings.h"
#include "stages/engine/stage.h"
}

enum { COUNTS_BYTES = GRAY_VALUES * sizeof(uint32_t) };

static const struct stage study_stage = {.name = "study"};

/* The parts of the memory are the counts, the image, and the gray values with the gray image behind
 * them. */
struct gray_parts {
    uint32_t *counts;
    uint8_t *pixels, *gray;
};

struct gray_device {
    struct cuda_session *session;
    struct stage_context context; /* for messages */
    struct CUstream_st *stream;
    struct cuda_event *begin, *end;
    size_t most_pixels;
    void *at[GRAY_MEMORIES]; /* as the device addresses it */
    void *managed, *mapped;  /* to free */
    uint32_t *tables;
    unsigned long long *tries;
    enum gray_memory memory;
    const uint8_t *image; /* the caller's */
    uint8_t *result;      /* the gray image in ordinary memory */
    uint32_t width, height;
};

/* Returns where the parts stand in memory of a kind; the pixels are aligned to words. */
static struct gray_parts parts_of(const struct gray_device *gray, void *memory)
{
    uint8_t *pixels = (uint8_t *)memory + COUNTS_BYTES;
    return {(uint32_t *)memory, pixels, pixels + ts_cuda_stride(gray->most_pixels)};
}

static size_t parts_bytes(const struct gray_device *gray)
{
    return COUNTS_BYTES + 2 * ts_cuda_stride(gray->most_pixels) + GRAY_VALUES;
}

/* ---- kernels and grids ----------------------------------------------------------------------- */

static unsigned parts(int64_t n, int64_t each)
{
    return (unsigned)((n + each - 1) / each);
}

/* A job is carried out by this kernel with this grid, which leaves so many tables to be summed. */
struct gray_launch {
    void (*kernel)(struct gray_image);
    dim3 grid, block;
    unsigned tables;
};

/* Returns as many blocks of a kernel without dynamic shared memory as the device holds, at most
 * `useful`. */
static unsigned blocks_at_once(const struct gray_device *gray, void (*kernel)(struct gray_image),
                               int threads, unsigned useful)
{
    int blocks = 0;
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, 0);
    const unsigned held =
        (unsigned)((blocks > 0 ? blocks : 1) * gray->context.device->multiprocessors);
    return held < useful ? held : useful;
}

static void (*rows_kernel(int rows))(struct gray_image)
{
    switch (rows) {
    case 1:
        return count_strip_rows<1>;
    case 2:
        return count_strip_rows<2>;
    case 4:
        return count_strip_rows<4>;
    case 8:
        return count_strip_rows<8>;
    default:
        return count_strip_rows<16>;
    }
}

static void (*warp_kernel(const struct gray_job *job))(struct gray_image)
{
    switch (job->kernel) {
    case GRAY_WARP_ATOMIC:
        return count_warps<GRAY_WARP_ATOMIC, false>;
    case GRAY_WARP_LANES:
        return count_warps<GRAY_WARP_LANES, false>;
    case GRAY_WARP_TAGGED:
        return job->counts_tries ? count_warps<GRAY_WARP_TAGGED, true>
                                 : count_warps<GRAY_WARP_TAGGED, false>;
    default:
        return job->counts_tries ? count_warps<GRAY_WARP_APART, true>
                                 : count_warps<GRAY_WARP_APART, false>;
    }
}

static struct gray_launch launch_of(const struct gray_device *gray, const struct gray_job *job)
{
    const dim3 grid(parts(gray->width, SIDE), parts(gray->height, SIDE)), block(SIDE, SIDE);
    const unsigned strips = parts(gray->width, STRIP);
    struct gray_launch launch = {rows_kernel(job->rows), dim3(strips), dim3(STRIP), strips};
    switch (job->kernel) {
    case GRAY_PIXEL_GLOBAL:
        return {count_pixel_global, grid, block, 0};
    case GRAY_PIXEL_SHARED:
        return {count_pixel_shared, grid, block, 0};
    case GRAY_STRIP_GLOBAL:
        launch.kernel = count_strip_global;
        return launch;
    case GRAY_STRIP_SHARED:
        launch.kernel = count_strip_shared;
        return launch;
    case GRAY_STRIP_ROWS:
        launch.tables =
            blocks_at_once(gray, launch.kernel, STRIP, strips * parts(gray->height, job->rows));
        launch.grid = dim3(launch.tables);
        return launch;
    default:
        launch = {warp_kernel(job), dim3(1), dim3(WARPS * LANES), 0};
        launch.grid = dim3(blocks_at_once(
            gray, launch.kernel, WARPS * LANES,
            parts((int64_t)gray->width * gray->height, WARPS * LANES * sizeof(uint32_t))));
        return launch;
    }
}

extern "C" enum ts_status ts_cuda_gray_describe(struct gray_device *gray,
                                                const struct gray_job *job,
                                                struct gray_shape *shape)
{
    const struct gray_launch launch = launch_of(gray, job);
    cudaFuncAttributes attributes;
    const cudaError_t error = cudaFuncGetAttributes(&attributes, launch.kernel);
    *shape = {launch.grid.x * launch.grid.y, launch.block.x * launch.block.y, launch.tables,
              error == cudaSuccess ? attributes.sharedSizeBytes : 0};
    return error == cudaSuccess
               ? TS_OK
               : ts_cuda_fold(gray->context.diag, study_stage.name, error, "looking at a kernel");
}

/* ---- launches -------------------------------------------------------------------------------- */

static enum ts_status launch_counting(const struct gray_device *gray, const struct gray_job *job,
                                      const struct gray_image *image)
{
    const struct gray_launch launch = launch_of(gray, job);
    cudaMemsetAsync(image->counts, 0, COUNTS_BYTES, gray->stream);
    if (job->counts_tries)
        cudaMemsetAsync(gray->tries, 0, sizeof *gray->tries, gray->stream);
    if (job->kernel == GRAY_STRIP_GLOBAL)
        cudaMemsetAsync(image->tables, 0, (size_t)launch.tables * COUNTS_BYTES, gray->stream);
    launch.kernel<<<launch.grid, launch.block, 0, gray->stream>>>(*image);
    const enum ts_status status = ts_cuda_launched(&gray->context, "counting");
    if (status != TS_OK || launch.tables == 0)
        return status;
    sum_tables<<<LANES, GRAY_VALUES, 0, gray->stream>>>(*image, launch.tables);
    return ts_cuda_launched(&gray->context, "sum of tables");
}

static enum ts_status launch_all(const struct gray_device *gray, const struct gray_job *job)
{
    const struct gray_parts own = parts_of(gray, gray->at[gray->memory]);
    const struct gray_image image = {own.pixels,   gray->width, gray->height, own.counts,
                                     gray->tables, gray->tries, own.gray};
    const dim3 grid(parts(gray->width, SIDE), parts(gray->height, SIDE)), block(SIDE, SIDE);
    enum ts_status status = launch_counting(gray, job, &image);
    if (status != TS_OK || !job->transform)
        return status;
    make_gray<<<1, GRAY_VALUES, 0, gray->stream>>>(image);
    status = ts_cuda_launched(&gray->context, "gray values");
    if (status != TS_OK)
        return status;
    map_gray<<<grid, block, 0, gray->stream>>>(image);
    return ts_cuda_launched(&gray->context, "gray image");
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* Copies between the memory in use, which the host reaches itself unless it is the device's, and
 * ordinary memory. */
static enum ts_status copy_part(const struct gray_device *gray, enum cuda_direction direction,
                                void *to, const void *from, size_t bytes)
{
    if (gray->memory == GRAY_PLAIN)
        return ts_cuda_copy(gray->session, CUDA_COMPUTE, direction, to, from, bytes);
    if (direction == CUDA_TO_HOST) {
        const enum ts_status status = ts_cuda_wait(gray->session, CUDA_COMPUTE);
        if (status != TS_OK)
            return status;
    }
    memcpy(to, from, bytes);
    return TS_OK;
}

/* Returns the parts as whoever copies addresses them. */
static struct gray_parts copied_parts(const struct gray_device *gray)
{
    return parts_of(gray, gray->memory == GRAY_MAPPED ? gray->mapped : gray->at[gray->memory]);
}

static size_t pixel_count(const struct gray_device *gray)
{
    return (size_t)gray->width * gray->height;
}

static enum ts_status copy_in(const struct gray_device *gray)
{
    return copy_part(gray, CUDA_TO_DEVICE, copied_parts(gray).pixels, gray->image,
                     pixel_count(gray));
}

extern "C" enum ts_status ts_cuda_gray_read(struct gray_device *gray, uint32_t counts[GRAY_VALUES],
                                            uint8_t *image, uint64_t *tries)
{
    const struct gray_parts own = copied_parts(gray);
    enum ts_status status = copy_part(gray, CUDA_TO_HOST, counts, own.counts, COUNTS_BYTES);
    if (status == TS_OK && image)
        status = copy_part(gray, CUDA_TO_HOST, image, own.gray + GRAY_VALUES, pixel_count(gray));
    if (status == TS_OK && tries)
        status = ts_cuda_copy(gray->session, CUDA_COMPUTE, CUDA_TO_HOST, tries, gray->tries,
                              sizeof *tries);
    return status == TS_OK ? ts_cuda_wait(gray->session, CUDA_COMPUTE) : status;
}

extern "C" enum ts_status ts_cuda_gray_tables(struct gray_device *gray, uint32_t *tables, int64_t n)
{
    const enum ts_status status = ts_cuda_copy(gray->session, CUDA_COMPUTE, CUDA_TO_HOST, tables,
                                               gray->tables, (size_t)n * COUNTS_BYTES);
    return status == TS_OK ? ts_cuda_wait(gray->session, CUDA_COMPUTE) : status;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static enum ts_status run_kernels(struct gray_device *gray, const struct gray_job *job,
                                  double *seconds)
{
    float ms = 0;
    enum ts_status status = ts_cuda_delay(gray->session, gray->context.diag);
    if (status == TS_OK)
        status = ts_cuda_event_record(gray->session, gray->begin, CUDA_COMPUTE);
    if (status == TS_OK)
        status = launch_all(gray, job);
    if (status == TS_OK)
        status = ts_cuda_event_record(gray->session, gray->end, CUDA_COMPUTE);
    if (status == TS_OK)
        status = ts_cuda_host_waits(gray->session, gray->end);
    if (status == TS_OK)
        status = ts_cuda_elapsed_ms(gray->session, gray->begin, gray->end, &ms);
    *seconds = 1e-3 * (double)ms;
    return status;
}

extern "C" enum ts_status ts_cuda_gray_run(struct gray_device *gray, const struct gray_job *job,
                                           double *seconds)
{
    uint32_t counts[GRAY_VALUES];
    if (!job->copies)
        return run_kernels(gray, job, seconds);
    const double start = ts_seconds();
    enum ts_status status = copy_in(gray);
    if (status == TS_OK)
        status = launch_all(gray, job);
    if (status == TS_OK)
        status = ts_cuda_gray_read(gray, counts, job->transform ? gray->result : NULL, NULL);
    *seconds = ts_seconds() - start;
    return status;
}

/* Moves the managed memory to the device. Pages that host and device have touched in turn might
 * stay at the host otherwise, as if they were mapped. This is a hint: where it is refused, the
 * first run moves what it may. */
static void move_pages(const struct gray_device *gray)
{
#if CUDART_VERSION >= 13000
    const struct cudaMemLocation location = {cudaMemLocationTypeDevice,
                                             gray->context.device->index};
    (void)cudaMemPrefetchAsync(gray->managed, parts_bytes(gray), location, 0, gray->stream);
#else
    (void)cudaMemPrefetchAsync(gray->managed, parts_bytes(gray), gray->context.device->index,
                               gray->stream);
#endif
    (void)cudaGetLastError();
}

extern "C" enum ts_status ts_cuda_gray_load(struct gray_device *gray, enum gray_memory memory,
                                            const uint8_t *image, int64_t width, int64_t height)
{
    gray->memory = memory;
    gray->image = image;
    gray->width = (uint32_t)width;
    gray->height = (uint32_t)height;
    const enum ts_status status = copy_in(gray);
    if (memory == GRAY_MANAGED)
        move_pages(gray);
    return status == TS_OK ? ts_cuda_wait(gray->session, CUDA_COMPUTE) : status;
}

/* ---- the device ------------------------------------------------------------------------------ */

extern "C" void ts_cuda_gray_destroy(struct gray_device *gray)
{
    if (!gray)
        return;
    cudaFree(gray->managed);
    cudaFreeHost(gray->mapped);
    ts_cuda_session_destroy(gray->session);
    free(gray->result);
    free(gray);
}

static enum ts_status prepare(struct gray_device *gray, struct ts_diag *diag)
{
    const struct device_numbers *device = gray->context.device;
    const size_t most_tables =
        (size_t)device->multiprocessors * device->threads / STRIP + GRAY_MOST_PIXELS / STRIP;
    enum ts_status status = ts_cuda_session_create(device, 0, diag, &gray->session);
    if (status != TS_OK)
        return status;
    gray->stream = ts_cuda_stream(gray->session, CUDA_COMPUTE);
    gray->begin = ts_cuda_event_create(gray->session);
    gray->end = ts_cuda_event_create(gray->session);
    gray->at[GRAY_PLAIN] = ts_cuda_allocate(gray->session, parts_bytes(gray));
    gray->tables = (uint32_t *)ts_cuda_allocate(gray->session, most_tables * COUNTS_BYTES);
    gray->tries = (unsigned long long *)ts_cuda_allocate(gray->session, sizeof *gray->tries);
    if (!gray->begin || !gray->end || !gray->at[GRAY_PLAIN] || !gray->tables || !gray->tries)
        return TS_RUN_FAILED;
    cudaError_t error = cudaMallocManaged(&gray->managed, parts_bytes(gray));
    gray->at[GRAY_MANAGED] = gray->managed;
    if (error == cudaSuccess)
        error = cudaHostAlloc(&gray->mapped, parts_bytes(gray), cudaHostAllocMapped);
    if (error == cudaSuccess)
        error = cudaHostGetDevicePointer(&gray->at[GRAY_MAPPED], gray->mapped, 0);
    return error == cudaSuccess ? TS_OK
                                : ts_cuda_fold(diag, study_stage.name, error, "memory of the host");
}

extern "C" struct gray_device *ts_cuda_gray_create(const struct device_numbers *device,
                                                   int64_t most_pixels, struct ts_diag *diag)
{
    struct gray_device *gray = (struct gray_device *)calloc(1, sizeof *gray);
    uint8_t *result = (uint8_t *)malloc((size_t)most_pixels);
    if (!gray || !result) {
        ts_diag_no_memory(diag, (size_t)most_pixels);
        free(gray);
        free(result);
        return NULL;
    }
    gray->result = result;
    gray->most_pixels = (size_t)most_pixels;
    gray->context.stage = &study_stage;
    gray->context.device = device;
    gray->context.diag = diag;
    if (prepare(gray, diag) == TS_OK)
        return gray;
    ts_cuda_gray_destroy(gray);
    return NULL;
}
