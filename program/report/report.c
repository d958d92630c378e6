/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the page, and all of its parts but the long ones (slices.c, tables.c, timing.c). The file
 * is verified before anything is read from it. The page is made in memory and written when it is
 * whole, so that a failure leaves none. Its policy lets the page load nothing but what is in it,
 * and run no script but its own, of which it states the digest.
 */
#include "program/report/report.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/number.h"
#include "io/file/digest.h"
#include "io/file/whole_file.h"
#include "io/hdf5/hdf5_slice.h"
#include "io/hdf5/hdf5_texts.h"
#include "program/report/files.h"
#include "program/report/html.h"
#include "program/report/parts.h"
#include "program/show/base64.h"
#include "program/show/geometry_picture.h"
#include "stages/engine/stage.h"

enum { PREFIX_BYTES = 512 };

/* Returns what follows the prefix, which is formatted as by printf, in the path of a dataset; NULL
 * for other objects. */
static const char *below(const struct hdf5_listed *object, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static const char *below(const struct hdf5_listed *object, const char *format, ...)
{
    char prefix[PREFIX_BYTES];
    va_list arguments;
    va_start(arguments, format);
    const size_t length = (size_t)vsnprintf(prefix, sizeof prefix, format, arguments);
    va_end(arguments);
    const bool fits = object->kind == HDF5_DATASET && length < sizeof prefix &&
                      !strncmp(object->path, prefix, length);
    return fits ? object->path + length : NULL;
}

/* ---- answers --------------------------------------------------------------------------------- */

/* The head of the page answers what a reviewer asks first, in a sentence each, with links to where
 * the page shows it. */

static void begin(FILE *stream, const char *question, const char *id)
{
    fprintf(stream, "<dt>%s</dt>\n<dd><a href=\"#%s\">", question, id);
}

static void answer_slices(const struct report_facts *facts, FILE *stream)
{
    for (size_t i = 0; i < facts->n_inputs; i++) {
        const char *name = facts->inputs[i];
        const struct hdf5_listed *digests =
            ts_report_dataset(facts, "/entry/inputs/%s/slice_pixel_sha256", name);
        const char *series = ts_made_value(&facts->made, "inputs/%s/series_number", name);
        const char *modality = ts_made_value(&facts->made, "inputs/%s/modality", name);
        if (i == 0)
            begin(stream, "Which slices?", "inputs");
        ts_html_print(stream, "%s%s: %llu slice%s", i > 0 ? "; " : "", name,
                      digests && digests->rank > 0 ? (unsigned long long)digests->n[0] : 1ULL,
                      digests && digests->rank > 0 && digests->n[0] == 1 ? "" : "s");
        const struct hdf5_listed *angles =
            ts_report_dataset(facts, "/entry/inputs/%s/angles", name);
        if (angles && angles->rank > 0)
            ts_html_print(stream, " of %llu views", (unsigned long long)angles->n[0]);
        ts_html_print(stream, " from %s", ts_made_value(&facts->made, "inputs/%s/format", name));
        if (*modality)
            ts_html_print(stream, ", %s", modality);
        if (*series)
            ts_html_print(stream, ", series number %s", series);
    }
    if (facts->n_inputs > 0)
        fputs("</a>; the position and the digest of each is listed.</dd>\n", stream);
}

static void answer_parameters(const struct report_facts *facts, FILE *stream)
{
    begin(stream, "Which parameters?", "chain");
    for (size_t i = 0; i < facts->n_stages && facts->stages[i].value <= 0; i++) {
        fputs(i > 0 ? " &#8594; " : "", stream);
        ts_svg_text(stream, facts->stages[i].label);
    }
    for (int64_t k = 0; k < facts->sweep.n; k++)
        ts_html_print(stream, "%s%s", k > 0 ? ", " : ", for each of ", facts->sweep.names[k]);
    if (facts->n_stages == 0)
        fputs("no stage: the input as it is", stream);
    fputs("</a>; every value is listed, also those that nobody gave.</dd>\n", stream);
}

static void answer_device(const struct report_facts *facts, FILE *stream)
{
    const char *cuda = ts_made_value(&facts->made, "provenance/cuda_device");
    const char *note = ts_made_value(&facts->made, "provenance/device_note");
    begin(stream, "Which device?", "digests");
    ts_svg_text(stream, facts->n_stages > 0 ? facts->stages[0].of->device : "cpu");
    if (*cuda)
        ts_html_print(stream, " (%s, compute capability %s)", cuda,
                      ts_made_value(&facts->made, "provenance/cuda_compute_capability"));
    if (*note)
        ts_html_print(stream, " (%s)", note);
    ts_html_print(stream, ", tomostage %s", ts_made_value(&facts->made, "provenance/tomostage"));
    fputs("</a>, ", stream);
    ts_html_print(stream, "built by %s.", ts_made_value(&facts->made, "provenance/build"));
    fputs("</dd>\n", stream);
}

/* Writes a warning. The sentence of one about files is not kept, as it may name them, and what the
 * inputs record of them stands for it: "files-passed-over" is the fact files_passed_over. */
static void write_warning(const struct report_facts *facts, const char *warning, FILE *stream)
{
    const int code = (int)strcspn(warning, ":");
    char fact[64];
    bool known = false;
    snprintf(fact, sizeof fact, "%.*s", code, warning);
    for (char *c = fact; *c; c++)
        *c = *c == '-' ? '_' : *c;
    for (size_t i = 0; i < facts->n_inputs && !strncmp(fact, "files_", strlen("files_")); i++) {
        const char *text = ts_made_value(&facts->made, "inputs/%s/%s", facts->inputs[i], fact);
        if (!*text)
            continue;
        fputs("<li>", stream);
        ts_html_print(stream, "%.*s: %s: %s", code, warning, facts->inputs[i], text);
        fputc('\n', stream);
        known = true;
    }
    if (known)
        return;
    fputs("<li>", stream);
    ts_svg_text(stream, warning);
    fputc('\n', stream);
}

static void answer_warnings(const struct report_facts *facts, FILE *stream)
{
    fputs("<dt>What was warned?</dt>\n<dd id=\"warnings\">", stream);
    if (!facts->warnings.kept)
        fputs("Not known: the program that wrote this result did not keep its warnings.", stream);
    else if (facts->warnings.n == 0)
        fputs("Nothing: the run had no warnings.", stream);
    else
        fputs("<ul class=\"warnings\">\n", stream);
    for (size_t i = 0; i < facts->warnings.n; i++)
        write_warning(facts, facts->warnings.texts[i], stream);
    fputs(facts->warnings.n > 0 ? "</ul></dd>\n" : "</dd>\n", stream);
}

static void answer_checks(const struct report_facts *facts, FILE *stream)
{
    const struct hdf5_proof *proof = &facts->proof;
    char bytes[32];
    ts_bytes_format(bytes, sizeof bytes, (double)proof->value_bytes);
    begin(stream, "What was checked?", "digests");
    fputs("When this report was made, every digest of the result was computed again, and all were "
          "right</a>: ",
          stream);
    if (proof->version == 1)
        fprintf(stream,
                "the values of %zu datasets (%s); files of this version have no digests of "
                "anything else.",
                proof->datasets, bytes);
    else
        fprintf(stream,
                "%zu datasets (%s of values), %zu attributes, the structure, and every byte of the "
                "file.",
                proof->datasets, bytes, proof->attributes);
    fprintf(stream,
            " Root digest: <code>%s</code>. The inputs were not at hand: whether images are those "
            "that were used, <code>tomostage verify FILE --inputs PATH</code> shows, and whether "
            "they give this result again, <code>tomostage rerun FILE -i PATH</code>.</dd>\n",
            proof->digest);
}

/* Answers in a sentence each: which slices, which parameters, which device, what was warned, what
 * was checked. */
static void write_answers(const struct report_facts *facts, FILE *stream)
{
    fputs("<section id=\"answers\">\n<dl>\n", stream);
    answer_slices(facts, stream);
    answer_parameters(facts, stream);
    answer_device(facts, stream);
    answer_warnings(facts, stream);
    answer_checks(facts, stream);
    fputs("</dl>\n</section>\n", stream);
}

/* ---- geometry -------------------------------------------------------------------------------- */

/* The drawing is that of `check --picture`, made from the sinogram in the result and the center
 * that the stages after it ran with. */

/* Returns the rotation axis that a stage of the result was given or found, as it is written there;
 * "": it has none. */
static const char *axis_of(const struct report_facts *facts, const struct report_stage *of,
                           const struct stage *stage)
{
    for (size_t i = 0; stage && i < stage->n_params; i++)
        if (stage->params[i].rotation_axis)
            return ts_made_value(&facts->made, "%s/parameters/%s", of->of->group,
                                 stage->params[i].name);
    return "";
}

/* Finds the center that a later stage was given or found. Returns the label of that stage, or NULL.
 * A stage that this build does not know may have changed the detector. */
static const char *find_center(const struct report_facts *facts, const struct report_image *image,
                               double *center)
{
    for (size_t i = 0; i < facts->n_stages; i++) {
        const struct report_stage *recorded = &facts->stages[i];
        const struct stage *stage = ts_stage_find(recorded->of->stage);
        if (image->stage && recorded->of->number <= image->stage->of->number)
            continue;
        const char *text = axis_of(facts, recorded, stage);
        if (*text && !ts_number_real(text, center))
            return recorded->label;
        if (!stage || (stage->traits & TRAIT_NEW_DETECTOR))
            return NULL;
    }
    return NULL;
}

static const struct report_image *last_sinogram(const struct report_images *images)
{
    const struct report_image *found = NULL;
    for (size_t i = 0; i < images->n; i++) {
        const struct ts_image *image = &images->at[i].source->image;
        if (ts_image_is_sinogram(image) && image->axes[1].unit &&
            !strcmp(image->axes[1].unit, "degree"))
            found = &images->at[i];
    }
    return found;
}

/* Writes the drawing, and below it the numbers, each line of which is an item: on a phone the
 * drawing's own would be too small to read. */
static void write_section(const struct report_image *image, const char *svg, char *numbers,
                          FILE *stream)
{
    ts_html_section(stream, "geometry", "How the sinogram was measured");
    fputs("<p>", stream);
    ts_html_print(stream, "The image %s; x, y and the angle are those of the reconstruction.",
                  image->name);
    fputs("</p>\n<div class=\"geometry\">\n", stream);
    ts_html_svg(stream, svg);
    fputs("</div>\n<ul>\n", stream);
    for (char *line; (line = strsep(&numbers, "\n"));)
        if (*line) {
            const size_t length = strlen(line);
            line[length - (line[length - 1] == ':')] = '\0'; /* items have no lines below them */
            fputs("<li>", stream);
            ts_svg_text(stream, line);
            fputc('\n', stream);
        }
    fputs("</ul>\n</section>\n", stream);
}

/* Draws how the last sinogram that the result holds was measured. TS_RUN_FAILED where memory is
 * out. */
static enum ts_status write_geometry(const struct report_facts *facts,
                                     const struct report_images *images, FILE *stream,
                                     struct ts_diag *diag)
{
    const struct report_image *image = last_sinogram(images);
    char *texts[2] = {NULL, NULL}; /* the drawing and its numbers */
    size_t n[2];
    if (!image)
        return TS_OK;
    struct ts_image sinogram = image->source->image;
    struct rotation_axis axis = {.center =
                                     -sinogram.axes[2].first / ts_axis_spacing(&sinogram.axes[2])};
    axis.owner = find_center(facts, image, &axis.center);
    sinogram.axes[2].first = -axis.center * ts_axis_spacing(&sinogram.axes[2]);
    FILE *drawing = open_memstream(&texts[0], &n[0]), *numbers = open_memstream(&texts[1], &n[1]);
    if (drawing && numbers)
        ts_geometry_picture(&sinogram, &axis, drawing, numbers);
    const bool drawn = drawing && fclose(drawing) == 0, numbered = numbers && fclose(numbers) == 0;
    if (drawn && numbered)
        write_section(image, texts[0], texts[1], stream);
    free(texts[0]);
    free(texts[1]);
    return drawn && numbered ? TS_OK : ts_diag_no_memory(diag, sizeof sinogram);
}

/* ---- the chain ------------------------------------------------------------------------------- */

/* The parameters are those that the stages ran with, each as a dataset with its unit. The text of
 * the chain holds the same values, and is a chain file again. */

static void write_stage(const struct report_facts *facts, const struct report_stage *stage,
                        FILE *stream)
{
    int n = 0;
    fputs("<article class=\"stage\">\n<h3>", stream);
    ts_html_print(stream, "%d. %s", stage->of->number, stage->label);
    if (*stage->of->name)
        ts_html_print(stream, " (kept as %s)", stage->of->name);
    if (stage->value == 0)
        ts_html_print(stream, ", for %s", facts->sweep.names[0]);
    fputs("</h3>\n<p>", stream);
    ts_html_print(stream, "takes %s; gives %s in %s; ran on %s", stage->of->input,
                  ts_made_value(&facts->made, "%s/quantity", stage->of->group),
                  ts_made_value(&facts->made, "%s/unit", stage->of->group), stage->of->device);
    fputs("</p>\n", stream);
    for (const struct hdf5_listed *object = facts->made.objects; object; object = object->next) {
        const char *name = below(object, "/entry/%s/parameters/", stage->of->group);
        char shape[64];
        if (!name)
            continue;
        if (n++ == 0)
            fputs("<table>\n", stream);
        snprintf(shape, sizeof shape, "%llu values, in the chain below",
                 object->rank > 0 ? (unsigned long long)object->n[0] : 1ULL);
        ts_html_row(stream, name, object->value ? object->value : shape, object->units);
    }
    fputs(n > 0 ? "</table>\n</article>\n" : "</article>\n", stream);
}

/* Lists the stages with every parameter, and the chain as a text that runs again. */
static void write_chain(const struct report_facts *facts, FILE *stream)
{
    char digest[DIGEST_TEXT_BYTES];
    ts_html_section(stream, "chain", "The chain with every value");
    if (facts->sweep.n > 0) {
        fputs("<p>", stream);
        ts_html_print(stream, "The chain sweeps over %lld values of %s.%s",
                      (long long)facts->sweep.n, facts->stages[facts->sweep.stage].label,
                      facts->sweep.param);
        for (int64_t k = 0; k < facts->sweep.n; k++)
            ts_html_print(stream, "%s%s", k > 0 ? ", " : ": ", facts->sweep.values[k]);
        fputs(". The stages from there on stand once for each.</p>\n", stream);
    }
    fputs("<div class=\"stages\">\n", stream);
    for (size_t i = 0; i < facts->n_stages; i++)
        write_stage(facts, &facts->stages[i], stream);
    fputs("</div>\n<details open>\n<summary>The chain as a file that runs again</summary>\n<pre>",
          stream);
    ts_svg_text(stream, facts->chain);
    fputs("</pre>\n</details>\n", stream);
    if (*facts->chain && ts_digest_of(facts->chain, strlen(facts->chain), digest))
        fprintf(stream, "<p>SHA-256 of this text: <code>%s</code></p>\n", digest);
    fputs("</section>\n", stream);
}

/* ---- inputs ---------------------------------------------------------------------------------- */

/* The slices of an input are listed with their positions and the digests of their pixels, by which
 * whoever holds the images can find out which they are. The list of a long series is folded; paper
 * shows all of it. */

enum { MOST_SLICES = 2048, UNFOLDED = 8, PATH_BYTES = 512 };

/* Writes how many angles there are and over what they reach: the list itself is too long, and in
 * the result. */
static enum ts_status write_angles(const struct report_facts *facts, const char *input,
                                   FILE *stream, struct ts_diag *diag)
{
    struct hdf5_slice angles = {0};
    const struct hdf5_listed *dataset = ts_report_dataset(facts, "/entry/inputs/%s/angles", input);
    if (!dataset || dataset->value)
        return TS_OK;
    const enum ts_status status = ts_hdf5_read_slice(facts->path, dataset->path, -1, &angles, diag);
    const int64_t n = angles.rows * angles.columns;
    if (status == TS_OK && n > 0) {
        char text[128];
        float low = angles.values[0], high = angles.values[0];
        for (int64_t i = 0; i < n; i++) {
            low = angles.values[i] < low ? angles.values[i] : low;
            high = angles.values[i] > high ? angles.values[i] : high;
        }
        snprintf(text, sizeof text, "%lld, from %.6g to %.6g", (long long)n, (double)low,
                 (double)high);
        ts_html_row(stream, "angles", text, dataset->units);
    }
    free(angles.values);
    return status;
}

static enum ts_status write_facts(const struct report_facts *facts, const char *input, FILE *stream,
                                  struct ts_diag *diag)
{
    fputs("<table>\n", stream);
    for (const struct hdf5_listed *object = facts->made.objects; object; object = object->next) {
        const char *name = below(object, "/entry/inputs/%s/", input);
        if (name && object->value &&
            (strncmp(name, "slice_", strlen("slice_")) != 0 || !strcmp(name, "slice_thickness")))
            ts_html_row(stream, name, object->value, object->units);
    }
    const enum ts_status status = write_angles(facts, input, stream, diag);
    fputs("</table>\n", stream);
    return status;
}

static enum ts_status read_list(const struct report_facts *facts, const char *input,
                                const char *name, const char *const **texts, size_t *n,
                                struct ts_diag *diag)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "/entry/inputs/%s/%s", input, name);
    return ts_hdf5_read_texts(facts->path, path, facts->arena, texts, n, diag);
}

