/* SPDX-License-Identifier: Apache-2.0
 *
 * An image is masked if any of its slices states padding, and `padding` says that it counts.
 */
#include "io/source/source_padding.h"

const struct choice ts_source_padding_choices[] = {
    {"value", PADDING_VALUE, "they are pixels like any other"},
    {"exclude", PADDING_EXCLUDE,
     "they are invalid: no stage takes them for measured values (docs/padding.md)"},
    {NULL, 0, NULL},
};

static bool states_padding(const struct source *source)
{
    for (int64_t z = 0; z < ts_source_total(source); z++)
        if (source->slices[z].states_padding)
            return true;
    return false;
}

enum ts_status ts_source_set_padding(struct source *source, enum source_padding padding,
                                     struct ts_diag *diag)
{
    source->image.masked = padding == PADDING_EXCLUDE && states_padding(source);
    return ts_source_make_valid(source, diag);
}

void ts_source_resolve_padding(struct param_set *set, const struct source *source)
{
    if (!states_padding(source))
        ts_param_idle(set, "padding");
}
