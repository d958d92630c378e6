/* SPDX-License-Identifier: Apache-2.0
 *
 * The rates in memory, and what they are valid for: the program's version, the processor's name as
 * Linux reports it, and the number of processors that this process may use. A file from elsewhere
 * would predict another machine.
 */
#include "pipeline/rates/rates.h"

#include <math.h>
#include <sched.h>
#include <string.h>
#include <sys/utsname.h>

const struct rate_name ts_rate_names[RATES] = {
    [RATE_START] = {"start", "start of a run", .seconds = true},
    [RATE_OPEN] = {"open_file", "header of a DICOM file", .seconds = true},
    [RATE_CUDA_QUERY] = {"cuda_query", "question for devices", .seconds = true, .device = true},
    [RATE_CUDA_START] = {"cuda_start", "start of the device", .seconds = true, .device = true},
    [RATE_READ] = {"read", "read, a thread"},
    [RATE_INFLATE] = {"inflate", "inflate, a thread"},
    [RATE_DECODE] = {"decode", "decode compressed DICOM, a thread"},
    [RATE_DIGEST] = {"sha256", "SHA-256, a thread"},
    [RATE_COMPRESS] = {"deflate", "deflate, a thread"},
    [RATE_CHECKSUM] = {"checksum", "checksum, a thread"},
    [RATE_PROVE] = {"prove", "prove chunks, a thread"},
    [RATE_STORE] = {"store", "write and read back, a thread"},
    [RATE_WRITE] = {"write", "write with fsync"},
    [RATE_UPLOAD] = {"upload", "upload", .device = true},
    [RATE_DOWNLOAD] = {"download", "download", .device = true},
    [RATE_CUDA_COMPRESS] = {"cuda_deflate", "deflate on the device", .device = true},
};

/* The line "model name" is x86's; other processors have the name of their architecture. */
static void find_cpu(char *name, size_t size)
{
    char line[256];
    struct utsname system;
    snprintf(name, size, "%s", uname(&system) == 0 ? system.machine : "unknown");
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && fgets(line, sizeof line, file)) {
        const char *text = strchr(line, ':');
        if (strncmp(line, "model name", strlen("model name")) != 0 || !text)
            continue;
        line[strcspn(line, "\n")] = '\0';
        snprintf(name, size, "%s", text + 1 + strspn(text + 1, " \t"));
        break;
    }
    if (file)
        fclose(file);
}

void ts_rates_here(struct rates *rates)
{
    cpu_set_t set;
    *rates = (struct rates){.threads =
                                sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1};
    snprintf(rates->version, sizeof rates->version, "%s", ts_version());
    find_cpu(rates->cpu, sizeof rates->cpu);
    for (int i = 0; i < RATES; i++)
        rates->values[i] = NAN;
}

bool ts_rates_add(struct rates *rates, const struct stage_rate *rate)
{
    if (rates->n_stages == RATES_MOST_STAGES)
        return false;
    rates->stages[rates->n_stages++] = *rate;
    return true;
}

const struct stage_rate *ts_rates_find(const struct rates *rates, const char *stage, bool cuda)
{
    for (int i = 0; i < rates->n_stages; i++)
        if (rates->stages[i].cuda == cuda && !strcmp(rates->stages[i].stage, stage))
            return &rates->stages[i];
    return NULL;
}
