/* SPDX-License-Identifier: Apache-2.0
 *
 * A text is a number of a volume, a number with a unit, which is the value of an axis, or the name
 * of a kind of image. Values are typed as `tomostage info` prints them, with six digits, and
 * compared accordingly.
 */
#include "io/dicom_series/dicom_take.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "io/dicom_header/dicom_fields.h"
#include "io/dicom_series/dicom_completeness.h"
#include "io/dicom_series/dicom_group.h"
#include "io/dicom_series/dicom_join.h"
#include "io/dicom_series/dicom_non_images.h"

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

/* Returns the number by which `take` names volume v: that among all volumes, whole or not. */
static size_t dicom_volume_number(const struct dicom_series *series, size_t v)
{
    return series->volume_numbers ? series->volume_numbers[v] : v;
}

/* Counts the volumes that have what the text says. *last is the number of the last of them. */
static size_t count_volumes(const struct dicom_series *series, const struct dicom_take *take,
                            size_t *last)
{
    const struct ts_axis *axis = &series->volume_axis;
    size_t count = 0;
    for (size_t v = 0; v < series->n_volumes; v++) {
        const bool same = take->what == TAKE_INDEX
                              ? take->number == (double)dicom_volume_number(series, v)
                              : axis->kind == take->axis && axis->positions &&
                                    is_near(axis->positions[v], take->number);
        *last = same ? v : *last;
        count += same;
    }
    return count;
}

/* Returns true if the text is about the volumes of the series, rather than about all of it. */
static bool is_about_volumes(const struct dicom_series *series, const struct dicom_take *take)
{
    return series->n_volumes > 1 &&
           (take->what == TAKE_INDEX ||
            (take->what == TAKE_VALUE && take->axis == series->volume_axis.kind));
}

/* Returns true if the text is one of the settings, which commas divide. */
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
        return take->number == (double)dicom_volume_number(series, 0);
    if (series->volume_axis.kind == take->axis && series->volume_axis.positions)
        return is_near(series->volume_axis.positions[0], take->number);
    if (take->axis == TS_AXIS_ECHO)
        return is_near(image->echo_ms, take->number);
    return take->axis == TS_AXIS_B ? is_near(image->b_value, take->number) : false;
}

