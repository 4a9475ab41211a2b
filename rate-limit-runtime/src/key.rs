//! Which counter: a method and a client, hashed.

use std::fmt;
use std::hash::Hasher as _;
use std::net::IpAddr;

use once_cell::sync::OnceCell;
use siphasher::sip128::{Hasher128 as _, SipHasher24};

use crate::method::Method;
use crate::policy::Algorithm;
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
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Client(u128);

impl Client {
    /// Hashes what names the client.
    ///
    /// ```
    /// use rate_limit_runtime::{Client, KeyError};
    ///
    /// let by_user_and_address = Client::of(&("alice", std::net::Ipv4Addr::LOCALHOST));
    /// assert_ne!(by_user_and_address, Client::of("alice"));
    /// assert_eq!(Client::of("  "), Err(KeyError::Missing));
    /// ```
    ///
    /// # Errors
    ///
    /// [`KeyError::Missing`] for an empty or blank part, [`KeyError::Secret`] for a secret that is too short.
    pub fn of<T: ToKey + ?Sized>(client: &T) -> Result<Self, KeyError> {
        let mut hasher = KeyHasher::new()?;
        client.to_key(&mut hasher);
        hasher.finish()
    }

    /// The hash.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 16] {
        self.0.to_be_bytes()
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

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({}, ..)", self.method.name())
    }
}

/// There is no client to count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyError {
    /// A part of the key is empty or blank. One shared counter for all such calls would let one caller lock
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
    hasher: SipHasher24,
    missing: bool,
}

impl KeyHasher {
    pub(crate) fn new() -> Result<Self, KeyError> {
        Ok(Self {
            hasher: secret()?.hasher(),
            missing: false,
        })
    }

    pub(crate) fn finish(self) -> Result<Client, KeyError> {
        if self.missing {
            return Err(KeyError::Missing);
        }
        Ok(Client(self.hasher.finish128().as_u128()))
    }

    /// Text, in UTF-8 or a superset of ASCII. Empty or blank text makes the client missing.
    pub fn text(&mut self, text: &[u8]) {
        let blank = match std::str::from_utf8(text) {
            Ok(text) => text.trim().is_empty(),
            Err(_) => false,
        };
        self.missing |= blank;
        self.write(b't', text);
    }

    /// Bytes. None make the client missing.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.missing |= bytes.is_empty();
        self.write(b'b', bytes);
    }

    /// A number that is not negative.
    pub fn unsigned(&mut self, number: u128) {
        self.write(b'n', &number.to_le_bytes());
    }

    /// A number; one that is not negative is the same as given to [`unsigned`](Self::unsigned).
    pub fn signed(&mut self, number: i128) {
        match u128::try_from(number) {
            Ok(number) => self.unsigned(number),
            Err(_) => self.write(b'-', &number.to_le_bytes()),
        }
    }

    /// A host. An IPv4-mapped IPv6 address is the IPv4 address.
    pub fn address(&mut self, address: IpAddr) {
        match address.to_canonical() {
            IpAddr::V4(ip) => self.write(b'4', &ip.octets()),
            IpAddr::V6(ip) => self.write(b'6', &ip.octets()),
        }
    }

    fn write(&mut self, kind: u8, part: &[u8]) {
        let mut head = [kind; 9];
        head[1..].copy_from_slice(&(part.len() as u64).to_le_bytes());
        self.hasher.write(&head);
        self.hasher.write(part);
    }
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
    secret().map(|_| ())
}

#[derive(Clone, Copy)]
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

fn secret() -> Result<HashKey, KeyError> {
    static KEY: OnceCell<HashKey> = OnceCell::new();
    KEY.get_or_try_init(|| {
        HashKey::from_secret(
            std::env::var_os(SECRET)
                .as_deref()
                .map(|secret| secret.as_encoded_bytes()),
        )
    })
    .copied()
}
