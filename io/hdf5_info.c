/* SPDX-License-Identifier: Apache-2.0
 *
 * `tomostage info FILE`: the listing of a file, before it the scan that it holds, as text or as one JSON object.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/hdf5_describe.h"
#include "io/hdf5_list.h"
#include "io/hdf5_read.h"
#include "io/hdf5_scan.h"
#include "io/hdf5_session.h"
#include "pipeline/json.h"

static void print_escaped(FILE *stream, const char *text)
{
    char out[4 * HDF5_VALUE_BYTES];
    ts_text_escape(out, sizeof out, text);
    fputs(out, stream);
}

static void print_dataset(const struct hdf5_listed *entry, FILE *stream)
{
    char stored[32];
    fprintf(stream, "  %s", entry->type ? entry->type : "?");
    for (int d = 0; d < entry->rank; d++)
        fprintf(stream, "%s%llu", d ? " x " : "  ", (unsigned long long)entry->n[d]);
    if (entry->units) {
        fputs("  ", stream);
        print_escaped(stream, entry->units);
    }
    if (entry->quantity) {
        fputs("  ", stream);
        print_escaped(stream, entry->quantity);
    }
    if (entry->value) {
        fputs("  = ", stream);
        print_escaped(stream, entry->value);
        return;
    }
    ts_bytes_format(stored, sizeof stored, (double)entry->stored_bytes);
    fputs("  ", stream);
    print_escaped(stream, entry->storage);
    fprintf(stream, ", %s", stored);
}

static void print_text(const struct hdf5_listing *listing, const struct hdf5_scan *scan, const char *state,
                       FILE *stream)
{
    static const char *const kinds[] = {"group",
                                        "dataset",
                                        "named type",
                                        "soft link, not followed",
                                        "external link, not followed",
                                        "link of unknown kind, not followed",
                                        "another name of an object above"};
    fprintf(stream, "  %s\n", state);
    if (scan->format != SCAN_NONE)
        ts_hdf5_scan_print(scan, stream);
    fputc('\n', stream);
    for (const struct hdf5_listed *entry = listing->objects; entry; entry = entry->next) {
        print_escaped(stream, entry->path);
        if (entry->kind == HDF5_DATASET) {
            print_dataset(entry, stream);
        } else {
            fprintf(stream, "  %s", kinds[entry->kind]);
            if (entry->target) {
                fputs(" to ", stream);
                print_escaped(stream, entry->target);
            }
        }
        fputc('\n', stream);
    }
    if (listing->processes)
        fprintf(stream, "\nHow it was made:\n");
    for (const struct hdf5_process *process = listing->processes; process; process = process->next) {
        fprintf(stream, "%4lld  ", process->index);
        print_escaped(stream, process->program ? process->program : process->path);
        fputc(' ', stream);
        print_escaped(stream, process->version ? process->version : "");
        for (const struct hdf5_member *member = process->parameters; member; member = member->next) {
            fputs("\n        ", stream);
            print_escaped(stream, member->name);
            fputs(": ", stream);
            print_escaped(stream, member->value);
        }
        fputc('\n', stream);
    }
}

/* Numbers as ts_hdf5_value_text writes them: one, or a list in brackets. Lists of texts stay one text. */
static void json_value(struct json *json, const char *value, bool text)
{
    const bool list = *value == '[';
    if (text) {
        ts_json_text(json, value);
        return;
    }
    if (list)
        ts_json_open(json, '[');
    for (const char *at = value + list; *at && *at != ']';) {
        char *end;
        const size_t length = strcspn(at, ",]");
        if (*at == 'n') /* null */
            ts_json_real(json, NAN);
        else if (memchr(at, '.', length) || memchr(at, 'e', length))
            ts_json_real(json, strtod(at, &end));
        else
            ts_json_integer(json, strtoll(at, &end, 10));
        at += length;
        at += strspn(at, ", ");
    }
    if (list)
        ts_json_close(json, ']');
}

static void json_known(struct json *json, const char *key, const char *text)
{
    if (text)
        ts_json_member_text(json, key, text);
}

