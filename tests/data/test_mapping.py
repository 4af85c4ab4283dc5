"""Label mapping: by name, never in silence."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from acclimate.data.corpus import Corpus, ReadingNotes, Sentence
from acclimate.data.mapping import LabelMap, bundled_maps, map_labels, require_labels, shared_labels, typeless
from acclimate.data.problems import InputError
from acclimate.data.schemes import SCHEMES, TYPELESS, Span, convert_tags, tags_from_spans

WNUT16 = {
    "company",
    "facility",
    "geo-loc",
    "movie",
    "musicartist",
    "other",
    "person",
    "product",
    "sportsteam",
    "tvshow",
}


def corpus_of(*rows: str, kind="spans") -> Corpus:
    """One sentence per row of tags; the words do not matter."""
    tagged = [tuple(row.split()) for row in rows]
    return Corpus.of((Sentence(tuple(f"w{place}" for place in range(len(tags))), tags) for tags in tagged), "web", kind)


def tags_of(corpus: Corpus) -> list[str]:
    return [" ".join(sentence.tags) for sentence in corpus]


def written(folder: Path, text: str) -> Path:
    file = folder / "mine.yaml"
    file.write_text(text, encoding="utf-8")
    return file


@st.composite
def typed_spans(draw) -> tuple[list[Span], int]:
    lengths = draw(st.lists(st.integers(1, 3), min_size=1, max_size=6))
    labels = draw(st.lists(st.sampled_from(["", "PER", "LOC"]), min_size=len(lengths), max_size=len(lengths)))
    ends = [sum(lengths[: number + 1]) for number in range(len(lengths))]
    rows = zip(lengths, labels, ends, strict=True)
    return [Span(end - length, end, label) for length, label, end in rows if label], ends[-1]


# Mapping


def test_labels_are_mapped_by_name():
    mapped = map_labels(corpus_of("B-person I-person O B-geo-loc"), {"geo-loc": "LOC", "person": "PER"})
    assert tags_of(mapped) == ["B-PER I-PER O B-LOC"]


def test_a_dropped_label_leaves_words_outside():
    mapped = map_labels(corpus_of("B-url I-url B-person", "O B-url"), {"url": None, "person": "O"})
    assert tags_of(mapped) == ["O O O", "O O"]


def test_neighbours_that_come_to_share_a_label_stay_two_spans():
    mapped = map_labels(corpus_of("B-movie I-movie B-tvshow"), {"movie": "MISC", "tvshow": "MISC"})
    assert tags_of(mapped) == ["B-MISC I-MISC B-MISC"]


def test_an_unmapped_label_is_an_error_with_its_count_and_the_line_to_add():
    corpus = corpus_of("B-person B-movie B-movie", "B-tvshow")
    with pytest.raises(InputError, match=r"movie \(2\), tvshow \(1\)[\s\S]*\n  movie: movie\n  tvshow: tvshow"):
        map_labels(corpus, {"person": "PER"})


def test_the_error_shows_entries_that_the_corpus_does_not_have():
    with pytest.raises(InputError, match="not in the corpus: persn"):
        map_labels(corpus_of("B-person"), {"persn": "PER"})


def test_lines_to_add_are_quoted_where_yaml_would_misread_them():
    with pytest.raises(InputError, match="'NO': 'NO'"):
        map_labels(corpus_of("B-NO"), {"SE": "LOC"})


def test_entries_beyond_the_corpus_do_no_harm():
    assert map_labels(corpus_of("B-person"), LabelMap.load("wnut16-to-conll")).labels.names == ("PER",)
    assert map_labels(corpus_of("B-person"), "wnut16-to-conll").labels.names == ("PER",)


def test_sentences_without_tags_stay_without():
    assert map_labels(corpus_of("B-a").unlabelled(), {})[0].tags is None


def test_mapping_keeps_words_and_notes_and_says_so_in_the_name():
    corpus = Corpus(corpus_of("B-person O").sentences, "web", "spans", ReadingNotes(repaired=3))
    mapped = map_labels(corpus, LabelMap.of({"person": "PER"}, "short"))
    assert (mapped[0].words, mapped.notes.repaired, mapped.name) == (corpus[0].words, 3, "web[short]")


def test_plain_tags_are_mapped_whole():
    assert tags_of(map_labels(corpus_of("NN VB NN", kind="plain"), {"NN": "NOUN", "VB": "VERB"})) == ["NOUN VERB NOUN"]


def test_a_plain_tag_cannot_be_dropped():
    with pytest.raises(InputError, match=r"none can be dropped: NN \(1\)"):
        map_labels(corpus_of("NN", kind="plain"), {"NN": None})


@given(typed_spans())
def test_mapping_every_label_to_itself_changes_nothing(drawn):
    spans, length = drawn
    corpus = corpus_of(" ".join(tags_from_spans(spans, length)))
    assert map_labels(corpus, {"PER": "PER", "LOC": "LOC"})[0].spans == spans


# Type-less


@pytest.mark.parametrize("scheme", [scheme for scheme in SCHEMES if scheme != "IO"])
@given(typed_spans())
def test_every_spelling_of_the_spans_gives_the_same_typeless_tags(scheme, drawn):
    spans, length = drawn
    tags = tags_from_spans(spans, length)
    expected = tags_from_spans([Span(span.start, span.end, TYPELESS) for span in spans], length)
    assert tags_of(typeless(corpus_of(" ".join(convert_tags(tags, scheme))))) == [" ".join(expected)]


def test_typeless_neighbours_stay_apart():
    assert tags_of(typeless(corpus_of("I-PER I-LOC O"))) == ["B-ENTITY B-ENTITY O"]


def test_typeless_twice_is_typeless_once():
    once = typeless(corpus_of("B-PER I-PER B-LOC"))
    assert typeless(once).sentences == once.sentences


def test_plain_tags_cannot_lose_their_type():
    with pytest.raises(InputError, match="only spans"):
        typeless(corpus_of("NN", kind="plain"))


# Maps from files


def test_the_wnut16_map_names_all_ten_types():
    label_map = LabelMap.load("wnut16-to-conll")
    assert set(label_map) == WNUT16
    assert [name for name in label_map if label_map[name] == "LOC"] == ["geo-loc", "facility"]
    assert [name for name in label_map if label_map[name] == "ORG"] == ["company", "sportsteam"]


def test_the_jnlpba_map_drops_cells():
    mapped = map_labels(corpus_of("B-DNA B-protein I-protein B-cell_line B-RNA"), LabelMap.load("jnlpba-to-gene"))
    assert tags_of(mapped) == ["B-GENE B-GENE I-GENE O B-GENE"]


@pytest.mark.parametrize("name", bundled_maps())
def test_every_bundled_map_loads_and_leads_somewhere(name):
    assert LabelMap.load(name).name == name
    results = set(LabelMap.load(name).results)
    assert results == {"GENE"} or {"PER", "LOC", "ORG"} <= results <= {"PER", "LOC", "ORG", "MISC"}


def test_a_map_is_read_from_a_file(tmp_path):
    file = written(tmp_path, "description: ours\nlabels:\n  person: PER\n  url: O\n  date:\n  time: ~\n")
    assert LabelMap.load(file) == LabelMap.of({"person": "PER", "url": None, "date": None, "time": None}, "mine")
    assert LabelMap.load(str(file)) == LabelMap.load(file)


def test_names_that_yaml_takes_for_other_things_stay_names(tmp_path):
    label_map = LabelMap.load(written(tmp_path, 'labels: {NO: no, 1: 2, on: "null", 2020-01-01: DATE}'))
    assert dict(label_map) == {"NO": "no", "1": "2", "on": "null", "2020-01-01": "DATE"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lables:\n  a: b\n", r"mine\.yaml, line 1: unknown key 'lables'\. Did you mean 'labels'\?"),
        ("description: x\nperson: PER\n", r"line 2: unknown key 'person'\. .*stand under `labels:`"),
        ("description: x\n", "the key `labels` is missing"),
        ("labels:\n  a: b\n  a: c\n", r"line 3: 'a' was already given in line 2"),
        ("labels:\n  a: [b]\n", r"line 2: 'a' needs one new name, or O"),
        ("labels:\n  a: ''\n", r"line 2: 'a' needs one new name, or O"),
        ("labels:\n  ? [a]\n  : b\n", r"line 2: a key must be one name"),
        ("labels:\n", r"line 1: expected one `old: new` per line"),
        ("- a\n", r"line 1: expected keys: description, labels"),
        ("", r"mine\.yaml: expected keys"),
        ("labels:\n  a: {b\n", r"mine\.yaml, line \d: not YAML"),
        ("labels: \x00", "not YAML"),
    ],
)
def test_a_bad_file_is_refused_with_its_line(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        LabelMap.load(written(tmp_path, text))


def test_an_unknown_name_is_answered_with_the_names_there_are():
    with pytest.raises(InputError, match=r"Did you mean 'wnut16-to-conll'\?.*jnlpba-to-gene"):
        LabelMap.load("wnut16-conll")


def test_a_file_in_another_encoding_is_refused(tmp_path):
    (tmp_path / "mine.yaml").write_bytes(b"labels:\n  caf\xe9: LOC\n")
    with pytest.raises(InputError, match="not UTF-8"):
        LabelMap.load(tmp_path / "mine.yaml")


# Labels in common


def test_shared_labels_says_which_side_has_what():
    shared = shared_labels(corpus_of("B-PER B-LOC"), ["LOC", "GENE"])
    assert (shared.both, shared.only_source, shared.only_target) == (("LOC",), ("PER",), ("GENE",))
    assert (shared.both, shared.only_source, shared.only_target) == (("LOC",), ("PER",), ("GENE",))


def test_gold_labels_that_the_tagger_has_pass():
    require_labels(corpus_of("B-PER O"), ["LOC", "PER"])


def test_gold_labels_that_the_tagger_lacks_are_refused_with_a_fitting_map():
    with pytest.raises(InputError, match=r"person \(2\)\. It knows LOC, MISC, ORG, PER\. .*'wnut17-to-conll' fits"):
        require_labels(corpus_of("B-person O B-person"), ["LOC", "MISC", "ORG", "PER"])


def test_names_that_look_alike_become_a_map_to_begin_with():
    corpus = corpus_of("B-virus B-persons O B-LOC B-NO")
    with pytest.raises(InputError, match=r"names alone:\n[\s\S]*Check it; O drops a label\. Or .*typeless") as refusal:
        require_labels(corpus, ["PER", "LOC"])
    told = str(refusal.value).partition("names alone:\n")[2].partition("\nCheck it")[0]
    assert yaml.safe_load(told) == {"labels": {"LOC": "LOC", "NO": "O", "persons": "PER", "virus": "O"}}


def test_where_no_name_looks_alike_none_is_paired_and_how_to_write_a_map_is_told():
    with pytest.raises(InputError, match=r"virus \(1\).*None of their names resembles.*`  OLD: NEW`") as refusal:
        require_labels(corpus_of("B-virus B-organism"), ["PER", "ORG"])
    assert "virus:" not in str(refusal.value)
    assert "typeless" in str(refusal.value)


def test_a_plain_tag_that_looks_like_none_is_to_be_named():
    with pytest.raises(InputError, match=r"  NOUNS: NOUN\n  QQ: X\nCheck it; X is a name to replace\.$"):
        require_labels(corpus_of("NOUNS QQ", kind="plain"), ["NOUN", "VERB"])
