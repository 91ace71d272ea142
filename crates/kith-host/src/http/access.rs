//! Whether a request comes from the owner.
//!
//! A program shows the token of the house, which only the owner can read. The page gets a cookie for a
//! login code that is good once and for a minute; the code stands behind the `#` of the address, which
//! browsers send to nobody. A cookie is a date with a signature made with the token, so it outlives
//! the host, and a new token (its file deleted, the host started again) ends all of them. Logging out
//! ends one at once, with its streams, and for every later host. If that cannot be written down, the login
//! has ended for this host, and logging out again writes it.
//!
//! Browsers send a cookie to every port of a machine, so whatever else the owner opens there gets it. The
//! page therefore also shows a key that its browser keeps for this port alone.

mod logouts;

use std::collections::{HashMap, VecDeque};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use hmac::{Hmac, KeyInit as _, Mac as _};
use http::HeaderMap;
use http::header::{AUTHORIZATION, COOKIE, HeaderName, SEC_WEBSOCKET_PROTOCOL};
use kith_sessions::access_token::{read_logouts, read_or_create_token, write_logouts};
use kith_vocab::clock::Clock;
use kith_vocab::digest::hex;
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;

use super::reply::HttpProblem;
use crate::house::House;
use logouts::Logouts;

/// How long a login code is good.
const CODE_MS_MAX: u64 = 60_000;
/// Login codes that are good at a time; the oldest goes first.
const CODES_MAX: usize = 16;
/// How long a cookie is good.
const COOKIE_MS_MAX: u64 = 30 * 24 * 60 * 60 * 1000;
/// The key of the page, on requests.
const PAGE_KEY: HeaderName = HeaderName::from_static("x-kith-page");
/// The same on WebSockets, which have no headers of their own: the name of a protocol.
const PAGE_KEY_PROTOCOL: &str = "kith.";
/// Wrong tokens and codes within a minute that are told to be wrong; whoever shows more of them is told to
/// wait. A right one is accepted however many were wrong: nobody locks the owner out by guessing.
const FAILURES_MAX: usize = 10;
const FAILURE_WINDOW_MS: u64 = 60_000;

pub struct HttpAccess {
    token: String,
    /// Cookies do not tell ports apart: those of two houses need two names.
    cookie_name: String,
    clock: Arc<dyn Clock>,
    /// Those of all listeners of the house: the host makes them, and a browser shows one at any listener.
    codes: Arc<Mutex<VecDeque<LoginCode>>>,
    /// When the last failures were, by the monotonic clock.
    failures: Mutex<VecDeque<u64>>,
    /// Those of all listeners of the house: whoever logs out at one has logged out.
    logins: Arc<Mutex<Logins>>,
    /// Where ended logins are kept.
    kith_dir: Option<PathBuf>,
    channel: LoginChannel,
}

/// What a cookie travels over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LoginChannel {
    Loopback,
    Tls,
}

#[derive(Default)]
struct Logins {
    ended: Logouts,
    /// Whether some of them are not in the file yet.
    is_unwritten: bool,
    /// Told when a login ends, for its streams.
    streams: HashMap<u64, CancellationToken>,
    newest: u64,
}

/// What a browser gets when it has logged in.
#[derive(Debug)]
pub(super) struct PageLogin {
    pub(super) set_cookie: String,
    pub(super) page_key: String,
}

struct LoginCode {
    code: String,
    expires_at: u64,
}

impl HttpAccess {
    /// With the token of the house, which is made if there is none.
    pub fn of_house(house: &House, clock: Arc<dyn Clock>) -> io::Result<HttpAccess> {
        let token = read_or_create_token(&house.kith_dir(), random_hex)?;
        let ended = Logouts::parse(&read_logouts(&house.kith_dir())?);
        let access = HttpAccess::new(token, clock);
        let logins = Arc::new(Mutex::new(Logins { ended, ..Logins::default() }));
        Ok(HttpAccess { logins, kith_dir: Some(house.kith_dir()), ..access })
    }

    /// The same house at its listener for other machines. Codes and logins are shared; failures are not,
    /// because wrong tokens from elsewhere must not slow down the page of this machine.
    pub(crate) fn over_tls(&self) -> HttpAccess {
        HttpAccess {
            codes: Arc::clone(&self.codes),
            logins: Arc::clone(&self.logins),
            kith_dir: self.kith_dir.clone(),
            channel: LoginChannel::Tls,
            ..HttpAccess::new(self.token.clone(), Arc::clone(&self.clock))
        }
    }

