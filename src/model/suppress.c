/* suppress.c -- leaks that are known and harmless, named by rules in LeakSanitizer's syntax.
 * Runs: offline, pure.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/suppress.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "model/filter.h"
#include "model/origin.h"

#define FILE_BYTES_MAX (16U << 20) /* more is no list of rules */

/* What the libraries that every program uses keep until the end on purpose. A function may have
 * lost its name where debug files are missing, so the modules on the way tell too. */
struct known {
	const char *text;
	const char *function;		     /* one of these names, separated by blanks, or NULL */
	bool (*is_leaf)(const char *module); /* the allocating frame's module, or NULL */
	bool (*is_caller)(const char *module); /* its caller's */
};

static const struct known known_leaks[] = {
	{"libstdc++'s emergency pool for exceptions", NULL, origin_is_libstdcxx, origin_is_libc},
	{"libstdc++'s emergency pool for exceptions", "_GLOBAL__sub_I_eh_alloc.cc", NULL, NULL},
	{"buffers of stdio", "_IO_file_doallocate _IO_wfile_doallocate", NULL, NULL},
	{"the environment", "__add_to_environ setenv putenv", origin_is_libc, NULL},
	{"list of functions to call at exit", "__new_exitfn", origin_is_libc, NULL},
	{"time zones", "tzset_internal __tzfile_read __tzstring", NULL, NULL},
	{"locales",
	 "_nl_load_locale _nl_intern_locale_data _nl_make_l10nflist _nl_find_locale "
	 "new_composite_name "
	 "setlocale __textdomain set_binding_values _nl_expand_alias",
	 origin_is_libc, NULL},
	{"character sets",
	 "__gconv_open __gconv_read_conf __gconv_find_shlib __gconv_lookup_cache "
	 "__wcsmbs_load_conv",
	 NULL, NULL},
	/* None of these returns memory that is the caller's to free; what they call may be without
	 * names. */
	{"name services",
	 "__nss_module_allocate __nss_action_allocate __nss_database_get global_state_allocate "
	 "nss_database_check_reload nss_database_check_reload_and_get "
	 "getpwuid getpwnam getpwent getpwuid_r getpwnam_r getpwent_r "
	 "getgrgid getgrnam getgrent getgrgid_r getgrnam_r getgrent_r getgrouplist initgroups "
	 "getspnam getspent getspnam_r getsgnam getservbyname getservbyport getservent "
	 "getprotobyname getprotobynumber getprotoent gethostbyname gethostbyname2 gethostbyaddr "
	 "gethostent getnetbyname getnetbyaddr getnetent getrpcbyname getrpcbynumber "
	 "getaliasbyname",
	 origin_is_libc, NULL},
	{"the resolver's settings",
	 "__resolv_context_get __resolv_conf_load __resolv_conf_get_current __resolv_conf_attach "
	 "__res_vinit __res_ninit __check_pf",
	 NULL, NULL},
	{"the loader's own records",
	 "dl_open_worker dl_open_worker_begin _dl_new_object _dl_allocate_tls allocate_dtv "
	 "_dl_map_object _dl_check_map_versions add_to_global_resize _dl_init_static_tls "
	 "_dl_scope_free _dlerror_run _dl_find_object_update _dlfo_mappings_segment_allocate",
	 NULL, NULL},
	{"glib's types and quarks",
	 "g_type_register_static type_node_any_new_W g_quark_new quark_new", NULL, NULL},
};

#define KNOWN_COUNT (sizeof(known_leaks) / sizeof(*known_leaks))

void suppress_add_known(struct suppress_list *l)
{
	for (unsigned i = 0; i < KNOWN_COUNT; i++)
		*vec_push(&l->rules) =
			(struct suppress_rule){.text = known_leaks[i].text, .known = i + 1};
}

void suppress_free(struct suppress_list *l)
{
	for (size_t i = 0; i < l->rules.count; i++)
		free(l->rules.at[i].pattern);
	vec_free(&l->rules);
}

/* ---- reading --------------------------------------------------------------------------------- */

static char *trim(char *line)
{
	size_t length = strlen(line);

	while (length && strchr(" \t\r", line[length - 1]))
		line[--length] = '\0';
	return line + strspn(line, " \t");
}

static int add_line(struct suppress_list *l, char *line, struct error *e)
{
	static const char kind[] = "leak:";

	line = trim(line);
	if (!*line || *line == '#')
		return 0;
	if (strncmp(line, kind, sizeof(kind) - 1) != 0)
		return error_set(e, "a rule is leak:PATTERN, not %s", line);
	const char *pattern = trim(line + sizeof(kind) - 1);
	if (!*pattern)
		return error_set(e, "a rule without a pattern");
	char *copy = mem_copy_string(pattern);
	*vec_push(&l->rules) = (struct suppress_rule){.pattern = copy, .text = copy};
	return 0;
}

