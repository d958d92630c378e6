/* SPDX-License-Identifier: Apache-2.0
 *
 * The commands of the program tomostage: each is a table (program/cli/command.h) in a file of its
 * own (cli_NAME.c); main.c lists them. Other programs carry out `bench` and `study` (cli_lab.c).
 */
#ifndef PROGRAM_CLI_CLI_H
#define PROGRAM_CLI_CLI_H

#include "program/cli/command.h"
#include "program/show/window.h"

extern const struct command ts_cli_run, ts_cli_check, ts_cli_stages, ts_cli_schema, ts_cli_info,
    ts_cli_phantom, ts_cli_preview, ts_cli_plot, ts_cli_view, ts_cli_verify, ts_cli_diff,
    ts_cli_rerun, ts_cli_export, ts_cli_doctor, ts_cli_batch, ts_cli_report, ts_cli_bench,
    ts_cli_study, ts_cli_help, ts_cli_explain, ts_cli_tables, ts_cli_convert;
/* All of them, in the order of --help; NULL ends them. */
extern const struct command *const ts_cli_commands[];
/* Returns the command of this name, or NULL. */
const struct command *ts_cli_find(const char *name);
/* Prints the list of the commands. */
void ts_cli_print_commands(FILE *stream);
/* Reports a name that no command has. Returns the exit code. */
int ts_cli_unknown_command(const char *name);

/* ---- run, check and view --------------------------------------------------------------------- */

enum { CLI_MAX_SETS = 256 };
/* Where pictures are shown: in a window, nowhere, through EGL, or in a terminal: in the way that it
   reports, or in one of the last three, which have the order of enum terminal_way. */
enum cli_screen {
    SCREEN_WINDOW,
    SCREEN_NONE,
    SCREEN_EGL,
    SCREEN_TERMINAL,
    SCREEN_KITTY,
    SCREEN_SIXEL,
    SCREEN_BLOCKS
};

/* The arguments of `run`, `check` and `view`. */
struct cli_chain {
    const char *input, *output;
    const char *resume_from; /* an earlier result; NULL: none */
    const char *machine;     /* file of the machine for which `check` predicts; NULL: none */
    const char *table;       /* stage whose numbers `run` prints; NULL: none */
    const char *picture;     /* file of the picture that `check` draws; NULL: none */
    const char *sets[CLI_MAX_SETS];
    int n_sets;
    struct ts_options options;
    bool quiet, json, view, terminal;
    int every; /* seconds between lines of progress without a terminal */
    struct viewer_request viewer;
    int32_t screen; /* enum cli_screen */
};
extern struct cli_chain ts_cli_chain;

extern const char ts_cli_chain_help[]; /* says what CHAIN may be */
command_parse ts_cli_parse_set, ts_cli_parse_device;

/* clang-format off */
#define CLI_CHAIN_OPTIONS                                                                                              \
    {"input", 'i', OPTION_TEXT, OPTION_AT(struct cli_chain, input), "PATH", "the input, instead of the chain's"},      \
    {"output", 'o', OPTION_TEXT, OPTION_AT(struct cli_chain, output), "FILE",                                          \
     "the output, instead of the chain's; its suffix names the format"},                                                                       \
    {"set", 0, OPTION_PARSED, 0, 0, "NAME=VALUE",                                                                      \
     "one parameter: box.radius=3, box#2.radius=3 for the second box,\n"                                               \
     "input.series=2; may be given several times", .parse = ts_cli_parse_set},                                         \
    {"device", 0, OPTION_PARSED, 0, 0, "DEVICE", "auto (default), cpu, cuda, cuda:N, cuda:N,M or cuda:all",                                \
     .parse = ts_cli_parse_device},                                                                                    \
    {"threads", 0, OPTION_INTEGER, OPTION_AT(struct cli_chain, options.threads), "N",                                  \
     "threads that compute; default: one per core this process may use", 1, 4096},                                     \
    {"memory", 0, OPTION_BYTES, OPTION_AT(struct cli_chain, options.memory_bytes), "SIZE",                             \
     "memory the run may use, as 512M, 2GiB or bytes; default: 60 % of what is free"},                                 \
    {"gpu-memory", 0, OPTION_BYTES, OPTION_AT(struct cli_chain, options.gpu_memory_bytes), "SIZE",                     \
     "GPU memory the run may use; default: 80 % of what the device has"},                                              \
    {"checkpoint", 0, OPTION_TEXT, OPTION_AT(struct cli_chain, options.checkpoint), "FOLDER",                          \
     "keep computed slabs here until the run has succeeded, for --resume;\ndefault where it is asked for: OUTPUT.checkpoint"}, \
    {"force", 0, OPTION_FLAG, OPTION_AT(struct cli_chain, options.force), NULL, "replace an existing output file"},    \
    {"quiet", 0, OPTION_FLAG, OPTION_AT(struct cli_chain, quiet), NULL, "no progress and no summary"},                 \
    {"json", 0, OPTION_FLAG, OPTION_AT(struct cli_chain, json), NULL,                                                  \
     "events and messages as one JSON object per line on standard output"}
/* clang-format on */

/* Shows an image (`view`), or runs a chain and shows what it computes (`view`, or `run --view`,
   which keeps the output). Returns the exit code. */
int ts_cli_show(const char *path, bool keeps_output);

/* The options of what lies over an image, which `preview` and `view` write to ts_cli_over. */
extern struct overlay_style ts_cli_over;
command_parse ts_cli_parse_over, ts_cli_parse_opacity, ts_cli_parse_color, ts_cli_parse_contour;
/* clang-format off */
#define CLI_OVER_OPTIONS                                                                                               \
    {"over", 0, OPTION_PARSED, 0, 0, "IMAGE",                                                                          \
     "what lies over the image: an image of the same result, a file with the same\n"                                   \
     "voxels, a DICOM segmentation or structure set, or an input on one line, such\n"                                  \
     "as 'mask RS.dcm roi=1'", .parse = ts_cli_parse_over},                                                            \
    {"over-style", 0, OPTION_PARSED, 0, 0, "STYLE", "of it: filled (default) or contour", .parse = ts_cli_parse_contour},   \
    {"over-opacity", 0, OPTION_PARSED, 0, 0, "PART", "of it if filled, 0 to 1; default 0.5", .parse = ts_cli_parse_opacity},\
    {"over-color", 0, OPTION_PARSED, 0, 0, "RRGGBB", "of label 1 and of contours; default ff503c",                          \
     .parse = ts_cli_parse_color}
/* clang-format on */

/* Names the output of a command that makes a picture or a page of PATH and was given no -o: NAME of
   PATH/NAME with a suffix, in the current folder, so that nothing is written beside a patient's
   data. A name that says nothing, such as "..", or that of an input in one line, is replaced by
   that of the command. */
const char *ts_cli_default_output(const struct command *command, const char *path,
                                  const char *suffix, char *name, size_t size);
/* Adds a hint that -o names another place, if the folder of such an output takes no files. */
void ts_cli_hint_output(const char *suffix, struct ts_diag *diag);

/* Returns true if the text contains a bar, or begins with the name of a source format and a space,
   or with the name of a stage, whose input -i gives. If a file has that name, the text is the
   file's. */
bool ts_cli_is_one_line(const char *text);
/* Loads the chain from its file or its one-line form, and puts -i, -o and --set in it. */
enum ts_status ts_cli_chain_load(const char *text, struct ts_chain **chain, struct ts_diag *diag);

#endif
