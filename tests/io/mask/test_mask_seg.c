/* SPDX-License-Identifier: Apache-2.0
 *
 * Segmentations of a known volume of labels: planes in the three orientations of the image, each
 * turned and mirrored, in every order, encoding and type; on other grids; and those that are
 * refused.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/files/dicom_fixture.h"
#include "tests/files/mask_open.h"
#include "tests/files/output_fixture.h"
#include "tests/files/region_fixture.h"
#include "tests/support/stage_check.h"
#include "tests/support/support.h"

enum { NX = FIXTURE_COLUMNS, NY = FIXTURE_ROWS, NZ = FIXTURE_SLICES, N = NX * NY * NZ, MOST = 64 };

static struct mask_opened opened;
static int32_t labels[N], first_only[N], second_only[N];
static unsigned char pixels[MOST][N];
static struct seg_fixture_frame frames[MOST];
static struct seg_fixture fixture;

static void begin(void)
{
    uint64_t seed = 5;
    ts_mask_begin(&opened, "seg.dcm");
    for (int i = 0; i < N; i++) {
        labels[i] = (int32_t)(ts_random_next(&seed) % 3);
        first_only[i] = labels[i] == 1;
        second_only[i] = labels[i] == 2;
    }
}

static void end(void)
{
    ts_mask_end(&opened);
}

TestSuite(mask_seg, .init = begin, .fini = end);

/* The place of voxel (x, y, z) in mm, and the direction of each axis. */
static void place(const int index[3], double mm[3])
{
    const struct ts_image *image = &opened.image->image;
    for (int d = 0; d < 3; d++)
        mm[d] = image->origin_mm[d] + index[0] * 0.7 * image->direction[d] +
                index[1] * 0.5 * image->direction[3 + d] + index[2] * image->step_z_mm[d];
}

/* Makes frames whose columns run along axis c of the image (0: x), rows along r and planes along
 * the third, each reversed where its bit of `mirrored` is set. Planes with odd numbers come
 * first. */
static void make_frames(int c, int r, int mirrored)
{
    static const int n[3] = {NX, NY, NZ};
    static const double spacing[3] = {0.7, 0.5, 1.3};
    const int p = 3 - c - r, n_planes = n[p];
    const struct ts_image *image = &opened.image->image;
    int used = 0;
    for (int d = 0; d < 3; d++) {
        fixture.orientation[d] = (mirrored >> c & 1 ? -1 : 1) * image->direction[3 * c + d];
        fixture.orientation[3 + d] = (mirrored >> r & 1 ? -1 : 1) * image->direction[3 * r + d];
    }
    fixture.rows = n[r];
    fixture.columns = n[c];
    fixture.spacing_mm[0] = spacing[r];
    fixture.spacing_mm[1] = spacing[c];
    fixture.n_segments = 2;
    for (int segment = 1; segment <= 2; segment++)
        for (int k = 0; k < n_planes; k++) {
            const int plane = 2 * k + 1 < n_planes ? 2 * k + 1 : 2 * (n_planes - 1 - k);
            int index[3] = {0};
            index[p] = plane;
            index[c] = mirrored >> c & 1 ? n[c] - 1 : 0;
            index[r] = mirrored >> r & 1 ? n[r] - 1 : 0;
            place(index, frames[used].position_mm);
            frames[used].segment = segment;
            frames[used].pixels = pixels[used];
            for (int j = 0; j < n[r]; j++)
                for (int i = 0; i < n[c]; i++) {
                    index[c] = mirrored >> c & 1 ? n[c] - 1 - i : i;
                    index[r] = mirrored >> r & 1 ? n[r] - 1 - j : j;
                    pixels[used][j * n[c] + i] =
                        labels[(index[2] * NY + index[1]) * NX + index[0]] == segment;
                }
            used++;
        }
    fixture.n_frames = used;
    fixture.type = "BINARY";
}

static void make_plain(void)
{
    fixture = (struct seg_fixture){.between_mm = 1.3};
    make_frames(0, 1, 0);
}

