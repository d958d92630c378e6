/* SPDX-License-Identifier: Apache-2.0
 *
 * See dicom_fixture.h. A test that cannot write its files ends at once: abort() is a failure to
 * Criterion.
 */
#include "tests/files/dicom_fixture.h"

#include <libdeflate.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void must(bool ok)
{
    if (!ok) {
        abort();
    }
}

static struct fixture_element *find(const struct dicom_fixture *fixture, uint32_t tag)
{
    for (int i = 0; i < fixture->n; i++) {
        if (fixture->elements[i].tag == tag) {
            return (struct fixture_element *)&fixture->elements[i];
        }
    }
    return NULL;
}

const struct fixture_element *ts_fixture_find(const struct dicom_fixture *fixture, uint32_t tag)
{
    return find(fixture, tag);
}

void ts_fixture_remove(struct dicom_fixture *fixture, uint32_t tag)
{
    struct fixture_element *element = find(fixture, tag);
    if (element) {
        free(element->bytes);
        size_t behind = (size_t)(&fixture->elements[fixture->n] - element) - 1;
        memmove(element, element + 1, behind * sizeof *element);
        fixture->n--;
    }
}

void ts_fixture_bytes(struct dicom_fixture *fixture, uint32_t tag, const char *vr,
                      const void *bytes, size_t length)
{
    unsigned char *copy = malloc(length + 1);
    must(copy != NULL);
    if (length > 0) {
        memcpy(copy, bytes, length);
    }
    ts_fixture_remove(fixture, tag);
    must(fixture->n < FIXTURE_ELEMENTS);
    int i = fixture->n++;
    for (; i > 0 && fixture->elements[i - 1].tag > tag; i--) {
        fixture->elements[i] = fixture->elements[i - 1];
    }
    fixture->elements[i] = (struct fixture_element){.tag = tag, .bytes = copy, .length = length};
    memcpy(fixture->elements[i].vr, vr, 3);
}

void ts_fixture_text(struct dicom_fixture *fixture, uint32_t tag, const char *vr, const char *text)
{
    size_t length = strlen(text);
    char *padded = malloc(length + 2);
    must(padded != NULL);
    memcpy(padded, text, length + 1);
    padded[length] = strcmp(vr, "UI") == 0 ? '\0' : ' ';
    ts_fixture_bytes(fixture, tag, vr, padded, length + length % 2);
    free(padded);
}

void ts_fixture_us(struct dicom_fixture *fixture, uint32_t tag, uint16_t value)
{
    unsigned char bytes[2] = {(unsigned char)value, (unsigned char)(value >> 8)};
    ts_fixture_bytes(fixture, tag, "US", bytes, 2);
}

void ts_fixture_claim(struct dicom_fixture *fixture, uint32_t tag, uint32_t length)
{
    struct fixture_element *element = find(fixture, tag);
    must(element != NULL);
    element->has_claim = true;
    element->claim = length;
}

void ts_fixture_syntax(struct dicom_fixture *fixture, const char *uid)
{
    snprintf(fixture->syntax, sizeof fixture->syntax, "%s", uid);
    fixture->implicit = strcmp(uid, FIXTURE_IMPLICIT_LE) == 0;
    fixture->big_endian = strcmp(uid, FIXTURE_EXPLICIT_BE) == 0;
    fixture->deflated = strcmp(uid, FIXTURE_DEFLATED) == 0;
}

uint16_t ts_fixture_stored(int x, int y, int z)
{
    return (uint16_t)((1000 + 211 * x + 37 * y + 97 * z + 13 * x * y) % 4096);
}

static void init_pixels(struct dicom_fixture *fixture, int z)
{
    unsigned char pixels[2 * FIXTURE_ROWS * FIXTURE_COLUMNS], *to = pixels;
    for (int y = 0; y < FIXTURE_ROWS; y++) {
        for (int x = 0; x < FIXTURE_COLUMNS; x++) {
            uint16_t value = ts_fixture_stored(x, y, z);
            *to++ = (unsigned char)value;
            *to++ = (unsigned char)(value >> 8);
        }
    }
    ts_fixture_bytes(fixture, FIXTURE_PIXELS, "OW", pixels, sizeof pixels);
}

