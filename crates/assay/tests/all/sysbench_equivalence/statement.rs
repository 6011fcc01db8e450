//! Statements of a general log, split into their form and the numbers in it.

/// One statement of the log.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    /// How the statement was sent, `Query` or `Execute`, and its text with `#` for each number and
    /// `sbtest@` for a numbered table.
    pub form: Form,
    pub table: Option<i64>,
    /// Numbers outside texts.
    pub numbers: Vec<i64>,
    /// Lengths of the groups of digits in texts.
    pub groups: Vec<i64>,
}

/// A command and the form of its text.
pub type Form = (String, String);

/// Splits a statement.
pub fn take_apart(command: &str, text: &str) -> Statement {
    let (mut form, mut table) = (String::new(), None);
    let (mut numbers, mut groups) = (Vec::new(), Vec::new());
    let text = text.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
    let mut chars = text.chars().peekable();
    let mut is_text = false;
    while let Some(c) = chars.next() {
        if !c.is_ascii_digit() {
            is_text ^= c == '\'';
            form.push(c);
            continue;
        }
        let mut digits = c.to_string();
        while let Some(digit) = chars.next_if(char::is_ascii_digit) {
            digits.push(digit);
        }
        if is_text {
            form.push('#');
            groups.push(digits.len() as i64);
        } else if form.ends_with("sbtest") {
            form.push('@');
            table = digits.parse().ok();
        } else {
            form.push('#');
            numbers.push(digits.parse().unwrap());
        }
    }
    Statement { form: (command.into(), form), table, numbers, groups }
}

/// The form as MySQL reads it: keywords and columns in one case and no more space than needed,
/// texts as they are.
pub fn as_read(form: &str) -> String {
    let read = |(i, part): (usize, &str)| match i % 2 {
        0 => ["(", ")", ","].iter().fold(part.to_uppercase(), |part, mark| {
            part.split(*mark).map(str::trim).collect::<Vec<_>>().join(mark)
        }),
        _ => part.to_owned(),
    };
    form.split('\'').enumerate().map(read).collect::<Vec<_>>().join("'")
}

#[test]
fn a_form_is_read_whatever_its_case_and_spaces() {
    assert_eq!(as_read("INSERT into t values(#,' a', #)"), "INSERT INTO T VALUES(#,' a',#)");
    assert_eq!(as_read("INSERT INTO t VALUES (#, ' a', #)"), "INSERT INTO T VALUES(#,' a',#)");
    assert_ne!(as_read("SELECT SUM(k) FROM t"), as_read("SELECT SUM(c) FROM t"));
}

#[test]
fn statements_are_taken_apart() {
    let statement = take_apart("Query", "INSERT INTO sbtest3 (id, k)\n VALUES (7, 'ab-123')");
    assert_eq!(statement.form.1, "INSERT INTO sbtest@ (id, k) VALUES (#, 'ab-#')");
    assert_eq!((statement.table, statement.numbers), (Some(3), vec![7]));
    assert_eq!(statement.groups, [3]);
}
