/* SPDX-License-Identifier: Apache-2.0
 *
 * The mha source on files that are written here: values behind the header and in a file of their
 * own, raw and in zlib, both byte orders, directions, and headers that are refused.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "tests/files/dicom_open.h"
#include "tests/files/volume_fixture.h"
#include "tests/support/folders.h"
#include "tests/support/support.h"

#define TYPE "ElementType = MET_SHORT\n"
#define SHAPE "ObjectType = Image\nNDims = 3\nDimSize = 5 4 3\n" TYPE
#define UPRIGHT "TransformMatrix = 1 0 0 0 1 0 0 0 1\n"
#define SPACING "ElementSpacing = 0.7 0.8 2\n"
#define PLACE UPRIGHT "Offset = -10 -20 -30\n" SPACING
#define LOCAL "ElementDataFile = LOCAL\n"

static char folder[256], path[300], data_path[300];
static unsigned char values[VOLUME_BYTES], bytes[8192];

static void begin(void)
{
    ts_test_folder_in_memory(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/a.mha", folder);
    snprintf(data_path, sizeof data_path, "%s/a.raw", folder);
    ts_volume_fill(values);
}

static void end(void)
{
    ts_test_remove_folder(folder);
}

TestSuite(mha, .init = begin, .fini = end);

static void write_mha(const char *header, const void *data, size_t n)
{
    const int length = snprintf((char *)bytes, sizeof bytes, "%s", header);
    memcpy(bytes + length, data, n);
    ts_volume_write(path, bytes, (size_t)length + n, false);
}

Test(mha, values_behind_the_header_and_apart_raw_and_in_zlib)
{
    static unsigned char packed[1024];
    uLongf n = sizeof packed;
    char header[1024];
    cr_assert_eq(compress(packed, &n, values, sizeof values), Z_OK);
    write_mha(SHAPE PLACE LOCAL, values, sizeof values);
    ts_volume_check_place(ts_volume_opened("mha", path));
    ts_volume_write(data_path, values, sizeof values, false);
    write_mha(SHAPE PLACE "HeaderSize = -1\nElementDataFile = a.raw\n", "", 0);
    ts_volume_check_place(ts_volume_opened("mha", path));
    write_mha(SHAPE PLACE "CompressedData = True\n" LOCAL, packed, n);
    ts_volume_check_place(ts_volume_opened("mha", path));
    snprintf(header, sizeof header,
             SHAPE PLACE "CompressedData = True\r\nCompressedDataSize = %d\n%s", (int)n, LOCAL);
    write_mha(header, packed, n);
    ts_volume_check_place(ts_volume_opened("mha", path));
    write_mha(header, packed, n - 1);
    ts_volume_refused("mha", path, "mha-header");
    packed[n - 1] ^= 1; /* its checksum */
    write_mha(header, packed, n);
    ts_volume_refused("mha", path, "input-unreadable");
    for (size_t i = 0; i < sizeof values; i += 2) {
        const unsigned char low = values[i];
        values[i] = values[i + 1];
        values[i + 1] = low;
    }
    write_mha(SHAPE PLACE "BinaryDataByteOrderMSB = True\nElementByteOrderMSB = True\n" LOCAL,
              values, sizeof values);
    ts_volume_check_place(ts_volume_opened("mha", path));
}

/* A row of TransformMatrix is the direction of an axis of the file; letters are compared with it.
 */
