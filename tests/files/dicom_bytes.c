/* SPDX-License-Identifier: Apache-2.0
 *
 * Everything is in little endian, and in explicit VR where nothing else is said; lengths are known.
 */
#include "tests/files/dicom_bytes.h"

#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static void put(struct dicom_bytes *out, const void *bytes, size_t n)
{
    cr_assert(out->n + n <= DICOM_BYTES_MOST);
    if (n > 0)
        memcpy(out->at + out->n, bytes, n);
    out->n += n;
}

static void put_number(struct dicom_bytes *out, uint32_t value, size_t n)
{
    put(out, &value, n);
}

void ts_bytes_element(struct dicom_bytes *out, uint32_t tag, const char *vr, const void *value,
                      size_t n)
{
    const bool wide = !strcmp(vr, "SQ") || !strcmp(vr, "OW");
    put_number(out, tag >> 16, 2);
    put_number(out, tag & 0xFFFF, 2);
    put(out, vr, 2);
    put_number(out, wide ? 0 : (uint32_t)n, 2);
    if (wide)
        put_number(out, (uint32_t)n, 4);
    put(out, value, n);
}

void ts_bytes_text(struct dicom_bytes *out, uint32_t tag, const char *vr, const char *text)
{
    char padded[128];
    const int n = snprintf(padded, sizeof padded, "%s%s", text, strlen(text) % 2 ? " " : "");
    ts_bytes_element(out, tag, vr, padded, (size_t)n);
}

void ts_bytes_item(struct dicom_bytes *out, const struct dicom_bytes *content)
{
    put_number(out, 0xE000FFFE, 4);
    put_number(out, (uint32_t)content->n, 4);
    put(out, content->at, content->n);
}

/* Appends a sequence of one item. */
void ts_bytes_group(struct dicom_bytes *out, uint32_t tag, const struct dicom_bytes *content)
{
    static struct dicom_bytes item;
    item.n = 0;
    ts_bytes_item(&item, content);
    ts_bytes_element(out, tag, "SQ", item.at, item.n);
}

void ts_bytes_implicit(struct dicom_bytes *out, const unsigned char *elements, size_t n)
{
    for (size_t i = 0; i < n;) {
        uint32_t tag, length = 0;
        memcpy(&tag, elements + i, sizeof tag);
        const bool is_item = tag == 0xE000FFFE,
                   is_sequence = !memcmp(elements + i + 4, "SQ", 2) && !is_item;
        const size_t header = is_sequence ? 12 : 8, wide = is_item || is_sequence ? 4 : 2;
        memcpy(&length, elements + i + header - wide, wide);
        put_number(out, tag, 4);
        const size_t at = out->n;
        put_number(out, length, 4);
        if (is_item || is_sequence)
            ts_bytes_implicit(out, elements + i + header, length);
        else
            put(out, elements + i + header, length);
        const uint32_t now = (uint32_t)(out->n - at - 4);
        memcpy(out->at + at, &now, sizeof now);
        i += header + length;
    }
}

/* SV10, 4 bytes, the number of tags, 77, and the tags. */
void ts_bytes_csa_start(struct dicom_bytes *out, int tags)
{
    const int32_t start[] = {0x01020304, tags, 77};
    put(out, "SV10", 4);
    put(out, start, sizeof start);
}

/* A tag is its name, its multiplicity, VR and type, the number of its items, 77, and the items. */
void ts_bytes_csa_tag(struct dicom_bytes *out, const char *name, const double *values, int n)
{
    char padded[64] = "", text[16];
    snprintf(padded, sizeof padded, "%s", name);
    put(out, padded, sizeof padded);
    put_number(out, 4, 4);
    put(out, "FD\0", 4);
    put_number(out, 4, 4);
    put_number(out, (uint32_t)n, 4);
    put_number(out, 77, 4);
    for (int i = 0; i < n; i++) {
        const int32_t item[] = {16, 16, 77, 16};
        memset(text, 0, sizeof text);
        snprintf(text, sizeof text, "%.6f", values[i]);
        put(out, item, sizeof item);
        put(out, text, sizeof text);
    }
}
