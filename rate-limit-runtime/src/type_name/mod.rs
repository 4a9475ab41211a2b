//! Reads names of types and functions as [`std::any::type_name`] prints them.

use std::borrow::Cow;
use std::ops::Range;

/// How deep types nest in each other in a name that is read.
const MAX_DEPTH: u32 = 64;

/// Returns the name without its lifetimes, which compilers print differently: `Out<'_, T>` as `Out<T>`, `Out<'_>` as `Out`, and
/// `&'a str` as `&str`. A name that cannot be read is returned whole.
pub(crate) fn without_lifetimes(name: &str) -> Cow<'_, str> {
    // Most names have none.
    let cuts = match name.contains('\'') {
        true => Reader::read(name).map_or_else(Vec::new, |reader| reader.cuts),
        false => Vec::new(),
    };
    if cuts.is_empty() {
        return Cow::Borrowed(name);
    }
    let mut plain = String::with_capacity(name.len());
    let mut kept = 0;
    for cut in cuts {
        plain.push_str(&name[kept..cut.start]);
        kept = cut.end;
    }
    plain.push_str(&name[kept..]);
    Cow::Owned(plain)
}

/// Returns the last segment of a path. A name that is not a path is split at the last `::`.
pub(crate) fn last_segment(name: &str) -> &str {
    match Reader::read(name) {
        Some(reader) => &name[reader.last_segment..],
        None => name.rsplit("::").next().unwrap_or(name),
    }
}

/// A recursive descent through one name. `None` means that the text is not a name of a type.
struct Reader<'a> {
    text: &'a str,
    /// The byte that is read next.
    at: usize,
    depth: u32,
    /// What is left out with the lifetimes, in order.
    cuts: Vec<Range<usize>>,
    /// Where the last segment of the outermost path begins.
    last_segment: usize,
}

