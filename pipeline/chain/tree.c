/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes are in one arena and are counted, so that a hostile text ends at a limit before it uses up
 * memory.
 */
#include "pipeline/chain/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "core/utf8.h"

static void tree_refuse(struct tree *tree, const char *code, struct ts_span span,
                        const char *message)
{
    ts_diag_error(tree->diag, TS_BAD_CHAIN, &(struct diag_site){.code = code, .span = span}, "%s",
                  message);
    tree->stopped = true;
}

void *ts_tree_alloc(struct tree *tree, size_t bytes)
{
    void *memory = ts_arena_alloc(tree->arena, bytes);
    if (!memory) {
        ts_diag_no_memory(tree->diag, bytes);
        tree->stopped = true;
    }
    return memory;
}

const char *ts_tree_text(struct tree *tree, const char *text, size_t length)
{
    char *copy = ts_tree_alloc(tree, length + 1);
    return copy ? memcpy(copy, text, length) : NULL;
}

struct node *ts_tree_node(struct tree *tree, enum node_kind kind, struct ts_span span)
{
    if (tree->stopped)
        return NULL;
    if (tree->n_nodes == TREE_MAX_NODES) {
        tree_refuse(tree, "chain-limit", span, "the chain has more than 10000 keys and values");
        return NULL;
    }
    struct node *node = ts_tree_alloc(tree, sizeof *node);
    if (!node)
        return NULL;
    tree->n_nodes++;
    *node = (struct node){.kind = kind, .span = span};
    return node;
}

struct node *ts_tree_scalar(struct tree *tree, struct ts_span span, const char *text, size_t length,
                            bool quoted)
{
    struct node *node = ts_tree_node(tree, NODE_SCALAR, span);
    if (!node)
        return NULL;
    node->quoted = quoted;
    node->text = ts_tree_text(tree, text, length);
    if (!node->text)
        return NULL;
    if (strlen(node->text) != length) {
        ts_diag_error(tree->diag, TS_BAD_CHAIN,
                      &(struct diag_site){.code = "text-nul", .span = span},
                      "a text cannot hold the character NUL");
        node->kind = NODE_REFUSED;
    }
    return node;
}

void ts_tree_append(struct node *list, struct node *item)
{
    if (list->last)
        list->last->next = item;
    else
        list->first = item;
    list->last = item;
    list->n++;
}

const struct node *ts_tree_find(const struct node *map, const char *key)
{
    for (const struct node *entry = map->first; entry; entry = entry->next)
        if (!strcmp(entry->key->text, key))
            return entry;
    return NULL;
}

/* Returns NULL if the map may have the key, else the code of the error, with its text in
   `message`. */
static const char *key_problem(const struct node *map, const struct node *key, char *message,
                               size_t size)
{
    char shown[TREE_SHOWN_BYTES];
    const struct node *earlier = key->kind == NODE_SCALAR ? ts_tree_find(map, key->text) : NULL;
    const char *code = NULL;
    if (key->kind != NODE_SCALAR) {
        code = "key-not-text";
        snprintf(message, size, "a key must be a text, not a %s",
                 key->kind == NODE_LIST ? "list" : "map");
    } else if (!key->quoted && !strcmp(key->text, "<<")) {
        code = "merge-key";
        snprintf(message, size, "merge keys (<<) are not supported");
    } else if (earlier) {
        code = "duplicate-key";
        snprintf(message, size, "the key '%s' stands twice, first in line %d",
                 ts_tree_shown(key->text, shown), earlier->key->span.line);
    }
    return code;
}

bool ts_tree_key_check(struct tree *tree, struct node *map, const struct node *key)
{
    char message[128];
    const char *code = key_problem(map, key, message, sizeof message);
    if (!code && map->n == TREE_MAX_KEYS)
        tree_refuse(tree, "chain-limit", key->span, "a map of more than 256 keys");
    else if (code && key->kind != NODE_REFUSED)
        ts_diag_error(tree->diag, TS_BAD_CHAIN,
                      &(struct diag_site){.code = code, .span = key->span}, "%s", message);
    if (code && key->kind == NODE_SCALAR && ts_tree_find(map, key->text))
        ts_diag_hint(tree->diag, "keep one of the two");
    map->incomplete |= code != NULL;
    return !code && !tree->stopped;
}

