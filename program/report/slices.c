/* SPDX-License-Identifier: Apache-2.0
 *
 * Each image of the result has a card: what made it, its planes at the aspect ratio of their
 * spacings with a scale bar, the sliders of the window, and the image before it, which a slider
 * uncovers where both have the same pixels.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/file/png.h"
#include "program/report/html.h"
#include "program/report/parts.h"
#include "program/show/base64.h"
#include "program/show/picture.h"
#include "stages/engine/stage.h"

/* ---- pictures -------------------------------------------------------------------------------- */

/* Browsers decode a PNG of 16 bits to 8, so the values come as two pictures of 8 bits, one above
 * the other in one PNG: high bytes hardly change from pixel to pixel and deflate well. */

/* Values are stored in 16 bits: value = low + step * number. Integers of up to 65,534 steps are
 * exact. */
struct report_scale {
    double low, step;
};
enum { REPORT_INVALID = 65535 }; /* the number where nothing was measured */

struct report_picture {
    int64_t width, height;
    int64_t by[2]; /* rows and columns of values whose mean is one pixel; 1: the value itself */
    void *shown,
        *values; /* PNGs; the one of the values has their high bytes above their low bytes */
    size_t n_shown, n_values;
};

/* These are the pictures of all planes, image by image. */
struct report_pictures {
    struct report_picture at[REPORT_IMAGES][REPORT_PLANES];
};

static struct report_scale scale_of(const struct report_image *image)
{
    const double range = image->window.most - image->window.least;
    const bool exact = ts_dtype_is_integer(image->source->image.dtype) && range < REPORT_INVALID;
    return (struct report_scale){image->window.least,
                                 exact || !(range > 0) ? 1 : range / (REPORT_INVALID - 1)};
}

/* Returns the mean of the measured values in a block, NAN where there is none. */
static double mean_of(const struct picture_plane *plane, const struct report_picture *picture,
                      int64_t row, int64_t column)
{
    double sum = 0;
    int64_t n = 0;
    for (int64_t y = row * picture->by[0]; y < (row + 1) * picture->by[0] && y < plane->rows; y++)
        for (int64_t x = column * picture->by[1];
             x < (column + 1) * picture->by[1] && x < plane->columns; x++) {
            const double value = (double)plane->values[y * plane->columns + x];
            sum += isfinite(value) ? value : 0;
            n += isfinite(value);
        }
    return n > 0 ? sum / (double)n : NAN;
}

/* Makes the pictures of a plane, at most `side` pixels wide and high. The caller frees shown and
 * values. */
static enum ts_status make_picture(const struct report_image *image,
                                   const struct picture_plane *plane, int64_t side,
                                   struct report_picture *picture, struct ts_diag *diag)
{
    const struct report_scale scale = scale_of(image);
    const struct view_pane pane = ts_picture_pane(plane, &image->window);
    *picture = (struct report_picture){
        .by = {(plane->rows + side - 1) / side, (plane->columns + side - 1) / side}};
    picture->height = (plane->rows + picture->by[0] - 1) / picture->by[0];
    picture->width = (plane->columns + picture->by[1] - 1) / picture->by[1];
    const size_t n = (size_t)(picture->width * picture->height);
    uint8_t *gray = calloc(3, n), *high = gray ? gray + n : NULL, *low = gray ? high + n : NULL;
    if (!gray)
        return ts_diag_no_memory(diag, 3 * n);
    for (size_t i = 0; i < n; i++) {
        const double value =
            mean_of(plane, picture, (int64_t)i / picture->width, (int64_t)i % picture->width);
        const long number = isnan(value) ? REPORT_INVALID : lrint((value - scale.low) / scale.step);
        gray[i] =
            isnan(value) || !(pane.high > pane.low) ? 0 : (uint8_t)ts_view_level(&pane, value);
        high[i] = (uint8_t)(number >> 8);
        low[i] = (uint8_t)(number & 255);
    }
    enum ts_status status = ts_png_gray8(picture->width, picture->height, gray, &picture->shown,
                                         &picture->n_shown, diag);
    if (status == TS_OK)
        status = ts_png_gray8(picture->width, 2 * picture->height, high, &picture->values,
                              &picture->n_values, diag);
    free(gray);
    return status;
}

