/* SPDX-License-Identifier: Apache-2.0
 *
 * What scanners of some vendors say in a way of their own, or wrongly (docs/vendors.md), on files
 * made for it; real scans are compared with facts of dcm2niix.
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

enum { PATH_BYTES = 1024, SLICES = 3, PIXELS = FIXTURE_ROWS * FIXTURE_COLUMNS };

/* ---- GE: epi_pepolar ------------------------------------------------------------------------- */

enum { VOLUMES = 4 };

struct polarity_row {
    const char *name, *polarity, *syntax;
    bool numbered;          /* the volumes have a Temporal Position, and else times */
    bool reversed[VOLUMES]; /* as dcm2niix has it */
    const char *warning;
};

static void write_polarity(const char *folder, const struct polarity_row *row)
{
    for (int i = 0; i < VOLUMES * SLICES; i++) {
        struct dicom_fixture f;
        char text[32];
        ts_fixture_init_mr(&f, i);
        snprintf(text, sizeof text, "1\\2\\%g", 1.3 * (i % SLICES));
        ts_fixture_text(&f, 0x00200032, "DS", text);
        snprintf(text, sizeof text, "%d", i / SLICES + 1);
        if (row->numbered)
            ts_fixture_text(&f, 0x00200100, "IS", text);
        snprintf(text, sizeof text, "1200%02d", i / SLICES);
        ts_fixture_text(&f, 0x00080032, "TM", text);
        ts_fixture_text(&f, 0x00190010, "LO", "GEMS_ACQU_01");
        ts_fixture_text(&f, 0x0019109C, "LO", row->name);
        ts_fixture_text(&f, 0x001910B3, "DS", row->polarity);
        ts_fixture_us(&f, 0x00280120, ts_fixture_stored(0, 0, i));
        if (row->syntax && !strcmp(row->syntax, FIXTURE_RLE))
            ts_fixture_rle(&f);
        else if (row->syntax)
            ts_fixture_syntax(&f, row->syntax);
        ts_fixture_finish(&f, folder, i);
    }
}

/* Reads the volumes with this polarity, of those that are `whole` (all) or a part, and compares all
 * values. */
static void check_polarity(const char *folder, const char *take, const struct polarity_row *row)
{
    struct ts_diag *diag = ts_diag_create();
    struct source *source = ts_test_open_take(folder, take, diag);
    cr_assert_not_null(source, "%s %s: %s", row->name, row->polarity, ts_test_first_message(diag));
    void *data = ts_test_read_volumes(source, diag);
    size_t at = 0;
    int64_t padded = 0;
    for (int i = 0; i < VOLUMES * SLICES; i++) {
        const bool reversed = row->reversed[i / SLICES];
        if (take && reversed != (strstr(take, "reversed") != NULL))
            continue;
        for (int y = 0; y < FIXTURE_ROWS; y++)
            for (int x = 0; x < FIXTURE_COLUMNS; x++, at++)
                cr_assert_eq(ts_test_value(source, data, at),
                             ts_fixture_stored(x, reversed ? FIXTURE_ROWS - 1 - y : y, i),
                             "%s %s: %d %d of image %d", row->name, row->polarity, y, x, i);
        /* the pixel that is padding lies where its value lies */
        const uint64_t *valid = ts_source_valid(source, (int64_t)(at / PIXELS) - 1);
        padded += valid && !(valid[0] >> (reversed ? PIXELS - FIXTURE_COLUMNS : 0) & 1);
    }
    cr_assert_eq(at, (size_t)ts_source_total(source) * PIXELS, "%s %s", row->name, row->polarity);
    cr_expect_eq(padded, ts_source_valid(source, 0) ? ts_source_total(source) : 0);
    if (row->warning)
        ts_test_expect_warning(diag, "dicom-series", row->warning);
    free(data);
    source->ops->close(source);
    ts_diag_destroy(diag);
}

