/* SPDX-License-Identifier: Apache-2.0
 *
 * A parameter struct is read and written through its table: the offset gives the field, the kind
 * its C type. Checks and messages for all stages and sources are here, so that all report in the
 * same words.
 */
#include "core/params.h"

#include <inttypes.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

size_t ts_param_bytes(enum param_kind kind)
{
    static const size_t bytes[] = {
        [PARAM_INTEGER] = sizeof(int64_t),
        [PARAM_REAL] = sizeof(double),
        [PARAM_CHOICE] = sizeof(int32_t),
        [PARAM_BOOL] = sizeof(bool),
        [PARAM_TEXT] = sizeof(const char *),
        [PARAM_TEXTS] = sizeof(struct ts_texts),
        [PARAM_NUMBERS] = sizeof(struct ts_numbers),
        [PARAM_REFERENCE] = sizeof(struct ts_reference),
    };
    return bytes[kind];
}

void *ts_param_field(const struct param_set *set, size_t i)
{
    return (unsigned char *)set->values + set->params[i].offset;
}

void ts_params_init(struct param_set *set)
{
    for (size_t i = 0; i < set->n_params; i++) {
        const struct param *param = &set->params[i];
        if (!param->required && !param->optional && !param->derived &&
            param->kind <= PARAM_TEXT) /* lists have no init */
            memcpy(ts_param_field(set, i),
                   ts_param_keeps_old(set, i) ? &param->old.init : &param->init,
                   ts_param_bytes(param->kind));
    }
}

bool ts_param_keeps_old(const struct param_set *set, size_t i)
{
    return set->version > 0 && set->version <= set->params[i].old.until && !(set->given >> i & 1);
}

const struct param *ts_param_find(const struct param *params, size_t n_params, const char *name,
                                  size_t *index)
{
    for (size_t i = 0; i < n_params; i++)
        if (!strcmp(params[i].name, name)) {
            if (index)
                *index = i;
            return &params[i];
        }
    return NULL;
}

bool ts_param_is_file(const struct param *params, size_t n_params, size_t i)
{
    static const char suffix[] = "_file";
    char name[64], digest[80];
    size_t numbers, text;
    const size_t length = strlen(params[i].name);
    if (params[i].kind != PARAM_TEXT || length < sizeof suffix || length >= sizeof name ||
        strcmp(params[i].name + length + 1 - sizeof suffix, suffix) != 0)
        return false;
    snprintf(name, sizeof name, "%.*s", (int)(length + 1 - sizeof suffix), params[i].name);
    snprintf(digest, sizeof digest, "%s_sha256", name);
    return ts_param_find(params, n_params, name, &numbers) &&
           ts_param_find(params, n_params, digest, &text) &&
           params[numbers].kind == PARAM_NUMBERS && params[text].kind == PARAM_TEXT;
}

bool ts_param_given(const struct param_set *set, const char *name)
{
    size_t i;
    return ts_param_find(set->params, set->n_params, name, &i) && (set->given >> i & 1);
}

void ts_param_give(struct param_set *set, const char *name)
{
    size_t i;
    if (ts_param_find(set->params, set->n_params, name, &i))
        set->given |= 1u << i;
}

void ts_param_idle(struct param_set *set, const char *name)
{
    size_t i;
    if (ts_param_find(set->params, set->n_params, name, &i))
        set->idle |= 1u << i;
}

bool ts_param_is_idle(const struct param_set *set, size_t i)
{
    return set->idle >> i & 1;
}

enum ts_status ts_param_error(const struct param_set *set, const char *name, const char *code,
                              struct ts_diag *diag, const char *format, ...)
{
    char message[2048], site[160];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    snprintf(site, sizeof site, "%s.%s", set->owner, name);
    size_t i;
    const bool written =
        ts_param_find(set->params, set->n_params, name, &i) && (set->given >> i & 1);
    return ts_diag_error(diag, TS_BAD_CHAIN,
                         &(struct diag_site){.code = code,
                                             .span = written ? set->spans[i] : set->span,
                                             .stage = site},
                         "%s", message);
}

const struct choice ts_beam_choices[] = {
    {"parallel", TS_BEAM_PARALLEL, "one direction a view"},
    {"fan-arc", TS_BEAM_FAN_ARC,
     "equiangular: detector pixels evenly along an arc around the source"},
    {"fan-flat", TS_BEAM_FAN_FLAT,
     "equispaced: detector pixels evenly along a line at a right angle to the central ray"},
    {0},
};

const char *ts_choice_name(const struct choice *choices, int32_t value)
{
    for (; choices && choices->name; choices++)
        if (choices->value == value)
            return choices->name;
    return NULL;
}

const struct choice *ts_param_choice(const struct param_set *set, size_t i)
{
    const struct choice *choice = set->params[i].choices;
    const int32_t value = choice ? *(const int32_t *)ts_param_field(set, i) : 0;
    while (choice && choice->name && choice->value != value)
        choice++;
    return choice && choice->name ? choice : NULL;
}

