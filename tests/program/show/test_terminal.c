/* SPDX-License-Identifier: Apache-2.0
 *
 * Pictures for terminals are decoded again, by decoders that know nothing of the code under test.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "program/show/terminal.h"
#include "tests/support/program.h"

enum { WIDTH = 61, HEIGHT = 45, PIXELS = WIDTH * HEIGHT };

static uint8_t pixels[PIXELS * 4], decoded[PIXELS * 3];

static int pixel_at(int x, int y, int channel)
{
    return pixels[(y * WIDTH + x) * 4 + channel];
}

/* Draws a gradient of grays with runs, and some of the colors of an overlay. Returns what is
 * written for it. */
static char *write_picture(enum terminal_way way)
{
    char *text = NULL;
    size_t n = 0;
    for (int i = 0; i < PIXELS; i++) {
        const int gray = i % WIDTH < 20 ? 7 : (i * 31) % 256, colored = i % 17 == 0;
        pixels[4 * i] = (uint8_t)gray;
        pixels[4 * i + 1] = (uint8_t)(colored ? 255 - gray : gray);
        pixels[4 * i + 2] = (uint8_t)(colored ? i % 256 : gray);
        pixels[4 * i + 3] = 255;
    }
    memset(decoded, 0xAA, sizeof decoded);
    FILE *stream = open_memstream(&text, &n);
    ts_terminal_write(stream, way, pixels, WIDTH, HEIGHT);
    fclose(stream);
    return text;
}

static void expect_decoded(int gray_tolerance, int color_tolerance)
{
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            const int is_gray =
                pixel_at(x, y, 0) == pixel_at(x, y, 1) && pixel_at(x, y, 1) == pixel_at(x, y, 2);
            for (int c = 0; c < 3; c++)
                cr_assert(abs(decoded[(y * WIDTH + x) * 3 + c] - pixel_at(x, y, c)) <=
                              (is_gray ? gray_tolerance : color_tolerance),
                          "(%d, %d, %d)", x, y, c);
        }
}

Test(terminal, kitty)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *text = write_picture(TERMINAL_KITTY);
    size_t n = 0;
    int more = 1, parts = 0;
    cr_assert(!strncmp(text, "\x1B_Ga=T,q=2,f=24,s=61,v=45,m=1;", 30));
    for (const char *at = text; more; parts++) {
        cr_assert(!strncmp(at, "\x1B_G", 3));
        const char *data = strchr(at, ';') + 1, *end = strstr(data, "\x1B\\");
        more = data[-2] == '1';
        cr_assert(end - data <= 4096 && (end - data) % 4 == 0);
        for (; data < end; data += 4) {
            unsigned bits = 0;
            for (int i = 0; i < 4; i++)
                bits = bits << 6 | (unsigned)(strchr(letters, data[i]) - letters);
            for (int i = 0; i < 3; i++)
                decoded[n++] = (uint8_t)(bits >> (16 - 8 * i));
        }
        at = end + 2;
    }
    cr_assert(parts == 3 && n == sizeof decoded);
    expect_decoded(0, 0);
    free(text);
}

/* Grays are exact to half a percent, colors to half a step of the cube. */
Test(terminal, sixel)
{
    static int palette[256][3];
    char *text = write_picture(TERMINAL_SIXEL), *at = strchr(text, 'q') + 1;
    int x = 0, top = 0, color = 0, width, height, used;
    cr_assert(sscanf(at, "\"1;1;%d;%d%n", &width, &height, &used) == 2 && width == WIDTH &&
              height == HEIGHT);
    for (at += used; *at != '\x1B';) {
        int n = 1, c[3];
        if (*at == '#') {
            color = (int)strtol(at + 1, &at, 10);
            cr_assert(color >= 0 && color < 256);
            if (sscanf(at, ";2;%d;%d;%d%n", &c[0], &c[1], &c[2], &used) == 3) {
                memcpy(palette[color], c, sizeof c);
                at += used;
            }
            continue;
        }
        if (*at == '$' || *at == '-') {
            top += *at++ == '-' ? 6 : 0;
            x = 0;
            continue;
        }
        if (*at == '!')
            n = (int)strtol(at + 1, &at, 10);
        const int bits = *at++ - '?';
        cr_assert(bits >= 0 && bits < 64 && x + n <= WIDTH);
        for (; n > 0; n--, x++)
            for (int y = 0; y < 6; y++)
                for (int i = 0; (bits >> y & 1) && i < 3; i++)
                    decoded[((top + y) * WIDTH + x) * 3 + i] =
                        (uint8_t)(palette[color][i] * 255 / 100);
    }
    expect_decoded(3, 33);
    free(text);
}

