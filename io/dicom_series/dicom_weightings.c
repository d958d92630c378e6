/* SPDX-License-Identifier: Apache-2.0
 *
 * Images of one position whose b-values are equal belong to the volumes of their gradients. Volumes
 * that also share the gradient, such as several without weighting, are told apart by their Temporal
 * Position, and else by the order of the frames, which counts only if one file holds them all:
 * image k of a weighting at each position is then of the k-th volume of that weighting. A volume
 * stands if its first image is in the file, or by Instance Number; or by b-value and gradient if
 * these numbers begin anew in each volume. Some headers round the gradients
 * of each slice on its own: an image has the nearest gradient of those at the first position, if
 * that is as near as the slices of one volume must be.
 */
#include "io/dicom_series/dicom_weightings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/vector3.h"
#include "io/dicom_header/dicom_fields.h"
#include "io/dicom_header/dicom_parse.h"

/* ---- diffusion ------------------------------------------------------------------------------- */

/* The standard, Siemens and Philips state gradients in patient coordinates. GE differs in four
 * ways. Every MR image has a b-value, which is 0 unless the series is one of diffusion. Newer
 * scanners add 1e9 to it. Where the gradient vector (x, y, z) is shorter than 1, the b-value is
 * that of the strongest weighting, and |g|^2 is the image's share of it, which is rounded to 5
 * s/mm2. The vector is in the axes of the scan: frequency, phase, slice. With the unit vectors r,
 * c and n of rows, columns and normal, and phase along columns, g = -x r - y c + z n for axial
 * slices, its opposite for sagittal ones and g = -x r + y c + z n for coronal ones, of patients
 * head first supine. So has dcm2niix it, which calls those of sagittal and coronal slices little
 * validated, so that a warning says it. For phase along rows it calls its rule untested: no
 * directions are given, nor for other positions of the patient. Source: X. Li and others, "The
 * first step for neuroimaging data analysis: DICOM to NIfTI conversion", Journal of Neuroscience
 * Methods 264 (2016), and the program dcm2niix of the same authors. */

static const double GE_BIAS = 1e9, GE_STEP = 5, GE_SHORT = 0.97, NO_LENGTH = 0.03;
static const double SAME_B = 0.01; /* of a b-value, by which others of it differ where rounded */
static const double SAME_LENGTH = 0.05; /* of a unit vector */

/* Returns true if GE states another b-value than 0. */
static bool is_weighted(const struct dicom_series *series)
{
    for (size_t i = 0; i < series->n_images; i++)
        if (fmod(series->images[i]->ge_b_value, GE_BIAS) > 0)
            return true;
    return false;
}

/* Returns the signs of frequency, phase and slice of GE along rows, columns and normal, NULL if no
   formula is known; `axial` is set if it is confirmed. */
static const double *find_signs(const struct dicom_series *series, bool *axial)
{
    static const double signs[3][3] = {
        {1, 1, -1}, {-1, 1, 1}, {-1, -1, 1}}; /* sagittal, coronal, axial */
    const double *normal = series->image.direction + 6;
    const double x = fabs(normal[0]), y = fabs(normal[1]), z = fabs(normal[2]);
    const char *phase =
        ts_dicom_field_text(series->images[0], DICOM_FIELD_phase_encoding_direction);
    const char *position = ts_dicom_field_text(series->images[0], DICOM_FIELD_patient_position);
    *axial = z > x && z > y;
    if (strncmp(phase, "COL", 3) != 0 || (*position && strncmp(position, "HFS", 3) != 0))
        return NULL;
    return signs[*axial ? 2 : y > x];
}

/* Warns of directions that are not given, or that little confirms. */
static void warn_of_directions(struct dicom_series *series, bool unknown, bool axial)
{
    if (unknown)
        ts_dicom_series_warn(series, "the directions of the diffusion gradients are not given: GE "
                                     "states them in the axes of the scan, which are known of "
                                     "patients head first supine with the phase along columns");
    else if (!axial)
        ts_dicom_series_warn(series,
                             "the directions of the diffusion gradients are turned out of the axes "
                             "of the scan as dcm2niix does it, which little confirms where slices "
                             "of GE are not axial: check them before tracts are computed");
}

