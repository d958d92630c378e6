/* SPDX-License-Identifier: Apache-2.0
 *
 * The reader goes through the text once, character by character. Words become the nodes that the same chain in YAML
 * would give, with the places of the words for messages.
 */
#include "pipeline/chain/oneline.h"

#include <string.h>

#include "io/sink/sink.h"
#include "io/source/source.h"
#include "pipeline/chain/oneline_value.h"
#include "stages/engine/stage.h"

enum { CHAIN_NAMES = 128 }; /* more than there are stages, or formats */

/* A word of a segment stands alone, or as key=value, which has key_length > 0. */
struct word {
    size_t start, key_length;
    struct node *value;
};

bool ts_oneline_is(const char *text, size_t length)
{
    while (length > 0 && ts_reader_is_space(text[length - 1]))
        length--;
    if (memchr(text, '\n', length))
        return false;
    size_t start = 0, end;
    while (start < length && ts_reader_is_space(text[start]))
        start++;
    for (end = start; end < length && !ts_reader_is_space(text[end]) && text[end] != '|'; end++)
        ;
    if (start < length && text[start] == '|') /* a chain without its first stage */
        return true;
    /* A line of YAML starts with a key or one of its marks. */
    return end > start && text[end - 1] != ':' && !strchr("-{[]}#%&*!|>?@`'\",", text[start]);
}

static bool read_word(struct reader *reader, struct word *word)
{
    *word = (struct word){.start = reader->at};
    size_t end = reader->at;
    while (end < reader->tree->length && ts_reader_is_name(reader->tree->text[end]))
        end++;
    if (end > reader->at && end < reader->tree->length && reader->tree->text[end] == '=') {
        word->key_length = end - reader->at;
        reader->at = end + 1;
        word->value = ts_reader_value(reader);
    } else {
        word->value = ts_reader_item(reader, false);
    }
    return word->value != NULL;
}

static struct node *text_node(struct reader *reader, struct ts_span span, const char *text)
{
    return ts_tree_scalar(reader->tree, span, text, strlen(text), false);
}

/* Enters a value under a key that has no place of its own. */
static bool enter(struct reader *reader, struct node *map, const char *key, struct ts_span span, struct node *value)
{
    struct node *key_node = value ? text_node(reader, span, key) : NULL;
    if (key_node)
        ts_tree_enter(map, key_node, value);
    return key_node != NULL;
}

/* Enters a word key=value. */
static void enter_word(struct reader *reader, struct node *map, const struct word *word)
{
    struct node *key = ts_tree_scalar(reader->tree, ts_reader_span(word->start, word->key_length),
                                      reader->tree->text + word->start, word->key_length, false);
    if (key && ts_tree_key_check(reader->tree, map, key))
        ts_tree_enter(map, key, word->value);
}

/* Returns true where the word key=value is a parameter of the stage that the word before it names, and not of the
 * source: `dicom ./study box radius=2`. Reports the | that is missing. */
static bool lacks_bar(struct reader *reader, const char *format_name, const struct node *before,
                      const struct word *word)
{
    char key[64];
    const struct stage *stage = before && !before->quoted ? ts_stage_find(before->text) : NULL;
    const struct source_format *format = ts_source_format_find(format_name);
    snprintf(key, sizeof key, "%.*s", (int)word->key_length, reader->tree->text + word->start);
    if (!stage || !format || !ts_param_find(stage->params, stage->n_params, key, NULL) ||
        ts_param_find(format->params, format->n_params, key, NULL))
        return false;
    ts_reader_refuse(reader, (size_t)before->span.column - 1, (size_t)before->span.length,
                     "a | is missing before the name of a stage");
    ts_diag_hint(reader->tree->diag, "| %s %s=...", stage->name, key);
    return true;
}