/* Pictures take at most so many bytes, with which the page stays below 5 MB. */
static const size_t most_picture_bytes = 2500000;

static void free_pictures(struct report_pictures *pictures)
{
    for (size_t i = 0; i < REPORT_IMAGES * REPORT_PLANES; i++) {
        struct report_picture *picture = &pictures->at[i / REPORT_PLANES][i % REPORT_PLANES];
        free(picture->shown);
        free(picture->values);
        *picture = (struct report_picture){0};
    }
}

static enum ts_status make_pictures(const struct report_images *images, int64_t side,
                                    struct report_pictures *pictures, size_t *bytes,
                                    struct ts_diag *diag)
{
    enum ts_status status = TS_OK;
    *bytes = 0;
    for (size_t i = 0; i < images->n; i++)
        for (int k = 0; k < images->at[i].n_planes && status == TS_OK; k++) {
            struct report_picture *picture = &pictures->at[i][k];
            status = make_picture(&images->at[i], &images->at[i].planes[k], side, picture, diag);
            *bytes += picture->n_shown + picture->n_values;
        }
    return status;
}

/* Makes the pictures as large as fits. */
static enum ts_status fit_pictures(const struct report_images *images,
                                   struct report_pictures *pictures, struct ts_diag *diag)
{
    static const int64_t sides[] = {768, 512, 384, 256, 192, 128, 96, 64};
    enum ts_status status = TS_OK;
    size_t bytes = SIZE_MAX;
    for (size_t i = 0;
         i < sizeof sides / sizeof *sides && status == TS_OK && bytes > most_picture_bytes; i++) {
        free_pictures(pictures);
        status = make_pictures(images, sides[i], pictures, &bytes, diag);
    }
    return status;
}

/* ---- histograms ------------------------------------------------------------------------------ */

/* Counts are drawn as steps, once linear, and once logarithmic, where rare values show.
 * Equalization maps each value to the share of the values up to it, so this curve is drawn into the
 * histogram of the image that a stage equalizes. It is left out where the histogram has other
 * values than the stage counted: those of several slices or volumes, each of which has its own
 * curve, those outside of a mask, or where the stage follows the histogram of another image. */

enum { POINTS = 2 * VALUE_BINS };
static const double empty_bin = 0.5; /* where an empty bin is drawn on a logarithmic axis */

struct steps {
    int n;
    double x[POINTS], counts[POINTS], logs[POINTS], curve[POINTS];
};

static void make_steps(const struct value_bins *bins, struct steps *steps)
{
    const int n = (int)(bins->last - bins->first + 1);
    int64_t most = 1, below = 0;
    for (int i = 0; i < n; i++)
        most = bins->counts[i] > most ? bins->counts[i] : most;
    for (int i = 0; i < n; i++)
        for (int end = 0; end < 2; end++) {
            below += end == 1 ? bins->counts[i] : 0;
            steps->x[steps->n] = (double)(bins->first + i + end) * bins->width;
            steps->counts[steps->n] = (double)bins->counts[i];
            steps->logs[steps->n] = fmax((double)bins->counts[i], empty_bin);
            steps->curve[steps->n++] = (double)below / (double)bins->n * (double)most;
        }
}

/* Returns true where the stage maps all values of an image by their own histogram. */
static bool equalizes_whole(const struct report_facts *facts, const struct report_stage *stage)
{
    const struct stage *known = ts_stage_find(stage->of->stage);
    const char *const others[] = {
        ts_made_value(&facts->made, "%s/parameters/reference", stage->of->group),
        ts_made_value(&facts->made, "%s/parameters/mask", stage->of->group)};
    bool whole =
        known && (known->traits & TRAIT_MAPS_BY_SHARES) &&
        !strcmp(ts_made_value(&facts->made, "%s/parameters/scope", stage->of->group), "volume");
    for (int i = 0; i < 2; i++)
        whole &= !*others[i] || !strcmp(others[i], "none");
    return whole;
}