/* A volume that is whole may be taken of a series whose others are not. */
static void allow_whole(struct dicom_series *series, const struct dicom_take *take)
{
    if (!series->refusal || strcmp(series->refusal_code, "volume-incomplete") != 0 ||
        take->what == TAKE_KIND || !(take->what == TAKE_INDEX || is_about_volumes(series, take)))
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

/* This holds texts that choose something together, and has the room for those that were written
 * here. */
struct wording {
    struct dicom_takes takes;
    char texts[DICOM_MAX_TAKES][DICOM_LABEL_MAX];
};

/* Adds a text to a choice, if the chain could say it: it is not empty, and there is room for one
 * more beside it. */
static void add_text(struct wording *wording, const char *text, int length)
{
    struct dicom_takes *takes = &wording->takes;
    char *copy = wording->texts[takes->n];
    if (length <= 0 || takes->n + 1 >= DICOM_MAX_TAKES || length >= DICOM_LABEL_MAX)
        return;
    snprintf(copy, DICOM_LABEL_MAX, "%.*s", length, text);
    takes->n += read_one(copy, &takes->items[takes->n]);
}

static void add_number(struct wording *wording, double number, const char *unit)
{
    char text[DICOM_LABEL_MAX];
    if (isfinite(number))
        add_text(wording, text, snprintf(text, sizeof text, "%g%s", number, unit));
}

/* Collects what `take` can say of all volumes of the series, the plainest first. */
static void dicom_take_describe(const struct dicom_series *series, struct wording *wording)
{
    const struct dicom_image *image = series->images[0];
    const struct ts_axis *axis = &series->volume_axis;
    const bool one = series->n_volumes <= 1, placed = one && axis->positions;
    const char *kind = ts_dicom_known(ts_dicom_image_types, image->kind),
               *settings = series->settings;
    wording->takes.n = 0;
    add_text(wording, image->component, (int)strlen(image->component));
    if (axis->kind != TS_AXIS_ECHO)
        add_number(wording, image->echo_ms, " ms");
    else if (placed)
        add_number(wording, axis->positions[0], " ms");
    for (size_t length; *settings; settings += length + strspn(settings + length, ", ")) {
        length = strcspn(settings, ",");
        add_text(wording, settings, (int)length);
    }
    if (placed && axis->kind == TS_AXIS_B)
        add_number(wording, axis->positions[0], " s/mm2");
    if (placed && axis->kind == TS_AXIS_TIME)
        add_number(wording, axis->positions[0], " s");
    if (strcmp(kind, DICOM_UNRECOGNIZED) != 0)
        add_text(wording, kind, (int)strlen(kind));
    if (one && series->volume_numbers)
        add_number(wording, (double)dicom_volume_number(series, 0), "");
}

/* Returns true if some volumes lack slices, so that a chain may take one of the others, but not
 * all. */
static bool is_incomplete(const struct dicom_series *series)
{
    return series->refusal_code && !strcmp(series->refusal_code, "volume-incomplete");
}

static bool may_be_read(const struct dicom_series *series)
{
    return !series->refusal || is_incomplete(series);
}

/* Returns true if a refused series may hold slices of series[s], so that nothing but its number
 * chooses it. */
static bool is_in_doubt(const struct dicom_series *series, size_t n, size_t s)
{
    for (size_t i = 0; i < n; i++) {
        const bool related = !*series[i].series || !strcmp(series[i].series, series[s].series);
        if (i != s && related && !series[i].overview &&
            (series[i].refusal || is_incomplete(&series[i])))
            return true;
    }
    return false;
}

/* Returns true if a chain with these texts gets series[s] and no other: only those count that may
 * be read, and overviews only if nothing else is left. */
static bool singles_out(const struct dicom_series *series, size_t n, size_t s,
                        const struct dicom_takes *takes)
{
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;
        if (i == s || !may_be_read(&series[i]) || (series[i].overview && !series[s].overview))
            continue;
        while (k < takes->n && has_what(&series[i], &takes->items[k]))
            k++;
        if (k == takes->n)
            return false;
    }
    return true;
}

/* Drops the texts without which the choice still singles series[s] out. Returns false if all of
 * them do not. */
static bool dicom_take_reduce(const struct dicom_series *series, size_t n, size_t s,
                              struct dicom_takes *takes)
{
    if (!singles_out(series, n, s, takes))
        return false;
    for (size_t k = takes->n; k-- > 0;) {
        struct dicom_takes less = {.n = takes->n - 1};
        for (size_t i = 0; i < less.n; i++)
            less.items[i] = takes->items[i + (i >= k)];
        if (singles_out(series, n, s, &less))
            *takes = less;
    }
    return true;
}

/* This is a list in a buffer, which commas divide. What does not fit is left out whole, and all
 * that follows with it. */
struct listing {
    char *out;
    size_t used, size;
    bool full;
};

enum { ITEM_BYTES = DICOM_MAX_TAKES * (DICOM_LABEL_MAX + 4) + 64 };
static const char more[] = ", ...";

static void add_item(struct listing *list, const char *item)
{
    const size_t length = strlen(item) + (list->used > 0 ? 2 : 0);
    if (list->full || *item == '\0')
        return;
    list->full = list->used + length + sizeof more > list->size;
    list->used +=
        (size_t)snprintf(list->out + list->used, list->size - list->used, "%s%s",
                         list->full || list->used == 0 ? "" : ", ", list->full ? more : item);
}

/* Writes texts as a chain takes them, those with spaces between quotes, and `last` behind them if
 * it is not empty. */
