/* SPDX-License-Identifier: Apache-2.0
 *
 * A session is one CUDA device in use: its streams, all memory allocated on it, and the one place
 * where CUDA's errors become diagnostics. A session belongs to one thread, in which its device is
 * the current one from ts_cuda_session_create() or ts_cuda_use() on until that of another session
 * is; events may be recorded and waited for at any time. After an error that the device does not
 * survive every later call fails as well, with the code cuda-lost.
 *
 * In a build without CUDA code ts_cuda_session_create refuses, and nothing else can be reached.
 */
#ifndef CUDA_DEVICE_SESSION_H
#define CUDA_DEVICE_SESSION_H

#include "cuda/device/device.h"
#include "cuda/device/launch.h"

enum cuda_queue { CUDA_COMPUTE, CUDA_UPLOAD, CUDA_DOWNLOAD, CUDA_QUEUES };
/* CUDA_BETWEEN: from the memory of any device; the queue is one of the device that it goes to. */
enum cuda_direction { CUDA_TO_DEVICE, CUDA_TO_HOST, CUDA_ON_DEVICE, CUDA_BETWEEN };

struct cuda_session;
struct cuda_opening;
struct cuda_event;

/* Creates the device's context and loads this build's code in a thread, which takes a ninth of a
 * second: a session finds both there. What fails is met again, and reported, by the session. NULL
 * where there is no thread for it. */
struct cuda_opening *ts_cuda_open_begin(const struct device_numbers *device);
/* Waits for the thread. NULL does nothing. */
void ts_cuda_open_end(struct cuda_opening *opening);
/* Creates a session; fork workers before. `diag` receives the errors of all later calls. `bytes` is
 * the memory that will be allocated, as far as it is known, for the message where the device has
 * too little for CUDA itself (code cuda-memory). */
enum ts_status ts_cuda_session_create(const struct device_numbers *device, size_t bytes,
                                      struct ts_diag *diag, struct cuda_session **session);
/* Makes the session's device the thread's current one. NULL does nothing. */
enum ts_status ts_cuda_use(struct cuda_session *session);
/* Waits for the queues, whatever became of their work. NULL does nothing. */
void ts_cuda_settle(struct cuda_session *session);
/* Waits for the queues; frees all memory and events. NULL does nothing. */
void ts_cuda_session_destroy(struct cuda_session *session);
/* Destroys the context of the device for the whole process, which takes as long as creating it, and
 * as part of the process's end would come on top. */
void ts_cuda_close_device(const struct device_numbers *device);
/* The device that the session was created with. */
const struct device_numbers *ts_cuda_session_device(const struct cuda_session *session);
struct CUstream_st *ts_cuda_stream(const struct cuda_session *session, enum cuda_queue queue);

/* The one place where CUDA's errors (cudaError_t) become diagnostics: cuda-lost after those that
 * the device does not survive, cuda-busy where it is another program's alone, cuda-failed else.
 * `what` was done: "copying to the device". */
enum ts_status ts_cuda_fold(struct ts_diag *diag, const char *stage, int error, const char *what);
/* Writes "0000:1b:00.0"; false where CUDA does not report it. */
bool ts_cuda_pci_address(const struct device_numbers *device, char *pci, size_t size);
/* Free and total bytes of the device with this PCI address, as NVML reports them without starting
 * CUDA; false where it does not. */
bool ts_cuda_memory_left(const char *pci, size_t *available, size_t *total);
/* Allocate memory until the session ends. They return NULL with a record in diag (code cuda-memory
 * states the bytes asked for and free; other failures have their own). For 0 bytes they allocate
 * nothing, and the pointer must not be used. */
void *ts_cuda_allocate(struct cuda_session *session, size_t bytes);
void *ts_cuda_allocate_pinned(struct cuda_session *session, size_t bytes);
/* Pins memory of the caller, whose pages are in use already, until the session ends. This takes a
 * twelfth of the time of the function above, which finds and clears the pages itself. Fails like
 * it. */
enum ts_status ts_cuda_pin(struct cuda_session *session, void *at, size_t bytes);

/* Enqueue copies. Host memory must be pinned to overlap, and must stay until the queue has
 * passed. */
enum ts_status ts_cuda_copy(struct cuda_session *session, enum cuda_queue queue,
                            enum cuda_direction direction, void *to, const void *from,
                            size_t bytes);
enum ts_status ts_cuda_fill(struct cuda_session *session, enum cuda_queue queue, void *at, int byte,
                            size_t bytes);
/* The host waits until the queue is empty; errors of kernels show here. */
enum ts_status ts_cuda_wait(struct cuda_session *session, enum cuda_queue queue);

/* Creates an event, a point in a queue that other queues or the host wait for. Returns NULL with a
 * record in diag where it cannot. */
struct cuda_event *ts_cuda_event_create(struct cuda_session *session);
/* Marks the point behind all that was enqueued so far; an event may be recorded again. */
enum ts_status ts_cuda_event_record(struct cuda_session *session, struct cuda_event *event,
                                    enum cuda_queue queue);
/* An event that was never recorded is passed at once. */
enum ts_status ts_cuda_queue_waits(struct cuda_session *session, enum cuda_queue queue,
                                   struct cuda_event *event);
/* True where the host would not have to wait. */
bool ts_cuda_event_passed(const struct cuda_event *event);
/* The host waits for the event; errors of kernels before it show here. */
enum ts_status ts_cuda_host_waits(struct cuda_session *session, struct cuda_event *event);
/* Returns the time between two events that the host has waited for. */
enum ts_status ts_cuda_elapsed_ms(struct cuda_session *session, struct cuda_event *from,
                                  struct cuda_event *to, float *ms);

/* Counts a launch for the two functions below; ts_cuda_launched() calls it. The name stays. */
void ts_cuda_count_launch(const char *kernel);
/* Returns how often ts_cuda_launched() was called in this process. Tests prove with it that kernels
 * ran. */
uint64_t ts_cuda_launch_count(void);
/* Returns the name of the kernel of that function's last call, as its launcher calls it; NULL:
 * there was none. Tests tell methods apart by it that give the same results. */
const char *ts_cuda_last_launched(void);
/* Returns the most bytes of device memory that this process held at once since the last call. Tests
 * compare plans with it. */
size_t ts_cuda_most_held(void);

#endif