Test(dicom_vendors, ge_rows_of_reversed_polarity_are_turned_round)
{
    static const struct polarity_row rows[] = {
        {"research/ABCD/epi_pepolar",
         "1.000000",
         NULL,
         true,
         {true, true, true, true},
         "those of 12 of 12 images"},
        {"epi_pepolar",
         "1",
         FIXTURE_IMPLICIT_LE,
         false,
         {true, true, true, true},
         "are turned round"},
        {"epi_pepolar", "1", FIXTURE_RLE, true, {true, true, true, true}, "are turned round"},
        {"epi_pepolar", "0", NULL, true, {false, false, false, false}, NULL},
        {"epi_pepolar", "2", NULL, true, {true, false, true, false}, NULL},
        {"research/ABCD/epi_pepolar",
         "3.0",
         FIXTURE_EXPLICIT_BE,
         true,
         {false, true, false, true},
         NULL},
        {"epi_pepolar",
         "2",
         NULL,
         false,
         {false, false, false, false},
         "have no Temporal Position"},
        {"epi2_pepolar", "1", NULL, true, {false, false, false, false}, NULL},
        {"epiRT", "1", NULL, true, {false, false, false, false}, NULL},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        char folder[64];
        ts_test_folder(folder, sizeof folder);
        write_polarity(folder, &rows[r]);
        const bool mixed = rows[r].reversed[0] != rows[r].reversed[1];
        check_polarity(folder, mixed ? "polarity forward" : NULL, &rows[r]);
        if (mixed)
            check_polarity(folder, "polarity reversed", &rows[r]);
        ts_test_remove_folder(folder);
    }
}

/* ---- UIH: grids ------------------------------------------------------------------------------ */

enum grid_fault {
    GRID_RIGHT,
    GRID_UNNUMBERED,
    GRID_UNPLACED,
    GRID_ONE_LESS,
    GRID_ODD,
    GRID_FOREIGN
};

struct grid_row {
    int tiles, columns, rows; /* of the grid */
    const char *syntax, *image_type;
    enum grid_fault fault;
    const char *text; /* of the refusal */
};

/* Writes the private sequence; tile k lies 4 mm behind the one before, and was acquired in an
 * interleaved order. */
static void add_tiles(struct dicom_fixture *f, int tiles, bool placed)
{
    static struct dicom_bytes item, items, implicit;
    char text[64];
    items.n = implicit.n = 0;
    for (int k = 0; k < tiles; k++) {
        item.n = 0;
        snprintf(text, sizeof text, "202001011200%02d.%03d", k % 2, k / 2);
        ts_bytes_text(&item, 0x0008002A, "DT", text);
        snprintf(text, sizeof text, "%d\\2\\3", 4 * k);
        if (placed)
            ts_bytes_text(&item, 0x00200032, "DS", text);
        ts_bytes_item(&items, &item);
    }
    if (f->implicit)
        ts_bytes_implicit(&implicit, items.at, items.n);
    ts_fixture_bytes(f, 0x00651051, "SQ", f->implicit ? implicit.at : items.at,
                     f->implicit ? implicit.n : items.n);
}

static uint16_t grid_value(int x, int y, int volume)
{
    return (uint16_t)(x + 100 * y + 10000 * volume);
}

