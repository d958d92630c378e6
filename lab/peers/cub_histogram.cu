/* SPDX-License-Identifier: Apache-2.0
 *
 * cub::DeviceHistogram::HistogramEven over all values, or called once for each slice: a peer of the
 * histogram stage, no part of it.
 */
#include <cub/device/device_histogram.cuh>
#include <stdio.h>

#include "lab/peers/peers.h"

template <typename T>
static cudaError_t even(const struct peer_work *work, int slice, void *scratch, size_t *bytes)
{
    const int n = work->rows / work->slices * work->nx;
    return cub::DeviceHistogram::HistogramEven(scratch, *bytes,
                                               (const T *)work->in + (size_t)slice * n,
                                               (unsigned *)work->out + (size_t)slice * work->bins,
                                               work->bins + 1, 0, work->high, n, work->stream);
}

static int scratch_bytes(const struct peer_work *work, size_t *bytes)
{
    *bytes = 0;
    return work->dtype == PEER_U8 ? even<uint8_t>(work, 0, NULL, bytes)
                                  : even<uint16_t>(work, 0, NULL, bytes);
}

static int run(const struct peer_work *work)
{
    cudaError_t error = cudaSuccess;
    for (int slice = 0; error == cudaSuccess && slice < work->slices; slice++) {
        size_t bytes = work->scratch_bytes;
        error = work->dtype == PEER_U8 ? even<uint8_t>(work, slice, work->scratch, &bytes)
                                       : even<uint16_t>(work, slice, work->scratch, &bytes);
    }
    return error;
}

extern "C" const struct peer ts_peer_cub_histogram = {"cub", scratch_bytes, run};

extern "C" const char *ts_peer_cub_version(void)
{
    static char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", CUB_MAJOR_VERSION, CUB_MINOR_VERSION,
             CUB_SUBMINOR_VERSION);
    return text;
}
