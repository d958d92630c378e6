/* SPDX-License-Identifier: Apache-2.0
 *
 * An attribute in which the images at one position differ decides which volume each belongs to. The
 * attributes below are tried in turn, and the first that gives every image of a position a value of
 * its own wins: its values, or for times their order, must be the same at all positions. Instance
 * Numbers come last, because they say nothing of what a volume is: where the header does not state
 * how many volumes or slices there are, nothing else may tell the images apart, and the numbers
 * must run through all volumes in one way. Diffusion series have the order in which they were
 * acquired, and their axis the b-value of each volume; where b-values repeat, the dimensions of the
 * frames of enhanced files, else the gradients, tell the volumes apart. What the header itself says
 * of volumes may then make others of them, which a warning says; and it decides where the
 * weightings of a volume differ by rounding. The order of the frames in one file counts as Instance
 * Numbers do. Images that all lie at one position are volumes only where the header says so, or
 * each has a time of its own. Times without a date are put right across midnight first
 * (dicom_clocks.c). Where positions do not have equally many images, as after a scan that was
 * stopped, the complete volumes are put in order, and the series is refused unless the chain takes
 * one of them. It is refused in every case where images that are lost may have begun a volume, and
 * only the order of the others says where it ends.
 */
#include "io/dicom_series/dicom_volumes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/dicom_series/dicom_agreement.h"
#include "io/dicom_series/dicom_clocks.h"
#include "io/dicom_series/dicom_repeats.h"
#include "io/dicom_series/dicom_series.h"
#include "io/dicom_series/dicom_settings.h"
#include "io/dicom_series/dicom_told.h"
#include "io/dicom_series/dicom_unfinished.h"
#include "io/dicom_series/dicom_volume_axis.h"
#include "io/dicom_series/dicom_weightings.h"

/* ---- dimensions of enhanced files ------------------------------------------------------------ */

/* Enhanced files number their frames along dimensions of their own choice, such as the place in the
 * stack, the b-value and the gradient; the first dimension varies slowest. A dimension that has one
 * value at every position counts slices or stacks and says nothing of volumes: it is left out,
 * whatever element the file says it stands for. The values along the others, compared one after the
 * other, give the images of a position their order. Source: DICOM PS3.3 C.7.6.17 (Multi-frame
 * Dimension module). */

/* An item is an image with its values along the dimensions that count, and 0 for the others. */
struct ranked {
    uint32_t values[DICOM_DIMENSIONS];
    struct dicom_image *image;
};

static int compare_ranks(const void *a, const void *b)
{
    const struct ranked *first = a, *second = b;
    for (int k = 0; k < DICOM_DIMENSIONS; k++)
        if (first->values[k] != second->values[k])
            return first->values[k] < second->values[k] ? -1 : 1;
    return 0;
}

/* Finds the dimensions along which images at one position differ. Returns false if there are none,
 * or if an image has no value along one of them. */
static bool find_dimensions(const struct dicom_series *series, bool counts[DICOM_DIMENSIONS])
{
    struct dicom_image *const *images = series->images;
    const double same = ts_dicom_same_position(images[0]);
    bool any = false;
    for (int k = 0; k < DICOM_DIMENSIONS; k++) {
        bool all = true;
        counts[k] = false;
        for (size_t i = 0; i < series->n_images; i++) {
            all &= images[i]->dimensions[k] > 0;
            counts[k] |= i > 0 && images[i]->along_mm - images[i - 1]->along_mm <= same &&
                         images[i]->dimensions[k] != images[i - 1]->dimensions[k];
        }
        if (counts[k] && !all)
            return false;
        any |= counts[k];
    }
    return any;
}

/* Fills in dimensions_rank of the images, which are in order along the normal: their place, from 0,
 * among the Dimension Index Values of the series; NaN if an image has none, or if these do not tell
 * apart any images at one position. Sets series->no_memory if memory is out. */
