/* SPDX-License-Identifier: Apache-2.0
 *
 * Values that are not what a header says, or not all that it says: a Real World Value Mapping
 * beside a rescale that means nothing, the wrong sign, and a dose without a scale.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/files/dicom_bytes.h"
#include "tests/files/dicom_fixture.h"
#include "tests/files/dicom_open.h"
#include "tests/support/support.h"

enum { SLICES = 3, PIXELS = FIXTURE_ROWS * FIXTURE_COLUMNS };

TestSuite(dicom_misstated);

/* Writes a series, opens and reads it, and returns whether a warning of this code holds the text.
 */
static bool warns(void (*edit)(struct dicom_fixture *, int z, void *), void *user, const char *code,
                  const char *text)
{
    char folder[256];
    struct source *source;
    struct ts_diag *diag = ts_diag_create();
    bool found = false;
    ts_test_folder_in_memory(folder, sizeof folder);
    ts_fixture_series(folder, SLICES, edit, user);
    cr_assert_eq(ts_test_open_dicom(folder, NULL, 0, &source, diag), TS_OK, "%s",
                 ts_test_first_message(diag));
    free(ts_test_read_all(source, diag));
    for (size_t i = 0; i < ts_diag_count(diag); i++) {
        const struct ts_diag_record *record = ts_diag_get(diag, i);
        found |= !strcmp(record->code, code) && strstr(record->message, text);
    }
    source->ops->close(source);
    ts_diag_destroy(diag);
    ts_test_remove_folder(folder);
    return found;
}

struct mapping {
    const char *modality, *slope, *intercept, *type; /* of the rescale; slope NULL: none */
    double real_slope, real_intercept;
    const char *unit;
    bool warned;
};

static void add_mapping(struct dicom_bytes *out, const struct mapping *mapping)
{
    static struct dicom_bytes unit, item;
    unit.n = item.n = 0;
    ts_bytes_text(&unit, 0x00080100, "SH", mapping->unit);
    ts_bytes_group(&item, 0x004008EA, &unit);
    ts_bytes_element(&item, 0x00409224, "FD", &mapping->real_intercept, sizeof(double));
    ts_bytes_element(&item, 0x00409225, "FD", &mapping->real_slope, sizeof(double));
    ts_bytes_item(out, &item);
}

static void map_values(struct dicom_fixture *f, int z, void *user)
{
    static struct dicom_bytes items;
    const struct mapping *mapping = user;
    (void)z;
    items.n = 0;
    add_mapping(&items, mapping);
    add_mapping(&items, mapping); /* values may be mapped in several ways */
    ts_fixture_text(f, 0x00080060, "CS", mapping->modality);
    ts_fixture_text(f, 0x00281052, "DS", mapping->intercept);
    ts_fixture_text(f, 0x00281053, "DS", mapping->slope);
    ts_fixture_text(f, 0x00281054, "LO", mapping->type);
    if (!strcmp(mapping->modality, "PT"))
        ts_fixture_text(f, 0x00541001, "CS", "BQML");
    ts_fixture_bytes(f, 0x00409096, "SQ", items.at, items.n);
}

