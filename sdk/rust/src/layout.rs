//! Holds every struct to the size and the places that C gives it on 64-bit systems.

/// Bytes that hold their own place, so that reading the first byte of a member gives its offset: Rust's offset_of! is
/// younger than what some Debians have, whose compilers also overlook uses within `const _`.
#[allow(dead_code)]
#[repr(C, align(8))]
pub struct Places([u8; 256]);
#[allow(dead_code)]
pub const PLACES: Places = {
    let mut bytes = [0; 256];
    let mut i = 0;
    while i < 256 {
        bytes[i] = i as u8;
        i += 1;
    }
    Places(bytes)
};

/// The build fails where a struct has another size, or a member another place.
macro_rules! layout {
    ($name:ident, $size:expr, $($member:ident $offset:expr),*) => {
        const _: () = {
            use crate::layout::{Places, PLACES};
            assert!(std::mem::size_of::<$name>() == $size, "a struct has another size than in C");
            let at = &PLACES as *const Places as *const $name;
            $(assert!(unsafe { *(std::ptr::addr_of!((*at).$member) as *const u8) } == $offset,
                      "a member stands in another place than in C");)*
        };
    };
}
pub(crate) use layout;

/// Whether a struct of the other side has the member, which it says by its size: what lies beyond must not be read.
macro_rules! reaches {
    ($struct:expr, $member:ident) => {{
        let at = $struct;
        !at.is_null()
            && std::ptr::addr_of!((*at).$member).add(1) as usize - at as usize <= (*at).struct_size as usize
    }};
}
pub(crate) use reaches;
