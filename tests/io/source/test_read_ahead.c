/* SPDX-License-Identifier: Apache-2.0
 *
 * Slices that are read ahead and held, over a source that counts what is read of it: slice z holds
 * the bytes z, z + 1, and so on.
 */
#include <criterion/criterion.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "io/source/read_ahead.h"
#include "tests/files/dicom_open.h"
#include "tests/support/support.h"

enum { SLICES = 50, SIDE = 8, SLICE = SIDE * SIDE };

/* `chunk` slices lie together: reading a part of a chunk counts as reading it. */
static struct counted {
    struct source base;
    struct source_slice slices[SLICES];
    int64_t chunk;
    atomic_int chunk_reads[SLICES], slice_reads[SLICES];
    atomic_int failures; /* so many reads fail from now on */
} source;

static enum ts_status read_counted(struct source *base, struct pool *readers, int64_t z, int64_t n,
                                   void *out, struct ts_diag *diag)
{
    cr_assert(base == &source.base && z >= 0 && n > 0 && z + n <= SLICES &&
              ts_pool_threads(readers) == 2);
    if (atomic_load(&source.failures) > 0) {
        atomic_fetch_sub(&source.failures, 1);
        return ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "planted"},
                             "slice %d cannot be read", (int)z);
    }
    for (int64_t c = z / source.chunk; c * source.chunk < z + n; c++)
        atomic_fetch_add(&source.chunk_reads[c], 1);
    for (int64_t i = 0; i < n; i++) {
        atomic_fetch_add(&source.slice_reads[z + i], 1);
        for (int k = 0; k < SLICE; k++)
            ((unsigned char *)out)[i * SLICE + k] = (unsigned char)(z + i + k);
    }
    return TS_OK;
}

static struct read_ahead *start(int64_t chunk, size_t limit, int64_t ahead)
{
    const struct read_rule rule = {read_counted, chunk, limit};
    struct read_ahead *reading;
    struct ts_diag *diag = ts_diag_create();
    memset(&source, 0, sizeof source);
    source.chunk = chunk;
    source.base.n_slices = SLICES;
    source.base.slices = source.slices;
    source.base.image = (struct ts_image){.rank = 3, .dtype = TS_U8};
    for (int d = 0; d < 3; d++)
        source.base.image.axes[d].n = d ? SIDE : SLICES;
    cr_assert_eq(ts_read_ahead_start(&source.base, &rule, 2, ahead, &reading, diag), TS_OK);
    cr_assert_leq(ts_read_ahead_bytes(&source.base, &rule, ahead), limit + SLICES * 64);
    ts_diag_destroy(diag);
    return reading;
}

static void check_read(struct read_ahead *reading, int64_t z, int64_t n, struct ts_diag *diag)
{
    unsigned char out[(SLICES + 1) * SLICE];
    memset(out, 0xA5, sizeof out);
    cr_assert_eq(ts_read_ahead_read(reading, z, n, out, diag), TS_OK);
    for (int64_t i = 0; i < n * SLICE; i++)
        cr_assert_eq(out[i], (unsigned char)(z + i / SLICE + i % SLICE), "slice %d",
                     (int)(z + i / SLICE));
    cr_assert_eq(out[n * SLICE], 0xA5, "written past the end");
}

/* Slabs of every size, announced or not, and announced ones with a halo: a chunk is read once a
 * pass. Those of the first slab, which nothing announces, are read again for the halo of the
 * second. */
Test(read_ahead, each_chunk_is_read_once)
{
    static const int64_t chunks[] = {2, 3, 7, 16, 49, 50, 64};
    struct ts_diag *diag = ts_diag_create();
    for (int c = 0; c < 7; c++)
        for (int64_t slab = 1; slab <= SLICES; slab += slab < 8 ? 1 : 7)
            for (int kind = 0; kind < 3; kind++) {
                const int64_t halo = kind == 2 ? 2 : 0, ahead = slab + 2 * halo;
                struct read_ahead *reading = start(chunks[c], (size_t)1 << 20, ahead);
                for (int64_t z = 0; z < SLICES; z += slab) {
                    const int64_t first = z > halo ? z - halo : 0, past = z + slab + halo,
                                  end = past < SLICES ? past : SLICES, next = z + slab - halo,
                                  after = past + slab < SLICES ? past + slab : SLICES;
                    check_read(reading, first, end - first, diag);
                    if (kind > 0 && z + slab < SLICES)
                        ts_read_ahead_prefetch(reading, next > 0 ? next : 0,
                                               after - (next > 0 ? next : 0));
                }
                for (int64_t i = 0; i * chunks[c] < SLICES; i++)
                    cr_assert(source.chunk_reads[i] == 1 || (halo && source.chunk_reads[i] == 2 &&
                                                             i * chunks[c] < slab + halo),
                              "chunk %d of %d slices, slabs of %d, kind %d: read %d times", (int)i,
                              (int)chunks[c], (int)slab, kind, source.chunk_reads[i]);
                ts_read_ahead_destroy(reading);
            }
    ts_diag_destroy(diag);
}

