/* SPDX-License-Identifier: Apache-2.0
 *
 * Compares the inputs of a result with the images that are there now. The inputs are opened by a
 * plan of the result's chain without its stages, so that series, ranges of slices and masks are
 * chosen as in the run. If that gives other slices, or refuses a DICOM series because a slice is
 * missing, every file is decoded by itself, so that missing, changed and additional ones can be
 * named.
 */
#include "program/record/inputs.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/available.h"
#include "io/dicom/dicom.h"
#include "io/dicom_header/dicom_scan.h"
#include "io/file/digest_tree.h"
#include "io/hdf5/hdf5_slice.h"
#include "io/hdf5/hdf5_texts.h"
#include "io/source/source_slices.h"
#include "io/source/source_walk.h"
#include "pipeline/chain/chain_build.h"
#include "pipeline/chain/chain_input.h"
#include "pipeline/plan/plan.h"

/* ---- slices of inputs ------------------------------------------------------------------------ */

/* A slice is the one that was used if it has the same pixels at the same place. If the same pixels
   are at another place, it has been moved: a volume upside down is a different one. If the place of
   an unmatched slice has other pixels, they have changed. Blank slices have equal digests, so
   slices at their own place are matched first. */

struct input_slice {
    const char *pixels, *instance; /* digests, as in struct source_slice */
    double place[3];
    const char *name;   /* name of the file; NULL if it is not known */
    const char *series; /* UID of the series of a DICOM file; else "" */
    bool matched;       /* it is matched with a slice of the other list */
};

struct input_slices {
    struct input_slice *items;
    size_t n;
};

/* ---- lists of slices ------------------------------------------------------------------------- */

static bool grow(struct input_slices *slices, size_t more, struct arena *arena)
{
    struct input_slice *items = ts_arena_alloc(arena, (slices->n + more + 1) * sizeof *items);
    if (items && slices->n > 0)
        memcpy(items, slices->items, slices->n * sizeof *items);
    slices->items = items;
    return items != NULL;
}

/* Adds the slices of a source that was read, in the order of the result's lists. */
static enum ts_status add_slices(struct input_slices *slices, const struct source *source,
                                 const char *name, const char *series, struct arena *arena,
                                 struct ts_diag *diag)
{
    const size_t n = (size_t)ts_source_total(source);
    bool complete = grow(slices, n, arena);
    for (size_t i = 0; complete && i < n; i++) {
        const struct source_slice *slice = &source->slices[ts_source_number(source, (int64_t)i)];
        struct input_slice *item = &slices->items[slices->n++];
        *item = (struct input_slice){.name = name, .series = series};
        item->pixels = ts_arena_text(arena, slice->pixel_sha256, strlen(slice->pixel_sha256));
        item->instance = ts_arena_text(arena, slice->instance_hmac, strlen(slice->instance_hmac));
        memcpy(item->place, slice->position_mm, sizeof item->place);
        complete = item->pixels && item->instance;
    }
    return complete ? TS_OK : ts_diag_no_memory(diag, n * sizeof *slices->items);
}

