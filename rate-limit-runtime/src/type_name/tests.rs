use super::*;
use crate::store::draws::draws;

/// What rustc 1.95 prints of closures in statics, each without the static and the closure, and the name without lifetimes, if that is
/// another.
const PRINTED: &[(&str, Option<&str>, &str)] = &[
    ("m::login", None, "login"),
    ("m::type::fn", None, "fn"),
    ("m::ünïcode", None, "ünïcode"),
    ("m::nested::inner", None, "inner"),
    ("m::nested::{{closure}}::inner", None, "inner"),
    ("m::nested::SG<_>::f", None, "f"),
    ("m::nested::_::<impl m::A>::f", None, "f"),
    ("m::wrapper::<impl m::Tr for m::I<77>>::s", None, "s"),
    ("m::asy::{{closure}}", None, "{{closure}}"),
    ("m::D::f", None, "f"),
    ("m::G<_>::h", None, "h"),
    ("m::G<m::G<m::K<'_>>>::f", Some("m::G<m::G<m::K>>::f"), "f"),
    ("m::G<&str>::f", None, "f"),
    ("m::J<5>::f", None, "f"),
    ("m::J<X>::f", None, "f"),
    ("m::K<'_>::f", Some("m::K::f"), "f"),
    ("m::L<'_, _>::f", Some("m::L<_>::f"), "f"),
    ("m::Two<'_, '_, u16>::f", Some("m::Two<u16>::f"), "f"),
    ("<m::A as m::Tr>::s", None, "s"),
    ("<m::K<'_> as m::Tr>::s", Some("<m::K as m::Tr>::s"), "s"),
    (
        "<m::G<u8> as m::TrG<m::K<'_>>>::q",
        Some("<m::G<u8> as m::TrG<m::K>>::q"),
        "q",
    ),
    ("<&mut m::A as m::Tr>::s", None, "s"),
    ("<(u8, m::A) as m::Tr>::s", None, "s"),
    ("<(u8,) as m::Tr>::s", None, "s"),
    ("<() as m::Tr>::s", None, "s"),
    ("<[u8] as m::Tr>::s", None, "s"),
    ("<[u8; 4] as m::Tr>::s", None, "s"),
    ("<[m::A; N] as m::Tr>::s", None, "s"),
    ("<*const u8 as m::Tr>::s", None, "s"),
    ("<*mut u8 as m::Tr>::s", None, "s"),
    ("<fn(u8) -> u8 as m::Tr>::s", None, "s"),
    (
        "<fn(&'_ u8) -> &'_ u8 as m::Tr>::s",
        Some("<fn(&u8) -> &u8 as m::Tr>::s"),
        "s",
    ),
    ("<extern \"system\" fn() as m::Tr>::s", None, "s"),
    ("<unsafe extern \"C\" fn(u8, ...) -> u8 as m::Tr>::s", None, "s"),
    ("<fn() -> ! as m::Tr>::s", None, "s"),
    ("<dyn core::fmt::Debug + core::marker::Send as m::Tr>::s", None, "s"),
    (
        "<alloc::boxed::Box<dyn core::fmt::Debug + core::marker::Send> as m::Tr>::s",
        None,
        "s",
    ),
    (
        "<alloc::boxed::Box<dyn core::iter::traits::iterator::Iterator<Item = &u8>> as m::Tr>::s",
        None,
        "s",
    ),
    (
        "<Box<dyn core::ops::function::Fn(m::K<'_>) -> &'_ u8 + core::marker::Send> as m::Tr>::s",
        Some("<Box<dyn core::ops::function::Fn(m::K) -> &u8 + core::marker::Send> as m::Tr>::s"),
        "s",
    ),
    ("a::<impl m::Tr for alloc::rc::Rc<_>>::s", None, "s"),
    (
        "a::<impl m::Tr for m::TT2<'_>>::s",
        Some("a::<impl m::Tr for m::TT2>::s"),
        "s",
    ),
    ("a::<impl dyn m::Ob + core::marker::Send>::f", None, "f"),
    ("a::<impl dyn m::ObL<'_>>::f", Some("a::<impl dyn m::ObL>::f"), "f"),
    ("<m::I<-1> as m::Tr>::s", None, "s"),
    ("<m::I<{i32::MIN}> as m::Tr>::s", None, "s"),
    ("<m::U8<u8::MAX> as m::Tr>::s", None, "s"),
    ("<m::B<true> as m::Tr>::s", None, "s"),
    ("m::C<'a'>::g", None, "g"),
    ("m::C<'b'>::g", None, "g"),
    (r"<m::C<'\''> as m::Tr>::s", None, "s"),
    (r"<m::C<'\\'> as m::Tr>::s", None, "s"),
    (r"<m::C<'\n'> as m::Tr>::s", None, "s"),
    (r"<m::C<'\u{301}'> as m::Tr>::s", None, "s"),
    ("<m::C<'\"'> as m::Tr>::s", None, "s"),
    ("<m::C<'>'> as m::Tr>::s", None, "s"),
    ("<m::C<'<'> as m::Tr>::s", None, "s"),
    ("<m::C<','> as m::Tr>::s", None, "s"),
    ("<m::C<':'> as m::Tr>::s", None, "s"),
    ("<m::C<' '> as m::Tr>::s", None, "s"),
    ("<m::C<'_'> as m::Tr>::s", None, "s"),
    ("<m::C<'é'> as m::Tr>::s", None, "s"),
    // Not printed by this compiler, or not on stable.
    ("m::C2<'_, '_'>::f", Some("m::C2<'_'>::f"), "f"),
    ("m::C2<'a, 'a', 'b'>::f", Some("m::C2<'a', 'b'>::f"), "f"),
    (
        "m::S<\"a::'b, \\\" c>\", 'a>::f",
        Some("m::S<\"a::'b, \\\" c>\">::f"),
        "f",
    ),
    ("m::G<T, 'a>::f", Some("m::G<T>::f"), "f"),
    (
        "m::G<{const: 'a' > '}'}, 'a>::f",
        Some("m::G<{const: 'a' > '}'}>::f"),
        "f",
    ),
    ("m::{impl#0}::f::{shim:vtable#0}", None, "{shim:vtable#0}"),
    ("<for<'a> fn(&'a u8) as m::Tr>::s", Some("<fn(&u8) as m::Tr>::s"), "s"),
    (
        "<Box<dyn m::Ob + 'a> as m::Tr>::s",
        Some("<Box<dyn m::Ob> as m::Tr>::s"),
        "s",
    ),
    (
        "<Box<dyn m::Ob + 'a + Send> as m::Tr>::s",
        Some("<Box<dyn m::Ob + Send> as m::Tr>::s"),
        "s",
    ),
    (
        "<&'a mut dyn for<'b> m::Ob<'b> as m::Tr>::s",
        Some("<&mut dyn m::Ob as m::Tr>::s"),
        "s",
    ),
    (
        "<&'a (dyn m::Ob + 'a) as m::Tr>::s",
        Some("<&(dyn m::Ob) as m::Tr>::s"),
        "s",
    ),
];

