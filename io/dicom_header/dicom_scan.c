/* SPDX-License-Identifier: Apache-2.0
 *
 * Scans one DICOM file: preamble, file meta group, data set, pixel data; then its header is
 * checked. A wrong file is described, not failed: the series it belongs to is refused with that
 * description.
 */
#include "io/dicom_header/dicom_scan.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/vector3.h"
#include "io/dicom_header/dicom_elements.h"
#include "io/dicom_header/dicom_fields.h"
#include "io/dicom_header/dicom_fragments.h"
#include "io/dicom_header/dicom_groups.h"
#include "io/dicom_header/dicom_kind.h"
#include "io/dicom_header/dicom_parse.h"
#include "io/dicom_header/dicom_pixels.h"
#include "io/dicom_header/dicom_scan_state.h"
#include "io/dicom_header/dicom_values.h"
#include "io/file/inflate_file.h"

/* ---- checks ---------------------------------------------------------------------------------- */

/* Header and pixels of a file must agree, so that later code reads them rightly: the kind of image,
 * its layout in memory, its values, its pixel data. The image is refused before any decoder sees
 * its pixels, because decoders trust the header. Source: DICOM PS3.3, C.7.6.2 (image plane),
 * C.7.6.3 (image pixel), C.11.1 (modality LUT). */

/* No scanned object lies a kilometer away, and sums of such positions lose their precision. */
static const double MAX_POSITION_MM = 1e6, MIN_SPACING_MM = 1e-6;

static void check_kind(struct scan *scan)
{
    const struct dicom_file *file = scan->file;
    if (ts_dicom_is_enhanced(file) && !scan->has_groups && !file->images[0].unplaced)
        ts_dicom_refuse(
            scan, "dicom-multi-frame",
            "an enhanced object without functional groups, which would say where its frames lie");
}

static void check_bits(struct scan *scan)
{
    const struct dicom_file *file = scan->file;
    const int bits = file->bits_allocated;
    if (file->float_bits && bits != file->float_bits)
        ts_dicom_refuse(scan, "dicom-bad-bits",
                        "Bits Allocated is %d, expected %d for floating point pixels", bits,
                        file->float_bits);
    if (file->float_bits)
        return;
    if (bits != 8 && bits != 16 && bits != 32)
        ts_dicom_refuse(scan, "dicom-bad-bits", "Bits Allocated is %d, expected 8, 16 or 32", bits);
    if (file->bits_stored < 1 || file->bits_stored > bits || file->high_bit >= bits ||
        file->high_bit < file->bits_stored - 1)
        ts_dicom_refuse(scan, "dicom-bad-bits",
                        "Bits Allocated %d, Bits Stored %d, High Bit %d do not fit together", bits,
                        file->bits_stored, file->high_bit);
    if (file->pixel_representation > 1)
        ts_dicom_refuse(scan, "dicom-bad-bits", "Pixel Representation is %d, expected 0 or 1",
                        file->pixel_representation);
}

/* Checks sizes and bits, so that every later product is safe and every stored value has one
 * meaning. */
