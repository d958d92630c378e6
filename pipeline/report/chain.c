/* SPDX-License-Identifier: Apache-2.0
 *
 * The parameters are those that the stages ran with, each as a dataset with its unit. The text of the chain holds the
 * same values, and is a chain file again.
 */
#include <string.h>

#include "io/file/digest.h"
#include "pipeline/report/html.h"
#include "pipeline/report/parts.h"

static void write_stage(const struct report_facts *facts, const struct report_stage *stage, FILE *stream)
{
    int n = 0;
    fputs("<article class=\"stage\">\n<h3>", stream);
    ts_html_print(stream, "%d. %s", stage->number, stage->label);
    if (*stage->name)
        ts_html_print(stream, " (kept as %s)", stage->name);
    if (stage->value == 0)
        ts_html_print(stream, ", for %s", facts->sweep.names[0]);
    fputs("</h3>\n<p>", stream);
    ts_html_print(stream, "takes %s; gives %s in %s; ran on %s", stage->input,
                  ts_report_value(facts, "%s/quantity", stage->group), ts_report_value(facts, "%s/unit", stage->group),
                  stage->device);
    fputs("</p>\n", stream);
    for (const struct hdf5_listed *object = facts->made.objects; object; object = object->next) {
        const char *name = ts_report_below(object, "/entry/%s/parameters/", stage->group);
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

void ts_report_chain(const struct report_facts *facts, FILE *stream)
{
    char digest[DIGEST_TEXT_BYTES];
    ts_html_section(stream, "chain", "The chain with every value");
    if (facts->sweep.n > 0) {
        fputs("<p>", stream);
        ts_html_print(stream, "The chain sweeps over %lld values of %s.%s", (long long)facts->sweep.n,
                      facts->stages[facts->sweep.stage].label, facts->sweep.param);
        for (int64_t k = 0; k < facts->sweep.n; k++)
            ts_html_print(stream, "%s%s", k > 0 ? ", " : ": ", facts->sweep.values[k]);
        fputs(". The stages from there on stand once for each.</p>\n", stream);
    }
    fputs("<div class=\"stages\">\n", stream);
    for (size_t i = 0; i < facts->n_stages; i++)
        write_stage(facts, &facts->stages[i], stream);
    fputs("</div>\n<details open>\n<summary>The chain as a file that runs again</summary>\n<pre>", stream);
    ts_svg_text(stream, facts->chain);
    fputs("</pre>\n</details>\n", stream);
    if (*facts->chain && ts_digest_of(facts->chain, strlen(facts->chain), digest))
        fprintf(stream, "<p>SHA-256 of this text: <code>%s</code></p>\n", digest);
    fputs("</section>\n", stream);
}
