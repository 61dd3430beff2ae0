//! What a Rust program can tell the heap profiler that may be watching it.
//!
//! Nothing has to be linked: the functions of libmidden.so are looked up when they are first needed, and
//! every call does nothing where they are absent. With the feature `link`, the program brings the profiler
//! along and records itself.
//!
//! Rust's own allocator calls malloc, so programs are recorded without this crate too. `Allocator` is for
//! programs that have another global allocator and want to be recorded nevertheless.
//!
//! SPDX-License-Identifier: Apache-2.0

use std::alloc::{GlobalAlloc, Layout};
use std::ffi::CString;
use std::marker::PhantomData;
use std::os::raw::{c_char, c_int, c_void};
use std::path::Path;
use std::sync::atomic::{AtomicPtr, Ordering};

extern "C" {
    fn malloc(bytes: usize) -> *mut c_void;
    fn calloc(count: usize, bytes: usize) -> *mut c_void;
    fn realloc(block: *mut c_void, bytes: usize) -> *mut c_void;
    fn free(block: *mut c_void);
    fn posix_memalign(block: *mut *mut c_void, alignment: usize, bytes: usize) -> c_int;
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
}

#[cfg(feature = "link")]
#[link(name = "midden")]
extern "C" {
    fn midden_is_recording() -> c_int;
}

/// A linker leaves out libraries that nothing refers to.
#[cfg(feature = "link")]
#[used]
static KEEP: unsafe extern "C" fn() -> c_int = midden_is_recording;

// ---- functions that may be absent --------------------------------------------------------------

const ABSENT: *mut c_void = 1 as *mut c_void;

/// A function of libmidden.so; its address is looked up once.
struct Function {
    name: &'static str, // ends in a zero
    address: AtomicPtr<c_void>,
}

impl Function {
    const fn new(name: &'static str) -> Self {
        Function { name, address: AtomicPtr::new(std::ptr::null_mut()) }
    }

    fn find(&self) -> Option<*mut c_void> {
        let mut address = self.address.load(Ordering::Relaxed);
        if address.is_null() {
            // The handle NULL is RTLD_DEFAULT.
            address = unsafe { dlsym(std::ptr::null_mut(), self.name.as_ptr() as *const c_char) };
            if address.is_null() {
                address = ABSENT;
            }
            self.address.store(address, Ordering::Relaxed);
        }
        if address == ABSENT {
            None
        } else {
            Some(address)
        }
    }
}

macro_rules! function {
    ($name:literal, $type:ty) => {{
        static FUNCTION: Function = Function::new(concat!($name, "\0"));
        FUNCTION.find().map(|address| unsafe { std::mem::transmute::<*mut c_void, $type>(address) })
    }};
}

/// Nothing is being recorded, or what was asked for could not be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotRecording;

impl std::fmt::Display for NotRecording {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("nothing is being recorded")
    }
}

impl std::error::Error for NotRecording {}

fn check(result: Option<c_int>) -> Result<(), NotRecording> {
    match result {
        Some(0) => Ok(()),
        _ => Err(NotRecording),
    }
}

/// What a C function takes for a text: cut at its first zero byte.
fn text(name: &str) -> CString {
    let end = name.find('\0').unwrap_or(name.len());
    CString::new(&name[..end]).unwrap_or_default()
}

// ---- control -----------------------------------------------------------------------------------

/// Whom a call is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    AllThreads = 0,
    ThisThread = 1,
}

/// Which blocks a threshold gives stacks to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    AtLeast = 0,
    AtMost = 1,
}

/// Whether libmidden.so is in this process. It may be switched off all the same.
pub fn is_loaded() -> bool {
    function!("midden_take_snapshot", *const c_void).is_some()
}

/// Whether the calling thread's allocations are being recorded at this moment.
pub fn is_started() -> bool {
    function!("midden_is_recording", extern "C" fn() -> c_int).map_or(false, |f| f() != 0)
}

fn switch(on: bool, scope: Scope) -> Result<(), NotRecording> {
    let f = function!("midden_set_recording", extern "C" fn(c_int, c_int) -> c_int);
    check(f.map(|f| f(on as c_int, scope as c_int)))
}

/// Recording starts, for the calling thread or for all; the last word holds.
pub fn start(scope: Scope) -> Result<(), NotRecording> {
    switch(true, scope)
}

/// Recording stops. Blocks that were recorded are still seen to go.
pub fn stop(scope: Scope) -> Result<(), NotRecording> {
    switch(false, scope)
}

/// Figures start over from now, as if the blocks that are live had all been allocated at this moment.
pub fn clear() -> Result<(), NotRecording> {
    check(function!("midden_clear_figures", extern "C" fn() -> c_int).map(|f| f()))
}

/// Has the recorder keep what is live at this moment under a name of at most 95 bytes.
pub fn snapshot(name: &str) {
    if let Some(f) = function!("midden_take_snapshot", extern "C" fn(*const c_char)) {
        f(text(name).as_ptr());
    }
}