/* One grid of tiles of 4 rows and 6 columns as volume v. */
static void write_grid(const char *folder, const struct grid_row *row, int v)
{
    struct dicom_fixture f;
    char text[32];
    const double b = v == 0 ? 1.25 : 1000, gradient[] = {v == 0 ? 0 : 0.6, 0, v == 0 ? 0 : 0.8};
    const int columns = 6 * row->columns, rows = 4 * row->rows;
    uint16_t *pixels = malloc((size_t)(columns * rows) * sizeof *pixels);
    ts_fixture_init_mr(&f, v);
    ts_fixture_syntax(&f, row->syntax);
    ts_fixture_text(&f, 0x00080008, "CS", row->image_type);
    ts_fixture_text(&f, 0x00200037, "DS", "0\\1\\0\\0\\0\\-1");
    ts_fixture_remove(&f, 0x00200032);
    ts_fixture_us(&f, 0x00280010, (uint16_t)rows);
    ts_fixture_us(&f, 0x00280011, (uint16_t)columns);
    ts_fixture_us(&f, 0x00280101, 16);
    ts_fixture_us(&f, 0x00280102, 15);
    for (int i = 0; i < columns * rows; i++)
        pixels[i] = grid_value(i % columns, i / columns, v);
    ts_fixture_bytes(&f, FIXTURE_PIXELS, "OW", pixels, (size_t)(columns * rows) * sizeof *pixels);
    ts_fixture_text(&f, 0x00650010, "LO",
                    row->fault == GRID_FOREIGN ? "Other" : "Image Private Header");
    snprintf(text, sizeof text, "%d", row->tiles);
    if (row->fault != GRID_UNNUMBERED)
        ts_fixture_text(&f, 0x00651050, "DS", text);
    ts_fixture_bytes(&f, 0x00651009, "FD", &b, sizeof b);
    ts_fixture_bytes(&f, 0x00651037, "FD", gradient, sizeof gradient);
    add_tiles(&f, row->tiles - (row->fault == GRID_ONE_LESS), row->fault != GRID_UNPLACED);
    free(pixels);
    ts_fixture_finish(&f, folder, v);
}

/* The normal is row x column = (-1, 0, 0), so that the slices lie in the opposite order. */
static void check_grid(const struct source *source, const void *data, const struct grid_row *row)
{
    size_t at = 0;
    cr_assert_eq(source->n_volumes, 2);
    cr_assert_eq(source->n_slices, row->tiles);
    for (int v = 0; v < 2; v++)
        for (int z = 0; z < row->tiles; z++) {
            const int k = row->tiles - 1 - z;
            for (int y = 0; y < 4; y++)
                for (int x = 0; x < 6; x++, at++)
                    cr_assert_eq(ts_test_value(source, data, at),
                                 grid_value(k % row->columns * 6 + x, k / row->columns * 4 + y, v),
                                 "%d tiles: %d %d %d", row->tiles, z, y, x);
        }
    cr_expect_float_eq(source->image.origin_mm[0], 4 * (row->tiles - 1), 1e-9);
    cr_expect_float_eq(source->image.step_z_mm[0], -4, 1e-9);
    cr_expect_float_eq(source->volume_axis.positions[0], 1.25, 1e-9);
    cr_expect_float_eq(source->gradients[1], 0, 0);
    const double wanted[] = {-0.8, 0.6, 0};
    for (int i = 0; i < 3; i++)
        cr_expect_float_eq(source->gradients[3 + i], wanted[i], 1e-9);
}

