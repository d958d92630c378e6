/* SPDX-License-Identifier: Apache-2.0
 *
 * A text is a number of a volume, a number with a unit, which is the value of an axis, or the name of a kind of image.
 * Values are typed as `tomostage info` prints them, with six digits, and compared accordingly.
 */
#include "io/dicom_series/dicom_take.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "io/dicom_header/dicom_known.h"

static bool read_one(const char *text, struct dicom_take *take)
{
    static const struct {
        const char *unit;
        enum ts_axis_kind axis;
    } units[] = {{"ms", TS_AXIS_ECHO}, {"s", TS_AXIS_TIME}, {"s/mm2", TS_AXIS_B}};
    char *end;
    *take = (struct dicom_take){.what = TAKE_KIND, .text = text, .number = strtod(text, &end)};
    if (end == text)
        return *text != '\0';
    const char *unit = end + strspn(end, " ");
    if (*unit == '\0') {
        take->what = TAKE_INDEX;
        return take->number >= 0 && take->number == rint(take->number);
    }
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (!strcmp(unit, units[i].unit)) {
            take->what = TAKE_VALUE;
            take->axis = units[i].axis;
            return true;
        }
    return false;
}

bool ts_dicom_read_takes(const struct ts_texts *texts, struct dicom_takes *takes)
{
    takes->n = 0;
    for (int64_t i = 0; i < texts->n; i++)
        if (i >= DICOM_MAX_TAKES || !read_one(texts->items[i], &takes->items[takes->n++]))
            return false;
    return true;
}

static bool is_near(double value, double wanted)
{
    return fabs(value - wanted) <= 1e-5 * fabs(wanted) + 1e-6;
}

size_t ts_dicom_volume_number(const struct dicom_series *series, size_t v)
{
    return series->volume_numbers ? series->volume_numbers[v] : v;
}

/* Counts the volumes that have what the text says. *last is the number of the last of them. */
static size_t count_volumes(const struct dicom_series *series, const struct dicom_take *take, size_t *last)
{
    const struct ts_axis *axis = &series->volume_axis;
    size_t count = 0;
    for (size_t v = 0; v < series->n_volumes; v++) {
        const bool same = take->what == TAKE_INDEX ? take->number == (double)ts_dicom_volume_number(series, v)
                                                   : axis->kind == take->axis && axis->positions &&
                                                         is_near(axis->positions[v], take->number);
        *last = same ? v : *last;
        count += same;
    }
    return count;
}

/* Returns true where the text is about the volumes of the series, rather than about all of it. */
static bool is_about_volumes(const struct dicom_series *series, const struct dicom_take *take)
{
    return series->n_volumes > 1 &&
           (take->what == TAKE_INDEX || (take->what == TAKE_VALUE && take->axis == series->volume_axis.kind));
}

/* Returns true where the text is one of the settings, which commas divide. */
static bool has_setting(const char *settings, const char *text)
{
    for (size_t length; *settings; settings += length + strspn(settings + length, ", ")) {
        length = strcspn(settings, ",");
        if (strlen(text) == length && !strncasecmp(settings, text, length))
            return true;
    }
    return false;
}

static bool has_what(const struct dicom_series *series, const struct dicom_take *take)
{
    const struct dicom_image *image = series->images[0];
    size_t last;
    if (take->what == TAKE_KIND && has_setting(series->settings, take->text))
        return true;
    if (is_about_volumes(series, take))
        return count_volumes(series, take, &last) > 0;
    if (take->what == TAKE_KIND)
        return !strcasecmp(take->text, image->kind) || !strcasecmp(take->text, image->component);
    if (take->what == TAKE_INDEX)
        return take->number == (double)ts_dicom_volume_number(series, 0);
    if (series->volume_axis.kind == take->axis && series->volume_axis.positions)
        return is_near(series->volume_axis.positions[0], take->number);
    return take->axis == TS_AXIS_ECHO ? is_near(image->echo_ms, take->number)
           : take->axis == TS_AXIS_B  ? is_near(image->b_value, take->number)
                                      : false;
}

/* A volume that is whole may be taken of a series whose others are not. */
static void allow_whole(struct dicom_series *series, const struct dicom_take *take)
{
    if (!series->refusal || strcmp(series->refusal_code, "volume-incomplete") != 0 || take->what == TAKE_KIND ||
        !(take->what == TAKE_INDEX || is_about_volumes(series, take)))
        return;
    series->refusal = NULL;
    ts_dicom_series_warn(series, "%s", series->lacking);
}

