;; Goes 50 frames down and throws, 1,000 times: each catch must give the depth back.
;; expect: valid
(module
  (memory (export "memory") 1)
  (tag $t)
  (func $down (param $n i32)
    (if (i32.eqz (local.get $n)) (then (throw $t)))
    (call $down (i32.sub (local.get $n) (i32.const 1))))
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    (local $i i32)
    (loop $again
      (block $caught
        (try_table (catch $t $caught)
          (call $down (i32.const 50))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $again (i32.lt_u (local.get $i) (i32.const 1000))))
    i32.const 0)
)
