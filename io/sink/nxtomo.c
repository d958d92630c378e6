/* SPDX-License-Identifier: Apache-2.0
 *
 * A frame has a row of every slice, so the frames of some views are gathered from all slices at a
 * time, for as many views as a bounded buffer holds, and the slices are read again for the next
 * views. Values keep their type and quantity. Line integrals and transmissions are frames without
 * flats and darks: whoever reads them must not correct them again, which is what the attribute
 * `quantity` of the frames says. Source: NeXus definitions, NXtomo.
 */
#include "io/sink/nxtomo.h"

#include <stdlib.h>
#include <string.h>

#include "core/clamp.h"
#include "core/description.h"
#include "core/image.h"
#include "io/source/source_walk.h"

#define DETECTOR NXTOMO_DETECTOR
#define SAMPLE NXTOMO_SAMPLE

enum { GATHERED_BYTES = 256 << 20 };

struct gather {
    struct source *source;
    struct ts_image frames; /* (view, row, column): frames of the views that are gathered at a time,
                               from z_first on */
};

static const char *nxtomo_refusal(const struct source *source)
{
    const struct ts_image *image = &source->image;
    if (source->n_volumes > 1)
        return "it is a series of volumes";
    if (!ts_image_is_sinogram(image))
        return "it is no sinogram";
    if (ts_image_is_fan(image))
        return "its beam is a fan, for which NXtomo has no words";
    return strcmp(image->axes[1].unit, "degree") != 0 ? "its views have no angles" : NULL;
}

/* ---- the frames ------------------------------------------------------------------------------ */

static enum ts_status gather_rows(void *user, const struct source_slab *slab, struct ts_diag *diag)
{
    const struct gather *gather = user;
    const struct ts_image *image = &gather->source->image, *frames = &gather->frames;
    const size_t row = (size_t)image->axes[2].n * ts_dtype_bytes(image->dtype);
    unsigned char *out = frames->data;
    (void)diag;
    for (int64_t z = 0; z < slab->n; z++) {
        const unsigned char *slice =
            (const unsigned char *)slab->data[0] + (size_t)z * ts_slice_bytes(image);
        for (int64_t view = 0; view < frames->axes[0].n; view++)
            memcpy(out + (size_t)(view * image->axes[0].n + slab->z + z) * row,
                   slice + (size_t)(frames->z_first + view) * row, row);
    }
    return TS_OK;
}

static enum ts_status write_frames(struct gather *gather, struct hdf5_writer *writer, int id,
                                   struct ts_diag *diag)
{
    const struct source_walk walk = {.source = gather->source, .take = gather_rows, .user = gather};
    struct ts_image *frames = &gather->frames;
    const int64_t n_views = gather->source->image.axes[1].n, at_once = frames->axes[0].n;
    enum ts_status status = TS_OK;
    for (frames->z_first = 0; frames->z_first < n_views && status == TS_OK;
         frames->z_first += at_once) {
        frames->axes[0].n =
            n_views - frames->z_first < at_once ? n_views - frames->z_first : at_once;
        status = ts_source_walk(&walk, diag);
        if (status == TS_OK)
            status = ts_hdf5_write(writer, id, frames);
    }
    return status;
}

/* ---- the file -------------------------------------------------------------------------------- */

void ts_nxtomo_numbers(struct hdf5_writer *writer, const char *path, enum ts_dtype dtype, int64_t n,
                       const void *numbers, const char *unit)
{
    struct ts_image image = {.rank = n > 0, .dtype = dtype, .unit = unit, .data = (void *)numbers};
    image.axes[0].n = n;
    (void)ts_hdf5_values(writer, path, &image);
}

enum ts_status ts_nxtomo_links(struct hdf5_writer *writer)
{
    (void)ts_hdf5_link(writer, "/entry/data/data", DETECTOR "/data");
    (void)ts_hdf5_link(writer, "/entry/data/rotation_angle", SAMPLE "/rotation_angle");
    return ts_hdf5_link(writer, "/entry/data/image_key", DETECTOR "/image_key");
}

static const char *probe_of(const struct source *source)
{
    for (size_t i = 0; i < source->n_attributes; i++)
        if (!strcmp(source->attributes[i].name, "modality") &&
            !strcmp(source->attributes[i].value, "CT"))
            return "x-ray";
    return NULL;
}

static void put_groups(struct hdf5_writer *writer, const struct source *source)
{
    static const char *const groups[][2] = {
        {"/entry", "NXentry"},    {"/entry/instrument", "NXinstrument"},
        {DETECTOR, "NXdetector"}, {"/entry/instrument/source", "NXsource"},
        {SAMPLE, "NXsample"},     {"/entry/data", "NXdata"}};
    static const char *const texts[][2] = {
        {"/@default", "entry"},           {"/entry@default", "data"},
        {"/entry/definition", "NXtomo"},  {"/entry/title", "projections"},
        {SAMPLE "/name", "not recorded"}, {"/entry/data@signal", "data"}};
    const char *probe = probe_of(source);
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        (void)ts_hdf5_group(writer, groups[i][0], groups[i][1]);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        (void)ts_hdf5_text(writer, texts[i][0], texts[i][1]);
    if (probe)
        (void)ts_hdf5_text(writer, "/entry/instrument/source/probe", probe);
}

