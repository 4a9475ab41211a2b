//! What is known of a call before it is decided, and its decision.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::Expr;
use syn::spanned::Spanned as _;

use super::policy::{Computed, computed};
use crate::model::{Rule, Rules, Settle, SettleOn};
use crate::params::local;
use crate::target::MARKER;

/// Returns a block that decides a call. Its value is awaited for the answer.
///
/// ```text
/// {
///     let mut key_0 = __rate_limit::key();
///     __rate_limit::part(&mut key_0, &(form.user));
///     __rate_limit::admit(&__RATE_LIMIT_SITE, &mut key_0)
/// }
/// ```
///
/// The future has no room for the key while it waits. Each of the user's expressions is in a statement of its own, so that no borrow or
/// temporary of it lives on while the call waits. A call that is more than one rule with a key is put together first:
///
/// ```text
/// {
///     let mut key_0 = __rate_limit::key();
///     let mut key_1 = __rate_limit::ambient();
///     let mut call = __rate_limit::Call::new(&__RATE_LIMIT_SITE);
///     __rate_limit::part(&mut key_0, &(form.user));
///     __rate_limit::Call::rule(&mut call, &mut key_0);
///     __rate_limit::Call::rule_of(&mut call, const { &NUMBERS }, const { __rate_limit::type_name(|| ()) }, &mut key_1);
///     __rate_limit::Call::admit(&call)
/// }
/// ```
///
/// With a `name`, which another function may have, its value is a pair with what tells for how long the call is under way.
///
/// A rule that may be skipped has its key in a branch, so that it is evaluated only where the rule holds. What borrows the call is named
/// by its path: a trait in scope may have a method of the same name for every type.
pub(super) fn decide(rules: &Rules) -> TokenStream {
    let decided = match &rules.rules[..] {
        [rule] if is_simple(rules, rule) => simple(rules, rule),
        _ => assembled(rules),
    };
    quote_spanned!(Span::mixed_site()=> { #decided })
}

/// Returns `true` if the call is one rule and nothing else that is evaluated.
fn is_simple(rules: &Rules, rule: &Rule) -> bool {
    let options = [&rules.at, &rules.limiter, &rules.within, &rule.skip_if, &rule.cost];
    options.iter().all(|option| option.is_none())
        && rules.permit.is_none()
        && rules.name.is_none()
        && computed(&rule.policy).is_none()
}

fn simple(rules: &Rules, rule: &Rule) -> TokenStream {
    let marker = local(MARKER);
    let key = local("__key_0");
    let (new, parts) = (new_key(rule), parts(rule, &key));
    let decide = local(if rules.settles() { "settled" } else { "admit" });
    quote_spanned! {Span::mixed_site()=>
        let mut #key = __rate_limit::#new();
        #parts
        __rate_limit::#decide(&#marker, &mut #key)
    }
}

fn assembled(rules: &Rules) -> TokenStream {
    let marker = local(MARKER);
    let mut keys = TokenStream::new();
    let mut call = quote_spanned!(Span::mixed_site()=> let mut __call = __rate_limit::Call::new(&#marker););
    for (place, rule) in rules.rules.iter().enumerate() {
        // Each has a place of its own, which outlasts the call.
        let key = local(&format!("__key_{place}"));
        let (new, parts) = (new_key(rule), parts(rule, &key));
        // The name of a closure in a constant of the function tells which instance of it this is.
        let here = quote_spanned!(Span::mixed_site()=> const { __rate_limit::type_name(|| ()) });
        let rule_of = match computed(&rule.policy) {
            Some(Computed::Own(numbers)) => {
                quote_spanned!(Span::mixed_site()=> rule_of(&mut __call, #numbers, #here, &mut #key))
            }
            Some(Computed::OfTrait(numbers)) => {
                quote_spanned!(Span::mixed_site()=> rule_of_trait(&mut __call, #numbers, #here, &mut #key))
            }
            None => quote_spanned!(Span::mixed_site()=> rule(&mut __call, &mut #key)),
        };
        let cost = rule.cost.as_ref().map(|cost| by_value(cost, "cost"));
        let add = quote_spanned!(Span::mixed_site()=> #parts __rate_limit::Call::#rule_of; #cost);
        keys.extend(quote_spanned!(Span::mixed_site()=> let mut #key = __rate_limit::#new();));
        call.extend(match &rule.skip_if {
            None => add,
            Some(skip_if) => quote_spanned! {Span::mixed_site()=>
                let __skipped: ::core::primitive::bool = #skip_if;
                if __skipped {
                    __rate_limit::Call::skip(&mut __call);
                } else {
                    #add
                }
            },
        });
    }
    call.extend(rules.at.as_ref().map(|at| by_value(at, "at")));
    if let Some(limiter) = &rules.limiter {
        let span = limiter.span().resolved_at(Span::mixed_site());
        let given = local("__limiter");
        call.extend(quote_spanned!(span=> let #given = __rate_limit::limiter(&(#limiter));));
        call.extend(quote_spanned!(Span::mixed_site()=> __rate_limit::Call::limiter(&mut __call, __limiter);));
    }
    let decide = decide_by(rules);
    let decide = match rules.name {
        None => decide,
        // Another function may have the name.
        Some(_) => quote_spanned!(Span::mixed_site()=> (#decide, __rate_limit::Call::under_way(&__call))),
    };
    quote!(#keys #call #decide)
}

fn new_key(rule: &Rule) -> Ident {
    local(if rule.key.is_empty() { "ambient" } else { "key" })
}

/// Returns statements that hash the parts of a key, and demand that they are more than an address where a success clears their record.
fn parts(rule: &Rule, key: &Ident) -> TokenStream {
    let resets = match rule.settle {
        Some(Settle {
            span,
            on: SettleOn::ResetOnSuccess,
        }) => Some(span.resolved_at(Span::mixed_site())),
        _ => None,
    };
    let hash = if rule.key.len() == 1 { "part" } else { "element" };
    let types: Vec<Ident> = (0..rule.key.len())
        .map(|place| local(&format!("__part_{place}")))
        .collect();
    let mut statements = TokenStream::new();
    for (part, of) in rule.key.iter().zip(&types) {
        let span = part.span().resolved_at(Span::mixed_site());
        let hash = Ident::new(hash, span);
        let binding = resets.map(|_| quote_spanned!(Span::mixed_site()=> let #of =));
        let key = Ident::new(&key.to_string(), span);
        let rate_limit = Ident::new("__rate_limit", span);
        statements.extend(quote_spanned!(span=> #binding #rate_limit::#hash(&mut #key, &(#part));));
    }
    if let (Some(span), Some((last, before))) = (resets, types.split_last()) {
        let types = before.iter().rfold(quote!(#last), |types, of| quote!((#of, #types)));
        let check = Ident::new("__names_a_subject", span);
        statements.extend(quote_spanned!(Span::mixed_site()=> (&&#types).#check();));
    }
    statements
}

/// Returns `Call::method(&mut call, expr);`, with what the compiler has to say about its type said at the expression.
fn by_value(expr: &Expr, method: &str) -> TokenStream {
    let span = expr.span().resolved_at(Span::mixed_site());
    let method = Ident::new(method, span);
    let [rate_limit, call] = ["__rate_limit", "__call"].map(|name| Ident::new(name, span));
    quote_spanned!(span=> #rate_limit::Call::#method(&mut #call, #expr);)
}

/// Asks the limiter, or the caller's transaction, which is borrowed for as long as that takes.
fn decide_by(rules: &Rules) -> TokenStream {
    let method = match (&rules.permit, rules.settles()) {
        (Some(_), _) => "permit",
        (None, true) => "settled",
        (None, false) => "admit",
    };
    match &rules.within {
        None => {
            let method = local(method);
            quote_spanned!(Span::mixed_site()=> __rate_limit::Call::#method(&__call))
        }
        Some(transaction) => {
            let span = transaction.span().resolved_at(Span::mixed_site());
            let transaction = quote_spanned!(span=> __rate_limit::within(&mut *(#transaction)));
            let method = local(&format!("{method}_within"));
            quote_spanned!(Span::mixed_site()=> __rate_limit::Call::#method(&__call, #transaction))
        }
    }
}
