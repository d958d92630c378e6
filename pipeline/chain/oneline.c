/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the text once, character by character. Its words become the nodes of the same chain in
 * YAML, with the places of the words for messages.
 */
#include "pipeline/chain/oneline.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "core/number.h"
#include "io/sink/sink.h"
#include "pipeline/chain/formats.h"
#include "pipeline/chain/load.h"
#include "stages/engine/registry.h"

/* ---- words, quoted texts, lists and sweeps --------------------------------------------------- */

/* Reads a value up to the first character that cannot belong to it. Quotes keep every character;
   brackets keep blanks, so that an item such as 7.38 ms needs no quotes. */

struct reader {
    struct tree *tree;
    size_t at;
    bool to_end;     /* spaces and | are part of a value */
    int depth;       /* how many brackets are open around the item that is read */
    bool knows_last; /* last_stage is known */
    /* offset of the last segment that is no output; 0: there was none after the place where the
       search began */
    size_t last_stage;
};

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_of_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-';
}

/* Returns a place in the text. The text is one line, so its lines need not be counted, which would
   take quadratic time. */
static struct ts_span span_of(size_t offset, size_t length)
{
    return (struct ts_span){.line = 1, .column = (int32_t)(offset + 1), .length = (int32_t)length};
}

/* Reports an error (oneline-syntax) and stops reading the text. */
static void oneline_refuse(struct reader *reader, size_t offset, size_t length, const char *message)
{
    ts_diag_error(reader->tree->diag, TS_BAD_CHAIN,
                  &(struct diag_site){.code = "oneline-syntax", .span = span_of(offset, length)},
                  "%s", message);
    reader->tree->stopped = true;
}

static bool at_end(const struct reader *reader)
{
    return reader->at >= reader->tree->length;
}

/* Returns the next character, or zero at the end of the text. */
static char peek(const struct reader *reader)
{
    return at_end(reader) ? '\0' : reader->tree->text[reader->at];
}

static void skip_spaces(struct reader *reader)
{
    while (!at_end(reader) && is_space(peek(reader)))
        reader->at++;
}

static bool ends_item(const struct reader *reader, bool commas)
{
    const char c = peek(reader);
    if (reader->depth > 0 && c == ']')
        return true;
    return at_end(reader) || (commas && c == ',') || (!reader->to_end && c == '|') ||
           ((!reader->to_end || reader->depth > 0) && is_space(c));
}

/* Reads a text between quotes and returns it without them. A backslash escapes the next character
   only between double quotes. */
static struct node *read_quoted(struct reader *reader)
{
    const char *bytes = reader->tree->text, quote = peek(reader);
    const size_t start = reader->at++;
    for (; !at_end(reader) && peek(reader) != quote; reader->at++)
        if (peek(reader) == '\\' && quote == '"')
            reader->at++;
    if (at_end(reader)) {
        oneline_refuse(reader, start, 1,
                       quote == '"' ? "this double quote is not closed"
                                    : "this single quote is not closed");
        return NULL;
    }
    const size_t end = reader->at++;
    char *text = ts_tree_alloc(reader->tree, end - start);
    if (!text)
        return NULL;
    size_t length = 0;
    for (size_t i = start + 1; i < end; i++) {
        i += bytes[i] == '\\' && quote == '"';
        text[length++] = bytes[i];
    }
    return ts_tree_scalar(reader->tree, span_of(start, reader->at - start), text, length, true);
}

static bool is_number(const struct reader *reader, size_t start, size_t end)
{
    char word[40];
    double value;
    if (end - start >= sizeof word)
        return false;
    memcpy(word, reader->tree->text + start, end - start);
    word[end - start] = '\0';
    return !ts_number_real(word, &value);
}

/* Passes over the blank behind a word between brackets if the item that began at `start` goes on
   behind it, as in `7.38 ms`. Between two numbers it does not go on: there a comma was
   forgotten. */
static bool goes_on(struct reader *reader, size_t start)
{
    const char *text = reader->tree->text;
    const size_t length = reader->tree->length;
    size_t next = reader->at, end;
    while (next < length && is_space(text[next]))
        next++;
    for (end = next; end < length && !is_space(text[end]) && !strchr(",]|", text[end]); end++)
        ;
    if (end == next || (is_number(reader, start, reader->at) && is_number(reader, next, end)))
        return false;
    reader->at = next;
    return true;
}

