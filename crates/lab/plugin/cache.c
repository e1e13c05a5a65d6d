/*
 * A cache model attached to the emulator: an L1i and an L1d for each CPU, and one L2 that all share.
 *
 * Set-associative, least recently used out first, allocated by loads and by stores, by physical lines in a
 * whole machine and by virtual ones in a single program. Nothing else: no prefetch, no coherence, no
 * write-back traffic, no translation buffers, no time. It does not touch the guest: what it counts is
 * written down at the guest's marks, and never read by it. docs/design/cache-model.md has the reasons.
 *
 * Arguments: l1i=SIZE:WAYS:LINE l1d=… l2=… (bytes; the lines of one length) out=FILE code=FILE open=MARK close=MARK
 * Without caches it counts instructions and models nothing, which costs the emulator little.
 *
 * `open` and `close` are the marks of this guest, 16 hexadecimal digits each. Any program may execute what looks like a
 * mark; who does not know these numbers does not cut the window.
 *
 * `code` names code of programs to look out for, a part of a page in each line: where on its page it begins and ends, where the
 * bytes of the page begin that are known, and those bytes in hexadecimal digits.
 *
 * The file: a line with the version and the geometry, which is `none` without caches, then a line for each mark, “open”, “close”, and “end”
 * when QEMU ends in good order, each with its number and nine counts of programs and nine of the kernel:
 *   instructions, L1i misses, loads, their L1d misses, stores, their L1d misses,
 *   L2 misses of fetches, of loads, of stores.
 * The L2 is asked for what an L1 missed and for nothing else, so its accesses are the L1s' misses.
 * The line “ran” is added when the first of the code that is looked for is translated, which is when a CPU comes to it.
 */
#include "qemu_plugin.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

EXPORTED int qemu_plugin_version;

/*
 * Which version it is depends on the QEMU that loads it, which reads the number behind this: the first is that of QEMU 4.2 to
 * 8.2, the second of 9.0 and later.
 */
__attribute__((constructor)) static void choose_version(void)
{
    qemu_plugin_version = qemu_plugin_register_vcpu_insn_exec_inline ? 1 : 2;
}

/* From this version on an instruction's bytes are copied (QEMU 9.1). */
enum { VERSION_THAT_COPIES = 3 };

static bool copies;

enum { MOST_CPUS = 64, PAGE = 4096 };

/* A guest that marks without end does not fill the host's disk. */
enum { MOST_MARKS = 1000 };

/*
 * A mark is so many instructions that do nothing, one right after the other on a CPU, each with 16 bits of its number, the
 * lowest first: on x86-64 `nopl`, whose displacement begins with this, on arm64 `movz xzr`. crates/linux/src/mark.rs.
 */
enum { MARK_PARTS = 4 };
static const uint8_t X86_MARK[] = {0x0f, 0x1f, 0x84, 0x00, 'H', 'D'};
static const uint32_t ARM_MARK = 0xd280001f;
enum { ARM_MARK_SHIFT = 5 };

static struct mark {
    const char *name;
    uint16_t parts[MARK_PARTS];
} to_hear[] = {{.name = "open"}, {.name = "close"}};

enum { MARKS = sizeof to_hear / sizeof *to_hear };
static bool are_marked; /* whether there are any to hear */

/* Whose instructions the guest's are; of others nothing is known. */
static enum { X86_64, AARCH64, OTHER } processor = OTHER;

/* What an entry holds that holds no line. */
#define NO_LINE UINT64_MAX

struct cache {
    uint64_t *lines; /* set by set, in each the most recently used first */
    uint64_t set_mask;
    unsigned ways;
};

struct counts {
    uint64_t instructions, l1i_misses;
    uint64_t accesses[2], l1d_misses[2]; /* loads, stores */
    uint64_t l2_misses[3];               /* fetches, loads, stores */
};

enum { PROGRAMS, KERNEL, PRIVILEGES };
enum { FETCHES, LOADS, STORES };

