/*
 * Runs a program between the two marks that open and close a window of the cache model, the first time that it is started.
 *
 * What the marks are is said in crates/linux/src/mark.rs; the agent sets its own, this is for tests that have only a command
 * line, and whose models hear these two (tests/cache_model.rs).
 */
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __aarch64__
#define PART(low, high) "movz xzr, #" #low " + (" #high " << 8)\n"
#else
#define PART(low, high) ".byte 0x0f, 0x1f, 0x84, 0x00, 0x48, 0x44, " #low ", " #high "\n"
#endif
#define OPEN PART('o', 'p') PART('e', 'n') PART(' ', 'i') PART('t', '!')
#define CLOSE PART('c', 'l') PART('o', 's') PART('e', ' ') PART('i', 't')

int main(int count, char **words)
{
    if (count < 2) {
        return 2;
    }
    int is_first = mkdir("/run/cache-window", 0700) == 0;
    if (is_first) {
        __asm__ volatile(OPEN ::: "memory");
    }
    pid_t child = vfork();
    if (child == 0) {
        execvp(words[1], words + 1);
        _exit(127);
    }
    int status = 1;
    waitpid(child, &status, 0);
    if (is_first) {
        __asm__ volatile(CLOSE ::: "memory");
    }
    return status != 0;
}
