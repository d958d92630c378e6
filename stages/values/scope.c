/* SPDX-License-Identifier: Apache-2.0
 *
 * The parameters `scope` and `axis` are found by their names, and `axis` by its choices too, so a
 * stage only needs to have them; their values are those of enum scope and enum scope_along.
 */
#include "stages/values/scope.h"

#include "stages/engine/traits.h"

#define OF_VOLUME                                                                                  \
    {                                                                                              \
        "volume", SCOPE_VOLUME,                                                                    \
            "all slices together; of a series of volumes, each volume by itself"                   \
    }
#define OF_SLICE                                                                                   \
    {                                                                                              \
        "slice", SCOPE_SLICE, "each slice (index of the first axis) by itself"                     \
    }
const struct choice ts_scope_choices[] = {OF_VOLUME, OF_SLICE, {NULL, 0, NULL}};
const struct choice ts_scope_series_choices[] = {
    OF_VOLUME,
    OF_SLICE,
    {"series", SCOPE_SERIES,
     "all slices of all volumes together; every volume is then read once more for it"},
    {NULL, 0, NULL},
};

/* Returns the parameter `scope`, or `volume` if the stage has none. */
static int32_t scope_of(const struct stage_context *context)
{
    const struct stage *stage = context->stage;
    const struct param *param = ts_param_find(stage->params, stage->n_params, "scope", NULL);
    return param ? *(const int32_t *)((const char *)context->params + param->offset) : SCOPE_VOLUME;
}

bool ts_scope_is_slice(const struct stage_context *context)
{
    return scope_of(context) == SCOPE_SLICE;
}

bool ts_scope_is_series(const struct stage_context *context)
{
    return scope_of(context) == SCOPE_SERIES;
}

const struct choice ts_scope_along_choices[] = {
    {"z", SCOPE_ALONG_Z, "the slices of a volume, of a series those of each volume"},
    {"time", SCOPE_ALONG_TIME, "the volumes of a series in time"},
    {"echo", SCOPE_ALONG_ECHO, "the echoes of an MR"},
    {"b", SCOPE_ALONG_B, "the volumes of a diffusion MR"},
    {"volumes", SCOPE_ALONG_VOLUMES, "the volumes of a series, whatever they differ by"},
    {NULL, 0, NULL},
};

/* Returns the parameter `axis` with the choices above, or `z` if the stage has none. */
static int32_t along_of(const struct stage_context *context)
{
    const struct stage *stage = context->stage;
    const struct param *param = ts_param_find(stage->params, stage->n_params, "axis", NULL);
    return param && param->choices == ts_scope_along_choices
               ? *(const int32_t *)((const char *)context->params + param->offset)
               : SCOPE_ALONG_Z;
}

bool ts_scope_joins_volumes(const struct stage_context *context)
{
    return along_of(context) != SCOPE_ALONG_Z;
}

bool ts_scope_takes_volumes(const struct stage_context *context, enum ts_axis_kind kind)
{
    static const enum ts_axis_kind kinds[] = {[SCOPE_ALONG_Z] = TS_AXIS_Z,
                                              [SCOPE_ALONG_TIME] = TS_AXIS_TIME,
                                              [SCOPE_ALONG_ECHO] = TS_AXIS_ECHO,
                                              [SCOPE_ALONG_B] = TS_AXIS_B};
    const int32_t along = along_of(context);
    return along == SCOPE_ALONG_VOLUMES || kinds[along] == kind;
}

bool ts_scope_per_slice(const struct stage_context *context)
{
    return ts_scope_is_slice(context) && ts_stage_rounds(context) > 0;
}

size_t ts_scope_slices(const struct stage_context *context)
{
    return ts_scope_is_slice(context) ? 1 : (size_t)context->in.axes[0].n;
}

const void *ts_scope_result(const struct stage_context *context, int64_t z)
{
    const size_t stride =
        ts_stage_reduces_slices(context) ? context->stage->reduction->result_bytes(context) : 0;
    return (const char *)context->result + (size_t)z * stride;
}

struct stage_table ts_scope_table(const struct stage_context *context, const char *name,
                                  const char *doc, enum ts_dtype dtype, bool in_values)
{
    struct stage_table table = {.name = name, .doc = doc};
    table.image = (struct ts_image){.dtype = dtype,
                                    .quantity = in_values ? context->in.quantity : TS_INTENSITY,
                                    .unit = in_values ? context->in.unit : "1"};
    if (ts_stage_reduces_slices(context))
        table.image.axes[table.image.rank++] = context->in.axes[0];
    return table;
}

void ts_scope_axis(struct stage_table *table, enum ts_axis_kind kind, int64_t n)
{
    table->image.axes[table->image.rank++] = (struct ts_axis){.kind = kind, .n = n, .unit = ""};
}
