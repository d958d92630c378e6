/* SPDX-License-Identifier: Apache-2.0
 *
 * Encodes single elements of DICOM, and items of sequences, for values of fixtures that hold
 * sequences.
 */
#ifndef TESTS_FILES_DICOM_BYTES_H
#define TESTS_FILES_DICOM_BYTES_H

#include <stddef.h>
#include <stdint.h>

enum { DICOM_BYTES_MOST = 1 << 18 };

/* Explicit VR little endian elements, one after the other. */
struct dicom_bytes {
    unsigned char at[DICOM_BYTES_MOST];
    size_t n;
};

/* Appends an element of a VR with a 16-bit length, or a sequence. */
void ts_bytes_element(struct dicom_bytes *out, uint32_t tag, const char *vr, const void *value,
                      size_t n);
/* Appends an element with a text, padded to an even length. */
void ts_bytes_text(struct dicom_bytes *out, uint32_t tag, const char *vr, const char *text);
/* Appends an item that holds the content, and a sequence of one such item. */
void ts_bytes_item(struct dicom_bytes *out, const struct dicom_bytes *content);
void ts_bytes_group(struct dicom_bytes *out, uint32_t tag, const struct dicom_bytes *content);
/* Appends n bytes of elements or items in implicit VR, with the lengths that they then have. */
void ts_bytes_implicit(struct dicom_bytes *out, const unsigned char *elements, size_t n);
/* Appends the begin of a CSA header of Siemens with so many tags, and a tag with n items of text.
 */
void ts_bytes_csa_start(struct dicom_bytes *out, int tags);
void ts_bytes_csa_tag(struct dicom_bytes *out, const char *name, const double *values, int n);

#endif
