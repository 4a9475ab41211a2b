//! Reads the arguments one after the other, and tells what to write for what is none.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use syn::ext::IdentExt as _;
use syn::parse::discouraged::Speculative as _;
use syn::parse::{ParseBuffer, ParseStream};
use syn::spanned::Spanned as _;
use syn::token::{Brace, Paren};
use syn::{Error, Expr, ExprLit, Lit, LitInt, Result, Token, parenthesized};

use super::numbers::{in_words, length, number};
use super::written::source;
use super::{Args, NAMES, alias, bare};
use crate::constants::root;
use crate::error::Errors;
use crate::suggest;

pub(super) struct Reader<'a> {
    input: ParseStream<'a>,
    args: Args,
    errors: Errors,
    /// How many arguments stood without a name.
    positions: usize,
    /// Whether one of them was in the wrong place, so that those behind it are not looked at.
    misplaced: bool,
    /// The key as it was written, if it was the argument before.
    key: Option<String>,
}

/// What follows the first word of an argument.
enum Next {
    Equals,
    /// Another sign in the place of `=`, or parentheses.
    WrongSign(Span),
    /// The word stands alone.
    Nothing,
}

impl<'a> Reader<'a> {
    pub(super) fn new(input: ParseStream<'a>) -> Self {
        Self {
            input,
            args: Args::none(),
            errors: Errors::default(),
            positions: 0,
            misplaced: false,
            key: None,
        }
    }

    pub(super) fn read(mut self) -> Result<Args> {
        while !self.input.is_empty() {
            let start = self.input.fork();
            if let Err(error) = self.argument() {
                self.errors.push(in_words_at(&start, self.input).unwrap_or(error));
                skip_argument(self.input)?;
            }
            if self.input.is_empty() {
                break;
            }
            if !self.input.peek(Token![,]) {
                self.errors.push(no_comma(&start, self.input));
                break;
            }
            self.input.parse::<Token![,]>()?;
        }
        // Whatever is left was reported.
        self.input.parse::<TokenStream>()?;
        self.errors.finish(self.args)
    }

    fn argument(&mut self) -> Result<()> {
        let before = self.key.take();
        let Some((name, next)) = name(self.input) else {
            return self.positional(before);
        };
        let known = NAMES.contains(&name.to_string().as_str());
        if let (true, Next::Equals | Next::Nothing) = (known, &next) {
            self.input.call(Ident::parse_any)?;
            let value = self.input.fork();
            self.args.named(&name, self.input)?;
            if name == "key" {
                self.key = written_value(&value);
            }
            return Ok(());
        }
        self.input.call(Ident::parse_any)?;
        let value = self.unread_value(&next);
        Err(match (known, next) {
            (true, Next::WrongSign(span)) => wrong_sign(&name, value.as_ref(), span),
            (_, Next::Nothing) => self.word_alone(&name, before),
            _ => unknown(&name, value.as_ref()),
        })
    }

