/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays of the caller's, and the source that reads them.
 */
#include "io/source/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/image.h"
#include "io/pool/pool.h"

/* ---- arrays ---------------------------------------------------------------------------------- */

static int64_t row_bytes(const struct ts_array *array)
{
    return array->n[array->rank - 1] * (int64_t)ts_dtype_bytes(array->dtype);
}

/* Sets the strides of C order. Returns false where the array has more bytes than memory. */
static bool set_strides(struct ts_array *array)
{
    int64_t bytes = (int64_t)ts_dtype_bytes(array->dtype);
    for (int d = array->rank - 1; d >= 0; d--) {
        array->stride[d] = bytes;
        if (__builtin_mul_overflow(bytes, array->n[d], &bytes))
            return false;
    }
    return true;
}

static bool has_order_of_c(const struct ts_array *array)
{
    struct ts_array plain = *array;
    bool same = set_strides(&plain);
    for (int d = 0; d < array->rank; d++)
        same = same && (array->n[d] == 1 || array->stride[d] == plain.stride[d]);
    return same;
}

const char *ts_array_refusal(struct ts_array *array)
{
    bool strided = false;
    if (array->size != sizeof *array)
        return "is of another version of struct ts_array";
    if (!array->data)
        return "has no data";
    if (array->rank < 2 || array->rank > TS_MAX_RANK)
        return "has not 2 to 4 axes";
    if ((unsigned)array->dtype > TS_F32)
        return "is not of one of the types u8, i8, u16, i16, u32, i32 and f32";
    for (int d = 0; d < array->rank; d++) {
        if (array->n[d] < 1)
            return "has an axis without elements";
        strided |= array->stride[d] != 0;
    }
    struct ts_array plain = *array;
    if (!set_strides(&plain))
        return "has more bytes than memory";
    if (!strided)
        *array = plain;
    if (array->n[array->rank - 1] > 1 &&
        array->stride[array->rank - 1] != plain.stride[array->rank - 1])
        return "is not contiguous along its last axis";
    if (array->cuda_device >= 0 && !has_order_of_c(array))
        return "is in the memory of a device and not in C order";
    if (array->cuda_device >= 0 && array->rank == TS_MAX_RANK)
        return "is in the memory of a device and has several volumes";
    return NULL;
}

/* Returns the first row of slice i. */
/* Sets the place of the first byte, and of the one after the last. */
static void ends_of(const struct ts_array *array, uintptr_t ends[2])
{
    ends[0] = (uintptr_t)array->data;
    ends[1] = ends[0] + ts_dtype_bytes(array->dtype);
    for (int d = 0; d < array->rank; d++)
        ends[array->stride[d] > 0] += (uintptr_t)(array->stride[d] * (array->n[d] - 1));
}

bool ts_array_meets(const struct ts_array *a, const struct ts_array *b)
{
    uintptr_t one[2], other[2];
    ends_of(a, one);
    ends_of(b, other);
    return one[0] < other[1] && other[0] < one[1];
}

static unsigned char *slice_of(const struct ts_array *array, int64_t i)
{
    unsigned char *at = array->data;
    for (int d = array->rank - 3; d >= 0; d--) {
        at += i % array->n[d] * array->stride[d];
        i /= array->n[d];
    }
    return at;
}

/* Copies slice i, counted through all axes before the last two, to `packed`. */
static void get_slice(const struct ts_array *array, int64_t i, void *packed)
{
    const size_t bytes = (size_t)row_bytes(array);
    const unsigned char *from = slice_of(array, i);
    for (int64_t y = 0; y < array->n[array->rank - 2]; y++)
        memcpy((unsigned char *)packed + (size_t)y * bytes,
               from + y * array->stride[array->rank - 2], bytes);
}

void ts_array_put(const struct ts_array *array, int64_t i, const void *packed)
{
    const size_t bytes = (size_t)row_bytes(array);
    unsigned char *to = slice_of(array, i);
    for (int64_t y = 0; y < array->n[array->rank - 2]; y++)
        memcpy(to + y * array->stride[array->rank - 2],
               (const unsigned char *)packed + (size_t)y * bytes, bytes);
}

/* ---- what a chain keeps ---------------------------------------------------------------------- */

