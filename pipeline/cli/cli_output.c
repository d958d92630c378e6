/* SPDX-License-Identifier: Apache-2.0
 *
 * What all commands share: options, numbers and sizes, help, diagnostics at the end.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/cli/cli.h"
#include "stages/engine/stage.h"

static const char exit_codes[] = "exit codes: 0 done, 1 the run failed, 2 the chain or the command line is wrong,\n"
                                 "            3 the input is wrong, 128+N stopped by signal N\n";

void ts_cli_help(const struct cli_command *command, FILE *stream)
{
    fprintf(stream, "usage: tomostage %s %s\n\n%s\n", command->name, command->usage, command->summary);
    if (*command->help)
        fprintf(stream, "\n%s", command->help);
    if (command->more_help)
        command->more_help(stream);
    fprintf(stream, "\n  -h, --help              this page\n\n%s", exit_codes);
}

/* Kept here, as getopt keeps its own place: an error can come before the option is read. */
static bool json_asked;

/* getopt takes a long option's first letters for it. */
bool ts_cli_json_find(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        json_asked = json_asked || (strlen(argv[i]) > 2 && !strncmp("--json", argv[i], strlen(argv[i])));
    return json_asked;
}

/* errno of the first write to standard output that failed, -1 where it is not known. */
static int output_error;
static char written[4096];

void ts_cli_written(const char *path)
{
    ts_text_escape(written, sizeof written, path);
}

void ts_cli_flush(void)
{
    errno = 0;
    if ((fflush(stdout) != 0 || ferror(stdout)) && !output_error)
        output_error = errno ? errno : -1;
}

int ts_cli_output_end(int code)
{
    ts_cli_flush();
    if (!output_error)
        return code;
    fprintf(stderr, "tomostage: standard output could not be written: %s%s%s%s\n",
            output_error > 0 ? strerror(output_error) : "a part of it was lost", *written ? "; " : "", written,
            *written ? " is written and whole" : "");
    return code == 0 ? TS_RUN_FAILED : code;
}

static void print_wrong_json(const char *message)
{
    struct ts_diag *diag = ts_cli_diag();
    if (!diag)
        return;
    ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "command-line"}, "%s", message);
    ts_diag_print_json(diag, stdout);
    ts_diag_destroy(diag);
}

int ts_cli_wrong(const struct cli_command *command, const char *format, ...)
{
    char message[2048], shown[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    ts_text_escape(shown, sizeof shown, message);
    fprintf(stderr, "tomostage%s%s: %s\n", command ? " " : "", command ? command->name : "", shown);
    if (json_asked)
        print_wrong_json(message);
    return CLI_WRONG;
}

int ts_cli_wrong_stage(const struct cli_command *command, const char *name)
{
    const char *names[256];
    size_t n = 0;
    for (const struct stage *const *stage = ts_stages; *stage && n < sizeof names / sizeof *names; stage++)
        names[n++] = (*stage)->name;
    const char *nearest = ts_nearest_name(name, names, n);
    return nearest ? ts_cli_wrong(command, "unknown stage '%s'; did you mean '%s'?", name, nearest)
                   : ts_cli_wrong(command, "unknown stage '%s'; 'tomostage stages' lists them", name);
}

static int unknown_option(const struct cli_command *command, const char *text, const struct option *options)
{
    const char *names[64];
    char name[80];
    size_t n = 0;
    for (const struct option *option = options; option->name && n < sizeof names / sizeof *names; option++)
        names[n++] = option->name;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(text, "="), text);
    const char *nearest = strncmp(name, "--", 2) == 0 ? ts_nearest_name(name + 2, names, n) : NULL;
    if (nearest)
        ts_cli_wrong(command, "unknown option '%s'; did you mean '--%s'?", name, nearest);
    else
        ts_cli_wrong(command, "unknown option '%s'; 'tomostage %s --help' lists the options", name, command->name);
    return '?';
}

