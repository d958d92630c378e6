/* SPDX-License-Identifier: Apache-2.0
 *
 * This finds the device that --device names, for plans and benchmarks alike.
 */
#ifndef PIPELINE_PLAN_DEVICE_CHOICE_H
#define PIPELINE_PLAN_DEVICE_CHOICE_H

#include "cuda/device/device.h"

enum device_kind { DEVICE_AUTO, DEVICE_CPU, DEVICE_CUDA };

struct device_choice {
    enum device_kind kind;
    /* number of CUDA devices named; 0: all that this build can use */
    int n;
    /* their numbers, of which one may occur several times; -1: the first that this build can use */
    int indices[CUDA_MAX_DEVICES];
};

/* Parses "auto" (also NULL), "cpu", "cuda", "cuda:N", "cuda:N,M" or "cuda:all". Returns an error
 * (code device) for anything else. */
enum ts_status ts_device_choice_parse(const char *text, struct device_choice *choice,
                                      struct ts_diag *diag);

/* Lists the devices and sets *index to the one that was wanted, or for -1 to the first on which
 * this build's code runs. If there is none, the errors are cuda-not-built, and those of
 * ts_cuda_query, ts_cuda_usable, or cuda-index where there are not so many. */
enum ts_status ts_device_choice_find(int wanted, struct cuda_devices *found, int *index,
                                     struct ts_diag *diag);
/* Lists the devices, and writes the numbers of the choice's devices to `indices`. Returns how many
   they are; 0 if one cannot be used. Reports the errors above, and devices-differ if the devices
   are of different models. */
int ts_device_choice_find_all(const struct device_choice *choice, struct cuda_devices *found,
                              int indices[CUDA_MAX_DEVICES], struct ts_diag *diag);

#endif
