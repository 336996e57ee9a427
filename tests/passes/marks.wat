;; build: marks edges
;; Every store marks the block of its first and of its last byte, afterwards; bulk writes mark block by block.
(module
  (memory 1)
  (func (param i32 i64 v128)
    local.get 0
    i32.const 1
    i32.store8
    local.get 0
    local.get 1
    i64.store offset=16
    local.get 0
    local.get 2
    v128.store16_lane offset=8 3
    local.get 0
    i32.const 0
    i32.const 32
    memory.fill))
