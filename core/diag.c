/* SPDX-License-Identifier: Apache-2.0
 *
 * Records keep their own copies of every text and of the source that they point into, since the
 * chain file and each assignment of --set are different sources of one run. A lock guards the list:
 * several threads report.
 */
#include "core/diag.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "core/utf8.h"

struct source_text {
    struct source_text *older;
    const char *name, *text; /* behind the struct */
    size_t length;
    bool used; /* a record points into it */
};

struct entry {
    struct ts_diag_record record;
    const struct source_text *source; /* NULL if no text was set */
};

struct ts_diag {
    pthread_mutex_t lock; /* needed because the writer's threads report, too */
    struct arena *arena;
    struct source_text *source;       /* the newest; NULL: none was set */
    char *(*spell)(const char *hint); /* NULL: hints stay as they are */
    bool names_members;               /* of ts_options, and functions, in hints */
    struct entry *entries;
    size_t count, capacity, errors, errors_dropped;
    size_t begun; /* number of records at ts_diag_begin() */
    size_t lost;  /* number of warnings and notes that were lost because memory was out */
    enum ts_status status, newest; /* the status of the first error since then, and that of the
                                    * newest record, even if it was not kept */
};

struct ts_diag *ts_diag_create(void)
{
    struct ts_diag *diag = calloc(1, sizeof *diag);
    if (!diag)
        return NULL;
    diag->arena = ts_arena_create();
    /* This is reserved at once, so that reporting an error needs no allocation when memory has run
     * out. */
    diag->capacity = 64;
    diag->entries = calloc(diag->capacity, sizeof *diag->entries);
    if (!diag->arena || !diag->entries) {
        ts_arena_destroy(diag->arena);
        free(diag->entries);
        free(diag);
        return NULL;
    }
    pthread_mutex_init(&diag->lock, NULL);
    return diag;
}

static void forget_sources(struct ts_diag *diag)
{
    while (diag->source) {
        struct source_text *older = diag->source->older;
        free(diag->source);
        diag->source = older;
    }
}

void ts_diag_destroy(struct ts_diag *diag)
{
    if (!diag)
        return;
    pthread_mutex_destroy(&diag->lock);
    forget_sources(diag);
    ts_arena_destroy(diag->arena);
    free(diag->entries);
    free(diag);
}

size_t ts_diag_count(const struct ts_diag *diag)
{
    return diag ? diag->count : 0;
}

const struct ts_diag_record *ts_diag_get(const struct ts_diag *diag, size_t i)
{
    return i < ts_diag_count(diag) ? &diag->entries[i].record : NULL;
}

size_t ts_diag_error_count(const struct ts_diag *diag)
{
    return diag ? diag->errors + diag->errors_dropped : 0;
}

const char *ts_diag_first_error(const struct ts_diag *diag)
{
    for (size_t i = 0; i < diag->count; i++)
        if (diag->entries[i].record.severity == TS_ERROR)
            return diag->entries[i].record.message;
    return NULL;
}

void ts_diag_begin(struct ts_diag *diag)
{
    diag->begun = diag->count;
    diag->status = TS_OK;
}

enum ts_status ts_diag_status(const struct ts_diag *diag)
{
    return diag->status;
}

void ts_diag_clear(struct ts_diag *diag)
{
    if (!diag)
        return;
    /* No other thread reports now. Without memory for a new arena the old one stays. */
    struct arena *fresh = ts_arena_create();
    if (fresh) {
        ts_arena_destroy(diag->arena);
        diag->arena = fresh;
    }
    forget_sources(diag);
    diag->count = diag->errors = diag->errors_dropped = diag->lost = 0;
    ts_diag_begin(diag);
}

void ts_diag_forget(struct ts_diag *diag, size_t from, const char *stage)
{
    size_t kept = from;
    pthread_mutex_lock(&diag->lock);
    for (size_t i = from; i < diag->count; i++) {
        const struct ts_diag_record *record = &diag->entries[i].record;
        const bool error = record->severity == TS_ERROR;
        if (stage && !(error && record->stage && !strcmp(record->stage, stage)))
            diag->entries[kept++] = diag->entries[i];
        else if (error)
            diag->errors--;
    }
    diag->count = kept < diag->count ? kept : diag->count;
    diag->status = TS_OK;
    for (size_t i = diag->begun; i < diag->count && diag->status == TS_OK; i++)
        if (diag->entries[i].record.severity == TS_ERROR)
            diag->status = diag->entries[i].record.status;
    pthread_mutex_unlock(&diag->lock);
}

