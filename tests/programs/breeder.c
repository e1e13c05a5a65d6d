/* Forks, starts threads and programs, and counts what it called and what failed: a subject for
 * the two `harm.rs`. Each SIGUSR1 asks for one batch, after which it writes "CALLS FAILED WHAT" into the file
 * that its first word names. Whoever is born calls work() once. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct tally {
    unsigned long calls, failed;
    char what[64];
};
static struct tally *tally;
static char shared[4096];

__attribute__((noinline)) unsigned long work(unsigned long number) {
    __asm__ volatile("" ::: "memory");
    return number + 1;
}

static void call(void) {
    work(0);
    __atomic_fetch_add(&tally->calls, 1, __ATOMIC_SEQ_CST);
}

static void fail(const char *what, int error) {
    __atomic_fetch_add(&tally->failed, 1, __ATOMIC_SEQ_CST);
    snprintf(tally->what, sizeof tally->what, "%s: %s", what, strerror(error));
}

static void see_end(const char *what, pid_t pid) {
    int status = -1;
    if (waitpid(pid, &status, 0) != pid || status != 0) fail(what, ECHILD);
}

static void *thread(void *nothing) {
    call();
    return nothing;
}

/* A child that calls, and has children of its own `depth` times over. */
static void family(int depth, int as_nobody) {
    pid_t pid = fork();
    if (pid < 0) return fail("fork", errno);
    if (pid == 0) {
        if (as_nobody && setuid(65534)) fail("setuid", errno);
        call();
        if (depth > 0) family(depth - 1, 0);
        _exit(0);
    }
    see_end("a child", pid);
}

static void *forking_thread(void *nothing) {
    family(0, 0);
    return nothing;
}

static void threads(int many, void *(*run)(void *)) {
    pthread_t born[40];
    int error, there = 0;
    for (int i = 0; i < many; i++) {
        if ((error = pthread_create(&born[there], 0, run, 0))) fail("pthread_create", error);
        else there++;
    }
    while (there > 0) pthread_join(born[--there], 0);
}

static void program(int with_fork) {
    char *const words[] = {"born", "-", shared, 0};
    char *const environment[] = {0};
    pid_t pid;
    if (with_fork) {
        if ((pid = fork()) < 0) return fail("fork", errno);
        if (pid == 0) {
            execve("/proc/self/exe", words, environment);
            fail("execve", errno);
            _exit(1);
        }
    } else {
        int error = posix_spawn(&pid, "/proc/self/exe", 0, 0, words, environment);
        if (error) return fail("posix_spawn", error);
    }
    see_end("a program", pid);
}

static void batch(void) {
    threads(40, thread);
    for (int i = 0; i < 10; i++) family(0, 0);
    for (int i = 0; i < 5; i++) family(2, 1);
    for (int i = 0; i < 10; i++) program(i & 1);
    threads(5, forking_thread);
}

int main(int words, char **word) {
    sigset_t set;
    int signal, born = words == 3;
    snprintf(shared, sizeof shared, "%s%s", word[words - 1], born ? "" : ".shared");
    int file = open(shared, O_RDWR | O_CREAT, 0666);
    if (file < 0 || ftruncate(file, sizeof *tally)) return 2;
    tally = mmap(0, sizeof *tally, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (tally == MAP_FAILED) return 3;
    if (born) {
        call();
        return 0;
    }
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, 0);
    for (;;) {
        sigwait(&set, &signal);
        batch();
        FILE *said = fopen(word[1], "w");
        fprintf(said, "%lu %lu %s\n", tally->calls, tally->failed, tally->what);
        fclose(said);
    }
}
