/* SPDX-License-Identifier: Apache-2.0
 *
 * The list of commands, and `tomostage help`: the list, the page of a stage, or files of help for
 * man and for shells, which are made from the tables that --help prints. The build calls
 * `tomostage help --pages` and installs what it writes. `help COMMAND` is `COMMAND --help`, which
 * main.c sees to.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "pipeline/chain/describe.h"
#include "program/cli/cli.h"
#include "stages/engine/registry.h"

const struct command *const ts_cli_commands[] = {&ts_cli_run,
                                                 &ts_cli_batch,
                                                 &ts_cli_check,
                                                 &ts_cli_stages,
                                                 &ts_cli_schema,
                                                 &ts_cli_info,
                                                 &ts_cli_preview,
                                                 &ts_cli_plot,
                                                 &ts_cli_view,
                                                 &ts_cli_export,
                                                 &ts_cli_tables,
                                                 &ts_cli_convert,
                                                 &ts_cli_report,
                                                 &ts_cli_verify,
                                                 &ts_cli_diff,
                                                 &ts_cli_rerun,
                                                 &ts_cli_phantom,
                                                 &ts_cli_doctor,
                                                 &ts_cli_bench,
                                                 &ts_cli_study,
                                                 &ts_cli_help,
                                                 &ts_cli_explain,
                                                 NULL};

const struct command *ts_cli_find(const char *name)
{
    for (size_t i = 0; ts_cli_commands[i]; i++)
        if (!strcmp(name, ts_cli_commands[i]->name))
            return ts_cli_commands[i];
    return NULL;
}

void ts_cli_print_commands(FILE *stream)
{
    fputs("usage: tomostage COMMAND [arguments]\n\n"
          "tomostage runs a chain of stages over a medical image and writes the result and how it "
          "was made to HDF5.\n\n",
          stream);
    for (size_t i = 0; ts_cli_commands[i]; i++)
        fprintf(stream, "  %-10s %s\n", ts_cli_commands[i]->name, ts_cli_commands[i]->summary);
    fputs("\n  tomostage COMMAND --help    the page of one command\n"
          "  tomostage --plugin FILE COMMAND  the stages of a plugin, too\n"
          "  tomostage --color WHEN COMMAND   auto (default), always or never; NO_COLOR is heeded\n"
          "  tomostage --version         the version\n\n",
          stream);
    fputs(ts_command_exit_codes, stream);
    fputs(
        "errors, warnings and notes end with their [code]; `tomostage explain CODE` has its cause "
        "and a way out\n",
        stream);
}

/* Writes the names of the commands, and then those of the stages if these are asked for. */
static size_t list_names(const char **names, size_t most, bool with_stages)
{
    size_t n = 0;
    for (; ts_cli_commands[n] && n < most; n++)
        names[n] = ts_cli_commands[n]->name;
    return with_stages ? n + ts_registry_names(NULL, names + n, most - n) : n;
}

int ts_cli_unknown_command(const char *name)
{
    const char *names[64];
    return ts_command_wrong_name(NULL, "command", name, names,
                                 list_names(names, sizeof names / sizeof *names, false),
                                 "'tomostage --help' lists the commands");
}

enum { MOST_STAGES = 256 };

/* The words after --color, which all commands take. */
static const char color_words[] = "auto always never";

/* ---- manual pages ---------------------------------------------------------------------------- */

/* Writes a text as troff takes it: no line begins a request, and hyphens are those of options. */
static void write_roff(FILE *out, const char *text)
{
    bool begins = true;
    for (; *text; text++) {
        if (begins && strchr(".'", *text))
            fputs("\\&", out);
        if (*text == '\\')
            fputs("\\e", out);
        else if (*text == '-')
            fputs("\\-", out);
        else
            fputc(*text, out);
        begins = *text == '\n';
    }
}

static void write_lines(FILE *out, const char *title, const char *text)
{
    fprintf(out, ".SH %s\n.nf\n", title);
    write_roff(out, text);
    fputs(".fi\n", out);
}

static void write_man_option(FILE *out, const struct command_option *option)
{
    fputs(".TP\n", out);
    if (option->letter)
        fprintf(out, "\\fB\\-%c\\fR, ", option->letter);
    fputs("\\fB\\-\\-", out);
    write_roff(out, option->name);
    fprintf(out, "\\fR \\fI%s\\fR\n", option->value ? option->value : "");
    write_roff(out, option->help);
    fputc('\n', out);
}

/* Writes what only a function of the command prints. */
static void write_more_help(FILE *out, const struct command *command)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = command->more_help ? open_memstream(&text, &size) : NULL;
    if (!stream)
        return;
    command->more_help(stream);
    if (fclose(stream) == 0)
        write_lines(out, "MORE", text);
    free(text);
}

