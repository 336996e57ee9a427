//! The cost model: how much fuel one operator is worth.
//!
//! Plain counting is the default. It counts the operators of the *original* module that do
//! something: structure (`block`, `loop`, `end`, `else`), `nop` and `drop` are free, which also
//! makes the count immune to walrus dropping and reordering them. Bulk operators cost one plus
//! one per eight bytes (or per element of a table), calls of the contract one plus what they copy. What leaves
//! compiled code for work that operators do not measure costs [`HOST_WORK`]: calls of the operating system, each
//! name in a path, `ref.func`, and `memory.grow` and `table.grow`, whatever the size and whether they are granted: a
//! new page is an address until it is written, by stores that count, and memory and tables (of a million elements at
//! most) have limits.
//!
//! A named table of weights takes the place of the ones. What goes by size and what leaves compiled code stay as
//! they are: the host does not know which table a module was built with.

mod native;

use serde::{Deserialize, Serialize};
use walrus::ir::{Instr, InstrLocId};
use wasmparser::{BinaryReaderError, Operator, Parser, Payload};

/// The version of the cost models; part of every recorded fuel figure.
pub const COST_VERSION: u32 = 3;

/// What work of the host costs that takes it 60 to 100 ns, where a plain operator takes a fifth of one to three: a module
/// that does nothing but this takes some ten times as long as its fuel says. What has no such price and takes longer for
/// its fuel: throws through thousands of frames (38 ns a unit) and fills of no bytes in a page that is not there (23).
pub const HOST_WORK: u32 = 32;

/// Bytes of a bulk operation that cost one unit of fuel, as a shift.
pub(crate) const BULK_SHIFT: i32 = 3;

/// What a throw costs beside its operator. Unwinding takes 17 us, as long as some 30,000 plain
/// operators; without this a loop of throws would run for minutes under the default limit.
pub(crate) const THROW: u32 = 1_000;

/// What fuel counts. Figures of different models are different units.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum CostModel {
    /// Operators: each that does something costs one.
    #[default]
    Plain,
    /// Instructions that Cranelift emits for each operator by itself, for x86-64 without extensions:
    /// nothing for what vanishes into its surroundings (`local.get`, `i32.const`, the comparison that a
    /// branch makes).
    Native,
}

impl CostModel {
    /// All, the default first.
    pub const ALL: [CostModel; 2] = [CostModel::Plain, CostModel::Native];

    /// Its name, in options and records.
    pub fn name(self) -> &'static str {
        match self {
            CostModel::Plain => "plain",
            CostModel::Native => "native",
        }
    }

    /// The model of this name.
    pub fn find(name: &str) -> Option<CostModel> {
        CostModel::ALL
            .into_iter()
            .find(|model| model.name() == name)
    }

    /// The weights by name of the operator (`I32Add`), ascending; what is not listed costs one, if it
    /// costs anything. Empty for plain counts.
    pub fn table(self) -> &'static [(&'static str, u16)] {
        match self {
            CostModel::Plain => &[],
            CostModel::Native => native::WEIGHTS,
        }
    }

    /// Fuel of one operator of a module, without the part that depends on sizes at run time.
    pub(crate) fn of(self, operator: &Operator<'_>) -> u32 {
        if is_free(operator) {
            return 0;
        }
        if let Operator::MemoryGrow { .. } | Operator::TableGrow { .. } | Operator::RefFunc { .. } =
            operator
        {
            return HOST_WORK;
        }
        let table = self.table();
        match table.binary_search_by(|(listed, _)| (*listed).cmp(name(operator))) {
            Ok(at) => table[at].1.into(),
            Err(_) => 1,
        }
    }
}

/// What the operators of one module cost.
pub(crate) struct Costs {
    /// By offset in the original file, ascending; of plain counts nothing has to be looked up.
    weights: Option<Vec<(u32, u32)>>,
}

