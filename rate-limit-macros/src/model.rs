//! What is meant: the arguments and the function together, checked.

mod policy;

use proc_macro2::Span;
use syn::spanned::Spanned as _;
use syn::{Error, Expr, Ident, LitStr, Path, Result};

use self::policy::policy;
pub(crate) use self::policy::{Numbers, OwnPolicy, Policy};
use crate::args::{Args, OnStoreError};
use crate::constants;
use crate::error::Errors;
use crate::future::{self, FutureBody};
use crate::ret::Ret;
use crate::slot::Slot;
use crate::target::Target;

/// How many rules a call takes.
const MAX_RULES: usize = 8;

/// What all attributes of a function say.
#[derive(Clone)]
pub(crate) struct Rules {
    /// At least one.
    pub(crate) rules: Vec<Rule>,
    pub(crate) success: Option<Expr>,
    pub(crate) deny_if: Option<Expr>,
    pub(crate) on_limit: Option<Expr>,
    pub(crate) permit: Option<Ident>,
    pub(crate) at: Option<Expr>,
    pub(crate) within: Option<Expr>,
    pub(crate) name: Option<LitStr>,
    pub(crate) limiter: Option<Expr>,
    pub(crate) krate: Option<Path>,
}

/// What one attribute says.
#[derive(Clone)]
pub(crate) struct Rule {
    pub(crate) policy: Policy,
    /// The parts of the key, or none for the ambient client.
    pub(crate) key: Vec<Expr>,
    pub(crate) cost: Option<Expr>,
    pub(crate) skip_if: Option<Expr>,
    pub(crate) observe: bool,
    pub(crate) on_store_error: Option<OnStoreError>,
    pub(crate) settle: Option<Settle>,
}

/// How a rule settles a call.
#[derive(Clone, Copy)]
pub(crate) struct Settle {
    /// Where it is asked for.
    pub(crate) span: Span,
    pub(crate) on: SettleOn,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum SettleOn {
    ResetOnSuccess,
    RefundOnSuccess,
    RefundOnError,
}

impl Rules {
    /// From the attributes of one function, the outermost first. `of` is the trait whose numbers hold where none are given.
    pub(crate) fn new(attributes: Vec<Args>, of: Option<&Path>) -> Result<Self> {
        let mut errors = Errors::default();
        let mut once = Once::default();
        let mut rules = Vec::new();
        for mut args in attributes {
            if rules.len() == MAX_RULES {
                errors.push(Error::new(
                    args.span,
                    "a function has at most 8 limits: leave out this one",
                ));
                break;
            }
            errors.take(once.take(&mut args));
            rules.extend(errors.take(Rule::new(args, of)));
        }
        // What is wrong with one attribute is not also told of all.
        if errors.is_empty() {
            once.check(&rules, &mut errors);
        }
        errors.finish(Self {
            rules,
            success: once.success.value(),
            deny_if: once.deny_if.value(),
            on_limit: once.on_limit.value(),
            permit: once.permit.value(),
            at: once.at.value(),
            within: once.within.value(),
            name: once.name.value(),
            limiter: once.limiter.value(),
            krate: once.krate.value(),
        })
    }

    pub(crate) fn settles(&self) -> bool {
        self.rules.iter().any(|rule| rule.settle.is_some())
    }

