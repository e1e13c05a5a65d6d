# Run in the sandbox by its tests: tries what a build must not be able to, names each attempt, and writes those that succeed to
# descriptor 3. An attempt succeeds where its command does.

open() {
    local what=$1
    shift
    echo "tried: $what"
    if (eval "$*") >/dev/null 2>&1 </dev/null 3>&-; then echo "$what" >&3; fi
}

# What is to be read.
open "headroom's environment" "tr '\0' '\n' </proc/1/environ | grep -vE '^(PATH|PWD)=' | grep -q ."
open "anybody's environment" "cat /proc/[0-9]*/environ | tr '\0' '\n' | grep -qE '^(CARGO|RUSTUP|SSH|USER|LOGNAME|HEADROOM)'"
open "an open file of headroom's" "ls -l /proc/1/fd | grep -qE ' /(home|root|tmp|work|var)'"
open "a process outside" "test \$(ls /proc | grep -c '^[0-9]') -gt 8"
open "kernel memory" "head -c 1 /proc/kcore"
open "the kernel's log" "head -c 1 /proc/kmsg || dmesg"
open "the kernel's addresses" "grep -q . /proc/kallsyms"
open "keys" "grep -q . /proc/keys"
open "settings of the kernel" "cat /proc/sys/kernel/hostname"
open "devices in /sys" "ls /sys/*"
open "accounts" "cat /etc/passwd"
open "homes" "ls -A /root/* /home/*"
open "the machine's name" "test \"\$(uname -n)\" != build"
for device in mem kmsg kvm vda sda tty console ptmx full fuse net/tun; do
    open "the device $device" "test -e /dev/$device"
done
open "zeros without end" "test \$(head -c 10 /dev/zero | wc -c) -gt 0"

# What is to be changed.
for setting in kernel/core_pattern kernel/modprobe vm/drop_caches net/ipv4/ip_forward user/max_user_namespaces; do
    open "/proc/sys/$setting" "exec 4>/proc/sys/$setting || : >/proc/sys/$setting"
done
open "sysrq" "exec 4>/proc/sysrq-trigger && test ! -c /proc/sysrq-trigger"
open "interrupts" "find /proc/irq -type f -writable | grep -q . || find /proc/irq -name smp_affinity | grep -q ."
open "buses" "find /proc/bus -type f | grep -q ."
for folder in / /usr /usr/bin /etc /dev /proc /proc/sys /bin/../root; do
    open "writing to $folder" ": >$folder/attack"
done
open "another mount" "mount -t tmpfs none /usr"
open "writing to what is read-only" "mount -o remount,rw /usr"
open "a user namespace" "unshare --user true"
open "a device node" "mknod /tmp/zero c 1 5"
open "another user" "setpriv --reuid 0 true || su -c true || sudo -n true"
open "being root" "test \$(id -u) = 0 || grep -qE ' 0 +[0-9]+\$' /proc/self/uid_map"
open "a capability" "grep -E '^Cap(Prm|Eff|Bnd|Amb)' /proc/self/status | grep -qv '0000000000000000'"
open "ending the sandbox's own first process" "kill -KILL 1 && sleep 0.1 && ! test -e /proc/1"

# The network.
open "the machine's ports" "exec 4<>/dev/tcp/127.0.0.1/22"
open "another interface" "test \$(grep -c : /proc/net/dev) -gt 1"
open "sockets of the machine" "tail -n +2 /proc/net/unix | grep -q '/'"

# Memory that is in nobody's size.
open "shared memory" "perl -e 'exit(!defined shmget(0, 1 << 20, 0600))'"
open "message queues" "perl -e 'exit(!defined msgget(0, 0600))'"
open "more memory than there may be" "perl -e '\$x = \"a\" x (2 << 30)'"
# System calls by their numbers on x86-64.
refused='$!{EPERM} || $!{ENOSYS}'
if [[ $(uname -m) == x86_64 ]]; then
    open "memory as a file" "perl -e 'exit(syscall(319, \$x = \"x\", 0) < 0)'"
    open "keys of the session" "perl -e 'exit(syscall(250, 0, -3, 1) < 0)'"
    open "tracing the sandbox's own first process" "perl -e 'exit(syscall(101, 16, 1, 0, 0) < 0)'"
    open "io_uring" "perl -e 'exit(syscall(425, 1, 0) < 0 && ($refused))'"
    open "the kernel's counters" "perl -e 'exit(syscall(298, 0, 0, 0, 0, 0) < 0 && ($refused))'"
fi

# More than there may be.
for folder in /source /out /tmp; do
    open "more than its space in $folder" "head -c 100M /dev/urandom >$folder/large"
    rm -f $folder/large
done
open "space in a deleted file" "exec 4>/tmp/gone && rm /tmp/gone && head -c 100M /dev/urandom >&4"
open "many files at their longest" "for one in 1 2 3 4; do head -c 20M /dev/urandom >/tmp/\$one || exit 1; done"
rm -f /tmp/?
open "many processes" "perl -e 'for (1..200) { \$p = fork; last if !defined \$p; if (!\$p) { sleep 2; exit } \$n++ } exit(\$n < 100)'"
