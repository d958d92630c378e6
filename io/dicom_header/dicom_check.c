/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks that the header and the pixels of a file agree, so that later code reads them rightly: the kind of image, its
 * layout in memory, its values, its pixel data. A file that does not is described, not failed: the series it belongs to
 * is refused with that description.
 * Source: DICOM PS3.3, C.7.6.2 (image plane), C.7.6.3 (image pixel), C.11.1 (modality LUT).
 */
#include "io/dicom_header/dicom_check.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/vector3.h"
#include "io/dicom_header/dicom_groups.h"
#include "io/dicom_header/dicom_known.h"
#include "io/dicom_header/dicom_parse.h"
#include "io/dicom_header/dicom_pixels.h"
#include "io/dicom_header/dicom_values.h"

/* No scanned object lies a kilometer away, and sums of such positions lose their precision. */
static const double MAX_POSITION_MM = 1e6, MIN_SPACING_MM = 1e-6;

static void check_kind(struct scan *scan)
{
    const struct dicom_file *file = scan->file;
    if (ts_dicom_is_enhanced(file) && !scan->has_groups && !file->images[0].unplaced)
        ts_dicom_refuse(scan, "dicom-multi-frame",
                        "an enhanced object without functional groups, which would say where its frames lie");
}

static void check_bits(struct scan *scan)
{
    const struct dicom_file *file = scan->file;
    const int bits = file->bits_allocated;
    if (file->float_bits && bits != file->float_bits)
        ts_dicom_refuse(scan, "dicom-bad-bits", "Bits Allocated is %d, expected %d for floating point pixels", bits,
                        file->float_bits);
    if (file->float_bits)
        return;
    if (bits != 8 && bits != 16 && bits != 32)
        ts_dicom_refuse(scan, "dicom-bad-bits", "Bits Allocated is %d, expected 8, 16 or 32", bits);
    if (file->bits_stored < 1 || file->bits_stored > bits || file->high_bit >= bits ||
        file->high_bit < file->bits_stored - 1)
        ts_dicom_refuse(scan, "dicom-bad-bits", "Bits Allocated %d, Bits Stored %d, High Bit %d do not fit together",
                        bits, file->bits_stored, file->high_bit);
    if (file->pixel_representation > 1)
        ts_dicom_refuse(scan, "dicom-bad-bits", "Pixel Representation is %d, expected 0 or 1",
                        file->pixel_representation);
}

/* Checks sizes and bits, so that every later product is safe and every stored value has one meaning. */
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
        ts_dicom_refuse(scan, "dicom-bad-size", "the image has %d rows and %d columns", file->rows, file->columns);
    if (file->samples_per_pixel != 1)
        ts_dicom_refuse(scan, "dicom-color", "%d samples per pixel (%s), expected 1", file->samples_per_pixel,
                        ts_dicom_known(ts_dicom_photometric, file->photometric));
    if (strcmp(file->photometric, "MONOCHROME1") && strcmp(file->photometric, "MONOCHROME2"))
        ts_dicom_refuse(scan, "dicom-color", "photometric interpretation %s, expected MONOCHROME2 or MONOCHROME1",
                        ts_dicom_known(ts_dicom_photometric, file->photometric));
    check_bits(scan);
}

/* Checks the Modality LUT against its descriptor, where there is one. */
static void check_lut(struct scan *scan)
{
    struct dicom_file *file = scan->file;
    struct dicom_lut *lut = &file->lut;
    const double *descriptor = scan->lut_descriptor;
    const bool described = descriptor[0] >= 0 && descriptor[1] >= -32768 && descriptor[2] >= 1 && descriptor[2] <= 16;
    if (!described && lut->data.length == 0 && isnan(descriptor[0]))
        return;
    const uint32_t entries = !described ? 0 : descriptor[0] == 0 ? 65536 : (uint32_t)descriptor[0];
    if (!described || (lut->data.length != 2 * entries && lut->data.length != entries + (entries & 1)))
        ts_dicom_refuse(scan, "dicom-modality-lut",
                        "the Modality LUT has %" PRIu32 " bytes, which do not fit its descriptor", lut->data.length);
    else if (file->float_bits || scan->image.have_slope || file->syntax == DICOM_DEFLATED_LE)
        ts_dicom_refuse(scan, "dicom-modality-lut", "a Modality LUT stands beside %s, expected it alone",
                        file->float_bits         ? "floating point pixels"
                        : scan->image.have_slope ? "a Rescale Slope"
                                                 : "a deflated data set");
    if (file->refusal)
        return;
    lut->entries = (int)entries;
    lut->bits = (int)descriptor[2];
    lut->first = file->pixel_representation == 1 ? (int16_t)(int)descriptor[1] : (int)descriptor[1];
}

