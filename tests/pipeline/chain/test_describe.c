/* SPDX-License-Identifier: Apache-2.0
 *
 * The pages and the schema say what the tables say, and the committed pages are up to date.
 */
#include <criterion/criterion.h>
#include <ctype.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/chain/chain.h"
#include "pipeline/chain/describe.h"
#include "pipeline/chain/formats.h"
#include "tests/support/local_stages.h"
#include "tests/support/support.h"

static char *page_of(void (*describe)(const struct stage *, FILE *), const struct stage *stage)
{
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    describe(stage, stream);
    fclose(stream);
    return text;
}

Test(describe, pages_say_what_runs_on_the_cpu_alone)
{
    char *plain = page_of(ts_describe_stage, &cpu_shift_stage),
         *markdown = page_of(ts_describe_docs, &cpu_shift_stage);
    cr_assert(strstr(plain, "; on the CPU alone: its kernel is not written yet\n"), "%s", plain);
    cr_assert(strstr(markdown, "; on the CPU alone: its kernel is not written yet\n"), "%s",
              markdown);
    free(plain);
    free(markdown);
}

Test(describe, pages_name_every_parameter_and_choice)
{
    for (const struct stage *const *stage = ts_stages; *stage; stage++) {
        char *plain = page_of(ts_describe_stage, *stage),
             *markdown = page_of(ts_describe_docs, *stage);
        cr_assert(strstr(plain, (*stage)->summary) && strstr(markdown, (*stage)->summary));
        for (size_t i = 0; i < (*stage)->n_params; i++) {
            const struct param *param = &(*stage)->params[i];
            char expected[256];
            snprintf(expected, sizeof expected, "\n  %s: ", param->name);
            cr_assert(strstr(plain, expected), "%s lacks %s", (*stage)->name, param->name);
            snprintf(expected, sizeof expected, "\n| `%s` | ", param->name);
            cr_assert(strstr(markdown, expected), "%s.md lacks %s", (*stage)->name, param->name);
            for (const struct choice *choice = param->choices; choice && choice->name; choice++) {
                snprintf(expected, sizeof expected, "      - %s: ", choice->name);
                cr_assert(strstr(plain, expected), "%s lacks the choice %s", (*stage)->name,
                          choice->name);
                snprintf(expected, sizeof expected, "\n- `%s`: ", choice->name);
                cr_assert(strstr(markdown, expected), "%s.md lacks the choice %s", (*stage)->name,
                          choice->name);
            }
        }
        free(plain);
        free(markdown);
    }
}

/* docs/stage_pages.py writes them anew, and adds an example behind what the table says. */
Test(describe, committed_pages_are_what_the_tables_say)
{
    for (const struct stage *const *stage = ts_stages; *stage; stage++) {
        static const char run[] = "run: python3 docs/stage_pages.py build/release/tomostage";
        char path[1024], *expected = page_of(ts_describe_docs, *stage);
        snprintf(path, sizeof path, "%s/%s.md", ts_test_path("../docs/stages"), (*stage)->name);
        FILE *file = fopen(path, "r");
        cr_assert(file, "%s is missing; %s %s", path, run, (*stage)->name);
        char *found = calloc(1, strlen(expected) + 2);
        (void)!fread(found, 1, strlen(expected) + 1, file);
        fclose(file);
        cr_assert(!strncmp(found, expected, strlen(expected)), "%s is out of date; %s %s", path,
                  run, (*stage)->name);
        free(found);
        free(expected);
    }
}

/* Brackets and braces outside of texts close in order, and nothing follows the last. Python's json
 * reads it in test_cli. */
Test(describe, schema_is_balanced_and_names_everything)
{
    char *text = NULL, expected[256];
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    ts_describe_schema(stream);
    fclose(stream);
    char open[64];
    size_t depth = 0;
    bool in_text = false;
    for (size_t i = 0; i < length; i++) {
        const char c = text[i];
        if (in_text) {
            i += c == '\\';
            in_text = c != '"';
        } else if (c == '"') {
            in_text = true;
        } else if (c == '{' || c == '[') {
            cr_assert_lt(depth, sizeof open);
            open[depth++] = c;
        } else if (c == '}' || c == ']') {
            cr_assert(depth > 0 && open[depth - 1] == (c == '}' ? '{' : '['));
            depth--;
            cr_assert(depth > 0 || i == length - 2);
        }
    }
    cr_assert(depth == 0 && !in_text && text[length - 1] == '\n');
    for (const struct stage *const *stage = ts_stages; *stage; stage++) {
        snprintf(expected, sizeof expected, "\"title\": \"%s\"", (*stage)->name);
        cr_assert(strstr(text, expected), "no %s", expected);
        for (size_t i = 0; i < (*stage)->n_params; i++) {
            snprintf(expected, sizeof expected, "\"%s\": {", (*stage)->params[i].name);
            cr_assert(strstr(text, expected), "no %s", expected);
        }
    }
    free(text);
}

/* The pattern that comes next in the text; the text behind it. Patterns hold nothing that JSON
 * escapes. */
static const char *next_pattern(const char *text, char *pattern, size_t size)
{
    static const char key[] = "\"pattern\": \"";
    const char *at = strstr(text, key);
    cr_assert(at, "a choice has no pattern");
    at += strlen(key);
    const size_t length = strcspn(at, "\"");
    cr_assert(length < size);
    memcpy(pattern, at, length);
    pattern[length] = 0;
    return at + length;
}

/* Every name is taken as it is, in capitals and in a mixture, and no other. */
static const char *check_patterns(const char *text, const struct param *params, size_t n_params)
{
    for (size_t i = 0; i < n_params; i++) {
        char pattern[4096];
        regex_t regex;
        if (params[i].kind != PARAM_CHOICE)
            continue;
        text = next_pattern(text, pattern, sizeof pattern);
        cr_assert_eq(regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB), 0, "%s: %s",
                     params[i].name, pattern);
        for (const struct choice *choice = params[i].choices; choice->name; choice++)
            for (int how = 0; how < 3; how++) {
                char name[66];
                const size_t length = strlen(choice->name);
                cr_assert(length + 2 < sizeof name);
                for (size_t k = 0; k <= length; k++)
                    name[k] = (char)(how > 0 && (how == 1 || k % 2 == 0)
                                         ? toupper((unsigned char)choice->name[k])
                                         : choice->name[k]);
                cr_assert_eq(regexec(&regex, name, 0, NULL, 0), 0, "%s: %s is not taken",
                             params[i].name, name);
                strcat(name, "~");
                cr_assert_eq(regexec(&regex, name, 0, NULL, 0), REG_NOMATCH, "%s: %s is taken",
                             params[i].name, name);
            }
        regfree(&regex);
    }
    return text;
}

/* The loader takes names of choices and units in any case, and so does the schema. */
Test(describe, schema_takes_choices_in_any_case)
{
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    ts_describe_schema(stream);
    fclose(stream);
    const char *at = text;
    for (const struct stage *const *stage = ts_stages; *stage; stage++)
        at = check_patterns(at, (*stage)->params, (*stage)->n_params);
    at = check_patterns(at, ts_chain_output_params, CHAIN_OUTPUT_PARAMS);
    for (const struct source_format *const *format = ts_source_formats; *format; format++)
        at = check_patterns(at, (*format)->params, (*format)->n_params);
    cr_assert(!strstr(at, "\"pattern\""), "a pattern of nothing");
    free(text);
}
