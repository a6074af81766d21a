//! The rules. Each says what it found, all at once.

mod contract;
mod dependencies;
mod files;
mod floors;
mod layout;
mod pages;

/// Fails with everything that breaks a rule.
fn assert_none(rule: &str, broken: &[String]) {
    assert!(broken.is_empty(), "{rule}:\n  {}", broken.join("\n  "));
}
