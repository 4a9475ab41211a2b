//! Which counter: a method and a client, hashed.

use std::fmt;
use std::hash::{BuildHasher as _, Hash, Hasher, RandomState};
use std::net::IpAddr;
use std::sync::{LazyLock, Once};

use siphasher::sip128::{Hasher128 as _, SipHasher24};

use crate::method::Method;
use crate::policy::{Algorithm, Policy};
use crate::to_key::ToKey;

/// The environment variable with the deployment's secret, at least [`MIN_SECRET`] bytes.
const SECRET: &str = "RATE_LIMIT_SECRET";
const MIN_SECRET: usize = 16;

/// The hash key where no secret is given, and of method names always. Changing it forgets every counter.
const PUBLISHED: HashKey = HashKey(0x7261_7465_2d6c_696d, 0x6974_2076_6572_2e31);

/// Who is asking, hashed: 128 bits of SipHash-2-4 (Aumasson, Bernstein: *SipHash: a fast short-input PRF*)
/// over the parts, each with its kind and length before it.
///
/// The hash is keyed by the environment variable `RATE_LIMIT_SECRET`, read once. Give every instance the same
/// 16 or more random bytes (`openssl rand -hex 16`) when the ids are guessable and others can read the store,
/// or choose their own id freely; without it a key that is public in the source is used. It is the same on
/// every machine, compiler and release.
///
/// Only what leaves the process is hashed so. Within it a client goes by a fingerprint under a key of this process alone.
#[derive(Clone, Copy)]
pub struct Client {
    fingerprint: [u64; 2],
    named: Named,
}

/// What the hash of a client is made from: its parts while they are short, as most are, so that a call which is decided in memory need
/// not make it.
#[derive(Clone, Copy)]
enum Named {
    /// Each part's kind, its length and its bytes.
    By {
        length: u8,
        parts: [u8; Named::MOST],
    },
    Hash([u8; 16]),
}

impl Named {
    /// Room for a UUID as text.
    const MOST: usize = 38;
}

impl Client {
    /// Hashes what names the client.
    ///
    /// ```
    /// use rate_limit_runtime::{Client, ClientIp, KeyError};
    ///
    /// let address = ClientIp::new(std::net::Ipv4Addr::LOCALHOST.into(), 64);
    /// let by_user_and_address = Client::of(&("alice", address));
    /// assert_ne!(by_user_and_address, Client::of("alice"));
    /// assert_eq!(Client::of("  "), Err(KeyError::Missing));
    /// ```
    ///
    /// # Errors
    ///
    /// [`KeyError::Missing`] for an empty or blank part, or no part at all, [`KeyError::Secret`] for a secret that is too short.
    pub fn of<T: ToKey + ?Sized>(client: &T) -> Result<Self, KeyError> {
        let mut hasher = KeyHasher::new();
        client.to_key(&mut hasher);
        hasher.finish().copied()
    }

    /// One that only its hash is known of, as it stands in a store: for what is asked of that store, since within this process it is
    /// none of the others.
    #[cfg(any(feature = "redis", feature = "_sql"))]
    pub(crate) fn hashed(hash: [u8; 16]) -> Self {
        let (halves, _) = hash.as_chunks();
        Self {
            fingerprint: [0, 1].map(|half| halves.get(half).copied().map_or(0, u64::from_le_bytes)),
            named: Named::Hash(hash),
        }
    }

    /// The hash.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 16] {
        let (length, parts) = match self.named {
            Named::Hash(hash) => return hash,
            Named::By { length, parts } => (length, parts),
        };
        let secret = keys().secret;
        digest(&hash_parts(secret, &parts[..usize::from(length)]))
    }
}

impl PartialEq for Client {
    fn eq(&self, other: &Self) -> bool {
        self.fingerprint == other.fingerprint
    }
}

impl Eq for Client {}

impl Hash for Client {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.fingerprint.hash(state);
    }
}

/// Shows nothing of the client: a hash of a guessable id gives the id away.
impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Client(..)")
    }
}

/// The name of one counter: which method, and which client.
///
/// ```
/// use rate_limit_runtime::{Client, Key, Method};
///
/// let key = Key::new(Method::named("login"), Client::of("20230001")?);
/// assert_eq!(format!("{key:?}"), "Key(login, ..)");
/// # Ok::<(), rate_limit_runtime::KeyError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
    method: Method,
    client: Client,
}

