//! One call of an annotated function.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Poll, ready};
use std::time::{Duration, SystemTime};

use smallvec::SmallVec;

use super::within::Within;
use crate::algorithm::Answer;
use crate::charged;
use crate::client;
use crate::current;
use crate::decision::{DecidedBy, Decision};
use crate::failure::OnStoreError;
use crate::key::{Client, Id, Key, KeyError};
use crate::limiter::{Limiter, Rules, Unsettled};
use crate::method::Method;
use crate::observe::{self, Decided};
use crate::permit::{Permit, Settle};
use crate::policies::Policies;
use crate::policy::{Algorithm, Policy};
use crate::registry::{self, Numbers, TraitNumbers};
use crate::rejection::{Rejection, RejectionKind};
use crate::report;
use crate::rule::Rule;
use crate::scopes;
use crate::site::{Site, TypeName};
use crate::store::{Demand, MemoryStore, Reply};
use crate::throttle::log_throttled;
use crate::under_way::UnderWay;

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
    numbers: &'static Numbers,
    client: Result<&'a Client, KeyError>,
    place: u8,
    cost: u32,
    observe: bool,
    /// Whether its numbers have counters of their own, beside those of other numbers of the function.
    by_numbers: bool,
    on_store_error: Option<OnStoreError>,
    settle: Option<SettleOn>,
}

/// When a rule settles a call, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettleOn {
    /// Forget the record up to this call, after a success.
    ResetOnSuccess,
    /// Take back the charge, after a success.
    RefundOnSuccess,
    /// Take back the charge, after anything else.
    RefundOnError,
}

impl SettleOn {
    /// How a rule settles a call that ended so.
    const fn after(self, success: bool) -> Option<Settle> {
        match (self, success) {
            (Self::ResetOnSuccess, true) => Some(Settle::Reset),
            (Self::RefundOnSuccess, true) | (Self::RefundOnError, false) => Some(Settle::Refund),
            _ => None,
        }
    }
}

impl Asked<'_> {
    fn rule(&self, call: &Call<'_>, policy: Policy, client: Client) -> Rule {
        let mut rule = Rule::new(policy, Key::new(*call.site.method(), client))
            .place(self.place)
            .cost(self.cost);
        if self.observe {
            rule = rule.observe();
        }
        if let Some(at) = call.at {
            rule = rule.at(at);
        }
        if let Some(mode) = self.on_store_error {
            rule = rule.on_store_error(mode);
        }
        rule
    }
}

impl<'a> Call<'a> {
    /// A call of the function at `site`.
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

    /// One more rule.
    #[inline]
    pub fn rule(&mut self, numbers: &'static Numbers, client: Result<&'a Client, KeyError>) {
        self.rules.push(Asked {
            numbers,
            client,
            place: self.place,
            cost: 1,
            observe: false,
            by_numbers: false,
            on_store_error: None,
            settle: None,
        });
        self.skip();
    }

    /// A rule that does not hold for this call: those after it keep their places.
    #[inline]
    pub fn skip(&mut self) {
        self.place += 1;
    }

    /// What `cost = ..` says of the last rule.
    #[inline]
    pub fn cost(&mut self, cost: u32) {
        self.change_last(|rule| rule.cost = cost);
    }

    /// What `observe` says of the last rule.
    #[inline]
    pub fn observe(&mut self) {
        self.change_last(|rule| rule.observe = true);
    }

    /// Says of the last rule that its numbers are constant expressions, which may be others in another instance of the function. `here` is
    /// the name of a closure in this one.
    #[inline]
    pub fn constant(&mut self, here: TypeName) {
        let site = self.site;
        self.change_last(|rule| {
            if let Numbers::Own(numbers) = rule.numbers {
                rule.by_numbers = site.counts_by_numbers(rule.place, *numbers, here);
            }
        });
    }

    /// Says of the last rule that its numbers are those of a trait.
    #[inline]
    pub fn of_trait(&mut self, numbers: &TraitNumbers, here: TypeName) {
        if numbers.constant {
            self.constant(here);
        }
    }

    /// What `on_store_error = ..` says of the last rule.
    #[inline]
    pub fn on_store_error(&mut self, mode: OnStoreError) {
        self.change_last(|rule| rule.on_store_error = Some(mode));
    }

    /// What `reset_on_success`, `refund_on_success` or `refund_on_error` says of the last rule.
    #[inline]
    pub fn settle(&mut self, settle: SettleOn) {
        self.change_last(|rule| rule.settle = Some(settle));
    }

