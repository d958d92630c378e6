/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the files beside a NIfTI image, of BIDS (.json) and FSL (.bval and .bvec), that say when
 * its volumes were acquired, or how they are weighted.
 */
#ifndef IO_VOLUME_NIFTI_BESIDE_H
#define IO_VOLUME_NIFTI_BESIDE_H

#include "io/volume/volume_source.h"

/* Takes the positions of the volumes, and the gradients of a diffusion series, from these files.
   The transform must be there. Warns of what does not fit the image, or contradicts its header. */
void ts_nifti_read_beside(struct volume_layout *layout, struct ts_diag *diag);

/* Takes the quantity and the unit of the values from the file that this program wrote beside the
   image; the quantity only if the chain has not `given` another one. */
void ts_nifti_read_quantity(struct volume_layout *layout, bool given);

#endif
