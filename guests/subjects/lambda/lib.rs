//! Nothing: the subjects are the examples of this package.
