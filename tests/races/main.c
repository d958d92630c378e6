/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs the tests that were linked to it, for ThreadSanitizer. usage: tomostage-races
 */
#include <criterion/criterion.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

/* OpenMP's runtime is not compiled with ThreadSanitizer. Archer, which is a part of it, says what
 * it orders; what it does with memory and locks of its own is left out. */
__attribute__((visibility("default"))) const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
    return "called_from_lib:libomp.so\n";
}

static struct race_suite *suites;
static struct race_test *tests;
static jmp_buf skipped;

void ts_race_add_suite(struct race_suite *suite)
{
    suite->next = suites;
    suites = suite;
}

void ts_race_add_test(struct race_test *test)
{
    test->next = tests;
    tests = test;
}

void ts_race_fail(const char *file, int line, const char *what, const char *format, ...)
{
    va_list arguments;
    fprintf(stderr, "%s:%d: it is not so that %s: ", file, line, what);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    abort();
}

void ts_race_skip(void)
{
    longjmp(skipped, 1);
}

static void run(const struct race_test *test)
{
    const struct race_suite *suite = suites;
    while (suite && strcmp(suite->name, test->suite) != 0)
        suite = suite->next;
    void (*init)(void) = test->init ? test->init : suite ? suite->init : NULL;
    void (*fini)(void) = test->fini ? test->fini : suite ? suite->fini : NULL;
    fprintf(stderr, "%s/%s\n", test->suite, test->name);
    if (init)
        init();
    if (setjmp(skipped) == 0)
        test->run();
    if (fini)
        fini();
}

int main(void)
{
    int n = 0;
    for (const struct race_test *test = tests; test; test = test->next, n++)
        run(test);
    printf("%d tests\n", n);
    return n > 0 ? 0 : 1;
}
