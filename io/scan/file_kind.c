/* SPDX-License-Identifier: Apache-2.0
 *
 * Signatures: DICOM has "DICM" behind a preamble of 128 bytes, TIFF a byte order and 42 or 43, NIfTI "n+1" or
 * "ni1" at the end of its header, or "n+2" behind its first number; NRRD, HDF5 and gzip their own. A folder may hold
 * DICOM files or the pages of a scan.
 */
#include "io/scan/file_kind.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/file/regular_file.h"
#include "io/hdf5/hdf5_driver.h"

const char *ts_file_kind(const char *path, const char **format)
{
    static const struct {
        const char *name, *format, *bytes;
        size_t n_bytes, offset;
    } kinds[] = {{"a DICOM file", "dicom", "DICM", 4, 128},
                 {"a TIFF file", "tiff", "II*\0", 4, 0},
                 {"a TIFF file", "tiff", "MM\0*", 4, 0},
                 {"a TIFF file", "tiff", "II+\0", 4, 0},
                 {"a TIFF file", "tiff", "MM\0+", 4, 0},
                 {"a NRRD file", "nrrd", "NRRD", 4, 0},
                 {"a NIfTI file", "nifti", "n+1\0", 4, 344},
                 {"a NIfTI file", "nifti", "ni1\0", 4, 344},
                 {"a NIfTI file", "nifti", "n+2\0", 4, 4},
                 {"a NIfTI file", "nifti", "ni2\0", 4, 4},
                 {"a file that gzip compressed", "gzip", "\x1F\x8B", 2, 0}};
    struct stat found;
    char start[348] = "", reason[256];
    *format = "dicom";
    if (stat(path, &found) != 0)
        return NULL;
    if (S_ISDIR(found.st_mode))
        return "a folder";
    const int fd = S_ISREG(found.st_mode) ? ts_regular_file_open(path, &found, reason, sizeof reason) : -1;
    if (fd < 0)
        return NULL;
    const bool is_hdf5 = ts_hdf5_has_signature(fd), is_read = pread(fd, start, sizeof start, 0) >= 4;
    close(fd);
    for (size_t i = 0; is_read && i < sizeof kinds / sizeof *kinds; i++)
        if (!memcmp(start + kinds[i].offset, kinds[i].bytes, kinds[i].n_bytes)) {
            const char *ending = strrchr(path, '.');
            const bool nifti =
                !strcmp(kinds[i].format, "gzip") && ending && ending - path > 4 && !strncmp(ending - 4, ".nii.gz", 7);
            *format = nifti ? "nifti" : kinds[i].format;
            return nifti ? "a NIfTI file" : kinds[i].name;
        }
    *format = "result";
    return is_hdf5 ? "an HDF5 file" : NULL;
}

int ts_file_formats(const char *path, const char *formats[FILE_FORMATS])
{
    const char *kind = ts_file_kind(path, &formats[0]);
    int n = 1;
    if (kind && !strcmp(formats[0], "result")) {
        formats[n++] = "exchange";
        formats[n++] = "nexus";
    } else if (kind && !strcmp(kind, "a folder")) {
        formats[n++] = "tiff";
    } else if (!kind || !strcmp(formats[0], "gzip")) {
        formats[0] = "dicom";
    }
    return n;
}

bool ts_folder_holds(const char *path, const char *const *endings)
{
    DIR *folder = opendir(path);
    bool found = false;
    for (const struct dirent *entry; !found && folder && (entry = readdir(folder));)
        for (const char *const *ending = endings; *ending && !found; ending++) {
            const size_t n = strlen(entry->d_name), n_ending = strlen(*ending);
            found = n > n_ending && !strcasecmp(entry->d_name + n - n_ending, *ending);
        }
    if (folder)
        closedir(folder);
    return found;
}

bool ts_file_way_out(const char *path, const char *format, char *text, size_t size)
{
    static const struct {
        const char *endings[5], *format, *hint;
    } folders[] = {
        {{".nii", ".nii.gz", NULL}, "nifti", "it holds NIfTI files: name one of them, input: {nifti: FILE}"},
        {{".nrrd", ".nhdr", NULL}, "nrrd", "it holds NRRD files: name one of them, input: {nrrd: FILE}"},
        {{".tif", ".tiff", NULL}, "tiff", "it holds TIFF files: input: {tiff: FOLDER}; `tomostage info` has the rest"},
        {{".h5", ".hdf5", ".nxs", ".hdf", NULL},
         "result",
         "it holds HDF5 files: look at one of them with `tomostage info`"},
        {{".gz", NULL}, "gzip", "gunzip the files first"},
    };
    const char *found, *kind = ts_file_kind(path, &found);
    if (!kind)
        return false;
    if (!strcmp(kind, "a folder")) {
        for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
            if (strcmp(folders[i].format, format) != 0 && ts_folder_holds(path, folders[i].endings))
                return (size_t)snprintf(text, size, "%s", folders[i].hint) < size;
        return false;
    }
    if (!strcmp(found, format))
        return false;
    if (!strcmp(found, "gzip"))
        return (size_t)snprintf(text, size, "gunzip it first") < size;
    if (!strcmp(found, "result")) /* one of the formats that read HDF5, and its own message is the better one */
        return !strcmp(format, "dicom") || !strcmp(format, "nifti") || !strcmp(format, "nrrd") ||
                       !strcmp(format, "tiff")
                   ? (size_t)snprintf(text, size, "it is %s: `tomostage info` tells which input it is", kind) < size
                   : false;
    return (size_t)snprintf(text, size, "it is %s: input: {%s: %s}", kind, found, path) < size;
}