/* Returns true if the b-value that the standard's element states is GE's, or its share. Where it is
 * 0 and so is the gradient, it is an image without weighting of a series that has one. */
static bool fits_ge(const struct dicom_image *image)
{
    const double private = fmod(image->ge_b_value, GE_BIAS), length = ts_length(image->ge_gradient),
                 stated = image->b_value, near = fmax(GE_STEP, SAME_B * private);
    if (isnan(private) || isnan(stated) || fabs(stated - private) <= near)
        return true;
    return fabs(stated - private * length * length) <= near || (stated == 0 && length <= NO_LENGTH);
}

/* Takes the private b-values if the standard's element is 0 in all images and they are not: it was
 * not filled in. Warns of that, and of others that contradict each other. */
static void settle_b_values(struct dicom_series *series)
{
    const struct dicom_image *odd = NULL;
    bool zero = true, differ = false;
    double first = NAN;
    size_t n = 0;
    for (size_t i = 0; i < series->n_images; i++) {
        const struct dicom_image *image = series->images[i];
        zero &= image->b_value == 0;
        if (isnan(image->ge_b_value))
            continue;
        const double private = fmod(image->ge_b_value, GE_BIAS);
        first = isnan(first) ? private : first;
        differ |= private != first;
        if (fits_ge(image))
            continue;
        odd = odd ? odd : image;
        n++;
    }
    zero &= differ || n > 0;
    for (size_t i = 0; zero && i < series->n_images; i++)
        if (!isnan(series->images[i]->ge_b_value))
            series->images[i]->b_value = NAN;
    if (zero)
        ts_dicom_series_warn(series, "the b-value (0018,9087) is 0 in all images, and GE's private "
                                     "one (0043,1039) is not: the private ones are taken");
    else if (n > 0)
        ts_dicom_series_warn(series,
                             "the b-value (0018,9087) and GE's private one (0043,1039) contradict "
                             "each other in %zu of %zu images, first as %.6g and %.6g s/mm2: the "
                             "first is taken",
                             n, series->n_images, odd->b_value, fmod(odd->ge_b_value, GE_BIAS));
}

void ts_dicom_take_ge_weighting(struct dicom_series *series)
{
    if (series->n_images == 0 || !is_weighted(series))
        return;
    settle_b_values(series);
    bool axial, given = false;
    const double *signs = find_signs(series, &axial), *direction = series->image.direction;
    for (size_t i = 0; i < series->n_images; i++) {
        struct dicom_image *image = series->images[i];
        const double *g = image->ge_gradient, length = ts_length(g);
        const bool stated = !isnan(image->b_value);
        image->b_value = stated ? image->b_value : fmod(image->ge_b_value, GE_BIAS);
        if (image->have_gradient || !(length > NO_LENGTH) || !(image->b_value > 0))
            continue;
        if (length < GE_SHORT && !stated)
            image->b_value =
                fmax(GE_STEP, GE_STEP * rint(image->b_value * length * length / GE_STEP));
        for (int k = 0; k < 3; k++)
            image->gradient[k] = signs ? signs[0] * g[0] * direction[k] +
                                             signs[1] * g[1] * direction[3 + k] +
                                             signs[2] * g[2] * direction[6 + k]
                                       : g[k];
        image->have_gradient = given = true;
    }
    series->gradients_unknown = given && !signs;
    if (given)
        warn_of_directions(series, !signs, axial);
}

/* Reads a comment such as "b=1000(0.5,0,0.866)". Returns false if it is anything else. */
static bool read_comment(const char *comment, double *b, double gradient[3])
{
    char numbers[DICOM_TEXT_MAX];
    const char *open = strchr(comment, '(');
    const size_t length = strlen(comment);
    if (strncmp(comment, "b=", 2) != 0 || !open || comment[length - 1] != ')')
        return false;
    snprintf(numbers, sizeof numbers, "%.*s", (int)(comment + length - 2 - open), open + 1);
    for (char *c = numbers; *c; c++)
        if (*c == ',')
            *c = '\\'; /* as DICOM divides values */
    return ts_dicom_parse_decimals(comment + 2, (size_t)(open - comment - 2), b, 1) &&
           ts_dicom_parse_decimals(numbers, strlen(numbers), gradient, 3);
}

