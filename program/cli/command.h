/* SPDX-License-Identifier: Apache-2.0
 *
 * The commands of the programs share this code. A command and its options are tables; from them
 * this file reads the command line, prints the page of --help, and reports in one sentence what is
 * wrong. Three programs have commands: tomostage (program/cli), and tomostage-bench and
 * tomostage-study (lab/), to which it hands over. Only the files of commands print, read the
 * command line or choose an exit code; they are part of the programs, not of the library.
 */
#ifndef PROGRAM_CLI_COMMAND_H
#define PROGRAM_CLI_COMMAND_H

#include "core/diag.h"

struct command;
struct command_option;

/* Writes the option's value into the command's arguments; false after it has reported with
 * ts_command_wrong why not. */
typedef bool command_parse(const struct command *command, const struct command_option *option,
                           const char *value);

/* These lines about exit codes end each page of --help. */
extern const char ts_command_exit_codes[];

enum option_kind {
    OPTION_FLAG,    /* a bool, which becomes true; the option has no value */
    OPTION_TEXT,    /* a const char * into the command line */
    OPTION_INTEGER, /* an int or an int64_t from low to high */
    OPTION_REAL,    /* a double, finite and not negative */
    OPTION_BYTES,   /* an int64_t: see parse_size */
    OPTION_PARSED   /* parse() reads the value */
};

struct command_option {
    const char *name; /* the long form, without its dashes */
    char letter;      /* the short form; 0: none */
    enum option_kind kind;
    size_t offset, size; /* where the value stands in the command's arguments: OPTION_AT */
    const char *value;   /* names the value on the page of --help, such as "FILE" */
    const char *help;    /* a sentence for that page, whose lines are parted by \n; NULL: the page
                            leaves it out */
    int64_t low, high;
    const char *unit; /* unit of an integer, such as " pixels"; NULL: none */
    command_parse *parse;
};
#define OPTION_AT(type, member) offsetof(type, member), sizeof(((type *)0)->member)

struct command {
    const char *program; /* that has the command; NULL: tomostage */
    const char *name;
    const char *usage;   /* follows the name: "CHAIN [options]" */
    const char *summary; /* one line */
    const char *help; /* paragraphs of --help above the options, lines ending in \n; NULL: none */
    const struct command_option *options;
    size_t n_options;
    void *arguments; /* where options write their values; holds the defaults at first */
    struct {
        int least, most;
        const char *name;            /* how a missing one is called: "a PATH" */
    } operands;                      /* arguments that follow the options */
    void (*more_help)(FILE *stream); /* prints what only a table knows, such as the names of
                                        phantoms; NULL: nothing */
    int (*run)(char **operands);     /* NULL ends the operands; returns the exit code. NULL: `apart`
                                        alone has it */
    const char
        *stopped; /* ends the sentence about a signal: "; nothing was written"; NULL: nothing */
    const struct command
        *inner; /* is meant where the first operand is the last word of its name: "bench runs" */
    /* A program beside this one that is given this command: tomostage-bench, tomostage-study, or
     * tomostage-view, which opens windows, where it is installed. NULL: there is none. */
    const char *apart;
    const char *apart_for; /* only with this option: "--view"; NULL: always */
};
/* The options of a command, and the variable that they write to. */
#define COMMAND_ARGUMENTS(rows, variable)                                                          \
    .options = (rows), .n_options = sizeof(rows) / sizeof *(rows), .arguments = &(variable)

/* A command line that is wrong has the exit code of a chain that is wrong; others are those of enum
 * ts_status. */
enum { COMMAND_WRONG = TS_BAD_CHAIN };

/* Reads the command line, whose argv[0] is the command's name, and runs the command. Returns the
 * exit code. */
int ts_command_run(const struct command *command, int argc, char **argv);
/* Becomes the program of this program's folder that runs the command apart, with the same
 * arguments. Returns where the command is not run apart, where that program is not there, and where
 * this is that program. */
void ts_command_hand_over(const struct command *command, char **argv);

/* ---- what is wrong, and what was printed ----------------------------------------------------- */

/* Looks for --json among all arguments, wrong ones too: from then on ts_command_wrong also prints
 * JSON. Returns whether it is there. */
bool ts_command_json_find(int argc, char **argv);
/* Prints one sentence on stderr that names the command (NULL: none), and with --json the same as a
 * diagnostic in JSON on stdout; returns COMMAND_WRONG. */
int ts_command_wrong(const struct command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same for a name of a kind ("command", "stage") that none of the n names is, with the nearest
 * of them or else with `otherwise`, which names the command that lists them. */
int ts_command_wrong_name(const struct command *command, const char *kind, const char *name,
                          const char *const *names, size_t n, const char *otherwise);
/* Does the same for a stage that does not exist. */
int ts_command_wrong_stage(const struct command *command, const char *name);
/* Does the same for an operand too many. */
int ts_command_too_many(const struct command *command, const char *operand);

/* Refuses (output-is-input) an output that would replace the command's input, or a folder of
 * outputs in which it is. */
enum ts_status ts_command_keep_input(const char *output, const char *input, struct ts_diag *diag);
/* Refuses (output-suffix) an output whose name does not end in the one suffix that the command
 * writes. */
enum ts_status ts_command_check_suffix(const char *path, const char *suffix, struct ts_diag *diag);
/* Names what a command made, for the sentence about standard output that failed: it exists
 * nevertheless. */
void ts_command_written(const char *path);
/* Prints the path and the size of what was written, "wrote PATH: 1.7 MiB", without a line's end; a
 * folder has no size. */
void ts_command_print_written(const char *path);
/* Flushes standard output, and remembers why that failed. */
void ts_command_flush(void);
/* Checks that what was printed reached standard output, and reports on stderr why it did not.
 * Returns `code`, or TS_RUN_FAILED in place of 0. */
int ts_command_output_end(int code);

/* Returns a diag, or NULL after reporting that memory is out (with --json on stdout too). */
struct ts_diag *ts_command_diag(void);
/* Prints the records (stderr; as JSON lines on stdout), destroys the diag and returns the exit code
 * of `status`. A failure without a record is reported too. */
int ts_command_finish_take(struct ts_diag *diag, enum ts_status status, bool json);

/* ---- numbers --------------------------------------------------------------------------------- */

/* Reads a decimal integer in [low, high]. Returns false for anything else. */
bool ts_command_parse_integer(const char *text, int64_t low, int64_t high, int64_t *value);
/* Writes a text such as "12.3 MiB" to `out`, and returns it. */
const char *ts_command_format_bytes(double bytes, char *out, size_t size);

#endif