static void rank_dimensions(struct dicom_series *series)
{
    const size_t n = series->n_images;
    bool counts[DICOM_DIMENSIONS];
    for (size_t i = 0; i < n; i++)
        series->images[i]->dimensions_rank = NAN;
    if (!find_dimensions(series, counts))
        return;
    struct ranked *items = malloc(n * sizeof *items);
    series->no_memory |= !items;
    for (size_t i = 0; items && i < n; i++) {
        items[i].image = series->images[i];
        for (int k = 0; k < DICOM_DIMENSIONS; k++)
            items[i].values[k] = counts[k] ? series->images[i]->dimensions[k] : 0;
    }
    if (items)
        qsort(items, n, sizeof *items, compare_ranks);
    double rank = 0;
    for (size_t i = 0; items && i < n; i++) {
        rank += i > 0 && compare_ranks(&items[i - 1], &items[i]) != 0;
        items[i].image->dimensions_rank = rank;
    }
    free(items);
}

/* ---- numbers and times that run in one way --------------------------------------------------- */

/* The first `complete` volumes of `positions` slices are looked at; `place` is that of a number
 * (DICOM_NUMBER). Image v * positions + z is slice z of volume v. Comparisons with NaN, which
 * stands for a number that the header does not state, are false, so that such numbers speak against
 * nothing but a regular order. */

/* Returns true if the numbers of every volume run as those of the first one. */
static bool is_regular(const struct dicom_series *series, size_t complete, size_t positions,
                       size_t place)
{
    struct dicom_image *const *images = series->images;
    for (size_t i = positions; i < complete * positions; i++) {
        const size_t z = i % positions;
        if (ts_dicom_image_number(images[i], place) - ts_dicom_image_number(images[i - z], place) !=
            ts_dicom_image_number(images[z], place) - ts_dicom_image_number(images[0], place))
            return false;
    }
    return true;
}

/* These are the smallest and the largest number of the images of a volume or a position. */
struct span {
    double low, high;
};

static int compare_spans(const void *a, const void *b)
{
    const struct span *first = a, *second = b;
    return (first->low > second->low) - (first->low < second->low);
}

/* Returns true if the numbers of n groups of `each` images do not overlap; image k of group i is
 * images[i * step + k * stride]. */
static bool are_apart(struct dicom_series *series, size_t n, size_t each, size_t step,
                      size_t stride, size_t place)
{
    struct span *spans = malloc(n * sizeof *spans);
    bool apart = spans != NULL;
    series->no_memory |= !spans;
    for (size_t i = 0; spans && i < n; i++) {
        spans[i] = (struct span){INFINITY, -INFINITY};
        for (size_t k = 0; k < each; k++) {
            const double number =
                ts_dicom_image_number(series->images[i * step + k * stride], place);
            spans[i] = (struct span){fmin(spans[i].low, number), fmax(spans[i].high, number)};
        }
    }
    if (spans)
        qsort(spans, n, sizeof *spans, compare_spans);
    for (size_t i = 1; apart && i < n; i++)
        apart = spans[i - 1].high <= spans[i].low;
    free(spans);
    return apart;
}

/* Returns true if the numbers run through one volume after the other, or through one position after
 * the other, whatever their order within each. */
static bool is_in_blocks(struct dicom_series *series, size_t complete, size_t positions,
                         size_t place)
{
    return are_apart(series, complete, positions, positions, 1, place) ||
           are_apart(series, positions, complete, 1, positions, place);
}

/* Returns true if the number does not go back from a volume to the next one. */
static bool goes_on(const struct dicom_series *series, size_t complete, size_t positions,
                    size_t place)
{
    for (size_t i = positions; i < complete * positions; i++)
        if (ts_dicom_image_number(series->images[i], place) <
            ts_dicom_image_number(series->images[i - positions], place))
            return false;
    return true;
}

static bool same_direction(const struct dicom_series *series, size_t a, size_t b, size_t positions)
{
    bool rises = false, falls = false;
    for (size_t z = 0; z < positions; z++) {
        const double first = series->images[a * positions + z]->instance_number,
                     second = series->images[b * positions + z]->instance_number;
        rises |= second > first;
        falls |= second < first;
    }
    return !rises || !falls;
}

