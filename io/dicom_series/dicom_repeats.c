/* SPDX-License-Identifier: Apache-2.0
 *
 * This handles different images at one position, with which a series is no volume, unless the first
 * of them are taken.
 */
#include "io/dicom_series/dicom_repeats.h"
#include "io/dicom_header/dicom_fields.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/dicom_header/dicom_file.h"
#include "io/dicom_series/dicom_copies.h"
#include "io/dicom_series/dicom_settings.h"
#include "io/dicom_series/dicom_told.h"

#define SPLIT_ACQUISITIONS "`split: acquisition` beside the path makes a series of each acquisition"
static const double SAME_NUMBER =
    0.01; /* in parts of it, by which numbers of one volume differ at most */
static const double MOST_STEP = 1.5; /* of the least one, from position to position */
enum {
    SAME_PLACE = 10
}; /* volumes may be so many times the tolerance of positions off each other */

static bool all_same_pixels(struct dicom_image *const *images, size_t n)
{
    const struct dicom_image *first = images[0];
    int error;
    for (size_t i = 1; i < n; i++) {
        const struct dicom_image *image = images[i];
        if (image->slope != first->slope || image->intercept != first->intercept ||
            !ts_dicom_same_bytes(image, first, &error))
            return false;
    }
    return true;
}

/* Returns true if images are of perfusion with blood labeled in several ways. */
static bool differ_in_labeling(const struct dicom_series *series)
{
    for (size_t i = 1; i < series->n_images; i++)
        if (strcmp(series->images[i]->labeling, series->images[0]->labeling) != 0)
            return true;
    return false;
}

/* Says in what images at one position differ, for the hint. */
static const char *describe_difference(struct dicom_series *series,
                                       struct dicom_image *const *images, size_t n)
{
    static const struct {
        size_t place;
        const char *name;
    } others[] = {
        {DICOM_NUMBER(acquired_s), "Acquisition Time"},
        {DICOM_NUMBER(trigger_ms), "Trigger Time"},
        {DICOM_NUMBER(frame_reference_ms), "Frame Reference Time"},
        {DICOM_NUMBER(content_s), "Content Time"},
        {DICOM_NUMBER(instance_number), "Instance Number alone"},
    };
    const char *name = ts_dicom_name_difference(images, n, true), *labels = "";
    if (!name && ts_dicom_find_told(series) & DICOM_TOLD_COMMENTS &&
        ts_dicom_differ_in_comments(images[0], images[n - 1]))
        name = "Series Description or Image Comments alone";
    const bool alone = !name && n == series->n_images; /* in time, all at one position */
    for (size_t k = 0; !name && k < sizeof others / sizeof *others; k++)
        for (size_t i = 1; i < n; i++) {
            const double value = ts_dicom_image_number(images[i], others[k].place);
            if (value != ts_dicom_image_number(images[0], others[k].place) && !isnan(value))
                name = others[k].name;
        }
    if (name && differ_in_labeling(series) && !strstr(name, "ASL Context"))
        labels = " and ASL Context (label, control)";
    if (!name)
        return "neither time, acquisition, kind nor Instance Number tells them apart";
    const char *text = ts_arena_printf(
        series->arena,
        alone
            ? "they differ in %s%s; images that all lie at one position are volumes only where "
              "Number of Temporal Positions says how many, or a time or a weighting differs in each"
            : "they differ in %s%s, which does not say to which volume each belongs",
        name, labels);
    series->no_memory |= !text;
    return text ? text : "";
}

/* An image without Instance Number comes after those that have one. */
static bool comes_before(const struct dicom_image *a, const struct dicom_image *b)
{
    const double first = isnan(a->instance_number) ? INFINITY : a->instance_number;
    const double second = isnan(b->instance_number) ? INFINITY : b->instance_number;
    return first < second || (first == second && ts_dicom_compare_images(a, b) < 0);
}

