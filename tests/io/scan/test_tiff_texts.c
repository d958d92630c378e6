/* SPDX-License-Identifier: Apache-2.0
 *
 * What ImageJ and OME-TIFF write into the texts of TIFF files about values and sizes.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tiff.h>

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
    diag = ts_diag_create();
}

static void end(void)
{
    ts_diag_destroy(diag);
    ts_test_remove_folder(folder);
}

TestSuite(tiff_texts, .init = begin, .fini = end);

#define SLICES "pages: slices, pixel_size: 0.5, spacing_z: 2"

static struct source *open_text(const char *text, const char *rest, const char *name)
{
    struct source *source = NULL;
    struct tiff_writing w = ts_tiff_plain;
    char at[400];
    w.description = text;
    snprintf(at, sizeof at, "%s/%s", folder, name);
    ts_tiff_write(at, &w);
    ts_diag_clear(diag);
    cr_assert_eq(ts_tiff_chain_open(rest, at, &source, diag), TS_OK, "%s: %s", text,
                 ts_diag_first_error(diag));
    return source;
}

Test(tiff_texts, a_straight_line_of_imagej_is_applied)
{
    static const struct {
        const char *text;
        double c0, c1;
    } rows[] = {
        {"ImageJ=1.53t\nimages=3\nslices=3\ncf=0\nc0=-32768.0\nc1=1.0\nvunit=Gray Value\n", -32768,
         1},
        {"ImageJ=1.53t\nimages=3\nslices=3\nc0=-1024\nc1=0.5\ncf=0\n", -1024, 0.5},
        {"ImageJ=1.53t\nimages=3\nslices=3\ncf=0\nc0=0\nc1=1e-3\n", 0, 1e-3},
        {"ImageJ=1.53t\nimages=3\nslices=3\ncf=0\nc0=65535\nc1=-1\n", 65535, -1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct source *source = open_text(rows[i].text, SLICES, "a.tif");
        cr_assert_eq(source->image.dtype, TS_F32);
        cr_expect_eq(ts_test_record(diag, "tiff-calibration")->severity, TS_NOTE);
        cr_expect(source->slices[0].slope == rows[i].c1 &&
                  source->slices[0].intercept == rows[i].c0);
        float *data = ts_test_read_all(source, diag);
        for (int k = 0; k < 3; k++)
            for (int at = 0; at < TIFF_ROWS * TIFF_COLUMNS; at++)
                cr_assert_eq(data[k * TIFF_ROWS * TIFF_COLUMNS + at],
                             (float)(rows[i].c0 + rows[i].c1 * (double)ts_tiff_value(
                                                                   TS_U16, k, at / TIFF_COLUMNS,
                                                                   at % TIFF_COLUMNS)),
                             "row %zu, %d", i, at);
        free(data);
        source->ops->close(source);
    }
}

Test(tiff_texts, other_calibrations_are_not_silent_and_none_is)
{
    static const struct {
        const char *text;
        const char *words; /* NULL: none */
    } rows[] = {
        {"ImageJ=1.53t\nimages=3\nslices=3\ncf=1\nc0=1\nc1=2\nc2=3\n", "a polynomial of degree 2"},
        {"ImageJ=1.53t\nimages=3\nslices=3\ncf=7\nc0=1\nc1=2\n", "function 7 (Rodbard)"},
        {"ImageJ=1.53t\nimages=3\nslices=3\ncf=21\n", "function 21 (another)"},
        {"ImageJ=1.53t\nimages=3\nslices=3\ncf=0\nc0=5\n",
         "function 0 (a straight line)"}, /* no slope */
        {"ImageJ=1.53t\nimages=3\nslices=3\ncf=0\nc0=0\nc1=1\n", NULL},
        {"ImageJ=1.53t\nimages=3\nslices=3\ncf=20\nc0=4\nc1=2\n", NULL},
        {"ImageJ=1.53t\nimages=3\nslices=3\nmin=0.0\nmax=255\n", NULL},
        {"taken with cf=0 and c1=2", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct source *source = open_text(rows[i].text, SLICES, "a.tif");
        cr_expect_eq(source->image.dtype, TS_U16);
        if (rows[i].words)
            ts_test_expect_warning(diag, "tiff-calibration", rows[i].words);
        else
            cr_expect_null(ts_test_record(diag, "tiff-calibration"), "row %zu", i);
        source->ops->close(source);
    }
    /* files of two calibrations are no image */
    struct source *source =
        open_text("ImageJ=1.53t\nimages=3\nslices=3\ncf=0\nc0=-1024\nc1=0.5\n", SLICES, "v_0.tif");
    source->ops->close(source);
    source =
        open_text("ImageJ=1.53t\nimages=3\nslices=3\ncf=0\nc0=-1024\nc1=0.25\n", SLICES, "v_1.tif");
    source->ops->close(source);
    snprintf(path, sizeof path, "%s/v_*.tif", folder);
    ts_tiff_refused(SLICES, path, "tiff-pages-differ",
                    "its text says that values are -1024 + 0.25");
}

