/* witness.c -- an extension module that allocates on demand, and says where Python itself says it
 * is. Runs: inside the interpreters of the end-to-end tests of Python, which build it.
 * SPDX-License-Identifier: Apache-2.0
 *
 *	alloc(n)	allocates n bytes and frees them, after appending (n, stack) to log
 *	alloc_free(n)	the same without the GIL
 *	alloc_quietly(n)	allocates n bytes and frees them, and nothing else
 *	call(f)		calls f from C
 *	corrupt(n)	allocates with the frames overwritten in many ways; 3.11 only */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>

static PyObject *witness_log;

/* The one place that the tests look for at the leaf end of stacks. */
__attribute__((noinline)) static void allocate_here(size_t bytes)
{
	void *volatile block = malloc(bytes);

	free(block);
}

static PyObject *describe_frame(PyObject *frame)
{
	PyObject *code = PyObject_GetAttrString(frame, "f_code");
	PyObject *name = code ? PyObject_GetAttrString(code, "co_qualname") : NULL;
	PyObject *file = code ? PyObject_GetAttrString(code, "co_filename") : NULL;
	PyObject *line = PyObject_GetAttrString(frame, "f_lineno");

	if (code && !name) { /* before 3.11 */
		PyErr_Clear();
		name = PyObject_GetAttrString(code, "co_name");
	}
	Py_XDECREF(code);
	return Py_BuildValue("(NNN)", name, file, line);
}

/* As sys._getframe and f_back have it, innermost first. */
static PyObject *list_frames(void)
{
	PyObject *list = PyList_New(0);
	PyObject *frame = PyObject_CallFunction(PySys_GetObject("_getframe"), NULL);

	while (list && frame && frame != Py_None) {
		PyObject *one = describe_frame(frame);
		PyObject *back = PyObject_GetAttrString(frame, "f_back");

		if (!one || !back || PyList_Append(list, one))
			return NULL;
		Py_DECREF(one);
		Py_DECREF(frame);
		frame = back;
	}
	Py_XDECREF(frame);
	return list;
}

static int note(Py_ssize_t bytes)
{
	PyObject *frames = list_frames();
	PyObject *entry = frames ? Py_BuildValue("(nN)", bytes, frames) : NULL;
	int failed = !entry || PyList_Append(witness_log, entry);

	Py_XDECREF(entry);
	return failed;
}

static PyObject *witness_alloc(PyObject *self, PyObject *argument)
{
	Py_ssize_t bytes = PyLong_AsSsize_t(argument);

	(void)self;
	if (bytes < 0 || note(bytes))
		return NULL;
	allocate_here((size_t)bytes);
	Py_RETURN_NONE;
}

static PyObject *witness_alloc_free(PyObject *self, PyObject *argument)
{
	Py_ssize_t bytes = PyLong_AsSsize_t(argument);

	(void)self;
	if (bytes < 0 || note(bytes))
		return NULL;
	Py_BEGIN_ALLOW_THREADS allocate_here((size_t)bytes);
	Py_END_ALLOW_THREADS Py_RETURN_NONE;
}

static PyObject *witness_alloc_quietly(PyObject *self, PyObject *argument)
{
	(void)self;
	allocate_here(PyLong_AsSize_t(argument));
	Py_RETURN_NONE;
}

static PyObject *witness_call(PyObject *self, PyObject *callable)
{
	(void)self;
	return PyObject_CallObject(callable, NULL);
}

#if PY_VERSION_HEX >= 0x030b0000 && PY_VERSION_HEX < 0x030c0000

/* Words of the innermost frame of 3.11 that a walk follows: its code, the frame before it, the
 * instruction. */
static const int words[] = {4, 6, 7};

/* Allocates while one of those words is `value`. */
static void allocate_with(volatile uint64_t *frame, int word, uint64_t value, size_t bytes)
{
	uint64_t kept = frame[word];

	frame[word] = value;
	allocate_here(bytes);
	frame[word] = kept;
}

static PyObject *witness_corrupt(PyObject *self, PyObject *argument)
{
	size_t bytes = PyLong_AsSize_t(argument);
	volatile uint64_t *frame = (volatile uint64_t *)PyThreadState_Get()->cframe->current_frame;
	uint64_t junk[32];
	const uint64_t values[] = {1,
				   8,
				   UINT64_C(0x7ffffffff000),
				   UINT64_C(0xdeadbeefdeadbee8),
				   UINT64_MAX,
				   UINT64_MAX - 7,
				   (uint64_t)(uintptr_t)frame, /* a loop */
				   (uint64_t)(uintptr_t)frame + 4,
				   (uint64_t)(uintptr_t)junk,
				   (uint64_t)(uintptr_t)&PyCode_Type,
				   (uint64_t)(uintptr_t)Py_None};

	(void)self;
	for (size_t i = 0; i < sizeof(junk) / sizeof(junk[0]); i++)
		junk[i] = UINT64_C(0x4141414141414140) + i * UINT64_C(0x1111111111111);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		for (size_t j = 0; j < sizeof(values) / sizeof(values[0]); j++)
			allocate_with(frame, words[i], values[j], bytes);
	Py_RETURN_NONE;
}

#else

static PyObject *witness_corrupt(PyObject *self, PyObject *argument)
{
	(void)self;
	(void)argument;
	Py_RETURN_NONE;
}

#endif

static PyMethodDef methods[] = {
	{"alloc", witness_alloc, METH_O, NULL},
	{"alloc_free", witness_alloc_free, METH_O, NULL},
	{"alloc_quietly", witness_alloc_quietly, METH_O, NULL},
	{"call", witness_call, METH_O, NULL},
	{"corrupt", witness_corrupt, METH_O, NULL},
	{NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
	PyModuleDef_HEAD_INIT, "witness", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_witness(void)
{
	PyObject *m = PyModule_Create(&module);

	witness_log = PyList_New(0);
	if (m && witness_log)
		PyModule_AddObject(m, "log", witness_log);
	return m;
}
