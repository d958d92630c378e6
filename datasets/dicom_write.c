/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes a header of some forty elements in rising order of tags, then the pixels. The header is made in memory, since
 * the length of its first group stands before it.
 */
#include "datasets/dicom_write.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "io/file/file_bytes.h"

#define CT_IMAGE_STORAGE "1.2.840.10008.5.1.4.1.1.2"
#define EXPLICIT_LITTLE_ENDIAN "1.2.840.10008.1.2.1"
/* A day on which no patient was scanned: documented, and the same in every file. */
#define FIXED_DATE "20000101"
#define FIXED_TIME "120000"

enum { HEADER_BYTES = 8192, PREAMBLE_BYTES = 128, META_LENGTH_AT = PREAMBLE_BYTES + 4 + 8 };

struct header {
    unsigned char bytes[HEADER_BYTES];
    size_t n;
};

void ts_ct_uid(char out[CT_UID_BYTES], const char *text)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    char digits[40];
    int n = 0;
    EVP_Digest(text, strlen(text), digest, NULL, EVP_sha256(), NULL);
    /* 2.25 stands for a UUID: version 8 (own scheme), variant 1. */
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

static void put_number(struct header *header, uint32_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        header->bytes[header->n++] = (unsigned char)(value >> (8 * i));
}

static bool has_long_length(const char *vr)
{
    return strcmp(vr, "OB") == 0 || strcmp(vr, "OW") == 0;
}

static void put_element(struct header *header, uint32_t tag, const char *vr, uint32_t length)
{
    put_number(header, tag >> 16, 2);
    put_number(header, tag & 0xFFFF, 2);
    header->bytes[header->n++] = (unsigned char)vr[0];
    header->bytes[header->n++] = (unsigned char)vr[1];
    if (has_long_length(vr)) {
        put_number(header, 0, 2);
        put_number(header, length, 4);
    } else {
        put_number(header, length, 2);
    }
}

/* Puts a text of at most 255 bytes, padded to an even length: UIDs with a zero, others with a space. */
static void put_text(struct header *header, uint32_t tag, const char *vr, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static void put_text(struct header *header, uint32_t tag, const char *vr, const char *format, ...)
{
    char text[257];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text - 1, format, arguments);
    va_end(arguments);
    size_t length = strlen(text);
    if (length % 2 != 0)
        text[length++] = strcmp(vr, "UI") == 0 ? '\0' : ' ';
    put_element(header, tag, vr, (uint32_t)length);
    memcpy(header->bytes + header->n, text, length);
    header->n += length;
}

static void put_short(struct header *header, uint32_t tag, uint32_t value)
{
    put_element(header, tag, "US", 2);
    put_number(header, value, 2);
}

static void put_meta(struct header *header, const char *instance)
{
    char implementation[CT_UID_BYTES];
    ts_ct_uid(implementation, "tomostage implementation class");
    memset(header->bytes, 0, PREAMBLE_BYTES);
    memcpy(header->bytes + PREAMBLE_BYTES, "DICM", 4);
    header->n = PREAMBLE_BYTES + 4;
    put_element(header, 0x00020000, "UL", 4);
    put_number(header, 0, 4);
    const size_t start = header->n;
    put_element(header, 0x00020001, "OB", 2);
    put_number(header, 0x0100, 2);
    put_text(header, 0x00020002, "UI", CT_IMAGE_STORAGE);
    put_text(header, 0x00020003, "UI", "%s", instance);
    put_text(header, 0x00020010, "UI", EXPLICIT_LITTLE_ENDIAN);
    put_text(header, 0x00020012, "UI", "%s", implementation);
    put_text(header, 0x00020013, "SH", "TOMOSTAGE");
    const size_t end = header->n;
    header->n = META_LENGTH_AT;
    put_number(header, (uint32_t)(end - start), 4);
    header->n = end;
}

