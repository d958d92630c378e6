/* SPDX-License-Identifier: Apache-2.0
 *
 * A slice is the one that was used where it has the same pixels at the same place. Those of the same pixels at another
 * place have been moved: a volume that stands upside down is another one. Of what is left over, the place says where
 * pixels have changed. Blank slices have equal digests, so that those that are at their place are matched first.
 */
#include "pipeline/compare/inputs_slices.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/available.h"
#include "io/dicom_header/dicom_scan.h"
#include "io/hdf5/hdf5_slice.h"
#include "io/hdf5/hdf5_texts.h"
#include "io/source/read_ahead.h"
#include "io/source/source_slices.h"
#include "pipeline/chain/chain_build.h"
#include "pipeline/chain/chain_input.h"

enum { SLAB_BYTES = 32 << 20 };

/* ---- lists of slices ----------------------------------------------------------------------------- */

enum ts_status ts_inputs_read(struct source *source, struct ts_diag *diag)
{
    const size_t bytes = ts_slice_bytes(&source->image);
    const int64_t most = bytes < SLAB_BYTES ? (int64_t)(SLAB_BYTES / bytes) : 1;
    const int64_t at_once = most < source->n_slices ? most : source->n_slices;
    const int64_t n_volumes = ts_source_total(source) / source->n_slices;
    void *slab = malloc((size_t)at_once * bytes);
    if (!slab)
        return ts_diag_no_memory(diag, (size_t)at_once * bytes);
    enum ts_status status = TS_OK;
    if (source->ops->start)
        status = source->ops->start(source, ts_processors(), at_once, diag);
    for (int64_t volume = 0; volume < n_volumes; volume++)
        for (int64_t z = 0, n; z < source->n_slices && status == TS_OK; z += n) {
            const int64_t left = source->n_slices - z, first = volume * source->n_whole + z;
            n = left < at_once ? left : at_once;
            if (source->ops->prefetch)
                source->ops->prefetch(source, first, n);
            status = ts_source_read(source, first, n, slab, diag);
        }
    free(slab);
    return status;
}

static bool grow(struct input_slices *slices, size_t more, struct arena *arena)
{
    struct input_slice *items = ts_arena_alloc(arena, (slices->n + more + 1) * sizeof *items);
    if (items && slices->n > 0)
        memcpy(items, slices->items, slices->n * sizeof *items);
    slices->items = items;
    return items != NULL;
}

enum ts_status ts_inputs_add(struct input_slices *slices, const struct source *source, const char *name,
                             const char *series, struct arena *arena, struct ts_diag *diag)
{
    const size_t n = (size_t)ts_source_total(source);
    bool complete = grow(slices, n, arena);
    for (size_t i = 0; complete && i < n; i++) {
        const struct source_slice *slice = &source->slices[ts_source_number(source, (int64_t)i)];
        struct input_slice *item = &slices->items[slices->n++];
        *item = (struct input_slice){.name = name, .series = series};
        item->pixels = ts_arena_text(arena, slice->pixel_sha256, strlen(slice->pixel_sha256));
        item->instance = ts_arena_text(arena, slice->instance_hmac, strlen(slice->instance_hmac));
        memcpy(item->place, slice->position_mm, sizeof item->place);
        complete = item->pixels && item->instance;
    }
    return complete ? TS_OK : ts_diag_no_memory(diag, n * sizeof *slices->items);
}