/* Marks the images that are not the first at their position. The images are in the order of their
 * positions. */
static void mark_left(struct dicom_image *const *images, size_t n, bool *left)
{
    const double same = ts_dicom_same_position(images[0]);
    for (size_t first = 0, best = 0, i = 0; i < n; i++) {
        const bool next = i == 0 || images[i]->along_mm - images[first]->along_mm > same;
        left[best] = !next && comes_before(images[i], images[best]);
        first = next ? i : first;
        left[i] = !next && !left[best];
        best = left[i] ? best : i;
    }
}

/* An image while it is found out which pass made it. */
struct made {
    const struct dicom_image *image;
    size_t place, pass;
    bool left;
};

static int compare_made(const void *a, const void *b)
{
    const struct dicom_image *first = ((const struct made *)a)->image,
                             *second = ((const struct made *)b)->image;
    return comes_before(first, second) ? -1 : comes_before(second, first);
}

/* Numbers the passes: a pass ends where the positions turn round along the Instance Numbers. */
static void number_passes(struct made *made, size_t n)
{
    int direction = 0;
    qsort(made, n, sizeof *made, compare_made);
    made[0].pass = 0;
    for (size_t i = 1; i < n; i++) {
        const int step = (made[i].place > made[i - 1].place) - (made[i].place < made[i - 1].place);
        const bool turns = step != 0 && direction != 0 && step != direction;
        made[i].pass = made[i - 1].pass + turns;
        if (turns)
            direction = 0;
        else if (step != 0)
            direction = step;
    }
}

static int compare_acquisitions(const void *a, const void *b)
{
    const struct made *first = a, *second = b;
    const double number = first->image->acquisition_number,
                 other = second->image->acquisition_number;
    if (number != other)
        return number > other ? 1 : -1;
    return (first->place > second->place) - (first->place < second->place);
}

/* Numbers the acquisitions. Returns false if an image states none. */
static bool number_acquisitions(struct made *made, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (isnan(made[i].image->acquisition_number))
            return false;
    qsort(made, n, sizeof *made, compare_acquisitions);
    made[0].pass = 0;
    for (size_t i = 1; i < n; i++)
        made[i].pass = made[i - 1].pass +
                       (made[i].image->acquisition_number != made[i - 1].image->acquisition_number);
    return true;
}

/* Returns true if a pass has images that are left out, at least so many, at positions of which
 * another pass gives the first image, and others that are kept: a volume of these is sewn together.
 * pass_at: room for n numbers. */
static bool is_sewn(const struct made *made, size_t n, size_t least, size_t *pass_at)
{
    for (size_t i = 0; i < n; i++)
        if (!made[i].left)
            pass_at[made[i].place] = made[i].pass;
    for (size_t first = 0, end; first < n; first = end) {
        size_t kept = 0, lost = 0;
        for (end = first; end < n && made[end].pass == made[first].pass; end++) {
            kept += !made[end].left;
            lost += made[end].left && pass_at[made[end].place] != made[end].pass;
        }
        if (kept >= least && lost >= least)
            return true;
    }
    return false;
}

static struct made *list_made(struct dicom_series *series, const bool *left)
{
    struct dicom_image *const *images = series->images;
    struct made *made = ts_arena_alloc(series->arena, series->n_images * sizeof *made);
    const double same = ts_dicom_same_position(images[0]);
    series->no_memory |= !made;
    for (size_t i = 0; made && i < series->n_images; i++) {
        const bool next = i > 0 && images[i]->along_mm - images[i - 1]->along_mm > same;
        made[i] =
            (struct made){images[i], i > 0 ? made[i - 1].place + next : 0, 0, left && left[i]};
    }
    return made;
}

/* Returns true if each acquisition has one image at each of its positions, and one has several, so
 * that `split: acquisition` helps. */
