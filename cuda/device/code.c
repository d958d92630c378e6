/* SPDX-License-Identifier: Apache-2.0
 *
 * CMake writes TS_CUDA_CODES, one row for each compute capability that it compiled for. All decisions follow from these
 * rows, so tests can hand in rows of other builds.
 */
#include "cuda/device/code.h"

#include <stdio.h>

#ifdef TS_CUDA_CODES /* the rows that CMake makes of CMAKE_CUDA_ARCHITECTURES, in rising order */
static const struct cuda_code built[] = {TS_CUDA_CODES};
enum { N_BUILT = sizeof built / sizeof *built };
#endif

static bool runs_as_machine_code(const struct cuda_code *code, int capability)
{
    const bool same_major = code->capability / 10 == capability / 10 && code->capability <= capability;
    return code->machine && (code->exact ? code->capability == capability : same_major);
}

static bool runs_as_ptx(const struct cuda_code *code, int capability)
{
    return code->ptx && (code->exact ? code->capability == capability : code->capability <= capability);
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
    return built[0].capability > CUDA_LOWEST_CAPABILITY ? built[0].capability : CUDA_LOWEST_CAPABILITY;
#else
    return CUDA_LOWEST_CAPABILITY;
#endif
}

enum ts_status ts_cuda_code_check(const struct device_numbers *device, int running, struct ts_diag *diag)
{
    const int expected = device->code;
    if (running >= expected)
        return TS_OK;
    ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "cuda-code"},
                  "device %d (%s) runs code of compute capability %d.%d, and the plan was made for that of %d.%d",
                  device->index, device->name, running / 10, running % 10, expected / 10, expected % 10);
    return ts_diag_hint(diag, "unset CUDA_FORCE_PTX_JIT where it is set, or use --device cpu");
}

static size_t list(const struct cuda_code *codes, int n, bool ptx, const char *before, char *text, size_t size)
{
    size_t length = 0;
    for (int i = 0; i < n && length < size; i++)
        if (ptx ? codes[i].ptx : codes[i].machine)
            length += (size_t)snprintf(text + length, size - length, "%s%d.%d%s", length ? ", " : before,
                                       codes[i].capability / 10, codes[i].capability % 10, codes[i].exact ? "a" : "");
    return length < size ? length : size - 1;
}

void ts_cuda_code_text(const struct cuda_code *codes, int n, char *text, size_t size)
{
    text[0] = 0;
    const size_t length = list(codes, n, false, "machine code for ", text, size);
    list(codes, n, true, length ? " and PTX for " : "PTX for ", text + length, size - length);
}

void ts_cuda_code_here_text(char *text, size_t size)
{
#ifdef TS_CUDA_CODES
    ts_cuda_code_text(built, N_BUILT, text, size);
#else
    snprintf(text, size, "no CUDA code");
#endif
}
