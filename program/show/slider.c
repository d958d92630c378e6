/* SPDX-License-Identifier: Apache-2.0
 *
 * Each move prepares the stage again from the chain's own parameters with the one changed, as a
 * plan does, since a stage derives others from it. The CPU and the device run the code of a run for
 * one slice (ts_stage_apply_slice), so the slice is the one that a run would write. A reduction
 * over the whole volume is repeated at each move.
 */
#include "program/show/slider.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/timing.h"

static int64_t count_of(const struct ts_numbers *numbers)
{
    return numbers->rows * numbers->columns;
}

/* Returns true for a number, a switch or a choice. A list counts as a number if it holds one, or is
   optional and not given. */
static bool is_movable(const struct param_set *set, size_t i)
{
    const struct param *row = &set->params[i];
    if (row->kind == PARAM_NUMBERS) {
        const int64_t n = count_of(ts_param_field(set, i));
        return n == 1 || (n == 0 && row->optional);
    }
    return row->kind == PARAM_INTEGER || row->kind == PARAM_REAL || row->kind == PARAM_BOOL ||
           row->kind == PARAM_CHOICE;
}

static enum ts_status slider_refuse(struct ts_diag *diag, const char *name, const char *what)
{
    return ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "no-slider"},
                         "--stage %s: %s", name, what);
}

/* Splits "box#2.radius" into its parts. */
static bool split(const char *name, char stage[64], int *number, const char **param)
{
    char *end = NULL;
    const char *dot = strrchr(name, '.'), *hash = strchr(name, '#');
    const char *stop = hash ? hash : dot;
    const long place = hash ? strtol(hash + 1, &end, 10) : 1;
    if (!dot || stop == name || stop - name > 63 || place < 1 || place > INT_MAX ||
        (hash && end != dot))
        return false;
    *number = (int)place;
    snprintf(stage, 64, "%.*s", (int)(stop - name), name);
    *param = dot + 1;
    return true;
}

enum ts_status ts_slider_find(struct slider *slider, const struct ts_chain *chain, const char *name,
                              struct ts_diag *diag)
{
    char stage[64];
    const char *param;
    int number;
    *slider = (struct slider){0};
    if (!split(name, stage, &number, &param))
        return slider_refuse(
            diag, name,
            "STAGE.PARAMETER is expected, such as box.radius, or box#2.radius of a second box");
    for (int32_t i = 0; i < chain->n_stages && !slider->stage; i++)
        if (!strcmp(chain->stages[i].stage->name, stage) && --number == 0) {
            slider->stage = &chain->stages[i];
            slider->stage_index = i;
        }
    if (!slider->stage)
        return slider_refuse(diag, name, "the chain has no such stage");
    const int32_t before = slider->stage_index > 0 ? chain->n_sources + slider->stage_index - 1 : 0;
    if (slider->stage->input_node != before)
        return slider_refuse(diag, name, "the stage's input is not the image before it");
    const struct param_set *set = &slider->stage->set;
    if (!ts_param_find(set->params, set->n_params, param, &slider->param))
        return slider_refuse(diag, name, "the stage has no such parameter");
    if (!is_movable(set, slider->param))
        return slider_refuse(diag, name, "the parameter is neither a number nor a choice");
    if (!slider->stage->stage->map)
        return slider_refuse(diag, name, "the stage passes its image on as it is");
    if (slider->stage->stage->reads)
        return slider_refuse(diag, name,
                             "the slices that the stage makes are not those of its input");
    for (size_t i = 0; i < set->n_params; i++)
        if (set->params[i].kind == PARAM_REFERENCE &&
            ((struct ts_reference *)ts_param_field(set, i))->name)
            return slider_refuse(diag, name,
                                 "the stage takes another image, which a slider does not have");
    return TS_OK;
}

/* ---- the parameter as a number --------------------------------------------------------------- */

static double get(const struct param_set *set, size_t i)
{
    const void *field = ts_param_field(set, i);
    switch (set->params[i].kind) {
    case PARAM_INTEGER:
        return (double)*(const int64_t *)field;
    case PARAM_BOOL:
        return *(const bool *)field;
    case PARAM_REAL:
        return *(const double *)field;
    case PARAM_NUMBERS:
        return count_of(field) ? ((const struct ts_numbers *)field)->values[0] : 0;
    default:
        break;
    }
    int place = 0;
    while (set->params[i].choices[place].name &&
           set->params[i].choices[place].value != *(const int32_t *)field)
        place++;
    return place;
}

static void slider_put(struct slider *slider, double value)
{
    const struct param *row = &slider->set.params[slider->param];
    void *field = ts_param_field(&slider->set, slider->param);
    switch (row->kind) {
    case PARAM_INTEGER:
        *(int64_t *)field = (int64_t)llround(value);
        break;
    case PARAM_BOOL:
        *(bool *)field = value >= 0.5;
        break;
    case PARAM_REAL:
        *(double *)field = value;
        break;
    case PARAM_NUMBERS:
        slider->number = value;
        *(struct ts_numbers *)field = (struct ts_numbers){1, 1, &slider->number};
        break;
    default:
        *(int32_t *)field = row->choices[llround(value)].value;
    }
}

/* Sets the range of the slider: that of the parameter, but at most eight times its value, so that
   one can aim even if the parameter goes up to 1,024. */
