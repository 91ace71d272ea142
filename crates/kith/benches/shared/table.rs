//! Results as a table: aligned on the terminal, Markdown and JSON in the report folder.

#![allow(dead_code, reason = "two programs share this file and neither uses all of it")]

use std::fs;
use std::path::Path;

use serde_json::{Map, Value};

#[derive(Clone, Debug)]
pub(crate) struct Table {
    /// Also the name of the files, and of the section in `docs/measured.md`.
    name: &'static str,
    head: Vec<&'static str>,
    rows: Vec<Vec<String>>,
    notes: Vec<String>,
}

impl Table {
    pub(crate) fn new(name: &'static str, head: &[&'static str]) -> Table {
        Table { name, head: head.to_vec(), rows: Vec::new(), notes: Vec::new() }
    }

    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.into_iter().collect());
    }

    pub(crate) fn note(&mut self, sentence: impl Into<String>) {
        self.notes.push(sentence.into());
    }

    pub(crate) fn print(&self) {
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            let widths = cells.map(|cell| cell.chars().count());
            widths.chain([self.head[column].len()]).max().unwrap_or_default()
        };
        let widths: Vec<usize> = (0..self.head.len()).map(width).collect();
        let line = |cells: Vec<&str>| {
            let padded: Vec<String> =
                cells.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}")).collect();
            println!("{}", padded.join(" | ").trim_end());
        };
        println!("\n== {}", self.name);
        line(self.head.clone());
        line(widths.iter().map(|&width| &DASHES[..width.min(DASHES.len())]).collect());
        for row in &self.rows {
            line(row.iter().map(String::as_str).collect());
        }
        for note in &self.notes {
            println!("{note}");
        }
    }

    /// Puts `<name>.md` and `<name>.json` into the folder.
    pub(crate) fn write(&self, folder: &Path) {
        fs::create_dir_all(folder).expect("the report folder can be made");
        let put = |extension: &str, text: String| {
            let path = folder.join(format!("{}.{extension}", self.name));
            fs::write(&path, text).expect("a report can be written");
        };
        put("md", self.markdown());
        put("json", format!("{:#}\n", self.json()));
    }

    fn markdown(&self) -> String {
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let escaped = |cell: &String| cell.replace('|', "\\|");
        let mut text = line(self.head.iter().map(|&it| it.to_owned()).collect());
        text += &line(self.head.iter().map(|_| "---".to_owned()).collect());
        for row in &self.rows {
            text += &line(row.iter().map(escaped).collect());
        }
        for note in &self.notes {
            text += &["\n", note, "\n"].concat();
        }
        text
    }

    fn json(&self) -> Value {
        let object = |row: &Vec<String>| -> Map<String, Value> {
            let pairs = self.head.iter().zip(row);
            pairs.map(|(key, cell)| ((*key).to_owned(), Value::from(cell.as_str()))).collect()
        };
        let rows: Vec<Map<String, Value>> = self.rows.iter().map(object).collect();
        serde_json::json!({"name": self.name, "rows": rows, "notes": self.notes})
    }
}

const DASHES: &str = "----------------------------------------------------------------------------\
                      ----------------------------------------------------------------------------";
