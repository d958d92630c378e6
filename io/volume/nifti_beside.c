/* SPDX-License-Identifier: Apache-2.0
 *
 * What files beside a NIfTI image state of its volumes is looked at, not used.
 */
#include "io/volume/nifti_beside.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/path.h"
#include "io/file/file_bytes.h"
#include "io/file/regular_file.h"

enum { MOST_BYTES = 1 << 20 };
static const double SAME_TIME = 1e-3; /* in steps */

/* Returns the text of the file beside the image that has another ending, which the caller frees;
   NULL if there is none. */
static char *text_beside(const struct volume_layout *layout, const char *ending)
{
    static const char *const endings[] = {".nii.gz", ".nii", ".hdr", ".img", ".gz"};
    size_t stem = strlen(layout->path);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (ts_ends_in(layout->path, endings[i])) {
            stem -= strlen(endings[i]);
            break;
        }
    char reason[256], *text = NULL;
    struct stat found;
    const char *path = ts_arena_printf(layout->arena, "%.*s%s", (int)stem, layout->path, ending);
    const int fd = path ? ts_regular_file_open(path, &found, reason, sizeof reason) : -1;
    if (fd >= 0 && found.st_size <= MOST_BYTES)
        text = calloc(1, (size_t)found.st_size + 1);
    if (text && !ts_file_read_at(fd, text, (size_t)found.st_size, 0))
        *text = '\0';
    if (fd >= 0)
        close(fd);
    return text;
}

/* Returns true if the list of numbers is one of even times. */
static bool lists_even_times(const struct volume_layout *layout, const char *list)
{
    double first = 0;
    for (int64_t i = 0; i < layout->n[3]; i++) {
        char *end;
        const double time = strtod(list, &end);
        first = i == 0 ? time : first;
        if (end == list || fabs(time - first - (double)i * layout->step) > SAME_TIME * layout->step)
            return false;
        list = end + strspn(end, " \t\r\n,");
    }
    return *list == ']' && layout->step > 0;
}

/* Returns the number that stands behind a key of the text; NAN if there is none. */
static double number_behind(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    char *end;
    at = at ? strchr(at + strlen(key), ':') : NULL;
    const double number = at ? strtod(at + 1, &end) : NAN;
    return at && end > at + 1 ? number : NAN;
}

/* Warns of a .json file of BIDS that states other times of the volumes. They are not read from it;
   the header has one step for all volumes. */
static void warn_of_times_beside(const struct volume_layout *layout, struct ts_diag *diag)
{
    static const char *const lists[] = {"VolumeTiming", "FrameTimesStart"}; /* of fMRI, of PET */
    const struct diag_site site = {
        .code = "nifti-timing", .span = layout->span, .stage = layout->site};
    char *text = layout->n[3] > 1 && !layout->by ? text_beside(layout, ".json") : NULL;
    bool told = false;
    for (size_t i = 0; text && !told && i < sizeof lists / sizeof *lists; i++) {
        char key[32];
        snprintf(key, sizeof key, "\"%s\"", lists[i]);
        const char *at = strstr(text, key), *list = at ? strchr(at, '[') : NULL;
        told = list && !lists_even_times(layout, list + 1);
        if (told)
            ts_diag_warning(diag, &site,
                            "the .json file beside %s states the times of its volumes (%s), which "
                            "are not read: %s",
                            layout->path, lists[i],
                            layout->step > 0
                                ? "the volumes have the even times of the header, which are others"
                                : "the volumes are numbered");
    }
    const double repetition = text && !told ? number_behind(text, "\"RepetitionTime\"") : NAN;
    if (layout->step > 0 && fabs(repetition - layout->step) > 0.01 * layout->step)
        ts_diag_warning(diag, &site,
                        "the .json file beside %s states a RepetitionTime of %g s, and the header "
                        "%g s from volume to volume, which are used",
                        layout->path, repetition, layout->step);
    free(text);
}

/* Warns of b-values in a file beside the image (FSL's .bval), which are not read. */
static void warn_of_gradients_beside(const struct volume_layout *layout, struct ts_diag *diag)
{
    char *text = layout->n[3] > 1 && !layout->by ? text_beside(layout, ".bval") : NULL;
    const struct diag_site site = {
        .code = "nifti-gradients", .span = layout->span, .stage = layout->site};
    if (text)
        ts_diag_warning(diag, &site,
                        "the .bval file beside %s states b-values of its volumes, which are not "
                        "read: no output has b-values and gradients, and those of the file are "
                        "wrong once the image is turned",
                        layout->path);
    free(text);
}

void ts_nifti_warn_beside(const struct volume_layout *layout, struct ts_diag *diag)
{
    warn_of_times_beside(layout, diag);
    warn_of_gradients_beside(layout, diag);
}
