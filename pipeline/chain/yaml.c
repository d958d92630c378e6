/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads libyaml's events, not its documents: loading a document takes time quadratic in its depth,
 * and limits must be checked while reading. Source: YAML 1.1 as libyaml reads it.
 */
#include "pipeline/chain/yaml.h"

#include <string.h>
#include <yaml.h>

struct frame {
    struct node *node;
    struct node *key; /* of a map: the key whose value is read next */
    bool keep;        /* false: the value of a refused key, which is read and dropped */
};

struct reader {
    struct tree *tree;
    yaml_parser_t parser;
    struct frame stack[TREE_MAX_DEPTH];
    int depth;
    bool done; /* the document has ended */
    /* libyaml's marks count characters; this cursor finds the byte of one by moving to it. */
    size_t index, byte, line_start;
    int32_t line;
};

/* Moves the cursor to character `index`. Marks come in nearly rising order, so all moves together
   take about as long as one pass over the text. */
static void seek(struct reader *reader, size_t index)
{
    const char *text = reader->tree->text;
    const size_t length = reader->tree->length;
    for (; reader->index < index && reader->byte < length; reader->index++) {
        if (text[reader->byte] == '\n') {
            reader->line++;
            reader->line_start = reader->byte + 1;
        }
        reader->byte++;
        while (reader->byte < length && ((unsigned char)text[reader->byte] & 0xC0) == 0x80)
            reader->byte++;
    }
    const int32_t line = reader->line;
    for (; reader->index > index && reader->byte > 0; reader->index--) {
        reader->byte--;
        while (reader->byte > 0 && ((unsigned char)text[reader->byte] & 0xC0) == 0x80)
            reader->byte--;
        reader->line -= text[reader->byte] == '\n';
    }
    /* Done once for all lines passed, since AddressSanitizer checks all bytes that memrchr may
       read. */
    if (reader->line != line) {
        const char *newline = memrchr(text, '\n', reader->byte);
        reader->line_start = newline ? (size_t)(newline + 1 - text) : 0;
    }
}

/* Returns the place from start to end, or to the end of the first line. */
static struct ts_span span_of(struct reader *reader, yaml_mark_t start, yaml_mark_t end)
{
    seek(reader, end.index);
    const size_t last = reader->byte;
    seek(reader, start.index);
    const char *at = reader->tree->text + reader->byte;
    size_t length = last > reader->byte ? last - reader->byte : 0;
    const char *newline = memchr(at, '\n', length);
    if (newline)
        length = (size_t)(newline - at);
    return (struct ts_span){.line = reader->line,
                            .column = (int32_t)(reader->byte - reader->line_start + 1),
                            .length = (int32_t)length};
}

static void yaml_refuse(struct reader *reader, struct ts_span span, const char *code,
                        const char *message)
{
    ts_diag_error(reader->tree->diag, TS_BAD_CHAIN, &(struct diag_site){.code = code, .span = span},
                  "%s", message);
}

/* Adds a node where it belongs: as the root, a list's item, a map's key, or a map's value. */
static void yaml_place(struct reader *reader, struct node *node)
{
    if (reader->depth == 0) {
        reader->tree->root = node;
        return;
    }
    struct frame *top = &reader->stack[reader->depth - 1];
    if (top->node->kind == NODE_LIST) {
        ts_tree_append(top->node, node);
    } else if (!top->key) {
        top->keep = ts_tree_key_check(reader->tree, top->node, node);
        top->key = node;
    } else {
        if (top->keep)
            ts_tree_enter(top->node, top->key, node);
        top->key = NULL;
    }
}

static void refuse_properties(struct reader *reader, const yaml_event_t *event,
                              const unsigned char *anchor, const unsigned char *tag)
{
    const struct ts_span span = span_of(reader, event->start_mark, event->start_mark);
    if (anchor) {
        yaml_refuse(reader, span, "yaml-anchor", "anchors (&) are not supported");
        ts_diag_hint(reader->tree->diag,
                     "name: labels a stage's output, for later stages to refer to");
    }
    if (tag)
        yaml_refuse(reader, span, "yaml-tag", "tags (!) are not supported");
}

static void begin_collection(struct reader *reader, const yaml_event_t *event, enum node_kind kind)
{
    const struct ts_span span = span_of(reader, event->start_mark, event->end_mark);
    if (reader->depth == TREE_MAX_DEPTH) {
        yaml_refuse(reader, span, "chain-limit",
                    "maps and lists stand more than 32 deep in one another");
        reader->tree->stopped = true;
        return;
    }
    struct node *node = ts_tree_node(reader->tree, kind, span);
    if (!node)
        return;
    if (kind == NODE_MAP)
        refuse_properties(reader, event, event->data.mapping_start.anchor,
                          event->data.mapping_start.tag);
    else
        refuse_properties(reader, event, event->data.sequence_start.anchor,
                          event->data.sequence_start.tag);
    yaml_place(reader, node);
    reader->stack[reader->depth++] = (struct frame){.node = node};
}

static void end_collection(struct reader *reader, const yaml_event_t *event)
{
    struct node *node = reader->stack[--reader->depth].node;
    /* A collection in brackets ends here. One of indented lines ended earlier, so messages show its
       first line. */
    seek(reader, event->end_mark.index);
    const int32_t end = (int32_t)(reader->byte - reader->line_start + 1);
    if (reader->line == node->span.line && event->end_mark.index > event->start_mark.index)
        node->span.length = end - node->span.column;
}

