/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints the plan for `tomostage check`: for each node the image that it gives, where and in which
 * pass it runs, and how much memory it holds; as a table for people, or as one JSON object with the
 * same numbers.
 */
#include <inttypes.h>
#include <string.h>

#include "core/available.h"
#include "core/json.h"
#include "pipeline/plan/plan.h"
#include "pipeline/plan/plan_axis.h"
#include "pipeline/plan/plan_reuse.h"
#include "pipeline/plan/predict.h"
#include "pipeline/plan/simulation.h"

/* ---- the prediction -------------------------------------------------------------------------- */

/* The text leaves out parts that take less than a hundredth of a second. Beside the time it says
   what was assumed, because a prediction is worth no more than its assumptions. */
enum { TEXT_BYTES = 160 };

static void print_parts(const struct prediction *prediction, FILE *stream)
{
    const char *separator = "parts, each alone: ";
    for (int i = 0; i < PREDICT_PARTS; i++) {
        if (prediction->parts[i].seconds < 0.005)
            continue;
        fprintf(stream, "%s%s %.2f s", separator, ts_predict_part_name((enum predict_part)i),
                prediction->parts[i].seconds);
        separator = ", ";
    }
    if (*separator == ',')
        fputc('\n', stream);
}

/* Writes one line with the time and what bounds it, and one with the parts; or why nothing is
 * predicted. */
static void print_prediction(const struct ts_plan *plan, FILE *stream)
{
    const struct prediction *prediction = plan->prediction;
    char bound[TEXT_BYTES];
    if (!prediction) {
        fprintf(stream,
                "predicted: nothing, because %s; `tomostage bench rates` measures them in less "
                "than a minute\n",
                plan->no_prediction);
        return;
    }
    ts_predict_bound_text(plan, prediction, bound, sizeof bound);
    fprintf(stream, "predicted: %.2f s, %s", prediction->seconds, bound);
    if (prediction->ratio < 1)
        fprintf(stream, "; assumes that compression leaves %.0f %%", 100 * prediction->ratio);
    if (prediction->no_rate_of)
        fprintf(stream, "; the rate of %s is assumed", prediction->no_rate_of);
    fputc('\n', stream);
    print_parts(prediction, stream);
}

/* Writes the same as the JSON member "prediction", or the reason as "no_prediction". */
static void print_prediction_json(const struct ts_plan *plan, struct json *json)
{
    const struct prediction *prediction = plan->prediction;
    char bound[TEXT_BYTES];
    if (!prediction) {
        ts_json_member_text(json, "no_prediction", plan->no_prediction);
        return;
    }
    ts_predict_bound_text(plan, prediction, bound, sizeof bound);
    ts_json_open_member(json, "prediction", '{');
    ts_json_member_real(json, "seconds", prediction->seconds);
    ts_json_member_text(json, "bound", bound);
    ts_json_member_real(json, "bound_seconds", prediction->bound_seconds);
    ts_json_member_real(json, "assumed_ratio", prediction->ratio);
    if (prediction->no_rate_of)
        ts_json_member_text(json, "assumed_rate_of", prediction->no_rate_of);
    ts_json_open_member(json, "parts", '{');
    for (int i = 0; i < PREDICT_PARTS; i++) {
        ts_json_open_member(json, ts_predict_part_name((enum predict_part)i), '{');
        ts_json_member_real(json, "seconds", prediction->parts[i].seconds);
        ts_json_member_real(json, "bytes", prediction->parts[i].bytes);
        ts_json_close(json, '}');
    }
    ts_json_close(json, '}');
    ts_json_open_member(json, "stages", '{');
    for (int32_t i = plan->n_sources; i < plan->n_nodes; i++)
        ts_json_member_real(json, plan->nodes[i].label, prediction->stage_seconds[i]);
    ts_json_close(json, '}');
    ts_json_close(json, '}');
}

/* ---- the checkpoint -------------------------------------------------------------------------- */

/* Simulates a run to find how many bytes its checkpoint will have. */
struct measured {
    const struct ts_plan *plan;
    int64_t bytes;
};

