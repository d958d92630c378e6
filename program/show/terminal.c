/* SPDX-License-Identifier: Apache-2.0
 *
 * kitty takes RGB in base64, in parts of at most 4096 letters: its "terminal graphics protocol".
 * Sixels are columns of six pixels, written one color at a time; a color is stated in percent, so
 * there are 101 grays, and colors of overlays are rounded to a cube of 5 x 5 x 5 (DEC, VT330/VT340
 * Programmer Reference, volume 2, 1988, chapter 14). A half block (U+2580) shows the upper pixel in
 * its own color and the lower one in that of its background.
 */
#include "program/show/terminal.h"

#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "core/timing.h"
#include "program/show/base64.h"

enum {
    CHANNELS = 4,
    GRAYS = 101,
    CUBE = 5,
    SIXEL_COLORS = GRAYS + CUBE * CUBE * CUBE,
    PERCENT = 100,
    BAND = 6
};

/* ---- what the terminal can show -------------------------------------------------------------- */

enum terminal_way ts_terminal_choose(const char *answer)
{
    if (strstr(answer, "\x1B_Gi=31;OK"))
        return TERMINAL_KITTY;
    const char *attributes = strstr(answer, "\x1B[?");
    for (const char *at = attributes ? strchr(attributes, ';') : NULL; at; at = strchr(at + 1, ';'))
        if (at[1] == '4' && (at[2] == ';' || at[2] == 'c'))
            return TERMINAL_SIXEL;
    return TERMINAL_BLOCKS;
}

/* Reads the terminal's answer, up to the end of its device attributes. */
static void read_answer(int fd, char *answer, size_t size)
{
    enum { WAIT_MS = 1000, MS_PER_SECOND = 1000 };
    const double end = ts_seconds() + (double)WAIT_MS / MS_PER_SECOND;
    size_t n = 0;
    answer[0] = 0;
    for (double left; n + 1 < size && (left = end - ts_seconds()) > 0;) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        if (poll(&ready, 1, (int)(left * MS_PER_SECOND) + 1) != 1 || read(fd, answer + n, 1) != 1)
            break;
        answer[++n] = 0;
        const char *attributes = strstr(answer, "\x1B[?");
        if (attributes && strchr(attributes, 'c'))
            break;
    }
}

enum terminal_way ts_terminal_way(int fd)
{
    char answer[512];
    struct termios before, raw;
    if (!isatty(fd) || tcgetattr(fd, &before) != 0)
        return TERMINAL_BLOCKS;
    raw = before;
    raw.c_lflag &= ~(
        tcflag_t)(ICANON | ECHO); /* the answer comes at once, not line by line, and is not shown */
    if (tcsetattr(fd, TCSANOW, &raw) != 0)
        return TERMINAL_BLOCKS;
    const size_t n = strlen(TERMINAL_QUESTION);
    const bool asked = write(fd, TERMINAL_QUESTION, n) == (ssize_t)n;
    answer[0] = 0;
    if (asked)
        read_answer(fd, answer, sizeof answer);
    tcsetattr(fd, TCSANOW, &before);
    return ts_terminal_choose(answer);
}

