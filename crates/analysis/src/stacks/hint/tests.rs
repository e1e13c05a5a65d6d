//! Hints and their loops in made-up code, instruction by instruction.

use super::*;

const AT: u64 = 0x1000;

fn x86_64(parts: &[&[u8]]) -> Vec<HintLoop> {
    loops(Cpu::X86_64, &parts.concat(), AT)
}

fn words(cpu: Cpu, words: &[u32]) -> Vec<HintLoop> {
    let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    loops(cpu, &code, AT)
}

/// Where each byte of `found` is: `.` in no loop, `r` on the way round, `p` past the hint.
fn drawn(found: &HintLoop, bytes: u64) -> String {
    let letter = |at| match found.at(AT + at) {
        Spin::None => '.',
        Spin::Round => 'r',
        Spin::Past => 'p',
    };
    (0..bytes).map(letter).collect()
}

fn only(found: &[HintLoop], bytes: u64) -> String {
    assert_eq!(found.len(), 1, "{found:?}");
    drawn(&found[0], bytes)
}

#[test]
fn a_loop_that_asks_and_pauses_is_found_and_what_is_around_it_is_not() {
    let found = x86_64(&[
        &[0x53],             // push rbx
        &[0xe8, 0, 1, 0, 0], // again: call
        &[0x48, 0x85, 0xc0], // test rax,rax
        &[0x75, 4],          // jne done
        &[0xf3, 0x90],       // pause
        &[0xeb, 0xf2],       // jmp again
        &[0x5b, 0xc3],       // done: pop rbx; ret
    ]);
    assert_eq!(only(&found, 17), ".rrrrrrrrrrpppp..");
    assert_eq!((found[0].hint, found[0].jump), (AT + 11, AT + 13));
}

#[test]
fn a_loop_whose_test_stands_last_is_past_its_hint_from_the_start() {
    let found = x86_64(&[
        &[0xf3, 0x90],                         // again: pause
        &[0x8b, 0x07],                         // mov eax,[rdi]
        &[0x85, 0xc0],                         // test eax,eax
        &[0x0f, 0x84, 0xf4, 0xff, 0xff, 0xff], // je again, with a long distance
        &[0xc3],
    ]);
    assert_eq!(only(&found, 13), "pppppppppppp.");
}

#[test]
fn work_on_another_way_round_the_same_loop_is_no_waiting() {
    let found = x86_64(&[
        &[0xe8, 0, 1, 0, 0], // again: call take
        &[0x85, 0xc0],       // test eax,eax
        &[0x75, 4],          // jne job
        &[0xf3, 0x90],       // pause
        &[0xeb, 0xf3],       // jmp again
        &[0xe8, 0, 2, 0, 0], // job: call
        &[0xeb, 0xec],       // jmp again
    ]);
    assert_eq!(only(&found, 20), "rrrrrrrrrpppp.......");
    // The same where both ways meet before the jump back.
    let found = x86_64(&[
        &[0xe8, 0, 1, 0, 0], // again: call take
        &[0x85, 0xc0],       // test eax,eax
        &[0x75, 4],          // jne job
        &[0xf3, 0x90],       // pause
        &[0xeb, 5],          // jmp latch
        &[0xe8, 0, 2, 0, 0], // job: call
        &[0xff, 0xc1],       // latch: inc ecx
        &[0xeb, 0xea],       // jmp again
    ]);
    assert_eq!(only(&found, 22), "rrrrrrrrrpppp.....pppp");
}

#[test]
fn work_until_there_is_none_is_no_waiting_either() {
    let found = x86_64(&[
        &[0xe8, 0, 1, 0, 0], // again: call take
        &[0x85, 0xc0],       // test eax,eax
        &[0x74, 14],         // je wait
        &[0xe8, 0, 2, 0, 0], // job: call
        &[0xe8, 0, 1, 0, 0], // call take
        &[0x85, 0xc0],       // test eax,eax
        &[0x75, 0xf2],       // jne job
        &[0xf3, 0x90],       // wait: pause
        &[0xeb, 0xe5],       // jmp again
    ]);
    assert_eq!(only(&found, 27), "rrrrrrrrr..............pppp");
}

#[test]
fn of_loops_in_loops_the_hints_own_counts() {
    let found = x86_64(&[
        &[0xe8, 0, 1, 0, 0], // all: call work
        &[0xf3, 0x90],       // again: pause
        &[0x85, 0xc0],       // test eax,eax
        &[0x74, 0xfa],       // je again
        &[0xe8, 0, 2, 0, 0], // call more
        &[0xeb, 0xee],       // jmp all
    ]);
    assert_eq!(only(&found, 18), ".....pppppp.......");
}

#[test]
fn a_loop_that_is_entered_at_its_test_is_found() {
    let found = x86_64(&[
        &[0xeb, 2],    // jmp test
        &[0xf3, 0x90], // again: pause
        &[0x8b, 0x07], // test: mov eax,[rdi]
        &[0x85, 0xc0], // test eax,eax
        &[0x74, 0xf8], // je again
        &[0xc3],
    ]);
    assert_eq!(only(&found, 11), "..pprrrrrr.");
}

#[test]
fn bytes_of_a_hint_within_another_instruction_are_none() {
    // mov eax,0x90f3; jmp to itself
    assert_eq!(x86_64(&[&[0xb8, 0xf3, 0x90, 0, 0], &[0xeb, 0xf9]]), []);
    // xchg r8,rax with a prefix that means nothing; jmp
    assert_eq!(x86_64(&[&[0xf3, 0x49, 0x90], &[0xeb, 0xfb]]), []);
}

