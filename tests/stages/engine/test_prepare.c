/* SPDX-License-Identifier: Apache-2.0
 *
 * Ranges of parameters hold whoever filled them in: ts_stage_prepare refuses values that no loader
 * has seen.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "stages/engine/prepare.h"

struct probe {
    const struct stage *stage;
    struct param_set set;
    size_t param;
};

/* Fills in the defaults, and the lowest value of every required number. */
static void fill(struct probe *probe)
{
    const struct stage *stage = probe->stage;
    probe->set = (struct param_set){.params = stage->params,
                                    .n_params = stage->n_params,
                                    .owner = stage->name,
                                    .values = calloc(1, stage->params_bytes + 1)};
    ts_params_init(&probe->set);
    for (size_t i = 0; i < stage->n_params; i++) {
        void *at = (unsigned char *)probe->set.values + stage->params[i].offset;
        if (stage->params[i].required && stage->params[i].kind == PARAM_INTEGER)
            *(int64_t *)at = (int64_t)stage->params[i].min;
        if (stage->params[i].required && stage->params[i].kind == PARAM_REAL)
            *(double *)at = stage->params[i].min;
    }
}

/* Prepares the stage with `value` in the probed parameter and expects one record: parameter-range
 * or parameter-choice. */
static void expect_refusal(struct probe *probe, double value)
{
    static const struct ts_image in = {
        .rank = 3,
        .axes = {{.kind = TS_AXIS_Z, .n = 3, .spacing = 2, .unit = "mm"},
                 {.kind = TS_AXIS_Y, .n = 11, .spacing = 1, .unit = "mm"},
                 {.kind = TS_AXIS_X, .n = 13, .spacing = 1, .unit = "mm"}},
        .dtype = TS_F32,
        .quantity = TS_INTENSITY,
        .unit = "1"};
    const struct param *param = &probe->stage->params[probe->param];
    const double list[] = {param->min, value};
    struct ts_diag *diag = ts_diag_create();
    struct stage_context context;
    fill(probe);
    void *at = (unsigned char *)probe->set.values + param->offset;
    switch (param->kind) {
    case PARAM_INTEGER:
        *(int64_t *)at = (int64_t)value;
        break;
    case PARAM_REAL:
        *(double *)at = value;
        break;
    case PARAM_CHOICE:
        *(int32_t *)at = (int32_t)value;
        break;
    default:
        *(struct ts_numbers *)at = (struct ts_numbers){1, 2, list};
    }
    probe->set.given = 1u << probe->param;
    cr_assert_eq(ts_stage_prepare(probe->stage, &probe->set, &in, NULL, 1, NULL, diag, &context),
                 TS_BAD_CHAIN, "%s.%s takes %g", probe->stage->name, param->name, value);
    cr_assert_eq(ts_diag_count(diag), 1, "%s.%s: %zu records", probe->stage->name, param->name,
                 ts_diag_count(diag));
    cr_assert_str_eq(ts_diag_get(diag, 0)->code,
                     param->kind == PARAM_CHOICE ? "parameter-choice" : "parameter-range");
    free(probe->set.values);
    ts_diag_destroy(diag);
}

static void probe_param(struct probe *probe, size_t *n_ranged)
{
    const struct param *param = &probe->stage->params[probe->param];
    const bool integer = param->kind == PARAM_INTEGER, bounded = param->min != 0 || param->max != 0;
    if (param->kind == PARAM_CHOICE) {
        expect_refusal(probe, -1000);
        expect_refusal(probe, 1000);
        ++*n_ranged;
    }
    if (!integer && param->kind != PARAM_REAL && param->kind != PARAM_NUMBERS)
        return;
    if (!integer)
        expect_refusal(probe, (double)NAN);
    if (bounded && isfinite(param->min))
        expect_refusal(probe, integer ? param->min - 1 : nextafter(param->min, -(double)INFINITY));
    if (bounded && isfinite(param->max))
        expect_refusal(probe, integer ? param->max + 1 : nextafter(param->max, (double)INFINITY));
    if (!bounded && !integer)
        expect_refusal(probe, (double)INFINITY);
    *n_ranged += bounded;
}

Test(prepare, refuses_values_out_of_range)
{
    size_t n_ranged = 0;
    for (const struct stage *const *stage = ts_stages; *stage; stage++)
        for (size_t param = 0; param < (*stage)->n_params; param++) {
            struct probe probe = {.stage = *stage, .param = param};
            probe_param(&probe, &n_ranged);
        }
    cr_assert_gt(n_ranged, 100, "only %zu parameters have a range", n_ranged);
}

