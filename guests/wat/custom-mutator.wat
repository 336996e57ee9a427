;; Has a custom mutator that sets the first byte to 0x21, which is the only way to get valid.
;; expect: invalid
(module
  (memory (export "memory") 1)
  (func (export "LLVMFuzzerCustomMutator") (param $data i32) (param $size i32) (param $max i32) (param $seed i32) (result i32)
    (if (i32.eqz (local.get $max)) (then (return (i32.const 0))))
    (i32.store8 (local.get $data) (i32.const 0x21))
    (select (local.get $size) (i32.const 1) (local.get $size)))
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    (if (i32.eqz (local.get $len)) (then (return (i32.const -1))))
    (select (i32.const 0) (i32.const -1) (i32.eq (i32.load8_u (local.get $ptr)) (i32.const 0x21))))
)
