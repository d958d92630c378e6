/* SPDX-License-Identifier: Apache-2.0
 *
 * This decodes one slice, in a worker process if it is compressed: it gets cells (from the file,
 * inflated, or of a decoder), makes stored values of them, digests, marks padding, and rescales.
 *
 * pixel_sha256 = SHA-256(p), p the stored values, little-endian, sign-extended to BitsAllocated.
 * instance_hmac = HMAC-SHA256(key, SOP Instance UID), key = SHA-256(p || "tomostage instance key"):
 * who holds the image can verify the UID; the digest of p alone does not give the key, since the
 * state before SHA-256's padding is not known.
 */
#include <errno.h>
#include <libdeflate.h>
#include <math.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/rounding.h"
#include "io/dicom_frames/dicom_cells.h"
#include "io/dicom_frames/dicom_decode.h"
#include "io/dicom_frames/dicom_jpeg_2000.h"
#include "io/dicom_frames/dicom_rle.h"
#include "io/dicom_frames/dicom_source.h"
#include "io/dicom_header/dicom_fragments.h"
#include "io/dicom_header/dicom_groups.h"
#include "io/dicom_header/dicom_pixels.h"
#include "io/file/file_bytes.h"

/* ---- deflated frames ------------------------------------------------------------------------- */

/* Frame and pixels are in memory whole and their length is known, so that libdeflate inflates.
 * Source: DICOM PS3.5 A.4.14 (Deflated Image Frame Compression). */

/* Inflates one frame, a deflate stream, to `cell_bytes` bytes of cells. A byte behind the pixels
 * may make their length even. Returns false, with a message, if the stream is damaged or holds
 * another number of bytes. */
static bool inflate_frame(const unsigned char *data, size_t bytes, unsigned char *cells,
                          size_t cell_bytes, char *error, size_t error_bytes)
{
    size_t got = 0;
    struct libdeflate_decompressor *inflater = libdeflate_alloc_decompressor();
    unsigned char *buffer = malloc(cell_bytes + 1);
    const enum libdeflate_result result =
        inflater && buffer
            ? libdeflate_deflate_decompress(inflater, data, bytes, buffer, cell_bytes + 1, &got)
            : LIBDEFLATE_INSUFFICIENT_SPACE;
    const bool whole =
        result == LIBDEFLATE_SUCCESS && got >= cell_bytes && got - cell_bytes <= (cell_bytes & 1);
    if (whole)
        memcpy(cells, buffer, cell_bytes);
    else if (!inflater || !buffer)
        snprintf(error, error_bytes, "no memory to inflate the %zu bytes of its pixels",
                 cell_bytes);
    else if (result == LIBDEFLATE_BAD_DATA)
        snprintf(error, error_bytes, "the deflated frame is damaged");
    else
        snprintf(error, error_bytes, "the deflated frame does not hold the %zu bytes of its pixels",
                 cell_bytes);
    free(buffer);
    libdeflate_free_decompressor(inflater);
    return whole;
}

/* ---- slices ---------------------------------------------------------------------------------- */

static const char key_label[] = "tomostage instance key";

size_t ts_dicom_cell_bytes(const struct dicom_source *source)
{
    return source->cell_bytes + 2;
}

/* Returns true if values of a slice may have no 32-bit float, and somebody asks how many have none.
 * The doubles of a file are counted when they are rounded, and a Modality LUT has integers of 16
 * bits. A dose is scaled so that its largest value fills the bits: those beyond 24 mean nothing. */
static bool is_counted(const struct dicom_source *source, int64_t z)
{
    enum { FLOAT_WHOLE_BITS = 24 }; /* every integer of so many bits is a 32-bit float */
    const struct dicom_frame *frame = &source->frames[z];
    double low, high;
    if (frame->cells.is_float || frame->image->file->lut.entries > 0 ||
        (source->base.image.dtype == TS_F32 && ts_dicom_is_dose(frame->image->file)) ||
        (source->base.image.dtype != TS_F32 && source->base.no_rounding))
        return false;
    ts_dicom_value_range(&frame->cells, frame->slope, frame->intercept, &low, &high);
    return frame->cells.bits_stored > FLOAT_WHOLE_BITS || ts_source_rounds(fmax(-low, high));
}

