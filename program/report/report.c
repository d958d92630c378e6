/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the page: one record in JSON, which page.js draws, and a text for readers without scripts.
 * The file is verified before anything is read from it. The page is made in memory and written when
 * it is whole, so that a failure leaves none. Its policy lets the page load nothing from outside,
 * and run no script but its own, whose digest it states.
 */
#include "program/report/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/svg.h"
#include "io/file/digest.h"
#include "io/file/whole_file.h"
#include "io/hdf5/hdf5_slice.h"
#include "io/hdf5/hdf5_texts.h"
#include "io/hdf5/hdf5_write.h"
#include "program/report/facts.h"
#include "program/report/residuals.h"
#include "program/show/base64.h"

enum { PATH_BYTES = 512, MOST_SLICES = 2048, RECORD_VERSION = 1 };

static void write_texts(struct json *json, const char *key, const char *const *texts, size_t n)
{
    ts_json_open_member(json, key, '[');
    for (size_t i = 0; i < n; i++)
        ts_json_text(json, texts[i]);
    ts_json_close(json, ']');
}

/* ---- the chain ------------------------------------------------------------------------------- */

/* Writes the text of the chain, which has every value and can be used as a chain file. */
static void write_chain(const struct report_facts *facts, struct json *json)
{
    char digest[DIGEST_TEXT_BYTES];
    const bool known = *facts->chain && ts_digest_of(facts->chain, strlen(facts->chain), digest);
    ts_json_open_member(json, "chain", '{');
    ts_json_member_text(json, "text", facts->chain);
    ts_json_member_text(json, "sha256", known ? digest : NULL);
    ts_json_close(json, '}');
    if (facts->sweep.n == 0)
        return;
    ts_json_open_member(json, "sweep", '{');
    ts_json_member_text(json, "stage", facts->stages[facts->sweep.stage].label);
    ts_json_member_text(json, "parameter", facts->sweep.param);
    write_texts(json, "values", facts->sweep.values, (size_t)facts->sweep.n);
    write_texts(json, "names", facts->sweep.names, (size_t)facts->sweep.n);
    ts_json_close(json, '}');
}

static void write_stages(const struct report_facts *facts, struct json *json)
{
    ts_json_open_member(json, "stages", '[');
    for (size_t i = 0; i < facts->n_stages; i++) {
        const struct report_stage *stage = &facts->stages[i];
        ts_json_open(json, '{');
        ts_json_member_text(json, "group", stage->of->group);
        ts_json_member_integer(json, "number", stage->of->number);
        ts_json_member_text(json, "label", stage->label);
        ts_json_member_integer(json, "value", stage->value);
        ts_json_close(json, '}');
    }
    ts_json_close(json, ']');
}

/* ---- inputs ---------------------------------------------------------------------------------- */

/* Slices have their positions and the digests of their pixels, by which whoever has the images can
   identify them. */

static enum ts_status read_texts(const struct report_facts *facts, const char *input,
                                 const char *name, const char *const **texts, size_t *n,
                                 struct ts_diag *diag)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "/entry/inputs/%s/%s", input, name);
    return ts_hdf5_read_texts(NULL, facts->path, path, facts->arena, texts, n, diag);
}

/* Writes the range of the angles if their list is too long for the list of datasets. */
static enum ts_status write_angles(const struct report_facts *facts, const char *input,
                                   struct json *json, struct ts_diag *diag)
{
    struct hdf5_slice angles = {0};
    const struct hdf5_listed *found = ts_report_dataset(facts, "/entry/inputs/%s/angles", input);
    double least = INFINITY, largest = -INFINITY;
    if (!found || found->value)
        return TS_OK;
    const enum ts_status status = ts_hdf5_read_slice(facts->path, found->path, -1, &angles, diag);
    for (int64_t i = 0; status == TS_OK && i < angles.rows * angles.columns; i++) {
        least = fmin(least, (double)angles.values[i]);
        largest = fmax(largest, (double)angles.values[i]);
    }
    ts_json_member_real(json, "least_angle", least);
    ts_json_member_real(json, "largest_angle", largest);
    free(angles.values);
    return status;
}

