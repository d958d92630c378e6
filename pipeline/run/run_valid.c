/* SPDX-License-Identifier: Apache-2.0
 *
 * Invalid pixels in a run: a source has the bits of what it has read, the walk passes them on, and
 * the bits of outputs are kept until the run ends. Only then is it known if any pixel is invalid;
 * if none is, the file has no mask. What the inputs lost by rounding is known then too.
 */
#include <stdlib.h>

#include "io/source/source_slices.h"
#include "pipeline/run/run.h"
#include "stages/engine/validity.h"

/* Writes the mask slice by slice, through memory for one slice of bytes. */
static enum ts_status write_slices(struct run *run, const struct ts_image *image,
                                   struct ts_image mask, int dataset)
{
    uint8_t *values = mask.data;
    const size_t n = ts_slice_count(image);
    enum ts_status status = TS_OK;
    mask.axes[0].n = 1;
    for (mask.z_first = 0; status == TS_OK && mask.z_first < image->axes[0].n; mask.z_first++) {
        const uint64_t *valid = ts_slice_valid(image, mask.z_first);
        for (size_t i = 0; i < n; i++)
            values[i] = !ts_valid_at(valid, i);
        status = ts_hdf5_write(run->writer, dataset, &mask);
    }
    return status;
}

static enum ts_status write_mask(struct run *run, int32_t node, const struct ts_image *image)
{
    struct ts_image mask = ts_plan_mask(run->plan, node);
    const struct ts_image all = ts_plan_with_volumes(run->plan, node, &mask);
    char path[128];
    int dataset;
    mask.data = malloc(ts_slice_count(image));
    if (!mask.data)
        return ts_diag_no_memory(run->diag, ts_slice_count(image));
    snprintf(path, sizeof path, "/entry/%s", run->plan->nodes[node].dataset);
    enum ts_status status = ts_hdf5_pixel_mask(run->writer, path, &all, &dataset);
    if (status == TS_OK)
        status = write_slices(run, image, mask, dataset);
    free(mask.data);
    return status;
}

/* Fetches the bits of an output and, if a pixel is invalid, gives them to all that hold it. The
   sinks keep them. */
static enum ts_status give_mask(struct run *run, int32_t node)
{
    struct ts_image image = run->plan->nodes[node].out; /* of all volumes, one after the other */
    const size_t bytes = ts_plan_saved_bytes(run->plan, node);
    if (bytes == 0)
        return TS_OK;
    image.axes[0].n = (int64_t)(bytes / ts_valid_bytes(&image));
    image.valid = malloc(bytes);
    if (!image.valid)
        return ts_diag_no_memory(run->diag, bytes);
    enum ts_status status =
        run->fleet ? run->fleet->fetch_saved(run, node, image.valid, bytes)
                   : run->back_end->fetch(run, image.valid, run->nodes[node].saved, bytes);
    const bool whole = status != TS_OK || ts_valid_count(&image) == ts_image_count(&image);
    if (!whole && run->writer && run->results[node].dataset >= 0)
        status = write_mask(run, node, &image);
    if (whole || node != run->sink_node || run->plan->chain->output.n_sinks == 0) {
        free(image.valid);
        return status;
    }
    run->sink_valid = image.valid;
    for (int i = 0; i < run->plan->chain->output.n_sinks; i++)
        ts_sink_mask(run->sinks[i], image.valid);
    return status;
}

/* Warns from the counts of the sources, which are those of the slices that were read. */
static void warn_of(struct run *run, int32_t node)
{
    const struct source *source = run->plan->nodes[node].source;
    const int64_t n_slices = ts_source_total(source);
    const double all = (double)n_slices * (double)ts_slice_count(&source->image);
    int64_t n = 0;
    for (int64_t z = 0; source->image.masked && z < n_slices; z++)
        n += source->slices[ts_source_number(source, z)].padding_count;
    if (n == 0)
        return;
    ts_diag_warning(
        run->diag,
        &(struct diag_site){.code = "padding-excluded", .stage = run->plan->nodes[node].label},
        "%lld of its pixels (%.3g %%) are padding: nothing was measured there, and they are left "
        "out",
        (long long)n, 100 * (double)n / all);
    ts_diag_hint(
        run->diag,
        run->plan->chain->output.n_sinks > 0
            ? "pixel_mask of an HDF5 output shows them, Pixel Padding Value of DICOM, NAME_mask of "
              "NIfTI, black of PNG; TIFF marks none; padding: value takes them for measured values"
            : "the output's pixel_mask shows them; padding: value takes them for measured values");
}

const struct plan_node *ts_run_maker_of_floats(const struct ts_plan *plan, int32_t source)
{
    for (int32_t i = plan->n_sources; i < plan->n_nodes; i++) {
        int32_t from = plan->nodes[i].inputs[0];
        if (plan->nodes[i].out.dtype != TS_F32 || plan->nodes[from].out.dtype == TS_F32)
            continue;
        while (from >= plan->n_sources &&
               ts_dtype_bytes(plan->nodes[from].out.dtype) == sizeof(uint32_t))
            from = plan->nodes[from].inputs[0];
        if (from == source)
            return &plan->nodes[i];
    }
    return NULL;
}

static void warn_of_rounding(struct run *run, int32_t node)
{
    const struct plan_node *of = &run->plan->nodes[node];
    const struct plan_node *maker =
        of->source->image.dtype == TS_F32 ? of : ts_run_maker_of_floats(run->plan, node);
    struct ts_rounding rounding = {0};
    for (int64_t z = 0; z < ts_source_total(of->source); z++)
        ts_rounding_join(&rounding, &of->source->slices[ts_source_number(of->source, z)].rounding);
    if (rounding.n == 0 || !maker)
        return;
    char count[32] = "some";
    if (rounding.n != ROUNDING_SOME)
        snprintf(count, sizeof count, "%lld", (long long)rounding.n);
    ts_diag_warning(run->diag, &(struct diag_site){.code = "values-rounded", .stage = maker->label},
                    "%s values of %s have no 32-bit float and are rounded %s, by at most %.6g",
                    count, of->label, maker == of ? "to one" : "where floats are made of them",
                    rounding.most);
}

/* Warns of a mask that was read whole and has no label, for example because its region is
   elsewhere. */
static void warn_of_empty(struct run *run, int32_t node)
{
    const struct plan_node *mask = &run->plan->nodes[node];
    bool empty = mask->on >= 0;
    for (int64_t z = 0; empty && z < mask->source->n_slices; z++)
        empty = mask->source->slices[z].labeled == 0 && mask->source->slices[z].unlabeled > 0;
    if (!empty)
        return;
    ts_diag_warning(run->diag, &(struct diag_site){.code = "mask-nowhere", .stage = mask->label},
                    "no voxel of the image lies in a region of it");
    ts_diag_hint(run->diag, "does it lie where the image does, and has its file that region?");
}

enum ts_status ts_run_write_masks(struct run *run)
{
    int32_t outputs[CHAIN_MAX_STAGES + CHAIN_MAX_SOURCES];
    const int32_t n = ts_plan_outputs(run->plan, outputs);
    enum ts_status status = TS_OK;
    for (int32_t i = 0; i < run->plan->n_sources; i++) {
        warn_of(run, i);
        warn_of_rounding(run, i);
        warn_of_empty(run, i);
    }
    for (int32_t i = 0; status == TS_OK && i < n; i++)
        status = give_mask(run, outputs[i]);
    return status;
}
