/* SPDX-License-Identifier: Apache-2.0
 *
 * The inputs are opened by a plan of the result's chain without its stages, so that series, ranges of slices and masks
 * are chosen as they were in the run. Where that gives other slices, or a DICOM series is refused because one is
 * missing, every file is decoded by itself, and those that are missing, changed or additional can be named.
 */
#include "pipeline/compare/inputs.h"

#include <stdlib.h>
#include <string.h>

#include "io/dicom/dicom.h"
#include "io/file/digest_tree.h"
#include "io/source/source_slices.h"
#include "pipeline/compare/inputs_slices.h"
#include "pipeline/plan/plan.h"

/* ---- numbers of slices --------------------------------------------------------------------------- */

/* Compares the digest that the result has of a list of numbers with that of the numbers now. */
static void check_numbers(const struct recorded *recorded, const char *input, const char *name, const double *numbers,
                          size_t n, struct inputs_found *found)
{
    char path[256], digest[DIGEST_TEXT_BYTES];
    snprintf(path, sizeof path, "inputs/%s/%s", input, name);
    const struct made_fact *fact = ts_made_find(&recorded->made, path);
    if (fact && ts_digest_tree_of(numbers, n * sizeof *numbers, digest) && strcmp(digest, fact->digest) != 0)
        found->facts = found->facts ? found->facts : name;
}

/* Compares what the image is beside its slices. Older results do not say. */
static void check_grid(const struct recorded *recorded, const struct source *source, const char *input,
                       struct inputs_found *found)
{
    char path[256], digest[DIGEST_TEXT_BYTES], grid[SOURCE_GRID_BYTES];
    snprintf(path, sizeof path, "inputs/%s/grid", input);
    ts_source_grid_text(&source->image, grid);
    const struct made_fact *fact = ts_made_find(&recorded->made, path);
    if (fact && ts_digest_tree_of(grid, strlen(grid), digest) && strcmp(digest, fact->digest) != 0)
        found->facts = found->facts ? found->facts : "grid";
}

enum ts_status ts_inputs_facts(const struct recorded *recorded, const struct source *source, const char *input,
                               struct inputs_found *found, struct ts_diag *diag)
{
    const size_t n = (size_t)ts_source_total(source);
    const struct ts_axis *views = &source->image.axes[1];
    const size_t n_views = ts_image_is_sinogram(&source->image) ? (size_t)views->n : 0;
    double *numbers = malloc((5 * n + n_views + 1) * sizeof *numbers);
    if (!numbers)
        return ts_diag_no_memory(diag, (5 * n + n_views) * sizeof *numbers);
    double *slope = numbers, *intercept = numbers + n, *place = numbers + 2 * n, *angles = numbers + 5 * n;
    for (size_t i = 0; i < n; i++) {
        const struct source_slice *slice = &source->slices[ts_source_number(source, (int64_t)i)];
        slope[i] = slice->slope;
        intercept[i] = slice->intercept;
        memcpy(place + 3 * i, slice->position_mm, 3 * sizeof *place);
    }
    for (size_t i = 0; i < n_views; i++)
        angles[i] = views->positions ? views->positions[i] : views->first + (double)i * views->spacing;
    check_numbers(recorded, input, "slice_slope", slope, n, found);
    check_numbers(recorded, input, "slice_intercept", intercept, n, found);
    check_numbers(recorded, input, "slice_position", place, 3 * n, found);
    if (n_views > 0 && views->unit && !strcmp(views->unit, "degree"))
        check_numbers(recorded, input, "angles", angles, n_views, found);
    check_grid(recorded, source, input, found);
    free(numbers);
    return TS_OK;
}

/* ---- one input ----------------------------------------------------------------------------------- */

static bool is_whole(const struct inputs_found *found)
{
    return found->n_same == found->n && !found->facts && found->counts[INPUTS_ADDITIONAL] == 0;
}

/* Returns the parameters of a DICOM input whose files can be looked at one by one: masked pixels are others than those
 * of the file. */