/* Read a word or a quoted text (which ends at a comma, too, if `commas`); and a value, which may be
   a list. NULL if refused (reported). */
static struct node *read_item(struct reader *reader, bool commas)
{
    struct node *item;
    if (peek(reader) == '"' || peek(reader) == '\'') {
        const bool doubled = peek(reader) == '"';
        item = read_quoted(reader);
        if (item && !ends_item(reader, commas)) {
            oneline_refuse(
                reader, reader->at, 1,
                doubled ? "a space or the end of the value is expected after the double quote"
                        : "a space or the end of the value is expected after the single quote");
            return NULL;
        }
        return item;
    }
    const size_t start = reader->at;
    while (!ends_item(reader, commas) ||
           (reader->depth > 0 && is_space(peek(reader)) && goes_on(reader, start)))
        reader->at++;
    const size_t length = reader->at - start;
    return ts_tree_scalar(reader->tree, span_of(start, length), reader->tree->text + start, length,
                          false);
}

/* Reads a list between brackets: items, or lists of items. */
static struct node *read_brackets(struct reader *reader)
{
    const size_t start = reader->at++;
    struct node *list = ts_tree_node(reader->tree, NODE_LIST, span_of(start, 1));
    if (!list)
        return NULL;
    reader->depth++;
    for (skip_spaces(reader); peek(reader) != ']'; skip_spaces(reader)) {
        struct node *item = peek(reader) == '[' && reader->depth == 1 ? read_brackets(reader)
                                                                      : read_item(reader, true);
        if (!item)
            return NULL;
        ts_tree_append(list, item);
        skip_spaces(reader);
        if (at_end(reader) || peek(reader) == '|') {
            oneline_refuse(reader, start, 1, "this bracket is not closed");
            return NULL;
        }
        if (peek(reader) != ',' && peek(reader) != ']') {
            oneline_refuse(reader, reader->at, 1,
                           "a comma is expected here: it divides the items of a list");
            return NULL;
        }
        reader->at += peek(reader) == ',';
    }
    reader->at++;
    reader->depth--;
    list->span = span_of(start, reader->at - start);
    return list;
}

/* Returns true if {sweep or {from begins here. No other value begins so; a text that does needs
   quotes. */
static bool is_sweep(const struct reader *reader)
{
    const size_t left = reader->tree->length - reader->at;
    const char *text = reader->tree->text + reader->at;
    return left > 6 && (!strncmp(text, "{sweep", 6) || !strncmp(text, "{from", 5)) &&
           !is_of_name(text[*(text + 1) == 's' ? 6 : 5]);
}

/* Passes over blanks, commas and a colon, which separate the words of a sweep, so that its YAML
   form is understood as well. */
static void skip_dividers(struct reader *reader)
{
    while (is_space(peek(reader)) || peek(reader) == ',' || peek(reader) == ':')
        reader->at++;
}

/* Reads a word of a sweep as a scalar. */
static struct node *read_sweep_word(struct reader *reader)
{
    const size_t start = reader->at;
    while (!at_end(reader) && !strchr(" \t,:|{}[]", peek(reader)))
        reader->at++;
    const size_t length = reader->at - start;
    return ts_tree_scalar(reader->tree, span_of(start, length), reader->tree->text + start, length,
                          false);
}

/* Adds the next key of a sweep with its value: all words up to the brace for `sweep`, one word for
   other keys. */
static bool read_sweep_entry(struct reader *reader, struct node *map)
{
    struct node *key = read_sweep_word(reader), *value = NULL;
    const bool is_list = key && !strcmp(key->text, "sweep");
    skip_dividers(reader);
    if (is_list && peek(reader) != '[')
        value = ts_tree_node(reader->tree, NODE_LIST, key->span);
    else if (key)
        value = is_list ? read_brackets(reader) : read_sweep_word(reader);
    for (skip_dividers(reader); is_list && value && !at_end(reader) && !strchr("|}", peek(reader));
         skip_dividers(reader)) {
        const size_t start = reader->at;
        struct node *item = peek(reader) == '[' ? read_brackets(reader) : read_sweep_word(reader);
        if (!item || reader->at == start)
            return false;
        ts_tree_append(value, item);
    }
    if (!value || !ts_tree_key_check(reader->tree, map, key))
        return false;
    ts_tree_enter(map, key, value);
    return true;
}

