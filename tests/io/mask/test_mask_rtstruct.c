/* SPDX-License-Identifier: Apache-2.0
 *
 * Structure sets: random contours against the definition of the even-odd rule, boundaries by hand,
 * planes between slices, those that are refused, and public data against the masks that MIRP made
 * of the same contours.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/source/source_slices.h"
#include "tests/files/dicom_fixture.h"
#include "tests/files/dicom_open.h"
#include "tests/files/mask_open.h"
#include "tests/files/region_fixture.h"
#include "tests/support/chain_run.h"
#include "tests/support/chain_text.h"
#include "tests/support/support.h"

enum {
    NX = FIXTURE_COLUMNS,
    NY = FIXTURE_ROWS,
    NZ = FIXTURE_SLICES,
    N = NX * NY * NZ,
    CONTOURS = 24,
    POINTS = 9
};

static struct mask_opened opened;
static int32_t expected[N];
static double points[CONTOURS][3 * POINTS];
static struct contour_fixture contours[CONTOURS];

static void begin(void)
{
    ts_mask_begin(&opened, "rs.dcm");
    memset(expected, 0, sizeof expected);
}

static void end(void)
{
    ts_mask_end(&opened);
}

TestSuite(mask_rtstruct, .init = begin, .fini = end);

static void place(double x, double y, double z, double mm[3])
{
    const struct ts_image *image = &opened.image->image;
    for (int d = 0; d < 3; d++)
        mm[d] = image->origin_mm[d] + x * 0.7 * image->direction[d] +
                y * 0.5 * image->direction[3 + d] + z * image->step_z_mm[d];
}

/* Counts how often the ray from (x, y) towards lower x crosses the polygon of the contour. */
static int crossings(const double (*corners)[2], int n, double x, double y)
{
    int count = 0;
    for (int i = 0; i < n; i++) {
        const double *a = corners[i], *b = corners[(i + 1) % n];
        if ((a[1] <= y && b[1] > y) || (b[1] <= y && a[1] > y))
            count += a[0] + (y - a[1]) / (b[1] - a[1]) * (b[0] - a[0]) <= x;
    }
    return count;
}

/* Random polygons, which cross themselves and others, of two regions in slices of their own. */
static void make_random(void)
{
    uint64_t seed = 3;
    int counts[N] = {0};
    for (int c = 0; c < CONTOURS; c++) {
        double corners[POINTS][2];
        const int z = (int)(ts_random_next(&seed) % NZ),
                  n = 3 + (int)(ts_random_next(&seed) % (POINTS - 2));
        for (int i = 0; i < n; i++) {
            corners[i][0] = ts_random_unit(&seed) * (NX + 2) - 1.5;
            corners[i][1] = ts_random_unit(&seed) * (NY + 2) - 1.5;
            place(corners[i][0], corners[i][1], z, &points[c][3 * i]);
        }
        contours[c] =
            (struct contour_fixture){.roi = 1 + z % 2, .points = points[c], .n = (size_t)n};
        for (int y = 0; y < NY; y++)
            for (int x = 0; x < NX; x++)
                counts[(z * NY + y) * NX + x] += crossings(corners, n, x, y);
    }
    for (int i = 0; i < N; i++)
        expected[i] = counts[i] % 2 ? 1 + i / (NX * NY) % 2 : 0;
}

Test(mask_rtstruct, contours_are_filled_by_the_even_odd_rule)
{
    int32_t second[N];
    make_random();
    for (int i = 0; i < N; i++)
        second[i] = expected[i] == 2;
    for (int encoding = 0; encoding < 4; encoding++) {
        ts_rtstruct_write(contours, CONTOURS, 2, encoding & 1, encoding >> 1, NULL, opened.path);
        ts_mask_expect(&opened, "", "", expected, TS_U8);
        ts_mask_expect(&opened, ", slices: [2, 7]", "", expected + 2 * NX * NY, TS_U8);
        ts_mask_expect(&opened, "", ", roi: 2", second, TS_U8);
        ts_mask_expect(&opened, "", ", roi: region 2", second, TS_U8);
    }
}

