/* SPDX-License-Identifier: Apache-2.0
 *
 * `tomostage view`: shows a result, a DICOM folder, a scan or a chain. The program tomostage leaves
 * it to tomostage-view, which has windows. Pictures in files (--frames) need neither a window nor
 * OpenGL: the same renderer draws them. With --screen egl they take their whole way through OpenGL
 * first.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/file/new_folder.h"
#include "io/scan/file_kind.h"
#include "program/cli/cli.h"
#include "program/cli/cli_signals.h"
#include "program/show/terminal.h"

static bool parse_size(const struct command *command, const struct command_option *option,
                       const char *value)
{
    struct viewer_request *viewer = &ts_cli_chain.viewer;
    int width, height;
    char rest;
    if (sscanf(value, "%dx%d%c", &width, &height, &rest) == 2 && width >= SCENE_LEAST &&
        height >= SCENE_LEAST && width <= SCENE_MOST && height <= SCENE_MOST) {
        viewer->width = width;
        viewer->height = height;
        return true;
    }
    ts_command_wrong(command, "'--%s %s' is not WIDTHxHEIGHT, each from %d to %d pixels",
                     option->name, value, SCENE_LEAST, SCENE_MOST);
    return false;
}

static bool parse_screen(const struct command *command, const struct command_option *option,
                         const char *value)
{
    static const char *const names[] = {
        [SCREEN_WINDOW] = "window",     [SCREEN_NONE] = "none",   [SCREEN_EGL] = "egl",
        [SCREEN_TERMINAL] = "terminal", [SCREEN_KITTY] = "kitty", [SCREEN_SIXEL] = "sixel",
        [SCREEN_BLOCKS] = "blocks"};
    for (int32_t i = 0; i <= SCREEN_BLOCKS; i++)
        if (!strcmp(value, names[i])) {
            ts_cli_chain.screen = i;
            return true;
        }
    ts_command_wrong(command,
                     "'--%s %s' is none of window, none, egl, terminal, kitty, sixel, blocks",
                     option->name, value);
    return false;
}

/* The series of a DICOM folder is a parameter of the input like any other. */
static bool parse_series(const struct command *command, const struct command_option *option,
                         const char *value)
{
    static char assignment[512];
    snprintf(assignment, sizeof assignment, "input.series='%s'", value);
    return ts_cli_parse_set(command, option, assignment);
}

static const struct command_option options[] = {
    CLI_CHAIN_OPTIONS,
    {"series", 0, OPTION_PARSED, 0, 0, "SERIES",
     "of a DICOM folder: the number of the series in `tomostage info`, its\n"
     "Series Number such as '#6', or its UID",
     .parse = parse_series},
    {"stage", 0, OPTION_TEXT, OPTION_AT(struct cli_chain, viewer.stage), "STAGE.NAME",
     "of a chain: a slider for this parameter, such as box.radius, which\n"
     "recomputes the shown slice at once; later stages are left out"},
    {"image", 0, OPTION_TEXT, OPTION_AT(struct cli_chain, viewer.shown.image), "NAME",
     "of a result: the image to begin with; default: data, the last one"},
    {"slice", 0, OPTION_INTEGER, OPTION_AT(struct cli_chain, viewer.slice), "N",
     "the slice to begin with, from 0; default: the middle one", 0, INT64_MAX},
    CLI_OVER_OPTIONS,
    {"frames", 0, OPTION_TEXT, OPTION_AT(struct cli_chain, viewer.frames), "FOLDER",
     "no window: a PNG of each slice, of the one --slice, or of each step\n"
     "of the slider, as FOLDER/frame_0000.png and so on; the folder is new or\n"
     "empty, or --force writes over the pictures in it"},
    {"size", 0, OPTION_PARSED, 0, 0, "WxH",
     "of the window or the pictures, in pixels; default 1280x800", .parse = parse_size},
    {"keys", 0, OPTION_TEXT, OPTION_AT(struct cli_chain, viewer.keys), "KEYS",
     "pressed before the first picture, such as 4x for brain without cross-hair"},
    {"screen", 0, OPTION_PARSED, 0, 0, "WAY",
     "window (default); of frames none (default: the renderer alone) or egl\n"
     "(through OpenGL without a display, as a window draws); in a terminal kitty,\n"
     "sixel, blocks, or terminal: what it says that it can show",
     .parse = parse_screen},
    {"terminal", 0, OPTION_FLAG, OPTION_AT(struct cli_chain, terminal), NULL,
     "the same as --screen terminal, which is the default without a display"}};

