/* SPDX-License-Identifier: Apache-2.0
 *
 * `tomostage preview`: writes a picture of the images of a file, in their right proportions, with
 * scale bars and captions that state slice and window.
 */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "program/cli/cli.h"
#include "program/show/preview.h"

static struct arguments {
    const char *output; /* NULL: the name of PATH with .png, in the current folder */
    struct preview_request request;
    struct preview_style style;
    bool force;
} arguments = {.request = {.plane = PLANE_STORED, .slice = -1}};

/* Reads "auto", "percentiles", "full" or CENTER/WIDTH with a positive width. Returns false for
   anything else. */
static bool gray_window_parse(const char *text, struct gray_window_request *request)
{
    static const char *const names[] = {
        [GRAY_AUTO] = "auto", [GRAY_PERCENTILES] = "percentiles", [GRAY_FULL] = "full"};
    for (int i = 0; i < GRAY_LEVEL; i++)
        if (!strcmp(text, names[i])) {
            *request = (struct gray_window_request){.kind = (enum gray_windows)i};
            return true;
        }
    char rest;
    request->kind = GRAY_LEVEL;
    return sscanf(text, "%lf/%lf%c", &request->center, &request->width, &rest) == 2 &&
           isfinite(request->center) && isfinite(request->width) && request->width > 0;
}

static bool parse_window(const struct command *command, const struct command_option *option,
                         const char *value)
{
    const bool fits = gray_window_parse(value, &arguments.style.window);
    if (!fits)
        ts_command_wrong(
            command, "'--%s %s' is none of auto, percentiles, full, CENTER/WIDTH such as 40/400",
            option->name, value);
    return fits;
}

static bool parse_plane(const struct command *command, const struct command_option *option,
                        const char *value)
{
    static const char *const names[] = {[PLANE_SAGITTAL] = "sagittal",
                                        [PLANE_CORONAL] = "coronal",
                                        [PLANE_AXIAL] = "axial",
                                        [PLANE_ALL] = "all"};
    for (int i = 0; i <= PLANE_ALL; i++)
        if (!strcmp(value, names[i])) {
            arguments.request.plane = (enum picture_plane_name)i;
            return true;
        }
    ts_command_wrong(command, "'--%s %s' is none of axial, coronal, sagittal, all", option->name,
                     value);
    return false;
}

struct overlay_style ts_cli_over = OVERLAY_STYLE_DEFAULT;

bool ts_cli_parse_over(const struct command *command, const struct command_option *option,
                       const char *value)
{
    (void)command;
    (void)option;
    ts_cli_over.what = value;
    ts_cli_over.one_line = ts_cli_is_one_line(value);
    return true;
}

bool ts_cli_parse_contour(const struct command *command, const struct command_option *option,
                          const char *value)
{
    ts_cli_over.contour = !strcmp(value, "contour");
    if (ts_cli_over.contour || !strcmp(value, "filled"))
        return true;
    ts_command_wrong(command, "'--%s %s' is neither filled nor contour", option->name, value);
    return false;
}

bool ts_cli_parse_opacity(const struct command *command, const struct command_option *option,
                          const char *value)
{
    char rest;
    if (sscanf(value, "%lf%c", &ts_cli_over.opacity, &rest) == 1 && ts_cli_over.opacity >= 0 &&
        ts_cli_over.opacity <= 1)
        return true;
    ts_command_wrong(command, "'--%s %s' is no number from 0 to 1", option->name, value);
    return false;
}

bool ts_cli_parse_color(const struct command *command, const struct command_option *option,
                        const char *value)
{
    unsigned red, green, blue;
    if (strlen(value) == 6 && strspn(value, "0123456789abcdefABCDEF") == 6 &&
        sscanf(value, "%2x%2x%2x", &red, &green, &blue) == 3) {
        ts_cli_over.color = 0xFF000000u | blue << 16 | green << 8 | red;
        return true;
    }
    ts_command_wrong(command, "'--%s %s' is no color such as ff503c", option->name, value);
    return false;
}

