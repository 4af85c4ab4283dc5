"""One body over the whole catalogue: what every recipe owes, and the losses of its first updates."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

from acclimate.data.corpus import Corpus, Sentence
from acclimate.model.tagger import Tagger
from acclimate.recipes.catalogue import BASELINE, RECIPES, find_recipe
from acclimate.runs.train import adapt
from acclimate.settings import UsageError
from acclimate.training.loop import Progress
from acclimate.training.run import Nobody

QUICK = {"updates": 2, "words_per_batch": 60}


class Losses(Nobody):
    """Writes down every loss of every stage."""

    def __init__(self) -> None:
        self.found: dict[str, list[float]] = {}

    def advance(self, progress: Progress, losses: Mapping[str, float] | None) -> None:
        for name, loss in progress.losses.items():
            self.found.setdefault(f"{progress.stage}/{name}", []).append(float(loss))

    @property
    def all_finite(self) -> bool:
        return bool(self.found) and all(math.isfinite(loss) for row in self.found.values() for loss in row)


# less of what a recipe does by itself
_TUNING = {"updates": 2, "rows_per_batch": 4, "quick": False}
OPTIONS: dict[str, dict[str, Any]] = {
    "adversarial-masking": _TUNING,
    "acclimate": {"domain_tuning": _TUNING},
}


def losses_of(
    tagger: Tagger,
    source: Corpus,
    target: Corpus,
    recipe: str,
    training: dict[str, Any] = QUICK,
    few: Corpus | None = None,
) -> Losses:
    watcher = Losses()
    options: dict[str, Any] = OPTIONS.get(recipe, {})
    if few is None and "target labels" in RECIPES[recipe].needs:
        few = source
    given = {"training": training, "select": "last", "watcher": watcher, "target_labelled": few}
    adapt(tagger, source, target, recipe, **given, **options)
    return watcher


def encoder_for(recipe: str) -> str:
    return "bert" if "language model" in RECIPES[recipe].needs else "character-cnn-lstm"


@pytest.fixture(params=sorted(RECIPES))
def recipe(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.mark.parametrize("encoder", ["character-cnn-lstm", "bert"])
def test_it_runs_with_its_defaults(build: Callable[..., Tagger], news, tweets, recipe: str, encoder: str) -> None:
    if encoder != "bert" and "language model" in RECIPES[recipe].needs:
        with pytest.raises(UsageError, match="tunes a masked language model, and character-cnn-lstm is none"):
            losses_of(build(encoder), news, tweets.unlabelled(), recipe)
        return
    assert losses_of(build(encoder), news, tweets.unlabelled(), recipe).all_finite


@pytest.mark.parametrize("head", ["crf", "softmax"])
def test_its_losses_are_finite_on_batches_without_any_entity(build, news, tweets, recipe: str, head: str) -> None:
    empty = Corpus.of([Sentence(("it", "rained"), ("O", "O")), Sentence(("ok",), ("O",))])
    assert losses_of(
        build(encoder_for(recipe), head=head, labels=news.labels), empty, tweets.unlabelled(), recipe
    ).all_finite


@pytest.mark.parametrize(("source", "target"), [(24, 1), (1, 10), (1, 1)])
def test_domains_may_be_of_unlike_size_down_to_one_sentence(
    build, news, tweets, recipe: str, source: int, target: int
) -> None:
    training = QUICK | {"updates": 3, "sentences_per_batch": 5}
    assert losses_of(
        build(encoder_for(recipe)), news[:source], tweets[:target].unlabelled(), recipe, training
    ).all_finite


def test_a_word_that_nobody_knows_is_no_obstacle(build: Callable[..., Tagger], news: Corpus, recipe: str) -> None:
    odd = Corpus.of([Sentence(("\u200b", "😀", "\ud800", "x" * 500)), Sentence(("",))])
    assert losses_of(build("bert"), news, odd, recipe).all_finite


def test_it_takes_a_few_labelled_target_sentences(build: Callable[..., Tagger], news, tweets, recipe: str) -> None:
    target = tweets[2:].unlabelled()
    assert losses_of(build(encoder_for(recipe)), news, target, recipe, few=tweets[:2]).all_finite


@pytest.mark.parametrize("encoder", ["character-cnn-lstm", "bert"])
@pytest.mark.parametrize("labelled", [0, 1])
def test_without_a_source_it_adapts_a_trained_tagger_or_says_that_it_cannot(
    build: Callable[..., Tagger], tweets: Corpus, recipe: str, encoder: str, labelled: int
) -> None:
    odd = Corpus.of([Sentence(("\u200b", "😀", "\ud800", "x" * 500)), Sentence(("",)), Sentence(("OK",))])
    few = Corpus.of([Sentence(("ok",), ("B-NEW",)), *tweets[:2]], "few") if labelled else None
    watcher = Losses()
    given: dict[str, Any] = {"target_labelled": few, "training": QUICK, "watcher": watcher, "start": build(encoder)}
    if RECIPES[recipe].needs_source or ("target labels" in RECIPES[recipe].needs and few is None):
        with pytest.raises(UsageError, match=f"Recipe {recipe} learns from labelled (source|target) sentences"):
            adapt(target=odd, recipe=recipe, **given)
        return
    outcome = adapt(target=odd, recipe=recipe, **given)
    assert watcher.all_finite
    assert outcome.tagger is not None
    assert ("NEW" in outcome.tagger.labels) == bool(labelled)


def test_it_says_in_a_line_what_it_does(recipe: str) -> None:
    assert RECIPES[recipe].name == recipe
    assert 10 < len(RECIPES[recipe].summary) < 120


def test_a_recipe_is_found_by_its_name() -> None:
    assert find_recipe("source-only") is BASELINE


@pytest.mark.parametrize(
    ("name", "words"), [("selftraining", "Did you mean 'self-training'"), ("xyz", "Known: source-only")]
)
def test_an_unknown_recipe_is_refused_with_a_suggestion(name: str, words: str) -> None:
    with pytest.raises(ValueError, match=f"Unknown recipe '{name}'.*{words}"):
        find_recipe(name)


def corpus_of(*rows: str) -> Corpus:
    pairs = [[word.rsplit("/", 1) for word in row.split()] for row in rows]
    return Corpus.of(Sentence(tuple(w for w, _ in row), tuple(t for _, t in row)) for row in pairs)


GOLDEN_SOURCE = corpus_of(
    "Anna/B-PER flew/O to/O New/B-LOC York/I-LOC ./O",
    "It/O rained/O in/O Oslo/B-LOC ./O",
    "Bob/B-PER Stone/I-PER left/O Acme/B-ORG ./O",
    "Acme/B-ORG and/O Blue/B-ORG Bank/I-ORG fell/O",
    "ok/O",
)
GOLDEN_TARGET = corpus_of("anna/O luvs/O oslo/O", "acme/O sux/O", "lol/O").unlabelled()
# all that has a default which somebody may tune, but for the recipe's own options
GOLDEN_TAGGER = {
    "head": "crf",
    "dropout": 0.5,
    "forget_rare": 0.5,
    "highways": 0,
    "lstm_layers": 1,
    "character_spans": (3,),
}
GOLDEN_TRAINING = {
    "updates": 5,
    "words_per_batch": 12,
    "optimizer": "adamw",
    "learning_rate": 0.02,
    "weight_decay": 0.01,
    "warm_up": 0.2,
    "decay": "linear",
    "clip": 5.0,
    "device": "cpu",
}
_SOURCE = [2.5278, 2.5815, 2.5209, 2.3508, 2.425]
_SOURCE_NORMALISED = [2.4794, 2.593, 2.5407, 2.2978, 2.4705]  # of a tagger whose tables are
GOLDEN: dict[str, dict[str, list[float]]] = {
    "source-only": {"source/tag": _SOURCE},
    "self-training": {
        "source/tag": _SOURCE,
        "round-1/tag": [2.5772],
        "round-1/believe": [2.2564],
        "round-2/tag": [2.2682],
        "round-2/believe": [2.1286],
    },
    "source-free": {
        "source/tag": _SOURCE,
        "source-free/teach": [2.5514, 2.5487, 2.5505, 2.5475, 2.5468],
        "source-free/near": [0.0, 0.0002, 0.0007, 0.0012, 0.0015],
    },
    "target-only": {"target/tag": _SOURCE},  # what it is given here is the source
    "mat": {"source/tag": _SOURCE_NORMALISED, "mat/tag": [3.9558, 3.9556, 4.0165, 3.7492, 3.876]},
    "datnet": {
        "source/tag": _SOURCE_NORMALISED,
        "datnet/tag": [24.9474, 15.2855, 27.1818, 13.8375, 25.1913],
        "datnet/discriminator": [0.1563, 0.1268, 0.1317, 0.128, 0.1258],
    },
    "pdaln": {
        "source/tag": _SOURCE,
        "align/tag": [12.3627, 7.6384, 14.1536, 7.2668, 12.8199],
        "align/sentences": [3.6216, 1.6334, 1.8962, 2.0515, 1.9512],
        "align/contrast": [10.533, 6.9552, 8.291, 5.2947, 10.0217],
    },
    "la-dtl": {
        "source/tag": _SOURCE,
        "la-dtl/tag": [25.6891, 14.7866, 28.5112, 13.9193, 24.7808],
        "la-dtl/words": [0.4054, 0.071, 0.8109, 0.8845, 0.9552],
    },
    "acclimate": {
        "source/tag": _SOURCE_NORMALISED,
        "learn/mat": [3.9558, 3.9556, 4.0165, 3.7492, 3.876],
    },
    "compose": {
        "source/tag": _SOURCE,
        "learn/tagging": _SOURCE,
        "teach-1/tagging": [2.5365],
        "teach-1/distillation": [2.5471],
        "teach-2/tagging": [2.309],
        "teach-2/distillation": [2.5506],
    },
}


def shown_losses(tagger: Tagger, recipe: str, training: dict[str, Any]) -> dict[str, list[float]]:
    found = losses_of(tagger, GOLDEN_SOURCE, GOLDEN_TARGET, recipe, training).found
    return {name: [round(loss, 4) for loss in row] for name, row in found.items()}


def assert_golden(shown: dict[str, list[float]], golden: dict[str, dict[str, list[float]]], recipe: str) -> None:
    assert recipe in golden, f'no golden losses of {recipe!r} yet; add "{recipe}": {shown}'
    assert shown == {name: pytest.approx(row, abs=2e-4) for name, row in golden[recipe].items()}, shown


def test_its_first_losses_are_the_ones_they_have_always_been(build: Callable[..., Tagger], recipe: str) -> None:
    """Five updates, to four digits, on the CPU. If a change of the method is meant, put in the losses shown below."""
    if "language model" in RECIPES[recipe].needs:
        pytest.skip("needs a language model: see the next test")
    tagger = build(text=GOLDEN_SOURCE, **GOLDEN_TAGGER)
    assert_golden(shown_losses(tagger, recipe, GOLDEN_TRAINING), GOLDEN, recipe)


_SOURCE_WITH_ENCODER = [2.4692, 1.9724, 1.7323, 1.5885, 1.4983]
GOLDEN_WITH_ENCODER: dict[str, dict[str, list[float]]] = {
    "source-only": {"source/tag": _SOURCE_WITH_ENCODER},
    "self-training": {
        "source/tag": _SOURCE_WITH_ENCODER,
        "round-1/tag": [1.5498],
        "round-1/believe": [1.3976],
        "round-2/tag": [1.2249],
        "round-2/believe": [1.0877],
    },
    "source-free": {
        "source/tag": _SOURCE_WITH_ENCODER,
        "source-free/teach": [1.8321, 1.849, 1.8637, 1.848, 1.8545],
        "source-free/near": [0.0, 0.0, 0.0001, 0.0002, 0.0003],
    },
    "adversarial-masking": {
        "source/tag": [1.9162, 1.9011, 1.8227, 1.5454, 1.585],
        "domain-tuning/masked_words": [4.3281, 4.008],
        "domain-tuning/policy": [0.0, -0.4844],
        "task-tuning/tag": [2.0089, 2.1126, 1.7123, 1.8949, 1.5393],
    },
    "target-only": {"target/tag": _SOURCE_WITH_ENCODER},
    "mat": {"source/tag": _SOURCE_WITH_ENCODER, "mat/tag": [3.731, 2.8959, 2.6358, 2.6495, 2.3129]},
    "datnet": {
        "source/tag": _SOURCE_WITH_ENCODER,
        "datnet/tag": [23.6606, 12.3764, 16.9242, 10.4212, 16.0971],
        "datnet/discriminator": [0.0963, 0.0496, 0.0423, 0.0657, 0.043],
    },
    "mslm": {
        "source/tag": [1.5555, 1.3303, 1.3552, 1.3525, 1.2255],  # under the same heads
        "mslm/words": [2.1493, 2.2239, 2.1969, 2.1682, 2.0244],
        "mslm/tags": [1.1021, 1.0342, 1.0263, 1.0135, 0.9465],
        "mslm/types": [1.2346, 1.1265, 1.0929, 1.1193, 1.0507],
    },
    "pdaln": {
        "source/tag": _SOURCE_WITH_ENCODER,
        "align/tag": [12.5379, 5.9161, 8.5414, 4.6947, 7.8959],
        "align/sentences": [2.6363, 2.455, 2.338, 0.9982, 1.7499],
        "align/contrast": [1.6486, 1.6396, 2.1424, 1.9201, 2.056],
    },
    "la-dtl": {
        "source/tag": _SOURCE_WITH_ENCODER,
        "la-dtl/tag": [24.1909, 11.8703, 16.9156, 9.8428, 15.7523],
        "la-dtl/words": [0.6974, 0.476, 0.687, 1.17, 0.8696],
    },
    "acclimate": {  # this encoder has lost its language model, and is not tuned
        "source/tag": _SOURCE_WITH_ENCODER,
        "learn/mat": [3.731, 2.8959, 2.6358, 2.6495, 2.3129],
    },
    "compose": {
        "source/tag": _SOURCE_WITH_ENCODER,
        "learn/tagging": _SOURCE_WITH_ENCODER,
        "teach-1/tagging": [1.4489],
        "teach-1/distillation": [1.8418],
        "teach-2/tagging": [1.2677],
        "teach-2/distillation": [1.7717],
    },
}


def spelling_encoder(folder: Path, language_model: bool) -> str:
    """The folder of a tiny BERT that reads letter by letter: a trained tokenizer is another one in every process."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertForMaskedLM, BertModel, PreTrainedTokenizerFast

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    letters = sorted(
        {letter for corpus in (GOLDEN_SOURCE, GOLDEN_TARGET) for word in corpus.vocabulary for letter in word}
    )
    mask = ["[MASK]"] if language_model else []
    pieces = [*special, *letters, *(f"##{letter}" for letter in letters), *mask]
    tokenizer = Tokenizer(models.WordPiece({piece: number for number, piece in enumerate(pieces)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    named = {"unk_token": "[UNK]", "pad_token": "[PAD]", **({"mask_token": "[MASK]"} if mask else {})}
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
    torch.manual_seed(0)
    config = BertConfig(vocab_size=len(pieces), max_position_embeddings=64, initializer_range=0.2, **sizes)
    (BertForMaskedLM if language_model else BertModel)(config).save_pretrained(folder)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **named).save_pretrained(folder)
    return str(folder)


def test_so_are_those_with_a_pre_trained_encoder(tmp_path: Path, recipe: str) -> None:
    options = {"head": "crf", "scheme": "IOB2", "dropout": 0.1}
    encoder = spelling_encoder(tmp_path, "language model" in RECIPES[recipe].needs)
    tagger = Tagger.build(encoder, labels=GOLDEN_SOURCE.labels, seed=0, **options)
    training = GOLDEN_TRAINING | {"learning_rate": 0.005, "head_rate": 1, "transition_rate": 1}
    assert_golden(shown_losses(tagger, recipe, training), GOLDEN_WITH_ENCODER, recipe)