/* Canon's classic images state gradients in Image Comments only, in the axes of the image, and some
 * of them are turned round with the polarity of the phase encoding, which is not stated: they tell
 * volumes apart, and give no directions. Source: dcm2niix, and its data set dcm_qa_canon. */
void ts_dicom_take_canon_weighting(struct dicom_series *series)
{
    const double *direction = series->image.direction;
    bool given = false;
    for (size_t i = 0; i < series->n_images; i++) {
        struct dicom_image *image = series->images[i];
        const char *maker = ts_dicom_field_text(image, DICOM_FIELD_manufacturer);
        double b, g[3];
        if ((strncasecmp(maker, "CANON", 5) != 0 && strncasecmp(maker, "TOSHIBA", 7) != 0) ||
            image->have_gradient || !read_comment(image->comment, &b, g) ||
            fabs(b - image->b_value) > SAME_B * b)
            continue;
        image->b_value = b;
        image->have_gradient = true;
        for (int k = 0; k < 3; k++)
            image->gradient[k] =
                g[0] * direction[k] + g[1] * direction[3 + k] + g[2] * direction[6 + k];
        given |= b > 0;
    }
    series->gradients_unknown |= given;
    if (given)
        ts_dicom_series_warn(series,
                             "the directions of the diffusion gradients are not given: only "
                             "Image Comments states them, in axes that depend on the "
                             "polarity of the phase encoding, which is not stated");
}

/* Returns value 1 of the image's own type: whether it was measured or computed. */
static bool is_derived(const struct dicom_image *image)
{
    return !strncmp(*image->frame_type ? image->frame_type : image->file->image_type, "DERIVED", 7);
}

/* Returns true if images state no weighting beside others that are weighted, equally many at each
   position; none of the others is without weighting, and all were measured or all were computed. */
static bool has_unstated(const struct dicom_series *series)
{
    struct dicom_image *const *images = series->images;
    const double same = ts_dicom_same_position(images[0]);
    size_t unstated = 0, each = 0;
    for (size_t i = 0, first = 0; i < series->n_images; i++) {
        const struct dicom_image *image = images[i];
        if (isnan(image->b_value) ? image->have_gradient : !(image->b_value > 0))
            return false;
        if (is_derived(image) != is_derived(images[0]))
            return false;
        unstated += isnan(image->b_value);
        const bool last =
            i + 1 == series->n_images || images[i + 1]->along_mm - image->along_mm > same;
        if (!last)
            continue;
        if (unstated == 0 || unstated == i + 1 - first || (first > 0 && unstated != each))
            return false;
        each = unstated;
        unstated = 0;
        first = i + 1;
    }
    return true;
}

void ts_dicom_take_unstated_weighting(struct dicom_series *series)
{
    size_t n = 0;
    if (series->n_images < 2 || strcmp(series->images[0]->file->modality, "MR") != 0 ||
        !has_unstated(series))
        return;
    for (size_t i = 0; i < series->n_images; i++)
        if (isnan(series->images[i]->b_value)) {
            series->images[i]->b_value = 0;
            n++;
        }
    ts_dicom_series_warn(series,
                         "%zu of %zu images state no b-value, and the others are weighted by "
                         "diffusion: they are taken for b = 0, which some scanners do not write",
                         n, series->n_images);
}

/* Returns true if the gradient is as GE states it, whose length is a share of the b-value. */
static bool is_of_ge(const struct dicom_image *image)
{
    return fabs(ts_length(image->ge_gradient) - ts_length(image->gradient)) < 1e-6;
}

/* Warns of gradients of another length than 1. Their directions are right, and some programs mean
 * by the length that b-values are others: by its square. */
