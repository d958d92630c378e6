/* SPDX-License-Identifier: Apache-2.0
 *
 * Recognizes the texts that vendors write as Convolution Kernel. A scanner's console lets people write into this
 * attribute, so a patient's name could stand there: only texts of a vendor's form are kept, since a name has neither
 * digits nor a place in the list. Source: the DICOM conformance statements of the vendors.
 */
#include "io/dicom_header/dicom_kernel.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

static const char *const words[] = {"STANDARD", "STND", "STD",      "SOFT",  "DETAIL", "CHST",  "CHEST", "LUNG", "BONE",
                                    "BONEPLUS", "EDGE", "EDGEPLUS", "ULTRA", "SMOOTH", "SHARP", "BRAIN", "mixed"};

static bool is_word(const char *value, size_t length)
{
    length -= length > 0 && value[length - 1] == '+';
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == length && strncasecmp(words[i], value, length) == 0)
            return true;
    return false;
}

static size_t count(const char *value, size_t at, size_t length, int (*is)(int))
{
    size_t n = 0;
    while (at + n < length && is((unsigned char)value[at + n]))
        n++;
    return n;
}

static bool is_code(const char *value, size_t length)
{
    const size_t letters = count(value, 0, length, isalpha);
    const size_t digits = count(value, letters, length, isdigit);
    const size_t tail = count(value, letters + digits, length, isalpha);
    if (letters + digits + tail != length)
        return false;
    return digits > 0 ? letters <= 3 && digits <= 3 && tail <= 3 : letters <= 2;
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
