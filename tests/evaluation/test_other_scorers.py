"""Which F1 is this? The same as conlleval's, seqeval's (both modes) and nervaluate's, on random tags."""

import pytest
from hypothesis import given, settings
from tag_sequences import LABELS, TAGS, corpus_of, gold_and_predicted

from acclimate.evaluation.scores import score

EXAMPLES = settings(max_examples=150, deadline=None)
ILL_FORMED, WELL_FORMED = gold_and_predicted(legal=False), gold_and_predicted(legal=True)


def ours(tags, reading="lenient"):
    return score(*(corpus_of(*rows) for rows in tags), reading=reading)


def figures(of):
    return of.precision, of.recall, of.f1


# conlleval


def conlleval_counts(gold, predicted):
    """The Perl script's walk over two columns of IOB tags: a span is right when both begin and end it together."""
    correct = found_gold = found_predicted = 0
    for right_tags, guessed_tags in zip(gold, predicted, strict=True):
        in_correct, last = False, ("O", "O")
        for now in [*zip(right_tags, guessed_tags, strict=True), ("O", "O")]:
            ends = [chunk_ends(before, tag) for before, tag in zip(last, now, strict=True)]
            starts = [chunk_starts(before, tag) for before, tag in zip(last, now, strict=True)]
            if in_correct and all(ends):
                correct, in_correct = correct + 1, False
            elif in_correct and (any(ends) or now[0][2:] != now[1][2:]):
                in_correct = False
            if all(starts) and now[0][2:] == now[1][2:]:
                in_correct = True
            found_gold, found_predicted = found_gold + starts[0], found_predicted + starts[1]
            last = now
    return found_gold, found_predicted, correct


def chunk_starts(before, tag):
    return tag != "O" and (tag[0] == "B" or before == "O" or before[2:] != tag[2:])


def chunk_ends(before, tag):
    return before != "O" and (tag == "O" or tag[0] == "B" or before[2:] != tag[2:])


@EXAMPLES
@given(ILL_FORMED)
def test_span_counts_equal_conlleval(tags):
    span = ours(tags).span
    assert (span.gold, span.predicted, span.correct) == conlleval_counts(*tags)


# seqeval


def seqeval_figures(tags, average, **mode):
    metrics = pytest.importorskip("seqeval.metrics")
    wanted = (metrics.precision_score, metrics.recall_score, metrics.f1_score)
    return [compute(*tags, average=average, zero_division=0, **mode) for compute in wanted]


def strict_mode():
    return {"mode": "strict", "scheme": pytest.importorskip("seqeval.scheme").IOB2}


@EXAMPLES
@given(ILL_FORMED)
def test_micro_macro_and_label_figures_equal_seqeval(tags):
    assert_equal_to_seqeval(tags, ours(tags), {})


@EXAMPLES
@given(ILL_FORMED)
def test_strict_micro_macro_and_label_figures_equal_seqeval_strict(tags):
    assert_equal_to_seqeval(tags, ours(tags, "strict"), strict_mode())


@EXAMPLES
@given(WELL_FORMED)
def test_well_formed_tags_give_what_seqeval_gives_in_both_modes(tags):
    assert_equal_to_seqeval(tags, ours(tags), {})
    assert_equal_to_seqeval(tags, ours(tags), strict_mode())


def assert_equal_to_seqeval(tags, scores, mode):
    if not scores.by_label:
        return  # seqeval takes the mean of nothing here
    assert figures(scores.span) == pytest.approx(seqeval_figures(tags, "micro", **mode))
    assert figures(scores.macro) == pytest.approx(seqeval_figures(tags, "macro", **mode))
    by_label = zip(*seqeval_figures(tags, None, **mode), strict=True)  # both sort labels by name
    for tally, theirs in zip(scores.by_label.values(), by_label, strict=True):
        assert figures(tally) == pytest.approx(theirs)


@EXAMPLES
@given(ILL_FORMED)
def test_token_accuracy_equals_seqeval(tags):
    metrics = pytest.importorskip("seqeval.metrics")
    assert ours(tags).token.accuracy == pytest.approx(metrics.accuracy_score(*tags))


# nervaluate


@EXAMPLES
@given(WELL_FORMED)
def test_typed_and_typeless_figures_equal_nervaluate_strict_and_exact(tags):
    nervaluate = pytest.importorskip("nervaluate")
    theirs = nervaluate.Evaluator(*tags, tags=list(LABELS), loader="list").evaluate()["overall"]
    scores = ours(tags)
    assert figures(scores.span) == pytest.approx(figures(theirs["strict"]))
    assert figures(scores.typeless) == pytest.approx(figures(theirs["exact"]))


@EXAMPLES
@given(WELL_FORMED)
def test_label_figures_equal_nervaluate_strict(tags):
    nervaluate = pytest.importorskip("nervaluate")
    theirs = nervaluate.Evaluator(*tags, tags=list(LABELS), loader="list").evaluate()["entities"]
    for label, tally in ours(tags).by_label.items():
        assert figures(tally) == pytest.approx(figures(theirs[label]["strict"]))


# token F1


@EXAMPLES
@given(ILL_FORMED)
def test_token_figures_equal_a_plain_count_over_tags(tags):
    gold, predicted = ([tag for row in rows for tag in row] for rows in tags)
    right = sum(one == other != "O" for one, other in zip(gold, predicted, strict=True))
    tally = ours(tags).token
    kept = [tag for tag in TAGS if tag != "O"]
    assert (tally.gold, tally.predicted) == (sum(map(gold.count, kept)), sum(map(predicted.count, kept)))
    assert tally.correct == right
