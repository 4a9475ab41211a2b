//! The arguments as they are written.

use proc_macro2::Span;
use syn::ext::IdentExt as _;
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned as _;
use syn::{Error, Expr, ExprLit, ExprUnary, Ident, Lit, LitStr, Path, Result, Token, UnOp};

use crate::error::Errors;
use crate::slot::Slot;
use crate::{suggest, window};

/// The largest count that a policy takes.
const MAX_COUNT: u32 = 10_000_000;

/// Declares the arguments once: the place of each, its name, and an example of its value.
macro_rules! arguments {
    ($($field:ident: $value:ty = $name:literal, $example:literal, $parse:expr;)*) => {
        /// Every argument, in the order of the manual.
        const NAMES: &[&str] = &[$($name),*];

        /// The arguments of one attribute.
        #[derive(Clone)]
        pub(crate) struct Args {
            /// Where the attribute stands.
            pub(crate) span: Span,
            $(pub(crate) $field: Slot<$value>,)*
        }

        impl Args {
            fn none() -> Self {
                Self { span: Span::call_site(), $($field: Slot::new($name),)* }
            }

            fn named(&mut self, name: &Ident, input: ParseStream<'_>) -> Result<()> {
                match name.to_string().as_str() {
                    $($name => {
                        let parse: fn(&Ident, &str, ParseStream<'_>) -> Result<$value> = $parse;
                        self.$field.fill(name.span(), parse(name, $example, input)?)
                    })*
                    _ => Err(unknown(name, input)),
                }
            }
        }
    };
}

arguments! {
    count: Count = "count", "5", |name, example, input| number("count", value(name, example, input)?);
    window: Window = "window", "\"10m\"", |name, example, input| length("window", value(name, example, input)?);
    key: Expr = "key", "form.user_id", value;
    reset_on_success: () = "reset_on_success", "", flag;
    refund_on_success: () = "refund_on_success", "", flag;
    refund_on_error: () = "refund_on_error", "", flag;
    success: Expr = "success", "|out| out.accepted", value;
    algorithm: Algorithm = "algorithm", "token_bucket", value;
    capacity: Count = "capacity", "3", |name, example, input| number("capacity", value(name, example, input)?);
    refill: Window = "refill", "\"50s\"", |name, example, input| length("refill", value(name, example, input)?);
    policy: LitStr = "policy", "\"read-count\"", |name, example, input| value::<PolicyArg>(name, example, input).map(|policy| policy.0);
    cost: Expr = "cost", "form.items", value;
    block: Window = "block", "\"30m\"", |name, example, input| length("block", value(name, example, input)?);
    skip_if: Expr = "skip_if", "user.is_admin", value;
    deny_if: Expr = "deny_if", "agent.is_bot()", value;
    observe: () = "observe", "", flag;
    on_limit: Expr = "on_limit", "|rejection| value", value;
    on_store_error: OnStoreError = "on_store_error", "closed", value;
    permit: Ident = "permit", "permit", |name, example, input| value::<NameArg>(name, example, input).map(|name| name.0);
    at: Expr = "at", "event.time", value;
    within: Expr = "within", "tx", value;
    name: LitStr = "name", "\"login\"", |name, example, input| named_by(value(name, example, input)?);
    limiter: Expr = "limiter", "app.limiter", value;
    krate: Path = "crate", "crate::limits", |name, example, input| value::<PathArg>(name, example, input).map(|path| path.0);
}

#[derive(Clone)]
pub(crate) enum Count {
    Number(u32),
    Const(Expr),
}

#[derive(Clone)]
pub(crate) enum Window {
    Micros(u64),
    Const(Expr),
}

#[derive(Clone, Copy)]
pub(crate) enum Algorithm {
    SlidingWindow,
    TokenBucket,
    FixedWindow,
}

#[derive(Clone, Copy)]
pub(crate) enum OnStoreError {
    Open,
    Closed,
    Local,
}

impl Parse for Args {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut args = Self::none();
        let mut errors = Errors::default();
        let mut positions = 0;
        while !input.is_empty() {
            let parsed = match name(input)? {
                Some(name) => args.named(&name, input),
                None => {
                    positions += 1;
                    args.positional(positions, input)
                }
            };
            if let Err(error) = parsed {
                errors.push(error);
                skip_argument(input)?;
            }
            if input.is_empty() {
                break;
            }
            if !input.peek(Token![,]) {
                errors.push(input.error("a comma stands between arguments"));
                break;
            }
            input.parse::<Token![,]>()?;
        }
        // Whatever is left was reported.
        input.parse::<proc_macro2::TokenStream>()?;
        errors.finish(args)
    }
}

