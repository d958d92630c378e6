/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays of the caller's, and the source that reads them.
 */
#include "io/source/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/pool/pool.h"

/* ---- arrays ---------------------------------------------------------------------------------- */

static int64_t row_bytes(const struct ts_array *array)
{
    return array->n[array->rank - 1] * (int64_t)ts_dtype_bytes(array->dtype);
}

/* Sets the strides of C order. Returns false if the number of bytes overflows. */
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

/* Returns true if the place of every element is one that a process can have: no processor gives one
 * more than 2^56 bytes of addresses, which begin at 0. */
static bool stays_in_memory(const struct ts_array *array)
{
    const uint64_t most = (uint64_t)1 << 56, at = (uintptr_t)array->data;
    uint64_t below = 0, above = ts_dtype_bytes(array->dtype), reach;
    for (int d = 0; d < array->rank; d++) {
        const int64_t stride = array->stride[d];
        const uint64_t step = stride < 0 ? 0 - (uint64_t)stride : (uint64_t)stride;
        uint64_t *side = stride < 0 ? &below : &above;
        if (__builtin_mul_overflow(step, (uint64_t)array->n[d] - 1, &reach) ||
            __builtin_add_overflow(*side, reach, side) || *side > most)
            return false;
    }
    return below < at && !__builtin_add_overflow(at, above, &reach);
}

/* Returns what is wrong with the sizes and strides, or NULL. */
static const char *strides_refusal(struct ts_array *array)
{
    struct ts_array plain = *array;
    bool strided = false;
    for (int d = 0; d < array->rank; d++) {
        if (array->n[d] < 1)
            return "has an axis without elements";
        strided |= array->stride[d] != 0;
    }
    if (!set_strides(&plain) || (!strided && !stays_in_memory(&plain)))
        return "has more bytes than memory";
    for (int d = 0; d < array->rank; d++)
        if (!strided || array->n[d] == 1) /* a single element is never stepped from */
            array->stride[d] = plain.stride[d];
    if (array->stride[array->rank - 1] != plain.stride[array->rank - 1])
        return "is not contiguous along its last axis";
    if (!stays_in_memory(array))
        return "has strides that lead out of memory (they are in bytes)";
    return NULL;
}

const char *ts_array_refusal(struct ts_array *array, char text[ARRAY_WRONG])
{
    if (array->size != sizeof *array)
        return "is of another version of struct ts_array";
    if (!array->data)
        return "has no data";
    if (array->rank < 2 || array->rank > TS_MAX_RANK)
        return "has not 2 to 4 axes";
    if ((unsigned)array->dtype > TS_F32)
        return "is not of one of the types u8, i8, u16, i16, u32, i32 and f32";
    if (array->cuda_device < -1) {
        snprintf(text, ARRAY_WRONG,
                 "has the cuda_device %ld, and devices count from 0 (-1 is host memory)",
                 (long)array->cuda_device);
        return text;
    }
    const char *wrong = strides_refusal(array);
    if (wrong)
        return wrong;
    if (array->cuda_device >= 0 && (uintptr_t)array->data % ts_dtype_bytes(array->dtype) != 0)
        return "is in the memory of a device and begins at no multiple of its element's bytes";
    if (array->cuda_device >= 0 && !has_order_of_c(array))
        return "is in the memory of a device and not in C order";
    if (array->cuda_device >= 0 && array->rank == TS_MAX_RANK)
        return "is in the memory of a device and has several volumes";
    return NULL;
}

/* Sets the place of the first byte, and of the one after the last. */
static void ends_of(const struct ts_array *array, uintptr_t ends[2])
{
    ends[0] = (uintptr_t)array->data;
    ends[1] = ends[0] + ts_dtype_bytes(array->dtype);
    for (int d = 0; d < array->rank; d++)
        ends[array->stride[d] > 0] += (uintptr_t)(array->stride[d] * (array->n[d] - 1));
}

/* Elements of two arrays are k * bytes further apart, for every k in [low, high]. */
struct array_step {
    int64_t bytes, low, high;
};

/* Adds the axes of an array, whose elements count by `sign`. Those of equal strides are one step.
 */
static int add_steps(const struct ts_array *array, int sign, struct array_step *steps, int n)
{
    for (int d = 0; d < array->rank; d++) {
        const int64_t bytes = llabs(array->stride[d]), most = array->n[d] - 1;
        int at = 0;
        if (bytes == 0 || most == 0)
            continue;
        while (at < n && steps[at].bytes > bytes)
            at++;
        if (at == n || steps[at].bytes != bytes) {
            memmove(steps + at + 1, steps + at, (size_t)(n++ - at) * sizeof *steps);
            steps[at] = (struct array_step){.bytes = bytes};
        }
        if ((array->stride[d] > 0) == (sign > 0))
            steps[at].high += most;
        else
            steps[at].low -= most;
    }
    return n;
}

