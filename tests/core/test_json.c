/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "core/json.h"

static const struct {
    const char *text, *written;
} texts[] = {
    {"", "\"\""},
    {"plain", "\"plain\""},
    {"a\"b\\c", "\"a\\\"b\\\\c\""},
    {"tab\tline\nbell\a", "\"tab\\u0009line\\nbell\\u0007\""},
    {"\x7F", "\"\\u007f\""},
    {"\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80", "\"\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80\""},
    {"\xC2\x9B \xE2\x80\xAE\xE2\x80\xA8", "\"\\u009b \\u202e\\u2028\""},
    {"\xF3\xA0\x81\x81", "\"\\udb40\\udc41\""},               /* a tag, U+E0041 */
    {"\xE4 latin", "\"\\ufffd latin\""},                      /* a lead byte without its rest */
    {"\xC0\xAF", "\"\\ufffd\\ufffd\""},                       /* overlong */
    {"\xED\xA0\x80", "\"\\ufffd\\ufffd\\ufffd\""},            /* surrogate */
    {"\xF4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""}, /* past U+10FFFF */
    {"\xE2\x82", "\"\\ufffd\\ufffd\""},                       /* cut short */
};

Test(json, escapes_texts)
{
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char *written = NULL;
        size_t length = 0;
        struct json json;
        FILE *stream = open_memstream(&written, &length);
        ts_json_init(&json, stream, false);
        ts_json_text(&json, texts[i].text);
        fclose(stream);
        cr_assert_str_eq(written, texts[i].written);
        free(written);
    }
}

/* No text ends the element of a page that holds the JSON, or begins a comment there. */
Test(json, escapes_texts_inside_of_a_page)
{
    char *written = NULL;
    size_t length = 0;
    struct json json;
    FILE *stream = open_memstream(&written, &length);
    ts_json_init(&json, stream, false);
    json.in_page = true;
    ts_json_open(&json, '{');
    ts_json_member_text(&json, "</script", "<!--<script>");
    ts_json_close(&json, '}');
    fclose(stream);
    cr_assert_str_eq(written, "{\"\\u003c/script\": \"\\u003c!--\\u003cscript>\"}\n");
    free(written);
}

static char *write_example(bool indented)
{
    char *written = NULL;
    size_t length = 0;
    struct json json;
    FILE *stream = open_memstream(&written, &length);
    ts_json_init(&json, stream, indented);
    ts_json_open(&json, '{');
    ts_json_key(&json, "numbers");
    ts_json_open(&json, '[');
    ts_json_integer(&json, INT64_MIN);
    ts_json_real(&json, 0.1);
    ts_json_real(&json, 180);
    ts_json_real(&json, NAN);
    ts_json_real(&json, -INFINITY);
    ts_json_close(&json, ']');
    ts_json_key(&json, "empty");
    ts_json_open(&json, '{');
    ts_json_close(&json, '}');
    ts_json_member_bool(&json, "yes", true);
    ts_json_member_text(&json, "none", NULL);
    ts_json_close(&json, '}');
    fclose(stream);
    return written;
}

Test(json, writes_one_line_or_many)
{
    char *line = write_example(false), *lines = write_example(true);
    cr_assert_str_eq(line, "{\"numbers\": [-9223372036854775808, 0.1, 180, null, null], \"empty\": "
                           "{}, \"yes\": true, \"none\": null}\n");
    cr_assert_str_eq(
        lines,
        "{\n  \"numbers\": [\n    -9223372036854775808,\n    0.1,\n    180,\n    null,\n    null\n"
        "  ],\n  \"empty\": {},\n  \"yes\": true,\n  \"none\": null\n}\n");
    free(line);
    free(lines);
}
