/* SPDX-License-Identifier: Apache-2.0
 *
 * This has the streams, memory and events of one device, through the CUDA runtime, and the messages
 * for its errors. Built only with CUDA; other builds have cuda/device/absent.c. Memory is allocated
 * piece by piece while a run is set up, so that memory checkers see where each piece ends, and
 * freed all at once.
 */
#include "cuda/device/session.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/available.h"
#include "core/thread.h"
#include "cuda/device/device.h"
#include "cuda/device/launch.h"

/* ---- memory left -------------------------------------------------------------------------------
 *
 * Asks NVML, through dlopen, how much memory is free on a device where CUDA cannot start. Built
 * only with CUDA. Source: NVML API reference (nvmlReturn_t is an integer, 0 success; nvmlMemory_t
 * is three 64-bit numbers). */

struct memory {
    unsigned long long total, available, used;
};

static bool session_find(void *library, const char *name, void *function)
{
    void *address = dlsym(library, name);
    memcpy(function, &address,
           sizeof address); /* ISO C has no cast from object to function pointer */
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
    if (library && session_find(library, "nvmlInit_v2", &init) &&
        session_find(library, "nvmlShutdown", &shutdown) &&
        session_find(library, "nvmlDeviceGetHandleByPciBusId_v2", &by_address) &&
        session_find(library, "nvmlDeviceGetMemoryInfo", &memory_of) && init() == 0) {
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

struct piece {
    struct piece *next;
    void *at;
    size_t bytes;
    enum { ON_DEVICE, PINNED, CALLERS } kind; /* CALLERS: memory of the caller that was pinned */
};

struct cuda_event {
    struct cuda_event *next;
    cudaEvent_t event;
    bool recorded;
};

struct cuda_memory {
    struct device_numbers device;
    struct ts_allocator allocator; /* all members are zero: there is none */
    cudaStream_t stream;           /* for which the allocator is asked; NULL: not created yet */
    struct piece *pieces;          /* those that no session has */
};

struct cuda_session {
    struct device_numbers device;
    struct ts_diag *diag;
    struct cuda_memory *memory;             /* NULL: what is allocated is freed with the session */
    size_t bytes;                           /* bytes that the run will take, if known; else 0 */
    cudaStream_t streams[CUDA_QUEUES], own; /* own: CUDA_COMPUTE while nobody lends another */
    struct piece *pieces;
    struct cuda_event *events;
};

static _Atomic uint64_t launches;
static _Atomic unsigned sessions_begun;
static const char *_Atomic last_launched;
static _Atomic size_t held, most_held;

uint64_t ts_cuda_launch_count(void)
{
    return atomic_load(&launches);
}

unsigned ts_cuda_sessions_begun(void)
{
    return atomic_load(&sessions_begun);
}

const char *ts_cuda_last_launched(void)
{
    return atomic_load(&last_launched);
}

size_t ts_cuda_most_held(void)
{
    return atomic_exchange(&most_held, atomic_load(&held));
}

static void hold(size_t bytes)
{
    const size_t now = atomic_fetch_add(&held, bytes) + bytes;
    size_t most = atomic_load(&most_held);
    while (most < now && !atomic_compare_exchange_weak(&most_held, &most, now))
        ;
}

/* Returns true for errors after which this process can run nothing more on the device: those that
 * leave the process in an inconsistent state or demand a new one, as CUDA's documentation says, and
 * cudaErrorUnknown, which the driver reports for example after a device fell off its bus. */
static bool is_lost(cudaError_t error)
{
    /* Errors that some toolkits have no name for. */
    enum {
        CONTAINED = 226,
        TENSOR_MEMORY_LEAK = 721,
        MPS_CLIENT_TERMINATED = 810,
        EXTERNAL_DEVICE = 911
    };
    static const int lost[] = {
        cudaErrorIllegalAddress,
        cudaErrorLaunchFailure,
        cudaErrorECCUncorrectable,
        cudaErrorHardwareStackError,
        cudaErrorIllegalInstruction,
        cudaErrorMisalignedAddress,
        cudaErrorInvalidAddressSpace,
        cudaErrorInvalidPc,
        cudaErrorLaunchTimeout,
        cudaErrorNvlinkUncorrectable,
        cudaErrorContextIsDestroyed,
        cudaErrorAssert,
        cudaErrorUnknown,
        CONTAINED,
        TENSOR_MEMORY_LEAK,
        MPS_CLIENT_TERMINATED,
        EXTERNAL_DEVICE,
    };
    for (size_t i = 0; i < sizeof lost / sizeof *lost; i++)
        if ((int)error == lost[i])
            return true;
    return false;
}

enum ts_status ts_cuda_fold(struct ts_diag *diag, const char *stage, int result, const char *what)
{
    const cudaError_t error = (cudaError_t)result;
    if (error == cudaSuccess)
        return TS_OK;
    const bool lost = is_lost(error), busy = error == cudaErrorDevicesUnavailable;
    int device = -1;
    char where[32] = "";
    if (cudaGetDevice(&device) == cudaSuccess)
        snprintf(where, sizeof where, ", device %d", device);
    ts_diag_error(diag, TS_RUN_FAILED,
                  &(struct diag_site){.code = lost   ? "cuda-lost"
                                              : busy ? "cuda-busy"
                                                     : "cuda-failed",
                                      .stage = stage},
                  lost   ? "the CUDA device was lost while it worked on %s: %s (%s%s)"
                  : busy ? "the CUDA device takes no other program now, which %s needs: %s (%s%s)"
                         : "%s failed: %s (%s%s)",
                  what, cudaGetErrorString(error), cudaGetErrorName(error), where);
    if (lost)
        ts_diag_hint(diag, "nothing was written; `nvidia-smi` and the kernel's log say more, "
                           "--device cpu does without");
    if (busy)
        ts_diag_hint(diag, "`nvidia-smi -q -d COMPUTE` shows its compute mode: an exclusive one is "
                           "for one program at a time; wait for that, or take another device "
                           "(--device cuda:N) or --device cpu");
    return TS_RUN_FAILED;
}

void ts_cuda_count_launch(const char *kernel)
{
    atomic_fetch_add(&launches, 1);
    atomic_store(&last_launched, kernel);
}

bool ts_cuda_pci_address(const struct device_numbers *device, char *pci, size_t size)
{
    return cudaDeviceGetPCIBusId(pci, (int)size, device->index) == cudaSuccess;
}

/* The device has no memory left for CUDA itself. CUDA cannot report how much is free then, but NVML
 * may. */
static enum ts_status refuse_start(const struct device_numbers *device, size_t bytes,
                                   struct ts_diag *diag)
{
    char pci[32], there[96];
    size_t available = 0, total = device->memory_bytes;
    const bool known = ts_cuda_pci_address(device, pci, sizeof pci) &&
                       ts_cuda_memory_left(pci, &available, &total);
    cudaGetLastError();
    if (known)
        snprintf(there, sizeof there, "%.1f MiB of %.1f MiB are free", ts_mib((double)available),
                 ts_mib((double)total));
    else
        snprintf(there, sizeof there, "of its %.1f MiB too few are free", ts_mib((double)total));
    ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "cuda-memory"},
                  "no GPU memory to start CUDA on device %d (%s): %s, some hundred MiB are needed "
                  "for CUDA itself and %.1f MiB for what runs there",
                  device->index, device->name, there, ts_mib((double)bytes));
    return ts_diag_hint(diag, "end other programs on the GPU, or take --device cpu");
}

