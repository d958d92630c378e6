/* SPDX-License-Identifier: Apache-2.0
 *
 * `tomostage doctor`: prints what this machine and this build have, and for what is missing the
 * command that installs it.
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include "core/available.h"
#include "cuda/device/device.h"
#include "cuda/device/selftest.h"
#include "io/dicom_frames/dicom_decode.h"
#include "io/sandbox/sandbox.h"
#include "pipeline/chain/formats.h"
#include "pipeline/run/versions.h"
#include "program/cli/cli.h"

static void print_versions(void)
{
    struct version versions[VERSIONS_MAX];
    const int n = ts_versions(versions);
    puts("versions");
    for (int i = 0; i < n; i++)
        printf("  %-14s %s\n", versions[i].name, versions[i].text);
    printf("  %-14s ", "inputs");
    for (const struct source_format *const *format = ts_source_formats; *format; format++)
        printf("%s%s", format == ts_source_formats ? "" : ", ", (*format)->name);
    putchar('\n');
}

static bool print_codecs(void)
{
    char error[256] = "";
    puts("decoders");
    printf("  %-14s ok: uncompressed (little and big endian), deflated, RLE\n", "built in");
    printf("  %-14s ok: JPEG 2000, HTJ2K\n", "OpenJPEG");
    const bool ready = ts_dicom_decode_init(error, sizeof error) == 0;
    if (ready) {
        printf("  %-14s ok: JPEG, JPEG lossless, JPEG-LS\n", "DCMTK");
        return true;
    }
    printf("  %-14s missing: %s\n", "DCMTK", error);
    return false;
}

static void print_sandbox(void)
{
    char state[160];
    bool filtered;
    ts_sandbox_state(state, sizeof state, &filtered);
    puts("sandboxes of decoders and of readers of HDF5");
    printf("  %-14s %s\n", "locked by", state);
    if (!filtered)
        printf(
            "  %-14s a file that exploits a decoder could read, write and send what this user can; "
            "run images of\n"
            "  %-14s unknown origin on a kernel with seccomp, or in a container without network\n",
            "that means", "");
}

static void print_device(const struct device_numbers *device, struct ts_diag *diag)
{
    char memory[32], cache[32], shared[32], block[32];
    ts_command_format_bytes((double)device->memory_bytes, memory, sizeof memory);
    ts_command_format_bytes(device->l2_bytes, cache, sizeof cache);
    ts_command_format_bytes(device->shared_bytes, shared, sizeof shared);
    ts_command_format_bytes(device->block_shared_bytes, block, sizeof block);
    printf("  cuda:%-9d %s, compute capability %d.%d, %s\n", device->index, device->name,
           device->major, device->minor, memory);
    printf("  %-14s %d multiprocessors of %d threads and %s of shared memory (%s a block), %s of "
           "cache\n",
           "", device->multiprocessors, device->threads, shared, block, cache);
    if (!ts_cuda_built())
        return;
    ts_diag_clear(diag);
    const bool usable =
        ts_cuda_usable(device, diag) == TS_OK && ts_cuda_selftest(device->index, diag) == TS_OK;
    printf("  %-14s %s\n", "", usable ? "runs this build's code" : ts_diag_get(diag, 0)->message);
}

static void print_cuda(void)
{
    struct cuda_devices found;
    struct ts_diag *diag = ts_command_diag();
    const int runtime = ts_cuda_runtime();
    if (!diag)
        return;
    puts("CUDA (optional)");
    printf("  %-14s ", "this build");
    if (ts_cuda_built())
        printf("has the CUDA side, of CUDA %d.%d\n", runtime / 1000, runtime % 1000 / 10);
    else
        puts("CPU only (to change it: cmake -B build -DTOMOSTAGE_CUDA=on)");
    const enum ts_status status = ts_cuda_query(&found, diag);
    if (found.driver > 0)
        printf("  %-14s for CUDA %d.%d\n", "driver", found.driver / 1000, found.driver % 1000 / 10);
    if (status != TS_OK) {
        const struct ts_diag_record *record = ts_diag_get(diag, 0);
        printf("  %-14s %s\n", "devices", record->message);
        if (record->hint)
            printf("  %-14s %s\n", "to mend it", record->hint);
    }
    for (int i = 0; i < found.n; i++)
        print_device(&found.devices[i], diag);
    ts_diag_destroy(diag);
}

static void print_limit(const char *name, int resource, bool bytes)
{
    struct rlimit limit;
    char text[32];
    if (getrlimit(resource, &limit) != 0)
        return;
    if (limit.rlim_cur == RLIM_INFINITY)
        snprintf(text, sizeof text, "none");
    else if (bytes)
        ts_command_format_bytes((double)limit.rlim_cur, text, sizeof text);
    else
        snprintf(text, sizeof text, "%llu", (unsigned long long)limit.rlim_cur);
    printf("  %-14s %s\n", name, text);
}

static void print_limits(void)
{
    char text[32];
    cpu_set_t cores;
    struct statvfs disk;
    puts("limits");
    if (sched_getaffinity(0, sizeof cores, &cores) == 0)
        printf("  %-14s %d\n", "cores", CPU_COUNT(&cores));
    const double memory = (double)ts_memory_available();
    if (memory > 0)
        printf("  %-14s %s free now\n", "memory",
               ts_command_format_bytes(memory, text, sizeof text));
    print_limit("address space", RLIMIT_AS, true);
    print_limit("file size", RLIMIT_FSIZE, true);
    print_limit("open files", RLIMIT_NOFILE, false);
    print_limit("processes", RLIMIT_NPROC, false);
    if (statvfs(".", &disk) == 0)
        printf("  %-14s %s free\n", "this folder",
               ts_command_format_bytes((double)disk.f_bavail * (double)disk.f_frsize, text,
                                       sizeof text));
}

static int doctor(char **operands)
{
    (void)operands;
    print_versions();
    const bool ready = print_codecs();
    print_sandbox();
    print_cuda();
    print_limits();
    puts(ready ? "all that is needed is there" : "something that is needed is missing");
    return ready ? 0 : TS_RUN_FAILED;
}

const struct command ts_cli_doctor = {
    .name = "doctor",
    .usage = "",
    .summary = "versions, decoders, CUDA, limits, and how to mend what is missing",
    .help = "Exit code 1 where something is missing without which tomostage cannot work.\n",
    .run = doctor,
};
