/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs in C may pass NULL and negative numbers, which is an error of theirs and no crash.
 */
#include "core/arguments.h"

#include <string.h>

bool ts_arguments_lack_one(struct ts_diag *diag, const char *names, const void *const *pointers,
                           size_t n)
{
    bool lack = !diag;
    for (size_t i = 0; i < n; i++) {
        const int length = (int)strcspn(names, ",");
        lack |= !pointers[i];
        if (diag && !pointers[i])
            ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "argument-null"},
                          "the argument '%.*s' is NULL", length, names);
        names += length;
        names += strspn(names, ", ");
    }
    return lack;
}

enum ts_status ts_arguments_refuse_negative(struct ts_diag *diag, const char *name, double value)
{
    if (value >= 0)
        return TS_OK;
    ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "option-negative"},
                  "%s is %.15g, and a number from 0 was expected", name, value);
    return ts_diag_hint(diag, "0 takes the default");
}
