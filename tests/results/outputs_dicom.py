# SPDX-License-Identifier: Apache-2.0
"""DICOM that is written: objects, identity, codecs, series of volumes, and what the values are when it is read back."""
import json
import os
import shutil
import subprocess

import h5py
import nibabel
import numpy as np
import pydicom

from harness import DATA, need_data, run, test
from outputs_support import TO_RAS, check_nifti, check_object, diffusion_series, letter_volume, phantom, read_dicom, reload, result, same_files


@test
def a_result_knows_its_acquisition(folder):
    """What is exported from a result, or computed further from it, is what the run itself would have written."""
    sources = {"phantom": phantom(folder)}
    if DATA:
        sources["mosaic"] = f"dicom {DATA}/mr/siemens_mosaic/dicom series=#6"
        sources["pet"] = f"dicom {DATA}/ct/ibsi_sts001/dicom/PET/image"
    for name, source in sources.items():
        if name != "mosaic":
            run("run", f"{source} | box radius=1 | dicom {folder}/{name}_own | hdf5 {folder}/{name}.h5")
            run("export", f"{folder}/{name}.h5", "--format", "dicom", "-o", f"{folder}/{name}_later")
            same_files(f"{folder}/{name}_own", f"{folder}/{name}_later")
        run("run", f"{source} | box radius=1 | hdf5 {folder}/{name}.h5 | nifti {folder}/{name}.nii", "--force")
        run("export", f"{folder}/{name}.h5", "-o", f"{folder}/later.nii", "--force")
        run("run", f"result {folder}/{name}.h5 | nifti {folder}/further.nii", "--force")
        facts = []
        for path in f"{folder}/{name}.json", f"{folder}/later.json", f"{folder}/further.json":
            with open(path, encoding="utf-8") as file:
                text = file.read()
            assert text.count('"Image"') == 1
            facts.append(json.loads(text))
            for key in "SeriesOfInput", "FilesPassedOver", "Warnings", "Digest":  # of the files that the first run read
                facts[-1].pop(key, None)
        assert facts[0] == facts[1] == facts[2], name
        # Facts about single slices go with their slices; those that all have in common stay.
        run("run", f"{source} | reorient to=RPI | crop z=[1,4] | hdf5 {folder}/part.h5", "--force")
        run("export", f"{folder}/part.h5", "-o", f"{folder}/part.nii", "--force")
        with open(f"{folder}/part.json", encoding="utf-8") as file:
            part = json.load(file)
        assert part["Modality"] == facts[0]["Modality"] and "SliceTiming" not in part
        for key, value in part.items():
            assert not (isinstance(value, list) and len(value) == 7), key


def check_dicom(program_result, folder):
    data, lps = program_result
    values, found, files = read_dicom(folder)
    half = 0 if data.dtype.kind in "iu" and data.dtype.itemsize < 4 else 0.5001 * float(files[0].RescaleSlope)
    assert np.abs(values - data.astype(float)).max() <= half, np.abs(values - data.astype(float)).max()
    assert np.allclose(found, lps, rtol=0, atol=1e-4), (found, lps)
    first = files[0]
    assert len({file.SOPInstanceUID for file in files}) == len(files)
    assert len({file.SeriesInstanceUID for file in files}) == 1
    assert first.ImageType[:2] == ["DERIVED", "PRIMARY" if first.Modality == "PT" else "SECONDARY"]
    assert not first.PatientName and not first.PatientID and first.PatientIdentityRemoved == "YES"
    if shutil.which("dciodvfy"):
        report = subprocess.run(["dciodvfy", f"{folder}/slice_0002.dcm"], capture_output=True, text=True).stderr
        assert "Error" not in report, report
    return first


