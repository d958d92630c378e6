/* SPDX-License-Identifier: Apache-2.0
 *
 * Pictures are made with the largest scale that fits. If slices are wanted, a few of each image are
 * tried first, because all of them may be more than memory holds; then all are read, some at a
 * time, and only their PNGs are kept.
 */
#include "program/report/pictures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/file/png.h"

enum { TRIED = 4, TOGETHER = 8, MOST_PICTURES = 4096 };

/* At most `side` pixels wide and high. Slices have values of `coarse` steps; a step is 1 HU of a
   CT, whose noise is larger. */
struct scale {
    int64_t side;
    int coarse;
};

static const struct scale scales[] = {{768, 1},  {768, 4},  {512, 1},  {512, 2}, {512, 4},
                                      {512, 8},  {384, 1},  {384, 4},  {256, 1}, {256, 4},
                                      {256, 16}, {192, 16}, {128, 16}, {96, 16}, {64, 16}};
enum { SCALES = sizeof scales / sizeof *scales };

/* ---- one picture ----------------------------------------------------------------------------- */

/* Returns the mean of the measured values in a block; NAN if there are none. Labels have no mean:
   the one in the middle stands for them. */
static double mean_of(const struct picture_plane *plane, const struct plane_png *png, bool labels,
                      int64_t row, int64_t column)
{
    const int64_t y_middle = row * png->by[0] + png->by[0] / 2,
                  x_middle = column * png->by[1] + png->by[1] / 2;
    double sum = 0;
    if (labels && y_middle < plane->rows && x_middle < plane->columns)
        return (double)plane->values[y_middle * plane->columns + x_middle];
    int64_t n = 0;
    for (int64_t y = row * png->by[0]; y < (row + 1) * png->by[0] && y < plane->rows; y++)
        for (int64_t x = column * png->by[1]; x < (column + 1) * png->by[1] && x < plane->columns;
             x++) {
            const double value = (double)plane->values[y * plane->columns + x];
            sum += isfinite(value) ? value : 0;
            n += isfinite(value);
        }
    return n > 0 ? sum / (double)n : (double)NAN;
}

/* Makes the picture of a plane of the image. */
static enum ts_status make_png(const struct report_image *image, const struct picture_plane *plane,
                               struct scale scale, struct plane_png *png, struct ts_diag *diag)
{
    const int64_t side = scale.side;
    const bool labels = image->source->image.labels > 0;
    *png = (struct plane_png){
        .by = {(plane->rows + side - 1) / side, (plane->columns + side - 1) / side}};
    png->height = (plane->rows + png->by[0] - 1) / png->by[0];
    png->width = (plane->columns + png->by[1] - 1) / png->by[1];
    const size_t n = (size_t)(png->width * png->height);
    uint8_t *high = malloc(2 * n), *low = high + n;
    if (!high)
        return ts_diag_no_memory(diag, 2 * n);
    for (size_t k = 0; k < n; k++) {
        const double value =
            mean_of(plane, png, labels, (int64_t)k / png->width, (int64_t)k % png->width);
        const double steps = (value - image->window.least) / (image->step * scale.coarse);
        const long number =
            isnan(value) ? PICTURE_INVALID : lrint(fmin(fmax(steps, 0), PICTURE_INVALID - 1));
        high[k] = (uint8_t)(number >> 8);
        low[k] = (uint8_t)(number & 255);
    }
    const enum ts_status status =
        ts_png_gray8(png->width, 2 * png->height, high, &png->bytes, &png->n, diag);
    free(high);
    return status;
}

/* Makes the pictures of the planes, and adds their bytes. */
static enum ts_status make_planes(struct report_image *image, int64_t side, size_t *bytes,
                                  struct ts_diag *diag)
{
    enum ts_status status = TS_OK;
    for (int i = 0; i < image->n_planes && status == TS_OK; i++) {
        free(image->pngs[i].bytes);
        status = make_png(image, &image->planes[i], (struct scale){side, 1}, &image->pngs[i], diag);
        *bytes += image->pngs[i].n;
    }
    return status;
}

