/* SPDX-License-Identifier: Apache-2.0
 *
 * These rules decide which fragments are a frame, in the order of trust: the extended or the basic
 * offset table, if it has a place for each frame, rises from 0, and names starts of fragments
 * alone; else one fragment each, if there are as many as frames; else the fragments that begin with
 * the first marker of a JPEG or JPEG 2000 stream, if those are as many. Tables are often empty and
 * sometimes wrong, so that a wrong one is no fault of the file as long as another rule finds the
 * frames.
 */
#include "io/dicom_header/dicom_fragments.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "io/dicom_header/dicom_pixels.h"

struct fragment {
    int64_t offset; /* of its header */
    int64_t bytes;  /* of its value */
};

struct fragments {
    struct fragment *items; /* the basic offset table first, then the fragments */
    size_t n, capacity;
};

/* Reads the items up to the delimiter. False: the file is refused. */
static bool read_items(struct scan *scan, struct dicom_walk *walk, struct fragments *fragments)
{
    for (;;) {
        unsigned char bytes[DICOM_ITEM_HEADER_BYTES];
        if (!ts_dicom_read(walk->reader, walk->offset, bytes, sizeof bytes)) {
            /* A missing delimiter loses nothing if the last fragment is whole; PS3.5 A.4 wants it
             * all the same. */
            ts_dicom_refuse(scan, "dicom-truncated",
                            "the file ends before the end of its compressed pixel data");
            return false;
        }
        const uint32_t tag = DICOM_TAG(ts_dicom_u16(bytes, false), ts_dicom_u16(bytes + 2, false));
        const uint32_t claimed = ts_dicom_u32(bytes + 4, false);
        const int64_t left = walk->reader->file_bytes - walk->offset - (int64_t)sizeof bytes;
        if (tag == DICOM_SEQUENCE_END && claimed == 0 && fragments->n > 0) {
            walk->offset += (int64_t)sizeof bytes;
            return true;
        }
        if (tag != DICOM_ITEM || claimed == DICOM_UNDEFINED) {
            ts_dicom_refuse(scan, "dicom-bad-fragments",
                            "(%04x,%04x) stands where a fragment should, at byte %" PRId64,
                            tag >> 16, tag & 0xFFFF, walk->offset);
            return false;
        }
        if ((int64_t)claimed > left) {
            ts_dicom_refuse(scan, "dicom-bad-fragments",
                            "fragment %zu claims %" PRIu32 " bytes, %" PRId64 " are left",
                            fragments->n, claimed, left);
            return false;
        }
        if (++walk->n_elements > walk->max_elements) {
            ts_dicom_refuse(scan, "dicom-too-many-elements", "more than %" PRId64 " elements",
                            walk->max_elements);
            return false;
        }
        struct fragment *grown =
            ts_memory_grow(fragments->items, fragments->n, &fragments->capacity, sizeof *grown);
        if (!grown) {
            ts_dicom_refuse(scan, "no-memory", "memory is out");
            return false;
        }
        fragments->items = grown;
        grown[fragments->n++] = (struct fragment){walk->offset, claimed};
        walk->offset += (int64_t)sizeof bytes + claimed;
    }
}

/* Assigns fragments [first, end) to a stream. Fragments follow each other without a gap. */
static struct dicom_stream make_stream(const struct fragment *fragments, size_t first, size_t end)
{
    const struct fragment *last = &fragments[end - 1];
    return (struct dicom_stream){.offset = fragments[first].offset,
                                 .bytes = last->offset + DICOM_ITEM_HEADER_BYTES + last->bytes -
                                          fragments[first].offset,
                                 .n_fragments = (int)(end - first)};
}

static uint64_t read_u64(const unsigned char *bytes)
{
    return (uint64_t)ts_dicom_u32(bytes + 4, false) << 32 | ts_dicom_u32(bytes, false);
}

/* Takes the frames from a table of `width` bytes a frame. */
static bool take_table(struct scan *scan, const struct fragment *table, int width,
                       const struct fragment *fragments, size_t n, struct dicom_stream *streams)
{
    const int64_t frames = scan->file->frames;
    size_t first = 0;
    if (table->bytes != frames * width)
        return false;
    for (int64_t frame = 0; frame < frames; frame++) {
        unsigned char bytes[8] = {0};
        if (!ts_dicom_read(&scan->reader, table->offset + frame * width, bytes, (size_t)width))
            return false;
        const uint64_t start = read_u64(bytes);
        size_t at = first;
        while (at < n && (uint64_t)(fragments[at].offset - fragments[0].offset) < start)
            at++;
        if (at == n || (uint64_t)(fragments[at].offset - fragments[0].offset) != start ||
            (at > first) != (frame > 0))
            return false;
        if (frame > 0)
            streams[frame - 1] = make_stream(fragments, first, at);
        first = at;
    }
    streams[frames - 1] = make_stream(fragments, first, n);
    return true;
}

