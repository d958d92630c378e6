/* SPDX-License-Identifier: Apache-2.0
 *
 * The tiff source on files written here through libtiff: every type, byte order, layout and codec, what pages mean,
 * angles, order of names, and what happens to files that are not fit, cut or changed.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tiffio.h>
#include <unistd.h>

#include "io/digest.h"
#include "io/tiff.h"
#include "io/tiff_pages.h"
#include "tests/support/chain_text.h"
#include "tests/support/dicom_fixture.h"
#include "tests/support/dicom_open.h"
#include "tests/support/scan_file.h"
#include "tests/support/support.h"

enum { WIDTH = 37, HEIGHT = 23 };

struct writing {
    enum ts_dtype dtype;
    bool tiled, one_strip;
    int compression, n_pages, samples, photometric, orientation, bits;
    int width, first_page;
    const char *mode;
};

static const struct writing plain = {.dtype = TS_U16, .compression = COMPRESSION_NONE, .n_pages = 3, .mode = "wl"};

static double value_of(enum ts_dtype dtype, int64_t page, int64_t y, int64_t x)
{
    const double value = (double)((page * 53 + y * 7 + x * 3) % 120);
    switch (dtype) {
    case TS_U8:
        return value;
    case TS_U16:
        return value * 500;
    case TS_U32:
        return value * 3e7;
    case TS_I8:
        return value - 60;
    case TS_I16:
        return (value - 60) * 500;
    case TS_I32:
        return (value - 60) * 3e7;
    default:
        return (value - 60) * 0.25;
    }
}

static void store(enum ts_dtype dtype, unsigned char *out, double value)
{
    const uint32_t bits = (uint32_t)(int64_t)value;
    const float real = (float)value;
    memcpy(out,
           dtype == TS_F32   ? (const void *)&real
           : dtype == TS_F64 ? (const void *)&value
                             : (const void *)&bits,
           ts_dtype_bytes(dtype));
}

static void write_blocks(TIFF *tiff, const struct writing *w, int page, int width)
{
    const size_t bytes = ts_dtype_bytes(w->dtype);
    const int across = w->tiled ? 16 : width, down = w->tiled ? 16 : w->one_strip ? HEIGHT : 5;
    _Alignas(8) unsigned char block[16 * 64 * 8];
    if (w->tiled) {
        TIFFSetField(tiff, TIFFTAG_TILEWIDTH, across);
        TIFFSetField(tiff, TIFFTAG_TILELENGTH, down);
    } else {
        TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, down);
    }
    uint32_t index = 0;
    for (int y = 0; y < HEIGHT; y += down)
        for (int x = 0; x < width; x += across, index++) {
            const int rows = w->tiled || y + down <= HEIGHT ? down : HEIGHT - y;
            for (int i = 0; i < rows * across; i++)
                store(w->dtype, block + (size_t)i * bytes, value_of(w->dtype, page, y + i / across, x + i % across));
            const tmsize_t size = (tmsize_t)((size_t)(rows * across) * bytes);
            cr_assert_gt(w->tiled ? TIFFWriteEncodedTile(tiff, index, block, size)
                                  : TIFFWriteEncodedStrip(tiff, index, block, size),
                         0);
        }
}

static void write_tiff(const char *path, const struct writing *w)
{
    TIFFSetWarningHandler(NULL); /* it advises against one of the codecs */
    TIFF *tiff = TIFFOpen(path, w->mode);
    cr_assert_not_null(tiff);
    for (int page = 0; page < w->n_pages; page++) {
        const int width = w->width ? w->width : WIDTH;
        TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, width);
        TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, HEIGHT);
        TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, w->bits ? w->bits : 8 * (int)ts_dtype_bytes(w->dtype));
        TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, w->samples ? w->samples : 1);
        TIFFSetField(tiff, TIFFTAG_PLANARCONFIG, w->samples ? PLANARCONFIG_SEPARATE : PLANARCONFIG_CONTIG);
        TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, w->photometric ? w->photometric - 1 : PHOTOMETRIC_MINISBLACK);
        TIFFSetField(tiff, TIFFTAG_COMPRESSION, w->compression);
        TIFFSetField(tiff, TIFFTAG_ORIENTATION, w->orientation ? w->orientation : ORIENTATION_TOPLEFT);
        TIFFSetField(tiff, TIFFTAG_SAMPLEFORMAT,
                     w->dtype == TS_F32 || w->dtype == TS_F64                        ? SAMPLEFORMAT_IEEEFP
                     : w->dtype == TS_I8 || w->dtype == TS_I16 || w->dtype == TS_I32 ? SAMPLEFORMAT_INT
                                                                                     : SAMPLEFORMAT_UINT);
        write_blocks(tiff, w, w->first_page + page, width);
        cr_assert(TIFFWriteDirectory(tiff));
    }
    TIFFClose(tiff);
}

