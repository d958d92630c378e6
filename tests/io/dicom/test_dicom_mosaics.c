/* SPDX-License-Identifier: Apache-2.0
 *
 * Mosaics of Siemens as frames of enhanced files, and images that only say that they are mosaics,
 * since a scanner or a tool has taken these apart.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/files/dicom_bytes.h"
#include "tests/files/dicom_fixture.h"
#include "tests/files/dicom_open.h"
#include "tests/support/support.h"

enum { TILES = 3, GRID = 2, ROWS = FIXTURE_ROWS, COLUMNS = FIXTURE_COLUMNS };

struct row {
    const char *name;
    bool enhanced, mosaic;         /* mosaic: the image is one of TILES tiles, else a slice */
    const char *type, *frame_type; /* Image Type and Frame Type */
    bool text;                     /* the scanner's private text says that it is a mosaic */
    int tiles;                     /* as the CSA header states them; 0: there is none */
    bool normal, matrix;           /* the header has the normal; the measured rows and columns */
    double step;                   /* from file to file; 0: there is one file */
    const char *message;           /* it is refused; NULL: it is read */
};

static void add_csa(struct dicom_fixture *f, const struct row *row)
{
    static struct dicom_bytes csa;
    const double tiles = row->tiles, normal[3] = {0, 0, 1};
    csa.n = 0;
    ts_bytes_csa_start(&csa, 1 + row->normal);
    ts_bytes_csa_tag(&csa, "NumberOfImagesInMosaic", &tiles, 1);
    if (row->normal)
        ts_bytes_csa_tag(&csa, "SliceNormalVector", normal, 3);
    ts_fixture_text(f, 0x00290010, "LO", "SIEMENS CSA HEADER");
    ts_fixture_bytes(f, 0x00291010, "OB", csa.at, csa.n);
}

static void add_group(struct dicom_bytes *frame, uint32_t group_tag, uint32_t tag, const char *vr,
                      const void *value, size_t n)
{
    static struct dicom_bytes group;
    group.n = 0;
    ts_bytes_element(&group, tag, vr, value, n);
    ts_bytes_group(frame, group_tag, &group);
}

static void add_groups(struct dicom_fixture *f, const struct row *row, const char *position)
{
    static struct dicom_bytes item, frame, group;
    const uint16_t steps[2] = {ROWS, COLUMNS};
    frame.n = item.n = group.n = 0;
    if (row->matrix)
        add_group(&frame, 0x00189125, 0x00189058, "US", &steps[0], 2);
    if (*row->frame_type)
        add_group(&frame, 0x00189226, 0x00089007, "CS", row->frame_type, strlen(row->frame_type));
    add_group(&frame, 0x00209113, 0x00200032, "DS", position, strlen(position));
    add_group(&frame, 0x00209116, 0x00200037, "DS", "1\\0\\0\\0\\1\\0 ", 12);
    ts_bytes_text(&group, 0x00180088, "DS", "1.3");
    ts_bytes_text(&group, 0x00280030, "DS", "0.5\\0.7");
    ts_bytes_group(&frame, 0x00289110, &group);
    if (row->text) {
        group.n = 0;
        ts_bytes_text(&group, 0x00210011, "LO", "SIEMENS MR SDI 02");
        ts_bytes_text(&group, 0x00211175, "LO", "M\\ND\\MOSAIC");
        ts_bytes_group(&frame, 0x002111FE, &group);
    }
    ts_bytes_item(&item, &frame);
    for (uint32_t tag = 0x00281052; tag <= 0x00281054; tag++)
        ts_fixture_remove(f, tag);
    ts_fixture_remove(f, 0x00200032);
    ts_fixture_remove(f, 0x00200037);
    ts_fixture_remove(f, 0x00280030);
    ts_fixture_remove(f, 0x00180088);
    ts_fixture_text(f, 0x00080016, "UI", "1.2.840.10008.5.1.4.1.1.4.1");
    ts_fixture_text(f, 0x00280008, "IS", "1");
    ts_fixture_bytes(f, 0x52009230, "SQ", item.at, item.n);
}

