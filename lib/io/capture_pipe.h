/* SPDX-License-Identifier: Apache-2.0 */
/* A capture that comes through a pipe, for libpcap, which waits in read() for the
 * rest of a frame as long as its writer likes: nobody could end the program
 * meanwhile. Here bytes are kept as they come, and who asks first whether the next
 * frame is there does not wait longer than it wants to:
 *
 *     FILE *file = ef_capture_pipe_open(fd, &pipe);      // for pcap_fopen_offline()
 *     if (ef_capture_pipe_wait(pipe, 100)) pcap_next_ex(...);
 *
 * It knows of pcap and pcapng where a record ends, no more; of a file that is
 * neither it says that a frame is there, and libpcap says what it thinks of it. One
 * thread. Used by source_pcap.c. */
#ifndef EF_IO_CAPTURE_PIPE_H
#define EF_IO_CAPTURE_PIPE_H

#include <stdbool.h>
#include <stdio.h>

struct ef_capture_pipe;

/* Takes `fd` over. Closing the file closes and frees all. Returns NULL with errno,
 * and `fd` is closed. */
FILE *ef_capture_pipe_open(int fd, struct ef_capture_pipe **pipe);

/* True if libpcap can read on without waiting: the next frame is there, or the
 * end. Waits for that, up to `timeout_ms` or a signal. */
bool ef_capture_pipe_wait(struct ef_capture_pipe *pipe, int timeout_ms);

#endif
