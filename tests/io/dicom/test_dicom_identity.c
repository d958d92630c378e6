/* SPDX-License-Identifier: Apache-2.0
 *
 * What makes a series: numbers, UIDs and names that tell series apart, those that would tear a
 * volume, passes that overlap, and files that are no images. Each way out that a message names is
 * carried out on the input that provoked it.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/dicom_series/dicom_geometry.h"
#include "tests/files/dicom_fixture.h"
#include "tests/files/dicom_open.h"
#include "tests/support/support.h"

enum { MOST_WORDS = 6, MOST_IMAGES = 40 };

/* What a chain says of the input. Words are divided by commas; NULL: none. */
struct wish {
    const char *series, *split, *join, *take;
    int32_t duplicates, unreadable;
    double spacing_tolerance; /* 0: the default */
};

static char folder[256];

static struct ts_texts words_of(char *copy, const char *text, const char **words)
{
    int64_t n = 0;
    char *rest = copy;
    if (!text)
        return (struct ts_texts){0, words};
    strcpy(copy, text);
    for (char *word; n < MOST_WORDS && (word = strsep(&rest, ",")) != NULL;)
        words[n++] = word + strspn(word, " ");
    return (struct ts_texts){n, words};
}

static enum ts_status open_as(const struct wish *wish, struct source **source, struct ts_diag *diag)
{
    struct dicom_params params = {0};
    struct param_set set = {.params = dicom_format.params,
                            .n_params = dicom_format.n_params,
                            .values = &params,
                            .owner = "input"};
    char copies[3][128];
    const char *words[3][MOST_WORDS], *path = folder;
    *source = NULL;
    ts_params_init(&set);
    params.dicom = (struct ts_texts){1, &path};
    params.series = wish->series ? wish->series : "";
    params.split = words_of(copies[0], wish->split, words[0]);
    params.join = words_of(copies[1], wish->join, words[1]);
    params.take = words_of(copies[2], wish->take, words[2]);
    params.duplicates = wish->duplicates;
    params.unreadable = wish->unreadable;
    if (wish->spacing_tolerance > 0)
        params.spacing_tolerance = wish->spacing_tolerance;
    return dicom_format.open(&set, source, diag);
}

/* Checks that a chain with the wish reads n images of the fixture, in this order. Returns the
 * records, which the caller destroys. */
static struct ts_diag *expect_images(const struct wish *wish, const int *images, int n,
                                     const char *what)
{
    struct ts_diag *diag = ts_diag_create();
    struct source *source;
    const enum ts_status status = open_as(wish, &source, diag);
    cr_assert_eq(status, TS_OK, "%s: %s", what,
                 ts_diag_count(diag) ? ts_diag_get(diag, 0)->message : "");
    cr_assert_eq(source->n_slices * source->n_volumes, n, "%s: %d images", what,
                 (int)(source->n_slices * source->n_volumes));
    const size_t bytes = ts_slice_bytes(&source->image);
    char *data = malloc((size_t)n * bytes);
    cr_assert_eq(source->ops->read(source, 0, n, data, diag), TS_OK);
    for (int i = 0; i < n; i++) {
        double value;
        ts_load_f64(&value, data + (size_t)i * bytes, source->image.dtype, 1);
        cr_expect_eq(value, ts_fixture_stored(0, 0, images[i]) - 1024.0, "%s: image %d", what, i);
    }
    free(data);
    source->ops->close(source);
    return diag;
}

static void expect_range(const struct wish *wish, int first, int n, int step, const char *what)
{
    int images[MOST_IMAGES];
    for (int i = 0; i < n; i++)
        images[i] = first + i * step;
    ts_diag_destroy(expect_images(wish, images, n, what));
}

static void expect_refusal(const struct wish *wish, const char *code, const char *hint,
                           const char *what)
{
    struct ts_diag *diag = ts_diag_create();
    struct source *source;
    const struct ts_diag_record *error = NULL;
    cr_assert_neq(open_as(wish, &source, diag), TS_OK, "%s: it is read", what);
    for (size_t i = 0; i < ts_diag_count(diag) && !error; i++)
        error = ts_diag_get(diag, i)->severity == TS_ERROR ? ts_diag_get(diag, i) : NULL;
    cr_assert_not_null(error);
    cr_expect_str_eq(error->code, code, "%s: %s: %s", what, error->code, error->message);
    cr_expect(!hint || (error->hint && strstr(error->hint, hint)), "%s: hint %s", what,
              error->hint);
    ts_diag_destroy(diag);
}