    /// Returns the value of an argument that is wrong, if it is an expression. It is passed over: a comma in it ends no argument.
    fn unread_value(&self, next: &Next) -> Option<Expr> {
        let ahead = self.input.fork();
        if matches!(next, Next::WrongSign(_)) && ahead.peek(Paren) {
            let inner = |input: ParseStream<'_>| -> Result<Expr> {
                let content;
                parenthesized!(content in input);
                content.parse()
            };
            return inner(&ahead).ok();
        }
        while ahead.peek(Token![:]) || ahead.peek(Token![=]) || ahead.peek(Token![>]) {
            ahead.parse::<TokenTree>().ok()?;
        }
        let value = ahead.parse().ok()?;
        self.input.advance_to(&ahead);
        Some(value)
    }

    /// Reads an argument without a name. `key` is the preceding argument, if that is the key.
    fn positional(&mut self, key: Option<String>) -> Result<()> {
        if self.input.peek(Brace) && self.input.fork().parse::<Expr>().is_err() {
            let braces: TokenTree = self.input.parse()?;
            let message =
                "arguments are written without braces, as in `count = 5, window = \"10m\", key = form.user_id`";
            return Err(Error::new(braces.span(), message));
        }
        let expr: Expr = self.input.parse()?;
        if self.misplaced {
            return Ok(());
        }
        let span = expr.span();
        if let Some(key) = key.filter(|_| root(&expr).is_some()) {
            self.misplaced = true;
            let part = source(&expr).unwrap_or_else(|| "form.user_id".to_owned());
            return Err(Error::new(span, compound_key(&key, &part)));
        }
        self.positions += 1;
        let text = match bare(expr.clone()) {
            Expr::Lit(ExprLit {
                lit: Lit::Str(text), ..
            }) => Some(text),
            _ => None,
        };
        match (self.positions, text) {
            (1, Some(window)) if self.args.count.span().is_some() && self.args.window.span().is_none() => {
                self.misplaced = true;
                let told = match length("window", expr) {
                    Ok(_) => Error::new(
                        span,
                        format_args!(
                            "the count has its name, so the window has one too: write `window = {}`",
                            window.token()
                        ),
                    ),
                    Err(error) => error,
                };
                Err(told)
            }
            (1, text) => {
                self.misplaced = text.is_some_and(|text| text.value().trim().parse::<u32>().is_err());
                self.args.count.fill(span, number("count", expr)?)
            }
            (2, _) => self.args.window.fill(span, length("window", expr)?),
            _ => {
                self.misplaced = true;
                let told = match self.args.key.span() {
                    None => {
                        let given = source(&expr).unwrap_or_else(|| "form.user_id".to_owned());
                        format!("only the count and the window go without a name: for the client write `key = {given}`")
                    }
                    Some(_) => {
                        "only the count and the window go without a name: write the name of this argument before it, as in \
                         `name = \"login\"`"
                            .to_owned()
                    }
                };
                Err(Error::new(span, told))
            }
        }
    }

    /// Reports a word that is not an option: a value without its name. `key` is the preceding argument, if that is the key.
    fn word_alone(&mut self, name: &Ident, key: Option<String>) -> Error {
        self.misplaced = true;
        let word = name.to_string();
        let told = alias::meant_alone(&word)
            .filter(|told| key.is_none() || !told.contains("`key = "))
            .or_else(|| nearest(name, None));
        let keyed = self.args.key.span().is_some() || has_key(self.input);
        let told = told.unwrap_or_else(|| match (key, self.positions, keyed) {
            (Some(key), ..) => compound_key(&key, &word),
            (None, 0, true) => format!("for a constant write `count = {word}`"),
            (None, 1, true) => format!("for a constant write `window = {word}`"),
            (None, 0, false) => {
                format!("write `key = {word}` if that is the client, or `count = {word}` if it is a constant")
            }
            (None, 1, false) => {
                format!("write `key = {word}` if that is the client, or `window = {word}` if it is a constant")
            }
            (None, _, false) => format!("if that is the client write `key = {word}`"),
            (None, _, true) => all_names(),
        });
        Error::new(name.span(), format_args!("unknown argument `{word}`: {told}"))
    }
}

/// Returns the first word of the next argument and what follows it, unless the argument goes by its position: a word by itself
/// that is written as constants are does.
fn name(input: ParseStream<'_>) -> Option<(Ident, Next)> {
    let ahead = input.fork();
    let name = ahead.call(Ident::parse_any).ok()?;
    let word = name.to_string();
    let known = NAMES.contains(&word.as_str());
    let comparison = ahead.peek(Token![==]) || ahead.peek(Token![=>]);
    let next = if ahead.peek(Token![=]) && !comparison {
        Next::Equals
    } else if (comparison && (known || alias::meant(&word, None).is_some()))
        || (ahead.peek(Token![:]) && !ahead.peek(Token![::]))
    {
        Next::WrongSign(ahead.span())
    } else if known && ahead.peek(Paren) && is_last(&ahead) {
        Next::WrongSign(name.span())
    } else if (ahead.is_empty() || ahead.peek(Token![,])) && word.contains(char::is_lowercase) {
        Next::Nothing
    } else {
        return None;
    };
    Some((name, next))
}

/// Returns `true` if the argument ends with the token that comes next.
fn is_last(input: ParseStream<'_>) -> bool {
    let ahead = input.fork();
    ahead.parse::<TokenTree>().is_ok() && (ahead.is_empty() || ahead.peek(Token![,]))
}

