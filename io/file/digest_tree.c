/* SPDX-License-Identifier: Apache-2.0
 *
 * Each thread hashes the leaves that are whole in its ranges, while others hash theirs. A leaf that
 * comes in parts is put together in a buffer, and the thread that brings its last part hashes it.
 */
#include "io/file/digest_tree.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

/* A leaf of which some parts have come. */
struct part {
    struct part *next;
    uint64_t leaf;
    size_t filled;
    unsigned char data[DIGEST_LEAF_BYTES];
};

struct digest_tree {
    uint64_t bytes;       /* INT64_MAX while the length is unknown */
    pthread_mutex_t lock; /* guards all below */
    uint64_t n_done, capacity,
        end; /* leaves that are hashed; leaves for which sums have space; end of the last range */
    unsigned char *sums; /* DIGEST_SUM_BYTES for each leaf */
    struct part *parts, *spare;
};

static uint64_t count_leaves(uint64_t bytes)
{
    return bytes / DIGEST_LEAF_BYTES + (bytes % DIGEST_LEAF_BYTES > 0);
}

/* Makes space for at least n sums. The caller holds the lock, or is the only thread. */
static bool reserve_sums(struct digest_tree *tree, uint64_t n)
{
    if (n <= tree->capacity)
        return true;
    const uint64_t capacity = n > 2 * tree->capacity ? n : 2 * tree->capacity;
    unsigned char *sums = realloc(tree->sums, capacity * DIGEST_SUM_BYTES);
    if (!sums)
        return false;
    tree->sums = sums;
    tree->capacity = capacity;
    return true;
}

struct digest_tree *ts_digest_tree_create_growing(void)
{
    struct digest_tree *tree = calloc(1, sizeof *tree);
    if (!tree)
        return NULL;
    tree->bytes = INT64_MAX;
    pthread_mutex_init(&tree->lock, NULL);
    return tree;
}

struct digest_tree *ts_digest_tree_create(uint64_t bytes)
{
    struct digest_tree *tree = ts_digest_tree_create_growing();
    if (tree && !ts_digest_tree_set_bytes(tree, bytes)) {
        ts_digest_tree_destroy(tree);
        return NULL;
    }
    return tree;
}

static void free_parts(struct part *part)
{
    while (part) {
        struct part *next = part->next;
        free(part);
        part = next;
    }
}

void ts_digest_tree_destroy(struct digest_tree *tree)
{
    if (!tree)
        return;
    free_parts(tree->parts);
    free_parts(tree->spare);
    pthread_mutex_destroy(&tree->lock);
    free(tree->sums);
    free(tree);
}

static size_t leaf_bytes(const struct digest_tree *tree, uint64_t leaf)
{
    const uint64_t left = tree->bytes - leaf * DIGEST_LEAF_BYTES;
    return left < DIGEST_LEAF_BYTES ? (size_t)left : DIGEST_LEAF_BYTES;
}

static bool hash_leaf(struct digest_tree *tree, uint64_t leaf, const void *data)
{
    unsigned char sum[DIGEST_SUM_BYTES];
    if (!ts_digest_sum(data, leaf_bytes(tree, leaf), sum))
        return false;
    pthread_mutex_lock(&tree->lock);
    const bool done = reserve_sums(tree, leaf + 1);
    if (done)
        memcpy(tree->sums + leaf * DIGEST_SUM_BYTES, sum, sizeof sum);
    tree->n_done += done;
    pthread_mutex_unlock(&tree->lock);
    return done;
}

/* Returns the leaf's buffer, and makes it if this is the leaf's first part. The caller holds the
   lock. */
static struct part *find_part(struct digest_tree *tree, uint64_t leaf)
{
    for (struct part *part = tree->parts; part; part = part->next)
        if (part->leaf == leaf)
            return part;
    struct part *part = tree->spare;
    if (part)
        tree->spare = part->next;
    else if (!(part = malloc(sizeof *part)))
        return NULL;
    part->leaf = leaf;
    part->filled = 0;
    part->next = tree->parts;
    tree->parts = part;
    return part;
}

