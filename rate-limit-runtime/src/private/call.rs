//! One call of an annotated function.

use std::time::SystemTime;

use smallvec::SmallVec;

use super::numbers::NOTHING;
use super::refusals::{no_bucket, unknown_policy};
use super::within::Within;
use crate::algorithm::Answer;
use crate::charged;
use crate::current;
use crate::decision::{DecidedBy, Decision};
use crate::key::{Client, Id, Key, KeyError, KeyHasher};
use crate::limiter::{Limiter, Rules};
use crate::method::Method;
use crate::observe::{self, Decided};
use crate::permit::Permit;
use crate::policies::Policies;
use crate::policy::{Algorithm, Policy};
use crate::registry::{self, Numbers, SettleOn, Site, SiteRule, TraitNumbers, TypeName};
use crate::rejection::{Rejection, RejectionKind};
use crate::report;
use crate::rule::Rule;
use crate::scopes;
use crate::store::{Demand, MemoryStore, Reply};
use crate::under_way::UnderWay;

/// A future of the decision, for a call that is not admitted immediately.
type Admission = Reply<Result<(), Rejection>>;

/// Decides a call of one rule, as [`Call::admit`] does.
pub fn admit(site: &'static Site, key: &mut KeyHasher) -> Result<(), Admission> {
    let mut call = Call::new(site);
    call.rule(key);
    call.admit()
}

/// What is known of a call before it is decided.
#[derive(Debug)]
pub struct Call<'a> {
    site: &'static Site,
    rules: SmallVec<[Asked<'a>; 2]>,
    /// The place of the next rule.
    place: u8,
    at: Option<SystemTime>,
    limiter: Option<Limiter>,
}

/// What most calls are: by a single rule of constant numbers, in the embedded store, with nothing set around them. They are decided with
/// nothing that only others need.
struct Simple<'a> {
    #[cfg(feature = "admin")]
    limiter: &'a Limiter,
    store: &'a MemoryStore,
    id: Id,
    /// Of the rule.
    ordinal: u8,
    demand: Demand<'a>,
}

/// One rule of a call: of each attribute, unless it is skipped.
#[derive(Debug)]
struct Asked<'a> {
    of: &'static SiteRule,
    numbers: &'static Numbers,
    client: Result<&'a Client, KeyError>,
    place: u8,
    cost: u32,
    /// Whether its numbers have counters of their own, beside those of other numbers of the function.
    by_numbers: bool,
}

impl Asked<'_> {
    fn rule(&self, call: &Call<'_>, policy: Policy, client: Client) -> Rule {
        let mut rule = Rule::new(policy, Key::new(*call.site.method(), client))
            .place(self.place)
            .cost(self.cost);
        if self.of.observe {
            rule = rule.observe();
        }
        if let Some(at) = call.at {
            rule = rule.at(at);
        }
        if let Some(mode) = self.of.on_store_error {
            rule = rule.on_store_error(mode);
        }
        rule
    }
}

impl<'a> Call<'a> {
    /// Returns a call of the function at `site`.
    #[inline]
    #[must_use]
    pub const fn new(site: &'static Site) -> Self {
        Self {
            site,
            rules: SmallVec::new_const(),
            place: 0,
            at: None,
            limiter: None,
        }
    }

    /// Adds the next rule, for the client that `key` names, with the numbers of the site.
    #[inline(always)]
    pub fn rule(&mut self, key: &'a mut KeyHasher) {
        let of = self.next();
        self.add(of, of.numbers.as_ref().unwrap_or(&NOTHING), false, key);
    }

    /// Adds the next rule, with numbers that are constant expressions, which may be others in another instance of the function. `here` is
    /// the name of a closure in this one.
    #[inline]
    pub fn rule_of(&mut self, numbers: &'static Numbers, here: TypeName, key: &'a mut KeyHasher) {
        let by_numbers = match numbers {
            Numbers::Own(policy) => self.site.counts_by_numbers(self.place, *policy, here),
            Numbers::Named(_) => false,
        };
        self.add(self.next(), numbers, by_numbers, key);
    }

    /// Adds the next rule, with the numbers of a trait.
    #[inline]
    pub fn rule_of_trait(&mut self, numbers: &'static TraitNumbers, here: TypeName, key: &'a mut KeyHasher) {
        match numbers.constant {
            true => self.rule_of(&numbers.numbers, here, key),
            false => self.add(self.next(), &numbers.numbers, false, key),
        }
    }

    #[inline(always)]
    fn add(&mut self, of: &'static SiteRule, numbers: &'static Numbers, by_numbers: bool, key: &'a mut KeyHasher) {
        self.rules.push(Asked {
            of,
            numbers,
            client: key.finish(),
            place: self.place,
            cost: 1,
            by_numbers,
        });
        self.skip();
    }

