//! `--expect`: what counts as served.

use workloads::plan::AnswerCheck;

use crate::exit::Failure;

const EXAMPLES: &str = "for example 'status 200', 'text ok', 'bytes >= 100'";
/// Comparisons of lengths, the longer signs first.
const SIGNS: [&str; 6] = [">=", "<=", "==", "=", ">", "<"];

/// All of these together: one of the statuses, each of the texts, a length within the limits.
pub(super) fn expected(conditions: &[String]) -> Result<AnswerCheck, Failure> {
    let mut check = AnswerCheck::default();
    for condition in conditions {
        let bad = |why: &str| Failure::usage(format!("--expect {condition:?}: {why}; {EXAMPLES}"));
        let (what, wanted) = condition.trim_start().split_once([' ', '=', '<', '>']).unwrap_or((condition.trim(), ""));
        match what {
            "status" => {
                for status in wanted.split(',') {
                    check.status.push(status.trim().parse().map_err(|_| bad("a status is a number, for example 200"))?);
                }
            }
            "text" if wanted.is_empty() => return Err(bad("there is no text")),
            "text" => check.texts.push(wanted.to_owned()),
            "bytes" => {
                let (least, most) = length(condition).ok_or_else(|| bad("a length is compared with a number"))?;
                check.at_least = check.at_least.max(least);
                check.at_most = [check.at_most, most].into_iter().flatten().min();
            }
            _ => return Err(bad("it is none of status, text, bytes")),
        }
        if let Some(problem) = check.problem() {
            return Err(bad(&problem));
        }
    }
    Ok(check)
}

/// The least and the greatest length.
fn length(condition: &str) -> Option<(Option<usize>, Option<usize>)> {
    let compared = condition.trim_start().strip_prefix("bytes")?.trim_start();
    let sign = SIGNS.into_iter().find(|sign| compared.starts_with(sign))?;
    let number: usize = compared.strip_prefix(sign)?.trim().parse().ok()?;
    Some(match sign {
        ">=" => (Some(number), None),
        ">" => (Some(number.checked_add(1)?), None),
        "<=" => (None, Some(number)),
        "<" => (None, Some(number.checked_sub(1)?)),
        _ => (Some(number), Some(number)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(conditions: &[&str]) -> AnswerCheck {
        let conditions: Vec<String> = conditions.iter().map(|&condition| condition.to_owned()).collect();
        expected(&conditions).unwrap_or_else(|_| panic!("{conditions:?}"))
    }

    #[test]
    fn conditions_add_up() {
        let all = of(&[
            "status 200",
            "status 204, 404",
            "text ok",
            "text  a b ",
            "bytes >= 100",
            "bytes<200",
            "bytes <= 300",
        ]);
        assert_eq!(all.status, [200, 204, 404]);
        assert_eq!(all.texts, ["ok", " a b "]);
        assert_eq!((all.at_least, all.at_most), (Some(100), Some(199)));
        assert_eq!((of(&["bytes = 5"]).at_least, of(&["bytes == 5"]).at_most), (Some(5), Some(5)));
        assert_eq!(of(&["bytes > 5"]).at_least, Some(6));
        assert_eq!(of(&[]), AnswerCheck::default());
    }

    #[test]
    fn what_is_no_condition_is_told_what_one_is() {
        for bad in [
            "",
            "200",
            "status",
            "status ok",
            "status 99",
            "status 200-299",
            "text",
            "text ",
            "bytes",
            "bytes 100",
            "bytes >= x",
            "bytes < 0",
            "body ok",
        ] {
            let Err(Failure::Usage(told)) = expected(&[bad.to_owned()]) else { panic!("{bad}") };
            assert!(told.starts_with("--expect ") && told.contains("for example"), "{told}");
        }
        let both = ["bytes > 5", "bytes < 5"].map(str::to_owned);
        assert!(matches!(expected(&both), Err(Failure::Usage(told)) if told.contains("no length")));
    }
}