/* Gives contour c four corners in slice z. */
static void make_box(int c, double x0, double y0, double x1, double y1, double z)
{
    place(x0, y0, z, &points[c][0]);
    place(x1, y0, z, &points[c][3]);
    place(x1, y1, z, &points[c][6]);
    place(x0, y1, z, &points[c][9]);
    contours[c] = (struct contour_fixture){.roi = 1, .points = points[c], .n = 4};
}

static void expect_box(int x0, int y0, int x1, int y1, int z, int32_t label)
{
    for (int y = y0; y < y1; y++)
        for (int x = x0; x < x1; x++)
            expected[(z * NY + y) * NX + x] = label;
}

Test(mask_rtstruct, holes_and_neighbors)
{
    make_box(0, -0.4, -0.4, 4.4, 6.4, 4); /* all of a slice, with a hole */
    make_box(1, 0.6, 1.6, 2.4, 3.4, 4);
    make_box(2, 0.1, 0.1, 2.25, 4.3, 6); /* two regions that share an edge */
    make_box(3, 2.25, 0.1, 4.2, 4.3, 6);
    contours[3].roi = 2;
    expect_box(0, 0, 5, 7, 4, 1);
    expect_box(1, 2, 3, 4, 4, 0);
    expect_box(1, 1, 3, 5, 6, 1);
    expect_box(3, 1, 5, 5, 6, 2);
    ts_rtstruct_write(contours, 4, 2, false, false, NULL, opened.path);
    ts_mask_expect(&opened, "", "", expected, TS_U8);
    make_box(3, 1.25, 0.1, 4.2, 4.3, 6);
    contours[3].roi = 2;
    ts_rtstruct_write(contours, 4, 2, false, false, NULL, opened.path);
    ts_mask_refused(&opened, "", "mask-overlap");
}

/* Planes at 2 and 5.4 slices: a slice has the contours of a plane that is at most half of 3.4
 * slices away. */
static void write_two_planes(void)
{
    make_box(0, 0.6, 0.6, 2.4, 2.4, 2);
    make_box(1, 2.6, 3.6, 4.4, 5.4, 5.4);
    for (int z = 1; z <= 3; z++)
        expect_box(1, 1, 3, 3, z, 1);
    for (int z = 4; z <= 7; z++)
        expect_box(3, 4, 5, 6, z, 1);
    ts_rtstruct_write(contours, 2, 1, false, false, NULL, opened.path);
}

Test(mask_rtstruct, copies_make_no_holes)
{
    make_box(0, -0.4, -0.4, 4.4, 6.4, 4);
    make_box(1, 0.6, 1.6, 2.4, 3.4, 4); /* a hole */
    make_box(2, -0.4, -0.4, 4.4, 6.4, 4);
    make_box(3, 0.6, 1.6, 2.4, 3.4, 4);
    make_box(4, -0.4, -0.4, 4.4, 6.4, 4);
    make_box(5, -0.4, -0.4, 4.4, 6.4, 5); /* in another plane, and of another region */
    make_box(6, -0.4, -0.4, 4.4, 6.4, 6);
    contours[6].roi = 2;
    expect_box(0, 0, 5, 7, 4, 1);
    expect_box(1, 2, 3, 4, 4, 0);
    expect_box(0, 0, 5, 7, 5, 1);
    expect_box(0, 0, 5, 7, 6, 2);
    ts_rtstruct_write(contours, 7, 2, false, false, NULL, opened.path);
    ts_mask_expect(&opened, "", "", expected, TS_U8);
    cr_assert_eq(ts_mask_open(&opened, "", ""), TS_OK);
    cr_expect(ts_test_record(opened.diag, "contours-copied"));
    contours[0].type = contours[2].type = "CLOSEDPLANAR_XOR"; /* as they are meant */
    expect_box(0, 0, 5, 7, 4, 0);
    expect_box(1, 2, 3, 4, 4, 1);
    ts_rtstruct_write(contours, 4, 2, false, false, NULL, opened.path);
    expect_box(0, 0, 5, 7, 5, 0);
    expect_box(0, 0, 5, 7, 6, 0);
    ts_mask_expect(&opened, "", "", expected, TS_U8);
}

