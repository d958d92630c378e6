/* SPDX-License-Identifier: Apache-2.0
 *
 * `tomostage info FILE`: the listing of a file, before it the scan that it holds, as text or as one JSON object. A
 * child lists the file; this process prints, and escapes every text of the child, so a file that has taken the child
 * over can neither control the terminal nor claim to be complete.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/json.h"
#include "core/number.h"
#include "io/hdf5/hdf5_list.h"
#include "io/hdf5/hdf5_session.h"
#include "io/hdf5/hdf5_verify.h"
#include "io/scan/hdf5_guess.h"
#include "io/scan/hdf5_info.h"
#include "io/scan/hdf5_scan.h"
#include "io/scan/result_warnings.h"

static void print_dataset(const struct hdf5_listed *entry, FILE *stream)
{
    char stored[32];
    ts_text_print(stream, "  ", entry->type ? entry->type : "?");
    for (int d = 0; d < entry->rank; d++)
        fprintf(stream, "%s%llu", d ? " x " : "  ", (unsigned long long)entry->n[d]);
    if (entry->units)
        ts_text_print(stream, "  ", entry->units);
    if (entry->quantity)
        ts_text_print(stream, "  ", entry->quantity);
    if (entry->value) {
        ts_text_print(stream, "  = ", entry->value);
        return;
    }
    ts_bytes_format(stored, sizeof stored, (double)entry->stored_bytes);
    ts_text_print(stream, "  ", entry->storage);
    fprintf(stream, ", %s", stored);
}

static void print_process(const struct hdf5_process *process, FILE *stream)
{
    fprintf(stream, "%4lld", process->index);
    ts_text_print(stream, "  ", process->program ? process->program : process->path);
    ts_text_print(stream, " ", process->version ? process->version : "");
    for (const struct hdf5_member *member = process->parameters; member; member = member->next) {
        ts_text_print(stream, "\n        ", member->name);
        ts_text_print(stream, ": ", member->value);
    }
    fputc('\n', stream);
}

static void print_warnings(const struct result_warnings *warnings, FILE *stream)
{
    if (warnings->n > 0)
        fprintf(stream, "\nThe run warned:\n");
    for (size_t i = 0; i < warnings->n; i++) {
        ts_text_print(stream, "  ", warnings->texts[i]);
        fputc('\n', stream);
    }
}

/* This is what is known of a file beside its listing. */
struct findings {
    struct hdf5_scan scan;
    struct hdf5_guess guess; /* of a file that is neither ours nor a scan */
    struct result_warnings warnings;
};

