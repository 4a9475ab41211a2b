//! What is meant: the arguments and the function together, checked.

use proc_macro2::Span;
use syn::spanned::Spanned as _;
use syn::{Error, Expr, LitStr, Path, Result};

use crate::args::{Args, Count, OnStoreError, Window};
use crate::error::Errors;
use crate::ret::Ret;
use crate::target::Target;

/// The count and the window of a policy that names neither.
const DEFAULT_COUNT: u32 = 5;
const DEFAULT_WINDOW: u64 = 60_000_000;

/// One limited function.
pub(crate) struct Model {
    pub(crate) target: Target,
    pub(crate) ret: Ret,
    pub(crate) count: Count,
    pub(crate) window: Window,
    /// The parts of the key, at least one.
    pub(crate) key: Vec<Expr>,
    pub(crate) settlement: Option<Settlement>,
    pub(crate) on_limit: Option<Expr>,
    pub(crate) on_store_error: Option<OnStoreError>,
    pub(crate) name: Option<LitStr>,
    pub(crate) limiter: Option<Expr>,
    pub(crate) krate: Option<Path>,
}

/// What is done after a success.
pub(crate) struct Settlement {
    /// Where it is asked for.
    pub(crate) span: Span,
    pub(crate) success: Option<Expr>,
}

impl Model {
    pub(crate) fn new(args: Args, target: Target) -> Result<Self> {
        let mut errors = Errors::default();
        let key = errors.take(key(args.key.value())).unwrap_or_default();
        let settlement = match (args.reset_on_success.given(), args.success.given()) {
            (Some(reset), success) => Some(Settlement {
                span: reset.span,
                success: success.map(|success| success.value),
            }),
            (None, Some(success)) => {
                errors.push(Error::new(
                    success.span,
                    "`success` has no effect by itself: add `reset_on_success`, or leave it out",
                ));
                None
            }
            (None, None) => None,
        };
        let ret = Ret::new(&target.sig.output);
        let on_limit = args.on_limit.value();
        if on_limit.is_none() {
            errors.take(holds_a_refusal(&ret, &target));
        }
        errors.finish(Self {
            target,
            ret,
            count: args.count.value().unwrap_or(Count::Number(DEFAULT_COUNT)),
            window: args.window.value().unwrap_or(Window::Micros(DEFAULT_WINDOW)),
            key,
            settlement,
            on_limit,
            on_store_error: args.on_store_error.value(),
            name: args.name.value(),
            limiter: args.limiter.value(),
            krate: args.krate.value(),
        })
    }
}

fn key(key: Option<Expr>) -> Result<Vec<Expr>> {
    let Some(key) = key else {
        return Err(Error::new(
            Span::call_site(),
            "whom to limit is missing: write `key = ..` with what tells callers apart, as in `key = form.user_id`",
        ));
    };
    let span = key.span();
    let parts = parts(key);
    if parts.is_empty() {
        return Err(Error::new(
            span,
            "`()` names nobody: for one counter that all callers share, say so with a constant, as in `key = \"everybody\"`",
        ));
    }
    Ok(parts)
}

/// The parts of a compound key, each taken by reference where it stands: a tuple would move them.
fn parts(key: Expr) -> Vec<Expr> {
    match key {
        Expr::Tuple(tuple) => tuple.elems.into_iter().flat_map(parts).collect(),
        Expr::Paren(paren) => parts(*paren.expr),
        Expr::Group(group) => parts(*group.expr),
        part => vec![part],
    }
}

/// What the compiler could not say in our words.
fn holds_a_refusal(ret: &Ret, target: &Target) -> Result<()> {
    let name = &target.sig.ident;
    match ret {
        Ret::Unit => Err(Error::new(
            name.span(),
            format_args!(
                "`{name}` returns nothing, so a call over the limit has nothing to say so with: return a `Result` whose \
                 error implements `From<rate_limit::Rejection>`, or add `on_limit = |_| ()`"
            ),
        )),
        Ret::Opaque(ty) => Err(Error::new_spanned(
            ty,
            "this `impl Trait` cannot hold a refusal: return a `Result` whose error implements \
             `From<rate_limit::Rejection>`, or say what to return instead: `on_limit = |rejection| value`",
        )),
        Ret::Response | Ret::Named(_) => Ok(()),
    }
}
