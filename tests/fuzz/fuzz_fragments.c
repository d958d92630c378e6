/* SPDX-License-Identifier: Apache-2.0
 *
 * Fragments of compressed pixel data and their offset tables. The first two bytes are the number of
 * frames, the next the length of an extended offset table, which follows; the rest is the pixel
 * data. Every stream that is found must lie in the file, behind the one before it, and join.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "io/dicom_header/dicom_fragments.h"
#include "tests/fuzz/fuzz.h"

enum { HEAD_BYTES = 3 };

static void check(struct scan *scan, const uint8_t *data, int64_t bytes)
{
    int64_t end = 0;
    for (int64_t i = 0; scan->file->streams && i < scan->file->frames; i++) {
        const struct dicom_stream stream = scan->file->streams[i];
        if (stream.offset < end || stream.bytes < 0 || stream.bytes > bytes - stream.offset ||
            stream.n_fragments < 1 || ts_dicom_stream_bytes(&stream) < 0)
            abort();
        unsigned char *copy = malloc((size_t)stream.bytes), start[64];
        if (!copy)
            abort();
        memcpy(copy, data + stream.offset, (size_t)stream.bytes);
        const size_t n = ts_dicom_stream_start(&scan->reader, &stream, start, sizeof start);
        if (!ts_dicom_stream_join(&stream, copy) || (int64_t)n > ts_dicom_stream_bytes(&stream) ||
            memcmp(copy, start, n) != 0)
            abort();
        free(copy);
        end = stream.offset + stream.bytes;
    }
    if (!scan->file->streams && !scan->file->refusal && scan->file->frames > 0 &&
        scan->compressed_bytes > 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char path[FUZZ_PATH];
    if (bytes < HEAD_BYTES || bytes > FUZZ_INPUT_MAX)
        return 0;
    fuzz_write("fragments", data, bytes, path);
    struct arena *arena = ts_arena_create();
    struct dicom_file file = {.frames = data[0] | data[1] << 8};
    struct scan *scan = calloc(1, sizeof *scan);
    if (!scan || !arena)
        abort();
    scan->arena = arena;
    scan->file = &file;
    scan->reader.fd = open(path, O_RDONLY | O_CLOEXEC);
    scan->reader.file_bytes = (int64_t)bytes;
    scan->offsets_offset = HEAD_BYTES;
    scan->offsets_bytes = HEAD_BYTES + data[2] <= bytes ? data[2] : 0;
    struct dicom_walk walk;
    ts_dicom_walk_init(&walk, &scan->reader, HEAD_BYTES + scan->offsets_bytes, false, false);
    ts_dicom_walk_fragments(scan, &walk);
    check(scan, data, (int64_t)bytes);
    close(scan->reader.fd);
    free(scan);
    ts_arena_destroy(arena);
    return 0;
}
