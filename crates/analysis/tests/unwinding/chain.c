/* Walks into a known chain of functions, and there tells its registers, its memory map, its stack, and what
 * backtrace(3) says of it. The oracle of `main.rs`. x86-64 only. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <execinfo.h>
#endif

#define KEEP __attribute__((noinline, noclone))
#define MOST 65528

static unsigned long regs[17]; /* DWARF's order; the last one is rip */
static unsigned char copy[MOST];
static unsigned long limit = MOST;
volatile int sink;

static void tell_maps(unsigned long sp, unsigned long *end)
{
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "r");
	while (fgets(line, sizeof line, maps)) {
		unsigned long first, behind;
		printf("map %s", line);
		if (sscanf(line, "%lx-%lx", &first, &behind) == 2 && sp >= first && sp < behind)
			*end = behind;
	}
	fclose(maps);
}

KEEP void dump(void)
{
	__asm__ volatile("mov %%rbx, 24(%0)\n\tmov %%rbp, 48(%0)\n\tmov %%rsp, 56(%0)\n\t"
			 "mov %%r12, 96(%0)\n\tmov %%r13, 104(%0)\n\tmov %%r14, 112(%0)\n\t"
			 "mov %%r15, 120(%0)\n\tlea 1f(%%rip), %%rax\n1:\tmov %%rax, 128(%0)"
			 : : "r"(regs) : "rax", "memory");
	unsigned long sp = regs[7], end = sp;
	tell_maps(sp, &end);
	unsigned long length = end - sp, all = length;
	if (length > limit)
		length = limit;
	memcpy(copy, (void *)sp, length);
#ifdef __GLIBC__
	void *places[256];
	int depth = backtrace(places, 256);
	for (int i = 0; i < depth; i++)
		printf("back %lx\n", (unsigned long)places[i]);
#endif
	for (int i = 0; i < 17; i++)
		printf("reg %lx\n", regs[i]);
	printf("cut %d\nstack ", all > length);
	for (unsigned long i = 0; i < length; i++)
		printf("%02x", copy[i]);
	printf("\n");
	fflush(stdout);
	_exit(0);
}

KEEP void inner(int n)
{
	char room[64];
	memset(room, n, sizeof room);
	sink += room[3];
	dump();
	sink += room[5];
}

static inline __attribute__((always_inline)) void melted(int n)
{
	sink += n;
	inner(n + 1);
	sink -= n;
}

KEEP void middle(int n)
{
	melted(n);
	sink++;
}

KEEP void outer(int n)
{
	middle(n * 3);
	sink++;
}

KEEP void deeper(int n)
{
	volatile char room[100];
	room[0] = (char)n;
	if (n == 0)
		middle(1);
	else
		deeper(n - 1);
	sink += room[0];
}

KEEP int compare(const void *one, const void *other)
{
	if (sink++ == 5)
		middle(2);
	return *(const int *)one - *(const int *)other;
}

KEEP void sorted(void)
{
	int numbers[16] = { 9, 3, 7, 1, 8, 2, 6, 4, 5, 0, 15, 12, 13, 11, 10, 14 };
	qsort(numbers, 16, sizeof numbers[0], compare);
	sink++;
}

static void handler(int number)
{
	middle(number);
	sink++;
}

KEEP void interrupted(int way)
{
	struct sigaction action = { .sa_handler = handler };
	static char elsewhere[1 << 16];
	if (way) {
		stack_t stack = { .ss_sp = elsewhere, .ss_size = sizeof elsewhere };
		sigaltstack(&stack, NULL);
		action.sa_flags = SA_ONSTACK;
	}
	sigaction(SIGSEGV, &action, NULL);
	*(volatile int *)16 = way;
	sink++;
}

KEEP void *thread(void *argument)
{
	outer(*(int *)argument);
	sink++;
	return NULL;
}

KEEP void realigned(int n)
{
	char room[n + 10];
	__attribute__((aligned(64))) char aligned[64];
	memset(room, 1, sizeof room);
	memset(aligned, n, 64);
	__asm__ volatile("" : : "r"(room), "r"(aligned) : "memory");
	outer(n);
	sink += room[0] + aligned[0];
}

int main(int count, char **words)
{
	const char *mode = count > 1 ? words[1] : "plain";
	if (count > 2)
		limit = strtoul(words[2], NULL, 10);
	int number = count;
	if (!strcmp(mode, "recursion"))
		deeper(100);
	else if (!strcmp(mode, "qsort"))
		sorted();
	else if (!strcmp(mode, "signal"))
		interrupted(0);
	else if (!strcmp(mode, "elsewhere"))
		interrupted(1);
	else if (!strcmp(mode, "realigned"))
		realigned(count * 7);
	else if (!strcmp(mode, "thread")) {
		pthread_t id;
		pthread_create(&id, NULL, thread, &number);
		pthread_join(id, NULL);
	} else
		outer(count);
	return sink;
}
