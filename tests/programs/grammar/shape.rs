//! Where a function stands, and its text with everything around it.

use super::Grammar;
use super::answer::Answer;
use super::body::Body;
use super::host::Host;
use super::limit::{Limits, Reach, limits};
use super::moves::is_owned;
use super::parameter::{self, Binding, Parameter, State};
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
    /// In an `impl` whose trait has the numbers.
    Heir,
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

impl Place {
    pub fn is_trait(self) -> bool {
        matches!(
            self,
            Self::TraitMethod | Self::TraitImpl | Self::TraitDefault | Self::Trait | Self::Heir
        )
    }

    fn is_default(self) -> bool {
        matches!(self, Self::TraitDefault | Self::Trait)
    }

    /// Returns `true` if the function is called on a type.
    pub fn is_of_type(self) -> bool {
        !matches!(self, Self::Free | Self::MacroTokens | Self::MacroFragments)
    }
}

impl Form {
    fn returns_future(self) -> bool {
        matches!(self, Self::ImplFuture | Self::Boxed)
    }
}

pub struct Function {
    pub place: Place,
    pub form: Form,
    pub answer: Answer,
    pub host: Host,
    pub receiver: Option<Receiver>,
    pub parameters: Vec<Parameter>,
    pub limits: Limits,
    pub body: Vec<String>,
    pub above: Option<&'static str>,
    pub below: Option<&'static str>,
    pub visibility: &'static str,
    pub bounds_in_where: bool,
    pub lifetime: bool,
    /// Whether a boxed future goes by its usual name.
    pub by_alias: bool,
    /// The statements before the `async` block in a function that returns a future.
    pub before: Vec<String>,
    /// What an `impl Future` says of itself beside its output.
    pub bound: &'static str,
}

pub fn case(mut g: Grammar, number: u64) -> Case {
    let function = function(&mut g, number);
    let text = [function.around(), function.glue()].concat().join("\n");
    let is_wrapped = function.is_wrapped();
    let is_rewritten = function.is_instrumented() || matches!(function.form, Form::AsyncTrait { .. });
    let unordered = function.drops_in_any_order();
    Case {
        number,
        text,
        rules: function.limits.rules,
        skip_if: function.limits.skip_if,
        deny_if: function.limits.deny_if,
        unordered,
        is_wrapped,
        is_rewritten,
        is_of_fragments: function.place == Place::MacroFragments,
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
        Heir,
        MacroTokens,
        MacroFragments,
    ]);
    let form = match (place, g.random.below(6)) {
        (MacroFragments, _) => Form::Async,
        (TraitMethod | TraitImpl | TraitDefault | Trait | Heir, 0 | 1) => Form::AsyncTrait { above: g.one_in(2) },
        (_, 0) => Form::ImplFuture,
        (_, 1) => Form::Boxed,
        _ => Form::Async,
    };
    (place, form)
}

fn function(g: &mut Grammar, number: u64) -> Function {
    let (place, form) = place_and_form(g);
    let bound = set_up(g, form);
    let lends = form == Form::Async && place != Place::MacroFragments;
    let opaque = form == Form::Async || (form == Form::ImplFuture && g.one_in(2));
    let answer = Answer::new(g, opaque, lends, !form.returns_future());
    let by_async_trait = matches!(form, Form::AsyncTrait { .. });
    let receiver = (place.is_of_type() && !g.one_in(8)).then(|| Receiver::new(g, by_async_trait));
    let parameters = parameters(g, place, &answer);
    let mut scope = scope(place, receiver.as_ref(), &parameters);
    let reach = Reach {
        // A name of the macro's own is not the one that it was given.
        bindings: if place == Place::MacroFragments { &[] } else { &scope },
        stacked: if matches!(place, Place::Trait | Place::Heir) {
            1
        } else {
            3
        },
        inherits: place == Place::Heir,
        number,
    };
    let limits = limits(g, &answer, reach);
    let before = before(g, &mut scope, &limits.used);
    let mut body = Body { g, answer, scope }.write(&limits.used);
    if form == Form::Async && place != Place::MacroFragments && g.one_in(15) {
        body.insert(0, "#![allow(unused_variables)]".to_owned());
    }
    let captures = parameters.iter().any(Parameter::is_captured) || receiver.iter().any(|receiver| receiver.borrows);
    Function {
        place,
        form,
        lifetime: answer.lends() || (form.returns_future() && captures),
        answer,
        host: if place.is_default() {
            Host::PLAIN
        } else {
            g.one_of(&Host::ALL)
        },
        receiver,
        parameters,
        limits,
        body,
        above: neighbour(g, form),
        below: neighbour(g, form),
        visibility: if place.is_trait() {
            ""
        } else {
            g.one_of(&["", "", "pub ", "pub(crate) "])
        },
        bounds_in_where: g.one_in(3),
        by_alias: g.one_in(2),
        before,
        bound,
    }
}

