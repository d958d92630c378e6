/* SPDX-License-Identifier: Apache-2.0
 *
 * Each element has a tag, a VR, a length and a value. Elements are sorted when all are there.
 */
#include "io/sink/dicom_encode.h"

#include <openssl/evp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PREAMBLE_BYTES = 128, META_LENGTH_AT = PREAMBLE_BYTES + 4 + 8, MOST_ELEMENTS = 256 };

void ts_dicom_uid(char out[DICOM_UID_BYTES], const char *text)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    char digits[40];
    int n = 0;
    EVP_Digest(text, strlen(text), digest, NULL, EVP_sha256(), NULL);
    /* 2.25 announces a UUID: version 8 (own scheme), variant 1. */
    digest[6] = (unsigned char)((digest[6] & 0x0F) | 0x80);
    digest[8] = (unsigned char)((digest[8] & 0x3F) | 0x80);
    unsigned __int128 value = 0;
    for (int i = 0; i < 16; i++)
        value = value << 8 | digest[i];
    while (value != 0) {
        digits[n++] = (char)('0' + (int)(value % 10));
        value /= 10;
    }
    strcpy(out, "2.25.");
    char *to = out + 5;
    while (n > 0)
        *to++ = digits[--n];
    *to = '\0';
}

void ts_dicom_put_number(struct dicom_header *header, uint32_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        header->bytes[header->n++] = (unsigned char)(value >> (8 * i));
}

static bool has_long_length(const char *vr)
{
    return strcmp(vr, "OB") == 0 || strcmp(vr, "OW") == 0 || strcmp(vr, "SQ") == 0;
}

void ts_dicom_put_element(struct dicom_header *header, uint32_t tag, const char *vr,
                          uint32_t length)
{
    ts_dicom_put_number(header, tag >> 16, 2);
    ts_dicom_put_number(header, tag & 0xFFFF, 2);
    header->bytes[header->n++] = (unsigned char)vr[0];
    header->bytes[header->n++] = (unsigned char)vr[1];
    if (has_long_length(vr)) {
        ts_dicom_put_number(header, 0, 2);
        ts_dicom_put_number(header, length, 4);
    } else {
        ts_dicom_put_number(header, length, 2);
    }
}

void ts_dicom_put_text(struct dicom_header *header, uint32_t tag, const char *vr,
                       const char *format, ...)
{
    char text[257];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text - 1, format, arguments);
    va_end(arguments);
    size_t length = strlen(text);
    if (length % 2 != 0)
        text[length++] = strcmp(vr, "UI") == 0 ? '\0' : ' ';
    ts_dicom_put_element(header, tag, vr, (uint32_t)length);
    memcpy(header->bytes + header->n, text, length);
    header->n += length;
}

void ts_dicom_put_short(struct dicom_header *header, uint32_t tag, uint32_t value)
{
    ts_dicom_put_element(header, tag, "US", 2);
    ts_dicom_put_number(header, value, 2);
}

/* Where an element of the header is, and its tag as a number that rises as tags do. */
struct element {
    uint32_t tag;
    size_t at, bytes;
};

static int compare_elements(const void *a, const void *b)
{
    const struct element *first = a, *second = b;
    if (first->tag != second->tag)
        return first->tag < second->tag ? -1 : 1;
    return first->at < second->at ? -1 : 1;
}

static uint32_t read_number(const unsigned char *from, int bytes)
{
    uint32_t value = 0;
    for (int i = bytes; i-- > 0;)
        value = value << 8 | from[i];
    return value;
}

void ts_dicom_sort(struct dicom_header *header)
{
    struct element elements[MOST_ELEMENTS];
    unsigned char copy[DICOM_HEADER_BYTES];
    size_t n = 0, to = header->start;
    memcpy(copy, header->bytes, header->n);
    for (size_t at = header->start; at < header->n && n < MOST_ELEMENTS;
         at += elements[n++].bytes) {
        const unsigned char *element = copy + at;
        const char vr[] = {(char)element[4], (char)element[5], '\0'};
        const size_t bytes = has_long_length(vr) ? 12 + read_number(element + 8, 4)
                                                 : 8 + read_number(element + 6, 2);
        elements[n] = (struct element){read_number(element, 2) << 16 | read_number(element + 2, 2),
                                       at, bytes};
    }
    qsort(elements, n, sizeof *elements, compare_elements);
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && elements[i].tag == elements[i - 1].tag)
            continue;
        memcpy(header->bytes + to, copy + elements[i].at, elements[i].bytes);
        to += elements[i].bytes;
    }
    header->n = to;
}

void ts_dicom_put_meta(struct dicom_header *header, const char *object_class, const char *instance,
                       const char *syntax)
{
    char implementation[DICOM_UID_BYTES];
    ts_dicom_uid(implementation, "tomostage implementation class");
    memset(header->bytes, 0, PREAMBLE_BYTES);
    memcpy(header->bytes + PREAMBLE_BYTES, "DICM", 4);
    header->n = PREAMBLE_BYTES + 4;
    ts_dicom_put_element(header, 0x00020000, "UL", 4);
    ts_dicom_put_number(header, 0, 4);
    const size_t start = header->n;
    ts_dicom_put_element(header, 0x00020001, "OB", 2);
    ts_dicom_put_number(header, 0x0100, 2);
    ts_dicom_put_text(header, 0x00020002, "UI", "%s", object_class);
    ts_dicom_put_text(header, 0x00020003, "UI", "%s", instance);
    ts_dicom_put_text(header, 0x00020010, "UI", "%s", syntax);
    ts_dicom_put_text(header, 0x00020012, "UI", "%s", implementation);
    ts_dicom_put_text(header, 0x00020013, "SH", "TOMOSTAGE");
    const size_t end = header->n;
    header->n = META_LENGTH_AT;
    ts_dicom_put_number(header, (uint32_t)(end - start), 4);
    header->n = header->start = end;
}

void ts_dicom_decimal(double value, char out[DICOM_NUMBER_BYTES])
{
    char text[32];
    int digits = 17;
    do
        snprintf(text, sizeof text, "%.*g", digits--, value);
    while (strlen(text) >= DICOM_NUMBER_BYTES);
    strcpy(out, text);
}
