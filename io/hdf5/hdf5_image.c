/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes an image as NXdata: "data" in the image's axis order, a dataset with the positions of each
 * axis, and the geometry as attributes of the group. An axis with even steps has the attribute
 * spacing. Source: NeXus NXdata (signal, axes, AXISNAME_indices).
 *
 * Three kinds of axes have three kinds of positions:
 *
 *     An axis in mm with even steps, of an image that has a place in the patient: position i is
 *     p . e. Here p is the center of voxel i of the axis, and e is the axis's unit vector, turned
 * so that it leads to L, P or S, whichever is nearest. Along a patient axis these are coordinates
 *     of LPS, in the order of the indices. `vector` is e. `first` is the position of index 0 in the
 *     image's own frame, which a reader needs to make the image again.
 *
 *     Any other axis that has lengths: the position is axis.positions[i] if the axis lists them,
 * and first + i * spacing if not. Along y the sign is changed, since y falls with the row
 *     (docs/geometry.md).
 *
 *     An axis without lengths: the position is i.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/grid.h"
#include "io/hdf5/hdf5_writer.h"

enum { PATH_BYTES = 1024, GROUP_PATH_BYTES = PATH_BYTES - 64 };

static const char geometry_convention[] =
    "DICOM patient LPS in mm: origin is the center of voxel (0,0,0); direction has 9 numbers, the "
    "unit vectors of rising columns, of rows and of slices one after the other; step_z is the "
    "vector from one slice to the next. Voxel (slice, row, column) is at origin + column * "
    "|spacing of x| * direction[0:3] + row * |spacing of y| * direction[3:6] + slice * step_z. An "
    "axis with a vector has the positions along it, which are coordinates of LPS if it is a "
    "patient "
    "axis";

/* The geometry of a sinogram is that of the projected volume, except the origin. */
static const char sinogram_convention[] =
    "DICOM patient LPS in mm, of the projected volume: origin is the rotation center of the first "
    "slice; direction has 9 numbers, the unit vectors of the volume's rising columns, of rows and "
    "of "
    "slices one after the other; step_z is the vector from one slice to the next";

static const char *quantity_words(enum ts_quantity quantity)
{
    static const char *const words[] = {[TS_COUNTS] = "detector counts",
                                        [TS_TRANSMISSION] = "transmission",
                                        [TS_LINE_INTEGRAL] = "line integral",
                                        [TS_ATTENUATION] = "attenuation",
                                        [TS_HU] = "CT number",
                                        [TS_DOSE] = "dose",
                                        [TS_INTENSITY] = "intensity"};
    return words[quantity];
}

static void format_name(char *out, size_t size, const char *words, const char *unit)
{
    if (*unit)
        snprintf(out, size, "%s (%s)", words, unit);
    else
        snprintf(out, size, "%s", words);
}

/* These write a text or numbers as an attribute. They do nothing if the writer has failed, so the
   status need not be checked after each call. */
static void put_text(struct hdf5_writer *writer, const char *object, const char *name,
                     const char *text)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%.960s@%s", object, name);
    (void)ts_hdf5_text(writer, path, text);
}

static void put_numbers(struct hdf5_writer *writer, const char *object, const char *name,
                        const double *values, int64_t n)
{
    char path[PATH_BYTES];
    const struct ts_image numbers = {
        .rank = 1, .axes = {{.n = n}}, .dtype = TS_F64, .unit = "", .data = (void *)values};
    snprintf(path, sizeof path, "%.960s@%s", object, name);
    (void)ts_hdf5_values(writer, path, &numbers);
}

static void write_axis(struct hdf5_writer *writer, const char *group, const struct ts_image *image,
                       int d)
{
    char path[PATH_BYTES], name[128];
    const struct ts_axis *axis = &image->axes[d];
    const char *unit = axis->unit ? axis->unit : "", *kind = ts_axis_name(axis);
    const double sign = axis->kind == TS_AXIS_Y ? -1 : 1;
    double first = sign * axis->first, step = sign * axis->spacing, vector[3];
    double *positions = malloc((size_t)axis->n * sizeof *positions);
    if (!positions) {
        ts_hdf5_fail_memory(writer, (size_t)axis->n * sizeof *positions);
        return;
    }
    const bool placed = ts_grid_place_axis(image, d, &first, &step, vector);
    for (int64_t i = 0; i < axis->n; i++) {
        positions[i] = placed || step != 0 ? first + (double)i * step : sign * (double)i;
        if (axis->positions)
            positions[i] = sign * axis->positions[i];
        positions[i] += 0; /* no -0 */
    }
    struct ts_image values = {.rank = 1, .axes = {*axis}, .dtype = TS_F64, .unit = unit};
    values.data = positions;
    snprintf(path, sizeof path, "%.960s/%s", group, kind);
    format_name(name, sizeof name, kind, unit);
    (void)ts_hdf5_values(writer, path, &values);
    put_text(writer, path, "long_name", name);
    if (!axis->positions && step != 0)
        put_numbers(writer, path, "spacing", &step, 1);
    if (placed) {
        put_numbers(writer, path, "vector", vector, 3);
        put_numbers(writer, path, "first", &axis->first, 1);
    }
    free(positions);
}