static void print_text(const struct hdf5_listing *listing, const struct findings *findings, const char *path,
                       const char *state, FILE *stream)
{
    static const char *const kinds[] = {"group",
                                        "dataset",
                                        "named type",
                                        "soft link, not followed",
                                        "external link, not followed",
                                        "link of unknown kind, not followed",
                                        "another name of an object above"};
    ts_text_print(stream, "", path);
    fprintf(stream, "\n  %s\n", state);
    if (findings->scan.format != SCAN_NONE)
        ts_hdf5_scan_print(&findings->scan, stream);
    else
        ts_hdf5_guess_print(&findings->guess, path, stream);
    fputc('\n', stream);
    for (const struct hdf5_listed *entry = listing->objects; entry; entry = entry->next) {
        ts_text_print(stream, "", entry->path);
        if (entry->kind == HDF5_DATASET)
            print_dataset(entry, stream);
        else
            fprintf(stream, "  %s", kinds[entry->kind]);
        if (entry->kind != HDF5_DATASET && entry->target)
            ts_text_print(stream, " to ", entry->target);
        fputc('\n', stream);
    }
    if (listing->processes)
        fprintf(stream, "\nHow it was made:\n");
    /* The only process of ours without a place is the scanner's own reconstruction, of which nothing is known. */
    for (const struct hdf5_process *process = listing->processes; process; process = process->next)
        if (process->index > 0 || !listing->ours)
            print_process(process, stream);
    print_warnings(&findings->warnings, stream);
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
    /* Writes a number, or several of them in brackets. Whatever the child sends, the JSON is well formed. */
    const char *at = value + list;
    for (bool more = !list || (*at && *at != ']'); more; more = list && *at && *at != ']') {
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
        ts_json_open_member(json, "shape", '[');
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
    ts_json_open_member(json, "parameters", '{');
    for (const struct hdf5_member *member = process->parameters; member; member = member->next) {
        ts_json_key(json, member->name);
        json_value(json, member->value, member->text);
    }
    ts_json_close(json, '}');
    ts_json_close(json, '}');
}

static void print_json(const struct hdf5_listing *listing, const struct findings *findings, const char *path,
                       const char *state, FILE *stream)
{
    struct json json;
    ts_json_init(&json, stream, false);
    ts_json_open(&json, '{');
    ts_json_member_text(&json, "file", path);
    ts_json_member_text(&json, "state", state);
    if (findings->scan.format != SCAN_NONE) {
        ts_json_key(&json, "scan");
        ts_hdf5_scan_json(&findings->scan, &json);
    } else if (!listing->ours) {
        ts_json_key(&json, "looks_like");
        ts_hdf5_guess_json(&findings->guess, &json);
    }
    ts_json_open_member(&json, "objects", '[');
    for (const struct hdf5_listed *entry = listing->objects; entry; entry = entry->next)
        json_object(&json, entry);
    ts_json_close(&json, ']');
    ts_json_open_member(&json, "processes", '[');
    for (const struct hdf5_process *process = listing->processes; process; process = process->next)
        json_process(&json, process);
    ts_json_close(&json, ']');
    ts_json_open_member(&json, "warnings", '[');
    for (size_t i = 0; i < findings->warnings.n; i++)
        ts_json_text(&json, findings->warnings.texts[i]);
    ts_json_close(&json, ']');
    ts_json_close(&json, '}');
}

/* ---- the file ----------------------------------------------------------------------------------- */

/* Has a child list the file. *answer keeps the texts. */
static enum ts_status list(struct hdf5_session *session, void **answer, struct hdf5_listing *listing, bool *whole,
                           struct ts_diag *diag)
{
    size_t bytes;
    enum ts_status status = ts_hdf5_session_call(session, ts_hdf5_task_list, NULL, 0, answer, &bytes, diag);
    if (status != TS_OK)
        return status;
    status = ts_hdf5_list_take(*answer, bytes, listing, whole);
    if (status == TS_BAD_INPUT)
        (void)ts_hdf5_session_wrong_answer(session, diag);
    else if (status != TS_OK)
        (void)ts_diag_no_memory(diag, sizeof(struct hdf5_listed));
    return status;
}

/* Leaves the values of texts out. Those that this program wrote, and nobody has changed, name nobody. */
static void leave_texts_out(struct hdf5_listing *listing)
{
    for (struct hdf5_listed *entry = listing->objects; entry; entry = entry->next)
        if (entry->value_is_text)
            entry->value = NULL;
    for (struct hdf5_process *process = listing->processes; process; process = process->next)
        for (struct hdf5_member **member = &process->parameters; *member;)
            if ((*member)->text)
                *member = (*member)->next;
            else
                member = &(*member)->next;
}

/* Returns true where the newest error blames the file, and not its reading or this process. */
static bool blames_file(const struct ts_diag *diag)
{
    const size_t n = ts_diag_count(diag);
    return n > 0 && strcmp(ts_diag_get(diag, n - 1)->code, "hdf5-damaged") == 0;
}

/* Returns the text of the first line about the file. */
static const char *name_state(const struct hdf5_listing *listing, bool whole, enum ts_status verified,
                              const struct hdf5_scan *scan, const struct ts_diag *diag)
{
    if (!whole || verified != TS_OK)
        return blames_file(diag) ? "damaged or not complete" : "not checked to its end, for the reason given below";
    if (listing->ours)
        return "complete, all digests right";
    return scan->format == SCAN_NXTOMO     ? "a scan in NXtomo"
           : scan->format == SCAN_EXCHANGE ? "a scan in Data Exchange"
                                           : "not a file of this program, or one that was never finished";
}

/* Describes the scan, also one that this program wrote; of other files than its own it looks for what may be one. */
static enum ts_status look(const struct hdf5_listing *listing, const char *path, struct findings *findings,
                           struct ts_diag *diag)
{
    ts_hdf5_scan_look(listing, &findings->scan);
    if (findings->scan.format != SCAN_NONE)
        return ts_hdf5_scan_open(path, &findings->scan, diag);
    return listing->ours ? TS_OK : ts_hdf5_guess(listing, path, &findings->guess, diag);
}

/* Refuses a file in which nothing can be an input, unless there is more in it than was listed. */
static enum ts_status check_use(const struct hdf5_listing *listing, const struct findings *findings, const char *path,
                                struct ts_diag *diag)
{
    const struct hdf5_guess *guess = &findings->guess;
    const struct diag_site site = {.code = "hdf5-no-input"};
    if (listing->ours || findings->scan.format != SCAN_NONE || (guess->data && !*guess->refused))
        return TS_OK;
    if (guess->data)
        return ts_diag_error(diag, TS_BAD_INPUT, &site, "%s", guess->refused);
    if (listing->cut)
        return TS_OK;
    return ts_diag_error(diag, TS_BAD_INPUT, &site, "%s holds no dataset of numbers with three axes", path);
}

static enum ts_status describe(struct hdf5_session *session, int fd, const char *path, bool json, bool names,
                               struct hdf5_listing *listing, void **answer, FILE *stream, struct ts_diag *diag)
{
    struct findings findings = {0};
    bool whole = false;
    enum ts_status verified = TS_OK, status = list(session, answer, listing, &whole, diag);
    if (status != TS_OK)
        return status;
    if (whole && listing->ours) {
        verified = ts_hdf5_verify_open(session, fd, path, NULL, diag);
        if (verified == TS_OK)
            status = ts_result_warnings(path, listing->arena, &findings.warnings, diag);
    }
    if (status == TS_OK && verified == TS_OK)
        status = look(listing, path, &findings, diag);
    const char *state = name_state(listing, whole, verified, &findings.scan, diag);
    if (status != TS_OK)
        return verified != TS_OK ? verified : status;
    if (!names && (!listing->ours || !whole || verified != TS_OK))
        leave_texts_out(listing);
    if (listing->any && json)
        print_json(listing, &findings, path, state, stream);
    else if (listing->any)
        print_text(listing, &findings, path, state, stream);
    if (verified != TS_OK || !whole)
        return verified != TS_OK ? verified : TS_BAD_INPUT;
    return check_use(listing, &findings, path, diag);
}

enum ts_status ts_hdf5_info(const char *path, bool json, bool names, FILE *stream, struct ts_diag *diag)
{
    struct hdf5_listing listing = {.arena = ts_arena_create()};
    struct hdf5_session *session;
    void *answer = NULL;
    int fd;
    if (!listing.arena)
        return ts_diag_no_memory(diag, sizeof listing);
    enum ts_status status = ts_hdf5_session_open(&(struct hdf5_session_options){.path = path}, &session, &fd, diag);
    if (status == TS_OK) {
        status = describe(session, fd, path, json, names, &listing, &answer, stream, diag);
        close(fd);
    }
    ts_hdf5_session_end(session);
    free(answer);
    ts_arena_destroy(listing.arena);
    return status;
}

const char *ts_hdf5_format(const char *path)
{
    static const char *const scans[] = {[SCAN_NXTOMO] = "nexus", [SCAN_EXCHANGE] = "exchange"};
    struct ts_diag *diag = ts_diag_create();
    struct hdf5_listing listing = {.arena = ts_arena_create()};
    struct hdf5_session *session = NULL;
    struct hdf5_scan scan = {0};
    void *answer = NULL;
    bool whole = false;
    if (diag && listing.arena &&
        ts_hdf5_session_open(&(struct hdf5_session_options){.path = path}, &session, NULL, diag) == TS_OK &&
        list(session, &answer, &listing, &whole, diag) == TS_OK)
        ts_hdf5_scan_look(&listing, &scan);
    const char *format = scan.format != SCAN_NONE ? scans[scan.format] : whole && !listing.ours ? "hdf5" : "result";
    ts_hdf5_session_end(session);
    free(answer);
    ts_arena_destroy(listing.arena);
    ts_diag_destroy(diag);
    return format;
}
