/* SPDX-License-Identifier: Apache-2.0
 *
 * The range of an axis ends at ticks: multiples of 1, 2 or 5 times a power of ten on a linear axis,
 * and these numbers themselves on a logarithmic one.
 */
#include "program/show/chart.h"

#include <math.h>

#include "core/svg.h"
#include "io/file/whole_file.h"
#include "program/show/picture.h"

enum {
    LEFT = 70,
    TOP = 60,
    WIDTH = 460,
    HEIGHT = 280,
    BOTTOM = 50,
    KEY_LINE = 16,
    GAP = 20,
    USUAL_TICKS = 4
};
/* Values beyond these magnitudes are not shown, because the length of the axis must be a finite
   number, too. */
static const double least_shown = 1e-300, most_shown = 1e300;

static const char *const colors[CHART_COLORS] = {"#2a5fa5", "#c0503c", "#2a7f3f",
                                                 "#8a5fa5", "#b08020", "#3a9aa5"};

/* An axis with the range that it shows and the pixels of its two ends. */
struct scale {
    bool logarithmic;
    double low, high, first, last, step; /* step: distance of the ticks of a linear axis */
    int digits;                          /* of the labels */
};

struct place {
    int x, y; /* the upper left corner of the panel's frame */
    struct scale across, up;
};

static const char *color_of(const struct chart_line *line)
{
    return line->color == CHART_GRAY ? "#aaaaaa" : colors[line->color % CHART_COLORS];
}

/* ---- axes ------------------------------------------------------------------------------------ */

static bool is_shown(const struct scale *scale, double value)
{
    return fabs(value) <= most_shown && (!scale->logarithmic || value >= least_shown);
}

static double pixel_of(const struct scale *scale, double value)
{
    const double share = scale->logarithmic
                             ? log(value / scale->low) / log(scale->high / scale->low)
                             : (value - scale->low) / (scale->high - scale->low);
    return scale->first + share * (scale->last - scale->first);
}

static void include(struct scale *scale, const double *values, int n)
{
    for (int i = 0; values && i < n; i++)
        if (is_shown(scale, values[i])) {
            scale->low = fmin(scale->low, values[i]);
            scale->high = fmax(scale->high, values[i]);
        }
}

/* Returns the next tick of a logarithmic axis. */
static double next_power(double tick)
{
    const bool two = fabs(tick / pow(10, floor(log10(tick) + 1e-9)) - 2) < 1e-6;
    return two ? 2.5 * tick : 2 * tick;
}

/* Widens a range whose ends cannot be told apart on its axis. */
static void chart_widen(struct scale *scale)
{
    const double size = fmax(fabs(scale->low), fabs(scale->high));
    if (scale->high - scale->low > fmax(1e-12 * size, least_shown))
        return;
    if (!isfinite(size))
        scale->low = 1, scale->high = 2;
    else if (scale->logarithmic)
        scale->high = 2 * scale->low;
    else
        scale->high = scale->low + fmax(1, 1e-6 * size);
}

static struct scale scale_of(const struct chart_panel *panel, bool across, double first,
                             double last)
{
    const struct chart_axis *axis = across ? &panel->x : &panel->y;
    struct scale scale = {
        .logarithmic = axis->logarithmic, .low = INFINITY, .high = -INFINITY, first, last, 0, 6};
    include(&scale, (double[]){axis->low, axis->high}, 2);
    for (int i = 0; i < panel->n_lines; i++) {
        const struct chart_line *line = &panel->lines[i];
        include(&scale, across ? line->x : line->y, line->n);
        include(&scale, across ? NULL : line->low, line->n);
        include(&scale, across ? NULL : line->high, line->n);
    }
    chart_widen(&scale);
    if (scale.logarithmic) {
        double tick = scale.low = ts_picture_round(scale.low);
        do
            tick = next_power(tick);
        while (tick < scale.high * (1 - 1e-9));
        scale.high = tick;
    } else {
        scale.step = ts_picture_round((scale.high - scale.low) / USUAL_TICKS);
        scale.low = scale.step * floor(scale.low / scale.step + 1e-9);
        scale.high = scale.step * ceil(scale.high / scale.step - 1e-9);
        const double size = fmax(fabs(scale.low), fabs(scale.high));
        scale.digits = (int)fmax(6, ceil(log10(size / scale.step)) + 1);
    }
    return scale;
}