static int32_t least(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

void ts_terminal_fit(int fd, enum terminal_way way, int32_t *width, int32_t *height)
{
    enum { COLUMNS = 80, ROWS = 24, TEXT_ROWS = 2 };
    struct winsize found;
    const bool known =
        ioctl(fd, TIOCGWINSZ, &found) == 0 && found.ws_col > 0 && found.ws_row > TEXT_ROWS;
    const int32_t rows = known ? found.ws_row : ROWS;
    if (way == TERMINAL_BLOCKS) {
        *width = least(*width, known ? found.ws_col : COLUMNS);
        *height = least(*height, 2 * (rows - TEXT_ROWS));
    } else if (known && found.ws_xpixel > 0 && found.ws_ypixel > 0) {
        *width = least(*width, found.ws_xpixel);
        *height = least(*height, found.ws_ypixel / rows * (rows - TEXT_ROWS));
    }
    *width = *width > 1 ? *width : 1;
    *height = *height > 2 ? *height : 2;
}

/* ---- kitty ----------------------------------------------------------------------------------- */

static void write_kitty(FILE *stream, const uint8_t *pixels, int32_t width, int32_t height)
{
    enum { PART = 1024 }; /* in pixels, which are 4096 letters */
    uint8_t colors[3 * PART];
    const int64_t n = (int64_t)width * height;
    for (int64_t at = 0; at < n; at += PART) {
        const int64_t end = at + PART < n ? at + PART : n;
        if (at == 0)
            fprintf(stream, "\x1B_Ga=T,q=2,f=24,s=%d,v=%d,m=%d;", width, height, end < n);
        else
            fprintf(stream, "\x1B_Gm=%d;", end < n);
        for (int64_t i = at; i < end; i++)
            memcpy(colors + 3 * (i - at), pixels + i * CHANNELS, 3);
        ts_base64_write(stream, colors, (size_t)(3 * (end - at)));
        fputs("\x1B\\", stream);
    }
    putc('\n', stream);
}

/* ---- sixels ---------------------------------------------------------------------------------- */

static int to_step(int value, int steps)
{
    return (value * (steps - 1) + 127) / 255;
}

static int sixel_color(const uint8_t *pixel)
{
    const int red = pixel[0], green = pixel[1], blue = pixel[2];
    if (red == green && green == blue)
        return to_step(red, GRAYS);
    return GRAYS + (to_step(red, CUBE) * CUBE + to_step(green, CUBE)) * CUBE + to_step(blue, CUBE);
}

static void write_run(FILE *stream, int letter, int32_t n)
{
    enum { SHORT = 3 }; /* a run of so many letters is not longer than its number */
    if (n > SHORT)
        fprintf(stream, "!%d%c", n, letter);
    else
        for (int32_t i = 0; i < n; i++)
            putc(letter, stream);
}

/* Writes one color of a band of six rows. */
static void write_color(FILE *stream, const uint8_t *band, int32_t width, int32_t rows, int color)
{
    int32_t run = 0;
    int last = 0;
    fprintf(stream, "#%d", color);
    for (int32_t x = 0; x < width; x++) {
        int bits = 0;
        for (int32_t y = 0; y < rows; y++)
            bits |= (sixel_color(band + ((int64_t)y * width + x) * CHANNELS) == color) << y;
        if (bits != last && run > 0) {
            write_run(stream, last + '?', run);
            run = 0;
        }
        last = bits;
        run++;
    }
    write_run(stream, last + '?', run);
    putc('$', stream);
}

static void write_sixels(FILE *stream, const uint8_t *pixels, int32_t width, int32_t height)
{
    fprintf(stream, "\x1BP0;1;0q\"1;1;%d;%d", width, height);
    for (int i = 0; i < GRAYS; i++)
        fprintf(stream, "#%d;2;%d;%d;%d", i, i, i, i);
    for (int i = 0; i < CUBE * CUBE * CUBE; i++)
        fprintf(stream, "#%d;2;%d;%d;%d", GRAYS + i, i / CUBE / CUBE * PERCENT / (CUBE - 1),
                i / CUBE % CUBE * PERCENT / (CUBE - 1), i % CUBE * PERCENT / (CUBE - 1));
    for (int32_t top = 0; top < height; top += BAND) {
        const uint8_t *band = pixels + (int64_t)top * width * CHANNELS;
        const int32_t rows = least(BAND, height - top);
        bool used[SIXEL_COLORS] = {false};
        for (int64_t i = 0; i < (int64_t)rows * width; i++)
            used[sixel_color(band + i * CHANNELS)] = true;
        for (int i = 0; i < SIXEL_COLORS; i++)
            if (used[i])
                write_color(stream, band, width, rows, i);
        putc('-', stream);
    }
    fputs("\x1B\\\n", stream);
}

/* ---- half blocks ----------------------------------------------------------------------------- */

static void write_blocks(FILE *stream, const uint8_t *pixels, int32_t width, int32_t height)
{
    static const uint8_t black[CHANNELS] = {0};
    for (int32_t y = 0; y < height; y += 2) {
        const uint8_t *last[2] = {NULL, NULL};
        for (int32_t x = 0; x < width; x++) {
            const uint8_t *upper = pixels + ((int64_t)y * width + x) * CHANNELS;
            const uint8_t *lower = y + 1 < height ? upper + (int64_t)width * CHANNELS : black;
            if (!last[0] || memcmp(last[0], upper, 3) != 0)
                fprintf(stream, "\x1B[38;2;%d;%d;%dm", upper[0], upper[1], upper[2]);
            if (!last[1] || memcmp(last[1], lower, 3) != 0)
                fprintf(stream, "\x1B[48;2;%d;%d;%dm", lower[0], lower[1], lower[2]);
            fputs("\xE2\x96\x80", stream);
            last[0] = upper;
            last[1] = lower;
        }
        fputs("\x1B[0m\n", stream);
    }
}

void ts_terminal_write(FILE *stream, enum terminal_way way, const uint8_t *pixels, int32_t width,
                       int32_t height)
{
    static void (*const writers[])(FILE *, const uint8_t *, int32_t,
                                   int32_t) = {[TERMINAL_KITTY] = write_kitty,
                                               [TERMINAL_SIXEL] = write_sixels,
                                               [TERMINAL_BLOCKS] = write_blocks};
    writers[way](stream, pixels, width, height);
}
