# What U-Boot does on the board: which slot starts, and back to the other one when a new image does not come up. The state
# is one sector, an environment with its CRC; `upgrade` has the same in shell. Numbers are hexadecimal.

setenv block 42000000
setenv fit 48000000
setenv names slot trial count
setenv slot a
setenv trial 0
setenv count 0
part start virtio 0 state at
virtio read ${block} ${at} 1 && env import -c ${block} 200 ${names}

setenv save 'env export -c -s 200 ${block} ${names} && virtio write ${block} ${at} 1'
setenv change_slot 'if test ${slot} = a; then setenv slot b; else setenv slot a; fi'
setenv fall_back 'echo "slot ${slot} did not come up"; run change_slot; setenv trial 0; setenv count 0; run save'
setenv start_slot 'echo "slot ${slot}"; part start virtio 0 kernel_${slot} kernel; part size virtio 0 kernel_${slot} blocks; virtio read ${fit} ${kernel} ${blocks}; setenv bootargs "console=ttyAMA0 quiet loglevel=1 panic=5 slot=${slot}"; bootm ${fit}#slot ${fit}#slot ${fdtcontroladdr}'

if test ${trial} = 1; then
    if itest ${count} -ge 2; then
        run fall_back
    else
        setexpr count ${count} + 1
        run save
    fi
fi
run start_slot

# Only a kernel that is damaged comes back.
if test ${trial} = 1; then
    run fall_back
else
    run change_slot
fi
run start_slot
reset
