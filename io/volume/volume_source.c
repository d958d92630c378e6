/* SPDX-License-Identifier: Apache-2.0
 *
 * The source's threads read values slice by slice, or inflate all of them at once, since a gzip
 * stream can only be read from its start. The values are then converted to the machine's byte order
 * and scaled, and their rows reversed if the transform says so. A gzip stream cannot be longer than
 * 1032 times its file, which bounds what a header can claim.
 */
#include "io/volume/volume_source.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/image.h"
#include "core/path.h"
#include "core/vector3.h"
#include "io/file/file_bytes.h"
#include "io/file/gzip_reader.h"
#include "io/file/regular_file.h"
#include "io/source/read_ahead.h"

/* ---- geometry -------------------------------------------------------------------------------- */

/* The columns of the transform that a file states are the steps along x, y and z. Rows and columns
 * must be at right angles up to what 32-bit floats and rounded texts leave, and are made exactly
 * so. The step along z may lean off their normal, as behind a tilted gantry: up to
 * TS_UPRIGHT_DEGREE it is taken as along the normal, above it is kept as in DICOM
 * (docs/dicom-geometry.md), so that what this program writes of a sheared series is read back as it
 * was. */

enum { X, Y, Z };

static const double RIGHT_ANGLE = 1e-3; /* largest cosine between rows and columns */

/* Makes the directions x and y, and their normal, from two columns. */
static void find_directions(const double x[3], const double y[3], double u[9])
{
    const double length = ts_length(x);
    for (int i = 0; i < 3; i++)
        u[i] = x[i] / length;
    const double along = ts_dot(y, u);
    for (int i = 0; i < 3; i++)
        u[3 + i] = y[i] - along * u[i];
    const double across = ts_length(u + 3);
    for (int i = 0; i < 3; i++)
        u[3 + i] /= across;
    ts_cross(u, u + 3, u + 6);
}

/* Sets the step along z. Returns what is wrong, or NULL. */
static const char *take_step(const double step[3], struct ts_image *image)
{
    const double *normal = image->direction + 6;
    memcpy(image->step_z_mm, step, sizeof image->step_z_mm);
    const double lean = ts_image_lean_degree(image);
    if (lean > TS_MOST_LEAN_DEGREE)
        return "has slices whose step leans more than 45 degrees off their normal";
    if (lean > TS_UPRIGHT_DEGREE)
        image->axes[0].spacing = ts_dot(step, normal);
    else
        for (int i = 0; i < 3; i++)
            image->step_z_mm[i] = image->axes[0].spacing * normal[i];
    return NULL;
}

const char *ts_volume_transform_fault(const double transform[3][4])
{
    double columns[3][3], lengths[3];
    for (int d = 0; d < 3; d++) {
        for (int i = 0; i < 3; i++)
            columns[d][i] = transform[i][d];
        lengths[d] = ts_length(columns[d]);
        if (!isfinite(lengths[d]))
            return "has a transform with numbers that are not finite";
        if (!(lengths[d] > 1e-9 && lengths[d] < 1e9))
            return "has an axis whose spacing is no positive number of mm";
        if (!isfinite(transform[d][3]))
            return "has an origin that is not finite";
    }
    return fabs(ts_dot(columns[X], columns[Y])) > RIGHT_ANGLE * lengths[X] * lengths[Y]
               ? "has rows and columns that are not at right angles"
               : NULL;
}

/* Sets origin, direction and step of a volume, and its spacing along z if it is sheared, from the
   transform of voxel (x, y, z, 1) to LPS in mm. *reversed: its axes are left-handed, and the
   geometry is that of the volume with its rows in reverse order. Returns NULL, or what is wrong: a
   phrase such as "has an origin that is not finite". */