/// Sets what holds for all parts of a function of this form, and returns what a future that it names is bound by.
fn set_up(g: &mut Grammar, form: Form) -> &'static str {
    let says_send = form.returns_future() && g.one_in(2);
    g.send = says_send || matches!(form, Form::AsyncTrait { .. });
    g.refers = !form.returns_future();
    (g.life, g.bound) = if form.returns_future() {
        ("'a ", " + 'a")
    } else {
        ("", "")
    };
    if says_send { " + Send" } else { "" }
}

fn parameters(g: &mut Grammar, place: Place, answer: &Answer) -> Vec<Parameter> {
    let count = if g.one_in(12) { 8 } else { g.random.below(5) };
    let mut parameters: Vec<Parameter> = (0..count).map(|_| parameter::parameter(g)).collect();
    if answer.lends() {
        parameters.push(parameter::lasting(g));
    }
    if place.is_trait() && !place.is_default() {
        parameters.retain(|parameter| parameter.argument.is_some());
    }
    parameters
}

/// Returns what a body can use.
fn scope(place: Place, receiver: Option<&Receiver>, parameters: &[Parameter]) -> Vec<Binding> {
    let given = parameters.iter().filter(|parameter| parameter.argument.is_some());
    let mut scope: Vec<Binding> = given.flat_map(|parameter| parameter.bindings.clone()).collect();
    // A default body knows nothing of the type.
    if !place.is_default() {
        scope.extend(receiver.map(|receiver| receiver.binding.clone()));
    }
    scope
}

/// Returns what a function that returns a future does before it makes it.
fn before(g: &mut Grammar, scope: &mut [Binding], used: &[String]) -> Vec<String> {
    let mut lines = Vec::new();
    if !g.refers && g.one_in(2) {
        lines.extend(["note(\"before\");", "let early = D::new(\"early\");"].map(str::to_owned));
        let ends = |binding: &&mut Binding| is_owned(binding) && !used.contains(&binding.name);
        if let Some(binding) = scope.iter_mut().find(ends) {
            lines.push(format!("drop({});", binding.name));
            (binding.state, binding.mutable) = (State::Gone, false);
        }
    }
    lines
}

/// Returns an attribute of others, or none.
fn neighbour(g: &mut Grammar, form: Form) -> Option<&'static str> {
    let all = [
        "/// Documented.",
        "#[inline]",
        "#[cfg(all())]",
        "#[allow(unused_variables)]",
        "#[must_use]",
        "#[allow(clippy::all)]",
        "#[instrument(skip_all)]",
        "#[cfg_attr(all(), doc = \"Documented.\")]",
        "#[expect(unused_variables, reason = \"perhaps\")]",
    ];
    let usual = if form == Form::Async { &all[..] } else { &all[..5] };
    g.one_in(3).then(|| g.one_of(usual))
}

impl Function {
    /// Returns `true` if what it takes may drop in another order with the attribute. What is bound to nothing drops after a body that is moved
    /// into a block, and an `async` block drops what it captures in the order in which that is first mentioned, where the arguments of
    /// the attribute are mentioned before the body. `#[instrument]` makes such a block.
    fn drops_in_any_order(&self) -> bool {
        let moved = self.is_wrapped();
        let captured = self.form.returns_future() && (moved || !self.limits.used.is_empty());
        (moved && self.parameters.iter().any(|parameter| parameter.leaves_unbound))
            || captured
            || self.is_instrumented()
    }

    /// Returns `true` if the body has to be within a block, so that something can follow it.
    fn is_wrapped(&self) -> bool {
        self.limits.settle() || self.answer.is_response()
    }

    fn is_instrumented(&self) -> bool {
        self.above
            .iter()
            .chain(&self.below)
            .any(|line| line.contains("instrument"))
    }
}