/* Reads {sweep 1 2 4}, or {from 0 to 10 step 2}, as the map that YAML would give. */
static struct node *read_sweep(struct reader *reader)
{
    const size_t start = reader->at++;
    struct node *map = ts_tree_node(reader->tree, NODE_MAP, span_of(start, 1));
    for (skip_dividers(reader); map && isalpha((unsigned char)peek(reader)); skip_dividers(reader))
        if (!read_sweep_entry(reader, map))
            break;
    if (map && !reader->tree->stopped && peek(reader) != '}')
        oneline_refuse(reader, start, 1, "this brace is not closed behind the values of a sweep");
    if (!map || reader->tree->stopped)
        return NULL;
    reader->at++;
    map->span = span_of(start, reader->at - start);
    return map;
}

/* Reads one item, a list of items between commas, one between brackets, or a sweep between
 * braces. */
static struct node *read_value(struct reader *reader)
{
    const size_t start = reader->at;
    if (is_sweep(reader))
        return read_sweep(reader);
    struct node *item = peek(reader) == '[' ? read_brackets(reader) : read_item(reader, true);
    if (item && item->kind == NODE_LIST) {
        if (ends_item(reader, false))
            return item;
        oneline_refuse(reader, reader->at, 1,
                       "a space or the end of the value is expected after the bracket");
        return NULL;
    }
    if (!item || peek(reader) != ',')
        return item;
    struct node *list = ts_tree_node(reader->tree, NODE_LIST, item->span);
    if (!list)
        return NULL;
    ts_tree_append(list, item);
    while (peek(reader) == ',') {
        reader->at++;
        item = read_item(reader, true);
        if (!item)
            return NULL;
        ts_tree_append(list, item);
    }
    list->span = span_of(start, reader->at - start);
    list->text = ts_tree_text(reader->tree, reader->tree->text + start, reader->at - start);
    return list->text ? list : NULL;
}

struct node *ts_oneline_value(struct tree *tree, size_t offset)
{
    struct reader reader = {.tree = tree, .at = offset, .to_end = true};
    return read_value(&reader);
}

/* ---- segments -------------------------------------------------------------------------------- */

enum { CHAIN_NAMES = 128 }; /* more than the number of stages or formats */

/* A word of a segment: a single one, or key=value, which has key_length > 0. */
struct word {
    size_t start, key_length;
    struct node *value;
};

bool ts_oneline_is(const char *text, size_t length)
{
    while (length > 0 && is_space(text[length - 1]))
        length--;
    if (memchr(text, '\n', length))
        return false;
    size_t start = 0, end;
    while (start < length && is_space(text[start]))
        start++;
    for (end = start; end < length && !is_space(text[end]) && text[end] != '|'; end++)
        ;
    if (start < length && text[start] == '|') /* a chain without its input begins with a bar */
        return true;
    /* A line of YAML begins with a key or a mark of YAML. */
    return end > start && text[end - 1] != ':' && !strchr("-{[]}#%&*!|>?@`'\",", text[start]);
}

static bool read_word(struct reader *reader, struct word *word)
{
    *word = (struct word){.start = reader->at};
    size_t end = reader->at;
    while (end < reader->tree->length && is_of_name(reader->tree->text[end]))
        end++;
    if (end > reader->at && end < reader->tree->length && reader->tree->text[end] == '=') {
        word->key_length = end - reader->at;
        reader->at = end + 1;
        word->value = read_value(reader);
    } else {
        word->value = read_item(reader, false);
    }
    return word->value != NULL;
}

static struct node *text_node(struct reader *reader, struct ts_span span, const char *text)
{
    return ts_tree_scalar(reader->tree, span, text, strlen(text), false);
}

