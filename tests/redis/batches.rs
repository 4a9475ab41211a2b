//! Calls that go out together are decided each for itself, in their order.

use std::time::Duration;

use rate_limit::{
    Charge, Client, Key, Limiter, ManualClock, MemoryStore, Method, Permit, Policy, RedisStore, Rejection,
    RejectionKind, Rule, Store as _, StoreError, StoreErrorKind, Verdict,
};
use tokio::task::JoinHandle;

use crate::common::{PATIENT, admits, is_admitted, key, limiter, ms, per_minute, rule, store, strict};
use crate::probe::Probe;
use crate::support::{Fault, FaultProxy, Random, RedisServer};

const CALLS: &str = "cmdstat_evalsha";
const TICK: Duration = Duration::from_secs(5);
/// How many go out each for itself before others wait.
const ALONE: usize = 4;

type Answers = Vec<JoinHandle<Result<Permit, Rejection>>>;

/// Starts a call of each of these clients, on a runtime of one thread in this order.
async fn start(limiter: &Limiter, clients: std::ops::Range<usize>) -> Answers {
    let calls = clients.map(|client| {
        let limiter = limiter.clone();
        tokio::spawn(async move { limiter.check(rule(2, &client.to_string())).await })
    });
    let calls = calls.collect();
    turns().await;
    calls
}

/// Lets every task go on until it waits for the server, however busy the machine is.
async fn turns() {
    for _ in 0..5 {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        tokio::time::sleep(ms(10)).await;
    }
}

async fn charged(limiter: &Limiter, client: usize) -> u32 {
    let decision = limiter.peek(rule(2, &client.to_string())).await;
    2 - decision.expect("the store answers").remaining
}

#[tokio::test]
async fn a_lone_caller_has_a_script_call_for_each_decision() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let limiter = limiter(&server).await;
    let before = probe.info("commandstats", CALLS).await;
    for _ in 0..100 {
        assert!(admits(&limiter, rule(100, "a")).await);
    }
    assert_eq!(probe.info("commandstats", CALLS).await - before, 100);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_callers_share_script_calls_and_are_admitted_exactly() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let limiter = limiter(&server).await;
    let before = probe.info("commandstats", CALLS).await;
    let tasks: Vec<_> = (0..64)
        .map(|task| {
            let limiter = limiter.clone();
            tokio::spawn(async move {
                let mut admitted = [0; 4];
                for call in 0..100 {
                    let client = (task + call) % 4;
                    let policy = match client {
                        0 => Policy::sliding_window(500, 100 * TICK),
                        1 => Policy::sliding_window(50, 100 * TICK),
                        2 => Policy::token_bucket(500, 100 * TICK),
                        _ => Policy::fixed_window(500, Policy::MAX_WINDOW).block(100 * TICK),
                    };
                    let one = Rule::new(policy, key(&client.to_string()));
                    admitted[client] += usize::from(admits(&limiter, one).await);
                }
                admitted
            })
        })
        .collect();
    let mut admitted = [0; 4];
    for task in tasks {
        let of_one = task.await.expect("no call panics");
        admitted.iter_mut().zip(of_one).for_each(|(all, one)| *all += one);
    }
    assert_eq!(admitted, [500, 50, 500, 500]);
    let calls = probe.info("commandstats", CALLS).await - before;
    println!("6400 decisions in {calls} script calls");
    assert!(calls < 6400 / 4, "{calls}");
}

/// One of a few clients, by one to three rules.
fn charges(random: &mut Random) -> Vec<Charge> {
    // No two waits of a call are alike, and none ends at a tick.
    let policies = [
        Policy::sliding_window(4, TICK * 15 + TICK / 2),
        Policy::token_bucket(5, TICK * 4),
        Policy::fixed_window(6, TICK * 18).block(TICK * 6),
        Policy::sliding_window(140, TICK * 60 + TICK / 4),
        Policy::token_bucket(3, TICK * 5).block(TICK * 5 + TICK / 8),
    ];
    let client = Client::of(&random.below(3)).expect("it names somebody");
    let methods = ["log", "bucket", "window", "long log", "bucket that blocks"];
    let mut charges: Vec<Charge> = Vec::new();
    let wanted = 1 + random.below(3) as usize;
    while charges.len() < wanted {
        let which = random.below(5) as usize;
        let mut charge = Charge::new(
            Key::new(Method::named(methods[which]), client),
            policies[which],
            random.one_of(&[0, 1, 1, 1, 2, 3, 7]),
        );
        charge.observe = random.one_in(8);
        if charges.iter().all(|other| other.key != charge.key) {
            charges.push(charge);
        }
    }
    charges
}

