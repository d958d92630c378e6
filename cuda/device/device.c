/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists devices by a few functions of the CUDA driver API that are found through dlopen, so that no
 * header and no library of a toolkit is needed. Source: CUDA driver API reference (CUresult,
 * CUdevice and CUdevice_attribute are plain integers of fixed value).
 */
#include "cuda/device/device.h"

#include <dlfcn.h>
#include <stdio.h>

/* ---- code --------------------------------------------------------------------------------------
 *
 * CMake writes TS_CUDA_CODES, one row for each compute capability that it compiled for. All
 * decisions follow from these rows, so tests can hand in rows of other builds. */

#ifdef TS_CUDA_CODES /* the rows that CMake makes of CMAKE_CUDA_ARCHITECTURES, in rising order */
static const struct cuda_code built[] = {TS_CUDA_CODES};
enum { N_BUILT = sizeof built / sizeof *built };
#endif

static bool runs_as_machine_code(const struct cuda_code *code, int capability)
{
    const bool same_major =
        code->capability / 10 == capability / 10 && code->capability <= capability;
    return code->machine && (code->exact ? code->capability == capability : same_major);
}

static bool runs_as_ptx(const struct cuda_code *code, int capability)
{
    return code->ptx &&
           (code->exact ? code->capability == capability : code->capability <= capability);
}

int ts_cuda_code_of(const struct cuda_code *codes, int n, int capability)
{
    int machine = 0, ptx = 0;
    for (int i = 0; i < n; i++) {
        const int of = codes[i].capability;
        if (runs_as_machine_code(&codes[i], capability) && of > machine)
            machine = of;
        if (runs_as_ptx(&codes[i], capability) && of > ptx)
            ptx = of;
    }
    return machine ? machine : ptx;
}

int ts_cuda_code_here(int capability)
{
#ifdef TS_CUDA_CODES
    return ts_cuda_code_of(built, N_BUILT, capability);
#else
    return capability;
#endif
}

int ts_cuda_capability_needed(void)
{
#ifdef TS_CUDA_CODES
    return built[0].capability > CUDA_LOWEST_CAPABILITY ? built[0].capability
                                                        : CUDA_LOWEST_CAPABILITY;
#else
    return CUDA_LOWEST_CAPABILITY;
#endif
}

enum ts_status ts_cuda_code_check(const struct device_numbers *device, int running,
                                  struct ts_diag *diag)
{
    const int expected = device->code;
    if (running >= expected)
        return TS_OK;
    ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "cuda-code"},
                  "device %d (%s) runs code of compute capability %d.%d, and the plan was made for "
                  "that of %d.%d",
                  device->index, device->name, running / 10, running % 10, expected / 10,
                  expected % 10);
    return ts_diag_hint(diag, "unset CUDA_FORCE_PTX_JIT where it is set, or use --device cpu");
}

static size_t list(const struct cuda_code *codes, int n, bool ptx, const char *before, char *text,
                   size_t size)
{
    size_t length = 0;
    for (int i = 0; i < n && length < size; i++)
        if (ptx ? codes[i].ptx : codes[i].machine)
            length += (size_t)snprintf(text + length, size - length, "%s%d.%d%s",
                                       length ? ", " : before, codes[i].capability / 10,
                                       codes[i].capability % 10, codes[i].exact ? "a" : "");
    return length < size ? length : size - 1;
}

void ts_cuda_code_text(const struct cuda_code *codes, int n, char *text, size_t size)
{
    text[0] = 0;
    const size_t length = list(codes, n, false, "machine code for ", text, size);
    list(codes, n, true, length ? " and PTX for " : "PTX for ", text + length, size - length);
}

/* Writes the list of the device code in this build. */
static void code_here_text(char *text, size_t size)
{
#ifdef TS_CUDA_CODES
    ts_cuda_code_text(built, N_BUILT, text, size);
#else
    snprintf(text, size, "no CUDA code");
#endif
}

#ifdef TS_HAVE_CUDA
#include <cuda_runtime_api.h>

#endif

