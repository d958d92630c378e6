/* SPDX-License-Identifier: Apache-2.0
 *
 * A stage is prepared in one order: values against their ranges, the image against what the table
 * accepts, lengths in mm to pixels, resolve(), then what depends on resolved values (methods of one
 * device, slices and grids of references, the reach in a sheared volume, counters of 32 bits), and
 * shape() last. Each step may rely on those before it, and a caller that fills in parameters by
 * itself passes the same checks.
 */
#include "stages/engine/prepare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/description.h"
#include "core/grid.h"
#include "stages/engine/distances.h"
#include "stages/engine/traits.h"

static enum ts_status prepare_refuse(const struct stage_context *context, const char *code,
                                     const char *what, const char *is)
{
    return ts_diag_error(context->diag, TS_BAD_CHAIN,
                         &(struct diag_site){.code = code,
                                             .span = context->set->span,
                                             .stage = context->stage->name},
                         "does not take %s %s", what, is);
}

static enum ts_status check_accepts(const struct stage_context *context)
{
    const struct stage *stage = context->stage;
    const struct ts_image *in = &context->in;
    const bool sinogram = ts_image_is_sinogram(in);
    char accepted[160] = "";
    size_t used = 0;
    const char *hint = stage->quantity_hints[in->quantity];
    if (!(stage->axes & (sinogram ? AXES_SINOGRAM : AXES_VOLUME))) {
        const bool more = hint && sinogram && in->quantity != TS_INTENSITY;
        if (!sinogram)
            hint = "radon projects a volume, and scans are inputs of their own (docs/inputs.md)";
        prepare_refuse(context, "stage-axes", "a", sinogram ? "sinogram" : "volume");
        return ts_diag_hint(context->diag, "it takes %s (%s)%s%s",
                            sinogram ? "volumes" : "sinograms",
                            sinogram ? "z, y, x" : "z, view, detector",
                            more || !sinogram ? "; " : "", more || !sinogram ? hint : "");
    }
    if (!(stage->quantities & TS_QUANTITY_BIT(in->quantity))) {
        for (int i = TS_COUNTS; i <= TS_INTENSITY; i++)
            if (stage->quantities & TS_QUANTITY_BIT(i))
                used += (size_t)snprintf(accepted + used, sizeof accepted - used, " %s",
                                         ts_quantity_name(i));
        /* No stage makes line integrals of a volume of detector values. */
        if (stage->axes == AXES_VOLUME && in->quantity <= TS_LINE_INTEGRAL)
            hint = NULL;
        prepare_refuse(context, "stage-quantity", "the quantity", ts_quantity_name(in->quantity));
        return ts_diag_hint(context->diag, "it takes%s%s%s", accepted, hint ? "; " : "",
                            hint ? hint : "");
    }
    if (sinogram && !(stage->beams & TS_BEAM_BIT(in->beam.kind))) {
        for (int i = TS_BEAM_PARALLEL; i <= TS_BEAM_FAN_FLAT; i++)
            if (stage->beams & TS_BEAM_BIT(i))
                used += (size_t)snprintf(accepted + used, sizeof accepted - used, " %s",
                                         ts_beam_name(i));
        prepare_refuse(context, "stage-beam", "the beam", ts_beam_name(in->beam.kind));
        return ts_diag_hint(context->diag, "it takes%s", accepted);
    }
    if (!(stage->dtypes & TS_DTYPE_BIT(in->dtype))) {
        for (int i = TS_U8; i <= TS_F32; i++)
            if (stage->dtypes & TS_DTYPE_BIT(i))
                used += (size_t)snprintf(accepted + used, sizeof accepted - used, " %s",
                                         ts_dtype_name(i));
        prepare_refuse(context, "stage-dtype", "values of type", ts_dtype_name(in->dtype));
        if (in->quantity == TS_TRANSMISSION || in->quantity == TS_LINE_INTEGRAL)
            return ts_diag_hint(context->diag,
                                "it takes%s; `rescale` before it changes the type, with `range: "
                                "[.., ..]`, what 0 and 1 are, and `quantity: %s`",
                                accepted, ts_quantity_name(in->quantity));
        if (!(stage->quantities & TS_QUANTITY_BIT(TS_INTENSITY)))
            return ts_diag_hint(context->diag,
                                "it takes%s, and no stage changes the type of %s: write the input "
                                "anew with such values, as with numpy's astype('float32')",
                                accepted, ts_quantity_name(in->quantity));
        return ts_diag_hint(context->diag, "it takes%s", accepted);
    }
    return TS_OK;
}

