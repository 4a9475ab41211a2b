//! The limited function.
//!
//! What is written has `__` before each of its locals, which the comments leave out: hygiene keeps them apart from
//! locals of the user's, and not from constants, statics and unit structs.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens as _, quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{Error, Expr, Result};

use crate::args::{Args, Count, OnStoreError, Window};
use crate::error::Errors;
use crate::future::braced;
use crate::items::Items;
use crate::model::{Model, Numbers, Policy, Rule, Rules, Settle, SettleOn};
use crate::params::{self, local};
use crate::ret::Ret;
use crate::target::{MARKER, Stacked, Target, is_exempt};

/// Expands the attribute. On an error the item is emitted without limits, so that no second error follows.
pub(crate) fn limit_per_time(args: TokenStream, item: TokenStream) -> TokenStream {
    expand(args, item.clone()).unwrap_or_else(|error| {
        let error = error.into_compile_error();
        let item = unlimited(item);
        quote!(#error #item)
    })
}

fn unlimited(item: TokenStream) -> TokenStream {
    if let Some(items) = Items::new(&item) {
        return items.unlimited().unwrap_or(item);
    }
    match syn::parse2::<Target>(item.clone()) {
        Ok(mut target) => {
            target.take_stacked();
            target.into_token_stream()
        }
        Err(_) => item,
    }
}

fn expand(args: TokenStream, item: TokenStream) -> Result<TokenStream> {
    if is_exempt(&args) {
        return Err(Error::new_spanned(
            args,
            "nothing is exempt here: the `impl` or trait around this has no `limit_per_time`, or this is none of its functions",
        ));
    }
    if let Some(mut items) = Items::new(&item) {
        let stacked = items.take_stacked()?;
        let rules = Rules::new(attributes(args, stacked)?, items.inherits())?;
        return items.limit(&rules);
    }
    let mut target: Target = syn::parse2(item)?;
    target.check()?;
    let stacked = target.take_stacked();
    function(Model::new(Rules::new(attributes(args, stacked)?, None)?, target)?)
}

/// The arguments of each attribute, the outermost first.
fn attributes(outermost: TokenStream, stacked: Vec<Stacked>) -> Result<Vec<Args>> {
    let mut errors = Errors::default();
    let mut attributes: Vec<Args> = errors.take(syn::parse2(outermost)).into_iter().collect();
    for stacked in stacked {
        if stacked.is_exempt() {
            errors.push(stacked.both_limited_and_exempt());
        } else if let Some(args) = errors.take(syn::parse2::<Args>(stacked.args)) {
            attributes.push(args.at(stacked.span));
        }
    }
    errors.finish(attributes)
}

/// A function as it is limited.
pub(crate) fn function(mut model: Model) -> Result<TokenStream> {
    let limited = match &model.future {
        Some(_) => in_future(&mut model)?,
        None => {
            let body = braced(model.target.brace, &model.target.body);
            limited(&mut model, body)
        }
    };
    let target = &model.target;
    let (attrs, vis, sig, inner_attrs) = (&target.attrs, &target.vis, &target.sig, &target.inner_attrs);
    Ok(quote! {
        #(#attrs)* #vis #sig {
            #(#inner_attrs)*
            #limited
        }
    })
}

/// A function that returns a future: the check is the first that the future does, so that nothing is charged for one that
/// is made and dropped.
///
/// ```text
/// // Input
/// fn login(user: u64) -> impl Future<Output = Result<Token, Error>> { BEFORE async move { BODY } }
/// // Output
/// fn login(user: u64) -> impl Future<Output = Result<Token, Error>> { BEFORE async move { LIMITED BODY } }
/// ```
fn in_future(model: &mut Model) -> Result<TokenStream> {
    let Some(mut future) = model.future.take() else {
        return Ok(TokenStream::new());
    };
    if let Some(renamed) = future.renamed_self.take() {
        model.rules = rename_self(&model.rules, &renamed)?;
    }
    let body = std::mem::take(&mut future.body);
    let limited = limited(model, body);
    Ok(future.with(&limited))
}

