/* SPDX-License-Identifier: Apache-2.0
 *
 * Attributes have the names of NeXus fields. JSON uses the key of a table, or else the same name in
 * camel case, so that every attribute is in both forms.
 */
#include "io/source/metadata.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

enum { KEY_BYTES = 128, TEXT_BYTES = 1024 };

/* Writes "burned_in_annotation" as "BurnedInAnnotation". */
static void camel_case(const char *name, char key[KEY_BYTES])
{
    size_t n = 0;
    bool upper = true;
    for (; *name && n + 1 < KEY_BYTES; name++) {
        if (*name != '_')
            key[n++] = (char)(upper ? toupper((unsigned char)*name) : *name);
        upper = *name == '_';
    }
    key[n] = '\0';
}

/* Writes the values of a text, which backslashes separate, as a list. */
static void write_texts(struct json *json, const char *key, const char *text)
{
    char value[TEXT_BYTES];
    ts_json_open_member(json, key, '[');
    for (;; text++) {
        const size_t length = strcspn(text, "\\");
        snprintf(value, sizeof value, "%.*s", (int)length, text);
        ts_json_text(json, value);
        text += length;
        if (!*text)
            break;
    }
    ts_json_close(json, ']');
}

static void write_numbers(struct json *json, const char *key,
                          const struct source_attribute *attribute)
{
    const double scale = attribute->key ? attribute->key_scale : 1;
    /* Dividing by a whole number rounds once, so that 30 ms are 0.03 s. */
    const double divisor = scale < 1 ? rint(1 / scale) : 1, factor = scale < 1 ? 1 : scale;
    const int64_t columns = attribute->columns > 0 ? attribute->columns : 1;
    if (attribute->n * columns == 1) {
        ts_json_member_real(json, key, attribute->numbers[0] * factor / divisor);
        return;
    }
    ts_json_open_member(json, key, '[');
    for (int64_t i = 0; i < attribute->n * columns; i++) {
        if (columns > 1 && i % columns == 0)
            ts_json_open(json, '[');
        ts_json_real(json, attribute->numbers[i] * factor / divisor);
        if (columns > 1 && i % columns == columns - 1)
            ts_json_close(json, ']');
    }
    ts_json_close(json, ']');
}

void ts_metadata_json(struct json *json, const struct source_attribute *attributes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char name[KEY_BYTES];
        camel_case(attributes[i].name, name);
        const char *key = attributes[i].key ? attributes[i].key : name;
        if (attributes[i].numbers)
            write_numbers(json, key, &attributes[i]);
        else if (strchr(attributes[i].value, '\\'))
            write_texts(json, key, attributes[i].value);
        else
            ts_json_member_text(json, key, attributes[i].value);
    }
}

void ts_metadata_format(const struct source_attribute *attribute, char *out, size_t size)
{
    double low = INFINITY, high = -INFINITY;
    char name[KEY_BYTES];
    snprintf(name, sizeof name, "%s", attribute->name);
    for (char *c = name; *c; c++)
        *c = *c == '_' ? ' ' : *c;
    for (int64_t i = 0; attribute->numbers && i < attribute->n; i++) {
        low = fmin(low, attribute->numbers[i]);
        high = fmax(high, attribute->numbers[i]);
    }
    const char *space = attribute->unit && *attribute->unit ? " " : "";
    if (!attribute->numbers)
        snprintf(out, size, "%s %s", name, attribute->value);
    else if (attribute->columns > 1)
        snprintf(out, size, "%s: %lld vector%s", name, (long long)attribute->n,
                 attribute->n == 1 ? "" : "s");
    else if (low < high)
        snprintf(out, size, "%s %.9g to %.9g%s%s", name, low, high, space, attribute->unit);
    else
        snprintf(out, size, "%s %.9g%s%s", name, low, space, attribute->unit);
}
