/* SPDX-License-Identifier: Apache-2.0
 *
 * `tomostage explain CODE` prints the row of docs/errors.md for a code, from the page itself, which
 * the program holds.
 */
#include "program/cli/cli_explain.h"

#include <stdlib.h>
#include <string.h>

#include "program/cli/cli.h"

/* Moves to the next row of a table, "| `CODE` | cause | way out |", and takes its code. Returns
   false at the end of the page. */
static bool next_row(const char **at, char code[static 64])
{
    static const char begin[] = "\n| `";
    *at = strstr(*at, begin);
    if (!*at)
        return false;
    *at += strlen(begin);
    snprintf(code, 64, "%.*s", (int)strcspn(*at, "`"), *at);
    return true;
}

/* Prints a cell of the table without its Markdown, in lines of at most 78 characters that begin
   with `first`, and then with two blanks. Returns the start of the next cell. */
static const char *print_cell(const char *at, const char *first)
{
    size_t column = (size_t)printf("%s", first);
    for (at += strspn(at, "` |"); *at && strncmp(at, " |", 2) != 0; at++) {
        if (*at == ' ' && column + strcspn(at + 1, " |") > 78) {
            column = (size_t)printf("\n  ") - 1;
            continue;
        }
        if (*at == '\\' && at[1] == '|')
            at++;
        if (!strncmp(at, "](", 2)) /* a link: its text is enough */
            at += strcspn(at, ")");
        else if (!strchr("`[", *at)) {
            putchar(*at);
            column++;
        }
    }
    putchar('\n');
    return at;
}

static void forget(const char **names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free((char *)names[i]);
}

static int explain(char **operands)
{
    char wanted[64], code[64];
    const char *at = ts_cli_error_page, *names[2048];
    size_t n = 0;
    snprintf(wanted, sizeof wanted, "%s", operands[0] + strspn(operands[0], "["));
    wanted[strcspn(wanted, "]")] = '\0';
    while (next_row(&at, code)) {
        if (!strcmp(code, wanted)) {
            printf("%s\n", code);
            at = print_cell(at + strlen(code), "  ");
            print_cell(at, "  way out: ");
            forget(names, n);
            return 0;
        }
        char *copy = n < sizeof names / sizeof *names ? strdup(code) : NULL;
        names[n] = copy;
        n += copy != NULL;
    }
    const int wrong = ts_command_wrong_name(&ts_cli_explain, "code", wanted, names, n,
                                            "messages end with their [code]");
    forget(names, n);
    return wrong;
}

const struct command ts_cli_explain = {
    .name = "explain",
    .usage = "CODE",
    .summary = "say what causes a message, and the way out, by the [code] at its end",
    .operands = {1, 1, "a CODE"},
    .run = explain,
};
