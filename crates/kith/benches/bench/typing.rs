//! How soon a key is on the screen while an answer streams, beside a terminal that only echoes.

use std::io::{Read, Write};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

use super::Ground;
use super::figure::{Figure, median, ms, ratio};
use super::life::{RealHouse, user_home};
use super::server::ServerProcess;

const KEYS: usize = 60;
const SHOWN_MAX: Duration = Duration::from_millis(5);
const WAIT_MAX: Duration = Duration::from_secs(20);
const ROWS: u16 = 30;
const COLUMNS: u16 = 100;

pub(crate) fn measure(ground: &Ground) -> Vec<Figure> {
    let server = ServerProcess::start();
    let house = RealHouse::make(&ground.kith, &ground.dir.join("typing"), &server);
    let mut chat = CommandBuilder::new(&ground.kith);
    chat.cwd(&house.dir);
    chat.env_clear();
    chat.env("HOME", user_home(&house.dir));
    chat.env("TERM", "xterm-256color");
    chat.env("OPENAI_API_KEY", "none");
    chat.env("OPENAI_BASE_URL", server.url_that_streams());
    let mut chat = Typing::start(chat);
    chat.until("Enter sends");
    chat.press("talk\r");
    chat.until("word word word");
    let shown = chat.times("> ");
    let mut echo = Typing::start(CommandBuilder::new("cat"));
    let echoed = median(echo.times(""));
    let most = shown.iter().copied().max().unwrap_or_default();
    let time = median(shown);
    vec![
        Figure::new(
            "a key: from its sending to the screen, while 500 tokens a second stream",
            format!("{}, {} at most", ms(time), ms(most)),
        )
        .against(format!("{} echo of the terminal", ms(echoed)), ratio(time, echoed))
        .goal("at most 5 ms", most <= SHOWN_MAX),
    ]
}

/// A program in a terminal.
struct Typing {
    _master: Box<dyn MasterPty + Send>,
    keyboard: Box<dyn Write + Send>,
    child: Box<dyn Child + Send + Sync>,
    output: Receiver<Vec<u8>>,
    screen: vt100::Parser,
}

impl Typing {
    fn start(command: CommandBuilder) -> Typing {
        let size = PtySize { rows: ROWS, cols: COLUMNS, pixel_width: 0, pixel_height: 0 };
        let pty = native_pty_system().openpty(size).expect("a terminal can be made");
        let child = pty.slave.spawn_command(command).expect("a program can be started");
        let mut reader = pty.master.try_clone_reader().expect("a terminal can be read");
        let (sender, output) = channel();
        std::thread::spawn(move || {
            let mut chunk = [0; 4096];
            while let Ok(n_bytes @ 1..) = reader.read(&mut chunk) {
                if sender.send(chunk[..n_bytes].to_vec()).is_err() {
                    return;
                }
            }
        });
        let keyboard = pty.master.take_writer().expect("a terminal can be typed on");
        let (rows, columns) = (ROWS.try_into(), COLUMNS.try_into());
        let screen = vt100::Parser::new(rows.expect("not 0"), columns.expect("not 0"), 0);
        Typing { _master: pty.master, keyboard, child, output, screen }
    }

    fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("the program listens");
        self.keyboard.flush().expect("the program listens");
    }

    fn until(&mut self, text: &str) {
        while !self.screen.screen().contents().contains(text) {
            let chunk = self.output.recv_timeout(WAIT_MAX);
            self.screen.process(&chunk.unwrap_or_else(|_| panic!("`{text}` was never shown")));
        }
    }

    /// The times from a key to its place behind those before it.
    fn times(&mut self, mark: &str) -> Vec<Duration> {
        let mut times = Vec::new();
        let mut typed = String::new();
        for n in 0..KEYS {
            let key = char::from(b'a' + u8::try_from(n % 26).unwrap_or_default());
            typed.push(key);
            let began = Instant::now();
            self.press(key.encode_utf8(&mut [0; 4]));
            self.until(&format!("{mark}{typed}"));
            times.push(began.elapsed());
        }
        times
    }
}

impl Drop for Typing {
    fn drop(&mut self) {
        // It may have ended by itself, which is as good.
        self.child.kill().unwrap_or_default();
        self.child.wait().ok();
    }
}