static void json_object(struct json *json, const struct hdf5_listed *entry)
{
    static const char *const kinds[] = {"group", "dataset", "type", "soft-link", "external-link", "other-link", "link"};
    ts_json_open(json, '{');
    ts_json_member_text(json, "kind", kinds[entry->kind]);
    ts_json_member_text(json, "path", entry->path);
    json_known(json, "target", entry->target);
    json_known(json, "dtype", entry->type);
    if (entry->kind == HDF5_DATASET) {
        ts_json_key(json, "shape");
        ts_json_open(json, '[');
        for (int d = 0; d < entry->rank; d++)
            ts_json_integer(json, (int64_t)entry->n[d]);
        ts_json_close(json, ']');
        ts_json_member_integer(json, "stored_bytes", (int64_t)entry->stored_bytes);
    }
    json_known(json, "units", entry->units);
    json_known(json, "quantity", entry->quantity);
    json_known(json, "storage", entry->storage);
    json_known(json, "sha256", entry->sha256);
    json_known(json, "sha256_tree", entry->sha256_tree);
    if (entry->value) {
        ts_json_key(json, "value");
        json_value(json, entry->value, entry->value_is_text);
    }
    ts_json_close(json, '}');
}

static void json_process(struct json *json, const struct hdf5_process *process)
{
    ts_json_open(json, '{');
    ts_json_member_integer(json, "sequence_index", process->index);
    ts_json_member_text(json, "path", process->path);
    json_known(json, "program", process->program);
    json_known(json, "version", process->version);
    ts_json_key(json, "parameters");
    ts_json_open(json, '{');
    for (const struct hdf5_member *member = process->parameters; member; member = member->next) {
        ts_json_key(json, member->name);
        json_value(json, member->value, member->text);
    }
    ts_json_close(json, '}');
    ts_json_close(json, '}');
}

static void print_json(const struct hdf5_listing *listing, const struct hdf5_scan *scan, const char *path,
                       const char *state, FILE *stream)
{
    struct json json;
    ts_json_init(&json, stream, false);
    ts_json_open(&json, '{');
    ts_json_member_text(&json, "file", path);
    ts_json_member_text(&json, "state", state);
    if (scan->format != SCAN_NONE) {
        ts_json_key(&json, "scan");
        ts_hdf5_scan_json(scan, &json);
    }
    ts_json_key(&json, "objects");
    ts_json_open(&json, '[');
    for (const struct hdf5_listed *entry = listing->objects; entry; entry = entry->next)
        json_object(&json, entry);
    ts_json_close(&json, ']');
    ts_json_key(&json, "processes");
    ts_json_open(&json, '[');
    for (const struct hdf5_process *process = listing->processes; process; process = process->next)
        json_process(&json, process);
    ts_json_close(&json, ']');
    ts_json_close(&json, '}');
}

/* ---- the child ---------------------------------------------------------------------------------- */

struct look_answer {
    int32_t ours; /* it is a file of this program */
    struct hdf5_scan scan;
};

static enum ts_status look(struct hdf5_child *child, const void *request, size_t bytes, FILE *out, struct ts_diag *diag)
{
    struct hdf5_listing listing = {.arena = ts_arena_create()};
    struct look_answer answer = {0};
    (void)request;
    (void)bytes;
    if (!listing.arena)
        return ts_diag_no_memory(diag, sizeof listing);
    /* Faults of the listing are reported when it is printed. */
    answer.ours = ts_hdf5_list(child, &listing, diag) == TS_OK && listing.ours;
    ts_hdf5_scan_look(&listing, &answer.scan);
    ts_arena_destroy(listing.arena);
    fwrite(&answer, sizeof answer, 1, out);
    return TS_OK;
}

struct print_request {
    char state[128];
    int32_t json;
    struct hdf5_scan scan;
};