static void warn_of_lengths(struct dicom_series *series)
{
    double least = INFINITY, most = 0;
    size_t odd = 0;
    for (size_t v = 0; v < series->n_volumes; v++) {
        const struct dicom_image *image = series->images[v * series->n_slices];
        const double length = ts_length(image->gradient);
        if (!image->have_gradient || !(image->b_value > 0) || !(length > 0) || is_of_ge(image))
            continue;
        least = fmin(least, length);
        most = fmax(most, length);
        odd += fabs(length - 1) > SAME_LENGTH;
    }
    if (odd > 0)
        ts_dicom_series_warn(series,
                             "the diffusion gradients of %zu volumes are no unit vectors (lengths "
                             "%.3g to %.3g): they are made so, and the b-values are taken as they "
                             "are stated, although some programs mean them times the square of "
                             "the length",
                             odd, least, most);
}

void ts_dicom_list_gradients(struct dicom_series *series)
{
    double *gradients = ts_arena_alloc(series->arena, 3 * series->n_volumes * sizeof *gradients);
    bool any = false;
    warn_of_lengths(series);
    series->no_memory |= !gradients;
    for (size_t v = 0; gradients && v < series->n_volumes; v++) {
        const struct dicom_image *image = series->images[v * series->n_slices];
        const double length = ts_length(image->gradient);
        const bool has = image->have_gradient && image->b_value > 0 &&
                         length > (is_of_ge(image) ? NO_LENGTH : 0);
        for (int k = 0; k < 3; k++)
            gradients[3 * v + (size_t)k] = has ? image->gradient[k] / length : 0;
        any |= has;
    }
    series->gradients = any && !series->gradients_unknown ? gradients : NULL;
}

/* ---- weightings ------------------------------------------------------------------------------ */

static const double SAME_GRADIENT = 1e-3, ROUGH_GRADIENT = 1e-2, ROUGH_B_RELATIVE = 1e-2;

enum { KEYS = 5 }; /* b-value, gradient, Temporal Position */

struct item {
    double keys[KEYS], order; /* of what the header lacks -INFINITY */
    size_t position, repeat;  /* repeat: how many images of its keys and position stand before it */
    struct dicom_image *image;
};

static int compare_keys(const struct item *a, const struct item *b)
{
    for (int k = 0; k < KEYS; k++)
        if (a->keys[k] != b->keys[k])
            return a->keys[k] < b->keys[k] ? -1 : 1;
    return 0;
}

static int compare_order(const struct item *a, const struct item *b)
{
    return (a->order > b->order) - (a->order < b->order);
}

static int compare_at_positions(const void *a, const void *b)
{
    const struct item *first = a, *second = b;
    const int keys = compare_keys(first, second);
    if (keys != 0)
        return keys;
    if (first->position != second->position)
        return first->position < second->position ? -1 : 1;
    return compare_order(first, second);
}

static int compare_in_volumes(const void *a, const void *b)
{
    const struct item *first = a, *second = b;
    const int keys = compare_keys(first, second);
    if (keys != 0)
        return keys;
    if (first->repeat != second->repeat)
        return first->repeat < second->repeat ? -1 : 1;
    return compare_order(first, second);
}

static double or_none(double value)
{
    return isnan(value) ? -INFINITY : value;
}

/* Fills the items, and frame_order of their images. */
static void dicom_weightings_fill(const struct dicom_series *series, struct item *items)
{
    const double same = ts_dicom_same_position(series->images[0]);
    bool one_file = true;
    for (size_t i = 1; i < series->n_images; i++)
        one_file &= series->images[i]->file == series->images[0]->file;
    for (size_t i = 0; i < series->n_images; i++) {
        struct dicom_image *image = series->images[i];
        const bool next = i > 0 && image->along_mm - series->images[i - 1]->along_mm > same;
        image->frame_order = one_file ? (double)image->frame : NAN;
        items[i] = (struct item){.keys = {or_none(image->b_value), or_none(image->gradient[0]),
                                          or_none(image->gradient[1]), or_none(image->gradient[2]),
                                          or_none(image->temporal_position)},
                                 .order = one_file ? image->frame_order : image->instance_number,
                                 .position = i == 0 ? 0 : items[i - 1].position + next,
                                 .image = image};
    }
}

