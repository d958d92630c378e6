/* SPDX-License-Identifier: Apache-2.0
 *
 * Operators: one stage is read by the chain's parser and prepared as a plan prepares it, and so is
 * the stage that computes its transpose. A call then only maps.
 */
#include "pipeline/operator/operator.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "core/arguments.h"
#include "core/available.h"
#include "core/memory.h"
#include "core/thread.h"
#include "io/source/memory.h"
#include "pipeline/plan/device_choice.h"
#include "pipeline/plan/plan.h"
#include "pipeline/plan/plan_axis.h"
#include "stages/engine/transpose.h"

/* ---- the CPU --------------------------------------------------------------------------------- */

static enum ts_status create_driver(struct operator_side *side)
{
    return side->context.stage
               ? ts_driver_create(&side->context, ts_stage_most_slices(&side->context), NULL,
                                  &side->driver)
               : TS_OK;
}

static enum ts_status allocate_zeros(const struct ts_image *image, struct ts_diag *diag, float **at)
{
    const size_t bytes = ts_image_bytes(image);
    *at = ts_memory_aligned(bytes);
    if (!*at)
        return ts_diag_no_memory(diag, bytes);
    memset(*at, 0, bytes);
    return TS_OK;
}

static enum ts_status host_create(struct ts_operator *op, struct ts_diag *diag)
{
    struct operator_side *back = &op->back;
    enum ts_status status = create_driver(&op->forth);
    if (status == TS_OK)
        status = create_driver(back);
    if (status == TS_OK)
        status = allocate_zeros(&op->forth.out, diag, &op->middle);
    if (status == TS_OK && back->driver && back->gather.n_in[0] > 0) {
        status = allocate_zeros(&back->context.in, diag, &back->wide_in);
        if (status == TS_OK)
            status = allocate_zeros(&back->context.out, diag, &back->wide_out);
    }
    return status;
}

static void host_destroy(struct ts_operator *op)
{
    ts_driver_destroy(op->forth.driver);
    ts_driver_destroy(op->back.driver);
    free(op->middle);
    free(op->back.wide_in);
    free(op->back.wide_out);
}

static enum ts_status host_begin(struct ts_operator *op, void *stream, struct ts_diag *diag)
{
    (void)op;
    (void)stream;
    (void)diag;
    return TS_OK;
}

static void host_end(struct ts_operator *op)
{
    (void)op;
}

static enum ts_status host_embed(struct ts_operator *op, struct operator_side *side,
                                 const float *in)
{
    const struct ts_axis *n = side->in.axes, *wide = side->context.in.axes;
    int64_t past[3];
    for (int d = 0; d < 3; d++)
        past[d] = (wide[d].n - n[d].n) / 2;
#pragma omp parallel for num_threads(op->threads)
    for (int64_t i = 0; i < n[0].n * n[1].n; i++) {
        const int64_t z = i / n[1].n + past[0], y = i % n[1].n + past[1];
        memcpy(side->wide_in + (z * wide[1].n + y) * wide[2].n + past[2], in + i * n[2].n,
               (size_t)n[2].n * sizeof *in);
    }
    return TS_OK;
}

static enum ts_status host_gather(struct ts_operator *op, struct operator_side *side,
                                  const float *in, float *out)
{
    ts_gather_run(&side->gather, in, out, op->threads);
    return TS_OK;
}

static const struct operator_device host_calls = {.create = host_create,
                                                  .destroy = host_destroy,
                                                  .begin = host_begin,
                                                  .end = host_end,
                                                  .embed = host_embed,
                                                  .gather = host_gather};

/* ---- creating -------------------------------------------------------------------------------- */

static enum ts_status operator_refuse(struct ts_diag *diag, const char *code, const char *what)
{
    return ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = code}, "%s", what);
}

/* Reads the stage as that of a chain, whose input the caller has. */
static enum ts_status read_stage(struct ts_operator *op, const char *stage, struct ts_diag *diag)
{
    const char *text = ts_arena_printf(op->arena, "memory in | %s", stage);
    if (!text)
        return ts_diag_no_memory(diag, strlen(stage));
    const enum ts_status status =
        ts_chain_parse(text, strlen(text), "operator", NULL, &op->chain, diag);
    if (status != TS_OK)
        return status;
    if (op->chain->n_stages != 1)
        return operator_refuse(diag, "operator-stage",
                               "an operator is made of one stage, and none or several are named");
    if (op->chain->n_sources != 1 || op->chain->output.path || op->chain->output.n_sinks > 0)
        return operator_refuse(diag, "operator-stage",
                               "an operator takes one array and makes one, and another input or an "
                               "output is named");
    if (op->chain->sweep.n > 0)
        return operator_refuse(diag, "operator-stage",
                               "an operator has one value of each parameter, and a sweep has many");
    const struct stage *named = op->chain->stages[0].stage;
    if (named->transpose)
        return TS_OK;
    ts_diag_error(diag, TS_BAD_CHAIN,
                  &(struct diag_site){.code = "operator-stage", .stage = named->name},
                  "is no linear map of an image, or its adjoint is not known");
    return ts_diag_hint(diag, "operators are made of radon, backproject, fbp, filter, box, "
                              "gaussian, convolve and resample");
}

