"""Does tuning the encoder to a domain help a tagger there, and does it matter which words are hidden?

    python benchmarks/adversarial_masking.py --data FOLDER --out DIR [--targets wnut2016,fin,bc2gm,jnlpba]
        [--policies none,random,pos,entropy,adversarial,mix-adversarial] [--text extra] [--seeds 1,2,3] [--jobs 8]
        [--lines 40000] [--set updates=2000] [--task epochs=3] [--masks] [--table FILE.md]

Tables 2 and 3 of Vu, Phung, Haffari (2020), at small scale. For every target, policy and seed: the shipped encoder is
tuned on CoNLL-2003's text and on the target's (training sentences without labels, and with `--text extra` unlabelled
text of the same domain besides), then a tagger on it learns CoNLL-2003 with all types made one, and tags the target's
test sentences. `none` is the same without tuning. The control tunes with the policy `random` on text of a wrong domain.
Every policy has the same number of updates. The state of the tagger is chosen on CoNLL-2003 dev; no label of any target
is seen before the end. FOLDER holds conll2003, the targets, and tweets, finance and pubmed with unlabelled text; of
each of these a sample of `--lines` is taken, always the same. Half of what is read is the source's: 1000 updates of 32
rows read 16,000 sentences of the target.

One line of JSON per job goes to DIR/results.jsonl, and its tags beside it; jobs that are there already are not done
again, so a run that was cut off goes on. The last lines printed are the tables: mean and standard deviation over the
seeds, and the paired bootstrap over sentences against `random`, all seeds together. `--masks` adds what kind of words
each policy hid, from the rows that updates logged (DIR/masks).
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from grid import find, markdown, read_rows, run_jobs, same_settings, show, told

TARGETS = {"wnut2016": "tweets", "fin": "finance", "bc2gm": "pubmed", "jnlpba": "pubmed"}
WRONG = {"tweets": "pubmed", "finance": "tweets", "pubmed": "tweets"}
POLICIES = "none,random,pos,entropy,adversarial,mix-adversarial"
NONE, CONTROL = "none", "random, wrong domain"


@dataclass(frozen=True)
class Job:
    """One tuning, one training, one test. Without tuning all targets are tested at once."""

    target: str
    policy: str
    seed: int
    data: str
    out: str
    text: str
    tuning: tuple[str, ...]
    task: tuple[str, ...]
    limit: int | None

    @property
    def name(self) -> str:
        return job_name(self.target, self.policy, self.text, self.seed)


def job_name(target: str, policy: str, text: str, seed: int) -> str:
    return f"{target}-{policy.replace(', ', '-').replace(' ', '-')}-{text}-seed-{seed}"


def do(job: Job) -> list[dict[str, Any]]:
    import torch

    from acclimate.data.mapping import typeless
    from acclimate.data.reading import read_corpus

    torch.set_num_threads(1)
    news = {part: typeless(read_corpus(find(job.data, "conll2003", part))) for part in ("train", "dev")}
    if job.limit:
        news = {part: corpus[: job.limit] for part, corpus in news.items()}
    with tempfile.TemporaryDirectory() as folder:
        encoder, facts = tuned(job, Path(folder)) if job.policy != NONE else ("acclimate-mini", {})
        tagger, dev, seconds = trained(job, encoder, news)
    targets = list(TARGETS) if job.policy == NONE else [job.target]
    return [
        {**tested(job, tagger, target), **facts, "news_dev": dev, "task_seconds": seconds}
        for target in targets
        if (Path(job.data) / target).is_dir()
    ]


def tuned(job: Job, folder: Path) -> tuple[str, dict[str, Any]]:
    from acclimate.runs.domain_tune import DomainTuneSettings, domain_tune
    from acclimate.settings import complete, with_assignments

    domain = TARGETS[job.target]
    extra = [str(sample_file(job.out, domain))] if job.text == "extra" else []
    text = [str(find(job.data, job.target, "train")), *extra]
    policy = job.policy
    if policy == CONTROL:
        policy, text = "random", [str(sample_file(job.out, WRONG[domain]))]
    values = {
        "text": text,
        "source": str(find(job.data, "conll2003", "train")),
        "masking": policy,
        "seed": job.seed,
        "patience": None,
    }
    settings = complete(DomainTuneSettings, with_assignments(values, job.tuning))
    done = domain_tune(settings, folder / "encoder")
    kept = Path(job.out) / "masks"
    kept.mkdir(parents=True, exist_ok=True)
    (kept / f"{job.name}.jsonl").write_bytes((folder / "encoder" / "training" / "records.jsonl").read_bytes())
    names = ("updates", "kept_update", "seconds", "updates_per_second", "loss_before", "loss_after", "sentences")
    return str(folder / "encoder"), {f"tuning_{name}": getattr(done, name) for name in names}


def sample_file(out: str | Path, domain: str) -> Path:
    return Path(out) / "text" / f"{domain}.txt.gz"


def write_samples(options: argparse.Namespace) -> None:
    """So many lines of each domain's text, in the order they have there."""
    for domain in dict.fromkeys(TARGETS.values()):
        place = sample_file(options.out, domain)
        if place.is_file() or not (Path(options.data) / domain).is_dir():
            continue
        with gzip.open(find(options.data, domain, "unlabelled"), "rt", encoding="utf-8") as file:
            lines = file.readlines()
        kept = sorted(random.Random(0).sample(range(len(lines)), min(options.lines, len(lines))))
        place.parent.mkdir(parents=True, exist_ok=True)
        with gzip.open(place, "wt", encoding="utf-8") as file:
            file.writelines(lines[number] for number in kept)