    /// Returns `true` if something is settled after a failure, so that it has to be held until that is done.
    pub(crate) fn settles_failures(&self) -> bool {
        let on_error = |rule: &Rule| rule.settle.is_some_and(|settle| settle.on == SettleOn::RefundOnError);
        self.rules.iter().any(on_error)
    }
}

/// What is said once, on any of the attributes.
struct Once {
    success: Slot<Expr>,
    deny_if: Slot<Expr>,
    on_limit: Slot<Expr>,
    permit: Slot<Ident>,
    at: Slot<Expr>,
    within: Slot<Expr>,
    name: Slot<LitStr>,
    limiter: Slot<Expr>,
    krate: Slot<Path>,
}

impl Default for Once {
    fn default() -> Self {
        Self {
            success: Slot::new("success"),
            deny_if: Slot::new("deny_if"),
            on_limit: Slot::new("on_limit"),
            permit: Slot::new("permit"),
            at: Slot::new("at"),
            within: Slot::new("within"),
            name: Slot::new("name"),
            limiter: Slot::new("limiter"),
            krate: Slot::new("crate"),
        }
    }
}

impl Once {
    fn take(&mut self, args: &mut Args) -> Result<()> {
        let mut errors = Errors::default();
        errors.take(self.success.merge(&mut args.success));
        errors.take(self.deny_if.merge(&mut args.deny_if));
        errors.take(self.on_limit.merge(&mut args.on_limit));
        errors.take(self.permit.merge(&mut args.permit));
        errors.take(self.at.merge(&mut args.at));
        errors.take(self.within.merge(&mut args.within));
        errors.take(self.name.merge(&mut args.name));
        errors.take(self.limiter.merge(&mut args.limiter));
        errors.take(self.krate.merge(&mut args.krate));
        errors.finish(())
    }

    fn check(&self, rules: &[Rule], errors: &mut Errors) {
        let settles = rules.iter().any(|rule| rule.settle.is_some());
        if let (Some(span), false) = (self.success.span(), settles) {
            errors.push(Error::new(
                span,
                "`success` has no effect by itself: add `reset_on_success`, or leave it out",
            ));
        }
        if let (Some(span), true) = (self.permit.span(), settles) {
            errors.push(Error::new(
                span,
                "a call that is settled gives no permit: leave out `permit`, or settle by hand with what it gives",
            ));
        }
        if let (Some(span), false) = (self.at.span(), rules.iter().all(Rule::may_be_bucket)) {
            errors.push(Error::new(
                span,
                "only a token bucket goes by the time of the event: add `algorithm = token_bucket`, or leave out `at`",
            ));
        }
        if let Some(span) = self.within.span() {
            errors.take(within(span, rules));
        }
    }
}

/// Rejects options that `within` cannot be combined with.
fn within(span: Span, rules: &[Rule]) -> Result<()> {
    let message = match rules {
        [_, _, ..] => "a limit with `within` stands alone on its function: leave out the others",
        [rule] if rule.settle.is_some() => {
            "a token that is taken in a transaction is given back by rolling it back: leave out `reset_on_success`, \
             `refund_on_success` and `refund_on_error`"
        }
        [rule] if !rule.may_be_bucket() => {
            "only a token bucket is taken in a transaction: add `algorithm = token_bucket, capacity = 3, refill = \"50s\"`, or \
             `policy = \"..\"`"
        }
        [
            Rule {
                policy: Policy::Own(own),
                ..
            },
        ] if own.block.is_some() => "a token bucket in SQL has no block: leave out `block`, or `within`",
        _ => return Ok(()),
    };
    Err(Error::new(span, message))
}

impl Rule {
    /// Returns `true` if it is a token bucket, or is known only when it is called.
    fn may_be_bucket(&self) -> bool {
        match &self.policy {
            Policy::Own(own) => matches!(own.numbers, Numbers::TokenBucket(..)),
            _ => true,
        }
    }

