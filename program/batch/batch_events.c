/* SPDX-License-Identifier: Apache-2.0
 *
 * This prints what happens in a batch as JSON, one event a line. A study is printed when it starts, and again when it
 * has ended.
 */
#include <string.h>

#include "core/json.h"
#include "program/batch/batch.h"

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

void ts_batch_print_finished(const struct batch *batch, const char *table)
{
    struct json json;
    open_event(&json, "finished");
    if (table)
        ts_json_member_text(&json, "table", table);
    ts_json_member_integer(&json, "studies", (int64_t)batch->studies.n);
    for (int state = STUDY_PLANNED; state <= STUDY_STOPPED; state++)
        if (state != STUDY_RUNNING)
            ts_json_member_integer(&json, ts_batch_state_name(state), (int64_t)ts_batch_count(batch, state));
    close_event(&json);
}
