//! The files with which other engines than Slurm make a study's shards: those of `examples/ci`, with a study, its words and its
//! number of shards in them.
//!
//! Text to text. Nobody is asked, nothing is submitted: whoever has such an engine reads the file before it runs.

use crate::flags::Engine;

const GITHUB: &str = include_str!("../../../../examples/ci/github/shards.yml");
const GITLAB: &str = include_str!("../../../../examples/ci/gitlab/shards.yml");
const KUBERNETES: &str = include_str!("../../../../examples/ci/kubernetes/shards.yml");

/// The study that the examples run.
fn study_there() -> &'static str {
    let after = GITHUB.split_once("STUDY: ").map_or("", |(_, after)| after);
    after.lines().next().unwrap_or_default()
}

/// The file for an engine; `None` for one that headroom submits to itself.
///
/// # Errors
///
/// A word that YAML or a shell would read as something else, and what to do about it.
pub(super) fn file(
    engine: Engine,
    shards: u32,
    words: &[String],
) -> Result<Option<String>, String> {
    let count = |line: &str| line.replace('8', &shards.to_string());
    let (template, edits) = match engine {
        // Its own words are quoted for its shell.
        Engine::Slurm => return Ok(None),
        Engine::Github => {
            let numbers: Vec<String> = (1..=shards).map(|shard| shard.to_string()).collect();
            let matrix = format!("shard: [{}]", numbers.join(", "));
            (GITHUB, vec![("shard: [1, 2, 3, 4, 5, 6, 7, 8]", matrix)])
        }
        Engine::Gitlab => (GITLAB, vec![("parallel: 8", count("parallel: 8"))]),
        Engine::Kubernetes => {
            let lines = ["completions: 8", "parallelism: 8", "value: \"8\""];
            (KUBERNETES, lines.map(|line| (line, count(line))).into())
        }
    };
    let is_plain = |word: &str| {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "_./=,@%+-".contains(letter);
        !word.is_empty() && word.chars().all(plain)
    };
    if let Some(word) = words.iter().find(|word| !is_plain(word)) {
        return Err(format!(
            "{word:?} would need quotes in the file; leave it out, and write it there"
        ));
    }
    let [study, words @ ..] = words else { return Ok(None) };
    let words: String = words.iter().map(|word| format!(" {word}")).collect();
    let edits = edits.into_iter().chain([
        (study_there(), study.clone()),
        ("headroom run \"$STUDY\"", format!("headroom run \"$STUDY\"{words}")),
    ]);
    Ok(Some(edits.fold(template.to_owned(), |text, (from, to)| text.replace(from, &to))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(engine: Engine, shards: u32, words: &[&str]) -> Result<Option<String>, String> {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        file(engine, shards, &words)
    }

    #[test]
    fn the_examples_are_what_is_written_for_eight_shards_of_their_study() {
        let examples =
            [(Engine::Github, GITHUB), (Engine::Gitlab, GITLAB), (Engine::Kubernetes, KUBERNETES)];
        for (engine, example) in examples {
            assert_eq!(of(engine, 8, &[study_there()]), Ok(Some(example.to_owned())));
        }
        assert_eq!(of(Engine::Slurm, 8, &[study_there()]), Ok(None));
    }

    #[test]
    fn study_words_and_shards_are_in_the_file() {
        let words = ["studies/mine.toml", "--clients", "18,114"];
        for engine in [Engine::Github, Engine::Gitlab, Engine::Kubernetes] {
            let text = of(engine, 12, &words).unwrap().unwrap();
            assert!(text.contains("headroom run \"$STUDY\" --clients 18,114 --shard"), "{text}");
            assert!(text.contains("studies/mine.toml") && !text.contains(study_there()), "{text}");
            assert!(
                text.contains("12") && !text.contains(": 8") && !text.contains("\"8\""),
                "{text}"
            );
        }
    }

    #[test]
    fn a_word_that_would_need_quotes_is_refused() {
        for word in ["a b", "$(id)", "", "a: b", "x\ny", "--set='1'"] {
            let refused = of(Engine::Gitlab, 2, &[study_there(), word]).unwrap_err();
            assert!(refused.contains("would need quotes"), "{refused}");
            assert_eq!(of(Engine::Slurm, 2, &["a study.toml", word]), Ok(None));
        }
    }
}
