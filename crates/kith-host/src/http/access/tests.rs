//! Tokens, codes and cookies that are right, wrong, used, old or made up.

use kith_testkit::clock::FakeClock;

use super::*;

fn access() -> (Arc<FakeClock>, HttpAccess) {
    let clock = Arc::new(FakeClock::new());
    (Arc::clone(&clock), HttpAccess::new("a".repeat(64), clock))
}

fn status<T>(result: Result<T, HttpProblem>) -> u16 {
    match result {
        Ok(_) => 200,
        Err(problem) => problem.into_response().status().as_u16(),
    }
}

fn with(name: &'static str, value: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(name, value.parse().unwrap());
    headers
}

/// The headers of a page that has logged in, with this text in place of its cookie if there is one.
fn page(login: &PageLogin, cookie: Option<&str>) -> HeaderMap {
    let pair = login.set_cookie.split(';').next().unwrap();
    let mut headers = with("cookie", cookie.unwrap_or(pair));
    headers.insert("x-kith-page", login.page_key.parse().unwrap());
    headers
}

#[test]
fn a_program_is_let_in_by_the_token_and_by_nothing_like_it() {
    let (_, access) = access();
    let token = "a".repeat(64);
    assert_eq!(status(access.check(&with("authorization", &format!("Bearer {token}")))), 200);
    assert_eq!(status(access.check(&with("authorization", &format!("bearer  {token}")))), 200);
    for wrong in ["Bearer", "Bearer ", "Basic YTph", &token, &format!("Bearer {token}a")] {
        assert_eq!(status(access.check(&with("authorization", wrong))), 401, "{wrong}");
    }
    assert_eq!(status(access.check(&HeaderMap::new())), 401);
}

#[test]
fn a_login_code_is_good_once_and_for_a_minute() {
    let (clock, access) = access();
    let code = access.new_login_code().unwrap();
    assert_eq!(code.len(), 64);
    let cookie = access.log_in(&code).unwrap().set_cookie;
    assert!(cookie.contains("HttpOnly; SameSite=Strict") && cookie.contains("Path=/"));
    assert_eq!(status(access.log_in(&code)), 401);

    let late = access.new_login_code().unwrap();
    clock.advance(CODE_MS_MAX);
    assert_eq!(status(access.log_in(&late)), 401);
}

#[test]
fn a_cookie_lets_in_until_it_expires_also_another_host_with_the_same_token() {
    let (clock, access) = access();
    let code = access.new_login_code().unwrap();
    let login = access.log_in(&code).unwrap();
    let pair = login.set_cookie.split(';').next().unwrap();
    let headers = page(&login, Some(&format!("theme=dark; {pair}; other=1")));
    assert_eq!(status(access.check(&headers)), 200);

    let next = HttpAccess::new("a".repeat(64), Arc::clone(&clock) as Arc<dyn Clock>);
    assert_eq!(status(next.check(&headers)), 200);
    let other = HttpAccess::new("b".repeat(64), Arc::clone(&clock) as Arc<dyn Clock>);
    assert_eq!(status(other.check(&headers)), 401);

    clock.advance(COOKIE_MS_MAX);
    assert_eq!(status(access.check(&headers)), 401);
}

#[test]
fn no_byte_of_a_cookie_can_be_changed() {
    let (_, access) = access();
    let code = access.new_login_code().unwrap();
    let login = access.log_in(&code).unwrap();
    let cookie = login.set_cookie.split(';').next().unwrap().to_owned();
    for index in 0..cookie.len() {
        let mut bytes = cookie.clone().into_bytes();
        bytes[index] = if bytes[index] == b'1' { b'2' } else { b'1' };
        let changed = String::from_utf8(bytes).unwrap();
        assert_eq!(status(access.check(&page(&login, Some(&changed)))), 401, "{changed}");
    }
    let (name, value) = cookie.split_once('=').unwrap();
    for other in [format!("{name}=0{value}"), format!("{name}=+{value}"), format!("{name}=")] {
        assert_eq!(status(access.check(&page(&login, Some(&other)))), 401, "{other}");
    }
}

#[test]
fn whoever_guesses_is_slowed_down_and_the_page_goes_on() {
    let (clock, access) = access();
    let code = access.new_login_code().unwrap();
    let login = access.log_in(&code).unwrap();
    let wrong = with("authorization", "Bearer wrong");
    for _ in 0..FAILURES_MAX {
        assert_eq!(status(access.check(&wrong)), 401);
    }
    assert_eq!(status(access.check(&wrong)), 429);
    let right = with("authorization", &format!("Bearer {}", "a".repeat(64)));
    assert_eq!(status(access.check(&right)), 200);
    assert_eq!(status(access.log_in("x")), 429);
    assert_eq!(status(access.check(&page(&login, None))), 200);
    clock.advance(FAILURE_WINDOW_MS);
    assert_eq!(status(access.check(&wrong)), 401);
}

#[test]
fn only_so_many_codes_are_good_at_a_time() {
    let (_, access) = access();
    let first = access.new_login_code().unwrap();
    let others: Vec<String> = (0..CODES_MAX).map(|_| access.new_login_code().unwrap()).collect();
    assert_eq!(status(access.log_in(&first)), 401);
    assert_eq!(status(access.log_in(others.last().unwrap())), 200);
}

