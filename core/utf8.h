/* SPDX-License-Identifier: Apache-2.0
 *
 * Characters of text that comes from outside. Source: RFC 3629 (no overlong forms, no surrogates).
 */
#ifndef CORE_UTF8_H
#define CORE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Returns the bytes of the character at `at`, of which `left` bytes are there (at least 1), or 0 where it is none. */
size_t ts_utf8_bytes(const char *at, size_t left);
/* Whether a character of that many bytes is a control character (C0, delete, C1): a terminal might obey it. */
bool ts_utf8_is_control(const char *at, size_t bytes);

#endif
