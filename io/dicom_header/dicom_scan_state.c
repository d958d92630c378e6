/* SPDX-License-Identifier: Apache-2.0
 *
 * This records why a file is refused, and what was passed over in it. The parts of the scanner go
 * on after they have found a fault, and the faults after the first one are mostly its consequences:
 * only the first is kept. Its text is in the arena of the scan, because it names values of the
 * header, which is gone when the message is printed.
 */
#include "io/dicom_header/dicom_scan_state.h"

#include <stdarg.h>
#include <stdio.h>

#include "core/memory.h"

void ts_dicom_refuse(struct scan *scan, const char *code, const char *format, ...)
{
    char text[320];
    if (scan->file->refusal)
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const char *kept = ts_arena_text(scan->arena, text, strlen(text));
    scan->file->refusal = kept ? kept : "memory is out";
    scan->file->refusal_code = code;
}

struct dicom_image *ts_dicom_current_image(struct scan *scan)
{
    return scan->n_frames > 0 ? &scan->frames[scan->n_frames - 1] : &scan->image;
}

void ts_dicom_warn(struct scan *scan, const char *text)
{
    if (!scan->file->warning)
        scan->file->warning = text;
}
