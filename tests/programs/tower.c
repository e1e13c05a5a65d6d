/* A tower of calls whose shares are not alike: direct, through a pointer, recursive, and with a frame of no fixed size. */
#include <alloca.h>
#include <string.h>

#define FUNCTION __attribute__((noinline)) void

static volatile unsigned long sum;

FUNCTION leaf(long rounds) {
    for (long at = 0; at < rounds; at++) sum += at * at;
}
FUNCTION direct(long rounds) { leaf(rounds); sum++; }
FUNCTION deeper(long rounds) {
    if (rounds > 1000) deeper(rounds / 2);
    leaf(rounds);
    sum++;
}
FUNCTION of_no_fixed_size(long rounds) {
    size_t length = 64 + sum % 512;
    char *room = alloca(length);
    memset(room, 1, length);
    leaf(rounds);
    sum += room[length / 2];
}

static void (*volatile pointed)(long) = of_no_fixed_size;

int main(void) {
    for (int round = 0; round < 300; round++) {
        direct(900000);
        deeper(300000);
        pointed(200000);
    }
}
