//! Frames by number only, until names and lines are read from the module.

/// One frame of a stack; several of them may stand for one raw frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The function's name, readable and printable.
    pub function: String,
    /// The same as the file has it.
    pub raw_name: String,
    /// Its source file.
    pub file: Option<String>,
    /// Line in it.
    pub line: Option<u32>,
    /// Column in that.
    pub column: Option<u32>,
    /// Whether the compiler put it into its caller.
    pub inlined: bool,
    /// Index of the function.
    pub func_index: u32,
}

/// Names and lines of a module.
#[derive(Clone, Debug)]
pub struct Symbols;

impl Symbols {
    /// Of a module.
    pub fn new(_wasm: &[u8]) -> Symbols {
        Symbols
    }

    /// The frames at an offset.
    pub fn frames(&self, _offset: u32) -> Vec<Frame> {
        Vec::new()
    }

    /// The frame of a function.
    pub fn frames_of(&self, index: u32) -> Vec<Frame> {
        vec![Frame {
            function: format!("func[{index}]"),
            raw_name: String::new(),
            file: None,
            line: None,
            column: None,
            inlined: false,
            func_index: index,
        }]
    }
}
