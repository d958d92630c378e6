/* SPDX-License-Identifier: Apache-2.0
 *
 * This is the list of all stages, made from stages/stages.def; it also finds a stage by its name.
 * `tomostage stages` and the docs keep the order of the lines there. A new stage needs one line
 * there and none here. Stages that were added follow in the order in which they came.
 */
#include "stages/engine/registry.h"

#include <ctype.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "core/description.h"
#include "core/image.h"

const struct stage *const ts_stages[] = {
#define STAGE(room, name) &name##_stage,
#include "stages/stages.def"
#undef STAGE
    NULL,
};

const struct stage *ts_stage_find(const char *name)
{
    for (const struct stage *const *stage = ts_stages; *stage; stage++)
        if (!strcmp((*stage)->name, name))
            return *stage;
    return NULL;
}

/* ---- a stage from outside -------------------------------------------------------------------- */

/* The functions of the struct stage are those below: each makes a struct ts_call of its context,
 * calls the function of the given table, and checks the answer, because the table's author could
 * not test it against this code. Behind the given struct of parameters are the references. */

enum {
    NAME_BYTES = 48,         /* of a name with its zero */
    LINE_BYTES = 512,        /* of a line of text */
    PARAMS_BYTES = 1 << 20,  /* of the struct of parameters */
    CHOICES = 256,           /* of a parameter */
    HALO = 4096,             /* most slices that a stage looks to either side */
    LONGEST_AXIS = INT32_MAX /* of the output */
};
/* Doubles hold every integer up to this one. */
#define MOST_INTEGER 0x1p53

struct added_stage {
    struct stage_origin origin; /* first, so that stage.origin leads to the rest */
    struct stage stage;
    struct stage_cuda cuda;
    struct ts_stage given;
    size_t n_references;
    struct arena *arena; /* owns the texts and tables above */
};

static const struct added_stage *added_of(const struct stage_context *context)
{
    return (const struct added_stage *)context->stage->origin;
}

