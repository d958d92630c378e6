/* SPDX-License-Identifier: Apache-2.0
 *
 * components: a reduction collects the bits of the mask, its end joins their runs (mask_runs.h) and
 * numbers the parts, and the map writes the number of each run, or 1.
 */
#include "stages/regions/components.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "stages/engine/distances.h"
#include "stages/regions/threshold.h"

static const struct choice output_choices[] = {
    {"labels", COMPONENTS_LABELS, "the number of the part of each voxel, 1 for the largest"},
    {"mask", COMPONENTS_MASK, "1 in every part that is kept"},
    {0},
};

static const struct param components_params[] = {
    PARAM(struct components_params, neighbors, .unit = "1", .min = 6, .max = 26, .init.i = 6,
          .doc = "which voxels are connected: 6 share a face, 18 a face or an edge, 26 also a "
                 "corner"),
    PARAM(struct components_params, largest, .unit = "1", .optional = true, .min = 1,
          .max = COMPONENTS_MOST, .doc = "how many of the largest parts are kept; absent: all"),
    PARAM(struct components_params, least_mm3, .unit = "mm3", .min = 0, .max = 1e15, .init.r = 0,
          .doc = "parts of less volume are left out"),
    PARAM(struct components_params, output, .choices = output_choices,
          .init.choice = COMPONENTS_LABELS, .doc = "what the image holds"),
    MASK_LABEL_PARAM(struct components_params),
};

STAGE_PARAMS_OF(components_params)

/* ---- plan ------------------------------------------------------------------------------------ */

static enum ts_status components_resolve(const struct stage_context *context, void *values)
{
    const struct components_params *params = values;
    const struct ts_numbers *largest = &params->largest;
    if (ts_mask_check_neighbors(context, params->neighbors) != TS_OK)
        return TS_BAD_CHAIN;
    if (largest->rows * largest->columns > 1)
        return ts_param_error(context->set, "largest", "one-number", context->diag,
                              "takes one number");
    if (largest->values && largest->values[0] != floor(largest->values[0]))
        return ts_param_error(context->set, "largest", "whole-number", context->diag,
                              "%g is not a whole number", largest->values[0]);
    if (ts_mask_check_label(context, &params->label) != TS_OK ||
        ts_mask_check_runs(context) != TS_OK)
        return TS_BAD_CHAIN;
    return params->least_mm3 > 0 ? ts_stage_needs_mm(context, true) : TS_OK;
}

static int64_t rows_of(const struct stage_context *context)
{
    const struct ts_numbers *largest = &params_of(context)->largest;
    return largest->values ? (int64_t)largest->values[0] : COMPONENTS_ROWS;
}

static enum ts_status components_shape(const struct stage_context *context, struct ts_image *out)
{
    const struct components_params *params = params_of(context);
    ts_mask_shape(context, out);
    if (params->output == COMPONENTS_MASK)
        return TS_OK;
    out->labels = 2;
    if (!params->largest.values)
        out->dtype = TS_U32;
    else if (params->largest.values[0] > UINT8_MAX)
        out->dtype = TS_U16;
    return TS_OK;
}

/* Returns the volume of a voxel, or NaN if it is not known in mm. */
static double voxel_mm3(const struct stage_context *context)
{
    const double mm3 = ts_axis_mm(&context->in.axes[0]) * ts_axis_mm(&context->in.axes[1]) *
                       ts_axis_mm(&context->in.axes[2]);
    return mm3 > 0 ? mm3 : (double)NAN;
}

/* ---- reduction ------------------------------------------------------------------------------- */

struct mask_values ts_components_values(const struct stage_context *context)
{
    return ts_mask_values(context->in.dtype, &params_of(context)->label);
}

static void components_reduce(const struct stage_context *context, int input,
                              const struct ts_image *slices, void *partial)
{
    (void)input;
    ts_mask_volume_reduce(slices, ts_components_values(context), partial);
}

struct components_result ts_components_result(const struct stage_context *context, void *result,
                                              size_t *bytes)
{
    const struct mask_grid grid = ts_mask_grid(&context->in);
    const size_t n_rows = (size_t)(grid.nz * grid.ny);
    struct memory_layout layout = {.base = result};
    struct components_result at = {.bits = ts_layout_add(&layout, ts_mask_bytes(&grid, grid.nz))};
    if (params_of(context)->output == COMPONENTS_LABELS) {
        at.row = ts_layout_add(&layout, n_rows * sizeof *at.row);
        at.labels =
            ts_layout_add(&layout, n_rows * (size_t)MASK_ROW_RUNS(grid.nx) * sizeof *at.labels);
    }
    *bytes = layout.bytes;
    return at;
}