static enum dicom_nature nature_of(const struct dicom_image *image)
{
    const char *modality = image->file->modality;
    if (!strcmp(modality, "CT"))
        return DICOM_OF_CT;
    if (!strcmp(modality, "PT"))
        return DICOM_OF_PET;
    if (strcmp(modality, "MR") != 0)
        return DICOM_OF_ANY;
    return !strcmp(image->component, "PHASE") ? DICOM_OF_PHASE : DICOM_OF_MR;
}

void ts_dicom_job(const struct dicom_source *source, int64_t z, struct dicom_job *job)
{
    const struct dicom_frame *frame = &source->frames[z];
    const struct dicom_image *image = frame->image;
    const struct dicom_file *file = image->file;
    memset(job, 0, sizeof *job); /* its gaps too, which are sent to another process */
    job->deflate_offset = file->deflate_offset;
    job->device = file->device;
    job->inode = file->inode;
    job->form = ts_dicom_frame_form(file);
    job->n = ts_slice_count(&source->base.image);
    job->frame_n = (size_t)file->rows * (size_t)file->columns;
    job->columns = image->columns;
    job->tile_offset = (int64_t)image->tile_row * file->columns + image->tile_column;
    job->words = file->words ? file->pixel_offset : -1;
    job->slope = frame->slope;
    job->intercept = frame->intercept;
    job->cells = frame->cells;
    job->reversed = image->polarity == DICOM_POLARITY_REVERSED;
    job->lut = file->lut;
    job->dtype = source->base.image.dtype;
    job->digest = !source->base.no_digests;
    job->loss_unsaid = !ts_dicom_says_loss(file);
    job->labels = source->labels;
    job->nature = nature_of(image);
    job->bits = source->bits;
    job->rounds = is_counted(source, z);
    ts_dicom_padding_range(image, &job->padding_low, &job->padding_high);
    if (dicom_is_compressed(file->syntax))
        job->stream = file->streams[image->frame];
    else
        job->stream.offset = ts_dicom_frame_offset(image);
    snprintf(job->sop_instance, sizeof job->sop_instance, "%s", file->sop_instance);
}

/* States why a frame is refused; `text` is NULL if a decoder has written it to the reply. */
static void dicom_reply_refuse(struct dicom_reply *reply, const char *code, const char *text)
{
    ts_worker_refuse(&reply->verdict, TS_BAD_INPUT, code, text);
}

/* Says that memory is out, which is no fault of the file. */
static void dicom_reply_no_memory(struct dicom_reply *reply)
{
    ts_worker_refuse(&reply->verdict, TS_RUN_FAILED, "no-memory",
                     "out of memory while it was decoded");
}

bool ts_dicom_scratch_init(struct dicom_scratch *scratch, size_t cell_bytes)
{
    *scratch = (struct dicom_scratch){.cells = malloc(cell_bytes)};
    return scratch->cells != NULL;
}

void ts_dicom_scratch_clear(struct dicom_scratch *scratch)
{
    free(scratch->cells);
    ts_inflate_file_destroy(scratch->inflated);
    *scratch = (struct dicom_scratch){.cells = NULL};
}

/* Reads bytes of the file. Returns false with the reason in the reply. */
static bool dicom_read_pixels(int fd, void *out, size_t bytes, int64_t offset,
                              struct dicom_reply *reply)
{
    if (ts_file_read_at(fd, out, bytes, (uint64_t)offset))
        return true;
    dicom_reply_refuse(reply, "file-not-readable",
                       errno ? ts_errno_text(errno) : "the file ends inside of its pixel data");
    return false;
}

/* A frame is joined of its fragments in memory, so that it costs what it takes itself and not the
 * whole file. Its header is checked once more, in these bytes: the scan has seen only the start of
 * the first frame. RLE and deflate are decoded here, JPEG 2000 by OpenJPEG, JPEG and JPEG-LS by
 * DCMTK. */

/* Widens cells in place from `from` bytes each to `to`. The last comes first, as each is behind
 * what it is made of. */
static void dicom_frame_widen(unsigned char *cells, size_t n, size_t from, size_t to)
{
    for (size_t i = n; from < to && i-- > 0;) {
        memmove(cells + i * to, cells + i * from, from);
        memset(cells + i * to + from, 0, to - from);
    }
}

