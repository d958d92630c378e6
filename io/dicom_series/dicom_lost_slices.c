/* SPDX-License-Identifier: Apache-2.0
 *
 * This decides which files without a readable header may have been slices: see dicom_non_images.h. A name's shape is
 * its extension, and the rest of it with every run of digits written as one '#': IM0006.dcm has the shapes ".dcm" and
 * "im#". All shapes of the images are kept in one sorted list, for each folder and, under EVERYWHERE, for all of them
 * together.
 */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/path.h"
#include "core/search.h"
#include "io/dicom_series/dicom_name_index.h"
#include "io/dicom_series/dicom_non_images.h"

enum { EXTENSION_LETTERS = 10, EVERYWHERE = -1 };
static const double SIMILAR_SIZE = 0.02;

struct size {
    int folder;
    int64_t bytes;
};

struct shapes {
    struct name_index index;
    struct size *sizes; /* the size of every image, twice: under its folder and under all */
    size_t n_sizes;
    bool *holds_images; /* by folder */
};

/* The last part of a name, ".dcm", or NULL: digits alone, as at the end of a UID, are no extension. */
static const char *extension_of(const char *name)
{
    const char *dot = strrchr(name, '.');
    size_t letters = 0, length = dot ? strlen(dot + 1) : 0;
    for (size_t i = 0; i < length; i++)
        letters += isalpha((unsigned char)dot[1 + i]) != 0;
    return dot && dot != name && letters > 0 && length <= EXTENSION_LETTERS ? dot : NULL;
}

/* The first n letters in lower case, runs of digits as '#'. */
static void write_pattern(const char *name, size_t n, char out[NAME_BYTES])
{
    size_t used = 0;
    for (size_t i = 0; i < n && used < NAME_BYTES - 1; i++) {
        const bool digit = isdigit((unsigned char)name[i]);
        if (!digit || used == 0 || out[used - 1] != '#')
            out[used++] = digit ? '#' : (char)tolower((unsigned char)name[i]);
    }
    out[used] = '\0';
}

void ts_dicom_name_stem(const char *path, char *out, size_t size)
{
    char name[512];
    const char *full_name = ts_base_name(path);
    snprintf(name, sizeof name, "%s", full_name + strspn(full_name, "."));
    for (char *dot = (char *)extension_of(name); dot; dot = (char *)extension_of(name))
        *dot = '\0';
    write_pattern(name, strlen(name), name);
    snprintf(out, size, "%s", name);
}

static void write_extension(const char *extension, char out[NAME_BYTES])
{
    snprintf(out, NAME_BYTES, "%s", extension);
    for (char *c = out; *c; c++)
        *c = (char)tolower((unsigned char)*c);
}

/* Stand for names without extension, of which no pattern tells: with digits, where the letters may be part of a number;
 * without digits, as aa, ab, ...; and of nothing but hexadecimal digits and dots, as hashes and UIDs. */
static const char NUMBERED[] = "/", PLAIN[] = "//", HEXADECIMAL[] = "/x";

static const char *class_of(const char *name)
{
    return strpbrk(name, "0123456789") ? NUMBERED : PLAIN;
}

static bool is_hexadecimal(const char *name)
{
    return strlen(name) >= 4 && name[strspn(name, "0123456789abcdefABCDEF.-_")] == '\0';
}

static bool has_shape(const struct shapes *shapes, int folder, const char *text)
{
    const struct name_range range = ts_name_find(&shapes->index, folder, text);
    return range.first < range.end;
}

static bool add_shape(struct shapes *shapes, int folder, const char *text)
{
    return ts_name_add(&shapes->index, folder, text, 0);
}