static void put_patient_and_study(struct header *header, const struct ct_series *series, const char *instance)
{
    put_text(header, 0x00080008, "CS", "ORIGINAL\\PRIMARY\\AXIAL");
    put_text(header, 0x00080016, "UI", CT_IMAGE_STORAGE);
    put_text(header, 0x00080018, "UI", "%s", instance);
    put_text(header, 0x00080020, "DA", FIXED_DATE);
    put_text(header, 0x00080023, "DA", FIXED_DATE);
    put_text(header, 0x00080030, "TM", FIXED_TIME);
    put_text(header, 0x00080033, "TM", FIXED_TIME);
    put_text(header, 0x00080050, "SH", "%s", "");
    put_text(header, 0x00080060, "CS", "CT");
    put_text(header, 0x00080070, "LO", "tomostage");
    put_text(header, 0x00080090, "PN", "%s", "");
    put_text(header, 0x0008103E, "LO", "%s", series->description);
    put_text(header, 0x00081090, "LO", "phantom");
    put_text(header, 0x00100010, "PN", "%s", series->patient_name);
    put_text(header, 0x00100020, "LO", "%s", series->patient_id);
    put_text(header, 0x00100030, "DA", "%s", "");
    put_text(header, 0x00100040, "CS", "%s", "");
    put_text(header, 0x00120062, "CS", "YES");
    put_text(header, 0x00120063, "LO", "computed, no patient");
}

static void put_image(struct header *header, const struct ct_series *series, int64_t number,
                      const double position_mm[3])
{
    put_text(header, 0x00180015, "CS", "HEAD");
    put_text(header, 0x00180050, "DS", "%.10g", series->spacing_z_mm);
    put_text(header, 0x00180060, "DS", "%s", "");
    put_text(header, 0x00185100, "CS", "HFS");
    put_text(header, 0x0020000D, "UI", "%s", series->study);
    put_text(header, 0x0020000E, "UI", "%s", series->series);
    put_text(header, 0x00200010, "SH", "1");
    put_text(header, 0x00200011, "IS", "1");
    put_text(header, 0x00200012, "IS", "1");
    put_text(header, 0x00200013, "IS", "%lld", (long long)number);
    put_text(header, 0x00200032, "DS", "%.10g\\%.10g\\%.10g", position_mm[0], position_mm[1], position_mm[2]);
    put_text(header, 0x00200037, "DS", "1\\0\\0\\0\\1\\0");
    put_text(header, 0x00200052, "UI", "%s", series->frame_of_reference);
    put_text(header, 0x00201040, "LO", "%s", "");
    put_short(header, 0x00280002, 1);
    put_text(header, 0x00280004, "CS", "MONOCHROME2");
    put_short(header, 0x00280010, (uint32_t)series->ny);
    put_short(header, 0x00280011, (uint32_t)series->nx);
    put_text(header, 0x00280030, "DS", "%.10g\\%.10g", series->spacing_y_mm, series->spacing_x_mm);
    put_short(header, 0x00280100, 16);
    put_short(header, 0x00280101, 12);
    put_short(header, 0x00280102, 11);
    put_short(header, 0x00280103, 0);
    put_text(header, 0x00280301, "CS", "NO");
    put_text(header, 0x00281052, "DS", "-1024");
    put_text(header, 0x00281053, "DS", "1");
    put_text(header, 0x00281054, "LO", "HU");
}

static bool write_pixels(int fd, const uint16_t *stored, size_t n, uint64_t offset)
{
    uint16_t block[4096];
    for (size_t done = 0, count; done < n; done += count) {
        count = n - done < 4096 ? n - done : 4096;
        for (size_t i = 0; i < count; i++)
            block[i] = htole16(stored[done + i]);
        if (!ts_file_write_at(fd, block, count * sizeof *block, offset + done * sizeof *block))
            return false;
    }
    return true;
}

enum ts_status ts_ct_write(const char *path, const struct ct_series *series, int64_t number, const char *instance,
                           const double position_mm[3], const uint16_t *stored, struct ts_diag *diag)
{
    struct header header;
    const size_t n = (size_t)(series->nx * series->ny);
    put_meta(&header, instance);
    put_patient_and_study(&header, series, instance);
    put_image(&header, series, number, position_mm);
    put_element(&header, 0x7FE00010, "OW", (uint32_t)(2 * n));

    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    bool ok = fd >= 0 && ts_file_write_at(fd, header.bytes, header.n, 0) && write_pixels(fd, stored, n, header.n);
    int error = errno;
    if (fd >= 0 && close(fd) != 0 && ok) {
        ok = false;
        error = errno;
    }
    if (ok)
        return TS_OK;
    if (fd >= 0)
        unlink(path);
    return ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "file-not-written"}, "%s: %s", path,
                         strerror(error));
}
