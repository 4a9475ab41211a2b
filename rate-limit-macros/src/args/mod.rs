//! The arguments as they are written.

mod alias;
mod expressions;
mod numbers;
mod reader;
mod words;
mod written;

use proc_macro2::Span;
use syn::parse::{Parse, ParseStream};
use syn::{Error, Expr, Ident, LitStr, Path, Result, Token};

use self::expressions::{closure, over_arguments};
pub(crate) use self::numbers::{Count, Window};
use self::numbers::{length, number};
use self::reader::Reader;
pub(crate) use self::words::{Algorithm, OnStoreError};
use self::words::{NameArg, PathArg, text};
use crate::slot::Slot;

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
                    _ => unreachable!("the reader knows the names"),
                }
            }

            /// Returns an example of the value of the argument `name`, empty if it takes none.
            fn example(name: &str) -> &'static str {
                match name {
                    $($name => $example,)*
                    _ => "",
                }
            }
        }
    };
}

arguments! {
    count: Count = "count", "5", count;
    window: Window = "window", "\"10m\"", length_of_time;
    key: Expr = "key", "form.user_id", over_arguments;
    reset_on_success: () = "reset_on_success", "", flag;
    refund_on_success: () = "refund_on_success", "", flag;
    refund_on_error: () = "refund_on_error", "", flag;
    success: Expr = "success", "|out| out.accepted", closure;
    algorithm: Algorithm = "algorithm", "token_bucket", value;
    capacity: Count = "capacity", "3", count;
    refill: Window = "refill", "\"50s\"", length_of_time;
    policy: LitStr = "policy", "\"read-count\"", text;
    cost: Expr = "cost", "form.items", over_arguments;
    block: Window = "block", "\"30m\"", length_of_time;
    skip_if: Expr = "skip_if", "user.is_admin", over_arguments;
    deny_if: Expr = "deny_if", "agent.is_bot()", over_arguments;
    observe: () = "observe", "", flag;
    on_limit: Expr = "on_limit", "|rejection| value", closure;
    on_store_error: OnStoreError = "on_store_error", "closed", value;
    permit: Ident = "permit", "permit", |name, example, input| value::<NameArg>(name, example, input).map(|name| name.0);
    at: Expr = "at", "event.time", over_arguments;
    within: Expr = "within", "tx", over_arguments;
    name: LitStr = "name", "\"login\"", text;
    limiter: Expr = "limiter", "app.limiter", over_arguments;
    krate: Path = "crate", "crate::limits", |name, example, input| value::<PathArg>(name, example, input).map(|path| path.0);
}

impl Parse for Args {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        Reader::new(input).read()
    }
}

impl Args {
    pub(crate) fn at(self, span: Span) -> Self {
        Self { span, ..self }
    }
}

/// Returns the value after `=`.
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

fn count(name: &Ident, example: &str, input: ParseStream<'_>) -> Result<Count> {
    number(&name.to_string(), value(name, example, input)?)
}

fn length_of_time(name: &Ident, example: &str, input: ParseStream<'_>) -> Result<Window> {
    length(&name.to_string(), value(name, example, input)?)
}

fn flag(name: &Ident, _: &str, input: ParseStream<'_>) -> Result<()> {
    if !input.peek(Token![=]) {
        return Ok(());
    }
    input.parse::<Token![=]>()?;
    let off = input.parse::<syn::LitBool>().is_ok_and(|value| !value.value);
    let line = match off {
        true => format!("leave out `{name}` where it shall not hold"),
        false => format!("write `{name}` alone"),
    };
    Err(Error::new(name.span(), format_args!("`{name}` takes no value: {line}")))
}

/// Without what stands round it: a literal that comes through `macro_rules!` is in a group.
fn bare(expr: Expr) -> Expr {
    match expr {
        Expr::Group(group) => bare(*group.expr),
        Expr::Paren(paren) => bare(*paren.expr),
        expr => expr,
    }
}
