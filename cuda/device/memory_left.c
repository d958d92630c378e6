/* SPDX-License-Identifier: Apache-2.0
 *
 * Asks NVML, through dlopen, how much memory is free on a device where CUDA cannot start. Built only with CUDA.
 * Source: NVML API reference (nvmlReturn_t is an integer, 0 success; nvmlMemory_t is three 64-bit numbers).
 */
#include <dlfcn.h>
#include <string.h>

#include "cuda/device/session.h"

struct memory {
    unsigned long long total, available, used;
};

static bool find(void *library, const char *name, void *function)
{
    void *address = dlsym(library, name);
    memcpy(function, &address, sizeof address); /* ISO C has no cast from object to function pointer */
    return address != NULL;
}

bool ts_cuda_memory_left(const char *pci, size_t *available, size_t *total)
{
    int (*init)(void), (*shutdown)(void);
    int (*by_address)(const char *, void **);
    int (*memory_of)(void *, struct memory *);
    struct memory memory;
    void *library = dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL), *device;
    bool known = false;
    if (library && find(library, "nvmlInit_v2", &init) && find(library, "nvmlShutdown", &shutdown) &&
        find(library, "nvmlDeviceGetHandleByPciBusId_v2", &by_address) &&
        find(library, "nvmlDeviceGetMemoryInfo", &memory_of) && init() == 0) {
        known = by_address(pci, &device) == 0 && memory_of(device, &memory) == 0;
        shutdown();
    }
    if (known) {
        *available = (size_t)memory.available;
        *total = (size_t)memory.total;
    }
    if (library)
        dlclose(library);
    return known;
}
