/* SPDX-License-Identifier: Apache-2.0
 *
 * Builds sources, stages and output from the tree of a chain's text. A first pass, which reports
 * nothing, names the stages, so that the second can tell a name that comes too late from one that
 * does not exist.
 */
#include "pipeline/chain/chain_build.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "pipeline/chain/formats.h"

/* ---- the output ------------------------------------------------------------------------------ */

/* Builds the output of a chain from the tree of its text: the paths of its formats, each of which
   must have a suffix of that format, and its other parameters. */

struct output_builder {
    struct ts_chain *chain;
    const struct load *load;
};

static void report_output(const struct output_builder *builder, const struct node *node,
                          const char *code, const char *owner, const char *message)
{
    if (node->kind != NODE_REFUSED)
        ts_diag_error(builder->load->diag, TS_BAD_CHAIN,
                      &(struct diag_site){.code = code, .span = node->span, .stage = owner}, "%s",
                      message);
}

static const struct choice compressions[] = {
    {"deflate", CHAIN_DEFLATE,
     .doc = "shuffle and deflate, which every program that reads HDF5 can inflate"},
    {"small", CHAIN_SMALL,
     .doc = "deflate that looks longer for what repeats: integers get smaller, and the CPU takes "
            "longer"},
    {"none", CHAIN_STORED, .doc = "values as they are: faster where the disk is fast, and larger"},
    {NULL}};

static const struct choice dtypes[] = {
    {"own", CHAIN_OWN, .doc = "each image keeps its type"},
    {"f16", CHAIN_F16,
     .doc = "images of 32-bit floats are rounded to 16-bit floats, and others keep their type"},
    {NULL}};

static const struct choice codecs[] = {
    {"none", SINK_CODEC_NONE, .doc = "values as they are"},
    {"rle", SINK_CODEC_RLE, .doc = "RLE Lossless, which every reader has"},
    {"j2k", SINK_CODEC_J2K, .doc = "JPEG 2000 Lossless"},
    {NULL}};

const struct param ts_chain_output_params[CHAIN_OUTPUT_PARAMS] = {
    PARAM(struct chain_output, compression, .unit = "", .choices = compressions,
          .init.choice = CHAIN_DEFLATE,
          .doc =
              "how an HDF5, NRRD or MetaImage file stores the values of images; the latter two are "
              "compressed in one way, or not"),
    PARAM(struct chain_output, dtype, .unit = "", .choices = dtypes, .init.choice = CHAIN_OWN,
          .doc = "the type in which an HDF5 file stores the values of images"),
    PARAM(struct chain_output, window, .optional = true, .unit = "value",
          .doc = "[center, width] of the values that pictures show from black to white; absent: "
                 "those between the 1st and the 99th percentile"),
    PARAM(struct chain_output, codec, .unit = "", .choices = codecs, .init.choice = SINK_CODEC_NONE,
          .doc = "how DICOM files hold their pixels, without loss")};

struct param_set ts_chain_output_set(struct ts_chain *chain)
{
    return (struct param_set){.params = ts_chain_output_params,
                              .n_params = CHAIN_OUTPUT_PARAMS,
                              .values = &chain->output,
                              .owner = "output"};
}

/* Returns the path of an output, joined to the path of the chain's folder; NULL if it is wrong
   (reported). */
static const char *output_path(const struct output_builder *builder, const struct node *entry,
                               const char *owner)
{
    const char *path =
        entry->kind == NODE_LIST ? NULL : ts_load_text(builder->load->diag, entry, owner, "a path");
    if (entry->kind == NODE_LIST)
        ts_load_expected(builder->load->diag, entry, owner, "one path");
    if (path && *path)
        return ts_load_path(builder->load, path);
    if (path)
        report_output(builder, entry, "path-empty", owner, "the path is empty");
    return NULL;
}

/* Refuses a path that has the suffix of a different format, or no suffix although the format writes
   only files. */
