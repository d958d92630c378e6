/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules that every table of a stage or a source format keeps, over the whole registry: what help,
 * docs, schema, loading and provenance rely on.
 */
#include <criterion/criterion.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cuda/device/device.h"
#include "pipeline/chain/chain.h"
#include "pipeline/chain/formats.h"
#include "stages/engine/driver.h"

struct table {
    const char *owner, *summary;
    const struct param *params;
    size_t n_params, bytes;
};

static size_t n_broken;

/* All broken rules of all tables at once: one run shows what there is to mend. */
static void expect(bool kept, const char *owner, const char *param, const char *rule)
{
    if (!kept) {
        fprintf(stderr, "%s%s%s: %s\n", owner, *param ? "." : "", param, rule);
        n_broken++;
    }
}

static size_t collect(struct table *tables, size_t capacity)
{
    size_t n = 0;
    for (const struct stage *const *stage = ts_stages; *stage && n < capacity; stage++)
        tables[n++] = (struct table){(*stage)->name, (*stage)->summary, (*stage)->params,
                                     (*stage)->n_params, (*stage)->params_bytes};
    for (const struct source_format *const *format = ts_source_formats; *format && n < capacity;
         format++)
        tables[n++] = (struct table){(*format)->name, (*format)->summary, (*format)->params,
                                     (*format)->n_params, (*format)->params_bytes};
    return n;
}

static bool is_name(const char *text)
{
    if (!islower((unsigned char)*text))
        return false;
    for (; *text; text++)
        if (!islower((unsigned char)*text) && !isdigit((unsigned char)*text) && *text != '_')
            return false;
    return true;
}

/* One line of words without a period at its end. */
static bool is_sentence(const char *text)
{
    return text && *text && text[strlen(text) - 1] != '.' && text[strlen(text) - 1] != ' ' &&
           !strchr(text, '\n');
}

static size_t kind_bytes(enum param_kind kind)
{
    static const size_t bytes[] = {[PARAM_INTEGER] = sizeof(int64_t),
                                   [PARAM_REAL] = sizeof(double),
                                   [PARAM_CHOICE] = sizeof(int32_t),
                                   [PARAM_BOOL] = sizeof(bool),
                                   [PARAM_TEXT] = sizeof(const char *),
                                   [PARAM_TEXTS] = sizeof(struct ts_texts),
                                   [PARAM_NUMBERS] = sizeof(struct ts_numbers),
                                   [PARAM_REFERENCE] = sizeof(struct ts_reference)};
    return bytes[kind];
}

static void check_choices(const struct table *table, const struct param *param)
{
    expect((param->kind == PARAM_CHOICE) == (param->choices != NULL), table->owner, param->name,
           "choices and kind disagree");
    if (!param->choices)
        return;
    expect(param->choices->name != NULL, table->owner, param->name, "has no choice");
    for (const struct choice *choice = param->choices; choice->name; choice++) {
        expect(is_sentence(choice->doc), table->owner, param->name,
               "a choice's doc is not one line without a period");
        for (const struct choice *other = param->choices; other < choice; other++)
            expect(strcasecmp(other->name, choice->name) != 0 &&
                       (other->value != choice->value || choice->alias),
                   table->owner, param->name, "two choices are alike");
        bool named = !choice->alias;
        for (const struct choice *other = param->choices; other < choice; other++)
            named = named || (other->value == choice->value && !other->alias);
        expect(named, table->owner, param->name,
               "an alias without a choice before it that it stands for");
    }
    if (!param->required && !param->derived)
        expect(ts_choice_name(param->choices, param->init.choice) != NULL, table->owner,
               param->name, "its default is not among its choices");
}

