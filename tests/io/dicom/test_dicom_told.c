/* SPDX-License-Identifier: Apache-2.0
 *
 * Images at one position that are of several phases, gates, maps or directions of a flow: these are
 * series of their own where an attribute says so, and are refused where only a comment does. The
 * slope of each image says of which it is.
 */
#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "io/dicom_series/dicom_geometry.h"
#include "tests/files/dicom_bytes.h"
#include "tests/files/dicom_fixture.h"
#include "tests/files/dicom_open.h"
#include "tests/support/support.h"

enum { PARTS = 3, SLICES = 4, IMAGES = PARTS * SLICES, PIXELS = FIXTURE_ROWS * FIXTURE_COLUMNS };

struct row {
    const char *name;
    void (*edit)(struct dicom_fixture *f, int part, int z);     /* of a file for each image */
    void (*groups)(struct dicom_bytes *frame, int part, int z); /* of one file of frames */
    const char *modality, *takes[PARTS]; /* takes NULL: such a part is no series of its own */
    const char *code, *message;          /* of all images; NULL: they are volumes of one series */
    const char *hint, *no_hint;
    const char *first; /* the code with `duplicates: first`; NULL: it is not tried */
};

/* ---- what is written ------------------------------------------------------------------------- */

__attribute__((format(printf, 4, 5))) static void add_text(struct dicom_fixture *f, uint32_t tag,
                                                           const char *vr, const char *format, ...)
{
    char text[64];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    ts_fixture_text(f, tag, vr, text);
}

static void add_percent(struct dicom_fixture *f, int part, int z)
{
    const float percent = (float)(part == 2 ? 90 : 50 * part);
    (void)z;
    ts_fixture_bytes(f, 0x00209245, "FL", &percent, sizeof percent);
}
static void add_percent_and_times(struct dicom_fixture *f, int part, int z)
{
    add_percent(f, part, z);
    add_text(f, 0x00080032, "TM", "1200%02d", (part + z) % PARTS + 10 * z);
    add_text(f, 0x00200013, "IS", "%d", (part + z) % PARTS + PARTS * z + 1);
}
/* A slice of the last phase is a copy of one of the first, so that a position has more. */
static void add_percent_unevenly(struct dicom_fixture *f, int part, int z)
{
    add_percent(f, part == 2 && z == 3 ? 1 : part, z);
    if (part == 2 && z == 3)
        add_text(f, 0x00200032, "DS", "1\\2\\%g", 1.3 * SLICES);
}
static void add_comment(struct dicom_fixture *f, int part, int z)
{
    (void)z;
    add_text(f, 0x00204000, "LT", "T=%d%%", 50 * part);
}
static void add_description(struct dicom_fixture *f, int part, int z)
{
    add_text(f, 0x0008103E, "LO", "Gated, %d.0%%", 10 * part);
    add_text(f, 0x00080032, "TM", "1200%02d", (part + z) % PARTS + 10 * z);
}
static void add_comment_scrambled(struct dicom_fixture *f, int part, int z)
{
    add_text(f, 0x00204000, "LT", "phase %d", part);
    add_text(f, 0x00200013, "IS", "%d", (part + z) % PARTS + PARTS * z + 1);
}
static void add_comment_and_position(struct dicom_fixture *f, int part, int z)
{
    add_comment(f, part, z);
    add_text(f, 0x00200100, "IS", "%d", part + 1);
}
static void add_comment_of_slice(struct dicom_fixture *f, int part, int z)
{
    add_text(f, 0x00204000, "LT", "slice %d", z);
    add_text(f, 0x00080032, "TM", "1200%02d", 10 * part + z);
}
/* What somebody writes while a scan goes on. */
static void add_comment_from_then_on(struct dicom_fixture *f, int part, int z)
{
    ts_fixture_text(f, 0x00204000, "LT", part * SLICES + z > 5 ? "contrast" : "native");
    add_text(f, 0x00080032, "TM", "1200%02d", part * SLICES + z);
}
/* Acquisition Numbers mix the phases. */
static void add_comment_and_acquisition(struct dicom_fixture *f, int part, int z)
{
    add_comment(f, part, z);
    add_text(f, 0x00200012, "IS", "%d", (part + z) % PARTS);
}
static void add_gate(struct dicom_fixture *f, int part, int z)
{
    add_text(f, 0x00181060, "DS", "%d", 300 * part);
    add_text(f, 0x00200013, "IS", "%d", (z % 2 ? PARTS - 1 - part : part) * SLICES + z + 1);
    add_text(f, 0x00541001, "CS", "BQML");
}
static void add_frame_times(struct dicom_fixture *f, int part, int z)
{
    add_gate(f, part, z);
    ts_fixture_remove(f, 0x00181060);
    add_text(f, 0x00541300, "DS", "%d", 300 * part + 150);
}
static void add_sequence_name(struct dicom_fixture *f, int part, int z)
{
    static const char *const names[] = {"*fl3d1_v150in", "*fl3d1_v150ap", "*fl3d1_v150rl"};
    (void)z;
    ts_fixture_text(f, 0x00180024, "SH", names[part]);
}
static void add_siemens_flow(struct dicom_fixture *f, int part, int z)
{
    static const char *const flows[] = {"v80fh", "v80ap", "v80rl"};
    ts_fixture_text(f, 0x00510010, "LO", "SIEMENS MR HEADER");
    ts_fixture_text(f, 0x00511014, "SH", flows[part]);
    add_text(f, 0x00181060, "DS", "%d", 40 * z);
}
static void add_philips_flow(struct dicom_fixture *f, int part, int z)
{
    const float parts[3] = {part == 0 ? 150 : 0, part == 1 ? 150 : 0, part == 2 ? 150 : 0};
    (void)z;
    ts_fixture_syntax(f, FIXTURE_IMPLICIT_LE);
    ts_fixture_text(f, 0x20010010, "LO", "Philips Imaging DD 001");
    ts_fixture_bytes(f, 0x2001101A, "FL", parts, sizeof parts);
}
static void add_map(struct dicom_fixture *f, int part, int z)
{
    static const char *const types[] = {"DERIVED\\PRIMARY\\DIFFUSION\\ADC\\ND",
                                        "DERIVED\\PRIMARY\\DIFFUSION\\FA\\ND",
                                        "DERIVED\\PRIMARY\\DIFFUSION\\TRACEW\\ND"};
    (void)z;
    ts_fixture_text(f, 0x00080008, "CS", types[part]);
}
/* Each map has slices of its own. */
static void add_map_apart(struct dicom_fixture *f, int part, int z)
{
    static const char *const types[] = {"DERIVED\\PRIMARY\\M\\WATER", "DERIVED\\PRIMARY\\M\\FAT",
                                        "DERIVED\\PRIMARY\\M\\FAT_FRACTION"};
    ts_fixture_text(f, 0x00080008, "CS", types[part]);
    add_text(f, 0x00200032, "DS", "1\\2\\%g", 1.3 * (z + SLICES * part));
}

