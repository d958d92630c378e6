/* SPDX-License-Identifier: Apache-2.0
 *
 * Every voxel of the image gets the label of the file's voxel at its center. If the grids are the
 * same except for the order of axes, labels are only moved; else the nearest voxel counts (of two
 * equally near ones the later), and 0 outside of the file. Only the slices of the file that contain
 * a slice of the image are held.
 */
#include "io/mask/label_volume.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/scan/hdf5_source.h"
#include "io/scan/result.h"
#include "io/volume/mha.h"
#include "io/volume/nifti.h"
#include "io/volume/npy.h"
#include "io/volume/nrrd.h"

enum { X, Y, Z };

struct label_volume {
    struct mask_file base;
    struct source *source;
    struct ts_affine map; /* indices (x, y, z) of the image to those of the file */
    bool aligned;         /* it only exchanges, reverses and shifts axes */
    const struct ts_image *grid;
    int64_t chosen;        /* the label that is wanted; -1: all */
    unsigned char *slices; /* [z_held, z_held + n_held) of the file */
    int64_t z_held, n_held, most_held;
    double *row; /* of the file, as double */
};

/* ---- opening the file by its format ---------------------------------------------------------- */

static void set_text(const struct param_set *set, const char *name, const char *text)
{
    size_t i;
    if (ts_param_find(set->params, set->n_params, name, &i))
        *(const char **)ts_param_field(set, i) = text;
}

static const struct source_format *find_format(const char *name)
{
    static const struct source_format *const formats[] = {&nifti_format, &nrrd_format, &mha_format,
                                                          &npy_format, &result_format};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (!strcmp(formats[i]->name, name))
            return formats[i];
    return &hdf5_format;
}

static enum ts_status open_source(struct label_volume *volume, const char *name,
                                  const struct mask_request *request)
{
    static const char *const axes[] = {"z", "y", "x"};
    const struct source_format *format = find_format(name);
    struct param_set set = {.params = format->params,
                            .n_params = format->n_params,
                            .values = ts_arena_alloc(request->arena, format->params_bytes),
                            .owner = request->set->owner,
                            .span = request->set->span,
                            .version = request->set->version};
    size_t i;
    if (!set.values)
        return ts_diag_no_memory(request->diag, format->params_bytes);
    for (i = 0; i < PARAMS_MAX; i++)
        set.spans[i] = request->set->spans[0];
    ts_params_init(&set);
    set_text(&set, name, request->params->mask);
    set_text(&set, "path", request->params->path);
    if (*request->params->image)
        set_text(&set, "image", request->params->image);
    if (ts_param_find(set.params, set.n_params, "axes", &i))
        *(struct ts_texts *)ts_param_field(&set, i) = (struct ts_texts){3, axes};
    return format->open(&set, &volume->source, request->diag);
}

/* ---- the grid -------------------------------------------------------------------------------- */

/* Returns true if slices [z_first, z_end) of the image are the whole volume of the file. */
static bool covers(const struct label_volume *volume, int64_t z_first, int64_t z_end)
{
    const struct ts_image *image = &volume->source->image;
    double low[3], high[3];
    ts_mask_box(&volume->map, volume->grid, (double)z_first, (double)(z_end - 1), low, high);
    for (int i = 0; i < 3; i++)
        if (low[i] != 0 || high[i] != (double)(image->axes[2 - i].n - 1))
            return false;
    return true;
}

/* If the places of both volumes are not known, their shapes must agree: with the image's range of
   slices or with all of its slices. */