/// Writes the profile so far to a file, and waits for it. The recording goes on.
pub fn write(path: impl AsRef<Path>) -> Result<(), NotRecording> {
    use std::os::unix::ffi::OsStrExt;
    let path = CString::new(path.as_ref().as_os_str().as_bytes()).map_err(|_| NotRecording)?;
    let f = function!("midden_write_profile", extern "C" fn(*const c_char) -> c_int);
    check(f.map(|f| f(path.as_ptr())))
}

/// From now on stacks are kept for blocks of at least (or at most) so many bytes.
pub fn set_threshold(bytes: u64, direction: Direction) -> Result<(), NotRecording> {
    let f = function!("midden_set_stack_threshold", extern "C" fn(u64, c_int) -> c_int);
    check(f.map(|f| f(bytes, direction as c_int)))
}

/// In sampling mode: one block is sampled in so many bytes on average.
pub fn set_sampling(bytes: u64) -> Result<(), NotRecording> {
    check(function!("midden_set_sample_period", extern "C" fn(u64) -> c_int).map(|f| f(bytes)))
}

/// What reports call this thread; at most 15 bytes count.
pub fn name_thread(name: &str) -> Result<(), NotRecording> {
    let f = function!("midden_set_thread_name", extern "C" fn(*const c_char) -> c_int);
    check(f.map(|f| f(text(name).as_ptr())))
}

// ---- figures -----------------------------------------------------------------------------------

/// The figures of a recording, or of one thread in it. In the order of struct midden_figures.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    pub allocations: u64,
    pub frees: u64,
    pub allocated_bytes: u64,
    pub freed_bytes: u64,
    pub live_bytes: u64,
    pub live_blocks: u64,
    pub peak_bytes: u64,
    pub peak_blocks: u64,
    pub temporary_allocations: u64,
    pub reallocations: u64,
    pub foreign_frees: u64,
    pub untracked_frees: u64,
    pub threads: u64,
    pub stacks: u64,
    pub elapsed_ns: u64,
}

/// The figures as of the moment of the call, exactly.
pub fn summary(scope: Scope) -> Result<Figures, NotRecording> {
    let mut figures = Figures::default();
    let f = function!("midden_read_figures", extern "C" fn(*mut Figures, u64, c_int) -> c_int);
    let bytes = std::mem::size_of::<Figures>() as u64;
    check(f.map(|f| f(&mut figures, bytes, scope as c_int)))?;
    Ok(figures)
}

// ---- tags --------------------------------------------------------------------------------------

/// The calling thread is in a tag as long as this lives; a panic leaves it too. It stays with its thread.
#[must_use = "the tag is left at once"]
pub struct Tag {
    handle: u64,
    not_send: PhantomData<*const ()>,
}

pub fn tag(name: &str) -> Tag {
    let f = function!("midden_push_tag", extern "C" fn(*const c_char) -> u64);
    Tag { handle: f.map_or(0, |f| f(text(name).as_ptr())), not_send: PhantomData }
}

impl Drop for Tag {
    fn drop(&mut self) {
        if let Some(f) = function!("midden_leave_tag", extern "C" fn(u64)) {
            f(self.handle);
        }
    }
}

// ---- the allocator -----------------------------------------------------------------------------

/// The C library's malloc as a global allocator, each call as what it is: a realloc stays a realloc, zeroed
/// memory comes from calloc, so that figures are what the program asked for.
pub struct Allocator;

/// What malloc aligns to on every machine that midden knows.
const MALLOC_ALIGNMENT: usize = 16;

unsafe fn allocate_aligned(layout: Layout) -> *mut u8 {
    let mut block = std::ptr::null_mut();
    if posix_memalign(&mut block, layout.align(), layout.size()) != 0 {
        return std::ptr::null_mut();
    }
    block as *mut u8
}

unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() <= MALLOC_ALIGNMENT {
            malloc(layout.size()) as *mut u8
        } else {
            allocate_aligned(layout)
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if layout.align() <= MALLOC_ALIGNMENT {
            return calloc(1, layout.size()) as *mut u8;
        }
        let block = allocate_aligned(layout);
        if !block.is_null() {
            std::ptr::write_bytes(block, 0, layout.size());
        }
        block
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        if layout.align() <= MALLOC_ALIGNMENT {
            return realloc(block as *mut c_void, bytes) as *mut u8;
        }
        // No C function keeps a larger alignment.
        let moved = allocate_aligned(Layout::from_size_align_unchecked(bytes, layout.align()));
        if !moved.is_null() {
            std::ptr::copy_nonoverlapping(block, moved, layout.size().min(bytes));
            free(block as *mut c_void);
        }
        moved
    }

    unsafe fn dealloc(&self, block: *mut u8, _layout: Layout) {
        free(block as *mut c_void)
    }
}
