/* SPDX-License-Identifier: Apache-2.0
 *
 * The driver of one prepared stage on one device: it reduces in rounds, pads slabs by the stage's
 * reach, and maps them. All that runs a stage goes through it: the runner, ts_stage_apply() and
 * ts_cuda_apply(), and the benchmark. The CPU and a CUDA device differ only in the calls of struct
 * stage_driver_calls; the order of the steps and the rules of borders are the same code. A driver
 * keeps its state to itself and belongs to one thread at a time, so several may work side by side,
 * on several devices too.
 *
 * "Where the device has its images" means host memory for a driver of the CPU, and device memory
 * for one of CUDA.
 */
#ifndef STAGES_ENGINE_DRIVER_H
#define STAGES_ENGINE_DRIVER_H

#include "stages/engine/prepare.h"
#include "stages/engine/reduce.h"
#include "stages/engine/traits.h"

struct stage_driver;

enum { DRIVER_COLLECT_SLICES = 64, DRIVER_COLLECT_BYTES = 16 << 20 };

/* The calls of one device. Slices are those of ts_driver_slab(). Work may still be enqueued when a
 * call returns. */
struct stage_driver_calls {
    enum ts_status (*add)(struct stage_driver *driver, int input, const struct ts_image *slices);
    enum ts_status (*finish)(struct stage_driver *driver);
    enum ts_status (*reduce_slices)(struct stage_driver *driver, const struct ts_image *slices);
    /* Do what ts_driver_refused() and ts_driver_refuse() say. NULL: reduce_slices() itself refuses
     * a slice. */
    enum ts_status (*refused)(struct stage_driver *driver, bool wait, int64_t *slice);
    enum ts_status (*refuse)(struct stage_driver *driver);
    enum ts_status (*map)(struct stage_driver *driver, const struct ts_image *slices,
                          struct ts_image *out);
    /* Copies slices to the slab that is padded. If `from` is NULL, it fills one slice with the
     * border's constant. */
    enum ts_status (*copy)(struct stage_driver *driver, void *to, const void *from, size_t bytes);
    /* Copies n slices, each from its place, or from the constant if that is NULL. A copy takes as
     * long to start as a whole call of this, and at a border every slice needs one. At most
     * DRIVER_COLLECT_SLICES and DRIVER_COLLECT_BYTES, beyond which copies are as good. NULL: so are
     * they always. */
    enum ts_status (*collect)(struct stage_driver *driver, void *to, const void *const *from, int n,
                              size_t slice_bytes);
    /* Sets all bits of this memory. */
    enum ts_status (*set)(struct stage_driver *driver, void *to, size_t bytes);
    /* Sets invalid pixels to a value. */
    enum ts_status (*fill)(struct stage_driver *driver, const struct ts_image *slices,
                           double value);
    /* Writes slices->valid: pixels of value 0 are invalid. */
    enum ts_status (*mark)(struct stage_driver *driver, const struct ts_image *slices);
    enum ts_status (*restart)(struct stage_driver *driver);
    enum ts_status (*renew)(struct stage_driver *driver);
    void (*destroy)(struct stage_driver *driver);
};

struct stage_driver {
    const struct stage_driver_calls *calls;
    struct stage_context
        context; /* a copy: round, result, tables and transforms belong to this driver */
    struct stage_reduced
        *reduced; /* totals, results and tables on the host; NULL if the stage has no state */
    int64_t slab_slices; /* the most slices of one call */
    void *padded;        /* borrowed memory for a slab with its halo, in the device's memory */
};

/* The first returns the bytes of a slab of n slices with its halo, and of its bits if it is masked
 * (0 if the stage looks at each slice by itself), or of what moves the bits if the stage moves
 * values. The second returns the bytes of scratch of a map of n slices on the CPU. */
size_t ts_driver_padded_bytes(const struct stage_context *context, int64_t n);
size_t ts_driver_scratch_bytes(const struct stage_context *context, int64_t n);
/* Returns the bytes of the Fourier transforms that a driver holds on the host. */
size_t ts_driver_transforms_bytes(const struct stage_context *context);

/* Memory that several drivers may share if their calls follow one another. It must hold the largest
 * slab of any of them. */
struct stage_buffers {
    void *padded, *scratch;
};

/* The calls of the CPU. */
extern const struct stage_driver_calls ts_driver_host;
/* Creates a driver on the CPU, for slabs of at most slab_slices. With buffers NULL it allocates its
 * own. Everything that the context points to must outlive the driver. If memory is out, that is
 * reported and *driver is NULL. */
enum ts_status ts_driver_create(const struct stage_context *context, int64_t slab_slices,
                                const struct stage_buffers *buffers, struct stage_driver **driver);
/* Initializes *driver, with the transforms and the state on the host. Drivers of other devices call
 * it. */
enum ts_status ts_driver_init(struct stage_driver *driver, const struct stage_driver_calls *calls,
                              const struct stage_context *context, int64_t slab_slices,
                              void *padded);
/* Frees what ts_driver_init allocated. */
void ts_driver_clear(struct stage_driver *driver);
/* NULL does nothing. */
void ts_driver_destroy(struct stage_driver *driver);