static enum ts_status match_shapes(struct label_volume *volume, const struct mask_request *request)
{
    const struct ts_image *image = &volume->source->image, *grid = volume->grid;
    const int64_t nz = image->axes[0].n;
    char is[320];
    volume->map = (struct ts_affine){{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}};
    volume->aligned = true;
    if (nz != grid->axes[0].n)
        volume->map.m[Z][3] = (double)-request->z_first;
    if (image->axes[1].n != grid->axes[1].n || image->axes[2].n != grid->axes[2].n ||
        (nz != grid->axes[0].n && nz != request->z_end - request->z_first)) {
        ts_grid_text(image, is, sizeof is);
        return ts_mask_other_grid(&volume->base, request, is);
    }
    if (image->has_geometry == grid->has_geometry)
        return TS_OK;
    const struct diag_site site = {
        .code = "grid-unknown", .span = volume->base.span, .stage = volume->base.site};
    ts_diag_warning(request->diag, &site,
                    "%s does not say how it lies in the patient: both are taken to have one grid",
                    grid->has_geometry ? "the file" : "the image");
    return TS_OK;
}

static enum ts_status match_grids(struct label_volume *volume, const struct mask_request *request)
{
    const struct ts_image *image = &volume->source->image;
    char is[320];
    if (!request->placed || !image->has_geometry)
        return match_shapes(volume, request);
    const struct ts_affine to_mm = ts_grid_to_mm(image);
    struct ts_affine inverse;
    if (!ts_affine_invert(&to_mm, &inverse))
        return ts_mask_refuse(&volume->base, "mask-geometry", request->diag,
                              "has axes without a size");
    volume->map = ts_affine_after(&inverse, &request->to_mm);
    volume->aligned = ts_mask_align(&volume->map, volume->grid, TS_GRID_TOLERANCE);
    if (request->nearest || (volume->aligned && (covers(volume, 0, volume->grid->axes[0].n) ||
                                                 covers(volume, request->z_first, request->z_end))))
        return TS_OK;
    ts_grid_text(image, is, sizeof is);
    return ts_mask_other_grid(&volume->base, request, is);
}

/* Finds the slices of the file that slice z of the image touches: *first > *last if there are
   none. */
static void find_range(const struct label_volume *volume, int64_t z, int64_t *first, int64_t *last)
{
    double low[3], high[3];
    ts_mask_box(&volume->map, volume->grid, (double)z, (double)z, low, high);
    const double n = (double)volume->source->n_slices;
    *first = (int64_t)fmin(fmax(mask_nearest(low[Z]), 0), n);
    *last = (int64_t)fmax(fmin(mask_nearest(high[Z]), n - 1), -1);
}

/* ---- reading --------------------------------------------------------------------------------- */

static enum ts_status hold(struct label_volume *volume, int64_t first, int64_t n,
                           struct ts_diag *diag)
{
    if (first == volume->z_held && n == volume->n_held)
        return TS_OK;
    volume->n_held = 0;
    const enum ts_status status =
        volume->source->ops->read(volume->source, first, n, volume->slices, diag);
    volume->z_held = first;
    volume->n_held = status == TS_OK ? n : 0;
    return status;
}

/* Makes a label of a value; *label stays 0 if a different one is wanted. Returns false if the value
   is no label. */
static inline bool take_value(const struct label_volume *volume, double value, int32_t *label)
{
    if (!(value >= INT32_MIN && value <= INT32_MAX) || (double)(int32_t)value != value)
        return false;
    *label = volume->chosen < 0 ? (int32_t)value : value == (double)volume->chosen;
    return true;
}

/* Returns the memory of a voxel of the file; NULL if it is not held. */
static const unsigned char *voxel_at(const struct label_volume *volume, const double at[3])
{
    const struct ts_image *image = &volume->source->image;
    const double nx = (double)image->axes[2].n, ny = (double)image->axes[1].n,
                 z = at[Z] - (double)volume->z_held;
    if (!(at[X] >= 0 && at[X] < nx && at[Y] >= 0 && at[Y] < ny && z >= 0 &&
          z < (double)volume->n_held))
        return NULL;
    return volume->slices + (size_t)((z * ny + at[Y]) * nx + at[X]) * ts_dtype_bytes(image->dtype);
}

