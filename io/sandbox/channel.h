/* SPDX-License-Identifier: Apache-2.0
 *
 * These functions pass messages over a socket between the program and its children, with open
 * descriptors where they are needed.
 */
#ifndef IO_SANDBOX_CHANNEL_H
#define IO_SANDBOX_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>

enum { CHANNEL_FDS = 10 }; /* most descriptors of one message */

/* Writes all of the bytes, or returns false with errno. A peer that is gone gives EPIPE, never a
 * signal. */
bool ts_channel_write(int fd, const void *data, size_t bytes);
/* Reads all of the bytes, or returns false with errno, which is 0 where the stream ended. */
bool ts_channel_read(int fd, void *data, size_t bytes);
/* Sends one whole message with descriptors. */
bool ts_channel_send(int fd, const void *data, size_t bytes, const int *fds, int n_fds);
/* Receives the next message of `bytes` bytes with at most *n_fds descriptors; *n_fds becomes how
 * many there were. */
bool ts_channel_receive(int fd, void *data, size_t bytes, int *fds, int *n_fds);

#endif
