/* SPDX-License-Identifier: Apache-2.0
 *
 * The rows as a bar chart (SVG 1.1): the length is the share of the row's ceiling, the text beside it its rate.
 */
#include <math.h>

#include "core/svg.h"
#include "core/text_file.h"
#include "pipeline/bench/bench.h"

enum { ROW = 16, TOP = 40, LABEL = 520, BAR = 400, RATE = 130 };

static void write_row(FILE *file, const struct bench_row *row, int i, double widest)
{
    const struct bench_case *which = &row->which;
    const double percent = ts_bench_percent(row), length = isfinite(percent) ? BAR * percent / widest : 0;
    const int y = TOP + ROW * i;
    char label[400], on[32] = "cuda";
    if (!row->device)
        snprintf(on, sizeof on, row->threads == 1 ? "1 thread" : "%d threads", row->threads);
    snprintf(label, sizeof label, "%s %s %s%s%s, %s %s, %lldx%lldx%lld, %s", row->name, which->parameters,
             *row->method ? "(" : "", row->method, *row->method ? ")" : "", ts_dtype_name(which->dtype),
             ts_bench_values_names[which->values], (long long)which->nz, (long long)which->ny, (long long)which->nx,
             on);
    fprintf(file, "<text x='%d' y='%d' text-anchor='end'>", LABEL - 6, y + ROW - 5);
    ts_svg_text(file, label);
    fprintf(file, "</text><rect x='%d' y='%d' width='%.1f' height='%d' fill='%s'/>", LABEL, y + 2, length, ROW - 4,
            row->device         ? "#2a7f3f"
            : row->threads == 1 ? "#9db4d0"
                                : "#4a6fa5");
    if (isfinite(percent))
        fprintf(file, "<text x='%.1f' y='%d'>%.0f %%, %.4g %s</text>\n", LABEL + length + 4, y + ROW - 5, percent,
                ts_bench_rate(row), row->samples > 0 ? "G samples/s" : "GB/s");
    else
        fprintf(file, "<text x='%d' y='%d'>%.1f microseconds</text>\n", LABEL + 4, y + ROW - 5, 1e6 * row->seconds);
}

enum ts_status ts_bench_plot(const char *path, const struct bench_row *rows, int n, struct ts_diag *diag)
{
    double widest = 100;
    for (int i = 0; i < n; i++)
        if (isfinite(ts_bench_percent(&rows[i])))
            widest = fmax(widest, ts_bench_percent(&rows[i]));
    FILE *file = ts_text_file_open(path, true, diag);
    if (!file)
        return TS_RUN_FAILED;
    fprintf(file,
            "<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%d' font-family='sans-serif' "
            "font-size='11'>\n<rect width='100%%' height='100%%' fill='white'/>\n"
            "<text x='%d' y='16'>percent of the ceiling: memcpy on the CPU (blue); copy, read or texture rate on a "
            "CUDA device (green)</text>\n",
            LABEL + BAR + RATE, TOP + ROW * n + 10, 10);
    for (int i = 0; i < n; i++)
        write_row(file, &rows[i], i, widest);
    fprintf(file, "<path d='M%d %dV%d M%.1f %dV%d' stroke='black' stroke-width='0.7'/>\n</svg>\n", LABEL, TOP - 6,
            TOP + ROW * n + 4, LABEL + BAR * 100 / widest, TOP - 6, TOP + ROW * n + 4);
    return ts_text_file_close(file, path, diag);
}
