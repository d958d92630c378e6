/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the file of a profile: a list of events, which are objects of numbers, texts and one object
 * `args`. The reader of chains, which reads JSON too, stops at 10,000 values, but a run may have
 * more stretches; so this reader knows only the form that ts_profile_write writes, and refuses
 * every other. Source: "Trace Event Format", Google, 2016.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/file/file_bytes.h"
#include "io/file/regular_file.h"
#include "pipeline/run/profile.h"

enum { PROFILE_BYTES = 64 << 20, KEY_BYTES = 16, TEXT_BYTES = 256 };

/* An event while its members are read; NAN: not given. */
struct event {
    char name[TEXT_BYTES], kind[TEXT_BYTES], stage[TEXT_BYTES], digest[DIGEST_TEXT_BYTES];
    double begin_us, length_us, bytes;
    struct profile_memory memory;
};

struct reader {
    const char *at; /* position in a text that ends with a zero */
    struct arena *arena;
    struct trace *trace;
    struct profile_memory *memory;
    char *digest;
    const char *last_stage; /* names of stages repeat, so most are equal to the last one */
};

static bool profile_read_take(struct reader *reader, char wanted)
{
    reader->at += strspn(reader->at, " \t\r\n");
    if (*reader->at != wanted)
        return false;
    reader->at++;
    return true;
}

/* Takes a text without escapes, such as labels of stages and names of parts. */
static bool take_text(struct reader *reader, char *out, size_t size)
{
    if (!profile_read_take(reader, '"'))
        return false;
    const size_t length = strcspn(reader->at, "\"\\\n");
    if (reader->at[length] != '"' || length >= size)
        return false;
    memcpy(out, reader->at, length);
    out[length] = '\0';
    reader->at += length + 1;
    return true;
}

static bool take_number(struct reader *reader, double *value)
{
    char *end;
    reader->at += strspn(reader->at, " \t\r\n");
    if (!strchr("-0123456789", *reader->at) || !*reader->at)
        return false;
    *value = strtod(reader->at, &end);
    reader->at = end;
    return isfinite(*value) && fabs(*value) < 1e18;
}

static bool take_object(struct reader *reader, struct event *event, bool inner);

static bool take_member(struct reader *reader, struct event *event, bool inner)
{
    const struct {
        const char *key;
        int64_t *integer;
    } counters[] = {{"planned", &event->memory.planned},
                    {"budget", &event->memory.budget},
                    {"gpu_planned", &event->memory.gpu_planned},
                    {"gpu_budget", &event->memory.gpu_budget},
                    {"peak", &event->memory.peak}};
    char key[KEY_BYTES];
    double value = 0;
    if (!take_text(reader, key, sizeof key) || !profile_read_take(reader, ':'))
        return false;
    if (!inner && !strcmp(key, "args"))
        return take_object(reader, event, true);
    if (inner && !strcmp(key, "digest"))
        return take_text(reader, event->digest, sizeof event->digest);
    char *text = NULL;
    if (inner && !strcmp(key, "stage"))
        text = event->stage;
    else if (!inner && !strcmp(key, "name"))
        text = event->name;
    else if (!inner && !strcmp(key, "ph"))
        text = event->kind;
    if (text)
        return take_text(reader, text, TEXT_BYTES);
    if (!take_number(reader, &value))
        return false;
    if (!inner && !strcmp(key, "ts"))
        event->begin_us = value;
    if (!inner && !strcmp(key, "dur"))
        event->length_us = value;
    if (inner && !strcmp(key, "bytes"))
        event->bytes = value;
    for (size_t i = 0; inner && i < sizeof counters / sizeof *counters; i++)
        if (!strcmp(key, counters[i].key))
            *counters[i].integer = (int64_t)value;
    return value >= 0;
}

static bool take_object(struct reader *reader, struct event *event, bool inner)
{
    if (!profile_read_take(reader, '{'))
        return false;
    do
        if (!take_member(reader, event, inner))
            return false;
    while (profile_read_take(reader, ','));
    return profile_read_take(reader, '}');
}

/* Adds the event to the trace. Returns false for an event that no profile contains. */
static bool add_event(struct reader *reader, const struct event *event)
{
    if (!strcmp(event->kind, "C")) {
        *reader->memory = event->memory;
        return true;
    }
    if (!strcmp(event->kind, "M")) {
        memcpy(reader->digest, event->digest, sizeof event->digest);
        return true;
    }
    if (*event->stage && (!reader->last_stage || strcmp(event->stage, reader->last_stage) != 0))
        reader->last_stage = ts_arena_text(reader->arena, event->stage, strlen(event->stage));
    for (int part = 0; part < TRACE_PARTS && !strcmp(event->kind, "X"); part++)
        if (!strcmp(event->name, ts_profile_parts[part])) {
            const struct trace_stretch stretch = {
                .begin = 1e-6 * event->begin_us,
                .end = 1e-6 * (event->begin_us + event->length_us),
                .bytes = (uint64_t)event->bytes,
                .part = (enum trace_part)part,
                .stage = *event->stage ? reader->last_stage : NULL};
            ts_trace_put(reader->trace, stretch);
            return true;
        }
    return false;
}

static bool take_events(struct reader *reader)
{
    if (!profile_read_take(reader, '['))
        return false;
    do {
        struct event event = {0};
        if (!take_object(reader, &event, false) || !add_event(reader, &event))
            return false;
    } while (profile_read_take(reader, ','));
    return profile_read_take(reader, ']') && reader->at[strspn(reader->at, " \t\r\n")] == '\0';
}

static enum ts_status profile_read_refuse(const char *path, const char *why, struct ts_diag *diag)
{
    ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "profile-unreadable"}, "%s %s",
                  path, why);
    return ts_diag_hint(diag, "`tomostage run CHAIN --profile NAME` writes NAME.json");
}

/* Returns the whole file as a text; NULL if it cannot be read (reported). */
static char *read_file(const char *path, struct ts_diag *diag)
{
    struct stat found;
    char reason[256];
    const int fd = ts_regular_file_open(path, &found, reason, sizeof reason);
    if (fd < 0)
        return profile_read_refuse(path, reason, diag), NULL;
    const size_t bytes = found.st_size <= PROFILE_BYTES ? (size_t)found.st_size : 0;
    char *text = malloc(bytes + 1);
    const bool read =
        text && bytes > 0 && ts_file_read_at(fd, text, bytes, 0) && !memchr(text, '\0', bytes);
    close(fd);
    if (text)
        text[bytes] = '\0';
    if (!text)
        (void)ts_diag_no_memory(diag, bytes);
    else if (!read)
        (void)profile_read_refuse(path, "is no profile of a run", diag);
    if (read)
        return text;
    free(text);
    return NULL;
}

enum ts_status ts_profile_read(const char *path, struct arena *arena, struct trace **trace,
                               struct profile_memory *memory, char digest[DIGEST_TEXT_BYTES],
                               struct ts_diag *diag)
{
    char *text = read_file(path, diag);
    *trace = NULL;
    *memory = (struct profile_memory){0};
    *digest = '\0';
    if (!text)
        return ts_diag_status(diag);
    struct reader reader = {
        .at = text, .arena = arena, .trace = ts_trace_create(), .memory = memory, .digest = digest};
    enum ts_status status = TS_OK;
    if (!reader.trace)
        status = ts_diag_no_memory(diag, sizeof reader);
    else if (!take_events(&reader))
        status = profile_read_refuse(path, "is no profile of a run", diag);
    free(text);
    if (status == TS_OK)
        *trace = reader.trace;
    else
        ts_trace_destroy(reader.trace);
    return status;
}
