/* SPDX-License-Identifier: Apache-2.0
 *
 * Plans and benchmarks choose a device by the same rules and refuse with the same messages: the word is parsed first,
 * then the driver is asked, then the device is checked against this build's code.
 */
#include "pipeline/plan/device_choice.h"

#include <stdlib.h>
#include <string.h>

enum ts_status ts_device_choice_parse(const char *text, struct device_choice *choice, struct ts_diag *diag)
{
    char *end = NULL;
    *choice = (struct device_choice){DEVICE_AUTO, -1};
    if (!text || !strcmp(text, "auto"))
        return TS_OK;
    choice->kind = strcmp(text, "cpu") ? DEVICE_CUDA : DEVICE_CPU;
    if (choice->kind == DEVICE_CPU || !strcmp(text, "cuda"))
        return TS_OK;
    const long index = !strncmp(text, "cuda:", 5) && text[5] >= '0' && text[5] <= '9' ? strtol(text + 5, &end, 10) : -1;
    choice->index = (int)index;
    if (index >= 0 && index < 1024 && *end == '\0')
        return TS_OK;
    ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "device"}, "unknown device '%s'", text);
    return ts_diag_hint(diag, "auto, cpu, cuda or cuda:N");
}

enum ts_status ts_device_choice_built(struct ts_diag *diag)
{
    if (ts_cuda_built())
        return TS_OK;
    ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "cuda-not-built"}, "this build has no CUDA code");
    return ts_diag_hint(diag, "build with -DTOMOSTAGE_CUDA=on, or use --device cpu");
}

/* Returns the first device that can be used, or -1 and reports why device 0 cannot. */
static int first_usable(const struct cuda_devices *found, struct ts_diag *diag)
{
    struct ts_diag *tries = ts_diag_create();
    int index = -1;
    if (!tries) {
        ts_diag_no_memory(diag, sizeof *found);
        return -1;
    }
    for (int i = 0; index < 0 && i < found->n; i++)
        if (ts_cuda_usable(&found->devices[i], tries) == TS_OK)
            index = i;
    ts_diag_destroy(tries);
    if (index < 0)
        (void)ts_cuda_usable(&found->devices[0], diag);
    return index;
}

enum ts_status ts_device_choice_find(int wanted, struct cuda_devices *found, int *index, struct ts_diag *diag)
{
    *found = (struct cuda_devices){0};
    *index = wanted;
    enum ts_status status = ts_device_choice_built(diag);
    if (status == TS_OK)
        status = ts_cuda_query(found, diag);
    if (status != TS_OK)
        return status;
    if (wanted >= found->n) {
        ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "cuda-index"},
                      "there is no CUDA device %d: the driver shows %d", wanted, found->n);
        return ts_diag_hint(diag, "cuda:0 is the first; see `tomostage doctor` and CUDA_VISIBLE_DEVICES");
    }
    if (wanted >= 0)
        return ts_cuda_usable(&found->devices[wanted], diag);
    *index = first_usable(found, diag);
    return *index < 0 ? TS_RUN_FAILED : TS_OK;
}
