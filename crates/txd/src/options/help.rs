//! What `--help` prints.

pub const HELP: &str = "\
txd: the transmit path of a Wi-Fi driver, with every way to wait for its card

Usage: txd run [--strategy S] [--names A,B] [--air R] …
       txd measure [--strategy S] [--rate N] [--bytes N] … [--json]
       txd census [--strategy S] …

  run       Two TAP interfaces with the card between them, until a signal
            comes; SIGUSR1 prints the counters
  measure   One trial in namespaces of its own, and what it cost
  census    As measure, and prints each command: how many, how long

How the driver waits:
      --strategy S        busy | event | hybrid | batch [event]; measure: none
      --patience SPAN     A command may take so long [20ms]
      --queue N           Frames that the driver may hold [64]

The card:
      --completes-in SPAN A transmit command takes so long [150us]
      --spread S          fixed | uniform:SPAN | tail:SPAN [fixed]
      --others-in SPAN    Other commands take so long [50us]
      --access-in SPAN    Its access path is busy for so long [0s]
      --bus-word SPAN     The CPU stands still for so long for each 16 bits that
                          go to or from the card [0s]
      --air RATE          1 | 2 | 5.5 | 11 Mb/s of 802.11b | off [off]
      --faults LIST       late=1%,late-by=5ms,lost=1%,error=1%,stuck=1%,
                          dies-at=N
      --seed N            What chance begins with [1]

run:
      --names A,B         The interfaces [txd0,txd1]
      --back WAY          card | direct: frames from B to A [card]
      --for SPAN          Ends by itself after so long

measure, census:
      --rate N            Frames a second; 0: as fast as they are taken [440]
      --bytes N           Bytes of a frame, 66 to 1514 [1514]
      --warm-up SPAN      Before anything counts [500ms]
      --window SPAN       The measured span; a task ends it instead [2s]
      --task-rounds N     A CPU task of so many rounds beside it, on one CPU
      --json              One line of JSON

  -h, --help              Print this
  -V, --version           Print the version

Examples:
  txd measure --strategy busy --rate 440 --completes-in 150us --window 2s
  txd measure --strategy none --task-rounds 200000 --json
  ip netns add far; txd run --strategy hybrid --air 11 &
  ip link set txd1 netns far; ip addr add 10.9.0.1/24 dev txd0
  ip netns exec far ip addr add 10.9.0.2/24 dev txd1; ping 10.9.0.2

Exit codes: 0 ended as asked, 1 the card died, 2 usage, 4 this machine lacks
something or an interface was removed.
";