/* Opens what was written, reads it against `expected`, and returns whether it gives this code. */
static bool reads_with(const char *more, const char *code)
{
    ts_mask_expect(&opened, "", more, expected, TS_U8);
    cr_assert_eq(ts_mask_open(&opened, "", more), TS_OK);
    return ts_test_record(opened.diag, code) != NULL;
}

/* A box and a copy of it that has other points: from another corner on, in reversed order, closed
 * by its first point, with more points, moved by a 20th of a pixel, in a plane beside. */
Test(mask_rtstruct, near_copies_make_no_holes)
{
    const double box[2][2] = {{-0.4, -0.4}, {4.4, 6.4}};
    static const char *const order[] = {"1230", "3210", "01230", "0011223", "0123", "0123"};
    for (int z = 4; z <= 6; z++)
        expect_box(0, 0, 5, 7, z, 1);
    make_box(0, -0.4, -0.4, 4.4, 6.4, 4);
    make_box(2, -0.4, -0.4, 4.4, 6.4, 5);
    make_box(3, -0.4, -0.4, 4.4, 6.4, 6);
    for (int i = 0; i < 6; i++) {
        const size_t n = strlen(order[i]);
        const double moved = i == 4 ? 0.05 : 0, z = i == 5 ? 4.06 : 4;
        for (size_t k = 0; k < n; k++) {
            const int corner = order[i][k] - '0';
            place(box[corner == 1 || corner == 2][0] + moved, box[corner >= 2][1], z,
                  &points[1][3 * k]);
        }
        contours[1] = (struct contour_fixture){.roi = 1, .points = points[1], .n = n};
        ts_rtstruct_write(contours, 4, 1, false, false, NULL, opened.path);
        cr_expect(reads_with("", "contours-copied"), "%d", i);
        cr_expect(reads_with(", resample: nearest", "contours-copied"), "%d", i);
        cr_expect_not(reads_with("", "contours-crossing"), "%d", i);
    }
}

/* A hole stays one, however thin what is around it is; boxes that cross are told of. */
Test(mask_rtstruct, rings_are_no_copies_and_lobes_are_told_of)
{
    make_box(0, -0.4, -0.4, 4.4, 6.4, 4);
    make_box(1, 0.1, 0.1, 3.9, 5.9, 4);
    expect_box(0, 0, 5, 7, 4, 1);
    expect_box(1, 1, 4, 6, 4, 0);
    ts_rtstruct_write(contours, 2, 1, false, false, NULL, opened.path);
    cr_expect_not(reads_with("", "contours-copied"));
    cr_expect_not(reads_with("", "contours-crossing"));
    make_box(0, -0.4, -0.4, 3.4, 6.4, 4);
    make_box(1, 1.6, -0.4, 4.4, 6.4, 4);
    expect_box(0, 0, 5, 7, 4, 1);
    expect_box(2, 0, 4, 7, 4, 0);
    ts_rtstruct_write(contours, 2, 1, false, false, NULL, opened.path);
    cr_expect(reads_with("", "contours-crossing"));
    make_box(1, 3.4, -0.4, 4.4, 6.4, 4); /* they share an edge */
    expect_box(2, 0, 4, 7, 4, 1);
    ts_rtstruct_write(contours, 2, 1, false, false, NULL, opened.path);
    cr_expect_not(reads_with("", "contours-crossing"));
}

static void write_boxes(const double *z, int n)
{
    for (int i = 0; i < n; i++)
        make_box(i, 0.6, 0.6, 2.4, 2.4, z[i]);
    ts_rtstruct_write(contours, (size_t)n, 1, false, false, NULL, opened.path);
}

