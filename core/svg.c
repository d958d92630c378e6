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