/* Reads the slices that a result recorded of this input. */
static enum ts_status read_recorded(const struct recorded *recorded, const char *name,
                                    struct input_slices *slices, struct ts_diag *diag)
{
    const char *const *pixels = NULL, *const *instances = NULL;
    size_t n = 0, n_instances = 0;
    struct hdf5_slice places = {0};
    char dataset[256];
    *slices = (struct input_slices){0};
    snprintf(dataset, sizeof dataset, "/entry/inputs/%s/slice_pixel_sha256", name);
    enum ts_status status = ts_hdf5_read_texts(recorded->sandbox, recorded->path, dataset,
                                               recorded->arena, &pixels, &n, diag);
    snprintf(dataset, sizeof dataset, "/entry/inputs/%s/slice_instance_hmac", name);
    if (status == TS_OK)
        status = ts_hdf5_read_texts(recorded->sandbox, recorded->path, dataset, recorded->arena,
                                    &instances, &n_instances, diag);
    snprintf(dataset, sizeof dataset, "/entry/inputs/%s/slice_position", name);
    if (status == TS_OK)
        status = ts_hdf5_read_slice(recorded->path, dataset, 0, &places, diag);
    const bool fits = n > 0 && n_instances == n && places.rows == (int64_t)n && places.columns == 3;
    if (status == TS_OK && !fits)
        status =
            ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "inputs-not-recorded"},
                          "%s records no digests of the slices of '%s'", recorded->path, name);
    if (status == TS_OK && !grow(slices, n, recorded->arena))
        status = ts_diag_no_memory(diag, n * sizeof *slices->items);
    for (size_t i = 0; status == TS_OK && i < n; i++) {
        slices->items[i] =
            (struct input_slice){.pixels = pixels[i], .instance = instances[i], .series = ""};
        for (int d = 0; d < 3; d++)
            slices->items[i].place[d] = (double)places.values[3 * i + (size_t)d];
    }
    slices->n = status == TS_OK ? n : 0;
    free(places.values);
    return status;
}

/* ---- files by themselves --------------------------------------------------------------------- */

static enum ts_status add_file(struct ts_chain *chain, const struct dicom_file *file,
                               struct arena *arena, struct input_slices *slices,
                               struct ts_diag *diag)
{
    struct ts_diag *own = ts_diag_create(); /* errors of this file do not count here */
    struct source *source = NULL;
    if (!own)
        return ts_diag_no_memory(diag, sizeof source);
    enum ts_status status = ts_chain_set_path(chain, &chain->sources[0], file->path, own);
    if (status == TS_OK)
        status = ts_source_open(chain->sources[0].format, &chain->sources[0].set, &source, own);
    if (status == TS_OK)
        status = ts_source_walk(&(struct source_walk){.source = source}, own);
    enum ts_status added = TS_OK;
    if (status == TS_OK)
        added = add_slices(slices, source, file->path, file->series, arena, diag);
    if (source)
        source->ops->close(source);
    ts_diag_destroy(own);
    return added;
}

/* Lists the slices of every DICOM image in the paths, each file by itself, so that it can be named.
   Omits files that cannot be read. */
static enum ts_status list_files(const char *const *paths, size_t n_paths, struct arena *arena,
                                 struct input_slices *slices, struct ts_diag *diag)
{
    struct dicom_folder folder = {0};
    struct ts_chain *chain = NULL;
    *slices = (struct input_slices){0};
    enum ts_status status = ts_dicom_scan(paths, n_paths, arena, &folder, diag);
    if (status == TS_OK)
        status = ts_chain_of_input("dicom x burned_in=allow incomplete=allow", "verify", NULL,
                                   &chain, diag);
    for (size_t i = 0; i < folder.n_files && status == TS_OK; i++)
        status = add_file(chain, &folder.files[i], arena, slices, diag);
    ts_chain_destroy(chain);
    return status;
}

/* ---- matching -------------------------------------------------------------------------------- */

static int by_pixels(const void *a, const void *b)
{
    return strcmp((*(struct input_slice *const *)a)->pixels,
                  (*(struct input_slice *const *)b)->pixels);
}

static void match(struct input_slice *a, struct input_slice *b, struct inputs_found *found)
{
    a->matched = b->matched = true;
    a->series = b->series;
    found->n_same++;
    found->n_instances += *a->instance && !strcmp(a->instance, b->instance);
}

static bool same_place(const struct input_slice *a, const struct input_slice *b)
{
    bool same = true;
    for (int d = 0; d < 3; d++)
        same &= fabs(a->place[d] - b->place[d]) <= 1e-3 + 1e-6 * fabs(a->place[d]);
    return same;
}

/* Matches slices of which the run read no pixels, as of an image that only gave its grid, by their
   places. */