static bool add_image(struct shapes *shapes, const struct dicom_file *file)
{
    const char *name = ts_base_name(file->path), *extension = extension_of(name);
    const int folders[] = {file->folder, EVERYWHERE};
    char pattern[NAME_BYTES], last[NAME_BYTES];
    bool ok = true;
    write_pattern(name, extension ? (size_t)(extension - name) : strlen(name), pattern);
    snprintf(last, sizeof last, "%s", class_of(name));
    if (extension)
        write_extension(extension, last);
    for (int i = file->folder == DICOM_NAMED; i < 2; i++) {
        ok = ok && add_shape(shapes, folders[i], pattern) && add_shape(shapes, folders[i], last) &&
             (extension || !is_hexadecimal(name) || add_shape(shapes, folders[i], HEXADECIMAL));
        shapes->sizes[shapes->n_sizes++] = (struct size){folders[i], file->file_bytes};
    }
    if (file->folder != DICOM_NAMED)
        shapes->holds_images[file->folder] = true;
    return ok;
}

/* Extensions that no slice has, though it may bear the number of one. */
static bool is_known_extension(const char *extension)
{
    static const char known[] =
        " .txt .md .log .csv .tsv .json .xml .html .htm .css .js .pdf .rtf .doc .docx .xls .xlsx .ppt .pptx .ini .inf "
        ".cfg "
        ".yml .yaml .toml .py .m .r .sh .bat .exe .dll .jar .png .jpg .jpeg .gif .bmp .svg .tif .tiff .ico .mp4 .avi "
        ".bin .raw .roi .lock .zip .gz "
        ".tar .tgz .7z .rar .iso .nii .nrrd .mha .mhd .h5 .hdf5 .nxs .npy .mat .db .sqlite .lnk .url .plist .md5 .sha1 "
        ".sha256 .bval .bvec ";
    char wanted[NAME_BYTES + 2];
    snprintf(wanted, sizeof wanted, " %s ", extension);
    return strstr(known, wanted) != NULL;
}

static bool was_file(const struct dicom_other *other)
{
    return other->kind == DICOM_NO_MAGIC || other->kind == DICOM_EMPTY || other->kind == DICOM_SHORT ||
           other->kind == DICOM_LOOP;
}

/* Returns true for a hidden file, or one of a hidden folder. */
static bool is_hidden(const char *path)
{
    const char *name = ts_base_name(path), *folder = name - (name > path);
    while (folder > path && folder[-1] != '/')
        folder--;
    return *name == '.' || (folder[0] == '.' && folder[1] != '/' && folder[1] != '.');
}

/* Returns true where a name has the shape of an image's, also behind further extensions such as those of copies not yet
 * whole. */
static bool has_shape_of_image(const struct shapes *shapes, int folder, const struct dicom_other *other)
{
    char name[512], text[NAME_BYTES];
    const char *full_name = ts_base_name(other->path);
    snprintf(name, sizeof name, "%s", full_name + strspn(full_name, "."));
    for (bool first = true;; first = false) {
        char *extension = (char *)extension_of(name);
        if (!extension) {
            write_pattern(name, strlen(name), text);
            return has_shape(shapes, folder, text) ||
                   (was_file(other) && !other->foreign && !is_hidden(other->path) &&
                    has_shape(shapes, folder, class_of(name))) ||
                   (was_file(other) && is_hexadecimal(name) && has_shape(shapes, folder, HEXADECIMAL));
        }
        write_extension(extension, text);
        if (has_shape(shapes, folder, text))
            return true;
        if (first && is_known_extension(text))
            return false;
        *extension = '\0';
    }
}

static int compare_sizes(const void *a, const void *b)
{
    const struct size *first = a, *second = b;
    if (first->folder != second->folder)
        return first->folder < second->folder ? -1 : 1;
    return (first->bytes > second->bytes) - (first->bytes < second->bytes);
}

