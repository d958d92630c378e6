/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the images of a result with their planes and counts, and the drawing of the last sinogram.
 * An image is opened as a run opens one of another result, so that axes, units, geometry and
 * invalid pixels are those that a chain would see. Of a series of volumes the middle one is shown,
 * of a sweep each value; all are counted.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/grid.h"
#include "core/number.h"
#include "io/scan/result.h"
#include "program/report/facts.h"
#include "program/report/pictures.h"
#include "program/show/base64.h"
#include "program/show/geometry_picture.h"
#include "stages/engine/registry.h"

enum { AXES = 3 };

/* ---- which images ---------------------------------------------------------------------------- */

static bool has_image(const struct report_facts *facts, const char *name)
{
    return *name && ts_made_image(&facts->made, name) != NULL;
}

static void add_image(struct report_images *images, const char *name,
                      const struct report_stage *stage)
{
    if (images->n < REPORT_IMAGES)
        images->at[images->n++] = (struct report_image){.name = name, .stage = stage};
    else
        images->left_out++;
}

/* Stages that keep their image name it; the last image of a chain is `data` if it has no other
   name. The stages of the first value of a sweep are listed for all. */
static enum ts_status list_images(const struct report_facts *facts, struct report_images *images,
                                  struct ts_diag *diag)
{
    images->at = calloc(REPORT_IMAGES, sizeof *images->at);
    if (!images->at)
        return ts_diag_no_memory(diag, REPORT_IMAGES * sizeof *images->at);
    size_t n = facts->n_stages;
    while (n > 0 && facts->stages[n - 1].value > 0)
        n--;
    const struct report_stage *last = n > 0 ? &facts->stages[n - 1] : NULL;
    for (size_t i = 0; i < n; i++)
        if (has_image(facts, facts->stages[i].of->name))
            add_image(images, facts->stages[i].of->name, &facts->stages[i]);
    if (has_image(facts, "data") && !(last && has_image(facts, last->of->name)))
        add_image(images, "data", last);
    return TS_OK;
}

/* ---- reading --------------------------------------------------------------------------------- */

static void choose_planes(const struct report_facts *facts, struct report_image *image)
{
    const struct ts_axis *axis = image->source->image.axes;
    const int64_t n_volumes = image->source->n_volumes > 1 ? image->source->n_volumes : 1;
    const bool swept = facts->sweep.n > 1 && n_volumes == facts->sweep.n;
    image->n_planes = ts_picture_planes(&image->source->image, true, image->planes);
    if (swept)
        image->n_planes = (int)(n_volumes < REPORT_PLANES ? n_volumes : REPORT_PLANES);
    for (int i = 0; i < image->n_planes; i++) {
        struct picture_plane *plane = &image->planes[i];
        if (swept)
            ts_picture_plane(&image->source->image, PLANE_STORED, true, plane);
        plane->volume = swept ? i : (n_volumes - 1) / 2;
        plane->volume_name = swept ? facts->sweep.names[i] : NULL;
        ts_picture_move(&image->source->image, (axis[plane->across].n - 1) / 2, plane);
    }
}

static void count_values(void *user, const float *values, size_t n)
{
    ts_value_bins_add(user, values, n);
}