static const struct dicom_params *files_of(const struct chain_source *source)
{
    const struct dicom_params *params = source->set.values;
    return source->format == &dicom_format && params->burned_in != BURNED_IN_MASK ? params : NULL;
}

/* Looks at the files of a DICOM input. Additional files are counted where the run took all slices of its series. */
static enum ts_status check_files(struct recorded *recorded, const struct dicom_params *params,
                                  const struct input_slices *used, struct inputs_found *found, struct ts_diag *diag)
{
    struct input_slices there;
    const bool all = params->slices.rows == 0 && params->take.n == 0 && params->split.n == 0;
    enum ts_status status = ts_inputs_of_files(params->dicom.items, params->dicom.n, recorded->arena, &there, diag);
    const char *name = found->name, *facts = found->facts;
    *found = (struct inputs_found){.name = name, .n = (int64_t)used->n, .facts = facts};
    for (size_t i = 0; i < used->n; i++)
        used->items[i].matched = false;
    if (status == TS_OK)
        status = ts_inputs_match(used, &there, all, found, diag);
    return status;
}

/* `source` is NULL where the input could not be opened as a whole. */
static enum ts_status check_input(struct recorded *recorded, int32_t index, struct source *source,
                                  struct inputs_found *found, struct ts_diag *diag)
{
    const struct chain_source *input = &recorded->chain->sources[index];
    const struct dicom_params *params = files_of(input);
    struct input_slices used, there = {0};
    *found = (struct inputs_found){.name = input->name};
    enum ts_status status = ts_inputs_recorded(recorded, input->name, &used, diag);
    found->n = (int64_t)used.n;
    if (status == TS_OK && source)
        status = ts_inputs_read(source, diag);
    if (status == TS_OK && source)
        status = ts_inputs_add(&there, source, NULL, "", recorded->arena, diag);
    if (status == TS_OK && source)
        status = ts_inputs_match(&used, &there, true, found, diag);
    if (status == TS_OK && source && used.n == there.n)
        status = ts_inputs_facts(recorded, source, input->name, found, diag);
    if (status == TS_OK && params && !(source && is_whole(found)))
        status = check_files(recorded, params, &used, found, diag);
    bool has_instances = false;
    for (size_t i = 0; i < used.n; i++)
        has_instances |= *used.items[i].instance != '\0';
    found->n_instances = has_instances ? found->n_instances : -1;
    return status;
}

/* ---- all inputs ---------------------------------------------------------------------------------- */

static enum ts_status refuse(const struct inputs_found *found, struct ts_diag *diag)
{
    static const char *const kinds[] = {"missing", "changed", "additional"};
    char text[2048] = "";
    size_t used = 0;
    for (int kind = 0; kind < INPUTS_KINDS; kind++)
        if (found->counts[kind] > 0)
            used += (size_t)snprintf(text + used, sizeof text - used, "; %lld %s, the first: %s",
                                     (long long)found->counts[kind], kinds[kind], found->first[kind]);
    if (found->facts)
        snprintf(text + used, sizeof text - used, "; %s is not what was recorded", found->facts);
    return ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "inputs-differ", .stage = found->name},
                         "%lld of %lld slices are those that were used%s", (long long)found->n_same,
                         (long long)found->n, text);
}

/* Checks the DICOM inputs file by file where no plan can open them: then the reason is kept as a hint. */
static enum ts_status check_without_plan(struct recorded *recorded, struct inputs_found *found,
                                         const struct ts_diag *reason, struct ts_diag *diag)
{
    enum ts_status status = TS_OK;
    bool differs = false;
    for (int32_t i = 0; i < recorded->chain->n_sources && status == TS_OK; i++)
        if (files_of(&recorded->chain->sources[i])) {
            status = check_input(recorded, i, NULL, &found[i], diag);
            if (status == TS_OK && !is_whole(&found[i])) {
                differs = true;
                (void)refuse(&found[i], diag);
            }
        }
    if (status != TS_OK)
        return status;
    if (!differs)
        ts_diag_append(diag, reason);
    else if (ts_diag_first_error(reason))
        (void)ts_diag_hint(diag, "as a run would refuse it: %s", ts_diag_first_error(reason));
    return TS_BAD_INPUT;
}

