/* SPDX-License-Identifier: Apache-2.0
 *
 * Types, small values and storage of HDF5 objects as text. Files may be foreign: sizes are looked at before anything
 * is read.
 */
#include "io/hdf5/hdf5_describe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/params.h"

enum { VALUES_MOST = 16, VALUE_READ_BYTES = 64 << 10 };

void ts_hdf5_type_name(hid_t type, char *out, size_t size)
{
    size_t bytes = H5Tget_size(type);
    const char *order = bytes > 1 && H5Tget_order(type) == H5T_ORDER_BE ? "be" : "";
    switch (H5Tget_class(type)) {
    case H5T_INTEGER:
        snprintf(out, size, "%c%zu%s", H5Tget_sign(type) == H5T_SGN_NONE ? 'u' : 'i', 8 * bytes, order);
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
}

/* One text from a fixed or variable-length cell. */
static void cell_text(const unsigned char *cell, size_t bytes, bool variable, char *out, size_t size)
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

static bool read_texts(hid_t id, bool attribute, hid_t type, hid_t space, size_t n, char *out, size_t size, bool *text)
{
    bool variable = H5Tis_variable_str(type) > 0, done = false;
    size_t bytes = H5Tget_size(type), used = 0;
    if (bytes == 0 || bytes > VALUE_READ_BYTES || n * bytes > VALUE_READ_BYTES)
        return false;
    unsigned char *cells = calloc(n + 1, bytes);
    if (!cells)
        return false;
    herr_t read = attribute ? H5Aread(id, type, cells) : H5Dread(id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, cells);
    if (read >= 0) {
        done = true;
        *text = true;
        for (size_t i = 0; i < n && used + 4 < size; i++) {
            if (n > 1)
                used += (size_t)snprintf(out + used, size - used, i ? ", " : "[");
            cell_text(cells + i * bytes, bytes, variable, out + used, size - used - 1);
            used += strlen(out + used);
        }
        if (n > 1)
            snprintf(out + used, size - used, "]");
        if (variable)
            (void)H5Dvlen_reclaim(type, space, H5P_DEFAULT, cells);
    }
    free(cells);
    return done;
}

static bool read_numbers(hid_t dataset, hid_t type, size_t n, char *out, size_t size)
{
    double values[VALUES_MOST];
    int64_t integers[VALUES_MOST];
    bool integer = H5Tget_class(type) == H5T_INTEGER;
    size_t used = 0;
    if (H5Dread(dataset, integer ? H5T_NATIVE_INT64 : H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                integer ? (void *)integers : (void *)values) < 0)
        return false;
    for (size_t i = 0; i < n; i++) {
        char number[40] = "null";
        if (integer)
            snprintf(number, sizeof number, "%lld", (long long)integers[i]);
        else if (isfinite(values[i]))
            ts_real_format(values[i], number, sizeof number);
        const char *before = n == 1 ? "" : i == 0 ? "[" : ", ";
        int length = snprintf(out + used, size - used, "%s%s%s", before, number, n > 1 && i + 1 == n ? "]" : "");
        if (length < 0 || (size_t)length >= size - used)
            return false;
        used += (size_t)length;
    }
    return true;
}

bool ts_hdf5_value_text(hid_t dataset, char *out, size_t size, bool *text)
{
    char storage[256];
    bool done = false, elsewhere;
    *text = false;
    ts_hdf5_storage_text(dataset, storage, sizeof storage, &elsewhere);
    hid_t type = H5Dget_type(dataset), space = H5Dget_space(dataset);
    hssize_t n = space >= 0 ? H5Sget_simple_extent_npoints(space) : 0;
    if (type >= 0 && n >= 1 && n <= VALUES_MOST && !elsewhere) {
        H5T_class_t class = H5Tget_class(type);
        if (class == H5T_STRING)
            done = read_texts(dataset, false, type, space, (size_t)n, out, size, text);
        else if ((class == H5T_INTEGER || class == H5T_FLOAT) && H5Tget_size(type) <= 8)
            done = read_numbers(dataset, type, (size_t)n, out, size);
    }
    if (space >= 0)
        H5Sclose(space);
    if (type >= 0)
        H5Tclose(type);
    return done;
}

bool ts_hdf5_attribute_text(hid_t object, const char *name, char *out, size_t size)
{
    bool done = false, text = false;
    if (H5Aexists(object, name) <= 0)
        return false;
    hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    if (attribute < 0)
        return false;
    hid_t type = H5Aget_type(attribute), space = H5Aget_space(attribute);
    if (type >= 0 && space >= 0 && H5Tget_class(type) == H5T_STRING && H5Sget_simple_extent_npoints(space) == 1)
        done = read_texts(attribute, true, type, space, 1, out, size, &text);
    if (space >= 0)
        H5Sclose(space);
    if (type >= 0)
        H5Tclose(type);
    H5Aclose(attribute);
    return done;
}

static size_t add(char *out, size_t size, size_t used, const char *before, const char *word)
{
    if (used < size)
        snprintf(out + used, size - used, "%s%s", before, word);
    return used < size ? used + strlen(out + used) : used;
}

static size_t add_filters(hid_t list, char *out, size_t size, size_t used, bool *unknown)
{
    int n = H5Pget_nfilters(list);
    for (int i = 0; i < n; i++) {
        unsigned flags, config, values[8] = {0};
        size_t n_values = 8;
        char name[64] = "?", word[96];
        H5Z_filter_t filter = H5Pget_filter2(list, (unsigned)i, &flags, &n_values, values, sizeof name, name, &config);
        name[sizeof name - 1] = '\0';
        if (filter == H5Z_FILTER_DEFLATE)
            snprintf(word, sizeof word, "deflate %u", values[0]);
        else if (filter == H5Z_FILTER_SHUFFLE || filter == H5Z_FILTER_FLETCHER32)
            snprintf(word, sizeof word, "%s", filter == H5Z_FILTER_SHUFFLE ? "shuffle" : "fletcher32");
        else
            snprintf(word, sizeof word, "filter %d (%s)", (int)filter, name);
        *unknown = *unknown || filter < H5Z_FILTER_DEFLATE || filter > H5Z_FILTER_FLETCHER32;
        used = add(out, size, used, ", ", word);
    }
    return used;
}

void ts_hdf5_storage_text(hid_t dataset, char *out, size_t size, bool *elsewhere)
{
    *elsewhere = true;
    snprintf(out, size, "unknown");
    hid_t list = H5Dget_create_plist(dataset);
    if (list < 0)
        return;
    H5D_layout_t layout = H5Pget_layout(list);
    hsize_t chunk[H5S_MAX_RANK];
    bool external = H5Pget_external_count(list) > 0, unknown = false;
    *elsewhere = external || layout == H5D_VIRTUAL || layout < 0;
    if (layout == H5D_CHUNKED) {
        int rank = H5Pget_chunk(list, H5S_MAX_RANK, chunk);
        size_t used = add(out, size, 0, "", "chunked");
        for (int d = 0; d < rank; d++) {
            char number[32];
            snprintf(number, sizeof number, "%llu", (unsigned long long)chunk[d]);
            used = add(out, size, used, d ? " x " : " ", number);
        }
        add_filters(list, out, size, used, &unknown);
        *elsewhere = *elsewhere || unknown;
    } else if (layout == H5D_VIRTUAL) {
        snprintf(out, size, "virtual: its values lie in other files");
    } else {
        snprintf(out, size, "%s",
                 external                ? "external: its values lie in other files"
                 : layout == H5D_COMPACT ? "compact"
                                         : "contiguous");
    }
    H5Pclose(list);
}
