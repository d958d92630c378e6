/* SPDX-License-Identifier: Apache-2.0
 *
 * A file is known by its signature (io/file/file_signature.h) or by that of HDF5. A folder may hold
 * DICOM files or the pages of a scan.
 */
#include "io/scan/file_kind.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/file/file_signature.h"
#include "io/file/regular_file.h"
#include "io/hdf5/hdf5_driver.h"
#include "io/source/try_text.h"

const char *ts_file_kind(const char *path, const char **format)
{
    static const char *const names[][2] = {{"dicom", "a DICOM file"},
                                           {"tiff", "a TIFF file"},
                                           {"nrrd", "a NRRD file"},
                                           {"mha", "a MetaImage file"},
                                           {"nifti", "a NIfTI file"},
                                           {"npy", "a .npy file"},
                                           {"gzip", "a file that gzip compressed"},
                                           {"archive", "an archive or a packed file"}};
    struct stat found;
    char reason[256];
    *format = "dicom";
    if (stat(path, &found) != 0)
        return NULL;
    if (S_ISDIR(found.st_mode))
        return "a folder";
    const int fd =
        S_ISREG(found.st_mode) ? ts_regular_file_open(path, &found, reason, sizeof reason) : -1;
    if (fd < 0)
        return NULL;
    const char *signature = ts_file_signature(fd, path);
    const bool is_hdf5 = ts_hdf5_has_signature(fd);
    close(fd);
    for (size_t i = 0; signature && i < sizeof names / sizeof *names; i++)
        if (!strcmp(signature, names[i][0])) {
            *format = names[i][0];
            return names[i][1];
        }
    *format = "result";
    return is_hdf5 ? "an HDF5 file" : NULL;
}

enum ts_status ts_file_refuse_packed(const char *path, struct ts_diag *diag)
{
    const char *format, *kind = ts_file_kind(path, &format),
                        *hint = kind ? ts_file_unpack_hint(format) : NULL;
    if (!hint)
        return TS_OK;
    ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "input-compressed"}, "%s is %s",
                  path, kind);
    return ts_diag_hint(diag, "%s", hint);
}

int ts_file_formats(const char *path, const char *formats[FILE_FORMATS])
{
    const char *kind = ts_file_kind(path, &formats[0]);
    int n = 1;
    if (kind && !strcmp(formats[0], "result")) {
        formats[n++] = "exchange";
        formats[n++] = "nexus";
    } else if (kind && !strcmp(kind, "a folder")) {
        formats[0] = ts_folder_format(path);
        formats[n++] = strcmp(formats[0], "tiff") ? "tiff" : "dicom";
    } else if (!kind || ts_file_unpack_hint(formats[0])) {
        formats[0] = "dicom";
    }
    return n;
}

/* Returns true if a name may be that of a DICOM file: UIDs end in numbers after a period. */
static bool may_be_dicom(const struct dirent *entry)
{
    static const char *const suffixes[] = {".dcm", ".dicom", ".ima", ".img"};
    const char *suffix = strrchr(entry->d_name, '.');
    if (entry->d_name[0] == '.')
        return false;
    if (!suffix || entry->d_type == DT_DIR ||
        strspn(suffix + 1, "0123456789") == strlen(suffix + 1))
        return true;
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (!strcasecmp(suffix, suffixes[i]))
            return true;
    return false;
}

const char *ts_folder_format(const char *path)
{
    static const char *const pages[] = {".tif", ".tiff", NULL};
    DIR *folder = opendir(path);
    bool dicom = false;
    for (const struct dirent *entry; folder && !dicom && (entry = readdir(folder));)
        dicom = may_be_dicom(entry);
    if (folder)
        closedir(folder);
    return folder && !dicom && ts_folder_holds(path, pages) ? "tiff" : "dicom";
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

bool ts_file_way_out(const char *path, const char *kind, const char *found, const char *format,
                     char *text, size_t size)
{
    static const struct {
        const char *endings[7], *format, *hint;
    } folders[] = {
        {{".nii", ".nii.gz", NULL},
         "nifti",
         "it holds NIfTI files: name one of them, input: {nifti: FILE}"},
        {{".nrrd", ".nhdr", NULL},
         "nrrd",
         "it holds NRRD files: name one of them, input: {nrrd: FILE}"},
        {{".mha", ".mhd", NULL},
         "mha",
         "it holds MetaImage files: name one of them, input: {mha: FILE}"},
        {{".tif", ".tiff", NULL},
         "tiff",
         "it holds TIFF files: input: {tiff: FOLDER}; `tomostage info` has the rest"},
        {{".npy", NULL}, "npy", "it holds .npy files: name one of them, input: {npy: FILE}"},
        {{".h5", ".hdf5", ".nxs", ".hdf", NULL},
         "result",
         "it holds HDF5 files: look at one of them with `tomostage info`"},
        {{".gz", NULL}, "gzip", "gunzip the files first"},
        {{".zip", ".tar", ".bz2", ".xz", ".zst", ".7z", NULL}, "archive", "unpack the files first"},
    };
    if (!kind)
        return false;
    if (!strcmp(kind, "a folder")) {
        for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
            if (strcmp(folders[i].format, format) != 0 && ts_folder_holds(path, folders[i].endings))
                return (size_t)snprintf(text, size, "%s", folders[i].hint) < size;
        return strcmp(format, "dicom") != 0 && strcmp(format, "tiff") != 0 &&
               (size_t)snprintf(text, size,
                                "name a file in it; `tomostage info` tells what the folder holds") <
                   size;
    }
    if (!strcmp(found, format))
        return false;
    if (ts_file_unpack_hint(found))
        return (size_t)snprintf(text, size, "%s", ts_file_unpack_hint(found)) < size;
    if (!strcmp(found, "result")) /* one of the formats that read HDF5; its own message is better */
        return !strcmp(format, "dicom") || !strcmp(format, "nifti") || !strcmp(format, "nrrd") ||
                       !strcmp(format, "mha") || !strcmp(format, "tiff")
                   ? (size_t)snprintf(text, size,
                                      "it is %s: `tomostage info` tells which input it is",
                                      kind) < size
                   : false;
    FILE *out = fmemopen(text, size - 1, "w"); /* it writes no zero after a text that fills it */
    if (!out)
        return false;
    text[size - 1] = '\0';
    fprintf(out, "it is %s: input: {%s: ", kind, found);
    ts_try_word(out, path);
    fputc('}', out);
    return fclose(out) == 0;
}