@test
def dicom_is_read_back(folder):
    chain = phantom(folder)
    stages = ["save name=same", "rescale out_low=0 out_high=255 dtype=u8", "rescale out_low=0 out_high=60000 dtype=u16",
              "gaussian sigma=1 unit=pixel", "rescale out_low=-0.01 out_high=0.02"]
    for stage in stages:
        for codec in "none", "rle":
            run("run", f"{chain} | {stage} | hdf5 {folder}/a.h5 | dicom {folder}/derived codec={codec}", "--force")
            first = check_dicom(result(f"{folder}/a.h5"), f"{folder}/derived")
            assert first.file_meta.TransferSyntaxUID == "1.2.840.10008.1.2." + {"none": "1", "rle": "5"}[codec]
            run("run", f"dicom {folder}/derived | save name=same | hdf5 {folder}/b.h5", "--force")
            (data, lps), (again, lps_again) = result(f"{folder}/a.h5"), result(f"{folder}/b.h5")
            half = 0.5001 * float(first.RescaleSlope) if data.dtype.itemsize == 4 else 0
            assert np.abs(data.astype(float) - again).max() <= half + 1e-6 * np.abs(again).max() * (half > 0), stage
            assert np.allclose(lps, lps_again, rtol=0, atol=1e-6)
    # Equal results have equal files.
    run("export", f"{folder}/a.h5", "--format", "dicom", "-o", f"{folder}/again")
    run("export", f"{folder}/a.h5", "--format", "dicom", "-o", f"{folder}/twice")
    same_files(f"{folder}/again", f"{folder}/twice")


@test
def dicom_codecs(folder):
    """What other programs decode, and this one reads again, are the values that were stored without compression."""
    chain = phantom(folder)
    for stage in "save name=same", "gaussian sigma=1 unit=pixel":
        run("run", f"{chain} | {stage} | hdf5 {folder}/a.h5 | dicom {folder}/none", "--force")
        plain = reload(f"dicom {folder}/none", folder)
        for codec, syntax in ("j2k", "4.90"), ("rle", "5"):
            run("run", f"{chain} | {stage} | dicom {folder}/packed codec={codec}", "--force")
            file = check_object(f"{folder}/packed/slice_0003.dcm", {})
            assert file.file_meta.TransferSyntaxUID == f"1.2.840.10008.1.2.{syntax}"
            assert np.array_equal(reload(f"dicom {folder}/packed", folder)[0], plain[0]), codec
            if codec == "rle" and shutil.which("dcmdrle"):
                subprocess.run(["dcmdrle", f"{folder}/packed/slice_0003.dcm", f"{folder}/plain.dcm"], check=True)
                assert np.array_equal(pydicom.dcmread(f"{folder}/plain.dcm").pixel_array,
                                      pydicom.dcmread(f"{folder}/none/slice_0003.dcm").pixel_array), codec
            if codec == "j2k" and shutil.which("opj_decompress"):
                with open(f"{folder}/frame.j2k", "wb") as frame:
                    frame.write(next(pydicom.encaps.generate_pixel_data_frame(file.PixelData, 1)))
                subprocess.run(["opj_decompress", "-i", f"{folder}/frame.j2k", "-o", f"{folder}/frame.rawl"], check=True,
                               capture_output=True)
                stored = pydicom.dcmread(f"{folder}/none/slice_0003.dcm").pixel_array
                frame = np.fromfile(f"{folder}/frame.rawl", stored.dtype.newbyteorder("<")).reshape(stored.shape)
                assert np.array_equal(frame, stored)
    # Noise does not compress: its frames are longer than what is stored.
    random = np.random.default_rng(5)
    for dtype in "u1", "i1", "u2", "i2", "u4", "i4", "f4":
        for shape in (32, 32, 8), (65, 33, 3):
            noise = random.normal(size=shape).astype(dtype) if dtype == "f4" else random.integers(
                np.iinfo(dtype).min, np.iinfo(dtype).max, shape, dtype, endpoint=True)
            nibabel.save(nibabel.Nifti1Image(noise, np.diag([-1, -1, 2, 1])), f"{folder}/noise.nii")
            run("run", f"nifti {folder}/noise.nii quantity=hu | dicom {folder}/none", "--force")
            plain = reload(f"dicom {folder}/none", folder)[0]
            for codec in "j2k", "rle":
                run("run", f"nifti {folder}/noise.nii quantity=hu | dicom {folder}/packed codec={codec}", "--force")
                assert np.array_equal(reload(f"dicom {folder}/packed", folder)[0], plain), (codec, dtype, shape)