void ts_fixture_init(struct dicom_fixture *fixture, int z)
{
    char text[96];
    *fixture = (struct dicom_fixture){.n = 0};
    ts_fixture_syntax(fixture, FIXTURE_EXPLICIT_LE);
    ts_fixture_text(fixture, 0x00080008, "CS", "ORIGINAL\\PRIMARY\\AXIAL");
    ts_fixture_text(fixture, 0x00080016, "UI", "1.2.840.10008.5.1.4.1.1.2");
    snprintf(text, sizeof text, "1.2.826.0.1.3680043.10.1.3.%d", z + 1);
    ts_fixture_text(fixture, 0x00080018, "UI", text);
    ts_fixture_text(fixture, 0x00080060, "CS", "CT");
    ts_fixture_text(fixture, 0x00100010, "PN", "Fixture^Nobody");
    ts_fixture_text(fixture, 0x00180050, "DS", "1.3");
    ts_fixture_text(fixture, 0x00181210, "SH", "STANDARD");
    ts_fixture_text(fixture, 0x0020000D, "UI", "1.2.826.0.1.3680043.10.1.1");
    ts_fixture_text(fixture, 0x0020000E, "UI", "1.2.826.0.1.3680043.10.1.2");
    snprintf(text, sizeof text, "%d", z + 1);
    ts_fixture_text(fixture, 0x00200013, "IS", text);
    snprintf(text, sizeof text, "-20.5\\-31.25\\%.4f", 100.125 + 1.3 * z);
    ts_fixture_text(fixture, 0x00200032, "DS", text);
    ts_fixture_text(fixture, 0x00200037, "DS", "1\\0\\0\\0\\1\\0");
    ts_fixture_text(fixture, 0x00200052, "UI", "1.2.826.0.1.3680043.10.1.4");
    ts_fixture_us(fixture, 0x00280002, 1);
    ts_fixture_text(fixture, 0x00280004, "CS", "MONOCHROME2");
    ts_fixture_us(fixture, 0x00280010, FIXTURE_ROWS);
    ts_fixture_us(fixture, 0x00280011, FIXTURE_COLUMNS);
    ts_fixture_text(fixture, 0x00280030, "DS", "0.5\\0.7");
    ts_fixture_us(fixture, 0x00280100, 16);
    ts_fixture_us(fixture, 0x00280101, 12);
    ts_fixture_us(fixture, 0x00280102, 11);
    ts_fixture_us(fixture, 0x00280103, 0);
    ts_fixture_text(fixture, 0x00281052, "DS", "-1024");
    ts_fixture_text(fixture, 0x00281053, "DS", "1");
    ts_fixture_text(fixture, 0x00281054, "LO", "HU");
    init_pixels(fixture, z);
}

void ts_fixture_init_mr(struct dicom_fixture *f, int z)
{
    ts_fixture_init(f, z);
    ts_fixture_text(f, 0x00080008, "CS", "ORIGINAL\\PRIMARY\\M");
    ts_fixture_text(f, 0x00080016, "UI", "1.2.840.10008.5.1.4.1.1.4");
    ts_fixture_text(f, 0x00080060, "CS", "MR");
    ts_fixture_remove(f, 0x00281052);
    ts_fixture_remove(f, 0x00281053);
    ts_fixture_remove(f, 0x00281054);
}

void ts_fixture_clear(struct dicom_fixture *fixture)
{
    for (int i = 0; i < fixture->n; i++) {
        free(fixture->elements[i].bytes);
    }
    fixture->n = 0;
}

struct output {
    unsigned char *bytes;
    size_t length, size;
};

static void put(struct output *out, const void *bytes, size_t n)
{
    if (out->length + n > out->size) {
        out->size = 2 * (out->length + n) + 256;
        out->bytes = realloc(out->bytes, out->size);
        must(out->bytes != NULL);
    }
    if (n > 0) {
        memcpy(out->bytes + out->length, bytes, n);
    }
    out->length += n;
}

static void put_number(struct output *out, uint32_t value, int n, bool big_endian)
{
    unsigned char bytes[4];
    for (int i = 0; i < n; i++) {
        bytes[big_endian ? n - 1 - i : i] = (unsigned char)(value >> 8 * i);
    }
    put(out, bytes, (size_t)n);
}