/* A page that an address led to, as long as no instruction has told the CPU to forget. */
struct translation {
    uint64_t key; /* the address's page, and above it the generation */
    uint64_t place;
};

enum { TRANSLATIONS = 512, PAGE_SHIFT = 12, GENERATIONS = 4096 };

struct cpu {
    struct counts counts[PRIVILEGES];
    uint64_t fetched; /* the line that was fetched last */
    uint64_t generation;
    unsigned heard[MARKS]; /* parts of each mark, one after the other */
    struct cache l1i, l1d;
    struct translation translations[TRANSLATIONS];
} __attribute__((aligned(64)));

struct geometry {
    uint64_t size, ways, line;
};

static struct cpu cpus[MOST_CPUS];
static struct cache l2;
static unsigned line_shift;
static bool whole_machine;
static bool models; /* whether there are caches */
static bool several_cpus;
static struct qemu_plugin_scoreboard *executions; /* of each CPU, programs' and the kernel's, where QEMU counts them */
static bool remembers; /* whether the instructions are known that make a CPU forget translations */
static pthread_mutex_t l2_lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *out;
static unsigned marks;

/* Code that is looked for: a part of a page of a program. */
struct part {
    unsigned first, end;   /* the code, in the page */
    unsigned from, length; /* what is known of the page */
    uint8_t *known;
    struct part *next;
};

static struct part *parts;

/* Asks for a line; whether it was there. It is afterwards, as the most recently used of its set. */
static inline bool has(struct cache *cache, uint64_t line)
{
    uint64_t *set = cache->lines + (line & cache->set_mask) * cache->ways;
    if (__builtin_expect(set[0] == line, 1)) {
        return true;
    }
    unsigned way = 1;
    while (way < cache->ways && set[way] != line) {
        way++;
    }
    bool found = way < cache->ways;
    for (unsigned to = found ? way : cache->ways - 1; to > 0; to--) {
        set[to] = set[to - 1];
    }
    set[0] = line;
    return found;
}

/* The L2 is asked for a line that an L1 did not have; whether it had it. */
static bool l2_has(uint64_t line)
{
    if (!several_cpus) {
        return has(&l2, line);
    }
    pthread_mutex_lock(&l2_lock);
    bool found = has(&l2, line);
    pthread_mutex_unlock(&l2_lock);
    return found;
}

/*
 * A fetch from a line that is not the one before it in its block. The data is the address of the line, with
 * what else is known at translation in the bits below it.
 */
enum { FETCH_KERNEL = 1, FETCH_NEXT_TOO = 2 };

static void fetched(unsigned index, void *data)
{
    uint64_t word = (uintptr_t)data;
    uint64_t line = word >> line_shift;
    struct cpu *cpu = &cpus[index % MOST_CPUS];
    bool next_too = word & FETCH_NEXT_TOO;
    if (line == cpu->fetched && !next_too) {
        return; /* Nobody but fetches asks the L1i, so this line is still there. */
    }
    cpu->fetched = line + next_too;
    bool l1_missed = false, l2_missed = false;
    for (uint64_t one = line; one <= line + next_too; one++) {
        if (!has(&cpu->l1i, one)) {
            l1_missed = true;
            l2_missed |= !l2_has(one);
        }
    }
    struct counts *counts = &cpu->counts[word & FETCH_KERNEL];
    counts->l1i_misses += l1_missed;
    counts->l2_misses[FETCHES] += l2_missed;
}

/* An instruction of a machine with several CPUs, which must not count in one place at the same time. */
static void executed(unsigned index, void *data)
{
    cpus[index % MOST_CPUS].counts[(uintptr_t)data].instructions++;
}

/* Where an address leads, by QEMU's word; false where no memory is there, but a device. */
static bool ask(qemu_plugin_meminfo_t info, uint64_t address, uint64_t *place)
{
    struct qemu_plugin_hwaddr *found = qemu_plugin_get_hwaddr(info, address);
    if (!found || qemu_plugin_hwaddr_is_io(found)) {
        return false;
    }
    *place = qemu_plugin_hwaddr_phys_addr(found);
    return true;
}

