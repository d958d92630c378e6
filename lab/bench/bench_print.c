/* SPDX-License-Identifier: Apache-2.0
 *
 * The rows of the benchmark as a table for people, as JSON, and as a bar chart (SVG 1.1): the
 * length of a bar is the share of the row's ceiling, the text beside it the rate.
 */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "core/svg.h"
#include "io/file/whole_file.h"
#include "lab/bench/bench.h"
#include "program/show/chart.h"

static const char *const ceiling_names[] = {"memcpy", "copy", "read", "texture"};

/* ---- rows ------------------------------------------------------------------------------------ */

#define AT(member) offsetof(struct bench_row, member)
static const struct table_column columns[] = {
    {"stage", "stage", COLUMN_TEXT, AT(name), -10},
    {"parameters", "parameters", COLUMN_CHARS, AT(which.parameters), -38, .unknown = "(defaults)"},
    {"method", "method", COLUMN_TEXT, AT(method), -14},
    {"dtype", "dtype", COLUMN_TEXT, AT(dtype), -5},
    {"values", "values", COLUMN_TEXT, AT(values), -8},
    {"shape", "z*y*x", COLUMN_SHAPE, AT(which.nz), 13},
    {"device", NULL, COLUMN_TEXT, AT(place)},
    {"threads", NULL, COLUMN_INTEGER, AT(cpu_threads), .optional = true},
    {NULL, "on", COLUMN_CHARS, AT(on), 4},
    {"seconds", "ms", COLUMN_REAL, AT(seconds), 10, 4, 1e3},
    {"spread", "+-", COLUMN_REAL, AT(spread), 5, 0, 100, "%"},
    {"total_seconds", NULL, COLUMN_REAL, AT(total_seconds)},
    {"cold_seconds", NULL, COLUMN_REAL, AT(cold_seconds)},
    {"bytes", NULL, COLUMN_REAL, AT(bytes)},
    {"samples", NULL, COLUMN_REAL, AT(samples), .optional = true},
    {"ceiling", NULL, COLUMN_TEXT, AT(ceiling_name)},
    {"ceiling_per_second", NULL, COLUMN_REAL, AT(ceiling_rate)},
    {"percent", NULL, COLUMN_REAL, AT(percent)},
    {NULL, "Mvoxel/s", COLUMN_REAL, AT(voxel_rate), 9, 0, 1e-6},
    {NULL, "rate", COLUMN_REAL, AT(rate), 9, 1},
    {NULL, "of", COLUMN_CHARS, AT(share), 12},
    {"error", "error", COLUMN_REAL, AT(error.distance), 8, TABLE_SCIENTIFIC},
    {NULL, "total ms", COLUMN_REAL, AT(total_seconds), 9, 3, 1e3},
    {NULL, "cold ms", COLUMN_REAL, AT(cold_seconds), 9, 1, 1e3},
    {"cpu_only", NULL, COLUMN_TEXT, AT(cpu_only), .optional = true},
    {"no_error", NULL, COLUMN_CHARS, AT(no_error), .optional = true},
    {"not_compared", NULL, COLUMN_CHARS, AT(not_compared), .optional = true},
    {NULL, "", COLUMN_CHARS, AT(why), -1, .unknown = ""}};
const struct table ts_bench_table_of_rows = TABLE_OF(struct bench_row, columns);
_Static_assert(AT(which.nx) == AT(which.nz) + 2 * sizeof(int64_t), "the three sizes are a shape");

/* Explains beside the row why it has no error, or which tables the error leaves out, and why no row
 * of a CUDA device follows. */
static void explain(struct bench_row *row)
{
    const bool has_reason = *row->error.unknown;
    size_t used = 0;
    if (has_reason)
        used = (size_t)snprintf(row->why, sizeof row->why, "%s: %s",
                                isnan(row->error.distance) ? "no error" : "not compared",
                                row->error.unknown);
    if (row->cpu_only && used < sizeof row->why)
        snprintf(row->why + used, sizeof row->why - used, "%sno CUDA code: %s",
                 has_reason ? "; " : "", row->cpu_only);
}

void ts_bench_row_finish(struct bench_row *row)
{
    const struct bench_case *which = &row->which;
    const bool has_samples = row->samples > 0, unknown = isnan(row->error.distance);
    const double work = has_samples && row->ceiling == BENCH_TEXTURE ? row->samples : row->bytes;
    row->dtype = ts_dtype_name(which->dtype);
    row->values = ts_bench_values_names[which->values];
    row->place = row->device ? row->device : "cpu";
    row->ceiling_name = ceiling_names[row->ceiling];
    row->cpu_threads = row->device ? -1 : row->threads;
    row->voxel_rate = (double)(which->nz * which->ny * which->nx) / row->seconds;
    row->rate = 1e-9 * (has_samples ? row->samples : row->bytes) / row->seconds;
    row->percent = 100 * work / row->seconds / row->ceiling_rate;
    if (row->device)
        snprintf(row->on, sizeof row->on, "cuda");
    else
        snprintf(row->on, sizeof row->on, "%d", row->threads);
    if (isnan(row->percent))
        snprintf(row->share, sizeof row->share, "- %s", row->ceiling_name);
    else
        snprintf(row->share, sizeof row->share, "%.0f%% %s", row->percent, row->ceiling_name);
    snprintf(unknown ? row->no_error : row->not_compared, sizeof row->no_error, "%s",
             row->error.unknown);
    explain(row);
}

