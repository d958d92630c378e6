/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a command line by the tables of its command (getopt_long splits it), prints pages of --help
 * from the same tables, and reports what is wrong. Static variables keep what the program remembers
 * between these calls (was --json given? did standard output fail?), since a program has one
 * command line and one standard output.
 */
#include "program/cli/command.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/number.h"
#include "io/file/file_commit.h"
#include "stages/engine/registry.h"

enum { MOST_OPTIONS = 32, LONG_ONLY = 256, HELP_COLUMN = 26 };

/* ---- the page of --help ---------------------------------------------------------------------- */

const char ts_command_exit_codes[] =
    "exit codes: 0 done, 1 the run failed, 2 the chain or the command line is wrong,\n"
    "            3 the input is wrong, 75 stopped at a checkpoint, 128+N stopped by signal N\n";

static const char *program_of(const struct command *command)
{
    return command && command->program ? command->program : "tomostage";
}

static void print_option(const struct command_option *option, FILE *stream)
{
    char form[8] = "    ";
    if (option->letter)
        snprintf(form, sizeof form, "-%c, ", option->letter);
    const int used = fprintf(stream, "  %s--%s%s%s", form, option->name, option->value ? " " : "",
                             option->value ? option->value : "");
    fprintf(stream, "%*s", used < HELP_COLUMN - 1 ? HELP_COLUMN - used : 2, "");
    for (const char *line = option->help; *line;) {
        const size_t length = strcspn(line, "\n");
        fprintf(stream, "%.*s\n%*s", (int)length, line, line[length] ? HELP_COLUMN : 0, "");
        line += length + (line[length] == '\n');
    }
}

/* Prints the page of --help. */
static void print_help(const struct command *command, FILE *stream)
{
    bool any = false;
    fprintf(stream, "usage: %s %s %s\n\n%s\n", program_of(command), command->name, command->usage,
            command->summary);
    if (command->help)
        fprintf(stream, "\n%s", command->help);
    for (size_t i = 0; i < command->n_options; i++)
        if (command->options[i].help) {
            fputs(any ? "" : "\n", stream);
            print_option(&command->options[i], stream);
            any = true;
        }
    if (command->more_help)
        command->more_help(stream);
    if (!command->program)
        fputs("\n      --plugin FILE       stages of a plugin, too; $TOMOSTAGE_PLUGINS names more, "
              "with : between\n"
              "      --color WHEN        colors of messages: auto (default), always or never\n",
              stream);
    fprintf(stream, "%s  -h, --help              this page\n\n%s", command->program ? "\n" : "",
            ts_command_exit_codes);
}

/* ---- what is wrong --------------------------------------------------------------------------- */

static bool json_asked;

/* getopt also accepts the first letters of a long option. */
bool ts_command_json_find(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        json_asked =
            json_asked || (strlen(argv[i]) > 2 && !strncmp("--json", argv[i], strlen(argv[i])));
    return json_asked;
}

static void print_wrong_json(const char *message)
{
    struct ts_diag *diag = ts_command_diag();
    if (!diag)
        return;
    ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "command-line"}, "%s", message);
    ts_diag_print_json(diag, stdout);
    ts_diag_destroy(diag);
}