static void check_default(const struct table *table, const struct param *param)
{
    const bool by_list = param->kind == PARAM_TEXTS || param->kind == PARAM_NUMBERS ||
                         param->kind == PARAM_REFERENCE;
    const bool init = param->init.i || param->init.r != 0 || param->init.choice || param->init.b ||
                      param->init.text;
    const int stated = (param->required != 0) + (param->optional != 0) + (param->derived != NULL);
    expect(stated <= 1 && (stated == 0 || !init), table->owner, param->name,
           "more than one of required, optional, derived, init");
    expect(stated == 1 || !by_list, table->owner, param->name,
           "a list or reference needs required, optional or derived");
    expect(!param->optional || by_list || param->kind == PARAM_TEXT, table->owner, param->name,
           "its kind cannot be optional");
    if (stated == 0 && param->kind == PARAM_TEXT)
        expect(param->init.text != NULL, table->owner, param->name, "its default text is NULL");
    const bool bounded = param->min != 0 || param->max != 0;
    const double value = param->kind == PARAM_INTEGER ? (double)param->init.i : param->init.r;
    if (stated == 0 && bounded && (param->kind == PARAM_INTEGER || param->kind == PARAM_REAL))
        expect(value >= param->min && value <= param->max, table->owner, param->name,
               "its default is outside its range");
}

/* An older default is one that its parameter takes, and it differs from today's. */
static void check_old_default(const struct table *table, const struct param *param)
{
    char now[128], old[128];
    if (param->old.until == 0)
        return;
    const bool stated = param->required || param->optional || param->kind > PARAM_TEXT;
    expect(param->old.until > 0 && param->old.until < CHAIN_VERSION, table->owner, param->name,
           "its older default is of no older version");
    expect(!stated, table->owner, param->name, "has an older default, but none today");
    if (stated)
        return;
    if (param->choices)
        expect(ts_choice_name(param->choices, param->old.init.choice) != NULL, table->owner,
               param->name, "its older default is not among its choices");
    if (param->derived)
        snprintf(now, sizeof now, "%s", param->derived);
    else
        ts_param_format_value(param, &param->init, now, sizeof now);
    ts_param_format_value(param, &param->old.init, old, sizeof old);
    expect(strcmp(now, old) != 0, table->owner, param->name, "its older default is today's");
}

static void check_frames(const struct table *table, const struct param *param)
{
    const bool known =
        param->frames && (!strcmp(param->frames, "flats") || !strcmp(param->frames, "darks"));
    expect(!param->frames || (known && param->kind == PARAM_REFERENCE), table->owner, param->name,
           "frames are those of a reference, flats or darks");
}

static void check_param(const struct table *table, size_t i)
{
    static const char *const units[] = {"pixel", "detector", "degree", "mm", "value", "HU",
                                        "1/mm",  "mm3",      "%",      "1",  "",      NULL};
    static const char *const measured[] = {"radius", "spacing", "angle", "arc", "width", "center"};
    const struct param *param = &table->params[i];
    bool known = param->unit == NULL;
    expect(is_name(param->name), table->owner, param->name,
           "its name is not made of a-z, 0-9 and _");
    expect(strcmp(param->name, "name") != 0 && strcmp(param->name, "input") != 0, table->owner,
           param->name, "its name belongs to every stage");
    expect(is_sentence(param->doc), table->owner, param->name,
           "its doc is not one line without a period at the end");
    expect(param->min <= param->max, table->owner, param->name, "its range is empty");
    for (size_t k = 0; units[k]; k++)
        known = known || !strcmp(param->unit, units[k]);
    expect(known, table->owner, param->name, "its unit is not one of those that others use");
    for (size_t k = 0; k < sizeof measured / sizeof *measured; k++)
        if (strstr(param->name, measured[k]) &&
            (param->kind == PARAM_INTEGER || param->kind == PARAM_REAL ||
             param->kind == PARAM_NUMBERS))
            expect(param->unit && *param->unit, table->owner, param->name,
                   "a length or an angle without a unit");
    expect(param->offset + kind_bytes(param->kind) <= table->bytes, table->owner, param->name,
           "its field is outside the struct");
    for (size_t j = 0; j < i; j++) {
        const struct param *other = &table->params[j];
        expect(strcmp(other->name, param->name) != 0, table->owner, param->name,
               "two parameters of this name");
        expect(other->offset + kind_bytes(other->kind) <= param->offset ||
                   param->offset + kind_bytes(param->kind) <= other->offset,
               table->owner, param->name, "its field overlaps another's");
    }
    check_choices(table, param);
    check_default(table, param);
    check_old_default(table, param);
    check_frames(table, param);
}