static const char *volume_geometry(const double transform[3][4], struct ts_image *image,
                                   bool *reversed)
{
    double columns[3][3];
    const char *wrong = ts_volume_transform_fault(transform);
    *reversed = false;
    if (wrong)
        return wrong;
    for (int d = 0; d < 3; d++) {
        for (int i = 0; i < 3; i++)
            columns[d][i] = transform[i][d];
        image->origin_mm[d] = transform[d][3];
    }
    image->has_geometry = true;
    find_directions(columns[X], columns[Y], image->direction);
    if (!(ts_dot(columns[Z], image->direction + 6) > 0)) {
        *reversed = true;
        for (int i = 0; i < 3; i++) {
            image->origin_mm[i] += (double)(image->axes[1].n - 1) * columns[Y][i];
            columns[Y][i] = -columns[Y][i];
        }
        find_directions(columns[X], columns[Y], image->direction);
    }
    return take_step(columns[Z], image);
}

/* ---- values ---------------------------------------------------------------------------------- */

/* A row is loaded as doubles, which are exact except for some 64-bit integers, scaled, and written
   as the type of the image. */

struct volume_making {
    bool flip_rows, as_stored; /* as_stored: neither scaled nor converted */
    bool rounds;               /* 32-bit floats may be less exact than the file */
};

static void swap(unsigned char *data, size_t n, size_t width)
{
    for (size_t i = 0; i < n; i++, data += width)
        for (size_t j = 0; j < width / 2; j++) {
            const unsigned char byte = data[j];
            data[j] = data[width - 1 - j];
            data[width - 1 - j] = byte;
        }
}

#define SCALE_TO(suffix, type)                                                                     \
    case TS_##suffix:                                                                              \
        for (size_t i = 0; i < n; i++)                                                             \
            ((type *)out)[i] = (type)(slope * row[i] + intercept);                                 \
        break;

/* Scales one row, whose numbers `row` holds as double. */
static void scale_row(const struct volume_layout *layout, enum ts_dtype dtype, const double *row,
                      size_t n, void *out)
{
    const double slope = layout->slope, intercept = layout->intercept;
    switch (dtype) {
        TS_IMAGE_DTYPES(SCALE_TO)
        SCALE_TO(F64, double)
    default:
        break;
    }
}

/* Counts the scaled numbers of a row that a 32-bit float cannot hold. */
static void count_rounding(const struct volume_layout *layout, double *row, size_t n,
                           struct ts_rounding *rounding)
{
    if (ts_dtype_is_integer(layout->stored)) {
        ts_rounding_of_scaled(rounding, row, n, layout->slope, layout->intercept);
        return;
    }
    for (size_t i = 0; i < n; i++)
        row[i] = layout->slope * row[i] + layout->intercept;
    ts_rounding_of_doubles(rounding, row, n);
}

static void load_row(const struct volume_layout *layout, double *row, const void *from, size_t n)
{
    const int64_t *numbers = from;
    if (!layout->is_signed)
        ts_load_f64(row, from, layout->stored, n);
    for (size_t i = 0; layout->is_signed && i < n; i++)
        row[i] = (double)numbers[i];
}

/* Counts 64-bit integers that the doubles of a row cannot hold, although floats could. */
static void count_integers(const struct volume_layout *layout, const double *row, const void *from,
                           size_t n, struct ts_rounding *rounding)
{
    for (size_t i = 0; i < n; i++) {
        const long double number = layout->is_signed ? (long double)((const int64_t *)from)[i]
                                                     : (long double)((const uint64_t *)from)[i];
        const double change =
            (double)fabsl((number - (long double)row[i]) * (long double)layout->slope);
        rounding->n += change > 0 && (double)(float)row[i] == row[i];
        rounding->most = fmax(rounding->most, change);
    }
}

/* Returns true if all finite numbers are still finite as 32-bit floats. */
static bool stays_finite(const double *row, const float *made, size_t n)
{
    bool finite = true;
    for (size_t i = 0; i < n; i++)
        finite &= isfinite(made[i]) || !isfinite(row[i]);
    return finite;
}

/* Makes a slice from the stored bytes in `data`, which are overwritten; `row` has space for one row
   of doubles. If making->rounds, adds the number of values that a 32-bit float cannot hold to
   `rounding`. Returns false if a number is beyond the range of the image's type. */
