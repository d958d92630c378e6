/* SPDX-License-Identifier: Apache-2.0
 *
 * Times are no part of a result, since two equal runs write equal bytes. They come from the profile
 * of the run, if its user kept one.
 */
#include <math.h>
#include <string.h>

#include "program/report/facts.h"

enum { CELLS = 400 }; /* the run is divided into so many cells, so that the record stays small */

/* Writes how many threads, on average, worked on a part in each cell. */
static void write_threads(const struct trace *trace, int part, double whole, struct json *json)
{
    size_t n;
    const struct trace_stretch *stretches = ts_trace_stretches(trace, &n);
    const double cell = whole / CELLS;
    double worked[CELLS] = {0};
    for (size_t i = 0; cell > 0 && i < n; i++) {
        const struct trace_stretch *stretch = &stretches[i];
        if ((int)stretch->part == part)
            for (int k = (int)(stretch->begin / cell); k < CELLS && k * cell <= stretch->end; k++)
                worked[k] += fmin(stretch->end, (k + 1) * cell) - fmax(stretch->begin, k * cell);
    }
    ts_json_open_member(json, "threads", '[');
    for (int k = 0; cell > 0 && k < CELLS; k++)
        /* rounded up, so that the shortest stretch is visible */
        ts_json_real(json, ceil(100 * worked[k] / cell) / 100);
    ts_json_close(json, ']');
}

static void write_parts(const struct report_facts *facts,
                        const struct profile_sum sums[TRACE_PARTS], double whole, struct json *json)
{
    ts_json_open_member(json, "parts", '[');
    for (int part = 0; part < TRACE_PARTS; part++) {
        if (sums[part].n == 0)
            continue;
        ts_json_open(json, '{');
        ts_json_member_text(json, "part", ts_profile_parts[part]);
        ts_json_member_real(json, "first", sums[part].first);
        ts_json_member_real(json, "last", sums[part].last);
        ts_json_member_real(json, "busy", sums[part].busy);
        ts_json_member_real(json, "worked", sums[part].worked);
        ts_json_member_real(json, "bytes", (double)sums[part].bytes);
        write_threads(facts->trace, part, whole, json);
        ts_json_close(json, '}');
    }
    ts_json_close(json, ']');
}

/* Writes what each stage took. Profiles of older versions have no times of stages that ran on a
   device. */
static void write_stages(const struct report_facts *facts, struct json *json)
{
    size_t n;
    const struct trace_stretch *stretches = ts_trace_stretches(facts->trace, &n);
    ts_json_open_member(json, "stages", '[');
    for (size_t i = 0; i < facts->n_stages; i++) {
        double seconds = 0, bytes = 0;
        int64_t calls = 0;
        for (size_t k = 0; k < n; k++)
            if (stretches[k].stage && !strcmp(stretches[k].stage, facts->stages[i].label)) {
                seconds += stretches[k].end - stretches[k].begin;
                bytes += (double)stretches[k].bytes;
                calls++;
            }
        if (calls == 0)
            continue;
        ts_json_open(json, '{');
        ts_json_member_text(json, "stage", facts->stages[i].label);
        ts_json_member_real(json, "seconds", seconds);
        ts_json_member_real(json, "bytes", bytes);
        ts_json_member_integer(json, "calls", calls);
        ts_json_close(json, '}');
    }
    ts_json_close(json, ']');
}

enum ts_status ts_report_run(const struct report_facts *facts, struct json *json,
                             struct ts_diag *diag)
{
    struct profile_sum sums[TRACE_PARTS];
    const struct profile_memory *memory = &facts->memory;
    if (!facts->trace)
        return TS_OK;
    const double whole = ts_profile_sums(facts->trace, sums);
    if (whole < 0)
        return ts_diag_no_memory(diag, sizeof sums);
    ts_json_open_member(json, "run", '{');
    ts_json_member_real(json, "seconds", whole);
    ts_json_open_member(json, "memory", '{');
    ts_json_member_integer(json, "planned", memory->planned);
    ts_json_member_integer(json, "allowed", memory->budget);
    ts_json_member_integer(json, "peak", memory->peak);
    ts_json_member_integer(json, "device_planned", memory->gpu_planned);
    ts_json_member_integer(json, "device_allowed", memory->gpu_budget);
    ts_json_close(json, '}');
    write_stages(facts, json);
    write_parts(facts, sums, whole, json);
    ts_json_close(json, '}');
    return TS_OK;
}
