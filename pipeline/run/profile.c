/* SPDX-License-Identifier: Apache-2.0
 *
 * Adds up a trace and draws it. How long a part was busy is the length of the union of its
 * stretches, which shows if it bounds the run; how long its threads worked in all shows what more
 * processors would gain. Source of the file format: "Trace Event Format", Google, 2016 (complete
 * events, "ph": "X").
 */
#include "pipeline/run/profile.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/json.h"
#include "core/svg.h"
#include "io/file/whole_file.h"

const char *const ts_profile_parts[TRACE_PARTS] = {"plan",    "prepare",  "read",     "upload",
                                                   "compute", "download", "compress", "write",
                                                   "check",   "finish"};

struct profile {
    struct trace_stretch *stretches; /* sorted by part and time; owned */
    size_t n;
    struct profile_sum sums[TRACE_PARTS];
    double whole;
    struct profile_memory memory;
    const char *digest;
};

static int by_part_and_time(const void *a, const void *b)
{
    const struct trace_stretch *one = a, *two = b;
    if (one->part != two->part)
        return one->part < two->part ? -1 : 1;
    return one->begin < two->begin ? -1 : one->begin > two->begin;
}

static void add_up(struct profile *profile)
{
    for (size_t i = 0; i < profile->n; i++) {
        const struct trace_stretch *stretch = &profile->stretches[i];
        struct profile_sum *sum = &profile->sums[stretch->part];
        const double from = sum->n > 0 && stretch->begin < sum->last ? sum->last : stretch->begin;
        sum->first = sum->n++ == 0 ? stretch->begin : sum->first;
        sum->busy += stretch->end > from ? stretch->end - from : 0;
        sum->last = stretch->end > sum->last ? stretch->end : sum->last;
        sum->worked += stretch->end - stretch->begin;
        sum->bytes += stretch->bytes;
        profile->whole = sum->last > profile->whole ? sum->last : profile->whole;
    }
}

/* Returns false if memory is out. */
static bool profile_init(struct profile *profile, const struct trace *trace)
{
    const struct trace_stretch *stretches = ts_trace_stretches(trace, &profile->n);
    profile->stretches = malloc(profile->n * sizeof *stretches + 1);
    if (!profile->stretches)
        return false;
    if (profile->n > 0) {
        memcpy(profile->stretches, stretches, profile->n * sizeof *stretches);
        qsort(profile->stretches, profile->n, sizeof *stretches, by_part_and_time);
    }
    add_up(profile);
    return true;
}

double ts_profile_sums(const struct trace *trace, struct profile_sum sums[TRACE_PARTS])
{
    struct profile profile = {0};
    if (!profile_init(&profile, trace))
        return -1;
    memcpy(sums, profile.sums, sizeof profile.sums);
    free(profile.stretches);
    return profile.whole;
}

void ts_profile_print(const struct trace *trace, FILE *stream)
{
    struct profile profile = {0};
    if (!profile_init(&profile, trace))
        return;
    fprintf(stream, "%-9s %9s %9s %9s %7s %11s %11s %9s\n", "part", "first s", "last s", "busy s",
            "of all", "threads s", "MB", "GB/s");
    for (int part = 0; part < TRACE_PARTS; part++) {
        const struct profile_sum *sum = &profile.sums[part];
        if (sum->n == 0)
            continue;
        fprintf(stream, "%-9s %9.3f %9.3f %9.3f %6.0f%% %11.3f", ts_profile_parts[part], sum->first,
                sum->last, sum->busy, profile.whole > 0 ? 100 * sum->busy / profile.whole : 0,
                sum->worked);
        if (sum->bytes > 0 && sum->busy > 0)
            fprintf(stream, " %11.1f %9.2f", (double)sum->bytes / 1e6,
                    (double)sum->bytes / sum->busy / 1e9);
        fputc('\n', stream);
    }
    fprintf(stream, "%-9s %19.3f\n", "all", profile.whole);
    free(profile.stretches);
}