static bool volume_make_slice(const struct volume_layout *layout,
                              const struct volume_making *making, const struct ts_image *image,
                              unsigned char *data, double *row, unsigned char *out,
                              struct ts_rounding *rounding)
{
    const int64_t rows = image->axes[1].n;
    const size_t n = (size_t)image->axes[2].n, width = ts_dtype_bytes(layout->stored);
    const size_t pitch = n * ts_dtype_bytes(image->dtype);
    bool finite = true;
    if (layout->swapped)
        swap(data, n * (size_t)rows, width);
    for (int64_t y = 0; y < rows; y++) {
        const unsigned char *from =
            data + (size_t)(making->flip_rows ? rows - 1 - y : y) * n * width;
        if (making->as_stored) {
            memcpy(out + (size_t)y * pitch, from, pitch);
        } else {
            load_row(layout, row, from, n);
            if (making->rounds && layout->stored == TS_U64)
                count_integers(layout, row, from, n, rounding);
            scale_row(layout, image->dtype, row, n, out + (size_t)y * pitch);
            if (image->dtype == TS_F32)
                finite &= stays_finite(row, (const float *)(out + (size_t)y * pitch), n);
            if (making->rounds)
                count_rounding(layout, row, n, rounding);
        }
    }
    return finite;
}

/* ---- the source ------------------------------------------------------------------------------ */

struct volume_source {
    struct rule_source in; /* first */
    struct volume_layout layout;
    struct volume_making making;
};

const struct choice ts_volume_quantity_choices[] = {
    {"hu", TS_HU, "Hounsfield units"},
    {"attenuation", TS_ATTENUATION, "attenuation in 1/mm"},
    {"intensity", TS_INTENSITY, "anything else"},
    {NULL, 0, NULL},
};

enum ts_status ts_volume_refuse(const struct volume_layout *layout, const char *code,
                                struct ts_diag *diag, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return ts_diag_error(
        diag, TS_BAD_INPUT,
        &(struct diag_site){.code = code, .span = layout->span, .stage = layout->site}, "%s %s",
        layout->path, text);
}

enum ts_status ts_volume_open(struct volume_layout *layout, const struct param_set *set,
                              const char *path, struct ts_diag *diag)
{
    char reason[256];
    *layout = (struct volume_layout){.arena = ts_arena_create(),
                                     .fd = -1,
                                     .n = {1, 1, 1, 1},
                                     .slope = 1,
                                     .doubles = set->doubles,
                                     .site = set->owner,
                                     .span = set->spans[0]};
    layout->path = layout->arena ? ts_arena_text(layout->arena, path, strlen(path)) : NULL;
    if (!layout->path)
        return ts_diag_no_memory(diag, strlen(path));
    layout->fd = ts_regular_file_open(path, &layout->found, reason, sizeof reason);
    return layout->fd < 0 ? ts_volume_refuse(layout, "input-unreadable", diag, "%s", reason)
                          : TS_OK;
}

void ts_volume_take_quantity(struct volume_layout *layout, const char *name, const char *unit,
                             bool given)
{
    for (const struct choice *choice = ts_volume_quantity_choices; choice->name; choice++) {
        const enum ts_quantity quantity = (enum ts_quantity)choice->value;
        if (strcmp(choice->name, name) != 0 || (given && quantity != layout->quantity))
            continue;
        layout->quantity = quantity;
        layout->unit = strlen(unit) < 64 ? unit : NULL;
    }
}

enum { QUANTITY = 1 }; /* index of the parameter */

bool ts_volume_quantity_given(const struct param_set *set)
{
    return set->given >> QUANTITY & 1;
}

void ts_volume_resolve(struct param_set *set, const struct source *source)
{
    *(int32_t *)ts_param_field(set, QUANTITY) = (int32_t)source->image.quantity;
}