/* Reads the positions, rows of three; position->values stays NULL where the input has none. */
static enum ts_status read_positions(const struct report_facts *facts, const char *input,
                                     struct hdf5_slice *position, struct ts_diag *diag)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "/entry/inputs/%s/slice_position", input);
    return ts_report_dataset(facts, "%s", path)
               ? ts_hdf5_read_slice(facts->path, path, -1, position, diag)
               : TS_OK;
}

static void write_slice(size_t i, const struct hdf5_slice *position, const char *digest,
                        const char *instance, FILE *stream)
{
    fprintf(stream, "<tr><td>%zu<td>", i);
    if (position->values && (int64_t)i < position->rows && position->columns == 3)
        for (int k = 0; k < 3; k++)
            fprintf(stream, "%s%.6g", k > 0 ? ", " : "",
                    (double)position->values[3 * i + (size_t)k]);
    fputs("<td><code>", stream);
    ts_svg_text(stream, digest);
    fputs("</code>", stream);
    if (*instance) {
        fputs("<br>instance <code>", stream);
        ts_svg_text(stream, instance);
        fputs("</code>", stream);
    }
    fputc('\n', stream);
}

static enum ts_status write_slices(const struct report_facts *facts, const char *input,
                                   FILE *stream, struct ts_diag *diag)
{
    const char *const *digests = NULL, *const *instances = NULL;
    size_t n = 0, n_instances = 0;
    struct hdf5_slice position = {0};
    enum ts_status status = read_list(facts, input, "slice_pixel_sha256", &digests, &n, diag);
    if (status == TS_OK)
        status = read_list(facts, input, "slice_instance_hmac", &instances, &n_instances, diag);
    if (status == TS_OK)
        status = read_positions(facts, input, &position, diag);
    if (status == TS_OK && n > 0) {
        const struct hdf5_listed *place =
            ts_report_dataset(facts, "/entry/inputs/%s/slice_position", input);
        fprintf(stream,
                "<details%s>\n<summary>%zu slice%s, in the order of the image</summary>\n<table "
                "class=\"list\">\n",
                n <= UNFOLDED ? " open" : "", n, n == 1 ? "" : "s");
        fputs("<thead><tr><th>slice<th>position", stream);
        ts_html_print(stream, place && place->units ? " / %s" : "%s",
                      place && place->units ? place->units : "");
        fputs("<th>SHA-256 of its pixels; HMAC-SHA256 of its instance<tbody>\n", stream);
        for (size_t i = 0; i < n && i < MOST_SLICES; i++)
            write_slice(i, &position, digests[i], i < n_instances ? instances[i] : "", stream);
        fputs("</table>\n", stream);
        if (n > MOST_SLICES)
            fprintf(stream, "<p>The other %zu are in the result.</p>\n", n - MOST_SLICES);
        fputs("</details>\n", stream);
    }
    free(position.values);
    return status;
}

