/* SPDX-License-Identifier: Apache-2.0
 *
 * `tomostage convert` writes series of DICOM as NIfTI with their sidecars: the one that a run would
 * read, or all that are volumes, each by a chain of its own. What is no volume has a line that says
 * why.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/path.h"
#include "include/tomostage.h"
#include "io/dicom/dicom_metadata.h"
#include "io/dicom_header/dicom_scan.h"
#include "io/dicom_series/dicom_group.h"
#include "io/dicom_series/dicom_non_images.h"
#include "program/cli/cli.h"

enum { NAME_BYTES = 1024, MOST_SERIES = 4096 };

static struct arguments {
    const char *output, *pattern;
    bool all, force;
} arguments = {.pattern = "%f_%s"};

static const struct command_option options[] = {
    {"output", 'o', OPTION_TEXT, OPTION_AT(struct arguments, output), "OUT",
     "a file .nii or .nii.gz, or with --all-series a folder"},
    {"all-series", 0, OPTION_FLAG, OPTION_AT(struct arguments, all), NULL,
     "every series that is a volume, not only the one that a run would read"},
    {"filename", 'f', OPTION_TEXT, OPTION_AT(struct arguments, pattern), "PATTERN",
     "names below OUT: %f folder, %s Series Number, %d description, %p protocol,\n"
     "%m manufacturer, %j UID, %z kind; slashes make folders, as in\n"
     "'sub-01/anat/sub-01_%p'; default: %f_%s"},
    {"force", 0, OPTION_FLAG, OPTION_AT(struct arguments, force), NULL, "replace existing files"}};

/* ---- names ----------------------------------------------------------------------------------- */

/* Adds a text of a header to a name: letters, digits, dots and hyphens; others become
   underscores. */
