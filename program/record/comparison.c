/* SPDX-License-Identifier: Apache-2.0
 *
 * Compares images one after the other, so that only the buffers of one pair are in memory. A result
 * may have several names for an image; each pair of images is compared once.
 */
#include "program/record/comparison.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/json.h"
#include "core/params.h"

/* ---- grids ----------------------------------------------------------------------------------- */

/* Places are linear in the indices, so the same pixel is farthest apart at a corner of the image.
   Axes of angles and detector pixels, and axes of images without a place, are compared position by
   position. */

static struct grid_note *add_note(struct grid_difference *grid, const char *what, bool counts)
{
    struct grid_note *note = &grid->notes[grid->n];
    grid->n += grid->n < GRID_NOTES - 1;
    *note = (struct grid_note){.counts = counts};
    snprintf(note->what, sizeof note->what, "%s", what);
    grid->differs |= counts;
    return note;
}

static void write_numbers(char out[GRID_TEXT], const double *numbers, int n, const char *unit)
{
    size_t used = 0;
    for (int i = 0; i < n && used < GRID_TEXT; i++)
        used +=
            (size_t)snprintf(out + used, GRID_TEXT - used, "%s%.7g", i > 0 ? " " : "", numbers[i]);
    if (used < GRID_TEXT)
        snprintf(out + used, GRID_TEXT - used, "%s%s", *unit ? " " : "", unit);
}

static void add_numbers(struct grid_difference *grid, const char *what,
                        const double *const numbers[2], int n, const char *const units[2])
{
    struct grid_note *note = add_note(grid, what, true);
    for (int side = 0; side < 2; side++)
        write_numbers(note->sides[side], numbers[side], n, units[side]);
}

static const char *text_of(const char *text)
{
    return text ? text : "";
}

/* Notes two texts if they differ. */
static void compare_texts(struct grid_difference *grid, const char *what, bool counts,
                          const char *a, const char *b)
{
    if (!strcmp(a, b))
        return;
    struct grid_note *note = add_note(grid, what, counts);
    snprintf(note->sides[0], GRID_TEXT, "%s", *a ? a : "none");
    snprintf(note->sides[1], GRID_TEXT, "%s", *b ? b : "none");
}

static void write_shape(char out[GRID_TEXT], const struct source *source)
{
    const struct ts_axis *axes = source->image.axes;
    int used = 0;
    if (source->n_volumes > 1)
        used = snprintf(out, GRID_TEXT, "%" PRId64 " volumes by %.40s of ", source->n_volumes,
                        ts_axis_name(&source->volume_axis));
    snprintf(out + used, (size_t)(GRID_TEXT - used),
             "%" PRId64 " x %" PRId64 " x %" PRId64 " (%s, %s, %s)", axes[0].n, axes[1].n,
             axes[2].n, ts_axis_name(&axes[0]), ts_axis_name(&axes[1]), ts_axis_name(&axes[2]));
}

/* Returns how far apart, in mm, the two images place the same pixel at most. */
static double places_apart(const struct ts_image *a, const struct ts_image *b)
{
    const struct ts_image *images[2] = {a, b};
    double most = 0;
    for (int corner = 0; corner < 8; corner++) {
        double place[2][3], sum = 0;
        for (int side = 0; side < 2; side++)
            for (int i = 0; i < 3; i++) {
                const struct ts_image *image = images[side];
                const double z = corner & 4 ? (double)(image->axes[0].n - 1) : 0;
                const double y = corner & 2 ? (double)(image->axes[1].n - 1) : 0;
                const double x = corner & 1 ? (double)(image->axes[2].n - 1) : 0;
                place[side][i] = image->origin_mm[i] + z * image->step_z_mm[i] +
                                 y * ts_axis_spacing(&image->axes[1]) * image->direction[3 + i] +
                                 x * ts_axis_spacing(&image->axes[2]) * image->direction[i];
            }
        for (int i = 0; i < 3; i++)
            sum += (place[0][i] - place[1][i]) * (place[0][i] - place[1][i]);
        most = fmax(most, sqrt(sum));
    }
    return most;
}

static double smallest_spacing(const struct ts_image *image)
{
    return fmin(ts_axis_spacing(&image->axes[0]),
                fmin(ts_axis_spacing(&image->axes[1]), ts_axis_spacing(&image->axes[2])));
}