static bool acquisitions_divide(struct dicom_series *series)
{
    const size_t n = series->n_images;
    struct made *made = list_made(series, NULL);
    if (!made || !number_acquisitions(made, n) || made[n - 1].pass == 0)
        return false;
    for (size_t i = 1; i < n; i++)
        if (made[i].pass == made[i - 1].pass && made[i].place == made[i - 1].place)
            return false;
    return made[n - 1].pass + 1 < n;
}

/* Returns true if the first images of all positions are no volume of one pass. Two passes may share
 * one position; two acquisitions are never one volume. */
static bool sews(struct dicom_series *series, const bool *left)
{
    const size_t n = series->n_images;
    struct made *made = list_made(series, left);
    size_t *pass_at = ts_arena_alloc(series->arena, n * sizeof *pass_at);
    series->no_memory |= !pass_at;
    if (!made || !pass_at)
        return false;
    number_passes(made, n);
    return is_sewn(made, n, 2, pass_at) ||
           (number_acquisitions(made, n) && is_sewn(made, n, 1, pass_at));
}

/* Returns true if the Instance Numbers rise or fall from position to position. */
static bool are_numbered_in_order(const struct dicom_series *series)
{
    size_t rising = 0, falling = 0;
    for (size_t i = 1; i < series->n_images; i++) {
        const double before = series->images[i - 1]->instance_number,
                     here = series->images[i]->instance_number;
        rising += here > before;
        falling += here < before;
    }
    return rising + 1 == series->n_images || falling + 1 == series->n_images;
}

/* Warns if the first images of all positions are of several volumes, as frames in a random order
 * may be. */
static void warn_of_first(struct dicom_series *series)
{
    static const struct {
        size_t place;
        const char *name;
    } numbers[] = {{DICOM_NUMBER(temporal_position), "Temporal Position"},
                   {DICOM_NUMBER(b_value), "b-value"},
                   {DICOM_NUMBER(gradient[0]), "diffusion gradient"},
                   {DICOM_NUMBER(gradient[1]), "diffusion gradient"},
                   {DICOM_NUMBER(gradient[2]), "diffusion gradient"}};
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
        const double first = ts_dicom_image_number(series->images[0], numbers[k].place);
        for (size_t i = 1; i < series->n_images; i++) {
            const double other = ts_dicom_image_number(series->images[i], numbers[k].place);
            if (isnan(first) != isnan(other) ||
                fabs(other - first) > SAME_NUMBER * fmax(1, fabs(first))) {
                ts_dicom_series_warn(
                    series,
                    "the first images at each position differ in %s: they are of several volumes",
                    numbers[k].name);
                return;
            }
        }
    }
    if (!are_numbered_in_order(series))
        ts_dicom_series_warn(series, "the first images at each position have Instance Numbers in "
                                     "no order: they may be of several volumes");
}

void ts_dicom_keep_first(struct dicom_series *series)
{
    const size_t n = series->n_images;
    bool *left = ts_arena_alloc(series->arena, n * sizeof *left);
    series->no_memory |= !left;
    if (!left)
        return;
    mark_left(series->images, n, left);
    if (sews(series, left)) {
        ts_dicom_series_refuse(series, "duplicates-sewn",
                               acquisitions_divide(series)
                                   ? SPLIT_ACQUISITIONS
                                   : "put the files of each pass into a folder of its own",
                               "the images are of passes that overlap: the first ones at each "
                               "position would be parts of several passes");
        return;
    }
    const char *mixture = ts_dicom_name_mixture(series, left);
    if (mixture) {
        ts_dicom_series_refuse(series, "duplicates-sewn",
                               series->n_files == 1
                                   ? "supply each volume as a file of its own"
                                   : "put the files of each volume into a folder of its own",
                               "the first images at each position differ in %s, which tells "
                               "volumes apart: they would be parts of several volumes",
                               mixture);
        return;
    }
    ts_dicom_series_leave_out(series, left);
    if (series->n_images == n)
        return;
    ts_dicom_series_warn(
        series, "of images at one position the first is taken; %zu of %zu images are left out",
        n - series->n_images, n);
    warn_of_first(series);
}

