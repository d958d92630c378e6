# SPDX-License-Identifier: Apache-2.0
"""Geometries of other packages: numbers that were worked out by hand, and sinograms where the package is installed."""
import math
from types import SimpleNamespace

import numpy
import pytest

import tomostage as ts

rays = ts.rays


def letter(n=32):
    """Returns an F, of which no turned or mirrored image is the same."""
    image = numpy.zeros((n, n), numpy.float32)
    image[n // 5 : 4 * n // 5, n // 4 : n // 4 + 3] = 1
    image[n // 5 : n // 5 + 3, n // 4 : 3 * n // 4] = 1
    image[n // 2 : n // 2 + 3, n // 4 : 5 * n // 8] = 1
    return image


def numbers(found):
    """Returns what Rays hold, with angles from 0 to 360."""
    given = dict(found.parameters)
    given["angles"] = [round(float(angle) % 360, 9) % 360 for angle in given["angles"]]
    return given


def same(found, expected):
    a, b = numbers(found), numbers(expected)
    middle = (b["detectors"] - 1) / 2
    for given in (a, b):
        given["center"] = middle if given["center"] is None else given["center"]
    assert found.flipped == expected.flipped and a.keys() == b.keys()
    for key in a:
        assert a[key] == (pytest.approx(b[key], abs=1e-6) if not isinstance(b[key], str) else b[key]), key


# ---- by hand


def test_astra_by_hand():
    parallel = {"type": "parallel", "DetectorCount": 48, "DetectorWidth": 1.5, "ProjectionAngles": numpy.radians([0, 30, 90])}
    same(rays.from_astra(parallel), rays.parallel([0, 30, 90], 48, 1.5))
    # at 0 the source is below the axis, at y = -200, and the pixels rise with x: ours is above it there at 180 degrees
    fan = {"type": "fanflat", "DetectorCount": 48, "DetectorWidth": 1.5, "ProjectionAngles": numpy.radians([0, 30]),
           "DistanceOriginSource": 200, "DistanceOriginDetector": 150}
    same(rays.from_astra(fan), rays.Rays(rays.fan([180, 210], 200, 350, 48, 1.5).parameters, True))
    vectors = {"type": "fanflat_vec", "DetectorCount": 48, "Vectors": [(0, -200, 3, 150, 1.5, 0), (200, 0, -150, 3, 0, 1.5)]}
    # its middle, pixel 23.5, is 3 mm from the axis, which is so at its pixel 21.5, from the other end 25.5
    same(rays.from_astra(vectors), rays.Rays(rays.fan([180, 270], 200, 350, 48, 1.5, 25.5).parameters, True))
    vectors["Vectors"] = [(0, 200, 3, -150, 1.5, 0), (-200, 0, 150, 3, 0, 1.5)]
    same(rays.from_astra(vectors), rays.fan([0, 90], 200, 350, 48, 1.5, 21.5))
    slanted = {"type": "parallel_vec", "DetectorCount": 5, "Vectors": [(0, 1, 0, 0, 2, 2)]}
    same(rays.from_astra(slanted), rays.parallel([0], 5, 2.0))


@pytest.mark.parametrize("geometry, words", [
    ({"type": "cone"}, "'cone' is none of one slice"),
    ({"type": "sparse_matrix"}, "'sparse_matrix'"),
    ({"type": "fanflat_vec", "DetectorCount": 5, "Vectors": [(0, 200, 0, -150, 1, 1)]}, "turned by"),
    ({"type": "fanflat_vec", "DetectorCount": 5, "Vectors": [(0, 200, 0, -150, 1, 0), (0, 250, 0, -150, 1, 0)]}, "distance of the source"),
    ({"type": "fanflat_vec", "DetectorCount": 5, "Vectors": [(0, 200, 0, -150, 1, 0), (0, 200, 0, -150, -1, 0)]}, "other way"),
    ({"type": "fanflat_vec", "DetectorCount": 5, "Vectors": [(0, 200, 0, 350, 1, 0)]}, "behind the source"),
    ({"type": "parallel_vec", "DetectorCount": 5, "Vectors": [(0, 1, 0, 0, 1, 0), (0, 1, 0, 0, 2, 0)]}, "distance of detector pixels"),
    ({"type": "parallel_vec", "DetectorCount": 5, "Vectors": [(0, 1, 0, 0, 1, 0), (0, 1, 2, 0, 1, 0)]}, "pixel of the rotation axis"),
    ({"type": "parallel_vec", "DetectorCount": 5, "Vectors": [(0, 0, 0, 0, 1, 0)]}, "no length"),
    ({"type": "parallel_vec", "DetectorCount": 5, "Vectors": []}, "no views")])
def test_what_astra_can_and_rays_cannot(geometry, words):
    with pytest.raises(ValueError, match=words):
        rays.from_astra(geometry)


def cil(kind="cone", **changes):
    system = SimpleNamespace(rotation_axis=SimpleNamespace(position=[0.0, 0.0]),
                             detector=SimpleNamespace(position=[0.0, 150.0], direction_x=[1.0, 0.0]),
                             source=SimpleNamespace(position=[0.0, -200.0]), ray=SimpleNamespace(direction=[0.0, 1.0]))
    angles = SimpleNamespace(angle_data=numpy.array([0.0, 30.0]), angle_unit="degree", initial_angle=0.0)
    panel = SimpleNamespace(pixel_size=(1.5, 1.0), num_pixels=(48, 1), origin="bottom-left")
    for path, value in changes.items():
        part, name = path.rsplit("__", 1)
        owner = {"angles": angles, "panel": panel}.get(part) or getattr(system, part)
        setattr(owner, name, value)
    return SimpleNamespace(geom_type=kind, dimension="2D", config=SimpleNamespace(system=system, angles=angles, panel=panel))


def test_cil_by_hand():
    # its y rises with the row: a source at y = -200 is above the axis, as ours at 0 degrees
    same(rays.from_cil(cil()), rays.fan([0, 30], 200, 350, 48, 1.5))
    same(rays.from_cil(cil("parallel")), rays.parallel([0, 30], 48, 1.5))
    same(rays.from_cil(cil("parallel", detector__position=[3.0, 0.0])), rays.parallel([0, 30], 48, 1.5, 21.5))
    same(rays.from_cil(cil("parallel", rotation_axis__position=[3.0, 0.0])), rays.parallel([0, 30], 48, 1.5, 25.5))
    same(rays.from_cil(cil(panel__origin="bottom-right")), rays.Rays(rays.fan([0, 30], 200, 350, 48, 1.5).parameters, True))
    radians = cil(angles__angle_unit="radian", angles__angle_data=numpy.radians([0, 30]), angles__initial_angle=math.pi / 2)
    same(rays.from_cil(radians), rays.fan([90, 120], 200, 350, 48, 1.5))
    # a system that is turned as a whole is the same
    turned = cil(source__position=[200.0, 0.0], detector__position=[-150.0, 0.0], detector__direction_x=[0.0, 1.0])
    same(rays.from_cil(turned), rays.fan([0, 30], 200, 350, 48, 1.5))
    with pytest.raises(ValueError, match="turned by"):
        rays.from_cil(cil(detector__direction_x=[0.8, 0.6]))
    three = cil()
    three.dimension = "3D"
    with pytest.raises(ValueError, match="get_slice"):
        rays.from_cil(three)


def tigre(**changes):
    return SimpleNamespace(**{**dict(mode="cone", nDetector=numpy.array([1, 48]), dDetector=numpy.array([1.5, 1.5]), DSO=200.0,
                                     DSD=350.0, offDetector=numpy.array([0.0, 0.0]), offOrigin=numpy.array([0.0, 0.0, 0.0]),
                                     rotDetector=numpy.array([0.0, 0.0, 0.0]), COR=0.0), **changes})


def test_tigre_by_hand():
    # at 0 its source is on x and the pixels rise with y, the row: ours at -90 degrees
    same(rays.from_tigre(tigre(), numpy.radians([0, 30])), rays.fan([-90, -120], 200, 350, 48, 1.5))
    same(rays.from_tigre(tigre(mode="parallel", nDetector=[7, 48]), numpy.radians([[0, 0, 0], [30, 0, 0]])),
         rays.parallel([-90, -120], 48, 1.5))
    shifted = rays.fan([-90, -120], 200, 350, 48, 1.5, 21.5)
    same(rays.from_tigre(tigre(offDetector=numpy.array([0.0, 3.0])), numpy.radians([0, 30])), shifted)
    same(rays.from_tigre(tigre(offDetector=numpy.array([[0, 3.0], [0, 3.0]]), DSO=[200.0, 200.0]), numpy.radians([0, 30])), shifted)
    for changes, words in ((dict(COR=1.0), "COR"), (dict(rotDetector=[0, 0, 0.1]), "rotDetector"), (dict(nDetector=[8, 48]), "8 rows"),
                           (dict(offOrigin=[[0, 0, 0], [0, 0, 2]]), "offOrigin"), (dict(DSO=[200.0, 210.0]), "DSO differs"),
                           (dict(COR=numpy.array([0, 0.5])), "COR")):
        with pytest.raises(ValueError, match=words):
            rays.from_tigre(tigre(**changes), numpy.radians([0, 30]))


def leap(**changes):
    values = {**dict(geometry="FAN", numCols=48, pixelWidth=1.5, centerCol=21.5, angles=numpy.array([0.0, 30.0]), tau=0.0, sod=200.0,
                     sdd=350.0), **changes}
    return SimpleNamespace(**{"get_" + name: (lambda value=value: value) for name, value in values.items()})


def test_leap_by_hand():
    # its y rises with the row, so that its angles turn the other way for the same array
    same(rays.from_leap(leap()), rays.fan([0, -30], 200, 350, 48, 1.5, 21.5))
    same(rays.from_leap(leap(geometry="PARALLEL")), rays.parallel([0, -30], 48, 1.5, 21.5))
    for changes, words in ((dict(geometry="CONE"), "CONE"), (dict(geometry="MODULAR"), "MODULAR"), (dict(tau=2.0), "tau is 2")):
        with pytest.raises(ValueError, match=words):
            rays.from_leap(leap(**changes))


def rtk(angles=(0, 30), axis=200.0, far=350.0, **changes):
    n = len(angles)
    values = {**dict(GantryAngles=[math.radians(angle) for angle in angles], SourceToIsocenterDistances=[axis] * n,
                     SourceToDetectorDistances=[far] * n, ProjectionOffsetsX=[0.0] * n, ProjectionOffsetsY=[0.0] * n,
                     SourceOffsetsX=[0.0] * n, SourceOffsetsY=[0.0] * n, InPlaneAngles=[0.0] * n, OutOfPlaneAngles=[0.0] * n), **changes}
    return SimpleNamespace(**{"Get" + name: (lambda value=value: value) for name, value in values.items()})


def test_rtk_by_hand():
    # at 0 its source is at z = 200, which is below the axis if rows are z, and the pixels rise with x: ours at 180 degrees
    found = rays.from_rtk(rtk(), 48, 1.5, -23.5 * 1.5)
    same(found, rays.Rays(rays.fan([180, 210], 200, 350, 48, 1.5).parameters, True))
    same(rays.from_rtk(rtk(far=0.0), 48, 1.5, -20 * 1.5), rays.parallel([0, 30], 48, 1.5, 20))
    for changes, words in ((dict(InPlaneAngles=[0, 0.1]), "InPlaneAngles"), (dict(SourceToDetectorDistances=[350, 0]), "parallel"),
                           (dict(SourceOffsetsY=[1, 1]), "SourceOffsetsY")):
        with pytest.raises(ValueError, match=words):
            rays.from_rtk(rtk(**changes), 48, 1.5, 0.0)


# ---- there and back


OURS = {"parallel": rays.parallel([0, 20.5, 100], 48, 1.5), "shifted": rays.parallel([0, 20.5, 100], 48, 1.5, 21.25),
        "fan": rays.fan([0, 20.5, 200], 200, 350, 48, 1.5), "shifted fan": rays.fan([0, 20.5, 200], 200, 350, 48, 1.5, 21.25),
        "flipped": rays.Rays(rays.fan([0, 20.5, 200], 200, 350, 48, 1.5, 21.25).parameters, True)}


@pytest.mark.parametrize("name", OURS)
def test_there_and_back(name):
    ours = OURS[name]
    same(rays.from_astra(rays.to_astra(ours)), ours)
    straight = ours if not ours.flipped else rays.Rays(ours.parameters)
    attributes, angles = rays.to_tigre(straight)
    same(rays.from_tigre(SimpleNamespace(**attributes), angles), straight)
    method, arguments = rays.to_leap(straight)
    values = dict(angles=arguments["phis"], numCols=arguments["numCols"], pixelWidth=arguments["pixelWidth"],
                  centerCol=arguments["centerCol"], tau=0.0, sod=arguments.get("sod"), sdd=arguments.get("sdd"))
    same(rays.from_leap(leap(geometry={"set_fanbeam": "FAN"}.get(method, "PARALLEL"), **values)), straight)
    views, spacing, origin = rays.to_rtk(ours if "fan" not in name else rays.Rays(ours.parameters, True))
    geometry = rtk([view[2] for view in views], views[0][0], views[0][1])
    same(rays.from_rtk(geometry, 48, spacing, origin), ours if "fan" not in name else rays.Rays(ours.parameters, True))
    if name in ("parallel", "shifted", "fan"):
        made = rays.to_cil(ours)
        function, arguments = made["create"]
        changes = {"detector__position": arguments["detector_position"], "angles__angle_data": made["set_angles"]["angles"],
                   "panel__num_pixels": (48, 1), "panel__pixel_size": (made["set_panel"]["pixel_size"],) * 2}
        same(rays.from_cil(cil("cone" if function == "create_Cone2D" else "parallel", **changes)), ours)


def test_what_cannot_be_stated_there_is_said():
    arc = rays.fan([0], 200, 350, 48, 1.5, flat=False)
    for to in (rays.to_astra, rays.to_cil, rays.to_tigre, rays.to_leap, rays.to_rtk):
        with pytest.raises(ValueError, match="arc"):
            to(arc)
        with pytest.raises(ValueError, match="detectors and spacing"):
            to(rays.parallel(30))
    for to in (rays.to_tigre, rays.to_leap):
        with pytest.raises(ValueError, match="flip the sinogram"):
            to(OURS["flipped"])
    with pytest.raises(ValueError, match="flip the sinogram"):
        rays.to_rtk(OURS["fan"])
    with pytest.raises(ValueError, match="middle"):
        rays.to_cil(OURS["shifted fan"])


# ---- what a projector makes of them


@pytest.mark.parametrize("shape", [(24, 20), (3, 24, 20)])
def test_a_detector_that_runs_the_other_way(shape):
    ours = rays.fan(36, 200, 350, 61, 1.5, 27.0)
    A, B = ts.Projector(shape, ours), ts.Projector(shape, rays.Rays(ours.parameters, True))
    x = numpy.random.default_rng(0).random((2, *shape), numpy.float32)
    y = A(x)
    assert numpy.array_equal(B(x), y[..., ::-1]) and B(x).flags.c_contiguous
    assert numpy.array_equal(B.T(numpy.ascontiguousarray(y[..., ::-1])), A.T(y)) and numpy.array_equal(B.normal(x), A.normal(x))
    out = numpy.empty_like(y)
    assert B(x, out=out) is out and numpy.array_equal(out, y[..., ::-1]) and B.norm() == A.norm()
    assert numpy.array_equal(B.T.T(x), B(x))
    torch = pytest.importorskip("torch")
    layer, tensor = B.torch(), torch.from_numpy(x).requires_grad_()
    gradient, = torch.autograd.grad((layer(tensor) ** 2).sum(), tensor)
    assert numpy.allclose(gradient.numpy(), 2 * A.T(y), rtol=1e-5)


def correlation(a, b):
    return float(numpy.corrcoef(a.ravel(), b.ravel())[0, 1])


ASTRA = {"parallel": ("parallel", 1.5, 48), "fan": ("fanflat", 3.0, 48)}


@pytest.mark.parametrize("name", ["parallel", "fan", "parallel shifted", "fan shifted"])
def test_astra_projects_the_same(name):
    astra = pytest.importorskip("astra", reason="ASTRA is not installed")
    image, angles = letter(), numpy.radians(numpy.arange(0, 360, 7.0))
    volume = astra.create_vol_geom(32, 32)
    if name.startswith("parallel"):
        geometry = astra.create_proj_geom("parallel", 1.0, 48, angles)
    else:
        geometry = astra.create_proj_geom("fanflat", 2.0, 48, angles, 100.0, 80.0)
    if name.endswith("shifted"):
        geometry = astra.geom_postalignment(geometry, 2.25)
    projector = astra.create_projector("linear" if name.startswith("parallel") else "line_fanflat", geometry, volume)
    identifier, theirs = astra.create_sino(image, projector)
    astra.data2d.delete(identifier)
    astra.projector.delete(projector)
    ours = ts.Projector((32, 32), rays.from_astra(geometry))(image)
    # "linear" is Joseph's method, as ours; "line_fanflat" is that of intersections, which differs at edges of pixels
    if name.startswith("parallel"):
        assert numpy.abs(ours - theirs).max() < 2e-3 * theirs.max()
    assert correlation(ours, theirs) > (0.999999 if name.startswith("parallel") else 0.998)
    assert correlation(ours[..., ::-1], theirs) < 0.99 and correlation(ours[::-1], theirs) < 0.9
    back = rays.to_astra(rays.from_astra(geometry))
    assert ts.Projector((32, 32), rays.from_astra(back))(image) == pytest.approx(ours, abs=1e-4)


@pytest.mark.parametrize("kind", ["fan", "parallel"])
def test_rtk_projects_the_same(kind):
    itk = pytest.importorskip("itk", reason="ITK is not installed")
    rtk_module = getattr(itk, "RTK", None)
    if rtk_module is None:
        pytest.skip("itk-rtk is not installed")
    geometry = rtk_module.ThreeDCircularProjectionGeometry.New()
    axis, far = (100.0, 180.0) if kind == "fan" else (100.0, 0.0)
    for angle in range(0, 360, 7):
        geometry.AddProjection(axis, far, float(angle), 1.5, 0.0)
    volume = numpy.zeros((32, 3, 32), numpy.float32)  # z, y, x
    volume[:] = letter()[:, None, :]
    source = itk.image_from_array(volume)
    source.SetOrigin([-15.5, -1.0, -15.5])
    n, spacing, origin = 48, 2.0 if kind == "fan" else 1.0, -50.0 if kind == "fan" else -23.0
    kind_of_image = itk.Image[itk.F, 3]
    projections = rtk_module.ConstantImageSource[kind_of_image].New()
    projections.SetOrigin([origin, 0.0, 0.0])
    projections.SetSpacing([spacing, 1.0, 1.0])
    projections.SetSize([n, 1, len(range(0, 360, 7))])
    project = rtk_module.JosephForwardProjectionImageFilter[kind_of_image, kind_of_image].New()
    project.SetInput(0, projections.GetOutput())
    project.SetInput(1, source)
    project.SetGeometry(geometry)
    project.Update()
    theirs = itk.array_from_image(project.GetOutput())[:, 0]
    ours = ts.Projector((32, 32), rays.from_rtk(geometry, n, spacing, origin))(letter())
    assert correlation(ours, theirs) > 0.999 and numpy.abs(ours - theirs).max() < 0.05 * theirs.max()
    assert correlation(ours[..., ::-1], theirs) < 0.99
    for i in (0, 5, 11):
        place, angle = geometry.GetSourcePosition(i), geometry.GetGantryAngles()[i]
        assert (place[0], place[2]) == pytest.approx((axis * math.sin(angle), axis * math.cos(angle)), abs=1e-9)
