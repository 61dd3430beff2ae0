/* imports_test.c -- Python's import system and interpreter in stacks, and imports folded into one
 * frame. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

#include "model/imports.h"
#include "model/machinery.h"
#include "model/model.h"
#include "sample.h"

static const struct model_options usual = {0};
static const struct model_options all_frames = {.all_frames = true};
static const struct model_options folded = {.hide_imports = true};

static uint32_t add_python(struct profile *p, uint32_t parent, const char *function,
			   const char *file, uint32_t line)
{
	uint32_t frame = sample_frame(p, function, file, line, 0);

	*vec_push(&p->nodes) = (struct profile_node){
		.parent = parent, .frames = frame, .named = PROFILE_NAMED_PYTHON};
	return (uint32_t)p->nodes.count - 1;
}

/* Two functions of the import system, the second one called by the first. */
static uint32_t add_import(struct profile *p, uint32_t parent)
{
	uint32_t find =
		add_python(p, parent, "_find_and_load", "<frozen importlib._bootstrap>", 1178);

	return add_python(p, find, "exec_module", "<frozen importlib._bootstrap_external>", 940);
}

static uint32_t add_native(struct profile *p, uint32_t parent, const char *module,
			   const char *function)
{
	return sample_node_in(p, parent, sample_module(p, module),
			      sample_frame(p, function, "", 0, 0));
}

/* The functions of a site's stack, joined by spaces. */
static const char *stack_text(const struct profile *p, const struct model_options *options,
			      size_t site)
{
	static char text[4096];
	struct model *m = model_new(p, options);
	struct model_stack stack = {0}, calls = {0}, origins = {0};
	size_t used = 0;

	model_get_stack(m, site, &stack);
	model_get_calls(m, site, &calls, &origins);
	assert_int_equal(calls.frames.count, stack.frames.count);
	assert_int_equal(origins.frames.count, stack.frames.count);
	text[0] = '\0';
	for (size_t i = 0; i < stack.frames.count; i++) {
		assert_int_equal(calls.frames.at[i], stack.frames.at[i]);
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", i ? " " : "",
					 model_get_frame(m, stack.frames.at[i])->function);
	}
	vec_free(&stack.frames);
	vec_free(&calls.frames);
	vec_free(&origins.frames);
	model_free(m);
	return text;
}

/* app.py imports pack, which imports json and calls make; the interpreter allocates for it. */
static struct profile *sample_imports(void)
{
	struct profile *p = sample_new();
	uint32_t top = add_python(p, 0, "<module>", "/src/app.py", 1);
	uint32_t system = add_import(p, top);
	uint32_t pack = add_python(p, system, "<module>", "/src/pack/__init__.py", 2);
	uint32_t json = add_python(p, add_import(p, pack), "<module>",
				   "/usr/lib/python3.11/json/__init__.py", 106);
	uint32_t make = add_python(p, pack, "make", "/src/pack/__init__.py", 7);

	sample_site(p, add_native(p, json, "/usr/bin/python3.11", "PyList_New"), 10, 1);
	sample_site(p, add_native(p, make, "/usr/lib/numpy.so", "array"), 20, 1);
	sample_site(p, add_native(p, system, "/usr/bin/python3.11", "marshal"), 30, 1);
	sample_site(p, add_native(p, top, "/usr/bin/python3.11", "PyList_New"), 40, 1);
	return p;
}

static void machinery_is_left_out_unless_all_is_asked_for(void **state)
{
	struct profile *p = sample_imports();

	(void)state;
	assert_string_equal(stack_text(p, &usual, 0), "<module> <module> <module>");
	assert_string_equal(stack_text(p, &usual, 1), "array make <module> <module>");
	assert_string_equal(stack_text(p, &usual, 2), "<module>");
	assert_string_equal(stack_text(p, &all_frames, 2),
			    "marshal exec_module _find_and_load <module>");
	profile_free(p);
}

static void an_import_is_one_frame_with_the_name_of_its_first_module(void **state)
{
	struct profile *p = sample_imports();

	(void)state;
	assert_string_equal(stack_text(p, &folded, 0), "<import of pack> <module>");
	assert_string_equal(stack_text(p, &folded, 1), "<import of pack> <module>");
	/* What reads its code runs before any of its own does. */
	assert_string_equal(stack_text(p, &folded, 2), "<import of pack> <module>");
	assert_string_equal(stack_text(p, &folded, 3), "<module>");
	profile_free(p);
}

static void one_line_that_imports_several_modules_names_none_for_what_they_share(void **state)
{
	struct profile *p = sample_new();
	uint32_t system = add_import(p, 0);

	(void)state;
	sample_site(p, add_python(p, system, "<module>", "/src/a.py", 1), 1, 1);
	sample_site(p, add_python(p, system, "<module>", "<frozen os>", 1), 1, 1);
	sample_site(p, system, 1, 1);
	assert_string_equal(stack_text(p, &folded, 0), "<import of a>");
	assert_string_equal(stack_text(p, &folded, 1), "<import of os>");
	assert_string_equal(stack_text(p, &folded, 2), "<import>");
	/* Nothing else is on it. */
	assert_string_equal(stack_text(p, &usual, 2), "_find_and_load");
	profile_free(p);
}