/* Lists the inputs: what is known of their acquisition, and the position and the digest of every
 * slice. TS_BAD_INPUT where they cannot be read. */
static enum ts_status write_inputs(const struct report_facts *facts, FILE *stream,
                                   struct ts_diag *diag)
{
    enum ts_status status = TS_OK;
    ts_html_section(stream, "inputs", "The inputs, slice by slice");
    for (size_t i = 0; status == TS_OK && i < facts->n_inputs; i++) {
        fputs("<h3>", stream);
        ts_svg_text(stream, facts->inputs[i]);
        fputs("</h3>\n", stream);
        status = write_facts(facts, facts->inputs[i], stream, diag);
        if (status == TS_OK)
            status = write_slices(facts, facts->inputs[i], stream, diag);
    }
    fputs("</section>\n", stream);
    return status;
}

/* ---- versions and digests -------------------------------------------------------------------- */

/* The end of the page lists what computed the result, and every dataset with the digest that was
 * checked. */

static void write_versions(const struct report_facts *facts, FILE *stream)
{
    fputs("<h3>Program, device and libraries</h3>\n<table>\n", stream);
    for (const struct hdf5_listed *object = facts->made.objects; object; object = object->next) {
        const char *name = below(object, "/entry/provenance/");
        if (name && object->value && strcmp(name, "chain") != 0 &&
            strcmp(object->path, WARNINGS_PATH) != 0)
            ts_html_row(stream, name, object->value, object->units);
    }
    fputs("</table>\n", stream);
}

