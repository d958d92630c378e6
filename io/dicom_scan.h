/* SPDX-License-Identifier: Apache-2.0
 *
 * DICOM files as bytes: finds them, checks every length, nesting and size product, and takes the few values a volume
 * needs. Trusts nothing, recurses into nothing, allocates nothing from a claimed length. DCMTK sees a file only after
 * this. Source: DICOM PS3.5 (encoding), PS3.10 (file format), PS3.3 C.7.6 (image modules).
 */
#ifndef IO_DICOM_SCAN_H
#define IO_DICOM_SCAN_H

#include "pipeline/arena.h"
#include "pipeline/diag.h"

enum dicom_syntax {
    DICOM_IMPLICIT_LE,   /* 1.2.840.10008.1.2 */
    DICOM_EXPLICIT_LE,   /* .2.1 */
    DICOM_EXPLICIT_BE,   /* .2.2 */
    DICOM_RLE,           /* .2.5 */
    DICOM_JPEG_LOSSLESS, /* .2.4.57, .2.4.70 */
    DICOM_JPEG_LS,       /* .2.4.80; .81 (near-lossless) is refused by name unless its NEAR is 0 */
    DICOM_OTHER          /* recognized, not in this build: named in the refusal */
};

enum { DICOM_UID_MAX = 65, DICOM_TEXT_MAX = 65 };

/* One DICOM file. Every number was checked against the file; `have` flags say what was there. Zero length = absent. */
struct dicom_file {
    const char *path;    /* arena */
    const char *refusal; /* why this file cannot be part of any volume, or NULL; arena */
    const char *refusal_code;
    const char *warning; /* what was passed over, such as bytes behind the pixels, or NULL; arena */
    char sop_class[DICOM_UID_MAX], sop_instance[DICOM_UID_MAX], study[DICOM_UID_MAX], series[DICOM_UID_MAX],
        frame_of_reference[DICOM_UID_MAX], syntax_uid[DICOM_UID_MAX];
    enum dicom_syntax syntax;
    char modality[DICOM_TEXT_MAX], image_type[DICOM_TEXT_MAX * 2], photometric[DICOM_TEXT_MAX],
        rescale_type[DICOM_TEXT_MAX], units[DICOM_TEXT_MAX], kernel[DICOM_TEXT_MAX], burned_in[DICOM_TEXT_MAX];
    int rows, columns, samples_per_pixel, bits_allocated, bits_stored, high_bit, pixel_representation;
    int64_t frames;
    bool have_position, have_orientation, have_spacing, have_slope, have_intercept, have_padding, have_padding_limit;
    double position_mm[3], orientation[6]; /* row cosines, then column cosines */
    double spacing_mm[2];                  /* between rows (y), between columns (x): the DICOM order */
    double slope, intercept, spacing_between_slices_mm, tilt_degree; /* the last two only to warn; NaN if absent */
    int32_t padding, padding_limit;                                  /* by pixel_representation */
    double echo_time_ms, temporal_position, acquisition_number, b_value, instance_number; /* NaN if absent */
    int64_t pixel_offset,
        pixel_bytes; /* native: the value field. Encapsulated: of all fragments, from the first item on */
    int n_fragments; /* encapsulated; single frame files only */
    int64_t file_bytes;
};

struct dicom_folder {
    struct dicom_file *files;
    size_t n_files;
    /* What else was seen and passed over, counted: for "14 files skipped: 9 not DICOM, 2 empty, ..." */
    size_t n_seen, n_not_dicom, n_empty, n_no_pixels, n_dicomdir, n_links, n_special, n_unreadable;
};

/* Reads one file's header. Never fails for what is in the file: file->refusal says what is wrong. False: not a DICOM
 * image at all, counted in folder. */
bool ts_dicom_scan_file(const char *path, struct arena *arena, struct dicom_folder *counts, struct dicom_file *file);
/* Searches folders (depth <= 32, no links followed, FIFOs and devices never opened) and single files. */
enum ts_status ts_dicom_scan(const char *const *paths, size_t n_paths, struct arena *arena, struct dicom_folder *folder,
                             struct ts_diag *diag);

#endif
