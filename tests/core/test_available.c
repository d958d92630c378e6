/* SPDX-License-Identifier: Apache-2.0
 *
 * Limits of memory and processors, out of trees of files as control groups of both versions have
 * them, and out of the environment of a Slurm step.
 */
#include <criterion/criterion.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/available.h"
#include "tests/support/folders.h"

static char root[256];

static void begin(void)
{
    ts_test_folder(root, sizeof root);
}

static void end(void)
{
    ts_test_remove_folder(root);
}

TestSuite(available, .init = begin, .fini = end);

/* Writes a file of the tree, with the folders above it. */
static void put(const char *path, const char *text)
{
    char full[512];
    snprintf(full, sizeof full, "%s/%s", root, path);
    for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = '\0';
        mkdir(full, 0777);
    }
    FILE *file = fopen(full, "w");
    cr_assert(file && fputs(text, file) >= 0 && fclose(file) == 0, "%s", full);
}

Test(available, without_groups_nothing_is_limited)
{
    cr_assert_eq(ts_memory_of_groups(root), INT64_MAX);
    put("proc/self/cgroup", "0::/user.slice\n");
    put("sys/fs/cgroup/user.slice/memory.max", "max\n");
    cr_assert_eq(ts_memory_of_groups(root), INT64_MAX);
}

/* The step has no limit of its own, the job above it has one, and caches of files are given
 * back. */
Test(available, second_version_takes_the_least_of_all_above)
{
    put("proc/self/cgroup", "0::/slurm/job_7/step_0\n");
    put("sys/fs/cgroup/slurm/job_7/step_0/memory.max", "max\n");
    put("sys/fs/cgroup/slurm/job_7/memory.max", "1000000\n");
    put("sys/fs/cgroup/slurm/job_7/memory.current", "400000\n");
    put("sys/fs/cgroup/slurm/job_7/memory.stat", "anon 7\ninactive_file 300000\nactive_file 9\n");
    put("sys/fs/cgroup/slurm/memory.max", "5000000\n");
    cr_assert_eq(ts_memory_of_groups(root), 900000);
    put("sys/fs/cgroup/memory.max", "700000\n");
    cr_assert_eq(ts_memory_of_groups(root), 700000);
}

Test(available, first_version_has_a_mount_of_its_own)
{
    put("proc/self/cgroup",
        "9:name=systemd:/\n4:cpu,memory:/elsewhere\n5:memory:/slurm/uid_0/job_7\n1:cpu:/other\n");
    put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    cr_assert_eq(ts_memory_of_groups(root), INT64_MAX);
    put("sys/fs/cgroup/memory/slurm/uid_0/job_7/memory.limit_in_bytes", "800000\n");
    put("sys/fs/cgroup/memory/slurm/uid_0/job_7/memory.usage_in_bytes", "250000\n");
    put("sys/fs/cgroup/memory/slurm/uid_0/job_7/memory.stat",
        "inactive_file 1\ntotal_inactive_file 50000\n");
    cr_assert_eq(ts_memory_of_groups(root), 600000);
}

/* A container sees its own group as the mount, under another name than the machine gives it. */
Test(available, group_that_is_not_below_the_mount)
{
    put("proc/self/cgroup", "0::/docker/1234\n");
    put("sys/fs/cgroup/memory.max", "300000\n");
    put("sys/fs/cgroup/memory.current", "400000\n");
    cr_assert_eq(ts_memory_of_groups(root), 1, "a group that is full has hardly anything left");
}

/* Each period of 100 ms gives 150 ms of time: two processors, of which one is idle half of it. */
Test(available, quota_of_time_in_the_second_version)
{
    cr_assert_eq(ts_processors_of_groups(root), INT_MAX);
    put("proc/self/cgroup", "0::/slurm/job_7\n");
    put("sys/fs/cgroup/slurm/job_7/cpu.max", "max 100000\n");
    cr_assert_eq(ts_processors_of_groups(root), INT_MAX);
    put("sys/fs/cgroup/slurm/cpu.max", "150000 100000\n");
    cr_assert_eq(ts_processors_of_groups(root), 2);
    put("sys/fs/cgroup/slurm/job_7/cpu.max", "50000 100000\n");
    cr_assert_eq(ts_processors_of_groups(root), 1);
    put("sys/fs/cgroup/slurm/job_7/cpu.max", "nonsense\n");
    cr_assert_eq(ts_processors_of_groups(root), 2);
    put("sys/fs/cgroup/slurm/cpu.max", "-5 0\n");
    cr_assert_eq(ts_processors_of_groups(root), INT_MAX);
}