impl Key {
    /// The counter of `client` at `method`.
    #[must_use]
    pub const fn new(method: Method, client: Client) -> Self {
        Self { method, client }
    }

    pub(crate) const fn counted_by(self, algorithm: Algorithm, place: u8) -> Self {
        Self {
            method: self.method.counted_by(algorithm, place),
            ..self
        }
    }

    pub(crate) const fn counted_for(self, numbers: &Policy) -> Self {
        Self {
            method: self.method.counted_for(numbers),
            ..self
        }
    }

    /// The method.
    #[must_use]
    pub const fn method(&self) -> Method {
        self.method
    }

    /// The client.
    #[must_use]
    pub const fn client(&self) -> Client {
        self.client
    }
}

/// What a counter goes by in this process: nothing of the client can be told from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Id {
    method: u64,
    client: [u64; 2],
}

impl Id {
    #[inline]
    pub(crate) const fn of(key: &Key) -> Self {
        Self::new(key.method.hash(), &key.client)
    }

    #[inline]
    pub(crate) const fn new(method: u64, client: &Client) -> Self {
        Self {
            method,
            client: client.fingerprint,
        }
    }

    #[inline]
    pub(crate) const fn method(&self) -> u64 {
        self.method
    }

    /// Random, since a half of the fingerprint is: nobody can choose clients whose counters lie in one place.
    #[inline]
    pub(crate) const fn hash(&self) -> u64 {
        self.client[0] ^ self.method
    }

    /// The other half.
    #[inline]
    pub(crate) const fn second_hash(&self) -> u64 {
        self.client[1]
    }

    pub(crate) fn is_of(&self, client: Client) -> bool {
        self.client == client.fingerprint
    }
}

impl Hash for Id {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(Self::hash(self));
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({}, ..)", self.method.name())
    }
}

/// There is no client to count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyError {
    /// A part of the key is empty or blank, or the key has no part. One shared counter for all such calls would let one caller lock
    /// out the rest, and none at all would be a way round the limit, so the call is turned away.
    Missing,
    /// No client is set for this part of the program: see [`client::scope`](crate::client::scope).
    Nobody,
    /// The environment variable `RATE_LIMIT_SECRET` is shorter than 16 bytes.
    Secret,
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => {
                f.write_str("a part of the key is empty or blank: check the id before the call is limited")
            }
            Self::Nobody => f.write_str(
                "no client is set: name one by `key = ..`, or set it around the call by `rate_limit::client::scope(id, ..)`",
            ),
            Self::Secret => write!(
                f,
                "`{SECRET}` is shorter than {MIN_SECRET} bytes: set it to random ones, as `openssl rand -hex 16` prints, or unset it"
            ),
        }
    }
}

impl std::error::Error for KeyError {}

/// Takes the parts of a key, each with its kind and length, so that no two lists of parts are one input.
pub struct KeyHasher {
    keys: &'static Keys,
    /// As far as it is named.
    client: Client,
    /// How many parts were fed, a group counting as one.
    parts: u64,
    /// What takes the parts once they are too many to be kept.
    hashed: Option<SipHasher24>,
    error: Option<KeyError>,
}

impl KeyHasher {
    #[inline]
    pub(crate) fn new() -> Self {
        let keys = keys();
        Self {
            keys,
            client: Client {
                fingerprint: keys.fingerprint,
                named: Named::By {
                    length: 0,
                    parts: [0; Named::MOST],
                },
            },
            parts: 0,
            hashed: None,
            error: keys.error,
        }
    }

    /// Returns a hasher that names this client and takes no parts.
    pub(crate) fn of(client: Result<Client, KeyError>) -> Self {
        let mut hasher = Self::new();
        match client {
            Ok(client) => (hasher.client, hasher.parts) = (client, 1),
            Err(error) => hasher.error = Some(error),
        }
        hasher
    }

