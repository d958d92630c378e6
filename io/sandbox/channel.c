/* SPDX-License-Identifier: Apache-2.0
 *
 * A stream socket may transfer a part of a message or be interrupted; these functions go on until
 * all of it is transferred. Descriptors are sent with the first byte of their message (SCM_RIGHTS).
 * More of them than expected are closed at once, so that a peer cannot fill this process's table.
 */
#include "io/sandbox/channel.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union descriptors {
    struct cmsghdr head;
    char bytes[CMSG_SPACE(sizeof(int[CHANNEL_FDS]))];
};

bool ts_channel_write(int fd, const void *data, size_t bytes)
{
    for (const char *at = data; bytes > 0;) {
        const ssize_t n = send(fd, at, bytes, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR)
            return false;
        at += n > 0 ? n : 0;
        bytes -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

bool ts_channel_read(int fd, void *data, size_t bytes)
{
    for (char *at = data; bytes > 0;) {
        const ssize_t n = read(fd, at, bytes);
        if (n == 0)
            errno = 0;
        if (n == 0 || (n < 0 && errno != EINTR))
            return false;
        at += n > 0 ? n : 0;
        bytes -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

bool ts_channel_send(int fd, const void *data, size_t bytes, const int *fds, int n_fds)
{
    union descriptors control;
    struct iovec part = {.iov_base = (void *)data, .iov_len = bytes};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    ssize_t n;
    memset(&control, 0, sizeof control); /* {0} would leave all but its head as it is */
    if (n_fds > 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE((size_t)n_fds * sizeof *fds);
        control.head.cmsg_level = SOL_SOCKET;
        control.head.cmsg_type = SCM_RIGHTS;
        control.head.cmsg_len = CMSG_LEN((size_t)n_fds * sizeof *fds);
        memcpy(CMSG_DATA(&control.head), fds, (size_t)n_fds * sizeof *fds);
    }
    do {
        n = sendmsg(fd, &message, MSG_NOSIGNAL);
    } while (n < 0 && errno == EINTR);
    return n == (ssize_t)bytes ||
           (n > 0 && ts_channel_write(fd, (const char *)data + n, bytes - (size_t)n));
}

bool ts_channel_receive(int fd, void *data, size_t bytes, int *fds, int *n_fds)
{
    union descriptors control;
    struct iovec part = {.iov_base = data, .iov_len = bytes};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    const int most = *n_fds;
    ssize_t n;
    memset(&control, 0, sizeof control);
    *n_fds = 0;
    do {
        n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
    } while (n < 0 && errno == EINTR);
    if (n <= 0) {
        errno = n == 0 ? 0 : errno;
        return false;
    }
    const struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    const int found = head && head->cmsg_type == SCM_RIGHTS
                          ? (int)((head->cmsg_len - CMSG_LEN(0)) / sizeof *fds)
                          : 0;
    for (int i = 0; i < found; i++) {
        int descriptor;
        memcpy(&descriptor, CMSG_DATA(head) + (size_t)i * sizeof descriptor, sizeof descriptor);
        if (*n_fds < most)
            fds[(*n_fds)++] = descriptor;
        else
            close(descriptor);
    }
    return n == (ssize_t)bytes || ts_channel_read(fd, (char *)data + n, bytes - (size_t)n);
}
