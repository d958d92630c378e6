/* SPDX-License-Identifier: Apache-2.0
 *
 * The library that tomostage-bench compares the study reductions with, where it was built with CUDA.
 */
#ifndef LAB_PEERS_STUDY_PEER_H
#define LAB_PEERS_STUDY_PEER_H

#include "lab/cuda/fan_in_study.h"

extern const struct fan_in_peer ts_peer_cub_reductions;

#endif
