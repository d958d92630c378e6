/* SPDX-License-Identifier: Apache-2.0
 *
 * This computes the bytes that a plan needs on a CUDA device, and those that are copied to and from
 * it. pipeline/run/run_cuda.c allocates exactly these. Built only with CUDA.
 */
#include "cuda/device/driver.h"
#include "cuda/device/launch.h"
#include "pipeline/plan/plan_encode.h"
#include "pipeline/plan/plan_reuse.h"

int64_t ts_plan_piece_slices(const struct ts_plan *plan, const struct ts_image *image)
{
    const int64_t slices = (int64_t)(plan->piece_bytes / ts_slice_bytes(image));
    return slices > 1 ? slices : 1;
}

/* Returns the bytes of a piece of pinned memory for an image of which at most n slices move at
   once. */
static size_t piece_bytes(const struct ts_plan *plan, const struct ts_image *image, int64_t n)
{
    const int64_t most = ts_plan_piece_slices(plan, image);
    return ts_cuda_stride((size_t)(n < most ? n : most) * ts_slice_bytes(image));
}

size_t ts_plan_upload_bytes(const struct ts_plan *plan)
{
    size_t largest = 0;
    for (int32_t i = 0; i < plan->n_nodes; i++) {
        const size_t bytes = ts_plan_reader(&plan->nodes[i])
                                 ? piece_bytes(plan, &plan->nodes[i].out, plan->nodes[i].run_slices)
                                 : 0;
        largest = bytes > largest ? bytes : largest;
    }
    return largest;
}

size_t ts_plan_download_bytes(const struct ts_plan *plan)
{
    size_t largest = 0;
    for (int32_t i = 0; i < plan->n_nodes; i++) {
        struct plan_encode encode;
        const struct ts_image leaving =
            ts_plan_leaves_rounded(plan, i) ? ts_plan_written(plan, i) : plan->nodes[i].out;
        size_t bytes = 0;
        if (ts_plan_encode(plan, i, &encode))
            bytes = encode.piece_bytes;
        else if (plan->nodes[i].dataset)
            bytes = piece_bytes(plan, &leaving, plan->slab_slices);
        bytes = ts_cuda_stride(bytes);
        largest = bytes > largest ? bytes : largest;
    }
    return largest;
}

size_t ts_plan_halves_bytes(const struct ts_plan *plan, int32_t i)
{
    const struct ts_image written = ts_plan_written(plan, i);
    const bool halves = ts_plan_is_output(plan, plan->nodes[i].leader) &&
                        ts_plan_leaves_rounded(plan, i) && !ts_plan_encodes(plan);
    return halves ? ts_cuda_stride((size_t)plan->slab_slices * ts_slice_bytes(&written)) : 0;
}

size_t ts_plan_largest_bytes(const struct ts_plan *plan)
{
    return plan->chain->output.dtype == CHAIN_F16 ? (size_t)plan->n_nodes * sizeof(uint32_t) : 0;
}

/* Computes the memory of all outputs: on the device, and pinned on the host. */
static void plan_encode_bytes(const struct ts_plan *plan, size_t *device, size_t *host)
{
    struct plan_encode encode;
    *device = ts_cuda_stride(ts_plan_encode_scratch_bytes(plan));
    *host = 0;
    for (int32_t i = 0; i < plan->n_nodes; i++) {
        if (!ts_plan_encode(plan, i, &encode))
            continue;
        *device += ts_cuda_stride(encode.values_bytes) +
                   PLAN_RING *
                       (ts_cuda_stride(encode.encoded_bytes) + ts_cuda_stride(encode.places_bytes));
        *host += PLAN_RING * encode.places_bytes;
    }
}

void ts_plan_cuda_bytes(const struct ts_plan *plan, size_t *device, size_t *host)
{
    plan_encode_bytes(plan, device, host);
    *device +=
        ts_cuda_stride(ts_plan_padded_bytes(plan)) + ts_cuda_stride(ts_plan_largest_bytes(plan));
    *host += ts_plan_largest_bytes(plan) +
             PLAN_PIECES * (ts_plan_upload_bytes(plan) + ts_plan_download_bytes(plan));
    for (int32_t i = 0; i < plan->n_nodes; i++) {
        const struct plan_node *node = &plan->nodes[i];
        const size_t slice = ts_slice_bytes(&node->out);
        const size_t slices = (size_t)(node->keep ? node->out.axes[0].n : node->buffer_slices);
        const size_t values = ts_plan_lies_in_memory(plan, i) ? 0 : ts_cuda_stride(slices * slice);
        if (node->image_node == i)
            *device += (size_t)ts_plan_copies(plan, i) *
                       (values + ts_cuda_stride(slices * ts_valid_bytes(&node->out)));
        *device += ts_cuda_stride(ts_plan_saved_bytes(plan, i)) +
                   ts_cuda_stride(ts_plan_seen_bytes(plan, i));
        *device += PLAN_RING * ts_plan_halves_bytes(plan, i);
        if (!node->chain_stage || node->reused || !node->chain_stage->stage->cuda)
            continue;
        *device += ts_cuda_driver_bytes(&node->context, ts_plan_reduced_slices(plan, i));
        *host += ts_cuda_driver_host_bytes(&node->context, ts_plan_reduced_slices(plan, i));
    }
}

void ts_plan_cuda_transfers(struct ts_plan *plan, const int64_t *computed)
{
    for (int32_t i = 0; i < plan->n_nodes; i++) {
        struct plan_node *node = &plan->nodes[i];
        const struct ts_image written = ts_plan_written(plan, i);
        node->upload_bytes = ts_plan_reader(node) && !ts_plan_lies_in_memory(plan, i)
                                 ? computed[i] * (int64_t)ts_slice_bytes(&node->out)
                                 : 0;
        node->download_bytes = ts_plan_stored(plan, i) * (int64_t)ts_image_bytes(&written);
        node->tables_bytes = 0;
        if (node->chain_stage && !node->reused && node->chain_stage->stage->cuda) {
            const bool maps = node->image_node == i && computed[i] > 0;
            node->tables_bytes = (int64_t)ts_cuda_driver_transfers(
                &node->context, maps ? computed[i] : node->out.axes[0].n);
        }
        node->upload_bytes *= plan->n_volumes;
        node->download_bytes *= node->by_volume ? plan->n_volumes : 1;
        node->tables_bytes *= plan->n_volumes;
    }
}
