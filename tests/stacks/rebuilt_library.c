/* rebuilt_library.c -- one of the libraries of rebuilt.c; ROOM is the size of its frame.
 * SPDX-License-Identifier: Apache-2.0 */
void rebuilt_call(void (*back)(void));

void rebuilt_call(void (*back)(void))
{
	volatile char room[ROOM];

	room[0] = 1;
	back();
	room[1] = room[0];
}