/*
 * The same, from memory where it was asked before: the question costs more than all the rest of the model. A
 * CPU may keep what it has looked up until it is told to forget, so what it would still know is still true.
 */
static inline bool locate(struct cpu *cpu, qemu_plugin_meminfo_t info, uint64_t address, uint64_t *place)
{
    if (!whole_machine) {
        *place = address;
        return true;
    }
    if (!remembers) {
        return ask(info, address, place);
    }
    uint64_t page = address >> PAGE_SHIFT;
    struct translation *known = &cpu->translations[page % TRANSLATIONS];
    uint64_t key = page | cpu->generation << (64 - PAGE_SHIFT);
    if (__builtin_expect(known->key != key, 0)) {
        if (!ask(info, address, place)) {
            return false;
        }
        *known = (struct translation){key, *place & ~(uint64_t)(PAGE - 1)};
        return true;
    }
    *place = known->place | (address & (PAGE - 1));
    return true;
}

/* The CPU was told to forget where addresses lead. */
static void forget(unsigned index, void *data)
{
    (void)data;
    struct cpu *cpu = &cpus[index % MOST_CPUS];
    cpu->generation = (cpu->generation + 1) % GENERATIONS;
    if (cpu->generation == 0) {
        memset(cpu->translations, 0xff, sizeof cpu->translations);
    }
}

/* Passes one line of an access through; sets what missed. */
static inline void touch(struct cpu *cpu, uint64_t line, bool *l1_missed, bool *l2_missed)
{
    if (!has(&cpu->l1d, line)) {
        *l1_missed = true;
        *l2_missed |= !l2_has(line);
    }
}

static void accessed(unsigned index, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
    uint64_t first, last;
    struct cpu *cpu = &cpus[index % MOST_CPUS];
    if (!locate(cpu, info, address, &first)) {
        return;
    }
    struct counts *counts = &cpu->counts[(uintptr_t)data];
    bool store = qemu_plugin_mem_is_store(info);
    counts->accesses[store]++;

    bool l1_missed = false, l2_missed = false;
    uint64_t line = first >> line_shift;
    touch(cpu, line, &l1_missed, &l2_missed);
    uint64_t end = address + (1u << qemu_plugin_mem_size_shift(info)) - 1;
    if (__builtin_expect((address ^ end) >> line_shift != 0, 0)) {
        /* The second line may be on another page, which is anywhere. */
        bool same_page = (address ^ end) < PAGE;
        last = first + (end - address);
        if (same_page || locate(cpu, info, end, &last)) {
            touch(cpu, last >> line_shift, &l1_missed, &l2_missed);
        }
    }
    if (__builtin_expect(l1_missed, 0)) {
        counts->l1d_misses[store]++;
        counts->l2_misses[store ? STORES : LOADS] += l2_missed;
    }
}

static qemu_plugin_u64 executions_of(int privilege)
{
    return (qemu_plugin_u64){executions, privilege * sizeof(uint64_t)};
}

/* The counters as they stand, of all CPUs, in one line that is on the disk afterwards. */
static void write_down(const char *what)
{
    if (!out || ++marks > MOST_MARKS) {
        return;
    }
    fprintf(out, "%s %u", what, marks);
    for (int privilege = 0; privilege < PRIVILEGES; privilege++) {
        uint64_t sum[9] = {0};
        for (int index = 0; index < MOST_CPUS; index++) {
            const struct counts *one = &cpus[index].counts[privilege];
            const uint64_t all[9] = {
                one->instructions, one->l1i_misses,    one->accesses[0], one->l1d_misses[0], one->accesses[1],
                one->l1d_misses[1], one->l2_misses[FETCHES], one->l2_misses[LOADS], one->l2_misses[STORES],
            };
            for (int at = 0; at < 9; at++) {
                sum[at] += all[at];
            }
        }
        sum[0] += executions ? qemu_plugin_u64_sum(executions_of(privilege)) : 0;
        for (int at = 0; at < 9; at++) {
            fprintf(out, " %llu", (unsigned long long)sum[at]);
        }
    }
    fputc('\n', out);
    fflush(out);
}

