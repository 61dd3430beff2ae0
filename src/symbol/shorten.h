/* shorten.h -- C++ names as their authors wrote them.
 * Runs: offline, any thread; called while a model is built.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_SYMBOL_SHORTEN_H
#define MIDDEN_SYMBOL_SHORTEN_H

/* A demangled name without what the library adds and nobody writes: default arguments of the
 * standard templates, std::string and its like spelt out, inline namespaces, ABI tags, the space in
 * "> >". So std::vector<int, std::allocator<int> > becomes std::vector<int>. Arguments that are not
 * the default stay. malloc'ed; NULL if there is nothing to shorten, which goes for names that are
 * not understood too. Any text is allowed. */
char *shorten_name(const char *full);

#endif
