/* SPDX-License-Identifier: Apache-2.0
 *
 * Walks over a source that notes what is announced and read: each value is the number of its slice.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "io/source/source_walk.h"

enum { SLICES = 10, WHOLE = 12, VOLUMES = 2, MOST = 64 };

/* Slices [first, end) that were announced or read, in their order. */
struct ranges {
    int n;
    int64_t first[MOST], end[MOST];
};

static struct noted {
    struct source base;
    struct source_slice slices[VOLUMES * WHOLE];
    struct ranges announced, reads;
    int64_t fails; /* the slice that cannot be read; -1: none */
    int starts;
} source, other;

static void note(struct ranges *ranges, int64_t z, int64_t n)
{
    cr_assert(ranges->n < MOST && z >= 0 && n > 0 && z + n <= VOLUMES * WHOLE);
    ranges->first[ranges->n] = z;
    ranges->end[ranges->n++] = z + n;
}

static enum ts_status start(struct source *base, int threads, int64_t ahead, struct ts_diag *diag)
{
    (void)diag;
    cr_expect(threads > 0 && ahead > 0);
    ((struct noted *)base)->starts++;
    return TS_OK;
}

static void announce(struct source *base, int64_t z, int64_t n)
{
    note(&((struct noted *)base)->announced, z, n);
}

static enum ts_status read_slices(struct source *base, int64_t z, int64_t n, void *out,
                                  struct ts_diag *diag)
{
    struct noted *noted = (struct noted *)base;
    note(&noted->reads, z, n);
    for (int64_t i = z; i < z + n; i++) {
        if (i == noted->fails)
            return ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "planted"},
                                 "slice %d", (int)i);
        ((unsigned char *)out)[i - z] = (unsigned char)i;
    }
    return TS_OK;
}

static const struct source_ops ops = {.start = start, .prefetch = announce, .read = read_slices};

static void make(struct noted *noted, int64_t whole)
{
    *noted = (struct noted){.fails = -1};
    noted->base = (struct source){.ops = &ops,
                                  .image = {.rank = 3, .dtype = TS_U8},
                                  .n_slices = SLICES,
                                  .n_volumes = VOLUMES,
                                  .n_whole = whole,
                                  .slices = noted->slices};
    for (int d = 0; d < 3; d++)
        noted->base.image.axes[d].n = d ? 1 : SLICES;
}

/* What a walk handed over: how often each slice, and what it does with it. */
static struct taken {
    int slices[VOLUMES][SLICES], slabs, ends_after;
    bool beside;
} taken;

static enum ts_status take(void *user, const struct source_slab *slab, struct ts_diag *diag)
{
    cr_assert_eq(user, &taken);
    (void)diag;
    cr_assert(slab->z >= 0 && slab->n > 0 && slab->z + slab->n <= SLICES && slab->volume < VOLUMES);
    cr_expect_eq(slab->first, slab->volume * WHOLE + slab->z);
    for (int64_t i = 0; i < slab->n; i++) {
        taken.slices[slab->volume][slab->z + i]++;
        cr_expect_eq(((unsigned char *)slab->data[0])[i], slab->first + i);
        if (taken.beside)
            cr_expect_eq(((unsigned char *)slab->data[1])[i], slab->volume * SLICES + slab->z + i);
    }
    return ++taken.slabs == taken.ends_after ? TS_STOPPED : TS_OK;
}

static bool is_wanted(const void *user, int64_t volume, int64_t z)
{
    cr_assert(user == &taken && z >= 0 && z < SLICES);
    return volume == 1 && (z == 0 || z == 3 || z == 4 || z == 9);
}

static void expect_ranges(const struct ranges *ranges, int n, const int64_t (*expected)[2])
{
    cr_assert_eq(ranges->n, n, "%d", ranges->n);
    for (int i = 0; i < n; i++)
        cr_expect(ranges->first[i] == expected[i][0] && ranges->end[i] == expected[i][1],
                  "%d: %d to %d", i, (int)ranges->first[i], (int)ranges->end[i]);
}