/* Writes the lists with an entry for each frame; `angles` and `keys` have space for all. */
static void put_lists(struct hdf5_writer *writer, const struct ts_axis *views, double *angles,
                      int32_t *keys)
{
    for (int64_t i = 0; i < views->n; i++)
        angles[i] =
            views->positions ? views->positions[i] : views->first + (double)i * views->spacing;
    memset(keys, 0, (size_t)views->n * sizeof *keys); /* all are projections */
    ts_nxtomo_numbers(writer, SAMPLE "/rotation_angle", TS_F64, views->n, angles, "degree");
    ts_nxtomo_numbers(writer, DETECTOR "/image_key", TS_I32, views->n, keys, NULL);
}

static void put_geometry(struct hdf5_writer *writer, const struct ts_image *image)
{
    const struct ts_axis *row = &image->axes[0], *column = &image->axes[2];
    const double axis = (0 - column->first) / ts_axis_spacing(column),
                 width = ts_axis_spacing(column), height = ts_axis_spacing(row);
    ts_nxtomo_numbers(writer, DETECTOR "/x_rotation_axis_pixel_position", TS_F64, 0, &axis,
                      "pixel");
    if (ts_axis_mm(column) > 0)
        ts_nxtomo_numbers(writer, DETECTOR "/x_pixel_size", TS_F64, 0, &width, "mm");
    if (ts_axis_mm(row) > 0)
        ts_nxtomo_numbers(writer, DETECTOR "/y_pixel_size", TS_F64, 0, &height, "mm");
}

static enum ts_status put_all(struct gather *gather, struct hdf5_writer *writer, double *angles,
                              int32_t *keys, struct ts_diag *diag)
{
    const struct ts_image *image = &gather->source->image;
    struct ts_image frames = gather->frames;
    int id;
    frames.axes[0].n = image->axes[1].n;
    put_groups(writer, gather->source);
    put_lists(writer, &image->axes[1], angles, keys);
    put_geometry(writer, image);
    enum ts_status status = ts_hdf5_frames(writer, DETECTOR "/data", &frames, &id);
    (void)ts_hdf5_text(writer, DETECTOR "/data@quantity", ts_quantity_name(image->quantity));
    (void)ts_hdf5_text(writer, DETECTOR "/data@interpretation", "image");
    if (image->unit && *image->unit)
        (void)ts_hdf5_text(writer, DETECTOR "/data@units", image->unit);
    if (status == TS_OK)
        status = write_frames(gather, writer, id, diag);
    return status == TS_OK ? ts_nxtomo_links(writer) : status;
}

static enum ts_status write_file(struct gather *gather, const char *path,
                                 const struct hdf5_options *options, double *angles, int32_t *keys,
                                 struct ts_diag *diag)
{
    struct hdf5_writer *writer;
    enum ts_status status = ts_hdf5_create(path, options, &writer, diag);
    if (status != TS_OK)
        return status;
    status = put_all(gather, writer, angles, keys, diag);
    if (status == TS_OK)
        return ts_hdf5_commit(writer);
    ts_hdf5_abandon(writer);
    return status;
}

enum ts_status ts_nxtomo_write(struct source *source, const char *path,
                               const struct hdf5_options *options, struct ts_diag *diag)
{
    const struct ts_image *image = &source->image;
    const char *wrong = nxtomo_refusal(source);
    if (wrong)
        return ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "export-no-scan"},
                             "the image cannot be written as NXtomo: %s", wrong);
    struct gather gather = {.source = source,
                            .frames = {.rank = 3, .dtype = image->dtype, .unit = ""}};
    const size_t n_views = (size_t)image->axes[1].n, slice = ts_slice_bytes(image),
                 frame = (size_t)image->axes[0].n * (slice / n_views),
                 most = GATHERED_BYTES / frame;
    gather.frames.axes[0].n = ts_clamp((int64_t)most, 1, (int64_t)n_views);
    gather.frames.axes[1].n = image->axes[0].n;
    gather.frames.axes[2].n = image->axes[2].n;
    gather.frames.data = malloc(ts_image_bytes(&gather.frames));
    double *angles = malloc(n_views * sizeof *angles);
    int32_t *keys = malloc(n_views * sizeof *keys);
    const enum ts_status status = gather.frames.data && angles && keys
                                      ? write_file(&gather, path, options, angles, keys, diag)
                                      : ts_diag_no_memory(diag, ts_image_bytes(&gather.frames));
    free(keys);
    free(angles);
    free(gather.frames.data);
    return status;
}