static enum ts_status write_slices(const struct report_facts *facts, const char *input,
                                   struct json *json, struct ts_diag *diag)
{
    const char *const *digests = NULL, *const *instances = NULL;
    size_t n = 0, n_instances = 0;
    struct hdf5_slice at = {0};
    enum ts_status status = TS_OK;
    const struct hdf5_listed *found =
        ts_report_dataset(facts, "/entry/inputs/%s/slice_position", input);
    if (found)
        status = ts_hdf5_read_slice(facts->path, found->path, -1, &at, diag);
    if (status == TS_OK)
        status = read_texts(facts, input, "slice_pixel_sha256", &digests, &n, diag);
    if (status == TS_OK)
        status = read_texts(facts, input, "slice_instance_hmac", &instances, &n_instances, diag);
    ts_json_open_member(json, "slices", '[');
    for (size_t i = 0; status == TS_OK && i < n && i < MOST_SLICES; i++) {
        ts_json_open(json, '{');
        ts_json_open_member(json, "position", '[');
        for (int64_t k = 0; at.values && (int64_t)i < at.rows && k < at.columns && k < 3; k++)
            ts_json_real(json, (double)at.values[at.columns * (int64_t)i + k]);
        ts_json_close(json, ']');
        ts_json_member_text(json, "sha256", digests[i]);
        ts_json_member_text(json, "instance", i < n_instances ? instances[i] : "");
        ts_json_close(json, '}');
    }
    ts_json_close(json, ']');
    free(at.values);
    return status;
}

static enum ts_status write_inputs(const struct report_facts *facts, struct json *json,
                                   struct ts_diag *diag)
{
    enum ts_status status = TS_OK;
    ts_json_open_member(json, "inputs", '[');
    for (size_t i = 0; status == TS_OK && i < facts->n_inputs; i++) {
        ts_json_open(json, '{');
        ts_json_member_text(json, "name", facts->inputs[i]);
        status = write_angles(facts, facts->inputs[i], json, diag);
        if (status == TS_OK)
            status = write_slices(facts, facts->inputs[i], json, diag);
        ts_json_close(json, '}');
    }
    ts_json_close(json, ']');
    return status;
}

/* ---- the record ------------------------------------------------------------------------------ */

static void write_checked(const struct hdf5_proof *proof, struct json *json)
{
    ts_json_open_member(json, "checked", '{');
    ts_json_member_text(json, "digest", proof->digest);
    ts_json_member_integer(json, "version", proof->version);
    ts_json_member_integer(json, "datasets", (int64_t)proof->datasets);
    ts_json_member_integer(json, "attributes", (int64_t)proof->attributes);
    ts_json_member_integer(json, "bytes", (int64_t)proof->value_bytes);
    ts_json_close(json, '}');
}

/* Lists everything in the file, with short values. */
static void write_datasets(const struct report_facts *facts, struct json *json)
{
    ts_json_open_member(json, "datasets", '[');
    for (const struct hdf5_listed *object = facts->made.objects; object; object = object->next) {
        if (object->kind != HDF5_DATASET)
            continue;
        ts_json_open(json, '{');
        ts_json_member_text(json, "path", object->path);
        ts_json_member_text(json, "type", object->type);
        ts_json_open_member(json, "shape", '[');
        for (int d = 0; d < object->rank; d++)
            ts_json_integer(json, (int64_t)object->n[d]);
        ts_json_close(json, ']');
        ts_json_member_text(json, "value", object->value);
        ts_json_member_text(json, "unit", object->units);
        ts_json_member_integer(json, "bytes", (int64_t)object->stored_bytes);
        ts_json_member_text(json, "digest",
                            object->sha256_tree ? object->sha256_tree : object->sha256);
        ts_json_close(json, '}');
    }
    ts_json_close(json, ']');
}

/* ---- residuals and tables -------------------------------------------------------------------- */

/* Small tables are written as numbers. A list is drawn over the positions that its stage wrote
 * beside it, such as those of slices; of a table with few columns, each column is. Of a larger
 * table, such as the histogram of each slice, the record has the shape and the range. */

