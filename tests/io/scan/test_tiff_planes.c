/* SPDX-License-Identifier: Apache-2.0
 *
 * OME-TIFF says which image each page of a file, or of a set of files, is.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <tiffio.h>

#include "io/scan/tiff.h"
#include "tests/files/dicom_open.h"
#include "tests/files/tiff_fixture.h"
#include "tests/support/folders.h"
#include "tests/support/support.h"

static char folder[256], path[300];
static struct ts_diag *diag;

static void begin(void)
{
    ts_test_folder_in_memory(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/a.ome.tif", folder);
    diag = ts_diag_create();
}

static void end(void)
{
    ts_diag_destroy(diag);
    ts_test_remove_folder(folder);
}

TestSuite(tiff_planes, .init = begin, .fini = end);

#define SLICES "pages: slices, pixel_size: 0.5, spacing_z: 2"

/* Writes a file whose text has these elements of TiffData for n images. `uuid` is its own. */
static void write_ome(const char *name, const char *sizes, const char *data, const char *uuid,
                      int n_pages, int first_page)
{
    struct tiff_writing w = ts_tiff_plain;
    char text[3000];
    snprintf(
        text, sizeof text,
        "<?xml version=\"1.0\"?><OME xmlns=\"http://www.openmicroscopy.org/Schemas/OME/2016-06\""
        "%s%s%s><!-- <TiffData IFD=\"9\"/> --><Image ID=\"Image:0\"><Pixels ID=\"Pixels:0\" "
        "Type=\"uint16\" SizeX=\"37\" SizeY=\"23\" %s><Channel ID=\"Channel:0:0\"/>%s</Pixels>"
        "</Image></OME>",
        uuid ? " UUID=\"urn:uuid:" : "", uuid ? uuid : "", uuid ? "\"" : "", sizes, data);
    w.description = text;
    w.n_pages = n_pages;
    w.first_page = first_page;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    ts_tiff_write(path, &w);
}

#define FOUR "DimensionOrder=\"XYZCT\" SizeZ=\"4\" SizeC=\"1\" SizeT=\"1\""

/* Opens and returns the severity of the message about the order; -1: there is none. */
static int severity_of(const char *at, const char *words)
{
    struct source *source;
    ts_diag_clear(diag);
    cr_assert_eq(ts_tiff_chain_open(SLICES, at, &source, diag), TS_OK, "%s",
                 ts_diag_first_error(diag));
    source->ops->close(source);
    const struct ts_diag_record *record = ts_test_record(diag, "tiff-plane-order");
    if (record && words)
        cr_assert_not_null(strstr(record->message, words), "%s", record->message);
    return record ? (int)record->severity : -1;
}

Test(tiff_planes, pages_are_read_in_the_order_of_the_images)
{
    static const struct {
        const char *sizes, *data;
        int pages[4], n; /* pages that become the slices */
    } rows[] = {
        {FOUR,
         "<TiffData IFD=\"0\" FirstZ=\"3\"/><TiffData IFD=\"1\" FirstZ=\"2\"/>"
         "<TiffData IFD=\"2\" FirstZ=\"1\"/><TiffData IFD=\"3\" FirstZ=\"0\"/>",
         {3, 2, 1, 0},
         4},
        {FOUR,
         "<TiffData FirstZ=\"2\" IFD=\"0\" PlaneCount=\"1\"></TiffData>\n<TiffData FirstZ=\"0\" "
         "IFD=\"1\" PlaneCount=\"1\"/><TiffData FirstZ='3' IFD='2'\nPlaneCount='1'/>"
         "<TiffData FirstZ=\"1\" IFD=\"3\"/>",
         {1, 3, 0, 2},
         4},
        {FOUR,
         "<TiffData IFD=\"0\" FirstZ=\"2\" PlaneCount=\"2\"/>"
         "<TiffData IFD=\"2\" FirstZ=\"0\" NumPlanes=\"2\"/>",
         {2, 3, 0, 1},
         4},
        {FOUR,
         "<TiffData IFD=\"0\" FirstZ=\"1\" PlaneCount=\"3\"><UUID FileName=\"a.ome.tif\">urn:uuid:1"
         "</UUID></TiffData><TiffData IFD=\"3\"><UUID>urn:uuid:1</UUID></TiffData>",
         {3, 0, 1, 2},
         4},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        write_ome("a.ome.tif", rows[i].sizes, rows[i].data, i == 3 ? "1" : NULL, 4, 0);
        cr_expect_eq(severity_of(path, "in the order of the images"), TS_NOTE, "row %zu", i);
        ts_tiff_expect_pages(SLICES, path, rows[i].n, rows[i].pages);
    }
    /* two channels, each of which is picked where the hint says that it is */
    write_ome("a.ome.tif", "DimensionOrder=\"XYZCT\" SizeZ=\"2\" SizeC=\"2\" SizeT=\"1\"",
              "<TiffData IFD=\"0\" FirstC=\"1\" PlaneCount=\"2\"/><TiffData IFD=\"2\" FirstC=\"0\" "
              "PlaneCount=\"2\"/>",
              NULL, 4, 0);
    ts_tiff_refused(SLICES, path, "tiff-axes", "of 2 channels, 2 slices");
    ts_tiff_expect_pages(SLICES ", pick: [0, 1, 2]", path, 2, (const int[]){2, 3});
    ts_tiff_expect_pages(SLICES ", pick: [2, 1, 2]", path, 2, (const int[]){0, 1});
}

