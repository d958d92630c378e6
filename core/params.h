/* SPDX-License-Identifier: Apache-2.0
 *
 * A parameter table has one struct param per field of a plain C struct. It is the only source of
 * the field's name, kind, unit, range, default, choices and sentence: loading, checks, help,
 * schema, docs page and provenance read it.
 */
#ifndef CORE_PARAMS_H
#define CORE_PARAMS_H

#include <math.h>

#include "core/diag.h"

/* A list of numbers, or several rows of equal length. The arena of the chain owns it. */
struct ts_numbers {
    int64_t rows, columns;
    const double *values;
};
struct ts_texts {
    int64_t n;
    const char *const *items;
};
/* The name of an earlier output or of a further source, NULL where it is not given. The plan sets
 * `node`. */
struct ts_reference {
    const char *name;
    int32_t node;
};

enum param_kind {
    PARAM_INTEGER,  /* int64_t */
    PARAM_REAL,     /* double */
    PARAM_CHOICE,   /* int32_t, one of choices */
    PARAM_BOOL,     /* bool */
    PARAM_TEXT,     /* const char * */
    PARAM_TEXTS,    /* struct ts_texts: a list, or one text */
    PARAM_NUMBERS,  /* struct ts_numbers: a list, or a list of lists */
    PARAM_REFERENCE /* struct ts_reference */
};

enum { ON_CPU = 1, ON_CUDA = 2 };

struct choice {
    const char *name; /* NULL ends the list */
    int32_t value;
    const char *doc;
    unsigned devices; /* ON_... bits of the devices that can run it; 0: all */
    bool alias; /* another name of the choice of this value before it, which is the one that is
                   recorded */
};

/* The default of a parameter; the member of its kind holds. */
union param_default {
    int64_t i;
    double r;
    int32_t choice;
    bool b;
    const char *text;
};

struct param {
    const char *name; /* == field name == YAML key */
    enum param_kind kind;
    size_t offset;
    const char *unit; /* "pixel", "degree", "mm", "value" (that of the image), "" for none */
    const char *doc;  /* one sentence */
    double min,
        max; /* closed range of INTEGER, REAL and each of NUMBERS; both 0: any finite number */
    const struct choice *choices;
    /* For a REFERENCE to frames of a scan: "flats" or "darks", as the parameter `frames` of the
     * inputs names them. The plan refuses frames that their input calls by another name, and it
     * refuses flats and darks as the stage's own image. */
    const char *frames;
    /* The value is the detector pixel, counted from 0, at which the rotation axis stands in the
     * stage's input. */
    bool rotation_axis;
    /* The value is an angle in the unit that the parameter angle_unit beside it says. */
    bool in_angle_unit;
    /* Exactly one of these four holds, and defines the value of an absent key: */
    bool required;
    bool optional; /* TEXTS, NUMBERS, REFERENCE, TEXT: absent means empty, and the doc says what
                      follows */
    const char *derived; /* formula, computed by the stage's resolve() from the input or from other
                            parameters */
    union param_default init; /* else: this value */
    /* The default before it changed, which chains keep whose version is at most `until`; 0: it has
     * not changed. */
    struct {
        int32_t until;
        union param_default init;
    } old;
};

/* clang-format off */
#define PARAM_KIND_OF(field) _Generic((field), \
    int64_t: PARAM_INTEGER, double: PARAM_REAL, int32_t: PARAM_CHOICE, bool: PARAM_BOOL, const char *: PARAM_TEXT, \
    struct ts_texts: PARAM_TEXTS, struct ts_numbers: PARAM_NUMBERS, struct ts_reference: PARAM_REFERENCE)
/* clang-format on */
#define PARAM(type, field, ...)                                                                    \
    {                                                                                              \
        .name = #field, .kind = PARAM_KIND_OF(((type *)0)->field),                                 \
        .offset = offsetof(type, field), __VA_ARGS__                                               \
    }

enum { PARAMS_MAX = 32 }; /* most parameters of a table; the bit set `given` has 32 bits */

