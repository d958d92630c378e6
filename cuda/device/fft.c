/* SPDX-License-Identifier: Apache-2.0
 *
 * cuFFT is opened through dlopen when a stage needs it, so that a machine without cuFFT runs all
 * chains that transform nothing: the one that the process has loaded, or that of Python's packages
 * beside this library, or the system's. Built only with CUDA.
 */
#include "cuda/device/fft.h"

#include <cuda_runtime_api.h>
#include <cufft.h>
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/device/launch.h"

struct cuda_fft {
    cufftHandle plans[2]; /* complex: one plan for both directions; real: forward, inverse */
    int n_plans;
    bool real;
};

static struct {
    void *library;
    cufftResult (*create)(cufftHandle *);
    cufftResult (*destroy)(cufftHandle);
    cufftResult (*set_auto_allocation)(cufftHandle, int);
    cufftResult (*make_plan)(cufftHandle, int, long long *, long long *, long long, long long,
                             long long *, long long, long long, cufftType, long long, size_t *);
    cufftResult (*set_work_area)(cufftHandle, void *);
    cufftResult (*set_stream)(cufftHandle, cudaStream_t);
    cufftResult (*complex_to_complex)(cufftHandle, cufftComplex *, cufftComplex *, int);
    cufftResult (*real_to_complex)(cufftHandle, cufftReal *, cufftComplex *);
    cufftResult (*complex_to_real)(cufftHandle, cufftComplex *, cufftReal *);
    cufftResult (*version)(int *);
} cufft;
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)

static const char *result_name(cufftResult result)
{
    static const char *const names[] = {
        [CUFFT_SUCCESS] = "success",
        [CUFFT_INVALID_PLAN] = "invalid plan",
        [CUFFT_ALLOC_FAILED] = "out of memory",
        [CUFFT_INVALID_VALUE] = "invalid value",
        [CUFFT_INTERNAL_ERROR] = "internal error",
        [CUFFT_EXEC_FAILED] = "execution failed",
        [CUFFT_SETUP_FAILED] = "set-up failed",
        [CUFFT_INVALID_SIZE] = "invalid size",
        [CUFFT_UNALIGNED_DATA] = "unaligned data",
    };
    const size_t i = (size_t)result;
    return i < sizeof names / sizeof *names && names[i] ? names[i] : "unknown error";
}

/* This is the one place where cuFFT's results become diagnostics. It has no error for a device that
 * was lost, but CUDA has. */
static enum ts_status fold(struct ts_diag *diag, const char *stage, cufftResult result,
                           const char *what)
{
    if (result == CUFFT_SUCCESS)
        return TS_OK;
    const cudaError_t device = cudaDeviceSynchronize();
    if (device != cudaSuccess)
        return ts_cuda_fold(diag, stage, device, what);
    return ts_diag_error(diag, TS_RUN_FAILED,
                         &(struct diag_site){.code = "cufft-failed", .stage = stage},
                         "cuFFT: %s failed: %s (%d)", what, result_name(result), (int)result);
}

static bool fft_find(void)
{
    const struct {
        void **at;
        const char *name;
    } functions[] = {
        {(void **)&cufft.create, "cufftCreate"},
        {(void **)&cufft.destroy, "cufftDestroy"},
        {(void **)&cufft.set_auto_allocation, "cufftSetAutoAllocation"},
        {(void **)&cufft.make_plan, "cufftMakePlanMany64"},
        {(void **)&cufft.set_work_area, "cufftSetWorkArea"},
        {(void **)&cufft.set_stream, "cufftSetStream"},
        {(void **)&cufft.complex_to_complex, "cufftExecC2C"},
        {(void **)&cufft.real_to_complex, "cufftExecR2C"},
        {(void **)&cufft.complex_to_real, "cufftExecC2R"},
        {(void **)&cufft.version, "cufftGetVersion"},
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (!(*functions[i].at = dlsym(cufft.library, functions[i].name)))
            return false;
    return true;
}

#define CUFFT_NAME "libcufft.so." TEXT(CUFFT_VER_MAJOR)

static bool open_at(const char *path, int flags)
{
    if (!cufft.library)
        cufft.library = dlopen(path, RTLD_NOW | RTLD_LOCAL | flags);
    if (cufft.library && !fft_find()) {
        dlclose(cufft.library);
        cufft.library = NULL;
    }
    return cufft.library != NULL;
}

/* NVIDIA's packages for Python lie in the folder of all packages. This code is in one of them if
 * its path goes through such a folder. Up to CUDA 12 each library of NVIDIA's has a folder of its
 * own. */
static bool open_beside_python(void)
{
    static const char *const folders[] = {"/site-packages/", "/dist-packages/"};
    Dl_info self;
    const char *end = NULL;
    if (!dladdr((const void *)open_beside_python, &self) || !self.dli_fname)
        return false;
    for (size_t i = 0; !end && i < sizeof folders / sizeof *folders; i++)
        if ((end = strstr(self.dli_fname, folders[i])))
            end += strlen(folders[i]);
    if (!end)
        return false;
    const int n = (int)(end - self.dli_fname);
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%.*snvidia/cu%d/lib/" CUFFT_NAME, n, self.dli_fname,
             CUDART_VERSION / 1000);
    if (open_at(path, 0))
        return true;
    snprintf(path, sizeof path, "%.*snvidia/cufft/lib/" CUFFT_NAME, n, self.dli_fname);
    return open_at(path, 0);
}

