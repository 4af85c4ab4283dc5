"""Where the rules draw their lines, and why there. They part what is worth a look from what is not; none is a law."""

from __future__ import annotations

from acclimate.recipes import domain_tuning as tuning

SHARE_APART = 0.05  # shares of sentences or words that differ by less are not worth a line
LENGTH_APART = 1.25  # times: nor are lengths

# nats per hidden piece. Two parts of one corpus differ by up to 0.4 from sample to sample (CoNLL-2003, train and test;
# bundled news by 0.3), bundled news and posts by 2
LOSS_GAP = 0.75

# proxy A-distance. Parts of bundled news reach 0.5 by chance (four samples: 0.01, 0.15, 0.01, 0.51); 1.5 is a domain
# named rightly 7 times of 8
ALIKE, APART = 0.75, 1.5

# share of running words. Bundled news lacks a fifth of the words of its own test part, for it is small; the training
# part of CoNLL-2003 a tenth
MANY_UNSEEN = 0.25

# pieces of a target word for each of a source word: a tenth more, and rows grow by a tenth
MORE_PIECES = 1.1
UNKNOWN_PIECES = 0.01  # of words: what the encoder cannot spell at all, such as emoji

# how often domain tuning reads the target's text: what is read more often is rather learnt by heart, and the loss on
# held-out text will tell. Where it would read fewer sentences than TUNING_READS, more text is worth looking for
PASSES = round(tuning.DomainTuning().passes)
TUNING_READS = 2_000 * 32 // 2
NOTHING_HELD_OUT = 40  # sentences: of fewer, domain tuning holds none out, so nobody notices when it does harm

SUPPORT = 20  # mentions of a label: with fewer, its score hangs on a handful of names

# how many labelled target sentences the settings of PDALN begin with
FEW_SHOT = 100
WORTH_CUTTING = 400  # sentences: a hundred to learn from, a hundred to choose by, a hundred or more to score on

# entities of a test set that leave F1 uncertain by about 5 points either way: 1.96 * sqrt(0.25 / n)
TEST_ENTITIES = 400

SEEN_MENTIONS = 0.5  # share of the target's mentions: with fewer seen, context must do the work
PARAGRAPH = 60  # words: lines of that mean length are hardly sentences
