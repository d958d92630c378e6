/* SPDX-License-Identifier: Apache-2.0
 *
 * Gives the values of a sweep as fields of their parameter, as numbers, and as texts.
 */
#include "pipeline/chain/sweep.h"

#include <stdio.h>
#include <string.h>

#include "core/number.h"
#include "stages/engine/stage.h"

const void *ts_sweep_value(const struct chain_sweep *sweep, const struct param *param, int64_t k)
{
    return (const unsigned char *)sweep->values + (size_t)k * ts_param_bytes(param->kind);
}

static bool is_number(enum param_kind kind, const void *at, double *number)
{
    const struct ts_numbers *list = at;
    if (kind == PARAM_NUMBERS && list->rows * list->columns == 1)
        *number = list->values[0];
    else if (kind == PARAM_INTEGER || kind == PARAM_REAL)
        *number = kind == PARAM_REAL ? *(const double *)at : (double)*(const int64_t *)at;
    else
        return false;
    return true;
}

bool ts_sweep_number(const struct chain_sweep *sweep, const struct param *param, int64_t k,
                     double *number)
{
    double other;
    for (int64_t i = 0; i < sweep->n; i++)
        if (!is_number(param->kind, ts_sweep_value(sweep, param, i), i == k ? number : &other))
            return false;
    return true;
}

void ts_sweep_text(const struct chain_sweep *sweep, const struct param *param, int64_t k, char *out,
                   size_t size)
{
    double number;
    if (param->kind == PARAM_NUMBERS && ts_sweep_number(sweep, param, k, &number))
        ts_real_format(number, out, size);
    else
        ts_param_format_value(param, ts_sweep_value(sweep, param, k), out, size);
}

void ts_sweep_named(const struct chain_sweep *sweep, const struct param *param, int64_t k,
                    char *out, size_t size)
{
    const bool has_unit = param->unit && *param->unit && strcmp(param->unit, "value") != 0;
    char value[64];
    ts_sweep_text(sweep, param, k, value, sizeof value);
    snprintf(out, size, "%s %s%s%s", param->name, value, has_unit ? " " : "",
             has_unit ? param->unit : "");
}