static void native_frames_of_the_interpreter_stay_where_no_python_runs(void **state)
{
	struct profile *p = sample_new();
	uint32_t start = add_native(p, 0, "/usr/bin/python3", "Py_BytesMain");
	uint32_t call = add_native(p, add_python(p, start, "f", "/src/app.py", 1),
				   "/usr/lib/libpython3.11.so.1.0", "PyObject_Call");
	uint32_t back = add_python(p, call, "g", "/src/app.py", 9);

	(void)state;
	sample_site(p, start, 1, 1);
	sample_site(p, add_native(p, back, "/usr/bin/python3", "PyList_New"), 1, 1);
	sample_site(p, add_native(p, back, "/usr/lib/python3-apt.so", "get"), 1, 1);
	assert_string_equal(stack_text(p, &usual, 0), "Py_BytesMain");
	assert_string_equal(stack_text(p, &usual, 1), "g PyObject_Call f Py_BytesMain");
	assert_string_equal(stack_text(p, &usual, 2), "get g PyObject_Call f Py_BytesMain");
	profile_free(p);
}

/* Frames of a library that was stripped have addresses only. */
static uint32_t add_stripped(struct profile *p, uint32_t parent, uint32_t module)
{
	return sample_node_in(p, parent, module, 0);
}

static void frames_without_names_below_python_are_one_for_each_library(void **state)
{
	struct profile *p = sample_new();
	uint32_t numpy = sample_module(p, "/usr/lib/numpy.so");
	uint32_t blas = sample_module(p, "/usr/lib/blas.so");
	uint32_t line = add_python(p, 0, "f", "/src/app.py", 1);
	uint32_t outer = add_stripped(p, add_stripped(p, line, numpy), numpy);

	(void)state;
	sample_site(p, add_stripped(p, outer, numpy), 1, 1);
	sample_site(p, add_stripped(p, add_stripped(p, outer, blas), numpy), 1, 1);
	sample_site(p, add_stripped(p, add_stripped(p, 0, numpy), numpy), 1, 1);
	assert_string_equal(stack_text(p, &usual, 0), "[native code] f");
	assert_string_equal(stack_text(p, &usual, 1),
			    "[native code] [native code] [native code] f");
	/* Without names, since no Python is there; and as they are. */
	assert_string_equal(stack_text(p, &usual, 2), " ");
	assert_string_equal(stack_text(p, &all_frames, 0), "   f");
	profile_free(p);
}

static void the_interpreter_without_python_has_no_frames_without_names(void **state)
{
	struct profile *p = sample_new();
	uint32_t python = sample_module(p, "/usr/bin/python3");
	uint32_t start = add_stripped(p, add_native(p, 0, "/usr/bin/python3", "main"), python);

	(void)state;
	sample_site(p, add_stripped(p, start, python), 1, 1);
	sample_site(p, add_stripped(p, add_stripped(p, 0, python), python), 1, 1);
	sample_site(p, add_python(p, 0, "f", "/src/app.py", 1), 1, 1);
	assert_string_equal(stack_text(p, &usual, 0), "main");
	assert_string_equal(stack_text(p, &usual, 1), "");
	profile_free(p);
}

static void what_runs_a_module_is_machinery_and_no_import(void **state)
{
	struct profile *p = sample_new();
	uint32_t run = add_python(p, 0, "_run_code", "<frozen runpy>", 88);
	uint32_t older = add_python(p, 0, "_run_code", "/usr/lib/python3.9/runpy.py", 88);

	(void)state;
	sample_site(p, add_python(p, run, "<module>", "/src/app.py", 1), 1, 1);
	sample_site(p, add_python(p, older, "<module>", "/src/app.py", 1), 1, 1);
	assert_string_equal(stack_text(p, &usual, 0), "<module>");
	assert_string_equal(stack_text(p, &usual, 1), "<module>");
	assert_string_equal(stack_text(p, &folded, 0), "<module>");
	profile_free(p);
}

static void functions_of_one_name_in_two_files_of_python_are_two(void **state)
{
	struct profile *p = sample_new();
	uint32_t one = add_python(p, 0, "<module>", "/src/a.py", 1);
	struct model_stack stack = {0};

	(void)state;
	sample_site(p, add_python(p, one, "<module>", "/src/b.py", 1), 1, 1);
	struct model *m = model_new(p, &usual);
	model_get_stack(m, 0, &stack);
	assert_int_not_equal(model_get_frame(m, stack.frames.at[0])->group,
			     model_get_frame(m, stack.frames.at[1])->group);
	vec_free(&stack.frames);
	model_free(m);
	profile_free(p);
}

static void modules_are_called_as_they_are_imported(void **state)
{
	static const char *const known[][2] = {
		{"/usr/lib/python3.11/json/decoder.py", "json.decoder"},
		{"/usr/lib/python3.11/json/__init__.py", "json"},
		{"/usr/lib/python3/dist-packages/numpy/core/__init__.py", "numpy.core"},
		{"/home/me/venv/lib/python3.12/site-packages/flask/app.py", "flask.app"},
		{"/opt/app/models.py", "models"},
		{"/opt/app/pack/__init__.py", "pack"},
		{"models.py", "models"},
		{"<frozen os>", "os"},
		{"<string>", "<string>"},
		{"", ""},
		{"/", ""},
		{"/python3.", "python3."},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		char *name = imports_name_module(known[i][0]);
		assert_string_equal(name, known[i][1]);
		free(name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(machinery_is_left_out_unless_all_is_asked_for),
		cmocka_unit_test(an_import_is_one_frame_with_the_name_of_its_first_module),
		cmocka_unit_test(
			one_line_that_imports_several_modules_names_none_for_what_they_share),
		cmocka_unit_test(native_frames_of_the_interpreter_stay_where_no_python_runs),
		cmocka_unit_test(frames_without_names_below_python_are_one_for_each_library),
		cmocka_unit_test(the_interpreter_without_python_has_no_frames_without_names),
		cmocka_unit_test(what_runs_a_module_is_machinery_and_no_import),
		cmocka_unit_test(functions_of_one_name_in_two_files_of_python_are_two),
		cmocka_unit_test(modules_are_called_as_they_are_imported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