/* Returns the parameter that gives reference i. */
static const struct param *reference_param(const struct stage *stage, int reference)
{
    for (size_t i = 0; i < stage->n_params; i++)
        if (stage->params[i].kind == PARAM_REFERENCE && reference-- == 0)
            return &stage->params[i];
    return NULL;
}

enum ts_status ts_stage_same_shape(const struct stage_context *context, int reference)
{
    const struct ts_image *image = context->references[reference], *in = &context->in;
    for (int axis = 0; image && axis < 3; axis++)
        if (image->axes[axis].n != in->axes[axis].n)
            return ts_param_error(context->set, reference_param(context->stage, reference)->name,
                                  "reference-shape", context->diag,
                                  "is %lld x %lld x %lld, and the image is %lld x %lld x %lld",
                                  (long long)image->axes[0].n, (long long)image->axes[1].n,
                                  (long long)image->axes[2].n, (long long)in->axes[0].n,
                                  (long long)in->axes[1].n, (long long)in->axes[2].n);
    return TS_OK;
}

enum ts_status ts_stage_same_unit(const struct stage_context *context, int reference)
{
    const struct ts_image *image = context->references[reference];
    const char *unit = context->in.unit ? context->in.unit : "",
               *other = image->unit ? image->unit : "";
    if (!strcmp(unit, other))
        return TS_OK;
    return ts_param_error(context->set, reference_param(context->stage, reference)->name,
                          "reference-unit", context->diag,
                          "has values in '%s', and the image in '%s'", other, unit);
}

enum ts_status ts_stage_same_spacing(const struct stage_context *context, int reference)
{
    const struct ts_image *image = context->references[reference], *in = &context->in;
    for (int i = 1; i < 3; i++) {
        const double is = ts_axis_spacing(&image->axes[i]),
                     expected = ts_axis_spacing(&in->axes[i]);
        if (image->axes[i].kind == in->axes[i].kind && fabs(is - expected) <= 1e-6 * expected)
            continue;
        ts_param_error(context->set, reference_param(context->stage, reference)->name,
                       "reference-grid", context->diag,
                       "has samples %g apart along %s, and the image %g along %s", is,
                       ts_axis_name(&image->axes[i]), expected, ts_axis_name(&in->axes[i]));
        return ts_diag_hint(context->diag,
                            "`resample` with `like:` puts a volume on the grid of another");
    }
    return TS_OK;
}

/* Refuses a reference whose voxels are at different places in the patient than those of the image.
 * References of a different shape, which some stages take, are not compared. */
static enum ts_status check_grid(const struct stage_context *context, int reference)
{
    const struct ts_image *image = context->references[reference], *in = &context->in;
    char is[320], expected[320];
    bool compared = image->has_geometry && in->has_geometry && !ts_image_is_sinogram(image) &&
                    !ts_image_is_sinogram(in);
    for (int axis = 0; axis < 3; axis++)
        compared &= image->axes[axis].n == in->axes[axis].n;
    if (!compared || ts_grid_same(image, in))
        return TS_OK;
    const char *name = reference_param(context->stage, reference)->name;
    ts_grid_text(image, is, sizeof is);
    ts_grid_text(in, expected, sizeof expected);
    ts_param_error(context->set, name, "reference-grid", context->diag,
                   "lies on another grid than the image: it has %s; the image has %s", is,
                   expected);
    return ts_diag_hint(context->diag,
                        "`resample` with `like:` puts one of them on the grid of the other, with "
                        "`interpolation: nearest` where it is a mask; a file of a mask can say "
                        "`resample: nearest` itself (docs/masks.md)");
}

