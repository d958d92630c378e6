/* SPDX-License-Identifier: Apache-2.0
 *
 * tomostage-study, which `tomostage study` starts with its whole command line. It brings what the
 * studies compare with beside the oracles, cub, and the screen of the study display.
 */
#include <string.h>

#include "core/omp_wait.h"
#include "io/sandbox/sandbox.h"
#include "lab/cuda/fan_in_study.h"
#include "lab/study/study.h"
#ifdef TS_HAVE_EGL
#include "program/show/window_egl.h"
#endif

int main(int argc, char **argv)
{
    ts_omp_wait_asleep(argv);
    (void)ts_sandbox_begin();
    ts_command_json_find(argc, argv);
#ifdef TS_HAVE_CUDA
    ts_study_use_peer(&ts_peer_cub_reductions);
#endif
#ifdef TS_HAVE_EGL
    ts_study_use_screen(&ts_egl_screen);
#endif
    const int named = argc > 1 && !strcmp(argv[1], ts_study_command.name);
    return ts_command_output_end(ts_command_run(&ts_study_command, argc - named, argv + named));
}
