//! Which files of `corpus/` belong to which testcases.

use std::collections::BTreeMap;

use sandglass_engine::{Engine, TestcaseId};

use crate::store;

/// Which file of `corpus/` holds which testcase. Two may hold the same bytes.
#[derive(Default)]
pub(super) struct CorpusFiles {
    /// By id; nothing where a testcase has left.
    names: Vec<Option<String>>,
    /// How many testcases each file stands for.
    users: BTreeMap<String, u32>,
}

impl CorpusFiles {
    /// Of an engine's corpus as it is.
    pub(super) fn of(engine: &Engine) -> CorpusFiles {
        let mut files = CorpusFiles::default();
        for (id, testcase) in engine.corpus().iter() {
            files.names.resize(id.index(), None);
            files.add(id, store::testcase_name(testcase));
        }
        let count = engine.corpus().next_id().index();
        files.names.resize(count, None);
        files
    }

    /// A new testcase, the next one by id.
    pub(super) fn add(&mut self, id: TestcaseId, file: String) {
        assert_eq!(self.names.len(), id.index(), "testcases come in order");
        *self.users.entry(file.clone()).or_insert(0) += 1;
        self.names.push(Some(file));
    }

    /// The file of a testcase.
    pub(super) fn name(&self, id: TestcaseId) -> &str {
        (self.names[id.index()].as_deref()).expect("the testcase is there")
    }

    /// Gives a testcase another file; returns the old one if nobody uses it now.
    pub(super) fn replace(&mut self, id: TestcaseId, file: String) -> Option<String> {
        *self.users.entry(file.clone()).or_insert(0) += 1;
        let old = self.names[id.index()].replace(file);
        self.unused(old.expect("the testcase is there"))
    }

    /// A testcase has left; returns its file if nobody uses it now.
    pub(super) fn remove(&mut self, id: TestcaseId) -> Option<String> {
        let old = self.names[id.index()].take();
        self.unused(old.expect("the testcase was there"))
    }

    fn unused(&mut self, file: String) -> Option<String> {
        let users = self.users.get_mut(&file).expect("every file has a user");
        *users -= 1;
        if *users > 0 {
            return None;
        }
        self.users.remove(&file);
        Some(file)
    }
}