static void write_choice(const struct dicom_takes *takes, const char *last, char *item)
{
    const size_t n = takes->n + (*last != '\0');
    const char *open = n > 1 ? "[" : "";
    size_t used = 0;
    *item = '\0';
    for (size_t k = 0; k < n; k++) {
        const char *text = k < takes->n ? takes->items[k].text : last,
                   *quote = strchr(text, ' ') ? "'" : "";
        used += (size_t)snprintf(item + used, ITEM_BYTES - used, "%s%s%s%s%s", k > 0 ? ", " : open,
                                 quote, text, quote, n > 1 && k == n - 1 ? "]" : "");
    }
}

/* Lists the numbers of the volumes that are whole: "0 to 3", "5". `before` is before each of these.
 */
static void list_numbers(struct listing *list, const struct dicom_series *series,
                         const char *before)
{
    char item[ITEM_BYTES];
    for (size_t v = 0, last; v < series->n_volumes; v = last + 1) {
        const size_t number = dicom_volume_number(series, v);
        for (last = v; last + 1 < series->n_volumes; last++)
            if (dicom_volume_number(series, last + 1) != number + last + 1 - v)
                break;
        if (last > v)
            snprintf(item, sizeof item, "%s%s%zu to %zu", before, *before ? "from " : "", number,
                     number + last - v);
        else
            snprintf(item, sizeof item, "%s%s%zu", before, *before ? "= " : "", number);
        add_item(list, item);
    }
}

void ts_dicom_list_volumes(const struct dicom_series *series, char *out, size_t size)
{
    *out = '\0';
    list_numbers(&(struct listing){.out = out, .size = size}, series, "");
}

/* Lists the volumes of a series that the texts choose: by their numbers, and by their echo
 * times. */
static void list_volumes(struct listing *list, const struct dicom_series *series,
                         const struct dicom_takes *takes)
{
    char item[ITEM_BYTES], text[DICOM_LABEL_MAX];
    const struct ts_axis *axis = &series->volume_axis;
    write_choice(takes, "N", item);
    strcat(item, " with N ");
    list_numbers(list, series, takes->n > 0 ? item : "");
    for (int64_t v = 0; axis->kind == TS_AXIS_ECHO && axis->positions && v < axis->n; v++) {
        snprintf(text, sizeof text, "%g ms", axis->positions[v]);
        write_choice(takes, text, item);
        add_item(list, item);
    }
}

/* Writes the values of `take` that choose one series, or one volume of it, as a chain has them:
   "MAGNITUDE, [MAGNITUDE, N] with N from 0 to 9, PHASE". The text is empty if there are none.
   Returns false if it does not list all that may be read. */
static bool dicom_list_takes(const struct dicom_series *series, size_t n, char *out, size_t size)
{
    struct listing list = {.out = out, .size = size};
    char item[ITEM_BYTES];
    bool all = true;
    *out = '\0';
    for (size_t i = 0; i < n && !list.full; i++) {
        struct wording wording;
        const bool whole = !is_incomplete(&series[i]);
        if (!may_be_read(&series[i]))
            continue;
        dicom_take_describe(&series[i], &wording);
        if (!dicom_take_reduce(series, n, i, &wording.takes) || is_in_doubt(series, n, i)) {
            all = false;
            continue;
        }
        write_choice(&wording.takes, "", item);
        add_item(&list, whole ? item : "");
        if (series[i].n_volumes > 1 || !whole)
            list_volumes(&list, &series[i], &wording.takes);
    }
    return all && !list.full;
}

void ts_dicom_keep_volume(struct dicom_series *series, size_t v)
{
    const size_t number = dicom_volume_number(series, v);
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

enum ts_status ts_dicom_take_volume(struct dicom_series *series, const struct dicom_takes *takes,
                                    struct ts_diag *diag)
{
    for (size_t i = 0; i < takes->n; i++) {
        size_t v = 0;
        char numbers[ITEM_BYTES];
        if (!is_about_volumes(series, &takes->items[i]))
            continue;
        const size_t count = count_volumes(series, &takes->items[i], &v);
        if (count != 1) {
            ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "take-ambiguous"},
                          "%zu of the %zu volumes of series %d are '%s'", count, series->n_volumes,
                          series->number, takes->items[i].text);
            ts_dicom_list_volumes(series, numbers, sizeof numbers);
            return ts_diag_hint(diag, "take one by its number in place of '%s': %s",
                                takes->items[i].text, numbers);
        }
        ts_dicom_keep_volume(series, v);
    }
    return series->no_memory ? ts_diag_no_memory(diag, 0) : TS_OK;
}