static enum ts_status open_chain(const char *rest, const char *path, struct source **source, struct ts_diag *diag)
{
    char input[512], text[700];
    struct ts_chain *chain = NULL;
    snprintf(input, sizeof input, "tiff: %s, %s", path, rest);
    snprintf(text, sizeof text, "tomostage: 1\ninput: {%s}\nstages: [save: {name: a}]\noutput: {hdf5: r.h5}\n", input);
    *source = NULL;
    enum ts_status status = ts_chain_parse(text, strlen(text), "test", NULL, &chain, diag);
    if (status == TS_OK)
        status = chain->sources[0].format->open(&chain->sources[0].set, source, diag);
    /* The angles belong to the chain; what is looked at afterwards does not need them. */
    if (*source)
        (*source)->image.axes[1].positions = NULL;
    ts_chain_destroy(chain);
    return status;
}

static void refused(const char *rest, const char *path, const char *code, const char *text)
{
    struct source *source = NULL;
    struct ts_diag *diag = ts_diag_create();
    cr_assert_neq(open_chain(rest, path, &source, diag), TS_OK, "%s: %s was taken", code, path);
    cr_assert_null(source);
    ts_test_expect(diag, code, text);
    cr_assert_eq(ts_diag_get(diag, ts_diag_count(diag) - 1)->span.line, 2, "%s: no place in the chain", code);
    ts_diag_destroy(diag);
}

static struct source *opened(const char *rest, const char *path)
{
    struct source *source;
    struct ts_diag *diag = ts_diag_create();
    const enum ts_status status = open_chain(rest, path, &source, diag);
    cr_assert_eq(status, TS_OK, "%s: %s", path, ts_diag_count(diag) ? ts_diag_get(diag, 0)->message : "");
    ts_diag_destroy(diag);
    return source;
}

/* Reads in slabs of `step` and compares with the formula; then the digests. */
static void check_values(struct source *source, bool views, int64_t step)
{
    const struct ts_image *image = &source->image;
    const size_t bytes = ts_slice_bytes(image);
    struct ts_diag *diag = ts_diag_create();
    unsigned char *data = malloc((size_t)step * bytes);
    for (int64_t z = 0; z < source->n_slices; z += step) {
        const int64_t n = z + step < source->n_slices ? step : source->n_slices - z;
        memset(data, 0xA5, (size_t)step * bytes);
        cr_assert_eq(source->ops->read(source, z, n, data, diag), TS_OK);
        for (int64_t i = 0; i < n; i++)
            for (int64_t y = 0; y < image->axes[1].n; y++)
                for (int64_t x = 0; x < image->axes[2].n; x++) {
                    double value;
                    const size_t at = (size_t)((i * image->axes[1].n + y) * image->axes[2].n + x);
                    ts_load_f64(&value, data + at * ts_dtype_bytes(image->dtype), image->dtype, 1);
                    cr_assert_eq(value,
                                 views ? value_of(image->dtype, y, z + i, x) : value_of(image->dtype, z + i, y, x));
                }
        char digest[DIGEST_TEXT_BYTES];
        cr_assert(ts_digest_of(data, bytes, digest));
        cr_assert_str_eq(digest, source->slices[z].pixel_sha256);
    }
    free(data);
    ts_diag_destroy(diag);
}

#define SLICES "pages: slices, pixel_size: 0.5, spacing_z: 2"
#define VIEWS "pages: views, pixel_size: 0.5, "

