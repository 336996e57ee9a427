//! Which files of `corpus/` belong to which testcases.

use std::collections::BTreeMap;

use sandglass_engine::{Engine, TestcaseId};

use crate::store;

/// Which file of `corpus/` holds which testcase. Two may hold the same bytes.
#[derive(Default)]
pub(super) struct CorpusFiles {
    /// By id.
    names: Vec<String>,
    /// How many testcases each file stands for.
    users: BTreeMap<String, u32>,
}

impl CorpusFiles {
    /// Of an engine's corpus as it is.
    pub(super) fn of(engine: &Engine) -> CorpusFiles {
        let mut files = CorpusFiles::default();
        for (id, testcase) in engine.corpus().iter() {
            files.add(id, store::testcase_name(testcase));
        }
        files
    }

    /// A new testcase, the next one by id.
    pub(super) fn add(&mut self, id: TestcaseId, file: String) {
        assert_eq!(self.names.len(), id.index(), "testcases come in order");
        *self.users.entry(file.clone()).or_insert(0) += 1;
        self.names.push(file);
    }

    /// The file of a testcase.
    pub(super) fn name(&self, id: TestcaseId) -> &str {
        &self.names[id.index()]
    }

    /// Gives a testcase another file; returns the old one if nobody uses it now.
    pub(super) fn replace(&mut self, id: TestcaseId, file: String) -> Option<String> {
        *self.users.entry(file.clone()).or_insert(0) += 1;
        let old = std::mem::replace(&mut self.names[id.index()], file);
        let users = self.users.get_mut(&old).expect("every file has a user");
        *users -= 1;
        (*users == 0).then_some(old)
    }
}
