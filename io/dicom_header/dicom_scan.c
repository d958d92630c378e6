/* SPDX-License-Identifier: Apache-2.0
 *
 * Scans one DICOM file: preamble, file meta group, data set, pixel data; then its header is checked (dicom_check.c). A
 * wrong file is described, not failed: the series it belongs to is refused with that description.
 */
#include "io/dicom_header/dicom_scan.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/dicom_header/dicom_check.h"
#include "io/dicom_header/dicom_deflated.h"
#include "io/dicom_header/dicom_fragments.h"
#include "io/dicom_header/dicom_grid.h"
#include "io/dicom_header/dicom_groups.h"
#include "io/dicom_header/dicom_known.h"
#include "io/dicom_header/dicom_start.h"
#include "io/dicom_header/dicom_values.h"
#include "io/file/inflate_file.h"

static void read_text_value(struct scan *scan, const struct dicom_element *element, char *out, size_t size)
{
    size_t length = element->length < size ? element->length : 0;
    if (length == 0 || !ts_dicom_read(&scan->reader, element->offset, out, length))
        length = 0;
    while (length > 0 && (out[length - 1] == ' ' || out[length - 1] == '\0'))
        length--;
    out[length] = '\0';
}

bool ts_dicom_read_meta(struct scan *scan, struct dicom_walk *walk, int64_t offset)
{
    ts_dicom_walk_init(walk, &scan->reader, offset, false, false);
    while (ts_dicom_walk_peek(walk) >> 16 == 2) {
        struct dicom_element element;
        if (ts_dicom_walk_next(walk, &element) != DICOM_STEP_ELEMENT) {
            ts_dicom_refuse(scan, walk->code ? walk->code : "dicom-truncated", "the file meta group is broken: %s",
                            walk->message);
            return false;
        }
        if (element.tag == DICOM_TAG(0x0002, 0x0002))
            read_text_value(scan, &element, scan->media_class, sizeof scan->media_class);
        else if (element.tag == DICOM_TAG(0x0002, 0x0010))
            read_text_value(scan, &element, scan->file->syntax_uid, sizeof scan->file->syntax_uid);
    }
    return true;
}

/* Returns false where the file meta group names none. */
static bool choose_syntax(struct scan *scan)
{
    const char *uid = scan->file->syntax_uid;
    const struct dicom_syntax_name *name = ts_dicom_syntax(uid);
    scan->file->syntax = name ? name->syntax : DICOM_OTHER;
    if (!*uid)
        ts_dicom_refuse(scan, "dicom-syntax-missing", "the file meta group names no transfer syntax");
    else if (scan->file->syntax == DICOM_OTHER)
        ts_dicom_refuse(scan, "dicom-syntax", "transfer syntax %s (%s) is not in this build", ts_dicom_known_uid(uid),
                        name ? name->name : "unknown");
    return *uid != '\0';
}

/* Returns true where the data set is encoded as the meta group states, judged by its first element. */
static bool encoding_agrees(struct scan *scan, const struct dicom_walk *walk)
{
    unsigned char bytes[8];
    if (!ts_dicom_read(&scan->reader, walk->offset, bytes, sizeof bytes))
        return true; /* the walk itself will report what is missing */
    unsigned group = ts_dicom_u16(bytes, walk->big_endian), swapped = ts_dicom_u16(bytes, !walk->big_endian);
    if (group > 0xFF && swapped <= 0xFF && (group & 0xFF) == 0) {
        ts_dicom_refuse(scan, "dicom-encoding", "the meta group says %s endian, the data set is %s endian",
                        walk->big_endian ? "big" : "little", walk->big_endian ? "little" : "big");
        return false;
    }
    bool looks_explicit = ts_dicom_is_vr((const char *)bytes + 4);
    if (looks_explicit == walk->implicit) {
        ts_dicom_refuse(scan, "dicom-encoding", "the meta group says %s VR, the data set is %s VR",
                        walk->implicit ? "implicit" : "explicit", walk->implicit ? "explicit" : "implicit");
        return false;
    }
    return true;
}