/* Closes and frees what the layout holds. */
static void close_layout(struct volume_layout *layout)
{
    if (layout->fd >= 0)
        close(layout->fd);
    ts_arena_destroy(layout->arena);
    *layout = (struct volume_layout){.fd = -1};
}

/* Returns true if the folder of `path` holds `values`, after following links. A file that does not
   exist is no link. */
static bool stays_in_folder(const char *path, const char *values)
{
    char folder[PATH_MAX], real[PATH_MAX], found[PATH_MAX];
    const int length = (int)(ts_base_name(path) - path);
    if (snprintf(folder, sizeof folder, "%s%.*s", length > 0 ? "" : ".", length, path) >=
            (int)sizeof folder ||
        !realpath(folder, real))
        return false;
    const size_t prefix = strlen(real);
    return realpath(values, found)
               ? strncmp(found, real, prefix) == 0 && (prefix == 1 || found[prefix] == '/')
               : errno == ENOENT;
}

enum ts_status ts_volume_open_values(struct volume_layout *layout, const struct param_set *set,
                                     const char *path, struct ts_diag *diag)
{
    struct volume_layout values;
    if (!stays_in_folder(layout->path, path))
        return ts_volume_refuse(layout, "volume-link-outside", diag,
                                "has its values in %s, which leads out of its folder",
                                ts_base_name(path));
    const enum ts_status status = ts_volume_open(&values, set, path, diag);
    if (status != TS_OK) {
        close_layout(&values);
        return status;
    }
    close(layout->fd);
    layout->path = path;
    layout->fd = values.fd;
    layout->found = values.found;
    ts_arena_destroy(values.arena);
    return TS_OK;
}

/* ---- reading --------------------------------------------------------------------------------- */

static size_t stored_bytes(const struct volume_source *source)
{
    return ts_slice_count(&source->in.base.image) * ts_dtype_bytes(source->layout.stored);
}

/* Slices [z, z + n) while they are read to `out`; each thread has space for a stored slice and a
 * row. */
struct reading {
    struct volume_source *source;
    int64_t z;
    unsigned char *out, *scratch;
    size_t scratch_bytes; /* of one thread */
};

static size_t thread_bytes(const struct volume_source *source)
{
    const size_t row = (size_t)source->in.base.image.axes[2].n * sizeof(double),
                 align = sizeof(double);
    return (stored_bytes(source) + align - 1) / align * align + row;
}

static enum ts_status finish_slice(const struct reading *reading, int thread, int64_t i,
                                   struct ts_diag *diag)
{
    unsigned char *stored = reading->scratch + (size_t)thread * reading->scratch_bytes;
    const size_t row = (size_t)reading->source->in.base.image.axes[2].n * sizeof(double);
    struct ts_rounding *rounding = &reading->source->in.base.slices[reading->z + i].rounding;
    *rounding = (struct ts_rounding){0};
    if (volume_make_slice(
            &reading->source->layout, &reading->source->making, &reading->source->in.base.image,
            stored, (double *)(stored + reading->scratch_bytes - row),
            reading->out + (size_t)i * ts_slice_bytes(&reading->source->in.base.image), rounding))
        return TS_OK;
    return ts_volume_refuse(&reading->source->layout, "values-out-of-range", diag,
                            "has a value in slice %" PRId64
                            " that is beyond the range of a 32-bit float",
                            reading->z + i);
}

/* Reads the rows of slice z, which are apart in the file: one in each view. */
static bool read_rows_apart(const struct reading *reading, unsigned char *out, int64_t z)
{
    const struct volume_layout *layout = &reading->source->layout;
    const struct ts_image *image = &reading->source->in.base.image;
    const size_t row = (size_t)image->axes[2].n * ts_dtype_bytes(layout->stored);
    for (int64_t view = 0; view < image->axes[1].n; view++)
        if (!ts_file_read_at(layout->fd, out + (size_t)view * row, row,
                             layout->start + (uint64_t)(view * image->axes[0].n + z) * row))
            return false;
    return true;
}

