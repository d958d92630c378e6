/* SPDX-License-Identifier: Apache-2.0
 *
 * The study of reductions as a table for people, or as JSON.
 */
#include "core/text_file.h"
#include "pipeline/bench/bench_reduction.h"

double ts_reduction_speed_up(const struct study_row *row)
{
    return row->serial / row->seconds;
}

double ts_reduction_efficiency(const struct study_row *row)
{
    return ts_reduction_speed_up(row) / (double)row->processors;
}

static void print_json(const struct study_row *rows, int n, FILE *stream)
{
    fprintf(stream, "[");
    for (int i = 0; i < n; i++)
        fprintf(stream,
                "%s\n{\"device\": \"%s\", \"work\": \"%s\", \"method\": \"%s\", \"n\": %lld, \"processors\": %lld, "
                "\"seconds\": %.9g, \"speed_up\": %.6g, \"efficiency\": %.6g}",
                i > 0 ? "," : "", rows[i].device, ts_study_works[rows[i].work],
                ts_choice_name(ts_reduction_choices, rows[i].method), (long long)rows[i].n,
                (long long)rows[i].processors, rows[i].seconds, ts_reduction_speed_up(&rows[i]),
                ts_reduction_efficiency(&rows[i]));
    fprintf(stream, "\n]\n");
}

static void print_table(const struct study_row *rows, int n, const char *no_device, FILE *stream)
{
    fprintf(stream,
            "What n floats come to, in double, and the sum of n tables of %d counts. Speed-up: time of one "
            "processor that\ntakes one value (table) after the other / time; efficiency: speed-up / processors. "
            "Processors are threads.\n",
            STUDY_BINS);
    if (no_device)
        fprintf(stream, "no rows of a CUDA device: %s\n", no_device);
    fprintf(stream, "\n%-6s %-8s %-10s %10s %10s %12s %10s %10s\n", "device", "work", "method", "n", "processors",
            "microsec.", "speed-up", "efficiency");
    for (int i = 0; i < n; i++)
        fprintf(stream, "%-6s %-8s %-10s %10lld %10lld %12.2f %10.2f %10.4f\n", rows[i].device,
                ts_study_works[rows[i].work], ts_choice_name(ts_reduction_choices, rows[i].method),
                (long long)rows[i].n, (long long)rows[i].processors, 1e6 * rows[i].seconds,
                ts_reduction_speed_up(&rows[i]), ts_reduction_efficiency(&rows[i]));
}

void ts_reduction_print(const struct study_row *rows, int n, bool json, const char *no_device, FILE *stream)
{
    if (json)
        print_json(rows, n, stream);
    else
        print_table(rows, n, no_device, stream);
}

enum ts_status ts_reduction_save(const char *path, const struct study_row *rows, int n, struct ts_diag *diag)
{
    FILE *file = ts_text_file_open(path, true, diag);
    if (!file)
        return TS_RUN_FAILED;
    print_json(rows, n, file);
    return ts_text_file_close(file, path, diag);
}
