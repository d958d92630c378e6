/* SPDX-License-Identifier: Apache-2.0
 *
 * This computes the memory of a plan that is cut into slabs: which images it stores, and how much
 * of each is held at once. The runner allocates by the same functions, so the memory planned is the
 * memory used.
 */
#include <string.h>

#include "io/file/chunks.h"
#include "pipeline/plan/plan.h"
#include "pipeline/plan/plan_reuse.h"

/* Returns the most bytes that any stage needs in one call, for the most slices that it computes at
   once. */
static size_t largest(const struct ts_plan *plan,
                      size_t (*bytes_of)(const struct stage_context *context, int64_t n))
{
    size_t largest = 0;
    for (int32_t i = plan->n_sources; i < plan->n_nodes; i++) {
        const struct plan_node *node = &plan->nodes[i];
        const size_t bytes = node->run_slices > 0 ? bytes_of(&node->context, node->run_slices) : 0;
        largest = bytes > largest ? bytes : largest;
    }
    return largest;
}

size_t ts_plan_padded_bytes(const struct ts_plan *plan)
{
    return largest(plan, ts_driver_padded_bytes);
}

size_t ts_plan_scratch_bytes(const struct ts_plan *plan)
{
    return largest(plan, ts_driver_scratch_bytes);
}

int32_t ts_plan_outputs(const struct ts_plan *plan,
                        int32_t nodes[CHAIN_MAX_STAGES + CHAIN_MAX_SOURCES])
{
    int32_t n = 0;
    for (int32_t i = 0; i < plan->n_nodes; i++) {
        bool again = false;
        for (int32_t j = 0; j < n; j++)
            again |= plan->nodes[nodes[j]].axes_node == plan->nodes[i].axes_node;
        if (plan->nodes[i].dataset && plan->nodes[i].leader == i && !again)
            nodes[n++] = i;
    }
    return n;
}

bool ts_plan_is_output(const struct ts_plan *plan, int32_t node)
{
    int32_t outputs[CHAIN_MAX_STAGES + CHAIN_MAX_SOURCES];
    const int32_t n = ts_plan_outputs(plan, outputs);
    for (int32_t i = 0; i < n; i++)
        if (outputs[i] == node)
            return true;
    return false;
}

int ts_plan_stored(const struct ts_plan *plan, int32_t i)
{
    int32_t outputs[CHAIN_MAX_STAGES + CHAIN_MAX_SOURCES];
    const int32_t n = ts_plan_outputs(plan, outputs);
    int stored = 0;
    for (int32_t j = 0; j < n; j++)
        stored += plan->nodes[outputs[j]].image_node == plan->nodes[i].leader;
    return stored;
}

bool ts_plan_rounds(const struct ts_plan *plan, int32_t i)
{
    return plan->chain->output.dtype == CHAIN_F16 && plan->nodes[i].out.dtype == TS_F32;
}

bool ts_plan_leaves_rounded(const struct ts_plan *plan, int32_t i)
{
    return ts_plan_rounds(plan, i) && plan->chain->output.n_sinks == 0;
}

int32_t ts_plan_sink_node(const struct ts_plan *plan)
{
    const int32_t last = plan->n_nodes - 1;
    int32_t i = 0;
    while (i < last &&
           !(plan->nodes[i].dataset && plan->nodes[i].axes_node == plan->nodes[last].axes_node))
        i++;
    return plan->nodes[i].leader;
}

struct sink_request ts_plan_sink_request(const struct ts_plan *plan, int32_t i)
{
    const struct chain_output *output = &plan->chain->output;
    const struct plan_node *node = &plan->nodes[ts_plan_sink_node(plan)];
    const struct source *source = plan->nodes[0].source;
    struct sink_request request = {.path = output->sinks[i].path,
                                   .image = &node->out,
                                   .volumes = ts_plan_stack_axis(plan, ts_plan_sink_node(plan)),
                                   .input = &source->image,
                                   .name = node->dataset,
                                   .attributes = source->attributes,
                                   .n_attributes = source->n_attributes,
                                   .codec = (enum sink_codec)output->codec,
                                   .stored = output->compression == CHAIN_STORED,
                                   .threads = plan->writer_threads,
                                   .force = plan->options.force};
    if (output->window.rows > 0) {
        const double center = output->window.values[0], width = output->window.values[1];
        request.window = (struct sink_window){true, center - width / 2, center + width / 2};
    }
    return request;
}