/* Decodes a frame of bits. They are packed, but there are writers of RLE that give every pixel a
 * byte: the length of what is decoded tells which (PS3.5 8.2.2 says too little). */
static bool decode_bits(const struct dicom_job *job, const unsigned char *data, size_t bytes,
                        unsigned char *cells, struct dicom_reply *reply)
{
    const size_t n = job->frame_n, packed = (n + 7) / 8;
    const bool rle = job->form.syntax == DICOM_RLE;
    if (rle ? !ts_dicom_rle_decode(data, bytes, cells, packed, 1, reply->verdict.text,
                                   sizeof reply->verdict.text)
            : !inflate_frame(data, bytes, cells, packed, reply->verdict.text,
                             sizeof reply->verdict.text))
        return rle && ts_dicom_rle_decode(data, bytes, cells, n, 1, reply->verdict.text,
                                          sizeof reply->verdict.text);
    for (size_t i = n;
         i-- > 0;) /* from the last on, as each byte of bits is before the cells that it fills */
        cells[i] = cells[i / 8] >> i % 8 & 1;
    return true;
}

static bool decode_by_dcmtk(const struct dicom_job *job, const struct dicom_codestream *stream,
                            const unsigned char *data, size_t bytes, unsigned char *cells,
                            struct dicom_reply *reply)
{
    const size_t decoded = stream->precision > 8 ? 2 : 1;
    if (ts_dicom_decode_frame(&job->form, stream->precision, data, bytes, cells,
                              job->frame_n * decoded, reply->verdict.text,
                              sizeof reply->verdict.text) != 0)
        return false;
    dicom_frame_widen(cells, job->frame_n, decoded, (size_t)job->cells.bits_allocated / 8);
    return true;
}

static bool dicom_frame_decode(const struct dicom_job *job, struct dicom_codestream *stream,
                               const unsigned char *data, size_t bytes, unsigned char *cells,
                               struct dicom_reply *reply)
{
    const size_t cell = (size_t)job->cells.bits_allocated / 8;
    const bool bits =
        job->bits && (job->form.syntax == DICOM_RLE || job->form.syntax == DICOM_DEFLATED_FRAME);
    if (bits)
        return decode_bits(job, data, bytes, cells, reply);
    if (job->form.precision > 0 && stream->precision != job->form.precision) {
        snprintf(reply->verdict.text, sizeof reply->verdict.text,
                 "the frame has %d bits a sample, the first one has %d", stream->precision,
                 job->form.precision);
        return false;
    }
    switch (job->form.syntax) {
    case DICOM_RLE:
        return ts_dicom_rle_decode(data, bytes, cells, job->frame_n, cell, reply->verdict.text,
                                   sizeof reply->verdict.text);
    case DICOM_DEFLATED_FRAME:
        return inflate_frame(data, bytes, cells, job->frame_n * cell, reply->verdict.text,
                             sizeof reply->verdict.text);
    case DICOM_JPEG_2000:
        return ts_dicom_jpeg_2000_decode(&job->form, stream, job->cells.is_signed, data, bytes,
                                         cells, reply->verdict.text, sizeof reply->verdict.text);
    default:
        return decode_by_dcmtk(job, stream, data, bytes, cells, reply);
    }
}

/* Reads the frame of the job, checks its own header, and decodes it to little-endian cells of
 * BitsAllocated. Returns false with the reason in the reply. */
static bool dicom_decompress(const struct dicom_job *job, int fd, unsigned char *cells,
                             struct dicom_reply *reply)
{
    const size_t bytes = (size_t)ts_dicom_stream_bytes(&job->stream);
    unsigned char *data = malloc((size_t)job->stream.bytes);
    struct dicom_codestream stream;
    bool ok = false;
    if (!data) {
        dicom_reply_no_memory(reply);
    } else if (!dicom_read_pixels(fd, data, (size_t)job->stream.bytes, job->stream.offset, reply)) {
        ; /* the reply says why */
    } else if (!ts_dicom_stream_join(&job->stream, data)) {
        dicom_reply_refuse(reply, "file-changed", "the fragments are not those that were checked");
    } else if (ts_dicom_codestream(&job->form, data, bytes, (int64_t)bytes, &stream) !=
               CODESTREAM_GOOD) {
        dicom_reply_refuse(reply, stream.code, stream.text);
    } else if (job->labels && stream.lossy) {
        dicom_reply_refuse(reply, "seg-syntax",
                           "the frame was compressed with loss, so that its labels are not known");
    } else if (job->loss_unsaid && stream.lossy) {
        dicom_reply_refuse(reply, "dicom-loss-unsaid",
                           "the frame was compressed with loss, of which neither the header nor "
                           "the first frame tells");
    } else {
        errno = 0;
        ok = dicom_frame_decode(job, &stream, data, bytes, cells, reply);
        if (!ok && errno == ENOMEM && ts_sandbox_lacks_memory())
            dicom_reply_no_memory(reply);
        else if (!ok)
            dicom_reply_refuse(reply, stream.code ? stream.code : "pixel-data-damaged", NULL);
    }
    free(data);
    return ok;
}

