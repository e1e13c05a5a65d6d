//! hostapd absent, beginning again, late, or talking rubbish.

use crate::{
    control::{Asked, Control, known},
    scene::{Scene, settings},
    world::{Shared, address},
};

/// One station that was there before, and a question about it under way.
fn asked(number: u16) -> (Shared, Scene, Asked) {
    let world = Shared::with_points(1);
    world.lock().arrive(3, number);
    let scene = Scene::asking(&world, settings(), Control::of("wlan0"));
    let asked = scene.control.questions().pop().unwrap();
    (world, scene, asked)
}

/// Whatever is due happens, for so many seconds.
fn live(scene: &mut Scene, seconds: u64) {
    for _ in 0..seconds {
        scene.pass(1);
        scene.engine.tick(scene.now_ns);
        scene.hear();
    }
}

/// The same, with a hostapd that answers. How many questions it was asked.
fn answered(scene: &mut Scene, seconds: u64) -> usize {
    let each = (0..seconds).map(|_| {
        live(scene, 1);
        scene.introduce()
    });
    each.sum()
}

#[test]
fn an_absent_hostapd_is_found_when_it_comes() {
    let world = Shared::with_points(1);
    world.lock().arrive(3, 1);
    let mut scene = Scene::asking(&world, settings(), Control::absent());
    live(&mut scene, 30);
    assert_eq!((scene.engine.cost().hostapd_requests, scene.aid(0, 1)), (0, None));
    assert_eq!(scene.full(0).len(), 1, "all else is known");
    scene.control.begin("wlan0");
    assert_eq!((answered(&mut scene, 3), scene.aid(0, 1)), (1, Some(1)));
}

#[test]
fn a_hostapd_that_begins_again_is_asked_again() {
    let (_, mut scene, _) = asked(1);
    scene.control.begin("wlan0");
    assert_eq!((answered(&mut scene, 5), scene.aid(0, 1)), (1, Some(1)));
    assert_eq!(scene.engine.cost().hostapd_timeouts, 1);
}

#[test]
fn a_late_answer_is_not_taken_for_another_stations() {
    let (world, mut scene, first) = asked(1);
    world.lock().arrive(3, 2);
    // By the time that the second has shaken hands, the first question has been given up.
    live(&mut scene, 1);
    scene.control.answer(&first, &known(&first.station, 11));
    live(&mut scene, 1);
    assert_eq!((scene.aid(0, 1), scene.aid(0, 2)), (None, None));
    let second = scene.control.questions().pop().unwrap();
    assert_eq!(second.station, "02:00:00:00:00:02");
    // Nor on the same socket: what comes first may be the answer to something else.
    scene.control.answer(&second, &known(&first.station, 11));
    scene.control.answer(&second, &known(&second.station, 22));
    scene.hear();
    assert_eq!((scene.aid(0, 1), scene.aid(0, 2)), (None, Some(22)));
}

#[test]
fn rubbish_is_no_identity_and_the_question_is_given_up() {
    let (_, mut scene, first) = asked(1);
    let rubbish = ["", "FAIL\n", "UNKNOWN COMMAND\n", "aid=7\n", "\u{0}\u{1}=\u{2}", "=\n=\n"];
    scene.control.answer(&first, rubbish[0]);
    for text in rubbish {
        live(&mut scene, 3);
        for asked in scene.control.questions() {
            scene.control.answer(&asked, text);
        }
    }
    live(&mut scene, 30);
    assert_eq!((scene.aid(0, 1), scene.engine.is_settling()), (None, false));
    assert_eq!(scene.engine.cost().hostapd_requests, 5);
    assert_eq!((scene.transactions(), scene.engine.due()), (1, None));
}

#[test]
fn of_an_answer_that_was_cut_the_last_line_is_left_out() {
    let (_, mut scene, first) = asked(1);
    let mut text = known(&first.station, 1);
    while text.len() < 4070 {
        text.push_str("x=y\n");
    }
    text.push_str("listen_interval=");
    text.extend(std::iter::repeat_n('7', 4096));
    scene.control.answer(&first, &text[..4096]);
    scene.hear();
    let table = scene.engine.table();
    let row = table.row(table.find(0, address(1)).unwrap()).unwrap();
    let identity = row.identity().unwrap();
    assert_eq!((identity.aid, identity.listen_interval), (Some(1), Some(5)));
}

#[test]
fn who_left_before_its_identity_came_is_forgotten() {
    let (world, mut scene, first) = asked(1);
    world.lock().leave(address(1));
    scene.hear();
    scene.control.answer(&first, &known(&first.station, 1));
    scene.hear();
    assert_eq!((scene.engine.table().len(), scene.engine.model().len()), (0, 0));
    assert!(!scene.engine.is_settling());
}

#[test]
fn an_answer_about_the_last_association_is_not_given_to_the_next() {
    // The slot is used again, by another station and by the same.
    for number in [2, 1] {
        let (world, mut scene, first) = asked(1);
        world.lock().leave(address(1));
        world.lock().arrive(3, number);
        scene.control.answer(&first, &known(&first.station, 11));
        scene.hear();
        assert_eq!(scene.aid(0, number), None);
        scene.pass(2);
        assert_eq!((scene.introduce(), scene.aid(0, number)), (1, Some(1)));
        assert_eq!(scene.transactions(), 3, "two arrivals and one identity");
    }
}

#[test]
fn questions_about_those_who_left_do_not_pile_up() {
    let world = Shared::with_points(1);
    let mut scene = Scene::asking(&world, settings(), Control::absent());
    for number in 0..1000 {
        world.lock().arrive(3, number);
        scene.hear();
        world.lock().leave(address(number));
        scene.hear();
    }
    assert_eq!((scene.engine.is_settling(), scene.engine.due()), (false, None));
}