/// The name of the next argument, unless it stands by its position: it is a name if `=` follows, or if it is a
/// word by itself that is not written as constants are.
fn name(input: ParseStream<'_>) -> Result<Option<Ident>> {
    let ahead = input.fork();
    let Ok(name) = ahead.call(Ident::parse_any) else {
        return Ok(None);
    };
    let alone = ahead.is_empty() || ahead.peek(Token![,]);
    let constant = !name.to_string().contains(char::is_lowercase);
    if (ahead.peek(Token![=]) && !ahead.peek(Token![==])) || (alone && !constant) {
        return input.call(Ident::parse_any).map(Some);
    }
    Ok(None)
}

fn unknown(name: &Ident, input: ParseStream<'_>) -> Error {
    let word = name.to_string();
    let message = match suggest::nearest(&word, NAMES) {
        Some(known) => format!("there is no argument `{word}`: did you mean `{known}`"),
        None if input.peek(Token![=]) => format!("there is no argument `{word}`: write {}", suggest::list(NAMES)),
        None => format!(
            "there is no argument `{word}`: write {}, or `key = {word}` if that is whom to limit",
            suggest::list(NAMES)
        ),
    };
    Error::new(name.span(), message)
}

impl Args {
    pub(crate) fn at(self, span: Span) -> Self {
        Self { span, ..self }
    }

    fn positional(&mut self, position: usize, input: ParseStream<'_>) -> Result<()> {
        let expr: Expr = input.parse()?;
        let span = expr.span();
        match position {
            1 => self.count.fill(span, number("count", expr)?),
            2 => self.window.fill(span, length("window", expr)?),
            _ => Err(Error::new_spanned(
                &expr,
                "only the count and the window go without a name: write which argument this is, as in `key = ..`",
            )),
        }
    }
}

/// The value after `=`.
fn value<T: Parse>(name: &Ident, example: &str, input: ParseStream<'_>) -> Result<T> {
    let needs_one = |span| Error::new(span, format_args!("`{name}` needs a value, as in `{name} = {example}`"));
    if !input.peek(Token![=]) {
        return Err(needs_one(name.span()));
    }
    let equals: Token![=] = input.parse()?;
    if input.is_empty() || input.peek(Token![,]) {
        return Err(needs_one(equals.span));
    }
    input.parse()
}

fn flag(name: &Ident, _: &str, input: ParseStream<'_>) -> Result<()> {
    if input.peek(Token![=]) {
        return Err(Error::new(
            name.span(),
            format_args!("`{name}` takes no value: write it alone or leave it out"),
        ));
    }
    Ok(())
}

/// Goes on behind the argument in which something was wrong.
fn skip_argument(input: ParseStream<'_>) -> Result<()> {
    while !input.is_empty() && !input.peek(Token![,]) {
        input.parse::<proc_macro2::TokenTree>()?;
    }
    Ok(())
}

/// Without what stands round it: a literal that comes through `macro_rules!` is in a group.
fn bare(expr: Expr) -> Expr {
    match expr {
        Expr::Group(group) => bare(*group.expr),
        Expr::Paren(paren) => bare(*paren.expr),
        expr => expr,
    }
}