static void write_tick(FILE *file, const struct place *place, bool across, double value)
{
    const struct scale *scale = across ? &place->across : &place->up;
    const double at = pixel_of(scale, value);
    if (across)
        fprintf(file,
                "<path d='M%.1f %dv%d' stroke='#dddddd' stroke-width='0.5'/><text x='%.1f' y='%d' "
                "text-anchor='middle'>%.*g</text>\n",
                at, place->y, HEIGHT, at, place->y + HEIGHT + 16, scale->digits, value);
    else
        fprintf(file,
                "<path d='M%d %.1fh%d' stroke='#dddddd' stroke-width='0.5'/><text x='%d' y='%.1f' "
                "text-anchor='end'>%.*g</text>\n",
                place->x, at, WIDTH, place->x - 6, at + 4, scale->digits, value);
}

/* If the axis spans many powers of ten, only these have ticks. */
static void write_ticks(FILE *file, const struct place *place, bool across)
{
    const struct scale *scale = across ? &place->across : &place->up;
    if (!scale->logarithmic) {
        const int n = (int)lround((scale->high - scale->low) / scale->step);
        for (int i = 0; i <= n; i++) {
            const double tick = scale->low + i * scale->step;
            write_tick(file, place, across, fabs(tick) < 1e-9 * scale->step ? 0 : tick);
        }
        return;
    }
    const double decades = log10(scale->high / scale->low);
    for (double tick = scale->low; tick <= scale->high * (1 + 1e-6); tick = next_power(tick)) {
        const double power = log10(tick);
        if (decades < 3 || fabs(power - round(power)) < 1e-6)
            write_tick(file, place, across, tick);
    }
}

static void write_frame(FILE *file, const struct chart_panel *panel, const struct place *place)
{
    write_ticks(file, place, true);
    write_ticks(file, place, false);
    fprintf(file,
            "<rect x='%d' y='%d' width='%d' height='%d' fill='none' stroke='black' "
            "stroke-width='0.7'/>\n"
            "<text x='%d' y='%d' text-anchor='middle'>",
            place->x, place->y, WIDTH, HEIGHT, place->x + WIDTH / 2, place->y + HEIGHT + 36);
    ts_svg_text(file, panel->x.title);
    fprintf(file, "</text>\n<text transform='translate(%d %d) rotate(-90)' text-anchor='middle'>",
            place->x - 57, place->y + HEIGHT / 2);
    ts_svg_text(file, panel->y.title);
    fprintf(file, "</text>\n<text x='%d' y='%d' font-weight='bold'>", place->x, place->y - 8);
    ts_svg_text(file, panel->title);
    fprintf(file, "</text>\n");
}

/* ---- lines ----------------------------------------------------------------------------------- */

static bool has_point(const struct place *place, const struct chart_line *line, int i)
{
    return is_shown(&place->across, line->x[i]) && is_shown(&place->up, line->y[i]);
}

static void write_band(FILE *file, const struct place *place, const struct chart_line *line)
{
    char command = 'M';
    fprintf(file, "<path fill='%s' fill-opacity='0.2' d='", color_of(line));
    for (int k = 0; k < 2 * line->n; k++) {
        const int i = k < line->n ? k : 2 * line->n - 1 - k;
        const double value = k < line->n ? line->high[i] : line->low[i];
        if (!has_point(place, line, i) || !is_shown(&place->up, value))
            continue;
        fprintf(file, "%c%.1f %.1f", command, pixel_of(&place->across, line->x[i]),
                pixel_of(&place->up, value));
        command = 'L';
    }
    fprintf(file, "'/>\n");
}