int ts_command_wrong(const struct command *command, const char *format, ...)
{
    char message[2048], shown[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    ts_text_escape(shown, sizeof shown, message);
    fprintf(stderr, "%s%s%s: %s\n", program_of(command), command ? " " : "",
            command ? command->name : "", shown);
    if (json_asked)
        print_wrong_json(message);
    return COMMAND_WRONG;
}

int ts_command_wrong_name(const struct command *command, const char *kind, const char *name,
                          const char *const *names, size_t n, const char *otherwise)
{
    const char *nearest = ts_nearest_name(name, names, n);
    return nearest ? ts_command_wrong(command, "unknown %s '%s'; did you mean '%s'?", kind, name,
                                      nearest)
                   : ts_command_wrong(command, "unknown %s '%s'; %s", kind, name, otherwise);
}

int ts_command_wrong_stage(const struct command *command, const char *name)
{
    const char *names[256];
    const size_t n = ts_registry_names(NULL, names, sizeof names / sizeof *names);
    return ts_command_wrong_name(command, "stage", name, names, n, "'tomostage stages' lists them");
}

int ts_command_too_many(const struct command *command, const char *operand)
{
    const bool is_chain = command->usage && !strncmp(command->usage, "CHAIN", 5);
    return ts_command_wrong(command, "'%s' is one argument too many: %s %s %s%s", operand,
                            program_of(command), command->name, command->usage,
                            is_chain ? "; a chain on one line stands in quotes" : "");
}

/* Returns true if a file of the folder is this one, under any name. */
static bool folder_has(const char *folder, const char *file)
{
    struct stat wanted, found;
    bool has = false;
    DIR *directory = stat(file, &wanted) == 0 ? opendir(folder) : NULL;
    for (const struct dirent *entry; directory && !has && (entry = readdir(directory)) != NULL;)
        has = fstatat(dirfd(directory), entry->d_name, &found, 0) == 0 &&
              found.st_dev == wanted.st_dev && found.st_ino == wanted.st_ino &&
              S_ISREG(found.st_mode);
    if (directory)
        closedir(directory);
    return has;
}

enum ts_status ts_command_keep_input(const char *output, const char *input, struct ts_diag *diag)
{
    if (!ts_file_is_same(output, input) && !folder_has(output, input))
        return TS_OK;
    ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "output-is-input"},
                  "the output '%s' would replace '%s', which is read", output, input);
    return ts_diag_hint(diag, "give the output another name with -o");
}

enum ts_status ts_command_check_suffix(const char *path, const char *suffix, struct ts_diag *diag)
{
    const size_t n = strlen(path), n_suffix = strlen(suffix);
    if (n > n_suffix && !strcasecmp(path + n - n_suffix, suffix))
        return TS_OK;
    ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "output-suffix"},
                  "'%s' does not end in %s", path, suffix);
    return ts_diag_hint(diag, "-o FILE%s", suffix);
}

static int unknown_option(const struct command *command, const char *text)
{
    const char *names[MOST_OPTIONS], *nearest = NULL;
    char name[80];
    size_t n = 0;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(text, "="), text);
    for (; n < command->n_options; n++)
        names[n] = command->options[n].name;
    if (!strncmp(name, "--", 2))
        nearest = ts_nearest_name(name + 2, names, n);
    return nearest
               ? ts_command_wrong(command, "unknown option '%s'; did you mean '--%s'?", name,
                                  nearest)
               : ts_command_wrong(command, "unknown option '%s'; '%s %s --help' lists the options",
                                  name, program_of(command), command->name);
}

/* ---- commands of other programs -------------------------------------------------------------- */

static char apart_path[4096]; /* path of the program that was to be started */
static int apart_error;       /* errno of that */

static bool is_for_apart(const struct command *command, char **argv)
{
    bool found = command->apart && !command->apart_for;
    for (int i = 0; command->apart && argv[i] && !found; i++)
        found = !strcmp(argv[i], command->apart_for);
    return found;
}

void ts_command_hand_over(const struct command *command, char **argv)
{
    const char *name = command->apart;
    if (!is_for_apart(command, argv))
        return;
    const ssize_t length = readlink("/proc/self/exe", apart_path, sizeof apart_path - 1);
    apart_path[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(apart_path, '/');
    if (slash && strcmp(slash + 1, name) != 0 &&
        (size_t)(slash + 1 - apart_path) + strlen(name) < sizeof apart_path) {
        strcpy(slash + 1, name);
        execv(apart_path, argv);
    }
    apart_error = errno;
}

/* Reports that the program of the command could not be started. */
static int report_apart(const struct command *command)
{
    struct ts_diag *diag = ts_command_diag();
    if (!diag)
        return TS_RUN_FAILED;
    ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "program-missing"},
                  "`tomostage %s` is carried out by %s, which could not be started: %s",
                  command->name, *apart_path ? apart_path : command->apart, strerror(apart_error));
    (void)ts_diag_hint(diag, "%s is built and installed with tomostage; copy it there",
                       command->apart);
    return ts_command_finish_take(diag, TS_RUN_FAILED, json_asked);
}

