;; The address is fine, the static offset carries it beyond 4 GiB.
;; expect: trap out-of-bounds
(module
  (memory (export "memory") 1)
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    local.get $ptr
    i64.load offset=0xfffffff8
    i32.wrap_i64)
)
