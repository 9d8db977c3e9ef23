/*
 * A thread that makes the system forget bytes of damaged files (serve.h): that waits for reads
 * which may take long, and nobody else should wait for them.
 */
#ifndef SB_TASK_MOUNT_DROPPER_H
#define SB_TASK_MOUNT_DROPPER_H

#include "core/error.h"

struct sb_dropper;
struct sb_server;

/* server: kept. NULL where no thread can be started. */
enum sb_code sb_dropper_start(struct sb_dropper **out, struct sb_server *server) SB_CHECKED;

/* There may be such files. */
void sb_dropper_wake(struct sb_dropper *dropper);

/* While there are still threads that answer. NULL is allowed. */
void sb_dropper_end(struct sb_dropper *dropper);

#endif
