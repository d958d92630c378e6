/* SPDX-License-Identifier: Apache-2.0
 *
 * tomostage-bench-peers asks other libraries for the same work on the same buffers of the device.
 */
#ifndef LAB_PEERS_PEERS_H
#define LAB_PEERS_PEERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct CUstream_st;

enum peer_dtype { PEER_U8, PEER_U16, PEER_F32 };

enum peer_task { PEER_HISTOGRAM, PEER_BOX, PEER_STATISTICS };

/* The moments that a peer finds for the values of a slice, or of all. */
struct peer_moments {
    double low, high, sum, squares;
};

/* A volume of nz slices seen as one image of nz * ny rows, which neither peer knows more of. */
struct peer_work {
    enum peer_task task;
    enum peer_dtype dtype;
    int rows, nx;
    int bins, high; /* histogram: bins of equal width over [0, high) */
    int slices;     /* histogram and statistics: this many, each of as many rows; 1: one of all */
    int radius;     /* box: the mean of (2 radius + 1) squared values, borders repeated */
    const void *in; /* device */
    void *out; /* device: slices times bins counts of 32 bits, an image, or struct peer_moments of
                  the slices */
    void *scratch; /* device */
    size_t scratch_bytes;
    struct CUstream_st *stream;
};

/* A peer enqueues its work; 0, or what it answers to work that it cannot do. scratch_bytes() is
 * asked first. */
struct peer {
    const char *name;
    int (*scratch_bytes)(const struct peer_work *work, size_t *bytes);
    int (*run)(const struct peer_work *work);
};

extern const struct peer ts_peer_cub_histogram, ts_peer_cub_statistics;
const char *ts_peer_cub_version(void);
/* Opens NPP; false where it is not there. The library is looked for as the system does. */
bool ts_peer_npp_open(int device, char version[64]);
extern const struct peer ts_peer_npp_histogram, ts_peer_npp_box;

#ifdef __cplusplus
}
#endif
#endif
