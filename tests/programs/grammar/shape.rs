//! Where a function stands, and its text with everything around it.

use super::Grammar;
use super::answer::Answer;
use super::body::Body;
use super::limit::{Limits, Reach, limits};
use super::parameter::{self, Parameter};
use super::receiver::Receiver;
use crate::case::{Case, LIMIT};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
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
enum Form {
    Async,
    ImplFuture,
    Boxed,
    /// By `#[async_trait]`, and whether our attribute on a block stands above it.
    AsyncTrait {
        above: bool,
    },
}

const HOST: &str = "\
#[allow(dead_code)]
struct Host {
name: D,
n: u32,
}
#[allow(dead_code)]
impl Host {
fn key(&self) -> u32 {
self.n
}
}";

struct Function {
    place: Place,
    form: Form,
    answer: Answer,
    receiver: Option<Receiver>,
    parameters: Vec<Parameter>,
    limits: Limits,
    body: Vec<String>,
    above: Vec<&'static str>,
    below: Vec<&'static str>,
    visibility: &'static str,
    bounds_in_where: bool,
    lifetime: bool,
    /// What an `impl Future` says of itself beside its output.
    bound: &'static str,
}

pub fn case(mut g: Grammar, number: u64) -> Case {
    let function = function(&mut g, number);
    let text = [function.around(), function.glue()].concat().join("\n");
    let limits = &function.limits;
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
        bound: if says_send { " + Send" } else { "" },
    }
}

