/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/pipeline/compare/compare_program.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

struct compare_program ts_compare_program;

void ts_compare_program_begin_empty(void)
{
    ts_test_folder(ts_compare_program.folder, sizeof ts_compare_program.folder);
}

void ts_compare_program_begin(const char *chain)
{
    ts_compare_program_begin_empty();
    ts_compare_program_run(ARGUMENTS("phantom", "head", "-o", "study", "--size", "48", "--slices", "6"));
    ts_compare_program_run(ARGUMENTS("run", chain));
}

void ts_compare_program_end(void)
{
    ts_program_folder_remove(ts_compare_program.folder);
}

void ts_compare_program_write(const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", ts_compare_program.folder, name);
    FILE *file = fopen(path, "w");
    cr_assert(file && fputs(text, file) >= 0 && fclose(file) == 0, "%s", path);
}

void ts_compare_program_run(const char *const *arguments)
{
    ts_compare_program_expect(arguments, 0, ARGUMENTS(""));
}

void ts_compare_program_expect(const char *const *arguments, int code, const char *const *texts)
{
    const struct program_outcome *outcome = &ts_compare_program.outcome;
    ts_program_run(ts_compare_program.folder, arguments, &ts_compare_program.outcome);
    cr_assert_eq(outcome->code, code, "%s %s: %d\n%s%s", arguments[0], arguments[1], outcome->code, outcome->out,
                 outcome->err);
    for (; *texts; texts++)
        cr_assert(strstr(outcome->out, *texts) || strstr(outcome->err, *texts), "no '%s' in:\n%s%s", *texts,
                  outcome->out, outcome->err);
}