static void plan_print_measure(void *user, const struct simulated_slab *slab)
{
    struct measured *measured = user;
    for (int32_t i = 0; i < measured->plan->n_nodes; i++) {
        const struct ts_image *out = &measured->plan->nodes[i].out;
        const struct spans *todo = &slab->steps[i].todo;
        for (int s = 0; ts_plan_stores(measured->plan, slab->steps, i) && s < todo->n; s++)
            measured->bytes += (todo->at[s].end - todo->at[s].first) *
                               (int64_t)(ts_slice_bytes(out) + ts_valid_bytes(out));
    }
}

/* Returns the bytes of the images that the whole run keeps; -1 if memory is out. */
static int64_t checkpoint_bytes(const struct ts_plan *plan)
{
    struct measured measured = {.plan = plan};
    struct simulation simulation;
    if (!ts_simulation_init(&simulation, plan))
        return -1;
    ts_simulation_run(plan, &simulation, plan->slab_slices, plan_print_measure, &measured);
    ts_simulation_clear(&simulation, plan->n_nodes);
    return measured.bytes * plan->n_volumes;
}

/* ---- nodes and devices ----------------------------------------------------------------------- */

static void shape_text(const struct ts_image *image, char *out, size_t size)
{
    size_t used = 0;
    for (int i = 0; i < image->rank && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%" PRId64, i > 0 ? " x " : "",
                                 image->axes[i].n);
}

static void axes_text(const struct ts_image *image, char *out, size_t size)
{
    size_t used = 0;
    for (int i = 0; i < image->rank && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", i > 0 ? ", " : "",
                                 ts_axis_name(&image->axes[i]));
}

static const char *method_of(const struct plan_node *node)
{
    const char *method = node->chain_stage ? ts_param_choice_name(&node->set, "method") : NULL;
    return method ? method : "-";
}

static int64_t held_bytes(const struct ts_plan *plan, int32_t index)
{
    const struct plan_node *node = &plan->nodes[index];
    if (node->image_node != index)
        return 0;
    return (node->keep ? node->out.axes[0].n : ts_plan_copies(plan, index) * node->buffer_slices) *
           (int64_t)ts_slice_bytes(&node->out);
}

static void print_spacing(const struct ts_image *image, FILE *stream)
{
    for (int i = 0; i < image->rank; i++)
        if (image->axes[i].spacing != 0)
            fprintf(stream, "%s%.6g %s", i > 0 ? " x " : "", image->axes[i].spacing,
                    image->axes[i].unit);
}

/* Prints the beam of a sinogram and the detector index of its rotation axis. */
static void print_rays(const struct ts_plan *plan, int32_t node, FILE *stream)
{
    const struct ts_image *image = &plan->nodes[node].out;
    const struct ts_beam *beam = &image->beam;
    if (!ts_image_is_sinogram(image))
        return;
    fprintf(stream, "; %s beam", ts_beam_name(beam->kind));
    if (beam->kind != TS_BEAM_PARALLEL)
        fprintf(stream, ", source to axis %.6g mm, source to detector %.6g mm",
                beam->source_axis_mm, beam->source_detector_mm);
    const struct rotation_axis axis = ts_plan_rotation_axis(plan, node);
    if (axis.found_later)
        fprintf(stream, "; rotation axis found at run time%s%s", axis.owner ? " by " : "",
                axis.owner ? axis.owner : "");
    else
        fprintf(stream, "; rotation axis at detector pixel %.6g%s%s", axis.center,
                axis.owner ? ", as given to " : "", axis.owner ? axis.owner : "");
}

static void print_rays_json(const struct ts_image *image, struct json *json)
{
    if (!ts_image_is_sinogram(image))
        return;
    ts_json_member_text(json, "beam", ts_beam_name(image->beam.kind));
    if (image->beam.kind == TS_BEAM_PARALLEL)
        return;
    ts_json_member_real(json, "source_axis_mm", image->beam.source_axis_mm);
    ts_json_member_real(json, "source_detector_mm", image->beam.source_detector_mm);
}

static bool is_empty_list(const struct param_set *set, size_t i)
{
    const void *at = (const unsigned char *)set->values + set->params[i].offset;
    return set->params[i].kind == PARAM_NUMBERS && ((const struct ts_numbers *)at)->rows == 0;
}