/* Describes the array by itself: a volume, or several over time. */
static void memory_describe(const struct ts_array *array, struct ts_image *image)
{
    static const enum ts_axis_kind kinds[TS_MAX_RANK] = {TS_AXIS_TIME, TS_AXIS_Z, TS_AXIS_Y,
                                                         TS_AXIS_X};
    *image = (struct ts_image){.rank = array->rank < 3 ? 3 : array->rank,
                               .dtype = array->dtype,
                               .quantity = TS_INTENSITY,
                               .unit = "1"};
    for (int d = 0; d < image->rank; d++) {
        const int of = d - (image->rank - array->rank);
        const enum ts_axis_kind kind = kinds[TS_MAX_RANK - image->rank + d];
        image->axes[d] = ts_source_axis(kind, of < 0 ? 1 : array->n[of], 0);
        if (kind == TS_AXIS_TIME)
            image->axes[d].unit = "";
    }
}

/* Returns what is wrong with the caller's description, or NULL. */
static const char *about_refusal(const struct ts_image *about, const struct ts_image *expected)
{
    if (about->rank != expected->rank)
        return "has another number of axes (one slice has an axis z too)";
    if (about->dtype != expected->dtype)
        return "has another type";
    for (int d = 0; d < about->rank; d++) {
        const struct ts_axis *axis = &about->axes[d];
        if (axis->n != expected->axes[d].n)
            return "has other sizes";
        if (!isfinite(axis->spacing) || !isfinite(axis->first) || axis->spacing < 0)
            return "has a spacing or first position that is no finite number, or a negative "
                   "spacing";
        for (int64_t i = 0; axis->positions && i < axis->n; i++)
            if (!isfinite(axis->positions[i]))
                return "has a position that is no finite number";
    }
    if ((unsigned)about->quantity > TS_INTENSITY)
        return "has no quantity";
    if (about->masked && !about->valid)
        return "says that pixels are invalid, and not which";
    return NULL;
}

static bool copy_text(struct arena *arena, const char **text)
{
    return !*text || (*text = ts_arena_text(arena, *text, strlen(*text)));
}

/* Copies what the description points to. Returns false where memory is out. */
static bool copy_about(struct arena *arena, struct ts_image *image)
{
    const size_t words = image->masked ? ts_valid_bytes(image) / sizeof *image->valid : 0;
    int64_t slices = 1;
    bool ok = copy_text(arena, &image->unit);
    for (int d = 0; ok && d < image->rank; d++) {
        struct ts_axis *axis = &image->axes[d];
        slices *= d < image->rank - 2 ? axis->n : 1;
        ok = copy_text(arena, &axis->unit) && copy_text(arena, &axis->name);
        if (ok && axis->positions)
            ok = (axis->positions = ts_arena_copy(arena, axis->positions, (size_t)axis->n,
                                                  sizeof *axis->positions));
    }
    if (ok && words > 0)
        ok = (image->valid =
                  ts_arena_copy(arena, image->valid, words * (size_t)slices, sizeof *image->valid));
    image->data = NULL;
    image->z_first = 0;
    return ok;
}

enum ts_status ts_memory_input(const char *name, const struct ts_array *array,
                               const struct ts_image *about, struct arena *arena,
                               struct memory_input **out, struct ts_diag *diag)
{
    struct memory_input *input = ts_arena_alloc(arena, sizeof *input);
    struct diag_site site = {.code = "memory-array", .stage = "memory"};
    if (!input)
        return ts_diag_no_memory(diag, sizeof *input);
    input->array = *array;
    const char *wrong = ts_array_refusal(&input->array);
    if (wrong)
        return ts_diag_error(diag, TS_BAD_INPUT, &site, "the array '%s' %s", name, wrong);
    memory_describe(&input->array, &input->image);
    if (about && (wrong = about_refusal(about, &input->image))) {
        site.code = "memory-about";
        return ts_diag_error(diag, TS_BAD_INPUT, &site, "the description of the array '%s' %s",
                             name, wrong);
    }
    if (about)
        input->image = *about;
    *out = input;
    return copy_about(arena, &input->image) ? TS_OK : ts_diag_no_memory(diag, sizeof *input);
}

/* ---- the source ------------------------------------------------------------------------------ */

struct memory_source {
    struct source base;
    const struct ts_array *array;
    struct pool *readers; /* NULL before start() */
};