/* A text that no record points into goes, so that many good chains on one diag take no memory. */
void ts_diag_set_source(struct ts_diag *diag, const char *name, const char *text, size_t length)
{
    const size_t name_bytes = strlen(name) + 1;
    struct source_text *source = malloc(sizeof *source + name_bytes + length + 1);
    pthread_mutex_lock(&diag->lock);
    if (source) {
        char *copy = (char *)(source + 1);
        struct source_text *before = diag->source;
        memcpy(copy, name, name_bytes);
        memcpy(copy + name_bytes, text, length);
        copy[name_bytes + length] = '\0';
        *source = (struct source_text){before, copy, copy + name_bytes, length, false};
        if (before && !before->used) {
            source->older = before->older;
            free(before);
        }
        diag->source = source;
    }
    pthread_mutex_unlock(&diag->lock);
}

/* Returns a copy of the text. If memory is out, the record shows `otherwise` instead. */
static const char *copy_text(struct ts_diag *diag, const char *text, const char *otherwise)
{
    if (!text)
        return NULL;
    const char *copy = ts_arena_text(diag->arena, text, strlen(text));
    return copy ? copy : otherwise;
}

__attribute__((format(printf, 2, 0))) static const char *
format_text(struct ts_diag *diag, const char *format, va_list arguments)
{
    char buffer[4096];
    vsnprintf(buffer, sizeof buffer, format, arguments);
    return copy_text(diag, buffer, "out of memory");
}

/* Returns true if the list has room for one more record. A list that cannot grow keeps its last
 * places for errors, so that every failure has a record. */
static bool has_place(struct ts_diag *diag, enum ts_severity severity)
{
    if (diag->count + (severity == TS_ERROR ? 0 : DIAG_MAX_ERRORS) < diag->capacity)
        return true;
    struct entry *grown = realloc(diag->entries, 2 * diag->capacity * sizeof *grown);
    if (!grown)
        return false;
    diag->entries = grown;
    diag->capacity *= 2;
    return true;
}

/* Adds a record; the caller holds the lock. */
__attribute__((format(printf, 5, 0))) static void
add(struct ts_diag *diag, enum ts_severity severity, enum ts_status status,
    const struct diag_site *site, const char *format, va_list arguments)
{
    diag->newest = status;
    if (severity == TS_ERROR) {
        if (diag->status == TS_OK)
            diag->status = status;
        if (diag->errors >= DIAG_MAX_ERRORS) {
            diag->errors_dropped++;
            return;
        }
        diag->errors++;
    }
    if (!has_place(diag, severity)) {
        diag->lost++;
        return;
    }
    struct entry *entry = &diag->entries[diag->count++];
    *entry = (struct entry){
        .record = {.severity = severity,
                   .status = status,
                   .message = format_text(diag, format, arguments)},
        .source = diag->source,
    };
    entry->record.source = diag->source ? diag->source->name : NULL;
    if (diag->source)
        diag->source->used = true;
    if (site) {
        entry->record.code = copy_text(diag, site->code, "no-memory");
        entry->record.span = site->span;
        entry->record.stage = copy_text(diag, site->stage, NULL);
    }
}

/* This is the body of the three functions below. It passes their arguments on while it holds the
 * lock. */
#define ADD(severity, status)                                                                      \
    do {                                                                                           \
        va_list arguments;                                                                         \
        va_start(arguments, format);                                                               \
        pthread_mutex_lock(&diag->lock);                                                           \
        add(diag, severity, status, site, format, arguments);                                      \
        pthread_mutex_unlock(&diag->lock);                                                         \
        va_end(arguments);                                                                         \
    } while (0)

enum ts_status ts_diag_error(struct ts_diag *diag, enum ts_status status,
                             const struct diag_site *site, const char *format, ...)
{
    ADD(TS_ERROR, status);
    return status;
}

void ts_diag_warning(struct ts_diag *diag, const struct diag_site *site, const char *format, ...)
{
    ADD(TS_WARNING, TS_OK);
}

void ts_diag_note(struct ts_diag *diag, const struct diag_site *site, const char *format, ...)
{
    ADD(TS_NOTE, TS_OK);
}

/* Copies the hint with members of ts_options, and functions, in place of the program's options; a
 * value of bytes such as 47M becomes a number, and that of --device a text. */
