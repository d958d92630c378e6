/* SPDX-License-Identifier: Apache-2.0
 *
 * Characters with a meaning in XML become numeric entities, in texts and attributes alike: these
 * need no list of names, and callers need not know where a text ends up.
 */
#include "core/svg.h"

#include <string.h>

#include "core/utf8.h"

void ts_svg_text(FILE *stream, const char *text)
{
    for (size_t left = strlen(text), bytes; left > 0; text += bytes, left -= bytes) {
        bytes = ts_utf8_bytes(text, left);
        const bool plain = bytes > 0 && (*text == '\n' || !ts_utf8_is_hidden(text, bytes));
        bytes = plain ? bytes : 1;
        if (!plain)
            fprintf(stream, "\\x%02X", (unsigned char)*text);
        else if (strchr("<>&\"'", *text))
            fprintf(stream, "&#%d;", *text);
        else
            fwrite(text, 1, bytes, stream);
    }
}

void ts_svg_begin(FILE *stream, int width, int height, const char *title)
{
    fprintf(stream,
            "<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%d' "
            "font-family='sans-serif' font-size='11'>\n<rect width='100%%' height='100%%' "
            "fill='white'/>\n<text x='10' y='20' font-size='14'>",
            width, height);
    ts_svg_text(stream, title);
    fprintf(stream, "</text>\n");
}