static void write_error_bars(FILE *file, const struct place *place, const struct chart_line *line)
{
    for (int i = 0; i < line->n; i++)
        if (has_point(place, line, i) && is_shown(&place->up, line->low[i]) &&
            is_shown(&place->up, line->high[i]))
            fprintf(file, "<path d='M%.1f %.1fV%.1f' stroke='%s'/>\n",
                    pixel_of(&place->across, line->x[i]), pixel_of(&place->up, line->low[i]),
                    pixel_of(&place->up, line->high[i]), color_of(line));
}

static void write_line(FILE *file, const struct place *place, const struct chart_line *line)
{
    if (line->low && line->high)
        (line->spread == CHART_BAND ? write_band : write_error_bars)(file, place, line);
    fprintf(file, "<polyline fill='none' stroke='%s' stroke-width='1.5'%s points='", color_of(line),
            line->dashed ? " stroke-dasharray='5,3'" : "");
    for (int i = 0; i < line->n; i++)
        if (has_point(place, line, i))
            fprintf(file, " %.1f,%.1f", pixel_of(&place->across, line->x[i]),
                    pixel_of(&place->up, line->y[i]));
    fprintf(file, "'/>\n");
    for (int i = 0; line->points && i < line->n; i++)
        if (has_point(place, line, i))
            fprintf(file, "<circle cx='%.1f' cy='%.1f' r='2.2' fill='%s'/>\n",
                    pixel_of(&place->across, line->x[i]), pixel_of(&place->up, line->y[i]),
                    color_of(line));
}

static void write_key(FILE *file, const struct chart_panel *panel, const struct place *place)
{
    int y = place->y + HEIGHT + BOTTOM;
    for (int i = 0; i < panel->n_lines; i++) {
        const struct chart_line *line = &panel->lines[i];
        if (!line->name)
            continue;
        y += KEY_LINE;
        fprintf(file, "<path d='M%d %dh24' stroke='%s' stroke-width='1.5'%s/><text x='%d' y='%d'>",
                place->x, y - 4, color_of(line), line->dashed ? " stroke-dasharray='5,3'" : "",
                place->x + 32, y);
        ts_svg_text(file, line->name);
        fprintf(file, "</text>\n");
    }
}

static int names_of(const struct chart_panel *panel)
{
    int n = 0;
    for (int i = 0; i < panel->n_lines; i++)
        n += panel->lines[i].name != NULL;
    return n;
}

/* ---- all ------------------------------------------------------------------------------------- */

void ts_chart_draw(const struct chart *chart, FILE *file)
{
    const int columns = chart->columns > 0 ? chart->columns : 1,
              rows = (chart->n_panels + columns - 1) / columns;
    int names = 0;
    for (int i = 0; i < chart->n_panels; i++)
        names = names_of(&chart->panels[i]) > names ? names_of(&chart->panels[i]) : names;
    const int step_x = LEFT + WIDTH + GAP, step_y = TOP + HEIGHT + BOTTOM + names * KEY_LINE;
    ts_svg_begin(file, columns * step_x, rows * step_y + GAP, chart->title);
    for (int i = 0; i < chart->n_panels; i++) {
        const struct chart_panel *panel = &chart->panels[i];
        struct place place = {.x = LEFT + i % columns * step_x, .y = TOP + i / columns * step_y};
        place.across = scale_of(panel, true, place.x, place.x + WIDTH);
        place.up = scale_of(panel, false, place.y + HEIGHT, place.y);
        write_frame(file, panel, &place);
        for (int k = 0; k < panel->n_lines; k++)
            write_line(file, &place, &panel->lines[k]);
        write_key(file, panel, &place);
    }
    fprintf(file, "</svg>\n");
}

enum ts_status ts_chart_write(const struct chart *chart, const char *path, bool replace,
                              struct ts_diag *diag)
{
    struct whole_file file;
    const enum ts_status status = ts_whole_file_open(&file, path, replace, diag);
    if (status != TS_OK)
        return status;
    ts_chart_draw(chart, file.stream);
    return ts_whole_file_close(&file, diag);
}
