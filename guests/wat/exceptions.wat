;; try_table with catch, catch_ref, catch_all, a nested rethrow; the values must arrive.
;; expect: valid
(module
  (memory (export "memory") 1)
  (tag $num (param i32))
  (tag $other)
  (func $throws (param $n i32)
    (if (i32.lt_u (local.get $n) (i32.const 10)) (then (throw $num (local.get $n))))
    (if (i32.eq (local.get $n) (i32.const 10)) (then (throw $other))))
  (func $rethrows (param $n i32)
    (block $caught (result i32 exnref)
      (try_table (catch_ref $num $caught)
        (call $throws (local.get $n)))
      (return))
    throw_ref)
  (func $value (param $n i32) (result i32)
    (block $num (result i32)
      (block $any
        (try_table (catch $num $num) (catch_all $any)
          (call $rethrows (local.get $n)))
        (return (i32.const 100)))
      (return (i32.const 50))))
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    ;; 3 is caught as a number, 10 by catch_all, 11 is not thrown: 3 + 50 + 100.
    (i32.add (call $value (i32.const 3)) (i32.add (call $value (i32.const 10)) (call $value (i32.const 11))))
    i32.const 153
    i32.ne)
)