Test(tiff_planes, pages_that_are_in_order_are_read_without_a_word)
{
    static const char *const data[] = {
        "",
        "<TiffData/>",
        "<TiffData IFD=\"0\" PlaneCount=\"4\"/>",
        "<TiffData FirstZ=\"0\" PlaneCount=\"4\"/>",
        "<TiffData IFD=\"3\" FirstZ=\"3\"/><TiffData IFD=\"1\" FirstZ=\"1\"/>"
        "<TiffData IFD=\"2\" FirstZ=\"2\"/><TiffData IFD=\"0\"/>",
        "<ome:TiffData IFD=\"0\" PlaneCount=\"4\"><ome:UUID>urn:uuid:7</ome:UUID></ome:TiffData>"};
    for (size_t i = 0; i < sizeof data / sizeof *data; i++) {
        write_ome("a.ome.tif", FOUR, data[i], i == 4 ? "7" : NULL, 4, 0);
        cr_expect_eq(severity_of(path, NULL), -1, "row %zu", i);
        ts_tiff_expect_pages(SLICES, path, 4, (const int[]){0, 1, 2, 3});
    }
}

Test(tiff_planes, what_cannot_be_followed_is_warned_of)
{
    static const char *const data[] = {
        "<TiffData IFD=\"0\" FirstZ=\"1\"/><TiffData IFD=\"1\" FirstZ=\"1\"/>"
        "<TiffData IFD=\"2\" FirstZ=\"0\"/><TiffData IFD=\"3\" FirstZ=\"2\"/>", /* twice */
        "<TiffData IFD=\"0\" FirstZ=\"4\"/>",                                   /* not there */
        "<TiffData IFD=\"0\" FirstZ=\"2\" PlaneCount=\"70000\"/>",
        "<TiffData IFD=\"0\" FirstZ=\"0\"/><TiffData IFD=\"0\" FirstZ=\"1\"/>", /* two of a page */
        "<TiffData IFD=\"0\" FirstZ=\"3\"/><TiffData IFD=\"2\" FirstZ=\"0\"/>", /* not of all */
        "<TiffData IFD=\"0\"><UUID>urn:uuid:1</UUID></TiffData>"
        "<TiffData IFD=\"0\" FirstZ=\"1\"><UUID>urn:uuid:2</UUID></TiffData>"}; /* whose? */
    for (size_t i = 0; i < sizeof data / sizeof *data; i++) {
        write_ome("a.ome.tif", FOUR, data[i], NULL, 4, 0);
        cr_expect_eq(severity_of(path, "cannot be followed"), TS_WARNING, "row %zu", i);
        ts_tiff_expect_pages(SLICES, path, 4, (const int[]){0, 1, 2, 3});
    }
}

/* Writes the files of a set of four images, each of which has two pages, or one. */
static void write_set(const int *first, int n, const char *const *names)
{
    char data[2000] = "", uuid[2] = "0";
    const int pages = 4 / n;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < pages; k++) {
            const size_t used = strlen(data);
            snprintf(data + used, sizeof data - used,
                     "<TiffData IFD=\"%d\" FirstZ=\"%d\" PlaneCount=\"1\"><UUID "
                     "FileName=\"%s\">urn:uuid:%d</UUID></TiffData>",
                     k, first[i] + k, names[i], i);
        }
    for (int i = 0; i < n; i++) {
        uuid[0] = (char)('0' + i);
        write_ome(names[i], FOUR, data, uuid, pages, first[i]);
    }
}