/* A part of some mark was executed. */
static void marked(unsigned index, void *data)
{
    uint16_t part = (uintptr_t)data;
    for (unsigned which = 0; which < MARKS; which++) {
        const struct mark *mark = &to_hear[which];
        unsigned *heard = &cpus[index % MOST_CPUS].heard[which];
        *heard = part == mark->parts[*heard] ? *heard + 1 : part == mark->parts[0];
        if (*heard == MARK_PARTS) {
            *heard = 0;
            write_down(mark->name);
        }
    }
}

static void ended(qemu_plugin_id_t id, void *data)
{
    (void)id;
    (void)data;
    write_down("end");
}

/*
 * Where an instruction is. QEMU tells the host's address of its first byte and not the guest's physical one.
 * The guest's memory is one mapping that begins at a multiple of 2 MiB, so a set is the same by either, and
 * lines are the same lines; only a line that is both executed and loaded from counts as two.
 */
static uint64_t place_of(const struct qemu_plugin_insn *insn)
{
    uint64_t host = whole_machine ? (uintptr_t)qemu_plugin_insn_haddr(insn) : 0;
    return host ? host : qemu_plugin_insn_vaddr(insn);
}

/* Has the lines looked up that an instruction is the first of its block to be fetched from. */
static void watch_fetch(struct qemu_plugin_insn *insn, uint64_t *previous, bool kernel)
{
    uint64_t first = place_of(insn), last = first + qemu_plugin_insn_size(insn) - 1;
    if ((first ^ last) >= PAGE) {
        last = first; /* Where the other page is, nobody says; whoever runs on it will fetch from it. */
    }
    uint64_t from = first >> line_shift, to = last >> line_shift;
    bool again = from == *previous;
    *previous = to;
    if (again && from == to) {
        return;
    }
    uint64_t word = (again ? to : from) << line_shift;
    word |= (kernel ? FETCH_KERNEL : 0) | (!again && from != to ? FETCH_NEXT_TOO : 0);
    qemu_plugin_register_vcpu_insn_exec_cb(insn, fetched, QEMU_PLUGIN_CB_NO_REGS, (void *)(uintptr_t)word);
}

static void count_execution(struct qemu_plugin_insn *insn, bool kernel)
{
    if (executions) {
        qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(insn, QEMU_PLUGIN_INLINE_ADD_U64, executions_of(kernel), 1);
    } else if (several_cpus) {
        qemu_plugin_register_vcpu_insn_exec_cb(insn, executed, QEMU_PLUGIN_CB_NO_REGS,
                                               (void *)(uintptr_t)kernel);
    } else {
        qemu_plugin_register_vcpu_insn_exec_inline(insn, QEMU_PLUGIN_INLINE_ADD_U64,
                                                   &cpus[0].counts[kernel].instructions, 1);
    }
}

/* The bytes of an instruction. No processor that is known here has longer ones. */
struct code {
    size_t length;
    uint8_t bytes[16];
};

static struct code code_of(struct qemu_plugin_insn *insn)
{
    struct code code = {.length = qemu_plugin_insn_size(insn)};
    if (code.length > sizeof code.bytes) {
        code.length = sizeof code.bytes;
    }
    /* A QEMU that does not copy gives their address and looks at nothing but the first argument. */
    const void *known = qemu_plugin_insn_data(insn, code.bytes, code.length);
    if (!copies) {
        memcpy(code.bytes, known, code.length);
    }
    return code;
}