static enum ts_status read_slice(void *user, int thread, int64_t i, struct ts_diag *diag)
{
    const struct reading *reading = user;
    const struct volume_layout *layout = &reading->source->layout;
    const size_t bytes = stored_bytes(reading->source);
    unsigned char *stored = reading->scratch + (size_t)thread * reading->scratch_bytes;
    if (!(layout->views_first
              ? read_rows_apart(reading, stored, reading->z + i)
              : ts_file_read_at(layout->fd, stored, bytes,
                                layout->start + (uint64_t)(reading->z + i) * bytes)))
        return ts_volume_refuse(layout, "input-unreadable", diag, "could not be read to its end");
    return finish_slice(reading, thread, i, diag);
}

/* Warns of bytes that the header does not mention: if it states too small a size, they may be
   values. */
static void warn_of_rest(const struct volume_layout *layout, uint64_t bytes, struct ts_diag *diag)
{
    char count[32] = "";
    if (bytes > 0)
        snprintf(count, sizeof count, "%" PRIu64 " ", bytes);
    ts_diag_warning(diag,
                    &(struct diag_site){
                        .code = "volume-bytes-left", .span = layout->span, .stage = layout->site},
                    "%s has %sbytes behind its values, which are not read: its header may state a "
                    "size that is too small",
                    layout->path, count);
}

static enum ts_status inflate_slices(const struct reading *reading, int64_t n, struct ts_diag *diag)
{
    const struct volume_layout *layout = &reading->source->layout;
    const size_t bytes = stored_bytes(reading->source);
    struct gzip_reader *gzip = ts_gzip_reader_create(layout->fd, layout->start);
    if (!gzip)
        return ts_diag_no_memory(diag, bytes);
    const char *wrong = ts_gzip_reader_skip(gzip, layout->skip + (uint64_t)reading->z * bytes);
    enum ts_status status = TS_OK;
    for (int64_t i = 0; i < n && !wrong && status == TS_OK; i++) {
        wrong = ts_gzip_reader_read(gzip, reading->scratch, bytes);
        if (!wrong)
            status = finish_slice(reading, 0, i, diag);
    }
    uint64_t rest = 0;
    bool whole;
    if (!wrong && status == TS_OK && reading->z + n == ts_source_total(&reading->source->in.base))
        wrong = ts_gzip_reader_check(gzip, 1, &whole, &rest);
    if (!wrong && rest > 0)
        warn_of_rest(layout, 0, diag);
    ts_gzip_reader_destroy(gzip);
    return wrong ? ts_volume_refuse(layout, "input-unreadable", diag, "%s", wrong) : status;
}

enum ts_status ts_volume_check_stored(const struct source *base, uint64_t most, bool *whole,
                                      struct ts_diag *diag)
{
    const struct volume_layout *layout = &((const struct volume_source *)base)->layout;
    uint64_t rest;
    *whole = true;
    if (!layout->gzip)
        return TS_OK;
    struct gzip_reader *gzip = ts_gzip_reader_create(layout->fd, layout->start);
    if (!gzip)
        return ts_diag_no_memory(diag, sizeof gzip);
    const uint64_t values = layout->skip + (uint64_t)ts_source_total(base) *
                                               stored_bytes((const struct volume_source *)base);
    const char *wrong = ts_gzip_reader_skip(gzip, values < most ? values : most);
    if (!wrong)
        wrong = ts_gzip_reader_check(gzip, most > values ? most - values : 0, whole, &rest);
    ts_gzip_reader_destroy(gzip);
    return wrong ? ts_volume_refuse(layout, "input-unreadable", diag, "%s", wrong) : TS_OK;
}

static enum ts_status read_range(struct source *base, struct pool *readers, int64_t z, int64_t n,
                                 void *out, struct ts_diag *diag)
{
    struct volume_source *source = (struct volume_source *)base;
    const int threads = source->layout.gzip ? 1 : ts_pool_threads(readers);
    struct reading reading = {source, z, out, NULL, thread_bytes(source)};
    reading.scratch = malloc((size_t)threads * reading.scratch_bytes);
    if (!reading.scratch)
        return ts_diag_no_memory(diag, (size_t)threads * reading.scratch_bytes);
    const enum ts_status status =
        source->layout.gzip ? inflate_slices(&reading, n, diag)
                            : ts_pool_run(readers, threads, n, read_slice, &reading, diag);
    free(reading.scratch);
    return status == TS_OK ? ts_source_digest(base, readers, z, n, out, diag) : status;
}