static void check_layout(struct scan *scan)
{
    const struct dicom_file *file = scan->file;
    static const uint32_t needed[] = {
        DICOM_TAG(0x0028, 0x0010), /* Rows */
        DICOM_TAG(0x0028, 0x0011), /* Columns */
        DICOM_TAG(0x0028, 0x0002), /* Samples per Pixel */
        DICOM_TAG(0x0028, 0x0100), /* Bits Allocated */
        DICOM_TAG(0x0028, 0x0004), /* Photometric Interpretation */
        DICOM_TAG(0x0028, 0x0101), /* Bits Stored */
        DICOM_TAG(0x0028, 0x0102), /* High Bit */
        DICOM_TAG(0x0028, 0x0103), /* Pixel Representation */
    };
    enum { OF_FLOATS = 5 }; /* floating point pixels have no more */
    for (size_t i = 0; i < (file->float_bits ? OF_FLOATS : sizeof needed / sizeof *needed); i++)
        ts_dicom_need(scan, needed[i]);
    if (file->rows < 1 || file->columns < 1)
        ts_dicom_refuse(scan, "dicom-bad-size", "the image has %d rows and %d columns", file->rows,
                        file->columns);
    if (file->samples_per_pixel != 1)
        ts_dicom_refuse(scan, "dicom-color", "%d samples per pixel (%s), expected 1",
                        file->samples_per_pixel,
                        ts_dicom_known(ts_dicom_photometric, file->photometric));
    if (strcmp(file->photometric, "MONOCHROME1") && strcmp(file->photometric, "MONOCHROME2"))
        ts_dicom_refuse(scan, "dicom-color",
                        "photometric interpretation %s, expected MONOCHROME2 or MONOCHROME1",
                        ts_dicom_known(ts_dicom_photometric, file->photometric));
    check_bits(scan);
}

/* Checks the Modality LUT against its descriptor, if there is one. Of the three values of a
 * descriptor only the second may have a sign (C.11.1.1). */
static void check_lut(struct scan *scan)
{
    struct dicom_file *file = scan->file;
    struct dicom_lut *lut = &file->lut;
    double *descriptor = scan->lut_descriptor;
    if (descriptor[0] < 0)
        descriptor[0] += 65536; /* a count has no sign, though writers give all three VR SS */
    const bool described =
        descriptor[0] >= 0 && descriptor[1] >= -32768 && descriptor[2] >= 1 && descriptor[2] <= 16;
    if (!described && lut->data.length == 0 && isnan(descriptor[0]))
        return;
    uint32_t entries = 0;
    if (described)
        entries = descriptor[0] == 0 ? 65536 : (uint32_t)descriptor[0];
    const char *beside = scan->image.have_slope ? "a Rescale Slope" : "a deflated data set";
    if (file->float_bits)
        beside = "floating point pixels";
    if (!described ||
        (lut->data.length != 2 * entries && lut->data.length != entries + (entries & 1)))
        ts_dicom_refuse(scan, "dicom-modality-lut",
                        "the Modality LUT has %" PRIu32 " bytes, which do not fit its descriptor",
                        lut->data.length);
    else if (file->float_bits || scan->image.have_slope || file->syntax == DICOM_DEFLATED_LE)
        ts_dicom_refuse(scan, "dicom-modality-lut",
                        "a Modality LUT stands beside %s, expected it alone", beside);
    if (file->refusal)
        return;
    lut->entries = (int)entries;
    lut->bits = (int)descriptor[2];
    lut->first = file->pixel_representation == 1 ? (int16_t)(int)descriptor[1] : (int)descriptor[1];
}

/* Warns if what the header states of the values contradicts their sign. */
static void check_sign(struct scan *scan)
{
    enum { MOST_SIGNED = 32767 };
    const int sign = scan->file->pixel_representation;
    if (sign == 0 && scan->smallest < 0)
        ts_dicom_warn(scan, "Smallest Image Pixel Value is negative, and Pixel Representation says "
                            "that no pixel is: large values may be negative ones");
    if (sign == 1 && scan->file->bits_allocated == 16 && scan->largest > MOST_SIGNED)
        ts_dicom_warn(scan, "Largest Image Pixel Value is none of signed pixels, which Pixel "
                            "Representation says they are: negative values may be large ones");
}

static void check_pixels(struct scan *scan)
{
    struct dicom_file *file = scan->file;
    check_sign(scan);
    if (!scan->met_pixels) {
        ts_dicom_refuse(scan, "dicom-pixels-missing", "the image has no pixel data");
        return;
    }
    const bool native = !dicom_is_compressed(file->syntax);
    if (native == scan->encapsulated) {
        ts_dicom_refuse_compression(scan);
        return;
    }
    file->words &= file->bits_allocated == 8;
    if (file->refusal)
        return;
    if (native) {
        ts_dicom_check_native(scan);
    } else {
        ts_dicom_check_encoded(scan);
    }
}