static void group_of_text(struct dicom_bytes *frame, uint32_t group_tag, uint32_t tag,
                          const char *vr, const char *text)
{
    static struct dicom_bytes group;
    group.n = 0;
    ts_bytes_text(&group, tag, vr, text);
    ts_bytes_group(frame, group_tag, &group);
}
static void group_of_number(struct dicom_bytes *frame, uint32_t group_tag, uint32_t tag,
                            double value)
{
    static struct dicom_bytes group;
    group.n = 0;
    ts_bytes_element(&group, tag, "FD", &value, sizeof value);
    ts_bytes_group(frame, group_tag, &group);
}
static void frame_percent(struct dicom_bytes *frame, int part, int z)
{
    static struct dicom_bytes group;
    const float percent = (float)(part == 2 ? 90 : 50 * part);
    (void)z;
    group.n = 0;
    ts_bytes_element(&group, 0x00209245, "FL", &percent, sizeof percent);
    ts_bytes_group(frame, 0x00209253, &group);
}
static void frame_breath(struct dicom_bytes *frame, int part, int z)
{
    static const char *const phases[] = {"EXPIRATION", "INSPIRATION", "MAXIMUM"};
    (void)z;
    group_of_text(frame, 0x00209253, 0x00209247, "CS", phases[part]);
}
static void frame_cycle(struct dicom_bytes *frame, int part, int z)
{
    static struct dicom_bytes group;
    const float percent = (float)(20 + 25 * part);
    (void)z;
    group.n = 0;
    ts_bytes_element(&group, 0x00209241, "FL", &percent, sizeof percent);
    ts_bytes_group(frame, 0x00189118, &group);
}
static void frame_flow(struct dicom_bytes *frame, int part, int z)
{
    static struct dicom_bytes group;
    const double along[3] = {part == 0, part == 1, part == 2 ? -1 : -0.0}, most = 150;
    group.n = 0;
    ts_bytes_element(&group, 0x00189090, "FD", along, sizeof along);
    ts_bytes_element(&group, 0x00189217, "FD", &most, sizeof most);
    ts_bytes_group(frame, 0x00189197, &group);
    group_of_number(frame, 0x00189118, 0x00209153, 10 * (PARTS * z + part));
}
static void frame_dixon(struct dicom_bytes *frame, int part, int z)
{
    static const char *const types[] = {"ORIGINAL\\PRIMARY\\DIXON\\WATER",
                                        "ORIGINAL\\PRIMARY\\DIXON\\FAT",
                                        "DERIVED\\PRIMARY\\DIXON\\OPP_PHASE"};
    (void)z;
    group_of_text(frame, 0x00189226, 0x00089007, "CS", types[part]);
}
static void frame_trace(struct dicom_bytes *frame, int part, int z)
{
    (void)z;
    group_of_text(frame, 0x00189226, 0x00089007, "CS",
                  part == 2 ? "DERIVED\\PRIMARY\\DIFFUSION\\ADC"
                            : "DERIVED\\PRIMARY\\DIFFUSION\\ISOTROPIC");
    if (part < 2)
        group_of_number(frame, 0x00189117, 0x00189087, 500 * part);
}
static void frame_component(struct dicom_bytes *frame, int part, int z)
{
    static struct dicom_bytes group;
    static const char *const parts[] = {"MAGNITUDE", "REAL", "IMAGINARY"};
    (void)z;
    group.n = 0;
    ts_bytes_text(&group, 0x00089007, "CS", "ORIGINAL\\PRIMARY\\VOLUME\\NONE");
    ts_bytes_text(&group, 0x00089208, "CS", parts[part]);
    ts_bytes_group(frame, 0x00189226, &group);
}
static void frame_comment(struct dicom_bytes *frame, int part, int z)
{
    char text[32];
    (void)z;
    snprintf(text, sizeof text, "%d%% Ex", 25 * part);
    group_of_text(frame, 0x00209111, 0x00209158, "LT", text);
}