static enum ts_status check_code(const struct device_numbers *device, struct ts_diag *diag)
{
    int running = 0;
    const enum ts_status status =
        ts_cuda_fold(diag, NULL, ts_cuda_running_code(&running), "loading this build's code");
    return status == TS_OK ? ts_cuda_code_check(device, running, diag) : status;
}

struct cuda_opening {
    pthread_t thread;
    int device;
};

static void *open_device(void *data)
{
    const struct cuda_opening *opening = data;
    int code;
    if (cudaSetDevice(opening->device) == cudaSuccess)
        (void)ts_cuda_running_code(&code);
    return NULL;
}

struct cuda_opening *ts_cuda_open_begin(const struct device_numbers *device)
{
    struct cuda_opening *opening = calloc(1, sizeof *opening);
    if (!opening)
        return NULL;
    opening->device = device->index;
    if (ts_thread_start(&opening->thread, open_device, opening) == 0)
        return opening;
    free(opening);
    return NULL;
}

void ts_cuda_open_end(struct cuda_opening *opening)
{
    if (opening)
        pthread_join(opening->thread, NULL);
    free(opening);
}

enum ts_status ts_cuda_session_create(const struct device_numbers *device, size_t bytes,
                                      struct ts_diag *diag, struct cuda_session **result)
{
    struct cuda_session *session = calloc(1, sizeof *session);
    *result = NULL;
    if (!session)
        return ts_diag_no_memory(diag, sizeof *session);
    session->device = *device;
    session->diag = diag;
    session->bytes = bytes;
    atomic_fetch_add(&sessions_begun, 1);
    const cudaError_t started = cudaSetDevice(device->index);
    enum ts_status status = started == cudaErrorMemoryAllocation
                                ? refuse_start(device, bytes, diag)
                                : ts_cuda_fold(diag, NULL, started, "choosing the CUDA device");
    if (status == TS_OK)
        status = check_code(device, diag);
    for (int i = 0; status == TS_OK && i < CUDA_QUEUES; i++)
        status = ts_cuda_fold(
            diag, NULL, cudaStreamCreateWithFlags(&session->streams[i], cudaStreamNonBlocking),
            "creating a CUDA stream");
    session->own = session->streams[CUDA_COMPUTE];
    if (status == TS_OK)
        *result = session;
    else
        ts_cuda_session_destroy(session);
    return status;
}

