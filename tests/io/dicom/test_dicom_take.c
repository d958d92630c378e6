/* SPDX-License-Identifier: Apache-2.0
 *
 * The hint about `take` lists values that choose one series or one volume. Whatever it lists is
 * tried here, as it stands there.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/files/dicom_fixture.h"
#include "tests/files/dicom_open.h"
#include "tests/support/support.h"

enum { SLICES = 2, TIMES = 3, ECHOES = 2, KINDS = 2, MOST_TEXTS = 4 };

/* A folder holds these beside slices; image i is slice i % SLICES, of a time, of an echo, of a
 * kind. */
struct folder {
    int times, echoes, kinds;
    int lost; /* an image that the folder lacks; -1: none */
    bool weighted;
    char path[256];
};

static void make(struct dicom_fixture *f, int i, void *user)
{
    const struct folder *folder = user;
    char text[64];
    const int z = i % SLICES, time = i / SLICES % folder->times;
    const int echo = i / SLICES / folder->times % folder->echoes,
              kind = i / SLICES / folder->times / folder->echoes;
    const double b = time == 0 ? 0 : 1000, gradient[3] = {time == 1, time == 2, 0};
    ts_fixture_text(f, 0x00080060, "CS", "MR");
    ts_fixture_text(f, 0x00080008, "CS",
                    kind == 0 ? "ORIGINAL\\PRIMARY\\M\\ND" : "ORIGINAL\\PRIMARY\\P\\ND");
    snprintf(text, sizeof text, "-20.5\\-31.25\\%.4f", 100.125 + 1.3 * z);
    ts_fixture_text(f, 0x00200032, "DS", text);
    ts_fixture_text(f, 0x00180081, "DS", echo == 0 ? "2.3" : "4.6");
    snprintf(text, sizeof text, "1059%02d", 10 * time);
    ts_fixture_text(f, 0x00080032, "TM", text);
    if (folder->weighted) {
        ts_fixture_bytes(f, 0x00189087, "FD", &b, sizeof b);
        ts_fixture_bytes(f, 0x00189089, "FD", gradient, sizeof gradient);
    }
}

static void write_folder(struct folder *folder)
{
    char name[300];
    const int n = SLICES * folder->times * folder->echoes * folder->kinds;
    ts_test_folder_in_memory(folder->path, sizeof folder->path);
    ts_fixture_series(folder->path, n, make, folder);
    snprintf(name, sizeof name, "%s/IM%03d.dcm", folder->path, n - 1 - folder->lost);
    cr_assert(folder->lost < 0 || remove(name) == 0, "%s", name);
}

static enum ts_status open_with(const char *path, const char *split, const char *const *takes,
                                int n, struct source **source, struct ts_diag *diag)
{
    struct dicom_params params = {0};
    struct param_set set = {.params = dicom_format.params,
                            .n_params = dicom_format.n_params,
                            .values = &params,
                            .owner = "input"};
    const char *splits[2] = {"echo", "time"};
    *source = NULL;
    ts_params_init(&set);
    params.dicom = (struct ts_texts){1, &path};
    params.split = (struct ts_texts){!strcmp(split, "echo, time") ? 2 : *split != '\0',
                                     !strcmp(split, "echo, time") ? splits : &split};
    params.take = (struct ts_texts){n, (const char **)takes};
    return dicom_format.open(&set, source, diag);
}

/* Opens what the texts of an item choose: "'2.3 ms'", "['2.3 ms', MAGNITUDE]"; `number` stands for
 * N. */
static void try_item(const struct folder *folder, const char *split, const char *item,
                     const char *number)
{
    char copy[128], *texts[MOST_TEXTS], *rest = copy;
    int n = 0;
    struct ts_diag *diag = ts_diag_create();
    struct source *source;
    snprintf(copy, sizeof copy, "%s", *item == '[' ? item + 1 : item);
    copy[strcspn(copy, "]")] = '\0';
    for (char *text; (text = strsep(&rest, ",")) != NULL;) {
        text += strspn(text, " '");
        text[strcspn(text, "'")] = '\0';
        cr_assert_lt(n, MOST_TEXTS);
        texts[n++] = strcmp(text, "N") ? text : (char *)number;
    }
    const enum ts_status status =
        open_with(folder->path, split, (const char *const *)texts, n, &source, diag);
    cr_expect_eq(status, TS_OK, "%s with N = %s: %s", item, number,
                 ts_diag_count(diag) ? ts_diag_get(diag, 0)->message : "");
    if (source)
        source->ops->close(source);
    ts_diag_destroy(diag);
}

/* Returns the length of the first item of a list, whose commas between brackets divide nothing. */
static size_t item_length(const char *list)
{
    int depth = 0;
    size_t length = 0;
    for (; list[length] && (depth > 0 || (list[length] != ',' && list[length] != ';')); length++)
        depth += (list[length] == '[') - (list[length] == ']');
    return length;
}