static double largest_apart(const double *a, const double *b, int n)
{
    double most = 0;
    for (int i = 0; i < n; i++)
        most = fmax(most, fabs(a[i] - b[i]));
    return most;
}

/* Names the parts of the geometry that put the same pixel at different places. */
static void compare_places(const struct ts_image *a, const struct ts_image *b,
                           struct grid_difference *grid)
{
    static const char *const mm[2] = {"mm", "mm"}, *const none[2] = {"", ""};
    const double least = GRID_TOLERANCE * fmin(smallest_spacing(a), smallest_spacing(b));
    grid->apart_mm = places_apart(a, b);
    if (!(grid->apart_mm > least))
        return;
    const int before = grid->n;
    if (largest_apart(a->origin_mm, b->origin_mm, 3) > least)
        add_numbers(grid, "origin", (const double *const[]){a->origin_mm, b->origin_mm}, 3, mm);
    if (largest_apart(a->direction, b->direction, 9) > 1e-6)
        add_numbers(grid, "direction", (const double *const[]){a->direction, b->direction}, 9,
                    none);
    if (grid->n == before ||
        largest_apart(a->step_z_mm, b->step_z_mm, 3) > 1e-6 * a->axes[0].spacing)
        add_numbers(grid, "step from slice to slice",
                    (const double *const[]){a->step_z_mm, b->step_z_mm}, 3, mm);
}

/* Returns true if an axis of volumes has only numbers, no values. */
static bool is_numbered(const struct ts_axis *axis)
{
    bool numbered = axis->kind >= TS_AXIS_ITEM && !*text_of(axis->unit);
    for (int64_t i = 0; i < axis->n && numbered; i++)
        numbered = ts_axis_position(axis, i) == (double)i;
    return numbered;
}

static const char *unit_name(const struct ts_axis *axis)
{
    if (is_numbered(axis))
        return "numbered";
    return *text_of(axis->unit) ? axis->unit : "without a unit";
}

/* Compares the unit, the spacing and the positions of one axis, and notes the first that
 * differs. Positions are compared only along views, detector pixels and volumes, and only if the
 * images have no place in a patient. */
static void compare_axis(const struct ts_axis *a, const struct ts_axis *b, bool has_places,
                         struct grid_difference *grid)
{
    char names[2][32];
    const double spacing[2] = {ts_axis_spacing(a), ts_axis_spacing(b)};
    const double least = GRID_TOLERANCE * fmin(spacing[0], spacing[1]);
    const char *const units[2] = {text_of(a->unit), text_of(b->unit)};
    int64_t at = -1;
    for (int i = 0; i < 2; i++)
        snprintf(names[i], sizeof names[i], "%s along %s", i ? "positions" : "spacing",
                 ts_axis_name(a));
    if (strcmp(units[0], units[1]) != 0 || is_numbered(a) != is_numbered(b)) {
        compare_texts(grid, names[0], false, unit_name(a), unit_name(b));
        return;
    }
    if (!a->positions && !b->positions &&
        fabs(spacing[0] - spacing[1]) * (double)(a->n > 1 ? a->n - 1 : 1) > least) {
        add_numbers(grid, names[0], (const double *const[]){&spacing[0], &spacing[1]}, 1, units);
        return;
    }
    const bool has_positions =
        a->kind == TS_AXIS_VIEW || a->kind == TS_AXIS_DETECTOR || a->kind >= TS_AXIS_ITEM;
    for (int64_t i = 0; i < a->n && at < 0 && has_positions && !has_places; i++)
        if (fabs(ts_axis_position(a, i) - ts_axis_position(b, i)) > least)
            at = i;
    if (at < 0)
        return;
    struct grid_note *note = add_note(grid, names[1], true);
    for (int side = 0; side < 2; side++)
        snprintf(note->sides[side], GRID_TEXT, "%.9g%s%s at %" PRId64,
                 ts_axis_position(side ? b : a, at), *units[side] ? " " : "", units[side], at);
}