/* ---- options --------------------------------------------------------------------------------- */

static int code_of(const struct command_option *option, size_t i)
{
    return option->letter ? option->letter : LONG_ONLY + (int)i;
}

/* Returns the option for which getopt_long returns `code`; NULL if that is --help or none. */
static const struct command_option *option_of(const struct command *command, int code)
{
    for (size_t i = 0; i < command->n_options; i++)
        if (code_of(&command->options[i], i) == code)
            return &command->options[i];
    return NULL;
}

/* Writes the command's options in the form of getopt_long, and their short forms to `letters`,
   which begin with a colon so that the caller reports errors. */
static void list_options(const struct command *command, struct option options[MOST_OPTIONS + 2],
                         char letters[2 * MOST_OPTIONS + 3])
{
    size_t length = (size_t)sprintf(letters, ":h"), i = 0;
    for (; i < command->n_options; i++) {
        const struct command_option *option = &command->options[i];
        const bool has_value = option->kind != OPTION_FLAG;
        options[i] = (struct option){option->name, has_value ? required_argument : no_argument,
                                     NULL, code_of(option, i)};
        if (option->letter)
            length +=
                (size_t)sprintf(letters + length, "%c%s", option->letter, has_value ? ":" : "");
    }
    options[i] = (struct option){"help", no_argument, NULL, 'h'};
    options[i + 1] = (struct option){0};
}

static bool parse_integer(const struct command *command, const struct command_option *option,
                          const char *text)
{
    int64_t value;
    void *at = (char *)command->arguments + option->offset;
    if (!ts_command_parse_integer(text, option->low, option->high, &value)) {
        char range[64];
        if (option->high < INT64_MAX)
            snprintf(range, sizeof range, "%lld to %lld", (long long)option->low,
                     (long long)option->high);
        else
            snprintf(range, sizeof range, "%lld on", (long long)option->low);
        ts_command_wrong(command, "'--%s %s' is not a whole number from %s%s", option->name, text,
                         range, option->unit ? option->unit : "");
        return false;
    }
    if (option->size == sizeof value)
        *(int64_t *)at = value;
    else
        *(int *)at = (int)value;
    return true;
}

static bool parse_real(const struct command *command, const struct command_option *option,
                       const char *text)
{
    double value;
    if (ts_number_real(text, &value) || !isfinite(value) || value < 0) {
        ts_command_wrong(command, "'--%s %s' is not a number of at least 0", option->name, text);
        return false;
    }
    *(double *)((char *)command->arguments + option->offset) = value;
    return true;
}

/* Reads a size such as "512M", "2GiB" or "1048576": K, M, G, T (KiB, MiB, ...) are powers of 1024.
 * Returns false for anything else, 0 and overflow. */
static bool parse_size(const char *text, int64_t *bytes)
{
    static const char *const units[] = {"", "K", "M", "G", "T", "B", "KiB", "MiB", "GiB", "TiB"};
    const size_t digits = strspn(text, "0123456789");
    errno = 0;
    const long long number = strtoll(text, NULL, 10);
    if (digits == 0 || errno || number <= 0)
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        const int shift = 10 * (int)(i % 5);
        if (strcmp(text + digits, units[i]) != 0)
            continue;
        if (number > INT64_MAX >> shift)
            return false;
        *bytes = (int64_t)number << shift;
        return true;
    }
    return false;
}