@test
def dicom_of_several_volumes(folder):
    """A series by time, by echo and by b-value is one series, and is read to the same."""
    diffusion_series(folder, np.eye(3))
    echoes = f"{folder}/echoes"
    os.makedirs(echoes)
    for name in os.listdir(f"{folder}/dwi"):  # the same images without weighting, as five echoes
        file = pydicom.dcmread(f"{folder}/dwi/{name}")
        file.EchoTime = 10.5 + 7 * int(name[0])
        file.SeriesInstanceUID, file.AcquisitionNumber = "1.2.7", 1
        del file.DiffusionBValue
        if "DiffusionGradientOrientation" in file:
            del file.DiffusionGradientOrientation
        for tag in [element.tag for element in file if element.tag.group == 0x19]:
            del file[tag]
        file.save_as(f"{echoes}/{name}")
    sources = [("b", f"dicom {folder}/dwi"), ("echo", f"dicom {echoes} split=none")]
    if DATA:
        sources += [("time", f"dicom {DATA}/mr/siemens_mosaic/dicom series=#6"), ("time", f"dicom {DATA}/mr/ge_epi_4d_interleaved/dicom")]
    for kind, source in sources:
        for codec in "none", "j2k":
            run("run", f"{source} | dicom {folder}/derived codec={codec}", "--force")
        data, lps, axes, _ = reload(source, folder)
        again, lps_again, axes_again, _ = reload(f"dicom {folder}/derived split=none", folder)
        assert list(axes) == list(axes_again) == [kind] and np.allclose(axes[kind], axes_again[kind], atol=1e-6), (axes, axes_again)
        assert np.array_equal(data, again) and np.allclose(lps, lps_again, atol=1e-5)
        names = sorted(os.listdir(f"{folder}/derived"))
        assert len(names) == data.shape[0] * data.shape[1]
        file = check_object(f"{folder}/derived/{names[-1]}", {"Modality": "MR", "TemporalPositionIdentifier": data.shape[0],
                            "NumberOfTemporalPositions": data.shape[0], "ScanningSequence": pydicom.dcmread(f"{folder}/derived/{names[0]}").ScanningSequence})
        assert "EP" in file.ScanningSequence and file.RepetitionTime > 0
        if kind == "b":
            assert file.DiffusionBValue == 1000 and np.allclose(file.DiffusionGradientOrientation, [0.48, 0.6, -0.64])
            run("run", f"dicom {folder}/derived | nifti {folder}/again.nii")
            run("run", f"{source} | nifti {folder}/first.nii")
            assert np.allclose(np.loadtxt(f"{folder}/again.bvec"), np.loadtxt(f"{folder}/first.bvec"), atol=1e-6)


