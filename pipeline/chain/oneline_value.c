/* SPDX-License-Identifier: Apache-2.0
 *
 * Values are read character by character, as far as the first that cannot belong to them. Quotes keep every character;
 * brackets keep blanks, so that an item such as 7.38 ms needs no quotes.
 */
#include "pipeline/chain/oneline_value.h"

#include <ctype.h>
#include <string.h>

#include "core/number.h"

bool ts_reader_is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool ts_reader_is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-';
}

struct ts_span ts_reader_span(size_t offset, size_t length)
{
    return (struct ts_span){.line = 1, .column = (int32_t)(offset + 1), .length = (int32_t)length};
}

void ts_reader_refuse(struct reader *reader, size_t offset, size_t length, const char *message)
{
    ts_diag_error(reader->tree->diag, TS_BAD_CHAIN,
                  &(struct diag_site){.code = "oneline-syntax", .span = ts_reader_span(offset, length)}, "%s", message);
    reader->tree->stopped = true;
}

bool ts_reader_at_end(const struct reader *reader)
{
    return reader->at >= reader->tree->length;
}

char ts_reader_peek(const struct reader *reader)
{
    return ts_reader_at_end(reader) ? '\0' : reader->tree->text[reader->at];
}

void ts_reader_skip_spaces(struct reader *reader)
{
    while (!ts_reader_at_end(reader) && ts_reader_is_space(ts_reader_peek(reader)))
        reader->at++;
}

static bool ends_item(const struct reader *reader, bool commas)
{
    const char c = ts_reader_peek(reader);
    if (reader->depth > 0 && c == ']')
        return true;
    return ts_reader_at_end(reader) || (commas && c == ',') || (!reader->to_end && c == '|') ||
           ((!reader->to_end || reader->depth > 0) && ts_reader_is_space(c));
}

