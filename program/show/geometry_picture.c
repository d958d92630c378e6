/* SPDX-License-Identifier: Apache-2.0
 *
 * Draws the geometry of a scan as SVG 1.1. x points right and y up, in mm from the rotation axis;
 * the first view is drawn. If its angle is theta, e = (cos, sin) and w = (-sin, cos): detector
 * positions rise along e; a fan's source is at source_axis * w, and parallel rays come from there.
 */
#include "program/show/geometry_picture.h"

#include <math.h>

#include "stages/geometry/view_angles.h"

enum {
    SIDE = 760,
    MARGIN = 70,
    TEXT_TOP = SIDE + 10,
    LINE = 18,
    LINES = 10,
    N_RAYS = 7,
    ARC_STEPS = 48
};

static const double pi = 3.14159265358979323846;

struct picture {
    /* numbers: stream for the lines below the picture; NULL: they are in the picture */
    FILE *stream, *numbers;
    const struct ts_image *sinogram;
    double theta, last_theta; /* degrees, of the first and the last view */
    double e[2], w[2];
    double first, last; /* mm on the detector */
    /* source to axis, source to detector; for a parallel beam, lengths for drawing */
    double near, far;
    double field;            /* radius of the circle that every view sees; 0: there is none */
    double scale, origin[2]; /* pixels per mm; the axis in the picture */
    bool fan;
};

/* ---- places in mm --------------------------------------------------------------------- */

static double gamma_of(const struct picture *picture, double u)
{
    return picture->sinogram->beam.kind == TS_BEAM_FAN_ARC ? u / picture->far
                                                           : atan(u / picture->far);
}

/* Writes the point of the detector at position u. */
static void geometry_picture_place(const struct picture *picture, double u, double out[2])
{
    const bool arc = picture->sinogram->beam.kind == TS_BEAM_FAN_ARC;
    const double ahead = arc ? picture->far * cos(u / picture->far) : picture->far,
                 across = arc ? picture->far * sin(u / picture->far) : u;
    for (int i = 0; i < 2; i++)
        out[i] = (picture->near - ahead) * picture->w[i] + across * picture->e[i];
}

/* Writes the point at which the ray to position u begins. */
static void origin_of(const struct picture *picture, double u, double out[2])
{
    for (int i = 0; i < 2; i++)
        out[i] = picture->near * picture->w[i] + (picture->fan ? 0 : u * picture->e[i]);
}

/* Extends a box (lowest x, y, highest x, y, in mm) by a point that the picture must show. */
static void geometry_picture_widen(double box[4], const double point[2])
{
    for (int i = 0; i < 2; i++) {
        box[i] = fmin(box[i], point[i]);
        box[2 + i] = fmax(box[2 + i], point[i]);
    }
}

static void find_scale(struct picture *picture, double reach)
{
    double box[4] = {-reach, -reach, reach, reach}, point[2];
    for (int i = 0; i <= 2; i++) {
        const double u = picture->first + 0.5 * i * (picture->last - picture->first);
        geometry_picture_place(picture, u, point);
        geometry_picture_widen(box, point);
        origin_of(picture, u, point);
        geometry_picture_widen(box, point);
    }
    const double extent = fmax(box[2] - box[0], box[3] - box[1]);
    picture->scale = (SIDE - 2 * MARGIN) / extent;
    picture->origin[0] = 0.5 * SIDE - 0.5 * (box[0] + box[2]) * picture->scale;
    picture->origin[1] = 0.5 * SIDE + 0.5 * (box[1] + box[3]) * picture->scale;
}

static struct picture geometry_picture_prepare(const struct ts_image *sinogram, FILE *stream)
{
    const struct ts_axis *view = &sinogram->axes[1], *detector = &sinogram->axes[2];
    struct picture picture = {.stream = stream,
                              .sinogram = sinogram,
                              .theta = ts_view_degree(view, 0),
                              .last_theta = ts_view_degree(view, view->n - 1),
                              .first = detector->first,
                              .last =
                                  detector->first + (double)(detector->n - 1) * detector->spacing,
                              .fan = sinogram->beam.kind != TS_BEAM_PARALLEL};
    const double side = fmin(-picture.first, picture.last),
                 reach = fmax(fabs(picture.first), fabs(picture.last));
    picture.e[0] = cos(picture.theta * pi / 180);
    picture.e[1] = sin(picture.theta * pi / 180);
    picture.w[0] = -picture.e[1];
    picture.w[1] = picture.e[0];
    if (picture.fan) {
        picture.near = sinogram->beam.source_axis_mm;
        picture.far = sinogram->beam.source_detector_mm;
        picture.field = side > 0 ? picture.near * sin(gamma_of(&picture, side)) : 0;
    } else {
        picture.near = 1.3 * (reach > 0 ? reach : 1);
        picture.far = 2 * picture.near;
        picture.field = side > 0 ? side : 0;
    }
    /* the source moves on this whole circle */
    find_scale(&picture, fmax(picture.field, picture.near));
    return picture;
}