    /// The client of all parts.
    #[inline]
    pub(crate) fn finish(&mut self) -> Result<&Client, KeyError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        if self.parts == 0 {
            return Err(KeyError::Missing);
        }
        if let Some(hashed) = &self.hashed {
            self.client.named = Named::Hash(digest(hashed));
        }
        Ok(&self.client)
    }

    /// Returns the number of parts that the hasher was fed, for [`group`](Self::group).
    #[inline]
    pub(crate) const fn parts(&self) -> u64 {
        self.parts
    }

    /// Makes the parts that were fed after the first `before` ones, by one element of several, one part. Most elements feed one, to
    /// which nothing is added; of others their number follows them, so that `([a, b], [c])` is not `([a], [b, c])`. None make the client
    /// missing.
    #[inline]
    pub(crate) fn group(&mut self, before: u64) {
        match self.parts - before {
            1 => {}
            0 => self.missing(),
            several => self.number(b')', several.into()),
        }
        self.parts = before + 1;
    }

    #[cold]
    fn missing(&mut self) {
        self.error.get_or_insert(KeyError::Missing);
    }

    /// Text, in UTF-8 or a superset of ASCII. Empty or blank text makes the client missing.
    #[inline]
    pub fn text(&mut self, text: &[u8]) {
        // Most text begins with a letter or a digit.
        if !text.first().is_some_and(u8::is_ascii_graphic)
            && std::str::from_utf8(text).is_ok_and(|text| text.trim().is_empty())
        {
            self.missing();
        }
        self.write(b't', text);
    }

    /// Bytes. None make the client missing.
    #[inline]
    pub fn bytes(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            self.missing();
        }
        self.write(b'b', bytes);
    }

    /// A number that is not negative.
    #[inline]
    pub fn unsigned(&mut self, number: u128) {
        self.number(b'n', number);
    }

    /// A number; one that is not negative is the same as given to [`unsigned`](Self::unsigned).
    #[inline]
    pub fn signed(&mut self, number: i128) {
        match u128::try_from(number) {
            Ok(number) => self.unsigned(number),
            Err(_) => self.number(b'-', number as u128),
        }
    }

    /// A single address. An IPv4-mapped IPv6 address is the IPv4 address.
    #[inline]
    pub fn address(&mut self, address: IpAddr) {
        match address.to_canonical() {
            IpAddr::V4(ip) => self.write(b'4', &ip.octets()),
            IpAddr::V6(ip) => self.number(b'6', u128::from_le_bytes(ip.octets())),
        }
    }

    /// As [`address`](Self::address), of a host whose link has this number if its address is link-local; 0 if it is not known.
    #[inline]
    pub(crate) fn host(&mut self, address: IpAddr, scope: u32) {
        match address {
            IpAddr::V6(ip) if scope != 0 && ip.is_unicast_link_local() => {
                let mut part = [0; 20];
                part[..16].copy_from_slice(&ip.octets());
                part[16..].copy_from_slice(&scope.to_le_bytes());
                self.write(b's', &part);
            }
            _ => self.address(address),
        }
    }

    /// As [`write`](Self::write) of the number's bytes, the lowest first.
    #[inline]
    fn number(&mut self, kind: u8, number: u128) {
        self.mix(number as u64);
        self.mix((number >> 64) as u64);
        self.part(kind, &number.to_le_bytes());
    }

    #[inline]
    fn write(&mut self, kind: u8, part: &[u8]) {
        let (words, rest) = part.as_chunks();
        for word in words {
            self.mix(u64::from_le_bytes(*word));
        }
        if !rest.is_empty() {
            let mut word = [0; 8];
            word[..rest.len()].copy_from_slice(rest);
            self.mix(u64::from_le_bytes(word));
        }
        self.part(kind, part);
    }

    #[inline]
    fn part(&mut self, kind: u8, part: &[u8]) {
        self.parts += 1;
        self.mix((part.len() as u64) << 8 | u64::from(kind));
        if let Named::By { length, parts } = &mut self.client.named
            && let Some([its_kind, its_length, bytes @ ..]) =
                parts.get_mut(usize::from(*length)..usize::from(*length) + 2 + part.len())
        {
            // No more than there is room for.
            let part_length = part.len() as u8;
            *its_kind = kind;
            *its_length = part_length;
            bytes.copy_from_slice(part);
            *length += 2 + part_length;
        } else {
            self.hash_part(kind, part);
        }
    }

    #[cold]
    fn hash_part(&mut self, kind: u8, part: &[u8]) {
        if let Named::By { length, parts } = &self.client.named {
            self.hashed = Some(hash_parts(self.keys.secret, &parts[..usize::from(*length)]));
            self.client.named = Named::Hash([0; 16]);
        }
        if let Some(hasher) = &mut self.hashed {
            hash_part(hasher, kind, part);
        }
    }

    /// Folds a word into both halves of the fingerprint: the product with a secret number, its upper half on its lower one, as the
    /// hashes wyhash and foldhash do.
    #[inline]
    fn mix(&mut self, word: u64) {
        for (half, factor) in self.client.fingerprint.iter_mut().zip(self.keys.factors) {
            let product = u128::from(*half ^ word) * u128::from(factor);
            *half = product as u64 ^ (product >> 64) as u64;
        }
    }
}

