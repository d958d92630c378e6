/* SPDX-License-Identifier: Apache-2.0
 *
 * The head of the page answers what a reviewer asks first, in a sentence each, with links to where the page shows it.
 */
#include <string.h>

#include "core/number.h"
#include "pipeline/report/html.h"
#include "pipeline/report/parts.h"

static void begin(FILE *stream, const char *question, const char *id)
{
    fprintf(stream, "<dt>%s</dt>\n<dd><a href=\"#%s\">", question, id);
}

static void answer_slices(const struct report_facts *facts, FILE *stream)
{
    for (size_t i = 0; i < facts->n_inputs; i++) {
        const char *name = facts->inputs[i];
        const struct hdf5_listed *digests = ts_report_dataset(facts, "/entry/inputs/%s/slice_pixel_sha256", name);
        const char *series = ts_report_value(facts, "inputs/%s/series_number", name);
        const char *modality = ts_report_value(facts, "inputs/%s/modality", name);
        if (i == 0)
            begin(stream, "Which slices?", "inputs");
        ts_html_print(stream, "%s%s: %llu slice%s", i > 0 ? "; " : "", name,
                      digests && digests->rank > 0 ? (unsigned long long)digests->n[0] : 1ULL,
                      digests && digests->rank > 0 && digests->n[0] == 1 ? "" : "s");
        const struct hdf5_listed *angles = ts_report_dataset(facts, "/entry/inputs/%s/angles", name);
        if (angles && angles->rank > 0)
            ts_html_print(stream, " of %llu views", (unsigned long long)angles->n[0]);
        ts_html_print(stream, " from %s", ts_report_value(facts, "inputs/%s/format", name));
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
    const char *cuda = ts_report_value(facts, "provenance/cuda_device");
    const char *note = ts_report_value(facts, "provenance/device_note");
    begin(stream, "Which device?", "digests");
    ts_svg_text(stream, facts->n_stages > 0 ? facts->stages[0].device : "cpu");
    if (*cuda)
        ts_html_print(stream, " (%s, compute capability %s)", cuda,
                      ts_report_value(facts, "provenance/cuda_compute_capability"));
    if (*note)
        ts_html_print(stream, " (%s)", note);
    ts_html_print(stream, ", tomostage %s", ts_report_value(facts, "provenance/tomostage"));
    fputs("</a>, ", stream);
    ts_html_print(stream, "built by %s.", ts_report_value(facts, "provenance/build"));
    fputs("</dd>\n", stream);
}

/* Writes a warning. The sentence of one about files is not kept, as it may name them, and what the inputs record of
 * them stands for it: "files-passed-over" is the fact files_passed_over. */
static void write_warning(const struct report_facts *facts, const char *warning, FILE *stream)
{
    const int code = (int)strcspn(warning, ":");
    char fact[64];
    bool known = false;
    snprintf(fact, sizeof fact, "%.*s", code, warning);
    for (char *c = fact; *c; c++)
        *c = *c == '-' ? '_' : *c;
    for (size_t i = 0; i < facts->n_inputs && !strncmp(fact, "files_", strlen("files_")); i++) {
        const char *text = ts_report_value(facts, "inputs/%s/%s", facts->inputs[i], fact);
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
    fputs("When this report was made, every digest of the result was computed again, and all were right</a>: ", stream);
    if (proof->version == 1)
        fprintf(stream, "the values of %zu datasets (%s); files of this version have no digests of anything else.",
                proof->datasets, bytes);
    else
        fprintf(stream, "%zu datasets (%s of values), %zu attributes, the structure, and every byte of the file.",
                proof->datasets, bytes, proof->attributes);
    fprintf(stream,
            " Root digest: <code>%s</code>. The inputs were not at hand: whether images are those that were used, "
            "<code>tomostage verify FILE --inputs PATH</code> shows, and whether they give this result again, "
            "<code>tomostage rerun FILE -i PATH</code>.</dd>\n",
            proof->digest);
}

void ts_report_answers(const struct report_facts *facts, FILE *stream)
{
    fputs("<section id=\"answers\">\n<dl>\n", stream);
    answer_slices(facts, stream);
    answer_parameters(facts, stream);
    answer_device(facts, stream);
    answer_warnings(facts, stream);
    answer_checks(facts, stream);
    fputs("</dl>\n</section>\n", stream);
}
