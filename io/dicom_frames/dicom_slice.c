/* SPDX-License-Identifier: Apache-2.0
 *
 * Slices are read by a worker or in the program itself. Both ways share these functions, which open
 * the file that the scan checked and keep the facts about a slice.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/path.h"
#include "io/dicom_frames/dicom_source.h"
#include "io/file/digest.h"
#include "io/file/file_bytes.h"

static void dicom_slice_fail(struct dicom_reply *reply, const char *code, const char *text)
{
    *reply = (struct dicom_reply){.dirty = false};
    ts_worker_refuse(&reply->verdict, TS_BAD_INPUT, code, text);
}

/* Returns true if this is still the file whose header was checked. */
static bool is_unchanged(const struct dicom_file *file, const struct stat *now)
{
    return S_ISREG(now->st_mode) && now->st_dev == file->device && now->st_ino == file->inode &&
           now->st_size == file->file_bytes && now->st_mtim.tv_sec == file->modified.tv_sec &&
           now->st_mtim.tv_nsec == file->modified.tv_nsec;
}

bool ts_dicom_frame_check(const struct dicom_file *file, int fd, struct dicom_reply *reply)
{
    struct stat now;
    if (fstat(fd, &now) != 0)
        dicom_slice_fail(reply, "file-not-readable", ts_errno_text(errno));
    else if (!is_unchanged(file, &now))
        dicom_slice_fail(reply, "file-changed",
                         "the file was changed after its header was checked");
    return reply->verdict.status == TS_OK;
}

int ts_dicom_frame_open(const struct dicom_file *file, struct dicom_reply *reply)
{
    const int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        dicom_slice_fail(reply, "file-not-readable", ts_errno_text(errno));
    if (fd < 0 || ts_dicom_frame_check(file, fd, reply))
        return fd;
    close(fd);
    return -1;
}

enum ts_status ts_dicom_check_range(const struct dicom_source *source, int64_t z, int64_t n,
                                    struct ts_diag *diag)
{
    const int64_t n_slices = ts_source_total(&source->base);
    if (z >= 0 && n >= 0 && z <= n_slices - n)
        return TS_OK;
    return ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "slice-out-of-range"},
                         "slices %lld to %lld were asked for, there are %lld", (long long)z,
                         (long long)(z + n - 1), (long long)n_slices);
}

/* Keeps the digests of slice z, which has to be the one that was read before, if it was. */
static enum ts_status accept_digests(struct dicom_source *source, int64_t z,
                                     const struct dicom_reply *reply, const char *name,
                                     struct ts_diag *diag)
{
    struct source_slice *slice = &source->base.slices[z];
    char sha256[sizeof slice->pixel_sha256];
    ts_digest_format(sha256, reply->pixel_sha256);
    if (slice->pixel_sha256[0] != '\0' && strcmp(slice->pixel_sha256, sha256) != 0)
        return ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "file-changed"},
                             "slice %lld (%s): the pixels differ from those read before",
                             (long long)z, name);
    memcpy(slice->pixel_sha256, sha256, sizeof sha256);
    if (source->frames[z].image->file->sop_instance[0] != '\0')
        ts_digest_format(slice->instance_hmac, reply->instance_hmac);
    return TS_OK;
}

enum ts_status ts_dicom_accept(struct dicom_source *source, int64_t z,
                               const struct dicom_reply *reply, struct ts_diag *diag)
{
    const struct dicom_file *file = source->frames[z].image->file;
    const char *name = ts_base_name(file->path);
    const enum ts_status status = (enum ts_status)reply->verdict.status;
    if (status != TS_OK) {
        struct diag_site site = {.code = reply->verdict.code};
        ts_diag_error(diag, status, &site, "slice %lld (%s): %s", (long long)z, name,
                      reply->verdict.text);
        if (status == TS_RUN_FAILED)
            return ts_diag_hint(diag, CHILD_KILLED_HINT);
        if (!strcmp(site.code, "pixel-sign"))
            return ts_diag_hint(diag, "set Pixel Representation (0028,0103) to 1, since the "
                                      "compressed frames have signed values");
        if ((file->syntax == DICOM_JPEG_LS || file->syntax == DICOM_JPEG_LS_NEAR) &&
            file->bits_stored < 8)
            return ts_diag_hint(
                diag,
                "DCMTK may not decode JPEG-LS of %d bits a value: if another program shows the "
                "image, have it write the file without compression",
                file->bits_stored);
        return ts_diag_hint(diag, "copy the file again from its archive, or remove it");
    }
    source->base.slices[z].padding_count = reply->padding_count;
    source->base.slices[z].rounding = reply->rounding;
    source->frames[z].dirty = reply->dirty;
    source->frames[z].wrapped = reply->wrapped;
    return source->base.no_digests ? TS_OK : accept_digests(source, z, reply, name, diag);
}

static void note_wrapped(struct dicom_source *source, int64_t z, struct ts_diag *diag)
{
    const struct dicom_frame *frame = &source->frames[z];
    const bool is_signed = frame->cells.is_signed;
    source->noted_wrapped = true;
    ts_diag_warning(diag, &(struct diag_site){.code = "pixels-wrapped"},
                    "stored values lie at both ends of %s %d bits, first in slice %lld (%s): Pixel "
                    "Representation (0028,0103) is %d, and they look %s",
                    is_signed ? "signed" : "unsigned", frame->cells.bits_stored, (long long)z,
                    ts_base_name(frame->image->file->path), is_signed,
                    is_signed ? "unsigned" : "signed");
    ts_diag_hint(diag, "correct it in the files if so: values are off by %.0f times the slope",
                 ldexp(1, frame->cells.bits_stored));
}

static void note_dirty(struct dicom_source *source, int64_t z, int64_t n, struct ts_diag *diag)
{
    for (int64_t i = z; i < z + n && !source->noted_dirty; i++)
        if (source->frames[i].dirty) {
            source->noted_dirty = true;
            const struct dicom_file *file = source->frames[i].image->file;
            const struct diag_site site = {.code = "unused-bits-set"};
            if (file->overlays || file->high_bit + 1 > file->bits_stored)
                ts_diag_note(diag, &site,
                             "bits outside of Bits Stored are set (an embedded overlay, perhaps), "
                             "first in slice %lld (%s); they were dropped",
                             (long long)i, ts_base_name(file->path));
            else
                ts_diag_warning(diag, &site,
                                "bits outside of Bits Stored are set, first in slice %lld (%s), "
                                "and no overlay is stated to lie there; they were dropped: where "
                                "Bits Stored (%d) is wrong, values are",
                                (long long)i, ts_base_name(file->path), file->bits_stored);
        }
}

void ts_dicom_note_pixels(struct dicom_source *source, int64_t z, int64_t n, struct ts_diag *diag)
{
    note_dirty(source, z, n, diag);
    for (int64_t i = z; i < z + n && !source->noted_wrapped; i++)
        if (source->frames[i].wrapped)
            note_wrapped(source, i, diag);
}