static bool is_long_vr(const char *vr)
{
    static const char *const long_vrs[] = {"OB", "OD", "OF", "OL", "OV", "OW", "SQ",
                                           "SV", "UC", "UN", "UR", "UT", "UV", "ZZ"};
    for (size_t i = 0; i < sizeof long_vrs / sizeof *long_vrs; i++) {
        if (strcmp(vr, long_vrs[i]) == 0) {
            return true;
        }
    }
    return false;
}

static size_t swap_unit(const char *vr)
{
    if (!strcmp(vr, "US") || !strcmp(vr, "SS") || !strcmp(vr, "OW")) {
        return 2;
    }
    return !strcmp(vr, "FD") ? 8 : !strcmp(vr, "UL") || !strcmp(vr, "FL") ? 4 : 1;
}

static void put_element(struct output *out, const struct fixture_element *element, bool implicit,
                        bool big)
{
    uint32_t length = element->has_claim ? element->claim : (uint32_t)element->length;
    put_number(out, element->tag >> 16, 2, big);
    put_number(out, element->tag & 0xFFFF, 2, big);
    if (implicit) {
        put_number(out, length, 4, big);
    } else {
        put(out, element->vr, 2);
        if (is_long_vr(element->vr)) {
            put_number(out, 0, 2, big);
        }
        put_number(out, length, is_long_vr(element->vr) ? 4 : 2, big);
    }
    size_t unit = big ? swap_unit(element->vr) : 1;
    if (unit == 1) {
        put(out, element->bytes, element->length);
        return;
    }
    for (size_t i = 0; i < element->length; i++) {
        put(out, &element->bytes[i / unit * unit + (unit - 1 - i % unit)], 1);
    }
}

static void put_deflated(struct output *out, const void *bytes, size_t n)
{
    struct libdeflate_compressor *compressor = libdeflate_alloc_compressor(6);
    const size_t bound = libdeflate_deflate_compress_bound(compressor, n);
    void *deflated = malloc(bound);
    must(compressor != NULL && deflated != NULL);
    put(out, deflated, libdeflate_deflate_compress(compressor, bytes, n, deflated, bound));
    free(deflated);
    libdeflate_free_compressor(compressor);
}

static void put_meta(const struct dicom_fixture *fixture, struct output *out)
{
    struct dicom_fixture meta = {.n = 0};
    static const unsigned char version[2] = {0, 1};
    struct output group = {.bytes = NULL};
    const struct fixture_element *class = find(fixture, 0x00080016),
                                 *instance = find(fixture, 0x00080018);
    ts_fixture_bytes(&meta, 0x00020001, "OB", version, 2);
    if (class) {
        ts_fixture_bytes(&meta, 0x00020002, "UI", class->bytes, class->length);
    }
    if (instance) {
        ts_fixture_bytes(&meta, 0x00020003, "UI", instance->bytes, instance->length);
    }
    if (*fixture->syntax) {
        ts_fixture_text(&meta, 0x00020010, "UI", fixture->syntax);
    }
    ts_fixture_text(&meta, 0x00020012, "UI", "1.2.826.0.1.3680043.10.1.9");
    for (int i = 0; i < meta.n; i++) {
        put_element(&group, &meta.elements[i], false, false);
    }
    ts_fixture_clear(&meta);
    put_number(out, 2, 4, false);
    put(out, "UL", 2);
    put_number(out, 4, 2, false);
    put_number(out, (uint32_t)group.length, 4, false);
    put(out, group.bytes, group.length);
    free(group.bytes);
}

size_t ts_fixture_encode(const struct dicom_fixture *fixture, unsigned char **bytes)
{
    static const unsigned char preamble[128];
    struct output out = {.bytes = NULL};
    if (!fixture->no_preamble) {
        put(&out, preamble, sizeof preamble);
        put(&out, "DICM", 4);
    }
    if (!fixture->no_meta) {
        put_meta(fixture, &out);
    }
    struct output set = {.bytes = NULL};
    for (int i = 0; i < fixture->n; i++) {
        put_element(&set, &fixture->elements[i], fixture->implicit, fixture->big_endian);
    }
    put(&set, fixture->tail, fixture->tail_bytes);
    if (fixture->deflated)
        put_deflated(&out, set.bytes, set.length);
    else
        put(&out, set.bytes, set.length);
    free(set.bytes);
    *bytes = out.bytes;
    return out.length;
}