enum ts_status ts_inputs_recorded(const struct recorded *recorded, const char *name, struct input_slices *slices,
                                  struct ts_diag *diag)
{
    const char *const *pixels = NULL, *const *instances = NULL;
    size_t n = 0, n_instances = 0;
    struct hdf5_slice places = {0};
    char dataset[256];
    *slices = (struct input_slices){0};
    snprintf(dataset, sizeof dataset, "/entry/inputs/%s/slice_pixel_sha256", name);
    enum ts_status status = ts_hdf5_read_texts(recorded->path, dataset, recorded->arena, &pixels, &n, diag);
    snprintf(dataset, sizeof dataset, "/entry/inputs/%s/slice_instance_hmac", name);
    if (status == TS_OK)
        status = ts_hdf5_read_texts(recorded->path, dataset, recorded->arena, &instances, &n_instances, diag);
    snprintf(dataset, sizeof dataset, "/entry/inputs/%s/slice_position", name);
    if (status == TS_OK)
        status = ts_hdf5_read_slice(recorded->path, dataset, 0, &places, diag);
    const bool fits = n > 0 && n_instances == n && places.rows == (int64_t)n && places.columns == 3;
    if (status == TS_OK && !fits)
        status = ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "inputs-not-recorded"},
                               "%s records no digests of the slices of '%s'", recorded->path, name);
    if (status == TS_OK && !grow(slices, n, recorded->arena))
        status = ts_diag_no_memory(diag, n * sizeof *slices->items);
    for (size_t i = 0; status == TS_OK && i < n; i++) {
        slices->items[i] = (struct input_slice){.pixels = pixels[i], .instance = instances[i], .series = ""};
        for (int d = 0; d < 3; d++)
            slices->items[i].place[d] = (double)places.values[3 * i + (size_t)d];
    }
    slices->n = status == TS_OK ? n : 0;
    free(places.values);
    return status;
}

/* ---- files by themselves ------------------------------------------------------------------------- */

static enum ts_status add_file(struct ts_chain *chain, const struct dicom_file *file, struct arena *arena,
                               struct input_slices *slices, struct ts_diag *diag)
{
    struct ts_diag *own = ts_diag_create(); /* what is wrong with the file alone is no fault here */
    struct source *source = NULL;
    if (!own)
        return ts_diag_no_memory(diag, sizeof source);
    enum ts_status status = ts_chain_set_path(chain, &chain->sources[0], file->path, own);
    if (status == TS_OK)
        status = ts_source_open(chain->sources[0].format, &chain->sources[0].set, &source, own);
    if (status == TS_OK)
        status = ts_inputs_read(source, own);
    enum ts_status added = TS_OK;
    if (status == TS_OK)
        added = ts_inputs_add(slices, source, file->path, file->series, arena, diag);
    if (source)
        source->ops->close(source);
    ts_diag_destroy(own);
    return added;
}

enum ts_status ts_inputs_of_files(const char *const *paths, size_t n_paths, struct arena *arena,
                                  struct input_slices *slices, struct ts_diag *diag)
{
    struct dicom_folder folder = {0};
    struct ts_chain *chain = NULL;
    *slices = (struct input_slices){0};
    enum ts_status status = ts_dicom_scan(paths, n_paths, arena, &folder, diag);
    if (status == TS_OK)
        status = ts_chain_of_input("dicom x burned_in=allow incomplete=allow", "verify", NULL, &chain, diag);
    for (size_t i = 0; i < folder.n_files && status == TS_OK; i++)
        status = add_file(chain, &folder.files[i], arena, slices, diag);
    ts_chain_destroy(chain);
    return status;
}

/* ---- matching ------------------------------------------------------------------------------------ */

static int by_pixels(const void *a, const void *b)
{
    return strcmp((*(struct input_slice *const *)a)->pixels, (*(struct input_slice *const *)b)->pixels);
}

static void match(struct input_slice *a, struct input_slice *b, struct inputs_found *found)
{
    a->matched = b->matched = true;
    a->series = b->series;
    found->n_same++;
    found->n_instances += *a->instance && !strcmp(a->instance, b->instance);
}

static bool same_place(const struct input_slice *a, const struct input_slice *b)
{
    bool same = true;
    for (int d = 0; d < 3; d++)
        same &= fabs(a->place[d] - b->place[d]) <= 1e-3 + 1e-6 * fabs(a->place[d]);
    return same;
}

/* Matches slices of which the run read no pixel, as of an image that only gave its grid, by their places. */
static void match_unread(const struct input_slices *used, const struct input_slices *there, struct inputs_found *found)
{
    for (size_t i = 0; i < used->n; i++) {
        struct input_slice *slice = &used->items[i];
        for (size_t k = 0; k < there->n && !*slice->pixels && !slice->matched; k++) {
            struct input_slice *other = &there->items[(i + k) % there->n]; /* that of the same number comes first */
            if (!other->matched && same_place(slice, other)) {
                match(slice, other, found);
                found->n_unread++;
            }
        }
    }
}