impl<'a> Reader<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let mut reader = Self {
            text,
            at: 0,
            depth: 0,
            cuts: Vec::new(),
            last_segment: 0,
        };
        reader.ty()?;
        (reader.at == text.len()).then_some(reader)
    }

    /// Reads a type, a constant argument, or the path of an item.
    fn ty(&mut self) -> Option<()> {
        if self.depth == MAX_DEPTH {
            return None;
        }
        self.depth += 1;
        self.ty_at_depth()?;
        self.depth -= 1;
        Some(())
    }

    fn ty_at_depth(&mut self) -> Option<()> {
        self.binder()?;
        if self.eat("&") {
            self.spaces();
            let start = self.at;
            if self.lifetime() {
                self.spaces();
                self.cuts.push(start..self.at);
            }
            self.keyword("mut");
            return self.ty();
        }
        if self.eat("*") {
            (self.keyword("const") || self.keyword("mut")).then_some(())?;
            return self.ty();
        }
        if self.eat("(") {
            return self.list(")");
        }
        if self.eat("[") {
            self.ty()?;
            if self.eat(";") {
                self.ty()?;
            }
            return self.expect("]");
        }
        if self.eat("!") || self.eat("...") {
            return Some(());
        }
        if self.keyword("dyn") || self.keyword("impl") {
            return self.bounds();
        }
        if self.starts_function() {
            return self.function();
        }
        if self.rest().starts_with(['\'', '"']) {
            self.at += quoted(self.rest())?;
            return Some(());
        }
        self.eat("-");
        self.path()
    }

    /// Reads `for<'a>`, which binds lifetimes only.
    fn binder(&mut self) -> Option<()> {
        self.spaces();
        let start = self.at;
        if self.keyword("for") {
            self.expect("<")?;
            let cuts = self.cuts.len();
            self.list(">")?;
            self.spaces();
            self.cuts.truncate(cuts);
            self.cuts.push(start..self.at);
        }
        Some(())
    }

    /// Reads the bounds after `dyn`: `A + B + 'a`.
    fn bounds(&mut self) -> Option<()> {
        let bound = |reader: &mut Self| {
            reader.binder()?;
            reader.eat("?");
            reader.path()
        };
        self.elements("+", bound)?.then_some(())
    }

    fn starts_function(&self) -> bool {
        ["fn", "unsafe", "extern"].iter().any(|word| self.starts(word))
    }

    /// Reads a function pointer: `unsafe extern "C" fn(u8, ...) -> u8`.
    fn function(&mut self) -> Option<()> {
        self.keyword("unsafe");
        if self.keyword("extern") {
            self.spaces();
            self.at += quoted(self.rest())?;
        }
        self.keyword("fn").then_some(())?;
        self.expect("(")?;
        self.parameters()
    }

    /// Reads the parameters of a function pointer, after their `(`.
    fn parameters(&mut self) -> Option<()> {
        self.list(")")?;
        if self.eat("->") {
            self.ty()?;
        }
        Some(())
    }

    /// Reads a path: `a::B<T>::c`, `<A as Tr>::c`, `a::<impl Tr for A>::c`, `a::b::{{closure}}`.
    fn path(&mut self) -> Option<()> {
        self.spaces();
        if self.eat("<") {
            self.impl_header("as")?;
        } else {
            self.segment()?;
        }
        while self.eat("::") {
            if self.depth == 1 {
                self.last_segment = self.at;
            }
            self.segment()?;
        }
        Some(())
    }

    fn segment(&mut self) -> Option<()> {
        if self.eat("<") {
            return match self.keyword("impl") {
                true => self.impl_header("for"),
                false => self.list(">"),
            };
        }
        self.word()?;
        if self.eat("<") {
            self.list(">")?;
        }
        match self.eat("(") {
            true => self.parameters(),
            false => Some(()),
        }
    }

    /// Reads a type, or two with the word `between` them, and the closing bracket.
    fn impl_header(&mut self, between: &str) -> Option<()> {
        self.ty()?;
        if self.keyword(between) {
            self.ty()?;
        }
        self.expect(">")
    }

    /// Reads a name, a number, or a placeholder of the compiler: `{{closure}}`, `{impl#0}`, `{i32::MIN}`.
    fn word(&mut self) -> Option<()> {
        let start = self.at;
        let mut open = 0_u32;
        while let Some(next) = self.rest().chars().next() {
            match next {
                '{' => open += 1,
                '}' => open = open.checked_sub(1)?,
                '\'' | '"' if open > 0 => {
                    self.at += quoted(self.rest())?;
                    continue;
                }
                _ if open == 0 && !is_in_word(next) => break,
                _ => {}
            }
            self.at += next.len_utf8();
        }
        (open == 0 && self.at > start).then_some(())
    }

    /// Reads the elements of a list and its closing bracket.
    fn list(&mut self, close: &str) -> Option<()> {
        let open = self.at - 1;
        let element = |reader: &mut Self| {
            reader.ty()?;
            match reader.eat("=") {
                true => reader.ty(),
                false => Some(()),
            }
        };
        let keeps = self.elements(",", element)?;
        self.expect(close)?;
        if !keeps {
            self.cuts.push(open..self.at);
        }
        Some(())
    }

    /// Reads elements with a separator between them, and leaves out the lifetimes. Returns whether there is anything else, or nothing at all.
    fn elements(&mut self, separator: &str, element: impl Fn(&mut Self) -> Option<()>) -> Option<bool> {
        // Where the first lifetime since the last element begins, and where that element ends.
        let (mut lifetimes, mut kept) = (None, None);
        loop {
            self.spaces();
            let start = self.at;
            if self.lifetime() {
                lifetimes.get_or_insert(start);
            } else if self.rest().starts_with([')', '>', ']']) {
                break;
            } else {
                self.cuts.extend(lifetimes.take().map(|from| from..start));
                element(self)?;
                kept = Some(self.at);
            }
            if !self.eat(separator) {
                break;
            }
        }
        if let (Some(_), Some(kept)) = (lifetimes, kept) {
            self.cuts.push(kept..self.at);
        }
        Some(lifetimes.is_none() || kept.is_some())
    }

    /// Reads a lifetime. Returns `false` if none is next.
    fn lifetime(&mut self) -> bool {
        let Some(name) = self.rest().strip_prefix('\'') else {
            return false;
        };
        let length = name.find(|c| !is_in_word(c)).unwrap_or(name.len());
        let is_lifetime = length > 0 && quoted(self.rest()).is_none();
        if is_lifetime {
            self.at += 1 + length;
        }
        is_lifetime
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn spaces(&mut self) {
        self.at = self.text.len() - self.rest().trim_start_matches(' ').len();
    }

    /// Reads this token. Returns `false` if another one is next.
    fn eat(&mut self, token: &str) -> bool {
        let rest = self.rest().trim_start_matches(' ');
        let found = rest.starts_with(token);
        if found {
            self.at = self.text.len() - rest.len() + token.len();
        }
        found
    }

    fn expect(&mut self, token: &str) -> Option<()> {
        self.eat(token).then_some(())
    }

    fn keyword(&mut self, word: &str) -> bool {
        self.starts(word) && self.eat(word)
    }

    fn starts(&self, word: &str) -> bool {
        let rest = self.rest().trim_start_matches(' ').strip_prefix(word);
        rest.is_some_and(|rest| !rest.starts_with(is_in_word))
    }
}

const fn is_in_word(c: char) -> bool {
    !c.is_ascii() || c.is_ascii_alphanumeric() || matches!(c, '_' | '#')
}

/// Returns the length of the character or text that begins here with its quote, as it is written in source. `None` if it is not one.
fn quoted(text: &str) -> Option<usize> {
    let mut chars = text.char_indices();
    let (_, quote) = chars.next()?;
    let mut read = 0;
    while let Some((at, next)) = chars.next() {
        if next == quote {
            return (quote == '"' || read == 1).then_some(at + 1);
        }
        read += 1;
        if next == '\\' && chars.next()?.1 == 'u' {
            chars.find(|(_, next)| *next == '}')?;
        }
        if quote == '\'' && read > 1 {
            return None;
        }
    }
    None
}

#[cfg(test)]
mod tests;