/* Turns a whole row of the file, whose values begin at `from`, into labels. Returns false if a
 * value is no label. */
static bool read_whole_row(const struct label_volume *volume, const unsigned char *from,
                           int32_t *labels)
{
    const int64_t nx = volume->grid->axes[2].n;
    bool good = true;
    ts_load_f64(volume->row, from, volume->source->image.dtype, (size_t)nx);
    for (int64_t x = 0; x < nx; x++)
        good &= take_value(volume, volume->row[x], &labels[x]);
    return good;
}

/* Labels row y of slice z; looks voxels up one by one if they do not follow each other in the
   file. */
static bool read_row(const struct label_volume *volume, int64_t y, int64_t z, int32_t *labels)
{
    const double(*m)[4] = volume->map.m;
    const int64_t nx = volume->grid->axes[2].n;
    double start[3];
    for (int i = 0; i < 3; i++)
        start[i] = m[i][Y] * (double)y + m[i][Z] * (double)z + m[i][3];
    if (volume->aligned && m[X][X] == 1 && start[X] == 0 && nx == volume->source->image.axes[2].n) {
        const unsigned char *from = voxel_at(volume, start);
        return !from || read_whole_row(volume, from, labels);
    }
    for (int64_t x = 0; x < nx; x++) {
        double at[3], value;
        for (int i = 0; i < 3; i++)
            at[i] = volume->aligned ? start[i] + m[i][X] * (double)x
                                    : mask_nearest(start[i] + m[i][X] * (double)x);
        const unsigned char *from = voxel_at(volume, at);
        if (!from)
            continue;
        ts_load_f64(&value, from, volume->source->image.dtype, 1);
        if (!take_value(volume, value, &labels[x]))
            return false;
    }
    return true;
}

static enum ts_status read_slice(struct mask_file *base, int64_t z, int32_t *labels,
                                 struct ts_diag *diag)
{
    struct label_volume *volume = (struct label_volume *)base;
    const int64_t nx = volume->grid->axes[2].n;
    int64_t first, last;
    find_range(volume, z, &first, &last);
    if (first > last)
        return TS_OK;
    const enum ts_status status = hold(volume, first, last - first + 1, diag);
    if (status != TS_OK)
        return status;
    for (int64_t y = 0; y < volume->grid->axes[1].n; y++)
        if (!read_row(volume, y, z, labels + y * nx)) {
            ts_mask_refuse(base, "mask-values", diag,
                           "has values that are no labels: not whole, or beyond 32 bits");
            return ts_diag_hint(diag, "make a mask of an image with a stage, such as `threshold`");
        }
    return TS_OK;
}

static size_t memory_bytes(const struct mask_file *base)
{
    const struct label_volume *volume = (const struct label_volume *)base;
    const struct source *source = volume->source;
    return (size_t)volume->most_held * ts_slice_bytes(&source->image) +
           (source->ops->memory_bytes ? source->ops->memory_bytes(source, 1, volume->most_held)
                                      : 0);
}

static enum ts_status label_volume_start(struct mask_file *base, int threads, int64_t ahead,
                                         struct ts_diag *diag)
{
    struct label_volume *volume = (struct label_volume *)base;
    (void)threads;
    (void)ahead;
    return volume->source->ops->start
               ? volume->source->ops->start(volume->source, 1, volume->most_held, diag)
               : TS_OK;
}

static enum ts_status check_unchanged(const struct mask_file *base, struct ts_diag *diag)
{
    const struct source *source = ((const struct label_volume *)base)->source;
    return source->ops->check_unchanged ? source->ops->check_unchanged(source, diag) : TS_OK;
}

static bool label_volume_holds(const struct mask_file *base, const struct file_set *files)
{
    const struct source *source = ((const struct label_volume *)base)->source;
    return source->ops->holds && source->ops->holds(source, files);
}