Test(tables, keep_the_rules)
{
    struct table tables[128];
    const size_t n = collect(tables, sizeof tables / sizeof *tables);
    cr_assert_gt(n, 1);
    for (size_t t = 0; t < n; t++) {
        expect(is_name(tables[t].owner), tables[t].owner, "",
               "its name is not made of a-z, 0-9 and _");
        expect(is_sentence(tables[t].summary), tables[t].owner, "",
               "its summary is not one line without a period");
        expect(tables[t].n_params <= PARAMS_MAX, tables[t].owner, "",
               "has more parameters than PARAMS_MAX");
        for (size_t i = 0; i < tables[t].n_params; i++)
            check_param(&tables[t], i);
    }
    cr_assert_eq(n_broken, 0, "%zu rules are broken", n_broken);
}

Test(tables, formats_have_a_parameter_for_their_path)
{
    for (const struct source_format *const *format = ts_source_formats; *format; format++) {
        const struct param *param =
            ts_param_find((*format)->params, (*format)->n_params, (*format)->name, NULL);
        cr_assert(param && param->required, "%s has no required parameter of its own name",
                  (*format)->name);
        cr_assert(!ts_stage_find((*format)->name), "%s is a stage and a source format",
                  (*format)->name);
        cr_assert((*format)->open || (*format)->open_on, "%s cannot be opened", (*format)->name);
    }
}

Test(tables, stages_say_what_the_pages_need)
{
    for (const struct stage *const *at = ts_stages; *at; at++) {
        const struct stage *stage = *at;
        int references = 0;
        expect(stage->doc && *stage->doc, stage->name, "", "has no doc");
        expect(stage->tolerance.why && *stage->tolerance.why, stage->name, "",
               "does not say why its tolerance is what it is");
        expect(stage->axes && stage->dtypes && stage->quantities, stage->name, "",
               "accepts nothing");
        expect(!(stage->dtypes & ~TS_ANY_DTYPE) && !(stage->quantities & ~TS_ANY_QUANTITY),
               stage->name, "", "accepts what does not exist");
        expect(!(stage->axes & AXES_SINOGRAM) == !stage->beams && !(stage->beams & ~TS_ANY_BEAM),
               stage->name, "",
               "takes sinograms without saying of which beams, or beams without sinograms");
        expect(ts_stage_find(stage->name) == stage, stage->name, "", "another stage has its name");
        expect(!stage->tables || stage->map, stage->name, "",
               "has tables of a map that it does not have");
        if (stage->reduction && stage->reduction->finds_axes)
            expect(stage->shape && !(stage->cuda && stage->cuda->reduction->finishes), stage->name,
                   "", "finds axes without a shape(), or its results stay on the device");
        for (size_t i = 0; i < stage->n_params; i++)
            references += stage->params[i].kind == PARAM_REFERENCE;
        expect(references <= STAGE_REFERENCES, stage->name, "", "has too many references");
    }
    cr_assert_eq(n_broken, 0, "%zu rules are broken", n_broken);
}

/* The folder of each stage's files below stages/ and cuda/, in the registry's order. */
static const char *const rooms[] = {
#define STAGE(room, name) #room,
#include "stages/stages.def"
#undef STAGE
};

/* True where cuda/ROOM/NAME.cu stands in the sources, which a build without CUDA has as well. */
static bool has_cuda_file(size_t i)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/../cuda/%s/%s.cu", TESTS_FOLDER, rooms[i], ts_stages[i]->name);
    return access(path, R_OK) == 0;
}

/* A stage that computes has CUDA code or says why not: a first contribution may be for the CPU
 * alone. Those that are stand in the output of every run of the tests. */
Test(tables, stages_have_cuda_code_or_say_why_not)
{
    size_t n_cpu_only = 0;
    if (access(TESTS_FOLDER "/../cuda/device", R_OK) != 0) {
        fprintf(stderr, "SKIPPED: the sources are not beside the tests\n");
        cr_skip_test("no sources");
    }
    for (size_t i = 0; ts_stages[i]; i++) {
        const struct stage *stage = ts_stages[i];
        const bool computes = stage->map || stage->reduction, cuda = has_cuda_file(i);
        expect(!stage->cpu_only || is_sentence(stage->cpu_only), stage->name, "",
               "its cpu_only is not one line without a period");
        expect(computes == (cuda || stage->cpu_only), stage->name, "",
               "has no cuda/ROOM/NAME.cu, and does not say why in cpu_only");
        expect(!cuda || !stage->cpu_only, stage->name, "",
               "says cpu_only and has cuda/ROOM/NAME.cu: delete one of them");
        expect(!ts_cuda_built() || cuda == (stage->cuda != NULL), stage->name, "",
               "its .cuda does not name its code");
        if (stage->cpu_only)
            fprintf(stderr, "CPU ONLY: %s: %s\n", stage->name, stage->cpu_only);
        n_cpu_only += stage->cpu_only != NULL;
    }
    fprintf(stderr, "%zu stages run on the CPU alone\n", n_cpu_only);
    cr_assert_eq(n_broken, 0, "%zu rules are broken", n_broken);
}