void ts_dicom_refuse_contradicted(struct dicom_series *series)
{
    struct dicom_image *const *images = series->images;
    const double same = ts_dicom_same_position(images[0]);
    for (size_t i = 1; i < series->n_images; i++) {
        const struct dicom_image *before = images[i - 1], *here = images[i];
        const double apart = fabs(here->slice_location_mm - before->slice_location_mm);
        if (here->file == before->file && here->in_stack != before->in_stack &&
            here->along_mm == images[0]->along_mm &&
            here->along_mm == images[series->n_images - 1]->along_mm &&
            !isnan(here->in_stack + before->in_stack)) {
            ts_dicom_series_refuse(
                series, "position-contradicted",
                "supply the file with the positions that the scanner gave its frames; In-Stack "
                "Position Number says their order, but not where they lie",
                "all frames lie at one position, %.3f mm along the normal, and have In-Stack "
                "Position Numbers from %g on: one of the two attributes was changed",
                here->along_mm, fmin(before->in_stack, here->in_stack));
            return;
        }
        if (here->tile != before->tile || here->along_mm - before->along_mm > same ||
            !(apart > SAME_PLACE * same))
            continue;
        ts_dicom_series_refuse(
            series, "position-contradicted",
            "supply the files with the positions that the scanner gave them; Slice Location says "
            "how far slices lie apart, but not where",
            "%s and %s lie at one position, %.3f mm along the normal, and their Slice Locations "
            "are %.3f and %.3f mm: one of the two attributes was changed",
            ts_dicom_image_name(series, before), ts_dicom_image_name(series, here), here->along_mm,
            before->slice_location_mm, here->slice_location_mm);
        return;
    }
}

/* Returns true if the steps between positions differ: a position is probably lost, because its
 * image states that of another one. A volume of the first images at each position would then be
 * refused. */
static bool lacks_position(const struct dicom_series *series)
{
    const double same = ts_dicom_same_position(series->images[0]);
    double least = INFINITY, most = 0;
    for (size_t i = 1; i < series->n_images; i++) {
        const double step = series->images[i]->along_mm - series->images[i - 1]->along_mm;
        if (step > same) {
            least = fmin(least, step);
            most = fmax(most, step);
        }
    }
    return most > MOST_STEP * least;
}

/* Returns true if the Instance Numbers rise or fall by 1 from position to position, without the
 * image `skipped`. */
static bool are_consecutive(const struct dicom_series *series, size_t skipped)
{
    double step = 0;
    for (size_t i = 0, last = series->n_images; i < series->n_images; i++) {
        if (i == skipped)
            continue;
        if (last < series->n_images) {
            const double next =
                series->images[i]->instance_number - series->images[last]->instance_number;
            if (fabs(next) != 1 || (step != 0 && next != step))
                return false;
            step = next;
        }
        last = i;
    }
    return true;
}

/* Returns true if one image is left out, and it is the one whose Instance Number those of the other
 * positions go on with: the first image at its position is probably that of a position beyond an
 * end, which is lost. */
static bool leaves_out_right_one(const struct dicom_series *series, const bool *left)
{
    size_t n_left = 0, at = 0;
    for (size_t i = 0; i < series->n_images; i++)
        if (left[i])
            n_left++, at = i;
    if (n_left != 1 || series->n_images < 4)
        return false;
    const bool before =
        at > 0 && fabs(series->images[at]->along_mm - series->images[at - 1]->along_mm) <=
                      ts_dicom_same_position(series->images[0]);
    return !are_consecutive(series, at) && are_consecutive(series, before ? at - 1 : at + 1);
}

