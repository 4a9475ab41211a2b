//! The limited function.
//!
//! What is written has `__` before each of its locals, which the comments leave out: hygiene keeps them apart from
//! locals of the user's, and not from constants, statics and unit structs.

mod around;
mod call;
mod check;
mod policy;
mod rename;

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens as _, quote, quote_spanned};
use syn::{Error, Result};

use self::around::around;
use self::check::checked;
use self::policy::{known, using};
pub(crate) use self::policy::{no_policy_of_trait, policy_of_trait};
use self::rename::rename_self;
use crate::args::Args;
use crate::attrs::{Attr, Stacked, is_exempt};
use crate::error::Errors;
use crate::future::{FutureBody, whole};
use crate::groups::{Depth, rebuilt, visible};
use crate::items::Items;
use crate::model::{Model, Rule, Rules, SettleOn};
use crate::params::{self, Words, local};
use crate::target::{MARKER, Target};

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
    match Attr::take_outer(item.clone()) {
        Ok((mut attrs, rest)) => {
            Stacked::take(&mut attrs);
            quote!(#(#attrs)* #rest)
        }
        Err(_) => item,
    }
}

fn expand(args: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let args = visible(args, Depth::All);
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
    let mut target = Target::new(item)?;
    target.check()?;
    let stacked = Stacked::take(&mut target.attrs);
    function(Model::new(Rules::new(attributes(args, stacked)?, None)?, target)?)
}

/// Returns the arguments of each attribute, the outermost first.
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

/// Returns the limited function. Its braces have the span of the original ones, so that lints about the whole function point at them.
pub(crate) fn function(mut model: Model) -> Result<TokenStream> {
    let limited = match model.future.take() {
        Some(future) => in_future(&mut model, future)?,
        None => in_function(&mut model),
    };
    let target = &model.target;
    let (attrs, vis, sig, inner_attrs) = (&target.attrs, &target.vis, &target.sig, &target.inner_attrs);
    let body = rebuilt(&target.body, quote!(#(#inner_attrs)* #limited));
    Ok(quote!(#(#attrs)* #vis #sig #body))
}

/// Returns the statements of an `async fn`: the check in front of the body, or both in a block that owns the arguments, within the future from
/// [`around`].
fn in_function(model: &mut Model) -> TokenStream {
    let site = site(&model.rules);
    let body = whole(&model.target.body).to_token_stream();
    let checked = checked(model, &body);
    if !model.is_wrapped() {
        return quote!(#site #checked);
    }
    params::name_ignored(&mut model.target.sig.inputs);
    let success = &model.rules.success;
    let mentions = params::mentions(&model.target.sig.inputs, &Words::of(quote!(#checked #success)));
    // As the braces of the function: lints leave out what stands in a block of an expansion.
    let owning = model.target.body.span();
    let block = rebuilt(&model.target.body, quote!(#mentions #checked));
    let limited = awaited(model, quote_spanned!(owning=> async move #block));
    quote!(#site #limited)
}

/// Returns statements that await `body` within the future from [`around`].
fn awaited(model: &Model, body: TokenStream) -> TokenStream {
    let limited = around(model, body);
    quote_spanned!(Span::mixed_site()=> let __limited = #limited; __limited.await)
}

/// Returns the statements of a function that returns a future. The future checks the call when it is first polled, so that a future
/// which is dropped unpolled charges nothing. The block captures its arguments itself, so no mentions are added.
///
/// ```text
/// // Input
/// fn login(user: u64) -> impl Future<Output = Result<Token, Error>> { BEFORE async move { BODY } }
/// // Output
/// fn login(user: u64) -> impl Future<Output = Result<Token, Error>> { BEFORE async move { SITE CHECK BODY } }
/// ```
fn in_future(model: &mut Model, mut future: FutureBody) -> Result<TokenStream> {
    if let Some(renamed) = future.renamed_self.take() {
        model.rules = rename_self(&model.rules, &renamed)?;
    }
    let site = site(&model.rules);
    let checked = checked(model, &std::mem::take(&mut future.body));
    Ok(match (model.is_wrapped(), future.mentions()) {
        (false, _) => future.with(&quote!(#site #checked)),
        // What `#[async_trait]` unpacks is a local of the block.
        (true, Some(mentions)) => {
            let limited = awaited(
                model,
                quote_spanned!(Span::mixed_site()=> async move { #mentions #checked }),
            );
            future.with(&quote!(#site #limited))
        }
        (true, None) => {
            let future = future.wrapped(&checked, |body| around(model, body));
            quote!(#site #future)
        }
    })
}

/// Returns the items at the start of every expansion: the import of the runtime, and the static of the function.
fn site(rules: &Rules) -> TokenStream {
    let using = using(rules);
    let marker = local(MARKER);
    let known = rules.rules.iter().map(known);
    let at = rules.at.as_ref().map(|_| quote!(.at()));
    let name = rules.name.as_ref().map(|name| quote!(.named(#name)));
    let resets = |rule: &Rule| rule.settle.is_some_and(|settle| settle.on == SettleOn::ResetOnSuccess);
    let by_type = (rules.settles() && rules.success.is_none()) || rules.rules.iter().any(resets);
    let traits = by_type.then(|| quote_spanned!(Span::mixed_site()=> use __rate_limit::by_type::*;));
    quote_spanned! {Span::mixed_site()=>
        #using
        #traits
        static #marker: __rate_limit::Site = __rate_limit::Site::new(|| (), &[#(#known),*]) #at #name;
        __rate_limit::register!(#marker);
    }
}

fn krate(rules: &Rules) -> TokenStream {
    match &rules.krate {
        Some(path) => path.to_token_stream(),
        None => quote!(::rate_limit),
    }
}
