/* SPDX-License-Identifier: Apache-2.0
 *
 * This paints numbers as pixels, for pictures that label themselves, such as the strip of trial
 * centers that `center` draws. Such a picture is an array of the result, which any viewer shows, so
 * its labels must be pixels too.
 */
#ifndef STAGES_VALUES_DIGITS_H
#define STAGES_VALUES_DIGITS_H

#include <stdint.h>

enum {
    DIGIT_ROWS = 7,
    DIGIT_COLUMNS = 6
}; /* rows and columns of a character, with the blank column after it */

/* Draws the characters 0 to 9, '.' and '-' of a text, starting at its upper left pixel; other
 * characters stay blank. Each pixel of a character is a square of `scale` pixels, set to `gray`.
 * All of it must be inside the picture. */
void ts_digits_draw(const char *text, int scale, uint8_t gray, uint8_t *picture, int64_t stride);

#endif