static const char *find_warning(const struct ts_diag *diag, const char *text)
{
    for (size_t i = 0; i < ts_diag_count(diag); i++)
        if (strstr(ts_diag_get(diag, i)->message, text))
            return ts_diag_get(diag, i)->message;
    return NULL;
}

static void place(struct dicom_fixture *f, double z)
{
    char text[64];
    snprintf(text, sizeof text, "-20.5\\-31.25\\%.4f", 100.125 + z);
    ts_fixture_text(f, 0x00200032, "DS", text);
}

static void set_number(struct dicom_fixture *f, uint32_t tag, const char *vr, const char *before,
                       int number)
{
    char text[96];
    snprintf(text, sizeof text, "%s%d", before, number);
    ts_fixture_text(f, tag, vr, text);
}

static void begin(struct dicom_fixture *f)
{
    ts_fixture_text(f, 0x00080060, "CS", "MR");
    ts_fixture_text(f, 0x00080016, "UI", "1.2.840.10008.5.1.4.1.1.4");
    ts_fixture_text(f, 0x00080008, "CS", "ORIGINAL\\PRIMARY\\M");
    ts_fixture_text(f, 0x00200011, "IS", "3");
}

static void write_images(int n, void (*edit)(struct dicom_fixture *, int, void *), void *user)
{
    ts_test_folder_in_memory(folder, sizeof folder);
    ts_fixture_series(folder, n, edit, user);
}

/* ---- what tells series apart ----------------------------------------------------------------- */

enum { EACH = 4 }; /* slices of each of several series */

/* Image i is slice i % EACH of series i / EACH. */
struct several {
    enum { SHARED_UID, NO_UID } uid;
    enum { SAME_PLACES, BETWEEN, BEHIND } places;
    uint32_t tag; /* what differs */
    const char *vr, *values[3];
    int n;
    const char *name; /* in the warning */
};

static void make_several(struct dicom_fixture *f, int i, void *user)
{
    const struct several *several = user;
    const int z = i % EACH, s = i / EACH;
    begin(f);
    place(f, several->places == SAME_PLACES ? 3 * z
             : several->places == BETWEEN   ? 3 * z + 3.0 * s / several->n
                                            : 3 * (z + EACH * s));
    if (several->uid == NO_UID)
        ts_fixture_remove(f, 0x0020000E);
    if (several->values[s])
        ts_fixture_text(f, several->tag, several->vr, several->values[s]);
    else
        ts_fixture_remove(f, several->tag);
}

Test(dicom_identity, what_differs_tells_series_apart)
{
    static const struct several rows[] = {
        {SHARED_UID, SAME_PLACES, 0x00200011, "IS", {"3", "7"}, 2, "Series Number"},
        {SHARED_UID, BETWEEN, 0x00200011, "IS", {"3", "7"}, 2, "Series Number"},
        {SHARED_UID, BEHIND, 0x00200011, "IS", {"3", "7"}, 2, "Series Number"},
        {SHARED_UID, BETWEEN, 0x00200011, "IS", {"5", "10", "401"}, 3, "Series Number"},
        {NO_UID, SAME_PLACES, 0x00200011, "IS", {"3", "7"}, 2, "no Series Instance UID"},
        {NO_UID, BETWEEN, 0x00200011, "IS", {"3", "7"}, 2, "no Series Instance UID"},
        {NO_UID, BEHIND, 0x00200011, "IS", {NULL, "7"}, 2, "no Series Instance UID"},
        {NO_UID, BEHIND, 0x0008103E, "LO", {"PRE", "POST"}, 2, "no Series Instance UID"},
        {SHARED_UID, SAME_PLACES, 0x00181030, "LO", {"PRE", "POST"}, 2, "Protocol Name"},
        {SHARED_UID, BEHIND, 0x0008103E, "LO", {"PRE", "POST"}, 2, "Protocol Name"},
        {SHARED_UID, SAME_PLACES, 0x00080020, "DA", {"20200101", "20210101"}, 2, "Study Date"},
        {SHARED_UID, BEHIND, 0x00080030, "TM", {"120000", "121500"}, 2, "Study Date"},
        {SHARED_UID,
         SAME_PLACES,
         0x00080070,
         "LO",
         {"SIEMENS", "GE MEDICAL SYSTEMS"},
         2,
         "Manufacturer"},
        {SHARED_UID, BETWEEN, 0x00100020, "LO", {"A", "B"}, 2, "Patient ID"},
        {SHARED_UID, SAME_PLACES, 0x00100010, "PN", {"A^B", "C^D"}, 2, "Patient ID or Name"},
        {SHARED_UID, BEHIND, 0x00200052, "UI", {"1.2.3", "1.2.4"}, 2, "Frame of Reference UID"},
        {SHARED_UID, BEHIND, 0x0020000D, "UI", {"1.2.3", "1.2.4"}, 2, "Study Instance UID"},
        {SHARED_UID,
         SAME_PLACES,
         0x00080008,
         "CS",
         {"ORIGINAL\\PRIMARY\\M", "DERIVED\\PRIMARY\\M"},
         2,
         NULL},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        struct several row = rows[r];
        bool found[3] = {false};
        char what[32];
        snprintf(what, sizeof what, "row %zu", r);
        write_images(EACH * row.n, make_several, &row);
        expect_refusal(&(struct wish){0}, "several-series", "series: N", what);
        for (int s = 1; s <= row.n; s++) {
            struct source *source;
            struct ts_diag *diag = ts_diag_create();
            double value;
            char number[8], data[4096];
            snprintf(number, sizeof number, "%d", s);
            cr_assert_eq(open_as(&(struct wish){.series = number}, &source, diag), TS_OK, "%s",
                         what);
            cr_expect(!row.name || find_warning(diag, row.name), "%s: no warning", what);
            cr_assert(source->n_slices == EACH && source->n_volumes == 1, "%s", what);
            cr_assert_eq(source->ops->read(source, 0, 1, data, diag), TS_OK);
            ts_load_f64(&value, data, source->image.dtype, 1);
            source->ops->close(source);
            ts_diag_destroy(diag);
            for (int k = 0; k < row.n; k++)
                if (value == ts_fixture_stored(0, 0, EACH * k) - 1024.0) {
                    found[k] = true;
                    expect_range(&(struct wish){.series = number}, EACH * k, EACH, 1, what);
                }
        }
        for (int k = 0; k < row.n; k++)
            cr_expect(found[k], "%s: series %d is not there", what, k);
        ts_test_remove_folder(folder);
    }
}

