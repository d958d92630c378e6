/* SPDX-License-Identifier: Apache-2.0
 *
 * Layout (NeXus):
 *   /entry (NXentry)                         title, program_name, default image; NXtomoproc if
 *                                            it is one
 *   /entry/<image> (NXdata)                  written by the writer; /entry/data is the last one
 *   /entry/process_<k>_<stage> (NXprocess)   sequence_index, program, version, parameters, tables
 *   /entry/inputs/<name> (NXparameters)      format, attributes, one value a slice
 *   /entry/provenance (NXparameters)         the chain as text and its digest, libraries, build,
 *                                            warnings
 */
#include "pipeline/run/provenance.h"

#include <stdlib.h>
#include <string.h>

#include "core/image.h"
#include "core/version.h"
#include "cuda/device/device.h"
#include "io/file/digest.h"
#include "io/source/source_slices.h"
#include "pipeline/plan/plan_sweep.h"
#include "pipeline/run/versions.h"
#include "pipeline/run/warnings.h"

enum { PATH_BYTES = 256 };

/* ---- tables ---------------------------------------------------------------------------------- */

/* An NXdata group has one signal, which viewers plot. It is the most informative table of a stage.
   Other tables are beside it; those of the same shape and unit that count the same bins, such as a
   reference's histogram, are drawn with it. The axis of a histogram has the centers of its bins,
   because viewers disagree on edges, of which there is one more than there are values. Tables with
   a row for each slice are drawn as curves, not as pictures. Source: NeXus NXdata. */

static const struct stage_table *provenance_find(const struct stage_table *tables, int n,
                                                 const char *name)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(tables[i].name, name))
            return &tables[i];
    return NULL;
}

/* The most informative tables of stages, and those that hold the positions along their last
   axis. */
static const struct plotted {
    const char *signal, *positions;
} plotted[] = {{"counts", "edges"}, {"measure", "trial_center"},
               {"residual"},        {"distance"},
               {"strip"},           {"mean"}};

/* Returns the table that is plotted, and that of its positions, or NULL. A table with an axis is
   preferred to a number. */
static const struct stage_table *signal_of(const struct stage_table *tables, int n,
                                           const struct stage_table **positions)
{
    const struct stage_table *found;
    *positions = NULL;
    for (size_t i = 0; i < sizeof plotted / sizeof *plotted; i++) {
        if (!(found = provenance_find(tables, n, plotted[i].signal)) || found->image.rank == 0)
            continue;
        *positions = plotted[i].positions ? provenance_find(tables, n, plotted[i].positions) : NULL;
        return found;
    }
    for (int i = 0; i < n; i++)
        if (tables[i].image.rank > 0)
            return &tables[i];
    return tables;
}

/* Makes the positions of an axis of n values: those of the table, or the centers between its edges.
   They stay NULL if the table has no positions that are the same for all slices. The caller frees
   them. */
static enum ts_status positions_of(const struct stage_table *table, int64_t n, double **positions,
                                   struct ts_diag *diag)
{
    const int64_t edges = table && table->image.rank == 1 && table->image.dtype == TS_F64
                              ? table->image.axes[0].n
                              : 0;
    const double *at = table ? table->image.data : NULL;
    *positions = NULL;
    if (edges < n || edges > n + 1)
        return TS_OK;
    *positions = malloc((size_t)n * sizeof **positions);
    for (int64_t i = 0; *positions && i < n; i++)
        (*positions)[i] = edges > n ? at[i] + (at[i + 1] - at[i]) / 2 : at[i];
    return *positions ? TS_OK : ts_diag_no_memory(diag, (size_t)n * sizeof **positions);
}

/* Writes which other table is drawn with the signal because it counts the same bins. */
static enum ts_status write_auxiliary(const struct stage_table *tables, int n,
                                      const struct stage_table *signal, const char *group,
                                      struct hdf5_writer *writer)
{
    const char *const name = "reference_counts";
    const struct stage_table *other = provenance_find(tables, n, name);
    char path[PATH_BYTES];
    if (!other || !ts_image_same_layout(&other->image, &signal->image))
        return TS_OK;
    snprintf(path, sizeof path, "%s@auxiliary_signals", group);
    return ts_hdf5_texts(writer, path, NULL, &name, 1);
}

/* Gives a table of slices the place in the patient of the image whose slices they are, so that its
   z has the positions that the image has. */