static enum ts_status refuse_window(struct ts_diag *diag)
{
    ts_diag_error(
        diag, TS_RUN_FAILED, &(struct diag_site){.code = "view-not-built"},
        "tomostage-view, the program that opens windows, is not installed beside this one");
    return ts_diag_hint(
        diag,
        "it is built where GLFW, EGL and OpenGL are found: apt-get install libglfw3-dev libegl-dev "
        "libgl-dev, then ./bootstrap.sh build; --frames FOLDER needs none of them");
}

/* Claims the folder of the frames before a chain runs. With --force it may hold files. */
static enum ts_status claim_folder(const char *folder, bool force, bool *made, struct ts_diag *diag)
{
    struct stat found;
    *made = false;
    if (force && stat(folder, &found) == 0 && S_ISDIR(found.st_mode))
        return TS_OK;
    return ts_new_folder(folder, made, diag);
}

/* Writes the frames, and prints how many there are and what drew them. */
static enum ts_status write_frames(struct viewer *viewer, const struct cli_chain *arguments,
                                   struct ts_diag *diag)
{
    const bool egl = arguments->screen == SCREEN_EGL;
    struct offscreen *offscreen = NULL;
    struct viewer_frames frames = {0};
    enum ts_status status;
    if (!egl)
        status = TS_OK;
    else
        status =
            ts_view_window ? ts_view_window->screen->open(viewer, &offscreen) : refuse_window(diag);
    if (status == TS_OK)
        status = ts_viewer_frames(viewer, egl ? ts_view_window->draw : NULL, offscreen, &frames);
    if (status == TS_OK && !arguments->quiet) {
        printf("wrote %lld frame%s of %d x %d", (long long)frames.n, frames.n == 1 ? "" : "s",
               viewer->scene.width, viewer->scene.height);
        ts_text_print(stdout, " to ", arguments->viewer.frames);
        printf(", each drawn in %.2f ms (median) by %s%s\n", 1e3 * frames.seconds,
               viewer->renderer.cuda ? viewer->device->name : "the CPU",
               egl ? " through OpenGL" : "");
    }
    if (offscreen)
        ts_view_window->screen->close(offscreen);
    return status;
}

/* Returns true if the picture goes to the terminal: an option says so, or no window can be
   opened. */
static bool is_for_terminal(const struct cli_chain *arguments)
{
    const bool display = ts_view_window && (getenv("DISPLAY") || getenv("WAYLAND_DISPLAY"));
    return !arguments->viewer.frames &&
           (arguments->terminal || arguments->screen >= SCREEN_TERMINAL ||
            (!display && isatty(STDOUT_FILENO)));
}

/* Draws one picture on standard output. Half blocks are too coarse for three planes and text, so
   they show only the slices. */
static enum ts_status show_in_terminal(struct viewer *viewer, const struct cli_chain *arguments,
                                       struct ts_diag *diag)
{
    const enum terminal_way way = arguments->screen >= SCREEN_KITTY
                                      ? (enum terminal_way)(arguments->screen - SCREEN_KITTY)
                                      : ts_terminal_way(STDOUT_FILENO);
    int32_t width = arguments->viewer.width, height = arguments->viewer.height;
    struct view_picture picture;
    ts_terminal_fit(STDOUT_FILENO, way, &width, &height);
    if (way == TERMINAL_BLOCKS)
        viewer->scene.three = viewer->scene.panel = false;
    uint8_t *pixels = malloc((size_t)width * (size_t)height * 4);
    enum ts_status status = pixels ? ts_viewer_picture(viewer, width, height, &picture)
                                   : ts_diag_no_memory(diag, (size_t)width * (size_t)height * 4);
    if (way == TERMINAL_BLOCKS)
        picture.overlay = NULL;
    if (status == TS_OK)
        status = ts_renderer_draw(&viewer->renderer, &picture, pixels);
    if (status == TS_OK) {
        const struct scene *scene = &viewer->scene;
        const struct ts_image *image = ts_scene_shown(scene);
        ts_terminal_write(stdout, way, pixels, width, height);
        printf("slice %lld (0 to %lld), window %.6g to %.6g %s\n", (long long)scene->at[0],
               (long long)scene->image->axes[0].n - 1, scene->low, scene->high, image->unit);
    }
    free(pixels);
    return status;
}

/* Refuses a path under which there is nothing: a text that is no chain in one line and looks like a
   path. Most are mistyped paths of images, not of chains. */
