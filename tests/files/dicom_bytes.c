/* SPDX-License-Identifier: Apache-2.0
 *
 * Everything is in explicit VR little endian; lengths are known.
 */
#include "tests/files/dicom_bytes.h"

#include <criterion/criterion.h>
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

void ts_bytes_element(struct dicom_bytes *out, uint32_t tag, const char *vr, const void *value, size_t n)
{
    put_number(out, tag >> 16, 2);
    put_number(out, tag & 0xFFFF, 2);
    put(out, vr, 2);
    put_number(out, strcmp(vr, "SQ") ? (uint32_t)n : 0, 2);
    if (!strcmp(vr, "SQ"))
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
