/* SPDX-License-Identifier: Apache-2.0
 *
 * The tree digest against its definition, computed with the stream digest alone: whatever the order
 * of the ranges, their sizes and the number of threads.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/file/digest_tree.h"
#include "tests/support/support.h"

/* Straight from the definition; the inner digests come as text and are turned back into bytes. */
static void reference(const unsigned char *data, size_t bytes, char text[DIGEST_TEXT_BYTES])
{
    struct digest *digest = ts_digest_create();
    unsigned char sum[32];
    const uint64_t length = bytes;
    ts_digest_add(digest, &length, sizeof length); /* the tests run on little-endian machines */
    for (size_t at = 0; at < bytes; at += 1048576) {
        char leaf[DIGEST_TEXT_BYTES];
        cr_assert(ts_digest_of(data + at, bytes - at < 1048576 ? bytes - at : 1048576, leaf));
        for (int i = 0; i < 32; i++) {
            unsigned int value;
            cr_assert_eq(sscanf(leaf + 2 * i, "%2x", &value), 1);
            sum[i] = (unsigned char)value;
        }
        ts_digest_add(digest, sum, sizeof sum);
    }
    cr_assert(ts_digest_end(digest, text));
    ts_digest_destroy(digest);
}

static unsigned char *make_data(size_t bytes)
{
    uint64_t seed = bytes;
    unsigned char *data = malloc(bytes + 1);
    for (size_t i = 0; i < bytes; i++)
        data[i] = (unsigned char)(ts_random_next(&seed) >> 17);
    return data;
}

enum { LEAF = DIGEST_LEAF_BYTES };

Test(digest_tree, is_what_its_definition_says)
{
    static const size_t sizes[] = {0, 1, 511, LEAF - 1, LEAF, LEAF + 1, 2 * LEAF, 3 * LEAF + 12345};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char expected[DIGEST_TEXT_BYTES], found[DIGEST_TEXT_BYTES];
        unsigned char *data = make_data(sizes[i]);
        reference(data, sizes[i], expected);
        cr_assert(ts_digest_tree_of(data, sizes[i], found));
        cr_assert_str_eq(found, expected, "%zu bytes", sizes[i]);
        free(data);
    }
    /* Python computes it as sha256((3).to_bytes(8, "little") + sha256(b"abc").digest()) */
    char text[DIGEST_TEXT_BYTES];
    cr_assert(ts_digest_tree_of("abc", 3, text));
    cr_assert_str_eq(text, "80a67215aff0c585b6c055e38aa04b76d4b208e2d0c3eb31bfd02822ae62e1c0");
}

struct range {
    size_t at, bytes;
};

struct work {
    struct digest_tree *tree;
    const unsigned char *data;
    const struct range *ranges;
    size_t n, first, step;
};

static void *add_ranges(void *user)
{
    const struct work *work = user;
    for (size_t i = work->first; i < work->n; i += work->step)
        if (!ts_digest_tree_add(work->tree, work->ranges[i].at, work->data + work->ranges[i].at,
                                work->ranges[i].bytes))
            return user;
    return NULL;
}

/* Cuts the stream at random and shuffles the pieces. */
static size_t cut(struct range *ranges, size_t bytes, size_t most, uint64_t *seed)
{
    size_t n = 0;
    for (size_t at = 0; at < bytes; at += ranges[n++].bytes) {
        const size_t part = 1 + ts_random_next(seed) % most;
        ranges[n] = (struct range){at, part < bytes - at ? part : bytes - at};
    }
    for (size_t i = n; i > 1; i--) {
        const size_t j = ts_random_next(seed) % i;
        const struct range moved = ranges[j];
        ranges[j] = ranges[i - 1];
        ranges[i - 1] = moved;
    }
    return n;
}