static void close_file(struct mask_file *base)
{
    struct label_volume *volume = (struct label_volume *)base;
    if (volume->source)
        volume->source->ops->close(volume->source);
    free(volume->slices);
    free(volume->row);
    free(volume);
}

static const struct mask_kind volume_kind = {.what = "label volume",
                                             .read = read_slice,
                                             .memory_bytes = memory_bytes,
                                             .start = label_volume_start,
                                             .check_unchanged = check_unchanged,
                                             .holds = label_volume_holds,
                                             .close = close_file};

/* ---- opening --------------------------------------------------------------------------------- */

/* Takes the number of the label that is wanted, and the range of labels. */
static enum ts_status label_volume_choose(struct label_volume *volume,
                                          const struct mask_request *request)
{
    const char *segment = request->params->segment;
    const struct ts_image *image = &volume->source->image;
    double low, high;
    volume->chosen = -1;
    ts_dtype_range(ts_dtype_is_integer(image->dtype) ? image->dtype : TS_I32, &low, &high);
    volume->base.lowest = (int64_t)low;
    volume->base.highest = (int64_t)fmin(high, INT32_MAX);
    if (!*segment)
        return TS_OK;
    char *end;
    volume->chosen = strtoll(segment, &end, 10);
    if (*end != '\0' || volume->chosen < 1 || volume->chosen > INT32_MAX)
        return ts_param_error(request->set, "segment", "mask-region", request->diag,
                              "is no number of a label, which is all that a volume of labels has");
    volume->base.lowest = 0;
    volume->base.highest = 1;
    volume->base.chosen = segment;
    return TS_OK;
}

static enum ts_status open_volume(struct label_volume *volume, const char *format,
                                  const struct mask_request *request)
{
    enum ts_status status = open_source(volume, format, request);
    if (status != TS_OK)
        return status;
    if (ts_image_is_sinogram(&volume->source->image))
        return ts_mask_refuse(&volume->base, "mask-volumes", request->diag,
                              "is a sinogram, and a mask is a volume");
    if (volume->source->n_volumes > 1) {
        ts_mask_refuse(&volume->base, "mask-volumes", request->diag,
                       "holds %" PRId64 " volumes, and a mask is one of them",
                       volume->source->n_volumes);
        return ts_diag_hint(request->diag,
                            "`%s` in place of `mask` reads an image on the same grid, of which "
                            "take: N beside the path chooses one volume, 0 to %" PRId64
                            "; stages take it for a mask or labels",
                            format, volume->source->n_volumes - 1);
    }
    status = match_grids(volume, request);
    if (status == TS_OK)
        status = label_volume_choose(volume, request);
    for (int64_t z = 0; z < volume->grid->axes[0].n && status == TS_OK; z++) {
        int64_t first, last;
        find_range(volume, z, &first, &last);
        volume->most_held =
            last - first + 1 > volume->most_held ? last - first + 1 : volume->most_held;
    }
    const size_t bytes = (size_t)volume->most_held * ts_slice_bytes(&volume->source->image);
    volume->slices = status == TS_OK ? malloc(bytes + 1) : NULL;
    volume->row = malloc((size_t)volume->grid->axes[2].n * sizeof *volume->row);
    return status == TS_OK && (!volume->slices || !volume->row)
               ? ts_diag_no_memory(request->diag, bytes)
               : status;
}

enum ts_status ts_label_volume_open(const char *format, const struct mask_request *request,
                                    struct mask_file **out)
{
    struct label_volume *volume = calloc(1, sizeof *volume);
    *out = NULL;
    if (!volume)
        return ts_diag_no_memory(request->diag, sizeof *volume);
    volume->grid = request->grid;
    volume->base = ts_mask_file(&volume_kind, request);
    const enum ts_status status = open_volume(volume, format, request);
    if (status == TS_OK)
        *out = &volume->base;
    else
        close_file(&volume->base);
    return status;
}
