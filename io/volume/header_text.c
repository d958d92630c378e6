/* SPDX-License-Identifier: Apache-2.0
 *
 * A header has at most HEADER_BYTES, and no line of it is longer. Numbers are those of the C locale
 * and finite.
 */
#include "io/volume/header_text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/number.h"
#include "core/path.h"
#include "io/file/file_bytes.h"

enum { HEADER_BYTES = 64 << 10 };

/* ---- lines ----------------------------------------------------------------------------------- */

enum ts_status ts_header_read(struct volume_layout *layout, struct header_text *header,
                              struct ts_diag *diag)
{
    const size_t n =
        layout->found.st_size < HEADER_BYTES ? (size_t)layout->found.st_size : HEADER_BYTES;
    *header = (struct header_text){.text = ts_arena_alloc(layout->arena, n + 1), .n = n};
    if (!header->text)
        return ts_diag_no_memory(diag, n);
    header->text[n] = '\0';
    return ts_file_read_at(layout->fd, header->text, n, 0)
               ? TS_OK
               : ts_volume_refuse(layout, "input-unreadable", diag, "cannot be read");
}

char *ts_header_line(struct header_text *header)
{
    char *line = header->text + header->length;
    const size_t rest = header->n - header->length;
    char *end = memchr(line, '\n', rest);
    if (rest == 0 || (!end && header->n == HEADER_BYTES))
        return NULL;
    const size_t length = end ? (size_t)(end - line) : rest;
    header->length += length + (end != NULL);
    line[length] = '\0';
    if (length > 0 && line[length - 1] == '\r')
        line[length - 1] = '\0';
    return line;
}

void ts_header_trim(char *text)
{
    for (size_t n = strlen(text); n > 0 && isspace((unsigned char)text[n - 1]); n--)
        text[n - 1] = '\0';
}

enum ts_status ts_header_refuse(const struct volume_layout *layout, const char *code,
                                struct ts_diag *diag, const char *what, const char *value)
{
    char shown[128];
    ts_text_escape(shown, sizeof shown, value);
    return ts_volume_refuse(layout, code, diag, "%s: '%s'", what, shown);
}

/* ---- numbers --------------------------------------------------------------------------------- */

bool ts_header_number(const char **at, double *value)
{
    char text[64];
    const char *start = *at + strspn(*at, " \t");
    const size_t n = strcspn(start, " \t,()");
    if (n == 0 || n >= sizeof text)
        return false;
    memcpy(text, start, n);
    text[n] = '\0';
    *at = start + n;
    return ts_number_real(text, value) == NULL && isfinite(*value);
}

bool ts_header_take_skip(struct header_text *header, const char *value)
{
    const int64_t most = 1 << 28;
    return ts_number_integer(value, &header->skip) == NULL && header->skip >= -1 &&
           header->skip <= most;
}

bool ts_header_numbers(const char *text, int n, bool unknown, double *values)
{
    for (int i = 0; i < n; i++) {
        text += strspn(text, " \t");
        if (unknown && !strncasecmp(text, "nan", 3) && strchr(" \t", text[3])) {
            values[i] = 0;
            text += 3;
        } else if (!ts_header_number(&text, &values[i])) {
            return false;
        }
    }
    return text[strspn(text, " \t")] == '\0';
}

bool ts_header_sizes(struct volume_layout *layout, const char *text, int rank)
{
    const char *at = text + strspn(text, " \t");
    int n = 0;
    bool right = rank > 0;
    for (; *at && right; n++) {
        char number[24] = "";
        const size_t length = strcspn(at, " \t");
        int64_t size = 0;
        right = n < rank && length < sizeof number;
        if (right)
            memcpy(number, at, length);
        right = right && ts_number_integer(number, &size) == NULL;
        if (right)
            layout->n[n] = size >= 1 && size <= INT32_MAX ? size : 0;
        at += length + strspn(at + length, " \t");
    }
    return right && n == rank;
}

/* ---- the values ------------------------------------------------------------------------------ */

bool ts_header_may_name(const char *file)
{
    return *file && *file != '/' && !strstr(file, "..") && !strchr(file, '%') &&
           strncmp(file, "LIST", 4) != 0;
}