static void print_parameters(const struct plan_node *node, FILE *stream)
{
    const char *separator = "";
    for (size_t i = 0; i < node->set.n_params; i++) {
        char value[256];
        const bool unresolved =
            node->set.params[i].derived && !node->set.resolved && !(node->set.given >> i & 1);
        if (ts_param_is_idle(&node->set, i) || unresolved ||
            (node->source && node->set.params[i].kind == PARAM_TEXTS))
            continue; /* the paths are the user's own, and long */
        if (node->source && is_empty_list(&node->set, i))
            continue;
        ts_param_format(&node->set, i, value, sizeof value);
        fprintf(stream, "%s%s: %s", separator, node->set.params[i].name, value);
        separator = ", ";
    }
}

static void print_transfer(const char *what, const char *label, int64_t bytes, FILE *stream)
{
    if (bytes > 0)
        fprintf(stream, "%-12s %-20s %12.1f MiB\n", what, label, ts_mib((double)bytes));
}

/* Returns how many slices of the first image a device computes. */
static int64_t dealt(const struct ts_plan *plan, int device)
{
    const int64_t nz = plan->nodes[0].out.axes[0].n, all = plan->slab_slices * plan->n_devices;
    int64_t slices = 0, z;
    for (int64_t round_z = 0; round_z < nz; round_z += all)
        slices += ts_plan_slab_of(device, nz, round_z, plan->slab_slices, &z);
    return slices;
}

/* Prints which slices and memory each device gets. */
static void print_devices(const struct ts_plan *plan, FILE *stream)
{
    const int n = plan->n_devices;
    for (int i = 0; n > 1 && i < n; i++)
        fprintf(stream,
                "cuda:%d gets slabs %d, %d, ... of each pass: %" PRId64 " of %" PRId64
                " slices; memory %.1f MiB of a budget of %.1f MiB\n",
                plan->cuda_devices[i].index, i + 1, i + 1 + n, dealt(plan, i),
                plan->nodes[0].out.axes[0].n, ts_mib((double)plan->gpu_bytes),
                ts_mib((double)plan->gpu_budget_bytes));
}

static void print_devices_json(const struct ts_plan *plan, struct json *json)
{
    ts_json_key(json, "devices");
    ts_json_open(json, '[');
    for (int i = 0; i < plan->n_devices; i++) {
        char name[32];
        snprintf(name, sizeof name, "cuda:%d", plan->cuda_devices[i].index);
        ts_json_open(json, '{');
        ts_json_member_text(json, "device", name);
        ts_json_member_integer(json, "slices", dealt(plan, i));
        ts_json_member_integer(json, "gpu_memory_bytes", plan->gpu_bytes);
        ts_json_close(json, '}');
    }
    ts_json_close(json, ']');
}

/* Prints the bytes that are copied to and from the device in the whole run, and those that it
   holds. */
static void print_device(const struct ts_plan *plan, FILE *stream)
{
    char device[512];
    ts_plan_device_text(plan, device, sizeof device);
    if (!plan->cuda) {
        fprintf(stream, "device %s\n", device);
        return;
    }
    for (int32_t i = 0; i < plan->n_nodes; i++)
        print_transfer("upload", plan->nodes[i].label, plan->nodes[i].upload_bytes, stream);
    for (int32_t i = 0; i < plan->n_nodes; i++)
        print_transfer("tables", plan->nodes[i].label, plan->nodes[i].tables_bytes, stream);
    for (int32_t i = 0; i < plan->n_nodes; i++)
        print_transfer("download", plan->nodes[i].label, plan->nodes[i].download_bytes, stream);
    fprintf(stream, "device %s: memory %.1f MiB of a budget of %.1f MiB%s\n", device,
            ts_mib((double)plan->gpu_bytes), ts_mib((double)plan->gpu_budget_bytes),
            plan->n_devices > 1 ? ", on each" : "");
    print_devices(plan, stream);
}

/* Prints how often a run computes an image of which memory holds only a part: once in each pass
   that needs it, and the slices at the ends of slabs for the slabs on both sides. A search uses
   fewer than one in 200 of the slices, which is not counted. */
