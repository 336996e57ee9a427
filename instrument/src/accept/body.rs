//! One function's body: validated operator by operator, and measured for what its compilation will cost.

use wasmparser::{
    FuncToValidate, FuncValidator, FuncValidatorAllocations, FunctionBody, ModuleArity, Operator,
    OperatorsReader, ValidatorResources,
};

use super::feature::Used;
use super::pass::malformed;
use super::{AcceptLimits, Reason, Refusal};

/// What a body counts for in the limits of the whole module.
pub(super) struct Measured {
    /// The estimate of its compile time, in microseconds.
    pub(super) compile_us: u64,
    /// Locals, parameters included.
    pub(super) locals: u64,
}

/// Validates `body` and holds it against `limits`.
pub(super) fn check(
    function: FuncToValidate<ValidatorResources>,
    body: &FunctionBody<'_>,
    limits: &AcceptLimits,
    used: &mut Used,
    allocations: &mut FuncValidatorAllocations,
) -> Result<Measured, Refusal> {
    let index = function.index;
    let over = |what: &str, found: u64, limit: u64| {
        let start = body.range().start;
        let message = format!(
            "function {index} at offset {start:#x} has {found} {what}, expected at most {limit}; compile it with \
             `-O1` or higher, or split it"
        );
        Err(Refusal::new(Reason::Limit, message))
    };
    let bytes = body.range().len() as u64;
    if bytes > limits.body_bytes {
        return over("bytes", bytes, limits.body_bytes);
    }

    let mut validator = function.into_validator(std::mem::take(allocations));
    let mut declared = u64::from(validator.len_locals());
    let mut locals = body.get_locals_reader().map_err(malformed)?;
    for _ in 0..locals.get_count() {
        let (count, _) = locals.read().map_err(malformed)?;
        declared += u64::from(count);
        if declared > limits.locals {
            return over("locals", declared, limits.locals);
        }
    }
    let mut reader = body.get_binary_reader();
    validator.read_locals(&mut reader).map_err(malformed)?;

    let mut cost = Cost::new(declared as usize);
    let mut operators = OperatorsReader::new(reader);
    while !operators.eof() {
        let (operator, offset) = operators.read_with_offset().map_err(malformed)?;
        used.note_operator(&operator);
        cost.add(&operator, &validator);
        validator.op(offset, &operator).map_err(malformed)?;
        if cost.br_table_targets > limits.br_table_targets {
            return over(
                "targets in one `br_table`",
                cost.br_table_targets,
                limits.br_table_targets,
            );
        }
        if cost.blocks.len() as u64 > limits.nesting {
            return over("nested blocks", cost.blocks.len() as u64, limits.nesting);
        }
        if cost.values > limits.values {
            return over(
                "values in operators, calls and branches",
                cost.values,
                limits.values,
            );
        }
        let height = u64::from(validator.operand_stack_height());
        cost.height_max = cost.height_max.max(height);
        if height > limits.stack_height {
            return over("values on the operand stack", height, limits.stack_height);
        }
    }
    operators.finish().map_err(malformed)?;
    let product = declared.saturating_mul(cost.branches);
    if product > limits.locals_times_branches {
        return over(
            "locals times branches",
            product,
            limits.locals_times_branches,
        );
    }
    let estimate = cost.compile_us();
    if estimate > limits.function_compile_us {
        return over(
            "microseconds of estimated compile time",
            estimate,
            limits.function_compile_us,
        );
    }
    *allocations = validator.into_allocations();
    Ok(Measured {
        compile_us: estimate,
        locals: declared,
    })
}

/// What a body has come to so far.
struct Cost {
    /// One entry for each open block: whether it is a loop. A stack, since nesting is the file's choice.
    blocks: Vec<bool>,
    /// How many of them are loops.
    loops: u64,
    /// The most loops around one operator.
    loops_max: u64,
    /// See [`AcceptLimits::values`].
    values: u64,
    /// Operators after which control may be elsewhere: each is about one block of Cranelift's.
    branches: u64,
    /// Targets of the largest `br_table`.
    br_table_targets: u64,
    /// For each local, the number of the straight stretch in which it was last written, and whether it was ever read
    /// in another: only such a local lives across branches and costs the compiler more than its line.
    written: Vec<(u64, bool)>,
    /// How many locals live across branches.
    crossing: u64,
    /// The most values on the operand stack.
    height_max: u64,
    /// For each open block, how many handlers it has, and how many that is in all.
    handlers: Vec<u64>,
    handlers_open: u64,
    /// For each operator that may come to a handler, how many are around it.
    unwinds: u64,
}

impl Cost {
    fn new(locals: usize) -> Cost {
        Cost {
            blocks: Vec::new(),
            loops: 0,
            loops_max: 0,
            values: 0,
            branches: 0,
            br_table_targets: 0,
            // No stretch has this number, so reading a parameter or a zero counts as crossing.
            written: vec![(u64::MAX, false); locals],
            crossing: 0,
            height_max: 0,
            handlers: Vec::new(),
            handlers_open: 0,
            unwinds: 0,
        }
    }