static struct source_walk prepare(int64_t most)
{
    make(&source, WHOLE);
    make(&other, SLICES);
    taken = (struct taken){.beside = false};
    return (struct source_walk){.source = &source.base, .most = most, .take = take, .user = &taken};
}

static enum ts_status walk_over(const struct source_walk *walk)
{
    struct ts_diag *diag = ts_diag_create();
    const enum ts_status status = ts_source_walk(walk, diag);
    cr_expect_eq(ts_diag_count(diag), status == TS_BAD_INPUT);
    ts_diag_destroy(diag);
    return status;
}

/* No slab reaches into the next volume, whose numbers do not follow; the next slab is announced
 * before one is used. */
Test(source_walk, all_slices_of_all_volumes)
{
    static const int64_t slabs[][2] = {{0, 4}, {4, 8}, {8, 10}, {12, 16}, {16, 20}, {20, 22}};
    const struct source_walk walk = prepare(4);
    cr_assert_eq(walk_over(&walk), TS_OK);
    expect_ranges(&source.reads, 6, slabs);
    expect_ranges(&source.announced, 5, slabs + 1);
    for (int i = 0; i < VOLUMES * SLICES; i++)
        cr_expect_eq(taken.slices[i / SLICES][i % SLICES], 1, "%d", i);
    cr_expect_eq(source.starts, 1);
}

Test(source_walk, nothing_is_announced_where_slices_are_only_read)
{
    static const int64_t slabs[][2] = {{0, 10}, {12, 22}};
    struct source_walk walk = prepare(0);
    walk.take = NULL;
    cr_assert_eq(walk_over(&walk), TS_OK);
    expect_ranges(&source.reads, 2, slabs);
    cr_expect_eq(source.announced.n, 0);
}

Test(source_walk, wanted_slices)
{
    static const int64_t slabs[][2] = {{12, 13}, {15, 17}, {21, 22}};
    struct source_walk walk = prepare(5);
    walk.wants = is_wanted;
    cr_assert_eq(walk_over(&walk), TS_OK);
    expect_ranges(&source.reads, 3, slabs);
    expect_ranges(&source.announced, 2, slabs + 1);
}

Test(source_walk, two_sources_side_by_side)
{
    static const int64_t slabs[][2] = {{0, 7}, {7, 10}, {10, 17}, {17, 20}};
    struct source_walk walk = prepare(7);
    walk.beside = &other.base;
    taken.beside = true;
    cr_assert_eq(walk_over(&walk), TS_OK);
    expect_ranges(&other.reads, 4, slabs);
    expect_ranges(&other.announced, 3, slabs + 1);
    cr_expect_eq(taken.slabs, 4);
}

Test(source_walk, ends_at_the_first_failure)
{
    struct source_walk walk = prepare(3);
    source.fails = 7;
    cr_assert_eq(walk_over(&walk), TS_BAD_INPUT);
    cr_expect(taken.slabs == 2 && source.reads.n == 3);
    walk = prepare(3);
    taken.ends_after = 2;
    cr_assert_eq(walk_over(&walk), TS_STOPPED);
    cr_expect(taken.slabs == 2 && source.reads.n == 2);
    walk = prepare(3);
    walk.beside = &other.base;
    other.fails = 1;
    cr_assert_eq(walk_over(&walk), TS_BAD_INPUT);
    cr_expect(taken.slabs == 0 && source.reads.n == 1);
}

/* Slabs fit the larger of two images, and hold a slice at least. */
Test(source_walk, slices_of_a_slab)
{
    (void)prepare(0);
    source.base.image.axes[2].n = 16 << 20;
    cr_expect_eq(ts_source_slab_slices(&source.base, NULL), 4);
    other.base.image.axes[2].n = 32 << 20;
    cr_expect_eq(ts_source_slab_slices(&source.base, &other.base), 2);
    other.base.image.axes[2].n = 128 << 20;
    cr_expect_eq(ts_source_slab_slices(&source.base, &other.base), 1);
}