/* Reads an image once, slab by slab. */
static enum ts_status read_image(const struct report_facts *facts, struct report_image *image,
                                 struct ts_diag *diag)
{
    const struct gray_window_request request = {.kind = GRAY_AUTO};
    enum ts_status status = ts_result_open(NULL, facts->path, image->name, true, "report",
                                           &image->source, diag); /* facts proved it */
    if (status != TS_OK)
        return status;
    const bool integers = ts_dtype_is_integer(image->source->image.dtype);
    ts_value_bins_init(&image->bins, integers);
    choose_planes(facts, image);
    status = ts_picture_read(image->source, image->planes, image->n_planes, count_values,
                             &image->bins, diag);
    if (status == TS_OK)
        status = ts_gray_window_find(&request, &image->source->image, image->planes,
                                     image->n_planes, &image->window, diag);
    if (facts->slices > 0 && image->bins.n > 0) { /* pictures of other slices have other values */
        image->window.least = image->bins.low;
        image->window.most = image->bins.high;
    }
    const double range = image->window.most - image->window.least;
    image->step =
        (integers && range < PICTURE_INVALID) || !(range > 0) ? 1 : range / (PICTURE_INVALID - 1);
    return status;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void write_axes(const struct ts_image *image, struct json *json)
{
    const struct ts_axis *axes = image->axes;
    ts_json_open_member(json, "axes", '[');
    for (int i = 0; i < AXES; i++) {
        ts_json_open(json, '{');
        ts_json_member_text(json, "name", ts_axis_name(&axes[i]));
        ts_json_member_integer(json, "n", axes[i].n);
        ts_json_member_real(json, "spacing", ts_picture_spacing(&axes[i]));
        ts_json_member_text(json, "unit", ts_picture_unit(&axes[i]));
        ts_json_member_bool(json, "from_first", *ts_picture_from(image, i));
        ts_json_close(json, '}');
    }
    ts_json_close(json, ']');
}

/* Equalization maps each value to the share of the values up to it, so the page draws this curve
   into the histogram of the image that a stage equalizes. It has none if the stage counted other
   values than the histogram: those of single slices or volumes, each with its own curve, those
   inside a mask, or those of another image that it follows. */

/* Returns the stage with this label, or NULL for that of an input. */
static const struct report_stage *find_stage(const struct report_facts *facts, const char *label)
{
    for (size_t i = 0; i < facts->n_stages; i++)
        if (!strcmp(facts->stages[i].label, label))
            return &facts->stages[i];
    return NULL;
}

/* Returns true if the parameter of a stage that may name another image names none. */
static bool names_none(const struct report_facts *facts, const struct report_stage *stage,
                       const char *param)
{
    const char *name = ts_made_value(&facts->made, "%s/parameters/%s", stage->of->group, param);
    return !*name || !strcmp(name, "none");
}

/* Returns true if the stage maps all values of an image by their own histogram. */
static bool equalizes_whole(const struct report_facts *facts, const struct report_stage *stage)
{
    const struct stage *known = ts_registry_find(NULL, stage->of->stage);
    const char *scope = ts_made_value(&facts->made, "%s/parameters/scope", stage->of->group);
    return known && (known->traits & TRAIT_MAPS_BY_SHARES) && !strcmp(scope, "volume") &&
           names_none(facts, stage, "reference") && names_none(facts, stage, "mask");
}

/* Returns true if a stage equalizes this image, directly or after stages that pass images on
   unchanged. */
static bool is_equalized(const struct report_facts *facts, const struct report_image *image)
{
    for (size_t i = 0; i < facts->n_stages; i++) {
        const struct report_stage *stage = &facts->stages[i], *from = stage;
        bool passes = image->source->n_volumes <= 1 && equalizes_whole(facts, stage);
        while (passes) {
            from = find_stage(facts, from->of->input);
            if (from == image->stage)
                return true;
            const struct stage *known =
                from && from < stage ? ts_registry_find(NULL, from->of->stage) : NULL;
            passes = known && !known->map;
        }
    }
    return false;
}

static void write_counts(const struct value_bins *bins, struct json *json)
{
    ts_json_member_integer(json, "finite", bins->n);
    ts_json_member_integer(json, "invalid", bins->invalid);
    ts_json_member_real(json, "low", bins->low);
    ts_json_member_real(json, "high", bins->high);
    ts_json_member_real(json, "mean", bins->sum / (double)bins->n);
    ts_json_open_member(json, "histogram", '{');
    ts_json_member_real(json, "first", (double)bins->first * bins->width);
    ts_json_member_real(json, "width", bins->width);
    ts_json_open_member(json, "counts", '[');
    for (int64_t i = bins->first; bins->n > 0 && i <= bins->last; i++)
        ts_json_integer(json, bins->counts[i - bins->first]);
    ts_json_close(json, ']');
    ts_json_close(json, '}');
}

static void write_window(const struct report_image *image, struct json *json)
{
    const struct gray_window *window = &image->window;
    ts_json_open_member(json, "window", '{');
    ts_json_member_real(json, "level", 0.5 * (window->low + window->high));
    ts_json_member_real(json, "width", window->high - window->low);
    ts_json_member_real(json, "least", window->least);
    ts_json_member_real(json, "most", window->most);
    ts_json_member_real(json, "step", image->step);
    ts_json_open_member(json, "presets", '[');
    for (int i = 0; i < GRAY_PRESETS && image->source->image.quantity == TS_HU; i++) {
        ts_json_open(json, '{');
        ts_json_member_text(json, "name", ts_gray_presets[i].name);
        ts_json_member_real(json, "level", ts_gray_presets[i].center);
        ts_json_member_real(json, "width", ts_gray_presets[i].width);
        ts_json_close(json, '}');
    }
    ts_json_close(json, ']');
    ts_json_close(json, '}');
}

/* Returns false if memory is out. */
static bool write_png(const struct plane_png *png, struct json *json)
{
    char *text = NULL;
    size_t n;
    FILE *stream = open_memstream(&text, &n);
    if (stream)
        ts_base64_write(stream, png->bytes, png->n);
    const bool complete = stream && fclose(stream) == 0;
    ts_json_member_text(json, "png", complete ? text : NULL);
    free(text);
    return complete;
}

/* Writes the other slices of a plane, through which its readers can scroll. */
static bool write_slices(const struct report_image *image, const struct plane_stack *stack,
                         struct json *json)
{
    bool complete = true;
    ts_json_open_member(json, "slices", '{');
    ts_json_member_integer(json, "coarse", stack->coarse);
    ts_json_open_member(json, "pictures", '[');
    for (int64_t i = 0; i < stack->n; i++) {
        ts_json_open(json, '{');
        ts_json_member_integer(json, "index", stack->at[i].index);
        ts_json_member_real(json, "position",
                            ts_grid_position(&image->source->image, 0, stack->at[i].index));
        complete = write_png(&stack->at[i].png, json) && complete;
        ts_json_close(json, '}');
    }
    ts_json_close(json, ']');
    ts_json_close(json, '}');
    return complete;
}

/* Writes the sides of the patient, "RLAP"; a blank is a side that is not known. */
static void write_sides(const struct picture_plane *plane, struct json *json)
{
    char sides[sizeof plane->sides + 1] = {0};
    for (size_t i = 0; i < sizeof plane->sides; i++)
        sides[i] = plane->sides[i] ? plane->sides[i] : ' ';
    ts_json_member_text(json, "sides", strcmp(sides, "    ") ? sides : "");
}

static bool write_plane(const struct report_image *image, int i, struct json *json)
{
    const struct ts_image *of = &image->source->image;
    const struct picture_plane *plane = &image->planes[i];
    ts_json_open(json, '{');
    ts_json_member_text(json, "name", plane->name);
    ts_json_member_integer(json, "across", plane->across);
    ts_json_member_integer(json, "down", plane->down);
    ts_json_member_integer(json, "right", plane->right);
    ts_json_member_bool(json, "up", plane->up);
    ts_json_member_bool(json, "left", plane->left);
    ts_json_member_integer(json, "index", plane->index);
    ts_json_member_real(json, "position", ts_grid_position(of, plane->across, plane->index));
    ts_json_member_integer(json, "volume", plane->volume);
    ts_json_member_text(json, "volume_name", plane->volume_name);
    write_sides(plane, json);
    ts_json_member_real(json, "ratio",
                        (double)plane->columns * plane->width /
                            ((double)plane->rows * plane->height));
    const struct plane_png *png = &image->pngs[i];
    ts_json_member_integer(json, "width", png->width);
    ts_json_member_integer(json, "height", png->height);
    ts_json_member_integer(json, "mean_rows", png->by[0]);
    ts_json_member_integer(json, "mean_columns", png->by[1]);
    bool complete = write_png(png, json);
    if (image->stacks[i].n > 0)
        complete = write_slices(image, &image->stacks[i], json) && complete;
    ts_json_close(json, '}');
    return complete;
}

static bool write_image(const struct report_facts *facts, const struct report_image *image,
                        struct json *json)
{
    const struct ts_image *of = &image->source->image;
    const double lean = ts_image_lean_degree(of);
    bool complete = true;
    ts_json_open(json, '{');
    ts_json_member_text(json, "name", image->name);
    ts_json_member_text(json, "stage", image->stage ? image->stage->label : NULL);
    ts_json_member_text(json, "type", ts_dtype_name(of->dtype));
    ts_json_member_text(json, "quantity", ts_quantity_name(of->quantity));
    ts_json_member_text(json, "unit", of->unit);
    write_axes(of, json);
    ts_json_member_integer(json, "volumes", image->source->n_volumes);
    ts_json_member_text(json, "volume_axis", ts_axis_name(&image->source->volume_axis));
    ts_json_member_real(json, "lean_degree", lean > TS_UPRIGHT_DEGREE ? lean : 0);
    ts_json_member_bool(json, "equalized", is_equalized(facts, image));
    ts_json_member_integer(json, "labels", of->labels);
    write_counts(&image->bins, json);
    write_window(image, json);
    ts_json_open_member(json, "planes", '[');
    for (int i = 0; i < image->n_planes; i++)
        complete = write_plane(image, i, json) && complete;
    ts_json_close(json, ']');
    ts_json_close(json, '}');
    return complete;
}

/* ---- geometry -------------------------------------------------------------------------------- */

/* The drawing is that of `check --picture`, made from the sinogram in the result and the center
   with which the later stages ran. */

/* Returns the rotation axis that a stage of the result was given or found, as recorded; "":
   none. */
static const char *axis_of(const struct report_facts *facts, const struct report_stage *of,
                           const struct stage *stage)
{
    for (size_t i = 0; stage && i < stage->n_params; i++)
        if (stage->params[i].rotation_axis)
            return ts_made_value(&facts->made, "%s/parameters/%s", of->of->group,
                                 stage->params[i].name);
    return "";
}

/* Finds the center that a later stage was given or found. Returns the label of that stage, or NULL.
 * A stage that this build does not know may have changed the detector. */
static const char *find_center(const struct report_facts *facts, const struct report_image *image,
                               double *center)
{
    for (size_t i = 0; i < facts->n_stages; i++) {
        const struct report_stage *recorded = &facts->stages[i];
        const struct stage *stage = ts_registry_find(NULL, recorded->of->stage);
        if (image->stage && recorded->of->number <= image->stage->of->number)
            continue;
        const char *text = axis_of(facts, recorded, stage);
        if (*text && !ts_number_real(text, center))
            return recorded->label;
        if (!stage || (stage->traits & TRAIT_NEW_DETECTOR))
            return NULL;
    }
    return NULL;
}

static const struct report_image *last_sinogram(const struct report_images *images)
{
    const struct report_image *found = NULL;
    for (size_t i = 0; i < images->n; i++) {
        const struct ts_image *image = &images->at[i].source->image;
        if (ts_image_is_sinogram(image) && image->axes[1].unit &&
            !strcmp(image->axes[1].unit, "degree"))
            found = &images->at[i];
    }
    return found;
}

/* Writes how the last sinogram in the result was measured. Returns false if memory is out. */
static bool write_geometry(const struct report_facts *facts, const struct report_images *images,
                           struct json *json)
{
    const struct report_image *image = last_sinogram(images);
    char *texts[2] = {NULL, NULL}; /* the drawing and its numbers */
    size_t n[2];
    if (!image)
        return true;
    struct ts_image sinogram = image->source->image;
    struct rotation_axis axis = {.center =
                                     -sinogram.axes[2].first / ts_axis_spacing(&sinogram.axes[2])};
    axis.owner = find_center(facts, image, &axis.center);
    sinogram.axes[2].first = -axis.center * ts_axis_spacing(&sinogram.axes[2]);
    FILE *drawing = open_memstream(&texts[0], &n[0]), *numbers = open_memstream(&texts[1], &n[1]);
    if (drawing && numbers)
        ts_geometry_picture(&sinogram, &axis, drawing, numbers);
    const bool drawn = drawing && fclose(drawing) == 0, numbered = numbers && fclose(numbers) == 0;
    ts_json_open_member(json, "geometry", '{');
    ts_json_member_text(json, "image", image->name);
    ts_json_member_text(json, "numbers", numbered ? texts[1] : NULL);
    ts_json_member_text(json, "svg", drawn ? texts[0] : NULL);
    ts_json_close(json, '}');
    free(texts[0]);
    free(texts[1]);
    return drawn && numbered;
}

/* ---- all ------------------------------------------------------------------------------------- */

static void close_images(struct report_images *images)
{
    for (size_t i = 0; i < images->n; i++) {
        struct report_image *image = &images->at[i];
        for (int k = 0; k < REPORT_PLANES; k++) {
            free(image->planes[k].values);
            free(image->pngs[k].bytes);
        }
        ts_report_stacks_clear(image);
        if (image->source)
            image->source->ops->close(image->source);
    }
    free(images->at);
}

enum ts_status ts_report_images(const struct report_facts *facts, struct json *json,
                                struct ts_diag *diag)
{
    struct report_images images = {0};
    bool complete = true;
    enum ts_status status = list_images(facts, &images, diag);
    for (size_t i = 0; status == TS_OK && i < images.n; i++)
        status = read_image(facts, &images.at[i], diag);
    if (status == TS_OK)
        status = ts_report_pictures(&images, facts->slices, diag);
    ts_json_open_member(json, "images", '[');
    for (size_t i = 0; status == TS_OK && i < images.n; i++)
        complete = write_image(facts, &images.at[i], json) && complete;
    ts_json_close(json, ']');
    ts_json_member_integer(json, "images_left_out", (int64_t)images.left_out);
    if (status == TS_OK && !(write_geometry(facts, &images, json) && complete))
        status = ts_diag_no_memory(diag, sizeof images);
    close_images(&images);
    return status;
}
