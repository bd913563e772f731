//! Texts with `{{ ... }}` in them, as the reference specification takes them from Jinja: names, calls of templates, whole
//! numbers and their arithmetic. Everything else that Jinja can do is refused by name.

use crate::Error;
use std::collections::BTreeMap;
use std::iter::Peekable;
use std::str::Chars;
use std::sync::Arc;

/// What a name stands for. Cloning shares it: one text may be looked up thousands of times in one expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Number(i64),
    Text(Arc<str>),
}

/// What names stand for.
pub(super) type Names = BTreeMap<Arc<str>, Value>;

/// Characters of a rendered text at most.
const TEXT_MAX: usize = 64 << 10;

/// Brackets within brackets at most.
const DEPTH_MAX: usize = 16;

/// What may still be rendered of one document, in bytes of templates and of what they become, and of the names that a generator
/// gives them for each key: some hundred MB take seconds, and a document of some KB could otherwise ask for days. What names
/// stand for costs nothing until it is rendered: it is shared, not copied.
pub(super) struct Work {
    bytes_left: usize,
}

/// Bytes of templates, of what they become, and of names of generators, of one document at most.
const WORK_BYTES_MAX: usize = 256 << 20;

impl Default for Work {
    fn default() -> Work {
        Work { bytes_left: WORK_BYTES_MAX }
    }
}

impl Work {
    /// The text with its expressions replaced by what they come to.
    ///
    /// # Errors
    ///
    /// `Unsupported` for what is no such expression, and for more than may be rendered; `Invalid` for names that are not known,
    /// numbers that overflow, and texts that become too long.
    pub(super) fn render(&mut self, text: &str, names: &Names, templates: &Names) -> Result<String, Error> {
        self.take(text.len())?;
        for (mark, what) in [("{%", "statements"), ("{#", "comments")] {
            if text.contains(mark) {
                return Err(Error::unsupported(format!("{what} (`{mark}`) in a template of references")));
            }
        }
        let mut rendered = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            let (inner, after) = after.split_once("}}").ok_or_else(|| {
                Error::invalid("wanted `}}` after `{{` in a template of references, found none")
            })?;
            rendered.push_str(before);
            let rest_of = inner.chars().peekable();
            let mut parser = Parser { rest: rest_of, text: inner, names, templates, depth: 0, work: self };
            match parser.whole()? {
                Value::Number(number) => rendered.push_str(&number.to_string()),
                Value::Text(text) => rendered.push_str(&text),
            }
            check_len(&rendered)?;
            rest = after;
        }
        rendered.push_str(rest);
        check_len(&rendered)?;
        self.take(rendered.len())?;
        Ok(rendered)
    }

    /// Counts so many bytes of work.
    ///
    /// # Errors
    ///
    /// `Unsupported` where it becomes more than may be done.
    pub(super) fn take(&mut self, bytes: usize) -> Result<(), Error> {
        // What renders to nothing costs something as well.
        match self.bytes_left.checked_sub(bytes.saturating_add(RENDER_BYTES)) {
            Some(left) => {
                self.bytes_left = left;
                Ok(())
            }
            None => Err(Error::unsupported(format!(
                "templates of references that come to more than {WORK_BYTES_MAX} bytes"
            ))),
        }
    }
}

/// What a rendering counts as besides its bytes.
const RENDER_BYTES: usize = 16;

fn check_len(text: &str) -> Result<(), Error> {
    match text.len() <= TEXT_MAX {
        true => Ok(()),
        false => {
            Err(Error::invalid(format!("a template of references that becomes longer than {TEXT_MAX} bytes")))
        }
    }
}

struct Parser<'a> {
    rest: Peekable<Chars<'a>>,
    text: &'a str,
    names: &'a Names,
    templates: &'a Names,
    depth: usize,
    work: &'a mut Work,
}

