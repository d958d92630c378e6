/* SPDX-License-Identifier: Apache-2.0
 *
 * Reports the names in a DICOM input that are no images. Messages name the files without their
 * folders, apart from those that cannot be read; only counts reach a result, since file names may
 * be those of patients.
 */
#include "io/dicom_series/dicom_non_images.h"

#include <stdio.h>
#include <string.h>

#include "core/path.h"

enum { MAX_UNREADABLE = 5, NAME_BYTES = 1024 };

/* Each kind has a word in JSON, in a sentence about one name, and in one about several. */
static const struct {
    const char *key, *one, *several;
} kinds[DICOM_OTHER_KINDS + 1] = {
    [DICOM_NO_MAGIC] = {"not_dicom", "not DICOM", "not DICOM"},
    [DICOM_EMPTY] = {"empty", "empty", "empty"},
    [DICOM_SHORT] = {"too_short", "too short", "too short"},
    [DICOM_NO_PIXELS] = {"no_pixels", "without pixels", "without pixels"},
    [DICOM_DICOMDIR] = {"dicomdir", "DICOMDIR", "DICOMDIR"},
    [DICOM_LINK] = {"links", "link to a folder, not followed", "links to folders, not followed"},
    [DICOM_LOOP] = {"loops", "link that leads to itself", "links that lead to themselves"},
    [DICOM_GIT] = {"git", "folder .git, not searched", "folders .git, not searched"},
    [DICOM_BARE] = {"empty_folders", "empty folder", "empty folders"},
    [DICOM_SPECIAL] = {"special", "not a regular file", "not regular files"},
    [DICOM_UNREADABLE] = {"unreadable", "unreadable", "unreadable"},
    [DICOM_DAMAGED] = {NULL, "damaged", "damaged"},
};

const char *ts_dicom_other_key(enum dicom_other_kind kind)
{
    return kinds[kind].key;
}

/* Appends three texts to `out` of `size` bytes, of which *used are in use. */
static void append(char *out, size_t size, size_t *used, const char *before, const char *text,
                   const char *after)
{
    if (*used < size) {
        int n = snprintf(out + *used, size - *used, "%s%s%s", before, text, after);
        *used += n > 0 ? (size_t)n : 0;
    }
}

void ts_dicom_passed_over(const struct dicom_folder *folder, char *out, size_t size)
{
    size_t used = 0, folders = 0;
    const char *separator = " ";
    out[0] = '\0';
    if (folder->n_others == 0)
        return;
    for (int i = 0; i < DICOM_OTHER_KINDS; i++)
        folders += dicom_other_is_folder((enum dicom_other_kind)i) ? folder->n_of[i] : 0;
    const char *kind = folders == folder->n_others ? "folder" : "name";
    used = (size_t)snprintf(out, size, "%zu %s%s passed over:", folder->n_others,
                            folders == 0 ? "file" : kind, folder->n_others == 1 ? "" : "s");
    for (int i = 0; i < DICOM_OTHER_KINDS; i++) {
        char count[32];
        if (folder->n_of[i] > 0) {
            snprintf(count, sizeof count, "%s%zu ", separator, folder->n_of[i]);
            append(out, size, &used, count, folder->n_of[i] > 1 ? kinds[i].several : kinds[i].one,
                   "");
            separator = ", ";
        }
    }
}

enum ts_status ts_dicom_refuse_no_images(const struct dicom_folder *folder, struct ts_diag *diag)
{
    char reasons[NAME_BYTES], objects[NAME_BYTES] = "";
    size_t used = 0, named = 0;
    bool regions = false;
    ts_dicom_passed_over(folder, reasons, sizeof reasons);
    for (size_t i = 0; i < 2 * folder->n_others; i++) { /* those of regions first */
        const struct dicom_other *other = &folder->others[i % folder->n_others];
        if (!other->noun || other->regions != (i < folder->n_others))
            continue;
        regions |= other->regions;
        if (named < DICOM_MAX_NAMED) {
            append(objects, sizeof objects, &used, named ? ", " : ": ", ts_base_name(other->path),
                   " is ");
            append(objects, sizeof objects, &used, other->noun, "", "");
        }
        named++;
    }
    append(objects, sizeof objects, &used, named > DICOM_MAX_NAMED ? ", ..." : "", "", "");
    ts_diag_error(diag, TS_BAD_INPUT,
                  &(struct diag_site){.code = named > 0 ? "no-image-objects" : "no-images"},
                  "no DICOM image in the input (%zu file%s seen%s%s)%s", folder->n_seen,
                  folder->n_seen == 1 ? "" : "s", *reasons ? "; " : "", reasons, objects);
    if (regions)
        return ts_diag_hint(diag, DICOM_MASK_HINT);
    return ts_diag_hint(diag, named > 0 ? "give the images that belong to it"
                                        : "give the folder that holds the DICOM files");
}

void ts_dicom_unreadable_text(const struct dicom_other *other, char *out, size_t size)
{
    snprintf(out, size, "cannot read %s%s%s: %s", other->path, other->target ? ", a link to " : "",
             other->target ? other->target : "", strerror(other->error));
}

