/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/stages/values/middle_oracle.h"

double ts_middle_oracle(double *values, int64_t n)
{
    const int64_t middle = n / 2;
    for (int64_t first = 0, last = n - 1; first < last;) {
        const double pivot = values[middle];
        int64_t i = first, j = last;
        while (i <= j) {
            while (values[i] < pivot)
                i++;
            while (pivot < values[j])
                j--;
            if (i <= j) {
                const double value = values[i];
                values[i++] = values[j];
                values[j--] = value;
            }
        }
        first = j < middle ? i : first;
        last = middle < i ? j : last;
    }
    return values[middle];
}