enum { MOST_TABLES = 32, MOST_LINES = 6, MOST_POINTS = 256, MOST_ITERATIONS = 1024 };

/* ---- residuals ------------------------------------------------------------------------------- */

/* Writes every by-th of n numbers. */
static void write_reals(struct json *json, const char *key, const double *values, int n, int by)
{
    ts_json_open_member(json, key, '[');
    for (int i = 0; i < n; i += by)
        ts_json_real(json, values[i]);
    ts_json_close(json, ']');
}

static enum ts_status write_residuals(const struct report_facts *facts, struct json *json,
                                      struct ts_diag *diag)
{
    struct residuals residuals = {0};
    enum ts_status status = TS_OK;
    bool there = false;
    for (size_t i = 0; i < facts->made.n_facts; i++) {
        const char *table = strstr(facts->made.facts[i].path, "/tables/residual");
        there |= table && !strcmp(table, "/tables/residual");
    }
    if (there)
        status = ts_residuals_read(facts->path, facts->arena, &residuals, diag);
    ts_json_open_member(json, "residuals", '[');
    for (int i = 0; status == TS_OK && i < residuals.n; i++) {
        const struct chart_line *line = &residuals.lines[i];
        const int by = (line->n + MOST_ITERATIONS - 1) / MOST_ITERATIONS;
        ts_json_open(json, '{');
        ts_json_member_text(json, "name", line->name);
        write_reals(json, "iteration", line->x, line->n, by);
        write_reals(json, "least", line->low, line->n, by);
        write_reals(json, "median", line->y, line->n, by);
        write_reals(json, "largest", line->high, line->n, by);
        ts_json_close(json, '}');
    }
    ts_json_close(json, ']');
    return status;
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* These tables hold positions along axes of other tables; if several fit, the first one here is
   used. */
static const char *const positions[] = {"trial_center", "bin", "iteration", "look", "z", "item"};

/* Finds the positions of the rows of a table, in the same group of the file; NULL: there are
 * none. */
static const struct hdf5_listed *find_positions(const struct report_facts *facts, const char *path,
                                                int64_t rows)
{
    const int group = (int)(strrchr(path, '/') - path);
    for (size_t i = 0; i < sizeof positions / sizeof *positions; i++) {
        const struct hdf5_listed *found =
            ts_report_dataset(facts, "%.*s/%s", group, path, positions[i]);
        if (found && found->rank == 1 && (int64_t)found->n[0] == rows)
            return found;
    }
    return NULL;
}

/* Writes every by-th of n values that are `stride` apart, with the digits of a float. */
static void write_floats(struct json *json, const float *values, int64_t n, int64_t by,
                         int64_t stride)
{
    ts_json_open(json, '[');
    for (int64_t i = 0; i < n; i += by) {
        char text[32];
        snprintf(text, sizeof text, "%.7g", (double)values[i * stride]);
        ts_json_real(json, strtod(text, NULL));
    }
    ts_json_close(json, ']');
}

/* Writes columns of a table over its rows; in a long one each point is the first of several
   rows. */
static void write_columns(const struct report_facts *facts, const struct hdf5_listed *object,
                          const struct hdf5_slice *table, struct json *json, struct ts_diag *diag)
{
    const bool list = table->rows == 1;
    const int64_t rows = list ? table->columns : table->rows, columns = list ? 1 : table->columns;
    const int64_t by = (rows + MOST_POINTS - 1) / MOST_POINTS;
    const struct hdf5_listed *found = find_positions(facts, object->path, rows);
    struct hdf5_slice at = {0};
    const bool read = found && ts_hdf5_read_slice(facts->path, found->path, -1, &at, diag) == TS_OK;
    ts_json_member_integer(json, "rows_per_point", by);
    if (read) {
        ts_json_open_member(json, "over", '{');
        ts_json_member_text(json, "name", strrchr(found->path, '/') + 1);
        ts_json_member_text(json, "unit", found->units);
        ts_json_key(json, "at");
        write_floats(json, at.values, rows, by, 1);
        ts_json_close(json, '}');
    }
    ts_json_open_member(json, "columns", '[');
    for (int64_t i = 0; i < columns; i++)
        write_floats(json, table->values + i, rows, by, columns);
    ts_json_close(json, ']');
    free(at.values);
}

/* Returns true for a stage's table that is not one of positions along axes of tables. */
static bool is_table(const struct hdf5_listed *object)
{
    const char *table = object->kind == HDF5_DATASET ? strstr(object->path, "/tables/") : NULL;
    for (size_t i = 0; table && i < sizeof positions / sizeof *positions; i++)
        if (!strcmp(table + strlen("/tables/"), positions[i]))
            return false;
    return table && !ts_hdf5_is_index(object->path);
}

/* Returns true for a table with more numbers than the listing holds. */
static bool is_large(const struct hdf5_listed *object)
{
    const bool numbers = object->type && !strchr("tc", *object->type); /* text, compound */
    return numbers && !object->value && (object->rank == 1 || object->rank == 2);
}

static enum ts_status write_large(const struct report_facts *facts,
                                  const struct hdf5_listed *object, struct json *json,
                                  struct ts_diag *diag)
{
    struct hdf5_slice table = {0};
    double low = INFINITY, high = -INFINITY; /* of the finite values */
    const enum ts_status status = ts_hdf5_read_slice(facts->path, object->path, -1, &table, diag);
    if (status != TS_OK)
        return status;
    for (int64_t i = 0; i < table.rows * table.columns; i++) {
        const double value = (double)table.values[i];
        low = isfinite(value) ? fmin(low, value) : low;
        high = isfinite(value) ? fmax(high, value) : high;
    }
    ts_json_member_real(json, "low", low);
    ts_json_member_real(json, "high", high);
    if (low < high && (object->rank == 1 || table.columns <= MOST_LINES))
        write_columns(facts, object, &table, json, diag);
    free(table.values);
    return TS_OK;
}

static enum ts_status write_tables(const struct report_facts *facts, struct json *json,
                                   struct ts_diag *diag)
{
    int n = 0;
    enum ts_status status = write_residuals(facts, json, diag);
    ts_json_open_member(json, "tables", '[');
    for (const struct hdf5_listed *object = facts->made.objects; status == TS_OK && object;
         object = object->next) {
        const bool large = is_large(object);
        if (!is_table(object) || !(object->value || large) || (large && n++ >= MOST_TABLES))
            continue;
        ts_json_open(json, '{');
        ts_json_member_text(json, "path", object->path);
        if (large)
            status = write_large(facts, object, json, diag);
        ts_json_close(json, '}');
    }
    ts_json_close(json, ']');
    ts_json_member_integer(json, "tables_left_out", n > MOST_TABLES ? n - MOST_TABLES : 0);
    return status;
}

/* ---- time and memory ------------------------------------------------------------------------- */

/* Times are no part of a result, since two equal runs write equal bytes. They come from the profile
 * of the run, if its user kept one. */

enum { CELLS = 400 }; /* the run is divided into so many cells, so that the record stays small */

/* Writes how many threads, on average, worked on a part in each cell. */
static void write_threads(const struct trace *trace, int part, double whole, struct json *json)
{
    size_t n;
    const struct trace_stretch *stretches = ts_trace_stretches(trace, &n);
    const double cell = whole / CELLS;
    double worked[CELLS] = {0};
    for (size_t i = 0; cell > 0 && i < n; i++) {
        const struct trace_stretch *stretch = &stretches[i];
        if ((int)stretch->part == part)
            for (int k = (int)(stretch->begin / cell); k < CELLS && k * cell <= stretch->end; k++)
                worked[k] += fmin(stretch->end, (k + 1) * cell) - fmax(stretch->begin, k * cell);
    }
    ts_json_open_member(json, "threads", '[');
    for (int k = 0; cell > 0 && k < CELLS; k++)
        /* rounded up, so that the shortest stretch is visible */
        ts_json_real(json, ceil(100 * worked[k] / cell) / 100);
    ts_json_close(json, ']');
}

static void write_parts(const struct report_facts *facts,
                        const struct profile_sum sums[TRACE_PARTS], double whole, struct json *json)
{
    ts_json_open_member(json, "parts", '[');
    for (int part = 0; part < TRACE_PARTS; part++) {
        if (sums[part].n == 0)
            continue;
        ts_json_open(json, '{');
        ts_json_member_text(json, "part", ts_profile_parts[part]);
        ts_json_member_real(json, "first", sums[part].first);
        ts_json_member_real(json, "last", sums[part].last);
        ts_json_member_real(json, "busy", sums[part].busy);
        ts_json_member_real(json, "worked", sums[part].worked);
        ts_json_member_real(json, "bytes", (double)sums[part].bytes);
        write_threads(facts->trace, part, whole, json);
        ts_json_close(json, '}');
    }
    ts_json_close(json, ']');
}

/* Writes what each stage took. Profiles of older versions have no times of stages that ran on a
   device. */
static void write_stage_times(const struct report_facts *facts, struct json *json)
{
    size_t n;
    const struct trace_stretch *stretches = ts_trace_stretches(facts->trace, &n);
    ts_json_open_member(json, "stages", '[');
    for (size_t i = 0; i < facts->n_stages; i++) {
        double seconds = 0, bytes = 0;
        int64_t calls = 0;
        for (size_t k = 0; k < n; k++)
            if (stretches[k].stage && !strcmp(stretches[k].stage, facts->stages[i].label)) {
                seconds += stretches[k].end - stretches[k].begin;
                bytes += (double)stretches[k].bytes;
                calls++;
            }
        if (calls == 0)
            continue;
        ts_json_open(json, '{');
        ts_json_member_text(json, "stage", facts->stages[i].label);
        ts_json_member_real(json, "seconds", seconds);
        ts_json_member_real(json, "bytes", bytes);
        ts_json_member_integer(json, "calls", calls);
        ts_json_close(json, '}');
    }
    ts_json_close(json, ']');
}

static enum ts_status write_run(const struct report_facts *facts, struct json *json,
                                struct ts_diag *diag)
{
    struct profile_sum sums[TRACE_PARTS];
    const struct profile_memory *memory = &facts->memory;
    if (!facts->trace)
        return TS_OK;
    const double whole = ts_profile_sums(facts->trace, sums);
    if (whole < 0)
        return ts_diag_no_memory(diag, sizeof sums);
    ts_json_open_member(json, "run", '{');
    ts_json_member_real(json, "seconds", whole);
    ts_json_open_member(json, "memory", '{');
    ts_json_member_integer(json, "planned", memory->planned);
    ts_json_member_integer(json, "allowed", memory->budget);
    ts_json_member_integer(json, "peak", memory->peak);
    ts_json_member_integer(json, "device_planned", memory->gpu_planned);
    ts_json_member_integer(json, "device_allowed", memory->gpu_budget);
    ts_json_close(json, '}');
    write_stage_times(facts, json);
    write_parts(facts, sums, whole, json);
    ts_json_close(json, '}');
    return TS_OK;
}

static enum ts_status write_record(const struct report_facts *facts, FILE *stream,
                                   struct ts_diag *diag)
{
    struct json json;
    ts_json_init(&json, stream, false);
    json.in_page = true;
    ts_json_open(&json, '{');
    ts_json_member_integer(&json, "record", RECORD_VERSION);
    write_checked(&facts->proof, &json);
    if (facts->warnings)
        write_texts(&json, "warnings", facts->warnings, facts->n_warnings);
    write_chain(facts, &json);
    write_stages(facts, &json);
    enum ts_status status = ts_report_images(facts, &json, diag);
    if (status == TS_OK)
        status = write_tables(facts, &json, diag);
    if (status == TS_OK)
        status = write_inputs(facts, &json, diag);
    if (status == TS_OK)
        status = write_run(facts, &json, diag);
    write_datasets(facts, &json);
    ts_json_close(&json, '}');
    return status;
}

/* ---- the page -------------------------------------------------------------------------------- */

/* Writes what the page shows without scripts. */
static void write_text(const struct report_facts *facts, FILE *stream)
{
    fprintf(stream,
            "This page draws itself with JavaScript, from the record in JSON that this file holds. "
            "Without it the page says\nthis much:\n\nEvery digest of the result was right. Root "
            "digest: %s\n\nInputs:\n",
            facts->proof.digest);
    for (size_t i = 0; i < facts->n_inputs; i++) {
        const struct hdf5_listed *digests =
            ts_report_dataset(facts, "/entry/inputs/%s/slice_pixel_sha256", facts->inputs[i]);
        ts_svg_text(stream, facts->inputs[i]);
        fprintf(stream, ": %llu slices, format ",
                digests && digests->rank > 0 ? (unsigned long long)digests->n[0] : 1ULL);
        ts_svg_text(stream, ts_made_value(&facts->made, "inputs/%s/format", facts->inputs[i]));
        fputc('\n', stream);
    }
    const char *none = facts->n_warnings == 0 ? "none" : "";
    fprintf(stream, "\nWarnings: %s\n", facts->warnings ? none : "not known");
    for (size_t i = 0; i < facts->n_warnings; i++) {
        ts_svg_text(stream, facts->warnings[i]);
        fputc('\n', stream);
    }
    fputs("\nThe chain with every value:\n\n", stream);
    ts_svg_text(stream, facts->chain);
}

static enum ts_status write_page(const struct report_facts *facts, FILE *stream,
                                 struct ts_diag *diag)
{
    unsigned char sum[DIGEST_SUM_BYTES];
    if (!ts_digest_sum(ts_report_js, strlen(ts_report_js), sum))
        return ts_diag_no_memory(diag, sizeof sum);
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src "
          "data:; style-src 'unsafe-inline'; script-src 'sha256-",
          stream);
    ts_base64_write(stream, sum, sizeof sum);
    fprintf(stream,
            "'\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
            "<title>Report of a tomostage result</title>\n<style>\n%s</style>\n</head>\n<body>\n"
            "<header>\n<h1>Report of a tomostage result</h1>\n</header>\n<main>\n<pre>",
            ts_report_css);
    write_text(facts, stream);
    fputs("</pre>\n</main>\n<script type=\"application/json\" id=\"record\">\n", stream);
    const enum ts_status status = write_record(facts, stream, diag);
    fprintf(stream, "</script>\n<script>%s</script>\n</body>\n</html>\n", ts_report_js);
    return status;
}

