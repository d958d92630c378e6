/* SPDX-License-Identifier: Apache-2.0
 *
 * Deflate streams behind other bytes of a file: read whole, in pieces forward and backward, cut,
 * damaged, and far longer than their files.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "io/file/inflate_file.h"
#include "tests/support/support.h"

enum { OFFSET = 77, BYTES = 300000 };

static const struct inflate_limits unlimited = {INT64_MAX, 1, INT64_MAX};

struct scene {
    int fd;
    size_t deflated;
    struct inflate_file *file;
};

/* A file in memory whose stream begins at OFFSET. */
static struct scene open_scene(const unsigned char *data, size_t bytes)
{
    struct scene scene = {.fd = memfd_create("deflated", MFD_CLOEXEC),
                          .file = ts_inflate_file_create()};
    z_stream stream = {.next_in = (unsigned char *)data, .avail_in = (uInt)bytes};
    cr_assert_eq(deflateInit2(&stream, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
    const size_t bound = deflateBound(&stream, (uLong)bytes);
    unsigned char *out = malloc(bound);
    stream.next_out = out;
    stream.avail_out = (uInt)bound;
    cr_assert_eq(deflate(&stream, Z_FINISH), Z_STREAM_END);
    scene.deflated = stream.total_out;
    deflateEnd(&stream);
    cr_assert_eq(pwrite(scene.fd, out, scene.deflated, OFFSET), (ssize_t)scene.deflated);
    free(out);
    ts_inflate_file_choose(scene.file, scene.fd, 1, 2, OFFSET);
    return scene;
}

static void close_scene(struct scene *scene)
{
    ts_inflate_file_destroy(scene->file);
    close(scene->fd);
}

static unsigned char *make_data(void)
{
    unsigned char *data = malloc(BYTES);
    uint64_t seed = 3;
    for (size_t i = 0; i < BYTES; i++)
        data[i] = (unsigned char)(i / 1000 + ts_random_next(&seed) % 4);
    return data;
}

Test(inflate_file, pieces_in_any_order_are_those_of_the_data)
{
    unsigned char *data = make_data(), piece[5000];
    struct scene scene = open_scene(data, BYTES);
    int64_t inflated, deflated;
    uint64_t seed = 9;
    cr_assert_eq(ts_inflate_file_measure(scene.file, &unlimited, &inflated, &deflated),
                 INFLATE_WHOLE);
    cr_assert(inflated == BYTES && deflated == (int64_t)scene.deflated);
    for (int i = 0; i < 200; i++) {
        const size_t n = ts_random_next(&seed) % sizeof piece,
                     at = ts_random_next(&seed) % (BYTES - n + 1);
        ts_inflate_file_choose(scene.file, scene.fd, 1, 2, OFFSET);
        cr_assert_eq(ts_inflate_file_read(scene.file, (int64_t)at, piece, n), INFLATE_WHOLE);
        cr_assert_eq(memcmp(piece, data + at, n), 0, "%zu bytes at %zu", n, at);
    }
    cr_assert_eq(ts_inflate_file_read(scene.file, BYTES - 1, piece, 2), INFLATE_CUT);
    cr_assert_eq(ts_inflate_file_read(scene.file, BYTES + 5, piece, 1), INFLATE_CUT);
    cr_assert_eq(ts_inflate_file_read(scene.file, 0, piece, 10), INFLATE_WHOLE);
    cr_assert_eq(memcmp(piece, data, 10), 0);
    close_scene(&scene);
    free(data);
}

/* Bytes of one stream must not go on in another. */
Test(inflate_file, another_stream_begins_anew)
{
    unsigned char *data = make_data(), byte;
    struct scene scene = open_scene(data, BYTES), other = open_scene(data + 1, BYTES - 1);
    cr_assert_eq(ts_inflate_file_read(scene.file, 100000, &byte, 1), INFLATE_WHOLE);
    ts_inflate_file_choose(scene.file, other.fd, 1, 3, OFFSET);
    cr_assert_eq(ts_inflate_file_read(scene.file, 150000, &byte, 1), INFLATE_WHOLE);
    cr_assert_eq(byte, data[150001]);
    close_scene(&scene);
    close_scene(&other);
    free(data);
}

Test(inflate_file, cut_and_damaged_streams_are_noticed)
{
    unsigned char *data = make_data(), noise[64];
    struct scene scene = open_scene(data, BYTES);
    int64_t inflated, deflated;
    memset(noise, 0xFF, sizeof noise);
    cr_assert_eq(ftruncate(scene.fd, OFFSET + (off_t)scene.deflated / 2), 0);
    cr_assert_eq(ts_inflate_file_measure(scene.file, &unlimited, &inflated, &deflated),
                 INFLATE_CUT);
    cr_assert(inflated > 0 && inflated < BYTES);
    cr_assert_eq(pwrite(scene.fd, noise, sizeof noise, OFFSET), (ssize_t)sizeof noise);
    cr_assert_eq(ts_inflate_file_measure(scene.file, &unlimited, &inflated, &deflated),
                 INFLATE_DAMAGED);
    ts_inflate_file_choose(scene.file, -1, 5, 5, 0);
    cr_assert_eq(ts_inflate_file_measure(scene.file, &unlimited, &inflated, &deflated),
                 INFLATE_UNREADABLE);
    close_scene(&scene);
    free(data);
}

/* A stream of zeros is given up where it passes the ratio, and long before its end. */
Test(inflate_file, a_bomb_is_given_up_early)
{
    const size_t bytes = (size_t)64 << 20;
    unsigned char *zeros = calloc(bytes, 1);
    struct scene scene = open_scene(zeros, bytes);
    const struct inflate_limits ratio = {1 << 20, 500, INT64_MAX}, total = {INT64_MAX, 1, 3 << 20};
    int64_t inflated, deflated;
    cr_assert_eq(ts_inflate_file_measure(scene.file, &ratio, &inflated, &deflated), INFLATE_LIMIT);
    cr_assert(inflated > 1 << 20 && inflated < 3 << 20 && inflated / deflated >= 500, "%lld",
              (long long)inflated);
    cr_assert_eq(ts_inflate_file_measure(scene.file, &total, &inflated, &deflated), INFLATE_LIMIT);
    cr_assert(inflated > 3 << 20 && inflated < 4 << 20);
    cr_assert_eq(ts_inflate_file_measure(scene.file, &unlimited, &inflated, &deflated),
                 INFLATE_WHOLE);
    cr_assert_eq(inflated, (int64_t)bytes);
    close_scene(&scene);
    free(zeros);
}
