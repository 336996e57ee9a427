//! What the user can set, and the original's options that they are.

use serde::{Deserialize, Serialize};

use super::check::{Check, Places};
use super::custom;
use super::kind::{Family, Kind};
use super::room::Room;
use super::sharing::Sharing;
use super::size::SizeLimit;
use super::threshold::Threshold;
use crate::settings::{Setting, SettingKind, Settings};

const SHARING: Setting = Setting {
    name: "mutations-per-rule",
    summary: "how many mutants each rule makes of a parent",
    kind: SettingKind::OneOf {
        names: &["mixed", "unitary", "proportional", "probabilistic"],
    },
};
const MAX_SIZE: Setting = Setting::number(
    "max-size",
    "most bytes of a mutant; 0 is unset",
    0..=u32::MAX as u64,
    0,
);
const MAX_SIZE_RATIO: Setting = Setting::number(
    "max-size-ratio",
    "most bytes of a mutant, in per cent of the largest seed; 0 is unset",
    0..=u32::MAX as u64,
    0,
);
const MAX_SIZE_INCREASE: Setting = Setting::number(
    "max-size-increase",
    "most bytes of a mutant beyond those of the largest seed, if the other two are unset",
    0..=u32::MAX as u64,
    1_000_000,
);
const EXEC_LIMIT: Setting = Setting::number(
    "exec-limit",
    "executions of a gathering phase",
    1..=u32::MAX as u64,
    100,
);
const FILES_LIMIT: Setting = Setting::number(
    "interesting-files-limit",
    "interesting mutants at which a gathering phase ends",
    1..=u32::MAX as u64,
    20,
);
const INCREASE_RATE: Setting = Setting::number(
    "coverage-increase-rate",
    "what a mutant must cost more than at first, in per cent of the base",
    0..=u32::MAX as u64,
    150,
);
const SKIP_COVERAGE: Setting = Setting::switch(
    "skip-coverage-testing",
    "no gathering phases: every mutant is checked",
    false,
);
const REGEX_RULES: Setting = Setting {
    name: "regex-rules",
    summary: "the user's rules",
    kind: SettingKind::Text {
        what: "lines of PATTERN: REPLACEMENT",
        check: custom::check,
    },
};
const PLACES: Setting = Setting {
    name: "check",
    summary: "what is compared with the slowest seed: fuel, the count of each edge, memory, or depth of calls",
    kind: SettingKind::OneOf {
        names: &["total", "edges", "memory", "depth"],
    },
};
const DEGRADATION: Setting = Setting::number(
    "degradation",
    "from this per cent of the amount before on, a run is a degradation",
    1..=u32::MAX as u64,
    200,
);
const TYPE: Setting = Setting {
    name: "type",
    summary: "which rules a seed gets: those for its contents, or always the same",
    kind: SettingKind::OneOf {
        names: &["content", "text", "markup", "binary"],
    },
};
const MEMORY: Setting = Setting::number(
    "memory-mb",
    "megabytes of interesting mutants; beyond them only what is a hundredth dearer than any before is kept",
    1..=u32::MAX as u64,
    64,
);
const COMPAT: Setting = Setting::switch("compat", "with the defects of Perun 0.21.8", false);

/// All of them.
pub(super) const SETTINGS: &[Setting] = &[
    SHARING,
    MAX_SIZE,
    MAX_SIZE_RATIO,
    MAX_SIZE_INCREASE,
    EXEC_LIMIT,
    FILES_LIMIT,
    INCREASE_RATE,
    SKIP_COVERAGE,
    REGEX_RULES,
    PLACES,
    DEGRADATION,
    TYPE,
    MEMORY,
    COMPAT,
];

/// What was set, custom rules aside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Options {
    pub(super) sharing: Sharing,
    pub(super) size: SizeLimit,
    pub(super) exec_limit: u32,
    pub(super) files_limit: u32,
    pub(super) threshold: Threshold,
    pub(super) has_gate: bool,
    pub(super) check: Check,
    family: Option<Family>,
    pub(super) room: Room,
    pub(super) is_compat: bool,
}

impl Options {
    /// As the user has them.
    pub(super) fn new(settings: &Settings) -> Options {
        let index = |setting: Setting| settings.number(setting.name) as usize;
        let number = |setting: Setting| settings.number(setting.name);
        let is_compat = settings.is_on(COMPAT.name);
        let families = [
            None,
            Some(Family::Text),
            Some(Family::Markup),
            Some(Family::Binary),
        ];
        Options {
            sharing: Sharing::ALL[index(SHARING)],
            size: SizeLimit {
                max_bytes: number(MAX_SIZE),
                ratio_percent: number(MAX_SIZE_RATIO) as u32,
                increase_bytes: number(MAX_SIZE_INCREASE),
            },
            exec_limit: number(EXEC_LIMIT) as u32,
            files_limit: number(FILES_LIMIT) as u32,
            threshold: Threshold::new(number(INCREASE_RATE)),
            has_gate: !settings.is_on(SKIP_COVERAGE.name),
            check: Check {
                places: [Places::Total, Places::Edges, Places::Memory, Places::Depth]
                    [index(PLACES)],
                percent: number(DEGRADATION) as u32,
                is_compat,
            },
            family: families[index(TYPE)],
            room: Room::new(number(MEMORY) * 1_000_000),
            is_compat,
        }
    }

    /// The user's rules.
    pub(super) fn custom(settings: &Settings) -> custom::Custom {
        custom::Custom::new(settings.text(REGEX_RULES.name))
    }

    /// The rules for a workload of this kind.
    pub(super) fn family(&self, kind: Kind) -> Family {
        self.family.unwrap_or_else(|| kind.family(self.is_compat))
    }
}