/* ---- the nearest gradient -------------------------------------------------------------------- */

enum { AXES = 4 }; /* b-value and gradient */

/* Items form a tree, at each of whose nodes they are in rising order along one axis. The node of
 * [begin, end) is the item in the middle; boxes[middle] holds all of them. A file may hold many
 * gradients, all of them near to one another. */
struct box {
    double low[AXES], high[AXES];
    int axis; /* along which it is divided: the longest one */
};

struct tree {
    const struct item **items;
    struct box *boxes;
};

/* Returns how far a value is outside of a range. Of b-values only equal ones are near. */
static double measure_outside(int axis, double value, double low, double high)
{
    double outside = 0;
    if (value < low)
        outside = low - value;
    else if (value > high)
        outside = value - high;
    return axis == 0 && outside > 0 ? INFINITY : outside;
}

/* Returns how far a gradient is from the nearest that a box can hold, in the part that differs
 * most; INFINITY if the b-values or what is given differ. */
static double measure_apart(const double low[AXES], const double high[AXES],
                            const struct item *item)
{
    double apart = 0;
    for (int k = 0; k < AXES; k++) {
        const double outside = measure_outside(k, item->keys[k], low[k], high[k]);
        apart = outside > apart ? outside : apart;
    }
    return apart;
}

static int compare_along(const void *a, const void *b, void *axis)
{
    const double first = (*(const struct item *const *)a)->keys[*(const int *)axis],
                 second = (*(const struct item *const *)b)->keys[*(const int *)axis];
    return (first > second) - (first < second);
}

static void grow_tree(struct tree *tree, size_t begin, size_t end)
{
    if (begin == end)
        return;
    const size_t middle = begin + (end - begin) / 2;
    struct box *box = &tree->boxes[middle];
    double longest = 0;
    box->axis = 0;
    for (int k = 0; k < AXES; k++) {
        box->low[k] = box->high[k] = tree->items[begin]->keys[k];
        for (size_t i = begin + 1; i < end; i++) {
            const double key = tree->items[i]->keys[k];
            box->low[k] = key < box->low[k] ? key : box->low[k];
            box->high[k] = key > box->high[k] ? key : box->high[k];
        }
        if (box->high[k] - box->low[k] > longest) {
            longest = box->high[k] - box->low[k];
            box->axis = k;
        }
    }
    qsort_r(tree->items + begin, end - begin, sizeof *tree->items, compare_along, &box->axis);
    grow_tree(tree, begin, middle);
    grow_tree(tree, middle + 1, end);
}

/* Finds the nearest item that is nearer than *least. */
static void find_nearest(const struct tree *tree, size_t begin, size_t end, const struct item *item,
                         double *least, const struct item **nearest)
{
    const size_t middle = begin + (end - begin) / 2;
    const struct box *box = &tree->boxes[middle];
    if (begin == end || !(measure_apart(box->low, box->high, item) < *least))
        return;
    const struct item *at = tree->items[middle];
    const double apart = measure_apart(at->keys, at->keys, item);
    if (apart < *least) {
        *least = apart;
        *nearest = at;
    }
    const bool below = item->keys[box->axis] < at->keys[box->axis];
    find_nearest(tree, below ? begin : middle + 1, below ? middle : end, item, least, nearest);
    find_nearest(tree, below ? middle + 1 : begin, below ? end : middle, item, least, nearest);
}

