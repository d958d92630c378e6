/* SPDX-License-Identifier: Apache-2.0
 *
 * These structs hold what the headers state about a DICOM input: its files, the images in them,
 * names that are no images, and the folder as a whole. A file holds one image or, if it has several
 * frames, one for each. All parts of the rooms for DICOM share them.
 */
#ifndef IO_DICOM_HEADER_DICOM_FILE_H
#define IO_DICOM_HEADER_DICOM_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "io/dicom_header/dicom_syntax.h"

enum { DICOM_UID_MAX = 65, DICOM_TEXT_MAX = 65, DICOM_CODE_MAX = 33, DICOM_DIMENSIONS = 8 };

/* This is the place of a value in the file. */
struct dicom_place {
    int64_t offset;
    uint32_t length;
};

/* A Modality LUT maps each stored value to entry (stored - first), and values beyond its ends to
 * the first or last entry. */
struct dicom_lut {
    int entries, first, bits; /* entries 0: there is none */
    struct dicom_place data;  /* one byte or one 16-bit word an entry, by its length */
};

/* GE's sequence epi_pepolar stores the rows of images whose phase encoding is reversed from the
 * last to the first. */
enum dicom_polarity { DICOM_POLARITY_UNSTATED, DICOM_POLARITY_FORWARD, DICOM_POLARITY_REVERSED };

struct dicom_image;
struct dicom_value;

/* This is a number or a time of the header that cannot be read, as one with a decimal comma. It
 * counts as absent. */
struct dicom_unread {
    const struct dicom_unread *next; /* one that was met before, or NULL */
    uint32_t tag;
    const char *name, *text; /* text: the value, as ts_dicom_escape writes it; arena */
    char vr[3];
    bool tells; /* the number tells images apart, or says where they lie or what they mean, so that
                   its absence might make one volume of several */
    size_t field; /* offset of its number in struct dicom_image, which another element may give;
                     0: no other one does */
};

/* These attributes say to which series an image belongs, rather than what it shows: dicom_join.c
 * has their names. They are in the order in which series are sorted by them. */
enum dicom_series_key {
    KEY_STUDY,
    KEY_SERIES,
    KEY_NUMBER,
    KEY_PATIENT,
    KEY_TIME,
    KEY_MANUFACTURER,
    KEY_PROTOCOL,
    KEY_FRAME,
    KEY_STACK,
    DICOM_SERIES_KEYS
};

/* The compressed stream of one frame consists of fragments that follow each other, each behind an
 * item header of 8 bytes. */
struct dicom_stream {
    int64_t offset; /* of the first fragment's header */
    int64_t bytes;  /* of all fragments with their headers */
    int n_fragments;
};

/* This is a date and a time of day in seconds, as ts_dicom_parse_time has them, and the offset from
 * UTC that it ends in. NaN if absent. */
struct dicom_clock {
    double seconds, zone_s;
};

/* This is what standardized uptake values are worked out from (dicom_suv.c). It is never written.
 * NaN and "" if absent. */
struct dicom_uptake {
    double weight_kg, height_m;
    char sex[DICOM_CODE_MAX];
    double dose_bq, half_life_s;
    double series_date_s, series_time_s;
    double start_s;                    /* Radiopharmaceutical Start Time, of a day */
    struct dicom_clock start, ge_scan; /* the same with its date; when a GE scan began */
    struct dicom_clock corrected_to;   /* of enhanced PET: to when its decay is corrected */
    char decay_corrected[DICOM_CODE_MAX], attenuation_corrected[DICOM_CODE_MAX];
    char nuclide[DICOM_CODE_MAX]; /* its code */
    double philips_factor;        /* SUV by body weight for each count, as Philips states it */
    bool several;                 /* injections */
};

/* This is what the header states of one image file as a whole. Every number was checked against the
 * file. An empty text is absent. */
