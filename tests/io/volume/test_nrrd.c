/* SPDX-License-Identifier: Apache-2.0
 *
 * The nrrd source on files that are written here: attached and detached, raw and gzip, both byte
 * orders, spaces, and headers that are refused.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/files/dicom_open.h"
#include "tests/files/volume_fixture.h"
#include "tests/support/folders.h"
#include "tests/support/program.h"
#include "tests/support/support.h"

#define SHAPE "type: short\ndimension: 3\nsizes: 5 4 3\nendian: little\n"
#define PLACE                                                                                      \
    "space: left-posterior-superior\nspace directions: (0.7,0,0) (0,0.8,0) (0,0,2)\nspace "        \
    "origin: (-10,-20,-30)\n"

static char folder[256], path[300], data_path[300];
static unsigned char values[VOLUME_BYTES], bytes[8192];

static void begin(void)
{
    ts_test_folder_in_memory(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/a.nrrd", folder);
    snprintf(data_path, sizeof data_path, "%s/a.raw", folder);
    ts_volume_fill(values);
}

static void end(void)
{
    ts_test_remove_folder(folder);
}

TestSuite(nrrd, .init = begin, .fini = end);

/* Writes the header, and behind it the values, or the content of a file that was written. */
static void write_nrrd(const char *header, const void *data, size_t n)
{
    const int length =
        snprintf((char *)bytes, sizeof bytes, "NRRD0005\n%s%s", header, n > 0 ? "\n" : "");
    memcpy(bytes + length, data, n);
    ts_volume_write(path, bytes, (size_t)length + n, false);
}

Test(nrrd, attached_and_detached_raw_and_gzip)
{
    unsigned char packed[1024];
    write_nrrd("# a comment\n" SHAPE "encoding: raw\nkey:=value\n" PLACE, values, sizeof values);
    ts_volume_check_place(ts_volume_opened("nrrd", path));
    ts_volume_write(data_path, values, sizeof values, true);
    FILE *file = fopen(data_path, "rb");
    const size_t n = fread(packed, 1, sizeof packed, file);
    fclose(file);
    write_nrrd(SHAPE "encoding: gzip\n" PLACE, packed, n);
    ts_volume_check_place(ts_volume_opened("nrrd", path));
    write_nrrd(SHAPE "encoding: gz\n" PLACE "data file: a.raw\n", "", 0);
    ts_volume_check_place(ts_volume_opened("nrrd", path));
    ts_volume_write(data_path, values, sizeof values, false);
    write_nrrd(SHAPE "encoding: raw\n" PLACE "data file: ./a.raw\r\nbyte skip: -1\n", "", 0);
    ts_volume_check_place(ts_volume_opened("nrrd", path));
    for (int i = 0; i < VOLUME_BYTES / 2; i++) { /* the other byte order */
        const unsigned char low = values[2 * i];
        values[2 * i] = values[2 * i + 1];
        values[2 * i + 1] = low;
    }
    write_nrrd("type: int16\ndimension: 3\nsizes: 5 4 3\nendian: big\nencoding: raw\n" PLACE,
               values, sizeof values);
    ts_volume_check_place(ts_volume_opened("nrrd", path));
}

Test(nrrd, spaces_become_lps)
{
    write_nrrd(SHAPE "encoding: raw\nspace: right-anterior-superior\n"
                     "space directions: (-0.7,0,0) (0,-0.8,0) (0,0,2)\nspace origin: (10,20,-30)\n",
               values, sizeof values);
    ts_volume_check_place(ts_volume_opened("nrrd", path));
    write_nrrd(SHAPE "encoding: raw\nspace: LAS\nspace directions: (0.7,0,0) (0,0.8,0) (0,0,2)\n"
                     "space origin: (-10,20,-30)\n",
               values, sizeof values);
    struct source *source = ts_volume_opened("nrrd", path);
    cr_assert_float_eq(source->image.origin_mm[1], -20 - 3 * 0.8, 1e-12);
    ts_volume_check(source, true);
    source->ops->close(source);
    write_nrrd(SHAPE "encoding: raw\nspacings: 0.7 0.8 nan\n", values, sizeof values);
    source = ts_volume_opened("nrrd", path);
    cr_assert(!source->image.has_geometry && source->image.axes[1].spacing == 0.8);
    cr_assert_str_eq(source->image.axes[0].unit, "pixel");
    source->ops->close(source);
}