static bool check_suffix(const struct output_builder *builder, const struct node *entry,
                         const char *path, const struct sink_format *format)
{
    char owner[64], hint[512];
    const char *wrong = ts_sink_misnamed(format, path, hint, sizeof hint);
    if (!wrong)
        return true;
    snprintf(owner, sizeof owner, "output.%s", format ? format->name : "hdf5");
    report_output(builder, entry, "output-suffix", owner, wrong);
    ts_diag_hint(builder->load->diag, "%s", hint);
    return false;
}

static void build_sink(const struct output_builder *builder, const struct node *entry,
                       const struct sink_format *format)
{
    struct chain_output *output = &builder->chain->output;
    char owner[64];
    snprintf(owner, sizeof owner, "output.%s", format->name);
    const char *path = output_path(builder, entry, owner);
    if (path && check_suffix(builder, entry, path, format))
        output->sinks[output->n_sinks++] = (struct chain_sink){format, path, entry->span};
}

/* Builds the output from its map. */
static void build_output(struct ts_chain *chain, const struct load *load, const struct node *map)
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
            ts_load_unknown(load->diag, entry->key->text, entry->key->span, "output", "format",
                            names, n);
        }
    }
}

/* ---- sources and stages ---------------------------------------------------------------------- */

enum { NAME_MAX_BYTES = 64 };

struct builder {
    struct ts_chain *chain;
    struct ts_diag *diag;
    const char *folder;
};

static const char *const stage_keys[] = {"name", "input"};

static struct load loader(const struct builder *builder)
{
    return (struct load){.arena = builder->chain->arena,
                         .diag = builder->diag,
                         .folder = builder->folder,
                         .version = builder->chain->version};
}

