/* SPDX-License-Identifier: Apache-2.0
 *
 * How the data set of a file is encoded: the file meta group names a transfer syntax, and the first
 * element shows whether the bytes have it. A file whose bytes have another one is refused, since
 * nothing is certain of a file that contradicts itself. The advice names the syntax that the bytes
 * have, if the data set can be walked in it. Source: DICOM PS3.5 A.
 */
#include "io/dicom_header/dicom_scan_state.h"

#include <errno.h>
#include <inttypes.h>

#include "io/dicom_header/dicom_codestream.h"
#include "io/dicom_header/dicom_fields.h"
#include "io/dicom_header/dicom_fragments.h"
#include "io/dicom_header/dicom_pixels.h"
#include "io/file/inflate_file.h"

/* ---- advice ---------------------------------------------------------------------------------- */

static const char EXPLICIT_LE[] = "1.2.840.10008.1.2.1";

/* This is how a data set is written, judged by its first element. */
struct encoding {
    bool implicit, big_endian;
    bool sure; /* the element is of a group that a data set may begin with */
};

static struct encoding guess_encoding(const unsigned char bytes[8])
{
    enum { LAST_GROUP = 0xFF };
    const unsigned little = ts_dicom_u16(bytes, false), big = ts_dicom_u16(bytes, true);
    return (struct encoding){.implicit = !ts_dicom_is_vr((const char *)bytes + 4),
                             .big_endian = little > LAST_GROUP && big <= LAST_GROUP,
                             .sure = little <= LAST_GROUP || big <= LAST_GROUP};
}

/* Returns the uncompressed transfer syntax of an encoding; NULL if there is none. */
static const char *plain_syntax(struct encoding encoding)
{
    if (encoding.implicit)
        return encoding.big_endian ? NULL : "1.2.840.10008.1.2";
    return encoding.big_endian ? "1.2.840.10008.1.2.2" : EXPLICIT_LE;
}

const char *ts_dicom_compressed_syntax(struct scan *scan, int64_t offset)
{
    unsigned char bytes[4096];
    if (!ts_dicom_read(&scan->reader, offset, bytes, DICOM_ITEM_HEADER_BYTES))
        return NULL;
    const size_t total = ts_dicom_u32(bytes + 4, false),
                 n = total < sizeof bytes ? total : sizeof bytes;
    if (!ts_dicom_read(&scan->reader, offset + DICOM_ITEM_HEADER_BYTES, bytes, n))
        return NULL;
    return ts_dicom_codestream_syntax(bytes, n);
}

/* Returns the transfer syntax in which the data set can be walked to its pixels; NULL if none is
 * certain. */
static const char *find_syntax(struct scan *scan, int64_t offset, struct encoding encoding)
{
    struct dicom_walk walk;
    struct dicom_element element;
    unsigned char table[DICOM_ITEM_HEADER_BYTES];
    if (!encoding.sure || !plain_syntax(encoding))
        return NULL;
    ts_dicom_walk_init(&walk, &scan->reader, offset, encoding.implicit, encoding.big_endian);
    do {
        if (ts_dicom_walk_next(&walk, &element) != DICOM_STEP_ELEMENT)
            return NULL;
    } while (!ts_dicom_is_pixels(element.tag));
    if (element.length != DICOM_UNDEFINED)
        return plain_syntax(encoding);
    if (encoding.implicit || encoding.big_endian || scan->reader.inflated ||
        !ts_dicom_read(&scan->reader, walk.offset, table, sizeof table))
        return NULL; /* compressed pixels are in explicit little endian only */
    return ts_dicom_compressed_syntax(scan, walk.offset + DICOM_ITEM_HEADER_BYTES +
                                                ts_dicom_u32(table + 4, false));
}

void ts_dicom_advise_syntax(struct scan *scan, const char *uid)
{
    if (uid && !scan->file->refusal)
        scan->file->advice = ts_arena_printf(
            scan->arena, "correct Transfer Syntax UID (0002,0010): the file is written as %s, %s",
            uid, ts_dicom_syntax(uid)->name);
}

static void refuse_encoding(struct scan *scan, const char *uid, const char *says, const char *what,
                            const char *is)
{
    ts_dicom_advise_syntax(scan, uid);
    ts_dicom_refuse(scan, "dicom-encoding", "the meta group says %s, the %s is %s", says, what, is);
}

/* ---- deflated data sets ---------------------------------------------------------------------- */

