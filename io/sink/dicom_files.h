/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of one derived series have in common, once all values are known. dicom_sink.c
 * stores the values, dicom_attributes.c makes the headers.
 */
#ifndef IO_SINK_DICOM_FILES_H
#define IO_SINK_DICOM_FILES_H

#include "io/sink/dicom_encode.h"
#include "io/sink/sink_scratch.h"

enum dicom_object { DICOM_CT = 1, DICOM_MR = 2, DICOM_PT = 4, DICOM_CAPTURE = 8, DICOM_ANY = 15 };

struct dicom_files {
    struct sink sink; /* first */
    struct sink_scratch scratch;
    enum dicom_object object;
    const char *modality;
    /* value = slope * stored + intercept; only what is not valid or not finite is stored as
       `padding` */
    double slope, intercept, least, most; /* stored values of numbers are from `least` to `most` */
    int32_t padding;
    bool is_signed, direct, has_padding;
    bool rounded; /* values between the steps of the slope were rounded */
    struct sink_window window;
    double transform[3][4]; /* from voxel (x, y, z, 1) to LPS in mm */
    char study[DICOM_UID_BYTES], series[DICOM_UID_BYTES], frame[DICOM_UID_BYTES];
};

/* Chooses the kind of object: that of the input, or the one by which the quantity is measured. */
void ts_dicom_choose_object(struct dicom_files *files);
/* Returns, as a phrase, what the standard demands of a PET image but the input does not state; NULL
   if nothing is missing. Nothing can be made up for it. */
const char *ts_dicom_lacks_of_pet(const struct sink_request *request);
/* Makes the UIDs. If the facts include a study's UID, the results of one study share it and the
   frame of reference. */
void ts_dicom_make_uids(struct dicom_files *files);
/* Makes the header of slice z, counted through all volumes: all elements before the pixels, in
   order. */
void ts_dicom_make_header(const struct dicom_files *files, int64_t z, struct dicom_header *header);

#endif