static void compare_lengths(const struct side sides[2], struct grid_difference *grid)
{
    const struct ts_image *a = &sides[0].source->image, *b = &sides[1].source->image;
    const bool no_grid = sides[0].no_grid || sides[1].no_grid, sinogram = ts_image_is_sinogram(a);
    const bool places = a->has_geometry && b->has_geometry && !no_grid && !sinogram;
    for (int i = 0; i < 3 && !no_grid; i++)
        compare_axis(&a->axes[i], &b->axes[i], places, grid);
    if (sides[0].source->n_volumes > 1)
        compare_axis(&sides[0].source->volume_axis, &sides[1].source->volume_axis, false, grid);
    if (places)
        compare_places(a, b, grid);
    else if (!sinogram)
        compare_texts(grid, "place in the patient", false,
                      !sides[0].no_grid && a->has_geometry ? "known" : "not stated",
                      !sides[1].no_grid && b->has_geometry ? "known" : "not stated");
}

void ts_grid_compare(const struct side sides[2], struct grid_difference *grid)
{
    const struct source *sources[2] = {sides[0].source, sides[1].source};
    const struct ts_image *a = &sources[0]->image, *b = &sources[1]->image;
    char shapes[2][GRID_TEXT];
    *grid = (struct grid_difference){.apart_mm = (double)NAN};
    for (int side = 0; side < 2; side++)
        write_shape(shapes[side], sources[side]);
    compare_texts(grid, "shape", true, shapes[0], shapes[1]);
    grid->same_shape = grid->n == 0;
    if (grid->same_shape)
        compare_lengths(sides, grid);
    if (grid->same_shape && ts_image_is_sinogram(a))
        compare_texts(grid, "beam", true, ts_beam_name(a->beam.kind), ts_beam_name(b->beam.kind));
    compare_texts(grid, "type", false, ts_dtype_name(a->dtype), ts_dtype_name(b->dtype));
    compare_texts(grid, "quantity", false, ts_quantity_name(a->quantity),
                  ts_quantity_name(b->quantity));
    compare_texts(grid, "unit of values", false, text_of(a->unit), text_of(b->unit));
}

/* ---- images and results ---------------------------------------------------------------------- */

static enum comparison_state worse(enum comparison_state a, enum comparison_state b)
{
    return a > b ? a : b;
}

/* ---- one image ------------------------------------------------------------------------------- */

static enum comparison_state judge(const struct comparison_request *request,
                                   struct compared_image *image)
{
    const struct difference *difference = &image->difference;
    if (image->grid.differs || difference->n_invalid_apart > 0)
        return COMPARED_BEYOND;
    image->tolerance = request->tolerance_of ? request->tolerance_of(request->user, image->name,
                                                                     difference->magnitude)
                                             : request->tolerance;
    if (difference->n_differ == 0) /* hidden values may make the digests differ */
        return request->by_digest && difference->n_hidden > 0 ? COMPARED_WITHIN : COMPARED_EQUAL;
    return difference->largest <= image->tolerance ? COMPARED_WITHIN : COMPARED_BEYOND;
}

static const double first_rounded = 0x1p53; /* larger integers may be rounded as doubles */

static enum ts_status compare_image(const struct comparison_request *request,
                                    const char *const names[2], struct compared_image *image,
                                    struct arena *arena, struct ts_diag *diag)
{
    struct side sides[2] = {0};
    enum ts_status status = TS_OK;
    for (int i = 0; i < 2 && status == TS_OK; i++)
        status = ts_side_open(request->sides[i].text, request->sides[i].one_line, names[i],
                              &sides[i], diag);
    if (status == TS_OK) {
        const char *unit = sides[0].source->image.unit ? sides[0].source->image.unit : "";
        ts_grid_compare(sides, &image->grid);
        image->unit = ts_arena_text(arena, unit, strlen(unit));
        if (!image->unit)
            status = ts_diag_no_memory(diag, strlen(unit));
    }
    if (status == TS_OK && image->grid.same_shape)
        status = ts_difference(sides[0].source, sides[1].source, &request->difference,
                               &image->difference, diag);
    if (status == TS_OK)
        image->rounded =
            (sides[0].source->image.dtype == TS_F64 || sides[1].source->image.dtype == TS_F64) &&
            image->difference.magnitude >= first_rounded;
    for (int i = 0; i < 2; i++)
        ts_side_close(&sides[i]);
    image->state = judge(request, image);
    return status;
}

