//! Pages for people lead where they say: their links, and the paths they name.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use tarn_tidy::{Source, files, root};

use crate::assert_none;

/// The files and folders of the repository.
struct Places(BTreeSet<PathBuf>);

impl Places {
    fn all() -> Self {
        let files = files();
        let folders: BTreeSet<_> =
            files.iter().flat_map(|file| file.ancestors().skip(1)).map(Path::to_owned).collect();
        Self(files.into_iter().chain(folders).collect())
    }

    fn has(&self, path: &Path) -> bool {
        self.0.contains(path)
    }

    /// Every file with an extension.
    fn read(&self, extension: &str) -> Vec<Source> {
        let paths = self.0.iter().filter(|path| path.extension().is_some_and(|found| found == extension));
        let read = |path: &PathBuf| {
            let text = std::fs::read_to_string(root().join(path)).expect("a page is text");
            Source { path: path.clone(), text }
        };
        paths.map(read).collect()
    }

    /// Whether a word is meant as a path from the root: one that begins with a folder at the top.
    fn is_path(&self, word: &str) -> bool {
        word.split_once('/').is_some_and(|(top, rest)| {
            !rest.is_empty() && !top.is_empty() && self.has(Path::new(top)) && root().join(top).is_dir()
        })
    }
}

/// The targets of a page's links.
fn links(text: &str) -> Vec<&str> {
    let parts = text.split("](").skip(1);
    parts.filter_map(|part| part.split_once(')')).map(|(target, _)| target).collect()
}

/// The names by which the headings of a page are linked to.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut is_code = false;
    let mut anchors = BTreeSet::new();
    for line in text.lines() {
        is_code ^= line.starts_with("```");
        let heading = line.trim_start_matches('#');
        if is_code || heading == line || !heading.starts_with(' ') {
            continue;
        }
        let kept = heading.trim().to_lowercase();
        let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        anchors.insert(kept.map(|c| if c == ' ' { '-' } else { c }).collect());
    }
    anchors
}

/// The words of a text that are made of what paths are made of.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_of_path = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-');
    text.split(move |c| !is_of_path(c)).map(|word| word.trim_end_matches(['.', '/', '-']))
}

/// The place that a link on a page leads to, from the root.
fn followed(page: &Path, target: &str) -> PathBuf {
    let mut place = page.parent().unwrap_or(Path::new("")).to_owned();
    for part in Path::new(target).components() {
        match part {
            Component::ParentDir => {
                place.pop();
            }
            Component::Normal(name) => place.push(name),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    place
}

#[test]
fn every_link_leads_to_a_file_and_to_a_heading_in_it() {
    let places = Places::all();
    let pages = places.read("md");
    let mut broken = Vec::new();
    for page in &pages {
        for link in links(&page.text).into_iter().filter(|link| !link.contains("://")) {
            let (target, anchor) = link.split_once('#').unwrap_or((link, ""));
            let place = if target.is_empty() { page.path.clone() } else { followed(&page.path, target) };
            let leads = places.has(&place);
            let known = pages.iter().find(|other| other.path == place);
            if !leads
                || !anchor.is_empty() && !known.is_some_and(|other| anchors(&other.text).contains(anchor))
            {
                broken.push(format!("{}: {link}", page.path.display()));
            }
        }
    }
    assert_none("a link leads somewhere", &broken);
}

#[test]
fn every_path_that_a_page_names_is_there() {
    let places = Places::all();
    let mut broken = Vec::new();
    for page in places.read("md") {
        for word in words(&page.text).filter(|word| places.is_path(word)) {
            if !places.has(Path::new(word)) {
                broken.push(format!("{}: {word}", page.path.display()));
            }
        }
    }
    assert_none("a path on a page is one of the repository's", &broken);
}

#[test]
fn every_page_that_a_source_or_a_manifest_names_is_there() {
    let places = Places::all();
    let mut broken = Vec::new();
    for extension in ["rs", "toml", "wit"] {
        for source in places.read(extension) {
            let pages = words(&source.text).filter(|word| word.ends_with(".md") && places.is_path(word));
            for word in pages.filter(|word| !places.has(Path::new(word))) {
                broken.push(format!("{}: {word}", source.path.display()));
            }
        }
    }
    assert_none("a page that a source sends its reader to is there", &broken);
}

#[test]
fn headings_words_and_links_are_told_as_people_read_them() {
    let page =
        "# The API, over HTTPS\n```\n# no heading\n```\nsee [it](a/b.md#x) (host/x.rs, `plugins/<name>`).";
    assert_eq!(anchors(page).into_iter().collect::<Vec<_>>(), ["the-api-over-https"]);
    assert_eq!(links(page), ["a/b.md#x"]);
    assert!(words(page).any(|word| word == "host/x.rs") && words(page).any(|word| word == "plugins"));
    assert_eq!(followed(Path::new("host/client/README.md"), "../api/./x.json"), Path::new("host/api/x.json"));
}