static void place_slices(const struct ts_plan *plan, int32_t index, struct ts_image *table)
{
    const struct plan_node *node = &plan->nodes[index];
    const struct ts_image *images[] = {&node->out, &plan->nodes[node->inputs[0]].out};
    int d = table->rank;
    for (int k = 0; k < table->rank; k++) {
        if (table->axes[k].kind == TS_AXIS_Y || table->axes[k].kind == TS_AXIS_X)
            return; /* a picture has a grid of its own */
        d = table->axes[k].kind == TS_AXIS_Z ? k : d;
    }
    for (size_t i = 0; d < table->rank && i < sizeof images / sizeof *images; i++) {
        const struct ts_axis *z = &images[i]->axes[0], *own = &table->axes[d];
        if (z->kind != TS_AXIS_Z || z->n != own->n || z->first != own->first ||
            z->spacing != own->spacing)
            continue;
        table->has_geometry = images[i]->has_geometry;
        memcpy(table->origin_mm, images[i]->origin_mm, sizeof table->origin_mm);
        memcpy(table->direction, images[i]->direction, sizeof table->direction);
        return;
    }
}

/* Makes viewers plot the group of the tables. */
static enum ts_status write_signal(const struct ts_plan *plan, int32_t index,
                                   const struct stage_table *tables, int n, const char *group,
                                   struct hdf5_writer *writer, struct ts_diag *diag)
{
    const struct stage_table *at, *signal = signal_of(tables, n, &at);
    const int last = signal->image.rank - 1;
    struct ts_image image = signal->image;
    double *positions = NULL;
    char path[PATH_BYTES];
    place_slices(plan, index, &image);
    enum ts_status status =
        last >= 0 ? positions_of(at, image.axes[last].n, &positions, diag) : TS_OK;
    if (positions) {
        image.axes[last].positions = positions;
        image.axes[last].unit = at->image.unit;
    }
    if (status == TS_OK)
        status = ts_hdf5_axes(writer, group, signal->name, &image);
    free(positions);
    snprintf(path, sizeof path, "%s/%s@interpretation", group, signal->name);
    if (status == TS_OK && last > 0)
        status =
            ts_hdf5_text(writer, path, image.axes[last].kind == TS_AXIS_X ? "image" : "spectrum");
    return status == TS_OK ? write_auxiliary(tables, n, signal, group, writer) : status;
}

/* Writes a table. Viewers label its values with its name and unit, since its description would be
   too long. */
static enum ts_status write_table(const struct stage_table *table, const char *group,
                                  struct hdf5_writer *writer)
{
    const char *unit = table->image.unit;
    char path[PATH_BYTES], label[96];
    snprintf(path, sizeof path, "%s/%s", group, table->name);
    enum ts_status status = ts_hdf5_values(writer, path, &table->image);
    snprintf(path, sizeof path, "%s/%s@long_name", group, table->name);
    snprintf(label, sizeof label, *unit && strcmp(unit, "1") != 0 ? "%s (%s)" : "%s", table->name,
             unit);
    if (status == TS_OK)
        status = ts_hdf5_text(writer, path, label);
    snprintf(path, sizeof path, "%s/%s@description", group, table->name);
    return status == TS_OK ? ts_hdf5_text(writer, path, table->doc) : status;
}

/* Writes n tables, with their values on the host, to the new group `process`/tables; nothing if n
   is 0. Returns the writer's status. */
static enum ts_status write_tables(const struct ts_plan *plan, int32_t index,
                                   const struct stage_table *tables, int n, const char *process,
                                   struct hdf5_writer *writer, struct ts_diag *diag)
{
    char group[PATH_BYTES - 64];
    if (n == 0)
        return TS_OK;
    snprintf(group, sizeof group, "%s/tables", process);
    enum ts_status status = ts_hdf5_group(writer, group, "NXdata");
    for (int i = 0; status == TS_OK && i < n; i++)
        status = write_table(&tables[i], group, writer);
    return status == TS_OK ? write_signal(plan, index, tables, n, group, writer, diag) : status;
}

/* ---- the NeXus application definition -------------------------------------------------------- */

/* NXtomoproc is the definition of reconstructed volumes. It requires the probe (the kind of
   radiation), so only a volume whose probe is known follows it: one computed from a CT series or
   from HU, or from a scan that names its probe. Facts that no input has, or that would tell where
   and on whom it was measured, are "not recorded". The field `date` is left out, because equal runs
   give equal files. `raw_file` names the groups of the inputs, not their paths. Source: NeXus
   definitions, NXtomoproc. */

