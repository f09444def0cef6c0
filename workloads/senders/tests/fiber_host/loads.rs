//! Whole loads: phases, open loads, a run that is stopped, policies of the users' own.

use super::*;

#[test]
fn users_come_and_go_with_the_phases() {
    let server = Server::start();
    let mut plan = plan(server.address, "/slow?100", 0, SHORT);
    plan.phases = vec![
        phase("before", Duration::from_millis(1500), vec![Load::users(2)]),
        phase("spike", Duration::from_millis(1500), vec![Load::users(40)]),
        phase("after", Duration::from_millis(1500), vec![Load::users(2)]),
    ];
    let report = go(&plan);
    let [before, spike, after] = &report.phases[..] else { panic!("three phases") };
    assert_eq!(report.generator.health.in_flight_peak, 40);
    // Twenty times as many users, whom a busy machine lets go in the phase after.
    let [before, spike, after] = [before, spike, after].map(|phase| phase.measured.planned);
    assert!(spike > before && after > 0, "{before} {spike} {after}");
    let total = &report.total.measured;
    assert_eq!(total.served, total.planned, "{total:?}");
    assert_eq!(server.seen.connections(), 40);
}

#[test]
fn an_open_load_sends_its_plan_whatever_the_service_does() {
    let server = Server::start();
    let mut plan = plan(server.address, "/slow?100", 0, SHORT);
    let load = workloads::plan::Load::Requests {
        from_per_s: 500.0,
        to_per_s: 500.0,
        law: workloads::plan::ArrivalLaw::Constant,
        class: controllers::Class(0),
    };
    // What a machine that stood still offers late is in a later second, and the last one that was begun has no window.
    plan.phases =
        vec![phase("open", Duration::from_secs(1), vec![load]), phase("after", Duration::from_secs(2), vec![])];
    let mut windows = Vec::new();
    let report = run(&plan, &RunOptions::default(), |window| windows.push(window), &StopFlag::new()).expect("it runs");
    let ledger = &report.total.measured;
    assert!((499..=501).contains(&ledger.planned), "{ledger:?}");
    assert_eq!((ledger.served, ledger.unsent), (ledger.planned, 0));
    assert!(report.generator.health.in_flight_peak >= 30, "{:?}", report.generator.health);
    assert_eq!(windows.iter().map(|window| window.offered).sum::<u64>(), ledger.planned);
    assert!(windows.iter().any(|window| window.in_flight > 20), "{windows:?}");
}

/// Requests of an open load, so many a second for a second, on shared connections.
fn shared(server: &Server, path: &str, rate: f64, most: Option<u32>) -> LoadPlan {
    let mut plan = plan(server.address, path, 0, SHORT);
    let (law, class) = (workloads::plan::ArrivalLaw::Constant, controllers::Class(0));
    let load = workloads::plan::Load::Requests { from_per_s: rate, to_per_s: rate, law, class };
    plan.phases = vec![phase("open", Duration::from_secs(1), vec![load])];
    let Users::Url(users) = &mut plan.users else { panic!("users of a URL") };
    users.connections = ConnectionHabit::Shared { most };
    plan
}

#[test]
fn an_open_load_takes_turns_on_as_many_connections_as_it_needs() {
    for host in [HostChoice::Fiber, HostChoice::Async] {
        let server = Server::start();
        let options = RunOptions { host, ..RunOptions::default() };
        let plan = shared(&server, "/ok", 200.0, None);
        let report = run(&plan, &options, |_| {}, &StopFlag::new()).expect("it runs");
        let (ledger, peak) = (&report.total.measured, report.generator.health.in_flight_peak);
        assert_eq!((ledger.served, ledger.unsent), (200, 0), "{host:?}: {ledger:?}");
        assert_eq!(server.seen.requests(), ledger.planned);
        assert!(server.seen.connections() <= u64::from(peak), "{host:?}: {} of {peak}", server.seen.connections());
        assert_eq!(report.generator.health.waited_for_connection, 0);
    }
}