/* CUdevice_attribute */
enum {
    MULTIPROCESSORS = 16,
    L2_BYTES = 38,
    THREADS = 39,
    CAPABILITY_MAJOR = 75,
    CAPABILITY_MINOR = 76,
    DOUBLE_RATIO = 87,
    SHARED_BYTES = 81,
    BLOCK_SHARED_BYTES = 97
};
/* CUresult */
enum { RESULT_SUCCESS = 0, RESULT_NOT_INITIALIZED = 3, RESULT_NO_DEVICE = 100 };

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

int ts_cuda_runtime(void)
{
#ifdef TS_HAVE_CUDA
    return CUDART_VERSION;
#else
    return 0;
#endif
}

/* Returns the oldest driver version that this build can use: any of its runtime's major version
 * will do. */
static int driver_needed(void)
{
    enum { WITHOUT_RUNTIME = 11080 }; /* 11.8: the first that knows compute capability 9.0 */
    return ts_cuda_built() ? ts_cuda_runtime() / 1000 * 1000 : WITHOUT_RUNTIME;
}

enum ts_status ts_cuda_usable(const struct device_numbers *device, struct ts_diag *diag)
{
    const int needed = ts_cuda_capability_needed(), capability = 10 * device->major + device->minor;
    char code[128];
    if (capability >= needed && device->code > 0)
        return TS_OK;
    if (capability >= needed) {
        code_here_text(code, sizeof code);
        ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "cuda-no-code"},
                      "device %d (%s) has compute capability %d.%d, and this build has %s: none of "
                      "it runs there",
                      device->index, device->name, device->major, device->minor, code);
        return ts_diag_hint(diag,
                            "build with -DCMAKE_CUDA_ARCHITECTURES=native, or use --device cpu");
    }
    ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "cuda-capability"},
                  "device %d (%s) has compute capability %d.%d, and %s needs %d.%d or later",
                  device->index, device->name, device->major, device->minor,
                  needed > CUDA_LOWEST_CAPABILITY ? "this build" : "tomostage", needed / 10,
                  needed % 10);
    return ts_diag_hint(diag,
                        needed > CUDA_LOWEST_CAPABILITY
                            ? "build with -DCMAKE_CUDA_ARCHITECTURES=native, or use --device cpu"
                            : "another device (--device cuda:N), or --device cpu");
}

static enum ts_status device_fail(struct ts_diag *diag, const char *what, int result)
{
    ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "cuda-failed"},
                  "the CUDA driver refused %s with error %d", what, result);
    return ts_diag_hint(diag, "see whether nvidia-smi works; --device cpu does without");
}

/* Looks a function up in the library, and returns whether it is there. POSIX allows a data pointer
 * from dlsym to be used as a function pointer. */
static bool device_find(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);
    *(void **)function = symbol;
    return symbol;
}

/* Returns the first version of NVIDIA's driver that supports the CUDA version of this build. */
static int needed_driver(void)
{
    const int needed = driver_needed();
    if (needed >= 13000)
        return 580;
    return needed >= 12000 ? 525 : 520;
}

static enum ts_status open_driver(struct driver *driver, struct ts_diag *diag)
{
    const int needed = driver_needed();
    driver->library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!driver->library) {
        ts_diag_error(
            diag, TS_RUN_FAILED, &(struct diag_site){.code = "cuda-no-driver"},
            "no CUDA driver: libcuda.so.1 was not found, and one for CUDA %d.%d or later is needed",
            needed / 1000, needed % 1000 / 10);
        return ts_diag_hint(diag,
                            "install version %d or later of NVIDIA's driver, or use --device cpu",
                            needed_driver());
    }
    void *library = driver->library;
    if (device_find(library, "cuInit", &driver->init) &&
        device_find(library, "cuDriverGetVersion", &driver->driver_version) &&
        device_find(library, "cuDeviceGetCount", &driver->device_count) &&
        device_find(library, "cuDeviceGet", &driver->device_get) &&
        device_find(library, "cuDeviceGetName", &driver->device_name) &&
        device_find(library, "cuDeviceTotalMem_v2", &driver->device_memory) &&
        device_find(library, "cuDeviceGetAttribute", &driver->device_attribute))
        return TS_OK;
    ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "cuda-old-driver"},
                  "libcuda.so.1 lacks functions that every driver since CUDA 11 has, and CUDA "
                  "%d.%d or later is needed",
                  needed / 1000, needed % 1000 / 10);
    return ts_diag_hint(diag,
                        "update the NVIDIA driver to version %d or later, or use --device cpu",
                        needed_driver());
}