impl Parser<'_> {
    fn whole(&mut self) -> Result<Value, Error> {
        let value = self.sum()?;
        match self.peek() {
            None => Ok(value),
            Some(_) => Err(self.refused()),
        }
    }

    fn sum(&mut self) -> Result<Value, Error> {
        let mut value = self.product()?;
        while let Some(sign) = self.take_if(|next| matches!(next, '+' | '-')) {
            let other = self.product()?;
            value = match sign {
                '+' => self.with_numbers(value, other, i64::checked_add)?,
                _ => self.with_numbers(value, other, i64::checked_sub)?,
            };
        }
        Ok(value)
    }

    fn product(&mut self) -> Result<Value, Error> {
        let mut value = self.factor()?;
        while let Some(sign) = self.take_if(|next| matches!(next, '*' | '/' | '%')) {
            if sign == '/' && self.take_if(|next| next == '/').is_none() {
                return Err(self.refused());
            }
            let other = self.factor()?;
            value = match sign {
                '*' => self.with_numbers(value, other, i64::checked_mul)?,
                '/' => self.with_numbers(value, other, floor_div)?,
                _ => self.with_numbers(value, other, floor_rem)?,
            };
        }
        Ok(value)
    }

    fn factor(&mut self) -> Result<Value, Error> {
        match self.peek() {
            Some('(') => {
                self.depth += 1;
                if DEPTH_MAX < self.depth {
                    return Err(self.refused());
                }
                self.rest.next();
                let value = self.sum()?;
                self.depth -= 1;
                self.expect(')').map(|()| value)
            }
            Some('-') => {
                self.rest.next();
                self.depth += 1;
                if DEPTH_MAX < self.depth {
                    return Err(self.refused());
                }
                let value = self.factor()?;
                self.depth -= 1;
                self.with_numbers(Value::Number(0), value, i64::checked_sub)
            }
            Some('\'' | '"') => self.text_value().map(|text| Value::Text(text.into())),
            Some(digit) if digit.is_ascii_digit() => {
                let digits = self.take_while(|next| next.is_ascii_digit());
                digits.parse().map(Value::Number).map_err(|_| self.wrong("a number that 64 bits do not hold"))
            }
            Some(letter) if is_name(letter) => self.named(),
            _ => Err(self.refused()),
        }
    }

    /// A name, or a template that is called with names for what it holds.
    fn named(&mut self) -> Result<Value, Error> {
        let name = self.take_while(is_name);
        if self.peek() != Some('(') {
            let value = self.names.get(&*name).or_else(|| self.templates.get(&*name));
            return value
                .cloned()
                .ok_or_else(|| self.wrong(&format!("the name `{name}`, which nothing has")));
        }
        self.rest.next();
        let mut arguments = Names::new();
        while self.peek() != Some(')') {
            let argument = self.take_while(is_name);
            self.expect('=')?;
            self.depth += 1;
            if argument.is_empty() || DEPTH_MAX < self.depth {
                return Err(self.refused());
            }
            let value = self.sum()?;
            self.depth -= 1;
            arguments.insert(argument.into(), value);
            if self.take_if(|next| next == ',').is_none() {
                break;
            }
        }
        self.expect(')')?;
        match self.templates.get(&*name) {
            // A template sees what it is called with, and no other template: calls end.
            Some(Value::Text(template)) => {
                let rendered = self.work.render(template, &arguments, &Names::new())?;
                Ok(Value::Text(rendered.into()))
            }
            _ => Err(self.wrong(&format!("a call of `{name}`, which is no template"))),
        }
    }

    fn text_value(&mut self) -> Result<String, Error> {
        let Some(quote) = self.rest.next() else { return Err(self.refused()) };
        let mut text = String::new();
        for next in self.rest.by_ref() {
            match next {
                '\\' => return Err(self.refused()),
                next if next == quote => return Ok(text),
                next => text.push(next),
            }
        }
        Err(self.refused())
    }

    fn with_numbers(
        &self,
        value: Value,
        other: Value,
        calculate: impl Fn(i64, i64) -> Option<i64>,
    ) -> Result<Value, Error> {
        let (Value::Number(value), Value::Number(other)) = (value, other) else { return Err(self.refused()) };
        let number = calculate(value, other);
        number.map(Value::Number).ok_or_else(|| self.wrong("a number that 64 bits do not hold"))
    }

    fn peek(&mut self) -> Option<char> {
        while self.rest.next_if(|next| next.is_whitespace()).is_some() {}
        self.rest.peek().copied()
    }

    fn take_if(&mut self, wanted: impl Fn(char) -> bool) -> Option<char> {
        self.peek();
        self.rest.next_if(|next| wanted(*next))
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> String {
        self.peek();
        let mut taken = String::new();
        while let Some(next) = self.rest.next_if(|next| wanted(*next)) {
            taken.push(next);
        }
        taken
    }

    fn expect(&mut self, wanted: char) -> Result<(), Error> {
        match self.take_if(|next| next == wanted) {
            Some(_) => Ok(()),
            None => Err(self.refused()),
        }
    }

    fn refused(&self) -> Error {
        let text = crate::metadata::json::cut(self.text);
        Error::unsupported(format!(
            "the expression `{text}` in a template of references: names, whole numbers, + - * // % and calls of templates are known"
        ))
    }

    fn wrong(&self, what: &str) -> Error {
        let text = crate::metadata::json::cut(self.text);
        Error::invalid(format!("{what}, in the expression `{text}` of a template of references"))
    }
}