/* ---- pictures -------------------------------------------------------------------------------- */

enum { LANE_HEIGHT = 26, LANE_GAP = 8, LEFT = 90, TOP = 46, WIDTH = 800, TICKS = 8 };

/* Returns 1, 2 or 5 times a power of ten that divides the time into at most TICKS parts. */
static double tick_step(double whole)
{
    double step = 1e-6;
    for (int i = 0; whole / step > TICKS; i++)
        step *= i % 3 == 1 ? 2.5 : 2;
    return step;
}

static void draw_axis(double whole, int bottom, FILE *stream)
{
    const double step = tick_step(whole);
    for (int i = 0; whole > 0 && i * step <= whole; i++) {
        const double x = LEFT + WIDTH * (i * step / whole);
        fprintf(stream,
                "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" stroke=\"#ddd\"/>\n"
                "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.6g</text>\n",
                x, TOP - 4, x, bottom, x, bottom + 16, i * step);
    }
    fprintf(stream,
            "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">time since the start / s</text>\n",
            LEFT + WIDTH / 2, bottom + 34);
}

static void draw_stretch(const struct profile *profile, const struct trace_stretch *stretch,
                         int lane, FILE *stream)
{
    static const char *const colors[TRACE_PARTS] = {"#666666", "#666666", "#0072b2", "#56b4e9",
                                                    "#d55e00", "#56b4e9", "#009e73", "#cc79a7",
                                                    "#e69f00", "#666666"};
    const struct profile_sum *sum = &profile->sums[stretch->part];
    fprintf(stream,
            "<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\" fill=\"%s\" "
            "fill-opacity=\"%.2f\"/>\n",
            LEFT + WIDTH * (stretch->begin / profile->whole), TOP + lane * (LANE_HEIGHT + LANE_GAP),
            0.3 + WIDTH * ((stretch->end - stretch->begin) / profile->whole), LANE_HEIGHT,
            colors[stretch->part], sum->worked > 1.5 * sum->busy ? 0.35 : 0.8);
}

static void draw(const struct profile *profile, FILE *stream)
{
    int n_lanes = 0, lanes[TRACE_PARTS] = {0};
    for (int part = 0; part < TRACE_PARTS; part++)
        if (profile->sums[part].n > 0)
            lanes[part] = n_lanes++;
    const int bottom = TOP + n_lanes * (LANE_HEIGHT + LANE_GAP);
    ts_svg_begin(stream, LEFT + WIDTH + 30, bottom + 46,
                 "What each part of the run did; darker where more threads worked at once");
    draw_axis(profile->whole, bottom, stream);
    for (int part = 0; part < TRACE_PARTS; part++)
        if (profile->sums[part].n > 0)
            fprintf(stream, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", LEFT - 8,
                    TOP + lanes[part] * (LANE_HEIGHT + LANE_GAP) + LANE_HEIGHT / 2 + 4,
                    ts_profile_parts[part]);
    for (size_t i = 0; profile->whole > 0 && i < profile->n; i++)
        draw_stretch(profile, &profile->stretches[i], lanes[profile->stretches[i].part], stream);
    fputs("</svg>\n", stream);
}

/* Writes the memory as a counter, which Perfetto draws as a line. */
static void write_memory(const struct profile_memory *memory, struct json *json)
{
    ts_json_open(json, '{');
    ts_json_member_text(json, "name", "memory");
    ts_json_member_text(json, "ph", "C");
    ts_json_member_integer(json, "ts", 0);
    ts_json_member_integer(json, "pid", 1);
    ts_json_open_member(json, "args", '{');
    ts_json_member_integer(json, "planned", memory->planned);
    ts_json_member_integer(json, "budget", memory->budget);
    ts_json_member_integer(json, "gpu_planned", memory->gpu_planned);
    ts_json_member_integer(json, "gpu_budget", memory->gpu_budget);
    ts_json_member_integer(json, "peak", memory->peak);
    ts_json_close(json, '}');
    ts_json_close(json, '}');
}