/* The answer's first byte says whether all could be listed; the text follows. */
static enum ts_status print(struct hdf5_child *child, const void *data, size_t bytes, FILE *out, struct ts_diag *diag)
{
    const struct print_request *request = data;
    struct hdf5_listing listing = {.arena = ts_arena_create()};
    (void)bytes;
    if (!listing.arena)
        return ts_diag_no_memory(diag, sizeof listing);
    const enum ts_status status = ts_hdf5_list(child, &listing, diag);
    const char *state = status == TS_OK ? request->state : "damaged or not complete";
    fputc(status == TS_OK ? 'y' : 'n', out);
    if (listing.objects || listing.n_groups > 0) {
        if (request->json) {
            print_json(&listing, &request->scan, child->path, state, out);
        } else {
            print_escaped(out, child->path);
            fputc('\n', out);
            print_text(&listing, &request->scan, state, out);
        }
    }
    ts_arena_destroy(listing.arena);
    return TS_OK;
}

/* ---- the parent --------------------------------------------------------------------------------- */

/* Has the child look. The records of a listing that failed are not kept. */
static enum ts_status ask_look(struct hdf5_session *session, struct look_answer *answer, struct ts_diag *diag)
{
    struct ts_diag *found = ts_diag_create();
    if (!found)
        return ts_diag_no_memory(diag, sizeof *answer);
    enum ts_status status = ts_hdf5_session_ask(session, look, NULL, 0, answer, sizeof *answer, found);
    for (size_t i = 0; status != TS_OK && i < ts_diag_count(found); i++) {
        const struct ts_diag_record *record = ts_diag_get(found, i);
        status = ts_diag_error(diag, record->status, &(struct diag_site){.code = record->code}, "%s", record->message);
    }
    ts_diag_destroy(found);
    answer->scan.refused[0] = '\0';
    answer->scan.angle_unit[sizeof answer->scan.angle_unit - 1] = '\0';
    answer->scan.rotation_column[0] = '\0';
    return status;
}

/* Text from the child; it has escaped what could harm a terminal, and is not believed. */
static void put_text(const char *text, size_t bytes, FILE *stream)
{
    for (size_t i = 0; i < bytes; i++)
        fputc((unsigned char)text[i] < ' ' && text[i] != '\n' ? '?' : text[i], stream);
}

static enum ts_status ask_print(struct hdf5_session *session, const struct print_request *request, FILE *stream,
                                struct ts_diag *diag)
{
    void *answer;
    size_t bytes;
    const enum ts_status status = ts_hdf5_session_call(session, print, request, sizeof *request, &answer, &bytes, diag);
    if (status != TS_OK)
        return status;
    const char *text = answer;
    const bool whole = bytes > 0 && *text == 'y';
    if (bytes > 1)
        put_text(text + 1, bytes - 1, stream);
    free(answer);
    return whole ? TS_OK : TS_BAD_INPUT;
}

enum ts_status ts_hdf5_info(const char *path, bool json, FILE *stream, struct ts_diag *diag)
{
    struct hdf5_session *session;
    struct look_answer answer = {0};
    struct print_request request = {.json = json};
    enum ts_status verified = TS_OK;
    enum ts_status status = ts_hdf5_session_open(&(struct hdf5_session_options){.path = path}, &session, diag);
    if (status == TS_OK)
        status = ask_look(session, &answer, diag);
    if (status == TS_OK && answer.ours)
        verified = ts_hdf5_verify(path, diag);
    else if (status == TS_OK)
        status = ts_hdf5_scan_open(path, &answer.scan, diag);
    if (status == TS_OK) {
        const bool scan = !answer.ours && answer.scan.format != SCAN_NONE;
        snprintf(request.state, sizeof request.state, "%s%s",
                 scan                ? "a scan in "
                 : !answer.ours      ? "not a file of this program, or one that was never finished"
                 : verified == TS_OK ? "complete, all digests right"
                                     : "damaged or not complete",
                 scan ? ts_hdf5_scan_name(&answer.scan) : "");
        if (scan)
            request.scan = answer.scan;
        status = ask_print(session, &request, stream, diag);
    }
    ts_hdf5_session_end(session);
    return verified != TS_OK ? verified : status;
}
