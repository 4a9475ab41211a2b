//! What is the same for all callers though it looks as if it was not: a key in quotes, and a count from an argument.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::punctuated::Punctuated;
use syn::{Error, Expr, ExprLit, FnArg, Lit, Result, Token};

use crate::args::{Count, Window};
use crate::error::Errors;
use crate::model::{Numbers, Policy, Rule};
use crate::params;

/// The signs that other languages put round a name in a text: `{user}`, `#{user}`, `${user}`, `#user`, `:user`, `<user>`.
const OPENING: [char; 6] = ['#', '$', '{', ':', '<', '%'];
const CLOSING: [char; 2] = ['}', '>'];

/// Refuses keys in which a name of a parameter is in quotes, and numbers that are arguments.
pub(crate) fn check(rules: &[Rule], inputs: &Punctuated<FnArg, Token![,]>) -> Result<()> {
    let names = params::names(inputs);
    let mut errors = Errors::default();
    for rule in rules {
        for part in &rule.key {
            if let Some(name) = named_in_quotes(part, &rule.key, &names) {
                let line = if rule.key.len() == 1 {
                    format!("key = {name}")
                } else {
                    name
                };
                errors.push(Error::new_spanned(
                    part,
                    format_args!("this text is the same for all callers: write `{line}` without quotes"),
                ));
            }
        }
        for number in numbers(&rule.policy) {
            if let Some(name) = root(number).filter(|root| names.contains(root)) {
                errors.push(Error::new_spanned(
                    number,
                    format_args!(
                        "the numbers of a limit are known when the program is built, and `{name}` is an argument: write a number or a \
                         constant, or `policy = \"..\"` for numbers from configuration"
                    ),
                ));
            }
        }
    }
    errors.finish(())
}

/// Returns what to write without quotes, if `part` is a constant text that names a parameter. A text beside the value
/// that it names is a label, as in `("user", user)`.
fn named_in_quotes(part: &Expr, key: &[Expr], names: &[String]) -> Option<String> {
    let text = constant_text(part)?;
    let word = text.trim();
    let labels = |part: &Expr| constant_text(part).is_none() && mentions(part.to_token_stream(), word);
    if key.iter().any(labels) {
        return None;
    }
    let all = placeholders(&text).into_iter().chain([stripped(&text)]);
    let mut named: Vec<&str> = all
        .filter(|expr| names.iter().any(|name| begins_with(expr, name)))
        .collect();
    named.dedup();
    match named[..] {
        [] => None,
        [one] => Some(one.to_owned()),
        _ => Some(format!("({})", named.join(", "))),
    }
}