/// The statements that check a call, run the body, and settle the call.
fn limited(model: &mut Model, body: TokenStream) -> TokenStream {
    let site = site(&model.rules);
    let call = call(&model.rules);
    let limited = if model.rules.settles() {
        settled(model, &call, &body)
    } else {
        checked(model, &call, &body)
    };
    quote!(#site #limited)
}

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
///     let client = __rate_limit::KeyParts::new().part(&(form.user)).finish();
///     let policy = __rate_limit::sliding_window(5, 600_000_000);
///     let call = __rate_limit::Call::new(&__RATE_LIMIT_SITE).rule(policy, client);
///     if let Err(__rejection) = __call.admit().await {
///         return <Result<Token, Error> as __rate_limit::FromRejection>::from_rejection(rejection);
///     }
///     { BODY }
/// }
/// ```
///
/// With `permit = name`, `let permit = match call.permit().await { .. }; let name = &permit;` stand in place of the `if`. For `impl
/// IntoResponse` the last is `Either::Passed(async move { MENTIONS { BODY } }.await)`, beside `Either::Refused(rejection)`: the body
/// and a refusal are two types, made one.
fn checked(model: &mut Model, call: &TokenStream, body: &TokenStream) -> TokenStream {
    let refusal = refusal(model);
    let body = match either(model) {
        Some(either) => {
            let owned = owned_body(model, body);
            quote_spanned!(Span::mixed_site()=> __rate_limit::#either::Passed(#owned.await))
        }
        None => body.clone(),
    };
    let admit = match &model.rules.permit {
        None => quote_spanned! {Span::mixed_site()=>
            if let ::core::result::Result::Err(__rejection) = __call.admit().await {
                return #refusal;
            }
        },
        Some(name) => quote_spanned! {Span::mixed_site()=>
            let __permit = match __call.permit().await {
                ::core::result::Result::Ok(__permit) => __permit,
                ::core::result::Result::Err(__rejection) => return #refusal,
            };
            let #name = &__permit;
        },
    };
    let deny = deny(model, &refusal);
    quote!(#deny #call #admit #body)
}

/// Key, check and body are one inner block, whose value is settled after it.
///
/// ```text
///     let mut permit = None;
///     let admitted = &mut permit;
///     SETTLE, of async move {
///         MENTIONS
///         let client = ..; let policy = ..; let call = ..;
///         if let Err(rejection) = call.settled(admitted).await {
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
fn settled(model: &mut Model, call: &TokenStream, body: &TokenStream) -> TokenStream {
    let refusal = refusal(model);
    let deny = deny(model, &refusal);
    if either(model).is_some() {
        let owned = owned_body(model, body);
        let out = match model.ret {
            Ret::Response => quote_spanned!(Span::mixed_site()=> __rate_limit::into_response(#owned.await)),
            _ => quote_spanned!(Span::mixed_site()=> #owned.await),
        };
        let settle = settle(model, &out);
        return quote_spanned! {Span::mixed_site()=>
            #deny
            #call
            let mut __permit = ::core::option::Option::None;
            if let ::core::result::Result::Err(__rejection) = __call.settled(&mut __permit).await {
                return #refusal;
            }
            #settle
        };
    }
    let (owning, mentions) = match model.target.sig.asyncness {
        Some(_) => (quote!(move), mentions(model)),
        None => (TokenStream::new(), TokenStream::new()),
    };
    let settle = settle(
        model,
        &quote_spanned! {Span::mixed_site()=>
            async #owning {
                #mentions
                #deny
                #call
                if let ::core::result::Result::Err(__rejection) = __call.settled(__admitted).await {
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

/// What stands first in every expansion: the runtime, and what is known of the function once.
fn site(rules: &Rules) -> TokenStream {
    let krate = krate(rules);
    let site = match &rules.name {
        Some(name) => quote_spanned!(Span::mixed_site()=> __rate_limit::Site::named(#name)),
        None => quote_spanned!(Span::mixed_site()=> __rate_limit::Site::derived(|| ())),
    };
    let marker = local(MARKER);
    let resets = |rule: &Rule| rule.settle.is_some_and(|settle| settle.on == SettleOn::ResetOnSuccess);
    let by_type = (rules.settles() && rules.success.is_none()) || rules.rules.iter().any(resets);
    let traits = by_type.then(|| quote_spanned!(Span::mixed_site()=> use __rate_limit::by_type::*;));
    quote_spanned! {Span::mixed_site()=>
        use #krate::__private as __rate_limit;
        #traits
        static #marker: __rate_limit::Site = #site;
    }
}

fn krate(rules: &Rules) -> TokenStream {
    match &rules.krate {
        Some(path) => path.to_token_stream(),
        None => quote!(::rate_limit),
    }
}

/// Turns away before anything is charged.
fn deny(model: &Model, refusal: &TokenStream) -> Option<TokenStream> {
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

/// `let client = ..; let policy = ..; let call = ..;` for each rule, then the limiter where one is given: each in a `let` of its own,
/// so that no borrow or temporary of the user's expressions lives on while the call waits. A rule that may be skipped has them
/// in a branch, so that its key is evaluated only where it is not.
fn call(rules: &Rules) -> TokenStream {
    let marker = local(MARKER);
    let new = quote_spanned!(Span::mixed_site()=> __rate_limit::Call::new(&#marker));
    let mut call = TokenStream::new();
    for (place, rule) in rules.rules.iter().enumerate() {
        let so_far = if place == 0 {
            new.clone()
        } else {
            local("__call").into_token_stream()
        };
        let client = client(rule);
        let policy = policy(&rule.policy);
        let asked = asked(rule);
        let further = (!asked.is_empty()).then(|| quote_spanned!(Span::mixed_site()=> let __call = __call #asked;));
        call.extend(match &rule.skip_if {
            None => quote_spanned! {Span::mixed_site()=>
                let __client = #client;
                let __policy = #policy;
                let __call = #so_far.rule(__policy, __client);
                #further
            },
            Some(skip_if) => quote_spanned! {Span::mixed_site()=>
                let __skipped: ::core::primitive::bool = #skip_if;
                let __call = if __skipped {
                    #so_far.skip()
                } else {
                    let __client = #client;
                    let __policy = #policy;
                    #so_far.rule(__policy, __client)#asked
                };
            },
        });
    }
    if let Some(at) = &rules.at {
        let at = by_value(at, "at");
        call.extend(quote_spanned!(Span::mixed_site()=> let __call = __call #at;));
    }
    if let Some(limiter) = &rules.limiter {
        let span = limiter.span().resolved_at(Span::mixed_site());
        let given = local("__limiter");
        call.extend(quote_spanned!(span=> let #given = __rate_limit::limiter(&(#limiter));));
        call.extend(quote_spanned!(Span::mixed_site()=> let __call = __call.limiter(__limiter);));
    }
    call
}

fn client(rule: &Rule) -> TokenStream {
    if rule.key.is_empty() {
        return quote_spanned!(Span::mixed_site()=> __rate_limit::ambient());
    }
    let parts = rule.key.iter().map(|part| {
        let span = part.span().resolved_at(Span::mixed_site());
        let method = Ident::new("part", span);
        quote_spanned!(span=> .#method(&(#part)))
    });
    let subject = match rule.settle {
        Some(Settle {
            span,
            on: SettleOn::ResetOnSuccess,
        }) => {
            let check = Ident::new("reset_on_success", span.resolved_at(Span::mixed_site()));
            Some(quote_spanned!(Span::mixed_site()=> .#check(|__types| (&&__types).__subject())))
        }
        _ => None,
    };
    quote_spanned!(Span::mixed_site()=> __rate_limit::KeyParts::new()#(#parts)*#subject.finish())
}

/// The options of a rule, as calls that follow it.
fn asked(rule: &Rule) -> TokenStream {
    let cost = rule.cost.as_ref().map(|cost| by_value(cost, "cost"));
    let observe = rule.observe.then(|| quote_spanned!(Span::mixed_site()=> .observe()));
    let on_store_error = rule.on_store_error.map(|mode| {
        let mode = match mode {
            OnStoreError::Open => quote!(Open),
            OnStoreError::Closed => quote!(Closed),
            OnStoreError::Local => quote!(Local),
        };
        quote_spanned!(Span::mixed_site()=> .on_store_error(__rate_limit::OnStoreError::#mode))
    });
    let settle = rule.settle.map(|settle| {
        let on = match settle.on {
            SettleOn::ResetOnSuccess => quote!(ResetOnSuccess),
            SettleOn::RefundOnSuccess => quote!(RefundOnSuccess),
            SettleOn::RefundOnError => quote!(RefundOnError),
        };
        quote_spanned!(Span::mixed_site()=> .settle(__rate_limit::SettleOn::#on))
    });
    quote!(#cost #observe #on_store_error #settle)
}

/// `.method(expr)`, with what the compiler has to say about its type said at the expression.
fn by_value(expr: &Expr, method: &str) -> TokenStream {
    let span = expr.span().resolved_at(Span::mixed_site());
    let method = Ident::new(method, span);
    quote_spanned!(span=> .#method(#expr))
}

fn policy(policy: &Policy) -> TokenStream {
    let (numbers, block) = match policy {
        Policy::Own(own) => (&own.numbers, &own.block),
        Policy::OfTrait(of) => {
            let span = of.span().resolved_at(Span::mixed_site());
            let policy = Ident::new(POLICY_OF_TRAIT, span);
            return quote_spanned!(span=> <Self as #of>::#policy());
        }
    };
    let (algorithm, count, span) = match numbers {
        Numbers::SlidingWindow(count, window) => ("sliding_window", ("count", count), ("window", window)),
        Numbers::FixedWindow(count, window) => ("fixed_window", ("count", count), ("window", window)),
        Numbers::TokenBucket(capacity, refill) => ("token_bucket", ("capacity", capacity), ("refill", refill)),
    };
    let algorithm = local(algorithm);
    // The literals of a window were checked where they were read; those of a bucket hang together.
    if let ((_, Count::Number(count)), ("window", Window::Micros(micros)), None) = (count, span, block) {
        return quote_spanned!(Span::mixed_site()=> __rate_limit::#algorithm(#count, #micros));
    }
    let checked = |expr: &Expr, check: &str| {
        let span = expr.span().resolved_at(Span::mixed_site());
        let check = Ident::new(check, span);
        quote_spanned!(span=> __rate_limit::#check(#expr))
    };
    let length = |length: &Window, check| match length {
        Window::Micros(micros) => quote_spanned!(Span::mixed_site()=> ::core::time::Duration::from_micros(#micros)),
        Window::Const(expr) => checked(expr, check),
    };
    let count = match count {
        (_, Count::Number(count)) => count.to_token_stream(),
        (check, Count::Const(expr)) => checked(expr, check),
    };
    let span = length(span.1, span.0);
    let block = block.as_ref().map(|block| {
        let block = length(block, "block");
        quote_spanned!(Span::mixed_site()=> .block(#block))
    });
    quote_spanned!(Span::mixed_site()=> const { __rate_limit::Policy::#algorithm(#count, #span)#block })
}

/// The hidden function by which a trait tells its numbers to its `impl`s. A constant in its place would keep the trait from
/// being used as `dyn`. The compiler's error says its name where there is none.
const POLICY_OF_TRAIT: &str = "__limit_per_time_on_this_trait";

pub(crate) fn policy_of_trait(rules: &Rules) -> TokenStream {
    let krate = krate(rules);
    let name = local(POLICY_OF_TRAIT);
    let policy = policy(&rules.rules[0].policy);
    quote_spanned! {Span::mixed_site()=>
        #[doc(hidden)]
        fn #name() -> #krate::Policy
        where
            Self: ::core::marker::Sized,
        {
            use #krate::__private as __rate_limit;
            #policy
        }
    }
}

/// The same of a trait whose attribute is wrong, of any numbers.
pub(crate) fn no_policy_of_trait() -> TokenStream {
    let name = local(POLICY_OF_TRAIT);
    quote_spanned! {Span::mixed_site()=>
        #[doc(hidden)]
        fn #name<__Policy>() -> __Policy
        where
            Self: ::core::marker::Sized,
        {
            loop {}
        }
    }
}

/// The value that says "refused", from `rejection`.
fn refusal(model: &Model) -> TokenStream {
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
fn either(model: &Model) -> Option<Ident> {
    match model.ret {
        _ if model.rules.on_limit.is_some() => None,
        Ret::Response => Some(local("Either")),
        Ret::Responder => Some(local("EitherResponder")),
        _ => None,
    }
}

/// A block that owns the arguments and is the body.
fn owned_body(model: &mut Model, body: &TokenStream) -> TokenStream {
    let mentions = mentions(model);
    quote_spanned!(Span::mixed_site()=> async move { #mentions #body })
}

fn mentions(model: &mut Model) -> TokenStream {
    params::name_ignored(&mut model.target.sig.inputs);
    params::mentions(&model.target.sig.inputs)
}

/// The rules with `self` called what `#[async_trait]` calls it.
fn rename_self(rules: &Rules, renamed: &Ident) -> Result<Rules> {
    let rename = |expr: &Expr| syn::parse2::<Expr>(replace_self(expr.to_token_stream(), renamed));
    let rename_option = |expr: &Option<Expr>| expr.as_ref().map(rename).transpose();
    let mut rules = rules.clone();
    for expr in [
        &mut rules.success,
        &mut rules.deny_if,
        &mut rules.on_limit,
        &mut rules.at,
        &mut rules.limiter,
    ] {
        *expr = rename_option(expr)?;
    }
    for rule in &mut rules.rules {
        rule.cost = rename_option(&rule.cost)?;
        rule.skip_if = rename_option(&rule.skip_if)?;
        rule.key = rule.key.iter().map(rename).collect::<Result<_>>()?;
    }
    Ok(rules)
}

fn replace_self(tokens: TokenStream, renamed: &Ident) -> TokenStream {
    tokens
        .into_iter()
        .map(|token| match token {
            TokenTree::Ident(ident) if ident == "self" => renamed.clone().into(),
            TokenTree::Group(group) => {
                let mut inner = proc_macro2::Group::new(group.delimiter(), replace_self(group.stream(), renamed));
                inner.set_span(group.span());
                inner.into()
            }
            token => token,
        })
        .collect()
}