/* Adds a path, or those of a list between brackets, to the list of all paths of a segment. */
static bool add_paths(struct reader *reader, struct node **paths, struct node *value)
{
    if (!*paths)
        *paths = value->kind == NODE_LIST ? value : ts_tree_node(reader->tree, NODE_LIST, value->span);
    if (!*paths || *paths == value)
        return *paths != NULL;
    if (value->kind != NODE_LIST)
        ts_tree_append(*paths, value);
    for (struct node *item = value->kind == NODE_LIST ? value->first : NULL, *next; item; item = next) {
        next = item->next;
        item->next = NULL;
        ts_tree_append(*paths, item);
    }
    return true;
}

/* Reads the words after the first of a source or output segment: the paths, and key=value. Paths go under `name`. */
static bool read_paths(struct reader *reader, struct node *map, const struct node *name)
{
    struct node *paths = NULL;
    bool brackets = false;
    for (ts_reader_skip_spaces(reader); !ts_reader_at_end(reader) && ts_reader_peek(reader) != '|';
         ts_reader_skip_spaces(reader)) {
        struct word word = {.start = reader->at};
        const bool list = ts_reader_peek(reader) == '[';
        if (list)
            word.value = ts_reader_value(reader);
        if (list ? !word.value : !read_word(reader, &word))
            return false;
        brackets |= list;
        if (word.key_length > 0) {
            if (paths && paths->n > 1 && lacks_bar(reader, name->text, paths->last, &word))
                return false;
            enter_word(reader, map, &word);
        } else if (!add_paths(reader, &paths, word.value)) {
            return false;
        }
        if (reader->tree->stopped)
            return false;
    }
    if (paths) {
        struct node *key = text_node(reader, name->span, name->text);
        if (key && ts_tree_key_check(reader->tree, map, key))
            ts_tree_enter(map, key, brackets || paths->n > 1 ? paths : paths->first);
        return !reader->tree->stopped;
    }
    /* A bare name gets an empty value, so that the loader reports what is missing. */
    return ts_tree_find(map, name->text) ||
           enter(reader, map, name->text, name->span, text_node(reader, name->span, ""));
}

/* Returns true where a word is a key whose = stands behind a space: `radius = 1`, `radius =1`. Reports it, and reads on
 * behind the =, so that the parameter does not seem to be missing as well. */
static bool read_spaced(struct reader *reader, struct word *word)
{
    const char *text = reader->tree->text;
    const size_t length = reader->at - word->start, start = reader->at;
    ts_reader_skip_spaces(reader);
    if (word->key_length > 0 || ts_reader_peek(reader) != '=' || !ts_reader_is_name(text[word->start])) {
        reader->at = start;
        return false;
    }
    ts_diag_error(reader->tree->diag, TS_BAD_CHAIN,
                  &(struct diag_site){.code = "oneline-syntax", .span = ts_reader_span(start, reader->at + 1 - start)},
                  "no space may stand beside =");
    ts_diag_hint(reader->tree->diag, "%.*s=VALUE", (int)length, text + word->start);
    reader->at++;
    ts_reader_skip_spaces(reader);
    word->key_length = length;
    word->value = ts_reader_value(reader);
    return true;
}

/* Adds the way out to the error about a word that is no parameter: a colon in place of =, an option of the command in
 * the quotes of the chain, or a value alone. */
static void hint_at_word(struct reader *reader, const char *owner, const struct node *word)
{
    const size_t length = strlen(word->text);
    if (*word->text == '-')
        ts_diag_hint(reader->tree->diag,
                     "options of the command, such as -o FILE, stand outside the quotes of the chain");
    else if (length > 1 && word->text[length - 1] == ':')
        ts_diag_hint(reader->tree->diag, "%.*s=VALUE", (int)length - 1, word->text);
    else
        ts_diag_hint(reader->tree->diag, "%s PARAMETER=VALUE, and | before the next stage", owner);
}

static bool read_parameters(struct reader *reader, const char *owner, struct node *map)
{
    for (ts_reader_skip_spaces(reader); !ts_reader_at_end(reader) && ts_reader_peek(reader) != '|';
         ts_reader_skip_spaces(reader)) {
        struct word word;
        if (!read_word(reader, &word) || (read_spaced(reader, &word) && !word.value))
            return false;
        if (word.key_length == 0) {
            ts_diag_error(reader->tree->diag, TS_BAD_CHAIN,
                          &(struct diag_site){.code = "oneline-syntax", .span = word.value->span},
                          "parameter=value is expected here");
            hint_at_word(reader, owner, word.value);
            continue;
        }
        enter_word(reader, map, &word);
        if (reader->tree->stopped)
            return false;
    }
    return true;
}