/// What both must say alike: but for ids, and but for the microseconds by which Redis tells hits of one time apart in a log.
fn in_tenths_of_a_second(verdict: &Verdict) -> Verdict {
    let mut verdict = verdict.clone();
    let round = |time: &mut u64| *time = (*time + 50_000) / 100_000;
    match &mut verdict {
        Verdict::Allowed { hits, reset_after, .. } => {
            round(reset_after);
            hits.clear();
        }
        Verdict::Denied {
            retry_after,
            reset_after,
            ..
        } => [retry_after, reset_after].into_iter().for_each(round),
        _ => {}
    }
    verdict
}

/// Calls of one sliding window each, as most are: those that go out together are all of lists, or some are of rings.
fn plain(random: &mut Random) -> Vec<Charge> {
    let windows = [
        ("short", Policy::sliding_window(3, TICK * 15 + TICK / 2)),
        ("long", Policy::sliding_window(60, TICK * 40 + TICK / 4)),
        ("ring", Policy::sliding_window(150, TICK * 90 + TICK / 8)),
    ];
    let (method, policy) = windows[if random.one_in(60) { 2 } else { random.below(2) as usize }];
    let client = Client::of(&random.below(4)).expect("it names somebody");
    vec![Charge::new(Key::new(Method::named(method), client), policy, 1)]
}

#[tokio::test]
async fn alg_13_calls_at_once_are_decided_as_they_would_be_one_after_the_other() {
    decided_as_one_after_the_other(Random(11), charges).await;
}

#[tokio::test]
async fn alg_13_plain_calls_at_once_are_decided_as_they_would_be_one_after_the_other() {
    decided_as_one_after_the_other(Random(12), plain).await;
}

async fn decided_as_one_after_the_other(mut random: Random, charges: fn(&mut Random) -> Vec<Charge>) {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let clock = ManualClock::new();
    clock.advance(Duration::from_secs(1_753_000_000));
    let redis = RedisStore::builder(&server.url()).clock(&clock).deadline(PATIENT);
    let redis = redis.connect().await.expect("the server takes us");
    let memory = MemoryStore::builder().clock(&clock).build();
    let (mut decided, mut admitted, mut refused) = (0, 0, 0);
    let before = probe.info("commandstats", CALLS).await;
    for round in 0..400 {
        let calls: Vec<_> = (0..1 + random.below(60)).map(|_| charges(&mut random)).collect();
        let answers: Vec<_> = calls
            .iter()
            .map(|charges| {
                let (redis, charges) = (redis.clone(), charges.clone());
                tokio::spawn(async move { redis.acquire(&charges).await })
            })
            .collect();
        for (charges, answer) in calls.iter().zip(answers) {
            let answer = answer.await.expect("no call panics").expect("the store answers");
            let expected = memory.acquire(charges).await.expect("it is in memory");
            assert_eq!(
                in_tenths_of_a_second(&answer),
                in_tenths_of_a_second(&expected),
                "round {round}: {charges:?}"
            );
            decided += 1;
            admitted += usize::from(matches!(answer, Verdict::Allowed { .. }));
            refused += usize::from(matches!(answer, Verdict::Denied { .. }));
        }
        clock.advance(TICK * random.below(12) as u32);
    }
    let calls = probe.info("commandstats", CALLS).await - before;
    println!("{decided} decisions in {calls} script calls: {admitted} admitted, {refused} refused");
    assert!(calls < decided / 3);
    assert!(admitted > 1_000 && refused > 1_000);
}

