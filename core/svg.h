/* SPDX-License-Identifier: Apache-2.0
 *
 * These begin SVG pictures and write text into them, for the charts and the drawings of the
 * program.
 */
#ifndef CORE_SVG_H
#define CORE_SVG_H

#include <stdio.h>

/* Begins a picture: the svg element, a white background and the title. The file ends with
 * "</svg>\n". */
void ts_svg_begin(FILE *stream, int width, int height, const char *title);
/* Writes a text as the content of an element, or of a quoted attribute, of SVG 1.1 or HTML.
 * Characters that would begin a tag or an entity or end the attribute are escaped; bytes that are
 * not UTF-8 and control characters other than line feeds are written as \xHH. A failed write sets
 * the stream's error indicator. */
void ts_svg_text(FILE *stream, const char *text);

#endif
