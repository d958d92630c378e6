/* SPDX-License-Identifier: Apache-2.0
 *
 * libtomostage on arrays: a chain whose images lie in memory of the caller's, in place of files.
 *
 *     const char *text = "memory volume | box radius=2 | save name=smooth | equalize";
 *     struct ts_array in = {sizeof in, pixels, TS_U16, 3, {64, 512, 512}, .cuda_device = -1};
 *     struct ts_array out = {sizeof out, result, TS_U16, 3, {64, 512, 512}, .cuda_device = -1};
 *     status = ts_chain_parse(text, strlen(text), "chain", NULL, &chain, diag);
 *     if (status == TS_OK) status = ts_chain_set_array(chain, "volume", &in, NULL, diag);
 *     if (status == TS_OK) status = ts_plan_create(chain, &options, &plan, diag);
 *     if (status == TS_OK) status = ts_run_create(plan, &run, diag);
 *     if (status == TS_OK) status = ts_run_set_array(run, "data", &out, diag);
 *     if (status == TS_OK) status = ts_run_execute(run, diag);
 *
 * The rules of tomostage.h hold. A struct whose first member is `size` may grow at its end: set it
 * to sizeof of the struct as the caller was compiled. Images are named as a result file names them:
 * "data" is that of the last stage, and a stage `save name=smooth` names another "smooth".
 */
#ifndef TOMOSTAGE_ARRAY_H
#define TOMOSTAGE_ARRAY_H

#include "tomostage.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An array of 2 to 4 axes in the caller's memory, as DLPack and Python's buffer protocol describe
 * one: (y, x), (z, y, x), (z, view, detector), or with an axis of volumes before them. */
struct ts_array {
    size_t size; /* sizeof(struct ts_array) */
    void *data;  /* the element whose indices are all 0 */
    enum ts_dtype dtype;
    int rank;
    int64_t n[TS_MAX_RANK];      /* the last axis is x, or the detector */
    int64_t stride[TS_MAX_RANK]; /* in bytes, may be negative; all 0: C order without gaps */
    int32_t cuda_device;         /* the device that holds the data; -1: host memory */
    void *cuda_stream; /* a cudaStream_t of that device, NULL the default one: what was enqueued
                        * there before a run begins is waited for. Not used for host memory */
};

/* Gives the input that the chain calls "memory NAME" its array. `about` states what the values
 * are: axes with spacing, unit and angles, quantity, unit, geometry and beam; its rank is 3, its
 * sizes and dtype have to be those of the array (for one of rank 2 with one slice before them), its
 * data is not looked at, and its bits `valid` are copied. A unit of NULL is "" of an axis and "1"
 * of the values. Lengths in m, cm, um and nm are converted to mm; "", "pixel" and a spacing of 0
 * mean that no length is known: distances are then in pixels, and a stage that needs mm refuses
 * them. Positions that rise and are within a thousandth of a step of even ones count as `first` and
 * `spacing`. `about` NULL: an intensity with distances of one pixel. All of it is copied but the
 * values, which the caller keeps until the last plan of the chain is destroyed, and changes between
 * runs only. An array in place of an earlier one is for plans that are made later. An array in C
 * order is read where it is; of several volumes or with other strides each slab is copied when it
 * is needed. An array in the memory of a CUDA device is in C order and has one volume, and the
 * chain runs on that device. Images have the types u8 to i32 and f32. TS_BAD_CHAIN: the chain has
 * no such input (memory-unknown). TS_BAD_INPUT: the array cannot be an image (memory-array), or
 * `about` does not describe it (memory-about). ts_plan_create() refuses a scan whose detector has
 * `first` 0, without positions, as one that was not set, unless a stage is given the rotation axis
 * or finds it. Detector positions that fall are listed, and most stages refuse a list: give them
 * times -1, and begin the chain with `flip`. */
TS_PUBLIC enum ts_status ts_chain_set_array(struct ts_chain *chain, const char *name,
                                            const struct ts_array *array,
                                            const struct ts_image *about, struct ts_diag *diag);

/* Return the name of image i that a run will make, NULL past the last one. */
TS_PUBLIC const char *ts_plan_image_name(const struct ts_plan *plan, size_t i);
/* Describes an image that the run will make, with the axis of its volumes or of a sweep's values
 * before its own; image->data is NULL. What image points to is the plan's. Places that a stage
 * finds while it runs, such as the rotation axis of `center`, are not known yet
 * (ts_run_describe). TS_BAD_CHAIN (image-unknown): the chain makes no image of this name. */
TS_PUBLIC enum ts_status ts_plan_describe(const struct ts_plan *plan, const char *name,
                                          struct ts_image *image, struct ts_diag *diag);

/* A run of a plan: what it is given, and what it leaves behind. The plan stays as it is, and may
 * have several runs, one at a time. It must outlive them. A run keeps the memory of its images from
 * one execution to the next, until it is destroyed. */
struct ts_run;
/* TS_RUN_FAILED: memory is out. */
TS_PUBLIC enum ts_status ts_run_create(const struct ts_plan *plan, struct ts_run **run,
                                       struct ts_diag *diag);
