/* SPDX-License-Identifier: Apache-2.0
 *
 * The few functions of the CUDA driver API that list devices, through dlopen: no header and no library of a toolkit.
 * Source: CUDA driver API reference (CUresult, CUdevice and CUdevice_attribute are plain integers of fixed value).
 */
#include "cuda/device.h"

#include <dlfcn.h>

#include "cuda/selftest.h"

/* CUdevice_attribute */
enum {
    MULTIPROCESSORS = 16,
    L2_BYTES = 38,
    THREADS = 39,
    CAPABILITY_MAJOR = 75,
    CAPABILITY_MINOR = 76,
    SHARED_BYTES = 81,
    BLOCK_SHARED_BYTES = 97
};
/* CUresult */
enum { RESULT_SUCCESS = 0, RESULT_NO_DEVICE = 100 };

struct driver {
    void *library;
    int (*init)(unsigned);
    int (*driver_version)(int *);
    int (*device_count)(int *);
    int (*device_get)(int *, int);
    int (*device_name)(char *, int, int);
    int (*device_memory)(size_t *, int);
    int (*device_attribute)(int *, int, int);
};

bool ts_cuda_built(void)
{
#ifdef TS_HAVE_CUDA
    return true;
#else
    return false;
#endif
}

enum ts_status ts_cuda_check(int index, struct ts_diag *diag)
{
    char error[256] = "this build has no CUDA code";
#ifdef TS_HAVE_CUDA
    if (ts_cuda_selftest(index, error, sizeof error) == 0)
        return TS_OK;
#else
    (void)index;
#endif
    return ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "cuda-selftest"}, "%s", error);
}

static enum ts_status fail(struct ts_diag *diag, const char *what, int result)
{
    return ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "cuda-failed"},
                         "the CUDA driver refused %s with error %d", what, result);
}

/* POSIX lets a data pointer from dlsym stand for a function. */
static bool find(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);
    *(void **)function = symbol;
    return symbol;
}

static enum ts_status open_driver(struct driver *driver, struct ts_diag *diag)
{
    driver->library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!driver->library) {
        ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "cuda-no-driver"},
                      "no CUDA driver: libcuda.so.1 was not found");
        ts_diag_hint(diag, "install the NVIDIA driver (Debian: apt-get install nvidia-driver), or use --device cpu");
        return TS_RUN_FAILED;
    }
    void *library = driver->library;
    if (find(library, "cuInit", &driver->init) && find(library, "cuDriverGetVersion", &driver->driver_version) &&
        find(library, "cuDeviceGetCount", &driver->device_count) && find(library, "cuDeviceGet", &driver->device_get) &&
        find(library, "cuDeviceGetName", &driver->device_name) &&
        find(library, "cuDeviceTotalMem_v2", &driver->device_memory) &&
        find(library, "cuDeviceGetAttribute", &driver->device_attribute))
        return TS_OK;
    return ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "cuda-old-driver"},
                         "libcuda.so.1 lacks functions that every driver since CUDA 11 has");
}

static enum ts_status no_device(struct ts_diag *diag)
{
    ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "cuda-no-device"},
                  "the CUDA driver is there, but sees no device");
    ts_diag_hint(diag, "see whether nvidia-smi lists one, and whether CUDA_VISIBLE_DEVICES hides it");
    return TS_RUN_FAILED;
}

static int describe_device(const struct driver *driver, struct cuda_device *device)
{
    const struct {
        int attribute, *value;
    } numbers[] = {
        {MULTIPROCESSORS, &device->multiprocessors},
        {L2_BYTES, &device->l2_bytes},
        {THREADS, &device->threads},
        {CAPABILITY_MAJOR, &device->major},
        {CAPABILITY_MINOR, &device->minor},
        {SHARED_BYTES, &device->shared_bytes},
        {BLOCK_SHARED_BYTES, &device->block_shared_bytes},
    };
    int handle = 0, result = driver->device_get(&handle, device->index);
    if (result == RESULT_SUCCESS)
        result = driver->device_name(device->name, sizeof device->name, handle);
    if (result == RESULT_SUCCESS)
        result = driver->device_memory(&device->memory_bytes, handle);
    for (size_t i = 0; result == RESULT_SUCCESS && i < sizeof numbers / sizeof *numbers; i++)
        result = driver->device_attribute(numbers[i].value, numbers[i].attribute, handle);
    return result;
}

static enum ts_status list_devices(const struct driver *driver, struct cuda_devices *found, struct ts_diag *diag)
{
    int n = 0, result = driver->init(0);
    if (result == RESULT_NO_DEVICE)
        return no_device(diag);
    if (result != RESULT_SUCCESS)
        return fail(diag, "to start (cuInit)", result);
    result = driver->device_count(&n);
    if (result != RESULT_SUCCESS)
        return fail(diag, "to count devices (cuDeviceGetCount)", result);
    if (n == 0)
        return no_device(diag);
    found->n = n < CUDA_MAX_DEVICES ? n : CUDA_MAX_DEVICES;
    for (int i = 0; i < found->n; i++) {
        found->devices[i].index = i;
        result = describe_device(driver, &found->devices[i]);
        if (result != RESULT_SUCCESS)
            return fail(diag, "to describe a device", result);
    }
    return TS_OK;
}

enum ts_status ts_cuda_query(struct cuda_devices *found, struct ts_diag *diag)
{
    struct driver driver = {0};
    *found = (struct cuda_devices){0};
    enum ts_status status = open_driver(&driver, diag);
    if (status == TS_OK) {
        const int result = driver.driver_version(&found->driver);
        if (result != RESULT_SUCCESS) {
            status = fail(diag, "to tell its version (cuDriverGetVersion)", result);
        } else if (found->driver < CUDA_DRIVER_MINIMUM) {
            status = ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "cuda-old-driver"},
                                   "the CUDA driver is for CUDA %d.%d, and 11.8 or later is needed",
                                   found->driver / 1000, found->driver % 1000 / 10);
            ts_diag_hint(diag, "update the NVIDIA driver to version 520 or later");
        } else {
            status = list_devices(&driver, found, diag);
        }
    }
    /* Unloading a driver that was initialized is not safe; the handle lives as long as the process. */
    if (driver.library && found->driver == 0)
        dlclose(driver.library);
    return status;
}
