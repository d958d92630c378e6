/* SPDX-License-Identifier: Apache-2.0
 *
 * The part of the command line that `run` and `check` have in common, and the chain it names.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "io/source/source.h"
#include "pipeline/cli/cli.h"
#include "stages/engine/stage.h"

const char ts_cli_chain_options[] =
    "CHAIN is a file, or a chain in one line: 'dicom ./study | box radius=2 | hdf5 out.h5'.\n"
    "One that begins with a stage takes its input from -i: 'box radius=2' -i ./study -o out.h5.\n\n"
    "  -i, --input PATH        the input, instead of the chain's\n"
    "  -o, --output FILE       the output file, instead of the chain's\n"
    "      --set NAME=VALUE    one parameter: box.radius=3, box#2.radius=3 for the second box,\n"
    "                          input.series=2; may be given several times\n"
    "      --device DEVICE     auto (default), cpu, cuda or cuda:N\n"
    "      --threads N         threads that compute; default: one per core this process may use\n"
    "      --memory SIZE       memory the run may use, as 512M, 2GiB or bytes; default: 60 % of what is free\n"
    "      --gpu-memory SIZE   GPU memory the run may use; default: 80 % of what the device has\n"
    "      --force             replace an existing output file\n"
    "      --quiet             no progress and no summary\n"
    "      --json              events and messages as one JSON object per line on standard output\n";

enum {
    OPTION_SET = 256,
    OPTION_DEVICE,
    OPTION_THREADS,
    OPTION_MEMORY,
    OPTION_GPU_MEMORY,
    OPTION_FORCE,
    OPTION_QUIET,
    OPTION_JSON,
    OPTION_PICTURE
};

static const struct option options[] = {{"input", required_argument, NULL, 'i'},
                                        {"output", required_argument, NULL, 'o'},
                                        {"set", required_argument, NULL, OPTION_SET},
                                        {"device", required_argument, NULL, OPTION_DEVICE},
                                        {"threads", required_argument, NULL, OPTION_THREADS},
                                        {"memory", required_argument, NULL, OPTION_MEMORY},
                                        {"gpu-memory", required_argument, NULL, OPTION_GPU_MEMORY},
                                        {"force", no_argument, NULL, OPTION_FORCE},
                                        {"quiet", no_argument, NULL, OPTION_QUIET},
                                        {"json", no_argument, NULL, OPTION_JSON},
                                        {"picture", required_argument, NULL, OPTION_PICTURE},
                                        {"help", no_argument, NULL, 'h'},
                                        {0}};

static bool is_device(const char *text)
{
    int64_t number;
    return !strcmp(text, "auto") || !strcmp(text, "cpu") || !strcmp(text, "cuda") ||
           (!strncmp(text, "cuda:", 5) && ts_cli_parse_integer(text + 5, 0, 1023, &number) && text[5] != '-');
}

static int take_size(const struct cli_command *command, const char *option, int64_t *bytes)
{
    if (ts_cli_parse_size(optarg, bytes))
        return 0;
    return ts_cli_wrong(command, "'--%s %s' is not a size such as 512M, 2GiB or 1048576 (bytes)", option, optarg);
}

/* One option with its value; 0, or the exit code after saying what is wrong. */
static int take_option(const struct cli_command *command, int option, struct cli_chain *arguments)
{
    int64_t number;
    switch (option) {
    case 'i':
        arguments->input = optarg;
        return 0;
    case 'o':
        arguments->output = optarg;
        return 0;
    case OPTION_SET:
        if (arguments->n_sets == CLI_MAX_SETS)
            return ts_cli_wrong(command, "more than %d '--set'; write them into the chain", CLI_MAX_SETS);
        arguments->sets[arguments->n_sets++] = optarg;
        return 0;
    case OPTION_DEVICE:
        if (!is_device(optarg))
            return ts_cli_wrong(command, "'--device %s' is none of auto, cpu, cuda, cuda:N", optarg);
        arguments->options.device = optarg;
        return 0;
    case OPTION_THREADS:
        if (!ts_cli_parse_integer(optarg, 1, 4096, &number))
            return ts_cli_wrong(command, "'--threads %s' is not a whole number from 1 to 4096", optarg);
        arguments->options.threads = (int)number;
        return 0;
    case OPTION_MEMORY:
        return take_size(command, "memory", &arguments->options.memory_bytes);
    case OPTION_GPU_MEMORY:
        return take_size(command, "gpu-memory", &arguments->options.gpu_memory_bytes);
    case OPTION_FORCE:
        arguments->options.force = true;
        return 0;
    case OPTION_QUIET:
        arguments->quiet = true;
        return 0;
    case OPTION_PICTURE:
        if (command != &ts_cli_check)
            return ts_cli_wrong(command, "'--picture' is an option of `tomostage check`");
        arguments->picture = optarg;
        return 0;
    default:
        arguments->json = true;
        return 0;
    }
}

bool ts_cli_chain_arguments(const struct cli_command *command, int argc, char **argv, struct cli_chain *arguments,
                            int *code)
{
    *arguments = (struct cli_chain){.options = TS_OPTIONS_DEFAULT};
    int option;
    while ((option = ts_cli_option(command, argc, argv, ":hi:o:", options)) != -1) {
        *code = option == 0 ? 0 : option == '?' ? CLI_WRONG : take_option(command, option, arguments);
        if (option == 0 || *code != 0)
            return false;
    }
    *code = CLI_WRONG;
    if (!ts_cli_operands(command, argc, argv, 1, "a CHAIN"))
        return false;
    arguments->chain = argv[optind];
    return true;
}

/* A bar, the name of a source format and a space, or the name of a stage, whose input -i gives. A file that exists
 * wins. */
static bool is_one_line(const char *text)
{
    struct stat status;
    char word[64];
    if (stat(text, &status) == 0)
        return false;
    if (strchr(text, '|'))
        return true;
    text += strspn(text, " \t");
    const size_t length = strcspn(text, " \t");
    if (length >= sizeof word)
        return false;
    memcpy(word, text, length);
    word[length] = '\0';
    return ts_stage_find(word) || (text[length] && ts_source_format_find(word));
}

enum ts_status ts_cli_chain_load(const struct cli_chain *arguments, struct ts_chain **chain, struct ts_diag *diag)
{
    const char *text = arguments->chain;
    enum ts_status status = is_one_line(text) ? ts_chain_parse(text, strlen(text), "command line", NULL, chain, diag)
                                              : ts_chain_load(text, chain, diag);
    if (status == TS_OK && arguments->input)
        status = ts_chain_set_input(*chain, arguments->input, diag);
    if (status == TS_OK && arguments->output)
        status = ts_chain_set_output(*chain, arguments->output, diag);
    for (int i = 0; i < arguments->n_sets && (status == TS_OK || status == TS_BAD_CHAIN) && *chain; i++) {
        const enum ts_status set = ts_chain_set(*chain, arguments->sets[i], diag);
        if (status == TS_OK)
            status = set;
    }
    return status;
}