Test(mask_seg, planes_of_any_orientation_and_order)
{
    for (int c = 0; c < 3; c++)
        for (int r = 0; r < 3; r++)
            for (int mirrored = 0; mirrored < 8 && r != c; mirrored++) {
                fixture =
                    (struct seg_fixture){.implicit = mirrored & 1, .undefined = mirrored >> 1 & 1};
                make_frames(c, r, mirrored);
                ts_seg_write(&fixture, frames, opened.path);
                ts_mask_expect(&opened, "", "", labels, TS_U8);
                ts_mask_expect(&opened, ", slices: [3, 9]", "", labels + 3 * NX * NY, TS_U8);
                ts_mask_expect(&opened, "", ", resample: nearest", labels, TS_U8);
            }
}

static void lean(struct dicom_fixture *f, int z, void *user)
{
    const struct fixture_element *element = ts_fixture_find(f, 0x00200032);
    double mm[3];
    char text[128];
    (void)user;
    snprintf(text, sizeof text, "%.*s", (int)element->length, (const char *)element->bytes);
    cr_assert_eq(sscanf(text, "%lf\\%lf\\%lf", &mm[0], &mm[1], &mm[2]), 3);
    snprintf(text, sizeof text, "%.6f\\%.6f\\%.6f", mm[0], mm[1] + 0.3 * z, mm[2]);
    ts_fixture_text(f, 0x00200032, "DS", text);
}

/* Planes of a tilted series lie on its slices, whose step leans. */
Test(mask_seg, planes_of_a_tilted_series)
{
    char study[200];
    snprintf(study, sizeof study, "%s/study", opened.folder);
    ts_fixture_series(study, FIXTURE_SLICES, lean, NULL);
    (void)ts_mask_open(&opened, "", "");
    cr_assert_neq(opened.image->image.step_z_mm[1], 0);
    make_plain();
    ts_seg_write(&fixture, frames, opened.path);
    ts_mask_expect(&opened, "", "", labels, TS_U8);
    ts_mask_expect(&opened, "", ", resample: nearest", labels, TS_U8);
}

Test(mask_seg, one_segment_by_number_or_label)
{
    make_plain();
    ts_seg_write(&fixture, frames, opened.path);
    ts_mask_expect(&opened, "", ", segment: 1", first_only, TS_U8);
    ts_mask_expect(&opened, "", ", segment: segment 1", first_only, TS_U8);
    ts_mask_refused(&opened, ", segment: 3", "mask-region");
    ts_mask_refused(&opened, ", roi: 1", "parameter-unused");
    ts_mask_refused(&opened, ", threshold: 0.5", "parameter-unused");
}

Test(mask_seg, frames_that_begin_with_a_byte_each)
{
    for (int implicit = 0; implicit < 2; implicit++) {
        make_plain();
        fixture.padded = true;
        fixture.implicit = implicit;
        ts_seg_write(&fixture, frames, opened.path);
        ts_mask_expect(&opened, "", "", labels, TS_U8);
        ts_mask_expect(&opened, "", ", segment: 2", second_only, TS_U8);
        cr_assert_eq(ts_mask_open(&opened, "", ""), TS_OK);
        cr_expect(ts_test_record(opened.diag, "seg-padded"));
    }
    make_plain();
    ts_seg_write(&fixture, frames, opened.path);
    cr_assert_eq(ts_mask_open(&opened, "", ""), TS_OK);
    cr_expect_not(ts_test_record(opened.diag, "seg-padded"));
}

/* Two frames of an odd number of bits have as many bytes with a gap between them as without. */
Test(mask_seg, two_frames_are_told_by_the_bits_between_them)
{
    int32_t expected[N] = {0};
    for (int row = 0; row < 8; row++) {
        const bool corners = row & 1, padded = row & 2;
        for (int plane = 1; plane <= 3; plane += 2)
            for (int i = 0; i < NX * NY; i++) {
                int32_t *label = &labels[plane * NX * NY + i];
                *label = i < 8 || i >= NX * NY - 8 ? corners : *label;
                expected[plane * NX * NY + i] = *label == 1;
            }
        make_plain();
        fixture.implicit = row >> 2 & 1;
        fixture.padded = padded;
        fixture.n_frames = 2;
        ts_seg_write(&fixture, frames, opened.path);
        if (corners || !padded)
            ts_mask_expect(&opened, "", ", segment: 1", expected, TS_U8);
        cr_assert_eq(ts_mask_open(&opened, "", ""), TS_OK);
        cr_expect_eq(ts_test_record(opened.diag, "seg-padded") != NULL, padded || !corners,
                     "row %d", row);
    }
}

