/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "io/dicom_group.h"
#include "io/hdf5_read.h"
#include "pipeline/cli.h"

static bool is_hdf5(const char *path)
{
    static const unsigned char signature[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1A, '\n'};
    unsigned char start[8];
    FILE *file = fopen(path, "rb");
    const bool found = file && fread(start, 1, sizeof start, file) == sizeof start && !memcmp(start, signature, 8);
    if (file)
        fclose(file);
    return found;
}

static int info(int argc, char **argv)
{
    enum { OPTION_JSON = 256 };
    static const struct option options[] = {
        {"json", no_argument, NULL, OPTION_JSON}, {"help", no_argument, NULL, 'h'}, {0}};
    bool json = false;
    int option;
    while ((option = ts_cli_option(&ts_cli_info, argc, argv, ":h", options)) != -1) {
        if (option != OPTION_JSON)
            return option == 0 ? 0 : CLI_WRONG;
        json = true;
    }
    if (!ts_cli_operands(&ts_cli_info, argc, argv, 1, "a PATH"))
        return CLI_WRONG;
    const char *path = argv[optind];
    struct ts_diag *diag = ts_cli_diag();
    struct stat status;
    if (!diag)
        return TS_RUN_FAILED;
    enum ts_status result;
    if (stat(path, &status) != 0)
        result = ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "input-unreadable"},
                               "%s cannot be read: %s", path, strerror(errno));
    else if (S_ISREG(status.st_mode) && is_hdf5(path))
        result = ts_hdf5_info(path, json, stdout, diag);
    else
        result = ts_dicom_info(path, json, stdout, diag);
    return ts_cli_finish_take(diag, result, json);
}

const struct cli_command ts_cli_info = {
    .name = "info",
    .usage = "PATH [--json]",
    .summary = "say what a DICOM folder or an HDF5 file holds",
    .help =
        "A DICOM folder or file: its series, sizes, spacing and orientation, what would be refused and why.\n"
        "An HDF5 file: its datasets and how they were made; of a scan in NXtomo or Data Exchange its frames, detector\n"
        "and angles too.\n\n"
        "      --json              one JSON object instead\n",
    .run = info,
};