/* Returns true if the Instance Numbers have the volumes in one order at all positions, whichever it
 * is. */
static bool numbers_agree(const struct dicom_series *series, size_t complete, size_t positions)
{
    if (goes_on(series, complete, positions, DICOM_NUMBER(instance_number)))
        return true;
    for (size_t a = 0; a < complete; a++)
        for (size_t b = a + 1; b < complete; b++)
            if (!same_direction(series, a, b, positions))
                return false;
    return true;
}

/* Returns true if no time goes back from a volume to the next one. */
static bool times_go_on(const struct dicom_series *series, size_t complete, size_t positions)
{
    return goes_on(series, complete, positions, DICOM_NUMBER(acquired_s)) &&
           goes_on(series, complete, positions, DICOM_NUMBER(trigger_ms)) &&
           goes_on(series, complete, positions, DICOM_NUMBER(frame_reference_ms));
}

/* ---- what orders the volumes ----------------------------------------------------------------- */

static const struct volume_criterion by_number = {
    DICOM_NUMBER(instance_number), BY_NUMBER, "Instance Number", true, false, false};
static const struct volume_criterion echo = {
    DICOM_NUMBER(echo_ms), SHARED, "Echo Time", false, false, true};
static const struct volume_criterion criteria[] = {
    {DICOM_NUMBER(temporal_position), SHARED, "Temporal Position", false, false, true},
    {DICOM_NUMBER(time_offset_s), SHARED, "Temporal Position Time Offset", false, false, true},
    {DICOM_NUMBER(acquisition_number), SHARED, "Acquisition Number", false, false, false},
    {DICOM_NUMBER(acquired_s), ORDERED, "Acquisition Time", false, true, false},
    {DICOM_NUMBER(trigger_ms), ORDERED, "Trigger Time", false, true, true},
    {DICOM_NUMBER(frame_reference_ms), ORDERED, "Frame Reference Time", false, true, true},
    {DICOM_NUMBER(b_value), SHARED, "b-value", false, false, true},
    {DICOM_NUMBER(dimensions_rank), SHARED, "Dimension Index Values", true, false, false},
    {DICOM_NUMBER(instance_number), BY_NUMBER, "Instance Number", true, false, false},
    {DICOM_NUMBER(weighting_order), SHARED, "diffusion gradient", false, false, true},
    {DICOM_NUMBER(content_s), ORDERED, "Content Time", true, false, false},
    {DICOM_NUMBER(frame_order), BY_NUMBER, "the order of the frames in the file", true, false,
     false},
};
/* The first ones number the volumes themselves; each of those that tell has one value in a volume,
 * or may have. */
enum { CRITERIA = sizeof criteria / sizeof *criteria, STATED = 3, TELLING = 6 };

static int compare_items(const void *a, const void *b)
{
    const struct volume_item *first = a, *second = b;
    if (first->position != second->position)
        return first->position < second->position ? -1 : 1;
    if (first->value != second->value)
        return first->value < second->value ? -1 : 1;
    return ts_dicom_compare_images(first->image, second->image);
}

/* Numbers the positions of the images, which are in order along the normal. */
static void number_positions(const struct dicom_series *series, struct volume_items *items)
{
    size_t first = 0, position = 0;
    items->n = series->n_images;
    items->volumes = 0;
    const double same = ts_dicom_same_position(series->images[0]);
    for (size_t i = 0; i < items->n; i++) {
        struct dicom_image *image = series->images[i];
        if (i > 0 && image->along_mm - series->images[i - 1]->along_mm > same) {
            first = i;
            position++;
        }
        items->volumes = i - first + 1 > items->volumes ? i - first + 1 : items->volumes;
        items->at[i] = (struct volume_item){.position = position, .image = image};
    }
    items->positions = position + 1;
}