Test(mask_seg, absent_planes_hold_nothing)
{
    int32_t some[N];
    make_plain();
    int used = 0;
    memset(some, 0, sizeof some);
    for (int i = 0; i < fixture.n_frames; i++) {
        const int z = i % NZ == 0 ? 1 : -1; /* the first frame of each segment is that of slice 1 */
        if (z < 0)
            continue;
        frames[used++] = frames[i];
    }
    fixture.n_frames = used;
    memcpy(some + NX * NY, labels + NX * NY, NX * NY * sizeof *some);
    fixture.between_mm = 0;
    ts_seg_write(&fixture, frames, opened.path);
    ts_mask_expect(&opened, "", "", some, TS_U8);
}

Test(mask_seg, parts_and_labels)
{
    make_plain();
    fixture.type = "LABELMAP";
    fixture.n_frames = NZ;
    for (int i = 0; i < NZ; i++) {
        for (int k = 0; k < NX * NY; k++)
            pixels[i][k] = pixels[i][k] ? 1 : pixels[i + NZ][k] ? 2 : 0;
    }
    ts_seg_write(&fixture, frames, opened.path);
    ts_mask_expect(&opened, "", "", labels, TS_U8);
    ts_mask_expect(&opened, "", ", segment: 1", first_only, TS_U8);
    fixture.background = true; /* the background may be listed, which is no segment */
    ts_seg_write(&fixture, frames, opened.path);
    ts_mask_expect(&opened, "", "", labels, TS_U8);
    ts_mask_expect(&opened, "", ", segment: 1", first_only, TS_U8);
    ts_mask_refused(&opened, ", segment: 0", "mask-region");
    fixture.type = "BINARY";
    ts_seg_write(&fixture, frames, opened.path);
    ts_mask_refused(&opened, "", "seg-segments");
    fixture.background = false;
    for (int i = 0; i < NZ; i++)
        for (int k = 0; k < NX * NY; k++)
            pixels[i][k] = pixels[i][k] == 1 ? 100 : pixels[i][k] == 2 ? 99 : 0; /* of 200 */
    fixture.type = "FRACTIONAL";
    ts_seg_write(&fixture, frames, opened.path);
    ts_mask_expect(&opened, "", ", segment: 1, threshold: 0.5", first_only, TS_U8);
    ts_mask_refused(&opened, "", "seg-fractional");
}

/* Makes frames of labels, in which number `to[i]` stands for label i. */
static void make_labels(const int to[3])
{
    make_plain();
    fixture.type = "LABELMAP";
    fixture.n_frames = NZ;
    for (int i = 0; i < NZ; i++)
        for (int k = 0; k < NX * NY; k++)
            pixels[i][k] = (unsigned char)(pixels[i][k]        ? to[1]
                                           : pixels[i + NZ][k] ? to[2]
                                                               : to[0]);
}

/* Returns the labels, in which number `to[i]` stands for label i. */
static const int32_t *renumbered(int none, int first, int second)
{
    static int32_t out[N];
    for (int i = 0; i < N; i++)
        out[i] = labels[i] == 0 ? none : labels[i] == 1 ? first : second;
    return out;
}

/* Pixel Padding Value is the background of labels, whether its number is listed or not; else 0
 * is. */
