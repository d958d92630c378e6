/* SPDX-License-Identifier: Apache-2.0
 *
 * This reads what a result knows of the acquisition that it was computed from, so that an image that is read again, or
 * exported, is still that of a CT or MR with its settings.
 */
#ifndef IO_SCAN_RESULT_FACTS_H
#define IO_SCAN_RESULT_FACTS_H

#include "io/scan/projections.h"

/* Adds the facts of the result's first input to the attributes of the source: the fields that a DICOM input can have.
 * Numbers of slices are left out where the image does not have the slices that they count. A fact that is damaged or of
 * another kind is an error of the file. */
enum ts_status ts_result_facts(struct projections *projections, const struct ts_image *image);

#endif
