/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/program/record/compare_program.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct compare_program ts_compare_program;

void ts_compare_program_begin_empty(void)
{
    ts_test_folder(ts_compare_program.folder, sizeof ts_compare_program.folder);
}

void ts_compare_program_begin(const char *chain)
{
    ts_compare_program_begin_empty();
    ts_compare_program_run(
        ARGUMENTS("phantom", "head", "-o", "study", "--size", "48", "--slices", "6"));
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
    cr_assert_eq(outcome->code, code, "%s %s: %d\n%s%s", arguments[0], arguments[1], outcome->code,
                 outcome->out, outcome->err);
    for (; *texts; texts++)
        cr_assert(strstr(outcome->out, *texts) || strstr(outcome->err, *texts), "no '%s' in:\n%s%s",
                  *texts, outcome->out, outcome->err);
}

static char *bytes_of(const char *name, size_t *n)
{
    char path[512];
    struct stat found;
    snprintf(path, sizeof path, "%s/%s", ts_compare_program.folder, name);
    FILE *file = fopen(path, "rb");
    cr_assert(file && fstat(fileno(file), &found) == 0, "%s", path);
    char *bytes = malloc((size_t)found.st_size + 1);
    *n = (size_t)found.st_size;
    cr_assert(bytes && fread(bytes, 1, *n, file) == *n && fclose(file) == 0, "%s", path);
    return bytes;
}

void ts_compare_program_expect_same_bytes(const char *a, const char *b)
{
    size_t n, m;
    char *one = bytes_of(a, &n), *other = bytes_of(b, &m);
    cr_assert(n == m && !memcmp(one, other, n), "%s (%zu bytes) and %s (%zu)", a, n, b, m);
    free(one);
    free(other);
}