/* Names the kind of one file. A data set that begins without preamble is DICOM, and not a file of
 * it. */
static const char *name_kind(const struct dicom_other *other)
{
    return other->kind == DICOM_NO_MAGIC && other->data_set ? "DICOM without its preamble"
                                                            : kinds[other->kind].one;
}

/* "3 files among its slices cannot be read as DICOM: IM5 (empty), IM7 (not DICOM), ..." */
static void suspects_text(const struct dicom_series *series, char *out, size_t size)
{
    size_t used = (size_t)snprintf(
        out, size, "%zu file%s among its slices cannot be read as DICOM: ", series->n_suspects,
        series->n_suspects == 1 ? "" : "s");
    for (size_t i = 0; i < series->n_suspects && i < DICOM_MAX_NAMED; i++) {
        append(out, size, &used, i ? ", " : "", ts_base_name(series->suspects[i]->path), " (");
        append(out, size, &used, name_kind(series->suspects[i]), ")", "");
    }
    append(out, size, &used, series->n_suspects > DICOM_MAX_NAMED ? ", ..." : "", "", "");
}

size_t ts_dicom_lacks(const struct dicom_series *series, struct dicom_lack lacks[DICOM_MAX_LACKS])
{
    static const struct dicom_lack unreadable = {.code = "slice-unreadable",
                                                 .hint = DICOM_UNREADABLE_HINT};
    size_t n = 0;
    if (series->n_suspects > 0) {
        lacks[n] = unreadable;
        lacks[n].kind = LACK_SUSPECTS;
        suspects_text(series, lacks[n++].reason, sizeof lacks->reason);
    }
    if (series->damaged) {
        lacks[n] = unreadable;
        lacks[n].kind = LACK_DAMAGED;
        snprintf(lacks[n++].reason, sizeof lacks->reason, "%s", series->damaged->refusal);
    }
    if (series->incomplete) {
        lacks[n] = (struct dicom_lack){.kind = LACK_INCOMPLETE,
                                       .code = "series-incomplete",
                                       .hint = "supply the whole series; `incomplete: allow` "
                                               "beside the path reads the files that are there"};
        snprintf(lacks[n++].reason, sizeof lacks->reason, "%s", series->incomplete);
    }
    return n;
}

enum ts_status ts_dicom_refuse_unreadable(const struct dicom_folder *folder, struct ts_diag *diag)
{
    const struct diag_site site = {.code = "input-unreadable"};
    size_t n = 0;
    for (size_t i = 0; i < folder->n_others && n < MAX_UNREADABLE; i++) {
        char text[2 * NAME_BYTES];
        if (folder->others[i].kind == DICOM_UNREADABLE) {
            ts_dicom_unreadable_text(&folder->others[i], text, sizeof text);
            ts_diag_error(diag, TS_BAD_INPUT, &site, "%s", text);
            n++;
        }
    }
    if (n == 0)
        return TS_OK;
    if (n < folder->n_of[DICOM_UNREADABLE])
        ts_diag_error(diag, TS_BAD_INPUT, &site, "%zu more files or folders cannot be read",
                      folder->n_of[DICOM_UNREADABLE] - n);
    return ts_diag_hint(diag, DICOM_UNREADABLE_HINT);
}

void ts_dicom_others_text(const struct dicom_folder *folder, char *out, size_t size)
{
    size_t used;
    ts_dicom_passed_over(folder, out, size);
    used = strlen(out);
    for (size_t i = 0; i < folder->n_others && i < DICOM_MAX_NAMED; i++)
        append(out, size, &used, i ? ", " : " (", ts_base_name(folder->others[i].path), "");
    if (folder->n_others > DICOM_MAX_NAMED)
        append(out, size, &used, ", ...", "", "");
    if (folder->n_others > 0)
        append(out, size, &used, ")", "", "");
}

void ts_dicom_same_text(const struct dicom_folder *folder, char *out, size_t size)
{
    out[0] = '\0';
    if (folder->n_same > 0)
        snprintf(out, size, "%zu name%s left out: another name in the input leads to the same file",
                 folder->n_same, folder->n_same == 1 ? " was" : "s were");
}

void ts_dicom_warn_of_others(const struct dicom_folder *folder, struct ts_diag *diag)
{
    char text[2 * NAME_BYTES];
    ts_dicom_others_text(folder, text, sizeof text);
    if (*text)
        ts_diag_warning(diag, &(struct diag_site){.code = "files-passed-over"}, "%s", text);
    ts_dicom_same_text(folder, text, sizeof text);
    if (*text)
        ts_diag_warning(diag, &(struct diag_site){.code = "same-file"}, "%s", text);
    if (folder->n_idle > 0)
        ts_diag_warning(
            diag, &(struct diag_site){.code = "input-idle"},
            "%zu of the paths that the chain lists brought no image of %s own, first %s",
            folder->n_idle, folder->n_idle == 1 ? "its" : "their", folder->idle);
}
