/*
 * The subject of the cache model's oracle: known patterns of access, and nothing else.
 *
 * Runs under the emulator with the model and under `valgrind --tool=cachegrind`, which must then agree. It has no
 * C library, so that no start-up and no choice by CPU stands between them; its data lies at fixed
 * addresses; every access is one word that it loads or stores, never both in one instruction.
 */
typedef unsigned long word;

enum { WORDS = 1 << 16, NODES = 1 << 14, STRIDE = 512, HOT = 1 << 11 };

static word stream_from[WORDS] __attribute__((aligned(4096)));
static word stream_to[WORDS] __attribute__((aligned(4096)));
static word nodes[NODES * 8] __attribute__((aligned(4096))); /* a line each */
static word order[NODES];
static volatile word result;

/* Keeps the compiler from making other accesses of these, or several at once. */
static inline word load(const word *from)
{
    return *(const volatile word *)from;
}

static inline void store(word *to, word value)
{
    *(volatile word *)to = value;
}

/* Marsaglia's xorshift, “Xorshift RNGs”, Journal of Statistical Software 8 (14), 2003. */
static word random_state = 88172645463325252ul;

static word drawn(void)
{
    word x = random_state;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    random_state = x;
    return x;
}

/* Copies an array that the first level cannot hold, word by word. */
static __attribute__((noinline)) void stream(void)
{
    for (word at = 0; at < WORDS; at++) {
        store(&stream_to[at], load(&stream_from[at]) + at);
    }
}

/* Reads a word of every 64th line again and again: few sets, all of the conflicts. */
static __attribute__((noinline)) word stride(void)
{
    word sum = 0;
    for (int round = 0; round < 200; round++) {
        for (word at = 0; at < WORDS; at += STRIDE) {
            sum += load(&stream_from[at]);
        }
    }
    return sum;
}

/* Loads and stores anywhere. */
static __attribute__((noinline)) word anywhere(void)
{
    word sum = 0;
    for (int round = 0; round < 200000; round++) {
        word x = drawn();
        sum += load(&stream_from[x % WORDS]);
        if (x & (1ul << 40)) {
            store(&stream_to[(x >> 20) % WORDS], sum);
        }
    }
    return sum;
}

/* One long cycle through lines in a drawn order: Sattolo's algorithm, then each load waits for the last. */
static __attribute__((noinline)) word chase(void)
{
    for (word at = 0; at < NODES; at++) {
        store(&order[at], at);
    }
    for (word at = NODES - 1; at > 0; at--) {
        word other = drawn() % at, here = load(&order[at]);
        store(&order[at], load(&order[other]));
        store(&order[other], here);
    }
    for (word at = 0; at < NODES; at++) {
        store(&nodes[8 * at], 8 * load(&order[at]));
    }
    word at = 0;
    for (int step = 0; step < 10 * NODES; step++) {
        at = load(&nodes[at]);
    }
    return at;
}

/* What fits into the first level: all but the first round hits. */
static __attribute__((noinline)) word hot(void)
{
    word sum = 0;
    for (int round = 0; round < 100; round++) {
        for (word at = 0; at < HOT; at++) {
            sum += load(&stream_to[at]);
        }
    }
    return sum;
}

/* Straight code that the first level cannot hold: 76 KiB, round after round. */
static __attribute__((noinline)) word long_code(void)
{
    word sum = 0;
    for (int round = 0; round < 20; round++) {
        __asm__ volatile(".rept 1024\n addq $3, %0\n .fill 70, 1, 0x90\n addq $5, %0\n .endr\n" : "+r"(sum));
    }
    return sum;
}

/* Accesses across the ends of lines. */
static __attribute__((noinline)) word across(void)
{
    word sum = 0;
    for (int round = 0; round < 20; round++) {
        for (word at = 60; at + 8 <= sizeof stream_from; at += 64) {
            sum += load((const word *)((const char *)stream_from + at));
        }
    }
    return sum;
}

static __attribute__((noreturn)) void leave(void)
{
    __asm__ volatile("syscall" : : "a"(231), "D"(0) : "rcx", "r11", "memory");
    __builtin_unreachable();
}

__attribute__((noreturn, force_align_arg_pointer)) void _start(void)
{
    stream();
    word sum = stride() + anywhere() + chase() + hot() + long_code() + across();
    stream();
    result = sum;
    leave();
}