/// Returns the text of an expression that is the same in each call: a literal, or a conversion of one to an owned string.
fn constant_text(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Lit(ExprLit { lit, .. }) => match lit {
            Lit::Str(text) => Some(text.value()),
            Lit::ByteStr(bytes) => String::from_utf8(bytes.value()).ok(),
            _ => None,
        },
        Expr::Reference(reference) => constant_text(&reference.expr),
        Expr::Paren(paren) => constant_text(&paren.expr),
        Expr::Group(group) => constant_text(&group.expr),
        Expr::MethodCall(call) if call.args.is_empty() => constant_text(&call.receiver),
        Expr::Call(call) if call.args.len() == 1 => {
            let Expr::Path(function) = &*call.func else {
                return None;
            };
            let name = function.path.segments.last()?.ident.to_string();
            let converts = function.path.segments.len() > 1 && ["from", "new", "Borrowed"].contains(&name.as_str());
            call.args.first().filter(|_| converts).and_then(constant_text)
        }
        Expr::Macro(call) => {
            let name = call.mac.path.get_ident()?.to_string();
            match name.as_str() {
                "stringify" => Some(call.mac.tokens.to_string().replace(' ', "")),
                "concat" | "format" => {
                    let literal: Lit = syn::parse2(call.mac.tokens.clone()).ok()?;
                    let text = constant_text(&Expr::Lit(ExprLit {
                        attrs: Vec::new(),
                        lit: literal,
                    }))?;
                    // What `format!` finds in braces it puts in.
                    (name == "concat" || !text.contains('{')).then_some(text)
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// Returns a text without the signs round it.
fn stripped(text: &str) -> &str {
    text.trim().trim_start_matches(OPENING).trim_end_matches(CLOSING).trim()
}

/// Returns what stands in braces within a text, as in `login:{user}`.
fn placeholders(text: &str) -> Vec<&str> {
    let inner = text.split('{').skip(1).filter_map(|rest| rest.split_once('}'));
    inner
        .map(|(inner, _)| inner.trim_start_matches(OPENING).trim())
        .collect()
}

/// Returns `true` if it is an expression that begins with `name`: that alone, a field, a call or an index of it.
fn begins_with(expr: &str, name: &str) -> bool {
    let Some(rest) = expr.strip_prefix(name) else {
        return false;
    };
    (rest.is_empty() || rest.starts_with(['.', '[', '?'])) && syn::parse_str::<Expr>(expr).is_ok()
}

/// Returns `true` if `word` is among the tokens.
fn mentions(tokens: TokenStream, word: &str) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => ident == word,
        TokenTree::Group(group) => mentions(group.stream(), word),
        _ => false,
    })
}

fn numbers(policy: &Policy) -> impl Iterator<Item = &Expr> {
    let (count, window, block) = match policy {
        Policy::Own(own) => match &own.numbers {
            Numbers::SlidingWindow(count, window)
            | Numbers::FixedWindow(count, window)
            | Numbers::TokenBucket(count, window) => (Some(count), Some(window), own.block.as_ref()),
        },
        _ => (None, None, None),
    };
    let count = count.and_then(|count| match count {
        Count::Const(expr) => Some(expr),
        Count::Number(_) => None,
    });
    let lengths = [window, block].into_iter().flatten().filter_map(|length| match length {
        Window::Const(expr) => Some(expr),
        Window::Micros(_) => None,
    });
    count.into_iter().chain(lengths)
}

/// Returns the variable that an expression begins with. A name without a small letter may be a constant that a pattern mentions.
pub(crate) fn root(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Path(path) => {
            let name = path.path.get_ident()?.to_string();
            name.contains(char::is_lowercase).then_some(name)
        }
        Expr::Field(field) => root(&field.base),
        Expr::MethodCall(call) => root(&call.receiver),
        Expr::Cast(cast) => root(&cast.expr),
        Expr::Paren(paren) => root(&paren.expr),
        Expr::Group(group) => root(&group.expr),
        Expr::Reference(reference) => root(&reference.expr),
        Expr::Unary(unary) => root(&unary.expr),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the error for a key of a function with the parameters `form`, `user` and `ip`.
    fn told(key: &str) -> Option<String> {
        let key: Expr = syn::parse_str(key).expect(key);
        let parts = match key {
            Expr::Tuple(tuple) => tuple.elems.into_iter().collect(),
            part => vec![part],
        };
        let names = ["form", "user", "ip"].map(str::to_owned);
        parts.iter().find_map(|part| named_in_quotes(part, &parts, &names))
    }

    #[test]
    fn f_46_a_parameter_in_quotes_is_told() {
        let keys = [
            (r#""user""#, "user"),
            (r#"" user ""#, "user"),
            (r#""form.user""#, "form.user"),
            (r#""form.user()""#, "form.user()"),
            (r#""form.users[0]""#, "form.users[0]"),
            (r#""{user}""#, "user"),
            (r##""#user""##, "user"),
            (r##""#{#user}""##, "user"),
            (r#""${form.user}""#, "form.user"),
            (r#"":user""#, "user"),
            (r#""<user>""#, "user"),
            (r#""login:{user}""#, "user"),
            (r#""{ip}-{form.user}""#, "(ip, form.user)"),
            (r#"(ip, "user")"#, "user"),
            (r#"("form.user", form.ip)"#, "form.user"),
            (r#"b"user""#, "user"),
            (r#"&"user""#, "user"),
            (r#""user".to_string()"#, "user"),
            (r#""user".as_bytes().to_vec()"#, "user"),
            (r#"String::from("user")"#, "user"),
            (r#"std::borrow::Cow::Borrowed("user")"#, "user"),
            (r#"format!("user")"#, "user"),
            (r#"concat!("user")"#, "user"),
            ("stringify!(user)", "user"),
            ("stringify!(form.user)", "form.user"),
        ];
        for (key, expected) in keys {
            assert_eq!(told(key).as_deref(), Some(expected), "{key}");
        }
    }

    #[test]
    fn f_46_a_text_that_names_no_parameter_or_labels_one_is_a_key() {
        for key in [
            r#""everybody""#,
            r#""users""#,
            r#""user accounts""#,
            r#""user-search""#,
            r#""user:all""#,
            r#"("user", user)"#,
            r#"("user", &form.user, user.id)"#,
            r#"("form", form.user)"#,
            r#"(form.ip, "form")"#,
            r#"format!("{user}")"#,
            r#"format!("user {}", user)"#,
            r#"concat!("user", "s")"#,
            r#"lookup("user")"#,
            r#"form.get("user")"#,
            r#""users".len()"#,
            "user",
            "USER",
        ] {
            assert_eq!(told(key), None, "{key}");
        }
    }

    #[test]
    fn a_number_from_an_argument_is_found_by_its_root() {
        let root = |expr: &str| root(&syn::parse_str(expr).expect(expr));
        assert_eq!(root("limit").as_deref(), Some("limit"));
        assert_eq!(root("form.limit as u32").as_deref(), Some("form"));
        assert_eq!(root("limits.get().max").as_deref(), Some("limits"));
        assert_eq!(root("LIMIT"), None);
        assert_eq!(root("limits::LOGIN"), None);
        assert_eq!(root("limit()"), None);
    }
}
