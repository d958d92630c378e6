/* SPDX-License-Identifier: Apache-2.0
 *
 * Words that people type before they know a program: help, version, explain; colors; and the pages
 * that are made from the tables of commands.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/program.h"

static struct program_outcome outcome;
static char folder[256];

static void make_folder(void)
{
    ts_test_folder(folder, sizeof folder);
}

static void remove_folder(void)
{
    unsetenv("NO_COLOR");
    unsetenv("CLICOLOR_FORCE");
    ts_program_folder_remove(folder);
}

TestSuite(cli_words, .init = make_folder, .fini = remove_folder);

Test(cli_words, what_people_type_first_is_answered)
{
    static const struct {
        const char *words[4], *begins;
    } cases[] = {
        {{"help"}, "usage: tomostage COMMAND"},
        {{"help", "run"}, "usage: tomostage run CHAIN"},
        {{"help", "bench"}, "usage: tomostage bench [STAGE]"},
        {{"help", "help"}, "usage: tomostage help"},
        {{"help", "box"}, "box: mean over"},
        {{"help", "--help"}, "usage: tomostage help"},
        {{"version"}, "tomostage 0.2.0\n"},
        {{"-V"}, "tomostage 0.2.0\n"},
        {{"-v"}, "tomostage 0.2.0\n"},
        {{"explain", "output-exists"},
         "output-exists\n  The output is there already.\n  way out: "},
        {{"explain", "[output-exists]"}, "output-exists\n"},
        {{"explain", "checkpoint"}, "checkpoint\n  Note: a run"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ts_program_run(folder, cases[i].words, &outcome);
        cr_expect_eq(outcome.code, 0, "%s %s: %s", cases[i].words[0], cases[i].words[1],
                     outcome.err);
        cr_expect_eq(strncmp(outcome.out, cases[i].begins, strlen(cases[i].begins)), 0, "%s %s: %s",
                     cases[i].words[0], cases[i].words[1], outcome.out);
    }
}

Test(cli_words, a_word_that_is_nothing_has_a_suggestion)
{
    static const struct {
        const char *words[4], *says;
    } cases[] = {
        {{"help", "gausian"}, "did you mean 'gaussian'?"},
        {{"help", "runn"}, "did you mean 'run'?"},
        {{"help", "blur"}, "did you mean 'gaussian'?"},
        {{"stages", "resize"}, "did you mean 'resample'?"},
        {{"stages", "subtract"}, "did you mean 'combine'?"},
        {{"help", "qqqq"}, "'tomostage help' and 'tomostage stages' list them"},
        {{"explain", "output-exist"}, "unknown code 'output-exist'; did you mean 'output-exists'?"},
        {{"explain", "code"}, "unknown code 'code'; "},
        {{"explain"}, "a CODE is missing"},
        {{"--color", "red", "stages"}, "'--color red' is none of auto, always, never"},
        {{"stages", "--color"}, "option '--color' needs a value"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ts_program_run(folder, cases[i].words, &outcome);
        cr_expect_eq(outcome.code, 2);
        cr_expect(strstr(outcome.err, cases[i].says), "%s %s: %s", cases[i].words[0],
                  cases[i].words[1], outcome.err);
    }
}

/* Every code that docs/errors.md has is explained: the program holds that page. */
Test(cli_words, every_code_is_explained)
{
    char line[8192], code[64];
    int n = 0;
    FILE *page = fopen(TESTS_FOLDER "/../docs/errors.md", "r");
    cr_assert_not_null(page);
    while (fgets(line, sizeof line, page))
        if (sscanf(line, "| `%63[^`]`", code) == 1 && n++ % 40 == 0) {
            ts_program_run(folder, ARGUMENTS("explain", code), &outcome);
            cr_expect_eq(outcome.code, 0, "%s", outcome.err);
            cr_expect(strstr(outcome.out, "\n  way out: "), "%s", outcome.out);
            cr_expect(!strpbrk(outcome.out, "`"), "%s", outcome.out);
        }
    fclose(page);
    cr_assert_gt(n, 300);
}

