;; build: compares edges
;; Both operands are logged, floats by their bits; a comparison of constants, or with zero, says nothing.
(module
  (func (param i32 i64 f32 f64) (result i32)
    local.get 0
    i32.const 1234
    i32.eq
    local.get 1
    i64.const 99
    i64.lt_u
    i32.and
    local.get 2
    local.get 2
    f32.gt
    local.get 3
    f64.const 1.5
    f64.ne
    i32.or
    i32.add
    local.get 0
    i32.const 0
    i32.ne
    i32.add
    i32.const 1
    i32.const 2
    i32.eq
    i32.add))