int suppress_parse(struct suppress_list *l, const char *text, const char *name, struct error *e)
{
	char *copy = mem_copy_string(text), *rest = copy;
	struct error fault = {0};
	unsigned number = 0;
	int status = 0;

	for (char *line; status == 0 && (line = strsep(&rest, "\n"));) {
		number++;
		status = add_line(l, line, &fault);
	}
	free(copy);
	return status == 0 ? 0 : error_set(e, "%s: line %u: %s", name, number, fault.text);
}

static int read_text(FILE *file, char *text, const char *path, struct error *e)
{
	size_t bytes = fread(text, 1, FILE_BYTES_MAX, file);

	if (ferror(file))
		return error_set_errno(e, "%s", path);
	if (bytes == FILE_BYTES_MAX)
		return error_set(e, "%s: too long for a list of rules", path);
	text[bytes] = '\0';
	if (strlen(text) != bytes)
		return error_set(e, "%s: not a text", path);
	return 0;
}

int suppress_read(struct suppress_list *l, const char *path, struct error *e)
{
	FILE *file = fopen(path, "re");

	if (!file)
		return error_set_errno(e, "%s", path);
	char *text = mem_new(FILE_BYTES_MAX, 1);
	errno = 0;
	int status = read_text(file, text, path, e);
	(void)fclose(file);
	if (status == 0)
		status = suppress_parse(l, text, path, e);
	free(text);
	return status;
}

/* ---- matching -------------------------------------------------------------------------------- */

/* Where the part of a pattern between two stars is in a text; NULL if it is not. */
static const char *find_part(const char *text, const char *part, size_t length)
{
	size_t left = strlen(text);

	for (; left >= length; text++, left--)
		if (memcmp(text, part, length) == 0)
			return text;
	return NULL;
}

/* Up to the next star or the end; a dollar sign is one unless it is the last character. */
static size_t part_length(const char *pattern)
{
	size_t length = strcspn(pattern, "*$");

	while (pattern[length] == '$' && pattern[length + 1])
		length += 1 + strcspn(pattern + length + 1, "*$");
	return length;
}

bool suppress_has(const char *pattern, const char *text)
{
	bool anchored = *pattern == '^';

	for (pattern += anchored; *pattern; anchored = false) {
		size_t length = part_length(pattern);
		bool at_end = pattern[length] == '$';
		const char *found = find_part(text, pattern, length);
		if (at_end && strlen(text) >= length)
			found = find_part(text + strlen(text) - length, pattern, length);
		if (!found || (anchored && found != text))
			return false;
		text = found + length;
		pattern += length;
		if (at_end)
			return true;
		pattern += strspn(pattern, "*");
	}
	return true;
}