@test
def dicom_knows_the_acquisition(folder):
    """Settings come from the input, and nothing else does: what is not known is empty."""
    source = phantom(folder)
    run("run", f"{source} | dicom {folder}/ct")
    given = pydicom.dcmread(f"{folder}/in/{sorted(os.listdir(folder + '/in'))[0]}")
    file = check_object(f"{folder}/ct/slice_0001.dcm", {"Modality": "CT", "PatientIdentityRemoved": "YES"})
    assert file.KVP == given.get("KVP") and not file.PatientName
    letter_volume(folder)
    run("run", f"hdf5 {folder}/f.h5 path=/f axes=z,y,x spacing=1,1,1 | dicom {folder}/other")
    check_object(f"{folder}/other/slice_0001.dcm", {"Modality": "OT", "SOPClassUID": "1.2.840.10008.5.1.4.1.1.7"})
    need_data()
    mr = f"{DATA}/ct/ibsi_sts001/dicom/MR_T1/image"
    given = pydicom.dcmread(f"{mr}/{sorted(os.listdir(mr))[0]}")
    run("run", f"dicom {mr} | dicom {folder}/mr")
    check_object(f"{folder}/mr/slice_0001.dcm", {name: given.get(name) for name in (
        "Modality", "ScanningSequence", "SequenceVariant", "RepetitionTime", "EchoTime", "PatientPosition", "FlipAngle")})
    pet = f"dicom {DATA}/ct/ibsi_sts001/dicom/PET/image"
    path = f"{DATA}/ct/ibsi_sts001/dicom/PET/image"
    given = pydicom.dcmread(f"{path}/{sorted(os.listdir(path))[0]}")
    for stage in "", "| gaussian sigma=1 unit=pixel", "| rescale out_low=-5 out_high=5":
        run("run", f"{pet} {stage} | dicom {folder}/pet", "--force")
        changed = "rescale" in stage
        file = check_object(f"{folder}/pet/slice_0001.dcm", {
            "Modality": "PT", "SOPClassUID": "1.2.840.10008.5.1.4.1.1.128", "DecayCorrection": given.DecayCorrection,
            "CorrectedImage": given.CorrectedImage,
            "Units": "NONE" if changed else given.Units, "RescaleIntercept": 0})
        data, lps, _, unit = reload(f"{pet} {stage}", folder)
        again, lps_again, _, unit_again = reload(f"dicom {folder}/pet", folder)
        assert np.abs(data - again).max() <= 0.5001 * float(file.RescaleSlope) + 1e-6 * np.abs(data).max()
        assert np.allclose(lps, lps_again, atol=1e-5) and (unit == unit_again or changed), (unit, unit_again)


@test
def animals_on_four_legs_stay_animals(folder):
    """Their axes have other names than those of people: each output says what they are."""
    source = phantom(folder)
    for name in os.listdir(f"{folder}/in"):
        file = pydicom.dcmread(f"{folder}/in/{name}")
        file.AnatomicalOrientationType = "QUADRUPED"
        file.save_as(f"{folder}/in/{name}")
    for stage in "", "| gaussian sigma=1 unit=pixel":
        done = run("run", f"{source} {stage} | dicom {folder}/out | nifti {folder}/out.nii | hdf5 {folder}/out.h5", "--force")
        assert "is QUADRUPED: x, y and z go to" in done.stderr, done.stderr
        assert pydicom.dcmread(f"{folder}/out/slice_0001.dcm").AnatomicalOrientationType == "QUADRUPED"
        with open(f"{folder}/out.json") as file:
            assert json.load(file)["AnatomicalOrientationType"] == "QUADRUPED"
        with h5py.File(f"{folder}/out.h5") as file:
            found = []
            file.visititems(lambda path, item: found.append(item[()]) if path.endswith("anatomical_orientation") else None)
            assert found and all(value in (b"QUADRUPED", "QUADRUPED") for value in found), found
    done = run("run", f"dicom {folder}/out | nifti {folder}/again.nii", "--force")
    assert "is QUADRUPED" in done.stderr
    done = run("run", f"nifti {folder}/out.nii | dicom {folder}/plain")
    assert "AnatomicalOrientationType" not in pydicom.dcmread(f"{folder}/plain/slice_0001.dcm")