/* Gives the image the padding that is stated for pixels of its type; one of another type says
 * nothing of them. */
static void choose_padding(const struct scan *scan, struct dicom_image *image)
{
    const int bits = scan->file->float_bits;
    const bool is_signed = scan->file->pixel_representation == 1;
    uint32_t tag = 0x00280120, limit_tag = 0x00280121;
    image->padding = is_signed ? (int16_t)scan->padding : scan->padding;
    image->padding_limit = is_signed ? (int16_t)scan->padding_limit : scan->padding_limit;
    if (bits == 32) {
        tag = 0x00280122, limit_tag = 0x00280124;
        image->padding = scan->float_padding;
        image->padding_limit = scan->float_padding_limit;
    } else if (bits == 64) {
        tag = 0x00280123, limit_tag = 0x00280125;
        image->padding = scan->double_padding;
        image->padding_limit = scan->double_padding_limit;
    }
    image->have_padding = ts_dicom_has(scan, tag);
    image->have_padding_limit = ts_dicom_has(scan, limit_tag);
}

/* A secondary capture may state the spacing of what was captured in place of Pixel Spacing. */
static void take_nominal_spacing(const struct dicom_file *file, struct dicom_image *image)
{
    const char *text = file->nominal_spacing;
    if (!image->have_spacing && *text && ts_dicom_is_capture(file))
        image->have_spacing = ts_dicom_parse_decimals(text, strlen(text), image->spacing_mm, 2);
}

static void check_values(struct scan *scan, struct dicom_image *image)
{
    take_nominal_spacing(scan->file, image);
    if (image->have_slope && image->slope == 0)
        ts_dicom_refuse(scan, "dicom-rescale", "%s is 0: every pixel would have one value",
                        isnan(scan->dose_scaling) ? "Rescale Slope" : "Dose Grid Scaling");
    if (image->have_slope != image->have_intercept)
        ts_dicom_refuse(scan, "dicom-rescale", "Rescale %s is given without Rescale %s",
                        image->have_slope ? "Slope" : "Intercept",
                        image->have_slope ? "Intercept" : "Slope");
    for (int i = 0; i < 2; i++) {
        if (image->have_spacing &&
            !(image->spacing_mm[i] >= MIN_SPACING_MM && image->spacing_mm[i] <= MAX_POSITION_MM))
            ts_dicom_refuse(scan, "dicom-bad-spacing",
                            "Pixel Spacing is %g by %g mm, expected between %g and %g",
                            image->spacing_mm[0], image->spacing_mm[1], MIN_SPACING_MM,
                            MAX_POSITION_MM);
    }
    for (int i = 0; i < 3; i++) {
        if (!(fabs(image->position_mm[i]) <= MAX_POSITION_MM))
            ts_dicom_refuse(scan, "dicom-bad-position",
                            "Image Position (Patient) is %g mm away, expected at most %g",
                            fabs(image->position_mm[i]), MAX_POSITION_MM);
    }
    if (image->have_orientation) {
        const double *o = image->orientation;
        const double row = ts_length(o), column = ts_length(o + 3), dot = ts_dot(o, o + 3);
        if (!(fabs(row - 1) <= 1e-3 && fabs(column - 1) <= 1e-3 && fabs(dot) <= 1e-3))
            ts_dicom_refuse(
                scan, "dicom-bad-orientation",
                "Image Orientation is not orthonormal: lengths %.6g and %.6g, dot product %.6g",
                row, column, dot);
    }
    choose_padding(scan, image);
}

static double clock_of(const struct dicom_moment *moment)
{
    return moment->time_s + (isnan(moment->date_s) ? 0 : moment->date_s);
}

/* Returns the moment in seconds. The date counts, since a series may cross midnight; without one,
 * the time of day has to do. */
static double seconds_of(const struct dicom_moment *moment)
{
    return !isnan(moment->both_s) ? moment->both_s : clock_of(moment);
}

