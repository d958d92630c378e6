/* SPDX-License-Identifier: Apache-2.0
 *
 * NXtomoproc is the definition of reconstructed volumes. It wants to know what the object was looked at with, so only a
 * volume of which that is known follows it: one computed from a CT series or from HU, or from a scan that names its
 * probe. Facts that no input has, or that would tell where and on whom it was measured, are "not recorded". The field
 * `date` is left out, because equal runs give equal files. `raw_file` names the groups of the inputs, not their paths.
 * Source: NeXus definitions, NXtomoproc.
 */
#include "pipeline/run/nexus_definition.h"

#include <string.h>

#include "core/image.h"
#include "core/version.h"

enum { PATH_BYTES = 256 };

static const char unknown[] = "not recorded";

/* ---- what the object was looked at with ---------------------------------------------------------- */

static const char *text_attribute(const struct source *source, const char *name)
{
    for (size_t i = 0; i < source->n_attributes; i++)
        if (!strcmp(source->attributes[i].name, name) && source->attributes[i].value)
            return source->attributes[i].value;
    return "";
}

/* Returns the probe of a node as NeXus calls it; NULL where it is not known. */
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

/* Returns the one probe of all nodes; NULL where none is known, or several. */
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

/* Returns true where a saved image has a name that the definition wants for something else. The image keeps it. */
static bool names_collide(const struct ts_plan *plan)
{
    static const char *const names[] = {"definition", "instrument", "sample", "reconstruction"};
    for (int32_t i = 0; i < plan->n_nodes; i++)
        for (size_t k = 0; plan->nodes[i].dataset && k < sizeof names / sizeof *names; k++)
            if (!strcmp(plan->nodes[i].dataset, names[k]))
                return true;
    return false;
}

bool ts_nexus_is_tomography(const struct ts_plan *plan)
{
    return plan->n_volumes == 1 && plan->value_axis.n == 0 && is_volume(&plan->nodes[plan->n_nodes - 1].out) &&
           probe(plan) && !names_collide(plan);
}

/* ---- the file ------------------------------------------------------------------------------------ */

/* Returns the last stage that made a volume of projections; -1 where none did. */
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
        snprintf(text + used, sizeof text - used, "%s/entry/inputs/%s", used > 0 ? ", " : "", plan->nodes[i].label);
    }
    return ts_hdf5_text(writer, "/entry/reconstruction/parameters/raw_file", text);
}

/* The reconstruction is another name of the stage's process, or a process of its own where a scanner reconstructed. */
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

enum ts_status ts_nexus_definition(const struct ts_plan *plan, struct hdf5_writer *writer)
{
    const char *const groups[][2] = {
        {"/entry/instrument", "NXinstrument"}, {"/entry/instrument/source", "NXsource"}, {"/entry/sample", "NXsample"}};
    const char *const texts[][2] = {{"/entry/definition", "NXtomoproc"},
                                    {"/entry/instrument/source/type", unknown},
                                    {"/entry/instrument/source/name", unknown},
                                    {"/entry/instrument/source/probe", probe(plan)},
                                    {"/entry/sample/name", unknown},
                                    /* Values are those of the quantity as they stand: value * scaling + offset. */
                                    {"/entry/data/data@transform", "none"},
                                    {"/entry/data/data@scaling", "1"},
                                    {"/entry/data/data@offset", "0"}};
    const uint8_t yes = 1;
    const struct ts_image custom = {.dtype = TS_U8, .unit = "", .data = (void *)&yes};
    if (!ts_nexus_is_tomography(plan))
        return TS_OK;
    /* A writer that has failed does nothing, so nobody looks at each single status. */
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        (void)ts_hdf5_group(writer, groups[i][0], groups[i][1]);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        (void)ts_hdf5_text(writer, texts[i][0], texts[i][1]);
    /* The list of types is open, and says so of a value of its own. */
    (void)ts_hdf5_values(writer, "/entry/instrument/source/type@custom", &custom);
    return write_process(plan, writer);
}
