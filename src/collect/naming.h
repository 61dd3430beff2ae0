/* naming.h -- numbers of the handshake as words of the profile. Runs: in the collector process,
 * when a profile is wanted.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_COLLECT_NAMING_H
#define MIDDEN_COLLECT_NAMING_H

#include <stdint.h>

/* Of an ELF e_machine; "" for one that we do not know. */
const char *naming_get_machine(uint32_t machine);

/* Of an enum segment_mode. */
const char *naming_get_mode(uint32_t mode);

#endif
