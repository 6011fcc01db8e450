//! The login, from the server's greeting to a session: capabilities, encryption, proof of the
//! password.
//!
//! With `caching_sha2_password` the client proves the password by a scramble if the server's cache
//! knows it. Otherwise the password itself is sent over a Unix socket or TLS, or encrypted with the
//! server's RSA key, if [`ServerKey`] allows one. `sha256_password`, which MySQL also feigns for
//! unknown users, always sends the password. The scrambles and the RSA step are those of the
//! `mysql_common` crate.
//!
//! Guarantees: a server can request a password in no other way; the login ends within [`STEPS_MAX`]
//! packets.

use mysql_common::scramble;

use super::key::RsaKey;
use super::ready::Ready;
use super::socket::Stream;
use super::tls;
use super::wire::{Wire, lost, printable};
use crate::endpoint::{Endpoint, ServerKey, Tls};
use crate::session::SessionError;

const LONG_PASSWORD: u32 = 1;
const FOUND_ROWS: u32 = 1 << 1;
const LONG_FLAG: u32 = 1 << 2;
const CONNECT_WITH_DB: u32 = 1 << 3;
const PROTOCOL_41: u32 = 1 << 9;
const SSL: u32 = 1 << 11;
const TRANSACTIONS: u32 = 1 << 13;
const SECURE_CONNECTION: u32 = 1 << 15;
const MULTI_STATEMENTS: u32 = 1 << 16;
const MULTI_RESULTS: u32 = 1 << 17;
const PS_MULTI_RESULTS: u32 = 1 << 18;
const PLUGIN_AUTH: u32 = 1 << 19;
const DEPRECATE_EOF: u32 = 1 << 24;

/// Requested capabilities, those of sysbench's client library.
const WANTED: u32 = LONG_PASSWORD
    | LONG_FLAG
    | PROTOCOL_41
    | TRANSACTIONS
    | SECURE_CONNECTION
    | MULTI_STATEMENTS
    | MULTI_RESULTS
    | PS_MULTI_RESULTS
    | PLUGIN_AUTH
    | DEPRECATE_EOF;

/// utf8mb4_general_ci, which every server knows.
const COLLATION: u8 = 45;
/// The longest packet that the client announces.
const PACKET_BYTES_MAX: u32 = 1 << 30;

const NATIVE: &[u8] = b"mysql_native_password";
const CACHING_SHA2: &[u8] = b"caching_sha2_password";
const SHA256: &[u8] = b"sha256_password";

/// Packets of a server between the client's first and the server's OK: a change of the plugin, a
/// request for the password, a key, and some to spare.
const STEPS_MAX: usize = 8;

/// The server's first packet.
#[derive(Debug, PartialEq)]
struct Greeting {
    capabilities: u32,
    nonce: Vec<u8>,
    plugin: Vec<u8>,
}

/// Logs in over `stream`. With `counts_matches`, an update reports the rows that it matches,
/// changed or not.
pub(super) async fn log_in<R: Ready>(
    stream: Stream,
    ready: R,
    endpoint: &Endpoint,
    tls: Option<&tls::Config>,
    counts_matches: bool,
) -> Result<Wire<R>, SessionError> {
    let mut wire = Wire::new(stream, ready);
    let greeting = match wire.answer().await {
        Ok(packet) => parse_greeting(packet)
            .ok_or_else(|| unspoken("it does not speak the MySQL protocol"))?,
        Err(SessionError::Lost { message, .. }) => return Err(SessionError::Connect(message)),
        Err(error) => return Err(error),
    };
    let mut flags = WANTED & greeting.capabilities;
    if !endpoint.database.is_empty() {
        flags |= CONNECT_WITH_DB;
    }
    if counts_matches {
        flags |= FOUND_ROWS;
    }
    let offered = greeting.capabilities & SSL != 0;
    if let Some(tls) = tls.filter(|_| offered || endpoint.tls != Tls::Preferred) {
        if !offered {
            let reason = "the server does not offer TLS; have it offer TLS, or ask for none";
            return Err(SessionError::Encryption(reason.into()));
        }
        flags |= SSL;
        begin_response(&mut wire, flags);
        wire.send().await?;
        wire = wire.over(&endpoint.tls, |stream| {
            let encrypted = tls.wrap(stream.socket().clone()).map_err(SessionError::Encryption)?;
            Ok(Stream::Tls(Box::new(encrypted)))
        })?;
    }
    wire.definitions_end_marked = flags & DEPRECATE_EOF == 0;
    let plugin = if greeting.plugin == CACHING_SHA2 { CACHING_SHA2 } else { NATIVE };
    respond(&mut wire, flags, endpoint, plugin, &greeting.nonce).await.map_err(in_handshake)?;
    prove(&mut wire, endpoint, plugin.to_vec(), greeting.nonce).await.map_err(in_handshake)?;
    Ok(wire)
}

