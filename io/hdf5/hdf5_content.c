/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the lines. Types have NumPy's names; one that this program does not write is "?", and its
 * values are left out. References of dimension scales lead to places in the file, which say nothing
 * of its content; so the names of what they lead to are written. Names with control characters are
 * refused, because a tab or a line's end in them could fake fields and lines.
 */
#include "io/hdf5/hdf5_content.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "io/hdf5/hdf5_storage.h"

enum {
    DTYPE_BYTES = 32,
    ATTRIBUTE_BYTES = 64 << 10
}; /* size of the longest attribute that an object header holds */

/* A dataset, group or type in the group that was looked at last. */
struct member {
    haddr_t address;
    char *name;
};

struct content {
    FILE *out;
    hid_t file;
    const char *path; /* of the present object */
    char *group;      /* the one of the members; NULL: none yet */
    struct member *members;
    size_t n_members, members_capacity;
    bool places;
    bool root; /* the present object is the root group */
    char problem[160];
};

static bool is_plain(const char *name)
{
    for (; *name; name++)
        if ((unsigned char)*name < 0x20 || *name == 0x7f)
            return false;
    return true;
}

static void name_type(hid_t type, char out[DTYPE_BYTES])
{
    struct hdf5_storage of = {0};
    ts_hdf5_storage_type(type, &of);
    const char integer = of.has_sign ? 'i' : 'u';
    snprintf(out, DTYPE_BYTES, "?");
    if (of.class == STORAGE_TEXT && !of.variable)
        snprintf(out, DTYPE_BYTES, "|S%u", of.element_bytes);
    else if (of.standard && !of.big_endian)
        snprintf(out, DTYPE_BYTES, "%c%c%u", of.element_bytes > 1 ? '<' : '|',
                 of.class == STORAGE_FLOAT ? 'f' : integer, of.element_bytes);
}

static void put_hex(FILE *out, const unsigned char *bytes, size_t n)
{
    static const char hex[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        putc(hex[bytes[i] >> 4], out);
        putc(hex[bytes[i] & 15], out);
    }
}

static void put_numbers(FILE *out, const hsize_t *numbers, int n)
{
    for (int i = 0; i < n; i++)
        fprintf(out, "%s%llu", i > 0 ? " " : "", (unsigned long long)numbers[i]);
}

/* A shape is its lengths; a scalar has none. */
static void put_shape(FILE *out, hid_t space)
{
    hsize_t n[H5S_MAX_RANK];
    const int rank = H5Sget_simple_extent_dims(space, n, NULL);
    if (H5Sget_simple_extent_type(space) == H5S_NULL || rank < 0)
        fputs("null", out);
    else
        put_numbers(out, n, rank);
}

/* Returns the bytes of all values; 0 if there are none, too many, or their type is not known. */
static size_t value_bytes(hid_t type, hid_t space, const char *dtype)
{
    const hssize_t points = H5Sget_simple_extent_npoints(space);
    const size_t width = H5Tget_size(type);
    if (*dtype == '?' || points <= 0 || width == 0 || (uint64_t)points > ATTRIBUTE_BYTES / width)
        return 0;
    return (size_t)points * width;
}

/* ---- references of dimension scales ---------------------------------------------------------- */

static void forget_members(struct content *content)
{
    for (size_t i = 0; i < content->n_members; i++)
        free(content->members[i].name);
    content->n_members = 0;
    free(content->group);
    content->group = NULL;
}

static herr_t add_member(hid_t group, const char *name, const H5L_info_t *link, void *user)
{
    struct content *content = user;
    H5O_info_t info;
    if (link->type != H5L_TYPE_HARD)
        return 0;
    struct member *grown = ts_memory_grow(content->members, content->n_members,
                                          &content->members_capacity, sizeof *grown);
    content->members = grown ? grown : content->members;
    if (!grown || H5Oget_info_by_name2(group, name, &info, H5O_INFO_BASIC, H5P_DEFAULT) < 0)
        return -1;
    grown[content->n_members] = (struct member){info.addr, strdup(name)};
    return grown[content->n_members].name ? (content->n_members++, 0) : -1;
}

/* Lists the members of the group of the present object, unless they are those of the last one. */
static bool find_members(struct content *content)
{
    const char *slash = strrchr(content->path, '/');
    const size_t length = slash > content->path ? (size_t)(slash - content->path) : 1;
    if (content->group && strlen(content->group) == length &&
        strncmp(content->group, content->path, length) == 0)
        return true;
    forget_members(content);
    content->group = strndup(content->path, length);
    return content->group &&
           H5Literate_by_name(content->file, content->group, H5_INDEX_NAME, H5_ITER_INC, NULL,
                              add_member, content, H5P_DEFAULT) >= 0;
}

/* Returns the name, in the group of the present object, of what the reference leads to. */
static const char *name_of(const struct content *content, hobj_ref_t reference)
{
    for (size_t i = 0; i < content->n_members; i++)
        if (content->members[i].address == reference && is_plain(content->members[i].name))
            return content->members[i].name;
    return "?";
}