Test(mask_seg, background_of_labels)
{
    static const char *const photometric[] = {"MONOCHROME2", "PALETTE COLOR"};
    static const int zero = 0, most = 255, one = 1, numbers[] = {7, 200}, three[] = {7, 200, 255},
                     wide[] = {1000, 60000}, wide_most = 65535, zeroth[] = {0, 5};
    for (int p = 0; p < 2; p++)
        for (int padding = 0; padding < 3; padding++) {
            make_labels((int[]){padding == 2 ? 255 : 0, 7, 200});
            fixture.photometric = photometric[p];
            fixture.padding = padding == 0 ? NULL : padding == 1 ? &zero : &most;
            fixture.numbers = padding == 2 && p ? three : numbers;
            fixture.n_segments = padding == 2 && p ? 3 : 2; /* the background may be listed */
            ts_seg_write(&fixture, frames, opened.path);
            ts_mask_expect(&opened, "", "", renumbered(0, 7, 200), TS_U8);
            ts_mask_expect(&opened, "", ", segment: 7", first_only, TS_U8);
            ts_mask_expect(&opened, "", ", segment: segment 200", second_only, TS_U8);
            ts_mask_refused(&opened, ", segment: 0", "mask-region");
            ts_mask_refused(&opened, ", segment: 255", "mask-region");
        }
    make_labels((int[]){0, 5, 1}); /* the background lies between the segments, and 0 is of none */
    fixture.padding = &one;
    fixture.numbers = (int[]){5};
    fixture.n_segments = 1;
    ts_seg_write(&fixture, frames, opened.path);
    ts_mask_expect(&opened, "", "", renumbered(0, 5, 0), TS_U8);
    for (int padding = 0; padding < 3; padding++) {
        make_labels((int[]){padding == 2 ? 65535 / 257 : 0, 1, 60});
        for (fixture.coding = SEG_PLAIN;; fixture.coding = SEG_BIG_WORDS) {
            fixture.factor = padding == 2 ? 257 : 1000;
            fixture.padding = padding == 0 ? NULL : padding == 1 ? &zero : &wide_most;
            fixture.numbers = padding == 2 ? (int[]){257, 15420} : wide;
            ts_seg_write(&fixture, frames, opened.path);
            ts_mask_expect(&opened, "", "",
                           padding == 2 ? renumbered(0, 257, 15420) : renumbered(0, 1000, 60000),
                           TS_U16);
            if (fixture.coding == SEG_BIG_WORDS)
                break;
        }
    }
    make_labels((int[]){255, 0, 5}); /* 0 is a segment, which has no label of its own */
    fixture.padding = &most;
    fixture.numbers = zeroth;
    ts_seg_write(&fixture, frames, opened.path);
    ts_mask_refused(&opened, "", "seg-segments");
    ts_mask_expect(&opened, "", ", segment: 0", first_only, TS_U8);
    ts_mask_expect(&opened, "", ", segment: 5", second_only, TS_U8);
    memset(pixels, 0, sizeof pixels);
    ts_seg_write(&fixture, frames, opened.path);
    ts_mask_expect(&opened, "", ", segment: 0",
                   (memset(first_only, 0, sizeof first_only), renumbered(1, 1, 1)), TS_U8);
}

/* Numbers of no segment and parts above a whole are refused by name, unless one segment is
 * wanted. */
Test(mask_seg, values_that_the_header_does_not_know)
{
    static const int numbers[] = {3, 9}, most = 255;
    for (int bits = 8; bits <= 16; bits += 8) {
        make_labels((int[]){0, 3, 4});
        fixture.factor = bits == 16;
        fixture.numbers = numbers;
        ts_seg_write(&fixture, frames, opened.path);
        ts_mask_refused(&opened, "", "seg-values");
        cr_expect(strstr(ts_test_record(opened.diag, "seg-values")->message, "number 4 in frame"));
        ts_mask_expect(&opened, "", ", segment: 3", first_only, TS_U8);
    }
    make_labels((int[]){255, 3, 254}); /* the Pixel Padding Value is one number only */
    fixture.padding = &most;
    fixture.numbers = numbers;
    ts_seg_write(&fixture, frames, opened.path);
    ts_mask_refused(&opened, "", "seg-values");
    make_plain();
    fixture.numbers = (int[]){1, 1}; /* which of the two has a frame is not known */
    ts_seg_write(&fixture, frames, opened.path);
    ts_mask_refused(&opened, "", "seg-segments");
    make_labels((int[]){0, 100, 200}); /* of 200 */
    fixture.type = "FRACTIONAL";
    ts_seg_write(&fixture, frames, opened.path);
    ts_mask_expect(&opened, "", ", segment: 1, threshold: 1", second_only, TS_U8);
    pixels[NZ / 2][1] = 201;
    ts_seg_write(&fixture, frames, opened.path);
    ts_mask_refused(&opened, ", segment: 1, threshold: 0.5", "seg-values");
}