def trained(job: Job, encoder: str, news: dict[str, Any]) -> tuple[Any, float, float]:
    from acclimate.model.tagger import Tagger
    from acclimate.runs.train import adapt
    from acclimate.settings import with_assignments

    values: dict[str, Any] = {"epochs": 3, "words_per_batch": 1024, "learning_rate": 4e-4, "warm_up": 0.1, "clip": 1.0}
    tagger = Tagger.build(encoder, labels=news["train"].labels, head="softmax", scheme="IOB2", seed=job.seed)
    started = time.monotonic()
    training = with_assignments(values, job.task)
    outcome = adapt(tagger, news["train"], source_dev=news["dev"], training=training, seed=job.seed)
    return tagger, 100 * outcome.stages[0]["score"], round(time.monotonic() - started, 1)


def tested(job: Job, tagger: Any, target: str) -> dict[str, Any]:
    from acclimate.data.mapping import typeless
    from acclimate.data.reading import read_corpus
    from acclimate.evaluation.scores import score
    from acclimate.inference.predict import predict

    gold = typeless(read_corpus(find(job.data, target, "test")))
    if job.limit:
        gold = gold[: job.limit]
    found = predict(tagger, gold)
    scores = score(gold, found, seen=tagger.seen)
    tags = Path(job.out) / "tags"
    tags.mkdir(parents=True, exist_ok=True)
    with gzip.open(tags_file(job.out, target, job.policy, job.text, job.seed), "wt", encoding="utf-8") as file:
        json.dump([sentence.tags for sentence in found], file)
    assert scores.unseen is not None
    return {
        "target": target,
        "policy": job.policy,
        "text": job.text,
        "seed": job.seed,
        "span_f1": 100 * scores.span.f1,
        "token_f1": 100 * scores.token.f1,
        "seen_accuracy": 100 * scores.unseen.words["seen"].recall,
        "unseen_accuracy": 100 * scores.unseen.words["unseen"].recall,
    }


def tags_file(out: str, target: str, policy: str, text: str, seed: int) -> Path:
    return Path(out) / "tags" / f"{target}-{policy.replace(', ', '-').replace(' ', '-')}-{text}-{seed}.json.gz"


# ---------------------------------------------------------------------------------------------------------- tables


def tables(rows: list[dict[str, Any]], options: argparse.Namespace) -> str:
    parts = []
    for measure, title in (("span_f1", "span F1"), ("token_f1", "token F1")):
        parts.append(table(rows, measure, f"Type-less {title}, zero-shot, in percent", options))
    parts.append(seen_table(rows))
    parts.append(loss_table(rows))
    if options.masks:
        parts += mask_tables(rows, options)
    return "\n\n".join(parts)


def cells(rows: Iterable[dict[str, Any]], target: str, policy: str, measure: str) -> list[float]:
    return [row[measure] for row in rows if row["target"] == target and row["policy"] == policy and measure in row]


def table(rows: list[dict[str, Any]], measure: str, title: str, options: argparse.Namespace) -> str:
    targets, policies = in_order(rows)
    lines = [f"{title}; mean ± standard deviation of the seeds; difference to random (p, paired bootstrap)", ""]
    lines += [f"| policy | {' | '.join(targets)} |", f"|---|{'---:|' * len(targets)}"]
    for policy in policies:
        found = []
        for target in targets:
            values = cells(rows, target, policy, measure)
            found.append(told(values) + against_random(rows, target, policy, measure, options) if values else "")
        lines.append(f"| {policy} | {' | '.join(found)} |")
    return "\n".join(lines)


