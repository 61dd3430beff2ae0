/* marks.h -- snapshots that the program asks for, and a signal that does.
 * Runs: at start-up.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CAPTURE_MARKS_H
#define MIDDEN_CAPTURE_MARKS_H

/* Has each signal of this number ask for a snapshot; 0: none is wanted. */
void marks_take_signal(int number);

#endif
