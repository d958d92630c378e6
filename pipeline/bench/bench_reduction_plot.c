/* SPDX-License-Identifier: Apache-2.0
 *
 * Speed-up (both axes logarithmic; gray: as many times as there are processors) and efficiency against the number of
 * processors, beside each other for each device and work. A color is a size, a dashed line two-level (SVG 1.1).
 */
#include <math.h>

#include "core/text_file.h"
#include "pipeline/bench/bench_reduction.h"

enum { MARGIN = 60, WIDTH = 320, HEIGHT = 180, STEP_X = WIDTH + 80, STEP_Y = HEIGHT + 70, KEY = 150 };
static const char *const colors[] = {"#4a6fa5", "#2a7f3f", "#b5642a", "#8a3f8f"};

/* Rows [first, end) of one device and work. */
struct group {
    const struct study_row *rows;
    int first, end;
};

struct panel {
    int x, y; /* upper left corner */
    bool efficiency;
    double processors; /* most */
    double low, high;  /* of the vertical axis; of speed-ups logarithms */
};

static double value_of(const struct panel *panel, const struct study_row *row)
{
    return panel->efficiency ? ts_reduction_efficiency(row) : log2(ts_reduction_speed_up(row));
}

static double x_of(const struct panel *panel, double processors)
{
    return panel->x + (panel->processors > 1 ? WIDTH * log2(processors) / log2(panel->processors) : 0);
}

static double y_of(const struct panel *panel, double value)
{
    return panel->y + HEIGHT * (panel->high - value) / (panel->high - panel->low);
}

static struct panel panel_of(const struct group *group, int y, bool efficiency)
{
    struct panel panel = {MARGIN + (efficiency ? STEP_X : 0), y, efficiency, 1, 0, 1};
    for (int i = group->first; i < group->end; i++) {
        panel.processors = fmax(panel.processors, (double)group->rows[i].processors);
        panel.low = fmin(panel.low, floor(value_of(&panel, &group->rows[i])));
        panel.high = fmax(panel.high, value_of(&panel, &group->rows[i]));
    }
    return panel;
}

static int color_of(const struct group *group, int row)
{
    int n_sizes = 0;
    for (int i = group->first; i < row && group->rows[i].n != group->rows[row].n; i++)
        n_sizes += i == group->first || group->rows[i].n != group->rows[i - 1].n;
    return n_sizes % (int)(sizeof colors / sizeof *colors);
}

static void write_axes(FILE *file, const struct panel *panel, const struct study_row *row)
{
    const double top = panel->efficiency ? panel->high : exp2(panel->high),
                 bottom = panel->efficiency ? panel->low : exp2(panel->low);
    fprintf(file, "<rect x='%d' y='%d' width='%d' height='%d' fill='none' stroke='black' stroke-width='0.7'/>\n",
            panel->x, panel->y, WIDTH, HEIGHT);
    fprintf(file, "<text x='%d' y='%d'>%s, %s: %s</text>\n", panel->x, panel->y - 6, row->device,
            ts_study_works[row->work], panel->efficiency ? "efficiency" : "speed-up");
    fprintf(file,
            "<text x='%d' y='%d' text-anchor='end'>%.3g</text><text x='%d' y='%d' text-anchor='end'>%.3g</text>\n",
            panel->x - 4, panel->y + 10, top, panel->x - 4, panel->y + HEIGHT, bottom);
    fprintf(file,
            "<text x='%d' y='%d'>1</text><text x='%d' y='%d' text-anchor='middle'>processors</text>"
            "<text x='%d' y='%d' text-anchor='end'>%.0f</text>\n",
            panel->x, panel->y + HEIGHT + 14, panel->x + WIDTH / 2, panel->y + HEIGHT + 14, panel->x + WIDTH,
            panel->y + HEIGHT + 14, panel->processors);
    const double ideal = panel->efficiency ? panel->processors : fmin(panel->processors, exp2(panel->high));
    fprintf(file, "<path d='M%.1f %.1fL%.1f %.1f' stroke='#bbbbbb'/>\n", x_of(panel, 1),
            y_of(panel, panel->efficiency ? 1 : 0), x_of(panel, ideal),
            y_of(panel, panel->efficiency ? 1 : log2(ideal)));
}

static bool same_line(const struct study_row *a, const struct study_row *b)
{
    return a->n == b->n && a->method == b->method;
}

static void write_lines(FILE *file, const struct panel *panel, const struct group *group)
{
    for (int first = group->first, end; first < group->end; first = end) {
        const struct study_row *rows = group->rows;
        const char *color = colors[color_of(group, first)];
        fprintf(file, "<polyline fill='none' stroke='%s'%s points='", color,
                rows[first].method == REDUCTION_TWO_LEVEL ? " stroke-dasharray='5,3'" : "");
        for (end = first; end < group->end && same_line(&rows[first], &rows[end]); end++)
            fprintf(file, "%s%.1f,%.1f", end > first ? " " : "", x_of(panel, (double)rows[end].processors),
                    y_of(panel, value_of(panel, &rows[end])));
        fprintf(file, "'/>\n");
        for (int i = first; i < end; i++)
            fprintf(file, "<circle cx='%.1f' cy='%.1f' r='2.2' fill='%s'/>", x_of(panel, (double)rows[i].processors),
                    y_of(panel, value_of(panel, &rows[i])), color);
        fprintf(file, "\n");
    }
}

static void write_key(FILE *file, const struct group *group, int y)
{
    int line = 0;
    for (int i = group->first; i < group->end; i++)
        if (i == group->first || !same_line(&group->rows[i], &group->rows[i - 1]))
            fprintf(file, "<text x='%d' y='%d' fill='%s'>n = %lld, %s</text>\n", MARGIN + 2 * STEP_X - 60,
                    y + 10 + 15 * line++, colors[color_of(group, i)], (long long)group->rows[i].n,
                    ts_choice_name(ts_reduction_choices, group->rows[i].method));
}

/* The group that starts at this row. */
static struct group group_at(const struct study_row *rows, int n, int first)
{
    struct group group = {rows, first, first};
    while (group.end < n && rows[group.end].device == rows[first].device && rows[group.end].work == rows[first].work)
        group.end++;
    return group;
}

enum ts_status ts_reduction_plot(const char *path, const struct study_row *rows, int n, struct ts_diag *diag)
{
    int n_groups = 0, y = 50;
    for (int i = 0; i < n; i = group_at(rows, n, i).end)
        n_groups++;
    FILE *file = ts_text_file_open(path, true, diag);
    if (!file)
        return TS_RUN_FAILED;
    fprintf(file,
            "<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%d' font-family='sans-serif' "
            "font-size='11'>\n<rect width='100%%' height='100%%' fill='white'/>\n"
            "<text x='10' y='18'>speed-up: time of one processor that takes one value or table after the other / time "
            "(logarithmic); efficiency: speed-up / processors; gray: efficiency 1; dashed: two-level</text>\n",
            MARGIN + 2 * STEP_X - 60 + KEY, 50 + STEP_Y * n_groups);
    for (int i = 0; i < n; y += STEP_Y) {
        const struct group group = group_at(rows, n, i);
        for (int efficiency = 0; efficiency < 2; efficiency++) {
            const struct panel panel = panel_of(&group, y, efficiency);
            write_axes(file, &panel, &rows[i]);
            write_lines(file, &panel, &group);
        }
        write_key(file, &group, y);
        i = group.end;
    }
    fprintf(file, "</svg>\n");
    return ts_text_file_close(file, path, diag);
}