static enum ts_status check_streaming(const struct stage_context *context)
{
    for (int i = 0; i < STAGE_REFERENCES; i++) {
        const struct ts_image *image = context->references[i];
        if (ts_stage_streams(context, i) && image->axes[0].n != context->in.axes[0].n)
            return ts_param_error(context->set, reference_param(context->stage, i)->name,
                                  "reference-slices", context->diag,
                                  "has %lld slices in z, and the image has %lld",
                                  (long long)image->axes[0].n, (long long)context->in.axes[0].n);
        if (ts_stage_streams(context, i) && check_grid(context, i) != TS_OK)
            return TS_BAD_CHAIN;
    }
    return TS_OK;
}

/* Reports every value that is out of range, not a choice or not finite. Before resolve() it checks
 * defaults and given values; after it (`derived`) it checks those that resolve() derived. */
static enum ts_status check_values(const struct stage_context *context, bool derived)
{
    const struct param_set *set = context->set;
    enum ts_status status = TS_OK;
    for (size_t i = 0; i < set->n_params; i++) {
        const bool is_derived = set->params[i].derived && !(set->given >> i & 1);
        if (is_derived == derived && !(derived && ts_param_is_idle(set, i)) &&
            !(set->given_in_unit >> i & 1) && ts_param_check(set, i, context->diag) != TS_OK)
            status = TS_BAD_CHAIN;
    }
    return status;
}

/* Returns the spacing in mm of the pixels that a parameter counts: along the detector, or along
 * rows and columns of a volume if both are the same; else 0. */
static double pixel_mm(const struct param *param, const struct ts_image *in)
{
    const bool detector = ts_image_is_sinogram(in);
    const double width = ts_axis_mm(&in->axes[2]);
    if (detector != !strcmp(param->unit, "detector"))
        return 0;
    return detector || ts_axis_mm(&in->axes[1]) == width ? width : 0;
}

/* Converts lengths that were given in mm to pixels, and checks them against their ranges. */
static enum ts_status convert_lengths(const struct stage_context *context)
{
    struct param_set *set = context->set;
    for (size_t i = 0; i < set->n_params; i++) {
        if (!(set->given_in_unit >> i & 1))
            continue;
        const struct param *param = &set->params[i];
        const double length = set->own_values[i], spacing = pixel_mm(param, &context->in);
        const double pixels = length / spacing, whole = rint(pixels);
        if (!(spacing > 0)) {
            ts_param_error(set, param->name, "length-spacing", context->diag,
                           "%g mm cannot be converted to pixels: the input has no spacing in mm "
                           "that is the same along its rows and columns",
                           length);
            return ts_diag_hint(context->diag,
                                "give %s in pixels; `tomostage check` shows the spacing",
                                param->name);
        }
        if (param->kind == PARAM_INTEGER &&
            !(fabs(pixels - whole) <= 1e-6 * fmax(1, fabs(whole)))) {
            ts_param_error(set, param->name, "length-spacing", context->diag,
                           "%g mm are %.6g pixels of %.6g mm, and a whole number is needed", length,
                           pixels, spacing);
            return ts_diag_hint(context->diag, "give %s in pixels, or %.6g mm", param->name,
                                fmax(whole, 1) * spacing);
        }
        if (param->kind == PARAM_INTEGER)
            *(int64_t *)ts_param_field(set, i) = (int64_t)fmin(fmax(whole, -0x1p62), 0x1p62);
        else
            *(double *)ts_param_field(set, i) = pixels;
        if (ts_param_check(set, i, context->diag) != TS_OK)
            return TS_BAD_CHAIN;
    }
    return TS_OK;
}

/* Refuses lengths in mm for a stage that also looks along z, unless slices are as far apart in mm
 * as pixels. From here on the values are pixels, so given_in_unit is cleared. */