static const char unknown[] = "not recorded";

/* ---- what the object was looked at with ------------------------------------------------------ */

static const char *text_attribute(const struct source *source, const char *name)
{
    for (size_t i = 0; i < source->n_attributes; i++)
        if (!strcmp(source->attributes[i].name, name) && source->attributes[i].value)
            return source->attributes[i].value;
    return "";
}

/* Returns the probe of a node as NeXus calls it; NULL if it is not known. */
static const char *probe_of(const struct plan_node *node)
{
    static const char *const probes[] = {"x-ray", "neutron", "electron"};
    if (node->source)
        for (size_t i = 0; i < sizeof probes / sizeof *probes; i++)
            if (!strcmp(text_attribute(node->source, "probe"), probes[i]))
                return probes[i];
    const bool ct = node->source && !strcmp(text_attribute(node->source, "modality"), "CT");
    return ct || node->out.quantity == TS_HU ? probes[0] : NULL;
}

/* Returns the probe that all nodes have in common; NULL if none is known or they differ. */
static const char *probe(const struct ts_plan *plan)
{
    const char *found = NULL;
    for (int32_t i = 0; i < plan->n_nodes; i++) {
        const char *own = probe_of(&plan->nodes[i]);
        if (own && found && strcmp(own, found) != 0)
            return NULL;
        found = own ? own : found;
    }
    return found;
}

static bool is_volume(const struct ts_image *image)
{
    static const enum ts_axis_kind kinds[] = {TS_AXIS_Z, TS_AXIS_Y, TS_AXIS_X};
    for (int d = 0; d < 3; d++)
        if (image->rank != 3 || image->axes[d].kind != kinds[d])
            return false;
    return true;
}

/* Returns true if a saved image has a name that the definition uses for something else. The image
   keeps it. */
static bool names_collide(const struct ts_plan *plan)
{
    static const char *const names[] = {"definition", "instrument", "sample", "reconstruction"};
    for (int32_t i = 0; i < plan->n_nodes; i++)
        for (size_t k = 0; plan->nodes[i].dataset && k < sizeof names / sizeof *names; k++)
            if (!strcmp(plan->nodes[i].dataset, names[k]))
                return true;
    return false;
}

/* Returns true if the last image is a volume of X-ray, neutron or electron tomography, which is
   written as NXtomoproc. */
static bool is_tomography(const struct ts_plan *plan)
{
    return plan->n_volumes == 1 && plan->value_axis.n == 0 &&
           is_volume(&plan->nodes[plan->n_nodes - 1].out) && probe(plan) && !names_collide(plan);
}

/* ---- NXtomoproc ------------------------------------------------------------------------------ */

/* Returns the last stage that made a volume from projections; -1 if there is none. */
static int32_t reconstruction(const struct ts_plan *plan)
{
    for (int32_t i = plan->n_nodes - 1; i >= plan->n_sources; i--)
        if (ts_image_is_sinogram(&plan->nodes[i].context.in) && is_volume(&plan->nodes[i].out))
            return i;
    return -1;
}

/* Writes where the raw data are: the groups of the inputs in this file. */
static enum ts_status write_raw_file(const struct ts_plan *plan, struct hdf5_writer *writer)
{
    char text[1024] = "";
    for (int32_t i = 0; i < plan->n_sources; i++) {
        const size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s/entry/inputs/%s", used > 0 ? ", " : "",
                 plan->nodes[i].label);
    }
    return ts_hdf5_text(writer, "/entry/reconstruction/parameters/raw_file", text);
}

/* The reconstruction is a second name of the stage's process, or a separate process if a scanner
   reconstructed. */
static enum ts_status write_process(const struct ts_plan *plan, struct hdf5_writer *writer)
{
    static const char group[] = "/entry/reconstruction";
    const int32_t stage = reconstruction(plan);
    char process[PATH_BYTES];
    if (stage >= 0) {
        snprintf(process, sizeof process, "/entry/process_%d_%s", stage - plan->n_sources + 1,
                 plan->nodes[stage].chain_stage->stage->name);
        (void)ts_hdf5_link(writer, group, process);
    } else {
        (void)ts_hdf5_group(writer, group, "NXprocess");
        (void)ts_hdf5_text(writer, "/entry/reconstruction/program", unknown);
        (void)ts_hdf5_text(writer, "/entry/reconstruction/version", unknown);
        (void)ts_hdf5_group(writer, "/entry/reconstruction/parameters", "NXparameters");
    }
    return write_raw_file(plan, writer);
}

