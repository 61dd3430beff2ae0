/* mpi_ranks.c -- a parallel program: each rank keeps blocks of 1000 bytes until its end, 100 of them, but one rank 900.
 * usage: mpi_ranks ODD_RANK
 * SPDX-License-Identifier: Apache-2.0 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void *kept[1000];

__attribute__((noinline)) static void keep(int blocks)
{
	for (int i = 0; i < blocks; i++)
		kept[i] = malloc(1000);
}

int main(int argc, char **argv)
{
	int rank = -1, ranks = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	keep(argc > 1 && atoi(argv[1]) == rank ? 900 : 100);
	MPI_Barrier(MPI_COMM_WORLD);
	printf("rank %d of %d kept %p\n", rank, ranks, kept[0]);
	MPI_Finalize();
	return 0;
}