static size_t memory_bytes(const struct source *base, int threads, int64_t ahead)
{
    const struct volume_source *source = (const struct volume_source *)base;
    return (source->layout.gzip ? 1 : (size_t)threads) * thread_bytes(source) +
           ts_read_ahead_bytes(base, &source->in.rule, ahead);
}

static enum ts_status check_unchanged(const struct source *base, struct ts_diag *diag)
{
    const struct volume_layout *layout = &((const struct volume_source *)base)->layout;
    const struct diag_site site = {.span = layout->span, .stage = layout->site};
    return ts_regular_file_recheck(layout->path, layout->fd, &layout->found, site, diag);
}

static bool volume_source_holds(const struct source *base, const struct file_set *files)
{
    const struct stat *found = &((const struct volume_source *)base)->layout.found;
    return ts_file_set_has(files, found->st_dev, found->st_ino);
}

static void close_source(struct source *base)
{
    struct volume_source *source = (struct volume_source *)base;
    ts_read_ahead_destroy(source->in.reading);
    close_layout(&source->layout);
    free(base->slices);
    free(source);
}

static void rule_prefetch_to(struct source *base, int64_t z, int64_t n, void *out)
{
    struct rule_source *source = (struct rule_source *)base;
    if (source->reading)
        ts_read_ahead_prefetch_to(source->reading, z, n, out);
}

static const struct source_ops plain_ops = {RULE_SOURCE_OPS,
                                            .memory_bytes = memory_bytes,
                                            .prefetch_to = rule_prefetch_to,
                                            .check_unchanged = check_unchanged,
                                            .holds = volume_source_holds,
                                            .close = close_source};
/* A gzip stream is inflated once and the volume kept in memory, whatever the plan allows. */
static const struct source_ops gzip_ops = {.memory_bytes = memory_bytes,
                                           .start = ts_rule_start,
                                           .prefetch = ts_rule_prefetch,
                                           .read = ts_rule_read,
                                           .check_unchanged = check_unchanged,
                                           .holds = volume_source_holds,
                                           .close = close_source};

/* ---- what the volume is ---------------------------------------------------------------------- */

/* Chooses the type that holds every scaled value: the stored one, the smallest integer type if
   slope and intercept are whole, or floats. *largest: the largest magnitude of integers that become
   floats, stored or scaled; else 0. */
static enum ts_dtype dtype_of(const struct volume_layout *layout, double *largest)
{
    static const enum ts_dtype integers[] = {TS_I16, TS_U16, TS_I32, TS_U32};
    const bool unscaled = layout->slope == 1 && layout->intercept == 0;
    const enum ts_dtype floats = layout->doubles ? TS_F64 : TS_F32;
    double low, high, least, most;
    *largest = 0;
    if (!ts_dtype_is_integer(layout->stored))
        return unscaled && layout->stored != TS_F64 ? TS_F32 : floats;
    if (unscaled && layout->stored != TS_U64)
        return layout->stored;
    ts_dtype_range(layout->stored, &low, &high);
    const double a = layout->slope * low + layout->intercept,
                 b = layout->slope * high + layout->intercept;
    for (size_t i = 0; i < sizeof integers / sizeof *integers; i++) {
        ts_dtype_range(integers[i], &least, &most);
        if (rint(layout->slope) == layout->slope && rint(layout->intercept) == layout->intercept &&
            fmin(a, b) >= least && fmax(a, b) <= most)
            return integers[i];
    }
    *largest = fmax(fmax(fabs(a), fabs(b)), fmax(-low, high));
    return floats;
}

