/* debugfile.c -- finds the files that hold an object's debug information.
 * Runs: offline; called by symbol.c.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "symbol/debugfile.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>

#include "base/mem.h"

static const char default_dir[] = "/usr/lib/debug";

typedef bool accept_function(const struct object *candidate, const void *wanted);

/* Opens what `path` names if it is an object that `accept` takes. Frees `path`. */
static struct object *try_path(char *path, accept_function *accept, const void *wanted)
{
	struct object *o = object_open(path, NULL);

	free(path);
	if (!o || accept(o, wanted))
		return o;
	object_close(o);
	return NULL;
}

/* The n-th directory to search, or NULL after the last. Freed by the caller. */
static char *get_dir(const struct symbol_options *options, size_t n)
{
	size_t given = 0;

	while (options && options->debug_dirs && options->debug_dirs[given]) {
		if (given == n)
			return mem_copy_string(options->debug_dirs[n]);
		given++;
	}
	if (n > given)
		return NULL;
	return mem_format("%s%s", options && options->sysroot ? options->sysroot : "", default_dir);
}

/* ---- by build-id ----------------------------------------------------------------------------- */

struct build_id {
	const uint8_t *bits;
	size_t bytes;
};

static bool has_build_id(const struct object *candidate, const void *wanted)
{
	const struct build_id *id = wanted;

	return object_has_build_id(candidate, id->bits, id->bytes);
}

static char *format_hex(const struct build_id *id)
{
	char *text = mem_new(id->bytes * 2 + 1, 1);

	for (size_t i = 0; i < id->bytes; i++) {
		text[2 * i] = "0123456789abcdef"[id->bits[i] >> 4];
		text[2 * i + 1] = "0123456789abcdef"[id->bits[i] & 15];
	}
	return text;
}

/* `ending` tells debug files (".debug") from the programs themselves (""). */
static struct object *find_by_id(const struct build_id *id, const char *ending,
				 const struct symbol_options *options)
{
	struct object *found = NULL;
	char *dir;

	if (id->bytes < 2)
		return NULL;
	char *hex = format_hex(id);
	for (size_t n = 0; !found && (dir = get_dir(options, n)); n++) {
		char *path = mem_format("%s/.build-id/%.2s/%s%s", dir, hex, hex + 2, ending);

		found = try_path(path, has_build_id, id);
		free(dir);
	}
	free(hex);
	return found;
}

struct object *debugfile_find_by_id(const uint8_t *id, size_t bytes,
				    const struct symbol_options *options)
{
	struct build_id wanted = {id, bytes};

	return find_by_id(&wanted, ".debug", options);
}

/* ---- by name in the user's directories ------------------------------------------------------- */

/* Where people put a debug file by hand: DIR/path/name.debug, DIR/path/name, DIR/name.debug and
 * DIR/name. The directory of the system is not searched so: nothing is there under such names. */
static struct object *find_by_name(const char *path, const struct symbol_options *options,
				   accept_function *accept, const void *wanted)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	struct object *found = NULL;

	if (!slash || !slash[1] || !options || !options->debug_dirs)
		return NULL;
	for (size_t n = 0; !found && options->debug_dirs[n]; n++) {
		const char *dir = options->debug_dirs[n];
		const char *const names[] = {path, slash};

		for (size_t i = 0; !found && i < 2; i++) {
			found = try_path(mem_format("%s%s.debug", dir, names[i]), accept, wanted);
			if (!found)
				found = try_path(mem_format("%s%s", dir, names[i]), accept, wanted);
		}
	}
	return found;
}

/* More than people put into a directory by hand; each is opened for each object. */
#define SCANNED_MOST 1000u

static struct object *scan_dir(const char *dir, accept_function *accept, const void *wanted)
{
	DIR *list = opendir(dir);
	struct object *found = NULL;
	const struct dirent *entry;

	for (unsigned i = 0; list && !found && i < SCANNED_MOST && (entry = readdir(list)); i++)
		if (entry->d_type != DT_DIR && entry->d_type != DT_FIFO)
			found = try_path(mem_format("%s/%s", dir, entry->d_name), accept, wanted);
	if (list)
		(void)closedir(list);
	return found;
}