/* Every required number gets the value of its range that is nearest to 1. */
static void fill_required(struct param_set *set)
{
    static const double one = 1;
    for (size_t i = 0; i < set->n_params; i++) {
        const struct param *param = &set->params[i];
        unsigned char *at = (unsigned char *)set->values + param->offset;
        if (!param->required)
            continue;
        const double value = param->max != 0 && param->min > 1 ? param->min : 1;
        if (param->kind == PARAM_INTEGER)
            *(int64_t *)at = (int64_t)value;
        else if (param->kind == PARAM_REAL)
            *(double *)at = value;
        else if (param->kind == PARAM_CHOICE)
            *(int32_t *)at = param->choices->value;
        else if (param->kind == PARAM_TEXT)
            *(const char **)at = "text";
        else if (param->kind == PARAM_NUMBERS)
            *(struct ts_numbers *)at = (struct ts_numbers){1, 1, &one};
        set->given |= UINT32_C(1) << i;
    }
}

static enum ts_status prepare(const struct stage *stage, const struct ts_image *in,
                              struct param_set *set, struct stage_context *context)
{
    struct ts_diag *diag = ts_diag_create();
    set->params = stage->params;
    set->n_params = stage->n_params;
    set->owner = stage->name;
    set->given = 0;
    set->values = calloc(1, stage->params_bytes + 1);
    ts_params_init(set);
    fill_required(set);
    const enum ts_status status = ts_stage_prepare(stage, set, in, NULL, 1, NULL, diag, context);
    ts_diag_destroy(diag);
    return status;
}

/* resolve() and shape() called twice say the same, whatever was planned in between. */
Test(tables, shape_is_pure)
{
    size_t n_compared = 0;
    for (const struct stage *const *stage = ts_stages; *stage; stage++)
        for (int dtype = TS_U8; dtype <= TS_F32; dtype++)
            for (int quantity = TS_COUNTS; quantity <= TS_INTENSITY; quantity++) {
                struct ts_image in = {
                    .rank = 3,
                    .axes = {{.kind = TS_AXIS_Z, .n = 3, .spacing = 2, .unit = "mm"},
                             {.kind = TS_AXIS_Y, .n = 11, .spacing = 1, .unit = "mm"},
                             {.kind = TS_AXIS_X, .n = 13, .spacing = 1, .unit = "mm"}},
                    .dtype = dtype,
                    .quantity = quantity,
                    .unit = "1"};
                struct param_set sets[2] = {{0}};
                struct stage_context first, second;
                const enum ts_status status = prepare(*stage, &in, &sets[0], &first);
                cr_assert_eq(prepare(*stage, &in, &sets[1], &second), status, "%s changes its mind",
                             (*stage)->name);
                if (status == TS_OK) {
                    cr_assert_eq(first.out.rank, second.out.rank);
                    cr_assert_eq(first.out.dtype, second.out.dtype);
                    cr_assert_eq(first.out.quantity, second.out.quantity);
                    cr_assert_str_eq(first.out.unit, second.out.unit);
                    for (int i = 0; i < first.out.rank; i++) {
                        cr_assert_eq(first.out.axes[i].n, second.out.axes[i].n, "%s",
                                     (*stage)->name);
                        cr_assert_eq(first.out.axes[i].spacing, second.out.axes[i].spacing, "%s",
                                     (*stage)->name);
                    }
                    cr_assert_null(first.out.data);
                    n_compared++;
                }
                free(sets[0].values);
                free(sets[1].values);
            }
    cr_assert_gt(n_compared, 40, "only %zu cases were accepted by a stage", n_compared);
}