/* ---- choose ---------------------------------------------------------------------------------- */

/* This chooses the series of a run: the one that the user names, or else the only one that is fit
 * for a volume. Where another group of files may hold slices of it, nothing is chosen unless the
 * user names the series or allows damaged files. */

enum { MAX_LISTED = 40, LINE_BYTES = 512 };

static void list_series(const struct dicom_series *series, size_t n, struct ts_diag *diag)
{
    for (size_t i = 0; i < n && i < MAX_LISTED; i++) {
        char line[LINE_BYTES];
        ts_dicom_series_line(&series[i], false, line, sizeof line);
        ts_diag_note(diag, &(struct diag_site){.code = "series"}, "series %d: %s%s%s",
                     series[i].number, line, series[i].refusal ? "; would be refused: " : "",
                     series[i].refusal ? series[i].refusal : "");
    }
    if (n > MAX_LISTED)
        ts_diag_note(diag, &(struct diag_site){.code = "series"}, "%zu more series are not listed",
                     n - MAX_LISTED);
}

static enum ts_status choose_take(const struct dicom_series *series,
                                  const struct dicom_series **chosen, struct ts_diag *diag)
{
    if (series->refusal) {
        ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = series->refusal_code},
                      "series %d (%s): %s", series->number,
                      *series->modality ? series->modality : "no modality", series->refusal);
        if (series->hint)
            ts_diag_hint(diag, "%s", series->hint);
        return TS_BAD_INPUT;
    }
    *chosen = series;
    return TS_OK;
}

/* Returns true where every image of a group of pictures of a screen lies in a slice that the
 * candidate has: it lacks none of them. */
static bool repeats(const struct dicom_series *pictures, const struct dicom_series *candidate)
{
    if (strcmp(pictures->refusal_code, "secondary-capture") != 0 || candidate->n_slices == 0)
        return false;
    for (size_t i = 0; i < pictures->n_images; i++) {
        const struct dicom_image *image = pictures->images[i];
        bool there = false;
        for (size_t k = 0; k < candidate->n_images && image->have_position && !there; k++) {
            const double *at = candidate->images[k]->position_mm;
            there = fabs(image->position_mm[0] - at[0]) + fabs(image->position_mm[1] - at[1]) +
                        fabs(image->position_mm[2] - at[2]) <
                    ts_dicom_same_position(candidate->images[k]);
        }
        if (!there)
            return false;
    }
    return true;
}

/* Finds a refused group that may hold a slice of the series: damaged files with its UID, or without
 * any. */
static const struct dicom_series *find_doubt(const struct dicom_series *series, size_t n,
                                             const struct dicom_series *candidate)
{
    for (size_t i = 0; i < n; i++) {
        bool related = !*series[i].series || !strcmp(series[i].series, candidate->series);
        if (&series[i] != candidate && series[i].refusal && related && !series[i].overview &&
            !repeats(&series[i], candidate))
            return &series[i];
    }
    return NULL;
}

/* Takes a series that the user named, or the only one if damaged files are allowed. A warning
   states what it may lack. */
static enum ts_status take_named(const struct dicom_series *series, size_t n,
                                 const struct dicom_series *named,
                                 const struct dicom_series **chosen, struct ts_diag *diag)
{
    const struct dicom_series *doubt = find_doubt(series, n, named);
    if (doubt && !named->refusal)
        ts_diag_warning(diag, &(struct diag_site){.code = doubt->refusal_code},
                        "series %d may lack slices that series %d holds: %s", named->number,
                        doubt->number, doubt->refusal);
    return choose_take(named, chosen, diag);
}