#define RED "\033[1;31merror:\033[0m"
#define GREEN "\n  \033[1;32mhint:\033[0m "

/* A file that takes the messages gets no colors unless they are asked for. */
Test(cli_words, colors_are_for_terminals_and_for_those_who_ask)
{
    static const struct {
        const char *set, *words[6];
        bool colored;
    } cases[] = {
        {NULL, {"check", "dicom x | bocks"}, false},
        {NULL, {"check", "dicom x | bocks", "--color", "always"}, true},
        {NULL, {"--color=always", "check", "dicom x | bocks"}, true},
        {NULL, {"check", "dicom x | bocks", "--color", "auto"}, false},
        {"CLICOLOR_FORCE", {"check", "dicom x | bocks"}, true},
        {"CLICOLOR_FORCE", {"check", "dicom x | bocks", "--color=never"}, false},
        {"NO_COLOR", {"check", "dicom x | bocks", "--color", "always"}, true},
        {"NO_COLOR", {"check", "dicom x | bocks"}, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (cases[i].set)
            setenv(cases[i].set, "1", 1);
        ts_program_run(folder, cases[i].words, &outcome);
        cr_expect_eq(strstr(outcome.err, RED " unknown stage") != NULL, cases[i].colored, "%zu: %s",
                     i, outcome.err);
        cr_expect_eq(strstr(outcome.err, GREEN) != NULL, cases[i].colored, "%zu", i);
        cr_expect_eq(strchr(outcome.err, '\033') != NULL, cases[i].colored, "%zu", i);
        unsetenv("NO_COLOR");
        unsetenv("CLICOLOR_FORCE");
    }
}

/* Completes the last of the words in bash by the written file, and compares with what is
 * expected. */
static void expect_completed(const char *words, const char *expected)
{
    char line[1024], found[4096] = "";
    snprintf(line, sizeof line,
             "bash -c '. %s/share/bash-completion/completions/tomostage; COMP_WORDS=(tomostage %s);"
             " COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _tomostage; echo -n \"${COMPREPLY[*]}\"'",
             folder, words);
    FILE *shell = popen(line, "r");
    cr_assert_not_null(shell);
    found[fread(found, 1, sizeof found - 1, shell)] = '\0';
    cr_assert_eq(pclose(shell), 0, "%s", line);
    cr_expect_str_eq(found, expected, "%s", words);
}

static void expect_in_file(const char *name, const char *words)
{
    static char text[1 << 18];
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file, "%s", path);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    cr_expect(strstr(text, words), "%s lacks %s", name, words);
}

Test(cli_words, pages_for_man_and_shells_have_what_the_tables_have)
{
    ts_program_run(folder, ARGUMENTS("help", "--pages", "share"), &outcome);
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
    expect_completed("ru", "run");
    expect_completed("run --gpu", "--gpu-memory");
    expect_completed("batch --keep", "--keep-going");
    expect_completed("help gauss", "gaussian");
    expect_completed("stages hist", "histogram");
    expect_completed("run --color ne", "never");
    expect_in_file("share/man/man1/tomostage.1", ".BR tomostage\\-run (1),");
    expect_in_file("share/man/man1/tomostage-run.1",
                   ".TP\n\\fB\\-o\\fR, \\fB\\-\\-output\\fR \\fIFILE\\fR\nthe output");
    expect_in_file("share/man/man1/tomostage-batch.1", "\\fB\\-\\-keep\\-going\\fR");
    expect_in_file("share/zsh/site-functions/_tomostage", "#compdef tomostage\n");
    expect_in_file("share/fish/vendor_completions.d/tomostage.fish",
                   "'__fish_seen_subcommand_from run' -l gpu-memory -r -d 'GPU memory");
    ts_program_run(folder, ARGUMENTS("help", "--pages", "share/man/man1/tomostage.1"), &outcome);
    cr_assert_eq(outcome.code, 1);
}