/* Adds a value under a key that is not in the text. */
static bool enter(struct reader *reader, struct node *map, const char *key, struct ts_span span,
                  struct node *value)
{
    struct node *key_node = value ? text_node(reader, span, key) : NULL;
    if (key_node)
        ts_tree_enter(map, key_node, value);
    return key_node != NULL;
}

/* Adds a word key=value. */
static void enter_word(struct reader *reader, struct node *map, const struct word *word)
{
    struct node *key = ts_tree_scalar(reader->tree, span_of(word->start, word->key_length),
                                      reader->tree->text + word->start, word->key_length, false);
    if (key && ts_tree_key_check(reader->tree, map, key))
        ts_tree_enter(map, key, word->value);
}

/* Returns true if key=value is a parameter of the stage that the word before it names, and not of
   the source: `dicom ./study box radius=2`. Reports that | is missing. */
static bool lacks_bar(struct reader *reader, const char *format_name, const struct node *before,
                      const struct word *word)
{
    char key[64];
    const struct stage *stage =
        before && !before->quoted ? ts_registry_find(reader->tree->stages, before->text) : NULL;
    const struct source_format *format = ts_source_format_find(format_name);
    snprintf(key, sizeof key, "%.*s", (int)word->key_length, reader->tree->text + word->start);
    if (!stage || !format || !ts_param_find(stage->params, stage->n_params, key, NULL) ||
        ts_param_find(format->params, format->n_params, key, NULL))
        return false;
    oneline_refuse(reader, (size_t)before->span.column - 1, (size_t)before->span.length,
                   "a | is missing before the name of a stage");
    ts_diag_hint(reader->tree->diag, "| %s %s=...", stage->name, key);
    return true;
}

/* Adds a path, or the paths of a list between brackets, to all paths of a segment. */
static bool add_paths(struct reader *reader, struct node **paths, struct node *value)
{
    if (!*paths)
        *paths =
            value->kind == NODE_LIST ? value : ts_tree_node(reader->tree, NODE_LIST, value->span);
    if (!*paths || *paths == value)
        return *paths != NULL;
    if (value->kind != NODE_LIST)
        ts_tree_append(*paths, value);
    for (struct node *item = value->kind == NODE_LIST ? value->first : NULL, *next; item;
         item = next) {
        next = item->next;
        item->next = NULL;
        ts_tree_append(*paths, item);
    }
    return true;
}

/* Reads the words after the first of a source or output segment: paths, which go under `name`, and
   key=value. */
