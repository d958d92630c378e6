/* SPDX-License-Identifier: Apache-2.0
 *
 * Leaves out the tests that TOMOSTAGE_TESTS_WITHOUT in the environment names: patterns of fnmatch
 * with | between them, such as "*_on_cuda|box/[a-z]*". Criterion's own --filter takes minutes to
 * compare 2,000 names with forty patterns.
 */
#include <criterion/criterion.h>
#include <criterion/hooks.h>
#include <criterion/internal/ordered-set.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool matches(const char *name, const char *patterns)
{
    for (const char *at = patterns; *at; at += strspn(at, "|")) {
        char pattern[128];
        const size_t n = strcspn(at, "|");
        snprintf(pattern, sizeof pattern, "%.*s", (int)n, at);
        if (!fnmatch(pattern, name, 0))
            return true;
        at += n;
    }
    return false;
}

ReportHook(PRE_ALL)(struct criterion_test_set *tests)
{
    const char *without = getenv("TOMOSTAGE_TESTS_WITHOUT");
    if (!without)
        return;
    FOREACH_SET(struct criterion_suite_set * suite, tests->suites)
    {
        FOREACH_SET(struct criterion_test * test, suite->tests)
        {
            char name[256];
            snprintf(name, sizeof name, "%s/%s", test->category, test->name);
            if (matches(name, without))
                test->data->disabled = true;
        }
    }
}