    fn new(args: Args, of: Option<&Path>) -> Result<Self> {
        let mut errors = Errors::default();
        let settle = errors.take(settle(&args)).flatten();
        let key = errors.take(key(&args, settle)).unwrap_or_default();
        let cost = args.cost.clone().value();
        let (skip_if, observe) = (args.skip_if.clone().value(), args.observe.span().is_some());
        let on_store_error = args.on_store_error.clone().value();
        let policy = match policy(args, of) {
            Ok(policy) => policy,
            Err(error) => return Err(errors.and(error)),
        };
        errors.finish(Self {
            policy,
            key,
            cost,
            skip_if,
            observe,
            on_store_error,
            settle,
        })
    }
}

fn settle(args: &Args) -> Result<Option<Settle>> {
    let asked = [
        (args.reset_on_success.span(), SettleOn::ResetOnSuccess),
        (args.refund_on_success.span(), SettleOn::RefundOnSuccess),
        (args.refund_on_error.span(), SettleOn::RefundOnError),
    ];
    let mut given = asked
        .into_iter()
        .filter_map(|(span, on)| span.map(|span| Settle { span, on }));
    let first = given.next();
    match given.next() {
        Some(second) => Err(Error::new(
            second.span,
            "a limit settles a call in one way: leave out all but one of `reset_on_success`, `refund_on_success` and \
             `refund_on_error`",
        )),
        None => Ok(first),
    }
}

fn key(args: &Args, settle: Option<Settle>) -> Result<Vec<Expr>> {
    let resets = settle.filter(|settle| settle.on == SettleOn::ResetOnSuccess);
    let Some(key) = args.key.clone().value() else {
        return match resets {
            Some(Settle { span, .. }) => Err(Error::new(
                span,
                "`reset_on_success` needs a key: write `key = ..` with the account that is tried, as in `key = form.user_id`",
            )),
            None => Ok(Vec::new()),
        };
    };
    let span = key.span();
    let parts = parts(key);
    if parts.is_empty() {
        return Err(Error::new(
            span,
            "`()` is not a key: for one counter that all callers share write a constant, as in `key = \"everybody\"`",
        ));
    }
    Ok(parts)
}

/// Returns the parts of a compound key, each taken by reference where it stands: a tuple would move them.
fn parts(key: Expr) -> Vec<Expr> {
    match key {
        Expr::Tuple(tuple) => tuple.elems.into_iter().flat_map(parts).collect(),
        Expr::Paren(paren) => parts(*paren.expr),
        Expr::Group(group) => parts(*group.expr),
        part => vec![part],
    }
}

/// One limited function.
pub(crate) struct Model {
    pub(crate) rules: Rules,
    pub(crate) target: Target,
    pub(crate) ret: Ret,
    /// The body of a function that returns a future and is not `async`.
    pub(crate) future: Option<FutureBody>,
}

impl Model {
    pub(crate) fn new(rules: Rules, target: Target) -> Result<Self> {
        target.check()?;
        constants::check(&rules.rules, &target.sig.inputs)?;
        let (ret, future) = match (target.sig.asyncness, future::output(&target.sig.output)) {
            (None, Some(output)) => {
                let future = FutureBody::new(&target.sig, &target.body)?;
                (Ret::of(&output), Some(future))
            }
            _ => (Ret::new(&target.sig.output), None),
        };
        if rules.on_limit.is_none() {
            holds_a_refusal(&ret, &target)?;
        }
        Ok(Self {
            rules,
            target,
            ret,
            future,
        })
    }

    /// Returns `true` if the body's own value and a refusal are two types, made one. With `on_limit` they are one already.
    pub(crate) fn is_beside_a_refusal(&self) -> bool {
        self.rules.on_limit.is_none() && matches!(self.ret, Ret::Response | Ret::Responder)
    }

    /// Returns `true` if something stands around the body, so that its check is within it.
    pub(crate) fn is_wrapped(&self) -> bool {
        self.rules.settles() || self.is_beside_a_refusal()
    }
}

/// Rejects return types that cannot hold a refusal, where the compiler's own error would not say what to write.
fn holds_a_refusal(ret: &Ret, target: &Target) -> Result<()> {
    let name = &target.sig.ident;
    match ret {
        Ret::Unit => Err(Error::new(
            name.span(),
            format_args!(
                "`{name}` returns nothing, so its callers cannot tell a refused call: return a `Result` whose error implements \
                 `From<rate_limit::Rejection>`, or write `on_limit = |_| ()`"
            ),
        )),
        Ret::Opaque(ty) => Err(Error::new_spanned(
            ty,
            "this `impl Trait` cannot hold a refusal: return a `Result` whose error implements \
             `From<rate_limit::Rejection>`, or write `on_limit = |rejection| value`",
        )),
        Ret::Response | Ret::Responder | Ret::Named(_) => Ok(()),
    }
}