static void name_members(char *out, size_t size, const char *hint)
{
    static const struct {
        const char *option, *name;
    } names[] = {
        {"--device", "options.device"},         {"--memory", "options.memory_bytes"},
        {"--threads", "options.threads"},       {"--gpu-memory", "options.gpu_memory_bytes"},
        {"--force", "options.force"},           {"--profile", "options.profile"},
        {"--checkpoint", "options.checkpoint"}, {"--resume", "options.resume"},
        {"--resume-from", "ts_plan_resume()"},  {"--set", "ts_chain_set()"}};
    for (size_t used = 0; used + 1 < size && *hint;) {
        const size_t length = strncmp(hint, "--", 2) == 0 ? 2 + strcspn(hint + 2, " ,;.)`") : 0;
        size_t i = 0;
        long long mebibytes;
        char device[32];
        int end = 0;
        while (i < sizeof names / sizeof *names &&
               (strlen(names[i].option) != length || strncmp(hint, names[i].option, length) != 0))
            i++;
        if (length == 0 || i == sizeof names / sizeof *names) {
            out[used++] = *hint++;
            out[used] = '\0';
            continue;
        }
        hint += length;
        if (sscanf(hint, " %lldM%n", &mebibytes, &end) == 1 && end > 0)
            snprintf(out + used, size - used, "%s = %lld", names[i].name, mebibytes << 20);
        else if (i == 0 && sscanf(hint, " %31[a-z0-9:N]%n", device, &end) == 1 && end > 0)
            snprintf(out + used, size - used, "%s = \"%s\"", names[i].name, device);
        else
            snprintf(out + used, size - used, "%s", names[i].name);
        used += strlen(out + used);
        hint += end;
    }
}

enum ts_status ts_diag_hint(struct ts_diag *diag, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    pthread_mutex_lock(&diag->lock);
    const enum ts_status status = diag->newest;
    /* Once the limit is reached, the newest record is not the one that was dropped. */
    if (diag->count > 0 && diag->errors_dropped == 0) {
        const char *hint = format_text(diag, format, arguments);
        char named[4096] = "";
        if (hint && diag->names_members) {
            name_members(named, sizeof named, hint);
            hint = copy_text(diag, named, hint);
        }
        char *spelled = hint && diag->spell ? diag->spell(hint) : NULL;
        diag->entries[diag->count - 1].record.hint =
            spelled ? copy_text(diag, spelled, hint) : hint;
        free(spelled);
    }
    pthread_mutex_unlock(&diag->lock);
    va_end(arguments);
    return status;
}

void ts_diag_spell_hints(struct ts_diag *diag, char *(*spell)(const char *hint))
{
    diag->spell = spell;
}

void ts_diag_name_options(struct ts_diag *diag, bool members)
{
    diag->names_members = members;
}

/* add() takes a va_list; this function makes one from its arguments. */
__attribute__((format(printf, 5, 6))) static void
add_one(struct ts_diag *diag, enum ts_severity severity, enum ts_status status,
        const struct diag_site *site, const char *format, ...)
{
    ADD(severity, status);
}

void ts_diag_append(struct ts_diag *diag, const struct ts_diag *from)
{
    for (size_t i = 0; i < from->count; i++) {
        const struct ts_diag_record *record = &from->entries[i].record;
        const struct diag_site site = {
            .code = record->code, .span = record->span, .stage = record->stage};
        add_one(diag, record->severity, record->status, &site, "%s", record->message);
        if (record->hint)
            ts_diag_hint(diag, "%s", record->hint);
    }
}

enum ts_status ts_diag_no_memory(struct ts_diag *diag, size_t bytes)
{
    return ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "no-memory"},
                         "out of memory: %zu bytes were needed", bytes);
}

void ts_text_escape(char *out, size_t size, const char *text)
{
    size_t used = 0;
    for (size_t left = strlen(text), bytes; left > 0 && size > 0; text += bytes, left -= bytes) {
        bytes = ts_utf8_bytes(text, left);
        const bool plain = bytes > 0 && !ts_utf8_is_hidden(text, bytes);
        bytes = plain ? bytes : 1;
        const size_t need = plain ? bytes : 4;
        if (used + need + 1 > size)
            break;
        if (plain)
            memcpy(out + used, text, bytes);
        else
            snprintf(out + used, 5, "\\x%02X", (unsigned char)*text);
        used += need;
    }
    if (size > 0)
        out[used] = '\0';
}

void ts_text_print(FILE *stream, const char *before, const char *text)
{
    char out[2048];
    ts_text_escape(out, sizeof out, text);
    fprintf(stream, "%s%s", before, out);
}

