/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads what files beside a NIfTI image state of its volumes: the times of BIDS (.json), and the
 * b-values and gradients of FSL (.bval, .bvec). What does not fit the image is warned of, and not
 * read. Sources: Brain Imaging Data Structure, K. J. Gorgolewski et al., Scientific Data 3 (2016);
 * FSL, FDT user guide, "bvecs and bvals".
 */
#include "io/volume/nifti_beside.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/path.h"
#include "core/vector3.h"
#include "io/dicom/dicom_metadata.h"
#include "io/file/file_bytes.h"
#include "io/file/regular_file.h"

enum { MOST_BYTES = 1 << 20 };
static const double SAME_TIME = 1e-3;   /* in steps */
static const double SAME_LENGTH = 0.05; /* of a unit vector */

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

/* Reads the numbers of a list, which blanks or commas part, up to another character. Returns how
   many there are, -1 if one is not finite or memory is out; *end: behind the last of them. */
static int64_t read_numbers(struct arena *arena, const char *list, const double **numbers,
                            const char **end)
{
    int64_t n = 0;
    double *read = ts_arena_alloc(arena, (strlen(list) / 2 + 1) * sizeof *read);
    *numbers = read;
    *end = list;
    for (char *behind; read; list = behind) {
        list += strspn(list, " \t\r\n,");
        read[n] = strtod(list, &behind);
        if (behind == list)
            break;
        if (!isfinite(read[n++]))
            return -1;
    }
    *end = list;
    return read ? n : -1;
}

/* ---- times ----------------------------------------------------------------------------------- */

/* Returns what is behind a key of the text; "" if there is no such key. */
static const char *behind_key(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    at = at ? strchr(at + strlen(key), ':') : NULL;
    return at ? at + 1 + strspn(at + 1, " \t\r\n") : "";
}

/* Returns how many numbers the list behind a key of the text has, -1 if they are no numbers; 0 if
   there is no list. */
static int64_t list_behind(struct arena *arena, const char *text, const char *key,
                           const double **numbers)
{
    const char *end, *at = behind_key(text, key);
    const int64_t n = *at == '[' ? read_numbers(arena, at + 1, numbers, &end) : 0;
    return *at == '[' && *end != ']' ? -1 : n;
}

/* Returns what is wrong with a list of times, as a phrase, or NULL. */
static const char *times_fault(const struct volume_layout *layout, const double *times, int64_t n)
{
    if (n != layout->n[3])
        return "is no list of one number for each volume";
    for (int64_t i = 1; i < n; i++)
        if (!(times[i] > times[i - 1]))
            return "does not rise from volume to volume";
    return NULL;
}

static bool are_even(const double *times, int64_t n)
{
    const double step = (times[n - 1] - times[0]) / (double)(n - 1);
    bool even = true;
    for (int64_t i = 0; i < n; i++)
        even &= fabs(times[i] - times[0] - (double)i * step) <= SAME_TIME * step;
    return even;
}

/* Takes the times of a list, and warns if they are as even as those of the header, but others. */
static void take_times(struct volume_layout *layout, const char *key, const double *times,
                       const struct diag_site *site, struct ts_diag *diag)
{
    const int64_t n = layout->n[3];
    const double step = (times[n - 1] - times[0]) / (double)(n - 1);
    layout->positions = times;
    if (layout->step > 0 && are_even(times, n) && fabs(step - layout->step) > SAME_TIME * step)
        ts_diag_warning(diag, site,
                        "the .json file beside %s states times of its volumes (%s) that are %g s "
                        "apart, which are used, and the header %g s",
                        layout->path, key, step, layout->step);
}

/* Warns of frames of PET whose durations do not fit their starts. */
static void check_durations(const struct volume_layout *layout, const char *text,
                            const struct diag_site *site, struct ts_diag *diag)
{
    const double *starts = layout->positions, *durations;
    const int64_t n = list_behind(layout->arena, text, "\"FrameDuration\"", &durations);
    bool fit = n == 0 || n == layout->n[3];
    for (int64_t i = 0; i + 1 < n && fit; i++)
        fit = durations[i] > 0 && starts[i] + durations[i] - starts[i + 1] <= 0.01 * durations[i];
    if (!fit)
        ts_diag_warning(diag, site,
                        "the .json file beside %s contradicts itself: its FrameDuration is not one "
                        "duration for each volume, or frames last beyond the start of the next "
                        "(FrameTimesStart, which is used)",
                        layout->path);
}

static void read_times(struct volume_layout *layout, const char *text, struct ts_diag *diag)
{
    static const char *const keys[] = {"VolumeTiming", "FrameTimesStart"}; /* of fMRI, of PET */
    const struct diag_site site = {
        .code = "nifti-timing", .span = layout->span, .stage = layout->site};
    bool stated = false;
    for (int i = 0; i < 2 && !stated; i++) {
        char key[32];
        const double *times;
        snprintf(key, sizeof key, "\"%s\"", keys[i]);
        const int64_t n = list_behind(layout->arena, text, key, &times);
        const char *wrong = times_fault(layout, times, n);
        stated = n != 0;
        if (stated && wrong)
            ts_diag_warning(diag, &site,
                            "the .json file beside %s states times of its volumes (%s) that are "
                            "not read: it %s",
                            layout->path, keys[i], wrong);
        else if (stated)
            take_times(layout, keys[i], times, &site, diag);
    }
    if (layout->positions)
        check_durations(layout, text, &site, diag);
    char *end;
    const char *at = behind_key(text, "\"RepetitionTime\"");
    const double repetition = strtod(at, &end);
    if (!stated && end > at && layout->step > 0 &&
        fabs(repetition - layout->step) > 0.01 * layout->step)
        ts_diag_warning(diag, &site,
                        "the .json file beside %s states a RepetitionTime of %g s, and the header "
                        "%g s from volume to volume, which are used",
                        layout->path, repetition, layout->step);
}