/* Fills in the values of a criterion. Returns false if an image has none. */
static bool take_values(const struct volume_criterion *criterion, struct volume_items *items)
{
    for (size_t i = 0; i < items->n; i++) {
        items->at[i].value = ts_dicom_image_number(items->at[i].image, criterion->place);
        if (isnan(items->at[i].value))
            return false;
    }
    return true;
}

/* Sorts the items of every position by their values. Returns true if the criterion gives each image
 * a volume. */
static bool sort_by(const struct volume_criterion *criterion, struct volume_items *items)
{
    const size_t volumes = items->volumes;
    qsort(items->at, items->n, sizeof *items->at, compare_items);
    for (size_t i = 0; i < items->n; i++) {
        struct volume_item *item = &items->at[i];
        item->volume = i % volumes;
        if (item->volume > 0 && item->value == items->at[i - 1].value)
            return false;
        if (criterion->rule == SHARED && item->value != items->at[item->volume].value)
            return false;
    }
    return true;
}

/* Counts the images of each volume. */
static void count_images(const struct volume_items *items, size_t *counts)
{
    memset(counts, 0, items->volumes * sizeof *counts);
    for (size_t i = 0; i < items->n; i++)
        counts[items->at[i].volume]++;
}

/* Puts the images volume by volume, those of incomplete volumes behind the others. Returns how many
 * are complete. */
static size_t order_images(struct dicom_series *series, const struct volume_items *items,
                           size_t *counts)
{
    size_t complete = 0, rest = 0;
    for (size_t v = 0; v < items->volumes; v++)
        counts[v] = counts[v] == items->positions ? complete++ : SIZE_MAX;
    rest = complete * items->positions;
    for (size_t i = 0; i < items->n; i++) {
        const struct volume_item *item = &items->at[i];
        const size_t v = counts[item->volume];
        series->images[v == SIZE_MAX ? rest++ : v * items->positions + item->position] =
            item->image;
    }
    return complete;
}

static bool is_stated(const struct dicom_series *series, const struct volume_items *items)
{
    const struct dicom_file *file = series->images[0]->file;
    const double volumes = (double)items->volumes, slices = (double)items->positions;
    return file->temporal_positions == volumes || file->images_in_acquisition == slices ||
           file->pet_time_slices == volumes || file->pet_slices == slices ||
           file->private_volumes == volumes || file->private_slices == slices;
}

/* Returns true if Acquisition Numbers rise along the images of every position that differ in them,
 * and Instance Numbers with them. */
static bool acquisitions_go_on(const struct dicom_series *series, size_t complete, size_t positions)
{
    for (size_t i = positions; i < complete * positions; i++)
        if (!(series->images[i]->acquisition_number >=
              series->images[i - positions]->acquisition_number))
            return false;
    return goes_on(series, complete, positions, DICOM_NUMBER(instance_number));
}

/* Returns true if nothing else tells the images of a position apart, and times and numbers run
 * through all volumes in one way. Acquisition Numbers that count the images may differ along
 * Content Time, if they have its order: two attributes then say the same. */
static bool stands_alone(const struct volume_criterion *criterion,
                         const struct dicom_series *series, const struct volume_items *items,
                         size_t complete)
{
    const size_t positions = items->positions;
    const bool counted = criterion->place == DICOM_NUMBER(content_s) &&
                         items->n == complete * positions &&
                         acquisitions_go_on(series, complete, positions);
    for (size_t z = 0; z < positions; z++)
        for (size_t v = 1; v < complete; v++) {
            struct dicom_image *pair[] = {series->images[z], series->images[v * positions + z]};
            if (ts_dicom_name_difference(pair, 2, !counted) ||
                (items->told & DICOM_TOLD_COMMENTS && criterion->rule == BY_NUMBER &&
                 ts_dicom_differ_in_comments(pair[0], pair[1])))
                return false;
        }
    return (criterion->rule != BY_NUMBER ||
            is_regular(series, complete, positions, criterion->place)) &&
           times_go_on(series, complete, positions);
}

