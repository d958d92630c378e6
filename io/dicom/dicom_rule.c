/* SPDX-License-Identifier: Apache-2.0
 *
 * Keys are words for what `info` shows of a series, and the names of the fields that a result
 * records. A number fits if it is the same number; a text, if the pattern fits it in any case.
 */
#include "io/dicom/dicom_rule.h"

#include <ctype.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/number.h"
#include "core/params.h"
#include "io/dicom/dicom_metadata.h"
#include "io/dicom_header/dicom_fields.h"

enum { WORD_BYTES = 256 };

static const char *const words[] = {"modality", "description", "number",
                                    "protocol", "image_type",  "uid"};

bool ts_dicom_is_rule(const char *text, const struct dicom_series *series, size_t n)
{
    if (!text || !strpbrk(text, "=*?"))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!strcmp(series[i].images[0]->file->description, text))
            return false;
    return true;
}

/* Writes what the series says under a key; "" if it says nothing. */
static void say(const struct dicom_series *series, const struct dicom_metadata *metadata,
                const char *key, char out[WORD_BYTES])
{
    const struct dicom_image *image = series->images[0];
    const char *text = "";
    *out = '\0';
    if (!strcmp(key, "modality"))
        text = series->modality;
    else if (!strcmp(key, "description"))
        text = image->file->description;
    else if (!strcmp(key, "protocol"))
        text = image->keys[KEY_PROTOCOL];
    else if (!strcmp(key, "image_type"))
        text = series->image_type;
    else if (!strcmp(key, "uid"))
        text = series->series;
    if (!strcmp(key, "number") && isfinite(image->file->series_number))
        ts_real_format(image->file->series_number, out, WORD_BYTES);
    else
        snprintf(out, WORD_BYTES, "%s", text ? text : "");
    for (size_t i = 0; !*out && i < metadata->n; i++) {
        const struct source_attribute *item = &metadata->items[i];
        if (strcmp(item->name, key) != 0)
            continue;
        if (item->numbers && item->n > 0)
            ts_real_format(item->numbers[0], out, WORD_BYTES);
        else if (!item->numbers)
            snprintf(out, WORD_BYTES, "%s", item->value);
    }
}

static bool fits(const char *said, const char *pattern)
{
    double a, b;
    return fnmatch(pattern, said, FNM_CASEFOLD) == 0 ||
           (!ts_number_real(said, &a) && !ts_number_real(pattern, &b) && a == b);
}

static bool is_key(const char *key)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(words[i], key))
            return true;
    for (int i = 0; i < DICOM_FIELDS; i++)
        if (!strcmp(ts_dicom_fields[i].name, key))
            return true;
    return false;
}

static char *trimmed(char *text)
{
    text += strspn(text, " \t");
    for (size_t n = strlen(text); n > 0 && isspace((unsigned char)text[n - 1]); n--)
        text[n - 1] = '\0';
    return text;
}

/* Applies "key=pattern" to all series that are not left out yet. */
static enum ts_status apply_part(char *part, struct dicom_series *series, size_t n,
                                 const struct dicom_metadata *metadata, struct ts_diag *diag)
{
    const char *key = "description";
    char said[WORD_BYTES];
    char *equals = strchr(part, '=');
    const char *pattern = trimmed(equals ? equals + 1 : part);
    if (equals) {
        *equals = '\0';
        key = trimmed(part);
    }
    if (!is_key(key)) {
        ts_diag_error(diag, TS_BAD_CHAIN,
                      &(struct diag_site){.code = "series-rule", .stage = "series"},
                      "'%s' is nothing that a rule can ask of a series", key);
        return ts_diag_hint(diag,
                            "modality, description, number, protocol, image_type, uid, or what "
                            "`tomostage info --json` has under metadata, such as series: "
                            "{modality: CT, description: \"*T1*\"}");
    }
    for (size_t i = 0; i < n; i++) {
        say(&series[i], &metadata[i], key, said);
        series[i].left_out |= !fits(said, pattern);
    }
    return TS_OK;
}

enum ts_status ts_dicom_apply_rule(const char *rule, struct dicom_series *series, size_t n,
                                   struct arena *arena, struct ts_diag *diag)
{
    const struct dicom_identity identity = {.keep = false};
    struct dicom_metadata *metadata = ts_arena_alloc(arena, (n + 1) * sizeof *metadata);
    char *rest = ts_arena_text(arena, rule, strlen(rule));
    enum ts_status status = metadata && rest ? TS_OK : ts_diag_no_memory(diag, strlen(rule));
    size_t left = 0;
    for (size_t i = 0; status == TS_OK && i < n; i++)
        status = ts_dicom_metadata(&series[i], &identity, arena, &metadata[i], diag);
    for (char *part; status == TS_OK && (part = strsep(&rest, ";")) != NULL;)
        if (*trimmed(part))
            status = apply_part(part, series, n, metadata, diag);
    for (size_t i = 0; i < n; i++)
        left += !series[i].left_out;
    if (status != TS_OK || left > 0)
        return status;
    ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "series-unknown"},
                  "none of the %zu series fits the rule '%s'", n, rule);
    return ts_diag_hint(diag, "`tomostage info FOLDER --names` shows what the series say");
}
