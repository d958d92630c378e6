/* SPDX-License-Identifier: Apache-2.0
 *
 * A profile shows what a run did: as a table for people, as a picture with a lane for each part,
 * and as a file for programs that show traces.
 */
#ifndef PIPELINE_RUN_PROFILE_H
#define PIPELINE_RUN_PROFILE_H

#include "core/arena.h"
#include "core/diag.h"
#include "core/trace.h"
#include "io/file/digest.h"

/* These are the names of the parts in tables, pictures and files. */
extern const char *const ts_profile_parts[TRACE_PARTS];

/* The memory of a run in bytes; 0: not known, or there is none. */
struct profile_memory {
    int64_t planned, budget; /* of the host */
    int64_t gpu_planned, gpu_budget;
    /* most that the process held, including libraries, until the profile was written */
    int64_t peak;
};

/* Sums of the stretches of a part, in seconds since the start. */
struct profile_sum {
    /* busy: overlapping stretches count once; worked: they count for each thread */
    double first, last, busy, worked;
    uint64_t bytes;
    size_t n;
};
/* Adds up the stretches of all parts. Returns the seconds until the last one ends; negative if
   memory is out. */
double ts_profile_sums(const struct trace *trace, struct profile_sum sums[TRACE_PARTS]);

/* Writes a table of the parts: how long each was busy (overlapping stretches of several threads
   count once), how long its threads worked in all, its bytes, and their rate while it was busy. */
void ts_profile_print(const struct trace *trace, FILE *stream);
/* Checks before the run that both files can be written. Returns TS_RUN_FAILED if one cannot
   (not-written), or exists and must not be replaced (output-exists). */
enum ts_status ts_profile_check(const char *name, bool force, struct ts_diag *diag);
/* Writes NAME.svg, the picture, and NAME.json, the stretches, the memory and the digest of the
 * result ("": the run wrote no HDF5) in Chrome's trace event format, which Perfetto shows. Files of
 * these names are replaced with `force`. Returns TS_RUN_FAILED as ts_profile_check does.
 * memory->peak is measured here. */
enum ts_status ts_profile_write(const struct trace *trace, struct profile_memory memory,
                                const char *digest, const char *name, bool force,
                                struct ts_diag *diag);
/* Reads NAME.json again. The caller destroys *trace. The arena owns the names of stages and the
   digest ("": the profile has none), which are untrusted texts. Returns TS_BAD_INPUT if the file is
   no such profile (profile-unreadable), TS_RUN_FAILED if memory is out. */
enum ts_status ts_profile_read(const char *path, struct arena *arena, struct trace **trace,
                               struct profile_memory *memory, char digest[DIGEST_TEXT_BYTES],
                               struct ts_diag *diag);

#endif
