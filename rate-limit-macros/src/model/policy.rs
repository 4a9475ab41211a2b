//! The numbers that an attribute gives, and whether they go together.

use proc_macro2::Span;
use syn::{Error, LitStr, Path, Result};

use crate::args::{Algorithm, Args, Count, Window};
use crate::window;

/// The count and the window of a policy that names neither.
const DEFAULT_COUNT: u32 = 5;
const DEFAULT_WINDOW: u64 = 60_000_000;

#[derive(Clone)]
pub(crate) enum Policy {
    Own(Box<OwnPolicy>),
    /// That of the limiter by this name.
    Named(LitStr),
    /// That of the trait.
    OfTrait(Path),
}

#[derive(Clone)]
pub(crate) struct OwnPolicy {
    pub(crate) numbers: Numbers,
    pub(crate) block: Option<Window>,
}

#[derive(Clone)]
pub(crate) enum Numbers {
    SlidingWindow(Count, Window),
    FixedWindow(Count, Window),
    TokenBucket(Count, Window),
}

/// From the arguments of one attribute. `of` is the trait whose numbers hold where none are given.
pub(super) fn policy(args: Args, of: Option<&Path>) -> Result<Policy> {
    let numbers = [
        ("count", args.count.span()),
        ("window", args.window.span()),
        ("algorithm", args.algorithm.span()),
        ("capacity", args.capacity.span()),
        ("refill", args.refill.span()),
        ("block", args.block.span()),
    ];
    let given = numbers.iter().find_map(|(name, span)| Some((name, (*span)?)));
    match (args.policy.value(), given, of) {
        (Some(_), Some((name, span)), _) => {
            return Err(Error::new(
                span,
                format_args!(
                    "the numbers of a named policy come from the configuration: leave out `{name}`, or leave out `policy`"
                ),
            ));
        }
        (Some(name), None, _) => return Ok(Policy::Named(name)),
        (None, None, Some(of)) => return Ok(Policy::OfTrait(of.clone())),
        _ => {}
    }
    let (algorithm_span, capacity_span) = (args.algorithm.span(), args.capacity.span());
    let algorithm = args.algorithm.value().unwrap_or(Algorithm::SlidingWindow);
    let numbers = match algorithm {
        Algorithm::TokenBucket => {
            if let Some(span) = args.count.span().or(args.window.span()) {
                return Err(Error::new(
                    span,
                    "a token bucket has no count and no window: write `capacity = 3, refill = \"50s\"`",
                ));
            }
            match (args.capacity.value(), args.refill.value()) {
                (Some(capacity), Some(refill)) => {
                    fills_in_time(&capacity, &refill, capacity_span)?;
                    Numbers::TokenBucket(capacity, refill)
                }
                _ => {
                    return Err(Error::new(
                        algorithm_span.unwrap_or_else(Span::call_site),
                        "a token bucket needs both its numbers: write `capacity = 3, refill = \"50s\"`",
                    ));
                }
            }
        }
        windows => {
            if let Some(span) = args.capacity.span().or(args.refill.span()) {
                return Err(Error::new(
                    span,
                    "only a token bucket has a capacity and a refill: add `algorithm = token_bucket`, or write `count` and \
                     `window`",
                ));
            }
            let count = args.count.value().unwrap_or(Count::Number(DEFAULT_COUNT));
            let window = args.window.value().unwrap_or(Window::Micros(DEFAULT_WINDOW));
            match windows {
                Algorithm::FixedWindow => Numbers::FixedWindow(count, window),
                _ => Numbers::SlidingWindow(count, window),
            }
        }
    };
    Ok(Policy::Own(Box::new(OwnPolicy {
        numbers,
        block: args.block.value(),
    })))
}

/// Rejects a bucket of two literals that takes longer to fill than the longest window. Constants are checked by the compiler.
fn fills_in_time(capacity: &Count, refill: &Window, span: Option<Span>) -> Result<()> {
    match (capacity, refill) {
        (Count::Number(capacity), Window::Micros(refill))
            if refill
                .checked_mul(u64::from(*capacity))
                .is_none_or(|whole| whole > window::MAX) =>
        {
            Err(Error::new(
                span.unwrap_or_else(Span::call_site),
                "a bucket fills within 36,500 days: write a smaller capacity or a shorter refill",
            ))
        }
        _ => Ok(()),
    }
}