/* Viewers draw the last axis but one upwards by its positions, and radiologists have the front of
   the patient at the top. If positions rise to the back, the axis that viewers take has those that
   rise to the front: `anterior` has those of y times -1. Returns whether it was written. */
static bool write_anterior(struct hdf5_writer *writer, const char *group,
                           const struct ts_image *image, int d)
{
    const struct ts_axis *axis = &image->axes[d];
    char path[PATH_BYTES];
    double first, step, vector[3], *positions;
    if (axis->kind != TS_AXIS_Y || !ts_grid_place_axis(image, d, &first, &step, vector) ||
        step <= 0 || !(vector[1] > fabs(vector[0]) && vector[1] > fabs(vector[2])))
        return false;
    if (!(positions = malloc((size_t)axis->n * sizeof *positions))) {
        ts_hdf5_fail_memory(writer, (size_t)axis->n * sizeof *positions);
        return false;
    }
    for (int64_t i = 0; i < axis->n; i++)
        positions[i] = 0 - (first + (double)i * step);
    const struct ts_image values = {
        .rank = 1, .axes = {*axis}, .dtype = TS_F64, .unit = "mm", .data = positions};
    snprintf(path, sizeof path, "%.960s/anterior", group);
    (void)ts_hdf5_values(writer, path, &values);
    put_text(writer, path, "long_name", "y to the front (mm)");
    free(positions);
    return true;
}

/* Says which axis of the values the positions `name` belong to. */
static void put_index(struct hdf5_writer *writer, const char *group, const char *name, int32_t d)
{
    char path[PATH_BYTES];
    const struct ts_image index = {.rank = 0, .dtype = TS_I32, .unit = "", .data = &d};
    snprintf(path, sizeof path, "%.960s@%s_indices", group, name);
    (void)ts_hdf5_values(writer, path, &index);
}

enum ts_status ts_hdf5_axes(struct hdf5_writer *writer, const char *group, const char *signal,
                            const struct ts_image *image)
{
    const char *names[TS_MAX_RANK];
    char path[PATH_BYTES];
    put_text(writer, group, "signal", signal);
    if (image->rank == 0)
        return ts_hdf5_state(writer);
    for (int32_t d = 0; d < image->rank; d++) {
        names[d] = ts_axis_name(&image->axes[d]);
        put_index(writer, group, names[d], d);
        write_axis(writer, group, image, d);
        if (d + 2 == image->rank && write_anterior(writer, group, image, d)) {
            names[d] = "anterior";
            put_index(writer, group, names[d], d);
            snprintf(path, sizeof path, "%.960s/%s", group, signal);
            put_text(writer, path, "coordinates", names[d]); /* xarray: it is no variable */
        }
    }
    snprintf(path, sizeof path, "%.960s@axes", group);
    (void)ts_hdf5_texts(writer, path, NULL, names, (size_t)image->rank);
    return ts_hdf5_state(writer);
}

static void write_geometry(struct hdf5_writer *writer, const char *group,
                           const struct ts_image *image)
{
    if (!image->has_geometry)
        return;
    put_text(writer, group, "geometry_convention",
             ts_image_is_sinogram(image) ? sinogram_convention : geometry_convention);
    put_numbers(writer, group, "origin_mm", image->origin_mm, 3);
    put_numbers(writer, group, "direction", image->direction, 9);
    put_numbers(writer, group, "step_z_mm", image->step_z_mm, 3);
}

/* Writes the beam of a sinogram, with the distances of a fan. */
static void write_beam(struct hdf5_writer *writer, const char *group, const struct ts_image *image)
{
    const struct ts_beam *beam = &image->beam;
    if (!ts_image_is_sinogram(image))
        return;
    put_text(writer, group, "beam", ts_beam_name(beam->kind));
    if (beam->kind == TS_BEAM_PARALLEL)
        return;
    put_numbers(writer, group, "source_axis_mm", &beam->source_axis_mm, 1);
    put_numbers(writer, group, "source_detector_mm", &beam->source_detector_mm, 1);
}