void ts_dicom_leave_out(struct dicom_series *series, size_t n, const struct dicom_takes *takes)
{
    for (size_t i = 0; i < n; i++) {
        series[i].left_out = false;
        for (size_t k = 0; k < takes->n; k++)
            series[i].left_out |= !has_what(&series[i], &takes->items[k]);
        for (size_t k = 0; k < takes->n && !series[i].left_out; k++)
            allow_whole(&series[i], &takes->items[k]);
    }
}

/* Adds an item to a list that commas divide, unless it is there. */
static void add_once(char *list, size_t size, const char *item)
{
    const size_t used = strlen(list);
    if (*item && !has_setting(list, item) && used < size)
        snprintf(list + used, size - used, "%s%s", used ? ", " : "", item);
}

/* Adds a text as a chain takes it: between quotes where it has spaces. */
static void add_text(char *list, size_t size, const char *text)
{
    char item[DICOM_LABEL_MAX + 2];
    const char *quote = strchr(text, ' ') ? "'" : "";
    snprintf(item, sizeof item, "%s%s%s", quote, text, quote);
    add_once(list, size, item);
}

/* Adds each of the settings, which commas divide. */
static void add_settings(char *list, size_t size, const char *settings)
{
    for (size_t length; *settings; settings += length + strspn(settings + length, ", ")) {
        char text[DICOM_LABEL_MAX];
        length = strcspn(settings, ",");
        snprintf(text, sizeof text, "%.*s", (int)length, settings);
        add_text(list, size, text);
    }
}

void ts_dicom_list_takes(const struct dicom_series *series, size_t n, char *out, size_t size)
{
    char text[DICOM_LABEL_MAX];
    *out = '\0';
    for (size_t i = 0; i < n; i++) {
        const char *kind = ts_dicom_known(ts_dicom_image_types, series[i].images[0]->kind);
        add_text(out, size, strcmp(kind, DICOM_UNRECOGNIZED) ? kind : "");
        add_text(out, size, series[i].images[0]->component);
    }
    for (size_t i = 0; i < n; i++) {
        const struct ts_axis *axis = &series[i].volume_axis;
        const double echo = series[i].images[0]->echo_ms;
        snprintf(text, sizeof text, "%g ms", echo);
        add_text(out, size, isnan(echo) || axis->kind == TS_AXIS_ECHO ? "" : text);
        for (int64_t v = 0; axis->kind == TS_AXIS_ECHO && axis->positions && v < axis->n; v++) {
            snprintf(text, sizeof text, "%g ms", axis->positions[v]);
            add_text(out, size, text);
        }
        add_settings(out, size, series[i].settings);
        if (series[i].n_volumes > 1) {
            snprintf(text, sizeof text, "%zu to %zu", ts_dicom_volume_number(&series[i], 0),
                     ts_dicom_volume_number(&series[i], series[i].n_volumes - 1));
            add_once(out, size, text);
        }
    }
}

void ts_dicom_keep_volume(struct dicom_series *series, size_t v)
{
    const size_t number = ts_dicom_volume_number(series, v);
    series->images += v * series->n_slices;
    series->n_images = series->n_slices;
    series->n_volumes = 1;
    series->volume_numbers = ts_arena_copy(series->arena, &number, 1, sizeof number);
    series->no_memory |= !series->volume_numbers;
    ts_axis_cut(&series->volume_axis, (int64_t)v, 1);
    if (series->gradients)
        series->gradients += 3 * v;
    series->n_files = ts_dicom_count_files(series, 1);
    series->no_memory |= series->n_files == 0;
}

enum ts_status ts_dicom_take_volume(struct dicom_series *series, const struct dicom_takes *takes, struct ts_diag *diag)
{
    for (size_t i = 0; i < takes->n; i++) {
        size_t v = 0;
        if (!is_about_volumes(series, &takes->items[i]))
            continue;
        const size_t count = count_volumes(series, &takes->items[i], &v);
        if (count != 1) {
            ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "take-ambiguous"},
                          "%zu of the %zu volumes of series %d are '%s'", count, series->n_volumes, series->number,
                          takes->items[i].text);
            return ts_diag_hint(diag, "take one by its number, from %zu to %zu", ts_dicom_volume_number(series, 0),
                                ts_dicom_volume_number(series, series->n_volumes - 1));
        }
        ts_dicom_keep_volume(series, v);
    }
    return series->no_memory ? ts_diag_no_memory(diag, 0) : TS_OK;
}
