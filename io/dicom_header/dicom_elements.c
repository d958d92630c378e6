/* SPDX-License-Identifier: Apache-2.0
 *
 * The element walk. A stack of fixed size holds the levels, which are sequences and items. Levels
 * of known length end where the offset reaches their end, the others at their delimiter. The walk
 * checks all nested elements but hands out few, since a volume needs no others.
 */
#include "io/dicom_header/dicom_elements.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "io/file/inflate_file.h"

enum { ITEM_HEADER_BYTES = 8 };

/* Returns how many bytes at `offset` the buffer now holds; -1 with errno if they cannot be read. */
static ssize_t fill_buffer(struct dicom_reader *reader, int64_t offset)
{
    ssize_t got;
    if (reader->inflated) {
        const int64_t left = reader->file_bytes - offset;
        const size_t n = left < DICOM_BUFFER_BYTES ? (size_t)left : DICOM_BUFFER_BYTES;
        const enum inflate_end end =
            ts_inflate_file_read(reader->inflated, offset, reader->buffer, n);
        if (end == INFLATE_WHOLE)
            return (ssize_t)n;
        return end == INFLATE_UNREADABLE ? -1 : 0;
    }
    do {
        got = pread(reader->fd, reader->buffer, DICOM_BUFFER_BYTES, offset);
    } while (got < 0 && errno == EINTR);
    return got;
}

bool ts_dicom_read(struct dicom_reader *reader, int64_t offset, void *out, size_t n)
{
    if (offset < 0 || offset > reader->file_bytes ||
        (uint64_t)n > (uint64_t)(reader->file_bytes - offset))
        return false;
    unsigned char *to = out;
    while (n > 0) {
        int64_t at = offset - reader->buffer_offset;
        if (at < 0 || at >= (int64_t)reader->buffer_bytes) {
            const ssize_t got = fill_buffer(reader, offset);
            reader->buffer_offset = offset;
            reader->buffer_bytes = got > 0 ? (size_t)got : 0;
            if (got <= 0) {
                reader->error = got < 0 && !reader->error ? errno : reader->error;
                return false;
            }
            at = 0;
        }
        size_t here = reader->buffer_bytes - (size_t)at;
        size_t take = here < n ? here : n;
        memcpy(to, reader->buffer + at, take);
        to += take;
        offset += (int64_t)take;
        n -= take;
    }
    return true;
}

uint16_t ts_dicom_u16(const unsigned char *bytes, bool big_endian)
{
    return (uint16_t)(big_endian ? bytes[0] << 8 | bytes[1] : bytes[1] << 8 | bytes[0]);
}

uint32_t ts_dicom_u32(const unsigned char *bytes, bool big_endian)
{
    uint32_t first = ts_dicom_u16(bytes, big_endian), second = ts_dicom_u16(bytes + 2, big_endian);
    return big_endian ? first << 16 | second : second << 16 | first;
}

static bool is_one_of(const char *letters, const char *list)
{
    for (; *list; list += 2)
        if (letters[0] == list[0] && letters[1] == list[1])
            return true;
    return false;
}

bool ts_dicom_is_vr(const char *letters)
{
    return is_one_of(letters,
                     "AEASATCSDADSDTFLFDISLOLTOBODOFOLOVOWPNSHSLSQSSSTSVTMUCUIULUNURUSUTUV");
}

bool ts_dicom_is_pixels(uint32_t tag)
{
    return tag == DICOM_PIXEL_DATA || tag == DICOM_FLOAT_PIXELS || tag == DICOM_DOUBLE_PIXELS;
}

