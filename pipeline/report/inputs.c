/* SPDX-License-Identifier: Apache-2.0
 *
 * The slices of an input are listed with their positions and the digests of their pixels, by which whoever holds the
 * images can find out which they are. The list of a long series is folded; paper shows all of it.
 */
#include <stdlib.h>
#include <string.h>

#include "io/hdf5/hdf5_slice.h"
#include "io/hdf5/hdf5_texts.h"
#include "pipeline/report/html.h"
#include "pipeline/report/parts.h"

enum { MOST_SLICES = 2048, UNFOLDED = 8, PATH_BYTES = 512 };

/* Writes how many angles there are and over what they reach: the list itself is too long, and in the result. */
static enum ts_status write_angles(const struct report_facts *facts, const char *input, FILE *stream,
                                   struct ts_diag *diag)
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
        snprintf(text, sizeof text, "%lld, from %.6g to %.6g", (long long)n, (double)low, (double)high);
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
        const char *name = ts_report_below(object, "/entry/inputs/%s/", input);
        if (name && object->value &&
            (strncmp(name, "slice_", strlen("slice_")) != 0 || !strcmp(name, "slice_thickness")))
            ts_html_row(stream, name, object->value, object->units);
    }
    const enum ts_status status = write_angles(facts, input, stream, diag);
    fputs("</table>\n", stream);
    return status;
}

static enum ts_status read_list(const struct report_facts *facts, const char *input, const char *name,
                                const char *const **texts, size_t *n, struct ts_diag *diag)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "/entry/inputs/%s/%s", input, name);
    return ts_hdf5_read_texts(facts->path, path, facts->arena, texts, n, diag);
}

/* Reads the positions, rows of three; position->values stays NULL where the input has none. */
static enum ts_status read_positions(const struct report_facts *facts, const char *input, struct hdf5_slice *position,
                                     struct ts_diag *diag)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "/entry/inputs/%s/slice_position", input);
    return ts_report_dataset(facts, "%s", path) ? ts_hdf5_read_slice(facts->path, path, -1, position, diag) : TS_OK;
}

static void write_slice(size_t i, const struct hdf5_slice *position, const char *digest, const char *instance,
                        FILE *stream)
{
    fprintf(stream, "<tr><td>%zu<td>", i);
    if (position->values && (int64_t)i < position->rows && position->columns == 3)
        for (int k = 0; k < 3; k++)
            fprintf(stream, "%s%.6g", k > 0 ? ", " : "", (double)position->values[3 * i + (size_t)k]);
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

static enum ts_status write_slices(const struct report_facts *facts, const char *input, FILE *stream,
                                   struct ts_diag *diag)
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
        const struct hdf5_listed *place = ts_report_dataset(facts, "/entry/inputs/%s/slice_position", input);
        fprintf(stream,
                "<details%s>\n<summary>%zu slice%s, in the order of the image</summary>\n<table class=\"list\">\n",
                n <= UNFOLDED ? " open" : "", n, n == 1 ? "" : "s");
        fputs("<thead><tr><th>slice<th>position", stream);
        ts_html_print(stream, place && place->units ? " / %s" : "%s", place && place->units ? place->units : "");
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

enum ts_status ts_report_inputs(const struct report_facts *facts, FILE *stream, struct ts_diag *diag)
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
