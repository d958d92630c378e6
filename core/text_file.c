/* SPDX-License-Identifier: Apache-2.0
 *
 * A file is written through the C library, and checked at both ends. Before long work, opening it for appending shows
 * whether it can be written, and leaves an existing file as it is. At the end, fflush() and fclose() report what a full
 * disk refused, and a regular file that was written in part is removed, because half a plot looks like a damaged one.
 */
#include "core/text_file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum ts_status refuse(const char *path, int error, struct ts_diag *diag)
{
    return ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "not-written"}, "%s cannot be written: %s",
                         path, strerror(error));
}

enum ts_status ts_text_file_check(const char *path, struct ts_diag *diag)
{
    struct stat found;
    const bool there = lstat(path, &found) == 0;
    FILE *file = fopen(path, "a");
    if (!file)
        return refuse(path, errno, diag);
    fclose(file);
    if (!there)
        unlink(path);
    return TS_OK;
}

FILE *ts_text_file_open(const char *path, bool replace, struct ts_diag *diag)
{
    FILE *file = fopen(path, replace ? "w" : "wx");
    if (!file && errno == EEXIST) {
        ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "output-exists"}, "%s exists already", path);
        ts_diag_hint(diag, "--force replaces it");
    } else if (!file) {
        refuse(path, errno, diag);
    }
    return file;
}

enum ts_status ts_text_file_close(FILE *file, const char *path, struct ts_diag *diag)
{
    struct stat status;
    const bool regular = fstat(fileno(file), &status) == 0 && S_ISREG(status.st_mode);
    errno = 0;
    const bool failed = fflush(file) != 0 || ferror(file) != 0;
    /* A write that failed earlier has left no reason. */
    const int error = errno ? errno : EIO;
    if (fclose(file) == 0 && !failed)
        return TS_OK;
    const int end = failed ? error : errno;
    if (regular)
        unlink(path); /* a part of a picture is none */
    return refuse(path, end, diag);
}
