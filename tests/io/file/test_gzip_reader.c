/* SPDX-License-Identifier: Apache-2.0
 *
 * Gzip files are read to their ends: members one after the other, bytes behind them, and files that
 * are cut anywhere or have another checksum or length than their data.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "io/file/gzip_reader.h"
#include "tests/support/folders.h"
#include "tests/support/support.h"

enum { DATA = 700 << 10, MOST = 2 * DATA };

static char folder[256], path[300];
static unsigned char data[DATA], file[MOST];

static void begin(void)
{
    uint64_t seed = 5;
    ts_test_folder_in_memory(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/a.gz", folder);
    for (int i = 0; i < DATA; i++)
        data[i] = (unsigned char)ts_random_next(
            &seed); /* the file is longer than a buffer of the reader */
}

static void end(void)
{
    ts_test_remove_folder(folder);
}

TestSuite(gzip_reader, .init = begin, .fini = end);

/* Appends a member of `bytes` of the data at `at` of the file, and returns where it ends. */
static size_t add_member(size_t at, size_t bytes)
{
    z_stream stream = {.next_in = data,
                       .avail_in = (uInt)bytes,
                       .next_out = file + at,
                       .avail_out = (uInt)(MOST - at)};
    cr_assert(deflateInit2(&stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    cr_assert_eq(deflate(&stream, Z_FINISH), Z_STREAM_END);
    deflateEnd(&stream);
    return MOST - stream.avail_out;
}

/* Reads the first `first` bytes of a file of n, and then checks at most `most`. Returns what is
 * wrong, or NULL. */
static const char *check(size_t n, size_t first, uint64_t most, bool *whole)
{
    static unsigned char read[DATA];
    const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    cr_assert(fd >= 0 && write(fd, file, n) == (ssize_t)n);
    struct gzip_reader *reader = ts_gzip_reader_create(fd, 0);
    const char *wrong = ts_gzip_reader_read(reader, read, first);
    cr_assert(wrong || !memcmp(read, data, first));
    *whole = false;
    wrong = wrong ? wrong : ts_gzip_reader_check(reader, most, whole, &(uint64_t){0});
    ts_gzip_reader_destroy(reader);
    close(fd);
    return wrong;
}

Test(gzip_reader, whole_files_are_whole)
{
    bool whole;
    const size_t one = add_member(0, DATA);
    for (size_t first = 0; first <= DATA; first += DATA / 2)
        cr_assert(!check(one, first, DATA, &whole) && whole);
    cr_assert(!check(one, DATA, 1, &whole) && whole,
              "the values were read, and the checksum is left");
    cr_assert(!check(one, 0, DATA / 2, &whole) && !whole, "half of it is left");
    memset(file + one, 0, 100);
    cr_assert(!check(one + 100, DATA, 1, &whole) && whole, "bytes behind the member");
    const size_t two = add_member(one, DATA / 4);
    cr_assert(!check(two, DATA, DATA, &whole) && whole, "two members");
    file[two - 8] ^= 1;
    cr_assert(check(two, DATA, DATA, &whole), "the second is damaged");
    cr_assert(!check(two, DATA, 1, &whole) && !whole);
    file[one + 1] ^= 1;
    const char *wrong = check(two, DATA, DATA, &whole);
    cr_assert(wrong && strstr(wrong, "cannot be inflated"), "the second has no header: %s", wrong);
}

Test(gzip_reader, damaged_files_are_refused)
{
    bool whole;
    const size_t n = add_member(0, DATA);
    for (size_t k = 1; k <= 8; k++) { /* the checksum and the length */
        file[n - k] ^= 0x10;
        const char *wrong = check(n, DATA, 1, &whole);
        cr_assert(wrong && strstr(wrong, "checksum or length") && !whole, "byte %zu from the end",
                  k);
        file[n - k] ^= 0x10;
        cr_assert(check(n - k, DATA, 1, &whole) && !whole, "%zu bytes are cut off", k);
    }
    cr_assert(check(n / 2, 0, MOST, &whole) && !whole);
    file[n / 2] ^= 0x10;
    cr_assert(check(n, 0, MOST, &whole) && !whole);
}