/* Series that a setting tells apart are chosen by it. */
Test(dicom_identity, derived_images_are_chosen_by_name)
{
    struct several row = {
        SHARED_UID, SAME_PLACES, 0x00080008, "CS", {"ORIGINAL\\PRIMARY\\M", "DERIVED\\PRIMARY\\M"},
        2,          NULL};
    write_images(2 * EACH, make_several, &row);
    expect_range(&(struct wish){.take = "ORIGINAL"}, 0, EACH, 1, "ORIGINAL");
    expect_range(&(struct wish){.take = "DERIVED"}, EACH, EACH, 1, "DERIVED");
    ts_test_remove_folder(folder);
}

/* `series: #N` and a description give those images and no others. */
Test(dicom_identity, a_name_gives_what_it_names)
{
    struct several row = {SHARED_UID, BETWEEN, 0x00200011, "IS", {"3", "7"}, 2, ""};
    write_images(2 * EACH, make_several, &row);
    expect_range(&(struct wish){.series = "#3"}, 0, EACH, 1, "#3");
    expect_range(&(struct wish){.series = "#7"}, EACH, EACH, 1, "#7");
    expect_refusal(&(struct wish){.series = "#4"}, "series-unknown", NULL, "#4");
    const int both[] = {0, 4, 1, 5, 2, 6, 3, 7};
    ts_diag_destroy(
        expect_images(&(struct wish){.join = "number"}, both, 2 * EACH, "join: number"));
    expect_refusal(&(struct wish){.join = "number", .series = "#7"}, "series-ambiguous",
                   "give the number", "joined");
    ts_diag_destroy(expect_images(&(struct wish){.join = "number", .series = "1"}, both, 2 * EACH,
                                  "join: number, series: 1"));
    ts_test_remove_folder(folder);
}

static void describe_in_part(struct dicom_fixture *f, int i, void *user)
{
    (void)user;
    ts_fixture_text(f, 0x0008103E, "LO", i < 5 ? "Chest" : "Abdomen");
}

/* The slices of CT may have several descriptions in one volume. A name of some of them does not
 * give the others. */
Test(dicom_identity, a_name_of_some_slices_is_refused)
{
    write_images(FIXTURE_SLICES, describe_in_part, NULL);
    expect_range(&(struct wish){0}, 0, FIXTURE_SLICES, 1, "all");
    expect_refusal(&(struct wish){.series = "Chest"}, "series-ambiguous", "give the number",
                   "Chest");
    expect_range(&(struct wish){.series = "1"}, 0, FIXTURE_SLICES, 1, "series: 1");
    ts_test_remove_folder(folder);
}

/* ---- what would tear a volume ---------------------------------------------------------------- */