/* Reads pixels of a deflated data set. Frames of one file that are read in order inflate it
 * once. */
static bool read_inflated(const struct dicom_job *job, int fd, struct dicom_scratch *scratch,
                          void *cells, size_t bytes, int64_t offset, struct dicom_reply *reply)
{
    if (!scratch->inflated && !(scratch->inflated = ts_inflate_file_create())) {
        dicom_reply_no_memory(reply);
        return false;
    }
    ts_inflate_file_choose(scratch->inflated, fd, job->device, job->inode, job->deflate_offset);
    switch (ts_inflate_file_read(scratch->inflated, offset, cells, bytes)) {
    case INFLATE_WHOLE:
        return true;
    case INFLATE_UNREADABLE:
        dicom_reply_refuse(reply, "file-not-readable", ts_errno_text(errno));
        return false;
    default: /* the scan has inflated it */
        dicom_reply_refuse(reply, "file-changed",
                           "the file was changed after its header was checked");
        return false;
    }
}

/* Reads 8-bit pixels out of big-endian words. A frame may begin and end within one. */
static bool read_words(const struct dicom_job *job, int fd, unsigned char *cells, size_t bytes,
                       int64_t offset, struct dicom_reply *reply)
{
    const size_t before = (size_t)((offset - job->words) % 2), all = (before + bytes + 1) / 2 * 2;
    if (!dicom_read_pixels(fd, cells, all, offset - (int64_t)before, reply))
        return false;
    ts_dicom_turn_words(cells, before, bytes);
    return true;
}

/* Reads the rows of the slice, whole, from pixel `first` of the frame on. */
static bool read_rows(const struct dicom_job *job, int fd, struct dicom_scratch *scratch,
                      void *cells, int64_t first, struct dicom_reply *reply)
{
    const size_t cell = (size_t)job->cells.bits_allocated / 8;
    const size_t bytes = job->n / (size_t)job->columns * (size_t)job->form.columns * cell;
    const int64_t offset = job->stream.offset + first * (int64_t)cell;
    if (job->words >= 0)
        return read_words(job, fd, cells, bytes, offset, reply);
    return job->form.syntax == DICOM_DEFLATED_LE
               ? read_inflated(job, fd, scratch, cells, bytes, offset, reply)
               : dicom_read_pixels(fd, cells, bytes, offset, reply);
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
        EVP_DigestUpdate(keyed, key_label, sizeof key_label - 1) == 1 &&
        EVP_DigestFinal_ex(keyed, key, NULL) == 1 &&
        HMAC(EVP_sha256(), key, sizeof key, (const unsigned char *)uid, strlen(uid),
             reply->instance_hmac, &length) != NULL;
    EVP_MD_CTX_free(pixels);
    EVP_MD_CTX_free(keyed);
    if (!ok)
        dicom_reply_no_memory(reply); /* nothing else makes it fail */
    return ok;
}

/* Moves the cells of a tile, whose first one is at cell `first` of the frame, to the beginning of
 * the buffer. */
static void cut_tile(const struct dicom_job *job, void *cells, size_t first)
{
    const size_t cell = (size_t)job->cells.bits_allocated / 8, row = (size_t)job->columns * cell;
    unsigned char *bytes = cells;
    for (size_t y = 0; y < job->n / (size_t)job->columns; y++)
        memmove(bytes + y * row, bytes + (first + y * (size_t)job->form.columns) * cell, row);
}

/* Returns where the cells of the slice are read to. Cells that are as long as values and have no
 * others around them become values where they are, so that they pass through the processor's cache
 * once. */
