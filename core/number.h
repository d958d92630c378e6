/* SPDX-License-Identifier: Apache-2.0
 *
 * These functions read numbers as a chain may write them: decimal, in the C locale whatever the
 * program's is.
 *     integer: [+-] digits           real: also a fraction, an exponent, inf, .inf
 * Leading zeros (octal in YAML 1.1), hexadecimal, underscores, decimal commas and nan are refused.
 */
#ifndef CORE_NUMBER_H
#define CORE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each of these two reads a number from the whole text into *value. It returns NULL, or a phrase
   that says what is wrong: "is not an integer". A message puts it behind the text. */
const char *ts_number_integer(const char *text, int64_t *value);
const char *ts_number_real(const char *text, double *value);
/* Writes a number of bytes with a decimal prefix: "20.5 MB". */
void ts_bytes_format(char *out, size_t size, double bytes);

#endif
