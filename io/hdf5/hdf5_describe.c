/* SPDX-License-Identifier: Apache-2.0
 *
 * This writes types, small values and storage of HDF5 objects as text. Files may be foreign: sizes
 * are checked before anything is read.
 */
#include "io/hdf5/hdf5_describe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/params.h"

enum { VALUES_MOST = 16, VALUE_READ_BYTES = 64 << 10 };

/* Returns true for the filters that this program writes too; others need plugins or libraries. */
static bool is_built_in(int32_t filter)
{
    return filter == H5Z_FILTER_DEFLATE || filter == H5Z_FILTER_SHUFFLE ||
           filter == H5Z_FILTER_FLETCHER32;
}

void ts_hdf5_type_name(hid_t dataset, char *out, size_t size)
{
    const hid_t type = H5Dget_type(dataset);
    out[0] = '\0';
    if (type < 0)
        return;
    const size_t bytes = H5Tget_size(type);
    const char *order = bytes > 1 && H5Tget_order(type) == H5T_ORDER_BE ? "be" : "";
    switch (H5Tget_class(type)) {
    case H5T_INTEGER:
        snprintf(out, size, "%c%zu%s", H5Tget_sign(type) == H5T_SGN_NONE ? 'u' : 'i', 8 * bytes,
                 order);
        break;
    case H5T_FLOAT:
        snprintf(out, size, "f%zu%s", 8 * bytes, order);
        break;
    case H5T_STRING:
        if (H5Tis_variable_str(type) > 0)
            snprintf(out, size, "text");
        else
            snprintf(out, size, "text[%zu]", bytes);
        break;
    case H5T_COMPOUND:
        snprintf(out, size, "compound");
        break;
    case H5T_ENUM:
        snprintf(out, size, "enum");
        break;
    case H5T_REFERENCE:
        snprintf(out, size, "reference");
        break;
    default:
        snprintf(out, size, "other");
    }
    TS_HDF5_CLOSE(type);
}

/* Reads one text from a fixed or variable-length cell. */
static void cell_text(const unsigned char *cell, size_t bytes, bool variable, char *out,
                      size_t size)
{
    const char *text = (const char *)cell;
    if (variable)
        memcpy(&text, cell, sizeof text);
    size_t length = text ? strnlen(text, variable ? size - 1 : bytes) : 0;
    if (length > size - 1)
        length = size - 1;
    if (length > 0)
        memcpy(out, text, length);
    out[length] = '\0';
}

/* Reads n texts of an attribute or a dataset, several of them in brackets. Returns 0 where they are
 * too many bytes, -1 where the library fails. */
static int read_texts(hid_t id, bool attribute, hid_t type, hid_t space, size_t n, char *out,
                      size_t size)
{
    const bool variable = H5Tis_variable_str(type) > 0;
    const size_t bytes = H5Tget_size(type);
    size_t used = 0;
    if (bytes == 0 || bytes > VALUE_READ_BYTES || n * bytes > VALUE_READ_BYTES)
        return 0;
    unsigned char *cells = calloc(n + 1, bytes);
    if (!cells)
        return 0;
    const herr_t read = attribute ? H5Aread(id, type, cells)
                                  : H5Dread(id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, cells);
    for (size_t i = 0; read >= 0 && i < n && used + 4 < size; i++) {
        if (n > 1)
            used += (size_t)snprintf(out + used, size - used, i ? ", " : "[");
        cell_text(cells + i * bytes, bytes, variable, out + used, size - used - 1);
        used += strlen(out + used);
    }
    if (read >= 0 && n > 1)
        snprintf(out + used, size - used, "]");
    if (read >= 0 && variable)
        (void)H5Dvlen_reclaim(type, space, H5P_DEFAULT, cells);
    free(cells);
    return read >= 0 ? 1 : -1;
}

static bool read_numbers(hid_t dataset, bool integer, size_t n, char *out, size_t size)
{
    double values[VALUES_MOST];
    int64_t integers[VALUES_MOST];
    size_t used = 0;
    if (H5Dread(dataset, integer ? H5T_NATIVE_INT64 : H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL,
                H5P_DEFAULT, integer ? (void *)integers : (void *)values) < 0)
        return false;
    for (size_t i = 0; i < n; i++) {
        char number[40] = "null";
        if (integer)
            snprintf(number, sizeof number, "%lld", (long long)integers[i]);
        else if (isfinite(values[i]))
            ts_real_format(values[i], number, sizeof number);
        const char *before = n == 1 ? "" : i == 0 ? "[" : ", ";
        int length = snprintf(out + used, size - used, "%s%s%s", before, number,
                              n > 1 && i + 1 == n ? "]" : "");
        if (length < 0 || (size_t)length >= size - used)
            return false;
        used += (size_t)length;
    }
    return true;
}

