/* SPDX-License-Identifier: Apache-2.0
 *
 * One table has the allowed first and second bytes of each length, which excludes overlong forms
 * and surrogates. The other has the ranges of hidden characters: those of
 * Default_Ignorable_Code_Point in DerivedCoreProperties.txt of Unicode 15.
 */
#include "core/utf8.h"

size_t ts_utf8_bytes(const char *text, size_t left)
{
    const unsigned char *at = (const unsigned char *)text;
    static const struct {
        unsigned char first_low, first_high, second_low, second_high, bytes;
    } forms[] = {
        {0x00, 0x7F, 0, 0, 1},       {0xC2, 0xDF, 0x80, 0xBF, 2}, {0xE0, 0xE0, 0xA0, 0xBF, 3},
        {0xE1, 0xEC, 0x80, 0xBF, 3}, {0xED, 0xED, 0x80, 0x9F, 3}, {0xEE, 0xEF, 0x80, 0xBF, 3},
        {0xF0, 0xF0, 0x90, 0xBF, 4}, {0xF1, 0xF3, 0x80, 0xBF, 4}, {0xF4, 0xF4, 0x80, 0x8F, 4},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (*at < forms[i].first_low || *at > forms[i].first_high)
            continue;
        const size_t bytes = forms[i].bytes;
        if (bytes > left ||
            (bytes > 1 && (at[1] < forms[i].second_low || at[1] > forms[i].second_high)))
            return 0;
        for (size_t j = 2; j < bytes; j++)
            if ((at[j] & 0xC0) != 0x80)
                return 0;
        return bytes;
    }
    return 0;
}

bool ts_utf8_is_control(const char *at, size_t bytes)
{
    const unsigned char first = (unsigned char)at[0];
    return (bytes == 1 && (first < 0x20 || first == 0x7F)) ||
           (bytes == 2 && first == 0xC2 && (unsigned char)at[1] < 0xA0);
}

uint32_t ts_utf8_number(const char *at, size_t bytes)
{
    static const unsigned char first_bits[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    uint32_t number = (unsigned char)at[0] & first_bits[bytes];
    for (size_t i = 1; i < bytes; i++)
        number = number << 6 | ((unsigned char)at[i] & 0x3F);
    return number;
}

bool ts_utf8_is_hidden(const char *at, size_t bytes)
{
    /* These are sorted: all of Default_Ignorable_Code_Point, controls, separators, and blanks. */
    static const struct {
        uint32_t first, last;
    } hidden[] = {
        {0x00, 0x1F},       {0x7F, 0x9F},       {0xAD, 0xAD},       {0x034F, 0x034F},
        {0x061C, 0x061C},   {0x115F, 0x1160},   {0x1680, 0x1680},   {0x17B4, 0x17B5},
        {0x180B, 0x180F},   {0x2000, 0x200F},   {0x2028, 0x202F},   {0x205F, 0x206F},
        {0x2800, 0x2800},   {0x3164, 0x3164},   {0xFE00, 0xFE0F},   {0xFEFF, 0xFEFF},
        {0xFFA0, 0xFFA0},   {0xFFF0, 0xFFFB},   {0x1BCA0, 0x1BCA3}, {0x1D159, 0x1D159},
        {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF},
    };
    const uint32_t number = ts_utf8_number(at, bytes);
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
        if (number >= hidden[i].first && number <= hidden[i].last)
            return true;
    return false;
}
