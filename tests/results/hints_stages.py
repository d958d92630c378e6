# SPDX-License-Identifier: Apache-2.0
"""Hints of stages about types, quantities, parameters, grids and beams: rows of test_hints.py."""
import numpy as np

from harness import run
from hints_support import SCAN, V, arrays, carry, close, image, rows, scans, words_of


@rows
def types_of_values(folder):
    arrays(folder)
    levels = np.sort(np.unique(V))
    carry(folder, "npy f4.npy | equalize method=opencv", "use method: skimage, or make the image u8 or u16",
          ("npy f4.npy | equalize method=skimage", "npy f4.npy | rescale dtype=u16 | equalize method=opencv",
          "npy f4.npy | window low=0 high=250 dtype=u8 | equalize method=opencv"),
          lambda a: len(np.unique(a)) > 100 and (np.diff([a[V == v].mean() for v in levels]) >= 0).all())
    carry(folder, "npy u1.npy | equalize bins=100", "leave bins out", "npy u1.npy | equalize",
          lambda a: a.shape == V.shape)
    carry(folder, "npy u1.npy | input r npy u2.npy | equalize method=opencv reference=r",
          "leave method out, or set it to skimage", ("npy u1.npy | input r npy u1.npy | equalize reference=r",
          "npy u1.npy | input r npy u1.npy | equalize reference=r method=skimage"), V)
    carry(folder, "npy f4.npy | clahe method=opencv", "put `rescale` to u16 before it, or use method: skimage",
          ("npy f4.npy | rescale dtype=u16 | clahe method=opencv", "npy f4.npy | clahe method=skimage"), V.shape)
    carry(folder, "npy f4.npy | clahe clip_limit=0", "write clip_limit: .inf", "npy f4.npy | clahe clip_limit=.inf",
          V.shape)
    carry(folder, "npy i4.npy quantity=attenuation | to_hu water=5",
          "it takes f32, and no stage changes the type of attenuation: write the input anew with such values, as with numpy's astype('float32')",
          "npy f4.npy quantity=attenuation | to_hu water=5", 1000 * (V - 5) / 5)
    carry(folder, "npy u2.npy quantity=transmission | minus_log nonpositive=floor",
          "it takes f32; `rescale` before it changes the type, with `range: [.., ..]`, what 0 and 1 are, and `quantity: transmission`",
          "npy u2.npy | rescale range=0,250 quantity=transmission | minus_log nonpositive=floor floor=0.004",
          -np.log(np.maximum(V / 250, 0.004)))
    carry(folder, "npy f4.npy | histogram method=sampled range=0,250", "leave method out",
          "npy f4.npy | histogram range=0,250", V)
    carry(folder, "npy f4.npy | histogram limits=dtype", "give range: [low, high], or limits: data",
          ("npy f4.npy | histogram range=0,250", "npy f4.npy | histogram limits=data"), V)
    carry(folder, "npy f4.npy | histogram range=0", "write range: [low, high]", "npy f4.npy | histogram range=0,250", V)
    carry(folder, "npy f4.npy | histogram range=250,0", "write the lower number first: range: [low, high]",
          "npy f4.npy | histogram range=0,250", V)
    carry(folder, "npy f4.npy | input r npy f4.npy | histogram scope=slice reference=r limits=data",
          "give range: [low, high], or scope: volume",
          ("npy f4.npy | input r npy f4.npy | histogram scope=slice reference=r range=0,250",
          "npy f4.npy | input r npy f4.npy | histogram scope=volume reference=r limits=data"), V)
    carry(folder, "npy f4.npy | statistics scope=volume percentiles=50 percentile_method=sort",
          "scope: slice, or percentile_method: histogram",
          ("npy f4.npy | statistics scope=slice percentiles=50 percentile_method=sort",
          "npy f4.npy | statistics scope=volume percentiles=50 percentile_method=histogram"), V)