/* Gives the images the times of the file; frames may have times of acquisition of their own. */
static void place_in_time(struct scan *scan)
{
    for (size_t i = 0; i < scan->file->n_images; i++) {
        struct dicom_image *image = &scan->file->images[i];
        if (isnan(image->acquired_s)) {
            image->acquired_s = seconds_of(&scan->acquired);
            image->clock_s = isnan(scan->acquired.both_s) ? NAN : clock_of(&scan->acquired);
        }
        image->zone_s = isnan(image->zone_s) ? scan->zone_s : image->zone_s;
        image->content_s = seconds_of(&scan->content);
    }
}

/* Lists the images of the file, which are NULL if memory is out. Checks kind of image, layout,
 * values and pixel data against each other; scan->file->refusal states what is wrong. */
static void check_header(struct scan *scan)
{
    if (!ts_dicom_list_images(scan))
        return;
    place_in_time(scan);
    check_kind(scan);
    check_layout(scan);
    check_lut(scan);
    for (size_t i = 0; i < scan->file->n_images; i++)
        check_values(scan, &scan->file->images[i]);
    check_pixels(scan);
    if (scan->file->unsure_mosaic)
        ts_dicom_refuse(scan, "dicom-mosaic",
                        "a mosaic of many slices in one image, whose header does not state how "
                        "many (private elements removed?)");
}

/* ---- the start of a file --------------------------------------------------------------------- */

/* A file begins with a preamble of 128 bytes and the letters "DICM". Some programs write neither,
 * and begin with the file meta group or even with the data set. Such a file is judged by its first
 * element, which must be one of the groups that come first: 0002, in explicit little endian, or
 * 0008, in any encoding. Few other files begin so, and those fail in the elements behind it.
 * Source: DICOM PS3.10, 7.1 (file meta information). */

/* Returns true if these 8 bytes are the header of an element of `group`. A long implicit one does
 * not count, since the first elements of a data set are short. */
static bool is_element_of(const unsigned char *bytes, unsigned char group)
{
    const bool little = bytes[0] == group && bytes[1] == 0,
               big = bytes[0] == 0 && bytes[1] == group;
    const bool short_implicit = little && bytes[3] == 0 && bytes[6] == 0 && bytes[7] == 0;
    return short_implicit || ((little || big) && ts_dicom_is_vr((const char *)bytes + 4));
}

static bool is_first_element(const unsigned char *bytes)
{
    return is_element_of(bytes, 2) || is_element_of(bytes, 8);
}

enum dicom_start {
    DICOM_START_MAGIC,    /* a preamble and "DICM": the file meta group begins at DICOM_MAGIC_END */
    DICOM_START_META,     /* the file meta group begins at byte 0 */
    DICOM_START_DATA_SET, /* the data set begins at byte 0: it is little or big endian, and nothing
                             names its syntax */
    DICOM_START_NONE
};

/* Judges the first n bytes of a file, at most DICOM_START_BYTES. A start without magic is only a
 * likeness: whether the file is DICOM shows in the elements that follow. */
static enum dicom_start find_start(const unsigned char *bytes, size_t n)
{
    if (n >= DICOM_MAGIC_END && !memcmp(bytes + DICOM_PREAMBLE_BYTES, "DICM", 4))
        return DICOM_START_MAGIC;
    if (n < 8)
        return DICOM_START_NONE;
    if (bytes[0] == 2 && is_element_of(bytes, 2) && ts_dicom_is_vr((const char *)bytes + 4))
        return DICOM_START_META;
    return is_element_of(bytes, 8) ? DICOM_START_DATA_SET : DICOM_START_NONE;
}

