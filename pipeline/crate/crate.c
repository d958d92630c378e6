/* SPDX-License-Identifier: Apache-2.0
 *
 * The three files are written one after the other, into a folder that gets its name when all are there. The chain is
 * the text that the result holds, so that the crate has the workflow itself, and `tomostage run chain.yaml` reads it.
 */
#include "pipeline/crate/crate.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "io/file/file_bytes.h"

static const char *const names[] = {"chain.yaml", "prov.json", "ro-crate-metadata.json"};

enum { FILES = sizeof names / sizeof *names };

const char *ts_crate_id(char id[64], const char *kind, int number)
{
    snprintf(id, 64, "#%s-%d", kind, number);
    return id;
}

static void write_text(const struct run_record *record, int file, const char *date, FILE *stream)
{
    if (file == 0)
        fputs(record->chain, stream);
    else if (file == 1)
        ts_crate_prov(record, stream);
    else
        ts_crate_metadata(record, date, stream);
}

/* Writes a new file of the folder. Returns false with errno where that fails. */
static bool write_file(const struct run_record *record, const char *folder, int file, const char *date)
{
    char *path = ts_arena_printf(record->arena, "%s/%s", folder, names[file]);
    FILE *stream = path ? fopen(path, "wx") : NULL;
    if (!stream)
        return false;
    write_text(record, file, date, stream);
    const bool written = !ferror(stream) && fflush(stream) == 0 && fsync(fileno(stream)) == 0;
    const int error = errno;
    const bool closed = fclose(stream) == 0;
    errno = written ? errno : error;
    return written && closed;
}

enum ts_status ts_crate_write(const struct run_record *record, const char *folder, const char *date,
                              struct staged *staged, struct ts_diag *diag)
{
    enum ts_status status = ts_staged_folder(staged, folder, "", false, diag);
    for (int i = 0; i < FILES && status == TS_OK; i++)
        if (!write_file(record, staged->temporary, i, date))
            status = ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "output-write"},
                                   "cannot write the output '%s/%s': %s", folder, names[i], ts_errno_text(errno));
    if (status != TS_OK)
        return status;
    ts_file_sync_folder(staged->temporary, folder, diag);
    return ts_staged_publish(staged, diag);
}