/* Returns true if the choice is the series UID of the image, its description, or # and its Series
   Number. */
static bool has_name(const struct dicom_image *image, const char *choice)
{
    const struct dicom_file *file = image->file;
    char number[32] = "";
    if (!isnan(file->series_number))
        snprintf(number, sizeof number, "#%.0f", file->series_number);
    return (*file->series && !strcmp(choice, file->series)) ||
           (*file->description && !strcmp(choice, file->description)) ||
           (*number && !strcmp(choice, number));
}

/* Counts the images of the series that have the name. */
static size_t count_named(const struct dicom_series *series, const char *choice)
{
    size_t n = 0;
    for (size_t i = 0; i < series->n_images; i++)
        n += has_name(series->images[i], choice);
    return n;
}

static enum ts_status choose_named(const struct dicom_series *series, size_t n, const char *choice,
                                   const struct dicom_series **chosen, struct ts_diag *diag)
{
    const struct dicom_series *match = NULL,
                              *part = NULL; /* part: only some of its images have the name */
    size_t matches = 0, named = 0;
    for (size_t i = 0; i < n; i++) {
        char number[16];
        snprintf(number, sizeof number, "%d", series[i].number);
        if (!strcmp(choice, number) && !series[i].left_out)
            return take_named(series, n, &series[i], chosen, diag);
        const size_t count = series[i].left_out ? 0 : count_named(&series[i], choice);
        match = count > 0 && count == series[i].n_images ? &series[i] : match;
        matches += count > 0 && count == series[i].n_images;
        part = count > 0 && count < series[i].n_images ? &series[i] : part;
        named = part == &series[i] ? count : named;
    }
    if (matches == 1 && !part)
        return take_named(series, n, match, chosen, diag);
    if (matches == 0 && part)
        ts_diag_error(
            diag, TS_BAD_INPUT, &(struct diag_site){.code = "series-ambiguous"},
            "only %zu of the %zu images of series %d have the UID, number or description '%s'",
            named, part->n_images, part->number, choice);
    else
        ts_diag_error(diag, TS_BAD_INPUT,
                      &(struct diag_site){.code = matches ? "series-ambiguous" : "series-unknown"},
                      matches ? "%zu groups of images share the UID, number or description '%s'"
                              : "%zu series have the number, UID or description '%s'",
                      matches + (part != NULL), choice);
    ts_diag_hint(diag, "give the number of one of the %zu below", n);
    list_series(series, n, diag);
    return TS_BAD_INPUT;
}

/* Returns true if Series Number is all that tells the series apart, as in volumes of one scan that
   Siemens XA numbers 16001, 16002, ... */
static bool differ_in_number(const struct dicom_series *a, const struct dicom_series *b)
{
    const struct dicom_image *first = a->images[0], *other = b->images[0];
    bool same = *a->series && !strcmp(a->series, b->series) && a->n_slices == b->n_slices &&
                ts_dicom_compare_content(first, other) == 0 && first->along_mm == other->along_mm;
    for (int k = 0; k < DICOM_SERIES_KEYS && same; k++)
        same = k == KEY_NUMBER || !strcmp(first->keys[k], other->keys[k]);
    return same && strcmp(first->keys[KEY_NUMBER], other->keys[KEY_NUMBER]) != 0;
}

/* Writes what a hint adds if settings divide the slices of a series, or attributes tear what would
   be a volume. */
