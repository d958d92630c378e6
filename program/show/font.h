/* SPDX-License-Identifier: Apache-2.0
 *
 * The one font of the viewer: letters of 6 x 13 pixels.
 */
#ifndef PROGRAM_SHOW_FONT_H
#define PROGRAM_SHOW_FONT_H

#include <stdint.h>

enum { FONT_WIDTH = 6, FONT_HEIGHT = 13 };

/* Returns the rows of the character at *text, from the top, and moves *text behind it. The highest
   bit of a row is its leftmost pixel. The text is UTF-8; a character that the font lacks is shown
   as '?'. */
const uint8_t *ts_font_letter(const char **text);
/* Returns how many characters a text has. */
int ts_font_letters(const char *text);

#endif
