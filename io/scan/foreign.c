/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes count before names, because people rename files. A hint names a program that is known to
 * read the format and an input that reads what it writes; FILE and NEW in it become the name of the
 * file, and the same without its suffix.
 */
#include "io/scan/foreign.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/path.h"
#include "io/file/regular_file.h"
#include "io/scan/file_kind.h"

enum { LOOKED_AT = 512, NAME_BYTES = 256, PATH_BYTES = 4096 };

#define PYTHON_NPY(values)                                                                         \
    "in Python: numpy.save('NEW.npy', numpy.ascontiguousarray(" values                             \
    ")), and then input: {npy: NEW.npy}"
#define MATLAB "numpy.atleast_3d(scipy.io.loadmat('FILE')['NAME']).transpose(2, 0, 1)"
#define NIBABEL                                                                                    \
    "in Python: nibabel.save(nibabel.load('FILE'), 'NEW.nii'), and then input: {nifti: NEW.nii}"
#define EXPORT                                                                                     \
    "export it as TIFF files with the program that wrote it, and read these: input: {tiff: "       \
    "FOLDER, pages: slices, "                                                                      \
    "pixel_size: MM, spacing_z: MM}, or pages: views for projections"
#define RAW                                                                                        \
    "write a text file NEW.nhdr beside it, with its own numbers, and read that: input: {nrrd: "    \
    "NEW.nhdr}. Its lines: "                                                                       \
    "NRRD0004 / type: uint16 / dimension: 3 / sizes: COLUMNS ROWS SLICES / encoding: raw / "       \
    "endian: little / data "                                                                       \
    "file: FILE"

static const struct foreign {
    const char *name, *bytes;
    size_t n, offset;       /* 0: its bytes do not tell */
    const char *endings[6]; /* of names that tell the format; in small letters */
    const char *hint;
} formats[] = {
    {"a MATLAB file",
     "MATLAB 5.0",
     10,
     0,
     {".mat"},
     PYTHON_NPY(MATLAB) ", where NAME is the variable (rows, columns, slices)"},
    {"an MRC file",
     "MAP ",
     4,
     208,
     {".mrc", ".rec", ".ali", ".mrcs"},
     PYTHON_NPY("mrcfile.read('FILE')")},
    {"a VTK file",
     "# vtk DataFile",
     14,
     0,
     {".vtk"},
     PYTHON_NPY(
         "SimpleITK.GetArrayFromImage(SimpleITK.ReadImage('FILE'))") ", where it holds structured "
                                                                     "points; it states no place "
                                                                     "in a patient, and its "
                                                                     "SPACING (x, y, "
                                                                     "z), which `spacing` takes as "
                                                                     "z, y, x, has no unit"},
    {"a VTK file", "<VTKFile", 8, 0, {".vti"}, EXPORT},
    {"a FITS file",
     "SIMPLE  =",
     9,
     0,
     {".fits", ".fit", ".fts"},
     PYTHON_NPY("astropy.io.fits.getdata('FILE')")},
    {"a PNG picture",
     "\x89PNG\r\n",
     6,
     0,
     {".png"},
     "in Python: i = PIL.Image.open('FILE'); (i if i.mode in ('L', 'I', 'I;16') else "
     "i.convert('L')).save('NEW.tif'), and then input: {tiff: NEW.tif, pages: slices, pixel_size: "
     "MM, spacing_z: MM}; a folder of such files is one input, and colors become gray"},
    {"a JPEG picture",
     "\xFF\xD8\xFF",
     3,
     0,
     {".jpg", ".jpeg"},
     "in Python: PIL.Image.open('FILE').convert('L').save('NEW.tif'), and then input: {tiff: "
     "NEW.tif, pages: slices, pixel_size: MM, spacing_z: MM}; its values have lost digits"},
    {"a CZI file", "ZISRAWFILE", 10, 0, {".czi"}, EXPORT},
    {"an ND2 file", "\xDA\xCE\xBE\x0A", 4, 0, {".nd2"}, EXPORT},
    {"a file of Zeiss Xradia, or another compound document",
     "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1",
     8,
     0,
     {".txrm", ".txm", ".xrm", ".txrm.zip"},
     EXPORT},
    {"an EDF file of the ESRF",
     NULL,
     0,
     0,
     {".edf"},
     PYTHON_NPY("numpy.stack([f.data for f in fabio.open('FILE').frames()])")},
    {"a DM3 or DM4 file of DigitalMicrograph", NULL, 0, 0, {".dm3", ".dm4"}, EXPORT},
    {"a HIS file of a flat panel detector", NULL, 0, 0, {".his"}, EXPORT},
    {"a SEQ file of a camera", NULL, 0, 0, {".seq"}, EXPORT},
    {"an Analyze file", "\x5C\x01\0\0", 4, 0, {NULL}, NIBABEL},
    {"an Analyze file", "\0\0\x01\x5C", 4, 0, {NULL}, NIBABEL},
    {"a FreeSurfer volume", NULL, 0, 0, {".mgz", ".mgh"}, NIBABEL},
    {"an ENVI file",
     "ENVI",
     4,
     0,
     {NULL},
     PYTHON_NPY("spectral.envi.open('FILE').open_memmap().transpose(2, 0, 1)") "; each band is a "
                                                                               "slice"},
    {"the file of values of a NRRD header beside it",
     "NRRD000",
     7,
     0,
     {NULL},
     "input: {nrrd: FILE}"},
    {"the file of values of a MetaImage header beside it",
     "ObjectType",
     10,
     0,
     {NULL},
     "input: {mha: FILE}"},
    {"the file of values of a NIfTI header beside it",
     "ni1\0",
     4,
     344,
     {NULL},
     "input: {nifti: FILE}"},
    {"a file of values without a header, or with one that is not known",
     NULL,
     0,
     0,
     {".raw", ".bin", ".vol", ".dat", ".img"},
     RAW},
};