fn wrong_sign(name: &Ident, value: Option<&Expr>, span: Span) -> Error {
    let word = name.to_string();
    let example = Args::example(&word);
    let line = match value.and_then(source) {
        _ if example.is_empty() => {
            return Error::new(span, format_args!("`{word}` takes no value: write `{word}` alone"));
        }
        Some(value) => format!("{word} = {value}"),
        None => format!("{word} = {example}"),
    };
    Error::new(span, format_args!("an argument is written with `=`: write `{line}`"))
}

fn unknown(name: &Ident, value: Option<&Expr>) -> Error {
    let word = name.to_string();
    let told = alias::meant(&word, value)
        .or_else(|| nearest(name, value))
        .unwrap_or_else(all_names);
    Error::new(name.span(), format_args!("unknown argument `{word}`: {told}"))
}

fn nearest(name: &Ident, value: Option<&Expr>) -> Option<String> {
    let known = suggest::nearest(&name.to_string(), NAMES)?;
    Some(match value.and_then(source) {
        Some(value) if !Args::example(known).is_empty() => format!("did you mean `{known} = {value}`"),
        _ => format!("did you mean `{known}`"),
    })
}

fn all_names() -> String {
    format!("the arguments are {}", suggest::list(NAMES))
}

/// Returns `true` if a key comes later.
fn has_key(input: ParseStream<'_>) -> bool {
    let ahead = input.fork();
    while !ahead.is_empty() {
        if ahead.parse::<Ident>().is_ok_and(|word| word == "key") && ahead.peek(Token![=]) {
            return true;
        }
        _ = ahead.parse::<TokenTree>();
    }
    false
}

/// Returns what to write for a key and a part of it that was put beside it.
fn compound_key(key: &str, part: &str) -> String {
    let inner = key
        .strip_prefix('(')
        .and_then(|key| key.strip_suffix(')'))
        .unwrap_or(key);
    format!("a key of several parts is a tuple: write `key = ({inner}, {part})`")
}

/// Returns the value of an argument as it was written, from its `=` on.
fn written_value(input: &ParseBuffer<'_>) -> Option<String> {
    input.parse::<Token![=]>().ok()?;
    source(&up_to_comma(input))
}

fn up_to_comma(input: &ParseBuffer<'_>) -> TokenStream {
    let mut tokens = TokenStream::new();
    while !input.peek(Token![,]) {
        match input.parse::<TokenTree>() {
            Ok(token) => tokens.extend([token]),
            Err(_) => break,
        }
    }
    tokens
}

/// Returns the error for a missing comma after the argument that begins at `start`.
fn no_comma(start: &ParseBuffer<'_>, input: ParseStream<'_>) -> Error {
    if input.peek(Token![;]) {
        return input.error("arguments are separated by commas: write `,` in place of `;`");
    }
    if start.peek2(Token![=]) {
        _ = start.call(Ident::parse_any).and_then(|_| start.parse::<Token![=]>());
    }
    let number = start.peek(LitInt);
    let words = source(&up_to_comma(start)).filter(|_| number);
    words
        .and_then(|words| in_words(&words, input.span()))
        .unwrap_or_else(|| {
            let next = input.fork().parse::<TokenTree>().ok();
            match next.as_ref().and_then(source) {
                Some(next) => input.error(format_args!(
                    "arguments are separated by commas: write `,` before `{next}`"
                )),
                None => input.error("arguments are separated by commas: write `,` here"),
            }
        })
}

/// Returns what to write for an argument that begins with a number at `start` and goes on behind it, at `input`, with words.
fn in_words_at(start: &ParseBuffer<'_>, input: ParseStream<'_>) -> Option<Error> {
    let start = start.fork();
    if start.peek2(Token![=]) {
        start
            .call(Ident::parse_any)
            .and_then(|_| start.parse::<Token![=]>())
            .ok()?;
    }
    let span = start.span();
    if !start.peek(LitInt) || input.is_empty() || input.peek(Token![,]) {
        return None;
    }
    in_words(&source(&up_to_comma(&start))?, span)
}

/// Goes on behind the argument in which something was wrong.
fn skip_argument(input: ParseStream<'_>) -> Result<()> {
    while !input.is_empty() && !input.peek(Token![,]) {
        input.parse::<TokenTree>()?;
    }
    Ok(())
}
