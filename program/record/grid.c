/* SPDX-License-Identifier: Apache-2.0
 *
 * Places are linear in the indices, so the corners of the image are where the same pixel is farthest apart. Axes of
 * angles and detector pixels, and those of images without a place, are compared position by position.
 */
#include "program/record/grid.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static struct grid_note *add(struct grid_difference *grid, const char *what, bool counts)
{
    struct grid_note *note = &grid->notes[grid->n];
    grid->n += grid->n < GRID_NOTES - 1;
    *note = (struct grid_note){.counts = counts};
    snprintf(note->what, sizeof note->what, "%s", what);
    grid->differs |= counts;
    return note;
}

static void write_numbers(char out[GRID_TEXT], const double *numbers, int n, const char *unit)
{
    size_t used = 0;
    for (int i = 0; i < n && used < GRID_TEXT; i++)
        used += (size_t)snprintf(out + used, GRID_TEXT - used, "%s%.7g", i > 0 ? " " : "", numbers[i]);
    if (used < GRID_TEXT)
        snprintf(out + used, GRID_TEXT - used, "%s%s", *unit ? " " : "", unit);
}

static void add_numbers(struct grid_difference *grid, const char *what, const double *const numbers[2], int n,
                        const char *const units[2])
{
    struct grid_note *note = add(grid, what, true);
    for (int side = 0; side < 2; side++)
        write_numbers(note->sides[side], numbers[side], n, units[side]);
}

static const char *text_of(const char *text)
{
    return text ? text : "";
}

/* Notes texts that are not the same. */
static void compare_texts(struct grid_difference *grid, const char *what, bool counts, const char *a, const char *b)
{
    if (!strcmp(a, b))
        return;
    struct grid_note *note = add(grid, what, counts);
    snprintf(note->sides[0], GRID_TEXT, "%s", *a ? a : "none");
    snprintf(note->sides[1], GRID_TEXT, "%s", *b ? b : "none");
}

static void write_shape(char out[GRID_TEXT], const struct source *source)
{
    const struct ts_axis *axes = source->image.axes;
    int used = 0;
    if (source->n_volumes > 1)
        used = snprintf(out, GRID_TEXT, "%" PRId64 " volumes by %.40s of ", source->n_volumes,
                        ts_axis_name(&source->volume_axis));
    snprintf(out + used, (size_t)(GRID_TEXT - used), "%" PRId64 " x %" PRId64 " x %" PRId64 " (%s, %s, %s)", axes[0].n,
             axes[1].n, axes[2].n, ts_axis_name(&axes[0]), ts_axis_name(&axes[1]), ts_axis_name(&axes[2]));
}

/* Returns how far the same pixel is apart, in mm. */
static double places_apart(const struct ts_image *a, const struct ts_image *b)
{
    const struct ts_image *images[2] = {a, b};
    double most = 0;
    for (int corner = 0; corner < 8; corner++) {
        double place[2][3], sum = 0;
        for (int side = 0; side < 2; side++)
            for (int i = 0; i < 3; i++) {
                const struct ts_image *image = images[side];
                const double z = corner & 4 ? (double)(image->axes[0].n - 1) : 0;
                const double y = corner & 2 ? (double)(image->axes[1].n - 1) : 0;
                const double x = corner & 1 ? (double)(image->axes[2].n - 1) : 0;
                place[side][i] = image->origin_mm[i] + z * image->step_z_mm[i] +
                                 y * ts_axis_spacing(&image->axes[1]) * image->direction[3 + i] +
                                 x * ts_axis_spacing(&image->axes[2]) * image->direction[i];
            }
        for (int i = 0; i < 3; i++)
            sum += (place[0][i] - place[1][i]) * (place[0][i] - place[1][i]);
        most = fmax(most, sqrt(sum));
    }
    return most;
}

static double smallest_spacing(const struct ts_image *image)
{
    return fmin(ts_axis_spacing(&image->axes[0]),
                fmin(ts_axis_spacing(&image->axes[1]), ts_axis_spacing(&image->axes[2])));
}

static double largest_apart(const double *a, const double *b, int n)
{
    double most = 0;
    for (int i = 0; i < n; i++)
        most = fmax(most, fabs(a[i] - b[i]));
    return most;
}

/* Names the parts of the geometry that put the same pixel elsewhere. */
static void compare_places(const struct ts_image *a, const struct ts_image *b, struct grid_difference *grid)
{
    static const char *const mm[2] = {"mm", "mm"}, *const none[2] = {"", ""};
    const double least = GRID_TOLERANCE * fmin(smallest_spacing(a), smallest_spacing(b));
    grid->apart_mm = places_apart(a, b);
    if (!(grid->apart_mm > least))
        return;
    const int before = grid->n;
    if (largest_apart(a->origin_mm, b->origin_mm, 3) > least)
        add_numbers(grid, "origin", (const double *const[]){a->origin_mm, b->origin_mm}, 3, mm);
    if (largest_apart(a->direction, b->direction, 9) > 1e-6)
        add_numbers(grid, "direction", (const double *const[]){a->direction, b->direction}, 9, none);
    if (grid->n == before || largest_apart(a->step_z_mm, b->step_z_mm, 3) > 1e-6 * a->axes[0].spacing)
        add_numbers(grid, "step from slice to slice", (const double *const[]){a->step_z_mm, b->step_z_mm}, 3, mm);
}