/* An instruction of arm64's, which are four bytes long and have the lowest first. */
static uint32_t arm_word(const struct code *code)
{
    const uint8_t *byte = code->bytes;
    return byte[0] | byte[1] << 8 | byte[2] << 16 | (uint32_t)byte[3] << 24;
}

static void watch_mark(struct qemu_plugin_insn *insn, const struct code *code)
{
    uint16_t part;
    if (processor == X86_64) {
        if (code->length != sizeof X86_MARK + sizeof part || memcmp(code->bytes, X86_MARK, sizeof X86_MARK) != 0) {
            return;
        }
        part = code->bytes[sizeof X86_MARK] | code->bytes[sizeof X86_MARK + 1] << 8;
    } else {
        part = arm_word(code) >> ARM_MARK_SHIFT;
        if (processor != AARCH64 || arm_word(code) != (ARM_MARK | (uint32_t)part << ARM_MARK_SHIFT)) {
            return;
        }
    }
    qemu_plugin_register_vcpu_insn_exec_cb(insn, marked, QEMU_PLUGIN_CB_NO_REGS, (void *)(uintptr_t)part);
}

/*
 * x86's instructions after which an address may lead elsewhere: a move to a control register (`0F 22`),
 * INVLPG (`0F 01 /7` of memory) and INVPCID (`66 0F 38 82`). Intel SDM, volume 3, 4.10.4.
 */
static bool x86_forgets(const struct code *code)
{
    const uint8_t *byte = code->bytes, *end = byte + code->length;
    while (byte < end && (*byte == 0x66 || *byte == 0x67 || *byte == 0xf2 || *byte == 0xf3 ||
                          *byte == 0x2e || *byte == 0x36 || *byte == 0x3e || *byte == 0x26 ||
                          *byte == 0x64 || *byte == 0x65 || (*byte & 0xf0) == 0x40)) {
        byte++; /* Prefixes; in 64-bit code `4x` is REX. */
    }
    if (end - byte < 3 || byte[0] != 0x0f) {
        return false;
    }
    bool control = byte[1] == 0x22;
    bool page = byte[1] == 0x01 && (byte[2] & 0x38) == 0x38 && byte[2] < 0xc0;
    bool context = byte[1] == 0x38 && byte[2] == 0x82;
    return control || page || context;
}

/*
 * arm64's: a write to SCTLR_EL1, TTBR0_EL1, TTBR1_EL1 or TCR_EL1 (`msr` with CRn 1 or 2), and TLBI (`sys` with CRn 8).
 * Arm ARM, C5.1.2 and D8.14.
 */
static bool arm_forgets(const struct code *code)
{
    uint32_t word = arm_word(code);
    bool control = (word & 0xffffff00) == 0xd5181000 || (word & 0xffffff00) == 0xd5182000;
    bool entries = (word & 0xfff8f000) == 0xd5088000;
    return control || entries;
}

static void watch_forgetting(struct qemu_plugin_insn *insn, const struct code *code)
{
    if (processor == X86_64 ? x86_forgets(code) : arm_forgets(code)) {
        qemu_plugin_register_vcpu_insn_exec_cb(insn, forget, QEMU_PLUGIN_CB_NO_REGS, NULL);
    }
}

/*
 * Whether a part is what a block of a program is in. A page is known by its bytes: two programs that share a page's bytes
 * share the code.
 */
static bool holds(const struct part *part, unsigned first, unsigned end, const uint8_t *page)
{
    return first < part->end && part->first < end && memcmp(page + part->from, part->known, part->length) == 0;
}

