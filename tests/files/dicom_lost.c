/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/files/dicom_lost.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void ts_lost_begin(struct lost *lost, int n,
                   void (*edit)(struct dicom_fixture *, int z, void *user), void *user)
{
    *lost = (struct lost){.diag = ts_diag_create()};
    ts_test_folder_in_memory(lost->folder, sizeof lost->folder);
    cr_assert_eq(chmod(lost->folder, 0755), 0);
    ts_fixture_series(lost->folder, n, edit, user);
}

const char *ts_lost_path(struct lost *lost, const char *name)
{
    snprintf(lost->path, sizeof lost->path, "%s/%s", lost->folder, name);
    return lost->path;
}

enum ts_status ts_lost_open(struct lost *lost, int32_t unreadable, int32_t incomplete)
{
    const char *path = lost->folder;
    struct param_set set = {.params = dicom_format.params,
                            .n_params = dicom_format.n_params,
                            .values = &lost->params,
                            .owner = "input"};
    const struct ts_texts paths = lost->params.dicom;
    const char *series = lost->params.series;
    ts_params_init(&set);
    lost->params.series = series ? series : lost->params.series;
    lost->params.dicom = paths.n > 0 ? paths : (struct ts_texts){1, &path};
    lost->params.unreadable = unreadable;
    lost->params.incomplete = incomplete;
    ts_diag_destroy(lost->diag);
    lost->diag = ts_diag_create();
    const enum ts_status got = dicom_format.open(&set, &lost->source, lost->diag);
    lost->params.dicom = paths;
    lost->params.series = series;
    return got;
}

void ts_lost_open_as(struct lost *lost, int32_t unreadable, int32_t incomplete,
                     enum ts_status status)
{
    const enum ts_status got = ts_lost_open(lost, unreadable, incomplete);
    cr_assert_eq(got, status, "%s",
                 ts_diag_count(lost->diag) ? ts_diag_get(lost->diag, 0)->message : "opened");
}

const char *ts_lost_attribute(const struct lost *lost, const char *name)
{
    for (size_t i = 0; i < lost->source->n_attributes; i++)
        if (!strcmp(lost->source->attributes[i].name, name))
            return lost->source->attributes[i].value;
    return "";
}

void ts_lost_close(struct lost *lost)
{
    lost->source->ops->close(lost->source);
    lost->source = NULL;
}

void ts_lost_end(struct lost *lost)
{
    ts_diag_destroy(lost->diag);
    ts_test_remove_folder(lost->folder);
}

void ts_lost_expect(struct lost *lost, const char *code, const char *text, int n_left)
{
    ts_lost_open_as(lost, UNREADABLE_REFUSE, INCOMPLETE_REFUSE, TS_BAD_INPUT);
    ts_test_expect(lost->diag, code, text);
    ts_lost_open_as(lost, UNREADABLE_SKIP, INCOMPLETE_REFUSE, TS_OK);
    cr_expect_eq(lost->source->n_slices, n_left, "%s", text);
    cr_expect_str_eq(ts_lost_attribute(lost, "files_skipped"), "1", "%s", text);
    cr_expect(*ts_lost_attribute(lost, "files_passed_over"));
    for (size_t i = 0; i < lost->source->n_attributes; i++)
        cr_expect_null(strstr(lost->source->attributes[i].value, "IM0"), "%s",
                       lost->source->attributes[i].value);
    ts_lost_close(lost);
}

void ts_lost_damage(const char *path, int kind)
{
    static const char zeros[1000];
    int fd = open(path, O_RDWR | (kind == 0 || kind == 3 ? O_TRUNC : 0));
    cr_assert(fd >= 0);
    if (kind == 1)
        cr_assert_eq(ftruncate(fd, 100), 0);
    else if (kind == 2)
        cr_assert_eq(pwrite(fd, "DICX", 4, 128), 4);
    else if (kind == 3)
        cr_assert_eq(pwrite(fd, zeros, sizeof zeros, 0), (ssize_t)sizeof zeros);
    close(fd);
}

void ts_lost_rename(struct lost *lost, void (*name)(int z, char *out, size_t size))
{
    char from[16], to[300], base[32];
    for (int z = 0; z < FIXTURE_SLICES; z++) {
        snprintf(from, sizeof from, "IM%03d.dcm", z);
        name(z, base, sizeof base);
        snprintf(to, sizeof to, "%s/%s", lost->folder, base);
        cr_assert_eq(rename(ts_lost_path(lost, from), to), 0);
    }
}