Test(dicom_vendors, uih_tiles_of_a_grid_lie_where_the_private_sequence_says)
{
    static const struct grid_row rows[] = {
        {20, 5, 4, FIXTURE_EXPLICIT_LE, "ORIGINAL\\PRIMARY\\M\\VFRAME", GRID_RIGHT, NULL},
        {7, 3, 3, FIXTURE_IMPLICIT_LE, "ORIGINAL\\PRIMARY\\M\\VFRAME", GRID_RIGHT, NULL},
        {12, 4, 3, FIXTURE_EXPLICIT_LE, "ORIGINAL\\PRIMARY\\M\\NONE", GRID_RIGHT, NULL},
        {4, 2, 2, FIXTURE_EXPLICIT_LE, "DERIVED\\SECONDARY\\M\\VFRAME", GRID_RIGHT, NULL},
        {20, 5, 4, FIXTURE_EXPLICIT_LE, "ORIGINAL\\PRIMARY\\M\\VFRAME", GRID_UNNUMBERED,
         "does not state how many"},
        {20, 5, 4, FIXTURE_EXPLICIT_LE, "ORIGINAL\\PRIMARY\\M\\VFRAME", GRID_FOREIGN,
         "does not state how many"},
        {20, 5, 4, FIXTURE_EXPLICIT_LE, "ORIGINAL\\PRIMARY\\M\\NONE", GRID_UNPLACED,
         "states the positions of 0"},
        {20, 5, 4, FIXTURE_EXPLICIT_LE, "ORIGINAL\\PRIMARY\\M\\VFRAME", GRID_ONE_LESS,
         "states the positions of 19"},
        {20, 3, 7, FIXTURE_EXPLICIT_LE, "ORIGINAL\\PRIMARY\\M\\VFRAME", GRID_ODD,
         "does not fit an image of 28 rows"},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        char folder[64];
        struct ts_diag *diag = ts_diag_create();
        ts_test_folder(folder, sizeof folder);
        for (int v = 0; v < 2; v++)
            write_grid(folder, &rows[r], v);
        struct source *source = ts_test_open_take(folder, NULL, diag);
        cr_assert_eq(source == NULL, rows[r].fault != GRID_RIGHT, "row %zu: %s", r,
                     ts_test_first_message(diag));
        if (source) {
            void *data = ts_test_read_volumes(source, diag);
            check_grid(source, data, &rows[r]);
            free(data);
            source->ops->close(source);
        } else {
            ts_test_expect(diag, "dicom-mosaic", rows[r].text);
        }
        ts_test_remove_folder(folder);
        ts_diag_destroy(diag);
    }
}

/* ---- frames: what stands outside of the functional groups ------------------------------------ */

enum { OUT_POSITION = 1, OUT_ORIENTATION = 2, OUT_SPACING = 4, OUT_RESCALE = 8, LIE = 16 };

struct outside_row {
    const char *sop_class, *modality;
    int frames, outside; /* what stands outside; LIE: all of it, wrongly, beside the right one in
                            the groups */
    bool implicit;
};

/* Writes the attributes, in groups of their own or outside. */
static void describe_frames(struct dicom_fixture *f, const struct outside_row *row,
                            struct dicom_bytes *shared)
{
    static struct dicom_bytes group;
    static const struct {
        int bit;
        uint32_t group, tag[2];
        const char *right[2], *wrong[2];
    } parts[] = {
        {OUT_ORIENTATION, 0x00209116, {0x00200037}, {"0\\1\\0\\0\\0\\-1"}, {"1\\0\\0\\0\\1\\0"}},
        {OUT_SPACING, 0x00289110, {0x00280030}, {"0.5\\0.25"}, {"2\\3"}},
        {OUT_RESCALE, 0x00289145, {0x00281052, 0x00281053}, {"-10", "2"}, {"7", "5"}},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        group.n = 0;
        for (int k = 0; k < 2 && parts[i].tag[k]; k++) {
            ts_fixture_remove(f, parts[i].tag[k]);
            if (row->outside & (parts[i].bit | LIE))
                ts_fixture_text(f, parts[i].tag[k], "DS",
                                row->outside & LIE ? parts[i].wrong[k] : parts[i].right[k]);
            ts_bytes_text(&group, parts[i].tag[k], "DS", parts[i].right[k]);
        }
        if (!(row->outside & parts[i].bit))
            ts_bytes_group(shared, parts[i].group, &group);
    }
}

