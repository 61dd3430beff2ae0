// rust_heap.rs -- a Rust program with a known heap, for exactness and demangled names. Run by tests/e2e/exact.
// SPDX-License-Identifier: Apache-2.0
//
// Heap of argument `full` beyond that of `bare` (what the Rust runtime itself allocates): 1,000 boxes of 128 bytes made by
// ledger::fill, of which 400 are dropped and 600 forgotten, and one vector of exactly 5,000 bytes, dropped.

mod ledger {
    #[inline(never)]
    pub fn fill(count: usize, keep: &mut [Option<Box<[u8; 128]>>]) {
        for slot in keep.iter_mut().take(count) {
            *slot = Some(Box::new([1u8; 128]));
        }
    }
}

const NONE: Option<Box<[u8; 128]>> = None;
static mut KEEP: [Option<Box<[u8; 128]>>; 1000] = [NONE; 1000];

fn main() {
    let full = std::env::args_os().nth(1).map_or(false, |mode| mode == "full");
    if full {
        let keep = unsafe { &mut *std::ptr::addr_of_mut!(KEEP) };
        ledger::fill(1000, keep);
        for slot in keep.iter_mut().take(400) {
            *slot = None;
        }
        let buffer: Vec<u8> = Vec::with_capacity(5000);
        drop(buffer);
    }
}