/* ---- all images ------------------------------------------------------------------------------ */

static enum ts_status add_pair(const struct comparison_request *request,
                               struct comparison *comparison, const struct made_image *a,
                               const struct made_image *b, struct ts_diag *diag)
{
    struct compared_image *image = &comparison->images[comparison->n_images++];
    *image = (struct compared_image){
        .name = a ? a->name : b->name, .tolerance = request->tolerance, .unit = ""};
    if (a && b && request->by_digest && !strcmp(a->digest, b->digest)) {
        image->by_digest = true;
        return TS_OK;
    }
    if (a && b)
        return compare_image(request, (const char *const[]){a->name, b->name}, image,
                             comparison->arena, diag);
    image->state = COMPARED_LACKED;
    image->lacked_by = a ? 1 : 0;
    return TS_OK;
}

/* Compares the images of two results, by all their names: `data` may be another name of a saved
   image in only one of them. */
static enum ts_status compare_results(const struct comparison_request *request,
                                      struct comparison *comparison, struct ts_diag *diag)
{
    const struct made *a = &comparison->made[0], *b = &comparison->made[1];
    enum ts_status status = TS_OK;
    for (size_t i = 0; i < a->n_images && status == TS_OK; i++)
        if (!a->images[i].same)
            status = add_pair(request, comparison, &a->images[i],
                              ts_made_image(b, a->images[i].name), diag);
    for (size_t i = 0; i < b->n_images && status == TS_OK; i++) {
        const struct made_image *image = &b->images[i], *other = ts_made_image(a, image->name);
        const bool compared = other && ts_made_image(b, other->name) == image;
        if (!image->same && !compared)
            status = add_pair(request, comparison, other, image, diag);
    }
    return status;
}

static enum ts_status compare_made(struct comparison *comparison, struct ts_diag *diag)
{
    if (!ts_made_compare(&comparison->made[0], &comparison->made[1], comparison->arena,
                         &comparison->differences, &comparison->n_differences))
        return ts_diag_no_memory(diag,
                                 comparison->made[0].n_facts * sizeof *comparison->differences);
    for (size_t i = 0; i < comparison->n_differences; i++)
        for (int side = 0; side < 2; side++)
            if (comparison->differences[i].sides[side]) {
                comparison->n_tables += ts_made_is_table(comparison->differences[i].sides[side]);
                break;
            }
    return TS_OK;
}

/* Reads what both sides say of themselves, if both are results. */
static enum ts_status read_made(const struct comparison_request *request,
                                struct comparison *comparison, struct ts_diag *diag)
{
    enum ts_status status = TS_OK;
    comparison->has_made = true;
    for (int i = 0; i < 2 && comparison->has_made && status == TS_OK; i++) {
        comparison->has_made = !request->sides[i].one_line;
        if (comparison->has_made)
            status = ts_side_is_hdf5(request->sides[i].text, &comparison->has_made, diag);
    }
    for (int i = 0; i < 2 && comparison->has_made && status == TS_OK; i++)
        status = ts_made_read(NULL, request->sides[i].text, comparison->arena, &comparison->made[i],
                              diag);
    if (status == TS_OK && comparison->has_made)
        status = compare_made(comparison, diag);
    return status;
}

enum ts_status ts_comparison_make(const struct comparison_request *request,
                                  struct comparison *comparison, struct ts_diag *diag)
{
    const struct comparison_side *sides = request->sides;
    *comparison = (struct comparison){.arena = ts_arena_create(),
                                      .names = {sides[0].text, sides[1].text},
                                      .tolerance = request->tolerance};
    if (!comparison->arena)
        return ts_diag_no_memory(diag, sizeof *comparison);
    enum ts_status status = read_made(request, comparison, diag);
    const size_t most = comparison->made[0].n_images + comparison->made[1].n_images + 1;
    comparison->images = ts_arena_alloc(comparison->arena, most * sizeof *comparison->images);
    if (status == TS_OK && !comparison->images)
        status = ts_diag_no_memory(diag, most * sizeof *comparison->images);
    if (status == TS_OK && comparison->has_made && !sides[0].image && !sides[1].image) {
        status = compare_results(request, comparison, diag);
    } else if (status == TS_OK) {
        struct compared_image *image = &comparison->images[comparison->n_images++];
        const char *name = sides[0].image ? sides[0].image : sides[1].image;
        *image = (struct compared_image){
            .name = name ? name : "", .tolerance = request->tolerance, .unit = ""};
        status = compare_image(request, (const char *const[]){sides[0].image, sides[1].image},
                               image, comparison->arena, diag);
    }
    for (size_t i = 0; i < comparison->n_images; i++)
        comparison->state = worse(comparison->state, comparison->images[i].state);
    if (comparison->n_tables > 0 && !sides[0].image && !sides[1].image && request->tolerance == 0 &&
        !request->tolerance_of)
        comparison->state = worse(comparison->state, COMPARED_BEYOND);
    return status;
}