    #[inline]
    fn change_last(&mut self, change: impl FnOnce(&mut Asked<'a>)) {
        self.rules.last_mut().map(change);
    }

    /// What `at = ..` says.
    #[inline]
    pub fn at(&mut self, at: SystemTime) {
        self.at = Some(at);
    }

    /// What `limiter = ..` gives.
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

    /// Decides the call: by the embedded store at once, without allocating.
    pub fn admit(&self) -> Reply<Result<(), Rejection>> {
        let Some(simple) = self.as_simple() else {
            return self.permit().map(|permit| permit.map(drop));
        };
        #[cfg(feature = "admin")]
        if simple.limiter.watch().is_some() {
            return self.admit_shown(simple);
        }
        match simple.store.admit(simple.id, simple.demand) {
            None => {
                let decided = Decided::unseen(self.site.method(), None).by(DecidedBy::Store, simple.ordinal);
                observe::decided(None, &decided);
                Reply::ready(Ok(()))
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
                observe: false,
                by_numbers,
                ..
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
    fn admit_shown(&self, simple: Simple<'_>) -> Reply<Result<(), Rejection>> {
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
        Reply::ready(match decided.refused {
            None => Ok(()),
            Some(kind) => Err(Rejection::new(kind, method, policy).with_decision(decision)),
        })
    }

    #[inline(never)]
    fn refused(&self, policy: &Policy, ordinal: u8, answer: Answer) -> Reply<Result<(), Rejection>> {
        let (kind, method) = (kind(answer), self.site.method());
        observe::decided(None, &Decided::unseen(method, Some(kind)).by(DecidedBy::Store, ordinal));
        let rejection = Rejection::new(kind, method, *policy);
        Reply::ready(Err(rejection.with_decision(Decision::new(*policy, answer))))
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

    /// The rules with the policies that hold now, all of one moment.
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

    /// As [`admit`](Self::admit), for a call that is settled, by what is left in `place`.
    pub fn settled<'p>(
        &self,
        place: &'p mut Option<Settling>,
    ) -> impl Future<Output = Result<(), Rejection>> + Send + use<'p> {
        let settling = place.insert(Settling {
            site: self.site,
            how: self.rules.iter().map(|asked| asked.settle).collect(),
            permit: self.permit(),
        });
        poll_fn(|context| {
            let permit = settling.permit.poll_in_place(context);
            permit.map(|permit| match permit {
                Some(Err(rejection)) => Err(*rejection),
                _ => Ok(()),
            })
        })
    }
}

/// A call that is to be settled. The answer of the store stays in one place from the check to the settlement, so that the future
/// of the function has room for it once.
#[derive(Debug)]
pub struct Settling {
    site: &'static Site,
    permit: Reply<Result<Permit, Rejection>>,
    how: SmallVec<[Option<SettleOn>; 4]>,
}

impl Settling {
    fn permit(&self) -> Option<&Permit> {
        self.permit.answer()?.as_ref().ok()
    }
}

/// Whether the call was admitted.
#[must_use]
pub fn is_admitted(settling: &Option<Settling>) -> bool {
    settling.as_ref().is_some_and(|settling| settling.permit().is_some())
}

/// Settles a call that was admitted. What goes wrong never reaches the caller.
pub fn settle(settling: &Option<Settling>, success: bool) -> impl Future<Output = ()> + Send + use<> {
    let mut told = settling.as_ref().and_then(|settling| {
        let permit = settling.permit()?;
        let how = |place: usize| settling.how.get(place).copied().flatten()?.after(success);
        let unsettled = unsettled(settling.how.iter().filter_map(|how| (*how)?.after(success)));
        Some((permit.settle(how), settling.site, permit.limiter().clone(), unsettled))
    });
    // An `async` block would have room for all this twice.
    poll_fn(move |context| {
        if let Some((reply, site, limiter, unsettled)) = &mut told
            && let Err(error) = ready!(Pin::new(reply).poll(context))
        {
            limiter.note_unsettled(site.method(), *unsettled, &error);
        }
        Poll::Ready(())
    })
}

/// What is not done, if the store does not hear of these.
fn unsettled(mut all: impl Iterator<Item = Settle>) -> Unsettled {
    let first = all.next();
    match all.all(|next| Some(next) == first) {
        true if first == Some(Settle::Reset) => Unsettled::Reset,
        true => Unsettled::Refund,
        false => Unsettled::Both,
    }
}

/// What `deny_if` turns away. It is turned away before `limiter = ..` is evaluated, so its policy is that of the limiter that holds
/// without.
#[must_use]
pub fn denied(site: &'static Site, numbers: &'static Numbers) -> Rejection {
    let method = site.method();
    let limiter = current::known();
    let policy = match (&limiter, numbers) {
        (Some(limiter), _) => limiter.with_policies(|policies| numbers.policy(policies, method, 0)),
        (None, Numbers::Own(policy)) => Some(*policy),
        (None, Numbers::Named(_)) => None,
    };
    let refused = Some(RejectionKind::Denied);
    observe::decided(limiter.as_ref(), &Decided::unseen(method, refused));
    Rejection::new(RejectionKind::Denied, method, policy.unwrap_or(Policy::NOTHING))
}

/// Why the embedded store refuses.
#[inline]
const fn kind(answer: Answer) -> RejectionKind {
    match answer {
        Answer::Never => RejectionKind::Impossible,
        Answer::Fits { .. } | Answer::Refused { .. } => RejectionKind::Limited,
    }
}

/// Refuses a call whose policy the limiter does not have, which the log says.
#[cold]
pub(crate) fn unknown_policy(method: &Method, numbers: &Numbers, limiter: &Limiter) -> Rejection {
    if let Numbers::Named(policy) = numbers {
        log_throttled!(
            error,
            method.name(),
            policy,
            "the limiter has no policy by the name that the function or layer asks for, so every call is refused: add it to the \
             `Policies` of the limiter"
        );
    }
    misconfigured(method, Policy::NOTHING, limiter)
}

#[cold]
fn no_bucket(method: &Method, policy: Policy, limiter: &Limiter) -> Rejection {
    log_throttled!(
        error,
        method.name(),
        %policy,
        "only a token bucket goes by the time of the event, so every call is refused: make the policy one, or leave out `at`"
    );
    misconfigured(method, policy, limiter)
}

fn misconfigured(method: &Method, policy: Policy, limiter: &Limiter) -> Rejection {
    let kind = RejectionKind::Misconfigured;
    observe::decided(Some(limiter), &Decided::unseen(method, Some(kind)));
    Rejection::new(kind, method, policy)
}

/// The client of a rule without a key.
#[must_use]
pub fn ambient() -> Ambient {
    Ambient(client::ambient())
}

/// The client that is set here, if one is.
#[derive(Debug)]
pub struct Ambient(Result<Client, KeyError>);

impl Ambient {
    /// As the key of a rule tells it.
    ///
    /// # Errors
    ///
    /// [`KeyError`] if none is set here.
    pub fn client(&self) -> Result<&Client, KeyError> {
        self.0.as_ref().map_err(|error| *error)
    }
}

/// The limiter of `limiter = ..`, which is not borrowed while the call waits.
#[must_use]
pub fn limiter(given: &Limiter) -> Limiter {
    given.clone()
}

/// The value of `on_limit`, with the types pinned so that the closure need not name them.
pub fn on_limit<R>(rejection: Rejection, value: impl FnOnce(Rejection) -> R) -> R {
    value(rejection)
}

/// The numbers of a trait, as a rule takes them.
#[must_use]
pub const fn numbers_of_trait(numbers: &'static TraitNumbers) -> &'static Numbers {
    &numbers.numbers
}

/// The numbers of two literals, which were checked when they were read; the window in microseconds.
#[inline]
#[must_use]
pub const fn sliding_window(count: u32, window: u64) -> Numbers {
    Numbers::Own(Policy::sliding_window(count, Duration::from_micros(window)))
}

/// As [`sliding_window`].
#[inline]
#[must_use]
pub const fn fixed_window(count: u32, window: u64) -> Numbers {
    Numbers::Own(Policy::fixed_window(count, Duration::from_micros(window)))
}

/// As [`sliding_window`].
#[inline]
#[must_use]
pub const fn token_bucket(capacity: u32, refill: u64) -> Numbers {
    Numbers::Own(Policy::token_bucket(capacity, Duration::from_micros(refill)))
}

/// The count of an attribute that is a constant. Checked here, so that the compiler points at it.
#[must_use]
#[track_caller]
pub const fn count(count: u32) -> u32 {
    assert!(count > 0, "a count of 0 admits nobody: write 1 or more");
    assert!(count <= Policy::MAX_COUNT, "a count is at most 10,000,000");
    count
}

/// As [`count`], of a bucket.
#[must_use]
#[track_caller]
pub const fn capacity(capacity: u32) -> u32 {
    assert!(capacity > 0, "a capacity of 0 admits nobody: write 1 or more");
    assert!(capacity <= Policy::MAX_COUNT, "a capacity is at most 10,000,000");
    capacity
}

/// The window of an attribute that is a constant. Checked here, so that the compiler points at it.
#[must_use]
#[track_caller]
pub const fn window(window: Duration) -> Duration {
    assert!(
        window.as_nanos() >= Policy::MIN_WINDOW.as_nanos(),
        "a window is at least 1 millisecond"
    );
    assert!(
        window.as_nanos() <= Policy::MAX_WINDOW.as_nanos(),
        "a window is at most 36,500 days"
    );
    window
}

/// As [`window`], of a block.
#[must_use]
#[track_caller]
pub const fn block(block: Duration) -> Duration {
    assert!(
        block.as_nanos() >= Policy::MIN_WINDOW.as_nanos(),
        "a block is at least 1 millisecond"
    );
    assert!(
        block.as_nanos() <= Policy::MAX_WINDOW.as_nanos(),
        "a block is at most 36,500 days"
    );
    block
}

/// The refill of an attribute that is a constant. Checked here, so that the compiler points at it.
#[must_use]
#[track_caller]
pub const fn refill(refill: Duration) -> Duration {
    assert!(
        !refill.is_zero(),
        "a refill takes some time: write in which time the bucket gains one token"
    );
    refill
}
