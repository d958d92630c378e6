/* SPDX-License-Identifier: Apache-2.0
 *
 * DICOM has "DICM" after a preamble of 128 bytes; TIFF has a byte order and 42 or 43; NIfTI has
 * "n+1" or "ni1" at the end of its header, or "n+2" or "ni2" after its first number; tar has
 * "ustar" in its first block. All other formats begin with their signature.
 */
#include "io/file/file_signature.h"

#include <unistd.h>

#include "core/path.h"

enum { LOOKED_AT = 348 };

const char *ts_file_signature(int fd, const char *path)
{
    static const struct {
        const char *format, *bytes;
        size_t n, offset;
    } signatures[] = {{"dicom", "DICM", 4, 128},
                      {"tiff", "II*\0", 4, 0},
                      {"tiff", "MM\0*", 4, 0},
                      {"tiff", "II+\0", 4, 0},
                      {"tiff", "MM\0+", 4, 0},
                      {"nrrd", "NRRD", 4, 0},
                      {"mha", "ObjectType", 10, 0},
                      {"nifti", "n+1\0", 4, 344},
                      {"nifti", "ni1\0", 4, 344},
                      {"nifti", "n+2\0\r\n", 6, 4},
                      {"nifti", "ni2\0\r\n", 6, 4},
                      {"npy", "\x93NUMPY", 6, 0},
                      {"gzip", "\x1F\x8B", 2, 0},
                      {"archive", "PK\3\4", 4, 0},
                      {"archive", "BZh", 3, 0},
                      {"archive", "\3757zXZ", 5, 0},
                      {"archive", "\x28\xB5\x2F\xFD", 4, 0},
                      {"archive", "7z\xBC\xAF", 4, 0},
                      {"archive", "ustar", 5, 257}};
    char start[LOOKED_AT] = "";
    const bool read = pread(fd, start, sizeof start, 0) > 0;
    const char *format = NULL;
    for (size_t i = 0; read && !format && i < sizeof signatures / sizeof *signatures; i++)
        if (memcmp(start + signatures[i].offset, signatures[i].bytes, signatures[i].n) == 0)
            format = signatures[i].format;
    if (!format && (ts_ends_in(path, ".mha") || ts_ends_in(path, ".mhd")))
        return "mha"; /* its fields have no fixed order */
    if (!format || strcmp(format, "gzip") != 0)
        return format;
    if (ts_ends_in(path, ".nii.gz"))
        return "nifti";
    return ts_ends_in(path, ".mgz") ? NULL : "gzip";
}

const char *ts_file_unpack_hint(const char *format)
{
    if (!strcmp(format, "gzip"))
        return "`zcat FILE > NEW` unpacks it, whatever its name ends in";
    return !strcmp(format, "archive") ? "unpack it first" : NULL;
}