/* ---- drawing --------------------------------------------------------------------------------- */

static double to_x(const struct picture *picture, double x)
{
    return picture->origin[0] + x * picture->scale;
}

static double to_y(const struct picture *picture, double y)
{
    return picture->origin[1] - y * picture->scale;
}

static void line(const struct picture *picture, const double from[2], const double to[2],
                 const char *style)
{
    fprintf(picture->stream, "<line x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f' %s/>\n",
            to_x(picture, from[0]), to_y(picture, from[1]), to_x(picture, to[0]),
            to_y(picture, to[1]), style);
}

static void text(const struct picture *picture, double x, double y, const char *anchor,
                 const char *words)
{
    fprintf(picture->stream, "<text x='%.1f' y='%.1f' text-anchor='%s'>%s</text>\n",
            to_x(picture, x), to_y(picture, y), anchor, words);
}

/* Draws an arc about the axis from one angle to another, in degrees, in either direction. */
static void arc(const struct picture *picture, double radius, double from, double to,
                const char *style)
{
    fprintf(picture->stream, "<polyline fill='none' %s points='", style);
    for (int i = 0; i <= ARC_STEPS; i++) {
        const double angle = (from + (to - from) * i / ARC_STEPS) * pi / 180;
        fprintf(picture->stream, "%.1f,%.1f ", to_x(picture, radius * cos(angle)),
                to_y(picture, radius * sin(angle)));
    }
    fputs("'/>\n", picture->stream);
}

static void draw_axes(const struct picture *picture, double reach)
{
    const double zero[2] = {0, 0}, x[2] = {reach, 0}, y[2] = {0, reach};
    const double s[2] = {reach * picture->e[0], reach * picture->e[1]};
    line(picture, zero, x, "stroke='#555' marker-end='url(#arrow)'");
    line(picture, zero, y, "stroke='#555' marker-end='url(#arrow)'");
    line(picture, zero, s, "stroke='#b03030' stroke-width='1.5' marker-end='url(#arrow)'");
    text(picture, 1.06 * reach, -0.06 * reach, "start", "x (columns rise)");
    text(picture, 0.05 * reach, 1.06 * reach, "start", "y (rows fall)");
    text(picture, 1.08 * s[0], 1.08 * s[1] + 0.08 * reach, "middle", "u rises");
    arc(picture, 0.3 * reach, 0, picture->theta + (fabs(picture->theta) < 1 ? 25 : 0),
        "stroke='#b03030' marker-end='url(#arrow)'");
    text(picture, 0.36 * reach, 0.2 * reach, "start", "theta rises from x to y");
    fprintf(picture->stream, "<circle cx='%.1f' cy='%.1f' r='4' fill='black'/>\n", to_x(picture, 0),
            to_y(picture, 0));
    text(picture, -0.05 * reach, -0.12 * reach, "end", "rotation axis");
}

static void draw_rays(const struct picture *picture)
{
    double from[2], to[2];
    for (int i = 0; i < N_RAYS; i++) {
        const double u = picture->first + i * (picture->last - picture->first) / (N_RAYS - 1);
        origin_of(picture, u, from);
        geometry_picture_place(picture, u, to);
        line(picture, from, to, "stroke='#3070b0' stroke-width='0.7' marker-end='url(#arrow)'");
    }
    origin_of(picture, 0, from);
    geometry_picture_place(picture, 0, to);
    line(picture, from, to, "stroke='#3070b0' stroke-width='1.5' stroke-dasharray='8 4'");
}

static void draw_detector(const struct picture *picture)
{
    double point[2];
    fputs("<polyline fill='none' stroke='black' stroke-width='4' points='", picture->stream);
    for (int i = 0; i <= ARC_STEPS; i++) {
        geometry_picture_place(
            picture, picture->first + i * (picture->last - picture->first) / ARC_STEPS, point);
        fprintf(picture->stream, "%.1f,%.1f ", to_x(picture, point[0]), to_y(picture, point[1]));
    }
    fputs("'/>\n", picture->stream);
    char words[64];
    geometry_picture_place(picture, picture->first, point);
    text(picture, point[0], point[1], "end", "detector pixel 0 ");
    geometry_picture_place(picture, picture->last, point);
    snprintf(words, sizeof words, " pixel %lld", (long long)picture->sinogram->axes[2].n - 1);
    text(picture, point[0], point[1], "start", words);
    if (!picture->fan)
        return;
    origin_of(picture, 0, point);
    fprintf(picture->stream, "<circle cx='%.1f' cy='%.1f' r='6' fill='#d08000'/>\n",
            to_x(picture, point[0]), to_y(picture, point[1]));
    text(picture, point[0], point[1] + 12 / picture->scale, "middle", "source");
}