bool ts_dicom_begin_data_set(struct scan *scan, struct dicom_walk *walk)
{
    const struct dicom_file *file = scan->file;
    if (!choose_syntax(scan) || (file->syntax == DICOM_DEFLATED_LE && !ts_dicom_inflate(scan, walk)))
        return false;
    ts_dicom_walk_init(walk, &scan->reader, walk->offset, file->syntax == DICOM_IMPLICIT_LE,
                       file->syntax == DICOM_EXPLICIT_BE);
    return encoding_agrees(scan, walk);
}

static void take_pixels(struct scan *scan, struct dicom_walk *walk, const struct dicom_element *element)
{
    struct dicom_file *file = scan->file;
    scan->met_pixels = true;
    scan->encapsulated = element->length == DICOM_UNDEFINED;
    scan->file->float_bits = element->tag == DICOM_FLOAT_PIXELS ? 32 : element->tag == DICOM_DOUBLE_PIXELS ? 64 : 0;
    file->words = file->syntax == DICOM_EXPLICIT_BE && text_equals(element->vr, "OW");
    if (scan->encapsulated) {
        ts_dicom_walk_fragments(scan, walk);
        return;
    }
    scan->pixels_truncated = element->truncated;
    scan->pixels_claimed = element->length;
    file->pixel_offset = element->offset;
    file->pixel_bytes = element->truncated ? scan->reader.file_bytes - element->offset : (int64_t)element->length;
}

/* Data sets of these classes are never images, however they go on: structured reports, documents, waveforms,
 * presentation states, raw data, contours and plans of radiotherapy. */
static const char *const document_classes[] = {"88.", "104.", "9.", "11.", "66", "481.3", "481.5", NULL};

/* Data sets of these classes are images: where they have neither pixels nor rows they were cut. */
static const char *const image_classes[] = {"2", "2.1", "2.2", "4", "4.1", "4.4", "128", "128.1", "130", NULL};

/* Data sets of these classes are no images where they have no pixels, though they may have rows: spectra,
 * registrations, mappings of values, and curves. So are those of all private classes. */
static const char *const pixelless_classes[] = {"4.2", "8", "8.", "10", "66.", "67", "129", "131", "200.", NULL};

/* Returns true where a data set that was read to its end, without a pixel in it, is no image. */
static bool is_pixelless(const struct scan *scan)
{
    static const char standard[] = "1.2.840.10008.5.1.4.1.1.";
    const char *uid = scan->file->sop_class;
    const bool pixels = scan->met_pixels && (scan->encapsulated || scan->pixels_claimed > 0);
    return !pixels && !scan->file->refusal && *uid &&
           (strncmp(uid, standard, strlen(standard)) != 0 || ts_dicom_is_class(uid, pixelless_classes));
}

/* Elements behind the pixels may pad or sign them, but not change the header. */
static bool is_end_padding(struct scan *scan, const struct dicom_walk *walk)
{
    int64_t left = scan->reader.file_bytes - walk->offset;
    return left > 0 && (left < 8 || ts_dicom_walk_peek((struct dicom_walk *)walk) == 0);
}

/* Returns true if an overlay is stored in a bit of the pixels. One that has data of its own names bit 0. */
static bool takes_overlay(struct scan *scan, const struct dicom_walk *walk, const struct dicom_element *element)
{
    unsigned char bit[2];
    return element->length == sizeof bit && ts_dicom_read(&scan->reader, element->offset, bit, sizeof bit) &&
           ts_dicom_u16(bit, walk->big_endian) > 0;
}