fn is_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

/// Python's `//`.
fn floor_div(value: i64, other: i64) -> Option<i64> {
    let quotient = value.checked_div(other)?;
    let is_exact = value.checked_rem(other)? == 0;
    Some(if is_exact || (value < 0) == (other < 0) { quotient } else { quotient - 1 })
}

/// Python's `%`, which has the sign of its right side.
fn floor_rem(value: i64, other: i64) -> Option<i64> {
    let remainder = value.checked_rem(other)?;
    Some(if remainder == 0 || (remainder < 0) == (other < 0) { remainder } else { remainder + other })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    fn rendered(text: &str) -> Result<String, ErrorKind> {
        let text_of = |text: &str| Value::Text(text.into());
        let names = Names::from([("i".into(), Value::Number(4)), ("name".into(), text_of("t2m"))]);
        let templates = Names::from([
            ("u".into(), text_of("server.domain/path")),
            ("f".into(), text_of("{{c}}/x{{ i + 1 }}")),
            ("g".into(), text_of("{{u}}")),
        ]);
        Work::default().render(text, &names, &templates).map_err(|error| error.kind())
    }

    #[test]
    fn what_is_rendered_is_bounded() {
        let mut work = Work { bytes_left: 100 };
        let names = Names::new();
        assert!(work.render("{{ 1 }}", &names, &names).is_ok());
        assert!(work.render("{{ 1 }}", &names, &names).is_ok());
        let error = work.render("{{ 1 }}", &names, &names).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
    }

    /// Thousands of arguments may stand for one text.
    #[test]
    fn what_names_stand_for_is_not_copied() {
        let text: Arc<str> = "x".repeat(1000).into();
        let templates = Names::from([("u".into(), Value::Text(Arc::clone(&text)))]);
        let mut work = Work::default();
        let names = Names::new();
        let rest = "u".chars().peekable();
        let mut parser =
            Parser { rest, text: "u", names: &names, templates: &templates, depth: 0, work: &mut work };
        let Value::Text(found) = parser.whole().unwrap() else { panic!("a number") };
        assert!(Arc::ptr_eq(&found, &text));
    }

    #[test]
    fn what_the_specification_shows_is_rendered() {
        let cases = [
            ("", ""),
            ("plain {text}", "plain {text}"),
            ("http://{{u}}_{{i}}", "http://server.domain/path_4"),
            ("{{(i + 1) * 1000}}", "5000"),
            ("{{ i - 5 }} {{-i // 3}} {{-i % 3}} {{ 7 // 2 * 2 }} {{ 2 - 1 - 1 }}", "-1 -2 2 6 0"),
            ("{{f(c='text', i=i)}}", "text/x5"),
            ("{{ f ( c = \"a b\" , i = (2) ) }}!", "a b/x3!"),
            ("{{name}}/{{'}'}}", "t2m/}"),
        ];
        for (text, wanted) in cases {
            assert_eq!(rendered(text).as_deref(), Ok(wanted), "{text}");
        }
    }

    #[test]
    fn the_rest_is_refused() {
        let refused = [
            "{% for i in x %}",
            "{# a #}",
            "{{ '%02d' % i }}",
            "{{ i | upper }}",
            "{{ i / 2 }}",
            "{{ u + 'a' }}",
            "{{}}",
            "{{ u.upper() }}",
            "{{ [1] }}",
            "{{ 1 2 }}",
            "{{ f('a') }}",
            "{{ '\\n' }}",
            "{{ 'a }}",
            "{{ 1.5 }}",
        ];
        for text in refused {
            assert_eq!(rendered(text), Err(ErrorKind::Unsupported), "{text}");
        }
        let deep = format!("{{{{ {}1{} }}}}", "(".repeat(10_000), ")".repeat(10_000));
        assert_eq!(rendered(&deep), Err(ErrorKind::Unsupported));
        assert_eq!(rendered(&format!("{{{{ {}1 }}}}", "-".repeat(10_000))), Err(ErrorKind::Unsupported));
        let invalid = [
            "{{i",
            "{{unknown}}",
            "{{ 9223372036854775807 + 1 }}",
            "{{ 99999999999999999999 }}",
            "{{ i // 0 }}",
            "{{ i % 0 }}",
            "{{ i(a=1) }}",
            "{{ g() }}",
            "{{ -(0 - 9223372036854775807 - 1) }}",
        ];
        for text in invalid {
            assert_eq!(rendered(text), Err(ErrorKind::Invalid), "{text}");
        }
        assert_eq!(rendered(&"{{u}}".repeat(10_000)), Err(ErrorKind::Invalid));
    }
}
