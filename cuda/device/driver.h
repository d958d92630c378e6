/* SPDX-License-Identifier: Apache-2.0
 *
 * Drivers (stages/engine/driver.h) on a CUDA device: they hold a stage's constants, scratch and
 * reduction on the device, and call it on slabs that are already there. Everything is enqueued on
 * the session's CUDA_COMPUTE queue; the host waits only if the stage's own finish() runs on the
 * host.
 */
#ifndef CUDA_DEVICE_DRIVER_H
#define CUDA_DEVICE_DRIVER_H

#include "cuda/device/progress.h"
#include "cuda/device/session.h"
#include "stages/engine/driver.h"

/* Compute, for the plan, the device bytes that ts_cuda_driver_create will allocate, and the host
 * bytes that it adds (most of them pinned). `padded` is not counted. */
size_t ts_cuda_driver_bytes(const struct stage_context *context, int64_t slab_slices);
size_t ts_cuda_driver_host_bytes(const struct stage_context *context, int64_t slab_slices);
/* Returns the bytes of partials, results and constants that are copied over the bus when n slices
 * are reduced and mapped once. */
size_t ts_cuda_driver_transfers(const struct stage_context *context, int64_t n);

/* Creates a driver for slabs of at most slab_slices on the session's device, which is also the
 * context's. The session, which owns the device memory, and everything that the context points to
 * must outlive the driver. `padded` is device memory of ts_driver_padded_bytes() bytes, which
 * drivers may share. */
enum ts_status ts_cuda_driver_create(struct cuda_session *session,
                                     const struct stage_context *context, int64_t slab_slices,
                                     void *padded, struct stage_driver **driver);
/* Replaces the driver's running total of an input's reduction over the volume by that of a driver
 * of the same stage on another device. `reached` is an event of that device, for which this device
 * waits. */
enum ts_status ts_cuda_driver_bring_total(struct stage_driver *driver,
                                          const struct stage_driver *from, int input,
                                          struct cuda_event *reached);
/* Moves the running total of an input's reduction over the volume to driver->reduced
 * (ts_stage_reduced_sum), where the totals of several processes are joined, and makes the device
 * start from nothing. ts_driver_finish() takes what is there then. If the stage's finish() runs on
 * the device, the total consists of 64-bit counts, which can be added up; ts_cuda_driver_counts()
 * returns their bytes, or 0 for other stages. */
enum ts_status ts_cuda_driver_collect(struct stage_driver *driver, int input);
/* Makes the device start without its running total, which another device has taken over. */
void ts_cuda_driver_forget(struct stage_driver *driver, int input);
size_t ts_cuda_driver_counts(const struct stage_driver *driver, int input);
/* Copies the tables that the map wrote to driver->reduced, or copies them back to the device, and
 * waits for the queue. */
enum ts_status ts_cuda_driver_copy_tables(struct stage_driver *driver,
                                          enum cuda_direction direction);

/* Returns true if the reduction of a stage never waits for the host: its results are made on the
 * device. */
bool ts_cuda_driver_stays(const struct stage_context *context);
/* Has the driver's transforms work on the session's queue CUDA_COMPUTE, which another stream has
 * become. */
enum ts_status ts_cuda_driver_follow(struct stage_driver *driver);

/* Records a pair of events around each later stretch of work on the device, for benchmarks. NULL:
 * no more. */
enum { CUDA_TIMER_EVENTS = 64 };
struct cuda_timer {
    struct cuda_event *events[CUDA_TIMER_EVENTS];
    int n; /* events recorded so far; further ones are left out */
};
void ts_cuda_driver_time(struct stage_driver *driver, struct cuda_timer *timer);

/* Makes map() report its iterations from now on, if the stage does that. The caller owns
 * `reporting` and its pinned memory, and gives each call a number. */
struct cuda_reporting {
    struct cuda_progress *progress;
    int64_t call;
};
void ts_cuda_driver_report(struct stage_driver *driver, const struct cuda_reporting *reporting);

/* Does what ts_stage_apply does, on the context's device, with images in host memory. Checks that
 * nothing was written around the output. */
enum ts_status ts_cuda_apply(struct stage_context *context, const struct ts_image *in,
                             struct ts_image *out,
                             const struct ts_image *const references[STAGE_REFERENCES],
                             int64_t slab, struct stage_reduced **reduced);

#endif