/* ---- numbers --------------------------------------------------------------------------------- */

static void write_line(const struct picture *picture, int i, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void write_line(const struct picture *picture, int i, const char *format, ...)
{
    va_list arguments;
    if (!picture->numbers)
        fprintf(picture->stream, "<text x='20' y='%d'>", TEXT_TOP + LINE * (i + 1));
    va_start(arguments, format);
    vfprintf(picture->numbers ? picture->numbers : picture->stream, format, arguments);
    va_end(arguments);
    fputs(picture->numbers ? "\n" : "</text>\n",
          picture->numbers ? picture->numbers : picture->stream);
}

static void write_axis(const struct picture *picture, const struct rotation_axis *axis,
                       int first_line)
{
    const char *unit = picture->sinogram->axes[2].unit ? picture->sinogram->axes[2].unit : "mm";
    const double middle = 0.5 * (picture->first + picture->last);
    if (axis->found_later) {
        write_line(
            picture, first_line,
            "rotation axis: found at run time; drawn as if at detector pixel %.6g (0 is the first)",
            axis->center);
        write_line(picture, first_line + 1, "field of view: known once the axis is found");
        return;
    }
    write_line(picture, first_line,
               "rotation axis at detector pixel %.6g (0 is the first%s%s):", axis->center,
               axis->owner ? "; as given to " : "", axis->owner ? axis->owner : "");
    write_line(picture, first_line + 1, "the detector's middle is at u = %.6g %s", middle, unit);
    if (picture->field > 0)
        write_line(picture, first_line + 2, "field of view: a circle of %.6g %s about the axis",
                   2 * picture->field, unit);
    else
        write_line(picture, first_line + 2,
                   "field of view: none, the rotation axis lies outside the detector");
}

static void write_numbers(const struct picture *picture, const struct rotation_axis *axis)
{
    const struct ts_image *sinogram = picture->sinogram;
    const struct ts_axis *view = &sinogram->axes[1], *detector = &sinogram->axes[2];
    const char *unit = detector->unit ? detector->unit : "mm";
    int i = 0;
    write_line(picture, i++, "%s beam", ts_beam_name(sinogram->beam.kind));
    if (picture->fan) {
        write_line(picture, i++,
                   "source to axis %.6g mm, source to detector %.6g mm: an object at the axis is "
                   "%.4g times as large on the detector",
                   picture->near, picture->far, picture->far / picture->near);
        write_line(picture, i++, "fan angle %.6g degree, from %.6g to %.6g",
                   (gamma_of(picture, picture->last) - gamma_of(picture, picture->first)) * 180 /
                       pi,
                   gamma_of(picture, picture->first) * 180 / pi,
                   gamma_of(picture, picture->last) * 180 / pi);
    }
    write_line(picture, i++,
               "%lld views, theta from %.6g to %.6g degree; the first one is drawn, the dashed arc "
               "is the source's way",
               (long long)view->n, picture->theta, picture->last_theta);
    write_line(picture, i++, "%lld detector pixels, %.6g %s apart%s", (long long)detector->n,
               detector->spacing, unit,
               sinogram->beam.kind == TS_BEAM_FAN_ARC ? " along the arc" : "");
    write_axis(picture, axis, i);
    write_line(picture, i + 3, "%lld slice%s, %.6g %s apart", (long long)sinogram->axes[0].n,
               sinogram->axes[0].n == 1 ? "" : "s", sinogram->axes[0].spacing,
               sinogram->axes[0].unit ? sinogram->axes[0].unit : "mm");
}

void ts_geometry_picture(const struct ts_image *sinogram, const struct rotation_axis *axis,
                         FILE *stream, FILE *numbers)
{
    struct picture picture = geometry_picture_prepare(sinogram, stream);
    const double reach = picture.field > 0 ? 0.8 * picture.field : 0.5 * picture.near;
    fprintf(stream,
            "<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%d' "
            "font-family='sans-serif' font-size='13'>\n"
            "<defs><marker id='arrow' markerWidth='8' markerHeight='8' refX='7' refY='3' "
            "orient='auto'><path d='M0,0 L8,3 L0,6 z' fill='#555'/></marker></defs>\n"
            "<rect width='100%%' height='100%%' fill='white'/>\n",
            SIDE, numbers ? SIDE : TEXT_TOP + LINE * LINES);
    picture.numbers = numbers;
    if (picture.field > 0)
        arc(&picture, picture.field, 0, 360, "stroke='#30a050' stroke-width='1.5'");
    arc(&picture, picture.near, picture.theta + 90, picture.last_theta + 90,
        "stroke='#d08000' stroke-dasharray='3 5'");
    draw_rays(&picture);
    draw_detector(&picture);
    draw_axes(&picture, reach);
    write_numbers(&picture, axis);
    fputs("</svg>\n", stream);
}
