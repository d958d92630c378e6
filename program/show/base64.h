/* SPDX-License-Identifier: Apache-2.0
 *
 * Base64 (RFC 4648, section 4) writes bytes as text, for places such as data: URLs that allow only
 * text.
 */
#ifndef PROGRAM_SHOW_BASE64_H
#define PROGRAM_SHOW_BASE64_H

#include <stdio.h>

/* Writes n bytes in base64. A failed write sets the stream's error indicator. */
void ts_base64_write(FILE *stream, const void *bytes, size_t n);

#endif
