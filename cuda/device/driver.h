/* SPDX-License-Identifier: Apache-2.0
 *
 * One stage on a CUDA device: its constants, scratch and reduction there, and its calls on slabs that are already on
 * the device. What stages/engine/execute.h does for the CPU. Everything is enqueued on the session's CUDA_COMPUTE
 * queue; the host waits only where the stage's own finish() runs on the host.
 */
#ifndef CUDA_DEVICE_STAGE_STATE_H
#define CUDA_DEVICE_STAGE_STATE_H

#include "cuda/device/session.h"
#include "stages/engine/execute.h"

struct cuda_stage;

/* Device and pinned bytes that ts_cuda_stage_create will take, known at plan time. slab_slices: the largest slab. */
size_t ts_cuda_stage_bytes(const struct stage_context *context, int64_t slab_slices);
size_t ts_cuda_stage_pinned_bytes(const struct stage_context *context, int64_t slab_slices);
/* Bytes that partials, results and constants take over the bus when n slices are reduced and mapped once, in a run. */
size_t ts_cuda_stage_transfers(const struct stage_context *context, int64_t n);
/* The context must outlive the state; its device is the session's. */
enum ts_status ts_cuda_stage_create(struct cuda_session *session, const struct stage_context *context,
                                    int64_t slab_slices, struct cuda_stage **stage);
/* Frees what lies on the host; device memory belongs to the session. NULL does nothing. */
void ts_cuda_stage_destroy(struct cuda_stage *stage);

/* As ts_stage_reduced_renew; also writes the constants again. */
enum ts_status ts_cuda_stage_renew(struct cuda_stage *stage, const struct stage_context *context);
/* Makes ready for the next reduction of the volume, as if newly created. */
enum ts_status ts_cuda_stage_restart(struct cuda_stage *stage);
/* As ts_stage_reduced_add, _finish and _slab; the images have device pointers. */
enum ts_status ts_cuda_stage_add(struct cuda_stage *stage, int input, const struct ts_image *slab);
enum ts_status ts_cuda_stage_finish(struct cuda_stage *stage);
enum ts_status ts_cuda_stage_slab(struct cuda_stage *stage, const struct ts_image *slab);
/* The map on a slab: in[0] has the reach's halo, in[1 + i] are the slices of a reference that streams with the input;
 * all have device pointers. */
enum ts_status ts_cuda_stage_map(struct cuda_stage *stage, const struct ts_image *in, struct ts_image *out);
/* Brings the tables that the map wrote to the host's part; waits for the queue. */
enum ts_status ts_cuda_stage_fetch_tables(struct cuda_stage *stage);
/* The host's part of the reduction, with the tables; NULL where the stage has none. The state owns it until taken. */
struct stage_reduced *ts_cuda_stage_reduced(const struct cuda_stage *stage);
struct stage_reduced *ts_cuda_stage_reduced_take(struct cuda_stage *stage);

/* Records a pair of events around each stretch of work on the device from now on, for benchmarks. NULL: no more. */
enum { CUDA_TIMER_EVENTS = 64 };
struct cuda_timer {
    struct cuda_event *events[CUDA_TIMER_EVENTS];
    int n; /* recorded; more than there is room for are left out */
};
void ts_cuda_stage_time(struct cuda_stage *stage, struct cuda_timer *timer);

/* ts_stage_apply on the context's device: images in host memory. Checks that nothing was written around the output. */
enum ts_status ts_cuda_apply(struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                             const struct ts_image *const references[STAGE_REFERENCES], int64_t slab,
                             struct stage_reduced **reduced);

#endif
