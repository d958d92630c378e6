/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "pipeline/chain/describe.h"
#include "pipeline/cli/cli.h"

/* One page per stage into a folder that exists: what docs/stages holds. */
static int write_pages(const char *folder)
{
    for (const struct stage *const *stage = ts_stages; *stage; stage++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s.md", folder, (*stage)->name);
        FILE *file = fopen(path, "w");
        if (file)
            ts_describe_docs(*stage, file);
        const bool failed = !file || ferror(file);
        if ((file && fclose(file)) || failed) {
            ts_cli_wrong(&ts_cli_stages, "%s could not be written: %s", path, strerror(errno));
            return TS_RUN_FAILED;
        }
    }
    return 0;
}

static int stages(int argc, char **argv)
{
    enum { OPTION_MARKDOWN = 256 };
    static const struct option options[] = {
        {"markdown", required_argument, NULL, OPTION_MARKDOWN}, {"help", no_argument, NULL, 'h'}, {0}};
    const char *folder = NULL;
    int option;
    while ((option = ts_cli_option(&ts_cli_stages, argc, argv, ":h", options)) != -1) {
        if (option != OPTION_MARKDOWN)
            return option == 0 ? 0 : CLI_WRONG;
        folder = optarg;
    }
    if (!ts_cli_operands(&ts_cli_stages, argc, argv, folder || optind == argc ? 0 : 1, "NAME"))
        return CLI_WRONG;
    if (folder)
        return write_pages(folder);
    if (optind == argc) {
        ts_describe_stages(stdout);
        return 0;
    }
    const struct stage *stage = ts_stage_find(argv[optind]);
    if (!stage)
        return ts_cli_wrong_stage(&ts_cli_stages, argv[optind]);
    ts_describe_stage(stage, stdout);
    return 0;
}

const struct cli_command ts_cli_stages = {
    .name = "stages",
    .usage = "[NAME]",
    .summary = "list the stages, or print the page of one",
    .help = "      --markdown DIR      write every stage's page as DIR/NAME.md instead\n",
    .run = stages,
};