static enum dicom_step broken(struct dicom_walk *walk, const char *code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static enum dicom_step broken(struct dicom_walk *walk, const char *code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(walk->message, sizeof walk->message, format, arguments);
    va_end(arguments);
    walk->code = code;
    return DICOM_STEP_BROKEN;
}

void ts_dicom_walk_init(struct dicom_walk *walk, struct dicom_reader *reader, int64_t offset,
                        bool implicit, bool big_endian)
{
    *walk = (struct dicom_walk){.reader = reader,
                                .offset = offset,
                                .implicit = implicit,
                                .big_endian = big_endian,
                                .max_elements = DICOM_MAX_ELEMENTS};
}

static uint32_t tag_of(const unsigned char *bytes, bool big_endian)
{
    return DICOM_TAG(ts_dicom_u16(bytes, big_endian), ts_dicom_u16(bytes + 2, big_endian));
}

uint32_t ts_dicom_walk_peek(struct dicom_walk *walk)
{
    unsigned char bytes[4];
    return ts_dicom_read(walk->reader, walk->offset, bytes, 4) ? tag_of(bytes, walk->big_endian)
                                                               : 0;
}

/* Returns the end of the innermost level of known length, or of the file. */
static int64_t limit_of(const struct dicom_walk *walk)
{
    for (int i = walk->n_levels - 1; i >= 0; i--)
        if (walk->levels[i].end >= 0)
            return walk->levels[i].end;
    return walk->reader->file_bytes;
}

/* Reads tag, VR and length at walk->offset and moves behind them. */
static enum dicom_step read_header(struct dicom_walk *walk, bool implicit,
                                   struct dicom_element *element)
{
    unsigned char bytes[12];
    int64_t limit = limit_of(walk);
    *element = (struct dicom_element){.tag = 0};
    if (limit - walk->offset < 8 || !ts_dicom_read(walk->reader, walk->offset, bytes, 8))
        return broken(walk, "dicom-truncated",
                      "the data set ends inside an element header at byte %" PRId64, walk->offset);
    element->tag = tag_of(bytes, walk->big_endian);
    int64_t header = 8;
    if (implicit || element->tag >> 16 == 0xFFFE) {
        element->length = ts_dicom_u32(bytes + 4, walk->big_endian);
    } else {
        memcpy(element->vr, bytes + 4, 2);
        bool letters = element->vr[0] >= 'A' && element->vr[0] <= 'Z' && element->vr[1] >= 'A' &&
                       element->vr[1] <= 'Z';
        if (!letters)
            return broken(walk, "dicom-bad-vr",
                          "element (%04x,%04x) at byte %" PRId64 " has no value representation",
                          element->tag >> 16, element->tag & 0xFFFF, walk->offset);
        /* PS3.5 7.1.2: every VR outside the old short ones, and so any VR to come, has a 32-bit
         * length. */
        if (is_one_of(element->vr, "AEASATCSDADSDTFLFDISLOLTPNSHSLSSSTTMUIULUS")) {
            element->length = ts_dicom_u16(bytes + 6, walk->big_endian);
        } else {
            header = 12;
            if (limit - walk->offset < 12 || !ts_dicom_read(walk->reader, walk->offset, bytes, 12))
                return broken(walk, "dicom-truncated",
                              "the data set ends inside an element header at byte %" PRId64,
                              walk->offset);
            element->length = ts_dicom_u32(bytes + 8, walk->big_endian);
        }
    }
    walk->offset += header;
    element->offset = walk->offset;
    if (++walk->n_elements > walk->max_elements)
        return broken(walk, "dicom-too-many-elements", "more than %" PRId64 " elements",
                      walk->max_elements);
    return DICOM_STEP_ELEMENT;
}

static enum dicom_step push(struct dicom_walk *walk, uint32_t tag, bool is_item, bool implicit,
                            uint32_t length)
{
    if (walk->n_levels == 2 * DICOM_MAX_NESTING)
        return broken(walk, "dicom-too-deep", "sequences nested deeper than %d",
                      (int)DICOM_MAX_NESTING);
    int64_t end = -1;
    if (length != DICOM_UNDEFINED) {
        int64_t limit = limit_of(walk);
        if ((int64_t)length > limit - walk->offset)
            return broken(walk, "dicom-length",
                          "a sequence or item claims %" PRIu32 " bytes at byte %" PRId64
                          ", %" PRId64 " are left",
                          length, walk->offset, limit - walk->offset);
        end = walk->offset + (int64_t)length;
    }
    if (walk->n_levels == 0)
        walk->open = walk->is_open && walk->is_open(tag);
    walk->levels[walk->n_levels++] =
        (struct dicom_level){.end = end, .tag = tag, .is_item = is_item, .implicit = implicit};
    return DICOM_STEP_ELEMENT;
}

/* Takes the element between two items, which must be an item or the end of the sequence. */
static enum dicom_step step_in_sequence(struct dicom_walk *walk,
                                        const struct dicom_element *element)
{
    struct dicom_level *level = &walk->levels[walk->n_levels - 1];
    if (element->tag == DICOM_ITEM) {
        level->n_items++;
        return push(walk, level->tag, true, level->implicit, element->length);
    }
    if (element->tag == DICOM_SEQUENCE_END && level->end < 0 && element->length == 0) {
        walk->n_levels--;
        return DICOM_STEP_ELEMENT;
    }
    return broken(walk, "dicom-bad-sequence",
                  "(%04x,%04x) stands where a sequence item should, at byte %" PRId64,
                  element->tag >> 16, element->tag & 0xFFFF, walk->offset);
}

/* Returns true if the walk is at the value of a sequence whose VR is not known: of undefined
 * length, which nothing else has, or, if its elements are wanted, one that begins with an item.
 * Those of known length that are not wanted are passed over as values. */
static bool is_unnamed_sequence(struct dicom_walk *walk, const struct dicom_element *element)
{
    const bool wanted =
        walk->n_levels > 0 ? walk->open : walk->is_open && walk->is_open(element->tag);
    return element->length == DICOM_UNDEFINED || (wanted && element->length >= ITEM_HEADER_BYTES &&
                                                  ts_dicom_walk_peek(walk) == DICOM_ITEM);
}

/* Moves behind a value, or into it if it is a sequence. */
static enum dicom_step enter_or_skip(struct dicom_walk *walk, struct dicom_element *element,
                                     bool implicit)
{
    bool top = walk->n_levels == 0, undefined = element->length == DICOM_UNDEFINED;
    bool pixels = top && ts_dicom_is_pixels(element->tag);
    if (undefined && top && element->tag == DICOM_PIXEL_DATA)
        return DICOM_STEP_ELEMENT;
    const bool no_vr = implicit || !strcmp(element->vr, "UN");
    if (!strcmp(element->vr, "SQ") || (no_vr && is_unnamed_sequence(walk, element)))
        return push(walk, element->tag, false, no_vr,
                    element->length); /* PS3.5 6.2.2: UN holds implicit VR */
    int64_t left = limit_of(walk) - walk->offset;
    if (undefined)
        return broken(walk, "dicom-length", "element (%04x,%04x) of VR %s has no length",
                      element->tag >> 16, element->tag & 0xFFFF, element->vr);
    if ((int64_t)element->length > left) {
        if (pixels) {
            element->truncated = true;
            walk->offset += left;
            return DICOM_STEP_ELEMENT;
        }
        return broken(walk, "dicom-length",
                      "element (%04x,%04x) claims %" PRIu32 " bytes at byte %" PRId64 ", %" PRId64
                      " are left",
                      element->tag >> 16, element->tag & 0xFFFF, element->length, walk->offset,
                      left);
    }
    if (!pixels && element->length > DICOM_MAX_VALUE_BYTES)
        return broken(
            walk, "dicom-length", "element (%04x,%04x) claims %" PRIu32 " bytes, the limit is %d",
            element->tag >> 16, element->tag & 0xFFFF, element->length, (int)DICOM_MAX_VALUE_BYTES);
    walk->offset += (int64_t)element->length;
    return DICOM_STEP_ELEMENT;
}

/* Notes where the element stands, whose sequences the walk has entered. Returns whether it is
 * handed out: `depth` is the number of levels around it. */
static bool note_place(const struct dicom_walk *walk, int depth, struct dicom_element *element)
{
    if (depth == 0)
        return true;
    element->root = walk->levels[0].tag;
    element->item = walk->levels[0].n_items - 1;
    element->parent = walk->levels[depth - 1].tag;
    return walk->open;
}

enum dicom_step ts_dicom_walk_next(struct dicom_walk *walk, struct dicom_element *out)
{
    for (;;) {
        while (walk->n_levels > 0 && walk->levels[walk->n_levels - 1].end == walk->offset)
            walk->n_levels--;
        const int depth = walk->n_levels;
        if (depth == 0 && walk->offset == walk->reader->file_bytes)
            return DICOM_STEP_END;
        const struct dicom_level *level = depth == 0 ? NULL : &walk->levels[depth - 1];
        bool implicit = level ? level->implicit : walk->implicit, given = false;
        struct dicom_element element;
        enum dicom_step step = read_header(walk, implicit, &element);
        if (step != DICOM_STEP_ELEMENT)
            return step;
        if (level && !level->is_item) {
            step = step_in_sequence(walk, &element);
            given = element.tag == DICOM_ITEM;
        } else if (level && element.tag == DICOM_ITEM_END && level->end < 0 &&
                   element.length == 0) {
            walk->n_levels--;
        } else if (element.tag >> 16 == 0xFFFE) {
            step =
                broken(walk, "dicom-bad-sequence", "a stray delimiter (%04x,%04x) at byte %" PRId64,
                       element.tag >> 16, element.tag & 0xFFFF, walk->offset);
        } else {
            step = enter_or_skip(walk, &element, implicit);
            given = true;
        }
        if (step != DICOM_STEP_ELEMENT)
            return step;
        if (given && note_place(walk, depth, &element)) {
            *out = element;
            return step;
        }
    }
}
