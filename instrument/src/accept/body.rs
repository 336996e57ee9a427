//! One function's body: validated operator by operator, and measured for what its compilation will cost.

use wasmparser::{
    FuncToValidate, FuncValidator, FuncValidatorAllocations, FunctionBody, ModuleArity, Operator, OperatorsReader,
    ValidatorResources,
};

use super::feature::Used;
use super::pass::malformed;
use super::{AcceptLimits, Reason, Refusal};

/// Validates `body` and holds it against `limits`.
pub(super) fn check(
    function: FuncToValidate<ValidatorResources>,
    body: &FunctionBody<'_>,
    limits: &AcceptLimits,
    used: &mut Used,
    allocations: &mut FuncValidatorAllocations,
) -> Result<(), Refusal> {
    let index = function.index;
    let over = |what: &str, found: u64, limit: u64| {
        let start = body.range().start;
        let message = format!("function {index} at offset {start:#x} has {found} {what}, expected at most {limit}");
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

    let mut cost = Cost::default();
    let mut operators = OperatorsReader::new(reader);
    while !operators.eof() {
        let (operator, offset) = operators.read_with_offset().map_err(malformed)?;
        used.note_operator(&operator);
        cost.add(&operator, &validator);
        validator.op(offset, &operator).map_err(malformed)?;
        if cost.br_table_targets > limits.br_table_targets {
            return over("targets in one `br_table`", cost.br_table_targets, limits.br_table_targets);
        }
        if cost.loops.len() as u64 > limits.nesting {
            return over("nested blocks", cost.loops.len() as u64, limits.nesting);
        }
        if cost.loop_nesting > limits.loop_nesting {
            return over("nested loops", cost.loop_nesting, limits.loop_nesting);
        }
        if cost.values > limits.values {
            return over("values in operators, calls and branches", cost.values, limits.values);
        }
    }
    operators.finish().map_err(malformed)?;
    let product = declared.saturating_mul(cost.branches);
    if product > limits.locals_times_branches {
        return over("locals times branches", product, limits.locals_times_branches);
    }
    *allocations = validator.into_allocations();
    Ok(())
}

/// What a body has come to so far.
#[derive(Default)]
struct Cost {
    /// One entry for each open block: whether it is a loop. A stack, since nesting is the file's choice.
    loops: Vec<bool>,
    /// How many of them are loops.
    loop_nesting: u64,
    /// See [`AcceptLimits::values`].
    values: u64,
    /// Operators after which control may be elsewhere: each is about one block of Cranelift's.
    branches: u64,
    /// Targets of the largest `br_table`.
    br_table_targets: u64,
}

impl Cost {
    fn add(&mut self, operator: &Operator<'_>, validator: &FuncValidator<ValidatorResources>) {
        self.values += 1;
        match operator {
            Operator::Block { .. } | Operator::If { .. } | Operator::Loop { .. } | Operator::TryTable { .. } => {
                let is_loop = matches!(operator, Operator::Loop { .. });
                self.loops.push(is_loop);
                self.loop_nesting += u64::from(is_loop);
                self.branches += 1;
                // Once for the way in and once for the way out.
                self.passes(operator, validator, 2);
            }
            Operator::End => {
                if self.loops.pop() == Some(true) {
                    self.loop_nesting -= 1;
                }
                self.passes(operator, validator, 1);
            }
            Operator::BrTable { targets } => {
                let count = u64::from(targets.len()) + 1;
                self.br_table_targets = self.br_table_targets.max(count);
                self.branches += count;
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
            | Operator::ReturnCall { .. }
            | Operator::ReturnCallIndirect { .. }
            | Operator::ReturnCallRef { .. }
            | Operator::Throw { .. }
            | Operator::StructNew { .. }
            | Operator::ArrayNewFixed { .. } => self.passes(operator, validator, 1),
            _ => {}
        }
    }

    /// Adds the values that an operator takes and gives, `times` over.
    fn passes(&mut self, operator: &Operator<'_>, validator: &impl ModuleArity, times: u64) {
        // No arity means an index out of range or the function's last `end`: the validator deals with those.
        let (takes, gives) = operator.operator_arity(validator).unwrap_or((0, 0));
        self.values = self.values.saturating_add((u64::from(takes) + u64::from(gives)).saturating_mul(times));
    }
}
