//! Tables of text: columns as wide as what is in them.

use console::measure_text_width;

/// Space between two columns.
const GAP: &str = "  ";

/// A table for people.
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
    /// Which columns are numbers, and so stand to the right.
    numbers: Vec<bool>,
}

impl Table {
    /// A table with its columns' titles. One that begins with `#` is of numbers.
    pub(crate) fn new(titles: &[&str]) -> Self {
        let numbers = titles.iter().map(|title| title.starts_with('#')).collect();
        let titles = titles.iter().map(|title| title.trim_start_matches('#').to_owned()).collect();
        Self { rows: vec![titles], numbers }
    }

    /// Adds a row: a text a column.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().map(|cell| one_line(&cell)).collect());
    }

    /// The table as lines, each ended.
    pub(crate) fn render(&self) -> String {
        let widths: Vec<usize> = (0..self.numbers.len())
            .map(|column| {
                let cells = self.rows.iter().filter_map(|row| row.get(column));
                cells.map(|cell| measure_text_width(cell)).max().unwrap_or(0)
            })
            .collect();
        let mut text = String::new();
        for row in &self.rows {
            let cells = row.iter().zip(&widths).zip(&self.numbers).map(|((cell, width), is_number)| {
                let space = " ".repeat(width - measure_text_width(cell));
                if *is_number { space + cell } else { cell.clone() + &space }
            });
            let line = cells.collect::<Vec<_>>().join(GAP);
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

/// The text without what would break a line or move a terminal's cursor.
pub(crate) fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// A count with its thousands apart.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_what_is_in_them_and_numbers_stand_to_the_right() {
        let mut table = Table::new(&["NAME", "#ROWS", "STATE"]);
        table.row(["é".into(), "1,000".into(), "RUNNING".into()]);
        table.row(["longer".into(), "7".into(), String::new()]);
        let expected = "NAME     ROWS  STATE\né       1,000  RUNNING\nlonger      7\n";
        assert_eq!(table.render(), expected);
    }

    #[test]
    fn no_cell_moves_the_terminals_cursor() {
        let mut table = Table::new(&["A"]);
        table.row(["x\u{1b}[2Jy\nz".into()]);
        assert_eq!(table.render(), "A\nx [2Jy z\n");
    }

    #[test]
    fn thousands_stand_apart() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
