/* SPDX-License-Identifier: Apache-2.0
 *
 * These functions find the characters of text that comes from outside. Source: RFC 3629 (no
 * overlong forms, no surrogates).
 */
#ifndef CORE_UTF8_H
#define CORE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the length in bytes of the character at `at`, where `left` bytes (at least 1) remain, or
 * 0 if it is not UTF-8. */
size_t ts_utf8_bytes(const char *at, size_t left);
/* Returns true if a character of that many bytes is a control character (C0, delete, C1), which
 * a terminal might obey. */
bool ts_utf8_is_control(const char *at, size_t bytes);
/* Returns the number of a character of that many bytes (1 to 4), such as 0x20AC. */
uint32_t ts_utf8_number(const char *at, size_t bytes);
/* Returns true if a character of that many bytes must not be shown as it is: a control character,
 * one that moves, hides or joins its neighbors (Default_Ignorable_Code_Point of Unicode, such as
 * marks of the direction of writing, joiners and tags), or one that is mistaken for a space or for
 * nothing (fillers, the empty Braille pattern, spaces of other widths). The no-break space U+00A0
 * and the ideographic space U+3000, which people write, may be shown. */
bool ts_utf8_is_hidden(const char *at, size_t bytes);

#endif