/* Returns true where a stage equalizes this image, directly or after stages that pass images on as
 * they are. */
static bool is_equalized(const struct report_facts *facts, const struct report_image *image)
{
    for (size_t i = 0; i < facts->n_stages; i++) {
        const struct report_stage *stage = &facts->stages[i], *from = stage;
        bool passes = image->source->n_volumes <= 1 && equalizes_whole(facts, stage);
        while (passes) {
            from = ts_report_stage(facts, from->of->input);
            if (from == image->stage)
                return true;
            const struct stage *known =
                from && from < stage ? ts_stage_find(from->of->stage) : NULL;
            passes = known && !known->map;
        }
    }
    return false;
}

static enum ts_status draw(const struct report_image *image, const struct steps *steps,
                           bool logarithmic, bool equalized, FILE *stream, struct ts_diag *diag)
{
    const struct chart_line lines[] = {
        {.name = "values in a bin",
         .n = steps->n,
         .x = steps->x,
         .y = logarithmic ? steps->logs : steps->counts},
        {.name = "equalization: the share of values up to here, 1 at its top",
         .color = 1,
         .n = steps->n,
         .x = steps->x,
         .y = steps->curve}};
    char across[96];
    snprintf(across, sizeof across, "value / %.80s", image->source->image.unit);
    const struct chart_panel panel = {
        .title = "",
        .x = {.title = across, .low = steps->x[0], .high = steps->x[steps->n - 1]},
        .y = {.title = logarithmic ? "values in a bin; empty bins at 0.5" : "values in a bin",
              .logarithmic = logarithmic,
              .low = logarithmic ? empty_bin : 0,
              .high = 1},
        .lines = lines,
        .n_lines = equalized && !logarithmic ? 2 : 1};
    const struct chart chart = {.title = logarithmic ? "Histogram, logarithmic" : "Histogram",
                                .panels = &panel,
                                .n_panels = 1};
    return ts_html_chart(stream, &chart, diag);
}

/* Draws the two histograms of an image, with the curve of equalization where a stage equalizes it.
 * TS_RUN_FAILED where memory is out. */
static enum ts_status write_histograms(const struct report_facts *facts,
                                       const struct report_image *image, FILE *stream,
                                       struct ts_diag *diag)
{
    if (image->bins.n == 0)
        return TS_OK;
    struct steps *steps = calloc(1, sizeof *steps);
    enum ts_status status = steps ? TS_OK : ts_diag_no_memory(diag, sizeof *steps);
    if (steps)
        make_steps(&image->bins, steps);
    const bool equalized = is_equalized(facts, image);
    fputs("<div class=\"charts\">\n", stream);
    for (int logarithmic = 0; status == TS_OK && logarithmic < 2; logarithmic++)
        status = draw(image, steps, logarithmic, equalized, stream, diag);
    fputs("</div>\n", stream);
    free(steps);
    return status;
}

/* ---- a plane --------------------------------------------------------------------------------- */

static void write_sides(const struct picture_plane *plane, FILE *stream)
{
    static const char *const places[] = {"left", "right", "top", "bottom"};
    for (int i = 0; i < 4 && plane->sides[i]; i++)
        fprintf(stream, "<i class=\"%s\">%c</i>", places[i], plane->sides[i]);
}

/* Writes a bar of 1, 2 or 5 times a power of ten, at most 40 % as long as the plane is wide. */
static void write_bar(const struct ts_axis *axis, FILE *stream)
{
    const double width = (double)axis->n * ts_picture_spacing(axis),
                 length = ts_picture_round(0.4 * width);
    fprintf(stream, "<span class=\"bar\" style=\"width:%.3f%%\">", 100 * length / width);
    ts_html_print(stream, "%.6g %s", length, ts_picture_unit(axis));
    fputs("</span>", stream);
}

