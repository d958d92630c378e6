/* SPDX-License-Identifier: Apache-2.0
 *
 * What an NXtomo file says beside frames, keys and angles. Sizes of pixels and pixel_mask are used.
 * Of other fields that would change the image, each one of a known list gives a warning with its
 * name, unless its values are trivial.
 */
#ifndef IO_SCAN_NEXUS_FIELDS_H
#define IO_SCAN_NEXUS_FIELDS_H

#include "io/scan/projections.h"

struct nexus_places {
    struct projections *projections;
    struct hdf5_input *input;
    const struct hdf5_ref *entry, *detector;
    const struct hdf5_ref *source, *diode; /* of the instrument; NONE if it has none */
    const double *keys;                    /* image_key of each frame */
    int64_t n_frames;
    const double *angles; /* of each view, in degrees; NULL for flats and darks */
    const struct hdf5_ref *angles_in;
    const char *angles_at; /* their path below that group */
    bool projected;        /* the views are projections */
};

/* Sets the distance of neighboring pixels: the one that the file states for the sample, else that
   of the detector's pixels. With `diverging` rays it is that of the detector's, which the beam's
   distances relate to the sample. */
enum ts_status ts_nexus_pixel_size(const struct nexus_places *places, bool diverging);
/* Reads pixel_mask of the detector, if there is one. */
enum ts_status ts_nexus_pixel_mask(const struct nexus_places *places);
/* Warns of the fields that are not used, and notes how axes turn the detector. */
enum ts_status ts_nexus_warn(const struct nexus_places *places);
/* Notes how axes turn the detector of flats or darks, without the warnings. */
enum ts_status ts_nexus_note_axes(const struct nexus_places *places);

#endif