/* Tries each item of a list, with all numbers of a range. Returns how many were tried. */
static int try_all(const struct folder *folder, const char *split, const char *list)
{
    int tried = 0;
    for (size_t length; *list && *list != ';'; list += length + strspn(list + length, ", ")) {
        char item[128], number[16];
        length = item_length(list);
        snprintf(item, sizeof item, "%.*s", (int)length, list);
        char *with = strstr(item, " with N ");
        const bool bare = strspn(item, "0123456789") > 0;
        const char *numbers = with   ? strpbrk(with, "0123456789")
                              : bare ? item
                                     : "0",
                   *end = strstr(numbers, " to ");
        const int first = atoi(numbers), last = end ? atoi(end + 4) : first;
        if (with)
            *with = '\0';
        for (int i = first; i <= last; i++, tried++) {
            snprintf(number, sizeof number, "%d", i);
            try_item(folder, split, bare ? "N" : item, number);
        }
    }
    return tried;
}

#define OTHERS "; series: N chooses others"
#define EACH(echo) "'" echo "', ['" echo "', N] with N from 0 to 2"

Test(dicom_take, the_hint_lists_what_chooses_one)
{
    static const struct {
        struct folder folder;
        const char *split, *take, *code, *list;
        int tried;
    } rows[] = {
        {{TIMES, ECHOES, 1, -1, false, ""},
         "",
         "99",
         "take-unknown",
         EACH("2.3 ms") ", " EACH("4.6 ms"),
         8},
        {{TIMES, ECHOES, 1, -1, false, ""},
         "",
         "1",
         "several-series",
         EACH("2.3 ms") ", " EACH("4.6 ms"),
         8},
        {{TIMES, ECHOES, 1, 5, false, ""},
         "",
         "99",
         "take-unknown",
         "['2.3 ms', N] with N from 0 to 1" OTHERS,
         2},
        {{TIMES, ECHOES, 1, 5, false, ""},
         "",
         "1",
         "several-series",
         "choose one with series: N",
         0},
        {{TIMES, 1, 1, 3, false, ""}, "", "1", "take-unknown", "0, 2", 2},
        {{TIMES, 1, 1, -1, false, ""}, "", "7 s", "take-unknown", "0 to 2", 3},
        {{2, ECHOES, 1, -1, false, ""},
         "echo, time",
         "99",
         "take-unknown",
         "['2.3 ms', '0 s'], ['2.3 ms', '10 s'], ['4.6 ms', '0 s'], ['4.6 ms', '10 s']",
         4},
        {{1, ECHOES, KINDS, -1, false, ""},
         "",
         "1 ms",
         "take-unknown",
         "[MAGNITUDE, '2.3 ms'], [MAGNITUDE, '4.6 ms'], [PHASE, '2.3 ms'], [PHASE, '4.6 ms']",
         4},
        {{1, ECHOES, 1, -1, false, ""},
         "none",
         "1 ms",
         "take-unknown",
         "0 to 1, '2.3 ms', '4.6 ms'",
         4},
        {{TIMES, 1, 1, -1, true, ""}, "", "1000 s/mm2", "take-ambiguous", "0 to 2", 3},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct folder folder = rows[i].folder;
        struct ts_diag *diag = ts_diag_create();
        struct source *source;
        write_folder(&folder);
        cr_assert_eq(open_with(folder.path, rows[i].split, &rows[i].take, 1, &source, diag),
                     TS_BAD_INPUT, "row %zu", i);
        const struct ts_diag_record *first = ts_diag_get(diag, 0);
        for (size_t k = 0; first->severity != TS_ERROR; k++)
            first = ts_diag_get(diag, k);
        cr_expect_str_eq(first->code, rows[i].code, "row %zu", i);
        const size_t length = strlen(first->hint), listed = strlen(rows[i].list);
        cr_assert(length >= listed, "row %zu: %s", i, first->hint);
        cr_expect_str_eq(first->hint + length - listed, rows[i].list, "row %zu", i);
        const char *list = rows[i].tried > 0 ? first->hint + length - listed : "";
        cr_expect_eq(try_all(&folder, rows[i].split, list), rows[i].tried, "row %zu", i);
        ts_test_remove_folder(folder.path);
        ts_diag_destroy(diag);
    }
}

/* Where `take` has nothing to choose, the hint says so. */
Test(dicom_take, the_hint_of_one_volume_is_to_leave_it_out)
{
    struct folder folder = {1, 1, 1, -1, false, ""};
    static const char *const take = "99";
    struct ts_diag *diag = ts_diag_create();
    struct source *source;
    write_folder(&folder);
    cr_assert_eq(open_with(folder.path, "", &take, 1, &source, diag), TS_BAD_INPUT);
    cr_expect_str_eq(ts_diag_get(diag, 0)->hint,
                     "leave out `take`: only one volume is fit for a run");
    ts_test_remove_folder(folder.path);
    ts_diag_destroy(diag);
}
