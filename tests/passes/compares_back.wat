;; build: compares edges
;; An operand that was computed with constants is logged once more, taken back to what it was computed from.
(module
  (func (param i32 i64) (result i32)
    local.get 0
    i32.const 48
    i32.sub
    i32.const 10
    i32.lt_u
    local.get 1
    i64.const 3
    i64.mul
    i64.const 5
    i64.add
    i64.const 305
    i64.eq
    i32.and))
