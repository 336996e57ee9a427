//! Back to the snapshot: before each run its budgets and counters, after it everything that it touched.

use std::collections::VecDeque;

use sandglass_instrument::layout;

use super::Sandbox;
use crate::compile::Build;
use crate::labels::DependenceLimits;
use crate::live::instantiate;
use crate::memory::Plan;

impl Sandbox {
    /// Back to the snapshot.
    #[inline]
    pub(super) fn reset(&mut self) {
        let live = self
            .instance
            .as_mut()
            .expect("an instance is missing only inside `renew`");
        let labels = live.store.data().labels.as_ref();
        if let Some(place) = &mut self.input {
            if let Some(labels) = labels {
                labels.plain(place.address(), place.written() as u32);
            }
            place.take(&self.snapshots[0]);
        }
        if let Some(labels) = labels {
            labels.clear(&live.regions, &live.marks);
            labels.begin(DependenceLimits::STANDARD);
        }
        for snapshot in &mut self.snapshots {
            snapshot.reset();
        }
        let live = self
            .instance
            .as_mut()
            .expect("an instance is missing only inside `renew`");
        let host = live.store.data_mut();
        host.system.reset(&self.saved);
        host.draws.reset();
        host.looks = 0;
        host.budget.begin();
        if let Some(tree) = &mut host.tree {
            tree.clear(&self.side);
        }
        if let Some(blocks) = &mut host.blocks {
            blocks.reset();
        }
        if let Some(heap) = &mut host.heap {
            heap.reset();
        }
        if let Some(calls) = &mut host.calls {
            calls.clear(&self.side);
        }
        let flag = self.side.bytes(layout::IRREVERSIBLE as usize, 4);
        if flag != [0; 4] {
            self.renew();
        }
    }

    /// A new instance in place of one that cannot be brought back.
    #[cold]
    fn renew(&mut self) {
        self.renewals += 1;
        if !self.program.map.adoptable {
            let (renewals, fuel_max) = (self.renewals, self.fuel_max);
            // Set-up is deterministic: it has succeeded from the same start before.
            *self =
                Sandbox::new(&self.program, &self.limits).expect("set-up runs as it did before");
            self.renewals = renewals;
            if fuel_max != self.fuel_max {
                self.set_fuel_max(Some(fuel_max));
            }
            return;
        }
        let old = self.instance.take().expect("called with an instance");
        for (region, snapshot) in old.regions.iter().zip(&self.snapshots) {
            region
                .shrink(snapshot.size())
                .expect("giving back pages of our own mapping");
        }
        let adopt = VecDeque::from(old.asked);
        let host = old.store.into_data();
        // What is not adopted is the exception heap: it gets the limit that it had.
        let plan = Plan {
            adopt,
            limit_bytes: self.limits.region_bytes(),
            ..Plan::default()
        };
        let live = instantiate(&self.program, host, plan).expect("it was instantiated before");
        self.instance = Some(live);
    }

    /// Puts the budgets where the guest's wrapper finds them.
    pub(super) fn arm(&mut self) {
        let depth = self.limits.call_depth.min(i32::MAX as u32).cast_signed();
        self.side
            .write(layout::DEPTH_LIMIT as usize, &depth.to_le_bytes());
        let fuel = self.fuel_max.min(crate::limits::FUEL_LIMIT_MAX);
        let mut budget = self.program.budget(fuel);
        let floor = fuel - budget.begin();
        self.side
            .write(layout::BUDGET as usize, &fuel.to_le_bytes());
        self.side
            .write(layout::FLOOR as usize, &floor.to_le_bytes());
        self.live_mut().store.data_mut().budget = budget;
        let counters = self.side.words(
            self.program.map.layout.counters as usize,
            self.reader.probes(),
        );
        counters.fill(0);
        if self.program.build == Build::Compares {
            let words = (layout::COMPARE_BYTES as usize / 4) * self.program.map.compares.len();
            self.side
                .words(self.program.map.layout.compares as usize, words)
                .fill(0);
            self.live_mut().store.data_mut().texts.clear();
        }
        if self.program.build == Build::Profile {
            let map = self.program.map.clone();
            let weights = map.layout.weights as usize;
            let weights = self.side.words(weights, map.probes.len());
            for (weight, probe) in weights.iter_mut().zip(&map.probes) {
                *weight = probe.weight;
            }
            let side = self.side.clone();
            let tree = &mut self.live_mut().store.data_mut().tree;
            tree.as_mut().expect("made with the instance").clear(&side);
        }
        let side = self.side.clone();
        if let Some(calls) = &mut self.live_mut().store.data_mut().calls {
            calls.clear(&side);
        }
        self.side.write(layout::EXTRA_FUEL as usize, &[0; 8]);
        self.side.write(layout::IRREVERSIBLE as usize, &[0; 4]);
    }
}