Test(tiff_planes, files_of_a_set_are_read_in_the_order_of_the_hint)
{
    static const char *const names[] = {"a.ome.tif", "b.ome.tif"}, *const four[] = {
                                                                       "s1.ome.tif", "s2.ome.tif",
                                                                       "s3.ome.tif", "s4.ome.tif"};
    struct source *source;
    char list[1200];
    snprintf(list, sizeof list, "[%s/b.ome.tif, %s/a.ome.tif]", folder, folder);
    write_set((const int[]){0, 2}, 2, names);
    cr_expect_eq(severity_of(folder, NULL), -1);
    cr_expect_eq(severity_of(list, "that of the list is taken"), TS_WARNING);
    write_set((const int[]){2, 0}, 2, names);
    snprintf(path, sizeof path, "%s/*.tif", folder);
    for (int i = 0; i < 2; i++) {
        ts_diag_clear(diag);
        cr_assert_eq(ts_tiff_chain_open(SLICES, i ? folder : path, &source, diag), TS_BAD_INPUT);
        ts_test_expect(diag, "tiff-plane-order", "its first image is number 3 of the 4 of a set");
        cr_assert_not_null(strstr(ts_diag_get(diag, 0)->hint, list), "%s",
                           ts_diag_get(diag, 0)->hint);
    }
    cr_expect_eq(severity_of(list, NULL), -1);
    ts_tiff_expect_pages(SLICES, list, 4, (const int[]){0, 1, 2, 3});
    ts_test_remove_folder(folder);
    ts_test_folder_in_memory(folder, sizeof folder);
    write_set((const int[]){0, 2, 1, 3}, 4, four);
    ts_tiff_refused(SLICES, folder, "tiff-plane-order", "is number 3 of the 4 of a set");
    snprintf(list, sizeof list, "[%s/s1.ome.tif, %s/s3.ome.tif, %s/s2.ome.tif, %s/s4.ome.tif]",
             folder, folder, folder, folder);
    ts_tiff_expect_pages(SLICES, list, 4, (const int[]){0, 1, 2, 3});
}

Test(tiff_planes, files_that_are_whole_and_parts_of_a_set_are_read)
{
    static const char *const names[] = {"a.ome.tif", "b.ome.tif"};
    for (int i = 0; i < 2; i++)
        write_ome(i ? "v2.ome.tif" : "v1.ome.tif", FOUR, "<TiffData IFD=\"0\" PlaneCount=\"4\"/>",
                  i ? "2" : "1", 4, 4 * i);
    cr_expect_eq(severity_of(folder, NULL), -1);
    ts_tiff_expect_pages(SLICES, folder, 8, (const int[]){0, 1, 2, 3, 4, 5, 6, 7});
    /* the text behind the only page is no image */
    char data[2300];
    snprintf(data, sizeof data, "<TiffData IFD=\"0\"/><!--%2000s-->", "");
    write_ome("one.ome.tif", "DimensionOrder=\"XYZCT\" SizeZ=\"2\" SizeC=\"1\" SizeT=\"1\"", data,
              NULL, 1, 0);
    ts_tiff_expect_pages(SLICES, path, 1, (const int[]){0});
    ts_test_remove_folder(folder);
    ts_test_folder_in_memory(folder, sizeof folder);
    write_set((const int[]){2, 0}, 2, names);
    snprintf(path, sizeof path, "%s/a.ome.tif", folder);
    cr_expect_eq(severity_of(path, NULL), -1);
    cr_expect_not_null(ts_test_record(diag, "tiff-planes"));
}

/* ---- several Images, and texts in another file ----------------------------------------------- */

#define IMAGE(sizes, data)                                                                         \
    "<Image><Pixels Type=\"uint16\" SizeX=\"37\" SizeY=\"23\" DimensionOrder=\"XYZCT\" " sizes     \
    ">" data "</Pixels></Image>"
#define SIZE_Z(n) "SizeZ=\"" #n "\" SizeC=\"1\" SizeT=\"1\""

