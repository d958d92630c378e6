/* SPDX-License-Identifier: Apache-2.0
 *
 * Which fragments of compressed pixel data are a frame: with offset tables that are right, wrong
 * and absent, by counts, by markers; and the joining of a frame's fragments.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/dicom_header/dicom_fragments.h"
#include "io/dicom_header/dicom_scan.h"
#include "tests/files/dicom_fixture.h"

enum { FRAGMENTS_MAX = 8, BYTES_MAX = 1024 };

/* Pixel data as items; lengths end with 0. Each fragment holds its number, behind a start of JPEG
 * where `starts` has a bit for it. */
struct items {
    int frames;
    uint32_t table[FRAGMENTS_MAX];
    int n_table;
    uint64_t extended[FRAGMENTS_MAX];
    int n_extended;
    int lengths[FRAGMENTS_MAX + 1];
    unsigned starts;
    int first[FRAGMENTS_MAX +
              1]; /* expected: the first fragment of each frame and the end; all 0: refused */
};

static size_t put_item(unsigned char *out, uint32_t length)
{
    memcpy(out, "\xFE\xFF\x00\xE0", 4);
    for (int i = 0; i < 4; i++)
        out[4 + i] = (unsigned char)(length >> 8 * i);
    return 8;
}

static size_t encode(const struct items *items, unsigned char out[BYTES_MAX])
{
    size_t n = put_item(out, (uint32_t)(4 * items->n_table));
    for (int i = 0; i < items->n_table; i++)
        for (int k = 0; k < 4; k++)
            out[n++] = (unsigned char)(items->table[i] >> 8 * k);
    for (int i = 0; items->lengths[i] > 0; i++) {
        n += put_item(out + n, (uint32_t)items->lengths[i]);
        memset(out + n, i + 1, (size_t)items->lengths[i]);
        if (items->starts >> i & 1)
            memcpy(out + n, "\xFF\xD8\xFF\xE0", 4);
        n += (size_t)items->lengths[i];
    }
    memcpy(out + n, "\xFE\xFF\xDD\xE0\0\0\0", 8);
    return n + 8;
}

