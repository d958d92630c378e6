/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/values/scope.h"

const struct choice ts_scope_choices[] = {
    {"volume", SCOPE_VOLUME, "all slices together"},
    {"slice", SCOPE_SLICE, "each slice (index of the first axis) by itself"},
    {NULL, 0, NULL},
};
