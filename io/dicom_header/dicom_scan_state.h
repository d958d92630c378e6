/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of one file's scan, which the parts of the scanner fill in turn: dicom_scan.c walks the
 * file, dicom_values.c reads the values, dicom_pixels.c checks them against each other.
 */
#ifndef IO_DICOM_HEADER_DICOM_SCAN_STATE_H
#define IO_DICOM_HEADER_DICOM_SCAN_STATE_H

#include <string.h>

#include "core/arena.h"
#include "io/dicom_header/dicom_elements.h"
#include "io/dicom_header/dicom_file.h"

/* Functional groups of all frames. */
#define DICOM_SHARED_GROUPS DICOM_TAG(0x5200, 0x9229)

/* The Radiopharmaceutical Information Sequence of PET: doses, each with its time. */
#define DICOM_DOSE_SEQUENCE DICOM_TAG(0x0054, 0x0016)

enum { DICOM_PREAMBLE_BYTES = 128, DICOM_MAGIC_END = 132, DICOM_START_BYTES = DICOM_MAGIC_END + 8 };

enum {
    DICOM_MAX_WANTED = 192,
    DICOM_MAX_BLOCKS = 32,
    DICOM_MAX_FRAMES = 100000 /* of one file */
};

/* This is a block of private elements: the element that reserves it, the sequence in which it
 * stands, and for whom it is reserved (enum creator of dicom_values.c). */
struct dicom_block {
    uint32_t tag, parent;
    int creator;
};

/* This is when an image was made, in seconds as ts_dicom_parse_time has them; NaN if it is not
 * stated. */
struct dicom_moment {
    double date_s, time_s, both_s; /* as a date, a time of day, and one element that holds both */
};

/* This is a tile of a UIH mosaic, as its item of the private sequence (0065,1051) states it; NaN if
 * absent. */
struct dicom_grid_tile {
    double position_mm[3], acquired_s;
};

struct scan {
    struct arena *arena;
    struct dicom_file *file;
    struct dicom_image image;   /* the values that hold for every image of the file */
    struct dicom_image *frames; /* those of each frame or tile, once they are known; to be freed */
    size_t n_frames, frames_capacity;
    bool has_groups; /* the file has functional groups */
    struct dicom_reader reader;
    bool met[DICOM_MAX_WANTED],
        filled[DICOM_MAX_WANTED], /* row i of the table of wanted elements was met, held a value */
        shared[DICOM_MAX_WANTED]; /* it held one in the groups that all frames share */
    struct dicom_block blocks[DICOM_MAX_BLOCKS];
    int n_blocks;
    struct dicom_place
        csa; /* Siemens' private header of the image, which the mosaic needs; length 0: none */
    struct dicom_place plane_offsets; /* Grid Frame Offset Vector of a dose; length 0: none */
    double dose_scaling;              /* NaN if absent */
    int padding, padding_limit;       /* of integer pixels, as raw bits */
    double float_padding, float_padding_limit, double_padding,
        double_padding_limit; /* of floats and of doubles */
    double lut_descriptor[3]; /* of the Modality LUT: entries, first stored value, bits; NaN if
                                 absent */
    struct dicom_moment acquired, content;
    double zone_s;                  /* Timezone Offset From UTC; NaN if absent */
    char type_text[DICOM_TEXT_MAX]; /* Siemens' image type of a frame */
    double matrix[4], steps[2]; /* Acquisition Matrix, and encoding steps of frames: the measured
                                   rows and columns of an image; NaN if absent */
    double mosaic_tiles;        /* as a private element states it; NaN if absent */
    double grid_tiles, grid_b_value,
        grid_gradient[3];          /* the same of UIH, and its diffusion weighting in the axes of
                                      the image; NaN if absent */
    struct dicom_grid_tile *tiles; /* of UIH; to be freed */
    size_t n_tiles, tiles_capacity;
    double smallest, largest; /* Smallest and Largest Image Pixel Value; NaN if absent */
    double ge_polarity; /* GE's user variable 12, which states the polarity of epi_pepolar; NaN if
                           absent */
    char media_class[DICOM_UID_MAX];
    bool met_pixels, encapsulated, pixels_truncated;
    int64_t pixels_claimed; /* length of native pixel data, as the element states it */
    int64_t offsets_offset, offsets_bytes; /* the value of an extended offset table */
    int64_t compressed_bytes;              /* of all fragments, without their headers */
};

/* Records why the file cannot be part of a volume. The first reason stands; `code` is a literal. */
void ts_dicom_refuse(struct scan *scan, const char *code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Returns the image to which elements belong now: the frame whose functional groups are read, or
 * the one that stands for all. */
struct dicom_image *ts_dicom_current_image(struct scan *scan);
/* Notes that the element, which has this name, holds no number or time that can be read, so that it
 * counts as absent. Padding is no value. `tells` and `field` are those of struct dicom_unread. */
void ts_dicom_note_unread(struct scan *scan, const struct dicom_element *element, const char *name,
                          const char *bytes, size_t length, bool tells, size_t field);
/* Returns a value in arena text whose characters are all printable, without the padding at its ends
 * and cut behind `most` of its bytes; NULL if memory is out. */
const char *ts_dicom_escape(struct scan *scan, const char *bytes, size_t length, size_t most);
/* Records what was passed over. The first warning stands; `text` is a literal or arena text. */
void ts_dicom_warn(struct scan *scan, const char *text);

/* Reads the file meta group, which begins at `offset`. Returns false if it is broken. Afterwards
 * walk->offset is the data set's first byte. */
bool ts_dicom_read_meta(struct scan *scan, struct dicom_walk *walk, int64_t offset);
/* The same for a file that begins with its data set, of whose first 8 bytes the syntax is taken. */
void ts_dicom_begin_without_meta(struct scan *scan, struct dicom_walk *walk,
                                 const unsigned char *start);
/* Begins the walk of the data set in its transfer syntax; a deflated one is read through its
 * inflated bytes. Returns false if the file is refused. */
bool ts_dicom_begin_data_set(struct scan *scan, struct dicom_walk *walk);
/* Refuses a file whose pixel data is compressed and should not be, or the reverse. */
void ts_dicom_refuse_compression(struct scan *scan);
/* Returns the transfer syntax of the compressed pixels whose first fragment has its header at this
 * offset; NULL if that cannot be told. */
const char *ts_dicom_compressed_syntax(struct scan *scan, int64_t offset);
/* Advises a transfer syntax for a file that is about to be refused, unless a refusal stands. */
void ts_dicom_advise_syntax(struct scan *scan, const char *uid);

static inline bool text_equals(const char *text, const char *other)
{
    return strcmp(text, other) == 0;
}

#endif