def against_random(
    rows: list[dict[str, Any]], target: str, policy: str, measure: str, options: argparse.Namespace
) -> str:
    if policy == "random":
        return ""
    from acclimate.data.corpus import Corpus
    from acclimate.data.mapping import typeless
    from acclimate.data.reading import read_corpus
    from acclimate.evaluation.significance import Metric, paired_bootstrap

    seeds = [row["seed"] for row in rows if row["target"] == target and row["policy"] == policy]
    gold = typeless(read_corpus(find(options.data, target, "test")))
    if options.limit:
        gold = gold[: options.limit]
    pairs = []
    for seed in sorted(seeds):
        files = [tags_file(options.out, target, name, options.text, seed) for name in ("random", policy)]
        if all(file.is_file() for file in files):
            pairs.append([json.loads(gzip.decompress(file.read_bytes())) for file in files])
    if not pairs:
        return ""
    # a sentence is drawn with the answers of all seeds: seeds are no further sentences, and would make p too small
    whole = Corpus.of(joined([sentence.words] * len(pairs), [sentence.tags or ()] * len(pairs)) for sentence in gold)
    first, second = (
        whole.with_tags(
            [
                joined([sentence.words] * len(pairs), [pair[which][number] for pair in pairs]).tags or ()
                for number, sentence in enumerate(gold)
            ]
        )
        for which in (0, 1)
    )
    metric: Metric = "span f1" if measure == "span_f1" else "token f1"
    found = paired_bootstrap(whole, first, second, metric=metric)
    return f" ({100 * found.difference:+.2f}, p {found.p_value:.3f})"


def joined(words: Sequence[Sequence[str]], tags: Sequence[Sequence[str]]) -> Any:
    """The same sentence several times in one, a full stop between them so that no span runs on."""
    from acclimate.data.corpus import Sentence

    return Sentence(
        tuple(word for row in words for word in (*row, ".")), tuple(tag for row in tags for tag in (*row, "O"))
    )


def seen_table(rows: list[dict[str, Any]]) -> str:
    targets, policies = in_order(rows)
    lines = ["Accuracy on words inside entities, seen in CoNLL-2003 train / not seen, in percent", ""]
    lines += [f"| policy | {' | '.join(targets)} |", f"|---|{'---:|' * len(targets)}"]
    for policy in policies:
        found = [
            " / ".join(told(cells(rows, target, policy, f"{group}_accuracy"), 1) for group in ("seen", "unseen"))
            for target in targets
        ]
        lines.append(f"| {policy} | {' | '.join(found)} |")
    return "\n".join(lines)


def loss_table(rows: list[dict[str, Any]]) -> str:
    targets, policies = in_order(rows)
    lines = ["Held-out loss of guessing hidden pieces of the tuning text, before → after; updates per second", ""]
    lines += [f"| policy | {' | '.join(targets)} |", f"|---|{'---:|' * len(targets)}"]
    for policy in policies:
        found = []
        for target in targets:
            before, after, speed = (
                cells(rows, target, policy, f"tuning_{name}")
                for name in ("loss_before", "loss_after", "updates_per_second")
            )
            if before and before[0] is not None:
                means = [statistics.mean(values) for values in (before, after, speed)]
                found.append(f"{means[0]:.3f} → {means[1]:.3f}; {means[2]:.1f}")
            else:
                found.append("")
        lines.append(f"| {policy} | {' | '.join(found)} |")
    return "\n".join(lines)


def mask_tables(rows: list[dict[str, Any]], options: argparse.Namespace) -> list[str]:
    """What kind of words each policy hid; in brackets the same of all words there."""
    from acclimate.analysis.mask_log import Yardsticks, read_masks
    from acclimate.analysis.mask_statistics import HiddenWords, mask_statistics
    from acclimate.data.reading import read_corpus
    from acclimate.inference.part_of_speech import part_of_speech_tagger

    targets, policies = in_order(rows)
    news, tagger = read_corpus(find(options.data, "conll2003", "train")), part_of_speech_tagger("acclimate", "cpu")
    hidden: dict[tuple[str, str], list[HiddenWords]] = {}
    for target in targets:
        yardsticks = Yardsticks(source=news, target=read_corpus(find(options.data, target, "train")), tagger=tagger)
        places = {
            (policy, seed): Path(options.out) / "masks" / f"{job_name(target, policy, options.text, seed)}.jsonl"
            for policy in policies
            for seed in map(int, options.seeds.split(","))
        }
        logs = {f"{policy}|{seed}": read_masks(place) for (policy, seed), place in places.items() if place.is_file()}
        for found in mask_statistics(logs, yardsticks):
            hidden.setdefault((target, found.run.split("|")[0]), []).append(found.everything)
    kinds: dict[str, Callable[[HiddenWords], tuple[float, float]]] = {
        "Hidden words that CoNLL-2003 train does not have, in percent (all words)": unseen,
        "Hidden words that are nouns or names, in percent (all words)": nouns,
        "How much the hidden words are the target's: mean density ratio (all words)": target_like,
    }
    return [mask_table(title, kind, hidden, targets, policies) for title, kind in kinds.items()]


