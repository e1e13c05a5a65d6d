//! Reads `docs/SUMMARY.md`, which names the site's pages in their order, and copies them for mdBook.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};

use crate::{files, plain};

/// Its links are relative to its folder.
const SUMMARY: &str = "docs/SUMMARY.md";

/// The summary as mdBook wants it: at the root of all pages.
#[derive(Debug)]
pub(crate) struct Chapters {
    text: String,
    pages: Vec<PathBuf>,
}

impl Chapters {
    pub(crate) fn read(root: &Path) -> Result<Self> {
        Self::of(&fs::read_to_string(root.join(SUMMARY)).context(SUMMARY)?)
    }

    fn of(summary: &str) -> Result<Self> {
        let (mut text, mut pages) = (String::new(), Vec::new());
        for line in summary.lines() {
            let link = line
                .split_once("](")
                .and_then(|(title, rest)| Some((title, rest.strip_suffix(')')?)));
            let Some((title, link)) = link else {
                text.extend([line, "\n"]);
                continue;
            };
            let Some(page) = plain(&Path::new("docs").join(link)) else {
                bail!("{SUMMARY}: `{link}` leads out of the repository");
            };
            text.push_str(&format!("{title}]({})\n", page.display()));
            pages.push(page);
        }
        Ok(Self { text, pages })
    }

    /// Pages below `docs` that no chapter has, a line each.
    pub(crate) fn forgotten(&self, root: &Path) -> Result<Vec<String>> {
        let pages =
            files(&root.join("docs"), "md")?.into_iter().map(|page| Path::new("docs").join(page));
        let forgotten =
            pages.filter(|page| page != Path::new(SUMMARY) && !self.pages.contains(page));
        let fault =
            |page: PathBuf| format!("{}: in no chapter; add it to {SUMMARY}", page.display());
        Ok(forgotten.map(fault).collect())
    }

    pub(crate) fn copy(&self, root: &Path, to: &Path) -> Result<()> {
        for page in &self.pages {
            let target = to.join(page);
            fs::create_dir_all(target.parent().unwrap_or(to))?;
            let copied = fs::copy(root.join(page), &target);
            copied.with_context(|| format!("{SUMMARY}: cannot copy {}", page.display()))?;
        }
        fs::write(to.join("SUMMARY.md"), &self.text).context("cannot write the summary")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_become_relative_to_the_root() {
        let chapters =
            Chapters::of("# Guides\n- [One](guide/one.md)\n[Two](../README.md)\n").unwrap();
        assert_eq!(chapters.text, "# Guides\n- [One](docs/guide/one.md)\n[Two](README.md)\n");
        assert_eq!(chapters.pages, [Path::new("docs/guide/one.md"), Path::new("README.md")]);
        let error = Chapters::of("[Out](../../passwd)").unwrap_err().to_string();
        assert_eq!(error, "docs/SUMMARY.md: `../../passwd` leads out of the repository");
    }
}