void ts_fixture_write_bytes(const char *path, const void *bytes, size_t length)
{
    FILE *file = fopen(path, "wb");
    must(file != NULL);
    must(length == 0 || fwrite(bytes, 1, length, file) == length);
    must(fclose(file) == 0);
}

void ts_fixture_write(const struct dicom_fixture *fixture, const char *path)
{
    unsigned char *bytes = NULL;
    size_t length = ts_fixture_encode(fixture, &bytes);
    ts_fixture_write_bytes(path, bytes, length);
    free(bytes);
}

void ts_fixture_encapsulate(struct dicom_fixture *fixture, const char *syntax_uid,
                            const void *fragment, size_t length)
{
    struct output out = {.bytes = NULL};
    put_number(&out, 0xE000FFFE, 4, false);
    put_number(&out, 0, 4, false);
    put_number(&out, 0xE000FFFE, 4, false);
    put_number(&out, (uint32_t)(length + length % 2), 4, false);
    put(&out, fragment, length);
    put(&out, "", length % 2);
    put_number(&out, 0xE0DDFFFE, 4, false);
    put_number(&out, 0, 4, false);
    ts_fixture_syntax(fixture, syntax_uid);
    ts_fixture_bytes(fixture, FIXTURE_PIXELS, "OB", out.bytes, out.length);
    ts_fixture_claim(fixture, FIXTURE_PIXELS, UINT32_MAX);
    free(out.bytes);
}

void ts_fixture_deflate_frame(struct dicom_fixture *fixture)
{
    const struct fixture_element *pixels = find(fixture, FIXTURE_PIXELS);
    struct output frame = {.bytes = NULL};
    put_deflated(&frame, pixels->bytes, pixels->length);
    ts_fixture_encapsulate(fixture, FIXTURE_DEFLATED_FRAME, frame.bytes, frame.length);
    free(frame.bytes);
}

void ts_fixture_rle(struct dicom_fixture *fixture)
{
    const struct fixture_element *pixels = find(fixture, FIXTURE_PIXELS),
                                 *bits = find(fixture, 0x00280100);
    must(pixels != NULL && bits != NULL);
    size_t cell = bits->bytes[0] / 8u, n = pixels->length / cell;
    struct output frame = {.bytes = NULL}, segments = {.bytes = NULL};
    put_number(&frame, (uint32_t)cell, 4, false);
    for (size_t segment = 0; segment < 15; segment++) {
        put_number(&frame, segment < cell ? 64 + (uint32_t)segments.length : 0, 4, false);
        for (size_t first = 0; segment < cell && first < n;
             first += 128) { /* most significant byte first */
            size_t run = n - first < 128 ? n - first : 128;
            put_number(&segments, (uint32_t)(run - 1), 1, false);
            for (size_t i = first; i < first + run; i++) {
                put(&segments, &pixels->bytes[i * cell + (cell - 1 - segment)], 1);
            }
        }
        put(&segments, "\x80", segments.length % 2);
    }
    put(&frame, segments.bytes, segments.length);
    ts_fixture_encapsulate(fixture, FIXTURE_RLE, frame.bytes, frame.length);
    free(frame.bytes);
    free(segments.bytes);
}

void ts_fixture_series(const char *folder, int n,
                       void (*edit)(struct dicom_fixture *, int z, void *user), void *user)
{
    for (int z = 0; z < n; z++) {
        struct dicom_fixture fixture;
        char path[256];
        ts_fixture_init(&fixture, z);
        if (edit) {
            edit(&fixture, z, user);
        }
        snprintf(path, sizeof path, "%s/IM%03d.dcm", folder, n - 1 - z);
        ts_fixture_write(&fixture, path);
        ts_fixture_clear(&fixture);
    }
}

void ts_fixture_finish(struct dicom_fixture *f, const char *folder, int i)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%d.dcm", folder, i);
    ts_fixture_write(f, path);
    ts_fixture_clear(f);
}
