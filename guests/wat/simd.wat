;; Sums sixteen bytes with vector instructions and by hand; 7 when they differ.
;; input: 0123456789abcdef
;; expect: valid
(module
  (memory (export "memory") 1)
  (func $vector (param $p i32) (result i32)
    (local $v v128)
    (local.set $v (i32x4.extadd_pairwise_i16x8_u (i16x8.extadd_pairwise_i8x16_u (v128.load (local.get $p)))))
    (i32.add
      (i32.add (i32x4.extract_lane 0 (local.get $v)) (i32x4.extract_lane 1 (local.get $v)))
      (i32.add (i32x4.extract_lane 2 (local.get $v)) (i32x4.extract_lane 3 (local.get $v)))))
  (func $scalar (param $p i32) (result i32)
    (local $i i32) (local $sum i32)
    (loop $again
      (local.set $sum (i32.add (local.get $sum) (i32.load8_u (i32.add (local.get $p) (local.get $i)))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $again (i32.lt_u (local.get $i) (i32.const 16))))
    local.get $sum)
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    (if (i32.lt_u (local.get $len) (i32.const 16)) (then (return (i32.const -1))))
    (select (i32.const 0) (i32.const 7)
      (i32.eq (call $vector (local.get $ptr)) (call $scalar (local.get $ptr)))))
)
