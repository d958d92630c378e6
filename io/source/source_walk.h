/* SPDX-License-Identifier: Apache-2.0
 *
 * A walk reads the slices of a source in their order, for whatever takes them one after the other:
 * a comparison, a picture, a copy in another format. While a slab of slices is used the next one is
 * read.
 */
#ifndef IO_SOURCE_SOURCE_WALK_H
#define IO_SOURCE_SOURCE_WALK_H

#include "io/source/source.h"

/* Slices [z, z + n) of a volume. */
struct source_slab {
    int64_t volume, z, n;
    int64_t first; /* number of slice z of the volume, by which the source knows it */
    void *data[2]; /* its values, and those of the source beside it */
};

struct source_walk {
    struct source *source;
    struct source *beside; /* a source of as many slices, which is read with it; NULL: none */
    int threads; /* that read; 0: one for each processor. A source that was started keeps its own */
    int64_t most; /* slices of a slab; 0: ts_source_slab_slices of both sources */
    /* Returns true for slices that are read. NULL: all are. */
    bool (*wants)(const void *user, int64_t volume, int64_t z);
    /* Takes a slab. The walk ends where it returns another status than TS_OK. NULL: slices are only
     * read, which notes their digests. */
    enum ts_status (*take)(void *user, const struct source_slab *slab, struct ts_diag *diag);
    void *user;
};

/* Returns how many slices fit in the memory that a slab may take, at least one. `beside` may be
 * NULL. */
int64_t ts_source_slab_slices(const struct source *source, const struct source *beside);
/* Starts the source, and reads and hands over the slices of all its volumes. */
enum ts_status ts_source_walk(const struct source_walk *walk, struct ts_diag *diag);

#endif
