/* SPDX-License-Identifier: Apache-2.0
 *
 * Linear stages as operators on arrays: A x, A' y and A' A x, for iterative methods of a caller's
 * own and for layers of a network.
 *
 *     struct ts_image in = {.rank = 3, .dtype = TS_F32, .quantity = TS_INTENSITY, .unit = "1",
 *                           .axes = {{TS_AXIS_Z, NZ, 1, "mm"}, {TS_AXIS_Y, N, 1, "mm"},
 *                                    {TS_AXIS_X, N, 1, "mm"}}};
 *     struct ts_operator *radon = NULL;
 *     status = ts_operator_create("radon views=180", &in, &options, &radon, diag);
 *     status = ts_operator_apply(radon, &volume, &sinogram, NULL, diag);
 *     status = ts_operator_adjoint(radon, &sinogram, &volume, NULL, diag);
 *
 * A stage that is no linear map, or whose adjoint is not known, is refused when its operator is
 * made. The adjoint is that of the map as it is computed, with its borders, up to rounding:
 * <A x, y> = <x, A' y>. Results have the bytes of the chain with the same stage.
 */
#ifndef TOMOSTAGE_OPERATOR_H
#define TOMOSTAGE_OPERATOR_H

#include "tomostage_array.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An operator holds all that its calls need: tables, transforms, and memory for one image. Calls
 * allocate nothing and read no file. Those of one operator follow each other, on one thread and one
 * stream at a time; several operators may be at work at once. */
struct ts_operator;

/* Makes the operator of one stage in the form on one line, such as "box radius=2 border=wrap", on
 * images like `in`: of rank 3 and type TS_F32, (z, y, x) or (z, view, detector). Spacing, units,
 * quantity, angles and beam count as in a chain. Of the options `device`, `threads` and `allocator`
 * are used. "cuda" or "cuda:N" computes on that device, NULL, "auto" and "cpu" on the CPU. An
 * operator has no context: settings and stages that were added to one do not count.
 * TS_BAD_CHAIN: the stage is not linear or its adjoint is not known, several stages, inputs, an
 * output or a sweep are named (operator-stage, transpose-constant, transpose-magnitude), the device
 * is none that computes operators (operator-device, device), or a chain would refuse it.
 * TS_BAD_INPUT: `in` describes no such images (operator-input, memory-about). TS_RUN_FAILED: memory
 * or the device is missing. */
TS_PUBLIC enum ts_status ts_operator_create(const char *stage, const struct ts_image *in,
                                            const struct ts_options *options,
                                            struct ts_operator **op, struct ts_diag *diag);
/* The operator's work on a device has to be done. */
TS_PUBLIC void ts_operator_destroy(struct ts_operator *op);
/* Describe the images that A takes and makes, with data NULL; `in` or `out` may be NULL. What they
 * point to is the operator's. */
TS_PUBLIC void ts_operator_describe(const struct ts_operator *op, struct ts_image *in,
                                    struct ts_image *out);

/* Compute out = A in, out = A' in, and out = A' A in. Both arrays have the three axes of the images
 * that ts_operator_describe() gives, or a batch axis of any length from 1 before them, which both
 * have. Their type is TS_F32, and each image is in C order; the stride of the batch axis may be
 * any. They do not overlap, and the images of `out` do not overlap each other.
 *
 * On the CPU the arrays are in host memory, and the work is done when the call returns. On a CUDA
 * device they are in its memory, and the work is enqueued on `stream` (a cudaStream_t; NULL: the
 * default stream): the host does not wait, and a call may be captured in a graph. The streams of
 * the arrays are not looked at. TS_BAD_INPUT: an array does not fit (operator-array). */
TS_PUBLIC enum ts_status ts_operator_apply(struct ts_operator *op, const struct ts_array *in,
                                           const struct ts_array *out, void *stream,
                                           struct ts_diag *diag);
TS_PUBLIC enum ts_status ts_operator_adjoint(struct ts_operator *op, const struct ts_array *in,
                                             const struct ts_array *out, void *stream,
                                             struct ts_diag *diag);
TS_PUBLIC enum ts_status ts_operator_normal(struct ts_operator *op, const struct ts_array *in,
                                            const struct ts_array *out, void *stream,
                                            struct ts_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
