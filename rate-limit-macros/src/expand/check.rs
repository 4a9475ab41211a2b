//! The check in front of the body, and what a call that it turns away returns.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned as _;

use super::policy::policy;
use crate::model::{Model, Rules};
use crate::params::{self, local};
use crate::ret::Ret;
use crate::target::MARKER;

/// The check stands in front of the body.
///
/// ```text
/// // Input
/// #[limit_per_time(5, "10m", key = form.user)]
/// async fn login(form: Form) -> Result<Token, Error> { BODY }
/// // Output
/// async fn login(form: Form) -> Result<Token, Error> {
///     use ::rate_limit::__private as __rate_limit;
///     static __RATE_LIMIT_SITE: __rate_limit::Site = __rate_limit::Site::derived(|| ());
///     __rate_limit::register!(__RATE_LIMIT_SITE: [sliding_window(5, 600_000_000)]);
///     let answer = {
///         let mut key = __rate_limit::key_hasher();
///         let mut call = __rate_limit::Call::new(&__RATE_LIMIT_SITE);
///         let client = __rate_limit::KeyParts::new(&mut key).part(&(form.user)).finish();
///         let policy = const { &__rate_limit::sliding_window(5, 600_000_000) };
///         __rate_limit::Call::rule(&mut call, policy, client);
///         __rate_limit::Call::admit(&call)
///     };
///     if let Err(rejection) = match answer.now() { Ok(answer) => answer, Err(answer) => answer.await } {
///         return <Result<Token, Error> as __rate_limit::FromRejection>::from_rejection(rejection);
///     }
///     { BODY }
/// }
/// ```
///
/// The call is in a block of its own, so that the future has no room for it while it waits, nor for an answer that is there at once. With
/// `permit = name`, `let name = match answer.await { Ok(permit) => permit, .. };` stands in place of the `if`. For `impl IntoResponse` the
/// last is `Either::Passed(async move { MENTIONS { BODY } }.await)`, beside `Either::Refused(rejection)`: the body and a refusal are two
/// types, made one.
pub(super) fn checked(model: &mut Model, call: &TokenStream, body: &TokenStream) -> TokenStream {
    let refusal = refusal(model);
    let body = match either(model) {
        Some(either) => {
            let owned = owned_body(model, body);
            quote_spanned!(Span::mixed_site()=> __rate_limit::#either::Passed(#owned.await))
        }
        None => body.clone(),
    };
    let decide = decide(&model.rules);
    let admit = match &model.rules.permit {
        None => {
            let answer = match model.rules.within {
                Some(_) => quote_spanned!(Span::mixed_site()=> __answer.await),
                None => quote_spanned! {Span::mixed_site()=>
                    match __answer.now() {
                        ::core::result::Result::Ok(__answer) => __answer,
                        ::core::result::Result::Err(__answer) => __answer.await,
                    }
                },
            };
            quote_spanned! {Span::mixed_site()=>
                if let ::core::result::Result::Err(__rejection) = #answer {
                    return #refusal;
                }
            }
        }
        Some(name) => quote_spanned! {Span::mixed_site()=>
            let #name = match __answer.await {
                ::core::result::Result::Ok(__permit) => __permit,
                ::core::result::Result::Err(__rejection) => return #refusal,
            };
        },
    };
    let deny = deny(model, &refusal);
    let answer = ask(&model.rules, call, &decide);
    quote!(#deny #answer #admit #body)
}

/// `let answer = { CALL DECIDE };`. With a `name`, which another function may have, also what tells for how long the call is under way.
pub(super) fn ask(rules: &Rules, call: &TokenStream, decide: &TokenStream) -> TokenStream {
    match rules.name {
        None => quote_spanned!(Span::mixed_site()=> let __answer = { #call #decide };),
        Some(_) => quote_spanned! {Span::mixed_site()=>
            let (__answer, __under_way) = { #call (#decide, __rate_limit::Call::under_way(&__call)) };
        },
    }
}

/// Asks the limiter, or the caller's transaction, which is borrowed for as long as that takes.
fn decide(rules: &Rules) -> TokenStream {
    let method = if rules.permit.is_some() { "permit" } else { "admit" };
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

/// Turns away before anything is charged.
pub(super) fn deny(model: &Model, refusal: &TokenStream) -> Option<TokenStream> {
    let deny_if = model.rules.deny_if.as_ref()?;
    let policy = policy(&model.rules.rules[0].policy);
    let marker = local(MARKER);
    Some(quote_spanned! {Span::mixed_site()=>
        let __denied: ::core::primitive::bool = #deny_if;
        if __denied {
            let __rejection = __rate_limit::denied(&#marker, #policy);
            return #refusal;
        }
    })
}

/// The value that says "refused", from `rejection`.
pub(super) fn refusal(model: &Model) -> TokenStream {
    let ret = model.ret.in_expression();
    let rejection = local("__rejection");
    if let Some(value) = &model.rules.on_limit {
        let span = value.span().resolved_at(Span::mixed_site());
        return quote_spanned!(span=> __rate_limit::on_limit::<#ret>(#rejection, #value));
    }
    if let Some(either) = either(model) {
        let refused = match model.ret {
            Ret::Response if model.rules.settles() => quote!(into_response),
            _ => quote!(#either::Refused),
        };
        return quote_spanned!(Span::mixed_site()=> __rate_limit::#refused(__rejection));
    }
    let span = ret.span().resolved_at(Span::mixed_site());
    quote_spanned!(span=> <#ret as __rate_limit::FromRejection>::from_rejection(#rejection))
}

/// The type that makes the value and a refusal one, where they are two. With `on_limit` they are one already.
pub(super) fn either(model: &Model) -> Option<Ident> {
    match model.ret {
        _ if model.rules.on_limit.is_some() => None,
        Ret::Response => Some(local("Either")),
        Ret::Responder => Some(local("EitherResponder")),
        _ => None,
    }
}

/// A block that owns the arguments and is the body.
pub(super) fn owned_body(model: &mut Model, body: &TokenStream) -> TokenStream {
    let mentions = mentions(model);
    quote_spanned!(Span::mixed_site()=> async move { #mentions #body })
}

pub(super) fn mentions(model: &mut Model) -> TokenStream {
    params::name_ignored(&mut model.target.sig.inputs);
    params::mentions(&model.target.sig.inputs)
}