/* Writes what NXtomoproc requires beyond the image and the processes, after all of these; nothing
   if the last image is no such volume. Returns the writer's status. */
static enum ts_status write_definition(const struct ts_plan *plan, struct hdf5_writer *writer)
{
    const char *const groups[][2] = {{"/entry/instrument", "NXinstrument"},
                                     {"/entry/instrument/source", "NXsource"},
                                     {"/entry/sample", "NXsample"}};
    const char *const texts[][2] = {
        {"/entry/definition", "NXtomoproc"},
        {"/entry/instrument/source/type", unknown},
        {"/entry/instrument/source/name", unknown},
        {"/entry/instrument/source/probe", probe(plan)},
        {"/entry/sample/name", unknown},
        /* Values are those of the quantity without conversion: value * scaling + offset. */
        {"/entry/data/data@transform", "none"},
        {"/entry/data/data@scaling", "1"},
        {"/entry/data/data@offset", "0"}};
    const uint8_t yes = 1;
    const struct ts_image custom = {.dtype = TS_U8, .unit = "", .data = (void *)&yes};
    if (!is_tomography(plan))
        return TS_OK;
    /* A writer that has failed does nothing, so the status need not be checked after each call. */
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        (void)ts_hdf5_group(writer, groups[i][0], groups[i][1]);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        (void)ts_hdf5_text(writer, texts[i][0], texts[i][1]);
    /* The list of types is open, and this one is our own. */
    (void)ts_hdf5_values(writer, "/entry/instrument/source/type@custom", &custom);
    return write_process(plan, writer);
}

/* ---- the entry ------------------------------------------------------------------------------- */

static enum ts_status write_text(struct hdf5_writer *writer, const char *group, const char *name,
                                 const char *text)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", group, name);
    return ts_hdf5_text(writer, path, text);
}

/* A text that becomes a dataset or an attribute of this name, unless it is NULL. */
struct text {
    const char *name, *text;
};

static enum ts_status write_texts(struct hdf5_writer *writer, const char *group,
                                  const struct text *texts, size_t n)
{
    enum ts_status status = TS_OK;
    for (size_t i = 0; status == TS_OK && i < n; i++)
        if (texts[i].text)
            status = write_text(writer, group, texts[i].name, texts[i].text);
    return status;
}

/* `axis` names what the first dimension counts; NULL: nothing of a name. */
static enum ts_status write_array(struct hdf5_writer *writer, const char *group, const char *name,
                                  enum ts_dtype dtype, const char *unit, const char *axis, int rank,
                                  const int64_t *shape, const void *data)
{
    char path[PATH_BYTES];
    struct ts_image image = {.rank = rank, .dtype = dtype, .unit = unit, .data = (void *)data};
    for (int i = 0; i < rank; i++)
        image.axes[i] = (struct ts_axis){
            .kind = TS_AXIS_ITEM, .n = shape[i], .unit = "", .name = i == 0 ? axis : NULL};
    snprintf(path, sizeof path, "%s/%s", group, name);
    return ts_hdf5_values(writer, path, &image);
}

enum ts_status ts_provenance_begin(const struct ts_plan *plan, struct hdf5_writer *writer)
{
    const struct text texts[] = {{"@default", "entry"},
                                 {"entry@default", plan->nodes[plan->n_nodes - 1].dataset},
                                 {"entry/title", "result of a tomostage chain"},
                                 {"entry/program_name", "tomostage"},
                                 {"entry/program_name@version", ts_version()}};
    enum ts_status status = ts_hdf5_group(writer, "/entry", "NXentry");
    if (status == TS_OK)
        status = write_texts(writer, "", texts, sizeof texts / sizeof *texts);
    return status == TS_OK ? ts_hdf5_group(writer, "/entry/inputs", "NXparameters") : status;
}

/* ---- parameters ------------------------------------------------------------------------------ */

/* Returns the unit of a parameter. Lengths are in pixels if the image's pixel size is not known. */
static const char *unit_of(const struct param *param, const struct ts_image *in)
{
    const char *length = in->axes[2].unit;
    if (!param->unit)
        return "";
    if (!strcmp(param->unit, "value"))
        return in->unit;
    return !strcmp(param->unit, "mm") && length && !strcmp(length, "pixel") ? length : param->unit;
}