static void match_unread(const struct input_slices *used, const struct input_slices *there,
                         struct inputs_found *found)
{
    for (size_t i = 0; i < used->n; i++) {
        struct input_slice *slice = &used->items[i];
        for (size_t k = 0; k < there->n && !*slice->pixels && !slice->matched; k++) {
            struct input_slice *other =
                &there->items[(i + k) % there->n]; /* the slice of the same number comes first */
            if (!other->matched && same_place(slice, other)) {
                match(slice, other, found);
                found->n_unread++;
            }
        }
    }
}

/* Finds an unmatched slice with these pixels: at the same place, or, if `anywhere`, at any. */
static struct input_slice *find_pixels(const struct input_slice *slice, struct input_slice **sorted,
                                       size_t n, bool anywhere)
{
    size_t low = 0, high = n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (strcmp(sorted[middle]->pixels, slice->pixels) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < n && !strcmp(sorted[low]->pixels, slice->pixels); low++)
        if (!sorted[low]->matched && (anywhere || same_place(slice, sorted[low])))
            return sorted[low];
    return NULL;
}

/* Returns true if the series is that of a matched slice, or if no slice matched. */
static bool is_of_series(const struct input_slices *used, const struct input_slice *slice,
                         const struct inputs_found *found)
{
    bool known = found->n_same == 0 || !*slice->series;
    for (size_t i = 0; i < used->n && !known; i++)
        known = used->items[i].matched && !strcmp(used->items[i].series, slice->series);
    return known;
}

static void inputs_describe(char out[512], const struct input_slice *slice, size_t i,
                            const char *what)
{
    char shown[300];
    ts_text_escape(shown, sizeof shown, slice->name ? slice->name : "");
    snprintf(out, 512, "%s%sslice %zu at (%.6g, %.6g, %.6g)%s", shown, *shown ? ", " : "", i,
             slice->place[0], slice->place[1], slice->place[2], what);
}

static void inputs_count(struct inputs_found *found, enum inputs_kind kind,
                         const struct input_slice *slice, size_t i)
{
    if (found->counts[kind]++ == 0)
        inputs_describe(found->first[kind], slice, i, "");
}

/* Counts slices whose pixels are now at the place of another slice. `there` is the list of present
   slices. */
static void match_moved(const struct input_slices *used, const struct input_slices *there,
                        struct input_slice **sorted, struct inputs_found *found)
{
    for (size_t i = 0; i < used->n; i++) {
        struct input_slice *slice = &used->items[i];
        struct input_slice *other =
            slice->matched || !*slice->pixels ? NULL : find_pixels(slice, sorted, there->n, true);
        if (!other)
            continue;
        slice->matched = other->matched = true;
        slice->name = other->name;
        slice->series = other->series;
        if (found->counts[INPUTS_MOVED]++ > 0)
            continue;
        char now[160];
        if (same_place(slice, other))
            snprintf(now, sizeof now, ", now slice %td", other - there->items);
        else
            snprintf(now, sizeof now, ", now at (%.6g, %.6g, %.6g)", other->place[0],
                     other->place[1], other->place[2]);
        inputs_describe(found->first[INPUTS_MOVED], slice, i, now);
    }
}

/* Matches slices by their pixels and their places, and counts in *found those that are left. If
   both lists are equally long and `there` has the order of the image too (`ordered`), the number of
   a slice is its place. Counts additional slices only if `count_additional`, and only those of the
   DICOM series of matched slices. Returns TS_RUN_FAILED if memory is out. */
