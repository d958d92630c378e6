/* SPDX-License-Identifier: Apache-2.0
 *
 * Times are no part of a result, since two equal runs write equal bytes. They come from the profile
 * of the run, where its user kept one.
 */
#include <stdlib.h>
#include <string.h>

#include "core/number.h"
#include "program/report/html.h"
#include "program/report/parts.h"

static const char *bytes_text(double bytes, char text[32])
{
    ts_bytes_format(text, 32, bytes);
    return text;
}

static void write_parts(const struct profile_sum sums[TRACE_PARTS], double whole, FILE *stream)
{
    char bytes[32];
    fputs("<div class=\"wide\"><table>\n<thead><tr><th>part<th>first s<th>last s<th>busy s<th>of "
          "all<th>threads s<th>bytes<tbody>\n",
          stream);
    for (int part = 0; part < TRACE_PARTS; part++)
        if (sums[part].n > 0)
            fprintf(stream, "<tr><td>%s<td>%.3f<td>%.3f<td>%.3f<td>%.0f %%<td>%.3f<td>%s\n",
                    ts_profile_parts[part], sums[part].first, sums[part].last, sums[part].busy,
                    whole > 0 ? 100 * sums[part].busy / whole : 0, sums[part].worked,
                    sums[part].bytes > 0 ? bytes_text((double)sums[part].bytes, bytes) : "");
    fprintf(stream, "<tr><td>all<td><td>%.3f<td><td><td><td>\n</table></div>\n", whole);
}

/* Writes what each stage took. Profiles of older versions have no times of the stages that ran on a
 * device. */
static void write_stages(const struct report_facts *facts, FILE *stream)
{
    size_t n, written = 0;
    char text[32];
    const struct trace_stretch *stretches = ts_trace_stretches(facts->trace, &n);
    for (size_t i = 0; i < facts->n_stages; i++) {
        double seconds = 0, bytes = 0;
        size_t calls = 0;
        for (size_t k = 0; k < n; k++)
            if (stretches[k].stage && !strcmp(stretches[k].stage, facts->stages[i].label)) {
                seconds += stretches[k].end - stretches[k].begin;
                bytes += (double)stretches[k].bytes;
                calls++;
            }
        if (calls == 0)
            continue;
        if (written++ == 0)
            fputs("<div class=\"wide\"><table>\n<thead><tr><th>stage<th>computed "
                  "s<th>bytes<th>calls<tbody>\n",
                  stream);
        fputs("<tr><td>", stream);
        ts_svg_text(stream, facts->stages[i].label);
        fprintf(stream, "<td>%.3f<td>%s<td>%zu\n", seconds, bytes_text(bytes, text), calls);
    }
    fputs(written > 0 ? "</table></div>\n" : "<p>The profile has no time of each stage.</p>\n",
          stream);
}

static void write_memory(const struct profile_memory *memory, FILE *stream)
{
    const struct {
        const char *name;
        int64_t bytes;
    } rows[] = {{"memory planned", memory->planned},
                {"memory that the run was allowed", memory->budget},
                {"memory used at most, with libraries", memory->peak},
                {"device memory planned", memory->gpu_planned},
                {"device memory that the run was allowed", memory->gpu_budget}};
    char text[32];
    fputs("<table>\n", stream);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].bytes > 0)
            ts_html_row(stream, rows[i].name, bytes_text((double)rows[i].bytes, text), NULL);
    fputs("</table>\n", stream);
}

/* Draws the lanes. Of a run with many stretches those that follow each other within a cell of the
 * picture are joined, so that the page stays small; where more threads worked at once it is not
 * darker then. */
static enum ts_status draw_lanes(const struct trace *trace, double whole, FILE *drawing)
{
    enum { MOST_STRETCHES = 3000, CELLS = 1600 };
    size_t n;
    const struct trace_stretch *stretches = ts_trace_stretches(trace, &n);
    if (n <= MOST_STRETCHES || !(whole > 0)) {
        ts_profile_draw(trace, drawing);
        return TS_OK;
    }
    bool(*busy)[CELLS + 1] = calloc(
        TRACE_PARTS, sizeof *busy); /* a last cell that is never busy ends what runs up to it */
    struct trace *joined = ts_trace_create();
    for (size_t i = 0; busy && joined && i < n; i++)
        for (int k = (int)(CELLS * (stretches[i].begin / whole));
             k < CELLS && k <= CELLS * (stretches[i].end / whole); k++)
            busy[stretches[i].part][k] = true;
    for (int part = 0; busy && joined && part < TRACE_PARTS; part++)
        for (int k = 0, first = -1; k <= CELLS; k++) {
            if (busy[part][k] && first < 0)
                first = k;
            if (busy[part][k] || first < 0)
                continue;
            ts_trace_add_stretch(joined, (enum trace_part)part, whole * first / CELLS,
                                 whole * k / CELLS, 0);
            first = -1;
        }
    if (busy && joined)
        ts_profile_draw(joined, drawing);
    const enum ts_status status = busy && joined ? TS_OK : TS_RUN_FAILED;
    ts_trace_destroy(joined);
    free(busy);
    return status;
}

enum ts_status ts_report_timing(const struct report_facts *facts, FILE *stream,
                                struct ts_diag *diag)
{
    struct profile_sum sums[TRACE_PARTS];
    char *svg = NULL;
    size_t n;
    ts_html_section(stream, "run", "Time and memory of the run");
    if (!facts->trace) {
        fputs("<p>No profile was given to this report, so that it knows neither the time nor the "
              "memory of the run. They are no part of a result, since equal runs write equal "
              "bytes: <code>run --profile NAME</code> keeps them, and <code>report --profile "
              "NAME.json</code> shows them here.</p>\n</section>\n",
              stream);
        return TS_OK;
    }
    const double whole = ts_profile_sums(facts->trace, sums);
    FILE *drawing = whole >= 0 ? open_memstream(&svg, &n) : NULL;
    const bool drawn = drawing && draw_lanes(facts->trace, whole, drawing) == TS_OK;
    if (!drawing || fclose(drawing) != 0 || !drawn) {
        free(svg);
        return ts_diag_no_memory(diag, sizeof sums);
    }
    fputs("<p>From the profile that was given to this report. It is of a run that wrote a result "
          "with the digest of this one.</p>\n",
          stream);
    write_memory(&facts->memory, stream);
    write_stages(facts, stream);
    ts_html_svg(stream, svg);
    write_parts(sums, whole, stream);
    fputs("</section>\n", stream);
    free(svg);
    return TS_OK;
}