static void write_png(const char *attribute, const void *bytes, size_t n, FILE *stream)
{
    fprintf(stream, " %s=\"data:image/png;base64,", attribute);
    ts_base64_write(stream, bytes, n);
    fputc('"', stream);
}

static void write_caption(const struct report_image *image, const struct picture_plane *plane,
                          const struct report_picture *picture, FILE *stream)
{
    const struct ts_axis *axes = image->source->image.axes, *across = &axes[plane->across];
    const char *down = ts_axis_name(&axes[plane->down]);
    if (plane->volume_name)
        ts_html_print(stream, "%s: ", plane->volume_name);
    ts_html_print(
        stream, "%s across, %s down%s; %s %lld of 0 to %lld, at %.6g %s%s",
        ts_axis_name(&axes[plane->right]), down, plane->down == 0 ? " (the last slice on top)" : "",
        ts_axis_name(across), (long long)plane->index, (long long)across->n - 1,
        ts_axis_position(across, plane->index), ts_picture_unit(across), ts_picture_from(across));
    if (strcmp(ts_picture_unit(&axes[plane->right]), ts_picture_unit(&axes[plane->down])) != 0)
        ts_html_print(stream, "; %s and %s have different units, so that pixels are square",
                      ts_axis_name(&axes[plane->right]), down);
    if (picture->by[0] > 1 || picture->by[1] > 1)
        ts_html_print(stream, "; a pixel is the mean of %lld x %lld values",
                      (long long)picture->by[0], (long long)picture->by[1]);
}

/* Wider planes are too low to hold their bar, which stands below them. */
static const double thin_ratio = 6;

static void write_plane(const struct report_image *image, int i,
                        const struct report_picture *picture, FILE *stream)
{
    const struct picture_plane *plane = &image->planes[i];
    const struct ts_axis *axes = image->source->image.axes;
    const double ratio =
        (double)plane->columns * plane->width / ((double)plane->rows * plane->height);
    fprintf(
        stream,
        "<figure class=\"plane\">\n<div class=\"frame%s\" style=\"aspect-ratio:%.6g;--ratio:%.6g\"",
        ratio > thin_ratio ? " thin" : "", ratio, ratio);
    fprintf(stream, " data-width=\"%lld\" data-height=\"%lld\"", (long long)picture->width,
            (long long)picture->height);
    write_png("data-values", picture->values, picture->n_values, stream);
    fputs("><img alt=\"", stream);
    write_caption(image, plane, picture, stream);
    fputc('"', stream);
    write_png("src", picture->shown, picture->n_shown, stream);
    fputs(">", stream);
    if (!ts_image_is_sinogram(&image->source->image))
        write_sides(plane, stream);
    write_bar(&axes[plane->right], stream);
    fputs("</div>\n<figcaption>", stream);
    write_caption(image, plane, picture, stream);
    fputs("</figcaption>\n</figure>\n", stream);
}

/* ---- a card ---------------------------------------------------------------------------------- */

/* Returns the image of the last stage before this image that kept one, on the way back to the
 * input; NULL: none. */
static const struct report_image *image_before(const struct report_facts *facts,
                                               const struct report_images *images,
                                               const struct report_image *image)
{
    const struct report_stage *stage = image->stage;
    for (size_t step = 0; stage && step < facts->n_stages; step++) {
        stage = ts_report_stage(facts, stage->of->input);
        for (size_t i = 0; stage && i < images->n; i++)
            if (images->at[i].stage == stage && &images->at[i] != image)
                return &images->at[i];
    }
    return NULL;
}

/* Writes the stages between the image before this one, or the input, and this image. */
static void write_way(const struct report_facts *facts, const struct report_image *image,
                      const struct report_image *before, FILE *stream)
{
    const struct report_stage *way[64];
    size_t n = 0;
    const char *from = image->stage ? image->stage->label : "";
    for (const struct report_stage *stage = image->stage;
         stage && n < sizeof way / sizeof *way && n <= facts->n_stages;
         stage = ts_report_stage(facts, stage->of->input)) {
        if (before && stage == before->stage)
            break;
        way[n++] = stage;
        from = stage->of->input;
    }
    fputs("<p class=\"way\">", stream);
    ts_svg_text(stream, before ? before->name : *from ? from : "the input");
    while (n-- > 0) {
        fputs(" &#8594; <b>", stream);
        ts_svg_text(stream, way[n]->label);
        fputs("</b>", stream);
    }
    fputs("</p>\n", stream);
}