enum {
    STUDY = 1,
    SERIES = 2,
    NUMBER = 4,
    PATIENT = 8,
    STUDY_TIME = 16,
    PROTOCOL = 32,
    FRAME = 64,
    MAKER = 128
};

/* Attributes that are another in each slice, or absent in some. */
struct torn {
    unsigned each, absent;
    int n, volumes;
    bool no_uid, uneven, by_image;
    const char *name; /* of the warning; NULL: each image is a series of its own */
    const char *join; /* what a warning offers in that case; NULL: nothing, but it names what
                         divides them */
};

static void make_torn(struct dicom_fixture *f, int i, void *user)
{
    static const struct {
        uint32_t tag;
        const char *vr, *text;
    } tags[] = {{0x0020000D, "UI", "1.2.826.0.1.77."},
                {0x0020000E, "UI", "1.2.826.0.1.78."},
                {0x00200011, "IS", "10"},
                {0x00100020, "LO", "P"},
                {0x00080030, "TM", "1200"},
                {0x00181030, "LO", "slice "},
                {0x00200052, "UI", "1.2.826.0.1.79."},
                {0x00080070, "LO", "Maker "}};
    const struct torn *torn = user;
    const int slices = torn->n / torn->volumes, z = i % slices;
    begin(f);
    ts_fixture_text(f, 0x00100020, "LO", "P");
    ts_fixture_text(f, 0x00080030, "TM", "120000");
    ts_fixture_text(f, 0x00181030, "LO", "T1");
    ts_fixture_text(f, 0x00080070, "LO", "SIEMENS");
    set_number(f, 0x00200100, "IS", "", 1 + i / slices);
    place(f, 3 * z + (torn->uneven && z == 2) + 0.02 * (z % 2));
    for (size_t k = 0; k < sizeof tags / sizeof *tags; k++) {
        if (torn->each >> k & 1)
            set_number(f, tags[k].tag, tags[k].vr, tags[k].text, 10 + (torn->by_image ? i : z));
        if ((torn->absent >> k & 1) && z == 2)
            ts_fixture_remove(f, tags[k].tag);
    }
    if (torn->no_uid)
        ts_fixture_remove(f, 0x0020000E);
}

Test(dicom_identity, what_differs_in_each_slice_does_not_tear_a_volume)
{
    static const struct torn rows[] = {
        {STUDY, 0, 6, 1, false, false, false, "Study Instance UID", NULL},
        {STUDY | STUDY_TIME, 0, 3, 1, false, false, false, "Study Instance UID, Study Date or Time",
         NULL},
        {STUDY | FRAME, 0, 6, 1, false, false, false, "Study Instance UID, Frame of Reference UID",
         NULL},
        {FRAME, 0, 6, 1, false, false, false, "Frame of Reference UID", NULL},
        {FRAME, 0, 12, 3, false, false, false, "Frame of Reference UID", NULL},
        {FRAME, 0, 12, 3, false, false, true, "Frame of Reference UID", NULL},
        {FRAME, 0, 6, 1, true, false, false, "Frame of Reference UID", NULL},
        {PATIENT, 0, 6, 1, false, false, false, "Patient ID", NULL},
        {NUMBER, 0, 6, 1, false, false, false, "Series Number", NULL},
        {STUDY_TIME, 0, 6, 1, false, false, false, "Study Date or Time", NULL},
        {PROTOCOL, 0, 6, 1, false, false, false, "Protocol Name", NULL},
        {SERIES, 0, 6, 1, false, false, false, "Series Instance UID", NULL},
        {SERIES, 0, 12, 3, false, false, false, "Series Instance UID", NULL},
        {SERIES, 0, 12, 3, false, false, true, "Series Instance UID", NULL},
        {SERIES | FRAME, 0, 6, 1, false, false, false,
         "Series Instance UID, Frame of Reference UID", NULL},
        {FRAME, 0, 6, 1, true, false, false, "Frame of Reference UID", NULL},
        {PROTOCOL, 0, 6, 1, true, false, false, "Protocol Name", NULL},
        {0, STUDY, 6, 1, false, false, false, "Study Instance UID", NULL},
        {0, NUMBER, 6, 1, false, false, false, "Series Number", NULL},
        {0, FRAME, 6, 1, false, false, false, "Frame of Reference UID", NULL},
        {0, PROTOCOL | MAKER | STUDY_TIME, 6, 1, false, false, false,
         "Study Date or Time, Manufacturer", NULL},
        {SERIES | NUMBER, 0, 6, 1, false, false, false, NULL, "series, number"},
        {STUDY | SERIES, 0, 6, 1, false, false, false, NULL, "study, series"},
        {STUDY | SERIES | PATIENT | FRAME, 0, 6, 1, false, false, false, NULL,
         "study, series, patient, frame_of_reference"},
        {PATIENT, 0, 6, 1, true, false, false, NULL, "patient"},
        {PATIENT, 0, 6, 1, false, true, false, NULL, NULL},
        {PATIENT, 0, 12, 3, false, false, false, NULL, NULL},
        {STUDY, 0, 6, 1, false, true, false, NULL, NULL},
        {FRAME, 0, 2, 1, false, false, false, NULL, NULL},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        struct torn row = rows[r];
        int images[MOST_IMAGES];
        char what[32], text[128];
        snprintf(what, sizeof what, "row %zu", r);
        write_images(row.n, make_torn, &row);
        for (int i = 0; i < row.n; i++)
            images[i] = i;
        if (row.name) {
            struct ts_diag *diag = expect_images(&(struct wish){0}, images, row.n, what);
            snprintf(text, sizeof text, "the images differ in %s", row.name);
            cr_expect(find_warning(diag, text), "%s: no warning of %s", what, row.name);
            ts_diag_destroy(diag);
        } else {
            struct source *source;
            struct ts_diag *diag = ts_diag_create();
            snprintf(text, sizeof text, "; `join: [%s]` reads series 1", row.join ? row.join : "");
            expect_refusal(&(struct wish){0}, "several-series", row.join ? text : "series: N",
                           what);
            cr_assert_eq(open_as(&(struct wish){.series = "1"}, &source, diag), TS_OK, "%s", what);
            cr_expect_eq(source->n_slices, 1, "%s", what);
            source->ops->close(source);
            snprintf(text, sizeof text, "`join: [%s]` reads them as one", row.join);
            const char *offered = find_warning(diag, "`join:");
            cr_expect(row.join ? offered && strstr(offered, text) : !offered, "%s: %s", what,
                      offered);
            cr_expect(row.join || find_warning(diag, "images of one Series Instance UID differ in"),
                      "%s", what);
            ts_diag_destroy(diag);
        }
        if (row.join)
            ts_diag_destroy(expect_images(&(struct wish){.join = row.join}, images, row.n, what));
        ts_test_remove_folder(folder);
    }
}