fn unspoken(what: &str) -> SessionError {
    SessionError::Connect(format!("the server is not supported: {what}"))
}

/// Turns a connection lost during the login into one that was never made.
fn in_handshake(error: SessionError) -> SessionError {
    match error {
        SessionError::Lost { message, .. } => SessionError::Connect(message),
        other => other,
    }
}

fn parse_greeting(packet: &[u8]) -> Option<Greeting> {
    let (protocol, rest) = packet.split_first()?;
    let version_end = rest.iter().position(|byte| *byte == 0)?;
    // After the version: thread id (4), nonce (8), filler (1), low capabilities (2), collation (1),
    // status (2), high capabilities (2), length of the nonce (1), reserved (10), rest of the nonce
    // (13 or more), plugin's name.
    let rest = rest.get(version_end + 1..)?;
    if *protocol != 10 || rest.len() < 31 {
        return None;
    }
    let byte = |at: usize| u32::from(rest[at]);
    let capabilities = byte(13) | byte(14) << 8 | byte(18) << 16 | byte(19) << 24;
    let tail_length = usize::from(rest[20]).saturating_sub(8).max(13);
    let tail = rest.get(31..)?;
    let (nonce_tail, plugin) = tail.split_at_checked(tail_length).unwrap_or((tail, &[]));
    let mut nonce = rest[4..12].to_vec();
    nonce.extend_from_slice(nonce_tail);
    nonce.resize(20, 0);
    Some(Greeting { capabilities, nonce, plugin: until_zero(plugin).to_vec() })
}

fn until_zero(bytes: &[u8]) -> &[u8] {
    bytes.split(|byte| *byte == 0).next().unwrap_or_default()
}

fn begin_response<R: Ready>(wire: &mut Wire<R>, flags: u32) {
    wire.begin_packet();
    wire.put(&flags.to_le_bytes());
    wire.put(&PACKET_BYTES_MAX.to_le_bytes());
    wire.put(&[COLLATION]);
    wire.put_zeroes(23);
}

async fn respond<R: Ready>(
    wire: &mut Wire<R>,
    flags: u32,
    endpoint: &Endpoint,
    plugin: &[u8],
    nonce: &[u8],
) -> Result<(), SessionError> {
    begin_response(wire, flags);
    wire.put(endpoint.user.as_bytes());
    wire.put(&[0]);
    wire.put_counted(&proof(plugin, &endpoint.password, nonce));
    if flags & CONNECT_WITH_DB != 0 {
        wire.put(endpoint.database.as_bytes());
        wire.put(&[0]);
    }
    wire.put(plugin);
    wire.put(&[0]);
    wire.send().await
}

/// The proof of the password for `plugin`; empty for no password and for plugins that need none.
fn proof(plugin: &[u8], password: &str, nonce: &[u8]) -> Vec<u8> {
    let password = password.as_bytes();
    match plugin {
        NATIVE => scramble::scramble_native(nonce, password).map_or_else(Vec::new, Vec::from),
        CACHING_SHA2 => scramble::scramble_sha256(nonce, password).map_or_else(Vec::new, Vec::from),
        _ => Vec::new(),
    }
}

/// Answers the server's requests until it accepts the login.
async fn prove<R: Ready>(
    wire: &mut Wire<R>,
    endpoint: &Endpoint,
    mut plugin: Vec<u8>,
    mut nonce: Vec<u8>,
) -> Result<(), SessionError> {
    let mut switched = false;
    for _ in 0..STEPS_MAX {
        let packet = wire.answer().await?.to_vec();
        match packet[0] {
            0x00 => return Ok(()),
            0xfe if !std::mem::replace(&mut switched, true) => {
                let name = until_zero(&packet[1..]);
                plugin =
                    if name.is_empty() { b"mysql_old_password".to_vec() } else { name.to_vec() };
                refuse_unknown(&plugin)?;
                nonce = packet.get(name.len() + 2..).unwrap_or_default().to_vec();
                nonce.resize(20, 0);
                if plugin == SHA256 {
                    send_password(wire, endpoint, &nonce, 1).await?;
                } else {
                    wire.begin_packet();
                    wire.put(&proof(&plugin, &endpoint.password, &nonce));
                    wire.send().await?;
                }
            }
            // The server's cache knew the password; its OK follows.
            0x01 if plugin == CACHING_SHA2 && packet.get(1) == Some(&3) => {}
            0x01 if plugin == CACHING_SHA2 && packet.get(1) == Some(&4) => {
                send_password(wire, endpoint, &nonce, 2).await?;
            }
            _ => {
                return Err(unspoken(
                    "its authentication needs a step that this client does not support",
                ));
            }
        }
    }
    Err(unspoken("its authentication does not come to an end"))
}