/* Writes a file with a text of these Images. */
static void write_images(const char *name, const char *uuid, const char *images, int n_pages)
{
    struct tiff_writing w = ts_tiff_plain;
    char text[3000];
    snprintf(text, sizeof text, "<OME%s%s%s>%s</OME>", uuid ? " UUID=\"urn:uuid:" : "",
             uuid ? uuid : "", uuid ? "\"" : "", images);
    w.description = text;
    w.n_pages = n_pages;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    ts_tiff_write(path, &w);
}

Test(tiff_planes, several_images_of_a_file_are_refused_until_one_is_picked)
{
    static const struct {
        const char *images, *says, *hint;
        int n, first[4], second[4], n_first, n_second; /* the pages of both Images */
    } rows[] = {
        {IMAGE(SIZE_Z(4), "<TiffData IFD=\"0\" PlaneCount=\"4\"/>")
             IMAGE(SIZE_Z(3), "<TiffData IFD=\"4\" PlaneCount=\"3\"/>"),
         "2 Images, the first of 4 pages and the second of 3",
         "pick: [0, 1, 4] takes the pages of the first, pick: [4, 1, 3] those of the second",
         7,
         {0, 1, 2, 3},
         {4, 5, 6},
         4,
         3},
        {IMAGE(SIZE_Z(2), "<TiffData IFD=\"2\" PlaneCount=\"2\"/>")
             IMAGE(SIZE_Z(2), "<TiffData IFD=\"0\" PlaneCount=\"2\"/>"),
         "2 Images, the first of 2 pages and the second of 2",
         "pick: [0, 1, 2] takes the pages of the first, pick: [2, 1, 2]",
         4,
         {2, 3},
         {0, 1},
         2,
         2},
        {IMAGE(SIZE_Z(2), "<TiffData IFD=\"0\"/><TiffData IFD=\"2\" FirstZ=\"1\"/>")
             IMAGE(SIZE_Z(2), "<TiffData IFD=\"1\"/><TiffData IFD=\"3\" FirstZ=\"1\"/>"),
         "2 Images, the first of 2 pages and the second of 2",
         "pick: [0, 1, 2] takes the pages of the first, pick: [2, 1, 2]",
         4,
         {0, 2},
         {1, 3},
         2,
         2},
        {IMAGE(SIZE_Z(1), "<TiffData IFD=\"0\"/>") IMAGE(SIZE_Z(1), "<TiffData IFD=\"1\"/>")
             IMAGE(SIZE_Z(1), "<TiffData IFD=\"2\"/>"),
         "3 Images, the first of 1 pages and the second of 1",
         "pick: [0, 1] those of all",
         3,
         {0},
         {1},
         1,
         1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char picked[128];
        struct source *source;
        write_images("a.ome.tif", NULL, rows[i].images, rows[i].n);
        ts_diag_clear(diag);
        cr_assert_eq(ts_tiff_chain_open(SLICES, path, &source, diag), TS_BAD_INPUT, "row %zu", i);
        const struct ts_diag_record *record = ts_test_record(diag, "tiff-images");
        cr_assert_not_null(record, "row %zu", i);
        cr_expect_not_null(strstr(record->message, rows[i].says), "row %zu: %s", i,
                           record->message);
        cr_expect_not_null(strstr(record->hint, rows[i].hint), "row %zu: %s", i, record->hint);
        snprintf(picked, sizeof picked, SLICES ", pick: [0, 1, %d]", rows[i].n_first);
        ts_tiff_expect_pages(picked, path, rows[i].n_first, rows[i].first);
        snprintf(picked, sizeof picked, SLICES ", pick: [%d, 1, %d]", rows[i].n_first,
                 rows[i].n_second);
        ts_tiff_expect_pages(picked, path, rows[i].n_second, rows[i].second);
    }
}

/* Of a set each file may list the Images of all; only those that it holds count. */
Test(tiff_planes, images_of_other_files_of_a_set_do_not_count)
{
    static const char images[] =
        IMAGE(SIZE_Z(2), "<TiffData IFD=\"0\" PlaneCount=\"2\"><UUID>urn:uuid:1</UUID></TiffData>")
            IMAGE(SIZE_Z(3), "<TiffData IFD=\"0\" FirstZ=\"2\"><UUID>urn:uuid:2</UUID></TiffData>"
                             "<TiffData IFD=\"1\" FirstZ=\"0\"><UUID>urn:uuid:2</UUID></TiffData>"
                             "<TiffData IFD=\"2\" FirstZ=\"1\"><UUID>urn:uuid:2</UUID></TiffData>");
    write_images("a.ome.tif", "1", images, 2);
    cr_expect_eq(severity_of(path, NULL), -1);
    ts_tiff_expect_pages(SLICES, path, 2, (const int[]){0, 1});
    write_images("b.ome.tif", "2", images, 3);
    cr_expect_eq(severity_of(path, "its text says which image"), TS_NOTE);
    ts_tiff_expect_pages(SLICES, path, 3, (const int[]){1, 2, 0});
}

Test(tiff_planes, files_without_a_text_of_their_own_are_refused_until_pages_are_picked)
{
    static const char only[] =
        "<BinaryOnly MetadataFile=\"set.companion.ome\" UUID=\"urn:uuid:9\"/>";
    static const struct {
        const char *text, *says;
        int n; /* pages; 1: nothing is unclear */
    } rows[] = {
        {only, "set.companion.ome has what says which images they are", 4},
        {"<!-- a --><BinaryOnly UUID='urn:uuid:9'\nMetadataFile='first.ome.tif'></BinaryOnly>",
         "first.ome.tif has what says", 3},
        {"<BinaryOnly/>", "another file has what says", 2},
        {only, NULL, 1},
    };
    struct source *source;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        write_images("a.ome.tif", "3", rows[i].text, rows[i].n);
        ts_diag_clear(diag);
        const enum ts_status status = ts_tiff_chain_open(SLICES, path, &source, diag);
        cr_assert_eq(status, rows[i].says ? TS_BAD_INPUT : TS_OK, "row %zu", i);
        if (status == TS_OK)
            source->ops->close(source);
        else
            ts_test_expect(diag, "tiff-companion", rows[i].says);
        ts_tiff_expect_pages(SLICES ", pick: [0, 1]", path, rows[i].n, (const int[]){0, 1, 2, 3});
    }
    write_images("b.ome.tif", "4", only, 1);
    ts_tiff_refused(SLICES, folder, "tiff-companion", "a.ome.tif has pixels only");
}

