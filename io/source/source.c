/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts that formats share: units and axes of the image, the facts about its slices, and the
 * digests of slices that were read.
 */
#include "io/source/source.h"

#include <stdlib.h>
#include <string.h>

#include "io/file/digest.h"
#include "io/source/unreadable.h"

const struct choice ts_unreadable_choices[] = {
    {"refuse", UNREADABLE_REFUSE, "slices may be among them: the input is refused"},
    {"skip", UNREADABLE_SKIP, "what is left is read; the output records how many there were"},
    {0},
};

const char *ts_source_unit(enum ts_quantity quantity)
{
    if (quantity == TS_COUNTS)
        return "counts";
    if (quantity == TS_HU)
        return "HU";
    if (quantity == TS_ATTENUATION)
        return "1/mm";
    return quantity == TS_DOSE ? "Gy" : "1";
}

bool ts_source_rounds(double largest)
{
    static const double float_whole_max =
        16777216; /* 2^24: every integer up to it is a 32-bit float */
    return largest > float_whole_max;
}

void ts_source_note_rounding(struct source *source, int64_t z, int64_t n,
                             const struct ts_rounding *rounding)
{
    const struct ts_rounding some = {.n = ROUNDING_SOME, .most = rounding->most};
    for (int64_t i = z; rounding->n != 0 && i < z + n; i++)
        ts_rounding_join(&source->slices[i].rounding, &some);
}

struct ts_axis ts_source_axis(enum ts_axis_kind kind, int64_t n, double spacing_mm)
{
    struct ts_axis axis = {.kind = kind, .n = n, .spacing = 1, .unit = "pixel"};
    if (spacing_mm > 0) {
        axis.spacing = spacing_mm;
        axis.unit = "mm";
    }
    if (kind == TS_AXIS_DETECTOR)
        axis.first = -0.5 * (double)(n - 1) * axis.spacing;
    return axis;
}

enum ts_status ts_source_make_slices(struct source *source, struct ts_diag *diag)
{
    const struct ts_image *image = &source->image;
    source->n_slices = image->axes[0].n;
    source->n_volumes = source->n_volumes > 1 ? source->n_volumes : 1;
    const int64_t n = ts_source_total(source);
    source->slices = calloc((size_t)n, sizeof *source->slices);
    if (!source->slices)
        return ts_diag_no_memory(diag, (size_t)n * sizeof *source->slices);
    for (int64_t i = 0; i < n; i++) {
        const int64_t z = i % source->n_slices;
        struct source_slice *slice = &source->slices[i];
        slice->slope = 1;
        for (int d = 0; d < 3 && image->has_geometry; d++)
            slice->position_mm[d] = image->origin_mm[d] + (double)z * image->step_z_mm[d];
        if (!image->has_geometry)
            slice->position_mm[2] = image->axes[0].first + (double)z * image->axes[0].spacing;
    }
    return TS_OK;
}

size_t ts_source_valid_bytes(const struct source *source)
{
    return (size_t)ts_source_total(source) * ts_valid_bytes(&source->image);
}

enum ts_status ts_source_make_valid(struct source *source, struct ts_diag *diag)
{
    const size_t bytes = ts_source_valid_bytes(source);
    source->valid = bytes > 0 ? calloc(1, bytes) : NULL;
    return bytes == 0 || source->valid ? TS_OK : ts_diag_no_memory(diag, bytes);
}

struct digesting {
    struct source *source;
    int64_t z;
    const unsigned char *data;
};

static bool counts_rounding(const struct source *source)
{
    return !source->no_rounding && (source->image.dtype == TS_I32 || source->image.dtype == TS_U32);
}

static enum ts_status digest_slice(void *user, int thread, int64_t i, struct ts_diag *diag)
{
    const struct digesting *digesting = user;
    const struct ts_image *image = &digesting->source->image;
    const size_t bytes = ts_slice_bytes(image);
    struct source_slice *slice = &digesting->source->slices[digesting->z + i];
    char *known = slice->pixel_sha256, now[sizeof slice->pixel_sha256];
    (void)thread;
    if (counts_rounding(digesting->source)) {
        slice->rounding = (struct ts_rounding){0};
        ts_rounding_of_integers(&slice->rounding, digesting->data + (size_t)i * bytes, image->dtype,
                                ts_slice_count(image));
    }
    if (digesting->source->no_digests)
        return TS_OK;
    if (!ts_digest_of(digesting->data + (size_t)i * bytes, bytes, now))
        return ts_diag_no_memory(diag, bytes);
    if (*known == '\0')
        memcpy(known, now, sizeof now);
    if (strcmp(known, now) == 0)
        return TS_OK;
    ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "file-changed"},
                  "slice %lld of an input has other pixels than when it was read before: its file "
                  "was changed",
                  (long long)digesting->z + i);
    return ts_diag_hint(diag, "run again when nothing writes to the inputs");
}