/* ---- files ----------------------------------------------------------------------------------- */

static void write_files(const char *folder, const struct row *row)
{
    for (int i = 0; i < IMAGES; i++) {
        struct dicom_fixture f;
        const int part = i / SLICES, z = i % SLICES;
        const bool ct = !strcmp(row->modality, "CT");
        if (ct)
            ts_fixture_init(&f, i);
        else
            ts_fixture_init_mr(&f, i);
        if (!strcmp(row->modality, "PT"))
            ts_fixture_text(&f, 0x00080016, "UI", "1.2.840.10008.5.1.4.1.1.128");
        ts_fixture_text(&f, 0x00080060, "CS", row->modality);
        add_text(&f, 0x00200032, "DS", "1\\2\\%g", 1.3 * z);
        add_text(&f, 0x00200013, "IS", "%d", i + 1);
        ts_fixture_text(&f, 0x00281052, "DS", "0");
        add_text(&f, 0x00281053, "DS", "%g", 1 + 0.5 * part);
        row->edit(&f, part, z);
        ts_fixture_finish(&f, folder, i);
    }
}

static void write_frames(const char *folder, const struct row *row)
{
    static const uint16_t pixels[IMAGES * PIXELS];
    static struct dicom_bytes shared, item, frame, frames, group;
    struct dicom_fixture f;
    shared.n = item.n = frames.n = 0;
    group_of_text(&shared, 0x00209116, 0x00200037, "DS", "1\\0\\0\\0\\1\\0");
    group_of_text(&shared, 0x00289110, 0x00280030, "DS", "0.7\\0.8");
    ts_bytes_item(&item, &shared);
    for (int i = 0; i < IMAGES; i++) {
        char text[32];
        frame.n = group.n = 0;
        snprintf(text, sizeof text, "1\\2\\%g", 1.3 * (i % SLICES));
        group_of_text(&frame, 0x00209113, 0x00200032, "DS", text);
        ts_bytes_text(&group, 0x00281052, "DS", "0");
        snprintf(text, sizeof text, "%g", 1 + 0.5 * (i / SLICES));
        ts_bytes_text(&group, 0x00281053, "DS", text);
        ts_bytes_group(&frame, 0x00289145, &group);
        row->groups(&frame, i / SLICES, i % SLICES);
        ts_bytes_item(&frames, &frame);
    }
    ts_fixture_init_mr(&f, 0);
    ts_fixture_text(&f, 0x00080016, "UI", "1.2.840.10008.5.1.4.1.1.4.1");
    add_text(&f, 0x00280008, "IS", "%d", IMAGES);
    for (uint32_t tag = 0x00281052; tag <= 0x00281054; tag++)
        ts_fixture_remove(&f, tag);
    ts_fixture_bytes(&f, FIXTURE_PIXELS, "OW", pixels, sizeof pixels);
    ts_fixture_bytes(&f, 0x52009229, "SQ", item.at, item.n);
    ts_fixture_bytes(&f, 0x52009230, "SQ", frames.at, frames.n);
    ts_fixture_finish(&f, folder, 0);
}

