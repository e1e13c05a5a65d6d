/*
 * Runs a program between the two marks that open and close a window of the cache model.
 *
 * What the marks are is said in crates/linux/src/mark.rs; the agent sets them itself, this is for tests that
 * have only a command line.
 */
#include <sys/wait.h>
#include <unistd.h>

#ifdef __aarch64__
#define MARK(which) __asm__ volatile("movz xzr, #0x4800 + " #which ::: "memory")
#else
#define MARK(which) __asm__ volatile(".byte 0x0f, 0x1f, 0x84, 0x00, 0x48, 0x44, 0x52, " #which ::: "memory")
#endif

int main(int count, char **words)
{
    if (count < 2) {
        return 2;
    }
    MARK(0x01);
    pid_t child = vfork();
    if (child == 0) {
        execvp(words[1], words + 1);
        _exit(127);
    }
    int status = 1;
    waitpid(child, &status, 0);
    MARK(0x02);
    return status != 0;
}