/* Describes what the first n bytes of a file that is not read as DICOM look like. */
static void describe_start(const unsigned char *bytes, size_t n, struct dicom_other *other)
{
    static const unsigned char apple_double[] = {0, 5, 0x16, 7};
    static const char documents[][4] = {{'%', 'P', 'D', 'F'},
                                        {'P', 'K', 3, 4},
                                        {'\x89', 'P', 'N', 'G'},
                                        {'\xFF', '\xD8', '\xFF', '\xE0'}};
    const size_t preamble = n < DICOM_PREAMBLE_BYTES ? n : DICOM_PREAMBLE_BYTES;
    other->data_set = (n >= 8 && is_first_element(bytes)) ||
                      (n >= DICOM_START_BYTES && is_first_element(bytes + DICOM_MAGIC_END));
    other->apple_double =
        n >= sizeof apple_double && !memcmp(bytes, apple_double, sizeof apple_double);
    other->foreign = n > 0;
    for (size_t i = 0; i < preamble; i++)
        other->foreign =
            other->foreign && (bytes[i] >= 0x20 || (bytes[i] >= '\t' && bytes[i] <= '\r'));
    for (size_t i = 0; i < sizeof documents / sizeof *documents; i++)
        other->foreign = other->foreign || (n >= 4 && !memcmp(bytes, documents[i], 4));
}

/* ---- the scan -------------------------------------------------------------------------------- */

static void take_pixels(struct scan *scan, struct dicom_walk *walk,
                        const struct dicom_element *element)
{
    struct dicom_file *file = scan->file;
    scan->met_pixels = true;
    scan->encapsulated = element->length == DICOM_UNDEFINED;
    if (element->tag == DICOM_FLOAT_PIXELS)
        scan->file->float_bits = 32;
    else if (element->tag == DICOM_DOUBLE_PIXELS)
        scan->file->float_bits = 64;
    else
        scan->file->float_bits = 0;
    file->words = file->syntax == DICOM_EXPLICIT_BE && text_equals(element->vr, "OW");
    if (scan->encapsulated) {
        ts_dicom_walk_fragments(scan, walk);
        return;
    }
    scan->pixels_truncated = element->truncated;
    scan->pixels_claimed = element->length;
    file->pixel_offset = element->offset;
    file->pixel_bytes =
        element->truncated ? scan->reader.file_bytes - element->offset : (int64_t)element->length;
}

/* Data sets of these classes are never images, however they go on: structured reports, documents,
 * waveforms, presentation states, raw data, contours and plans of radiotherapy. */
static const char *const document_classes[] = {"88.", "104.",  "9.",    "11.",
                                               "66",  "481.3", "481.5", NULL};

/* Data sets of these classes are images: if they have neither pixels nor rows they were cut. */
static const char *const image_classes[] = {"2",   "2.1", "2.2",   "4",   "4.1",
                                            "4.4", "128", "128.1", "130", NULL};

/* Data sets of these classes are no images if they have no pixels, though they may have rows:
 * spectra, registrations, mappings of values, and curves. So are those of all private classes. */
static const char *const pixelless_classes[] = {"4.2", "8",   "8.",  "10",   "66.",
                                                "67",  "129", "131", "200.", NULL};

/* Returns true if a data set that was read to its end, without a pixel in it, is no image. */
static bool is_pixelless(const struct scan *scan)
{
    static const char standard[] = "1.2.840.10008.5.1.4.1.1.";
    const char *uid = scan->file->sop_class;
    const bool pixels = scan->met_pixels && (scan->encapsulated || scan->pixels_claimed > 0);
    return !pixels && !scan->file->refusal && *uid &&
           (strncmp(uid, standard, strlen(standard)) != 0 ||
            ts_dicom_is_class(uid, pixelless_classes));
}

/* Elements behind the pixels may pad or sign them, but not change the header. */
static bool is_end_padding(struct scan *scan, const struct dicom_walk *walk)
{
    int64_t left = scan->reader.file_bytes - walk->offset;
    return left > 0 && (left < 8 || ts_dicom_walk_peek((struct dicom_walk *)walk) == 0);
}

/* Returns true if an overlay is stored in a bit of the pixels. One that has data of its own names
 * bit 0. */
