/* SPDX-License-Identifier: Apache-2.0
 *
 * This writes diagnostics for programs: one JSON object on a line of its own for each record.
 */
#include "core/diag.h"
#include "core/json.h"

static void print_record(const struct ts_diag_record *record, FILE *stream)
{
    static const char *const severities[] = {"note", "warning", "error"};
    struct json json;
    ts_json_init(&json, stream, false);
    ts_json_open(&json, '{');
    ts_json_member_text(&json, "event", "diagnostic");
    ts_json_member_text(&json, "severity", severities[record->severity]);
    if (record->code)
        ts_json_member_text(&json, "code", record->code);
    if (record->source && record->span.line > 0) {
        ts_json_member_text(&json, "source", record->source);
        ts_json_member_integer(&json, "line", record->span.line);
        ts_json_member_integer(&json, "column", record->span.column);
        ts_json_member_integer(&json, "length", record->span.length);
    }
    if (record->stage)
        ts_json_member_text(&json, "stage", record->stage);
    ts_json_member_text(&json, "message", record->message);
    if (record->hint)
        ts_json_member_text(&json, "hint", record->hint);
    if (record->severity == TS_ERROR)
        ts_json_member_integer(&json, "exit_code", record->status);
    ts_json_close(&json, '}');
}

void ts_diag_print_json(const struct ts_diag *diag, FILE *stream)
{
    size_t shown = 0;
    enum ts_status first = TS_OK;
    for (size_t i = 0; i < ts_diag_count(diag); i++) {
        const struct ts_diag_record *record = ts_diag_get(diag, i);
        print_record(record, stream);
        shown += record->severity == TS_ERROR;
        first = first == TS_OK ? record->status : first;
    }
    if (ts_diag_error_count(diag) > shown) {
        char message[64];
        snprintf(message, sizeof message, "%zu more errors are not shown",
                 ts_diag_error_count(diag) - shown);
        print_record(
            &(struct ts_diag_record){
                .severity = TS_ERROR, .status = first, .code = "more-errors", .message = message},
            stream);
    }
}