#[test]
fn where_all_connections_are_in_use_requests_wait_and_are_not_late() {
    for host in [HostChoice::Fiber, HostChoice::Async] {
        let server = Server::start();
        let options = RunOptions { host, ..RunOptions::default() };
        // 50 a second at the most.
        let plan = shared(&server, "/slow?100", 200.0, Some(5));
        let report = run(&plan, &options, |_| {}, &StopFlag::new()).expect("it runs");
        let (ledger, health) = (&report.total.measured, &report.generator.health);
        // Twice its time is the end: what has no connection by then never gets one.
        let ended = ledger.served + ledger.in_flight + ledger.refused_locally;
        assert_eq!((ledger.planned, ended), (200, 200), "{host:?}: {ledger:?}");
        assert!(ledger.served > 70, "{host:?}: {ledger:?}");
        assert_eq!((server.seen.connections(), health.in_flight_peak), (5, 5), "{host:?}");
        assert!(health.waited_for_connection > 80, "{health:?}");
        let (response, lag) = (report.total.measured.response_time_ms.p50, report.generator.send_lag_p50_ms);
        assert!(response > Some(500.0) && lag < Some(20.0), "{host:?}: {response:?} {lag:?}");
    }
}

#[test]
fn who_waits_for_a_connection_until_the_end_is_refused_and_not_unsent() {
    let server = Server::start();
    let mut plan = shared(&server, "/slow?100", 100.0, Some(1));
    plan.drain = Duration::from_millis(200);
    let report = run(&plan, &RunOptions::default(), |_| {}, &StopFlag::new()).expect("it runs");
    let ledger = &report.total.measured;
    assert_eq!((ledger.imbalance(), ledger.unsent), (None, 0), "{ledger:?}");
    assert!(ledger.refused_locally > 50 && ledger.sent < 40, "{ledger:?}");
}

#[test]
fn a_count_of_requests_ends_its_phase_and_does_not_cut_it_off() {
    let server = Server::start();
    let options = RunOptions { requests_limit: Some(20), ..RunOptions::default() };
    let plan = plan(server.address, "/slow?20", 2, Duration::from_secs(60));
    let report = run(&plan, &options, |_| {}, &StopFlag::new()).expect("it runs");
    let phase = &report.phases[0];
    assert!(!phase.cut_off && phase.seconds < 10.0, "{phase:?}");
    assert_eq!(phase.measured.served, 20);
}

#[test]
fn the_answer_to_a_head_has_no_body() {
    let server = Server::start();
    let mut plan = plan(server.address, "/head", 1, SHORT);
    let Users::Url(users) = &mut plan.users else { panic!("users of a URL") };
    users.method = "HEAD".to_owned();
    let report = go(&plan);
    let ledger = &report.total.measured;
    assert!(ledger.served > 10 && ledger.failed == 0, "{ledger:?}");
    assert_eq!(server.seen.connections(), 1, "the connection is kept");
}

#[test]
fn too_few_fibers_make_requests_late_and_the_run_says_so() {
    let server = Server::start();
    let options = RunOptions { in_flight_limit: Some(2), ..RunOptions::default() };
    let report =
        run(&plan(server.address, "/slow?20", 10, SHORT), &options, |_| {}, &StopFlag::new()).expect("it runs");
    let health = &report.generator.health;
    assert_eq!((health.in_flight_peak, health.in_flight_limit), (2, 2));
    assert!(health.waited_for_fiber > 0, "{health:?}");
    assert!(report.generator.send_lag_max_ms > Some(15.0), "{:?}", report.generator);
    assert_eq!(report.total.measured.imbalance(), None);
}

#[test]
fn a_run_that_is_stopped_keeps_what_it_has() {
    let server = Server::start();
    let plan = plan(server.address, "/slow?10", 5, Duration::from_secs(60));
    let stop = StopFlag::new();
    let other = stop.clone();
    let began = Instant::now();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        other.stop();
    });
    let report = run(&plan, &RunOptions::default(), |_| {}, &stop).expect("it runs");
    assert!(began.elapsed() < Duration::from_secs(5));
    let ledger = &report.total.measured;
    assert!(ledger.served > 0, "{ledger:?}");
    assert_eq!((ledger.served, ledger.written()), (ledger.planned, server.seen.requests()));
    let phase = &report.phases[0];
    assert!(phase.cut_off && phase.seconds > 0.0 && phase.seconds < 5.0, "{phase:?}");
    let least = ledger.served as f64 / 5.0;
    assert!(phase.measured.goodput_per_s > least, "a rate over what it lasted, not over the minute that was planned");
}

