/* SPDX-License-Identifier: Apache-2.0
 *
 * A table for programs and a page for people tell how a batch went; the page needs no other file. Both are
 * committed like results.
 */
#include <stdlib.h>
#include <string.h>

#include "core/svg.h"
#include "io/file/publish_lock.h"
#include "io/file/whole_file.h"
#include "program/batch/batch.h"

const char *ts_batch_state_name(enum study_state state)
{
    static const char *const names[] = {"not run", "refused", "running", "done", "found", "failed", "stopped"};
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
    return any[TS_BAD_CHAIN]    ? TS_BAD_CHAIN
           : any[TS_RUN_FAILED] ? TS_RUN_FAILED
           : any[TS_BAD_INPUT]  ? TS_BAD_INPUT
           : any[TS_STOPPED]    ? TS_RUN_FAILED
                                : TS_OK;
}

void ts_batch_table_path(const struct batch *batch, const char *suffix, char *path, size_t size)
{
    if (batch->shards > 1)
        snprintf(path, size, "%s/batch-%d-of-%d.%s", batch->folder, batch->shard, batch->shards, suffix);
    else
        snprintf(path, size, "%s/batch.%s", batch->folder, suffix);
}

/* A cell has no tab and no control character. */
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

static void row(FILE *out, bool html, const struct batch_study *study)
{
    char seconds[32], warnings[16];
    const char *state = ts_batch_state_name(study->state);
    snprintf(seconds, sizeof seconds, "%.2f", study->seconds);
    snprintf(warnings, sizeof warnings, "%d", study->warnings);
    if (html)
        fprintf(out, "<tr class=\"%s\"><td>%s", study->state == STUDY_PLANNED ? "open" : state, state);
    else
        fputs(state, out);
    cell(out, html, study->name);
    cell(out, html, study->seconds > 0 ? seconds : "");
    cell(out, html, study->state == STUDY_DONE || study->warnings > 0 ? warnings : "");
    cell(out, html, study->digest);
    cell(out, html, study->input);
    cell(out, html, study->message);
    fputc('\n', out);
}

static void write_rows(FILE *out, bool html, const struct batch *batch)
{
    for (size_t i = 0; i < batch->studies.n; i++)
        row(out, html, &batch->studies.items[i]);
}

static void write_page(FILE *out, const struct batch *batch)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>tomostage batch</title>\n"
          "<meta name=\"viewport\" content=\"width=device-width\">\n"
          "<style>body{font:14px sans-serif;margin:2em}table{border-collapse:collapse}td,th{border:1px solid #ccc;"
          "padding:3px 8px;text-align:left;vertical-align:top}td:nth-child(5){font-family:monospace;max-width:10em;"
          "overflow:hidden;text-overflow:ellipsis}.done,.found{background:#eaf6ea}.failed,.refused{background:#fde8e8}"
          ".stopped,.open{background:#fff6dc}</style>\n<h1>tomostage batch</h1>\n<p>",
          out);
    fprintf(out, "%zu studies", batch->studies.n);
    for (int state = STUDY_PLANNED; state <= STUDY_STOPPED; state++)
        if (ts_batch_count(batch, state) > 0)
            fprintf(out, ", %zu %s", ts_batch_count(batch, state), ts_batch_state_name(state));
    fputs("</p>\n<table>\n<tr><th>state<th>output<th>seconds<th>warnings<th>digest<th>input<th>message\n", out);
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
    ts_publish_unlock(&lock);
    free(folder);
    return status;
}