Test(mask_rtstruct, slices_without_a_contour_between_others_are_told_of)
{
    const double whole[] = {2, 3, 4, 5}, odd[] = {2, 4, 6}, lacking[] = {2, 3, 6, 7};
    for (int z = 2; z <= 5; z++)
        expect_box(1, 1, 3, 3, z, 1);
    write_boxes(whole, 4);
    cr_expect_not(reads_with("", "contours-gaps"));
    cr_expect_not(reads_with(", resample: nearest", "contours-gaps"));
    expect_box(1, 1, 3, 3, 3, 0);
    expect_box(1, 1, 3, 3, 5, 0);
    expect_box(1, 1, 3, 3, 6, 1);
    write_boxes(odd, 3);
    cr_expect(reads_with("", "contours-gaps"));
    expect_box(1, 1, 3, 3, 3, 1);
    expect_box(1, 1, 3, 3, 4, 0);
    expect_box(1, 1, 3, 3, 7, 1);
    write_boxes(lacking, 4);
    cr_expect(reads_with("", "contours-gaps"));
    cr_expect(reads_with(", resample: nearest", "contours-gaps"));
}

/* Planes 0, 1, 3 and 5: each reaches half of the distance to the nearest one. A plane far from the
 * others reaches no further than they do. */
Test(mask_rtstruct, uneven_planes_reach_by_their_own_distances)
{
    const double uneven[] = {0, 1, 3, 5}, far[] = {1, 2, 3, 9};
    for (int z = 0; z <= 5; z++)
        expect_box(1, 1, 3, 3, z, 1);
    write_boxes(uneven, 4);
    cr_expect_not(reads_with(", resample: nearest", "contours-gaps"));
    memset(expected, 0, sizeof expected);
    for (int i = 0; i < 4; i++)
        expect_box(1, 1, 3, 3, (int)far[i], 1);
    write_boxes(far, 4);
    cr_expect(reads_with(", resample: nearest", "contours-gaps"));
}

Test(mask_rtstruct, planes_between_slices)
{
    write_two_planes();
    ts_mask_refused(&opened, "", "mask-outside");
    ts_mask_expect(&opened, "", ", resample: nearest", expected, TS_U8);
}

/* Slices between two planes are filled once, in whatever order they are read. */
Test(mask_rtstruct, slices_in_any_order)
{
    uint64_t seed = 8;
    write_two_planes();
    cr_assert_eq(ts_mask_open(&opened, "", ", resample: nearest"), TS_OK);
    for (int i = 0; i < 100; i++) {
        uint8_t slice[NX * NY];
        const int64_t z = (int64_t)(ts_random_next(&seed) % NZ);
        cr_assert_eq(opened.mask->ops->read(opened.mask, z, 1, slice, opened.diag), TS_OK);
        for (int k = 0; k < NX * NY; k++)
            cr_assert_eq(slice[k], expected[z * NX * NY + k], "slice %d", (int)z);
    }
}

Test(mask_rtstruct, another_frame_of_reference_is_refused)
{
    make_box(0, 0.6, 0.6, 2.4, 2.4, 2);
    expect_box(1, 1, 3, 3, 2, 1);
    ts_rtstruct_write(contours, 1, 1, false, false, opened.image->frame_of_reference, opened.path);
    ts_mask_expect(&opened, "", "", expected, TS_U8);
    ts_rtstruct_write(contours, 1, 1, false, false, "1.2.3.4", opened.path);
    ts_mask_refused(&opened, "", "mask-frame");
    ts_mask_refused(&opened, ", roi: 1", "mask-frame");
    ts_mask_expect(&opened, "", ", frame_of_reference: any", expected, TS_U8);
}