const char *ts_param_choice_name(const struct param_set *set, const char *name)
{
    size_t i;
    const struct choice *choice =
        ts_param_find(set->params, set->n_params, name, &i) ? ts_param_choice(set, i) : NULL;
    return choice ? choice->name : NULL;
}

int ts_real_format(double value, char *out, size_t size)
{
    if (isinf(value))
        return snprintf(out, size, value > 0 ? "inf" : "-inf");
    char text[40];
    /* Makes the decimal point a '.', whatever the calling program has chosen; the C locale is built
     * in and takes no memory. */
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    const locale_t callers = uselocale(c_locale);
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    /* Writes 9000 instead of 9e+03, which is exact for whole numbers of this size. */
    if (strstr(text, "e+") && fabs(value) < 1e15)
        snprintf(text, sizeof text, "%.0f", value);
    uselocale(callers);
    freelocale(c_locale);
    return snprintf(out, size, "%s", text);
}

static enum ts_status check_number(const struct param_set *set, const struct param *param,
                                   double value, struct ts_diag *diag)
{
    const bool bounded = param->min != 0 || param->max != 0;
    if (bounded ? value >= param->min && value <= param->max : isfinite(value))
        return TS_OK;
    char shown[40], low[40], high[40];
    ts_real_format(value, shown, sizeof shown);
    ts_real_format(param->min, low, sizeof low);
    ts_real_format(param->max, high, sizeof high);
    if (!bounded)
        return ts_param_error(set, param->name, "parameter-range", diag,
                              "%s is not a finite number", shown);
    return ts_param_error(set, param->name, "parameter-range", diag, "%s is outside [%s, %s]%s%s",
                          shown, low, high, param->unit && *param->unit ? " " : "",
                          param->unit ? param->unit : "");
}

enum ts_status ts_param_check(const struct param_set *set, size_t i, struct ts_diag *diag)
{
    const struct param *param = &set->params[i];
    const void *at = ts_param_field(set, i);
    switch (param->kind) {
    case PARAM_INTEGER:
        return check_number(set, param, (double)*(const int64_t *)at, diag);
    case PARAM_REAL:
        return check_number(set, param, *(const double *)at, diag);
    case PARAM_NUMBERS: {
        const struct ts_numbers *numbers = at;
        for (int64_t j = 0; j < numbers->rows * numbers->columns; j++) {
            const enum ts_status status = check_number(set, param, numbers->values[j], diag);
            if (status != TS_OK)
                return status;
        }
        return TS_OK;
    }
    case PARAM_CHOICE:
        if (!ts_choice_name(param->choices, *(const int32_t *)at))
            return ts_param_error(set, param->name, "parameter-choice", diag,
                                  "no choice has the number %" PRId32, *(const int32_t *)at);
        return TS_OK;
    case PARAM_BOOL:
    case PARAM_TEXT:
    case PARAM_TEXTS:
    case PARAM_REFERENCE:
        return TS_OK;
    }
    return TS_OK;
}

/* Counts what does not fit, as snprintf does. */
static int append(char *out, size_t size, int used, const char *text)
{
    const size_t length = strlen(text), at = (size_t)used;
    if (at < size) {
        const size_t capacity = size - at - 1, copied = length < capacity ? length : capacity;
        memcpy(out + at, text, copied);
        out[at + copied] = '\0';
    }
    return used + (int)length;
}

static int append_quoted(char *out, size_t size, int used, const char *text)
{
    char piece[8];
    used = append(out, size, used, "\"");
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c == '"' || *c == '\\')
            snprintf(piece, sizeof piece, "\\%c", *c);
        else if (*c < 0x20 || *c == 0x7F)
            snprintf(piece, sizeof piece, "\\x%02X", *c);
        else
            snprintf(piece, sizeof piece, "%c", *c);
        used = append(out, size, used, piece);
    }
    return append(out, size, used, "\"");
}

static int format_numbers(const struct ts_numbers *numbers, char *out, size_t size)
{
    int used = append(out, size, 0, "[");
    for (int64_t row = 0; row < numbers->rows; row++) {
        if (numbers->rows > 1)
            used = append(out, size, used, row > 0 ? ", [" : "[");
        for (int64_t column = 0; column < numbers->columns; column++) {
            char text[48];
            ts_real_format(numbers->values[row * numbers->columns + column], text, sizeof text);
            used = append(out, size, used, column > 0 ? ", " : "");
            used = append(out, size, used, text);
        }
        if (numbers->rows > 1)
            used = append(out, size, used, "]");
    }
    return append(out, size, used, "]");
}

