#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the site of these pages: all pages of docs/, those of the tree that they link to, a gallery of the stages, and the functions of
Python and C, with a search that works without a network and without a server. A link that leads nowhere ends it.

Usage: build.py OUT
  OUT  gets the site, OUT/index.html, and is emptied before. The pages that it is built from are beside it, in OUT-pages

Needs MkDocs and its theme Material: pip install 'mkdocs-material>=9.5,<10'"""
import ast
import os
import re
import shutil
import subprocess
import sys

import yaml

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, "../.."))
LINK = re.compile(r"(?<=\]\()([^)#:\s]+)(?=(?:#[\w-]+)?\))")
# The pages in their order; each has its own title. "docs/" and ".md" are left out. Pages that are not named come last.
NAV = {
    "Start": ["install", "tutorial", "chains", "glossary"],
    "Tutorials in Python": ["tutorials/README", "tutorials/ct-windows", "tutorials/mr-to-nifti", "tutorials/tooth",
                            "tutorials/sinograms-and-filters", "tutorials/repeat-and-compare", "tutorials/pytorch"],
    "Stages": ["gallery", "stages/README"],
    "Inputs": ["inputs", "dicom-geometry", "vendors", "masks", "geometry", "padding", "regions"],
    "Look and show": ["preview", "view", "report", "outputs"],
    "Run": ["sweeps", "batch", "resuming", "checkpoints", "out-of-core", "devices", "cluster", "scaling", "performance"],
    "Rely on results": ["results", "provenance", "comparing", "accuracy", "privacy", "reconstruction-study", "SECURITY"],
    "Messages": ["errors", "exit-codes"],
    "Program": ["python", "api-python", "library", "api-c", "plugins"],
    "Develop": ["CONTRIBUTING", "architecture", "studies", "notes/README"],
}


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def copy(pages, path, done):
    """Copies a file of the tree, and what it links to; a link to a folder becomes one to its README.md, or to that of the
    folder above."""
    if path in done:
        return
    done.add(path)
    target = os.path.join(pages, path)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if not path.endswith(".md"):
        shutil.copy(os.path.join(ROOT, path), target)
        return
    folder = os.path.dirname(path)

    def follow(match):
        to = os.path.normpath(os.path.join(folder, match[1]))
        while os.path.isdir(os.path.join(ROOT, to)):
            readme = os.path.join(to, "README.md")
            to = readme if os.path.exists(os.path.join(ROOT, readme)) else os.path.dirname(to)
        if not os.path.exists(os.path.join(ROOT, to)):
            sys.exit(f"{path}: {match[1]} is not there")
        copy(pages, to, done)
        return os.path.relpath(to, folder)

    write(target, LINK.sub(follow, read(os.path.join(ROOT, path))))


def stages():
    """The stages in the order of docs/stages/README.md: (what they are for, their names)."""
    rows = re.findall(r"^\| (?!you want|---)(.*?) \| (.*) \|$", read(os.path.join(ROOT, "docs/stages/README.md")), re.M)
    return [(title, re.findall(r"\[(\w+)\]", cell)) for title, cell in rows]


def gallery():
    lines = ["# Gallery", "", "The example of each stage: before it on the left, after it on the right. A picture leads to the stage's page.", ""]
    for title, names in stages():
        lines += [f"## {title[0].upper()}{title[1:]}", "", '<div class="gallery" markdown>', ""]
        for name in names:
            summary = read(os.path.join(ROOT, f"docs/stages/{name}.md")).split(f"\n# {name}\n\n")[1].split("\n")[0]
            lines += [f"[![The example of {name}](stages/{name}.png){{ loading=lazy }}](stages/{name}.md) **[{name}](stages/{name}.md)**: {summary}", ""]
        lines += ["</div>", ""]
    return "\n".join(lines)


def signature(node):
    given = ast.unparse(node.args)
    short = ", ".join(re.sub(r":.*?(?= = |$)", "", ast.unparse(argument)) for argument in node.args.args)
    return f"{node.name}({given if len(given) < 90 else short or '...'})"


def described(node, level, prefix=""):
    """A class or function with its text, and what a class has."""
    text = ast.get_docstring(node) if isinstance(node, (ast.FunctionDef, ast.ClassDef)) else None
    if not text or node.name.startswith("_"):
        return []
    shown = prefix + (signature(node) if isinstance(node, ast.FunctionDef) else node.name)
    lines = [f"{'#' * level} {prefix}{node.name}", "", "```python", shown, "```", "", "```{ .text .docstring }", text, "```", ""]
    for part in node.body if isinstance(node, ast.ClassDef) else []:
        lines += described(part, level + 1, node.name + ".")
    return lines


def python_page():
    lines = ["# Functions of Python", "", "What `import tomostage as ts` has; [python](python.md) is the guide.", ""]
    package = os.path.join(ROOT, "python/tomostage")
    for line in ast.parse(read(os.path.join(package, "__init__.py"))).body:
        public = {alias.name for alias in line.names} if isinstance(line, ast.ImportFrom) else set()
        for module in [line.module] if isinstance(line, ast.ImportFrom) and line.module else public:
            path = os.path.join(package, f"{module}.py")
            nodes = ast.parse(read(path)).body if os.path.exists(path) else []
            parts = [described(node, 3) for node in nodes if public & {"*", module} or getattr(node, "name", "") in public]
            lines += [f"## {module}", "", *sum(parts, [])] if any(parts) else []
    return "\n".join(lines)


def c_page():
    lines = ["# Functions of C", "", "The public headers; [library](library.md) is the guide.", ""]
    for header in ("tomostage", "tomostage_array", "tomostage_operator", "tomostage_context", "tomostage_stage"):
        lines += [f"## {header}.h", ""]
        for part in re.split(r"\n\s*\n", read(os.path.join(ROOT, f"include/{header}.h"))):
            names = re.findall(r"\b(ts_\w+)\([^*]", re.sub(r"/\*.*?\*/", "", part, flags=re.DOTALL))
            names += re.findall(r"^(?:struct|enum|typedef struct) (ts_\w+) \{", part, re.M)
            if names:
                lines += [f"### {', '.join(dict.fromkeys(names[:3]))}{' and others' if len(set(names)) > 3 else ''}", ""]
            code = "\n".join(line for line in part.split("\n") if not line.startswith(("#ifndef", "#endif", "#include", "/* SPDX")))
            if re.search(r"[a-z]", code) and "__cplusplus" not in code and "---- " not in code:
                lines += ["```c", code.strip("\n"), "```", ""]
    return "\n".join(lines)


def navigation():
    found = [{"Overview": "README.md"}]
    for title, names in NAV.items():
        part = [f"docs/{name}.md" for name in names]
        if title == "Stages":
            part += [{title[0].upper() + title[1:]: [{name: f"docs/stages/{name}.md"} for name in names]} for title, names in stages()]
        if title == "Develop":
            notes = sorted(name for name in os.listdir(os.path.join(ROOT, "docs/notes")) if name.endswith(".md") and name != "README.md")
            part += [{"Notes": [f"docs/notes/{name}" for name in notes]}, "datasets/README.md", "CHANGELOG.md"]
        found.append({title: part})
    named = {name for names in NAV.values() for name in names}
    others = [folder + name for folder in ("", "tutorials/") for name in sorted(os.listdir(os.path.join(ROOT, "docs", folder)))
              if name.endswith(".md") and folder + name[:-3] not in named]
    return found + ([{"More": [f"docs/{name}" for name in others]}] if others else [])


def configuration(pages, out):
    palette = [{"media": f"(prefers-color-scheme: {scheme})", "scheme": name, "primary": "blue grey", "accent": "teal",
                "toggle": {"icon": icon, "name": label}}
               for scheme, name, icon, label in (("light", "default", "material/weather-night", "dark"),
                                                 ("dark", "slate", "material/weather-sunny", "light"))]
    return {
        "site_name": "tomostage", "docs_dir": pages, "site_dir": out, "use_directory_urls": False, "strict": True,
        "theme": {"name": "material", "font": False, "palette": palette,
                  "features": ["navigation.top", "navigation.indexes", "search.highlight", "content.code.copy"]},
        "plugins": ["search", "offline"], "extra": {"polyfills": ["iframe-worker.js"], "generator": False}, "extra_css": ["style.css"],
        "markdown_extensions": ["tables", "fenced_code", "attr_list", "md_in_html", {"toc": {"permalink": True, "toc_depth": 3}},
                                {"pymdownx.highlight": {"use_pygments": True}}, "pymdownx.superfences"],
        "validation": {"omitted_files": "warn", "absolute_links": "warn", "unrecognized_links": "warn", "anchors": "warn"},
        "nav": navigation(),
    }


def main(out):
    out = os.path.abspath(out)
    pages = out + "-pages"
    shutil.rmtree(pages, ignore_errors=True)
    done = set()
    copy(pages, "README.md", done)
    for folder, _, names in os.walk(os.path.join(ROOT, "docs")):
        for name in names:
            if name.endswith((".md", ".png", ".svg")):
                copy(pages, os.path.relpath(os.path.join(folder, name), ROOT), done)
    for name, text in (("gallery", gallery()), ("api-python", python_page()), ("api-c", c_page())):
        write(os.path.join(pages, f"docs/{name}.md"), text)
    for name in ("iframe-worker.js", "style.css"):
        shutil.copy(os.path.join(HERE, name), pages)
    write(out + ".yml", yaml.safe_dump(configuration(pages, out), sort_keys=False))
    # With --quiet it would count no warnings.
    done = subprocess.run([sys.executable, "-m", "mkdocs", "build", "--clean", "--strict", "--config-file", out + ".yml"], check=False,
                          env=dict(os.environ, NO_MKDOCS_2_WARNING="1"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(done.stdout)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) == 2 and sys.argv[1] != "--help" else sys.exit(__doc__))
