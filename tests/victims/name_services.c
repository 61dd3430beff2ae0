/* name_services.c -- asks the C library for users, groups and services. Run by tests/e2e/reports.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The C library keeps what it read for the next question: that is all that is left at the end. With
 * the argument `leak` 4,321 bytes of the program's own are left as well. */
#include <grp.h>
#include <netdb.h>
#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

static void *volatile kept;

int main(int argc, char **argv)
{
	(void)argv;
	(void)getpwuid(getuid());
	(void)getpwnam("nobody");
	(void)getgrgid(getgid());
	(void)getgrnam("nogroup");
	(void)getservbyname("http", "tcp");
	(void)getprotobyname("tcp");
	if (argc > 1)
		kept = malloc(4321);
	return 0;
}
