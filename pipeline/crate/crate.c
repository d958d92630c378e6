/* SPDX-License-Identifier: Apache-2.0
 *
 * The three files are written one after the other, into a folder that gets its name when all are there. The chain is
 * the text that the result holds, so that the crate has the workflow itself, and `tomostage run chain.yaml` reads it.
 */
#include "pipeline/crate/crate.h"

#include <errno.h>
#include <string.h>

#include "io/file/staged.h"

enum { FILES = 3 };

static const char *const names[FILES + 1] = {"chain.yaml", "prov.json", "ro-crate-metadata.json", NULL};

static void write_text(const struct run_record *record, int file, const char *date, FILE *stream)
{
    if (file == 0)
        fputs(record->chain, stream);
    else if (file == 1)
        ts_crate_prov(record, stream);
    else
        ts_crate_metadata(record, date, stream);
}

/* Writes one file into the staged folder. Returns 0 or errno. */
static int write_file(const struct run_record *record, const struct staged *staged, int file, const char *date)
{
    char *path = ts_arena_printf(record->arena, "%s/%s", staged->temporary, names[file]);
    FILE *stream = path ? fopen(path, "wx") : NULL;
    if (!stream)
        return path ? errno : ENOMEM;
    errno = 0;
    write_text(record, file, date, stream);
    const bool written = fflush(stream) == 0 && !ferror(stream);
    const int error = errno ? errno : EIO;
    if (fclose(stream) != 0 && written)
        return errno;
    return written ? 0 : error;
}

enum ts_status ts_crate_write(const struct run_record *record, const char *folder, const char *date, bool force,
                              struct staged *staged, struct ts_diag *diag)
{
    enum ts_status status = ts_staged_folder(staged, folder, &(struct staged_content){NULL, names}, force, diag);
    for (int i = 0; i < FILES && status == TS_OK; i++) {
        const int error = write_file(record, staged, i, date);
        if (error)
            status = ts_file_failed(diag, "output-write", error, "cannot write the output '%s/%s'", folder, names[i]);
    }
    if (status == TS_OK)
        status = ts_staged_sync(staged, diag);
    return status == TS_OK ? ts_staged_publish(staged, diag) : status;
}