/* Warns where what the header states of the values contradicts their sign. */
static void check_sign(struct scan *scan)
{
    enum { MOST_SIGNED = 32767 };
    const int sign = scan->file->pixel_representation;
    if (sign == 0 && scan->smallest < 0)
        ts_dicom_warn(scan, "Smallest Image Pixel Value is negative, and Pixel Representation says that no pixel is: "
                            "large values may be negative ones");
    if (sign == 1 && scan->file->bits_allocated == 16 && scan->largest > MOST_SIGNED)
        ts_dicom_warn(scan, "Largest Image Pixel Value is none of signed pixels, which Pixel Representation says they "
                            "are: negative values may be large ones");
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
        ts_dicom_refuse(scan, "dicom-encoding", "the meta group says %s pixels, the pixel data is %s",
                        native ? "uncompressed" : "compressed", native ? "compressed" : "uncompressed");
        return;
    }
    file->words &= file->bits_allocated == 8;
    if (file->refusal)
        return;
    if (native) {
        ts_dicom_check_native(scan);
        if (file->pixel_bytes > file->frames * ts_dicom_frame_bytes(file) + 1)
            ts_dicom_warn(scan, file->frames > 1 ? "more pixel data than the frames need; the rest was passed over"
                                                 : "more pixel data than one frame needs; the rest was passed over");
    } else {
        ts_dicom_check_encoded(scan);
    }
}

/* Gives the image the padding that is stated for pixels of its type; one of another type says nothing of them. */
static void choose_padding(const struct scan *scan, struct dicom_image *image)
{
    const int bits = scan->file->float_bits;
    const bool is_signed = scan->file->pixel_representation == 1;
    image->have_padding = ts_dicom_has(scan, bits == 64 ? 0x00280123 : bits == 32 ? 0x00280122 : 0x00280120);
    image->have_padding_limit = ts_dicom_has(scan, bits == 64 ? 0x00280125 : bits == 32 ? 0x00280124 : 0x00280121);
    image->padding = bits == 64   ? scan->double_padding
                     : bits == 32 ? scan->float_padding
                     : is_signed  ? (int16_t)scan->padding
                                  : scan->padding;
    image->padding_limit = bits == 64   ? scan->double_padding_limit
                           : bits == 32 ? scan->float_padding_limit
                           : is_signed  ? (int16_t)scan->padding_limit
                                        : scan->padding_limit;
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
        ts_dicom_refuse(scan, "dicom-rescale", "Rescale Slope is 0: every pixel would have one value");
    if (image->have_slope != image->have_intercept)
        ts_dicom_refuse(scan, "dicom-rescale", "Rescale %s is given without Rescale %s",
                        image->have_slope ? "Slope" : "Intercept", image->have_slope ? "Intercept" : "Slope");
    for (int i = 0; i < 2; i++) {
        if (image->have_spacing && !(image->spacing_mm[i] >= MIN_SPACING_MM && image->spacing_mm[i] <= MAX_POSITION_MM))
            ts_dicom_refuse(scan, "dicom-bad-spacing", "Pixel Spacing is %g by %g mm, expected between %g and %g",
                            image->spacing_mm[0], image->spacing_mm[1], MIN_SPACING_MM, MAX_POSITION_MM);
    }
    for (int i = 0; i < 3; i++) {
        if (!(fabs(image->position_mm[i]) <= MAX_POSITION_MM))
            ts_dicom_refuse(scan, "dicom-bad-position", "Image Position (Patient) is %g mm away, expected at most %g",
                            fabs(image->position_mm[i]), MAX_POSITION_MM);
    }
    if (image->have_orientation) {
        const double *o = image->orientation;
        const double row = ts_length(o), column = ts_length(o + 3), dot = ts_dot(o, o + 3);
        if (!(fabs(row - 1) <= 1e-3 && fabs(column - 1) <= 1e-3 && fabs(dot) <= 1e-3))
            ts_dicom_refuse(scan, "dicom-bad-orientation",
                            "Image Orientation is not orthonormal: lengths %.6g and %.6g, dot product %.6g", row,
                            column, dot);
    }
    choose_padding(scan, image);
}

/* Returns the moment in seconds. The date counts, since a series may cross midnight; without one, the time of day has
 * to do. */
static double seconds_of(const struct dicom_moment *moment)
{
    return !isnan(moment->both_s) ? moment->both_s : moment->time_s + (isnan(moment->date_s) ? 0 : moment->date_s);
}

/* Gives the images the times of the file; frames may have times of acquisition of their own. */
static void place_in_time(struct scan *scan)
{
    for (size_t i = 0; i < scan->file->n_images; i++) {
        struct dicom_image *image = &scan->file->images[i];
        image->acquired_s = isnan(image->acquired_s) ? seconds_of(&scan->acquired) : image->acquired_s;
        image->content_s = seconds_of(&scan->content);
    }
}

void ts_dicom_check(struct scan *scan)
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
}