#[test]
fn f_47_a_printed_name_loses_its_lifetimes_alone() {
    for (printed, plain, last) in PRINTED {
        assert!(Reader::read(printed).is_some(), "{printed}");
        let plain = plain.unwrap_or(printed);
        assert_eq!(without_lifetimes(printed), plain);
        assert_eq!(without_lifetimes(plain), plain);
        assert_eq!(last_segment(printed), *last, "{printed}");
    }
}

#[test]
fn f_47_what_is_not_a_name_of_a_type_is_kept_whole() {
    let deep = format!("{}'a u8", "&".repeat(1_000));
    for text in [
        "",
        "a'",
        "it's <'a>",
        "m::C<'a",
        "m::C<''>",
        "m::<'a>>",
        "'a",
        "f(",
        "dyn 'a",
        "a::{b",
        "fn",
        "a b<'c>",
        &deep,
    ] {
        assert!(Reader::read(text).is_none(), "{text}");
        assert_eq!(without_lifetimes(text), text);
    }
}

#[test]
fn the_last_segment_of_a_name_that_was_given_is_behind_its_last_colons() {
    for (name, last) in [
        ("login", "login"),
        ("auth::login", "login"),
        ("auth service::log in", "log in"),
        ("payments: refund", "payments: refund"),
        ("auth::", ""),
        ("", ""),
        ("m::C<':'>::login", "login"),
        ("m::C<a::B>", "C<a::B>"),
    ] {
        assert_eq!(last_segment(name), last, "{name}");
    }
}

/// One name twice: with lifetimes, and without them.
#[derive(Default)]
struct Pair {
    with: String,
    without: String,
}

/// Writes random names of types.
struct Writer<D> {
    draw: D,
    pair: Pair,
}