/* Some programs write floats without SampleFormat, so that they count as integers. */
Test(tiff_planes, floats_without_a_format_are_warned_of)
{
    static const struct {
        enum ts_dtype dtype;
        bool forget, told;
    } rows[] = {{TS_F32, true, true},
                {TS_F32, false, false},
                {TS_U32, true, false},
                {TS_I32, false, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct tiff_writing w = ts_tiff_plain;
        w.dtype = rows[i].dtype;
        w.n_pages = 1;
        ts_tiff_write(path, &w);
        TIFF *tiff = rows[i].forget ? TIFFOpen(path, "r+") : NULL;
        if (tiff) {
            TIFFUnsetField(tiff, TIFFTAG_SAMPLEFORMAT);
            cr_assert(TIFFRewriteDirectory(tiff));
            TIFFClose(tiff);
        }
        ts_diag_clear(diag);
        struct source *source;
        cr_assert_eq(ts_tiff_chain_open(SLICES, path, &source, diag), TS_OK);
        source->ops->close(source);
        cr_expect_eq(ts_test_record(diag, "tiff-floats") != NULL, rows[i].told, "row %zu", i);
    }
}

/* Pages of another size, such as pictures of a label, can be left out. */
Test(tiff_planes, pages_that_are_picked_must_be_alike)
{
    struct tiff_writing w = ts_tiff_plain;
    struct source *source;
    ts_diag_clear(diag);
    w.n_pages = 2;
    ts_tiff_write(path, &w);
    w.n_pages = 1;
    w.width = 20;
    w.mode = "a";
    ts_tiff_write(path, &w);
    cr_assert_eq(ts_tiff_chain_open(SLICES, path, &source, diag), TS_BAD_INPUT);
    ts_test_expect(diag, "tiff-pages-differ", "page 3");
    cr_expect_str_eq(ts_test_record(diag, "tiff-pages-differ")->hint,
                     "pick: [0, 1, 2] takes the pages before it");
    ts_tiff_expect_pages(SLICES ", pick: [0, 1, 2]", path, 2, (const int[]){0, 1});
    ts_tiff_refused(SLICES ", pick: [1, 1]", path, "tiff-pages-differ", "page 3");
}