static void hint_to_join(const struct dicom_series *series, size_t n, char *out, size_t size)
{
    char words[LINE_BYTES];
    *out = '\0';
    for (size_t i = 0; i < n && !*out; i++)
        if (series[i].apart)
            snprintf(out, size, "; split: none reads the slices of several settings as one volume");
    for (size_t i = 0; i < n && !*out; i++) {
        ts_dicom_join_list(&series[i], words, sizeof words);
        if (*words)
            snprintf(out, size,
                     "; `join: [%s]` reads series %d and those that differ only in that as one",
                     words, series[i].number);
    }
    for (size_t i = 1; i < n && !*out; i++)
        if (!series[i - 1].refusal && !series[i].refusal &&
            differ_in_number(&series[i - 1], &series[i]))
            snprintf(out, size,
                     "; `join: [number]` reads series %d and %d, which differ in Series Number "
                     "only, as one",
                     series[i - 1].number, series[i].number);
}

static enum ts_status choose_only(const struct dicom_series *series, size_t n, bool skip,
                                  const struct dicom_series **chosen, struct ts_diag *diag)
{
    const struct dicom_series *fit = NULL;
    size_t n_fit = 0, n_left = 0, n_all = 0; /* n_all: those that are fit, whatever `take` says */
    for (int overviews = 0; overviews < 2 && n_fit == 0; overviews++)
        for (size_t i = 0; i < n; i++) {
            n_left += !series[i].left_out && overviews == 0;
            n_all += !series[i].refusal && overviews == 0;
            if (!series[i].refusal && !series[i].left_out && series[i].overview == overviews) {
                fit = &series[i];
                n_fit++;
            }
        }
    if (n == 1 && n_left == 1)
        return choose_take(&series[0], chosen, diag);
    char takes[LINE_BYTES], join[2 * LINE_BYTES];
    hint_to_join(series, n, join, sizeof join);
    const struct dicom_series *doubt = n_fit == 1 ? find_doubt(series, n, fit) : NULL;
    if (n_fit == 1 && (!doubt || (skip && ts_dicom_is_damage(doubt->refusal_code))))
        return take_named(series, n, fit, chosen, diag);
    if (doubt) {
        ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = doubt->refusal_code},
                      "series %d may lack slices that series %d holds: %s", fit->number,
                      doubt->number, doubt->refusal);
        struct dicom_lack lacks[DICOM_MAX_LACKS];
        if (ts_dicom_lacks(fit, lacks) > 0)
            ts_diag_hint(diag, "%s", lacks[0].hint);
        else
            ts_diag_hint(diag, "mend or remove those files, or say series: %d%s", fit->number,
                         join);
    } else if (n_left == 0) {
        ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "take-unknown"},
                      "none of the %zu series in the input has what `take` says", n);
        const bool all = dicom_list_takes(series, n, takes, sizeof takes);
        if (*takes)
            ts_diag_hint(diag,
                         "a number chooses a volume, one with ms, s or s/mm2 a value, a word a "
                         "kind; there are: %s%s",
                         takes, all ? "" : "; series: N chooses others");
        else if (n_all == 1)
            ts_diag_hint(diag, "leave out `take`: only one volume is fit for a run");
        else
            ts_diag_hint(diag, "choose one with series: N%s",
                         n_all == 0 ? " to see its way out" : "");
    } else if (n_fit == 0) {
        ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "no-volume"},
                      "none of the %zu series in the input is one clean volume", n);
        ts_diag_hint(diag, "choose one with series: N to see its way out%s", join);
    } else {
        ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "several-series"},
                      "the input holds %zu series, %zu of them fit for a run", n, n_fit);
        const bool all = dicom_list_takes(series, n, takes, sizeof takes) && *takes;
        ts_diag_hint(diag, "choose one with series: N%s%s%s", all ? ", or with `take`: " : "",
                     all ? takes : "", join);
    }
    list_series(series, n, diag);
    return TS_BAD_INPUT;
}

enum ts_status ts_dicom_choose(const struct dicom_series *series, size_t n_series,
                               const char *choice, const struct dicom_folder *folder,
                               const struct dicom_series **chosen, struct ts_diag *diag)
{
    *chosen = NULL;
    if (n_series == 0)
        return ts_dicom_refuse_no_images(folder, diag);
    if (choice && *choice)
        return choose_named(series, n_series, choice, chosen, diag);
    return choose_only(series, n_series, folder->skip, chosen, diag);
}
