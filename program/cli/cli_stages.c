/* SPDX-License-Identifier: Apache-2.0
 *
 * The command `tomostage stages` prints the list of stages or the page of one, or writes all pages
 * as files for the docs. The pages are made from the stages' tables (pipeline/chain/describe.h), so
 * they always describe this program.
 */
#include <errno.h>
#include <string.h>

#include "pipeline/chain/describe.h"
#include "program/cli/cli.h"
#include "stages/engine/registry.h"

static struct arguments {
    const char *folder; /* for pages; NULL: none */
} arguments;

static const struct command_option options[] = {
    {"markdown", 0, OPTION_TEXT, OPTION_AT(struct arguments, folder), "DIR",
     "write every stage's page as DIR/NAME.md instead"}};

/* Writes one page per stage to an existing folder, as in docs/stages. */
static int write_pages(const char *folder)
{
    const struct stage *stage;
    for (size_t i = 0; (stage = ts_registry_stage(NULL, i)) != NULL; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s.md", folder, stage->name);
        FILE *file = fopen(path, "w");
        if (file)
            ts_describe_docs(stage, file);
        const bool failed = !file || ferror(file);
        if ((file && fclose(file)) || failed) {
            ts_command_wrong(&ts_cli_stages, "%s could not be written: %s", path, strerror(errno));
            return TS_RUN_FAILED;
        }
    }
    return 0;
}

static void describe_stages(FILE *stream)
{
    const struct stage *stage;
    for (size_t i = 0; (stage = ts_registry_stage(NULL, i)) != NULL; i++)
        fprintf(stream, "%-12s %s\n", stage->name, stage->summary);
}

static int stages(char **operands)
{
    if (arguments.folder)
        return operands[0] ? ts_command_too_many(&ts_cli_stages, operands[0])
                           : write_pages(arguments.folder);
    if (!operands[0]) {
        describe_stages(stdout);
        return 0;
    }
    const struct stage *stage = ts_registry_find(NULL, operands[0]);
    if (!stage)
        return ts_command_wrong_stage(&ts_cli_stages, operands[0]);
    ts_describe_stage(stage, stdout);
    return 0;
}

const struct command ts_cli_stages = {
    .name = "stages",
    .usage = "[NAME]",
    .summary = "list the stages, or print the page of one",
    COMMAND_ARGUMENTS(options, arguments),
    .operands = {0, 1},
    .run = stages,
};
