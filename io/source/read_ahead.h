/* SPDX-License-Identifier: Apache-2.0
 *
 * This reads slices of a source before they are asked for, and holds slices that lie in one chunk
 * of the file with slices that were read: so a chunk is decoded once, however few slices a slab
 * has, and decoding goes on while a slab is computed. Formats give the function that reads a range
 * of slices; they share the rest.
 */
#ifndef IO_SOURCE_READ_AHEAD_H
#define IO_SOURCE_READ_AHEAD_H

#include "io/pool/pool.h"
#include "io/source/source.h"

enum { READ_AHEAD_BYTES = 512 << 20 }; /* that a source may hold unless the plan says otherwise */

/* This says how a source reads. */
struct read_rule {
    /* Reads slices [z, z + n) to `out` by the threads of `readers`, and notes the facts about
     * them. */
    enum ts_status (*read)(struct source *source, struct pool *readers, int64_t z, int64_t n,
                           void *out, struct ts_diag *diag);
    int64_t chunk; /* slices that the file holds together: each costs as much as all of them. 1:
                      each by itself */
    size_t limit;  /* bytes of slices that may be held. Where it is less than a chunk's, chunks are
                      decoded again */
};

struct read_ahead;

/* Returns the bytes that ts_read_ahead_start takes. */
size_t ts_read_ahead_bytes(const struct source *source, const struct read_rule *rule,
                           int64_t ahead);
/* Starts reading by so many threads. At most `ahead` slices are read before they are asked for. */
enum ts_status ts_read_ahead_start(struct source *source, const struct read_rule *rule, int threads,
                                   int64_t ahead, struct read_ahead **out, struct ts_diag *diag);
/* Reads slices that will be asked for next in the background. It may be called for several ranges.
 * What fails is read again, and reported, when it is asked for. */
void ts_read_ahead_prefetch(struct read_ahead *reading, int64_t z, int64_t n);
/* Reads slices [z, z + n) to `out` in the background, where the next call of ts_read_ahead_read may
 * want them. It takes the place of an announcement before it. n == 0 only waits until nothing is
 * being read. */
void ts_read_ahead_prefetch_to(struct read_ahead *reading, int64_t z, int64_t n, void *out);
/* Gives slices [z, z + n). The same thread calls this and the functions above. */
enum ts_status ts_read_ahead_read(struct read_ahead *reading, int64_t z, int64_t n, void *out,
                                  struct ts_diag *diag);
/* Stops reading and ends the threads. NULL does nothing. */
void ts_read_ahead_destroy(struct read_ahead *reading);
/* A source that reads so. Formats have it first in their struct and set base and rule; the
 * functions are operations of struct source_ops, of which ts_rule_read starts what nobody has
 * started. */
struct rule_source {
    struct source base;
    struct read_rule rule;
    struct read_ahead *reading; /* NULL until started; the format's close() destroys it */
};
void ts_rule_may_hold(struct source *base, size_t bytes);
struct source_rereads ts_rule_rereads(const struct source *base, int64_t ahead);
enum ts_status ts_rule_start(struct source *base, int threads, int64_t ahead, struct ts_diag *diag);
void ts_rule_prefetch(struct source *base, int64_t z, int64_t n);
enum ts_status ts_rule_read(struct source *base, int64_t z, int64_t n, void *out,
                            struct ts_diag *diag);

#endif
