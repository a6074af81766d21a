//! Files and standard input.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use tarn_model::Secret;

use crate::config::FILE_BYTES_MAX;
use crate::error::Error;

/// Stands for standard input.
pub(crate) const STDIN: &str = "-";

/// The bytes of a file, or of standard input for `-`.
pub(crate) fn bytes(path: &Path) -> Result<Vec<u8>, Error> {
    let failed = |source| Error::File { path: path.display().to_string(), source };
    let mut bytes = Vec::new();
    let mut read = |from: &mut dyn Read| from.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes);
    if path.as_os_str() == STDIN {
        read(&mut io::stdin().lock()).map_err(failed)?;
    } else {
        read(&mut File::open(path).map_err(failed)?).map_err(failed)?;
    }
    if bytes.len() as u64 > FILE_BYTES_MAX {
        let problem = io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("it has more than {} MiB", FILE_BYTES_MAX >> 20),
        );
        return Err(failed(problem));
    }
    Ok(bytes)
}

/// The text of a file, or of standard input for `-`.
pub(crate) fn text(path: &Path) -> Result<String, Error> {
    let not_text = |_| {
        let source = io::Error::new(io::ErrorKind::InvalidData, "it is no text in UTF-8");
        Error::File { path: path.display().to_string(), source }
    };
    String::from_utf8(bytes(path)?).map_err(not_text)
}

/// The secret that a file holds: its text without the line break that editors put at its end.
pub(crate) fn secret(path: &Path) -> Result<Secret, Error> {
    let text = text(path)?;
    Ok(Secret::new(text.strip_suffix('\n').map_or(text.as_str(), |line| line.trim_end_matches('\r'))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_read_without_its_last_line_break_and_with_everything_else() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("password");
        for (written, read) in [("p w ", "p w "), ("p\n", "p"), ("p\r\n", "p"), ("p\n\n", "p\n"), ("", "")] {
            std::fs::write(&path, written).expect("written");
            assert_eq!(secret(&path).expect("read").expose(), read, "{written:?}");
        }
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let error = text(Path::new("/nowhere/x")).expect_err("no file");
        assert!(error.to_string().contains("/nowhere/x") && error.exit_code() == 2);
    }
}
