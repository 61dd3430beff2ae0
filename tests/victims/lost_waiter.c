/* lost_waiter.c -- waits in system calls that a stop would end, while somebody looks at what it has
 * lost. Run by tests/e2e/leaks.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Loses 3 blocks of 100 bytes. Says "ready"; then the main thread waits for standard input in
 * epoll_wait, for an hour at most, and others wait in epoll_wait, sigwaitinfo and in a receive with
 * a time limit for what does not come. When there is a line, it says how many of the waits have
 * ended too early. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

static atomic_int ended;

__attribute__((noinline)) static void lose(void)
{
	for (int i = 0; i < 3; i++)
		memset(malloc(100), 1, 100);
}

static void *wait_in_epoll(void *unused)
{
	struct epoll_event event;

	for (int set = epoll_create1(0);; atomic_fetch_add(&ended, 1))
		(void)epoll_wait(set, &event, 1, -1);
	return unused;
}

static void *wait_for_signal(void *unused)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	for (;; atomic_fetch_add(&ended, 1))
		(void)sigwaitinfo(&set, NULL);
	return unused;
}

static void *receive(void *unused)
{
	const struct timeval limit = {.tv_sec = 3600};
	char byte;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		abort();
	setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	for (;; atomic_fetch_add(&ended, 1))
		(void)!recv(ends[0], &byte, 1, 0);
	return unused;
}

int main(void)
{
	void *(*const works[])(void *) = {wait_in_epoll, wait_for_signal, receive};
	struct epoll_event event = {.events = EPOLLIN};
	int set = epoll_create1(0);
	char line[16];

	lose();
	for (size_t i = 0; i < sizeof(works) / sizeof(works[0]); i++) {
		pthread_t thread;

		pthread_create(&thread, NULL, works[i], NULL);
	}
	epoll_ctl(set, EPOLL_CTL_ADD, STDIN_FILENO, &event);
	puts("ready");
	fflush(stdout);
	while (epoll_wait(set, &event, 1, 3600 * 1000) != 1)
		atomic_fetch_add(&ended, 1);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	printf("%d ended\n", atomic_load(&ended));
	return 5;
}
