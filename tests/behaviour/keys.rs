//! Which calls are one client's.

use std::net::IpAddr;
use std::num::NonZero;
use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue};
use rate_limit::{
    Client, Key, KeyError, KeyHasher, Limiter, Method, Policy, Rejection, RejectionKind, Rule, ToKey, limit_per_time,
};

use crate::log;
use crate::support::World;

#[limit_per_time(1, "1m", key = user)]
async fn raw(user: &str) -> Result<(), Rejection> {
    Ok(())
}

#[limit_per_time(1, "1m", key = normalize(user))]
async fn normalized(user: &str) -> Result<(), Rejection> {
    Ok(())
}

fn normalize(user: &str) -> String {
    user.trim().to_lowercase()
}

const SPELLINGS: [&str; 6] = ["alice", "Alice", "ALICE", " alice ", "alice\u{a0}", "al\u{131}ce"];

async fn admitted(world: &World, users: &[&str], normal: bool) -> usize {
    let mut admitted = 0;
    for user in users {
        let answer = if normal {
            world.run(normalized(user)).await
        } else {
            world.run(raw(user)).await
        };
        admitted += usize::from(answer.is_ok());
    }
    admitted
}

#[tokio::test]
async fn key_01_what_the_key_expression_makes_one_is_one_client() {
    let world = World::new();
    assert_eq!(admitted(&world, &SPELLINGS[..5], true).await, 1);
    assert_eq!(
        admitted(&world, &SPELLINGS, true).await,
        1,
        "a dotless i is another letter"
    );
}

#[tokio::test]
async fn key_02_text_is_taken_byte_by_byte() {
    let world = World::new();
    assert_eq!(admitted(&world, &SPELLINGS, false).await, 6);
    assert_eq!(admitted(&world, &SPELLINGS, false).await, 0);
    let pairs = [
        "/token/FOO",
        "/token/foo",
        "Å",
        "å",
        "é",
        "e\u{301}",
        "\u{212a}",
        "k",
        "a\u{200b}",
        "a",
        "a\0",
    ];
    assert_eq!(admitted(&world, &pairs, false).await, pairs.len());
    assert_eq!(admitted(&world, &pairs, false).await, 0);
}

#[limit_per_time(1, "1m", key = (a, b))]
async fn compound(a: &str, b: &str) -> Result<(), Rejection> {
    Ok(())
}

#[tokio::test]
async fn parts_of_a_compound_key_do_not_run_into_each_other() {
    let world = World::new();
    for (a, b) in [
        ("ab", "c"),
        ("a", "bc"),
        ("b", "a"),
        ("a", "b"),
        ("a\0b", "c"),
        ("a", "b\0c"),
    ] {
        assert_eq!(world.run(compound(a, b)).await, Ok(()), "{a:?} {b:?}");
        assert!(world.run(compound(a, b)).await.is_err(), "{a:?} {b:?}");
    }
}

#[limit_per_time(1, "1m", key = headers.get("x-client").unwrap_or(&NOBODY))]
async fn by_header(headers: HeaderMap) -> Result<(), Rejection> {
    drop(headers);
    Ok(())
}

static NOBODY: HeaderValue = HeaderValue::from_static("");

#[limit_per_time(1, "1m", key = (7, (user, 8)), reset_on_success, success = |_| false)]
async fn part_of_a_compound(user: &str) -> Result<(), Rejection> {
    Ok(())
}

#[tokio::test]
async fn key_06_who_names_nobody_is_turned_away_and_is_in_nobodys_way() {
    let world = World::new();
    let kind = |answer: Result<(), Rejection>| answer.map_err(|rejection| rejection.kind());
    world
        .run(async {
            for nobody in ["", " ", "\t\n", "\u{a0}", "\u{3000}", "  "] {
                assert_eq!(kind(raw(nobody).await), Err(RejectionKind::MissingClient), "{nobody:?}");
                assert_eq!(
                    kind(part_of_a_compound(nobody).await),
                    Err(RejectionKind::MissingClient),
                    "{nobody:?}"
                );
                assert_eq!(
                    kind(by_header(HeaderMap::new()).await),
                    Err(RejectionKind::MissingClient)
                );
            }
            assert_eq!((world.charges(), world.refusals()), (0, 0), "no store was asked");
            for somebody in ["alice", "null", "undefined", "unknown"] {
                assert_eq!(raw(somebody).await, Ok(()));
                assert_eq!(kind(raw(somebody).await), Err(RejectionKind::Limited));
                assert_eq!(part_of_a_compound(somebody).await, Ok(()));
            }
            let named =
                HeaderMap::from_iter([("x-client".parse().expect("a name"), HeaderValue::from_static("alice"))]);
            assert_eq!(by_header(named).await, Ok(()));
        })
        .await;
}

