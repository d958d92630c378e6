/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the pages of stages from their tables, as plain text and as Markdown. No stage is named
 * here, and every default, range and unit comes from the tables, so that pages cannot differ from
 * what runs.
 */
#include "pipeline/chain/describe.h"

#include <stdlib.h>
#include <string.h>

#include "stages/engine/driver.h"

enum { WIDTH = 80 };

/* ---- words for one parameter ----------------------------------------------------------------- */

static const char *const kind_names[] = {
    [PARAM_INTEGER] = "integer",
    [PARAM_REAL] = "number",
    [PARAM_CHOICE] = "choice",
    [PARAM_BOOL] = "true or false",
    [PARAM_TEXT] = "text",
    [PARAM_TEXTS] = "text or list of texts",
    [PARAM_NUMBERS] = "list of numbers",
    [PARAM_REFERENCE] = "name of an earlier output",
};

/* Writes "0 to 1024", "at least 0" or "at most 1"; "" if every finite number is allowed. */
static void format_range(const struct param *param, char *out, size_t size)
{
    char low[48], high[48];
    out[0] = '\0';
    if (param->min == 0 && param->max == 0)
        return;
    ts_real_format(param->min, low, sizeof low);
    ts_real_format(param->max, high, sizeof high);
    if (isinf(param->min) && isinf(param->max))
        snprintf(out, size, "any, infinite too");
    else if (isinf(param->max))
        snprintf(out, size, "at least %s", low);
    else if (isinf(param->min))
        snprintf(out, size, "at most %s", high);
    else
        snprintf(out, size, "%s to %s", low, high);
}

/* Returns the parameter struct with every value at its default; free() it. NULL if memory is out.
 */
static void *default_values(const struct stage *stage)
{
    struct param_set set = {.params = stage->params,
                            .n_params = stage->n_params,
                            .values = calloc(1, stage->params_bytes > 0 ? stage->params_bytes : 1)};
    if (set.values)
        ts_params_init(&set);
    return set.values;
}

static void format_default(const struct param *param, char *out, size_t size)
{
    const char *word = NULL;
    if (param->required)
        word = "required";
    else if (param->derived)
        word = param->derived;
    else if (param->optional)
        word = "none";
    char now[128], old[128];
    if (!word)
        ts_param_format_value(param, &param->init, now, sizeof now);
    snprintf(out, size, "%s", word ? word : now);
    if (param->old.until == 0)
        return;
    ts_param_format_value(param, &param->old.init, old, sizeof old);
    snprintf(out, size, "%s (%s in chains of version %d)", word ? word : now, old,
             param->old.until);
}

/* ---- words for a stage ----------------------------------------------------------------------- */

/* Prints the names of the bits that are set, separated by commas. */
#define PRINT_BITS(first, last, bits, bit_of, name_of)                                             \
    do {                                                                                           \
        const char *separator = "";                                                                \
        for (int i = first; i <= last; i++)                                                        \
            if ((bits)&bit_of(i)) {                                                                \
                fprintf(stream, "%s%s", separator, name_of(i));                                    \
                separator = ", ";                                                                  \
            }                                                                                      \
    } while (0)

void ts_describe_accepted(const struct stage *stage, FILE *stream)
{
    fprintf(stream, "%s%s%s", stage->axes & AXES_VOLUME ? "volumes (z, y, x)" : "",
            stage->axes == (AXES_VOLUME | AXES_SINOGRAM) ? " and " : "",
            stage->axes & AXES_SINOGRAM ? "sinograms (z, view, detector)" : "");
    fputs("; values of type ", stream);
    PRINT_BITS(TS_U8, TS_F32, stage->dtypes, TS_DTYPE_BIT, ts_dtype_name);
    fputs("; ", stream);
    if (stage->quantities == TS_ANY_QUANTITY)
        fputs("any quantity", stream);
    else
        PRINT_BITS(TS_COUNTS, TS_INTENSITY, stage->quantities, TS_QUANTITY_BIT, ts_quantity_name);
    if (stage->beams != TS_ANY_BEAM && stage->beams != 0) {
        fputs("; of the beams ", stream);
        PRINT_BITS(TS_BEAM_PARALLEL, TS_BEAM_FAN_FLAT, stage->beams, TS_BEAM_BIT, ts_beam_name);
    }
}

/* Lists the tables that a stage leaves for a small volume or sinogram with every parameter at its
   default (which tables it leaves may depend on both). Lists none if the stage cannot work without
   values of the user. */
