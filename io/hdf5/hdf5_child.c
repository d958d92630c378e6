/* SPDX-License-Identifier: Apache-2.0
 *
 * The child carries out tasks one after the other, until the parent closes the channel. It writes
 * an answer to memory first and sends it whole, since the length comes first. It ends if memory is
 * out or the parent is gone.
 */
#include "io/hdf5/hdf5_child.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "io/hdf5/hdf5_driver.h"
#include "io/hdf5/hdf5_filters.h"

/* The library says so of each part of a file whose format it does not know yet. */
static bool is_newer(const char *message)
{
    return strstr(message, "bad version number") || strstr(message, "header version") ||
           strstr(message, "superblock version");
}

static enum ts_status refuse_newer(const struct hdf5_child *child, struct ts_diag *diag,
                                   struct diag_site *site, const char *message)
{
    site->code = "hdf5-newer";
    ts_diag_error(diag, TS_BAD_INPUT, site,
                  "%s: %s: a newer HDF5 than the one of this program, %d.%d.%d, has written it, or "
                  "it is damaged",
                  child->path, message, H5_VERS_MAJOR, H5_VERS_MINOR, H5_VERS_RELEASE);
    return ts_diag_hint(diag, "read its datasets with the program that wrote them, and write them "
                              "anew in a format for older readers, as h5py does in a new file "
                              "without its choice libver");
}

enum ts_status ts_hdf5_child_refuse(const struct hdf5_child *child, struct ts_diag *diag,
                                    const char *code, const char *format, ...)
{
    char message[1500];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    struct diag_site site = {
        .code = code, .span = child->span, .stage = *child->owner ? child->owner : NULL};
    if (errno != ENOMEM || !ts_sandbox_lacks_memory())
        return is_newer(message)
                   ? refuse_newer(child, diag, &site, message)
                   : ts_diag_error(diag, TS_BAD_INPUT, &site, "%s: %s", child->path, message);
    site.code = "no-memory";
    ts_diag_error(diag, TS_RUN_FAILED, &site, "%s: out of memory while it was read: %s",
                  child->path, message);
    return ts_diag_hint(diag, CHILD_KILLED_HINT);
}

enum ts_status ts_hdf5_child_unreadable(const struct hdf5_child *child, struct ts_diag *diag,
                                        const char *what)
{
    struct hdf5_failure failure;
    char shown[1024];
    ts_hdf5_failure(&failure);
    ts_text_escape(shown, sizeof shown, what);
    return ts_hdf5_child_refuse(child, diag, "hdf5-unreadable", "%s cannot be read: %s", shown,
                                failure.text);
}

static void put_records(FILE *out, const struct ts_diag *diag, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct ts_diag_record *record = ts_diag_get(diag, i);
        const char *texts[RECORD_TEXTS] = {record->code, record->message, record->hint};
        struct record_head head = {(int32_t)record->severity, (int32_t)record->status, {0}};
        for (int k = 0; k < RECORD_TEXTS; k++)
            head.bytes[k] = texts[k] ? (uint32_t)strlen(texts[k]) + 1 : 0;
        fwrite(&head, sizeof head, 1, out);
        for (int k = 0; k < RECORD_TEXTS; k++)
            if (texts[k])
                fwrite(texts[k], 1, head.bytes[k], out);
    }
}

/* Does the task and answers. False if memory is out or the parent is gone. */
static bool perform(struct hdf5_child *child, int channel, hdf5_task *task, const void *request)
{
    struct ts_diag *diag = ts_diag_create();
    char *printed = NULL, *records = NULL;
    struct answer_head head = {0};
    struct hdf5_failure failure;
    FILE *out = open_memstream(&printed, &head.bytes),
         *record_out = open_memstream(&records, &head.record_bytes);
    if (!diag || !out || !record_out)
        return false;
    errno = 0;
    ts_hdf5_enter();
    enum ts_status status = task(child, request, out, diag);
    ts_hdf5_leave();
    if (child->strict && status == TS_OK && ts_hdf5_noted_failure(&failure))
        status = ts_hdf5_child_refuse(child, diag, "hdf5-damaged",
                                      "a part of the file cannot be read: %s", failure.text);
    head.status = (int32_t)status;
    head.n_records =
        (uint32_t)(ts_diag_count(diag) < RECORDS_MOST ? ts_diag_count(diag) : RECORDS_MOST);
    put_records(record_out, diag, head.n_records);
    const bool whole = fclose(out) == 0 && fclose(record_out) == 0;
    ts_diag_destroy(diag);
    const bool sent = whole && ts_channel_write(channel, &head, sizeof head) &&
                      ts_channel_write(channel, records, head.record_bytes) &&
                      ts_channel_write(channel, printed, head.bytes);
    free(printed);
    free(records);
    return sent;
}

/* Makes the library read whatever it needs from files or the environment before the child is
   locked. */
static bool hdf5_child_prepare(const void *setup, size_t bytes, char *error, size_t error_bytes)
{
    struct hdf5_failure failure = {0};
    (void)setup, (void)bytes;
    /* Old files have times, whose decoding needs the time zone. */
    bool done = setenv("TZ", "UTC0", 1) == 0;
    tzset();
    ts_hdf5_enter();
    done = done && H5open() >= 0 && H5PLset_loading_state(0) >= 0 && ts_hdf5_filters_register();
    if (!done)
        ts_hdf5_failure(&failure);
    ts_hdf5_leave();
    ts_hdf5_note_failures();
    snprintf(error, error_bytes, "%s", failure.text);
    return done;
}

static void serve(int channel, const void *setup, size_t bytes, const int *fds, int n_fds)
{
    static struct hdf5_child child;
    static unsigned char request[SESSION_REQUEST_BYTES] __attribute__((aligned(16)));
    (void)fds;
    (void)n_fds;
    if (bytes != sizeof child)
        return;
    memcpy(&child, setup, sizeof child);
    for (;;) {
        struct task_head head;
        int n_handed = 1;
        child.handed = -1;
        if (!ts_channel_receive(channel, &head, sizeof head, &child.handed, &n_handed) ||
            head.bytes > sizeof request || !ts_channel_read(channel, request, head.bytes) ||
            !perform(&child, channel, (hdf5_task *)(intptr_t)ts_sandbox_object(head.task), request))
            return;
    }
}

const struct sandbox_kind ts_hdf5_reader = {
    .name = "HDF5 reader", .prepare = hdf5_child_prepare, .serve = serve};

enum ts_status ts_hdf5_child_add_file(struct hdf5_child *child, const void *request, FILE *out,
                                      struct ts_diag *diag)
{
    struct hdf5_failure failure = {0};
    (void)request;
    const hid_t file = child->handed >= 0 && child->n_files < SESSION_FILES
                           ? ts_hdf5_open_descriptor(child->handed, &failure)
                           : -1;
    if (file < 0)
        return ts_hdf5_child_refuse(child, diag, child->strict ? "hdf5-unreadable" : "hdf5-open",
                                    "%s: %s",
                                    child->n_files ? "a file that a link leads to cannot be read"
                                                   : "the file cannot be read",
                                    failure.text);
    const hid_t root = H5Gopen2(file, "/", H5P_DEFAULT);
    if (root < 0)
        return ts_hdf5_child_unreadable(child, diag, "the file");
    child->files[child->n_files++] = file;
    fwrite(&(int64_t){root}, sizeof(int64_t), 1, out);
    return TS_OK;
}