#[tokio::test]
async fn a_call_that_fails_leaves_alone_those_that_go_out_with_it() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let limiter = limiter(&server).await;
    let mut foreign = Vec::new();
    for client in [10, 15] {
        assert!(admits(&limiter, rule(2, &client.to_string())).await);
        let keys = probe.keys().await;
        let new = keys.into_iter().find(|key| !foreign.contains(key));
        foreign.push(new.expect("there is one more"));
    }
    probe.set(&foreign[0], b"a session").await;
    let _: () = probe.ask(&format!("DEL {}", foreign[1])).await;
    let _: u64 = probe.ask(&format!("RPUSH {} alice", foreign[1])).await;
    for (client, answer) in start(&limiter, 0..24).await.into_iter().enumerate() {
        let answer = answer.await.expect("no call panics");
        if client == 10 || client == 15 {
            let refusal = answer.expect_err("it is not ours");
            assert_eq!(refusal.kind(), RejectionKind::StoreUnavailable, "{client}");
        } else {
            assert!(is_admitted(answer), "{client}");
            assert_eq!(charged(&limiter, client).await, 1, "{client}");
        }
    }

    // The error says the same as that of a call alone.
    let store = store(&server.url()).await;
    let calls = (0..12).map(|n| {
        let store = store.clone();
        let charge = Charge::new(key(&n.to_string()), per_minute(2), u32::from(n == 10));
        tokio::spawn(async move { store.acquire(&[charge]).await })
    });
    let calls: Vec<_> = calls.collect();
    for (client, call) in calls.into_iter().enumerate() {
        let answer: Result<Verdict, StoreError> = call.await.expect("no call panics");
        if client == 10 {
            let error = answer.expect_err("it is not ours");
            assert_eq!(error.kind(), StoreErrorKind::Unexpected);
            assert!(
                error.to_string().contains("give the store a prefix of its own"),
                "{error}"
            );
        } else {
            answer.expect("it is ours");
        }
    }
}

#[tokio::test]
async fn a_call_that_is_larger_than_what_goes_out_together_goes_out_alone() {
    let server = RedisServer::start();
    let store = store(&server.url()).await;
    let charge = |client: String| Charge::new(key(&client), per_minute(2), 1);
    let calls = (0..12).map(|n| {
        let store = store.clone();
        let width = if n == 8 { 100 } else { 1 };
        let charges: Vec<_> = (0..width).map(|place| charge(format!("{n} {place}"))).collect();
        tokio::spawn(async move { store.acquire(&charges).await })
    });
    let calls: Vec<_> = calls.collect();
    let mut hits = Vec::new();
    for call in calls {
        match call.await.expect("no call panics").expect("the store answers") {
            Verdict::Allowed { hits: of_one, .. } => hits.push(of_one.len()),
            refused => panic!("{refused:?}"),
        }
    }
    assert_eq!(hits, [1, 1, 1, 1, 1, 1, 1, 1, 100, 1, 1, 1]);
}

#[tokio::test]
async fn a_permission_that_is_missing_is_said_to_each_of_them() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let limiter = limiter(&server).await;
    let _: () = probe.ask("ACL SETUSER default -set").await;
    for answer in start(&limiter, 0..24).await {
        let refusal = answer.await.expect("no call panics").expect_err("it may not");
        assert_eq!(refusal.kind(), RejectionKind::Misconfigured);
    }
    assert_eq!(probe.hits().await, 0);
}

#[tokio::test]
async fn rst_08_a_caller_that_gives_up_leaves_alone_those_that_go_out_with_it() {
    let server = RedisServer::start();
    let limiter = limiter(&server).await;
    server.pause();
    let calls = start(&limiter, 0..24).await;
    // Those that still wait are not charged.
    for waiting in [6, 23] {
        calls[waiting].abort();
    }
    turns().await;
    // One whose call is under way is charged. In its place the others go out.
    calls[0].abort();
    turns().await;
    for sent in [7, 8, 22] {
        calls[sent].abort();
    }
    turns().await;
    server.resume();
    for (client, call) in calls.into_iter().enumerate() {
        let answer = call.await;
        if [0, 6, 7, 8, 22, 23].contains(&client) {
            assert!(answer.is_err(), "{client} was aborted");
        } else {
            assert!(is_admitted(answer.expect("no call panics")), "{client}");
        }
    }
    for client in 0..24 {
        let expected = u32::from(client != 6 && client != 23);
        assert_eq!(charged(&limiter, client).await, expected, "{client}");
    }
    assert!(admits(&limiter, rule(2, "somebody else")).await);
}