Test(dicom_misstated, mappings_that_say_more_than_the_rescale_are_warned_of)
{
    struct mapping rows[] = {{"MR", "1", "0", "US", 1e-6, 0, "mm2/s", true},
                             {"MR", "2", "0", "US", 2e-6, 0, "mm2/s", true},
                             {"MR", "1", "0", "normalized", 1.1, 0, "ms", true},
                             {"MR", "1", "0", "normalized", 1, 0, "ms", false},
                             {"MR", "1.5", "0", "US", 1.5, 0, "1", false},
                             {"MR", "1.5", "0", "US", 1.5, 10, "1", true},
                             {"MR", "4", "0", "ms", 4, 0, "ms", false},
                             {"CT", "1", "-1024", "HU", 1, -1024, "[hnsf'U]", false},
                             {"CT", "1", "-1024", "HU", 1, 0, "[hnsf'U]", true},
                             {"PT", "3.5", "0", "", 1e-4, 0, "g/ml{SUVbw}", false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        cr_expect_eq(warns(map_values, &rows[i], "dicom-series", "Real World Value Mapping"),
                     rows[i].warned, "row %zu", i);
}

struct ends {
    const char *modality;
    int is_signed;
    int low[2], high[2]; /* every third pixel, and the others, lie from [0] up to [1] */
    bool warned;
    uint16_t padding; /* 0: none */
    int bits;         /* 0: 16 */
    const char *intercept;
};

static void set_ends(struct dicom_fixture *f, int z, void *user)
{
    const struct ends *ends = user;
    const int bits = ends->bits ? ends->bits : 16;
    uint16_t pixels[PIXELS];
    uint64_t seed = 3 + (uint64_t)z;
    for (int i = 0; i < PIXELS; i++) {
        const int *range = i % 3 == 0 ? ends->low : ends->high;
        pixels[i] = (uint16_t)((range[0] + (int)(ts_random_next(&seed) %
                                                 (uint64_t)(range[1] - range[0] + 1))) &
                               ((1 << bits) - 1));
    }
    ts_fixture_text(f, 0x00080060, "CS", ends->modality);
    if (!strcmp(ends->modality, "PT"))
        ts_fixture_text(f, 0x00541001, "CS", "BQML");
    ts_fixture_us(f, 0x00280100, 16);
    ts_fixture_us(f, 0x00280101, (uint16_t)bits);
    ts_fixture_us(f, 0x00280102, (uint16_t)(bits - 1));
    ts_fixture_us(f, 0x00280103, (uint16_t)ends->is_signed);
    if (ends->intercept)
        ts_fixture_text(f, 0x00281052, "DS", ends->intercept);
    if (ends->padding)
        ts_fixture_us(f, 0x00280120, ends->padding);
    ts_fixture_bytes(f, FIXTURE_PIXELS, "OW", pixels, sizeof pixels);
}

Test(dicom_misstated, values_of_the_other_sign_are_warned_of)
{
    struct ends rows[] = {
        {"CT", 0, {-1024, -900}, {0, 2000}, true},
        {"CT", 0, {-200, -100}, {0, 3000}, true},
        {"PT", 0, {-60, -1}, {0, 9000}, true},
        {"PT", 1, {28700, 32767}, {32768, 36000}, true},
        {"CT", 1, {31000, 32767}, {32768, 34000}, true},
        {"CT", 1, {-1024, -900}, {0, 2000}, false},
        {"CT", 0, {63536, 63536}, {0, 2000}, true}, /* padding that no element states */
        {"CT", 0, {63536, 63536}, {0, 2000}, false, 63536},
        {"CT", 0, {64512, 64512}, {0, 3000}, true},
        {"MR", 0, {65000, 65000}, {0, 3000}, true},
        {"CT", 0, {65535, 65535}, {0, 40000}, false}, /* saturated */
        {"PT", 0, {0, 30000}, {30000, 65535}, false},
        {"CT", 1, {-32768, -32768}, {-1000, 32767}, false},
        {"MR", 0, {-4096, -1}, {0, 4094}, true}, /* a phase */
        {"MR", 0, {-900, -1}, {0, 1200}, true},  /* of inversion recovery */
        {"MR", 0, {-60, -1}, {0, 9000}, true},
        {"MR", 0, {65535, 65535}, {0, 900}, false},
        {"MR", 0, {0, 4095}, {0, 65535}, false},
        {"MR", 0, {0, 90}, {30000, 65535}, false},
        {"MR", 1, {-4096, -1}, {0, 4094}, false},
        {"MR", 1, {28700, 32767}, {32768, 36000}, false}, /* a phase */
        /* fewer bits than 16 */
        {"CT", 0, {-1024, -900}, {0, 2000}, true, 0, 12, "0"},
        {"CT", 0, {-1000, -1000}, {0, 1500}, true, 0, 12, "0"}, /* air without noise */
        {"CT", 0, {-1024, -900}, {0, 2000}, true, 0, 13, "0"},
        {"CT", 0, {-200, -100}, {0, 1900}, true, 0, 12, "0"},
        {"CT", 0, {-1024, -20}, {0, 3000}, true, 0, 14, "0"},
        {"PT", 0, {-60, -1}, {0, 1800}, true, 0, 12},
        {"MR", 0, {-300, -1}, {0, 900}, true, 0, 12},
        {"CT", 1, {1800, 2047}, {2048, 2300}, true, 0, 12, "-1024"},
        {"CT", 1, {0, 2047}, {2048, 4095}, true, 0, 12, "-1024"},
        {"PT", 1, {0, 8191}, {8192, 11000}, true, 0, 14},
        /* values that go on from zero beyond the highest with a sign */
        {"CT", 1, {0, 40000}, {0, 40000}, true},
        {"PT", 1, {0, 36000}, {0, 36000}, true},
        {"MR", 1, {0, 40000}, {0, 40000}, true},
        {"MR", 1, {0, 50000}, {0, 50000}, true},
        {"MR", 1, {0, 3000}, {0, 3000}, true, 0, 12},
        {"MR", 1, {0, 65535}, {0, 65535}, false}, /* a phase */
        {"MR", 1, {-2048, 0}, {0, 2047}, false, 0, 12},
        /* good images of 12 bits */
        {"CT", 0, {0, 100}, {900, 4095}, false, 0, 12, "-1024"},
        {"CT", 0, {0, 2000}, {4095, 4095}, false, 0, 12, "-1024"}, /* saturated metal */
        {"CT", 0, {0, 2000}, {3096, 3096}, false, 0, 12, "-1024"}, /* a box of one value */
        {"CT", 1, {-1024, -900}, {0, 2000}, false, 0, 12, "0"},
        {"CT", 1, {-2000, -2000}, {0, 2047}, false, 0, 12, "0"}, /* padding */
        {"MR", 0, {0, 900}, {1800, 4095}, false, 0, 12},
        {"MR", 0, {0, 900}, {3500, 3700}, false, 0, 12}, /* a bright vessel */
        {"PT", 0, {0, 4095}, {0, 4095}, false, 0, 12},
        {"CT", 0, {0, 10}, {240, 255}, false, 0, 8, "0"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        cr_expect_eq(warns(set_ends, &rows[i], "pixels-wrapped", "Pixel Representation"),
                     rows[i].warned, "row %zu", i);
}