/* Whoever has loaded cuFFT, such as PyTorch, keeps the only one. */
static enum ts_status open_library(struct ts_diag *diag, const char *stage)
{
    pthread_mutex_lock(&opening);
    const bool there = cufft.library || open_at(CUFFT_NAME, RTLD_NOLOAD) || open_beside_python() ||
                       open_at(CUFFT_NAME, 0) || open_at("/usr/local/cuda/lib64/" CUFFT_NAME, 0);
    pthread_mutex_unlock(&opening);
    if (there)
        return TS_OK;
    ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "cufft-missing", .stage = stage},
                  "its Fourier transforms need cuFFT, and %s was not found", CUFFT_NAME);
    return ts_diag_hint(diag,
                        "it is part of the CUDA toolkit (Debian: libcufft%d, Python: %s): put its "
                        "folder on LD_LIBRARY_PATH, or use --device cpu",
                        CUFFT_VER_MAJOR,
                        CUDART_VERSION < 13000 ? "nvidia-cufft-cu12" : "nvidia-cufft");
}

int ts_cuda_fft_version(void)
{
    int version = 0;
    pthread_mutex_lock(&opening);
    if (cufft.library)
        cufft.version(&version);
    pthread_mutex_unlock(&opening);
    return version;
}

/* Lengths with large prime factors need a longer transform and two arrays of it; others need at
 * most one array. */
size_t ts_cuda_fft_work_bytes(const struct fft_shape *shape)
{
    return ((size_t)8 << 20) + 5 * sizeof(cufftComplex) * (size_t)ts_fft_spectrum_count(shape);
}

static enum ts_status make_plan(struct cuda_session *session, const char *stage,
                                const struct fft_shape *shape, cufftType type, void *work,
                                struct ts_diag *diag, cufftHandle *plan)
{
    long long n[2] = {shape->n[0], shape->n[1]};
    size_t bytes = 0;
    enum ts_status status = fold(diag, stage, cufft.create(plan), "creating a plan");
    if (status != TS_OK)
        return status;
    status = fold(diag, stage, cufft.set_auto_allocation(*plan, 0), "taking over the work area");
    if (status == TS_OK)
        status = fold(diag, stage,
                      cufft.make_plan(*plan, shape->rank, n, NULL, 1, 0, NULL, 1, 0, type,
                                      shape->batch, &bytes),
                      "planning");
    if (status == TS_OK && bytes > ts_cuda_fft_work_bytes(shape))
        status = ts_diag_error(diag, TS_RUN_FAILED,
                               &(struct diag_site){.code = "cufft-work", .stage = stage},
                               "cuFFT wants a work area of %zu bytes, and %zu were planned", bytes,
                               ts_cuda_fft_work_bytes(shape));
    if (status == TS_OK)
        status = fold(diag, stage, cufft.set_work_area(*plan, work), "setting the work area");
    if (status == TS_OK)
        status = fold(diag, stage, cufft.set_stream(*plan, ts_cuda_stream(session, CUDA_COMPUTE)),
                      "setting the stream");
    if (status != TS_OK)
        cufft.destroy(*plan);
    return status;
}

enum ts_status ts_cuda_fft_create(struct cuda_session *session, const char *stage,
                                  const struct fft_shape *shape, void *work, struct ts_diag *diag,
                                  struct cuda_fft **result)
{
    const cufftType types[] = {shape->real ? CUFFT_R2C : CUFFT_C2C, CUFFT_C2R};
    enum ts_status status = open_library(diag, stage);
    struct cuda_fft *fft = status == TS_OK ? calloc(1, sizeof *fft) : NULL;
    *result = NULL;
    if (!fft)
        return status == TS_OK ? ts_diag_no_memory(diag, sizeof *fft) : status;
    fft->real = shape->real;
    while (status == TS_OK && fft->n_plans < (shape->real ? 2 : 1)) {
        status = make_plan(session, stage, shape, types[fft->n_plans], work, diag,
                           &fft->plans[fft->n_plans]);
        fft->n_plans += status == TS_OK;
    }
    if (status == TS_OK)
        *result = fft;
    else
        ts_cuda_fft_destroy(fft);
    return status;
}

enum ts_status ts_cuda_fft_follow(const struct cuda_fft *fft, const struct cuda_session *session,
                                  const char *stage, struct ts_diag *diag)
{
    enum ts_status status = TS_OK;
    for (int i = 0; fft && status == TS_OK && i < fft->n_plans; i++)
        status = fold(diag, stage,
                      cufft.set_stream(fft->plans[i], ts_cuda_stream(session, CUDA_COMPUTE)),
                      "setting the stream");
    return status;
}

void ts_cuda_fft_destroy(struct cuda_fft *fft)
{
    for (int i = 0; fft && i < fft->n_plans; i++)
        cufft.destroy(fft->plans[i]);
    free(fft);
}

/* ---- transforming ---------------------------------------------------------------------------- */

static enum ts_status done(const struct stage_context *context, cufftResult result,
                           const char *what)
{
    const enum ts_status status = fold(context->diag, context->stage->name, result, what);
    return status == TS_OK ? ts_cuda_launched(context, what) : status;
}

enum ts_status ts_cuda_fft_forward(const struct stage_context *context, const struct cuda_fft *fft,
                                   float *in, float *out)
{
    return done(context,
                fft->real ? cufft.real_to_complex(fft->plans[0], in, (cufftComplex *)out)
                          : cufft.complex_to_complex(fft->plans[0], (cufftComplex *)in,
                                                     (cufftComplex *)out, CUFFT_FORWARD),
                "the Fourier transform");
}

enum ts_status ts_cuda_fft_inverse(const struct stage_context *context, const struct cuda_fft *fft,
                                   float *in, float *out)
{
    return done(context,
                fft->real ? cufft.complex_to_real(fft->plans[1], (cufftComplex *)in, out)
                          : cufft.complex_to_complex(fft->plans[0], (cufftComplex *)in,
                                                     (cufftComplex *)out, CUFFT_INVERSE),
                "the inverse Fourier transform");
}