static void set_way(struct slider *slider)
{
    const struct param *row = &slider->stage->set.params[slider->param];
    const double now = slider->value,
                 wide = fmax(8 * fabs(now), row->kind == PARAM_INTEGER ? 16 : 1);
    const bool bounded = row->min != 0 || row->max != 0;
    if (bounded)
        slider->low = fmax(row->min, -wide);
    else
        slider->low = now < 0 ? -wide : 0;
    slider->high = bounded ? fmin(row->max, wide) : wide;
    slider->step = row->kind == PARAM_REAL || row->kind == PARAM_NUMBERS
                       ? (slider->high - slider->low) / 200
                       : 1;
    if (row->kind == PARAM_BOOL || row->kind == PARAM_CHOICE) {
        int n = 0;
        while (row->kind == PARAM_CHOICE && row->choices[n].name)
            n++;
        slider->low = 0;
        slider->high = row->kind == PARAM_CHOICE ? n - 1 : 1;
    }
}

/* Prepares the stage with a value of the parameter; NaN: the chain's own value, which resolve() may
   derive. */
static enum ts_status slider_prepare(struct slider *slider, double value, struct ts_diag *diag)
{
    const struct ts_image *references[STAGE_REFERENCES] = {NULL};
    const struct stage *stage = slider->stage->stage;
    slider->set = slider->stage->set;
    slider->set.values = slider->values;
    memcpy(slider->values, slider->stage->set.values, stage->params_bytes);
    if (!isnan(value)) {
        slider_put(slider, value);
        slider->set.given |= 1u << slider->param;
    }
    const enum ts_status status =
        ts_stage_prepare(stage, &slider->set, &slider->in, references, slider->threads,
                         slider->device, diag, &slider->context);
    slider->context.diag = diag;
    return status;
}

static void write_text(struct slider *slider)
{
    char value[48];
    const struct param *row = &slider->set.params[slider->param];
    const bool is_list = row->kind == PARAM_NUMBERS;
    const bool absent = is_list && !count_of(ts_param_field(&slider->set, slider->param));
    if (is_list)
        ts_real_format(get(&slider->set, slider->param), value, sizeof value);
    else
        ts_param_format(&slider->set, slider->param, value, sizeof value);
    snprintf(slider->text, sizeof slider->text, "%s.%s = %s %s", slider->stage->stage->name,
             row->name, absent ? "not given" : value, row->unit && !absent ? row->unit : "");
}

/* Rounds to two decimals beyond the step's first digit, so that 60 steps of 0.04 are 2.4 and not
   2.4000000000000004. The text is then short, and the stage gets exactly that number. */
static double round_near(double value, double step)
{
    const double places = 2 - floor(log10(step)), scale = pow(10, fabs(places));
    return (places > 0 ? round(value * scale) / scale : round(value / scale) * scale) +
           0.0; /* 0, never -0 */
}

enum ts_status ts_slider_move(struct slider *slider, double value, struct ts_diag *diag)
{
    const double before = slider->value;
    value = round_near(slider->low + round((value - slider->low) / slider->step) * slider->step,
                       slider->step);
    value = fmin(fmax(value, slider->low), slider->high);
    enum ts_status status = slider_prepare(slider, value, diag);
    if (status == TS_OK && ts_slice_bytes(&slider->context.out) != ts_slice_bytes(&slider->made))
        status =
            slider_refuse(diag, slider->stage->stage->name, "the slice would have another size");
    if (status == TS_OK)
        slider->value = value;
    else
        (void)slider_prepare(slider, before, diag);
    write_text(slider);
    return status;
}

enum ts_status ts_slider_open(struct slider *slider, const struct ts_image *in,
                              const struct device_numbers *device, int threads,
                              struct ts_diag *diag)
{
    slider->in = *in;
    slider->in.data = NULL;
    slider->threads = threads;
    slider->device = slider->stage->stage->cuda ? device : NULL;
    slider->values = calloc(1, slider->stage->stage->params_bytes + 1);
    enum ts_status status = slider->values
                                ? slider_prepare(slider, NAN, diag)
                                : ts_diag_no_memory(diag, slider->stage->stage->params_bytes);
    if (status != TS_OK)
        return status;
    slider->value = get(&slider->set, slider->param);
    set_way(slider);
    write_text(slider);
    slider->made = slider->context.out;
    slider->made.axes[0].n = 1;
    slider->made.data = ts_memory_zeroed(ts_image_bytes(&slider->made));
    return slider->made.data ? TS_OK : ts_diag_no_memory(diag, ts_image_bytes(&slider->made));
}

enum ts_status ts_slider_make(struct slider *slider, struct renderer *renderer, int64_t z)
{
    const double begin = ts_seconds();
    struct stage_driver *driver = NULL;
    enum ts_status status;
    if (renderer->cuda && slider->device) {
        status = ts_cuda_view_make(renderer->cuda, &slider->context, z);
    } else {
        status = ts_driver_create(&slider->context, 1, NULL, &driver);
        if (status == TS_OK)
            status = ts_stage_apply_slice(driver, &renderer->images[VIEW_WHOLE], &slider->made, z);
        ts_driver_destroy(driver);
        if (status == TS_OK)
            status = ts_renderer_slices(renderer, VIEW_MADE, &slider->made);
    }
    slider->seconds = ts_seconds() - begin;
    return status;
}

void ts_slider_close(struct slider *slider)
{
    free(slider->values);
    free(slider->made.data);
    *slider = (struct slider){0};
}