void ts_bench_print_head(const struct bench_devices *devices, const struct cuda_ceilings *ceilings,
                         FILE *stream)
{
    const struct device_numbers *device = devices->device;
    const int driver = devices->found.driver;
    fprintf(stream,
            "tomostage %s, %d threads at most; medians of processor time (one thread), wall time "
            "(more) or kernels'\n"
            "time (cuda); GB/s of bytes read once a pass and written once, of a projection G "
            "samples/s along its rays, of a reconstruction G pixels and views/s\n",
            ts_version(), omp_get_num_procs());
    if (device)
        fprintf(stream,
                "%s, %d multiprocessors, driver of CUDA %d.%d; its ceilings in this run: copy %.0f "
                "GB/s, read %.0f GB/s,\ntexture %.0f G samples/s\n",
                device->name, device->multiprocessors, driver / 1000, driver % 1000 / 10,
                1e-9 * ceilings->copy, 1e-9 * ceilings->read, 1e-9 * ceilings->texture);
    else if (*devices->why)
        fprintf(stream, "no rows of a CUDA device: %s\n", devices->why);
    fputc('\n', stream);
}

/* ---- bars ------------------------------------------------------------------------------------ */

enum { ROW = 16, TOP = 40, LABEL = 520, BAR = 400, RATE = 130 };

static void write_bar(FILE *file, const struct bench_row *row, int i, double widest)
{
    const struct bench_case *which = &row->which;
    const double length = isfinite(row->percent) ? BAR * row->percent / widest : 0;
    const int y = TOP + ROW * i;
    const char *method = row->method ? row->method : "", *color = row->device         ? "#2a7f3f"
                                                                  : row->threads == 1 ? "#9db4d0"
                                                                                      : "#4a6fa5";
    char label[400];
    snprintf(label, sizeof label, "%s %s %s%s%s, %s %s, %lldx%lldx%lld, %s%s", row->name,
             which->parameters, *method ? "(" : "", method, *method ? ")" : "", row->dtype,
             row->values, (long long)which->nz, (long long)which->ny, (long long)which->nx, row->on,
             row->device         ? ""
             : row->threads == 1 ? " thread"
                                 : " threads");
    fprintf(file, "<text x='%d' y='%d' text-anchor='end'>", LABEL - 6, y + ROW - 5);
    ts_svg_text(file, label);
    fprintf(file, "</text><rect x='%d' y='%d' width='%.1f' height='%d' fill='%s'/>", LABEL, y + 2,
            length, ROW - 4, color);
    if (isfinite(row->percent))
        fprintf(file, "<text x='%.1f' y='%d'>%.0f %%, %.4g %s</text>\n", LABEL + length + 4,
                y + ROW - 5, row->percent, row->rate, row->samples > 0 ? "G samples/s" : "GB/s");
    else
        fprintf(file, "<text x='%d' y='%d'>%.1f microseconds</text>\n", LABEL + 4, y + ROW - 5,
                1e6 * row->seconds);
}

enum ts_status ts_bench_plot(const char *path, const struct table_rows *rows, struct ts_diag *diag)
{
    const struct bench_row *row = rows->rows;
    double widest = 100;
    for (int i = 0; i < rows->n; i++)
        widest = isfinite(row[i].percent) ? fmax(widest, row[i].percent) : widest;
    struct whole_file file;
    const enum ts_status status = ts_whole_file_open(&file, path, true, diag);
    if (status != TS_OK)
        return status;
    ts_svg_begin(file.stream, LABEL + BAR + RATE, TOP + ROW * rows->n + 10,
                 "percent of the ceiling: memcpy on the CPU (blue); copy, read or texture rate on "
                 "a CUDA device (green)");
    for (int i = 0; i < rows->n; i++)
        write_bar(file.stream, &row[i], i, widest);
    fprintf(file.stream,
            "<path d='M%d %dV%d M%.1f %dV%d' stroke='black' stroke-width='0.7'/>\n</svg>\n", LABEL,
            TOP - 6, TOP + ROW * rows->n + 4, LABEL + BAR * 100 / widest, TOP - 6,
            TOP + ROW * rows->n + 4);
    return ts_whole_file_close(&file, diag);
}
