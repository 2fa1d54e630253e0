// Read by ThreadSanitizer when a program starts; see mortise_allow_threads_after_fork.
extern "C" const char* __tsan_default_options();  // NOLINT(bugprone-reserved-identifier): its name is given

extern "C" const char* __tsan_default_options() {
    return "die_after_fork=0";
}