/* Finds a slice with these pixels that is not matched yet: one at the same place, or where `anywhere` is true any. */
static struct input_slice *find_pixels(const struct input_slice *slice, struct input_slice **sorted, size_t n,
                                       bool anywhere)
{
    size_t low = 0, high = n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (strcmp(sorted[middle]->pixels, slice->pixels) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < n && !strcmp(sorted[low]->pixels, slice->pixels); low++)
        if (!sorted[low]->matched && (anywhere || same_place(slice, sorted[low])))
            return sorted[low];
    return NULL;
}

/* Returns true where the series is that of a slice that matched, or where none did. */
static bool is_of_series(const struct input_slices *used, const struct input_slice *slice,
                         const struct inputs_found *found)
{
    bool known = found->n_same == 0 || !*slice->series;
    for (size_t i = 0; i < used->n && !known; i++)
        known = used->items[i].matched && !strcmp(used->items[i].series, slice->series);
    return known;
}

static void describe(char out[512], const struct input_slice *slice, size_t i, const char *what)
{
    char shown[300];
    ts_text_escape(shown, sizeof shown, slice->name ? slice->name : "");
    snprintf(out, 512, "%s%sslice %zu at (%.6g, %.6g, %.6g)%s", shown, *shown ? ", " : "", i, slice->place[0],
             slice->place[1], slice->place[2], what);
}

static void count(struct inputs_found *found, enum inputs_kind kind, const struct input_slice *slice, size_t i)
{
    if (found->counts[kind]++ == 0)
        describe(found->first[kind], slice, i, "");
}

/* Counts slices of which the pixels are those of another slice now. `there` is where they were looked for. */
static void match_moved(const struct input_slices *used, const struct input_slices *there, struct input_slice **sorted,
                        struct inputs_found *found)
{
    for (size_t i = 0; i < used->n; i++) {
        struct input_slice *slice = &used->items[i];
        struct input_slice *other =
            slice->matched || !*slice->pixels ? NULL : find_pixels(slice, sorted, there->n, true);
        if (!other)
            continue;
        slice->matched = other->matched = true;
        slice->name = other->name;
        slice->series = other->series;
        if (found->counts[INPUTS_MOVED]++ > 0)
            continue;
        char now[160];
        if (same_place(slice, other))
            snprintf(now, sizeof now, ", now slice %td", other - there->items);
        else
            snprintf(now, sizeof now, ", now at (%.6g, %.6g, %.6g)", other->place[0], other->place[1], other->place[2]);
        describe(found->first[INPUTS_MOVED], slice, i, now);
    }
}

enum ts_status ts_inputs_match(const struct input_slices *used, const struct input_slices *there, bool ordered,
                               bool count_additional, struct inputs_found *found, struct ts_diag *diag)
{
    const bool by_number = ordered && used->n == there->n;
    struct input_slice **sorted = malloc((there->n + 1) * sizeof *sorted);
    if (!sorted)
        return ts_diag_no_memory(diag, (there->n + 1) * sizeof *sorted);
    for (size_t i = 0; i < there->n; i++)
        sorted[i] = &there->items[i];
    qsort(sorted, there->n, sizeof *sorted, by_pixels);
    for (size_t i = 0; i < used->n; i++) {
        struct input_slice *slice = &used->items[i], *other = by_number ? &there->items[i] : NULL;
        if (other && strcmp(slice->pixels, other->pixels) != 0)
            other = NULL;
        if (!by_number && *slice->pixels)
            other = find_pixels(slice, sorted, there->n, false);
        if (other)
            match(slice, other, found);
    }
    match_unread(used, there, found);
    match_moved(used, there, sorted, found);
    free(sorted);
    for (size_t i = 0; i < used->n; i++) {
        struct input_slice *slice = &used->items[i], *other = NULL;
        for (size_t k = 0; k < there->n && !slice->matched && !other; k++)
            if (!there->items[k].matched && same_place(slice, &there->items[k]) &&
                is_of_series(used, &there->items[k], found))
                other = &there->items[k];
        if (other) {
            other->matched = true;
            slice->name = other->name;
        }
        if (!slice->matched)
            count(found, other ? INPUTS_CHANGED : INPUTS_MISSING, slice, i);
    }
    for (size_t k = 0; k < there->n && count_additional; k++)
        if (!there->items[k].matched && found->n_same > 0 && is_of_series(used, &there->items[k], found))
            count(found, INPUTS_ADDITIONAL, &there->items[k], k);
    return TS_OK;
}