TS_PUBLIC void ts_run_destroy(struct ts_run *run);
/* Has the run write an image to an array, whose type and sizes ts_plan_describe() gives, beside the
 * files that the chain names; a chain may name none. It takes the place of an earlier array or
 * function of the image. NULL: the image has neither any more, as if none had been set. The
 * elements overlap neither each other nor those of an input, which is refused here, nor those of
 * another image's array, which ts_run_execute() refuses, so that two may change places. The memory
 * must last until the run is destroyed or does not have it any more. After a run that fails it
 * holds nothing of use. It gets values only: which pixels of a masked image are valid is known to
 * ts_run_set_take().
 * TS_BAD_CHAIN: image-unknown; memory-array if the array does not fit the image; memory-ranks if
 * processes share the run; memory-encoded if the device compresses the image (options.arrays). */
TS_PUBLIC enum ts_status ts_run_set_array(struct ts_run *run, const char *name,
                                          const struct ts_array *array, struct ts_diag *diag);
/* Takes a slab of slices in host memory, whose first one is slab->z_first, counted through all
 * volumes. The slab is gone when it returns. What it returns, but TS_OK, ends the run with that
 * status, or with TS_RUN_FAILED if it is none (take-failed). */
typedef enum ts_status ts_take(void *user, const struct ts_image *slab);
/* Has the run hand an image over in slabs of rising z, one at a time, in place of an array. NULL
 * for `take` does what NULL for an array does. The errors are those of ts_run_set_array(). */
TS_PUBLIC enum ts_status ts_run_set_take(struct ts_run *run, const char *name, ts_take *take,
                                         void *user, struct ts_diag *diag);
/* Takes a slab of slices, and their bits if the image is masked, in the memory of the device that
 * computes the chain, once the work on `stream` (a cudaStream_t) so far is done. Work that it
 * enqueues on the stream may use them until its end; the function need not wait. */
typedef enum ts_status ts_take_device(void *user, const struct ts_image *slab, void *stream);
/* Does what ts_run_set_take() does, without copying the slabs to the host. TS_BAD_CHAIN
 * (take-device): the CPU or several devices compute the chain. */
TS_PUBLIC enum ts_status ts_run_set_take_device(struct ts_run *run, const char *name,
                                                ts_take_device *take, void *user,
                                                struct ts_diag *diag);
/* Carries the plan out, as ts_plan_run() does; a chain whose stages leave tables may do so without
 * any image taken. It may be called again, also with other arrays: from the second time on it
 * allocates no device memory and no large host memory. After TS_PAUSED it goes on from the
 * checkpoint. TS_BAD_CHAIN (memory-array): the arrays for two images overlap.
 *
 * If the stream of its arrays is being captured in a CUDA graph, it enqueues the work there and
 * returns; the graph may be launched until the run is destroyed. The run has been executed before.
 * TS_BAD_CHAIN (run-capture): the chain needs the host between its stages. */
TS_PUBLIC enum ts_status ts_run_execute(struct ts_run *run, struct ts_diag *diag);
/* Do for a run what ts_plan_stop(), ts_plan_pause() and ts_plan_abandon() do for ts_plan_run(), as
 * well from any thread or a signal handler. */
TS_PUBLIC void ts_run_stop(struct ts_run *run);
TS_PUBLIC void ts_run_pause(struct ts_run *run);
TS_PUBLIC void ts_run_abandon(const struct ts_run *run);
/* Describes an image as the last execution made it, with the places that stages found. Before the
 * first one, after one that did not end with TS_OK, and of several volumes it does what
 * ts_plan_describe() does. What image points to (units, names, positions) is the plan's in either
 * case, and lasts as long as the plan. */
TS_PUBLIC enum ts_status ts_run_describe(const struct ts_run *run, const char *name,
                                         struct ts_image *image, struct ts_diag *diag);
/* Describes a table that the last execution left: "STAGE.TABLE", such as "statistics.mean" or, of a
 * second such stage, "histogram#2.counts". Axes, type and unit are in `table`. Its data and
 * all else that it points to are the run's until it is executed again or destroyed. An execution
 * that does not end with TS_OK leaves none. TS_BAD_CHAIN (table-unknown): there is none. */
TS_PUBLIC enum ts_status ts_run_table(const struct ts_run *run, const char *name,
                                      struct ts_image *table, struct ts_diag *diag);
/* Return the name of table i, NULL past the last one. */
TS_PUBLIC const char *ts_run_table_name(const struct ts_run *run, size_t i);

/* Write what ts_plan_print() and ts_diag_print() print, or with `json` the same as JSON, into a
 * buffer as snprintf does: the text ends in a zero if size > 0, and the length that the whole text
 * has is returned, without the zero. 0 if memory is out. The JSON of a plan is one object, that of
 * a diag one object a line for each record. */
TS_PUBLIC size_t ts_plan_text(const struct ts_plan *plan, bool json, char *text, size_t size);
TS_PUBLIC size_t ts_diag_text(const struct ts_diag *diag, bool json, char *text, size_t size);

/* Writes a chain out in the same way: what its text and ts_chain_set() gave, with paths as seen
 * from the current folder, as YAML or in the form on one line, which is a chain again. 0 as well
 * if one line cannot hold it: a text with control characters, a form before version 2, or an
 * output without a file. */
TS_PUBLIC size_t ts_chain_text(const struct ts_chain *chain, bool one_line, char *text,
                               size_t size);

#ifdef __cplusplus
}
#endif
#endif
