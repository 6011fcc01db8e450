//! Asks questions on the terminal without echo: passwords that no file or variable holds, and
//! confirmations.

use std::os::fd::AsFd;
use std::time::Duration;

use anyhow::{Context, Result};
use assay_mysql::account::{self, Account};
use assay_ports::terminal::{KeyInput, Waited};
use assay_system::interrupt::Interrupt;

use crate::print;

/// Interval at which Ctrl-C is checked while no key arrives.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Bytes that terminals send for Enter, Backspace and Ctrl-D.
const ENTER: [u8; 2] = *b"\r\n";
const BACKSPACE: [u8; 2] = [0x7f, 0x08];
const END: u8 = 0x04;

/// Asks for each password that must be typed, once per process. Without a terminal, asks nothing;
/// the login then fails with its own error.
///
/// # Errors
/// Ctrl-C, or the terminal cannot be used.
pub(crate) fn passwords(accounts: &[Account], interrupt: &Interrupt) -> Result<()> {
    for account in accounts {
        // Two entries may name the same account, whose password is then known already.
        if account.must_be_asked()
            && let Some(password) = typed(&format!("password of {account}: "), interrupt)?
        {
            account::set_password(account, password);
        }
    }
    Ok(())
}

/// Asks a yes-or-no question; Enter alone means no. Returns `None` without a terminal.
///
/// # Errors
/// Ctrl-C, or the terminal cannot be used.
pub(crate) fn yes(question: &str, interrupt: &Interrupt) -> Result<Option<bool>> {
    let answer = typed(question, interrupt)?;
    Ok(answer.map(|answer| ["y", "yes"].contains(&answer.trim().to_lowercase().as_str())))
}

fn typed(question: &str, interrupt: &Interrupt) -> Result<Option<String>> {
    let keys = KeyInput::take().context("cannot use the terminal to ask")?;
    let Some(mut keys) = keys else { return Ok(None) };
    print::part(question);
    // `wait` needs a pipe to be woken by; nothing writes to this one.
    let (wake, _writer) = std::io::pipe().context("cannot wait for keys")?;
    let (mut typed, mut buffer) = (Vec::new(), [0; 64]);
    loop {
        let count = match keys.wait(wake.as_fd(), LOOK_EVERY, &mut buffer) {
            Waited::Keys(count) => count,
            Waited::Woken | Waited::Nothing => 0,
        };
        interrupt.check()?;
        for key in &buffer[..count] {
            match key {
                key if ENTER.contains(key) => return done(&typed),
                key if BACKSPACE.contains(key) => drop_last(&mut typed),
                &END => return Ok(None),
                key => typed.push(*key),
            }
        }
    }
}

fn done(typed: &[u8]) -> Result<Option<String>> {
    let text = std::str::from_utf8(typed).context("what was typed is not valid text")?;
    Ok(Some(text.to_owned()))
}

/// Removes the last character, which may be several bytes of UTF-8.
fn drop_last(typed: &mut Vec<u8>) {
    while typed.pop().is_some_and(|byte| byte & 0xc0 == 0x80) {}
}