enum ts_status ts_cuda_use(struct cuda_session *session)
{
    return session ? ts_cuda_fold(session->diag, NULL, cudaSetDevice(session->device.index),
                                  "choosing the CUDA device")
                   : TS_OK;
}

int ts_cuda_current(void)
{
    int device = 0;
    (void)cudaGetDevice(&device);
    return device;
}

void ts_cuda_make_current(int device)
{
    (void)cudaSetDevice(device);
}

void ts_cuda_lend(struct cuda_session *session, struct CUstream_st *stream, struct ts_diag *diag)
{
    session->streams[CUDA_COMPUTE] = stream;
    session->diag = diag;
}

void ts_cuda_lend_end(struct cuda_session *session)
{
    session->streams[CUDA_COMPUTE] = session->own;
}

void ts_cuda_settle(struct cuda_session *session)
{
    for (int i = 0; session && i < CUDA_QUEUES; i++)
        if (session->streams[i])
            cudaStreamSynchronize(session->streams[i]);
}

/* Frees pieces with the allocator that they are from. */
static void free_pieces(struct piece *pieces, const struct cuda_memory *memory)
{
    for (struct piece *piece = pieces, *next; piece; piece = next) {
        next = piece->next;
        if (piece->kind == ON_DEVICE)
            atomic_fetch_sub(&held, piece->bytes);
        if (piece->kind == ON_DEVICE && memory && memory->allocator.allocate)
            memory->allocator.free(memory->allocator.user, piece->at, piece->bytes,
                                   memory->device.index, memory->stream);
        else
            (void)(piece->kind == ON_DEVICE ? cudaFree
                   : piece->kind == PINNED  ? cudaFreeHost
                                            : cudaHostUnregister)(piece->at);
        free(piece);
    }
}

struct cuda_memory *ts_cuda_memory_create(const struct device_numbers *device,
                                          const struct ts_allocator *allocator)
{
    struct cuda_memory *memory = calloc(1, sizeof *memory);
    if (memory)
        memory->device = *device;
    if (memory && allocator)
        memory->allocator = *allocator;
    return memory;
}

void ts_cuda_memory_destroy(struct cuda_memory *memory)
{
    if (!memory)
        return;
    if (memory->pieces || memory->stream) {
        const int before = ts_cuda_current();
        ts_cuda_make_current(memory->device.index);
        free_pieces(memory->pieces, memory);
        if (memory->stream)
            cudaStreamDestroy(memory->stream);
        ts_cuda_make_current(before);
    }
    free(memory);
}