static struct source *open_first(const char *folder, struct ts_diag *diag)
{
    struct dicom_params params = {0};
    struct param_set set = {.params = dicom_format.params,
                            .n_params = dicom_format.n_params,
                            .values = &params,
                            .owner = "input"};
    struct source *source = NULL;
    ts_params_init(&set);
    params.dicom = (struct ts_texts){1, &folder};
    params.duplicates = DUPLICATES_FIRST;
    return dicom_format.open(&set, &source, diag) == TS_OK ? source : NULL;
}

/* ---- tests ----------------------------------------------------------------------------------- */

/* Fails unless each volume of the source is of one part: `part`, or of all in turn if that is -1.
 */
static void check_parts(const struct source *source, int part, const char *name)
{
    for (int64_t i = 0; i < source->n_slices * source->n_volumes; i++) {
        const int64_t of = part < 0 ? i / source->n_slices : part;
        cr_expect_eq(source->slices[i].slope, 1 + 0.5 * (double)of, "%s, slice %lld", name,
                     (long long)i);
    }
}

static void try_first(const struct row *row, const char *folder)
{
    struct ts_diag *diag = ts_diag_create();
    struct source *source = open_first(folder, diag);
    cr_expect_null(source, "%s", row->name);
    if (source)
        source->ops->close(source);
    else
        ts_test_expect(diag, row->first, "differ in ");
    ts_diag_destroy(diag);
}

static void try_row(const struct row *row)
{
    char folder[256];
    struct ts_diag *diag = ts_diag_create();
    ts_test_folder_in_memory(folder, sizeof folder);
    (row->edit ? write_files : write_frames)(folder, row);
    struct source *source = ts_test_open_take(folder, NULL, diag);
    cr_expect_eq(source == NULL, row->code != NULL, "%s: %s", row->name,
                 ts_test_first_message(diag));
    if (source) {
        cr_expect_eq(source->n_volumes, PARTS, "%s", row->name);
        check_parts(source, -1, row->name);
        source->ops->close(source);
    } else if (row->code) {
        const char *hint = ts_diag_get(diag, ts_diag_count(diag) - 1)->hint;
        ts_test_expect(diag, row->code, row->message);
        cr_expect(!row->hint || (hint && strstr(hint, row->hint)), "%s: %s", row->name, hint);
        cr_expect(!row->no_hint || !hint || !strstr(hint, row->no_hint), "%s: %s", row->name, hint);
    }
    ts_diag_destroy(diag);
    for (int part = 0; part < PARTS; part++) {
        diag = ts_diag_create();
        source = row->takes[part] ? ts_test_open_take(folder, row->takes[part], diag) : NULL;
        cr_expect_eq(source != NULL, row->takes[part] != NULL, "%s, take %s: %s", row->name,
                     row->takes[part], ts_test_first_message(diag));
        if (source) {
            check_parts(source, part, row->name);
            source->ops->close(source);
        }
        ts_diag_destroy(diag);
    }
    if (row->first)
        try_first(row, folder);
    ts_test_remove_folder(folder);
}

static const char several[] = "several-series", three[] = "the input holds 3 series",
                  repeated[] = "position-repeated", different[] = " different images at";

