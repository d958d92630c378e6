/* SPDX-License-Identifier: Apache-2.0
 *
 * The nifti source on files that are built here byte by byte: types, byte orders, versions,
 * transforms, and headers that are wrong or absurd.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/volume/nifti.h"
#include "tests/files/dicom_open.h"
#include "tests/files/volume_fixture.h"
#include "tests/support/folders.h"
#include "tests/support/support.h"

enum { NX = 5, NY = 4, NZ = 1, MOST = 4096 };

struct file {
    unsigned char bytes[MOST];
    size_t n;
};

/* A header of the volume, x to the left and y to the back as in DICOM, with a spacing of (0.7, 0.8,
 * 2) mm. */
static struct nifti_header header_of(enum ts_dtype dtype, int version, int64_t nz)
{
    static const double rows[3][4] = {{-0.7, 0, 0, 10}, {0, -0.8, 0, 20}, {0, 0, 2, -30}};
    struct nifti_header header = {.version = version,
                                  .dim = {3, NX, NY, (double)nz, 1, 1, 1, 1},
                                  .datatype = ts_nifti_datatype(dtype),
                                  .bits = 8 * (double)ts_dtype_bytes(dtype),
                                  .offset = version == 1 ? NIFTI_1_BYTES + 4 : NIFTI_2_BYTES + 4,
                                  .units = NIFTI_MM};
    ts_nifti_set_transform(&header, rows);
    return header;
}

/* Exchanges the bytes of a number. */
static void turn(unsigned char *at, size_t width)
{
    for (size_t i = 0; i < width / 2; i++) {
        const unsigned char byte = at[i];
        at[i] = at[width - 1 - i];
        at[width - 1 - i] = byte;
    }
}

/* Brings the fields that the reader looks at to the other byte order, by their places in the
 * standard. */
static void turn_header(unsigned char *bytes, int version)
{
    static const struct {
        size_t offset, width;
        int n;
    } fields[2][16] = {
        {{0, 4, 1}, {40, 2, 8}, {70, 2, 2}, {76, 4, 11}, {136, 4, 1}, {252, 2, 2}, {256, 4, 18}},
        {{0, 4, 1},
         {12, 2, 2},
         {16, 8, 8},
         {104, 8, 11},
         {216, 8, 1},
         {344, 4, 2},
         {352, 8, 18},
         {500, 4, 1}}};
    for (size_t f = 0; fields[version - 1][f].n > 0; f++)
        for (int i = 0; i < fields[version - 1][f].n; i++)
            turn(bytes + fields[version - 1][f].offset + (size_t)i * fields[version - 1][f].width,
                 fields[version - 1][f].width);
}

static void build(struct file *file, const struct nifti_header *header, enum ts_dtype dtype,
                  bool swapped)
{
    const size_t width = ts_dtype_bytes(dtype);
    file->n = ts_nifti_encode(header, file->bytes);
    if (swapped)
        turn_header(file->bytes, header->version);
    const int64_t volumes = header->dim[0] > 3 ? (int64_t)header->dim[4] : 1;
    for (int64_t i = 0; i < NX * NY * volumes * (int64_t)header->dim[3]; i++, file->n += width) {
        const int64_t z = i / (NX * NY), y = i / NX % NY, x = i % NX;
        const double value = (double)(100 * z + 10 * y + x);
        if (dtype == TS_F64)
            memcpy(file->bytes + file->n, &value, sizeof value);
        else
            ts_test_store(file->bytes + file->n, dtype, 0, value);
        if (swapped)
            turn(file->bytes + file->n, width);
    }
}

static char folder[256], path[300];
static struct file built;