/* A data set of the transfer syntax "deflated explicit VR little endian" is one deflate stream. It
 * is inflated once to its end before any of its bytes are looked at, and what comes out is only
 * counted. This proves that the stream is whole, gives the length that all other lengths are held
 * against, and stops early at a stream that claims far more than it holds. The walk then inflates
 * it again as it reads, and so does whoever reads the pixels: no inflated bytes are kept. Source:
 * DICOM PS3.5 A.5; RFC 1951. */

/* No element is longer than 4 GiB, and all others together are small. */
#define MAX_BYTES (INT64_C(5) << 30)

static bool refuse_stream(struct scan *scan, enum inflate_end end, int64_t inflated,
                          int64_t deflated)
{
    if (end == INFLATE_UNREADABLE)
        scan->reader.error = errno;
    else if (end == INFLATE_CUT)
        ts_dicom_refuse(scan, "dicom-truncated", "the file ends inside its deflated data set");
    else if (end == INFLATE_DAMAGED)
        ts_dicom_refuse(scan, "dicom-bad-deflate",
                        "the data set is no deflate stream, or a damaged one: %" PRId64
                        " bytes could be inflated",
                        inflated);
    else
        ts_dicom_refuse(scan, "dicom-ratio",
                        "the data set inflates to more than %" PRId64 " bytes from %" PRId64
                        ", limit %d to 1 and %" PRId64 " bytes",
                        inflated, deflated, (int)DICOM_MAX_RATIO, MAX_BYTES);
    return false;
}

/* Lets the reader of the scan read the inflated bytes of the data set that begins at walk->offset,
 * which becomes 0. The caller destroys scan->reader.inflated. Returns false if the stream is
 * refused, or if scan->reader.error says why it cannot be read. */
static bool inflate_data_set(struct scan *scan, struct dicom_walk *walk)
{
    static const struct inflate_limits limits = {DICOM_RATIO_FREE_BYTES, DICOM_MAX_RATIO,
                                                 MAX_BYTES};
    struct dicom_file *file = scan->file;
    struct dicom_reader *reader = &scan->reader;
    struct inflate_file *stream = ts_inflate_file_create();
    int64_t inflated = 0, deflated = 0;
    errno = ENOMEM;
    if (!stream)
        return refuse_stream(scan, INFLATE_UNREADABLE, 0, 0);
    reader->inflated = stream;
    ts_inflate_file_choose(stream, reader->fd, file->device, file->inode, walk->offset);
    const enum inflate_end end = ts_inflate_file_measure(stream, &limits, &inflated, &deflated);
    if (end != INFLATE_WHOLE)
        return refuse_stream(scan, end, inflated, deflated);
    if (file->file_bytes - walk->offset - deflated > 1) /* one byte may make its length even */
        ts_dicom_warn(scan, "bytes behind the deflated data set were passed over");
    file->deflate_offset = walk->offset;
    reader->file_bytes = inflated;
    reader->buffer_bytes = 0;
    walk->offset = 0;
    return true;
}

/* Returns true if the file has a deflate stream at `offset` whose data set begins as one does. */
static bool is_deflated(const struct scan *scan, int64_t offset)
{
    const struct dicom_file *file = scan->file;
    struct inflate_file *stream = ts_inflate_file_create();
    unsigned char bytes[8];
    if (!stream)
        return false;
    ts_inflate_file_choose(stream, scan->reader.fd, file->device, file->inode, offset);
    const bool inflates = ts_inflate_file_read(stream, 0, bytes, sizeof bytes) == INFLATE_WHOLE;
    ts_inflate_file_destroy(stream);
    const struct encoding found = guess_encoding(bytes);
    return inflates && found.sure && !found.implicit && !found.big_endian;
}

/* Returns true if a data set that is said to be deflated is not. */
static bool is_plain(struct scan *scan, int64_t offset)
{
    unsigned char bytes[8];
    const char *uid = ts_dicom_read(&scan->reader, offset, bytes, sizeof bytes)
                          ? find_syntax(scan, offset, guess_encoding(bytes))
                          : NULL;
    if (uid)
        refuse_encoding(scan, uid, "deflated", "data set", "not deflated");
    return uid != NULL;
}

/* ---- the syntax ------------------------------------------------------------------------------ */

static void read_text_value(struct scan *scan, const struct dicom_element *element, char *out,
                            size_t size)
{
    size_t length = element->length < size ? element->length : 0;
    if (length == 0 || !ts_dicom_read(&scan->reader, element->offset, out, length))
        length = 0;
    while (length > 0 && (out[length - 1] == ' ' || out[length - 1] == '\0'))
        length--;
    out[length] = '\0';
}

