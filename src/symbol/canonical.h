/* canonical.h -- names of functions as they are in every build.
 * Runs: offline, any thread; called where two profiles are compared.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_SYMBOL_CANONICAL_H
#define MIDDEN_SYMBOL_CANONICAL_H

/* A demangled name without what the compiler adds and a change elsewhere moves: the marks of clones
 * (.constprop.0, .isra.1, .part.0, .cold, [clone ...]), Rust's hash, and the numbers of closures
 * and unnamed types; lambdas have one name (lambda.h) without a number. Any text is allowed.
 * malloc'ed, never NULL. */
char *canonical_name(const char *name);

/* The same without parameters, return type and qualifiers: symbol tables have them, and debug
 * information of inlined functions often does not. Overloads become one, and so
 * do the lambdas of a function, which every compiler names in its own way. */
char *canonical_loose_name(const char *name);

/* The same without the arguments of templates, which symbol tables and debug information write in
 * different ways. */
char *canonical_bare_name(const char *name);

#endif