static bool is_reference(hid_t type)
{
    return type >= 0 && H5Tequal(type, H5T_STD_REF_OBJ) > 0;
}

/* Returns true if the type is that of DIMENSION_LIST: a list of references for each axis. */
static bool is_scale_list(hid_t type)
{
    const hid_t of = H5Tget_class(type) == H5T_VLEN ? H5Tget_super(type) : -1;
    const bool is = is_reference(of);
    TS_HDF5_CLOSE(of);
    return is;
}

/* Returns true if the type is that of REFERENCE_LIST: a reference and the number of an axis. */
static bool is_use_list(hid_t type)
{
    if (H5Tget_class(type) != H5T_COMPOUND || H5Tget_nmembers(type) != 2)
        return false;
    const hid_t first = H5Tget_member_type(type, 0), second = H5Tget_member_type(type, 1);
    const bool is = is_reference(first) && second >= 0 && H5Tget_class(second) == H5T_INTEGER &&
                    H5Tget_member_index(type, "dataset") == 0 &&
                    H5Tget_member_index(type, "dimension") == 1;
    TS_HDF5_CLOSE(first, second);
    return is;
}

/* Prints for each axis the names of its scales, each behind a space, and a line feed. */
static bool print_scales(const struct content *content, hid_t attribute, hid_t type, hid_t space,
                         size_t n, FILE *out)
{
    hvl_t *lists = calloc(n, sizeof *lists);
    const bool done = lists && H5Aread(attribute, type, lists) >= 0;
    for (size_t i = 0; done && i < n; i++) {
        for (size_t k = 0; k < lists[i].len; k++)
            fprintf(out, " %s", name_of(content, ((const hobj_ref_t *)lists[i].p)[k]));
        putc('\n', out);
    }
    const bool given_back = !done || H5Dvlen_reclaim(type, space, H5P_DEFAULT, lists) >= 0;
    free(lists);
    return done && given_back;
}

struct use {
    hobj_ref_t dataset;
    int32_t dimension;
};

/* Prints for each use the name of the dataset, a space, the number of the axis, and a line feed. */
static bool print_uses(const struct content *content, hid_t attribute, size_t n, FILE *out)
{
    struct use *uses = calloc(n, sizeof *uses);
    const hid_t type = H5Tcreate(H5T_COMPOUND, sizeof *uses);
    const bool done =
        uses && type >= 0 && H5Tinsert(type, "dataset", 0, H5T_STD_REF_OBJ) >= 0 &&
        H5Tinsert(type, "dimension", offsetof(struct use, dimension), H5T_NATIVE_INT32) >= 0 &&
        H5Aread(attribute, type, uses) >= 0;
    for (size_t i = 0; done && i < n; i++)
        fprintf(out, "%s %d\n", name_of(content, uses[i].dataset), (int)uses[i].dimension);
    TS_HDF5_CLOSE(type);
    free(uses);
    return done;
}

static bool put_references(struct content *content, const char *name, hid_t attribute, hid_t type,
                           hid_t space)
{
    const hssize_t n = H5Sget_simple_extent_npoints(space);
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = find_members(content) ? open_memstream(&text, &bytes) : NULL;
    bool done =
        out && (is_use_list(type) ? print_uses(content, attribute, (size_t)n, out)
                                  : print_scales(content, attribute, type, space, (size_t)n, out));
    if (out)
        done = fclose(out) == 0 && done;
    if (done) {
        fprintf(content->out, "attribute\t%s\tref\t", name);
        put_shape(content->out, space);
        putc('\t', content->out);
        put_hex(content->out, (const unsigned char *)text, bytes);
        putc('\n', content->out);
    }
    free(text);
    return done;
}

/* ---- attributes ------------------------------------------------------------------------------ */

static bool put_attribute_of(struct content *content, const char *name, hid_t attribute, hid_t type,
                             hid_t space)
{
    char dtype[DTYPE_BYTES];
    name_type(type, dtype);
    const size_t bytes = value_bytes(type, space, dtype);
    unsigned char *values = malloc(bytes + 1);
    bool done = values && (bytes == 0 || H5Aread(attribute, type, values) >= 0);
    if (done && content->root && (strcmp(name, "digest") == 0 || strcmp(name, "complete") == 0)) {
        fprintf(content->out, "=%s\t", name);
    } else if (done) {
        fprintf(content->out, "attribute\t%s\t%s\t", name, dtype);
        put_shape(content->out, space);
        putc('\t', content->out);
    }
    if (done) {
        put_hex(content->out, values, bytes);
        putc('\n', content->out);
    }
    free(values);
    return done;
}

