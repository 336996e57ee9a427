;; build: edges paths
(module
  (import "sandglass" "draw_bool" (func $bool (param i32 i32 i32 i32) (result i32)))
  (import "sandglass" "emit" (func $emit (param i32 i32)))
  (type $maker (func (param i32) (result i32)))
  (table funcref (elem $item))
  ;; Draws nothing: no step, and no cost.
  (func $length (param i32) (result i32)
    local.get 0)
  ;; Two draws, and a call that draws nothing between them.
  (func $item (type $maker)
    i32.const 1
    i32.const 1
    i32.const 1
    i32.const 2
    call $bool
    call $length
    i32.const 2
    i32.const 1
    i32.const 1
    i32.const 2
    call $bool
    i32.add)
  ;; A call of a draw, one through the table, and a tail call.
  (func (export "sandglass_generate")
    i32.const 0
    i32.const 0
    call $emit
    i32.const 0
    call $item
    i32.const 0
    i32.const 0
    call_indirect (type $maker)
    i32.add
    drop
    i32.const 0
    call $last
    drop)
  (func $last (type $maker)
    local.get 0
    return_call $item))