static void add_text(char name[NAME_BYTES], const char *text)
{
    size_t used = strlen(name);
    for (; text && *text && used + 1 < NAME_BYTES; text++) {
        const bool plain = (*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') ||
                           (*text >= '0' && *text <= '9') || strchr(".-", *text);
        name[used++] = *text;
        if (!plain)
            name[used - 1] = '_';
    }
    name[used] = '\0';
}

static void add_code(char name[NAME_BYTES], char code, const struct dicom_series *series,
                     const char *folder)
{
    const struct dicom_image *image = series->images[0];
    char number[32];
    snprintf(number, sizeof number, "%.0f",
             isfinite(image->file->series_number) ? image->file->series_number : series->number);
    switch (code) {
    case 'f':
        add_text(name, folder);
        break;
    case 's':
        add_text(name, number);
        break;
    case 'd':
        add_text(name, image->file->description);
        break;
    case 'p':
        add_text(name, image->keys[KEY_PROTOCOL]);
        break;
    case 'm':
        add_text(name, image->keys[KEY_MANUFACTURER]);
        break;
    case 'j':
        add_text(name, series->series);
        break;
    case 'z':
        add_text(name, series->label);
        break;
    default:
        add_text(name, (const char[]){code, '\0'});
        break;
    }
}

/* Writes the name of a series below the output's folder. Series of one name get a letter, as
   dcm2niix has it. */
static void name_series(const struct dicom_series *series, const char *folder,
                        const char *const *before, size_t n, char name[NAME_BYTES])
{
    char stem[NAME_BYTES] = "";
    for (const char *at = arguments.pattern; *at; at++) {
        const size_t used = strlen(stem);
        if (*at == '%' && at[1])
            add_code(stem, *++at, series, folder);
        else if (used + 1 < sizeof stem) {
            stem[used] = *at;
            stem[used + 1] = '\0';
        }
    }
    snprintf(name, NAME_BYTES, "%.1000s", stem);
    char letter = 'a';
    for (size_t i = 0; i < n && letter <= 'z'; i++)
        if (!strcmp(before[i], name)) {
            snprintf(name, NAME_BYTES, "%.1000s%c", stem, letter++);
            i = (size_t)-1;
        }
}

/* Makes the folders of a path. */
static enum ts_status make_folders(const char *path, struct ts_diag *diag)
{
    char folder[4096];
    snprintf(folder, sizeof folder, "%s", path);
    for (char *slash = folder + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        if (mkdir(folder, 0777) != 0 && errno != EEXIST)
            return ts_diag_error(diag, TS_RUN_FAILED,
                                 &(struct diag_site){.code = "folder-not-usable"},
                                 "'%s' cannot be made: %s", folder, strerror(errno));
        *slash = '/';
    }
    return TS_OK;
}

/* ---- series ---------------------------------------------------------------------------------- */

/* Runs the chain that writes one series; `number` 0: the one that a run would read. */
static enum ts_status run_series(const char *path, int number, const char *output,
                                 struct ts_diag *diag)
{
    static const char text[] = "dicom x | nifti x.nii";
    const struct ts_options of_run = {
        .size = sizeof of_run, .device = "cpu", .force = arguments.force};
    struct ts_chain *chain = NULL;
    struct ts_plan *plan = NULL;
    char series[32];
    snprintf(series, sizeof series, "input.series=%d", number);
    enum ts_status status = ts_chain_parse(text, strlen(text), "convert", NULL, &chain, diag);
    if (status == TS_OK)
        status = ts_chain_set_input(chain, path, diag);
    if (status == TS_OK)
        status = ts_chain_set_output(chain, output, diag);
    if (status == TS_OK && number > 0)
        status = ts_chain_set(chain, series, diag);
    if (status == TS_OK)
        status = ts_plan_create(chain, &of_run, &plan, diag);
    if (status == TS_OK)
        status = ts_plan_run(plan, diag);
    ts_plan_destroy(plan);
    ts_chain_destroy(chain);
    if (status == TS_OK) {
        ts_command_print_written(output);
        putchar('\n');
    }
    return status;
}

/* Prints the line of a series that is not written, and returns true; false if it can be. */
static bool is_refused(const struct dicom_series *series)
{
    struct dicom_lack lacks[DICOM_MAX_LACKS];
    char line[512];
    const char *code = series->refusal_code, *reason = series->refusal;
    if (!reason && ts_dicom_lacks(series, lacks) > 0) {
        code = lacks[0].code;
        reason = lacks[0].reason;
    }
    if (!reason && !strcmp(ts_dicom_burned_in(series), "YES")) {
        code = "burned-in-annotation";
        reason = DICOM_BURNED_IN_REASON;
    }
    if (!reason)
        return false;
    ts_dicom_series_line(series, true, line, sizeof line);
    printf("refused series %d, ", series->number);
    ts_text_print(stdout, "", line);
    ts_text_print(stdout, ": ", reason);
    printf(" [%s]\n", code);
    return true;
}

/* Writes one series under its name. Its errors are printed at once: they keep no other from being
   written. */
static enum ts_status convert_one(const char *path, const struct dicom_series *series,
                                  const char *name)
{
    char output[4096];
    struct ts_diag *diag = ts_command_diag();
    if (!diag)
        return TS_RUN_FAILED;
    snprintf(output, sizeof output, "%s/%s.nii.gz", arguments.output, name);
    enum ts_status status = make_folders(output, diag);
    if (status == TS_OK)
        status = run_series(path, series->number, output, diag);
    ts_command_flush();
    return (enum ts_status)ts_command_finish_take(diag, status, false);
}

static enum ts_status convert_all(const char *path, struct arena *arena, struct ts_diag *diag)
{
    struct dicom_folder folder;
    struct dicom_series *series = NULL;
    const char **names;
    char whole[4096], name[NAME_BYTES];
    size_t n = 0, n_named = 0;
    enum ts_status status = ts_dicom_scan(&path, 1, arena, &folder, diag);
    if (status == TS_OK)
        status = ts_dicom_group(&folder, &ts_dicom_default_rules, arena, &series, &n, diag);
    if (status == TS_OK && n == 0) {
        const struct dicom_series *none;
        return ts_dicom_choose(series, 0, NULL, &folder, &none, diag);
    }
    names = status == TS_OK ? ts_arena_alloc(arena, n * sizeof *names) : NULL;
    if (status == TS_OK && !names)
        status = ts_diag_no_memory(diag, n * sizeof *names);
    const char *real = realpath(path, whole) ? whole : path;
    for (size_t i = 0; i < n && status != TS_RUN_FAILED && names; i++) {
        if (is_refused(&series[i]))
            continue;
        name_series(&series[i], ts_base_name(real), names, n_named, name);
        names[n_named++] = ts_arena_text(arena, name, strlen(name));
        const enum ts_status one = convert_one(path, &series[i], name);
        status = status == TS_OK ? one : status;
    }
    if (status == TS_OK && n_named == 0) {
        ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "no-volume"},
                      "none of the %zu series is one clean volume", n);
        return ts_diag_hint(diag, "`tomostage info %s` has the way out of each", path);
    }
    printf("%zu of %zu series are written\n", n_named, n);
    return status;
}

static int convert(char **operands)
{
    if (!arguments.output)
        return ts_command_wrong(&ts_cli_convert, "-o OUT is missing");
    struct ts_diag *diag = ts_command_diag();
    if (!diag)
        return TS_RUN_FAILED;
    struct arena *arena = ts_arena_create();
    enum ts_status status = TS_OK;
    if (!arena)
        status = ts_diag_no_memory(diag, sizeof arguments);
    else if (arguments.all)
        status = convert_all(operands[0], arena, diag);
    else
        status = run_series(operands[0], 0, arguments.output, diag);
    ts_arena_destroy(arena);
    ts_command_flush();
    return ts_command_finish_take(diag, status, false);
}

const struct command ts_cli_convert = {
    .name = "convert",
    .usage = "PATH -o OUT [--all-series] [-f PATTERN] [--force]",
    .summary = "write series of DICOM as NIfTI with sidecars",
    .help =
        "Without --all-series it is `run 'dicom PATH' -o OUT`: one series, the only one that is "
        "a volume. With it each series\n"
        "that is a volume is OUT/NAME.nii.gz, with NAME.json, and .bval and .bvec of diffusion; "
        "one line says of each other\n"
        "series why it is none. The exit code is that of the first series that failed, or 3 if "
        "none is a volume.\n",
    COMMAND_ARGUMENTS(options, arguments),
    .operands = {1, 1, "a PATH"},
    .run = convert,
};