/* Copies the description of the input and checks it. */
static enum ts_status take_input(struct ts_operator *op, const struct ts_image *in,
                                 struct ts_diag *diag)
{
    const struct diag_site site = {.code = "operator-input"};
    if (in->rank != 3 || in->dtype != TS_F32 || in->masked)
        return ts_diag_error(diag, TS_BAD_INPUT, &site,
                             "an operator takes images with three axes, of type f32 and without "
                             "invalid pixels");
    struct ts_array array = {
        .size = sizeof array, .data = op, .dtype = in->dtype, .rank = in->rank, .cuda_device = -1};
    for (int d = 0; d < in->rank; d++)
        array.n[d] = in->axes[d].n;
    const enum ts_status status = ts_memory_input("in", &array, in, &op->input, diag);
    if (status == TS_OK)
        op->forth.in = op->input->image;
    return status;
}

static enum ts_status take_device(struct ts_operator *op, const char *wanted, struct ts_diag *diag)
{
    struct device_choice choice;
    struct cuda_devices found;
    int index;
    op->calls = &host_calls;
    enum ts_status status = ts_device_choice_parse(wanted, &choice, diag);
    if (status != TS_OK || choice.kind != DEVICE_CUDA)
        return status;
    if (choice.n != 1)
        return operator_refuse(diag, "operator-device", "an operator computes on one device");
    status = ts_device_choice_find(choice.indices[0], &found, &index, diag);
    if (status != TS_OK)
        return status;
    op->numbers = found.devices[index];
    op->device = &op->numbers;
#ifdef TS_HAVE_CUDA
    op->calls = &ts_operator_cuda;
#endif
    return TS_OK;
}

/* Prepares a side's stage for images like `in`. */
static enum ts_status operator_prepare(struct ts_operator *op, struct operator_side *side,
                                       const struct stage *stage, const struct ts_image *in,
                                       struct ts_diag *diag)
{
    const enum ts_status status = ts_stage_prepare(stage, &side->set, in, NULL, op->threads,
                                                   op->device, diag, &side->context);
    if (status != TS_OK)
        return status;
    if (op->device && (!stage->cuda || !stage->cuda->map))
        return operator_refuse(diag, "operator-device", "the stage has no code for a CUDA device");
    if (op->device && stage->cuda->textures && stage->cuda->textures(&side->context)) {
        operator_refuse(
            diag, "operator-device",
            "the method reads its input through textures, which would be made for each array");
        return ts_diag_hint(diag, "leave method out");
    }
    side->stage = *stage;
    side->stage.reduction = NULL;
    if (stage->cuda) {
        side->cuda = *stage->cuda;
        side->cuda.reduction = NULL;
        side->stage.cuda = &side->cuda;
    }
    side->context.stage = &side->stage;
    side->from = side->context.in;
    side->to = side->context.out;
    return TS_OK;
}

/* Makes *in an image as large as the gather takes. */
static void operator_widen(const struct stage_gather *gather, struct ts_image *in)
{
    for (int d = 0; d < 3 && gather->n_in[0] > 0; d++)
        if (in->axes[d].n != gather->n_in[d]) {
            in->axes[d].n = gather->n_in[d];
            in->axes[d].positions = NULL;
        }
}

static enum ts_status prepare_forth(struct ts_operator *op, struct ts_diag *diag)
{
    const struct chain_stage *named = &op->chain->stages[0];
    op->forth.set = named->set;
    for (size_t i = 0; i < named->stage->n_params; i++)
        if (named->stage->params[i].kind == PARAM_REFERENCE && (named->set.given >> i & 1))
            return ts_param_error(&named->set, named->stage->params[i].name, "operator-stage", diag,
                                  "names another image, and an operator has one");
    const enum ts_status status =
        operator_prepare(op, &op->forth, named->stage, &op->forth.in, diag);
    op->forth.out = op->forth.context.out;
    return status;
}

