/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the value of a parameter as JSON, by its kind.
 */
#include "core/json.h"
#include "core/params.h"

static void write_number(struct json *json, double value)
{
    if (isinf(value))
        ts_json_text(json, value > 0 ? "inf" : "-inf");
    else
        ts_json_real(json, value);
}

static void write_numbers(struct json *json, const struct ts_numbers *numbers)
{
    ts_json_open(json, '[');
    for (int64_t row = 0; row < numbers->rows; row++) {
        if (numbers->rows > 1)
            ts_json_open(json, '[');
        for (int64_t column = 0; column < numbers->columns; column++)
            write_number(json, numbers->values[row * numbers->columns + column]);
        if (numbers->rows > 1)
            ts_json_close(json, ']');
    }
    ts_json_close(json, ']');
}

static void write_texts(struct json *json, const struct ts_texts *texts)
{
    ts_json_open(json, '[');
    for (int64_t i = 0; i < texts->n; i++)
        ts_json_text(json, texts->items[i]);
    ts_json_close(json, ']');
}

void ts_json_param(struct json *json, const struct param *param, const void *value)
{
    switch (param->kind) {
    case PARAM_INTEGER:
        ts_json_integer(json, *(const int64_t *)value);
        break;
    case PARAM_REAL:
        write_number(json, *(const double *)value);
        break;
    case PARAM_CHOICE:
        ts_json_text(json, ts_choice_name(param->choices, *(const int32_t *)value));
        break;
    case PARAM_BOOL:
        ts_json_bool(json, *(const bool *)value);
        break;
    case PARAM_TEXT: {
        const char *text = *(const char *const *)value;
        ts_json_text(json, text ? text : "");
        break;
    }
    case PARAM_TEXTS:
        write_texts(json, value);
        break;
    case PARAM_NUMBERS:
        write_numbers(json, value);
        break;
    case PARAM_REFERENCE:
        ts_json_text(json, ((const struct ts_reference *)value)->name);
        break;
    }
}