static int64_t divide_down(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* Returns true if multiples of the steps, which fall, add up to a number in [from, to]; or if that
 * takes too many trials. */
static bool steps_meet(const struct array_step *steps, int n, int64_t from, int64_t to, int *trials)
{
    int64_t low = 0, high = 0; /* of what follows the first step */
    if (n == 0)
        return from <= 0 && to >= 0;
    for (int i = 1; i < n; i++) {
        low += steps[i].low * steps[i].bytes;
        high += steps[i].high * steps[i].bytes;
    }
    const int64_t bytes = steps->bytes, first = -divide_down(high - from, bytes),
                  last = divide_down(to - low, bytes);
    for (int64_t k = first > steps->low ? first : steps->low; k <= last && k <= steps->high; k++)
        if (--*trials < 0 || steps_meet(steps + 1, n - 1, from - k * bytes, to - k * bytes, trials))
            return true;
    return false;
}

bool ts_array_meets(const struct ts_array *a, const struct ts_array *b)
{
    uintptr_t one[2], other[2];
    struct array_step steps[2 * TS_MAX_RANK];
    int trials = 10000;
    ends_of(a, one);
    ends_of(b, other);
    if (one[0] >= other[1] || other[0] >= one[1])
        return false;
    const int64_t apart = (int64_t)((uintptr_t)b->data - (uintptr_t)a->data);
    const int n = add_steps(b, 1, steps, add_steps(a, -1, steps, 0));
    return steps_meet(steps, n, 1 - (int64_t)ts_dtype_bytes(b->dtype) - apart,
                      (int64_t)ts_dtype_bytes(a->dtype) - 1 - apart, &trials);
}

const char ts_array_overlap[] = "has elements that overlap each other",
           ts_array_overlap_hint[] = "each stride has to step over all elements of the axes with "
                                     "shorter ones, and 0 is for inputs; all 0: C order";

/* Each axis has to step over all elements of the axes with smaller steps. */
bool ts_array_meets_itself(const struct ts_array *array)
{
    struct ts_array inner = *array;
    bool meets = false;
    for (int d = 0; d < array->rank; d++) {
        uintptr_t ends[2];
        const int64_t step = llabs(array->stride[d]);
        for (int e = 0; e < array->rank; e++) {
            const int64_t other = llabs(array->stride[e]);
            inner.n[e] = e != d && (other < step || (other == step && e > d)) ? array->n[e] : 1;
        }
        ends_of(&inner, ends);
        meets |= array->n[d] > 1 && (uintptr_t)step < ends[1] - ends[0];
    }
    return meets;
}

/* Returns the first row of slice i. */
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

unsigned char *ts_array_slice(const struct ts_array *array, int64_t i)
{
    const bool aligned = (uintptr_t)array->data % ts_dtype_bytes(array->dtype) == 0;
    return aligned && has_order_of_c(array) ? slice_of(array, i) : NULL;
}

void ts_array_put(const struct ts_array *array, int64_t i, const void *packed)
{
    const size_t bytes = (size_t)row_bytes(array);
    unsigned char *to = slice_of(array, i);
    if (to == packed)
        return;
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

/* Returns what is wrong with the axes' kinds, or NULL. */
static const char *kinds_refusal(const struct ts_image *about)
{
    const struct ts_axis *z = &about->axes[about->rank - 3];
    const bool volume = z[1].kind == TS_AXIS_Y && z[2].kind == TS_AXIS_X,
               scan = z[1].kind == TS_AXIS_VIEW && z[2].kind == TS_AXIS_DETECTOR;
    if (z->kind != TS_AXIS_Z || !(volume || scan))
        return "has axes that are neither (z, y, x) nor (z, view, detector)";
    if (scan && z[1].unit && *z[1].unit && strcmp(z[1].unit, "degree") != 0)
        return "has views whose unit is neither \"degree\" nor \"\"";
    if (about->rank == TS_MAX_RANK &&
        (about->axes[0].kind < TS_AXIS_ITEM || about->axes[0].kind > TS_AXIS_B))
        return "has a first axis that counts no volumes";
    return NULL;
}

/* Returns what is wrong with the unit of the values, or NULL. */
static const char *unit_refusal(const struct ts_image *about, char text[DESCRIPTION_WRONG])
{
    const char *unit = about->unit && *about->unit ? about->unit : "1",
               *expected = ts_source_unit(about->quantity);
    if (ts_unit_fits(about->quantity, unit))
        return NULL;
    snprintf(text, DESCRIPTION_WRONG,
             "has the quantity %s, whose values are not in '%.40s' (but in '%s'%s)",
             ts_quantity_name(about->quantity), unit, expected,
             strcmp(expected, "1") ? " or '1'" : "");
    return text;
}

/* Returns what is wrong with the caller's description, which may be written to `text`, or NULL. */
static const char *about_refusal(const struct ts_image *about, const struct ts_image *expected,
                                 char text[DESCRIPTION_WRONG])
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
                   "spacing (positions may fall)";
        for (int64_t i = 0; axis->positions && i < axis->n; i++)
            if (!isfinite(axis->positions[i]))
                return "has a position that is no finite number";
    }
    if ((unsigned)about->quantity > TS_INTENSITY)
        return "has no quantity";
    if (about->masked && !about->valid)
        return "says that pixels are invalid, and not which";
    if (about->labels > 2)
        return "has labels of no kind";
    if ((unsigned)about->beam.kind > TS_BEAM_FAN_FLAT)
        return "has no kind of beam";
    const char *wrong = unit_refusal(about, text);
    return wrong ? wrong : kinds_refusal(about);
}

