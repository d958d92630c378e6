/* SPDX-License-Identifier: Apache-2.0 */
#include "io/hdf5_read.h"
#include "pipeline/cli.h"

static int verify(int argc, char **argv)
{
    static const struct option options[] = {{"help", no_argument, NULL, 'h'}, {0}};
    const int option = ts_cli_option(&ts_cli_verify, argc, argv, ":h", options);
    if (option != -1)
        return option == 0 ? 0 : CLI_WRONG;
    if (!ts_cli_operands(&ts_cli_verify, argc, argv, 1, "a FILE"))
        return CLI_WRONG;
    struct ts_diag *diag = ts_cli_diag();
    if (!diag)
        return TS_RUN_FAILED;
    const enum ts_status status = ts_hdf5_verify(argv[optind], diag);
    if (status == TS_OK) {
        char path[4096];
        ts_text_escape(path, sizeof path, argv[optind]);
        printf("%s: every digest matches\n", path);
    }
    return ts_cli_finish_take(diag, status, false);
}

const struct cli_command ts_cli_verify = {
    .name = "verify",
    .usage = "FILE",
    .summary = "check every digest of an HDF5 file that tomostage wrote",
    .help = "Recomputes the SHA-256 of every dataset and names the first that differs (exit code 3).\n",
    .run = verify,
};
