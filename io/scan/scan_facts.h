/* SPDX-License-Identifier: Apache-2.0
 *
 * What a scan's file says of how its frames were taken. The plan compares the image with flats and
 * darks of other files by these facts.
 */
#ifndef IO_SCAN_SCAN_FACTS_H
#define IO_SCAN_SCAN_FACTS_H

#include "io/scan/projections.h"

/* Notes a fact about the frames that are given from a field with one number, or with one for each
 * of them or for each frame of the file; other fields, and facts that are known, change nothing.
 * `shown` is the field's name in messages. */
enum ts_status ts_scan_fact(struct projections *projections, enum source_fact_kind kind,
                            const struct hdf5_ref *parent, const char *name, const char *shown);

#endif