/* ---- slices ---------------------------------------------------------------------------------- */

/* Returns the index of slice i of n that are evenly spread. */
static int64_t index_of(const struct report_image *image, int64_t i, int64_t n)
{
    const int64_t all = image->source->image.axes[0].n;
    return n >= all ? i : (2 * i + 1) * all / (2 * n);
}

/* Returns how many slices of the image are wanted in each of its planes. */
static int64_t count_slices(const struct report_image *image, int64_t wanted)
{
    const int64_t all = image->source->image.axes[0].n;
    return wanted < all ? wanted : all;
}

/* Returns the number of the plane of the stored slices. */
static int stored_plane(const struct report_image *image)
{
    int plane = 0;
    while (image->planes[plane].across != 0)
        plane++;
    return plane;
}

/* Returns the scale with as many steps as leave the image a few hundred levels, and labels all. */
static struct scale scale_for(const struct report_image *image, struct scale scale)
{
    enum { LEVELS = 256 };
    const double levels = (image->window.most - image->window.least) / image->step;
    const double most = image->source->image.labels > 0 ? 1 : floor(levels / LEVELS);
    scale.coarse = scale.coarse < most ? scale.coarse : (int)fmax(most, 1);
    return scale;
}

/* Reads slices [first, first + many) of n of a plane, of at most TOGETHER; the caller frees their
   values. */
static enum ts_status read_slices(const struct report_image *image, int plane, int64_t first,
                                  int many, int64_t n, struct picture_plane slices[TOGETHER],
                                  struct ts_diag *diag)
{
    for (int i = 0; i < many; i++) {
        slices[i] = image->planes[plane];
        slices[i].values = NULL;
        slices[i].index = index_of(image, first + i, n);
    }
    return ts_picture_read(image->source, slices, many, NULL, NULL, diag);
}

/* Adds the bytes that n slices of the image would take at each scale, as a few of them do. */
static enum ts_status estimate(const struct report_image *image, int64_t n, double bytes[SCALES],
                               struct ts_diag *diag)
{
    struct picture_plane slices[TOGETHER];
    const int tried = n < TRIED ? (int)n : TRIED;
    enum ts_status status = read_slices(image, stored_plane(image), 0, tried, tried, slices, diag);
    for (int s = 0; s < SCALES; s++)
        for (int i = 0; i < tried && status == TS_OK; i++) {
            struct plane_png png;
            status = make_png(image, &slices[i], scale_for(image, scales[s]), &png, diag);
            if (status == TS_OK) {
                bytes[s] += (double)png.n * (double)n / tried;
                free(png.bytes);
            }
        }
    for (int i = 0; i < tried; i++)
        free(slices[i].values);
    return status;
}

void ts_report_stacks_clear(struct report_image *image)
{
    for (int k = 0; k < REPORT_PLANES; k++) {
        for (int64_t i = 0; i < image->stacks[k].n; i++)
            free(image->stacks[k].at[i].png.bytes);
        free(image->stacks[k].at);
        image->stacks[k] = (struct plane_stack){0};
    }
}

/* Makes the slices of a plane, until they and what is there take more than `most` bytes. */
static enum ts_status make_stack(struct report_image *image, int plane, int64_t n,
                                 struct scale scale, size_t most, size_t *bytes,
                                 struct ts_diag *diag)
{
    struct plane_stack *stack = &image->stacks[plane];
    struct picture_plane slices[TOGETHER];
    enum ts_status status = TS_OK;
    *stack =
        (struct plane_stack){.at = calloc((size_t)n, sizeof *stack->at), .coarse = scale.coarse};
    if (!stack->at)
        return ts_diag_no_memory(diag, (size_t)n * sizeof *stack->at);
    while (stack->n < n && status == TS_OK && *bytes <= most) {
        const int many = n - stack->n < TOGETHER ? (int)(n - stack->n) : TOGETHER;
        status = read_slices(image, plane, stack->n, many, n, slices, diag);
        for (int i = 0; i < many; i++) {
            struct plane_slice *slice = &stack->at[stack->n];
            slice->index = slices[i].index;
            if (status == TS_OK)
                status = make_png(image, &slices[i], scale, &slice->png, diag);
            stack->n += status == TS_OK;
            *bytes += status == TS_OK ? slice->png.n : 0;
            free(slices[i].values);
        }
    }
    return status;
}