/* The pairs are those that 3D Slicer writes. Files of others, and fractions, are no labels. */
Test(nrrd, segmentations_are_known_as_labels)
{
    static const struct {
        const char *pairs;
        int labels;
    } cases[] = {
        {"Segment0_ID:=Segment_1\nSegment0_LabelValue:=1\nSegment0_Layer:=0\n", 2},
        {"Segment0_ID:=a\nSegment1_ID:=b\nSegmentation_MasterRepresentation:=Binary labelmap\n", 2},
        {"Segment0_LabelValue:=7\r\nSegment0_Name:=liver\r\n", 2},
        {"Segmentation_SourceRepresentation:=Fractional labelmap\nSegment0_ID:=a\n", 0},
        {"Segments:=3\n", 0},
        {"# Segment0_ID:=a\n", 0},
        {"", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char header[512];
        snprintf(header, sizeof header, SHAPE "encoding: raw\n%s" PLACE, cases[i].pairs);
        write_nrrd(header, values, sizeof values);
        struct source *source = ts_volume_opened("nrrd", path);
        cr_expect_eq(source->image.labels, cases[i].labels, "case %zu: %d", i,
                     source->image.labels);
        source->ops->close(source);
    }
}

/* Their directions have two numbers; the place of a slice in its own plane is none in a patient. */
Test(nrrd, slices_have_the_spacings_of_their_directions)
{
    static const struct {
        const char *header;
        bool warned;
    } cases[] = {
        {"space directions: (0.5,0) (0,0.25)\nspace origin: (3,4)\n", false},
        {"space dimension: 2\nspace directions: (0.3,0.4) (-0.2,0.15)\nspace origin: (3,4)\n",
         true},
        {"space directions: (-0.5,0) (0,0.25)\n", true},
        {"spacings: 0.5 0.25\n", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char header[256];
        snprintf(header, sizeof header,
                 "type: short\ndimension: 2\nsizes: 5 4\nendian: little\nencoding: raw\n%s",
                 cases[i].header);
        write_nrrd(header, values, 5 * 4 * 2);
        struct ts_diag *diag = ts_diag_create();
        struct source *source = NULL;
        cr_assert_eq(ts_volume_chain_open("nrrd", path, &source, diag), TS_OK, "case %zu", i);
        cr_expect(source->n_slices == 1 && !source->image.has_geometry &&
                      fabs(source->image.axes[2].spacing - 0.5) < 1e-12 &&
                      fabs(source->image.axes[1].spacing - 0.25) < 1e-12,
                  "case %zu", i);
        cr_expect_eq(ts_test_record(diag, "nrrd-place") != NULL, cases[i].warned, "case %zu", i);
        source->ops->close(source);
        ts_diag_destroy(diag);
    }
}

/* Wide integers become floats, as those of .npy files do. */
Test(nrrd, integers_of_64_bits)
{
    static const int64_t wide[] = {-3, 0, 1 << 24, -(1 << 24), 200, 7};
    static const char *const types[] = {"long long int", "int64",  "signed long long",
                                        "longlong",      "uint64", "unsigned long long int"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        char header[256];
        struct ts_diag *diag = ts_diag_create();
        const bool is_signed = i < 4;
        snprintf(header, sizeof header,
                 "type: %s\ndimension: 3\nsizes: 3 2 1\nendian: little\nencoding: raw\n", types[i]);
        write_nrrd(header, wide, sizeof wide);
        struct source *source = ts_volume_opened("nrrd", path);
        cr_assert_eq(source->image.dtype, TS_F32);
        float *read = (float *)ts_test_read_all(source, diag);
        for (int k = 0; k < 6; k++)
            cr_expect_eq(read[k], is_signed ? (float)wide[k] : (float)(uint64_t)wide[k], "%s: %g",
                         types[i], read[k]);
        free(read);
        source->ops->close(source);
        ts_diag_destroy(diag);
    }
}

Test(nrrd, what_is_refused)
{
    static const struct {
        const char *header, *code;
    } cases[] = {
        {"", "nrrd-header"},
        {SHAPE, "nrrd-header"},
        {"dimension: 3\nsizes: 5 4 3\nencoding: raw\nendian: little\n", "nrrd-header"},
        {SHAPE "encoding: raw\nno field\n", "nrrd-header"},
        {SHAPE "encoding: hex\n", "nrrd-encoding"},
        {SHAPE "encoding: bzip2\n", "nrrd-encoding"},
        {SHAPE "encoding: gzip\n", "nrrd-encoding"},
        {"type: block\n", "nrrd-type"},
        {"type: long double\n", "nrrd-type"},
        {"dimension: 4\n", "nrrd-volumes"},
        {"dimension: 4\nkinds: list domain domain domain\nSegment0_Layer:=0\n", "nrrd-layers"},
        {"dimension: 4\nSegment0_ID:=a\n", "nrrd-layers"},
        {"dimension: 4\nSegment_0:=a\n\nSegment0_ID:=a\n", "nrrd-volumes"},
        {"dimension: 5\nSegment0_ID:=a\n", "nrrd-volumes"},
        {"dimension: 2\nspace directions: (1,0,0) (0,1,0)\n", "nrrd-header"},
        {"dimension: 2\nspace directions: (1,0) (0,1) (0,0)\n", "nrrd-header"},
        {"dimension: 2\nspace origin: (1,0,0)\n", "nrrd-header"},
        {SHAPE "encoding: raw\nkinds: vector domain domain\n", "nrrd-volumes"},
        {SHAPE "encoding: raw\ndata file: /etc/passwd\n", "nrrd-data-file"},
        {SHAPE "encoding: raw\ndata file: ../a.raw\n", "nrrd-data-file"},
        {SHAPE "encoding: raw\ndata file: LIST\n", "nrrd-data-file"},
        {SHAPE "encoding: raw\ndata file: gone.raw\n", "input-unreadable"},
        {SHAPE "encoding: raw\nspace directions: (1,0,0) none (0,0,1)\n", "nrrd-header"},
        {SHAPE "encoding: raw\nspace: LPS\nspace directions: (1,0,0) (1,1,0) (0,0,1)\nspace "
               "origin: (0,0,0)\n",
         "volume-geometry"},
        {SHAPE "encoding: raw\nspace units: \"um\" \"um\" \"um\"\n", "nrrd-header"},
        {"type: short\ndimension: 3\nsizes: 5 4\n", "nrrd-header"},
        {"type: short\ndimension: 3\nsizes: 5 4 0\nencoding: raw\nendian: little\n", "volume-size"},
        {"type: short\ndimension: 3\nsizes: 5 4 4\nencoding: raw\nendian: little\n",
         "volume-truncated"},
        {"type: short\ndimension: 3\nsizes: 2147483647 2147483647 2147483647\nencoding: "
         "raw\nendian: little\n",
         "volume-size"},
        {SHAPE "encoding: raw\nline skip: 1\n", "nrrd-header"},
        {SHAPE "encoding: raw\nbyte skip: 9\n", "volume-truncated"},
        {SHAPE "encoding: gzip\nbyte skip: -1\n", "nrrd-header"},
        {SHAPE "encoding: raw\nbyte skip: -2\n", "nrrd-header"},
        {SHAPE "encoding: raw\nspace units: \"mm\" \"cm\" \"m\"\n", "nrrd-header"},
        {SHAPE "encoding: raw\nspace units: \"cm\" \"cm\" \"mm\"\n", "nrrd-header"},
        {SHAPE "encoding: raw\nunits: \"mm\" \"\" \"cm\"\n", "nrrd-header"},
        {SHAPE "encoding: raw\nspace units: \"mm\" \"mm\"\n", "nrrd-header"},
        {SHAPE "encoding: raw\nspace units: mm mm mm\n", "nrrd-header"},
        {SHAPE "encoding: raw\nspace: LPS\nspace directions: (1,0,0) (0,1,0) (0,0,2)\nspace "
               "origin: (nan,nan,nan)\n",
         "nrrd-header"},
        {SHAPE "encoding: raw\nspace: LPS\nspace directions: (1,nan,0) (0,1,0) (0,0,2)\n",
         "nrrd-header"},
        {SHAPE "encoding: raw\nspace: LPS\nspace directions: (1,inf,0) (0,1,0) (0,0,2)\n",
         "nrrd-header"},
        {SHAPE "encoding: raw\nspace: left-posterior\n", "nrrd-header"},
        {SHAPE "encoding: raw\nspacings: 1 1 inf\n", "nrrd-header"},
        {SHAPE "encoding: raw\nspacings: 1 1 nanometer\n", "nrrd-header"},
        {SHAPE "encoding: raw\naxis mins: 0 0 0\naxis maxs: 5 4 3\n", "nrrd-header"},
        {SHAPE
         "encoding: raw\nspacings: 1 1 1\nspace: LPS\nspace directions: (1,0,0) (0,1,0) (0,0,2)\n",
         "nrrd-header"},
        {"type: short\ndimension: 3\nsizes: 5 4 2.9\nendian: little\nencoding: raw\n",
         "nrrd-header"},
        {"type: short\ndimension: 3\nsizes: 5 4 nan\nendian: little\nencoding: raw\n",
         "nrrd-header"},
        {"type: short\ndimension: 3.0\nsizes: 5 4 3\nendian: little\nencoding: raw\n",
         "nrrd-volumes"},
        {SHAPE "encoding: raw\nsizes: 5 4 2\n", "nrrd-header"},
        {SHAPE "encoding: raw\nType: float\n", "nrrd-header"},
        {SHAPE "encoding: raw\nbyte skip: 0\nbyteskip: 0\n", "nrrd-header"},
        {SHAPE "encoding: raw\nspacing: 1 1 1\n", "nrrd-header"},
        {"type: short\ndimension: 3\nsizes: 5 4 3e0\nendian: little\nencoding: raw\n",
         "nrrd-header"},
        {"type: short\ndimension: 3\nsizes: 5 4 3.0\nendian: little\nencoding: raw\n",
         "nrrd-header"},
        {"type: short\ndimension: 3\nsizes: 5 4 3 1\nendian: little\nencoding: raw\n",
         "nrrd-header"},
        {"type: short\ndimension: 3\nsizes: 5 4 0x3\nendian: little\nencoding: raw\n",
         "nrrd-header"},
        {"type: short\ndimension: 3\nsizes: 5 4 inf\nendian: little\nencoding: raw\n",
         "nrrd-header"},
        {SHAPE "encoding: raw\ncenterings: node\n", "nrrd-header"},
        {SHAPE "encoding: raw\ncenters: cell cell middle\n", "nrrd-header"},
        {SHAPE "encoding: raw\ncenters: cell cell cell cell\n", "nrrd-header"},
        {SHAPE "encoding: raw\nkinds: domain domain\n", "nrrd-header"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_nrrd(cases[i].header, values, sizeof values);
        ts_volume_refused("nrrd", path, cases[i].code);
    }
}

Test(nrrd, what_changes_nothing_is_passed_over)
{
    write_nrrd("content: a head\n" SHAPE "encoding: raw\n" PLACE
               "space units: \"mm\" \"mm\" \"mm\"\nmeasurement frame: (1,0,0) (0,1,0) "
               "(0,0,1)\nthicknesses: nan nan 2\n"
               "labels: \"x\" \"y\" \"z\"\ncenterings: cell cell cell\naxis mins: nan nan "
               "nan\nsampleunits: HU\n",
               values, sizeof values);
    ts_volume_check_place(ts_volume_opened("nrrd", path));
}

/* Version 6 does not exist; the values are at the end of the file, but not within its header. */
Test(nrrd, versions_and_values_at_the_end)
{
    write_nrrd(SHAPE "encoding: raw\n" PLACE "byte skip: -1\n", values, sizeof values);
    ts_volume_check_place(ts_volume_opened("nrrd", path));
    write_nrrd(SHAPE "encoding: raw\n" PLACE "byte skip: -1\n", values, sizeof values - 2);
    ts_volume_refused("nrrd", path, "volume-truncated");
    ts_volume_write(path, "NRRD0006\n" SHAPE "encoding: raw\n\n",
                    strlen("NRRD0006\n" SHAPE "encoding: raw\n\n"), false);
    ts_volume_refused("nrrd", path, "nrrd-header");
}

Test(nrrd, quantized_values_are_warned_of)
{
    struct ts_diag *diag = ts_diag_create();
    struct source *source;
    write_nrrd(SHAPE "encoding: raw\nold min: -0.5\nold max: 12.25\n", values, sizeof values);
    cr_assert_eq(ts_volume_chain_open("nrrd", path, &source, diag), TS_OK);
    cr_assert_str_eq(ts_diag_get(diag, 0)->code, "nrrd-quantized");
    source->ops->close(source);
    ts_diag_destroy(diag);
}

/* Opens the file, reads all of it, and returns how many warnings with this code there are. */
static size_t count_warnings(const char *code)
{
    struct ts_diag *diag = ts_diag_create();
    struct source *source;
    size_t n = 0;
    cr_assert_eq(ts_volume_chain_open("nrrd", path, &source, diag), TS_OK);
    void *all = malloc((size_t)source->n_slices * ts_slice_bytes(&source->image));
    cr_assert_eq(source->ops->read(source, 0, source->n_slices, all, diag), TS_OK);
    for (size_t i = 0; i < ts_diag_count(diag); i++)
        n += !strcmp(ts_diag_get(diag, i)->code, code);
    free(all);
    source->ops->close(source);
    ts_diag_destroy(diag);
    return n;
}

/* What is not known along one axis is not 1 mm, neither here nor in the files that are written of
 * it. */
Test(nrrd, a_spacing_that_is_not_known_is_warned_of)
{
    static const struct {
        const char *spacings;
        int known; /* bits of x, y, z */
        size_t n;
    } cases[] = {{"0.5 nan 2", 5, 1}, {"nan 0.5 2", 6, 1},   {"0.5 0.5 NaN", 3, 1},
                 {"0.5 0 2", 5, 1},   {"nan nan nan", 0, 0}, {"0.5 0.7 2", 7, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static struct program_outcome outcome;
        char header[256];
        snprintf(header, sizeof header, SHAPE "encoding: raw\nspacings: %s\n", cases[i].spacings);
        write_nrrd(header, values, sizeof values);
        cr_expect_eq(count_warnings("nrrd-spacing"), cases[i].n, "%s", cases[i].spacings);
        struct source *source = ts_volume_opened("nrrd", path);
        for (int d = 0; d < 3; d++)
            cr_expect_str_eq(source->image.axes[2 - d].unit,
                             cases[i].known >> d & 1 ? "mm" : "pixel", "%s", cases[i].spacings);
        source->ops->close(source);
        char chain[400], written[400];
        snprintf(chain, sizeof chain, "nrrd %s | nifti %s.nii", path, path);
        snprintf(written, sizeof written, "%s.nii", path);
        ts_program_run(folder, ARGUMENTS("run", chain, "--force"), &outcome);
        cr_assert_eq(outcome.code, 0, "%s", outcome.err);
        cr_expect_eq(strstr(outcome.err, "nifti-unit") != NULL, cases[i].n > 0, "%s", outcome.err);
        source = ts_volume_opened("nifti", written);
        for (int d = 0; d < 3; d++)
            cr_expect_str_eq(source->image.axes[d].unit, cases[i].known == 7 ? "mm" : "pixel", "%s",
                             cases[i].spacings);
        source->ops->close(source);
        ts_program_run(folder, ARGUMENTS("info", path), &outcome);
        cr_expect_eq(strstr(outcome.out, "unknown") != NULL, cases[i].n > 0, "%s", outcome.out);
        ts_program_run(folder, ARGUMENTS("info", path, "--json"), &outcome);
        cr_expect_eq(strstr(outcome.out, "null") != NULL, cases[i].known != 7, "%s", outcome.out);
    }
}

/* The ends of axes say the spacing again, or another one. */
Test(nrrd, ends_that_contradict_the_spacings_are_warned_of)
{
    static const struct {
        const char *fields;
        size_t n;
    } cases[] = {
        {"spacings: 0.5 0.6 2\naxis mins: 0 0 0\naxis maxs: 25 24 60\ncenters: cell cell cell\n",
         1},
        {"spacings: 0.5 0.6 2\naxis mins: 0 0 0\naxis maxs: 2.5 2.4 6.5\ncenters: cell cell cell\n",
         1},
        {"spacings: 0.5 0.6 2\naxis mins: 0 0 0\naxis maxs: 2.5 2.4 6\ncenters: node node node\n",
         1},
        {"space: LPS\nspace directions: (1,0,0) (0,1,0) (0,0,2)\nspace origin: (0,0,0)\n"
         "axis mins: 0 0 0\naxis maxs: 10 4 6\n",
         1},
        {"spacings: 0.5 0.6 2\naxis mins: 0 0 0\naxis maxs: 2.5 2.4 6\ncenters: cell cell cell\n",
         0},
        {"spacings: 0.5 0.6 2\naxis mins: 0 0 0\naxis maxs: 2 1.8 4\ncenters: node node node\n", 0},
        {"spacings: 0.5 0.6 2\naxis mins: 0 0 0\naxis maxs: 2 1.8 4\n", 0}, /* cells or nodes */
        {"spacings: 0.5 0.6 2\naxis mins: 0 0 0\naxis maxs: 2.5 2.4 6\n", 0},
        {"spacings: 0.5 0.6 2\naxis mins: 0 0 0\naxis maxs: 2.51 2.4 6\n", 0}, /* rounded */
        {"spacings: 0.5 0.6 2\naxis mins: nan nan nan\naxis maxs: nan nan nan\n", 0},
        {"spacings: 0.5 0.6 2\naxis mins: 0 0 0\n", 0},
        {"spacings: 0.5 0.6 2\naxis mins: 2.5 2.4 6\naxis maxs: 0 0 0\n", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char header[512];
        snprintf(header, sizeof header, SHAPE "encoding: raw\n%s", cases[i].fields);
        write_nrrd(header, values, sizeof values);
        cr_expect_eq(count_warnings("nrrd-spacing"), cases[i].n, "%s", cases[i].fields);
    }
}

Test(nrrd, labels_of_another_order_are_warned_of)
{
    static const struct {
        const char *labels;
        size_t n;
    } cases[] = {{"\"z\" \"y\" \"x\"", 1},
                 {"\"Y\" \"X\" \"Z\"", 1},
                 {"\"x\" \"z\" \"y\"", 1},
                 {"\"z\" \"\" \"\"", 1},
                 {"\"x\" \"y\" \"z\"", 0},
                 {"\"X\" \"Y\" \"Z\"", 0},
                 {"\"\" \"\" \"\"", 0},
                 {"\"left\" \"posterior\" \"zaxis\"", 0},
                 {"x y z", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char header[512];
        snprintf(header, sizeof header, SHAPE "encoding: raw\nspacings: 1 1 2\nlabels: %s\n",
                 cases[i].labels);
        write_nrrd(header, values, sizeof values);
        cr_expect_eq(count_warnings("nrrd-labels"), cases[i].n, "%s", cases[i].labels);
    }
}

Test(nrrd, a_place_that_is_not_used_is_warned_of)
{
    static const struct {
        const char *header;
        size_t n;
    } cases[] = {
        {PLACE, 0},
        {PLACE "centers: node node node\n", 0},
        {"spacings: 1 1 2\n", 0},
        {"spacings: 1 -1 2\n", 1},
        {"spacings: 1 1 2\nspace: scanner-xyz\nspace origin: (-10,-20,-30)\n", 1},
        {"space: scanner-xyz\nspace directions: (1,0,0) (0,1,0) (0,0,2)\nspace origin: "
         "(-10,-20,-30)\n",
         1},
        {"space: scanner-xyz\nspace directions: (1,0,0) (0,1,0) (0,0,2)\n", 0},
        {"space: 3D-right-handed\nspace directions: (0,1,0) (1,0,0) (0,0,2)\n", 1},
        {"space: 3D-left-handed\nspace directions: (1,0,0) (0,1,0) (0,0,2)\n", 1},
        {"space: 3D-left-handed\nspacings: 1 1 2\n", 1},
        {"space dimension: 3\nspace directions: (1,0,0) (0,1,0) (0,0,2)\nspace origin: (1,2,3)\n",
         1},
        {"space: LPS\nspace directions: (1,0,0) (0,1,0) (0,0,2)\n", 1},
        {"space: LPS\nspacings: 1 1 2\nspace origin: (1,2,3)\n", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char header[512];
        snprintf(header, sizeof header, SHAPE "encoding: raw\n%s", cases[i].header);
        write_nrrd(header, values, sizeof values);
        cr_expect_eq(count_warnings("nrrd-place"), cases[i].n, "%s", cases[i].header);
    }
    /* What the hint names. */
    write_nrrd(SHAPE
               "encoding: raw\nspace: scanner-xyz\nspace directions: (0.7,0,0) (0,0.8,0) (0,0,2)\n"
               "space origin: (-10,-20,-30)\n",
               values, sizeof values);
    cr_expect_eq(count_warnings("nrrd-place"), 1);
    write_nrrd(SHAPE "encoding: raw\n" PLACE, values, sizeof values);
    ts_volume_check_place(ts_volume_opened("nrrd", path));
}

/* Behind the header, in a file of its own, compressed; a header that says "at the end" leaves
 * none. */
Test(nrrd, bytes_behind_the_values_are_warned_of)
{
    unsigned char more[VOLUME_BYTES + 3] = {0}, packed[1024];
    static const size_t lengths[] = {VOLUME_BYTES, VOLUME_BYTES + 1, VOLUME_BYTES + 3};
    memcpy(more, values, VOLUME_BYTES);
    for (size_t i = 0; i < 3; i++) {
        write_nrrd(SHAPE "encoding: raw\n", more, lengths[i]);
        cr_expect_eq(count_warnings("volume-bytes-left"), i > 0, "%zu", i);
        ts_volume_write(data_path, more, lengths[i], false);
        write_nrrd(SHAPE "encoding: raw\ndata file: a.raw\n", "", 0);
        cr_expect_eq(count_warnings("volume-bytes-left"), i > 0, "%zu", i);
        write_nrrd(SHAPE "encoding: raw\ndata file: a.raw\nbyte skip: -1\n", "", 0);
        cr_expect_eq(count_warnings("volume-bytes-left"), 0, "%zu", i);
        ts_volume_write(data_path, more, lengths[i], true);
        FILE *file = fopen(data_path, "rb");
        const size_t n = fread(packed, 1, sizeof packed, file);
        fclose(file);
        write_nrrd(SHAPE "encoding: gzip\n", packed, n);
        cr_expect_eq(count_warnings("volume-bytes-left"), i > 0, "%zu", i);
    }
}

Test(nrrd, links_are_followed_within_the_folder)
{
    char other[320];
    snprintf(other, sizeof other, "%s/b.raw", folder);
    ts_volume_write(other, values, sizeof values, false);
    write_nrrd(SHAPE "encoding: raw\n" PLACE "data file: a.raw\n", "", 0);
    cr_assert_eq(symlink("b.raw", data_path), 0);
    ts_volume_check_place(ts_volume_opened("nrrd", path));
    unlink(data_path);
    cr_assert_eq(symlink("/etc/passwd", data_path), 0);
    ts_volume_refused("nrrd", path, "volume-link-outside");
}

Test(nrrd, no_header_crashes)
{
    static const char header[] =
        "NRRD0005\n" SHAPE "encoding: raw\n" PLACE "kinds: domain domain domain\n\n";
    uint64_t state = 3;
    const size_t length = sizeof header - 1, n = length + sizeof values;
    for (int i = 0; i < 4000; i++) {
        struct ts_diag *diag = ts_diag_create();
        struct source *source;
        memcpy(bytes, header, length);
        memcpy(bytes + length, values, sizeof values);
        for (int k = 0; k < 1 + i % 4; k++)
            bytes[8 + ts_random_next(&state) % (length - 8)] =
                (unsigned char)ts_random_next(&state);
        ts_volume_write(path, bytes, i % 5 ? n : ts_random_next(&state) % n, false);
        if (ts_volume_chain_open("nrrd", path, &source, diag) == TS_OK) {
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
