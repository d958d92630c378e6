/* SPDX-License-Identifier: Apache-2.0
 *
 * Linux estimates it as MemAvailable in /proc/meminfo: free memory and what caches could give back.
 */
#include "core/available.h"

#include <stdio.h>

int64_t ts_memory_available(void)
{
    char line[128];
    long long kibibytes = 0;
    FILE *file = fopen("/proc/meminfo", "re");
    while (file && kibibytes == 0 && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %lld kB", &kibibytes) != 1)
            kibibytes = 0;
    if (file)
        fclose(file);
    return (int64_t)kibibytes << 10;
}
