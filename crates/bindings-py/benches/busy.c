/* Threads that decode as a read's do, until the input is closed: what gil.py compares a read with.
 *
 * Run as `busy THREADS`. Each thread turns 1 MiB of tokens (literals, then a copy of what was written before) into
 * 64 KiB blocks, one after the other through memory of its own that no cache holds: the branches, small copies and
 * memory traffic of LZ4. At the end it prints the seconds of processor time that all of them used.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { TOKENS = 1 << 20, BLOCK = 1 << 16, BLOCKS = 2048, THREADS_MAX = 1024 };

static volatile int stop;

static size_t decode(const uint8_t *tokens, size_t at, uint8_t *out) {
    size_t written = 64;
    memset(out, 1, written);
    while (written + 64 < BLOCK) {
        size_t literals = tokens[at] & 15, copied = 4 + (tokens[at] >> 4), back = 16 + tokens[at + 1] % 48;
        memcpy(out + written, tokens + at + 2, 16);
        written += literals;
        memcpy(out + written, out + written - back, 16);
        memcpy(out + written + 16, out + written + 16 - back, 16);
        written += copied;
        at = (at + 2 + literals) % (TOKENS - 64);
    }
    return at;
}

static void *work(void *seed) {
    uint32_t random = 1 + (uint32_t)(uintptr_t)seed;
    uint8_t *tokens = malloc(TOKENS), *out = malloc((size_t)BLOCK * BLOCKS);
    if (tokens == NULL || out == NULL) abort();
    for (size_t byte = 0; byte < TOKENS; byte++) {
        random = random * 1664525u + 1013904223u;
        tokens[byte] = random >> 24;
    }
    for (size_t block = 0, at = 0; !stop; block = (block + 1) % BLOCKS) at = decode(tokens, at, out + block * BLOCK);
    return out;
}

int main(int count, char **arguments) {
    int threads = count == 2 ? atoi(arguments[1]) : 0;
    if (threads < 1 || THREADS_MAX < threads) return 2;
    pthread_t made[THREADS_MAX];
    for (int number = 0; number < threads; number++)
        if (pthread_create(&made[number], NULL, work, (void *)(uintptr_t)number)) return 1;
    char byte;
    while (0 < read(0, &byte, 1)) {}
    stop = 1;
    for (int number = 0; number < threads; number++) pthread_join(made[number], NULL);
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    printf("%.3f\n", used.ru_utime.tv_sec + used.ru_stime.tv_sec + (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6);
    return 0;
}