static bool has_size_of_image(const struct shapes *shapes, int folder, const struct dicom_other *other)
{
    char text[NAME_BYTES] = "";
    const char *extension = extension_of(ts_base_name(other->path));
    const struct size least = {folder, (int64_t)((1 - SIMILAR_SIZE) * (double)other->bytes)};
    const size_t low = ts_lower_bound(&least, shapes->sizes, shapes->n_sizes, sizeof least, compare_sizes);
    if (extension)
        write_extension(extension, text);
    return !other->foreign && !is_hidden(other->path) && !(extension && is_known_extension(text)) &&
           low < shapes->n_sizes && shapes->sizes[low].folder == folder &&
           (double)shapes->sizes[low].bytes <= (1 + SIMILAR_SIZE) * (double)other->bytes;
}

static int compare_path(const void *path, const void *file)
{
    return strcmp(path, ((const struct dicom_file *)file)->path);
}

/* Returns true where an image stands beside the file whose name is the same up to an extension: IM1.dcm beside IM1.roi.
 * The images are sorted by path. */
static bool is_sidecar(const struct dicom_folder *folder, const struct dicom_other *other)
{
    const size_t length = (size_t)(ts_base_name(other->path) - other->path);
    char stem[4096];
    const int n = snprintf(stem, sizeof stem - 1, "%s", other->path);
    char *extension = n < (int)sizeof stem - 1 ? (char *)extension_of(stem + length) : NULL;
    for (; extension; extension = (char *)extension_of(stem + length)) {
        *extension = '\0';
        for (int dot = 0; dot < 2; dot++) {
            strcpy(extension, dot ? "." : "");
            const size_t low =
                ts_lower_bound(stem, folder->files, folder->n_files, sizeof *folder->files, compare_path);
            const char *path = low < folder->n_files ? folder->files[low].path : "";
            if (dot ? !strncmp(path, stem, strlen(stem)) : !strcmp(path, stem))
                return true;
        }
        *extension = '\0';
    }
    return false;
}

/* Returns true where its last extension is one of the images'. */
static bool has_extension_of_image(const struct shapes *shapes, int folder, const struct dicom_other *other)
{
    char text[NAME_BYTES];
    const char *extension = extension_of(ts_base_name(other->path));
    if (extension)
        write_extension(extension, text);
    return extension && has_shape(shapes, folder, text);
}

static bool is_suspect(const struct shapes *shapes, const struct dicom_folder *all, const struct dicom_other *other)
{
    const bool is_folder = other->kind == DICOM_BARE || other->kind == DICOM_LINK;
    const bool named = other->folder == DICOM_NAMED;
    if ((!was_file(other) && !is_folder && other->kind != DICOM_SPECIAL) || other->apple_double)
        return false;
    if (named && !is_folder)
        return true;
    const int folder = !named && shapes->holds_images[other->folder] ? other->folder : EVERYWHERE;
    if (!has_extension_of_image(shapes, folder, other) && is_sidecar(all, other))
        return false;
    return other->data_set || has_shape_of_image(shapes, folder, other) || has_size_of_image(shapes, folder, other);
}

enum ts_status ts_dicom_mark_suspects(struct dicom_folder *folder, struct arena *arena, struct ts_diag *diag)
{
    struct shapes shapes = {.n_sizes = 0};
    if (folder->n_others == 0 || folder->n_files == 0)
        return TS_OK;
    shapes.sizes = ts_arena_alloc(arena, 2 * folder->n_files * sizeof *shapes.sizes);
    shapes.holds_images = ts_arena_alloc(arena, (size_t)folder->n_folders + 1);
    bool ok = shapes.sizes && shapes.holds_images;
    for (size_t i = 0; ok && i < folder->n_files; i++)
        ok = add_image(&shapes, &folder->files[i]);
    if (ok) {
        ts_name_sort(&shapes.index);
        qsort(shapes.sizes, shapes.n_sizes, sizeof *shapes.sizes, compare_sizes);
    }
    for (size_t i = 0; ok && i < folder->n_others; i++)
        folder->others[i].suspect = is_suspect(&shapes, folder, &folder->others[i]);
    free(shapes.index.items);
    return ok ? TS_OK : ts_diag_no_memory(diag, 2 * folder->n_files * sizeof *shapes.sizes);
}