void ts_tree_enter(struct node *map, struct node *key, struct node *value)
{
    value->key = key;
    ts_tree_append(map, value);
}

struct ts_span ts_tree_span(const struct tree *tree, size_t offset, size_t length)
{
    if (offset > tree->length)
        offset = tree->length;
    int32_t line = 1;
    size_t start = 0;
    for (const char *at = tree->text, *newline;
         (newline = memchr(at, '\n', offset - (size_t)(at - tree->text))) != NULL;
         at = newline + 1) {
        line++;
        start = (size_t)(newline + 1 - tree->text);
    }
    return (struct ts_span){
        .line = line, .column = (int32_t)(offset - start + 1), .length = (int32_t)length};
}

bool ts_tree_check_text(struct tree *tree)
{
    if (tree->length > TREE_MAX_BYTES) {
        tree_refuse(tree, "chain-limit", (struct ts_span){.line = 1, .column = 1},
                    "the chain is larger than 1 MiB");
        return false;
    }
    const char *text = tree->text;
    for (size_t i = 0, bytes; i < tree->length; i += bytes) {
        bytes = ts_utf8_bytes(text + i, tree->length - i);
        if (bytes > 0 && (!ts_utf8_is_control(text + i, bytes) || strchr("\t\n\r", text[i])))
            continue;
        const struct diag_site site = {.code = "not-text", .span = ts_tree_span(tree, i, 1)};
        if (bytes == 0)
            ts_diag_error(tree->diag, TS_BAD_CHAIN, &site, "the byte 0x%02X is not UTF-8 text",
                          (unsigned char)text[i]);
        else
            ts_diag_error(tree->diag, TS_BAD_CHAIN, &site, "U+%04X is a control character",
                          (unsigned char)text[i + bytes - 1]);
        tree->stopped = true;
        return false;
    }
    return true;
}

const char *ts_tree_shown(const char *text, char out[TREE_SHOWN_BYTES])
{
    enum { KEPT = 40 };
    size_t length = strnlen(text, KEPT + 1);
    const bool cut = length > KEPT;
    if (cut) {
        length = KEPT;
        /* Cuts before a character, not within it. */
        while (length > 0 && ((unsigned char)text[length] & 0xC0) == 0x80)
            length--;
    }
    memcpy(out, text, length);
    memcpy(out + length, cut ? "..." : "", cut ? 4 : 1);
    return out;
}

ssize_t ts_tree_read_file(const char *path, char *out)
{
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return -1;
    fcntl(file, F_SETFL, 0);
    ssize_t length = 0, n;
    do {
        n = read(file, out + length, (size_t)(TREE_MAX_BYTES + 1 - length));
        length += n > 0 ? n : 0;
    } while (n > 0 || (n < 0 && errno == EINTR));
    const int problem = errno;
    close(file);
    errno = problem;
    return n < 0 ? -1 : length;
}

bool ts_tree_is_nothing(const struct node *node)
{
    static const char *const nothings[] = {"", "~", "null", "Null", "NULL"};
    if (node->kind != NODE_SCALAR || node->quoted)
        return false;
    for (size_t i = 0; i < sizeof nothings / sizeof *nothings; i++)
        if (!strcmp(node->text, nothings[i]))
            return true;
    return false;
}

const char *ts_tree_describe(const struct node *node, char out[TREE_SHOWN_BYTES + 2])
{
    if (node->kind == NODE_MAP)
        return "a map";
    if (node->kind == NODE_LIST && !node->text)
        return "a list";
    if (ts_tree_is_nothing(node))
        return "nothing";
    out[0] = '\'';
    ts_tree_shown(node->text, out + 1);
    strcat(out, "'");
    return out;
}