enum ts_status ts_cuda_session_memory(struct cuda_session *session, struct cuda_memory *memory)
{
    session->memory = memory;
    if (!memory->allocator.allocate || memory->stream)
        return TS_OK;
    return ts_cuda_fold(session->diag, NULL,
                        cudaStreamCreateWithFlags(&memory->stream, cudaStreamNonBlocking),
                        "creating a CUDA stream");
}

/* Gives all pieces of a session back to the memory that they are from. */
static void give_back(struct cuda_session *session)
{
    struct piece **end = &session->memory->pieces;
    while (*end)
        end = &(*end)->next;
    *end = session->pieces;
}

void ts_cuda_return_pinned(struct cuda_session *session)
{
    for (struct piece **link = &session->pieces; *link;) {
        struct piece *piece = *link;
        if (piece->kind != CALLERS) {
            link = &piece->next;
            continue;
        }
        *link = piece->next;
        piece->next = session->memory->pieces;
        session->memory->pieces = piece;
    }
}

void ts_cuda_session_destroy(struct cuda_session *session)
{
    if (!session)
        return;
    ts_cuda_settle(session);
    for (int i = 0; i < CUDA_QUEUES; i++)
        if (session->streams[i])
            cudaStreamDestroy(session->streams[i]);
    if (session->memory)
        give_back(session);
    else
        free_pieces(session->pieces, NULL);
    for (struct cuda_event *event = session->events, *next; event; event = next) {
        next = event->next;
        cudaEventDestroy(event->event);
        free(event);
    }
    free(session);
}

void ts_cuda_close_device(const struct device_numbers *device)
{
    if (cudaSetDevice(device->index) == cudaSuccess)
        (void)cudaDeviceReset();
}

const struct device_numbers *ts_cuda_session_device(const struct cuda_session *session)
{
    return &session->device;
}

struct CUstream_st *ts_cuda_stream(const struct cuda_session *session, enum cuda_queue queue)
{
    return session->streams[queue];
}

static enum ts_status refuse_memory(struct cuda_session *session, size_t bytes, bool pinned)
{
    size_t available = 0, total = 0;
    char whole[64] = "";
    const struct diag_site site = {.code = "cuda-memory"};
    if (pinned) {
        ts_diag_error(session->diag, TS_RUN_FAILED, &site,
                      "%.1f MiB of pinned host memory could not be allocated: %.1f MiB of memory "
                      "are available",
                      ts_mib((double)bytes), ts_mib((double)ts_memory_available()));
        return ts_diag_hint(session->diag, "a smaller --gpu-memory makes smaller slabs");
    }
    if (session->bytes > 0)
        snprintf(whole, sizeof whole, ", of the %.1f MiB that the run takes,",
                 ts_mib((double)session->bytes));
    cudaMemGetInfo(&available, &total);
    ts_diag_error(session->diag, TS_RUN_FAILED, &site,
                  "%.1f MiB of GPU memory%s could not be allocated%s: %.1f MiB of %.1f MiB are "
                  "free on device %d (%s)",
                  ts_mib((double)bytes), whole,
                  session->memory && session->memory->allocator.allocate
                      ? " by the program's own allocator"
                      : "",
                  ts_mib((double)available), ts_mib((double)total), session->device.index,
                  session->device.name);
    return ts_diag_hint(session->diag,
                        "end other programs on the GPU, or give a smaller --gpu-memory");
}

/* Adds the piece to the session's list if there was no error, else reports the error. */
static enum ts_status keep_piece(struct cuda_session *session, struct piece *piece,
                                 cudaError_t error, size_t bytes)
{
    if (error == cudaSuccess) {
        session->pieces = piece;
        if (piece->kind == ON_DEVICE)
            hold(piece->bytes);
        return TS_OK;
    }
    cudaGetLastError(); /* clears the error of an allocation that failed */
    if (error == cudaErrorMemoryAllocation)
        refuse_memory(session, bytes, piece->kind != ON_DEVICE);
    else
        ts_cuda_fold(session->diag, NULL, error,
                     piece->kind == ON_DEVICE ? "allocating GPU memory"
                                              : "allocating pinned host memory");
    free(piece);
    return TS_RUN_FAILED;
}

