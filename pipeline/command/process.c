/* SPDX-License-Identifier: Apache-2.0
 *
 * exec() gives caught signals their usual effect by itself; only the mask of held ones has to be emptied.
 */
#include "pipeline/command/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

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

/* Returns the environment without what makes a rank of a program, since the one that is started here is none, even
 * where MPI has launched this one. The caller frees the list; NULL where memory is out. */
static char **environment_of_none(void)
{
    static const char *const of_launchers[] = {"OMPI_", "PMIX_", "PMI_"};
    size_t n = 0, kept = 0;
    while (environ[n])
        n++;
    char **list = malloc((n + 1) * sizeof *list);
    for (size_t i = 0; list && i < n; i++) {
        bool rank = false;
        for (size_t k = 0; k < sizeof of_launchers / sizeof *of_launchers; k++)
            rank |= strncmp(environ[i], of_launchers[k], strlen(of_launchers[k])) == 0;
        if (!rank)
            list[kept++] = environ[i];
    }
    if (list)
        list[kept] = NULL;
    return list;
}

int ts_process_start(const char *path, char *const *arguments, int errors, int kept, pid_t *pid)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none;
    char **environment = environment_of_none();
    if (!environment)
        return ENOMEM;
    sigemptyset(&none);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&files, errors, STDERR_FILENO);
    if (kept >= 0) /* onto itself: this clears its close-on-exec in the new process alone */
        posix_spawn_file_actions_adddup2(&files, kept, kept);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    const int error = posix_spawn(pid, path, &files, &attributes, arguments, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    free(environment);
    return error;
}
