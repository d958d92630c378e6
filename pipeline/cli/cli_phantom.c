/* SPDX-License-Identifier: Apache-2.0 */
#include "datasets/phantom.h"
#include "pipeline/cli/cli.h"

enum { OPTION_SIZE = 256, OPTION_SLICES, OPTION_NOISE, OPTION_SEED, OPTION_QUIET };

static void list_phantoms(FILE *stream)
{
    fputs("\nphantoms:\n", stream);
    for (const struct phantom *phantom = ts_phantoms; phantom->name; phantom++)
        fprintf(stream, "  %-14s %s\n", phantom->name, phantom->summary);
}

/* One option with its value; 0, or the exit code after saying what is wrong. */
static int take_option(int option, const char **folder, struct phantom_options *options)
{
    int64_t number;
    switch (option) {
    case 'o':
        *folder = optarg;
        return 0;
    case OPTION_SIZE:
        if (!ts_cli_parse_integer(optarg, 1, 65535, &options->nx))
            return ts_cli_wrong(&ts_cli_phantom, "'--size %s' is not a whole number from 1 to 65535 pixels", optarg);
        options->ny = options->nx;
        return 0;
    case OPTION_SLICES:
        if (!ts_cli_parse_integer(optarg, 1, 65535, &options->nz))
            return ts_cli_wrong(&ts_cli_phantom, "'--slices %s' is not a whole number from 1 to 65535", optarg);
        return 0;
    case OPTION_NOISE:
        if (!ts_cli_parse_integer(optarg, 0, 4095, &number))
            return ts_cli_wrong(&ts_cli_phantom, "'--noise %s' is not a whole number from 0 to 4095 HU", optarg);
        options->noise_hu = (double)number;
        return 0;
    default:
        if (!ts_cli_parse_integer(optarg, 0, INT64_MAX, &number))
            return ts_cli_wrong(&ts_cli_phantom, "'--seed %s' is not a whole number from 0 on", optarg);
        options->seed = (uint64_t)number;
        return 0;
    }
}

static int phantom(int argc, char **argv)
{
    static const struct option options[] = {{"output", required_argument, NULL, 'o'},
                                            {"size", required_argument, NULL, OPTION_SIZE},
                                            {"slices", required_argument, NULL, OPTION_SLICES},
                                            {"noise", required_argument, NULL, OPTION_NOISE},
                                            {"seed", required_argument, NULL, OPTION_SEED},
                                            {"quiet", no_argument, NULL, OPTION_QUIET},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    struct phantom_options made = PHANTOM_OPTIONS_DEFAULT;
    const char *folder = NULL;
    bool quiet = false;
    int option;
    while ((option = ts_cli_option(&ts_cli_phantom, argc, argv, ":ho:", options)) != -1) {
        const int code = option == '?'                           ? CLI_WRONG
                         : option == 0 || option == OPTION_QUIET ? 0
                                                                 : take_option(option, &folder, &made);
        if (option == 0 || code != 0)
            return code;
        quiet = quiet || option == OPTION_QUIET;
    }
    if (!ts_cli_operands(&ts_cli_phantom, argc, argv, 1, "a NAME"))
        return CLI_WRONG;
    if (!folder)
        return ts_cli_wrong(&ts_cli_phantom, "the folder is missing: -o DIR");
    struct ts_diag *diag = ts_cli_diag();
    if (!diag)
        return TS_RUN_FAILED;
    const enum ts_status status = ts_phantom_write(argv[optind], &made, folder, diag);
    if (status == TS_OK)
        ts_cli_written(folder);
    if (status == TS_OK && !quiet) {
        char path[4096];
        ts_text_escape(path, sizeof path, folder);
        printf("wrote %s: %lld DICOM files of %lld x %lld pixels\n", path, (long long)made.nz, (long long)made.nx,
               (long long)made.ny);
    }
    return ts_cli_finish_take(diag, status, false);
}

const struct cli_command ts_cli_phantom = {
    .name = "phantom",
    .usage = "NAME -o DIR [options]",
    .summary = "write a phantom with a known answer as a DICOM CT series",
    .help = "  -o, --output DIR        the folder, which must be absent or empty\n"
            "      --size N            pixels along x and y; default 256\n"
            "      --slices N          slices; default 24\n"
            "      --noise HU          standard deviation of added noise; default 0\n"
            "      --seed N            of the noise; default 0\n"
            "      --quiet             no summary\n",
    .more_help = list_phantoms,
    .run = phantom,
    .stopped = "; the folder may hold a part of the phantom",
};