static void write_numbers(const struct report_image *image, FILE *stream)
{
    const struct ts_image *of = &image->source->image;
    const struct value_bins *bins = &image->bins;
    char shape[128] = "", spacing[192] = "";
    for (int i = 0; i < 3; i++) {
        snprintf(shape + strlen(shape), sizeof shape - strlen(shape), "%s%lld", i > 0 ? " x " : "",
                 (long long)of->axes[i].n);
        snprintf(spacing + strlen(spacing), sizeof spacing - strlen(spacing), "%s%.4g %s",
                 i > 0 ? " x " : "", ts_picture_spacing(&of->axes[i]),
                 ts_picture_unit(&of->axes[i]));
    }
    fputs("<p class=\"numbers\">", stream);
    const int64_t n_volumes = image->source->n_volumes;
    if (image->planes[0].volume_name)
        ts_html_print(
            stream,
            "%lld values (%s), of %s%d of which the middle slice is shown; all are counted; each ",
            (long long)n_volumes, ts_axis_name(&image->source->volume_axis),
            image->n_planes < n_volumes ? "the first " : "all ", image->n_planes);
    else if (n_volumes > 1)
        ts_html_print(stream,
                      "%lld volumes (%s), of which volume %lld is shown and all are counted; each ",
                      (long long)n_volumes, ts_axis_name(&image->source->volume_axis),
                      (long long)image->planes[0].volume);
    ts_html_print(stream, "%s values (%s)", shape, ts_dtype_name(of->dtype));
    if (of->quantity != TS_HU)
        ts_html_print(stream, " of %s", ts_quantity_name(of->quantity));
    if (*ts_html_unit(of->unit))
        ts_html_print(stream, " in %s", of->unit);
    ts_html_print(stream, ", %s apart. ", spacing);
    if (bins->n > 0)
        ts_html_print(stream, "From %.6g to %.6g, mean %.6g%s%s", bins->low, bins->high,
                      bins->sum / (double)bins->n, *ts_html_unit(of->unit) ? " " : "",
                      ts_html_unit(of->unit));
    if (bins->invalid > 0)
        ts_html_print(stream, "; %lld without a value", (long long)bins->invalid);
    fputc('.', stream);
    if (ts_image_lean_degree(of) > TS_UPRIGHT_DEGREE)
        ts_html_print(stream,
                      " Slices are shifted against each other (%.3g degrees); planes across them "
                      "are drawn upright.",
                      ts_image_lean_degree(of));
    fputs("</p>\n", stream);
}

static void write_slider(const char *name, double low, double high, double value, FILE *stream)
{
    fprintf(stream,
            "<label>%s <input type=\"range\" class=\"%s\" min=\"%.9g\" max=\"%.9g\" step=\"any\" "
            "value=\"%.9g\"><input type=\"number\" class=\"%s\" step=\"any\" value=\"%.6g\" "
            "aria-label=\"%s\"></label>\n",
            name, name, low, high, value, name, value, name);
}