/* Frames of labels that lie over each other have two numbers for one pixel. */
Test(mask_seg, frames_of_labels_do_not_overlap)
{
    make_labels((int[]){0, 1, 2});
    for (int d = 0; d < 3; d++)
        frames[1].position_mm[d] = frames[0].position_mm[d];
    ts_seg_write(&fixture, frames, opened.path);
    ts_mask_refused(&opened, "", "seg-frames");
    frames[1].segment = 2; /* which says nothing of labels */
    ts_seg_write(&fixture, frames, opened.path);
    ts_mask_refused(&opened, "", "seg-frames");
    frames[1].position_mm[0] += 0.7 * 2; /* a tile */
    ts_seg_write(&fixture, frames, opened.path);
    ts_mask_refused(&opened, "", "seg-planes");
}

/* Every coding of the pixels gives the same labels; one that is cut, damaged or of another codec is
 * refused. */
Test(mask_seg, compressed_pixels)
{
    static const enum seg_pixels codings[] = {SEG_RLE, SEG_RLE_BYTES, SEG_DEFLATED_FRAMES,
                                              SEG_DEFLATED_SET};
    for (size_t c = 0; c < sizeof codings / sizeof *codings; c++)
        for (int r = 0; r < 2; r++) {
            size_t n;
            fixture = (struct seg_fixture){
                .between_mm = r ? 0.7 : 1.3, .coding = codings[c], .undefined = r};
            make_frames(r ? 2 : 0, 1, r);
            ts_seg_write(&fixture, frames, opened.path);
            ts_mask_expect(&opened, "", "", labels, TS_U8);
            ts_mask_expect(&opened, "", ", segment: 1", first_only, TS_U8);
            unsigned char *bytes = ts_test_read_file(opened.path, &n);
            for (size_t cut = 1; cut < n / 2; cut += 97) {
                ts_fixture_write_bytes(opened.path, bytes, n - cut);
                cr_assert_neq(ts_mask_open(&opened, "", ""), TS_OK, "%d without %zu bytes",
                              (int)codings[c], cut);
            }
            free(bytes);
        }
    make_plain();
    fixture.type = "LABELMAP";
    fixture.n_frames = NZ;
    for (int i = 0; i < NZ; i++)
        for (int k = 0; k < NX * NY; k++)
            pixels[i][k] = pixels[i][k] ? 1 : pixels[i + NZ][k] ? 2 : 0;
    for (fixture.coding = SEG_RLE; fixture.coding <= SEG_DEFLATED_SET; fixture.coding++) {
        ts_seg_write(&fixture, frames, opened.path);
        ts_mask_expect(&opened, "", "", labels, TS_U8);
    }
    ts_seg_write(&fixture, frames, opened.path);
    ts_mask_refused(&opened, "", "dicom-bad-jpeg");
}

/* Returns the byte that names the wavelet of the last frame in JPEG 2000 (ITU-T T.800 A.6.1). */
static unsigned char *last_wavelet(unsigned char *bytes, size_t n)
{
    static const unsigned char style[] = {0xFF, 0x52, 0, 12};
    while (n >= 14 && memcmp(bytes + n - 14, style, sizeof style) != 0)
        n--;
    cr_assert(n >= 14 && bytes[n - 1] == 1);
    return bytes + n - 1;
}