@test
def dicom_of_uptake_values(folder):
    """Units and SUV Type of what is written, and of what was read and passed on."""
    source = phantom(folder)
    dose = pydicom.Dataset()
    dose.RadiopharmaceuticalStartTime, dose.RadionuclideTotalDose, dose.RadionuclideHalfLife = "090000", "350000000", "6586.2"
    for name in os.listdir(f"{folder}/in"):
        file = pydicom.dcmread(f"{folder}/in/{name}")
        file.Modality, file.Units, file.SeriesType = "PT", "BQML", ["STATIC", "IMAGE"]
        file.SOPClassUID = file.file_meta.MediaStorageSOPClassUID = "1.2.840.10008.5.1.4.1.1.128"
        file.DecayCorrection, file.CountsSource, file.DecayFactor = "START", "EMISSION", 1
        file.SeriesTime = file.AcquisitionTime = "100000"
        file.PatientWeight, file.PatientSize, file.PatientSex = 75, 1.8, "F"
        file.RadiopharmaceuticalInformationSequence = [dose]
        file.save_as(f"{folder}/in/{name}")
    for by, units, kind in (("body_weight", "GML", "BW"), ("lean_body_mass", "GML", "LBMJANMA"),
                            ("lean_body_mass_james", "GML", "LBMJAMES128"), ("body_surface_area", "CM2ML", "BSA")):
        run("run", f"{source} to_suv={by} | dicom {folder}/{by}")
        check_object(f"{folder}/{by}/slice_0001.dcm", {"Units": units, "SUVType": kind})
        run("run", f"dicom {folder}/{by} | dicom {folder}/{by}-again")
        check_object(f"{folder}/{by}-again/slice_0001.dcm", {"Units": units, "SUVType": kind})
        run("run", f"{source} to_suv={by} | nifti {folder}/{by}.nii.gz")
        sidecar = json.load(open(f"{folder}/{by}.json"))
        assert (sidecar["PixelUnits"], sidecar["SuvType"]) == (units, kind), sidecar
    run("run", f"{source} to_suv=factor suv_factor=0.5 | dicom {folder}/given")
    assert "SUVType" not in pydicom.dcmread(f"{folder}/given/slice_0001.dcm")


@test
def dicom_of_pet_that_states_little(folder):
    """A time is there in any case, counted from the dummy date. What else the standard demands is known, or refused."""
    source = phantom(folder)
    demanded = {"DecayCorrection": "START", "CountsSource": "EMISSION", "DecayFactor": 1.25}

    def write(stated):
        for name in os.listdir(f"{folder}/in"):
            file = pydicom.dcmread(f"{folder}/in/{name}")
            file.Modality, file.Units, file.SeriesType = "PT", "BQML", ["STATIC", "IMAGE"]
            file.SOPClassUID = file.file_meta.MediaStorageSOPClassUID = "1.2.840.10008.5.1.4.1.1.128"
            for key, value in demanded.items():
                if key in stated:
                    setattr(file, key, value)
                elif key in file:
                    delattr(file, key)
            file.save_as(f"{folder}/in/{name}")

    write(demanded)
    run("run", f"{source} | dicom {folder}/pet")
    check_object(f"{folder}/pet/slice_0001.dcm", {"Modality": "PT", "FrameReferenceTime": 0, "CorrectedImage": "", **demanded})
    for key in demanded:
        write([other for other in demanded if other != key])
        refused = run("check", f"{source} | dicom {folder}/other", expect=2)
        assert "a PET image" in refused.stderr and "must state its" in refused.stderr and not os.path.exists(f"{folder}/other"), refused.stderr


@test
def dicom_of_the_parts_of_a_complex_image(folder):
    """Image Type states the part while the values have their unit. An MR must name a sequence: RM and NONE where none is known."""
    source = phantom(folder)
    parts = {"M": ["OTHER", "M"], "P": ["PHASE MAP", "P"], "R": ["OTHER", "R"], "I": ["OTHER", "I"], "AXIAL": ["OTHER"]}
    for part, expected in parts.items():
        for name in os.listdir(f"{folder}/in"):
            file = pydicom.dcmread(f"{folder}/in/{name}")
            file.Modality, file.ImageType = "MR", ["ORIGINAL", "PRIMARY", part]
            file.SOPClassUID = file.file_meta.MediaStorageSOPClassUID = "1.2.840.10008.5.1.4.1.1.4"
            file.save_as(f"{folder}/in/{name}")
        run("run", f"{source} | dicom {folder}/mr", "--force")
        check_object(f"{folder}/mr/slice_0001.dcm", {"ImageType": ["DERIVED", "SECONDARY", *expected],
                                                     "ScanningSequence": "RM", "SequenceVariant": "NONE"})
    run("run", f"{source} | invert | hdf5 {folder}/a.h5 | dicom {folder}/mr", "--force")
    run("export", f"{folder}/a.h5", "--format", "dicom", "-o", f"{folder}/again")
    same_files(f"{folder}/mr", f"{folder}/again")