/* A slice is missing: that is what a message has to say, rather than that there are many series. */
static void lose_one(struct dicom_fixture *f, int i, void *user)
{
    struct torn row = {FRAME, 0, 6, 1, false, false, false, NULL, NULL};
    (void)user;
    make_torn(f, i, &row);
    place(f, 3 * (i + (i > 3)));
}

Test(dicom_identity, a_gap_between_torn_slices_is_named)
{
    write_images(6, lose_one, NULL);
    expect_refusal(&(struct wish){0}, "slice-missing", "supply the missing slices", "gap");
    ts_test_remove_folder(folder);
}

/* Two series of one folder, each torn in another way, beside one that is whole. */
static void make_mixture(struct dicom_fixture *f, int i, void *user)
{
    const int z = i % 5, s = i / 5;
    (void)user;
    begin(f);
    place(f, 3 * z);
    set_number(f, 0x00200011, "IS", "", 11 + s);
    set_number(f, 0x0020000E, "UI", "1.2.826.0.1.80.", s == 1 ? 100 + z : s);
    if (s == 0)
        set_number(f, 0x00200052, "UI", "1.2.826.0.1.81.", z);
}

Test(dicom_identity, torn_series_are_mended_beside_others)
{
    write_images(15, make_mixture, NULL);
    for (int s = 0; s < 3; s++) {
        char name[8];
        snprintf(name, sizeof name, "#%d", 11 + s);
        expect_range(&(struct wish){.series = name}, 5 * s, 5, 1, name);
    }
    ts_test_remove_folder(folder);
}

Test(dicom_identity, words_of_join_are_checked)
{
    write_images(3, NULL, NULL);
    expect_refusal(&(struct wish){.join = "frame"}, "join-unknown", "frame_of_reference", "frame");
    expect_range(&(struct wish){.join = "frame_of_reference"}, 0, 3, 1, "frame_of_reference");
    ts_test_remove_folder(folder);
}

/* ---- passes ---------------------------------------------------------------------------------- */

/* Passes of some slices each, of which every one begins so far behind the one before. */
struct passes {
    int n, slices;
    double behind_mm;
    enum { NUMBERED, NOT_NUMBERED, FALLING, BY_IMAGE } acquisitions;
    bool backward; /* later passes run the other way */
};