static bool begins_stream(struct scan *scan, const struct fragment *fragment)
{
    static const unsigned char jpeg[] = {0xFF, 0xD8, 0xFF}, jpeg_2000[] = {0xFF, 0x4F, 0xFF, 0x51};
    unsigned char bytes[4];
    return fragment->bytes >= (int64_t)sizeof bytes &&
           ts_dicom_read(&scan->reader, fragment->offset + DICOM_ITEM_HEADER_BYTES, bytes,
                         sizeof bytes) &&
           (memcmp(bytes, jpeg, sizeof jpeg) == 0 ||
            memcmp(bytes, jpeg_2000, sizeof jpeg_2000) == 0);
}

/* Takes the frames from the markers at the starts of fragments. */
static bool take_markers(struct scan *scan, const struct fragment *fragments, size_t n,
                         struct dicom_stream *streams)
{
    int64_t frame = 0;
    size_t first = 0;
    for (size_t at = 0; at < n; at++) {
        const bool begins = begins_stream(scan, &fragments[at]);
        if (at == 0 && !begins)
            return false;
        if (at == 0 || !begins)
            continue;
        if (frame + 1 == scan->file->frames)
            return false;
        streams[frame++] = make_stream(fragments, first, at);
        first = at;
    }
    streams[frame] = make_stream(fragments, first, n);
    return frame + 1 == scan->file->frames;
}

static void assign(struct scan *scan, const struct fragment *basic,
                   const struct fragment *fragments, size_t n)
{
    struct dicom_file *file = scan->file;
    const struct fragment extended = {scan->offsets_offset, scan->offsets_bytes};
    if (file->frames < 1 || n == 0) /* refused later, by name */
        return;
    const size_t frames = (size_t)file->frames;
    struct dicom_stream *streams =
        frames <= n ? ts_arena_alloc(scan->arena, frames * sizeof *streams) : NULL;
    if (frames <= n && !streams) {
        ts_dicom_refuse(scan, "no-memory", "memory is out");
        return;
    }
    bool found = false;
    if (frames == 1) {
        streams[0] = make_stream(fragments, 0, n);
        found = true;
    } else if (streams) {
        const struct fragment table = {basic->offset + DICOM_ITEM_HEADER_BYTES, basic->bytes};
        found = take_table(scan, &extended, 8, fragments, n, streams) ||
                take_table(scan, &table, 4, fragments, n, streams);
        for (size_t frame = 0; !found && n == frames && frame < frames; frame++)
            streams[frame] = make_stream(fragments, frame, frame + 1);
        found = found || n == frames || take_markers(scan, fragments, n, streams);
    }
    if (found)
        file->streams = streams;
    else
        ts_dicom_refuse(
            scan, "dicom-bad-fragments",
            "%zu fragments for %zu frames, and neither an offset table nor markers assign them", n,
            frames);
}

void ts_dicom_walk_fragments(struct scan *scan, struct dicom_walk *walk)
{
    struct fragments all = {.items = NULL};
    if (read_items(scan, walk, &all) && all.n > 1) {
        const struct dicom_stream whole = make_stream(all.items, 1, all.n);
        scan->file->pixel_offset = whole.offset;
        scan->file->pixel_bytes = whole.bytes;
        scan->compressed_bytes = ts_dicom_stream_bytes(&whole);
        assign(scan, &all.items[0], all.items + 1, all.n - 1);
    }
    free(all.items);
}

int64_t ts_dicom_stream_bytes(const struct dicom_stream *stream)
{
    return stream->bytes - (int64_t)stream->n_fragments * DICOM_ITEM_HEADER_BYTES;
}

size_t ts_dicom_stream_start(struct dicom_reader *reader, const struct dicom_stream *stream,
                             unsigned char *out, size_t n)
{
    size_t done = 0;
    int64_t offset = stream->offset;
    for (int i = 0; i < stream->n_fragments && done < n; i++) {
        unsigned char header[DICOM_ITEM_HEADER_BYTES];
        if (!ts_dicom_read(reader, offset, header, sizeof header))
            return 0;
        const size_t bytes = ts_dicom_u32(header + 4, false),
                     here = bytes < n - done ? bytes : n - done;
        if (!ts_dicom_read(reader, offset + DICOM_ITEM_HEADER_BYTES, out + done, here))
            return 0;
        done += here;
        offset += DICOM_ITEM_HEADER_BYTES + (int64_t)bytes;
    }
    return done;
}

bool ts_dicom_stream_join(const struct dicom_stream *stream, unsigned char *bytes)
{
    size_t from = 0, to = 0;
    for (int i = 0; i < stream->n_fragments; i++) {
        const size_t left = (size_t)stream->bytes - from;
        if (left < DICOM_ITEM_HEADER_BYTES)
            return false;
        const size_t n = ts_dicom_u32(bytes + from + 4, false);
        if (n > left - DICOM_ITEM_HEADER_BYTES)
            return false;
        memmove(bytes + to, bytes + from + DICOM_ITEM_HEADER_BYTES, n);
        from += DICOM_ITEM_HEADER_BYTES + n;
        to += n;
    }
    return from == (size_t)stream->bytes;
}