@test
def left_handed_dicom_is_read_in_the_order_of_its_normal(folder):
    """DICOM states no order of slices: a warning says so, and every voxel is at its place."""
    straight = phantom(folder)
    source = f"{straight} | reorient to=PIL"
    assert "left-handed" in run("run", f"{source} | dicom {folder}/pil").stderr
    data, lps, _, _ = reload(source, folder)
    again, lps_again, _, _ = reload(f"dicom {folder}/pil", folder)
    assert np.array_equal(data[::-1], again)
    last = lps @ [0, 0, len(data) - 1, 1]
    assert np.allclose(lps_again[:, 3], last, atol=1e-5) and np.allclose(lps_again[:, 2], -lps[:, 2], atol=1e-5)
    assert "left-handed" not in run("run", f"{straight} | reorient to=PIR | dicom {folder}/pir").stderr


@test
def an_inversion_time_stands_beside_inversion_recovery_alone(folder):
    """Scanners state one of other sequences too, and dciodvfy calls that an error."""
    diffusion_series(folder, np.eye(3))
    for sequence, time in ("GR", None), ("IR", 900), (["GR", "IR"], 900), ("SIR", None):
        for name in os.listdir(f"{folder}/dwi"):
            file = pydicom.dcmread(f"{folder}/dwi/{name}")
            file.ScanningSequence, file.InversionTime = sequence, 900
            file.save_as(f"{folder}/dwi/{name}")
        run("run", f"dicom {folder}/dwi | dicom {folder}/out | nifti {folder}/out.nii", "--force")
        check_object(f"{folder}/out/slice_0001.dcm", {"InversionTime": time})
        with open(f"{folder}/out.json", encoding="utf-8") as stream:
            assert json.load(stream)["InversionTime"] == 0.9


@test
def what_stages_made_untrue_is_left_out(folder):
    """Thickness, phase axis and loss go along while they hold."""
    diffusion_series(folder, np.eye(3))
    for name in os.listdir(f"{folder}/dwi"):
        file = pydicom.dcmread(f"{folder}/dwi/{name}")
        if name[0] != "0":
            os.remove(f"{folder}/dwi/{name}")
            continue
        file.SliceThickness, file.SpacingBetweenSlices, file.InversionTime = 2, 3, 0
        file.InPlanePhaseEncodingDirection = "COLUMN"
        file.LossyImageCompression, file.LossyImageCompressionRatio, file.LossyImageCompressionMethod = "01", 12, "ISO_15444_1"
        file.save_as(f"{folder}/dwi/{name}")
    key = "InPlanePhaseEncodingDirectionDICOM"
    for stage, thickness, distance, phase in (("save name=same", 2, 3, "COL"), ("crop z=[1,3]", 2, 3, "COL"),
                                              ("resample spacing=[2.5,2,1.5]", 1.5, 1.5, "COL"),
                                              ("reorient to=RAS", 2, 3, "COL"), ("reorient to=PLS", 2, 3, None)):
        run("run", f"dicom {folder}/dwi | {stage} | dicom {folder}/out | nifti {folder}/out.nii", "--force")
        file = check_object(f"{folder}/out/slice_0001.dcm", {
            "SliceThickness": thickness, "SpacingBetweenSlices": distance, "InPlanePhaseEncodingDirection": phase, "InversionTime": None,
            "LossyImageCompression": "01", "LossyImageCompressionRatio": 12, "LossyImageCompressionMethod": "ISO_15444_1"})
        with open(f"{folder}/out.json", encoding="utf-8") as stream:
            facts = json.load(stream)
        assert facts.get(key) == phase and "InversionTime" not in facts, (stage, facts)
        assert facts.get("SliceThickness") == (2 if thickness == 2 else None), (stage, facts)
        assert facts.get("SpacingBetweenSlices") == (3 if distance == 3 else None), (stage, facts)