static void write_outside(const char *folder, const struct outside_row *row)
{
    static struct dicom_bytes shared, item, frame, frames, group, implicit;
    struct dicom_fixture f;
    char text[32];
    uint16_t pixels[6 * PIXELS];
    ts_fixture_init(&f, 0);
    shared.n = item.n = frames.n = 0;
    for (int i = 0; i < row->frames * PIXELS; i++)
        pixels[i] = (uint16_t)i;
    ts_fixture_bytes(&f, FIXTURE_PIXELS, "OW", pixels,
                     (size_t)(row->frames * PIXELS) * sizeof *pixels);
    ts_fixture_text(&f, 0x00080016, "UI", row->sop_class);
    ts_fixture_text(&f, 0x00080060, "CS", row->modality);
    snprintf(text, sizeof text, "%d", row->frames);
    ts_fixture_text(&f, 0x00280008, "IS", text);
    ts_fixture_text(&f, 0x00200032, "DS", "1\\2\\3");
    describe_frames(&f, row, &shared);
    ts_bytes_item(&item, &shared);
    for (int k = 0; k < row->frames; k++) {
        frame.n = group.n = 0;
        snprintf(text, sizeof text, "%g\\2\\3", 1 - 1.5 * k);
        ts_bytes_text(&group, 0x00200032, "DS", text);
        if (!(row->outside & OUT_POSITION))
            ts_bytes_group(&frame, 0x00209113, &group);
        ts_bytes_item(&frames, &frame);
    }
    const struct dicom_bytes *groups[] = {&item, &frames};
    for (uint32_t i = 0; i < 2; i++) {
        implicit.n = 0;
        if (row->implicit)
            ts_bytes_implicit(&implicit, groups[i]->at, groups[i]->n);
        const struct dicom_bytes *bytes = row->implicit ? &implicit : groups[i];
        ts_fixture_bytes(&f, 0x52009229 + 7 * i, "SQ", bytes->at, bytes->n);
    }
    if (row->implicit)
        ts_fixture_syntax(&f, FIXTURE_IMPLICIT_LE);
    ts_fixture_finish(&f, folder, 0);
}

Test(dicom_vendors, what_stands_outside_of_the_groups_counts_for_all_frames)
{
    static const struct outside_row rows[] = {
        {"1.2.840.10008.5.1.4.1.1.2.1", "CT", 4, OUT_ORIENTATION, false},
        {"1.2.840.10008.5.1.4.1.1.4.1", "MR", 6, OUT_ORIENTATION | OUT_SPACING, true},
        {"1.2.840.10008.5.1.4.1.1.130", "PT", 3, OUT_RESCALE, false},
        {"1.2.840.10008.5.1.4.1.1.2.1", "CT", 5, OUT_ORIENTATION | OUT_SPACING | OUT_RESCALE,
         false},
        {"1.2.840.10008.5.1.4.1.1.4.1", "MR", 1, OUT_POSITION | OUT_ORIENTATION, false},
        {"1.2.840.10008.5.1.4.1.1.2.1", "CT", 4, LIE, false},
        {"1.2.840.10008.5.1.4.1.1.2.1", "CT", 4, OUT_POSITION, false},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        const struct outside_row *row = &rows[r];
        char folder[64];
        struct ts_diag *diag = ts_diag_create();
        ts_test_folder(folder, sizeof folder);
        write_outside(folder, row);
        struct source *source = ts_test_open_take(folder, NULL, diag);
        if (row->outside ==
            OUT_POSITION) { /* one position for several frames says nothing of them */
            cr_assert_null(source);
            ts_test_expect(diag, "position-missing", "");
        } else {
            cr_assert_not_null(source, "row %zu: %s", r, ts_test_first_message(diag));
            void *data = ts_test_read_volumes(source, diag);
            cr_assert_eq(source->n_slices, row->frames);
            for (int i = 0; i < row->frames * PIXELS; i++) /* the slices lie along -x */
                cr_assert_eq(ts_test_value(source, data, (size_t)i), 2 * i - 10, "row %zu, %d", r,
                             i);
            cr_expect_float_eq(source->image.origin_mm[0], 1, 1e-9);
            cr_expect_float_eq(source->image.axes[1].spacing, 0.5, 1e-9);
            cr_expect_float_eq(source->image.axes[2].spacing, 0.25, 1e-9);
            cr_expect_float_eq(source->image.direction[1], 1, 1e-9);
            bool warned = false;
            for (size_t i = 0; i < ts_diag_count(diag); i++)
                warned |= strstr(ts_diag_get(diag, i)->message,
                                 "outside of the functional groups") != NULL;
            cr_expect_eq(warned, row->outside != LIE, "row %zu", r);
            free(data);
            source->ops->close(source);
        }
        ts_test_remove_folder(folder);
        ts_diag_destroy(diag);
    }
}