/* Writes the digest as metadata, which Perfetto ignores. */
static void write_digest(const char *digest, struct json *json)
{
    ts_json_open(json, '{');
    ts_json_member_text(json, "name", "result");
    ts_json_member_text(json, "ph", "M");
    ts_json_member_integer(json, "pid", 1);
    ts_json_open_member(json, "args", '{');
    ts_json_member_text(json, "digest", digest);
    ts_json_close(json, '}');
    ts_json_close(json, '}');
}

static void write_events(const struct profile *profile, FILE *stream)
{
    struct json json;
    ts_json_init(&json, stream, false);
    ts_json_open(&json, '[');
    write_memory(&profile->memory, &json);
    if (*profile->digest)
        write_digest(profile->digest, &json);
    for (size_t i = 0; i < profile->n; i++) {
        const struct trace_stretch *stretch = &profile->stretches[i];
        ts_json_open(&json, '{');
        ts_json_member_text(&json, "name", ts_profile_parts[stretch->part]);
        ts_json_member_text(&json, "ph", "X");
        ts_json_member_real(&json, "ts", 1e6 * stretch->begin);
        ts_json_member_real(&json, "dur", 1e6 * (stretch->end - stretch->begin));
        ts_json_member_integer(&json, "pid", 1);
        ts_json_member_integer(&json, "tid", stretch->thread);
        if (stretch->bytes > 0 || stretch->stage) {
            ts_json_open_member(&json, "args", '{');
            ts_json_member_integer(&json, "bytes", (int64_t)stretch->bytes);
            if (stretch->stage)
                ts_json_member_text(&json, "stage", stretch->stage);
            ts_json_close(&json, '}');
        }
        ts_json_close(&json, '}');
    }
    ts_json_close(&json, ']');
}

/* Writes "NAME.svg" or "NAME.json" to a path of so many bytes. */
static const char *path_of(char *path, size_t size, const char *name, const char *ending)
{
    snprintf(path, size, "%s%s", name, ending);
    return path;
}

enum ts_status ts_profile_check(const char *name, bool force, struct ts_diag *diag)
{
    char path[PATH_MAX];
    const enum ts_status status =
        ts_whole_file_check(path_of(path, sizeof path, name, ".svg"), force, diag);
    return status == TS_OK
               ? ts_whole_file_check(path_of(path, sizeof path, name, ".json"), force, diag)
               : status;
}

typedef void write_profile(const struct profile *profile, FILE *stream);

static enum ts_status write_file(const struct profile *profile, const char *name,
                                 const char *ending, bool force, write_profile *write,
                                 struct ts_diag *diag)
{
    char path[PATH_MAX];
    path_of(path, sizeof path, name, ending);
    struct whole_file file;
    const enum ts_status status = ts_whole_file_open(&file, path, force, diag);
    if (status != TS_OK)
        return status;
    write(profile, file.stream);
    return ts_whole_file_close(&file, diag);
}

enum ts_status ts_profile_write(const struct trace *trace, struct profile_memory memory,
                                const char *digest, const char *name, bool force,
                                struct ts_diag *diag)
{
    struct profile profile = {.memory = memory, .digest = digest};
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        profile.memory.peak = (int64_t)usage.ru_maxrss * 1024; /* Linux counts it in KiB */
    if (!profile_init(&profile, trace))
        return ts_diag_no_memory(diag, profile.n * sizeof *profile.stretches);
    char picture[PATH_MAX];
    const bool is_new = access(path_of(picture, sizeof picture, name, ".svg"), F_OK) != 0;
    enum ts_status status = write_file(&profile, name, ".svg", force, draw, diag);
    const bool drawn = status == TS_OK;
    if (drawn)
        status = write_file(&profile, name, ".json", force, write_events, diag);
    if (drawn && status != TS_OK && is_new)
        unlink(picture);
    free(profile.stretches);
    return status;
}
