//! Instructions of x86-64: where the next one is and where jumps lead, as `iced-x86` decodes them.
//!
//! What it does not know ends the reading: less is known then, and nothing wrong.

use iced_x86::{Code, Decoder, DecoderOptions, FlowControl};

use super::{Flow, Instruction};

/// The hint: a `nop` that older processors take for one.
pub(super) const PAUSE: [u8; 2] = [0xf3, 0x90];

/// Instructions from a function's start to its end, or to one that is not known.
pub(super) fn instructions(code: &[u8], start: u64) -> Vec<Instruction> {
    let decoder = Decoder::with_ip(64, code, start, DecoderOptions::NONE);
    let known = decoder.into_iter().take_while(|one| !one.is_invalid());
    known
        .map(|one| Instruction { address: one.ip(), length: one.len() as u8, flow: flow(&one) })
        .collect()
}

fn flow(one: &iced_x86::Instruction) -> Flow {
    match (one.code(), one.flow_control()) {
        (Code::Pause, _) => Flow::Hint,
        // What compilers put between functions, or where nothing must come.
        (Code::Int3 | Code::Hlt, _) => Flow::End,
        (_, FlowControl::UnconditionalBranch) => Flow::Jump(one.near_branch_target()),
        (_, FlowControl::ConditionalBranch) => Flow::Branch(one.near_branch_target()),
        (_, FlowControl::Return | FlowControl::IndirectBranch | FlowControl::Exception) => {
            Flow::End
        }
        _ => Flow::Next,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn length(code: &[u8]) -> Option<u8> {
        instructions(code, 0).first().map(|one| one.length)
    }

    #[test]
    fn lengths_are_those_of_the_manual() {
        let known: [&[u8]; 23] = [
            &[0x90],
            &[0xf3, 0x90],
            &[0xf3, 0x0f, 0x1e, 0xfa],                      // endbr64
            &[0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0],          // mov rax,[0]
            &[0x48, 0x8d, 0x05, 0, 0, 0, 0],                // lea rax,[rip]
            &[0x48, 0x89, 0x5c, 0x24, 0x08],                // mov [rsp+8],rbx
            &[0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0],          // movabs
            &[0x66, 0xb8, 0, 0],                            // mov ax,0
            &[0x66, 0x66, 0x48, 0xe8, 0, 0, 0, 0],          // a call of __tls_get_addr
            &[0xf6, 0x47, 0x08, 0x01],                      // test byte [rdi+8],1
            &[0xf7, 0xd8],                                  // neg eax
            &[0xf7, 0xc7, 0, 0, 0, 0],                      // test edi,0
            &[0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0], // a long nop
            &[0x0f, 0xba, 0xe0, 0x03],                      // bt eax,3
            &[0xf3, 0x0f, 0xb8, 0xc0],                      // popcnt
            &[0x66, 0x0f, 0x3a, 0x0f, 0xc1, 0x08],          // palignr
            &[0xf0, 0x0f, 0xb1, 0x17],                      // lock cmpxchg
            &[0xc5, 0xf8, 0x77],                            // vzeroupper
            &[0xc5, 0xfd, 0xd7, 0xc0],                      // vpmovmskb
            &[0xc4, 0xe3, 0x7d, 0x39, 0xc1, 0x01],          // vextracti128
            &[0xc4, 0xe2, 0x7d, 0x78, 0xc0],                // vpbroadcastb
            &[0x62, 0xf1, 0xfe, 0x48, 0x6f, 0x46, 0x01],    // vmovdqu64 [rsi+64]
            &[0x62, 0xf3, 0x75, 0x40, 0x3f, 0x04, 0x25, 0, 0, 0, 0, 0], // vpcmpub [0]
        ];
        for code in known {
            let behind = [code, &[0xcc; 8]].concat();
            assert_eq!(length(&behind).map(usize::from), Some(code.len()), "{code:02x?}");
            assert_eq!(length(&code[..code.len() - 1]), None, "cut: {code:02x?}");
        }
    }

    #[test]
    fn what_is_no_instruction_of_64_bits_is_none() {
        for code in [[0x06, 0, 0], [0x82, 0xc0, 0], [0xea, 0, 0], [0xd4, 0x0a, 0], [0x0f, 0x04, 0]]
        {
            assert_eq!(length(&code), None, "{code:02x?}");
        }
        assert_eq!(length(&[0x66; 20]), None, "prefixes without an end");
    }

    /// This test's own program: a function that is read wrong does not end where its symbol says.
    #[test]
    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    #[expect(clippy::disallowed_methods, reason = "the test reads its own program")]
    fn every_function_of_a_real_program_is_read_to_its_end() {
        use crate::stacks::{object::Elf, symbols::Symbols};

        let program = std::env::current_exe().expect("a path");
        let elf = Elf::parse(std::fs::read(program).expect("read").into()).expect("an ELF file");
        let (mut read, mut wrong) = (0, Vec::new());
        for symbol in Symbols::of(&elf, None, None).all().iter().filter(|symbol| symbol.sized) {
            let length = (symbol.end - symbol.address) as usize;
            let Some(code) = elf.at(symbol.address).get(..length) else { continue };
            let last = instructions(code, symbol.address).last().map(Instruction::end);
            read += 1;
            if last != Some(symbol.end) {
                wrong.push(symbol.name.clone());
            }
        }
        assert!(read > 1000 && wrong.is_empty(), "{} of {read}: {wrong:?}", wrong.len());
    }
}