struct ts_image ts_plan_written(const struct ts_plan *plan, int32_t i)
{
    struct ts_image image = plan->nodes[i].out;
    if (ts_plan_rounds(plan, i))
        image.dtype = TS_F16;
    return image;
}

size_t ts_plan_saved_bytes(const struct ts_plan *plan, int32_t i)
{
    const struct ts_image *image = &plan->nodes[i].out;
    const struct ts_axis *stack = ts_plan_stack_axis(plan, i);
    const int64_t slices = image->axes[0].n * (stack ? stack->n : 1);
    return ts_plan_is_output(plan, i) ? (size_t)slices * ts_valid_bytes(image) : 0;
}

size_t ts_plan_seen_bytes(const struct ts_plan *plan, int32_t i)
{
    const struct plan_node *node = &plan->nodes[i];
    return node->image_node == i && node->out.dtype == TS_F32
               ? (size_t)node->out.axes[0].n * sizeof(uint32_t)
               : 0;
}

int ts_plan_level(const struct ts_plan *plan)
{
    static const int levels[] = {[CHAIN_DEFLATE] = 1, [CHAIN_STORED] = 0, [CHAIN_SMALL] = 6};
    return levels[plan->chain->output.compression];
}

bool ts_plan_chunks(const struct ts_plan *plan, int32_t node, struct plan_chunks *chunks)
{
    const struct ts_image one = ts_plan_written(plan, node),
                          image = ts_plan_with_volumes(plan, node, &one);
    struct chunk_grid *grid = &chunks->grid;
    int64_t n[TS_MAX_RANK];
    if (plan->n_ranks == 1 || plan->cuda || ts_plan_level(plan) == 0 ||
        plan->chain->output.n_sinks > 0)
        return false;
    for (int d = 0; d < image.rank; d++)
        n[d] = image.axes[d].n;
    if (!ts_chunk_grid_init(grid, image.rank, n, ts_dtype_bytes(image.dtype)))
        return false;
    chunks->filters =
        (struct chunk_filters){.element_bytes = grid->element_bytes, .level = ts_plan_level(plan)};
    chunks->bound = ts_chunk_bound(&chunks->filters, grid->chunk_bytes);
    return grid->split == 0 || grid->n[grid->split] % grid->chunk[grid->split] == 0;
}

int64_t ts_plan_whole_chunks(const struct plan_chunks *chunks, size_t slice_bytes, int64_t z,
                             int64_t n, int64_t *first)
{
    const int64_t slice = (int64_t)slice_bytes, chunk = (int64_t)chunks->grid.chunk_bytes;
    const int64_t end = (z + n) * slice / chunk;
    *first = (z * slice + chunk - 1) / chunk;
    return end > *first ? end - *first : 0;
}

size_t ts_plan_received_bytes(const struct ts_plan *plan)
{
#ifdef TS_HAVE_CUDA
    if (plan->cuda)
        return plan->n_ranks > 1 ? ts_plan_download_bytes(plan) : 0;
#endif
    size_t largest = 0;
    for (int32_t i = 0; plan->n_ranks > 1 && i < plan->n_nodes; i++) {
        struct plan_chunks chunks;
        /* A buffer of floats also has room for as many halves and for their chunks. */
        size_t bytes = (size_t)plan->slab_slices * ts_slice_bytes(&plan->nodes[i].out);
        if (plan->nodes[i].dataset && ts_plan_chunks(plan, i, &chunks))
            bytes += bytes / chunks.grid.chunk_bytes * (chunks.bound - chunks.grid.chunk_bytes);
        largest = plan->nodes[i].dataset && bytes > largest ? bytes : largest;
    }
    return largest;
}

