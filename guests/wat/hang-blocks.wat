;; An endless loop of several blocks, with conditions that are never true.
;; expect: hang
(module
  (memory (export "memory") 1)
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    (local $i i32)
    (block $out
      (loop $again
        (local.set $i (i32.or (i32.add (local.get $i) (i32.const 2)) (i32.const 1)))
        (if (i32.and (local.get $i) (i32.const 2))
          (then (i32.store8 (i32.const 16) (local.get $i)))
          (else (i32.store8 (i32.const 17) (local.get $i))))
        (br_if $out (i32.eqz (local.get $i)))
        (br $again)))
    i32.const 0)
)