void ts_comparison_free(struct comparison *comparison)
{
    ts_arena_destroy(comparison->arena);
    *comparison = (struct comparison){0};
}

/* ---- printing -------------------------------------------------------------------------------- */

/* Prints a comparison as text for people, or as one JSON object with the same numbers. Escapes
   texts of files. */

enum { MOST_VALUE = 100, MOST_DIFFERENCES = 40 };

static const char *const measure_names[COMPARE_MEASURES] = {"largest_finite_difference", "rms",
                                                            "relative", "psnr", "ssim"};
static const char *const state_names[] = {"equal", "within tolerance", "different", "missing"};

/* ---- for people ------------------------------------------------------------------------------ */

static void print_unit(const char *unit, FILE *stream)
{
    if (strcmp(unit, "1") != 0 && *unit)
        ts_text_print(stream, " ", unit);
}

static void print_number(double value, const char *before, const char *unit, FILE *stream)
{
    char text[40];
    if (isfinite(value))
        ts_real_format(value, text, sizeof text);
    else
        snprintf(text, sizeof text, "%s", isnan(value) ? "NaN" : value > 0 ? "inf" : "-inf");
    fprintf(stream, "%s%s", before, text);
    print_unit(unit, stream);
}

static void print_place(const struct difference *difference, bool volumes, FILE *stream)
{
    const int64_t *at = difference->at;
    fputs(" at [", stream);
    if (volumes)
        fprintf(stream, "volume %" PRId64 ", ", at[0]);
    fprintf(stream, "%" PRId64 ", %" PRId64 ", %" PRId64 "]", at[1], at[2], at[3]);
}

/* Prints a measure. It is NaN if it cannot be computed, for example if no whole window of SSIM fits
   the image. */
static void print_measure(const char *name, double value, int digits, const char *unit,
                          FILE *stream)
{
    if (isnan(value))
        fprintf(stream, ", %s none", name);
    else
        fprintf(stream, ", %s %.*f%s", name, digits, value, unit);
}

static void print_measures(const struct compared_image *image, FILE *stream)
{
    const double *measures = image->difference.measures;
    fprintf(stream, "  RMS %.6g", measures[COMPARE_RMS]);
    print_unit(image->unit, stream);
    fprintf(stream, ", relative %.3g", measures[COMPARE_RELATIVE]);
    print_measure("PSNR", measures[COMPARE_PSNR], 2, " dB", stream);
    print_measure("SSIM", measures[COMPARE_SSIM], 6, "", stream);
    if (image->difference.data_range > 0) {
        fprintf(stream, " (data range %.6g", image->difference.data_range);
        print_unit(image->unit, stream);
        fputc(')', stream);
    }
    fputc('\n', stream);
}