/* Reads `input NAME FORMAT PATH key=value`, or `input NAME like=OTHER key=value`, into the map of the further inputs.
 */
static bool read_further_input(struct reader *reader, const struct node *keyword, struct node *map)
{
    struct node *root = reader->tree->root;
    struct node *inputs = (struct node *)ts_tree_find(root, "inputs");
    struct word name, format;
    ts_reader_skip_spaces(reader);
    if (ts_reader_at_end(reader) || ts_reader_peek(reader) == '|' || !read_word(reader, &name) || name.key_length > 0) {
        if (!reader->tree->stopped)
            ts_reader_refuse(reader, (size_t)keyword->span.column - 1, (size_t)keyword->span.length,
                             "the name of the further input is expected after `input`");
        ts_diag_hint(reader->tree->diag, "`input NAME FORMAT PATH`, or `input NAME like=input frames=flats`");
        return false;
    }
    ts_reader_skip_spaces(reader);
    const size_t start = reader->at;
    if (!ts_reader_at_end(reader) && ts_reader_peek(reader) != '|' && !read_word(reader, &format))
        return false;
    const bool has_format = reader->at > start && format.key_length == 0;
    if (!has_format)
        reader->at = start;
    if (!(has_format ? read_paths(reader, map, format.value) : read_parameters(reader, keyword->text, map)))
        return false;
    if (!inputs) {
        inputs = ts_tree_node(reader->tree, NODE_MAP, keyword->span);
        if (!inputs || !enter(reader, root, "inputs", keyword->span, inputs))
            return false;
    }
    if (ts_tree_key_check(reader->tree, inputs, name.value))
        ts_tree_enter(inputs, name.value, map);
    return !reader->tree->stopped;
}

/* Reads the name at the start of a segment; NULL where it is missing, or where something stands against it (reported).
 */
static struct node *read_name(struct reader *reader)
{
    char name[64];
    ts_reader_skip_spaces(reader);
    const size_t start = reader->at;
    size_t letters = start;
    while (letters < reader->tree->length && ts_reader_is_name(reader->tree->text[letters]))
        letters++;
    while (!ts_reader_at_end(reader) && !ts_reader_is_space(ts_reader_peek(reader)) && ts_reader_peek(reader) != '|')
        reader->at++;
    if (reader->at == start) {
        ts_reader_refuse(reader, start, 1, "the name of a stage is expected here");
        return NULL;
    }
    snprintf(name, sizeof name, "%.*s", (int)(letters - start), reader->tree->text + start);
    if (letters < reader->at && ts_stage_find(name)) {
        ts_reader_refuse(reader, letters, reader->at - letters, "a space is expected after the name of the stage");
        ts_diag_hint(reader->tree->diag, "%s PARAMETER=VALUE", name);
        return NULL;
    }
    return ts_tree_scalar(reader->tree, ts_reader_span(start, reader->at - start), reader->tree->text + start,
                          reader->at - start, false);
}

static bool is_output(const char *text, size_t length)
{
    char name[16];
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1), text);
    return strlen(name) == length && (!strcmp(name, "hdf5") || ts_sink_find(name));
}

/* Returns true where every segment behind this one is an output, too. The text is searched once: a long one may have as
 * many outputs as words. */
static bool only_outputs_follow(struct reader *reader)
{
    const char *text = reader->tree->text;
    const size_t length = reader->tree->length;
    char quote = '\0';
    for (size_t i = reader->at; i < length && !reader->knows_last; i++) {
        const char c = text[i];
        if (c == '\\' && quote == '"') {
            i++;
        } else if (quote ? c == quote : c == '"' || c == '\'') {
            quote = quote ? '\0' : c;
        } else if (c == '|' && !quote) {
            size_t start = i + 1, end;
            while (start < length && ts_reader_is_space(text[start]))
                start++;
            for (end = start; end < length && !ts_reader_is_space(text[end]) && text[end] != '|'; end++)
                ;
            if (!is_output(text + start, end - start))
                reader->last_stage = start;
        }
    }
    reader->knows_last = true;
    return reader->last_stage <= reader->at;
}