/* Under any other name, directly in one of the user's directories; only a build-id can tell. */
static struct object *find_by_scan(const struct build_id *id, const struct symbol_options *options,
				   accept_function *accept)
{
	struct object *found = NULL;

	if (!id->bytes || !options || !options->debug_dirs)
		return NULL;
	for (size_t n = 0; !found && options->debug_dirs[n]; n++)
		found = scan_dir(options->debug_dirs[n], accept, id);
	return found;
}

static bool is_debug_file_of(const struct object *candidate, const void *wanted)
{
	return object_has_dwarf(candidate) && has_build_id(candidate, wanted);
}

/* A program that was built without an id can only be known by its name. */
static bool has_same_id(const struct object *candidate, const void *wanted)
{
	const struct build_id *id = wanted;
	const uint8_t *own;

	return object_is_loadable(candidate) && (id->bytes ? has_build_id(candidate, wanted)
							   : !object_get_build_id(candidate, &own));
}

/* ---- by .gnu_debuglink ----------------------------------------------------------------------- */

struct link {
	const struct object *from;
	const char *name;
	uint32_t crc;
};

/* The CRC-32 of zlib and Ethernet, four bits at a time: only asked of files without a build-id. */
static uint32_t crc32_add(uint32_t crc, const uint8_t *data, size_t bytes)
{
	static const uint32_t table[16] = {
		0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
		0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
		0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
	};

	for (size_t i = 0; i < bytes; i++) {
		crc ^= data[i];
		crc = crc >> 4 ^ table[crc & 15];
		crc = crc >> 4 ^ table[crc & 15];
	}
	return crc;
}

static bool has_crc(const struct object *o, uint32_t wanted)
{
	size_t bytes = 0;
	const char *data = elf_rawfile(object_get_elf(o), &bytes);

	return data && ~crc32_add(~UINT32_C(0), (const uint8_t *)data, bytes) == wanted;
}

static bool is_linked(const struct object *candidate, const void *wanted)
{
	const struct link *link = wanted;
	const uint8_t *id, *other;
	size_t bytes = object_get_build_id(link->from, &id);

	if (!object_has_dwarf(candidate))
		return false;
	if (bytes && object_get_build_id(candidate, &other))
		return object_has_build_id(candidate, id, bytes);
	return has_crc(candidate, link->crc);
}

/* The directory the object really is in (/lib may be a link to /usr/lib), without the final slash.
 */
static char *find_home(const struct object *o)
{
	char *path = object_get_path(o) ? realpath(object_get_path(o), NULL) : NULL;
	char *slash = path ? strrchr(path, '/') : NULL;

	if (slash)
		*slash = '\0';
	return path;
}

static const char *skip_sysroot(const char *home, const struct symbol_options *options)
{
	size_t length = options && options->sysroot ? strlen(options->sysroot) : 0;

	return length && strncmp(home, options->sysroot, length) == 0 ? home + length : home;
}

static struct object *find_linked_from(const char *home, const struct link *link,
				       const struct symbol_options *options)
{
	struct object *found;
	char *dir;

	found = try_path(mem_format("%s/%s", home, link->name), is_linked, link);
	if (!found)
		found = try_path(mem_format("%s/.debug/%s", home, link->name), is_linked, link);
	for (size_t n = 0; !found && (dir = get_dir(options, n)); n++) {
		const char *below = skip_sysroot(home, options);

		found = try_path(mem_format("%s%s/%s", dir, below, link->name), is_linked, link);
		free(dir);
	}
	return found;
}

static struct object *find_linked(const struct object *o, const struct symbol_options *options)
{
	struct link link = {.from = o};
	struct object *found = NULL;
	GElf_Word crc;

	link.name = dwelf_elf_gnu_debuglink(object_get_elf(o), &crc);
	if (!link.name || !link.name[0])
		return NULL;
	link.crc = crc;
	char *home = find_home(o);
	if (home)
		found = find_linked_from(home, &link, options);
	free(home);
	return found;
}

