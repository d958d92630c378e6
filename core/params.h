/* SPDX-License-Identifier: Apache-2.0
 *
 * A parameter table has one struct param per field of a plain C struct. It is the only source of
 * the field's name, kind, unit, range, default, choices and sentence, which loading, checks, help,
 * schema, docs page and provenance read.
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
/* The name of an earlier output or of a further source, or NULL if it is not given. The plan sets
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
    unsigned devices; /* ON_... bits of the devices that can run this choice; 0: all */
    bool alias; /* a second name of the choice before it that has this value; the first name is
                 * recorded */
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
    const char *name; /* the same as the field name and the YAML key */
    enum param_kind kind;
    size_t offset;
    const char *unit; /* "pixel", "degree", "mm", "value" (the unit of the image's values), "" for
                       * none */
    const char *doc;  /* one sentence */
    double min, max; /* closed range of INTEGER, REAL and each of NUMBERS; if both are 0, any finite
                      * number */
    const struct choice *choices;
    /* For a REFERENCE to frames of a scan: "flats" or "darks", as the parameter `frames` of the
     * inputs names them. The plan refuses other frames here, and it refuses flats and darks as the
     * stage's own image. */
    const char *frames;
    /* The value is the position of the rotation axis in the stage's input, in detector pixels from
     * 0. */
    bool rotation_axis;
    /* The value is an angle in the unit that the parameter angle_unit beside it says. */
    bool in_angle_unit;
    /* of a text: a map of names and patterns is taken too, and is the text "name=pattern; ..." */
    bool rule;
    /* Exactly one of these four is set, and says what the value of an absent key is: */
    bool required;
    bool optional; /* TEXTS, NUMBERS, REFERENCE, TEXT: absent means empty, and the doc says what
                    * that does */
    const char *derived; /* the formula by which the stage's resolve() computes it from the input or
                          * other parameters */
    union param_default init; /* else: this value */
    /* The default before it changed, which chains of a version up to `until` keep; 0: it has not
     * changed. */
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

enum { PARAMS_MAX = 32 }; /* most parameters of a table, because the bit set `given` has 32 bits */

/* This is a filled parameter struct, with the places in the text that its values came from. */
struct param_set {
    const struct param *params;
    size_t n_params;
    void *values;                     /* the parameter struct, zeroed then filled */
    uint32_t given;                   /* bit i is set if the user wrote params[i] */
    struct ts_span spans[PARAMS_MAX]; /* the places of the given values in the text */
    struct ts_span span;              /* the place of the stage or source itself */
    const char *owner;                /* "box", "input" */
    int32_t version;                  /* version of the chain that the values come from; 0: the
                                       * newest */
    bool resolved;                    /* true once the derived parameters have their values */
    bool axis_later; /* an earlier stage finds the rotation axis of the input while the chain runs,
                      * and the derived parameters get their values once more then: where the axis
                      * is now gives no cause to warn */
    bool doubles;    /* for a source: the caller takes TS_F64 for values that would otherwise be
                      * rounded to 32-bit floats */
    struct sandbox *sandbox; /* for a source: the server of the processes that read it
                              * (io/sandbox/sandbox.h); NULL: that of this process */
    uint32_t idle; /* bit i is set if params[i] has no effect with the values of the others; it is
                    * not recorded */
    /* Bit i is set if params[i] was given in a unit of its own, as own_values[i]: a length in mm
     * for a parameter in pixels, which ts_stage_prepare() converts because it knows the spacing, or
     * an angle in degrees for a parameter in the unit that angle_unit names. */
    uint32_t given_in_unit;
    double own_values[PARAMS_MAX];
};

/* Returns the bytes of a field of this kind. */
size_t ts_param_bytes(enum param_kind kind);
/* Returns the field of parameter i in the parameter struct. */
void *ts_param_field(const struct param_set *set, size_t i);
/* Fills every parameter that has a default, with that of the set's version. */
void ts_params_init(struct param_set *set);
/* Returns true if parameter i uses a default that newer chains no longer have. */
bool ts_param_keeps_old(const struct param_set *set, size_t i);
const struct param *ts_param_find(const struct param *params, size_t n_params, const char *name,
                                  size_t *index);
bool ts_param_given(const struct param_set *set, const char *name);
/* Returns true for a text NAME_file beside numbers NAME and a text NAME_sha256: the path of a file
 * that holds the numbers (pipeline/chain/param_file.h). */
bool ts_param_is_file(const struct param *params, size_t n_params, size_t i);
/* Marks the named parameter as given: what derives parameters leaves its value as it is. */
void ts_param_give(struct param_set *set, const char *name);
/* Marks the named parameter as idle: it has no effect with the values of the others. resolve()
 * calls it. */
void ts_param_idle(struct param_set *set, const char *name);
/* Returns true if parameter i was marked as idle. */
bool ts_param_is_idle(const struct param_set *set, size_t i);
/* Reports an error about the named parameter at the place where it was written, or at the place of
 * its owner if it was not. The message is "owner.name: ..." */
enum ts_status ts_param_error(const struct param_set *set, const char *name, const char *code,
                              struct ts_diag *diag, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* Checks the present value of parameter i against its range or choices: "9000 is outside [0, 1024]
 * pixel". Returns TS_BAD_CHAIN if the value does not fit. */
enum ts_status ts_param_check(const struct param_set *set, size_t i, struct ts_diag *diag);
/* Writes the value as YAML text, which is the same for equal values on every machine: reals become
 * the shortest text that reads back. Returns the length as snprintf does. */
int ts_param_format(const struct param_set *set, size_t i, char *out, size_t size);
/* Writes a value of this parameter in the same way; `at` points to the field or to a default. */
int ts_param_format_value(const struct param *param, const void *at, char *out, size_t size);
/* Writes the shortest decimal text that reads back as the same double, and returns its length as
 * snprintf does. */
int ts_real_format(double value, char *out, size_t size);
/* The choices of parameters that hold an enum ts_beam_kind. */
extern const struct choice ts_beam_choices[];
/* Parameters for the fields `int32_t beam` (enum ts_beam_kind) and `double source_axis,
 * source_detector` (mm) of a struct. */
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
/* Returns the choice that parameter i holds; NULL if it is of a different kind or no choice has its
 * value. */
const struct choice *ts_param_choice(const struct param_set *set, size_t i);
/* Returns the name of the choice that the parameter of this name holds; NULL if there is
 * none. */
const char *ts_param_choice_name(const struct param_set *set, const char *name);
/* Returns the one of n names that the user probably meant by `name`. It tries what other programs
   call so (blur for gaussian), then the name that differs by the fewest letters, then the only name
   that begins with `name`. Returns NULL if none fits. */
const char *ts_nearest_name(const char *name, const char *const *names, size_t n);
/* Joins names with commas until they no longer fit. */
void ts_list_names(char *out, size_t size, const char *const *names, size_t n);

#endif