static bool takes_overlay(struct scan *scan, const struct dicom_walk *walk,
                          const struct dicom_element *element)
{
    unsigned char bit[2];
    return element->length == sizeof bit &&
           ts_dicom_read(&scan->reader, element->offset, bit, sizeof bit) &&
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
            ts_dicom_refuse(scan, "dicom-tag-order",
                            "element (%04x,%04x) stands behind the pixel data", element.tag >> 16,
                            element.tag & 0xFFFF);
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
        if (element.tag == DICOM_TAG(0x0008, 0x0016) &&
            ts_dicom_is_class(scan->file->sop_class, document_classes))
            return;
    }
}

static void init_scan(struct scan *scan, const char *path)
{
    struct dicom_image *image = &scan->image;
    *scan->file = (struct dicom_file){.path = path, .folder = DICOM_NAMED, .frames = 1};
    scan->file->uptake = (struct dicom_uptake){.weight_kg = NAN,
                                               .height_m = NAN,
                                               .dose_bq = NAN,
                                               .half_life_s = NAN,
                                               .series_date_s = NAN,
                                               .series_time_s = NAN,
                                               .start_s = NAN,
                                               .start = {NAN, NAN},
                                               .ge_scan = {NAN, NAN},
                                               .corrected_to = {NAN, NAN},
                                               .philips_factor = NAN};
    scan->file->tilt_degree = scan->file->images_in_acquisition = scan->file->series_instances =
        scan->file->concatenation_files = NAN;
    image->real_slope = image->real_intercept = NAN;
    scan->file->series_number = scan->file->study_date_s = scan->file->study_time_s = NAN;
    scan->file->repetition_ms = scan->file->temporal_positions =
        scan->file->temporal_resolution_ms = scan->file->pet_slices = scan->file->pet_time_slices =
            scan->file->private_slices = scan->file->private_volumes = scan->file->activity_scale =
                scan->smallest = scan->largest = scan->mosaic_tiles = scan->grid_tiles =
                    scan->grid_b_value = scan->grid_gradient[0] = scan->grid_gradient[1] =
                        scan->grid_gradient[2] = scan->ge_polarity = scan->dose_scaling =
                            scan->lut_descriptor[0] = scan->lut_descriptor[1] =
                                scan->lut_descriptor[2] = NAN;
    for (int i = 0; i < 4; i++)
        scan->matrix[i] = scan->steps[i / 2] = NAN;
    scan->zone_s = image->zone_s = image->clock_s = NAN;
    scan->acquired = scan->content = (struct dicom_moment){NAN, NAN, NAN};
    for (int i = 0; i < 3; i++)
        image->velocity_direction[i] = image->velocity_philips[i] = NAN;
    image->slope = 1;
    image->spacing_between_slices_mm = image->echo_time_ms = image->temporal_position =
        image->acquisition_number = image->b_value = image->instance_number = image->acquired_s =
            image->time_offset_s = image->trigger_ms = image->slice_location_mm = image->in_stack =
                image->slice_time_ms = image->phase_positive = image->frame_reference_ms =
                    image->content_s = image->cardiac_percent = image->ge_b_value =
                        image->cycle_percent = image->respiratory_percent = image->delay_ms =
                            image->velocity_most = image->ge_gradient[0] = image->ge_gradient[1] =
                                image->ge_gradient[2] = image->vendor_kind = image->ge_type =
                                    image->scale_slope = image->scale_intercept =
                                        image->gradient[0] = image->gradient[1] =
                                            image->gradient[2] = NAN;
}

static bool is_not(struct dicom_other *other, enum dicom_other_kind kind)
{
    other->kind = kind;
    return false;
}

/* Returns true for the sequences whose elements are wanted: the functional groups and the Modality
 * LUT. */