@rows
def lengths(folder):
    arrays(folder)
    carry(folder, "npy f4.npy | gaussian sigma=1 unit=mm", "`unit: pixel` needs no distance",
          "npy f4.npy | gaussian sigma=1 unit=pixel", V.shape)
    carry(folder, "npy f4.npy | crop x=0,4 unit=mm", "`unit: pixel`, with indices from 0",
          "npy f4.npy | crop x=0,4 unit=pixel", V[:, :, :4])
    carry(folder, "npy f4.npy quantity=attenuation | radon views=16 beam=fan-flat source_axis=100 source_detector=150",
          "leave beam, source_axis and source_detector out: a parallel beam needs no distances in mm",
          "npy f4.npy quantity=attenuation | radon views=16", lambda a: a.shape[:2] == (4, 16))


@rows
def intensities(folder):
    arrays(folder)
    z = (V - V.mean()) / V.std()
    carry(folder, "npy f4.npy | rescale method=z-score dtype=u8", "leave dtype out, or set it to f32",
          ("npy f4.npy | rescale method=z-score", "npy f4.npy | rescale method=z-score dtype=f32"), z)
    carry(folder, "npy f4.npy | rescale method=z-score out_high=5",
          "leave out_low and out_high out, or use method range or percentiles", ("npy f4.npy | rescale method=z-score",
          "npy f4.npy | rescale method=range range=0,250 out_high=5",
          "npy f4.npy | rescale method=percentiles out_high=5"), V.shape)
    carry(folder, "npy f4.npy | rescale method=z-score range=0,1", "leave range out, or use method range",
          "npy f4.npy | rescale method=z-score", z)
    carry(folder, "npy f4.npy | rescale method=z-score range=0,125", "use method range",
          "npy f4.npy | rescale method=range range=0,125", np.clip(V / 125, 0, 1))
    carry(folder, "npy f4.npy | rescale out_low=5 out_high=1", "use `invert` to swap bright and dark",
          "npy f4.npy | rescale range=0,250 | invert", 1 - V / 250)
    carry(folder, "npy f4.npy | window center=100", "give center and width, or low and high",
          ("npy f4.npy | window center=125 width=250 function=linear-exact",
          "npy f4.npy | window low=0 high=250 function=linear-exact"), V.shape)
    carry(folder, "npy f4.npy | window low=0 high=250 unit=hu", "use unit: image",
          "npy f4.npy | window low=0 high=250 unit=image", V.shape)
    carry(folder, "npy u2.npy | rescale quantity=transmission dtype=f32",
          "range: [0, 65535] for what was stored as 0 to 65535",
          "npy u2.npy | rescale quantity=transmission dtype=f32 range=0,65535", V / 65535)
    carry(folder, "npy f4.npy | threshold", "above: VALUE, below: VALUE, or both; method: otsu finds one",
          ("npy f4.npy | threshold above=100", "npy f4.npy | threshold below=100",
          "npy f4.npy | threshold above=0 below=100", "npy f4.npy | threshold method=otsu"), V.shape)
    carry(folder, "npy f4.npy | threshold above=100 below=50",
          "a mask of values between two has `above`, the lower one, and `below`",
          "npy f4.npy | threshold above=50 below=100",
          lambda a: (a == ((V >= 50) & (V <= 100))).all() or (a == ((V > 50) & (V < 100))).all())
    carry(folder, "npy f4.npy | bounds above=100 below=50",
          "values between two have `above`, the lower one, and `below`", "npy f4.npy | bounds above=50 below=100", V)
    carry(folder, "npy f4.npy | convolve kernel=custom", "weights: [[0, 1, 0], [1, 1, 1], [0, 1, 0]]",
          "npy f4.npy | convolve kernel=custom weights=[[0,1,0],[1,1,1],[0,1,0]]", V.shape)


