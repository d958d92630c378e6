/* SPDX-License-Identifier: Apache-2.0
 *
 * `tomostage info`: describes a folder or a file by what it is, DICOM or HDF5.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/dicom_series/dicom_group.h"
#include "io/file/regular_file.h"
#include "io/hdf5/hdf5_driver.h"
#include "io/scan/hdf5_info.h"
#include "pipeline/cli/cli.h"

static enum ts_status describe(const char *path, bool json, struct ts_diag *diag)
{
    struct stat found;
    char reason[256];
    if (stat(path, &found) == 0 && S_ISDIR(found.st_mode))
        return ts_dicom_info(path, json, stdout, diag);
    const int fd = ts_regular_file_open(path, &found, reason, sizeof reason);
    if (fd < 0)
        return ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "input-unreadable"}, "%s %s", path,
                             reason);
    const bool hdf5 = ts_hdf5_has_signature(fd);
    const int error = hdf5 ? 0 : errno;
    close(fd);
    if (error)
        return ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "input-unreadable"},
                             "%s cannot be read: %s", path, strerror(error));
    return hdf5 ? ts_hdf5_info(path, json, stdout, diag) : ts_dicom_info(path, json, stdout, diag);
}

static struct arguments {
    bool json;
} arguments;

static const struct command_option options[] = {
    {"json", 0, OPTION_FLAG, OPTION_AT(struct arguments, json), NULL, "one JSON object instead"}};

static int info(char **operands)
{
    struct ts_diag *diag = ts_command_diag();
    return diag ? ts_command_finish_take(diag, describe(operands[0], arguments.json, diag), arguments.json)
                : TS_RUN_FAILED;
}

const struct command ts_cli_info = {
    .name = "info",
    .usage = "PATH [--json]",
    .summary = "report what a DICOM folder or an HDF5 file holds",
    .help =
        "A DICOM folder or file: its series, sizes, spacing and orientation, what would be refused and why.\n"
        "An HDF5 file: its datasets and how they were made; of a scan in NXtomo or Data Exchange its frames, detector\n"
        "and angles too.\n",
    COMMAND_ARGUMENTS(options, arguments),
    .operands = {1, 1, "a PATH"},
    .run = info,
};