Test(mha, directions_are_those_of_axes)
{
    static const struct {
        const char *fields;
        bool warned;
    } cases[] = {{"AnatomicalOrientation = AIR\n", false}, /* from these sides */
                 {"AnatomicalOrientation = PSL\n", false}, /* to these sides */
                 {"AnatomicalOrientation = ???\n", false},
                 {"AnatomicalOrientation = RAI\n", true},
                 {"AnatomicalOrientation = PS\n", true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ts_diag *diag = ts_diag_create();
        struct source *source;
        char header[1024];
        snprintf(header, sizeof header,
                 "%sRotation = 0 1 0 0 0 1 1 0 0\nOrigin = 1 2 3\nPosition = 1 2 3\n%s%s%s", SHAPE,
                 SPACING, cases[i].fields, LOCAL);
        write_mha(header, values, sizeof values);
        cr_assert_eq(ts_volume_chain_open("mha", path, &source, diag), TS_OK, "case %zu", i);
        cr_expect_eq(ts_test_record(diag, "mha-place") != NULL, cases[i].warned, "case %zu", i);
        cr_assert(source->image.direction[1] == 1 && source->image.direction[5] == 1 &&
                  source->image.step_z_mm[0] == 2 && source->image.origin_mm[2] == 3);
        ts_volume_check(source, false);
        source->ops->close(source);
        ts_diag_destroy(diag);
    }
}

Test(mha, slices_volumes_and_files_without_a_place)
{
    struct source *source;
    write_mha(SHAPE SPACING LOCAL, values, sizeof values);
    source = ts_volume_opened("mha", path);
    cr_assert(!source->image.has_geometry && source->image.axes[0].spacing == 2);
    source->ops->close(source);
    write_mha(SHAPE PLACE "DistanceUnits = ?\n" LOCAL, values, sizeof values);
    source = ts_volume_opened("mha", path);
    cr_assert(!source->image.has_geometry && !strcmp(source->image.axes[0].unit, "pixel"));
    source->ops->close(source);
    write_mha("NDims = 2\nDimSize = 5 12\nElementSize = 0.5 0.5\n" TYPE LOCAL, values,
              sizeof values);
    source = ts_volume_opened("mha", path);
    cr_assert(source->image.axes[0].n == 1 && source->image.axes[1].spacing == 0.5);
    source->ops->close(source);
    static const struct {
        const char *field, *name, *unit;
        double second;
    } axes[] = {{"", "time", "", 1},
                {"tomostage_volumes = time s 0.5 2\n", "time", "s", 2.5},
                {"tomostage_volumes = time s 0.5 2 7\n", "time", "s", 2},
                {"tomostage_volumes = b s/mm2 0 1000 1000\n", "b", "s/mm2", 1000},
                {"tomostage_volumes = box_radius - 1 3\n", "box_radius", "", 4}};
    for (size_t i = 0; i < sizeof axes / sizeof *axes; i++) {
        char header[1024];
        snprintf(header, sizeof header,
                 "NDims = 4\nDimSize = 5 4 1 3\nElementSpacing = 1 1 1 1\n" TYPE "%s%s",
                 axes[i].field, LOCAL);
        write_mha(header, values, sizeof values);
        source = ts_volume_opened("mha", path);
        cr_assert_eq(source->n_volumes, 3);
        cr_expect_str_eq(ts_axis_name(&source->volume_axis), axes[i].name, "case %zu", i);
        cr_expect_str_eq(source->volume_axis.unit, axes[i].unit, "case %zu", i);
        cr_expect_eq(ts_axis_position(&source->volume_axis, 1), axes[i].second, "case %zu", i);
        source->ops->close(source);
    }
}

Test(mha, what_is_refused)
{
    static const struct {
        const char *header, *code;
    } cases[] = {
        {"", "mha-header"},
        {SHAPE, "mha-header"},
        {"NDims = 3\n" TYPE LOCAL, "mha-header"},
        {"NDims = 3\nDimSize = 5 4 3\n" LOCAL, "mha-header"},
        {"ObjectType = Tube\n" LOCAL, "mha-header"},
        {"NDims = 5\n" LOCAL, "mha-header"},
        {"NDims = 3\nDimSize = 5 4\n" TYPE LOCAL, "mha-header"},
        {"NDims = 3\nDimSize = 5 4 3.5\n" TYPE LOCAL, "mha-header"},
        {"DimSize = 5 4 3\nNDims = 3\n" TYPE LOCAL, "mha-header"},
        {SHAPE "no field\n" LOCAL, "mha-header"},
        {SHAPE "ElementSpacng = 1 1 1\n" LOCAL, "mha-form"},
        {SHAPE "0008|006 = CT\n" LOCAL, "mha-form"},
        {SHAPE TYPE LOCAL, "mha-header"},
        {SHAPE "ElementSpacing = 1 1\n" LOCAL, "mha-header"},
        {SHAPE "ElementSpacing = 1 1 0\n" LOCAL, "mha-header"},
        {SHAPE "ElementSpacing = 1 1 nan\n" LOCAL, "mha-header"},
        {SHAPE "Offset = 1 2 3\nOrigin = 1 2 4\n" LOCAL, "mha-header"},
        {SHAPE UPRIGHT "Rotation = 1 0 0 0 1 0 0 0 -1\n" LOCAL, "mha-header"},
        {SHAPE "TransformMatrix = 1 0 0 0 1 0 0 0 2\n" LOCAL, "mha-header"},
        {SHAPE "TransformMatrix = 1 0 0 0 1 0 0 0\n" LOCAL, "mha-header"},
        {SHAPE "Offset = 0 0 0\nTransformMatrix = 1 0 0 0.28 0.96 0 0 0 1\n" LOCAL,
         "volume-geometry"},
        {SHAPE "DistanceUnits = cm\n" LOCAL, "mha-header"},
        {SHAPE "BinaryDataByteOrderMSB = True\nElementByteOrderMSB = False\n" LOCAL, "mha-header"},
        {SHAPE "BinaryDataByteOrderMSB = Maybe\n" LOCAL, "mha-header"},
        {SHAPE "BinaryData = False\n" LOCAL, "mha-form"},
        {SHAPE "CompressedData = True\n" LOCAL, "mha-header"},
        {SHAPE "CompressedData = True\nHeaderSize = -1\nElementDataFile = a.raw\n", "mha-header"},
        {SHAPE "HeaderSize = 4\n" LOCAL, "mha-header"},
        {SHAPE "HeaderSize = -2\nElementDataFile = a.raw\n", "mha-header"},
        {SHAPE "ElementNumberOfChannels = 3\n" LOCAL, "mha-form"},
        {SHAPE "ElementToIntensityFunctionSlope = 2\n" LOCAL, "mha-form"},
        {SHAPE "ElementToIntensityFunctionOffset = -1024\n" LOCAL, "mha-form"},
        {"NDims = 3\nDimSize = 5 4 3\nElementType = MET_LONG\n" LOCAL, "mha-form"},
        {"NDims = 3\nDimSize = 5 4 3\nElementType = MET_FLOAT_ARRAY\n" LOCAL, "mha-form"},
        {SHAPE "ElementDataFile = LIST\na.raw\n", "mha-form"},
        {SHAPE "ElementDataFile = a%03d.raw 1 3 1\n", "mha-form"},
        {SHAPE "ElementDataFile = /etc/passwd\n", "mha-form"},
        {SHAPE "ElementDataFile = ../a.raw\n", "mha-form"},
        {SHAPE "ElementDataFile = b.raw\n", "input-unreadable"},
        {"NDims = 3\nDimSize = 5 4 4\n" TYPE LOCAL, "volume-truncated"},
        {"NDims = 4\nDimSize = 5 4 1 3\n" TYPE
         "TransformMatrix = 1 0 0 0 0 1 0 0 0 0 0 1 0 0 1 0\n" LOCAL,
         "mha-header"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_mha(cases[i].header, values, sizeof values);
        ts_volume_refused("mha", path, cases[i].code);
    }
}

Test(mha, what_changes_nothing_is_passed_over)
{
    write_mha("Comment = a head\nNDims = 3\nDimSize = 5 4 3\n" TYPE PLACE
              "CenterOfRotation = 0 0 0\nAnatomicalOrientation = RAI\nModality = MET_MOD_CT\n"
              "0008|0060 = CT\nITK_InputFilterName = MetaImageIO\nElementNumberOfChannels = 1\n"
              "\n" LOCAL,
              values, sizeof values);
    ts_volume_check_place(ts_volume_opened("mha", path));
}

/* What an output says of its values is read. */
Test(mha, own_facts_say_what_the_values_are)
{
    write_mha(SHAPE PLACE
              "tomostage_quantity = hu\ntomostage_unit = HU\ntomostage_labels = yes\n" LOCAL,
              values, sizeof values);
    struct source *source = ts_volume_opened("mha", path);
    cr_assert(source->image.quantity == TS_HU && !strcmp(source->image.unit, "HU") &&
              source->image.labels == 2);
    source->ops->close(source);
    write_mha(SHAPE "tomostage_quantity = nonsense\n" LOCAL, values, sizeof values);
    source = ts_volume_opened("mha", path);
    cr_assert_eq(source->image.quantity, TS_INTENSITY);
    source->ops->close(source);
}