static void make_pass(struct dicom_fixture *f, int i, void *user)
{
    const struct passes *passes = user;
    const int pass = i / passes->slices, z = i % passes->slices;
    ts_fixture_text(f, 0x00200011, "IS", "1");
    place(f, pass * passes->behind_mm +
                 2.5 * (passes->backward && pass > 0 ? passes->slices - 1 - z : z));
    if (passes->acquisitions != NOT_NUMBERED)
        set_number(f, 0x00200012, "IS", "",
                   passes->acquisitions == FALLING    ? 9 - pass
                   : passes->acquisitions == BY_IMAGE ? 1 + i
                                                      : 1 + pass);
}

Test(dicom_identity, passes_that_overlap_are_series)
{
    static const struct passes rows[] = {
        {2, 8, 15, NUMBERED, false},   {3, 6, 10, NUMBERED, false}, {2, 6, 12.5, NUMBERED, false},
        {2, 6, 8.75, NUMBERED, false}, {3, 5, 7.5, FALLING, false}, {2, 4, 2.5, NUMBERED, false},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        struct passes row = rows[r];
        char what[32];
        snprintf(what, sizeof what, "row %zu", r);
        write_images(row.n * row.slices, make_pass, &row);
        expect_refusal(&(struct wish){0}, "several-series", "'acquisition ", what);
        for (int first = 0; first < 2; first++)
            for (int pass = 0; pass < row.n; pass++) {
                char take[32];
                snprintf(take, sizeof take, "acquisition %d",
                         row.acquisitions == FALLING ? 9 - pass : 1 + pass);
                expect_range(
                    &(struct wish){.take = take,
                                   .duplicates = first ? DUPLICATES_FIRST : DUPLICATES_REFUSE},
                    pass * row.slices, row.slices, 1, what);
            }
        ts_test_remove_folder(folder);
    }
}

/* The first image of each position would be one of another pass from some slice on. */
Test(dicom_identity, passes_are_not_sewn_together)
{
    const struct wish first = {.duplicates = DUPLICATES_FIRST, .split = "none"};
    static const struct passes rows[] = {
        {2, 8, 15, NUMBERED, false},    {2, 8, 15, NOT_NUMBERED, false},
        {2, 8, 15, NOT_NUMBERED, true}, {3, 6, 7.5, NOT_NUMBERED, false},
        {2, 8, 15, BY_IMAGE, false},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        struct passes row = rows[r];
        const bool numbered = row.acquisitions == NUMBERED;
        char what[32], path[600], moved[600];
        snprintf(what, sizeof what, "row %zu", r);
        write_images(row.n * row.slices, make_pass, &row);
        expect_refusal(&first, "duplicates-sewn",
                       numbered ? "`split: acquisition`"
                                : "put the files of each pass into a folder of its own",
                       what);
        expect_refusal(&(struct wish){.split = "none"}, "position-repeated",
                       numbered ? "`split: acquisition`" : NULL, what);
        if (numbered) {
            expect_range(&(struct wish){.split = "acquisition", .take = "acquisition 2"}, 8, 8, 1,
                         what);
            ts_test_remove_folder(folder);
            continue;
        }
        char old[256];
        strcpy(old, folder);
        ts_test_folder_in_memory(folder, sizeof folder);
        for (int i = 0; i < row.slices; i++) {
            snprintf(path, sizeof path, "%s/IM%03d.dcm", old, row.n * row.slices - 1 - i);
            snprintf(moved, sizeof moved, "%s/IM%03d.dcm", folder, i);
            cr_assert(rename(path, moved) == 0, "%s", path);
        }
        expect_range(&(struct wish){0}, 0, row.slices, 1, what);
        ts_test_remove_folder(old);
        ts_test_remove_folder(folder);
    }
}

/* Slices of two acquisitions that lie between each other, a little off their places. */
static void jitter(struct dicom_fixture *f, int i, void *user)
{
    (void)user;
    place(f, 2.5 * (2 * (i % 6) + i / 6) + (i % 3 == 1 ? 0.2 : 0));
    set_number(f, 0x00200012, "IS", "", 1 + i / 6);
}

Test(dicom_identity, acquisitions_between_each_other_are_one_volume)
{
    const int images[] = {0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11};
    write_images(12, jitter, NULL);
    expect_refusal(&(struct wish){0}, "spacing-varies", "spacing_tolerance", "jitter");
    ts_diag_destroy(
        expect_images(&(struct wish){.spacing_tolerance = 10}, images, 12, "spacing_tolerance"));
    ts_test_remove_folder(folder);
}

/* Acquisitions that make one volume, as those of a table that moves on, are one; and those that
 * repeat it are volumes, or series where the chain says so. */