/* ---- all ------------------------------------------------------------------------------------- */

static bool is_of_slices(const struct report_image *image, int plane)
{
    return image->planes[plane].across == 0;
}

/* Returns how many pictures of slices an image would have. */
static int64_t count_pictures(const struct report_image *image, int64_t slices)
{
    int64_t n = 0;
    for (int i = 0; i < image->n_planes; i++)
        n += is_of_slices(image, i) ? count_slices(image, slices) : 0;
    return n;
}

/* Makes all pictures at a scale, as long as they take at most so many bytes. */
static enum ts_status make_all(struct report_images *images, int64_t slices, struct scale scale,
                               size_t most, size_t *bytes, struct ts_diag *diag)
{
    enum ts_status status = TS_OK;
    *bytes = 0;
    for (size_t i = 0; i < images->n && status == TS_OK; i++)
        status = make_planes(&images->at[i], scale.side, bytes, diag);
    for (size_t i = 0; i < images->n && status == TS_OK && slices > 0; i++) {
        struct report_image *image = &images->at[i];
        ts_report_stacks_clear(image);
        for (int k = 0; k < image->n_planes && status == TS_OK && *bytes <= most; k++)
            if (is_of_slices(image, k) && image->source->image.axes[0].n > 1)
                status = make_stack(image, k, count_slices(image, slices), scale_for(image, scale),
                                    most, bytes, diag);
    }
    return status;
}

/* Chooses the scale at which tried slices fit, and so many slices that they fit at the last one. */
static enum ts_status choose_scale(const struct report_images *images, size_t most, int64_t *slices,
                                   int *scale, struct ts_diag *diag)
{
    double bytes[SCALES] = {0};
    enum ts_status status = TS_OK;
    for (int64_t pictures = INT64_MAX; pictures > MOST_PICTURES && *slices > 1;) {
        pictures = 0;
        for (size_t i = 0; i < images->n; i++)
            pictures += count_pictures(&images->at[i], *slices);
        if (pictures > MOST_PICTURES)
            *slices = *slices < pictures ? *slices / 2 : pictures / 2;
    }
    for (size_t i = 0; i < images->n && status == TS_OK; i++)
        status = estimate(&images->at[i], count_pictures(&images->at[i], *slices), bytes, diag);
    *scale = 0;
    while (*scale < SCALES - 1 && bytes[*scale] > 0.9 * (double)most)
        ++*scale;
    return status;
}

/* Returns the next scale; without slices, the next smaller side. */
static int next_scale(int s, bool slices)
{
    const int64_t side = scales[s++].side;
    while (!slices && s < SCALES - 1 && scales[s].side == side)
        s++;
    return s;
}

enum ts_status ts_report_pictures(struct report_images *images, int64_t slices,
                                  struct ts_diag *diag)
{
    const size_t most = slices > 0 ? 13000000 : 2500000;
    size_t bytes = 0;
    int s = 0;
    enum ts_status status = TS_OK;
    if (slices > 0)
        status = choose_scale(images, most, &slices, &s, diag);
    while (status == TS_OK) {
        status = make_all(images, slices, scales[s], most, &bytes, diag);
        if (bytes <= most || (s == SCALES - 1 && slices <= 1))
            break;
        if (s == SCALES - 1)
            slices = (slices < MOST_PICTURES ? slices : MOST_PICTURES) / 2;
        else
            s = next_scale(s, slices > 0);
    }
    return status;
}