static void chain_build_report(const struct builder *builder, const struct node *node,
                               const char *code, const char *owner, const char *message)
{
    if (node->kind != NODE_REFUSED)
        ts_diag_error(builder->diag, TS_BAD_CHAIN,
                      &(struct diag_site){.code = code, .span = node->span, .stage = owner}, "%s",
                      message);
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Returns the node of a name (a source, or a stage's `name:`), or -1. A stage whose `name:` was
   refused is not found. */
static int32_t find_name(const struct ts_chain *chain, const char *name)
{
    for (int32_t i = 0; i < chain->n_sources; i++)
        if (chain->sources[i].name && !strcmp(chain->sources[i].name, name))
            return i;
    for (int32_t i = 0; i < chain->n_stages; i++)
        if (chain->stages[i].name && !strcmp(chain->stages[i].name, name))
            return chain->n_sources + i;
    return -1;
}

/* Returns the node to which stage `stage` refers by the text at `span`, or -1 (reported as `site`:
   ...). */
static int32_t resolve_name(const struct ts_chain *chain, int32_t stage, const char *name,
                            struct ts_span span, const char *site, struct ts_diag *diag)
{
    const int32_t node = find_name(chain, name);
    if (node >= 0 && node < chain->n_sources + stage)
        return node;
    char shown[TREE_SHOWN_BYTES];
    if (node >= 0) {
        ts_diag_error(diag, TS_BAD_CHAIN,
                      &(struct diag_site){.code = "name-later", .span = span, .stage = site},
                      "'%s' is the name of %s (line %d)", ts_tree_shown(name, shown),
                      node == chain->n_sources + stage ? "this stage itself" : "a later stage",
                      chain->stages[node - chain->n_sources].name_span.line);
        ts_diag_hint(diag,
                     "a stage takes what stands before it: outputs of earlier stages, and sources");
        return -1;
    }
    const char *names[CHAIN_MAX_SOURCES + CHAIN_MAX_STAGES];
    size_t n = 0;
    for (int32_t i = 0; i < chain->n_sources; i++)
        if (chain->sources[i].name)
            names[n++] = chain->sources[i].name;
    for (int32_t i = 0; i < stage; i++)
        if (chain->stages[i].name)
            names[n++] = chain->stages[i].name;
    ts_load_unknown(diag, name, span, site, "name", names, n);
    return -1;
}

bool ts_chain_resolve_references(const struct ts_chain *chain, int32_t stage, struct ts_diag *diag)
{
    const struct chain_stage *self = &chain->stages[stage];
    bool ok = true;
    for (size_t i = 0; i < self->set.n_params; i++) {
        const struct param *param = &self->set.params[i];
        struct ts_reference *reference = ts_param_field(&self->set, i);
        if (param->kind != PARAM_REFERENCE || !(self->set.given >> i & 1))
            continue;
        char site[160];
        snprintf(site, sizeof site, "%s.%s", self->set.owner, param->name);
        reference->node =
            resolve_name(chain, stage, reference->name, self->set.spans[i], site, diag);
        ok &= reference->node >= 0;
    }
    return ok;
}

/* Returns true if the text is [A-Za-z][A-Za-z0-9_-]{0,63}, so that it can name a group of the
   output file. */
static bool is_name(const char *text)
{
    const size_t length = strlen(text);
    if (length == 0 || length > NAME_MAX_BYTES || !isalpha((unsigned char)*text))
        return false;
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        if (*c > 0x7F || (!isalnum(*c) && *c != '_' && *c != '-'))
            return false;
    return true;
}

/* Returns a copy of a new name of a source or stage; NULL if it is not allowed (reported). */
static const char *new_name(struct builder *builder, const struct node *node, const char *owner)
{
    const char *text = ts_load_text(builder->diag, node, owner, "a name");
    char shown[TREE_SHOWN_BYTES];
    if (!text)
        return NULL;
    const struct diag_site site = {.code = "name-invalid", .span = node->span, .stage = owner};
    if (!is_name(text)) {
        ts_diag_error(builder->diag, TS_BAD_CHAIN, &site, "'%s' is not a name",
                      ts_tree_shown(text, shown));
        ts_diag_hint(builder->diag, "a letter, then letters, digits, _ and -, at most %d in all",
                     NAME_MAX_BYTES);
        return NULL;
    }
    const int32_t taken = find_name(builder->chain, text);
    if (taken >= 0) {
        const int32_t stage = taken - builder->chain->n_sources;
        if (stage < 0)
            ts_diag_error(builder->diag, TS_BAD_CHAIN, &site, "'%s' is the name of a source", text);
        else
            ts_diag_error(builder->diag, TS_BAD_CHAIN, &site, "the name '%s' is taken in line %d",
                          text, builder->chain->stages[stage].name_span.line);
        ts_diag_hint(builder->diag, "choose another name for this one");
        return NULL;
    }
    const char *copy = ts_arena_text(builder->chain->arena, text, strlen(text));
    if (!copy)
        ts_diag_no_memory(builder->diag, strlen(text));
    return copy;
}

/* ---- sources --------------------------------------------------------------------------------- */

int ts_chain_path_param(const struct source_format *format)
{
    size_t i;
    return ts_param_find(format->params, format->n_params, format->name, &i) ? (int)i : -1;
}

/* Hints at the format of a file or folder that stands where a format belongs. Returns false if the
   text is neither. */
static bool hint_at_path(const struct builder *builder, const char *path)
{
    const char *format = ts_source_format_of_path(path), *dot = strrchr(path, '.'), * or = "";
    if (!format)
        return false;
    if (!strcmp(format, "result"))
        or = ", or if it is a scan the format `nexus` or `exchange`";
    else if (!strcmp(format, "dicom") && (!dot || strcasecmp(dot, ".dcm") != 0))
        or = ", or if it is a scan in TIFF files the format `tiff`";
    ts_diag_hint(builder->diag, "a format stands before the path: input: {%s: %s}%s", format, path,
                 or);
    return true;
}

static const struct source_format *find_format(const struct builder *builder,
                                               const struct node *map, const char *owner)
{
    const struct source_format *found = NULL;
    const char *names[32];
    size_t n = 0;
    for (size_t i = 0; ts_source_formats[i] && n < sizeof names / sizeof *names; i++)
        names[n++] = ts_source_formats[i]->name;
    for (const struct node *entry = map->first; entry; entry = entry->next) {
        const struct source_format *format = ts_source_format_find(entry->key->text);
        if (format && found) {
            chain_build_report(builder, entry->key, "two-formats", owner,
                               "a second format; a source has one");
            return NULL;
        }
        found = format ? format : found;
    }
    if (!found && map->first)
        ts_load_unknown(builder->diag, map->first->key->text, map->first->key->span, owner,
                        "format", names, n);
    else if (!found)
        chain_build_report(builder, map, "no-format", owner, "the format is missing");
    if (!found && !(map->first && ts_nearest_name(map->first->key->text, names, n))) {
        char known[256];
        if (map->first && hint_at_path(builder, map->first->key->text))
            return NULL;
        ts_list_names(known, sizeof known, names, n);
        ts_diag_hint(builder->diag,
                     "an input is a format and a path, such as input: {dicom: FOLDER}; known: %s",
                     known);
    }
    return found;
}

/* Appends a copy of an entry under this name. Reports an error if the map has that name already. */
static bool copy_entry(const struct builder *builder, struct node *map, const struct node *entry,
                       const char *name, const char *owner)
{
    struct node *copy = ts_arena_alloc(builder->chain->arena, sizeof *copy),
                *key = ts_arena_alloc(builder->chain->arena, sizeof *key);
    if (!copy || !key) {
        ts_diag_no_memory(builder->diag, sizeof *copy + sizeof *key);
        return false;
    }
    if (ts_tree_find(map, name)) {
        chain_build_report(builder, entry->key, "duplicate-key", owner,
                           "this parameter is given twice for the input");
        return false;
    }
    *copy = *entry;
    *key = *entry->key;
    key->text = name;
    copy->next = NULL;
    ts_tree_enter(map, key, copy);
    return true;
}

/* Returns the key of the path in a map of a format's parameters: the name of the format, or a word
   for a path that is no parameter. A pattern with a folder, and a list of patterns, are paths
   themselves. NULL if there is none. */
static const char *path_key(const struct node *inner, const struct source_format *format)
{
    const char *const words[] = {format->name, "path", "folder", "file", "files"};
    size_t i;
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if (ts_tree_find(inner, words[k]) &&
            (k == 0 || !ts_param_find(format->params, format->n_params, words[k], &i)))
            return words[k];
    const struct node *pattern = ts_tree_find(inner, "pattern");
    return pattern && (!pattern->text || strchr(pattern->text, '/')) ? "pattern" : NULL;
}

/* Joins a pattern of names that has no folder to the path of the chain's folder; -i may still
   replace it. */
static bool add_folder(const struct builder *builder, struct node *map, const struct node *pattern,
                       const char *format, const char *owner)
{
    struct node folder = *pattern;
    folder.text = ".";
    return copy_entry(builder, map, &folder, format, owner);
}

/* Makes {FORMAT: PATH, parameter: value} of {FORMAT: {path: PATH, parameter: value}}, and returns
   other maps as they are. Returns NULL if memory is out or a parameter occurs twice (reported). */
static const struct node *unfold(const struct builder *builder, const struct node *map,
                                 const struct source_format *format, const char *owner)
{
    const struct node *inner = ts_tree_find(map, format->name);
    if (!inner || inner->kind != NODE_MAP)
        return map;
    const char *path = path_key(inner, format);
    struct node *flat = ts_arena_alloc(builder->chain->arena, sizeof *flat);
    if (!flat) {
        ts_diag_no_memory(builder->diag, sizeof *flat);
        return NULL;
    }
    *flat = (struct node){.kind = NODE_MAP,
                          .incomplete = map->incomplete || inner->incomplete,
                          .span = map->span,
                          .key = map->key};
    for (const struct node *entry = map->first; entry; entry = entry->next)
        if (entry != inner && !copy_entry(builder, flat, entry, entry->key->text, owner))
            return NULL;
    for (const struct node *entry = inner->first; entry; entry = entry->next)
        if (!copy_entry(builder, flat, entry,
                        path && !strcmp(entry->key->text, path) ? format->name : entry->key->text,
                        owner))
            return NULL;
    const struct node *pattern = path ? NULL : ts_tree_find(inner, "pattern");
    return !pattern || add_folder(builder, flat, pattern, format->name, owner) ? flat : NULL;
}

/* Finds the earlier source that `like:` names; NULL if there is none (reported). */
static const struct chain_source *find_like(const struct builder *builder, const struct node *node,
                                            const char *owner)
{
    const struct ts_chain *chain = builder->chain;
    const char *name = ts_load_text(builder->diag, node, owner, "the name of an earlier input");
    const char *names[CHAIN_MAX_SOURCES];
    size_t n = 0;
    for (int32_t i = 0; name && i < chain->n_sources && strcmp(chain->sources[i].name, owner);
         i++) {
        names[n++] = chain->sources[i].name;
        if (strcmp(chain->sources[i].name, name))
            continue;
        if (chain->sources[i].format)
            return &chain->sources[i];
        chain_build_report(builder, node, "no-format", owner,
                           "the input that it is to be like is not in the chain");
        return NULL;
    }
    if (name)
        ts_load_unknown(builder->diag, name, node->span, owner, "name", names, n);
    return NULL;
}

/* Returns true for a parameter of the angles of views, which flats and darks do not have. */
static bool is_of_views(const char *name)
{
    static const char *const names[] = {"angles",      "angles_file", "angle_start",
                                        "angle_stop",  "endpoint",    "angle_offset",
                                        "angle_sense", "gaps",        "drop_views"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i]))
            return true;
    return false;
}