/* Workers decode JPEG 2000, of bits, of bytes that stand for bits, of labels and of parts. */
Test(mask_seg, jpeg_2000_pixels)
{
    size_t n;
    make_plain();
    fixture.coding = SEG_JPEG_2000;
    ts_seg_write(&fixture, frames, opened.path);
    ts_mask_expect(&opened, "", "", labels, TS_U8);
    ts_mask_expect(&opened, ", slices: [3, 9]", ", segment: 1", first_only + 3 * NX * NY, TS_U8);
    unsigned char *bytes = ts_test_read_file(opened.path, &n);
    for (size_t cut = 1; cut < n / 4; cut += 997) {
        ts_fixture_write_bytes(opened.path, bytes, n - cut);
        cr_assert_neq(ts_mask_open(&opened, "", ""), TS_OK, "without %zu bytes", cut);
    }
    free(bytes);
    fixture.type = "LABELMAP";
    fixture.n_frames = NZ;
    for (int i = 0; i < NZ; i++)
        for (int k = 0; k < NX * NY; k++)
            pixels[i][k] = pixels[i][k] ? 1 : pixels[i + NZ][k] ? 2 : 0;
    ts_seg_write(&fixture, frames, opened.path);
    ts_mask_expect(&opened, "", "", labels, TS_U8);
    for (int i = 0; i < NZ; i++)
        for (int k = 0; k < NX * NY; k++)
            pixels[i][k] = pixels[i][k] == 1 ? 100 : pixels[i][k] == 2 ? 99 : 0; /* of 200 */
    fixture.type = "FRACTIONAL";
    ts_seg_write(&fixture, frames, opened.path);
    ts_mask_expect(&opened, "", ", segment: 1, threshold: 0.5", first_only, TS_U8);
    bytes = ts_test_read_file(opened.path, &n);
    *last_wavelet(bytes, n) = 0; /* of real numbers, in the last frame alone */
    ts_fixture_write_bytes(opened.path, bytes, n);
    free(bytes);
    cr_assert_eq(ts_mask_open(&opened, "", ", threshold: 0.5"), TS_OK);
    ts_mask_refused(&opened, ", threshold: 0.5", "seg-syntax");
    fixture.claimed_rows = NY + 8;
    ts_seg_write(&fixture, frames, opened.path);
    ts_mask_refused(&opened, ", threshold: 0.5, resample: nearest", "dicom-bad-jpeg-2000");
}

/* Encodes the file by a program of DCMTK, in its place. False where the program is missing. */
static bool encode(const char *program, const char *option)
{
    char command[1200];
    snprintf(command, sizeof command, "command -v %s > /dev/null", program);
    if (system(command) != 0) {
        printf("SKIPPED segmentations of %s: it is missing\n", program);
        return false;
    }
    snprintf(command, sizeof command, "%s %s %s %s.out && mv %s.out %s", program, option,
             opened.path, opened.path, opened.path, opened.path);
    cr_assert_eq(system(command), 0, "%s", command);
    return true;
}

/* Workers decode lossless JPEG and JPEG-LS, of labels and of parts. With loss the segments are not
 * known. */
Test(mask_seg, jpeg_pixels)
{
    static const char *const programs[][2] = {
        {"dcmcjpls", "+el"}, {"dcmcjpeg", "+e1"}, {"dcmcjpeg", "+el"}};
    make_plain();
    fixture.n_frames = NZ;
    for (int i = 0; i < NZ; i++)
        for (int k = 0; k < NX * NY; k++)
            pixels[i][k] = pixels[i][k] ? 100 : pixels[i + NZ][k] ? 200 : 0;
    for (size_t p = 0; p < sizeof programs / sizeof *programs; p++)
        for (int parts = 0; parts < 2; parts++) {
            fixture.type = parts ? "FRACTIONAL" : "LABELMAP";
            for (int i = 0; i < NZ; i++)
                for (int k = 0; k < NX * NY; k++)
                    pixels[i][k] = (unsigned char)(parts ? pixels[i][k] * 100
                                                         : pixels[i][k] / 100); /* of 200 */
            ts_seg_write(&fixture, frames, opened.path);
            if (!encode(programs[p][0], programs[p][1]))
                continue;
            if (parts)
                ts_mask_expect(&opened, "", ", segment: 1, threshold: 0.75", second_only, TS_U8);
            else
                ts_mask_expect(&opened, "", "", labels, TS_U8);
        }
    static const char *const lossy[][2] = {{"dcmcjpls", "+en +md 2"}, {"dcmcjpeg", "+eb"}};
    for (size_t p = 0; p < sizeof lossy / sizeof *lossy; p++) {
        ts_seg_write(&fixture, frames, opened.path);
        if (encode(lossy[p][0], lossy[p][1]))
            ts_mask_refused(&opened, ", threshold: 0.5", "seg-syntax");
    }
}