#[tokio::test]
async fn key_06_a_call_that_names_nobody_is_logged_and_a_client_is_not() {
    let world = World::new();
    log::take();
    assert!(world.run(compound("alice@example.org", " ")).await.is_err());
    let said = log::take();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(
        said[0].contains("WARN") && said[0].contains("behaviour::keys::compound"),
        "{said:?}"
    );
    assert!(!said[0].contains("alice"), "{said:?}");
    for _ in 0..2 {
        let answer = world.run(compound("alice@example.org", "10.0.0.1")).await;
        assert!(!format!("{answer:?}").contains("alice"), "{answer:?}");
    }
    assert_eq!(log::take(), [""; 0]);
}

#[limit_per_time(5, "1m", key = address)]
async fn verify(code: &str, address: IpAddr) -> Result<bool, Rejection> {
    Ok(code == "/verify/123")
}

#[tokio::test]
async fn key_09_a_path_that_is_guessed_is_no_part_of_the_key() {
    let world = World::new();
    let mut guesses = 0;
    for code in 0..200 {
        let answer = world
            .run(verify(&format!("/verify/{code}"), [10, 0, 0, 1].into()))
            .await;
        guesses += usize::from(answer.is_ok());
    }
    assert_eq!(guesses, 5);
    assert_eq!(world.store.memory.len(), 1);
}

#[limit_per_time(9, "1m", key = spelling)]
async fn login(limiter: &Limiter, spelling: &str) -> Result<u64, Rejection> {
    let account: u64 = match spelling {
        "alice" | "alice@example.org" => 1,
        _ => 2,
    };
    let client = Client::of(&account).expect("a number names somebody");
    let attempts = Policy::sliding_window(3, Duration::from_secs(60));
    limiter
        .check(Rule::new(attempts, Key::new(Method::named("login-account"), client)))
        .await?;
    Ok(account)
}

#[tokio::test]
async fn key_11_a_second_limit_inside_counts_both_spellings_as_one() {
    let world = World::new();
    let mut attempts = 0;
    for _ in 0..5 {
        for spelling in ["alice", "alice@example.org"] {
            attempts += usize::from(world.run(login(&world.limiter, spelling)).await == Ok(1));
        }
    }
    assert_eq!(attempts, 3);
    let refused = world.run(login(&world.limiter, "alice@example.org")).await;
    assert_eq!(refused.map_err(|rejection| rejection.method()), Err("login-account"));
    assert_eq!(world.run(login(&world.limiter, "bob")).await, Ok(2));
}

/// Feeds a part for each of its names.
struct List(&'static [&'static str]);

impl ToKey for List {
    fn to_key(&self, hasher: &mut KeyHasher) {
        for name in self.0 {
            name.to_key(hasher);
        }
    }
}

#[limit_per_time(1, "1m", key = (team, project))]
async fn of_lists(team: List, project: List) -> Result<(), Rejection> {
    Ok(())
}

#[limit_per_time(1, "1m", key = list)]
async fn of_list(list: List) -> Result<(), Rejection> {
    Ok(())
}

#[tokio::test]
async fn f_25_lists_in_a_compound_key_do_not_run_into_each_other() {
    let world = World::new();
    world
        .run(async {
            let cases: [[&'static [&'static str]; 2]; 5] = [
                [&["a", "b"], &["c"]],
                [&["a"], &["b", "c"]],
                [&["a", "b", "c"], &["c"]],
                [&["a"], &["a", "b", "c"]],
                [&["a", "b"], &["c", "d"]],
            ];
            for [team, project] in cases {
                assert_eq!(
                    of_lists(List(team), List(project)).await,
                    Ok(()),
                    "{team:?} {project:?}"
                );
                assert!(
                    of_lists(List(team), List(project)).await.is_err(),
                    "{team:?} {project:?}"
                );
            }
        })
        .await;
}