    #[inline(always)]
    fn next(&self) -> &'static SiteRule {
        &self.site.rules()[usize::from(self.place)]
    }

    /// Leaves out the next rule, which does not hold for this call: those after it keep their places.
    #[inline]
    pub fn skip(&mut self) {
        self.place += 1;
    }

    pub(super) const fn site(&self) -> &'static Site {
        self.site
    }

    /// Returns for each rule how it settles the call.
    pub(super) fn settle_on(&self) -> impl Iterator<Item = Option<SettleOn>> {
        self.rules.iter().map(|asked| asked.of.settle)
    }

    /// Sets the cost of the last rule.
    #[inline]
    pub fn cost(&mut self, cost: u32) {
        if let Some(rule) = self.rules.last_mut() {
            rule.cost = cost;
        }
    }

    /// Sets the time of the event from `at = ..`.
    #[inline]
    pub fn at(&mut self, at: SystemTime) {
        self.at = Some(at);
    }

    /// Sets the limiter from `limiter = ..`.
    #[inline]
    pub fn limiter(&mut self, limiter: Limiter) {
        self.limiter = Some(limiter);
    }

    /// Begins the call of a function with `name = ".."`. It is under way until what this returns is dropped.
    #[inline]
    pub fn under_way(&self) -> Option<UnderWay> {
        if !self.site.shares_its_name(registry::shares_its_name) {
            return None;
        }
        let counters = self
            .rules
            .iter()
            .filter_map(|asked| Some((asked.place, *asked.client.ok()?)));
        UnderWay::begin(self.site, counters.collect())
    }

    /// Decides the call: by the embedded store at once, without allocating. For a call that is admitted at once, as most are, nothing is
    /// moved and nothing awaited.
    ///
    /// # Errors
    ///
    /// What tells whether the body runs, when it is awaited.
    pub fn admit(&self) -> Result<(), Admission> {
        let Some(simple) = self.as_simple() else {
            return Err(self.permit().map(|permit| permit.map(drop)));
        };
        #[cfg(feature = "admin")]
        if simple.limiter.watch().is_some() {
            return self.admit_shown(simple);
        }
        match simple.store.admit(simple.id, simple.demand) {
            None => {
                let decided = Decided::unseen(self.site.method(), None).by(DecidedBy::Store, simple.ordinal);
                observe::decided(None, &decided);
                Ok(())
            }
            Some(answer) => self.refused(simple.demand.policy, simple.ordinal, answer),
        }
    }

    #[inline]
    fn as_simple(&self) -> Option<Simple<'_>> {
        let [
            Asked {
                numbers: Numbers::Own(policy),
                client: Ok(client),
                place,
                cost,
                of: SiteRule { observe: false, .. },
                by_numbers,
            },
        ] = &self.rules[..]
        else {
            return None;
        };
        if self.at.is_some() || scopes::any() {
            return None;
        }
        let limiter = self.limiter.as_ref().unwrap_or_else(|| current::default());
        let mut counted = self.site.method().hash_counted_by(policy.algorithm(), *place);
        if *by_numbers {
            counted = Method::hash_counted_for(counted, policy);
        }
        Some(Simple {
            #[cfg(feature = "admin")]
            limiter,
            store: limiter.embedded_without_policies()?,
            id: Id::new(counted, client),
            ordinal: *place,
            demand: Demand {
                policy,
                cost: *cost,
                at: None,
            },
        })
    }

    /// Decides a simple call where somebody watches the limiter. What an admission leaves is looked at once more.
    #[cfg(feature = "admin")]
    #[inline(never)]
    fn admit_shown(&self, simple: Simple<'_>) -> Result<(), Admission> {
        let policy = *simple.demand.policy;
        let refusal = simple.store.admit(simple.id, simple.demand);
        let answer = refusal.unwrap_or_else(|| simple.store.look(simple.id, simple.demand));
        let rule = match &self.rules[..] {
            [asked] => asked.client.ok().map(|client| asked.rule(self, policy, *client)),
            _ => None,
        };
        let (method, decision) = (self.site.method(), Decision::new(policy, answer));
        let decided = match &rule {
            Some(rule) => Decided::of(method, refusal.map(kind), std::slice::from_ref(rule), 0, &decision),
            None => Decided::unseen(method, refusal.map(kind)),
        };
        observe::decided(Some(simple.limiter), &decided);
        match decided.refused {
            None => Ok(()),
            Some(kind) => Err(Reply::ready(Err(
                Rejection::new(kind, method, policy).with_decision(decision)
            ))),
        }
    }

    #[inline(never)]
    fn refused(&self, policy: &Policy, ordinal: u8, answer: Answer) -> Result<(), Admission> {
        let (kind, method) = (kind(answer), self.site.method());
        observe::decided(None, &Decided::unseen(method, Some(kind)).by(DecidedBy::Store, ordinal));
        let rejection = Rejection::new(kind, method, *policy);
        Err(Reply::ready(Err(
            rejection.with_decision(Decision::new(*policy, answer))
        )))
    }

    /// As [`admit`](Self::admit), for a body that looks at the permit.
    pub fn permit(&self) -> Reply<Result<Permit, Rejection>> {
        current::with_current(self.limiter.as_ref(), |limiter| self.permit_by(limiter))
    }

    fn permit_by(&self, limiter: &Limiter) -> Reply<Result<Permit, Rejection>> {
        let rules = match self.resolve_all(limiter) {
            Ok(rules) => rules,
            Err(rejection) => return Reply::ready(Err(rejection)),
        };
        let method = self.site.method();
        limiter.admit(rules).map(move |answer| {
            report::note_answer(method, &answer);
            answer
        })
    }

    /// As [`admit`](Self::admit), in the caller's transaction.
    ///
    /// # Errors
    ///
    /// [`Rejection`] if the body is not to run.
    pub fn admit_within<'t>(&self, transaction: Within<'t>) -> impl Future<Output = Result<(), Rejection>> + use<'t> {
        let permit = self.permit_within(transaction);
        async { permit.await.map(drop) }
    }

    /// As [`permit`](Self::permit), in the caller's transaction.
    ///
    /// # Errors
    ///
    /// [`Rejection`] if the body is not to run.
    pub fn permit_within<'t>(
        &self,
        transaction: Within<'t>,
    ) -> impl Future<Output = Result<Permit, Rejection>> + use<'t> {
        let limiter = current::with_current(self.limiter.as_ref(), Limiter::clone);
        let (rules, method) = (self.resolve_all(&limiter), self.site.method());
        async move {
            let answer = match rules?.first() {
                Some(rule) => transaction.check(&limiter, *rule).await,
                None => Ok(Permit::unseen(limiter)),
            };
            report::note_answer(method, &answer);
            answer
        }
    }

    /// Returns the rules with the current policies, all read at the same moment.
    fn resolve_all(&self, limiter: &Limiter) -> Result<Rules, Rejection> {
        limiter.with_policies(|policies| {
            let resolve = |asked| self.resolve(limiter, policies, asked);
            self.rules.iter().map(resolve).collect()
        })
    }

    fn resolve(&self, limiter: &Limiter, policies: Option<&Policies>, asked: &Asked<'_>) -> Result<Rule, Rejection> {
        let method = self.site.method();
        let policy = asked.numbers.policy(policies, method, asked.place);
        let policy = policy.ok_or_else(|| unknown_policy(method, asked.numbers, limiter))?;
        if self.at.is_some() && policy.algorithm() != Algorithm::TokenBucket {
            return Err(no_bucket(method, policy, limiter));
        }
        let client = asked
            .client
            .map_err(|error| Rejection::of_nobody(&error, method, policy, limiter))?;
        let mut rule = asked.rule(self, policy, *client);
        // A configured policy is one for all instances.
        if asked.by_numbers && policies.is_none_or(|policies| policies.of(method, asked.place).is_none()) {
            rule = rule.by_numbers();
        }
        charged::warn_if_twice(|| rule.charge().key);
        Ok(rule)
    }
}

/// Why the embedded store refuses.
#[inline]
const fn kind(answer: Answer) -> RejectionKind {
    match answer {
        Answer::Never => RejectionKind::Impossible,
        Answer::Fits { .. } | Answer::Refused { .. } => RejectionKind::Limited,
    }
}

/// Returns the limiter of `limiter = ..`, which is not borrowed while the call waits.
#[must_use]
pub fn limiter(given: &Limiter) -> Limiter {
    given.clone()
}

/// A function from a rejection to what a refused call returns.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be `on_limit`",
    label = "this is not a closure from a `Rejection` to `{R}`",
    note = "write `on_limit = |rejection| value`, with a value of type `{R}`"
)]
pub trait OnLimit<R>: FnOnce(Rejection) -> R {}

#[diagnostic::do_not_recommend]
impl<R, F: FnOnce(Rejection) -> R> OnLimit<R> for F {}

/// Returns the value of `on_limit`, with the types pinned so that the closure need not name them.
pub fn on_limit<R>(rejection: Rejection, value: impl OnLimit<R>) -> R {
    value(rejection)
}
