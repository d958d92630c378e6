/* SPDX-License-Identifier: Apache-2.0
 *
 * Hints contain pieces of YAML: `center: {center: 12}`, `range: [0, 1]`, `method: stack`. If the
 * chain is on one line, these are rewritten in that form: `center center=12`, `range=0,1`,
 * `method=stack`. The rest of a hint is prose, so only known pieces are rewritten: the name of a
 * stage before a map, and the name of a parameter before a list, a number, a text in quotes, true
 * or false, or one of its own choices.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/chain/formats.h"
#include "pipeline/chain/oneline.h"
#include "stages/engine/registry.h"

static bool is_word_character(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.' || c == '+';
}

/* Returns true if a parameter of this name can have this word as a value. */
static bool takes(const struct param *params, size_t n_params, const char *name, const char *word)
{
    size_t i;
    const struct param *param = ts_param_find(params, n_params, name, &i);
    if (!param)
        return false;
    if (param->kind == PARAM_BOOL)
        return !strcmp(word, "true") || !strcmp(word, "false");
    for (const struct choice *choice = param->choices; choice && choice->name; choice++)
        if (!strcmp(choice->name, word))
            return true;
    /* A number, or the capital letter for which the reader puts one in. */
    return param->kind != PARAM_CHOICE &&
           (isdigit((unsigned char)*word) || isupper((unsigned char)*word) ||
            !strcmp(word, ".inf") || (strchr("-.", *word) && isdigit((unsigned char)word[1])));
}

static bool any_takes(const char *name, const char *word)
{
    const struct stage *stage;
    for (size_t i = 0; (stage = ts_registry_stage(NULL, i)) != NULL; i++)
        if (takes(stage->params, stage->n_params, name, word))
            return true;
    for (const struct source_format *const *format = ts_source_formats; *format; format++)
        if (takes((*format)->params, (*format)->n_params, name, word))
            return true;
    return false;
}

/* Returns the character between a name and its value: a space before the path of a format, else
   =. */
static char between(const char *name)
{
    return ts_source_format_find(name) ? ' ' : '=';
}

/* Returns the length of a text in double quotes, including these. */
static size_t quoted(const char *text)
{
    size_t i = 1;
    while (text[i] && text[i] != '"')
        i += text[i] == '\\' && text[i + 1] ? 2 : 1;
    return text[i] ? i + 1 : i;
}

/* Returns the length of a map or list including its brackets; 0 if it is not closed. */
static size_t bracketed(const char *text)
{
    int depth = 0;
    for (size_t i = 0; text[i]; i += text[i] == '"' ? quoted(text + i) : 1) {
        depth += (text[i] == '{' || text[i] == '[') - (text[i] == '}' || text[i] == ']');
        if (depth == 0)
            return i + 1;
    }
    return 0;
}

/* Writes a list without spaces. Omits brackets around plain numbers, since commas are enough for a
   list. */
static void write_list(FILE *out, const char *text, size_t length)
{
    const bool nested = length > 1 && text[1] == '[';
    for (size_t i = nested ? 0 : 1; i < (nested ? length : length - 1); i++)
        if (text[i] != ' ')
            fputc(text[i], out);
}

/* Writes the entries of a map as key=value, but the value of `path` without its key. */
static void write_map(FILE *out, const char *text, size_t length, bool bare)
{
    const char *at = text + 1, *end = text + length - 1;
    while (at < end) {
        const size_t key = strcspn(at, ":");
        if (at + key + 1 >= end) { /* {...}: the reader fills it in */
            fprintf(out, " %.*s", (int)(end - at), at);
            return;
        }
        const char *value = at + key + 2;
        size_t size;
        if (*value == '[')
            size = bracketed(value);
        else
            size = *value == '"' ? quoted(value) : strcspn(value, ",}");
        fprintf(out, bare && at == text + 1 ? "%.*s " : " %.*s=", (int)key, at);
        if (*value == '[')
            write_list(out, value, size);
        else
            fwrite(value, 1, size, out);
        at = value + size;
        at += strspn(at, ", ");
    }
}

/* Writes the piece at `text`, a name with ": " after it, in the one-line form. Returns the length
   that was read; 0 if it is prose. */
static size_t write_piece(FILE *out, const char *text, size_t name_length)
{
    char name[64], word[64];
    const char *value = text + name_length + 2;
    if (name_length >= sizeof name)
        return 0;
    snprintf(name, sizeof name, "%.*s", (int)name_length, text);
    const size_t brackets = *value == '{' || *value == '[' ? bracketed(value) : 0;
    const bool is_file = !strcmp(name, "input") || !strcmp(name, "output");
    if (*value == '{' && brackets > 0 && (is_file || ts_registry_find(NULL, name))) {
        if (!is_file)
            fputs(name, out);
        write_map(out, value, brackets, is_file);
        return name_length + 2 + brackets;
    }
    if (*value == '[' && brackets > 0 && any_takes(name, "0")) {
        fprintf(out, "%s=", name);
        write_list(out, value, brackets);
        return name_length + 2 + brackets;
    }
    if (*value == '"' && any_takes(name, "TEXT")) {
        const size_t length = quoted(value);
        const bool plain = strcspn(value + 1, " \\|=,\"") == length - 2;
        fprintf(out, plain ? "%s=%.*s" : "%s=\"%.*s\"", name, (int)(length - 2), value + 1);
        return name_length + 2 + length;
    }
    size_t length = 0;
    if (*value == '/' && any_takes(name, "X")) { /* a path ends at the mark that ends the piece */
        length = strcspn(value, "`");
        const char *quote = memchr(value, ' ', length) ? "\"" : "";
        fprintf(out, "%s%c%s%.*s%s", name, between(name), quote, (int)length, value, quote);
        return name_length + 2 + length;
    }
    while (is_word_character(value[length]))
        length++;
    while (length > 0 && value[length - 1] == '.')
        length--;
    if (length == 0 || length >= sizeof word)
        return 0;
    snprintf(word, sizeof word, "%.*s", (int)length, value);
    if (!any_takes(name, word))
        return 0;
    fprintf(out, "%s%c%s", name, between(name), word);
    return name_length + 2 + length;
}

char *ts_oneline_hint(const char *hint)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return NULL;
    while (*hint) {
        size_t name = 0;
        while (islower((unsigned char)hint[name]) || isdigit((unsigned char)hint[name]) ||
               hint[name] == '_')
            name++;
        size_t read = name > 0 && !strncmp(hint + name, ": ", 2) ? write_piece(out, hint, name) : 0;
        if (read == 0) {
            read = name > 0 ? name : 1;
            fwrite(hint, 1, read, out);
        }
        hint += read;
    }
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}
