/* SPDX-License-Identifier: Apache-2.0
 *
 * This decides which files without a readable header may have been slices (see dicom_non_images.h),
 * and which series may have lost them.
 */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/path.h"
#include "core/search.h"
#include "io/dicom_series/dicom_non_images.h"

/* ---- an index of names ----------------------------------------------------------------------- */

/* A sorted list of texts, such as parts of file names, by folder and series. Entries are collected
 * in any order, sorted once and then found by binary search, because a folder may hold a hundred
 * thousand names. Equal entries become one with a count. Most names of a folder are alike but for a
 * number, so that an added entry is first compared with the last few, which keeps the list short
 * before it is sorted. */

enum { NAME_BYTES = 64 };

struct name_entry {
    int folder;
    char text[NAME_BYTES]; /* longer ones are cut */
    size_t series, n;      /* n: how often it was added */
};

struct name_index {
    struct name_entry *items; /* free() them */
    size_t n, capacity;
};

struct name_range {
    const struct name_entry *first, *end;
};

static struct name_entry entry_of(int folder, const char *text, size_t series)
{
    struct name_entry entry = {.folder = folder, .series = series, .n = 1};
    snprintf(entry.text, sizeof entry.text, "%s", text);
    return entry;
}

static int compare_keys(const void *a, const void *b)
{
    const struct name_entry *first = a, *second = b;
    if (first->folder != second->folder)
        return first->folder < second->folder ? -1 : 1;
    return strcmp(first->text, second->text);
}

static int compare_entries(const void *a, const void *b)
{
    const struct name_entry *first = a, *second = b;
    const int order = compare_keys(a, b);
    return order ? order : (first->series > second->series) - (first->series < second->series);
}

/* Adds a text. Returns false if memory is out. */
static bool name_add(struct name_index *index, int folder, const char *text, size_t series)
{
    const struct name_entry entry = entry_of(folder, text, series);
    /* Neighbors in a folder are mostly alike: merging with the last few keeps the list short. */
    for (size_t i = index->n; i > 0 && i + 8 > index->n; i--)
        if (compare_entries(&index->items[i - 1], &entry) == 0) {
            index->items[i - 1].n++;
            return true;
        }
    struct name_entry *grown =
        ts_memory_grow(index->items, index->n, &index->capacity, sizeof *grown);
    if (!grown)
        return false;
    index->items = grown;
    index->items[index->n++] = entry;
    return true;
}

/* Sorts the entries by folder, text and series and merges equal ones; what follows needs it. */
static void name_sort(struct name_index *index)
{
    size_t kept = 0;
    if (index->n == 0)
        return;
    qsort(index->items, index->n, sizeof *index->items, compare_entries);
    for (size_t i = 1; i < index->n; i++)
        if (compare_entries(&index->items[kept], &index->items[i]) == 0)
            index->items[kept].n += index->items[i].n;
        else
            index->items[++kept] = index->items[i];
    index->n = kept + 1;
}

/* Returns the entries of this folder and text, in the order of their series. */
static struct name_range name_find(const struct name_index *index, int folder, const char *text)
{
    const struct name_entry wanted = entry_of(folder, text, 0);
    if (index->n == 0)
        return (struct name_range){NULL, NULL};
    const struct name_entry *end = index->items + index->n;
    struct name_range range;
    range.first =
        index->items + ts_lower_bound(&wanted, index->items, index->n, sizeof wanted, compare_keys);
    for (range.end = range.first; range.end < end && compare_keys(range.end, &wanted) == 0;)
        range.end++;
    return range;
}

/* Returns true if a range has an entry of the series. */
static bool name_range_has(struct name_range range, size_t series)
{
    if (range.first == range.end)
        return false;
    struct name_entry wanted = *range.first;
    wanted.series = series;
    return bsearch(&wanted, range.first, (size_t)(range.end - range.first), sizeof wanted,
                   compare_entries) != NULL;
}

/* ---- files that may have been slices --------------------------------------------------------- */

/* A name's shape is its extension, and the rest of it with every run of digits written as one '#':
 * IM0006.dcm has the shapes ".dcm" and "im#". All shapes of the images are kept in one sorted list,
 * for each folder and, under EVERYWHERE, for all of them together. */

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

/* The last part of a name, ".dcm", or NULL: digits alone, as at the end of a UID, are no
 * extension. */
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

/* Writes a file's name without extensions, in lower case, each run of digits as '#': the slices of
 * a series agree in it. */
static void write_stem(const char *path, char *out, size_t size)
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