static void read_data_set(struct scan *scan, struct dicom_walk *walk)
{
    struct dicom_element element;
    for (;;) {
        if (scan->met_pixels && walk->n_levels == 0 && is_end_padding(scan, walk)) {
            ts_dicom_warn(scan, "bytes behind the pixel data were passed over");
            return;
        }
        enum dicom_step step = ts_dicom_walk_next(walk, &element);
        if (step == DICOM_STEP_END)
            return;
        if (step == DICOM_STEP_BROKEN && scan->met_pixels && walk->n_levels == 0) {
            ts_dicom_warn(scan, "bytes behind the pixel data were passed over");
            return;
        }
        if (step == DICOM_STEP_BROKEN) {
            ts_dicom_refuse(scan, walk->code, "%s", walk->message);
            return;
        }
        if (scan->met_pixels && element.root == 0 && element.tag <= DICOM_PIXEL_DATA) {
            ts_dicom_refuse(scan, "dicom-tag-order", "element (%04x,%04x) stands behind the pixel data",
                            element.tag >> 16, element.tag & 0xFFFF);
            return;
        }
        if (element.root == 0 && ts_dicom_is_pixels(element.tag)) {
            take_pixels(scan, walk, &element);
            if (scan->file->refusal && scan->encapsulated)
                return;
            continue;
        }
        if (element.tag == DICOM_FRAME_OFFSETS && element.root == 0) {
            scan->offsets_offset = element.offset;
            scan->offsets_bytes = element.length;
        }
        if (element.root == 0 && (element.tag & 0xFF01FFFF) == DICOM_TAG(0x6000, 0x0102))
            scan->file->overlays |= takes_overlay(scan, walk, &element);
        if (ts_dicom_is_groups(element.root))
            ts_dicom_take_group(scan, walk, &element);
        else if (ts_dicom_is_grid_sequence(element.root))
            ts_dicom_take_grid(scan, walk, &element);
        else
            ts_dicom_take(scan, walk, &element);
        if (element.tag == DICOM_TAG(0x0008, 0x0016) && ts_dicom_is_class(scan->file->sop_class, document_classes))
            return;
    }
}

static void init_scan(struct scan *scan, const char *path)
{
    struct dicom_image *image = &scan->image;
    *scan->file = (struct dicom_file){.path = path, .folder = DICOM_NAMED, .frames = 1};
    scan->file->tilt_degree = scan->file->images_in_acquisition = scan->file->series_instances =
        scan->file->concatenation_files = NAN;
    scan->file->series_number = scan->file->study_date_s = scan->file->study_time_s = NAN;
    scan->file->repetition_ms = scan->file->temporal_positions = scan->file->temporal_resolution_ms =
        scan->file->pet_slices = scan->file->pet_time_slices = scan->file->private_slices =
            scan->file->private_volumes = scan->file->activity_scale = scan->smallest = scan->largest =
                scan->mosaic_tiles = scan->grid_tiles = scan->grid_b_value = scan->grid_gradient[0] =
                    scan->grid_gradient[1] = scan->grid_gradient[2] = scan->ge_polarity = scan->dose_scaling =
                        scan->lut_descriptor[0] = scan->lut_descriptor[1] = scan->lut_descriptor[2] = NAN;
    scan->acquired = scan->content = (struct dicom_moment){NAN, NAN, NAN};
    image->slope = 1;
    image->spacing_between_slices_mm = image->echo_time_ms = image->temporal_position = image->acquisition_number =
        image->b_value = image->instance_number = image->acquired_s = image->time_offset_s = image->trigger_ms =
            image->slice_location_mm = image->in_stack = image->slice_time_ms = image->phase_positive =
                image->frame_reference_ms = image->content_s = image->cardiac_percent = image->ge_b_value =
                    image->ge_gradient[0] = image->ge_gradient[1] = image->ge_gradient[2] = image->vendor_kind =
                        image->ge_type = image->scale_slope = image->scale_intercept = image->gradient[0] =
                            image->gradient[1] = image->gradient[2] = NAN;
}

static bool is_not(struct dicom_other *other, enum dicom_other_kind kind)
{
    other->kind = kind;
    return false;
}

/* Reads the file meta group, or takes the transfer syntax from the data set where there is none. Returns false where
 * the group is broken. */
static bool begin_file(struct scan *scan, enum dicom_start kind, const unsigned char *start, struct dicom_walk *walk)
{
    if (kind == DICOM_START_DATA_SET) {
        strcpy(scan->file->syntax_uid, ts_dicom_guess_syntax(start));
        walk->offset = 0;
        return true;
    }
    return ts_dicom_read_meta(scan, walk, kind == DICOM_START_META ? 0 : DICOM_MAGIC_END);
}