/* Returns how to go on, for the hint. Nobody can put the frames of one file into folders. */
static const char *way_out(const struct dicom_series *series, bool sewn, const bool *left)
{
    if (lacks_position(series) || leaves_out_right_one(series, left))
        return "; other positions have no image: supply the series anew, with the positions that "
               "the scanner gave it";
    bool frames = true;
    for (size_t i = 1; i < series->n_images; i++)
        frames &= series->images[i]->file == series->images[0]->file;
    if (frames)
        return sewn ? ""
                    : "; duplicates: first takes one frame of each position, of whatever volume it "
                      "is";
    return sewn ? "; put the files of one of them into a folder of their own"
                : "; duplicates: first takes one image of each position, or put the files of one "
                  "of them into a folder of their own";
}

void ts_dicom_refuse_repeats(struct dicom_series *series)
{
    struct dicom_image *const *images = series->images;
    size_t n = series->n_images, positions = n > 0, repeated = 0, first = 0;
    const double tolerance = ts_dicom_same_position(images[0]);
    for (size_t i = 1; i < n; i++)
        if (images[i]->along_mm - images[i - 1]->along_mm > tolerance)
            positions++;
        else if (repeated++ == 0)
            first = i - 1;
    size_t same = 2;
    while (first + same < n &&
           images[first + same]->along_mm - images[first]->along_mm <= tolerance)
        same++;
    const bool copies = all_same_pixels(images + first, same);
    bool *left = ts_arena_alloc(series->arena, n * sizeof *left);
    series->no_memory |= !left;
    if (!left)
        return;
    mark_left(images, n, left);
    const bool sewn = sews(series, left), told = ts_dicom_find_told(series) & DICOM_TOLD_COMMENTS;
    const char *hint;
    if ((sewn || !copies) && !told && acquisitions_divide(series))
        hint = SPLIT_ACQUISITIONS; /* it keeps all images */
    else if (copies)
        hint = lacks_position(series)
                   ? "other positions have no image: supply the series anew"
                   : "duplicates: first takes one of the copies; or remove the others";
    else
        hint = ts_arena_printf(
            series->arena, "%s%s", describe_difference(series, images + first, same),
            way_out(series,
                    sewn || differ_in_labeling(series) || ts_dicom_name_mixture(series, left),
                    left));
    if (copies) {
        ts_dicom_series_refuse(series, "position-repeated", hint,
                               "the same pixels %zu times under different SOP Instance UIDs at "
                               "%.3f mm along the normal (%s, %s)",
                               same, images[first]->along_mm,
                               ts_dicom_image_name(series, images[first]),
                               ts_dicom_image_name(series, images[first + 1]));
    } else if (positions == 1) {
        ts_dicom_series_refuse(
            series, "position-repeated", hint,
            "all %zu images lie at one position, %.3f mm along the normal: not a volume", n,
            images[0]->along_mm);
    } else {
        ts_dicom_series_refuse(series, "position-repeated", hint,
                               "%zu different images at %.3f mm along the normal (%s, %s); %zu "
                               "images at %zu positions",
                               same, images[first]->along_mm,
                               ts_dicom_image_name(series, images[first]),
                               ts_dicom_image_name(series, images[first + 1]), n, positions);
    }
}

void ts_dicom_refuse_shifted(struct dicom_series *series)
{
    const size_t n = series->n_slices;
    for (size_t i = n; i < series->n_images; i++) {
        const struct dicom_image *image = series->images[i], *first = series->images[i % n];
        double off = 0;
        for (int k = 0; k < 3; k++)
            off = fmax(off, fabs(image->position_mm[k] - first->position_mm[k]));
        if (off > SAME_PLACE * ts_dicom_same_position(first)) {
            ts_dicom_series_refuse(
                series, "volumes-shifted", "put the volumes into folders of their own",
                "the volumes do not lie at one place: %s is %.3f mm off %s",
                ts_dicom_image_name(series, image), off, ts_dicom_image_name(series, first));
            return;
        }
    }
}