static const struct command_option options[] = {
    {"output", 'o', OPTION_TEXT, OPTION_AT(struct arguments, output), "FILE",
     "the picture; default: the name of PATH with .png, in the current folder"},
    {"dataset", 0, OPTION_TEXT, OPTION_AT(struct arguments, request.dataset), "NAME",
     "of a result: this image only; or the path of any dataset of an HDF5 file;\n"
     "default: every image, in the order of the chain"},
    {"plane", 0, OPTION_PARSED, 0, 0, "PLANE",
     "axial, coronal, sagittal or all; default: the slices as they are stored.\n"
     "Of a scan axial is a sinogram and coronal a projection",
     .parse = parse_plane},
    {"slice", 0, OPTION_INTEGER, OPTION_AT(struct arguments, request.slice), "N",
     "the slice of that plane, from 0; default: the middle one", 0, INT64_MAX},
    {"montage", 0, OPTION_INTEGER, OPTION_AT(struct arguments, request.montage), "N",
     "so many slices, evenly spread", 2, PREVIEW_MONTAGE},
    {"window", 0, OPTION_PARSED, 0, 0, "WINDOW",
     "CENTER/WIDTH such as 40/400; percentiles: the 1st is black and the 99th\n"
     "white; full: smallest and largest value; auto (default): 40/400 for HU, else\n"
     "percentiles",
     .parse = parse_window},
    CLI_OVER_OPTIONS,
    {"blocks", 0, OPTION_FLAG, OPTION_AT(struct arguments, style.blocks), NULL,
     "enlarged samples are rectangles; default: values between them are interpolated"},
    {"plain", 0, OPTION_FLAG, OPTION_AT(struct arguments, style.plain), NULL,
     "one pixel for each value, without captions, scale bar and proportions"},
    {"force", 0, OPTION_FLAG, OPTION_AT(struct arguments, force), NULL,
     "replace an existing picture"}};

const char *ts_cli_default_output(const struct command *command, const char *path,
                                  const char *suffix, char *name, size_t size)
{
    size_t end = strlen(path);
    while (end > 0 && path[end - 1] == '/')
        end--;
    size_t start = end;
    while (start > 0 && path[start - 1] != '/')
        start--;
    const bool says = strspn(path + start, ".") < end - start && !ts_cli_is_one_line(path);
    snprintf(name, size, "%.*s%s", says ? (int)(end - start) : (int)strlen(command->name),
             says ? path + start : command->name, suffix);
    return name;
}

void ts_cli_hint_output(const char *suffix, struct ts_diag *diag)
{
    const struct ts_diag_record *last =
        ts_diag_count(diag) > 0 ? ts_diag_get(diag, ts_diag_count(diag) - 1) : NULL;
    if (last && !strcmp(last->code, "output-folder-not-writable"))
        ts_diag_hint(diag, "-o FOLDER/FILE%s writes it elsewhere", suffix);
}

static int preview(char **operands)
{
    char name[4096];
    struct preview_request *request = &arguments.request;
    if (request->plane == PLANE_ALL && (request->slice >= 0 || request->montage > 0))
        return ts_command_wrong(
            &ts_cli_preview,
            "--plane all shows the middle slices; --slice and --montage are for one plane");
    if (request->slice >= 0 && request->montage > 0)
        return ts_command_wrong(&ts_cli_preview,
                                "--slice shows one slice and --montage several; give one of them");
    request->text = operands[0];
    request->one_line = ts_cli_is_one_line(operands[0]);
    request->over = ts_cli_over;
    const char *output = arguments.output ? arguments.output
                                          : ts_cli_default_output(&ts_cli_preview, operands[0],
                                                                  ".png", name, sizeof name);
    struct ts_diag *diag = ts_command_diag();
    if (!diag)
        return TS_RUN_FAILED;
    enum ts_status status = ts_command_check_suffix(output, ".png", diag);
    if (status == TS_OK)
        status = ts_command_keep_input(output, operands[0], diag);
    if (status == TS_OK && !arguments.force && access(output, F_OK) == 0) {
        status = ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "output-exists"},
                               "%s exists", output);
        ts_diag_hint(diag, "--force replaces it, -o FILE.png names another");
    } else if (status == TS_OK) {
        status = ts_preview_write(request, &arguments.style, output, stdout, diag);
    }
    if (status == TS_OK)
        ts_command_written(output);
    if (!arguments.output)
        ts_cli_hint_output(".png", diag);
    return ts_command_finish_take(diag, status, false);
}

const struct command ts_cli_preview = {
    .name = "preview",
    .usage = "PATH [-o OUT.png] [--plane PLANE] [--slice N] [--window WINDOW] [options]",
    .summary = "draw slices of an image with scale bars and captions as one PNG",
    .help = "PATH is a result or another HDF5 file, a DICOM folder or file, a scan, or a file of "
            "NIfTI, NRRD, TIFF or\n"
            ".npy, or an input as a chain in one line has it: 'dicom ./study series=2'. Padding "
            "and NaN are black, and\n"
            "have no part in the window, which is printed.\n",
    COMMAND_ARGUMENTS(options, arguments),
    .operands = {1, 1, "a PATH"},
    .run = preview,
};