/* Stand for names without extension, of which no pattern tells: with digits, where the letters may
 * be part of a number; without digits, as aa, ab, ...; and of nothing but hexadecimal digits and
 * dots, as hashes and UIDs. */
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
    const struct name_range range = name_find(&shapes->index, folder, text);
    return range.first < range.end;
}

static bool add_shape(struct shapes *shapes, int folder, const char *text)
{
    return name_add(&shapes->index, folder, text, 0);
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
        " .txt .md .log .csv .tsv .json .xml .html .htm .css .js .pdf .rtf .doc .docx .xls .xlsx "
        ".ppt .pptx .ini .inf .cfg .yml .yaml .toml .py .m .r .sh .bat .exe .dll .jar .png .jpg "
        ".jpeg .gif .bmp .svg .tif .tiff .ico .mp4 .avi .bin .raw .roi .lock .zip .gz .tar .tgz "
        ".7z .rar .iso .nii .nrrd .mha .mhd .h5 .hdf5 .nxs .npy .mat .db .sqlite .lnk .url .plist "
        ".md5 .sha1 .sha256 .bval .bvec ";
    char wanted[NAME_BYTES + 2];
    snprintf(wanted, sizeof wanted, " %s ", extension);
    return strstr(known, wanted) != NULL;
}

static bool was_file(const struct dicom_other *other)
{
    return other->kind == DICOM_NO_MAGIC || other->kind == DICOM_EMPTY ||
           other->kind == DICOM_SHORT || other->kind == DICOM_LOOP;
}

/* Returns true for a hidden file, or one of a hidden folder. */
static bool is_hidden(const char *path)
{
    const char *name = ts_base_name(path), *folder = name - (name > path);
    while (folder > path && folder[-1] != '/')
        folder--;
    return *name == '.' || (folder[0] == '.' && folder[1] != '/' && folder[1] != '.');
}

/* Returns true if a name has the shape of an image's, also behind further extensions such as those
 * of copies not yet whole. */
static bool has_shape_of_image(const struct shapes *shapes, int folder,
                               const struct dicom_other *other)
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
                   (was_file(other) && is_hexadecimal(name) &&
                    has_shape(shapes, folder, HEXADECIMAL));
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

static bool has_size_of_image(const struct shapes *shapes, int folder,
                              const struct dicom_other *other)
{
    char text[NAME_BYTES] = "";
    const char *extension = extension_of(ts_base_name(other->path));
    const struct size least = {folder, (int64_t)((1 - SIMILAR_SIZE) * (double)other->bytes)};
    const size_t low =
        ts_lower_bound(&least, shapes->sizes, shapes->n_sizes, sizeof least, compare_sizes);
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

/* Returns true if an image is beside the file whose name is the same up to an extension: IM1.dcm
 * beside IM1.roi. The images are sorted by path. */
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
            const size_t low = ts_lower_bound(stem, folder->files, folder->n_files,
                                              sizeof *folder->files, compare_path);
            const char *path = low < folder->n_files ? folder->files[low].path : "";
            if (dot ? !strncmp(path, stem, strlen(stem)) : !strcmp(path, stem))
                return true;
        }
        *extension = '\0';
    }
    return false;
}

/* Returns true if its last extension is one of the images'. */
static bool has_extension_of_image(const struct shapes *shapes, int folder,
                                   const struct dicom_other *other)
{
    char text[NAME_BYTES];
    const char *extension = extension_of(ts_base_name(other->path));
    if (extension)
        write_extension(extension, text);
    return extension && has_shape(shapes, folder, text);
}

static bool is_suspect(const struct shapes *shapes, const struct dicom_folder *all,
                       const struct dicom_other *other)
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
    return other->data_set || has_shape_of_image(shapes, folder, other) ||
           has_size_of_image(shapes, folder, other);
}

enum ts_status ts_dicom_mark_suspects(struct dicom_folder *folder, struct arena *arena,
                                      struct ts_diag *diag)
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
        name_sort(&shapes.index);
        qsort(shapes.sizes, shapes.n_sizes, sizeof *shapes.sizes, compare_sizes);
    }
    for (size_t i = 0; ok && i < folder->n_others; i++)
        folder->others[i].suspect = is_suspect(&shapes, folder, &folder->others[i]);
    free(shapes.index.items);
    return ok ? TS_OK : ts_diag_no_memory(diag, 2 * folder->n_files * sizeof *shapes.sizes);
}

/* ---- series that may have lost them ---------------------------------------------------------- */