static void print_values(const struct compared_image *image, FILE *stream)
{
    const struct difference *difference = &image->difference;
    if (difference->n_differ > 0) {
        fprintf(stream, "  %" PRId64 " of %" PRId64 " values differ (%.3g %%)\n",
                difference->n_differ, difference->n,
                100.0 * (double)difference->n_differ / (double)difference->n);
        print_number(difference->largest, "  largest difference ", image->unit, stream);
        print_place(difference, difference->at[0] > 0, stream);
        print_number(difference->values[0], ": ", "", stream);
        print_number(difference->values[1], " and ", image->unit, stream);
        fputc('\n', stream);
        print_measures(image, stream);
    }
    if (difference->n_nan[0] > 0 || difference->n_nan[1] > 0)
        fprintf(stream, "  NaN: %" PRId64 " and %" PRId64 "\n", difference->n_nan[0],
                difference->n_nan[1]);
    if (image->rounded)
        fputs("  values of 2^53 and more are compared as doubles, to which 64-bit integers are "
              "rounded\n",
              stream);
    if (difference->n_invalid_both > 0)
        fprintf(stream,
                "  invalid on both sides: %" PRId64 " pixels, %" PRId64
                " of them with different values (no difference of the image)\n",
                difference->n_invalid_both, difference->n_hidden);
    if (difference->n_invalid_apart > 0)
        fprintf(stream,
                "  invalid pixels: %" PRId64 " and %" PRId64 ", %" PRId64
                " of them on one side alone\n",
                difference->n_invalid[0], difference->n_invalid[1], difference->n_invalid_apart);
}

static void print_grid(const struct grid_difference *grid, FILE *stream)
{
    for (int i = 0; i < grid->n; i++) {
        ts_text_print(stream, "  ", grid->notes[i].what);
        ts_text_print(stream, ": ", grid->notes[i].sides[0]);
        ts_text_print(stream, " and ", grid->notes[i].sides[1]);
        fputs(grid->notes[i].counts ? "\n" : " (no difference of the image)\n", stream);
    }
    if (grid->apart_mm > 0 && grid->differs)
        fprintf(stream, "  the same pixel is up to %.4g mm apart\n", grid->apart_mm);
}

static void print_image(const struct comparison *comparison, const struct compared_image *image,
                        FILE *stream)
{
    ts_text_print(stream, "", *image->name ? image->name : "image");
    if (image->state == COMPARED_LACKED) {
        ts_text_print(stream, ": missing in ", comparison->names[image->lacked_by]);
        fputc('\n', stream);
        return;
    }
    fprintf(stream, ": %s",
            image->by_digest ? "equal, by the digest of its values" : state_names[image->state]);
    if (image->state == COMPARED_WITHIN ||
        (image->state == COMPARED_BEYOND && image->tolerance > 0))
        print_number(image->tolerance, image->state == COMPARED_WITHIN ? " " : ", beyond ",
                     image->unit, stream);
    fputc('\n', stream);
    print_values(image, stream);
    print_grid(&image->grid, stream);
}

static void print_fact(const struct made_fact *fact, const char *before, FILE *stream)
{
    char value[MOST_VALUE];
    fputs(before, stream);
    if (!fact || !fact->value || strchr(fact->value, '\n')) {
        fprintf(stream, fact ? "[digest %.8s]" : "nothing", fact ? fact->digest : "");
        return;
    }
    snprintf(value, sizeof value, "%s", fact->value);
    ts_text_print(stream, "", value);
    if (strlen(fact->value) >= sizeof value)
        fputs("...", stream);
}

static void print_made(const struct comparison *comparison, FILE *stream)
{
    const size_t n = comparison->n_differences;
    fprintf(stream,
            n > 0 ? "how they were made, and tables:\n" : "both were made in the same way\n");
    for (size_t i = 0; i < n && i < MOST_DIFFERENCES; i++) {
        const struct made_difference *difference = &comparison->differences[i];
        ts_text_print(stream, "  ", difference->sides[difference->sides[0] ? 0 : 1]->path);
        print_fact(difference->sides[0], ": ", stream);
        print_fact(difference->sides[1], " and ", stream);
        fputc('\n', stream);
    }
    if (n > MOST_DIFFERENCES)
        fprintf(stream, "  and %zu more; --json lists all of them\n", n - MOST_DIFFERENCES);
}

