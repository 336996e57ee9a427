;; build: edges
;; Handlers get landings of their own, where arrivals are counted; a call that may throw has a way back.
(module
  (tag $e (param i32))
  (func $throws (param i32)
    local.get 0
    if
      local.get 0
      throw $e
    end)
  (func (param i32) (result i32)
    block $any
      block $one (result i32)
        try_table (result i32) (catch $e $one) (catch_all $any)
          local.get 0
          call $throws
          i32.const 1
        end
        return
      end
      i32.const 2
      i32.add
      return
    end
    i32.const 3))