/* Plans the chain without its stages, which opens its inputs. What is wrong goes to a list of its own, *own. */
static enum ts_status open_inputs(const struct recorded *recorded, struct ts_plan **plan, struct ts_diag **own,
                                  struct ts_diag *diag)
{
    struct ts_chain inputs = *recorded->chain;
    const struct ts_options options = {.size = sizeof options, .device = "cpu"};
    *plan = NULL;
    *own = ts_diag_create();
    if (!*own)
        return ts_diag_no_memory(diag, sizeof inputs);
    inputs.n_stages = 0;
    inputs.sweep = (struct chain_sweep){0}; /* it names a stage */
    inputs.part = true;
    return ts_plan_create(&inputs, &options, plan, *own);
}

enum ts_status ts_inputs_check(struct recorded *recorded, struct inputs_found found[CHAIN_MAX_SOURCES],
                               struct ts_diag *diag)
{
    struct ts_diag *own;
    struct ts_plan *plan;
    enum ts_status status = open_inputs(recorded, &plan, &own, diag);
    if (status == TS_BAD_INPUT) {
        status = check_without_plan(recorded, found, own, diag);
    } else if (own) {
        ts_diag_append(diag, own);
        for (int32_t i = 0; i < recorded->chain->n_sources && status == TS_OK; i++) {
            status = check_input(recorded, i, plan->nodes[i].source, &found[i], diag);
            if (status == TS_OK && !is_whole(&found[i]))
                status = refuse(&found[i], diag);
        }
    }
    ts_plan_destroy(plan);
    ts_diag_destroy(own);
    return status;
}

/* Compares one input by its headers and its first slice. */
static enum ts_status glance(struct recorded *recorded, struct source *source, const char *name, bool *differs,
                             struct ts_diag *diag)
{
    struct input_slices used;
    struct inputs_found found = {.name = name};
    void *slice = NULL;
    enum ts_status status = ts_inputs_recorded(recorded, name, &used, diag);
    *differs = status == TS_OK && (int64_t)used.n != ts_source_total(source);
    if (status == TS_OK && !*differs)
        status = ts_inputs_facts(recorded, source, name, &found, diag);
    *differs |= found.facts != NULL;
    if (status != TS_OK || *differs || !*used.items[0].pixels)
        return status;
    slice = malloc(ts_slice_bytes(&source->image));
    if (!slice)
        return ts_diag_no_memory(diag, ts_slice_bytes(&source->image));
    if (source->ops->start)
        status = source->ops->start(source, 1, 1, diag);
    if (status == TS_OK)
        status = source->ops->read(source, 0, 1, slice, diag);
    *differs = status == TS_OK && strcmp(source->slices[0].pixel_sha256, used.items[0].pixels) != 0;
    free(slice);
    return status;
}

enum ts_status ts_inputs_glance(struct recorded *recorded, const char **other, struct ts_diag *diag)
{
    struct ts_diag *own;
    struct ts_plan *plan;
    bool differs = false;
    *other = NULL;
    enum ts_status status = open_inputs(recorded, &plan, &own, diag);
    if (own && status != TS_RUN_FAILED)
        status = TS_OK; /* an input that cannot be opened is the run's to refuse */
    for (int32_t i = 0; plan && i < recorded->chain->n_sources && status == TS_OK && !differs; i++) {
        *other = recorded->chain->sources[i].name;
        status = glance(recorded, plan->nodes[i].source, *other, &differs, own);
    }
    *other = differs ? *other : NULL;
    if (own && status != TS_OK)
        ts_diag_append(diag, own);
    ts_plan_destroy(plan);
    ts_diag_destroy(own);
    return status;
}
