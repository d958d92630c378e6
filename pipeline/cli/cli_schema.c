/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/chain/describe.h"
#include "pipeline/cli/cli.h"

static int schema(int argc, char **argv)
{
    static const struct option options[] = {{"help", no_argument, NULL, 'h'}, {0}};
    const int option = ts_cli_option(&ts_cli_schema, argc, argv, ":h", options);
    if (option != -1)
        return option == 0 ? 0 : CLI_WRONG;
    if (!ts_cli_operands(&ts_cli_schema, argc, argv, 0, ""))
        return CLI_WRONG;
    ts_describe_schema(stdout);
    return 0;
}

const struct cli_command ts_cli_schema = {
    .name = "schema",
    .usage = "",
    .summary = "print the JSON Schema of a chain file, for editors",
    .help = "Editors with a YAML language server take it from the first line of a chain:\n"
            "  # yaml-language-server: $schema=tomostage.schema.json\n",
    .run = schema,
};
