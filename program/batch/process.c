/* SPDX-License-Identifier: Apache-2.0
 *
 * exec() resets caught signals by itself; only the mask of blocked ones has to be emptied.
 */
#include "program/batch/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pipeline/fleet/ranks/ranks.h"

bool ts_process_find(char path[PATH_MAX])
{
    char here[PATH_MAX - sizeof "/../tomostage"];
    const ssize_t length = readlink("/proc/self/exe", here, sizeof here - 1);
    here[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(here, '/');
    if (!slash)
        return false;
    *slash = '\0';
    snprintf(path, PATH_MAX, "%s/tomostage", here);
    if (access(path, X_OK) != 0)
        snprintf(path, PATH_MAX, "%s/../tomostage", here);
    return true;
}

int ts_process_start(const char *path, char *const *arguments, int errors, int kept, pid_t *pid)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none;
    char **environment = ts_ranks_environment_of_none();
    if (!environment)
        return ENOMEM;
    sigemptyset(&none);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&files, errors, STDERR_FILENO);
    if (kept >= 0) /* duplicating it onto itself clears close-on-exec in the new process only */
        posix_spawn_file_actions_adddup2(&files, kept, kept);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    const int error = posix_spawn(pid, path, &files, &attributes, arguments, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    free(environment);
    return error;
}