impl<D: FnMut(u64) -> u64> Writer<D> {
    fn both(&mut self, text: &str) {
        self.pair.with.push_str(text);
        self.pair.without.push_str(text);
    }

    fn one_of<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts[(self.draw)(texts.len() as u64) as usize]
    }

    fn lifetime(&mut self) {
        let lifetime = self.one_of(&["'_", "'a", "'static", "'b_2"]);
        self.pair.with.push_str(lifetime);
    }

    fn ty(&mut self, depth: u64) {
        let kinds = if depth == 0 { 2 } else { 11 };
        match (self.draw)(kinds) {
            0 => self.path(0),
            1 => {
                let constant = self.one_of(&[
                    "'a'",
                    "'_'",
                    r"'\''",
                    "'>'",
                    "','",
                    "':'",
                    "' '",
                    r"'\u{1f600}'",
                    r"'\\'",
                    "\"'a, >\"",
                    "-5",
                    "7",
                    "true",
                    "{i32::MIN}",
                    "_",
                    "!",
                ]);
                self.both(constant);
            }
            2 => {
                self.both("&");
                if (self.draw)(2) == 0 {
                    self.lifetime();
                    self.pair.with.push(' ');
                }
                let word = self.one_of(&["", "mut "]);
                self.both(word);
                self.ty(depth - 1);
            }
            3 => {
                self.both("(");
                self.ty(depth - 1);
                self.both(", ");
                self.ty(depth - 1);
                self.both(")");
            }
            4 => {
                self.both("[");
                self.ty(depth - 1);
                self.both("; 4]");
            }
            5 => {
                if (self.draw)(2) == 0 {
                    self.pair.with.push_str("for<'a, 'b> ");
                }
                let qualified = self.one_of(&["fn(", "unsafe extern \"C\" fn("]);
                self.both(qualified);
                self.ty(depth - 1);
                self.both(") -> ");
                self.ty(depth - 1);
            }
            6 => {
                self.both("dyn ");
                self.path(depth - 1);
                for _ in 0..(self.draw)(3) {
                    if (self.draw)(2) == 0 {
                        self.pair.with.push_str(" + ");
                        self.lifetime();
                    } else {
                        self.both(" + m::Send");
                    }
                }
            }
            7 => {
                let word = self.one_of(&["*const ", "*mut "]);
                self.both(word);
                self.ty(depth - 1);
            }
            _ => self.path(depth),
        }
    }

    fn path(&mut self, depth: u64) {
        if depth > 0 && (self.draw)(3) == 0 {
            self.both("<");
            self.ty(depth - 1);
            self.both(" as ");
            self.path(depth - 1);
            self.both(">");
        } else {
            self.both("m");
        }
        for _ in 0..=(self.draw)(3) {
            let segment = self.one_of(&["::a", "::B", "::{{closure}}", "::{impl#0}"]);
            self.both(segment);
            if depth > 0 && (self.draw)(2) == 0 {
                self.arguments(depth);
            }
        }
    }

    fn arguments(&mut self, depth: u64) {
        let (lifetimes, types) = ((self.draw)(3), (self.draw)(3));
        if lifetimes + types == 0 {
            return;
        }
        self.pair.with.push('<');
        if types > 0 {
            self.pair.without.push('<');
        }
        for nth in 0..lifetimes {
            self.pair.with.push_str(if nth == 0 { "" } else { ", " });
            self.lifetime();
        }
        for nth in 0..types {
            self.pair.with.push_str(if lifetimes + nth == 0 { "" } else { ", " });
            self.pair.without.push_str(if nth == 0 { "" } else { ", " });
            self.ty(depth - 1);
        }
        self.pair.with.push('>');
        if types > 0 {
            self.pair.without.push('>');
        }
    }
}

#[test]
fn f_47_random_names_lose_their_lifetimes_alone() {
    for seed in 1..=20_000 {
        let mut writer = Writer {
            draw: draws(seed),
            pair: Pair::default(),
        };
        writer.path(4);
        let Pair { with, without } = writer.pair;
        assert_eq!(without_lifetimes(&with), without, "seed {seed}: {with}");
        assert_eq!(without_lifetimes(&without), without, "seed {seed}");
        let last = last_segment(&without);
        let named = format!("{with}::login");
        assert_eq!(last_segment(&named), "login", "seed {seed}: {named}");
        assert!(without.ends_with(last), "seed {seed}: {without}");
    }
}
