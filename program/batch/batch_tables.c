/* SPDX-License-Identifier: Apache-2.0
 *
 * What a batch says of its studies: events as JSON, a table for programs, a page for people, and
 * the numbers of all results.
 */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/json.h"
#include "core/svg.h"
#include "io/file/file_bytes.h"
#include "io/file/publish_lock.h"
#include "io/file/whole_file.h"
#include "program/batch/batch.h"
#include "program/report/tables.h"

/* ---- events as JSON -------------------------------------------------------------------------- */

/* Events are printed as JSON, one a line: when a study starts, and when it has ended. */

static void open_event(struct json *json, const char *name)
{
    ts_json_init(json, stdout, false);
    ts_json_open(json, '{');
    ts_json_member_text(json, "event", name);
}

static void close_event(struct json *json)
{
    ts_json_close(json, '}');
    fflush(stdout);
}

void ts_batch_print_started(const struct batch *batch)
{
    struct json json;
    open_event(&json, "started");
    ts_json_member_integer(&json, "studies", (int64_t)batch->studies.n);
    ts_json_member_integer(&json, "jobs", batch->jobs);
    ts_json_member_integer(&json, "shard", batch->shard);
    ts_json_member_integer(&json, "shards", batch->shards);
    close_event(&json);
}

void ts_batch_print_study(const struct batch *batch, const struct batch_study *study, size_t ended)
{
    struct json json;
    open_event(&json, "study");
    ts_json_member_text(&json, "state", ts_batch_state_name(study->state));
    ts_json_member_text(&json, "output", study->output);
    ts_json_member_text(&json, "input", study->input);
    if (study->state != STUDY_RUNNING) {
        ts_json_member_real(&json, "seconds", study->seconds);
        ts_json_member_integer(&json, "warnings", study->warnings);
    }
    if (*study->digest)
        ts_json_member_text(&json, "digest", study->digest);
    if (study->message)
        ts_json_member_text(&json, "message", study->message);
    ts_json_member_integer(&json, "ended", (int64_t)ended);
    ts_json_member_integer(&json, "studies", (int64_t)batch->studies.n);
    close_event(&json);
}

void ts_batch_print_progress(const struct batch *batch, size_t ended, double seconds_left)
{
    struct json json;
    open_event(&json, "progress");
    ts_json_member_integer(&json, "ended", (int64_t)ended);
    ts_json_member_integer(&json, "studies", (int64_t)batch->studies.n);
    ts_json_member_real(&json, "seconds_left", seconds_left < 0 ? NAN : seconds_left);
    ts_json_open_member(&json, "running", '[');
    for (size_t i = 0; i < batch->studies.n; i++) {
        const struct batch_study *study = &batch->studies.items[i];
        if (study->state != STUDY_RUNNING)
            continue;
        ts_json_open(&json, '{');
        ts_json_member_text(&json, "output", study->output);
        ts_json_member_real(&json, "part", study->part > 0 ? study->part : NAN);
        ts_json_close(&json, '}');
    }
    ts_json_close(&json, ']');
    close_event(&json);
}