static bool read_paths(struct reader *reader, struct node *map, const struct node *name)
{
    struct node *paths = NULL;
    bool brackets = false;
    for (skip_spaces(reader); !at_end(reader) && peek(reader) != '|'; skip_spaces(reader)) {
        struct word word = {.start = reader->at};
        const bool list = peek(reader) == '[';
        if (list)
            word.value = read_value(reader);
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
    /* A bare name gets an empty value; the loader then reports what is missing. */
    return ts_tree_find(map, name->text) ||
           enter(reader, map, name->text, name->span, text_node(reader, name->span, ""));
}

/* Returns true if a blank is before the = of a key: `radius = 1`, `radius =1`. Reports it, and
   reads on behind the =, so that the parameter is not reported as missing as well. */
static bool read_spaced(struct reader *reader, struct word *word)
{
    const char *text = reader->tree->text;
    const size_t length = reader->at - word->start, start = reader->at;
    skip_spaces(reader);
    if (word->key_length > 0 || peek(reader) != '=' || !is_of_name(text[word->start])) {
        reader->at = start;
        return false;
    }
    ts_diag_error(reader->tree->diag, TS_BAD_CHAIN,
                  &(struct diag_site){.code = "oneline-syntax",
                                      .span = span_of(start, reader->at + 1 - start)},
                  "no space may stand beside =");
    ts_diag_hint(reader->tree->diag, "%.*s=VALUE", (int)length, text + word->start);
    reader->at++;
    skip_spaces(reader);
    word->key_length = length;
    word->value = read_value(reader);
    return true;
}

/* Adds a hint to the error about a word that is no parameter: it has a colon in place of =, is an
   option of the command inside the quotes of the chain, or a value without a key. */
static void hint_at_word(struct reader *reader, const char *owner, const struct node *word)
{
    const size_t length = strlen(word->text);
    if (*word->text == '-')
        ts_diag_hint(
            reader->tree->diag,
            "options of the command, such as -o FILE, stand outside the quotes of the chain");
    else if (length > 1 && word->text[length - 1] == ':')
        ts_diag_hint(reader->tree->diag, "%.*s=VALUE", (int)length - 1, word->text);
    else
        ts_diag_hint(reader->tree->diag, "%s PARAMETER=VALUE, and | before the next stage", owner);
}

static bool read_parameters(struct reader *reader, const char *owner, struct node *map)
{
    for (skip_spaces(reader); !at_end(reader) && peek(reader) != '|'; skip_spaces(reader)) {
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

/* Reads `input NAME FORMAT PATH key=value`, or `input NAME like=OTHER key=value`, into the map of
   further inputs. */
static bool read_further_input(struct reader *reader, const struct node *keyword, struct node *map)
{
    struct node *root = reader->tree->root;
    struct node *inputs = (struct node *)ts_tree_find(root, "inputs");
    struct word name, format;
    skip_spaces(reader);
    if (at_end(reader) || peek(reader) == '|' || !read_word(reader, &name) || name.key_length > 0) {
        if (!reader->tree->stopped)
            oneline_refuse(reader, (size_t)keyword->span.column - 1, (size_t)keyword->span.length,
                           "the name of the further input is expected after `input`");
        ts_diag_hint(reader->tree->diag,
                     "`input NAME FORMAT PATH`, or `input NAME like=input frames=flats`");
        return false;
    }
    skip_spaces(reader);
    const size_t start = reader->at;
    if (!at_end(reader) && peek(reader) != '|' && !read_word(reader, &format))
        return false;
    const bool has_format = reader->at > start && format.key_length == 0;
    if (!has_format)
        reader->at = start;
    if (!(has_format ? read_paths(reader, map, format.value)
                     : read_parameters(reader, keyword->text, map)))
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

/* Reads the name at the start of a segment; NULL if it is missing or is not a name (reported). */
static struct node *read_name(struct reader *reader)
{
    char name[64];
    skip_spaces(reader);
    const size_t start = reader->at;
    size_t letters = start;
    while (letters < reader->tree->length && is_of_name(reader->tree->text[letters]))
        letters++;
    while (!at_end(reader) && !is_space(peek(reader)) && peek(reader) != '|')
        reader->at++;
    if (reader->at == start) {
        oneline_refuse(reader, start, 1, "the name of a stage is expected here");
        return NULL;
    }
    snprintf(name, sizeof name, "%.*s", (int)(letters - start), reader->tree->text + start);
    char word[256];
    snprintf(word, sizeof word, "%.*s", (int)(reader->at - start), reader->tree->text + start);
    if (letters < reader->at && ts_registry_find(reader->tree->stages, name) &&
        !ts_source_format_of_path(word)) {
        oneline_refuse(reader, letters, reader->at - letters,
                       "a space is expected after the name of the stage");
        ts_diag_hint(reader->tree->diag, "%s PARAMETER=VALUE", name);
        return NULL;
    }
    return ts_tree_scalar(reader->tree, span_of(start, reader->at - start),
                          reader->tree->text + start, reader->at - start, false);
}

static bool is_output(const char *text, size_t length)
{
    char name[16];
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1),
             text);
    return strlen(name) == length && (!strcmp(name, "hdf5") || ts_sink_find(name));
}

/* Returns true if all segments behind this one are outputs, too. The text is searched only once,
   because a long one may have as many outputs as words. */
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
            while (start < length && is_space(text[start]))
                start++;
            for (end = start; end < length && !is_space(text[end]) && text[end] != '|'; end++)
                ;
            if (!is_output(text + start, end - start))
                reader->last_stage = start;
        }
    }
    reader->knows_last = true;
    return reader->last_stage <= reader->at;
}

/* Reads the paths and parameters of an output into the map of all outputs, which the first output
   creates. */
