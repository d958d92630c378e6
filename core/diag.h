/* SPDX-License-Identifier: Apache-2.0
 *
 * Diagnostics are one list of records (errors, warnings, notes). Every layer adds to it, and only
 * the program prints it.
 */
#ifndef CORE_DIAG_H
#define CORE_DIAG_H

#include <stdarg.h>

#include "include/tomostage.h"

/* At most this many errors are kept; the printed list then ends with a line that counts the
 * rest. */
enum { DIAG_MAX_ERRORS = 20 };

/* The parts of a record other than its message; an unset field means "none". */
struct diag_site {
    const char *code;
    struct ts_span span;
    const char *stage;
};

/* Adds an error and returns `status`, so that a failing function can end in `return
 * ts_diag_error(...)`. The message is formatted as by printf: one sentence without a final period.
 * `site` may be NULL. */
enum ts_status ts_diag_error(struct ts_diag *diag, enum ts_status status,
                             const struct diag_site *site, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Add a warning or a note, after which the run goes on. */
void ts_diag_warning(struct ts_diag *diag, const struct diag_site *site, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void ts_diag_note(struct ts_diag *diag, const struct diag_site *site, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Sets the hint of the newest record, which says what the user can do. Returns that record's
 * status, so that a failing function can end in `return ts_diag_hint(...)`. */
enum ts_status ts_diag_hint(struct ts_diag *diag, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Makes every later hint pass through `spell`, which returns a new text (released with free()), or
 * NULL to keep the hint. With `spell` NULL, hints stay as they are. */
void ts_diag_spell_hints(struct ts_diag *diag, char *(*spell)(const char *hint));
/* Has every later hint name members of ts_options and functions of the library, or the program's
 * options (--memory), as they are written in the sources. */
void ts_diag_name_options(struct ts_diag *diag, bool members);
/* Adds copies of the records of a different list, whose spans belong to the same text. */
void ts_diag_append(struct ts_diag *diag, const struct ts_diag *from);
/* Removes the errors that name this stage, from record `from` on, because a different one turned
 * out to be their cause. With `stage` NULL it removes all records from `from` on. */
void ts_diag_forget(struct ts_diag *diag, size_t from, const char *stage);
/* Sets the text that the spans of later records point into. Its name is printed before the line
 * number. Both are copied. */
void ts_diag_set_source(struct ts_diag *diag, const char *name, const char *text, size_t length);
/* Returns the message of the first error, or NULL without errors. */
const char *ts_diag_first_error(const struct ts_diag *diag);
/* Has ts_diag_status() look only at errors from now on, as a call of the library's does. */
void ts_diag_begin(struct ts_diag *diag);
/* Returns the status of the first error since ts_diag_begin(), or TS_OK without errors. */
enum ts_status ts_diag_status(const struct ts_diag *diag);
/* Returns the number of all errors, including those beyond DIAG_MAX_ERRORS. */
size_t ts_diag_error_count(const struct ts_diag *diag);
/* Returns true if further errors will not be kept. The caller then need not look for a suggestion,
 * which takes time that grows with the square of a name's length. */
bool ts_diag_is_full(const struct ts_diag *diag);
/* Sums up a step that began when there were `count` records and `errors` errors. Returns TS_OK if
   it added no error, TS_RUN_FAILED if an added one is no-memory, else TS_BAD_CHAIN. */
enum ts_status ts_diag_status_since(const struct ts_diag *diag, size_t count, size_t errors);
/* Reports that an allocation of so many bytes failed (code no-memory), and returns
 * TS_RUN_FAILED. */
enum ts_status ts_diag_no_memory(struct ts_diag *diag, size_t bytes);
/* Writes each record as a JSON object on a line of its own. */
void ts_diag_print_json(const struct ts_diag *diag, FILE *stream);
/* Copies text that comes from files into `out` (of `size` bytes), with control characters and bytes
 * that are not UTF-8 written as \xHH. Backslashes stay, because DICOM separates values by them; so
 * escaping a text twice changes nothing more. */
void ts_text_escape(char *out, size_t size, const char *text);
/* Prints `before` as it is, then the text escaped in this way, at most 2 KB of it. */
void ts_text_print(FILE *stream, const char *before, const char *text);

#endif