/* ---- diffusion: b = 0 that is not stated ----------------------------------------------------- */

enum { MOST_VOLUMES = 4 };

struct unstated_row {
    double b[MOST_VOLUMES]; /* NaN: not stated; 0 in the end: there are fewer volumes */
    int volumes, slices;
    const char *type; /* Image Type of those that state none */
    enum { UNSTATED_WHOLE, UNSTATED_GRADIENT, UNSTATED_ONE_SLICE } how;
    bool taken;
};

static void write_unstated(const char *folder, const struct unstated_row *row)
{
    for (int i = 0; i < row->volumes * row->slices; i++) {
        struct dicom_fixture f;
        char text[32];
        const int v = i / row->slices, z = i % row->slices;
        const double b = row->b[v], gradient[] = {v % 2, 0, 1 - v % 2};
        const bool stated = !isnan(b) && !(row->how == UNSTATED_ONE_SLICE && v == 1 && z == 0);
        ts_fixture_init_mr(&f, i);
        snprintf(text, sizeof text, "1\\2\\%d", 3 * z);
        ts_fixture_text(&f, 0x00200032, "DS", text);
        ts_fixture_text(&f, 0x00080070, "LO", "TOSHIBA");
        if (stated)
            ts_fixture_bytes(&f, 0x00189087, "FD", &b, sizeof b);
        if ((stated && b > 0) || (!stated && row->how == UNSTATED_GRADIENT))
            ts_fixture_bytes(&f, 0x00189089, "FD", gradient, sizeof gradient);
        if (!stated)
            ts_fixture_text(&f, 0x00080008, "CS", row->type);
        ts_fixture_finish(&f, folder, i);
    }
}

Test(dicom_vendors, unstated_b_values_beside_weighted_volumes_are_zero)
{
    static const struct unstated_row rows[] = {
        {{NAN, 1000, 1000}, 3, 4, "ORIGINAL\\PRIMARY\\M", UNSTATED_WHOLE, true},
        {{NAN, NAN, 800, 1000}, 4, 3, "ORIGINAL\\PRIMARY\\M", UNSTATED_WHOLE, true},
        {{1500, NAN}, 2, 5, "ORIGINAL\\PRIMARY\\M", UNSTATED_WHOLE, true},
        {{NAN, 500, 1000}, 3, 1, "ORIGINAL\\PRIMARY\\M", UNSTATED_WHOLE, true},
        {{NAN, 0, 1000}, 3, 4, "ORIGINAL\\PRIMARY\\M", UNSTATED_WHOLE, false},
        {{NAN, 1000}, 2, 4, "DERIVED\\PRIMARY\\M", UNSTATED_WHOLE, false},
        {{NAN, 1000, 2000}, 3, 4, "ORIGINAL\\PRIMARY\\M", UNSTATED_GRADIENT, false},
        {{1000, 1000, 2000}, 3, 4, "ORIGINAL\\PRIMARY\\M", UNSTATED_ONE_SLICE, false},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        const struct unstated_row *row = &rows[r];
        char folder[64];
        bool warned = false;
        struct ts_diag *diag = ts_diag_create();
        ts_test_folder(folder, sizeof folder);
        write_unstated(folder, row);
        struct source *source = ts_test_open_take(folder, NULL, diag);
        for (size_t i = 0; i < ts_diag_count(diag); i++)
            warned |= strstr(ts_diag_get(diag, i)->message, "are taken for b = 0") != NULL;
        cr_expect_eq(warned, row->taken, "row %zu", r);
        cr_assert(!row->taken || source, "row %zu: %s", r, ts_test_first_message(diag));
        if (row->taken) {
            void *data = ts_test_read_volumes(source, diag);
            cr_assert_eq(source->n_volumes, row->volumes, "row %zu", r);
            cr_expect_eq(source->volume_axis.kind, TS_AXIS_B);
            for (int v = 0; v < row->volumes;
                 v++) { /* the volumes are in the order of b or of Instance Numbers */
                const double b = source->volume_axis.positions[v];
                const size_t at = (size_t)(v * row->slices * PIXELS);
                int from = 0;
                while (from < row->volumes - 1 && ts_test_value(source, data, at) !=
                                                      ts_fixture_stored(0, 0, from * row->slices))
                    from++;
                cr_expect_eq(b, isnan(row->b[from]) ? 0 : row->b[from], "row %zu: volume %d", r, v);
                cr_expect_eq(source->gradients[3 * v] + source->gradients[3 * v + 2], b > 0,
                             "row %zu", r);
            }
            free(data);
        }
        if (source)
            source->ops->close(source);
        ts_test_remove_folder(folder);
        ts_diag_destroy(diag);
    }
}