static const char *name_of(int value, const struct option *options)
{
    for (; options->name; options++)
        if (options->val == value)
            return options->name;
    return "";
}

int ts_cli_option(const struct cli_command *command, int argc, char **argv, const char *letters,
                  const struct option *options)
{
    char text[8];
    const char *current = argv[optind < argc ? optind : argc - 1];
    opterr = 0;
    const int value = getopt_long(argc, argv, letters, options, NULL);
    switch (value) {
    case 'h':
        ts_cli_help(command, stdout);
        return 0;
    case ':':
        ts_cli_wrong(command, "option '--%s' needs a value", name_of(optopt, options));
        return '?';
    case '?':
        /* optopt is the letter of a short option, the value of a long one that takes none, 0 for an unknown long one.
         */
        if (optopt && *name_of(optopt, options)) {
            ts_cli_wrong(command, "option '--%s' takes no value", name_of(optopt, options));
            return '?';
        }
        snprintf(text, sizeof text, "-%c", optopt);
        return unknown_option(command, optopt ? text : argv[optind - 1] ? argv[optind - 1] : current, options);
    default:
        return value;
    }
}

bool ts_cli_operands(const struct cli_command *command, int argc, char **argv, int n, const char *what)
{
    if (argc - optind == n)
        return true;
    if (argc - optind < n)
        ts_cli_wrong(command, "%s is missing: tomostage %s %s", what, command->name, command->usage);
    else
        ts_cli_wrong(command, "'%s' is one argument too many: tomostage %s %s", argv[optind + n], command->name,
                     command->usage);
    return false;
}

bool ts_cli_parse_integer(const char *text, int64_t low, int64_t high, int64_t *value)
{
    char *end;
    if (!isdigit((unsigned char)*text) && !(*text == '-' && isdigit((unsigned char)text[1])))
        return false;
    errno = 0;
    const long long parsed = strtoll(text, &end, 10);
    if (errno || *end || parsed < low || parsed > high)
        return false;
    *value = parsed;
    return true;
}

bool ts_cli_parse_size(const char *text, int64_t *bytes)
{
    static const char *const units[] = {"", "K", "M", "G", "T", "B", "KiB", "MiB", "GiB", "TiB"};
    char *end;
    if (!isdigit((unsigned char)*text))
        return false;
    errno = 0;
    const long long number = strtoll(text, &end, 10);
    if (errno || number <= 0)
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        const int shift = 10 * (int)(i % 5);
        if (strcmp(end, units[i]) != 0)
            continue;
        if (number > INT64_MAX >> shift)
            return false;
        *bytes = (int64_t)number << shift;
        return true;
    }
    return false;
}

const char *ts_cli_format_bytes(double bytes, char *out, size_t size)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"};
    size_t unit = 0;
    while (bytes >= 1024 && unit + 1 < sizeof units / sizeof *units) {
        bytes /= 1024;
        unit++;
    }
    snprintf(out, size, unit == 0 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
    return out;
}

struct ts_diag *ts_cli_diag(void)
{
    struct ts_diag *diag = ts_diag_create();
    if (diag)
        return diag;
    fputs("tomostage: error: out of memory\n", stderr);
    if (json_asked)
        puts("{\"event\": \"diagnostic\", \"severity\": \"error\", \"code\": \"no-memory\", "
             "\"message\": \"out of memory\", \"exit_code\": 1}");
    return NULL;
}

int ts_cli_finish_take(struct ts_diag *diag, enum ts_status status, bool json)
{
    if (status != TS_OK && status != TS_STOPPED && ts_diag_error_count(diag) == 0)
        ts_diag_error(diag, status, &(struct diag_site){.code = "no-reason"},
                      "failed, and no reason was recorded; memory may have run out");
    if (json)
        ts_diag_print_json(diag, stdout);
    else
        ts_diag_print(diag, stderr);
    ts_diag_destroy(diag);
    return (int)status;
}
