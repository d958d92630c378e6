/* SPDX-License-Identifier: Apache-2.0
 *
 * Signatures: DICOM has "DICM" behind a preamble of 128 bytes, TIFF a byte order and 42 or 43, NIfTI "n+1" at
 * the end of its header; NRRD, HDF5 and gzip their own. A folder may hold DICOM files or the pages of a scan.
 */
#include "pipeline/view/file_kind.h"

#include <stddef.h>
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
    } kinds[] = {{"a DICOM file", "dicom", "DICM", 4, 128},  {"a TIFF file", "tiff", "II*\0", 4, 0},
                 {"a TIFF file", "tiff", "MM\0*", 4, 0},     {"a TIFF file", "tiff", "II+\0", 4, 0},
                 {"a TIFF file", "tiff", "MM\0+", 4, 0},     {"a NRRD file", "nrrd", "NRRD", 4, 0},
                 {"a NIfTI file", "nifti", "n+1\0", 4, 344}, {"a file that gzip compressed", "gzip", "\x1F\x8B", 2, 0}};
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

int ts_view_formats(const char *path, const char *formats[VIEW_FORMATS])
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