/* Reads a text between quotes, without them. Only between double ones does a backslash keep the next character. */
static struct node *read_quoted(struct reader *reader)
{
    const char *bytes = reader->tree->text, quote = ts_reader_peek(reader);
    const size_t start = reader->at++;
    for (; !ts_reader_at_end(reader) && ts_reader_peek(reader) != quote; reader->at++)
        if (ts_reader_peek(reader) == '\\' && quote == '"')
            reader->at++;
    if (ts_reader_at_end(reader)) {
        ts_reader_refuse(reader, start, 1,
                         quote == '"' ? "this double quote is not closed" : "this single quote is not closed");
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
    return ts_tree_scalar(reader->tree, ts_reader_span(start, reader->at - start), text, length, true);
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

/* Goes over the blank behind a word between brackets, where the item that began at `start` goes on behind it, as
 * `7.38 ms` does. It does not between two numbers, where a comma was forgotten. */
static bool goes_on(struct reader *reader, size_t start)
{
    const char *text = reader->tree->text;
    const size_t length = reader->tree->length;
    size_t next = reader->at, end;
    while (next < length && ts_reader_is_space(text[next]))
        next++;
    for (end = next; end < length && !ts_reader_is_space(text[end]) && !strchr(",]|", text[end]); end++)
        ;
    if (end == next || (is_number(reader, start, reader->at) && is_number(reader, next, end)))
        return false;
    reader->at = next;
    return true;
}

struct node *ts_reader_item(struct reader *reader, bool commas)
{
    struct node *item;
    if (ts_reader_peek(reader) == '"' || ts_reader_peek(reader) == '\'') {
        const bool doubled = ts_reader_peek(reader) == '"';
        item = read_quoted(reader);
        if (item && !ends_item(reader, commas)) {
            ts_reader_refuse(reader, reader->at, 1,
                             doubled ? "a space or the end of the value is expected after the double quote"
                                     : "a space or the end of the value is expected after the single quote");
            return NULL;
        }
        return item;
    }
    const size_t start = reader->at;
    while (!ends_item(reader, commas) ||
           (reader->depth > 0 && ts_reader_is_space(ts_reader_peek(reader)) && goes_on(reader, start)))
        reader->at++;
    const size_t length = reader->at - start;
    return ts_tree_scalar(reader->tree, ts_reader_span(start, length), reader->tree->text + start, length, false);
}

/* Reads a list between brackets: items, or lists of items. */
static struct node *read_brackets(struct reader *reader)
{
    const size_t start = reader->at++;
    struct node *list = ts_tree_node(reader->tree, NODE_LIST, ts_reader_span(start, 1));
    if (!list)
        return NULL;
    reader->depth++;
    for (ts_reader_skip_spaces(reader); ts_reader_peek(reader) != ']'; ts_reader_skip_spaces(reader)) {
        struct node *item =
            ts_reader_peek(reader) == '[' && reader->depth == 1 ? read_brackets(reader) : ts_reader_item(reader, true);
        if (!item)
            return NULL;
        ts_tree_append(list, item);
        ts_reader_skip_spaces(reader);
        if (ts_reader_at_end(reader) || ts_reader_peek(reader) == '|') {
            ts_reader_refuse(reader, start, 1, "this bracket is not closed");
            return NULL;
        }
        if (ts_reader_peek(reader) != ',' && ts_reader_peek(reader) != ']') {
            ts_reader_refuse(reader, reader->at, 1, "a comma is expected here: it divides the items of a list");
            return NULL;
        }
        reader->at += ts_reader_peek(reader) == ',';
    }
    reader->at++;
    reader->depth--;
    list->span = ts_reader_span(start, reader->at - start);
    return list;
}

/* Returns true where {sweep or {from begins here: no other value begins so, and a text that does stands in quotes. */
static bool is_sweep(const struct reader *reader)
{
    const size_t left = reader->tree->length - reader->at;
    const char *text = reader->tree->text + reader->at;
    return left > 6 && (!strncmp(text, "{sweep", 6) || !strncmp(text, "{from", 5)) &&
           !ts_reader_is_name(text[*(text + 1) == 's' ? 6 : 5]);
}

/* Goes over blanks, commas and a colon, which divide the words of a sweep, so that both its form on one line and that
 * of YAML are understood. */
static void skip_dividers(struct reader *reader)
{
    while (ts_reader_is_space(ts_reader_peek(reader)) || ts_reader_peek(reader) == ',' || ts_reader_peek(reader) == ':')
        reader->at++;
}

/* Reads a word of a sweep as a scalar. */
static struct node *read_sweep_word(struct reader *reader)
{
    const size_t start = reader->at;
    while (!ts_reader_at_end(reader) && !strchr(" \t,:|{}[]", ts_reader_peek(reader)))
        reader->at++;
    const size_t length = reader->at - start;
    return ts_tree_scalar(reader->tree, ts_reader_span(start, length), reader->tree->text + start, length, false);
}

/* Enters the next key of a sweep with its value: all words up to the brace under `sweep`, one under another key. */
static bool read_sweep_entry(struct reader *reader, struct node *map)
{
    struct node *key = read_sweep_word(reader), *value = NULL;
    const bool is_list = key && !strcmp(key->text, "sweep");
    skip_dividers(reader);
    if (is_list && ts_reader_peek(reader) != '[')
        value = ts_tree_node(reader->tree, NODE_LIST, key->span);
    else if (key)
        value = is_list ? read_brackets(reader) : read_sweep_word(reader);
    for (skip_dividers(reader); is_list && value && !ts_reader_at_end(reader) && !strchr("|}", ts_reader_peek(reader));
         skip_dividers(reader)) {
        const size_t start = reader->at;
        struct node *item = ts_reader_peek(reader) == '[' ? read_brackets(reader) : read_sweep_word(reader);
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
    struct node *map = ts_tree_node(reader->tree, NODE_MAP, ts_reader_span(start, 1));
    for (skip_dividers(reader); map && isalpha((unsigned char)ts_reader_peek(reader)); skip_dividers(reader))
        if (!read_sweep_entry(reader, map))
            break;
    if (map && !reader->tree->stopped && ts_reader_peek(reader) != '}')
        ts_reader_refuse(reader, start, 1, "this brace is not closed behind the values of a sweep");
    if (!map || reader->tree->stopped)
        return NULL;
    reader->at++;
    map->span = ts_reader_span(start, reader->at - start);
    return map;
}

/* Reads one item, a list of items between commas, one between brackets, or a sweep between braces. */
struct node *ts_reader_value(struct reader *reader)
{
    const size_t start = reader->at;
    if (is_sweep(reader))
        return read_sweep(reader);
    struct node *item = ts_reader_peek(reader) == '[' ? read_brackets(reader) : ts_reader_item(reader, true);
    if (item && item->kind == NODE_LIST) {
        if (ends_item(reader, false))
            return item;
        ts_reader_refuse(reader, reader->at, 1, "a space or the end of the value is expected after the bracket");
        return NULL;
    }
    if (!item || ts_reader_peek(reader) != ',')
        return item;
    struct node *list = ts_tree_node(reader->tree, NODE_LIST, item->span);
    if (!list)
        return NULL;
    ts_tree_append(list, item);
    while (ts_reader_peek(reader) == ',') {
        reader->at++;
        item = ts_reader_item(reader, true);
        if (!item)
            return NULL;
        ts_tree_append(list, item);
    }
    list->span = ts_reader_span(start, reader->at - start);
    list->text = ts_tree_text(reader->tree, reader->tree->text + start, reader->at - start);
    return list->text ? list : NULL;
}

struct node *ts_oneline_value(struct tree *tree, size_t offset)
{
    struct reader reader = {.tree = tree, .at = offset, .to_end = true};
    return ts_reader_value(&reader);
}