/* Takes over the values that are given for the other source. */
static void take_over(const struct node *map, const struct param_set *other, struct param_set *set)
{
    const struct node *frames = ts_tree_find(map, "frames");
    const bool numbered = frames && frames->text && strcmp(frames->text, "projections") != 0;
    for (size_t i = 0; i < set->n_params; i++) {
        if (!(other->given >> i & 1) || (numbered && is_of_views(set->params[i].name)))
            continue;
        memcpy(ts_param_field(set, i), ts_param_field(other, i),
               ts_param_bytes(set->params[i].kind));
        set->spans[i] = other->spans[i];
        set->given |= 1U << i;
        set->given_in_unit |= other->given_in_unit & 1U << i;
        set->own_values[i] = other->own_values[i];
    }
}

/* Builds a source from {like: NAME, parameter: value}: it has the other source's format and values,
   except those that are given here. */
static void build_like(struct builder *builder, const struct node *map, const struct node *like,
                       const char *owner, struct chain_source *source)
{
    static const char *const keys[] = {"like"};
    struct load load = loader(builder);
    const struct chain_source *other = find_like(builder, like, owner);
    const struct source_format *format = other ? other->format : NULL;
    if (!format || !ts_load_begin(&load, format->params, format->n_params, format->params_bytes,
                                  owner, map->key->span, &source->set))
        return;
    map = unfold(builder, map, format, owner);
    if (!map)
        return;
    take_over(map, &other->set, &source->set);
    source->format = format;
    if (!ts_tree_find(map, format->name))
        source->like = other->like ? other->like : other;
    load.path = format->name;
    load.other_keys = keys;
    load.n_other_keys = 1;
    ts_load_params(&load, map, &source->set);
}

