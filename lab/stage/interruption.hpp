// Whether somebody wants the run to end.
#pragma once

namespace lab {

// SIGINT, SIGTERM and SIGHUP end a run from here on, after what it has left behind is tidied up.
void expect_interruption();
int interrupted();  // the signal, or 0

}  // namespace lab
