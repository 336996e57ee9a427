;; build: marks edges
;; Addresses of a wide memory fit in 32 bits once something was written there.
(module
  (memory $small 1)
  (memory $wide i64 1)
  (func (param i64)
    local.get 0
    i32.const 1
    i32.store $wide offset=8
    local.get 0
    i32.const 0
    i64.const 32
    memory.fill $wide
    local.get 0
    i32.const 64
    i32.const 16
    memory.copy $wide $small))
