/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the page: one record in JSON, which page.js draws, and a text for readers without scripts.
 * The file is verified before anything is read from it. The page is made in memory and written when
 * it is whole, so that a failure leaves none. Its policy lets the page load nothing from outside,
 * and run no script but its own, whose digest it states.
 */
#include "program/report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/svg.h"
#include "io/file/digest.h"
#include "io/file/whole_file.h"
#include "io/hdf5/hdf5_slice.h"
#include "io/hdf5/hdf5_texts.h"
#include "program/report/facts.h"
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
        status = ts_report_tables(facts, &json, diag);
    if (status == TS_OK)
        status = write_inputs(facts, &json, diag);
    if (status == TS_OK)
        status = ts_report_run(facts, &json, diag);
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