bool ts_hdf5_value_text(hid_t dataset, const struct hdf5_storage *storage, char *out, size_t size,
                        bool *text)
{
    bool done = false,
         elsewhere = storage->layout == STORAGE_VIRTUAL || storage->layout == STORAGE_EXTERNAL;
    int64_t n = 1;
    for (int d = 0; d < storage->rank && n <= VALUES_MOST; d++)
        n *= storage->n[d] <= VALUES_MOST ? storage->n[d] : VALUES_MOST + 1;
    for (int i = 0; i < storage->n_filters && i < STORAGE_FILTERS; i++)
        elsewhere = elsewhere || !is_built_in(storage->filters[i].filter.id);
    *text = storage->class == STORAGE_TEXT;
    if (n < 1 || n > VALUES_MOST || elsewhere)
        return false;
    const hid_t type = H5Dget_type(dataset), space = H5Dget_space(dataset);
    if (type >= 0 && space >= 0 && *text)
        done = read_texts(dataset, false, type, space, (size_t)n, out, size) > 0;
    else if ((storage->class == STORAGE_INTEGER || storage->class == STORAGE_FLOAT) &&
             storage->element_bytes <= 8)
        done = read_numbers(dataset, storage->class == STORAGE_INTEGER, (size_t)n, out, size);
    TS_HDF5_CLOSE(space, type);
    return done;
}

int ts_hdf5_texts_of(hid_t object, const char *attribute, int most, char *out, size_t size)
{
    const htri_t there = attribute ? H5Aexists(object, attribute) : 1;
    out[0] = '\0';
    if (there <= 0)
        return there < 0 ? -1 : 0;
    const hid_t value = attribute ? H5Aopen(object, attribute, H5P_DEFAULT) : object;
    const hid_t type = value < 0 ? -1 : attribute ? H5Aget_type(value) : H5Dget_type(value);
    const hid_t space = value < 0 ? -1 : attribute ? H5Aget_space(value) : H5Dget_space(value);
    int found = type >= 0 && space >= 0 ? 0 : -1;
    const hssize_t n = found == 0 ? H5Sget_simple_extent_npoints(space) : 0;
    if (n >= 1 && n <= most && H5Tget_class(type) == H5T_STRING)
        found = read_texts(value, attribute != NULL, type, space, (size_t)n, out, size);
    TS_HDF5_CLOSE(space, type, attribute ? value : -1);
    return found;
}

int ts_hdf5_text_of(hid_t object, const char *attribute, char *out, size_t size)
{
    return ts_hdf5_texts_of(object, attribute, 1, out, size);
}

static size_t add(char *out, size_t size, size_t used, const char *before, const char *word)
{
    if (used < size)
        snprintf(out + used, size - used, "%s%s", before, word);
    return used < size ? used + strlen(out + used) : used;
}

void ts_hdf5_storage_text(const struct hdf5_storage *storage, char *out, size_t size)
{
    static const char *const layouts[] = {
        [STORAGE_COMPACT] = "compact",
        [STORAGE_CONTIGUOUS] = "contiguous",
        [STORAGE_CHUNKED] = "chunked",
        [STORAGE_VIRTUAL] = "virtual: its values lie in other files",
        [STORAGE_EXTERNAL] = "external: its values lie in other files"};
    char word[96];
    size_t used = add(out, size, 0, "", layouts[storage->layout]);
    for (int d = 0; storage->layout == STORAGE_CHUNKED && d < storage->rank; d++) {
        snprintf(word, sizeof word, "%lld", (long long)storage->chunk[d]);
        used = add(out, size, used, d ? " x " : " ", word);
    }
    for (int i = 0; i < storage->n_filters && i < STORAGE_FILTERS; i++) {
        const struct hdf5_filter *filter = &storage->filters[i].filter;
        const char *name = ts_hdf5_filter_name(filter->id), *stored = storage->filters[i].name;
        if (filter->id == H5Z_FILTER_DEFLATE)
            snprintf(word, sizeof word, "deflate %u", filter->values[0]);
        else if (name)
            snprintf(word, sizeof word, "%s", name);
        else
            snprintf(word, sizeof word, "filter %d (%s)", filter->id, *stored ? stored : "?");
        used = add(out, size, used, ", ", word);
    }
}
