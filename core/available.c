/* SPDX-License-Identifier: Apache-2.0
 *
 * Linux estimates what is free as MemAvailable in /proc/meminfo: free memory and what caches could
 * give back. A process that takes more than a control group allows is killed, so the limits of its
 * group and of all above it count; caches of files are in their usage, and given back. The quota of
 * time of a group counts as so many processors. If /proc/self/cgroup names a group that is not
 * below the mount, as in a container, the mount itself is the group.
 */
#include "core/available.h"

#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/number.h"

/* How one version of control groups is read: where its controller is mounted, and which function
 * tells what a group leaves of its limit. */
struct group_files {
    const char *mount, *controller; /* controller is NULL for version 2, which has one group for all
                                     * controllers */
    int64_t (*left)(const char *folder, const struct group_files *files);
    const char *limit, *usage, *cache; /* names of the memory files; cache is the name of a line in
                                        * memory.stat */
};

/* Reads a file of one number. Returns `none` if there is no file, or no number, such as "max". */
static int64_t read_number(const char *folder, const char *name, int64_t none)
{
    char path[PATH_MAX], line[64] = "";
    int64_t value;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "re");
    const bool read = file && fgets(line, sizeof line, file);
    if (file)
        fclose(file);
    line[strcspn(line, "\n")] = '\0';
    return read && !ts_number_integer(line, &value) ? value : none;
}

/* Returns the number in the line of memory.stat that begins with this name, or 0 if there is
 * none. */
static int64_t read_cache(const char *folder, const char *name)
{
    char path[PATH_MAX], line[128], found[64];
    long long value = 0;
    snprintf(path, sizeof path, "%s/memory.stat", folder);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "%63s %lld", found, &value) != 2 || strcmp(found, name) != 0)
            value = 0;
        else
            break;
    if (file)
        fclose(file);
    return value;
}

static int64_t memory_left(const char *folder, const struct group_files *files)
{
    const int64_t limit = read_number(folder, files->limit, INT64_MAX);
    const int64_t usage = read_number(folder, files->usage, 0) - read_cache(folder, files->cache);
    if (limit >= INT64_MAX / 2) /* version 1 writes a huge number for no limit */
        return INT64_MAX;
    if (usage <= 0)
        return limit;
    return usage < limit ? limit - usage : 1;
}

/* Returns true if a comma-separated list such as "cpu,cpuacct" contains this name. */
static bool has_name(const char *list, const char *name)
{
    const size_t length = strlen(name);
    while (list && (strncmp(list, name, length) != 0 || (list[length] && list[length] != ',')))
        list = strchr(list, ',') ? strchr(list, ',') + 1 : NULL;
    return list != NULL;
}

/* Writes the group of the process to `group`: the third field of the controller's line in
 * /proc/self/cgroup. A line with only this controller is preferred to one that lists others,
 * too. */
static void find_group(const char *root, const char *controller, char group[PATH_MAX])
{
    char path[PATH_MAX], line[PATH_MAX + 256];
    bool found = false;
    *group = '\0';
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *file = fopen(path, "re");
    while (file && !found && fgets(line, sizeof line, file)) {
        char *controllers = strchr(line, ':'),
             *at = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!at)
            continue;
        *at++ = '\0';
        at[strcspn(at, "\n")] = '\0';
        found = controller ? !strcmp(controllers + 1, controller)
                           : !strncmp(line, "0:", 2) && !controllers[1];
        if (found || (controller && has_name(controllers + 1, controller)))
            snprintf(group, PATH_MAX, "%s", at);
    }
    if (file)
        fclose(file);
}

/* Returns what the process may still take, in bytes or in processors: the least that its group
 * or a group above it leaves. */
static int64_t left_of(const char *root, const struct group_files *files)
{
    char group[PATH_MAX], folder[2 * PATH_MAX];
    int64_t least = INT64_MAX;
    find_group(root, files->controller, group);
    snprintf(folder, sizeof folder, "%s%s", root, files->mount);
    const size_t mount = strlen(folder);
    if (strcmp(group, "/") != 0)
        snprintf(folder + mount, sizeof folder - mount, "%s", group);
    if (access(folder, F_OK) != 0)
        folder[mount] = '\0';
    /* From the group up to the mount: each turn cuts off the last folder. */
    for (char *slash = folder + strlen(folder); slash && (size_t)(slash - folder) >= mount;
         slash = strrchr(folder, '/')) {
        *slash = '\0';
        const int64_t left = files->left(folder, files);
        least = left < least ? left : least;
    }
    return least;
}