static enum ts_status match_slices(const struct input_slices *used,
                                   const struct input_slices *there, bool ordered,
                                   bool count_additional, struct inputs_found *found,
                                   struct ts_diag *diag)
{
    const bool by_number = ordered && used->n == there->n;
    struct input_slice **sorted = malloc((there->n + 1) * sizeof *sorted);
    if (!sorted)
        return ts_diag_no_memory(diag, (there->n + 1) * sizeof *sorted);
    for (size_t i = 0; i < there->n; i++)
        sorted[i] = &there->items[i];
    qsort(sorted, there->n, sizeof *sorted, by_pixels);
    for (size_t i = 0; i < used->n; i++) {
        struct input_slice *slice = &used->items[i], *other = by_number ? &there->items[i] : NULL;
        if (other && strcmp(slice->pixels, other->pixels) != 0)
            other = NULL;
        if (!by_number && *slice->pixels)
            other = find_pixels(slice, sorted, there->n, false);
        if (other)
            match(slice, other, found);
    }
    match_unread(used, there, found);
    match_moved(used, there, sorted, found);
    free(sorted);
    for (size_t i = 0; i < used->n; i++) {
        struct input_slice *slice = &used->items[i], *other = NULL;
        for (size_t k = 0; k < there->n && !slice->matched && !other; k++)
            if (!there->items[k].matched && same_place(slice, &there->items[k]) &&
                is_of_series(used, &there->items[k], found))
                other = &there->items[k];
        if (other) {
            other->matched = true;
            slice->name = other->name;
        }
        if (!slice->matched)
            inputs_count(found, other ? INPUTS_CHANGED : INPUTS_MISSING, slice, i);
    }
    for (size_t k = 0; k < there->n && count_additional; k++)
        if (!there->items[k].matched && found->n_same > 0 &&
            is_of_series(used, &there->items[k], found))
            inputs_count(found, INPUTS_ADDITIONAL, &there->items[k], k);
    return TS_OK;
}

/* ---- what is recorded beside pixels ---------------------------------------------------------- */

/* Notes that a fact has changed. Returns true if it is the first one, which the caller then
   describes. */
static bool inputs_differs(struct inputs_found *found, const char *name)
{
    const bool first = !found->facts;
    found->facts = first ? name : found->facts;
    return first;
}

/* Compares the digest of a fact of this input in the result with its present digest. Older results
   lack some facts. */
static enum inputs_fact compare_fact(const struct recorded *recorded, const char *input,
                                     const char *name, const void *data, size_t bytes)
{
    char path[300], digest[DIGEST_TEXT_BYTES];
    snprintf(path, sizeof path, "inputs/%s/%s", input, name);
    const struct made_fact *fact = ts_made_find(&recorded->made, path);
    if (!fact)
        return INPUTS_FACT_ABSENT;
    const bool same = ts_digest_tree_of(data, bytes, digest) && !strcmp(digest, fact->digest);
    return same ? INPUTS_FACT_SAME : INPUTS_FACT_OTHER;
}

/* Describes the first number that visibly differs from the recorded one. */
static void describe_number(const struct recorded *recorded, const char *input, const char *name,
                            const double *numbers, size_t n, const char *what, size_t columns,
                            struct inputs_found *found)
{
    struct ts_diag *own =
        ts_diag_create(); /* without the recorded numbers, only the fact can be named */
    struct hdf5_slice old = {0};
    char path[300];
    snprintf(path, sizeof path, "/entry/inputs/%s/%s", input, name);
    const bool is_read = own && ts_hdf5_read_slice(recorded->path, path, 0, &old, own) == TS_OK;
    const size_t n_old = is_read ? (size_t)(old.rows * old.columns) : 0;
    for (size_t i = 0; i < n && i < n_old && !*found->detail; i++) {
        const double was = (double)old.values[i];
        if (fabs(numbers[i] - was) > 1e-6 * fmax(fabs(was), fabs(numbers[i])))
            snprintf(found->detail, sizeof found->detail, ": %s %zu has %.9g, not %.9g", what,
                     i / columns, numbers[i], was);
    }
    free(old.values);
    ts_diag_destroy(own);
}