static bool ends_in_any(const char *path, const char *const endings[6])
{
    const size_t n = strlen(path);
    for (int i = 0; i < 6 && endings[i]; i++) {
        const size_t length = strlen(endings[i]);
        if (n > length && !strcasecmp(path + n - length, endings[i]))
            return true;
    }
    return false;
}

/* Returns the format that the first bytes of a file tell, or NULL. */
static const struct foreign *find_by_bytes(const char *path)
{
    char start[LOOKED_AT] = "", reason[NAME_BYTES];
    struct stat found;
    const int fd = stat(path, &found) == 0 && S_ISREG(found.st_mode)
                       ? ts_regular_file_open(path, &found, reason, sizeof reason)
                       : -1;
    if (fd < 0)
        return NULL;
    const ssize_t n = pread(fd, start, sizeof start, 0);
    close(fd);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (formats[i].bytes && n >= (ssize_t)(formats[i].offset + formats[i].n) &&
            !memcmp(start + formats[i].offset, formats[i].bytes, formats[i].n))
            return &formats[i];
    return NULL;
}

/* Finds the header of a file of values: it has the name of the file with another ending, or with
   one more. `header`: its path. */
static const struct foreign *find_header(const char *path, char header[PATH_BYTES])
{
    static const char *const endings[] = {".hdr", ".mhd", ".nhdr"};
    const char *suffix = strrchr(ts_base_name(path), '.');
    const int whole = (int)strlen(path), stem = suffix ? (int)(suffix - path) : whole;
    for (size_t i = 0; i < 2 * sizeof endings / sizeof *endings; i++) {
        const bool more = i % 2;
        if (snprintf(header, PATH_BYTES, "%.*s%s", more ? whole : stem, path, endings[i / 2]) >=
                PATH_BYTES ||
            !strcmp(header, path))
            continue;
        const struct foreign *format = find_by_bytes(header);
        if (format)
            return format;
    }
    return NULL;
}

/* Finds the format of a file. `named`: the path of the file that a hint names, which is its header
   if that is another file. */