static void print_repeats(const struct plan_node *node, FILE *stream)
{
    if (node->computed_slices - node->out.axes[0].n > node->out.axes[0].n / 200)
        fprintf(stream, "             %s %.2f times\n", ts_plan_reader(node) ? "read" : "computed",
                (double)node->computed_slices / (double)node->out.axes[0].n);
}

static void print_checkpoint(const struct ts_plan *plan, FILE *stream)
{
    if (plan->options.checkpoint.folder)
        fprintf(stream, "checkpoint in %s: up to %.1f MiB until the run has succeeded\n",
                plan->options.checkpoint.folder, ts_mib((double)checkpoint_bytes(plan)));
}

static void print_text(const struct ts_plan *plan, FILE *stream)
{
    fprintf(stream, "%-12s %-20s %-5s %-13s %-8s %-12s %-6s %-4s %12s\n", "stage", "gives", "type",
            "quantity", "unit", "method", "device", "pass", "holds");
    const char *kept = plan->n_devices > 1 ? " (kept whole on each device)" : " (kept whole)";
    for (int32_t i = 0; i < plan->n_nodes; i++) {
        const struct plan_node *node = &plan->nodes[i];
        char shape[96];
        shape_text(&node->out, shape, sizeof shape);
        fprintf(stream, "%-12s %-20s %-5s %-13s %-8s %-12s %-6s %-4d %8.1f MiB%s\n", node->label,
                shape, ts_dtype_name(node->out.dtype), ts_quantity_name(node->out.quantity),
                node->out.unit, method_of(node), plan->device, node->level + 1,
                ts_mib((double)held_bytes(plan, i)), node->keep ? kept : "");
        fputs("             ", stream);
        print_spacing(&node->out, stream);
        print_rays(plan, i, stream);
        fputs("\n             ", stream);
        print_parameters(node, stream);
        fputc('\n', stream);
        print_repeats(node, stream);
        if (node->reused)
            fprintf(stream, "             %s from %s\n", node->reused->saved ? "read" : "taken",
                    plan->reuse->path);
        if (node->axes_pass > 0)
            fprintf(stream, "             axes%s found at run time, before pass %d\n",
                    node->input_axes_pass > 0 ? ", and what is derived from them," : "",
                    node->axes_pass + 1);
    }
    print_device(plan, stream);
    if (plan->n_volumes > 1)
        fprintf(stream, "the chain runs over %" PRId64 " volumes, one after the other (axis %s)\n",
                plan->n_volumes, ts_axis_name(&plan->volume_axis));
    if (plan->value_axis.n > 0)
        fprintf(stream,
                "the stages from %s on run for %" PRId64 " values, one after the other (axis %s)\n",
                plan->nodes[plan->n_sources + plan->chain->sweep.stage].label, plan->value_axis.n,
                ts_axis_name(&plan->value_axis));
    fprintf(stream,
            "%d %s over z in slabs of %" PRId64 " slices, %d %s; memory %.1f MiB of a budget of "
            "%.1f MiB; output %.1f MiB%s before compression\n",
            plan->n_passes, plan->n_passes == 1 ? "pass" : "passes", plan->slab_slices,
            plan->threads, plan->threads == 1 ? "thread" : "threads",
            ts_mib((double)plan->memory_bytes), ts_mib((double)plan->budget_bytes),
            ts_mib((double)plan->output_bytes),
            plan->chain->output.dtype == CHAIN_F16 ? " (f32 stored as f16)" : "");
    for (int32_t i = 0; i < plan->chain->output.n_sinks; i++)
        fprintf(stream, "output of the last image as %s\n",
                plan->chain->output.sinks[i].format->name);
    print_checkpoint(plan, stream);
    print_prediction(plan, stream);
}