/* Gives later items the nearest keys of the first position. Returns false if memory is out. */
static bool join_rounded(struct item *items, size_t n)
{
    size_t at_first = 0;
    while (at_first < n && items[at_first].position == 0)
        at_first++;
    struct tree tree = {malloc(at_first * sizeof *tree.items),
                        malloc(at_first * sizeof *tree.boxes)};
    const bool ok = tree.items && tree.boxes;
    for (size_t i = 0; ok && i < at_first; i++)
        tree.items[i] = &items[i];
    if (ok)
        grow_tree(&tree, 0, at_first);
    for (size_t i = at_first; ok && i < n; i++) {
        const struct item *nearest = NULL;
        double least = nextafter(SAME_GRADIENT, INFINITY);
        find_nearest(&tree, 0, at_first, &items[i], &least, &nearest);
        if (nearest)
            memcpy(items[i].keys, nearest->keys, AXES * sizeof *items[i].keys);
    }
    free(tree.items);
    free(tree.boxes);
    return ok;
}

/* Returns true if item i has another weighting, or is another repeat of it, than the one before. */
static bool begins_weighting(const struct item *items, size_t i)
{
    return i == 0 || compare_keys(&items[i - 1], &items[i]) != 0 ||
           items[i - 1].repeat != items[i].repeat;
}

static int compare_numbers(const void *a, const void *b)
{
    const double first = *(const double *)a, second = *(const double *)b;
    return (first > second) - (first < second);
}

/* Gives the weightings the order of their b-values and gradients if the Instance Numbers of their
 * first images give none, as they do if they begin anew in each volume. Returns false if memory is
 * out. The items are in that order. */
static bool settle_restarts(struct item *items, size_t n)
{
    double *numbers = malloc(n * sizeof *numbers);
    size_t count = 0, order = 0;
    bool restart = false;
    for (size_t i = 0; numbers && i < n; i++)
        if (begins_weighting(items, i))
            numbers[count++] = items[i].order;
    if (numbers)
        qsort(numbers, count, sizeof *numbers, compare_numbers);
    for (size_t i = 0; numbers && i < count; i++)
        restart |= isnan(numbers[i]) || (i > 0 && numbers[i] == numbers[i - 1]);
    for (size_t i = 0; restart && i < n; i++) {
        order += begins_weighting(items, i);
        items[i].order = (double)order;
    }
    free(numbers);
    return numbers != NULL;
}

bool ts_dicom_order_weightings(struct dicom_series *series)
{
    const size_t n = series->n_images;
    struct item *items = malloc(n * sizeof *items);
    bool repeats = false;
    if (items)
        dicom_weightings_fill(series, items);
    if (!items || !join_rounded(items, n)) {
        series->no_memory = true;
        free(items);
        return false;
    }
    qsort(items, n, sizeof *items, compare_at_positions);
    for (size_t i = 1; i < n; i++) {
        const bool again = compare_keys(&items[i - 1], &items[i]) == 0 &&
                           items[i - 1].position == items[i].position;
        items[i].repeat = again ? items[i - 1].repeat + 1 : 0;
        repeats |= again;
    }
    qsort(items, n, sizeof *items, compare_in_volumes);
    const bool known = !repeats || !isnan(items[0].image->frame_order);
    series->no_memory |= known && !settle_restarts(items, n);
    for (size_t i = 0; i < n; i++) {
        const bool same = !begins_weighting(items, i);
        items[i].order = same ? items[i - 1].order : items[i].order;
        items[i].image->weighting_order = known ? items[i].order : NAN;
    }
    free(items);
    return repeats;
}

bool ts_dicom_same_weighting(const struct dicom_series *series, size_t complete, size_t positions,
                             bool roughly)
{
    const double gradient = roughly ? ROUGH_GRADIENT : SAME_GRADIENT,
                 relative = roughly ? ROUGH_B_RELATIVE : 0;
    for (size_t i = 0; i < complete * positions; i++) {
        const struct dicom_image *image = series->images[i],
                                 *first = series->images[i - i % positions];
        const bool near = isnan(first->b_value)
                              ? isnan(image->b_value)
                              : fabs(image->b_value - first->b_value) <= relative * first->b_value;
        if (!near || image->have_gradient != first->have_gradient)
            return false;
        for (int k = 0; k < 3; k++)
            if (fabs(image->gradient[k] - first->gradient[k]) > gradient)
                return false;
    }
    return true;
}
