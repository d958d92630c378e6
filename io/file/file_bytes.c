/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls pread, preadv and pwrite until all is done, and again if they are interrupted. errno 0
 * means that the file ends early.
 */
#include "io/file/file_bytes.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

bool ts_file_read_at(int fd, void *out, size_t bytes, uint64_t offset)
{
    for (unsigned char *to = out; bytes > 0;) {
        const ssize_t n = pread(fd, to, bytes, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            errno = n == 0 ? 0 : errno;
            return false;
        }
        to += n;
        bytes -= (size_t)n;
        offset += (uint64_t)n;
    }
    return true;
}

bool ts_file_read_to(int fd, struct iovec *places, int n, uint64_t offset)
{
    while (n > 0) {
        ssize_t bytes = preadv(fd, places, n < IOV_MAX ? n : IOV_MAX, (off_t)offset);
        if (bytes < 0 && errno == EINTR)
            continue;
        if (bytes <= 0) {
            errno = bytes == 0 ? 0 : errno;
            return false;
        }
        offset += (uint64_t)bytes;
        for (; n > 0 && (size_t)bytes >= places->iov_len; places++, n--)
            bytes -= (ssize_t)places->iov_len;
        if (bytes > 0) {
            places->iov_base = (unsigned char *)places->iov_base + bytes;
            places->iov_len -= (size_t)bytes;
        }
    }
    return true;
}

bool ts_file_write_at(int fd, const void *data, size_t bytes, uint64_t offset)
{
    for (const unsigned char *from = data; bytes > 0;) {
        const ssize_t n = pwrite(fd, from, bytes, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            errno = n == 0 ? EIO : errno;
            return false;
        }
        from += n;
        bytes -= (size_t)n;
        offset += (uint64_t)n;
    }
    return true;
}

const char *ts_errno_text(int error_number)
{
    const char *text = strerrordesc_np(error_number);
    return text ? text : "unknown error";
}
