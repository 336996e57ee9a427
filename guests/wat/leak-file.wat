;; Creates a file exclusively in the virtual file system; 7 when the file is already there.
;; expect: valid
(module
  (import "wasi_snapshot_preview1" "path_open"
    (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 64) "state.txt")
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    ;; errno 20 is `exist`; a sandbox without a writable folder answers something else, which is fine here.
    (if (i32.eq (i32.const 20)
          (call $open (i32.const 3) (i32.const 0) (i32.const 64) (i32.const 9)
            (i32.const 5) (i64.const 0x40) (i64.const 0) (i32.const 0) (i32.const 32)))
      (then (return (i32.const 7))))
    i32.const 0)
)
