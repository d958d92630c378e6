/* SPDX-License-Identifier: Apache-2.0
 *
 * A word is not quoted if none of its characters has a meaning in a chain. A command is in single
 * quotes, between which a shell changes nothing; a single quote in it ends them, is escaped, and
 * begins them again.
 */
#include "io/source/try_text.h"

#include <string.h>

#include "core/diag.h"

void ts_try_word(FILE *stream, const char *text)
{
    char escaped[2048];
    ts_text_escape(escaped, sizeof escaped, text);
    const bool plain = *text && !strpbrk(text, " \"'`,|=#&*!%@{}[]<>?:\\") && *text != '-';
    if (plain) {
        fputs(escaped, stream);
        return;
    }
    fputc('"', stream);
    for (const char *c = escaped; *c; c++) {
        if (*c == '"' || *c == '\\')
            fputc('\\', stream);
        fputc(*c, stream);
    }
    fputc('"', stream);
}

void ts_try_command(FILE *stream, const char *input)
{
    fputs("tomostage check '", stream);
    for (const char *c = input; *c; c++)
        fputs(*c == '\'' ? "'\\''" : (const char[]){*c, '\0'}, stream);
    fputc('\'', stream);
}