Test(terminal, half_blocks)
{
    char *text = write_picture(TERMINAL_BLOCKS), *at = text;
    int colors[2][3] = {{0}}, x = 0, y = 0, ground, c[3], used;
    while (*at) {
        if (sscanf(at, "\x1B[%d;2;%d;%d;%dm%n", &ground, &c[0], &c[1], &c[2], &used) == 4) {
            memcpy(colors[ground == 48], c, sizeof c);
            at += used;
        } else if (!strncmp(at, "\x1B[0m\n", 5)) {
            cr_assert_eq(x, WIDTH);
            x = 0;
            y += 2;
            at += 5;
        } else {
            cr_assert(!strncmp(at, "\xE2\x96\x80", 3));
            for (int i = 0; i < 6; i++)
                if (y + i / 3 < HEIGHT)
                    decoded[((y + i / 3) * WIDTH + x) * 3 + i % 3] = (uint8_t)colors[i / 3][i % 3];
            x++;
            at += 3;
        }
    }
    cr_assert_eq(y, HEIGHT + 1);
    expect_decoded(0, 0);
    free(text);
}

Test(terminal, answers)
{
    cr_assert_eq(ts_terminal_choose("\x1B_Gi=31;OK\x1B\\\x1B[?62;c"), TERMINAL_KITTY);
    cr_assert_eq(ts_terminal_choose("\x1B[?64;1;4;22c"), TERMINAL_SIXEL);
    cr_assert_eq(ts_terminal_choose("\x1B[?62;4c"), TERMINAL_SIXEL);
    cr_assert_eq(ts_terminal_choose("\x1B[?64;1;22;44c"), TERMINAL_BLOCKS);
    cr_assert_eq(ts_terminal_choose("\x1B_Gi=31;ENOENT\x1B\\\x1B[?1;2c"), TERMINAL_BLOCKS);
    cr_assert_eq(ts_terminal_choose(""), TERMINAL_BLOCKS);
}

/* Answers the question on the other side of a pseudoterminal; NULL: stays silent. Returns what was
 * chosen. */
static enum terminal_way ask(const char *answer)
{
    const int master = posix_openpt(O_RDWR | O_NOCTTY);
    cr_assert(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
    const int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    cr_assert(slave >= 0);
    const pid_t child = fork();
    if (child == 0) {
        char question[sizeof TERMINAL_QUESTION - 1];
        for (size_t n = 0; n < sizeof question; n++)
            if (read(master, question + n, 1) != 1)
                _exit(1);
        const int right = !memcmp(question, TERMINAL_QUESTION, sizeof question);
        _exit(answer && right && write(master, answer, strlen(answer)) < 0);
    }
    const enum terminal_way way = ts_terminal_way(slave);
    int status;
    cr_assert(waitpid(child, &status, 0) == child && status == 0);
    close(slave);
    close(master);
    return way;
}

Test(terminal, asks)
{
    cr_assert_eq(ask("\x1B_Gi=31;OK\x1B\\\x1B[?62;c"), TERMINAL_KITTY);
    cr_assert_eq(ask("\x1B[?62;4;22c"), TERMINAL_SIXEL);
    cr_assert_eq(ask("\x1B[?1;2c"), TERMINAL_BLOCKS);
    cr_assert_eq(ask(NULL), TERMINAL_BLOCKS);
}

/* The program draws 80 x 44 pixels where standard output is no terminal, and a chain runs first. */
Test(terminal, view)
{
    static struct program_outcome outcome;
    char folder[256];
    ts_test_folder(folder, sizeof folder);
    ts_program_run(
        folder,
        (const char *const[]){"phantom", "head", "-o", "s", "--size", "48", "--slices", "5", NULL},
        &outcome);
    ts_program_run(folder,
                   (const char *const[]){"view", "s", "--terminal", "--device", "cpu", NULL},
                   &outcome);
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
    int rows = 0, blocks = 0;
    for (const char *at = outcome.out; *at; at++) {
        rows += *at == '\n';
        blocks += !strncmp(at, "\xE2\x96\x80", 3);
    }
    cr_assert(rows == 23 && blocks == 80 * 22, "%d %d", rows, blocks);
    cr_assert(strstr(outcome.out, "slice 2 (0 to 4), window "), "%s", outcome.out);
    ts_program_run(folder,
                   (const char *const[]){"view", "dicom s | box radius=1", "--screen", "kitty",
                                         "--size", "200x100", "--device", "cpu", NULL},
                   &outcome);
    cr_assert(outcome.code == 0 && !strncmp(outcome.out, "\x1B_Ga=T,q=2,f=24,s=200,v=100,", 28),
              "%s", outcome.err);
    ts_program_run(folder, (const char *const[]){"view", "s", "--screen", "teletype", NULL},
                   &outcome);
    cr_assert_eq(outcome.code, 2);
    ts_program_folder_remove(folder);
}
