"""How many words per second taggers tag on a CPU: ours of the default sizes, spaCy's and Flair's small ones.

    python benchmarks/predict.py [--data FILE.conll[.gz]] [--student FOLDER] [--spacy-python PATH] [--flair-python PATH]
        [--json FILE]

All read the same sentences, split into words beforehand, and are briefly trained on the same few sentences: none is
good, and speed does not depend on it. Each runs in a process of its own, under its own interpreter, on two threads, and
they take turns. What a rival reads (`Doc`, `Sentence`) is made before the clock starts; of its batch sizes the fastest
counts. Ours are the LSTM tagger, and `general`, which comes with the package, with torch and as a compact tagger; and
`transformers.pipeline` on the same weights, which lacks the CRF. --student names a folder that
`acclimate compress general --layers 4 --text FILES --out FOLDER` wrote; it is exported with int8.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
from bisect import bisect_left
from collections.abc import Callable
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any

from rivals import THREADS, Worker, load_spacy, spacy_worker, tagging_worker, time_taggers, work
from shared import machine, markdown, parser, pipeline_of_general, processor, write_json

TRAINING_SENTENCES, PASSES = 500, 6
STUDENT = "student-int8"


def main() -> None:
    options = arguments()
    if options.worker:
        work(SYSTEMS[options.worker])
        return
    job, words = job_of(options)
    wanted = [name for name in SYSTEMS if options.student or name != STUDENT]
    systems, remarks = time_taggers(__file__, wanted, options, job, words)
    for own in systems.values():
        own |= {"median": statistics.median(own["words_per_second"]), "spans": own.pop("found")}
    headline = (
        f"{machine(THREADS)}; {words:,} words of {options.data or 'the bundled corpora'}; each briefly trained; "
        f"median and best of {options.rounds} rounds"
    )
    print(table(systems, remarks, headline))
    report = {"machine": processor(), "words": words, "data": str(options.data), "systems": systems}
    write_json(options.json, report)


def arguments() -> argparse.Namespace:
    words = (20_000, "about how many words of the text; 0: all")
    made = parser(__doc__, "spacy-python flair-python json worker", words=words, rounds=7)
    made.add_argument("--data", type=Path, metavar="FILE", help="text to tag; the bundled corpora without it")
    made.add_argument("--student", metavar="FOLDER", help="what `acclimate compress` made of `general`")
    return made.parse_args()


def job_of(options: argparse.Namespace) -> tuple[dict[str, Any], int]:
    """The sentences to tag, which have so many words, and those to learn from."""
    from acclimate.data.corpus import Corpus
    from acclimate.data.reading import BUNDLED, load_bundled, read_corpus

    learned = load_bundled("news").train
    if options.data:
        text = read_corpus(options.data)
        if text.kind == "spans" and text.labels:
            learned = text.labelled()
    else:
        domains = [load_bundled(name) for name in BUNDLED]
        parts = [part for domain in domains for part in (domain.dev, domain.test, domain.unlabelled)]
        text = Corpus.of(one for part in parts for one in part)
    rows = [sentence.words for sentence in text]
    random.Random(0).shuffle(rows)
    wanted = options.words or text.word_count
    rows *= -(-wanted // text.word_count)  # a short text is read again
    ends = list(accumulate(map(len, rows)))
    rows = rows[: bisect_left(ends, wanted) + 1]
    training = as_json(learned.filter(lambda sentence: bool(sentence.spans))[:TRAINING_SENTENCES])
    vocabulary = [sentence.words for sentence in learned]
    job = {"text": rows, "training": training, "vocabulary": vocabulary}
    job["student"] = options.student and str(Path(options.student).resolve())
    return job, ends[len(rows) - 1]


def as_json(corpus: Any) -> list[dict[str, Any]]:
    """Labelled sentences as every interpreter reads them."""
    spans = [[(span.start, span.end, span.label) for span in sentence.spans] for sentence in corpus]
    pairs = zip(corpus, spans, strict=True)
    return [{"words": sentence.words, "tags": sentence.tags, "spans": own} for sentence, own in pairs]


def table(systems: dict[str, Any], remarks: list[str], headline: str) -> str:
    """Beside each system, how many times as fast `acclimate` is, in the median round and in the best."""
    ours = systems["acclimate"]
    lines = []
    for name, own in systems.items():
        best = max(own["words_per_second"])
        ratios = (ours["median"] / own["median"], max(ours["words_per_second"]) / best)
        speeds = [f"{own['median']:,.0f}", f"{best:,.0f}", *(f"{ratio:.1f}" for ratio in ratios)]
        lines.append([f"{name}, {own['description']}", *speeds, f"{own['spans']:,}"])
    return "\n".join([headline, markdown(["", "words/s", "best", "ours is", "at best", "spans"], lines), *remarks])


def acclimate_system(job: dict[str, Any]) -> Worker:
    import torch

    import acclimate
    from acclimate import Corpus, Sentence, Tagger, adapt

    torch.manual_seed(0)
    learned = Corpus.of(Sentence(tuple(one["words"]), tuple(one["tags"])) for one in job["training"])
    vocabulary = Corpus.of(Sentence(tuple(words)) for words in job["vocabulary"])
    tagger = Tagger.build("character-cnn-lstm", labels=learned.labels, text=vocabulary, head="crf")
    adapt(tagger, learned, select="last", training={"epochs": PASSES, "device": "cpu"})
    size = sum(parameter.numel() for parameter in tagger.parameters())
    shown = f"{acclimate.__version__}, torch {torch.__version__}: character CNN, BiLSTM, CRF, {size:,} weights"
    return tagging(shown, tagger, job)


def general_system(job: dict[str, Any]) -> Worker:
    """The tagger that comes with the package, with the default encoder."""
    import torch

    from acclimate import Tagger

    return tagging(f"general: torch {torch.__version__}, acclimate-mini, CRF", Tagger.load("general"), job)


def compact_system(job: dict[str, Any], int8: bool, is_student: bool = False) -> Worker:
    """The same, or the student, as `acclimate export` writes it."""
    import onnxruntime

    from acclimate import CompactTagger, Tagger, export_onnx, load_bundled

    name = job["student"] if is_student else "general"
    with tempfile.TemporaryDirectory() as folder:
        parity = export_onnx(Tagger.load(name), Path(folder) / "a", load_bundled("news").dev, int8=int8)
        tagger = CompactTagger.load(Path(folder) / "a")
    shown = f"{Path(name).name}, compact: onnxruntime {onnxruntime.__version__}, {100 * parity.equal_tags:.1f} %"
    return tagging(f"{shown} of tags equal", tagger, job)


def pipeline_system(job: dict[str, Any]) -> Worker:
    """On the same text as strings."""
    import torch
    import transformers

    pipe = pipeline_of_general()
    texts = [" ".join(words) for words in job["text"]]

    def tag(given: list[str], size: int) -> int:
        return sum(len(entities) for entities in pipe(given, batch_size=size))

    shown = f"general in transformers.pipeline {transformers.__version__}, torch {torch.__version__}, no CRF"
    return tagging_worker(shown, fresh=lambda: list(texts), tag=tag, settings=[1, 8, 32, 128])


def tagging(description: str, tagger: Any, job: dict[str, Any]) -> Worker:
    from acclimate import Corpus, Sentence, predict

    text = Corpus.of(Sentence(tuple(words)) for words in job["text"])

    def tag(corpus: Any, _: Any) -> int:
        return sum(tag[0] == "B" for sentence in predict(tagger, corpus) for tag in sentence.tags or ())

    return tagging_worker(description, fresh=lambda: text, tag=tag)


def spacy_system(job: dict[str, Any]) -> Worker:
    import spacy
    from spacy.training import Example

    spacy.util.fix_random_seed(0)
    nlp = spacy.blank("en")
    nlp.add_pipe("ner")
    doc = spacy.tokens.Doc
    examples = [
        Example(doc(nlp.vocab, words=one["words"]), doc(nlp.vocab, words=one["words"], ents=one["tags"]))
        for one in job["training"]
    ]
    optimizer = nlp.initialize(lambda: examples)
    for _ in range(PASSES):
        for batch in spacy.util.minibatch(examples, 32):
            nlp.update(batch, sgd=optimizer)
    return spacy_worker(nlp, f"{spacy.__version__}: blank English + ner (HashEmbedCNN)", job["text"], count_entities)


def spacy_package_system(job: dict[str, Any]) -> Worker:
    nlp, description = load_spacy(["ner"])  # its ner has a CNN of its own: the shared one would only cost time
    return spacy_worker(nlp, f"{description}, ner alone", job["text"], count_entities)


def count_entities(docs: list[Any]) -> int:
    return sum(len(doc.ents) for doc in docs)


def flair_system(job: dict[str, Any]) -> Worker:
    import flair
    import torch
    from flair.data import Sentence

    tagger = flair_tagger(job, hidden=256)
    optimizer = torch.optim.AdamW(tagger.parameters(), lr=3e-3)
    for _ in range(PASSES):
        for first in range(0, len(job["training"]), 32):
            batch = [flair_sentence(one) for one in job["training"][first : first + 32]]
            loss, count = tagger.forward_loss(batch)
            (loss / count).backward()
            optimizer.step()
            optimizer.zero_grad()
    tagger.eval()

    def tag(sentences: list[Sentence], size: int) -> int:
        tagger.predict(sentences, mini_batch_size=size)
        return sum(len(sentence.get_labels("ner")) for sentence in sentences)

    return tagging_worker(
        f"{flair.__version__}, torch {torch.__version__}: random words + character BiLSTM, BiLSTM 256, CRF",
        fresh=lambda: [Sentence(words) for words in job["text"]],
        tag=tag,
        settings=[32, 64, 128, 256],
    )


def flair_tagger(job: dict[str, Any], hidden: int, device: str = "cpu", trained_words: bool = False) -> Any:
    """Flair's LSTM-CRF on 100-d random word vectors and its character features."""
    import flair
    import torch
    from flair.data import Dictionary
    from flair.embeddings import CharacterEmbeddings, StackedEmbeddings, WordEmbeddings
    from flair.models import SequenceTagger

    flair.device = torch.device(device)
    flair.set_seed(0)
    letters = Dictionary()
    for letter in sorted({letter for words in job["vocabulary"] for word in words for letter in word}):
        letters.add_item(letter)
    distinct = sorted({word.lower() for words in job["vocabulary"] for word in words})
    places = {word: place for place, word in enumerate(distinct)}
    how = {"name": "random", "fine_tune": trained_words, "force_cpu": not trained_words}
    vectors = WordEmbeddings(None, vocab=places, embedding_length=100, **how)
    torch.nn.init.normal_(vectors.embedding.weight)
    labels = Dictionary(add_unk=False)
    labels.span_labels = True
    for label in sorted({label for one in job["training"] for _, _, label in one["spans"]}):
        labels.add_item(label)
    embeddings = StackedEmbeddings([vectors, CharacterEmbeddings(letters)])
    return SequenceTagger(embeddings, labels, "ner", hidden_size=hidden, use_crf=True)


def flair_sentence(one: dict[str, Any]) -> Any:
    from flair.data import Sentence

    sentence = Sentence(one["words"])
    for start, end, label in one["spans"]:
        sentence[start:end].add_label("ner", label)
    return sentence


SYSTEMS: dict[str, Callable[[dict[str, Any]], Worker]] = {
    "acclimate": acclimate_system,
    "general": general_system,
    "compact-float32": partial(compact_system, int8=False),
    "compact-int8": partial(compact_system, int8=True),
    STUDENT: partial(compact_system, int8=True, is_student=True),
    "pipeline": pipeline_system,
    "spacy": spacy_system,
    "spacy-package": spacy_package_system,
    "flair": flair_system,
}

if __name__ == "__main__":
    main()
