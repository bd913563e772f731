//! A scanner of Rust source that is just good enough to count lines, find words and match braces.

/// Returns the source, line for line, with comments turned into spaces and literals into quotes.
pub(crate) fn blanked(text: &str) -> Vec<char> {
    let mut scanner = Scanner { source: text.chars().collect(), at: 0, code: Vec::with_capacity(text.len()) };
    while scanner.at < scanner.source.len() {
        scanner.step();
    }
    scanner.code
}

/// Returns the index after the item that starts at or after `from`, and whether it has a body in braces.
///
/// The item ends at its closing brace, or at the first semicolon outside parentheses and brackets.
pub(crate) fn item_end(code: &[char], from: usize) -> (usize, bool) {
    let mut nesting = 0_usize;
    for (index, character) in code.iter().enumerate().skip(from) {
        match character {
            '(' | '[' => nesting += 1,
            ')' | ']' => nesting = nesting.saturating_sub(1),
            ';' if nesting == 0 => return (index + 1, false),
            '{' if nesting == 0 => return (block_end(code, index), true),
            _ => {}
        }
    }
    (code.len(), false)
}

fn block_end(code: &[char], open: usize) -> usize {
    let mut depth = 0_usize;
    for (index, character) in code.iter().enumerate().skip(open) {
        match character {
            '{' => depth += 1,
            '}' if depth == 1 => return index + 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    code.len()
}

/// Returns the start of every place where `word` stands by itself, not as part of a longer identifier.
pub(crate) fn places(code: &[char], word: &str) -> Vec<usize> {
    let word: Vec<char> = word.chars().collect();
    let bounded = |index: usize| {
        let before = index.checked_sub(1).and_then(|before| code.get(before));
        let after = code.get(index + word.len());
        !before.is_some_and(|c| is_identifier(*c)) && !after.is_some_and(|c| is_identifier(*c))
    };
    code.windows(word.len())
        .enumerate()
        .filter(|(index, window)| *window == word.as_slice() && bounded(*index))
        .map(|(index, _)| index)
        .collect()
}

/// Returns the number of the line, from 1, that holds the character at `index`.
pub(crate) fn line_of(code: &[char], index: usize) -> usize {
    code.iter().take(index).filter(|character| **character == '\n').count() + 1
}

/// Returns how many lines of `code` hold anything but space.
pub(crate) fn code_lines(code: &[char]) -> usize {
    code.split(|character| *character == '\n').filter(|line| line.iter().any(|c| !c.is_whitespace())).count()
}

/// Returns the code with every item under `#[cfg(test)]` blanked as well.
pub(crate) fn without_tests(mut code: Vec<char>) -> Vec<char> {
    let attributes = ["#[cfg(test)]", "#[cfg(all(test"].map(|text| text.chars().collect::<Vec<_>>());
    let mut at = 0;
    while at < code.len() {
        let Some(attribute) = attributes.iter().find(|attribute| code[at..].starts_with(attribute)) else {
            at += 1;
            continue;
        };
        // The attribute's own brackets are skipped as nested; a further attribute is too.
        let (end, _) = item_end(&code, at + attribute.len().min(1));
        for character in &mut code[at..end] {
            if *character != '\n' {
                *character = ' ';
            }
        }
        at = end;
    }
    code
}

pub(crate) fn is_identifier(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

struct Scanner {
    source: Vec<char>,
    at: usize,
    code: Vec<char>,
}

impl Scanner {
    fn step(&mut self) {
        if self.is_at("//") {
            self.line_comment();
        } else if self.is_at("/*") {
            self.block_comment();
        } else if let Some(hashes) = self.raw_string_hashes() {
            self.raw_string(hashes);
        } else if self.is_at("\"") {
            self.quoted('"');
        } else if self.is_at("'") && self.is_character() {
            self.quoted('\'');
        } else {
            self.keep(1);
        }
    }

    fn is_at(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(offset, wanted)| self.peek(offset) == Some(wanted))
    }

    fn peek(&self, offset: usize) -> Option<char> {
        self.source.get(self.at + offset).copied()
    }

    fn keep(&mut self, count: usize) {
        let end = (self.at + count).min(self.source.len());
        self.code.extend_from_slice(&self.source[self.at..end]);
        self.at = end;
    }

    /// Replaces `count` characters, but never white space, so that lines stay lines.
    fn replace(&mut self, count: usize, replacement: char) {
        let end = (self.at + count).min(self.source.len());
        let replaced =
            self.source[self.at..end].iter().map(|c| if c.is_whitespace() { *c } else { replacement });
        self.code.extend(replaced);
        self.at = end;
    }

    fn line_comment(&mut self) {
        while self.peek(0).is_some_and(|character| character != '\n') {
            self.replace(1, ' ');
        }
    }

    fn block_comment(&mut self) {
        let mut depth = 0_usize;
        while self.at < self.source.len() {
            if self.is_at("/*") {
                depth += 1;
                self.replace(2, ' ');
            } else if self.is_at("*/") {
                depth -= 1;
                self.replace(2, ' ');
                if depth == 0 {
                    return;
                }
            } else {
                self.replace(1, ' ');
            }
        }
    }

    /// The number of hashes when a raw string starts here: after `r`, which may follow `b` or `c`.
    fn raw_string_hashes(&self) -> Option<usize> {
        let prefix = ["r", "br", "cr"]
            .into_iter()
            .find(|prefix| self.is_at(prefix) && matches!(self.peek(prefix.len()), Some('"' | '#')))?;
        if self.code.last().is_some_and(|before| is_identifier(*before)) {
            return None;
        }
        let mut offset = prefix.len();
        while self.peek(offset) == Some('#') {
            offset += 1;
        }
        (self.peek(offset) == Some('"')).then_some(offset - prefix.len())
    }

    fn raw_string(&mut self, hashes: usize) {
        while self.peek(0).is_some_and(|character| character != '"') {
            self.replace(1, '"');
        }
        self.replace(1, '"');
        let close: String = std::iter::once('"').chain(std::iter::repeat_n('#', hashes)).collect();
        while self.at < self.source.len() && !self.is_at(&close) {
            self.replace(1, '"');
        }
        self.replace(close.len(), '"');
    }

    /// A quote starts a character unless it starts a lifetime or a label.
    fn is_character(&self) -> bool {
        self.peek(1) == Some('\\') || self.peek(2) == Some('\'')
    }

    fn quoted(&mut self, close: char) {
        self.replace(1, '"');
        while let Some(character) = self.peek(0) {
            if character == '\\' {
                self.replace(2, '"');
                continue;
            }
            self.replace(1, '"');
            if character == close {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str, wanted: &str) {
        let found: String = blanked(source).into_iter().collect();
        assert_eq!(found, wanted, "{source}");
    }

    #[test]
    fn comments_become_spaces() {
        check("a // unsafe\nb", "a          \nb");
        check("a /* { /* } */ { */ b", "a                   b");
        check("/// `{`\nfn", "       \nfn");
    }

    #[test]
    fn literals_become_quotes() {
        check(r#"f("}")"#, r#"f(""")"#);
        check(r#"f("\"{", b"{")"#, r#"f(""""", b""")"#);
        check("r#\"{\"#;", "\"\"\"\"\"\";");
        check("br\"{\";", "\"\"\"\"\";");
        check("'{' '\\'' '\\u{7f}'", "\"\"\" \"\"\"\" \"\"\"\"\"\"\"\"");
    }

    #[test]
    fn lifetimes_and_raw_identifiers_stay() {
        check("fn f<'a>(x: &'a str, r#fn: u8) {}", "fn f<'a>(x: &'a str, r#fn: u8) {}");
        check("'outer: loop {}", "'outer: loop {}");
    }

    #[test]
    fn an_item_ends_at_its_brace_or_semicolon() {
        let end = |source: &str| {
            let (end, has_body) = item_end(&blanked(source), 0);
            (source[..end].to_owned(), has_body)
        };
        assert_eq!(end("fn f(x: [u8; 4]) { { } } rest"), ("fn f(x: [u8; 4]) { { } }".to_owned(), true));
        assert_eq!(end("fn f(x: [u8; 4]); rest"), ("fn f(x: [u8; 4]);".to_owned(), false));
    }

    #[test]
    fn test_items_are_blanked() {
        let source =
            "a\n#[cfg(test)]\nmod t {\n  b\n}\n#[cfg(test)]\nmod u;\n#[cfg(all(test, unix))]\nfn c() {}\nd";
        let found: String = without_tests(blanked(source)).into_iter().collect();
        assert_eq!(found.split_whitespace().collect::<Vec<_>>(), ["a", "d"]);
        assert_eq!(found.lines().count(), source.lines().count());
    }

    #[test]
    fn words_stand_alone() {
        let code = blanked("unsafe_code unsafe { } not_unsafe // unsafe");
        assert_eq!(places(&code, "unsafe"), [12]);
        assert_eq!(places(&code, "absent"), [] as [usize; 0]);
    }
}