/* Builds one source from its map {format: path, parameter: value}, or {format: {path: path,
 * parameter: value}}. */
static void build_source(struct builder *builder, const struct node *map, const char *owner,
                         struct chain_source *source)
{
    struct load load = loader(builder);
    if (map->kind != NODE_MAP) {
        ts_load_expected(builder->diag, map, owner, "a map such as {dicom: FOLDER}");
        return;
    }
    const struct node *like = ts_tree_find(map, "like");
    if (like && source != builder->chain->sources) {
        build_like(builder, map, like, owner, source);
        return;
    }
    const struct source_format *format = find_format(builder, map, owner);
    if (!format || !ts_load_begin(&load, format->params, format->n_params, format->params_bytes,
                                  owner, map->key->span, &source->set))
        return;
    map = unfold(builder, map, format, owner);
    if (!map)
        return;
    source->format = format;
    load.path = format->name;
    ts_load_params(&load, map, &source->set);
}

static void build_sources(struct builder *builder, const struct node *input,
                          const struct node *inputs)
{
    struct ts_chain *chain = builder->chain;
    chain->sources[0].name = "input";
    chain->n_sources = 1;
    if (input)
        build_source(builder, input, "input", &chain->sources[0]);
    if (inputs && inputs->kind != NODE_MAP) {
        ts_load_expected(builder->diag, inputs, "inputs", "a map such as {atlas: {dicom: FOLDER}}");
        return;
    }
    for (const struct node *entry = inputs ? inputs->first : NULL; entry; entry = entry->next) {
        if (chain->n_sources == CHAIN_MAX_SOURCES) {
            chain_build_report(builder, entry->key, "chain-limit", "inputs",
                               "a chain has at most 16 sources");
            return;
        }
        struct chain_source *source = &chain->sources[chain->n_sources];
        const char *name = new_name(builder, entry->key, "inputs");
        if (!name)
            continue;
        source->name = name;
        chain->n_sources++;
        build_source(builder, entry, name, source);
    }
}

