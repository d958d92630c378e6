/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes small DICOM files for tests, good ones and broken ones. A fixture is a list of elements,
 * kept in order of tags: set, remove or lie about any of them, then encode. The default is a CT
 * slice that is neither square nor cubic: 7 rows, 5 columns, of a series of 11; 0.5 mm between
 * rows, 0.7 mm between columns, 1.3 mm between slices; 16 bits unsigned, 12 stored, intercept
 * -1024.
 */
#ifndef TESTS_FILES_DICOM_FIXTURE_H
#define TESTS_FILES_DICOM_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/support/folders.h"

enum { FIXTURE_ROWS = 7, FIXTURE_COLUMNS = 5, FIXTURE_SLICES = 11, FIXTURE_ELEMENTS = 96 };

#define FIXTURE_IMPLICIT_LE "1.2.840.10008.1.2"
#define FIXTURE_EXPLICIT_LE "1.2.840.10008.1.2.1"
#define FIXTURE_EXPLICIT_BE "1.2.840.10008.1.2.2"
#define FIXTURE_DEFLATED "1.2.840.10008.1.2.1.99"
#define FIXTURE_RLE "1.2.840.10008.1.2.5"
#define FIXTURE_DEFLATED_FRAME "1.2.840.10008.1.2.8.1"
#define FIXTURE_PIXELS 0x7FE00010u

struct fixture_element {
    uint32_t tag;
    char vr[3];
    unsigned char *bytes; /* the value, little-endian; swapped by VR where the file is big-endian */
    size_t length;
    bool has_claim; /* the header says claim instead of length */
    uint32_t claim;
};

struct dicom_fixture {
    struct fixture_element elements[FIXTURE_ELEMENTS];
    int n;
    char syntax[65]; /* what the meta group says; "" leaves it out */
    bool implicit, big_endian,
        deflated; /* how the data set is encoded; ts_fixture_syntax sets all four */
    bool no_preamble, no_meta;
    const void *tail; /* appended as it is */
    size_t tail_bytes;
};

/* Slice z of the default series, explicit VR little endian. */
void ts_fixture_init(struct dicom_fixture *fixture, int z);
/* The same as a classic MR image, whose values are the stored ones. */
void ts_fixture_init_mr(struct dicom_fixture *fixture, int z);
void ts_fixture_clear(struct dicom_fixture *fixture);
/* The stored value of the default series; below 4096. */
uint16_t ts_fixture_stored(int x, int y, int z);

void ts_fixture_syntax(struct dicom_fixture *fixture, const char *uid);
void ts_fixture_bytes(struct dicom_fixture *fixture, uint32_t tag, const char *vr,
                      const void *bytes, size_t length);
void ts_fixture_text(struct dicom_fixture *fixture, uint32_t tag, const char *vr,
                     const char *text); /* padded to even */
void ts_fixture_us(struct dicom_fixture *fixture, uint32_t tag, uint16_t value);
void ts_fixture_remove(struct dicom_fixture *fixture, uint32_t tag);
/* The header claims this length; 0xFFFFFFFF: undefined. */
void ts_fixture_claim(struct dicom_fixture *fixture, uint32_t tag, uint32_t length);
/* Replaces the pixels by one fragment behind an empty offset table, with its delimiter. */
void ts_fixture_encapsulate(struct dicom_fixture *fixture, const char *syntax_uid,
                            const void *fragment, size_t length);
/* The present native 8 or 16-bit pixels as one valid RLE frame. */
void ts_fixture_rle(struct dicom_fixture *fixture);
/* The present native pixels as one deflated frame. */
void ts_fixture_deflate_frame(struct dicom_fixture *fixture);
const struct fixture_element *ts_fixture_find(const struct dicom_fixture *fixture, uint32_t tag);

/* The whole file; the caller frees *bytes. */
size_t ts_fixture_encode(const struct dicom_fixture *fixture, unsigned char **bytes);
void ts_fixture_write(const struct dicom_fixture *fixture, const char *path);
/* Writes the file as <folder>/<i>.dcm, and clears the fixture. */
void ts_fixture_finish(struct dicom_fixture *fixture, const char *folder, int i);
void ts_fixture_write_bytes(const char *path, const void *bytes, size_t length);
/* n slices of the default series as <folder>/IM<z>.dcm, in reverse order of names and positions;
 * edit may be NULL. */
void ts_fixture_series(const char *folder, int n,
                       void (*edit)(struct dicom_fixture *, int z, void *user), void *user);

#endif
