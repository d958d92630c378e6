/* SPDX-License-Identifier: Apache-2.0
 *
 * `tomostage diff`: compares two images of any format, or all images of two results and how they
 * were made.
 */
#include <string.h>

#include "program/cli/cli.h"
#include "program/record/comparison.h"

static struct arguments {
    double tolerance, data_range;
    const char *dataset;
    int32_t window; /* enum compare_window */
    bool json;
} arguments;

static bool parse_window(const struct command *command, const struct command_option *option,
                         const char *value)
{
    const bool gaussian = !strcmp(value, "gaussian");
    arguments.window = gaussian ? WINDOW_GAUSSIAN : WINDOW_UNIFORM;
    if (!gaussian && strcmp(value, "uniform") != 0) {
        ts_command_wrong(command, "'--%s %s' is none of uniform, gaussian", option->name, value);
        return false;
    }
    return true;
}

static const struct command_option options[] = {
    {"tolerance", 0, OPTION_REAL, OPTION_AT(struct arguments, tolerance), "X",
     "the largest difference of two values that passes; default 0"},
    {"dataset", 0, OPTION_TEXT, OPTION_AT(struct arguments, dataset), "NAME",
     "of results: this image alone, by the name that `save` gave it"},
    {"data-range", 0, OPTION_REAL, OPTION_AT(struct arguments, data_range), "R",
     "how far apart values can be, for PSNR and SSIM; default: the largest less\n"
     "the smallest value of A"},
    {"ssim-window", 0, OPTION_PARSED, 0, 0, "WINDOW",
     "uniform (default): 7 x 7 pixels of equal weight; gaussian: 11 x 11, of sigma 1.5",
     .parse = parse_window},
    {"json", 0, OPTION_FLAG, OPTION_AT(struct arguments, json), NULL,
     "everything as one JSON object"}};

/* Fills in a side. --dataset names the image of a result. */
static enum ts_status set_side(const char *text, struct comparison_side *side, struct ts_diag *diag)
{
    bool is_result = false;
    *side = (struct comparison_side){text, ts_cli_is_one_line(text), NULL};
    const enum ts_status status = side->one_line ? TS_OK : ts_side_is_hdf5(text, &is_result, diag);
    if (is_result)
        side->image = arguments.dataset;
    return status;
}

static void print_verdict(const struct comparison *comparison)
{
    static const char *const verdicts[] = {"equal", "within the tolerance", "different",
                                           "different"};
    const size_t n = comparison->n_tables;
    if (comparison->state <= COMPARED_WITHIN && n > 0 && !arguments.dataset)
        printf("%s; %zu table%s differ%s, and %s not judged\n", verdicts[comparison->state], n,
               n == 1 ? "" : "s", n == 1 ? "s" : "", n == 1 ? "is" : "are");
    else
        printf("%s\n", verdicts[comparison->state]);
}

static int diff(char **operands)
{
    struct ts_diag *diag = ts_command_diag();
    struct comparison comparison = {0};
    if (!diag)
        return TS_RUN_FAILED;
    struct comparison_request request = {.tolerance = arguments.tolerance,
                                         .difference = {arguments.data_range, arguments.window}};
    enum ts_status status = set_side(operands[0], &request.sides[0], diag);
    if (status == TS_OK)
        status = set_side(operands[1], &request.sides[1], diag);
    if (status == TS_OK && arguments.dataset && !request.sides[0].image &&
        !request.sides[1].image) {
        ts_diag_destroy(diag);
        return ts_command_wrong(
            &ts_cli_diff, "'--dataset %s' names an image of a result, and neither of these is one",
            arguments.dataset);
    }
    if (status == TS_OK)
        status = ts_comparison_make(&request, &comparison, diag);
    if (status == TS_OK && arguments.json) {
        ts_comparison_print_json(&comparison, stdout);
    } else if (status == TS_OK) {
        ts_comparison_print(&comparison, stdout);
        print_verdict(&comparison);
    }
    const bool beyond = comparison.state > COMPARED_WITHIN;
    ts_comparison_free(&comparison);
    const int code = ts_command_finish_take(diag, status, arguments.json);
    return code == 0 && beyond ? TS_RUN_FAILED : code;
}

const struct command ts_cli_diff = {
    .name = "diff",
    .usage = "A B [--tolerance X] [--dataset NAME] [options]",
    .summary = "report where and by how much two images differ, and how results were made",
    .help = "A and B are results, DICOM folders or files, or files of NIfTI, NRRD, TIFF or .npy, "
            "in any pairing, or\n"
            "inputs as a chain in one line has them: 'dicom ./study series=2'. Of two results all "
            "images are compared,\n"
            "and what they record: inputs, parameters, tables, device, versions.\n"
            "NaN equals NaN. Exit code 0: equal, or within the tolerance; 1: different in values, "
            "shape or grid.\n",
    COMMAND_ARGUMENTS(options, arguments),
    .operands = {2, 2, "an image"},
    .run = diff,
};