static void *cells_place(const struct dicom_job *job, const struct dicom_scratch *scratch,
                         void *out)
{
    const bool apart = dicom_is_compressed(job->form.syntax) || job->words >= 0 ||
                       job->n < job->frame_n || job->lut.entries > 0 || job->rounds ||
                       job->dtype == TS_F64;
    return !apart && (size_t)job->cells.bits_allocated / 8 == ts_dtype_bytes(job->dtype)
               ? out
               : scratch->cells;
}

/* Reads the cells of the slice into the beginning of the buffer. Of a frame that is not compressed
 * only the rows of the slice are read. */
static bool read_cells(const struct dicom_job *job, int fd, struct dicom_scratch *scratch,
                       void *cells, struct dicom_reply *reply)
{
    const bool compressed = dicom_is_compressed(job->form.syntax);
    const int64_t columns = job->form.columns,
                  row = compressed ? 0 : job->tile_offset / columns * columns;
    const bool ok = compressed ? dicom_decompress(job, fd, cells, reply)
                               : read_rows(job, fd, scratch, cells, row, reply);
    if (ok && job->n < job->frame_n)
        cut_tile(job, cells, (size_t)(job->tile_offset - row));
    return ok;
}

/* Puts the rows in reverse order. */
static void reverse_rows(void *cells, size_t rows, size_t row_bytes)
{
    char *first = cells, *last = first + (rows - 1) * row_bytes, held[256];
    for (; first < last; first += row_bytes, last -= row_bytes)
        for (size_t at = 0, n; at < row_bytes; at += n) {
            n = row_bytes - at < sizeof held ? row_bytes - at : sizeof held;
            memcpy(held, first + at, n);
            memcpy(first + at, last + at, n);
            memcpy(last + at, held, n);
        }
}

/* Makes values of stored ones by the table in the file, a part of the slice at a time. */
static bool look_up(const struct dicom_job *job, int fd, const void *stored, enum ts_dtype dtype,
                    void *out, struct dicom_reply *reply)
{
    enum { PART = 1024 };
    const struct dicom_lut *lut = &job->lut;
    const bool words = lut->data.length == 2 * (uint32_t)lut->entries;
    const double last = lut->entries - 1;
    unsigned char *table = malloc(lut->data.length);
    unsigned high = 0;
    if (!table)
        dicom_reply_no_memory(reply);
    const bool read =
        table && dicom_read_pixels(fd, table, lut->data.length, lut->data.offset, reply);
    for (size_t first = 0; read && first < job->n; first += PART) {
        const size_t n = job->n - first < PART ? job->n - first : PART;
        double from[PART];
        uint16_t to[PART];
        ts_load_f64(from, (const char *)stored + first * ts_dtype_bytes(dtype), dtype, n);
        for (size_t i = 0; i < n; i++) {
            const size_t entry = (size_t)fmin(fmax(from[i] - lut->first, 0), last);
            to[i] = words ? ts_dicom_u16(table + 2 * entry, job->cells.big_endian) : table[entry];
            high |= to[i];
        }
        ts_dicom_rescale((char *)out + first * ts_dtype_bytes(job->dtype), job->dtype, to, TS_U16,
                         n, 1, 0);
    }
    free(table);
    if (high >> lut->bits)
        dicom_reply_refuse(reply, "values-out-of-range",
                           "a value of the Modality LUT has more bits than it states");
    return read && reply->verdict.status == TS_OK;
}

/* Counts the values of pixels that are no padding and have no 32-bit float. */
static void count_rounding(const struct dicom_job *job, const void *stored, enum ts_dtype dtype,
                           const uint64_t *valid, struct ts_rounding *rounding)
{
    enum { PART = 256 };
    double values[PART];
    for (size_t first = 0; first < job->n; first += PART) {
        const size_t n = job->n - first < PART ? job->n - first : PART;
        size_t kept = 0;
        ts_load_f64(values, (const char *)stored + first * ts_dtype_bytes(dtype), dtype, n);
        for (size_t i = 0; i < n; i++)
            if (!valid || (valid[(first + i) / 64] >> (first + i) % 64 & 1))
                values[kept++] = values[i];
        ts_rounding_of_scaled(rounding, values, kept, job->slope, job->intercept);
    }
}