struct dicom_file {
    const char *path; /* arena */
    int folder; /* number of the folder in which it was found; DICOM_NAMED: the user named the file
                   itself */
    int entry;  /* which of the paths that the user named led to it */
    dev_t device;
    ino_t inode;
    int64_t file_bytes;
    struct timespec modified; /* with device, inode and size: how a change of the file shows when it
                                 is opened again */
    const char *refusal;      /* why this file cannot be part of any volume, or NULL; arena */
    const char *refusal_code;
    const char *advice;  /* what the user can do about it; NULL: what the code says; arena */
    const char *warning; /* names parts that were passed over, such as bytes behind the pixels; or
                            NULL; arena */
    char sop_class[DICOM_UID_MAX], sop_instance[DICOM_UID_MAX], study[DICOM_UID_MAX],
        series[DICOM_UID_MAX], frame_of_reference[DICOM_UID_MAX], syntax_uid[DICOM_UID_MAX],
        concatenation[DICOM_UID_MAX]; /* the image that was cut into this and other files */
    enum dicom_syntax syntax;
    char modality[DICOM_TEXT_MAX], image_type[DICOM_TEXT_MAX * 2], photometric[DICOM_TEXT_MAX],
        units[DICOM_TEXT_MAX], dose_units[DICOM_TEXT_MAX], ge_sequence[DICOM_TEXT_MAX],
        burned_in[DICOM_TEXT_MAX], description[DICOM_TEXT_MAX], protocol[DICOM_TEXT_MAX],
        patient_name[DICOM_TEXT_MAX], /* they are only compared, never written */
        flow[DICOM_TEXT_MAX], sequence_name[DICOM_TEXT_MAX], /* of Siemens, which name a flow */
        multi_energy[DICOM_CODE_MAX],                        /* Multi-energy CT Acquisition */
        aspect[DICOM_CODE_MAX],          /* Pixel Aspect Ratio, only to say that it is not used */
        nominal_spacing[DICOM_TEXT_MAX]; /* of a secondary capture: the Pixel Spacing of what was
                                            captured */
    int rows, columns, samples_per_pixel, bits_allocated, bits_stored, high_bit,
        pixel_representation;
    struct dicom_lut lut;
    bool unsure_mosaic; /* it says that it is a mosaic, and nothing else does: it is refused, unless
                           its series shows that it is a slice */
    bool real_world;    /* it states what stored values mean, beside or in place of Rescale Slope
                           (0040,9096) */
    int float_bits;     /* the pixels are floats (32) or doubles (64); 0: integers */
    bool overlays;      /* overlays are stated to be in the bits of the pixels */
    double
        activity_scale; /* of PET, as Philips states it for counts: Bq/ml a count; NaN if absent */
    struct dicom_uptake uptake;
    bool words; /* 8-bit pixels in big-endian words of 16 bits: every other byte comes first */
    int64_t frames;
    double tilt_degree; /* only to warn; NaN if absent */
    double images_in_acquisition, series_instances,
        concatenation_files; /* as the file claims; NaN if absent */
    double series_number, repetition_ms, temporal_positions, temporal_resolution_ms, study_date_s,
        study_time_s;                   /* NaN if absent */
    double pet_slices, pet_time_slices; /* of PET: slices of a volume, volumes, as the file claims;
                                           NaN if absent */
    double private_slices,
        private_volumes; /* the same as GE and Philips state it for MR; NaN if absent */
    int64_t pixel_offset, pixel_bytes; /* value of the pixel data; of compressed pixels the
                                          fragments and their headers */
    int64_t deflate_offset; /* where the stream of a deflated data set begins; all other offsets are
                               in its inflated bytes */
    struct dicom_stream *streams; /* compressed pixels: one for each of `frames`; arena */
    bool lossy;                   /* the first compressed frame itself says that it is not exact */
    int precision; /* bits a sample of the first frame, which the others must have; 0: any, or not
                      compressed */
    char lossy_compression[DICOM_TEXT_MAX], lossy_ratio[DICOM_TEXT_MAX],
        lossy_method[DICOM_TEXT_MAX]; /* as stated */
    struct dicom_image *images; /* n_images, at least one, in the order of the pixel data; arena */
    size_t n_images;
};

/* This is one image of a file, which may become a slice of a volume. Flags `have_...` state which
 * values are there; an empty text is absent. */