int ts_param_format_value(const struct param *param, const void *at, char *out, size_t size)
{
    if (size > 0)
        out[0] = '\0';
    switch (param->kind) {
    case PARAM_INTEGER:
        return snprintf(out, size, "%" PRId64, *(const int64_t *)at);
    case PARAM_REAL:
        return ts_real_format(*(const double *)at, out, size);
    case PARAM_CHOICE:
        return append(out, size, 0, ts_choice_name(param->choices, *(const int32_t *)at));
    case PARAM_BOOL:
        return append(out, size, 0, *(const bool *)at ? "true" : "false");
    case PARAM_TEXT:
        return append_quoted(out, size, 0,
                             *(const char *const *)at ? *(const char *const *)at : "");
    case PARAM_TEXTS: {
        const struct ts_texts *texts = at;
        int used = append(out, size, 0, "[");
        for (int64_t j = 0; j < texts->n; j++) {
            used = append(out, size, used, j > 0 ? ", " : "");
            used = append_quoted(out, size, used, texts->items[j]);
        }
        return append(out, size, used, "]");
    }
    case PARAM_NUMBERS:
        return format_numbers(at, out, size);
    case PARAM_REFERENCE: {
        const struct ts_reference *reference = at;
        return append(out, size, 0, reference->name ? reference->name : "none");
    }
    }
    return 0;
}

int ts_param_format(const struct param_set *set, size_t i, char *out, size_t size)
{
    char length[48];
    if ((set->given_in_unit >> i & 1) && !set->params[i].in_angle_unit) {
        ts_real_format(set->own_values[i], length, sizeof length);
        return snprintf(out, size, "%smm", length);
    }
    return ts_param_format_value(&set->params[i], ts_param_field(set, i), out, size);
}

/* Returns how many edits make b of a (insert, delete, replace, swap neighbors). It gives up past
 * `limit`. */
static size_t edit_distance(const char *a, const char *b, size_t limit)
{
    enum { LONGEST = 64 };
    const size_t m = strlen(a), n = strlen(b);
    /* Three rows are kept: that of the present letter of a, and those of the two letters before
     * it. */
    size_t rows[3][LONGEST + 1];
    if (m > LONGEST || n > LONGEST || (m > n ? m - n : n - m) > limit)
        return limit + 1;
    for (size_t j = 0; j <= n; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= m; i++) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *above2 = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t best = above[j - 1] + (a[i - 1] != b[j - 1]);
            if (above[j] + 1 < best)
                best = above[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                above2[j - 2] + 1 < best)
                best = above2[j - 2] + 1;
            row[j] = best;
        }
    }
    return rows[m % 3][n];
}

/* Returns the only name that begins with these letters, or NULL if they are too few or several
 * names do. */
static const char *begun_name(const char *letters, const char *const *names, size_t n)
{
    enum { LEAST_LETTERS = 4 };
    const size_t length = strlen(letters);
    const char *found = NULL;
    for (size_t i = 0; length >= LEAST_LETTERS && i < n; i++) {
        if (strncmp(letters, names[i], length) != 0)
            continue;
        if (found)
            return NULL;
        found = names[i];
    }
    return found;
}

/* Words of other tools, and what people mean by them here; the first that is among the names. */
static const char *const synonyms[][2] = {
    {"blur", "gaussian"},
    {"smooth", "gaussian"},
    {"denoise", "nlm"},
    {"clip", "window"},
    {"clip", "crop"},
    {"clamp", "window"},
    {"normalize", "rescale"},
    {"normalise", "rescale"},
    {"standardize", "rescale"},
    {"resize", "resample"},
    {"zoom", "resample"},
    {"interpolate", "resample"},
    {"binarize", "threshold"},
    {"segment", "threshold"},
    {"otsu", "threshold"},
    {"trim", "crop"},
    {"cut", "crop"},
    {"rotate", "reorient"},
    {"transpose", "reorient"},
    {"despeckle", "median"},
    {"mean", "box"},
    {"uniform", "box"},
    {"stats", "statistics"},
    {"hist", "histogram"},
    {"nii", "nifti"},
    {"tif", "tiff"},
    {"h5", "hdf5"},
    {"hdf", "hdf5"},
    {"dcm", "dicom"},
    {"nhdr", "nrrd"},
    {"mhd", "mha"},
    {"metaimage", "mha"},
    {"nxs", "nexus"},
    {"numpy", "npy"},
    {"add", "combine"},
    {"subtract", "combine"},
    {"multiply", "combine"},
    {"divide", "combine"},
};

const char *ts_nearest_name(const char *name, const char *const *names, size_t n)
{
    for (size_t s = 0; s < sizeof synonyms / sizeof *synonyms; s++)
        for (size_t i = 0; !strcasecmp(name, synonyms[s][0]) && i < n; i++)
            if (!strcmp(names[i], synonyms[s][1]))
                return names[i];
    const size_t limit = strlen(name) <= 4 ? 1 : strlen(name) / 3;
    size_t best = limit + 1;
    const char *nearest = NULL;
    for (size_t i = 0; i < n; i++) {
        const size_t distance = edit_distance(name, names[i], limit);
        if (distance < best) {
            best = distance;
            nearest = names[i];
        }
    }
    return nearest ? nearest : begun_name(name, names, n);
}

void ts_list_names(char *out, size_t size, const char *const *names, size_t n)
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        const size_t need = strlen(names[i]) + 2;
        if (used + need + sizeof "..." > size) {
            memcpy(out + used, "...", sizeof "...");
            return;
        }
        used += (size_t)snprintf(out + used, size - used, "%s%s", names[i], i + 1 < n ? ", " : "");
    }
}