static bool parse_value(const struct command *command, const struct command_option *option,
                        const char *text)
{
    void *at = (char *)command->arguments + option->offset;
    switch (option->kind) {
    case OPTION_FLAG:
        *(bool *)at = true;
        return true;
    case OPTION_TEXT:
        *(const char **)at = text;
        return true;
    case OPTION_INTEGER:
        return parse_integer(command, option, text);
    case OPTION_REAL:
        return parse_real(command, option, text);
    case OPTION_BYTES:
        if (parse_size(text, at))
            return true;
        ts_command_wrong(command, "'--%s %s' is not a size such as 512M, 2GiB or 1048576 (bytes)",
                         option->name, text);
        return false;
    default:
        return option->parse(command, option, text);
    }
}

/* Refuses a second text of an option that has room for one: the first would be lost, such as one of
   two outputs. */
static bool given_twice(const struct command *command, const struct command_option *option,
                        const char *text, const char **before)
{
    const bool chain = option->letter == 'o' && !strcmp(command->name, "run");
    if (option->kind != OPTION_TEXT || !*before || !strcmp(*before, text)) {
        *before = text;
        return false;
    }
    ts_command_wrong(
        command, "'--%s' is given twice, as '%s' and '%s'%s", option->name, *before, text,
        chain ? "; a chain has several outputs: '... | hdf5 r.h5 | nifti r.nii.gz'" : "");
    return true;
}

/* Reports why getopt_long refused an option. `current` is the argument that it read last. */
static int refuse_option(const struct command *command, int code, const char *current)
{
    /* optopt is the letter of a short option, the code of a known long option, or 0 for an unknown
       one. */
    const struct command_option *option = optopt ? option_of(command, optopt) : NULL;
    char letter[8];
    if (code == ':')
        return ts_command_wrong(command, "option '--%s' needs a value", option ? option->name : "");
    if (option || optopt == 'h')
        return ts_command_wrong(command, "option '--%s' takes no value",
                                option ? option->name : "help");
    snprintf(letter, sizeof letter, "-%c", optopt);
    return unknown_option(command, optopt ? letter : current);
}

static bool names_inner(const struct command *command, const char *operand)
{
    return command->inner && !strcmp(operand, strrchr(command->inner->name, ' ') + 1);
}

/* ---- options of all commands -------------------------------------------------------------------
 */

static const char plugins[] = "TOMOSTAGE_PLUGINS";

static bool add_plugin(const char *path)
{
    const char *others = getenv(plugins);
    const size_t bytes = strlen(path) + (others ? strlen(others) : 0) + 2;
    char *list = *path && !strchr(path, ':') ? malloc(bytes) : NULL;
    if (list)
        snprintf(list, bytes, "%s%s%s", path, others ? ":" : "", others ? others : "");
    const bool added = list && setenv(plugins, list, 1) == 0;
    if (!added)
        ts_command_wrong(NULL,
                         "'--plugin %s': the path of a plugin has a character at least, and "
                         "no colon",
                         path);
    free(list);
    return added;
}

static bool set_color(const char *when)
{
    const bool always = !strcmp(when, "always"), never = !strcmp(when, "never");
    if (always || never)
        return unsetenv(always ? "NO_COLOR" : "CLICOLOR_FORCE") == 0 &&
               setenv(always ? "CLICOLOR_FORCE" : "NO_COLOR", "1", 1) == 0;
    if (strcmp(when, "auto") != 0)
        ts_command_wrong(NULL, "'--color %s' is none of auto, always, never", when);
    return !strcmp(when, "auto");
}

/* Returns the option of all commands that the argument is, or that it begins with "="; or NULL. */
static const struct common_option {
    const char *name;
    bool (*take)(const char *value);
} * common_option(const char *argument)
{
    static const struct common_option options[] = {{"--plugin", add_plugin},
                                                   {"--color", set_color}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        const size_t length = strlen(options[i].name);
        if (!strncmp(argument, options[i].name, length) && strchr("=", argument[length]))
            return &options[i];
    }
    return NULL;
}

