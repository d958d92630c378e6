/* SPDX-License-Identifier: Apache-2.0
 *
 * SIGINT, SIGTERM, SIGHUP and SIGQUIT end every command with 128 + their number and one sentence on
 * stderr, and with --json a record on stdout. A signal that is ignored when the program starts, as
 * under nohup, stays ignored.
 */
#ifndef PROGRAM_CLI_CLI_SIGNALS_H
#define PROGRAM_CLI_CLI_SIGNALS_H

#include <stdbool.h>

#define CLI_CLEAR_LINE "\r\033[K" /* erases the line of a terminal */

struct ts_plan;

/* Blocks these signals from now on, also across the execve() of core/omp_wait.h. main() calls it
 * first. */
void ts_cli_signals_hold(void);
/* Sets the handlers and unblocks the signals except SIGUSR1. `argv` is the program's own. `then` is
   a literal that ends the sentence, such as "; nothing was written"; NULL: none. */
void ts_cli_signals_catch(char **argv, const char *then, bool json);
/* Unblocks SIGUSR1. If `pauses`, the run has a checkpoint: the signal then pauses its plan, and the
   sentence about other signals names --resume. Otherwise it ends the program like the others. */
void ts_cli_signals_catch_pause(bool pauses);
/* Starts the CUDA driver in a thread (cuda/device/device.h). If the driver crashes, the program
   starts again with the same arguments and asks the driver in a separate process, so that the crash
   becomes an ordinary error. */
void ts_cli_signals_start_cuda(void);
/* From now on signals stop the plan, and the command ends in the ordinary way. */
void ts_cli_signals_plan(struct ts_plan *plan);
/* Must be called when the plan is over. From now on the program has one second to finish after a
   signal. `written` is true if the output has its name. */
void ts_cli_signals_plan_ended(bool written);
/* Removes the temporary files of the plan that runs, before the process ends at once.
   Async-signal-safe. */
void ts_cli_signals_abandon(void);
/* From now on a signal is only remembered. The command must check ts_cli_signals_came and end
   within one second, or within the seconds of an alarm() that it sets then. */
void ts_cli_signals_remember(void);
/* Returns true if a signal has come since the plan ran, or since signals are remembered; the
   command must then end. */
bool ts_cli_signals_came(void);
/* Tells if a line of progress is on the terminal; the sentence then replaces it. */
void ts_cli_signals_line(bool stands);
/* Prints the sentence for the signal that stopped the plan. Returns the exit code.
   Async-signal-safe. */
int ts_cli_signals_stopped(void);

#endif