static herr_t put_attribute(hid_t object, const char *name, const H5A_info_t *info, void *user)
{
    (void)info;
    struct content *content = user;
    const hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    const hid_t type = attribute >= 0 ? H5Aget_type(attribute) : -1,
                space = attribute >= 0 ? H5Aget_space(attribute) : -1;
    const bool known = is_plain(name);
    if (!known)
        snprintf(content->problem, sizeof content->problem,
                 "has an attribute with a control character in its name");
    bool done = known && type >= 0 && space >= 0;
    const hssize_t n = done ? H5Sget_simple_extent_npoints(space) : 0;
    const bool is_list = n > 0 && n <= ATTRIBUTE_BYTES / (int)sizeof(hobj_ref_t);
    if (done)
        done = is_list && (is_scale_list(type) || is_use_list(type))
                   ? put_references(content, name, attribute, type, space)
                   : put_attribute_of(content, name, attribute, type, space);
    TS_HDF5_CLOSE(space, type, attribute);
    return done ? 0 : -1;
}

/* Writes a line with a name and a length, and then the block that `write` prints about the
   dataset. */
static bool put_block(const struct content *content, hid_t dataset,
                      const struct hdf5_storage *storage, const char *name,
                      bool (*write)(hid_t, const struct hdf5_storage *, FILE *))
{
    char *bytes = NULL;
    size_t n = 0;
    FILE *block = open_memstream(&bytes, &n);
    bool done = block && write(dataset, storage, block);
    if (block)
        done = fclose(block) == 0 && done;
    if (done) {
        fprintf(content->out, "=%s\t%zu\n", name, n);
        fwrite(bytes, 1, n, content->out);
    }
    free(bytes);
    return done;
}

static bool put_places(const struct content *content, hid_t dataset)
{
    struct hdf5_storage storage = {0};
    return ts_hdf5_storage_find(dataset, &storage) &&
           put_block(content, dataset, &storage, "storage", ts_hdf5_storage_write) &&
           (storage.layout != STORAGE_CHUNKED ||
            put_block(content, dataset, &storage, "chunks", ts_hdf5_storage_write_table));
}

/* ---- objects --------------------------------------------------------------------------------- */

static bool put_dataset(struct content *content, const struct hdf5_object *object)
{
    char dtype[DTYPE_BYTES];
    hid_t type = H5Dget_type(object->id), space = H5Dget_space(object->id);
    bool done = type >= 0 && space >= 0;
    if (done) {
        name_type(type, dtype);
        fprintf(content->out, "dataset\t%s\t%s\t", object->path, dtype);
        put_shape(content->out, space);
        putc('\n', content->out);
        if (content->places && *dtype != '?')
            done = put_places(content, object->id);
    }
    TS_HDF5_CLOSE(space, type);
    return done;
}

static bool put_object(void *user, const struct hdf5_object *object)
{
    struct content *content = user;
    static const char *const kinds[] = {
        [HDF5_GROUP] = "group",     [HDF5_TYPE] = "type",
        [HDF5_SOFT_LINK] = "soft",  [HDF5_EXTERNAL_LINK] = "external",
        [HDF5_OTHER_LINK] = "link", [HDF5_SEEN] = "again"};
    bool done = is_plain(object->path) && (!object->target || is_plain(object->target)) &&
                (!object->inside || is_plain(object->inside));
    if (!done)
        snprintf(content->problem, sizeof content->problem,
                 "has a control character in its name or target");
    else if (object->kind == HDF5_DATASET)
        done = put_dataset(content, object);
    else if (object->kind == HDF5_EXTERNAL_LINK)
        fprintf(content->out, "external\t%s\t%s\t%s\n", object->path, object->target,
                object->inside);
    else if (object->kind == HDF5_SOFT_LINK || object->kind == HDF5_SEEN)
        fprintf(content->out, "%s\t%s\t%s\n", kinds[object->kind], object->path, object->target);
    else
        fprintf(content->out, "%s\t%s\n", kinds[object->kind], object->path);
    content->root = strcmp(object->path, "/") == 0;
    content->path = object->path;
    if (done && object->id >= 0 && object->kind != HDF5_SEEN)
        done =
            H5Aiterate2(object->id, H5_INDEX_NAME, H5_ITER_INC, NULL, put_attribute, content) >= 0;
    if (done && ferror(content->out)) {
        snprintf(content->problem, sizeof content->problem, "cannot be listed: no memory");
        done = false;
    }
    return done;
}

bool ts_hdf5_content(hid_t file, bool places, FILE *out, char *at, char *problem, size_t size)
{
    struct content content = {.out = out, .file = file, .places = places};
    const enum hdf5_walk_end end = ts_hdf5_walk(file, put_object, &content, at);
    forget_members(&content);
    free(content.members);
    if (end == HDF5_WALK_DONE)
        return true;
    struct hdf5_failure failure;
    ts_hdf5_failure(&failure);
    if (end == HDF5_WALK_LIMIT)
        snprintf(problem, size, "is more than %d links or %d levels", HDF5_WALK_OBJECTS,
                 HDF5_WALK_DEPTH);
    else if (*content.problem)
        snprintf(problem, size, "%s", content.problem);
    else
        snprintf(problem, size, "cannot be %s: %.100s",
                 end == HDF5_WALK_STOPPED ? "read" : "opened", failure.text);
    return false;
}
