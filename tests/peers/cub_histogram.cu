/* SPDX-License-Identifier: Apache-2.0
 *
 * cub::DeviceHistogram::HistogramEven over all values: a peer of the histogram stage, no part of it.
 */
#include <cub/device/device_histogram.cuh>
#include <stdio.h>

#include "tests/peers/peers.h"

template <typename T> static cudaError_t even(const struct peer_work *work, void *scratch, size_t *bytes)
{
    return cub::DeviceHistogram::HistogramEven(scratch, *bytes, (const T *)work->in, (unsigned *)work->out,
                                               work->bins + 1, 0, work->high, work->rows * work->nx, work->stream);
}

static int scratch_bytes(const struct peer_work *work, size_t *bytes)
{
    *bytes = 0;
    return work->dtype == PEER_U8 ? even<uint8_t>(work, NULL, bytes) : even<uint16_t>(work, NULL, bytes);
}

static int run(const struct peer_work *work)
{
    size_t bytes = work->scratch_bytes;
    return work->dtype == PEER_U8 ? even<uint8_t>(work, work->scratch, &bytes)
                                  : even<uint16_t>(work, work->scratch, &bytes);
}

extern "C" const struct peer ts_peer_cub_histogram = {"cub", scratch_bytes, run};

extern "C" const char *ts_peer_cub_version(void)
{
    static char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", CUB_MAJOR_VERSION, CUB_MINOR_VERSION, CUB_SUBMINOR_VERSION);
    return text;
}