Test(mask_rtstruct, what_is_refused)
{
    static const struct {
        const char *text, *type;
        int64_t claimed;
        const char *code;
    } cases[] = {
        {NULL, NULL, 1000000000, "rtstruct-points"},
        {NULL, "POINT", 0, "mask-empty"},
        {"1\\2\\nan\\1\\2\\3\\2\\2\\3", NULL, 3, "rtstruct-points"},
        {"1\\2\\inf\\1\\2\\3\\2\\2\\3", NULL, 3, "rtstruct-points"},
        {"1\\2\\0x1\\1\\2\\3\\2\\2\\3", NULL, 3, "rtstruct-points"},
        {"1\\2\\1e9\\1\\2\\3\\2\\2\\3", NULL, 3, "rtstruct-points"},
        {"1\\2\\\\1\\2\\3\\2\\2\\3", NULL, 3, "rtstruct-points"},
        {"1,0\\2\\3\\1\\2\\3\\2\\2\\3", NULL, 3, "rtstruct-points"},
        {"1\\2\\3\\1\\2\\3\\2\\2", NULL, 3, "rtstruct-points"},
        {"", NULL, 3, "rtstruct-points"},
        {"1\\2\\3\\9\\2\\3\\2\\2\\99", NULL, 3, "rtstruct-points"},
    };
    make_box(0, 0.6, 0.6, 2.4, 2.4, 2);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        contours[0].text = cases[i].text;
        contours[0].type = cases[i].type;
        contours[0].claimed = cases[i].claimed;
        ts_rtstruct_write(contours, 1, 1, false, false, NULL, opened.path);
        ts_mask_refused(&opened, "", cases[i].code);
    }
    make_box(0, 0.6, 0.6, 2.4, 2.4, 2);
    contours[0].offset = "0\\0.0\\-0.50";
    ts_rtstruct_write(contours, 1, 1, false, false, NULL, opened.path);
    ts_mask_refused(&opened, "", "rtstruct-points");
    contours[0].offset = "0\\0.0\\-0.0E0";
    ts_rtstruct_write(contours, 1, 1, false, false, NULL, opened.path);
    cr_expect_eq(ts_mask_open(&opened, "", ""), TS_OK);
    make_box(0, 0.6, 0.6, 2.4, 2.4, 2);
    make_box(1, 0.6, 0.6, 2.4, 2.4, 12);
    ts_rtstruct_write(contours, 2, 1, false, false, NULL, opened.path);
    ts_mask_refused(&opened, "", "mask-outside");
    ts_mask_refused(&opened, ", roi: region 9", "mask-region");
    ts_rtstruct_write(contours, 1, 1, false, false, NULL, opened.path);
    ts_mask_refused(&opened, ", segment: 1", "parameter-unused");
    ts_rtstruct_write(contours, 2, 0, false, false, NULL, opened.path);
    ts_mask_refused(&opened, "", "rtstruct-regions");
}

/* Sets the number of the last element of this tag, an IS of one digit, in the file. */
static void renumber(uint16_t element, char digit)
{
    const unsigned char head[] = {
        0x06, 0x30, (unsigned char)element, (unsigned char)(element >> 8), 'I', 'S', 2, 0};
    size_t n, at;
    char *bytes = ts_test_read(opened.path, &n);
    for (at = n - sizeof head - 1; at > 0 && memcmp(bytes + at, head, sizeof head) != 0; at--) {
    }
    cr_assert_gt(at, 0);
    bytes[at + sizeof head] = digit;
    ts_fixture_write_bytes(opened.path, bytes, n);
    free(bytes);
}

/* A number stands for one region, and contours for one that is listed. */
Test(mask_rtstruct, numbers_that_are_not_clear_are_refused)
{
    make_box(0, 0.6, 0.6, 2.4, 2.4, 2);
    ts_rtstruct_write(contours, 1, 2, false, false, NULL, opened.path);
    cr_assert_eq(ts_mask_open(&opened, "", ""), TS_OK, "%s", ts_test_errors(opened.diag));
    renumber(0x0022, '1'); /* of the second region */
    ts_mask_refused(&opened, "", "rtstruct-regions");
    ts_mask_refused(&opened, ", roi: 1", "rtstruct-regions");
    ts_rtstruct_write(contours, 1, 1, false, false, NULL, opened.path);
    renumber(0x0084, '7'); /* to which the contours belong */
    ts_mask_refused(&opened, "", "rtstruct-regions");
}

