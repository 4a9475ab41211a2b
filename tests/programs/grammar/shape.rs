//! Where a function stands, and its text with everything around it.

use super::Grammar;
use super::answer::Answer;
use super::body::Body;
use super::limit::{Limits, Reach, limits};
use super::parameter::{self, Parameter};
use super::receiver::Receiver;
use crate::case::Case;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Free,
    Method,
    Impl,
    TraitMethod,
    TraitImpl,
    TraitDefault,
    Trait,
    /// Within the tokens of a macro, and made of its fragments.
    MacroTokens,
    MacroFragments,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Async,
    ImplFuture,
    Boxed,
    /// By `#[async_trait]`, and whether our attribute on a block stands above it.
    AsyncTrait {
        above: bool,
    },
}

pub struct Function {
    pub place: Place,
    pub form: Form,
    pub answer: Answer,
    pub receiver: Option<Receiver>,
    pub parameters: Vec<Parameter>,
    pub limits: Limits,
    pub body: Vec<String>,
    pub above: Vec<&'static str>,
    pub below: Vec<&'static str>,
    pub visibility: &'static str,
    pub bounds_in_where: bool,
    pub lifetime: bool,
    /// Whether a boxed future goes by its usual name.
    pub by_alias: bool,
    /// What an `impl Future` says of itself beside its output.
    pub bound: &'static str,
}

pub fn case(mut g: Grammar, number: u64) -> Case {
    let function = function(&mut g, number);
    let text = [function.around(), function.glue()].concat().join("\n");
    let unordered = function.drops_in_any_order();
    Case {
        number,
        text,
        rules: function.limits.rules,
        skip_if: function.limits.skip_if,
        deny_if: function.limits.deny_if,
        unordered,
    }
}

fn place_and_form(g: &mut Grammar) -> (Place, Form) {
    use Place::*;
    let place = g.one_of(&[
        Free,
        Free,
        Free,
        Method,
        Method,
        Impl,
        TraitMethod,
        TraitImpl,
        TraitDefault,
        Trait,
        MacroTokens,
        MacroFragments,
    ]);
    let form = match (place, g.random.below(6)) {
        (MacroFragments, _) => Form::Async,
        (TraitMethod | TraitImpl | TraitDefault | Trait, 0 | 1) => Form::AsyncTrait { above: g.one_in(2) },
        (_, 0) => Form::ImplFuture,
        (_, 1) => Form::Boxed,
        _ => Form::Async,
    };
    (place, form)
}

fn function(g: &mut Grammar, number: u64) -> Function {
    let (place, form) = place_and_form(g);
    let returns_future = matches!(form, Form::ImplFuture | Form::Boxed);
    let says_send = match form {
        Form::AsyncTrait { .. } => true,
        Form::Async => false,
        _ => g.one_in(2),
    };
    g.send = says_send;
    g.life = if returns_future { "'a " } else { "" };
    g.refers = !returns_future;
    g.bound = if returns_future { " + 'a" } else { "" };
    let lends = !returns_future && !matches!(form, Form::AsyncTrait { .. }) && place != Place::MacroFragments;
    let opaque = form == Form::Async || (form == Form::ImplFuture && g.one_in(8));
    let answer = Answer::new(g, opaque, lends, !returns_future);
    let is_method = !matches!(place, Place::Free | Place::MacroTokens | Place::MacroFragments);
    let receiver = (is_method && !g.one_in(8)).then(|| Receiver::new(g, matches!(form, Form::AsyncTrait { .. })));
    let count = if g.one_in(12) { 8 } else { g.random.below(5) };
    let mut parameters: Vec<Parameter> = (0..count).map(|_| parameter::parameter(g)).collect();
    if answer.lends() {
        parameters.push(parameter::lasting(g));
    }
    if is_trait(place) && !is_default(place) {
        parameters.retain(|parameter| parameter.argument.is_some());
    }
    let bindings = parameters
        .iter()
        .filter(|parameter| parameter.argument.is_some())
        .flat_map(|p| p.bindings.clone());
    let mut scope: Vec<_> = bindings.collect();
    scope.extend(
        receiver
            .iter()
            .filter(|receiver| !(is_default(place) && receiver.borrows))
            .map(|r| r.binding.clone()),
    );
    // A default body knows nothing of the type.
    scope.retain(|binding| !(is_default(place) && binding.name == "self"));
    let reach = Reach {
        bindings: if place == Place::MacroFragments { &[] } else { &scope },
        stacked: if place == Place::Trait { 1 } else { 3 },
        settles: true,
        number,
    };
    let limits = limits(g, &answer, reach);
    let mut body = Body { g, answer, scope }.write(&limits.used);
    if form == Form::Async && place != Place::MacroFragments && g.one_in(15) {
        body.insert(0, "#![allow(unused_variables)]".to_owned());
    }
    let neighbours: &[&str] = match form {
        Form::Async => &[
            "/// Documented.",
            "#[allow(unused_variables)]",
            "#[allow(clippy::all)]",
            "#[inline]",
            "#[cfg(all())]",
            "#[instrument(skip_all)]",
            "#[must_use]",
            "#[cfg_attr(all(), doc = \"Documented.\")]",
            "#[expect(unused_variables, reason = \"perhaps\")]",
        ],
        _ => &[
            "/// Documented.",
            "#[inline]",
            "#[cfg(all())]",
            "#[allow(unused_variables)]",
            "#[must_use]",
        ],
    };
    let some = |g: &mut Grammar| {
        if g.one_in(5) {
            vec![g.one_of(neighbours)]
        } else {
            Vec::new()
        }
    };
    let (above, below) = (some(g), some(g));
    Function {
        place,
        form,
        answer,
        lifetime: answer.lends()
            || (returns_future
                && (parameters
                    .iter()
                    .any(|p| p.borrows || p.generic.is_some() || p.ty.starts_with("impl"))
                    || receiver.as_ref().is_some_and(|r| r.borrows))),
        receiver,
        parameters,
        limits,
        body,
        above,
        below,
        visibility: if is_trait(place) {
            ""
        } else {
            g.one_of(&["", "", "pub ", "pub(crate) "])
        },
        bounds_in_where: g.one_in(3),
        by_alias: g.one_in(3),
        bound: if says_send { " + Send" } else { "" },
    }
}

pub fn is_trait(place: Place) -> bool {
    matches!(
        place,
        Place::TraitMethod | Place::TraitImpl | Place::TraitDefault | Place::Trait
    )
}

fn is_default(place: Place) -> bool {
    matches!(place, Place::TraitDefault | Place::Trait)
}

impl Function {
    /// Whether what it takes may drop in another order with the attribute. What is bound to nothing drops after a body that is moved
    /// into a block, and an `async` block drops what it captures in the order in which that is first mentioned, where the arguments of
    /// the attribute are mentioned before the body.
    fn drops_in_any_order(&self) -> bool {
        let moved = self.limits.settle() || self.answer.is_response();
        let captured = matches!(self.form, Form::ImplFuture | Form::Boxed) || self.is_instrumented();
        (moved && self.parameters.iter().any(|parameter| parameter.leaves_unbound))
            || (captured && (moved || !self.limits.used.is_empty()))
    }

    fn is_instrumented(&self) -> bool {
        self.above
            .iter()
            .chain(&self.below)
            .any(|line| line.contains("instrument"))
    }
}