/* Checks that the file is as long as the header's size demands. */
static enum ts_status check_size(const struct volume_layout *layout, struct ts_diag *diag)
{
    const uint64_t bytes = (uint64_t)layout->found.st_size, most = (uint64_t)INT64_MAX;
    uint64_t wanted = ts_dtype_bytes(layout->stored);
    for (int d = 0; d < 4; d++) {
        if (layout->n[d] < 1 || layout->n[d] > INT32_MAX)
            return ts_volume_refuse(layout, "volume-size", diag, "has %lld elements along an axis",
                                    (long long)layout->n[d]);
        if (wanted > most / (uint64_t)layout->n[d])
            return ts_volume_refuse(layout, "volume-size", diag,
                                    "claims more values than can be counted");
        wanted *= (uint64_t)layout->n[d];
    }
    const uint64_t there = bytes < layout->start ? 0 : bytes - layout->start;
    uint64_t held = there;
    if (layout->gzip)
        held = there < most / GZIP_MOST_EXPANSION ? there * GZIP_MOST_EXPANSION : most;
    if (!layout->gzip && held > wanted)
        warn_of_rest(layout, held - wanted, diag);
    if (held >= wanted)
        return TS_OK;
    return ts_volume_refuse(layout, "volume-truncated", diag,
                            "claims %llu bytes of values, and has %s%llu",
                            (unsigned long long)wanted, layout->gzip ? "room for at most " : "",
                            (unsigned long long)held);
}

/* Returns the positions of the volumes; NULL if memory is out. */
static const double *volume_positions(const struct volume_layout *layout)
{
    const size_t n = (size_t)layout->n[3];
    if (layout->positions)
        return layout->positions;
    double *positions = ts_arena_alloc(layout->arena, n * sizeof *positions);
    for (size_t i = 0; i < n && positions; i++)
        positions[i] = layout->first + (double)i * layout->step;
    return positions;
}

/* Describes the axis of several volumes: by time, by number if there is no unit of time, by
   b-value, or by the axis' own name. */
static enum ts_status describe_volumes(struct volume_source *source, struct ts_diag *diag)
{
    const struct volume_layout *layout = &source->layout;
    struct ts_axis *axis = &source->in.base.volume_axis;
    source->in.base.n_volumes = layout->n[3];
    *axis = (struct ts_axis){.kind = TS_AXIS_TIME, .n = layout->n[3], .spacing = 1, .unit = ""};
    if (!layout->by && !layout->positions && !(layout->step > 0))
        return TS_OK;
    *axis =
        (struct ts_axis){.kind = TS_AXIS_TIME, .n = layout->n[3], .unit = "s", .name = layout->by};
    if (layout->by) {
        axis->kind = TS_AXIS_ITEM;
        axis->unit = layout->by_unit ? layout->by_unit : "";
    } else if (layout->weighted) {
        axis->kind = TS_AXIS_B;
        axis->unit = "s/mm2";
    }
    axis->positions = volume_positions(layout);
    return axis->positions ? TS_OK : ts_diag_no_memory(diag, (size_t)axis->n * sizeof(double));
}

/* Warns that a file without a place is reversed by convention, which its writer may not have
   followed. */
static void warn_of_rows(const struct volume_layout *layout, struct ts_diag *diag)
{
    const struct diag_site site = {
        .code = "rows-reversed", .span = layout->span, .stage = layout->site};
    ts_diag_warning(diag, &site,
                    "%s states no place in the patient, and programs draw its y upwards: its rows "
                    "are read from the last to the first",
                    layout->path);
    ts_diag_hint(diag, "where row 0 of the file is to stay at the top, write its transform into "
                       "the header (sform or qform)");
}

