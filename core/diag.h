/* SPDX-License-Identifier: Apache-2.0
 *
 * Diagnostics: one list of records, filled by every layer, printed by the program alone.
 */
#ifndef CORE_DIAG_H
#define CORE_DIAG_H

#include <stdarg.h>

#include "core/tomostage.h"

/* At most this many errors are kept; what is printed then ends with a line that counts the rest. */
enum { DIAG_MAX_ERRORS = 20 };

/* What a record says beside its message; unset fields mean "none". */
struct diag_site {
    const char *code;
    struct ts_span span;
    const char *stage;
};

/* Adds a record and returns `status`, so that a failing function can end in `return ts_diag_error(...)`.
 * severity TS_ERROR. The message is printf-formatted, one sentence without a final period. */
enum ts_status ts_diag_error(struct ts_diag *diag, enum ts_status status, const struct diag_site *site,
                             const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Records that are no errors: the run goes on. */
void ts_diag_warning(struct ts_diag *diag, const struct diag_site *site, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void ts_diag_note(struct ts_diag *diag, const struct diag_site *site, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Sets the hint of the newest record: what the user can do. Returns that record's status, so that a failing function
 * can end in `return ts_diag_hint(...)`. */
enum ts_status ts_diag_hint(struct ts_diag *diag, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Takes back the errors that name this stage, from record `from` on: another one turned out to be their cause. */
void ts_diag_forget(struct ts_diag *diag, size_t from, const char *stage);
/* The text that spans point into; name is printed before the line number. Both are copied. */
void ts_diag_set_source(struct ts_diag *diag, const char *name, const char *text, size_t length);
/* The worst status recorded as an error (the first error's status), TS_OK without errors. */
enum ts_status ts_diag_status(const struct ts_diag *diag);
/* All errors, those beyond DIAG_MAX_ERRORS too. */
size_t ts_diag_error_count(const struct ts_diag *diag);
/* For an allocation of so many bytes that failed: TS_RUN_FAILED, code no-memory. */
enum ts_status ts_diag_no_memory(struct ts_diag *diag, size_t bytes);
/* Each record as a JSON object on a line of its own. */
void ts_diag_print_json(const struct ts_diag *diag, FILE *stream);
/* Copies text into out (of `size` bytes) with control characters and what is not UTF-8 as \xHH; for text that comes
 * from files. Backslashes stay, as DICOM sets values apart by them: text that was escaped before comes out as it is. */
void ts_text_escape(char *out, size_t size, const char *text);
/* Prints `before` as it is, then the text escaped so, at most 2 KB of it. */
void ts_text_print(FILE *stream, const char *before, const char *text);

#endif
