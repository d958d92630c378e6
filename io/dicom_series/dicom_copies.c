/* SPDX-License-Identifier: Apache-2.0
 *
 * This handles copies of one instance, of which one is kept. Files of one SOP Instance UID should
 * be equal; their pixels are read and compared all the same, because tools that change images do
 * not always change the UID, and some writers give one to several images.
 */
#include "io/dicom_series/dicom_copies.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/dicom_frames/dicom_source.h"
#include "io/dicom_header/dicom_file.h"

/* ---- images with the same pixels ------------------------------------------------------------- */

/* Comparing bytes is cheap and settles most copies. Values are compared by the digests that the
 * reading of slices makes anyway: the pairs become the slices of a source for this purpose, which
 * decodes them as it would for a run. */

/* Returns how many bytes store an image's frame, and where they begin. Of a deflated data set, only
 * all of it can be compared without inflating it. */
static int64_t bytes_of(const struct dicom_image *image, int64_t *offset)
{
    const struct dicom_file *file = image->file;
    if (dicom_is_compressed(file->syntax)) {
        *offset = file->streams[image->frame].offset;
        return file->streams[image->frame].bytes;
    }
    const bool deflated = file->syntax == DICOM_DEFLATED_LE;
    *offset = deflated ? file->deflate_offset : ts_dicom_frame_offset(image);
    return deflated ? file->file_bytes - file->deflate_offset : ts_dicom_frame_bytes(file);
}

/* Returns true if the same bytes are the same values. */
static bool same_cells(const struct dicom_file *a, const struct dicom_file *b)
{
    return a->bits_allocated == b->bits_allocated && a->bits_stored == b->bits_stored &&
           a->high_bit == b->high_bit && a->pixel_representation == b->pixel_representation;
}