/* ---- stages ---------------------------------------------------------------------------------- */

/* Returns the one entry {name: parameters} of an item of the list, or the bare name itself. NULL if
 * it is neither (reported). */
static const struct node *stage_entry(const struct builder *builder, const struct node *item)
{
    if (item->kind == NODE_SCALAR && ts_load_text(builder->diag, item, NULL, "a stage"))
        return item;
    if (item->kind == NODE_MAP && item->n == 1)
        return item->first;
    if (item->kind == NODE_MAP && item->n > 1) {
        ts_diag_error(
            builder->diag, TS_BAD_CHAIN,
            &(struct diag_site){.code = "stage-keys", .span = item->first->next->key->span},
            "a stage is one name with its parameters, and this is a second key");
        ts_diag_hint(builder->diag, "- %s: {...}, or indent the parameters further than the name",
                     item->first->key->text);
    } else if ((item->kind == NODE_MAP && !item->incomplete) || item->kind == NODE_LIST) {
        ts_load_expected(builder->diag, item, NULL, "a stage such as `box: {radius: 2}`");
    }
    return NULL;
}

static const struct node *stage_name(const struct node *entry)
{
    return entry->key ? entry->key : entry;
}

static const struct stage *find_stage(const struct builder *builder, const struct node *name)
{
    const struct stage_registry *stages = ts_context_stages(builder->chain->context);
    const struct stage *stage = ts_registry_find(stages, name->text);
    if (stage)
        return stage;
    const char *names[CHAIN_MAX_STAGES];
    const size_t n = ts_registry_names(stages, names, sizeof names / sizeof *names);
    ts_load_unknown(builder->diag, name->text, name->span, NULL, "stage", names, n);
    char first[64];
    snprintf(first, sizeof first, "%.*s", (int)strcspn(name->text, " {="), name->text);
    if (ts_registry_find(stages, first))
        ts_diag_hint(builder->diag, "a colon stands behind the name of a stage: - %s: {...}",
                     first);
    return NULL;
}

/* Returns the value of `name:`, or NULL. */
static const struct node *stage_label(const struct node *item)
{
    const struct node *entry = item->kind == NODE_MAP && item->n == 1 ? item->first : NULL;
    return entry && entry->kind == NODE_MAP ? ts_tree_find(entry, "name") : NULL;
}