Test(available, quota_of_time_in_the_first_version)
{
    put("proc/self/cgroup", "9:cpuset:/other\n4:cpuacct,cpu:/docker/1234\n5:memory:/elsewhere\n");
    put("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
    put("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    cr_assert_eq(ts_processors_of_groups(root), INT_MAX);
    put("sys/fs/cgroup/cpu/docker/1234/cpu.cfs_quota_us", "400000\n");
    put("sys/fs/cgroup/cpu/docker/1234/cpu.cfs_period_us", "100000\n");
    put("sys/fs/cgroup/cpuset/other/cpu.cfs_quota_us", "1\n");
    cr_assert_eq(ts_processors_of_groups(root), 4);
    /* A mount may have the names of both controllers that it is for. */
    put("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "300000\n");
    put("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    cr_assert_eq(ts_processors_of_groups(root), 3);
}

/* The last of 16,384 processors counts, of which a cpu_set_t has 1,024. */
Test(available, processors_of_a_large_set)
{
    unsigned char set[AVAILABLE_SET_BYTES] = {0};
    const int quota = ts_processors_of_groups("");
    cr_assert_eq(ts_processors_of_set(set), 1, "there is one at least");
    memset(set, 0xFF, sizeof set);
    cr_assert_eq(ts_processors_of_set(set),
                 quota < 8 * AVAILABLE_SET_BYTES ? quota : 8 * AVAILABLE_SET_BYTES);
    memset(set, 0, sizeof set - 1);
    cr_assert_eq(ts_processors_of_set(set), quota < 8 ? quota : 8);
}

Test(available, job_of_slurm)
{
    unsetenv("SLURM_MEM_PER_NODE");
    unsetenv("SLURM_MEM_PER_CPU");
    cr_assert_eq(ts_memory_of_job(), INT64_MAX);
    setenv("SLURM_MEM_PER_CPU", "100", 1);
    setenv("SLURM_CPUS_ON_NODE", "4", 1);
    cr_assert_eq(ts_memory_of_job(), INT64_C(400) << 20);
    setenv("SLURM_MEM_PER_NODE", "30", 1);
    cr_assert_eq(ts_memory_of_job(), INT64_C(30) << 20);
    cr_assert_leq(ts_memory_available(), INT64_C(30) << 20);
    setenv("SLURM_MEM_PER_NODE", "9223372036854775807", 1);
    cr_assert_eq(ts_memory_of_job(), INT64_MAX);
    setenv("SLURM_MEM_PER_NODE", "much", 1);
    setenv("SLURM_MEM_PER_CPU", "0", 1);
    cr_assert_eq(ts_memory_of_job(), INT64_MAX);
}

Test(available, processors_of_a_task)
{
    cpu_set_t one, all;
    cr_assert_eq(sched_getaffinity(0, sizeof all, &all), 0);
    const int quota = ts_processors_of_groups(""),
              most = CPU_COUNT(&all) < quota ? CPU_COUNT(&all) : quota;
    unsetenv("SLURM_CPUS_PER_TASK");
    cr_assert_eq(ts_processors(), most);
    setenv("SLURM_CPUS_PER_TASK", "100000", 1);
    cr_assert_eq(ts_processors(), most);
    setenv("SLURM_CPUS_PER_TASK", "1", 1);
    cr_assert_eq(ts_processors(), 1);
    unsetenv("SLURM_CPUS_PER_TASK");
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &all))
            CPU_SET(i, &one);
    cr_assert_eq(sched_setaffinity(0, sizeof one, &one), 0);
    cr_assert_eq(ts_processors(), 1);
}
