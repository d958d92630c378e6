/* SPDX-License-Identifier: Apache-2.0
 *
 * One slice, in a worker process: cells from the file (read at the offset the scan found, or through DCMTK), stored
 * values, digests, padding count, values.
 *
 * pixel_sha256 = SHA-256(p), p the stored values, little-endian, sign-extended to BitsAllocated.
 * instance_hmac = HMAC-SHA256(key, SOP Instance UID), key = SHA-256(p || "tomostage instance key"): who holds the image
 * can verify the UID; the digest of p alone does not give the key, since the state before SHA-256's padding is not
 * known.
 */
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/dicom_decode.h"
#include "io/dicom_rle.h"
#include "io/dicom_source.h"

static const char key_label[] = "tomostage instance key";

size_t ts_dicom_cell_bytes(const struct dicom_source *source)
{
    return ts_slice_count(&source->base.image) * (size_t)(source->frames[0].cells.bits_allocated / 8);
}

static void refuse(struct dicom_reply *reply, const char *code, const char *text)
{
    reply->failed = 1;
    snprintf(reply->code, sizeof reply->code, "%s", code);
    snprintf(reply->text, sizeof reply->text, "%s", text);
}

static bool unchanged(int fd, const struct dicom_frame *frame)
{
    struct stat now;
    return fstat(fd, &now) == 0 && S_ISREG(now.st_mode) && now.st_dev == frame->device && now.st_ino == frame->inode &&
           now.st_size == frame->file->file_bytes && now.st_mtim.tv_sec == frame->modified.tv_sec &&
           now.st_mtim.tv_nsec == frame->modified.tv_nsec;
}

static bool read_at(int fd, void *out, size_t bytes, int64_t offset, struct dicom_reply *reply)
{
    unsigned char *to = out;
    while (bytes > 0) {
        ssize_t count = pread(fd, to, bytes, offset);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0) {
            refuse(reply, "file-not-readable", count < 0 ? strerror(errno) : "the file ends inside of its pixel data");
            return false;
        }
        to += count;
        offset += count;
        bytes -= (size_t)count;
    }
    return true;
}

/* The scan found one fragment: an item header of 8 bytes, then the frame. */
static bool read_rle(int fd, const struct dicom_frame *frame, void *cells, size_t bytes, struct dicom_reply *reply)
{
    const size_t cell_bytes = (size_t)frame->cells.bits_allocated / 8;
    const size_t encoded_bytes = (size_t)frame->file->pixel_bytes;
    unsigned char *encoded = malloc(encoded_bytes);
    if (encoded == NULL) {
        refuse(reply, "no-memory", "the worker's memory does not hold the compressed slice");
        return false;
    }
    bool ok = read_at(fd, encoded, encoded_bytes, frame->file->pixel_offset + 8, reply);
    if (ok && !ts_dicom_rle_decode(encoded, encoded_bytes, cells, bytes / cell_bytes, cell_bytes, reply->text,
                                   sizeof reply->text)) {
        reply->failed = 1;
        snprintf(reply->code, sizeof reply->code, "pixel-data-damaged");
        ok = false;
    }
    free(encoded);
    return ok;
}

static bool read_cells(const struct dicom_frame *frame, void *cells, size_t bytes, struct dicom_reply *reply)
{
    const struct dicom_file *file = frame->file;
    bool ok = false;
    int fd = open(file->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        refuse(reply, "file-not-readable", strerror(errno));
        return false;
    }
    if (!unchanged(fd, frame)) {
        refuse(reply, "file-changed", "the file was changed after its header was checked");
    } else if (file->syntax <= DICOM_EXPLICIT_BE) {
        ok = read_at(fd, cells, bytes, file->pixel_offset, reply);
    } else if (file->syntax == DICOM_RLE) {
        ok = read_rle(fd, frame, cells, bytes, reply);
    } else {
        /* The file that was just checked, whatever its name stands for by now. */
        char path[32];
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        ok = ts_dicom_decode_frame(path, cells, bytes, reply->text, sizeof reply->text) == 0;
        if (!ok) {
            reply->failed = 1;
            snprintf(reply->code, sizeof reply->code, "pixel-data-damaged");
        }
    }
    close(fd);
    return ok;
}

static bool digest(const void *stored, size_t bytes, const char *uid, struct dicom_reply *reply)
{
    unsigned char key[DIGEST_BYTES];
    unsigned int length = DIGEST_BYTES;
    EVP_MD_CTX *pixels = EVP_MD_CTX_new();
    EVP_MD_CTX *keyed = EVP_MD_CTX_new();
    bool ok =
        pixels != NULL && keyed != NULL && EVP_DigestInit_ex(pixels, EVP_sha256(), NULL) == 1 &&
        EVP_DigestUpdate(pixels, stored, bytes) == 1 && EVP_MD_CTX_copy_ex(keyed, pixels) == 1 &&
        EVP_DigestFinal_ex(pixels, reply->pixel_sha256, NULL) == 1 &&
        EVP_DigestUpdate(keyed, key_label, sizeof key_label - 1) == 1 && EVP_DigestFinal_ex(keyed, key, NULL) == 1 &&
        HMAC(EVP_sha256(), key, sizeof key, (const unsigned char *)uid, strlen(uid), reply->instance_hmac, &length) !=
            NULL;
    EVP_MD_CTX_free(pixels);
    EVP_MD_CTX_free(keyed);
    if (!ok)
        refuse(reply, "digest-failed", "the SHA-256 of the pixels could not be computed");
    return ok;
}

/* The padding value, or the range from it to its limit, in stored values. */
static int64_t count_padding(const struct dicom_file *file, const void *stored, enum ts_dtype dtype, size_t n)
{
    if (!file->have_padding)
        return 0;
    const bool is_signed = file->pixel_representation == 1;
    int64_t first = is_signed ? (int64_t)file->padding : (int64_t)(uint32_t)file->padding;
    int64_t last = first;
    if (file->have_padding_limit)
        last = is_signed ? (int64_t)file->padding_limit : (int64_t)(uint32_t)file->padding_limit;
    return ts_dicom_count_range(stored, dtype, n, first < last ? first : last, first < last ? last : first);
}

void ts_dicom_frame_decode(struct dicom_source *source, int64_t z, void *out, struct dicom_reply *reply)
{
    const struct dicom_frame *frame = &source->frames[z];
    const size_t n = ts_slice_count(&source->base.image);
    const size_t bytes = ts_dicom_cell_bytes(source);
    const enum ts_dtype stored = ts_dicom_stored_dtype(&frame->cells);
    if (!read_cells(frame, source->cells, bytes, reply))
        return;
    reply->dirty = ts_dicom_cells_to_stored(source->cells, n, &frame->cells);
    if (!digest(source->cells, bytes, frame->file->sop_instance, reply))
        return;
    reply->padding_count = count_padding(frame->file, source->cells, stored, n);
    ts_dicom_rescale(out, source->base.image.dtype, source->cells, stored, n, frame->slope, frame->intercept);
}
