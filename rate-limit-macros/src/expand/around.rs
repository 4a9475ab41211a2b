//! What stands around a body that is settled, or that only knows its type itself.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote_spanned;

use crate::model::Model;
use crate::params::local;
use crate::ret::Ret;

/// Returns the expression of a future that contains `body`, a future that checks the call and then runs the function.
///
/// ```text
/// {
///     let body = async move {
///         MENTIONS
///         CHECK
///         ({ BODY })
///     };
///     (&&&__rate_limit::Outcome::of(&body)).__settled(body)
/// }
/// ```
///
/// The function's own `success` is asked in place of the type: `settled_by(BODY, success)`. For `impl IntoResponse` it is
/// `either(BODY)`, whose value is what the body returns or a refusal. Where that is settled it is `response(BODY)` that is, the response
/// that the value stands for, so that its status tells a success. What `impl Responder` stands for is not known before it responds:
/// the value itself is settled, and then put beside a refusal.
pub(super) fn around(model: &Model, body: TokenStream) -> TokenStream {
    let with = |name: &str, body: TokenStream| {
        let name = local(name);
        quote_spanned!(Span::mixed_site()=> __rate_limit::#name(#body))
    };
    match (model.is_beside_a_refusal(), &model.ret, model.rules.settles()) {
        (false, ..) => settled(model, &body),
        (true, Ret::Responder, true) => with("either_responder", settled(model, &body)),
        (true, Ret::Responder, false) => with("either_responder", body),
        (true, _, true) => settled(model, &with("response", body)),
        (true, _, false) => with("either", body),
    }
}

fn settled(model: &Model, body: &TokenStream) -> TokenStream {
    if let Some(success) = &model.rules.success {
        return quote_spanned!(Span::mixed_site()=> __rate_limit::settled_by(#body, #success));
    }
    // A failure is settled too, or returned at once.
    let settled: Ident = local(if model.rules.settles_failures() {
        "__settled_always"
    } else {
        "__settled"
    });
    quote_spanned! {Span::mixed_site()=>
        {
            let __body = #body;
            (&&&__rate_limit::Outcome::of(&__body)).#settled(__body)
        }
    }
}