/// What is hashed of a part. These bytes are pinned: stores outlive the process.
fn hash_part(hasher: &mut SipHasher24, kind: u8, part: &[u8]) {
    let mut head = [kind; 9];
    head[1..].copy_from_slice(&(part.len() as u64).to_le_bytes());
    hasher.write(&head);
    hasher.write(part);
}

/// The same of parts as [`Named::By`] has them.
fn hash_parts(secret: HashKey, mut parts: &[u8]) -> SipHasher24 {
    let mut hasher = secret.hasher();
    while let [kind, length, rest @ ..] = parts {
        let (part, rest) = rest.split_at(usize::from(*length));
        hash_part(&mut hasher, *kind, part);
        parts = rest;
    }
    hasher
}

fn digest(hasher: &SipHasher24) -> [u8; 16] {
    hasher.finish128().as_u128().to_be_bytes()
}

impl fmt::Debug for KeyHasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyHasher(..)")
    }
}

/// The hash of a method's name, under the published key: it is no secret, and the same with every secret.
pub(crate) fn hash_method(name: &str) -> u64 {
    let mut hasher = PUBLISHED.hasher();
    hasher.write(name.as_bytes());
    hasher.finish128().h1
}

/// Checks the deployment's secret, so that a limiter that is built says what is wrong with it.
pub(crate) fn check_secret() -> Result<(), KeyError> {
    keys().error.map_or(Ok(()), Err)
}

#[derive(Clone, Copy, PartialEq)]
struct HashKey(u64, u64);

impl HashKey {
    fn hasher(self) -> SipHasher24 {
        SipHasher24::new_with_keys(self.0, self.1)
    }

    fn from_secret(secret: Option<&[u8]>) -> Result<Self, KeyError> {
        match secret {
            None | Some([]) => Ok(PUBLISHED),
            Some(secret) if secret.len() < MIN_SECRET => Err(KeyError::Secret),
            Some(secret) => {
                let mut hasher = PUBLISHED.hasher();
                hasher.write(secret);
                let hash = hasher.finish128();
                Ok(Self(hash.h1, hash.h2))
            }
        }
    }
}

/// Warns once if keys that leave the process are hashed under the published key.
pub(crate) fn warn_without_secret() {
    static WARNED: Once = Once::new();
    if keys().is_published {
        WARNED.call_once(|| {
            tracing::warn!(
                "`{SECRET}` is not set, so a key that is public in the source hashes the clients of this store: who can read the store can \
                 try out guessable ids. Give every instance the same random bytes, as `openssl rand -hex 16` prints. Setting it starts \
                 all counters anew"
            );
        });
    }
}

/// What clients are hashed under.
struct Keys {
    secret: HashKey,
    /// What is wrong with the secret. There is no client then.
    error: Option<KeyError>,
    /// Whether no secret is set.
    is_published: bool,
    /// Where the two halves of a fingerprint begin, and what they are multiplied by: random, and different in each process.
    fingerprint: [u64; 2],
    factors: [u64; 2],
}

#[inline]
fn keys() -> &'static Keys {
    static KEYS: LazyLock<Keys> = LazyLock::new(|| {
        let secret = std::env::var_os(SECRET);
        let secret = HashKey::from_secret(secret.as_deref().map(|secret| secret.as_encoded_bytes()));
        // Those of the standard library come from the system's source of randomness.
        let random = || RandomState::new().hash_one(());
        Keys {
            secret: secret.unwrap_or(PUBLISHED),
            error: secret.err(),
            is_published: secret == Ok(PUBLISHED),
            fingerprint: [random(), random()],
            factors: [random() | 1, random() | 1],
        }
    });
    &KEYS
}