static void look_out(struct qemu_plugin_tb *block)
{
    struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(block, 0);
    uintptr_t place = (uintptr_t)qemu_plugin_insn_haddr(insn);
    if (!place || qemu_plugin_insn_vaddr(insn) >> 63) {
        return; /* A device's memory, or the kernel's code. */
    }
    unsigned first = place % PAGE, end = first;
    for (size_t at = 0; at < qemu_plugin_tb_n_insns(block); at++) {
        end += qemu_plugin_insn_size(qemu_plugin_tb_get_insn(block, at));
    }
    const uint8_t *page = (const uint8_t *)(place - first);
    for (const struct part *part = parts; part; part = part->next) {
        if (holds(part, first, end, page)) {
            fputs("ran\n", out);
            fflush(out);
            parts = NULL; /* One is enough. */
            return;
        }
    }
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *block)
{
    (void)id;
    if (parts) {
        look_out(block);
    }
    uint64_t previous = NO_LINE;
    size_t count = qemu_plugin_tb_n_insns(block);
    for (size_t at = 0; at < count; at++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(block, at);
        /* The upper half of the addresses is the kernel's. */
        bool kernel = qemu_plugin_insn_vaddr(insn) >> 63;
        struct code code = code_of(insn);
        count_execution(insn, kernel);
        if (are_marked) {
            watch_mark(insn, &code);
        }
        if (!models) {
            continue;
        }
        watch_fetch(insn, &previous, kernel);
        if (remembers) {
            watch_forgetting(insn, &code);
        }
        qemu_plugin_register_vcpu_mem_cb(insn, accessed, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW,
                                         (void *)(uintptr_t)kernel);
    }
}

/* An empty cache; false where there is no memory for it. */
static bool make(struct cache *cache, const struct geometry *geometry)
{
    uint64_t entries = geometry->size / geometry->line;
    cache->lines = malloc(entries * sizeof *cache->lines);
    cache->set_mask = entries / geometry->ways - 1;
    cache->ways = geometry->ways;
    if (cache->lines) {
        memset(cache->lines, 0xff, entries * sizeof *cache->lines);
    }
    return cache->lines != NULL;
}

/* Reads SIZE:WAYS:LINE; false unless that is a cache. */
static bool read_geometry(const char *text, struct geometry *geometry)
{
    unsigned long long size, ways, line;
    char rest;
    if (sscanf(text, "%llu:%llu:%llu%c", &size, &ways, &line, &rest) != 3) {
        return false;
    }
    *geometry = (struct geometry){size, ways, line};
    if (line < 16 || line > 1024 || (line & (line - 1)) || ways == 0 || size == 0 || size % (ways * line)) {
        return false;
    }
    uint64_t sets = size / (ways * line);
    return (sets & (sets - 1)) == 0;
}

/* The value of a hexadecimal digit; 16 of anything else. */
static unsigned digit(char letter)
{
    return letter >= '0' && letter <= '9' ? letter - '0' : letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : 16;
}

/* Reads one part; NULL unless a line holds one. */
static struct part *read_part(const char *line)
{
    int begin = 0;
    struct part part = {0};
    if (sscanf(line, "%u %u %u %n", &part.first, &part.end, &part.from, &begin) != 3) {
        return NULL;
    }
    const char *text = line + begin;
    size_t digits = strcspn(text, "\n");
    part.length = digits / 2;
    bool fits = digits % 2 == 0 && digits <= 2 * PAGE && part.from + part.length <= PAGE;
    if (!fits || part.first < part.from || part.first >= part.end || part.end > part.from + part.length) {
        return NULL;
    }
    struct part *made = malloc(sizeof *made + part.length);
    if (!made) {
        return NULL;
    }
    *made = part;
    made->known = (uint8_t *)(made + 1);
    for (size_t at = 0; at < part.length; at++) {
        unsigned high = digit(text[2 * at]), low = digit(text[2 * at + 1]);
        if (high > 15 || low > 15) {
            free(made);
            return NULL;
        }
        made->known[at] = high << 4 | low;
    }
    return made;
}

/* Reads what is looked for; false unless each line holds a part. */
static bool read_parts(const char *path)
{
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t room = 0;
    bool read = file != NULL;
    while (read && getline(&line, &room, file) > 0) {
        struct part *part = read_part(line);
        read = part != NULL;
        if (part) {
            part->next = parts;
            parts = part;
        }
    }
    free(line);
    if (file) {
        fclose(file);
    }
    return read;
}

