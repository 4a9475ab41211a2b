//! Who calls himself a bot.

use http::header::USER_AGENT;
use http::{HeaderMap, HeaderValue};
use rate_limit::BotFilter;

fn agent(value: &[u8]) -> HeaderMap {
    HeaderMap::from_iter([(USER_AGENT, HeaderValue::from_bytes(value).expect("a value"))])
}

#[test]
fn http_09_by_three_words_in_any_case() {
    let filter = BotFilter::default();
    for bot in ["Googlebot/2.1", "AhrefsBOT", "a Crawler", "baiduSPIDER", "bot"] {
        assert!(filter.is_bot(&agent(bot.as_bytes())), "{bot}");
    }
    for person in ["", "Mozilla/5.0 (iPhone)", "b o t", "\u{130}"] {
        assert!(!filter.is_bot(&agent(person.as_bytes())), "{person}");
    }
    assert!(!filter.is_bot(&HeaderMap::new()), "real mobile clients send none");
}

#[test]
fn http_09_by_words_of_ones_own() {
    let filter = BotFilter::new(["Scan", ""]);
    assert!(filter.is_bot(&agent(b"portscanner")));
    assert!(!filter.is_bot(&agent(b"Googlebot")));
    let nobody = BotFilter::new([""; 0]);
    assert!(!nobody.is_bot(&agent(b"bot")));
}

#[test]
fn http_09_a_long_or_garbled_agent_is_read_as_far_as_it_goes() {
    let filter = BotFilter::default();
    assert!(!filter.is_bot(&agent(&[&[b'x'; 64 * 1024][..], b"bot"].concat())));
    assert!(filter.is_bot(&agent(&[b"bot".as_slice(), &[0xff; 64 * 1024]].concat())));
}