static enum ts_status write_parameter(const struct param_set *set, size_t i,
                                      const struct ts_image *in, const char *group,
                                      struct hdf5_writer *writer)
{
    const struct param *param = &set->params[i];
    const void *at = (const unsigned char *)set->values + param->offset;
    const char *unit = unit_of(param, in);
    switch (param->kind) {
    case PARAM_INTEGER: {
        const int64_t integer = *(const int64_t *)at;
        const int32_t small = (int32_t)integer;
        const double real = (double)integer;
        return integer == small
                   ? write_array(writer, group, param->name, TS_I32, unit, NULL, 0, NULL, &small)
                   : write_array(writer, group, param->name, TS_F64, unit, NULL, 0, NULL, &real);
    }
    case PARAM_REAL:
        return write_array(writer, group, param->name, TS_F64, unit, NULL, 0, NULL, at);
    case PARAM_NUMBERS: {
        const struct ts_numbers *numbers = at;
        const int64_t shape[] = {numbers->rows, numbers->columns};
        const bool list = numbers->rows <= 1;
        if (numbers->rows * numbers->columns == 0)
            return write_text(writer, group, param->name, "none");
        return write_array(writer, group, param->name, TS_F64, unit, NULL, list ? 1 : 2,
                           list ? shape + 1 : shape, numbers->values);
    }
    case PARAM_TEXT:
        return write_text(writer, group, param->name,
                          *(const char *const *)at ? *(const char *const *)at : "");
    case PARAM_CHOICE:
    case PARAM_BOOL:
    case PARAM_TEXTS:
    case PARAM_REFERENCE: {
        char text[1024];
        ts_param_format(set, i, text, sizeof text);
        return write_text(writer, group, param->name, text);
    }
    }
    return TS_OK;
}

static enum ts_status write_parameters(const struct plan_node *node, const char *process,
                                       struct hdf5_writer *writer)
{
    char group[PATH_BYTES];
    snprintf(group, sizeof group, "%s/parameters", process);
    enum ts_status status = ts_hdf5_group(writer, group, "NXparameters");
    for (size_t i = 0; status == TS_OK && i < node->set.n_params; i++)
        if (!ts_param_is_idle(&node->set, i))
            status = write_parameter(&node->set, i, &node->context.in, group, writer);
    return status;
}

/* ---- stages ---------------------------------------------------------------------------------- */

/* Gives the process of a stage that leaves tables and has a name in the chain a second name, which
   stays the same if stages are added before it. A sweep has the stage once for each value, and the
   first one gets it. */
static enum ts_status link_name(const struct ts_plan *plan, int32_t index, const char *process,
                                struct hdf5_writer *writer)
{
    const char *name = plan->nodes[index].chain_stage->name;
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "/entry/process_%s", name ? name : "");
    for (int32_t i = plan->n_sources; name && i < plan->n_nodes; i++) {
        const char *other = plan->nodes[i].chain_stage->name;
        const bool earlier = i < index && other && !strcmp(other, name);
        if (earlier || (other && !strcmp(other, path + strlen("/entry/"))))
            return TS_OK;
    }
    return name && *name ? ts_hdf5_link(writer, path, process) : TS_OK;
}

/* Only the kind of the device is recorded: equal devices compute equal bytes, and the file must not
   depend on which of them was used. */
static enum ts_status write_stage(const struct ts_plan *plan, int32_t index,
                                  const struct stage_table *tables, int n_tables,
                                  struct hdf5_writer *writer, struct ts_diag *diag)
{
    const struct plan_node *node = &plan->nodes[index];
    const int32_t sequence = index - plan->n_sources + 1;
    const struct text program[] = {{"program", "tomostage"}, {"version", ts_version()}};
    const struct stage_origin *origin = node->chain_stage->stage->origin;
    const struct text texts[] = {{"stage", node->chain_stage->stage->name},
                                 {"stage_version", origin ? origin->version : NULL},
                                 {"plugin_sha256", origin ? origin->sha256 : NULL},
                                 {"name", node->chain_stage->name},
                                 {"input", plan->nodes[node->inputs[0]].label},
                                 {"device", plan->cuda ? "cuda" : "cpu"},
                                 {"quantity", ts_quantity_name(node->out.quantity)},
                                 {"unit", node->out.unit}};
    char process[PATH_BYTES];
    snprintf(process, sizeof process, "/entry/process_%d_%s", sequence,
             node->chain_stage->stage->name);
    enum ts_status status = ts_hdf5_group(writer, process, "NXprocess");
    if (status == TS_OK)
        status = write_texts(writer, process, program, sizeof program / sizeof *program);
    if (status == TS_OK)
        status =
            write_array(writer, process, "sequence_index", TS_I32, "", NULL, 0, NULL, &sequence);
    if (status == TS_OK)
        status = write_texts(writer, process, texts, sizeof texts / sizeof *texts);
    if (status == TS_OK)
        status = write_parameters(node, process, writer);
    if (status == TS_OK)
        status = write_tables(plan, index, tables, n_tables, process, writer, diag);
    return status == TS_OK && n_tables > 0 ? link_name(plan, index, process, writer) : status;
}

