/* SPDX-License-Identifier: Apache-2.0
 *
 * An operator has two sides, A and A', each of which is the map of a stage on whole images, with a
 * driver of its own (stages/engine/driver.h). The devices differ in the functions of struct
 * operator_device.
 */
#ifndef PIPELINE_OPERATOR_OPERATOR_H
#define PIPELINE_OPERATOR_OPERATOR_H

#include "include/tomostage_operator.h"
#include "pipeline/chain/chain.h"
#include "stages/engine/driver.h"

/* A side computes `out` from `in`. If it gathers, the driver's images are larger, or there is no
 * driver (struct stage_transpose). */
struct operator_side {
    struct stage stage; /* without its reduction: an operator does not look for NaN */
    struct stage_cuda cuda;
    struct param_set set;
    struct stage_context context;
    struct stage_driver *driver;
    struct ts_image in, out;
    struct ts_image from, to;   /* what the driver computes, with the data of the present call */
    struct stage_gather gather; /* where the device has its images */
    float *wide_in, *wide_out;  /* wide_in: zeros around the middle */
};

/* What a device does. Images are in its memory. */
struct operator_device {
    /* Makes the drivers and all memory. What was made before an error is freed by destroy(). */
    enum ts_status (*create)(struct ts_operator *op, struct ts_diag *diag);
    void (*destroy)(struct ts_operator *op);
    /* Surround the work of a call. */
    enum ts_status (*begin)(struct ts_operator *op, void *stream, struct ts_diag *diag);
    void (*end)(struct ts_operator *op);
    /* Copies an image to the middle of side->wide_in. */
    enum ts_status (*embed)(struct ts_operator *op, struct operator_side *side, const float *in);
    enum ts_status (*gather)(struct ts_operator *op, struct operator_side *side, const float *in,
                             float *out);
};

struct ts_operator {
    const struct operator_device *calls;
    const struct device_numbers *device; /* NULL: the CPU */
    struct device_numbers numbers;
    struct ts_chain *chain; /* has the parameters of A */
    struct arena *arena;
    struct memory_input *input; /* describes the images that A takes */
    int threads;
    struct ts_allocator allocator; /* of device memory; all members are zero: there is none */
    struct operator_side forth, back;
    float *middle;   /* A in, for A' A in */
    void *on_device; /* of operator_cuda.c */
};

/* The device of builds with CUDA. */
extern const struct operator_device ts_operator_cuda;

/* Computes one image. */
enum ts_status ts_operator_side_run(struct ts_operator *op, struct operator_side *side,
                                    const float *in, float *out);

#endif