struct dicom_image {
    const struct dicom_file *file;
    int64_t frame;                   /* which frame of the file holds its pixels, from 0 */
    int rows, columns;               /* of the image: those of the file, or of a tile of a mosaic */
    int tile;                        /* of a mosaic: its number from 0 */
    int tile_row, tile_column;       /* its first row and column in the frame */
    char frame_type[DICOM_TEXT_MAX]; /* Image Type, of a frame its own */
    char map[DICOM_CODE_MAX]; /* what it was computed to show, such as ADC or FAT (dicom_kind.h) */
    char velocity[DICOM_TEXT_MAX];     /* the direction and velocity of the flow that it encodes */
    char breath[DICOM_CODE_MAX];       /* Starting Respiratory Phase */
    char labeling[DICOM_CODE_MAX];     /* of perfusion: ASL Context, such as LABEL or CONTROL */
    char comment[DICOM_TEXT_MAX];      /* Image Comments or Frame Comments; only compared */
    char kind[DICOM_CODE_MAX];         /* value 3 of it, such as AXIAL, LOCALIZER, M or PHASE MAP */
    double real_slope, real_intercept; /* of a linear Real World Value Mapping; NaN: not stated */
    char real_unit[DICOM_CODE_MAX];
    char component[DICOM_CODE_MAX]; /* of a complex MR image: MAGNITUDE, PHASE, REAL or IMAGINARY */
    char coil[DICOM_CODE_MAX];      /* the receive coil; it is only compared, never written */
    char stack[DICOM_CODE_MAX];     /* which stack of slices of its file holds the frame */
    char rescale_type[DICOM_TEXT_MAX];
    bool unplaced; /* a frame of which nothing says where it lies but its place among those of its
                      file */
    /* of the phase encoding, as GE's epi_pepolar states it (dicom_groups.c) */
    enum dicom_polarity polarity;
    bool have_position, have_orientation, have_spacing, have_slope, have_intercept, have_padding,
        have_padding_limit;
    double position_mm[3], orientation[6]; /* row cosines, then column cosines */
    double spacing_mm[2]; /* between rows (y), between columns (x): the DICOM order */
    double slope, intercept;
    double spacing_between_slices_mm; /* only to warn; NaN if absent */
    double in_stack; /* In-Stack Position Number, only to find positions that contradict it; NaN if
                        absent */
    double slice_location_mm; /* only to find positions that contradict it; NaN if absent */
    double scale_slope, scale_intercept; /* of Philips MR: the measured value is (stored -
                                            intercept) / slope; NaN if absent */
    /* stored values of the type of the pixels; NaN is one of floats */
    double padding, padding_limit;
    /* NaN if absent */
    double echo_time_ms, temporal_position, acquisition_number, b_value, instance_number;
    uint32_t dimensions[DICOM_DIMENSIONS]; /* Dimension Index Values, from 1; 0: none, or not that
                                              many */
    double cardiac_percent, cycle_percent; /* of the cycle; the second is that of a frame */
    double respiratory_percent;            /* likewise; NaN if absent */
    double velocity_direction[3];          /* of an encoded flow: its axis in patient coordinates */
    double velocity_most;                  /* and the largest velocity in cm/s; NaN if absent */
    double velocity_philips[3];            /* both in one, of Philips; NaN if absent */
    double delay_ms; /* of a frame, as trigger_ms, where that is not stated; NaN if absent */
    /* times whose differences count; NaN if absent */
    double acquired_s, time_offset_s, trigger_ms, frame_reference_ms, content_s;
    double zone_s;     /* offset of acquired_s from UTC; NaN if not stated */
    bool zone_in_time; /* the time itself states it, not Timezone Offset From UTC */
    double clock_s; /* Acquisition Date and Time, if acquired_s is the Acquisition DateTime beside
                       them; else NaN */
    double slice_time_ms;  /* of a tile, from the start of its volume; NaN if absent */
    double phase_positive; /* 1: phase is encoded towards rising rows or columns; 0: the other way;
                              NaN if absent */
    double vendor_kind;    /* a vendor's number for the kind of image; NaN if absent */
    double ge_type;        /* 0 to 3: the part of a complex GE image; NaN if absent */
    bool have_gradient;
    double gradient[3]; /* direction of the diffusion weighting, in patient coordinates (LPS); NaN
                           if absent */
    double ge_b_value, ge_gradient[3]; /* the same as GE states them (dicom_weightings.c); NaN if
                                          absent */
    double dimensions_rank; /* the order that Dimension Index Values give it at its position
                               (dicom_volumes.c) */
    double weighting_order; /* the order by diffusion weighting (dicom_weightings.c) */
    double frame_order;     /* and in the file */
    double echo_ms; /* echo_time_ms without what is rounding (dicom_group.c); once images are
                       grouped */
    /* Grouping sets it: echo_ms if each echo is a series of its own, else NaN. */
    double echo_key;
    const struct dicom_value *values;  /* what describes the acquisition (dicom_fields.h); arena */
    const struct dicom_unread *unread; /* what cannot be read; NULL: nothing; arena */
    const char *keys[DICOM_SERIES_KEYS]; /* what tells its series from others (dicom_join.h); once
                                            images are grouped */
    unsigned torn; /* 1 << i: images that agree with it but for attribute i, and would be one volume
                      with it, are others of its series UID; once images are grouped */
    unsigned divided; /* the same, whether they would be one volume or not */
    double along_mm;  /* position along the normal of its series, once that has been arranged */
};

