/* SPDX-License-Identifier: Apache-2.0
 *
 * A file without magic is judged by its first element alone, which must be one of the groups that come first: 0002, in
 * explicit little endian, or 0008, in any encoding. Few other files begin so, and those fail in the elements behind it.
 */
#include "io/dicom_header/dicom_start.h"

#include <string.h>

#include "io/dicom_header/dicom_elements.h"

/* Returns true where these 8 bytes are the header of an element of `group`. A long implicit one does not count, since
 * the first elements of a data set are short. */
static bool is_element_of(const unsigned char *bytes, unsigned char group)
{
    const bool little = bytes[0] == group && bytes[1] == 0, big = bytes[0] == 0 && bytes[1] == group;
    const bool short_implicit = little && bytes[3] == 0 && bytes[6] == 0 && bytes[7] == 0;
    return short_implicit || ((little || big) && ts_dicom_is_vr((const char *)bytes + 4));
}

static bool is_first_element(const unsigned char *bytes)
{
    return is_element_of(bytes, 2) || is_element_of(bytes, 8);
}

enum dicom_start ts_dicom_find_start(const unsigned char *bytes, size_t n)
{
    if (n >= DICOM_MAGIC_END && !memcmp(bytes + DICOM_PREAMBLE_BYTES, "DICM", 4))
        return DICOM_START_MAGIC;
    if (n < 8)
        return DICOM_START_NONE;
    if (bytes[0] == 2 && is_element_of(bytes, 2) && ts_dicom_is_vr((const char *)bytes + 4))
        return DICOM_START_META;
    return is_element_of(bytes, 8) ? DICOM_START_DATA_SET : DICOM_START_NONE;
}

const char *ts_dicom_guess_syntax(const unsigned char bytes[8])
{
    return !ts_dicom_is_vr((const char *)bytes + 4) ? "1.2.840.10008.1.2"
           : bytes[0] == 0                          ? "1.2.840.10008.1.2.2"
                                                    : "1.2.840.10008.1.2.1";
}

void ts_dicom_describe_start(const unsigned char *bytes, size_t n, struct dicom_other *other)
{
    static const unsigned char apple_double[] = {0, 5, 0x16, 7};
    static const char documents[][4] = {
        {'%', 'P', 'D', 'F'}, {'P', 'K', 3, 4}, {'\x89', 'P', 'N', 'G'}, {'\xFF', '\xD8', '\xFF', '\xE0'}};
    const size_t preamble = n < DICOM_PREAMBLE_BYTES ? n : DICOM_PREAMBLE_BYTES;
    other->data_set =
        (n >= 8 && is_first_element(bytes)) || (n >= DICOM_START_BYTES && is_first_element(bytes + DICOM_MAGIC_END));
    other->apple_double = n >= sizeof apple_double && !memcmp(bytes, apple_double, sizeof apple_double);
    other->foreign = n > 0;
    for (size_t i = 0; i < preamble; i++)
        other->foreign = other->foreign && (bytes[i] >= 0x20 || (bytes[i] >= '\t' && bytes[i] <= '\r'));
    for (size_t i = 0; i < sizeof documents / sizeof *documents; i++)
        other->foreign = other->foreign || (n >= 4 && !memcmp(bytes, documents[i], 4));
}
