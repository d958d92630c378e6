/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts are escaped as those of SVG pictures are: by numeric entities alone, which HTML and XML
 * share.
 */
#include "program/report/html.h"

#include <stdlib.h>
#include <string.h>

void ts_html_print(FILE *stream, const char *format, ...)
{
    char text[4096];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    ts_svg_text(stream, text);
}

void ts_html_section(FILE *stream, const char *id, const char *heading)
{
    fprintf(stream, "<section id=\"%s\">\n<h2>%s</h2>\n", id, heading);
}

const char *ts_html_unit(const char *unit)
{
    return unit && strcmp(unit, "1") != 0 ? unit : "";
}

void ts_html_row(FILE *stream, const char *name, const char *value, const char *unit)
{
    fputs("<tr><th>", stream);
    for (size_t n = strcspn(name, "_/"); *name;
         name += n, n = strcspn(name, "_/")) { /* lines may break behind these */
        n += name[n] != '\0';
        ts_html_print(stream, "%.*s", (int)n, name);
        fputs("<wbr>", stream);
    }
    fputs("<td>", stream);
    ts_svg_text(stream, value);
    ts_html_print(stream, " %s", ts_html_unit(unit));
    fputc('\n', stream);
}

void ts_html_svg(FILE *stream, const char *svg)
{
    int width = 0, height = 0, end = 0;
    const char *rest = strstr(svg, " font-family");
    if (!rest || sscanf(svg, "<svg xmlns='http://www.w3.org/2000/svg' width='%9d' height='%9d'%n",
                        &width, &height, &end) != 2)
        return;
    fprintf(stream, "<div class=\"drawing\" style=\"max-width:%dpx\"><svg viewBox=\"0 0 %d %d\"",
            width, width, height);
    fputs(rest, stream);
    fputs("</div>\n", stream);
}

enum ts_status ts_html_chart(FILE *stream, const struct chart *chart, struct ts_diag *diag)
{
    char *svg = NULL;
    size_t n = 0;
    FILE *drawing = open_memstream(&svg, &n);
    if (drawing)
        ts_chart_draw(chart, drawing);
    const bool drawn = drawing && fclose(drawing) == 0;
    if (drawn)
        ts_html_svg(stream, svg);
    free(svg);
    return drawn ? TS_OK : ts_diag_no_memory(diag, n);
}