/* Returns the line that the span points into, without its line end, or NULL if the text has no such
 * line. */
static const char *source_line(const struct source_text *source, int32_t line, size_t *length)
{
    const char *at = source->text, *end = source->text + source->length;
    for (int32_t i = 1; i < line; i++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        if (!newline)
            return NULL;
        at = newline + 1;
    }
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    *length = (size_t)((newline ? newline : end) - at);
    if (*length > 0 && at[*length - 1] == '\r')
        --*length;
    return at;
}

/* Returns how many bytes fill one place on the screen: those of a character, or 1 for a byte that
 * is not text. */
static size_t place_bytes(const char *at, size_t left, bool *text)
{
    const size_t bytes = ts_utf8_bytes(at, left);
    *text = bytes > 0 && !ts_utf8_is_hidden(at, bytes);
    return *text ? bytes : 1;
}

static void print_line_and_caret(const struct source_text *source, struct ts_span span,
                                 FILE *stream)
{
    enum { SHOWN = 160 };
    size_t length = 0;
    const char *line = source_line(source, span.line, &length);
    const size_t before = span.column > 0 ? (size_t)span.column - 1 : 0;
    if (!line || before > length)
        return;
    size_t first = before > SHOWN / 2 && length > SHOWN ? before - SHOWN / 2 : 0;
    while (first < before && ((unsigned char)line[first] & 0xC0) == 0x80)
        first++;
    const size_t end = length - first < SHOWN ? length : first + SHOWN;
    const int margin = fprintf(stream, "  %d | ", span.line);
    bool text;
    for (size_t i = first, bytes; i < end; i += bytes) {
        bytes = place_bytes(line + i, end - i, &text);
        if (text)
            fwrite(line + i, 1, bytes, stream);
        else
            fputc(line[i] == '\t' ? ' ' : '?', stream);
    }
    fprintf(stream, "\n%*s", margin, "");
    for (size_t i = first; i < before; i += place_bytes(line + i, length - i, &text))
        fputc(' ', stream);
    fputc('^', stream);
    const size_t last = before + (size_t)(span.length > 0 ? span.length : 1);
    for (size_t i = before; i < end; fputc('~', stream)) {
        i += place_bytes(line + i, length - i, &text);
        if (i >= last || i >= end)
            break;
    }
    fputc('\n', stream);
}

void ts_diag_print(const struct ts_diag *diag, FILE *stream)
{
    static const char *const severities[] = {"note", "warning", "error"};
    if (!diag || !stream)
        return;
    for (size_t i = 0; i < diag->count; i++) {
        const struct entry *entry = &diag->entries[i];
        const struct ts_diag_record *record = &entry->record;
        char text[4096], stage[256], code[64];
        if (entry->source && record->span.line > 0) {
            ts_text_escape(text, sizeof text, entry->source->name);
            fprintf(stream, "%s:%d:%d: ", text, record->span.line, record->span.column);
        } else {
            fputs("tomostage: ", stream);
        }
        ts_text_escape(text, sizeof text, record->message);
        ts_text_escape(stage, sizeof stage, record->stage ? record->stage : "");
        ts_text_escape(code, sizeof code, record->code ? record->code : "");
        fprintf(stream, "%s: %s%s%s%s%s%s\n", severities[record->severity], stage,
                record->stage ? ": " : "", text, record->code ? " [" : "", code,
                record->code ? "]" : "");
        if (entry->source && record->span.line > 0)
            print_line_and_caret(entry->source, record->span, stream);
        if (record->hint) {
            ts_text_escape(text, sizeof text, record->hint);
            fprintf(stream, "  hint: %s\n", text);
        }
    }
    if (diag->errors_dropped > 0)
        fprintf(stream, "tomostage: error: %zu more errors are not shown [more-errors]\n",
                diag->errors_dropped);
    if (diag->lost > 0)
        fprintf(stream, "tomostage: warning: %zu more warnings are not shown: out of memory\n",
                diag->lost);
}

bool ts_diag_is_full(const struct ts_diag *diag)
{
    return ts_diag_error_count(diag) >= DIAG_MAX_ERRORS;
}

enum ts_status ts_diag_status_since(const struct ts_diag *diag, size_t count, size_t errors)
{
    if (ts_diag_error_count(diag) == errors)
        return TS_OK;
    for (size_t i = count; i < ts_diag_count(diag); i++)
        if (ts_diag_get(diag, i)->status == TS_RUN_FAILED)
            return TS_RUN_FAILED;
    return TS_BAD_CHAIN;
}
