/* lambda.h -- C++ lambdas, which every compiler names in its own way, by one name.
 * Runs: offline, any thread; called while a model is built and where profiles are compared.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_SYMBOL_LAMBDA_H
#define MIDDEN_SYMBOL_LAMBDA_H

#include <stdbool.h>
#include <stddef.h>

/* The length of a lambda's name at text[at], or 0: "{lambda(int)#2}" (symbols of gcc), "$_1"
 * (symbols of clang), "<lambda(int)>" and "{unnamed}::operator()" up to the colons (debug
 * information), "'lambda1'(int)" (LLVM's demangler), "{lambda#2}". Its number from 1 on goes to
 * `number`, 0 if it has none. */
size_t lambda_find(const char *text, size_t at, unsigned long *number);

/* A name with each lambda in it as "{lambda#2}" or, where it has no number or it is not wanted,
 * "{lambda}". malloc'ed; NULL if that is the name itself. */
char *lambda_unify(const char *name, bool numbered);

#endif
