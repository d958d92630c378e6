/* SPDX-License-Identifier: Apache-2.0
 *
 * The tree holds the text of a chain as nodes with their places. Both readers (YAML and the
 * one-line form) make the same tree, so that everything after them is shared. A reader reports what
 * it refuses and goes on where the rest still makes sense.
 */
#ifndef PIPELINE_CHAIN_TREE_H
#define PIPELINE_CHAIN_TREE_H

#include <sys/types.h>

#include "core/arena.h"
#include "core/diag.h"

/* These limits bound the cost of a hostile text. They hold while reading, before anything is
 * kept. */
enum { TREE_MAX_BYTES = 1 << 20, TREE_MAX_DEPTH = 32, TREE_MAX_NODES = 10000, TREE_MAX_KEYS = 256 };

enum node_kind {
    NODE_SCALAR,
    NODE_LIST,
    NODE_MAP,
    NODE_REFUSED /* an error was reported here: nothing more is reported about it */
};

struct node {
    enum node_kind kind;
    bool quoted;
    bool incomplete; /* a map: keys of it were refused */
    struct ts_span
        span; /* place in the text, the first line where it has several; columns count bytes */
    const char *text; /* text of a scalar; raw text of a list in the one-line form; else NULL */
    struct node *key; /* key of an entry of a map, else NULL */
    struct node *first, *next;
    struct node *last; /* child */
    int32_t n;         /* children */
};

struct tree {
    struct arena *arena;
    struct ts_diag *diag;
    const char *what; /* what messages call the text; NULL: the chain */
    const char *text;
    size_t length;
    struct node *root; /* NULL where the text could not be read to its end; the reason is in diag */
    int32_t n_nodes;
    bool stopped; /* by a limit or for want of memory */
};

/* Return zeroed memory and a copy of a text in the tree's arena; NULL where memory is out, which
 * ends the reading (reported). */
void *ts_tree_alloc(struct tree *tree, size_t bytes);
const char *ts_tree_text(struct tree *tree, const char *text, size_t length);
/* Returns a new node that is in no parent yet; NULL where a limit or memory ends the reading
 * (reported). */
struct node *ts_tree_node(struct tree *tree, enum node_kind kind, struct ts_span span);
/* Returns a new scalar in the same way; its text is copied. */
struct node *ts_tree_scalar(struct tree *tree, struct ts_span span, const char *text, size_t length,
                            bool quoted);
/* Appends an item to a list. */
void ts_tree_append(struct node *list, struct node *item);
/* Returns true where `key` may stand in the map. Reports duplicates, merge keys and too many
 * keys. */
bool ts_tree_key_check(struct tree *tree, struct node *map, const struct node *key);
/* Appends an entry whose key was checked. */
void ts_tree_enter(struct node *map, struct node *key, struct node *value);
/* Returns the value under this key, or NULL. */
const struct node *ts_tree_find(const struct node *map, const char *key);
/* Returns the place of the byte at `offset`. */
struct ts_span ts_tree_span(const struct tree *tree, size_t offset, size_t length);
/* Checks size, UTF-8 and control characters; false where the text is refused (reported). */
bool ts_tree_check_text(struct tree *tree);
/* Reads a file to `out`, at most one byte more than TREE_MAX_BYTES. Returns the length, or -1 with
 * errno. A shell's pipe
 * (<(...)) is read to its end; a FIFO that nobody writes to is empty, and opening it does not
 * wait. */
ssize_t ts_tree_read_file(const char *path, char *out);
/* Copies at most 40 bytes of a text for messages, with "..." where it was cut. */
enum { TREE_SHOWN_BYTES = 48 };
const char *ts_tree_shown(const char *text, char out[TREE_SHOWN_BYTES]);
/* Returns true if the node is empty, `~` or a form of `null`, without quotes. */
bool ts_tree_is_nothing(const struct node *node);
/* Describes a node for messages: "a list", "a map", "nothing", or the scalar in single quotes. */
const char *ts_tree_describe(const struct node *node, char out[TREE_SHOWN_BYTES + 2]);

#endif
