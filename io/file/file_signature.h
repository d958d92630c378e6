/* SPDX-License-Identifier: Apache-2.0
 *
 * This tells a file's format by its first bytes. The one table of signatures serves inputs, masks
 * and `tomostage info`. HDF5 is not in it: its signature may stand at several places, where io/hdf5
 * looks for it.
 */
#ifndef IO_FILE_FILE_SIGNATURE_H
#define IO_FILE_FILE_SIGNATURE_H

/* Returns the name of the format: "dicom", "tiff", "nrrd", "nifti", "npy", "gzip" for anything that
 * gzip compressed, or "archive" for what other programs packed (zip, bzip2, xz, zstd, 7z, tar);
 * NULL where no signature is there or the file cannot be read. `path` is its name: what gzip
 * compressed is "nifti" where that ends in .nii.gz, as such files are read as they are. */
const char *ts_file_signature(int fd, const char *path);
/* Says what to do with a file of that format before anything reads it. NULL for formats that are
 * read as they are. */
const char *ts_file_unpack_hint(const char *format);

#endif