/* Rounds n doubles in place to floats, and counts in *rounding the valid ones that change. A
 * value is valid if its bit in `valid` is set, or if `valid` is NULL. Returns false if a valid
 * finite value becomes infinite. */
static bool dicom_round_doubles(void *data, size_t n, const uint64_t *valid,
                                struct ts_rounding *rounding)
{
    bool fits = true;
    for (size_t i = 0; i < n; i++) {
        const bool masked = valid && !(valid[i / 64] >> i % 64 & 1);
        double value;
        memcpy(&value, (const char *)data + i * sizeof value, sizeof value);
        if (!masked)
            ts_rounding_of_doubles(rounding, &value, 1);
        const float rounded = (float)value;
        fits = fits && (masked || isfinite(rounded) || !isfinite(value));
        memcpy((char *)data + i * sizeof rounded, &rounded, sizeof rounded);
    }
    return fits;
}

/* ---- the wrong sign -------------------------------------------------------------------------- */

/* Values of n bits that are read with the wrong Pixel Representation lie at both ends of the range,
 * since those on both sides of zero, or of 2^(n-1), do: 65535 stands for -1, 4095 for it in 12
 * bits, and -32768 for 32768. Nothing is told of a phase with a sign, which fills its range. Values
 * that all lie within less than APART may be padding, and the highest one may be saturated: neither
 * counts as an end. */
enum { APART = 16 };

/* Values of 16 bits, in which fewer may be stored. */
struct words {
    const uint16_t *at;
    size_t n;
    bool is_signed;
};

/* Counts the values in [low, high]; 0 if they differ by less than `apart`. */
static size_t count_between(const struct words *words, int32_t low, int32_t high, int32_t apart)
{
    const int32_t sign = words->is_signed ? 0x8000 : 0;
    int32_t least = high, most = low;
    size_t count = 0;
    for (size_t i = 0; i < words->n; i++) {
        const int32_t value = (words->at[i] ^ sign) - sign, in = value >= low && value <= high;
        count += (size_t)in;
        least = in && value < least ? value : least;
        most = in && value > most ? value : most;
    }
    return most - least >= apart ? count : 0;
}

/* Counts unsigned values of `bits` bits from `upper` on that would be those of air in CT if they
 * had a sign. */
static size_t count_air(const struct dicom_job *job, const struct words *words, int32_t upper)
{
    static const double least_hu = -1100, most_hu = -900;
    const double full = ldexp(1, job->cells.bits_stored),
                 low = full + (least_hu - job->intercept) / job->slope,
                 high = full + (most_hu - job->intercept) / job->slope;
    if (!(job->slope > 0) || !(low >= 0 && high <= full - 2))
        return 0;
    return count_between(words, low > upper ? (int32_t)low : upper, (int32_t)high, 0);
}

/* Returns how many unsigned values lie where negative ones of small size would. Equal ones count in
 * 16 bits if they are no stated padding, and in fewer if they would be air. Values of MR and PET in
 * fewer than 16 bits must reach up to -1, since bright ones are frequent there. */
static size_t count_negative(const struct dicom_job *job, const struct words *words, int32_t upper)
{
    const int32_t last = (1 << job->cells.bits_stored) - 2, near = last - (last >> 6);
    const bool padded = job->padding_high >= upper && job->padding_low <= last,
               wide = job->cells.bits_stored == 16, ct = job->nature == DICOM_OF_CT;
    const size_t many = words->n / 500 + 1, all = count_between(words, upper, last, 0);
    if (all < many || (wide && !padded))
        return all;
    if (!wide && !ct && count_between(words, near, last, 0) < many)
        return 0;
    const size_t spread = count_between(words, upper, last, APART),
                 air = ct && !wide && !padded ? count_air(job, words, upper) : 0;
    return spread > air ? spread : air;
}

/* Returns true if unsigned values look as if they had a sign: at least one in 500 is near the top,
 * and as many near zero, and almost none is between. */
static bool looks_signed(const struct dicom_job *job, const struct words *words)
{
    enum { END = 4096, LOWER = 20000 };
    const bool wide = job->cells.bits_stored == 16;
    const int32_t full = 1 << job->cells.bits_stored, upper = full - (wide ? END : full / 4),
                  lower = wide ? LOWER : full / 2;
    const size_t many = words->n / 500 + 1, top = count_negative(job, words, upper);
    return top >= many && count_between(words, 0, lower, APART) >= many &&
           count_between(words, lower, upper - 1, wide ? 0 : APART) <= top / 100;
}

