/* SPDX-License-Identifier: Apache-2.0
 *
 * What is said of a series: why it is no volume, and what to beware of.
 */
#include "io/dicom/dicom_series.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *ts_dicom_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

void ts_dicom_series_refuse(struct dicom_series *series, struct arena *arena, const char *code, const char *hint,
                            const char *format, ...)
{
    char text[512];
    if (series->refusal)
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const char *kept = ts_arena_text(arena, text, strlen(text));
    series->refusal = kept ? kept : "memory is out";
    series->refusal_code = code;
    series->hint = hint;
}

void ts_dicom_series_warn(struct dicom_series *series, struct arena *arena, const char *format, ...)
{
    char text[256];
    va_list arguments;
    if (!series->warnings)
        series->warnings = ts_arena_alloc(arena, DICOM_MAX_WARNINGS * sizeof *series->warnings);
    if (!series->warnings || series->n_warnings == DICOM_MAX_WARNINGS)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const char *kept = ts_arena_text(arena, text, strlen(text));
    series->warnings[series->n_warnings] = kept ? kept : "memory is out";
    series->n_warnings++;
}