#[tokio::test]
async fn each_caller_has_a_deadline_of_its_own() {
    let server = RedisServer::start();
    let store = RedisStore::builder(&server.url()).deadline(ms(300));
    let limiter = strict(store.connect().await.expect("it takes us"));
    server.pause();
    let early = start(&limiter, 0..24).await;
    tokio::time::sleep(ms(200)).await;
    let late = start(&limiter, 24..48).await;
    for call in early {
        let refusal = call.await.expect("no call panics").expect_err("nobody answers");
        assert_eq!(refusal.kind(), RejectionKind::StoreUnavailable);
    }
    // Those that came 200 ms later wait no longer: nobody is asked before the server has answered.
    for call in late {
        let refusal = call.await.expect("no call panics").expect_err("nobody answers");
        assert_eq!(refusal.kind(), RejectionKind::StoreUnavailable);
    }
    server.resume();
    while limiter.peek(rule(1, "somebody")).await.is_err() {
        tokio::time::sleep(ms(5)).await;
    }
    for client in 0..24 {
        let charged = charged(&limiter, client).await;
        assert!(charged <= 1, "{client} is charged {charged} times");
    }
    for client in 24..48 {
        assert_eq!(charged(&limiter, client).await, 0, "{client} was not sent");
    }
}

#[tokio::test]
async fn red_08_an_answer_that_is_lost_is_lost_to_all_and_asked_for_once() {
    let server = RedisServer::start();
    let probe = Probe::of(&server).await;
    let proxy = FaultProxy::start(server.port()).await;
    let limiter = strict(store(&proxy.url()).await);
    let before = probe.info("commandstats", CALLS).await;
    server.pause();
    let calls = start(&limiter, 0..24).await;
    // The others go out while the first are under way, on one connection, which is lost with the first answer.
    calls[0].abort();
    turns().await;
    proxy.arm(Fault::Drop);
    server.resume();
    for (client, call) in calls.into_iter().enumerate().skip(1) {
        let refusal = call.await.expect("no call panics").expect_err("no answer came");
        assert_eq!(refusal.kind(), RejectionKind::StoreUnavailable, "{client}");
    }
    for client in 0..24 {
        assert_eq!(charged(&limiter, client).await, 1, "{client}");
    }
    // The five, and what was asked just now.
    let asked = probe.info("commandstats", CALLS).await - before;
    assert_eq!(asked, ALONE as u64 + 1 + 24);
}

#[tokio::test]
async fn calls_that_wait_are_bounded() {
    const WAITING: usize = 300;
    let server = RedisServer::start();
    let store = RedisStore::builder(&server.url())
        .max_in_flight(WAITING)
        .deadline(PATIENT);
    let limiter = strict(store.connect().await.expect("it takes us"));
    server.pause();
    let all = start(&limiter, 0..ALONE + WAITING + 5).await;
    let finished = || all.iter().filter(|call| call.is_finished()).count();
    assert_eq!(finished(), 5);
    // Those that gave up while they waited make room.
    for call in &all[ALONE + WAITING - 10..ALONE + WAITING] {
        call.abort();
    }
    turns().await;
    let more = start(&limiter, 20_000..20_010).await;
    assert!(more.iter().all(|call| !call.is_finished()));
    server.resume();
    let mut admitted = 0;
    for call in all.into_iter().chain(more) {
        if let Ok(answer) = call.await {
            match answer {
                Ok(_) => admitted += 1,
                Err(refusal) => assert_eq!(refusal.kind(), RejectionKind::StoreUnavailable),
            }
        }
    }
    assert_eq!(admitted, ALONE + WAITING);
}