/* Names of regions are texts that people write: a run that is told a name leaves its number alone
 * in the result. */
Test(mask_rtstruct, names_stay_out_of_a_result)
{
    char text[512], output[200];
    size_t n;
    make_box(0, 0.6, 0.6, 2.4, 2.4, 2);
    ts_rtstruct_write(contours, 1, 1, false, false, NULL, opened.path);
    snprintf(text, sizeof text,
             "tomostage: 2\ninput: {dicom: study}\ninputs: {m: {mask: rs.dcm, roi: region 1}}\n"
             "stages: [{statistics: {mask: m}}]\noutput: {hdf5: o.h5}\n");
    ts_test_chain_runs(text, opened.folder);
    snprintf(output, sizeof output, "%s/o.h5", opened.folder);
    char *bytes = ts_test_read(output, &n);
    cr_assert(bytes && memmem(bytes, n, "region_number", 13) && !memmem(bytes, n, "region 1", 8));
    free(bytes);
}

/* Opens a mask of public data, and reads it; free() the values. */
static unsigned char *read_public(const char *name, const char *file, size_t *n)
{
    char text[1024];
    struct ts_chain *chain;
    struct ts_diag *diag;
    struct source *image, *mask;
    const char *data = ts_test_data();
    snprintf(text, sizeof text,
             "tomostage: 2\ninput: {dicom: \"%s/ct/ibsi_sts001/dicom/%s/image\"}\n"
             "inputs: {m: {mask: \"%s/ct/ibsi_sts001/%s\"}}\nstages: [invert]\n",
             data, name, data, file);
    cr_assert_eq(ts_test_parse(text, &chain, &diag), TS_OK);
    const struct chain_source *sources = chain->sources;
    cr_assert_eq(ts_source_open(sources[0].format, &sources[0].set, &image, diag), TS_OK);
    cr_assert_eq(ts_source_open_on(sources[1].format, &sources[1].set, image, &mask, diag), TS_OK,
                 "%s", ts_test_errors(diag));
    cr_assert_eq(mask->image.dtype, TS_U8);
    unsigned char *values = ts_test_read_all(mask, diag);
    *n = ts_image_count(&mask->image);
    mask->ops->close(mask);
    image->ops->close(image);
    ts_chain_destroy(chain);
    ts_diag_destroy(diag);
    return values;
}

/* MIRP made a NIfTI mask of the same contours, which is put on the grid by what its header says. */
static void check_public(const char *name, int64_t voxels)
{
    char contour_file[64], volume_file[64];
    size_t n, n_reference;
    int64_t sum = 0;
    snprintf(contour_file, sizeof contour_file, "dicom/%s/mask/RS.dcm", name);
    snprintf(volume_file, sizeof volume_file, "ref_nifti/%s_mask.nii.gz", name);
    unsigned char *filled = read_public(name, contour_file, &n),
                  *reference = read_public(name, volume_file, &n_reference);
    cr_assert(n == n_reference && memcmp(filled, reference, n) == 0, "%s", name);
    for (size_t i = 0; i < n; i++)
        sum += filled[i];
    cr_assert_eq(sum, voxels, "%s: %lld voxels", name, (long long)sum);
    free(filled);
    free(reference);
}

Test(mask_rtstruct, public_contours_are_filled_as_by_mirp)
{
    SKIP_WITHOUT_DATA("mask_rtstruct/public_contours_are_filled_as_by_mirp");
    check_public("CT", 117145);
    check_public("MR_T1", 117145);
    check_public("PET", 5095);
}
