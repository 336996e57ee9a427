//! Frames by number only, until names and lines are read from the module.

/// One frame of a stack; several of them may stand for one raw frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The function's name in the module.
    pub function: String,
    /// The same, readable.
    pub demangled: String,
    /// Its source file.
    pub file: Option<String>,
    /// Line in it.
    pub line: Option<u32>,
    /// Column in that.
    pub column: Option<u32>,
    /// Whether the compiler put it into its caller.
    pub inlined: bool,
}

/// Names and lines of a module.
#[derive(Clone, Debug)]
pub struct Symbols;

impl Symbols {
    /// Of a module.
    pub fn new(_wasm: &[u8]) -> Symbols {
        Symbols
    }

    /// The frames at an offset of a function.
    pub fn frames(&self, function: u32, offset: Option<u32>) -> Vec<Frame> {
        let name = format!("func[{function}]");
        vec![Frame {
            demangled: match offset {
                Some(offset) => format!("{name}+0x{offset:x}"),
                None => name.clone(),
            },
            function: name,
            file: None,
            line: None,
            column: None,
            inlined: false,
        }]
    }
}