bool ts_command_take_common(int *argc, char **argv)
{
    int kept = 1;
    bool options = true;
    for (int i = 1; i < *argc; i++) {
        options &= strcmp(argv[i], "--") != 0;
        const struct common_option *option = options ? common_option(argv[i]) : NULL;
        const char *value = option ? strchr(argv[i], '=') : NULL;
        if (!option) {
            argv[kept++] = argv[i];
            continue;
        }
        if (!value && i + 1 == *argc) {
            ts_command_wrong(NULL, "option '%s' needs a value", option->name);
            return false;
        }
        if (!option->take(value ? value + 1 : argv[++i]))
            return false;
    }
    argv[kept] = NULL;
    *argc = kept;
    return true;
}

/* Loads the plugins that $TOMOSTAGE_PLUGINS lists. Returns the exit code. */
static int load_plugins(void)
{
    char *list = getenv(plugins) ? strdup(getenv(plugins)) : NULL, *rest = list;
    struct ts_diag *diag = list ? ts_command_diag() : NULL;
    enum ts_status status = TS_OK;
    for (char *path; diag && status == TS_OK && (path = strsep(&rest, ":")) != NULL;)
        if (*path)
            status = ts_context_load(NULL, path, diag);
    free(list);
    return diag ? ts_command_finish_take(diag, status, json_asked) : 0;
}

int ts_command_run(const struct command *command, int argc, char **argv)
{
    if (!command->run)
        return report_apart(command);
    if (argc > 1 && names_inner(command, argv[1]))
        return ts_command_run(command->inner, argc - 1, argv + 1);
    struct option options[MOST_OPTIONS + 2];
    char letters[2 * MOST_OPTIONS + 3];
    const char *texts[MOST_OPTIONS] = {0};
    list_options(command, options, letters);
    opterr = 0;
    for (;;) {
        const char *next = argv[optind < argc ? optind : argc - 1];
        const int code = getopt_long(argc, argv, letters, options, NULL);
        const struct command_option *option = option_of(command, code);
        if (code == -1)
            break;
        if (code == 'h') {
            print_help(command, stdout);
            return 0;
        }
        if (!option)
            return refuse_option(command, code, argv[optind - 1] ? argv[optind - 1] : next);
        if (given_twice(command, option, optarg, &texts[option - command->options]))
            return COMMAND_WRONG;
        if (!parse_value(command, option, optarg))
            return COMMAND_WRONG;
    }
    if (argc - optind < command->operands.least)
        return ts_command_wrong(command, "%s is missing: %s %s %s", command->operands.name,
                                program_of(command), command->name, command->usage);
    if (argc - optind > command->operands.most)
        return ts_command_too_many(command, argv[optind + command->operands.most]);
    const int code = command->program ? 0 : load_plugins();
    return code == 0 ? command->run(argv + optind) : code;
}

/* ---- what was printed ------------------------------------------------------------------------ */

/* errno of the first write to standard output that failed; -1: not known */
static int output_error;
static char written[4096];

void ts_command_print_written(const char *path)
{
    struct stat found;
    char size[32] = "?", shown[4096];
    const bool there = stat(path, &found) == 0;
    if (there)
        ts_command_format_bytes((double)found.st_size, size, sizeof size);
    ts_text_escape(shown, sizeof shown, path);
    printf("wrote %s: %s", shown,
           there && S_ISDIR(found.st_mode) ? "a folder of one file a slice" : size);
}

void ts_command_written(const char *path)
{
    ts_text_escape(written, sizeof written, path);
}