bool ts_dicom_read_meta(struct scan *scan, struct dicom_walk *walk, int64_t offset)
{
    ts_dicom_walk_init(walk, &scan->reader, offset, false, false);
    while (ts_dicom_walk_peek(walk) >> 16 == 2) {
        struct dicom_element element;
        if (ts_dicom_walk_next(walk, &element) != DICOM_STEP_ELEMENT) {
            ts_dicom_refuse(scan, walk->code ? walk->code : "dicom-truncated",
                            "the file meta group is broken: %s", walk->message);
            return false;
        }
        if (element.tag == DICOM_TAG(0x0002, 0x0002))
            read_text_value(scan, &element, scan->media_class, sizeof scan->media_class);
        else if (element.tag == DICOM_TAG(0x0002, 0x0010))
            read_text_value(scan, &element, scan->file->syntax_uid, sizeof scan->file->syntax_uid);
    }
    return true;
}

void ts_dicom_begin_without_meta(struct scan *scan, struct dicom_walk *walk,
                                 const unsigned char *start)
{
    const char *uid = plain_syntax(guess_encoding(start));
    strcpy(scan->file->syntax_uid, uid ? uid : "1.2.840.10008.1.2");
    walk->offset = 0;
}

/* Returns false if the file meta group names none. */
static bool choose_syntax(struct scan *scan, int64_t offset)
{
    unsigned char bytes[8];
    const char *uid = scan->file->syntax_uid;
    const struct dicom_syntax_name *name = ts_dicom_syntax(uid);
    scan->file->syntax = name ? name->syntax : DICOM_OTHER;
    if (!*uid && ts_dicom_read(&scan->reader, offset, bytes, sizeof bytes))
        ts_dicom_advise_syntax(scan, find_syntax(scan, offset, guess_encoding(bytes)));
    if (!*uid)
        ts_dicom_refuse(scan, "dicom-syntax-missing",
                        "the file meta group names no transfer syntax");
    else if (scan->file->syntax == DICOM_OTHER)
        ts_dicom_refuse(scan, "dicom-syntax", "transfer syntax %s (%s) is not in this build",
                        ts_dicom_known_uid(uid), name ? name->name : "unknown");
    return *uid != '\0';
}

/* Returns true if the data set is encoded as the meta group states, judged by its first element. */
static bool encoding_agrees(struct scan *scan, const struct dicom_walk *walk)
{
    static const char *const orders[] = {"little endian", "big endian"}, *const forms[] = {
                                                                             "explicit VR",
                                                                             "implicit VR"};
    unsigned char bytes[8];
    if (!ts_dicom_read(&scan->reader, walk->offset, bytes, sizeof bytes))
        return true; /* the walk itself will report what is missing */
    const struct encoding found = guess_encoding(bytes);
    if (!found.sure && !scan->reader.inflated && is_deflated(scan, walk->offset)) {
        refuse_encoding(scan, "1.2.840.10008.1.2.1.99", forms[walk->implicit], "data set",
                        "deflated");
        return false;
    }
    const bool turned =
        found.sure && found.big_endian != walk->big_endian && (bytes[0] != 0 || bytes[1] != 0);
    if (!turned && found.implicit == walk->implicit)
        return true;
    const char *const *names = turned ? orders : forms;
    const bool says = turned ? walk->big_endian : walk->implicit;
    refuse_encoding(scan, find_syntax(scan, walk->offset, found), names[says], "data set",
                    names[!says]);
    return false;
}

bool ts_dicom_begin_data_set(struct scan *scan, struct dicom_walk *walk)
{
    const struct dicom_file *file = scan->file;
    if (!choose_syntax(scan, walk->offset) ||
        (file->syntax == DICOM_DEFLATED_LE &&
         (is_plain(scan, walk->offset) || !inflate_data_set(scan, walk))))
        return false;
    ts_dicom_walk_init(walk, &scan->reader, walk->offset, file->syntax == DICOM_IMPLICIT_LE,
                       file->syntax == DICOM_EXPLICIT_BE);
    return encoding_agrees(scan, walk);
}

void ts_dicom_refuse_compression(struct scan *scan)
{
    const struct dicom_file *file = scan->file;
    if (dicom_is_compressed(file->syntax)) {
        refuse_encoding(scan, EXPLICIT_LE, "compressed pixels", "pixel data", "uncompressed");
        return;
    }
    const char *uid = file->syntax == DICOM_EXPLICIT_LE && file->pixel_offset > 0
                          ? ts_dicom_compressed_syntax(scan, file->pixel_offset)
                          : NULL;
    refuse_encoding(scan, uid, "uncompressed pixels", "pixel data", "compressed");
}
