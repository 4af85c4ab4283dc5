"""The recipes by the names people type. To add one is to add one file and one line here."""

from __future__ import annotations

import difflib

from acclimate.recipes.acclimate import AcclimateSettings, acclimate, left_out
from acclimate.recipes.acclimate import check_plan as check_acclimate
from acclimate.recipes.acclimate import remodel as remodel_acclimate
from acclimate.recipes.baselines import TargetOnlySettings, source_only, target_only
from acclimate.recipes.compose import PARTS, compose, warn_of_contrast
from acclimate.recipes.compose import check_plan as check_compose
from acclimate.recipes.compose import remodel as remodel_compose
from acclimate.recipes.compose_stages import ComposeSettings
from acclimate.recipes.datnet import DatnetSettings, datnet, remarks
from acclimate.recipes.datnet import check_plan as check_datnet
from acclimate.recipes.datnet import remodel as remodel_datnet
from acclimate.recipes.domain_tuning import AdversarialMaskingSettings, adversarial_masking, check_plan
from acclimate.recipes.la_dtl import LaDtlSettings, la_dtl
from acclimate.recipes.mat import MatSettings, mat, read_second, read_second_test
from acclimate.recipes.mat import check_plan as check_mat
from acclimate.recipes.mat import remodel as remodel_mat
from acclimate.recipes.mslm import MslmSettings, mslm
from acclimate.recipes.mslm import check_plan as check_mslm
from acclimate.recipes.mslm import remarks as mslm_remarks
from acclimate.recipes.mslm import remodel as remodel_mslm
from acclimate.recipes.pdaln import PdalnSettings, pdaln, warn_of_edits
from acclimate.recipes.pdaln import check_plan as check_pdaln
from acclimate.recipes.recipe import Recipe, Sibling
from acclimate.recipes.self_training import SelfTrainingSettings, self_training
from acclimate.settings import UsageError

BASELINE = Recipe("source-only", "no adaptation: train on the labelled source alone", source_only, needs_target=False)

TARGET_ONLY = Recipe(
    "target-only",
    "no transfer: train on the labelled target sentences alone",
    target_only,
    TargetOnlySettings,
    needs_labels=True,
    for_target=True,
)

RECIPES: dict[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        BASELINE,
        TARGET_ONLY,
        Recipe(
            "self-training",
            "label the target text with the tagger itself, and learn from the surest sentences",
            self_training,
            SelfTrainingSettings,
            starts_from_baseline=True,
        ),
        Recipe(
            "adversarial-masking",
            "tune the encoder on target text, an adversary choosing the words to hide; then train on the source",
            adversarial_masking,
            AdversarialMaskingSettings,
            needs_language_model=True,
            check=check_plan,
        ),
        Recipe(
            "mat",
            "train under adversarial noise, a word now and then hidden or swapped, so that context must do the work",
            mat,
            MatSettings,
            needs_target=False,
            reads=read_second,
            sibling=Sibling("second", read_second_test),
            check=check_mat,
            remodel=remodel_mat,
        ),
        Recipe(
            "datnet",
            "share an encoder between source and target, with a discriminator that must not tell them apart",
            datnet,
            DatnetSettings,
            for_target=True,
            sibling=Sibling("source"),
            remarks=remarks,
            check=check_datnet,
            remodel=remodel_datnet,
        ),
        Recipe(
            "mslm",
            "train on labelled text of which entities are hidden, guessing them, finding them and typing them at once",
            mslm,
            MslmSettings,
            needs_target=False,
            needs_language_model=True,
            needs_entities=True,
            remarks=mslm_remarks,
            check=check_mslm,
            remodel=remodel_mslm,
        ),
        Recipe(
            "pdaln",
            "make both domains alike, then teach in rounds on sentences with entities of the other domain",
            pdaln,
            PdalnSettings,
            exchanges_entities=True,
            check=check_pdaln,
            foretells=warn_of_edits,
        ),
        Recipe(
            "la-dtl",
            "make words of the same label alike in both domains, given labelled target sentences",
            la_dtl,
            LaDtlSettings,
            needs_labels=True,
        ),
        Recipe(
            "acclimate",
            "parts of several papers together: domain tuning, masked noise; with labels anchors and teaching in rounds",
            acclimate,
            AcclimateSettings,
            for_other_labels=True,
            sibling=Sibling("source"),
            check=check_acclimate,
            remodel=remodel_acclimate,
            foretells=left_out,
        ),
        Recipe(
            "compose",
            "stages of your own: any objectives, maskings and augmentations by their names",
            compose,
            ComposeSettings,
            needs_target=False,
            usually_needs_target=True,
            remarks=remarks,
            parts=PARTS,
            check=check_compose,
            remodel=remodel_compose,
            foretells=warn_of_contrast,
        ),
    )
}


def default_recipe(has_target: bool = True) -> str:
    """What is done where no recipe is named, in Python as on the command line."""
    return "acclimate" if has_target else BASELINE.name


def for_target_labels() -> str:
    """The recipes that take labelled target sentences with any labels, as people read them."""
    *names, last = (name for name, recipe in RECIPES.items() if recipe.for_target or recipe.for_other_labels)
    return f"{', '.join(names)} or {last}"


def find_recipe(name: str) -> Recipe:
    if name in RECIPES:
        return RECIPES[name]
    if name == "auto":
        raise UsageError(
            "auto is a race of recipes, and no recipe: acclimate adapt --recipe auto, or race(...) in Python. See "
            "docs/auto.md."
        )
    close = difflib.get_close_matches(name, RECIPES, n=1)
    hint = f"Did you mean {close[0]!r}? " if close else ""
    raise UsageError(f"Unknown recipe {name!r}. {hint}Known: {', '.join(RECIPES)}; for adapt, also auto.")