void ts_comparison_print(const struct comparison *comparison, FILE *stream)
{
    for (size_t i = 0; i < comparison->n_images; i++)
        print_image(comparison, &comparison->images[i], stream);
    if (comparison->has_made)
        print_made(comparison, stream);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void json_pair(struct json *json, const char *key, int64_t a, int64_t b)
{
    ts_json_open_member(json, key, '[');
    ts_json_integer(json, a);
    ts_json_integer(json, b);
    ts_json_close(json, ']');
}

static void json_values(struct json *json, const struct difference *difference)
{
    ts_json_member_integer(json, "values", difference->n);
    ts_json_member_integer(json, "values_that_differ", difference->n_differ);
    json_pair(json, "nan", difference->n_nan[0], difference->n_nan[1]);
    json_pair(json, "invalid", difference->n_invalid[0], difference->n_invalid[1]);
    ts_json_member_integer(json, "invalid_on_one_side", difference->n_invalid_apart);
    ts_json_member_integer(json, "invalid_on_both_sides", difference->n_invalid_both);
    ts_json_member_integer(json, "invalid_that_differ", difference->n_hidden);
    ts_json_member_real(json, "largest_difference", difference->largest);
    ts_json_open_member(json, "at", '[');
    for (int i = 0; i < 4; i++)
        ts_json_integer(json, difference->at[i]);
    ts_json_close(json, ']');
    ts_json_open_member(json, "values_there", '[');
    for (int side = 0; side < 2; side++)
        ts_json_real(json, difference->values[side]);
    ts_json_close(json, ']');
    ts_json_member_real(json, "data_range", difference->data_range);
    for (int i = 0; i < COMPARE_MEASURES; i++)
        ts_json_member_real(json, measure_names[i], difference->measures[i]);
}

static void json_grid(struct json *json, const struct grid_difference *grid)
{
    ts_json_member_real(json, "apart_mm", grid->apart_mm);
    ts_json_open_member(json, "grid", '[');
    for (int i = 0; i < grid->n; i++) {
        ts_json_open(json, '{');
        ts_json_member_text(json, "what", grid->notes[i].what);
        ts_json_member_text(json, "a", grid->notes[i].sides[0]);
        ts_json_member_text(json, "b", grid->notes[i].sides[1]);
        ts_json_member_bool(json, "counts", grid->notes[i].counts);
        ts_json_close(json, '}');
    }
    ts_json_close(json, ']');
}

static void json_image(struct json *json, const struct compared_image *image)
{
    ts_json_open(json, '{');
    ts_json_member_text(json, "name", *image->name ? image->name : NULL);
    ts_json_member_text(json, "state", state_names[image->state]);
    ts_json_member_real(json, "tolerance", image->tolerance);
    ts_json_member_bool(json, "by_digest", image->by_digest);
    if (image->state == COMPARED_LACKED)
        ts_json_member_text(json, "missing_in", image->lacked_by ? "b" : "a");
    if (image->difference.n > 0)
        json_values(json, &image->difference);
    if (!image->by_digest && image->state != COMPARED_LACKED)
        json_grid(json, &image->grid);
    ts_json_close(json, '}');
}

static void json_fact(struct json *json, const char *key, const struct made_fact *fact)
{
    ts_json_key(json, key);
    if (!fact) {
        ts_json_text(json, NULL);
        return;
    }
    ts_json_open(json, '{');
    ts_json_member_text(json, "value", fact->value);
    ts_json_member_text(json, "sha256_tree", fact->digest);
    ts_json_close(json, '}');
}

void ts_comparison_print_json(const struct comparison *comparison, FILE *stream)
{
    struct json json;
    ts_json_init(&json, stream, false);
    ts_json_open(&json, '{');
    ts_json_member_text(&json, "event", "comparison");
    ts_json_member_text(&json, "a", comparison->names[0]);
    ts_json_member_text(&json, "b", comparison->names[1]);
    ts_json_member_text(&json, "state",
                        comparison->state == COMPARED_LACKED ? "different"
                                                             : state_names[comparison->state]);
    ts_json_open_member(&json, "images", '[');
    for (size_t i = 0; i < comparison->n_images; i++)
        json_image(&json, &comparison->images[i]);
    ts_json_close(&json, ']');
    if (comparison->has_made) {
        ts_json_open_member(&json, "made", '[');
        for (size_t i = 0; i < comparison->n_differences; i++) {
            const struct made_difference *difference = &comparison->differences[i];
            ts_json_open(&json, '{');
            ts_json_member_text(&json, "path",
                                difference->sides[difference->sides[0] ? 0 : 1]->path);
            json_fact(&json, "a", difference->sides[0]);
            json_fact(&json, "b", difference->sides[1]);
            ts_json_close(&json, '}');
        }
        ts_json_close(&json, ']');
    }
    ts_json_close(&json, '}');
}