/* Creates a dataset of the image's type and shape. */
static enum ts_status create_data(struct hdf5_writer *writer, const char *path,
                                  const struct ts_image *image, bool frames, int *id)
{
    const bool half = image->dtype == TS_F16;
    struct hdf5_value value = {
        .element_bytes = ts_dtype_bytes(image->dtype), .rank = image->rank, .frames = frames};
    ts_hdf5_enter();
    value.type = half ? ts_hdf5_half_type(H5T_IEEE_F32LE) : ts_hdf5_type(image->dtype);
    if (value.type < 0)
        ts_hdf5_fail_library(writer, path, 0);
    ts_hdf5_leave();
    for (int d = 0; d < image->rank; d++)
        value.n[d] = image->axes[d].n;
    const enum ts_status status = ts_hdf5_dataset_create(writer, path, &value, id);
    ts_hdf5_enter();
    TS_HDF5_CLOSE(half ? value.type : -1);
    ts_hdf5_leave();
    return status == TS_OK && !frames ? ts_hdf5_scales_note(writer, path, image) : status;
}

enum ts_status ts_hdf5_frames(struct hdf5_writer *writer, const char *path,
                              const struct ts_image *image, int *id)
{
    return create_data(writer, path, image, true, id);
}

static void write_data(struct hdf5_writer *writer, const char *group, const struct ts_image *image,
                       int *id)
{
    char path[PATH_BYTES], name[128];
    const char *unit = image->unit ? image->unit : "";
    snprintf(path, sizeof path, "%.960s/data", group);
    (void)create_data(writer, path, image, false, id);
    if (*unit)
        put_text(writer, path, "units", unit);
    put_text(writer, path, "quantity", ts_quantity_name(image->quantity));
    if (image->labels)
        put_text(writer, path, "labels", image->labels == 1 ? "mask" : "regions");
    put_text(writer, path, "interpretation", "image");
    format_name(name, sizeof name, quantity_words(image->quantity), unit);
    put_text(writer, path, "long_name", name);
    if (image->dtype == TS_F16)
        put_text(writer, path, "rounding", "from f32 to the nearest f16, ties to even");
}

enum ts_status ts_hdf5_image(struct hdf5_writer *writer, const char *path,
                             const struct ts_image *image, int *id)
{
    if (strlen(path) > GROUP_PATH_BYTES - 16 || image->rank < 1 || image->rank > TS_MAX_RANK) {
        ts_hdf5_fail(writer, "output-image", "the image '%.100s' has rank %d or too long a path",
                     path, image->rank);
        return ts_hdf5_state(writer);
    }
    (void)ts_hdf5_group(writer, path, "NXdata");
    write_data(writer, path, image, id);
    (void)ts_hdf5_axes(writer, path, "data", image);
    if (image->axes[0].kind == TS_AXIS_ITEM)
        put_text(writer, path, "sweep", ts_axis_name(&image->axes[0]));
    write_geometry(writer, path, image);
    write_beam(writer, path, image);
    if (!writer->default_data && !(writer->default_data = strdup(path)))
        ts_hdf5_fail_memory(writer, strlen(path));
    return ts_hdf5_state(writer);
}

enum ts_status ts_hdf5_pixel_mask(struct hdf5_writer *writer, const char *group,
                                  const struct ts_image *mask, int *id)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%.960s/pixel_mask", group);
    (void)create_data(writer, path, mask, false, id);
    put_text(writer, path, "long_name", "pixel mask (0: valid, 1: nothing was measured)");
    return ts_hdf5_state(writer);
}

enum ts_status ts_hdf5_write(struct hdf5_writer *writer, int id, const struct ts_image *slab)
{
    if (ts_hdf5_failed(writer))
        return ts_hdf5_state(writer);
    struct hdf5_dataset *dataset = writer->datasets[id];
    const uint64_t bytes = ts_hdf5_dataset_bytes(dataset);
    const int64_t n = slab->axes[0].n, z_next = (int64_t)(bytes / dataset->slice_bytes);
    const bool rounds = dataset->half && slab->dtype == TS_F32;
    const size_t slice_bytes = ts_slice_bytes(slab) / (rounds ? 2 : 1);
    if (slab->z_first != z_next || bytes % dataset->slice_bytes > 0 || n < 0 ||
        n > dataset->n_slices - z_next || slice_bytes != dataset->slice_bytes) {
        ts_hdf5_fail(writer, "output-order",
                     "%s got slices %lld to %lld of %zu bytes each, expected slice %lld of %lld "
                     "with %zu bytes",
                     dataset->path, (long long)slab->z_first, (long long)(slab->z_first + n - 1),
                     slice_bytes, (long long)z_next, (long long)dataset->n_slices,
                     dataset->slice_bytes);
        return ts_hdf5_state(writer);
    }
    return ts_hdf5_dataset_write(writer, id, n, slab->data, rounds);
}
