/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads slices of a source before they are asked for, and holds slices that are in one chunk of the
 * file with slices that were read: so a chunk is decoded once, however few slices a slab has, and
 * decoding goes on while a slab is computed. Formats give the function that reads a range of
 * slices; they share the rest.
 */
#ifndef IO_SOURCE_READ_AHEAD_H
#define IO_SOURCE_READ_AHEAD_H

#include "io/pool/pool.h"
#include "io/source/source.h"

enum {
    READ_AHEAD_BYTES = 512 << 20
}; /* bytes that a source may hold, unless the plan says otherwise */

/* How a source reads. */
struct read_rule {
    /* Reads slices [z, z + n) to `out` by the threads of `readers`, and notes the facts about
     * them. */
    enum ts_status (*read)(struct source *source, struct pool *readers, int64_t z, int64_t n,
                           void *out, struct ts_diag *diag);
    /* number of slices that the file holds together, each of which costs as much as all; 1: each by
       itself */
    int64_t chunk;
    /* bytes of slices that may be held. If they are fewer than a chunk's, chunks are decoded
       repeatedly */
    size_t limit;
};

struct read_ahead;

/* Returns the bytes of memory that ts_read_ahead_start takes. */
size_t ts_read_ahead_bytes(const struct source *source, const struct read_rule *rule,
                           int64_t ahead);
/* Starts reading with so many threads. At most `ahead` slices are read before they are asked
   for. */
enum ts_status ts_read_ahead_start(struct source *source, const struct read_rule *rule, int threads,
                                   int64_t ahead, struct read_ahead **out, struct ts_diag *diag);
/* Reads slices in the background that will be asked for next. It may be called for several ranges.
   A failure is ignored here; the later read meets and reports it. */
void ts_read_ahead_prefetch(struct read_ahead *reading, int64_t z, int64_t n);
/* Reads slices [z, z + n) to `out` in the background, because the next call of ts_read_ahead_read
   may want them. It replaces an earlier announcement. n == 0 only waits until nothing is being
   read. */
void ts_read_ahead_prefetch_to(struct read_ahead *reading, int64_t z, int64_t n, void *out);
/* Copies slices [z, z + n) to `out`, after reading them if necessary. One thread calls this and the
   functions above. */
enum ts_status ts_read_ahead_read(struct read_ahead *reading, int64_t z, int64_t n, void *out,
                                  struct ts_diag *diag);
/* Stops reading and ends the threads. NULL does nothing. */
void ts_read_ahead_destroy(struct read_ahead *reading);
/* A source that reads in this way. Formats have it first in their struct and set base and rule. The
   functions are operations of struct source_ops; ts_rule_read starts the reading if nobody has. */
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
/* The members of struct source_ops that these are. */
#define RULE_SOURCE_OPS                                                                            \
    .may_hold = ts_rule_may_hold, .rereads = ts_rule_rereads, .start = ts_rule_start,              \
    .prefetch = ts_rule_prefetch, .read = ts_rule_read

#endif
