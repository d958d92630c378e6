/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages over a socket between the program and its children, with open descriptors if needed.
 */
#ifndef IO_SANDBOX_CHANNEL_H
#define IO_SANDBOX_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>

enum { CHANNEL_FDS = 9 }; /* most descriptors of one message */

/* Writes all of the bytes, or returns false with errno. If the peer is gone, errno is EPIPE; there
   is no signal. */
bool ts_channel_write(int fd, const void *data, size_t bytes);
/* Reads all of the bytes, or returns false with errno, which is 0 if the stream has ended. */
bool ts_channel_read(int fd, void *data, size_t bytes);
/* Sends one whole message with descriptors. */
bool ts_channel_send(int fd, const void *data, size_t bytes, const int *fds, int n_fds);
/* Receives the next message of `bytes` bytes with at most *n_fds descriptors; *n_fds becomes their
   number. */
bool ts_channel_receive(int fd, void *data, size_t bytes, int *fds, int *n_fds);

#endif