static bool tells_of_change(const struct ts_diag *diag)
{
    const size_t n = ts_diag_count(diag);
    return n > 0 && !strcmp(ts_diag_get(diag, n - 1)->code, "file-changed");
}

enum ts_status ts_source_read(struct source *source, int64_t z, int64_t n, void *out,
                              struct ts_diag *diag)
{
    struct ts_diag *met = ts_diag_create(), *cause = ts_diag_create();
    enum ts_status status =
        met && cause ? source->ops->read(source, z, n, out, met) : ts_diag_no_memory(diag, 0);
    const bool damaged =
        status == TS_BAD_INPUT && !tells_of_change(met) && source->ops->check_unchanged;
    if (damaged && source->ops->check_unchanged(source, cause) != TS_OK && tells_of_change(cause))
        ts_diag_append(diag, cause);
    else if (met && cause)
        ts_diag_append(diag, met);
    ts_diag_destroy(met);
    ts_diag_destroy(cause);
    return status;
}

bool ts_source_looks(const struct source *source)
{
    return !source->no_digests || counts_rounding(source);
}

enum ts_status ts_source_digest(struct source *source, struct pool *readers, int64_t z, int64_t n,
                                const void *data, struct ts_diag *diag)
{
    struct digesting digesting = {source, z, data};
    if (!ts_source_looks(source))
        return TS_OK;
    return ts_pool_run(readers, ts_pool_threads(readers), n, digest_slice, &digesting, diag);
}

/* ---- the grid as text ------------------------------------------------------------------------ */

static size_t add_text(const char *more, char text[SOURCE_GRID_BYTES], size_t used)
{
    const size_t length = strlen(more), room = SOURCE_GRID_BYTES - 1 - used,
                 n = length < room ? length : room;
    memcpy(text + used, more, n);
    text[used + n] = '\0';
    return used + n;
}

static size_t add_numbers(const char *name, const double *numbers, int n,
                          char text[SOURCE_GRID_BYTES], size_t used)
{
    char number[40];
    used = add_text(name, text, used);
    for (int i = 0; i < n; i++) {
        ts_real_format(numbers[i], number, sizeof number);
        used = add_text(" ", text, used);
        used = add_text(number, text, used);
    }
    return used;
}

/* Angles and other positions are recorded separately. */
static size_t add_axis(const struct ts_axis *axis, char text[SOURCE_GRID_BYTES], size_t used)
{
    char name[64];
    const double numbers[] = {axis->spacing, axis->positions ? 0 : axis->first};
    snprintf(name, sizeof name, "; %s %lld of %s", ts_axis_name(axis), (long long)axis->n,
             axis->unit ? axis->unit : "");
    return add_numbers(name, numbers, 2, text, used);
}

void ts_source_grid_text(const struct ts_image *image, char text[SOURCE_GRID_BYTES])
{
    size_t used = (size_t)snprintf(text, SOURCE_GRID_BYTES, "%s %s in %s%s",
                                   ts_dtype_name(image->dtype), ts_quantity_name(image->quantity),
                                   image->unit, image->masked ? ", masked" : "");
    for (int d = 0; d < image->rank; d++)
        used = add_axis(&image->axes[d], text, used);
    if (image->has_geometry) {
        used = add_numbers("; origin", image->origin_mm, 3, text, used);
        used = add_numbers("; direction", image->direction, 9, text, used);
        used = add_numbers("; step", image->step_z_mm, 3, text, used);
    }
    if (image->beam.kind != TS_BEAM_PARALLEL) {
        const double distances[] = {image->beam.source_axis_mm, image->beam.source_detector_mm};
        used = add_text("; ", text, used);
        used = add_text(ts_beam_name(image->beam.kind), text, used);
        add_numbers("", distances, 2, text, used);
    }
}
