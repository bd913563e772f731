//! Programs that print credentials: `credential_process` of a profile, and Azure's command line.

use crate::{Error, ErrorKind};
use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

/// How long a program may take: people may have to touch a key.
const TIME_MAX: Duration = Duration::from_secs(60);

/// Bytes of output that are read at most.
const OUTPUT_MAX: u64 = 1 << 20;

/// What a program printed. It gets no input, and what it prints as errors goes where ours go. Runs on the thread for
/// blocking work.
///
/// # Errors
///
/// Where it cannot be started, fails, or takes longer than a minute (it is then ended). Neither its arguments nor its
/// output are in the message: both may hold secrets.
pub(super) async fn output_of(
    name: &'static str,
    program: String,
    arguments: Vec<String>,
) -> Result<Vec<u8>, Error> {
    let run = move || output(name, &program, &arguments, TIME_MAX);
    tokio::task::spawn_blocking(run).await.map_err(|_| failed(name, "was abandoned"))?
}

fn output(name: &str, program: &str, arguments: &[String], time_max: Duration) -> Result<Vec<u8>, Error> {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| failed(name, &format!("could not be started: {}", error.kind())))?;
    // Read by another thread, so that a program that prints much does not wait for us, nor we for one that hangs.
    let pipe = child.stdout.take();
    let (sender, receiver) = sync_channel(1);
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = pipe.map_or(Ok(0), |pipe| pipe.take(OUTPUT_MAX).read_to_end(&mut bytes));
        // Nobody waits any more once the time is over.
        let _ = sender.send(read.map(|_| bytes));
    });
    let until = Instant::now() + time_max;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(10)),
            _ => {
                // Best effort: what cannot be ended is left.
                let _ = child.kill();
                let _ = child.wait();
                return Err(failed(name, &format!("did not end within {} s", time_max.as_secs())));
            }
        }
    };
    if !status.success() {
        return Err(failed(name, &format!("failed: {status}")));
    }
    match receiver.recv_timeout(until.saturating_duration_since(Instant::now())) {
        Ok(Ok(bytes)) => Ok(bytes),
        _ => Err(failed(name, "gave output that could not be read")),
    }
}

/// The words of a command line, as a shell splits them: quotes and backslashes, and nothing else.
pub(super) fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = line.chars();
    while let Some(c) = characters.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some('"') | None, '\\') if cfg!(unix) => word.get_or_insert_default().extend(characters.next()),
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

fn failed(name: &str, how: &str) -> Error {
    Error::new(ErrorKind::PermissionDenied, format!("{name} {how}"))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn command_lines_are_split_as_a_shell_does() {
        assert_eq!(words(r#"/bin/x --a "b c" 'd "e' f\ g """#), ["/bin/x", "--a", "b c", "d \"e", "f g", ""]);
        assert!(words("  ").is_empty());
    }

    #[test]
    fn programs_that_fail_or_hang_end_in_an_error_without_their_words() {
        let shell = |script: &str, time| output("the program", "sh", &["-c".into(), script.into()], time);
        assert_eq!(shell("echo hi", TIME_MAX).unwrap(), b"hi\n");
        let error = shell("echo S3CRET; exit 3", TIME_MAX).unwrap_err();
        assert!(error.message().contains('3') && !error.message().contains("S3CRET"), "{error}");
        let error = shell("exec sleep 600", Duration::from_millis(50)).unwrap_err();
        assert!(error.message().contains("did not end"), "{error}");
        assert!(output("the program", "/does/not/exist", &[], TIME_MAX).is_err());
    }
}
