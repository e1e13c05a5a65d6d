/*
 * Sets marks that cut the window of a count from outside, as a program would that wants its own time left out.
 *
 * `marks` sets 5000 with numbers that it draws, `known` those that this test's counter hears, and `nothing` does as much and
 * sets none. What a mark is: crates/linux/src/mark.rs.
 */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

enum { PARTS = 4, TIMES = 5000 };

#ifdef __aarch64__
static void write_mark(uint32_t *code, uint64_t number, int nothing)
{
    static const uint32_t moves[] = {0xd280001f, 0xd2800009};
    for (int part = 0; part < PARTS; part++) {
        code[part] = moves[nothing] | (uint32_t)(number >> (16 * part) & 0xffff) << 5;
    }
    code[PARTS] = 0xd65f03c0;
    __builtin___clear_cache((char *)code, (char *)(code + PARTS + 1));
}
#else
static void write_mark(uint32_t *code, uint64_t number, int nothing)
{
    static const uint32_t displacements[] = {0x4448, 0x5858};
    for (int part = 0; part < PARTS; part++) {
        code[2 * part] = 0x00841f0f;
        code[2 * part + 1] = displacements[nothing] | (uint32_t)(number >> (16 * part) & 0xffff) << 16;
    }
    code[2 * PARTS] = 0xc3;
}
#endif

int main(int count, char **words)
{
    int nothing = count > 1 && strcmp(words[1], "nothing") == 0;
    int known = count > 1 && strcmp(words[1], "known") == 0;
    uint32_t *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code == MAP_FAILED) {
        return 1;
    }
    /* `tests/cache_model.rs` has these two, the lowest byte first. */
    uint64_t drawn[2] = {0x74692065736f6c63, 0x217469206e65706f};
    for (int at = 0; at < TIMES; at++) {
        write_mark(code, drawn[at % 2], nothing);
        ((void (*)(void))code)();
        if (!known) {
            drawn[at % 2] = drawn[at % 2] * 6364136223846793005u + 1442695040888963407u;
        }
    }
    return 0;
}