/* ---- diffusion ------------------------------------------------------------------------------- */

/* Makes unit vectors in patient coordinates of the rows x, y and z of a .bvec file. They are along
   the axes of the file, x with the other sign if its transform to RAS, or to LPS, has a positive
   determinant. Volumes of b-value 0 have none. Returns what is wrong, as a phrase, or NULL. */
static const char *turn_gradients(const struct volume_layout *layout, const double *rows,
                                  double *gradients)
{
    const int64_t n = layout->n[3];
    double axes[3][3];
    for (int d = 0; d < 3; d++) {
        double column[3];
        for (int i = 0; i < 3; i++)
            column[i] = layout->transform[i][d];
        for (int i = 0; i < 3; i++)
            axes[d][i] = column[i] / ts_length(column);
    }
    double normal[3];
    ts_cross(axes[0], axes[1], normal);
    const double sign = ts_dot(normal, axes[2]) > 0 ? 1 : -1;
    for (int i = 0; i < 3; i++) {
        axes[0][i] *= -sign;
        axes[2][i] = sign * normal[i];
    }
    for (int64_t v = 0; v < n; v++) {
        double *out = gradients + 3 * v;
        for (int d = 0; d < 3 && layout->positions[v] > 0; d++)
            for (int i = 0; i < 3; i++)
                out[i] += rows[d * n + v] * axes[d][i];
        const double length = ts_length(out);
        if (length > 0 && fabs(length - 1) > SAME_LENGTH)
            return "has a direction that is no unit vector";
        for (int i = 0; i < 3 && length > 0; i++)
            out[i] /= length;
    }
    return NULL;
}

static void read_gradients(struct volume_layout *layout, const struct diag_site *site,
                           struct ts_diag *diag)
{
    char *text = text_beside(layout, ".bvec");
    const int64_t n = layout->n[3];
    const double *rows;
    const char *end, *wrong = NULL;
    double *gradients = NULL;
    if (!text)
        return;
    if (read_numbers(layout->arena, text, &rows, &end) != 3 * n || *end)
        wrong = "has no three rows with a number for each volume";
    else if (!layout->has_transform || ts_volume_transform_fault(layout->transform))
        wrong = "is along axes of an image that states no place in the patient";
    else if ((gradients = ts_arena_alloc(layout->arena, (size_t)n * 3 * sizeof *gradients)))
        wrong = turn_gradients(layout, rows, memset(gradients, 0, (size_t)n * 3 * sizeof(double)));
    if (wrong)
        ts_diag_warning(diag, site, "the .bvec file beside %s is not read: it %s", layout->path,
                        wrong);
    else if (gradients)
        layout->attributes[layout->n_attributes++] =
            (struct source_attribute){.name = DICOM_GRADIENTS,
                                      .value = "",
                                      .numbers = gradients,
                                      .n = n,
                                      .unit = "",
                                      .key = "DiffusionGradientOrientation",
                                      .key_scale = 1,
                                      .columns = 3};
    free(text);
}

/* Takes the b-values as the axis of the volumes. */
static void read_weightings(struct volume_layout *layout, const char *text, struct ts_diag *diag)
{
    const struct diag_site site = {
        .code = "nifti-gradients", .span = layout->span, .stage = layout->site};
    const double *numbers;
    const char *end;
    const int64_t n = read_numbers(layout->arena, text, &numbers, &end);
    bool right = n == layout->n[3] && !*end;
    for (int64_t i = 0; i < n && right; i++)
        right = numbers[i] >= 0;
    if (!right) {
        ts_diag_warning(diag, &site,
                        "the .bval file beside %s is not read: it has no b-value for each volume",
                        layout->path);
        return;
    }
    layout->positions = numbers;
    layout->weighted = true;
    read_gradients(layout, &site, diag);
}

void ts_nifti_read_beside(struct volume_layout *layout, struct ts_diag *diag)
{
    if (layout->n[3] < 2 || layout->by)
        return;
    char *weightings = text_beside(layout, ".bval"), *facts = text_beside(layout, ".json");
    if (weightings)
        read_weightings(layout, weightings, diag);
    if (facts && !layout->weighted)
        read_times(layout, facts, diag);
    free(weightings);
    free(facts);
}

/* Returns the text in quotes behind a key, in the arena; "" if there is none. */
static const char *text_behind(struct arena *arena, const char *text, const char *key)
{
    const char *at = behind_key(text, key);
    const char *end = *at == '"' ? strpbrk(at + 1, "\"\\") : NULL;
    const char *found =
        end && *end == '"' ? ts_arena_text(arena, at + 1, (size_t)(end - at - 1)) : "";
    return found ? found : "";
}

void ts_nifti_read_quantity(struct volume_layout *layout, bool given)
{
    char *facts = text_beside(layout, ".json");
    const char *made = facts ? strstr(facts, "\"GeneratedBy\"") : NULL;
    if (made && strstr(made, "\"Name\": \"tomostage\"")) {
        const char *name = text_behind(layout->arena, facts, "\"Quantity\"");
        const char *unit = text_behind(layout->arena, facts, "\"Units\"");
        ts_volume_take_quantity(layout, name, unit, given);
    }
    free(facts);
}
