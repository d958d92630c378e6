/* SPDX-License-Identifier: Apache-2.0
 *
 * What `run` and `check` have in common: the options and the chain that the command line names.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "io/source/source.h"
#include "pipeline/cli/cli.h"
#include "stages/engine/stage.h"

struct cli_chain ts_cli_chain = {.options = TS_OPTIONS_DEFAULT};

const char ts_cli_chain_help[] =
    "CHAIN is a file, or a chain in one line: 'dicom ./study | box radius=2 | hdf5 out.h5'.\n"
    "One that begins with a stage takes its input from -i: 'box radius=2' -i ./study -o "
    "out.h5.\n";

bool ts_cli_parse_set(const struct command *command, const struct command_option *option, const char *value)
{
    if (ts_cli_chain.n_sets == CLI_MAX_SETS) {
        ts_command_wrong(command, "more than %d '--%s'; write them into the chain", CLI_MAX_SETS, option->name);
        return false;
    }
    ts_cli_chain.sets[ts_cli_chain.n_sets++] = value;
    return true;
}

bool ts_cli_parse_device(const struct command *command, const struct command_option *option, const char *value)
{
    int64_t number;
    const bool is_device =
        !strcmp(value, "auto") || !strcmp(value, "cpu") || !strcmp(value, "cuda") ||
        (!strncmp(value, "cuda:", 5) && value[5] != '-' && ts_command_parse_integer(value + 5, 0, 1023, &number));
    if (is_device)
        ts_cli_chain.options.device = value;
    else
        ts_command_wrong(command, "'--%s %s' is none of auto, cpu, cuda, cuda:N", option->name, value);
    return is_device;
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

enum ts_status ts_cli_chain_load(const char *text, struct ts_chain **chain, struct ts_diag *diag)
{
    const struct cli_chain *arguments = &ts_cli_chain;
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
