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
#include "io/dicom_header/dicom_parse.h"

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

const char *ts_dicom_escape(struct scan *scan, const char *bytes, size_t length, size_t most)
{
    enum { ESCAPED = 4 }; /* \x1B */
    static const char cut[] = "...";
    ts_dicom_trim(&bytes, &length);
    const size_t kept = length < most ? length : most;
    char *text = ts_arena_alloc(scan->arena, ESCAPED * kept + sizeof cut), *at = text;
    for (size_t i = 0; text && i < kept; i++) {
        const unsigned char letter = (unsigned char)bytes[i];
        const bool plain = letter >= ' ' && letter <= '~';
        at += snprintf(at, ESCAPED + 1, plain ? "%c" : "\\x%02X", letter);
    }
    if (text)
        strcpy(at, kept < length ? cut : "");
    return text;
}

void ts_dicom_note_unread(struct scan *scan, const struct dicom_element *element, const char *name,
                          const char *bytes, size_t length, bool tells, size_t field)
{
    struct dicom_image *image = ts_dicom_current_image(scan);
    struct dicom_unread unread = {
        .next = image->unread, .tag = element->tag, .name = name, .tells = tells, .field = field};
    memcpy(unread.vr, element->vr, sizeof unread.vr);
    unread.text = ts_dicom_escape(scan, bytes, length, length);
    const struct dicom_unread *before = image->unread;
    while (unread.text && before && before->tag != unread.tag)
        before = before->next;
    if (unread.text && (!*unread.text || (before && !strcmp(before->text, unread.text) &&
                                          before->tells >= unread.tells)))
        return; /* padding, or two tables want the element */
    image->unread = unread.text ? ts_arena_copy(scan->arena, &unread, 1, sizeof unread) : NULL;
    if (!image->unread)
        ts_dicom_refuse(scan, "no-memory", "memory is out");
}
