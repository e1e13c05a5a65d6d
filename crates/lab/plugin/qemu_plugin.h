/*
 * QEMU's plugin interface, as far as the cache model uses it: version 1 and those since 2.
 *
 * Debian 12 packages no header for it, so these are declarations of our own of what QEMU exports from 4.2 on. What only
 * some versions export is weak: it is NULL where the QEMU that loads the plugin has no such function.
 * Interface: https://qemu.readthedocs.io/en/v7.2.0/devel/tcg-plugins.html and
 * https://www.qemu.org/docs/master/devel/tcg-plugins.html
 */
#ifndef HEADROOM_QEMU_PLUGIN_H
#define HEADROOM_QEMU_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORTED __attribute__((visibility("default")))

/* Opaque: a plugin being loaded, a block and an instruction being translated, an address looked up. */
typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_hwaddr;

/* An access: its size, its direction, and the translation that it took. */
typedef uint32_t qemu_plugin_meminfo_t;

/* What the plugin is loaded into. */
typedef struct {
    const char *target_name;
    struct { int min, cur; } version;
    bool system_emulation;
    struct { int smp_vcpus, max_vcpus; } system;
} qemu_info_t;

/* Callbacks read no registers, are for loads and stores alike, and inline operations add. */
enum { QEMU_PLUGIN_CB_NO_REGS = 0 };
enum { QEMU_PLUGIN_MEM_RW = 3 };
enum { QEMU_PLUGIN_INLINE_ADD_U64 = 0 };

typedef void (*qemu_plugin_translated)(qemu_plugin_id_t, struct qemu_plugin_tb *);
typedef void (*qemu_plugin_executed)(unsigned cpu, void *data);
typedef void (*qemu_plugin_accessed)(unsigned cpu, qemu_plugin_meminfo_t, uint64_t address, void *data);
typedef void (*qemu_plugin_ended)(qemu_plugin_id_t, void *data);

/* Exported by every plugin. */
extern EXPORTED int qemu_plugin_version;
EXPORTED int qemu_plugin_install(qemu_plugin_id_t, const qemu_info_t *, int count, char **arguments);

/* When code is translated, and when QEMU ends. */
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, qemu_plugin_translated);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t, qemu_plugin_ended, void *data);

/* While it is translated: what the instructions are, and what to do when they are executed. */
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *);
void *qemu_plugin_insn_haddr(const struct qemu_plugin_insn *);
/* Until version 2 the bytes' address, and the first argument is the only one; since version 3 it copies so many of them. */
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *, void *to, size_t length);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *, qemu_plugin_executed, int registers,
                                            void *data);
/* Version 1. */
__attribute__((weak)) void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *, int operation,
                                                                      void *where, uint64_t value);
/* Since version 2: a number of each CPU's. */
struct qemu_plugin_scoreboard;
typedef struct { struct qemu_plugin_scoreboard *score; size_t offset; } qemu_plugin_u64;
__attribute__((weak)) struct qemu_plugin_scoreboard *qemu_plugin_scoreboard_new(size_t bytes);
__attribute__((weak)) uint64_t qemu_plugin_u64_sum(qemu_plugin_u64);
__attribute__((weak)) void qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(struct qemu_plugin_insn *, int operation,
                                                                               qemu_plugin_u64 where, uint64_t value);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *, qemu_plugin_accessed, int registers,
                                      int directions, void *data);

/* Of an access, while its callback runs. */
unsigned qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t);
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t);
struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(qemu_plugin_meminfo_t, uint64_t address);
bool qemu_plugin_hwaddr_is_io(const struct qemu_plugin_hwaddr *);
uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *);

#endif