/* Compares a list of numbers, `columns` for each slice, view or volume. */
static void check_numbers(const struct recorded *recorded, const char *input, const char *name,
                          const char *what, size_t columns, const double *numbers, size_t n,
                          struct inputs_found *found)
{
    if (compare_fact(recorded, input, name, numbers, n * sizeof *numbers) == INPUTS_FACT_OTHER &&
        inputs_differs(found, name))
        describe_number(recorded, input, name, numbers, n, what, columns, found);
}

/* Compares the numbers of padding pixels, which are known after all slices were read. */
static void check_padding(const struct recorded *recorded, const struct source *source,
                          struct inputs_found *found)
{
    uint64_t count = 0;
    for (int64_t i = 0; i < ts_source_total(source); i++)
        count += (uint64_t)source->slices[ts_source_number(source, i)].padding_count;
    const char *was = ts_made_value(&recorded->made, "inputs/%s/padding_count", found->name);
    if (compare_fact(recorded, found->name, "padding_count", &count, sizeof count) ==
            INPUTS_FACT_OTHER &&
        inputs_differs(found, "padding_count") && *was)
        snprintf(found->detail, sizeof found->detail, ": %" PRIu64 ", not %.40s", count, was);
}

/* Describes the first of the parts, separated by semicolons, in which two texts differ. */
static void describe_part(const char *now, const char *was, struct inputs_found *found)
{
    size_t n_now = strcspn(now, ";"), n_was = strcspn(was, ";");
    while (n_now == n_was && !strncmp(now, was, n_now) && now[n_now] && was[n_was]) {
        now += n_now + 1 + (now[n_now + 1] == ' ');
        was += n_was + 1 + (was[n_was + 1] == ' ');
        n_now = strcspn(now, ";");
        n_was = strcspn(was, ";");
    }
    char text[200];
    snprintf(text, sizeof text, "%.*s", (int)n_was, was);
    char shown[300];
    ts_text_escape(shown, sizeof shown, text);
    snprintf(found->detail, sizeof found->detail, ": '%.*s', not '%.180s'",
             (int)(n_now < 180 ? n_now : 180), now, shown);
}

static void check_text(const struct recorded *recorded, const char *input, const char *name,
                       const char *text, struct inputs_found *found)
{
    const char *was = ts_made_value(&recorded->made, "inputs/%s/%s", input, name);
    if (compare_fact(recorded, input, name, text, strlen(text)) == INPUTS_FACT_OTHER &&
        inputs_differs(found, name) && *was)
        describe_part(text, was, found);
}

enum ts_status ts_inputs_facts(const struct recorded *recorded, const struct source *source,
                               const char *input, struct inputs_found *found, struct ts_diag *diag)
{
    const size_t n = (size_t)ts_source_total(source);
    const struct ts_axis *views = &source->image.axes[1];
    const size_t n_views = ts_image_is_sinogram(&source->image) ? (size_t)views->n : 0;
    const size_t n_volumes = source->n_volumes > 1 ? (size_t)source->n_volumes : 0;
    double *numbers = malloc((5 * n + n_views + n_volumes + 1) * sizeof *numbers);
    if (!numbers)
        return ts_diag_no_memory(diag, (5 * n + n_views + n_volumes) * sizeof *numbers);
    double *slope = numbers, *intercept = numbers + n, *place = numbers + 2 * n,
           *angles = numbers + 5 * n;
    double *volumes = angles + n_views;
    for (size_t i = 0; i < n; i++) {
        const struct source_slice *slice = &source->slices[ts_source_number(source, (int64_t)i)];
        slope[i] = slice->slope;
        intercept[i] = slice->intercept;
        memcpy(place + 3 * i, slice->position_mm, 3 * sizeof *place);
    }
    for (size_t i = 0; i < n_views; i++)
        angles[i] =
            views->positions ? views->positions[i] : views->first + (double)i * views->spacing;
    for (size_t i = 0; i < n_volumes; i++)
        volumes[i] = ts_axis_position(&source->volume_axis, (int64_t)i);
    check_numbers(recorded, input, "slice_slope", "slice", 1, slope, n, found);
    check_numbers(recorded, input, "slice_intercept", "slice", 1, intercept, n, found);
    check_numbers(recorded, input, "slice_position", "slice", 3, place, 3 * n, found);
    if (n_views > 0 && views->unit && !strcmp(views->unit, "degree"))
        check_numbers(recorded, input, "angles", "view", 1, angles, n_views, found);
    if (n_volumes > 0) {
        check_text(recorded, input, "volume_axis", ts_axis_name(&source->volume_axis), found);
        check_numbers(recorded, input, "volume_position", "volume", 1, volumes, n_volumes, found);
    }
    char grid[SOURCE_GRID_BYTES];
    ts_source_grid_text(&source->image, grid);
    check_text(recorded, input, "grid", grid, found);
    free(numbers);
    return TS_OK;
}