static enum ts_status volume_source_describe(struct volume_source *source, struct ts_diag *diag)
{
    static const enum ts_axis_kind kinds[2][3] = {{TS_AXIS_Z, TS_AXIS_Y, TS_AXIS_X},
                                                  {TS_AXIS_Z, TS_AXIS_VIEW, TS_AXIS_DETECTOR}};
    struct volume_layout *layout = &source->layout;
    struct ts_image *image = &source->in.base.image;
    double largest;
    enum ts_status status = check_size(layout, diag);
    if (status != TS_OK)
        return status;
    if (!isfinite(layout->slope) || !isfinite(layout->intercept))
        return ts_volume_refuse(layout, "volume-scale", diag,
                                "has a slope or an intercept that is not finite");
    image->rank = 3;
    image->dtype = dtype_of(layout, &largest);
    image->quantity = layout->quantity;
    image->labels = layout->labels ? 2 : 0;
    image->unit = layout->unit ? layout->unit : ts_source_unit(layout->quantity);
    for (int d = 0; d < 3; d++) {
        const int from = layout->views_first && d < 2 ? 1 + d : 2 - d;
        image->axes[d] =
            ts_source_axis(kinds[layout->sinogram][d], layout->n[from], layout->spacing[from]);
    }
    source->making.as_stored =
        image->dtype == layout->stored && layout->slope == 1 && layout->intercept == 0;
    source->making.flip_rows = layout->upwards && !layout->has_transform;
    const char *wrong = layout->has_transform
                            ? volume_geometry(layout->transform, image, &source->making.flip_rows)
                            : NULL;
    if (wrong) {
        ts_volume_refuse(layout, "volume-geometry", diag, "%s", wrong);
        return ts_diag_hint(diag, "%s", layout->unplaced_hint);
    }
    source->making.rounds =
        image->dtype == TS_F32 && (layout->stored == TS_F64 || ts_source_rounds(largest));
    if (layout->n[3] > 1)
        status = describe_volumes(source, diag);
    if (status == TS_OK && source->making.flip_rows && !layout->has_transform && layout->n[1] > 1)
        warn_of_rows(layout, diag);
    if (status == TS_OK && ts_image_lean_degree(image) > TS_UPRIGHT_DEGREE)
        ts_diag_warning(diag,
                        &(struct diag_site){
                            .code = "volume-sheared", .span = layout->span, .stage = layout->site},
                        "%s is sheared: the step between its slices leans %.2f degrees off their "
                        "normal, as behind a tilted gantry; it is kept",
                        layout->path, ts_image_lean_degree(image));
    if (status == TS_OK && source->making.flip_rows)
        layout->attributes[layout->n_attributes++] = (struct source_attribute){
            "rows_reversed",
            layout->has_transform
                ? "yes: x, y and z of the file are left-handed"
                : "yes: the file states no place, and programs draw its y upwards"};
    return status == TS_OK ? ts_source_make_slices(&source->in.base, diag) : status;
}

enum ts_status ts_volume_source_take(struct volume_layout *layout, enum ts_status status,
                                     struct source **out, struct ts_diag *diag)
{
    struct volume_source *source = status == TS_OK ? calloc(1, sizeof *source) : NULL;
    *out = NULL;
    if (!source) {
        close_layout(layout);
        return status == TS_OK ? ts_diag_no_memory(diag, sizeof *source) : status;
    }
    struct source *base = &source->in.base;
    source->layout = *layout;
    *layout = (struct volume_layout){.fd = -1};
    base->ops = source->layout.gzip ? &gzip_ops : &plain_ops;
    base->in_place = !source->layout.gzip;
    base->coding = source->layout.gzip ? SOURCE_DEFLATED : SOURCE_STORED;
    base->n_files = 1;
    status = volume_source_describe(source, diag);
    if (status != TS_OK) {
        close_source(base);
        return status;
    }
    base->attributes = source->layout.attributes;
    base->n_attributes = source->layout.n_attributes;
    source->in.rule = (struct read_rule){.read = read_range, .chunk = 1, .limit = READ_AHEAD_BYTES};
    if (source->layout.gzip) {
        source->in.rule.chunk = ts_source_total(base);
        source->in.rule.limit = (size_t)ts_source_total(base) * ts_slice_bytes(&base->image);
    }
    *out = base;
    return TS_OK;
}