/* Returns true if the values of an attribute differ between images at one position. */
static bool dicom_volumes_differs(const struct volume_items *items, size_t place)
{
    for (size_t i = 1; i < items->n; i++) {
        const struct volume_item *before = &items->at[i - 1], *here = &items->at[i];
        const double first = ts_dicom_image_number(before->image, place),
                     second = ts_dicom_image_number(here->image, place);
        if (here->position == before->position && first != second &&
            !(isnan(first) && isnan(second)))
            return true;
    }
    return false;
}

/* Puts the images in order by a criterion, if positions have equally many. Returns true if it gives
 * one. */
static bool arrange(const struct volume_criterion *criterion, struct dicom_series *series,
                    struct volume_items *items, size_t *scratch)
{
    if (!take_values(criterion, items) || !sort_by(criterion, items))
        return false;
    count_images(items, scratch);
    order_images(series, items, scratch);
    return true;
}

/* Returns true if the Instance Numbers make volumes that exclude those of the criterion, so that
 * nothing says which are right. Numbers that have another order at some positions but make no
 * volumes are only warned of. */
static bool contradicts_numbers(const struct volume_criterion *criterion,
                                struct dicom_series *series, struct volume_items *items,
                                size_t *scratch, size_t complete)
{
    if (numbers_agree(series, complete, items->positions)) {
        if (criterion->place == DICOM_NUMBER(acquired_s) && ts_dicom_is_undated(series) &&
            !goes_on(series, complete, items->positions, DICOM_NUMBER(instance_number)))
            ts_dicom_series_warn(series,
                                 "the volumes stand on Acquisition Time, which has no date and "
                                 "which Instance Number contradicts at all positions: where the "
                                 "numbers are right, write Acquisition Date into the files");
        return false;
    }
    if (items->n == items->positions * items->volumes) {
        if (arrange(&by_number, series, items, scratch) &&
            is_regular(series, complete, items->positions, by_number.place))
            return true;
        arrange(criterion, series, items, scratch);
    }
    ts_dicom_series_warn(
        series, "the volumes stand on %s, which Instance Number contradicts at some positions",
        criterion->name);
    return false;
}

/* Returns true if volumes of one diffusion weighting, if there are any, may stand on the order of
 * the frames. */
static bool repeats_are_regular(const struct volume_criterion *criterion,
                                struct dicom_series *series, const struct volume_items *items,
                                size_t complete)
{
    if (criterion->place != DICOM_NUMBER(weighting_order) || !items->repeats)
        return true;
    if (items->n != complete * items->positions ||
        !is_regular(series, complete, items->positions, DICOM_NUMBER(frame_order)) ||
        !times_go_on(series, complete, items->positions))
        return false;
    ts_dicom_series_warn(series, "volumes of the same diffusion weighting stand on the order of "
                                 "the frames in the file alone");
    return true;
}

/* Returns true if numbers or times that say nothing of what a volume is run through the volumes in
 * one way, or through one volume or position after the other: if they are scrambled, what the
 * header states of the number of volumes or of their weighting does not say which images belong
 * together. */
static bool is_in_order(const struct volume_criterion *criterion, struct dicom_series *series,
                        const struct volume_items *items, size_t complete)
{
    const bool sure =
        items->kind == TS_AXIS_B && !items->repeats; /* the weightings tell all volumes apart */
    return sure ||
           (criterion->place != by_number.place && criterion->place != DICOM_NUMBER(content_s)) ||
           is_regular(series, complete, items->positions, criterion->place) ||
           is_in_blocks(series, complete, items->positions, criterion->place);
}

/* Returns true if images of one volume differ in a setting that should tell volumes apart
 * (items->told). Comments are left out if the criterion is Temporal Position or its offset,
 * because these are more reliable. */
static bool mixes(const struct volume_criterion *criterion, const struct dicom_series *series,
                  const struct volume_items *items, size_t complete)
{
    const bool sure = criterion->place == DICOM_NUMBER(temporal_position) ||
                      criterion->place == DICOM_NUMBER(time_offset_s);
    const uint64_t told = items->told & ~(uint64_t)(sure ? DICOM_TOLD_COMMENTS : 0);
    for (size_t v = 0; v < complete; v++)
        if (ts_dicom_is_mixture(series->images + v * items->positions, items->positions, told))
            return true;
    return false;
}