static int example_tables(const struct stage *stage, struct stage_table tables[STAGE_TABLES])
{
    static const struct {
        enum ts_dtype dtype;
        enum ts_quantity quantity;
        const char *unit;
    } examples[] = {{TS_I16, TS_HU, "HU"},
                    {TS_U8, TS_INTENSITY, "1"},
                    {TS_F32, TS_LINE_INTEGRAL, "1"},
                    {TS_U16, TS_COUNTS, "1"}};
    const bool volume = stage->axes & AXES_VOLUME;
    if (!stage->tables && (!stage->reduction || !stage->reduction->tables))
        return 0;
    for (size_t i = 0; i < stage->n_params; i++)
        if (stage->params[i].required && stage->params[i].kind != PARAM_REFERENCE)
            return 0;
    int n = 0;
    struct ts_diag *diag = ts_diag_create();
    for (size_t i = 0; diag && n == 0 && i < sizeof examples / sizeof *examples; i++) {
        struct ts_image in = {.rank = 3,
                              .axes = {{.kind = TS_AXIS_Z, .n = 8, .spacing = 1, .unit = "mm"},
                                       {.kind = volume ? TS_AXIS_Y : TS_AXIS_VIEW,
                                        .n = 16,
                                        .spacing = 1,
                                        .unit = "mm"},
                                       {.kind = volume ? TS_AXIS_X : TS_AXIS_DETECTOR,
                                        .n = 16,
                                        .spacing = 1,
                                        .unit = "mm"}},
                              .dtype = examples[i].dtype,
                              .quantity = examples[i].quantity,
                              .unit = examples[i].unit};
        struct param_set set = {
            .params = stage->params, .n_params = stage->n_params, .owner = stage->name};
        const struct ts_image *references[STAGE_REFERENCES] = {NULL};
        struct stage_context context;
        for (size_t p = 0, r = 0; p < stage->n_params && r < STAGE_REFERENCES; p++)
            if (stage->params[p].kind == PARAM_REFERENCE)
                references[r++] = stage->params[p].required ? &in : NULL;
        set.values = default_values(stage);
        if (set.values &&
            ts_stage_prepare(stage, &set, &in, references, 1, NULL, diag, &context) == TS_OK)
            n = ts_stage_tables(&context, tables, NULL);
        free(set.values);
    }
    ts_diag_destroy(diag);
    return n;
}

/* Prints a line for each table that the stage leaves: `before`, name, `after`, (axes) dtype:
   sentence. */
static void print_tables(const struct stage *stage, const char *title, const char *before,
                         const char *after, FILE *stream)
{
    struct stage_table tables[STAGE_TABLES];
    const int n = example_tables(stage, tables);
    if (n > 0)
        fputs(title, stream);
    for (int i = 0; i < n; i++) {
        const struct ts_image *image = &tables[i].image;
        fprintf(stream, "%s%s%s (", before, tables[i].name, after);
        for (int axis = 0; axis < image->rank; axis++)
            fprintf(stream, "%s%s", axis > 0 ? ", " : "", ts_axis_name(&image->axes[axis]));
        fprintf(stream, "%s) %s: %s\n", image->rank == 0 ? "one value" : "",
                ts_dtype_name(image->dtype), tables[i].doc);
    }
}

static void print_one_tolerance(const struct stage_tolerance *tolerance, FILE *stream)
{
    char relative[48], absolute[48];
    if (tolerance->relative == 0 && tolerance->absolute == 0) {
        fprintf(stream, "exact: %s", tolerance->why);
        return;
    }
    ts_real_format(tolerance->relative, relative, sizeof relative);
    ts_real_format(tolerance->absolute, absolute, sizeof absolute);
    fprintf(stream, "within %s relative + %s absolute of the double-precision reference: %s",
            relative, absolute, tolerance->why);
}

static void print_tolerance(const struct stage *stage, FILE *stream)
{
    if (stage->origin) {
        fputs("not stated: the stage is from outside", stream);
        return;
    }
    print_one_tolerance(&stage->tolerance, stream);
    for (const struct stage_method_tolerance *at = stage->method_tolerances; at && at->method;
         at++) {
        fprintf(stream, "; `method: %s` ", at->method);
        print_one_tolerance(&at->tolerance, stream);
    }
}

static void print_cpu_only(const struct stage *stage, FILE *stream)
{
    if (stage->cpu_only)
        fprintf(stream, "; on the CPU alone: %s", stage->cpu_only);
}

static void print_origin(const struct stage *stage, FILE *stream)
{
    if (stage->origin)
        fprintf(stream, "\n\nfrom outside: version %s%s%s", stage->origin->version,
                stage->origin->sha256 ? ", of a plugin with SHA-256 " : "",
                stage->origin->sha256 ? stage->origin->sha256 : "");
}

/* Prints a choice as an item of a list. */
static void print_choice(const struct choice *choice, const char *before, const char *after,
                         FILE *stream)
{
    fprintf(stream, "%s%s%s%s%s\n", before, choice->name, after, *choice->doc ? ": " : "",
            choice->doc);
}

/* ---- plain text ------------------------------------------------------------------------------ */

