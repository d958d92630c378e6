/* SPDX-License-Identifier: Apache-2.0
 *
 * A slab is announced to the source before the previous one is used. If nobody uses slabs, nothing
 * is announced: the source then reads to the walk's memory and copies nothing.
 */
#include "io/source/source_walk.h"

#include <stdlib.h>

#include "core/available.h"
#include "core/clamp.h"

enum { SLAB_BYTES = 64 << 20 };

int64_t ts_source_slab_slices(const struct source *source, const struct source *beside)
{
    const size_t bytes = ts_slice_bytes(&source->image),
                 other = beside ? ts_slice_bytes(&beside->image) : 0;
    const int64_t most = (int64_t)(SLAB_BYTES / (bytes > other ? bytes : other));
    return ts_clamp(most, 1, source->n_slices);
}

/* Makes the slab of the wanted slices that come next after `slab`; its n is 0 if there are none. */
static struct source_slab find_next(const struct source_walk *walk, const struct source_slab *slab)
{
    const struct source *source = walk->source;
    const int64_t n_volumes = ts_source_total(source) / source->n_slices;
    struct source_slab next = *slab;
    next.z += next.n;
    for (next.n = 0; next.n == 0 && next.volume < n_volumes;) {
        while (next.n < walk->most && next.z + next.n < source->n_slices &&
               (!walk->wants || walk->wants(walk->user, next.volume, next.z + next.n)))
            next.n++;
        if (next.n == 0 && ++next.z >= source->n_slices) {
            next.volume++;
            next.z = 0;
        }
    }
    return next;
}

static int64_t first_of(const struct source *source, const struct source_slab *slab)
{
    return slab->volume * source->n_whole + slab->z;
}

static enum ts_status source_walk_start(const struct source_walk *walk, struct source *source,
                                        void **data, struct ts_diag *diag)
{
    const size_t bytes = (size_t)walk->most * ts_slice_bytes(&source->image);
    const int threads = walk->threads > 0 ? walk->threads : ts_processors();
    *data = malloc(bytes);
    if (!*data)
        return ts_diag_no_memory(diag, bytes);
    return source->ops->start ? source->ops->start(source, threads, walk->most, diag) : TS_OK;
}

static void announce(struct source *source, const struct source_slab *slab)
{
    if (slab->n > 0 && source->ops->prefetch)
        source->ops->prefetch(source, first_of(source, slab), slab->n);
}

static enum ts_status read_all(const struct source_walk *walk, struct source *const sources[2],
                               struct source_slab *slab, struct ts_diag *diag)
{
    for (*slab = find_next(walk, slab); slab->n > 0;) {
        enum ts_status status = TS_OK;
        for (int i = 0; i < 2 && sources[i] && status == TS_OK; i++)
            status = ts_source_read(sources[i], first_of(sources[i], slab), slab->n, slab->data[i],
                                    diag);
        if (status != TS_OK)
            return status;
        slab->first = first_of(walk->source, slab);
        const struct source_slab next = find_next(walk, slab);
        for (int i = 0; i < 2 && sources[i] && walk->take; i++)
            announce(sources[i], &next);
        if (walk->take)
            status = walk->take(walk->user, slab, diag);
        if (status != TS_OK)
            return status;
        *slab = next;
    }
    return TS_OK;
}

enum ts_status ts_source_walk(const struct source_walk *given, struct ts_diag *diag)
{
    struct source_walk walk = *given;
    struct source *const sources[2] = {walk.source, walk.beside};
    struct source_slab slab = {.n = 0};
    enum ts_status status = TS_OK;
    walk.most = walk.most > 0 ? walk.most : ts_source_slab_slices(walk.source, walk.beside);
    for (int i = 0; i < 2 && sources[i] && status == TS_OK; i++)
        status = source_walk_start(&walk, sources[i], &slab.data[i], diag);
    if (status == TS_OK)
        status = read_all(&walk, sources, &slab, diag);
    free(slab.data[0]);
    free(slab.data[1]);
    return status;
}