/* Reads the paths and parameters of an output into the map of all outputs, which the first of them makes. */
static bool read_output(struct reader *reader, const struct node *name, struct node *map)
{
    struct node *root = reader->tree->root;
    struct node *outputs = (struct node *)ts_tree_find(root, "output");
    return outputs ? read_paths(reader, outputs, name)
                   : read_paths(reader, map, name) && enter(reader, root, "output", name->span, map);
}

/* Returns true where the first segment, of a name that is no stage's, is a source. A source has a path; a word that is
 * nearest to a stage's name is a stage that was misspelled. */
static bool is_source(const struct reader *reader, const char *name)
{
    const char *names[2 * CHAIN_NAMES];
    size_t n = 0;
    for (size_t i = 0; ts_source_formats[i] && n < CHAIN_NAMES; i++)
        names[n++] = ts_source_formats[i]->name;
    for (size_t i = 0; ts_stages[i] && n < 2 * CHAIN_NAMES; i++)
        names[n++] = ts_stages[i]->name;
    const char *nearest = ts_nearest_name(name, names, n);
    if (ts_source_format_find(name) || (nearest && ts_source_format_find(nearest)))
        return true;
    /* key=value right after the name: no path, and so a stage. */
    const char *text = reader->tree->text;
    size_t start = reader->at, end;
    while (start < reader->tree->length && ts_reader_is_space(text[start]))
        start++;
    for (end = start; end < reader->tree->length && ts_reader_is_name(text[end]); end++)
        ;
    return !nearest && !(end > start && end < reader->tree->length && text[end] == '=');
}

/* Reads one segment into the root's input, stages or output. */
static bool read_segment(struct reader *reader, struct node *stages, bool first)
{
    struct node *root = reader->tree->root;
    struct node *name = read_name(reader);
    struct node *map = name ? ts_tree_node(reader->tree, NODE_MAP, name->span) : NULL;
    if (!map)
        return false;
    if (!strcmp(name->text, "input"))
        return read_further_input(reader, name, map);
    if (first && !ts_stage_find(name->text) && is_source(reader, name->text))
        return read_paths(reader, map, name) && enter(reader, root, "input", name->span, map);
    if (is_output(name->text, strlen(name->text))) {
        if (!only_outputs_follow(reader)) {
            ts_reader_refuse(reader, (size_t)name->span.column - 1, (size_t)name->span.length,
                             "this is an output, and a stage stands behind it");
            ts_diag_hint(reader->tree->diag, "outputs stand at the end of the line; `save` keeps an image before it");
            return false;
        }
        return read_output(reader, name, map);
    }
    struct node *stage =
        read_parameters(reader, name->text, map) ? ts_tree_node(reader->tree, NODE_MAP, name->span) : NULL;
    if (!stage)
        return false;
    ts_tree_enter(stage, name, map);
    ts_tree_append(stages, stage);
    return true;
}

bool ts_oneline_read(struct tree *tree)
{
    struct reader reader = {.tree = tree};
    const struct ts_span start = {.line = 1, .column = 1, .length = 1};
    if (!ts_tree_check_text(tree))
        return false;
    tree->root = ts_tree_node(tree, NODE_MAP, start);
    struct node *stages = ts_tree_node(tree, NODE_LIST, start);
    if (!tree->root || !stages || !enter(&reader, tree->root, "tomostage", start, text_node(&reader, start, "2")) ||
        !enter(&reader, tree->root, "stages", start, stages))
        return false;
    for (bool first = true;; first = false) {
        if (!read_segment(&reader, stages, first))
            return false;
        ts_reader_skip_spaces(&reader);
        if (ts_reader_at_end(&reader))
            return true;
        reader.at++; /* the | */
    }
}