Test(dicom_identity, acquisitions_that_do_not_overlap_are_one_volume)
{
    struct passes behind = {3, 4, 10, NUMBERED, false}, same = {2, 5, 0, NUMBERED, false};
    write_images(12, make_pass, &behind);
    expect_range(&(struct wish){0}, 0, 12, 1, "one behind the other");
    expect_range(&(struct wish){.split = "acquisition", .take = "acquisition 3"}, 8, 4, 1, "split");
    ts_test_remove_folder(folder);
    write_images(10, make_pass, &same);
    expect_range(&(struct wish){0}, 0, 10, 1, "at the same places");
    expect_range(&(struct wish){.duplicates = DUPLICATES_FIRST}, 0, 5, 1, "the first of two");
    expect_range(&(struct wish){.split = "acquisition", .series = "2"}, 5, 5, 1, "split");
    ts_test_remove_folder(folder);
}

static void make_again(struct dicom_fixture *f, int i, void *user)
{
    const int copies = *(const int *)user;
    place(f, copies ? 3 * (i / 2) : i < 6 ? 3 * i : 9);
    if (copies > 1) { /* the same pixels under two UIDs */
        struct dicom_fixture other;
        ts_fixture_init(&other, i - i % 2);
        const struct fixture_element *pixels = ts_fixture_find(&other, FIXTURE_PIXELS);
        ts_fixture_bytes(f, FIXTURE_PIXELS, "OW", pixels->bytes, pixels->length);
        ts_fixture_clear(&other);
    }
}

/* What the refusal offers gives the first image of each position: of a slice that was made again,
 * of slices that were each made twice, and of copies. */
Test(dicom_identity, the_first_of_several_images_is_taken_as_the_hint_says)
{
    for (int copies = 0; copies < 3; copies++) {
        const struct wish first = {.duplicates = DUPLICATES_FIRST};
        write_images(7, make_again, &copies);
        expect_refusal(&(struct wish){0}, "position-repeated", "duplicates: first takes one",
                       "made again");
        expect_range(&first, 0, copies ? 4 : 6, copies ? 2 : 1, "first");
        ts_test_remove_folder(folder);
    }
}

/* Two volumes of four slices whose Instance Numbers were dealt out at random. */
static void make_scrambled(struct dicom_fixture *f, int i, void *user)
{
    static const int numbers[] = {5, 2, 8, 1, 4, 7, 6, 3};
    (void)user;
    place(f, 3 * (i / 2));
    set_number(f, 0x00200013, "IS", "", numbers[i]);
}

Test(dicom_identity, the_first_images_in_no_order_are_warned_of)
{
    const int lowest[] = {1, 3, 4, 7};
    write_images(8, make_scrambled, NULL);
    struct ts_diag *diag =
        expect_images(&(struct wish){.duplicates = DUPLICATES_FIRST}, lowest, 4, "scrambled");
    cr_expect(find_warning(diag, "Instance Numbers in no order: they may be of several volumes"));
    ts_diag_destroy(diag);
    ts_test_remove_folder(folder);
}

static void make_doubt(struct dicom_fixture *f, int i, void *user)
{
    (void)user;
    if (i >= 5) {
        ts_fixture_text(f, 0x00200037, "DS", "0\\1\\0\\0\\0\\-1");
        set_number(f, 0x00200032, "DS", "10\\20\\", i == 8 ? 90 : i);
    }
}

/* Other images of the UID are no volume, so that a run asks; the number that its hint names is
 * read. */
Test(dicom_identity, the_number_that_a_hint_names_is_read)
{
    write_images(9, make_doubt, NULL);
    struct ts_diag *diag = ts_diag_create();
    struct source *source;
    cr_assert_eq(open_as(&(struct wish){0}, &source, diag), TS_BAD_INPUT);
    const char *hint = ts_diag_get(diag, 0)->hint,
               *number = hint ? strstr(hint, "say series: ") : NULL;
    cr_assert(number, "%s: %s", ts_diag_get(diag, 0)->message, hint);
    char text[2] = {number[strlen("say series: ")], '\0'};
    expect_range(&(struct wish){.series = text}, 0, 5, 1, hint);
    ts_diag_destroy(diag);
    ts_test_remove_folder(folder);
}

/* ---- files that are no images, and captures -------------------------------------------------- */