/* ---- diffusion: gradients that only a comment states ----------------------------------------- */

/* Canon's comments tell volumes of one b-value apart, and give no directions. */
Test(dicom_vendors, gradients_in_comments_of_canon_tell_volumes_apart)
{
    static const struct {
        const char *maker, *comments[MOST_VOLUMES];
        double b[MOST_VOLUMES]; /* as the standard's element states it; NaN: it does not */
        bool taken;
    } rows[] = {
        {"CANON_MEC",
         {"", "b=1000(1,0,0)", "b=1000(0,1,0)", "b=1000(0,0.6,-0.8)"},
         {0, 1000, 1000, 1000},
         true},
        {"CANON_MEC",
         {"b=0(0,0,0)", "b=1000(1,0,0)", "b=1000(0,1,0)", "b=2000(0,0,1)"},
         {NAN, NAN, NAN, NAN},
         true},
        {"TOSHIBA_MEC",
         {"b=500(0.445,0.000,0.895)", "b=500(0,1,0)", "b=500(1,0,0)", "b=500(0,0,1)"},
         {500, 500, 500, 500},
         true},
        {"SIEMENS",
         {"", "b=1000(1,0,0)", "b=1000(0,1,0)", "b=1000(0,0,1)"},
         {0, 1000, 1000, 1000},
         false},
        {"CANON_MEC",
         {"", "b=1000(1,0,0) left", "b=1000(0,1,0) left", "b=1000(0,0,1) left"},
         {0, 1000, 1000, 1000},
         false},
        {"CANON_MEC",
         {"", "b=900(1,0,0)", "b=900(0,1,0)", "b=900(0,0,1)"},
         {0, 1000, 1000, 1000},
         false},
        {"CANON_MEC",
         {"", "b=1000(1,0)", "b=1000(0,1)", "b=1000(x,y,z)"},
         {0, 1000, 1000, 1000},
         false},
    };
    enum { PLACES = 3 };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        char folder[64];
        bool warned = false;
        struct ts_diag *diag = ts_diag_create();
        ts_test_folder(folder, sizeof folder);
        for (int i = 0; i < MOST_VOLUMES * PLACES; i++) {
            /* Instance Numbers say nothing: the volumes come in another order at each slice. */
            const int z = i / MOST_VOLUMES, v = (i + z) % MOST_VOLUMES;
            struct dicom_fixture f;
            char text[32];
            ts_fixture_init_mr(&f, i);
            snprintf(text, sizeof text, "1\\2\\%d", 3 * z);
            ts_fixture_text(&f, 0x00200032, "DS", text);
            ts_fixture_text(&f, 0x00080070, "LO", rows[r].maker);
            ts_fixture_text(&f, 0x00204000, "LT", rows[r].comments[v]);
            if (!isnan(rows[r].b[v]))
                ts_fixture_bytes(&f, 0x00189087, "FD", &rows[r].b[v], sizeof rows[r].b[v]);
            ts_fixture_finish(&f, folder, i);
        }
        struct source *source = ts_test_open_take(folder, NULL, diag);
        for (size_t i = 0; i < ts_diag_count(diag); i++)
            warned |=
                strstr(ts_diag_get(diag, i)->message, "only Image Comments states them") != NULL;
        cr_expect_eq(warned, rows[r].taken, "row %zu", r);
        cr_assert_eq(source != NULL, rows[r].taken, "row %zu: %s", r, ts_test_first_message(diag));
        if (source) {
            cr_expect_eq(source->n_volumes, MOST_VOLUMES, "row %zu", r);
            cr_expect_eq(source->volume_axis.kind, TS_AXIS_B);
            cr_expect_null(source->gradients);
            source->ops->close(source);
        }
        ts_test_remove_folder(folder);
        ts_diag_destroy(diag);
    }
}

