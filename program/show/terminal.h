/* SPDX-License-Identifier: Apache-2.0
 *
 * Shows a picture in a terminal: by the graphics of kitty, as sixels, or as half blocks, which
 * every terminal with 24-bit colors can show.
 */
#ifndef PROGRAM_SHOW_TERMINAL_H
#define PROGRAM_SHOW_TERMINAL_H

#include <stdint.h>
#include <stdio.h>

enum terminal_way { TERMINAL_KITTY, TERMINAL_SIXEL, TERMINAL_BLOCKS };

/* Asks the terminal of a file descriptor what it can show, and waits at most a second for its
   answer. Returns half blocks for anything that is no terminal or does not answer. */
enum terminal_way ts_terminal_way(int fd);
/* Chooses from an answer to TERMINAL_QUESTION, which ends with a zero byte. */
enum terminal_way ts_terminal_choose(const char *answer);
/* Asks for a picture of one pixel in kitty's protocol, which other terminals ignore, and then for
   the primary device attributes, which all terminals answer; 4 among these means sixels. */
#define TERMINAL_QUESTION "\x1B_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1B\\\x1B[c"
/* Reduces the width and height, in pixels, to what fits the terminal above a line of text. A half
   block is one pixel wide and two high; without a terminal, 80 x 24 letters are assumed. */
void ts_terminal_fit(int fd, enum terminal_way way, int32_t *width, int32_t *height);
/* Writes an RGBA picture of width * height pixels. A failed write sets the stream's error
   indicator. */
void ts_terminal_write(FILE *stream, enum terminal_way way, const uint8_t *pixels, int32_t width,
                       int32_t height);

#endif