/* A file may have belonged to a series that it does not name: a file without a readable header, or
 * one whose header is so damaged that its Series Instance UID belongs to no whole file. Two things
 * are looked up: the series that have several slices in its folder, and the series, wherever they
 * are, with a slice of the same name but for numbers and extensions. If some series match in both,
 * the file counts for these; else for those that match in one; else for every series, since any of
 * them may have lost it. */

/* Stands for the place of an entry that is about a name, wherever it is. */
enum { ANYWHERE = -1 };

/* Indexes the places and the names of the series' slices. */
static bool index_slices(struct name_index *index, const struct dicom_series *series,
                         size_t n_series)
{
    bool ok = true;
    for (size_t i = 0; i < n_series; i++)
        for (size_t k = 0; ok && k < series[i].n_images && !series[i].doubtful_uid; k++) {
            const struct dicom_file *file = series[i].images[k]->file;
            char stem[NAME_BYTES];
            write_stem(file->path, stem, sizeof stem);
            ok = (!*stem || name_add(index, ANYWHERE, stem, i)) &&
                 (file->folder == DICOM_NAMED || name_add(index, file->folder, "", i));
        }
    name_sort(index);
    return ok;
}

static void dicom_lost_count(struct dicom_series *series, const struct dicom_other *suspect)
{
    if (series->n_suspects < DICOM_MAX_NAMED)
        series->suspects[series->n_suspects] = suspect;
    series->n_suspects++;
}

/* A single slice does not make a folder its series' own: an overview may be beside slices of any
 * series. */
static bool is_at_home(const struct name_entry *entry)
{
    return entry->n > 1;
}

/* Counts the suspect for the series that it may belong to. */
static void assign(const struct name_index *index, struct dicom_series *series, size_t n_series,
                   const struct dicom_other *suspect)
{
    char stem[NAME_BYTES];
    write_stem(suspect->path, stem, sizeof stem);
    const bool listed = suspect->folder == DICOM_NAMED;
    const struct name_range none = {NULL, NULL};
    const struct name_range place = listed ? none : name_find(index, suspect->folder, "");
    const struct name_range name = listed || !*stem ? none : name_find(index, ANYWHERE, stem);
    bool both = false, any = name.first < name.end;
    for (const struct name_entry *at = place.first; at < place.end; at++) {
        any = any || is_at_home(at);
        both = both || (is_at_home(at) && name_range_has(name, at->series));
    }
    for (size_t i = 0; i < n_series && !any; i++)
        dicom_lost_count(&series[i], suspect);
    for (const struct name_entry *at = place.first; at < place.end; at++)
        if (is_at_home(at) && (!both || name_range_has(name, at->series)))
            dicom_lost_count(&series[at->series], suspect);
    for (const struct name_entry *at = name.first; at < name.end && !both; at++)
        dicom_lost_count(&series[at->series], suspect);
}

/* Lists the suspect files, and the damaged ones whose UID may be wrong, in `out` if that is not
 * NULL. Returns how many there are. */
static size_t list_candidates(const struct dicom_folder *folder, const struct dicom_series *series,
                              size_t n_series, struct dicom_other *out)
{
    size_t n = 0;
    for (size_t i = 0; i < folder->n_others; i++) {
        if (out && folder->others[i].suspect)
            out[n] = folder->others[i];
        n += folder->others[i].suspect;
    }
    for (size_t i = 0; i < n_series; i++)
        for (size_t k = 0; series[i].doubtful_uid && k < series[i].n_images; k++, n++) {
            const struct dicom_file *file = series[i].images[k]->file;
            if (out)
                out[n] = (struct dicom_other){
                    .path = file->path, .kind = DICOM_DAMAGED, .folder = file->folder};
        }
    return n;
}

enum ts_status ts_dicom_count_suspects(const struct dicom_folder *folder, struct arena *arena,
                                       struct dicom_series *series, size_t n_series,
                                       struct ts_diag *diag)
{
    struct name_index index = {.n = 0};
    const size_t n = list_candidates(folder, series, n_series, NULL);
    if (n == 0)
        return TS_OK;
    struct dicom_other *candidates = ts_arena_alloc(arena, n * sizeof *candidates);
    const bool ok = candidates && index_slices(&index, series, n_series);
    if (ok)
        list_candidates(folder, series, n_series, candidates);
    for (size_t i = 0; ok && i < n; i++)
        assign(&index, series, n_series, &candidates[i]);
    free(index.items);
    return ok ? TS_OK : ts_diag_no_memory(diag, n * sizeof *candidates);
}