enum { DICOM_NAMED = -1 };

/* The reasons why a name in the input is not an image. */
enum dicom_other_kind {
    DICOM_NO_MAGIC, /* without "DICM" at byte 128 */
    DICOM_EMPTY,
    DICOM_SHORT, /* shorter than preamble and magic, and no text */
    DICOM_NO_PIXELS,
    DICOM_DICOMDIR,
    DICOM_LINK,    /* to a folder; not followed */
    DICOM_LOOP,    /* a link that leads to itself */
    DICOM_GIT,     /* a folder .git, which holds other names of the files beside it; not searched */
    DICOM_BARE,    /* a folder without any name in it */
    DICOM_SPECIAL, /* a FIFO, socket or device; not opened */
    DICOM_UNREADABLE, /* it could not be looked at, opened or read; `error` says why */
    DICOM_OTHER_KINDS,
    DICOM_DAMAGED =
        DICOM_OTHER_KINDS /* an image with a broken header; not among the others of a folder */
};

/* A name in the input that is not an image. */
struct dicom_other {
    const char *path; /* arena */
    enum dicom_other_kind kind;
    int error;          /* errno */
    const char *target; /* where a link points that cannot be followed; NULL without one; arena */
    int folder;         /* as in struct dicom_file */
    int64_t bytes;
    bool regions; /* the object is read as a mask */
    bool data_set, foreign,
        apple_double; /* its first bytes look like these; foreign: a text or a document */
    bool suspect;     /* it may have been a slice; dicom_lost.c decides */
    const char *noun; /* what the object is, as ts_dicom_object_noun says it; NULL: not known */
};

/* Each bit stands for a property that may tell images at one position apart, beside their kind,
 * which always makes a series of its own. */
enum dicom_split {
    DICOM_SPLIT_ECHO = 1,
    DICOM_SPLIT_TIME = 2,
    DICOM_SPLIT_B = 4,
    DICOM_SPLIT_ACQUISITION = 8
};

/* Returns true for kinds of folders. */
static inline bool dicom_other_is_folder(enum dicom_other_kind kind)
{
    return kind == DICOM_LINK || kind == DICOM_GIT || kind == DICOM_BARE;
}

/* All that was found in the input, sorted by path. */
struct dicom_folder {
    struct dicom_file *files;
    struct dicom_other *others;
    size_t n_files, n_others;
    size_t n_seen, n_of[DICOM_OTHER_KINDS]; /* n_seen: files, whatever they hold */
    size_t
        n_same; /* names of files that were left out because another name leads to the same file */
    size_t n_idle; /* paths that the user named and that brought no image, if there are several */
    const char *idle;
    int n_folders; /* that were searched */
    bool skip;     /* the chain allows that files cannot be read */
    unsigned
        split; /* enum dicom_split bits: what makes series of their own of images under one UID */
    unsigned join; /* 1 << enum dicom_series_key: attributes that do not tell series apart */
};

/* Returns where the pixels of a frame begin that are not compressed. */
int64_t ts_dicom_frame_offset(const struct dicom_image *image);
/* Returns the distance in mm up to which positions are one: 0.001 mm, or less if the pixels or the
 * slices of a small object lie closer together: a hundredth of the Pixel Spacing, a tenth of
 * Spacing Between Slices. */
double ts_dicom_same_position(const struct dicom_image *image);
/* Returns the bytes of one decoded frame; rows, columns and bits_allocated must have been
 * checked. */
int64_t ts_dicom_frame_bytes(const struct dicom_file *file);
/* Returns true if the header or the first frame says that the images were compressed with loss. */
bool ts_dicom_says_loss(const struct dicom_file *file);
/* Returns true if a SOP Class UID is 1.2.840.10008.5.1.4.1.1.X for an X of the list, which NULL
 * ends. An X that ends in a dot stands for all classes that begin with it. Source: DICOM PS3.4 B.5
 * (Standard SOP Classes). */
bool ts_dicom_is_class(const char *uid, const char *const *classes);
/* Returns true for secondary captures, of one frame or several. */
bool ts_dicom_is_capture(const struct dicom_file *file);

#endif
