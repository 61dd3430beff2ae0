/* naming.c -- numbers of the handshake as words of the profile. Runs: in the collector process,
 * when a profile is wanted.
 * SPDX-License-Identifier: Apache-2.0 */
#include "collect/naming.h"

#include <elf.h>

#include "format/segment.h"

const char *naming_get_machine(uint32_t machine)
{
	switch (machine) {
	case EM_X86_64:
		return "x86_64";
	case EM_AARCH64:
		return "aarch64";
	default:
		return "";
	}
}

const char *naming_get_mode(uint32_t mode)
{
	switch (mode) {
	case SEGMENT_MODE_SAMPLE:
		return "sample";
	case SEGMENT_MODE_TAGS:
		return "tags";
	default:
		return "exact";
	}
}
