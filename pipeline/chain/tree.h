/* SPDX-License-Identifier: Apache-2.0
 *
 * The tree holds the text of a chain as nodes with their places. Both readers (YAML and the
 * one-line form) make the same tree, so that everything after them is shared. A reader reports what
 * it refuses, and goes on if the rest still makes sense.
 */
#ifndef PIPELINE_CHAIN_TREE_H
#define PIPELINE_CHAIN_TREE_H

#include <sys/types.h>

#include "core/arena.h"
#include "core/diag.h"

/* These limits bound the cost of a hostile text. They are checked while reading, before anything is
   stored. */
enum { TREE_MAX_BYTES = 1 << 20, TREE_MAX_DEPTH = 32, TREE_MAX_NODES = 10000, TREE_MAX_KEYS = 256 };

enum node_kind {
    NODE_SCALAR,
    NODE_LIST,
    NODE_MAP,
    NODE_REFUSED /* an error was reported here, so no further one is */
};

struct node {
    enum node_kind kind;
    bool quoted;
    bool incomplete; /* of a map: some of its keys were refused */
    struct ts_span
        span; /* place in the text, or of its first line if it has several; columns count bytes */
    const char *text; /* text of a scalar; raw text of a list in the one-line form; else NULL */
    struct node *key; /* of an entry of a map: its key; else NULL */
    struct node *first, *next;
    struct node *last; /* child */
    int32_t n;         /* children */
};

struct tree {
    struct arena *arena;
    struct ts_diag *diag;
    const struct stage_registry *stages; /* those that the text may name; NULL: of the process */
    const char *what;                    /* the name of the text in messages; NULL: the chain */
    const char *text;
    size_t length;
    struct node *root; /* NULL if the text could not be read to its end; the reason is in diag */
    int32_t n_nodes;
    bool stopped; /* a limit or the lack of memory stopped the reader */
};

/* Return zeroed memory, and a copy of a text, in the tree's arena. NULL if memory is out, which
   stops the reader (reported). */
void *ts_tree_alloc(struct tree *tree, size_t bytes);
const char *ts_tree_text(struct tree *tree, const char *text, size_t length);
/* Returns a new node without a parent; NULL if a limit or the lack of memory stops the reader
   (reported). */
struct node *ts_tree_node(struct tree *tree, enum node_kind kind, struct ts_span span);
/* Does the same for a scalar, whose text is copied. */
struct node *ts_tree_scalar(struct tree *tree, struct ts_span span, const char *text, size_t length,
                            bool quoted);
/* Appends an item to a list. */
void ts_tree_append(struct node *list, struct node *item);
/* Returns true if the map may have the key. Reports duplicates, merge keys and too many keys. */
bool ts_tree_key_check(struct tree *tree, struct node *map, const struct node *key);
/* Appends an entry whose key was checked before. */
void ts_tree_enter(struct node *map, struct node *key, struct node *value);
/* Returns the value under this key, or NULL. */
const struct node *ts_tree_find(const struct node *map, const char *key);
/* Returns the place of the byte at `offset`. */
struct ts_span ts_tree_span(const struct tree *tree, size_t offset, size_t length);
/* Checks size, UTF-8 and control characters. Returns false if the text is refused (reported). */
bool ts_tree_check_text(struct tree *tree);
/* Reads a file to `out`, at most one byte more than TREE_MAX_BYTES. Returns the length, or -1 with
   errno. Reads a shell's pipe (<(...)) to its end; a FIFO without a writer counts as empty, and
   opening it does not block. */
ssize_t ts_tree_read_file(const char *path, char *out);
/* Copies at most 40 bytes of a text for messages, with "..." if it was shortened. */
enum { TREE_SHOWN_BYTES = 48 };
const char *ts_tree_shown(const char *text, char out[TREE_SHOWN_BYTES]);
/* Returns true if the node is empty, or `~` or a form of `null` without quotes. */
bool ts_tree_is_nothing(const struct node *node);
/* Describes a node for messages: "a list", "a map", "nothing", or the scalar in single quotes. */
const char *ts_tree_describe(const struct node *node, char out[TREE_SHOWN_BYTES + 2]);

#endif