/* Any order, any memory: the same bytes, and never more memory than was said. */
Test(read_ahead, any_order_and_limit_same_bytes)
{
    static const size_t limits[] = {0, SLICE, 3 * SLICE, 20 * SLICE, (size_t)1 << 20};
    static const int64_t chunks[] = {1, 4, 7, 50}, aheads[] = {0, 1, 5, 100};
    struct ts_diag *diag = ts_diag_create();
    uint64_t seed = 3;
    for (int kind = 0; kind < 5 * 4 * 4; kind++) {
        struct read_ahead *reading =
            start(chunks[kind / 5 % 4], limits[kind % 5], aheads[kind / 20]);
        for (int i = 0; i < 60; i++) {
            const int64_t z = (int64_t)(ts_random_next(&seed) % SLICES),
                          n = (int64_t)(ts_random_next(&seed) % (uint64_t)(SLICES - z + 1)),
                          hint = (int64_t)(ts_random_next(&seed) % SLICES);
            if (i % 3 == 0)
                ts_read_ahead_prefetch(reading, hint, SLICES - hint);
            if (i % 4 == 0)
                ts_read_ahead_prefetch(reading, z, n);
            check_read(reading, z, n, diag);
        }
        ts_read_ahead_prefetch(reading, 0, SLICES); /* is dropped or finished by the end */
        ts_read_ahead_destroy(reading);
    }
    cr_assert_eq(ts_diag_count(diag), 0);
    ts_diag_destroy(diag);
}

/* Slices that were announced are read once, before they are asked for. */
Test(read_ahead, reads_what_was_announced)
{
    struct ts_diag *diag = ts_diag_create();
    struct read_ahead *reading = start(1, (size_t)1 << 20, 10);
    for (int64_t z = 0; z < SLICES; z += 10) {
        ts_read_ahead_prefetch(reading, z, 10);
        check_read(reading, z, 10, diag);
        check_read(reading, z + 3, 5, diag);
    }
    ts_read_ahead_prefetch(reading, -1, 10); /* no such slices: a hint is never an error */
    ts_read_ahead_prefetch(reading, 45, 10);
    for (int z = 0; z < SLICES; z++)
        cr_assert_eq(source.slice_reads[z], 1);
    ts_read_ahead_destroy(reading);
    ts_diag_destroy(diag);
}

/* Slices that were announced with a place are there once, unless they are asked for elsewhere, or
 * others are. */
Test(read_ahead, reads_to_a_place)
{
    unsigned char places[2][10 * SLICE];
    struct ts_diag *diag = ts_diag_create();
    struct read_ahead *reading = start(1, (size_t)1 << 20, 0);
    ts_read_ahead_prefetch_to(reading, 0, 10, places[0]);
    for (int64_t z = 0; z < SLICES; z += 10) {
        unsigned char *place = places[z / 10 % 2];
        cr_assert_eq(ts_read_ahead_read(reading, z, 10, place, diag), TS_OK);
        if (z + 10 < SLICES)
            ts_read_ahead_prefetch_to(reading, z + 10, 10, places[(z / 10 + 1) % 2]);
        for (int i = 0; i < 10 * SLICE; i++)
            cr_assert_eq(place[i], (unsigned char)(z + i / SLICE + i % SLICE));
    }
    for (int z = 0; z < SLICES; z++)
        cr_assert_eq(source.slice_reads[z], 1);
    ts_read_ahead_prefetch_to(reading, 3, 5, places[0]);
    check_read(reading, 3, 5, diag);
    ts_read_ahead_prefetch_to(reading, 3, 5, places[0]);
    check_read(reading, 7, 2, diag);
    ts_read_ahead_prefetch_to(reading, 45, 10,
                              places[0]); /* no such slices: a hint is never an error */
    atomic_store(&source.failures, 1);
    ts_read_ahead_prefetch_to(reading, 3, 5, places[0]);
    cr_assert_eq(ts_read_ahead_read(reading, 3, 5, places[0], diag), TS_OK);
    cr_assert_eq(ts_diag_count(diag), 0);
    ts_read_ahead_prefetch_to(reading, 3, 5, places[0]);
    ts_read_ahead_prefetch_to(reading, 0, 0, NULL);
    memset(places, 0, sizeof places);                    /* nobody writes there any more */
    ts_read_ahead_prefetch_to(reading, 3, 5, places[0]); /* is dropped or finished by the end */
    ts_read_ahead_destroy(reading);
    ts_diag_destroy(diag);
}

/* A failure in the background shows when its slices are read, unless reading them again
 * succeeds. */
Test(read_ahead, failures_show_at_the_read)
{
    unsigned char out[SLICE];
    struct ts_diag *diag = ts_diag_create();
    struct read_ahead *reading = start(7, (size_t)1 << 20, 10);
    atomic_store(&source.failures, 2);
    ts_read_ahead_prefetch(reading, 7, 7);
    cr_assert_eq(ts_read_ahead_read(reading, 8, 1, out, diag), TS_BAD_INPUT);
    ts_test_expect(diag, "planted", "slice 7 cannot be read");
    cr_assert_eq(ts_diag_count(diag), 1);
    check_read(reading, 8, 1, diag);
    atomic_store(&source.failures, 1);
    ts_read_ahead_prefetch(reading, 14, 7);
    check_read(reading, 14, 7, diag);
    cr_assert_eq(ts_diag_count(diag), 1);
    ts_read_ahead_destroy(reading);
    ts_diag_destroy(diag);
}
