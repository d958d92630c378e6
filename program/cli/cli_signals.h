/* SPDX-License-Identifier: Apache-2.0
 *
 * SIGINT, SIGTERM, SIGHUP and SIGQUIT end every command with 128 + their number and one sentence on
 * stderr, and with
 * --json a record on stdout. Those that are ignored when the program starts, as nohup does it, stay
 * ignored.
 */
#ifndef PROGRAM_CLI_CLI_SIGNALS_H
#define PROGRAM_CLI_CLI_SIGNALS_H

#include <stdbool.h>

#define CLI_CLEAR_LINE "\r\033[K" /* empties the line of a terminal */

struct ts_plan;

/* Blocks these signals from now on, also across the execve() of core/omp_wait.h. main() calls it
 * first. */
void ts_cli_signals_hold(void);
/* Sets the handlers and unblocks the signals but SIGUSR1. `argv` is the program's own. `then` is a
 * literal that ends the sentence, such as "; nothing was written"; NULL: none. */
void ts_cli_signals_catch(char **argv, const char *then, bool json);
/* Unblocks SIGUSR1. Where the run `pauses`, which has a checkpoint, the signal pauses its plan from
 * now on, and the sentence about another signal names --resume. Elsewhere it ends the program as
 * the others do. */
void ts_cli_signals_catch_pause(bool pauses);
/* Starts the CUDA driver in a thread (cuda/device/device.h). Where the driver crashes, the program
 * starts anew with the same arguments and asks the driver in a process of its own, which makes an
 * ordinary error of it. */
void ts_cli_signals_start_cuda(void);
/* From now on signals stop the plan, and the command ends on its ordinary way. */
void ts_cli_signals_plan(struct ts_plan *plan);
/* Call it when the plan is over. From now on a signal gives the program one second to finish by
 * itself. `written` is true where the output has its name. */
void ts_cli_signals_plan_ended(bool written);
/* Removes what the plan that runs has under temporary names, for a process that ends at once.
 * Async-signal-safe. */
void ts_cli_signals_abandon(void);
/* From now on a signal is only remembered: the command looks for it with ts_cli_signals_came, and
 * ends by itself within one second, or the seconds of an alarm() that it sets then. */
void ts_cli_signals_remember(void);
/* Returns true where a signal has come since the plan ran, or since signals are remembered: what
 * still works or shows its result is to end. */
bool ts_cli_signals_came(void);
/* Tells whether a line of progress stands on the terminal, in place of which the sentence is
 * printed then. */
void ts_cli_signals_line(bool stands);
/* Prints the sentence for the signal that stopped the plan; returns the exit code.
 * Async-signal-safe. */
int ts_cli_signals_stopped(void);

#endif
