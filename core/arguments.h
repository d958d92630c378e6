/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks the arguments of public functions, and refuses a NULL that the header does not allow.
 */
#ifndef CORE_ARGUMENTS_H
#define CORE_ARGUMENTS_H

#include "core/diag.h"

/* Returns true if the diag or one of the pointers after `names` is NULL, and reports it (code
 * argument-null), unless it is the diag. `names` is such as "run, name, array". */
#define ts_arguments_lack(diag, names, ...)                                                        \
    ts_arguments_lack_one(diag, names, (const void *const[]){__VA_ARGS__},                         \
                          sizeof((const void *const[]){__VA_ARGS__}) / sizeof(void *))
bool ts_arguments_lack_one(struct ts_diag *diag, const char *names, const void *const *pointers,
                           size_t n);
/* Refuses an option or setting that is below 0 or NaN (code option-negative). */
enum ts_status ts_arguments_refuse_negative(struct ts_diag *diag, const char *name, double value);

#endif
