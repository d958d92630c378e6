/* SPDX-License-Identifier: Apache-2.0
 *
 * Plans and benchmarks choose a device by the same rules and refuse with the same messages: the
 * word is parsed first, then the driver is asked, then the device is checked against this build's
 * code.
 */
#include "pipeline/plan/device_choice.h"

#include <stdlib.h>
#include <string.h>

#include "io/sandbox/sandbox.h"

/* Parses "0,2" or "all". */
static bool parse_numbers(const char *text, struct device_choice *choice)
{
    choice->n = 0;
    if (!strcmp(text, "all"))
        return true;
    while (choice->n < CUDA_MAX_DEVICES && *text >= '0' && *text <= '9') {
        char *end;
        const long index = strtol(text, &end, 10);
        if (index >= 1024 || (*end != ',' && *end != '\0'))
            return false;
        choice->indices[choice->n++] = (int)index;
        if (*end == '\0')
            return true;
        text = end + 1;
    }
    return false;
}

enum ts_status ts_device_choice_parse(const char *text, struct device_choice *choice,
                                      struct ts_diag *diag)
{
    *choice = (struct device_choice){.kind = DEVICE_AUTO, .n = 1, .indices = {-1}};
    if (!text || !strcmp(text, "auto"))
        return TS_OK;
    choice->kind = strcmp(text, "cpu") ? DEVICE_CUDA : DEVICE_CPU;
    if (choice->kind == DEVICE_CPU || !strcmp(text, "cuda"))
        return TS_OK;
    if (!strncmp(text, "cuda:", 5) && parse_numbers(text + 5, choice))
        return TS_OK;
    ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "device"}, "unknown device '%s'",
                  text);
    return ts_diag_hint(diag, "auto, cpu, cuda, cuda:N, cuda:N,M or cuda:all");
}

enum ts_status ts_device_choice_built(struct ts_diag *diag)
{
    if (ts_cuda_built())
        return TS_OK;
    ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "cuda-not-built"},
                  "this build has no CUDA code");
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

enum ts_status ts_device_choice_find(int wanted, struct cuda_devices *found, int *index,
                                     struct ts_diag *diag)
{
    *found = (struct cuda_devices){0};
    *index = wanted;
    enum ts_status status = ts_device_choice_built(diag);
    if (!ts_sandbox_began()) /* the driver is asked in a thread: nobody forks a caller's process */
        ts_cuda_start();
    if (status == TS_OK)
        status = ts_cuda_query(found, diag);
    if (status != TS_OK)
        return status;
    if (wanted >= found->n) {
        ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "cuda-index"},
                      "there is no CUDA device %d: the driver shows %d", wanted, found->n);
        return ts_diag_hint(diag,
                            "cuda:0 is the first; see `tomostage doctor` and CUDA_VISIBLE_DEVICES");
    }
    if (wanted >= 0)
        return ts_cuda_usable(&found->devices[wanted], diag);
    *index = first_usable(found, diag);
    return *index < 0 ? TS_RUN_FAILED : TS_OK;
}

int ts_device_choice_usable(const struct cuda_devices *found, int indices[CUDA_MAX_DEVICES])
{
    struct ts_diag *tries = ts_diag_create();
    int n = 0;
    for (int i = 0; tries && i < found->n; i++)
        if (ts_cuda_usable(&found->devices[i], tries) == TS_OK)
            indices[n++] = i;
    ts_diag_destroy(tries);
    return n;
}

static bool are_alike(const struct device_numbers *a, const struct device_numbers *b)
{
    return !strcmp(a->name, b->name) && a->major == b->major && a->minor == b->minor &&
           a->multiprocessors == b->multiprocessors;
}

int ts_device_choice_find_all(const struct device_choice *choice, struct cuda_devices *found,
                              int indices[CUDA_MAX_DEVICES], struct ts_diag *diag)
{
    int n = choice->n;
    if (ts_device_choice_find(n > 0 ? choice->indices[0] : -1, found, &indices[0], diag) != TS_OK)
        return 0;
    for (int i = 1; i < n; i++)
        if (ts_device_choice_find(choice->indices[i], found, &indices[i], diag) != TS_OK)
            return 0;
    n = n > 0 ? n : ts_device_choice_usable(found, indices);
    const struct device_numbers *devices = found->devices, *first = &devices[indices[0]];
    for (int i = 1; i < n; i++) {
        const struct device_numbers *other = &devices[indices[i]];
        if (are_alike(first, other))
            continue;
        ts_diag_error(
            diag, TS_BAD_CHAIN, &(struct diag_site){.code = "devices-differ"},
            "device %d (%s) and device %d (%s) are of different models, whose floats differ",
            first->index, first->name, other->index, other->name);
        ts_diag_hint(diag, "name devices of one model, such as --device cuda:%d", first->index);
        return 0;
    }
    return n;
}