/* ---- from a server --------------------------------------------------------------------------- */

static const char server_path[] = "(debuginfod)";

/* Has libdwfl do its standard search, of which only the server is left to try. It is told the
 * build-id and no file, since the program itself may be gone. */
static int download(Dwfl *dwfl, const struct build_id *id)
{
	Dwfl_Module *module = dwfl_report_module(dwfl, server_path, 0, 1);
	char *name = NULL;
	void *unused = NULL;
	int fd = -1;

	if (module && dwfl_module_report_build_id(module, id->bits, id->bytes, 0) == 0)
		fd = dwfl_standard_find_debuginfo(module, &unused, server_path, 0, NULL, NULL, 0,
						  &name);
	(void)dwfl_report_end(dwfl, NULL, NULL);
	free(name);
	return fd;
}

bool debugfile_has_server(void)
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	return urls && urls[0];
}

static struct object *find_on_server(const struct build_id *id)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.section_address = dwfl_offline_section_address,
	};
	struct object *found = NULL;

	if (!debugfile_has_server() || !id->bytes)
		return NULL;
	Dwfl *dwfl = dwfl_begin(&callbacks);
	int fd = dwfl ? download(dwfl, id) : -1;
	if (fd >= 0)
		found = object_open_fd(fd, server_path, NULL);
	if (found && !has_build_id(found, id)) {
		object_close(found);
		found = NULL;
	}
	dwfl_end(dwfl);
	return found;
}

/* ---- all of them ----------------------------------------------------------------------------- */

struct object *debugfile_find(const struct object *o, const struct symbol_options *options)
{
	struct build_id id = {0};
	struct object *found;

	id.bytes = object_get_build_id(o, &id.bits);
	found = find_by_id(&id, ".debug", options);
	if (!found)
		found = find_linked(o, options);
	if (!found && id.bytes)
		found = find_by_name(object_get_path(o), options, is_debug_file_of, &id);
	if (!found)
		found = find_by_scan(&id, options, is_debug_file_of);
	if (!found && !(options && options->modest))
		found = find_on_server(&id);
	return found;
}

struct object *debugfile_find_stand_in(const char *path, const uint8_t *id, size_t bytes,
				       const struct symbol_options *options)
{
	struct build_id wanted = {id, bytes};
	struct object *found = find_by_id(&wanted, ".debug", options);

	if (!found)
		found = find_by_name(path, options, has_same_id, &wanted);
	if (!found)
		found = find_by_scan(&wanted, options, has_same_id);
	if (!found)
		found = find_by_id(&wanted, "", options);
	if (!found && !(options && options->modest))
		found = find_on_server(&wanted);
	return found;
}

/* ---- inside the object ----------------------------------------------------------------------- */

static int write_all(int fd, const char *data, size_t bytes)
{
	while (bytes) {
		ssize_t done = write(fd, data, bytes);

		if (done <= 0)
			return -1;
		data += done;
		bytes -= (size_t)done;
	}
	return 0;
}

/* elfutils unpacks a whole compressed ELF *file*, so the section is made one. */
static struct object *unpack(const Elf_Data *data)
{
	struct object *o = NULL;
	int fd = memfd_create("midden-debugdata", MFD_CLOEXEC);

	if (fd < 0)
		return NULL;
	if (write_all(fd, data->d_buf, data->d_size) < 0) {
		close(fd);
		return NULL;
	}
	Elf *elf = dwelf_elf_begin(fd);
	size_t bytes = 0;
	const char *raw = elf ? elf_rawfile(elf, &bytes) : NULL;
	if (raw && bytes) {
		void *image = mem_new(bytes, 1);

		memcpy(image, raw, bytes);
		o = object_open_memory(image, bytes, NULL);
	}
	elf_end(elf);
	close(fd);
	return o;
}

struct object *debugfile_open_embedded(const struct object *o)
{
	Elf_Scn *section = object_find_section(o, ".gnu_debugdata");
	Elf_Data *data = section ? elf_rawdata(section, NULL) : NULL;

	return data && data->d_buf && data->d_size ? unpack(data) : NULL;
}