static void write_dataset(const struct hdf5_listed *object, FILE *stream)
{
    char bytes[32];
    ts_bytes_format(bytes, sizeof bytes, (double)object->stored_bytes);
    fputs("<tr><td>", stream);
    ts_svg_text(stream, object->path);
    fputs("<td>", stream);
    ts_svg_text(stream, object->type ? object->type : "?");
    for (int d = 0; d < object->rank; d++)
        fprintf(stream, "%s%llu", d > 0 ? " &#215; " : " ", (unsigned long long)object->n[d]);
    fprintf(stream, "<td>%s<td><code>", bytes);
    ts_svg_text(stream, object->sha256_tree ? object->sha256_tree
                        : object->sha256    ? object->sha256
                                            : "");
    fputs("</code>\n", stream);
}

/* Lists versions, and the digest of every dataset. */
static void write_digests(const struct report_facts *facts, FILE *stream)
{
    ts_html_section(stream, "digests", "Program, device and digests");
    write_versions(facts, stream);
    fprintf(stream,
            "<details>\n<summary>The digests of all %zu datasets</summary>\n<p>They are SHA-256 of "
            "the values, in a tree of leaves of 1 MiB; docs/provenance.md of the program shows how "
            "to compute them without it. They show that the file is as it was written, and are no "
            "signature.</p>\n"
            "<table class=\"list\">\n<thead><tr><th>dataset<th>type and "
            "shape<th>stored<th>digest<tbody>\n",
            facts->proof.datasets);
    for (const struct hdf5_listed *object = facts->made.objects; object; object = object->next)
        if (object->kind == HDF5_DATASET)
            write_dataset(object, stream);
    fputs("</table>\n</details>\n</section>\n", stream);
}