@rows
def boxes_and_grids(folder):
    arrays(folder)
    m = "npy f4.npy spacing=1,1,1"
    carry(folder, f"{m} | crop above=1000",
          "`statistics` in place of `crop` tells the range of the values; x, y and z give a box by hand",
          (f"{m} | statistics", f"{m} | crop x=0,8"), V)
    carry(folder, f"{m} | crop above=100 below=50", "values between two have `above`, the lower one, and `below`",
          f"{m} | crop above=50 below=100", lambda a: a.size > 0)
    carry(folder, f"{m} | crop x=2,20", "[first, end] with whole numbers 0 <= first < end <= 8", f"{m} | crop x=2,8",
          V[:, :, 2:])
    carry(folder, f"{m} | crop x=100,200 unit=mm", "the centers lie from", f"{m} | crop x=0,7 unit=mm", V)
    carry(folder, f"{m} | resample spacing=1,1,1,1", "one number for all axes, [x, y], or [x, y, z]",
          (f"{m} | resample spacing=1", f"{m} | resample spacing=1,1", f"{m} | resample spacing=1,1,1"), V)
    carry(folder, f"{m} | resample", "one of spacing, shape and like", (f"{m} | resample spacing=1",
          f"{m} | resample shape=8,8,4", f"{m} | input r {m} | resample like=r"), V)
    carry(folder, "npy f4.npy | resample spacing=1", "`shape` needs none", "npy f4.npy | resample shape=8,8,4", V)
    carry(folder, "npy f4.npy | resample spacing=1,1", "`shape` needs none", "npy f4.npy | resample shape=8,8", V)
    carry(folder, f"{m} | input r {m} | resample like=r convention=nnunet",
          "center or itk, or spacing or shape in place of like",
          (f"{m} | input r {m} | resample like=r convention=itk", f"{m} | input r {m} | resample like=r convention=center",
           f"{m} | resample spacing=1 convention=nnunet", f"{m} | resample shape=8,8,4 convention=nnunet"), V)
    carry(folder, f"{m} quantity=hu | input r npy u1.npy spacing=1,1,1 | combine other=r op=multiply mask=r",
          "leave mask out, and put `apply_mask` with the mask after this stage",
          f"{m} quantity=hu | input r npy u1.npy spacing=1,1,1 | combine other=r op=multiply | apply_mask mask=r", V * V)
    carry(folder, f"{m} | input r npy f4.npy spacing=1,1,2 | compare reference=r data_range=250",
          "`resample` with `like:` puts a volume on the grid of another",
          f"{m} | input r npy f4.npy spacing=1,1,2 | resample like=r | compare reference=r data_range=250", V.shape)
    run("phantom", "asymmetric", "-o", "ct", "--size", "16", "--slices", "4", "--quiet", cwd=folder)
    carry(folder, "dicom ct | resample spacing=9,1 | resample shape=2,8 convention=nnunet", "`reorient` before it",
          "dicom ct | resample spacing=9,1 | reorient to=ASR | resample shape=8,8 convention=nnunet", lambda a: a.shape[1:] == (8, 8))
    carry(folder, "dicom ct | reorient to=XYZ", "such as RAS", "dicom ct | reorient to=RAS", (4, 16, 16))
    run("phantom", "asymmetric", "-o", "tilted", "--size", "16", "--slices", "4", "--tilt", "20", "--quiet", cwd=folder)
    carry(folder, "dicom tilted tilt=refuse", "tilt: keep reads it with its exact step", "dicom tilted tilt=keep",
          (4, 16, 16))
    carry(folder, "dicom tilted tilt=keep | box radius=1 dimensions=3d", "`unshear` before it, or work slice by slice",
          ("dicom tilted tilt=keep | unshear | box radius=1 dimensions=3d", "dicom tilted tilt=keep | box radius=1"),
          lambda a: a.shape[0] == 4)
    carry(folder, "dicom tilted tilt=keep | reorient to=SAR",
          "`unshear` before it; orders of axes that keep the slices need none",
          "dicom tilted tilt=keep | unshear | reorient to=SAR", lambda a: 4 in a.shape)
    carry(folder, "dicom tilted tilt=keep | foreground | distance", "`unshear` before it",
          "dicom tilted tilt=keep | unshear | foreground | distance", lambda a: a.shape[0] == 4 and a.max() > 1)