void ts_batch_print_finished(const struct batch *batch, const char *table)
{
    struct json json;
    open_event(&json, "finished");
    if (table)
        ts_json_member_text(&json, "table", table);
    ts_json_member_integer(&json, "studies", (int64_t)batch->studies.n);
    for (int state = STUDY_PLANNED; state <= STUDY_STOPPED; state++)
        if (state != STUDY_RUNNING)
            ts_json_member_integer(&json, ts_batch_state_name(state),
                                   (int64_t)ts_batch_count(batch, state));
    close_event(&json);
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* A table for programs and a page for people tell how a batch went. The page needs no other file.
   Both are written whole or not at all, like results. */

const char *ts_batch_state_name(enum study_state state)
{
    static const char *const names[] = {"not run", "refused", "running", "done",
                                        "found",   "failed",  "stopped"};
    return names[state];
}

size_t ts_batch_count(const struct batch *batch, enum study_state state)
{
    size_t n = 0;
    for (size_t i = 0; i < batch->studies.n; i++)
        n += batch->studies.items[i].state == state;
    return n;
}

enum ts_status ts_batch_status(const struct batch *batch)
{
    bool any[TS_STOPPED + 1] = {false};
    for (size_t i = 0; i < batch->studies.n; i++) {
        const struct batch_study *study = &batch->studies.items[i];
        const bool good = study->state == STUDY_DONE || study->state == STUDY_FOUND;
        const bool judged = study->state == STUDY_REFUSED || study->state == STUDY_FAILED;
        any[judged ? study->status : good ? TS_OK : TS_STOPPED] = true;
    }
    if (any[TS_BAD_CHAIN])
        return TS_BAD_CHAIN;
    if (any[TS_RUN_FAILED])
        return TS_RUN_FAILED;
    if (any[TS_BAD_INPUT])
        return TS_BAD_INPUT;
    return any[TS_STOPPED] ? TS_RUN_FAILED : TS_OK;
}

void ts_batch_table_path(const struct batch *batch, const char *suffix, char *path, size_t size)
{
    if (batch->shards > 1)
        snprintf(path, size, "%s/batch-%d-of-%d.%s", batch->folder, batch->shard, batch->shards,
                 suffix);
    else
        snprintf(path, size, "%s/batch.%s", batch->folder, suffix);
}

/* Writes a cell without tabs and control characters. */
static void cell(FILE *out, bool html, const char *text)
{
    char escaped[8192];
    ts_text_escape(escaped, sizeof escaped, text ? text : "");
    if (html)
        fputs("<td>", out);
    if (html)
        ts_svg_text(out, escaped);
    else
        fprintf(out, "\t%s", escaped);
}

void ts_batch_beside(const struct batch *batch, const struct batch_study *study, bool whole,
                     const char *suffix, char *path, size_t size)
{
    snprintf(path, size, "%s%sbatch-files/%.*s.%s", whole ? batch->folder : "", whole ? "/" : "",
             (int)(strrchr(study->name, '.') - study->name), study->name, suffix);
}

/* Writes a path as a reference of a page. */
static void write_reference(FILE *out, const char *path)
{
    for (const char *at = path; *at; at++)
        fprintf(out,
                (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
                        (*at >= '0' && *at <= '9') || strchr("-_./", *at)
                    ? "%c"
                    : "%%%02X",
                (unsigned char)*at);
}

/* Writes the cell with the picture of a study, which leads to its report. */
static void write_picture(FILE *out, const struct batch *batch, const struct batch_study *study)
{
    char path[4096];
    fputs("<td>", out);
    ts_batch_beside(batch, study, true, "html", path, sizeof path);
    const bool report = access(path, F_OK) == 0;
    ts_batch_beside(batch, study, true, "png", path, sizeof path);
    const bool picture = access(path, F_OK) == 0;
    if (report) {
        ts_batch_beside(batch, study, false, "html", path, sizeof path);
        fputs("<a href=\"", out);
        write_reference(out, path);
        fputs("\">", out);
    }
    if (picture) {
        ts_batch_beside(batch, study, false, "png", path, sizeof path);
        fputs("<img alt=\"report\" height=\"96\" src=\"", out);
        write_reference(out, path);
        fputs("\">", out);
    } else if (report) {
        fputs("report", out);
    }
    fputs(report ? "</a>" : "", out);
}

static void row(FILE *out, bool html, const struct batch *batch, const struct batch_study *study)
{
    char seconds[32], warnings[16];
    const char *state = ts_batch_state_name(study->state);
    snprintf(seconds, sizeof seconds, "%.2f", study->seconds);
    snprintf(warnings, sizeof warnings, "%d", study->warnings);
    if (html)
        fprintf(out, "<tr class=\"%s\"><td>%s", study->state == STUDY_PLANNED ? "open" : state,
                state);
    else
        fputs(state, out);
    cell(out, html, study->name);
    cell(out, html, study->seconds > 0 ? seconds : "");
    cell(out, html, study->state == STUDY_DONE || study->warnings > 0 ? warnings : "");
    cell(out, html, study->digest);
    cell(out, html, study->input);
    cell(out, html, study->message);
    if (html)
        write_picture(out, batch, study);
    fputc('\n', out);
}

static void write_rows(FILE *out, bool html, const struct batch *batch)
{
    for (size_t i = 0; i < batch->studies.n; i++)
        row(out, html, batch, &batch->studies.items[i]);
}

static void write_page(FILE *out, const struct batch *batch)
{
    fputs(
        "<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>tomostage "
        "batch</title>\n"
        "<meta name=\"viewport\" content=\"width=device-width\">\n"
        "<style>body{font:14px sans-serif;margin:2em}table{border-collapse:collapse}"
        "td,th{border:1px solid #ccc;padding:3px 8px;text-align:left;vertical-align:top}"
        "td:nth-child(5){font-family:monospace;max-width:10em;overflow:hidden;"
        "text-overflow:ellipsis}"
        "img{display:block;height:96px;max-width:20em;object-fit:contain;object-position:left}"
        ".done,.found{background:#eaf6ea}.failed,.refused{background:#fde8e8}"
        ".stopped,.open{background:#fff6dc}"
        /* on a phone a study is a card, without its digest */
        "@media(max-width:700px){body{margin:1em}table,tbody,tr{display:block}tr:first-child,td:"
        "empty,"
        "td:nth-child(5){display:none}tr{border:1px solid #ccc;margin-bottom:.5em}"
        "td{display:inline-block;border:0;overflow-wrap:anywhere}td:nth-child(2){font-weight:bold}"
        "td:nth-child(3)::after{content:\" s\"}td:nth-child(4)::before{content:\"warnings: \"}"
        "td:nth-child(6),td:nth-child(7),td:nth-child(8){display:block}"
        "td:empty{display:none}}</style>\n<h1>tomostage "
        "batch</h1>\n<p>",
        out);
    fprintf(out, "%zu studies", batch->studies.n);
    for (int state = STUDY_PLANNED; state <= STUDY_STOPPED; state++)
        if (ts_batch_count(batch, state) > 0)
            fprintf(out, ", %zu %s", ts_batch_count(batch, state), ts_batch_state_name(state));
    fputs("</"
          "p>\n<table>\n<tr><th>state<th>output<th>seconds<th>warnings<th>digest<th>input<th>"
          "message<th>picture and report\n",
          out);
    write_rows(out, true, batch);
    fputs("</table>\n</html>\n", out);
}

static enum ts_status write_table(const struct batch *batch, bool html, struct ts_diag *diag)
{
    char path[4096];
    struct whole_file file;
    ts_batch_table_path(batch, html ? "html" : "tsv", path, sizeof path);
    const enum ts_status status = ts_whole_file_open(&file, path, true, diag);
    if (status != TS_OK)
        return status;
    if (html) {
        write_page(file.stream, batch);
    } else {
        fputs("state\toutput\tseconds\twarnings\tdigest\tinput\tmessage\n", file.stream);
        write_rows(file.stream, false, batch);
    }
    return ts_whole_file_close(&file, diag);
}

/* Adds the numbers of a result to the file, which is opened for the first ones (*opened). */
static enum ts_status add_numbers(const struct batch_study *study, const char *path,
                                  struct whole_file *file, enum ts_status *opened,
                                  struct ts_diag *diag)
{
    char name[NAME_MAX + 1];
    struct number_table *tables = NULL;
    struct arena *arena = ts_arena_create();
    if (!arena)
        return ts_diag_no_memory(diag, sizeof *tables);
    enum ts_status status = ts_tables_read(study->output, arena, &tables, diag);
    if (status == TS_OK && tables && !file->stream) {
        status = *opened = ts_whole_file_open(file, path, true, diag);
        if (status == TS_OK)
            fputs(ts_tables_long_head, file->stream);
    }
    if (status == TS_OK && tables) {
        /* A study's name ends with a suffix. */
        snprintf(name, sizeof name, "%.*s", (int)(strrchr(study->name, '.') - study->name),
                 study->name);
        ts_tables_write_long(tables, name, file->stream);
    }
    ts_arena_destroy(arena);
    return status;
}

/* Writes the numbers of all results, a line for each: study, label, measure, value. There is no
   file if there are no numbers. A result whose numbers cannot be read is left out, with its error,
   and the status is that of the first one. */
static enum ts_status write_numbers(const struct batch *batch, struct ts_diag *diag)
{
    char path[4096];
    struct whole_file file = {.commit.fd = -1};
    enum ts_status first = TS_OK, opened = TS_OK;
    ts_batch_table_path(batch, "numbers.tsv", path, sizeof path);
    for (size_t i = 0; i < batch->studies.n && opened == TS_OK; i++) {
        const struct batch_study *study = &batch->studies.items[i];
        enum ts_status status = TS_OK;
        if (study->state == STUDY_DONE || study->state == STUDY_FOUND)
            status = add_numbers(study, path, &file, &opened, diag);
        first = first == TS_OK ? status : first;
    }
    const enum ts_status closed = file.stream ? ts_whole_file_close(&file, diag) : TS_OK;
    return first == TS_OK ? closed : first;
}

enum ts_status ts_batch_write_tables(const struct batch *batch, struct ts_diag *diag)
{
    struct publish_lock lock;
    char path[4096];
    ts_batch_table_path(batch, "tsv", path, sizeof path);
    char *folder = ts_file_folder(path);
    ts_publish_lock(&lock, (const char *const[]){folder}, 1, diag);
    enum ts_status status = write_table(batch, false, diag);
    if (status == TS_OK)
        status = write_table(batch, true, diag);
    if (status == TS_OK)
        status = write_numbers(batch, diag);
    ts_publish_unlock(&lock);
    free(folder);
    return status;
}
