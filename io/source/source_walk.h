/* SPDX-License-Identifier: Apache-2.0
 *
 * A walk reads the slices of a source in order, for a user who takes them one after the other: a
 * comparison, a picture, a copy in another format. While a slab of slices is used, the next one is
 * read.
 */
#ifndef IO_SOURCE_SOURCE_WALK_H
#define IO_SOURCE_SOURCE_WALK_H

#include "io/source/source.h"

/* Slices [z, z + n) of one volume. */
struct source_slab {
    int64_t volume, z, n;
    int64_t first; /* number of slice z of the volume in the source */
    void *data[2]; /* values of the slab, and those of the source `beside` */
};

struct source_walk {
    struct source *source;
    /* a source of as many slices, which is read together with this one; NULL: none */
    struct source *beside;
    /* threads that read; 0: one for each processor. No effect on a source that was started
       before */
    int threads;
    int64_t most; /* most slices of a slab; 0: ts_source_slab_slices of both sources */
    /* Returns true for slices that are to be read. NULL: all are. */
    bool (*wants)(const void *user, int64_t volume, int64_t z);
    /* Takes a slab. The walk ends if it does not return TS_OK. NULL: slices are only read, which
       notes their digests. */
    enum ts_status (*take)(void *user, const struct source_slab *slab, struct ts_diag *diag);
    void *user;
};

/* Returns how many slices fit the memory that a slab may take; at least one. `beside` may be
   NULL. */
int64_t ts_source_slab_slices(const struct source *source, const struct source *beside);
/* Starts the source, and reads and passes on the slices of all its volumes. */
enum ts_status ts_source_walk(const struct source_walk *walk, struct ts_diag *diag);

#endif
