//! Which requests call themselves bots.

use std::fmt;

use http::HeaderMap;
use http::header::USER_AGENT;

/// Words by which a `User-Agent` calls itself a bot.
///
/// It keeps those out of statistics who say what they are. It is no protection: a bot may say that it is a browser, and nobody who says
/// that he is a bot should be let off a limit for it.
///
/// ```
/// use rate_limit_runtime::BotFilter;
/// use http::{HeaderMap, header::USER_AGENT};
///
/// let mut headers = HeaderMap::new();
/// assert!(!BotFilter::default().is_bot(&headers));
/// headers.insert(USER_AGENT, "Mozilla/5.0 (compatible; Googlebot/2.1)".parse()?);
/// assert!(BotFilter::default().is_bot(&headers));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct BotFilter {
    words: Vec<Box<[u8]>>,
}

impl BotFilter {
    /// How much of a `User-Agent` is read: the longest real ones have some hundred bytes.
    const MOST: usize = 4 * 1024;

    /// By words of your own, in any case. None of them, and nobody is a bot.
    pub fn new<W: AsRef<str>>(words: impl IntoIterator<Item = W>) -> Self {
        let words = words.into_iter().map(|word| word.as_ref().to_ascii_lowercase());
        Self {
            words: words
                .filter(|word| !word.is_empty())
                .map(|word| word.into_bytes().into())
                .collect(),
        }
    }

    /// Whether the `User-Agent` has one of the words in it. Without one, or with an empty one, as real mobile clients send it, it is
    /// no bot.
    #[must_use]
    pub fn is_bot(&self, headers: &HeaderMap) -> bool {
        headers.get_all(USER_AGENT).iter().any(|agent| {
            let agent = agent.as_bytes();
            let agent = agent[..agent.len().min(Self::MOST)].to_ascii_lowercase();
            self.words
                .iter()
                .any(|word| agent.windows(word.len()).any(|part| part == &**word))
        })
    }
}

/// By `bot`, `crawler` and `spider`.
impl Default for BotFilter {
    fn default() -> Self {
        Self::new(["bot", "crawler", "spider"])
    }
}

impl fmt::Debug for BotFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.words.iter().map(|word| String::from_utf8_lossy(word)))
            .finish()
    }
}
