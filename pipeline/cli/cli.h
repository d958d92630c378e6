/* SPDX-License-Identifier: Apache-2.0
 *
 * The program's commands: a table each, in a file each (pipeline/cli_<name>.c); main.c lists them. Only these files
 * print, read the command line or choose an exit code.
 */
#ifndef PIPELINE_CLI_CLI_H
#define PIPELINE_CLI_CLI_H

#include <getopt.h>

#include "core/diag.h"

struct cli_command {
    const char *name;
    const char *usage;                 /* what follows the name: "CHAIN [options]" */
    const char *summary;               /* one line */
    const char *help;                  /* the rest of --help, lines ending in \n; "" for none */
    void (*more_help)(FILE *stream);   /* what only a table knows (names of phantoms); NULL: nothing */
    int (*run)(int argc, char **argv); /* argv[0] is the command's name; returns the exit code */
    const char *stopped;               /* ends the sentence about a signal: "; nothing was written"; NULL: nothing */
};

extern const struct cli_command ts_cli_run, ts_cli_check, ts_cli_stages, ts_cli_schema, ts_cli_info, ts_cli_phantom,
    ts_cli_preview, ts_cli_plot, ts_cli_verify, ts_cli_bench, ts_cli_doctor;

/* Exit codes: enum ts_status up to 3, and this for a command line that is wrong. */
enum { CLI_WRONG = TS_BAD_CHAIN };

/* getopt_long with every option's long name in `options` (val: what is returned; short letters in `letters`).
 * -1: no more; '?': the option is wrong, which has been said; 0: --help was asked for and printed. */
int ts_cli_option(const struct cli_command *command, int argc, char **argv, const char *letters,
                  const struct option *options);
/* Looks for --json among all arguments, wrong ones too: from then on ts_cli_wrong also prints JSON. Returns whether it
 * is there. */
bool ts_cli_json_find(int argc, char **argv);
/* What a command made, for the sentence about standard output that failed: it exists nevertheless. */
void ts_cli_written(const char *path);
/* fflush(stdout) that remembers why it failed. */
void ts_cli_flush(void);
/* Sees that what was printed reached standard output, and says on stderr why it did not. Returns `code`, or
 * TS_RUN_FAILED in place of 0. */
int ts_cli_output_end(int code);
/* One sentence on stderr that names the command (NULL: none), and with --json the same as a diagnostic in JSON on
 * stdout; returns CLI_WRONG. */
int ts_cli_wrong(const struct cli_command *command, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same for a stage that does not exist, with the nearest name. */
int ts_cli_wrong_stage(const struct cli_command *command, const char *name);
/* True where exactly `n` arguments follow the options; says what is wrong otherwise. `what` names them: "a PATH". */
bool ts_cli_operands(const struct cli_command *command, int argc, char **argv, int n, const char *what);
/* The page of --help. */
void ts_cli_help(const struct cli_command *command, FILE *stream);

/* "512M", "2GiB", "1048576": K, M, G, T (KiB, MiB, ...) are powers of 1024. False for anything else, 0 and overflow. */
bool ts_cli_parse_size(const char *text, int64_t *bytes);
/* A decimal integer in [low, high] and nothing else. */
bool ts_cli_parse_integer(const char *text, int64_t low, int64_t high, int64_t *value);
/* "12.3 MiB" */
const char *ts_cli_format_bytes(double bytes, char *out, size_t size);

/* Prints the records (stderr; as JSON lines on stdout), destroys the diag and returns the exit code of `status`. A
 * failure without a record is reported too. */
int ts_cli_finish_take(struct ts_diag *diag, enum ts_status status, bool json);
/* A diag, or NULL after saying that memory is out (with --json on stdout too). */
struct ts_diag *ts_cli_diag(void);

/* ---- run and check --------------------------------------------------------------------------- */

enum { CLI_MAX_SETS = 256 };

struct cli_chain {
    const char *chain, *input, *output;
    const char *picture; /* of check; NULL: none */
    const char *sets[CLI_MAX_SETS];
    int n_sets;
    struct ts_options options;
    bool quiet, json;
};

extern const char ts_cli_chain_options[]; /* their part of --help */
/* Reads the command line; TS_OK, or the exit code is in *code (0 after --help). */
bool ts_cli_chain_arguments(const struct cli_command *command, int argc, char **argv, struct cli_chain *arguments,
                            int *code);
/* The chain of the file or of the one-line form, with -i, -o and --set in it. */
enum ts_status ts_cli_chain_load(const struct cli_chain *arguments, struct ts_chain **chain, struct ts_diag *diag);

#endif
