//! What both versions have in common: a context, made before the snapshot. The subjects are the examples.

/// Defines `CONTEXT`, a context of this type, and the entry point that makes it.
#[macro_export]
macro_rules! context {
    ($context:ty) => {
        thread_local! {
            static CONTEXT: std::cell::RefCell<$context> = std::cell::RefCell::default();
        }

        /// Makes the realm once, before the snapshot.
        #[unsafe(no_mangle)]
        pub extern "C" fn LLVMFuzzerInitialize(_: *mut i32, _: *mut *mut *mut u8) -> i32 {
            CONTEXT.with_borrow(|_| 0)
        }
    };
}