/* The position of a mosaic is that of an image as large as it around the center of the slice. */
static void write_file(const char *folder, const struct row *row, int i)
{
    enum { SIDE = GRID };
    static uint16_t pixels[SIDE * ROWS * SIDE * COLUMNS];
    const int columns = row->mosaic ? SIDE * COLUMNS : COLUMNS,
              rows = row->mosaic ? SIDE * ROWS : ROWS;
    const uint16_t matrix[4] = {ROWS, 0, 0, COLUMNS};
    struct dicom_fixture f;
    char position[64];
    ts_fixture_init_mr(&f, i);
    for (int y = 0; y < rows; y++)
        for (int x = 0; x < columns; x++) {
            const int tile = row->mosaic ? y / ROWS * SIDE + x / COLUMNS : i;
            pixels[y * columns + x] = ts_fixture_stored(x % COLUMNS, y % ROWS, tile);
        }
    snprintf(position, sizeof position, "%g\\%g\\%-8g",
             10 - (row->mosaic ? 0.7 * (columns - COLUMNS) / 2 : 0),
             20 - (row->mosaic ? 0.5 * (rows - ROWS) / 2 : 0), row->step * i);
    ts_fixture_text(&f, 0x00080008, "CS", row->type);
    ts_fixture_us(&f, 0x00280010, (uint16_t)rows);
    ts_fixture_us(&f, 0x00280011, (uint16_t)columns);
    ts_fixture_text(&f, 0x00200032, "DS", position);
    ts_fixture_text(&f, 0x00280030, "DS", "0.5\\0.7");
    ts_fixture_text(&f, 0x00180088, "DS", "1.3");
    ts_fixture_bytes(&f, FIXTURE_PIXELS, "OW", pixels,
                     (size_t)rows * (size_t)columns * sizeof *pixels);
    if (row->matrix && !row->enhanced)
        ts_fixture_bytes(&f, 0x00181310, "US", matrix, sizeof matrix);
    if (row->tiles > 0)
        add_csa(&f, row);
    if (row->enhanced)
        add_groups(&f, row, position);
    ts_fixture_finish(&f, folder, i);
}

static void check_slices(struct source *source, const char *name, struct ts_diag *diag)
{
    void *data = ts_test_read_all(source, diag);
    cr_assert(source->n_slices == TILES && source->image.axes[1].n == ROWS, "%s", name);
    cr_expect_float_eq(source->image.axes[0].spacing, 1.3, 1e-9, "%s", name);
    for (int z = 0; z < TILES; z++) {
        const double *at = source->slices[z].position_mm;
        cr_expect(fabs(at[0] - 10) < 1e-9 && fabs(at[1] - 20) < 1e-9 &&
                      fabs(at[2] - 1.3 * z) < 1e-9,
                  "%s: %g %g %g", name, at[0], at[1], at[2]);
        for (int i = 0; i < ROWS * COLUMNS; i++)
            cr_assert_eq(ts_test_value(source, data, (size_t)(z * ROWS * COLUMNS + i)),
                         ts_fixture_stored(i % COLUMNS, i / COLUMNS, z), "%s", name);
    }
    free(data);
}

static void try_row(const struct row *row)
{
    char folder[256];
    struct ts_diag *diag = ts_diag_create();
    ts_test_folder_in_memory(folder, sizeof folder);
    for (int i = 0; i < (row->step > 0 ? TILES : 1); i++)
        write_file(folder, row, i);
    struct source *source = ts_test_open_take(folder, NULL, diag);
    cr_expect_eq(source == NULL, row->message != NULL, "%s: %s", row->name,
                 ts_test_first_message(diag));
    if (source) {
        check_slices(source, row->name, diag);
        source->ops->close(source);
    } else if (row->message) {
        ts_test_expect(diag, "dicom-mosaic", row->message);
    }
    ts_diag_destroy(diag);
    ts_test_remove_folder(folder);
}

static const char plain[] = "ORIGINAL\\PRIMARY\\M\\ND", says[] = "ORIGINAL\\PRIMARY\\M\\ND\\MOSAIC",
                  how_many[] = "whose header does not state how many",
                  order[] = "whose header does not state their order";

Test(dicom_mosaics, of_enhanced_files_are_read_as_those_of_classic_ones)
{
    static const struct row rows[] = {
        {"classic", false, true, says, "", false, TILES, true, false, 0, NULL},
        {"measured", false, true, says, "", false, TILES, true, true, 0, NULL},
        {"enhanced", true, true, says, "", false, TILES, true, false, 0, NULL},
        {"frame", true, true, plain, says, false, TILES, true, true, 0, NULL},
        {"text", true, true, plain, plain, true, TILES, true, false, 0, NULL},
        {"no header", true, true, says, says, false, 0, false, false, 0, how_many},
        {"only text", true, true, plain, plain, true, 0, false, true, 0, how_many},
        {"no normal", true, true, plain, says, false, TILES, false, false, 0, order},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        try_row(&rows[r]);
}

/* Of images that say that they are mosaics, and of which nothing else is known, the positions tell:
 * mosaics lie a whole volume apart, if at all. */
Test(dicom_mosaics, that_were_taken_apart_are_slices)
{
    static const struct row rows[] = {
        {"measured", false, false, says, "", false, 0, false, true, 1.3, NULL},
        {"kept header", false, false, says, "", false, 49, true, true, 1.3, NULL},
        {"positions", false, false, says, "", false, 0, false, false, 1.3, NULL},
        {"enhanced", true, false, says, says, false, 0, false, true, 1.3, NULL},
        {"enhanced positions", true, false, plain, says, true, 0, false, false, 1.3, NULL},
        {"one", false, false, says, "", false, 0, false, false, 0, how_many},
        {"mosaics", false, true, says, "", false, 0, false, false, 3.9, how_many},
        {"mosaics measured", false, true, says, "", false, 0, false, true, 3.9, how_many},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        try_row(&rows[r]);
}