/* Fills paragraphs to WIDTH; indented lines (code, formulas) stay unchanged. */
static void print_filled(const char *text, int indent, FILE *stream)
{
    while (*text) {
        const size_t length = strcspn(text, "\n");
        if (length == 0 || *text == ' ') {
            fprintf(stream, "%*s%.*s\n", length > 0 ? indent : 0, "", (int)length, text);
        } else {
            int column = 0;
            for (const char *at = text, *end = text + length; at < end;) {
                const int word = (int)strcspn(at, " \n");
                if (column > 0 && column + 1 + word > WIDTH) {
                    fputc('\n', stream);
                    column = 0;
                }
                const int space = column > 0 ? 1 : indent;
                fprintf(stream, "%*s%.*s", space, "", word, at);
                column += space + word;
                at += word + (int)strspn(at + word, " ");
            }
            fputc('\n', stream);
        }
        text += length + (text[length] == '\n');
    }
}

static void print_param(const struct stage *stage, size_t i, FILE *stream)
{
    const struct param *param = &stage->params[i];
    char range[120], given[256];
    format_range(param, range, sizeof range);
    format_default(param, given, sizeof given);
    fprintf(stream, "\n  %s: %s%s%s%s%s; %s%s\n", param->name, kind_names[param->kind],
            *range ? ", " : "", range, param->unit && *param->unit ? ", unit " : "",
            param->unit ? param->unit : "", param->required ? "" : "default ", given);
    print_filled(param->doc, 6, stream);
    for (const struct choice *choice = param->choices; choice && choice->name; choice++)
        print_choice(choice, "      - ", "", stream);
}

void ts_describe_stage(const struct stage *stage, FILE *stream)
{
    fprintf(stream, "%s: %s\n\n", stage->name, stage->summary);
    print_filled(stage->doc, 0, stream);
    fputs("\ntakes ", stream);
    ts_describe_accepted(stage, stream);
    print_cpu_only(stage, stream);
    print_origin(stage, stream);
    fputs("\n\nparameters\n", stream);
    for (size_t i = 0; i < stage->n_params; i++)
        print_param(stage, i, stream);
    if (stage->n_params == 0)
        fputs("  none\n", stream);
    print_tables(stage, "\ntables it leaves\n", "  ", "", stream);
    fputs("\naccuracy\n  ", stream);
    print_tolerance(stage, stream);
    fputs("\n\nEvery stage also takes `name:` (a label that later stages and the output file use) "
          "and `input:` (the name of an\n"
          "earlier output or input to work on instead of the one just before).\n",
          stream);
}

/* ---- Markdown -------------------------------------------------------------------------------- */

/* Prints a cell of a Markdown table. Escapes bars, since they would end the cell. */
static void print_cell(const char *text, FILE *stream)
{
    for (; *text; text++) {
        if (*text == '|')
            fputc('\\', stream);
        fputc(*text == '\n' ? ' ' : *text, stream);
    }
}

static void print_docs_params(const struct stage *stage, FILE *stream)
{
    fputs("| parameter | kind | range | unit | default | meaning |\n|---|---|---|---|---|---|\n",
          stream);
    for (size_t i = 0; i < stage->n_params; i++) {
        const struct param *param = &stage->params[i];
        char range[120], given[256];
        format_range(param, range, sizeof range);
        format_default(param, given, sizeof given);
        fprintf(stream, "| `%s` | %s | %s | %s | ", param->name, kind_names[param->kind], range,
                param->unit ? param->unit : "");
        print_cell(given, stream);
        fputs(" | ", stream);
        print_cell(param->doc, stream);
        fputs(" |\n", stream);
    }
    for (size_t i = 0; i < stage->n_params; i++) {
        const struct choice *choice = stage->params[i].choices;
        if (choice)
            fprintf(stream, "\nChoices of `%s`:\n\n", stage->params[i].name);
        for (; choice && choice->name; choice++)
            print_choice(choice, "- `", "`", stream);
    }
}

void ts_describe_docs(const struct stage *stage, FILE *stream)
{
    if (!stage->origin)
        fprintf(stream,
                "<!-- Written by docs/stage_pages.py from the stage's table and its example chain; "
                "edit %s.c. -->\n",
                stage->name);
    fprintf(stream, "# %s\n\n%s\n\n%s\n\n## Takes\n\n", stage->name, stage->summary, stage->doc);
    ts_describe_accepted(stage, stream);
    print_cpu_only(stage, stream);
    print_origin(stage, stream);
    fputs("\n\n## Parameters\n\n", stream);
    if (stage->n_params > 0)
        print_docs_params(stage, stream);
    else
        fputs("None of its own.\n", stream);
    fputs("\nLike every stage it also takes `name` and `input`.\n", stream);
    print_tables(stage, "\n## Tables\n\nWith every parameter at its default:\n\n", "- `", "`",
                 stream);
    fputs("\n## Accuracy\n\n", stream);
    print_tolerance(stage, stream);
    fputc('\n', stream);
}