static enum ts_status prepare_back(struct ts_operator *op, struct ts_diag *diag)
{
    const struct stage *named = op->chain->stages[0].stage;
    const struct stage_transpose *transpose = named->transpose;
    const struct stage *by = transpose->table ? transpose->table(&op->forth.context) : NULL;
    struct operator_side *back = &op->back;
    if (!by)
        by = transpose->by ? ts_stage_find(transpose->by) : named;
    void *values = ts_arena_alloc(op->arena, by->params_bytes);
    if (!values)
        return ts_diag_no_memory(diag, by->params_bytes);
    back->set = (struct param_set){.params = by->params,
                                   .n_params = by->n_params,
                                   .values = values,
                                   .span = op->forth.set.span,
                                   .owner = "adjoint"};
    ts_params_init(&back->set);
    enum ts_status status =
        transpose->describe(&op->forth.context, &back->set, &back->gather, op->arena);
    back->in = op->forth.out;
    back->out = op->forth.in;
    if (status != TS_OK || transpose->only_gathers)
        return status;
    struct ts_image in = back->in;
    operator_widen(&back->gather, &in);
    status = operator_prepare(op, back, by, &in, diag);
    for (int d = 0; d < 3; d++)
        assert(status != TS_OK ||
               back->context.out.axes[d].n ==
                   (back->gather.n_in[0] > 0 ? back->gather.n_in[d] : back->out.axes[d].n));
    return status;
}

static enum ts_status make(struct ts_operator *op, const char *stage, const struct ts_image *in,
                           const struct ts_options *given, struct ts_diag *diag)
{
    const struct ts_options options = ts_options_known(given);
    op->allocator = ts_allocator_known(&options);
    op->threads = ts_thread_team(options.threads > 0 ? options.threads : ts_processors());
    enum ts_status status = ts_options_check(&options, diag);
    if (status == TS_OK)
        status = take_device(op, options.device, diag);
    if (status == TS_OK)
        status = read_stage(op, stage, diag);
    if (status == TS_OK)
        status = take_input(op, in, diag);
    if (status == TS_OK)
        status = prepare_forth(op, diag);
    if (status == TS_OK && ts_plan_axis_is_unset(&op->forth.in) &&
        !ts_image_is_sinogram(&op->forth.out) && !ts_plan_own_center(&op->forth.set))
        status = ts_plan_refuse_unset_axis(op->chain->stages[0].stage->name, diag);
    if (status == TS_OK)
        status = prepare_back(op, diag);
    return status == TS_OK ? op->calls->create(op, diag) : status;
}

enum ts_status ts_operator_create(const char *stage, const struct ts_image *in,
                                  const struct ts_options *options, struct ts_operator **out,
                                  struct ts_diag *diag)
{
    if (out)
        *out = NULL;
    if (ts_arguments_lack(diag, "stage, in, op", stage, in, out))
        return TS_BAD_CHAIN;
    struct ts_operator *op = calloc(1, sizeof *op);
    ts_diag_name_options(diag, true);
    if (op)
        op->arena = ts_arena_create();
    enum ts_status status = op && op->arena ? TS_OK : ts_diag_no_memory(diag, sizeof *op);
    if (status == TS_OK)
        status = make(op, stage, in, options, diag);
    if (status == TS_OK)
        *out = op;
    else
        ts_operator_destroy(op);
    return status;
}

void ts_operator_destroy(struct ts_operator *op)
{
    if (!op)
        return;
    if (op->calls)
        op->calls->destroy(op);
    ts_chain_destroy(op->chain);
    ts_memory_leave(op->input);
    ts_arena_destroy(op->arena);
    free(op);
}

