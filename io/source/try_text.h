/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts that a user copies from what the program prints: a word of a chain on one line, such as a
 * path, and a whole command for a shell. Both are quoted only if they must be, since most paths
 * need no quotes.
 */
#ifndef IO_SOURCE_TRY_TEXT_H
#define IO_SOURCE_TRY_TEXT_H

#include <stdio.h>

/* Writes a text as one word of a chain on one line, and of YAML between braces: in double quotes,
 * with \" and \\, if it holds blanks, quotes or marks of either form. Control characters are
 * written as \xHH. */
void ts_try_word(FILE *stream, const char *text);
/* Writes "tomostage check 'INPUT'", where INPUT is the input of a chain on one line, as a POSIX
 * shell reads it. */
void ts_try_command(FILE *stream, const char *input);

#endif
