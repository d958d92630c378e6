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

#include "core/number.h"
#include "io/file/png.h"
#include "io/scan/result.h"
#include "program/report/facts.h"
#include "program/report/value_bins.h"
#include "program/show/base64.h"
#include "program/show/geometry_picture.h"
#include "program/show/picture.h"
#include "stages/engine/registry.h"

enum { AXES = 3, PLANES = 64, IMAGES = 16, FEWEST_SLICES = 8 };
enum { INVALID = 65535 }; /* value of a pixel without a measurement */

/* The values of a plane have 16 bits. Browsers reduce a PNG of 16 bits to 8, so the two bytes are
   two pictures, one above the other in one PNG: high bytes hardly change from pixel to pixel and
   deflate well. */
struct plane_png {
    int64_t width, height;
    int64_t by[2]; /* rows and columns of values whose mean is one pixel; 1: the value itself */
    void *bytes;
    size_t n;
};

struct report_image {
    const char *name;                 /* of the image in the file */
    const struct report_stage *stage; /* the stage that made it; NULL: it is an input's */
    struct source *source;            /* describes the image */
    struct picture_plane planes[PLANES];
    struct plane_png pngs[PLANES];
    /* one if the image has so few slices that planes perpendicular to them would be lines */
    int n_planes;
    struct value_bins bins;
    struct gray_window window; /* the window that is shown first, and the range of the planes */
    double
        step; /* value = window.least + step * number; integers of up to 65,534 steps are exact */
};

struct report_images {
    struct report_image *at; /* in the order of the chain */
    size_t n, left_out;      /* left_out: number of images beyond the first IMAGES */
};

/* ---- which images ---------------------------------------------------------------------------- */

static bool has_image(const struct report_facts *facts, const char *name)
{
    return *name && ts_made_image(&facts->made, name) != NULL;
}

static void add_image(struct report_images *images, const char *name,
                      const struct report_stage *stage)
{
    if (images->n < IMAGES)
        images->at[images->n++] = (struct report_image){.name = name, .stage = stage};
    else
        images->left_out++;
}

/* Stages that keep their image name it; the last image of a chain is `data` if it has no other
   name. The stages of the first value of a sweep are listed for all. */