/* ---- sources --------------------------------------------------------------------------------- */

static enum ts_status write_hashes(const struct source *source, const char *group,
                                   struct hdf5_writer *writer, struct ts_diag *diag)
{
    const size_t n = (size_t)ts_source_total(source);
    const char **hashes = calloc(2 * n, sizeof *hashes);
    char path[PATH_BYTES];
    if (!hashes)
        return ts_diag_no_memory(diag, 2 * n * sizeof *hashes);
    for (size_t i = 0; i < n; i++) {
        hashes[i] = source->slices[ts_source_number(source, (int64_t)i)].pixel_sha256;
        hashes[n + i] = source->slices[ts_source_number(source, (int64_t)i)].instance_hmac;
    }
    snprintf(path, sizeof path, "%s/slice_pixel_sha256", group);
    enum ts_status status = ts_hdf5_texts(writer, path, "slice", hashes, n);
    snprintf(path, sizeof path, "%s/slice_instance_hmac", group);
    if (status == TS_OK)
        status = ts_hdf5_texts(writer, path, "slice", hashes + n, n);
    free(hashes);
    return status;
}

static enum ts_status write_slices(const struct source *source, const char *group, const char *unit,
                                   struct hdf5_writer *writer, struct ts_diag *diag)
{
    const int64_t n = ts_source_total(source), shape[] = {n, 3};
    const char *length = source->image.has_geometry ? "mm" : source->image.axes[0].unit;
    double *values = calloc((size_t)n * 5, sizeof *values);
    if (!values)
        return ts_diag_no_memory(diag, (size_t)n * 5 * sizeof *values);
    double *slope = values, *intercept = values + n, *position = values + 2 * n;
    uint64_t padding = 0;
    for (int64_t i = 0; i < n; i++) {
        const struct source_slice *slice = &source->slices[ts_source_number(source, i)];
        slope[i] = slice->slope;
        intercept[i] = slice->intercept;
        memcpy(position + 3 * i, slice->position_mm, 3 * sizeof *position);
        padding += (uint64_t)slice->padding_count;
    }
    enum ts_status status =
        write_array(writer, group, "slice_slope", TS_F64, unit, "slice", 1, shape, slope);
    if (status == TS_OK)
        status = write_array(writer, group, "slice_intercept", TS_F64, unit, "slice", 1, shape,
                             intercept);
    if (status == TS_OK)
        status = write_array(writer, group, "slice_position", TS_F64, length, "slice", 2, shape,
                             position);
    if (status == TS_OK)
        status =
            write_array(writer, group, "padding_count", TS_U64, "pixel", NULL, 0, NULL, &padding);
    free(values);
    return status == TS_OK ? write_hashes(source, group, writer, diag) : status;
}

/* Writes the angles of projections. Flats and darks have none. */
static enum ts_status write_angles(const struct ts_image *image, const char *group,
                                   struct hdf5_writer *writer, struct ts_diag *diag)
{
    const struct ts_axis *views = &image->axes[1];
    if (!ts_image_is_sinogram(image) || !views->unit || strcmp(views->unit, "degree") != 0)
        return TS_OK;
    double *angles = malloc((size_t)views->n * sizeof *angles);
    if (!angles)
        return ts_diag_no_memory(diag, (size_t)views->n * sizeof *angles);
    for (int64_t i = 0; i < views->n; i++)
        angles[i] =
            views->positions ? views->positions[i] : views->first + (double)i * views->spacing;
    const enum ts_status status =
        write_array(writer, group, "angles", TS_F64, "degree", NULL, 1, &views->n, angles);
    free(angles);
    return status;
}

