/* labels.c -- what frames are called in exports: one text per function, safe in any text format.
 * Runs: offline, called by the formats.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "export/labels.h"

#include <inttypes.h>
#include <string.h>

#include "base/utf8.h"

struct labels {
	const struct model *model;
	char **texts; /* by group; NULL for frames that are not the first of theirs */
	size_t count;
};

static char replace(char c, const char *replaced)
{
	for (; *replaced; replaced += 2)
		if (*replaced == c)
			return replaced[1];
	return c;
}

char *labels_clean(const char *text, const char *replaced)
{
	char *clean = mem_new(3 * strlen(text) + 1, 1);
	char *out = clean;
	uint32_t code;

	while (*text) {
		size_t bytes = utf8_decode(text, &code);
		if (bytes == 0) {
			out = stpcpy(out, "\xef\xbf\xbd"); /* U+FFFD */
		} else if (utf8_is_unsafe(code)) {
			*out++ = ' ';
		} else if (bytes == 1) {
			*out++ = replace(*text, replaced);
		} else {
			memcpy(out, text, bytes);
			out += bytes;
		}
		text += bytes ? bytes : 1;
	}
	return clean;
}

const char *labels_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* Every file of Python has a <module>: where nothing but a name is shown, it needs the file's. */
static char *label_python(const struct model_frame *f, const char *replaced)
{
	char *both = mem_format("%s (%s)", f->function, labels_base(f->file));
	char *label = labels_clean(both, replaced);

	free(both);
	return label;
}

static char *make_label(const struct model_frame *f, const char *replaced)
{
	if (f->named == PROFILE_NAMED_PYTHON && *f->function == '<' && *f->file)
		return label_python(f, replaced);
	if (*f->function)
		return labels_clean(f->function, replaced);
	if (!*f->module)
		return mem_format("0x%" PRIx64, f->offset);
	char *module = labels_clean(labels_base(f->module), replaced);
	char *label = mem_format("%s+0x%" PRIx64, module, f->offset);
	free(module);
	return label;
}

struct labels *labels_new(const struct model *m, const char *replaced)
{
	struct labels *l = mem_new(1, sizeof(*l));

	l->model = m;
	l->count = model_get_frame_count(m);
	l->texts = mem_new(l->count, sizeof(*l->texts));
	for (uint32_t i = 0; i < l->count; i++) {
		const struct model_frame *f = model_get_frame(m, i);
		if (f->group == i)
			l->texts[i] = make_label(f, replaced);
	}
	return l;
}

void labels_free(struct labels *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->count; i++)
		free(l->texts[i]);
	free(l->texts);
	free(l);
}

const char *labels_get(const struct labels *l, uint32_t frame)
{
	return l->texts[model_get_frame(l->model, frame)->group];
}
