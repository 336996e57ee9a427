//! What a campaign prints in lines, without what only some machines print: how it goes meanwhile, or has gone with others.

/// The lines of `text` without pulses, which are printed every few seconds, and what is said with them; and without
/// advice about the rate. The figures of the end, and what is said with these, stay, unless the campaign met others:
/// these depend on when.
pub fn without_pulses(text: &str) -> Vec<&str> {
    let all: Vec<&str> = text.lines().collect();
    let mut lines = Vec::new();
    let mut rest = &all[..];
    while let Some((line, after)) = rest.split_first() {
        if !is_figures(line) {
            lines.push(*line);
            rest = after;
            continue;
        }
        let said = after.iter().take_while(|line| goes_on(line)).count();
        if after
            .get(said)
            .is_some_and(|next| next.starts_with("ended: "))
        {
            lines.push(*line);
            lines.extend(without_rates(&after[..said]));
        }
        rest = &after[said..];
    }
    lines
}

/// Whether it is the first line of a pulse or of the summary.
pub fn is_figures(line: &str) -> bool {
    line.contains(" execution") && line.contains("/s), ")
}

fn goes_on(line: &str) -> bool {
    ["        ", "advice: ", "    next: "]
        .iter()
        .any(|begin| line.starts_with(begin))
}

fn without_rates<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let is_rate = |line: &str| line.starts_with("advice: only ");
    let mut kept = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let is_next = line.starts_with("    next: ") && at > 0 && is_rate(lines[at - 1]);
        if !is_rate(line) && !is_next {
            kept.push(*line);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_slow_machines_print_meanwhile_is_left_out() {
        let pulse = "   2.0s, 5 executions (2/s), 1 of 3 edges, 0 findings\n        corpus 1\n";
        let advice = "advice: all\n    next: x\n";
        let rate = "advice: only 2 executions a second\n    next: y\n";
        let text = format!(
            "t.wasm: reactor\n{pulse}{advice}FINDING\n    #0 f\n{pulse}{pulse}{rate}{advice}ended: all\n"
        );
        let expected = format!("t.wasm: reactor\nFINDING\n    #0 f\n{pulse}{advice}ended: all\n");
        assert_eq!(without_pulses(&text), expected.lines().collect::<Vec<_>>());
    }
}