fn is_trait(place: Place) -> bool {
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

    fn limit_lines(&self) -> Vec<String> {
        self.limits
            .attributes
            .iter()
            .map(|attribute| format!("{LIMIT}{attribute}"))
            .collect()
    }

    /// Whether the attribute stands on the block that the function is in.
    fn on_block(&self) -> bool {
        matches!(self.place, Place::Impl | Place::TraitImpl | Place::Trait)
    }

    fn generics(&self) -> (String, String) {
        let lifetime = self.lifetime.then(|| "'a".to_owned());
        let declared = self
            .parameters
            .iter()
            .filter(|p| p.argument.is_some())
            .filter_map(|p| p.generic.clone());
        let mut conditions = Vec::new();
        let mut names: Vec<String> = lifetime.into_iter().collect();
        for generic in declared {
            match generic.split_once(": ") {
                Some((name, bound)) if self.bounds_in_where && !name.starts_with("const") => {
                    names.push(name.to_owned());
                    conditions.push(format!("{name}: {bound}"));
                }
                _ => names.push(generic),
            }
        }
        // Constants come last.
        names.sort_by_key(|name| name.starts_with("const"));
        let names = if names.is_empty() {
            String::new()
        } else {
            format!("<{}>", names.join(", "))
        };
        let conditions = if conditions.is_empty() {
            String::new()
        } else {
            format!(" where {}", conditions.join(", "))
        };
        (names, conditions)
    }

    fn signature(&self, declared: bool) -> String {
        let (generics, conditions) = self.generics();
        let receiver = self.receiver.iter().map(|receiver| match declared {
            true => receiver.declared().to_owned(),
            false => receiver.written.to_owned(),
        });
        let parameters = self
            .parameters
            .iter()
            .enumerate()
            .map(|(position, parameter)| match declared {
                true => format!("p{position}: {}", parameter.ty),
                false => format!("{}{}: {}", parameter.attr, parameter.pattern, parameter.ty),
            });
        let inputs = receiver.chain(parameters).collect::<Vec<_>>().join(", ");
        let lifetime = if self.lifetime { " + 'a" } else { "" };
        let bound = self.bound;
        let output = self.answer.ty();
        let (keyword, arrow) = match self.form {
            Form::Async | Form::AsyncTrait { .. } => ("async ", self.answer.arrow()),
            Form::ImplFuture => ("", format!(" -> impl Future<Output = {output}>{bound}{lifetime}")),
            Form::Boxed => (
                "",
                format!(" -> Pin<Box<dyn Future<Output = {output}>{bound}{lifetime}>>"),
            ),
        };
        let visibility = self.visibility;
        format!("{visibility}{keyword}fn f{generics}({inputs}){arrow}{conditions}")
    }

    /// The function with what stands on it.
    fn written(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.above.iter().map(|line| (*line).to_owned()).collect();
        if !self.on_block() {
            lines.extend(self.limit_lines());
        }
        lines.extend(self.below.iter().map(|line| (*line).to_owned()));
        lines.push(format!("{} {{", self.signature(false)));
        let before = [
            "note(\"before\");".to_owned(),
            "let early = D::new(\"early\");".to_owned(),
        ];
        match self.form {
            Form::Async | Form::AsyncTrait { .. } => lines.extend(self.body.iter().cloned()),
            form => {
                let (open, close) = if form == Form::Boxed {
                    ("Box::pin(async move {", "})")
                } else {
                    ("async move {", "}")
                };
                lines.extend(before);
                lines.push(open.to_owned());
                lines.extend(self.body.iter().cloned());
                lines.push(close.to_owned());
            }
        }
        lines.push("}".to_owned());
        lines
    }

    /// The function in what it stands in.
    fn around(&self) -> Vec<String> {
        let host = HOST.lines().map(str::to_owned);
        let block = |header: &str, lines: Vec<String>| {
            let mut all = vec![format!("{header} {{")];
            all.extend(lines);
            all.push("}".to_owned());
            all
        };
        let limits = |on_block: bool| if on_block { self.limit_lines() } else { Vec::new() };
        let by_async_trait = |limited: bool| match self.form {
            Form::AsyncTrait { above: true } => [limits(limited), vec!["#[async_trait]".to_owned()]].concat(),
            Form::AsyncTrait { above: false } => [vec!["#[async_trait]".to_owned()], limits(limited)].concat(),
            _ => limits(limited),
        };
        let other = ["const OTHER: u32 = 3;", "fn other(&self) -> u32 { Self::OTHER * 2 }"]
            .map(str::to_owned)
            .to_vec();
        match self.place {
            Place::Free => [self.written(), self.idle()].concat(),
            Place::Method => host.chain(block("impl Host", self.written())).collect(),
            Place::Impl => {
                let items = [other, self.written()].concat();
                host.chain(limits(true)).chain(block("impl Host", items)).collect()
            }
            Place::TraitMethod | Place::TraitImpl => {
                let on_impl = self.place == Place::TraitImpl;
                let declared = vec![format!("{};", self.signature(true))];
                let parts = [
                    by_async_trait(false),
                    block("trait Does", declared),
                    by_async_trait(on_impl),
                    block("impl Does for Host", self.written()),
                ];
                host.chain(parts.concat()).collect()
            }
            Place::TraitDefault | Place::Trait => {
                let on_trait = self.place == Place::Trait;
                let sync = match self.form {
                    Form::AsyncTrait { .. } => ": Send + Sync + Sized + 'static",
                    _ if self.bound.is_empty() => ": Sized + 'static",
                    _ => ": Send + Sync + Sized + 'static",
                };
                let parts = [
                    by_async_trait(on_trait),
                    block(&format!("trait Does{sync}"), self.written()),
                    by_async_trait(false),
                    block("impl Does for Host", Vec::new()),
                ];
                host.chain(parts.concat()).collect()
            }
            Place::MacroTokens => {
                let definition =
                    ["macro_rules! pass {", "($($tokens:tt)*) => { $($tokens)* };", "}"].map(str::to_owned);
                [definition.to_vec(), block("pass!", self.written())].concat()
            }
            Place::MacroFragments => self.by_fragments(),
        }
    }

    /// A function that nothing calls.
    fn idle(&self) -> Vec<String> {
        let limit = format!("{LIMIT}#[limit_per_time(key = 1)]");
        [
            limit.as_str(),
            "async fn idle() -> Result<(), Fail> {",
            "yield_now().await;",
            "Ok(())",
            "}",
        ]
        .map(str::to_owned)
        .to_vec()
    }

    /// The function made of an expression, types, patterns and a block that a macro was given.
    fn by_fragments(&self) -> Vec<String> {
        let parameters: Vec<&Parameter> = self.parameters.iter().filter(|p| p.argument.is_some()).collect();
        let (generics, conditions) = self.generics();
        let mut lines = vec!["macro_rules! make {".to_owned()];
        lines.push("($e:expr, $ret:ty, [$($p:pat => $t:ty),*], $body:block) => {".to_owned());
        lines.extend(self.limit_lines());
        lines.push(format!("async fn f{generics}($($p: $t),*) -> $ret{conditions} {{"));
        lines.extend(
            [
                "note($e * 2);",
                "let closure = |n: u32| n * $e;",
                "note(closure(2));",
                "$body",
            ]
            .map(str::to_owned),
        );
        lines.extend(["}", "};", "}"].map(str::to_owned));
        let given = parameters
            .iter()
            .map(|p| format!("{} => {}", p.pattern, p.ty))
            .collect::<Vec<_>>()
            .join(", ");
        lines.push(format!("make!(1 + input(), {}, [{given}], {{", self.answer.ty()));
        lines.extend(self.body.iter().cloned());
        lines.push("});".to_owned());
        lines
    }

    /// What calls it.
    fn glue(&self) -> Vec<String> {
        let mut lines = vec![
            "#[allow(warnings, clippy::all, clippy::pedantic, clippy::nursery)]".to_owned(),
            "pub(crate) async fn glue(mode: Mode) {".to_owned(),
        ];
        lines.extend(self.parameters.iter().filter_map(|parameter| parameter.owner.clone()));
        let arguments = self
            .parameters
            .iter()
            .filter_map(|parameter| parameter.argument.clone());
        let arguments = arguments.collect::<Vec<_>>().join(", ");
        let is_method = !matches!(self.place, Place::Free | Place::MacroTokens | Place::MacroFragments);
        let called = match &self.receiver {
            Some(receiver) => {
                lines.push("let mut host = Host { name: D::new(\"phost\"), n: 3 };".to_owned());
                lines.extend(receiver.owner.map(str::to_owned));
                format!("{}.f", receiver.argument)
            }
            None if is_trait(self.place) => "<Host as Does>::f".to_owned(),
            None if is_method => "Host::f".to_owned(),
            None => "f".to_owned(),
        };
        lines.push(format!("let call = {called}({arguments});"));
        lines.push("note(format_args!(\"send: {}\", Probe::of(&call).is_send()));".to_owned());
        lines.push(match self.answer.is_response() {
            true => "drive(async move { call.await.into_response() }, mode).await;".to_owned(),
            false => "drive(call, mode).await;".to_owned(),
        });
        lines.push("}".to_owned());
        lines
    }
}
