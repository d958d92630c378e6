/* SPDX-License-Identifier: Apache-2.0
 *
 * Every name that an output will write is listed, those beside it as well, with the real path of its folder, so that
 * two spellings of one name are found. A name collides with an equal one, and with a folder of which an output makes
 * all that is in it.
 */
#include "pipeline/plan/plan_outputs.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/path.h"

enum { MOST_NAMES = 1 + SINK_FORMATS * SINK_STAGED + 2 }; /* HDF5, other formats, a profile */

/* This is a name that an output writes. */
struct written {
    char path[PATH_MAX + 256];
    const char *owner; /* "nifti" */
    struct ts_span span;
    bool is_folder;
};

struct names {
    struct written *items;
    int n;
};

/* Adds a name: its folder is resolved where that exists. */
static void add_name(struct names *names, const char *path, size_t length, const char *ending, const struct written *of)
{
    char given[PATH_MAX], folder[PATH_MAX], resolved[PATH_MAX];
    struct written *written = &names->items[names->n++];
    snprintf(given, sizeof given, "%.*s%s", (int)length, path, ending);
    for (size_t n = strlen(given); n > 1 && given[n - 1] == '/'; n--)
        given[n - 1] = '\0';
    const char *base = ts_base_name(given);
    snprintf(folder, sizeof folder, "%.*s", base > given ? (int)(base - given) : 1, base > given ? given : ".");
    *written = *of;
    snprintf(written->path, sizeof written->path, "%s/%.255s", realpath(folder, resolved) ? resolved : folder, base);
}

static void list_names(const struct ts_plan *plan, struct names *names)
{
    const struct chain_output *output = &plan->chain->output;
    struct written of = {.owner = "hdf5", .span = output->span};
    if (output->path)
        add_name(names, output->path, strlen(output->path), "", &of);
    for (int32_t i = 0; i < output->n_sinks; i++) {
        const struct sink_format *format = output->sinks[i].format;
        const char *path = output->sinks[i].path;
        of.owner = format->name;
        of.span = output->sinks[i].span;
        of.is_folder = !ts_sink_is_file(format, path);
        add_name(names, path, strlen(path), "", &of);
        of.is_folder = false;
        for (int b = 0; b < SINK_STAGED && format->beside[b]; b++)
            add_name(names, path, ts_sink_stem(format, path), format->beside[b], &of);
    }
    of = (struct written){.owner = "profile"};
    if (plan->profile) {
        add_name(names, plan->profile, strlen(plan->profile), ".svg", &of);
        add_name(names, plan->profile, strlen(plan->profile), ".json", &of);
    }
}

static bool collide(const struct written *a, const struct written *b)
{
    const size_t n = strlen(a->path), m = strlen(b->path);
    return !strcmp(a->path, b->path) || (a->is_folder && m > n && !strncmp(a->path, b->path, n) && b->path[n] == '/') ||
           (b->is_folder && n > m && !strncmp(a->path, b->path, m) && a->path[m] == '/');
}

static void check_names(const struct ts_plan *plan, struct ts_diag *diag)
{
    struct names names = {calloc(MOST_NAMES, sizeof *names.items), 0};
    if (!names.items) {
        ts_diag_no_memory(diag, MOST_NAMES * sizeof *names.items);
        return;
    }
    list_names(plan, &names);
    for (int i = 1; i < names.n; i++)
        for (int k = 0; k < i; k++) {
            const struct written *one = &names.items[k], *other = &names.items[i];
            if (one->owner == other->owner || !collide(one, other))
                continue;
            ts_diag_error(diag, TS_BAD_CHAIN,
                          &(struct diag_site){.code = "output-collides", .span = other->span, .stage = "output"},
                          "the outputs %s and %s would both be written to '%s'", one->owner, other->owner,
                          strlen(one->path) > strlen(other->path) ? one->path : other->path);
            ts_diag_hint(diag, "give each output a name, or a folder, of its own");
        }
    free(names.items);
}

/* Refuses a parameter that no output of the chain has. One that is set where -o has replaced the outputs of the chain,
 * which then have no line, is left alone. */
static void check_used(const struct chain_output *output, const char *name, bool given,
                       bool (*has)(const struct sink_format *), const char *of, struct ts_diag *diag)
{
    bool used = !given || (output->path && output->span.line == 0);
    char stage[64];
    for (int32_t i = 0; i < output->n_sinks; i++)
        used |= has(output->sinks[i].format) || output->sinks[i].span.line == 0;
    snprintf(stage, sizeof stage, "output.%s", name);
    if (!used)
        ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "parameter-unused", .stage = stage},
                      "no output of this chain has a %s: %s", name, of);
}

static bool has_codec(const struct sink_format *format)
{
    return format->has_codec;
}

static bool has_window(const struct sink_format *format)
{
    return format->has_window;
}

/* The other formats choose the type of their values themselves. */
static bool has_dtype(const struct sink_format *format)
{
    (void)format;
    return false;
}

/* Refuses outputs that cannot hold the last image, and warns of images that no output holds. */
enum ts_status ts_plan_check_outputs(const struct ts_plan *plan, struct ts_diag *diag)
{
    const struct chain_output *output = &plan->chain->output;
    const int64_t columns = output->window.rows > 0 ? output->window.columns : 2;
    if (columns != 2 || output->window.rows > 1 || (output->window.rows == 1 && !(output->window.values[1] > 0)))
        ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "window", .stage = "output.window"},
                      "[center, width] is expected, with a width above 0");
    for (int32_t i = 0; i < output->n_sinks && columns == 2; i++) {
        const struct sink_format *format = output->sinks[i].format;
        const struct sink_request request = ts_plan_sink_request(plan, i);
        const char *refusal = format->refusal(&request);
        char stage[64];
        snprintf(stage, sizeof stage, "output.%s", format->name);
        const struct diag_site site = {.code = "output-cannot-hold", .span = output->sinks[i].span, .stage = stage};
        if (refusal)
            ts_diag_error(diag, TS_BAD_CHAIN, &site, "it cannot hold the image '%s': %s", request.name, refusal);
        else
            ts_sink_warn(format, &request, diag);
        if (refusal && ts_sink_folder_holds(format, &request))
            ts_diag_hint(diag, "a folder can: output: {%s: FOLDER} in the chain", format->name);
    }
    for (int32_t i = plan->n_sources; output->n_sinks > 0 && !output->path && i < plan->n_nodes - 1; i++)
        if (plan->nodes[i].dataset && plan->nodes[i].leader == i && i != plan->nodes[plan->n_nodes - 1].leader) {
            ts_diag_warning(diag, &(struct diag_site){.code = "output-drops-image", .span = plan->nodes[i].set.span},
                            "no output holds the image '%s': others than HDF5 hold the last image alone",
                            plan->nodes[i].dataset);
            ts_diag_hint(diag, "add hdf5: FILE.h5 to the output");
        }
    check_used(output, "codec", output->codec != SINK_CODEC_NONE, has_codec, "that of dicom does", diag);
    /* Without an output there may be one later, as of a recorded chain. */
    check_used(output, "dtype", output->dtype != CHAIN_OWN && !output->path && output->n_sinks > 0, has_dtype,
               "that of hdf5 does", diag);
    check_used(output, "window", output->window.rows > 0, has_window, "those of png and dicom do", diag);
    check_names(plan, diag);
    return ts_diag_status(diag);
}