@rows
def masks(folder):
    arrays(folder)
    hu = "npy i2.npy quantity=hu spacing=1,1,1"
    for stage in ("morphology operation=erode", "components", "distance"):
        carry(folder, f"{hu} | {stage}", "it takes intensity; `threshold` or `foreground` before it makes a mask",
              (f"{hu} | threshold above=100 | {stage}", f"{hu} | foreground | {stage}"), V.shape)
    for stage in ("morphology operation=dilate", "components least_mm3=2", "distance"):
        carry(folder, f"npy u1.npy | {stage}", "state it at the input, as with `spacing: [0.5, 0.5, 2]`",
              f"npy u1.npy spacing=0.5,0.5,2 | {stage}", V.shape)


@rows
def quantities_of_scans(folder):
    lines, slices = scans(folder)
    npy = "npy lines_f4.npy axes=z,view,detector theta_start=0 theta_stop=180"
    np.save(f"{folder}/t.npy", np.exp(-lines))
    t = "npy t.npy axes=z,view,detector theta_start=0 theta_stop=180"
    padded = np.pad(lines, ((0, 0), (0, 0), (4, 4)))
    np.save(f"{folder}/counts.npy", np.round(20000 * np.exp(-padded)).astype("u2"))
    counts = "npy counts.npy axes=z,view,detector theta_start=0 theta_stop=180 quantity=counts"
    np.save(f"{folder}/padded.npy", padded)
    run(*words_of("npy padded.npy axes=z,view,detector theta_start=0 theta_stop=180 quantity=line_integral | fbp"),
        cwd=folder)
    wider = image(folder)
    for stage in ("fbp", "fourier", "sirt iterations=3", "cgls iterations=3"):
        run(*words_of(f"{npy} quantity=line_integral | {stage}"), cwd=folder)
        right = image(folder)
        carry(folder, f"{t} quantity=transmission | {stage}", "`minus_log` makes them from a transmission",
              f"{t} quantity=transmission | minus_log | {stage}", close(right))
        carry(folder, f"{npy} quantity=intensity | {stage}",
              "where the values are line integrals, say `quantity: line_integral` at the input, or in `rescale` with its `range`",
              (f"{npy} quantity=line_integral | {stage}",
              f"{npy} quantity=intensity | rescale range=0,1 clip=false quantity=line_integral | {stage}"),
              close(right))
    from_counts = "`flat_field`, or `air` without flats, and then `minus_log` make them from counts"
    carry(folder, "nexus scan.nxs | fbp", from_counts, SCAN + " | minus_log | fbp", slices)
    carry(folder, f"{counts} | fbp", from_counts, f"{counts} | air detectors=4 | minus_log | fbp", close(wider))
    carry(folder, "nexus scan.nxs | minus_log", "`flat_field` makes it from counts and flats, `air` from counts alone",
          SCAN + " | minus_log", lines)
    right = lambda a: abs(a - padded).max() < 1e-3  # noqa: E731
    carry(folder, f"{counts} | minus_log", "`air` from counts alone", f"{counts} | air detectors=4 | minus_log", right)
    carry(folder, SCAN + " | minus_log | minus_log", "the logarithm of these was taken already, so leave minus_log out",
          SCAN + " | minus_log", lines)
    carry(folder, SCAN + " | minus_log | fbp | minus_log",
          "this image is reconstructed, and minus_log goes before the reconstruction", SCAN + " | minus_log | fbp",
          slices)
    carry(folder, f"{t} quantity=intensity | minus_log",
          "where the values are I/I0, say `quantity: transmission` at the input, or in `rescale` with its `range`; else `air` divides them by the beam beside the object",
          (f"{t} quantity=transmission | minus_log",
          f"{t} quantity=intensity | rescale range=0,1 clip=false quantity=transmission | minus_log"), lines)
    intensity = counts.replace("=counts", "=intensity")
    carry(folder, f"{intensity} | minus_log", "else `air` divides them by the beam beside the object",
          f"{intensity} | air detectors=4 | minus_log", right)
    carry(folder, f"{t} quantity=transmission | minus_log | air detectors=4",
          "the logarithm of these was taken already, and air goes before minus_log",
          f"{counts} | air detectors=4 | minus_log", right)
    hu = lambda a: abs(a - 1000 * (slices - 0.02) / 0.02).max() < 1  # noqa: E731
    carry(folder, "nexus scan.nxs | to_hu water=0.02",
          "`flat_field`, `minus_log` and a reconstruction such as `fbp` make one from counts",
          SCAN + " | minus_log | fbp | to_hu water=0.02", hu)
    carry(folder, SCAN + " | to_hu water=0.02",
          "`minus_log` and a reconstruction such as `fbp` make one from a transmission",
          SCAN + " | minus_log | fbp | to_hu water=0.02", hu)
    carry(folder, SCAN + " | minus_log | to_hu water=0.02",
          "a reconstruction such as `fbp` makes one of line integrals", SCAN + " | minus_log | fbp | to_hu water=0.02",
          hu)
    np.save(f"{folder}/mu.npy", slices)
    carry(folder, "npy mu.npy | to_hu water=0.02",
          "where the values are 1/mm, say `quantity: attenuation` at the input",
          "npy mu.npy quantity=attenuation | to_hu water=0.02", hu)
    carry(folder, "npy mu.npy | to_attenuation water=0.02", "where the values are HU, say `quantity: hu` at the input",
          "npy mu.npy quantity=hu | to_attenuation water=0.02", 0.02 * (1 + slices / 1000))
    carry(folder, "npy mu.npy quantity=hu spacing=1,1,1 | radon views=8",
          "`to_attenuation: {water: 0.0206}` before it makes line integrals as a scanner measures them, with vacuum outside; `to_hu` after a reconstruction leads back",
          "npy mu.npy quantity=hu spacing=1,1,1 | to_attenuation water=0.0206 | radon views=8 | fbp | to_hu water=0.0206",
          lambda a: a.shape[0] == 4)
    carry(folder, "npy mu.npy quantity=hu | noise photons=1000",
          "`to_attenuation` and `radon` make line integrals of a CT",
          "npy mu.npy quantity=hu spacing=1,1,1 | to_attenuation water=0.0206 | radon views=8 | noise photons=1000",
          lambda a: a.shape[:2] == (4, 8))
    carry(folder, "npy mu.npy quantity=attenuation | noise photons=1000", "`radon` makes line integrals of it",
          "npy mu.npy quantity=attenuation spacing=1,1,1 | radon views=8 | noise photons=1000",
          lambda a: a.shape[:2] == (4, 8))
    carry(folder, "nexus scan.nxs | stitch",
          "`flat_field`, or `air` without flats, and then `minus_log` make line integrals", SCAN + " | minus_log",
          lines)


