/* tenants.h -- threads that died without a word, and still have a slot. Runs: in the collector
 * process, one thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_COLLECT_TENANTS_H
#define MIDDEN_COLLECT_TENANTS_H

struct collector;

/* Ends the streams of threads that the kernel does not know any more, and of those whose id has
 * been given to another thread. */
void tenants_find_dead(struct collector *c);

#endif