static bool dicom_is_open(uint32_t tag)
{
    return ts_dicom_is_groups(tag) || ts_dicom_is_grid_sequence(tag) ||
           tag == DICOM_TAG(0x0028, 0x3000) || tag == DICOM_TAG(0x0040, 0x9096) ||
           tag == DICOM_DOSE_SEQUENCE;
}

/* Reads a file from its first element to its end. Returns false if it is no image. */
static bool scan_elements(struct scan *scan, enum dicom_start kind, const unsigned char *start,
                          struct dicom_other *other)
{
    struct dicom_file *file = scan->file;
    struct dicom_walk walk;
    const int64_t meta_offset = kind == DICOM_START_META ? 0 : DICOM_MAGIC_END;
    if (kind == DICOM_START_DATA_SET)
        ts_dicom_begin_without_meta(scan, &walk, start);
    else if (!ts_dicom_read_meta(scan, &walk, meta_offset))
        return true;
    if (text_equals(scan->media_class, "1.2.840.10008.1.3.10"))
        return is_not(other, DICOM_DICOMDIR);
    if (!ts_dicom_begin_data_set(scan, &walk))
        return true;
    walk.is_open = dicom_is_open;
    read_data_set(scan, &walk);
    bool document = ts_dicom_is_class(file->sop_class, document_classes);
    bool image = scan->met_pixels || file->refusal ||
                 ts_dicom_has(scan, DICOM_TAG(0x0028, 0x0010)) ||
                 ts_dicom_is_class(scan->media_class, image_classes) ||
                 ts_dicom_is_class(file->sop_class, image_classes);
    if (document || !image || is_pixelless(scan)) {
        other->noun = ts_dicom_object_noun(file->sop_class);
        other->regions = ts_dicom_is_regions(file->sop_class);
        return is_not(other, DICOM_NO_PIXELS);
    }
    check_header(scan);
    return true;
}

/* Scans an open regular file that is not empty. Returns false if it is no image. A file without
 * magic counts as DICOM only if its elements go on to the pixels and name a class. */
static bool scan_open_file(struct scan *scan, struct dicom_other *other)
{
    static const unsigned char windows[] = {'M', 'Z'}, elf[] = {0x7f, 'E', 'L', 'F'},
                               script[] = {'#', '!'};
    const struct dicom_file *file = scan->file;
    unsigned char start[DICOM_START_BYTES];
    const size_t n =
        file->file_bytes < (int64_t)sizeof start ? (size_t)file->file_bytes : sizeof start;
    if (!ts_dicom_read(&scan->reader, 0, start, n))
        return is_not(
            other, DICOM_SHORT); /* it was cut since; if the reading failed, the caller says so */
    const enum dicom_start kind = find_start(start, n);
    if (kind == DICOM_START_MAGIC) {
        if (!memcmp(start, windows, sizeof windows) || !memcmp(start, elf, sizeof elf) ||
            !memcmp(start, script, sizeof script))
            ts_dicom_warn(scan, "the file starts like a program: its preamble was passed over");
        return scan_elements(scan, kind, start, other);
    }
    ts_dicom_warn(scan, "the file has no preamble, and was read from its first element");
    if (kind != DICOM_START_NONE && scan_elements(scan, kind, start, other) && scan->met_pixels &&
        *file->sop_class)
        return true;
    describe_start(start, n, other);
    return is_not(other, n < DICOM_MAGIC_END && !other->foreign ? DICOM_SHORT : DICOM_NO_MAGIC);
}

bool ts_dicom_scan_file(const char *path, struct arena *arena, struct dicom_file *file,
                        struct dicom_other *other)
{
    struct scan scan = {.arena = arena, .file = file};
    struct stat status;
    init_scan(&scan, path);
    *other = (struct dicom_other){.path = path, .kind = DICOM_UNREADABLE, .folder = DICOM_NAMED};
    /* O_NONBLOCK: a FIFO must not hold us up; it has no effect on the regular files that are
     * read. */
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
        if (scan.reader.error !=
            0) { /* whatever was made of the rest: a part of the file is not known */
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