@rows
def beams(folder):
    lines, slices = scans(folder)
    np.save(f"{folder}/mu.npy", slices)
    mu = "npy mu.npy quantity=attenuation spacing=1,1,1"
    fan = "beam=fan-flat source_axis=200 source_detector=300"
    carry(folder, f"{mu} | radon views=16 {fan} method=tensor", "leave method out", f"{mu} | radon views=16 {fan}",
          lambda a: a.shape[1] == 16)
    scan = f"{mu} | radon views=16 arc=120 {fan}"
    for stage in ("fbp",):
        carry(folder, f"{scan} | {stage}",
              "gaps: accept reconstructs from what is there; sirt and cgls need no whole scan",
              (f"{scan} | fbp gaps=accept", f"{scan} | sirt iterations=2", f"{scan} | cgls iterations=2"),
              lambda a: a.shape[0] == 4)
    carry(folder, f"{scan} | rebin", "sirt and cgls need no whole scan", (f"{scan} | sirt iterations=2",
          f"{scan} | cgls iterations=2"), lambda a: a.shape[0] == 4)
    whole = f"{mu} | radon views=48 arc=360 {fan}"
    carry(folder, f"{whole} | backproject model=linear",
          "fbp has the pixel-driven backprojection of a fan, with its weights; filter: none",
          f"{whole} | fbp filter=none", lambda a: a.shape[0] == 4)
    carry(folder, f"{whole} | center", "give where the axis stands, such as center: {center:",
          f"{whole} | center center=@C | fbp", lambda a: a.shape[0] == 4)
    carry(folder, f"{whole} | backproject method=tensor", "leave method out", f"{whole} | backproject",
          lambda a: a.shape[0] == 4)
    turn = "npy lines_f4.npy axes=z,view,detector theta_start=0 theta_stop=180 quantity=line_integral"
    carry(folder, f"{turn} | stitch", "fbp and fourier take half a turn without stitch",
          (f"{turn} | fbp", f"{turn} | fourier"), slices.shape)
    right = close(slices, 0.05)
    radians = turn.replace("180", "3.14159265358979 angle_unit=degree")
    carry(folder, f"{radians} | fbp", "angle_unit: radian of the input if they are radians",
          f"{radians.replace('degree', 'radian')} | fbp", right)
    carry(folder, f"{radians} | fbp", "where they are degrees, gaps: accept takes them", f"{radians} | fbp gaps=accept", slices.shape)
    carry(folder, f"{radians} | sirt iterations=2", "where they are degrees, fbp with gaps: accept takes them",
          f"{radians} | fbp gaps=accept", slices.shape)
    part = turn.replace("180", "2.3 angle_unit=degree")
    for stage in ("sirt iterations=2", "cgls iterations=2", "backproject"):
        carry(folder, f"{part} | {stage}", "angle_unit: radian of the input if they are radians; angles in turns have to be converted",
              f"{part.replace('degree', 'radian')} | {stage}", slices.shape)
    carry(folder, f"{part} | fbp", "angle_unit: radian of the input if they are radians",
          f"{part.replace('degree', 'radian')} | fbp gaps=accept", slices.shape)
    carry(folder, f"{part} | fbp", "where they are degrees, gaps: accept reconstructs from what is there",
          f"{part} | fbp gaps=accept", slices.shape)
    far = turn.replace("180", "4320")
    carry(folder, f"{far} | fbp", "where these are right, gaps: accept takes them", f"{far} | fbp gaps=accept", slices.shape)
    carry(folder, f"{far} | filter | backproject model=linear weights=angles", "where these are right, gaps: accept takes them",
          f"{far} | filter | backproject model=linear weights=angles gaps=accept", slices.shape)
    carry(folder, f"{far} | sirt iterations=2", "the unit or the range of the angles may be wrong", f"{turn} | sirt iterations=2", slices.shape)
    many = turn.replace("180", "180 angle_unit=radian")
    carry(folder, f"{many} | save name=s", "angle_unit: degree if they are degrees",
          f"{turn} angle_unit=degree | save name=s", lines)
    bright = turn.replace("lines_f4", "bright").replace("line_integral", "transmission")
    wide = np.pad(lines, ((0, 0), (0, 0), (8, 8)))
    np.save(f"{folder}/bright.npy", (2.5 * np.exp(-wide)).astype("f4"))
    carry(folder, f"{bright} | minus_log", "`air` before minus_log makes it 1, with as many `detectors` as see no object",
          f"{bright} | air detectors=4 | minus_log", lambda a: abs(a - wide).max() < 1e-4)
    for factor in (1.25, 0.8):
        np.save(f"{folder}/bright.npy", (factor * np.exp(-wide)).astype("f4"))
        carry(folder, f"{bright} | minus_log", "`air` before minus_log makes it 1, with as many `detectors` as see no object",
              f"{bright} | air detectors=4 | minus_log", lambda a: abs(a - wide).max() < 1e-4)
    np.save(f"{folder}/bright.npy", (0.4 * np.exp(-wide) * np.random.default_rng(1).normal(1, 1e-3, wide.shape)).astype("f4"))
    carry(folder, f"{bright} | minus_log | fbp", "`air` before minus_log makes it 0, with as many `detectors` as see no object",
          f"{bright} | air detectors=4 | minus_log | fbp", lambda a: a.shape[0] == 4)
    carry(folder, f"{turn} | minus_log", "the logarithm of these was taken already, so leave minus_log out", turn,
          lines)
    dark = lines.copy()
    dark[:] = np.exp(-lines)
    dark[0, 0, 0] = -1
    np.save(f"{folder}/dark.npy", dark)
    low = turn.replace("lines_f4", "dark").replace("line_integral", "transmission")
    expected = lines.copy()
    expected[0, 0, 0] = -np.log(0.5)
    carry(folder, f"{low} | minus_log nonpositive=error", "nonpositive: floor takes `floor` in their place",
          f"{low} | minus_log nonpositive=floor floor=0.001",
          lambda a: np.isfinite(a).all() and np.allclose(a[1:], lines[1:], atol=1e-4))
    dark[0, 0, 0] = 0
    np.save(f"{folder}/zero.npy", dark)
    zero = low.replace("dark.npy", "zero.npy")
    carry(folder, f"{zero} | minus_log nonpositive=error", "dead pixels or a beam that was blocked; nonpositive: floor takes `floor` in their place",
          f"{zero} | minus_log nonpositive=floor floor=0.001",
          lambda a: np.isfinite(a).all() and np.allclose(a[1:], lines[1:], atol=1e-4))
    dark[0, 0, 0] = np.nan
    np.save(f"{folder}/nan.npy", dark)
    nan = low.replace("dark.npy", "nan.npy")
    carry(folder, f"{nan} | minus_log", "`bad_pixels` before minus_log fills them, nonfinite: nan lets them pass",
          (f"{nan} | bad_pixels | minus_log", f"{nan} | minus_log nonfinite=nan"),
          lambda a: np.allclose(a[1:], lines[1:], atol=1e-4))
    dark[0, 0, 0] = np.inf
    np.save(f"{folder}/inf.npy", dark)
    inf = low.replace("dark.npy", "inf.npy")
    carry(folder, f"{inf} | minus_log",
          "`bad_pixels` before minus_log fills them, nonfinite: nan lets them pass as NaN",
          (f"{inf} | bad_pixels | minus_log", f"{inf} | minus_log nonfinite=nan"),
          lambda a: np.allclose(a[1:], lines[1:], atol=1e-4))