enum ts_status ts_header_find_values(struct volume_layout *layout, const struct header_text *header,
                                     const struct param_set *set, struct ts_diag *diag)
{
    uint64_t start = header->length;
    if (header->file) {
        const size_t folder = (size_t)(ts_base_name(layout->path) - layout->path);
        const char *path =
            ts_arena_printf(layout->arena, "%.*s%s", (int)folder, layout->path, header->file);
        if (!path)
            return ts_diag_no_memory(diag, folder);
        const enum ts_status status = ts_volume_open_values(layout, set, path, diag);
        if (status != TS_OK)
            return status;
        start = 0;
    }
    uint64_t bytes = ts_dtype_bytes(layout->stored);
    for (int d = 0; d < 4; d++)
        bytes = layout->n[d] > 0 && bytes <= (uint64_t)INT64_MAX / (uint64_t)layout->n[d]
                    ? bytes * (uint64_t)layout->n[d]
                    : INT64_MAX;
    const uint64_t file = (uint64_t)layout->found.st_size;
    layout->start = start;
    if (header->skip < 0 && bytes <= file && file - bytes >= start)
        layout->start = file - bytes;
    else if (header->skip > 0 && layout->gzip)
        layout->skip = (uint64_t)header->skip;
    else if (header->skip > 0)
        layout->start += (uint64_t)header->skip;
    return TS_OK;
}

/* ---- own facts ------------------------------------------------------------------------------- */

bool ts_header_take_own(struct header_text *header, const char *name, const char *value)
{
    if (!strcmp(name, HEADER_QUANTITY))
        header->quantity = value;
    else if (!strcmp(name, HEADER_UNIT))
        header->unit = value;
    else if (!strcmp(name, HEADER_VOLUMES))
        header->volumes = value;
    else if (!strcmp(name, HEADER_LABELS))
        header->labels = !strcmp(value, "yes");
    else
        return false;
    return true;
}

/* Copies the next word of a text, and moves *at behind it; "-" is the empty word. NULL: memory is
   out. */
static const char *header_word(struct arena *arena, const char **at)
{
    const char *start = *at + strspn(*at, " \t");
    const size_t n = strcspn(start, " \t");
    *at = start + n;
    return n == 1 && *start == '-' ? "" : ts_arena_text(arena, start, n);
}

/* Takes the axis of the volumes, if its positions are first and step, or one for each volume. */
static enum ts_status use_volumes(struct volume_layout *layout, const char *at,
                                  struct ts_diag *diag)
{
    const int64_t n = layout->n[3];
    const char *name = header_word(layout->arena, &at), *unit = header_word(layout->arena, &at);
    double *positions = ts_arena_alloc(layout->arena, (size_t)(n + 2) * sizeof *positions);
    if (!name || !unit || !positions)
        return ts_diag_no_memory(diag, (size_t)n * sizeof *positions);
    int64_t found = 0;
    while (found < n + 2 && ts_header_number(&at, &positions[found]))
        found++;
    const bool rises = found == 2 ? positions[1] > 0 : found == n;
    if (at[strspn(at, " \t")] || !rises)
        return TS_OK;
    layout->first = positions[0];
    layout->step = positions[1];
    if (found == n && n != 2)
        layout->positions = positions;
    layout->weighted = !strcmp(unit, "s/mm2");
    if (layout->weighted && !layout->positions) {
        for (int64_t i = n - 1; i >= 0; i--)
            positions[i] = layout->first + (double)i * layout->step;
        layout->positions = positions;
    }
    if (!layout->weighted && strcmp(unit, "s") != 0) {
        layout->by = name;
        layout->by_unit = unit;
    }
    return TS_OK;
}

enum ts_status ts_header_use_own(struct volume_layout *layout, const struct header_text *header,
                                 bool given, struct ts_diag *diag)
{
    layout->labels |= header->labels;
    if (header->quantity)
        ts_volume_take_quantity(layout, header->quantity, header->unit ? header->unit : "", given);
    return header->volumes && layout->n[3] > 1 ? use_volumes(layout, header->volumes, diag) : TS_OK;
}
