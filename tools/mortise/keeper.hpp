// The keeper: a process that shares the guardian's descriptors and does nothing. Some stores free the locks of a process when its
// descriptors are closed; these stay open until guardian and keeper have both ended. So when the guardian is killed, the lock
// lasts until the wrapper, having ended the command, ends the keeper too. It ends with the wrapper.
#pragma once

#include <sys/types.h>

namespace command {

// Called by the guardian before it has threads, and a child of the wrapper, as the guardian is. -1 and errno: no process is to be had.
pid_t start_keeper(pid_t wrapper);

}  // namespace command
