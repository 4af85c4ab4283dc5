"""CoNLL-U."""

from __future__ import annotations

import pytest

from acclimate.data.problems import InputError
from acclimate.data.reading import read_corpus

FRENCH = """# newdoc id = d1
# sent_id = s1
# text = Il va au parc.
1\tIl\til\tPRON\tP\t_\t2\tnsubj\t_\t_
2\tva\taller\tVERB\tV\t_\t0\troot\t_\t_
3-4\tau\t_\t_\t_\t_\t_\t_\t_\t_
3\tà\tà\tADP\tE\t_\t5\tcase\t_\t_
4\tle\tle\tDET\tR\t_\t5\tdet\t_\t_
5\tparc\tparc\tNOUN\tS\t_\t2\tobl\t_\tSpaceAfter=No|NER=B-LOC
6\t.\t.\tPUNCT\tF\t_\t2\tpunct\t_\t_

# sent_id = s2
# text = Anna dort.
1\tAnna\tAnna\tPROPN\tS\t_\t2\tnsubj\t_\tNER=B-PER
1.1\tghost\t_\t_\t_\t_\t_\t_\t_\t_
2\tdort\tdormir\tVERB\tV\t_\t0\troot\t_\tSpaceAfter=No
3\t.\t.\tPUNCT\tF\t_\t2\tpunct\t_\t_
"""


@pytest.fixture
def read(tmp_path):
    def reader(content, **options):
        (tmp_path / "a.conllu").write_text(content, encoding="utf-8")
        return read_corpus(tmp_path / "a.conllu", **options)

    return reader


def test_words_are_the_syntactic_ones(read):
    assert [one.words for one in read(FRENCH)] == [("Il", "va", "à", "le", "parc", "."), ("Anna", "dort", ".")]


def test_upos_is_the_tag(read):
    corpus = read(FRENCH)
    assert corpus[1].tags == ("PROPN", "VERB", "PUNCT")
    assert corpus.kind == "plain"


def test_xpos_can_be_chosen_even_if_it_looks_like_span_tags(read):
    corpus = read(FRENCH, column="xpos")
    assert (corpus[1].tags, corpus.kind) == (("S", "V", "F"), "plain")


@pytest.mark.parametrize("column", ["ner", "misc.NER"])
def test_entities_are_found_in_misc(read, column):
    corpus = read(FRENCH, column=column)
    assert (corpus.label_counts, corpus.kind) == ({"LOC": 1, "PER": 1}, "spans")


def test_text_is_kept_where_the_words_are_in_it(read):
    corpus = read(FRENCH)
    assert (corpus[1].text, corpus[1].offsets) == ("Anna dort.", ((0, 4), (5, 9), (9, 10)))
    assert corpus[0].text is None
    assert "multi-word tokens" in corpus.notes.remarks[0]


def test_documents_and_sentence_ids_are_kept(read):
    assert [one.document for one in read(FRENCH)] == ["d1", "d1"]
    assert [one.document for one in read(FRENCH.replace("# newdoc id = d1\n", ""))] == ["s1", "s2"]


def test_a_file_without_tags_is_unlabelled(read):
    assert not read("1\tcats\t_\t_\t_\t_\t_\t_\t_\t_\n").is_labelled


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ("1\tcats\tcat\tNOUN", "4 columns; CoNLL-U has 10"),
        ("x\tcats\t_\tNOUN\t_\t_\t_\t_\t_\t_", "the id is 'x'"),
        ("1\t\t_\tNOUN\t_\t_\t_\t_\t_\t_", "the word .* is empty"),
        ("1\tcats\t_\t_\t_\t_\t_\t_\t_\t_", "the word has no UPOS"),
    ],
)
def test_bad_lines_are_refused_or_skipped_with_their_sentence(read, bad, said):
    content = f"{FRENCH}\n{bad}\n2\tsleep\tsleep\tVERB\t_\t_\t_\t_\t_\t_\n"
    with pytest.raises(InputError, match=rf"line 19: .*{said}"):
        read(content)
    assert len(read(content, skip_bad=True)) == 2


def test_an_unknown_column_is_answered_with_the_known_ones(read):
    with pytest.raises(InputError, match=r"lemma, upos, xpos.*misc\.KEY"):
        read(FRENCH, column="pos2")