    /// An estimate for Cranelift 0.135 at `opt_level = speed` (wasmtime 48, one core of a Xeon), fitted to generated
    /// functions of one shape each:
    ///
    /// | shape | measured | estimate |
    /// | --- | --: | --: |
    /// | 400 locals, one of them changed in each of 5,000 branches | 41 s | 60 s |
    /// | 50,000 `if`s that change one local | 17 s | 36 s |
    /// | 500 locals changed inside 100 nested loops | 4.0 s | 4.1 s |
    /// | 5,000 locals changed inside 20 nested loops | 16 s | 16 s |
    /// | 10,000 values on the operand stack | 2.9 s | 3.3 s |
    /// | 900,000 dependent loads | 18 s | 9 s |
    /// | 200 calls, or copies of memory, below 400 handlers, instrumented | 6.2 s | 6.4 s |
    /// | 600 of them | 57 s | 58 s |
    ///
    /// For real modules it is about three times too high (SQLite at `-O2`: 1.9 s, estimate 6.5 s), since their locals do
    /// not all meet in every branch.
    fn compile_us(&self) -> u64 {
        let wide = u128::from;
        let looped = wide(self.crossing) * wide(self.loops_max);
        let ns = wide(self.values) * (10_000 + 10 * wide(self.height_max))
            + wide(self.branches) * wide(self.branches) * (1_700 + 650 * wide(self.crossing))
                / 1_000
            + looped * looped * 8 / 5
            + wide(self.unwinds) * wide(self.unwinds);
        u64::try_from(ns / 1_000).unwrap_or(u64::MAX)
    }

    fn add(&mut self, operator: &Operator<'_>, validator: &FuncValidator<ValidatorResources>) {
        self.values += 1;
        match operator {
            Operator::LocalGet { local_index } => {
                if let Some((stretch, crosses)) = self.written.get_mut(*local_index as usize)
                    && *stretch != self.branches
                    && !*crosses
                {
                    *crosses = true;
                    self.crossing += 1;
                }
            }
            Operator::LocalSet { local_index } | Operator::LocalTee { local_index } => {
                if let Some((stretch, _)) = self.written.get_mut(*local_index as usize) {
                    *stretch = self.branches;
                }
            }
            Operator::Block { .. }
            | Operator::If { .. }
            | Operator::Loop { .. }
            | Operator::TryTable { .. } => {
                let is_loop = matches!(operator, Operator::Loop { .. });
                self.blocks.push(is_loop);
                let handlers = match operator {
                    Operator::TryTable { try_table } => try_table.catches.len() as u64,
                    _ => 0,
                };
                self.handlers.push(handlers);
                self.handlers_open += handlers;
                self.loops += u64::from(is_loop);
                self.loops_max = self.loops_max.max(self.loops);
                self.branches += 1;
                // Once for the way in and once for the way out.
                self.passes(operator, validator, 2);
            }
            Operator::End => {
                self.handlers_open -= self.handlers.pop().unwrap_or(0);
                if self.blocks.pop() == Some(true) {
                    self.loops -= 1;
                }
                self.branches += 1;
                self.passes(operator, validator, 1);
            }
            Operator::BrTable { targets } => {
                let count = u64::from(targets.len()) + 1;
                self.br_table_targets = self.br_table_targets.max(count);
                // A table is one block with many ways out; only its passed values are copied for each.
                self.branches += 1;
                self.passes(operator, validator, count);
            }
            Operator::Br { .. }
            | Operator::BrIf { .. }
            | Operator::BrOnNull { .. }
            | Operator::BrOnNonNull { .. }
            | Operator::BrOnCast { .. }
            | Operator::BrOnCastFail { .. }
            | Operator::Else
            | Operator::Return => {
                self.branches += 1;
                self.passes(operator, validator, 1);
            }
            Operator::Call { .. }
            | Operator::CallIndirect { .. }
            | Operator::CallRef { .. }
            | Operator::Throw { .. }
            | Operator::ThrowRef => {
                self.unwinds += self.handlers_open;
                self.passes(operator, validator, 1);
            }
            // Calls of the host's, as the engine has it.
            Operator::MemoryCopy { .. }
            | Operator::MemoryFill { .. }
            | Operator::MemoryInit { .. }
            | Operator::MemoryGrow { .. }
            | Operator::TableCopy { .. }
            | Operator::TableFill { .. }
            | Operator::TableInit { .. }
            | Operator::TableGrow { .. } => self.unwinds += self.handlers_open,
            Operator::ReturnCall { .. }
            | Operator::ReturnCallIndirect { .. }
            | Operator::ReturnCallRef { .. }
            | Operator::StructNew { .. }
            | Operator::ArrayNewFixed { .. } => self.passes(operator, validator, 1),
            _ => {}
        }
    }

    /// Adds the values that an operator takes and gives, `times` over.
    fn passes(&mut self, operator: &Operator<'_>, validator: &impl ModuleArity, times: u64) {
        // No arity means an index out of range or the function's last `end`: the validator deals with those.
        let (takes, gives) = operator.operator_arity(validator).unwrap_or((0, 0));
        self.values = self
            .values
            .saturating_add((u64::from(takes) + u64::from(gives)).saturating_mul(times));
    }
}