/* A default that is out of range, or a required number that nobody gave, is refused as well. */
Test(prepare, refuses_what_nobody_gave)
{
    static const struct param sized_params[] = {
        {.name = "size",
         .kind = PARAM_INTEGER,
         .min = 1,
         .max = 9,
         .required = true,
         .doc = "of nothing"},
    };
    const struct stage stage = {.name = "sized",
                                .axes = AXES_VOLUME,
                                .dtypes = TS_ANY_DTYPE,
                                .quantities = TS_ANY_QUANTITY,
                                .params = sized_params,
                                .n_params = 1,
                                .params_bytes = sizeof(int64_t)};
    int64_t size = 0;
    struct param_set set = {
        .params = sized_params, .n_params = 1, .owner = "sized", .values = &size};
    const struct ts_image in = {.rank = 3, .axes = {{.n = 1}, {.n = 1}, {.n = 1}}, .dtype = TS_U8};
    struct ts_diag *diag = ts_diag_create();
    struct stage_context context;
    cr_assert_eq(ts_stage_prepare(&stage, &set, &in, NULL, 1, NULL, diag, &context), TS_BAD_CHAIN);
    cr_assert_str_eq(ts_diag_get(diag, 0)->code, "parameter-range");
    cr_assert_str_eq(ts_diag_get(diag, 0)->message, "0 is outside [1, 9]");
    ts_diag_destroy(diag);
}

/* Prepares `box` with a radius in mm. Returns the radius in pixels, or -1 with the code of the
 * refusal. */
static int64_t radius_of(double mm, const double spacing[3], const char *unit, bool in_3d,
                         const char **code)
{
    struct probe probe = {.stage = ts_stage_find("box")};
    struct ts_image in = {.rank = 3, .dtype = TS_F32, .quantity = TS_INTENSITY, .unit = "1"};
    struct stage_context context;
    struct ts_diag *diag = ts_diag_create();
    size_t dimensions;
    fill(&probe);
    for (int d = 0; d < 3; d++)
        in.axes[d] = (struct ts_axis){.kind = (enum ts_axis_kind)(TS_AXIS_Z + d),
                                      .n = 40,
                                      .spacing = spacing[d],
                                      .unit = unit};
    cr_assert(ts_param_find(probe.set.params, probe.set.n_params, "dimensions", &dimensions));
    *(int32_t *)ts_param_field(&probe.set, dimensions) =
        probe.set.params[dimensions].choices[in_3d].value;
    cr_assert_str_eq(probe.set.params[0].name, "radius");
    probe.set.given = probe.set.given_in_unit = 1;
    probe.set.own_values[0] = mm;
    const enum ts_status status =
        ts_stage_prepare(probe.stage, &probe.set, &in, NULL, 1, NULL, diag, &context);
    const int64_t radius = status == TS_OK ? *(int64_t *)ts_param_field(&probe.set, 0) : -1;
    cr_assert_eq(status == TS_OK, ts_diag_count(diag) == 0);
    cr_assert(status != TS_OK || probe.set.given_in_unit == 0);
    *code = status == TS_OK                                         ? ""
            : !strcmp(ts_diag_get(diag, 0)->code, "length-spacing") ? "length-spacing"
                                                                    : "parameter-range";
    free(probe.set.values);
    ts_diag_destroy(diag);
    return radius;
}

Test(prepare, lengths_in_mm_become_pixels_where_that_is_exact)
{
    static const struct {
        double mm, spacing[3];
        const char *unit;
        bool in_3d;
        int64_t radius;
        const char *code;
    } cases[] = {
        {1.6, {2.5, 0.8, 0.8}, "mm", false, 2, ""},
        {2.4, {0.8, 0.8, 0.8}, "mm", true, 3, ""},
        {0.0065, {1, 0.0065, 0.0065}, "mm", false, 1, ""},
        {2, {2.5, 0.8, 0.8}, "mm", false, -1, "length-spacing"},   /* 2.5 pixels */
        {1.6, {2.5, 0.8, 0.8}, "mm", true, -1, "length-spacing"},  /* slices of another size */
        {1.6, {2.5, 0.8, 0.4}, "mm", false, -1, "length-spacing"}, /* rows and columns of another
                                                                      size */
        {2, {1, 1, 1}, "pixel", false, -1, "length-spacing"},      /* not known */
        {-1.6, {0.8, 0.8, 0.8}, "mm", false, -1, "parameter-range"},
        {1e300, {0.8, 0.8, 0.8}, "mm", false, -1, "parameter-range"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *code;
        cr_expect_eq(radius_of(cases[i].mm, cases[i].spacing, cases[i].unit, cases[i].in_3d, &code),
                     cases[i].radius, "case %zu", i);
        cr_expect_str_eq(code, cases[i].code, "case %zu", i);
    }
}