@test
def dicom_identity(folder):
    """Results of one study go together where a key replaces the UIDs, or where they are kept; else nothing joins them."""
    source = phantom(folder)
    given = pydicom.dcmread(f"{folder}/in/{sorted(os.listdir(folder + '/in'))[0]}")
    with open(f"{folder}/key", "wb") as key:
        key.write(bytes(range(32)))
    os.chmod(f"{folder}/key", 0o600)
    found = {}
    for how in "basic", "key", "keep":
        given_as = {"basic": "", "key": f"uid_key_file={folder}/key", "keep": "deidentify=keep"}[how]
        for stage in "box radius=1", "invert":
            run("run", f"{source} {given_as} | {stage} | hdf5 {folder}/{how}.h5 | dicom {folder}/out", "--force")
            file = check_object(f"{folder}/out/slice_0001.dcm", {"PatientIdentityRemoved": "NO" if how == "keep" else "YES"})
            found[how, stage] = file.StudyInstanceUID, file.FrameOfReferenceUID, file.SeriesInstanceUID
            assert file.SeriesInstanceUID != given.SeriesInstanceUID and not file.PatientName
            assert (file.StudyInstanceUID == given.StudyInstanceUID) == (how == "keep")
            assert (file.FrameOfReferenceUID == given.FrameOfReferenceUID) == (how == "keep")
            assert file.get("LongitudinalTemporalInformationModified") == {"basic": "REMOVED", "key": "MODIFIED", "keep": "UNMODIFIED"}[how]
            if how == "keep" and given.get("SeriesDescription"):
                assert given.SeriesDescription in file.SeriesDescription
        one, other = found[how, "box radius=1"], found[how, "invert"]
        assert one[2] != other[2] and (one[:2] == other[:2]) == (how != "basic")


@test
def dicom_with_text_in_its_pixels(folder):
    source = phantom(folder)
    for name in os.listdir(f"{folder}/in"):
        file = pydicom.dcmread(f"{folder}/in/{name}")
        file.BurnedInAnnotation = "YES"
        file.save_as(f"{folder}/in/{name}")
    run("run", f"{source} burned_in=allow | dicom {folder}/shown")
    check_object(f"{folder}/shown/slice_0001.dcm", {"BurnedInAnnotation": "YES", "PatientIdentityRemoved": "NO"})
    run("run", f"{source} burned_in=mask mask_boxes=[0,0,4,48] mask_value=-1000 | hdf5 {folder}/a.h5 | dicom {folder}/masked")
    check_object(f"{folder}/masked/slice_0001.dcm", {"BurnedInAnnotation": "NO", "PatientIdentityRemoved": "YES"})
    data, *_ = reload(f"dicom {folder}/masked", folder)
    assert (data[:, :4] == -1000).all() and np.array_equal(data, result(f"{folder}/a.h5")[0])


