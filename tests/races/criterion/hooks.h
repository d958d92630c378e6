/* SPDX-License-Identifier: Apache-2.0
 *
 * Stands in for Criterion's header; nothing is hooked in.
 */
#ifndef TESTS_RACES_CRITERION_HOOKS_H
#define TESTS_RACES_CRITERION_HOOKS_H

struct criterion_global_stats;
struct criterion_test_set;
#define ReportHook(kind) __attribute__((unused)) static void race_hook_##kind

#endif