static void begin(void)
{
    ts_test_folder_in_memory(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/a.nii", folder);
}

static void end(void)
{
    ts_test_remove_folder(folder);
}

TestSuite(nifti, .init = begin, .fini = end);

Test(nifti, every_type_order_version_and_gzip)
{
    static const enum ts_dtype dtypes[] = {TS_U8,  TS_I8,  TS_U16, TS_I16,
                                           TS_U32, TS_I32, TS_F32, TS_F64};
    int n = 0;
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
        for (int version = 1; version <= 2; version++)
            for (int swapped = 0; swapped < 2; swapped++)
                for (int gzip = 0; gzip < 2; gzip++, n++) {
                    const int64_t nz =
                        ts_dtype_bytes(dtypes[d]) == 1 ? 1 : 3; /* 100 z fits the type */
                    const struct nifti_header header = header_of(dtypes[d], version, nz);
                    build(&built, &header, dtypes[d], swapped);
                    ts_volume_write(path, built.bytes, built.n, gzip);
                    struct source *source = ts_volume_opened("nifti", path);
                    const struct ts_image *image = &source->image;
                    cr_assert_eq(image->dtype, dtypes[d] == TS_F64 ? TS_F32 : dtypes[d]);
                    cr_assert(image->axes[0].n == nz && image->axes[1].n == NY &&
                              image->axes[2].n == NX);
                    cr_assert(image->axes[2].spacing == 0.7 && image->axes[1].spacing == 0.8);
                    cr_assert(image->has_geometry && image->origin_mm[0] == -10 &&
                              image->origin_mm[2] == -30);
                    cr_assert(image->direction[0] == 1 && image->direction[4] == 1 &&
                              image->step_z_mm[2] == 2);
                    ts_volume_check(source, false);
                    source->ops->close(source);
                }
    cr_assert_eq(n, 64);
}

/* Left-handed axes are made right-handed by the order of the rows; qform counts where there is no
 * sform. */
Test(nifti, rows_are_reversed_where_the_axes_are_left_handed)
{
    static const double left[3][4] = {{-0.7, 0, 0, 10}, {0, 0.8, 0, 20}, {0, 0, 2, -30}};
    struct nifti_header header = header_of(TS_I16, 1, 3);
    for (int quaternion = 0; quaternion < 2; quaternion++) {
        ts_nifti_set_transform(&header, left);
        if (quaternion)
            header.sform = 0;
        build(&built, &header, TS_I16, false);
        ts_volume_write(path, built.bytes, built.n, false);
        struct source *source = ts_volume_opened("nifti", path);
        const struct ts_image *image = &source->image;
        cr_assert(image->direction[0] == 1 && image->direction[4] == 1 && image->direction[8] == 1);
        cr_assert_float_eq(image->origin_mm[1], -20 - 3 * 0.8, 1e-6);
        ts_volume_check(source, true);
        source->ops->close(source);
    }
}

Test(nifti, a_transform_of_any_turn_is_the_same_by_its_quaternion)
{
    uint64_t state = 1;
    for (int i = 0; i < 1000; i++) {
        struct nifti_header header = {.version = 1};
        double q[4], norm = 0, rows[3][4], found[3][4];
        for (int k = 0; k < 4; k++) {
            q[k] = ts_random_unit(&state) - 0.5;
            norm += q[k] * q[k];
        }
        for (int k = 0; k < 4; k++)
            q[k] *= (q[0] < 0 ? -1 : 1) / sqrt(norm);
        header.b = q[1];
        header.c = q[2];
        header.d = q[3];
        header.qform = 1;
        header.pixdim[0] = i % 2 ? -1 : 1;
        for (int k = 0; k < 3; k++) {
            header.pixdim[1 + k] = 0.1 + ts_random_unit(&state);
            header.origin[k] = 100 * ts_random_unit(&state);
        }
        cr_assert(ts_nifti_transform(&header, rows));
        ts_nifti_set_transform(&header, (const double(*)[4])rows);
        cr_assert(header.qform == 1 && header.sform == 1 && header.pixdim[0] == (i % 2 ? -1 : 1));
        header.sform = 0;
        cr_assert(ts_nifti_transform(&header, found));
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 4; c++)
                cr_assert_float_eq(rows[r][c], found[r][c], 1e-12);
    }
}

/* What is no rotation is refused; one in floats of few digits is read, and so is a file that has a
 * second transform. */