/* Makes the driver ready for another run, as if newly created. */
enum ts_status ts_driver_restart(struct stage_driver *driver);
/* Copies the descriptions of a context that was prepared again with the same parameter memory.
 * Returns TS_RUN_FAILED (code found-sizes) if the stage would need memory of different sizes. A
 * driver of NULL does nothing. */
enum ts_status ts_driver_renew(struct stage_driver *driver, const struct stage_context *context);

/* Adds slices of an input to its reduction over the volume, in rising z and each once per round.
 * For input 0, slices[1
 * + i] are the same slices of a reference i that streams with the input. */
enum ts_status ts_driver_add(struct stage_driver *driver, int input, const struct ts_image *slices);
/* Ends a round of the reductions over volumes by calling finish(). */
enum ts_status ts_driver_finish(struct stage_driver *driver);
/* Runs all rounds of the reduction of each slice; afterwards the driver has the results of these
 * slices. */
enum ts_status ts_driver_reduce_slices(struct stage_driver *driver, const struct ts_image *slices);
/* Sets *slice to the first slice so far that its reduction refuses, or to -1 if there is none, or
 * if `wait` is false and the device is not done. Returns the status of waiting. ts_driver_refuse()
 * then reports the slice, and returns its status. */
enum ts_status ts_driver_refused(struct stage_driver *driver, bool wait, int64_t *slice);
enum ts_status ts_driver_refuse(struct stage_driver *driver);

/* Brings slices [z, z + n) of an input, without halo, to the device's memory. For input 0 it also
 * brings those of the references that stream with it. */
typedef enum ts_status stage_feed(void *from, int input, int64_t z, int64_t n,
                                  struct ts_image slices[STAGE_INPUTS]);
/* Runs all rounds of the reductions over volumes, in slabs of the driver's size that `feed`
 * brings. */
enum ts_status ts_driver_reduce(struct stage_driver *driver, stage_feed *feed, void *from);

/* Describes in *padded the input slices of output slices [z, z + n), as ts_stage_reads() states
 * them. The parts, in rising z_first, together contain the slices needed. If one part has them all,
 * *padded is a view of it; else the slices are copied to driver->padded, with the border rule at
 * the ends of the volume. It uses only the context, `padded` and the calls copy, set, collect and
 * fill of the driver. */
enum ts_status ts_driver_pad(struct stage_driver *driver, const struct ts_image *parts, int n_parts,
                             int64_t z, int64_t n, struct ts_image *padded);
/* Runs one slab: reduces its slices if the stage reduces slice by slice, and maps them to `out` if
 * it maps. slices[0] are the slices of the input without halo, slices[1 + i] those of a reference
 * that streams with it; the parts are as for ts_driver_pad. It overwrites slices[0] with the padded
 * slab. A stage with reads() needs no `slices`. */
enum ts_status ts_driver_slab(struct stage_driver *driver, const struct ts_image *parts,
                              int n_parts, struct ts_image slices[STAGE_INPUTS],
                              struct ts_image *out);

/* The callbacks for running a stage over whole images: `feed`, and slab(), which calls
 * ts_driver_slab() for output slices [z, z + n). */
struct stage_images {
    stage_feed *feed;
    enum ts_status (*slab)(void *from, int64_t z, int64_t n);
    void *from;
};
/* Reduces and maps whole images. If the stage finds axes, it updates context and out->axes. */
enum ts_status ts_driver_run(struct stage_driver *driver, const struct stage_images *images,
                             struct stage_context *context, struct ts_image *out);

/* Returns the state with its tables, or NULL. The caller then owns it and destroys it. */
struct stage_reduced *ts_driver_reduced_take(struct stage_driver *driver);

/* ---- execute -----------------------------------------------------------------------------------
 *
 * This carries out one prepared stage on whole images in host memory. */

/* Runs a prepared stage on whole images, for tests, the benchmark and small callers: every round
 * over slabs of `slab` slices (0: all), then the map into out->data, which the caller allocates (a
 * stage without a map does not touch it). Writes out->axes if the stage finds axes. references[i]
 * have data. *reduced (may be NULL) receives the state with its tables; the caller destroys it. */
enum ts_status ts_stage_apply(struct stage_context *context, const struct ts_image *in,
                              struct ts_image *out,
                              const struct ts_image *const references[STAGE_REFERENCES],
                              int64_t slab, struct stage_reduced **reduced);

/* Runs the reductions of a driver's stage over the whole input, and then maps only slice z of the
 * output, into out->data of one slice. `in` and `out` are in the memory of the driver's device;
 * work may still be enqueued when it returns. For a stage that has a map and no references. */
enum ts_status ts_stage_apply_slice(struct stage_driver *driver, const struct ts_image *in,
                                    struct ts_image *out, int64_t z);

/* Sets images[0] to `in`, and images[1 + i] to reference i, if it is given, with the first values
 * of `in` as its data. */
void ts_stage_inputs_alike(const struct stage_context *context, const struct ts_image *in,
                           struct ts_image images[STAGE_INPUTS]);

#endif