static enum ts_status check_lengths(const struct stage_context *context)
{
    const struct ts_axis *z = &context->in.axes[0], *x = &context->in.axes[2];
    struct param_set *set = context->set;
    const uint32_t given_in_unit = set->given_in_unit;
    const bool along_z = ts_stage_reach(context).halo > 0 || context->stage->reads;
    set->given_in_unit = 0;
    for (size_t i = 0; i < set->n_params; i++)
        if ((given_in_unit >> i & 1) && along_z && ts_axis_mm(z) != ts_axis_mm(x)) {
            ts_param_error(set, set->params[i].name, "length-spacing", context->diag,
                           "a length in mm cannot be converted to pixels: slices are %.6g mm "
                           "apart, pixels %.6g mm",
                           z->spacing, x->spacing);
            return ts_diag_hint(
                context->diag,
                "give %s in pixels, or make the spacing the same along all axes with `resample`",
                set->params[i].name);
        }
    return TS_OK;
}

/* Refuses choices that the device cannot run. */
static enum ts_status check_choices(const struct stage_context *context)
{
    const unsigned device = context->device ? ON_CUDA : ON_CPU;
    for (size_t i = 0; i < context->stage->n_params; i++) {
        const struct choice *choice = ts_param_choice(context->set, i);
        if (!choice || !choice->devices || (choice->devices & device))
            continue;
        const char *name = context->stage->params[i].name;
        ts_param_error(context->set, name, "choice-device", context->diag, "'%s' runs on %s alone",
                       choice->name, device == ON_CPU ? "a CUDA device" : "the CPU");
        return ts_diag_hint(context->diag, "leave %s out, or take --device %s", name,
                            device == ON_CPU ? "cuda" : "cpu");
    }
    return TS_OK;
}

/* Refuses a stage that looks into neighboring slices if the slices are sheared, because its
 * window would be askew. A stage with `reads` has no reach, so it is not refused here and checks
 * this itself if it needs to. */
static enum ts_status check_upright(const struct stage_context *context)
{
    return ts_stage_reach(context).halo == 0
               ? TS_OK
               : ts_stage_needs_upright(context, "looks into neighboring slices",
                                        "`unshear` before it, or work slice by slice");
}

/* Refuses slices with more pixels than a CUDA device can count, whose counters have 32 bits for a
 * slice. */
static enum ts_status check_slice_size(const struct stage_context *context)
{
    const size_t pixels = ts_slice_count(&context->in);
    if (!context->device || !ts_stage_reduces_slices(context) || pixels <= UINT32_MAX)
        return TS_OK;
    const struct diag_site site = {
        .code = "slice-size", .span = context->set->span, .stage = context->stage->name};
    ts_diag_error(context->diag, TS_BAD_CHAIN, &site,
                  "counts slice by slice in 32 bits on a CUDA device, and a slice has %zu pixels",
                  pixels);
    return ts_diag_hint(context->diag, "--device cpu, or scope: volume");
}

/* Refuses to mix labels: between regions 1 and 3 no region 2 begins. A mask of 0 and 1 may be
 * mixed; the plan warns of that (pipeline/plan/plan_warnings.c). */
static enum ts_status check_labels(const struct stage_context *context)
{
    if (context->in.labels < 2 || !ts_stage_mixes_labels(context))
        return TS_OK;
    if (context->stage->traits & TRAIT_KEEPS_LABELS) {
        ts_param_error(context->set, "interpolation", "labels-mixed", context->diag,
                       "'%s' makes values between labels, which are numbers of other regions or of "
                       "none",
                       ts_param_choice_name(context->set, "interpolation"));
        return ts_diag_hint(context->diag, "leave interpolation out: labels are taken from the "
                                           "nearest voxel then");
    }
    const struct diag_site site = {
        .code = "labels-mixed", .span = context->set->span, .stage = context->stage->name};
    ts_diag_error(context->diag, TS_BAD_CHAIN, &site,
                  "mixes values, and those of the image are labels: numbers of regions");
    return ts_diag_hint(context->diag,
                        "`threshold` before it makes a mask of 0 and 1 of some labels, as with "
                        "`above: 0`; `segment:` or `roi:` of the input takes one region");
}

