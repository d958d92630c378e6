/* SPDX-License-Identifier: Apache-2.0
 *
 * What `run` and `check` share: their options, and the chain that the command line names.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "io/file/file_signature.h"
#include "io/scan/file_kind.h"
#include "pipeline/chain/formats.h"
#include "pipeline/plan/device_choice.h"
#include "program/cli/cli.h"
#include "stages/engine/registry.h"

struct cli_chain ts_cli_chain = {
    .options = TS_OPTIONS_DEFAULT, .every = 30, .viewer = VIEWER_REQUEST_DEFAULT};

const char ts_cli_chain_help[] =
    "CHAIN is a file, or a chain in one line: 'dicom ./study | box radius=2 | hdf5 out.h5'.\n"
    "One that begins with a stage takes its input from -i: 'box radius=2' -i ./study -o out.h5.\n";

bool ts_cli_parse_set(const struct command *command, const struct command_option *option,
                      const char *value)
{
    if (ts_cli_chain.n_sets == CLI_MAX_SETS) {
        ts_command_wrong(command, "more than %d '--%s'; write them into the chain", CLI_MAX_SETS,
                         option->name);
        return false;
    }
    ts_cli_chain.sets[ts_cli_chain.n_sets++] = value;
    return true;
}

bool ts_cli_parse_device(const struct command *command, const struct command_option *option,
                         const char *value)
{
    struct device_choice choice;
    struct ts_diag *diag = ts_diag_create();
    const bool is_device = diag && ts_device_choice_parse(value, &choice, diag) == TS_OK;
    ts_diag_destroy(diag);
    if (is_device)
        ts_cli_chain.options.device = value;
    else
        ts_command_wrong(command,
                         "'--%s %s' is none of auto, cpu, cuda, cuda:N, cuda:N,M, cuda:all",
                         option->name, value);
    return is_device;
}

/* Returns the length of the name of a stage, format or parameter at the start of the text. */
static size_t name_length(const char *text)
{
    return strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");
}

/* A text that names no file is a chain if it has the form of one, even with an unknown stage: the
   message then names the stage, not a file that nobody meant. */
bool ts_cli_is_one_line(const char *text)
{
    struct stat status;
    char word[64];
    if (stat(text, &status) == 0)
        return false;
    if (strchr(text, '|'))
        return true;
    text += strspn(text, " \t");
    const size_t length = name_length(text);
    if (length >= sizeof word)
        return false;
    memcpy(word, text, length);
    word[length] = '\0';
    const char *rest = text + length + strspn(text + length, " \t");
    const bool apart = rest > text + length;
    if (ts_registry_find(NULL, word))
        return apart || !*rest || strchr("([{", *rest);
    if (ts_source_format_find(word))
        return apart || !*rest;
    return length > 0 && apart && rest[name_length(rest)] == '=';
}

/* Refuses an image, and hints at its use: as an input, or, if it is a result, for the chain in
   it. */
static enum ts_status refuse_image(const char *path, struct ts_diag *diag)
{
    const char *format, *kind = ts_file_kind(path, &format);
    if (!kind)
        return TS_OK;
    ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "not-a-chain"},
                  "%s is %s, not a chain", path, kind);
    if (!strcmp(format, "result"))
        ts_diag_hint(
            diag,
            "`tomostage rerun %s -i INPUT` runs the chain that it holds and compares; as an input: "
            "'result %s | STAGE | hdf5 OUT.h5', or of a scan 'nexus %s' or 'exchange %s'",
            path, path, path, path);
    else if (ts_file_unpack_hint(format))
        ts_diag_hint(diag, "%s", ts_file_unpack_hint(format));
    else if (!strcmp(kind, "a folder"))
        ts_diag_hint(diag, "as an input: 'dicom %s | STAGE | hdf5 OUT.h5', or of a scan 'tiff %s'",
                     path, path);
    else
        ts_diag_hint(diag, "as an input: '%s %s | STAGE | hdf5 OUT.h5'", format, path);
    return TS_BAD_CHAIN;
}

enum ts_status ts_cli_chain_load(const char *text, struct ts_chain **chain, struct ts_diag *diag)
{
    const struct cli_chain *arguments = &ts_cli_chain;
    const bool one_line = ts_cli_is_one_line(text);
    enum ts_status status =
        one_line ? ts_chain_parse(text, strlen(text), "command line", NULL, chain, diag)
                 : refuse_image(text, diag);
    if (status == TS_OK && !one_line)
        status = ts_chain_load(text, chain, diag);
    if (status == TS_OK && arguments->input)
        status = ts_chain_set_input(*chain, arguments->input, diag);
    if (status == TS_OK && arguments->output)
        status = ts_chain_set_output(*chain, arguments->output, diag);
    for (int i = 0; i < arguments->n_sets && (status == TS_OK || status == TS_BAD_CHAIN) && *chain;
         i++) {
        const enum ts_status set = ts_chain_set(*chain, arguments->sets[i], diag);
        if (status == TS_OK)
            status = set;
    }
    return status;
}