static void write_controls(const struct report_image *image, bool wipes, FILE *stream)
{
    const struct gray_window *window = &image->window;
    const double width = window->high - window->low, center = 0.5 * (window->low + window->high);
    const double range = fmax(window->most - window->least, width);
    fputs("<div class=\"controls\">\n", stream);
    write_slider("level", fmin(window->least, center), fmax(window->most, center), center, stream);
    write_slider("width", range / 1000, range, width, stream);
    fputs("<span class=\"unit\">", stream);
    ts_svg_text(stream, ts_html_unit(image->source->image.unit));
    fputs("</span>\n<button type=\"button\" class=\"first\">reset</button><button type=\"button\" "
          "class=\"full\">full range</button>",
          stream);
    for (int i = 0; i < GRAY_PRESETS && image->source->image.quantity == TS_HU; i++)
        fprintf(stream,
                "<button type=\"button\" class=\"preset\" data-level=\"%g\" "
                "data-width=\"%g\">%s</button>",
                ts_gray_presets[i].center, ts_gray_presets[i].width, ts_gray_presets[i].name);
    if (wipes)
        fputs("\n<label class=\"wipe\">before &#8592;&#8594; after <input type=\"range\" "
              "class=\"wipe\" min=\"0\" max=\"1\" step=\"any\" value=\"0\"></label>",
              stream);
    fputs("\n<output></output>\n</div>\n", stream);
}

/* Returns true where the two have the same pixels in their pictures. */
static bool is_alike(const struct report_picture *a, const struct report_picture *b)
{
    return a->width == b->width && a->height == b->height && a->by[0] == b->by[0] &&
           a->by[1] == b->by[1];
}

static enum ts_status write_card(const struct report_facts *facts,
                                 const struct report_images *images, size_t i,
                                 const struct report_pictures *pictures, FILE *stream,
                                 struct ts_diag *diag)
{
    const struct report_image *image = &images->at[i], *before = image_before(facts, images, image);
    const struct report_scale scale = scale_of(image);
    const size_t earlier = before ? (size_t)(before - images->at) : 0;
    const bool wipes = before && is_alike(&pictures->at[i][0], &pictures->at[earlier][0]);
    fprintf(stream,
            "<article class=\"image\" data-low=\"%.17g\" data-step=\"%.17g\" data-level=\"%.9g\" "
            "data-window=\"%.9g\"",
            scale.low, scale.step, 0.5 * (image->window.low + image->window.high),
            image->window.high - image->window.low);
    if (wipes)
        fprintf(stream, " data-before=\"%zu\"", earlier);
    if (image->planes[0].volume_name)
        fputs(" data-swept", stream);
    fputs(" data-unit=\"", stream);
    ts_svg_text(stream, ts_html_unit(image->source->image.unit));
    fputs("\">\n<h3>", stream);
    ts_html_print(stream, "%s%s", image->name,
                  !strcmp(image->name, "data") ? ", the last image" : "");
    fputs("</h3>\n", stream);
    write_way(facts, image, before, stream);
    write_numbers(image, stream);
    fputs("<div class=\"planes\">\n", stream);
    for (int k = 0; k < image->n_planes; k++)
        write_plane(image, k, &pictures->at[i][k], stream);
    fputs("</div>\n", stream);
    if (image->n_planes == 1 && !image->planes[0].volume_name)
        fputs(
            "<p class=\"note\">Planes across so few slices would be lines, and are left out.</p>\n",
            stream);
    write_controls(image, wipes, stream);
    const enum ts_status status = write_histograms(facts, image, stream, diag);
    fputs("</article>\n", stream);
    return status;
}

enum ts_status ts_report_slices(const struct report_facts *facts,
                                const struct report_images *images, FILE *stream,
                                struct ts_diag *diag)
{
    struct report_pictures *pictures = calloc(1, sizeof *pictures);
    enum ts_status status =
        pictures ? fit_pictures(images, pictures, diag) : ts_diag_no_memory(diag, sizeof *pictures);
    ts_html_section(stream, "images", "The images, before and after each stage that was kept");
    fputs("<noscript><p class=\"note\">The sliders need JavaScript. Without it each image is shown "
          "in its first window.</p></noscript>\n",
          stream);
    for (size_t i = 0; status == TS_OK && i < images->n; i++)
        status = write_card(facts, images, i, pictures, stream, diag);
    if (images->left_out > 0)
        fprintf(stream, "<p class=\"note\">%zu more images are in the result.</p>\n",
                images->left_out);
    fputs("</section>\n", stream);
    if (pictures)
        free_pictures(pictures);
    free(pictures);
    return status;
}
