//! The arguments as they are written.

use proc_macro2::Span;
use syn::ext::IdentExt as _;
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned as _;
use syn::{Error, Expr, ExprLit, ExprUnary, Ident, Lit, LitStr, Path, Result, Token, UnOp};

use crate::error::Errors;
use crate::slot::Slot;
use crate::{suggest, window};

/// Every argument, in the order of the manual.
const NAMES: [&str; 10] = [
    "count",
    "window",
    "key",
    "reset_on_success",
    "success",
    "on_limit",
    "on_store_error",
    "name",
    "limiter",
    "crate",
];

/// The largest count that a policy takes.
const MAX_COUNT: u32 = 10_000_000;

/// The arguments of one attribute.
pub(crate) struct Args {
    pub(crate) count: Slot<Count>,
    pub(crate) window: Slot<Window>,
    pub(crate) key: Slot<Expr>,
    pub(crate) reset_on_success: Slot<()>,
    pub(crate) success: Slot<Expr>,
    pub(crate) on_limit: Slot<Expr>,
    pub(crate) on_store_error: Slot<OnStoreError>,
    pub(crate) name: Slot<LitStr>,
    pub(crate) limiter: Slot<Expr>,
    pub(crate) krate: Slot<Path>,
}

pub(crate) enum Count {
    Number(u32),
    Const(Expr),
}

pub(crate) enum Window {
    Micros(u64),
    Const(Expr),
}

#[derive(Clone, Copy)]
pub(crate) enum OnStoreError {
    Open,
    Closed,
    Local,
}

impl Parse for Args {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut args = Self {
            count: Slot::new("count"),
            window: Slot::new("window"),
            key: Slot::new("key"),
            reset_on_success: Slot::new("reset_on_success"),
            success: Slot::new("success"),
            on_limit: Slot::new("on_limit"),
            on_store_error: Slot::new("on_store_error"),
            name: Slot::new("name"),
            limiter: Slot::new("limiter"),
            krate: Slot::new("crate"),
        };
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

impl Args {
    fn named(&mut self, name: &Ident, input: ParseStream<'_>) -> Result<()> {
        let span = name.span();
        match name.to_string().as_str() {
            "count" => self.count.fill(span, count(value(name, "5", input)?)?),
            "window" => self.window.fill(span, window(value(name, "\"10m\"", input)?)?),
            "key" => self.key.fill(span, value(name, "form.user_id", input)?),
            "reset_on_success" => self.reset_on_success.fill(span, flag(name, input)?),
            "success" => self.success.fill(span, value(name, "|out| out.accepted", input)?),
            "on_limit" => self.on_limit.fill(span, value(name, "|rejection| value", input)?),
            "on_store_error" => self.on_store_error.fill(span, value(name, "closed", input)?),
            "name" => self.name.fill(span, named_by(value(name, "\"login\"", input)?)?),
            "limiter" => self.limiter.fill(span, value(name, "app.limiter", input)?),
            "crate" => {
                let path: PathArg = value(name, "crate::limits", input)?;
                self.krate.fill(span, path.0)
            }
            unknown => Err(Error::new(
                span,
                match suggest::nearest(unknown, &NAMES) {
                    Some(known) => format!("there is no argument `{unknown}`: did you mean `{known}`"),
                    None if input.peek(Token![=]) => {
                        format!("there is no argument `{unknown}`: write {}", suggest::list(&NAMES))
                    }
                    None => format!(
                        "there is no argument `{unknown}`: write {}, or `key = {unknown}` if that is whom to limit",
                        suggest::list(&NAMES)
                    ),
                },
            )),
        }
    }

    fn positional(&mut self, position: usize, input: ParseStream<'_>) -> Result<()> {
        let expr: Expr = input.parse()?;
        let span = expr.span();
        match position {
            1 => self.count.fill(span, count(expr)?),
            2 => self.window.fill(span, window(expr)?),
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

fn flag(name: &Ident, input: ParseStream<'_>) -> Result<()> {
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

fn count(expr: Expr) -> Result<Count> {
    let expr = bare(expr);
    let number = "`count` is a whole number from 1 to 10,000,000, or a constant expression of type `u32`";
    match &expr {
        Expr::Lit(ExprLit { lit: Lit::Int(int), .. }) => match int.base10_parse::<u32>() {
            Ok(0) => Err(Error::new_spanned(&expr, "a count of 0 admits nobody: write 1 or more")),
            Ok(count) if count <= MAX_COUNT => Ok(Count::Number(count)),
            _ => Err(Error::new_spanned(&expr, number)),
        },
        Expr::Lit(_) => Err(Error::new_spanned(&expr, number)),
        Expr::Unary(ExprUnary { op: UnOp::Neg(_), .. }) => Err(Error::new_spanned(&expr, number)),
        _ => Ok(Count::Const(expr)),
    }
}

fn window(expr: Expr) -> Result<Window> {
    let expr = bare(expr);
    match &expr {
        Expr::Lit(ExprLit {
            lit: Lit::Str(text), ..
        }) => window::parse(text).map(Window::Micros),
        Expr::Lit(ExprLit { lit: Lit::Int(int), .. }) => Err(Error::new_spanned(
            &expr,
            format_args!("a window has a unit: write `\"{int}s\"`, `\"{int}m\"` or `\"{int}h\"`"),
        )),
        Expr::Lit(_) => Err(Error::new_spanned(
            &expr,
            "`window` is a text such as `\"10m\"`, or a constant expression of type `Duration`",
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

impl Parse for OnStoreError {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        const MODES: [&str; 3] = ["open", "closed", "local"];
        let wrong = |span: Span| Error::new(span, format_args!("`on_store_error` is {}", suggest::list(&MODES)));
        let mode: Ident = input.parse().map_err(|error| wrong(error.span()))?;
        match mode.to_string().as_str() {
            "open" => Ok(Self::Open),
            "closed" => Ok(Self::Closed),
            "local" => Ok(Self::Local),
            _ => Err(wrong(mode.span())),
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