@test
def dicom_of_wide_integers_and_of_what_is_no_number(folder):
    random = np.random.default_rng(2)
    affine = np.diag([-0.5, -0.5, 2, 1])
    narrow = random.integers(100000, 165536, (6, 5, 4), dtype=np.int32)
    wide = random.integers(-2**31, 2**31 - 1, (6, 5, 4), dtype=np.int32)
    broken = random.random((6, 5, 4), dtype=np.float32)
    broken[1, 2, 3] = np.nan
    broken[2, 2, 2] = np.inf
    even = random.permutation(np.arange(-60, 60) * np.float32(200.5) - np.float32(0.25)).reshape(6, 5, 4)
    for values in narrow, wide, broken, even:
        nibabel.save(nibabel.Nifti1Image(values, affine, dtype=values.dtype), f"{folder}/in.nii")
        json_run = run("run", f"nifti {folder}/in.nii quantity=attenuation | save name=same | dicom {folder}/derived", "--force", "--json")
        found, lps, files = read_dicom(f"{folder}/derived")
        slope, numbers = float(files[0].RescaleSlope), np.isfinite(values.transpose(2, 1, 0))
        error = np.abs(found - values.transpose(2, 1, 0))[numbers].max()
        assert error <= (0 if values is narrow or values is even else 0.5001 * slope), error
        assert np.allclose(lps, TO_RAS @ affine, rtol=0, atol=1e-6) and files[0].Modality == "CT"
        stored = np.stack([file.pixel_array for file in files])
        if values is even:
            assert slope == 0.5
        if values is even or values is narrow:
            assert "output-rounded" not in json_run.stdout + json_run.stderr
        else:
            assert "output-rounded" in json_run.stdout + json_run.stderr
        if values is broken:
            assert files[0].PixelPaddingValue == 0 and np.array_equal(stored == 0, ~numbers)


@test
def dicom_of_one_value_beside_invalid_pixels(folder):
    """One value has no distance from another to make a step of: it comes back, and so does a volume without any."""
    for value in 0.75, -0.5, 1e-20, -3e-10, np.nan:
        values = np.full((6, 5, 4), np.nan, np.float32)
        values[2:, 1, 1:3] = value
        nibabel.save(nibabel.Nifti1Image(values, np.diag([-0.5, -0.5, 2, 1])), f"{folder}/in.nii")
        run("run", f"nifti {folder}/in.nii quantity=attenuation | save name=same | dicom {folder}/derived", "--force")
        file = check_object(f"{folder}/derived/slice_0002.dcm", {"PixelPaddingValue": 0})
        assert 0 < float(file.RescaleSlope) < 10 and abs(float(file.RescaleIntercept)) < 10
        run("run", f"dicom {folder}/derived | hdf5 {folder}/back.h5", "--force")
        with h5py.File(f"{folder}/back.h5") as back:
            group = back["entry/data"]
            measured = np.isfinite(values.transpose(2, 1, 0))
            assert np.array_equal(group["pixel_mask"][:] == 0, measured)
            assert np.array_equal(group["data"][:][measured], values.transpose(2, 1, 0)[measured])


@test
def whole_hounsfield_units_are_exact(folder):
    """Beside values between the steps, whole ones come back to the bit, in the whole range of a CT and of 16 bits."""
    random = np.random.default_rng(3)
    for low, high in (-1024, 3071), (-1000.3, 120.7), (-32000.5, 33000), (0.25, 3.5):
        values = random.uniform(low, high, (6, 5, 4)).astype(np.float32)
        values[0, 0, 0], values[5, 4, 3] = low, high
        values[1:3] = np.rint(values[1:3])
        nibabel.save(nibabel.Nifti1Image(values, np.diag([-0.5, -0.5, 2, 1])), f"{folder}/in.nii")
        run("run", f"nifti {folder}/in.nii quantity=hu | save name=same | dicom {folder}/derived", "--force")
        found, _, files = read_dicom(f"{folder}/derived")
        slope, error = float(files[0].RescaleSlope), np.abs(found - values.transpose(2, 1, 0))
        assert slope <= 2 * (high - low) / 65535 * 1.001 and error.max() <= slope / 2, (slope, error.max())
        assert (error.transpose(2, 1, 0)[values == np.rint(values)] == 0).all(), (low, high, slope)


@test
def dicom_of_real_series(folder):
    need_data()
    for name in "CT", "MR_T1", "PET":
        run("run", f"dicom {DATA}/ct/ibsi_sts001/dicom/{name}/image | save name=same | hdf5 {folder}/a.h5 | "
            f"dicom {folder}/derived codec=rle | nifti {folder}/a.nii.gz | tiff {folder}/a.tif", "--force")
        check_dicom(result(f"{folder}/a.h5"), f"{folder}/derived")
        check_nifti(f"{folder}/a.nii.gz", *result(f"{folder}/a.h5"))