    fn new(token: String, clock: Arc<dyn Clock>) -> HttpAccess {
        let name = hex(&Sha256::digest(format!("cookie {token}")));
        let cookie_name = format!("kith_{}", &name[..12]);
        let (codes, failures, logins) = (Arc::default(), Mutex::default(), Arc::default());
        let (kith_dir, channel) = (None, LoginChannel::Loopback);
        HttpAccess { token, cookie_name, clock, codes, failures, logins, kith_dir, channel }
    }

    /// A code by which a browser can log in once, within a minute.
    pub fn new_login_code(&self) -> io::Result<String> {
        let code = random_hex()?;
        let expires_at = self.clock.monotonic() + CODE_MS_MAX;
        let mut codes = self.codes.lock().unwrap_or_else(PoisonError::into_inner);
        if codes.len() >= CODES_MAX {
            codes.pop_front();
        }
        codes.push_back(LoginCode { code: code.clone(), expires_at });
        Ok(code)
    }

    /// The cookie and the key for whoever has this code. A code is good once.
    pub(super) fn log_in(&self, code: &str) -> Result<PageLogin, HttpProblem> {
        let now = self.clock.monotonic();
        let mut codes = self.codes.lock().unwrap_or_else(PoisonError::into_inner);
        codes.retain(|it| it.expires_at > now);
        let found = codes.iter().position(|it| is_same_secret(&it.code, code));
        let taken = found.and_then(|index| codes.remove(index));
        drop(codes);
        // Only then: wrong codes of others must not keep the owner out, and 256 bits are not guessed.
        if taken.is_none() {
            self.refuse_guessing()?;
            self.note_failure();
            return Err(HttpProblem::unauthorized(
                "this login link was used already or has expired",
                "`kith up --open` opens the page with a new one",
            ));
        }
        let expires_at = self.new_login();
        let value = format!("{expires_at}.{}", self.signature("cookie", expires_at));
        let set_cookie = self.set_cookie(&value, COOKIE_MS_MAX / 1000);
        Ok(PageLogin { set_cookie, page_key: self.signature("key", expires_at) })
    }

    /// A name for a login: the time at which it expires, which no other has.
    fn new_login(&self) -> u64 {
        let mut logins = self.logins.lock().unwrap_or_else(PoisonError::into_inner);
        let expires_at = self.clock.now().saturating_add(COOKIE_MS_MAX).max(logins.newest + 1);
        logins.newest = expires_at;
        expires_at
    }

    /// Ends the login of a request, and writes down every end that is not written yet. It takes no login
    /// that is still good: one whose end could not be written can be ended again, also when the browser
    /// has no cookie any more.
    pub(super) fn log_out(&self, headers: &HeaderMap) -> io::Result<()> {
        let login = self.signed_login(headers);
        let mut logins = self.logins.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(login) = login.filter(|login| !logins.ended.has(*login)) {
            logins.ended.end(login, self.clock.now());
            logins.is_unwritten = true;
            if let Some(streams) = logins.streams.remove(&login) {
                streams.cancel();
            }
        }
        if let Some(kith_dir) = self.kith_dir.as_ref().filter(|_| logins.is_unwritten) {
            write_logouts(kith_dir, &logins.ended.text())?;
        }
        logins.is_unwritten = false;
        Ok(())
    }

    /// The `Set-Cookie` that takes the cookie away.
    pub(super) fn no_cookie(&self) -> String {
        self.set_cookie("", 0)
    }

    /// Cancelled when the login of this request ends, also if it has ended since it was checked; never for
    /// a program with the token.
    pub(super) fn until_logout(&self, headers: &HeaderMap) -> CancellationToken {
        let until = CancellationToken::new();
        if let Some(login) = self.signed_login(headers) {
            let mut logins = self.logins.lock().unwrap_or_else(PoisonError::into_inner);
            if !logins.ended.has(login) {
                return logins.streams.entry(login).or_default().clone();
            }
        }
        if !bearer(headers).is_some_and(|shown| is_same_secret(&self.token, shown)) {
            until.cancel();
        }
        until
    }

