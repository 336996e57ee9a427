//! A cloud in a box: the event that calls a handler, objects in buckets, and tables of items. What a handler would reach over
//! the network is in the input, so a run is a function of it. Stands for a vendor's SDK: the build maps its sources to where
//! crates of a registry lie, so that its code counts as a library's.
//!
//! An input is the event, the number of objects with bucket, key and body, and the number of items with table, key, the number of
//! attributes, and name and value of each. Texts and bodies are their length and their bytes; numbers are 32 bits, little-endian.

use std::collections::BTreeMap;

/// Attributes of an item by name.
pub type Item = BTreeMap<String, String>;

/// Why the cloud does not do what it was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CloudError {
    /// No such bucket or key.
    NoSuchKey(String),
    /// No such table.
    ResourceNotFound(String),
    /// An item without a key, an empty attribute, or too many at once.
    Validation(String),
}

/// The service.
#[derive(Debug, Default)]
pub struct Cloud {
    event: Vec<u8>,
    objects: BTreeMap<(String, String), Vec<u8>>,
    tables: BTreeMap<String, BTreeMap<String, Item>>,
    log: Vec<String>,
}

/// The most items that are written at once.
pub const BATCH_MAX: usize = 25;

impl Cloud {
    /// The cloud of an input; nothing if it is not one.
    pub fn parse(input: &[u8]) -> Option<Cloud> {
        let mut reader = Reader(input);
        let mut cloud = Cloud {
            event: reader.bytes()?.to_vec(),
            ..Cloud::default()
        };
        for _ in 0..reader.number()? {
            let (bucket, key) = (reader.text()?, reader.text()?);
            let body = reader.bytes()?.to_vec();
            cloud.objects.insert((bucket, key), body);
        }
        for _ in 0..reader.number()? {
            let (table, key) = (reader.text()?, reader.text()?);
            let mut item = Item::new();
            for _ in 0..reader.number()? {
                item.insert(reader.text()?, reader.text()?);
            }
            cloud.tables.entry(table).or_default().insert(key, item);
        }
        reader.0.is_empty().then_some(cloud)
    }

    /// What the handler is called with.
    pub fn event(&self) -> &[u8] {
        &self.event
    }

    /// An object's body.
    pub fn get_object(&self, bucket: &str, key: &str) -> Result<&[u8], CloudError> {
        let found = self.objects.get(&(bucket.to_owned(), key.to_owned()));
        found.map(Vec::as_slice).ok_or_else(|| CloudError::NoSuchKey(format!("{bucket}/{key}")))
    }

    /// Writes an object.
    pub fn put_object(&mut self, bucket: &str, key: &str, body: Vec<u8>) -> Result<(), CloudError> {
        if key.is_empty() || key.len() > 1024 {
            return Err(CloudError::NoSuchKey(key.to_owned()));
        }
        self.objects.insert((bucket.to_owned(), key.to_owned()), body);
        Ok(())
    }

    /// An item of a table.
    pub fn get_item(&self, table: &str, key: &str) -> Result<Option<&Item>, CloudError> {
        let Some(table) = self.tables.get(table) else {
            return Err(CloudError::ResourceNotFound(table.to_owned()));
        };
        Ok(table.get(key))
    }

    /// Writes items at once.
    pub fn put_items(&mut self, table: &str, items: Vec<(String, Item)>) -> Result<(), CloudError> {
        if items.len() > BATCH_MAX {
            return Err(CloudError::Validation("too many items".to_owned()));
        }
        for (key, item) in &items {
            if key.is_empty() || item.keys().any(String::is_empty) {
                return Err(CloudError::Validation(key.clone()));
            }
        }
        self.tables.entry(table.to_owned()).or_default().extend(items);
        Ok(())
    }

    /// Removes an item; whether it was there.
    pub fn delete_item(&mut self, table: &str, key: &str) -> bool {
        self.tables.get_mut(table).is_some_and(|table| table.remove(key).is_some())
    }

    /// Writes a line to the log.
    pub fn log(&mut self, line: impl Into<String>) {
        self.log.push(line.into());
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn number(&mut self) -> Option<u32> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*number))
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let count = self.number()? as usize;
        let (bytes, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(bytes)
    }

    fn text(&mut self) -> Option<String> {
        Some(String::from_utf8_lossy(self.bytes()?).into_owned())
    }
}

/// Defines a handler's entry point: an input is valid if it is a cloud and the handler returns `Ok`.
#[macro_export]
macro_rules! handler {
    ($handle:path) => {
        #[unsafe(no_mangle)]
        #[allow(non_snake_case, reason = "the entry point's name is given")]
        pub unsafe extern "C" fn LLVMFuzzerTestOneInput(data: *const u8, size: usize) -> i32 {
            // SAFETY: the host passes a readable buffer of `size` bytes.
            let input = unsafe { std::slice::from_raw_parts(data, size) };
            let cloud = $crate::Cloud::parse(input);
            let is_done = cloud.is_some_and(|mut cloud| $handle(&mut cloud).is_ok());
            if is_done { 0 } else { -1 }
        }
    };
}
