;; build: edges
;; A recursive function that catches: the depth, and a local budget, are right again where an exception lands.
(module
  (tag $e)
  (func $f (param i32)
    block $handler
      try_table (catch $e $handler)
        local.get 0
        i32.eqz
        if
          throw $e
        end
        local.get 0
        i32.const 1
        i32.sub
        call $f
      end
    end
    loop $l
      local.get 0
      i32.const 1
      i32.sub
      local.tee 0
      br_if $l
    end))