/* Returns true if the output of the stage is masked. */
static bool stage_passes_mask(const struct stage_context *context)
{
    const struct stage *stage = context->stage;
    if (ts_stage_masks(context))
        return true;
    return context->in.masked && (!stage->map || (stage->validity != VALIDITY_UNAWARE &&
                                                  stage->validity != VALIDITY_ENDS));
}

/* Returns what the output's values are of `labels`, if shape() does not say more. */
static unsigned char stage_passes_labels(const struct stage_context *context)
{
    return (context->stage->traits & TRAIT_ENDS_LABELS) || ts_stage_mixes_labels(context)
               ? 0
               : context->in.labels;
}

enum ts_status ts_stage_prepare(const struct stage *stage, struct param_set *set,
                                const struct ts_image *in,
                                const struct ts_image *const references[STAGE_REFERENCES],
                                int threads, const struct device_numbers *device,
                                struct ts_diag *diag, struct stage_context *context)
{
    *context = (struct stage_context){.stage = stage,
                                      .set = set,
                                      .params = set->values,
                                      .in = *in,
                                      .threads = threads,
                                      .device = device,
                                      .diag = diag};
    context->in.data = NULL;
    context->in.valid = NULL;
    context->in.z_first = 0;
    for (int i = 0; references && i < STAGE_REFERENCES; i++)
        context->references[i] = references[i];
    enum ts_status status = check_values(context, false);
    if (status == TS_OK)
        status = check_accepts(context);
    if (status == TS_OK && set->given_in_unit)
        status = convert_lengths(context);
    if (status == TS_OK && stage->resolve)
        status = stage->resolve(context, set->values);
    if (status == TS_OK)
        status = check_values(context, true);
    if (status == TS_OK && set->given_in_unit)
        status = check_lengths(context);
    if (status == TS_OK)
        status = check_labels(context);
    if (status == TS_OK)
        status = check_choices(context);
    if (status == TS_OK)
        status = check_streaming(context);
    if (status == TS_OK)
        status = check_upright(context);
    if (status == TS_OK)
        status = check_slice_size(context);
    if (status != TS_OK)
        return status;
    set->resolved = true;
    context->out = context->in;
    context->out.labels = stage_passes_labels(context);
    if (stage->shape)
        status = stage->shape(context, &context->out);
    context->out.masked = stage_passes_mask(context);
    if (status == TS_OK && ts_image_bytes(&context->out) == SIZE_MAX)
        return ts_diag_error(
            diag, TS_BAD_CHAIN,
            &(struct diag_site){.code = "too-large", .span = set->span, .stage = stage->name},
            "the image it would make has more bytes than a number can count");
    return status;
}

enum ts_status ts_stage_recall_axes(struct stage_context *context, const struct stage_table *tables)
{
    const struct stage_reduction *reduction = context->stage->reduction;
    void *result = calloc(1, reduction->result_bytes(context));
    if (!result)
        return ts_diag_no_memory(context->diag, reduction->result_bytes(context));
    reduction->recall(context, tables, result);
    const enum ts_status status = ts_stage_find_axes(context, result);
    free(result);
    return status;
}

enum ts_status ts_stage_find_axes(struct stage_context *context, const void *result)
{
    struct stage_context informed = *context;
    struct ts_image out = context->in;
    informed.result = result;
    out.labels = context->out.labels;
    const enum ts_status status = context->stage->shape(&informed, &out);
    if (status == TS_OK && !ts_image_same_layout(&out, &context->out))
        return ts_diag_error(
            context->diag, TS_RUN_FAILED,
            &(struct diag_site){.code = "found-shape", .stage = context->stage->name},
            "it gives an image of another shape or kind than was planned");
    context->out = out;
    return status;
}
