//! hostapd absent, beginning again, late, or talking rubbish.

use crate::{
    control::{Asked, Control, known},
    setup::Setup,
    world::{Shared, address},
};

/// One station that was there before, and a question about it under way.
fn asked(number: u16) -> (Shared, Setup, Asked) {
    let world = Shared::with_points(1);
    world.lock().arrive(3, number);
    let setup = Setup::asking(&world, Control::of("wlan0"));
    let asked = setup.control.questions().pop().unwrap();
    (world, setup, asked)
}

/// Whatever is due happens, for this many seconds.
fn live(setup: &mut Setup, seconds: u64) {
    for _ in 0..seconds {
        setup.pass(1);
        setup.engine.tick(setup.now_ns);
        setup.hear();
    }
}

/// The same, with a hostapd that answers. How many questions it was asked.
fn answered(setup: &mut Setup, seconds: u64) -> usize {
    let each = (0..seconds).map(|_| {
        live(setup, 1);
        setup.introduce()
    });
    each.sum()
}

#[test]
fn an_absent_hostapd_is_found_when_it_comes() {
    let world = Shared::with_points(1);
    world.lock().arrive(3, 1);
    let mut setup = Setup::asking(&world, Control::absent());
    live(&mut setup, 30);
    assert_eq!((setup.engine.cost().hostapd_requests, setup.aid(0, 1)), (0, None));
    assert_eq!(setup.full(0).len(), 1, "all else is known");
    setup.control.begin("wlan0");
    assert_eq!((answered(&mut setup, 3), setup.aid(0, 1)), (1, Some(1)));
}

#[test]
fn a_hostapd_that_begins_again_is_asked_again() {
    let (_, mut setup, _) = asked(1);
    setup.control.begin("wlan0");
    assert_eq!((answered(&mut setup, 5), setup.aid(0, 1)), (1, Some(1)));
    assert_eq!(setup.engine.cost().hostapd_timeouts, 1);
}

#[test]
fn a_late_answer_is_not_taken_for_another_stations() {
    let (world, mut setup, first) = asked(1);
    world.lock().arrive(3, 2);
    // By the time that the second has shaken hands, the first question has been given up.
    live(&mut setup, 1);
    setup.control.answer(&first, &known(&first.station, 11));
    live(&mut setup, 1);
    assert_eq!((setup.aid(0, 1), setup.aid(0, 2)), (None, None));
    let second = setup.control.questions().pop().unwrap();
    assert_eq!(second.station, "02:00:00:00:00:02");
    // Nor on the same socket: what comes first may be the answer to something else.
    setup.control.answer(&second, &known(&first.station, 11));
    setup.control.answer(&second, &known(&second.station, 22));
    setup.hear();
    assert_eq!((setup.aid(0, 1), setup.aid(0, 2)), (None, Some(22)));
}

#[test]
fn rubbish_is_no_identity_and_the_question_is_given_up() {
    let (_, mut setup, first) = asked(1);
    let rubbish = ["", "FAIL\n", "UNKNOWN COMMAND\n", "aid=7\n", "\u{0}\u{1}=\u{2}", "=\n=\n"];
    setup.control.answer(&first, rubbish[0]);
    for text in rubbish {
        live(&mut setup, 3);
        for asked in setup.control.questions() {
            setup.control.answer(&asked, text);
        }
    }
    live(&mut setup, 30);
    assert_eq!((setup.aid(0, 1), setup.engine.is_settling()), (None, false));
    assert_eq!(setup.engine.cost().hostapd_requests, 5);
    assert_eq!(setup.engine.due(), None);
}

#[test]
fn of_an_answer_that_was_cut_the_last_line_is_left_out() {
    let (_, mut setup, first) = asked(1);
    let mut text = known(&first.station, 1);
    while text.len() < 4070 {
        text.push_str("x=y\n");
    }
    text.push_str("AKMSuiteSelector=00-0f-ac-");
    text.extend(std::iter::repeat_n('7', 4096));
    setup.control.answer(&first, &text[..4096]);
    setup.hear();
    let table = &setup.engine.table;
    let identity = table.find(0, address(1)).unwrap().identity.as_ref().unwrap();
    assert_eq!((identity.aid, identity.key_management), (Some(1), None));
}

#[test]
fn an_answer_about_the_last_association_is_not_given_to_the_next() {
    // The slot is used again, by another station and by the same.
    for number in [2, 1] {
        let (world, mut setup, first) = asked(1);
        world.lock().leave(address(1));
        world.lock().arrive(3, number);
        setup.control.answer(&first, &known(&first.station, 11));
        setup.hear();
        assert_eq!(setup.aid(0, number), None);
        setup.pass(2);
        assert_eq!((setup.introduce(), setup.aid(0, number)), (1, Some(1)));
    }
}

#[test]
fn questions_about_those_who_left_do_not_pile_up() {
    let world = Shared::with_points(1);
    let mut setup = Setup::asking(&world, Control::absent());
    for number in 0..1000 {
        world.lock().arrive(3, number);
        setup.hear();
        world.lock().leave(address(number));
        setup.hear();
    }
    assert_eq!((setup.engine.is_settling(), setup.engine.due()), (false, None));
}