/* ---- what headers say ------------------------------------------------------------------------ */

enum inputs_fact ts_inputs_attribute(const struct recorded *recorded, const char *input,
                                     const struct source_attribute *attribute)
{
    const int64_t columns = attribute->columns > 0 ? attribute->columns : 1;
    const void *data = attribute->numbers ? (const void *)attribute->numbers : attribute->value;
    size_t bytes = 1;
    if (attribute->numbers)
        bytes = (size_t)(attribute->n * columns) * sizeof(double);
    else if (*attribute->value)
        bytes = strlen(attribute->value);
    return compare_fact(recorded, input, attribute->name, data, bytes);
}

bool ts_inputs_is_of_values(const char *name)
{
    static const char *const names[] = {"slice_pixel_sha256", "slice_slope",  "slice_intercept",
                                        "slice_position",     "angles",       "volume_axis",
                                        "volume_position",    "padding_count"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i]))
            return true;
    return false;
}

bool ts_inputs_is_of_folder(const char *name)
{
    return !strncmp(name, "files_", 6) || !strcmp(name, "warnings");
}

/* Lists the facts that the result and the source state differently, except the number of a series
   in its folder. */
static void compare_headers(const struct recorded *recorded, const struct source *source,
                            struct inputs_found *found)
{
    size_t used = 0;
    for (size_t i = 0; i < source->n_attributes; i++) {
        const struct source_attribute *attribute = &source->attributes[i];
        const size_t left = sizeof found->headers - used;
        const bool of_folder =
            ts_inputs_is_of_folder(attribute->name) || !strcmp(attribute->name, "series_of_input");
        if (!of_folder && strlen(attribute->name) + 3 < left &&
            ts_inputs_attribute(recorded, found->name, attribute) == INPUTS_FACT_OTHER)
            used += (size_t)snprintf(found->headers + used, left, "%s%s", used > 0 ? ", " : "",
                                     attribute->name);
    }
}

/* ---- one input ------------------------------------------------------------------------------- */

static bool is_whole(const struct inputs_found *found)
{
    return found->n_same == found->n && !found->facts && found->counts[INPUTS_ADDITIONAL] == 0;
}

/* Returns the parameters of a DICOM input whose files can be checked one by one; NULL if they
   cannot, as with masked pixels, which differ from those of the file. */
static const struct dicom_params *files_of(const struct chain_source *source)
{
    const struct dicom_params *params = source->set.values;
    return source->format == &dicom_format && params->burned_in != BURNED_IN_MASK ? params : NULL;
}

/* Checks the files of a DICOM input. Additional files count if the run took all slices of its
   series. A series that was chosen from several may share its UID with them, for example with other
   echoes. */
