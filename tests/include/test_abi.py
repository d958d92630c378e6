#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares sizes and offsets of the structs of the public headers, and the values of their enums, with the table abi.txt
beside this file, so that nobody changes them without seeing it: programs that were compiled before would read other
members than they set. Each header compiles by itself as C17 and as C++17.
usage: test_abi.py SOURCE [--write]"""
import pathlib, re, subprocess, sys, tempfile

source = pathlib.Path(sys.argv[1])
folder = pathlib.Path(tempfile.mkdtemp())
headers = sorted((source / "include").glob("*.h"))
table = pathlib.Path(__file__).parent / "abi.txt"
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]


def fail(message):
    sys.exit(f"the public headers: {message}")


def run(*command, text=None):
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    if done.returncode:
        fail(f"{' '.join(map(str, command))}: {done.stderr}")
    return done.stdout


def compile_each(names):
    """Compiles the headers, each as the only one of a file."""
    for header in names:
        for compiler, language, standard in (("cc", "c", "c17"), ("c++", "c++", "c++17")):
            run(compiler, "-x", language, f"-std={standard}", *WARNINGS, "-fsyntax-only", "-I", header.parent, "-",
                text=f'#include "{header.name}"\n' + (f"struct ts_options options = TS_OPTIONS_DEFAULT;\n" if
                "TS_OPTIONS_DEFAULT" in header.read_text() else "") + "int main(void);\n")


def members(body):
    """The names that the declarations between the braces of a struct declare; `n[4], stride[4]` are two."""
    for declaration in filter(None, map(str.strip, body.split(";"))):
        function = re.search(r"\(\*(\w+)\)", declaration)
        if function:
            yield function[1]
        else:
            yield from (re.search(r"(\w+)(\[[^\]]*\])*\s*$", part)[1] for part in declaration.split(","))


def listing(names):
    """A program that prints the table."""
    lines, found = [], 0
    for header in names:
        text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)
        for name, body in re.findall(r"^struct (\w+) \{\n(.*?)^\};", text, flags=re.S | re.M):
            found += 1
            lines.append(f'printf("struct {name}: %zu bytes\\n", sizeof(struct {name}));')
            lines += [f'printf("    %3zu %3zu {member}\\n", offsetof(struct {name}, {member}), '
                      f"sizeof(((struct {name} *)0)->{member}));" for member in members(body)]
        for name, body in re.findall(r"^enum (\w+) \{(.*?)\}", text, flags=re.S | re.M):
            lines.append(f'puts("enum {name}");')
            lines += [f'printf("    %d {value}\\n", (int){value});' for value in re.findall(r"\bTS_\w+", body)]
        for name, arguments in re.findall(r"^TS_PUBLIC ([^(]*)\(([^;]*)\);", text, flags=re.S | re.M):
            lines.append(f'puts("function: {" ".join(name.split())}({" ".join(arguments.split())})");')
    if found < 9:
        fail(f"only {found} structs were found in them")
    includes = "".join(f'#include "{header.name}"\n' for header in names)
    return includes + "#include <stddef.h>\nint main(void)\n{\n" + "\n".join(lines) + "\nreturn 0;\n}\n"


def measure(names):
    program = folder / "abi"
    run("cc", "-x", "c", "-std=c17", *WARNINGS, "-I", names[0].parent, "-", "-o", program, text=listing(names))
    return run(program)


def check_growth(measured):
    """A struct that may grow ends with its last member: a caller's bytes behind that would become a member later."""
    for name, size, body in re.findall(r"^struct (\w+): (\d+) bytes\n((?: .*\n)+)", measured, re.M):
        rows = [row.split() for row in body.splitlines()]
        end = sum(map(int, rows[-1][:2]))
        if rows[0][2] == "size" and end != int(size):
            fail(f"struct {name} may grow, but has {int(size) - end} bytes behind its last member, {rows[-1][2]}")


def check_itself(right):
    """A member that is put in, a value that is put in, and a header that needs another one are found."""
    changes = [("    int rank;\n", "    int rank, more;\n"), ("TS_OK = 0,", "TS_OK = 0, TS_MORE,"),
               ("size_t ts_diag_count(const", "int ts_diag_count(const")]
    for before, after in changes:
        text = (source / "include/tomostage.h").read_text()
        if before not in text:
            fail(f"'{before}' is not in tomostage.h, which this test changes to see whether it notices")
        for header in headers:
            (folder / header.name).write_text(header.read_text())
        (folder / "tomostage.h").write_text(text.replace(before, after, 1))
        if measure([folder / header.name for header in headers]) == right:
            fail(f"this test does not see '{after}'")


compile_each(headers)
measured = measure(headers)
check_growth(measured)
if sys.argv[2:] == ["--write"]:
    table.write_text(measured)
check_itself(measured)
if measured != table.read_text():
    (folder / "abi.txt").write_text(measured)
    print(subprocess.run(["diff", "-u", table, folder / "abi.txt"], capture_output=True, text=True).stdout)
    fail("their structs, enums or functions are not those of tests/include/abi.txt. A struct whose first member is `size` "
         "may grow at its end, and functions and values may be added: then write the table anew with --write. For "
         "anything else the major version has to rise.")
print(f"{len(headers)} headers, {len(re.findall('^struct', measured, re.M))} structs and {measured.count('function: ')} functions are as recorded")
