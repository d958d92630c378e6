/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes JSON (RFC 8259). Text that is not UTF-8 has each stray byte replaced by U+FFFD, numbers that JSON cannot hold
 * (NaN, infinities) become null, so that what is written always parses.
 */
#ifndef CORE_JSON_H
#define CORE_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct param;

/* The caller's storage; start with ts_json_init. Nesting deeper than 63 is a programming error. */
struct json {
    FILE *stream;
    bool indented; /* over many lines, for people; else on one line */
    bool after_key;
    int depth;
    uint64_t filled; /* bit d: the object or array at depth d has members */
};

/* Indented: a member a line, for people. */
void ts_json_init(struct json *json, FILE *stream, bool indented);
/* bracket: '{' or '['; ts_json_close takes the matching '}' or ']'. The outermost close ends the line. */
void ts_json_open(struct json *json, char bracket);
void ts_json_close(struct json *json, char bracket);
/* A member's key; its value is next. */
void ts_json_key(struct json *json, const char *key);
void ts_json_text(struct json *json, const char *text); /* NULL: null */
void ts_json_integer(struct json *json, int64_t value);
void ts_json_real(struct json *json, double value); /* the shortest text that reads back as the same double */
void ts_json_bool(struct json *json, bool value);
/* A member whose value is an object or an array, which stays open. */
void ts_json_open_member(struct json *json, const char *key, char bracket);
/* Key and value of an object's member. */
void ts_json_member_text(struct json *json, const char *key, const char *text);
void ts_json_member_integer(struct json *json, const char *key, int64_t value);
void ts_json_member_real(struct json *json, const char *key, double value);
void ts_json_member_bool(struct json *json, const char *key, bool value);
/* The value of a parameter, which `value` points to as the row's kind says: a number, true or false, a text, a list, a
 * list of lists; null for a reference that was not given, "inf" and "-inf" for what JSON cannot hold as a number. */
void ts_json_param(struct json *json, const struct param *row, const void *value);

#endif
