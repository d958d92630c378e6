/* SPDX-License-Identifier: Apache-2.0
 *
 * A comparison is printed as text for people, or as one JSON object with the same numbers. Texts of files are escaped.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/json.h"
#include "core/params.h"
#include "program/record/comparison.h"

enum { MOST_VALUE = 100, MOST_DIFFERENCES = 40 };

static const char *const measure_names[COMPARE_MEASURES] = {"largest_finite_difference", "rms", "relative", "psnr",
                                                            "ssim"};
static const char *const state_names[] = {"equal", "within tolerance", "different", "missing"};

/* ---- for people ---------------------------------------------------------------------------------- */

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

/* Prints a measure; it is NaN where there is nothing to compute it from, such as no whole window for SSIM. */
static void print_measure(const char *name, double value, int digits, const char *unit, FILE *stream)
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
        fprintf(stream, "  %" PRId64 " of %" PRId64 " values differ (%.3g %%)\n", difference->n_differ, difference->n,
                100.0 * (double)difference->n_differ / (double)difference->n);
        print_number(difference->largest, "  largest difference ", image->unit, stream);
        print_place(difference, difference->at[0] > 0, stream);
        print_number(difference->values[0], ": ", "", stream);
        print_number(difference->values[1], " and ", image->unit, stream);
        fputc('\n', stream);
        print_measures(image, stream);
    }
    if (difference->n_nan[0] > 0 || difference->n_nan[1] > 0)
        fprintf(stream, "  NaN: %" PRId64 " and %" PRId64 "\n", difference->n_nan[0], difference->n_nan[1]);
    if (image->rounded)
        fputs("  values of 2^53 and more are compared as doubles, to which 64-bit integers are rounded\n", stream);
    if (difference->n_invalid_both > 0)
        fprintf(stream,
                "  invalid on both sides: %" PRId64 " pixels, %" PRId64
                " of them with different values (no difference of the image)\n",
                difference->n_invalid_both, difference->n_hidden);
    if (difference->n_invalid_apart > 0)
        fprintf(stream, "  invalid pixels: %" PRId64 " and %" PRId64 ", %" PRId64 " of them on one side alone\n",
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

static void print_image(const struct comparison *comparison, const struct compared_image *image, FILE *stream)
{
    ts_text_print(stream, "", *image->name ? image->name : "image");
    if (image->state == COMPARED_LACKED) {
        ts_text_print(stream, ": missing in ", comparison->names[image->lacked_by]);
        fputc('\n', stream);
        return;
    }
    fprintf(stream, ": %s", image->by_digest ? "equal, by the digest of its values" : state_names[image->state]);
    if (image->state == COMPARED_WITHIN || (image->state == COMPARED_BEYOND && image->tolerance > 0))
        print_number(image->tolerance, image->state == COMPARED_WITHIN ? " " : ", beyond ", image->unit, stream);
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
    fprintf(stream, n > 0 ? "how they were made, and tables:\n" : "both were made in the same way\n");
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

/* ---- JSON ---------------------------------------------------------------------------------------- */

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
                        comparison->state == COMPARED_LACKED ? "different" : state_names[comparison->state]);
    ts_json_open_member(&json, "images", '[');
    for (size_t i = 0; i < comparison->n_images; i++)
        json_image(&json, &comparison->images[i]);
    ts_json_close(&json, ']');
    if (comparison->has_made) {
        ts_json_open_member(&json, "made", '[');
        for (size_t i = 0; i < comparison->n_differences; i++) {
            const struct made_difference *difference = &comparison->differences[i];
            ts_json_open(&json, '{');
            ts_json_member_text(&json, "path", difference->sides[difference->sides[0] ? 0 : 1]->path);
            json_fact(&json, "a", difference->sides[0]);
            json_fact(&json, "b", difference->sides[1]);
            ts_json_close(&json, '}');
        }
        ts_json_close(&json, ']');
    }
    ts_json_close(&json, '}');
}
