/* SPDX-License-Identifier: Apache-2.0
 *
 * What the commands of the programs share. A command and its options are tables. From them this
 * code reads the command line, prints the page of --help, and reports in one sentence what is
 * wrong. Three programs have commands: tomostage (program/cli), and tomostage-bench and
 * tomostage-study (lab/), which tomostage starts for some. Only the files of commands print, read
 * the command line or choose an exit code; they are part of the programs, not of the library.
 */
#ifndef PROGRAM_CLI_COMMAND_H
#define PROGRAM_CLI_COMMAND_H

#include "core/diag.h"

struct command;
struct command_option;

/* Writes the option's value to the command's arguments. Returns false if it is wrong, which it has
   reported with ts_command_wrong. */
typedef bool command_parse(const struct command *command, const struct command_option *option,
                           const char *value);

/* lines about exit codes that end each page of --help */
extern const char ts_command_exit_codes[];

enum option_kind {
    OPTION_FLAG,    /* a bool, which becomes true; there is no value */
    OPTION_TEXT,    /* a const char * to the text in the command line */
    OPTION_INTEGER, /* an int or an int64_t from low to high */
    OPTION_REAL,    /* a double, finite and not negative */
    OPTION_BYTES,   /* an int64_t that parse_size reads */
    OPTION_PARSED   /* parse() reads the value */
};

struct command_option {
    const char *name; /* the long form, without its dashes */
    char letter;      /* the short form; 0: none */
    enum option_kind kind;
    size_t offset, size; /* where the value is in the command's arguments, by OPTION_AT */
    const char *value;   /* what the page of --help calls the value, such as "FILE" */
    /* a sentence for that page, its lines separated by \n; NULL: the page omits the option */
    const char *help;
    int64_t low, high;
    const char *unit; /* unit of an integer, such as " pixels"; NULL: none */
    command_parse *parse;
};
#define OPTION_AT(type, member) offsetof(type, member), sizeof(((type *)0)->member)

struct command {
    const char *program; /* program that has the command; NULL: tomostage */
    const char *name;
    const char *usage;   /* follows the name: "CHAIN [options]" */
    const char *summary; /* one line */
    const char *help; /* paragraphs of --help above the options, lines ending in \n; NULL: none */
    const struct command_option *options;
    size_t n_options;
    void *arguments; /* where options write their values; it holds the defaults at first */
    struct {
        int least, most;
        const char *name;            /* what messages call a missing one: "a PATH" */
    } operands;                      /* the arguments after the options */
    void (*more_help)(FILE *stream); /* prints what only a table knows, such as the names of
                                        phantoms; NULL: nothing */
    /* carries the command out; operands end with NULL; returns the exit code. NULL: only `apart`
       can do it */
    int (*run)(char **operands);
    const char *stopped; /* ends the sentence about a signal, such as "; nothing was written"; NULL:
                            nothing */
    const struct command *inner; /* the command that is meant if the first operand is the last word
                                    of its name, as in "bench runs" */
    /* Program beside this one that carries out this command: tomostage-bench, tomostage-study, or
       tomostage-view, which opens windows, if it is installed. NULL: none. */
    const char *apart;
    const char *apart_for; /* only with this option, such as "--view"; NULL: always */
};
/* The options of a command, and the variable to which they write. */
#define COMMAND_ARGUMENTS(rows, variable)                                                          \
    .options = (rows), .n_options = sizeof(rows) / sizeof *(rows), .arguments = &(variable)

/* A wrong command line has the exit code of a wrong chain; other exit codes are those of enum
   ts_status. */
enum { COMMAND_WRONG = TS_BAD_CHAIN };

/* Takes the options of all commands out of a command line, wherever they are: `--plugin FILE` adds
 * the file to $TOMOSTAGE_PLUGINS, and `--color WHEN` sets CLICOLOR_FORCE or NO_COLOR, so that
 * programs which this one starts have them, too. Returns false if a value is missing or wrong
 * (reported). */
bool ts_command_take_common(int *argc, char **argv);
/* Reads the command line, whose argv[0] is the command's name, and runs the command. Returns the
 * exit code. */
int ts_command_run(const struct command *command, int argc, char **argv);
/* Replaces this process by the command's program `apart`, in this program's folder, with the same
   arguments. Returns if the command has none, if it does not exist, or if this is that program. */
void ts_command_hand_over(const struct command *command, char **argv);

/* ---- what is wrong, and what was printed ----------------------------------------------------- */

/* Looks for --json among all arguments, even wrong ones. If it is there, returns true, and
   ts_command_wrong also prints JSON from then on. */
bool ts_command_json_find(int argc, char **argv);
/* Prints one sentence on stderr that names the command (NULL: none), and with --json also a
   diagnostic in JSON on stdout. Returns COMMAND_WRONG. */
int ts_command_wrong(const struct command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Does the same for a name that is none of the n names of its kind ("command", "stage"). Adds the
   nearest of them, or else `otherwise`, which names the command that lists them. */
int ts_command_wrong_name(const struct command *command, const char *kind, const char *name,
                          const char *const *names, size_t n, const char *otherwise);
/* Does the same for a stage that does not exist. */
int ts_command_wrong_stage(const struct command *command, const char *name);
/* Does the same for an operand that is one too many. */
int ts_command_too_many(const struct command *command, const char *operand);

/* Refuses (output-is-input) an output that would replace the command's input, or the folder that
   contains it. */
enum ts_status ts_command_keep_input(const char *output, const char *input, struct ts_diag *diag);
/* Refuses (output-suffix) an output whose name does not end in the only suffix that the command
   writes. */
enum ts_status ts_command_check_suffix(const char *path, const char *suffix, struct ts_diag *diag);
/* Remembers a file that the command wrote, for the sentence about a failure of standard output: the
   file exists nevertheless. */
void ts_command_written(const char *path);
/* Prints the path and size of what was written, "wrote PATH: 1.7 MiB", without a newline; no size
   for a folder. */
void ts_command_print_written(const char *path);
/* Flushes standard output, and remembers why that failed. */
void ts_command_flush(void);
/* Checks that everything printed reached standard output, and reports on stderr if not. Returns
   `code`, or TS_RUN_FAILED in place of 0. */
int ts_command_output_end(int code);

/* Returns a diag; NULL after reporting that memory is out (with --json also on stdout). */
struct ts_diag *ts_command_diag(void);
/* Prints the records (on stderr, or as JSON lines on stdout), destroys the diag and returns the
   exit code of `status`. Reports a failure without a record, too. */
int ts_command_finish_take(struct ts_diag *diag, enum ts_status status, bool json);

/* ---- numbers --------------------------------------------------------------------------------- */

/* Reads a decimal integer in [low, high]. Returns false for anything else. */
bool ts_command_parse_integer(const char *text, int64_t low, int64_t high, int64_t *value);
/* Writes a size such as "12.3 MiB" to `out`, and returns it. */
const char *ts_command_format_bytes(double bytes, char *out, size_t size);

#endif
