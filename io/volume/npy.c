/* SPDX-License-Identifier: Apache-2.0
 *
 * A .npy file is eight bytes of signature and version, the length of a text, the text, and the values (NEP 1, "A Simple
 * File Format for NumPy Arrays", 2007). The text is a Python dictionary of three known keys, whose values are looked
 * for here where numpy writes them; Python is not interpreted. Axes are (z, y, x), (y, x) for one slice, or (time, z,
 * y, x), with x fastest. The file states no spacing, so lengths are in pixels.
 */
#include "io/volume/npy.h"

#include <stdlib.h>
#include <string.h>

#include "io/file/file_bytes.h"
#include "io/source/source_slices.h"
#include "io/volume/volume_source.h"

enum { MOST_HEADER = 64 << 10, PREFIX = 12 };

static const struct param npy_params[] = {
    PARAM(struct npy_params, npy, .required = true, .unit = "",
          .doc = "a .npy file of an array (z, y, x), (y, x) for one slice, or (time, z, y, x)"),
    VOLUME_QUANTITY_PARAM(struct npy_params),
    TAKE_PARAM(struct npy_params),
    SLICES_PARAM(struct npy_params),
};

/* Reads the header's text, and notes where the values begin. */
static enum ts_status read_text(struct volume_layout *layout, char text[MOST_HEADER + 1], struct ts_diag *diag)
{
    unsigned char prefix[PREFIX] = {0};
    const uint64_t size = (uint64_t)layout->found.st_size;
    if (size < PREFIX || !ts_file_read_at(layout->fd, prefix, PREFIX, 0) || memcmp(prefix, "\x93NUMPY", 6) != 0 ||
        prefix[6] < 1 || prefix[6] > 3)
        return ts_volume_refuse(layout, "npy-header", diag, "does not begin as a .npy file of version 1 to 3");
    const size_t head = prefix[6] == 1 ? 10 : PREFIX;
    size_t length = (size_t)prefix[8] | (size_t)prefix[9] << 8;
    if (head == PREFIX)
        length |= (size_t)prefix[10] << 16 | (size_t)prefix[11] << 24;
    if (length > MOST_HEADER || head + length > size || !ts_file_read_at(layout->fd, text, length, head))
        return ts_volume_refuse(layout, "npy-header", diag, "has a header that is cut off or longer than %d KiB",
                                MOST_HEADER >> 10);
    text[length] = '\0';
    layout->start = head + length;
    return TS_OK;
}

/* Returns the text behind a key of the dictionary, or NULL where it is not there. */
static const char *value_of(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    at = at ? at + strlen(key) : NULL;
    return at ? at + strspn(at, ": ") : NULL;
}

static enum ts_status take_type(struct volume_layout *layout, const char *text, struct ts_diag *diag)
{
    static const struct {
        const char *name;
        enum ts_dtype dtype;
    } types[] = {{"b1", TS_U8},  {"u1", TS_U8},  {"i1", TS_I8},  {"u2", TS_U16}, {"i2", TS_I16}, {"u4", TS_U32},
                 {"i4", TS_I32}, {"u8", TS_U64}, {"i8", TS_U64}, {"f2", TS_F16}, {"f4", TS_F32}, {"f8", TS_F64}};
    const char *at = value_of(text, "'descr'");
    const bool is_plain = at && *at == '\'' && at[1] && strchr("<>|=", at[1]);
    const char other_order = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? '>' : '<';
    for (size_t i = 0; is_plain && i < sizeof types / sizeof *types; i++)
        if (!strncmp(at + 2, types[i].name, 2) && at[4] == '\'') {
            layout->stored = types[i].dtype;
            layout->is_signed = !strcmp(types[i].name, "i8");
            layout->swapped = at[1] == other_order;
            return TS_OK;
        }
    ts_volume_refuse(layout, "npy-type", diag, "holds %.*s, not integers or floats of at most 64 bits",
                     at ? (int)strcspn(at, ",}") : 7, at ? at : "nothing");
    return ts_diag_hint(diag, "convert it in Python: numpy.save(path, array.astype('float32'))");
}

/* Reads the axes of a shape such as "(3, 4, 5)". Returns how many there are; 0 where it has none, has more than 4 or
 * does not end. */
static int read_axes(const char *shape, int64_t n[4])
{
    const char *at = shape && *shape == '(' ? shape + 1 : "";
    for (int rank = 0; rank < 4; rank++) {
        char *end;
        n[rank] = strtoll(at, &end, 10);
        if (end == at)
            return 0;
        at = end + strspn(end, ", ");
        if (*at == ')')
            return rank + 1;
    }
    return 0;
}

static enum ts_status take_shape(struct volume_layout *layout, const char *text, struct ts_diag *diag)
{
    const char *order = value_of(text, "'fortran_order'");
    int64_t n[4];
    const int rank = read_axes(value_of(text, "'shape'"), n);
    if (!order || strncmp(order, "False", 5) != 0) {
        ts_volume_refuse(layout, "npy-order", diag, "has its first axis fastest (Fortran order)");
        return ts_diag_hint(diag, "save it as numpy.ascontiguousarray(array)");
    }
    if (rank < 2)
        return ts_volume_refuse(layout, "npy-shape", diag, "has not two to four axes");
    for (int d = 0; d < rank; d++)
        layout->n[d] = n[rank - 1 - d];
    return TS_OK;
}

static enum ts_status open_npy(const struct param_set *set, struct source **source, struct ts_diag *diag)
{
    const struct npy_params *params = set->values;
    struct volume_layout layout;
    char *text = malloc(MOST_HEADER + 1);
    *source = NULL;
    if (!text)
        return ts_diag_no_memory(diag, MOST_HEADER + 1);
    enum ts_status status = ts_volume_open(&layout, set, params->npy, diag);
    if (status == TS_OK)
        status = read_text(&layout, text, diag);
    if (status == TS_OK)
        status = take_type(&layout, text, diag);
    if (status == TS_OK)
        status = take_shape(&layout, text, diag);
    free(text);
    layout.quantity = (enum ts_quantity)params->quantity;
    return ts_volume_source_take(&layout, status, source, diag);
}

const struct source_format npy_format = {
    .name = "npy",
    .summary = "a volume in a .npy file of numpy, or several by time",
    .params = npy_params,
    .n_params = sizeof npy_params / sizeof npy_params[0],
    .params_bytes = sizeof(struct npy_params),
    .open = open_npy,
};