static void remove_part(struct digest_tree *tree, struct part *part)
{
    struct part **link = &tree->parts;
    while (*link != part)
        link = &(*link)->next;
    *link = part->next;
}

static bool digest_tree_join(struct digest_tree *tree, uint64_t leaf, size_t at, const void *data,
                             size_t bytes)
{
    pthread_mutex_lock(&tree->lock);
    struct part *part = find_part(tree, leaf);
    pthread_mutex_unlock(&tree->lock);
    if (!part)
        return false;
    memcpy(part->data + at, data, bytes);
    pthread_mutex_lock(&tree->lock);
    part->filled += bytes;
    const bool whole = part->filled == leaf_bytes(tree, leaf);
    if (whole)
        remove_part(tree, part);
    pthread_mutex_unlock(&tree->lock);
    if (!whole)
        return true;
    const bool done = hash_leaf(tree, leaf, part->data);
    pthread_mutex_lock(&tree->lock);
    part->next = tree->spare;
    tree->spare = part;
    pthread_mutex_unlock(&tree->lock);
    return done;
}

bool ts_digest_tree_add(struct digest_tree *tree, uint64_t offset, const void *data, size_t bytes)
{
    const unsigned char *from = data;
    if (offset > tree->bytes || bytes > tree->bytes - offset)
        return false;
    pthread_mutex_lock(&tree->lock);
    tree->end = offset + bytes > tree->end ? offset + bytes : tree->end;
    pthread_mutex_unlock(&tree->lock);
    while (bytes > 0) {
        const uint64_t leaf = offset / DIGEST_LEAF_BYTES;
        const size_t at = (size_t)(offset % DIGEST_LEAF_BYTES), whole = leaf_bytes(tree, leaf);
        const size_t part = whole - at < bytes ? whole - at : bytes;
        if (!(part == whole ? hash_leaf(tree, leaf, from)
                            : digest_tree_join(tree, leaf, at, from, part)))
            return false;
        offset += part;
        from += part;
        bytes -= part;
    }
    return true;
}

bool ts_digest_tree_set_bytes(struct digest_tree *tree, uint64_t bytes)
{
    const uint64_t last = bytes / DIGEST_LEAF_BYTES;
    if (tree->bytes != INT64_MAX || bytes >= INT64_MAX || tree->end > bytes ||
        !reserve_sums(tree, count_leaves(bytes)))
        return false;
    tree->bytes = bytes;
    for (struct part *part = tree->parts; part; part = part->next) {
        if (part->leaf != last || part->filled != leaf_bytes(tree, last))
            continue;
        /* The last leaf came before it was known to be the last. */
        remove_part(tree, part);
        part->next = tree->spare;
        tree->spare = part;
        return hash_leaf(tree, last, part->data);
    }
    return true;
}

bool ts_digest_tree_end(struct digest_tree *tree, unsigned char sum[DIGEST_SUM_BYTES])
{
    unsigned char length[8];
    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)(tree->bytes >> (8 * i));
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    const bool done = tree->n_done == count_leaves(tree->bytes) && context &&
                      EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1 &&
                      EVP_DigestUpdate(context, length, sizeof length) == 1 &&
                      EVP_DigestUpdate(context, tree->sums, tree->n_done * DIGEST_SUM_BYTES) == 1 &&
                      EVP_DigestFinal_ex(context, sum, NULL) == 1;
    EVP_MD_CTX_free(context);
    return done;
}

bool ts_digest_tree_text(struct digest_tree *tree, char text[DIGEST_TEXT_BYTES])
{
    unsigned char sum[DIGEST_SUM_BYTES];
    if (!ts_digest_tree_end(tree, sum))
        return false;
    ts_digest_format(text, sum);
    return true;
}

bool ts_digest_tree_of(const void *data, size_t bytes, char text[DIGEST_TEXT_BYTES])
{
    struct digest_tree *tree = ts_digest_tree_create(bytes);
    const bool done =
        tree && ts_digest_tree_add(tree, 0, data, bytes) && ts_digest_tree_text(tree, text);
    ts_digest_tree_destroy(tree);
    return done;
}