static void write_man_head(FILE *out, const char *page, const char *summary)
{
    fprintf(out, ".TH %s 1 \"\" \"tomostage %s\"\n.SH NAME\n", page, ts_version());
    write_roff(out, page);
    fputs(" \\- ", out);
    write_roff(out, summary);
    fputs("\n.SH SYNOPSIS\n", out);
}

static void write_man_command(FILE *out, const struct command *command)
{
    char page[64];
    snprintf(page, sizeof page, "tomostage-%s", command->name);
    write_man_head(out, page, command->summary);
    fprintf(out, ".B tomostage %s\n", command->name);
    write_roff(out, command->usage ? command->usage : "[options]");
    fputc('\n', out);
    if (command->help)
        write_lines(out, "DESCRIPTION", command->help);
    fputs(".SH OPTIONS\n", out);
    for (size_t i = 0; i < command->n_options; i++)
        if (command->options[i].help)
            write_man_option(out, &command->options[i]);
    fputs(".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nthe page of the command\n", out);
    write_more_help(out, command);
    write_lines(out, "EXIT STATUS", ts_command_exit_codes);
    fputs(".SH SEE ALSO\n.BR tomostage (1)\n", out);
}

static void write_man(FILE *out, const struct command *command)
{
    if (command) {
        write_man_command(out, command);
        return;
    }
    write_man_head(out, "tomostage",
                   "medical imaging pipelines from a declarative chain of stages");
    fputs(".B tomostage\nCOMMAND [arguments]\n.SH COMMANDS\n", out);
    for (size_t i = 0; ts_cli_commands[i]; i++) {
        fprintf(out, ".TP\n.B %s\n", ts_cli_commands[i]->name);
        write_roff(out, ts_cli_commands[i]->summary);
        fputc('\n', out);
    }
    write_lines(out, "EXIT STATUS", ts_command_exit_codes);
    fputs(".SH SEE ALSO\n", out);
    for (size_t i = 0; ts_cli_commands[i]; i++)
        fprintf(out, ".BR tomostage\\-%s (1)%s\n", ts_cli_commands[i]->name,
                ts_cli_commands[i + 1] ? "," : "");
}

/* ---- completion ------------------------------------------------------------------------------ */

static bool takes_stage(const struct command *command)
{
    return command == &ts_cli_help || command == &ts_cli_stages;
}

static void write_stages(FILE *out)
{
    const char *names[MOST_STAGES];
    const size_t n = ts_registry_names(NULL, names, MOST_STAGES);
    for (size_t i = 0; i < n; i++)
        fprintf(out, " %s", names[i]);
}

static void write_bash(FILE *out, const struct command *none)
{
    (void)none;
    fputs("# bash completion of tomostage\n_tomostage()\n{\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} words=\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        words=\"--color --help --plugin "
          "--version",
          out);
    for (size_t i = 0; ts_cli_commands[i]; i++)
        fprintf(out, " %s", ts_cli_commands[i]->name);
    fprintf(out,
            "\"\n    elif [ \"${COMP_WORDS[COMP_CWORD - 1]}\" = --color ]; then\n"
            "        words=\"%s\"\n    else\n        case ${COMP_WORDS[1]} in\n",
            color_words);
    for (size_t i = 0; ts_cli_commands[i]; i++) {
        const struct command *command = ts_cli_commands[i];
        fprintf(out, "        %s) words=\"--help", command->name);
        for (size_t k = 0; k < command->n_options; k++)
            if (command->options[k].help)
                fprintf(out, " --%s", command->options[k].name);
        if (takes_stage(command))
            write_stages(out);
        fputs("\" ;;\n", out);
    }
    fputs("        esac\n    fi\n"
          "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n}\n"
          "complete -o bashdefault -o default -F _tomostage tomostage\n",
          out);
}

/* Writes the first line of a help text between single quotes; zsh wants colons and brackets marked
   in descriptions. */
static void write_quoted(FILE *out, const char *text, const char *marked)
{
    for (; *text && *text != '\n'; text++) {
        if (strchr(marked, *text))
            fputc('\\', out);
        fputs(*text == '\'' ? "'\\''" : (const char[]){*text, '\0'}, out);
    }
}

static void write_zsh_option(FILE *out, const struct command_option *option)
{
    fprintf(out, " '--%s%s[", option->name, option->value ? "=" : "");
    write_quoted(out, option->help, "[]\\");
    fprintf(out, "]%s%s%s'", option->value ? ":" : "", option->value ? option->value : "",
            option->value ? ":_files" : "");
}