static enum ts_status no_device(struct ts_diag *diag)
{
    ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "cuda-no-device"},
                  "the CUDA driver is there, but sees no device");
    return ts_diag_hint(
        diag, "see whether nvidia-smi lists one, and whether CUDA_VISIBLE_DEVICES hides it");
}

static int describe_device(const struct driver *driver, struct device_numbers *device)
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
        {DOUBLE_RATIO, &device->double_ratio},
    };
    int handle = 0, result = driver->device_get(&handle, device->index);
    if (result == RESULT_SUCCESS)
        result = driver->device_name(device->name, sizeof device->name, handle);
    if (result == RESULT_SUCCESS)
        result = driver->device_memory(&device->memory_bytes, handle);
    for (size_t i = 0; result == RESULT_SUCCESS && i < sizeof numbers / sizeof *numbers; i++)
        result = driver->device_attribute(numbers[i].value, numbers[i].attribute, handle);
    device->code = ts_cuda_code_here(10 * device->major + device->minor);
    return result;
}

static enum ts_status list_devices(const struct driver *driver, struct cuda_devices *found,
                                   struct ts_diag *diag)
{
    int n = 0, result = driver->init(0);
    if (result == RESULT_NO_DEVICE)
        return no_device(diag);
    if (result == RESULT_NOT_INITIALIZED) {
        ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "cuda-forked"},
                      "this process was forked from one that had started CUDA");
        return ts_diag_hint(diag,
                            "fork before CUDA starts, start a program anew, or take --device cpu");
    }
    if (result != RESULT_SUCCESS)
        return device_fail(diag, "to start (cuInit)", result);
    result = driver->device_count(&n);
    if (result != RESULT_SUCCESS)
        return device_fail(diag, "to count devices (cuDeviceGetCount)", result);
    if (n == 0)
        return no_device(diag);
    found->n = n < CUDA_MAX_DEVICES ? n : CUDA_MAX_DEVICES;
    for (int i = 0; i < found->n; i++) {
        found->devices[i].index = i;
        result = describe_device(driver, &found->devices[i]);
        if (result != RESULT_SUCCESS)
            return device_fail(diag, "to describe a device", result);
    }
    return TS_OK;
}

static enum ts_status refuse_driver(int driver, struct ts_diag *diag)
{
    const int needed = driver_needed();
    ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "cuda-old-driver"},
                  "the CUDA driver is for CUDA %d.%d, and %d.%d or later is needed", driver / 1000,
                  driver % 1000 / 10, needed / 1000, needed % 1000 / 10);
    return ts_diag_hint(diag,
                        "update the NVIDIA driver to version %d or later, or use --device cpu",
                        needed_driver());
}

bool ts_cuda_driver_present(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (library)
        dlclose(library);
    return library != NULL;
}

bool ts_cuda_started(void)
{
    int (*device_count)(int *), n;
    void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
    const bool started = library && device_find(library, "cuDeviceGetCount", &device_count) &&
                         device_count(&n) == RESULT_SUCCESS;
    if (library)
        dlclose(library);
    return started;
}

enum ts_status ts_cuda_query_here(struct cuda_devices *found, struct ts_diag *diag)
{
    struct driver driver = {0};
    *found = (struct cuda_devices){0};
    enum ts_status status = open_driver(&driver, diag);
    if (status == TS_OK) {
        const int result = driver.driver_version(&found->driver);
        if (result != RESULT_SUCCESS)
            status = device_fail(diag, "to report its version (cuDriverGetVersion)", result);
        else
            status = found->driver < driver_needed() ? refuse_driver(found->driver, diag)
                                                     : list_devices(&driver, found, diag);
    }
    /* Unloading a driver that was initialized is not safe; the handle lives as long as the
     * process. */
    if (driver.library && found->driver == 0)
        dlclose(driver.library);
    return status;
}