@rows
def units_of_numbers(folder):
    arrays(folder)
    run("phantom", "head", "-o", f"{folder}/head", "--size", "16", "--slices", "3", "--quiet")
    mm = "0.8"
    carry(folder, "npy f4.npy | box radius=2s", "the unit of radius is pixel: give the number in that unit",
          "npy f4.npy | box radius=2", V.shape)
    carry(folder, "npy f4.npy | gaussian sigma=1s",
          "the parameter unit says in what sigma is: give a number only, and unit beside it",
          "npy f4.npy | gaussian sigma=1 unit=pixel", V.shape)
    carry(folder, "dicom head | gaussian sigma=1mm", "give a number only, and unit beside it, as unit=mm",
          "dicom head | gaussian sigma=1 unit=mm", (3, 16, 16))
    carry(folder, "npy f4.npy | window low=0HU high=250 out_low=0 out_high=250",
          "low is in the unit of the image's values, which `tomostage check` shows: give it in that unit, as a number only",
          "npy f4.npy | window low=0 high=250 out_low=0 out_high=250", V)
    carry(folder, "npy f4.npy | gaussian sigma=1 truncate=4s", "truncate is a share or a factor: give a number only, or with %",
          ("npy f4.npy | gaussian sigma=1 truncate=4", "npy f4.npy | gaussian sigma=1 truncate=400%"), V.shape)
    carry(folder, "npy f4.npy | crop above=200 below=100",
          "values between two have `above`, the lower one, and `below`", "npy f4.npy | crop above=100 below=200",
          lambda a: a.size > 0)
    carry(folder, "npy u1.npy | histogram bins=16s", "bins has no unit: give a number only",
          "npy u1.npy | histogram bins=16", V)
    carry(folder, "npy f4.npy | box radius={sweep 1mm 2mm}", "give radius in pixels", "npy f4.npy | box radius={sweep 1 2}",
          (2, *V.shape))
    carry(folder, "npy f4.npy | box radius=1mm", "give radius in pixels; `tomostage check` shows the spacing",
          "npy f4.npy | box radius=1", V.shape)
    carry(folder, "dicom head | box radius=1mm", f"give radius in pixels, or {mm} mm",
          ("dicom head | box radius=1", f"dicom head | box radius={mm}mm"), (3, 16, 16))
    carry(folder, f"dicom head | box radius={mm}mm dimensions=3d",
          "give radius in pixels, or make the spacing the same along all axes with `resample`",
          ("dicom head | box radius=1 dimensions=3d",
           f"dicom head | resample spacing={mm},{mm},{mm} | box radius={mm}mm dimensions=3d"), lambda a: a.shape[1:] == (16, 16))


