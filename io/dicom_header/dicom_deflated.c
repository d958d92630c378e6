/* SPDX-License-Identifier: Apache-2.0
 *
 * The data set is inflated once to its end before any of its bytes are looked at, and what comes out is only counted.
 * This proves that the stream is whole, gives the length that all other lengths are held against, and stops early at a
 * stream that claims far more than it holds. The walk then inflates it again as it reads, and so does whoever reads the
 * pixels: no inflated bytes are kept.
 */
#include "io/dicom_header/dicom_deflated.h"

#include <errno.h>
#include <inttypes.h>

#include "io/dicom_header/dicom_pixels.h"
#include "io/file/inflate_file.h"

/* No element is longer than 4 GiB, and all others together are small. */
#define MAX_BYTES (INT64_C(5) << 30)

static bool refuse(struct scan *scan, enum inflate_end end, int64_t inflated, int64_t deflated)
{
    if (end == INFLATE_UNREADABLE)
        scan->reader.error = errno;
    else if (end == INFLATE_CUT)
        ts_dicom_refuse(scan, "dicom-truncated", "the file ends inside its deflated data set");
    else if (end == INFLATE_DAMAGED)
        ts_dicom_refuse(scan, "dicom-bad-deflate",
                        "the data set is no deflate stream, or a damaged one: %" PRId64 " bytes could be inflated",
                        inflated);
    else
        ts_dicom_refuse(scan, "dicom-ratio",
                        "the data set inflates to more than %" PRId64 " bytes from %" PRId64
                        ", limit %d to 1 and %" PRId64 " bytes",
                        inflated, deflated, (int)DICOM_MAX_RATIO, MAX_BYTES);
    return false;
}

bool ts_dicom_inflate(struct scan *scan, struct dicom_walk *walk)
{
    static const struct inflate_limits limits = {DICOM_RATIO_FREE_BYTES, DICOM_MAX_RATIO, MAX_BYTES};
    struct dicom_file *file = scan->file;
    struct dicom_reader *reader = &scan->reader;
    struct inflate_file *stream = ts_inflate_file_create();
    int64_t inflated = 0, deflated = 0;
    errno = ENOMEM;
    if (!stream)
        return refuse(scan, INFLATE_UNREADABLE, 0, 0);
    reader->inflated = stream;
    ts_inflate_file_choose(stream, reader->fd, file->device, file->inode, walk->offset);
    const enum inflate_end end = ts_inflate_file_measure(stream, &limits, &inflated, &deflated);
    if (end != INFLATE_WHOLE)
        return refuse(scan, end, inflated, deflated);
    if (file->file_bytes - walk->offset - deflated > 1) /* one byte may make its length even */
        ts_dicom_warn(scan, "bytes behind the deflated data set were passed over");
    file->deflate_offset = walk->offset;
    reader->file_bytes = inflated;
    reader->buffer_bytes = 0;
    walk->offset = 0;
    return true;
}