static void write_zsh(FILE *out, const struct command *none)
{
    (void)none;
    fputs("#compdef tomostage\nlocal -a commands=(\n", out);
    for (size_t i = 0; ts_cli_commands[i]; i++) {
        fprintf(out, "    '%s:", ts_cli_commands[i]->name);
        write_quoted(out, ts_cli_commands[i]->summary, ":\\");
        fputs("'\n", out);
    }
    fputs(")\nif ((CURRENT == 2)); then\n    _describe command commands\n    return\nfi\n"
          "shift words\n((CURRENT--))\ncase $words[1] in\n",
          out);
    for (size_t i = 0; ts_cli_commands[i]; i++) {
        const struct command *command = ts_cli_commands[i];
        fprintf(out, "%s) _arguments '--help[the page of the command]'", command->name);
        for (size_t k = 0; k < command->n_options; k++)
            if (command->options[k].help)
                write_zsh_option(out, &command->options[k]);
        fputs(takes_stage(command) ? " '*:stage:(" : " '*:file:_files", out);
        if (takes_stage(command))
            write_stages(out);
        fputs(takes_stage(command) ? ")' ;;\n" : "' ;;\n", out);
    }
    fputs("esac\n", out);
}

static void write_fish(FILE *out, const struct command *none)
{
    (void)none;
    for (size_t i = 0; ts_cli_commands[i]; i++) {
        const struct command *command = ts_cli_commands[i];
        fprintf(out, "complete -c tomostage -n __fish_use_subcommand -a %s -d '", command->name);
        write_quoted(out, command->summary, "");
        fputs("'\n", out);
        for (size_t k = 0; k < command->n_options; k++) {
            const struct command_option *option = &command->options[k];
            if (!option->help)
                continue;
            fprintf(out, "complete -c tomostage -n '__fish_seen_subcommand_from %s' -l %s %s -d '",
                    command->name, option->name, option->value ? "-r" : "");
            write_quoted(out, option->help, "");
            fputs("'\n", out);
        }
        if (!takes_stage(command))
            continue;
        fprintf(out, "complete -c tomostage -n '__fish_seen_subcommand_from %s' -a '",
                command->name);
        write_stages(out);
        fputs("'\n", out);
    }
    fprintf(out, "complete -c tomostage -l color -x -a '%s'\n", color_words);
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Writes one file, and makes the folders in which it is. Returns the exit code. */
static int write_page(const char *folder, const char *name, const struct command *command,
                      void (*write)(FILE *out, const struct command *command))
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    for (char *slash = path + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        (void)mkdir(path, 0777); /* what is wrong with it shows when the file is opened */
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    if (file)
        write(file, command);
    const bool failed = !file || ferror(file);
    if ((!file || fclose(file) == 0) && !failed)
        return 0;
    ts_command_wrong(&ts_cli_help, "%s could not be written: %s", path, strerror(errno));
    return TS_RUN_FAILED;
}

/* Writes man/man1/tomostage*.1, bash-completion/completions/tomostage,
   zsh/site-functions/_tomostage and fish/vendor_completions.d/tomostage.fish, as share/ of an
   installation has them. Returns the exit code. */
static int write_pages(const char *folder)
{
    int code = write_page(folder, "man/man1/tomostage.1", NULL, write_man);
    for (size_t i = 0; ts_cli_commands[i] && code == 0; i++) {
        char name[80];
        snprintf(name, sizeof name, "man/man1/tomostage-%s.1", ts_cli_commands[i]->name);
        code = write_page(folder, name, ts_cli_commands[i], write_man);
    }
    if (code == 0)
        code = write_page(folder, "bash-completion/completions/tomostage", NULL, write_bash);
    if (code == 0)
        code = write_page(folder, "zsh/site-functions/_tomostage", NULL, write_zsh);
    return code == 0
               ? write_page(folder, "fish/vendor_completions.d/tomostage.fish", NULL, write_fish)
               : code;
}

/* ---- the command ----------------------------------------------------------------------------- */

static struct arguments {
    const char *folder; /* for pages; NULL: none */
} arguments;

static const struct command_option options[] = {
    {"pages", 0, OPTION_TEXT, OPTION_AT(struct arguments, folder), "DIR",
     "write manual pages, and completion for bash, zsh and fish, to DIR instead"}};

static int help(char **operands)
{
    const char *names[320];
    if (arguments.folder)
        return operands[0] ? ts_command_too_many(&ts_cli_help, operands[0])
                           : write_pages(arguments.folder);
    if (!operands[0]) {
        ts_cli_print_commands(stdout);
        return 0;
    }
    const struct stage *stage = ts_registry_find(NULL, operands[0]);
    if (!stage)
        return ts_command_wrong_name(&ts_cli_help, "command or stage", operands[0], names,
                                     list_names(names, sizeof names / sizeof *names, true),
                                     "'tomostage help' and 'tomostage stages' list them");
    ts_describe_stage(stage, stdout);
    return 0;
}

const struct command ts_cli_help = {
    .name = "help",
    .usage = "[COMMAND | STAGE]",
    .summary = "list the commands, or print the page of a command or a stage",
    COMMAND_ARGUMENTS(options, arguments),
    .operands = {0, 1},
    .run = help,
};
