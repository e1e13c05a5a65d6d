//! Follows every link of the site: to pages, to headings of pages, to files.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

use crate::{files, plain};

/// mdBook's own, with links to wherever they are shown.
const NOT_PAGES: [&str; 2] = ["404.html", "toc.html"];

/// The site's pages, by their place in it.
struct Site<'a> {
    root: &'a Path,
    folder: &'a Path,
    pages: BTreeMap<PathBuf, String>,
}

/// Links that lead nowhere, a line each. Files of the repository that are linked to are laid into the site.
pub(crate) fn faults(root: &Path, folder: &Path) -> Result<Vec<String>> {
    let site = Site { root, folder, pages: pages(folder)? };
    let mut faults = BTreeSet::new();
    for (page, html) in &site.pages {
        for link in attributes(html, "href").chain(attributes(html, "src")) {
            if let Some(why) = site.follow(page, &link)? {
                faults.insert(format!("{}: `{link}` {why}", source(page).display()));
            }
        }
    }
    Ok(faults.into_iter().collect())
}

impl Site<'_> {
    fn follow(&self, page: &Path, link: &str) -> Result<Option<String>> {
        if link.contains(':') || link.starts_with("//") {
            return Ok(None);
        }
        let (path, heading) = link.split_once('#').unwrap_or((link, ""));
        let target = match path {
            "" => Some(page.to_owned()),
            path => plain(&page.parent().unwrap_or(Path::new("")).join(path)),
        };
        let Some(target) = target else {
            return Ok(Some("leads out of the repository".to_owned()));
        };
        if let Some(html) = self.pages.get(&target) {
            let is_there = heading.is_empty() || attributes(html, "id").any(|id| id == heading);
            return Ok(
                (!is_there).then(|| format!("names no heading of {}", source(&target).display()))
            );
        }
        self.file(&target)
    }

    /// Why there is no such file; one of the repository is laid into the site.
    fn file(&self, target: &Path) -> Result<Option<String>> {
        let (made, original) = (self.folder.join(target), self.root.join(target));
        if made.is_file() {
            return Ok(None);
        }
        // mdBook makes index.html of README.md, and leaves links to it as they were.
        let index = target.with_file_name("index.html");
        if target.ends_with("README.html") && self.pages.contains_key(&index) {
            fs::copy(self.folder.join(index), made)?;
            return Ok(None);
        }
        if original.is_dir() {
            return Ok(Some("is a folder; name a file of it".to_owned()));
        }
        if !original.is_file() {
            return Ok(Some("leads nowhere".to_owned()));
        }
        fs::create_dir_all(made.parent().unwrap_or(self.folder))?;
        fs::copy(&original, &made)
            .with_context(|| format!("cannot copy {}", original.display()))?;
        Ok(None)
    }
}

fn pages(site: &Path) -> Result<BTreeMap<PathBuf, String>> {
    let pages = files(site, "html")?.into_iter();
    let pages = pages.filter(|page| !NOT_PAGES.iter().any(|name| page == Path::new(name)));
    pages.map(|page| Ok((page.clone(), fs::read_to_string(site.join(page))?))).collect()
}

/// The values of an attribute, in the order of the page. mdBook writes them all in one way.
fn attributes<'a>(html: &'a str, name: &str) -> impl Iterator<Item = String> + use<'a> {
    let begin = format!(" {name}=\"");
    let mut rest = html;
    std::iter::from_fn(move || {
        let value = &rest[rest.find(&begin)? + begin.len()..];
        let (value, behind) = value.split_once('"')?;
        rest = behind;
        Some(value.replace("&amp;", "&"))
    })
}

fn source(page: &Path) -> PathBuf {
    match page.file_name() {
        Some(name) if name == "index.html" => page.with_file_name("README.md"),
        _ => page.with_extension("md"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_to_nowhere_and_a_heading_that_is_not_there_are_faults() {
        let page = |html: &str| html.to_owned();
        let pages = BTreeMap::from([
            (PathBuf::from("docs/a.html"), page("<h2 id=\"here\">")),
            (PathBuf::from("index.html"), page("")),
        ]);
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let site = Site { root: here, folder: Path::new("/nowhere"), pages };
        let follow = |link: &str| site.follow(Path::new("docs/b.html"), link).unwrap();
        assert_eq!(follow("a.html#here"), None);
        assert_eq!(follow("https://example.org/x"), None);
        assert_eq!(follow("a.html#there").as_deref(), Some("names no heading of docs/a.md"));
        assert_eq!(follow("../c.html").as_deref(), Some("leads nowhere"));
        assert_eq!(follow("../src").as_deref(), Some("is a folder; name a file of it"));
        for out in ["../../etc/passwd", "/etc/passwd"] {
            assert_eq!(follow(out).as_deref(), Some("leads out of the repository"));
        }
        assert_eq!(follow("x/.././a.html#here"), None);
    }

    #[test]
    fn attributes_are_found_in_their_order() {
        let found: Vec<_> =
            attributes("<a href=\"x?a&amp;b\"></a><a id=\"no\" href=\"y\">", "href").collect();
        assert_eq!(found, ["x?a&b", "y"]);
    }
}
