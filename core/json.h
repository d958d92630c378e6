/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes JSON (RFC 8259) that always parses: each stray byte in text that is not UTF-8 is replaced
 * by U+FFFD, and numbers that JSON cannot hold (NaN, infinities) become null.
 */
#ifndef CORE_JSON_H
#define CORE_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct param;

/* The state of a writer lives in the caller's storage and is set by ts_json_init. Nesting deeper
 * than 63 is a programming error. */
struct json {
    FILE *stream;
    bool indented; /* over many lines, for people; else everything is on one line */
    bool in_page;  /* set by the caller if the text goes into an HTML page: texts then contain no
                    * '<' */
    bool after_key;
    int depth;
    uint64_t filled; /* bit d is set if the object or array at depth d has members */
};

/* Begins a text. If it is indented, every member has a line of its own, for people to read. */
void ts_json_init(struct json *json, FILE *stream, bool indented);
/* Open and close an object or array: `bracket` is '{' or '[' to open it, '}' or ']' to close it.
 * Closing the outermost one ends the line. */
void ts_json_open(struct json *json, char bracket);
void ts_json_close(struct json *json, char bracket);
/* Writes the key of a member, whose value must be next. */
void ts_json_key(struct json *json, const char *key);
void ts_json_text(struct json *json, const char *text); /* NULL: null */
void ts_json_integer(struct json *json, int64_t value);
void ts_json_real(struct json *json, double value); /* written as the shortest text that reads back
                                                     * as the same double */
void ts_json_bool(struct json *json, bool value);
/* Opens a member whose value is an object or an array. */
void ts_json_open_member(struct json *json, const char *key, char bracket);
/* Write the key and the value of a member. */
void ts_json_member_text(struct json *json, const char *key, const char *text);
void ts_json_member_integer(struct json *json, const char *key, int64_t value);
void ts_json_member_real(struct json *json, const char *key, double value);
void ts_json_member_bool(struct json *json, const char *key, bool value);
/* Writes the value of this parameter, to which `value` points: a number, true or false, a text, a
 * list or a list of lists. A reference that was not given becomes null, and infinities become "inf"
 * and "-inf". */
void ts_json_param(struct json *json, const struct param *param, const void *value);

#endif
