/* SPDX-License-Identifier: Apache-2.0 */
/* Pearson's chi-square test: could these counts have come about by equal chances?
 *
 *     double p = chi_square_even(counts, n);       // 1e-9: hardly
 *
 * The counts must be of things that choose independently: flows, not packets,
 * for all packets of a flow go the same way. Pure functions. */
#ifndef CONTROLLER_CHI_SQUARE_H
#define CONTROLLER_CHI_SQUARE_H

#include <math.h>
#include <stddef.h>

/* The upper tail of the chi-square distribution: Q(degrees / 2, x / 2), the regularised
 * incomplete gamma function, by the series of its lower part where that converges fast, else by
 * Lentz's continued fraction (Abramowitz and Stegun 6.5.29 and 6.5.31). */
static inline double
chi_square_tail(double x, unsigned degrees)
{
    double a = degrees / 2.0, z = x / 2;
    if (z <= 0 || !degrees) {
        return 1;
    }
    double front = exp(-z + a * log(z) - lgamma(a));
    if (z < a + 1) {
        double term = 1 / a, sum = term;
        for (int i = 1; i < 1000 && term > sum * 1e-15; i++) {
            term *= z / (a + i);
            sum += term;
        }
        return fmax(0, 1 - front * sum);
    }
    double b = z + 1 - a, c = 1e300, d = 1 / b, h = d;
    for (int i = 1; i < 1000; i++) {
        double an = -i * (i - a);
        b += 2;
        d = 1 / (an * d + b);
        c = b + an / c;
        h *= d * c;
        if (fabs(d * c - 1) < 1e-15) {
            break;
        }
    }
    return fmin(1, front * h);
}

static inline double
chi_square_even(const unsigned counts[], size_t n)
{
    double sum = 0, x = 0;
    for (size_t i = 0; i < n; i++) {
        sum += counts[i];
    }
    for (size_t i = 0; i < n && sum > 0; i++) {
        double expected = sum / (double) n;
        x += (counts[i] - expected) * (counts[i] - expected) / expected;
    }
    return n > 1 ? chi_square_tail(x, (unsigned) n - 1) : 1;
}

#endif