/// A number of calls, of the argument `name`.
fn number(name: &str, expr: Expr) -> Result<Count> {
    let expr = bare(expr);
    let no_number = || {
        Error::new_spanned(
            &expr,
            format_args!("`{name}` is a whole number from 1 to 10,000,000, or a constant expression of type `u32`"),
        )
    };
    match &expr {
        Expr::Lit(ExprLit { lit: Lit::Int(int), .. }) => match int.base10_parse::<u32>() {
            Ok(0) => Err(Error::new_spanned(
                &expr,
                format_args!("a {name} of 0 admits nobody: write 1 or more"),
            )),
            Ok(count) if count <= MAX_COUNT => Ok(Count::Number(count)),
            _ => Err(no_number()),
        },
        Expr::Lit(_) | Expr::Unary(ExprUnary { op: UnOp::Neg(_), .. }) => Err(no_number()),
        _ => Ok(Count::Const(expr)),
    }
}

/// A length of time, of the argument `name`.
fn length(name: &str, expr: Expr) -> Result<Window> {
    let expr = bare(expr);
    match &expr {
        Expr::Lit(ExprLit {
            lit: Lit::Str(text), ..
        }) => window::parse(name, text).map(Window::Micros),
        Expr::Lit(ExprLit { lit: Lit::Int(int), .. }) => Err(Error::new_spanned(
            &expr,
            format_args!("a {name} has a unit: write `\"{int}s\"`, `\"{int}m\"` or `\"{int}h\"`"),
        )),
        Expr::Lit(_) => Err(Error::new_spanned(
            &expr,
            format_args!("`{name}` is a text such as `\"10m\"`, or a constant expression of type `Duration`"),
        )),
        _ => Ok(Window::Const(expr)),
    }
}

fn named_by(name: LitStr) -> Result<LitStr> {
    if name.value().trim().is_empty() {
        return Err(Error::new(
            name.span(),
            "the name is empty: write one, or leave it out for the path of the function",
        ));
    }
    Ok(name)
}

/// One of a few words.
fn word<T: Copy>(argument: &str, words: &[(&str, T)], input: ParseStream<'_>) -> Result<T> {
    let names: Vec<&str> = words.iter().map(|(name, _)| *name).collect();
    let wrong = |span: Span| Error::new(span, format_args!("`{argument}` is {}", suggest::list(&names)));
    let given: Ident = input.parse().map_err(|error| wrong(error.span()))?;
    let found = words.iter().find(|(name, _)| given == name);
    found.map(|(_, value)| *value).ok_or_else(|| wrong(given.span()))
}

impl Parse for OnStoreError {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let words = [("open", Self::Open), ("closed", Self::Closed), ("local", Self::Local)];
        word("on_store_error", &words, input)
    }
}

impl Parse for Algorithm {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let words = [
            ("sliding_window", Self::SlidingWindow),
            ("token_bucket", Self::TokenBucket),
            ("fixed_window", Self::FixedWindow),
        ];
        word("algorithm", &words, input)
    }
}

struct PolicyArg(LitStr);

impl Parse for PolicyArg {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let name: Option<LitStr> = input.parse().ok();
        match name {
            Some(name) if !name.value().trim().is_empty() => Ok(Self(name)),
            Some(name) => Err(Error::new(
                name.span(),
                "the name of the policy is empty: write the one that it has in the configuration",
            )),
            None => Err(input.error("`policy` is a name in quotes, as in `policy = \"read-count\"`")),
        }
    }
}

struct PathArg(Path);

impl Parse for PathArg {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let path = input.call(Path::parse_mod_style);
        path.map(Self).map_err(|error| {
            Error::new(
                error.span(),
                "`crate` is a path without quotes, as in `crate = crate::limits`",
            )
        })
    }
}

struct NameArg(Ident);

impl Parse for NameArg {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let name = input.parse();
        name.map(Self).map_err(|error| {
            Error::new(
                error.span(),
                "`permit` is a name for the body to use, as in `permit = permit`",
            )
        })
    }
}