/* Returns true if the images of each volume differ in nothing that tells images apart, so that the
 * volumes are those of all attributes together, as of repeats, phases and labels of perfusion. */
static bool are_pure(const struct dicom_series *series, const struct volume_items *items,
                     size_t complete)
{
    for (size_t v = 0; v < complete; v++)
        if (ts_dicom_name_difference(series->images + v * items->positions, items->positions, true))
            return false;
    return complete > 0;
}

/* Tries one criterion. Returns how many complete volumes it makes, in order in series->images; else
 * 0. */
static size_t try_criterion(const struct volume_criterion *criterion, struct dicom_series *series,
                            struct volume_items *items, size_t *scratch)
{
    const bool even = items->n == items->positions * items->volumes;
    if (items->doubt && criterion->place == DICOM_NUMBER(acquired_s))
        return 0;
    if (!take_values(criterion, items) ||
        !(even ? sort_by(criterion, items) : ts_dicom_cut_volumes(criterion, items, scratch)))
        return 0;
    count_images(items, scratch);
    const size_t complete = order_images(series, items, scratch),
                 lost = items->positions * items->volumes - items->n;
    if (complete < 2 && 2 * lost >= items->positions)
        return 0; /* some images that were made twice, rather than a volume that was not finished */
    if (!even && !ts_dicom_begin_whole(criterion, items, scratch))
        return 0;
    if (items->kind == TS_AXIS_B &&
        !ts_dicom_same_weighting(series, complete, items->positions, items->rounded))
        return 0;
    if (!repeats_are_regular(criterion, series, items, complete) ||
        mixes(criterion, series, items, complete))
        return 0;
    if (!is_in_order(criterion, series, items, complete) ||
        (criterion->place == DICOM_NUMBER(trigger_ms) &&
         !ts_dicom_triggers_step_alike(series, complete, items->positions)))
        return 0;
    if (criterion->checked && contradicts_numbers(criterion, series, items, scratch, complete))
        return 0;
    const bool stated = even && criterion->place == by_number.place && is_stated(series, items);
    if (criterion->doubtful && items->kind != TS_AXIS_B && !stated &&
        !stands_alone(criterion, series, items, complete) &&
        !(even && criterion->place == DICOM_NUMBER(dimensions_rank) &&
          are_pure(series, items, complete)))
        return 0;
    const bool by_frames =
        items->kind == TS_AXIS_B && criterion->rule == SHARED; /* b-values agree with the order */
    const bool counted = criterion->place == DICOM_NUMBER(content_s) &&
                         dicom_volumes_differs(items, DICOM_NUMBER(acquisition_number));
    if (complete > 0 && criterion->doubtful && !by_frames)
        ts_dicom_series_warn(
            series, "the order of the volumes stands on %s %s: %zu volume%s of %zu slice%s%s",
            criterion->name, counted ? "and Acquisition Number, which rise together" : "alone",
            complete, complete == 1 ? "" : "s", items->positions, items->positions == 1 ? "" : "s",
            stated ? ", as many as the header states" : "");
    series->order = complete > 0 ? criterion->name : NULL;
    return complete;
}

/* Returns true if the criterion may tell volumes apart. Images that all lie at one position are
 * volumes of one slice only if the header states how many there are, or an attribute that says it,
 * and no other number. */
static bool may_tell(const struct volume_criterion *criterion, const struct dicom_series *series,
                     const struct volume_items *items)
{
    const double stated = series->images[0]->file->temporal_positions;
    const size_t other =
        items->kind == TS_AXIS_B ? DICOM_NUMBER(frame_order) : DICOM_NUMBER(weighting_order);
    return criterion->place != other && (items->positions > 1 || stated == (double)items->volumes ||
                                         (criterion->alone && !(stated > 1)));
}

