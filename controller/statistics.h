/* SPDX-License-Identifier: Apache-2.0 */
/* Small statistics for verdicts. Pure functions.
 *
 *     double low, high;
 *     statistics_wilson(failed, n, &low, &high);       // the rate lies there with 95 %
 */
#ifndef CONTROLLER_STATISTICS_H
#define CONTROLLER_STATISTICS_H

#include <math.h>
#include <stdbool.h>

/* The Wilson score interval at 95 % of a share, of which `hits` of `n` were seen
 * (E. B. Wilson, "Probable inference, the law of succession, and statistical
 * inference", 1927). Unlike the plain estimate it says something for 0 of n, too.
 * 0 to 1 if nothing was seen. */
static inline void
statistics_wilson(unsigned long hits, unsigned long n, double *low, double *high)
{
    const double z = 1.959963985;
    double p = n ? (double) hits / (double) n : 0, d = (double) n;
    if (!n) {
        *low = 0;
        *high = 1;
        return;
    }
    double middle = (p + z * z / (2 * d)) / (1 + z * z / d);
    double reach = z / (1 + z * z / d) * sqrt(p * (1 - p) / d + z * z / (4 * d * d));
    *low = hits ? fmax(0, middle - reach) : 0;
    *high = hits < n ? fmin(1, middle + reach) : 1;
}

/* Whether `hits` of `n` are surely a smaller share than `before` of `n_before`: the intervals
 * do not touch. */
static inline bool
statistics_is_less(unsigned long hits, unsigned long n, unsigned long before, unsigned long n_before)
{
    double low, high, low_before, high_before;
    statistics_wilson(hits, n, &low, &high);
    statistics_wilson(before, n_before, &low_before, &high_before);
    return high < low_before;
}

#endif