/* The first pass gives stages those of their names that are allowed. */
static void name_stage(struct builder *builder, const struct node *item, struct chain_stage *stage)
{
    const struct node *label = stage_label(item);
    if (!label || label->kind != NODE_SCALAR)
        return;
    stage->name_span = label->span;
    if (!is_name(label->text) || find_name(builder->chain, label->text) >= 0)
        return;
    stage->name = ts_arena_text(builder->chain->arena, label->text, strlen(label->text));
    if (!stage->name)
        ts_diag_no_memory(builder->diag, strlen(label->text));
}

/* The last image is always written, so a save at the end needs no name. */
static void check_stage_name(struct builder *builder, const struct node *item,
                             const struct chain_stage *stage)
{
    const struct node *label = stage_label(item);
    char site[160];
    snprintf(site, sizeof site, "%s.name", stage->stage->name);
    if (label && !stage->name) {
        new_name(builder, label, site);
    } else if (!label && (stage->stage->traits & TRAIT_KEEPS_IMAGE) && item->next) {
        ts_diag_error(
            builder->diag, TS_BAD_CHAIN,
            &(struct diag_site){.code = "parameter-missing", .span = stage->span, .stage = site},
            "required, but not given");
        ts_diag_hint(builder->diag, "name: names the result in the output file");
    }
}

/* The second pass finds out what the stage is, its parameters and its input. */
static void build_stage(struct builder *builder, const struct node *item, int32_t index)
{
    struct ts_chain *chain = builder->chain;
    struct chain_stage *stage = &chain->stages[index];
    struct load load = loader(builder);
    load.other_keys = stage_keys;
    load.n_other_keys = sizeof stage_keys / sizeof *stage_keys;
    load.sweep = &chain->sweep;
    stage->input_node = index == 0 ? 0 : chain->n_sources + index - 1;
    const struct node *entry = stage_entry(builder, item);
    if (!entry)
        return;
    const struct node *name = stage_name(entry);
    stage->span = name->span;
    stage->stage = find_stage(builder, name);
    if (!stage->stage ||
        !ts_load_begin(&load, stage->stage->params, stage->stage->n_params,
                       stage->stage->params_bytes, stage->stage->name, stage->span, &stage->set))
        return;
    static const struct node no_parameters = {.kind = NODE_MAP};
    const bool swept = chain->sweep.n > 0;
    ts_load_params(&load, entry->key ? entry : &no_parameters, &stage->set);
    if (!swept)
        chain->sweep.stage = index;
    if (entry->kind != NODE_REFUSED)
        check_stage_name(builder, item, stage);
    ts_chain_resolve_references(chain, index, builder->diag);
    const struct node *input = entry->kind == NODE_MAP ? ts_tree_find(entry, "input") : NULL;
    if (!input)
        return;
    char site[160];
    snprintf(site, sizeof site, "%s.input", stage->stage->name);
    const char *from =
        ts_load_text(builder->diag, input, site, "the name of an earlier output or source");
    if (from)
        stage->input_node = resolve_name(chain, index, from, input->span, site, builder->diag);
}