void ts_command_flush(void)
{
    errno = 0;
    if ((fflush(stdout) == 0 && !ferror(stdout)) || output_error)
        return;
    /* An earlier write has failed and left the buffer empty: an empty write gets the reason from
       the device. */
    output_error = errno || write(STDOUT_FILENO, "", 0) < 0 ? errno : -1;
}

int ts_command_output_end(int code)
{
    ts_command_flush();
    if (!output_error)
        return code;
    fprintf(stderr, "tomostage: standard output could not be written: %s%s%s%s\n",
            output_error > 0 ? strerror(output_error) : "a part of it was lost",
            *written ? "; " : "", written, *written ? " is written and whole" : "");
    return code == 0 ? TS_RUN_FAILED : code;
}

struct ts_diag *ts_command_diag(void)
{
    struct ts_diag *diag = ts_diag_create();
    if (diag)
        return diag;
    fputs("tomostage: error: out of memory [no-memory]\n", stderr);
    if (json_asked)
        puts("{\"event\": \"diagnostic\", \"severity\": \"error\", \"code\": \"no-memory\", "
             "\"message\": \"out of memory\", \"exit_code\": 1}");
    return NULL;
}

/* ---- colors of messages ---------------------------------------------------------------------- */

/* NO_COLOR, CLICOLOR_FORCE and TERM=dumb are conventions of many programs. */
static bool has_color(FILE *stream)
{
    const char *none = getenv("NO_COLOR"), *forced = getenv("CLICOLOR_FORCE");
    const char *terminal = getenv("TERM");
    if (none && *none)
        return false;
    if (forced && *forced && strcmp(forced, "0") != 0)
        return true;
    return terminal && strcmp(terminal, "dumb") != 0 && isatty(fileno(stream));
}

/* Prints one line of messages with the word that says what it is in color. */
static void print_line(const char *line, size_t length, FILE *stream)
{
    static const struct {
        const char *word, *color;
    } words[] = {{": error: ", "\033[1;31m"},
                 {": warning: ", "\033[1;33m"},
                 {": note: ", "\033[1;36m"},
                 {"  hint: ", "\033[1;32m"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const size_t word = strlen(words[i].word) - 3; /* without ": " or blanks at its ends */
        const char *at = memmem(line, length, words[i].word, word + 3);
        if (!at || (*at == ' ') != (*line == ' ') || (*at == ' ' && at > line))
            continue;
        at += 2;
        fprintf(stream, "%.*s%s%.*s\033[0m%.*s", (int)(at - line), line, words[i].color, (int)word,
                at, (int)(line + length - at - word), at + word);
        return;
    }
    fwrite(line, 1, length, stream);
}

static void print_messages(const struct ts_diag *diag, FILE *stream)
{
    char *text = NULL;
    size_t size = 0;
    FILE *plain = has_color(stream) ? open_memstream(&text, &size) : NULL;
    if (!plain) {
        ts_diag_print(diag, stream);
        return;
    }
    ts_diag_print(diag, plain);
    const bool whole = fclose(plain) == 0;
    for (const char *line = text; whole && *line;) {
        const size_t length = strcspn(line, "\n") + 1;
        print_line(line, length, stream);
        line += length;
    }
    free(text);
}

int ts_command_finish_take(struct ts_diag *diag, enum ts_status status, bool json)
{
    if (status != TS_OK && status != TS_STOPPED && status != TS_PAUSED &&
        ts_diag_error_count(diag) == 0)
        ts_diag_error(diag, status, &(struct diag_site){.code = "no-reason"},
                      "failed, and no reason was recorded; memory may have run out");
    if (json)
        ts_diag_print_json(diag, stdout);
    else
        print_messages(diag, stderr);
    ts_diag_destroy(diag);
    return (int)status;
}

/* ---- numbers --------------------------------------------------------------------------------- */

bool ts_command_parse_integer(const char *text, int64_t low, int64_t high, int64_t *value)
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

const char *ts_command_format_bytes(double bytes, char *out, size_t size)
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
