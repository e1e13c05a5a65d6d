/* Loops that wait, with and without the CPU's hint, and loops that work. Built for a test and not run. */

#ifdef __x86_64__
#define hint() __builtin_ia32_pause()
#else
#define hint() __asm__ volatile("yield")
#endif
#define APART __attribute__((noinline, noclone, noipa))

volatile int flag;

APART int look(void) { return flag; }
APART void work(void) { flag++; }
static inline __attribute__((always_inline)) void relax(void) { hint(); }

/* What is asked is waiting, and what stands around the loop is not. */
APART int spins(void) {
    int rounds = 0;
    work();
    while (!look()) {
        relax();
        rounds++;
    }
    work();
    return rounds;
}

/* The same, put into a function that goes round itself. */
static inline __attribute__((always_inline)) void melted(void) {
    while (!look()) relax();
}
APART void holds(int times) {
    while (times--) {
        work();
        melted();
    }
}

/* Takes work, and waits where there is none. */
APART void serves(void) {
    for (;;) {
        if (look()) {
            work();
            continue;
        }
        hint();
    }
}

/* A loop without the hint. */
APART void works(void) {
    while (!look()) work();
}

int main(void) {
    spins();
    holds(2);
    works();
    serves();
    return 0;
}