static void build_stages(struct builder *builder, const struct node *list)
{
    struct ts_chain *chain = builder->chain;
    if (list->kind != NODE_LIST) {
        ts_load_expected(builder->diag, list, "stages", "a list of stages");
        if (list->kind != NODE_REFUSED)
            ts_diag_hint(builder->diag, "each stage stands in its own line: - box: {radius: 2}");
        return;
    }
    if (list->n > CHAIN_MAX_STAGES) {
        chain_build_report(builder, list, "chain-limit", "stages",
                           "a chain has at most 256 stages");
        return;
    }
    /* A chain without stages writes its input unchanged, like a chain of one save. */
    const struct node save = {.kind = NODE_SCALAR, .text = "save", .span = list->span};
    const struct node only_save = {.kind = NODE_LIST, .n = 1, .first = (struct node *)&save};
    if (list->n == 0)
        list = &only_save;
    chain->stages = ts_arena_alloc(chain->arena, (size_t)list->n * sizeof *chain->stages);
    if (!chain->stages) {
        ts_diag_no_memory(builder->diag, (size_t)list->n * sizeof *chain->stages);
        return;
    }
    /* n_stages grows as stages are added, so that a name is found only among earlier ones. */
    for (const struct node *item = list->first; item; item = item->next, chain->n_stages++)
        name_stage(builder, item, &chain->stages[chain->n_stages]);
    int32_t index = 0;
    for (const struct node *item = list->first; item; item = item->next)
        build_stage(builder, item, index++);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void check_version(struct builder *builder, const struct node *root,
                          const struct node *version)
{
    char shown[TREE_SHOWN_BYTES];
    if (!version) {
        ts_diag_error(builder->diag, TS_BAD_CHAIN,
                      &(struct diag_site){.code = "version-missing",
                                          .span = {root->span.line, root->span.column, 1}},
                      "the key `tomostage` is missing");
        ts_diag_hint(builder->diag, "the first line of a chain is: tomostage: 2");
        return;
    }
    const char *text = ts_load_text(builder->diag, version, "tomostage", "2");
    const struct diag_site site = {
        .code = "version-unknown", .span = version->span, .stage = "tomostage"};
    if (text && version->quoted)
        ts_diag_error(builder->diag, TS_BAD_CHAIN, &site, "'%s' is a text in quotes, not a number",
                      ts_tree_shown(text, shown));
    else if (text && !strcmp(text, "1"))
        builder->chain->version = 1;
    else if (text && strcmp(text, "2"))
        ts_diag_error(builder->diag, TS_BAD_CHAIN, &site,
                      "'%s' is not a version of the chain's form; this program reads 1 and 2",
                      ts_tree_shown(text, shown));
}

void ts_chain_build(struct ts_chain *chain, const struct node *root, const char *folder,
                    struct ts_diag *diag)
{
    static const char *const keys[] = {"tomostage", "input", "inputs", "stages", "output"};
    enum { VERSION, INPUT, INPUTS, STAGES, OUTPUT, N_KEYS };
    const struct node *values[N_KEYS] = {NULL};
    struct builder builder = {.chain = chain, .diag = diag, .folder = folder};
    bool meant_stages = false;
    chain->version = CHAIN_VERSION;
    if (root->kind != NODE_MAP) {
        ts_load_expected(diag, root, NULL,
                         "a map with the keys tomostage, input, stages and output");
        ts_diag_hint(
            diag, "a chain begins with the line `tomostage: 2`; an image is named in it, or by -i");
        return;
    }
    for (const struct node *entry = root->first; entry; entry = entry->next) {
        size_t i = 0;
        while (i < N_KEYS && strcmp(keys[i], entry->key->text))
            i++;
        if (i < N_KEYS)
            values[i] = entry;
        else
            meant_stages |= ts_load_unknown(diag, entry->key->text, entry->key->span, NULL, "key",
                                            keys, N_KEYS) == keys[STAGES];
    }
    check_version(&builder, root, values[VERSION]);
    build_sources(&builder, values[INPUT], values[INPUTS]);
    if (values[STAGES])
        build_stages(&builder, values[STAGES]);
    else if (!meant_stages && !root->incomplete) {
        ts_diag_error(diag, TS_BAD_CHAIN,
                      &(struct diag_site){.code = "stages-missing",
                                          .span = {root->span.line, root->span.column, 1}},
                      "the key `stages` is missing");
        ts_diag_hint(diag, "stages: [] writes the input as it is");
    }
    const struct load load = loader(&builder);
    if (values[OUTPUT])
        build_output(chain, &load, values[OUTPUT]);
}
