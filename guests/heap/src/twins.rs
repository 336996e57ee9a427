//! Memory errors in unsafe Rust with their good twins: see twins.c.

use std::hint::black_box as hide;

// case: heap-overflow CWE-122
#[inline(never)]
fn write_past_a_vector(bad: bool) {
    let mut v = hide(vec![0_u8; 16]);
    let p = hide(v.as_mut_ptr());
    unsafe { p.add(if bad { 16 } else { 15 }).write(1) }; // BAD
}

// case: heap-overflow CWE-126
#[inline(never)]
fn unchecked_index(bad: bool) {
    let v = hide(vec![1_u32; 6]);
    let p = hide(v.as_ptr());
    hide(unsafe { *p.add(if bad { 6 } else { 5 }) }); // BAD
}

// case: use-after-free CWE-416
#[inline(never)]
fn read_of_a_dropped_box(bad: bool) {
    let b = Box::into_raw(hide(Box::new(5_u64)));
    if bad {
        drop(unsafe { Box::from_raw(b) });
    }
    hide(unsafe { *hide(b) }); // BAD
    if !bad {
        drop(unsafe { Box::from_raw(b) });
    }
}

// case: use-after-free CWE-416
#[inline(never)]
fn pointer_into_a_grown_vector(bad: bool) {
    let mut v = hide(vec![1_u32; 4]);
    let p = hide(v.as_ptr());
    if bad {
        v.extend(hide([7_u32; 100]));
    }
    hide(unsafe { *p }); // BAD
    hide(&v);
}

// case: heap-overflow CWE-124
#[inline(never)]
fn before_the_start(bad: bool) {
    let v = hide(vec![1_u32; 4]);
    let p = hide(v.as_ptr());
    hide(unsafe { *p.offset(if bad { -1 } else { 0 }) }); // BAD
}

// case: null-access CWE-476
#[inline(never)]
fn null(bad: bool) {
    let value = hide(5_u32);
    let p = hide(if bad { std::ptr::null() } else { &raw const value });
    hide(unsafe { p.read_volatile() }); // BAD
}

// case: double-free CWE-415
#[inline(never)]
fn dropped_twice(bad: bool) {
    let b = Box::into_raw(hide(Box::new(5_u64)));
    drop(unsafe { Box::from_raw(b) });
    if bad {
        drop(unsafe { Box::from_raw(hide(b)) }); // BAD
    }
}

// case: unclaimed CWE-457
#[inline(never)]
fn read_of_fresh_memory(bad: bool) {
    let mut b = hide(Box::<u32>::new_uninit());
    if !bad {
        b.write(1);
    }
    hide(unsafe { b.assume_init_read() }); // BAD
}

// case: frame-overflow CWE-121
#[inline(never)]
fn write_past_an_array(bad: bool) {
    let mut a = [0_u8; 32];
    let p = hide(a.as_mut_ptr());
    unsafe { p.write_bytes(1, hide(if bad { 300 } else { 32 })) }; // BAD
    hide(&a);
}

const TWINS: [fn(bool); 9] = [
    write_past_a_vector,
    unchecked_index,
    read_of_a_dropped_box,
    pointer_into_a_grown_vector,
    before_the_start,
    null,
    dropped_twice,
    read_of_fresh_memory,
    write_past_an_array,
];

#[unsafe(no_mangle)]
pub extern "C" fn LLVMFuzzerTestOneInput(data: *const u8, size: usize) -> i32 {
    let data = unsafe { std::slice::from_raw_parts(data, size) };
    let [number, which, ..] = data else { return -1 };
    let Some(twin) = TWINS.get(usize::from(*number)) else {
        return -1;
    };
    twin(*which == b'b');
    0
}
