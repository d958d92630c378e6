/* SPDX-License-Identifier: Apache-2.0
 *
 * The driver over a descriptor: files made through it are those that stock HDF5 makes and reads,
 * and errors of the system reach the caller with their errno.
 */
#define H5_USE_110_API
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/hdf5/hdf5_driver.h"
#include "tests/files/output_fixture.h"

static char folder[256], path[300];
static struct hdf5_failure failure;

static void set_up(void)
{
    ts_test_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/x.h5", folder);
}

static void tear_down(void)
{
    ts_test_remove_folder(folder);
}

TestSuite(hdf5_driver, .init = set_up, .fini = tear_down);

/* A file with one contiguous dataset of so many bytes; the result of the last call that failed, or
 * of closing. */
static herr_t write_file(int fd, hsize_t bytes)
{
    const hid_t creation = H5Pcreate(H5P_FILE_CREATE),
                file = ts_hdf5_create_descriptor(fd, creation, &failure);
    unsigned char *values = calloc(1, bytes);
    herr_t result = -1;
    H5Pclose(creation);
    if (file >= 0) {
        const hid_t space = H5Screate_simple(1, &bytes, NULL),
                    dataset = H5Dcreate2(file, "/values", H5T_STD_U8LE, space, H5P_DEFAULT,
                                         H5P_DEFAULT, H5P_DEFAULT);
        result = H5Dwrite(dataset, H5T_STD_U8LE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
        H5Dclose(dataset);
        H5Sclose(space);
        if (result < 0)
            ts_hdf5_failure(&failure);
        if (result < 0)
            ts_hdf5_driver_discard(file);
        const herr_t closed = H5Fclose(file);
        cr_assert(result >= 0 || closed >= 0, "a discarded file closes");
        result = result < 0 ? result : closed;
    }
    free(values);
    return result;
}

Test(hdf5_driver, stock_hdf5_reads_what_it_writes_and_the_other_way_round)
{
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    cr_assert_eq(pwrite(fd, "was here before", 15, 100000), 15);
    ts_hdf5_enter();
    cr_assert_geq(write_file(fd, 70000), 0);
    const hid_t stock = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    cr_assert_geq(stock, 0);
    cr_assert_gt(H5Lexists(stock, "/values", H5P_DEFAULT), 0);
    H5Gclose(H5Gcreate2(stock, "/group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Fclose(stock);
    const hid_t own = ts_hdf5_open_descriptor(fd, &failure);
    cr_assert_geq(own, 0, "%s", failure.text);
    cr_assert_gt(H5Lexists(own, "/group", H5P_DEFAULT), 0);
    cr_assert_lt(H5Gcreate2(own, "/other", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), 0,
                 "it is open for reading");
    H5Fclose(own);
    ts_hdf5_leave();
    struct stat status;
    fstat(fd, &status);
    cr_assert_leq(status.st_size, 80000);
    close(fd);
}

/* Two files at once: the library tells them apart by device and inode, and takes two descriptors of
 * one file for it. */
Test(hdf5_driver, files_are_told_apart)
{
    char other[300];
    snprintf(other, sizeof other, "%s/y.h5", folder);
    const int a = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600),
              b = open(other, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ts_hdf5_enter();
    cr_assert(write_file(a, 10) >= 0 && write_file(b, 20000) >= 0);
    const hid_t one = ts_hdf5_open_descriptor(a, &failure),
                two = ts_hdf5_open_descriptor(b, &failure);
    cr_assert(one >= 0 && two >= 0);
    hsize_t bytes = 0;
    cr_assert_geq(H5Fget_filesize(two, &bytes), 0);
    cr_assert_gt(bytes, 20000);
    cr_assert_geq(H5Fget_filesize(one, &bytes), 0);
    cr_assert_lt(bytes, 20000);
    H5Fclose(one);
    H5Fclose(two);
    ts_hdf5_leave();
    close(a);
    close(b);
}

Test(hdf5_driver, what_cannot_be_opened_is_named)
{
    static const struct {
        const char *path, *text;
        int error;
    } cases[] = {{"/", "Is a directory", EISDIR}, {"/dev/null", "it is not an HDF5 file", 0}};
    ts_hdf5_enter();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int fd = open(cases[i].path, O_RDONLY | O_CLOEXEC);
        cr_assert_lt(ts_hdf5_open_descriptor(fd, &failure), 0);
        cr_assert_str_eq(failure.text, cases[i].text);
        cr_assert_eq(failure.error_number, cases[i].error);
        close(fd);
    }
    cr_assert_lt(ts_hdf5_open_descriptor(-1, &failure), 0);
    cr_assert_eq(failure.error_number, EBADF);
    ts_hdf5_leave();
}

/* Every size from nothing up: the call fails with the errno of the write, and the library stays
 * usable. */
Test(hdf5_driver, a_write_that_fails_says_why)
{
    struct rlimit before, limit;
    int failed = 0;
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    ts_hdf5_enter();
    for (rlim_t size = 0; size < 9000; size += 500) {
        const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        limit = (struct rlimit){.rlim_cur = size, .rlim_max = before.rlim_max};
        setrlimit(RLIMIT_FSIZE, &limit);
        const herr_t result = write_file(fd, 8000);
        setrlimit(RLIMIT_FSIZE, &before);
        if (result < 0 && ts_hdf5_kept_error())
            ts_hdf5_failure(&failure);
        cr_assert(result >= 0 || failure.error_number == EFBIG, "%d: %s", (int)size, failure.text);
        failed += result < 0;
        close(fd);
    }
    cr_assert_gt(failed, 10);
    const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    cr_assert_geq(write_file(fd, 8000), 0);
    close(fd);
    ts_hdf5_leave();
}

/* A file that was cut is refused by the library, not read as zeros. */
Test(hdf5_driver, a_cut_file_is_refused)
{
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ts_hdf5_enter();
    cr_assert_geq(write_file(fd, 8000), 0);
    cr_assert_eq(ftruncate(fd, 4000), 0);
    cr_assert_lt(ts_hdf5_open_descriptor(fd, &failure), 0);
    ts_hdf5_leave();
    close(fd);
}
