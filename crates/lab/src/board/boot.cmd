# What U-Boot does on a board: which slot starts, and back to the other one when a new image does not come up.
# The state is kept twice in the partition `state`, a sector each; the newer copy that is whole counts, and the other one
# is written. crates/model/src/boot_state.rs has the same in Rust. U-Boot reads and writes all numbers in hexadecimal.

setenv block 42000000
setenv fit 48000000
setenv names seq slot upgrade_available bootcount bootlimit overlay_a overlay_b
setenv seq 0
setenv slot a
setenv upgrade_available 0
setenv bootcount 0
setenv bootlimit 2
setenv overlay_a 0
setenv overlay_b 0

part start virtio 0 state at_0
setexpr at_1 ${at_0} + 8
setenv seq_0 0
setenv seq_1 0
setenv read_copy 'virtio read ${block} ${at} 1 && env import -c ${block} 200 ${names}'
setenv at ${at_0}
if run read_copy; then setenv seq_0 ${seq}; fi
setenv at ${at_1}
if run read_copy; then setenv seq_1 ${seq}; fi
if itest ${seq_0} -gt ${seq_1}; then
    setenv at ${at_0}
    setenv next ${at_1}
else
    setenv at ${at_1}
    setenv next ${at_0}
fi
run read_copy

setenv save_state 'setexpr seq ${seq} + 1; env export -c -s 200 ${block} ${names} && virtio write ${block} ${next} 1'
setenv change_slot 'if test ${slot} = a; then setenv slot b; else setenv slot a; fi'
setenv fall_back 'echo "headroom: slot ${slot} did not come up"; run change_slot; setenv upgrade_available 0; setenv bootcount 0; run save_state'
setenv start_slot 'echo "headroom: slot ${slot}"; if test ${slot} = a; then setenv overlay ${overlay_a}; else setenv overlay ${overlay_b}; fi; part start virtio 0 kernel_${slot} kernel; part size virtio 0 kernel_${slot} blocks; virtio read ${fit} ${kernel} ${blocks}; setenv bootargs "@WORDS@ headroom.slot=${slot} headroom.overlay=${overlay}"; bootm ${fit}#slot ${fit}#slot ${fdtcontroladdr}'

if test ${upgrade_available} = 1; then
    if itest ${bootcount} -ge ${bootlimit}; then
        run fall_back
    else
        setexpr bootcount ${bootcount} + 1
        run save_state
    fi
fi
run start_slot

# Only a kernel that is damaged comes back.
if test ${upgrade_available} = 1; then
    run fall_back
else
    run change_slot
fi
run start_slot
reset