/* Reads a file from its first element to its end. Returns false where it is no image. */
static bool scan_elements(struct scan *scan, enum dicom_start kind, const unsigned char *start,
                          struct dicom_other *other)
{
    struct dicom_file *file = scan->file;
    struct dicom_walk walk;
    if (!begin_file(scan, kind, start, &walk))
        return true;
    if (text_equals(scan->media_class, "1.2.840.10008.1.3.10"))
        return is_not(other, DICOM_DICOMDIR);
    if (!ts_dicom_begin_data_set(scan, &walk))
        return true;
    walk.is_open = ts_dicom_is_open;
    read_data_set(scan, &walk);
    bool document = ts_dicom_is_class(file->sop_class, document_classes);
    bool image = scan->met_pixels || file->refusal || ts_dicom_has(scan, DICOM_TAG(0x0028, 0x0010)) ||
                 ts_dicom_is_class(scan->media_class, image_classes) ||
                 ts_dicom_is_class(file->sop_class, image_classes);
    if (document || !image || is_pixelless(scan))
        return is_not(other, DICOM_NO_PIXELS);
    ts_dicom_check(scan);
    return true;
}

/* Scans an open regular file that is not empty. Returns false where it is no image. A file without magic counts as
 * DICOM only where its elements go on to the pixels and name a class. */
static bool scan_open_file(struct scan *scan, struct dicom_other *other)
{
    static const unsigned char windows[] = {'M', 'Z'}, elf[] = {0x7f, 'E', 'L', 'F'}, script[] = {'#', '!'};
    const struct dicom_file *file = scan->file;
    unsigned char start[DICOM_START_BYTES];
    const size_t n = file->file_bytes < (int64_t)sizeof start ? (size_t)file->file_bytes : sizeof start;
    if (!ts_dicom_read(&scan->reader, 0, start, n))
        return is_not(other, DICOM_SHORT); /* it was cut since; where the reading failed, the caller says so */
    const enum dicom_start kind = ts_dicom_find_start(start, n);
    if (kind == DICOM_START_MAGIC) {
        if (!memcmp(start, windows, sizeof windows) || !memcmp(start, elf, sizeof elf) ||
            !memcmp(start, script, sizeof script))
            ts_dicom_warn(scan, "the file starts like a program: its preamble was passed over");
        return scan_elements(scan, kind, start, other);
    }
    ts_dicom_warn(scan, "the file has no preamble, and was read from its first element");
    if (kind != DICOM_START_NONE && scan_elements(scan, kind, start, other) && scan->met_pixels && *file->sop_class)
        return true;
    ts_dicom_describe_start(start, n, other);
    return is_not(other, n < DICOM_MAGIC_END && !other->foreign ? DICOM_SHORT : DICOM_NO_MAGIC);
}

bool ts_dicom_scan_file(const char *path, struct arena *arena, struct dicom_file *file, struct dicom_other *other)
{
    struct scan scan = {.arena = arena, .file = file};
    struct stat status;
    init_scan(&scan, path);
    *other = (struct dicom_other){.path = path, .kind = DICOM_UNREADABLE, .folder = DICOM_NAMED};
    /* O_NONBLOCK: a FIFO must not hold us up; it has no effect on the regular files that are read. */
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) {
        other->error = errno;
        return is_not(other, errno == ENXIO ? DICOM_SPECIAL : DICOM_UNREADABLE);
    }
    bool is_image = false;
    if (fstat(fd, &status) != 0) {
        other->error = errno;
    } else if (!S_ISREG(status.st_mode)) {
        other->kind = DICOM_SPECIAL;
    } else if (status.st_size == 0) {
        other->kind = DICOM_EMPTY;
    } else {
        file->device = status.st_dev;
        file->inode = status.st_ino;
        file->modified = status.st_mtim;
        other->bytes = file->file_bytes = status.st_size;
        scan.reader.fd = fd;
        scan.reader.file_bytes = status.st_size;
        is_image = scan_open_file(&scan, other);
        if (scan.reader.error != 0) { /* whatever was made of the rest: a part of the file is not known */
            other->error = scan.reader.error;
            is_image = is_not(other, DICOM_UNREADABLE);
        }
        if (is_image && !file->images && !ts_dicom_list_images(&scan)) {
            other->error = ENOMEM;
            is_image = is_not(other, DICOM_UNREADABLE);
        }
    }
    ts_inflate_file_destroy(scan.reader.inflated);
    free(scan.frames);
    free(scan.tiles);
    close(fd);
    return is_image;
}