int64_t ts_memory_of_groups(const char *root)
{
    const struct group_files first = {"/sys/fs/cgroup/memory",
                                      "memory",
                                      memory_left,
                                      "memory.limit_in_bytes",
                                      "memory.usage_in_bytes",
                                      "total_inactive_file"},
                             second = {"/sys/fs/cgroup", NULL,           memory_left, "memory.max",
                                       "memory.current", "inactive_file"};
    const int64_t one = left_of(root, &first), two = left_of(root, &second);
    return one < two ? one : two;
}

/* Returns how many processors a quota (microseconds of processor time in each period) is worth. */
static int64_t processors_of(int64_t quota, int64_t period)
{
    return quota > 0 && period > 0 ? quota / period + (quota % period > 0) : INT64_MAX;
}

static int64_t quota_of_first(const char *folder, const struct group_files *files)
{
    (void)files;
    return processors_of(read_number(folder, "cpu.cfs_quota_us", -1),
                         read_number(folder, "cpu.cfs_period_us", -1));
}

/* The file contains the quota, or "max", and then the period. */
static int64_t quota_of_second(const char *folder, const struct group_files *files)
{
    char path[PATH_MAX];
    long long quota = -1, period = -1;
    (void)files;
    snprintf(path, sizeof path, "%s/cpu.max", folder);
    FILE *file = fopen(path, "re");
    const bool read = file && fscanf(file, "%lld %lld", &quota, &period) == 2;
    if (file)
        fclose(file);
    return read ? processors_of(quota, period) : INT64_MAX;
}

int ts_processors_of_groups(const char *root)
{
    const struct group_files all[] = {
        {"/sys/fs/cgroup/cpu", "cpu", quota_of_first, NULL, NULL, NULL},
        {"/sys/fs/cgroup/cpu,cpuacct", "cpu", quota_of_first, NULL, NULL, NULL},
        {"/sys/fs/cgroup", NULL, quota_of_second, NULL, NULL, NULL}};
    int64_t least = INT_MAX;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const int64_t left = left_of(root, &all[i]);
        least = left < least ? left : least;
    }
    return (int)least;
}

/* Returns the number in an environment variable, or 0 if there is no variable of this name. */
static int64_t stated(const char *name)
{
    const char *text = getenv(name);
    int64_t value;
    return text && !ts_number_integer(text, &value) && value > 0 ? value : 0;
}

/* If Slurm has no control groups, it states the limit only in the environment: in MiB for the node,
 * or for each processor that the job has on it. 0 means all memory of the node. */
int64_t ts_memory_of_job(void)
{
    const int64_t node = stated("SLURM_MEM_PER_NODE"), processor = stated("SLURM_MEM_PER_CPU"),
                  processors = stated("SLURM_CPUS_ON_NODE");
    const bool fits = processor > 0 && processors > 0 && processors < (INT64_MAX >> 20) / processor;
    int64_t mebibytes;
    if (node > 0)
        mebibytes = node;
    else
        mebibytes = fits ? processor * processors : 0;
    return mebibytes > 0 && mebibytes <= INT64_MAX >> 20 ? mebibytes << 20 : INT64_MAX;
}

/* A cpu_set_t has 1,024 processors; the kernel refuses a set that is smaller than its own. */
void ts_processors_set(unsigned char set[AVAILABLE_SET_BYTES])
{
    memset(set, 0, AVAILABLE_SET_BYTES);
    if (sched_getaffinity(0, AVAILABLE_SET_BYTES, (cpu_set_t *)(void *)set) != 0)
        set[0] = 1;
}

/* The answer is kept, since every input asks when it begins, and finding it takes a hundred
 * reads. */
static int quota_of_process(void)
{
    static _Atomic int known;
    int quota = known;
    if (quota == 0)
        known = quota = ts_processors_of_groups("");
    return quota;
}

int ts_processors_of_set(const unsigned char set[AVAILABLE_SET_BYTES])
{
    const int quota = quota_of_process();
    int n = 0;
    for (int i = 0; i < AVAILABLE_SET_BYTES; i++)
        n += __builtin_popcount(set[i]);
    return n < 1 ? 1 : n < quota ? n : quota;
}

int ts_processors(void)
{
    _Alignas(cpu_set_t) unsigned char set[AVAILABLE_SET_BYTES];
    ts_processors_set(set);
    const int allowed = ts_processors_of_set(set);
    const int64_t task = stated("SLURM_CPUS_PER_TASK");
    return task > 0 && task < allowed ? (int)task : allowed;
}

static int64_t free_of_machine(void)
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

int64_t ts_memory_available(void)
{
    const int64_t machine = free_of_machine(), groups = ts_memory_of_groups(""),
                  job = ts_memory_of_job();
    const int64_t allowed = groups < job ? groups : job;
    if (machine > 0)
        return machine < allowed ? machine : allowed;
    return allowed < INT64_MAX ? allowed : 0;
}