static enum ts_status check_files(struct recorded *recorded, const struct dicom_params *params,
                                  bool opened, const struct input_slices *used,
                                  struct inputs_found *found, struct ts_diag *diag)
{
    struct input_slices there;
    const bool all =
        params->slices.rows == 0 && params->take.n == 0 && params->split.n == 0 && !*params->series;
    enum ts_status status =
        list_files(params->dicom.items, params->dicom.n, recorded->arena, &there, diag);
    struct inputs_found files = *found;
    files.n_same = files.n_unread = files.n_instances = 0;
    memset(files.counts, 0, sizeof files.counts);
    for (size_t i = 0; i < used->n; i++)
        used->items[i].matched = false;
    if (status == TS_OK)
        status = match_slices(used, &there, false, all, &files, diag);
    /* Single files do not tell to which volume of a series they belong, so the finding about the
       whole input counts. */
    if (!opened || !is_whole(&files))
        *found = files;
    return status;
}

/* Checks one input. `source` is NULL if it could not be opened as a whole. */
static enum ts_status check_input(struct recorded *recorded, int32_t index, struct source *source,
                                  struct inputs_found *found, struct ts_diag *diag)
{
    const struct chain_source *input = &recorded->chain->sources[index];
    const struct dicom_params *params = files_of(input);
    struct input_slices used, there = {0};
    *found = (struct inputs_found){.name = input->name};
    enum ts_status status = read_recorded(recorded, input->name, &used, diag);
    found->n = (int64_t)used.n;
    if (status == TS_OK && source)
        status = ts_source_walk(&(struct source_walk){.source = source}, diag);
    if (status == TS_OK && source)
        status = add_slices(&there, source, NULL, "", recorded->arena, diag);
    if (status == TS_OK && source)
        status = match_slices(&used, &there, true, true, found, diag);
    if (status == TS_OK && source && used.n == there.n)
        status = ts_inputs_facts(recorded, source, input->name, found, diag);
    if (status == TS_OK && source && used.n == there.n && found->n_unread == 0)
        check_padding(recorded, source, found);
    if (status == TS_OK && source)
        compare_headers(recorded, source, found);
    if (status == TS_OK && params && !(source && is_whole(found)))
        status = check_files(recorded, params, source != NULL, &used, found, diag);
    bool has_instances = false;
    for (size_t i = 0; i < used.n; i++)
        has_instances |= *used.items[i].instance != '\0';
    found->n_instances = has_instances ? found->n_instances : -1;
    return status;
}

/* ---- all inputs ------------------------------------------------------------------------------ */

static enum ts_status inputs_refuse(const struct inputs_found *found, struct ts_diag *diag)
{
    static const char *const kinds[] = {"missing", "changed", "at another place", "additional"};
    char text[4096] = "";
    size_t used = 0;
    for (int kind = 0; kind < INPUTS_KINDS; kind++)
        if (found->counts[kind] > 0)
            used +=
                (size_t)snprintf(text + used, sizeof text - used, "; %lld %s, the first: %s",
                                 (long long)found->counts[kind], kinds[kind], found->first[kind]);
    if (found->facts)
        snprintf(text + used, sizeof text - used, "; %s is not what was recorded%s", found->facts,
                 found->detail);
    return ts_diag_error(diag, TS_BAD_INPUT,
                         &(struct diag_site){.code = "inputs-differ", .stage = found->name},
                         "%lld of %lld slices are those that were used%s", (long long)found->n_same,
                         (long long)found->n, text);
}

/* Checks the DICOM inputs file by file if no plan can open them, and keeps the reason as a hint. */
static enum ts_status check_without_plan(struct recorded *recorded, struct inputs_found *found,
                                         const struct ts_diag *reason, struct ts_diag *diag)
{
    enum ts_status status = TS_OK;
    bool differs = false;
    for (int32_t i = 0; i < recorded->chain->n_sources && status == TS_OK; i++)
        if (files_of(&recorded->chain->sources[i])) {
            status = check_input(recorded, i, NULL, &found[i], diag);
            if (status == TS_OK && !is_whole(&found[i])) {
                differs = true;
                (void)inputs_refuse(&found[i], diag);
            }
        }
    if (status != TS_OK)
        return status;
    if (!differs)
        ts_diag_append(diag, reason);
    else if (ts_diag_first_error(reason))
        (void)ts_diag_hint(diag, "as a run would refuse it: %s", ts_diag_first_error(reason));
    return TS_BAD_INPUT;
}

