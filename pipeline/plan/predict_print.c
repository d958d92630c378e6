/* SPDX-License-Identifier: Apache-2.0
 *
 * The prediction as text and as JSON. Parts that take less than a hundredth of a second are left out of the text, and
 * what was assumed stands beside the time, because a prediction is worth no more than its assumptions.
 */
#include "pipeline/plan/predict_print.h"

#include "pipeline/plan/predict.h"

enum { TEXT_BYTES = 160 };

static void print_parts(const struct prediction *prediction, FILE *stream)
{
    const char *separator = "parts, each alone: ";
    for (int i = 0; i < PREDICT_PARTS; i++) {
        if (prediction->parts[i].seconds < 0.005)
            continue;
        fprintf(stream, "%s%s %.2f s", separator, ts_predict_part_name((enum predict_part)i),
                prediction->parts[i].seconds);
        separator = ", ";
    }
    if (*separator == ',')
        fputc('\n', stream);
}

void ts_predict_print(const struct ts_plan *plan, FILE *stream)
{
    const struct prediction *prediction = plan->prediction;
    char bound[TEXT_BYTES];
    if (!prediction) {
        fprintf(stream, "predicted: nothing, because %s; `tomostage bench rates` measures them in less than a minute\n",
                plan->no_prediction);
        return;
    }
    ts_predict_bound_text(plan, prediction, bound, sizeof bound);
    fprintf(stream, "predicted: %.2f s, %s", prediction->seconds, bound);
    if (prediction->ratio < 1)
        fprintf(stream, "; assumes that compression leaves %.0f %%", 100 * prediction->ratio);
    if (prediction->no_rate_of)
        fprintf(stream, "; the rate of %s is assumed", prediction->no_rate_of);
    fputc('\n', stream);
    print_parts(prediction, stream);
}

void ts_predict_print_json(const struct ts_plan *plan, struct json *json)
{
    const struct prediction *prediction = plan->prediction;
    char bound[TEXT_BYTES];
    if (!prediction) {
        ts_json_member_text(json, "no_prediction", plan->no_prediction);
        return;
    }
    ts_predict_bound_text(plan, prediction, bound, sizeof bound);
    ts_json_open_member(json, "prediction", '{');
    ts_json_member_real(json, "seconds", prediction->seconds);
    ts_json_member_text(json, "bound", bound);
    ts_json_member_real(json, "bound_seconds", prediction->bound_seconds);
    ts_json_member_real(json, "assumed_ratio", prediction->ratio);
    if (prediction->no_rate_of)
        ts_json_member_text(json, "assumed_rate_of", prediction->no_rate_of);
    ts_json_open_member(json, "parts", '{');
    for (int i = 0; i < PREDICT_PARTS; i++) {
        ts_json_open_member(json, ts_predict_part_name((enum predict_part)i), '{');
        ts_json_member_real(json, "seconds", prediction->parts[i].seconds);
        ts_json_member_real(json, "bytes", prediction->parts[i].bytes);
        ts_json_close(json, '}');
    }
    ts_json_close(json, '}');
    ts_json_open_member(json, "stages", '{');
    for (int32_t i = plan->n_sources; i < plan->n_nodes; i++)
        ts_json_member_real(json, plan->nodes[i].label, prediction->stage_seconds[i]);
    ts_json_close(json, '}');
    ts_json_close(json, '}');
}