static size_t result_bytes(const struct stage_context *context)
{
    size_t bytes;
    ts_components_result(context, NULL, &bytes);
    return bytes;
}

/* Returns how many of the parts, of which the largest is first, are kept. */
static uint32_t count_kept(const struct stage_context *context, const struct mask_part *parts,
                           uint32_t n)
{
    const struct components_params *params = params_of(context);
    const double mm3 = voxel_mm3(context);
    uint32_t kept = 0;
    if (params->largest.values && params->largest.values[0] < n)
        n = (uint32_t)params->largest.values[0];
    while (kept < n && !((double)parts[kept].voxels * mm3 < params->least_mm3))
        kept++;
    return kept;
}

/* Writes the result; label_of[i] is the label of the part whose first run is i, or 0. */
static void write_result(const struct mask_runs *runs, const uint32_t *label_of,
                         const struct components_result *result)
{
    uint32_t n = 0;
    for (int64_t r = 0; r < runs->grid.nz * runs->grid.ny; r++) {
        if (result->row)
            result->row[r] = n;
        for (uint32_t i = runs->row[r]; i < runs->row[r + 1]; i++) {
            const uint32_t label = label_of[runs->runs[i].root];
            if (label == 0)
                ts_mask_run_write(runs, r, &runs->runs[i], false, result->bits);
            else if (result->labels)
                result->labels[n++] = label;
        }
    }
}

static void write_tables(const struct stage_context *context, const struct mask_part *parts,
                         uint32_t n, uint32_t kept, const struct ts_image *tables)
{
    const uint64_t rows = (uint64_t)rows_of(context);
    const double mm3 = voxel_mm3(context);
    *(uint64_t *)tables[0].data = n;
    *(uint64_t *)tables[1].data = kept;
    for (uint64_t i = 0; i < rows; i++) {
        const uint64_t voxels = i < kept ? parts[i].voxels : 0;
        ((uint64_t *)tables[2].data)[i] = voxels;
        ((double *)tables[3].data)[i] = (double)voxels * mm3;
    }
}

static enum ts_status components_finish(const struct stage_context *context,
                                        const void *const totals[], void *result,
                                        const struct ts_image *tables)
{
    size_t bytes;
    const struct components_result at = ts_components_result(context, result, &bytes);
    const struct mask_grid grid = ts_mask_grid(&context->in);
    struct mask_runs runs;
    struct mask_part *parts = NULL;
    uint32_t n = 0;
    memcpy(at.bits, ((const struct mask_volume *)totals[0])->bits, ts_mask_bytes(&grid, grid.nz));
    enum ts_status status = ts_mask_runs_init(&runs, context, at.bits,
                                              (enum mask_neighbors)params_of(context)->neighbors);
    if (status != TS_OK)
        return status;
    uint32_t *label_of = calloc((size_t)runs.n + 1, sizeof *label_of);
    status = label_of ? ts_mask_parts(&runs, context->diag, &parts, &n)
                      : ts_diag_no_memory(context->diag, (size_t)runs.n * sizeof *label_of);
    if (status == TS_OK) {
        const uint32_t kept = count_kept(context, parts, n);
        for (uint32_t i = 0; i < kept; i++)
            label_of[parts[i].first] = i + 1;
        write_result(&runs, label_of, &at);
        write_tables(context, parts, n, kept, tables);
    }
    free(label_of);
    free(parts);
    ts_mask_runs_clear(&runs);
    return status;
}

static int components_tables(const struct stage_context *context,
                             struct stage_table out[STAGE_TABLES])
{
    static const char *const texts[][3] = {
        {"found", "parts of the mask", "1"},
        {"kept", "parts that are kept", "1"},
        {"voxels", "voxels of the largest of them, part 1 first; 0 behind the last", "1"},
        {"volume", "their volume; NaN if the size of a voxel is not known in mm", "mm3"}};
    for (int i = 0; i < 4; i++) {
        out[i] = (struct stage_table){.name = texts[i][0], .doc = texts[i][1]};
        out[i].image = (struct ts_image){.dtype = i == 3 ? TS_F64 : TS_U64,
                                         .quantity = TS_INTENSITY,
                                         .unit = texts[i][2],
                                         .rank = i > 1};
        out[i].image.axes[0] =
            (struct ts_axis){.kind = TS_AXIS_ITEM, .n = rows_of(context), .unit = ""};
    }
    return 4;
}

