/* SPDX-License-Identifier: Apache-2.0
 *
 * Recognizes the texts that vendors write as Convolution Kernel. A scanner's console lets people
 * write into this attribute, so a patient's name could be there: only the names and forms that
 * vendors use are kept, since initials with a year of birth would pass for any letters and digits.
 * Source: the DICOM conformance statements of the vendors.
 */
#include "io/dicom_header/dicom_kernel.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

static const char *const words[] = {"STANDARD", "STND",   "STD",   "SOFT",     "DETAIL", "CHST",
                                    "CHEST",    "LUNG",   "BONE",  "BONEPLUS", "EDGE",   "EDGEPLUS",
                                    "ULTRA",    "SMOOTH", "SHARP", "BRAIN",    "mixed"};
/* Siemens: B30, B30f, Br40, Br40d and an iterative method's strength behind it; Canon (Toshiba):
 * FC18, FL03; numbers of Hitachi; Philips: the letters of its filters. */
static const char *const forms[] = {
    "",  "A99", "A99a", "Aa99", "Aa99a", "FC99", "FL99", "9",  "99", "A",  "B",  "C",  "D",
    "E", "F",   "L",    "EA",   "EB",    "EC",   "UA",   "UB", "UC", "YA", "YB", "YC", "YD"};

static bool is_word(const char *value, size_t length)
{
    length -= length > 0 && value[length - 1] == '+';
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == length && strncasecmp(words[i], value, length) == 0)
            return true;
    return false;
}

/* Returns true if the text has the form, in which 9 is a digit and a is one of the lower-case
 * letters that Siemens uses. */
static bool has_form(const char *value, size_t length, const char *form)
{
    for (size_t i = 0; i < length; i++) {
        bool fits = form[i] != '\0' && form[i] == value[i];
        if (form[i] == '9')
            fits = isdigit((unsigned char)value[i]) != 0;
        else if (form[i] == 'A')
            fits = value[i] && strchr("ABCDEHIJQSTU", value[i]);
        else if (form[i] == 'a')
            fits = value[i] && strchr("abcdefhlmpqrstuvy", value[i]);
        if (!fits)
            return false;
    }
    return form[length] == '\0';
}

static bool is_code(const char *value, size_t length)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (strlen(forms[i]) == length && has_form(value, length, forms[i]))
            return true;
    return false;
}

bool ts_dicom_kernel_is_known(const char *text)
{
    for (;; text++) {
        const size_t length = strcspn(text, "\\");
        if (!is_word(text, length) && !is_code(text, length))
            return false;
        text += length;
        if (*text == '\0')
            return true;
    }
}
