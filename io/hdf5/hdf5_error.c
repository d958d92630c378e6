/* SPDX-License-Identifier: Apache-2.0
 *
 * One lock guards libhdf5. While it is held, the library does not print, and its error stack is
 * read here. If a system call of the driver failed, that error is reported, since a user can do
 * something about it; else the innermost record of the stack.
 */
#include "io/hdf5/hdf5_error.h"

#include <pthread.h>

#include "io/file/file_bytes.h"

static pthread_mutex_t library_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t library_once = PTHREAD_ONCE_INIT;

/* The following are used under the lock. */
static int kept_error; /* errno of the driver */
static H5E_auto2_t host_print;
static void *host_print_data;

/* The following are used in a sandboxed child, which has one thread. */
static bool notes, noted;
static struct hdf5_failure first_failure;

static void lock_library(void)
{
    pthread_mutex_lock(&library_lock);
}

static void unlock_library(void)
{
    pthread_mutex_unlock(&library_lock);
}

static void prepare_library(void)
{
    /* Before a fork, the library comes to rest: the fork server may start late in a host program
       with other threads. */
    (void)pthread_atfork(lock_library, unlock_library, unlock_library);
    /* Fails if the host program has already used HDF5, whose choice then applies. */
    (void)H5dont_atexit();
}

static herr_t take_record(unsigned depth, const H5E_error2_t *record, void *data)
{
    struct hdf5_failure *failure = data;
    (void)depth;
    if (record->desc)
        ts_text_escape(failure->text, sizeof failure->text, record->desc);
    return 0;
}

/* Called for each record of the stack; the last one, the innermost, remains in the text. */
static void explain(hid_t stack, struct hdf5_failure *failure)
{
    snprintf(failure->text, sizeof failure->text, "HDF5 gave no reason");
    (void)H5Ewalk2(stack, H5E_WALK_DOWNWARD, take_record, failure);
}

/* The library calls this if one of our calls fails. */
static herr_t note_failure(hid_t stack, void *data)
{
    (void)data;
    if (!noted)
        explain(stack, &first_failure);
    noted = true;
    return 0;
}

void ts_hdf5_note_failures(void)
{
    notes = true;
}

bool ts_hdf5_noted_failure(struct hdf5_failure *failure)
{
    *failure = first_failure;
    return noted;
}

void ts_hdf5_enter(void)
{
    pthread_mutex_lock(&library_lock);
    pthread_once(&library_once, prepare_library);
    host_print = NULL;
    host_print_data = NULL;
    /* A failure here is ignored: the library then prints, but no result depends on it. */
    (void)H5Eget_auto2(H5E_DEFAULT, &host_print, &host_print_data);
    (void)H5Eset_auto2(H5E_DEFAULT, notes ? note_failure : NULL, NULL);
    (void)H5Eclear2(H5E_DEFAULT);
    kept_error = 0;
}

void ts_hdf5_leave(void)
{
    (void)H5Eclear2(H5E_DEFAULT);
    (void)H5Eset_auto2(H5E_DEFAULT, host_print, host_print_data);
    pthread_mutex_unlock(&library_lock);
}

void ts_hdf5_close(const hid_t *objects, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (objects[i] >= 0)
            (void)H5Idec_ref(objects[i]);
}

void ts_hdf5_keep_error(int error_number)
{
    if (!kept_error)
        kept_error = error_number;
}

int ts_hdf5_kept_error(void)
{
    return kept_error;
}

void ts_hdf5_failure(struct hdf5_failure *failure)
{
    failure->error_number = kept_error;
    explain(H5E_DEFAULT, failure);
    if (kept_error)
        snprintf(failure->text, sizeof failure->text, "%s", ts_errno_text(kept_error));
    kept_error = 0;
    (void)H5Eclear2(H5E_DEFAULT);
}