/// The elements of `key = (..)` are given one by one, those of a tuple together.
#[tokio::test]
async fn f_25_the_attribute_and_a_tuple_make_one_key() {
    let world = World::new();
    let (team, project): (&'static [&'static str], &'static [&'static str]) = (&["a", "b"], &["c"]);
    assert_eq!(world.run(of_lists(List(team), List(project))).await, Ok(()));
    let client = Client::of(&(List(team), List(project))).expect("it names somebody");
    let method = Method::named(concat!(module_path!(), "::of_lists"));
    let rule = Rule::new(
        Policy::sliding_window(1, Duration::from_secs(60)),
        Key::new(method, client),
    );
    assert!(
        !world.limiter.peek(rule).await.expect("it answers").allowed,
        "it was counted there"
    );
    // Stores outlive the process, so these bytes stay.
    let hex = client.to_bytes().map(|byte| format!("{byte:02x}")).concat();
    assert_eq!(hex, "8fef1b101e68b533353d37f9d4e28518");
}

#[tokio::test]
async fn f_25_a_key_that_feeds_nothing_names_nobody() {
    let world = World::new();
    let kind = |answer: Result<(), Rejection>| answer.map_err(|rejection| rejection.kind());
    world
        .run(async {
            let missing = Err(RejectionKind::MissingClient);
            assert_eq!(kind(of_list(List(&[])).await), missing);
            assert_eq!(kind(of_lists(List(&["a"]), List(&[])).await), missing);
            assert_eq!(kind(of_lists(List(&[]), List(&["a"])).await), missing);
        })
        .await;
    let nobody = Err(KeyError::Missing);
    assert_eq!(Client::of(&List(&[])), nobody);
    assert_eq!(Client::of(&("a", (List(&[]), "b"))), nobody);
    assert_eq!(Client::of(&(List(&[]),)), nobody);
    assert_eq!(Client::of(&[0_u8; 0]), nobody);
    assert_eq!(Client::of(&("a", Vec::<u8>::new())), nobody);
}

#[test]
fn f_25_a_tuple_within_a_tuple_is_one_part_of_it() {
    let of = |client: &dyn ToKey| Client::of(client).expect("it names somebody");
    let keys: [&dyn ToKey; 12] = [
        &("a", "b", "c"),
        &(("a", "b"), "c"),
        &("a", ("b", "c")),
        &("a", "b", "c", "d"),
        &(("a", "b"), ("c", "d")),
        &(("a", "b", "c"), "d"),
        &((("a", "b"), "c"), "d"),
        &(("a", ("b", "c")), "d"),
        &(("a", "b"), "c", "d"),
        &("a", "b", 2),
        &("a", "bc"),
        &("a", b"bc".as_slice()),
    ];
    for (place, one) in keys.iter().enumerate() {
        for other in &keys[place + 1..] {
            assert_ne!(of(*one), of(*other), "{place}");
            assert_ne!(of(*one).to_bytes(), of(*other).to_bytes(), "{place}");
        }
    }
    // What stands alone is what it holds, and a list that stands alone is a flat tuple.
    assert_eq!(of(&(("a", "b"),)), of(&("a", "b")));
    assert_eq!(of(&List(&["a", "b"])), of(&("a", "b")));
    assert_eq!(of(&(("a",), ("b",))), of(&("a", "b")));
}

#[test]
fn f_53_a_number_that_is_not_zero_is_the_number() {
    let of = |client: &dyn ToKey| Client::of(client).expect("it names somebody");
    let numbers: [(&dyn ToKey, &dyn ToKey); 12] = [
        (&NonZero::<u8>::MAX, &u8::MAX),
        (&NonZero::<u16>::MAX, &u16::MAX),
        (&NonZero::<u32>::MAX, &u32::MAX),
        (&NonZero::<u64>::MAX, &u64::MAX),
        (&NonZero::<u128>::MAX, &u128::MAX),
        (&NonZero::<usize>::MAX, &usize::MAX),
        (&NonZero::<i8>::MIN, &i8::MIN),
        (&NonZero::<i16>::MIN, &i16::MIN),
        (&NonZero::<i32>::MIN, &i32::MIN),
        (&NonZero::<i64>::MIN, &i64::MIN),
        (&NonZero::<i128>::MIN, &i128::MIN),
        (&NonZero::<isize>::MIN, &isize::MIN),
    ];
    for (place, (not_zero, number)) in numbers.into_iter().enumerate() {
        assert_eq!(of(not_zero), of(number), "{place}");
    }
}
