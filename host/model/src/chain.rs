//! Errors as one line for people.

use std::error::Error;

/// An error with its causes, in one line. A cause that its error's own text ends with is not repeated.
pub fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        if !text.ends_with(&next) {
            text.push_str(": ");
            text.push_str(&next);
        }
        cause = error.source();
    }
    text.replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use std::fmt;

    use super::*;

    #[derive(Debug)]
    struct Level(&'static str, Option<Box<Level>>);

    impl fmt::Display for Level {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
    }

    impl Error for Level {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            self.1.as_ref().map(|cause| &**cause as _)
        }
    }

    #[test]
    fn every_cause_is_told_once() {
        let refused = Level("refused\nby the kernel", None);
        let connect = Level("cannot connect: refused\nby the kernel", Some(Box::new(refused)));
        let outer = Level("no answer", Some(Box::new(connect)));
        assert_eq!(chain(&outer), "no answer: cannot connect: refused by the kernel");
    }
}