static enum ts_status make_page(const struct report_request *request, char **page, size_t *bytes,
                                struct ts_diag *diag)
{
    struct report_facts facts;
    enum ts_status status = ts_report_facts(request, &facts, diag);
    FILE *stream = status == TS_OK ? open_memstream(page, bytes) : NULL;
    if (stream)
        status = write_page(&facts, stream, diag);
    const bool written = stream && !ferror(stream), closed = stream && fclose(stream) == 0;
    if (status == TS_OK && !(written && closed))
        status = ts_diag_no_memory(diag, *bytes);
    ts_report_facts_close(&facts);
    return status;
}

/* ---- the file -------------------------------------------------------------------------------- */

/* Refuses, before long work, an output that cannot be written or that is one of the inputs. */
static enum ts_status check_output(const struct report_request *request, struct ts_diag *diag)
{
    if (ts_file_is_same(request->output, request->path) ||
        ts_file_is_same(request->output, request->profile))
        return ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "output-is-input"},
                             "the page would replace '%s', which it is made from", request->output);
    return ts_whole_file_check(request->output, request->force, diag);
}

enum ts_status ts_report_write(const struct report_request *request, struct ts_diag *diag)
{
    char *page = NULL;
    size_t bytes = 0;
    enum ts_status status = check_output(request, diag);
    if (status == TS_OK)
        status = make_page(request, &page, &bytes, diag);
    struct whole_file file;
    if (status == TS_OK)
        status = ts_whole_file_open(&file, request->output, request->force, diag);
    if (status == TS_OK) {
        (void)fwrite(page, 1, bytes, file.stream);
        status = ts_whole_file_close(&file, diag);
    }
    free(page);
    return status;
}