void ts_operator_describe(const struct ts_operator *op, struct ts_image *in, struct ts_image *out)
{
    if (op && in)
        *in = op->forth.in;
    if (op && out)
        *out = op->forth.out;
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* The images of an array: n of them, `step` bytes apart. */
struct batch {
    unsigned char *data;
    int64_t n, step;
    struct ts_array array; /* with strides */
};

/* Returns why the array does not hold images like this one on the operator's device, which may be
 * written to `text`, or NULL. */
static const char *misfit(const struct ts_operator *op, const struct ts_array *array,
                          const struct ts_image *image, struct batch *batch, char text[ARRAY_WRONG])
{
    struct ts_array full = *array;
    const int first = array->rank - 3;
    int64_t packed = (int64_t)sizeof(float);
    if (full.cuda_device >= 0)
        full.cuda_device = -1; /* the batch axis of arrays of a device may have any stride, too */
    const char *wrong = ts_array_refusal(&full, text);
    if (wrong)
        return wrong;
    if (array->cuda_device != (op->device ? op->device->index : -1)) {
        char device[16] = "the CPU, -1";
        if (op->device)
            snprintf(device, sizeof device, "%d", op->device->index);
        snprintf(text, ARRAY_WRONG, "has cuda_device %ld, and that of the operator is %s",
                 (long)array->cuda_device, device);
        return text;
    }
    if (array->dtype != TS_F32)
        return "is not of type f32";
    if (first < 0)
        return "has fewer than three axes";
    for (int d = 2; d >= 0; d--) {
        if (full.n[first + d] != image->axes[d].n)
            return "has other sizes than the operator's image";
        if (full.n[first + d] > 1 && full.stride[first + d] != packed)
            return "has images that are not in C order";
        packed *= full.n[first + d];
    }
    *batch = (struct batch){full.data, first ? full.n[0] : 1, first ? full.stride[0] : 0, full};
    return NULL;
}

static enum ts_status refuse_array(struct ts_diag *diag, const char *name, const char *wrong)
{
    ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "operator-array"},
                  "the array '%s' %s", name, wrong);
    return wrong == ts_array_overlap ? ts_diag_hint(diag, "%s", ts_array_overlap_hint)
                                     : TS_BAD_INPUT;
}

/* Checks both arrays of a call. */
static enum ts_status operator_check(const struct ts_operator *op, const struct ts_array *in,
                                     const struct ts_image *in_image, struct batch *from,
                                     const struct ts_array *out, const struct ts_image *out_image,
                                     struct batch *to, struct ts_diag *diag)
{
    char text[ARRAY_WRONG];
    const char *wrong = misfit(op, in, in_image, from, text);
    if (wrong)
        return refuse_array(diag, "in", wrong);
    wrong = misfit(op, out, out_image, to, text);
    if (!wrong && to->n > 1 && llabs(to->step) < (int64_t)ts_image_bytes(out_image))
        wrong = ts_array_overlap;
    if (wrong)
        return refuse_array(diag, "out", wrong);
    if (from->n != to->n)
        return refuse_array(diag, "out", "has another number of images than 'in'");
    return ts_array_meets(&from->array, &to->array) ? refuse_array(diag, "out", "overlaps 'in'")
                                                    : TS_OK;
}

/* Has the drivers report to the diag of the present call. */
static void report_to(struct ts_operator *op, struct ts_diag *diag)
{
    op->forth.context.diag = op->back.context.diag = diag;
    if (op->forth.driver)
        op->forth.driver->context.diag = diag;
    if (op->back.driver)
        op->back.driver->context.diag = diag;
}

/* Computes with one side, or with both one after the other. */
static enum ts_status call(struct ts_operator *op, struct operator_side *first,
                           struct operator_side *second, const struct ts_array *in,
                           const struct ts_array *out, void *stream, struct ts_diag *diag)
{
    struct batch from, to;
    if (ts_arguments_lack(diag, "op, in, out", op, in, out))
        return TS_BAD_CHAIN;
    enum ts_status status = operator_check(op, in, &first->in, &from, out,
                                           second ? &second->out : &first->out, &to, diag);
    if (status != TS_OK)
        return status;
    report_to(op, diag);
    status = op->calls->begin(op, stream, diag);
    for (int64_t i = 0; status == TS_OK && i < from.n; i++) {
        const float *image = (const float *)(const void *)(from.data + i * from.step);
        float *result = (float *)(void *)(to.data + i * to.step);
        status = ts_operator_side_run(op, first, image, second ? op->middle : result);
        if (status == TS_OK && second)
            status = ts_operator_side_run(op, second, op->middle, result);
    }
    op->calls->end(op);
    return status;
}

enum ts_status ts_operator_apply(struct ts_operator *op, const struct ts_array *in,
                                 const struct ts_array *out, void *stream, struct ts_diag *diag)
{
    return call(op, op ? &op->forth : NULL, NULL, in, out, stream, diag);
}

enum ts_status ts_operator_adjoint(struct ts_operator *op, const struct ts_array *in,
                                   const struct ts_array *out, void *stream, struct ts_diag *diag)
{
    return call(op, op ? &op->back : NULL, NULL, in, out, stream, diag);
}

enum ts_status ts_operator_normal(struct ts_operator *op, const struct ts_array *in,
                                  const struct ts_array *out, void *stream, struct ts_diag *diag)
{
    return call(op, op ? &op->forth : NULL, op ? &op->back : NULL, in, out, stream, diag);
}