static void write_object(const char *uid, bool empty_pixels)
{
    char path[300];
    struct dicom_fixture f;
    ts_fixture_init(&f, 7);
    ts_fixture_text(&f, 0x00080016, "UI", uid);
    if (empty_pixels)
        ts_fixture_bytes(&f, FIXTURE_PIXELS, "OW", "", 0);
    else
        ts_fixture_remove(&f, FIXTURE_PIXELS);
    ts_fixture_remove(&f, 0x00280002);
    snprintf(path, sizeof path, "%s/IM007.dcm", folder);
    ts_fixture_write(&f, path);
    ts_fixture_clear(&f);
}

Test(dicom_identity, objects_with_rows_and_without_pixels_are_passed_over)
{
    static const char *const classes[] = {
        "1.3.46.670589.11.0.0.12.2",    "1.3.46.670589.11.0.0.12.4",
        "1.3.12.2.1107.5.9.1",          "1.2.840.113619.4.27",
        "1.2.840.10008.5.1.4.1.1.4.2",  "1.2.840.10008.5.1.4.1.1.11.1",
        "1.2.840.10008.5.1.4.1.1.66",   "1.2.840.10008.5.1.4.1.1.66.1",
        "1.2.840.10008.5.1.4.1.1.67",   "1.2.840.10008.5.1.4.1.1.88.22",
        "1.2.840.10008.5.1.4.1.1.104.1"};
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        for (int empty = 0; empty < 2; empty++) {
            const int images[] = {0, 1, 2, 3, 4, 5};
            write_images(6, NULL, NULL);
            write_object(classes[i], empty);
            struct ts_diag *diag = expect_images(&(struct wish){0}, images, 6, classes[i]);
            cr_expect(find_warning(diag, "1 without pixels (IM007.dcm)"), "%s", classes[i]);
            ts_diag_destroy(diag);
            ts_test_remove_folder(folder);
        }
    write_images(6, NULL, NULL);
    write_object("1.2.840.10008.5.1.4.1.1.2", false); /* an image, whose pixels are lost */
    expect_refusal(&(struct wish){0}, "dicom-missing-element", "`unreadable: skip`",
                   "CT without pixels");
    expect_range(&(struct wish){.unreadable = UNREADABLE_SKIP}, 0, 6, 1, "skip");
    ts_test_remove_folder(folder);
}

/* A picture of a screen that has the place of a slice, and the UID of its series. */
static void one_capture(struct dicom_fixture *f, int i, void *user)
{
    (void)user;
    place(f, i == 6 ? 1.3 * 2 : 1.3 * i);
    if (i == 6) {
        ts_fixture_text(f, 0x00080016, "UI", "1.2.840.10008.5.1.4.1.1.7");
        ts_fixture_text(f, 0x00080060, "CS", "OT");
    }
}

Test(dicom_identity, a_capture_in_the_place_of_a_slice_raises_no_doubt)
{
    const int images[] = {0, 1, 2, 3, 4, 5};
    write_images(7, one_capture, NULL);
    struct ts_diag *diag = expect_images(&(struct wish){0}, images, 6, "capture");
    cr_expect_not(find_warning(diag, "may lack"));
    ts_diag_destroy(diag);
    ts_test_remove_folder(folder);
}

struct captures {
    bool nominal, placed, repeated;
    const char *modality;
};

static void make_capture(struct dicom_fixture *f, int i, void *user)
{
    const struct captures *captures = user;
    ts_fixture_text(f, 0x00080016, "UI", "1.2.840.10008.5.1.4.1.1.7");
    ts_fixture_text(f, 0x00080060, "CS", captures->modality ? captures->modality : "OT");
    place(f, captures->repeated ? 0 : 1.3 * i);
    if (captures->nominal) {
        ts_fixture_text(f, 0x00182010, "DS", "0.5\\0.7");
        ts_fixture_remove(f, 0x00280030);
    }
    if (!captures->placed)
        ts_fixture_remove(f, 0x00200032);
    if (!captures->modality)
        ts_fixture_remove(f, 0x00080060);
}

Test(dicom_identity, captures_with_places_are_slices)
{
    static const struct {
        struct captures captures;
        bool read;
    } rows[] = {{{true, true, false, "OT"}, true},
                {{false, true, false, "CT"}, true},
                {{true, true, false, NULL}, true},
                {{true, false, false, "OT"}, false},
                {{true, true, true, "OT"}, false}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        struct captures row = rows[r].captures;
        const int images[] = {0, 1, 2};
        write_images(3, make_capture, &row);
        if (rows[r].read) {
            struct ts_diag *diag = expect_images(&(struct wish){0}, images, 3, "captures");
            cr_expect(find_warning(diag, "secondary captures"));
            ts_diag_destroy(diag);
        } else {
            expect_refusal(&(struct wish){0}, "secondary-capture", NULL, "captures");
        }
        ts_test_remove_folder(folder);
    }
}
