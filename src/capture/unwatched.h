/* unwatched.h -- functions that compilers may put nothing into.
 * Runs: nowhere; an attribute.
 * SPDX-License-Identifier: Apache-2.0
 *
 * What nearby.c copies, and every function that becomes part of it, must do what is written there
 * and nothing else: whatever a compiler adds to count calls or to tell of them (--coverage, -pg,
 * -finstrument-functions) refers to something that is not copied. */
#ifndef MIDDEN_CAPTURE_UNWATCHED_H
#define MIDDEN_CAPTURE_UNWATCHED_H

#if __has_attribute(no_profile_instrument_function) /* clang since 13 */
#define UNWATCHED __attribute__((no_instrument_function, no_profile_instrument_function))
#else
#define UNWATCHED __attribute__((no_instrument_function))
#endif

#endif
