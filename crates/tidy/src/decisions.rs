//! Every page of docs/decisions is in its index, and the index links to nothing else.

use crate::{Finding, Repository};

const FOLDER: &str = "docs/decisions/";
const INDEX: &str = "docs/decisions/README.md";

pub(crate) fn check(repository: &Repository) -> Vec<Finding> {
    let Some(index) = repository.file(INDEX) else {
        return vec![Finding::in_file(INDEX, "missing: it is the index of the decisions")];
    };
    let linked: Vec<(usize, &str)> = index
        .text
        .lines()
        .enumerate()
        .flat_map(|(number, line)| links(line).into_iter().map(move |link| (number + 1, link)))
        .collect();
    let unlisted = pages(repository)
        .filter(|page| !linked.iter().any(|(_, link)| link == page))
        .map(|page| Finding::in_file(&format!("{FOLDER}{page}"), format!("not in the index, {INDEX}")));
    let dangling = linked
        .iter()
        .filter(|(_, link)| !pages(repository).any(|page| page == *link))
        .map(|(line, link)| Finding::at_line(INDEX, *line, format!("links to {link}, which does not exist")));
    unlisted.chain(dangling).collect()
}

fn pages(repository: &Repository) -> impl Iterator<Item = &str> {
    repository
        .files
        .iter()
        .filter_map(|file| file.path.strip_prefix(FOLDER))
        .filter(|page| page.ends_with(".md") && *page != "README.md")
}

/// Returns the targets of a line's links to pages beside the index.
fn links(line: &str) -> Vec<&str> {
    line.split("](")
        .skip(1)
        .filter_map(|rest| rest.split([')', '#']).next())
        .filter(|link| link.ends_with(".md") && !link.contains('/'))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::repository;

    #[test]
    fn pages_and_index_agree() {
        let index = "| [1](0001-a.md) | a |\n| [3](0003-c.md#why) | c |\n[design](../ARCHITECTURE.md)\n";
        let files = [(INDEX, index), ("docs/decisions/0001-a.md", ""), ("docs/decisions/0002-b.md", "")];
        let found: Vec<String> = check(&repository(&files)).iter().map(ToString::to_string).collect();
        let wanted = [
            "docs/decisions/0002-b.md: not in the index, docs/decisions/README.md",
            "docs/decisions/README.md:2: links to 0003-c.md, which does not exist",
        ];
        assert_eq!(found, wanted);
    }
}
