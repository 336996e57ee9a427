;; build: plain
;; Without counts: loops, switches that go back and recursion spend from the budget, and nothing
;; else is touched.
(module
  (tag $tag)
  (func $loop (param i32) (result i32)
    loop $l
      local.get 0
      i32.const 1
      i32.sub
      local.tee 0
      br_if $l
    end
    local.get 0)
  (func $switch (param i32)
    loop $again
      block $out
        local.get 0
        br_table $again $out
      end
    end)
  (func $recursive (param i32)
    local.get 0
    if
      local.get 0
      i32.const 1
      i32.sub
      call $recursive
    end)
  (func $catches (param i32)
    block $caught
      try_table (catch $tag $caught)
        local.get 0
        br_if $caught
        throw $tag
      end
    end))