/* This is a filled parameter struct, with the places that its values came from. */
struct param_set {
    const struct param *params;
    size_t n_params;
    void *values;                     /* the parameter struct, zeroed then filled */
    uint32_t given;                   /* bit i: params[i] was written by the user */
    struct ts_span spans[PARAMS_MAX]; /* where the given values stand in the text */
    struct ts_span span;              /* where the stage or source itself stands */
    const char *owner;                /* "box", "input" */
    int32_t version;                  /* of the chain that the values come from; 0: the newest */
    bool resolved;                    /* derived parameters have their values */
    bool doubles;  /* of a source: who opens it takes TS_F64 in place of values that are rounded to
                      32-bit floats */
    uint32_t idle; /* bit i: params[i] plays no part with the values of the others; not recorded */
    /* Bit i: params[i] was given in a unit of its own, as own_values[i]. For a parameter in pixels
     * that is a length in mm, of which ts_stage_prepare(), which knows the spacing, makes the
     * value. For one in the unit that angle_unit says it is the angle in degrees. */
    uint32_t own_units;
    double own_values[PARAMS_MAX];
};

/* Returns the bytes of a field of this kind. */
size_t ts_param_bytes(enum param_kind kind);
/* Returns the field of parameter i in the parameter struct. */
void *ts_param_field(const struct param_set *set, size_t i);
/* Fills every parameter that has a default, with that of the set's version. */
void ts_params_init(struct param_set *set);
/* Returns true where parameter i has a default that newer chains no longer have. */
bool ts_param_keeps_old(const struct param_set *set, size_t i);
const struct param *ts_param_find(const struct param *params, size_t n_params, const char *name,
                                  size_t *index);
bool ts_param_given(const struct param_set *set, const char *name);
/* Marks the named parameter as idle: it plays no part with the values of the others. For
 * resolve(). */
void ts_param_idle(struct param_set *set, const char *name);
/* Returns true where parameter i was marked as idle. */
bool ts_param_is_idle(const struct param_set *set, size_t i);
/* Reports an error about the named parameter at the place where it was written (or at its owner,
 * where it was not). Message: "owner.name: ..." */
enum ts_status ts_param_error(const struct param_set *set, const char *name, const char *code,
                              struct ts_diag *diag, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* Checks the present value of parameter i against its range or choices: "9000 is outside [0, 1024]
 * pixel". Returns TS_BAD_CHAIN where the value does not fit. */
enum ts_status ts_param_check(const struct param_set *set, size_t i, struct ts_diag *diag);
/* Writes the value as YAML text, which is the same for equal values on every machine: reals become
 * the shortest text that reads back. Returns the length as snprintf does. */
int ts_param_format(const struct param_set *set, size_t i, char *out, size_t size);
/* Writes a value of this parameter in the same way; `at` points to the field, or to a default of
 * it. */
int ts_param_format_value(const struct param *param, const void *at, char *out, size_t size);
/* Writes the shortest decimal text that reads back as the same double, and returns its length as
 * snprintf does. */
int ts_real_format(double value, char *out, size_t size);
/* For parameters that choose an enum ts_beam_kind. */
extern const struct choice ts_beam_choices[];
/* The parameters of a struct's fields `int32_t beam` (enum ts_beam_kind) and `double source_axis,
 * source_detector` (mm). */
#define BEAM_DISTANCE_PARAMS(type)                                                                 \
    PARAM(type, beam, .unit = "", .choices = ts_beam_choices, .init.choice = TS_BEAM_PARALLEL,     \
          .doc = "how the rays of a view run"),                                                    \
        PARAM(type, source_axis, .unit = "mm", .min = 1e-6, .max = 1e9,                            \
              .derived = "none for a parallel beam; a fan needs it",                               \
              .doc = "distance of the source from the rotation axis"),                             \
        PARAM(type, source_detector, .unit = "mm", .min = 1e-6, .max = 1e9,                        \
              .derived = "none for a parallel beam; a fan needs it",                               \
              .doc = "distance of the source from the detector, along the central ray")
const char *ts_choice_name(const struct choice *choices, int32_t value);
/* Returns the choice that parameter i holds; NULL where it is of another kind or no choice has its
 * value. */
const struct choice *ts_param_choice(const struct param_set *set, size_t i);
/* Returns the name of the choice that the parameter of this name holds; NULL where there is
 * none. */
const char *ts_param_choice_name(const struct param_set *set, const char *name);
/* Returns the nearest of n names by edit distance, else the only one that begins with `name`; NULL
 * where none is near enough to suggest. */
const char *ts_nearest_name(const char *name, const char *const *names, size_t n);
/* Joins names with commas until they no longer fit. */
void ts_list_names(char *out, size_t size, const char *const *names, size_t n);

#endif