Test(dicom_told, phases_of_respiration_are_series_of_their_own)
{
    static const char first[] = "respiratory phase 0 %", second[] = "respiratory phase 50 %",
                      third[] = "respiratory phase 90 %";
    static const struct row rows[] = {
        {"percent", add_percent, NULL, "CT", {first, second, third}, several, three},
        {"times", add_percent_and_times, NULL, "CT", {first, second, third}, several, three},
        {"PET", add_percent, NULL, "PT", {first, second, third}, several, three},
        {"frames", NULL, frame_percent, "MR", {first, second, third}, several, three},
        {"uneven", add_percent_unevenly, NULL, "CT", {first, NULL, third}, several, three},
        {"breath",
         NULL,
         frame_breath,
         "MR",
         {"respiration EXPIRATION", "respiration INSPIRATION", "respiration MAXIMUM"},
         several,
         three},
        {"heart",
         NULL,
         frame_cycle,
         "MR",
         {"cardiac phase 20 %", "cardiac phase 45 %", "cardiac phase 70 %"},
         several,
         three},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        try_row(&rows[r]);
}

Test(dicom_told, volumes_that_only_a_comment_tells_apart_are_refused)
{
    static const char comments[] = "they differ in Series Description or Image Comments alone",
                      first[] = "duplicates: first";
    static const struct row rows[] = {
        {"comment", add_comment, NULL, "CT", {0}, repeated, different, comments},
        {"description", add_description, NULL, "CT", {0}, repeated, different, comments},
        {"scrambled",
         add_comment_scrambled,
         NULL,
         "MR",
         {0},
         repeated,
         different,
         comments,
         first,
         "duplicates-sewn"},
        {"frames", NULL, frame_comment, "MR", {0}, repeated, different, comments},
        {"acquisition",
         add_comment_and_acquisition,
         NULL,
         "CT",
         {0},
         repeated,
         different,
         NULL,
         "split: acquisition"},
        {"position", add_comment_and_position, NULL, "CT", {0}, NULL, NULL},
        {"from then on", add_comment_from_then_on, NULL, "CT", {0}, NULL, NULL},
        {"slices", add_comment_of_slice, NULL, "CT", {0}, NULL, NULL},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        try_row(&rows[r]);
}

/* Returns whether a warning with `word` comes of one volume, to whose slices `edit` adds what a row
 * of a test says. */
static bool is_warned_of(const char *word,
                         void (*edit)(struct dicom_fixture *f, const void *row, int z),
                         const void *row)
{
    char folder[256];
    bool warned = false;
    struct ts_diag *diag = ts_diag_create();
    ts_test_folder_in_memory(folder, sizeof folder);
    for (int z = 0; z < SLICES; z++) {
        struct dicom_fixture f;
        ts_fixture_init(&f, z);
        edit(&f, row, z);
        ts_fixture_finish(&f, folder, z);
    }
    struct source *source = ts_test_open_take(folder, NULL, diag);
    cr_assert_not_null(source, "%s: %s", word, ts_test_first_message(diag));
    for (size_t i = 0; i < ts_diag_count(diag); i++)
        warned |= strstr(ts_diag_get(diag, i)->message, word) != NULL;
    source->ops->close(source);
    ts_diag_destroy(diag);
    ts_test_remove_folder(folder);
    return warned;
}

struct percents {
    float percent[SLICES];
    bool warned;
};
static void add_cycle(struct dicom_fixture *f, const void *row, int z)
{
    ts_fixture_bytes(f, 0x00209241, "FL", ((const struct percents *)row)->percent + z,
                     sizeof(float));
}

/* Shares of the cardiac cycle that differ by little are those of a heart that beats unevenly. */
Test(dicom_told, slices_of_several_cardiac_phases_are_warned_of)
{
    static const struct percents rows[] = {
        {{40, 40, 70, 70}, true}, {{74, 75, 76, 75}, false}, {{70, 70, 70, 76}, true}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        cr_expect_eq(is_warned_of("Cardiac Phase", add_cycle, &rows[r]), rows[r].warned, "row %zu",
                     r);
}

/* A position more than the others makes settings divide nothing; no volume mixes them all the same.
 * Times and Instance Numbers have another order at every other position. */
Test(dicom_told, settings_at_uneven_positions_are_never_mixed)
{
    static const struct {
        uint32_t tag;
        const char *vr, *values[2], *name;
    } rows[] = {
        {0x00180082, "DS", {"400", "900"}, "Inversion Time"},
        {0x00181314, "DS", {"5", "25"}, "Flip Angle"},
        {0x00080008, "CS", {"DERIVED\\PRIMARY\\A\\X", "DERIVED\\PRIMARY\\A\\Y"}, "Image Type"}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        char folder[256];
        struct ts_diag *diag = ts_diag_create();
        ts_test_folder_in_memory(folder, sizeof folder);
        for (int i = 0; i < 2 * SLICES - 1; i++) {
            struct dicom_fixture f;
            const int part = i / SLICES, z = i % SLICES;
            ts_fixture_init_mr(&f, i);
            add_text(&f, 0x00200032, "DS", "1\\2\\%g", 1.3 * z);
            const int swapped = z % 2 ? 1 - part : part;
            add_text(&f, 0x00200013, "IS", "%d", SLICES * swapped + z + 1);
            add_text(&f, 0x00080032, "TM", "1200%02d", 10 * swapped + z);
            ts_fixture_text(&f, rows[r].tag, rows[r].vr, rows[r].values[part]);
            ts_fixture_finish(&f, folder, i);
        }
        cr_expect_null(ts_test_open_take(folder, NULL, diag), "row %zu", r);
        ts_test_expect(diag, "position-repeated", different);
        const char *hint = ts_diag_get(diag, ts_diag_count(diag) - 1)->hint;
        cr_expect(hint && strstr(hint, rows[r].name), "row %zu: %s", r, hint);
        ts_diag_destroy(diag);
        ts_test_remove_folder(folder);
    }
}

struct comments {
    const char *of[SLICES];
    bool warned;
};
static void add_own_comment(struct dicom_fixture *f, const void *row, int z)
{
    ts_fixture_text(f, 0x00204000, "LT", ((const struct comments *)row)->of[z]);
}

/* Slices of two phases that lie beside each other look like one volume. */
Test(dicom_told, comments_that_name_phases_are_warned_of)
{
    static const struct comments rows[] = {
        {{"T=0%", "T=0%", "T=50%", "T=50%"}, true},
        {{"30.0 % Ex", "30.0 % Ex", "30.0 % Ex", "30.0 % Ex"}, false},
        {{"10% done", "20% done", "30% done", "40% done"}, false},
        {{"left", "left", "right", "right"}, false}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        cr_expect_eq(is_warned_of("Image Comments", add_own_comment, &rows[r]), rows[r].warned,
                     "row %zu", r);
}

/* What would take the first image of each position would mix the gates, and is not offered. */
Test(dicom_told, gates_that_instance_numbers_contradict_are_never_mixed)
{
    static const struct row rows[] = {
        {"gates",
         add_gate,
         NULL,
         "PT",
         {0},
         repeated,
         different,
         "put the files of one of them into a folder of their own",
         "duplicates: first",
         "duplicates-sewn"},
        {"times",
         add_frame_times,
         NULL,
         "PT",
         {0},
         repeated,
         different,
         "put the files of one of them into a folder of their own",
         "duplicates: first",
         "duplicates-sewn"},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        try_row(&rows[r]);
}

Test(dicom_told, maps_and_parts_of_one_file_are_series_of_their_own)
{
    static const struct row rows[] = {
        {"maps",
         add_map,
         NULL,
         "MR",
         {"type DIFFUSION\\ADC\\ND", "type DIFFUSION\\FA\\ND", "type DIFFUSION\\TRACEW\\ND"},
         several,
         three},
        {"apart",
         add_map_apart,
         NULL,
         "MR",
         {"type M\\WATER", "type M\\FAT", "type M\\FAT_FRACTION"},
         several,
         three},
        {"Dixon",
         NULL,
         frame_dixon,
         "MR",
         {"type DIXON\\WATER", "type DIXON\\FAT", "type DIXON\\OPP_PHASE"},
         several,
         three},
        {"trace",
         NULL,
         frame_trace,
         "MR",
         {NULL, NULL, "type DIFFUSION\\ADC"},
         several,
         "the input holds 2 series"},
        {"components",
         NULL,
         frame_component,
         "MR",
         {"MAGNITUDE", "REAL", "IMAGINARY"},
         several,
         three},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        try_row(&rows[r]);
}

Test(dicom_told, directions_of_a_flow_are_no_times)
{
    static const struct row rows[] = {
        {"frames",
         NULL,
         frame_flow,
         "MR",
         {"velocity 1 0 0 at 150 cm/s", "velocity 0 1 0 at 150 cm/s",
          "velocity 0 0 -1 at 150 cm/s"},
         several,
         three},
        {"sequence",
         add_sequence_name,
         NULL,
         "MR",
         {"velocity v150in", "velocity v150ap", "velocity v150rl"},
         several,
         three},
        {"Siemens",
         add_siemens_flow,
         NULL,
         "MR",
         {"velocity v80fh", "velocity v80ap", "velocity v80rl"},
         several,
         three},
        {"Philips",
         add_philips_flow,
         NULL,
         "MR",
         {"velocity 150 0 0 cm/s", "velocity 0 150 0 cm/s", "velocity 0 0 150 cm/s"},
         several,
         three},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        try_row(&rows[r]);
}
