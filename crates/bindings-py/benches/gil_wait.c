/* How long a thread waits for the GIL, for gil.py, which calls this with the GIL held (ctypes.PyDLL). */
#include <stdint.h>
#include <time.h>

/* Python's own, which the program that loads this has. */
extern void *PyEval_SaveThread(void);
extern void PyEval_RestoreThread(void *);

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * (int64_t)1000000000 + time.tv_nsec;
}

/* Gives up the GIL, sleeps, and returns how many nanoseconds it then takes to have it back. */
int64_t wait_for_gil(int64_t sleep_ns) {
    struct timespec sleep = {0, sleep_ns};
    void *state = PyEval_SaveThread();
    nanosleep(&sleep, 0);
    int64_t asked = now();
    PyEval_RestoreThread(state);
    return now() - asked;
}