/* Brings the copy of a description to the form in which this program keeps it. Returns what is
 * wrong with it, or NULL. */
static const char *memory_settle(struct ts_image *image, char text[DESCRIPTION_WRONG])
{
    double *lists[TS_MAX_RANK] = {0};
    for (int d = 0; d < image->rank; d++)
        lists[d] = (double *)image->axes[d].positions; /* the copy's own */
    if (!ts_axes_to_mm(image, lists, text))
        return text;
    const struct ts_axis *last = &image->axes[image->rank - 1];
    const char *wrong = NULL;
    if (image->beam.kind == TS_BEAM_PARALLEL)
        image->beam = (struct ts_beam){0};
    else
        wrong = last->kind == TS_AXIS_DETECTOR ? ts_beam_wrong(&image->beam, last)
                                               : "a volume has no fan beam, only a scan has";
    return wrong || !image->has_geometry ? wrong : ts_geometry_straighten(image);
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

struct memory_input *ts_memory_share(struct memory_input *input)
{
    atomic_fetch_add(&input->users, 1);
    return input;
}

void ts_memory_leave(struct memory_input *input)
{
    if (input && atomic_fetch_sub(&input->users, 1) == 1)
        ts_arena_destroy(input->arena);
}

/* Checks the array and its description, and fills the input. */
static enum ts_status memory_fill(struct memory_input *input, const char *name,
                                  const struct ts_array *array, const struct ts_image *about,
                                  struct ts_diag *diag)
{
    struct ts_image *image = &input->image;
    struct diag_site site = {.code = "memory-array", .stage = "memory"};
    char text[DESCRIPTION_WRONG];
    input->array = *array;
    const char *wrong = ts_array_refusal(&input->array, text);
    if (wrong)
        return ts_diag_error(diag, TS_BAD_INPUT, &site, "the array '%s' %s", name, wrong);
    memory_describe(&input->array, image);
    site.code = "memory-about";
    if (about && (wrong = about_refusal(about, image, text)))
        return ts_diag_error(diag, TS_BAD_INPUT, &site, "the description of the array '%s' %s",
                             name, wrong);
    if (about)
        *image = *about;
    image->unit = image->unit && *image->unit ? image->unit : "1";
    for (int d = 0; d < image->rank; d++)
        if (!image->axes[d].unit)
            image->axes[d].unit = "";
    if (!copy_about(input->arena, image))
        return ts_diag_no_memory(diag, sizeof *input);
    wrong = memory_settle(image, text);
    return wrong ? ts_diag_error(diag, TS_BAD_INPUT, &site,
                                 "the description of the array '%s' is wrong: %s", name, wrong)
                 : TS_OK;
}

enum ts_status ts_memory_input(const char *name, const struct ts_array *array,
                               const struct ts_image *about, struct memory_input **out,
                               struct ts_diag *diag)
{
    struct arena *arena = ts_arena_create();
    struct memory_input *input = arena ? ts_arena_alloc(arena, sizeof *input) : NULL;
    if (!input) {
        ts_arena_destroy(arena);
        return ts_diag_no_memory(diag, sizeof *input);
    }
    input->arena = arena;
    atomic_init(&input->users, 1);
    const enum ts_status status = memory_fill(input, name, array, about, diag);
    if (status == TS_OK)
        *out = input;
    else
        ts_memory_leave(input);
    return status;
}

/* ---- the source ------------------------------------------------------------------------------ */

struct memory_source {
    struct source base;
    struct memory_input *input;
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
    get_slice(&reading->source->input->array, reading->z + i,
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
    ts_memory_leave(((struct memory_source *)base)->input);
    free(base->valid);
    free(base->slices);
    free(base);
}

static const struct source_ops memory_ops = {
    .start = memory_start, .read = read_slices, .close = close_source};

const struct ts_array *ts_memory_array(const struct source *source)
{
    return source->ops == &memory_ops ? &((const struct memory_source *)source)->input->array
                                      : NULL;
}

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
    struct memory_input *input = ((const struct memory_params *)set->values)->input;
    if (!input)
        return ts_param_error(set, "memory", "memory-missing", diag,
                              "a program that uses the library gives this input an array, and none "
                              "was given");
    struct memory_source *source = calloc(1, sizeof *source);
    if (!source)
        return ts_diag_no_memory(diag, sizeof *source);
    *source = (struct memory_source){.base = {.ops = &memory_ops, .image = input->image},
                                     .input = ts_memory_share(input)};
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
