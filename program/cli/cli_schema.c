/* SPDX-License-Identifier: Apache-2.0
 *
 * The command `tomostage schema` prints the JSON Schema of a chain file, with which editors
 * complete and check chains. The schema is made from the tables of stages and sources
 * (pipeline/chain/describe.h), so that it always fits this program.
 */
#include "pipeline/chain/describe.h"
#include "program/cli/cli.h"

static int schema(char **operands)
{
    (void)operands;
    ts_describe_schema(stdout);
    return 0;
}

const struct command ts_cli_schema = {
    .name = "schema",
    .usage = "",
    .summary = "print the JSON Schema of a chain file, for editors",
    .help = "Editors with a YAML language server take it from the first line of a chain:\n"
            "  # yaml-language-server: $schema=tomostage.schema.json\n",
    .run = schema,
};