/* Writes in what the volumes of a series differ, such as their times. */
static enum ts_status write_volumes(const struct source *source, const char *group,
                                    struct hdf5_writer *writer, struct ts_diag *diag)
{
    const struct ts_axis *axis = &source->volume_axis;
    if (source->n_volumes <= 1)
        return TS_OK;
    double *positions = malloc((size_t)source->n_volumes * sizeof *positions);
    if (!positions)
        return ts_diag_no_memory(diag, (size_t)source->n_volumes * sizeof *positions);
    for (int64_t i = 0; i < source->n_volumes; i++)
        positions[i] = ts_axis_position(axis, i);
    enum ts_status status = write_text(writer, group, "volume_axis", ts_axis_name(axis));
    if (status == TS_OK)
        status = write_array(writer, group, "volume_position", TS_F64, axis->unit ? axis->unit : "",
                             NULL, 1, &source->n_volumes, positions);
    free(positions);
    return status;
}

/* Writes an attribute of the input: a text, a number, or a number for each slice. */
static enum ts_status write_attribute(const struct source *source,
                                      const struct source_attribute *attribute, const char *group,
                                      struct hdf5_writer *writer)
{
    const char *axis = attribute->n == ts_source_total(source) ? "slice" : NULL;
    const int64_t shape[] = {attribute->n, attribute->columns};
    const int rank = attribute->columns > 0 ? 2 : attribute->n > 1;
    return attribute->numbers ? write_array(writer, group, attribute->name, TS_F64, attribute->unit,
                                            axis, rank, shape, attribute->numbers)
                              : write_text(writer, group, attribute->name, attribute->value);
}

static enum ts_status write_source(const struct plan_node *node, struct hdf5_writer *writer,
                                   struct ts_diag *diag)
{
    char group[PATH_BYTES];
    snprintf(group, sizeof group, "/entry/inputs/%s", node->label);
    enum ts_status status = ts_hdf5_group(writer, group, "NXparameters");
    if (status == TS_OK)
        status = write_text(writer, group, "format", node->chain_source->format->name);
    for (size_t i = 0; status == TS_OK && i < node->source->n_attributes; i++)
        status = write_attribute(node->source, &node->source->attributes[i], group, writer);
    if (status == TS_OK)
        status = write_angles(&node->source->image, group, writer, diag);
    if (status == TS_OK)
        status = write_volumes(node->source, group, writer, diag);
    char grid[SOURCE_GRID_BYTES];
    ts_source_grid_text(&node->source->image, grid);
    if (status == TS_OK)
        status = write_text(writer, group, "grid", grid);
    return status == TS_OK ? write_slices(node->source, group, node->out.unit, writer, diag)
                           : status;
}

