/* SPDX-License-Identifier: Apache-2.0
 *
 * Stands for libcuda.so.1 where a test wants a driver that is old, broken or shows devices of its
 * choice: the functions that list devices, as the environment variable FAKE_DRIVER says. Nothing
 * can run on these devices.
 */
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum {
    SUCCESS = 0,
    UNKNOWN = 999,
    NO_DEVICE = 100,
    NOT_INITIALIZED = 3,
    CAPABILITY_MAJOR = 75,
    CAPABILITY_MINOR = 76
};

static int is(const char *word)
{
    const char *mode = getenv("FAKE_DRIVER");
    return mode && !strcmp(mode, word);
}

EXPORT int cuInit(unsigned flags);
EXPORT int cuDriverGetVersion(int *version);
EXPORT int cuDeviceGetCount(int *n);
EXPORT int cuDeviceGet(int *device, int index);
EXPORT int cuDeviceGetName(char *name, int size, int device);
EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int device);
EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device);

int cuInit(unsigned flags)
{
    (void)flags;
    if (is("crash"))
        raise(SIGSEGV);
    if (is("exit"))
        _exit(3);
    return is("none")     ? NO_DEVICE
           : is("forked") ? NOT_INITIALIZED
           : is("refuse") ? UNKNOWN
                          : SUCCESS;
}

int cuDriverGetVersion(int *version)
{
    *version = is("old") ? 11040 : 13000;
    return SUCCESS;
}

int cuDeviceGetCount(int *n)
{
    *n = 2;
    return SUCCESS;
}

int cuDeviceGet(int *device, int index)
{
    *device = index;
    return SUCCESS;
}

int cuDeviceGetName(char *name, int size, int device)
{
    snprintf(name, (size_t)size, "test device %d", device);
    return SUCCESS;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    (void)device;
    *bytes = is("tiny") ? (size_t)1 << 12 : (size_t)1 << 34;
    return SUCCESS;
}

/* Device 0 of "volta" is too old, that of "ampere" between those that many builds have code for;
 * everything else is an H100's. */
int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    const int capability = device > 0 ? 90 : is("volta") ? 70 : is("ampere") ? 86 : 90;
    *value = attribute == CAPABILITY_MAJOR   ? capability / 10
             : attribute == CAPABILITY_MINOR ? capability % 10
                                             : 1 << 16;
    return SUCCESS;
}