impl Costs {
    /// Weighs the operators of `wasm`.
    pub(crate) fn new(model: CostModel, wasm: &[u8]) -> Result<Costs, BinaryReaderError> {
        if model == CostModel::Plain {
            return Ok(Costs { weights: None });
        }
        let mut weights = Vec::new();
        for payload in Parser::new(0).parse_all(wasm) {
            if let Payload::CodeSectionEntry(body) = payload? {
                let mut reader = body.get_operators_reader()?;
                while !reader.eof() {
                    let (operator, offset) = reader.read_with_offset()?;
                    weights.push((offset as u32, model.of(&operator)));
                }
            }
        }
        let weights = Some(weights);
        Ok(Costs { weights })
    }

    /// Fuel of one operator, without the part that depends on sizes at run time.
    pub(crate) fn of(&self, instr: &Instr, loc: InstrLocId) -> u64 {
        let Some(weights) = &self.weights else {
            return plain(instr);
        };
        // One of ours, or walrus's, is at no place of the original.
        if loc.is_default() {
            return plain(instr);
        }
        match weights.binary_search_by_key(&loc.data(), |weight| weight.0) {
            Ok(at) => weights[at].1.into(),
            Err(_) => plain(instr),
        }
    }
}

/// The same rules as [`CostModel::of`]'s, for those that walrus leaves.
fn plain(instr: &Instr) -> u64 {
    match instr {
        Instr::Block(_) | Instr::Loop(_) | Instr::TryTable(_) | Instr::Try(_) | Instr::Drop(_) => 0,
        Instr::Unreachable(_) => 0,
        Instr::MemoryGrow(_) | Instr::TableGrow(_) | Instr::RefFunc(_) => HOST_WORK.into(),
        _ => 1,
    }
}

/// Does an operator of the original module cost nothing?
fn is_free(operator: &Operator<'_>) -> bool {
    matches!(
        operator,
        Operator::Block { .. }
            | Operator::Loop { .. }
            | Operator::TryTable { .. }
            | Operator::Else
            | Operator::End
            | Operator::Nop
            | Operator::Drop
            | Operator::Unreachable
    )
}

macro_rules! define_name {
    ($( @$proposal:ident $op:ident $({ $($arg:ident: $argty:ty),* })? => $visit:ident ($($ann:tt)*) )*) => {
        /// The operator's name, as wasmparser spells it.
        fn name(operator: &Operator<'_>) -> &'static str {
            match operator {
                $( Operator::$op { .. } => stringify!($op), )*
                _ => "",
            }
        }
    };
}
wasmparser::for_each_operator!(define_name);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_can_be_searched() {
        for model in CostModel::ALL {
            assert_eq!(CostModel::find(model.name()), Some(model));
            assert!(model.table().is_sorted_by(|a, b| a.0 < b.0), "{model:?}");
        }
        assert_eq!(CostModel::find("other"), None);
    }

    #[test]
    fn what_leaves_compiled_code_costs_the_same_in_every_model() {
        for model in CostModel::ALL {
            for operator in [
                Operator::MemoryGrow { mem: 0 },
                Operator::TableGrow { table: 0 },
                Operator::RefFunc { function_index: 0 },
            ] {
                assert_eq!(model.of(&operator), HOST_WORK, "{model:?}: {operator:?}");
            }
        }
    }

    /// A cycle has to pass one of these, or a call: were they free, so could an endless loop be.
    #[test]
    fn what_can_go_back_costs_something() {
        let branches = [
            Operator::Br { relative_depth: 0 },
            Operator::BrIf { relative_depth: 0 },
            Operator::Call { function_index: 0 },
            Operator::ReturnCall { function_index: 0 },
        ];
        for model in CostModel::ALL {
            for operator in &branches {
                assert!(model.of(operator) > 0, "{model:?}: {operator:?}");
            }
        }
        assert!(CostModel::Native.of(&Operator::I64DivS) > CostModel::Native.of(&Operator::I64Add));
        assert_eq!(
            CostModel::Native.of(&Operator::LocalGet { local_index: 0 }),
            0
        );
        assert_eq!(
            CostModel::Plain.of(&Operator::LocalGet { local_index: 0 }),
            1
        );
    }
}