bool ts_dicom_same_bytes(const struct dicom_image *a, const struct dicom_image *b, int *error)
{
    const struct dicom_image *images[] = {a, b};
    int64_t offsets[2];
    const int64_t n_bytes = bytes_of(a, &offsets[0]);
    bool same = bytes_of(b, &offsets[1]) == n_bytes &&
                !strcmp(a->file->syntax_uid, b->file->syntax_uid) &&
                a->file->words == b->file->words && same_cells(a->file, b->file);
    int fds[2] = {-1, -1};
    char bytes[2][8192];
    *error = 0;
    for (int i = 0; i < 2 && *error == 0; i++) {
        fds[i] = open(images[i]->file->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        *error = fds[i] < 0 ? errno : 0;
    }
    for (int64_t done = 0; same && *error == 0 && done < n_bytes;) {
        int64_t left = n_bytes - done;
        size_t n = left < (int64_t)sizeof bytes[0] ? (size_t)left : sizeof bytes[0];
        for (int i = 0; i < 2 && *error == 0; i++) {
            ssize_t got = pread(fds[i], bytes[i], n, offsets[i] + done);
            *error = got < 0 ? errno : 0;
            same = same && got == (ssize_t)n;
        }
        same = same && *error == 0 && memcmp(bytes[0], bytes[1], n) == 0;
        done += (int64_t)n;
    }
    for (int i = 0; i < 2; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    return same && *error == 0;
}

/* Returns true if images of which that is not so may hold the same values: in two encodings, in a
 * compressed one, or with other Bits Stored. */
static bool may_be_same(const struct dicom_image *a, const struct dicom_image *b)
{
    const struct dicom_file *first = a->file, *second = b->file;
    const bool encoded = dicom_is_compressed(first->syntax) || first->syntax == DICOM_DEFLATED_LE;
    return first->bits_allocated == second->bits_allocated &&
           first->float_bits == second->float_bits &&
           first->pixel_representation == second->pixel_representation &&
           (encoded || strcmp(first->syntax_uid, second->syntax_uid) != 0 ||
            first->words != second->words || !same_cells(first, second));
}

/* Refuses the series for what the record says, whose texts end with the list that it is in. */
static void refuse_comparison(struct dicom_series *series, const struct ts_diag_record *record)
{
    const char *hint = record->hint ? record->hint : "check the installation";
    const char *named = record->code ? record->code : "input-unreadable";
    char *code = ts_arena_text(series->arena, named, strlen(named));
    char *kept = ts_arena_text(series->arena, hint, strlen(hint));
    series->no_memory |= !code || !kept;
    ts_dicom_series_refuse(series, code ? code : "no-memory", kept ? kept : "",
                           "copies of images cannot be compared: %s", record->message);
}

/* Reads pair by pair and compares the digests. Refuses the series if nothing can be decoded. */
static size_t compare_pairs(struct dicom_series *series, struct dicom_source *source, size_t n,
                            void *values)
{
    struct ts_diag *diag = ts_diag_create();
    const bool native = ts_dicom_is_native(source);
    size_t k = 0;
    for (bool same = diag != NULL; same && k < n; k += same) {
        const struct source_slice *slices = &source->base.slices[2 * k];
        const int64_t z = (int64_t)(2 * k);
        const enum ts_status status = native
                                          ? ts_dicom_native_read(&source->base, z, 2, values, diag)
                                          : ts_dicom_ring_read(&source->base, z, 2, values, diag);
        same = status == TS_OK && strcmp(slices[0].pixel_sha256, slices[1].pixel_sha256) == 0;
        const struct ts_diag_record *record = ts_diag_get(diag, 0);
        if (status == TS_RUN_FAILED && record)
            refuse_comparison(series, record);
    }
    ts_dicom_ring_end(source);
    ts_dicom_native_end(source);
    ts_diag_destroy(diag);
    return k;
}

/* Decodes n pairs of images, which are side by side and have the same rows and columns, in worker
 * processes as a run does. Returns the first pair whose stored values differ or cannot be decoded;
 * n if there is none. */
static size_t find_different(struct dicom_series *series, struct dicom_image *const *pairs,
                             size_t n, struct sandbox *sandbox)
{
    struct source_slice *slices = calloc(2 * n, sizeof *slices);
    struct dicom_frame *frames = calloc(2 * n, sizeof *frames);
    const struct ts_image image = {.rank = 3,
                                   .axes = {{.kind = TS_AXIS_Z, .n = (int64_t)(2 * n)},
                                            {.kind = TS_AXIS_Y, .n = pairs[0]->rows},
                                            {.kind = TS_AXIS_X, .n = pairs[0]->columns}},
                                   .dtype = TS_F32};
    void *values = malloc(2 * ts_slice_bytes(&image));
    size_t found = 0;
    if (slices && frames && values) {
        struct dicom_source source = {.base = {.image = image,
                                               .n_slices = (int64_t)(2 * n),
                                               .n_volumes = 1,
                                               .slices = slices},
                                      .frames = frames,
                                      .sandbox = sandbox};
        for (size_t i = 0; i < 2 * n; i++) {
            const size_t bytes = (size_t)ts_dicom_frame_bytes(pairs[i]->file);
            frames[i] = (struct dicom_frame){
                .image = pairs[i], .cells = ts_dicom_cells(pairs[i]->file), .slope = 1};
            source.cell_bytes = bytes > source.cell_bytes ? bytes : source.cell_bytes;
        }
        found = compare_pairs(series, &source, n, values);
    }
    free(slices);
    free(frames);
    free(values);
    return found;
}

/* ---- copies ---------------------------------------------------------------------------------- */

static bool same_instance(const struct dicom_image *a, const struct dicom_image *b)
{
    return *a->file->sop_instance && !strcmp(a->file->sop_instance, b->file->sop_instance) &&
           a->frame == b->frame && a->tile == b->tile;
}

static bool same_value(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* Returns true if the padding of two images masks the same values. */
static bool same_padding(const struct dicom_image *a, const struct dicom_image *b)
{
    return a->have_padding == b->have_padding && a->have_padding_limit == b->have_padding_limit &&
           (!a->have_padding || same_value(a->padding, b->padding)) &&
           (!a->have_padding_limit || same_value(a->padding_limit, b->padding_limit));
}

/* An image, with the number by which it may differ from others of its SOP Instance UID. */
struct shared {
    const struct dicom_image *image;
    double number;
};

static int compare_shared(const void *a, const void *b)
{
    const struct shared *first = a, *second = b;
    for (int k = 0; k < 3; k++)
        if (first->image->position_mm[k] != second->image->position_mm[k])
            return first->image->position_mm[k] < second->image->position_mm[k] ? -1 : 1;
    return (first->number > second->number) - (first->number < second->number);
}

/* Returns true if no two of n images have the same position and number; place 0: position alone. */
static bool are_distinct(struct dicom_image *const *images, size_t n, size_t place,
                         struct shared *items)
{
    for (size_t i = 0; i < n; i++) {
        const double number = place ? ts_dicom_image_number(images[i], place) : 0;
        if (isnan(number) || !images[i]->have_position)
            return false;
        items[i] = (struct shared){images[i], number};
    }
    qsort(items, n, sizeof *items, compare_shared);
    for (size_t i = 1; i < n; i++)
        if (compare_shared(&items[i - 1], &items[i]) == 0)
            return false;
    return true;
}

/* Returns how many images from number `first` on have one SOP Instance UID. */
static size_t count_shared(const struct dicom_series *series, size_t first)
{
    size_t n = 1;
    while (first + n < series->n_images &&
           same_instance(series->images[first], series->images[first + n]))
        n++;
    return n;
}

/* These tell images of one SOP Instance UID apart; the last one does not say of itself that they
 * are of several volumes. */
static const struct teller {
    size_t place;
    const char *name;
} tellers[] = {{0, "Image Position (Patient)"},
               {DICOM_NUMBER(temporal_position), "Temporal Position"},
               {DICOM_NUMBER(acquisition_number), "Acquisition Number"},
               {DICOM_NUMBER(acquired_s), "Acquisition Time"},
               {DICOM_NUMBER(trigger_ms), "Trigger Time"},
               {DICOM_NUMBER(frame_reference_ms), "Frame Reference Time"},
               {DICOM_NUMBER(b_value), "b-value"},
               {DICOM_NUMBER(instance_number), "Instance Number"}};
enum { TELLERS = sizeof tellers / sizeof *tellers, BY_NUMBER = TELLERS - 1 };

/* Returns which of `tellers` tells the images apart if each SOP Instance UID is that of several
 * ones, of equally many, which differ in their pixels: writers of dynamic series that give each
 * position a UID, or each volume, have not made copies. Returns TELLERS if that is not so. The
 * images are in the order of their UIDs. */
static size_t find_teller(struct dicom_series *series)
{
    const size_t n = series->n_images, each = count_shared(series, 0);
    size_t found = 0;
    bool differ = false;
    int error;
    for (size_t i = 0; i < n; i += each)
        if (each < 2 || n % each != 0 || count_shared(series, i) != each)
            return TELLERS;
    struct shared *items = ts_arena_alloc(series->arena, each * sizeof *items);
    series->no_memory |= !items;
    for (bool distinct = false; items && !distinct && found < TELLERS; found += !distinct) {
        distinct = true;
        for (size_t i = 0; distinct && i < n; i += each)
            distinct = are_distinct(series->images + i, each, tellers[found].place, items);
    }
    for (size_t i = 0; found < TELLERS && !differ && i + 1 < n; i++)
        differ = same_instance(series->images[i], series->images[i + 1]) &&
                 !ts_dicom_same_bytes(series->images[i], series->images[i + 1], &error) &&
                 error == 0;
    return items && differ ? found : TELLERS;
}

static void refuse_different(struct dicom_series *series, const struct dicom_image *a,
                             const struct dicom_image *b)
{
    const char *name = ts_dicom_image_name(series, a), *other = ts_dicom_image_name(series, b);
    ts_dicom_series_refuse(
        series, "duplicate-differs",
        find_teller(series) == BY_NUMBER
            ? "they differ in Instance Number, and may be of several volumes: write a SOP Instance "
              "UID of its own into each file; or duplicates: first takes one image of each position"
            : "remove the one that is wrong; or duplicates: first takes one image of each position",
        "%s and %s%s have one SOP Instance UID but different content%s", name, other,
        strcmp(name, other) ? "" : " of another folder",
        same_padding(a, b) ? "" : ": Pixel Padding Value");
}

/* Pairs of images of one instance whose bytes differ, and which must be decoded to be compared. */
struct pairs {
    struct dicom_image **items; /* two of each pair */
    size_t n;
};

/* Compares an image with the one before it, of the same instance. Returns false if they differ, or
 * cannot be compared; the series is then refused, but for different ones that the chain wants to
 * `keep`. */
static bool is_copy(struct dicom_series *series, struct dicom_image *image,
                    struct dicom_image *before, bool keep, struct pairs *pairs)
{
    int error = 0;
    const bool alike =
        !memcmp(image->position_mm, before->position_mm, sizeof image->position_mm) &&
        image->slope == before->slope && image->intercept == before->intercept &&
        same_padding(image, before);
    if (alike && ts_dicom_same_bytes(image, before, &error))
        return true;
    if (error != 0) {
        ts_dicom_series_refuse(
            series, "input-unreadable", "check the files and their permissions",
            "cannot compare the pixels of %s and %s, of one SOP Instance UID: %s",
            ts_dicom_image_name(series, before), ts_dicom_image_name(series, image),
            strerror(error));
        return false;
    }
    if (keep)
        return false;
    if (!alike || !may_be_same(image, before)) {
        refuse_different(series, before, image);
        return false;
    }
    pairs->items[pairs->n++] = before;
    pairs->items[pairs->n++] = image;
    return true;
}

void ts_dicom_drop_duplicates(struct dicom_series *series, bool keep, struct sandbox *sandbox)
{
    const size_t teller = find_teller(series);
    if (teller < BY_NUMBER) {
        ts_dicom_series_warn(series,
                             "each SOP Instance UID is that of %zu images, which should be copies "
                             "and differ in their pixels and in %s: they are taken as images of "
                             "their own",
                             count_shared(series, 0), tellers[teller].name);
        return;
    }
    struct pairs pairs = {
        .items = ts_arena_alloc(series->arena, 2 * series->n_images * sizeof *pairs.items)};
    size_t kept = 0;
    series->no_memory |= !pairs.items;
    for (size_t i = 0; pairs.items && i < series->n_images; i++) {
        struct dicom_image *image = series->images[i],
                           *before = kept > 0 ? series->images[kept - 1] : NULL;
        if (!before || !same_instance(image, before))
            series->images[kept++] = image;
        else if (is_copy(series, image, before, keep, &pairs))
            series->n_duplicates++;
        else if (!series->refusal)
            series->images[kept++] = image;
        else
            return;
    }
    if (!pairs.items)
        return;
    const size_t n = pairs.n / 2,
                 differs = n > 0 ? find_different(series, pairs.items, n, sandbox) : 0;
    if (differs < n && series->refusal)
        return;
    if (differs < n) {
        refuse_different(series, pairs.items[2 * differs], pairs.items[2 * differs + 1]);
        return;
    }
    series->n_images = kept;
    if (series->n_duplicates > 0)
        ts_dicom_series_warn(series, "%zu identical %s dropped", series->n_duplicates,
                             series->n_duplicates == 1 ? "copy of a slice was"
                                                       : "copies of slices were");
}
