//! What is asked for at the terminal, key by key, and never shown: passwords that nobody keeps in a file or a variable, and whether
//! to go on.

use std::os::fd::AsFd;
use std::time::Duration;

use anyhow::{Context, Result};
use assay_mysql::account::{self, Account};
use assay_ports::terminal::{KeyInput, Waited};
use assay_system::interrupt::Interrupt;

use crate::print;

/// How often Ctrl-C is looked for while nothing is typed.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What terminals send for Enter, for Backspace, and for the end of all input.
const ENTER: [u8; 2] = *b"\r\n";
const BACKSPACE: [u8; 2] = [0x7f, 0x08];
const END: u8 = 0x04;

/// Asks for each password that has to be typed, once in the life of this process. Where there is no terminal nobody is asked, and
/// whoever needs the password says so.
///
/// # Errors
/// Ctrl-C, or the terminal cannot be used.
pub fn passwords(accounts: &[Account], interrupt: &Interrupt) -> Result<()> {
    for one in accounts {
        // An earlier one may have been the same.
        if one.must_be_asked()
            && let Some(password) = typed(&format!("password of {one}: "), interrupt)?
        {
            account::tell(one, password);
        }
    }
    Ok(())
}

/// Asks a question that is answered by yes or no, no being what Enter alone says. Nothing where there is no terminal.
///
/// # Errors
/// Ctrl-C, or the terminal cannot be used.
pub fn yes(question: &str, interrupt: &Interrupt) -> Result<Option<bool>> {
    let answer = typed(question, interrupt)?;
    Ok(answer.map(|answer| ["y", "yes"].contains(&answer.trim().to_lowercase().as_str())))
}

fn typed(question: &str, interrupt: &Interrupt) -> Result<Option<String>> {
    let keys = KeyInput::take().context("cannot use the terminal to ask")?;
    let Some(mut keys) = keys else { return Ok(None) };
    print::part(question);
    // Nothing is ever written into it.
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

/// A letter may be several bytes.
fn drop_last(typed: &mut Vec<u8>) {
    while typed.pop().is_some_and(|byte| byte & 0xc0 == 0x80) {}
}
