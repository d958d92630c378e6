/* SPDX-License-Identifier: Apache-2.0
 *
 * This decodes one slice, in a worker process where it is compressed: it reads cells from the file's descriptor (at the
 * offset that the scan found, or through DCMTK), makes stored values of them, digests, counts padding, and rescales.
 *
 * pixel_sha256 = SHA-256(p), p the stored values, little-endian, sign-extended to BitsAllocated.
 * instance_hmac = HMAC-SHA256(key, SOP Instance UID), key = SHA-256(p || "tomostage instance key"): who holds the image
 * can verify the UID; the digest of p alone does not give the key, since the state before SHA-256's padding is not
 * known.
 */
#include <errno.h>
#include <math.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/dicom_frames/dicom_decode.h"
#include "io/dicom_frames/dicom_rle.h"
#include "io/dicom_frames/dicom_source.h"
#include "io/file/file_bytes.h"

static const char key_label[] = "tomostage instance key";

size_t ts_dicom_cell_bytes(const struct dicom_source *source)
{
    return ts_slice_count(&source->base.image) * (size_t)(source->frames[0].cells.bits_allocated / 8);
}

struct dicom_job ts_dicom_job(const struct dicom_source *source, int64_t z)
{
    const struct dicom_frame *frame = &source->frames[z];
    const struct dicom_file *file = frame->file;
    struct dicom_job job = {.pixel_offset = file->pixel_offset,
                            .pixel_bytes = file->pixel_bytes,
                            .file_bytes = file->file_bytes,
                            .n = ts_slice_count(&source->base.image),
                            .slope = frame->slope,
                            .intercept = frame->intercept,
                            .cells = frame->cells,
                            .syntax = file->syntax,
                            .dtype = source->base.image.dtype,
                            .have_padding = file->have_padding,
                            .have_padding_limit = file->have_padding_limit,
                            .padding = file->padding,
                            .padding_limit = file->padding_limit};
    snprintf(job.sop_instance, sizeof job.sop_instance, "%s", file->sop_instance);
    return job;
}

/* Refuses where a decoder has already written the text. */
static void refuse_code(struct dicom_reply *reply, const char *code)
{
    reply->failed = 1;
    snprintf(reply->code, sizeof reply->code, "%s", code);
}

static void refuse(struct dicom_reply *reply, const char *code, const char *text)
{
    refuse_code(reply, code);
    snprintf(reply->text, sizeof reply->text, "%s", text);
}

static bool read_at(int fd, void *out, size_t bytes, int64_t offset, struct dicom_reply *reply)
{
    if (ts_file_read_at(fd, out, bytes, (uint64_t)offset))
        return true;
    refuse(reply, "file-not-readable", errno ? ts_errno_text(errno) : "the file ends inside of its pixel data");
    return false;
}

/* Decodes a frame from the file's compressed bytes in memory. The scan found one RLE fragment: an item header of 8
 * bytes, then the frame. DCMTK decodes the whole file, since a worker can open nothing. */
static bool read_compressed(int fd, const struct dicom_job *job, void *cells, size_t bytes, struct dicom_reply *reply)
{
    const bool rle = job->syntax == DICOM_RLE;
    const size_t n = (size_t)(rle ? job->pixel_bytes : job->file_bytes);
    void *encoded = malloc(n);
    if (encoded == NULL) {
        refuse(reply, "no-memory",
               rle ? "the worker's memory does not hold the compressed slice"
                   : "the worker's memory does not hold the compressed file");
        return false;
    }
    bool ok = read_at(fd, encoded, n, rle ? job->pixel_offset + 8 : 0, reply);
    if (ok) {
        ok = rle ? ts_dicom_rle_decode(encoded, n, cells, job->n, (size_t)job->cells.bits_allocated / 8, reply->text,
                                       sizeof reply->text)
                 : ts_dicom_decode_frame(encoded, n, cells, bytes, reply->text, sizeof reply->text) == 0;
        if (!ok)
            refuse_code(reply, "pixel-data-damaged");
    }
    free(encoded);
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

/* Gives the padding value, or the range from it to its limit, in stored values. Returns false where there is none. */
static bool find_padding(const struct dicom_job *job, int64_t *low, int64_t *high)
{
    const bool is_signed = job->cells.is_signed;
    const int64_t first = is_signed ? (int64_t)job->padding : (int64_t)(uint32_t)job->padding;
    int64_t last = first;
    if (job->have_padding_limit)
        last = is_signed ? (int64_t)job->padding_limit : (int64_t)(uint32_t)job->padding_limit;
    *low = first < last ? first : last;
    *high = first < last ? last : first;
    return job->have_padding;
}

static int64_t count_padding(const struct dicom_job *job, const void *stored, enum ts_dtype dtype)
{
    int64_t low, high;
    return find_padding(job, &low, &high) ? ts_dicom_count_range(stored, dtype, job->n, low, high) : 0;
}

/* The ends of the range are rescaled as the pixels are. So a pixel lies between them exactly where its stored value
 * lies in the range, as far as the type of the volume tells neighboring stored values apart. */
bool ts_dicom_padding(const struct dicom_source *source, int64_t z, struct invalid_range *range)
{
    const struct dicom_job job = ts_dicom_job(source, z);
    int64_t low, high;
    double least, most, ends[2];
    uint32_t values[2];
    *range = (struct invalid_range){(double)NAN, (double)NAN};
    ts_dicom_stored_range(&job.cells, &least, &most);
    if (!find_padding(&job, &low, &high) || job.slope == 0 || (double)high < least || (double)low > most)
        return false;
    const uint32_t stored[2] = {(uint32_t)(int64_t)fmax((double)low, least),
                                (uint32_t)(int64_t)fmin((double)high, most)};
    ts_dicom_rescale(values, job.dtype, stored, job.cells.is_signed ? TS_I32 : TS_U32, 2, job.slope, job.intercept);
    ts_load_f64(ends, values, job.dtype, 2);
    *range = (struct invalid_range){fmin(ends[0], ends[1]), fmax(ends[0], ends[1])};
    return true;
}

void ts_dicom_frame_decode(const struct dicom_job *job, int fd, void *cells, void *out, struct dicom_reply *reply)
{
    const size_t bytes = job->n * (size_t)(job->cells.bits_allocated / 8);
    const enum ts_dtype stored = ts_dicom_stored_dtype(&job->cells);
    if (!(job->syntax <= DICOM_EXPLICIT_BE ? read_at(fd, cells, bytes, job->pixel_offset, reply)
                                           : read_compressed(fd, job, cells, bytes, reply)))
        return;
    reply->dirty = ts_dicom_cells_to_stored(cells, job->n, &job->cells);
    if (!digest(cells, bytes, job->sop_instance, reply))
        return;
    reply->padding_count = count_padding(job, cells, stored);
    ts_dicom_rescale(out, job->dtype, cells, stored, job->n, job->slope, job->intercept);
}

bool ts_dicom_frame_prepare(void)
{
    struct dicom_reply reply = {0};
    return digest("", 0, "", &reply);
}