/* ---- real scans ------------------------------------------------------------------------------ */

/* These are facts of the images that dcm2niix 1.0.20220720 makes of the same files, in the order of
 * DICOM. */
struct fact {
    const char *folder;
    int64_t volumes, slices, rows, columns;
    struct {
        int64_t v, z, y, x;
        double value;
    } pixels[4];
    double origin_mm[3];
};

Test(dicom_vendors, real_scans_are_those_of_dcm2niix)
{
    SKIP_WITHOUT_DATA("dicom_vendors/real_scans_are_those_of_dcm2niix");
    static const struct fact facts[] = {
        {"mr/ge_epi_pepolar",
         4,
         60,
         128,
         128,
         {{2, 48, 94, 67, 6802},
          {2, 42, 105, 68, 4034},
          {2, 42, 67, 27, 4772},
          {2, 38, 102, 57, 6326}},
         {-110.3063, -119.0312, -87.2500}},
        {"mr/uih_vframe_mosaic",
         17,
         20,
         64,
         64,
         {{0, 18, 43, 28, 403}, {0, 7, 55, 36, 520}, {0, 18, 37, 19, 412}, {0, 19, 33, 27, 681}},
         {-154.6475, -58.5787, -9.2186}},
    };
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        char path[PATH_BYTES];
        const struct fact *fact = &facts[i];
        struct ts_diag *diag = ts_diag_create();
        snprintf(path, sizeof path, "%s/%s", ts_test_data(), fact->folder);
        struct source *source = ts_test_open_take(path, NULL, diag);
        cr_assert_not_null(source, "%s: %s", fact->folder, ts_test_first_message(diag));
        cr_assert_eq(source->n_volumes, fact->volumes);
        cr_assert_eq(source->n_slices, fact->slices);
        cr_assert_eq(source->image.axes[1].n, fact->rows);
        cr_assert_eq(source->image.axes[2].n, fact->columns);
        void *data = ts_test_read_volumes(source, diag);
        for (int k = 0; k < 4; k++) {
            const int64_t at =
                ((fact->pixels[k].v * fact->slices + fact->pixels[k].z) * fact->rows +
                 fact->pixels[k].y) *
                    fact->columns +
                fact->pixels[k].x;
            cr_expect_eq(ts_test_value(source, data, (size_t)at), fact->pixels[k].value,
                         "%s: pixel %d is %g", fact->folder, k,
                         ts_test_value(source, data, (size_t)at));
        }
        for (int k = 0; k < 3; k++)
            cr_expect_float_eq(source->image.origin_mm[k], fact->origin_mm[k], 1e-3);
        free(data);
        source->ops->close(source);
        ts_diag_destroy(diag);
    }
}
