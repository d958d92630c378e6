/* SPDX-License-Identifier: Apache-2.0
 *
 * A source that passes every call on to the whole source, with z moved by the first slice of the range. The facts about
 * its slices are the whole's own, from that slice on.
 */
#include "io/source/source_slices.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

struct cut_source {
    struct source base;
    struct source *whole;
};

static struct source *whole_of(const struct source *base)
{
    return ((const struct cut_source *)base)->whole;
}

static void may_hold(struct source *base, size_t bytes)
{
    struct source *whole = whole_of(base);
    if (whole->ops->may_hold)
        whole->ops->may_hold(whole, bytes);
}

static size_t memory_bytes(const struct source *base, int threads, int64_t ahead)
{
    const struct source *whole = whole_of(base);
    return whole->ops->memory_bytes ? whole->ops->memory_bytes(whole, threads, ahead) : 0;
}

static enum ts_status start(struct source *base, int threads, int64_t ahead, struct ts_diag *diag)
{
    struct source *whole = whole_of(base);
    whole->no_digests = base->no_digests;
    return whole->ops->start ? whole->ops->start(whole, threads, ahead, diag) : TS_OK;
}

static void prefetch(struct source *base, int64_t z, int64_t n)
{
    struct source *whole = whole_of(base);
    if (whole->ops->prefetch)
        whole->ops->prefetch(whole, base->first_slice + z, n);
}

static void prefetch_to(struct source *base, int64_t z, int64_t n, void *out)
{
    struct source *whole = whole_of(base);
    whole->ops->prefetch_to(whole, base->first_slice + z, n, out);
}

static enum ts_status read_slices(struct source *base, int64_t z, int64_t n, void *out, struct ts_diag *diag)
{
    struct source *whole = whole_of(base);
    return whole->ops->read(whole, base->first_slice + z, n, out, diag);
}

static bool holds(const struct source *base, dev_t device, ino_t inode)
{
    const struct source *whole = whole_of(base);
    return whole->ops->holds && whole->ops->holds(whole, device, inode);
}

static void close_source(struct source *base)
{
    struct source *whole = whole_of(base);
    whole->ops->close(whole);
    free((void *)base->attributes);
    free(base);
}

static const struct source_ops cut_ops = {.may_hold = may_hold,
                                          .memory_bytes = memory_bytes,
                                          .start = start,
                                          .prefetch = prefetch,
                                          .prefetch_to = prefetch_to,
                                          .read = read_slices,
                                          .holds = holds,
                                          .close = close_source};

/* Returns a copy of the attributes in which those of slices are those of [first, first + n). */
static struct source_attribute *cut_attributes(const struct source *whole, int64_t first, int64_t n)
{
    struct source_attribute *cut = calloc(whole->n_attributes + 1, sizeof *cut);
    for (size_t i = 0; cut && i < whole->n_attributes; i++) {
        cut[i] = whole->attributes[i];
        if (cut[i].n == whole->n_slices && cut[i].n > 1) {
            cut[i].numbers += first * (cut[i].columns > 0 ? cut[i].columns : 1);
            cut[i].n = n;
        }
    }
    return cut;
}

/* Makes a source of slices [first, first + n), which owns the whole one; NULL where memory is out. */
static struct source *cut_take(struct source *whole, int64_t first, int64_t n)
{
    struct cut_source *cut = calloc(1, sizeof *cut);
    struct source_attribute *attributes = cut_attributes(whole, first, n);
    if (!cut || !attributes) {
        whole->ops->close(whole);
        free(attributes);
        free(cut);
        return NULL;
    }
    struct ts_image *image = &cut->base.image;
    struct ts_axis *z = &image->axes[0];
    cut->whole = whole;
    cut->base = *whole;
    cut->base.ops = &cut_ops;
    cut->base.attributes = attributes;
    cut->base.n_slices = z->n = n;
    cut->base.first_slice = first;
    cut->base.slices = whole->slices + first;
    cut->base.valid = ts_source_valid(whole, first);
    z->first += (double)first * z->spacing;
    if (z->positions)
        z->positions += first;
    for (int i = 0; i < 3 && image->has_geometry; i++)
        image->origin_mm[i] += (double)first * image->step_z_mm[i];
    return &cut->base;
}

const struct ts_numbers *ts_source_slices(const struct param_set *set)
{
    size_t i;
    return ts_param_find(set->params, set->n_params, "slices", &i) ? ts_param_field(set, i) : NULL;
}

/* Reads the range [*first, *end) of n slices out of the numbers. */
static enum ts_status range_of(const struct param_set *set, const struct ts_numbers *slices, int64_t n, int64_t *first,
                               int64_t *end, struct ts_diag *diag)
{
    const int64_t count = slices->columns;
    if (slices->rows != 1 || count < 1 || count > 2)
        return ts_param_error(set, "slices", "slices-list", diag,
                              "%" PRId64 " rows of %" PRId64 " numbers, expected one number, or [first, end]",
                              slices->rows, count);
    for (int64_t i = 0; i < count; i++)
        if (slices->values[i] != rint(slices->values[i]))
            return ts_param_error(set, "slices", "slices-list", diag, "%g is not a number of a slice",
                                  slices->values[i]);
    *first = (int64_t)slices->values[0];
    *end = count == 2 ? (int64_t)slices->values[1] : *first + 1;
    if (*first >= 0 && *first < *end && *end <= n)
        return TS_OK;
    ts_param_error(set, "slices", "slices-range", diag,
                   "[%" PRId64 ", %" PRId64 ") is not a range of the %" PRId64 " slices 0 to %" PRId64, *first, *end, n,
                   n - 1);
    return ts_diag_hint(diag, "slices: [first, end] with 0 <= first < end <= %" PRId64, n);
}

const char *ts_source_on(const struct param_set *set)
{
    size_t i;
    return ts_param_find(set->params, set->n_params, "on", &i) ? *(const char *const *)ts_param_field(set, i) : NULL;
}

enum ts_status ts_source_open_on(const struct source_format *format, const struct param_set *set,
                                 const struct source *image, struct source **source, struct ts_diag *diag)
{
    const enum ts_status status = format->open_on(set, image, source, diag);
    if (status == TS_OK)
        (*source)->n_whole = (*source)->n_slices;
    return status;
}

enum ts_status ts_source_open(const struct source_format *format, const struct param_set *set, struct source **source,
                              struct ts_diag *diag)
{
    const struct ts_numbers *slices = ts_source_slices(set);
    int64_t first = 0, end = 0;
    struct source *whole = NULL;
    *source = NULL;
    if (!format->open)
        return ts_param_error(set, format->name, "source-on", diag, "it goes with another input, and there is none");
    enum ts_status status = format->open(set, &whole, diag);
    if (status != TS_OK)
        return status;
    whole->n_whole = whole->n_slices;
    if (!slices || slices->rows == 0) {
        *source = whole;
        return TS_OK;
    }
    status = range_of(set, slices, whole->n_slices, &first, &end, diag);
    if (status != TS_OK) {
        whole->ops->close(whole);
        return status;
    }
    *source = cut_take(whole, first, end - first);
    return *source ? TS_OK : ts_diag_no_memory(diag, sizeof(struct cut_source));
}