static bool has_word(const char *words, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = strstr(words, word); at; at = strstr(at + 1, word))
		if ((at == words || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
			return true;
	return false;
}

/* Functions of the C library also go by names that no other library can take. */
static const char *plain_name(const char *function)
{
	return strncmp(function, "__GI_", 5) == 0 ? function + 5 : function;
}

/* What a frame says about the known leaks: a bit for each that names it, and what it is. */
#define FRAME_OWN    (UINT32_C(1) << 31)
#define FRAME_HIDDEN (UINT32_C(1) << 30)
#define FRAME_LEAF   (UINT32_C(1) << 16) /* the module of an unnamed leaf, shifted by its number */
#define FRAME_CALLER (UINT32_C(1) << 23)

_Static_assert(KNOWN_COUNT < 16, "a bit for each");

static bool is_named(const struct known *k, const struct model_frame *f)
{
	const char *name = plain_name(f->function);

	return *name && has_word(k->function, name) && (!k->is_leaf || k->is_leaf(f->module));
}

/* Only the first few rules have no names: see FRAME_LEAF. */
static uint32_t mark_frame(const struct model_frame *f)
{
	uint32_t marks = (origin_is_own(f) ? FRAME_OWN : 0) | (f->hidden ? FRAME_HIDDEN : 0);

	for (unsigned i = 0; i < KNOWN_COUNT; i++) {
		const struct known *k = &known_leaks[i];
		if (k->function)
			marks |= is_named(k, f) ? UINT32_C(1) << i : 0;
		else
			marks |= (k->is_leaf(f->module) ? FRAME_LEAF << i : 0) |
				 (k->is_caller(f->module) ? FRAME_CALLER << i : 0);
	}
	return marks;
}

static uint32_t *mark_frames(const struct model *m)
{
	size_t count = model_get_frame_count(m);
	uint32_t *marks = mem_new(count, sizeof(*marks));

	for (uint32_t i = 0; i < count; i++)
		marks[i] = mark_frame(model_get_frame(m, i));
	return marks;
}

/* What is known about a stack that ends at a node. */
struct known_end {
	uint32_t named; /* bits of the leaks that its frames name */
	uint32_t leaf;	/* marks of the first frame that is not the allocator's */
	uint32_t next;	/* of the one after it */
};

/* Puts a frame before those of `e`. */
static void add_frame(struct known_end *e, uint32_t marks)
{
	if (marks & FRAME_HIDDEN)
		return;
	/* What a program's own code does below such a function is not the library's. */
	e->named = (marks & FRAME_OWN ? 0 : e->named) | (marks & (FRAME_LEAF - 1));
	e->next = e->leaf;
	e->leaf = marks;
}

/* Ends of all nodes, each from its parent's: much less work than going through all stacks. */
static struct known_end *list_ends(const struct model *m)
{
	const struct profile *p = model_get_profile(m);
	struct known_end *ends = mem_new(p->nodes.count, sizeof(*ends));
	uint32_t *marks = mark_frames(m);
	struct model_stack frames = {0};

	for (uint32_t i = 1; i < p->nodes.count; i++) {
		ends[i] = ends[p->nodes.at[i].parent];
		model_get_node(m, i, &frames);
		for (size_t k = frames.frames.count; k-- > 0;)
			add_frame(&ends[i], marks[frames.frames.at[k]]);
	}
	free(marks);
	vec_free(&frames.frames);
	return ends;
}

static uint32_t list_known(const struct known_end *e)
{
	return e->named | (e->leaf / FRAME_LEAF & 0x7f & e->next / FRAME_CALLER);
}

static bool is_frame_named(const char *pattern, const struct model_frame *f)
{
	return suppress_has(pattern, f->function) || (*f->file && suppress_has(pattern, f->file)) ||
	       (*f->module && suppress_has(pattern, f->module));
}

/* Rules for frames, each asked once: 0 not yet, 1 no, 2 yes. */
struct asked {
	const struct suppress_list *list;
	const struct model *model;
	uint8_t *answers;	/* rule x frame */
	struct known_end *ends; /* by node */
	bool has_patterns;	/* rules other than the known ones */
};

static bool is_hit(struct asked *a, size_t rule, uint32_t frame)
{
	uint8_t *answer = &a->answers[rule * model_get_frame_count(a->model) + frame];

	if (*answer == 0)
		*answer = is_frame_named(a->list->rules.at[rule].pattern,
					 model_get_frame(a->model, frame))
				  ? 2
				  : 1;
	return *answer == 2;
}

static bool is_hit_on(struct asked *a, size_t rule, const struct model_stack *stack)
{
	for (size_t i = 0; i < stack->frames.count; i++)
		if (is_hit(a, rule, stack->frames.at[i]))
			return true;
	return false;
}

static uint32_t find_rule(struct asked *a, size_t site, struct model_stack *stack)
{
	uint32_t known = list_known(&a->ends[model_get_profile(a->model)->sites.at[site].node]);

	if (a->has_patterns)
		model_get_named_stack(a->model, site, stack);
	for (size_t i = 0; i < a->list->rules.count; i++) {
		unsigned number = a->list->rules.at[i].known;
		if (number ? known >> (number - 1) & 1 : is_hit_on(a, i, stack))
			return (uint32_t)i;
	}
	return UINT32_MAX;
}

static bool has_patterns(const struct suppress_list *l)
{
	for (size_t i = 0; i < l->rules.count; i++)
		if (l->rules.at[i].pattern)
			return true;
	return false;
}

uint32_t *suppress_judge(const struct suppress_list *l, const struct model *m, uint8_t *verdicts)
{
	const struct profile *p = model_get_profile(m);
	uint32_t *rules = mem_new(p->sites.count, sizeof(*rules));
	struct model_stack stack = {0};
	struct asked asked = {
		.list = l,
		.model = m,
		.answers = mem_new(l->rules.count * model_get_frame_count(m), 1),
		.ends = list_ends(m),
		.has_patterns = has_patterns(l),
	};

	for (size_t i = 0; i < p->sites.count; i++) {
		rules[i] = UINT32_MAX;
		if (verdicts[i] != FILTER_KEPT || p->sites.at[i].live_blocks == 0)
			continue;
		rules[i] = find_rule(&asked, i, &stack);
		if (rules[i] != UINT32_MAX)
			verdicts[i] = FILTER_SUPPRESSED;
	}
	free(asked.answers);
	free(asked.ends);
	vec_free(&stack.frames);
	return rules;
}

bool *suppress_list_sites(const struct suppress_list *l, const struct model *m)
{
	size_t count = model_get_profile(m)->sites.count;
	uint8_t *verdicts = mem_new(count ? count : 1, sizeof(*verdicts)); /* all kept */
	bool *suppressed = mem_new(count ? count : 1, sizeof(*suppressed));

	free(suppress_judge(l, m, verdicts));
	for (size_t i = 0; i < count; i++)
		suppressed[i] = verdicts[i] == FILTER_SUPPRESSED;
	free(verdicts);
	return suppressed;
}

struct amount suppress_sum(const struct profile *p, const bool *suppressed)
{
	struct amount sum = {0};

	for (size_t i = 0; suppressed && i < p->sites.count; i++)
		if (suppressed[i])
			sum = amount_plus(sum, figure_get(&p->sites.at[i], FIGURE_LEAKED));
	return sum;
}