/// Longer names belong to no plugin.
const PLUGIN_BYTES_SHOWN: usize = 64;

fn refuse_unknown(plugin: &[u8]) -> Result<(), SessionError> {
    // With the last two, the server asks the kernel for the client's user.
    let known = [NATIVE, CACHING_SHA2, SHA256, b"auth_socket", b"unix_socket"];
    if known.contains(&plugin) {
        return Ok(());
    }
    let name = printable(&plugin[..plugin.len().min(PLUGIN_BYTES_SHOWN)]);
    Err(unspoken(&format!(
        "the user authenticates with {name}; use one with caching_sha2_password"
    )))
}

/// Sends the password itself, encrypted with the server's key if others could read along. `ask`
/// requests the key.
async fn send_password<R: Ready>(
    wire: &mut Wire<R>,
    endpoint: &Endpoint,
    nonce: &[u8],
    ask: u8,
) -> Result<(), SessionError> {
    let mut secret = endpoint.password.as_bytes().to_vec();
    secret.push(0);
    if !wire.stream().is_private() && !endpoint.password.is_empty() {
        let key = key(wire, &endpoint.key, ask).await?;
        for (byte, mask) in secret.iter_mut().zip(nonce.iter().cycle()) {
            *byte ^= mask;
        }
        let too_long =
            || SessionError::Connect("the password is too long for the server's key".into());
        secret = key.encrypt(&secret).ok_or_else(too_long)?;
    }
    wire.begin_packet();
    wire.put(&secret);
    wire.send().await
}

async fn key<R: Ready>(
    wire: &mut Wire<R>,
    allowed: &ServerKey,
    ask: u8,
) -> Result<RsaKey, SessionError> {
    match allowed {
        ServerKey::None => Err(SessionError::Encryption(NO_KEY.into())),
        ServerKey::Known(pem) => RsaKey::of(pem.as_bytes()).ok_or_else(|| {
            let reason = "server-public-key-path names a file without an RSA public key in PEM";
            SessionError::Encryption(reason.into())
        }),
        ServerKey::Fetched => {
            wire.begin_packet();
            wire.put(&[ask]);
            wire.send().await?;
            let sent = wire.answer().await?;
            let key = sent.get(1..).and_then(RsaKey::of);
            key.ok_or_else(|| {
                lost("the server sent no RSA public key; encrypt the connection with TLS")
            })
        }
    }
}

/// The error for a server whose identity is unverified (MySQL's client: "Authentication requires
/// secure connection").
const NO_KEY: &str = "the server asks for the password itself over a connection without TLS; \
                      encrypt the connection, give the server's key \
                      (server-public-key-path), or take whatever key is sent \
                      (get-server-public-key)";

#[cfg(test)]
mod tests {
    use super::*;

    /// A greeting of MySQL 8 and later.
    fn greeting() -> Vec<u8> {
        let mut packet = b"\x0a9.7.4\0".to_vec();
        packet.extend_from_slice(&[9, 0, 0, 0]);
        packet.extend_from_slice(b"abcdefgh\0");
        packet.extend_from_slice(&[0xff, 0xff, 255, 2, 0, 0xff, 0xdf, 21]);
        packet.extend_from_slice(&[0; 10]);
        packet.extend_from_slice(b"ijklmnopqrst\0caching_sha2_password\0");
        packet
    }

    #[test]
    fn a_greeting_is_taken_apart() {
        let parsed = parse_greeting(&greeting()).unwrap();
        assert_eq!(parsed.capabilities, 0xdfff_ffff);
        assert_eq!(parsed.nonce, b"abcdefghijklmnopqrst");
        assert_eq!(parsed.plugin, CACHING_SHA2);
    }

    #[test]
    fn broken_greetings_are_refused_without_panic() {
        let whole = greeting();
        for length in 0..whole.len() {
            let _ = parse_greeting(&whole[..length]);
        }
        assert_eq!(parse_greeting(&whole[..30]), None);
        assert_eq!(parse_greeting(b"HTTP/1.1 400 Bad Request\r\n\r\n"), None);
    }
}
