/* SPDX-License-Identifier: Apache-2.0
 *
 * A device that was named must be there; `auto` goes without one, and keeps the reason for the
 * table's head.
 */
#include "lab/bench/bench_devices.h"

#include "pipeline/plan/device_choice.h"

enum ts_status ts_bench_devices_choose(const char *wanted, bool together,
                                       struct bench_devices *devices, struct ts_diag *diag)
{
    struct device_choice choice;
    int indices[CUDA_MAX_DEVICES];
    enum ts_status status = ts_device_choice_parse(wanted, &choice, diag);
    *devices = (struct bench_devices){.on_cpu = choice.kind != DEVICE_CUDA};
    if (status != TS_OK || choice.kind == DEVICE_CPU)
        return status;
    if (choice.n != 1 && !together)
        return ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "device"},
                             "one device is measured at a time, and '%s' may be several", wanted);
    struct ts_diag *reasons = choice.kind == DEVICE_AUTO ? ts_diag_create() : diag;
    if (!reasons)
        return ts_diag_no_memory(diag, sizeof choice);
    if (ts_device_choice_find_all(&choice, &devices->found, indices, reasons) > 0)
        devices->device = &devices->found.devices[indices[0]];
    status = ts_diag_status(reasons);
    if (reasons == diag)
        return status;
    if (status != TS_OK)
        snprintf(devices->why, sizeof devices->why, "%s", ts_diag_get(reasons, 0)->message);
    ts_diag_destroy(reasons);
    return TS_OK;
}
