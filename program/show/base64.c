/* SPDX-License-Identifier: Apache-2.0
 *
 * Three bytes become four letters of six bits each; = fills up the last four.
 */
#include "program/show/base64.h"

void ts_base64_write(FILE *stream, const void *bytes, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *at = bytes;
    for (size_t i = 0; i < n; i += 3) {
        const size_t left = n - i;
        const unsigned word = (unsigned)at[i] << 16 | (left > 1 ? (unsigned)at[i + 1] << 8 : 0) |
                              (left > 2 ? (unsigned)at[i + 2] : 0);
        putc(digits[word >> 18], stream);
        putc(digits[word >> 12 & 63], stream);
        putc(left > 1 ? digits[word >> 6 & 63] : '=', stream);
        putc(left > 2 ? digits[word & 63] : '=', stream);
    }
}
