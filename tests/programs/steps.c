// A program that does the same work ten times a second: TURNS turns of a loop. MARK makes two builds differ in nothing
// that costs.
#include <time.h>

static const volatile char mark[] = "build " MARK;

int main(void) {
    struct timespec tenth = {0, 100000000};
    volatile unsigned long sum = (unsigned char)mark[0];
    for (;;) {
        for (unsigned long turn = 0; turn < TURNS; turn++) {
            sum += turn;
        }
        nanosleep(&tenth, 0);
    }
}