/* ---- the page -------------------------------------------------------------------------------- */

static enum ts_status write_head(FILE *stream, struct ts_diag *diag)
{
    unsigned char sum[DIGEST_SUM_BYTES];
    if (!ts_digest_sum(ts_report_js, strlen(ts_report_js), sum))
        return ts_diag_no_memory(diag, sizeof sum);
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src "
          "data:; style-src 'unsafe-inline'; script-src 'sha256-",
          stream);
    ts_base64_write(stream, sum, sizeof sum);
    fputs("'\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<title>Report of a tomostage result</title>\n<style>\n",
          stream);
    fputs(ts_report_css, stream);
    fputs("</style>\n</head>\n<body>\n<header>\n<h1>Report of a tomostage result</h1>\n"
          "<nav><a href=\"#images\">images</a> <a href=\"#chain\">chain</a> <a "
          "href=\"#inputs\">inputs</a> <a href=\"#run\">time and memory</a> <a "
          "href=\"#digests\">digests</a></nav>\n</header>\n<main>\n",
          stream);
    return TS_OK;
}

static enum ts_status write_page(const struct report_facts *facts,
                                 const struct report_images *images, FILE *stream,
                                 struct ts_diag *diag)
{
    enum ts_status status = write_head(stream, diag);
    write_answers(facts, stream);
    if (status == TS_OK)
        status = ts_report_slices(facts, images, stream, diag);
    if (status == TS_OK)
        status = write_geometry(facts, images, stream, diag);
    if (status == TS_OK)
        status = ts_report_tables(facts, stream, diag);
    write_chain(facts, stream);
    if (status == TS_OK)
        status = write_inputs(facts, stream, diag);
    if (status == TS_OK)
        status = ts_report_timing(facts, stream, diag);
    write_digests(facts, stream);
    fprintf(stream, "</main>\n<script>%s</script>\n</body>\n</html>\n", ts_report_js);
    return status;
}

static enum ts_status make_page(const struct report_request *request, char **page, size_t *bytes,
                                struct ts_diag *diag)
{
    struct report_facts facts;
    struct report_images images = {0};
    enum ts_status status = ts_report_facts(request, &facts, diag);
    if (status == TS_OK)
        status = ts_report_images(&facts, &images, diag);
    FILE *stream = status == TS_OK ? open_memstream(page, bytes) : NULL;
    if (stream)
        status = write_page(&facts, &images, stream, diag);
    const bool written = stream && !ferror(stream), closed = stream && fclose(stream) == 0;
    if (status == TS_OK && !(written && closed))
        status = ts_diag_no_memory(diag, *bytes);
    ts_report_images_close(&images);
    ts_report_facts_close(&facts);
    return status;
}

/* ---- the file -------------------------------------------------------------------------------- */

/* Refuses before long work an output that cannot be written, or that is one of the inputs. */
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