static bool read_output(struct reader *reader, const struct node *name, struct node *map)
{
    struct node *root = reader->tree->root;
    struct node *outputs = (struct node *)ts_tree_find(root, "output");
    return outputs
               ? read_paths(reader, outputs, name)
               : read_paths(reader, map, name) && enter(reader, root, "output", name->span, map);
}

/* Returns true if the first segment, whose name is no stage's, is a source: it has a path, and its
   name is not nearest to that of a stage, which would be a misspelled stage. */
static bool is_source(const struct reader *reader, const char *name)
{
    const char *names[2 * CHAIN_NAMES];
    size_t n = 0;
    for (size_t i = 0; ts_source_formats[i] && n < CHAIN_NAMES; i++)
        names[n++] = ts_source_formats[i]->name;
    n += ts_registry_names(reader->tree->stages, names + n, 2 * CHAIN_NAMES - n);
    const char *nearest = ts_nearest_name(name, names, n);
    if (ts_source_format_find(name) || (nearest && ts_source_format_find(nearest)) ||
        (strpbrk(name, "./") && ts_source_format_of_path(name)))
        return true;
    /* key=value right after the name: there is no path, so it is a stage. */
    const char *text = reader->tree->text;
    size_t start = reader->at, end;
    while (start < reader->tree->length && is_space(text[start]))
        start++;
    for (end = start; end < reader->tree->length && is_of_name(text[end]); end++)
        ;
    return !nearest && !(end > start && end < reader->tree->length && text[end] == '=');
}

/* Reports that the last segment, which has a path and the name of no stage, is no known output.
   Returns false if it is something else. */
static bool is_path_of_output(struct reader *reader, const struct node *name)
{
    const char *names[SINK_FORMATS + 1] = {"hdf5"}, *text = reader->tree->text;
    const char *stages[CHAIN_NAMES];
    size_t n = 1, start = reader->at, end;
    while (start < reader->tree->length && is_space(text[start]))
        start++;
    for (end = start; end < reader->tree->length && text[end] != '|' && text[end] != '='; end++)
        ;
    const bool has_path = end > start && (end == reader->tree->length || text[end] != '=');
    for (size_t i = 0; ts_sink_formats[i]; i++)
        names[n++] = ts_sink_formats[i]->name;
    const size_t n_stages = ts_registry_names(reader->tree->stages, stages, CHAIN_NAMES);
    if (!has_path || !only_outputs_follow(reader) ||
        ts_registry_find(reader->tree->stages, name->text) ||
        (!ts_nearest_name(name->text, names, n) && ts_nearest_name(name->text, stages, n_stages)))
        return false;
    ts_load_unknown(reader->tree->diag, name->text, name->span, NULL, "output", names, n);
    if (!strcasecmp(name->text, "csv") || !strcasecmp(name->text, "tsv"))
        ts_diag_hint(reader->tree->diag,
                     "numbers leave a result by `tomostage tables R.h5 -o t.%s`", name->text);
    return true;
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
    if (first && !ts_registry_find(reader->tree->stages, name->text) &&
        is_source(reader, name->text))
        return read_paths(reader, map, name) && enter(reader, root, "input", name->span, map);
    if (is_output(name->text, strlen(name->text))) {
        if (!only_outputs_follow(reader)) {
            oneline_refuse(reader, (size_t)name->span.column - 1, (size_t)name->span.length,
                           "this is an output, and a stage stands behind it");
            ts_diag_hint(reader->tree->diag,
                         "outputs stand at the end of the line; `save` keeps an image before it");
            return false;
        }
        return read_output(reader, name, map);
    }
    if (!first && is_path_of_output(reader, name))
        return false;
    struct node *stage = read_parameters(reader, name->text, map)
                             ? ts_tree_node(reader->tree, NODE_MAP, name->span)
                             : NULL;
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
    if (!tree->root || !stages ||
        !enter(&reader, tree->root, "tomostage", start, text_node(&reader, start, "2")) ||
        !enter(&reader, tree->root, "stages", start, stages))
        return false;
    for (bool first = true;; first = false) {
        if (!read_segment(&reader, stages, first))
            return false;
        skip_spaces(&reader);
        if (at_end(&reader))
            return true;
        reader.at++; /* the | */
    }
}
