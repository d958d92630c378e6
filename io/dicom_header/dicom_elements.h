/* SPDX-License-Identifier: Apache-2.0
 *
 * Walks the elements of a DICOM data set without recursion. It hands out the top-level ones, and
 * those inside of a few sequences that the caller names; all other nested ones are only checked.
 * Every length is held against the rest of the file and of the enclosing item before it is used.
 * Source: DICOM PS3.5, 7 (data set), 7.5 (sequences), 6.2.2 (UN of undefined length).
 */
#ifndef IO_DICOM_HEADER_DICOM_ELEMENTS_H
#define IO_DICOM_HEADER_DICOM_ELEMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DICOM_TAG(group, element) ((uint32_t)(group) << 16 | (uint32_t)(element))
#define DICOM_UNDEFINED UINT32_MAX
#define DICOM_PIXEL_DATA DICOM_TAG(0x7FE0, 0x0010)
#define DICOM_FRAME_OFFSETS DICOM_TAG(0x7FE0, 0x0001)
#define DICOM_FLOAT_PIXELS DICOM_TAG(0x7FE0, 0x0008)
#define DICOM_DOUBLE_PIXELS DICOM_TAG(0x7FE0, 0x0009)
#define DICOM_ITEM DICOM_TAG(0xFFFE, 0xE000)
#define DICOM_ITEM_END DICOM_TAG(0xFFFE, 0xE00D)
#define DICOM_SEQUENCE_END DICOM_TAG(0xFFFE, 0xE0DD)

enum {
    DICOM_BUFFER_BYTES = 16384,
    DICOM_MAX_NESTING = 32,
    DICOM_MAX_ELEMENTS = 100000,
    DICOM_MAX_VALUE_BYTES = 64 << 20 /* limit of any value but pixels */
};

struct inflate_file;

/* Reads a file, or the inflated bytes of its data set, at any place through one small buffer, so
 * that a header costs one read and pixels none. */
struct dicom_reader {
    int fd;
    struct inflate_file *inflated; /* NULL: the bytes of the file */
    int error;                     /* errno of the first read that failed; 0 while none has */
    int64_t file_bytes;            /* of what is read */
    int64_t buffer_offset;
    size_t buffer_bytes;
    unsigned char buffer[DICOM_BUFFER_BYTES];
};

/* Copies n bytes at `offset`. Returns false if the file does not hold them or cannot be read
 * (reader->error). */
bool ts_dicom_read(struct dicom_reader *reader, int64_t offset, void *out, size_t n);

struct dicom_element {
    uint32_t tag;
    char vr[3];      /* "" if the encoding is implicit */
    uint32_t length; /* as claimed; DICOM_UNDEFINED only for pixel data */
    int64_t offset;  /* where the value begins */
    bool truncated;  /* pixel data alone: the file ends before the value does */
    /* Inside of a sequence that the caller named: the tag of that sequence, the number of its item,
     * from 0, and the tag of the innermost sequence around the element. At the top level all are
     * 0. */
    uint32_t root, parent;
    int64_t item;
};

struct dicom_level {
    int64_t end;     /* first byte behind, or -1: a delimiter ends it */
    uint32_t tag;    /* of the sequence; of an item that of its sequence */
    int64_t n_items; /* of a sequence: how many have begun */
    bool is_item;
    bool implicit;
};

struct dicom_walk {
    struct dicom_reader *reader;
    int64_t offset; /* where the next element begins; the caller moves it behind encapsulated pixel
                       data */
    bool implicit, big_endian;
    bool (*is_open)(uint32_t tag); /* whether the elements inside of this top-level sequence are
                                      handed out; NULL: no */
    int64_t n_elements, max_elements;
    int n_levels;
    bool open; /* the walk is inside of a sequence that is open */
    struct dicom_level levels[2 * DICOM_MAX_NESTING];
    const char *code; /* where broken */
    char message[192];
};

enum dicom_step { DICOM_STEP_ELEMENT, DICOM_STEP_END, DICOM_STEP_BROKEN };

/* Begins a walk from `offset` to the end of the file, in this encoding. */
void ts_dicom_walk_init(struct dicom_walk *walk, struct dicom_reader *reader, int64_t offset,
                        bool implicit, bool big_endian);
/* Gives the next top-level element, or the next one inside of an open sequence, where the beginning
 * of each of its items is given as an element DICOM_ITEM too. The walk goes on behind the element's
 * value, but for a sequence, whose items come next, and for encapsulated pixel data. */
enum dicom_step ts_dicom_walk_next(struct dicom_walk *walk, struct dicom_element *element);
/* Returns the tag of the next element without moving on, or 0 at the end. */
uint32_t ts_dicom_walk_peek(struct dicom_walk *walk);

/* Read unsigned integers of 2 and 4 bytes. */
uint16_t ts_dicom_u16(const unsigned char *bytes, bool big_endian);
uint32_t ts_dicom_u32(const unsigned char *bytes, bool big_endian);
/* Returns true for pixel data of integers, of floats and of doubles. */
bool ts_dicom_is_pixels(uint32_t tag);
bool ts_dicom_is_vr(const char *letters); /* one of the standard's two-letter names */

#endif
