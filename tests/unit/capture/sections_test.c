/* sections_test.c -- .eh_frame is found by the object's file, and only if the file is the
 * object's. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "capture/cfi.h"
#include "capture/sections.h"

static struct image image;
static uint64_t eh_frame; /* as the linker's own header has it */
static uint8_t *file;	  /* this program's */
static size_t file_bytes;

static int fill_image(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)size;
	(void)context;
	image = (struct image){.map_start = UINT64_MAX, .bias = info->dlpi_addr};
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_GNU_EH_FRAME) {
			const uint8_t *hdr = (const uint8_t *)(uintptr_t)start;
			struct cfi_cursor c = {.at = hdr + 4, .end = hdr + 12};

			eh_frame = cfi_take_pointer(&c, hdr[1], (uint64_t)hdr);
		}
		if (p->p_type == PT_LOAD && start < image.map_start)
			image.map_start = start & ~UINT64_C(4095);
		if (p->p_type == PT_LOAD && start + p->p_memsz > image.map_end)
			image.map_end = start + p->p_memsz;
	}
	return 1; /* the first is the program */
}

static int prepare(void **state)
{
	struct stat status;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &status), 0);
	file_bytes = (size_t)status.st_size;
	file = malloc(file_bytes);
	assert_int_equal(pread(fd, file, file_bytes, 0), (ssize_t)file_bytes);
	(void)close(fd);
	assert_int_equal(dl_iterate_phdr(fill_image, NULL), 1);
	return 0;
}

static int clean_up(void **state)
{
	(void)state;
	free(file);
	return 0;
}

static bool find(const char *path, uint64_t *start, uint64_t *bytes)
{
	int before = open("/", O_RDONLY | O_CLOEXEC);

	(void)close(before);
	errno = 12345;
	bool found = sections_find_eh_frame(&image, path, start, bytes);
	assert_int_equal(errno, 12345);
	int after = open("/", O_RDONLY | O_CLOEXEC);
	(void)close(after);
	assert_int_equal(before, after); /* nothing was left open */
	return found;
}

/* Looks for it in a file with these bytes. */
static bool find_in(const void *bytes, size_t count, uint64_t *start, uint64_t *length)
{
	char path[] = "/tmp/midden-sections-XXXXXX";
	int fd = mkstemp(path);

	assert_int_equal(write(fd, bytes, count), (ssize_t)count);
	(void)close(fd);
	bool found = find(path, start, length);
	(void)unlink(path);
	return found;
}

static void the_programs_own_is_found(void **state)
{
	uint64_t start = 0, bytes = 0;

	(void)state;
	assert_true(find("", &start, &bytes));
	assert_int_equal(start, eh_frame);
	assert_in_range(bytes, 100, image_room(&image, eh_frame, PF_R));
}

static void it_is_found_by_a_path(void **state)
{
	uint64_t start = 0, bytes = 0;

	(void)state;
	assert_true(find_in(file, file_bytes, &start, &bytes));
	assert_int_equal(start, eh_frame);
}

static void a_file_that_is_not_the_objects_is_refused(void **state)
{
	uint64_t start, bytes;

	(void)state;
	assert_false(find("/bin/sh", &start, &bytes));
	assert_false(find("/nonexistent/file", &start, &bytes));
	assert_false(find("/", &start, &bytes));
	assert_false(find("/dev/null", &start, &bytes));
	assert_false(find("linux-vdso.so.1", &start, &bytes));
	file[offsetof(Elf64_Ehdr, e_entry)] ^= 1;
	assert_false(find_in(file, file_bytes, &start, &bytes));
	file[offsetof(Elf64_Ehdr, e_entry)] ^= 1;
	file[sizeof(Elf64_Ehdr) + offsetof(Elf64_Phdr, p_filesz)] ^= 1;
	assert_false(find_in(file, file_bytes, &start, &bytes));
	file[sizeof(Elf64_Ehdr) + offsetof(Elf64_Phdr, p_filesz)] ^= 1;
}

static void a_pipe_in_its_place_is_not_waited_for(void **state)
{
	char path[] = "/tmp/midden-sections-XXXXXX";
	uint64_t start, bytes;

	(void)state;
	(void)close(mkstemp(path));
	(void)unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_false(find(path, &start, &bytes));
	(void)unlink(path);
}

static void a_file_that_is_cut_off_is_refused(void **state)
{
	const Elf64_Ehdr *elf = (const void *)file;
	uint64_t start, bytes;

	(void)state;
	for (size_t cut = 1; cut < elf->e_shoff; cut += elf->e_shoff / 20)
		assert_false(find_in(file, cut, &start, &bytes));
	assert_false(find_in(file, elf->e_shoff + sizeof(Elf64_Shdr), &start, &bytes));
}

/* Whatever the section headers say: what is found can be read. */
static void section_headers_that_lie_lead_nowhere_else(void **state)
{
	const Elf64_Ehdr *elf = (const void *)file;
	uint8_t *headers = file + elf->e_shoff;
	size_t count = elf->e_shnum * sizeof(Elf64_Shdr);
	uint8_t *copy = malloc(count);
	uint64_t random = 99, start, bytes;
	unsigned found = 0;

	(void)state;
	memcpy(copy, headers, count);
	for (unsigned round = 0; round < 300; round++) {
		for (unsigned i = 0; i < 40; i++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			headers[(random >> 33) % count] = (uint8_t)(random >> 24);
		}
		if (find_in(file, file_bytes, &start, &bytes)) {
			found++;
			assert_in_range(bytes, 1, image_room(&image, start, PF_R));
		}
		memcpy(headers, copy, count);
	}
	free(copy);
	assert_in_range(found, 1, 299);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_programs_own_is_found),
		cmocka_unit_test(it_is_found_by_a_path),
		cmocka_unit_test(a_file_that_is_not_the_objects_is_refused),
		cmocka_unit_test(a_pipe_in_its_place_is_not_waited_for),
		cmocka_unit_test(a_file_that_is_cut_off_is_refused),
		cmocka_unit_test(section_headers_that_lie_lead_nowhere_else),
	};

	return cmocka_run_group_tests(tests, prepare, clean_up);
}