@rows
def bias_fields(folder):
    arrays(folder)
    carry(folder, "npy f4.npy | n4 iterations=2.5", "one whole number for each level, 8 levels at most: [50, 50, 30, 20]",
          "npy f4.npy | n4 shrink=1 iterations=50,50,30,20", V.shape)
    carry(folder, "npy f4.npy | n4 control_points=4,5", "one whole number for all axes, or [x, y, z]",
          ("npy f4.npy | n4 control_points=5", "npy f4.npy | n4 control_points=4,5,6"), V.shape)
    carry(folder, "npy f4.npy | n4 control_points=64 iterations=1,1,1", "fewer levels, fewer control_points or a longer spline_distance",
          ("npy f4.npy | n4 control_points=64 iterations=1", "npy f4.npy | n4 control_points=8 iterations=1,1,1"), V.shape)
    carry(folder, "npy f4.npy spacing=1,1,1 | n4 spline_distance=0.01 iterations=1,1,1", "fewer levels, fewer control_points or a longer spline_distance",
          "npy f4.npy spacing=1,1,1 | n4 spline_distance=10 iterations=1,1,1", V.shape)
    carry(folder, "npy f4.npy | n4 spline_distance=20", "`control_points` needs none", "npy f4.npy | n4 control_points=4", V.shape)
    carry(folder, "npy f4.npy | threshold above=1000 name=none | n4 input=input mask=none",
          "it needs voxels above 0 that are valid, where the mask and the weights are not 0",
          "npy f4.npy | n4", V.shape)
    carry(folder, "npy f4.npy quantity=hu | n4", "a CT has no bias field; if the values are of an MR, say `quantity: intensity` at the input",
          "npy f4.npy quantity=intensity | n4", V.shape)


@rows
def series(folder):
    arrays(folder)
    with open(f"{folder}/series.mha", "wb") as file:
        file.write(b"NDims = 4\nDimSize = 8 8 4 3\nElementSpacing = 1 1 1 1\nElementType = MET_FLOAT\ntomostage_volumes = time s 0 2\n"
                   b"ElementDataFile = LOCAL\n" + np.stack([V, 2 * V, 4 * V]).tobytes())
    carry(folder, "mha series.mha | reduce axis=echo method=sum", "`axis: volumes` takes them, whatever they differ by",
          "mha series.mha | reduce axis=volumes method=sum", 7 * V)
    carry(folder, "npy f4.npy | reduce axis=time method=max", "`axis: z` makes one slice of all slices of a volume",
          "npy f4.npy | reduce axis=z method=max", V.max(0)[None])
