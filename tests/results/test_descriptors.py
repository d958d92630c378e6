#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Boutiques descriptors that datasets/workflows/descriptors.py writes: each is valid by Boutiques' own schema, what is launched by
bosh gives the result of the command line, and a value that a table does not have is refused before anything runs.

usage: test_descriptors.py PROGRAM SOURCE. Exits with 77 where the package boutiques is not installed."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

PROGRAM, SOURCE = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
# (stage, what it is given, the same on the command line)
CALLS = [
    ("box", {"radius": 2, "dimensions": "3d"}, "box radius=2 dimensions=3d"),
    ("gaussian", {"sigma": "1.5", "unit": "mm"}, "gaussian sigma=1.5 unit=mm"),
    ("histogram", {"bins": 64, "range": "[-200, 300]"}, "histogram bins=64 range=[-200,300]"),
    ("rescale", {"method": "percentiles", "low_percentile": 5, "clip": "false"}, "rescale method=percentiles low_percentile=5 clip=false"),
    ("crop", {"x": "[4, 20]", "y": "[2, 30]"}, "crop x=[4,20] y=[2,30]"),
]
# (stage, values that are refused, part of the message)
REFUSED = [("box", {}, "radius"), ("box", {"radius": 2, "border": "sideways"}, "sideways"), ("rescale", {"low_percentile": 101}, "101")]


def called(*arguments):
    """The exit code and what was printed."""
    done = subprocess.run([str(argument) for argument in arguments], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def main():
    bosh = pathlib.Path(sys.executable).with_name("bosh")
    if not bosh.exists():
        print("SKIPPED: boutiques is not installed beside this Python")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name).resolve()
        os.chdir(folder)
        (folder / "bin").mkdir()
        (folder / "bin/tomostage").symlink_to(PROGRAM)
        os.environ.update(HOME=name, PATH=f"{folder}/bin:{os.environ['PATH']}")
        subprocess.run([sys.executable, SOURCE / "datasets/workflows/descriptors.py", "out"], check=True)
        described = {path.stem[len("tomostage-"):] for path in (folder / "out").iterdir()}
        schema = json.loads(called("tomostage", "schema")[1])
        stages = {one.get("title") for one in schema["properties"]["stages"]["items"]["oneOf"]} & {
            path.stem for path in (SOURCE / "docs/stages").glob("*.md")}
        left = stages - described
        assert described - {"run"} <= stages and left <= {"apply_mask", "compare", "flat_field"}, (described ^ stages)
        from boutiques import bosh as launch
        for path in sorted((folder / "out").iterdir()):
            launch(["validate", str(path)])
        subprocess.run(["tomostage", "phantom", "head", "-o", "study", "--size", "32", "--slices", "4", "--quiet"], check=True)
        for number, (stage, values, text) in enumerate(CALLS):
            (folder / "call.json").write_text(json.dumps({"image": "study", "output": f"{number}.h5", **values}))
            code, said = called(bosh, "exec", "launch", f"out/tomostage-{stage}.json", "call.json")
            assert code == 0 and (folder / f"{number}.h5").exists(), said
            code, said = called("tomostage", "run", text, "-i", "study", "-o", f"{number}-line.h5", "--device", "cpu", "--quiet")
            assert code == 0, said
            code, said = called("tomostage", "diff", f"{number}.h5", f"{number}-line.h5")
            assert code == 0, said
        (folder / "chain.yaml").write_text("tomostage: 2\ninput: {dicom: x}\nstages: [statistics]\noutput: {hdf5: y.h5}\n")
        (folder / "call.json").write_text(json.dumps({"chain": "chain.yaml", "image": "study", "output": "run.h5"}))
        code, said = called(bosh, "exec", "launch", "out/tomostage-run.json", "call.json")
        assert code == 0 and (folder / "run.h5").exists(), said
        for stage, values, part in REFUSED:
            (folder / "call.json").write_text(json.dumps({"image": "study", "output": "no.h5", **values}))
            code, said = called(bosh, "exec", "launch", f"out/tomostage-{stage}.json", "call.json")
            assert code != 0 and part in said and not (folder / "no.h5").exists(), (code, said)
        print(f"descriptors: {len(described)} are valid, {len(CALLS) + 1} launched, {len(REFUSED)} wrong calls refused; "
              f"left to chains, since they need a second image: {', '.join(sorted(left))}")


main()