#[test]
fn what_is_in_flight_at_the_end_is_drained_then_cut() {
    let server = Server::start();
    let drained = LoadPlan { drain: Duration::from_secs(3), ..plan(server.address, "/slow?700", 3, SHORT) };
    assert_eq!(go(&drained).total.measured.served, 3);
    let cut = LoadPlan { drain: Duration::from_millis(50), ..drained };
    let report = go(&cut);
    assert_eq!((report.total.measured.served, report.total.measured.in_flight), (0, 3));
    assert_eq!(without_answer(&report), [Fate::InFlight; 3]);
}

#[test]
fn twenty_thousand_users_that_mostly_think() {
    let server = Server::start();
    let mut plan = with_users(plan(server.address, "/ok", 0, SHORT), |users| {
        users.think = traces::Think::Constant(Duration::from_secs(600));
        users.connections = ConnectionHabit::PerRequest;
    });
    // They arrive along a line, send one request, and think until the end. However busy the machine, every user gets an
    // answer.
    let arrive = workloads::plan::Load::Users { from: 0, to: 20_000, class: controllers::Class(0) };
    plan.phases = vec![
        phase("arrive", Duration::from_secs(4), vec![arrive]),
        phase("think", Duration::from_secs(2), vec![Load::users(20_000)]),
    ];
    plan.sources = 8;
    // Client and server share this process's descriptors.
    let options = RunOptions { in_flight_limit: Some(2000), ..RunOptions::default() };
    let mut thinking = 0;
    let report =
        run(&plan, &options, |w| thinking = thinking.max(w.users.thinking), &StopFlag::new()).expect("it runs");
    let ledger = &report.total.measured;
    assert_eq!((ledger.planned, ledger.served), (20_000, 20_000), "{ledger:?}");
    assert_eq!(ledger.written(), server.seen.requests());
    assert!(thinking > 2_000, "{thinking}");
}

#[test]
fn a_plan_that_the_machine_cannot_hold_is_refused_before_it_begins() {
    let server = Server::start();
    let plan = plan(server.address, "/ok", 900_000, SHORT);
    let refused = run(&plan, &RunOptions::default(), |_| {}, &StopFlag::new());
    assert!(matches!(refused, Err(RunError::TooFewDescriptors { wanted: 900_000, .. })), "{refused:?}");
    assert_eq!(server.seen.connections(), 0);
}

#[test]
fn a_run_ends_with_the_last_of_a_number_of_requests() {
    let server = Server::start();
    let options = RunOptions { requests_limit: Some(137), ..RunOptions::default() };
    let long = plan(server.address, "/ok", 5, Duration::from_secs(3600));
    let began = Instant::now();
    let report = run(&long, &options, |_| {}, &StopFlag::new()).expect("it runs");
    assert!(began.elapsed() < Duration::from_secs(20), "it did not wait for the plan's end");
    let ledger = &report.total.measured;
    assert_eq!((ledger.planned, ledger.served, ledger.unsent), (137, 137, 0), "{ledger:?}");
    assert_eq!(server.seen.requests(), 137);
}

#[test]
fn what_a_policy_of_their_own_refuses_is_not_sent() {
    let server = Server::start();
    // Long enough for a machine that stands still for a while.
    let mut plan = plan(server.address, "/slow?20", 8, Duration::from_secs(2));
    for (scope, most) in [(ClientScope::All, 1), (ClientScope::Group(4), 2)] {
        let settings = [("max".to_owned(), 1.0.into())].into();
        let objective = Objective { percentile: 90.0, response_time: Duration::from_secs(1) };
        plan.client =
            Some(ClientSpec { policy: "concurrency".to_owned(), settings, scope, objective, renewed_in: Vec::new() });
        let before = server.seen.requests();
        let report = go(&plan);
        let ledger = &report.total.measured;
        assert!(ledger.served > 0 && ledger.refused_locally > 0, "{scope:?} {ledger:?}");
        assert_eq!((ledger.sent, ledger.unsent), (ledger.served, 0), "{scope:?} {ledger:?}");
        assert_eq!(ledger.written(), server.seen.requests() - before, "{scope:?}");
        // A request takes 20 ms of the 2 s, and as many as may be are in flight at once.
        assert!(ledger.served <= most * 101, "{scope:?} {ledger:?}");
    }
}