static enum ts_status refuse_missing(const char *text, struct ts_diag *diag)
{
    struct stat found;
    const bool is_path = strchr(text, '/') || !strpbrk(text, " |");
    if (!is_path || ts_cli_is_one_line(text) || stat(text, &found) == 0 ||
        (errno != ENOENT && errno != ENOTDIR))
        return TS_OK;
    return ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "no-such-file"},
                         "there is no file or folder %s", text);
}

/* Lets signals stop a chain that runs. */
static void follow_signals(struct ts_plan *plan)
{
    if (plan)
        ts_cli_signals_plan(plan);
    else
        ts_cli_signals_plan_ended(ts_cli_chain.viewer.shown.keeps_output);
}

static enum ts_status show(const char *path, struct ts_diag *diag)
{
    struct cli_chain *arguments = &ts_cli_chain;
    struct shown_request *shown = &arguments->viewer.shown;
    const char *format, *slash = strrchr(path, '/');
    struct viewer viewer;
    bool made = false;
    const bool terminal = is_for_terminal(arguments);
    enum ts_status status =
        arguments->viewer.frames || terminal || ts_view_window ? TS_OK : refuse_window(diag);
    arguments->viewer.waits = terminal;
    if (ts_file_kind(path, &format)) {
        shown->path = path;
        shown->sets = arguments->sets;
        shown->n_sets = arguments->n_sets;
    } else if (status == TS_OK) {
        status = shown->keeps_output ? TS_OK : refuse_missing(path, diag);
        if (status == TS_OK)
            status = ts_cli_chain_load(path, &shown->chain, diag);
        if (status == TS_OK && shown->keeps_output && !shown->chain->output.path &&
            shown->chain->output.n_sinks > 0) {
            status = ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "view-output"},
                                   "run --view shows the HDF5 output, and the chain has none");
            ts_diag_hint(diag, "add hdf5: FILE.h5 to the output, or leave --view out");
        }
    }
    shown->options = arguments->options;
    arguments->viewer.over = ts_cli_over;
    shown->running = follow_signals;
    arguments->viewer.stopped = ts_cli_signals_came;
    arguments->viewer.title = slash && slash[1] && !strchr(path, '|') ? slash + 1 : path;
    if (status == TS_OK && arguments->viewer.frames)
        status = claim_folder(arguments->viewer.frames, arguments->options.force, &made, diag);
    if (status == TS_OK)
        status = ts_viewer_open(&viewer, &arguments->viewer, diag);
    if (status != TS_OK) {
        if (made)
            rmdir(arguments->viewer.frames);
        return status;
    }
    if (arguments->viewer.frames)
        status = write_frames(&viewer, arguments, diag);
    else if (terminal)
        status = show_in_terminal(&viewer, arguments, diag);
    else
        status = ts_view_window->show(&viewer);
    if (status == TS_OK && shown->keeps_output) /* the window was closed before the chain ended */
        status = ts_shown_finish(&viewer.shown);
    ts_viewer_close(&viewer);
    return status;
}

int ts_cli_show(const char *path, bool keeps_output)
{
    struct ts_diag *diag = ts_command_diag();
    if (!diag)
        return TS_RUN_FAILED;
    ts_cli_chain.viewer.shown.keeps_output = keeps_output;
    const enum ts_status status = show(path, diag);
    if (status == TS_OK && keeps_output)
        ts_command_written(ts_cli_chain.viewer.shown.chain->output.path);
    ts_chain_destroy(ts_cli_chain.viewer.shown.chain);
    const int code = ts_command_finish_take(diag, status, ts_cli_chain.json);
    return ts_cli_signals_came() ? ts_cli_signals_stopped() : code;
}

static int view(char **operands)
{
    return ts_cli_show(operands[0], false);
}

const struct command ts_cli_view = {
    .name = "view",
    .usage = "PATH|CHAIN [options]",
    .summary = "show a result, a DICOM folder, a scan or a running chain in a window",
    .help = "PATH is a result, a DICOM folder or file, or a scan in HDF5 or TIFF. A CHAIN is run, "
            "and shown as it comes;\n"
            "its result goes to a temporary file (`run --view` keeps it). '?' in the window lists "
            "the keys.\n",
    COMMAND_ARGUMENTS(options, ts_cli_chain),
    .operands = {1, 1, "a PATH or CHAIN"},
    .run = view,
    .apart = "tomostage-view",
};