/* Reads a mark's number; false unless that is 16 digits. */
static bool read_mark(const char *text, struct mark *mark)
{
    for (unsigned at = 0; at < 4 * MARK_PARTS; at++) {
        unsigned value = digit(text[at]);
        if (value > 15) {
            return false;
        }
        /* Two digits are a byte, and the lower byte of two comes first. */
        mark->parts[at / 4] |= value << (8 * (at / 2 % 2) + 4 * !(at % 2));
    }
    return text[4 * MARK_PARTS] == '\0';
}

static int refuse(const char *why)
{
    fprintf(stderr, "cache model: %s\n", why);
    return -1;
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int count, char **arguments)
{
    struct geometry l1i = {0}, l1d = {0}, second = {0};
    const char *path = NULL;
    for (int at = 0; at < count; at++) {
        const char *word = arguments[at];
        bool read = true;
        if (strncmp(word, "l1i=", 4) == 0) {
            read = read_geometry(word + 4, &l1i);
        } else if (strncmp(word, "l1d=", 4) == 0) {
            read = read_geometry(word + 4, &l1d);
        } else if (strncmp(word, "l2=", 3) == 0) {
            read = read_geometry(word + 3, &second);
        } else if (strncmp(word, "out=", 4) == 0) {
            path = word + 4;
        } else if (strncmp(word, "code=", 5) == 0) {
            read = read_parts(word + 5);
        } else if (strncmp(word, "open=", 5) == 0) {
            read = are_marked = read_mark(word + 5, &to_hear[0]);
        } else if (strncmp(word, "close=", 6) == 0) {
            read = are_marked = read_mark(word + 6, &to_hear[1]);
        } else {
            read = false;
        }
        if (!read) {
            return refuse(word);
        }
    }
    models = l1i.line || l1d.line || second.line;
    if ((models && (!l1i.line || l1i.line != second.line || l1d.line != second.line)) || !path) {
        return refuse("l1i, l1d, l2 (with lines of one length) and out are needed");
    }
    whole_machine = info->system_emulation;
    several_cpus = whole_machine && info->system.max_vcpus > 1;
    if (strcmp(info->target_name, "x86_64") == 0) {
        processor = X86_64;
    } else if (strcmp(info->target_name, "aarch64") == 0) {
        processor = AARCH64;
    }
    copies = info->version.cur >= VERSION_THAT_COPIES;
    if (!qemu_plugin_register_vcpu_insn_exec_inline) {
        executions = qemu_plugin_scoreboard_new(PRIVILEGES * sizeof(uint64_t));
    }
    remembers = whole_machine && processor != OTHER;
    line_shift = models ? __builtin_ctzll(second.line) : 0;
    bool made = !models || make(&l2, &second);
    for (int index = 0; models && index < MOST_CPUS; index++) {
        made = made && make(&cpus[index].l1i, &l1i) && make(&cpus[index].l1d, &l1d);
        cpus[index].fetched = NO_LINE;
        memset(cpus[index].translations, 0xff, sizeof cpus[index].translations);
    }
    out = made ? fopen(path, "w") : NULL;
    if (!out) {
        return refuse("no memory, or the file cannot be written");
    }
    const char *form = models ? "headroom-cache-model 1 l1i=%llu:%llu:%llu l1d=%llu:%llu:%llu l2=%llu:%llu:%llu\n"
                              : "headroom-cache-model 1 none\n";
    fprintf(out, form, (unsigned long long)l1i.size, (unsigned long long)l1i.ways,
            (unsigned long long)l1i.line, (unsigned long long)l1d.size, (unsigned long long)l1d.ways, (unsigned long long)l1d.line,
            (unsigned long long)second.size, (unsigned long long)second.ways, (unsigned long long)second.line);
    fflush(out);
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, ended, NULL);
    return 0;
}
