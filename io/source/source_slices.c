/* SPDX-License-Identifier: Apache-2.0
 *
 * This source passes every call on to the whole source, with z increased by the first slice of the
 * range and by the slices of the volumes before the one that is taken. The facts about its slices
 * are those of the whole, from that slice on.
 */
#include "io/source/source_slices.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

struct cut_source {
    struct source base;
    struct source *whole;
    int64_t offset; /* number of the part's slice 0 in the whole */
};

/* A part of a source: slices [first, first + n) of each volume, or of the one volume that is
   taken. */
struct part {
    int64_t first, n, volume; /* volume -1: all */
};

static struct source *whole_of(const struct source *base)
{
    return ((const struct cut_source *)base)->whole;
}

static int64_t offset_of(const struct source *base)
{
    return ((const struct cut_source *)base)->offset;
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

static struct source_rereads rereads(const struct source *base, int64_t ahead)
{
    const struct source *whole = whole_of(base);
    return whole->ops->rereads ? whole->ops->rereads(whole, ahead)
                               : (struct source_rereads){.times = 1};
}

static enum ts_status source_slices_start(struct source *base, int threads, int64_t ahead,
                                          struct ts_diag *diag)
{
    struct source *whole = whole_of(base);
    whole->no_digests = base->no_digests;
    whole->no_rounding = base->no_rounding;
    return whole->ops->start ? whole->ops->start(whole, threads, ahead, diag) : TS_OK;
}

static void prefetch(struct source *base, int64_t z, int64_t n)
{
    struct source *whole = whole_of(base);
    if (whole->ops->prefetch)
        whole->ops->prefetch(whole, offset_of(base) + z, n);
}

static void prefetch_to(struct source *base, int64_t z, int64_t n, void *out)
{
    struct source *whole = whole_of(base);
    whole->ops->prefetch_to(whole, offset_of(base) + z, n, out);
}

static enum ts_status read_slices(struct source *base, int64_t z, int64_t n, void *out,
                                  struct ts_diag *diag)
{
    struct source *whole = whole_of(base);
    return whole->ops->read(whole, offset_of(base) + z, n, out, diag);
}

static bool source_slices_holds(const struct source *base, const struct file_set *files)
{
    const struct source *whole = whole_of(base);
    return whole->ops->holds && whole->ops->holds(whole, files);
}

static enum ts_status check_unchanged(const struct source *base, struct ts_diag *diag)
{
    const struct source *whole = whole_of(base);
    return whole->ops->check_unchanged ? whole->ops->check_unchanged(whole, diag) : TS_OK;
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
                                          .rereads = rereads,
                                          .start = source_slices_start,
                                          .prefetch = prefetch,
                                          .prefetch_to = prefetch_to,
                                          .read = read_slices,
                                          .check_unchanged = check_unchanged,
                                          .holds = source_slices_holds,
                                          .close = close_source};

const struct source *ts_source_opened(const struct source *source)
{
    return source->ops == &cut_ops ? whole_of(source) : source;
}

/* Returns a copy of the attributes, in which those of slices and volumes are cut to the part. */
static struct source_attribute *cut_attributes(const struct source *whole, const struct part *part)
{
    const int64_t volume = part->volume < 0 ? 0 : part->volume, n_slices = whole->n_slices;
    struct source_attribute *cut = calloc(whole->n_attributes + 1, sizeof *cut);
    for (size_t i = 0; cut && i < whole->n_attributes; i++) {
        cut[i] = whole->attributes[i];
        const int64_t columns = cut[i].columns > 0 ? cut[i].columns : 1, n = cut[i].n;
        const bool of_volumes = n > 1 && n == whole->n_volumes; /* however many slices there are */
        if (n > 1 && part->volume >= 0 && n == whole->n_volumes * n_slices)
            cut[i].numbers += (volume * n_slices + part->first) * columns;
        else if (n > 1 && n == n_slices && !of_volumes)
            cut[i].numbers += part->first * columns;
        else if (of_volumes && part->volume >= 0)
            cut[i].numbers += volume * columns;
        else
            continue;
        cut[i].n = of_volumes ? 1 : part->n;
    }
    return cut;
}

/* Makes the series a single volume: this one of it. */
static void take_volume(struct source *base, int64_t volume)
{
    base->n_volumes = 1;
    ts_axis_cut(&base->volume_axis, volume, 1);
    if (base->gradients)
        base->gradients += 3 * volume;
}

/* Makes a source of the part; it owns the whole source. NULL if memory is out. */
static struct source *cut_take(struct source *whole, const struct part *part)
{
    const int64_t first = part->first, n = part->n;
    struct cut_source *cut = calloc(1, sizeof *cut);
    struct source_attribute *attributes = cut_attributes(whole, part);
    if (!cut || !attributes) {
        whole->ops->close(whole);
        free(attributes);
        free(cut);
        return NULL;
    }
    struct ts_image *image = &cut->base.image;
    cut->whole = whole;
    cut->offset = (part->volume < 0 ? 0 : part->volume) * whole->n_whole + first;
    cut->base = *whole;
    cut->base.ops = &cut_ops;
    cut->base.attributes = attributes;
    cut->base.n_slices = n;
    ts_axis_cut(&image->axes[0], first, n);
    cut->base.first_slice = first;
    cut->base.slices = whole->slices + cut->offset;
    cut->base.valid = ts_source_valid(whole, cut->offset);
    if (part->volume >= 0)
        take_volume(&cut->base, part->volume);
    for (int i = 0; i < 3 && image->has_geometry; i++)
        image->origin_mm[i] += (double)first * image->step_z_mm[i];
    return &cut->base;
}

/* Returns the list of numbers of this name; NULL if the format has none. */
static const struct ts_numbers *numbers_of(const struct param_set *set, const char *name)
{
    size_t i;
    const bool found =
        ts_param_find(set->params, set->n_params, name, &i) && set->params[i].kind == PARAM_NUMBERS;
    return found ? ts_param_field(set, i) : NULL;
}

const struct ts_numbers *ts_source_slices(const struct param_set *set)
{
    return numbers_of(set, "slices");
}

/* Finds the number of the volume that `take` names; -1 if it names none. */
static enum ts_status volume_of(const struct param_set *set, int64_t n_volumes, int64_t *volume,
                                struct ts_diag *diag)
{
    const struct ts_numbers *take = numbers_of(set, "take");
    *volume = -1;
    if (!take || take->rows == 0)
        return TS_OK;
    const double number = take->values[0];
    if (take->rows == 1 && take->columns == 1 && number == rint(number) && number >= 0 &&
        number < (double)n_volumes) {
        *volume = (int64_t)number;
        return TS_OK;
    }
    ts_param_error(set, "take", "take-volume", diag,
                   "expected the number of one of the %" PRId64 " volumes", n_volumes);
    return ts_diag_hint(diag, "take: N with 0 <= N <= %" PRId64, n_volumes - 1);
}

/* Converts the numbers to the range [*first, *end) of n slices; all slices if there are no
   numbers. */
static enum ts_status range_of(const struct param_set *set, const struct ts_numbers *slices,
                               int64_t n, int64_t *first, int64_t *end, struct ts_diag *diag)
{
    *first = 0;
    *end = n;
    if (!slices || slices->rows == 0)
        return TS_OK;
    const int64_t count = slices->columns;
    if (slices->rows != 1 || count < 1 || count > 2)
        return ts_param_error(set, "slices", "slices-list", diag,
                              "%" PRId64 " rows of %" PRId64
                              " numbers, expected one number, or [first, end]",
                              slices->rows, count);
    for (int64_t i = 0; i < count; i++)
        if (slices->values[i] != rint(slices->values[i]))
            return ts_param_error(set, "slices", "slices-list", diag,
                                  "%g is not a number of a slice", slices->values[i]);
    *first = (int64_t)slices->values[0];
    *end = count == 2 ? (int64_t)slices->values[1] : *first + 1;
    if (*first >= 0 && *first < *end && *end <= n)
        return TS_OK;
    ts_param_error(set, "slices", "slices-range", diag,
                   "[%" PRId64 ", %" PRId64 ") is not a range of the %" PRId64
                   " slices 0 to %" PRId64,
                   *first, *end, n, n - 1);
    return ts_diag_hint(diag, "slices: [first, end] with 0 <= first < end <= %" PRId64, n);
}

enum ts_status ts_source_open_on(const struct source_format *format, const struct param_set *set,
                                 const struct source *image, struct source **source,
                                 struct ts_diag *diag)
{
    const enum ts_status status = format->open_on(set, image, source, diag);
    if (status == TS_OK)
        (*source)->n_whole = (*source)->n_slices;
    return status;
}

enum ts_status ts_source_open(const struct source_format *format, const struct param_set *set,
                              struct source **source, struct ts_diag *diag)
{
    struct part part;
    int64_t end;
    struct source *whole = NULL;
    *source = NULL;
    if (!format->open)
        return ts_param_error(set, format->name, "source-on", diag,
                              "it goes with another input, and there is none");
    enum ts_status status = format->open(set, &whole, diag);
    if (status != TS_OK)
        return status;
    whole->n_whole = whole->n_slices;
    status = range_of(set, ts_source_slices(set), whole->n_slices, &part.first, &end, diag);
    if (status == TS_OK)
        status = volume_of(set, whole->n_volumes > 1 ? whole->n_volumes : 1, &part.volume, diag);
    if (status != TS_OK) {
        whole->ops->close(whole);
        return status;
    }
    part.n = end - part.first;
    if (part.n == whole->n_slices && part.volume < 0) {
        *source = whole;
        return TS_OK;
    }
    *source = cut_take(whole, &part);
    return *source ? TS_OK : ts_diag_no_memory(diag, sizeof(struct cut_source));
}