enum ts_status ts_provenance_node(const struct ts_plan *plan, int32_t index,
                                  const struct stage_table *tables, int n_tables,
                                  struct hdf5_writer *writer, struct ts_diag *diag)
{
    const struct plan_node *node = &plan->nodes[index];
    return node->source ? write_source(node, writer, diag)
                        : write_stage(plan, index, tables, n_tables, writer, diag);
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Returns the chain's text with the plan's resolved values instead of the chain's own. */
static char *resolved_chain(const struct ts_plan *plan)
{
    struct ts_chain chain = *plan->given;
    struct chain_stage *stages = calloc((size_t)chain.n_stages + 1, sizeof *stages);
    if (!stages)
        return NULL;
    for (int32_t i = 0; i < chain.n_sources; i++) {
        chain.sources[i].set = plan->nodes[i].set;
        chain.sources[i].set.owner = plan->chain->sources[i].set.owner;
    }
    for (int32_t i = 0; i < chain.n_stages; i++) {
        stages[i] = chain.stages[i];
        stages[i].set = plan->nodes[plan->n_sources + i].set;
        stages[i].set.owner = chain.stages[i].set.owner;
        stages[i].set.idle |= ts_plan_varying(plan, plan->n_sources + i);
    }
    chain.stages = stages;
    char *text = ts_chain_canonical(&chain);
    free(stages);
    return text;
}

static enum ts_status write_chain(const struct ts_plan *plan, struct hdf5_writer *writer,
                                  struct ts_diag *diag)
{
    char hex[DIGEST_TEXT_BYTES];
    char *text = resolved_chain(plan);
    if (!text || !ts_digest_of(text, strlen(text), hex)) {
        free(text);
        return ts_diag_no_memory(diag, plan->chain->text_length);
    }
    enum ts_status status = ts_hdf5_text(writer, "/entry/provenance/chain", text);
    if (status == TS_OK)
        status = ts_hdf5_text(writer, "/entry/provenance/chain@text_sha256", hex);
    free(text);
    return status;
}

/* Writes the further names of images that have several (by a final `save`), which are stored
   once. */
static enum ts_status write_links(const struct ts_plan *plan, struct hdf5_writer *writer)
{
    int32_t outputs[CHAIN_MAX_STAGES + CHAIN_MAX_SOURCES];
    const int32_t n = ts_plan_outputs(plan, outputs);
    bool have_data = false;
    for (int32_t i = 0; i < plan->n_nodes; i++) {
        const struct plan_node *node = &plan->nodes[i];
        for (int32_t j = 0; node->dataset && j < n; j++) {
            const struct plan_node *stored = &plan->nodes[outputs[j]];
            char path[PATH_BYTES], target[PATH_BYTES];
            if (stored->axes_node != node->axes_node)
                continue;
            snprintf(path, sizeof path, "/entry/%s", node->dataset);
            snprintf(target, sizeof target, "/entry/%s", stored->dataset);
            const enum ts_status status =
                outputs[j] != i ? ts_hdf5_link(writer, path, target) : TS_OK;
            if (status != TS_OK)
                return status;
        }
        have_data |= node->dataset && !strcmp(node->dataset, "data");
    }
    if (have_data)
        return TS_OK;
    char target[PATH_BYTES];
    snprintf(target, sizeof target, "/entry/%s", plan->nodes[plan->n_nodes - 1].dataset);
    return ts_hdf5_link(writer, "/entry/data", target);
}

int ts_provenance_device(const struct ts_plan *plan, struct version versions[VERSIONS_MAX])
{
    const int runtime = ts_cuda_runtime();
    if (!plan->cuda)
        return 0;
    versions[0].name = "cuda_device";
    snprintf(versions[0].text, sizeof versions[0].text, "%s", plan->cuda->name);
    versions[1].name = "cuda_compute_capability";
    snprintf(versions[1].text, sizeof versions[1].text, "%d.%d", plan->cuda->major,
             plan->cuda->minor);
    versions[2].name = "cuda_code";
    snprintf(versions[2].text, sizeof versions[2].text, "%d.%d", plan->cuda->code / 10,
             plan->cuda->code % 10);
    versions[3].name = "cuda_driver";
    snprintf(versions[3].text, sizeof versions[3].text, "%d.%d", plan->cuda_driver / 1000,
             plan->cuda_driver % 1000 / 10);
    versions[4].name = "cuda_runtime";
    snprintf(versions[4].text, sizeof versions[4].text, "%d.%d", runtime / 1000,
             runtime % 1000 / 10);
    return 5;
}

/* Writes on what device the stages ran, in more detail than their `device`. */
static enum ts_status write_device(const struct ts_plan *plan, const char *group,
                                   struct hdf5_writer *writer)
{
    struct version versions[VERSIONS_MAX];
    const int n = ts_provenance_device(plan, versions);
    enum ts_status status = !plan->cuda && plan->device_note
                                ? write_text(writer, group, "device_note", plan->device_note)
                                : TS_OK;
    for (int i = 0; status == TS_OK && i < n; i++)
        status = write_text(writer, group, versions[i].name, versions[i].text);
    return status;
}

/* Writes a version under a name that NeXus allows. */
static enum ts_status write_version(struct hdf5_writer *writer, const char *group,
                                    const struct version *version)
{
    char name[64];
    ts_version_field(version, name);
    return write_text(writer, group, name, version->text);
}

enum ts_status ts_provenance_end(const struct ts_plan *plan, struct hdf5_writer *writer,
                                 struct ts_diag *diag)
{
    const char *group = "/entry/provenance";
    enum ts_status status = write_links(plan, writer);
    if (status == TS_OK)
        status = write_definition(plan, writer);
    if (status == TS_OK)
        status = ts_hdf5_group(writer, group, "NXparameters");
    if (status == TS_OK)
        status = write_chain(plan, writer, diag);
    if (status == TS_OK)
        status = write_text(writer, group, "build", ts_build_text());
    if (status == TS_OK)
        status = ts_warnings_write(plan, writer, diag);
    if (status == TS_OK)
        status = write_device(plan, group, writer);
    struct version versions[VERSIONS_MAX];
    const int n = ts_versions(versions);
    for (int i = 0; status == TS_OK && i < n; i++)
        status = write_version(writer, group, &versions[i]);
    return status == TS_OK ? ts_hdf5_scales(writer) : status;
}