/* Returns true where an axis of volumes has no values, only numbers. */
static bool is_numbered(const struct ts_axis *axis)
{
    bool numbered = axis->kind >= TS_AXIS_ITEM && !*text_of(axis->unit);
    for (int64_t i = 0; i < axis->n && numbered; i++)
        numbered = ts_axis_position(axis, i) == (double)i;
    return numbered;
}

/* Compares the spacing of one axis, and the positions where no place in a patient stands for them. */
static void compare_axis(const struct ts_axis *a, const struct ts_axis *b, bool has_places,
                         struct grid_difference *grid)
{
    char names[2][32];
    const double spacing[2] = {ts_axis_spacing(a), ts_axis_spacing(b)};
    const double least = GRID_TOLERANCE * fmin(spacing[0], spacing[1]);
    const char *const units[2] = {text_of(a->unit), text_of(b->unit)};
    int64_t at = -1;
    for (int i = 0; i < 2; i++)
        snprintf(names[i], sizeof names[i], "%s along %s", i ? "positions" : "spacing", ts_axis_name(a));
    if (strcmp(units[0], units[1]) != 0 || is_numbered(a) != is_numbered(b)) {
        compare_texts(grid, names[0], false,
                      is_numbered(a) ? "numbered"
                      : *units[0]    ? units[0]
                                     : "without a unit",
                      is_numbered(b) ? "numbered"
                      : *units[1]    ? units[1]
                                     : "without a unit");
        return;
    }
    if (!a->positions && !b->positions && fabs(spacing[0] - spacing[1]) * (double)(a->n > 1 ? a->n - 1 : 1) > least) {
        add_numbers(grid, names[0], (const double *const[]){&spacing[0], &spacing[1]}, 1, units);
        return;
    }
    const bool rises = a->kind == TS_AXIS_VIEW || a->kind == TS_AXIS_DETECTOR || a->kind >= TS_AXIS_ITEM;
    for (int64_t i = 0; i < a->n && at < 0 && rises && !has_places; i++)
        if (fabs(ts_axis_position(a, i) - ts_axis_position(b, i)) > least)
            at = i;
    if (at < 0)
        return;
    struct grid_note *note = add(grid, names[1], true);
    for (int side = 0; side < 2; side++)
        snprintf(note->sides[side], GRID_TEXT, "%.9g%s%s at %" PRId64, ts_axis_position(side ? b : a, at),
                 *units[side] ? " " : "", units[side], at);
}

static void compare_lengths(const struct side sides[2], struct grid_difference *grid)
{
    const struct ts_image *a = &sides[0].source->image, *b = &sides[1].source->image;
    const bool no_grid = sides[0].no_grid || sides[1].no_grid, sinogram = ts_image_is_sinogram(a);
    const bool places = a->has_geometry && b->has_geometry && !no_grid && !sinogram;
    for (int i = 0; i < 3 && !no_grid; i++)
        compare_axis(&a->axes[i], &b->axes[i], places, grid);
    if (sides[0].source->n_volumes > 1)
        compare_axis(&sides[0].source->volume_axis, &sides[1].source->volume_axis, false, grid);
    if (places)
        compare_places(a, b, grid);
    else if (!sinogram)
        compare_texts(grid, "place in the patient", false,
                      sides[0].no_grid  ? "not stated"
                      : a->has_geometry ? "known"
                                        : "not stated",
                      sides[1].no_grid  ? "not stated"
                      : b->has_geometry ? "known"
                                        : "not stated");
}

void ts_grid_compare(const struct side sides[2], struct grid_difference *grid)
{
    const struct source *sources[2] = {sides[0].source, sides[1].source};
    const struct ts_image *a = &sources[0]->image, *b = &sources[1]->image;
    char shapes[2][GRID_TEXT];
    *grid = (struct grid_difference){.apart_mm = (double)NAN};
    for (int side = 0; side < 2; side++)
        write_shape(shapes[side], sources[side]);
    compare_texts(grid, "shape", true, shapes[0], shapes[1]);
    grid->same_shape = grid->n == 0;
    if (grid->same_shape)
        compare_lengths(sides, grid);
    if (grid->same_shape && ts_image_is_sinogram(a))
        compare_texts(grid, "beam", true, ts_beam_name(a->beam.kind), ts_beam_name(b->beam.kind));
    compare_texts(grid, "type", false, ts_dtype_name(a->dtype), ts_dtype_name(b->dtype));
    compare_texts(grid, "quantity", false, ts_quantity_name(a->quantity), ts_quantity_name(b->quantity));
    compare_texts(grid, "unit of values", false, text_of(a->unit), text_of(b->unit));
}
