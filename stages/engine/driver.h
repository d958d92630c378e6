/* SPDX-License-Identifier: Apache-2.0
 *
 * The driver of one prepared stage on one device: it reduces in rounds, pads slabs by the stage's reach, and maps them.
 * All that runs a stage goes through it: the runner, ts_stage_apply() and ts_cuda_apply(), and the benchmark. What
 * differs between the CPU and a CUDA device are the calls of struct stage_driver_calls; the order of the steps and the
 * rules of borders stand here once. A driver keeps its state to itself and belongs to one thread at a time, so several
 * may work side by side, on several devices too.
 *
 * "Where the device has its images" is host memory for a driver of the CPU, and device memory for one of CUDA.
 */
#ifndef STAGES_ENGINE_DRIVER_H
#define STAGES_ENGINE_DRIVER_H

#include "stages/engine/reduce.h"

struct stage_driver;

/* The calls of one device. Slices are those of ts_driver_slab(); work may be enqueued when a call returns. */
struct stage_driver_calls {
    enum ts_status (*add)(struct stage_driver *driver, int input, const struct ts_image *slices);
    enum ts_status (*finish)(struct stage_driver *driver);
    enum ts_status (*reduce_slices)(struct stage_driver *driver, const struct ts_image *slices);
    enum ts_status (*map)(struct stage_driver *driver, const struct ts_image *slices, struct ts_image *out);
    /* Copies slices to the slab that is padded; from NULL: one slice of the border's constant. */
    enum ts_status (*copy)(struct stage_driver *driver, void *to, const void *from, size_t bytes);
    enum ts_status (*restart)(struct stage_driver *driver);
    enum ts_status (*renew)(struct stage_driver *driver);
    void (*destroy)(struct stage_driver *driver);
};

struct stage_driver {
    const struct stage_driver_calls *calls;
    struct stage_context context;  /* a copy: round, result, tables and transforms belong to this driver */
    struct stage_reduced *reduced; /* totals, results and tables on the host; NULL where the stage has no state */
    int64_t slab_slices;           /* the most slices of one call */
    void *padded;                  /* borrowed: holds a slab with its halo, where the device has its images */
};

/* Bytes of a slab of n slices with its halo, 0 where the stage looks at each slice alone; and of the scratch of a map
 * of n slices on the CPU. */
size_t ts_driver_padded_bytes(const struct stage_context *context, int64_t n);
size_t ts_driver_scratch_bytes(const struct stage_context *context, int64_t n);
/* Bytes of the Fourier transforms that a driver holds on the host. */
size_t ts_driver_transforms_bytes(const struct stage_context *context);

/* Memory that drivers whose calls follow one another may share, for the largest slab of any of them. */
struct stage_buffers {
    void *padded, *scratch;
};

/* The calls of the CPU. */
extern const struct stage_driver_calls ts_driver_host;
/* A driver on the CPU, for slabs of at most slab_slices. buffers NULL: it has its own. What the context points to must
 * outlive the driver. Out of memory: reported, and *driver is NULL. */
enum ts_status ts_driver_create(const struct stage_context *context, int64_t slab_slices,
                                const struct stage_buffers *buffers, struct stage_driver **driver);
/* For the drivers of other devices: fills *driver, with the transforms and the state that live on the host. */
enum ts_status ts_driver_init(struct stage_driver *driver, const struct stage_driver_calls *calls,
                              const struct stage_context *context, int64_t slab_slices, void *padded);
/* The counterpart of ts_driver_init. */
void ts_driver_clear(struct stage_driver *driver);
/* NULL does nothing. */
void ts_driver_destroy(struct stage_driver *driver);

/* Makes ready for another run, as if newly created. */
enum ts_status ts_driver_restart(struct stage_driver *driver);
/* Takes the descriptions of a context that was prepared again, for the same parameter memory. TS_RUN_FAILED (code
 * found-sizes) where the stage would need memory of other sizes. NULL does nothing. */
enum ts_status ts_driver_renew(struct stage_driver *driver, const struct stage_context *context);

/* Adds slices of an input to its reduction over the volume: rising z, each once per round. slices[1 + i], for input 0:
 * the same slices of a reference i that streams with the input. */
enum ts_status ts_driver_add(struct stage_driver *driver, int input, const struct ts_image *slices);
/* Ends a round of the reductions over volumes: finish(). */
enum ts_status ts_driver_finish(struct stage_driver *driver);
/* All rounds of the reduction of each slice; afterwards the results stand for these slices. */
enum ts_status ts_driver_reduce_slices(struct stage_driver *driver, const struct ts_image *slices);

/* Slices [z, z + n) of an input, without halo, to where the device has its images; for input 0 also those of the
 * references that stream with it. */
typedef enum ts_status stage_feed(void *from, int input, int64_t z, int64_t n, struct ts_image slices[STAGE_INPUTS]);
/* All rounds of the reductions over volumes, in slabs of the driver's size that `feed` brings. */
enum ts_status ts_driver_reduce(struct stage_driver *driver, stage_feed *feed, void *from);

/* *padded describes the input slices of output slices [z, z + n) with the reach's halo, out of parts that together hold
 * the slices needed (rising z_first). Where one part holds all of it, *padded is a view of that part; else the slices
 * are copied to driver->padded, with the border rule at the ends of the volume. Of the driver it needs calls->copy,
 * context and padded alone. */
enum ts_status ts_driver_pad(struct stage_driver *driver, const struct ts_image *parts, int n_parts, int64_t z,
                             int64_t n, struct ts_image *padded);
/* One slab: reduces its slices, where the stage reduces slice by slice, and maps them to `out`, where it maps.
 * slices[0] are the slices of the input without halo, slices[1 + i] those of a reference that streams with it; parts as
 * for ts_driver_pad. Overwrites slices[0] by the padded slab. */
enum ts_status ts_driver_slab(struct stage_driver *driver, const struct ts_image *parts, int n_parts,
                              struct ts_image slices[STAGE_INPUTS], struct ts_image *out);

/* A stage over whole images: feed, and slab() for output slices [z, z + n), which calls ts_driver_slab(). */
struct stage_images {
    stage_feed *feed;
    enum ts_status (*slab)(void *from, int64_t z, int64_t n);
    void *from;
};
/* Reduces and maps whole images. Where the stage finds axes, context and out->axes follow. */
enum ts_status ts_driver_run(struct stage_driver *driver, const struct stage_images *images,
                             struct stage_context *context, struct ts_image *out);

/* The state with its tables, or NULL; the caller owns it and destroys it. */
struct stage_reduced *ts_driver_reduced_take(struct stage_driver *driver);

#endif