struct ts_image ts_plan_mask(const struct ts_plan *plan, int32_t i)
{
    struct ts_image image = plan->nodes[i].out;
    image.dtype = TS_U8;
    image.masked = false;
    return image;
}

const struct ts_axis *ts_plan_stack_axis(const struct ts_plan *plan, int32_t i)
{
    if (plan->n_volumes > 1 && plan->nodes[i].by_volume)
        return &plan->volume_axis;
    return plan->value_axis.n > 0 && plan->nodes[i].value >= 0 ? &plan->value_axis : NULL;
}

struct ts_image ts_plan_with_volumes(const struct ts_plan *plan, int32_t i,
                                     const struct ts_image *image)
{
    const struct ts_axis *stack = ts_plan_stack_axis(plan, i);
    struct ts_image all = *image;
    if (!stack)
        return all;
    memmove(all.axes + 1, image->axes, (size_t)image->rank * sizeof *image->axes);
    all.axes[0] = *stack;
    all.rank++;
    return all;
}

struct ts_image ts_plan_table_of_all(const struct ts_plan *plan, int32_t i,
                                     const struct ts_image *table)
{
    return plan->nodes[i].series ? *table : ts_plan_with_volumes(plan, i, table);
}

/* The device's encoder cannot encode a chunk that begins in one volume and ends in another. */
bool ts_plan_encodes(const struct ts_plan *plan)
{
    return plan->cuda && plan->chain->output.path && plan->n_volumes == 1 &&
           plan->value_axis.n == 0 && plan->chain->output.compression != CHAIN_STORED &&
           plan->chain->output.n_sinks == 0 && !plan->options.arrays;
}

struct source *ts_plan_reader(const struct plan_node *node)
{
    if (node->source)
        return node->source;
    return node->reused ? node->reused->saved : NULL;
}

bool ts_plan_reads_in_place(const struct ts_plan *plan, int32_t source)
{
    const struct plan_node *node = &plan->nodes[source];
    return !plan->cuda && !node->keep && node->source && node->source->in_place &&
           node->buffer_slices <= plan->slab_slices;
}

bool ts_plan_lies_in_memory(const struct ts_plan *plan, int32_t node)
{
    const struct source *source = plan->nodes[node].source;
    if (!source || !source->resident)
        return false;
    return plan->cuda ? plan->n_devices == 1 && source->resident_device == plan->cuda->index
                      : source->resident_device < 0;
}

int ts_plan_copies(const struct ts_plan *plan, int32_t i)
{
    if (ts_plan_reads_in_place(plan, i))
        return 2;
    const bool moves = plan->cuda && !plan->nodes[i].keep,
               leaves = ts_plan_stored(plan, i) > 0 && !ts_plan_encodes(plan) &&
                        !ts_plan_leaves_rounded(plan, i);
    return moves && (ts_plan_reader(&plan->nodes[i]) || leaves) ? PLAN_RING : 1;
}

int64_t ts_plan_read_ahead(const struct ts_plan *plan, int32_t source)
{
    const struct plan_node *node = &plan->nodes[source];
    if (ts_plan_reads_in_place(plan, source))
        return 0;
    const int64_t wanted =
        node->buffer_slices > plan->threads ? node->buffer_slices : plan->threads;
    return wanted < node->out.axes[0].n ? wanted : node->out.axes[0].n;
}

int64_t ts_plan_reduced_slices(const struct ts_plan *plan, int32_t i)
{
    const struct plan_node *node = &plan->nodes[i];
    return node->run_slices > plan->slab_slices ? node->run_slices : plan->slab_slices;
}

int64_t ts_plan_slab_count(const struct ts_plan *plan)
{
    return (plan->nodes[0].out.axes[0].n + plan->slab_slices - 1) / plan->slab_slices;
}
