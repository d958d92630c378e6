/* SPDX-License-Identifier: Apache-2.0
 *
 * Characters with a meaning in XML become numeric entities, which need no list of names.
 */
#include "core/svg.h"

void ts_svg_text(FILE *stream, const char *text)
{
    for (; *text; text++)
        if (*text == '<' || *text == '>' || *text == '&')
            fprintf(stream, "&#%d;", *text);
        else
            fputc(*text, stream);
}

void ts_svg_begin(FILE *stream, int width, int height, const char *title)
{
    fprintf(stream,
            "<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%d' font-family='sans-serif' "
            "font-size='11'>\n<rect width='100%%' height='100%%' fill='white'/>\n<text x='10' y='20' font-size='14'>",
            width, height);
    ts_svg_text(stream, title);
    fprintf(stream, "</text>\n");
}
