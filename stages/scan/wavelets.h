/* SPDX-License-Identifier: Apache-2.0
 *
 * This has the orthogonal wavelets with compact support from which the method fourier-wavelet of
 * `ring` takes its filters. Only the scaling filter of the synthesis is stored, since the other
 * filters follow from it. The names are those of PyWavelets.
 */
#ifndef STAGES_SCAN_WAVELETS_H
#define STAGES_SCAN_WAVELETS_H

#include "core/params.h"

enum { WAVELETS = 13, WAVELET_LONGEST = 50, WAVELET_DB5 = 4 };

struct wavelet {
    int length;
    const double *scaling; /* scaling filter of the synthesis; reversed it is that of the
                            * analysis */
};

extern const struct wavelet ts_wavelets[WAVELETS];

#endif
