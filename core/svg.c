/* SPDX-License-Identifier: Apache-2.0 */
#include "core/svg.h"

void ts_svg_text(FILE *stream, const char *text)
{
    for (; *text; text++)
        if (*text == '<' || *text == '>' || *text == '&')
            fprintf(stream, "&#%d;", *text);
        else
            fputc(*text, stream);
}