#[test]
fn a_cookie_that_another_port_of_the_machine_has_seen_is_not_enough() {
    let (_, access) = access();
    let login = access.log_in(&access.new_login_code().unwrap()).unwrap();
    let mut headers = page(&login, None);
    headers.remove("x-kith-page");
    assert_eq!(status(access.check(&headers)), 401);
    headers.insert("x-kith-page", "0".repeat(64).parse().unwrap());
    assert_eq!(status(access.check(&headers)), 401);
    // A WebSocket of the page shows the key as the name of a protocol.
    headers.remove("x-kith-page");
    let offered = format!("kith, kith.{}", login.page_key);
    headers.insert("sec-websocket-protocol", offered.parse().unwrap());
    assert_eq!(status(access.check(&headers)), 200);
    // The key alone is not enough either.
    headers.remove("cookie");
    assert_eq!(status(access.check(&headers)), 401);
}

#[test]
fn logging_out_ends_the_login_at_once_and_for_the_next_host_too() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join(".kith")).unwrap();
    let house = House { dir: dir.path().to_owned(), cwd: dir.path().to_owned(), user_home: None };
    let clock = Arc::new(FakeClock::new());
    let next = || HttpAccess::of_house(&house, Arc::clone(&clock) as Arc<dyn Clock>).unwrap();
    let access = next();
    let log_in = || page(&access.log_in(&access.new_login_code().unwrap()).unwrap(), None);
    // At the same moment, and yet two.
    let (first, second) = (log_in(), log_in());
    let streams = access.until_logout(&first);
    access.log_out(&first).unwrap();
    assert!(streams.is_cancelled());
    assert!(access.no_cookie().contains("Max-Age=0"));
    // A stream that begins only now, for a request that was checked before.
    assert!(access.until_logout(&first).is_cancelled());
    for access in [&access, &next()] {
        assert_eq!(status(access.check(&first)), 401);
        assert_eq!(status(access.check(&second)), 200);
    }
    // Nobody is logged out by whoever shows no cookie, or one that is good no more.
    access.log_out(&HeaderMap::new()).unwrap();
    access.log_out(&first).unwrap();
    assert!(!access.until_logout(&second).is_cancelled());
}

#[test]
fn a_good_code_lets_in_whoever_else_has_guessed() {
    let (_, access) = access();
    let code = access.new_login_code().unwrap();
    for _ in 0..=FAILURES_MAX {
        access.log_in("wrong").unwrap_err();
    }
    assert_eq!(status(access.log_in("wrong")), 429);
    assert_eq!(status(access.log_in(&code)), 200);
}

#[test]
fn listeners_of_a_house_share_logins_and_not_failures() {
    let (_, local) = access();
    let remote = local.over_tls();
    // The host makes all codes at its own entry.
    let code = local.new_login_code().unwrap();
    let login = remote.log_in(&code).unwrap();
    assert_eq!(status(local.log_in(&code)), 401);
    assert!(login.set_cookie.ends_with("; Secure"), "{}", login.set_cookie);
    let here = local.log_in(&local.new_login_code().unwrap()).unwrap();
    assert!(!here.set_cookie.contains("Secure"), "{}", here.set_cookie);
    assert_eq!(status(local.check(&page(&login, None))), 200);

    let wrong = with("authorization", "Bearer wrong");
    for _ in 0..FAILURES_MAX {
        assert_eq!(status(remote.check(&wrong)), 401);
    }
    assert_eq!(status(remote.check(&wrong)), 429);
    assert_eq!(status(local.check(&wrong)), 401);

    local.log_out(&page(&login, None)).unwrap();
    for access in [&local, &remote] {
        assert_eq!(status(access.check(&page(&login, None))), 401);
    }
}

#[test]
fn a_logout_that_could_not_be_written_counts_at_once_and_is_written_by_the_next() {
    let dir = tempfile::tempdir().unwrap();
    let kith_dir = dir.path().join(".kith");
    std::fs::create_dir(&kith_dir).unwrap();
    let house = House { dir: dir.path().to_owned(), cwd: dir.path().to_owned(), user_home: None };
    let clock = Arc::new(FakeClock::new());
    let next = || HttpAccess::of_house(&house, Arc::clone(&clock) as Arc<dyn Clock>).unwrap();
    let access = next();
    let login = page(&access.log_in(&access.new_login_code().unwrap()).unwrap(), None);
    let streams = access.until_logout(&login);
    // In the way of the new file.
    let in_the_way = kith_dir.join("http-logouts.part");
    std::fs::create_dir(&in_the_way).unwrap();
    for _ in 0..2 {
        access.log_out(&login).unwrap_err();
        assert_eq!((status(access.check(&login)), streams.is_cancelled()), (401, true));
        assert_eq!(status(next().check(&login)), 200);
    }
    std::fs::remove_dir(&in_the_way).unwrap();
    // Its browser has no cookie any more.
    access.log_out(&HeaderMap::new()).unwrap();
    assert_eq!(status(next().check(&login)), 401);
}

#[test]
fn a_program_with_the_token_is_not_logged_out_by_an_old_cookie() {
    let (_, access) = access();
    let mut headers = page(&access.log_in(&access.new_login_code().unwrap()).unwrap(), None);
    access.log_out(&headers).unwrap();
    headers.insert("authorization", format!("Bearer {}", "a".repeat(64)).parse().unwrap());
    assert_eq!(status(access.check(&headers)), 200);
    assert!(!access.until_logout(&headers).is_cancelled());
}
