/* SPDX-License-Identifier: Apache-2.0
 *
 * Keeps the failures of a writer: only the first one of any thread, since later ones are
 * consequences. The thread that owns the writer reports it, once. Also keeps the axes of datasets,
 * which hdf5_scales.c gives scales.
 */
#include "io/hdf5/hdf5_writer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "core/half.h"
#include "core/image.h"
#include "core/memory.h"
#include "core/number.h"
#include "io/file/file_bytes.h"

static bool keep_failure(struct hdf5_writer *writer, const char *code, const char *text,
                         const char *hint)
{
    pthread_mutex_lock(&writer->failure_lock);
    if (!writer->failed) {
        writer->failed = true;
        snprintf(writer->failure_code, sizeof writer->failure_code, "%s", code);
        snprintf(writer->failure_text, sizeof writer->failure_text, "%s", text);
        snprintf(writer->failure_hint, sizeof writer->failure_hint, "%s", hint);
    }
    pthread_mutex_unlock(&writer->failure_lock);
    return false;
}

bool ts_hdf5_fail(struct hdf5_writer *writer, const char *code, const char *format, ...)
{
    char text[sizeof writer->failure_text];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return keep_failure(writer, code, text, "");
}

bool ts_hdf5_fail_range(struct hdf5_writer *writer, const struct hdf5_dataset *dataset)
{
    char text[sizeof writer->failure_text];
    snprintf(
        text, sizeof text,
        "%.300s has values of a magnitude up to %.9g, and 16-bit floats (dtype: f16) end at %.0f",
        dataset->path, (double)dataset->largest, TS_HALF_MOST);
    return keep_failure(
        writer, "output-range", text,
        "leave out dtype: f16 of the output, or have the stage rescale make the values smaller");
}

bool ts_hdf5_fail_memory(struct hdf5_writer *writer, size_t bytes)
{
    return ts_hdf5_fail(writer, "no-memory", "no memory for %zu bytes while writing '%s'", bytes,
                        writer->file->path);
}

/* Writes an addition to the message of a failed write: for a full disk or a limit of file sizes
 * "; 1.0 MB more were needed, the file had reached 3.1 MB, free on the disk 0 bytes", else "". */
static void format_space(char *out, size_t size, int error_number, int fd, int64_t needed_bytes)
{
    out[0] = '\0';
    if (!ts_file_is_full(error_number))
        return;
    char needed[32], reached[32], free_text[32] = "unknown";
    struct stat file;
    struct statvfs disk;
    ts_bytes_format(needed, sizeof needed, (double)needed_bytes);
    ts_bytes_format(reached, sizeof reached, fstat(fd, &file) == 0 ? (double)file.st_size : 0.0);
    if (fstatvfs(fd, &disk) == 0)
        ts_bytes_format(free_text, sizeof free_text, (double)disk.f_bavail * (double)disk.f_frsize);
    snprintf(out, size, "; %s more were needed, the file had reached %s, free on the disk %s",
             needed, reached, free_text);
}

static bool fail_writing(struct hdf5_writer *writer, const char *doing, const char *what, int error,
                         const char *reason, int64_t bytes)
{
    char space[160], text[sizeof writer->failure_text];
    format_space(space, sizeof space, error, writer->file->fd, bytes);
    if (error)
        snprintf(text, sizeof text, "%s %s of '%s': %s (%d)%s", doing, what, writer->file->path,
                 reason, error, space);
    else
        snprintf(text, sizeof text, "%s %s of '%s': %s", doing, what, writer->file->path, reason);
    return keep_failure(writer, *space ? "disk-full" : "output-write", text,
                        *space ? "free some space or write the output to another disk" : "");
}

bool ts_hdf5_fail_system(struct hdf5_writer *writer, const char *what, int error_number,
                         const char *detail, int64_t bytes)
{
    return fail_writing(writer, what, detail, error_number, ts_errno_text(error_number), bytes);
}

bool ts_hdf5_fail_library(struct hdf5_writer *writer, const char *what, int64_t bytes)
{
    struct hdf5_failure failure;
    ts_hdf5_failure(&failure);
    return ts_hdf5_fail_because(writer, what, &failure, bytes);
}

bool ts_hdf5_fail_because(struct hdf5_writer *writer, const char *what,
                          const struct hdf5_failure *failure, int64_t bytes)
{
    return fail_writing(writer, "cannot write", what, failure->error_number, failure->text, bytes);
}

bool ts_hdf5_failed(struct hdf5_writer *writer)
{
    pthread_mutex_lock(&writer->failure_lock);
    bool failed = writer->failed;
    pthread_mutex_unlock(&writer->failure_lock);
    return failed;
}

enum ts_status ts_hdf5_state(struct hdf5_writer *writer)
{
    if (!ts_hdf5_failed(writer))
        return TS_OK;
    if (!writer->reported) {
        writer->reported = true;
        ts_diag_error(writer->diag, TS_RUN_FAILED,
                      &(struct diag_site){.code = writer->failure_code}, "%s; nothing was written",
                      writer->failure_text);
        if (writer->failure_hint[0])
            ts_diag_hint(writer->diag, "%s", writer->failure_hint);
    }
    return TS_RUN_FAILED;
}

enum ts_status ts_hdf5_settle(struct hdf5_writer *writer)
{
    (void)ts_chunk_queue_drain(writer->queue); /* the writer has kept the reason */
    return ts_hdf5_state(writer);
}

/* ---- axes of datasets, for scales ------------------------------------------------------------ */

static void clear(struct hdf5_labeled *labeled)
{
    for (int d = 0; d < labeled->rank; d++)
        free(labeled->axes[d].name);
    free(labeled->path);
}

void ts_hdf5_scales_clear(struct hdf5_writer *writer)
{
    for (size_t i = 0; i < writer->n_labeled; i++)
        clear(&writer->labeled[i]);
    free(writer->labeled);
    writer->labeled = NULL;
    writer->n_labeled = 0;
}

enum ts_status ts_hdf5_scales_note(struct hdf5_writer *writer, const char *path,
                                   const struct ts_image *image)
{
    if (image->rank == 0 || ts_hdf5_failed(writer))
        return ts_hdf5_state(writer);
    struct hdf5_labeled *grown = ts_memory_grow(writer->labeled, writer->n_labeled,
                                                &writer->labeled_capacity, sizeof *grown);
    if (!grown) {
        ts_hdf5_fail_memory(writer, sizeof *grown);
        return ts_hdf5_state(writer);
    }
    writer->labeled = grown;
    struct hdf5_labeled labeled = {.path = strdup(path), .rank = image->rank};
    bool done = labeled.path;
    for (int d = 0; d < image->rank; d++) {
        const struct ts_axis *axis = &image->axes[d];
        labeled.axes[d] = (struct labeled_axis){.n = axis->n,
                                                .name = strdup(ts_axis_name(axis)),
                                                .own = axis->name != NULL,
                                                .scale = -1};
        done = done && labeled.axes[d].name;
    }
    if (done)
        grown[writer->n_labeled++] = labeled;
    else
        clear(&labeled);
    if (!done)
        ts_hdf5_fail_memory(writer, strlen(path));
    return ts_hdf5_state(writer);
}
