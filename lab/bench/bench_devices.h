/* SPDX-License-Identifier: Apache-2.0
 *
 * This finds the devices on which a benchmark or a study measures, as --device names them.
 */
#ifndef LAB_BENCH_BENCH_DEVICES_H
#define LAB_BENCH_BENCH_DEVICES_H

#include "cuda/device/device.h"

struct bench_devices {
    bool on_cpu;
    const struct device_numbers *device; /* points into `found`; NULL: no CUDA device */
    struct cuda_devices found;
    char why[512]; /* why `auto` goes without a CUDA device; "": it does not */
};

/* Chooses the devices: "auto" (also NULL) is the CPU, and the first usable CUDA device where there
 * is one; "cpu", "cuda" and "cuda:N" are that device alone, and an error where it cannot be used.
 * Several ("cuda:N,M", "cuda:all") are an error too, unless they work `together` on what is
 * measured: then `device` is the first of them. */
enum ts_status ts_bench_devices_choose(const char *wanted, bool together,
                                       struct bench_devices *devices, struct ts_diag *diag);

#endif