    fn set_cookie(&self, value: &str, seconds: u64) -> String {
        let name = &self.cookie_name;
        let secure = if self.channel == LoginChannel::Tls { "; Secure" } else { "" };
        format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}")
    }

    /// Refuses a request without a token or cookie of the owner's.
    pub(super) fn check(&self, headers: &HeaderMap) -> Result<(), HttpProblem> {
        if self.login_of(headers).is_some() {
            return Ok(());
        }
        let Some(shown) = bearer(headers) else {
            return Err(HttpProblem::unauthorized(
                "this needs the owner's token or a login",
                "`kith up --open` opens the page; programs send the token of `.kith/http-token` as \
                 `Authorization: Bearer …`",
            ));
        };
        // Looked at first: wrong tokens of others must not keep the owner's programs out, and 256 bits
        // are not guessed.
        if is_same_secret(&self.token, shown) {
            return Ok(());
        }
        self.refuse_guessing()?;
        self.note_failure();
        let hint = "the token of a house stands in its `.kith/http-token`";
        Err(HttpProblem::unauthorized("this is not the token of this house", hint))
    }

    /// The login by which the page sends a request, unless it has ended.
    fn login_of(&self, headers: &HeaderMap) -> Option<u64> {
        let login = self.signed_login(headers)?;
        let logins = self.logins.lock().unwrap_or_else(PoisonError::into_inner);
        (!logins.ended.has(login)).then_some(login)
    }

    /// The login that a request shows, whether or not it has ended.
    fn signed_login(&self, headers: &HeaderMap) -> Option<u64> {
        let texts = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let pairs = texts.flat_map(|text| text.split(';')).filter_map(|it| it.split_once('='));
        let mut values = pairs.filter(|(name, _)| name.trim() == self.cookie_name);
        values.find_map(|(_, value)| self.login_in(value.trim(), headers))
    }

    fn login_in(&self, value: &str, headers: &HeaderMap) -> Option<u64> {
        let (expires_at, signature) = value.split_once('.')?;
        let at = expires_at.parse::<u64>().ok()?;
        // One form for each date, so that a signature is of one text.
        let is_plain = at.to_string() == expires_at;
        let is_ours = is_plain && is_same_secret(&self.signature("cookie", at), signature);
        let is_good = is_ours && at > self.clock.now() && self.has_page_key(headers, at);
        is_good.then_some(at)
    }

    fn has_page_key(&self, headers: &HeaderMap, expires_at: u64) -> bool {
        let text = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
        let protocols = text(&SEC_WEBSOCKET_PROTOCOL).unwrap_or_default().split(',');
        let mut shown = protocols.filter_map(|it| it.trim().strip_prefix(PAGE_KEY_PROTOCOL));
        let key = self.signature("key", expires_at);
        text(&PAGE_KEY).is_some_and(|it| is_same_secret(&key, it))
            || shown.any(|it| is_same_secret(&key, it))
    }

    fn signature(&self, of: &str, expires_at: u64) -> String {
        // A key of any length is taken.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(self.token.as_bytes()) else {
            return String::new();
        };
        mac.update(format!("kith page {of} {expires_at}").as_bytes());
        hex(&mac.finalize().into_bytes())
    }

    fn refuse_guessing(&self) -> Result<(), HttpProblem> {
        let now = self.clock.monotonic();
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        while failures.front().is_some_and(|at| at + FAILURE_WINDOW_MS <= now) {
            failures.pop_front();
        }
        if failures.len() >= FAILURES_MAX {
            return Err(HttpProblem::too_many_requests(
                "too many failed logins; try again in a minute",
            ));
        }
        Ok(())
    }

    fn note_failure(&self) {
        let now = self.clock.monotonic();
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        if failures.len() < FAILURES_MAX {
            failures.push_back(now);
        }
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let text = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = text.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

/// Compares in a time that depends on nothing but the length of what was shown.
fn is_same_secret(expected: &str, shown: &str) -> bool {
    // Hashes have one length, and whoever measures the comparison learns of hashes only.
    let (expected, shown) = (Sha256::digest(expected), Sha256::digest(shown));
    expected.iter().zip(shown.iter()).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}

/// 256 random bits.
fn random_hex() -> io::Result<String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(hex(&bytes))
}

#[cfg(test)]
mod tests;