static const struct foreign *find_format(const char *path, char named[PATH_BYTES])
{
    struct stat found;
    const struct foreign *format = find_by_bytes(path);
    if (stat(path, &found) != 0 || !S_ISREG(found.st_mode))
        return NULL;
    if (!format && (format = find_header(path, named)))
        return format;
    snprintf(named, PATH_BYTES, "%s", path);
    for (size_t i = 0; i < sizeof formats / sizeof *formats && !format; i++)
        if (ends_in_any(path, formats[i].endings))
            format = &formats[i];
    return format;
}

/* Returns true if a name can be put into a hint between quotes. */
static bool is_plain(const char *name)
{
    return strlen(name) < NAME_BYTES / 2 &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.+") ==
               strlen(name);
}

/* Puts the name into the hint. */
static void write_hint(const struct foreign *format, const char *path, char hint[FOREIGN_HINT])
{
    const char *name = ts_base_name(path), *suffix = strrchr(name, '.');
    const int stem = suffix && suffix > name ? (int)(suffix - name) : (int)strlen(name);
    size_t used = 0;
    hint[0] = '\0';
    if (!is_plain(name)) {
        snprintf(hint, FOREIGN_HINT, "%s", format->hint);
        return;
    }
    for (const char *at = format->hint; *at && used + NAME_BYTES < FOREIGN_HINT;) {
        const bool file = !strncmp(at, "FILE", 4), new = !strncmp(at, "NEW", 3);
        used += (size_t)snprintf(hint + used, FOREIGN_HINT - used, "%.*s",
                                 file  ? (int)strlen(name)
                                 : new ? stem
                                       : 1,
                                 file || new ? name : at);
        at += file ? 4 : new ? 3 : 1;
    }
}

const char *ts_foreign_kind(const char *path, char hint[FOREIGN_HINT])
{
    char named[PATH_BYTES];
    const struct foreign *format = find_format(path, named);
    if (!format)
        return NULL;
    write_hint(format, named, hint);
    return format->name;
}

/* Names the kind of a folder by the first of its files, in the order of names, whose format cannot
   be read. */
static const char *find_in_folder(const char *path, char hint[FOREIGN_HINT])
{
    enum { FILES_MAX = 1000 };
    char file[PATH_BYTES], first[PATH_BYTES] = "", named[PATH_BYTES];
    DIR *folder = opendir(path);
    int n = 0;
    for (const struct dirent *entry; folder && n < FILES_MAX && (entry = readdir(folder)); n++)
        if (entry->d_name[0] != '.' &&
            snprintf(file, sizeof file, "%s/%s", path, entry->d_name) < (int)sizeof file &&
            (!*first || strcmp(file, first) < 0) && find_format(file, named))
            memcpy(first, file, sizeof first);
    if (folder)
        closedir(folder);
    return *first ? ts_foreign_kind(first, hint) : NULL;
}

bool ts_foreign_hint(const char *path, char hint[FOREIGN_HINT])
{
    const char *format, *kind = ts_file_kind(path, &format);
    if (ts_file_way_out(path, kind, format, "dicom", hint, FOREIGN_HINT))
        return true;
    if (kind && !strcmp(kind, "a folder")) {
        char inside[FOREIGN_HINT];
        const char *holds = find_in_folder(path, inside);
        if (holds)
            snprintf(hint, FOREIGN_HINT, "it holds %s: %.1000s", holds, inside);
        else
            snprintf(
                hint, FOREIGN_HINT,
                "give a folder or a file of a format that is read; docs/inputs.md lists these");
        return true;
    }
    if (kind)
        return false;
    if (!ts_foreign_kind(path, hint))
        snprintf(hint, FOREIGN_HINT,
                 "it is of no format that is read: docs/inputs.md lists these; a NRRD header "
                 "beside a file of plain values makes it one");
    return true;
}

enum ts_status ts_foreign_refuse(const char *path, struct ts_diag *diag)
{
    char hint[FOREIGN_HINT];
    const char *kind = ts_foreign_kind(path, hint);
    if (!kind)
        return TS_OK;
    ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "format-foreign"},
                  "%s is %s, which is not read", path, kind);
    return ts_diag_hint(diag, "%s", hint);
}
