;; Exports malloc and free; 7 when the input is not where malloc said.
;; input: abc
;; expect: valid
(module
  (memory (export "memory") 2)
  (global $next (mut i32) (i32.const 40000))
  (func (export "malloc") (param $size i32) (result i32)
    (global.get $next)
    (global.set $next (i32.and (i32.add (i32.add (global.get $next) (local.get $size)) (i32.const 15)) (i32.const -16))))
  (func (export "free") (param i32))
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    (if (result i32) (i32.eq (local.get $ptr) (i32.const 40000))
      (then (i32.const 0))
      (else (i32.const 7))))
)