static enum ts_status list_images(const struct report_facts *facts, struct report_images *images,
                                  struct ts_diag *diag)
{
    images->at = calloc(IMAGES, sizeof *images->at);
    if (!images->at)
        return ts_diag_no_memory(diag, IMAGES * sizeof *images->at);
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
    image->n_planes = axis[0].n >= FEWEST_SLICES ? AXES : 1;
    if (swept)
        image->n_planes = (int)(n_volumes < PLANES ? n_volumes : PLANES);
    for (int i = 0; i < image->n_planes; i++) {
        struct picture_plane *plane = &image->planes[i];
        ts_picture_plane_stored(&image->source->image, swept ? 0 : i, true, plane);
        plane->volume = swept ? i : (n_volumes - 1) / 2;
        plane->volume_name = swept ? facts->sweep.names[i] : NULL;
        plane->index = (axis[plane->across].n - 1) / 2;
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
        status = ts_gray_window_find(&request, image->source->image.quantity, image->planes,
                                     image->n_planes, &image->window, diag);
    const double range = image->window.most - image->window.least;
    image->step = (integers && range < INVALID) || !(range > 0) ? 1 : range / (INVALID - 1);
    return status;
}

/* ---- pictures -------------------------------------------------------------------------------- */

/* Returns the mean of the measured values in a block; NAN if there are none. */
static double mean_of(const struct picture_plane *plane, const struct plane_png *png, int64_t row,
                      int64_t column)
{
    double sum = 0;
    int64_t n = 0;
    for (int64_t y = row * png->by[0]; y < (row + 1) * png->by[0] && y < plane->rows; y++)
        for (int64_t x = column * png->by[1]; x < (column + 1) * png->by[1] && x < plane->columns;
             x++) {
            const double value = (double)plane->values[y * plane->columns + x];
            sum += isfinite(value) ? value : 0;
            n += isfinite(value);
        }
    return n > 0 ? sum / (double)n : NAN;
}

/* Makes the picture of plane i, at most `side` pixels wide and high. */
static enum ts_status make_png(struct report_image *image, int i, int64_t side,
                               struct ts_diag *diag)
{
    const struct picture_plane *plane = &image->planes[i];
    struct plane_png *png = &image->pngs[i];
    free(png->bytes);
    *png = (struct plane_png){
        .by = {(plane->rows + side - 1) / side, (plane->columns + side - 1) / side}};
    png->height = (plane->rows + png->by[0] - 1) / png->by[0];
    png->width = (plane->columns + png->by[1] - 1) / png->by[1];
    const size_t n = (size_t)(png->width * png->height);
    uint8_t *high = malloc(2 * n), *low = high + n;
    if (!high)
        return ts_diag_no_memory(diag, 2 * n);
    for (size_t k = 0; k < n; k++) {
        const double value = mean_of(plane, png, (int64_t)k / png->width, (int64_t)k % png->width);
        const long number =
            isnan(value) ? INVALID : lrint((value - image->window.least) / image->step);
        high[k] = (uint8_t)(number >> 8);
        low[k] = (uint8_t)(number & 255);
    }
    const enum ts_status status =
        ts_png_gray8(png->width, 2 * png->height, high, &png->bytes, &png->n, diag);
    free(high);
    return status;
}

/* Makes the pictures of all planes, as large as possible: so that they take at most so many bytes,
   with which the page stays below 5 MB. */
static enum ts_status fit_pngs(struct report_images *images, struct ts_diag *diag)
{
    static const int64_t sides[] = {768, 512, 384, 256, 192, 128, 96, 64};
    static const size_t most_bytes = 2500000;
    enum ts_status status = TS_OK;
    size_t bytes = SIZE_MAX;
    for (size_t s = 0; s < sizeof sides / sizeof *sides && bytes > most_bytes; s++) {
        bytes = 0;
        for (size_t i = 0; i < images->n; i++)
            for (int k = 0; k < images->at[i].n_planes && status == TS_OK; k++) {
                status = make_png(&images->at[i], k, sides[s], diag);
                bytes += images->at[i].pngs[k].n;
            }
    }
    return status;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void write_axes(const struct ts_axis *axes, struct json *json)
{
    ts_json_open_member(json, "axes", '[');
    for (int i = 0; i < AXES; i++) {
        ts_json_open(json, '{');
        ts_json_member_text(json, "name", ts_axis_name(&axes[i]));
        ts_json_member_integer(json, "n", axes[i].n);
        ts_json_member_real(json, "spacing", ts_picture_spacing(&axes[i]));
        ts_json_member_text(json, "unit", ts_picture_unit(&axes[i]));
        ts_json_member_bool(json, "from_first", *ts_picture_from(&axes[i]));
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
    ts_json_member_integer(json, "width", png->width);
    ts_json_member_integer(json, "height", png->height);
    ts_json_member_integer(json, "mean_rows", png->by[0]);
    ts_json_member_integer(json, "mean_columns", png->by[1]);
    ts_json_member_text(json, "png", complete ? text : NULL);
    free(text);
    return complete;
}

static bool write_plane(const struct report_image *image, int i, struct json *json)
{
    const struct ts_image *of = &image->source->image;
    const struct picture_plane *plane = &image->planes[i];
    char sides[sizeof plane->sides + 1] = "";
    if (!ts_image_is_sinogram(of))
        memcpy(sides, plane->sides, sizeof plane->sides);
    ts_json_open(json, '{');
    ts_json_member_integer(json, "across", plane->across);
    ts_json_member_integer(json, "down", plane->down);
    ts_json_member_integer(json, "right", plane->right);
    ts_json_member_integer(json, "index", plane->index);
    ts_json_member_real(json, "position", ts_axis_position(&of->axes[plane->across], plane->index));
    ts_json_member_integer(json, "volume", plane->volume);
    ts_json_member_text(json, "volume_name", plane->volume_name);
    ts_json_member_text(json, "sides", sides);
    ts_json_member_real(json, "ratio",
                        (double)plane->columns * plane->width /
                            ((double)plane->rows * plane->height));
    const bool complete = write_png(&image->pngs[i], json);
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
    write_axes(of->axes, json);
    ts_json_member_integer(json, "volumes", image->source->n_volumes);
    ts_json_member_text(json, "volume_axis", ts_axis_name(&image->source->volume_axis));
    ts_json_member_real(json, "lean_degree", lean > TS_UPRIGHT_DEGREE ? lean : 0);
    ts_json_member_bool(json, "equalized", is_equalized(facts, image));
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
        for (int k = 0; k < PLANES; k++) {
            free(image->planes[k].values);
            free(image->pngs[k].bytes);
        }
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
        status = fit_pngs(&images, diag);
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
