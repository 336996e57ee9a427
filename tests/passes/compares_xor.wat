;; build: compares edges
;; How compilers inline `memcmp`: the sides of every `xor` whose `or` is tested for zero, and of no other.
(module
  (memory 1)
  (func (param i32) (result i32)
    local.get 0
    i64.load
    i64.const 0x1122334455667788
    i64.xor
    local.get 0
    i64.load32_u offset=8
    i64.const 0x99aabbcc
    i64.xor
    i64.or
    i64.eqz
    local.get 0
    i32.const 77
    i32.xor
    i32.add))
