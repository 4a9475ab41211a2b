//! A call that is settled once its result is known.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};

use super::check::{ask, deny, either, mentions, owned_body, refusal};
use crate::model::Model;
use crate::ret::Ret;

/// Key, check and body are one inner block, whose value is settled after it.
///
/// ```text
///     let mut permit = None;
///     let admitted = &mut permit;
///     SETTLE, of async move {
///         MENTIONS
///         let answer = { let mut call = ..; ..; Call::settled(&call, admitted) };
///         if let Err(rejection) = answer.await {
///             return <Result<Token, Error> as __rate_limit::FromRejection>::from_rejection(rejection);
///         }
///         { BODY }
///     }
///     .await
/// ```
///
/// The block of a function that returns a future mentions and moves nothing: it is within a block that owns what it needs. For
/// `impl IntoResponse` the check stands in front, and what is settled is `into_response(async move { MENTIONS { BODY } }.await)`: the
/// response that the value stands for, so that its status tells a success. What `impl Responder` stands for is not known before it
/// responds: the value itself is settled, and then put beside a refusal.
pub(super) fn settled(model: &mut Model, call: &TokenStream, body: &TokenStream) -> TokenStream {
    let refusal = refusal(model);
    let deny = deny(model, &refusal);
    if either(model).is_some() {
        let owned = owned_body(model, body);
        let out = match model.ret {
            Ret::Response => quote_spanned!(Span::mixed_site()=> __rate_limit::into_response(#owned.await)),
            _ => quote_spanned!(Span::mixed_site()=> #owned.await),
        };
        let settle = settle(model, &out);
        let settled = quote_spanned!(Span::mixed_site()=> __rate_limit::Call::settled(&__call, &mut __permit));
        let ask = ask(&model.rules, call, &settled);
        return quote_spanned! {Span::mixed_site()=>
            #deny
            let mut __permit = ::core::option::Option::None;
            #ask
            if let ::core::result::Result::Err(__rejection) = __answer.await {
                return #refusal;
            }
            #settle
        };
    }
    let (owning, mentions) = match model.target.sig.asyncness {
        Some(_) => (quote!(move), mentions(model)),
        None => (TokenStream::new(), TokenStream::new()),
    };
    let settled = quote_spanned!(Span::mixed_site()=> __rate_limit::Call::settled(&__call, __admitted));
    let ask = ask(&model.rules, call, &settled);
    let settle = settle(
        model,
        &quote_spanned! {Span::mixed_site()=>
            async #owning {
                #mentions
                #deny
                #ask
                if let ::core::result::Result::Err(__rejection) = __answer.await {
                    return #refusal;
                }
                #body
            }
            .await
        },
    );
    quote_spanned! {Span::mixed_site()=>
        let mut __permit = ::core::option::Option::None;
        let __admitted = &mut __permit;
        #settle
    }
}

/// Settles `permit` by `out`, an expression, and answers with its value.
///
/// ```text
///     let kept = match { let out = OUT; (&&&__rate_limit::Outcome::of(&out)).split(out) } {
///         Continue(kept) => kept,
///         Break(out) => return out,
///     };
///     __rate_limit::settle(&permit, true).await;
///     __rate_limit::Kept::restore(kept)
/// ```
///
/// `out` was borrowed, so its place counts as used for as long as it is in scope: it is out of it before anything is
/// waited for. A failure returns at once; of a success only what has to be is held while it is settled. Where a failure is settled
/// too, the whole value is held:
///
/// ```text
///     let out = OUT;
///     let success = (&&&__rate_limit::Outcome::of(&out)).is_success(&out);
///     __rate_limit::settle(&permit, success).await;
///     out
/// ```
///
/// The function's own `success` is asked in place of the type, and about no refusal.
fn settle(model: &Model, out: &TokenStream) -> TokenStream {
    let success = model.rules.success.as_ref();
    if model.rules.settles_failures() {
        let judged = match success {
            Some(success) => {
                quote_spanned!(Span::mixed_site()=> __rate_limit::is_admitted(&__permit) && __rate_limit::is_success_by(&__out, #success))
            }
            None => quote_spanned!(Span::mixed_site()=> (&&&__rate_limit::Outcome::of(&__out)).__is_success(&__out)),
        };
        let answer = answer(model, quote_spanned!(Span::mixed_site()=> __out));
        return quote_spanned! {Span::mixed_site()=>
            let __out = #out;
            let __success = #judged;
            __rate_limit::settle(&__permit, __success).await;
            #answer
        };
    }
    let split = match success {
        Some(success) => {
            quote_spanned!(Span::mixed_site()=> __rate_limit::split_by(__rate_limit::is_admitted(&__permit), __out, #success))
        }
        None => quote_spanned!(Span::mixed_site()=> (&&&__rate_limit::Outcome::of(&__out)).__split(__out)),
    };
    let failure = answer(model, quote_spanned!(Span::mixed_site()=> __out));
    let success = answer(
        model,
        quote_spanned!(Span::mixed_site()=> __rate_limit::Kept::restore(__kept)),
    );
    quote_spanned! {Span::mixed_site()=>
        let __kept = match { let __out = #out; #split } {
            ::core::ops::ControlFlow::Continue(__kept) => __kept,
            ::core::ops::ControlFlow::Break(__out) => return #failure,
        };
        __rate_limit::settle(&__permit, true).await;
        #success
    }
}

/// What is answered with the value of the body.
fn answer(model: &Model, value: TokenStream) -> TokenStream {
    match (&model.ret, either(model)) {
        (Ret::Responder, Some(either)) => quote_spanned!(Span::mixed_site()=> __rate_limit::#either::Passed(#value)),
        _ => value,
    }
}
