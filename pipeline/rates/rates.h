/* SPDX-License-Identifier: Apache-2.0
 *
 * The rates of a machine say how fast it does each part of a run. `tomostage bench rates` measures
 * them once and keeps them in a small JSON file, and ts_predict() works out from them how long a
 * plan will take. They are plain data, so a prediction for another machine needs nothing but its
 * file.
 */
#ifndef PIPELINE_RATES_RATES_H
#define PIPELINE_RATES_RATES_H

#include "core/diag.h"

/* The first rates are seconds, the others bytes a second; those of the processor are for one thread
   while all work. */
enum rate {
    /* seconds of a run of a tiny volume on the CPU: the process, the plan and the file */
    RATE_START,
    RATE_OPEN,       /* seconds to scan the header of one more DICOM file */
    RATE_CUDA_QUERY, /* seconds to ask the driver for its devices, which `auto` always does */
    /* seconds that the tiny run takes longer on the device, including that query */
    RATE_CUDA_START,
    RATE_READ,     /* reading files that are in the page cache */
    RATE_INFLATE,  /* decoding compressed chunks; bytes of values */
    RATE_DECODE,   /* decoding compressed DICOM frames in workers; bytes of pixels */
    RATE_DIGEST,   /* SHA-256 */
    RATE_COMPRESS, /* shuffling and deflating; bytes of values */
    RATE_CHECKSUM, /* storing values without compression */
    RATE_PROVE,    /* decoding and comparing encoded chunks; bytes of values */
    RATE_STORE,    /* writing to the page cache and reading back from it */
    RATE_WRITE,    /* writing to the disk, fsync included; of the whole machine */
    RATE_UPLOAD,
    RATE_DOWNLOAD,
    RATE_CUDA_COMPRESS, /* compressing on the device; bytes of values */
    RATES
};

/* The speed of a stage with its default method: on the CPU with all threads, or on the device. */
struct stage_rate {
    char stage[32];
    bool cuda;
    bool samples;        /* the unit of work is a sample along a ray or a view; else a byte
                            (stages/engine/traits.h) */
    double per_second;   /* units of work per second */
    double call_seconds; /* seconds of each call, whatever its size */
};

enum { RATES_MOST_STAGES = 256 };

struct rates {
    char version[32], cpu[128];
    char device[128]; /* name of the CUDA device; "": none was measured */
    int threads;      /* number of processors that the process may use */
    double values[RATES];
    int n_stages;
    struct stage_rate stages[RATES_MOST_STAGES];
};

/* The names of the rates in the file and for people. */
struct rate_name {
    const char *key, *text;
    bool seconds, device;
};
extern const struct rate_name ts_rate_names[RATES];

/* Fills in the version of the program, and processor and threads of this machine; sets all rates to
   NAN, unknown. */
void ts_rates_here(struct rates *rates);
/* Adds the rate of a stage. Returns false if there are too many. */
bool ts_rates_add(struct rates *rates, const struct stage_rate *rate);
/* Returns the rate of a stage on the CPU or on the device, or NULL if none is known. */
const struct stage_rate *ts_rates_find(const struct rates *rates, const char *stage, bool cuda);

/* Writes the rates as JSON. */
void ts_rates_print(const struct rates *rates, FILE *stream);
/* Writes the file, and replaces an older one as a whole or not at all. Returns TS_RUN_FAILED if it
   cannot be written. */
enum ts_status ts_rates_save(const struct rates *rates, const char *path, struct ts_diag *diag);
/* Reads a file of rates of any machine. TS_RUN_FAILED (code rates-unreadable) if it cannot be read
 * or is damaged. */
enum ts_status ts_rates_read(const char *path, struct rates *rates, struct ts_diag *diag);
/* Reads a file of rates of this machine. TS_RUN_FAILED if it cannot be read or is damaged (code
 * rates-unreadable), or if its version, processor or number of threads differ from those that
 * ts_rates_here() finds (code rates-foreign). */
enum ts_status ts_rates_load(const char *path, struct rates *rates, struct ts_diag *diag);

#endif