#[test]
fn a_hint_in_no_loop_names_nobody() {
    assert_eq!(x86_64(&[&[0xf3, 0x90], &[0xc3]]), []);
    assert_eq!(x86_64(&[&[0xf3, 0x90], &[0xeb, 0x10]]), [], "out of the function");
    assert_eq!(x86_64(&[&[0xeb, 0xfe], &[0xf3, 0x90], &[0xc3]]), [], "behind a loop");
}

#[test]
fn code_that_cannot_be_read_ends_the_reading() {
    // 0x06 is no instruction of 64-bit code, and a jump behind it is not believed.
    assert_eq!(x86_64(&[&[0xf3, 0x90], &[0x06], &[0xeb, 0xfb]]), []);
    assert_eq!(x86_64(&[&[0xf3, 0x90], &[0x0f, 0x84, 0xf8]]), [], "cut in the middle");
    assert_eq!(x86_64(&[]), []);
}

#[test]
fn aarch64_yields_and_waits_at_a_barrier() {
    for hint in [0xd503_203f, 0xd503_3fdf] {
        // again: ldr w0,[x1]; cbnz w0,done; hint; b again; done: ret
        let found =
            words(Cpu::Aarch64, &[0xb940_0020, 0x3500_0060, hint, 0x17ff_fffd, 0xd65f_03c0]);
        assert_eq!(only(&found, 20), "rrrrrrrrpppppppp....", "{hint:#x}");
    }
    // again: yield; ldr w0,[x1]; tbz w0,#0,again; ret
    let found = words(Cpu::Aarch64, &[0xd503_203f, 0xb940_0020, 0x3607_ffc0, 0xd65f_03c0]);
    assert_eq!(only(&found, 16), "pppppppppppp....");
    // again: yield; cmp w0,w1; b.ne again; ret
    let found = words(Cpu::Aarch64, &[0xd503_203f, 0x6b01_001f, 0x54ff_ffc1, 0xd65f_03c0]);
    assert_eq!(only(&found, 16), "pppppppppppp....");
}

#[test]
fn a_barrier_before_a_clock_is_read_is_no_hint() {
    // again: isb; mrs x0,cntvct_el0; cmp x0,x1; b.lo again; ret
    let read = [0xd503_3fdf, 0xd53b_e040, 0xeb01_001f, 0x54ff_ffa3, 0xd65f_03c0];
    assert_eq!(words(Cpu::Aarch64, &read), []);
}

#[test]
fn a_call_of_aarch64_comes_back_and_a_jump_by_register_does_not() {
    // again: blr x2; yield; b again
    assert_eq!(words(Cpu::Aarch64, &[0xd63f_0040, 0xd503_203f, 0x17ff_fffe]).len(), 1);
    // again: yield; br x2; b again
    assert_eq!(words(Cpu::Aarch64, &[0xd503_203f, 0xd61f_0040, 0x17ff_fffe]), []);
}

#[test]
fn arm_yields() {
    // again: ldr r0,[r1]; cmp r0,#0; popne {pc}; yield; b again
    let code = [0xe591_0000, 0xe350_0000, 0x149d_f004, 0xe320_f001, 0xeaff_fffa];
    assert_eq!(only(&words(Cpu::Arm, &code), 20), "rrrrrrrrrrrrpppppppp");
    // again: yield; cmp r0,#0; beq again; bx lr
    let code = [0xe320_f001, 0xe350_0000, 0x0aff_fffc, 0xe12f_ff1e];
    assert_eq!(only(&words(Cpu::Arm, &code), 16), "pppppppppppp....");
    // again: yield; bx lr; b again
    assert_eq!(words(Cpu::Arm, &[0xe320_f001, 0xe12f_ff1e, 0xeaff_fffc]), []);
}

#[test]
fn a_function_that_is_made_up_to_take_time_is_left_alone() {
    // Every instruction is a block that jumps back to the start.
    let back = |at: usize| (0x5400_0000 | ((-(at as i32) & 0x7_ffff) as u32) << 5, at);
    let code: Vec<u32> =
        (0..16_000).map(|at| if at == 0 { 0xd503_203f } else { back(at).0 }).collect();
    assert_eq!(words(Cpu::Aarch64, &code), []);
}

#[test]
fn a_jump_that_a_loop_without_a_hint_shares_is_left_out_with_it() {
    let found = x86_64(&[
        &[0x0c, 0x00], // again: or al, 0
        &[0xf3, 0x90], // pause
        &[0xec],       // ask: in al, dx
        &[0x74, 0xf9], // je again
        &[0xeb, 0xfb], // jmp ask
        &[0xc3],       // ret
    ]);
    assert_eq!((found.len(), found[0].jump - AT), (1, 5));
    assert_eq!(drawn(&found[0], 10), "rrpp......");
}

mod any {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_bytes_give_loops_within_them(
            code in prop::collection::vec(prop_oneof![
                any::<u8>(), Just(0xf3), Just(0x90), Just(0xeb), Just(0x74), 0xe0..=0xff_u8
            ], 0..400),
            cpu in prop_oneof![Just(Cpu::X86_64), Just(Cpu::Aarch64), Just(Cpu::Arm)],
        ) {
            let end = AT + code.len() as u64;
            for found in loops(cpu, &code, AT) {
                prop_assert!((AT..end).contains(&found.hint) && (AT..end).contains(&found.jump));
                prop_assert_eq!(found.at(found.hint), Spin::Past);
                prop_assert_eq!((found.at(AT - 1), found.at(end)), (Spin::None, Spin::None));
            }
        }
    }
}