/* Bits and bytes of a big-endian file are those of another one, in bytes and in words, of which
 * frames begin within. */
Test(mask_seg, big_endian_pixels)
{
    for (int coding = SEG_BIG_BYTES; coding <= SEG_BIG_WORDS; coding++) {
        make_plain();
        fixture.coding = (enum seg_pixels)coding;
        ts_seg_write(&fixture, frames, opened.path);
        ts_mask_expect(&opened, "", "", labels, TS_U8);
        fixture.type = "LABELMAP";
        fixture.n_frames = NZ;
        for (int i = 0; i < NZ; i++)
            for (int k = 0; k < NX * NY; k++)
                pixels[i][k] = pixels[i][k] ? 1 : pixels[i + NZ][k] ? 2 : 0;
        ts_seg_write(&fixture, frames, opened.path);
        ts_mask_expect(&opened, "", "", labels, TS_U8);
    }
}

/* A damaged frame is found when it is read; none runs over the memory of a frame. */
Test(mask_seg, damaged_frames_are_refused)
{
    static const enum seg_pixels codings[] = {SEG_RLE, SEG_RLE_BYTES, SEG_DEFLATED_FRAMES};
    uint64_t seed = 3;
    for (size_t c = 0; c < sizeof codings / sizeof *codings; c++) {
        size_t n;
        make_plain();
        fixture.coding = codings[c];
        ts_seg_write(&fixture, frames, opened.path);
        unsigned char *bytes = ts_test_read_file(opened.path, &n);
        for (int i = 0; i < (ts_test_few() ? 100 : 300); i++) {
            const size_t at = n - 1 - ts_random_next(&seed) % (n / 2);
            const unsigned char kept = bytes[at];
            bytes[at] = (unsigned char)ts_random_next(&seed);
            ts_fixture_write_bytes(opened.path, bytes, n);
            enum ts_status status = ts_mask_open(&opened, "", "");
            uint8_t slice[NX * NY];
            for (int64_t z = 0; status == TS_OK && z < NZ; z++)
                status = opened.mask->ops->read(opened.mask, z, 1, slice, opened.diag);
            cr_assert(status == TS_OK || ts_diag_count(opened.diag) > 0);
            bytes[at] = kept;
        }
        free(bytes);
    }
    make_plain();
    fixture.coding = SEG_RLE;
    fixture.claimed_rows = NY + 8;
    ts_seg_write(&fixture, frames, opened.path);
    ts_mask_refused(&opened, ", resample: nearest", "pixel-data-damaged");
}

/* Positions in two frames of reference are not compared, unless the chain says so. */
Test(mask_seg, another_frame_of_reference_is_refused)
{
    make_plain();
    fixture.frame_of_reference = opened.image->frame_of_reference;
    cr_assert_not_null(fixture.frame_of_reference);
    ts_seg_write(&fixture, frames, opened.path);
    ts_mask_expect(&opened, "", "", labels, TS_U8);
    fixture.frame_of_reference = "1.2.3.4";
    ts_seg_write(&fixture, frames, opened.path);
    ts_mask_refused(&opened, "", "mask-frame");
    ts_mask_expect(&opened, "", ", frame_of_reference: any", labels, TS_U8);
}

/* Frames of half the resolution: the voxel of the image has the label of the nearest pixel, of two
 * the one after. */