struct reading {
    struct memory_source *source;
    int64_t z;
    unsigned char *out;
};

static enum ts_status read_slice(void *user, int thread, int64_t i, struct ts_diag *diag)
{
    const struct reading *reading = user;
    (void)thread;
    (void)diag;
    get_slice(reading->source->array, reading->z + i,
              reading->out + (size_t)i * ts_slice_bytes(&reading->source->base.image));
    return TS_OK;
}

/* The caller may have written other values since the last run. */
static enum ts_status memory_start(struct source *base, int threads, int64_t ahead,
                                   struct ts_diag *diag)
{
    struct memory_source *source = (struct memory_source *)base;
    (void)ahead;
    for (int64_t i = 0; i < ts_source_total(base); i++)
        *base->slices[i].pixel_sha256 = '\0';
    if (!source->readers)
        source->readers = ts_pool_create(threads);
    return source->readers ? TS_OK : ts_diag_no_memory(diag, 0);
}

static enum ts_status read_slices(struct source *base, int64_t z, int64_t n, void *out,
                                  struct ts_diag *diag)
{
    struct memory_source *source = (struct memory_source *)base;
    struct reading reading = {source, z, out};
    const unsigned char *resident = base->resident;
    enum ts_status status = TS_OK;
    const bool there = resident && (base->resident_device >= 0 ||
                                    resident + (size_t)z * ts_slice_bytes(&base->image) == out);
    if (!there)
        status = ts_pool_run(source->readers, ts_pool_threads(source->readers), n, read_slice,
                             &reading, diag);
    return status == TS_OK ? ts_source_digest(base, source->readers, z, n, out, diag) : status;
}

static void close_source(struct source *base)
{
    ts_pool_destroy(((struct memory_source *)base)->readers);
    free(base->valid);
    free(base->slices);
    free(base);
}

static const struct source_ops memory_ops = {
    .start = memory_start, .read = read_slices, .close = close_source};

/* Puts an axis of volumes before those of the image aside. */
static void split_volumes(struct source *source)
{
    struct ts_image *image = &source->image;
    source->n_volumes = 1;
    if (image->rank < TS_MAX_RANK)
        return;
    source->volume_axis = image->axes[0];
    source->n_volumes = image->axes[0].n;
    image->rank--;
    for (int d = 0; d < image->rank; d++)
        image->axes[d] = image->axes[d + 1];
    image->axes[image->rank] = (struct ts_axis){0};
}

static enum ts_status open_array(const struct param_set *set, struct source **out,
                                 struct ts_diag *diag)
{
    const struct memory_input *input = ((const struct memory_params *)set->values)->input;
    if (!input)
        return ts_param_error(set, "memory", "memory-missing", diag,
                              "a program that uses the library gives this input an array, and none "
                              "was given");
    struct memory_source *source = calloc(1, sizeof *source);
    if (!source)
        return ts_diag_no_memory(diag, sizeof *source);
    *source = (struct memory_source){.base = {.ops = &memory_ops, .image = input->image},
                                     .array = &input->array};
    split_volumes(&source->base);
    source->base.image.valid = NULL;
    enum ts_status status = ts_source_make_slices(&source->base, diag);
    if (status == TS_OK)
        status = ts_source_make_valid(&source->base, diag);
    if (status != TS_OK) {
        close_source(&source->base);
        return status;
    }
    if (source->base.valid)
        memcpy(source->base.valid, input->image.valid, ts_source_valid_bytes(&source->base));
    if (has_order_of_c(&input->array) && source->base.n_volumes == 1)
        source->base.resident = input->array.data;
    source->base.resident_device = input->array.cuda_device >= 0 ? input->array.cuda_device : -1;
    source->base.resident_stream = input->array.cuda_stream;
    *out = &source->base;
    return TS_OK;
}

static const struct param memory_table[] = {
    PARAM(struct memory_params, memory, .required = true, .unit = "",
          .doc = "the name by which a program that uses the library gives an array"),
};

const struct source_format memory_format = {.name = "memory",
                                            .summary =
                                                "an array of a program that uses the library",
                                            .params = memory_table,
                                            .n_params = 1,
                                            .params_bytes = sizeof(struct memory_params),
                                            .open = open_array};
