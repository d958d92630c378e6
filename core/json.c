/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON is written as a stream of tokens. One bit per depth remembers whether a comma is due, and
 * nothing is allocated.
 */
#include "core/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/params.h"
#include "core/utf8.h"

void ts_json_init(struct json *json, FILE *stream, bool indented)
{
    *json = (struct json){.stream = stream, .indented = indented};
}

static void new_line(struct json *json)
{
    if (json->indented)
        fprintf(json->stream, "\n%*s", 2 * json->depth, "");
}

static void begin_value(struct json *json)
{
    const uint64_t bit = UINT64_C(1) << json->depth;
    if (json->after_key) {
        json->after_key = false;
        return;
    }
    if (json->filled & bit)
        fputs(json->indented ? "," : ", ", json->stream);
    json->filled |= bit;
    if (json->depth > 0)
        new_line(json);
}

void ts_json_open(struct json *json, char bracket)
{
    begin_value(json);
    fputc(bracket, json->stream);
    json->depth++;
    json->filled &= ~(UINT64_C(1) << json->depth);
}

void ts_json_close(struct json *json, char bracket)
{
    const bool filled = json->filled >> json->depth & 1;
    json->depth--;
    if (filled)
        new_line(json);
    fputc(bracket, json->stream);
    if (json->depth == 0)
        fputc('\n', json->stream);
}

/* Writes a character as one unit of UTF-16, or as two if it is past U+FFFF. */
static void write_escaped(FILE *stream, uint32_t number)
{
    if (number > 0xFFFF)
        fprintf(stream, "\\u%04x\\u%04x", 0xD800 + ((number - 0x10000) >> 10),
                0xDC00 + (number & 0x3FF));
    else
        fprintf(stream, "\\u%04x", number);
}

static void write_text(const struct json *json, const char *text)
{
    FILE *stream = json->stream;
    fputc('"', stream);
    for (const unsigned char *at = (const unsigned char *)text; *at;) {
        const size_t length = ts_utf8_bytes((const char *)at, strnlen((const char *)at, 4));
        if (length == 0)
            fputs("\\ufffd", stream);
        else if (*at == '"' || *at == '\\')
            fprintf(stream, "\\%c", *at);
        else if (*at == '\n')
            fputs("\\n", stream);
        else if (ts_utf8_is_hidden((const char *)at, length) || (*at == '<' && json->in_page))
            write_escaped(stream, ts_utf8_number((const char *)at, length));
        else
            fwrite(at, 1, length, stream);
        at += length > 0 ? length : 1;
    }
    fputc('"', stream);
}

void ts_json_key(struct json *json, const char *key)
{
    begin_value(json);
    write_text(json, key);
    fputs(": ", json->stream);
    json->after_key = true;
}

void ts_json_text(struct json *json, const char *text)
{
    begin_value(json);
    if (text)
        write_text(json, text);
    else
        fputs("null", json->stream);
}

void ts_json_integer(struct json *json, int64_t value)
{
    begin_value(json);
    fprintf(json->stream, "%" PRId64, value);
}

void ts_json_real(struct json *json, double value)
{
    char text[48];
    begin_value(json);
    ts_real_format(value, text, sizeof text);
    fputs(isfinite(value) ? text : "null", json->stream);
}

void ts_json_bool(struct json *json, bool value)
{
    begin_value(json);
    fputs(value ? "true" : "false", json->stream);
}

void ts_json_open_member(struct json *json, const char *key, char bracket)
{
    ts_json_key(json, key);
    ts_json_open(json, bracket);
}

void ts_json_member_text(struct json *json, const char *key, const char *text)
{
    ts_json_key(json, key);
    ts_json_text(json, text);
}

void ts_json_member_integer(struct json *json, const char *key, int64_t value)
{
    ts_json_key(json, key);
    ts_json_integer(json, value);
}

void ts_json_member_real(struct json *json, const char *key, double value)
{
    ts_json_key(json, key);
    ts_json_real(json, value);
}

void ts_json_member_bool(struct json *json, const char *key, bool value)
{
    ts_json_key(json, key);
    ts_json_bool(json, value);
}