Test(tiff, every_type_order_layout_and_codec)
{
    static const enum ts_dtype dtypes[] = {TS_U8, TS_I8, TS_U16, TS_I16, TS_U32, TS_I32, TS_F32, TS_F64};
    static const char *const modes[] = {"wl", "wb", "w8l", "w8b"};
    static const int codecs[] = {COMPRESSION_NONE, COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE, COMPRESSION_DEFLATE,
                                 COMPRESSION_PACKBITS};
    char folder[256], path[300];
    int n = 0;
    ts_test_folder_in_memory(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/a.tif", folder);
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
        for (size_t m = 0; m < sizeof modes / sizeof *modes; m++)
            for (size_t c = 0; c < sizeof codecs / sizeof *codecs; c++)
                for (int tiled = 0; tiled < 2; tiled++, n++) {
                    struct writing w = plain;
                    w.dtype = dtypes[d];
                    w.mode = modes[m];
                    w.compression = codecs[c];
                    w.tiled = tiled;
                    write_tiff(path, &w);
                    struct source *source = opened(SLICES, path);
                    cr_assert_eq(source->image.dtype, w.dtype == TS_F64 ? TS_F32 : w.dtype);
                    check_values(source, false, 2);
                    source->ops->close(source);
                    source = opened(VIEWS "angles: [0, 1, 2]", path);
                    check_values(source, true, 4);
                    source->ops->close(source);
                }
    cr_assert_eq(n, 320);
    ts_test_remove_folder(folder);
}

Test(tiff, what_pages_are)
{
    char folder[256], path[300];
    ts_test_folder_in_memory(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/a.tif", folder);
    write_tiff(path, &plain);
    struct source *source = opened(VIEWS "angle_start: 10, angle_stop: 190", path);
    const struct ts_axis *axes = source->image.axes;
    cr_assert(axes[0].n == HEIGHT && axes[1].n == 3 && axes[2].n == WIDTH && source->n_slices == HEIGHT);
    cr_assert(axes[1].kind == TS_AXIS_VIEW && axes[1].first == 10 && axes[1].spacing == 60);
    cr_assert(axes[2].kind == TS_AXIS_DETECTOR && axes[2].first == -9 && axes[2].spacing == 0.5);
    cr_assert(source->image.quantity == TS_COUNTS && source->slices[4].position_mm[2] == 2);
    source->ops->close(source);
    source = opened("pages: sinograms, pixel_size: 0.5, angle_start: 0, angle_stop: 44, endpoint: true, "
                    "quantity: line_integral",
                    path);
    axes = source->image.axes;
    cr_assert(axes[0].n == 3 && axes[1].n == HEIGHT && axes[1].spacing == 2 && axes[1].kind == TS_AXIS_VIEW);
    cr_assert_eq(source->image.quantity, TS_LINE_INTEGRAL);
    check_values(source, false, 1);
    source->ops->close(source);
    source = opened(SLICES, path);
    axes = source->image.axes;
    cr_assert(axes[0].spacing == 2 && axes[1].kind == TS_AXIS_Y && axes[2].spacing == 0.5);
    cr_assert_eq(source->image.quantity, TS_INTENSITY);
    source->ops->close(source);
    ts_test_remove_folder(folder);
}

Test(tiff, folders_are_read_in_natural_order)
{
    static const char *const names[] = {"v10.tif", "v9.TIFF", "v0100.tif"};
    static const int first[] = {1, 0, 3}, count[] = {2, 1, 1};
    char folder[256], path[300];
    ts_test_folder_in_memory(folder, sizeof folder);
    for (int i = 0; i < 3; i++) {
        struct writing w = plain;
        w.first_page = first[i];
        w.n_pages = count[i];
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        write_tiff(path, &w);
    }
    snprintf(path, sizeof path, "%s/notes.txt", folder);
    fclose(fopen(path, "w"));
    struct source *source = opened(SLICES, folder);
    cr_assert_eq(source->n_slices, 4);
    check_values(source, false, 3);
    source->ops->close(source);
    struct writing odd = plain;
    odd.width = 36;
    snprintf(path, sizeof path, "%s/v101.tif", folder);
    write_tiff(path, &odd);
    refused(SLICES, folder, "tiff-pages-differ", "v101.tif, page 1: 36 x 23 pixels of u16, but the first page has 37");
    cr_assert_lt(ts_tiff_compare_names("a2b", "a10a"), 0);
    cr_assert_gt(ts_tiff_compare_names("a2b1", "a2b"), 0);
    cr_assert_neq(ts_tiff_compare_names("a02", "a2"), 0);
    cr_assert_eq(ts_tiff_compare_names("x1", "x1"), 0);
    ts_test_remove_folder(folder);
}

Test(tiff, angles_are_said_in_one_way)
{
    char folder[256], path[300], angles[96], text[256];
    ts_test_folder_in_memory(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/a.tif", folder);
    snprintf(angles, sizeof angles, "%s/angles.txt", folder);
    write_tiff(path, &plain);
    refused(VIEWS "quantity: counts", path, "angles-missing", "in 0 ways");
    refused(VIEWS "angles: [0, 1, 2], angle_start: 3, angle_stop: 5", path, "angles-twice", "in 2 ways");
    refused(VIEWS "angles: [0, 1]", path, "angle-count", "2 angles for 3 views");
    refused(VIEWS "angle_start: 3", path, "angles-missing", "together");
    refused(VIEWS "angle_start: 3, angle_stop: 3", path, "angle-range", "no step");
    refused(VIEWS "angles: [0, 1, 2], endpoint: true", path, "endpoint-idle", "belongs");
    refused(SLICES ", angles: [0, 1, 2]", path, "angles-idle", "no angles");
    refused(VIEWS "frames: flats, angles: [0, 1, 2]", path, "angles-idle", "flats have no angles");
    refused(VIEWS "frames: darks, angle_start: 0, angle_stop: 5", path, "angles-idle", "darks have no angles");
    refused(SLICES ", frames: flats", path, "frames-idle", "slices are not frames");
    refused("pages: slices, pixel_size: 1", path, "spacing-z", "required");
    refused(VIEWS "angles: [0, 1, 2], spacing_z: 1", path, "spacing-z", "alone");
    refused("pixel_size: 1", path, "parameter-missing", "required");
    refused("pages: pictures, pixel_size: 1", path, "parameter-choice", "'pictures' is not a choice");
    snprintf(text, sizeof text, VIEWS "angles_file: %s", angles);
    refused(text, path, "input-unreadable", "angles.txt");
    static const struct {
        const char *text, *code, *message;
    } files[] = {{"0\n1\nx\n", "angle-not-a-number", "line 3"},
                 {"0\n1 2\n3\n", "angle-not-a-number", "line 2"},
                 {"nan\n1\n2\n", "angle-not-a-number", "line 1"},
                 {"0\n1\n2\n3\n", "angle-count", "angles.txt has 4 angles, expected 3"},
                 {"0\n1.0471976\n2.0943951\n", "angle-unit", "as radians would"},
                 {" 0\r\n\n1.5\n-2e1", NULL, NULL}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        FILE *file = fopen(angles, "w");
        fputs(files[i].text, file);
        fclose(file);
        if (files[i].code) {
            refused(text, path, files[i].code, files[i].message);
        } else {
            struct source *source = opened(text, path);
            cr_assert_eq(source->image.axes[1].n, 3);
            source->ops->close(source);
        }
    }
    refused(VIEWS "angles: [0, 1, 2], angle_unit: radian", path, "angle-unit-idle", "belongs to angles_file");
    ts_test_remove_folder(folder);
}

Test(tiff, a_file_of_angles_may_be_in_radians)
{
    static const double factors[] = {1, 180 / M_PI};
    char folder[256], path[300], angles[300];
    ts_test_folder_in_memory(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/a.tif", folder);
    snprintf(angles, sizeof angles, "%s/angles.txt", folder);
    write_tiff(path, &plain);
    FILE *file = fopen(angles, "w");
    cr_assert(file && fputs("0\n1.0471976\n2.0943951\n", file) >= 0 && fclose(file) == 0);
    for (int i = 0; i < 2; i++) {
        struct tiff_params params = {.tiff = path,
                                     .pages = TIFF_VIEWS,
                                     .pixel_size = 1,
                                     .angles_file = angles,
                                     .angle_unit = i ? ANGLE_UNIT_RADIAN : ANGLE_UNIT_DEGREE,
                                     .quantity = TIFF_QUANTITY_AUTO};
        struct param_set set = {
            .rows = tiff_format.params, .n_rows = tiff_format.n_params, .values = &params, .owner = "input"};
        struct ts_diag *diag = ts_diag_create();
        struct source *source;
        ts_scan_file_give(&set, "angles_file");
        cr_assert_eq(tiff_format.open(&set, &source, diag), TS_OK);
        ts_diag_destroy(diag);
        cr_assert_float_eq(source->image.axes[1].positions[1], 1.0471976 * factors[i], 1e-9);
        cr_assert_float_eq(source->image.axes[1].positions[2], 2.0943951 * factors[i], 1e-9);
        source->ops->close(source);
    }
    ts_test_remove_folder(folder);
}

Test(tiff, what_is_not_gray_and_lossless_is_refused)
{
    static const struct {
        struct writing w;
        const char *code;
    } rows[] = {
        {{.dtype = TS_U8, .photometric = 1 + PHOTOMETRIC_MINISWHITE}, "tiff-inverted"},
        {{.dtype = TS_U8, .photometric = 1 + PHOTOMETRIC_CIELAB}, "tiff-color"},
        {{.dtype = TS_U8, .orientation = ORIENTATION_BOTLEFT}, "tiff-orientation"},
        {{.dtype = TS_U8, .samples = 2}, "tiff-channels"},
        {{.dtype = TS_U8, .bits = 4}, "tiff-type"},
    };
    char folder[256], path[300];
    ts_test_folder_in_memory(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/a.tif", folder);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct writing w = rows[i].w;
        w.n_pages = 1;
        w.mode = "wl";
        w.compression = COMPRESSION_NONE;
        write_tiff(path, &w);
        refused(SLICES, path, rows[i].code, "page 1");
    }
    refused(SLICES, "/no/such/file.tif", "input-unreadable", "No such file");
    unlink(path);
    refused(SLICES, folder, "no-image", "no .tif");
    ts_test_remove_folder(folder);
}

/* Cut at every length, and with bytes changed: never a crash, and a file that was cut is never read whole. */
Test(tiff, damaged_files_are_errors)
{
    static const int codecs[] = {COMPRESSION_NONE, COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE, COMPRESSION_PACKBITS};
    char folder[256], path[300];
    uint64_t random = 5;
    ts_test_folder_in_memory(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/a.tif", folder);
    for (size_t c = 0; c < sizeof codecs / sizeof *codecs; c++) {
        struct writing w = plain;
        w.compression = codecs[c];
        w.tiled = c & 1;
        write_tiff(path, &w);
        size_t length;
        unsigned char *whole = (unsigned char *)ts_test_read(path, &length), data[3 * WIDTH * HEIGHT * 4 * 4];
        for (int i = 0; i < 400; i++) {
            const bool cut = i < 200;
            const size_t kept = cut ? (size_t)i * (length - 1) / 200 : length;
            FILE *file = fopen(path, "wb");
            const size_t at = (size_t)(ts_random_next(&random) % length);
            const unsigned char before = whole[at];
            if (!cut)
                whole[at] ^= (unsigned char)(1 + ts_random_next(&random) % 255);
            cr_assert_eq(fwrite(whole, 1, kept, file), kept);
            fclose(file);
            whole[at] = before;
            struct source *source;
            struct ts_diag *diag = ts_diag_create();
            enum ts_status status = open_chain(SLICES, path, &source, diag);
            if (status == TS_OK && ts_image_bytes(&source->image) <= sizeof data)
                status = source->ops->read(source, 0, source->n_slices, data, diag);
            cr_assert(!cut || status == TS_BAD_INPUT, "%zu of %zu bytes were taken", kept, length);
            if (status != TS_OK)
                cr_assert_gt(ts_diag_count(diag), 0);
            if (source)
                source->ops->close(source);
            ts_diag_destroy(diag);
        }
        free(whole);
    }
    ts_test_remove_folder(folder);
}

static uint64_t number_at(const unsigned char *bytes, size_t n, bool big_endian)
{
    uint64_t number = 0;
    for (size_t i = 0; i < n; i++)
        number = number << 8 | bytes[big_endian ? i : n - 1 - i];
    return number;
}

/* Cut within the pointer of a directory to the next one, in the middle of the file and at its end: the pages before the
 * cut are whole, and must not pass for all there are. */
Test(tiff, files_cut_within_the_pointer_to_the_next_page_are_refused)
{
    static const char *const modes[] = {"wl", "wb", "w8l", "w8b"};
    char folder[256], path[300];
    ts_test_folder_in_memory(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/a.tif", folder);
    for (size_t m = 0; m < sizeof modes / sizeof *modes; m++) {
        const bool big = strchr(modes[m], '8'), swapped = strchr(modes[m], 'b');
        const size_t count = big ? 8 : 2, entry = big ? 20 : 12, pointer = big ? 8 : 4;
        struct writing w = plain;
        w.n_pages = 20;
        w.one_strip = true; /* then nothing lies between a directory and the next page */
        w.mode = modes[m];
        write_tiff(path, &w);
        size_t length;
        unsigned char *whole = (unsigned char *)ts_test_read(path, &length);
        uint64_t at = number_at(whole + (big ? 8 : 4), pointer, swapped);
        for (int page = 1; at; page++) {
            const size_t end = at + count + entry * number_at(whole + at, count, swapped) + pointer;
            cr_assert_leq(end, length);
            for (size_t missing = 1; missing <= pointer && (page == 10 || end == length); missing++) {
                char text[64];
                FILE *file = fopen(path, "wb");
                cr_assert_eq(fwrite(whole, 1, end - missing, file), end - missing);
                fclose(file);
                snprintf(text, sizeof text, "page %d: its directory at %llu of", page, (unsigned long long)at);
                refused(VIEWS "angle_start: 0, angle_stop: 180", path, "tiff-truncated", text);
            }
            at = number_at(whole + end - pointer, pointer, swapped);
            cr_assert_leq(page, w.n_pages);
        }
        free(whole);
    }
    ts_test_remove_folder(folder);
}

/* The directory of a page that names itself as the next one. */
Test(tiff, directories_in_a_loop_are_refused)
{
    char folder[256], path[300];
    struct writing w = plain;
    w.n_pages = 1;
    ts_test_folder_in_memory(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/a.tif", folder);
    write_tiff(path, &w);
    FILE *file = fopen(path, "r+b");
    uint32_t at;
    uint16_t n;
    cr_assert(fseek(file, 4, SEEK_SET) == 0 && fread(&at, 4, 1, file) == 1);
    cr_assert(fseek(file, at, SEEK_SET) == 0 && fread(&n, 2, 1, file) == 1);
    cr_assert(fseek(file, (long)at + 2 + 12 * n, SEEK_SET) == 0 && fwrite(&at, 4, 1, file) == 1);
    fclose(file);
    refused(SLICES, path, "tiff-directory", "the page after page 1");
    ts_test_remove_folder(folder);
}

Test(tiff, a_file_changed_after_the_check_is_an_error)
{
    char folder[256], path[300];
    unsigned char data[3 * WIDTH * HEIGHT * 2];
    struct ts_diag *diag = ts_diag_create();
    ts_test_folder_in_memory(folder, sizeof folder);
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%d.tif", folder, i);
        write_tiff(path, &plain);
    }
    struct source *source = opened(SLICES, folder);
    snprintf(path, sizeof path, "%s/0.tif", folder);
    cr_assert_eq(truncate(path, 1000), 0);
    cr_assert_eq(source->ops->read(source, 0, 1, data, diag), TS_BAD_INPUT);
    ts_test_expect(diag, "file-changed", "0.tif");
    source->ops->close(source);
    ts_diag_destroy(diag);
    ts_test_remove_folder(folder);
}

Test(tiff, real_neutron_sinogram)
{
    char path[512];
    SKIP_WITHOUT_DATA("tiff");
    snprintf(path, sizeof path, "%s/projections/sarepy_neutron360/sinogram_360_neutron_image.tif", ts_test_data());
    struct source *source =
        opened("pages: sinograms, pixel_size: 0.1, angle_start: 0, angle_stop: 360, endpoint: true", path);
    struct ts_diag *diag = ts_diag_create();
    cr_assert(source->n_slices == 1 && source->image.axes[1].n == 459 && source->image.axes[2].n == 503);
    cr_assert_eq(source->image.dtype, TS_U16);
    uint16_t *data = malloc(ts_image_bytes(&source->image));
    cr_assert_eq(source->ops->read(source, 0, 1, data, diag), TS_OK);
    /* The strip lies uncompressed at byte 8 or wherever its tag says: the same numbers, big-endian, in the file. */
    size_t length, at = 0;
    unsigned char *whole = (unsigned char *)ts_test_read(path, &length);
    const size_t n = 459 * 503;
    for (bool same = false; !same && at + 2 * n <= length; at += !same) {
        same = true;
        for (size_t i = 0; same && i < n; i++)
            same = data[i] == (whole[at + 2 * i] << 8 | whole[at + 2 * i + 1]);
        if (same)
            break;
    }
    cr_assert_leq(at + 2 * n, length, "the file does not hold the values that were read");
    free(whole);
    free(data);
    source->ops->close(source);
    ts_diag_destroy(diag);
}
