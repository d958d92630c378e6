/* SPDX-License-Identifier: Apache-2.0
 *
 * These functions find the characters of text that comes from outside. Source: RFC 3629 (no overlong forms, no
 * surrogates).
 */
#ifndef CORE_UTF8_H
#define CORE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Returns the length in bytes of the character at `at`, where `left` bytes (at least 1) remain, or 0 where it is not
 * UTF-8. */
size_t ts_utf8_bytes(const char *at, size_t left);
/* Returns true where a character of that many bytes is a control character (C0, delete, C1), which a terminal might
 * obey. */
bool ts_utf8_is_control(const char *at, size_t bytes);

#endif