/* Makes volumes of one slice of images that all lie at one position, as in bolus tracking, where
 * each has a time of its own. Slices whose positions were lost would look so too, hence the
 * warning; and the volume that the bolus was tracked for is chosen before them. */
static size_t order_by_times(struct dicom_series *series, struct volume_items *items,
                             size_t *scratch)
{
    static const struct volume_criterion times[] = {
        {DICOM_NUMBER(acquired_s), ORDERED, "Acquisition Time", false, true, false},
        {DICOM_NUMBER(content_s), ORDERED, "Content Time", true, false, false},
    };
    size_t complete = 0;
    for (size_t i = 0; i < sizeof times / sizeof *times && complete == 0; i++)
        complete = try_criterion(&times[i], series, items, scratch);
    series->overview |= complete > 0;
    if (complete > 0)
        ts_dicom_series_warn(
            series,
            "all %zu images lie at one position: each is a volume of one slice, in the order of %s",
            complete, series->order);
    return complete;
}

/* Finds the order of the volumes. Returns how many are complete, 0 if nothing gives an order. */
static size_t find_order(struct dicom_series *series, struct volume_items *items, size_t *scratch)
{
    size_t complete = 0;
    if (items->kind == TS_AXIS_ECHO)
        return may_tell(&echo, series, items) ? try_criterion(&echo, series, items, scratch) : 0;
    for (size_t i = 0; i < CRITERIA && complete == 0; i++)
        if (may_tell(&criteria[i], series, items))
            complete = try_criterion(&criteria[i], series, items, scratch);
    if (complete == 0 && items->kind == TS_AXIS_TIME && items->positions == 1 &&
        !(series->images[0]->file->temporal_positions > 1))
        complete = order_by_times(series, items, scratch);
    if (complete > 0 || items->kind != TS_AXIS_B || items->positions < 2)
        return complete;
    items->rounded = true;
    for (size_t i = 0; i < STATED && complete == 0; i++)
        complete = try_criterion(&criteria[i], series, items, scratch);
    if (complete > 0)
        ts_dicom_series_warn(series,
                             "the b-values or gradients of the slices of a volume differ by up to "
                             "1 %%: the volumes stand on %s, and have those of their first slices",
                             series->order);
    return complete;
}

static void warn_of_other(struct dicom_series *series, const char *name)
{
    ts_dicom_series_warn(
        series,
        "the volumes stand on %s, which %s contradicts: sorted by the second, every "
        "position has as many volumes, but of other images; check which is right",
        series->order, name);
}

/* Returns true if Instance Numbers make other volumes, which they run through in one way. They
 * would run so through the volumes that are read too if these were the same. */
static bool numbers_make_others(const struct dicom_series *series, struct volume_items *items)
{
    if (is_regular(series, items->volumes, items->positions, by_number.place) ||
        !take_values(&by_number, items) || !sort_by(&by_number, items))
        return false;
    for (size_t i = 0; i < items->n; i++) {
        const struct volume_item *item = &items->at[i];
        if (item->value - items->at[i - item->volume].value !=
            items->at[item->volume].value - items->at[0].value)
            return false;
    }
    return true;
}

/* Warns of an attribute that has one value in each volume too, or runs through whole volumes, but
 * makes others of the images. */
static void warn_of_others(struct dicom_series *series, struct volume_items *items)
{
    struct dicom_image *const *images = series->images;
    for (size_t c = 0; c < CRITERIA; c++) {
        struct volume_criterion other = criteria[c];
        size_t i = 0;
        if (c >= TELLING && other.place != DICOM_NUMBER(dimensions_rank))
            continue;
        other.rule = SHARED;
        if (!take_values(&other, items) || !sort_by(&other, items))
            continue;
        while (i < items->n &&
               ts_dicom_image_number(images[i], other.place) ==
                   ts_dicom_image_number(images[i - i % items->positions], other.place))
            i++;
        if (i < items->n)
            warn_of_other(series, other.name);
    }
    if (numbers_make_others(series, items))
        warn_of_other(series, by_number.name);
}