Test(tiff_texts, sizes_in_texts_that_contradict_the_chain_are_warned_of)
{
    static const struct {
        const char *text, *words; /* NULL: none */
    } rows[] = {
        {"ImageJ=1.53t\nimages=3\nslices=3\nunit=micron\nspacing=100.0\n",
         "slices are 0.1 mm apart, and spacing_z is 2"},
        {"ImageJ=1.53t\nimages=3\nslices=3\nspacing=3\nunit=mm\n", "slices are 3 mm apart"},
        {"ImageJ=1.53t\nimages=3\nslices=3\nspacing=1\nunit=cm\n", "slices are 10 mm apart"},
        {"ImageJ=1.53t\nimages=3\nslices=3\nspacing=2.0\nunit=mm\n", NULL},
        {"ImageJ=1.53t\nimages=3\nslices=3\nspacing=-2000\nunit=\\u00B5m\n", NULL},
        {"ImageJ=1.53t\nimages=3\nslices=3\nspacing=5\nunit=pixel\n", NULL},
        {"ImageJ=1.53t\nimages=3\nslices=3\nspacing=5\n", NULL},
        {"ImageJ=1.53t\nimages=3\nslices=3\nspacing=1\nunit=inch\n", "slices are 25.4 mm apart"},
        {"ImageJ=1.53t\nimages=3\nslices=3\nspacing=1\nunit=millimeter\n", "slices are 1 mm apart"},
        {"ImageJ=1.53t\nimages=3\nslices=3\nspacing=1\nunit=centimetre\n",
         "slices are 10 mm apart"},
        {"<OME><Pixels DimensionOrder=\"XYZCT\" SizeZ=\"3\" SizeC=\"1\" SizeT=\"1\" "
         "PhysicalSizeX=\"3\" PhysicalSizeXUnit=\"in\" "
         "PhysicalSizeY='3'\nPhysicalSizeYUnit=\"in\"/></OME>",
         "rows are 76.2 mm apart and columns 76.2 mm"},
        {"<OME><Pixels DimensionOrder=\"XYZCT\" SizeZ=\"3\" SizeC=\"1\" SizeT=\"1\" "
         "PhysicalSizeX=\"3\" PhysicalSizeXUnit=\"nm\" "
         "PhysicalSizeY='3'\nPhysicalSizeYUnit=\"nm\"/></OME>",
         "rows are 3e-06 mm apart and columns 3e-06 mm"},
        {"<OME><Pixels DimensionOrder=\"XYZCT\" SizeZ=\"3\" SizeC=\"1\" SizeT=\"1\" "
         "PhysicalSizeX=\"3\" PhysicalSizeXUnit=\"\xC2\xB5"
         "m\" PhysicalSizeY='3'\nPhysicalSizeYUnit=\"\xC2\xB5"
         "m\"/></OME>",
         "rows are 0.003 mm apart and columns 0.003 mm"},
        {"<OME><Pixels DimensionOrder=\"XYZCT\" SizeZ=\"3\" SizeC=\"1\" SizeT=\"1\" "
         "PhysicalSizeX=\"3\" PhysicalSizeXUnit=\"thou\" "
         "PhysicalSizeY='3'\nPhysicalSizeYUnit=\"thou\"/></OME>",
         "rows are 0.0762 mm apart and columns 0.0762 mm"},
        {"<OME><Pixels DimensionOrder=\"XYZCT\" SizeZ=\"3\" SizeC=\"1\" SizeT=\"1\" "
         "PhysicalSizeX=\"3\" PhysicalSizeXUnit=\"cm\" "
         "PhysicalSizeY='3'\nPhysicalSizeYUnit=\"cm\"/></OME>",
         "rows are 30 mm apart and columns 30 mm"},
        {"<OME><Pixels DimensionOrder=\"XYZCT\" SizeZ=\"3\" SizeC=\"1\" SizeT=\"1\" "
         "PhysicalSizeX=\"3\" PhysicalSizeXUnit=\"\xC3\x85\" "
         "PhysicalSizeY='3'\nPhysicalSizeYUnit=\"\xC3\x85\"/></OME>",
         "rows are 3e-07 mm apart and columns 3e-07 mm"},
        {"<OME><Pixels DimensionOrder=\"XYZCT\" SizeZ=\"3\" SizeC=\"1\" SizeT=\"1\" "
         "PhysicalSizeX=\"50\" PhysicalSizeY=\"60\"/></OME>",
         "rows are 0.06 mm apart and columns 0.05 mm"},
        {"<OME><Pixels DimensionOrder=\"XYZCT\" SizeZ=\"3\" SizeC=\"1\" SizeT=\"1\" "
         "PhysicalSizeZ=\"100\"/></OME>",
         "slices are 0.1 mm apart"},
        {"<OME><Pixels DimensionOrder=\"XYZCT\" SizeZ=\"3\" SizeC=\"1\" SizeT=\"1\" "
         "PhysicalSizeZ=\"3\" PhysicalSizeZUnit=\"mm\"/></OME>",
         "slices are 3 mm apart"},
        {"<OME><Pixels DimensionOrder=\"XYZCT\" SizeZ=\"3\" SizeC=\"1\" SizeT=\"1\" "
         "PhysicalSizeZ=\"3\" PhysicalSizeZUnit=\"pixel\"/></OME>",
         NULL},
        {"<OME><Pixels DimensionOrder=\"XYZCT\" SizeZ=\"3\" SizeC=\"1\" SizeT=\"1\" "
         "PhysicalSizeX=\"500\" PhysicalSizeY=\"500\" PhysicalSizeZ=\"2000\" "
         "PhysicalSizeZUnit=\"\xC2\xB5m\"/></OME>",
         NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct source *source = open_text(rows[i].text, SLICES, "a.tif");
        if (rows[i].words)
            ts_test_expect_warning(diag, "pixel-size-differs", rows[i].words);
        else
            cr_expect_null(ts_test_record(diag, "pixel-size-differs"), "row %zu", i);
        source->ops->close(source);
    }
}

Test(tiff_texts, a_resolution_is_compared_whatever_its_unit_unless_it_is_that_of_print)
{
    static const struct {
        const char *text;
        uint16_t unit;
        float per;
        const char *words; /* NULL: none */
    } rows[] = {
        {NULL, RESUNIT_INCH, 10, "rows are 2.54 mm apart and columns 2.54 mm"},
        {NULL, RESUNIT_INCH, 254, "rows are 0.1 mm apart and columns 0.1 mm"},
        {NULL, RESUNIT_INCH, 50.8F, NULL}, /* 0.5 mm */
        {NULL, RESUNIT_CENTIMETER, 20, NULL},
        {NULL, RESUNIT_CENTIMETER, 25, "rows are 0.4 mm apart"},
        {NULL, RESUNIT_INCH, 72, NULL},
        {NULL, RESUNIT_INCH, 96, NULL},
        {NULL, RESUNIT_INCH, 300, NULL},
        {NULL, RESUNIT_INCH, 1, NULL},
        {NULL, RESUNIT_INCH, 4800, NULL},
        {NULL, RESUNIT_INCH, 25400, "rows are 0.001 mm apart"},
        {NULL, RESUNIT_INCH, 12700, "rows are 0.002 mm apart"},
        {NULL, RESUNIT_INCH, 6350, "rows are 0.004 mm apart"},
        {NULL, RESUNIT_NONE, 10, NULL},
        {"ImageJ=1.53t\nimages=3\nslices=3\nunit=inch\n", RESUNIT_INCH, 10, "rows are 2.54 mm"},
        {"ImageJ=1.53t\nimages=3\nslices=3\nunit=inch\n", RESUNIT_INCH, 72, NULL},
        {"ImageJ=1.53t\nimages=3\nslices=3\nunit=millimeter\n", RESUNIT_NONE, 10,
         "rows are 0.1 mm"},
        {"ImageJ=1.53t\nimages=3\nslices=3\nunit=nm\n", RESUNIT_INCH, 10, "rows are 1e-07 mm"},
        {"ImageJ=1.53t\nimages=3\nslices=3\nunit=pixel\n", RESUNIT_INCH, 10, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct tiff_writing w = ts_tiff_plain;
        struct source *source;
        w.description = rows[i].text;
        w.resolution = rows[i].per;
        w.resolution_unit = rows[i].unit;
        snprintf(path, sizeof path, "%s/r.tif", folder);
        ts_tiff_write(path, &w);
        ts_diag_clear(diag);
        cr_assert_eq(ts_tiff_chain_open(SLICES, path, &source, diag), TS_OK);
        if (rows[i].words)
            ts_test_expect_warning(diag, "pixel-size-differs", rows[i].words);
        else
            cr_expect_null(ts_test_record(diag, "pixel-size-differs"), "row %zu", i);
        source->ops->close(source);
    }
}
