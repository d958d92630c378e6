/* SPDX-License-Identifier: Apache-2.0
 *
 * `tomostage info`: describes a folder or a file by what it is: DICOM, NIfTI, NRRD, MetaImage,
 * HDF5 or TIFF.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/dicom_series/dicom_group.h"
#include "io/file/regular_file.h"
#include "io/hdf5/hdf5_driver.h"
#include "io/mask/region_info.h"
#include "io/scan/file_kind.h"
#include "io/scan/foreign.h"
#include "io/scan/hdf5_info.h"
#include "io/scan/tiff_info.h"
#include "io/volume/volume_info.h"
#include "pipeline/chain/formats.h"
#include "pipeline/chain/oneline.h"
#include "program/cli/cli.h"

static struct arguments {
    bool json, names;
} arguments;

static const struct command_option options[] = {
    {"json", 0, OPTION_FLAG, OPTION_AT(struct arguments, json), NULL,
     "one JSON object instead; errors follow as a record, on a line of their own"},
    {"names", 0, OPTION_FLAG, OPTION_AT(struct arguments, names), NULL,
     "texts that people write, such as descriptions of series, also where the output is no "
     "terminal"}};

/* A terminal shows descriptions only to the user of the files; logs and pipes may go to others. */
static bool shows_names(void)
{
    return arguments.names || isatty(STDOUT_FILENO);
}

/* A folder without DICOM images may hold the pages of a scan, volumes, or compressed files. */
static enum ts_status describe_folder(const char *path, bool json, struct ts_diag *diag)
{
    static const char *const tiff[] = {".tif", ".tiff", NULL};
    struct ts_diag *found = ts_diag_create();
    if (!found)
        return ts_diag_no_memory(diag, sizeof found);
    enum ts_status status = ts_dicom_info(path, json, shows_names(), stdout, found);
    const struct ts_diag_record *first = ts_diag_get(found, 0);
    char way_out[FOREIGN_HINT];
    const bool no_images = status == TS_BAD_INPUT && first && !strcmp(first->code, "no-images");
    if (no_images && ts_folder_holds(path, tiff))
        status = ts_tiff_info(path, json, stdout, diag);
    else
        ts_diag_append(diag, found);
    if (no_images && status == TS_BAD_INPUT && !ts_folder_holds(path, tiff) &&
        ts_foreign_hint(path, way_out))
        ts_diag_hint(diag, "%s", way_out);
    ts_diag_destroy(found);
    return status;
}

/* DICOM files may lack their preamble, so any file may be one. */
static enum ts_status describe_dicom(const char *path, bool json, struct ts_diag *diag)
{
    const size_t n = ts_diag_count(diag);
    const enum ts_status status = ts_dicom_info(path, json, shows_names(), stdout, diag);
    const struct ts_diag_record *first = status == TS_BAD_INPUT ? ts_diag_get(diag, n) : NULL;
    char way_out[FOREIGN_HINT];
    return first && !strcmp(first->code, "no-images") && ts_foreign_hint(path, way_out)
               ? ts_diag_hint(diag, "%s", way_out)
               : status;
}

static enum ts_status cli_info_describe(const char *path, bool json, struct ts_diag *diag)
{
    struct stat found;
    char reason[256];
    const char *format;
    if (stat(path, &found) == 0 && S_ISDIR(found.st_mode))
        return describe_folder(path, json, diag);
    const int fd = ts_regular_file_open(path, &found, reason, sizeof reason);
    if (fd < 0)
        return ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "input-unreadable"},
                             "%s %s", path, reason);
    const bool hdf5 = ts_hdf5_has_signature(fd);
    const int error = hdf5 ? 0 : errno;
    close(fd);
    if (error)
        return ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "input-unreadable"},
                             "%s cannot be read: %s", path, strerror(error));
    if (hdf5)
        return ts_hdf5_info(path, json, shows_names(), stdout, diag);
    if (ts_file_refuse_packed(path, diag) != TS_OK)
        return TS_BAD_INPUT;
    const bool known = ts_file_kind(path, &format) != NULL;
    if (known && (!strcmp(format, "nifti") || !strcmp(format, "nrrd") || !strcmp(format, "mha") ||
                  !strcmp(format, "npy")))
        return ts_volume_info(ts_source_format_find(format), path, json, stdout, diag);
    if (known && !strcmp(format, "tiff"))
        return ts_tiff_info(path, json, stdout, diag);
    if (!known && ts_foreign_refuse(path, diag) != TS_OK)
        return TS_BAD_INPUT;
    bool has_regions = false;
    const enum ts_status status =
        known && !strcmp(format, "dicom")
            ? ts_region_info(path, json, shows_names(), stdout, &has_regions, diag)
            : TS_OK;
    return has_regions || status != TS_OK ? status : describe_dicom(path, json, diag);
}

static int info(char **operands)
{
    struct ts_diag *diag = ts_command_diag();
    if (diag)
        /* in the form of the chain that the output says to try */
        ts_diag_spell_hints(diag, ts_oneline_hint);
    return diag ? ts_command_finish_take(diag, cli_info_describe(operands[0], arguments.json, diag),
                                         arguments.json)
                : TS_RUN_FAILED;
}

const struct command ts_cli_info = {
    .name = "info",
    .usage = "PATH [--json] [--names]",
    .summary =
        "report what a DICOM folder, a NIfTI, NRRD, MetaImage or HDF5 file, or TIFF pages hold",
    .help =
        "A DICOM folder or file: its series, sizes, spacing and orientation, what would be "
        "refused and why. A DICOM\n"
        "segmentation or structure set: its regions.\n"
        "An HDF5 file: its datasets and how they were made; of a scan in NXtomo or Data "
        "Exchange its frames, detector\n"
        "and angles too. Another file is searched for what looks like a scan or a volume.\n"
        "A NIfTI, NRRD or MetaImage file: the volume or volumes, with their place in the patient.\n"
        "A TIFF file, or a folder of them: pages, size and type, and the inputs that a chain "
        "can make of them.\n"
        "The exit code is 3 where nothing could be an input.\n",
    COMMAND_ARGUMENTS(options, arguments),
    .operands = {1, 1, "a PATH"},
    .run = info,
};