static const struct stage *stage_of_added(const struct added_stage *added)
{
    return &added->stage;
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* What the pointer `inside` of a call leads to. */
struct call {
    const struct stage_context *context;
    bool refuses; /* false: this function has no errors, and what it says is not reported */
    enum ts_status refused;
    struct ts_image images[STAGE_INPUTS];
    struct ts_call call;
};

static bool is_failure(enum ts_status status)
{
    return status == TS_RUN_FAILED || status == TS_BAD_CHAIN || status == TS_BAD_INPUT;
}

static struct diag_site site_of(const struct stage_context *context, const char *code)
{
    return (struct diag_site){
        .code = code, .span = context->set->span, .stage = context->stage->name};
}

static enum ts_status registry_refuse(const struct ts_call *given, enum ts_status status,
                                      const char *code, const char *message, const char *hint)
{
    struct call *call = given->inside;
    const struct diag_site site = site_of(call->context, code && *code ? code : "stage-failed");
    if (!is_failure(status))
        status = TS_RUN_FAILED;
    if (!call->refuses)
        return status;
    call->refused = status;
    ts_diag_error(call->context->diag, status, &site, "%s", message ? message : "failed");
    return hint ? ts_diag_hint(call->context->diag, "%s", hint) : status;
}

/* Begins a call with descriptions of the images. */
static void registry_begin(struct call *call, const struct stage_context *context, bool refuses)
{
    const struct added_stage *added = added_of(context);
    *call = (struct call){.context = context, .refuses = refuses, .images = {context->in}};
    for (size_t i = 0; i < added->n_references; i++)
        if (context->references[i])
            call->images[1 + i] = *context->references[i];
    for (size_t i = 0; i <= added->n_references; i++) {
        call->images[i].data = NULL;
        call->images[i].valid = NULL;
    }
    call->call = (struct ts_call){.size = sizeof call->call,
                                  .params = context->params,
                                  .in = call->images,
                                  .n_in = 1 + (int)added->n_references,
                                  .threads = context->device ? 0 : context->threads,
                                  .on_cuda = context->device != NULL,
                                  .refuse = registry_refuse,
                                  .inside = call};
}

/* Returns the status of a function that has answered `status`, and reports a failure that it did
 * not explain. */
static enum ts_status end(const struct call *call, enum ts_status status, const char *function)
{
    if (call->refused != TS_OK)
        return is_failure(status) ? status : call->refused;
    if (status == TS_OK)
        return TS_OK;
    const struct diag_site site = site_of(call->context, "stage-failed");
    return ts_diag_error(call->context->diag, is_failure(status) ? status : TS_RUN_FAILED, &site,
                         "its %s() failed with status %d and gave no reason", function,
                         (int)status);
}

/* ---- the plan -------------------------------------------------------------------------------- */

static int64_t halo_of(const struct stage_context *context)
{
    const struct ts_stage *given = &added_of(context)->given;
    struct call call;
    if (!given->halo)
        return 0;
    registry_begin(&call, context, false);
    return given->halo(&call.call);
}

static enum ts_status added_resolve(const struct stage_context *context, void *values)
{
    const struct diag_site site = site_of(context, "stage-answer");
    const int64_t halo = halo_of(context);
    enum ts_status status = TS_OK;
    (void)values;
    for (int i = 0; status == TS_OK && i < (int)added_of(context)->n_references; i++)
        status = ts_stage_same_shape(context, i);
    if (halo < 0 || halo > HALO)
        return ts_diag_error(context->diag, TS_BAD_CHAIN, &site,
                             "its halo() returned %lld, which is outside [0, %d]", (long long)halo,
                             HALO);
    return status;
}

static struct stage_reach added_reach(const struct stage_context *context)
{
    return (struct stage_reach){.halo = halo_of(context), .border = BORDER_REFLECT};
}

static bool added_streams(const struct stage_context *context, int reference)
{
    return context->references[reference] != NULL;
}

/* Returns what is wrong with an output; NULL: nothing. */
static const char *wrong_output(const struct added_stage *added, const struct ts_image *in,
                                const struct ts_image *out)
{
    const enum ts_axis_kind y = out->axes[1].kind, x = out->axes[2].kind;
    const struct ts_axis *z = &out->axes[0], *z_in = &in->axes[0];
    if (out->rank != in->rank || z->kind != z_in->kind || z->n != z_in->n ||
        z->positions != z_in->positions || z->first != z_in->first || z->spacing != z_in->spacing)
        return "changed the slices";
    if (!(y == TS_AXIS_Y && x == TS_AXIS_X) && !(y == TS_AXIS_VIEW && x == TS_AXIS_DETECTOR))
        return "gave axes that are neither (z, y, x) nor (z, view, detector)";
    for (int axis = 1; axis < 3; axis++) {
        const struct ts_axis *at = &out->axes[axis];
        if (at->n < 1 || at->n > LONGEST_AXIS)
            return "gave an axis without elements, or with more than 2^31 - 1";
        if (!isfinite(at->spacing) || !isfinite(at->first) || !at->unit)
            return "gave an axis whose spacing or first position is no number, or without a unit";
        if (at->positions && at->positions == in->axes[axis].positions && at->n > in->axes[axis].n)
            return "made an axis longer, and left the positions of the shorter one";
    }
    if (out->dtype > TS_F32 || out->quantity > TS_INTENSITY || !out->unit)
        return "gave a type that images do not have, an unknown quantity, or no unit";
    if ((out->quantity != in->quantity || strcmp(out->unit, in->unit) != 0) && *out->unit &&
        !ts_unit_fits(out->quantity, out->unit))
        return "gave values a unit that their quantity does not have";
    if (out->beam.kind > TS_BEAM_FAN_FLAT || out->labels > 2)
        return "gave an unknown beam or kind of labels";
    if (added->given.keeps_valid && ts_slice_count(in) != ts_slice_count(out))
        return "changed the number of pixels of a slice, and the table says keeps_valid";
    return NULL;
}

/* Brings what a stage says of lengths to mm. Returns what is wrong with them, the geometry or the
 * beam, or NULL. */
static const char *settle_output(const struct ts_image *in, struct ts_image *out,
                                 char text[DESCRIPTION_WRONG])
{
    double *const lists[TS_MAX_RANK] = {0};
    const bool moved = memcmp(in->origin_mm, out->origin_mm, sizeof in->origin_mm) ||
                       memcmp(in->direction, out->direction, sizeof in->direction) ||
                       memcmp(in->step_z_mm, out->step_z_mm, sizeof in->step_z_mm) ||
                       in->has_geometry != out->has_geometry;
    if (!*out->unit)
        out->unit = "1";
    if (!ts_axes_to_mm(out, lists, text))
        return text;
    const char *wrong = NULL;
    if (ts_image_is_fan(out))
        wrong = ts_image_is_sinogram(out) ? ts_beam_wrong(&out->beam, &out->axes[2])
                                          : "a volume has no fan beam, only a scan has";
    return wrong || !out->has_geometry || !moved ? wrong : ts_geometry_straighten(out);
}

static enum ts_status added_shape(const struct stage_context *context, struct ts_image *out)
{
    const struct added_stage *added = added_of(context);
    const struct ts_image before = *out;
    char text[DESCRIPTION_WRONG];
    struct call call;
    if (!added->given.shape)
        return TS_OK;
    registry_begin(&call, context, true);
    const enum ts_status status = end(&call, added->given.shape(&call.call, out), "shape");
    out->data = NULL;
    out->valid = NULL;
    out->masked = before.masked;
    const char *wrong = status == TS_OK ? wrong_output(added, &before, out) : NULL;
    const struct diag_site site = site_of(context, "stage-answer");
    if (wrong)
        return ts_diag_error(context->diag, TS_BAD_CHAIN, &site, "its shape() %s", wrong);
    wrong = status == TS_OK ? settle_output(&before, out, text) : NULL;
    return wrong ? ts_diag_error(context->diag, TS_BAD_CHAIN, &site,
                                 "its shape() gave a wrong description: %s", wrong)
                 : status;
}

static size_t added_scratch(const struct stage_context *context, int64_t n)
{
    const struct ts_stage *given = &added_of(context)->given;
    struct call call;
    if (!given->scratch)
        return 0;
    registry_begin(&call, context, false);
    return given->scratch(&call.call, n);
}

/* ---- the map --------------------------------------------------------------------------------- */

static void give_slabs(struct call *call, const struct ts_image *in, void *scratch)
{
    const struct stage_context *context = call->context;
    call->images[0] = in[0];
    for (size_t i = 0; i < added_of(context)->n_references; i++)
        call->images[1 + i] = context->references[i] ? in[1 + i] : (struct ts_image){0};
    call->call.scratch = scratch;
}

static enum ts_status added_map(const struct stage_context *context, const struct ts_image *in,
                                struct ts_image *out, void *scratch)
{
    struct call call;
    struct ts_image given = *out;
    registry_begin(&call, context, true);
    give_slabs(&call, in, scratch);
    return end(&call, added_of(context)->given.map(&call.call, &given), "map");
}

static enum ts_status added_map_cuda(const struct stage_context *context, const struct ts_image *in,
                                     struct ts_image *out, const struct cuda_call *cuda)
{
    struct call call;
    struct ts_image given = *out;
    registry_begin(&call, context, true);
    give_slabs(&call, in, cuda->scratch);
    call.call.cuda_stream = cuda->stream;
    return end(&call, added_of(context)->given.map_cuda(&call.call, &given), "map_cuda");
}

/* ---- the given table ------------------------------------------------------------------------- */

/* A table that is checked, and where its copy goes. */
struct reading {
    struct added_stage *added;
    struct ts_diag *diag;
    const char *owner; /* the stage, in messages */
    bool wrong;
};

static void __attribute__((format(printf, 4, 5)))
expect(struct reading *reading, bool holds, const char *of, const char *format, ...)
{
    char message[LINE_BYTES], shown[LINE_BYTES];
    va_list arguments;
    if (holds)
        return;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    ts_text_escape(shown, sizeof shown, message);
    reading->wrong = true;
    ts_diag_error(reading->diag, TS_BAD_CHAIN,
                  &(struct diag_site){.code = "stage-table", .stage = reading->owner}, "%s%s%s",
                  of ? of : "", of ? ": " : "", shown);
}

static bool is_name(const char *text)
{
    const size_t length = text ? strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_") : 0;
    return length > 0 && length < NAME_BYTES && !text[length] && islower((unsigned char)*text);
}

static bool is_line(const char *text)
{
    const size_t length = text ? strlen(text) : 0;
    for (size_t i = 0; i < length; i++)
        if (iscntrl((unsigned char)text[i]))
            return false;
    return length > 0 && length < LINE_BYTES && text[length - 1] != '.';
}

static const char *copy(struct reading *reading, const char *text)
{
    const char *copied = ts_arena_text(reading->added->arena, text, strlen(text));
    if (!copied) {
        ts_diag_no_memory(reading->diag, strlen(text));
        reading->wrong = true;
    }
    return copied;
}

static void read_choices(struct reading *reading, const struct ts_param *given, struct param *param)
{
    size_t n = 0;
    while (given->choices && n <= CHOICES && given->choices[n])
        n++;
    expect(reading, n > 0 && n <= CHOICES, given->name, "a choice has 1 to %d choices", CHOICES);
    if (n == 0 || n > CHOICES)
        return;
    struct choice *choices = ts_arena_alloc(reading->added->arena, (n + 1) * sizeof *choices);
    if (!choices) {
        reading->wrong = ts_diag_no_memory(reading->diag, n * sizeof *choices) != TS_OK;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        expect(reading, is_line(given->choices[i]), given->name, "choice %zu is not one line", i);
        for (size_t j = 0; j < i; j++)
            expect(reading, strcmp(given->choices[i], given->choices[j]) != 0, given->name,
                   "two choices are '%s'", given->choices[i]);
        choices[i] = (struct choice){copy(reading, given->choices[i]), (int32_t)i, "", 0, false};
    }
    param->choices = choices;
    expect(reading, param->required || (given->value >= 0 && given->value < (double)n), given->name,
           "the default is not the index of a choice");
    if (!param->required && !reading->wrong)
        param->init.choice = (int32_t)given->value;
}

static void read_number(struct reading *reading, const struct ts_param *given, struct param *param)
{
    const bool bounded = given->min != 0 || given->max != 0, given_one = !param->required;
    const bool integer = given->kind == TS_PARAM_INTEGER;
    expect(reading, isfinite(given->min) && isfinite(given->max) && given->min <= given->max,
           given->name, "the range is empty or not finite");
    expect(reading, !given_one || isfinite(given->value), given->name, "the default is infinite");
    expect(reading,
           !given_one || !bounded || (given->value >= given->min && given->value <= given->max),
           given->name, "the default is outside its range");
    expect(reading,
           !integer || !given_one ||
               (fabs(given->value) <= MOST_INTEGER && rint(given->value) == given->value),
           given->name, "the default is not a whole number");
    if (given_one && integer && !reading->wrong)
        param->init.i = (int64_t)given->value;
    else if (given_one)
        param->init.r = given->value;
}

/* Turns kind and default of a parameter into those of this program. */
static void read_kind(struct reading *reading, const struct ts_param *given, struct param *param)
{
    static const enum param_kind kinds[] = {PARAM_INTEGER, PARAM_REAL, PARAM_CHOICE,
                                            PARAM_BOOL,    PARAM_TEXT, PARAM_REFERENCE};
    struct added_stage *added = reading->added;
    param->kind = kinds[given->kind];
    param->required = isnan(given->value);
    switch (given->kind) {
    case TS_PARAM_CHOICE:
        read_choices(reading, given, param);
        break;
    case TS_PARAM_BOOL:
        expect(reading, param->required || given->value == 0 || given->value == 1, given->name,
               "the default is neither 0 nor 1");
        param->init.b = !param->required && given->value != 0;
        break;
    case TS_PARAM_TEXT:
        param->optional = !param->required && !given->text;
        if (!param->required && given->text)
            param->init.text = copy(reading, given->text);
        break;
    case TS_PARAM_REFERENCE:
        param->optional = !param->required;
        param->offset =
            added->stage.params_bytes + added->n_references++ * sizeof(struct ts_reference);
        break;
    default:
        read_number(reading, given, param);
    }
}

/* Checks where the field of parameter i is. */
static void check_field(struct reading *reading, const struct param *params, size_t i)
{
    const struct ts_stage *given = &reading->added->given;
    const size_t at = params[i].offset, bytes = ts_param_bytes(params[i].kind);
    if (params[i].kind == PARAM_REFERENCE)
        return;
    expect(reading, at <= given->params_bytes && bytes <= given->params_bytes - at, params[i].name,
           "its field is outside of the struct, which has %zu bytes", given->params_bytes);
    expect(reading, at % bytes == 0, params[i].name, "its field is not aligned");
    for (size_t j = 0; j < i; j++)
        expect(reading,
               params[j].kind == PARAM_REFERENCE ||
                   params[j].offset + ts_param_bytes(params[j].kind) <= at ||
                   at + bytes <= params[j].offset,
               params[i].name, "its field overlaps that of '%s'", params[j].name);
}

static void read_params(struct reading *reading, struct param *params)
{
    const struct ts_stage *given = &reading->added->given;
    for (size_t i = 0; i < given->n_params && !reading->wrong; i++) {
        struct ts_param of = {0};
        memcpy(&of, (const char *)given->params + i * given->param_size,
               given->param_size < sizeof of ? given->param_size : sizeof of);
        expect(reading, is_name(of.name), NULL,
               "the name of parameter %zu is not made of a-z, 0-9 and _, or is too long", i);
        if (reading->wrong)
            return;
        expect(reading, strcmp(of.name, "name") != 0 && strcmp(of.name, "input") != 0, of.name,
               "every stage has a parameter of this name");
        expect(reading, !ts_param_find(params, i, of.name, NULL), of.name,
               "two parameters have this name");
        expect(reading, is_line(of.doc), of.name, "its doc is not one line without a period");
        expect(reading, !of.unit || !*of.unit || is_line(of.unit), of.name, "its unit is no text");
        expect(reading, (unsigned)of.kind <= TS_PARAM_REFERENCE, of.name, "its kind is unknown");
        if (reading->wrong)
            return;
        params[i] = (struct param){.name = copy(reading, of.name),
                                   .offset = of.offset,
                                   .unit = copy(reading, of.unit ? of.unit : ""),
                                   .doc = copy(reading, of.doc),
                                   .min = of.min,
                                   .max = of.max};
        read_kind(reading, &of, &params[i]);
        if (!reading->wrong)
            check_field(reading, params, i);
    }
    expect(reading, reading->added->n_references <= STAGE_REFERENCES, NULL,
           "it has more than %d references", STAGE_REFERENCES);
}

/* Checks all but the parameters. */
static void check_table(struct reading *reading)
{
    const struct ts_stage *given = &reading->added->given;
    const unsigned axes = TS_TAKES_VOLUMES | TS_TAKES_SINOGRAMS;
    expect(reading, is_name(given->name), NULL,
           "the stage's name is not made of a-z, 0-9 and _, or is too long");
    expect(reading, is_line(given->version), NULL, "its version is not one line");
    expect(reading, is_line(given->summary), NULL, "its summary is not one line without a period");
    expect(reading, given->axes && !(given->axes & ~axes), NULL,
           "its axes are not bits of enum ts_takes");
    expect(reading, given->dtypes && !(given->dtypes & ~TS_ANY_DTYPE), NULL,
           "its dtypes are not bits 1u << TS_U8 to 1u << TS_F32");
    expect(reading, given->map != NULL, NULL, "it has no map()");
    expect(reading, given->n_params <= PARAMS_MAX, NULL, "it has more than %d parameters",
           PARAMS_MAX);
    expect(reading, given->n_params == 0 || given->params, NULL, "its parameters are NULL");
    expect(reading,
           given->n_params == 0 ||
               given->param_size >= offsetof(struct ts_param, choices) + sizeof(void *),
           NULL, "param_size is not sizeof(struct ts_param)");
    expect(reading, given->params_bytes <= PARAMS_BYTES, NULL,
           "its struct of parameters has more than %d bytes", PARAMS_BYTES);
}

static void read_table(struct reading *reading)
{
    struct added_stage *added = reading->added;
    const struct ts_stage *given = &added->given;
    struct param *params = ts_arena_alloc(added->arena, (given->n_params + 1) * sizeof *params);
    if (!params) {
        reading->wrong = ts_diag_no_memory(reading->diag, sizeof *params) != TS_OK;
        return;
    }
    const size_t aligned = (given->params_bytes + 15) / 16 * 16;
    added->stage = (struct stage){
        .name = copy(reading, given->name),
        .summary = copy(reading, given->summary),
        .doc = copy(reading, given->doc && *given->doc ? given->doc : given->summary),
        .axes = given->axes,
        .dtypes = given->dtypes,
        .quantities = TS_ANY_QUANTITY,
        .beams = given->axes & TS_TAKES_SINOGRAMS ? TS_ANY_BEAM : 0,
        .params = params,
        .n_params = given->n_params,
        .params_bytes = aligned,
        .resolve = added_resolve,
        .shape = added_shape,
        .streams_with_input = added_streams,
        .reach = added_reach,
        .scratch_bytes = added_scratch,
        .map = added_map,
        .validity = given->keeps_valid ? VALIDITY_SAME : VALIDITY_UNAWARE,
        .cpu_only = given->map_cuda ? NULL : "its table has no map_cuda()",
        .tolerance = {.why = "the bytes of a stage from outside are its own"},
        .origin = &added->origin};
    added->cuda = (struct stage_cuda){.scratch_bytes = added_scratch, .map = added_map_cuda};
    if (given->map_cuda)
        added->stage.cuda = STAGE_CUDA(added->cuda);
    read_params(reading, params);
    added->stage.params_bytes += added->n_references * sizeof(struct ts_reference);
    added->origin.version = copy(reading, given->version);
    /* The given table need not last. */
    added->given.params = NULL;
}

static void added_destroy(struct added_stage *added)
{
    if (!added)
        return;
    ts_arena_destroy(added->arena);
    free(added);
}

/* Checks the table and copies it. TS_BAD_CHAIN: it is wrong (stage-table). */
static enum ts_status added_create(const struct ts_stage *table, const char *sha256,
                                   struct added_stage **out, struct ts_diag *diag)
{
    struct added_stage *added = calloc(1, sizeof *added);
    const size_t least = offsetof(struct ts_stage, map_cuda) + sizeof table->map_cuda;
    *out = NULL;
    if (added)
        added->arena = ts_arena_create();
    if (!added || !added->arena) {
        added_destroy(added);
        return ts_diag_no_memory(diag, sizeof *added);
    }
    struct reading reading = {.added = added, .diag = diag};
    expect(&reading, table->size >= least, NULL, "size is not sizeof(struct ts_stage)");
    if (!reading.wrong) {
        memcpy(&added->given, table, table->size < sizeof *table ? table->size : sizeof *table);
        reading.owner = is_name(table->name) ? table->name : NULL;
        check_table(&reading);
    }
    if (!reading.wrong)
        read_table(&reading);
    if (!reading.wrong && sha256)
        added->origin.sha256 = copy(&reading, sha256);
    if (reading.wrong) {
        added_destroy(added);
        return TS_BAD_CHAIN;
    }
    *out = added;
    return TS_OK;
}

/* ---- stages that were added ------------------------------------------------------------------ */

/* A link never changes once it is set, so readers need no lock. */
struct entry {
    struct added_stage *added;
    struct entry *_Atomic next;
};

struct stage_registry {
    pthread_mutex_t lock; /* of those who add */
    struct entry *_Atomic first;
};

static struct stage_registry process = {.lock = PTHREAD_MUTEX_INITIALIZER};

struct stage_registry *ts_registry_create(void)
{
    struct stage_registry *registry = calloc(1, sizeof *registry);
    if (registry)
        pthread_mutex_init(&registry->lock, NULL);
    return registry;
}

static void destroy_entries(struct entry *entry)
{
    while (entry) {
        struct entry *next = atomic_load(&entry->next);
        added_destroy(entry->added);
        free(entry);
        entry = next;
    }
}

void ts_registry_destroy(struct stage_registry *registry)
{
    if (!registry)
        return;
    destroy_entries(atomic_load(&registry->first));
    pthread_mutex_destroy(&registry->lock);
    free(registry);
}

const struct stage *ts_registry_stage(const struct stage_registry *registry, size_t i)
{
    static const size_t built_in = sizeof ts_stages / sizeof *ts_stages - 1;
    if (i < built_in)
        return ts_stages[i];
    const struct entry *entry = atomic_load(&(registry ? registry : &process)->first);
    for (i -= built_in; entry && i > 0; i--)
        entry = atomic_load(&entry->next);
    return entry ? stage_of_added(entry->added) : NULL;
}

const struct stage *ts_registry_find(const struct stage_registry *registry, const char *name)
{
    const struct stage *stage;
    for (size_t i = 0; (stage = ts_registry_stage(registry, i)) != NULL; i++)
        if (!strcmp(stage->name, name))
            return stage;
    return NULL;
}

size_t ts_registry_names(const struct stage_registry *registry, const char **names, size_t most)
{
    size_t n = 0;
    for (const struct stage *stage; n < most && (stage = ts_registry_stage(registry, n)) != NULL;)
        names[n++] = stage->name;
    return n;
}

/* Returns true if the stage of the entry, or one before it that comes with it, has the name. */
static bool is_taken(const struct stage_registry *registry, const struct entry *new,
                     const struct entry *end, const char *name)
{
    for (; new != end; new = atomic_load(&new->next))
        if (!strcmp(stage_of_added(new->added)->name, name))
            return true;
    return ts_registry_find(registry, name) != NULL;
}

/* Makes the entries of n stages; NULL if one is refused (reported). */
static struct entry *make_entries(const struct stage_registry *registry,
                                  const struct ts_stage *const *stages, size_t n,
                                  const char *sha256, struct ts_diag *diag)
{
    struct entry *first = NULL, *last = NULL;
    for (size_t i = 0; i < n; i++) {
        struct entry *entry = calloc(1, sizeof *entry);
        if (!entry || added_create(stages[i], sha256, &entry->added, diag) != TS_OK) {
            if (!entry)
                ts_diag_no_memory(diag, sizeof *entry);
            free(entry);
            destroy_entries(first);
            return NULL;
        }
        if (last)
            atomic_store(&last->next, entry);
        else
            first = entry;
        last = entry;
        const char *name = stage_of_added(entry->added)->name;
        if (is_taken(registry, first, last, name)) {
            ts_diag_error(diag, TS_BAD_CHAIN,
                          &(struct diag_site){.code = "stage-taken", .stage = name},
                          "there is a stage of this name already");
            destroy_entries(first);
            return NULL;
        }
    }
    return first;
}

enum ts_status ts_registry_add(struct stage_registry *registry,
                               const struct ts_stage *const *stages, size_t n, const char *sha256,
                               struct ts_diag *diag)
{
    const size_t count = ts_diag_count(diag), errors = ts_diag_error_count(diag);
    struct stage_registry *to = registry ? registry : &process;
    pthread_mutex_lock(&to->lock);
    struct entry *new = make_entries(registry, stages, n, sha256, diag);
    struct entry *_Atomic *at = &to->first;
    for (struct entry *entry; (entry = atomic_load(at)) != NULL;)
        at = &entry->next;
    atomic_store(at, new);
    pthread_mutex_unlock(&to->lock);
    return ts_diag_status_since(diag, count, errors);
}
