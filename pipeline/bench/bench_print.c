/* SPDX-License-Identifier: Apache-2.0
 *
 * The rows as a table for people, or as JSON.
 */
#include <math.h>

#include "core/json.h"
#include "core/text_file.h"
#include "pipeline/bench/bench.h"

static const char *const ceiling_names[] = {"memcpy", "copy", "read", "texture"};

double ts_bench_rate(const struct bench_row *row)
{
    return 1e-9 * (row->samples > 0 ? row->samples : row->bytes) / row->seconds;
}

double ts_bench_percent(const struct bench_row *row)
{
    const double work = row->samples > 0 && row->ceiling == BENCH_TEXTURE ? row->samples : row->bytes;
    return 100 * work / row->seconds / row->ceiling_rate;
}

void ts_bench_print_head(const struct bench_report *report, const struct device_numbers *device, int driver,
                         const struct cuda_ceilings *ceilings, const char *no_device)
{
    FILE *stream = report->stream;
    if (report->request->json) {
        fprintf(stream, "[\n");
        return;
    }
    fprintf(stream,
            "tomostage %s, %d threads at most; medians of processor time (one thread), wall time (more) or kernels'\n"
            "time (cuda); GB/s of bytes read once a pass and written once, of a projection G samples/s along its rays, "
            "of a reconstruction G pixels and views/s\n",
            ts_version(), report->all_threads);
    if (device)
        fprintf(stream,
                "%s, %d multiprocessors, driver of CUDA %d.%d; its ceilings in this run: copy %.0f GB/s, read %.0f "
                "GB/s,\ntexture %.0f G samples/s\n",
                device->name, device->multiprocessors, driver / 1000, driver % 1000 / 10, 1e-9 * ceilings->copy,
                1e-9 * ceilings->read, 1e-9 * ceilings->texture);
    else if (no_device)
        fprintf(stream, "no rows of a CUDA device: %s\n", no_device);
    fprintf(stream, "\n%-10s %-38s %-14s %-5s %-8s %13s %4s %10s %5s %9s %9s %12s %8s %9s %9s\n", "stage", "parameters",
            "method", "dtype", "values", "z*y*x", "on", "ms", "+-", "Mvoxel/s", "rate", "of", "error", "total ms",
            "cold ms");
}

static void print_json(FILE *stream, const struct bench_row *row)
{
    struct json json;
    ts_json_init(&json, stream, false);
    ts_json_open(&json, '{');
    ts_json_member_text(&json, "stage", row->name);
    ts_json_member_text(&json, "parameters", row->which.parameters);
    ts_json_member_text(&json, "method", *row->method ? row->method : NULL);
    ts_json_member_text(&json, "dtype", ts_dtype_name(row->which.dtype));
    ts_json_member_text(&json, "values", ts_bench_values_names[row->which.values]);
    ts_json_key(&json, "shape");
    ts_json_open(&json, '[');
    ts_json_integer(&json, row->which.nz);
    ts_json_integer(&json, row->which.ny);
    ts_json_integer(&json, row->which.nx);
    ts_json_close(&json, ']');
    ts_json_member_text(&json, "device", row->device ? row->device : "cpu");
    if (!row->device)
        ts_json_member_integer(&json, "threads", row->threads);
    ts_json_member_real(&json, "seconds", row->seconds);
    ts_json_member_real(&json, "spread", row->spread);
    ts_json_member_real(&json, "total_seconds", row->total_seconds);
    ts_json_member_real(&json, "cold_seconds", row->cold_seconds);
    ts_json_member_real(&json, "bytes", row->bytes);
    if (row->samples > 0)
        ts_json_member_real(&json, "samples", row->samples);
    ts_json_member_text(&json, "ceiling", ceiling_names[row->ceiling]);
    ts_json_member_real(&json, "ceiling_per_second", row->ceiling_rate);
    ts_json_member_real(&json, "percent", ts_bench_percent(row));
    ts_json_member_real(&json, "error", row->error.distance);
    if (*row->error.unknown)
        ts_json_member_text(&json, isnan(row->error.distance) ? "no_error" : "not_compared", row->error.unknown);
    ts_json_close(&json, '}');
}

/* "-" for what is not known. */
static void format(char text[16], double value, int decimals, const char *unit)
{
    if (isnan(value))
        snprintf(text, 16, "-");
    else
        snprintf(text, 16, "%.*f%s", decimals, value, unit);
}

static void print_line(FILE *stream, const struct bench_row *row)
{
    const struct bench_case *which = &row->which;
    const double voxels = (double)(which->nz * which->ny * which->nx);
    char size[64], on[16] = "cuda", error[16], total[16], share[32], percent[16];
    snprintf(size, sizeof size, "%lldx%lldx%lld", (long long)which->nz, (long long)which->ny, (long long)which->nx);
    if (!row->device)
        snprintf(on, sizeof on, "%d", row->threads);
    format(total, 1e3 * row->total_seconds, 3, "");
    format(percent, ts_bench_percent(row), 0, "%");
    snprintf(error, sizeof error, isnan(row->error.distance) ? "-" : "%.1e", row->error.distance);
    snprintf(share, sizeof share, "%s %s", percent, ceiling_names[row->ceiling]);
    fprintf(stream, "%-10s %-38s %-14s %-5s %-8s %13s %4s %10.4f %4.0f%% %9.0f %9.1f %12s %8s %9s %9.1f%s%s\n",
            row->name, *which->parameters ? which->parameters : "(defaults)", *row->method ? row->method : "-",
            ts_dtype_name(which->dtype), ts_bench_values_names[which->values], size, on, 1e3 * row->seconds,
            100 * row->spread, 1e-6 * voxels / row->seconds, ts_bench_rate(row), share, error, total,
            1e3 * row->cold_seconds,
            !*row->error.unknown         ? ""
            : isnan(row->error.distance) ? "  no error: "
                                         : "  not compared: ",
            row->error.unknown);
}

void ts_bench_print_row(const struct bench_report *report, const struct bench_row *row, bool first)
{
    if (report->request->json) {
        if (!first)
            fprintf(report->stream, ",");
        print_json(report->stream, row);
    } else {
        print_line(report->stream, row);
    }
    fflush(report->stream);
}

void ts_bench_print_end(const struct bench_report *report)
{
    if (report->request->json)
        fprintf(report->stream, "]\n");
}

enum ts_status ts_bench_save(const char *path, const struct bench_row *rows, int n, struct ts_diag *diag)
{
    FILE *file = ts_text_file_open(path, true, diag);
    if (!file)
        return TS_RUN_FAILED;
    fprintf(file, "[\n");
    for (int i = 0; i < n; i++) {
        fprintf(file, "%s", i > 0 ? "," : "");
        print_json(file, &rows[i]);
    }
    fprintf(file, "]\n");
    return ts_text_file_close(file, path, diag);
}