static const struct stage_reduction reduction = {
    .exact = true,
    .feeds_map = true,
    .partial_bytes = ts_mask_volume_bytes,
    .reduce = components_reduce,
    .merge = ts_mask_volume_merge,
    .result_bytes = result_bytes,
    .finish = components_finish,
    .tables = components_tables,
};

/* ---- map ------------------------------------------------------------------------------------- */

static size_t components_scratch_bytes(const struct stage_context *context, int64_t n)
{
    (void)n;
    return (size_t)context->threads * (size_t)MASK_ROW_RUNS(context->in.axes[2].n) *
           sizeof(struct mask_run);
}

static void write_labels(uint32_t label, enum ts_dtype dtype, void *row, const struct mask_run *run)
{
    for (uint32_t x = run->begin; x < run->end; x++)
        switch (dtype) {
        case TS_U8:
            ((uint8_t *)row)[x] = (uint8_t)label;
            break;
        case TS_U16:
            ((uint16_t *)row)[x] = (uint16_t)label;
            break;
        default:
            ((uint32_t *)row)[x] = label;
        }
}

static void map_row(const struct components_result *result, const struct mask_grid *grid, int64_t r,
                    enum ts_dtype dtype, struct mask_run *runs, void *row)
{
    const uint32_t n = ts_mask_find_runs(result->bits + r * grid->n_words, grid, 0, runs);
    memset(row, 0, (size_t)grid->nx * ts_dtype_bytes(dtype));
    for (uint32_t i = 0; i < n; i++)
        write_labels(result->labels[result->row[r] + i], dtype, row, &runs[i]);
}

static enum ts_status components_map(const struct stage_context *context, const struct ts_image *in,
                                     struct ts_image *out, void *scratch)
{
    size_t bytes;
    const struct components_result result =
        ts_components_result(context, (void *)(uintptr_t)context->result, &bytes);
    const struct mask_grid grid = ts_mask_grid(out);
    struct mask_run *runs = scratch;
    if (!result.labels) {
        ts_mask_map(context, result.bits + out->z_first * ts_mask_slice_words(&grid), in, out);
        return TS_OK;
    }
#pragma omp parallel for schedule(static) num_threads(context->threads)
    for (int64_t r = 0; r < grid.nz * grid.ny; r++)
        map_row(&result, &grid, out->z_first * grid.ny + r, out->dtype,
                runs + omp_get_thread_num() * MASK_ROW_RUNS(grid.nx),
                (char *)out->data + (size_t)(r * grid.nx) * ts_dtype_bytes(out->dtype));
    return TS_OK;
}

const struct stage components_stage = {
    .name = "components",
    .summary = "number the connected parts of a mask by size, and keep the largest ones",
    .doc =
        "The mask is the voxels that are not 0, or those of one `label`; voxels are connected if "
        "they share a face, with `neighbors: 18` an edge, with 26 a corner. The largest part is "
        "1, the next one 2, and so on; of two that are equally large, the one whose first voxel "
        "comes first in the order of z, y and x. `largest: 1` keeps the largest part, `least_mm3` "
        "those of so much volume and more, and both together parts that meet both.\n\n"
        "Labels are u32, with `largest` up to 255 u8 and above u16. `output: mask` gives a mask of "
        "all parts that are kept. The tables `found` and `kept` count the parts; `voxels` and "
        "`volume` have the sizes of those that are kept, with a row for each of `largest`, else "
        "256 rows.\n\n"
        "Parts are those of `scipy.ndimage.label` (`neighbors: 6` is its default, 26 a structure "
        "of ones), which numbers them in another order. Invalid voxels and NaN are in no part.\n\n"
        "Cost: two passes, and a bit for each voxel of the volume in memory, for labels up to 2 "
        "bytes more. Between the passes the runs of voxels along x are joined on the CPU (K. Wu, "
        "E. Otoo and K. Suzuki, 2009), with 20 bytes for each run and 32 for each part.",
    MASK_STAGE_TAKES,
    STAGE_PARAMS(components_params, struct components_params),
    .resolve = components_resolve,
    .shape = components_shape,
    .reduction = &reduction,
    .scratch_bytes = components_scratch_bytes,
    .map = components_map,
    .traits = TRAIT_ENDS_LABELS,
    .validity = VALIDITY_SAME,
    .cuda = STAGE_CUDA(components_cuda),
    .gives_nan = true,
    .bench = "label=100|largest=1 output=mask|neighbors=26 label=100",
    .tolerance = {.why = "voxels are counted"},
};
