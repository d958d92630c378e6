/* SPDX-License-Identifier: Apache-2.0
 *
 * NVIDIA Performance Primitives through dlopen: nppiHistogramEven over all rows or called once for
 * each slice, and nppiFilterBoxBorder. The program needs neither header nor library to be built or
 * to start. Source: NPP 13 API reference (argument order, NppStreamContext).
 */
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdio.h>

#include "lab/peers/peers.h"

struct npp_size {
    int width, height;
};
struct npp_point {
    int x, y;
};
/* NppStreamContext: passed by value to every call. */
struct npp_context {
    cudaStream_t stream;
    int device, multiprocessors, threads_multiprocessor, threads_block;
    size_t shared_block;
    int major, minor;
    unsigned stream_flags, reserved;
};
/* NppiBorderType */
enum { NPP_BORDER_REPLICATE = 2 };

typedef int npp_histogram_bytes(struct npp_size, int levels, size_t *bytes, struct npp_context);
typedef int npp_histogram(const void *in, int step, struct npp_size, int32_t *counts, int levels,
                          int32_t low, int32_t high, unsigned char *scratch, struct npp_context);
typedef int npp_box(const void *in, int32_t step, struct npp_size, struct npp_point offset,
                    void *out, int32_t out_step, struct npp_size roi, struct npp_size mask,
                    struct npp_point anchor, int border, struct npp_context);

static struct npp_context npp;
static npp_histogram_bytes *histogram_bytes[2];
static npp_histogram *histogram[2];
static npp_box *box[3]; /* by enum peer_dtype */

static void *open_library(const char *name)
{
    char path[64];
    for (int major = 13; major >= 11; major--) {
        snprintf(path, sizeof path, "lib%s.so.%d", name, major);
        void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
        if (library)
            return library;
    }
    return NULL;
}

/* POSIX lets a data pointer from dlsym stand for a function. */
static bool find(void *library, const char *name, void *function)
{
    return (*(void **)function = dlsym(library, name)) != NULL;
}

bool ts_peer_npp_open(int device, char version[64])
{
    struct cudaDeviceProp properties;
    const struct {
        int major, minor, build;
    } * (*get_version)(void);
    void *core = open_library("nppc"), *statistics = open_library("nppist"),
         *filters = open_library("nppif");
    if (!core || !statistics || !filters ||
        cudaGetDeviceProperties(&properties, device) != cudaSuccess)
        return false;
    npp = (struct npp_context){.device = device,
                               .multiprocessors = properties.multiProcessorCount,
                               .threads_multiprocessor = properties.maxThreadsPerMultiProcessor,
                               .threads_block = properties.maxThreadsPerBlock,
                               .shared_block = properties.sharedMemPerBlock,
                               .major = properties.major,
                               .minor = properties.minor,
                               .stream_flags = cudaStreamNonBlocking};
    snprintf(version, 64, "of an unknown version");
    if (find(core, "nppGetLibVersion", &get_version))
        snprintf(version, 64, "%d.%d.%d", get_version()->major, get_version()->minor,
                 get_version()->build);
    return find(statistics, "nppiHistogramEvenGetBufferSize_8u_C1R_Ctx",
                &histogram_bytes[PEER_U8]) &&
           find(statistics, "nppiHistogramEvenGetBufferSize_16u_C1R_Ctx",
                &histogram_bytes[PEER_U16]) &&
           find(statistics, "nppiHistogramEven_8u_C1R_Ctx", &histogram[PEER_U8]) &&
           find(statistics, "nppiHistogramEven_16u_C1R_Ctx", &histogram[PEER_U16]) &&
           find(filters, "nppiFilterBoxBorder_8u_C1R_Ctx", &box[PEER_U8]) &&
           find(filters, "nppiFilterBoxBorder_16u_C1R_Ctx", &box[PEER_U16]) &&
           find(filters, "nppiFilterBoxBorder_32f_C1R_Ctx", &box[PEER_F32]);
}

static int step_of(const struct peer_work *work)
{
    static const int bytes[] = {1, 2, 4};
    return work->nx * bytes[work->dtype];
}

static struct npp_context context_of(const struct peer_work *work)
{
    struct npp_context context = npp;
    context.stream = work->stream;
    return context;
}

static int histogram_scratch(const struct peer_work *work, size_t *bytes)
{
    *bytes = 0;
    return histogram_bytes[work->dtype]((struct npp_size){work->nx, work->rows / work->slices},
                                        work->bins + 1, bytes, context_of(work));
}

static int histogram_run(const struct peer_work *work)
{
    const struct npp_size size = {work->nx, work->rows / work->slices};
    int error = 0;
    for (int slice = 0; error == 0 && slice < work->slices; slice++)
        error = histogram[work->dtype](
            (const char *)work->in + (size_t)slice * (size_t)size.height * (size_t)step_of(work),
            step_of(work), size, (int32_t *)work->out + (size_t)slice * (size_t)work->bins,
            work->bins + 1, 0, work->high, work->scratch, context_of(work));
    return error;
}

static int box_scratch(const struct peer_work *work, size_t *bytes)
{
    (void)work;
    *bytes = 0;
    return 0;
}

static int box_run(const struct peer_work *work)
{
    const struct npp_size size = {work->nx, work->rows},
                          mask = {2 * work->radius + 1, 2 * work->radius + 1};
    return box[work->dtype](work->in, step_of(work), size, (struct npp_point){0, 0}, work->out,
                            step_of(work), size, mask,
                            (struct npp_point){work->radius, work->radius}, NPP_BORDER_REPLICATE,
                            context_of(work));
}

const struct peer ts_peer_npp_histogram = {"NPP", histogram_scratch, histogram_run};
const struct peer ts_peer_npp_box = {"NPP", box_scratch, box_run};
