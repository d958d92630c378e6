/* SPDX-License-Identifier: Apache-2.0
 *
 * The end of the page lists what computed the result, and every dataset with the digest that was checked.
 */
#include <string.h>

#include "core/number.h"
#include "pipeline/report/html.h"
#include "pipeline/report/parts.h"

static void write_versions(const struct report_facts *facts, FILE *stream)
{
    fputs("<h3>Program, device and libraries</h3>\n<table>\n", stream);
    for (const struct hdf5_listed *object = facts->made.objects; object; object = object->next) {
        const char *name = ts_report_below(object, "/entry/provenance/");
        if (name && object->value && strcmp(name, "chain") != 0 && strcmp(object->path, WARNINGS_PATH) != 0)
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
    ts_svg_text(stream, object->sha256_tree ? object->sha256_tree : object->sha256 ? object->sha256 : "");
    fputs("</code>\n", stream);
}

void ts_report_digests(const struct report_facts *facts, FILE *stream)
{
    ts_html_section(stream, "digests", "Program, device and digests");
    write_versions(facts, stream);
    fprintf(
        stream,
        "<details>\n<summary>The digests of all %zu datasets</summary>\n<p>They are SHA-256 of the values, in a tree "
        "of leaves of 1 MiB; docs/provenance.md of the program shows how to compute them without it. They show that "
        "the file is as it was written, and are no signature.</p>\n"
        "<table class=\"list\">\n<thead><tr><th>dataset<th>type and shape<th>stored<th>digest<tbody>\n",
        facts->proof.datasets);
    for (const struct hdf5_listed *object = facts->made.objects; object; object = object->next)
        if (object->kind == HDF5_DATASET)
            write_dataset(object, stream);
    fputs("</table>\n</details>\n</section>\n", stream);
}