static struct piece *new_piece(struct cuda_session *session, size_t bytes, int kind)
{
    struct piece *piece = malloc(sizeof *piece);
    if (piece)
        *piece =
            (struct piece){.next = session->pieces, .bytes = ts_cuda_stride(bytes), .kind = kind};
    else
        ts_diag_no_memory(session->diag, sizeof *piece);
    return piece;
}

/* Returns a kept piece of this kind and size, which the session has from now on, or NULL. `at`: the
 * caller's memory that is wanted, or NULL. */
static struct piece *take_kept(struct cuda_session *session, size_t bytes, int kind, const void *at)
{
    struct piece **link = session->memory ? &session->memory->pieces : NULL;
    while (link && *link &&
           ((int)(*link)->kind != kind || (*link)->bytes != ts_cuda_stride(bytes) ||
            (at && (*link)->at != at)))
        link = &(*link)->next;
    struct piece *piece = link ? *link : NULL;
    if (!piece)
        return NULL;
    *link = piece->next;
    piece->next = session->pieces;
    session->pieces = piece;
    return piece;
}

/* Allocates device memory, with the caller's allocator if there is one. Its memory may still be in
 * use by work on the stream that it was asked for, and sessions have other streams. */
static cudaError_t allocate_on_device(const struct cuda_session *session, size_t bytes, void **at)
{
    const struct cuda_memory *memory = session->memory;
    const struct ts_allocator *caller = memory ? &memory->allocator : NULL;
    const size_t all = ts_cuda_stride(bytes); /* as a kept piece of as many bytes may be taken */
    if (!caller || !caller->allocate)
        return cudaMalloc(at, all);
    *at = caller->allocate(caller->user, all, memory->device.index, memory->stream);
    if (!*at)
        return cudaErrorMemoryAllocation;
    cudaError_t error = cudaStreamSynchronize(memory->stream);
    if (error == cudaSuccess && (uintptr_t)*at % CUDA_ALIGNMENT != 0)
        error = cudaErrorInvalidValue;
    if (error != cudaSuccess)
        caller->free(caller->user, *at, all, memory->device.index, memory->stream);
    return error;
}

static void *session_allocate(struct cuda_session *session, size_t bytes, int kind)
{
    static const _Alignas(CUDA_ALIGNMENT) char nothing[CUDA_ALIGNMENT];
    if (bytes == 0) /* a plan counts nothing for it, and nobody writes to it */
        return (void *)nothing;
    struct piece *piece = take_kept(session, bytes, kind, NULL);
    if (piece)
        return piece->at;
    piece = new_piece(session, bytes, kind);
    if (!piece)
        return NULL;
    const cudaError_t error = kind == PINNED
                                  ? cudaHostAlloc(&piece->at, piece->bytes, cudaHostAllocDefault)
                                  : allocate_on_device(session, bytes, &piece->at);
    return keep_piece(session, piece, error, bytes) == TS_OK ? piece->at : NULL;
}

void *ts_cuda_allocate(struct cuda_session *session, size_t bytes)
{
    return session_allocate(session, bytes, ON_DEVICE);
}

void *ts_cuda_allocate_pinned(struct cuda_session *session, size_t bytes)
{
    return session_allocate(session, bytes, PINNED);
}

enum ts_status ts_cuda_pin(struct cuda_session *session, void *at, size_t bytes)
{
    if (take_kept(session, bytes, CALLERS, at))
        return TS_OK;
    struct piece *piece = new_piece(session, bytes, CALLERS);
    if (!piece)
        return TS_RUN_FAILED;
    piece->at = at;
    return keep_piece(session, piece, cudaHostRegister(at, bytes, cudaHostRegisterDefault), bytes);
}

enum ts_status ts_cuda_copy(struct cuda_session *session, enum cuda_queue queue,
                            enum cuda_direction direction, void *to, const void *from, size_t bytes)
{
    static const enum cudaMemcpyKind kinds[] = {cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost,
                                                cudaMemcpyDeviceToDevice, cudaMemcpyDefault};
    static const char *const names[] = {
        "copying to the CUDA device", "copying from the CUDA device", "copying on the CUDA device",
        "copying between CUDA devices"};
    return ts_cuda_fold(session->diag, NULL,
                        cudaMemcpyAsync(to, from, bytes, kinds[direction], session->streams[queue]),
                        names[direction]);
}