static void take_scalar(struct reader *reader, const yaml_event_t *event)
{
    const bool plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    const struct ts_span span = span_of(reader, event->start_mark, event->end_mark);
    /* libyaml drops a scalar's tag "!", with which nothing else can begin. */
    const bool dropped_tag =
        reader->byte < reader->tree->length && reader->tree->text[reader->byte] == '!';
    refuse_properties(reader, event, event->data.scalar.anchor,
                      dropped_tag ? (const unsigned char *)"!" : event->data.scalar.tag);
    struct node *node = ts_tree_scalar(reader->tree, span, (const char *)event->data.scalar.value,
                                       event->data.scalar.length, !plain);
    if (node)
        yaml_place(reader, node);
}

static void take_alias(struct reader *reader, const yaml_event_t *event)
{
    const struct ts_span span = span_of(reader, event->start_mark, event->end_mark);
    yaml_refuse(reader, span, "yaml-alias", "aliases (*) are not supported");
    struct node *node = ts_tree_node(reader->tree, NODE_REFUSED, span);
    if (node)
        yaml_place(reader, node);
}

static void take_event(struct reader *reader, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
        break;
    case YAML_STREAM_END_EVENT:
        reader->done = true;
        break;
    case YAML_DOCUMENT_START_EVENT:
        if (reader->tree->root) {
            yaml_refuse(reader, span_of(reader, event->start_mark, event->end_mark),
                        "yaml-documents", "a second document starts here; a chain is one document");
            reader->tree->stopped = true;
        }
        break;
    case YAML_DOCUMENT_END_EVENT:
        break;
    case YAML_ALIAS_EVENT:
        take_alias(reader, event);
        break;
    case YAML_SCALAR_EVENT:
        take_scalar(reader, event);
        break;
    case YAML_SEQUENCE_START_EVENT:
        begin_collection(reader, event, NODE_LIST);
        break;
    case YAML_MAPPING_START_EVENT:
        begin_collection(reader, event, NODE_MAP);
        break;
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        end_collection(reader, event);
        break;
    }
}

static void report_syntax(struct reader *reader)
{
    const yaml_parser_t *parser = &reader->parser;
    if (parser->error == YAML_MEMORY_ERROR) {
        ts_diag_no_memory(reader->tree->diag, reader->tree->length);
        return;
    }
    /* libyaml's reader of characters states the byte, its other parts a mark. */
    const yaml_mark_t mark = parser->problem_mark;
    const struct ts_span span = parser->error == YAML_READER_ERROR
                                    ? ts_tree_span(reader->tree, parser->problem_offset, 1)
                                    : span_of(reader, mark, mark);
    ts_diag_error(reader->tree->diag, TS_BAD_CHAIN,
                  &(struct diag_site){.code = "yaml-syntax", .span = span}, "not YAML: %s%s%s",
                  parser->problem ? parser->problem : "unreadable", parser->context ? " " : "",
                  parser->context ? parser->context : "");
    if (parser->error == YAML_READER_ERROR)
        return;
    seek(reader, mark.index);
    if (reader->byte < reader->tree->length && reader->tree->text[reader->byte] == '\t') {
        ts_diag_hint(reader->tree->diag, "this is a tab, and YAML is indented by spaces alone");
        return;
    }
    seek(reader, parser->context_mark.index);
    if (parser->context && strstr(parser->context, "flow"))
        ts_diag_hint(reader->tree->diag,
                     "a bracket or brace of line %d is not closed, or a comma is missing behind it",
                     reader->line);
    else if (parser->context && reader->line != span.line)
        ts_diag_hint(reader->tree->diag, "it starts in line %d", reader->line);
    else
        ts_diag_hint(reader->tree->diag,
                     "a key ends in a colon and a space, and what belongs to it is indented by "
                     "more spaces; a text with marks in it stands in quotes");
}

/* Refuses directives: a chain has no use for them, and libyaml searches a list of all earlier ones
   for each new one, which takes quadratic time. */
static bool check_directives(struct tree *tree)
{
    for (const char *at = tree->text, *end = tree->text + tree->length; at && at < end;) {
        if (*at == '%') {
            ts_diag_error(
                tree->diag, TS_BAD_CHAIN,
                &(struct diag_site){.code = "yaml-directive",
                                    .span = ts_tree_span(tree, (size_t)(at - tree->text), 1)},
                "directives (%% at the start of a line) are not supported");
            return false;
        }
        at = memchr(at, '\n', (size_t)(end - at));
        at = at ? at + 1 : NULL;
    }
    return true;
}

bool ts_yaml_read(struct tree *tree)
{
    struct reader reader = {.tree = tree, .line = 1};
    if (!ts_tree_check_text(tree) || !check_directives(tree))
        return false;
    if (!yaml_parser_initialize(&reader.parser)) {
        ts_diag_no_memory(tree->diag, sizeof reader.parser);
        return false;
    }
    yaml_parser_set_encoding(&reader.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&reader.parser, (const unsigned char *)tree->text, tree->length);
    while (!reader.done && !tree->stopped) {
        yaml_event_t event;
        if (!yaml_parser_parse(&reader.parser, &event)) {
            report_syntax(&reader);
            tree->stopped = true;
            break;
        }
        take_event(&reader, &event);
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&reader.parser);
    if (!tree->stopped && !tree->root) {
        ts_diag_error(tree->diag, TS_BAD_CHAIN,
                      &(struct diag_site){.code = "chain-empty", .span = {.line = 1, .column = 1}},
                      tree->length == 0 ? "%s is empty: its text has no bytes" : "%s is empty",
                      tree->what ? tree->what : "the chain");
        if (!tree->what)
            ts_diag_hint(tree->diag,
                         "write `tomostage: 2`, and below it `input`, `stages` and `output`");
        return false;
    }
    return !tree->stopped;
}