Test(digest_tree, does_not_depend_on_order_pieces_and_threads)
{
    enum { BYTES = 5 * LEAF + 77777, THREADS = 4 };
    static struct range ranges[BYTES / 1000];
    char expected[DIGEST_TEXT_BYTES], found[DIGEST_TEXT_BYTES];
    unsigned char *data = make_data(BYTES);
    uint64_t seed = 20261122;
    reference(data, BYTES, expected);
    for (int round = 0; round < 12; round++) {
        struct work work[THREADS];
        pthread_t threads[THREADS];
        struct digest_tree *tree = ts_digest_tree_create(BYTES);
        const size_t n = cut(ranges, BYTES, (size_t)20000 << round, &seed);
        for (size_t t = 0; t < THREADS; t++) {
            work[t] = (struct work){tree, data, ranges, n, t, THREADS};
            cr_assert_eq(pthread_create(&threads[t], NULL, add_ranges, &work[t]), 0);
        }
        for (size_t t = 0; t < THREADS; t++) {
            void *failed;
            pthread_join(threads[t], &failed);
            cr_assert_null(failed);
        }
        cr_assert(ts_digest_tree_text(tree, found));
        cr_assert_str_eq(found, expected, "round %d", round);
        ts_digest_tree_destroy(tree);
    }
    free(data);
}

Test(digest_tree, missing_bytes_have_no_digest)
{
    char text[DIGEST_TEXT_BYTES];
    unsigned char *data = make_data(2 * LEAF);
    struct digest_tree *tree = ts_digest_tree_create(2 * LEAF);
    cr_assert_not(ts_digest_tree_add(tree, LEAF, data, LEAF + 1)); /* longer than the stream */
    cr_assert(ts_digest_tree_add(tree, 0, data, LEAF + 1));
    cr_assert_not(ts_digest_tree_text(tree, text));
    cr_assert(ts_digest_tree_add(tree, LEAF + 1, data + LEAF + 1, LEAF - 1));
    cr_assert(ts_digest_tree_text(tree, text));
    ts_digest_tree_destroy(tree);
    free(data);
}

/* The length comes after all bytes, or after some of them; the end of the stream may lie in a leaf
 * or between two. */
Test(digest_tree, a_stream_may_grow)
{
    static const size_t sizes[] = {0, 1, LEAF - 1, LEAF, LEAF + 1, 3 * LEAF, 3 * LEAF + 12345};
    enum { PART = 300001 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int late = 0; late <= 2; late++) {
            char expected[DIGEST_TEXT_BYTES], found[DIGEST_TEXT_BYTES];
            unsigned char *data = make_data(sizes[i]);
            struct digest_tree *tree = ts_digest_tree_create_growing();
            const size_t n = (sizes[i] + PART - 1) / PART;
            bool has_length = false;
            reference(data, sizes[i], expected);
            for (size_t k = n; k > 0; k--) { /* from the last part on */
                const size_t at = (k - 1) * PART;
                cr_assert(ts_digest_tree_add(tree, at, data + at,
                                             sizes[i] - at < PART ? sizes[i] - at : PART));
                if (late == 0 || (late == 1 && k <= n / 2))
                    cr_assert_eq(ts_digest_tree_set_bytes(tree, sizes[i]), !has_length);
                has_length = has_length || late == 0 || (late == 1 && k <= n / 2);
            }
            cr_assert(has_length || ts_digest_tree_set_bytes(tree, sizes[i]));
            cr_assert(ts_digest_tree_text(tree, found));
            cr_assert_str_eq(found, expected, "%zu bytes, %d", sizes[i], late);
            ts_digest_tree_destroy(tree);
            free(data);
        }
    struct digest_tree *tree = ts_digest_tree_create_growing();
    cr_assert(ts_digest_tree_add(tree, 10, "abc", 3));
    cr_assert_not(ts_digest_tree_set_bytes(tree, 12), "bytes behind the end");
    cr_assert(ts_digest_tree_set_bytes(tree, 13));
    cr_assert_not(ts_digest_tree_add(tree, 13, "d", 1));
    ts_digest_tree_destroy(tree);
}
