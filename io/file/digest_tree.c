/* SPDX-License-Identifier: Apache-2.0
 *
 * Each thread hashes the leaves that lie whole in its range. A leaf that comes in parts is put together in a buffer,
 * and the thread that brings its last part hashes it.
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
    uint64_t bytes, n_leaves, n_done;
    unsigned char *sums;  /* DIGEST_SUM_BYTES for each leaf */
    pthread_mutex_t lock; /* for n_done and the lists */
    struct part *parts, *spare;
};

struct digest_tree *ts_digest_tree_create(uint64_t bytes)
{
    struct digest_tree *tree = calloc(1, sizeof *tree);
    if (!tree)
        return NULL;
    tree->bytes = bytes;
    tree->n_leaves = bytes / DIGEST_LEAF_BYTES + (bytes % DIGEST_LEAF_BYTES > 0);
    tree->sums = calloc(tree->n_leaves + 1, DIGEST_SUM_BYTES);
    pthread_mutex_init(&tree->lock, NULL);
    if (!tree->sums) {
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
    if (EVP_Digest(data, leaf_bytes(tree, leaf), tree->sums + leaf * DIGEST_SUM_BYTES, NULL, EVP_sha256(), NULL) != 1)
        return false;
    pthread_mutex_lock(&tree->lock);
    tree->n_done++;
    pthread_mutex_unlock(&tree->lock);
    return true;
}

/* Returns the leaf's buffer, a new one where this is its first part. Holds the lock. */
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

static bool join(struct digest_tree *tree, uint64_t leaf, size_t at, const void *data, size_t bytes)
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
    while (bytes > 0) {
        const uint64_t leaf = offset / DIGEST_LEAF_BYTES;
        const size_t at = (size_t)(offset % DIGEST_LEAF_BYTES), whole = leaf_bytes(tree, leaf);
        const size_t part = whole - at < bytes ? whole - at : bytes;
        if (!(part == whole ? hash_leaf(tree, leaf, from) : join(tree, leaf, at, from, part)))
            return false;
        offset += part;
        from += part;
        bytes -= part;
    }
    return true;
}

bool ts_digest_tree_end(struct digest_tree *tree, unsigned char sum[DIGEST_SUM_BYTES])
{
    unsigned char length[8];
    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)(tree->bytes >> (8 * i));
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    const bool done = tree->n_done == tree->n_leaves && context &&
                      EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1 &&
                      EVP_DigestUpdate(context, length, sizeof length) == 1 &&
                      EVP_DigestUpdate(context, tree->sums, tree->n_leaves * DIGEST_SUM_BYTES) == 1 &&
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
    const bool done = tree && ts_digest_tree_add(tree, 0, data, bytes) && ts_digest_tree_text(tree, text);
    ts_digest_tree_destroy(tree);
    return done;
}