#[test]
fn a_client_that_is_never_served_soon_sends_next_to_nothing() {
    let server = Server::start();
    let mut plan = plan(server.address, "/503", 4, LONG);
    let objective = Objective { percentile: 90.0, response_time: Duration::from_secs(1) };
    // With nothing accepted, adaptive throttling soon sends next to nothing.
    let settings = controllers::Settings::new();
    plan.client = Some(ClientSpec {
        policy: "throttle".to_owned(),
        settings,
        scope: ClientScope::All,
        objective,
        renewed_in: Vec::new(),
    });
    let plan =
        with_users(plan, |users| users.behaviour.on_reject = FailureRule::Login { wait: Duration::from_millis(1) });
    let ledger = go_for(200, &plan).total.measured;
    assert!(ledger.planned == 200 && ledger.refused_locally > ledger.rejected, "{ledger:?}");
    assert_eq!(ledger.rejected, ledger.sent, "{ledger:?}");
}

/// Users and sent requests by second: two users, twenty more from the second one for 1.5 s, and a pause from the fourth.
fn spiked_and_paused() -> Vec<(u64, u64)> {
    let server = Server::start();
    let commands = UserCommands::default();
    let options = RunOptions { numbered: true, commands: commands.clone(), ..RunOptions::default() };
    let think = traces::Think::Constant(Duration::from_millis(20));
    let plan = with_users(plan(server.address, "/ok", 2, Duration::from_secs(4)), |users| users.think = think);
    let mut seconds = Vec::new();
    let on_window = |window: workloads::measure::Window| {
        let give = |command| commands.give(command).expect("sound");
        match window.second {
            0 => {
                give(UserCommand::Spike { users: 20, stay: Duration::from_millis(1500), class: controllers::Class(0) });
            }
            2 => give(UserCommand::Pause),
            _ => {}
        }
        seconds.push((window.users.total(), window.sent));
    };
    let report = run(&plan, &options, on_window, &StopFlag::new()).expect("it runs");
    assert_eq!((report.total.measured.imbalance(), report.faults.len()), (None, 0));
    assert_eq!(report.total.measured.written(), server.seen.requests());
    seconds
}

#[test]
fn what_is_asked_of_the_users_of_a_run_is_done() {
    // The pause begins a few milliseconds into the fourth second. On a machine that stands still, what is asked for comes later.
    let is_done = |seconds: &Vec<(u64, u64)>| {
        let spike = seconds[1].1.max(seconds[2].1);
        (seconds[0].0, seconds[1].0) == (2, 22) && spike > 2 * seconds[0].1 && seconds[3].1 < spike / 2
    };
    let runs: Vec<_> = (0..3).map(|_| spiked_and_paused()).take_while(|seconds| !is_done(seconds)).collect();
    assert!(runs.len() < 3, "{runs:?}");
}

#[test]
fn a_policy_of_the_users_own_sees_the_wall_clock() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let mut plan = plan(listener.local_addr().expect("an address"), "/ok", 1, LONG);
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let (mut room, mut head) = ([0; 1024], Vec::new());
        while !head.ends_with(b"\r\n\r\n") {
            let count = std::io::Read::read(&mut stream, &mut room).expect("bytes");
            head.extend_from_slice(&room[..count]);
        }
        std::io::Write::write_all(&mut stream, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").expect("room");
        String::from_utf8(head).expect("text")
    });
    let objective = Objective { percentile: 90.0, response_time: Duration::from_secs(1) };
    let (policy, settings, scope) = ("dagor".to_owned(), Settings::new(), ClientScope::All);
    let spec = ClientSpec { policy, settings, scope, objective, renewed_in: Vec::new() };
    // The level of a user's importance, which DAGOR puts on the request, is another one in each hour.
    let note = |at: UnixSeconds| {
        let mut clients = workloads::client::clients::<()>(&spec, 1).expect("sound");
        let (member, now) = (clients.join(0), Timestamp::ZERO);
        clients.set_wall(at);
        match clients.ask(member, Tags::default(), now, None, now, |_| ()) {
            Asked::Go(pass) => format!("x-note: {}\r\n", pass.note().expect("a level").0),
            other => panic!("{other:?}"),
        }
    };
    let before = note(health::clock::wall());
    plan.client = Some(spec.clone());
    let report = go_for(1, &plan);
    assert_eq!(report.total.measured.served, 1);
    let head = server.join().expect("it was asked");
    assert!(head.contains(&before) || head.contains(&note(health::clock::wall())), "{head} without {before}");
}
