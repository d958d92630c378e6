/* SPDX-License-Identifier: Apache-2.0
 *
 * A range of NaN holds no value, so that a slice that states none has one of NaN.
 */
#include "io/source/source_padding.h"

#include <math.h>

const struct choice ts_source_padding_choices[] = {
    {"value", PADDING_VALUE, "they are pixels like any other"},
    {"exclude", PADDING_EXCLUDE, "they are invalid: no stage takes them for measured values (docs/padding.md)"},
    {NULL, 0, NULL},
};

static bool states_padding(const struct source *source)
{
    for (int64_t z = 0; z < ts_source_total(source); z++)
        if (!isnan(source->slices[z].invalid.low))
            return true;
    return false;
}

void ts_source_set_padding(struct source *source, enum source_padding padding)
{
    source->image.masked = padding == PADDING_EXCLUDE && states_padding(source);
}

void ts_source_resolve_padding(struct param_set *set, const struct source *source)
{
    if (!states_padding(source))
        ts_param_idle(set, "padding");
}