Test(nifti, a_quaternion_of_no_rotation_is_refused)
{
    static const struct {
        double b, c, d, sform;
        bool good;
    } cases[] = {{0.9, 0.9, 0.9, 0, false},     {1.2, 0, 0, 0, false},
                 {0, NAN, 0, 0, false},         {0.7, -0.8, 0.1, 0, false},
                 {0.9, 0.9, 0.9, 1, true},      {0.708, 0.708, 0, 0, true},
                 {0.578, 0.578, 0.578, 0, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct nifti_header header = header_of(TS_I16, 2, 3);
        header.qform = 1;
        header.sform = cases[i].sform;
        header.b = cases[i].b;
        header.c = cases[i].c;
        header.d = cases[i].d;
        build(&built, &header, TS_I16, false);
        ts_volume_write(path, built.bytes, built.n, false);
        if (!cases[i].good) {
            ts_volume_refused("nifti", path, "nifti-header");
            continue;
        }
        struct source *source = ts_volume_opened("nifti", path);
        source->ops->close(source);
    }
}

Test(nifti, scales_and_units)
{
    struct nifti_header header = header_of(TS_I16, 2, 3);
    header.slope = 1;
    header.intercept = 0;
    header.units = NIFTI_MICRON;
    build(&built, &header, TS_I16, false);
    ts_volume_write(path, built.bytes, built.n, false);
    struct source *source = ts_volume_opened("nifti", path);
    cr_assert_float_eq(source->image.axes[0].spacing, 0.002, 1e-15);
    cr_assert_eq(source->image.dtype, TS_I16);
    source->ops->close(source);
    header.slope = 0.5;
    build(&built, &header, TS_I16, false);
    ts_volume_write(path, built.bytes, built.n, false);
    source = ts_volume_opened("nifti", path);
    float slice[NX * NY];
    struct ts_diag *diag = ts_diag_create();
    cr_assert(source->image.dtype == TS_F32 &&
              source->ops->read(source, 2, 1, slice, diag) == TS_OK);
    cr_assert_eq(slice[NX + 1], 105.5F);
    source->ops->close(source);
    ts_diag_destroy(diag);
}

/* Without a transform there is no place, and row 0 is the one that programs draw at the top, the
 * last of the file. */
Test(nifti, without_codes_a_volume_has_no_place)
{
    struct nifti_header header = header_of(TS_I16, 1, 3);
    header.sform = header.qform = 0;
    build(&built, &header, TS_I16, false);
    ts_volume_write(path, built.bytes, built.n, false);
    struct ts_diag *diag = ts_diag_create();
    struct source *source;
    cr_assert_eq(ts_volume_chain_open("nifti", path, &source, diag), TS_OK);
    cr_assert(ts_test_record(diag, "rows-reversed"));
    cr_assert(!source->image.has_geometry && source->image.axes[1].spacing == 0.8);
    cr_assert(source->n_attributes == 1 && strstr(source->attributes[0].value, "no place"));
    ts_volume_check(source, true);
    source->ops->close(source);
    ts_diag_destroy(diag);
}

/* The step along z may lean as behind a tilted gantry, and up to TS_UPRIGHT_DEGREE is laid along
 * the normal. Rows lean off columns in no volume. */
Test(nifti, a_sheared_volume_keeps_its_step)
{
    static const struct {
        double lean;
        bool read, kept;
    } cases[] = {{0, true, false},
                 {0.0499, true, false},
                 {0.0501, true, true},
                 {20, true, true},
                 {45.1, false, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double off = 2 * tan(cases[i].lean * M_PI / 180);
        const double rows[3][4] = {{-0.7, 0, 0, 10}, {0, -0.8, -off, 20}, {0, 0, 2, -30}};
        struct nifti_header header = header_of(TS_I16, 2, 3);
        ts_nifti_set_transform(&header, rows);
        build(&built, &header, TS_I16, false);
        ts_volume_write(path, built.bytes, built.n, false);
        if (!cases[i].read) {
            ts_volume_refused("nifti", path, "volume-geometry");
            continue;
        }
        struct ts_diag *diag = ts_diag_create();
        struct source *source;
        cr_assert_eq(ts_volume_chain_open("nifti", path, &source, diag), TS_OK);
        const struct ts_image *image = &source->image;
        cr_assert_eq(ts_test_record(diag, "volume-sheared") != NULL, cases[i].kept);
        cr_assert_float_eq(image->step_z_mm[1], cases[i].kept ? off : 0, 1e-12);
        cr_assert_float_eq(image->step_z_mm[2], 2, cases[i].kept ? 1e-12 : 1e-5);
        cr_assert_float_eq(image->axes[0].spacing, 2, cases[i].kept ? 1e-12 : 1e-5);
        ts_volume_check(source, false);
        source->ops->close(source);
        ts_diag_destroy(diag);
    }
    const double askew[3][4] = {{-0.7, -0.01, 0, 10}, {0, -0.8, 0, 20}, {0, 0, 2, -30}};
    struct nifti_header header = header_of(TS_I16, 1, 3);
    ts_nifti_set_transform(&header, askew);
    build(&built, &header, TS_I16, false);
    ts_volume_write(path, built.bytes, built.n, false);
    ts_volume_refused("nifti", path, "volume-geometry");
}

/* Opens the file of a header, and returns how many warnings with this code there are. */
static size_t count_warnings(const struct nifti_header *header, const char *code)
{
    struct ts_diag *diag = ts_diag_create();
    struct source *source;
    size_t n = 0;
    build(&built, header, TS_I16, false);
    ts_volume_write(path, built.bytes, built.n, false);
    cr_assert_eq(ts_volume_chain_open("nifti", path, &source, diag), TS_OK);
    for (size_t i = 0; i < ts_diag_count(diag); i++)
        n += !strcmp(ts_diag_get(diag, i)->code, code);
    source->ops->close(source);
    ts_diag_destroy(diag);
    return n;
}

/* The two transforms of a header may be those of two spaces, but an image has one place. */
Test(nifti, transforms_that_contradict_each_other_are_warned_of)
{
    static const struct {
        double qform[3][4];
        int codes[2]; /* of sform and qform */
        size_t n;
    } cases[] = {
        {{{-0.7, 0, 0, 10}, {0, -0.8, 0, 20}, {0, 0, 2, -30}}, {1, 1}, 0},
        {{{0.7, 0, 0, 10}, {0, -0.8, 0, 20}, {0, 0, 2, -30}}, {1, 1}, 1},  /* mirrored */
        {{{-0.7, 0, 0, 60}, {0, -0.8, 0, 20}, {0, 0, 2, -30}}, {1, 1}, 1}, /* 50 mm apart */
        {{{-0.7, 0, 0, 60}, {0, -0.8, 0, 20}, {0, 0, 2, -30}},
         {4, 1},
         1}, /* so, in another space */
        {{{0, -0.8, 0, 10}, {-0.7, 0, 0, 20}, {0, 0, -2, -30}}, {2, 2}, 1}, /* turned */
        {{{-0.7, 0, 0, 10.3}, {0, -0.8, 0, 20}, {0, 0, 2, -30}},
         {1, 1},
         0}, /* less than half a voxel */
        {{{-0.7, 0, 0, 10}, {0, -0.8, 0.0002, 20}, {0, 0.0002, 2, -30}}, {1, 1}, 0}, /* rounded */
        {{{0.7, 0, 0, 60}, {0, -0.8, 0, 20}, {0, 0, 2, -30}}, {1, 0}, 0}, /* it has one only */
        {{{0.7, 0, 0, 60}, {0, -0.8, 0, 20}, {0, 0, 2, -30}}, {0, 1}, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int version = 1; version <= 2; version++) {
            struct nifti_header header = header_of(TS_I16, version, 3);
            double rows[12];
            memcpy(rows, header.rows, sizeof rows);
            ts_nifti_set_transform(&header, cases[i].qform);
            memcpy(header.rows, rows, sizeof rows);
            header.sform = cases[i].codes[0];
            header.qform = cases[i].codes[1];
            cr_expect_eq(count_warnings(&header, "nifti-forms"), cases[i].n, "case %zu", i);
        }
}

/* An sform that cannot place voxels, or not at right angles, gives way to a qform; alone it is
 * refused. */
Test(nifti, an_sform_that_is_none_gives_way_to_the_qform)
{
    static const double rows[][12] = {
        {0},                                                 /* all zeros */
        {-0.7, 0, 0, 10, 0, 0, 0, 20, 0, 0, 2, -30},         /* no row y */
        {-0.7, 0.0028, 0, 10, 0, -0.8, 0, 20, 0, 0, 2, -30}, /* skewed by 0.2 degrees */
        {-0.7, 0, 0, NAN, 0, -0.8, 0, 20, 0, 0, 2, -30}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct nifti_header header = header_of(TS_I16, 1, 3);
        const double qform[3][4] = {{-0.7, 0, 0, 10}, {0, -0.8, 0, 20}, {0, 0, 2, -30}};
        ts_nifti_set_transform(&header, qform);
        memcpy(header.rows, rows[i], sizeof header.rows);
        cr_expect_eq(count_warnings(&header, "nifti-forms"), 1, "case %zu", i);
        struct source *source = ts_volume_opened("nifti", path);
        cr_expect_float_eq(source->image.origin_mm[2], -30, 1e-9);
        source->ops->close(source);
        header.qform = NIFTI_UNKNOWN;
        build(&built, &header, TS_I16, false);
        ts_volume_write(path, built.bytes, built.n, false);
        ts_volume_refused("nifti", path, "volume-geometry");
    }
}

/* The components of vectors are no times. */
Test(nifti, components_have_an_axis_of_their_own)
{
    static const struct {
        int intent;
        bool components;
    } cases[] = {{1007, true}, {1005, true}, {2003, true}, {0, false}, {1002, false}, {3, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int version = 1; version <= 2; version++) {
            struct nifti_header header = header_of(TS_I16, version, 3);
            header.intent_code = cases[i].intent;
            header.dim[0] = 4;
            header.dim[3] = 1;
            header.dim[4] = 3;
            header.pixdim[4] = 2;
            header.units = NIFTI_MM + NIFTI_SECONDS;
            cr_expect_eq(count_warnings(&header, "nifti-components"), cases[i].components);
            struct source *source = ts_volume_opened("nifti", path);
            cr_expect_str_eq(ts_axis_name(&source->volume_axis),
                             cases[i].components ? "component" : "time", "case %zu", i);
            cr_expect_eq(source->image.labels, cases[i].intent == NIFTI_LABEL ? 2 : 0);
            source->ops->close(source);
        }
}

/* A turn by half a circle, of which the float a of the quaternion loses most digits, is silent in a
 * large volume. */
Test(nifti, a_turn_that_floats_round_is_no_contradiction)
{
    for (int i = 0; i < 200; i++) {
        struct nifti_header header = header_of(TS_I16, 1, 1);
        unsigned char bytes[NIFTI_2_BYTES + 4];
        const double angle = M_PI - i * 1e-5, c = cos(angle), s = sin(angle);
        const double rows[3][4] = {
            {0.9 * c, -0.9 * s, 0, 230}, {0.9 * s, 0.9 * c, 0, 230}, {0, 0, 1.2, -300}};
        double tolerance;
        bool mirrored;
        header.dim[1] = header.dim[2] = 512;
        header.dim[3] = 400;
        ts_nifti_set_transform(&header, rows);
        ts_nifti_encode(&header, bytes);
        cr_assert_null(ts_nifti_decode(bytes, sizeof bytes, &header));
        const double apart = ts_nifti_apart(&header, &tolerance, &mirrored);
        cr_expect(apart <= tolerance && !mirrored, "turn %d: %g, tolerance %g", i, apart,
                  tolerance);
    }
}

Test(nifti, spacings_that_contradict_the_transform_are_warned_of)
{
    static const struct {
        double pixdim[3];
        bool unplaced;
        size_t n;
    } cases[] = {{{0.7, 0.8, 2}, false, 0},   {{1, 1, 1}, false, 1},     {{0.7, 0.8, 3}, false, 1},
                 {{0.7, 0.9, 2}, false, 1},   {{0.7, 0.8, 0}, false, 0}, {{0.7, 0.8, -2}, false, 0},
                 {{0.703, 0.8, 2}, false, 0}, {{1, 1, 1}, true, 0}};
    static const double signs[][3] = {{-1, 1, 1}, {1, -1, 1}, {1, 1, -1}, {1, 1, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct nifti_header header = header_of(TS_I16, 1, 3);
        memcpy(header.pixdim + 1, cases[i].pixdim, sizeof cases[i].pixdim);
        header.qform = NIFTI_UNKNOWN;
        header.sform = cases[i].unplaced ? NIFTI_UNKNOWN : NIFTI_SCANNER;
        cr_expect_eq(count_warnings(&header, "nifti-forms"), cases[i].n, "case %zu", i);
    }
    for (size_t i = 0; i < 8; i++) { /* of a qform, without and with an sform */
        struct nifti_header header = header_of(TS_I16, 1, 3);
        header.sform = i < 4 ? NIFTI_UNKNOWN : NIFTI_SCANNER;
        for (int k = 0; k < 3; k++)
            header.pixdim[1 + k] *= signs[i % 4][k];
        cr_expect_eq(count_warnings(&header, "nifti-forms"), i < 3, "case %zu", i);
    }
}

/* A fourth axis of spectra is none of times. */
Test(nifti, a_fourth_axis_has_the_name_of_its_unit)
{
    static const struct {
        int units;
        double first, step;
        const char *name, *unit;
        double last; /* position of the last of three */
    } cases[] = {{NIFTI_HZ, 0, 25, "frequency", "Hz", 50},
                 {NIFTI_HZ, 100, -25, "frequency", "Hz", 50},
                 {NIFTI_PPM, 4.7, 0.1, "chemical_shift", "ppm", 4.9},
                 {NIFTI_RADIANS, -6, 3, "angular_frequency", "rad/s", 0},
                 {NIFTI_HZ, 0, 0, "frequency", "", 2},
                 {NIFTI_PPM, NAN, 1, "chemical_shift", "", 2},
                 {NIFTI_SECONDS, 0, 25, "time", "s", 50},
                 {0, 0, 25, "time", "", 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct nifti_header header = header_of(TS_I16, 1, 3);
        build(&built, &header, TS_I16, false); /* three slices, which become three volumes of one */
        header.dim[0] = 4;
        header.dim[3] = 1;
        header.dim[4] = 3;
        header.pixdim[4] = cases[i].step;
        header.first = cases[i].first;
        header.units = NIFTI_MM + cases[i].units;
        ts_nifti_encode(&header, built.bytes);
        ts_volume_write(path, built.bytes, built.n, false);
        struct source *source = ts_volume_opened("nifti", path);
        const struct ts_axis *axis = &source->volume_axis;
        cr_expect_str_eq(ts_axis_name(axis), cases[i].name);
        cr_expect_str_eq(axis->unit, cases[i].unit);
        cr_expect_float_eq(ts_axis_position(axis, 2), cases[i].last, 1e-9, "case %zu", i);
        source->ops->close(source);
    }
}

/* Volumes have times where the header names their unit, and numbers where it does not. */
Test(nifti, volumes_have_times_only_where_the_header_says_so)
{
    struct nifti_header header = header_of(TS_I16, 1, 3);
    for (int timed = 0; timed < 2; timed++) {
        build(&built, &header, TS_I16, false); /* three slices, which become three volumes of one */
        header.dim[0] = 4;
        header.dim[3] = 1;
        header.dim[4] = 3;
        header.pixdim[4] = 1.5;
        header.units = NIFTI_MM + (timed ? NIFTI_SECONDS : 0);
        ts_nifti_encode(&header, built.bytes);
        ts_volume_write(path, built.bytes, built.n, false);
        struct source *source = ts_volume_opened("nifti", path);
        const struct ts_axis *axis = &source->volume_axis;
        cr_assert(source->n_volumes == 3 && axis->kind == TS_AXIS_TIME);
        cr_assert_str_eq(axis->unit, timed ? "s" : "");
        cr_assert_eq(ts_axis_position(axis, 2), timed ? 3 : 2);
        source->ops->close(source);
        header = header_of(TS_I16, 1, 3);
    }
}

/* Times begin at that of the first volume, in the unit of the header; one that says nothing is left
 * out with a warning. */
Test(nifti, volumes_begin_at_the_time_of_the_first)
{
    static const struct {
        double first, read; /* in s */
        bool warned;
    } times[] = {{0, 0, false},       {1.5, 1.5, false}, {-0.7, -0.7, false}, {NAN, 0, true},
                 {INFINITY, 0, true}, {1e30, 0, true},   {1e6, 1e6, false}};
    static const struct {
        int code;
        double units;
    } units[] = {{NIFTI_SECONDS, 1}, {NIFTI_MILLISECONDS, 1e3}, {NIFTI_MICROSECONDS, 1e6}, {0, 1}};
    for (size_t i = 0; i < 8 * 4 * sizeof times / sizeof *times; i++) {
        const size_t t = i / 32, unit = i / 8 % 4;
        const int version = 1 + (int)(i & 1), volumes = i & 2 ? 3 : 1, swapped = i & 4;
        struct nifti_header header = header_of(TS_I16, version, 3);
        build(&built, &header, TS_I16,
              false); /* three slices, which become three volumes of one, or one */
        header.dim[0] = 4;
        header.dim[3] = 3.0 / volumes;
        header.dim[4] = volumes;
        header.pixdim[4] = 2 * units[unit].units;
        header.first = times[t].first * units[unit].units;
        header.units = NIFTI_MM + units[unit].code;
        ts_nifti_encode(&header, built.bytes);
        if (swapped)
            turn_header(built.bytes, version);
        ts_volume_write(path, built.bytes, built.n, false);
        struct ts_diag *diag = ts_diag_create();
        struct source *source = NULL;
        cr_assert_eq(ts_volume_chain_open("nifti", path, &source, diag), TS_OK, "case %zu", i);
        const bool timed = volumes > 1 && units[unit].code;
        cr_expect_eq(ts_test_record(diag, "nifti-times") != NULL, timed && times[t].warned,
                     "case %zu", i);
        for (int v = 0; v < volumes && volumes > 1; v++)
            cr_expect_eq(ts_axis_position(&source->volume_axis, v),
                         timed ? times[t].read + 2 * v : v, "case %zu: %.17g", i,
                         ts_axis_position(&source->volume_axis, v));
        source->ops->close(source);
        ts_diag_destroy(diag);
    }
}

Test(nifti, a_step_of_volumes_that_is_none_is_told)
{
    static const struct {
        double step, read;
        int units, severity; /* -1: nothing is told */
    } rows[] = {{-2.5, 2.5, NIFTI_SECONDS, TS_WARNING},
                {-400, 0.4, NIFTI_MILLISECONDS, TS_WARNING},
                {0, 1, NIFTI_SECONDS, TS_NOTE},
                {NAN, 1, NIFTI_SECONDS, TS_NOTE},
                {2.5, 2.5, NIFTI_SECONDS, -1},
                {0, 1, 0, -1},
                {-1, 1, 0, -1}};
    struct nifti_header header = header_of(TS_I16, 1, 3);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        build(&built, &header, TS_I16, false);
        header.dim[0] = 4;
        header.dim[3] = 1;
        header.dim[4] = 3;
        header.pixdim[4] = rows[i].step;
        header.units = NIFTI_MM + rows[i].units;
        ts_nifti_encode(&header, built.bytes);
        ts_volume_write(path, built.bytes, built.n, false);
        struct ts_diag *diag = ts_diag_create();
        struct source *source = NULL;
        cr_assert_eq(ts_volume_chain_open("nifti", path, &source, diag), TS_OK, "row %zu", i);
        const struct ts_diag_record *record = ts_test_record(diag, "nifti-times");
        cr_expect_eq(record ? (int)record->severity : -1, rows[i].severity, "row %zu", i);
        cr_expect_float_eq(ts_axis_position(&source->volume_axis, 1), rows[i].read, 1e-6, "row %zu",
                           i);
        source->ops->close(source);
        ts_diag_destroy(diag);
        header = header_of(TS_I16, 1, 3);
    }
}

/* A number that is finite in the file does not become infinite in the image. */
Test(nifti, what_is_beyond_floats_is_refused)
{
    static const double values[] = {1e302, -1e39, INFINITY};
    struct nifti_header header = header_of(TS_F64, 1, 1);
    for (int i = 0; i < 6; i++) {
        build(&built, &header, TS_F64, false);
        memcpy(built.bytes + built.n - sizeof *values, &values[i % 3], sizeof *values);
        ts_volume_write(path, built.bytes, built.n, i >= 3);
        if (isfinite(values[i % 3])) {
            ts_volume_refused("nifti", path, "values-out-of-range");
            continue;
        }
        struct source *source = ts_volume_opened("nifti", path);
        struct ts_diag *diag = ts_diag_create();
        float slice[NX * NY];
        cr_assert(source->ops->read(source, 0, 1, slice, diag) == TS_OK &&
                  isinf(slice[NX * NY - 1]));
        source->ops->close(source);
        ts_diag_destroy(diag);
    }
}

/* The values are 100 z + 10 y + x. Beyond 2^25 every fourth integer has a float. */
Test(nifti, counts_what_is_rounded_and_says_where_the_scale_is_none)
{
    static const struct {
        enum ts_dtype stored, read;
        double slope, intercept;
        bool unscaled;
    } cases[] = {
        {TS_F64, TS_F32, 0, 0, false},       {TS_F64, TS_F32, 1, 33554432, false},
        {TS_F32, TS_F32, 0, 0, false},       {TS_I32, TS_I32, 1, 0, false},
        {TS_I32, TS_F32, 1, 40000, false},   {TS_U32, TS_F32, 0.5, 0, false},
        {TS_I32, TS_F32, 1e8, 1, false},     {TS_U16, TS_F32, 0.5, 0, false},
        {TS_U16, TS_U16, INFINITY, 7, true}, {TS_U16, TS_U16, NAN, 7, true},
    };
    int rounded = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct nifti_header header = header_of(cases[i].stored, 1, 1);
        header.slope = cases[i].slope;
        header.intercept = cases[i].intercept;
        build(&built, &header, cases[i].stored, false);
        ts_volume_write(path, built.bytes, built.n, false);
        struct source *source;
        struct ts_diag *diag = ts_diag_create();
        cr_assert_eq(ts_volume_chain_open("nifti", path, &source, diag), TS_OK, "case %zu", i);
        cr_expect_eq(source->image.dtype, cases[i].read, "case %zu", i);
        free(ts_test_read_all(source, diag));
        int64_t n = 0;
        double most = 0;
        for (int64_t k = 0; k < NX * NY * (int64_t)header.dim[3] && !cases[i].unscaled; k++) {
            const double stored = (double)(100 * (k / (NX * NY)) + 10 * (k / NX % NY) + k % NX);
            const double value =
                cases[i].slope == 0 ? stored : cases[i].slope * stored + cases[i].intercept;
            n += (double)(float)value != value;
            most = fmax(most, fabs((double)(float)value - value));
        }
        ts_test_expect_rounding(source, n, most);
        rounded += n > 0;
        cr_expect_eq(ts_test_record(diag, "nifti-scale") != NULL, cases[i].unscaled, "case %zu", i);
        source->ops->close(source);
        ts_diag_destroy(diag);
    }
    cr_expect_eq(rounded, 2);
}

/* Programs that save floats as scaled integers choose the scale so that a background of 0 is
 * exactly 0: intercept == -lowest * slope, in 32-bit floats. */
Test(nifti, a_scaled_background_is_exactly_0)
{
    static const float slopes[] = {0.0123f, 1.2345678e-5f, 3.3333333f, 7e-8f, 0.1f};
    for (size_t i = 0; i < sizeof slopes / sizeof *slopes; i++) {
        struct nifti_header header = header_of(TS_I16, 1, 1);
        header.slope = slopes[i];
        header.intercept = -(double)slopes[i] * 32; /* row 3, column 2 */
        build(&built, &header, TS_I16, false);
        ts_volume_write(path, built.bytes, built.n, false);
        struct source *source;
        struct ts_diag *diag = ts_diag_create();
        cr_assert_eq(ts_volume_chain_open("nifti", path, &source, diag), TS_OK);
        float *values = ts_test_read_all(source, diag);
        for (int64_t k = 0; k < NX * NY * (int64_t)header.dim[3]; k++) {
            const int stored = (int)(100 * (k / (NX * NY)) + 10 * (k / NX % NY) + k % NX);
            cr_expect_eq(values[k] == 0, stored == 32, "slope %g: %d is %g", (double)slopes[i],
                         stored, (double)values[k]);
        }
        free(values);
        source->ops->close(source);
        ts_diag_destroy(diag);
    }
}

Test(nifti, what_is_refused)
{
    static const struct {
        const char *code;
        size_t offset; /* of a 16-bit integer of version 1 */
        int16_t value;
    } cases[] = {{"nifti-header", 40, 0},
                 {"nifti-header", 40, 8},
                 {"volume-truncated", 40, 4},
                 {"nifti-volumes", 40, 5},
                 {"nifti-type", 70, 32},
                 {"nifti-type", 70, 1},
                 {"nifti-type", 70, 1792},
                 {"nifti-type", 70, 128},
                 {"nifti-type", 70, 7},
                 {"nifti-header", 72, 8},
                 {"nifti-header", 72, 0},
                 {"volume-size", 42, 0},
                 {"volume-size", 44, -3},
                 {"volume-truncated", 46, 4},
                 {"volume-truncated", 42, 32767},
                 {"nifti-header", 344, 0x316E},
                 {"nifti-header", 0, 349},
                 {"volume-geometry", 280 + 18, 0x4000},
                 {"volume-geometry", 296 + 6, 0x7F80},
                 {"nifti-header", 110, 0},
                 {"nifti-header", 110, 0x7F80}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct nifti_header header = header_of(TS_I16, 1, 3);
        header.dim[4] = header.dim[5] = 2;
        header.qform = NIFTI_UNKNOWN; /* it would take the place of an sform that is none */
        build(&built, &header, TS_I16, false);
        memcpy(built.bytes + cases[i].offset, &cases[i].value, sizeof cases[i].value);
        ts_volume_write(path, built.bytes, built.n, false);
        ts_volume_refused("nifti", path, cases[i].code);
    }
    for (size_t n = 0; n < built.n; n += 7) { /* cut anywhere */
        struct nifti_header header = header_of(TS_I16, 1, 3);
        build(&built, &header, TS_I16, false);
        ts_volume_write(path, built.bytes, n, false);
        ts_volume_refused("nifti", path,
                          n == 0              ? "input-unreadable"
                          : n < NIFTI_1_BYTES ? "nifti-header"
                                              : "volume-truncated");
    }
}

Test(nifti, links_of_a_pair_are_followed_within_the_folder)
{
    struct nifti_header header = header_of(TS_I16, 1, 3);
    char head[320], image[320], other[320];
    snprintf(head, sizeof head, "%s/a.hdr", folder);
    snprintf(image, sizeof image, "%s/a.img", folder);
    snprintf(other, sizeof other, "%s/b.img", folder);
    build(&built, &header, TS_I16, false);
    memcpy(built.bytes + 344, "ni1", 4);
    ts_volume_write(head, built.bytes, NIFTI_1_BYTES, false);
    ts_volume_write(other, built.bytes, built.n,
                    false); /* whose values begin where the header says */
    cr_assert_eq(symlink(other, image), 0);
    struct source *source = ts_volume_opened("nifti", head);
    ts_volume_check(source, false);
    source->ops->close(source);
    unlink(image);
    cr_assert_eq(symlink("/etc/passwd", image), 0);
    ts_volume_refused("nifti", head, "volume-link-outside");
}

/* The volume that a small gzip file claims is refused before memory is taken for it, or ends where
 * the data do. */
Test(nifti, a_gzip_file_that_claims_more_is_refused)
{
    struct nifti_header header = header_of(TS_I16, 2, 3);
    build(&built, &header, TS_I16, false);
    header.dim[3] = 1e12;
    ts_nifti_encode(&header, built.bytes);
    ts_volume_write(path, built.bytes, built.n, true);
    ts_volume_refused("nifti", path, "volume-size");
    header.dim[3] = 1e9;
    ts_nifti_encode(&header, built.bytes);
    ts_volume_write(path, built.bytes, built.n, true);
    ts_volume_refused("nifti", path, "volume-truncated");
    header.dim[3] = 100;
    ts_nifti_encode(&header, built.bytes);
    ts_volume_write(path, built.bytes, built.n, true);
    ts_volume_refused("nifti", path, "input-unreadable");
}

/* Any byte of the header may be any other: the file is read or refused. */
Test(nifti, no_header_crashes)
{
    uint64_t state = 7;
    for (int i = 0; i < 4000; i++) {
        struct nifti_header header = header_of(TS_I16, 1 + i % 2, 3);
        struct ts_diag *diag = ts_diag_create();
        struct source *source;
        build(&built, &header, TS_I16, false);
        for (int k = 0; k < 1 + i % 3; k++)
            built.bytes[ts_random_next(&state) % built.n] = (unsigned char)ts_random_next(&state);
        ts_volume_write(path, built.bytes, built.n, i % 4 == 0);
        if (ts_volume_chain_open("nifti", path, &source, diag) == TS_OK) {
            void *slice = malloc(ts_slice_bytes(&source->image));
            (void)source->ops->read(source, source->n_slices - 1, 1, slice, diag);
            free(slice);
            source->ops->close(source);
        } else {
            cr_assert(ts_diag_count(diag) > 0);
        }
        ts_diag_destroy(diag);
    }
}