enum ts_status ts_cuda_fill(struct cuda_session *session, enum cuda_queue queue, void *at, int byte,
                            size_t bytes)
{
    return ts_cuda_fold(session->diag, NULL,
                        cudaMemsetAsync(at, byte, bytes, session->streams[queue]),
                        "clearing CUDA memory");
}

enum ts_status ts_cuda_wait(struct cuda_session *session, enum cuda_queue queue)
{
    return ts_cuda_fold(session->diag, NULL, cudaStreamSynchronize(session->streams[queue]),
                        "the chain's kernels");
}

struct cuda_event *ts_cuda_event_create(struct cuda_session *session)
{
    struct cuda_event *event = calloc(1, sizeof *event);
    if (!event) {
        ts_diag_no_memory(session->diag, sizeof *event);
        return NULL;
    }
    if (ts_cuda_fold(session->diag, NULL, cudaEventCreate(&event->event),
                     "creating a CUDA event") != TS_OK) {
        free(event);
        return NULL;
    }
    event->next = session->events;
    session->events = event;
    return event;
}

enum ts_status ts_cuda_event_record(struct cuda_session *session, struct cuda_event *event,
                                    enum cuda_queue queue)
{
    event->recorded = true;
    return ts_cuda_fold(session->diag, NULL, cudaEventRecord(event->event, session->streams[queue]),
                        "recording a CUDA event");
}

enum ts_status ts_cuda_queue_waits(struct cuda_session *session, enum cuda_queue queue,
                                   struct cuda_event *event)
{
    if (!event->recorded)
        return TS_OK;
    return ts_cuda_fold(session->diag, NULL,
                        cudaStreamWaitEvent(session->streams[queue], event->event, 0),
                        "waiting for a CUDA event");
}

enum ts_status ts_cuda_queue_follows(struct cuda_session *session, enum cuda_queue queue,
                                     struct CUstream_st *stream)
{
    struct cuda_event *event = ts_cuda_event_create(session);
    if (!event)
        return TS_RUN_FAILED;
    event->recorded = true;
    const enum ts_status status = ts_cuda_fold(
        session->diag, NULL, cudaEventRecord(event->event, stream), "recording a CUDA event");
    return status == TS_OK ? ts_cuda_queue_waits(session, queue, event) : status;
}

bool ts_cuda_captures(struct CUstream_st *stream)
{
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    if (cudaStreamIsCapturing(stream, &status) != cudaSuccess)
        cudaGetLastError(); /* the default stream, while another one is captured */
    return status != cudaStreamCaptureStatusNone;
}

int ts_cuda_capture_begin(void)
{
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    (void)cudaThreadExchangeStreamCaptureMode(&mode);
    return (int)mode;
}

void ts_cuda_capture_end(int before)
{
    enum cudaStreamCaptureMode mode = (enum cudaStreamCaptureMode)before;
    (void)cudaThreadExchangeStreamCaptureMode(&mode);
}

bool ts_cuda_event_passed(const struct cuda_event *event)
{
    const cudaError_t error = event->recorded ? cudaEventQuery(event->event) : cudaSuccess;
    if (error == cudaErrorNotReady)
        cudaGetLastError(); /* clears it, or the next launch would find it */
    return error == cudaSuccess;
}

enum ts_status ts_cuda_host_waits(struct cuda_session *session, struct cuda_event *event)
{
    return event->recorded ? ts_cuda_fold(session->diag, NULL, cudaEventSynchronize(event->event),
                                          "the chain's kernels and copies")
                           : TS_OK;
}

enum ts_status ts_cuda_elapsed_ms(struct cuda_session *session, struct cuda_event *from,
                                  struct cuda_event *to, float *ms)
{
    return ts_cuda_fold(session->diag, NULL, cudaEventElapsedTime(ms, from->event, to->event),
                        "timing");
}