def mask_table(
    title: str,
    kind: Callable[[Any], tuple[float, float]],
    hidden: dict[tuple[str, str], list[Any]],
    targets: Sequence[str],
    policies: Sequence[str],
) -> str:
    lines = []
    for policy in policies:
        pairs = [[kind(words) for words in hidden.get((target, policy), [])] for target in targets]
        if any(pairs):
            lines.append([policy, *(beside_all(each, 2 if kind is target_like else 1) for each in pairs)])
    return f"{title}\n\n{markdown(['policy', *targets], lines)}"


def beside_all(pairs: Sequence[tuple[float, float]], digits: int) -> str:
    if not pairs:
        return ""
    return f"{told([own for own, _ in pairs], digits)} ({statistics.mean(others for _, others in pairs):.{digits}f})"


def unseen(words: Any) -> tuple[float, float]:
    return 100 * words.unseen.hidden, 100 * words.unseen.overall


def nouns(words: Any) -> tuple[float, float]:
    found = [words.parts_of_speech[name] for name in ("NOUN", "PROPN")]
    return 100 * sum(each.hidden for each in found), 100 * sum(each.overall for each in found)


def target_like(words: Any) -> tuple[float, float]:
    return words.density_ratio.hidden, words.density_ratio.overall


def in_order(rows: list[dict[str, Any]]) -> tuple[list[str], list[str]]:
    known = [*POLICIES.split(","), CONTROL]
    targets = [target for target in TARGETS if any(row["target"] == target for row in rows)]
    policies = sorted({row["policy"] for row in rows}, key=lambda name: known.index(name) if name in known else 99)
    return targets, policies


# ------------------------------------------------------------------------------------------------------------- main


def main() -> None:
    options = arguments()
    out = Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    results = out / "results.jsonl"
    settings = {"set": options.set, "task": options.task, "limit": options.limit, "lines": options.lines}
    same_settings(out, settings)
    write_samples(options)
    rows = read_rows(results)
    done = {(row["target"], row["policy"], row["text"], row["seed"]) for row in rows}
    jobs = [job for job in planned(options) if (job.target, job.policy, job.text, job.seed) not in done]
    print(f"{len(jobs)} jobs to do, {len(done)} results there", file=sys.stderr)
    rows += run_jobs(jobs, do, results, options.jobs, name=lambda job: job.name, one_thread=True, fresh=options.fresh)
    show(tables([row for row in rows if row["text"] == options.text], options), options.table)


def planned(options: argparse.Namespace) -> list[Job]:
    """Seed by seed, so that what is done when time runs out can be compared."""
    jobs = []
    policies = [*options.policies.split(","), *([CONTROL] if options.control else [])]
    common = asdict(
        Job("", "", 0, options.data, options.out, options.text, tuple(options.set), tuple(options.task), options.limit)
    )
    for seed in map(int, options.seeds.split(",")):
        for policy in policies:
            for target in [next(iter(TARGETS))] if policy == NONE else options.targets.split(","):
                jobs.append(Job(**{**common, "target": target, "policy": policy, "seed": seed}))
    return jobs


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, metavar="FOLDER")
    parser.add_argument("--out", required=True, metavar="DIR")
    parser.add_argument("--targets", default=",".join(TARGETS))
    parser.add_argument("--policies", default=POLICIES)
    parser.add_argument("--text", choices=["target", "extra"], default="extra")
    parser.add_argument("--no-control", dest="control", action="store_false", help="leave the wrong domain out")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--fresh", action="store_true", help="a process for each job: slower, and its memory is freed")
    parser.add_argument("--lines", type=int, default=40_000, help="of each domain's unlabelled text")
    parser.add_argument("--set", action="append", default=[], metavar="A=B", help="a setting of domain tuning")
    parser.add_argument("--task", action="append", default=[], metavar="A=B", help="a setting of training the tagger")
    parser.add_argument(
        "--limit", type=int, metavar="N", help="for a trial: so many sentences to learn from and test on"
    )
    parser.add_argument("--masks", action="store_true", help="tables of what kind of words were hidden, too")
    parser.add_argument("--table", metavar="FILE")
    return parser.parse_args()


if __name__ == "__main__":
    main()