/* Plans the chain without its stages, which opens its inputs. Errors go to a separate list,
 *own. */
static enum ts_status open_inputs(const struct recorded *recorded, struct ts_plan **plan,
                                  struct ts_diag **own, struct ts_diag *diag)
{
    struct ts_chain inputs = *recorded->chain;
    const struct ts_options options = {.size = sizeof options, .device = "cpu"};
    *plan = NULL;
    *own = ts_diag_create();
    if (!*own)
        return ts_diag_no_memory(diag, sizeof inputs);
    inputs.n_stages = 0;
    inputs.sweep = (struct chain_sweep){0}; /* it names a stage */
    inputs.part = true;
    return ts_plan_create(&inputs, &options, plan, *own);
}

enum ts_status ts_inputs_check(struct recorded *recorded,
                               struct inputs_found found[CHAIN_MAX_SOURCES], struct ts_diag *diag)
{
    struct ts_diag *own;
    struct ts_plan *plan;
    enum ts_status status = open_inputs(recorded, &plan, &own, diag);
    if (status == TS_BAD_INPUT) {
        status = check_without_plan(recorded, found, own, diag);
    } else if (own) {
        ts_diag_append(diag, own);
        for (int32_t i = 0; i < recorded->chain->n_sources && status == TS_OK; i++) {
            status = check_input(recorded, i, plan->nodes[i].source, &found[i], diag);
            if (status == TS_OK && !is_whole(&found[i]))
                status = inputs_refuse(&found[i], diag);
        }
    }
    ts_plan_destroy(plan);
    ts_diag_destroy(own);
    return status;
}

/* Compares one input by its headers and its first slice. */
static enum ts_status glance(struct recorded *recorded, struct source *source, const char *name,
                             bool *differs, struct ts_diag *diag)
{
    struct input_slices used;
    struct inputs_found found = {.name = name};
    void *slice = NULL;
    enum ts_status status = read_recorded(recorded, name, &used, diag);
    *differs = status == TS_OK && (int64_t)used.n != ts_source_total(source);
    if (status == TS_OK && !*differs)
        status = ts_inputs_facts(recorded, source, name, &found, diag);
    *differs |= found.facts != NULL;
    if (status != TS_OK || *differs || !*used.items[0].pixels)
        return status;
    slice = malloc(ts_slice_bytes(&source->image));
    if (!slice)
        return ts_diag_no_memory(diag, ts_slice_bytes(&source->image));
    if (source->ops->start)
        status = source->ops->start(source, 1, 1, diag);
    if (status == TS_OK)
        status = ts_source_read(source, 0, 1, slice, diag);
    *differs = status == TS_OK && strcmp(source->slices[0].pixel_sha256, used.items[0].pixels) != 0;
    free(slice);
    return status;
}

enum ts_status ts_inputs_glance(struct recorded *recorded, const char **other, struct ts_diag *diag)
{
    struct ts_diag *own;
    struct ts_plan *plan;
    bool differs = false;
    *other = NULL;
    enum ts_status status = open_inputs(recorded, &plan, &own, diag);
    if (own && status != TS_RUN_FAILED)
        status = TS_OK; /* if an input cannot be opened, the run will refuse it */
    for (int32_t i = 0; plan && i < recorded->chain->n_sources && status == TS_OK && !differs;
         i++) {
        *other = recorded->chain->sources[i].name;
        status = glance(recorded, plan->nodes[i].source, *other, &differs, own);
    }
    *other = differs ? *other : NULL;
    if (own && status != TS_OK)
        ts_diag_append(diag, own);
    ts_plan_destroy(plan);
    ts_diag_destroy(own);
    return status;
}