Test(mask_seg, nearest_neighbor_where_it_is_asked_for)
{
    enum { CX = 3, CY = 4, CZ = 6 };
    int32_t expected[N];
    make_plain();
    fixture.rows = CY;
    fixture.columns = CX;
    fixture.spacing_mm[0] = 1;
    fixture.spacing_mm[1] = 1.4;
    fixture.between_mm = 2.6;
    fixture.n_frames = CZ;
    fixture.n_segments = 1;
    uint64_t seed = 9;
    for (int k = 0; k < CZ; k++) {
        const int index[3] = {0, 0, 2 * k};
        place(index, frames[k].position_mm);
        frames[k].segment = 1;
        for (int i = 0; i < CX * CY; i++)
            pixels[k][i] = (unsigned char)(ts_random_next(&seed) & 1);
    }
    for (int z = 0; z < NZ; z++)
        for (int y = 0; y < NY; y++)
            for (int x = 0; x < NX; x++) {
                const int i = (x + 1) / 2, j = (y + 1) / 2, k = (z + 1) / 2;
                expected[(z * NY + y) * NX + x] =
                    i < CX && j < CY && k < CZ && pixels[k][j * CX + i];
            }
    ts_seg_write(&fixture, frames, opened.path);
    ts_mask_refused(&opened, "", "mask-grid");
    ts_mask_expect(&opened, "", ", resample: nearest", expected, TS_U8);
}

Test(mask_seg, what_is_refused)
{
    make_plain();
    const struct seg_fixture good = fixture;
    struct seg_fixture cases[9];
    static const char *const codes[] = {"seg-frames",         "seg-frames",         "seg-size",
                                        "dicom-pixels-short", "dicom-pixels-short", "seg-planes",
                                        "seg-planes",         "seg-type",           "seg-segments"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cases[i] = good;
    cases[0].claimed_frames = 1000000000;
    cases[1].claimed_frames = 1;
    cases[2].claimed_rows = 65535;
    cases[2].columns = 65535; /* the pixels are written as many as they are */
    cases[3].claimed_bytes = 2;
    cases[4].claimed_rows = 60000;
    cases[5].position = "nan\\0\\0";
    cases[6].spacing_mm[1] = 0;
    cases[7].type = "CUBIC";
    cases[8].n_segments = 1;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (i == 2)
            cases[i].n_frames = cases[i].claimed_frames = 0;
        ts_seg_write(&cases[i], frames, opened.path);
        ts_mask_refused(&opened, "", codes[i]);
    }
    frames[1].position_mm[2] += 0.4;
    ts_seg_write(&good, frames, opened.path);
    ts_mask_refused(&opened, "", "seg-planes");
    make_plain();
    for (int i = 0; i < fixture.n_frames; i++)
        frames[i].position_mm[2] += 13;
    ts_seg_write(&good, frames, opened.path);
    ts_mask_refused(&opened, "", "mask-outside");
    for (int i = 0; i < fixture.n_frames; i++)
        frames[i].position_mm[0] += 0.2;
    ts_seg_write(&good, frames, opened.path);
    ts_mask_refused(&opened, "", "mask-grid");
    make_plain();
    memset(pixels, 1, sizeof pixels);
    ts_seg_write(&good, frames, opened.path);
    ts_mask_refused(&opened, "", "mask-overlap");
}

Test(mask_seg, files_of_other_kinds)
{
    struct region_stream stream;
    ts_mask_refused(&opened, "", "input-unreadable");
    ts_region_begin(&stream, "1.2.840.10008.5.1.4.1.1.2", false, false);
    ts_region_put_us(&stream, 0x00280010, 1);
    ts_region_save(&stream, opened.path);
    ts_mask_refused(&opened, "", "mask-kind");
    ts_fixture_write_bytes(opened.path, "no regions", 10);
    ts_mask_refused(&opened, "", "mask-kind");
    ts_region_begin(&stream, "1.2.840.10008.5.1.4.1.1.66.4", false, true);
    for (int i = 0; i < 40; i++)
        ts_region_open_level(&stream, i % 2 ? 0 : 0x52009229);
    for (int i = 0; i < 35; i++) {
        ts_region_open_level(&stream, 0x00089124);
        ts_region_open_level(&stream, 0);
        if (stream.depth > REGION_DEPTH - 4)
            break;
    }
    while (stream.depth > 0)
        ts_region_close_level(&stream);
    ts_region_save(&stream, opened.path);
    ts_mask_refused(&opened, "", "dicom-too-deep");
}