/* Returns true if values that have a sign, some of which are the lowest, go on from zero to the
 * highest, and end below -half / 4, as those from zero to 40000 do in 16 bits. A phase that is not
 * called one has values on both sides of zero, or none there. */
static bool goes_on_beyond(const struct words *words, int32_t half)
{
    enum { PARTS = 4 };
    for (int32_t k = 0; k < PARTS; k++)
        if (count_between(words, half / PARTS * k, half / PARTS * (k + 1) - 1, 0) == 0)
            return false;
    return count_between(words, -half / 4, -1, 0) == 0;
}

/* Returns true if values with a sign look as if they had none: they go on beyond the highest, or at
 * least one in 500 of CT or PET is near the top and as many near the low end. One in 5000 is enough
 * in CT whose intercept leaves no place for negative values. */
static bool looks_unsigned(const struct dicom_job *job, const struct words *words)
{
    static const double air_hu = -900;
    const int32_t half = 1 << (job->cells.bits_stored - 1), end = half / 8;
    const bool ct = job->nature == DICOM_OF_CT, none = ct && job->intercept <= air_hu;
    const size_t many = words->n / (none ? 5000 : 500) + 1,
                 low = count_between(words, -half, end - half, APART);
    if (low == 0)
        return false;
    if ((ct || job->nature == DICOM_OF_PET) && low >= many &&
        count_between(words, half - 1 - end, half - 1, APART) >= many)
        return true;
    return goes_on_beyond(words, half);
}

/* Returns true if stored values look as if read with the wrong Pixel Representation. */
static bool dicom_is_wrapped(const struct dicom_job *job, const void *stored, enum ts_dtype dtype)
{
    enum { LEAST_BITS = 10 };
    const struct words words = {stored, job->n, dtype == TS_I16};
    const int bits = job->cells.bits_stored;
    if (job->nature == DICOM_OF_ANY || bits < LEAST_BITS || (dtype != TS_I16 && dtype != TS_U16))
        return false;
    if (job->nature == DICOM_OF_PHASE && (words.is_signed || bits < 16))
        return false;
    return words.is_signed ? looks_unsigned(job, &words) : looks_signed(job, &words);
}

void ts_dicom_frame_decode(const struct dicom_job *job, int fd, struct dicom_scratch *scratch,
                           void *out, uint64_t *valid, struct dicom_reply *reply)
{
    const size_t bytes = job->n * (size_t)(job->cells.bits_allocated / 8);
    enum ts_dtype stored = ts_dicom_stored_dtype(&job->cells);
    void *cells = cells_place(job, scratch, out);
    reply->rounding = (struct ts_rounding){0};
    if (!read_cells(job, fd, scratch, cells, reply))
        return;
    reply->dirty = ts_dicom_cells_to_stored(cells, job->n, &job->cells);
    reply->wrapped = dicom_is_wrapped(job, cells, stored);
    if (job->digest && !digest(cells, bytes, job->sop_instance, reply))
        return;
    if (job->reversed)
        reverse_rows(cells, job->n / (size_t)job->columns, bytes / (job->n / (size_t)job->columns));
    const bool doubles = job->cells.is_float && job->cells.bits_allocated == 64;
    reply->padding_count = ts_dicom_mark_range(cells, doubles ? TS_F64 : stored, job->n,
                                               job->padding_low, job->padding_high, valid);
    if (doubles && job->dtype == TS_F64)
        stored = TS_F64;
    else if (doubles && !dicom_round_doubles(cells, job->n, valid, &reply->rounding)) {
        dicom_reply_refuse(reply, "values-out-of-range",
                           "a 64-bit value is beyond the range of a 32-bit float");
        return;
    }
    if (job->lut.entries > 0)
        look_up(job, fd, cells, stored, out, reply);
    else
        ts_dicom_rescale(out, job->dtype, cells, stored, job->n, job->slope, job->intercept);
    if (job->rounds)
        count_rounding(job, cells, stored, valid, &reply->rounding);
}

bool ts_dicom_frame_prepare(void)
{
    struct dicom_reply reply = {0};
    return digest("", 0, "", &reply);
}
