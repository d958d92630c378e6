/* SPDX-License-Identifier: Apache-2.0
 *
 * A data set of the transfer syntax "deflated explicit VR little endian" is one deflate stream. This lets the scan read
 * its inflated bytes as those of any other data set, once they are known to be whole and no bomb.
 * Source: DICOM PS3.5 A.5; RFC 1951.
 */
#ifndef IO_DICOM_DICOM_DEFLATED_H
#define IO_DICOM_DICOM_DEFLATED_H

#include "io/dicom_header/dicom_scan_state.h"

/* Lets the reader of the scan read the inflated bytes of the data set that begins at walk->offset, which becomes 0. The
 * caller destroys scan->reader.inflated. Returns false where the stream is refused, or where scan->reader.error says
 * why it cannot be read. */
bool ts_dicom_inflate(struct scan *scan, struct dicom_walk *walk);

#endif
