/* SPDX-License-Identifier: Apache-2.0
 *
 * This is the state of a driver on a CUDA device. Two files share it: driver.c has the driver's
 * calls, and driver_totals.c brings the totals of reductions to other devices and to the host.
 */
#ifndef CUDA_DEVICE_DRIVER_STATE_H
#define CUDA_DEVICE_DRIVER_STATE_H

#include "cuda/device/driver.h"
#include "cuda/device/packed.h"

struct cuda_driver {
    struct stage_driver base;
    struct cuda_session *session;
    const struct stage_cuda *cuda;
    bool per_slice, finishes, tabulates, checks; /* as in driver.c, of a stage with a reduction */
    bool begun[STAGE_INPUTS];
    void *partials[STAGE_INPUTS];
    struct ts_image tables[STAGE_TABLES]; /* those that the map writes, each in full */
    int n_tables;
    void *results, *scratch, *constants, *pinned;
    struct cuda_refused *refused; /* on the device; used if `checks` is set */
    struct cuda_refused
        *seen;     /* in pinned memory: what the last finished slab has left in `refused` */
    void *outside; /* a slice filled with the border's constant, if the stage pads with one */
    struct cuda_fft *transforms[STAGE_TRANSFORMS];
    struct cuda_texture_set *textures; /* textures of the inputs of map() so far */
    size_t host_result_bytes, constants_bytes;
    struct cuda_timer *timer;
    const struct cuda_reporting *reporting; /* NULL: nobody asks how far the map is */
    struct cuda_packed packed;              /* used if pixels are left out */
};

static inline struct cuda_driver *cuda_of(struct stage_driver *driver)
{
    return (struct cuda_driver *)driver;
}

/* Enqueues a copy and waits for it. */
enum ts_status ts_cuda_driver_copy(struct cuda_driver *driver, enum cuda_direction direction,
                                   void *to, const void *from, size_t bytes);
/* Copies a total that several processes have joined back to the device, if the stage's finish()
 * runs there. */
enum ts_status ts_cuda_driver_return_counts(struct cuda_driver *driver);

#endif