static void print_node_json(const struct ts_plan *plan, int32_t i, struct json *json)
{
    const struct plan_node *node = &plan->nodes[i];
    char text[1024];
    ts_json_open(json, '{');
    ts_json_member_text(json, "stage", node->label);
    ts_json_key(json, "shape");
    ts_json_open(json, '[');
    for (int axis = 0; axis < node->out.rank; axis++)
        ts_json_integer(json, node->out.axes[axis].n);
    ts_json_close(json, ']');
    axes_text(&node->out, text, sizeof text);
    ts_json_member_text(json, "axes", text);
    ts_json_member_text(json, "dtype", ts_dtype_name(node->out.dtype));
    if (node->dataset)
        ts_json_member_text(json, "stored_dtype", ts_dtype_name(ts_plan_written(plan, i).dtype));
    ts_json_member_text(json, "quantity", ts_quantity_name(node->out.quantity));
    ts_json_member_text(json, "unit", node->out.unit);
    print_rays_json(&node->out, json);
    ts_json_member_text(json, "method", method_of(node));
    ts_json_member_text(json, "device", plan->device);
    ts_json_member_integer(json, "pass", node->level + 1);
    if (node->axes_pass > 0)
        ts_json_member_integer(json, "axes_found_before_pass", node->axes_pass + 1);
    ts_json_member_integer(json, "held_bytes", held_bytes(plan, i));
    ts_json_member_bool(json, "kept_whole", node->keep);
    ts_json_member_integer(json, "computed_slices", node->computed_slices);
    if (plan->reuse && !node->reused)
        ts_json_member_text(json, "taken", "no");
    else if (plan->reuse)
        ts_json_member_text(json, "taken", node->reused->saved ? "image" : "tables");
    if (plan->cuda) {
        ts_json_member_integer(json, "upload_bytes", node->upload_bytes);
        ts_json_member_integer(json, "download_bytes", node->download_bytes);
        ts_json_member_integer(json, "tables_bytes", node->tables_bytes);
    }
    ts_json_key(json, "parameters");
    ts_json_open(json, '{');
    for (size_t p = 0; p < node->set.n_params; p++) {
        if (node->source && node->set.params[p].kind == PARAM_TEXTS)
            continue;
        ts_json_key(json, node->set.params[p].name);
        ts_json_param(json, &node->set.params[p],
                      (const unsigned char *)node->set.values + node->set.params[p].offset);
    }
    ts_json_close(json, '}');
    ts_json_close(json, '}');
}

static void print_device_json(const struct ts_plan *plan, struct json *json)
{
    ts_json_member_text(json, "device", plan->device);
    if (plan->device_note)
        ts_json_member_text(json, "device_note", plan->device_note);
    if (plan->device_times)
        ts_json_member_text(json, "device_times", plan->device_times);
    if (!plan->cuda)
        return;
    char capability[16];
    snprintf(capability, sizeof capability, "%d.%d", plan->cuda->major, plan->cuda->minor);
    ts_json_member_text(json, "device_name", plan->cuda->name);
    ts_json_member_text(json, "compute_capability", capability);
    ts_json_member_integer(json, "gpu_memory_bytes", plan->gpu_bytes);
    ts_json_member_integer(json, "gpu_budget_bytes", plan->gpu_budget_bytes);
    if (plan->n_devices > 1)
        print_devices_json(plan, json);
}

static void print_json(const struct ts_plan *plan, FILE *stream)
{
    struct json json;
    ts_json_init(&json, stream, false);
    ts_json_open(&json, '{');
    ts_json_member_text(&json, "event", "plan");
    ts_json_key(&json, "stages");
    ts_json_open(&json, '[');
    for (int32_t i = 0; i < plan->n_nodes; i++)
        print_node_json(plan, i, &json);
    ts_json_close(&json, ']');
    ts_json_member_integer(&json, "passes", plan->n_passes);
    ts_json_member_integer(&json, "volumes", plan->n_volumes);
    ts_json_member_integer(&json, "slab_slices", plan->slab_slices);
    ts_json_member_integer(&json, "threads", plan->threads);
    ts_json_member_integer(&json, "memory_bytes", plan->memory_bytes);
    ts_json_member_integer(&json, "budget_bytes", plan->budget_bytes);
    ts_json_member_integer(&json, "output_bytes", plan->output_bytes);
    if (plan->options.checkpoint.folder)
        ts_json_member_integer(&json, "checkpoint_bytes", checkpoint_bytes(plan));
    print_device_json(plan, &json);
    print_prediction_json(plan, &json);
    ts_json_close(&json, '}');
}

void ts_plan_print(const struct ts_plan *plan, FILE *stream, bool json)
{
    if (!plan || !stream)
        return;
    if (json)
        print_json(plan, stream);
    else
        print_text(plan, stream);
}