static void scan_items(const struct items *items, struct arena *arena, struct dicom_file *file)
{
    char folder[256], path[300], text[16];
    unsigned char pixels[BYTES_MAX], offsets[8 * FRAGMENTS_MAX];
    struct dicom_fixture fixture;
    struct dicom_other other;
    ts_test_folder_in_memory(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/fragments.dcm", folder);
    ts_fixture_init(&fixture, 0);
    ts_fixture_syntax(&fixture, "1.2.840.10008.1.2.4.70");
    snprintf(text, sizeof text, "%d", items->frames);
    ts_fixture_text(&fixture, 0x00280008, "IS", text);
    for (int i = 0; i < 8 * items->n_extended; i++)
        offsets[i] = (unsigned char)(items->extended[i / 8] >> 8 * (i % 8));
    if (items->n_extended > 0)
        ts_fixture_bytes(&fixture, 0x7FE00001, "OV", offsets, 8 * (size_t)items->n_extended);
    ts_fixture_bytes(&fixture, FIXTURE_PIXELS, "OB", pixels, encode(items, pixels));
    ts_fixture_claim(&fixture, FIXTURE_PIXELS, UINT32_MAX);
    ts_fixture_write(&fixture, path);
    cr_assert(ts_dicom_scan_file(path, arena, file, &other));
    ts_fixture_clear(&fixture);
    ts_test_remove_folder(folder);
}

static const struct items cases[] = {
    /* one frame takes all fragments, whatever the table says */
    {.frames = 1, .lengths = {10}, .first = {0, 1}},
    {.frames = 1, .lengths = {10, 20, 30}, .first = {0, 3}},
    {.frames = 1, .table = {99}, .n_table = 1, .lengths = {10, 20}, .first = {0, 2}},
    /* one fragment each */
    {.frames = 3, .lengths = {10, 20, 30}, .first = {0, 1, 2, 3}},
    {.frames = 3,
     .table = {0, 7, 99},
     .n_table = 3,
     .lengths = {10, 20, 30},
     .first = {0, 1, 2, 3}},
    /* a table that is right */
    {.frames = 2, .table = {0, 46}, .n_table = 2, .lengths = {10, 20, 30}, .first = {0, 2, 3}},
    {.frames = 2,
     .extended = {0, 46},
     .n_extended = 2,
     .lengths = {10, 20, 30},
     .first = {0, 2, 3}},
    /* the extended table is asked first, and the basic one where it is wrong */
    {.frames = 2,
     .extended = {0, 18},
     .n_extended = 2,
     .table = {0, 46},
     .n_table = 2,
     .lengths = {10, 20, 30},
     .first = {0, 1, 3}},
    {.frames = 2,
     .extended = {0, UINT64_MAX},
     .n_extended = 2,
     .table = {0, 46},
     .n_table = 2,
     .lengths = {10, 20, 30},
     .first = {0, 2, 3}},
    /* tables that do not begin at 0, do not rise, point into a fragment or behind the last, have
       too few or too many */
    {.frames = 2, .table = {18, 46}, .n_table = 2, .lengths = {10, 20, 30}},
    {.frames = 2, .table = {0, 0}, .n_table = 2, .lengths = {10, 20, 30}},
    {.frames = 2, .table = {0, 17}, .n_table = 2, .lengths = {10, 20, 30}},
    {.frames = 2, .table = {0, 84}, .n_table = 2, .lengths = {10, 20, 30}},
    {.frames = 2, .table = {0}, .n_table = 1, .lengths = {10, 20, 30}},
    {.frames = 2, .table = {0, 18, 46}, .n_table = 3, .lengths = {10, 20, 30}},
    /* markers, where there is no table or a wrong one */
    {.frames = 2, .lengths = {10, 20, 30}, .starts = 5, .first = {0, 2, 3}},
    {.frames = 2,
     .table = {0, 17},
     .n_table = 2,
     .lengths = {10, 20, 30},
     .starts = 3,
     .first = {0, 1, 3}},
    {.frames = 2, .lengths = {10, 20, 30}, .starts = 6},
    {.frames = 2, .lengths = {10, 20, 30}, .starts = 7},
    {.frames = 3, .lengths = {10, 20, 30, 40}, .starts = 3},
    /* more frames than fragments */
    {.frames = 4, .lengths = {10, 20, 30}, .starts = 7},
    {.frames = 2, .lengths = {10}},
    {.frames = 2147483647, .lengths = {10, 20}},
};

static void check_frames(const struct items *items, const struct dicom_file *file, size_t i)
{
    for (int frame = 0; frame < items->frames; frame++) {
        const struct dicom_stream *stream = &file->streams[frame];
        int64_t bytes = 0, before = 0;
        for (int k = 0; k < items->first[frame + 1]; k++)
            *(k < items->first[frame] ? &before : &bytes) += 8 + items->lengths[k];
        cr_expect(
            stream->offset == file->pixel_offset + before && stream->bytes == bytes &&
                stream->n_fragments == items->first[frame + 1] - items->first[frame],
            "case %zu, frame %d: %d fragments of %lld bytes at %lld, expected %lld bytes at %lld",
            i, frame, stream->n_fragments, (long long)stream->bytes,
            (long long)(stream->offset - file->pixel_offset), (long long)bytes, (long long)before);
    }
}

Test(dicom_fragments, frames_are_found_by_table_count_or_markers)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *arena = ts_arena_create();
        struct dicom_file file;
        scan_items(&cases[i], arena, &file);
        cr_assert_eq(file.streams != NULL, cases[i].first[1] > 0, "case %zu", i);
        if (file.streams)
            check_frames(&cases[i], &file, i);
        else
            cr_expect_str_eq(file.refusal_code, "dicom-bad-fragments", "case %zu: %s", i,
                             file.refusal);
        ts_arena_destroy(arena);
    }
}

Test(dicom_fragments, a_frame_is_joined_of_its_fragments)
{
    static const struct items items = {.frames = 1, .lengths = {10, 2, 30}};
    unsigned char bytes[BYTES_MAX], joined[42];
    const size_t n = encode(&items, bytes);
    struct dicom_stream stream = {.bytes = (int64_t)n - 16, .n_fragments = 3};
    cr_assert_eq(ts_dicom_stream_bytes(&stream), 42);
    memset(joined, 1, 10);
    memset(joined + 10, 2, 2);
    memset(joined + 12, 3, 30);
    cr_assert(ts_dicom_stream_join(&stream, bytes + 8));
    cr_assert_arr_eq(bytes + 8, joined, 42);
    /* Bytes that are not those of the walk: a fragment that is longer, or shorter. */
    encode(&items, bytes);
    bytes[8 + 4] = 11;
    cr_assert_not(ts_dicom_stream_join(&stream, bytes + 8));
    encode(&items, bytes);
    bytes[8 + 4] = 0xFF;
    bytes[8 + 7] = 0xFF;
    cr_assert_not(ts_dicom_stream_join(&stream, bytes + 8));
}
