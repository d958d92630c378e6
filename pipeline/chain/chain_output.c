/* SPDX-License-Identifier: Apache-2.0
 *
 * Builds the output of a chain from the tree of its text: the paths of its formats, of which each must have a suffix of
 * its own, and the parameters that stand beside them.
 */
#include <string.h>

#include "pipeline/chain/chain_build.h"

struct output_builder {
    struct ts_chain *chain;
    const struct load *load;
};

static void report(const struct output_builder *builder, const struct node *node, const char *code, const char *owner,
                   const char *message)
{
    if (node->kind != NODE_REFUSED)
        ts_diag_error(builder->load->diag, TS_BAD_CHAIN,
                      &(struct diag_site){.code = code, .span = node->span, .stage = owner}, "%s", message);
}

static const struct choice compressions[] = {
    {"deflate", CHAIN_DEFLATE, .doc = "shuffle and deflate, which every program that reads HDF5 can inflate"},
    {"small", CHAIN_SMALL,
     .doc = "deflate that looks longer for what repeats: integers get smaller, and the CPU takes longer"},
    {"none", CHAIN_STORED, .doc = "values as they are: faster where the disk is fast, and larger"},
    {NULL}};

static const struct choice dtypes[] = {
    {"own", CHAIN_OWN, .doc = "each image keeps its type"},
    {"f16", CHAIN_F16, .doc = "images of 32-bit floats are rounded to 16-bit floats, and others keep their type"},
    {NULL}};

static const struct choice codecs[] = {{"none", SINK_CODEC_NONE, .doc = "values as they are"},
                                       {"rle", SINK_CODEC_RLE, .doc = "RLE Lossless, which every reader has"},
                                       {"j2k", SINK_CODEC_J2K, .doc = "JPEG 2000 Lossless"},
                                       {NULL}};

const struct param ts_chain_output_params[CHAIN_OUTPUT_PARAMS] = {
    PARAM(struct chain_output, compression, .unit = "", .choices = compressions, .init.choice = CHAIN_DEFLATE,
          .doc = "how an HDF5 file stores the values of images"),
    PARAM(struct chain_output, dtype, .unit = "", .choices = dtypes, .init.choice = CHAIN_OWN,
          .doc = "the type in which an HDF5 file stores the values of images"),
    PARAM(struct chain_output, window, .optional = true, .unit = "value",
          .doc = "[center, width] of the values that pictures show from black to white; absent: those between the 1st "
                 "and the 99th percentile"),
    PARAM(struct chain_output, codec, .unit = "", .choices = codecs, .init.choice = SINK_CODEC_NONE,
          .doc = "how DICOM files hold their pixels, without loss")};

struct param_set ts_chain_output_set(struct ts_chain *chain)
{
    return (struct param_set){
        .params = ts_chain_output_params, .n_params = CHAIN_OUTPUT_PARAMS, .values = &chain->output, .owner = "output"};
}

/* Returns the path of an output, joined to the chain's folder, or NULL (reported). */
static const char *output_path(const struct output_builder *builder, const struct node *entry, const char *owner)
{
    const char *path = entry->kind == NODE_LIST ? NULL : ts_load_text(builder->load->diag, entry, owner, "a path");
    if (entry->kind == NODE_LIST)
        ts_load_expected(builder->load->diag, entry, owner, "one path");
    if (path && *path)
        return ts_load_path(builder->load, path);
    if (path)
        report(builder, entry, "path-empty", owner, "the path is empty");
    return NULL;
}

/* Refuses a path whose suffix is that of another format, or is none where the format writes files alone. */
static bool check_suffix(const struct output_builder *builder, const struct node *entry, const char *path,
                         const struct sink_format *format)
{
    char owner[64], hint[512];
    const char *wrong = ts_sink_misnamed(format, path, hint, sizeof hint);
    if (!wrong)
        return true;
    snprintf(owner, sizeof owner, "output.%s", format ? format->name : "hdf5");
    report(builder, entry, "output-suffix", owner, wrong);
    ts_diag_hint(builder->load->diag, "%s", hint);
    return false;
}

static void build_sink(const struct output_builder *builder, const struct node *entry, const struct sink_format *format)
{
    struct chain_output *output = &builder->chain->output;
    char owner[64];
    snprintf(owner, sizeof owner, "output.%s", format->name);
    const char *path = output_path(builder, entry, owner);
    if (path && check_suffix(builder, entry, path, format))
        output->sinks[output->n_sinks++] = (struct chain_sink){format, path, entry->span};
}

void ts_chain_build_output(struct ts_chain *chain, const struct load *load, const struct node *map)
{
    const char *names[SINK_FORMATS + 1 + CHAIN_OUTPUT_PARAMS] = {"hdf5"};
    size_t n = 1;
    const struct output_builder builder = {chain, load};
    struct chain_output *output = &chain->output;
    struct param_set set = ts_chain_output_set(chain);
    if (map->kind != NODE_MAP || map->n == 0) {
        ts_load_expected(load->diag, map, "output", "a map such as {hdf5: result.h5}");
        return;
    }
    for (size_t i = 0; ts_sink_formats[i]; i++)
        names[n++] = ts_sink_formats[i]->name;
    for (size_t i = 0; i < set.n_params; i++)
        names[n++] = set.params[i].name;
    for (const struct node *entry = map->first; entry; entry = entry->next) {
        size_t param;
        const struct sink_format *format = ts_sink_find(entry->key->text);
        if (format) {
            build_sink(&builder, entry, format);
        } else if (strcmp(entry->key->text, "hdf5") == 0) {
            const char *path = output_path(&builder, entry, "output.hdf5");
            output->path = path && check_suffix(&builder, entry, path, NULL) ? path : NULL;
            output->span = entry->span;
        } else if (ts_param_find(set.params, set.n_params, entry->key->text, &param)) {
            ts_load_value(load, entry, &set, param);
        } else {
            ts_load_unknown(load->diag, entry->key->text, entry->key->span, "output", "format", names, n);
        }
    }
}