/* Puts the images back in order along the normal. */
static void restore(struct dicom_series *series, struct volume_items *items)
{
    for (size_t i = 0; i < items->n; i++)
        items->at[i].value = 0;
    qsort(items->at, items->n, sizeof *items->at, compare_items);
    for (size_t i = 0; i < items->n; i++)
        series->images[i] = items->at[i].image;
}

static void dicom_volumes_refuse(struct dicom_series *series, struct volume_items *items)
{
    restore(series, items);
    if (items->doubt && items->kind != TS_AXIS_ECHO)
        ts_dicom_series_refuse(
            series, "position-repeated", "write Acquisition Date into the files",
            "the times of %zu images at %zu positions are more than 12 hours apart and have no "
            "date, or one that others contradict: nothing says whether the scan crossed midnight",
            items->n, items->positions);
    else if (items->kind != TS_AXIS_ECHO || items->positions < 2)
        ts_dicom_refuse_repeats(series);
    else
        ts_dicom_series_refuse(
            series, "position-repeated",
            "write `split: echo` beside the path: each echo is then a series of its own",
            "images at one position differ in Echo Time and in more: %zu images at %zu positions",
            items->n, items->positions);
}

/* Warns if the diffusion gradients give the volumes their order because the Instance Numbers begin
 * anew in each, or are not stated. */
static void warn_of_restart(struct dicom_series *series)
{
    const double first = series->images[0]->instance_number,
                 second = series->images[series->n_slices]->instance_number;
    if (!strcmp(series->order, "diffusion gradient") && isnan(series->images[0]->frame_order) &&
        (isnan(first + second) || first == second))
        ts_dicom_series_warn(series,
                             "the Instance Numbers give the volumes no order, since %s: "
                             "they are in that of their b-values and diffusion gradients",
                             isnan(first + second) ? "they are not stated"
                                                   : "they begin anew in each");
}

void ts_dicom_split_volumes(struct dicom_series *series)
{
    const size_t n = series->n_images;
    struct volume_items items = {.at = ts_arena_alloc(series->arena, n * sizeof *items.at)};
    size_t *scratch = ts_arena_alloc(series->arena, n * sizeof *scratch);
    series->n_slices = n;
    series->n_volumes = 1;
    series->no_memory |= !items.at || !scratch;
    if (!items.at || !scratch)
        return;
    number_positions(series, &items);
    if (items.positions == n)
        return;
    ts_dicom_refuse_contradicted(series);
    if (series->refusal)
        return;
    const bool weighted = dicom_volumes_differs(&items, DICOM_NUMBER(b_value)) ||
                          dicom_volumes_differs(&items, DICOM_NUMBER(gradient[0])) ||
                          dicom_volumes_differs(&items, DICOM_NUMBER(gradient[1])) ||
                          dicom_volumes_differs(&items, DICOM_NUMBER(gradient[2]));
    if (dicom_volumes_differs(&items, DICOM_NUMBER(echo_ms)))
        items.kind = TS_AXIS_ECHO;
    else
        items.kind = weighted ? TS_AXIS_B : TS_AXIS_TIME;
    items.told = ts_dicom_find_told(series);
    rank_dimensions(series);
    items.repeats = ts_dicom_order_weightings(series);
    ts_dicom_settle_clocks(series);
    items.doubt = ts_dicom_pass_midnight(series) == MIDNIGHT_DOUBT;
    const size_t complete = find_order(series, &items, scratch);
    if (complete == 0) {
        dicom_volumes_refuse(series, &items);
        return;
    }
    if (complete < items.volumes)
        ts_dicom_note_lack(series, &items, complete, scratch);
    else if (items.n == complete * items.positions)
        warn_of_others(series, &items);
    series->n_slices = items.positions;
    series->n_volumes = complete;
    if (complete > 1 && items.kind == TS_AXIS_TIME)
        ts_dicom_compare_orders(series);
    if (complete > 1) {
        warn_of_restart(series);
        ts_dicom_set_volume_axis(series, items.kind);
    }
    ts_dicom_refuse_shifted(series);
}
