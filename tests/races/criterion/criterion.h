/* SPDX-License-Identifier: Apache-2.0
 *
 * Stands in for Criterion in a build with ThreadSanitizer, whose memory Criterion's own leaves no
 * room for: the tests run one after the other in this process, and the first that fails ends it.
 */
#ifndef TESTS_RACES_CRITERION_CRITERION_H
#define TESTS_RACES_CRITERION_CRITERION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct race_suite {
    const char *name;
    void (*init)(void), (*fini)(void);
    double timeout; /* as Criterion has it; not used */
    struct race_suite *next;
};
struct race_test {
    const char *suite, *name;
    void (*run)(void);
    void (*init)(void), (*fini)(void);
    double timeout;
    struct race_test *next;
};
void ts_race_add_suite(struct race_suite *suite);
void ts_race_add_test(struct race_test *test);
_Noreturn void ts_race_fail(const char *file, int line, const char *what, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
_Noreturn void ts_race_skip(void);

#define TestSuite(suite_name, ...)                                                                 \
    static struct race_suite suite_##suite_name = {.name = #suite_name, __VA_ARGS__};              \
    __attribute__((constructor)) static void add_suite_##suite_name(void)                          \
    {                                                                                              \
        ts_race_add_suite(&suite_##suite_name);                                                    \
    }                                                                                              \
    struct race_suite
#define Test(suite_name, test_name, ...)                                                           \
    static void suite_name##_##test_name##_runs(void);                                             \
    static struct race_test suite_name##_##test_name = {.suite = #suite_name,                      \
                                                        .name = #test_name,                        \
                                                        .run = suite_name##_##test_name##_runs,    \
                                                        ##__VA_ARGS__};                            \
    __attribute__((constructor)) static void add_##suite_name##_##test_name(void)                  \
    {                                                                                              \
        ts_race_add_test(&suite_name##_##test_name);                                               \
    }                                                                                              \
    static void suite_name##_##test_name##_runs(void)

#define RACE_CHECK(condition, text, ...)                                                           \
    ((condition) ? (void)0 : ts_race_fail(__FILE__, __LINE__, text, "" __VA_ARGS__))
#define cr_assert(condition, ...) RACE_CHECK(condition, #condition, __VA_ARGS__)
#define cr_assert_not(condition, ...) RACE_CHECK(!(condition), "not " #condition, __VA_ARGS__)
#define cr_assert_eq(a, b, ...) RACE_CHECK((a) == (b), #a " == " #b, __VA_ARGS__)
#define cr_assert_neq(a, b, ...) RACE_CHECK((a) != (b), #a " != " #b, __VA_ARGS__)
#define cr_assert_lt(a, b, ...) RACE_CHECK((a) < (b), #a " < " #b, __VA_ARGS__)
#define cr_assert_leq(a, b, ...) RACE_CHECK((a) <= (b), #a " <= " #b, __VA_ARGS__)
#define cr_assert_gt(a, b, ...) RACE_CHECK((a) > (b), #a " > " #b, __VA_ARGS__)
#define cr_assert_geq(a, b, ...) RACE_CHECK((a) >= (b), #a " >= " #b, __VA_ARGS__)
#define cr_assert_null(a, ...) RACE_CHECK((a) == NULL, #a " is NULL", __VA_ARGS__)
#define cr_assert_not_null(a, ...) RACE_CHECK((a) != NULL, #a " is not NULL", __VA_ARGS__)
#define cr_assert_str_eq(a, b, ...) RACE_CHECK(!strcmp(a, b), #a " is " #b, __VA_ARGS__)
#define cr_assert_fail(...) RACE_CHECK(false, "fails", __VA_ARGS__)
#define cr_expect cr_assert
#define cr_expect_eq cr_assert_eq
#define cr_expect_null cr_assert_null
#define cr_expect_str_eq cr_assert_str_eq
#define cr_skip_test(...) ts_race_skip()

#endif
